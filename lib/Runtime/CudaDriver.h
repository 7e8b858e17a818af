//===- CudaDriver.h - The driver functions in use ---------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declarations of the part of the CUDA driver API that the run time calls,
// with the binary interface that the 64-bit driver library has kept since CUDA
// 11.2: the "_v2" symbols where there are such, the plain ones elsewhere.
// cuLaunchKernelEx (11.8), cuTensorMapEncodeTiled (12.0) and
// cuFuncGetParamInfo (12.4) may be missing.
// Enumerators carry the driver's numbers; checked against CUDA 13.0.
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_RUNTIME_CUDADRIVER_H
#define NA_LIB_RUNTIME_CUDADRIVER_H

#include "na/Runtime/Cuda.h"

#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

struct CUctx_st;
struct CUmemPoolHandle_st;

namespace na::cuda {

using Result = int;
using DeviceId = int;
using DeviceAddress = unsigned long long;
using ContextHandle = ::CUctx_st *;
using PoolHandle = ::CUmemPoolHandle_st *;
using EventHandle = ::CUevent_st *;
using ModuleHandle = ::CUmod_st *;
using FunctionHandle = ::CUfunc_st *;

enum ResultCode : int {
  ResultSuccess = 0,
  ResultInvalidValue = 1,
  ResultOutOfMemory = 2,
  ResultNoDevice = 100,
  ResultInvalidImage = 200,
  ResultNoBinaryForGpu = 209,
  ResultInvalidPtx = 218,
  ResultUnsupportedPtxVersion = 222,
  ResultNotFound = 500,
  ResultNotReady = 600,
};

enum DeviceAttribute : int {
  AttrMaxThreadsPerBlock = 1,
  AttrMaxBlockX = 2, // Y and Z follow
  AttrMaxGridX = 5,  // Y and Z follow
  AttrSharedPerBlock = 8,
  AttrWarpSize = 10,
  AttrRegistersPerBlock = 12,
  AttrClockKHz = 13,
  AttrMultiprocessors = 16,
  AttrMemoryClockKHz = 36,
  AttrMemoryBusBits = 37,
  AttrL2Bytes = 38,
  AttrMaxThreadsPerMultiprocessor = 39,
  AttrMajor = 75,
  AttrMinor = 76,
  AttrSharedPerMultiprocessor = 81,
  AttrSharedPerBlockOptIn = 97,
  AttrReservedSharedPerBlock = 111,
  AttrMemoryPools = 115,
  AttrClusterLaunch = 120,
};

enum FunctionAttribute : int {
  FuncMaxThreadsPerBlock = 0,
  FuncStaticShared = 1,
  FuncLocalBytes = 3,
  FuncRegisters = 4,
  FuncMaxDynamicShared = 8,
  FuncNonPortableCluster = 14,
};

enum PointerAttribute : int {
  PointerMemoryType = 2,
  PointerIsManaged = 8,
  PointerDeviceOrdinal = 9,
  PointerRangeStart = 11,
  PointerRangeSize = 12,
};
enum MemoryType : unsigned { MemoryHost = 1, MemoryDevice = 2 };

enum JitOption : int {
  JitInfoLog = 3,
  JitInfoLogSize = 4,
  JitErrorLog = 5,
  JitErrorLogSize = 6,
  JitOptimizationLevel = 7,
};

enum TensorMapType : int {
  TensorMapF16 = 6,
  TensorMapF32 = 7,
  TensorMapBF16 = 9,
};
enum TensorMapInterleave : int { TensorMapInterleaveNone = 0 };
enum TensorMapSwizzle : int {
  TensorMapSwizzleNone = 0,
  TensorMapSwizzle32 = 1,
  TensorMapSwizzle64 = 2,
  TensorMapSwizzle128 = 3,
};
/// What the L2 cache fetches at once.
enum TensorMapPromotion : int { TensorMapPromotion256 = 3 };
enum TensorMapFill : int { TensorMapFillZeros = 0 };

enum PoolAttribute : int { PoolReleaseThreshold = 4 };

enum StreamFlags : unsigned { StreamNonBlocking = 1 };
enum EventFlags : unsigned { EventDefault = 0, EventDisableTiming = 2 };

/// A launch attribute: its number, and a 64-byte value of which only the
/// cluster size is used here.
struct LaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    unsigned clusterSize[3];
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72);
enum LaunchAttributeId : int { LaunchClusterSize = 4 };

struct ExtendedLaunch {
  unsigned grid[3];
  unsigned block[3];
  unsigned sharedBytes;
  StreamHandle stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};
