//===- TileSoftmax.h - Online softmax over tiles of scores ------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_TRANSFORMS_TILESOFTMAX_H
#define NA_DIALECT_NA_TRANSFORMS_TILESOFTMAX_H

#include "na/Dialect/NA/Transforms/TileForm.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::na {

/// The running state of an online softmax over a tile of queries.
struct SoftmaxState {
  /// Unnormalised output, queries by channels.
  Value accumulator;
  /// Largest exponent so far, of e or in the GPU form of 2, and sum of the
  /// weights, both [queries].
  Value maximum, sum;

  SmallVector<Value> getValues() const { return {accumulator, maximum, sum}; }
  static SoftmaxState get(ValueRange values) {
    return {values[0], values[1], values[2]};
  }
};

/// Builds the softmax of one tile of queries.
class TileSoftmax {
public:
  TileSoftmax(const TileForm &form, int64_t queries, int64_t channels)
      : form(form), type(form.getAccumulator()), queries(queries),
        channels(channels) {}

  SoftmaxState buildInitial(ImplicitLocOpBuilder &b) const;

  /// One step over a tile of scores, and the product with the tile's values
  /// [keys, channels].
  SoftmaxState buildStep(ImplicitLocOpBuilder &b, Value scores, Value values,
                         const SoftmaxState &state) const;

  /// The normalised output.
  Value buildOutput(ImplicitLocOpBuilder &b, const SoftmaxState &state) const;

  /// The logarithm of the sum of exponentials of the logits.
  Value buildLse(ImplicitLocOpBuilder &b, const SoftmaxState &state) const;

private:
  SoftmaxState buildCPUStep(ImplicitLocOpBuilder &b, Value scores, Value values,
                            const SoftmaxState &state) const;
  SoftmaxState buildGPUStep(ImplicitLocOpBuilder &b, Value scores, Value values,
                            const SoftmaxState &state) const;

  TileForm form;
  FloatType type;
  int64_t queries, channels;
};

} // namespace mlir::na

#endif // NA_DIALECT_NA_TRANSFORMS_TILESOFTMAX_H
