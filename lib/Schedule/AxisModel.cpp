//===- AxisModel.cpp - What one axis contributes to a tiling --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AxisModel.h"

#include <algorithm>
#include <set>

using namespace na;
using namespace na::schedule;

namespace {

/// Tiles are sampled on axes of more: borders matter little there.
constexpr int64_t maxModelTiles = 512;

/// A length for the model: unknown ones become long.
int64_t modelLength(const Problem &problem, size_t i) {
  if (problem.lengths[i] != dynamicLength)
    return problem.lengths[i];
  constexpr int64_t longest = int64_t(1) << 60;
  const window::Axis &axis = problem.axes[i];
  if (axis.window > longest / 4 / axis.dilation)
    return std::max(longest, axis.window);
  return std::max<int64_t>(256, 4 * axis.window * axis.dilation);
}

/// The columns that some row of a tile is paired with.
window::Range<int64_t> rowSpan(const window::Axis &axis, int64_t size,
                               int64_t begin, int64_t end, bool inverse) {
  return inverse ? window::inverseTileSpan(axis, size, begin, end)
                 : window::tileSpan(axis, size, begin, end);
}

/// Column tiles of all row tiles of a residue class.
struct ClassCount {
  double columnTiles = 0, insideTiles = 0;
};

/// Of a class of `size` tokens, of which the grid has `tiles` row tiles.
ClassCount countColumnTiles(const Problem &problem, size_t i, int64_t size,
                            int64_t tiles, int64_t rowTile,
                            int64_t columnTile) {
  const window::Axis &axis = problem.axes[i];
  int64_t step = std::max<int64_t>(1, tiles / maxModelTiles), count = 0;
  ClassCount result;
  for (int64_t tile = 0; tile < tiles; tile += step, ++count) {
    // A tile beyond a smaller class repeats its last row.
    int64_t begin = std::min(tile * rowTile, size - 1);
    int64_t end = std::min(begin + rowTile, size);
    auto span = rowSpan(axis, size, begin, end, problem.hasKeyRows());
    auto interior = rowInterior(axis, size, begin, end, problem.hasKeyRows());
    result.columnTiles +=
        double(window::ceilDiv(span.end - span.begin, columnTile));
    // Column tiles begin at multiples from the start of the span.
    int64_t first = window::ceilDiv(interior.begin - span.begin, columnTile);
    int64_t last = window::floorDiv(interior.end - span.begin, columnTile);
    result.insideTiles += double(std::max<int64_t>(0, last - first));
  }
  double weight = double(tiles) / double(count);
  return {result.columnTiles * weight, result.insideTiles * weight};
}

} // namespace

window::Range<int64_t> schedule::rowInterior(const window::Axis &axis,
                                             int64_t size, int64_t begin,
                                             int64_t end, bool inverse) {
  return inverse ? window::inverseTileInterior(axis, size, begin, end)
                 : window::tileInterior(axis, size, begin, end);
}

int64_t schedule::modelSize(const Problem &problem, size_t i) {
  return window::classSize<int64_t>(problem.axes[i], modelLength(problem, i),
                                    0);
}

double schedule::modelTokens(const Problem &problem, size_t i) {
  return double(modelLength(problem, i));
}

AxisCost schedule::axisCost(const Problem &problem, size_t i, int64_t rowTile,
                            int64_t columnTile) {
  const window::Axis &axis = problem.axes[i];
  int64_t length = modelLength(problem, i), size = modelSize(problem, i);
  int64_t tiles = window::ceilDiv(size, rowTile);
  int64_t larger = length % axis.dilation;
  if (larger == 0)
    larger = axis.dilation;
  AxisCost cost;
  auto add = [&](int64_t classes, int64_t classSize) {
    ClassCount count =
        countColumnTiles(problem, i, classSize, tiles, rowTile, columnTile);
    cost.columnTiles += double(classes) * count.columnTiles;
    cost.insideTiles += double(classes) * count.insideTiles;
  };
  add(larger, size);
  if (larger != axis.dilation)
    add(axis.dilation - larger, size - 1);
  cost.rowTiles = double(tiles) * double(axis.dilation);
  cost.columnTiles /= cost.rowTiles;
  cost.insideTiles /= cost.rowTiles;
  cost.cut =
      problem.hasKeyRows()
          ? window::canCutInverse(axis, size, rowTile) ||
                window::canOverrunInverse(axis, size, rowTile, columnTile)
          : window::canCut(axis, size, rowTile) ||
                (axis.causal ? columnTile != 1 : axis.window % columnTile != 0);
  return cost;
}

