//===- Cuda.h - CUDA devices through the driver API -------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thin layer over the CUDA driver API. The driver library is opened at run
// time, so that neither building nor running needs CUDA: where there is no
// driver or no GPU, the first call says so in its Error.
//
// Every driver call is checked, and failures come back as values that name the
// call, the driver's error and its code. Nothing here exits or aborts.
//
// Contexts: work happens in a device's primary context, the one that the CUDA
// run time and PyTorch use too. It is retained on first use. Each function
// makes it current for its own duration and restores what was current before,
// so callers may have any device current, or none.
//
// Threads: everything may be called from any thread, except that an object of
// one's own (a Buffer, a Stream, an Event) must not be moved or released while
// another thread uses it.
//
// Synchronisation: only functions that say so wait for the device. Streams are
// the driver's handles, so a caller's own stream serves as well as a Stream of
// this header; the null handle is the legacy default stream.
//
//===----------------------------------------------------------------------===//

#ifndef NA_RUNTIME_CUDA_H
#define NA_RUNTIME_CUDA_H

#include "na/Runtime/Error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// The driver's own handle types are pointers to these.
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;

namespace na::cuda {

using runtime::Error;
using runtime::ErrorKind;
using runtime::Expected;

/// The same type as the driver's CUstream.
using StreamHandle = ::CUstream_st *;

class Buffer;
class Device;
class Event;
class HostBuffer;
class Kernel;
class Module;
class Stream;

/// Opens the driver library and initialises it. Other functions do it when
/// they have to; a failure is not remembered. The library is libcuda.so.1, or
/// the file that the environment variable NA_CUDA_DRIVER names.
Error initialize();

/// The CUDA version that the driver supports, as 1000 * major + 10 * minor.
Expected<int> driverVersion();

/// The number of devices; 0 is an error (NoDevice), not a count.
Expected<int> deviceCount();

/// What is fixed about a device.
struct DeviceProperties {
  std::string name;
  /// As "0000:1b:00.0".
  std::string pciBusId;
  int major = 0, minor = 0;
  int multiprocessors = 0;
  size_t memoryBytes = 0;
  size_t l2Bytes = 0;
  /// Dynamic and static shared memory of one block: without the opt-in that a
  /// Kernel makes, and with it.
  size_t sharedBytesPerBlock = 0;
  size_t sharedBytesPerBlockOptIn = 0;
  size_t sharedBytesPerMultiprocessor = 0;
  size_t reservedSharedBytesPerBlock = 0;
  int registersPerBlock = 0;
  int warpSize = 0;
  int maxThreadsPerBlock = 0;
  int maxThreadsPerMultiprocessor = 0;
  int maxBlock[3] = {0, 0, 0};
  int maxGrid[3] = {0, 0, 0};
  int clockKHz = 0, memoryClockKHz = 0, memoryBusBits = 0;
  bool clusterLaunch = false;
  bool memoryPools = false;
  /// As driverVersion().
  int driverVersion = 0;

  /// The architecture as compilers name it, without a feature suffix: sm_90.
  std::string arch() const {
    return "sm_" + std::to_string(major) + std::to_string(minor);
  }
};

struct MemoryInfo {
  size_t freeBytes = 0, totalBytes = 0;
};

/// How a module is loaded.
struct LoadOptions {
  /// What errors call the module.
  std::string name = "module";
  /// The driver's compiler's optimisation level, 0 to 4; PTX only.
  int optimizationLevel = 4;
};

/// One device and its primary context. Devices exist for the life of the
/// process; get() gives the same object each time.
class Device {
public:
  static Expected<Device *> get(int ordinal);

  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  int ordinal() const;
  const DeviceProperties &properties() const;
  Expected<MemoryInfo> memoryInfo();

  /// Waits for all work of the primary context, or of one stream. The failure
  /// of a kernel that ran before shows here.
  Error synchronize();
  Error synchronize(StreamHandle stream);

  /// Device memory. Zero bytes give an empty buffer with a null address.
  Expected<Buffer> allocate(size_t bytes);
  /// The same from the device's memory pool, in the order of `stream`, on
  /// which the buffer is also freed unless freed on another one.
  Expected<Buffer> allocateAsync(size_t bytes, StreamHandle stream);
  /// How many freed bytes the memory pool keeps when the device is
  /// synchronized, rather than giving them back to the system: for programs
  /// that allocate the same again and again. The pool is the device's default
  /// one; it starts with 0. Does nothing where there are no pools.
  Error keepFreedMemory(uint64_t bytes);
  /// Page-locked host memory, which asynchronous copies need to overlap.
  Expected<HostBuffer> allocateHost(size_t bytes);

