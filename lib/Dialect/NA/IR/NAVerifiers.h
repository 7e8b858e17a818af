//===- NAVerifiers.h - Checks shared by the verifiers -----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_DIALECT_NA_IR_NAVERIFIERS_H
#define NA_LIB_DIALECT_NA_IR_NAVERIFIERS_H

#include "na/Dialect/NA/IR/NA.h"

namespace mlir::na::detail {

/// Names a shaped operand for messages.
struct Named {
  StringRef name;
  ShapedType type;
};

/// Fails unless the operands are all tensors or all memrefs, none of them with
/// static sizes beyond any memory, and the results are the tensor destinations'
/// types.
LogicalResult verifyDestinationStyle(Operation *op);

/// Fails unless `operand` has `rank` dimensions; `layout` names them.
LogicalResult verifyRank(Operation *op, Named operand, int64_t rank,
                         StringRef layout);

/// One dimension of a shaped operand.
struct DimOf {
  Named operand;
  int64_t dim;
};

/// Fails if two of `dims` are static and differ; `what` names the dimension.
LogicalResult verifySameDims(Operation *op, StringRef what,
                             ArrayRef<DimOf> dims);

/// Fails unless the element type of `operand` is `expected`; `why` says where
/// the expectation comes from.
LogicalResult verifyElementType(Operation *op, Named operand, Type expected,
                                StringRef why);

/// Fails unless all of `operands`, [B, X.., ...], agree in the batch and in the
/// spatial dimensions.
LogicalResult verifySameTokens(Operation *op, ArrayRef<Named> operands,
                               int64_t spatialRank);

/// Checks the window against the lengths that are static in one of `operands`,
/// [B, X.., H, ...].
LogicalResult verifyWindowFits(Operation *op, WindowAttr window,
                               ArrayRef<Named> operands);

/// Checks the heads of the queries against those of the keys, where both are
/// static.
LogicalResult verifyHeads(Operation *op, ArrayRef<DimOf> queries,
                          ArrayRef<DimOf> keys);

/// Checks dimensions 1.. of a bias table against 2 * size - 1.
LogicalResult verifyTableAxes(Operation *op, Named table, WindowAttr window);

/// Checks the last dimension of weights or scores, prod(size).
LogicalResult verifySlotCount(Operation *op, Named slots, WindowAttr window);

/// Checks a bias of [Hq, 2 * size - 1, ..].
LogicalResult verifyBias(Operation *op, Named bias, Named query,
                         WindowAttr window);

/// f64 for f64, f32 otherwise.
FloatType accumulatorType(Type elementType);

} // namespace mlir::na::detail

#endif // NA_LIB_DIALECT_NA_IR_NAVERIFIERS_H
