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

#include <limits>

using namespace mlir;
using namespace mlir::na;

int64_t mlir::na::getHeads(Value tokens) {
  return cast<MemRefType>(tokens.getType()).getShape().drop_back().back();
}

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

Value mlir::na::buildNumbersLoad(ImplicitLocOpBuilder &b, Value source,
                                 Value batch, Value head, ValueRange at,
                                 ArrayRef<int64_t> box,
                                 ArrayRef<int64_t> dilation) {
  Value init = buildEmpty(b, {llvm::product_of(box)},
                          cast<MemRefType>(source.getType()).getElementType());
  return TileLoadOp::create(b, init.getType(), source, batch, head, at, init,
                            box, dilation, /*transposed=*/false)
      .getResult();
}

Value mlir::na::buildScaled(ImplicitLocOpBuilder &b, Value tile,
                            double factor) {
  if (factor == 1.0)
    return tile;
  auto type = cast<RankedTensorType>(tile.getType());
  return buildGeneric(
      b, {}, {tile}, {b.getMultiDimIdentityMap(type.getRank())}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        return {arith::MulFOp::create(
            b, args[0], buildFloat(b, type.getElementType(), factor))};
      })[0];
}

Value mlir::na::buildRowView(ImplicitLocOpBuilder &b, const TileGrid &grid,
                             Value rows) {
  if (grid.getHeadsPerTile() == 1)
    return rows;
  auto type = cast<MemRefType>(rows.getType());
  int64_t headDim = grid.getRank() + 1;
  SmallVector<ReassociationIndices> dims;
  SmallVector<OpFoldResult> sizes = memref::getMixedSizes(b, b.getLoc(), rows);
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    dims.push_back({dim + (dim > headDim)});
    if (dim == headDim)
      dims.back().push_back(dim + 1);
  }
  sizes.insert(sizes.begin() + headDim + 1, b.getIndexAttr(1));
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + headDim + 1, 1);
  return memref::ExpandShapeOp::create(b, shape, rows, dims, sizes);
}

namespace {
/// Where the rows of a tile are in a row view.
struct RowBox {
  Value head;
  SmallVector<Value> at;
  SmallVector<int64_t> box, dilation;
};
} // namespace

/// The tile of the rows at `axes`, of `head` and those behind it.
static RowBox getRowBox(ImplicitLocOpBuilder &b, const TileGrid &grid,
                        Value head, ArrayRef<AxisTile> axes) {
  RowBox rows{head, getValues(b, b.getLoc(), axes, &AxisTile::rowAt),
              SmallVector<int64_t>(grid.getRowTile()),
              SmallVector<int64_t>(grid.getWindow().getDilation())};
  if (grid.getHeadsPerTile() == 1)
    return rows;
  rows.at.push_back(head);
  rows.box.push_back(grid.getHeadsPerTile());
  rows.dilation.push_back(1);
  rows.head = arith::ConstantIndexOp::create(b, 0);
  return rows;
}

Value mlir::na::buildRowTile(ImplicitLocOpBuilder &b, const TileForm &form,
                             const TileGrid &grid, Value source, Value batch,
                             Value head, ArrayRef<AxisTile> axes) {
  RowBox rows = getRowBox(b, grid, head, axes);
  return buildTileLoad(b, form.getOperandType(source), source, batch, rows.head,
                       rows.at, rows.box, rows.dilation,
                       /*transposed=*/form.isColumnMajor());
}

Value mlir::na::buildScaledRowTile(ImplicitLocOpBuilder &b,
                                   const TileForm &form, const TileGrid &grid,
                                   Value source, Value batch, Value head,
                                   ArrayRef<AxisTile> axes) {
  Value tile = buildRowTile(b, form, grid, source, batch, head, axes);
  if (form.getScaleAt() != TileForm::ScaleAt::Row)
    return tile;
  return buildScaled(b, tile, form.getScale());
}

Value mlir::na::buildColumnTile(ImplicitLocOpBuilder &b, const TileForm &form,
                                const TileGrid &grid, Value source, Value batch,
                                Value head, const ColumnTile &tile) {
  return buildTileLoad(b, form.getOperandType(source), source, batch, head,
                       tile.coordinates, grid.getColumnTile(),
                       grid.getWindow().getDilation(), /*transposed=*/false);
}

