//===- ProductThreads.h - Products over windows for threads -----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sums that na.qk, na.av and their gradients are made of, for the threads
// of a GPU: see ProductLowering.h.
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_CONVERSION_NATOLOOPS_PRODUCTTHREADS_H
#define NA_LIB_CONVERSION_NATOLOOPS_PRODUCTTHREADS_H

#include "ThreadLoopBuilder.h"

namespace mlir::na {

/// scores[.., j] = scale * dot(query, key_j) + bias; `empty` in slots that no
/// key fills.
class ScoresThreads : public ThreadLoopBuilder {
public:
  ScoresThreads(RewriterBase &rewriter, QKOp op)
      : ThreadLoopBuilder(rewriter, op, getFloatType(op.getScores()),
                          op.getWindow()),
        query(op.getQuery()), key(op.getKey()), bias(op.getBias()),
        scores(op.getScores()),
        scale(makeScale(op.getScaleValue(), op.getQuery())),
        empty(negativeInfinity()) {}
  /// The gradient of the weights.
  ScoresThreads(RewriterBase &rewriter, AVDWeightsOp op)
      : ThreadLoopBuilder(rewriter, op,
                          getAccumulatorFor(getFloatType(op.getValue())),
                          op.getWindow()),
        query(op.getOutputGrad()), key(op.getValue()),
        scores(op.getWeightsGrad()), empty(number(0)) {}

  void lower() {
    lanes = std::min(getLanes(query), getLanes(key));
    query = assumeAligned(query, lanes);
    key = assumeAligned(key, lanes);
    SmallVector<IndexValue> sizes = dims(scores);
    unsigned rowDims = sizes.size() - 1;
    sizes.pop_back();
    for (int64_t size : window.getSize())
      sizes.emplace_back(b, b.getLoc(), size);
    parallel(sizes, [&](ValueRange indices) {
      lowerScore(indices.take_front(rowDims), indices.drop_front(rowDims));
    });
  }

private:
  void lowerScore(ValueRange rowIndices, ValueRange slots) {
    Row row = makeRow(rowIndices, query, key);
    Key one = makeKey(row, slots);
    Value exists;
    for (int64_t i = 0; i < window.getRank(); ++i) {
      // Only causal rows can have fewer keys than slots.
      if (!window.getCausal()[i])
        continue;
      Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                           one.positions[i].getValue(),
                                           row.keys[i].end.getValue());
      exists = exists ? arith::AndIOp::create(b, exists, inside) : inside;
    }
    Value score;
    if (exists) {
      auto branch = scf::IfOp::create(
          b, exists,
          [&](OpBuilder &, Location) {
            scf::YieldOp::create(b, logit(row, one));
          },
          [&](OpBuilder &, Location) { scf::YieldOp::create(b, empty); });
      score = branch.getResult(0);
    } else {
      score = logit(row, one);
    }
    store(score, scores, concat(rowIndices, slotOf(one)));
  }

  Value logit(const Row &row, const Key &one) {
    Value logit = dot(query, row.indices(), key,
                      concat(row.batch, one.coordinates, row.kvHead), lanes);
    if (scale)
      logit = mul(logit, scale);
    return bias ? add(logit, loadBias(bias, row, one)) : logit;
  }

  Value query, key, bias, scores, scale, empty;
  int64_t lanes;
};

/// Threads that have an element of an output each, or neighbours of 16 bits,
/// which share the loads of the weights.
class ElementThreads : public ThreadLoopBuilder {
protected:
  ElementThreads(RewriterBase &rewriter, Operation *op, FloatType accumulator,
                 WindowAttr window, Value weights, Value values, Value output,
                 Value scaledQuery, std::optional<double> scaleValue)
      : ThreadLoopBuilder(rewriter, op, accumulator, window), weights(weights) {
    lanes = std::min(getLanes(values), getLanes(output));
    lanes = std::min<int64_t>(lanes, 32 / getFloatType(values).getWidth());
    lanes = std::max<int64_t>(lanes, 1);
    this->values = assumeAligned(values, lanes);
    this->output = assumeAligned(output, lanes);
    if (scaledQuery)
      scale = makeScale(scaleValue, scaledQuery);
  }

