//===- DecomposeAttentionGrad.cpp - An operation for each gradient --------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionWeights.h"
#include "LiftToTensors.h"

#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NA/Transforms/Passes.h"
#include "na/Dialect/NA/Transforms/TileLinalg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::na {
#define GEN_PASS_DEF_NADECOMPOSEATTENTIONGRAD
#include "na/Dialect/NA/Transforms/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;
using namespace mlir::na;

/// dot(output, output_grad) - lse_grad for every row.
static Value buildDelta(ImplicitLocOpBuilder &b, AttentionGradOp op) {
  FloatType type = op.getAccumulatorType();
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(b, b.getLoc(), op.getOutput());
  sizes.pop_back();
  Value init = tensor::EmptyOp::create(b, sizes, type);
  AffineMap row = b.getMultiDimIdentityMap(sizes.size());
  if (Value grad = op.getLseGrad())
    init = buildGeneric(
        b, {grad}, {init}, {row, row}, {},
        [](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
          return {arith::NegFOp::create(b, args[0])};
        })[0];
  else
    init = linalg::FillOp::create(b, buildFloat(b, type, 0), init).getResult(0);

  unsigned channel = sizes.size();
  AffineMap all = b.getMultiDimIdentityMap(channel + 1);
  return buildGeneric(
      b, {op.getOutput(), op.getOutputGrad()}, {init},
      {all, all, all.dropResult(channel)}, {channel},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        auto extend = [&](Value value) -> Value {
          return value.getType() == type
                     ? value
                     : arith::ExtFOp::create(b, type, value).getResult();
        };
        Value product =
            arith::MulFOp::create(b, extend(args[0]), extend(args[1]));
        return {arith::AddFOp::create(b, args[2], product)};
      })[0];
}

/// The parts, with the attention weights and their gradients in memory. Returns
/// what replaces the results of the operation.
static SmallVector<Value> decomposeUnfused(RewriterBase &rewriter,
                                           AttentionGradOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  FloatType type = op.getAccumulatorType();
  Value delta = buildDelta(b, op);
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(b, b.getLoc(), op.getQuery());
  sizes.back() = b.getIndexAttr(op.getWindow().getNumSlots());
  AffineMap all = b.getMultiDimIdentityMap(sizes.size());
  AffineMap row = all.dropResult(sizes.size() - 1);

  auto qk =
      QKOp::create(b, op.getQuery(), op.getKey(), op.getBias(),
                   tensor::EmptyOp::create(b, sizes, type), op.getWindow(),
                   op.getScaleAttr(), op.getScheduleAttr());
  // Slots that no key fills are -inf, their weights and gradients therefore 0.
  Value weights = buildGeneric(
      b, {op.getLse()}, {qk.getResult(0)}, {row, all}, {},
      [](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        Value shifted = arith::SubFOp::create(b, args[1], args[0]);
        return {math::ExpOp::create(b, shifted)};
      })[0];
  auto avGrad =
      AVGradOp::create(b, weights, op.getValue(), op.getOutputGrad(),
                       tensor::EmptyOp::create(b, sizes, type),
                       op.getValueGrad(), op.getWindow(), op.getScheduleAttr());
  Value scoresGrad = buildGeneric(
      b, {weights, delta}, {avGrad.getResult(0)}, {all, row, all}, {},
      [](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        Value centred = arith::SubFOp::create(b, args[2], args[1]);
        return {arith::MulFOp::create(b, args[0], centred)};
      })[0];
  auto qkGrad =
      QKGradOp::create(b, op.getQuery(), op.getKey(), scoresGrad,
                       op.getQueryGrad(), op.getKeyGrad(), op.getBiasGrad(),
                       op.getWindow(), op.getScaleAttr(), op.getScheduleAttr());
  SmallVector<Value> results = {qkGrad.getResult(0), qkGrad.getResult(1),
                                avGrad.getResult(1)};
  if (op.getBiasGrad())
    results.push_back(qkGrad.getResult(2));
  return results;
}

/// One operation for each gradient, or with `together` one for those of
/// queries, keys and values. Returns what replaces the results of the
/// operation.
static SmallVector<Value> decompose(RewriterBase &rewriter, AttentionGradOp op,
                                    bool together) {
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  Value delta = buildDelta(b, op);
  if (together)
    return AttentionDQKVOp::create(b, op.getQuery(), op.getKey(), op.getValue(),
                                   op.getOutputGrad(), op.getLse(), delta,
                                   op.getQueryGrad(), op.getKeyGrad(),
                                   op.getValueGrad(), op.getWindow(),
                                   op.getScaleAttr(), op.getScheduleAttr())
        ->getResults();
  auto dq = AttentionDQOp::create(
      b, op.getQuery(), op.getKey(), op.getValue(), op.getOutputGrad(),
      op.getLse(), delta, op.getBias(), op.getAdditionalKey(),
      op.getAdditionalValue(), op.getQueryGrad(), op.getWindow(),
      op.getScaleAttr(), op.getScheduleAttr());
  auto dkv = AttentionDKVOp::create(
      b, op.getQuery(), op.getKey(), op.getValue(), op.getOutputGrad(),
      op.getLse(), delta, op.getBias(), op.getKeyGrad(), op.getValueGrad(),
      op.getWindow(), op.getScaleAttr(), op.getScheduleAttr());
  SmallVector<Value> results(dq->getResults());
  llvm::append_range(results, dkv->getResults());
  if (op.getBiasGrad()) {
    auto dbias = AttentionDBiasOp::create(
        b, op.getQuery(), op.getKey(), op.getValue(), op.getOutputGrad(),
        op.getLse(), delta, op.getBias(), op.getBiasGrad(), op.getWindow(),
        op.getScaleAttr());
    llvm::append_range(results, dbias->getResults());
  }
  if (op.getAdditionalKeyGrad()) {
    auto dadditional = AttentionDAdditionalOp::create(
        b, op.getQuery(), op.getOutputGrad(), op.getAdditionalKey(),
        op.getAdditionalValue(), op.getLse(), delta, op.getAdditionalKeyGrad(),
        op.getAdditionalValueGrad(), op.getScaleAttr(), op.getScheduleAttr());
    llvm::append_range(results, dadditional->getResults());
  }
  return results;
}

namespace {
struct DecomposeAttentionGrad
    : mlir::na::impl::NADecomposeAttentionGradBase<DecomposeAttentionGrad> {
  using NADecomposeAttentionGradBase::NADecomposeAttentionGradBase;

  void runOnOperation() override {
    SmallVector<AttentionGradOp> ops;
    getOperation()->walk([&](AttentionGradOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AttentionGradOp op : ops) {
      op = liftToTensors(rewriter, op);
      rewriter.replaceOp(op, isUnfused(op)
                                 ? decomposeUnfused(rewriter, op)
                                 : decompose(rewriter, op, isTogether(op)));
    }
  }

private:
  bool isTogether(AttentionGradOp op) {
    if (!together || op.getDeterministic() || op.getBias() ||
        op.getAdditionalKey())
      return false;
    // A box of the sums of queries is one of consecutive tokens.
    return llvm::all_of(op.getWindow().getDilation(),
                        [](int64_t dilation) { return dilation == 1; });
  }

  bool isUnfused(AttentionGradOp op) {
    if (!unfused || (weightsLimit >= 0 && !weightsFit(op, weightsLimit)))
      return false;
    if (!op.getAdditionalKey())
      return true;
    op.emitRemark("has additional keys: its gradients have no unfused form");
    return false;
  }
};
} // namespace
