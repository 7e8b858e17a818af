//===- TileUnfused.cpp - Tile unfused attention into dense products -------===//
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
#include "llvm/ADT/TypeSwitch.h"

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

/// The type of sums of products of weights and values. Weights can be wider
/// than the values: a tile narrows no operand as it is loaded.
static FloatType getSumType(Value weights, Value values) {
  bool wide = elementOf(values).isF64() || elementOf(weights).isF64();
  MLIRContext *context = values.getContext();
  return wide ? FloatType(Float64Type::get(context))
              : FloatType(Float32Type::get(context));
}

namespace {
/// An operation whose rows get the scores of their keys.
struct Scores {
  explicit Scores(QKOp op)
      : query(op.getQuery()), key(op.getKey()), bias(op.getBias()),
        scores(op.getScores()), type(elementOf(op.getScores())),
        scale(*op.getScaleValue()),
        empty(-std::numeric_limits<double>::infinity()) {}
  explicit Scores(AVDWeightsOp op)
      : query(op.getOutputGrad()), key(op.getValue()),
        scores(op.getWeightsGrad()),
        type(getSumType(op.getWeightsGrad(), op.getValue())) {}

  Value query, key, bias, scores;
  FloatType type;
  double scale = 1;
  /// What slots hold that no key fills.
  double empty = 0;
};

/// An operation whose rows get sums of values, weighted by slots.
struct Sums {
  explicit Sums(AVOp op)
      : weights(op.getWeights()), values(op.getValue()),
        output(op.getOutput()) {}
  explicit Sums(QKDQOp op)
      : weights(op.getScoresGrad()), values(op.getKey()),
        output(op.getQueryGrad()), scale(*op.getScaleValue()),
        narrowsWeights(true) {}
  /// Whose rows are keys, and values those of queries.
  explicit Sums(QKDKOp op)
      : weights(op.getScoresGrad()), values(op.getQuery()),
        output(op.getKeyGrad()), scale(*op.getScaleValue()),
        narrowsWeights(true) {}
  explicit Sums(AVDVOp op)
      : weights(op.getWeights()), values(op.getOutputGrad()),
        output(op.getValueGrad()), narrowsWeights(true) {}

  Value weights, values, output;
  double scale = 1;
  /// Whether f32 weights are rounded as they are gathered, where products take
  /// them in the type of the values. Those of na.av are rounded after that.
  bool narrowsWeights = false;
};
} // namespace

/// Scores: per query tile and key tile a product, whose in-window entries are
/// scattered to the slots of their rows. On a CPU key-major, because the
/// queries then run along the vectors of the product and only entries that are
/// needed are transposed.
template <typename OpTy>
static void tileScores(OpTy op, RewriterBase &rewriter) {
  Scores operands(op);
  WindowAttr window = op.getWindow();
  TileGrid grid(window, op.getScheduleAttr().getQueryTile(),
                op.getScheduleAttr().getKeyTile(),
                cast<TypedValue<MemRefType>>(operands.query));
  TileForm form(op.getScheduleAttr(), operands.type, operands.scale);
  int64_t heads = getHeads(operands.query), keyHeads = getHeads(operands.key);

  // Only causal rows have slots that no key fills.
  if (llvm::is_contained(window.getCausal(), true)) {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value empty = buildFloat(b, elementOf(operands.scores), operands.empty);
    linalg::FillOp::create(b, empty, operands.scores);
  }
  scf::ForallOp loop = grid.buildGrid(
      rewriter, op.getLoc(), heads, {},
      [&](OpBuilder &builder, const GridPoint &point) {
        ImplicitLocOpBuilder b(op.getLoc(), builder);
        Value keyHead = buildKeyHead(b, point.head, heads, keyHeads);
        Value query = buildScaledRowTile(b, form, grid, operands.query,
                                         point.batch, point.head, point.axes);
        Value ranges = buildRanges(b, grid, point.axes);
        SmallVector<Value> at =
            getValues(b, b.getLoc(), point.axes, &AxisTile::rowAt);
        grid.buildColumnLoop(
            b, b.getLoc(), point.axes, {},
            [&](OpBuilder &builder, const ColumnTile &tile,
                ValueRange) -> SmallVector<Value> {
              ImplicitLocOpBuilder b(op.getLoc(), builder);
              Value key = buildColumnTile(b, form, grid, operands.key,
                                          point.batch, keyHead, tile);
              Value scores = buildScores(b, form, key, query);
              if (operands.bias)
                scores = buildBias(b, form, grid, scores, operands.bias,
                                   point.head, point.axes, tile);
              TileScatterOp::create(b, scores, ranges, tile.positions,
                                    operands.scores, point.batch, point.head,
                                    at, window, grid.getRowTile(),
                                    grid.getColumnTile(), form.isColumnMajor());
              return {};
            });
      });
  noteSchedule(loop, op.getScheduleAttr());
  rewriter.eraseOp(op);
}

