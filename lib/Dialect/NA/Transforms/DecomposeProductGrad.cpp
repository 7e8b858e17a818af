//===- DecomposeProductGrad.cpp - One product per operation ---------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NA/Transforms/Passes.h"

namespace mlir::na {
#define GEN_PASS_DEF_NADECOMPOSEPRODUCTGRAD
#include "na/Dialect/NA/Transforms/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;
using namespace mlir::na;

namespace {
struct DecomposeProductGrad
    : mlir::na::impl::NADecomposeProductGradBase<DecomposeProductGrad> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](Operation *op) {
      if (auto qk = dyn_cast<QKGradOp>(op))
        qk.split(rewriter);
      else if (auto av = dyn_cast<AVGradOp>(op))
        av.split(rewriter);
    });
  }
};
} // namespace
