//===- TileGrid.cpp - Row and column tiles and their window arithmetic ----===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/Transforms/TileGrid.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::na;
namespace window = ::na::window;

IndexValue mlir::na::rebind(OpBuilder &builder, Location loc,
                            const IndexValue &value) {
  return IndexValue(builder, loc, value.getFoldResult(), value.isNonNegative());
}

SmallVector<Value> mlir::na::getValues(OpBuilder &builder, Location loc,
                                       ArrayRef<AxisTile> axes,
                                       IndexValue AxisTile::*field) {
  return llvm::map_to_vector(axes, [&](const AxisTile &axis) {
    return rebind(builder, loc, axis.*field).getValue();
  });
}

void mlir::na::noteSchedule(scf::ForallOp grid, ScheduleAttr schedule) {
  if (schedule.isForGPU())
    grid->setAttr("na.schedule", schedule);
}

bool mlir::na::hasNarrowPositions(WindowAttr window, MemRefType tokens) {
  // A key tile may reach beyond the end by its own length, which is far less.
  constexpr int64_t largest = int64_t(1) << 30;
  for (int64_t axis = 0; axis < window.getRank(); ++axis)
    if (!tokens.isDynamicDim(axis + 1) &&
        tokens.getDimSize(axis + 1) / window.getDilation()[axis] > largest)
      return false;
  return true;
}

int64_t TileGrid::getNumRows() const {
  return llvm::product_of(rowTile) * headsPerTile;
}

int64_t TileGrid::getNumColumns() const { return llvm::product_of(columnTile); }

/// Whether `holds` for a size that a residue class of the axis can have; true
/// where that is not known.
static bool canHold(TypedValue<MemRefType> tokens, int64_t dim,
                    int64_t dilation, function_ref<bool(int64_t size)> holds) {
  int64_t length = tokens.getType().getDimSize(dim);
  return ShapedType::isDynamic(length) || holds(length / dilation) ||
         (length % dilation != 0 && holds(length / dilation + 1));
}

bool TileGrid::canDiffer(int64_t i) const {
  window::Axis axis = window.getAxis(i);
  return canHold(tokens, i + 1, axis.dilation, [&](int64_t size) {
    return isInverse() ? window::canCutInverse(axis, size, rowTile[i])
                       : window::canCut(axis, size, rowTile[i]);
  });
}

SmallVector<int64_t> TileGrid::getCutAxes() const {
  SmallVector<int64_t> cut;
  for (int64_t i = 0; i < getRank(); ++i) {
    window::Axis axis = window.getAxis(i);
    // Where the span equals the interior it is one window long, or shorter at
    // the first positions of a causal axis; a column tile that runs past its
    // end still needs the bound. Inverse spans have many lengths.
    bool overruns = isInverse()
                        ? canHold(tokens, i + 1, axis.dilation,
                                  [&](int64_t size) {
                                    return window::canOverrunInverse(
                                        axis, size, rowTile[i], columnTile[i]);
                                  })
                        : (axis.causal ? columnTile[i] != 1
                                       : axis.window % columnTile[i] != 0);
    if (canDiffer(i) || overruns)
      cut.push_back(i);
  }
  return cut;
}

AxisTile TileGrid::buildAxis(OpBuilder &builder, Location loc, int64_t i,
                             IndexValue length, Value index) const {
  window::Axis axis = window.getAxis(i);
  IndexValue combined(builder, loc, index, /*nonNegative=*/true);
  IndexValue tile = combined, residue = constantLike(combined, 0);
  if (axis.dilation != 1) {
    tile = floorDiv(combined, axis.dilation);
    residue = IndexValue(builder, loc,
                         (combined - tile * axis.dilation).getFoldResult(),
                         /*nonNegative=*/true);
  }
  IndexValue size = window::classSize(axis, length, residue);
  return buildTile(i, size, residue, tile * rowTile[i]);
}

AxisTile TileGrid::buildTile(int64_t i, IndexValue size, IndexValue residue,
                             IndexValue rowPos) const {
  window::Axis axis = window.getAxis(i);
  // The last tile of a class that is one token smaller than the largest may
  // hold no row at all: it then takes the class's last one, whose columns
  // exist, and stores nothing.
  IndexValue begin = minV(rowPos, size - 1);
  IndexValue end = maxV(minV(rowPos + rowTile[i], size), begin + 1);
  auto span = isInverse() ? window::inverseTileSpan(axis, size, begin, end)
                          : window::tileSpan(axis, size, begin, end);
  auto interior = isInverse()
                      ? window::inverseTileInterior(axis, size, begin, end)
                      : window::tileInterior(axis, size, begin, end);
  return {size,
          residue,
          rowPos,
          residue + rowPos * axis.dilation,
          span,
          interior,
          ceilDiv(span.end - span.begin, columnTile[i])};
}

