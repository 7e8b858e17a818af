//===- na-reduce.cpp - Test case reducer for the na dialect -----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shrinks a module while a script keeps finding it interesting, with the na
// dialect and its passes beside the upstream ones.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Dialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Reducer/Passes.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "na/InitAll.h"
#include "llvm/Support/CommandLine.h"

static llvm::cl::extrahelp usage(R"(
HOW TO USE na-reduce:

  Write a script that exits with 1 while a file still shows the problem and
  with 0 when it does not, for instance

    #!/bin/sh
    na-opt --na-to-cpu "$1" 2>&1 | grep -q 'the message' && exit 1
    exit 0

  and let na-reduce shrink the file while the script says 1:

    na-reduce --reduction-tree='traversal-mode=0 test=./script.sh' bad.mlir

  --opt-reduction-pass='opt-pass=PASS test=./script.sh' shrinks by a pass, for
  instance symbol-dce, canonicalize or cse, instead of by removing operations.
)");

int main(int argc, char **argv) {
  mlir::na::registerAllPasses();
  mlir::registerReducerPasses();
  mlir::DialectRegistry registry;
  mlir::na::registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context));
}
