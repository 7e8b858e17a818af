//===- TileAndFuse.cpp - Tile na.attention with the softmax fused in ------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NA/Transforms/Passes.h"
#include "na/Dialect/NA/Transforms/TileBuilders.h"
#include "na/Dialect/NA/Transforms/TileGrid.h"
#include "na/Dialect/NA/Transforms/TileLinalg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

namespace mlir::na {
#define GEN_PASS_DEF_NATILEANDFUSE
#include "na/Dialect/NA/Transforms/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;
using namespace mlir::na;

namespace {

constexpr double negativeInfinity = -std::numeric_limits<double>::infinity();

/// The running state of an online softmax over a tile of queries.
struct Softmax {
  /// Unnormalised output [Dv, queries].
  Value accumulator;
  /// Largest logit so far and sum of exp(logit - maximum), both [queries].
  Value maximum, sum;

  SmallVector<Value> getValues() const { return {accumulator, maximum, sum}; }
  static Softmax get(ValueRange values) {
    return {values[0], values[1], values[2]};
  }
};

/// Builds the tiled program of one operation.
class AttentionTiler {
public:
  explicit AttentionTiler(AttentionOp op)
      : op(op), grid(op.getWindow(), op.getSchedule()->getQueryTile(),
                     op.getSchedule()->getKeyTile(),
                     cast<TypedValue<MemRefType>>(op.getQuery())),
        type(op.getAccumulatorType()),
        valueDim(cast<MemRefType>(op.getValue().getType()).getShape().back()),
        queries(grid.getNumQueries()) {}

  void run(RewriterBase &rewriter);

private:
  void buildQueryTile(ImplicitLocOpBuilder &b, Value batch, Value head,
                      ArrayRef<AxisTile> axes);
  Softmax buildSoftmaxStep(ImplicitLocOpBuilder &b, Value scores, Value values,
                           Softmax state, int64_t keys);
  Softmax buildAdditionalKeys(ImplicitLocOpBuilder &b, Value batch,
                              Value keyHead, Value query, Softmax state);
  void buildResults(ImplicitLocOpBuilder &b, Value batch, Value head,
                    ArrayRef<AxisTile> axes, Softmax state);

