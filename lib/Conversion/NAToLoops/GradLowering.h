//===- GradLowering.h - Gradients as loops ----------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every gradient is gathered: an iteration of a parallel loop makes all sums of
// the elements that it writes, over the pairs of a query and a visible key that
// take part. Nothing depends on the order of iterations.
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_CONVERSION_NATOLOOPS_GRADLOWERING_H
#define NA_LIB_CONVERSION_NATOLOOPS_GRADLOWERING_H

#include "na/Dialect/NA/IR/NA.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::na {

/// Builds loops for `op` on memrefs, before it, which stays. Sums of many
/// elements are in memory.
void buildGradLoops(RewriterBase &rewriter, AttentionDQOp op);
void buildGradLoops(RewriterBase &rewriter, AttentionDKVOp op);
void buildGradLoops(RewriterBase &rewriter, AttentionDAdditionalOp op);
void buildGradLoops(RewriterBase &rewriter, AttentionDBiasOp op);

/// The same for the threads of a GPU, whose sums are in registers. Needs static
/// channels (hasStaticChannels).
void buildGradThreadLoops(RewriterBase &rewriter, AttentionDQOp op);
void buildGradThreadLoops(RewriterBase &rewriter, AttentionDKVOp op);
void buildGradThreadLoops(RewriterBase &rewriter, AttentionDAdditionalOp op);

/// The operands of na.attention_dkv and na.attention_dadditional, which are one
/// algorithm. No window: every query sees the keys. One of the gradients may be
/// null.
struct KeyGradOperands {
  Value query, outputGrad, lse, delta, bias, keys, values, keyGrad, valueGrad;
  WindowAttr window;

  explicit KeyGradOperands(AttentionDKVOp op)
      : query(op.getQuery()), outputGrad(op.getOutputGrad()), lse(op.getLse()),
        delta(op.getDelta()), bias(op.getBias()), keys(op.getKey()),
        values(op.getValue()), keyGrad(op.getKeyGrad()),
        valueGrad(op.getValueGrad()), window(op.getWindow()) {}
  explicit KeyGradOperands(AttentionDAdditionalOp op)
      : query(op.getQuery()), outputGrad(op.getOutputGrad()), lse(op.getLse()),
        delta(op.getDelta()), keys(op.getAdditionalKey()),
        values(op.getAdditionalValue()), keyGrad(op.getAdditionalKeyGrad()),
        valueGrad(op.getAdditionalValueGrad()) {}
};

} // namespace mlir::na

#endif // NA_LIB_CONVERSION_NATOLOOPS_GRADLOWERING_H
