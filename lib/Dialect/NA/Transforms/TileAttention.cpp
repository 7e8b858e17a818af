//===- TileAttention.cpp - Tile na.attention, the softmax fused in --------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/Transforms/TileAttention.h"

#include "na/Dialect/NA/Transforms/TileBuilders.h"
#include "na/Dialect/NA/Transforms/TileProgram.h"
#include "na/Dialect/NA/Transforms/TileSoftmax.h"

using namespace mlir;
using namespace mlir::na;

namespace {

/// Builds the tiled program of one operation: rows are queries, columns keys.
class AttentionTiler {
public:
  explicit AttentionTiler(AttentionOp op)
      : op(op),
        program(TileGrid(op.getWindow(), op.getSchedule()->getQueryTile(),
                         op.getSchedule()->getKeyTile(),
                         cast<TypedValue<MemRefType>>(op.getQuery()),
                         TileGrid::Rows::Queries,
                         op.getSchedule()->getHeadsPerTile()),
                *op.getSchedule()),
        rows(program.getRows()),
        form(*op.getSchedule(), op.getAccumulatorType(), *op.getScaleValue(),
             /*softmax=*/!op.getBias()),
        valueDim(cast<MemRefType>(op.getValue().getType()).getShape().back()),
        valueTile(form.getValueTile(valueDim)),
        softmax(form, rows.getNumRows(), valueTile) {}

  void run(RewriterBase &rewriter);

private:
  void buildBody(ImplicitLocOpBuilder &b, const TileProgram::Point &at);
  SoftmaxState buildAdditionalKeys(ImplicitLocOpBuilder &b, const GridPoint &at,
                                   Value keyHead, Value queries,
                                   SoftmaxState state);
  void buildResults(ImplicitLocOpBuilder &b, const GridPoint &at,
                    const SoftmaxState &state);
  /// The channels of `whole` that the iteration works on.
  Value buildChunk(ImplicitLocOpBuilder &b, const GridPoint &at, Value whole) {
    return at.channel ? buildChannels(b, whole, at.channel, valueTile) : whole;
  }

  AttentionOp op;
  TileProgram program;
  /// The grid of the queries that share a softmax.
  const TileGrid &rows;
  TileForm form;
  int64_t valueDim, valueTile;
  TileSoftmax softmax;
  /// Row views of the operands.
  Value query, output, lse;
};

} // namespace

void AttentionTiler::run(RewriterBase &rewriter) {
  if (form.isGPU() && isEmpty(op.getOutput()))
    return rewriter.eraseOp(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  query = buildRowView(b, rows, op.getQuery());
  output = buildRowView(b, rows, op.getOutput());
  if (op.getLse())
    lse = buildRowView(b, rows, op.getLse());
  program.build(rewriter, op.getLoc(), getHeads(op.getQuery()),
                {valueDim, valueTile},
                [&](ImplicitLocOpBuilder &b, const TileProgram::Point &at) {
                  buildBody(b, at);
                });
  rewriter.eraseOp(op);
}

void AttentionTiler::buildBody(ImplicitLocOpBuilder &b,
                               const TileProgram::Point &at) {
  Value keyHead =
      buildKeyHead(b, at.head, getHeads(op.getQuery()), getHeads(op.getKey()));
  Value queries =
      buildScaledRowTile(b, form, rows, query, at.batch, at.head, at.axes);
  Value ranges = program.buildRanges(b, at);
  Value allValues = buildChunk(b, at, op.getValue()), additionalValues;
  if (op.getAdditionalValue() && at.warpgroup)
    additionalValues = buildChunk(b, at, op.getAdditionalValue());
  SmallVector<Value> final = program.buildColumnLoop(
      b, at, softmax.buildInitial(b).getValues(),
      [&](ImplicitLocOpBuilder &b, const ColumnTile &tile, ValueRange state) {
        auto load = [&](Value source, Value additional) {
          return buildColumnTile(b, form, rows, source, additional, at.batch,
                                 keyHead, tile);
        };
        auto addBias = [&](ImplicitLocOpBuilder &b, Value scores) {
          return buildBias(b, form, rows, scores, op.getBias(), at.head,
                           at.axes, tile);
        };
        Value scores = buildScores(
            b, form, load(op.getKey(), op.getAdditionalKey()), queries);
        scores = buildFinished(b, form, rows, scores, ranges, tile,
                               op.getBias() ? TileFunction(addBias)
                                            : TileFunction());
        return softmax
            .buildStep(b, scores, load(allValues, additionalValues),
                       SoftmaxState::get(state))
            .getValues();
      },
      /*rounds=*/1, op.getAdditionalKey());
  SoftmaxState state = SoftmaxState::get(final);
  if (op.getAdditionalKey() && !at.warpgroup)
    state = buildAdditionalKeys(b, at, keyHead, queries, state);
  buildResults(b, at, state);
}

/// Goes on with the additional keys, which every query sees.
SoftmaxState AttentionTiler::buildAdditionalKeys(ImplicitLocOpBuilder &b,
                                                 const GridPoint &at,
                                                 Value keyHead, Value queries,
                                                 SoftmaxState state) {
  Value values = buildChunk(b, at, op.getAdditionalValue());
  return SoftmaxState::get(buildAdditionalLoop(
      b, form, rows, op.getAdditionalKey(), at.batch, keyHead,
      state.getValues(),
      [&](ImplicitLocOpBuilder &b, ValueRange state, TileFunction load,
          TileFunction mask) {
        Value key = load(b, op.getAdditionalKey());
        Value scores = mask(b, buildScores(b, form, key, queries));
        return softmax
            .buildStep(b, scores, load(b, values), SoftmaxState::get(state))
            .getValues();
      }));
}

/// Normalises the tile and stores it.
void AttentionTiler::buildResults(ImplicitLocOpBuilder &b, const GridPoint &at,
                                  const SoftmaxState &state) {
  auto store = [&](Value tile, Value dest) {
    buildRowStore(b, form, rows, tile, dest, at.batch, at.head, at.axes);
  };
  store(softmax.buildOutput(b, state), buildChunk(b, at, output));
  // Every chunk of channels stores the same.
  if (lse)
    store(softmax.buildLse(b, state), lse);
}

void mlir::na::tileAttention(AttentionOp op, RewriterBase &rewriter) {
  AttentionTiler(op).run(rewriter);
}
