//===- Nvml.h - Clocks and version of the GPU's driver ----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_TOOLS_NARUN_NVML_H
#define NA_TOOLS_NARUN_NVML_H

#include <string>

namespace mlir::na::run {

struct GpuState {
  /// As nvidia-smi prints it.
  std::string driver;
  unsigned smClock = 0, memoryClock = 0; ///< MHz.
};

/// Asks the management library of the driver. What it does not know, and
/// everything where there is no such library, stays empty.
GpuState readGpuState(const std::string &pciBusId);

} // namespace mlir::na::run

#endif // NA_TOOLS_NARUN_NVML_H