  /// Copies that have been made when they return. They are ordered after the
  /// legacy default stream's work, not after that of a Stream.
  Error copyToDevice(void *destination, const void *source, size_t bytes);
  Error copyToHost(void *destination, const void *source, size_t bytes);
  Error copyOnDevice(void *destination, const void *source, size_t bytes);
  /// Copies in the order of `stream`. Host memory must stay as it is until
  /// the stream has passed the copy.
  Error copyToDeviceAsync(void *destination, const void *source, size_t bytes,
                          StreamHandle stream);
  Error copyToHostAsync(void *destination, const void *source, size_t bytes,
                        StreamHandle stream);
  Error copyOnDeviceAsync(void *destination, const void *source, size_t bytes,
                          StreamHandle stream);
  /// Sets bytes, or 32-bit words at an address that is a multiple of four.
  /// Without a stream the driver may return before the memory is set.
  Error fill(void *destination, uint8_t value, size_t bytes);
  Error fillAsync(void *destination, uint8_t value, size_t bytes,
                  StreamHandle stream);
  Error fill32Async(void *destination, uint32_t value, size_t words,
                    StreamHandle stream);

  /// A new stream that does not synchronise with the legacy default stream.
  Expected<Stream> createStream();
  Expected<Event> createEvent(bool timing = true);

  /// Loads PTX text or the bytes of a cubin or fatbin. The same bytes are
  /// loaded once; the device keeps the module until unloadUnusedModules().
  Expected<std::shared_ptr<Module>> load(std::string_view image,
                                         const LoadOptions &options = {});

  /// Waits for the context and unloads the modules to which nobody else
  /// refers, the last loaded one first.
  Error unloadUnusedModules();

  /// unloadUnusedModules(), then gives the primary context back. Fails with
  /// InUse when modules, buffers, streams or events are still alive. Later
  /// calls retain the context again.
  Error close();

  /// Checks an address that a kernel is to use: not null, a multiple of
  /// `alignment`, in memory of this device, with `bytes` bytes from there on in
  /// its allocation (0: not checked). `name` is what errors call it. Managed
  /// memory passes on every device.
  Error checkPointer(const char *name, const void *pointer, size_t bytes = 0,
                     size_t alignment = 1);

