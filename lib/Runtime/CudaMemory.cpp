//===- CudaMemory.cpp - Device memory, copies and pointer checks ----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaDriver.h"

using namespace na::cuda;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Adds to an out-of-memory error what was asked for and what there is. To be
/// called with the context current.
static Error explainMemory(const Device::State &state, Error error,
                           size_t bytes) {
  if (error.kind() != ErrorKind::OutOfMemory)
    return error;
  std::string detail = std::to_string(bytes) + " bytes asked for on device " +
                       std::to_string(state.ordinal);
  size_t free = 0, total = 0;
  if (state.driver.cuMemGetInfo(&free, &total) == ResultSuccess)
    detail += ", " + std::to_string(free) + " of " + std::to_string(total) +
              " bytes free";
  return Error::fromCall(ErrorKind::OutOfMemory, error.call(), error.code(),
                         error.codeName(), detail);
}

Expected<Buffer> Device::allocate(size_t bytes) {
  Buffer made;
  if (bytes == 0)
    return made;
  DeviceAddress address = 0;
  if (Error error = impl->inContext([&] {
        Error failure = NA_CUDA_CALL(impl->driver, cuMemAlloc, &address, bytes);
        if (!failure)
          ++impl->buffers;
        return explainMemory(*impl, failure, bytes);
      }))
    return error;
  made.owner = this;
  made.address = reinterpret_cast<void *>(static_cast<uintptr_t>(address));
  made.bytes = bytes;
  return made;
}

Expected<Buffer> Device::allocateAsync(size_t bytes, StreamHandle stream) {
  if (!impl->properties.memoryPools)
    return Error::make(ErrorKind::Unsupported,
                       "device " + std::to_string(impl->ordinal) +
                           " has no memory pools, which allocations in the "
                           "order of a stream need");
  Buffer made;
  if (bytes == 0)
    return made;
  DeviceAddress address = 0;
  if (Error error = impl->inContext([&] {
        Error failure = NA_CUDA_CALL(impl->driver, cuMemAllocAsync, &address,
                                     bytes, stream);
        if (!failure)
          ++impl->buffers;
        return explainMemory(*impl, failure, bytes);
      }))
    return error;
  made.owner = this;
  made.address = reinterpret_cast<void *>(static_cast<uintptr_t>(address));
  made.bytes = bytes;
  made.stream = stream;
  made.pooled = true;
  return made;
}

Error Device::keepFreedMemory(uint64_t bytes) {
  if (!impl->driver.cuDeviceGetDefaultMemPool ||
      !impl->driver.cuMemPoolSetAttribute || !impl->properties.memoryPools)
    return Error::success();
  return impl->inContext([&]() -> Error {
    PoolHandle pool = nullptr;
    if (Error error = NA_CUDA_CALL(impl->driver, cuDeviceGetDefaultMemPool,
                                   &pool, impl->id))
      return error;
    return NA_CUDA_CALL(impl->driver, cuMemPoolSetAttribute, pool,
                        PoolReleaseThreshold, &bytes);
  });
}

void Buffer::swap(Buffer &other) noexcept {
  std::swap(owner, other.owner);
  std::swap(address, other.address);
  std::swap(bytes, other.bytes);
  std::swap(stream, other.stream);
  std::swap(pooled, other.pooled);
}

void Buffer::forget() {
  --owner->state().buffers;
  owner = nullptr;
  address = nullptr;
  bytes = 0;
  stream = nullptr;
  pooled = false;
}

// A destructor has nobody to report to; free() is for those who ask.
Buffer::~Buffer() { (void)(pooled ? freeAsync(stream) : free()); }

Error Buffer::free() {
  if (!owner)
    return Error::success();
  Device::State &state = owner->state();
  Error error = state.inContext([&] {
    return NA_CUDA_CALL(state.driver, cuMemFree, addressOf(address));
  });
  forget();
  return error;
}