  /// `makeSum` gets the indices of the output's row and the first channel.
  void lowerElements(function_ref<Value(ValueRange, Value)> makeSum) {
    SmallVector<IndexValue> sizes = dims(output);
    if (lanes > 1)
      sizes.back() = IndexValue(b, b.getLoc(), getLastDim(output) / lanes);
    parallel(sizes, [&](ValueRange indices) {
      IndexValue part(b, b.getLoc(), indices.back(), /*nonNegative=*/true);
      Value channel = (part * lanes).getValue();
      Value sum = makeSum(indices.drop_back(), channel);
      if (scale)
        sum = mul(sum, lanes > 1 ? splat(scale, lanes) : scale);
      SmallVector<Value> at = concat(indices.drop_back(), channel);
      if (lanes == 1)
        store(sum, output, at);
      else
        storeVector(sum, output, at, lanes);
    });
  }
  Value zeros() { return lanes > 1 ? splat(number(0), lanes) : number(0); }
  /// sum + weight * values[at]
  Value accumulate(Value weight, ValueRange at, Value sum) {
    if (lanes == 1)
      return fma(weight, load(values, at), sum);
    return fma(splat(weight, lanes), loadVector(values, at, lanes, lanes), sum);
  }

  Value weights, values, output, scale;
  int64_t lanes;
};

/// output = scale * sum_j weights[.., j] * value_j
class WeightedSumThreads : public ElementThreads {
public:
  WeightedSumThreads(RewriterBase &rewriter, AVOp op)
      : ElementThreads(rewriter, op,
                       getAccumulatorFor(getFloatType(op.getValue())),
                       op.getWindow(), op.getWeights(), op.getValue(),
                       op.getOutput(), Value(), std::nullopt) {}
  /// The gradient of the queries.
  WeightedSumThreads(RewriterBase &rewriter, QKDQOp op)
      : ElementThreads(rewriter, op, getFloatType(op.getScoresGrad()),
                       op.getWindow(), op.getScoresGrad(), op.getKey(),
                       op.getQueryGrad(), op.getQueryGrad(),
                       op.getScaleValue()) {}

  void lower() {
    lowerElements([&](ValueRange rowIndices, Value channel) {
      Row row = makeRow(rowIndices, weights, values);
      return forEachSlot(
          row, zeros(),
          [&](const Key &key, ValueRange args) -> SmallVector<Value> {
            Value weight = load(weights, concat(rowIndices, slotOf(key)));
            SmallVector<Value> at =
                concat(concat(row.batch, key.coordinates), row.kvHead, channel);
            return {accumulate(weight, at, args.front())};
          })[0];
    });
  }
};

/// output of a key = scale * sum of weight * query over the queries that see it
class KeySumThreads : public ElementThreads {
public:
  /// The gradient of the keys.
  KeySumThreads(RewriterBase &rewriter, QKDKOp op)
      : ElementThreads(rewriter, op, getFloatType(op.getScoresGrad()),
                       op.getWindow(), op.getScoresGrad(), op.getQuery(),
                       op.getKeyGrad(), op.getQuery(), op.getScaleValue()) {}
  /// The gradient of the values.
  KeySumThreads(RewriterBase &rewriter, AVDVOp op)
      : ElementThreads(rewriter, op,
                       getAccumulatorFor(getFloatType(op.getOutputGrad())),
                       op.getWindow(), op.getWeights(), op.getOutputGrad(),
                       op.getValueGrad(), Value(), std::nullopt) {}

  void lower() {
    lowerElements([&](ValueRange keyIndices, Value channel) {
      return forEachQuery(
          keyIndices, values, output, zeros(),
          [&](const Row &row, const Key &key,
              ValueRange args) -> SmallVector<Value> {
            Value weight =
                load(weights, concat(row.indices(), slotIn(row, key, values)));
            return {accumulate(weight, concat(row.indices(), channel),
                               args.front())};
          })[0];
    });
  }
};

} // namespace mlir::na

#endif // NA_LIB_CONVERSION_NATOLOOPS_PRODUCTTHREADS_H
