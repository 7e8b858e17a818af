//===- DecomposeAttention.cpp - na.attention as qk, softmax and av -*- C++
//-*-===//
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

#include <limits>

namespace mlir::na {
#define GEN_PASS_DEF_NADECOMPOSEATTENTION
#include "na/Dialect/NA/Transforms/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;
using namespace mlir::na;

namespace {

using Sizes = SmallVector<OpFoldResult>;

/// Attention weights, and per row the maximum of the logits and the sum of
/// their exponentials over it.
struct Softmax {
  Value weights, maximum, sum;
};

class AttentionDecomposer {
public:
  AttentionDecomposer(RewriterBase &rewriter, AttentionOp op,
                      bool narrowWeights)
      : op(op), b(op.getLoc(), rewriter), rank(op.getSpatialRank()),
        type(op.getAccumulatorType()), narrowWeights(narrowWeights) {}

  /// Returns what replaces the results of the operation.
  SmallVector<Value> run();

private:
  Value buildEmpty(const Sizes &sizes, Type elementType) {
    return tensor::EmptyOp::create(b, sizes, elementType);
  }
  Value buildFilled(const Sizes &sizes, double value) {
    return linalg::FillOp::create(b, buildFloat(b, type, value),
                                  buildEmpty(sizes, type))
        .getResult(0);
  }
  Softmax buildSoftmax(Value logits, FloatType weightType);
  Value buildLse(const Softmax &softmax, Value init);
  Value buildWindowScores();
  Value buildExtended(Value values);
  std::pair<Value, Value> buildAdditional();
  SmallVector<ReassociationIndices> headGroups(int64_t trailing) const;

  AttentionOp op;
  ImplicitLocOpBuilder b;
  int64_t rank;
  FloatType type;
  bool narrowWeights;
};

} // namespace

/// Softmax over the last dimension. Slots that no key fills are -inf, their
/// weights are therefore 0.
Softmax AttentionDecomposer::buildSoftmax(Value logits, FloatType weightType) {
  unsigned dims = cast<RankedTensorType>(logits.getType()).getRank();
  AffineMap all = b.getMultiDimIdentityMap(dims);
  AffineMap row = all.dropResult(dims - 1);
  Sizes sizes = tensor::getMixedSizes(b, b.getLoc(), logits);
  sizes.pop_back();

  Value maximum = buildGeneric(
      b, {logits},
      {buildFilled(sizes, -std::numeric_limits<double>::infinity())},
      {all, row}, {dims - 1},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        // A NaN need not go through the maximum: it reaches the sum through
        // its exponential.
        Value greater = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT,
                                              args[0], args[1]);
        return {arith::SelectOp::create(b, greater, args[0], args[1])};
      })[0];
  Value exponentials = buildGeneric(
      b, {maximum}, {logits}, {row, all}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        return {math::ExpOp::create(
            b, arith::SubFOp::create(b, args[1], args[0]).getResult())};
      })[0];
  Value sum = buildGeneric(
      b, {exponentials}, {buildFilled(sizes, 0)}, {all, row}, {dims - 1},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        return {arith::AddFOp::create(b, args[1], args[0])};
      })[0];
  // One division a row instead of one a weight. The sum is at least 1.
  Value inverse = buildGeneric(
      b, {sum}, {buildEmpty(sizes, type)},
      {b.getMultiDimIdentityMap(dims - 1), b.getMultiDimIdentityMap(dims - 1)},
      {}, [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        return {arith::DivFOp::create(b, buildFloat(b, type, 1), args[0])};
      })[0];
  if (weightType == type) {
    Value weights = buildGeneric(
        b, {inverse}, {exponentials}, {row, all}, {},
        [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
          return {arith::MulFOp::create(b, args[1], args[0])};
        })[0];
    return {weights, maximum, sum};
  }
  Value init =
      buildEmpty(tensor::getMixedSizes(b, b.getLoc(), logits), weightType);
  Value weights = buildGeneric(
      b, {exponentials, inverse}, {init}, {all, row, all}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        Value weight = arith::MulFOp::create(b, args[0], args[1]);
        return {arith::TruncFOp::create(b, weightType, weight)};
      })[0];
  return {weights, maximum, sum};
}

