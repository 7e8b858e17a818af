//===- AxisModel.h - What one axis contributes to a tiling ------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Axes are independent, so that a tiling's counts are products of those of its
// axes. The models of all targets count with these functions.
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_SCHEDULE_AXISMODEL_H
#define NA_LIB_SCHEDULE_AXISMODEL_H

#include "na/Schedule/CostModel.h"

#include <initializer_list>

namespace na::schedule {

/// What one axis contributes under a tiling. Rows are queries and columns keys,
/// or the reverse for the gradients of keys and values.
struct AxisCost {
  /// Row tiles of all residue classes.
  double rowTiles = 0;
  /// Column tiles per row tile, on average, and how many of them every row of
  /// the tile is paired with in whole.
  double columnTiles = 0, insideTiles = 0;
  /// Whether window edges cut column tiles on the axis.
  bool cut = false;
};

/// Exact up to 512 row tiles a class, sampled beyond: borders matter little
/// there.
AxisCost axisCost(const Problem &problem, size_t axis, int64_t rowTile,
                  int64_t columnTile);

/// The tokens of the largest residue class; long where the length is unknown.
int64_t modelSize(const Problem &problem, size_t axis);

/// Tokens of an axis.
double modelTokens(const Problem &problem, size_t axis);

/// Query/key pairs on one axis.
double pairCount(const Problem &problem, size_t axis);

/// The longest span of a row tile on an axis, or a bound on it where finding it
/// would take a walk along the axis.
int64_t longestSpan(const Problem &problem, size_t axis, int64_t rowTile);

/// One way to tile one axis.
struct AxisChoice {
  int64_t rowTile, columnTile;
  AxisCost cost;
};

/// The columns that belong to all rows of a tile; with `inverse`, rows are
/// keys.
window::Range<int64_t> rowInterior(const window::Axis &axis, int64_t size,
                                   int64_t begin, int64_t end, bool inverse);

/// Warpgroups of a thread block at most.
constexpr int64_t maxWarpgroups = 3;

/// The column tiles of a thread block on the axis along which its warpgroups
/// lie, counted from the start of the block's span.
struct SplitBlock {
  window::Range<int64_t> span;
  int64_t tiles;
  /// Warpgroups that have rows.
  int64_t active;
  /// Those that each warpgroup computes: [first, last).
  int64_t first[maxWarpgroups] = {}, last[maxWarpgroups] = {};
};

/// The block that starts at row `begin` of an axis of `size` positions, as the
/// tiled program (TileWarpgroups.cpp) divides it. With `inverse`, rows are
/// keys.
SplitBlock splitBlock(const window::Axis &axis, int64_t size, int64_t begin,
                      int64_t warpgroups, int64_t ownTile, int64_t columnTile,
                      bool inverse = false);

/// The tiles of these choices, one per axis.
Tiling makeTiling(const Problem &problem,
                  const std::vector<const AxisChoice *> &choices);

inline int64_t alignUp(int64_t value, int64_t multiple) {
  return window::ceilDiv(value, multiple) * multiple;
}

/// Extents worth trying for a row tile on an axis of `size` positions: powers
/// of two up to `limit`.
std::vector<int64_t> rowExtents(int64_t size, int64_t limit);

/// Extents worth trying on a GPU for a column tile where spans are at most
/// `span` long: the usual ones of `common`, and divisions of the span up to
/// `limit`.
std::vector<int64_t> gpuColumnExtents(int64_t span,
                                      std::initializer_list<int64_t> common,
                                      int64_t limit);

/// Calls `visit` with `box` set to the extents of each box of `volume`
/// positions in turn, the first extents rising.
template <typename Visit>
void visitBoxes(int64_t volume, std::vector<int64_t> &box, const Visit &visit,
                size_t axis = 0) {
  if (axis + 1 == box.size()) {
    box[axis] = volume;
    return visit();
  }
  for (int64_t extent = 1; extent <= volume; ++extent)
    if (volume % extent == 0) {
      box[axis] = extent;
      visitBoxes(volume / extent, box, visit, axis + 1);
    }
}

/// All ways to tile an axis with these row tiles. Column tiles are those of
/// `fixedColumnTile`, one entry per axis, or if that is empty what
/// `columnExtents` gives for the longest span of the row tile.
std::vector<AxisChoice>
axisChoices(const Problem &problem, size_t axis,
            const std::vector<int64_t> &rowTiles,
            const std::vector<int64_t> &fixedColumnTile,
            std::vector<int64_t> (*columnExtents)(int64_t span));

} // namespace na::schedule

#endif // NA_LIB_SCHEDULE_AXISMODEL_H
