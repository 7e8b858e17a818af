//===- NAVerifiers.h - Checks shared by the verifiers ---*- C++ -*-===//
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

/// Fails if dimension `dim` of `operand` and dimension `refDim` of `ref` are
/// both static and differ; `what` names the dimension.
LogicalResult verifySameDim(Operation *op, Named operand, int64_t dim,
                            Named ref, int64_t refDim, StringRef what);

/// Fails unless the element type of `operand` is `expected`; `why` says where
/// the expectation comes from.
LogicalResult verifyElementType(Operation *op, Named operand, Type expected,
                                StringRef why);

/// Fails unless all spatial dimensions and the batch of `operand` equal those
/// of `ref`.
LogicalResult verifySameTokens(Operation *op, Named operand, Named ref,
                               int64_t spatialRank);

/// Checks the window against the static lengths of `ref`, [B, X.., H, D].
LogicalResult verifyWindowFits(Operation *op, WindowAttr window, Named ref);

/// Checks a static head count of queries against one of keys.
LogicalResult verifyHeads(Operation *op, Named query, int64_t queryDim,
                          Named key, int64_t keyDim);

/// Checks a bias of [Hq, 2 * size - 1, ..].
LogicalResult verifyBias(Operation *op, Named bias, Named query,
                         WindowAttr window);

/// f64 for f64, f32 otherwise.
FloatType accumulatorType(Type elementType);

} // namespace mlir::na::detail

#endif // NA_LIB_DIALECT_NA_IR_NAVERIFIERS_H
