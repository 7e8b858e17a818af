//===- CostModel.cpp - Predicted cost of a tiling, and the search ---------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AxisModel.h"
#include "BestOf.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>

using namespace na;
using namespace na::schedule;

namespace {

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
  double softmax = scores * (exponential + maskPerAxis * double(grid.cutAxes));
  double perQueryTile =
      products + softmax + grid.keyTiles * keys * channels * loadPerElement +
      queries * channels * transposePerElement +
      grid.keyTiles * (perKeyTile + 2 * double(problem.valueDim) * vectors);
  double tileBytes = double(problem.tileElementBytes) *
                     (queries * (channels + keys) + keys * channels);
  // Tiles that do not stay in the second-level cache.
  constexpr double cacheBytes = 512 * 1024;
  cost.productShare = products / perQueryTile;
  cost.softmaxShare = softmax / perQueryTile;
  cost.moveShare = 1 - cost.productShare - cost.softmaxShare;
  if (tileBytes > cacheBytes)
    perQueryTile *= tileBytes / cacheBytes;
  cost.cycles = perQueryTile * grid.queryTiles;
  cost.keyTiles = grid.keyTiles;
  cost.tileBytes = tileBytes;
  return cost;
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

/// All ways to tile an axis that are worth trying.
std::vector<AxisChoice> axisChoices(const Problem &problem, size_t i,
                                    const Tiling &fixed) {
  int64_t size = modelSize(problem, i);
  std::vector<int64_t> queryTiles = fixed.queryTile.empty()
                                        ? queryExtents(size)
                                        : std::vector{fixed.queryTile[i]};
  return axisChoices(problem, i, queryTiles, fixed.keyTile, keyExtents);
}

/// Walks through all combinations of the axes' choices.
class Search {
public:
  Search(const Problem &problem, size_t count, const Tiling &fixed,
         int64_t lanes)
      : problem(problem), lanes(lanes),
        maxQueries(fixed.queryTile.empty() ? 128 : unlimited),
        maxKeys(fixed.keyTile.empty() ? 512 : unlimited),
        current(problem.axes.size()), best(count) {
    for (size_t i = 0; i < problem.axes.size(); ++i)
      choices.push_back(axisChoices(problem, i, fixed));
  }

  std::vector<Tiling> run() {
    visit(0, GridCost());
    return best.take();
  }

private:
  static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

  void visit(size_t axis, const GridCost &grid) {
    if (axis == choices.size()) {
      double cycles = combine(problem, grid, lanes).cycles;
      if (best.accepts(cycles))
        best.insert(cycles, makeTiling(current));
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
  BestOf<Tiling> best;
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

std::vector<Tiling> schedule::rankCpu(const Problem &problem, size_t count,
                                      const Tiling &fixed, int64_t lanes) {
  return Search(problem, count, fixed, lanes).run();
}

Tiling schedule::searchCpu(const Problem &problem, const Tiling &fixed,
                           int64_t lanes) {
  std::vector<Tiling> ranked = rankCpu(problem, 1, fixed, lanes);
  return ranked.empty() ? Tiling() : ranked.front();
}
