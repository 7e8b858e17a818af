//===- GradToLoops.cpp - Lowering of gradients to loops -------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradLowering.h"
#include "WindowLoopBuilder.h"

using namespace mlir;
using namespace mlir::na;

namespace {

/// What the gradients of na.attention have in common.
class GradLoops : public WindowLoopBuilder {
public:
  template <typename OpTy>
  GradLoops(RewriterBase &rewriter, OpTy op, WindowAttr window)
      : WindowLoopBuilder(rewriter, op, op.getAccumulatorType(), window),
        outputGrad(op.getOutputGrad()), lse(op.getLse()), delta(op.getDelta()),
        scale(makeScale(op.getScaleValue(), op.getQuery())) {}

protected:
  Value makeWeight(const Row &row, Value logit) {
    return exp(sub(logit, load(lse, row.indices())));
  }

  /// The gradient of the logit of a key whose value is a row of `values`.
  Value makeLogitGrad(const Row &row, Value weight, Value values,
                      ValueRange indices) {
    Value weightGrad = dot(outputGrad, row.indices(), values, indices);
    return mul(weight, sub(weightGrad, load(delta, row.indices())));
  }

  /// Fills a row of `sums` with zeros.
  void clear(Value sums, ValueRange indices) {
    sequential(lastDim(sums),
               [&](Value c) { store(number(0), sums, concat(indices, c)); });
  }
  /// sums row += factor * row of `xs`
  void accumulate(Value factor, Value xs, ValueRange xIndices, Value sums,
                  ValueRange indices) {
    sequential(lastDim(sums), [&](Value c) {
      Value term = mul(factor, load(xs, concat(xIndices, c)));
      SmallVector<Value> at = concat(indices, c);
      store(add(load(sums, at), term), sums, at);
    });
  }
  /// row of `output` = sums row, times `factor` if there is one
  void writeRow(Value sums, Value factor, Value output, ValueRange indices) {
    if (sums == output && !factor)
      return;
    sequential(lastDim(sums), [&](Value c) {
      SmallVector<Value> at = concat(indices, c);
      Value sum = load(sums, at);
      store(factor ? mul(sum, factor) : sum, output, at);
    });
  }

  Value outputGrad, lse, delta, scale;
};

class DQLoops : public GradLoops {
public:
  DQLoops(RewriterBase &rewriter, AttentionDQOp op)
      : GradLoops(rewriter, op, op.getWindow()), op(op) {}

  void lower() {
    sums = allocateSums(op.getQueryGrad());
    SmallVector<IndexValue> sizes = dims(op.getQueryGrad());
    sizes.pop_back();
    parallel(sizes, [&](ValueRange indices) { lowerRow(indices); });
    freeSums(sums, op.getQueryGrad());
  }

private:
  void lowerRow(ValueRange indices) {
    Row row = makeRow(indices, op.getQuery(), op.getKey());
    clear(sums, indices);
    forEachKey(row, {}, [&](const Key &key, ValueRange) -> SmallVector<Value> {
      Value logit = windowLogit(row, key, scale, op.getQuery(), op.getKey(),
                                op.getBias());
      addKey(row, logit, op.getKey(), op.getValue(),
             concat(row.batch, key.coordinates, row.kvHead));
      return {};
    });
    if (Value keys = op.getAdditionalKey())
      sequential(dim(keys, 1), [&](Value token) {
        SmallVector<Value> at{row.batch, token, row.kvHead};
        Value logit = scaledDot(scale, op.getQuery(), indices, keys, at);
        addKey(row, logit, keys, op.getAdditionalValue(), at);
      });
    writeRow(sums, scale, op.getQueryGrad(), indices);
  }

  void addKey(const Row &row, Value logit, Value keys, Value values,
              ValueRange keyIndices) {
    Value logitGrad =
        makeLogitGrad(row, makeWeight(row, logit), values, keyIndices);
    accumulate(logitGrad, keys, keyIndices, sums, row.indices());
  }

  AttentionDQOp op;
  Value sums;
};

class KeyGradLoops : public GradLoops {
public:
  template <typename OpTy>
  KeyGradLoops(RewriterBase &rewriter, OpTy op)
      : GradLoops(rewriter, op, KeyGradOperands(op).window), operands(op) {}

  void lower() {
    if (operands.keyGrad)
      keySums = allocateSums(operands.keyGrad);
    if (operands.valueGrad)
      valueSums = allocateSums(operands.valueGrad);
    SmallVector<IndexValue> sizes = dims(operands.keys);
    sizes.pop_back();
    parallel(sizes, [&](ValueRange indices) { lowerKey(indices); });
    if (keySums)
      freeSums(keySums, operands.keyGrad);
    if (valueSums)
      freeSums(valueSums, operands.valueGrad);
  }

private:
  void lowerKey(ValueRange indices) {
    for (Value sums : {keySums, valueSums})
      if (sums)
        clear(sums, indices);
    forEachQuery(
        indices, operands.query, operands.keys, {},
        [&](const Row &row, const Key &key, ValueRange) -> SmallVector<Value> {
          Value logit = scaledDot(scale, operands.query, row.indices(),
                                  operands.keys, indices);
          if (operands.bias)
            logit = add(logit, loadBias(operands.bias, row, key));
          Value weight = makeWeight(row, logit);
          if (keySums) {
            Value logitGrad =
                makeLogitGrad(row, weight, operands.values, indices);
            accumulate(logitGrad, operands.query, row.indices(), keySums,
                       indices);
          }
          if (valueSums)
            accumulate(weight, outputGrad, row.indices(), valueSums, indices);
          return {};
        });
    if (keySums)
      writeRow(keySums, scale, operands.keyGrad, indices);
    if (valueSums)
      writeRow(valueSums, /*factor=*/Value(), operands.valueGrad, indices);
  }

  KeyGradOperands operands;
  /// Null for a gradient that is not asked for.
  Value keySums, valueSums;
};

class DBiasLoops : public GradLoops {
public:
  DBiasLoops(RewriterBase &rewriter, AttentionDBiasOp op)
      : GradLoops(rewriter, op, op.getWindow()), op(op) {}

  void lower() {
    parallel(dims(op.getBiasGrad()), [&](ValueRange entry) {
      Value sum =
          sumRelative(entry, op.getQuery(), op.getKey(),
                      [&](const Row &row, const Key &key) {
                        Value logit =
                            windowLogit(row, key, scale, op.getQuery(),
                                        op.getKey(), op.getBias());
                        return makeLogitGrad(
                            row, makeWeight(row, logit), op.getValue(),
                            concat(row.batch, key.coordinates, row.kvHead));
                      });
      store(sum, op.getBiasGrad(), entry);
    });
  }

private:
  AttentionDBiasOp op;
};

} // namespace

void mlir::na::buildGradLoops(RewriterBase &rewriter, AttentionDQOp op) {
  DQLoops(rewriter, op).lower();
}
void mlir::na::buildGradLoops(RewriterBase &rewriter, AttentionDKVOp op) {
  KeyGradLoops(rewriter, op).lower();
}
void mlir::na::buildGradLoops(RewriterBase &rewriter,
                              AttentionDAdditionalOp op) {
  KeyGradLoops(rewriter, op).lower();
}
void mlir::na::buildGradLoops(RewriterBase &rewriter, AttentionDBiasOp op) {
  DBiasLoops(rewriter, op).lower();
}
