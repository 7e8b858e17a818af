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
  double rowTiles = 1, columnTiles = 1;
  int64_t cutAxes = 0;
  int64_t rows = 1, columns = 1;

  GridCost with(const AxisCost &axis, int64_t rowTile,
                int64_t columnTile) const {
    return {rowTiles * axis.rowTiles, columnTiles * axis.columnTiles,
            cutAxes + axis.cut, rows * rowTile, columns * columnTile};
  }
};

/// How many channels take part in what.
struct Channels {
  /// Of the column tile.
  double columns;
  /// Products of each score.
  double products;
  /// Accumulators and other tiles of the rows.
  double accumulators, rows;
  /// Tiles of scores.
  double scoreTiles;
};

Channels getChannels(const Problem &problem) {
  double head = double(problem.headDim), value = double(problem.valueDim);
  switch (problem.gradient) {
  case Gradient::Queries:
    return {head + value, 2 * head + value, head, head + value, 2};
  case Gradient::KeysAndValues:
  case Gradient::All:
    return {head + value, 2 * (head + value), head + value, head + value, 2};
  case Gradient::Keys:
    return {head + value, 2 * head + value, head, head + value, 2};
  case Gradient::Values:
    return {head + value, head + value, value, head, 1};
  case Gradient::None:
  case Gradient::KeySums:
    break;
  }
  return {head + value, head + value, value, head, 1};
}

/// Combines what the axes contribute. The weights were fitted to measurements
/// on an AVX-512 host (docs/performance.md); only their ratios matter.
Cost combine(const Problem &problem, const GridCost &grid, int64_t lanes) {
  constexpr double exponential = 18; // vector operations of softmax per score
  constexpr double maskPerAxis = 3;
  constexpr double loadPerElement = 0.15;
  constexpr double transposePerElement = 1.2;
  constexpr double perColumnTile = 300;
  Channels channels = getChannels(problem);
  double rows = double(grid.rows), columns = double(grid.columns);
  double rowChannels = channels.accumulators + channels.rows;
  // Partly filled vectors cost as much as full ones.
  double vectors = double(window::ceilDiv(grid.rows, lanes)) *
                   (double(problem.tileElementBytes) / 4);
  double scores = grid.columnTiles * columns * vectors;
  double products = scores * channels.products;
  // Narrow register blocks leave the multipliers waiting for loads.
  if (vectors < 4)
    products *= 1 + 0.15 * (4 - vectors);
  Cost cost;
  double softmax = scores * (exponential + maskPerAxis * double(grid.cutAxes));
  double perRowTile =
      products + softmax +
      grid.columnTiles * columns * channels.columns * loadPerElement +
      rows * rowChannels * transposePerElement +
      grid.columnTiles * (perColumnTile + 2 * channels.accumulators * vectors);
  double tileBytes = double(problem.tileElementBytes) *
                     (rows * (rowChannels + channels.scoreTiles * columns) +
                      columns * channels.columns);
  // Tiles that do not stay in the second-level cache.
  constexpr double cacheBytes = 512 * 1024;
  cost.productShare = products / perRowTile;
  cost.softmaxShare = softmax / perRowTile;
  cost.moveShare = 1 - cost.productShare - cost.softmaxShare;
  if (tileBytes > cacheBytes)
    perRowTile *= tileBytes / cacheBytes;
  cost.cycles = perRowTile * grid.rowTiles;
  cost.columnTiles = grid.columnTiles;
  cost.hasKeyRows = problem.hasKeyRows();
  cost.tileBytes = tileBytes;
  return cost;
}

constexpr int64_t maxRowExtent = 128;

/// Extents worth trying for a column tile where spans are at most `span` long.
std::vector<int64_t> columnExtents(int64_t span) {
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
  const std::vector<int64_t> &fixedRows = fixed.getRowTile(problem);
  std::vector<int64_t> rowTiles = fixedRows.empty()
                                      ? rowExtents(size, maxRowExtent)
                                      : std::vector{fixedRows[i]};
  return axisChoices(problem, i, rowTiles, fixed.getColumnTile(problem),
                     columnExtents);
}

/// Walks through all combinations of the axes' choices.
class Search {
public:
  Search(const Problem &problem, size_t count, const Tiling &fixed,
         int64_t lanes)
      : problem(problem), lanes(lanes),
        maxRows(fixed.getRowTile(problem).empty() ? 128 : unlimited),
        maxColumns(fixed.getColumnTile(problem).empty() ? 512 : unlimited),
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
        best.insert(cycles, makeTiling(problem, current));
      return;
    }
    for (const AxisChoice &choice : choices[axis]) {
      if (choice.rowTile > maxRows / grid.rows ||
          choice.columnTile > maxColumns / grid.columns)
        continue;
      current[axis] = &choice;
      visit(axis + 1,
            grid.with(choice.cost, choice.rowTile, choice.columnTile));
    }
  }

  const Problem &problem;
  int64_t lanes, maxRows, maxColumns;
  std::vector<std::vector<AxisChoice>> choices;
  std::vector<const AxisChoice *> current;
  BestOf<Tiling> best;
};

} // namespace

std::string Cost::describe() const {
  char text[160];
  std::snprintf(text, sizeof(text),
                "predicted %.3g cycles per head, waste %.2f, %.3g %s, %.0f KiB "
                "of tiles",
                cycles, waste, columnTiles,
                hasKeyRows ? "query tiles per key tile"
                           : "key tiles per query tile",
                std::floor(tileBytes / 1024));
  return text;
}

Cost schedule::predictCpu(const Problem &problem, const Tiling &tiling,
                          int64_t lanes) {
  GridCost grid;
  double needed = 1;
  for (size_t i = 0; i < problem.axes.size(); ++i) {
    int64_t rowTile = tiling.getRowTile(problem)[i];
    int64_t columnTile = tiling.getColumnTile(problem)[i];
    grid = grid.with(axisCost(problem, i, rowTile, columnTile), rowTile,
                     columnTile);
    needed *= pairCount(problem, i);
  }
  Cost cost = combine(problem, grid, lanes);
  cost.waste = grid.rowTiles * double(grid.rows) * grid.columnTiles *
               double(grid.columns) / needed;
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
