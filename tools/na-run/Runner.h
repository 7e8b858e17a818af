//===- Runner.h - Compiles, runs, verifies and times a program --*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_TOOLS_NARUN_RUNNER_H
#define NA_TOOLS_NARUN_RUNNER_H

#include "Options.h"
#include "Report.h"

namespace mlir::na::run {

/// Does what the options ask for, except for jobs. Without `quiet`, shows
/// progress on a terminal's standard error.
llvm::Expected<Report> runProgram(const Options &options, MLIRContext &context,
                                  bool quiet);

/// The program as text, for --emit-mlir.
llvm::Expected<std::string> printProgram(const Options &options,
                                         MLIRContext &context);

} // namespace mlir::na::run

#endif // NA_TOOLS_NARUN_RUNNER_H
