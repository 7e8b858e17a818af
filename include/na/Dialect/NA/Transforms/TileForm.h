//===- TileForm.h - How the tiles of an operation are held ------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tiled program has two forms, and this file is where they are told apart.
// Rows are what a tile owns an accumulator of, columns what its loop goes over:
// queries and keys, or for the gradients of keys and values the reverse.
//
// The CPU form holds rows along vector lanes: scores [columns, rows], operands
// widened as they are loaded, the scale in the row tile, and what one pass over
// the scores can compute in one linalg operation.
//
// The GPU form holds rows along the rows of fragments: scores [rows, columns],
// operands in their own type for the tensor cores, the scale in the exponent of
// a base-2 exponential, and linalg operations that each are elementwise or one
// reduction along rows.
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_TRANSFORMS_TILEFORM_H
#define NA_DIALECT_NA_TRANSFORMS_TILEFORM_H

#include "na/Dialect/NA/IR/NA.h"

#include "mlir/IR/AffineMap.h"

namespace mlir::na {

class TileForm {
public:
  /// Where logits get their scale.
  enum class ScaleAt { Row, Scores, Exponent };

  /// The form of an operation with this schedule that accumulates in
  /// `accumulator`. `softmax` says whether logits only go to an exponential
  /// without a bias, so that their scale can wait until the exponent.
  TileForm(ScheduleAttr schedule, FloatType accumulator, double scale = 1,
           bool softmax = false);

  bool isGPU() const { return gpu; }

  /// Of scores, accumulators and softmax statistics.
  FloatType getAccumulator() const { return accumulator; }
  /// Of a tile of `whole`, an operand of a product.
  FloatType getOperandType(Value whole) const;

  /// Scores are [columns, rows] and accumulators [channels, rows], or each the
  /// other way around.
  bool isColumnMajor() const { return !gpu; }
  /// Dimensions of a tile of scores.
  unsigned getColumnDim() const { return isColumnMajor() ? 0 : 1; }
  unsigned getRowDim() const { return isColumnMajor() ? 1 : 0; }
  /// The shape of a tile of `rows` by `others`.
  SmallVector<int64_t, 2> getShape(int64_t rows, int64_t others) const;

  double getScale() const { return scale; }
  ScaleAt getScaleAt() const { return scaleAt; }
  /// The factor of scores, as they come to the softmax, in the exponent of two.
  double getExponentScale() const;

  /// Keys of a tile of `tokens` additional keys, at most `keys`.
  int64_t getAdditionalTile(int64_t keys, std::optional<int64_t> tokens) const;

  /// Channels of one pass over the values, of `channels` in all.
  int64_t getValueTile(int64_t channels) const;

private:
  FloatType accumulator;
  double scale;
  bool gpu;
  ScaleAt scaleAt;
  int64_t valueTile;
};

} // namespace mlir::na

#endif // NA_DIALECT_NA_TRANSFORMS_TILEFORM_H