  struct State;
  State &state() { return *impl; }

private:
  explicit Device(std::unique_ptr<State> state);
  ~Device();
  std::unique_ptr<State> impl;
};

/// Owned device memory. The destructor frees it: on the stream of
/// allocateAsync, or by a call that may wait for the device.
class Buffer {
public:
  Buffer() = default;
  Buffer(Buffer &&other) noexcept { swap(other); }
  Buffer &operator=(Buffer &&other) noexcept {
    Buffer moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~Buffer();

  void *data() const { return address; }
  size_t size() const { return bytes; }
  Device *device() const { return owner; }

  /// Frees now and reports what the destructor could not.
  Error free();
  /// Frees in the order of `stream`; for buffers of allocateAsync.
  Error freeAsync(StreamHandle stream);

private:
  friend class Device;
  void swap(Buffer &other) noexcept;
  void forget();
  Device *owner = nullptr;
  void *address = nullptr;
  size_t bytes = 0;
  StreamHandle stream = nullptr;
  bool pooled = false;
};

/// Owned page-locked host memory.
class HostBuffer {
public:
  HostBuffer() = default;
  HostBuffer(HostBuffer &&other) noexcept { swap(other); }
  HostBuffer &operator=(HostBuffer &&other) noexcept {
    HostBuffer moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~HostBuffer();

  void *data() const { return address; }
  size_t size() const { return bytes; }
  Error free();

private:
  friend class Device;
  void swap(HostBuffer &other) noexcept;
  Device *owner = nullptr;
  void *address = nullptr;
  size_t bytes = 0;
};

/// An owned stream. The destructor does not wait for its work.
class Stream {
public:
  Stream() = default;
  Stream(Stream &&other) noexcept { swap(other); }
  Stream &operator=(Stream &&other) noexcept {
    Stream moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~Stream();

  StreamHandle handle() const { return stream; }
  operator StreamHandle() const { return stream; }
  Device *device() const { return owner; }
  /// Waits for the stream's work.
  Error synchronize();
  /// Makes later work of this stream wait for `event`; the host does not wait.
  Error wait(const Event &event);
  Error destroy();

private:
  friend class Device;
  void swap(Stream &other) noexcept;
  Device *owner = nullptr;
  StreamHandle stream = nullptr;
};

/// An owned event.
class Event {
public:
  Event() = default;
  Event(Event &&other) noexcept { swap(other); }
  Event &operator=(Event &&other) noexcept {
    Event moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~Event();

  ::CUevent_st *handle() const { return event; }
  Device *device() const { return owner; }
  Error record(StreamHandle stream);
  /// Waits until the work before record() is done.
  Error synchronize();
  /// Whether it is done, without waiting.
  Expected<bool> done() const;
  /// Milliseconds from `start` to this event, both recorded and done.
  Expected<float> millisecondsSince(const Event &start) const;
  Error destroy();

private:
  friend class Device;
  void swap(Event &other) noexcept;
  Device *owner = nullptr;
  ::CUevent_st *event = nullptr;
};

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

struct LaunchConfig {
  Dim3 grid, block;
  /// At most what the Kernel was made for.
  size_t dynamicSharedBytes = 0;
  /// Blocks per cluster; all ones launches without the attribute.
  Dim3 cluster;
};

/// How a kernel is to be used, fixed when it is looked up.
struct KernelOptions {
  /// The most dynamic shared memory that a launch will ask for. The opt-in
  /// that the driver wants from 48 KiB on is made here.
  size_t dynamicSharedBytes = 0;
  /// Allow clusters of more than 8 blocks.
  bool nonPortableClusters = false;
};

/// A value for a kernel parameter.
struct KernelArgument {
  const void *data;
  size_t size;
};

/// A loaded module; see Device::load().
class Module {
public:
  ~Module();
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  Device &device() const { return *owner; }
  const std::string &name() const { return label; }
  /// What the driver's compiler wrote when it loaded the module.
  const std::string &log() const { return jitLog; }

private:
  friend class Device;
  friend class Kernel;
  Module(Device *owner, ::CUmod_st *handle, std::string label,
         std::string jitLog);
  struct Functions;
  Device *owner;
  ::CUmod_st *handle;
  std::string label, jitLog;
  std::unique_ptr<Functions> functions;
};

/// A kernel of a module, which it keeps loaded. Copies are cheap.
class Kernel {
public:
  /// Looks up the kernel `name` of `module` and makes it ready for launches.
  static Expected<Kernel> get(std::shared_ptr<Module> module,
                              const std::string &name,
                              const KernelOptions &options = {});

  struct Info {
    std::string name;
    size_t dynamicSharedBytes = 0;
    size_t staticSharedBytes = 0;
    /// Local memory of a thread: the stack and spilled registers.
    size_t localBytes = 0;
    int registers = 0;
    int maxThreadsPerBlock = 0;
    /// Sizes of the parameters; not known to drivers before CUDA 12.4.
    bool parametersKnown = false;
    std::vector<size_t> parameterBytes;
  };
  const Info &info() const { return *shared; }
  Device &device() const { return module->device(); }

  /// Enqueues the kernel on `stream`. Arguments are passed by value, as the
  /// bytes of the given objects: pass device addresses as pointers.
  template <typename... Args>
  Error launch(const LaunchConfig &config, StreamHandle stream,
               const Args &...args) const {
    static_assert((std::is_trivially_copyable_v<Args> && ...),
                  "kernel arguments are passed as their bytes");
    const KernelArgument list[] = {{&args, sizeof(args)}..., {nullptr, 0}};
    return launchWith(config, stream, list, sizeof...(args));
  }
  Error launchWith(const LaunchConfig &config, StreamHandle stream,
                   const KernelArgument *arguments, size_t count) const;

private:
  Kernel() = default;
  Error checkLaunch(const LaunchConfig &config, const KernelArgument *arguments,
                    size_t count) const;
  std::shared_ptr<Module> module;
  ::CUfunc_st *function = nullptr;
  std::shared_ptr<const Info> shared;
};

} // namespace na::cuda

#endif // NA_RUNTIME_CUDA_H
