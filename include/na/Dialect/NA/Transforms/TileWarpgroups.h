//===- TileWarpgroups.h - A query tile split among warpgroups ---*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tiled program of a schedule with a `warpgroup_tile`. A CTA has a query
// tile and one loop over the key tiles of its span. Its warpgroups each own a
// part of the tile, along one axis, with a span and an interior of their own:
// all of them walk the same key tiles, and each leaves out those that it does
// not need.
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_TRANSFORMS_TILEWARPGROUPS_H
#define NA_DIALECT_NA_TRANSFORMS_TILEWARPGROUPS_H

#include "na/Dialect/NA/Transforms/TileGrid.h"

namespace mlir::na {

/// Checks that the warpgroups of the schedule of `op` can be tiled; says why
/// not otherwise.
LogicalResult checkWarpgroups(Operation *op, ScheduleAttr schedule,
                              TileGrid::Rows rows);

/// The order in which a CTA of two warpgroups walks the key tiles of one row
/// along the split axis.
struct SplitOrder {
  /// How many pairs of a tile from the front and a tile from the back there
  /// are, and how many steps until only common tiles are left.
  IndexValue pairs, alternating;
  /// Where steps after the pairs begin: the even ones go up, the odd ones by
  /// `oddStep`.
  IndexValue evenBegin, oddBegin, oddStep;
  /// What the number of a tile is beyond its step when only common ones are
  /// left.
  IndexValue offset;
  /// Whether both warpgroups compute all tiles (i1).
  Value together;
};

/// One warpgroup of a CTA.
struct Warpgroup {
  /// The CTA's tile, which determines the key tiles.
  SmallVector<AxisTile, 3> cta;
  /// The warpgroup's own part.
  GridPoint own;
  IndexValue columnTiles;
  std::optional<SplitOrder> order;
};

class WarpgroupGrid {
public:
  /// `cta` is the grid of CTAs.
  WarpgroupGrid(const TileGrid &cta, ArrayRef<int64_t> warpgroupTile);

  /// The grid of the warpgroups' own tiles.
  const TileGrid &getRows() const { return rows; }

  /// Builds the loop over the warpgroups of the CTA at `at`, and calls `body`
  /// inside it.
  void buildWarpgroups(
      OpBuilder &builder, Location loc, const GridPoint &at,
      function_ref<void(OpBuilder &, const Warpgroup &)> body) const;

  /// Builds a warpgroup's loop over the CTA's key tiles, which carries `state`;
  /// `body` returns the new state. Each cut axis has a mask of its own. Where
  /// the spans of the warpgroups can differ, the state stays as it is at tiles
  /// that the warpgroup does not need. The loop goes over all tiles `rounds`
  /// times. Tiles of `additionalKeys` keys (0 for none), which all warpgroups
  /// compute, come last.
  SmallVector<Value> buildColumnLoop(
      OpBuilder &builder, Location loc, const Warpgroup &warpgroup,
      OpFoldResult additionalKeys, ValueRange state,
      function_ref<SmallVector<Value>(OpBuilder &, const ColumnTile &,
                                      ValueRange state)>
          body,
      int64_t rounds = 1) const;

private:
  bool canLieBeyond() const;
  double getCutShare(int64_t i) const;
  bool areMaskedTogether() const;
  SplitOrder buildOrder(OpBuilder &builder, Location loc,
                        const AxisTile &tile) const;
  IndexValue buildOrdered(OpBuilder &builder, Location loc,
                          const SplitOrder &order, const AxisTile &tile,
                          IndexValue step) const;
  Value buildNeeded(OpBuilder &builder, Location loc,
                    const Warpgroup &warpgroup, const ColumnTile &tile) const;
  ColumnTile::Additional buildAdditional(OpBuilder &builder, Location loc,
                                         const Warpgroup &warpgroup,
                                         IndexValue keys,
                                         IndexValue step) const;

  TileGrid cta, rows;
  /// The axis along which the warpgroups lie side by side, and their number.
  int64_t axis, count;
};

} // namespace mlir::na

#endif // NA_DIALECT_NA_TRANSFORMS_TILEWARPGROUPS_H
