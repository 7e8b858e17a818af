//===- TileBuilders.h - Builders of tiles of na operands --------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_TRANSFORMS_TILEBUILDERS_H
#define NA_DIALECT_NA_TRANSFORMS_TILEBUILDERS_H

#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NA/Transforms/TileForm.h"
#include "na/Dialect/NA/Transforms/TileGrid.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::na {

/// The number of heads of `tokens` ([B, X.., H, D]), which is static.
int64_t getHeads(Value tokens);

/// The key head that query head `head` reads. Both numbers of heads are static
/// dimensions of the operands.
Value buildKeyHead(ImplicitLocOpBuilder &b, Value head, int64_t heads,
                   int64_t keyHeads);

/// A box of tokens of `source` ([B, X.., H, D], D static) as a tile
/// [lanes, D] of `type`, or [D, lanes] if `transposed`.
Value buildTileLoad(ImplicitLocOpBuilder &b, FloatType type, Value source,
                    Value batch, Value head, ValueRange at,
                    ArrayRef<int64_t> box, ArrayRef<int64_t> dilation,
                    bool transposed);

/// A box of tokens of `source` ([B, X.., H]), which has one number per token
/// and head, as a tile [lanes].
Value buildNumbersLoad(ImplicitLocOpBuilder &b, Value source, Value batch,
                       Value head, ValueRange at, ArrayRef<int64_t> box,
                       ArrayRef<int64_t> dilation);

/// `rows`, [B, X.., H, D] or [B, X.., H], as the row tiles of a grid are loaded
/// from and stored to it. Where these have several heads, heads are a further
/// axis of boxes: [B, X.., H, 1, D] or [B, X.., H, 1].
Value buildRowView(ImplicitLocOpBuilder &b, const TileGrid &grid, Value rows);

/// The row tile of `source`, which is a row view and an operand of a product:
/// [D, rows] in the CPU form, [rows, D] in the GPU form.
Value buildRowTile(ImplicitLocOpBuilder &b, const TileForm &form,
                   const TileGrid &grid, Value source, Value batch, Value head,
                   ArrayRef<AxisTile> axes);

/// The same as an operand of the logits: in the CPU form with the scale
/// applied, so that logits come out of the product whatever its sign.
Value buildScaledRowTile(ImplicitLocOpBuilder &b, const TileForm &form,
                         const TileGrid &grid, Value source, Value batch,
                         Value head, ArrayRef<AxisTile> axes);

/// The column tile of `source`, an operand of products: [columns, D].
Value buildColumnTile(ImplicitLocOpBuilder &b, const TileForm &form,
                      const TileGrid &grid, Value source, Value batch,
                      Value head, const ColumnTile &tile);

/// The products of a column tile [columns, D] and a row tile, in the shape of
/// scores.
Value buildProducts(ImplicitLocOpBuilder &b, const TileForm &form, Value column,
                    Value row);

/// The scores of a column tile and the row tile of `buildScaledRowTile`: logits
/// without the bias, except that their scale may still have to be applied in
/// the exponent.
Value buildScores(ImplicitLocOpBuilder &b, const TileForm &form, Value column,
                  Value row);

/// `accumulator` plus the sums over columns of `weights`, which have the shape
/// of scores, times a column tile [columns, channels].
Value buildWeightedSums(ImplicitLocOpBuilder &b, const TileForm &form,
                        Value weights, Value column, Value accumulator);

/// The sums over rows, `row` weighted by `weights` of row-major tiles, as
/// [channels, columns]: the transposed gradient of the columns.
Value buildColumnSums(ImplicitLocOpBuilder &b, const TileForm &form,
                      Value weights, Value row);

/// The column ranges of the rows of a tile, [2 * axes, rows].
Value buildRanges(ImplicitLocOpBuilder &b, const TileGrid &grid,
                  ArrayRef<AxisTile> axes);

/// Masks a tile of scores by the ranges of its rows.
Value buildMasked(ImplicitLocOpBuilder &b, const TileForm &form,
                  const TileGrid &grid, Value scores, Value ranges,
                  const ColumnTile &tile);

/// Adds the bias of query head `head` to a tile of logits.
Value buildBias(ImplicitLocOpBuilder &b, const TileForm &form,
                const TileGrid &grid, Value logits, Value bias, Value head,
                ArrayRef<AxisTile> axes, const ColumnTile &tile);

/// `tile` times `factor`.
Value buildScaled(ImplicitLocOpBuilder &b, Value tile, double factor);

/// Stores the tile of the rows at `axes`, [rows, D] or as `buildRowTile` holds
/// it, or a tile [rows], to a row view.
void buildRowStore(ImplicitLocOpBuilder &b, const TileForm &form,
                   const TileGrid &grid, Value tile, Value dest, Value batch,
                   Value head, ArrayRef<AxisTile> axes);

using TileFunction = function_ref<Value(ImplicitLocOpBuilder &, Value)>;

/// The tile that `then` builds, where `condition` holds, or that of
/// `otherwise`.
Value buildChoice(ImplicitLocOpBuilder &b, Value condition,
                  function_ref<Value(ImplicitLocOpBuilder &)> then,
                  function_ref<Value(ImplicitLocOpBuilder &)> otherwise);

/// `scores`, -inf in columns whose `token` is not less than `count`.
Value buildExisting(ImplicitLocOpBuilder &b, const TileForm &form, Value scores,
                    function_ref<Value(ImplicitLocOpBuilder &, Value)> token,
                    Value count);

/// The tile of `source` at `tile`, or of `additional` where the loop has tiles
/// of additional keys too and this is one.
Value buildColumnTile(ImplicitLocOpBuilder &b, const TileForm &form,
                      const TileGrid &grid, Value source, Value additional,
                      Value batch, Value head, const ColumnTile &tile);

/// The scores of `tile`, masked: with the bias that `addBias` adds, if it is
/// not null and the tile is none of additional keys, and -inf for keys that a
/// row does not see or that there are not.
Value buildFinished(ImplicitLocOpBuilder &b, const TileForm &form,
                    const TileGrid &grid, Value scores, Value ranges,
                    const ColumnTile &tile, TileFunction addBias);

/// Builds the loop over tiles of the additional tokens of `source` ([B, T, H,
/// D]), which carries `state`. `body` gets a function that loads the tile of an
/// operand, and one that masks scores of columns past the last token, and
/// returns the new state.
SmallVector<Value> buildAdditionalLoop(
    ImplicitLocOpBuilder &b, const TileForm &form, const TileGrid &grid,
    Value source, Value batch, Value head, ValueRange state,
    function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, ValueRange state,
                                    TileFunction load, TileFunction mask)>
        body);

/// Whether `whole` is known to hold nothing, so that there is nothing to tile.
bool isEmpty(Value whole);

/// Channels [first, first + count) of `whole`, which is not empty.
Value buildChannels(ImplicitLocOpBuilder &b, Value whole, OpFoldResult first,
                    int64_t count);

/// A tile in the type of the operands of a product.
Value buildCast(ImplicitLocOpBuilder &b, Value tile, FloatType type);

} // namespace mlir::na

#endif // NA_DIALECT_NA_TRANSFORMS_TILEBUILDERS_H
