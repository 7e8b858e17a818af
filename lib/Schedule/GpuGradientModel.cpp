//===- GpuGradientModel.cpp - Tilings of gradients on a GPU ---------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Schedule/GpuGradientModel.h"

#include "AxisModel.h"
#include "BestOf.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

using namespace na;
using namespace na::schedule;

namespace {

/// Rows of a warp; columns and depth of products come in multiples of this.
constexpr int64_t fragment = 16;
/// Rows of a tile. One warp for each of the four schedulers at least, where
/// there are enough tokens.
constexpr std::array<int64_t, 4> rowCounts = {16, 32, 64, 128};
constexpr int64_t maxColumns = 128;

/// What all axes contribute together.
struct GridCost {
  double rowTiles = 1, columnTiles = 1, insideTiles = 1;
  int64_t cutAxes = 0;
  int64_t rows = 1, columns = 1;

  GridCost with(const AxisCost &axis, int64_t rowTile,
                int64_t columnTile) const {
    return {rowTiles * axis.rowTiles,
            columnTiles * axis.columnTiles,
            insideTiles * (axis.cut ? axis.insideTiles : axis.columnTiles),
            cutAxes + axis.cut,
            rows * rowTile,
            columns * columnTile};
  }
};

struct Resources {
  int64_t sharedBytes, registers, blocks;
};

/// Channels of the tiles of rows and of columns, of the accumulators, and of
/// all products of a score.
struct Channels {
  int64_t rows, columns, accumulators, products;
};

Channels getChannels(const GpuProblem &problem) {
  int64_t head = alignUp(problem.headDim, fragment);
  int64_t value = alignUp(problem.valueDim, fragment), both = head + value;
  switch (problem.gradient) {
  case Gradient::KeysAndValues:
    return {both, both, both, 2 * both};
  case Gradient::Values:
    return {head, both, value, both};
  default:
    return {both, both, head, head + both};
  }
}

/// Bytes of LSE and delta that come with a query of the columns.
int64_t getStatisticBytes(const GpuProblem &problem) {
  if (!problem.hasKeyRows())
    return 0;
  return problem.gradient == Gradient::Values ? 4 : 2 * 4;
}

/// None if the block does not fit.
std::optional<Resources> getResources(const GpuProblem &problem,
                                      const GpuChip &chip, const GridCost &grid,
                                      int64_t stages) {
  constexpr int64_t maxRegisters = 255, maxThreads = 1024;
  constexpr int64_t registersPerMultiprocessor = 64 << 10;
  constexpr int64_t reservedBytes = 1 << 10; // by the driver, per block
  constexpr int64_t ofOthers = 72, perCutAxis = 4;
  // Entries of the bias in flight, of fewest columns as ptxas has it.
  const int64_t ofBias = grid.columns == fragment ? 20 : 40;
  if (grid.rows % fragment != 0 || grid.columns % fragment != 0)
    return std::nullopt;
  Channels channels = getChannels(problem);
  Resources result;
  result.sharedBytes =
      problem.operandBytes * (channels.rows * grid.rows +
                              channels.columns * stages * grid.columns) +
      stages * grid.columns * getStatisticBytes(problem);
  // Of a thread: accumulators, scores and products of the output's gradient,
  // and one of them in the type of the operands.
  int64_t ofElement = problem.operandBytes == 8 ? 2 : 1;
  int64_t scores = ofElement * fragment * grid.columns / 32;
  int64_t scoreTiles = problem.gradient == Gradient::Values ? 1 : 2;
  result.registers = ofElement * fragment * channels.accumulators / 32 +
                     scoreTiles * scores + scores / 2 + ofOthers +
                     perCutAxis * grid.cutAxes + (problem.hasBias ? ofBias : 0);
  int64_t threads = grid.rows / fragment * 32;
  if (result.sharedBytes > chip.sharedPerBlock ||
      result.registers > maxRegisters || threads > maxThreads)
    return std::nullopt;
  result.blocks = std::min(
      {chip.sharedPerMultiprocessor / (result.sharedBytes + reservedBytes),
       registersPerMultiprocessor / (alignUp(result.registers, 8) * threads),
       2 * maxThreads / threads});
  if (result.blocks < 1)
    return std::nullopt;
  return result;
}

/// Combines what the axes contribute. Only ratios of the result matter.
GpuGradientCost combine(const GpuProblem &problem, const GpuChip &chip,
                        const GridCost &grid, int64_t stages,
                        const Resources &resources) {
  // Operations per score: exponential, difference, product and conversions.
  constexpr double perScore = 9, maskPerAxis = 3;
  constexpr double perCopy = 6;       // of 16 bytes
  constexpr double perWarp = 250;     // instructions of a column tile
  constexpr double sharedRate = 200;  // bytes per cycle
  constexpr double latency = 400;     // of a column tile, beside its work
  constexpr double loadLatency = 900; // that a single stage does not hide
  constexpr double perBlock = 4000;   // start, row tiles, windows, results
  Channels channels = getChannels(problem);
  double rows = double(grid.rows), columns = double(grid.columns);
  double warps = rows / double(fragment);
  double scores = rows * columns;
  double bytes = double(problem.operandBytes);
  double tileBytes = bytes * columns * double(channels.columns);

  GpuGradientCost cost;
  double additional =
      double(window::ceilDiv(problem.additionalKeys, grid.columns));
  cost.columnTiles = grid.columnTiles + additional;
  cost.maskedShare = grid.cutAxes == 0 ? 0
                                       : (grid.columnTiles - grid.insideTiles) /
                                             cost.columnTiles;
  cost.hasKeyRows = problem.hasKeyRows();
  cost.sharedBytes = resources.sharedBytes;
  cost.registers = resources.registers;
  double batchHeads = problem.batchHeads == dynamicLength
                          ? double(8 * chip.multiprocessors)
                          : double(problem.batchHeads);
  cost.blocks = batchHeads * grid.rowTiles;
  double perMultiprocessor =
      std::ceil(cost.blocks / double(chip.multiprocessors));
  cost.blocksPerMultiprocessor = int64_t(
      std::min(double(resources.blocks), std::max(1.0, perMultiprocessor)));

  double rate = problem.operandBytes == 2 ? chip.tensorRate : chip.vectorRate;
  double tensor = scores * double(channels.products) / rate;
  // Every warp reads what its products take of the column tiles, and its rows.
  double shared = (warps * bytes * columns * double(channels.products) +
                   bytes * rows * double(channels.rows) + tileBytes) /
                  sharedRate;
  double vector = (scores * (perScore + maskPerAxis * cost.maskedShare *
                                            double(grid.cutAxes)) +
                   perCopy * tileBytes / 16 + perWarp * 32 * warps) /
                  chip.vectorRate;
  double cache = tileBytes / chip.cacheRate;
  double largest = std::max({tensor, shared, vector, cache});
  // A warp does one thing after the other; others fill the gaps.
  double alone = (tensor + 0.2 * shared + vector + 0.4 * cache) *
                     std::max(1.0, 4 / warps) +
                 latency + (stages > 1 ? 0 : loadLatency);
  double overlap = double(cost.blocksPerMultiprocessor) *
                   std::max(1.0, 1 + 0.5 * (warps / 4 - 1));
  double perColumnTile = largest + std::max(0.0, alone - largest) / overlap;
  double edges = bytes * rows * double(channels.rows + channels.accumulators) /
                     chip.cacheRate +
                 perBlock / overlap;
  cost.cycles = perMultiprocessor * (cost.columnTiles * perColumnTile + edges);
  double tiles = perMultiprocessor * cost.columnTiles / cost.cycles;
  cost.tensorShare = tensor * tiles;
  cost.vectorShare = vector * tiles;
  cost.sharedShare = shared * tiles;
  cost.cacheShare = cache * tiles;
  return cost;
}

std::vector<int64_t> columnExtents(int64_t span) {
  return gpuColumnExtents(span, {1, 2, 4, 8, 16, 32, 48, 64, 80, 96, 128},
                          maxColumns);
}

/// Walks through all combinations of the axes' choices.
class Search {
public:
  Search(const GpuProblem &problem, const GpuChip &chip, size_t count,
         const GpuTiling &fixed)
      : problem(problem), chip(chip), fixed(fixed),
        fixedRows(!fixed.getRowTile(problem).empty()),
        current(problem.axes.size()), best(count) {
    for (size_t i = 0; i < problem.axes.size(); ++i) {
      int64_t size = modelSize(problem, i);
      // The last axis takes what small axes leave of a tile.
      if (i + 1 == problem.axes.size())
        size = std::max(size, rowCounts.back());
      choices.push_back(
          axisChoices(problem, i,
                      fixedRows ? std::vector{fixed.getRowTile(problem)[i]}
                                : rowExtents(size, rowCounts.back()),
                      fixed.getColumnTile(problem), columnExtents));
    }
  }

