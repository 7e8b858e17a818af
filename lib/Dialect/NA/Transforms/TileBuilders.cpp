//===- TileBuilders.cpp - Builders of tiles of na operands ----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/Transforms/TileBuilders.h"

#include "na/Dialect/NA/Transforms/TileLinalg.h"

using namespace mlir;
using namespace mlir::na;

Value mlir::na::buildKeyHead(ImplicitLocOpBuilder &b, Value head, int64_t heads,
                             int64_t keyHeads) {
  return floorDiv(IndexValue(b, b.getLoc(), head, /*nonNegative=*/true),
                  heads / keyHeads)
      .getValue();
}

Value mlir::na::buildTileLoad(ImplicitLocOpBuilder &b, FloatType type,
                              Value source, Value batch, Value head,
                              ValueRange at, ArrayRef<int64_t> box,
                              ArrayRef<int64_t> dilation, bool transposed) {
  int64_t channels = cast<MemRefType>(source.getType()).getShape().back();
  int64_t lanes = llvm::product_of(box);
  Value init = transposed ? buildEmpty(b, {channels, lanes}, type)
                          : buildEmpty(b, {lanes, channels}, type);
  return TileLoadOp::create(b, init.getType(), source, batch, head, at, init,
                            box, dilation, transposed)
      .getResult();
}

Value mlir::na::buildScaledQuery(ImplicitLocOpBuilder &b, FloatType type,
                                 const TileGrid &grid, Value query, Value batch,
                                 Value head, ArrayRef<AxisTile> axes,
                                 double scale) {
  Value tile =
      buildTileLoad(b, type, query, batch, head,
                    getValues(b, b.getLoc(), axes, &AxisTile::queryAt),
                    grid.getQueryTile(), grid.getWindow().getDilation(),
                    /*transposed=*/true);
  if (scale == 1.0)
    return tile;
  return buildGeneric(
      b, {}, {tile}, {tileMap(b, 2, {0, 1})}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        return {arith::MulFOp::create(b, args[0], buildFloat(b, type, scale))};
      })[0];
}

Value mlir::na::buildLogits(ImplicitLocOpBuilder &b, Value key, Value query) {
  auto keyType = cast<RankedTensorType>(key.getType());
  auto queryType = cast<RankedTensorType>(query.getType());
  Value zeros = buildFilled(b, {keyType.getDimSize(0), queryType.getDimSize(1)},
                            keyType.getElementType(), 0);
  // Loops: key, query, channel.
  return buildContract(
      b, key, query, zeros,
      {tileMap(b, 3, {0, 2}), tileMap(b, 3, {2, 1}), tileMap(b, 3, {0, 1})});
}

Value mlir::na::buildKeyRanges(ImplicitLocOpBuilder &b, const TileGrid &grid,
                               ArrayRef<AxisTile> axes) {
  Value init =
      buildEmpty(b, {2 * grid.getRank(), grid.getNumQueries()}, b.getI32Type());
  return TileWindowsOp::create(
             b, init.getType(), grid.getWindow(),
             getValues(b, b.getLoc(), axes, &AxisTile::queryPos),
             getValues(b, b.getLoc(), axes, &AxisTile::size), init,
             grid.getQueryTile())
      .getResult();
}

Value mlir::na::buildBias(ImplicitLocOpBuilder &b, const TileGrid &grid,
                          Value logits, Value bias, Value head,
                          ArrayRef<AxisTile> axes, const KeyTile &tile) {
  return TileBiasOp::create(
             b, logits.getType(), logits, bias, head, grid.getWindow(),
             getValues(b, b.getLoc(), axes, &AxisTile::queryPos),
             tile.positions, grid.getQueryTile(), grid.getKeyTile(),
             /*key_major=*/true)
      .getResult();
}
