//===- RowKernel.h - A kernel of operations on rows -------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_CONVERSION_GPUMAPROWS_ROWKERNEL_H
#define NA_LIB_CONVERSION_GPUMAPROWS_ROWKERNEL_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::na {

/// How an operand of an operation on rows is indexed.
enum class RowAccess {
  /// By the row and the element: (rows.., e) -> (rows.., e).
  Element,
  /// By the row alone: (rows.., e) -> (rows..).
  Row,
  /// In any other way.
  Other
};

/// What an operation does with a row.
enum class RowWork {
  /// Computes every element.
  Elementwise,
  /// Combines the elements to one value.
  Reduction,
  /// Computes one value from values of the row.
  Scalar
};

/// An operation whose first loops are over rows.
struct RowOp {
  linalg::LinalgOp op;
  RowWork work;
  /// With `Reduction`: the operations of the body that combine an element,
  /// `element`, with the result so far.
  SmallVector<Operation *> combiner;
  Value element;
  /// In the type in which values are computed.
  TypedAttr neutral;

  RowAccess getAccess(OpOperand &operand) const;
};

/// The operation as one on rows of `rowDims` dimensions, if it is.
std::optional<RowOp> getRowOp(linalg::LinalgOp op, unsigned rowDims);

/// Operations that one team of threads computes for a row, in order. The first
/// reduction has all loops.
struct RowGroup {
  unsigned rowDims;
  SmallVector<RowOp> ops;

  linalg::LinalgOp getSeed() const;
};

/// Builds the kernel of `group` before the last of its operations.
void buildRowKernel(OpBuilder &builder, const RowGroup &group);

} // namespace mlir::na

#endif // NA_LIB_CONVERSION_GPUMAPROWS_ROWKERNEL_H
