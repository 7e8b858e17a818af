//===- GradToThreadLoops.cpp - Gradients for the threads of a GPU ---------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread computes up to `maxChannels` channels of a row of a gradient, from
// global memory; the weights of longer rows are computed once for each part.
//
//===----------------------------------------------------------------------===//

#include "GradLowering.h"
#include "ThreadLoopBuilder.h"

using namespace mlir;
using namespace mlir::na;

namespace {

/// The channels of a memref's rows, cut into parts for threads.
struct Channels {
  Channels(Value memref)
      : total(getLastDim(memref)), part(std::min(total, maxChannels)) {}
  int64_t getParts() const { return ::na::window::ceilDiv(total, part); }

  int64_t total, part;
};

/// What the gradients of na.attention have in common.
class GradThreads : public ThreadLoopBuilder {
public:
  template <typename OpTy>
  GradThreads(RewriterBase &rewriter, OpTy op, WindowAttr window)
      : ThreadLoopBuilder(rewriter, op, op.getAccumulatorType(), window),
        queryLanes(getLanes(op.getQuery())),
        gradLanes(getLanes(op.getOutputGrad())),
        query(assumeAligned(op.getQuery(), queryLanes)),
        outputGrad(assumeAligned(op.getOutputGrad(), gradLanes)),
        lse(op.getLse()), delta(op.getDelta()),
        scale(makeScale(op.getScaleValue(), op.getQuery())) {}

protected:
  /// Keys and their values, with the lanes that products with queries and with
  /// gradients of the output can have.
  struct KeysAndValues {
    Value keys, values;
    int64_t keyLanes, valueLanes;
  };
  KeysAndValues makeKeys(Value keys, Value values) {
    int64_t keyLanes = getLanes(keys), valueLanes = getLanes(values);
    return {assumeAligned(keys, keyLanes), assumeAligned(values, valueLanes),
            keyLanes, valueLanes};
  }

  Value makeLogit(const Row &row, const KeysAndValues &side,
                  ValueRange indices) {
    return mul(dot(query, row.indices(), side.keys, indices,
                   std::min(queryLanes, side.keyLanes)),
               scale);
  }
  Value makeWeight(const Row &row, Value logit) {
    return exp(sub(logit, load(lse, row.indices())));
  }
  Value makeLogitGrad(const Row &row, Value weight, const KeysAndValues &side,
                      ValueRange indices) {
    Value weightGrad = dot(outputGrad, row.indices(), side.values, indices,
                           std::min(gradLanes, side.valueLanes));
    return mul(weight, sub(weightGrad, load(delta, row.indices())));
  }

  Value zeros(const Channels &channels) {
    return splat(number(0), channels.part);
  }
  /// The first channel of a thread. The last part ends with the row; what it
  /// shares with the one before is computed twice.
  Value firstChannel(const Channels &channels, Value part) {
    if (channels.part == channels.total)
      return index(0);
    IndexValue first = minV(
        IndexValue(b, b.getLoc(), part, /*nonNegative=*/true) * channels.part,
        IndexValue(b, b.getLoc(), channels.total - channels.part));
    return first.getValue();
  }
  /// sums + factor * channels of a row of `xs`
  Value accumulate(Value factor, Value xs, ValueRange indices, Value channel,
                   int64_t lanes, Value sums) {
    int64_t size = cast<VectorType>(sums.getType()).getDimSize(0);
    return fma(splat(factor, size),
               loadVector(xs, concat(indices, channel), size, lanes), sums);
  }
  void writeRow(Value sums, Value output, ValueRange indices, Value channel) {
    storeVector(sums, output, concat(indices, channel), getLanes(output));
  }
  /// The rows of `memref`, and `parts` of each.
  SmallVector<IndexValue> rowsAndParts(Value memref, int64_t parts) {
    SmallVector<IndexValue> sizes = dims(memref);
    sizes.back() = IndexValue(b, b.getLoc(), parts);
    return sizes;
  }

  int64_t queryLanes, gradLanes;
  Value query, outputGrad, lse, delta, scale;
};

class DQThreads : public GradThreads {
public:
  DQThreads(RewriterBase &rewriter, AttentionDQOp op)
      : GradThreads(rewriter, op, op.getWindow()), op(op) {}

