//===- TileAttentionDKV.cpp - Tile the gradients of keys and values -------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/Transforms/TileAttention.h"

#include "na/Dialect/NA/Transforms/TileBuilders.h"
#include "na/Dialect/NA/Transforms/TileGradient.h"
#include "na/Dialect/NA/Transforms/TileLinalg.h"
#include "na/Dialect/NA/Transforms/TileProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::na;

namespace {

/// The operands of an operation whose rows are keys.
struct KeyGradients {
  explicit KeyGradients(AttentionDKVOp op)
      : KeyGradients(op, op.getBias(), /*querySums=*/Value()) {}
  KeyGradients(AttentionDQKVOp op, Value querySums)
      : KeyGradients(op, /*bias=*/Value(), querySums) {}

  Value query, key, value, outputGrad, lse, delta, bias;
  /// One of them may be null.
  Value keyGrad, valueGrad;
  /// What tiles add the gradient of the queries to, without the scale; null if
  /// they do not.
  Value querySums;
  WindowAttr window;
  ScheduleAttr schedule;
  FloatType accumulator;
  double scale;

private:
  template <typename OpTy>
  KeyGradients(OpTy op, Value bias, Value querySums)
      : query(op.getQuery()), key(op.getKey()), value(op.getValue()),
        outputGrad(op.getOutputGrad()), lse(op.getLse()), delta(op.getDelta()),
        bias(bias), keyGrad(op.getKeyGrad()), valueGrad(op.getValueGrad()),
        querySums(querySums), window(op.getWindow()),
        schedule(*op.getSchedule()), accumulator(op.getAccumulatorType()),
        scale(*op.getScaleValue()) {}
};

/// Builds the tiled program of one operation: rows are keys, columns the
/// queries that see them, of one query head of the group after the other.
class AttentionDKVTiler {
public:
  explicit AttentionDKVTiler(const KeyGradients &op)
      : op(op), program(TileGrid(op.window, op.schedule.getKeyTile(),
                                 op.schedule.getQueryTile(),
                                 cast<TypedValue<MemRefType>>(op.key),
                                 TileGrid::Rows::Keys),
                        op.schedule),
        rows(program.getRows()), form(op.schedule, op.accumulator, op.scale,
                                      /*softmax=*/!op.bias),
        gradient(form, rows) {}

  void run(RewriterBase &rewriter, Location loc);

private:
  /// Null where there is no such gradient.
  struct Sums {
    Value key, value;
    SmallVector<Value> getValues() const {
      SmallVector<Value> values;
      for (Value sum : {key, value})
        if (sum)
          values.push_back(sum);
      return values;
    }
  };
  Sums getSums(ValueRange state) const {
    return {op.keyGrad ? state.front() : Value(),
            op.valueGrad ? state.back() : Value()};
  }
  /// What the rows have for all columns. The values are for the gradient of the
  /// keys only.
  struct RowTiles {
    Value key, value;
  };
  /// What a tile of columns has.
  struct ColumnTiles {
    Value query, outputGrad;
    TileGradient::Statistics statistics;
  };

  void buildBody(ImplicitLocOpBuilder &b, const TileProgram::Point &at);
  Sums buildStep(ImplicitLocOpBuilder &b, Value scores, const RowTiles &tiles,
                 const ColumnTiles &columns, Sums sums,
                 function_ref<void(ImplicitLocOpBuilder &, Value)> addQueries);
  Value buildZeros(ImplicitLocOpBuilder &b, Value whole) const {
    int64_t channels = cast<MemRefType>(whole.getType()).getShape().back();
    return buildFilled(b, form.getShape(rows.getNumRows(), channels),
                       form.getAccumulator(), 0);
  }

  const KeyGradients &op;
  TileProgram program;
  const TileGrid &rows;
  TileForm form;
  TileGradient gradient;
};

} // namespace

void AttentionDKVTiler::run(RewriterBase &rewriter, Location loc) {
  program.build(rewriter, loc, getHeads(op.key), {},
                [&](ImplicitLocOpBuilder &b, const TileProgram::Point &at) {
                  buildBody(b, at);
                });
}

