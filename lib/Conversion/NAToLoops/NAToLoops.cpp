//===- NAToLoops.cpp - Lowering of na operations to loops -----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lowering is the oracle for the others, so it follows the definitions of
// the operations and leaves every optimisation to later passes. It shares only
// the window arithmetic (Semantics/Window.h) with them.
//
//===----------------------------------------------------------------------===//

#include "na/Conversion/NAToLoops/NAToLoops.h"

#include "GradLowering.h"
#include "MergeLowering.h"
#include "ProductLowering.h"
#include "WindowLoopBuilder.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::na {
#define GEN_PASS_DEF_CONVERTNATOLOOPSPASS
#include "na/Conversion/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;
using namespace mlir::na;

namespace {

//===----------------------------------------------------------------------===//
// na.attention
//===----------------------------------------------------------------------===//

class AttentionLowering : public WindowLoopBuilder {
public:
  AttentionLowering(RewriterBase &rewriter, AttentionOp op)
      : WindowLoopBuilder(rewriter, op, op.getAccumulatorType(),
                          op.getWindow()),
        op(op) {}

  void lower() {
    scale = makeScale(op.getScaleValue(), op.getQuery());
    Value output = op.getOutput();
    sums = allocateSums(output);
    SmallVector<IndexValue> sizes = dims(output);
    valueDim = {sizes.pop_back_val()};
    parallel(sizes, [&](ValueRange indices) { lowerRow(indices); });
    freeSums(sums, output);
  }

private:
  /// Runs over the logits of all keys of a row, the window's, then the
  /// additional ones. `visit` also gets the key's value vector: a memref and
  /// the indices of a row of it.
  Value forEachLogit(const Row &row, ValueRange inits,
                     function_ref<Value(Value logit, Value values,
                                        ValueRange indices, Value carried)>
                         visit) {
    SmallVector<Value> carried = forEachKey(
        row, inits, [&](const Key &key, ValueRange args) -> SmallVector<Value> {
          Value logit = windowLogit(row, key, scale, op.getQuery(), op.getKey(),
                                    op.getBias());
          return {visit(logit, op.getValue(),
                        concat(row.batch, key.coordinates, row.kvHead),
                        args.front())};
        });
    if (Value keys = op.getAdditionalKey())
      carried =
          sequential(dim(keys, 1), carried,
                     [&](Value token, ValueRange args) -> SmallVector<Value> {
                       SmallVector<Value> indices{row.batch, token, row.kvHead};
                       Value logit = scaledDot(scale, op.getQuery(),
                                               row.indices(), keys, indices);
                       return {visit(logit, op.getAdditionalValue(), indices,
                                     args.front())};
                     });
    return carried.front();
  }

  void lowerRow(ValueRange indices) {
    Row row = makeRow(indices, op.getQuery(), op.getKey());
    Value top =
        forEachLogit(row, negativeInfinity(),
                     [&](Value logit, Value, ValueRange, Value largest) {
                       return max(largest, logit);
                     });

    sequential(*valueDim,
               [&](Value c) { store(number(0), sums, concat(indices, c)); });
    Value total = forEachLogit(
        row, number(0),
        [&](Value logit, Value values, ValueRange valueIndices, Value sum) {
          Value weight = exp(sub(logit, top));
          sequential(*valueDim, [&](Value c) {
            Value term = mul(weight, load(values, concat(valueIndices, c)));
            SmallVector<Value> at = concat(indices, c);
            store(add(load(sums, at), term), sums, at);
          });
          return add(sum, weight);
        });
    sequential(*valueDim, [&](Value c) {
      SmallVector<Value> at = concat(indices, c);
      store(div(load(sums, at), total), op.getOutput(), at);
    });
    if (Value lse = op.getLse())
      store(add(top, log(total)), lse, indices);
  }

