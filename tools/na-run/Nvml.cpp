//===- Nvml.cpp - Clocks and version of the GPU's driver ------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nvml.h"

#include <dlfcn.h>
#include <type_traits>

using namespace mlir::na::run;

namespace {
struct NvmlDevice;

/// The functions in use; null where there is no library.
struct Nvml {
  int (*init)() = nullptr;
  int (*driverVersion)(char *, unsigned) = nullptr;
  int (*byBusId)(const char *, NvmlDevice **) = nullptr;
  int (*clock)(NvmlDevice *, int, unsigned *) = nullptr;

  Nvml() {
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return;
    auto find = [&](auto &function, const char *name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(
          dlsym(library, name));
    };
    find(init, "nvmlInit_v2");
    find(driverVersion, "nvmlSystemGetDriverVersion");
    find(byBusId, "nvmlDeviceGetHandleByPciBusId_v2");
    find(clock, "nvmlDeviceGetClockInfo");
    usable = init && driverVersion && byBusId && clock && init() == 0;
  }
  bool usable = false;
};
} // namespace

static GpuState read(const Nvml &nvml, const std::string &pciBusId) {
  GpuState state;
  char text[96] = {};
  if (nvml.driverVersion(text, sizeof(text) - 1) == 0)
    state.driver = text;
  constexpr int smClock = 1, memoryClock = 2;
  NvmlDevice *device = nullptr;
  if (nvml.byBusId(pciBusId.c_str(), &device) != 0)
    return state;
  if (nvml.clock(device, smClock, &state.smClock) != 0)
    state.smClock = 0;
  if (nvml.clock(device, memoryClock, &state.memoryClock) != 0)
    state.memoryClock = 0;
  return state;
}

GpuState mlir::na::run::readGpuState(const std::string &pciBusId) {
  static const Nvml nvml;
  return nvml.usable ? read(nvml, pciBusId) : GpuState();
}
