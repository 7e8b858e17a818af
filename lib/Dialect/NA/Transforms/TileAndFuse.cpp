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
#include "na/Dialect/NA/Transforms/TileSoftmax.h"
#include "na/Dialect/NA/Transforms/TileWarpgroups.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
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

/// The tile that `then` builds, where `condition` holds, or that of
/// `otherwise`.
static Value
buildChoice(ImplicitLocOpBuilder &b, Value condition,
            function_ref<Value(ImplicitLocOpBuilder &)> then,
            function_ref<Value(ImplicitLocOpBuilder &)> otherwise) {
  auto yields = [](function_ref<Value(ImplicitLocOpBuilder &)> build) {
    return [=](OpBuilder &builder, Location loc) {
      ImplicitLocOpBuilder b(loc, builder);
      scf::YieldOp::create(b, build(b));
    };
  };
  return scf::IfOp::create(b, condition, yields(then), yields(otherwise))
      .getResult(0);
}

/// Builds the tiled program of one operation.
class AttentionTiler {
public:
  explicit AttentionTiler(AttentionOp op)
      : op(op), grid(op.getWindow(), op.getSchedule()->getQueryTile(),
                     op.getSchedule()->getKeyTile(),
                     cast<TypedValue<MemRefType>>(op.getQuery())),
        form(*op.getSchedule(), op.getAccumulatorType(), *op.getScaleValue(),
             /*softmax=*/!op.getBias()),
        valueDim(cast<MemRefType>(op.getValue().getType()).getShape().back()),
        valueTile(form.getValueTile(valueDim)),
        warpgroups(getWarpgroups(*op.getSchedule(), grid)),
        rows(warpgroups ? warpgroups->getRows() : grid),
        softmax(form, rows.getNumQueries(), valueTile) {}

  void run(RewriterBase &rewriter);

private:
  static std::optional<WarpgroupGrid> getWarpgroups(ScheduleAttr schedule,
                                                    const TileGrid &grid) {
    if (!schedule.isForGPU() || schedule.getWarpgroupTile().empty())
      return std::nullopt;
    return WarpgroupGrid(grid, schedule.getWarpgroupTile());
  }

  /// The program of the queries at `at`, which are those of `warpgroup` if that
  /// is not null.
  void buildBody(ImplicitLocOpBuilder &b, const GridPoint &at,
                 const Warpgroup *warpgroup);
  SoftmaxState buildAdditionalKeys(ImplicitLocOpBuilder &b, const GridPoint &at,
                                   Value keyHead, Value query,
                                   SoftmaxState state);
  Value buildExisting(ImplicitLocOpBuilder &b, Value scores,
                      function_ref<Value(ImplicitLocOpBuilder &, Value)> token,
                      Value count);
  void buildResults(ImplicitLocOpBuilder &b, const GridPoint &at,
                    const SoftmaxState &state);
  /// The channels of `whole` that the iteration works on.
  Value buildChunk(ImplicitLocOpBuilder &b, const GridPoint &at, Value whole);

  AttentionOp op;
  TileGrid grid;
  TileForm form;
  int64_t valueDim, valueTile;
  std::optional<WarpgroupGrid> warpgroups;
  /// The grid of the queries that share a softmax: of a warpgroup where there
  /// are any.
  TileGrid rows;
  TileSoftmax softmax;
};

} // namespace

void AttentionTiler::run(RewriterBase &rewriter) {
  if (form.isGPU() && isEmpty(op.getOutput()))
    return rewriter.eraseOp(op);
  int64_t heads =
      cast<MemRefType>(op.getQuery().getType()).getDimSize(grid.getRank() + 1);
  scf::ForallOp loop =
      grid.buildGrid(rewriter, op.getLoc(), heads, {valueDim, valueTile},
                     [&](OpBuilder &builder, const GridPoint &at) {
                       ImplicitLocOpBuilder b(op.getLoc(), builder);
                       if (!warpgroups)
                         return buildBody(b, at, /*warpgroup=*/nullptr);
                       warpgroups->buildWarpgroups(
                           b, b.getLoc(), at,
                           [&](OpBuilder &builder, const Warpgroup &warpgroup) {
                             ImplicitLocOpBuilder b(op.getLoc(), builder);
                             buildBody(b, warpgroup.own, &warpgroup);
                           });
                     });
  noteSchedule(loop, op.getScheduleAttr());
  rewriter.eraseOp(op);
}

