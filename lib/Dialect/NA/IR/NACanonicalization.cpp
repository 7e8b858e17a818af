//===- NACanonicalization.cpp - Exact simplifications of the na operations ---*-
//C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/IR/NA.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::na;

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {}
void QKOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                       MLIRContext *context) {}
void AVOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                       MLIRContext *context) {}
void MergeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {}
