//===- TileWarpgroups.cpp - A query tile split among warpgroups -----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/Transforms/TileWarpgroups.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace mlir::na;

/// More warpgroups, and a producer, have too few registers for accumulators.
static constexpr int64_t maxWarpgroups = 3;

LogicalResult mlir::na::checkWarpgroups(Operation *op, ScheduleAttr schedule,
                                        TileGrid::Rows rows) {
  bool queries = rows == TileGrid::Rows::Queries;
  StringRef name = queries ? "query_tile" : "key_tile";
  std::optional<size_t> split;
  for (auto [axis, extents] : llvm::enumerate(llvm::zip_equal(
           queries ? schedule.getQueryTile() : schedule.getKeyTile(),
           schedule.getWarpgroupTile()))) {
    auto [all, own] = extents;
    if (all == own)
      continue;
    if (all % own != 0)
      return op->emitOpError("schedule 'warpgroup_tile'[")
             << axis << "] = " << own << " does not divide '" << name << "'["
             << axis << "] = " << all;
    if (split)
      return op->emitOpError("schedule 'warpgroup_tile' splits '")
             << name << "' on axes " << *split << " and " << axis
             << ", expected one axis at most";
    split = axis;
    if (all > maxWarpgroups * own)
      return op->emitOpError("schedule 'warpgroup_tile'[")
             << axis << "] = " << own << " makes " << all / own
             << " warpgroups of '" << name << "'[" << axis << "] = " << all
             << ", expected at most " << maxWarpgroups;
  }
  return success();
}

WarpgroupGrid::WarpgroupGrid(const TileGrid &cta,
                             ArrayRef<int64_t> warpgroupTile)
    : cta(cta), rows(cta.getPart(warpgroupTile)), axis(cta.getRank() - 1),
      count(1) {
  for (int64_t i = 0; i < cta.getRank(); ++i)
    if (warpgroupTile[i] != cta.getRowTile()[i]) {
      axis = i;
      count = cta.getRowTile()[i] / warpgroupTile[i];
    }
}

void WarpgroupGrid::buildWarpgroups(
    OpBuilder &builder, Location loc, const GridPoint &at,
    function_ref<void(OpBuilder &, const Warpgroup &)> body) const {
  const AxisTile &tile = at.axes[axis];
  Warpgroup warpgroup{at.axes, at, countColumnTiles(builder, loc, at.axes),
                      std::nullopt};
  // Of three, the tiles that one needs alone are few.
  if (count == 2 && cta.canDiffer(axis))
    warpgroup.order = buildOrder(builder, loc, tile);

  auto mapping = gpu::GPUWarpgroupMappingAttr::get(builder.getContext(),
                                                   gpu::MappingId::DimX);
  auto forall = scf::ForallOp::create(
      builder, loc, ArrayRef<OpFoldResult>{builder.getIndexAttr(count)},
      ValueRange(), builder.getArrayAttr({mapping}));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(forall.getTerminator());
  IndexValue index(builder, loc, forall.getInductionVars()[0],
                   /*nonNegative=*/true);
  warpgroup.own.axes[axis] = rows.buildTile(
      axis, rebind(builder, loc, tile.size), rebind(builder, loc, tile.residue),
      rebind(builder, loc, tile.rowPos) + index * rows.getRowTile()[axis]);
  body(builder, warpgroup);
}

/// Whether all queries of a warpgroup can lie beyond the end of the split axis.
bool WarpgroupGrid::canLieBeyond() const {
  int64_t length = cta.getTokens().getType().getDimSize(axis + 1);
  if (ShapedType::isDynamic(length) || cta.getWindow().getDilation()[axis] != 1)
    return true;
  int64_t rest = length % cta.getRowTile()[axis];
  return rest != 0 && rest <= (count - 1) * rows.getRowTile()[axis];
}

/// `condition ? a : b`.
static IndexValue select(OpBuilder &builder, Location loc, Value condition,
                         const IndexValue &a, const IndexValue &b) {
  return IndexValue(builder, loc,
                    builder.createOrFold<arith::SelectOp>(
                        loc, condition, a.getValue(), b.getValue()),
                    a.isNonNegative() && b.isNonNegative());
}

static Value isLess(OpBuilder &builder, Location loc, const IndexValue &a,
                    const IndexValue &b) {
  return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt,
                                             a.getValue(), b.getValue());
}

