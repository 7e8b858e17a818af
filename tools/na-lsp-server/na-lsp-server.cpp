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
#include "llvm/Support/CommandLine.h"

static llvm::cl::extrahelp usage(R"(
HOW TO USE na-lsp-server:

  An editor starts it and speaks the Language Server Protocol with it over
  standard input and output; no option is needed. Name this program where the
  editor asks for the MLIR language server ("mlir.server_path" in the MLIR
  extension of Visual Studio Code). It then shows parse errors and verifier
  messages, definitions, uses and completions in .mlir files that hold the na
  dialect. --lit-test reads requests separated by '// -----', for tests.
)");

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::na::registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
