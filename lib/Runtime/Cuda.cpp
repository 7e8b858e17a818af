//===- Cuda.cpp - Devices, streams and events -----------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaDriver.h"

using namespace na::cuda;

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

Device::Device(std::unique_ptr<State> state) : impl(std::move(state)) {}
Device::~Device() = default;

Expected<Device *> Device::get(int ordinal) {
  Expected<const Driver *> opened = driver();
  if (!opened)
    return opened.error();
  const Driver &driver = **opened;
  if (ordinal < 0 || ordinal >= driver.devices)
    return Error::make(ErrorKind::NoDevice,
                       "device " + std::to_string(ordinal) + " of " +
                           std::to_string(driver.devices) +
                           " (numbered from 0)");
  // Not destroyed, as the driver's table is not.
  static std::mutex &mutex = *new std::mutex;
  static auto &devices = *new std::map<int, Device *>;
  std::lock_guard<std::mutex> lock(mutex);
  auto known = devices.find(ordinal);
  if (known != devices.end())
    return known->second;
  auto state = std::make_unique<State>(driver, ordinal);
  if (Error error = state->readProperties())
    return error;
  Device *device = new Device(std::move(state));
  devices[ordinal] = device;
  return device;
}

int Device::ordinal() const { return impl->ordinal; }

const DeviceProperties &Device::properties() const { return impl->properties; }

Error Device::State::readProperties() {
  if (Error error = NA_CUDA_CALL(driver, cuDeviceGet, &id, ordinal))
    return error;
  char name[256] = {};
  if (Error error =
          NA_CUDA_CALL(driver, cuDeviceGetName, name, sizeof(name) - 1, id))
    return error;
  properties.name = name;
  char busId[32] = {};
  if (Error error = NA_CUDA_CALL(driver, cuDeviceGetPCIBusId, busId,
                                 sizeof(busId) - 1, id))
    return error;
  properties.pciBusId = busId;
  properties.driverVersion = driver.version;
  if (Error error =
          NA_CUDA_CALL(driver, cuDeviceTotalMem, &properties.memoryBytes, id))
    return error;

  Error failure;
  // Attributes that are newer than the driver count as 0.
  auto read = [&](int attribute, bool optional = false) {
    int value = 0;
    Result result = driver.cuDeviceGetAttribute(&value, attribute, id);
    if (optional && result == ResultInvalidValue)
      return 0;
    if (result != ResultSuccess && !failure)
      failure = driver.check("cuDeviceGetAttribute", result,
                             "attribute " + std::to_string(attribute));
    return value;
  };
  properties.major = read(AttrMajor);
  properties.minor = read(AttrMinor);
  properties.multiprocessors = read(AttrMultiprocessors);
  properties.l2Bytes = read(AttrL2Bytes);
  properties.sharedBytesPerBlock = read(AttrSharedPerBlock);
  properties.sharedBytesPerBlockOptIn = read(AttrSharedPerBlockOptIn);
  properties.sharedBytesPerMultiprocessor = read(AttrSharedPerMultiprocessor);
  properties.reservedSharedBytesPerBlock =
      read(AttrReservedSharedPerBlock, /*optional=*/true);
  properties.registersPerBlock = read(AttrRegistersPerBlock);
  properties.warpSize = read(AttrWarpSize);
  properties.maxThreadsPerBlock = read(AttrMaxThreadsPerBlock);
  properties.maxThreadsPerMultiprocessor =
      read(AttrMaxThreadsPerMultiprocessor);
  for (int axis = 0; axis < 3; ++axis) {
    properties.maxBlock[axis] = read(AttrMaxBlockX + axis);
    properties.maxGrid[axis] = read(AttrMaxGridX + axis);
  }
  properties.clockKHz = read(AttrClockKHz, /*optional=*/true);
  properties.memoryClockKHz = read(AttrMemoryClockKHz, /*optional=*/true);
  properties.memoryBusBits = read(AttrMemoryBusBits, /*optional=*/true);
  properties.memoryPools = read(AttrMemoryPools, /*optional=*/true) != 0;
  properties.clusterLaunch = read(AttrClusterLaunch, /*optional=*/true) != 0;
  return failure;
}

Error Device::State::retain() {
  std::lock_guard<std::mutex> lock(retaining);
  if (context.load(std::memory_order_relaxed))
    return Error::success();
  ContextHandle own = nullptr;
  if (Error error = NA_CUDA_CALL(driver, cuDevicePrimaryCtxRetain, &own, id))
    return error;
  context.store(own, std::memory_order_release);
  return Error::success();
}

Expected<MemoryInfo> Device::memoryInfo() {
  MemoryInfo info;
  if (Error error = impl->inContext([&] {
        return NA_CUDA_CALL(impl->driver, cuMemGetInfo, &info.freeBytes,
                            &info.totalBytes);
      }))
    return error;
  return info;
}

Error Device::synchronize() {
  return impl->inContext(
      [&] { return NA_CUDA_CALL(impl->driver, cuCtxSynchronize); });
}

