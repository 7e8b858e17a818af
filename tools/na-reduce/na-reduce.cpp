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

int main(int argc, char **argv) {
  mlir::na::registerAllPasses();
  mlir::registerReducerPasses();
  mlir::DialectRegistry registry;
  mlir::na::registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context));
}
