//===- TileGradient.h - Gradients of tiles of scores ------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_TRANSFORMS_TILEGRADIENT_H
#define NA_DIALECT_NA_TRANSFORMS_TILEGRADIENT_H

#include "na/Dialect/NA/Transforms/TileForm.h"
#include "na/Dialect/NA/Transforms/TileGrid.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::na {

/// Builds weights and their gradients from tiles of scores and the statistics
/// of the queries.
class TileGradient {
public:
  /// The statistics of a tile of queries, both [queries].
  struct Statistics {
    /// What is taken from exponents: the LSE, in the GPU form in base 2.
    Value shift;
    Value delta;
  };
  /// Tiles in the shape of scores.
  struct Result {
    Value weights, logitGrad;
  };

  TileGradient(const TileForm &form, const TileGrid &grid)
      : form(form), type(form.getAccumulator()),
        queryDim(grid.isInverse() ? form.getColumnDim() : form.getRowDim()) {}

  /// Loads the statistics of the queries of `box` from `at` on; without those
  /// of `delta` if that is null.
  Statistics buildStatistics(ImplicitLocOpBuilder &b, Value lse, Value delta,
                             Value batch, Value head, ValueRange at,
                             ArrayRef<int64_t> box,
                             ArrayRef<int64_t> dilation) const;

  /// exp(logit - lse).
  Value buildWeights(ImplicitLocOpBuilder &b, Value scores,
                     const Statistics &statistics) const;

  /// weight * (product - delta), of the products of the output's gradient and
  /// the values.
  Value buildLogitGrad(ImplicitLocOpBuilder &b, Value weights, Value products,
                       const Statistics &statistics) const;

  /// Both in one pass over the tiles, for the CPU form; weights only if they
  /// are asked for.
  Result buildInOnePass(ImplicitLocOpBuilder &b, Value scores, Value products,
                        const Statistics &statistics, bool weights) const;

private:
  AffineMap getQueryMap(ImplicitLocOpBuilder &b) const;
  Value buildWeight(ImplicitLocOpBuilder &b, Value score, Value shift) const;

  const TileForm &form;
  FloatType type;
  /// The dimension of scores along which queries run.
  unsigned queryDim;
};

} // namespace mlir::na

#endif // NA_DIALECT_NA_TRANSFORMS_TILEGRADIENT_H
