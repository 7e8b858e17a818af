//===- CudaDriver.cpp - Opens the CUDA driver library ---------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaDriver.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

using namespace na::cuda;

std::string na::cuda::hex(const void *pointer) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx", addressOf(pointer));
  return text;
}

static ErrorKind kindOf(Result result) {
  switch (result) {
  case ResultOutOfMemory:
    return ErrorKind::OutOfMemory;
  case ResultNoDevice:
    return ErrorKind::NoDevice;
  case ResultInvalidImage:
  case ResultNoBinaryForGpu:
  case ResultInvalidPtx:
  case ResultUnsupportedPtxVersion:
    return ErrorKind::CompileFailed;
  default:
    return ErrorKind::DriverCall;
  }
}

Error Driver::check(const char *call, Result result,
                    const std::string &detail) const {
  if (result == ResultSuccess)
    return Error::success();
  const char *name = nullptr;
  const char *text = nullptr;
  // Both fail for codes that are newer than the driver; the number remains.
  if (cuGetErrorName(result, &name) != ResultSuccess || !name)
    name = "unknown error";
  if (cuGetErrorString(result, &text) != ResultSuccess || !text)
    text = "";
  std::string more = text;
  if (!detail.empty())
    more += (more.empty() ? "" : ": ") + detail;
  return Error::fromCall(kindOf(result), call, result, name, more);
}

static std::string versionText(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

Expected<Driver> na::cuda::openDriver(const std::string &library) {
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    return Error::make(ErrorKind::NoDriver,
                       "no CUDA driver: cannot open " + library + ": " +
                           (reason ? reason : "unknown reason"));
  }
  Driver driver;
  std::string missing;
  auto find = [&](auto &function, const char *symbol) {
    void *address = dlsym(handle, symbol);
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
    return address != nullptr;
  };
#define NA_CUDA_FIND(name, symbol, parameters)                                 \
  if (!find(driver.name, symbol) && missing.empty())                           \
    missing = symbol;
  NA_CUDA_REQUIRED(NA_CUDA_FIND)
#undef NA_CUDA_FIND
#define NA_CUDA_FIND(name, symbol, parameters) find(driver.name, symbol);
  NA_CUDA_OPTIONAL(NA_CUDA_FIND)
#undef NA_CUDA_FIND

  Error error;
  if (!missing.empty()) {
    std::string version;
    if (driver.cuDriverGetVersion &&
        driver.cuDriverGetVersion(&driver.version) == ResultSuccess)
      version = " (CUDA " + versionText(driver.version) + ")";
    error = Error::make(ErrorKind::DriverTooOld,
                        library + version + " has no function " + missing +
                            "; a driver for CUDA 11.2 or later is needed");
  }
  if (!error)
    error = NA_CUDA_CALL(driver, cuInit, 0);
  if (!error)
    error = NA_CUDA_CALL(driver, cuDriverGetVersion, &driver.version);
  if (!error)
    error = NA_CUDA_CALL(driver, cuDeviceGetCount, &driver.devices);
  if (!error && driver.devices == 0)
    error =
        Error::make(ErrorKind::NoDevice, "the CUDA driver sees no device; is "
                                         "CUDA_VISIBLE_DEVICES set?");
  if (error) {
    dlclose(handle);
    return error;
  }
  return driver;
}

Expected<const Driver *> na::cuda::driver() {
  // Neither is destroyed: objects with static storage may still be released
  // when the process ends.
  static std::mutex &mutex = *new std::mutex;
  static std::atomic<const Driver *> opened{nullptr};
  if (const Driver *known = opened.load(std::memory_order_acquire))
    return known;
  std::lock_guard<std::mutex> lock(mutex);
  if (const Driver *known = opened.load(std::memory_order_acquire))
    return known;
  const char *library = std::getenv("NA_CUDA_DRIVER");
  Expected<Driver> driver =
      openDriver(library && *library ? library : "libcuda.so.1");
  if (!driver)
    return driver.error();
  const Driver *kept = new Driver(*driver);
  opened.store(kept, std::memory_order_release);
  return kept;
}

Error na::cuda::initialize() { return driver().error(); }

Expected<int> na::cuda::driverVersion() {
  Expected<const Driver *> opened = driver();
  if (!opened)
    return opened.error();
  return (*opened)->version;
}

Expected<int> na::cuda::deviceCount() {
  Expected<const Driver *> opened = driver();
  if (!opened)
    return opened.error();
  return (*opened)->devices;
}
