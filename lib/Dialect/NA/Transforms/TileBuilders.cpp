//===- TileBuilders.cpp - Builders of tiles of na operands ----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/Transforms/TileBuilders.h"

#include "na/Dialect/NA/Transforms/TileLinalg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

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

/// `tile` times the scale.
static Value buildScaled(ImplicitLocOpBuilder &b, const TileForm &form,
                         Value tile) {
  if (form.getScale() == 1.0)
    return tile;
  return buildGeneric(
      b, {}, {tile}, {tileMap(b, 2, {0, 1})}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        return {arith::MulFOp::create(
            b, args[0], buildFloat(b, form.getAccumulator(), form.getScale()))};
      })[0];
}

Value mlir::na::buildQueryTile(ImplicitLocOpBuilder &b, const TileForm &form,
                               const TileGrid &grid, Value query, Value batch,
                               Value head, ArrayRef<AxisTile> axes) {
  Value tile = buildTileLoad(b, form.getOperandType(query), query, batch, head,
                             getValues(b, b.getLoc(), axes, &AxisTile::rowAt),
                             grid.getRowTile(), grid.getWindow().getDilation(),
                             /*transposed=*/form.isColumnMajor());
  if (form.getScaleAt() != TileForm::ScaleAt::Row)
    return tile;
  return buildScaled(b, form, tile);
}

Value mlir::na::buildScores(ImplicitLocOpBuilder &b, const TileForm &form,
                            Value key, Value query) {
  auto keyType = cast<RankedTensorType>(key.getType());
  auto queryType = cast<RankedTensorType>(query.getType());
  int64_t keys = keyType.getDimSize(0);
  int64_t queries = queryType.getDimSize(form.getRowDim());
  Value zeros =
      buildFilled(b, form.getShape(queries, keys), form.getAccumulator(), 0);
  // Loops: those of the scores, channel.
  AffineMap output = tileMap(b, 3, {0, 1});
  if (form.isColumnMajor())
    return buildContract(
        b, key, query, zeros,
        {tileMap(b, 3, {0, 2}), tileMap(b, 3, {2, 1}), output});
  Value scores =
      buildContract(b, query, key, zeros,
                    {tileMap(b, 3, {0, 2}), tileMap(b, 3, {1, 2}), output});
  if (form.getScaleAt() != TileForm::ScaleAt::Scores)
    return scores;
  return buildScaled(b, form, scores);
}

Value mlir::na::buildRanges(ImplicitLocOpBuilder &b, const TileGrid &grid,
                            ArrayRef<AxisTile> axes) {
  Value init =
      buildEmpty(b, {2 * grid.getRank(), grid.getNumRows()}, b.getI32Type());
  return TileWindowsOp::create(
             b, init.getType(), grid.getWindow(),
             getValues(b, b.getLoc(), axes, &AxisTile::rowPos),
             getValues(b, b.getLoc(), axes, &AxisTile::size), init,
             grid.getRowTile())
      .getResult();
}

Value mlir::na::buildBias(ImplicitLocOpBuilder &b, const TileForm &form,
                          const TileGrid &grid, Value logits, Value bias,
                          Value head, ArrayRef<AxisTile> axes,
                          const ColumnTile &tile) {
  return TileBiasOp::create(
             b, logits.getType(), logits, bias, head, grid.getWindow(),
             getValues(b, b.getLoc(), axes, &AxisTile::rowPos), tile.positions,
             grid.getRowTile(), grid.getColumnTile(), form.isColumnMajor())
      .getResult();
}

bool mlir::na::isEmpty(Value whole) {
  return llvm::is_contained(cast<MemRefType>(whole.getType()).getShape(), 0);
}

Value mlir::na::buildChannels(ImplicitLocOpBuilder &b, Value whole,
                              OpFoldResult first, int64_t count) {
  SmallVector<OpFoldResult> sizes = memref::getMixedSizes(b, b.getLoc(), whole);
  SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(sizes.size(), b.getIndexAttr(1));
  offsets.back() = first;
  sizes.back() = b.getIndexAttr(count);
  return memref::SubViewOp::create(b, whole, offsets, sizes, strides);
}

Value mlir::na::buildCast(ImplicitLocOpBuilder &b, Value tile, FloatType type) {
  auto tileType = cast<RankedTensorType>(tile.getType());
  auto from = cast<FloatType>(tileType.getElementType());
  if (from == type)
    return tile;
  AffineMap map = b.getMultiDimIdentityMap(tileType.getRank());
  return buildGeneric(
      b, {tile}, {buildEmpty(b, tileType.getShape(), type)}, {map, map}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        if (from.getWidth() < type.getWidth())
          return {arith::ExtFOp::create(b, type, args[0])};
        return {arith::TruncFOp::create(b, type, args[0])};
      })[0];
}