static_assert(sizeof(ExtendedLaunch) == 56);

/// Lists the functions: name, symbol and parameters; first those that every
/// supported driver has, then those that it may lack.
#define NA_CUDA_REQUIRED(X)                                                    \
  X(cuInit, "cuInit", (unsigned))                                              \
  X(cuDriverGetVersion, "cuDriverGetVersion", (int *))                         \
  X(cuGetErrorName, "cuGetErrorName", (Result, const char **))                 \
  X(cuGetErrorString, "cuGetErrorString", (Result, const char **))             \
  X(cuDeviceGetCount, "cuDeviceGetCount", (int *))                             \
  X(cuDeviceGet, "cuDeviceGet", (DeviceId *, int))                             \
  X(cuDeviceGetName, "cuDeviceGetName", (char *, int, DeviceId))               \
  X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *, DeviceId))             \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, DeviceId))      \
  X(cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", (char *, int, DeviceId))       \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain",                      \
    (ContextHandle *, DeviceId))                                               \
  X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (DeviceId))     \
  X(cuCtxPushCurrent, "cuCtxPushCurrent_v2", (ContextHandle))                  \
  X(cuCtxPopCurrent, "cuCtxPopCurrent_v2", (ContextHandle *))                  \
  X(cuCtxGetCurrent, "cuCtxGetCurrent", (ContextHandle *))                     \
  X(cuCtxSynchronize, "cuCtxSynchronize", ())                                  \
  X(cuMemGetInfo, "cuMemGetInfo_v2", (size_t *, size_t *))                     \
  X(cuMemAlloc, "cuMemAlloc_v2", (DeviceAddress *, size_t))                    \
  X(cuMemFree, "cuMemFree_v2", (DeviceAddress))                                \
  X(cuMemAllocAsync, "cuMemAllocAsync",                                        \
    (DeviceAddress *, size_t, StreamHandle))                                   \
  X(cuMemFreeAsync, "cuMemFreeAsync", (DeviceAddress, StreamHandle))           \
  X(cuMemHostAlloc, "cuMemHostAlloc", (void **, size_t, unsigned))             \
  X(cuMemFreeHost, "cuMemFreeHost", (void *))                                  \
  X(cuMemcpyHtoD, "cuMemcpyHtoD_v2", (DeviceAddress, const void *, size_t))    \
  X(cuMemcpyDtoH, "cuMemcpyDtoH_v2", (void *, DeviceAddress, size_t))          \
  X(cuMemcpyDtoD, "cuMemcpyDtoD_v2", (DeviceAddress, DeviceAddress, size_t))   \
  X(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                 \
    (DeviceAddress, const void *, size_t, StreamHandle))                       \
  X(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",                                 \
    (void *, DeviceAddress, size_t, StreamHandle))                             \
  X(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2",                                 \
    (DeviceAddress, DeviceAddress, size_t, StreamHandle))                      \
  X(cuMemsetD8, "cuMemsetD8_v2", (DeviceAddress, unsigned char, size_t))       \
  X(cuMemsetD8Async, "cuMemsetD8Async",                                        \
    (DeviceAddress, unsigned char, size_t, StreamHandle))                      \
  X(cuMemsetD32Async, "cuMemsetD32Async",                                      \
    (DeviceAddress, unsigned, size_t, StreamHandle))                           \
  X(cuPointerGetAttributes, "cuPointerGetAttributes",                          \
    (unsigned, int *, void **, DeviceAddress))                                 \
  X(cuStreamCreate, "cuStreamCreate", (StreamHandle *, unsigned))              \
  X(cuStreamDestroy, "cuStreamDestroy_v2", (StreamHandle))                     \
  X(cuStreamSynchronize, "cuStreamSynchronize", (StreamHandle))                \
  X(cuStreamWaitEvent, "cuStreamWaitEvent",                                    \
    (StreamHandle, EventHandle, unsigned))                                     \
  X(cuEventCreate, "cuEventCreate", (EventHandle *, unsigned))                 \
  X(cuEventDestroy, "cuEventDestroy_v2", (EventHandle))                        \
  X(cuEventRecord, "cuEventRecord", (EventHandle, StreamHandle))               \
  X(cuEventQuery, "cuEventQuery", (EventHandle))                               \
  X(cuEventSynchronize, "cuEventSynchronize", (EventHandle))                   \
  X(cuEventElapsedTime, "cuEventElapsedTime",                                  \
    (float *, EventHandle, EventHandle))                                       \
  X(cuModuleLoadDataEx, "cuModuleLoadDataEx",                                  \
    (ModuleHandle *, const void *, unsigned, int *, void **))                  \
  X(cuModuleUnload, "cuModuleUnload", (ModuleHandle))                          \
  X(cuModuleGetFunction, "cuModuleGetFunction",                                \
    (FunctionHandle *, ModuleHandle, const char *))                            \
  X(cuFuncGetAttribute, "cuFuncGetAttribute", (int *, int, FunctionHandle))    \
  X(cuFuncSetAttribute, "cuFuncSetAttribute", (FunctionHandle, int, int))      \
  X(cuLaunchKernel, "cuLaunchKernel",                                          \
    (FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned,         \
     unsigned, unsigned, StreamHandle, void **, void **))