Value mlir::na::buildProducts(ImplicitLocOpBuilder &b, const TileForm &form,
                              Value column, Value row) {
  int64_t columns = cast<RankedTensorType>(column.getType()).getDimSize(0);
  int64_t rows =
      cast<RankedTensorType>(row.getType()).getDimSize(form.getRowDim());
  Value zeros =
      buildFilled(b, form.getShape(rows, columns), form.getAccumulator(), 0);
  // Loops: those of the scores, channel.
  AffineMap output = tileMap(b, 3, {0, 1});
  if (form.isColumnMajor())
    return buildContract(
        b, column, row, zeros,
        {tileMap(b, 3, {0, 2}), tileMap(b, 3, {2, 1}), output});
  return buildContract(b, row, column, zeros,
                       {tileMap(b, 3, {0, 2}), tileMap(b, 3, {1, 2}), output});
}

Value mlir::na::buildScores(ImplicitLocOpBuilder &b, const TileForm &form,
                            Value column, Value row) {
  Value scores = buildProducts(b, form, column, row);
  if (form.getScaleAt() != TileForm::ScaleAt::Scores)
    return scores;
  return buildScaled(b, scores, form.getScale());
}

Value mlir::na::buildWeightedSums(ImplicitLocOpBuilder &b, const TileForm &form,
                                  Value weights, Value column,
                                  Value accumulator) {
  AffineMap output = tileMap(b, 3, {0, 1});
  // Loops: channel, row, column.
  if (form.isColumnMajor())
    return buildContract(
        b, column, weights, accumulator,
        {tileMap(b, 3, {2, 0}), tileMap(b, 3, {2, 1}), output});
  Value narrow = buildCast(
      b, weights, cast<FloatType>(getElementTypeOrSelf(column.getType())));
  // Loops: row, channel, column.
  return buildContract(b, narrow, column, accumulator,
                       {tileMap(b, 3, {0, 2}), tileMap(b, 3, {2, 1}), output});
}

Value mlir::na::buildColumnSums(ImplicitLocOpBuilder &b, const TileForm &form,
                                Value weights, Value row) {
  int64_t channels = cast<RankedTensorType>(row.getType()).getDimSize(1);
  int64_t columns = cast<RankedTensorType>(weights.getType()).getDimSize(1);
  Value zeros = buildFilled(b, {channels, columns}, form.getAccumulator(), 0);
  // Loops: channel, column, row.
  return buildContract(
      b, row, weights, zeros,
      {tileMap(b, 3, {2, 0}), tileMap(b, 3, {2, 1}), tileMap(b, 3, {0, 1})});
}

Value mlir::na::buildRanges(ImplicitLocOpBuilder &b, const TileGrid &grid,
                            ArrayRef<AxisTile> axes) {
  Value init =
      buildEmpty(b, {2 * grid.getRank(), grid.getNumRows()}, b.getI32Type());
  return TileWindowsOp::create(
             b, init.getType(), grid.getWindow(),
             getValues(b, b.getLoc(), axes, &AxisTile::rowPos),
             getValues(b, b.getLoc(), axes, &AxisTile::size), init,
             grid.getRowTile(), grid.isInverse(), grid.getHeadsPerTile())
      .getResult();
}

Value mlir::na::buildMasked(ImplicitLocOpBuilder &b, const TileForm &form,
                            const TileGrid &grid, Value scores, Value ranges,
                            const ColumnTile &tile) {
  for (const ColumnTile::Mask &mask : tile.masks)
    scores =
        TileMaskOp::create(b, scores.getType(), scores, ranges, tile.positions,
                           mask.inside, grid.getColumnTile(), mask.axes,
                           form.isColumnMajor())
            .getResult();
  return scores;
}

Value mlir::na::buildBias(ImplicitLocOpBuilder &b, const TileForm &form,
                          const TileGrid &grid, Value logits, Value bias,
                          Value head, ArrayRef<AxisTile> axes,
                          const ColumnTile &tile) {
  SmallVector<Value> rows = getValues(b, b.getLoc(), axes, &AxisTile::rowPos);
  ValueRange queryAt = rows, keyAt = tile.positions;
  ArrayRef<int64_t> queryBox = grid.getRowTile(), keyBox = grid.getColumnTile();
  if (grid.isInverse()) {
    std::swap(queryAt, keyAt);
    std::swap(queryBox, keyBox);
  }
  return TileBiasOp::create(b, logits.getType(), logits, bias, head,
                            grid.getWindow(), queryAt, keyAt, queryBox, keyBox,
                            form.isColumnMajor() != grid.isInverse())
      .getResult();
}

void mlir::na::buildRowStore(ImplicitLocOpBuilder &b, const TileForm &form,
                             const TileGrid &grid, Value tile, Value dest,
                             Value batch, Value head, ArrayRef<AxisTile> axes) {
  bool hasChannels = cast<RankedTensorType>(tile.getType()).getRank() == 2;
  RowBox rows = getRowBox(b, grid, head, axes);
  TileStoreOp::create(b, tile, dest, batch, rows.head, rows.at, rows.box,
                      rows.dilation,
                      /*transposed=*/hasChannels && form.isColumnMajor());
}

