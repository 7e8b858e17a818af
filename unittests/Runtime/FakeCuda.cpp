//===- FakeCuda.cpp - A driver library without a GPU ----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library with the functions of a CUDA driver, for tests of the layer above
// on machines without a GPU: two devices, memory from malloc, everything done
// at once. It answers as the driver does to what the tests ask, keeps contexts
// per thread, and fails a chosen function on request.
//
//===----------------------------------------------------------------------===//

#include "FakeCuda.h"
#include "CudaDriver.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using namespace na::cuda;

static std::mutex mutex;
static std::string failingFunction;
static Result failingCode = 0;
static std::vector<std::string> calls;
static std::map<DeviceAddress, std::pair<size_t, int>> allocations;
static int retained[2] = {0, 0};
static int objects = 0;
static StreamHandle lastStream = nullptr;
using KernelBody = void (*)(unsigned, unsigned, unsigned, void **);
// Functions are entries of this map, whose addresses stay.
static std::map<std::string, KernelBody> kernels;
static char contexts[2];
static thread_local std::vector<ContextHandle> stack;

constexpr Result invalidContext = 201;

extern "C" {

void fakeFail(const char *function, int code) {
  std::lock_guard<std::mutex> lock(mutex);
  failingFunction = function;
  failingCode = code;
}
void fakeClearCalls() {
  std::lock_guard<std::mutex> lock(mutex);
  calls.clear();
}
int fakeCalls(const char *function) {
  std::lock_guard<std::mutex> lock(mutex);
  int count = 0;
  for (const std::string &call : calls)
    count += call == function;
  return count;
}
int fakeContextDepth() { return int(stack.size()); }
int fakeObjects() { return objects; }
int fakeRetained(int device) { return retained[device]; }
void *fakeStream() { return lastStream; }
void fakeKernel(const char *name, KernelBody body) {
  std::lock_guard<std::mutex> lock(mutex);
  kernels[name] = body;
}
}

/// Notes the call and returns the code that it is to fail with.
static Result enter(const char *function) {
  std::lock_guard<std::mutex> lock(mutex);
  calls.push_back(function);
  if (failingFunction != function)
    return ResultSuccess;
  failingFunction.clear();
  return failingCode;
}

static Result needContext() {
  return stack.empty() || !stack.back() ? invalidContext : ResultSuccess;
}
static int currentDevice() {
  return int(reinterpret_cast<char *>(stack.back()) - contexts);
}

static Result allocate(DeviceAddress *out, size_t bytes) {
  if (Result result = needContext())
    return result;
  if (bytes > (size_t(1) << 30))
    return ResultOutOfMemory;
  void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  *out = addressOf(memory);
  std::lock_guard<std::mutex> lock(mutex);
  allocations[*out] = {bytes, currentDevice()};
  return ResultSuccess;
}
static Result release(DeviceAddress address) {
  if (Result result = needContext())
    return result;
  std::lock_guard<std::mutex> lock(mutex);
  if (!allocations.erase(address))
    return ResultInvalidValue;
  std::free(reinterpret_cast<void *>(static_cast<uintptr_t>(address)));
  return ResultSuccess;
}
static void *pointer(DeviceAddress address) {
  return reinterpret_cast<void *>(static_cast<uintptr_t>(address));
}
template <typename T>
static Result makeObject(T **out) {
  if (Result result = needContext())
    return result;
  std::lock_guard<std::mutex> lock(mutex);
  ++objects;
  *out = static_cast<T *>(std::malloc(8));
  return ResultSuccess;
}
static Result dropObject(void *object) {
  if (Result result = needContext())
    return result;
  std::lock_guard<std::mutex> lock(mutex);
  --objects;
  std::free(object);
  return ResultSuccess;
}

