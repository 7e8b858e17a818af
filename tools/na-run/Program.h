//===- Program.h - The program that na-run runs -----------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_TOOLS_NARUN_PROGRAM_H
#define NA_TOOLS_NARUN_PROGRAM_H

#include "Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "na/ExecutionEngine/Harness.h"

namespace mlir::na::run {

/// What one run of a program computes, in floating-point operations. Only
/// operations whose sizes are known count.
struct Work {
  /// 2 * pairs * (D + Dv) for each head of each na.attention, without the
  /// softmax, and 2.5 times as much for its gradients.
  double attention = 0;
  /// Matrix products and other contractions in linalg.
  double contractions = 0;
  double total() const { return attention + contractions; }
};

struct Program {
  OwningOpRef<ModuleOp> module;
  std::string entry;
  HarnessNames names;
  /// The shapes of inputs that the flags give and the types do not.
  std::map<std::string, SmallVector<int64_t>> shapes;
  /// The least precise float type that the program computes with.
  ElementType precision = ElementType::F64;
  /// One line for people.
  std::string summary;
  /// Computes the output and the LSE that this program, a backward, reads where
  /// no file has them; else null.
  std::unique_ptr<Program> forward;
};

/// Reads the program from its file or builds it from flags, and attaches the
/// schedule that the options ask for.
llvm::Expected<Program> loadProgram(const Options &options,
                                    MLIRContext &context);

/// Counts the work of `program`; a problem given by flags counts with its sizes
/// even if the program is dynamic.
Work countWork(const Program &program, const Options &options);

} // namespace mlir::na::run

#endif // NA_TOOLS_NARUN_PROGRAM_H
