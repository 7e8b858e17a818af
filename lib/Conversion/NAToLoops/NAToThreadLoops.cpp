//===- NAToThreadLoops.cpp - na operations for the threads of a GPU -------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The naive algorithm for a GPU, as published for neighborhood attention: a
// thread computes one score, or one element of the output, from global memory.
//
//===----------------------------------------------------------------------===//

#include "GradLowering.h"
#include "MergeLowering.h"
#include "ProductLowering.h"
#include "ProductThreads.h"
#include "ThreadLoopBuilder.h"

#include "na/Conversion/Passes.h"

#include "llvm/ADT/TypeSwitch.h"

namespace mlir::na {
#define GEN_PASS_DEF_CONVERTNATOTHREADLOOPSPASS
#include "na/Conversion/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;
using namespace mlir::na;

namespace {

//===----------------------------------------------------------------------===//
// na.attention
//===----------------------------------------------------------------------===//

/// A thread computes up to `maxChannels` channels of a row. It carries the
/// largest logit, the sum of the weights and the sums of the channels; rows of
/// more channels compute their logits once for each part.
class AttentionThreads : public ThreadLoopBuilder {
public:
  AttentionThreads(RewriterBase &rewriter, AttentionOp op)
      : ThreadLoopBuilder(rewriter, op, op.getAccumulatorType(),
                          op.getWindow()),
        op(op) {}

  void lower() {
    keyLanes = std::min(getLanes(op.getQuery()), getLanes(op.getKey()));
    valueLanes = getLanes(op.getValue());
    if (op.getAdditionalKey()) {
      keyLanes = std::min(keyLanes, getLanes(op.getAdditionalKey()));
      valueLanes = std::min(valueLanes, getLanes(op.getAdditionalValue()));
      additionalKey = assumeAligned(op.getAdditionalKey(), keyLanes);
      additionalValue = assumeAligned(op.getAdditionalValue(), valueLanes);
    }
    query = assumeAligned(op.getQuery(), keyLanes);
    key = assumeAligned(op.getKey(), keyLanes);
    value = assumeAligned(op.getValue(), valueLanes);
    outputLanes = getLanes(op.getOutput());
    output = assumeAligned(op.getOutput(), outputLanes);
    scale = makeScale(op.getScaleValue(), query);

    int64_t valueDim = getLastDim(output);
    channels = std::min(valueDim, maxChannels);
    SmallVector<IndexValue> sizes = dims(output);
    sizes.pop_back();
    sizes.emplace_back(b, b.getLoc(),
                       ::na::window::ceilDiv(valueDim, channels));
    parallel(sizes, [&](ValueRange indices) {
      lowerPart(indices.drop_back(), indices.back());
    });
  }

private:
  void lowerPart(ValueRange indices, Value part) {
    // The last part ends with the row; what it shares with the one before
    // is computed twice.
    IndexValue first =
        minV(IndexValue(b, b.getLoc(), part, /*nonNegative=*/true) * channels,
             IndexValue(b, b.getLoc(), getLastDim(output) - channels));
    Value channel = first.getValue();
    Row row = makeRow(indices, query, key);
    SmallVector<Value> state = {negativeInfinity(), number(0),
                                splat(number(0), channels)};
    state = forEachSlot(
        row, state, [&](const Key &one, ValueRange args) -> SmallVector<Value> {
          SmallVector<Value> at =
              concat(row.batch, one.coordinates, row.kvHead);
          Value logit =
              mul(dot(query, row.indices(), key, at, keyLanes), scale);
          if (op.getBias())
            logit = add(logit, loadBias(op.getBias(), row, one));
          return visit(logit, value, concat(at, channel), args);
        });
    if (additionalKey)
      state = sequential(
          dim(additionalKey, 1), state,
          [&](Value token, ValueRange args) -> SmallVector<Value> {
            SmallVector<Value> at{row.batch, token, row.kvHead};
            Value logit = mul(
                dot(query, row.indices(), additionalKey, at, keyLanes), scale);
            return visit(logit, additionalValue, concat(at, channel), args);
          });

    Value top = state[0], total = state[1];
    storeVector(div(state[2], splat(total, channels)), output,
                concat(indices, channel), outputLanes);
    if (!op.getLse())
      return;
    auto writeLse = [&] { store(add(top, log(total)), op.getLse(), indices); };
    if (channels == getLastDim(output))
      return writeLse();
    Value isFirst =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, part, index(0));
    scf::IfOp::create(b, isFirst, [&](OpBuilder &, Location) {
      writeLse();
      scf::YieldOp::create(b);
    });
  }