  AttentionOp op;
  TileGrid grid;
  FloatType type;
  int64_t valueDim, queries;
};

} // namespace

void AttentionTiler::run(RewriterBase &rewriter) {
  int64_t heads =
      cast<MemRefType>(op.getQuery().getType()).getDimSize(grid.getRank() + 1);
  grid.buildGrid(rewriter, op.getLoc(), heads,
                 [&](OpBuilder &builder, Value batch, Value head,
                     ArrayRef<AxisTile> axes) {
                   ImplicitLocOpBuilder b(op.getLoc(), builder);
                   buildQueryTile(b, batch, head, axes);
                 });
  rewriter.eraseOp(op);
}

void AttentionTiler::buildQueryTile(ImplicitLocOpBuilder &b, Value batch,
                                    Value head, ArrayRef<AxisTile> axes) {
  int64_t keyHeads =
      cast<MemRefType>(op.getKey().getType()).getDimSize(grid.getRank() + 1);
  int64_t heads =
      cast<MemRefType>(op.getQuery().getType()).getDimSize(grid.getRank() + 1);
  Value keyHead = buildKeyHead(b, head, heads, keyHeads);
  Value query = buildScaledQuery(b, type, grid, op.getQuery(), batch, head,
                                 axes, *op.getScaleValue());

  SmallVector<int64_t> cutAxes = grid.getCutAxes();
  Value ranges;
  if (!cutAxes.empty())
    ranges = buildKeyRanges(b, grid, axes);

  Softmax initial{buildFilled(b, {valueDim, queries}, type, 0),
                  buildFilled(b, {queries}, type, negativeInfinity),
                  buildFilled(b, {queries}, type, 0)};
  int64_t keys = grid.getNumKeys();
  ArrayRef<int64_t> dilation = op.getWindow().getDilation();
  SmallVector<Value> final = grid.buildKeyLoop(
      b, b.getLoc(), axes, initial.getValues(),
      [&](OpBuilder &builder, const KeyTile &tile, ValueRange state) {
        ImplicitLocOpBuilder b(op.getLoc(), builder);
        Value key =
            buildTileLoad(b, type, op.getKey(), batch, keyHead,
                          tile.coordinates, grid.getKeyTile(), dilation, false);
        Value scores = buildLogits(b, key, query);
        if (op.getBias())
          scores = buildBias(b, grid, scores, op.getBias(), head, axes, tile);
        if (!cutAxes.empty())
          scores = TileMaskOp::create(b, scores.getType(), scores, ranges,
                                      tile.positions, tile.inside,
                                      grid.getKeyTile(), cutAxes,
                                      /*key_major=*/true)
                       .getResult();
        Value values =
            buildTileLoad(b, type, op.getValue(), batch, keyHead,
                          tile.coordinates, grid.getKeyTile(), dilation, false);
        return buildSoftmaxStep(b, scores, values, Softmax::get(state), keys)
            .getValues();
      });
  Softmax state = Softmax::get(final);
  if (op.getAdditionalKey())
    state = buildAdditionalKeys(b, batch, keyHead, query, state);
  buildResults(b, batch, head, axes, state);
}

/// One step of the online softmax over a tile of logits [keys, queries], and
/// the product with the tile's values [keys, Dv].
Softmax AttentionTiler::buildSoftmaxStep(ImplicitLocOpBuilder &b, Value scores,
                                         Value values, Softmax state,
                                         int64_t keys) {
  AffineMap both = tileMap(b, 2, {0, 1}), queryOnly = tileMap(b, 2, {1});
  AffineMap vector = tileMap(b, 1, {0});

  Value tileMaximum = buildGeneric(
      b, {scores}, {buildFilled(b, {queries}, type, negativeInfinity)},
      {both, queryOnly}, {0},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        // Not a NaN-propagating maximum: a NaN logit reaches the sum through
        // its exponential, and this form is one instruction on every target.
        Value greater = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT,
                                              args[0], args[1]);
        return {arith::SelectOp::create(b, greater, args[0], args[1])};
      })[0];

  // The maximum that exponents are taken against is finite even if every key
  // so far is masked: exp(-inf - 0) is 0, exp(-inf + inf) would be a NaN.
  SmallVector<Value> statistics = buildGeneric(
      b, {tileMaximum},
      {state.maximum, buildEmpty(b, {queries}, type),
       buildEmpty(b, {queries}, type)},
      {vector, vector, vector, vector}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        Value greater = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT,
                                              args[0], args[1]);
        Value maximum = arith::SelectOp::create(b, greater, args[0], args[1]);
        Value empty =
            arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, maximum,
                                  buildFloat(b, type, negativeInfinity));
        Value shift =
            arith::SelectOp::create(b, empty, buildFloat(b, type, 0), maximum);
        Value rescale = math::ExpOp::create(
            b, arith::SubFOp::create(b, args[1], shift).getResult());
        return {maximum, shift, rescale};
      });
  Value shift = statistics[1], rescale = statistics[2];

  // The sum of the tile starts at zero: over many keys, sums of sums round far
  // less than one running sum.
  SmallVector<Value> weights = buildGeneric(
      b, {shift}, {scores, buildFilled(b, {queries}, type, 0)},
      {queryOnly, both, queryOnly}, {0},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        Value weight = math::ExpOp::create(
            b, arith::SubFOp::create(b, args[1], args[0]).getResult());
        return {weight, arith::AddFOp::create(b, args[2], weight)};
      });
  Value sum = buildGeneric(
      b, {weights[1], rescale}, {state.sum}, {vector, vector, vector}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        Value before = arith::MulFOp::create(b, args[2], args[1]);
        return {arith::AddFOp::create(b, before, args[0])};
      })[0];

  Value rescaled = buildGeneric(
      b, {rescale}, {state.accumulator}, {queryOnly, both}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        return {arith::MulFOp::create(b, args[1], args[0])};
      })[0];
  // Loops: channel, query, key.
  Value accumulator = buildContract(
      b, values, weights[0], rescaled,
      {tileMap(b, 3, {2, 0}), tileMap(b, 3, {2, 1}), tileMap(b, 3, {0, 1})});
  return {accumulator, statistics[0], sum};
}