Error Buffer::freeAsync(StreamHandle order) {
  if (!owner)
    return Error::success();
  if (!pooled)
    return Error::make(ErrorKind::InvalidArgument,
                       "freeAsync of a buffer that allocate() made");
  Device::State &state = owner->state();
  Error error = state.inContext([&] {
    return NA_CUDA_CALL(state.driver, cuMemFreeAsync, addressOf(address),
                        order);
  });
  forget();
  return error;
}

Expected<HostBuffer> Device::allocateHost(size_t bytes) {
  HostBuffer made;
  if (bytes == 0)
    return made;
  if (Error error = impl->inContext([&] {
        Error failure =
            NA_CUDA_CALL(impl->driver, cuMemHostAlloc, &made.address, bytes, 0);
        if (!failure)
          ++impl->buffers;
        return failure;
      }))
    return error;
  made.owner = this;
  made.bytes = bytes;
  return made;
}

void HostBuffer::swap(HostBuffer &other) noexcept {
  std::swap(owner, other.owner);
  std::swap(address, other.address);
  std::swap(bytes, other.bytes);
}

HostBuffer::~HostBuffer() { (void)free(); }

Error HostBuffer::free() {
  if (!owner)
    return Error::success();
  Device::State &state = owner->state();
  Error error = state.inContext(
      [&] { return NA_CUDA_CALL(state.driver, cuMemFreeHost, address); });
  --state.buffers;
  owner = nullptr;
  address = nullptr;
  bytes = 0;
  return error;
}

//===----------------------------------------------------------------------===//
// Copies and fills
//===----------------------------------------------------------------------===//

/// The driver dereferences host addresses, so null must not reach it.
static Error checkNotNull(const void *destination, const void *source) {
  if (!destination)
    return Error::make(ErrorKind::NullPointer,
                       "the destination of a copy is a null pointer");
  if (!source)
    return Error::make(ErrorKind::NullPointer,
                       "the source of a copy is a null pointer");
  return Error::success();
}

/// Runs the copy `call` in the context of `state` after the checks.
template <typename Call>
static Error copy(Device::State &state, const void *destination,
                  const void *source, size_t bytes, Call call) {
  if (bytes == 0)
    return Error::success();
  if (Error error = checkNotNull(destination, source))
    return error;
  return state.inContext(call);
}

Error Device::copyToDevice(void *destination, const void *source,
                           size_t bytes) {
  return copy(*impl, destination, source, bytes, [&] {
    return NA_CUDA_CALL(impl->driver, cuMemcpyHtoD, addressOf(destination),
                        source, bytes);
  });
}

Error Device::copyToHost(void *destination, const void *source, size_t bytes) {
  return copy(*impl, destination, source, bytes, [&] {
    return NA_CUDA_CALL(impl->driver, cuMemcpyDtoH, destination,
                        addressOf(source), bytes);
  });
}

Error Device::copyOnDevice(void *destination, const void *source,
                           size_t bytes) {
  return copy(*impl, destination, source, bytes, [&] {
    // The plain call may return before the copy has been made.
    if (Error error =
            NA_CUDA_CALL(impl->driver, cuMemcpyDtoD, addressOf(destination),
                         addressOf(source), bytes))
      return error;
    return NA_CUDA_CALL(impl->driver, cuStreamSynchronize, nullptr);
  });
}

Error Device::copyToDeviceAsync(void *destination, const void *source,
                                size_t bytes, StreamHandle stream) {
  return copy(*impl, destination, source, bytes, [&] {
    return NA_CUDA_CALL(impl->driver, cuMemcpyHtoDAsync, addressOf(destination),
                        source, bytes, stream);
  });
}

Error Device::copyToHostAsync(void *destination, const void *source,
                              size_t bytes, StreamHandle stream) {
  return copy(*impl, destination, source, bytes, [&] {
    return NA_CUDA_CALL(impl->driver, cuMemcpyDtoHAsync, destination,
                        addressOf(source), bytes, stream);
  });
}