  AttentionOp op;
  Value scale, sums;
  std::optional<IndexValue> valueDim;
};

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

constexpr StringLiteral opNames[] = {"attention",
                                     "qk",
                                     "av",
                                     "merge",
                                     "attention_dq",
                                     "attention_dkv",
                                     "attention_dqkv",
                                     "attention_dbias",
                                     "attention_dadditional",
                                     "qk_grad",
                                     "qk_dq",
                                     "qk_dk",
                                     "qk_dbias",
                                     "av_grad",
                                     "av_dweights",
                                     "av_dv",
                                     "merge_grad"};

struct ConvertNAToLoops
    : public mlir::na::impl::ConvertNAToLoopsPassBase<ConvertNAToLoops> {
  using ConvertNAToLoopsPassBase::ConvertNAToLoopsPassBase;

  LogicalResult initialize(MLIRContext *context) override {
    for (const std::string &name : ops)
      if (!llvm::is_contained(opNames, name))
        return emitError(UnknownLoc::get(context))
               << "convert-na-to-loops: unknown operation '" << name
               << "' in option 'ops'; expected one of "
               << llvm::join(ArrayRef(opNames), ", ");
    return success();
  }

  void runOnOperation() override {
    SmallVector<Operation *> worklist;
    getOperation()->walk([&](Operation *op) {
      if (isa<AttentionOp, QKOp, AVOp, MergeOp, AttentionDQOp, AttentionDKVOp,
              AttentionDQKVOp, AttentionDBiasOp, AttentionDAdditionalOp,
              QKGradOp, QKDQOp, QKDKOp, QKDBiasOp, AVGradOp, AVDWeightsOp,
              AVDVOp, MergeGradOp>(op) &&
          isSelected(op))
        worklist.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : worklist)
      if (failed(lowerToLoops(rewriter, op)))
        signalPassFailure();
  }

private:
  bool isSelected(Operation *op) {
    StringRef name = op->getName().stripDialect();
    return ops.empty() || llvm::is_contained(ops, name);
  }
};

} // namespace

LogicalResult mlir::na::lowerToLoops(RewriterBase &rewriter, Operation *op) {
  for (Value operand : op->getOperands())
    if (isa<TensorType>(operand.getType()))
      return op->emitOpError("is on tensors; bufferize it before it is lowered "
                             "to loops");
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  if (auto gradients = dyn_cast<AttentionDQKVOp>(op)) {
    auto [dq, dkv] = gradients.split(rewriter);
    return failure(failed(lowerToLoops(rewriter, dq)) ||
                   failed(lowerToLoops(rewriter, dkv)));
  }
  if (isa<QKGradOp, AVGradOp>(op)) {
    SmallVector<Operation *> parts = isa<QKGradOp>(op)
                                         ? cast<QKGradOp>(op).split(rewriter)
                                         : cast<AVGradOp>(op).split(rewriter);
    return success(llvm::all_of(parts, [&](Operation *part) {
      return succeeded(lowerToLoops(rewriter, part));
    }));
  }
  TypeSwitch<Operation *>(op)
      .Case([&](AttentionOp op) { AttentionLowering(rewriter, op).lower(); })
      .Case([&](QKOp op) { ScoresLowering(rewriter, op).lower(); })
      .Case([&](AVOp op) { WeightedSumLowering(rewriter, op).lower(); })
      .Case([&](QKDQOp op) { WeightedSumLowering(rewriter, op).lower(); })
      .Case<QKDKOp, AVDVOp>(
          [&](auto op) { KeySumLowering(rewriter, op).lower(); })
      .Case([&](QKDBiasOp op) { BiasSumLowering(rewriter, op).lower(); })
      .Case([&](AVDWeightsOp op) { ScoresLowering(rewriter, op).lower(); })
      .Case([&](MergeGradOp op) { MergeGradLowering(rewriter, op).lower(); })
      .Case([&](MergeOp op) { MergeLowering(rewriter, op).lower(); })
      .Case<AttentionDQOp, AttentionDKVOp, AttentionDBiasOp,
            AttentionDAdditionalOp>(
          [&](auto op) { buildGradLoops(rewriter, op); });
  rewriter.eraseOp(op);
  return success();
}
