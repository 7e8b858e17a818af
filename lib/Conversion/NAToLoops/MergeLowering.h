//===- MergeLowering.h - na.merge as loops ----------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_CONVERSION_NATOLOOPS_MERGELOWERING_H
#define NA_LIB_CONVERSION_NATOLOOPS_MERGELOWERING_H

#include "WindowLoopBuilder.h"

namespace mlir::na {

/// What a row of parts is joined with: weight_p / total of part p.
struct MergeWeights {
  SmallVector<Value> weights;
  /// Which parts have no key, and whether none has one.
  SmallVector<Value> empty;
  Value noKeys;
  /// The LSE is base + log(total), where there is a key.
  Value base, total;
};

inline MergeWeights makeMergeWeights(LoopBuilder &b, ValueRange lses,
                                     ValueRange indices) {
  Value none = b.negativeInfinity();
  Value zero = b.number(0);
  SmallVector<Value> values;
  for (Value lse : lses)
    values.push_back(b.load(lse, indices));
  Value top = values.front();
  for (Value lse : ArrayRef(values).drop_front())
    top = b.max(top, lse);

  // Without a key in any part, -inf - top would be a NaN.
  MergeWeights result;
  result.noKeys = b.isEqual(top, none);
  result.base = b.select(result.noKeys, zero, top);
  result.total = zero;
  for (Value lse : values) {
    result.weights.push_back(b.exp(b.sub(lse, result.base)));
    result.empty.push_back(b.isEqual(lse, none));
    result.total = b.add(result.total, result.weights.back());
  }
  result.total = b.select(result.noKeys, b.number(1), result.total);
  return result;
}

/// Lowers na.merge to a parallel loop whose iterations are rows, or, with
/// `elements`, elements of the output.
class MergeLowering : public LoopBuilder {
public:
  MergeLowering(RewriterBase &rewriter, MergeOp op, bool elements = false)
      : LoopBuilder(rewriter, op,
                    getAccumulatorFor(getFloatType(op.getLses().front()).isF64()
                                          ? getFloatType(op.getLses().front())
                                          : getFloatType(op.getOutput()))),
        op(op), elements(elements) {}

  void lower() {
    SmallVector<IndexValue> sizes = dims(op.getOutput());
    if (elements) {
      parallel(sizes, [&](ValueRange indices) {
        Value channel = indices.back();
        lowerRow(
            indices.drop_back(),
            [&](function_ref<void(Value)> body) { body(channel); },
            [&](function_ref<void()> body) {
              Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                                    channel, index(0));
              scf::IfOp::create(b, isFirst, [&](OpBuilder &, Location) {
                body();
                scf::YieldOp::create(b);
              });
            });
      });
      return;
    }
    IndexValue valueDim = sizes.pop_back_val();
    parallel(sizes, [&](ValueRange indices) {
      lowerRow(
          indices,
          [&](function_ref<void(Value)> body) { sequential(valueDim, body); },
          [&](function_ref<void()> body) { body(); });
    });
  }

private:
  /// `forChannels` runs its argument for the channels of this iteration,
  /// `once` for one iteration of the row.
  void lowerRow(ValueRange indices,
                function_ref<void(function_ref<void(Value)>)> forChannels,
                function_ref<void(function_ref<void()>)> once) {
    Value zero = number(0);
    MergeWeights joined = makeMergeWeights(*this, op.getLses(), indices);
    forChannels([&](Value c) {
      SmallVector<Value> at = concat(indices, c);
      Value sum = zero;
      for (auto [i, output] : llvm::enumerate(op.getOutputs())) {
        // 0 * NaN would let a part without keys through.
        Value term = mul(joined.weights[i], load(output, at));
        sum = add(sum, select(joined.empty[i], zero, term));
      }
      store(div(sum, joined.total), op.getOutput(), at);
    });
    if (Value lse = op.getLse())
      once([&] {
        store(select(joined.noKeys, negativeInfinity(),
                     add(joined.base, log(joined.total))),
              lse, indices);
      });
  }

  MergeOp op;
  bool elements;
};

/// Lowers na.merge_grad to a parallel loop over the rows.
class MergeGradLowering : public LoopBuilder {
public:
  MergeGradLowering(RewriterBase &rewriter, MergeGradOp op)
      : LoopBuilder(rewriter, op,
                    getFloatType(op.getLses().front()).isF64()
                        ? getFloatType(op.getLses().front())
                        : getAccumulatorFor(getFloatType(op.getOutputGrad()))),
        op(op) {}

  void lower() {
    SmallVector<IndexValue> sizes = dims(op.getOutputGrad());
    IndexValue valueDim = sizes.pop_back_val();
    parallel(sizes, [&](ValueRange indices) { lowerRow(indices, valueDim); });
  }

private:
  void lowerRow(ValueRange indices, const IndexValue &valueDim) {
    MergeWeights weights = makeMergeWeights(*this, op.getLses(), indices);
    Value zero = number(0);
    unsigned parts = op.getOutputs().size();
    // Per part dot(output_grad, O_p); that with the output is their mean.
    SmallVector<Value> dots = sequential(
        valueDim, SmallVector<Value>(parts, zero),
        [&](Value c, ValueRange sums) -> SmallVector<Value> {
          SmallVector<Value> at = concat(indices, c), next;
          Value grad = load(op.getOutputGrad(), at);
          for (unsigned i = 0; i < parts; ++i) {
            Value term = mul(grad, load(op.getOutputs()[i], at));
            // 0 * NaN would let a part without keys through.
            next.push_back(add(sums[i], select(weights.empty[i], zero, term)));
            store(mul(grad, div(weights.weights[i], weights.total)),
                  op.getOutputsGrad()[i], at);
          }
          return next;
        });
    Value mean = zero;
    for (unsigned i = 0; i < parts; ++i)
      mean = add(mean, mul(weights.weights[i], dots[i]));
    mean = div(mean, weights.total);
    for (unsigned i = 0; i < parts; ++i) {
      Value grad = sub(dots[i], mean);
      if (op.getLseGrad())
        grad = add(grad, load(op.getLseGrad(), indices));
      store(mul(div(weights.weights[i], weights.total), grad),
            op.getLsesGrad()[i], indices);
    }
  }

  MergeGradOp op;
};

} // namespace mlir::na

#endif // NA_LIB_CONVERSION_NATOLOOPS_MERGELOWERING_H
