//===- TileUnfused.cpp - Tile na.qk and na.av into dense products ---------===//
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
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

namespace mlir::na {
#define GEN_PASS_DEF_NATILEUNFUSED
#include "na/Dialect/NA/Transforms/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;
using namespace mlir::na;

static ArrayRef<int64_t> shapeOf(Value memref) {
  return cast<MemRefType>(memref.getType()).getShape();
}

static FloatType elementOf(Value memref) {
  return cast<FloatType>(cast<MemRefType>(memref.getType()).getElementType());
}

template <typename OpTy>
static TileGrid makeGrid(OpTy op, Value tokens) {
  ScheduleAttr schedule = op.getScheduleAttr();
  return TileGrid(op.getWindow(), schedule.getQueryTile(),
                  schedule.getKeyTile(), cast<TypedValue<MemRefType>>(tokens));
}

/// Scores: per query tile and key tile a product, whose in-window entries are
/// scattered to the slots of their rows. On a CPU key-major, because the
/// queries then run along the vectors of the product and only entries that are
/// needed are transposed.
static void tileQK(QKOp op, RewriterBase &rewriter) {
  TileGrid grid = makeGrid(op, op.getQuery());
  WindowAttr window = op.getWindow();
  FloatType type = elementOf(op.getScores());
  TileForm form(op.getScheduleAttr(), type, *op.getScaleValue());
  int64_t headDim = grid.getRank() + 1;
  int64_t heads = shapeOf(op.getQuery())[headDim];
  int64_t keyHeads = shapeOf(op.getKey())[headDim];

  // Only causal rows have slots that no key fills.
  if (llvm::is_contained(window.getCausal(), true)) {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value empty = buildFloat(b, type, -std::numeric_limits<double>::infinity());
    linalg::FillOp::create(b, empty, op.getScores());
  }
  scf::ForallOp loop = grid.buildGrid(
      rewriter, op.getLoc(), heads, {},
      [&](OpBuilder &builder, const GridPoint &point) {
        ImplicitLocOpBuilder b(op.getLoc(), builder);
        Value keyHead = buildKeyHead(b, point.head, heads, keyHeads);
        Value query = buildScaledRowTile(b, form, grid, op.getQuery(),
                                         point.batch, point.head, point.axes);
        Value ranges = buildRanges(b, grid, point.axes);
        SmallVector<Value> at =
            getValues(b, b.getLoc(), point.axes, &AxisTile::rowAt);
        grid.buildColumnLoop(
            b, b.getLoc(), point.axes, {},
            [&](OpBuilder &builder, const ColumnTile &tile,
                ValueRange) -> SmallVector<Value> {
              ImplicitLocOpBuilder b(op.getLoc(), builder);
              Value key = buildColumnTile(b, form, grid, op.getKey(),
                                          point.batch, keyHead, tile);
              Value scores = buildScores(b, form, key, query);
              if (op.getBias())
                scores = buildBias(b, form, grid, scores, op.getBias(),
                                   point.head, point.axes, tile);
              TileScatterOp::create(b, scores, ranges, tile.positions,
                                    op.getScores(), point.batch, point.head, at,
                                    window, grid.getRowTile(),
                                    grid.getColumnTile(), form.isColumnMajor());
              return {};
            });
      });
  noteSchedule(loop, op.getScheduleAttr());
  rewriter.eraseOp(op);
}

/// Weighted sums: per query tile and key tile a product of dense weights
/// [queries, keys] and values [keys, Dv]. Here both the slots of a row and the
/// channels of a value are contiguous as they lie in memory.
static void tileAV(AVOp op, RewriterBase &rewriter) {
  TileGrid grid = makeGrid(op, op.getValue());
  WindowAttr window = op.getWindow();
  FloatType weightType = elementOf(op.getWeights());
  // Weights can be wider than the values: a tile narrows no operand as it is
  // loaded.
  bool wide = elementOf(op.getValue()).isF64() || weightType.isF64();
  FloatType type = wide ? FloatType(rewriter.getF64Type())
                        : FloatType(rewriter.getF32Type());
  TileForm form(op.getScheduleAttr(), type);
  FloatType operandType = form.getOperandType(op.getValue());
  FloatType gatherType = weightType == operandType ? weightType : type;
  int64_t headDim = grid.getRank() + 1;
  int64_t heads = shapeOf(op.getWeights())[headDim];
  int64_t keyHeads = shapeOf(op.getValue())[headDim];
  int64_t queries = grid.getNumRows(), keys = grid.getNumColumns();
  int64_t channels = shapeOf(op.getValue()).back();
  int64_t valueTile = form.getValueTile(channels);
  if (form.isGPU() && isEmpty(op.getOutput()))
    return rewriter.eraseOp(op);

  scf::ForallOp loop = grid.buildGrid(
      rewriter, op.getLoc(), heads, {channels, valueTile},
      [&](OpBuilder &builder, const GridPoint &point) {
        ImplicitLocOpBuilder b(op.getLoc(), builder);
        auto chunk = [&](Value whole) {
          return point.channel
                     ? buildChannels(b, whole, point.channel, valueTile)
                     : whole;
        };
        Value keyHead = buildKeyHead(b, point.head, heads, keyHeads);
        Value ranges = buildRanges(b, grid, point.axes);
        SmallVector<Value> at =
            getValues(b, b.getLoc(), point.axes, &AxisTile::rowAt);
        Value allValues = chunk(op.getValue());
        Value zeros = buildFilled(b, {queries, valueTile}, type, 0);
        Value output = grid.buildColumnLoop(
            b, b.getLoc(), point.axes, zeros,
            [&](OpBuilder &builder, const ColumnTile &tile,
                ValueRange state) -> SmallVector<Value> {
              ImplicitLocOpBuilder b(op.getLoc(), builder);
              Value init = buildEmpty(b, {queries, keys}, gatherType);
              Value weights =
                  TileGatherOp::create(b, init.getType(), op.getWeights(),
                                       point.batch, point.head, at, ranges,
                                       tile.positions, init, window,
                                       grid.getRowTile(), grid.getColumnTile(),
                                       /*key_major=*/false)
                      .getResult();
              Value values = buildColumnTile(b, form, grid, allValues,
                                             point.batch, keyHead, tile);
              weights = buildCast(b, weights, operandType);
              // Loops: query, channel, key.
              return {
                  buildContract(b, weights, values, state[0],
                                {tileMap(b, 3, {0, 2}), tileMap(b, 3, {2, 1}),
                                 tileMap(b, 3, {0, 1})})};
            })[0];
        TileStoreOp::create(b, output, chunk(op.getOutput()), point.batch,
                            point.head, at, grid.getRowTile(),
                            window.getDilation(), /*transposed=*/false);
      });
  noteSchedule(loop, op.getScheduleAttr());
  rewriter.eraseOp(op);
}

/// Whether the tiled program can be built; says why not otherwise.
template <typename OpTy>
static LogicalResult checkTileable(OpTy op) {
  if (!isa<MemRefType>(op->getOperand(0).getType()))
    return op.emitOpError("is on tensors; bufferize before na-tile-unfused");
  if (!op.getSchedule())
    return op.emitOpError(
        "has no schedule; run na-select-schedule before na-tile-unfused");
  return success();
}

/// Whether tiles and the head mapping have the sizes that they need as numbers:
/// the heads of `rows` and of `tokens`, and the channels of both where
/// `rowChannels` says that `rows` has any.
static bool hasStaticChannels(Value rows, Value tokens, bool rowChannels) {
  int64_t headDim = shapeOf(rows).size() - 2;
  auto isStatic = [&](Value value, bool channels) {
    ArrayRef<int64_t> shape = shapeOf(value).drop_front(headDim);
    return !ShapedType::isDynamic(shape[0]) &&
           !(channels && ShapedType::isDynamic(shape[1]));
  };
  return isStatic(rows, rowChannels) && isStatic(tokens, true);
}

namespace {
struct TileUnfused : mlir::na::impl::NATileUnfusedBase<TileUnfused> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<QKOp, AVOp>(op))
        ops.push_back(op);
      else if (isa<QKGradOp, AVGradOp>(op))
        op->emitRemark("has no tiled form: left for the naive lowering");
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : ops) {
      rewriter.setInsertionPoint(op);
      LogicalResult done = success();
      if (auto qk = dyn_cast<QKOp>(op))
        done = tile(qk, qk.getQuery(), qk.getKey(), true, rewriter, tileQK);
      else if (auto av = dyn_cast<AVOp>(op))
        done =
            tile(av, av.getWeights(), av.getValue(), false, rewriter, tileAV);
      if (failed(done))
        return signalPassFailure();
    }
  }

  template <typename OpTy>
  LogicalResult tile(OpTy op, Value rows, Value tokens, bool rowChannels,
                     RewriterBase &rewriter,
                     void (*build)(OpTy, RewriterBase &)) {
    if (failed(checkTileable(op)))
      return failure();
    if (op.getSchedule()->isNaive())
      return success();
    if (!hasNarrowPositions(op.getWindow(), cast<MemRefType>(tokens.getType())))
      op.emitRemark("an axis is longer than 2^30 times its dilation: left for "
                    "the naive lowering");
    else if (hasStaticChannels(rows, tokens, rowChannels))
      build(op, rewriter);
    else
      op.emitRemark("heads, head dim or value dim is dynamic: left for the "
                    "naive lowering");
    return success();
  }
};
} // namespace
