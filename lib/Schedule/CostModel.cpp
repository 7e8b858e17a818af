//===- CostModel.cpp - Predicted cost of a tiling, and the search ---------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Schedule/CostModel.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>

using namespace na;
using namespace na::schedule;

namespace {

/// What one axis contributes under a tiling.
struct AxisCost {
  /// Query tiles of all residue classes.
  double queryTiles = 0;
  /// Key tiles per query tile, on average.
  double keyTiles = 0;
  /// Whether window edges cut key tiles on the axis.
  bool cut = false;
};

/// What all axes contribute together.
struct GridCost {
  double queryTiles = 1, keyTiles = 1;
  int64_t cutAxes = 0;
  int64_t queries = 1, keys = 1;

  GridCost with(const AxisCost &axis, int64_t queryTile,
                int64_t keyTile) const {
    return {queryTiles * axis.queryTiles, keyTiles * axis.keyTiles,
            cutAxes + axis.cut, queries * queryTile, keys * keyTile};
  }
};

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

/// The tokens of the largest residue class.
int64_t modelSize(const Problem &problem, size_t i) {
  return window::classSize<int64_t>(problem.axes[i], modelLength(problem, i),
                                    0);
}

/// Key tiles of all query tiles of a residue class of `size` tokens, of which
/// the grid has `tiles`.
double countKeyTiles(const window::Axis &axis, int64_t size, int64_t tiles,
                     int64_t queryTile, int64_t keyTile) {
  int64_t step = std::max<int64_t>(1, tiles / maxModelTiles), count = 0;
  double keyTiles = 0;
  for (int64_t tile = 0; tile < tiles; tile += step, ++count) {
    // A tile beyond a smaller class repeats its last query.
    int64_t begin = std::min(tile * queryTile, size - 1);
    int64_t end = std::min(begin + queryTile, size);
    auto span = window::tileSpan<int64_t>(axis, size, begin, end);
    keyTiles += double(window::ceilDiv(span.end - span.begin, keyTile));
  }
  return keyTiles * (double(tiles) / double(count));
}

AxisCost axisCost(const Problem &problem, size_t i, int64_t queryTile,
                  int64_t keyTile) {
  const window::Axis &axis = problem.axes[i];
  int64_t length = modelLength(problem, i), size = modelSize(problem, i);
  int64_t tiles = window::ceilDiv(size, queryTile);
  int64_t larger = length % axis.dilation;
  if (larger == 0)
    larger = axis.dilation;
  double keyTiles =
      double(larger) * countKeyTiles(axis, size, tiles, queryTile, keyTile);
  if (larger != axis.dilation)
    keyTiles += double(axis.dilation - larger) *
                countKeyTiles(axis, size - 1, tiles, queryTile, keyTile);
  AxisCost cost;
  cost.queryTiles = double(tiles) * double(axis.dilation);
  cost.keyTiles = keyTiles / cost.queryTiles;
  cost.cut = axis.causal || window::canCut(axis, size, queryTile) ||
             axis.window % keyTile != 0;
  return cost;
}

/// Combines what the axes contribute. The weights were fitted to measurements
/// on an AVX-512 host (docs/performance.md); only their ratios matter.
Cost combine(const Problem &problem, const GridCost &grid, int64_t lanes) {
  constexpr double exponential = 18; // vector operations of softmax per score
  constexpr double maskPerAxis = 3;
  constexpr double loadPerElement = 0.15;
  constexpr double transposePerElement = 1.2;
  constexpr double perKeyTile = 300;
  double queries = double(grid.queries), keys = double(grid.keys);
  double channels = double(problem.headDim) + double(problem.valueDim);
  // Partly filled vectors cost as much as full ones.
  double vectors = double(window::ceilDiv(grid.queries, lanes)) *
                   (double(problem.tileElementBytes) / 4);
  double scores = grid.keyTiles * keys * vectors;
  double products = scores * channels;
  // Narrow register blocks leave the multipliers waiting for loads.
  if (vectors < 4)
    products *= 1 + 0.15 * (4 - vectors);
  Cost cost;
  double perQueryTile =
      products + scores * (exponential + maskPerAxis * double(grid.cutAxes)) +
      grid.keyTiles * keys * channels * loadPerElement +
      queries * channels * transposePerElement +
      grid.keyTiles * (perKeyTile + 2 * double(problem.valueDim) * vectors);
  double tileBytes = double(problem.tileElementBytes) *
                     (queries * (channels + keys) + keys * channels);
  // Tiles that do not stay in the second-level cache.
  constexpr double cacheBytes = 512 * 1024;
  if (tileBytes > cacheBytes)
    perQueryTile *= tileBytes / cacheBytes;
  cost.cycles = perQueryTile * grid.queryTiles;
  cost.keyTiles = grid.keyTiles;
  cost.tileBytes = tileBytes;
  return cost;
}

/// Query/key pairs on one axis.
double pairCount(const Problem &problem, size_t i) {
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

/// Extents worth trying for a query tile on an axis of `size` positions.
std::vector<int64_t> queryExtents(int64_t size) {
  std::vector<int64_t> extents;
  for (int64_t extent = 1; extent <= 128; extent *= 2) {
    extents.push_back(extent);
    if (extent >= size)
      break;
  }
  return extents;
}

/// The longest span of a query tile on an axis, or a bound on it where finding
/// it would take a walk along the axis.
int64_t longestSpan(const window::Axis &axis, int64_t size, int64_t queryTile) {
  if (window::ceilDiv(size, queryTile) <= maxModelTiles)
    return window::maxSpan(axis, size, queryTile);
  int64_t beyond = size - axis.window; // the sum below may overflow
  return axis.window + std::min(beyond, queryTile + axis.stride);
}

/// Extents worth trying for a key tile where spans are at most `span` long.
std::vector<int64_t> keyExtents(int64_t span) {
  std::set<int64_t> extents;
  for (int64_t extent : {1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256})
    if (extent <= span)
      extents.insert(extent);
  // Divisions of the span itself leave no partly filled last tile.
  for (int64_t parts = 1; parts <= 8; ++parts)
    extents.insert(std::min<int64_t>(window::ceilDiv(span, parts), 512));
  return {extents.begin(), extents.end()};
}

/// One way to tile one axis.
struct AxisChoice {
  int64_t queryTile, keyTile;
  AxisCost cost;
};

/// All ways to tile an axis that are worth trying.
std::vector<AxisChoice> axisChoices(const Problem &problem, size_t i,
                                    const Tiling &fixed) {
  const window::Axis &axis = problem.axes[i];
  int64_t size = modelSize(problem, i);
  std::vector<int64_t> queryTiles = fixed.queryTile.empty()
                                        ? queryExtents(size)
                                        : std::vector{fixed.queryTile[i]};
  std::vector<AxisChoice> choices;
  for (int64_t queryTile : queryTiles) {
    std::vector<int64_t> keyTiles =
        fixed.keyTile.empty() ? keyExtents(longestSpan(axis, size, queryTile))
                              : std::vector{fixed.keyTile[i]};
    for (int64_t keyTile : keyTiles)
      choices.push_back(
          {queryTile, keyTile, axisCost(problem, i, queryTile, keyTile)});
  }
  return choices;
}

/// Walks through all combinations of the axes' choices.
class Search {
public:
  Search(const Problem &problem, const Tiling &fixed, int64_t lanes)
      : problem(problem), lanes(lanes),
        maxQueries(fixed.queryTile.empty() ? 128 : unlimited),
        maxKeys(fixed.keyTile.empty() ? 512 : unlimited),
        current(problem.axes.size()) {
    for (size_t i = 0; i < problem.axes.size(); ++i)
      choices.push_back(axisChoices(problem, i, fixed));
  }

  Tiling run() {
    visit(0, GridCost());
    return best;
  }

private:
  static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

  void visit(size_t axis, const GridCost &grid) {
    if (axis == choices.size()) {
      double cycles = combine(problem, grid, lanes).cycles;
      if (cycles < bestCycles) {
        bestCycles = cycles;
        best = {};
        for (const AxisChoice *choice : current) {
          best.queryTile.push_back(choice->queryTile);
          best.keyTile.push_back(choice->keyTile);
        }
      }
      return;
    }
    for (const AxisChoice &choice : choices[axis]) {
      if (choice.queryTile > maxQueries / grid.queries ||
          choice.keyTile > maxKeys / grid.keys)
        continue;
      current[axis] = &choice;
      visit(axis + 1, grid.with(choice.cost, choice.queryTile, choice.keyTile));
    }
  }

  const Problem &problem;
  int64_t lanes, maxQueries, maxKeys;
  std::vector<std::vector<AxisChoice>> choices;
  std::vector<const AxisChoice *> current;
  Tiling best;
  double bestCycles = std::numeric_limits<double>::infinity();
};

} // namespace

std::string Cost::describe() const {
  char text[160];
  std::snprintf(text, sizeof(text),
                "predicted %.3g cycles per head, waste %.2f, %.3g key tiles "
                "per query tile, %.0f KiB of tiles",
                cycles, waste, keyTiles, std::floor(tileBytes / 1024));
  return text;
}

Cost schedule::predictCpu(const Problem &problem, const Tiling &tiling,
                          int64_t lanes) {
  GridCost grid;
  double needed = 1;
  for (size_t i = 0; i < problem.axes.size(); ++i) {
    int64_t queryTile = tiling.queryTile[i], keyTile = tiling.keyTile[i];
    grid =
        grid.with(axisCost(problem, i, queryTile, keyTile), queryTile, keyTile);
    needed *= pairCount(problem, i);
  }
  Cost cost = combine(problem, grid, lanes);
  cost.waste = grid.queryTiles * double(grid.queries) * grid.keyTiles *
               double(grid.keys) / needed;
  return cost;
}

Tiling schedule::searchCpu(const Problem &problem, const Tiling &fixed,
                           int64_t lanes) {
  return Search(problem, fixed, lanes).run();
}
