//===- AttentionWeights.h - Attention weights in memory ---------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_DIALECT_NA_TRANSFORMS_ATTENTIONWEIGHTS_H
#define NA_LIB_DIALECT_NA_TRANSFORMS_ATTENTIONWEIGHTS_H

#include "na/Dialect/NA/IR/NA.h"

#include "llvm/Support/MathExtras.h"

namespace mlir::na {

/// Whether the attention weights of `op` (na.attention or its gradient) take at
/// most `limit` bytes.
template <typename OpTy>
bool weightsFit(OpTy op, int64_t limit) {
  auto query = cast<ShapedType>(op.getQuery().getType());
  int64_t bytes = op.getAccumulatorType().getWidth() / 8;
  SmallVector<int64_t> sizes(query.getShape().drop_back());
  sizes.push_back(op.getWindow().getNumSlots());
  for (int64_t size : sizes)
    if (ShapedType::isDynamic(size) || llvm::MulOverflow(bytes, size, bytes))
      return false;
  return bytes <= limit;
}

} // namespace mlir::na

#endif // NA_LIB_DIALECT_NA_TRANSFORMS_ATTENTIONWEIGHTS_H