namespace {
/// Builds weighted sums: per tile of rows and of columns a product of dense
/// weights, [queries, keys], and of the values of the columns. Here both the
/// slots of a row and the channels of a value are contiguous as they lie in
/// memory.
class SumTiler {
public:
  template <typename OpTy>
  SumTiler(OpTy op, TileGrid::Rows rows)
      : operands(op), window(op.getWindow()), schedule(op.getScheduleAttr()),
        type(getSumType(operands.weights, operands.values)),
        form(schedule, type), grid(makeGrid(rows)),
        operandType(form.getOperandType(operands.values)),
        gatherType(elementOf(operands.weights)) {
    bool rounds = form.isGPU() && operands.narrowsWeights &&
                  gatherType.isF32() && operandType.getWidth() == 16;
    if (gatherType != operandType)
      gatherType = rounds ? operandType : type;
  }

  void run(Location loc, RewriterBase &rewriter);

private:
  TileGrid makeGrid(TileGrid::Rows rows) const {
    ArrayRef<int64_t> queryTile = schedule.getQueryTile();
    ArrayRef<int64_t> keyTile = schedule.getKeyTile();
    if (rows == TileGrid::Rows::Keys)
      std::swap(queryTile, keyTile);
    return TileGrid(window, queryTile, keyTile,
                    cast<TypedValue<MemRefType>>(operands.values), rows);
  }
  /// What has the heads of the rows.
  Value getRows() const {
    return grid.isInverse() ? operands.output : operands.weights;
  }
  /// Heads of queries that share one of the keys.
  int64_t getGroup() const {
    return grid.isInverse() ? getHeads(operands.values) / getHeads(getRows())
                            : getHeads(getRows()) / getHeads(operands.values);
  }
  void buildBody(ImplicitLocOpBuilder &b, const GridPoint &point);
  Value buildStep(ImplicitLocOpBuilder &b, const GridPoint &point,
                  const ColumnTile &tile, Value values, Value ranges,
                  Value sums);

  Sums operands;
  WindowAttr window;
  ScheduleAttr schedule;
  FloatType type;
  TileForm form;
  TileGrid grid;
  FloatType operandType, gatherType;
};
} // namespace

void SumTiler::run(Location loc, RewriterBase &rewriter) {
  int64_t channels = shapeOf(operands.values).back();
  if (form.isGPU() && isEmpty(operands.output))
    return;
  scf::ForallOp loop =
      grid.buildGrid(rewriter, loc, getHeads(getRows()),
                     {channels, form.getValueTile(channels)},
                     [&](OpBuilder &builder, const GridPoint &point) {
                       ImplicitLocOpBuilder b(loc, builder);
                       buildBody(b, point);
                     });
  noteSchedule(loop, schedule);
}

void SumTiler::buildBody(ImplicitLocOpBuilder &b, const GridPoint &point) {
  int64_t valueTile = form.getValueTile(shapeOf(operands.values).back());
  auto chunk = [&](Value whole) {
    return point.channel ? buildChannels(b, whole, point.channel, valueTile)
                         : whole;
  };
  Value ranges;
  if (!grid.isInverse())
    ranges = buildRanges(b, grid, point.axes);
  Value values = chunk(operands.values);
  Value zeros = buildFilled(b, {grid.getNumRows(), valueTile}, type, 0);
  Value output = grid.buildColumnLoop(
      b, b.getLoc(), point.axes, zeros,
      [&](OpBuilder &builder, const ColumnTile &tile,
          ValueRange state) -> SmallVector<Value> {
        ImplicitLocOpBuilder inner(b.getLoc(), builder);
        return {buildStep(inner, point, tile, values, ranges, state[0])};
      },
      /*rounds=*/grid.isInverse() ? getGroup() : 1)[0];
  TileStoreOp::create(b, buildScaled(b, output, operands.scale),
                      chunk(operands.output), point.batch, point.head,
                      getValues(b, b.getLoc(), point.axes, &AxisTile::rowAt),
                      grid.getRowTile(), window.getDilation(),
                      /*transposed=*/false);
}

