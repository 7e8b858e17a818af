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

using namespace mlir;
using namespace mlir::na;

namespace {

/// Builds the tiled program of one operation: rows are keys, columns the
/// queries that see them, of one query head of the group after the other.
class AttentionDKVTiler {
public:
  explicit AttentionDKVTiler(AttentionDKVOp op)
      : op(op), program(TileGrid(op.getWindow(), op.getSchedule()->getKeyTile(),
                                 op.getSchedule()->getQueryTile(),
                                 cast<TypedValue<MemRefType>>(op.getKey()),
                                 TileGrid::Rows::Keys),
                        *op.getSchedule()),
        rows(program.getRows()),
        form(*op.getSchedule(), op.getAccumulatorType(), *op.getScaleValue(),
             /*softmax=*/!op.getBias()),
        gradient(form, rows) {}

  void run(RewriterBase &rewriter);

private:
  struct Sums {
    Value key, value;
    SmallVector<Value> getValues() const { return {key, value}; }
  };

  void buildBody(ImplicitLocOpBuilder &b, const TileProgram::Point &at);
  Sums buildStep(ImplicitLocOpBuilder &b, Value scores, Value value,
                 Value query, Value outputGrad,
                 const TileGradient::Statistics &statistics, Sums sums);
  Value buildZeros(ImplicitLocOpBuilder &b, Value whole) const {
    int64_t channels = cast<MemRefType>(whole.getType()).getShape().back();
    return buildFilled(b, form.getShape(rows.getNumRows(), channels),
                       form.getAccumulator(), 0);
  }

  AttentionDKVOp op;
  TileProgram program;
  const TileGrid &rows;
  TileForm form;
  TileGradient gradient;
};

} // namespace

void AttentionDKVTiler::run(RewriterBase &rewriter) {
  if (form.isGPU() && isEmpty(op.getKeyGrad()) && isEmpty(op.getValueGrad()))
    return rewriter.eraseOp(op);
  program.build(rewriter, op.getLoc(), getHeads(op.getKey()), {},
                [&](ImplicitLocOpBuilder &b, const TileProgram::Point &at) {
                  buildBody(b, at);
                });
  rewriter.eraseOp(op);
}

void AttentionDKVTiler::buildBody(ImplicitLocOpBuilder &b,
                                  const TileProgram::Point &at) {
  int64_t group = getHeads(op.getQuery()) / getHeads(op.getKey());
  Value key = buildScaledRowTile(b, form, rows, op.getKey(), at.batch, at.head,
                                 at.axes);
  Value value =
      buildRowTile(b, form, rows, op.getValue(), at.batch, at.head, at.axes);
  Value ranges = program.buildRanges(b, at);

  Sums initial{buildZeros(b, op.getKey()), buildZeros(b, op.getValue())};
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
        Value query = load(op.getQuery()),
              outputGrad = load(op.getOutputGrad());
        TileGradient::Statistics statistics = gradient.buildStatistics(
            b, op.getLse(), op.getDelta(), at.batch, head, tile.coordinates,
            rows.getColumnTile(), op.getWindow().getDilation());
        Value scores = buildScores(b, form, query, key);
        if (op.getBias())
          scores = buildBias(b, form, rows, scores, op.getBias(), head, at.axes,
                             tile);
        scores = buildMasked(b, form, rows, scores, ranges, tile);
        return buildStep(b, scores, value, query, outputGrad, statistics,
                         {state[0], state[1]})
            .getValues();
      },
      /*rounds=*/group);
  auto store = [&](Value tile, Value dest) {
    buildRowStore(b, form, rows, tile, dest, at.batch, at.head, at.axes);
  };
  store(buildScaled(b, sums[0], form.getScale()), op.getKeyGrad());
  store(sums[1], op.getValueGrad());
}

/// Adds what one tile of queries contributes.
AttentionDKVTiler::Sums AttentionDKVTiler::buildStep(
    ImplicitLocOpBuilder &b, Value scores, Value value, Value query,
    Value outputGrad, const TileGradient::Statistics &statistics, Sums sums) {
  if (form.isGPU()) {
    Value weights = gradient.buildWeights(b, scores, statistics);
    sums.value = buildWeightedSums(b, form, weights, outputGrad, sums.value);
    Value products = buildProducts(b, form, outputGrad, value);
    Value logitGrad = gradient.buildLogitGrad(b, weights, products, statistics);
    sums.key = buildWeightedSums(b, form, logitGrad, query, sums.key);
    return sums;
  }
  Value products = buildProducts(b, form, outputGrad, value);
  auto [weights, logitGrad] = gradient.buildInOnePass(
      b, scores, products, statistics, /*weights=*/true);
  return {buildWeightedSums(b, form, logitGrad, query, sums.key),
          buildWeightedSums(b, form, weights, outputGrad, sums.value)};
}

void mlir::na::tileAttentionDKV(AttentionDKVOp op, RewriterBase &rewriter) {
  AttentionDKVTiler(op).run(rewriter);
}