Error Device::copyOnDeviceAsync(void *destination, const void *source,
                                size_t bytes, StreamHandle stream) {
  return copy(*impl, destination, source, bytes, [&] {
    return NA_CUDA_CALL(impl->driver, cuMemcpyDtoDAsync, addressOf(destination),
                        addressOf(source), bytes, stream);
  });
}

static Error checkFill(const void *destination, size_t alignment) {
  if (!destination)
    return Error::make(ErrorKind::NullPointer,
                       "the destination of a fill is a null pointer");
  if (addressOf(destination) % alignment)
    return Error::make(ErrorKind::MisalignedPointer,
                       "the destination of a fill, " + hex(destination) +
                           ", is not a multiple of " +
                           std::to_string(alignment));
  return Error::success();
}

Error Device::fill(void *destination, uint8_t value, size_t bytes) {
  if (bytes == 0)
    return Error::success();
  if (Error error = checkFill(destination, 1))
    return error;
  return impl->inContext([&] {
    return NA_CUDA_CALL(impl->driver, cuMemsetD8, addressOf(destination), value,
                        bytes);
  });
}

Error Device::fillAsync(void *destination, uint8_t value, size_t bytes,
                        StreamHandle stream) {
  if (bytes == 0)
    return Error::success();
  if (Error error = checkFill(destination, 1))
    return error;
  return impl->inContext([&] {
    return NA_CUDA_CALL(impl->driver, cuMemsetD8Async, addressOf(destination),
                        value, bytes, stream);
  });
}

Error Device::fill32Async(void *destination, uint32_t value, size_t words,
                          StreamHandle stream) {
  if (words == 0)
    return Error::success();
  if (Error error = checkFill(destination, 4))
    return error;
  return impl->inContext([&] {
    return NA_CUDA_CALL(impl->driver, cuMemsetD32Async, addressOf(destination),
                        value, words, stream);
  });
}

//===----------------------------------------------------------------------===//
// Pointer checks
//===----------------------------------------------------------------------===//

Error Device::checkPointer(const char *name, const void *pointer, size_t bytes,
                           size_t alignment) {
  const std::string argument = std::string("argument '") + name + "'";
  if (!pointer)
    return Error::make(ErrorKind::NullPointer, argument + " is a null pointer");
  const std::string what = argument + " (" + hex(pointer) + ")";
  if (alignment > 1 && addressOf(pointer) % alignment)
    return Error::make(ErrorKind::MisalignedPointer,
                       what + " is not aligned to " +
                           std::to_string(alignment) + " bytes");

  unsigned type = 0, managed = 0;
  int device = -1;
  DeviceAddress start = 0;
  size_t size = 0;
  int attributes[] = {PointerMemoryType, PointerIsManaged, PointerDeviceOrdinal,
                      PointerRangeStart, PointerRangeSize};
  void *values[] = {&type, &managed, &device, &start, &size};
  // This call, unlike its singular, succeeds for unknown addresses and leaves
  // zeros.
  if (Error error = impl->inContext([&] {
        return NA_CUDA_CALL(impl->driver, cuPointerGetAttributes, 5, attributes,
                            values, addressOf(pointer));
      }))
    return error.withPrefix(what);
  if (type == MemoryHost && !managed)
    return Error::make(ErrorKind::NotDeviceMemory,
                       what + " is host memory, not memory of device " +
                           std::to_string(impl->ordinal));
  if (type != MemoryDevice && !managed)
    return Error::make(ErrorKind::NotDeviceMemory,
                       what + " is not memory that the CUDA driver knows");
  if (!managed && device != impl->ordinal)
    return Error::make(ErrorKind::WrongDevice,
                       what + " is memory of device " + std::to_string(device) +
                           ", not of device " + std::to_string(impl->ordinal));
  if (bytes && size) {
    const size_t left = start + size - addressOf(pointer);
    if (bytes > left)
      return Error::make(ErrorKind::OutOfBounds,
                         what + " needs " + std::to_string(bytes) +
                             " bytes, its allocation has " +
                             std::to_string(left) + " from there on");
  }
  return Error::success();
}