Value AttentionTiler::buildChunk(ImplicitLocOpBuilder &b, const GridPoint &at,
                                 Value whole) {
  return at.channel ? buildChannels(b, whole, at.channel, valueTile) : whole;
}

void AttentionTiler::buildBody(ImplicitLocOpBuilder &b, const GridPoint &at,
                               const Warpgroup *warpgroup) {
  int64_t keyHeads =
      cast<MemRefType>(op.getKey().getType()).getDimSize(grid.getRank() + 1);
  int64_t heads =
      cast<MemRefType>(op.getQuery().getType()).getDimSize(grid.getRank() + 1);
  Value keyHead = buildKeyHead(b, at.head, heads, keyHeads);
  Value query =
      buildQueryTile(b, form, rows, op.getQuery(), at.batch, at.head, at.axes);

  Value ranges;
  if (!grid.getCutAxes().empty())
    ranges = buildKeyRanges(b, rows, at.axes);
  Value allValues = buildChunk(b, at, op.getValue()), additionalValues;
  if (warpgroup && op.getAdditionalValue())
    additionalValues = buildChunk(b, at, op.getAdditionalValue());

  SoftmaxState initial = softmax.buildInitial(b);
  ArrayRef<int64_t> dilation = op.getWindow().getDilation();
  auto buildStep = [&](OpBuilder &builder, const KeyTile &tile,
                       ValueRange state) {
    ImplicitLocOpBuilder b(op.getLoc(), builder);
    auto load = [&](Value source, Value additional) {
      auto loadWindow = [&](ImplicitLocOpBuilder &b) {
        return buildTileLoad(b, form.getOperandType(source), source, at.batch,
                             keyHead, tile.coordinates, grid.getKeyTile(),
                             dilation, /*transposed=*/false);
      };
      if (!tile.additional)
        return loadWindow(b);
      return buildChoice(
          b, tile.additional->is,
          [&](ImplicitLocOpBuilder &b) {
            return buildTileLoad(b, form.getOperandType(additional), additional,
                                 at.batch, keyHead, {tile.additional->first},
                                 {grid.getNumKeys()}, {1},
                                 /*transposed=*/false);
          },
          loadWindow);
    };
    Value scores =
        buildScores(b, form, load(op.getKey(), op.getAdditionalKey()), query);
    if (op.getBias()) {
      auto addBias = [&](ImplicitLocOpBuilder &b) {
        return buildBias(b, form, rows, scores, op.getBias(), at.head, at.axes,
                         tile);
      };
      scores =
          tile.additional
              ? buildChoice(
                    b, tile.additional->is,
                    [&](ImplicitLocOpBuilder &) { return scores; }, addBias)
              : addBias(b);
    }
    if (tile.additional && tile.additional->isPartial)
      scores = buildChoice(
          b, tile.additional->isPartial,
          [&](ImplicitLocOpBuilder &b) {
            return buildExisting(
                b, scores,
                [](ImplicitLocOpBuilder &, Value key) { return key; },
                tile.additional->rest);
          },
          [&](ImplicitLocOpBuilder &) { return scores; });
    for (const KeyTile::Mask &mask : tile.masks)
      scores = TileMaskOp::create(
                   b, scores.getType(), scores, ranges, tile.positions,
                   mask.inside, grid.getKeyTile(), mask.axes, form.isKeyMajor())
                   .getResult();
    return softmax
        .buildStep(b, scores, load(allValues, additionalValues),
                   SoftmaxState::get(state))
        .getValues();
  };
  if (warpgroup) {
    // One loop, so that nothing waits between window and additional keys.
    OpFoldResult additional = b.getIndexAttr(0);
    if (op.getAdditionalKey())
      additional =
          memref::getMixedSize(b, b.getLoc(), op.getAdditionalKey(), 1);
    return buildResults(b, at,
                        SoftmaxState::get(warpgroups->buildKeyLoop(
                            b, b.getLoc(), *warpgroup, additional,
                            initial.getValues(), buildStep)));
  }
  SoftmaxState state = SoftmaxState::get(grid.buildKeyLoop(
      b, b.getLoc(), at.axes, initial.getValues(), buildStep));
  if (op.getAdditionalKey())
    state = buildAdditionalKeys(b, at, keyHead, query, state);
  buildResults(b, at, state);
}