scf::ForallOp TileGrid::buildGrid(
    OpBuilder &builder, Location loc, int64_t heads, ValueChunks values,
    function_ref<void(OpBuilder &, const GridPoint &)> body) const {
  auto sizeOf = [&](OpBuilder &b, int64_t dim) {
    return IndexValue(b, loc, memref::getMixedSize(b, loc, tokens, dim),
                      /*nonNegative=*/true);
  };
  SmallVector<OpFoldResult> extents = {
      sizeOf(builder, 0).getFoldResult(),
      builder.getIndexAttr(heads / headsPerTile)};
  bool chunked = values.tile < values.channels;
  if (chunked)
    extents.push_back(
        builder.getIndexAttr(window::ceilDiv(values.channels, values.tile)));
  for (int64_t i = 0; i < getRank(); ++i) {
    window::Axis axis = window.getAxis(i);
    IndexValue length = sizeOf(builder, i + 1);
    IndexValue largest = ceilDiv(length, axis.dilation);
    extents.push_back(
        (ceilDiv(largest, rowTile[i]) * axis.dilation).getFoldResult());
  }
  auto forall = scf::ForallOp::create(builder, loc, extents, ValueRange(),
                                      /*mapping=*/std::nullopt);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(forall.getTerminator());
  SmallVector<Value> ids = forall.getInductionVars();
  ValueRange tiles = ValueRange(ids).take_back(getRank());
  IndexValue head(builder, loc, ids[1], /*nonNegative=*/true);
  GridPoint point{ids[0], (head * headsPerTile).getValue(), Value(), {}};
  if (chunked) {
    IndexValue chunk(builder, loc, ids[2], /*nonNegative=*/true);
    point.channel = minV(chunk * values.tile,
                         constantLike(chunk, values.channels - values.tile))
                        .getValue();
  }
  for (int64_t i = 0; i < getRank(); ++i)
    point.axes.push_back(
        buildAxis(builder, loc, i, sizeOf(builder, i + 1), tiles[i]));
  body(builder, point);
  return forall;
}

IndexValue mlir::na::countColumnTiles(OpBuilder &builder, Location loc,
                                      ArrayRef<AxisTile> axes) {
  IndexValue total(builder, loc, 1);
  for (const AxisTile &axis : axes)
    total = total * rebind(builder, loc, axis.columnTiles);
  return total;
}

SmallVector<IndexValue> mlir::na::splitColumnTile(OpBuilder &builder,
                                                  Location loc, Value number,
                                                  ArrayRef<AxisTile> axes,
                                                  ArrayRef<int64_t> order) {
  SmallVector<IndexValue> steps(axes.size(), IndexValue(builder, loc, 0));
  Value rest = number;
  for (int64_t i : llvm::reverse(order)) {
    Value step = rest;
    if (i != order.front()) {
      Value count = rebind(builder, loc, axes[i].columnTiles).getValue();
      step = builder.createOrFold<arith::RemUIOp>(loc, rest, count);
      rest = builder.createOrFold<arith::DivUIOp>(loc, rest, count);
    }
    steps[i] = IndexValue(builder, loc, step, /*nonNegative=*/true);
  }
  return steps;
}

std::pair<Value, Value> mlir::na::splitRound(OpBuilder &builder, Location loc,
                                             Value number, IndexValue count,
                                             int64_t rounds) {
  if (rounds == 1)
    return {Value(), number};
  Value tiles = rebind(builder, loc, count).getValue();
  Value round = builder.createOrFold<arith::DivUIOp>(loc, number, tiles);
  return {round, builder.createOrFold<arith::RemUIOp>(loc, number, tiles)};
}

ColumnTile TileGrid::buildColumnTile(OpBuilder &builder, Location loc,
                                     ArrayRef<AxisTile> axes,
                                     ArrayRef<IndexValue> steps) const {
  ColumnTile tile;
  SmallVector<IndexValue> positions;
  for (int64_t i = getRank() - 1; i >= 0; --i)
    positions.push_back(rebind(builder, loc, axes[i].span.begin) +
                        steps[i] * columnTile[i]);
  std::reverse(positions.begin(), positions.end());
  for (int64_t i = 0; i < getRank(); ++i) {
    tile.positions.push_back(positions[i].getValue());
    tile.coordinates.push_back((rebind(builder, loc, axes[i].residue) +
                                positions[i] * window.getAxis(i).dilation)
                                   .getValue());
  }
  return tile;
}

Value TileGrid::buildInside(OpBuilder &builder, Location loc, int64_t i,
                            const AxisTile &tile,
                            const ColumnTile &columnTile) const {
  IndexValue begin(builder, loc, columnTile.positions[i]);
  Value begins = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::sge, begin.getValue(),
      rebind(builder, loc, tile.interior.begin).getValue());
  Value ends =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle,
                            (begin + this->columnTile[i]).getValue(),
                            rebind(builder, loc, tile.interior.end).getValue());
  return arith::AndIOp::create(builder, loc, begins, ends);
}

SmallVector<Value> TileGrid::buildColumnLoop(
    OpBuilder &builder, Location loc, ArrayRef<AxisTile> axes, ValueRange state,
    function_ref<SmallVector<Value>(OpBuilder &, const ColumnTile &,
                                    ValueRange)>
        body,
    int64_t rounds) const {
  IndexValue total = countColumnTiles(builder, loc, axes);
  SmallVector<int64_t> cutAxes = getCutAxes();

  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop = scf::ForOp::create(builder, loc, zero,
                                 (total * rounds).getValue(), one, state);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());

  SmallVector<int64_t> order = llvm::to_vector(llvm::seq(getRank()));
  auto [round, number] =
      splitRound(builder, loc, loop.getInductionVar(), total, rounds);
  ColumnTile tile = buildColumnTile(
      builder, loc, axes, splitColumnTile(builder, loc, number, axes, order));
  tile.round = round;
  Value inside;
  for (int64_t i : cutAxes) {
    Value insideAxis = buildInside(builder, loc, i, axes[i], tile);
    inside = inside ? arith::AndIOp::create(builder, loc, inside, insideAxis)
                          .getResult()
                    : insideAxis;
  }
  if (inside)
    tile.masks.push_back({cutAxes, inside});
  SmallVector<Value> next = body(builder, tile, loop.getRegionIterArgs());
  // A loop without carried values has a terminator already.
  if (!state.empty())
    scf::YieldOp::create(builder, loc, next);
  return SmallVector<Value>(loop.getResults());
}