Value mlir::na::buildExisting(
    ImplicitLocOpBuilder &b, const TileForm &form, Value scores,
    function_ref<Value(ImplicitLocOpBuilder &, Value)> token, Value count) {
  return buildGeneric(
      b, {}, {scores}, {tileMap(b, 2, {0, 1})}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        Value column = linalg::IndexOp::create(b, form.getColumnDim());
        Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                             token(b, column), count);
        return {arith::SelectOp::create(
            b, exists, args[0],
            buildFloat(b, form.getAccumulator(),
                       -std::numeric_limits<double>::infinity()))};
      })[0];
}

Value mlir::na::buildChoice(
    ImplicitLocOpBuilder &b, Value condition,
    function_ref<Value(ImplicitLocOpBuilder &)> then,
    function_ref<Value(ImplicitLocOpBuilder &)> otherwise) {
  auto yields = [](function_ref<Value(ImplicitLocOpBuilder &)> build) {
    return [=](OpBuilder &builder, Location loc) {
      ImplicitLocOpBuilder b(loc, builder);
      scf::YieldOp::create(b, build(b));
    };
  };
  return scf::IfOp::create(b, condition, yields(then), yields(otherwise))
      .getResult(0);
}

Value mlir::na::buildColumnTile(ImplicitLocOpBuilder &b, const TileForm &form,
                                const TileGrid &grid, Value source,
                                Value additional, Value batch, Value head,
                                const ColumnTile &tile) {
  auto load = [&](ImplicitLocOpBuilder &b) {
    return buildColumnTile(b, form, grid, source, batch, head, tile);
  };
  if (!tile.additional)
    return load(b);
  return buildChoice(
      b, tile.additional->is,
      [&](ImplicitLocOpBuilder &b) {
        return buildTileLoad(b, form.getOperandType(additional), additional,
                             batch, head, {tile.additional->first},
                             {grid.getNumColumns()}, {1}, /*transposed=*/false);
      },
      load);
}

Value mlir::na::buildFinished(ImplicitLocOpBuilder &b, const TileForm &form,
                              const TileGrid &grid, Value scores, Value ranges,
                              const ColumnTile &tile, TileFunction addBias) {
  auto keep = [&](ImplicitLocOpBuilder &) { return scores; };
  if (addBias) {
    auto add = [&](ImplicitLocOpBuilder &b) { return addBias(b, scores); };
    scores = tile.additional ? buildChoice(b, tile.additional->is, keep, add)
                             : add(b);
  }
  if (tile.additional && tile.additional->isPartial)
    scores = buildChoice(
        b, tile.additional->isPartial,
        [&](ImplicitLocOpBuilder &b) {
          return buildExisting(
              b, form, scores,
              [](ImplicitLocOpBuilder &, Value column) { return column; },
              tile.additional->rest);
        },
        keep);
  return buildMasked(b, form, grid, scores, ranges, tile);
}

SmallVector<Value> mlir::na::buildAdditionalLoop(
    ImplicitLocOpBuilder &b, const TileForm &form, const TileGrid &grid,
    Value source, Value batch, Value head, ValueRange state,
    function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, ValueRange,
                                    TileFunction, TileFunction)>
        body) {
  OpFoldResult tokens = memref::getMixedSize(b, b.getLoc(), source, 1);
  Value count = getValueOrCreateConstantIndexOp(b, b.getLoc(), tokens);
  std::optional<int64_t> known = getConstantIntValue(tokens);
  int64_t columns = form.getAdditionalTile(grid.getNumColumns(), known);
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value step = arith::ConstantIndexOp::create(b, columns);
  auto loop = scf::ForOp::create(b, zero, count, step, state);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value first = loop.getInductionVar();
  auto load = [&](ImplicitLocOpBuilder &b, Value operand) {
    return buildTileLoad(b, form.getOperandType(operand), operand, batch, head,
                         {first}, {columns}, {1}, /*transposed=*/false);
  };
  auto mask = [&](ImplicitLocOpBuilder &b, Value scores) -> Value {
    if (known && *known % columns == 0)
      return scores;
    return buildExisting(
        b, form, scores,
        [&](ImplicitLocOpBuilder &b, Value column) -> Value {
          return arith::AddIOp::create(b, first, column);
        },
        count);
  };
  scf::YieldOp::create(b, body(b, loop.getRegionIterArgs(), load, mask));
  return SmallVector<Value>(loop.getResults());
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