/// The scores of a tile, -inf for keys whose `token` is not less than `count`.
Value AttentionTiler::buildExisting(
    ImplicitLocOpBuilder &b, Value scores,
    function_ref<Value(ImplicitLocOpBuilder &, Value)> token, Value count) {
  return buildGeneric(
      b, {}, {scores}, {tileMap(b, 2, {0, 1})}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        Value key = linalg::IndexOp::create(b, form.getKeyDim());
        Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                             token(b, key), count);
        return {arith::SelectOp::create(
            b, exists, args[0],
            buildFloat(b, form.getAccumulator(),
                       -std::numeric_limits<double>::infinity()))};
      })[0];
}

/// Goes on with the additional keys, which every query sees.
SoftmaxState AttentionTiler::buildAdditionalKeys(ImplicitLocOpBuilder &b,
                                                 const GridPoint &at,
                                                 Value keyHead, Value query,
                                                 SoftmaxState state) {
  OpFoldResult tokens =
      memref::getMixedSize(b, b.getLoc(), op.getAdditionalKey(), 1);
  Value count = getValueOrCreateConstantIndexOp(b, b.getLoc(), tokens);
  std::optional<int64_t> known = getConstantIntValue(tokens);
  int64_t keys = form.getAdditionalTile(grid.getNumKeys(), known);
  Value allValues = buildChunk(b, at, op.getAdditionalValue());
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value step = arith::ConstantIndexOp::create(b, keys);
  auto loop = scf::ForOp::create(b, zero, count, step, state.getValues());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value first = loop.getInductionVar();
  state = SoftmaxState::get(loop.getRegionIterArgs());
  auto load = [&](Value source) {
    return buildTileLoad(b, form.getOperandType(source), source, at.batch,
                         keyHead, {first}, {keys}, {1}, /*transposed=*/false);
  };
  Value scores = buildScores(b, form, load(op.getAdditionalKey()), query);
  if (!known || *known % keys != 0)
    scores = buildExisting(
        b, scores,
        [&](ImplicitLocOpBuilder &b, Value key) -> Value {
          return arith::AddIOp::create(b, first, key);
        },
        count);
  state = softmax.buildStep(b, scores, load(allValues), state);
  scf::YieldOp::create(b, state.getValues());
  return SoftmaxState::get(loop.getResults());
}

/// Normalises the tile and stores it.
void AttentionTiler::buildResults(ImplicitLocOpBuilder &b, const GridPoint &at,
                                  const SoftmaxState &state) {
  Value output = softmax.buildOutput(b, state);
  SmallVector<Value> first =
      getValues(b, b.getLoc(), at.axes, &AxisTile::queryAt);
  ArrayRef<int64_t> dilation = op.getWindow().getDilation();
  TileStoreOp::create(b, output, buildChunk(b, at, op.getOutput()), at.batch,
                      at.head, first, rows.getQueryTile(), dilation,
                      /*transposed=*/form.isKeyMajor());
  if (!op.getLse())
    return;
  // Every chunk of channels stores the same.
  TileStoreOp::create(b, softmax.buildLse(b, state), op.getLse(), at.batch,
                      at.head, first, rows.getQueryTile(), dilation,
                      /*transposed=*/false);
}

/// Whether the tiled program can be built; says why not otherwise.
static LogicalResult checkTileable(AttentionOp op) {
  if (!isa<MemRefType>(op.getQuery().getType()))
    return op.emitOpError("is on tensors; bufferize before na-tile-and-fuse");
  if (!op.getSchedule())
    return op.emitOpError(
        "has no schedule; run na-select-schedule before na-tile-and-fuse");
  if (op.getSchedule()->isForGPU() &&
      !op.getSchedule()->getWarpgroupTile().empty())
    return checkWarpgroups(op, *op.getSchedule());
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
      if (op.getSchedule()->isNaive())
        continue;
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
