//===- TileAttentionDQ.cpp - Tile the gradient of the queries -------------===//
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

using namespace mlir;
using namespace mlir::na;

namespace {

/// Builds the tiled program of one operation: rows are queries, columns keys.
class AttentionDQTiler {
public:
  explicit AttentionDQTiler(AttentionDQOp op)
      : op(op),
        program(TileGrid(op.getWindow(), op.getSchedule()->getQueryTile(),
                         op.getSchedule()->getKeyTile(),
                         cast<TypedValue<MemRefType>>(op.getQuery())),
                *op.getSchedule()),
        rows(program.getRows()),
        form(*op.getSchedule(), op.getAccumulatorType(), *op.getScaleValue(),
             /*softmax=*/!op.getBias()),
        gradient(form, rows) {}

  void run(RewriterBase &rewriter);

private:
  /// What the rows have for all columns.
  struct RowTiles {
    Value query, outputGrad;
    TileGradient::Statistics statistics;
  };

  void buildBody(ImplicitLocOpBuilder &b, const TileProgram::Point &at);
  Value buildStep(ImplicitLocOpBuilder &b, const RowTiles &tiles, Value key,
                  Value scores, Value value, Value accumulator);

  AttentionDQOp op;
  TileProgram program;
  const TileGrid &rows;
  TileForm form;
  TileGradient gradient;
};

} // namespace

void AttentionDQTiler::run(RewriterBase &rewriter) {
  if (form.isGPU() && isEmpty(op.getQueryGrad()))
    return rewriter.eraseOp(op);
  program.build(rewriter, op.getLoc(), getHeads(op.getQuery()), {},
                [&](ImplicitLocOpBuilder &b, const TileProgram::Point &at) {
                  buildBody(b, at);
                });
  rewriter.eraseOp(op);
}

void AttentionDQTiler::buildBody(ImplicitLocOpBuilder &b,
                                 const TileProgram::Point &at) {
  Value keyHead =
      buildKeyHead(b, at.head, getHeads(op.getQuery()), getHeads(op.getKey()));
  RowTiles tiles;
  tiles.query = buildScaledRowTile(b, form, rows, op.getQuery(), at.batch,
                                   at.head, at.axes);
  tiles.outputGrad = buildRowTile(b, form, rows, op.getOutputGrad(), at.batch,
                                  at.head, at.axes);
  tiles.statistics = gradient.buildStatistics(
      b, op.getLse(), op.getDelta(), at.batch, at.head,
      getValues(b, b.getLoc(), at.axes, &AxisTile::rowAt), rows.getRowTile(),
      op.getWindow().getDilation());
  Value ranges = program.buildRanges(b, at);

  int64_t channels =
      cast<MemRefType>(op.getQuery().getType()).getShape().back();
  Value zeros = buildFilled(b, form.getShape(rows.getNumRows(), channels),
                            form.getAccumulator(), 0);
  Value sums = program.buildColumnLoop(
      b, at, zeros,
      [&](ImplicitLocOpBuilder &b, const ColumnTile &tile,
          ValueRange state) -> SmallVector<Value> {
        auto load = [&](Value source, Value additional) {
          return buildColumnTile(b, form, rows, source, additional, at.batch,
                                 keyHead, tile);
        };
        auto addBias = [&](ImplicitLocOpBuilder &b, Value scores) {
          return buildBias(b, form, rows, scores, op.getBias(), at.head,
                           at.axes, tile);
        };
        Value key = load(op.getKey(), op.getAdditionalKey());
        Value scores = buildFinished(
            b, form, rows, buildScores(b, form, key, tiles.query), ranges, tile,
            op.getBias() ? TileFunction(addBias) : TileFunction());
        return {buildStep(b, tiles, key, scores,
                          load(op.getValue(), op.getAdditionalValue()),
                          state[0])};
      },
      /*rounds=*/1, op.getAdditionalKey())[0];
  // The additional keys, which every query sees.
  if (op.getAdditionalKey() && !at.warpgroup)
    sums = buildAdditionalLoop(
        b, form, rows, op.getAdditionalKey(), at.batch, keyHead, sums,
        [&](ImplicitLocOpBuilder &b, ValueRange state, TileFunction load,
            TileFunction mask) -> SmallVector<Value> {
          Value key = load(b, op.getAdditionalKey());
          Value scores = mask(b, buildScores(b, form, key, tiles.query));
          Value value = load(b, op.getAdditionalValue());
          return {buildStep(b, tiles, key, scores, value, state[0])};
        })[0];
  buildRowStore(b, form, rows, buildScaled(b, sums, form.getScale()),
                op.getQueryGrad(), at.batch, at.head, at.axes);
}

/// Adds what one tile of keys contributes.
Value AttentionDQTiler::buildStep(ImplicitLocOpBuilder &b,
                                  const RowTiles &tiles, Value key,
                                  Value scores, Value value,
                                  Value accumulator) {
  Value logitGrad;
  if (form.isGPU()) {
    Value weights = gradient.buildWeights(b, scores, tiles.statistics);
    Value products = buildProducts(b, form, value, tiles.outputGrad);
    logitGrad = gradient.buildLogitGrad(b, weights, products, tiles.statistics);
  } else {
    Value products = buildProducts(b, form, value, tiles.outputGrad);
    logitGrad = gradient
                    .buildInOnePass(b, scores, products, tiles.statistics,
                                    /*weights=*/false)
                    .logitGrad;
  }
  return buildWeightedSums(b, form, logitGrad, key, accumulator);
}

void mlir::na::tileAttentionDQ(AttentionDQOp op, RewriterBase &rewriter) {
  AttentionDQTiler(op).run(rewriter);
}
