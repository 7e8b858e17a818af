//===- na-lsp-server.cpp - Language server of the na dialect ----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Diagnostics, completion and navigation for .mlir files in an editor, with
// the na dialect beside the upstream ones.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Dialect.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "na/InitAll.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::na::registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