#define NA_CUDA_OPTIONAL(X)                                                    \
  X(cuLaunchKernelEx, "cuLaunchKernelEx",                                      \
    (const ExtendedLaunch *, FunctionHandle, void **, void **))                \
  X(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled",                          \
    (void *, int, unsigned, void *, const uint64_t *, const uint64_t *,        \
     const uint32_t *, const uint32_t *, int, int, int, int))                  \
  X(cuFuncGetParamInfo, "cuFuncGetParamInfo",                                  \
    (FunctionHandle, size_t, size_t *, size_t *))                              \
  X(cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool",                    \
    (PoolHandle *, DeviceId))                                                  \
  X(cuMemPoolSetAttribute, "cuMemPoolSetAttribute", (PoolHandle, int, void *))

/// The functions of an opened and initialised driver library.
struct Driver {
#define NA_CUDA_DECLARE(name, symbol, parameters)                              \
  Result(*name) parameters = nullptr;
  NA_CUDA_REQUIRED(NA_CUDA_DECLARE)
  NA_CUDA_OPTIONAL(NA_CUDA_DECLARE)
#undef NA_CUDA_DECLARE

  int version = 0;
  int devices = 0;

  /// The Error of a call that returned `result`.
  Error check(const char *call, Result result,
              const std::string &detail = {}) const;
};

/// `driver.check` of a call by its name.
#define NA_CUDA_CALL(driver, function, ...)                                    \
  (driver).check(#function, (driver).function(__VA_ARGS__))

/// Opens `library`, looks up the functions and calls cuInit.
Expected<Driver> openDriver(const std::string &library);

/// The process's driver, opened on first success.
Expected<const Driver *> driver();

inline DeviceAddress addressOf(const void *pointer) {
  return static_cast<DeviceAddress>(reinterpret_cast<uintptr_t>(pointer));
}

/// A pointer as errors print it.
std::string hex(const void *pointer);

struct Device::State {
  State(const Driver &driver, int ordinal) : driver(driver), ordinal(ordinal) {}

  const Driver &driver;
  const int ordinal;
  DeviceId id = 0;
  DeviceProperties properties;

  /// Held shared while the context is in use, alone by close().
  std::shared_mutex lifetime;
  std::mutex retaining;
  std::atomic<ContextHandle> context{nullptr};

  /// What is alive and belongs to the context.
  std::atomic<int> buffers{0}, streams{0}, events{0};

  /// Modules by option and content. An entry's own lock is held while it is
  /// loaded, so that different modules load at the same time.
  struct ModuleEntry {
    std::mutex mutex;
    std::shared_ptr<Module> module;
    uint64_t order = 0;
  };
  std::mutex modulesMutex;
  std::unordered_map<std::string, std::shared_ptr<ModuleEntry>> modules;
  uint64_t loads = 0;

  Error readProperties();
  Error retain();

  /// Runs `body`, a callable that returns Error, with the primary context
  /// current, and restores what was current. Must not be nested.
  template <typename Body>
  Error inContext(Body body) {
    std::shared_lock<std::shared_mutex> lock(lifetime);
    return inContextLocked(body);
  }

  /// The same for a caller that holds `lifetime`.
  template <typename Body>
  Error inContextLocked(Body body) {
    if (!context.load(std::memory_order_acquire))
      if (Error error = retain())
        return error;
    ContextHandle own = context.load(std::memory_order_acquire);
    ContextHandle current = nullptr;
    if (Error error = NA_CUDA_CALL(driver, cuCtxGetCurrent, &current))
      return error;
    if (current == own)
      return body();
    if (Error error = NA_CUDA_CALL(driver, cuCtxPushCurrent, own))
      return error;
    Error result = body();
    Error restored = NA_CUDA_CALL(driver, cuCtxPopCurrent, &current);
    return result ? result : restored;
  }
};

} // namespace na::cuda

#endif // NA_LIB_RUNTIME_CUDADRIVER_H