/// Goes on with the additional keys, which every query sees.
Softmax AttentionTiler::buildAdditionalKeys(ImplicitLocOpBuilder &b,
                                            Value batch, Value keyHead,
                                            Value query, Softmax state) {
  int64_t keys = grid.getNumKeys();
  OpFoldResult tokens =
      memref::getMixedSize(b, b.getLoc(), op.getAdditionalKey(), 1);
  Value count = getValueOrCreateConstantIndexOp(b, b.getLoc(), tokens);
  if (std::optional<int64_t> known = getConstantIntValue(tokens))
    keys = std::min(keys, std::max<int64_t>(*known, 1));
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value step = arith::ConstantIndexOp::create(b, keys);
  auto loop = scf::ForOp::create(b, zero, count, step, state.getValues());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value at = loop.getInductionVar();
  state = Softmax::get(loop.getRegionIterArgs());
  Value key = buildTileLoad(b, type, op.getAdditionalKey(), batch, keyHead,
                            {at}, {keys}, {1}, false);
  Value scores = buildLogits(b, key, query);
  std::optional<int64_t> known = getConstantIntValue(tokens);
  if (!known || *known % keys != 0)
    scores = buildGeneric(
        b, {}, {scores}, {tileMap(b, 2, {0, 1})}, {},
        [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
          Value token = arith::AddIOp::create(
              b, at, linalg::IndexOp::create(b, 0).getResult());
          Value exists =
              arith::CmpIOp::create(b, arith::CmpIPredicate::slt, token, count);
          return {arith::SelectOp::create(
              b, exists, args[0], buildFloat(b, type, negativeInfinity))};
        })[0];
  Value values = buildTileLoad(b, type, op.getAdditionalValue(), batch, keyHead,
                               {at}, {keys}, {1}, false);
  state = buildSoftmaxStep(b, scores, values, state, keys);
  scf::YieldOp::create(b, state.getValues());
  return Softmax::get(loop.getResults());
}

/// Normalises the tile and stores it.
void AttentionTiler::buildResults(ImplicitLocOpBuilder &b, Value batch,
                                  Value head, ArrayRef<AxisTile> axes,
                                  Softmax state) {
  Value output = buildGeneric(
      b, {state.sum}, {state.accumulator},
      {tileMap(b, 2, {1}), tileMap(b, 2, {0, 1})}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        return {arith::DivFOp::create(b, args[1], args[0])};
      })[0];
  SmallVector<Value> at = getValues(b, b.getLoc(), axes, &AxisTile::queryAt);
  ArrayRef<int64_t> dilation = op.getWindow().getDilation();
  TileStoreOp::create(b, output, op.getOutput(), batch, head, at,
                      grid.getQueryTile(), dilation, /*transposed=*/true);
  if (!op.getLse())
    return;
  AffineMap vector = tileMap(b, 1, {0});
  Value lse = buildGeneric(
      b, {state.maximum}, {state.sum}, {vector, vector}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        return {arith::AddFOp::create(
            b, args[0], math::LogOp::create(b, args[1]).getResult())};
      })[0];
  TileStoreOp::create(b, lse, op.getLse(), batch, head, at, grid.getQueryTile(),
                      dilation, /*transposed=*/false);
}

/// Whether the tiled program can be built; says why not otherwise.
static LogicalResult checkTileable(AttentionOp op) {
  if (!isa<MemRefType>(op.getQuery().getType()))
    return op.emitOpError("is on tensors; bufferize before na-tile-and-fuse");
  if (!op.getSchedule())
    return op.emitOpError(
        "has no schedule; run na-select-schedule before na-tile-and-fuse");
  return success();
}

/// Sizes that tiles and the head mapping need as numbers.
static bool hasStaticChannels(AttentionOp op) {
  auto isStatic = [](Value value) {
    return !value ||
           !ShapedType::isDynamicShape(
               cast<MemRefType>(value.getType()).getShape().take_back(2));
  };
  return isStatic(op.getQuery()) && isStatic(op.getKey()) &&
         isStatic(op.getValue()) && isStatic(op.getAdditionalKey()) &&
         isStatic(op.getAdditionalValue());
}

namespace {
struct TileAndFuse : mlir::na::impl::NATileAndFuseBase<TileAndFuse> {
  void runOnOperation() override {
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AttentionOp op : ops) {
      if (failed(checkTileable(op)))
        return signalPassFailure();
      if (!hasStaticChannels(op)) {
        op.emitRemark("heads, head dim or value dim is dynamic: left for the "
                      "naive lowering");
        continue;
      }
      if (!hasNarrowPositions(op.getWindow(),
                              cast<MemRefType>(op.getQuery().getType()))) {
        op.emitRemark("an axis is longer than 2^30 times its dilation: left "
                      "for the naive lowering");
        continue;
      }
      rewriter.setInsertionPoint(op);
      AttentionTiler(op).run(rewriter);
    }
  }
};
} // namespace