/// The first `front` tiles of a row are needed by warpgroup 0 alone, the last
/// `back` tiles by warpgroup 1 alone, and those between by both. In the order
/// of the keys one warpgroup would wait for the other at the front and at the
/// back, since both read one ring of key tiles. So tiles at the front alternate
/// with tiles at the back; when those of one side are used up, the other's
/// alternate with common tiles; then come the common tiles that are left. No
/// warpgroup leaves out two tiles in a row, nor from one row to the next, which
/// a ring of two stages could not bear while the values of an earlier tile are
/// still in use. Where too few tiles are common for that, both warpgroups
/// compute all tiles in the order of the keys.
SplitOrder WarpgroupGrid::buildOrder(OpBuilder &builder, Location loc,
                                     const AxisTile &tile) const {
  int64_t step = cta.getColumnTile()[axis];
  IndexValue next = tile.rowPos + rows.getRowTile()[axis];
  AxisTile own[] = {rows.buildTile(axis, tile.size, tile.residue, tile.rowPos),
                    rows.buildTile(axis, tile.size, tile.residue, next)};
  // Spans begin and end in the order of their queries.
  auto nonNegative = [&](const IndexValue &value) {
    return IndexValue(builder, loc, value.getFoldResult(),
                      /*nonNegative=*/true);
  };
  IndexValue front =
      floorDiv(nonNegative(own[1].span.begin - tile.span.begin), step);
  IndexValue back = nonNegative(
      tile.columnTiles -
      ceilDiv(nonNegative(own[0].span.end - tile.span.begin), step));
  IndexValue pairs = minV(front, back);
  IndexValue odd = nonNegative(maxV(front, back) - pairs);
  Value together = isLess(builder, loc, tile.columnTiles - front - back, odd);
  Value more = isLess(builder, loc, front, back);
  IndexValue zero(builder, loc, 0), one(builder, loc, 1),
      minusOne(builder, loc, -1);
  pairs = select(builder, loc, together, zero, pairs);
  odd = select(builder, loc, together, zero, odd);
  IndexValue common = select(builder, loc, together, zero, front);
  return {pairs,
          (pairs + odd) * 2,
          select(builder, loc, more, common, pairs),
          select(builder, loc, more, tile.columnTiles - 1 - pairs, common),
          select(builder, loc, more, minusOne, one),
          common - pairs * 2 - odd,
          together};
}

/// The share of the column tiles of a warpgroup that an edge cuts on an axis,
/// where it is far from the ends.
double WarpgroupGrid::getCutShare(int64_t i) const {
  ::na::window::Axis window = cta.getWindow().getAxis(i);
  int64_t length = cta.getTokens().getType().getDimSize(i + 1);
  int64_t size = length / window.dilation, extent = cta.getRowTile()[i];
  if (ShapedType::isDynamic(length) || size < 1)
    return 1;
  int64_t begin = size / 2 / extent * extent;
  int64_t end = std::min(begin + extent, size);
  int64_t own = std::min(begin + rows.getRowTile()[i], end);
  bool inverse = cta.isInverse();
  auto span = inverse ? ::na::window::inverseTileSpan(window, size, begin, end)
                      : ::na::window::tileSpan(window, size, begin, end);
  auto interior =
      inverse ? ::na::window::inverseTileInterior(window, size, begin, own)
              : ::na::window::tileInterior(window, size, begin, own);
  int64_t step = cta.getColumnTile()[i];
  int64_t tiles = ::na::window::ceilDiv(span.end - span.begin, step);
  int64_t first = ::na::window::ceilDiv(interior.begin - span.begin, step);
  int64_t last = ::na::window::floorDiv(interior.end - span.begin, step);
  return 1 - double(std::max<int64_t>(0, last - first)) /
                 double(std::max<int64_t>(1, tiles));
}

/// Whether tiles that are cut are cut on most axes: one selection an element
/// for all of them is then less than one for each.
bool WarpgroupGrid::areMaskedTogether() const {
  constexpr double perWords = 1.25;
  double axes = 0, uncut = 1;
  for (int64_t i : cta.getCutAxes()) {
    double share = getCutShare(i);
    axes += share;
    uncut *= 1 - share;
  }
  return axes > perWords * (1 - uncut);
}

/// The tile that is the `step`-th in `order`.
IndexValue WarpgroupGrid::buildOrdered(OpBuilder &builder, Location loc,
                                       const SplitOrder &order,
                                       const AxisTile &tile,
                                       IndexValue step) const {
  auto get = [&](const IndexValue &value) {
    return rebind(builder, loc, value);
  };
  IndexValue half = floorDiv(step, 2);
  Value second = builder.createOrFold<arith::CmpIOp>(
      loc, arith::CmpIPredicate::ne, (half * 2).getValue(), step.getValue());
  IndexValue pair =
      select(builder, loc, second, get(tile.columnTiles) - 1 - half, half);
  IndexValue later = half - get(order.pairs);
  IndexValue odd = select(builder, loc, second,
                          get(order.oddBegin) + later * get(order.oddStep),
                          get(order.evenBegin) + later);
  IndexValue both = step + get(order.offset);
  Value isPair = isLess(builder, loc, half, get(order.pairs));
  Value isOdd = isLess(builder, loc, step, get(order.alternating));
  IndexValue result = select(builder, loc, isPair, pair,
                             select(builder, loc, isOdd, odd, both));
  return IndexValue(builder, loc, result.getFoldResult(),
                    /*nonNegative=*/true);
}

