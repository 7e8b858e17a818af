//===- CudaLaunch.h - Launches from compiled host code ----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Host code that was compiled for a GPU launches kernels by their index and
// allocates device memory through plain C functions, which have no place for a
// stream or an error. A LaunchScope gives them both: while it lives, the calls
// of its thread use its device, stream and kernels.
//
// The first failure is kept in the scope; launches and allocations after it do
// nothing. So host code must not look into the memory that it allocates.
//
//===----------------------------------------------------------------------===//

#ifndef NA_RUNTIME_CUDALAUNCH_H
#define NA_RUNTIME_CUDALAUNCH_H

#include "na/Runtime/CudaTensorMap.h"
#include "na/Runtime/Runtime.h"

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>

extern "C" {

/// Enqueues a kernel by its index in the scope's KernelTable. `grid` blocks
/// of `threads` threads, both along x; no block, no launch. `params` is the
/// address of `count` 8-byte slots, one for each parameter, with values of
/// fewer bytes in their low bytes. `alignments` is the address of as many
/// numbers: 0 for a parameter that is no pointer, else the alignment in bytes
/// that the kernel relies on; or -n for a parameter of n bytes, whose address
/// is in the slot.
void naCudaLaunch(int64_t kernel, int64_t grid, int64_t threads,
                  int64_t sharedBytes, int64_t params, int64_t count,
                  int64_t alignments);

/// The multiprocessors of the scope's device.
int64_t naCudaMultiprocessors();

} // extern "C"

namespace na::cuda {

/// The kernels of a module, by index. Any number of threads may use it.
class KernelTable {
public:
  /// Looks up every name, so that a missing kernel shows before a launch.
  static Expected<std::shared_ptr<KernelTable>>
  create(std::shared_ptr<Module> module, const std::vector<std::string> &names);

  Device &device() const { return module->device(); }
  size_t size() const { return slots.size(); }
  const std::string &name(size_t index) const { return slots[index].name; }

  /// The kernel, made ready for at least so much dynamic shared memory.
  Expected<const Kernel *> get(int64_t index, size_t sharedBytes);

private:
  struct Slot {
    std::string name;
    std::atomic<const Kernel *> ready{nullptr};
  };
  KernelTable(std::shared_ptr<Module> module) : module(std::move(module)) {}
  Error prepare(Slot &slot, size_t sharedBytes);

  std::shared_ptr<Module> module;
  std::deque<Slot> slots;
  /// Kernels that other threads may still launch stay where they are.
  std::mutex mutex;
  std::deque<Kernel> made;
};

/// Device memory that a caller lends to a call for what its host code
/// allocates.
struct Workspace {
  void *data = nullptr;
  size_t bytes = 0;
};

/// Places of allocations in a workspace, each where it fits first. The same
/// allocations in the same order get the same places.
class Arena {
public:
  static constexpr size_t alignment = 256;

  size_t allocate(size_t bytes);
  /// False if nothing was allocated at `offset`.
  bool release(size_t offset);
  /// The bytes up to the end of the last place that there ever was.
  size_t peak() const { return used; }

private:
  /// Sizes by offset.
  std::map<size_t, size_t> places;
  size_t used = 0;
};

/// What compiled host code works with on this thread. Scopes may nest; the
/// innermost counts.
class LaunchScope {
public:
  /// Allocations are made from `workspace`, or by the driver in the order of
  /// the stream if there is none.
  LaunchScope(KernelTable &kernels, StreamHandle stream,
              Workspace workspace = {});
  /// A rehearsal: nothing reaches the driver, and allocations are addresses
  /// without memory. getWorkspaceBytes() then says what they come to.
  explicit LaunchScope(KernelTable &kernels);
  /// Frees, in the order of the stream, what was allocated and neither freed
  /// nor taken.
  ~LaunchScope();
  LaunchScope(const LaunchScope &) = delete;
  LaunchScope &operator=(const LaunchScope &) = delete;

  /// The first failure so far.
  const Error &error() const { return first; }
  int64_t multiprocessors() const {
    return kernels.device().properties().multiprocessors;
  }
  /// The number of kernels that were enqueued.
  int64_t launches() const { return launched; }

  /// The bytes that a workspace needs for the allocations so far.
  size_t getWorkspaceBytes() const { return arena.peak(); }

  /// Moves an allocation to the caller; an empty buffer if `address` is not
  /// the start of one.
  Buffer take(void *address);

  // What the C functions do.
  void launch(int64_t kernel, int64_t grid, int64_t threads,
              int64_t sharedBytes, const int64_t *params, int64_t count,
              const int64_t *alignments);
  void *allocate(uint64_t bytes, uint64_t alignment);
  void release(void *address);
  void copy(void *destination, const void *source, size_t bytes);
  void encodeTensorMap(const TensorBoxes &boxes, TensorMap &map);
  void fail(Error error);

  /// The scope of this thread; null if there is none.
  static LaunchScope *current();

private:
  Error launchChecked(int64_t kernel, int64_t grid, int64_t threads,
                      int64_t sharedBytes, const int64_t *params, int64_t count,
                      const int64_t *alignments);

  void *allocateFromWorkspace(size_t bytes);

  KernelTable &kernels;
  StreamHandle stream;
  Workspace workspace;
  bool rehearsal = false;
  Arena arena;
  LaunchScope *outer;
  Error first;
  int64_t launched = 0;
  std::unordered_map<void *, Buffer> buffers;
};

/// The symbols that a JIT has to offer to host code compiled for a GPU, in
/// place of or beside those of runtime::symbols(), terminated by an entry
/// without a name: naCudaLaunch, naCudaEncodeTensorMap, naCudaMultiprocessors,
/// the allocation functions of memrefs
/// (`_mlir_memref_to_llvm_alloc` and its like) and the copy between memrefs,
/// which must be contiguous here.
const runtime::Symbol *launchSymbols();

} // namespace na::cuda

#endif // NA_RUNTIME_CUDALAUNCH_H