  std::vector<GpuTiling> run() {
    int64_t tokens = 1;
    for (size_t i = 0; i < problem.axes.size(); ++i)
      tokens *= std::min(modelSize(problem, i), rowCounts.back());
    leastRows = tokens <= 32 ? fragment : 64;
    // Nor are there more rows than tokens.
    while (mostRows > fragment && mostRows / 2 >= tokens)
      mostRows /= 2;
    visit(0, GridCost());
    if (best.empty()) {
      leastRows = fragment;
      visit(0, GridCost());
    }
    return best.take();
  }

private:
  void visit(size_t axis, const GridCost &grid) {
    if (axis == choices.size()) {
      for (int64_t stages : {2, 1, 3})
        if (!fixed.stages || fixed.stages == stages)
          visitStages(grid, stages);
      return;
    }
    for (const AxisChoice &choice : choices[axis]) {
      if (choice.columnTile > maxColumns / grid.columns ||
          (!fixedRows && choice.rowTile > mostRows / grid.rows))
        continue;
      current[axis] = &choice;
      visit(axis + 1,
            grid.with(choice.cost, choice.rowTile, choice.columnTile));
    }
  }

  void visitStages(const GridCost &grid, int64_t stages) {
    if ((!fixedRows && grid.rows < leastRows) ||
        (fixed.warps && grid.rows != fragment * fixed.warps))
      return;
    std::optional<Resources> resources =
        getResources(problem, chip, grid, stages);
    if (!resources)
      return;
    double cycles = combine(problem, chip, grid, stages, *resources).cycles;
    if (!best.accepts(cycles))
      return;
    GpuTiling tiling;
    static_cast<Tiling &>(tiling) = makeTiling(problem, current);
    tiling.warps = grid.rows / fragment;
    tiling.stages = stages;
    best.insert(cycles, std::move(tiling));
  }

