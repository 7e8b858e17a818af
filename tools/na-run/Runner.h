//===- Runner.h - Compiles, runs, verifies and times a program --*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_TOOLS_NARUN_RUNNER_H
#define NA_TOOLS_NARUN_RUNNER_H

#include "Options.h"
#include "Program.h"
#include "na/ExecutionEngine/Compare.h"
#include "na/ExecutionEngine/JITModule.h"

namespace mlir::na::run {

/// How an output compares with the naive lowering.
struct OutputCheck {
  std::string name;
  std::string shape;
  Tolerance tolerance;
  Comparison comparison;
};

struct Timing {
  double median = 0, fastest = 0; ///< Seconds.
  int runs = 0;
  Work work;
  double matmulRate = 0; ///< Operations per second.
};

struct Report {
  std::string summary, pipeline, cpu;
  int threads = 0;
  CompileTimes compile;
  double firstRun = 0; ///< Seconds.
  std::vector<OutputCheck> checks;
  std::optional<Timing> timing;
  std::vector<std::string> written;
  int64_t peakMemory = 0; ///< Bytes of the process at most.

  /// Whether every check passed.
  bool passed() const;
};

/// Does what the options ask for, except for jobs. Without `quiet`, shows
/// progress on a terminal's standard error.
llvm::Expected<Report> runProgram(const Options &options, MLIRContext &context,
                                  bool quiet);

/// The program as text, for --emit-mlir.
llvm::Expected<std::string> printProgram(const Options &options,
                                         MLIRContext &context);

} // namespace mlir::na::run

#endif // NA_TOOLS_NARUN_RUNNER_H