/// Whether the warpgroup has a query that sees a key of the tile on the split
/// axis, or whether it computes the tile all the same.
Value WarpgroupGrid::buildNeeded(OpBuilder &builder, Location loc,
                                 const Warpgroup &warpgroup,
                                 const ColumnTile &tile) const {
  const AxisTile &own = warpgroup.own.axes[axis];
  auto get = [&](const IndexValue &value) {
    return rebind(builder, loc, value);
  };
  IndexValue begin(builder, loc, tile.positions[axis]);
  IndexValue end = begin + cta.getColumnTile()[axis];
  Value needed = arith::AndIOp::create(
      builder, loc, isLess(builder, loc, begin, get(own.span.end)),
      isLess(builder, loc, get(own.span.begin), end));
  if (warpgroup.order)
    needed =
        arith::OrIOp::create(builder, loc, needed, warpgroup.order->together);
  if (canLieBeyond())
    needed = arith::AndIOp::create(
        builder, loc, needed,
        isLess(builder, loc, get(own.rowPos), get(own.size)));
  return needed;
}

/// Says of the tile that is the `step`-th of a loop what it has of `keys`
/// additional keys.
ColumnTile::Additional
WarpgroupGrid::buildAdditional(OpBuilder &builder, Location loc,
                               const Warpgroup &warpgroup, IndexValue keys,
                               IndexValue step) const {
  int64_t extent = cta.getNumColumns();
  IndexValue before = rebind(builder, loc, warpgroup.columnTiles);
  ColumnTile::Additional tile;
  tile.is = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                  step.getValue(), before.getValue());
  IndexValue number = step - before;
  tile.first = (number * extent).getValue();
  std::optional<int64_t> known = getConstantIntValue(keys.getFoldResult());
  if (known && *known % extent == 0)
    return tile;
  IndexValue last = ceilDiv(keys, extent) - 1;
  tile.isPartial = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         number.getValue(), last.getValue());
  tile.rest = (keys - last * extent).getValue();
  return tile;
}

SmallVector<Value> WarpgroupGrid::buildColumnLoop(
    OpBuilder &builder, Location loc, const Warpgroup &warpgroup,
    OpFoldResult additionalKeys, ValueRange state,
    function_ref<SmallVector<Value>(OpBuilder &, const ColumnTile &,
                                    ValueRange)>
        body,
    int64_t rounds) const {
  ArrayRef<AxisTile> axes = warpgroup.cta;
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  IndexValue tiles = rebind(builder, loc, warpgroup.columnTiles);
  IndexValue additional(builder, loc, additionalKeys, /*nonNegative=*/true);
  IndexValue total = tiles * rounds;
  if (!isZeroInteger(additionalKeys))
    total = total + ceilDiv(additional, cta.getNumColumns());
  auto loop =
      scf::ForOp::create(builder, loc, zero, total.getValue(), one, state);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());

  // Tiles that some warpgroups leave out are close together in time.
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < cta.getRank(); ++i)
    if (i != axis)
      order.push_back(i);
  order.push_back(axis);
  auto [round, number] =
      splitRound(builder, loc, loop.getInductionVar(), tiles, rounds);
  SmallVector<IndexValue> steps =
      splitColumnTile(builder, loc, number, axes, order);
  if (warpgroup.order)
    steps[axis] =
        buildOrdered(builder, loc, *warpgroup.order, axes[axis], steps[axis]);
  ColumnTile tile = cta.buildColumnTile(builder, loc, axes, steps);
  tile.round = round;
  if (!isZeroInteger(additionalKeys))
    tile.additional = buildAdditional(
        builder, loc, warpgroup, rebind(builder, loc, additional),
        IndexValue(builder, loc, loop.getInductionVar(), /*nonNegative=*/true));
  auto orAdditional = [&](Value condition) -> Value {
    if (!tile.additional)
      return condition;
    return arith::OrIOp::create(builder, loc, condition, tile.additional->is);
  };
  Value needed;
  if (cta.canDiffer(axis) && count > 1)
    needed = orAdditional(buildNeeded(builder, loc, warpgroup, tile));
  // Axes are cut together or not at all for all warpgroups: key tiles start at
  // the span of the CTA.
  SmallVector<int64_t> cutAxes = cta.getCutAxes();
  bool together = areMaskedTogether();
  Value all;
  for (int64_t i : cutAxes) {
    Value inside =
        cta.buildInside(builder, loc, i, warpgroup.own.axes[i], tile);
    if (!together) {
      tile.masks.push_back({{i}, orAdditional(inside)});
      continue;
    }
    all = all ? arith::AndIOp::create(builder, loc, all, inside) : inside;
    if (i == cutAxes.back())
      tile.masks.push_back({cutAxes, orAdditional(all)});
  }

  scf::IfOp skip;
  if (needed) {
    skip = scf::IfOp::create(builder, loc, TypeRange(state), needed,
                             /*withElseRegion=*/true);
    scf::YieldOp::create(builder, loc, skip.getResults());
    builder.setInsertionPointToStart(skip.elseBlock());
    scf::YieldOp::create(builder, loc, loop.getRegionIterArgs());
    builder.setInsertionPointToStart(skip.thenBlock());
  }
  scf::YieldOp::create(builder, loc,
                       body(builder, tile, loop.getRegionIterArgs()));
  return SmallVector<Value>(loop.getResults());
}
