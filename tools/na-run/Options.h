//===- Options.h - What na-run is asked to do -------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_TOOLS_NARUN_OPTIONS_H
#define NA_TOOLS_NARUN_OPTIONS_H

#include "na/ExecutionEngine/HostTensor.h"
#include "llvm/Support/Error.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mlir::na::run {

/// An attention operation given by flags.
struct Problem {
  std::vector<int64_t> shape, window, stride, dilation;
  std::vector<bool> causal;
  int64_t batch = 1, heads = 1, kvHeads = 1, headDim = 32, valueDim = 32;
  int64_t extraKV = 0;
  std::optional<double> scale;
  /// The element type of the bias; none without a bias.
  std::optional<ElementType> bias;
  ElementType type = ElementType::F32;
  bool lse = true;
  /// Batch and spatial sizes are dynamic in the program.
  bool dynamic = false;
  /// The batch is dynamic, whatever the spatial sizes are.
  bool dynamicBatch = false;
  /// The gradients of the operation instead of its output.
  bool backward = false;
  /// A backward program reads the output and the LSE instead of computing them.
  bool readsOutput = false;
  /// A backward program has a gradient of the LSE.
  bool lseGrad = false;
  /// Gradients are the same bit for bit in every run.
  bool deterministic = false;
};

struct Options {
  /// A program from a file, or one built from flags; exactly one is set.
  std::string file;
  std::optional<Problem> problem;
  std::string entry;

  /// Run on a GPU instead of the CPU.
  bool cuda = false;
  int device = 0;
  /// Empty for the device's.
  std::string chip;
  /// Fail where a pass falls back to a slower lowering.
  bool noFallback = false;
  /// f32 products from factors rounded to tf32.
  bool tf32 = false;
  /// All lanes of a warp arrive at barriers.
  bool arriveByLanes = false;
  /// No more CTAs than run at a time.
  bool persistentGrid = true;
  /// Where the PTX goes; empty for nowhere.
  std::string ptxFile;
  /// Stop after compilation.
  bool compileOnly = false;

  std::string pipeline = "fused";
  std::vector<int64_t> queryTile, keyTile, warpgroupTile;
  /// 0 for the compiler's choice.
  int64_t headsPerTile = 0;
  /// Measured schedules; empty for none.
  std::string tuningFile;
  /// What the tiles are made for.
  std::string scheduleTarget = "cpu";
  /// LLVM's optimization level.
  int optLevel = 3;
  /// The width that code is vectorized for; 0 for the host's.
  int vectorBits = 0;
  std::vector<std::string> printAfter;
  bool emitMLIR = false;

  /// Print the ranking of schedules and stop.
  bool explain = false;
  int candidates = 10;
  /// The query tile that is drawn; empty for one in the middle.
  std::vector<int64_t> drawTile;
  /// Where its picture goes; empty for nowhere.
  std::string svgFile;

  /// Files by name of the input or output.
  std::map<std::string, std::string> inputs, outputs;
  uint64_t seed = 0;
  int threads = 0;

  bool verify = false;
  bool bench = false;
  int runs = 20;
  bool cold = false;
  int pauseMs = 0;
  /// A file that processes which share a GPU lock while they time runs.
  std::string lockFile;

  bool json = false;
  /// Where the JSON goes; empty for standard output.
  std::string jsonFile;

  /// A file of jobs, which stands alone.
  std::string jobs;
};

/// Which program the command line is of: na-explain explains in any case.
enum class Tool { Run, Explain };

/// Parses a command line. Errors name the flag, the value and the limit.
/// `--help` and the like print and exit, or are errors unless `mayExit`.
llvm::Expected<Options> parseOptions(llvm::ArrayRef<std::string> arguments,
                                     bool mayExit, Tool tool = Tool::Run);

} // namespace mlir::na::run

#endif // NA_TOOLS_NARUN_OPTIONS_H
