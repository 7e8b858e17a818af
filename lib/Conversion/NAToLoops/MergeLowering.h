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
    Value none = negativeInfinity();
    Value zero = number(0);
    SmallVector<Value> lses;
    for (Value lse : op.getLses())
      lses.push_back(load(lse, indices));
    Value top = lses.front();
    for (Value lse : ArrayRef(lses).drop_front())
      top = max(top, lse);

    // Without a key in any part, -inf - top would be a NaN.
    Value noKeys = isEqual(top, none);
    Value base = select(noKeys, zero, top);
    SmallVector<Value> weights, empty;
    Value total = zero;
    for (Value lse : lses) {
      weights.push_back(exp(sub(lse, base)));
      empty.push_back(isEqual(lse, none));
      total = add(total, weights.back());
    }
    total = select(noKeys, number(1), total);

    forChannels([&](Value c) {
      SmallVector<Value> at = concat(indices, c);
      Value sum = zero;
      for (auto [i, output] : llvm::enumerate(op.getOutputs())) {
        // 0 * NaN would let a part without keys through.
        Value term = mul(weights[i], load(output, at));
        sum = add(sum, select(empty[i], zero, term));
      }
      store(div(sum, total), op.getOutput(), at);
    });
    if (Value lse = op.getLse())
      once([&] {
        store(select(noKeys, none, add(base, log(total))), lse, indices);
      });
  }

  MergeOp op;
  bool elements;
};

} // namespace mlir::na

#endif // NA_LIB_CONVERSION_NATOLOOPS_MERGELOWERING_H
