//===- CudaLaunch.cpp - Launches from compiled host code ------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Runtime/CudaLaunch.h"

#include "CudaDriver.h"
#include "MemRefCopy.h"

#include <algorithm>
#include <cstdio>
#include <limits>

using namespace na::cuda;

//===----------------------------------------------------------------------===//
// KernelTable
//===----------------------------------------------------------------------===//

Expected<std::shared_ptr<KernelTable>>
KernelTable::create(std::shared_ptr<Module> module,
                    const std::vector<std::string> &names) {
  if (!module)
    return Error::make(ErrorKind::NullPointer, "kernels of no module");
  std::shared_ptr<KernelTable> table(new KernelTable(std::move(module)));
  for (const std::string &name : names) {
    Slot &slot = table->slots.emplace_back();
    slot.name = name;
    if (Error error = table->prepare(slot, 0))
      return error;
  }
  return table;
}

Error KernelTable::prepare(Slot &slot, size_t sharedBytes) {
  std::lock_guard<std::mutex> lock(mutex);
  const Kernel *ready = slot.ready.load(std::memory_order_relaxed);
  if (ready && ready->info().dynamicSharedBytes >= sharedBytes)
    return Error::success();
  KernelOptions options;
  options.dynamicSharedBytes = sharedBytes;
  Expected<Kernel> kernel = Kernel::get(module, slot.name, options);
  if (!kernel)
    return kernel.error();
  made.push_back(std::move(*kernel));
  slot.ready.store(&made.back(), std::memory_order_release);
  return Error::success();
}

Expected<const Kernel *> KernelTable::get(int64_t index, size_t sharedBytes) {
  if (index < 0 || index >= int64_t(slots.size()))
    return Error::make(ErrorKind::Internal, "launch of kernel " +
                                                std::to_string(index) + " of " +
                                                std::to_string(slots.size()));
  Slot &slot = slots[size_t(index)];
  const Kernel *ready = slot.ready.load(std::memory_order_acquire);
  if (ready->info().dynamicSharedBytes >= sharedBytes)
    return ready;
  if (Error error = prepare(slot, sharedBytes))
    return error;
  return slot.ready.load(std::memory_order_acquire);
}

//===----------------------------------------------------------------------===//
// Arena
//===----------------------------------------------------------------------===//

