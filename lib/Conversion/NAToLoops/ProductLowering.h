//===- ProductLowering.h - Products over windows as loops -------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The four sums that na.qk, na.av and their gradients are made of. `weights`
// and `scores` have a slot for every key of a row's window.
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_CONVERSION_NATOLOOPS_PRODUCTLOWERING_H
#define NA_LIB_CONVERSION_NATOLOOPS_PRODUCTLOWERING_H

#include "WindowLoopBuilder.h"

namespace mlir::na {

/// scores[.., j] = scale * dot(query, key_j) + bias; `empty` in slots that no
/// key fills.
class ScoresLowering : public WindowLoopBuilder {
public:
  ScoresLowering(RewriterBase &rewriter, QKOp op)
      : WindowLoopBuilder(rewriter, op, getFloatType(op.getScores()),
                          op.getWindow()),
        queries(op.getQuery()), keys(op.getKey()), bias(op.getBias()),
        scores(op.getScores()),
        scale(makeScale(op.getScaleValue(), op.getQuery())),
        empty(negativeInfinity()) {}
  /// The gradient of the weights.
  ScoresLowering(RewriterBase &rewriter, AVDWeightsOp op)
      : WindowLoopBuilder(rewriter, op,
                          getAccumulatorFor(getFloatType(op.getValue())),
                          op.getWindow()),
        queries(op.getOutputGrad()), keys(op.getValue()),
        scores(op.getWeightsGrad()), empty(number(0)) {}

  void lower() {
    SmallVector<IndexValue> sizes = dims(scores);
    IndexValue slots = sizes.pop_back_val();
    parallel(sizes, [&](ValueRange indices) {
      Row row = makeRow(indices, queries, keys);
      // Only causal rows can have fewer keys than slots.
      if (llvm::is_contained(window.getCausal(), true))
        sequential(slots, [&](Value slot) {
          store(empty, scores, concat(indices, slot));
        });
      forEachKey(
          row, {}, [&](const Key &key, ValueRange) -> SmallVector<Value> {
            Value score = dot(queries, row.indices(), keys,
                              concat(row.batch, key.coordinates, row.kvHead));
            if (scale)
              score = mul(score, scale);
            if (bias)
              score = add(score, loadBias(bias, row, key));
            store(score, scores, concat(indices, slotOf(key)));
            return {};
          });
    });
  }

private:
  Value queries, keys, bias, scores, scale, empty;
};

/// output = scale * sum_j weights[.., j] * value_j
class WeightedSumLowering : public WindowLoopBuilder {
public:
  WeightedSumLowering(RewriterBase &rewriter, AVOp op)
      : WindowLoopBuilder(rewriter, op,
                          getAccumulatorFor(getFloatType(op.getValue())),
                          op.getWindow()),
        weights(op.getWeights()), values(op.getValue()),
        output(op.getOutput()) {}
  /// The gradient of the queries.
  WeightedSumLowering(RewriterBase &rewriter, QKDQOp op)
      : WindowLoopBuilder(rewriter, op, getFloatType(op.getScoresGrad()),
                          op.getWindow()),
        weights(op.getScoresGrad()), values(op.getKey()),
        output(op.getQueryGrad()),
        scale(makeScale(op.getScaleValue(), op.getQueryGrad())) {}

  void lower() {
    parallel(dims(output), [&](ValueRange indices) {
      ValueRange rowIndices = indices.drop_back();
      Row row = makeRow(rowIndices, weights, values);
      Value sum = forEachKey(
          row, number(0),
          [&](const Key &key, ValueRange args) -> SmallVector<Value> {
            Value weight = load(weights, concat(rowIndices, slotOf(key)));
            Value value =
                load(values, concat(concat(row.batch, key.coordinates),
                                    row.kvHead, indices.back()));
            return {add(args.front(), mul(weight, value))};
          })[0];
      store(scale ? mul(sum, scale) : sum, output, indices);
    });
  }

private:
  Value weights, values, output, scale;
};

/// output of a key = scale * sum of weight * query over the queries that see it
class KeySumLowering : public WindowLoopBuilder {
public:
  /// The gradient of the keys.
  KeySumLowering(RewriterBase &rewriter, QKDKOp op)
      : WindowLoopBuilder(rewriter, op, getFloatType(op.getScoresGrad()),
                          op.getWindow()),
        weights(op.getScoresGrad()), queries(op.getQuery()),
        output(op.getKeyGrad()),
        scale(makeScale(op.getScaleValue(), op.getQuery())) {}
  /// The gradient of the values.
  KeySumLowering(RewriterBase &rewriter, AVDVOp op)
      : WindowLoopBuilder(rewriter, op,
                          getAccumulatorFor(getFloatType(op.getOutputGrad())),
                          op.getWindow()),
        weights(op.getWeights()), queries(op.getOutputGrad()),
        output(op.getValueGrad()) {}

  void lower() {
    parallel(dims(output), [&](ValueRange indices) {
      Value sum = forEachQuery(
          indices.drop_back(), queries, output, number(0),
          [&](const Row &row, const Key &key,
              ValueRange args) -> SmallVector<Value> {
            Value weight =
                load(weights, concat(row.indices(), slotIn(row, key, queries)));
            Value query = load(queries, concat(row.indices(), indices.back()));
            return {add(args.front(), mul(weight, query))};
          })[0];
      store(scale ? mul(sum, scale) : sum, output, indices);
    });
  }

private:
  Value weights, queries, output, scale;
};

/// The gradient of a bias: a relative position sums the gradients of its
/// scores.
class BiasSumLowering : public WindowLoopBuilder {
public:
  BiasSumLowering(RewriterBase &rewriter, QKDBiasOp op)
      : WindowLoopBuilder(rewriter, op, getFloatType(op.getScoresGrad()),
                          op.getWindow()),
        op(op) {}

  void lower() {
    Value scoresGrad = op.getScoresGrad();
    parallel(dims(op.getBiasGrad()), [&](ValueRange entry) {
      Value sum = sumRelative(
          entry, scoresGrad, scoresGrad, [&](const Row &row, const Key &key) {
            return load(scoresGrad, concat(row.indices(), slotOf(key)));
          });
      store(sum, op.getBiasGrad(), entry);
    });
  }

private:
  QKDBiasOp op;
};

} // namespace mlir::na

#endif // NA_LIB_CONVERSION_NATOLOOPS_PRODUCTLOWERING_H
