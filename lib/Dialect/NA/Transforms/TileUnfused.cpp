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

/// Scores: per query tile and key tile a product [keys, queries], whose
/// in-window entries are scattered to the slots of their rows. Key-major,
/// because the queries then run along the vectors of the product and only
/// entries that are needed are transposed.
static void tileQK(QKOp op, RewriterBase &rewriter) {
  TileGrid grid = makeGrid(op, op.getQuery());
  WindowAttr window = op.getWindow();
  FloatType type = elementOf(op.getScores());
  int64_t headDim = grid.getRank() + 1;
  int64_t heads = shapeOf(op.getQuery())[headDim];
  int64_t keyHeads = shapeOf(op.getKey())[headDim];

  // Only causal rows have slots that no key fills.
  if (llvm::is_contained(window.getCausal(), true)) {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value empty = buildFloat(b, type, -std::numeric_limits<double>::infinity());
    linalg::FillOp::create(b, empty, op.getScores());
  }
  grid.buildGrid(
      rewriter, op.getLoc(), heads,
      [&](OpBuilder &builder, Value batch, Value head,
          ArrayRef<AxisTile> axes) {
        ImplicitLocOpBuilder b(op.getLoc(), builder);
        Value keyHead = buildKeyHead(b, head, heads, keyHeads);
        Value query = buildScaledQuery(b, type, grid, op.getQuery(), batch,
                                       head, axes, *op.getScaleValue());
        Value ranges = buildKeyRanges(b, grid, axes);
        SmallVector<Value> at =
            getValues(b, b.getLoc(), axes, &AxisTile::queryAt);
        grid.buildKeyLoop(
            b, b.getLoc(), axes, {},
            [&](OpBuilder &builder, const KeyTile &tile,
                ValueRange) -> SmallVector<Value> {
              ImplicitLocOpBuilder b(op.getLoc(), builder);
              Value key = buildTileLoad(b, type, op.getKey(), batch, keyHead,
                                        tile.coordinates, grid.getKeyTile(),
                                        window.getDilation(),
                                        /*transposed=*/false);
              Value scores = buildLogits(b, key, query);
              if (op.getBias())
                scores =
                    buildBias(b, grid, scores, op.getBias(), head, axes, tile);
              TileScatterOp::create(b, scores, ranges, tile.positions,
                                    op.getScores(), batch, head, at, window,
                                    grid.getQueryTile(), grid.getKeyTile(),
                                    /*key_major=*/true);
              return {};
            });
      });
  rewriter.eraseOp(op);
}

/// Weighted sums: per query tile and key tile a product of dense weights
/// [queries, keys] and values [keys, Dv]. Here both the slots of a row and the
/// channels of a value are contiguous as they lie in memory.
static void tileAV(AVOp op, RewriterBase &rewriter) {
  TileGrid grid = makeGrid(op, op.getValue());
  WindowAttr window = op.getWindow();
  // Weights can be wider than the values: no operand is narrowed on its way
  // into a tile.
  Type f64 = rewriter.getF64Type();
  FloatType type =
      elementOf(op.getValue()) == f64 || elementOf(op.getWeights()) == f64
          ? FloatType(rewriter.getF64Type())
          : FloatType(rewriter.getF32Type());
  int64_t headDim = grid.getRank() + 1;
  int64_t heads = shapeOf(op.getWeights())[headDim];
  int64_t keyHeads = shapeOf(op.getValue())[headDim];
  int64_t queries = grid.getNumQueries(), keys = grid.getNumKeys();

  grid.buildGrid(
      rewriter, op.getLoc(), heads,
      [&](OpBuilder &builder, Value batch, Value head,
          ArrayRef<AxisTile> axes) {
        ImplicitLocOpBuilder b(op.getLoc(), builder);
        Value keyHead = buildKeyHead(b, head, heads, keyHeads);
        Value ranges = buildKeyRanges(b, grid, axes);
        SmallVector<Value> at =
            getValues(b, b.getLoc(), axes, &AxisTile::queryAt);
        Value zeros =
            buildFilled(b, {queries, shapeOf(op.getValue()).back()}, type, 0);
        Value output = grid.buildKeyLoop(
            b, b.getLoc(), axes, zeros,
            [&](OpBuilder &builder, const KeyTile &tile,
                ValueRange state) -> SmallVector<Value> {
              ImplicitLocOpBuilder b(op.getLoc(), builder);
              Value init = buildEmpty(b, {queries, keys}, type);
              Value weights =
                  TileGatherOp::create(b, init.getType(), op.getWeights(),
                                       batch, head, at, ranges, tile.positions,
                                       init, window, grid.getQueryTile(),
                                       grid.getKeyTile(), /*key_major=*/false)
                      .getResult();
              Value values = buildTileLoad(
                  b, type, op.getValue(), batch, keyHead, tile.coordinates,
                  grid.getKeyTile(), window.getDilation(),
                  /*transposed=*/false);
              // Loops: query, channel, key.
              return {
                  buildContract(b, weights, values, state[0],
                                {tileMap(b, 3, {0, 2}), tileMap(b, 3, {2, 1}),
                                 tileMap(b, 3, {0, 1})})};
            })[0];
        TileStoreOp::create(b, output, op.getOutput(), batch, head, at,
                            grid.getQueryTile(), window.getDilation(),
                            /*transposed=*/false);
      });
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
