//===- Verify.h - Compares results with a reference -------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_TOOLS_NARUN_VERIFY_H
#define NA_TOOLS_NARUN_VERIFY_H

#include "Execution.h"
#include "Report.h"

namespace mlir::na::run {

/// Compares the outputs of a program with those of another lowering of it,
/// each to the tolerance of the least precise type that it went through.
llvm::Error compareOutputs(const Program &program, const Options &options,
                           const Harness &harness,
                           llvm::ArrayRef<HostTensor *> results,
                           llvm::ArrayRef<HostTensor *> references,
                           Report &report);

/// Compares with the lowering `pipeline` for the host, on the same inputs.
llvm::Error compareWithHost(const Program &program, llvm::StringRef pipeline,
                            const Options &options,
                            llvm::ArrayRef<HostTensor> inputs,
                            llvm::ArrayRef<HostTensor *> results,
                            Report &report);

} // namespace mlir::na::run

#endif // NA_TOOLS_NARUN_VERIFY_H
