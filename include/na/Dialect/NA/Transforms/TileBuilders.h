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

/// The query tile: [D, queries] in the CPU form, with the scale applied so that
/// logits come out of the product whatever its sign; [queries, D] as it is in
/// the GPU form.
Value buildQueryTile(ImplicitLocOpBuilder &b, const TileForm &form,
                     const TileGrid &grid, Value query, Value batch, Value head,
                     ArrayRef<AxisTile> axes);

/// The scores of a tile of keys [keys, D] and a query tile: logits without the
/// bias, except that their scale may still have to be applied in the exponent.
Value buildScores(ImplicitLocOpBuilder &b, const TileForm &form, Value key,
                  Value query);

/// The key ranges of the queries of a tile, [2 * axes, queries].
Value buildRanges(ImplicitLocOpBuilder &b, const TileGrid &grid,
                  ArrayRef<AxisTile> axes);

/// Adds the bias of `head` to a tile of logits.
Value buildBias(ImplicitLocOpBuilder &b, const TileForm &form,
                const TileGrid &grid, Value logits, Value bias, Value head,
                ArrayRef<AxisTile> axes, const ColumnTile &tile);

/// Whether `whole` is known to hold nothing, so that there is nothing to tile.
bool isEmpty(Value whole);

/// Channels [first, first + count) of `whole`, which is not empty.
Value buildChannels(ImplicitLocOpBuilder &b, Value whole, OpFoldResult first,
                    int64_t count);

/// A tile in the type of the operands of a product.
Value buildCast(ImplicitLocOpBuilder &b, Value tile, FloatType type);

} // namespace mlir::na

#endif // NA_DIALECT_NA_TRANSFORMS_TILEBUILDERS_H
