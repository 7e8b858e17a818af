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
  Value tile =
      buildTileLoad(b, form.getOperandType(query), query, batch, head,
                    getValues(b, b.getLoc(), axes, &AxisTile::queryAt),
                    grid.getQueryTile(), grid.getWindow().getDilation(),
                    /*transposed=*/form.isKeyMajor());
  if (form.getScaleAt() != TileForm::ScaleAt::Query)
    return tile;
  return buildScaled(b, form, tile);
}

Value mlir::na::buildScores(ImplicitLocOpBuilder &b, const TileForm &form,
                            Value key, Value query) {
  auto keyType = cast<RankedTensorType>(key.getType());
  auto queryType = cast<RankedTensorType>(query.getType());
  int64_t keys = keyType.getDimSize(0);
  int64_t queries = queryType.getDimSize(form.getQueryDim());
  Value zeros =
      buildFilled(b, form.getShape(queries, keys), form.getAccumulator(), 0);
  // Loops: those of the scores, channel.
  AffineMap output = tileMap(b, 3, {0, 1});
  if (form.isKeyMajor())
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

Value mlir::na::buildBias(ImplicitLocOpBuilder &b, const TileForm &form,
                          const TileGrid &grid, Value logits, Value bias,
                          Value head, ArrayRef<AxisTile> axes,
                          const KeyTile &tile) {
  return TileBiasOp::create(b, logits.getType(), logits, bias, head,
                            grid.getWindow(),
                            getValues(b, b.getLoc(), axes, &AxisTile::queryPos),
                            tile.positions, grid.getQueryTile(),
                            grid.getKeyTile(), form.isKeyMajor())
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