void AttentionDKVTiler::buildBody(ImplicitLocOpBuilder &b,
                                  const TileProgram::Point &at) {
  int64_t group = getHeads(op.query) / getHeads(op.key);
  RowTiles tiles{
      buildScaledRowTile(b, form, rows, op.key, at.batch, at.head, at.axes),
      Value()};
  if (op.keyGrad)
    tiles.value =
        buildRowTile(b, form, rows, op.value, at.batch, at.head, at.axes);
  Value ranges = program.buildRanges(b, at);

  Sums initial{op.keyGrad ? buildZeros(b, op.key) : Value(),
               op.valueGrad ? buildZeros(b, op.value) : Value()};
  SmallVector<Value> sums = program.buildColumnLoop(
      b, at, initial.getValues(),
      [&](ImplicitLocOpBuilder &b, const ColumnTile &tile,
          ValueRange state) -> SmallVector<Value> {
        Value head = at.head;
        if (tile.round)
          head = (IndexValue(b, b.getLoc(), at.head) * group +
                  IndexValue(b, b.getLoc(), tile.round))
                     .getValue();
        auto load = [&](Value source) {
          return buildColumnTile(b, form, rows, source, at.batch, head, tile);
        };
        ColumnTiles columns{load(op.query), load(op.outputGrad), {}};
        columns.statistics = gradient.buildStatistics(
            b, op.lse, op.keyGrad ? op.delta : Value(), at.batch, head,
            tile.coordinates, rows.getColumnTile(), op.window.getDilation());
        Value scores = buildScores(b, form, columns.query, tiles.key);
        if (op.bias)
          scores =
              buildBias(b, form, rows, scores, op.bias, head, at.axes, tile);
        scores = buildMasked(b, form, rows, scores, ranges, tile);
        auto addQueries = [&](ImplicitLocOpBuilder &b, Value sums) {
          TileAddOp::create(b, sums, op.querySums, at.batch, head,
                            tile.coordinates, rows.getColumnTile(),
                            op.window.getDilation(), /*transposed=*/true);
        };
        return buildStep(b, scores, tiles, columns, getSums(state), addQueries)
            .getValues();
      },
      /*rounds=*/group);
  auto store = [&](Value tile, Value dest) {
    buildRowStore(b, form, rows, tile, dest, at.batch, at.head, at.axes);
  };
  auto [keySums, valueSums] = getSums(sums);
  if (keySums)
    store(buildScaled(b, keySums, form.getScale()), op.keyGrad);
  if (valueSums)
    store(valueSums, op.valueGrad);
}

/// Adds what one tile of queries contributes.
AttentionDKVTiler::Sums AttentionDKVTiler::buildStep(
    ImplicitLocOpBuilder &b, Value scores, const RowTiles &tiles,
    const ColumnTiles &columns, Sums sums,
    function_ref<void(ImplicitLocOpBuilder &, Value)> addQueries) {
  const TileGradient::Statistics &statistics = columns.statistics;
  if (form.isGPU() || !sums.key) {
    Value weights = gradient.buildWeights(b, scores, statistics);
    if (sums.value)
      sums.value =
          buildWeightedSums(b, form, weights, columns.outputGrad, sums.value);
    if (!sums.key)
      return sums;
    Value products = buildProducts(b, form, columns.outputGrad, tiles.value);
    Value logitGrad = gradient.buildLogitGrad(b, weights, products, statistics);
    if (!op.querySums) {
      sums.key = buildWeightedSums(b, form, logitGrad, columns.query, sums.key);
      return sums;
    }
    // Both products take it in one rounding.
    Value narrow = buildCast(b, logitGrad,
                             cast<FloatType>(getElementTypeOrSelf(tiles.key)));
    sums.key = buildWeightedSums(b, form, narrow, columns.query, sums.key);
    addQueries(b, buildColumnSums(b, form, narrow, tiles.key));
    return sums;
  }
  Value products = buildProducts(b, form, columns.outputGrad, tiles.value);
  auto [weights, logitGrad] = gradient.buildInOnePass(
      b, scores, products, statistics, /*weights=*/bool(sums.value));
  sums.key = buildWeightedSums(b, form, logitGrad, columns.query, sums.key);
  if (sums.value)
    sums.value =
        buildWeightedSums(b, form, weights, columns.outputGrad, sums.value);
  return sums;
}

void mlir::na::tileAttentionDKV(AttentionDKVOp op, RewriterBase &rewriter) {
  auto isNothing = [](Value grad) { return !grad || isEmpty(grad); };
  bool nothing = op.getSchedule()->isForGPU() && isNothing(op.getKeyGrad()) &&
                 isNothing(op.getValueGrad());
  if (!nothing) {
    KeyGradients operands(op);
    AttentionDKVTiler(operands).run(rewriter, op.getLoc());
  }
  rewriter.eraseOp(op);
}

void mlir::na::tileAttentionDQKV(AttentionDQKVOp op, RewriterBase &rewriter) {
  if (isEmpty(op.getQueryGrad()))
    return rewriter.eraseOp(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  FloatType type = op.getAccumulatorType();
  SmallVector<Value> dynamic;
  auto query = cast<MemRefType>(op.getQuery().getType());
  for (int64_t dim = 0; dim < query.getRank(); ++dim)
    if (query.isDynamicDim(dim))
      dynamic.push_back(memref::DimOp::create(b, op.getQuery(), dim));
  Value sums = memref::AllocOp::create(
      b, MemRefType::get(query.getShape(), type), dynamic);
  linalg::FillOp::create(b, buildFloat(b, type, 0), sums);
  KeyGradients operands(op, sums);
  AttentionDKVTiler(operands).run(rewriter, op.getLoc());
  b.setInsertionPoint(op);
  AffineMap all = b.getMultiDimIdentityMap(query.getRank());
  SmallVector<utils::IteratorType> loops(query.getRank(),
                                         utils::IteratorType::parallel);
  linalg::GenericOp::create(
      b, sums, op.getQueryGrad(), ArrayRef<AffineMap>{all, all}, loops,
      [&](OpBuilder &builder, Location loc, ValueRange args) {
        ImplicitLocOpBuilder b(loc, builder);
        Value scaled = arith::MulFOp::create(
            b, args[0], buildFloat(b, type, *op.getScaleValue()));
        if (args[1].getType() != type)
          scaled = arith::TruncFOp::create(b, args[1].getType(), scaled);
        linalg::YieldOp::create(b, scaled);
      });
  memref::DeallocOp::create(b, sums);
  rewriter.eraseOp(op);
}