/// maximum + log(sum), into `init`.
Value AttentionDecomposer::buildLse(const Softmax &softmax, Value init) {
  AffineMap map = b.getMultiDimIdentityMap(
      cast<RankedTensorType>(init.getType()).getRank());
  return buildGeneric(
      b, {softmax.maximum, softmax.sum}, {init}, {map, map, map}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        return {arith::AddFOp::create(
            b, args[0], math::LogOp::create(b, args[1]).getResult())};
      })[0];
}

Value AttentionDecomposer::buildWindowScores() {
  Sizes sizes = tensor::getMixedSizes(b, b.getLoc(), op.getQuery());
  sizes.back() = b.getIndexAttr(op.getWindow().getNumSlots());
  auto qk = QKOp::create(b, op.getQuery(), op.getKey(), op.getBias(),
                         buildEmpty(sizes, type), op.getWindow(),
                         op.getScaleAttr(), op.getScheduleAttr());
  return qk.getResult(0);
}

/// `values` in the accumulator's type.
Value AttentionDecomposer::buildExtended(Value values) {
  auto valuesType = cast<RankedTensorType>(values.getType());
  if (valuesType.getElementType() == type)
    return values;
  AffineMap map = b.getMultiDimIdentityMap(valuesType.getRank());
  Value init = buildEmpty(tensor::getMixedSizes(b, b.getLoc(), values), type);
  return buildGeneric(
      b, {values}, {init}, {map, map}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        return {arith::ExtFOp::create(b, type, args[0])};
      })[0];
}

/// Splits the query heads of `[B, X.., Hq, ..]` into [Hkv, group]; `trailing`
/// dimensions follow the heads.
SmallVector<ReassociationIndices>
AttentionDecomposer::headGroups(int64_t trailing) const {
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim <= rank; ++dim)
    groups.push_back({dim});
  groups.push_back({rank + 1, rank + 2});
  for (int64_t dim = 0; dim < trailing; ++dim)
    groups.push_back({rank + 3 + dim});
  return groups;
}

/// Attention over the additional keys alone: output and LSE in the
/// accumulator's type.
std::pair<Value, Value> AttentionDecomposer::buildAdditional() {
  auto queryType = cast<RankedTensorType>(op.getQuery().getType());
  int64_t heads = queryType.getDimSize(rank + 1);
  int64_t keyHeads =
      cast<RankedTensorType>(op.getKey().getType()).getDimSize(rank + 1);
  // Query heads that share a key head are a dimension of their own, so that
  // every operand is indexed by loops alone.
  SmallVector<int64_t> shape(queryType.getShape());
  shape[rank + 1] = keyHeads;
  shape.insert(shape.begin() + rank + 2, heads / keyHeads);
  Sizes sizes = tensor::getMixedSizes(b, b.getLoc(), op.getQuery());
  sizes[rank + 1] = b.getIndexAttr(keyHeads);
  sizes.insert(sizes.begin() + rank + 2, b.getIndexAttr(heads / keyHeads));
  Value query = tensor::ExpandShapeOp::create(
      b, RankedTensorType::get(shape, queryType.getElementType()),
      op.getQuery(), headGroups(/*trailing=*/1), sizes);

  // Loops: the rows [B, X.., Hkv, group], then key and channel.
  unsigned rows = rank + 3, key = rows, channel = rows + 1, loops = rows + 2;
  AffineMap allLoops = b.getMultiDimIdentityMap(loops);
  AffineMap rowsAndKey = allLoops.dropResult(channel);
  AffineMap rowsAndChannel = allLoops.dropResult(key);
  AffineMap keysMap = tileMap(b, loops, {0, key, unsigned(rank + 1), channel});

  sizes.back() = tensor::getMixedSize(b, b.getLoc(), op.getAdditionalKey(), 1);
  Value logits =
      buildContract(b, query, op.getAdditionalKey(), buildFilled(sizes, 0),
                    {rowsAndChannel, keysMap, rowsAndKey});
  AffineMap identity = b.getMultiDimIdentityMap(rows + 1);
  double scale = *op.getScaleValue();
  if (scale != 1.0)
    logits = buildGeneric(
        b, {}, {logits}, {identity}, {},
        [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
          return {
              arith::MulFOp::create(b, args[0], buildFloat(b, type, scale))};
        })[0];
  Softmax softmax = buildSoftmax(logits, type);

  sizes.back() = tensor::getMixedSize(b, b.getLoc(), op.getValue(), rank + 2);
  Value output = buildContract(b, softmax.weights, op.getAdditionalValue(),
                               buildFilled(sizes, 0),
                               {rowsAndKey, keysMap, rowsAndChannel});
  sizes.pop_back();
  Value lse = buildLse(softmax, buildEmpty(sizes, type));
  return {tensor::CollapseShapeOp::create(b, output, headGroups(1)),
          tensor::CollapseShapeOp::create(b, lse, headGroups(0))};
}

