//===- CudaRunner.h - Runs a program on a GPU -------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_TOOLS_NARUN_CUDARUNNER_H
#define NA_TOOLS_NARUN_CUDARUNNER_H

#include "Report.h"

namespace mlir::na::run {

/// Compiles, runs, verifies and times `program` on a GPU, as far as the
/// options ask for it. The reference is the naive lowering on the CPU; for
/// large programs, whose reference would take minutes, it is the naive
/// lowering on the GPU, and that one's is the fused lowering on the CPU.
llvm::Error runOnCuda(const Program &program, const Options &options,
                      bool quiet, Report &report);

/// Sets the chip of the options to that of the device, if they say nothing.
llvm::Error chooseChip(Options &options);

} // namespace mlir::na::run

#endif // NA_TOOLS_NARUN_CUDARUNNER_H
