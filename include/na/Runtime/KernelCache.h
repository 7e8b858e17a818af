//===- KernelCache.h - Compiled kernels, built once -------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keeps compiled kernels in memory and, optionally, as files, so that a kernel
// is compiled once per process, or once per machine.
//
// Files: one per key, named by the key's hash, with a header (magic number,
// version, sizes, checksum of everything else), the key itself, and the
// payload. A file that is truncated, altered, of another version or of another
// key counts as absent; it is built again and replaced. Files are written under
// a temporary name and renamed, so that readers see whole files only and any
// number of processes may share a directory. A directory that cannot be read or
// written makes the cache slower, never wrong: see Statistics.
//
// Cached code is loaded as it is found. Use a directory that only trusted users
// can write; the ones that are made here have mode 0700.
//
//===----------------------------------------------------------------------===//

#ifndef NA_RUNTIME_KERNELCACHE_H
#define NA_RUNTIME_KERNELCACHE_H

#include "na/Runtime/Cuda.h"
#include "na/Runtime/Error.h"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <tuple>
#include <unordered_map>

namespace na::runtime {

/// Everything that decides which code is right. Two kernels with equal keys
/// must be interchangeable.
struct KernelKey {
  /// The operation and its constants: path, window, stride, dilation, causal,
  /// sizes the kernel is specialised on, scale, options.
  std::string problem;
  /// What the kernel assumes of strides and alignments, e.g. "contiguous-16".
  std::string stridesClass;
  /// The element types, e.g. "bf16".
  std::string dtype;
  /// The target, with its feature suffix: sm_80, sm_90a.
  std::string arch;
  /// The whole schedule as text.
  std::string schedule;
  /// What identifies the build of this compiler.
  std::string compilerBuild;
  /// What turns PTX into code: "ptxas 13.0", or "driver 13000".
  std::string assembler;

  /// The fields as one string, in which no two different keys are equal.
  std::string str() const;
};

/// A compiled kernel or a set of them.
struct CompiledKernel {
  /// PTX, cubin or fatbin bytes.
  std::string image;
  /// Whatever the builder wants to find again: names, shared memory, grid.
  std::string metadata;
};

struct KernelCacheOptions {
  /// Where files are kept. Empty: the environment variable NA_CACHE_DIR when
  /// `useEnvironment` is set; without that too, memory only.
  std::string directory;
  bool useEnvironment = true;
};

class KernelCache {
public:
  using CompiledPtr = std::shared_ptr<const CompiledKernel>;
  /// Compiles a kernel. Runs without a lock of the cache held, so that other
  /// keys are built at the same time; it must not ask for its own key.
  using Builder = std::function<Expected<CompiledKernel>()>;

  explicit KernelCache(const KernelCacheOptions &options = {});
  KernelCache(const KernelCache &) = delete;
  KernelCache &operator=(const KernelCache &) = delete;

  /// The kernel of `key`: from memory, else from the directory, else built.
  /// Threads that ask for the same key at the same time wait for one of them,
  /// and get the same Error when its build fails. A failure is not remembered.
  Expected<CompiledPtr> get(const std::string &key, const Builder &build);

  /// The same, loaded on `device` and looked up by name. Loaded kernels are
  /// kept per key, device, name and options.
  Expected<cuda::Kernel> getKernel(const std::string &key, cuda::Device &device,
                                   const std::string &name,
                                   const cuda::KernelOptions &options,
                                   const Builder &build);

  /// Forgets what is in memory; files stay.
  void clear();

  /// The directory in use; empty when there is none.
  const std::string &directory() const { return folder; }
  /// The file of `key`; empty without a directory.
  std::string fileOf(const std::string &key) const;

  struct Statistics {
    size_t memoryHits = 0;
    size_t fileHits = 0;
    size_t builds = 0;
    /// Files that were there but not valid.
    size_t rejectedFiles = 0;
    size_t failedWrites = 0;
    /// Why the last of those failed.
    std::string lastFileError;
  };
  Statistics statistics() const;

private:
  struct Entry;
  Expected<CompiledPtr> readOrBuild(const std::string &key,
                                    const Builder &build);
  CompiledPtr readFile(const std::string &key);
  void writeFile(const std::string &key, const CompiledKernel &kernel);
  void noteFileError(std::string message, bool write);

  std::string folder;
  std::shared_mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries;
  using LoadedKey = std::tuple<std::string, int, std::string, size_t, bool>;
  std::map<LoadedKey, cuda::Kernel> loaded;

  std::atomic<size_t> memoryHits{0}, fileHits{0}, builds{0}, rejectedFiles{0},
      failedWrites{0};
  mutable std::mutex errorMutex;
  std::string lastFileError;
};

} // namespace na::runtime

#endif // NA_RUNTIME_KERNELCACHE_H