  void lower() {
    Channels channels(op.getQueryGrad());
    KeysAndValues side = makeKeys(op.getKey(), op.getValue());
    std::optional<KeysAndValues> additional;
    if (op.getAdditionalKey())
      additional = makeKeys(op.getAdditionalKey(), op.getAdditionalValue());
    Value output =
        assumeAligned(op.getQueryGrad(), getLanes(op.getQueryGrad()));
    parallel(
        rowsAndParts(output, channels.getParts()), [&](ValueRange indices) {
          ValueRange rowIndices = indices.drop_back();
          Value channel = firstChannel(channels, indices.back());
          Row row = makeRow(rowIndices, op.getQuery(), op.getKey());
          auto addKey = [&](Value logit, const KeysAndValues &side,
                            ValueRange at, Value sums) {
            Value grad = makeLogitGrad(row, makeWeight(row, logit), side, at);
            return accumulate(grad, side.keys, at, channel, side.keyLanes,
                              sums);
          };
          Value sums = forEachSlot(
              row, zeros(channels),
              [&](const Key &key, ValueRange args) -> SmallVector<Value> {
                SmallVector<Value> at =
                    concat(row.batch, key.coordinates, row.kvHead);
                Value logit = makeLogit(row, side, at);
                if (op.getBias())
                  logit = add(logit, loadBias(op.getBias(), row, key));
                return {addKey(logit, side, at, args.front())};
              })[0];
          if (additional)
            sums = sequential(
                dim(additional->keys, 1), sums,
                [&](Value token, ValueRange args) -> SmallVector<Value> {
                  SmallVector<Value> at{row.batch, token, row.kvHead};
                  Value logit = makeLogit(row, *additional, at);
                  return {addKey(logit, *additional, at, args.front())};
                })[0];
          writeRow(mul(sums, splat(scale, channels.part)), output, rowIndices,
                   channel);
        });
  }

private:
  AttentionDQOp op;
};

/// A thread has a part of both rows, or of the one that is asked for: their
/// sums share the weights.
class KeyGradThreads : public GradThreads {
public:
  template <typename OpTy>
  KeyGradThreads(RewriterBase &rewriter, OpTy op)
      : GradThreads(rewriter, op, KeyGradOperands(op).window), operands(op) {}

  void lower() {
    KeysAndValues side = makeKeys(operands.keys, operands.values);
    Value keyGrad = assumeAligned(operands.keyGrad);
    Value valueGrad = assumeAligned(operands.valueGrad);
    int64_t parts = 1;
    for (Value grad : {keyGrad, valueGrad})
      if (grad)
        parts = std::max(parts, Channels(grad).getParts());
    parallel(rowsAndParts(operands.keys, parts), [&](ValueRange indices) {
      ValueRange at = indices.drop_back();
      SmallVector<Value> zero, channel;
      for (Value grad : {keyGrad, valueGrad}) {
        if (!grad)
          continue;
        zero.push_back(zeros(Channels(grad)));
        channel.push_back(firstChannel(Channels(grad), indices.back()));
      }
      SmallVector<Value> sums = forEachQuery(
          at, operands.query, operands.keys, zero,
          [&](const Row &row, const Key &key,
              ValueRange args) -> SmallVector<Value> {
            Value logit = makeLogit(row, side, at);
            if (operands.bias)
              logit = add(logit, loadBias(operands.bias, row, key));
            Value weight = makeWeight(row, logit);
            SmallVector<Value> next;
            if (keyGrad)
              next.push_back(accumulate(makeLogitGrad(row, weight, side, at),
                                        query, row.indices(), channel.front(),
                                        queryLanes, args.front()));
            if (valueGrad)
              next.push_back(accumulate(weight, outputGrad, row.indices(),
                                        channel.back(), gradLanes,
                                        args.back()));
            return next;
          });
      if (keyGrad)
        writeRow(mul(sums.front(), splat(scale, Channels(keyGrad).part)),
                 keyGrad, at, channel.front());
      if (valueGrad)
        writeRow(sums.back(), valueGrad, at, channel.back());
    });
  }

private:
  using GradThreads::assumeAligned;
  /// For vectors of all its lanes; null for null.
  Value assumeAligned(Value grad) {
    return grad ? assumeAligned(grad, getLanes(grad)) : Value();
  }

  KeyGradOperands operands;
};

} // namespace

void mlir::na::buildGradThreadLoops(RewriterBase &rewriter, AttentionDQOp op) {
  DQThreads(rewriter, op).lower();
}
void mlir::na::buildGradThreadLoops(RewriterBase &rewriter, AttentionDKVOp op) {
  KeyGradThreads(rewriter, op).lower();
}
void mlir::na::buildGradThreadLoops(RewriterBase &rewriter,
                                    AttentionDAdditionalOp op) {
  KeyGradThreads(rewriter, op).lower();
}
