//===- Report.h - What na-run found out -------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_TOOLS_NARUN_REPORT_H
#define NA_TOOLS_NARUN_REPORT_H

#include "Program.h"
#include "na/ExecutionEngine/Compare.h"
#include "na/ExecutionEngine/JITModule.h"

namespace mlir::na::run {

/// How an output compares with the reference.
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
  /// Operations per second; 0 if not measured.
  double matmulRate = 0;
};

/// What there is to say about a run on a GPU.
struct GpuReport {
  std::string name, chip;
  /// The version of the driver, and the CUDA version that it supports.
  std::string driver, cuda;
  double load = 0; ///< Seconds that the driver took to load the kernels.
  int64_t launches = 0;
  std::vector<std::string> remarks;

  // Of the timed runs.
  double hostTime = 0; ///< Seconds of a call on the host, median.
  int pauseMs = 0;
  bool flushed = false;
  /// MHz, at the end of the timed runs; 0 if not known.
  unsigned smClock = 0, memoryClock = 0;
};

struct Report {
  std::string summary, pipeline, cpu;
  int threads = 0;
  std::optional<GpuReport> gpu;
  CompileTimes compile;
  double firstRun = 0; ///< Seconds.
  /// What the outputs were compared with.
  std::string reference;
  std::vector<OutputCheck> checks;
  std::optional<Timing> timing;
  std::vector<std::string> written;
  /// Of the passes.
  std::vector<std::string> warnings;
  int64_t peakMemory = 0; ///< Bytes of the process at most.

  /// Whether every check passed.
  bool passed() const;
};

} // namespace mlir::na::run

#endif // NA_TOOLS_NARUN_REPORT_H