double schedule::pairCount(const Problem &problem, size_t i) {
  const window::Axis &axis = problem.axes[i];
  int64_t length = modelLength(problem, i);
  double window = double(axis.window), all = double(length) * window;
  if (all < 4e18)
    return double(window::pairCount(axis, length));
  // The exact count does not fit 64 bits.
  if (!axis.causal)
    return all;
  double size = double(modelSize(problem, i)), stride = double(axis.stride);
  return double(axis.dilation) *
         (size * (window - stride / 2) - window * (window - stride) / 2);
}

int64_t schedule::longestSpan(const Problem &problem, size_t i,
                              int64_t rowTile) {
  const window::Axis &axis = problem.axes[i];
  int64_t size = modelSize(problem, i);
  int64_t tiles = window::ceilDiv(size, rowTile);
  if (tiles > maxModelTiles) {
    int64_t beyond = size - axis.window; // the sum below may overflow
    return axis.window + std::min(beyond, rowTile + axis.stride);
  }
  if (!problem.hasKeyRows())
    return window::maxSpan(axis, size, rowTile);
  int64_t longest = 0;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    int64_t begin = tile * rowTile, end = std::min(begin + rowTile, size);
    auto span = rowSpan(axis, size, begin, end, /*inverse=*/true);
    longest = std::max(longest, span.end - span.begin);
  }
  return longest;
}

std::vector<int64_t> schedule::rowExtents(int64_t size, int64_t limit) {
  std::vector<int64_t> extents;
  for (int64_t extent = 1; extent <= limit; extent *= 2) {
    extents.push_back(extent);
    if (extent >= size)
      break;
  }
  return extents;
}

std::vector<int64_t>
schedule::gpuColumnExtents(int64_t span, std::initializer_list<int64_t> common,
                           int64_t limit) {
  std::set<int64_t> extents;
  for (int64_t extent : common)
    if (extent < 2 * span)
      extents.insert(extent);
  // Divisions of the span itself leave no partly filled last tile; rounded up
  // they make a multiple of 16 columns with few to spare.
  for (int64_t parts = 1; parts <= 8; ++parts)
    for (int64_t multiple : {1, 2, 4, 8, 16}) {
      int64_t extent = alignUp(window::ceilDiv(span, parts), multiple);
      if (extent <= limit)
        extents.insert(extent);
    }
  return {extents.begin(), extents.end()};
}

std::vector<AxisChoice>
schedule::axisChoices(const Problem &problem, size_t i,
                      const std::vector<int64_t> &rowTiles,
                      const std::vector<int64_t> &fixedColumnTile,
                      std::vector<int64_t> (*columnExtents)(int64_t span)) {
  std::vector<AxisChoice> choices;
  for (int64_t rowTile : rowTiles) {
    std::vector<int64_t> columnTiles =
        fixedColumnTile.empty()
            ? columnExtents(longestSpan(problem, i, rowTile))
            : std::vector{fixedColumnTile[i]};
    for (int64_t columnTile : columnTiles)
      choices.push_back(
          {rowTile, columnTile, axisCost(problem, i, rowTile, columnTile)});
  }
  return choices;
}

Tiling schedule::makeTiling(const Problem &problem,
                            const std::vector<const AxisChoice *> &choices) {
  Tiling tiling;
  for (const AxisChoice *choice : choices) {
    tiling.queryTile.push_back(choice->rowTile);
    tiling.keyTile.push_back(choice->columnTile);
  }
  if (problem.hasKeyRows())
    std::swap(tiling.queryTile, tiling.keyTile);
  return tiling;
}

SplitBlock schedule::splitBlock(const window::Axis &axis, int64_t size,
                                int64_t begin, int64_t warpgroups,
                                int64_t ownTile, int64_t columnTile,
                                bool inverse) {
  int64_t rowTile = warpgroups * ownTile;
  int64_t end = std::min(begin + rowTile, size);
  bool differs = inverse ? window::canCutInverse(axis, size, rowTile)
                         : window::canCut(axis, size, rowTile);
  SplitBlock block;
  block.span = rowSpan(axis, size, begin, end, inverse);
  block.tiles = window::ceilDiv(block.span.end - block.span.begin, columnTile);
  block.active = window::ceilDiv(end - begin, ownTile);
  for (int64_t g = 0; g < block.active; ++g) {
    block.last[g] = block.tiles;
    if (!differs || block.active == 1)
      continue;
    int64_t from = begin + g * ownTile;
    auto own =
        rowSpan(axis, size, from, std::min(from + ownTile, end), inverse);
    block.first[g] = (own.begin - block.span.begin) / columnTile;
    block.last[g] = window::ceilDiv(own.end - block.span.begin, columnTile);
  }
  // Two warpgroups interleave tiles that only one of them needs, if they can,
  // so that both are always busy.
  if (warpgroups == 2 && block.active == 2) {
    int64_t front = block.first[1], back = block.tiles - block.last[0];
    if (block.tiles - front - back < std::abs(front - back)) {
      block.first[1] = 0;
      block.last[0] = block.tiles;
    }
  }
  return block;
}