  const GpuProblem &problem;
  const GpuChip &chip;
  const GpuTiling &fixed;
  bool fixedRows;
  int64_t leastRows = 0, mostRows = rowCounts.back();
  std::vector<std::vector<AxisChoice>> choices;
  std::vector<const AxisChoice *> current;
  BestOf<GpuTiling> best;
};

} // namespace

std::string GpuGradientCost::describe() const {
  char text[320];
  std::snprintf(text, sizeof(text),
                "predicted %.3g cycles, waste %.2f, %.3g %s (%.0f%% masked), "
                "%.0f thread blocks (%d per multiprocessor), %.1f KiB of "
                "shared memory, %d registers",
                cycles, waste, columnTiles,
                hasKeyRows ? "query tiles per key tile"
                           : "key tiles per query tile",
                100 * maskedShare, blocks, int(blocksPerMultiprocessor),
                double(sharedBytes) / 1024, int(registers));
  return text;
}

std::optional<GpuGradientCost>
schedule::predictGpuGradient(const GpuProblem &problem, const GpuChip &chip,
                             const GpuTiling &tiling) {
  GridCost grid;
  double needed = 1, tokens = 1;
  for (size_t i = 0; i < problem.axes.size(); ++i) {
    int64_t rowTile = tiling.getRowTile(problem)[i];
    int64_t columnTile = tiling.getColumnTile(problem)[i];
    grid = grid.with(axisCost(problem, i, rowTile, columnTile), rowTile,
                     columnTile);
    needed *= pairCount(problem, i);
    tokens *= modelTokens(problem, i);
  }
  needed += tokens * double(problem.additionalKeys);
  if (grid.rows != fragment * tiling.warps)
    return std::nullopt;
  std::optional<Resources> resources =
      getResources(problem, chip, grid, tiling.stages);
  if (!resources)
    return std::nullopt;
  GpuGradientCost cost =
      combine(problem, chip, grid, tiling.stages, *resources);
  cost.waste = grid.rowTiles * double(grid.rows) * cost.columnTiles *
               double(grid.columns) / needed;
  return cost;
}

std::vector<GpuTiling> schedule::rankGpuGradient(const GpuProblem &problem,
                                                 const GpuChip &chip,
                                                 size_t count,
                                                 const GpuTiling &fixed) {
  return Search(problem, chip, count, fixed).run();
}

std::optional<GpuTiling> schedule::searchGpuGradient(const GpuProblem &problem,
                                                     const GpuChip &chip,
                                                     const GpuTiling &fixed) {
  std::vector<GpuTiling> tilings = rankGpuGradient(problem, chip, 1, fixed);
  return tilings.empty() ? std::nullopt
                         : std::optional(std::move(tilings.front()));
}