/// `sums` and what a tile of columns adds.
Value SumTiler::buildStep(ImplicitLocOpBuilder &b, const GridPoint &point,
                          const ColumnTile &tile, Value values, Value ranges,
                          Value sums) {
  bool inverse = grid.isInverse();
  Location loc = b.getLoc();
  // Heads, positions and coordinates of the rows and columns.
  Value queryHead = point.head, valueHead = point.head;
  SmallVector<Value> rowAt = getValues(b, loc, point.axes, &AxisTile::rowAt);
  SmallVector<Value> rowPositions =
      getValues(b, loc, point.axes, &AxisTile::rowPos);
  ValueRange queryAt = rowAt, keyAt = tile.positions;
  ArrayRef<int64_t> queryBox = grid.getRowTile(), keyBox = grid.getColumnTile();
  SmallVector<int64_t> shape = {grid.getNumRows(), grid.getNumColumns()};
  if (inverse) {
    if (tile.round)
      queryHead = (IndexValue(b, loc, point.head) * getGroup() +
                   IndexValue(b, loc, tile.round))
                      .getValue();
    valueHead = queryHead;
    queryAt = tile.coordinates;
    keyAt = rowPositions;
    std::swap(queryBox, keyBox);
    std::swap(shape[0], shape[1]);
    Value init = buildEmpty(b, {2 * grid.getRank(), shape[0]}, b.getI32Type());
    ranges = TileWindowsOp::create(
                 b, init.getType(), window, tile.positions,
                 getValues(b, loc, point.axes, &AxisTile::size), init, queryBox,
                 /*inverse=*/false, /*heads=*/1)
                 .getResult();
  } else {
    valueHead = buildKeyHead(b, point.head, getHeads(getRows()),
                             getHeads(operands.values));
  }
  Value init = buildEmpty(b, shape, gatherType);
  Value weights =
      TileGatherOp::create(b, init.getType(), operands.weights, point.batch,
                           queryHead, queryAt, ranges, keyAt, init, window,
                           queryBox, keyBox, /*key_major=*/false)
          .getResult();
  Value column =
      buildColumnTile(b, form, grid, values, point.batch, valueHead, tile);
  weights = buildCast(b, weights, operandType);
  // Loops: row, channel, column.
  AffineMap rows = tileMap(b, 3, {0, 2});
  if (inverse)
    rows = tileMap(b, 3, {2, 0});
  return buildContract(b, weights, column, sums,
                       {rows, tileMap(b, 3, {2, 1}), tileMap(b, 3, {0, 1})});
}

template <typename OpTy>
static void tileSums(OpTy op, RewriterBase &rewriter) {
  bool inverse = std::is_same_v<OpTy, QKDKOp> || std::is_same_v<OpTy, AVDVOp>;
  SumTiler(op, inverse ? TileGrid::Rows::Keys : TileGrid::Rows::Queries)
      .run(op.getLoc(), rewriter);
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

/// Whether kernels of a GPU can transpose the weights: in shared memory, where
/// nagpu.gather leaves them in the type of the values.
static bool canTranspose(Value weights, Value values) {
  FloatType from = elementOf(weights), to = elementOf(values);
  return cast<MemRefType>(weights.getType()).isLastDimUnitStride() &&
         (from == to || (from.isF32() && to.getWidth() == 16));
}

namespace {
struct TileUnfused : mlir::na::impl::NATileUnfusedBase<TileUnfused> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<QKOp, AVOp, QKDQOp, QKDKOp, AVDWeightsOp, AVDVOp>(op))
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : ops) {
      rewriter.setInsertionPoint(op);
      LogicalResult done =
          TypeSwitch<Operation *, LogicalResult>(op)
              .Case([&](QKOp op) {
                return tile(op, op.getQuery(), op.getKey(), true, rewriter,
                            tileScores<QKOp>);
              })
              .Case([&](AVDWeightsOp op) {
                return tile(op, op.getOutputGrad(), op.getValue(), true,
                            rewriter, tileScores<AVDWeightsOp>);
              })
              .Case([&](AVOp op) {
                return tile(op, op.getWeights(), op.getValue(), false, rewriter,
                            tileSums<AVOp>);
              })
              .Case([&](QKDQOp op) {
                return tile(op, op.getScoresGrad(), op.getKey(), false,
                            rewriter, tileSums<QKDQOp>);
              })
              .Case([&](QKDKOp op) {
                return tileKeys(op, op.getScoresGrad(), op.getQuery(),
                                op.getKeyGrad(), rewriter);
              })
              .Case([&](AVDVOp op) {
                return tileKeys(op, op.getWeights(), op.getOutputGrad(),
                                op.getValueGrad(), rewriter);
              });
      if (failed(done))
        return signalPassFailure();
    }
  }

  /// Gradients of keys or values, from weights and what queries have.
  template <typename OpTy>
  LogicalResult tileKeys(OpTy op, Value weights, Value queries, Value keys,
                         RewriterBase &rewriter) {
    if (failed(checkTileable(op)))
      return failure();
    ScheduleAttr schedule = *op.getSchedule();
    if (schedule.isForGPU() && !schedule.isNaive() &&
        !canTranspose(weights, queries)) {
      op.emitRemark("weights are ")
          << weights.getType() << ", expected contiguous ones of f32 or of the "
          << "type that they are multiplied with, " << elementOf(queries)
          << ": left for the naive lowering";
      return success();
    }
    return tile(op, keys, queries, false, rewriter, tileSums<OpTy>);
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