  /// Adds a key to the state of a row.
  SmallVector<Value> visit(Value logit, Value values, ValueRange at,
                           ValueRange state) {
    Value greater =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, logit, state[0]);
    auto rescaled = scf::IfOp::create(
        b, greater,
        [&](OpBuilder &, Location) {
          Value factor = exp(sub(state[0], logit));
          scf::YieldOp::create(
              b, ValueRange{logit, mul(state[1], factor),
                            mul(state[2], splat(factor, channels))});
        },
        [&](OpBuilder &, Location) { scf::YieldOp::create(b, state); });
    Value top = rescaled.getResult(0);
    Value weight = exp(sub(logit, top));
    Value loaded = loadVector(values, at, channels, valueLanes);
    return {top, add(rescaled.getResult(1), weight),
            fma(splat(weight, channels), loaded, rescaled.getResult(2))};
  }

  AttentionOp op;
  Value query, key, value, additionalKey, additionalValue, output, scale;
  int64_t keyLanes, valueLanes, outputLanes, channels;
};

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct ConvertNAToThreadLoops
    : mlir::na::impl::ConvertNAToThreadLoopsPassBase<ConvertNAToThreadLoops> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](AttentionDQKVOp op) { op.split(rewriter); });
    getOperation()->walk([&](QKGradOp op) { op.split(rewriter); });
    getOperation()->walk([&](AVGradOp op) { op.split(rewriter); });
    SmallVector<Operation *> worklist;
    getOperation()->walk([&](Operation *op) {
      if (isa<AttentionOp, QKOp, AVOp, MergeOp, AttentionDQOp, AttentionDKVOp,
              AttentionDAdditionalOp, QKDQOp, QKDKOp, QKDBiasOp, AVDWeightsOp,
              AVDVOp>(op))
        worklist.push_back(op);
    });
    for (Operation *op : worklist) {
      if (llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TensorType>)) {
        op->emitOpError("is on tensors; bufferize it before it is lowered to "
                        "loops");
        return signalPassFailure();
      }
      rewriter.setInsertionPoint(op);
      bool lowered =
          TypeSwitch<Operation *, bool>(op)
              .Case([&](AttentionOp op) {
                if (!hasStaticChannels({op.getQuery(), op.getKey(),
                                        op.getValue(), op.getOutput()}))
                  return false;
                AttentionThreads(rewriter, op).lower();
                return true;
              })
              .Case([&](QKOp op) {
                if (!hasStaticChannels({op.getQuery(), op.getKey()}))
                  return false;
                ScoresThreads(rewriter, op).lower();
                return true;
              })
              .Case([&](AVOp op) {
                WeightedSumThreads(rewriter, op).lower();
                return true;
              })
              .Case([&](QKDQOp op) {
                WeightedSumThreads(rewriter, op).lower();
                return true;
              })
              .Case<QKDKOp, AVDVOp>([&](auto op) {
                KeySumThreads(rewriter, op).lower();
                return true;
              })
              .Case([&](QKDBiasOp op) {
                BiasSumLowering(rewriter, op).lower();
                return true;
              })
              .Case([&](AVDWeightsOp op) {
                if (!hasStaticChannels({op.getValue(), op.getOutputGrad()}))
                  return false;
                ScoresThreads(rewriter, op).lower();
                return true;
              })
              .Case([&](MergeOp op) {
                MergeLowering(rewriter, op, /*elements=*/true).lower();
                return true;
              })
              .Case([&](AttentionDQOp op) {
                if (!hasStaticChannels({op.getQuery(), op.getKey(),
                                        op.getValue(), op.getOutputGrad(),
                                        op.getQueryGrad()}))
                  return false;
                buildGradThreadLoops(rewriter, op);
                return true;
              })
              .Case<AttentionDKVOp, AttentionDAdditionalOp>([&](auto op) {
                KeyGradOperands operands(op);
                SmallVector<Value> all = {operands.query, operands.outputGrad,
                                          operands.keys, operands.values};
                for (Value grad : {operands.keyGrad, operands.valueGrad})
                  if (grad)
                    all.push_back(grad);
                if (!hasStaticChannels(all))
                  return false;
                buildGradThreadLoops(rewriter, op);
                return true;
              });
      if (lowered)
        rewriter.eraseOp(op);
    }
  }
};

} // namespace