SmallVector<Value> AttentionDecomposer::run() {
  // Those that are joined with another part stay in the accumulator's type.
  bool narrow = narrowWeights && !op.getAdditionalKey();
  Softmax softmax =
      buildSoftmax(buildWindowScores(), narrow ? op.getElementType() : type);
  if (!op.getAdditionalKey()) {
    // Beside the softmax, so that both can be one loop over the rows.
    Value lse = op.getLse() ? buildLse(softmax, op.getLse()) : Value();
    auto av = AVOp::create(b, softmax.weights, op.getValue(), op.getOutput(),
                           op.getWindow(), op.getScheduleAttr());
    SmallVector<Value> results = {av.getResult(0)};
    if (lse)
      results.push_back(lse);
    return results;
  }
  // Partial outputs are not rounded to the output's type before they are
  // joined; na.av has the type of its values.
  Sizes sizes = tensor::getMixedSizes(b, b.getLoc(), op.getQuery());
  sizes.back() = tensor::getMixedSize(b, b.getLoc(), op.getValue(), rank + 2);
  auto av = AVOp::create(b, softmax.weights, buildExtended(op.getValue()),
                         buildEmpty(sizes, type), op.getWindow(),
                         op.getScheduleAttr());
  sizes.pop_back();
  Value lse = buildLse(softmax, buildEmpty(sizes, type));
  auto [additional, additionalLse] = buildAdditional();
  auto merge =
      MergeOp::create(b, {av.getResult(0), additional}, {lse, additionalLse},
                      op.getOutput(), op.getLse());
  return SmallVector<Value>(merge.getResults());
}

/// Additional keys need the grouping of the heads and the scale as numbers.
static bool hasStaticGroups(AttentionOp op) {
  auto isStatic = [&](Value value) {
    return !cast<ShapedType>(value.getType())
                .isDynamicDim(op.getSpatialRank() + 1);
  };
  return isStatic(op.getQuery()) && isStatic(op.getKey()) &&
         op.getScaleValue().has_value();
}

namespace {
struct DecomposeAttention
    : mlir::na::impl::NADecomposeAttentionBase<DecomposeAttention> {
  using NADecomposeAttentionBase::NADecomposeAttentionBase;

  void runOnOperation() override {
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AttentionOp op : ops) {
      if (weightsLimit >= 0 && !weightsFit(op, weightsLimit))
        continue;
      if (op.getAdditionalKey() && !hasStaticGroups(op)) {
        op.emitRemark("has additional keys, and heads or the default of the "
                      "scale are dynamic: left for the naive lowering");
        continue;
      }
      op = liftToTensors(rewriter, op);
      rewriter.replaceOp(
          op, AttentionDecomposer(rewriter, op, narrowWeights).run());
    }
  }
};
} // namespace
