//===- na-opt.cpp - Runs passes on MLIR with the na dialect ---*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

static constexpr const char overview[] =
    R"(Runs passes on MLIR with neighborhood attention (the na dialect).

Reads a module from a file or standard input, runs the passes in the order
given and prints the result. It takes all of mlir-opt's options and passes.

Examples:

  Everything, down to the LLVM dialect for this CPU:
    na-opt layer.mlir --na-to-cpu
    na-opt layer.mlir --na-to-cpu="mode=naive"
  Up to loops and vectors, still readable:
    na-opt layer.mlir --na-to-cpu-loops
  Which tiles the cost model picks, and why:
    na-opt layer.mlir --na-select-schedule=explain
  Single passes, and the program after each:
    na-opt layer.mlir --na-tile-and-fuse --canonicalize --mlir-print-ir-after-all

The project's passes start with na-, convert-na- or linalg-to-, and are
described in docs/passes; the operations in docs/dialects/NA.md.
)";

int main(int argc, char **argv) {
  mlir::na::registerAllPasses();
  mlir::DialectRegistry registry;
  mlir::na::registerAllDialects(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, overview, registry));
}
