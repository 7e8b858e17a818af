//===- main.cpp - Parses, verifies and prints one na.attention --*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "na/Dialect/NA/IR/NA.h"
#include "llvm/Support/raw_ostream.h"

static constexpr const char *program = R"mlir(
func.func @attention(%q: tensor<1x8x8x2x16xf32>, %o: tensor<1x8x8x2x16xf32>)
    -> tensor<1x8x8x2x16xf32> {
  %r = na.attention
      ins(%q, %q, %q : tensor<1x8x8x2x16xf32>, tensor<1x8x8x2x16xf32>,
                       tensor<1x8x8x2x16xf32>)
      outs(%o : tensor<1x8x8x2x16xf32>)
      window(<size = [3, 5]>) -> tensor<1x8x8x2x16xf32>
  return %r : tensor<1x8x8x2x16xf32>
}
)mlir";

int main() {
  mlir::MLIRContext context;
  context.loadDialect<mlir::func::FuncDialect, mlir::na::NADialect>();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(program, &context);
  if (!module)
    return 1;
  module->print(llvm::outs());

  int64_t rank = 0;
  module->walk([&](mlir::na::AttentionOp op) { rank = op.getSpatialRank(); });
  return rank == 2 ? 0 : 1;
}