Error Device::synchronize(StreamHandle stream) {
  return impl->inContext(
      [&] { return NA_CUDA_CALL(impl->driver, cuStreamSynchronize, stream); });
}

Error Device::close() {
  if (Error error = unloadUnusedModules())
    return error;
  // In this order, as unloadUnusedModules() takes them.
  std::lock_guard<std::mutex> modulesLock(impl->modulesMutex);
  std::unique_lock<std::shared_mutex> lock(impl->lifetime);
  const size_t modules = impl->modules.size();
  if (modules || impl->buffers || impl->streams || impl->events)
    return Error::make(ErrorKind::InUse,
                       "device " + std::to_string(impl->ordinal) +
                           " still has " + std::to_string(modules) +
                           " modules, " + std::to_string(impl->buffers) +
                           " buffers, " + std::to_string(impl->streams) +
                           " streams and " + std::to_string(impl->events) +
                           " events");
  if (!impl->context)
    return Error::success();
  if (Error error =
          NA_CUDA_CALL(impl->driver, cuDevicePrimaryCtxRelease, impl->id))
    return error;
  impl->context = nullptr;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

Expected<Stream> Device::createStream() {
  Stream made;
  if (Error error = impl->inContext([&] {
        Error failure = NA_CUDA_CALL(impl->driver, cuStreamCreate, &made.stream,
                                     StreamNonBlocking);
        if (!failure)
          ++impl->streams;
        return failure;
      }))
    return error;
  made.owner = this;
  return made;
}

void Stream::swap(Stream &other) noexcept {
  std::swap(owner, other.owner);
  std::swap(stream, other.stream);
}

// A destructor has nobody to report to; destroy() is for those who ask.
Stream::~Stream() { (void)destroy(); }

Error Stream::destroy() {
  if (!owner)
    return Error::success();
  Device::State &state = owner->state();
  Error error = state.inContext(
      [&] { return NA_CUDA_CALL(state.driver, cuStreamDestroy, stream); });
  --state.streams;
  owner = nullptr;
  stream = nullptr;
  return error;
}

static Error noObject(const char *what) {
  return Error::make(ErrorKind::NullPointer,
                     std::string("the ") + what +
                         " was never created, moved from or destroyed");
}

Error Stream::synchronize() {
  if (!owner)
    return noObject("stream");
  return owner->synchronize(stream);
}

Error Stream::wait(const Event &event) {
  if (!owner)
    return noObject("stream");
  if (!event.device())
    return noObject("event");
  Device::State &state = owner->state();
  return state.inContext([&] {
    return NA_CUDA_CALL(state.driver, cuStreamWaitEvent, stream, event.handle(),
                        0);
  });
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

Expected<Event> Device::createEvent(bool timing) {
  Event made;
  if (Error error = impl->inContext([&] {
        Error failure =
            NA_CUDA_CALL(impl->driver, cuEventCreate, &made.event,
                         timing ? EventDefault : EventDisableTiming);
        if (!failure)
          ++impl->events;
        return failure;
      }))
    return error;
  made.owner = this;
  return made;
}

void Event::swap(Event &other) noexcept {
  std::swap(owner, other.owner);
  std::swap(event, other.event);
}

Event::~Event() { (void)destroy(); }

Error Event::destroy() {
  if (!owner)
    return Error::success();
  Device::State &state = owner->state();
  Error error = state.inContext(
      [&] { return NA_CUDA_CALL(state.driver, cuEventDestroy, event); });
  --state.events;
  owner = nullptr;
  event = nullptr;
  return error;
}

Error Event::record(StreamHandle stream) {
  if (!owner)
    return noObject("event");
  Device::State &state = owner->state();
  return state.inContext(
      [&] { return NA_CUDA_CALL(state.driver, cuEventRecord, event, stream); });
}

Error Event::synchronize() {
  if (!owner)
    return noObject("event");
  Device::State &state = owner->state();
  return state.inContext(
      [&] { return NA_CUDA_CALL(state.driver, cuEventSynchronize, event); });
}

Expected<bool> Event::done() const {
  if (!owner)
    return noObject("event");
  Device::State &state = owner->state();
  bool finished = true;
  if (Error error = state.inContext([&] {
        Result result = state.driver.cuEventQuery(event);
        finished = result != ResultNotReady;
        return finished ? state.driver.check("cuEventQuery", result)
                        : Error::success();
      }))
    return error;
  return finished;
}

Expected<float> Event::millisecondsSince(const Event &start) const {
  if (!owner || !start.owner)
    return noObject("event");
  if (owner != start.owner)
    return Error::make(ErrorKind::WrongDevice,
                       "the events are of devices " +
                           std::to_string(start.owner->ordinal()) + " and " +
                           std::to_string(owner->ordinal()));
  Device::State &state = owner->state();
  float elapsed = 0;
  if (Error error = state.inContext([&] {
        return NA_CUDA_CALL(state.driver, cuEventElapsedTime, &elapsed,
                            start.event, event);
      }))
    return error;
  return elapsed;
}