/// Defines a function of the driver; the body follows.
#define FAKE(symbol, parameters, body)                                         \
  extern "C" Result symbol parameters {                                        \
    if (Result failure = enter(#symbol))                                       \
      return failure;                                                          \
    body                                                                       \
  }
/// One that only needs a context.
#define FAKE_IN_CONTEXT(symbol, parameters)                                    \
  FAKE(symbol, parameters, return needContext();)

FAKE(cuInit, (unsigned), return ResultSuccess;)
FAKE(cuDriverGetVersion, (int *out), *out = 12080; return ResultSuccess;)
extern "C" Result cuGetErrorName(Result code, const char **out) {
  *out = code == ResultOutOfMemory  ? "CUDA_ERROR_OUT_OF_MEMORY"
         : code == ResultNoDevice   ? "CUDA_ERROR_NO_DEVICE"
         : code == ResultInvalidPtx ? "CUDA_ERROR_INVALID_PTX"
         : code == 999              ? "CUDA_ERROR_UNKNOWN"
                                    : nullptr;
  return *out ? ResultSuccess : ResultInvalidValue;
}
extern "C" Result cuGetErrorString(Result code, const char **out) {
  *out = code == 999 ? "unknown error" : nullptr;
  return *out ? ResultSuccess : ResultInvalidValue;
}
FAKE(cuDeviceGetCount, (int *out), *out = 2; return ResultSuccess;)
FAKE(cuDeviceGet, (DeviceId * out, int ordinal), *out = ordinal;
     return ResultSuccess;)
FAKE(cuDeviceGetName, (char *out, int size, DeviceId),
     std::strncpy(out, "Fake GPU", size);
     return ResultSuccess;)
FAKE(cuDeviceGetPCIBusId, (char *out, int size, DeviceId),
     std::strncpy(out, "0000:00:00.0", size);
     return ResultSuccess;)
FAKE(cuDeviceTotalMem_v2, (size_t *out, DeviceId), *out = size_t(1) << 30;
     return ResultSuccess;)
FAKE(
    cuDeviceGetAttribute, (int *out, int attribute, DeviceId),
    switch (attribute) {
case AttrMajor:
  *out = 8;
  break;
case AttrMinor:
  *out = 9;
  break;
case AttrMaxGridX:
  *out = 2147483647;
  break;
case AttrSharedPerBlock:
  *out = 48 * 1024;
  break;
case AttrSharedPerBlockOptIn:
  *out = 99 * 1024;
  break;
case AttrMemoryPools:
  *out = 1;
  break;
// As a driver that does not know the attribute.
case AttrClusterLaunch:
  return ResultInvalidValue;
default:
  *out = 1024;
    } return ResultSuccess;)
FAKE(cuDevicePrimaryCtxRetain, (ContextHandle * out, DeviceId device),
     ++retained[device];
     *out = reinterpret_cast<ContextHandle>(&contexts[device]);
     return ResultSuccess;)
FAKE(cuDevicePrimaryCtxRelease_v2, (DeviceId device), --retained[device];
     return ResultSuccess;)
FAKE(cuCtxPushCurrent_v2, (ContextHandle context), stack.push_back(context);
     return ResultSuccess;)
FAKE(cuCtxPopCurrent_v2, (ContextHandle * out),
     if (stack.empty()) return invalidContext;
     *out = stack.back(); stack.pop_back(); return ResultSuccess;)
FAKE(cuCtxGetCurrent, (ContextHandle * out),
     *out = stack.empty() ? nullptr : stack.back();
     return ResultSuccess;)
FAKE_IN_CONTEXT(cuCtxSynchronize, ())
FAKE(cuMemGetInfo_v2, (size_t *free, size_t *total), *free = 1000;
     *total = 2000; return needContext();)
FAKE(cuMemAlloc_v2, (DeviceAddress * out, size_t bytes),
     return allocate(out, bytes);)
FAKE(cuMemFree_v2, (DeviceAddress address), return release(address);)
FAKE(cuMemAllocAsync, (DeviceAddress * out, size_t bytes, StreamHandle),
     return allocate(out, bytes);)
FAKE(cuMemFreeAsync, (DeviceAddress address, StreamHandle),
     return release(address);)
FAKE(cuDeviceGetDefaultMemPool, (PoolHandle * out, DeviceId device),
     *out = reinterpret_cast<PoolHandle>(&contexts[device]);
     return ResultSuccess;)
FAKE(cuMemPoolSetAttribute, (PoolHandle, int attribute, void *),
     return attribute == PoolReleaseThreshold ? needContext()
                                              : ResultInvalidValue;)
FAKE(cuMemHostAlloc, (void **out, size_t bytes, unsigned),
     *out = std::malloc(bytes);
     return needContext();)
FAKE(cuMemFreeHost, (void *memory), std::free(memory); return needContext();)
FAKE(cuMemcpyHtoD_v2, (DeviceAddress to, const void *from, size_t bytes),
     std::memcpy(pointer(to), from, bytes);
     return needContext();)
FAKE(cuMemcpyDtoH_v2, (void *to, DeviceAddress from, size_t bytes),
     std::memcpy(to, pointer(from), bytes);
     return needContext();)
FAKE(cuMemcpyDtoD_v2, (DeviceAddress to, DeviceAddress from, size_t bytes),
     std::memcpy(pointer(to), pointer(from), bytes);
     return needContext();)
FAKE(cuMemcpyHtoDAsync_v2,
     (DeviceAddress to, const void *from, size_t bytes, StreamHandle),
     std::memcpy(pointer(to), from, bytes);
     return needContext();)
FAKE(cuMemcpyDtoHAsync_v2,
     (void *to, DeviceAddress from, size_t bytes, StreamHandle),
     std::memcpy(to, pointer(from), bytes);
     return needContext();)
FAKE(cuMemcpyDtoDAsync_v2,
     (DeviceAddress to, DeviceAddress from, size_t bytes, StreamHandle),
     std::memcpy(pointer(to), pointer(from), bytes);
     return needContext();)
FAKE(cuMemsetD8_v2, (DeviceAddress to, unsigned char value, size_t bytes),
     std::memset(pointer(to), value, bytes);
     return needContext();)
FAKE(cuMemsetD8Async,
     (DeviceAddress to, unsigned char value, size_t bytes, StreamHandle),
     std::memset(pointer(to), value, bytes);
     return needContext();)
FAKE_IN_CONTEXT(cuMemsetD32Async,
                (DeviceAddress, unsigned, size_t, StreamHandle))
FAKE(
    cuPointerGetAttributes,
    (unsigned, int *, void **values, DeviceAddress address),
    std::lock_guard<std::mutex> lock(mutex);
    *static_cast<unsigned *>(values[0]) = 0;
    *static_cast<int *>(values[2]) = -2;
    for (auto &[start, of] : allocations) if (address >= start &&
                                              address < start + of.first) {
      *static_cast<unsigned *>(values[0]) = MemoryDevice;
      *static_cast<int *>(values[2]) = of.second;
      *static_cast<DeviceAddress *>(values[3]) = start;
      *static_cast<size_t *>(values[4]) = of.first;
    } return ResultSuccess;)
FAKE(cuStreamCreate, (StreamHandle * out, unsigned), return makeObject(out);)
FAKE(cuStreamDestroy_v2, (StreamHandle stream), return dropObject(stream);)
FAKE_IN_CONTEXT(cuStreamSynchronize, (StreamHandle))
FAKE_IN_CONTEXT(cuStreamWaitEvent, (StreamHandle, EventHandle, unsigned))
FAKE(cuEventCreate, (EventHandle * out, unsigned), return makeObject(out);)
FAKE(cuEventDestroy_v2, (EventHandle event), return dropObject(event);)
FAKE_IN_CONTEXT(cuEventRecord, (EventHandle, StreamHandle))
FAKE_IN_CONTEXT(cuEventQuery, (EventHandle))
FAKE_IN_CONTEXT(cuEventSynchronize, (EventHandle))
FAKE(cuEventElapsedTime, (float *out, EventHandle, EventHandle), *out = 1.5f;
     return needContext();)
FAKE(
    cuModuleLoadDataEx,
    (ModuleHandle * out, const void *image, unsigned, int *, void **values),
    if (std::strstr(static_cast<const char *>(image), "faulty")) {
      std::strcpy(static_cast<char *>(values[2]), "line 7: no such word");
      return ResultInvalidPtx;
    } return makeObject(out);)
FAKE(cuModuleUnload, (ModuleHandle module), return dropObject(module);)
FAKE(cuModuleGetFunction,
     (FunctionHandle * out, ModuleHandle, const char *name),
     if (!std::strcmp(name, "missing")) return ResultNotFound;
     std::lock_guard<std::mutex> lock(mutex);
     *out = reinterpret_cast<FunctionHandle>(&*kernels.try_emplace(name).first);
     return needContext();)
FAKE(cuFuncGetAttribute, (int *out, int attribute, FunctionHandle),
     *out = attribute == FuncLocalBytes || attribute == FuncRegisters ? 64
                                                                      : 1024;
     return needContext();)
FAKE_IN_CONTEXT(cuFuncSetAttribute, (FunctionHandle, int, int))
/// The words of the map are its parameters, in their order.
FAKE(
    cuTensorMapEncodeTiled,
    (void *map, int type, unsigned rank, void *address, const uint64_t *sizes,
     const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
     int interleave, int swizzle, int promotion, int fill),
    if (Result result = needContext()) return result;
    auto *words = static_cast<uint64_t *>(map); size_t count = 0;
    auto put = [&](uint64_t word) { words[count++] = word; };
    put(uint64_t(type) << 48 | uint64_t(rank) << 32 | interleave << 24 |
        swizzle << 16 | promotion << 8 | fill);
    put(addressOf(address));
    for (unsigned dim = 0; dim < rank; ++dim) put(sizes[dim]);
    for (unsigned dim = 0; dim + 1 < rank; ++dim) put(strides[dim]);
    for (unsigned dim = 0; dim < rank; ++dim) put(box[dim] << 8 | steps[dim]);
    return ResultSuccess;)
FAKE(
    cuLaunchKernel,
    (FunctionHandle function, unsigned grid, unsigned, unsigned, unsigned block,
     unsigned, unsigned, unsigned shared, StreamHandle stream, void **args,
     void **),
    if (Result result = needContext()) return result;
    KernelBody body; {
      std::lock_guard<std::mutex> lock(mutex);
      lastStream = stream;
      body =
          reinterpret_cast<decltype(kernels)::value_type *>(function)->second;
    } if (body) body(grid, block, shared, args);
    return ResultSuccess;)