size_t Arena::allocate(size_t bytes) {
  // An empty tensor has an address of its own too, as with malloc.
  const size_t size =
      (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  size_t offset = 0;
  for (auto [start, length] : places) {
    if (start - offset >= size)
      break;
    offset = start + length;
  }
  places.emplace(offset, size);
  used = std::max(used, offset + size);
  return offset;
}

bool Arena::release(size_t offset) { return places.erase(offset) != 0; }

//===----------------------------------------------------------------------===//
// LaunchScope
//===----------------------------------------------------------------------===//

static thread_local LaunchScope *currentScope = nullptr;

LaunchScope *LaunchScope::current() { return currentScope; }

LaunchScope::LaunchScope(KernelTable &kernels, StreamHandle stream,
                         Workspace workspace)
    : kernels(kernels), stream(stream), workspace(workspace),
      outer(currentScope) {
  currentScope = this;
}

LaunchScope::LaunchScope(KernelTable &kernels) : LaunchScope(kernels, nullptr) {
  rehearsal = true;
  // Any address that is not null and aligned; never looked at.
  workspace = {reinterpret_cast<void *>(uintptr_t(1) << 40),
               std::numeric_limits<size_t>::max()};
}

LaunchScope::~LaunchScope() { currentScope = outer; }

void LaunchScope::fail(Error error) {
  if (!first)
    first = std::move(error);
}

void LaunchScope::launch(int64_t kernel, int64_t grid, int64_t threads,
                         int64_t sharedBytes, const int64_t *params,
                         int64_t count, const int64_t *alignments) {
  if (first || grid == 0 || rehearsal)
    return;
  if (Error error = launchChecked(kernel, grid, threads, sharedBytes, params,
                                  count, alignments))
    first = std::move(error);
  else
    ++launched;
}

Error LaunchScope::launchChecked(int64_t kernel, int64_t grid, int64_t threads,
                                 int64_t sharedBytes, const int64_t *params,
                                 int64_t count, const int64_t *alignments) {
  if (sharedBytes < 0)
    return Error::make(ErrorKind::InvalidArgument,
                       "kernel " + std::to_string(kernel) + ": " +
                           std::to_string(sharedBytes) +
                           " bytes of dynamic shared memory");
  Expected<const Kernel *> found = kernels.get(kernel, size_t(sharedBytes));
  if (!found)
    return found.error();
  const Kernel::Info &info = (*found)->info();
  auto fail = [&](ErrorKind kind, const std::string &message) {
    return Error::make(kind, "kernel '" + info.name + "': " + message);
  };
  // Dim3 has 32 bits; the device's own limits are checked by the launch.
  const DeviceProperties &properties = kernels.device().properties();
  if (grid < 0 || grid > properties.maxGrid[0])
    return fail(ErrorKind::InvalidArgument,
                std::to_string(grid) + " blocks; a grid has 1 to " +
                    std::to_string(properties.maxGrid[0]));
  if (threads < 1 || threads > properties.maxBlock[0])
    return fail(ErrorKind::InvalidArgument,
                std::to_string(threads) +
                    " threads per block; a block has 1 "
                    "to " +
                    std::to_string(properties.maxBlock[0]));
  if (info.parametersKnown && count != int64_t(info.parameterBytes.size()))
    return fail(ErrorKind::InvalidArgument,
                std::to_string(count) + " arguments for " +
                    std::to_string(info.parameterBytes.size()) + " parameters");

  KernelArgument few[64];
  std::vector<KernelArgument> many;
  KernelArgument *arguments = few;
  if (count > 64) {
    many.resize(size_t(count));
    arguments = many.data();
  }
  for (int64_t i = 0; i < count; ++i) {
    auto parameter = [&] { return "parameter " + std::to_string(i); };
    const size_t bytes =
        info.parametersKnown ? info.parameterBytes[size_t(i)] : 8;
    if (alignments[i] < 0) {
      const size_t given = size_t(-alignments[i]);
      if (info.parametersKnown && bytes != given)
        return fail(ErrorKind::Internal,
                    parameter() + " has " + std::to_string(bytes) + " bytes; " +
                        std::to_string(given) + " are given");
      arguments[i] = {reinterpret_cast<const void *>(params[i]), given};
      continue;
    }
    if (bytes > 8)
      return fail(ErrorKind::Unsupported, parameter() + " has " +
                                              std::to_string(bytes) +
                                              " bytes; at most 8");
    arguments[i] = {&params[i], bytes};
    if (alignments[i] == 0)
      continue;
    const void *pointer = reinterpret_cast<const void *>(params[i]);
    if (!pointer)
      return fail(ErrorKind::NullPointer, parameter() + " is a null pointer");
    if (uint64_t(params[i]) % uint64_t(alignments[i]))
      return fail(ErrorKind::MisalignedPointer,
                  parameter() + " (" + hex(pointer) + ") is not aligned to " +
                      std::to_string(alignments[i]) + " bytes");
  }
  LaunchConfig config;
  config.grid.x = unsigned(grid);
  config.block.x = unsigned(threads);
  config.dynamicSharedBytes = size_t(sharedBytes);
  return (*found)->launchWith(config, stream, arguments, size_t(count));
}

void *LaunchScope::allocate(uint64_t bytes, uint64_t alignment) {
  if (first)
    return nullptr;
  // What the driver promises.
  constexpr uint64_t driverAlignment = 256;
  if (alignment > driverAlignment) {
    fail(Error::make(ErrorKind::Unsupported,
                     "device memory aligned to " + std::to_string(alignment) +
                         " bytes; at most " + std::to_string(driverAlignment)));
    return nullptr;
  }
  if (workspace.data)
    return allocateFromWorkspace(bytes);
  // An empty tensor has an address too, as with malloc.
  const size_t size = std::max<uint64_t>(bytes, 1);
  Device &device = kernels.device();
  Expected<Buffer> buffer = device.properties().memoryPools
                                ? device.allocateAsync(size, stream)
                                : device.allocate(size);
  if (!buffer) {
    fail(buffer.error());
    return nullptr;
  }
  void *address = buffer->data();
  buffers.emplace(address, std::move(*buffer));
  return address;
}

void *LaunchScope::allocateFromWorkspace(size_t bytes) {
  const size_t offset = arena.allocate(bytes);
  if (arena.peak() > workspace.bytes) {
    fail(Error::make(ErrorKind::OutOfMemory,
                     "the workspace has " + std::to_string(workspace.bytes) +
                         " bytes, compiled code needs " +
                         std::to_string(arena.peak())));
    return nullptr;
  }
  return static_cast<char *>(workspace.data) + offset;
}

void LaunchScope::release(void *address) {
  if (!address)
    return;
  // What comes next on the stream may use the place again.
  if (workspace.data &&
      arena.release(addressOf(address) - addressOf(workspace.data)))
    return;
  auto found = buffers.find(address);
  if (found == buffers.end()) {
    fail(Error::make(ErrorKind::Internal,
                     "compiled code frees " + hex(address) +
                         ", which it has not allocated in this call"));
    return;
  }
  Buffer buffer = std::move(found->second);
  buffers.erase(found);
  Error error = kernels.device().properties().memoryPools
                    ? buffer.freeAsync(stream)
                    : buffer.free();
  if (error)
    fail(std::move(error));
}

void LaunchScope::copy(void *destination, const void *source, size_t bytes) {
  if (first || bytes == 0 || rehearsal)
    return;
  if (Error error = kernels.device().copyOnDeviceAsync(destination, source,
                                                       bytes, stream))
    first = std::move(error);
}

void LaunchScope::encodeTensorMap(const TensorBoxes &boxes, TensorMap &map) {
  if (first || rehearsal)
    return;
  if (Error error = cuda::encodeTensorMap(kernels.device(), boxes, map))
    first = std::move(error);
}

Buffer LaunchScope::take(void *address) {
  Buffer taken;
  auto found = buffers.find(address);
  if (found != buffers.end()) {
    taken = std::move(found->second);
    buffers.erase(found);
  }
  return taken;
}

//===----------------------------------------------------------------------===//
// The C functions
//===----------------------------------------------------------------------===//

/// The scope of the thread. Without one nobody takes errors, so it is said on
/// standard error that compiled code was called the wrong way.
static LaunchScope *scopeFor(const char *function) {
  LaunchScope *scope = LaunchScope::current();
  if (!scope)
    std::fprintf(stderr, "%s: called outside of a na::cuda::LaunchScope\n",
                 function);
  return scope;
}

void naCudaLaunch(int64_t kernel, int64_t grid, int64_t threads,
                  int64_t sharedBytes, int64_t params, int64_t count,
                  int64_t alignments) {
  if (LaunchScope *scope = scopeFor("naCudaLaunch"))
    scope->launch(kernel, grid, threads, sharedBytes,
                  reinterpret_cast<const int64_t *>(params), count,
                  reinterpret_cast<const int64_t *>(alignments));
}

void naCudaEncodeTensorMap(void *map, int64_t argument, int64_t address,
                           int64_t type, int64_t rank, const int64_t *shape,
                           int64_t swizzle) {
  LaunchScope *scope = scopeFor("naCudaEncodeTensorMap");
  if (!scope)
    return;
  if (rank < 3 || rank > 6 || type < 0 || type > 2)
    return scope->fail(Error::make(
        ErrorKind::Internal, "tensor map of type " + std::to_string(type) +
                                 " with " + std::to_string(rank) +
                                 " dimensions, expected 0 to 2 and 3 to 6"));
  TensorBoxes boxes;
  if (argument >= 0)
    boxes.name = "argument " + std::to_string(argument);
  boxes.address = reinterpret_cast<const void *>(address);
  boxes.type = TensorType(type);
  boxes.sizes.assign(shape, shape + rank);
  boxes.strides.assign(shape + rank, shape + 2 * rank);
  boxes.box.assign(shape + 2 * rank, shape + 3 * rank - 1);
  boxes.dilation.assign(shape + 3 * rank - 1, shape + 4 * rank - 4);
  boxes.swizzleBytes = swizzle;
  scope->encodeTensorMap(boxes, *static_cast<TensorMap *>(map));
}

int64_t naCudaMultiprocessors() {
  LaunchScope *scope = scopeFor("naCudaMultiprocessors");
  return scope ? scope->multiprocessors() : 1;
}

static void *allocateDevice(uint64_t bytes) {
  LaunchScope *scope = scopeFor("allocation");
  return scope ? scope->allocate(bytes, 1) : nullptr;
}

static void *allocateAlignedDevice(uint64_t alignment, uint64_t bytes) {
  LaunchScope *scope = scopeFor("allocation");
  return scope ? scope->allocate(bytes, alignment) : nullptr;
}

static void freeDevice(void *address) {
  if (LaunchScope *scope = scopeFor("deallocation"))
    scope->release(address);
}

namespace {
struct Descriptor {
  char *allocated, *aligned;
  int64_t offset;
  /// Sizes, then strides.
  int64_t shape[1];
};
} // namespace

static void copyDevice(int64_t elementBytes, NAUnrankedMemRef *source,
                       NAUnrankedMemRef *destination) {
  LaunchScope *scope = scopeFor("memrefCopy");
  if (!scope)
    return;
  const auto *from = static_cast<const Descriptor *>(source->descriptor);
  const auto *to = static_cast<const Descriptor *>(destination->descriptor);
  const int64_t rank = source->rank;
  int64_t count = 1;
  bool contiguous = true;
  for (int64_t axis = rank - 1; axis >= 0; --axis) {
    if (from->shape[axis] != 1)
      contiguous &=
          from->shape[rank + axis] == count && to->shape[rank + axis] == count;
    count *= from->shape[axis];
  }
  if (count == 0)
    return;
  if (!contiguous) {
    scope->fail(Error::make(ErrorKind::Unsupported,
                            "the host copies a strided tensor of the device"));
    return;
  }
  scope->copy(to->aligned + to->offset * elementBytes,
              from->aligned + from->offset * elementBytes,
              size_t(count * elementBytes));
}

const na::runtime::Symbol *na::cuda::launchSymbols() {
  using runtime::Symbol;
  static const Symbol table[] = {
      {"naCudaLaunch", reinterpret_cast<void *>(&naCudaLaunch)},
      {"naCudaEncodeTensorMap",
       reinterpret_cast<void *>(&naCudaEncodeTensorMap)},
      {"naCudaMultiprocessors",
       reinterpret_cast<void *>(&naCudaMultiprocessors)},
      {"_mlir_memref_to_llvm_alloc", reinterpret_cast<void *>(&allocateDevice)},
      {"_mlir_memref_to_llvm_aligned_alloc",
       reinterpret_cast<void *>(&allocateAlignedDevice)},
      {"_mlir_memref_to_llvm_free", reinterpret_cast<void *>(&freeDevice)},
      {"memrefCopy", reinterpret_cast<void *>(&copyDevice)},
      {nullptr, nullptr}};
  return table;
}
