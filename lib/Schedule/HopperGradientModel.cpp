//===- HopperGradientModel.cpp - Gradients on Hopper ----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Schedule/HopperGradientModel.h"

#include "na/Schedule/WarpgroupBudgets.h"

#include "AxisModel.h"
#include "BestOf.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>

using namespace na;
using namespace na::schedule;

namespace {

constexpr int64_t maxGradientWarpgroups = 2;
constexpr int64_t ownRows = 64;
/// Columns of one product, and rows of a box of the TMA.
constexpr int64_t maxColumns = 192, columnMultiple = 16;
constexpr int64_t maxRegisters = mostConsumerRegisters;

/// A tiling as rows and columns.
struct Shape {
  int64_t warpgroups, columns, stages;
};

/// Channels of the sums that a row owns, of the tiles of rows, and of all
/// products of a score. Tiles of columns have those of all operands.
struct Channels {
  int64_t sums, rows, products;
};

Channels getChannels(const GpuProblem &problem) {
  int64_t head = problem.headDim, value = problem.valueDim, both = head + value;
  switch (problem.gradient) {
  case Gradient::All:
    return {both, both, head + 2 * both};
  case Gradient::KeysAndValues:
    return {both, both, 2 * both};
  case Gradient::Values:
    return {value, head, both};
  default:
    return {head, both, head + both};
  }
}

int64_t countSharedBytes(const GpuProblem &problem, const Shape &shape) {
  int64_t rows = shape.warpgroups * ownRows;
  int64_t columns = shape.stages * shape.columns;
  // LSE and delta of the queries.
  int64_t statistics = (problem.gradient == Gradient::Values ? 4 : 2 * 4) *
                       (problem.hasKeyRows() ? columns : rows);
  int64_t bytes =
      problem.operandBytes * (getChannels(problem).rows * rows +
                              (problem.headDim + problem.valueDim) * columns) +
      statistics + gradientBookkeepingBytes;
  // The gradients of scores, and the f32 that are added to those of queries.
  if (problem.gradient == Gradient::All)
    bytes += shape.columns *
             (shape.stages * rows * problem.operandBytes + 4 * problem.headDim);
  return bytes;
}

bool hasNarrowWeights(const GpuProblem &problem, int64_t columns) {
  // Where they are the operand of a product, and read behind it.
  bool both = problem.gradient == Gradient::KeysAndValues ||
              problem.gradient == Gradient::All;
  return both && needsNarrowWeights(getChannels(problem).sums / 2, columns);
}

int64_t countRegisters(const GpuProblem &problem, int64_t columns) {
  // Without gradients of scores it is what attention needs.
  if (problem.gradient == Gradient::Values)
    return countConsumerRegisters(columns, problem.valueDim);
  return countGradientRegisters(getChannels(problem).sums / 2, columns,
                                hasNarrowWeights(problem, columns));
}

/// None if the block does not fit.
std::optional<WarpgroupBudgets>
getBudgets(const GpuProblem &problem, const GpuChip &chip, const Shape &shape) {
  int64_t bytes = countSharedBytes(problem, shape);
  int64_t registers = countRegisters(problem, shape.columns);
  if (bytes > chip.sharedPerBlock || registers > maxRegisters ||
      shape.columns > maxColumns || shape.columns % columnMultiple != 0 ||
      (problem.gradient == Gradient::All &&
       shape.warpgroups != maxGradientWarpgroups))
    return std::nullopt;
  bool ofValues = problem.gradient == Gradient::Values;
  int64_t ofProduct = countProductRegisters(
      shape.columns, ofValues ? problem.valueDim
                              : std::max(problem.headDim, problem.valueDim));
  WarpgroupBudgets budgets =
      getWarpgroupBudgets(shape.warpgroups, registers, ofProduct, bytes,
                          /*wide=*/ofValues && problem.valueDim == 128);
  if (!budgets.fits)
    return std::nullopt;
  return budgets;
}

/// Whether nagpu-defer-column-sums can divide what is added to the gradients of
/// queries between the warpgroups: blocks of channels, or where there is one
/// block, parts of the box of queries.
bool canDivideSums(const GpuProblem &problem,
                   const std::vector<int64_t> &columns) {
  return problem.gradient != Gradient::All || problem.headDim > ownRows ||
         findDividedAxis(columns, maxGradientWarpgroups);
}

/// What all axes contribute together.
struct Work {
  double blocks = 1, loaded = 1, computed = 1, masked = 0, unmasked = 1;
  /// Whether the columns of a box do not repeat with the 8 columns of a block
  /// of a fragment, so that masks take more instructions.
  bool irregular = false;
};

bool isIrregular(const GpuProblem &problem,
                 const std::vector<int64_t> &columns) {
  constexpr int64_t block = 8;
  int64_t inner = columns.back();
  return problem.hasKeyRows() && columns.size() > 1 && inner % block != 0 &&
         block % inner != 0;
}

void addAxis(Work &work, const AxisCost &all, const AxisCost &own) {
  // Tiles start at the span of the block, not of the warpgroup.
  constexpr double perOffset = 0.5;
  double computed = std::min(all.columnTiles, own.columnTiles + perOffset);
  work.blocks *= all.rowTiles;
  work.loaded *= all.columnTiles;
  work.computed *= computed;
  if (own.cut) {
    double inside = std::min(1.0, own.insideTiles / computed);
    work.masked += 1 - inside;
    work.unmasked *= inside;
  }
}

HopperGradientCost combine(const GpuProblem &problem, const GpuChip &chip,
                           const Shape &shape, const WarpgroupBudgets &budgets,
                           const Work &work) {
  // Multiply-adds of a multiprocessor, and lanes of its other units.
  constexpr double tensorRate = 2048, vectorRate = 128;
  // Instructions of a score, and of its mask on an axis.
  constexpr double perScore = 11, perMask = 2;
  // What a unit does not hide of the other, and what of a tile all warpgroups
  // of a multiprocessor share.
  constexpr double exposed = 0.2;
  double perTile = problem.gradient == Gradient::All ? 1350 : 550;
  // A warpgroup waits for its products one after the other.
  constexpr double leastTile = 1400;
  constexpr double perBlock = 2000, cacheRate = 36;
  Channels channels = getChannels(problem);
  double warpgroups = double(shape.warpgroups);
  double scores = warpgroups * ownRows * double(shape.columns);
  double bytes =
      double(problem.operandBytes * (problem.headDim + problem.valueDim));

  HopperGradientCost cost;
  cost.hasKeyRows = problem.hasKeyRows();
  cost.sharedBytes = countSharedBytes(problem, shape);
  cost.registers = countRegisters(problem, shape.columns);
  double batchHeads = problem.batchHeads == dynamicLength
                          ? double(8 * chip.multiprocessors)
                          : double(problem.batchHeads);
  cost.blocks = work.blocks * batchHeads;
  double perMultiprocessor =
      std::max(1.0, std::ceil(cost.blocks / double(chip.multiprocessors)));
  double resident = std::min(double(budgets.blocks), perMultiprocessor);
  cost.blocksPerMultiprocessor = int64_t(resident);
  double additional =
      double(window::ceilDiv(problem.additionalKeys, shape.columns));
  cost.loaded = work.loaded + additional;
  cost.computed = work.computed + additional;

  // Products of loaded tiles read both operands from shared memory, which for
  // few columns takes longer than the products.
  constexpr double sharedRate = 128, bytesOfElement = 2;
  double columns = double(shape.columns), rows = double(ownRows);
  double ofScores = double(problem.headDim) * warpgroups;
  if (problem.gradient != Gradient::Values)
    ofScores += double(problem.valueDim) * warpgroups;
  double reading = (rows + columns) * bytesOfElement / sharedRate;
  double tensor =
      scores * double(channels.products) / tensorRate +
      ofScores * std::max(0.0, reading - rows * columns / tensorRate);
  double vector = scores * (perScore + perMask * work.masked) / vectorRate;
  double busy = resident * warpgroups;
  // In this time all warpgroups of the block do one tile.
  double tile = std::max({tensor, vector, leastTile * warpgroups / busy}) +
                exposed * std::min(tensor, vector) * 2 / busy + perTile / busy;
  double load = double(shape.columns) * bytes / cacheRate;
  double edges = warpgroups * ownRows * 2 * bytes / cacheRate + perBlock;
  cost.cycles =
      perMultiprocessor *
      (std::max(cost.computed * tile, cost.loaded * load) + edges / resident);
  double needed = 1;
  for (size_t i = 0; i < problem.axes.size(); ++i)
    needed *= pairCount(problem, i);
  // An H200 took 8 % longer with 8x10 than with 10x8 queries, by masks and the
  // registers that they need.
  constexpr double irregularMasks = 1.05;
  // Masks spill where products take all registers.
  constexpr double spilledMasks = 1.03;
  if (work.irregular && work.masked > 0)
    cost.cycles *= irregularMasks;
  if (problem.hasKeyRows() && work.masked > 0 && cost.registers == maxRegisters)
    cost.cycles *= spilledMasks;
  cost.waste = work.blocks * work.computed * scores / needed;
  cost.maskedShare = (1 - work.unmasked) * work.computed / cost.computed;
  double perTime = perMultiprocessor / cost.cycles;
  cost.tensorShare = cost.computed * tensor * perTime;
  cost.vectorShare = cost.computed * vector * perTime;
  cost.cacheShare = cost.loaded * load * perTime;
  return cost;
}

class Search {
public:
  Search(const GpuProblem &problem, const GpuChip &chip, size_t count)
      : problem(problem), chip(chip), rank(problem.axes.size()), own(rank),
        column(rank), best(count) {}

  std::vector<HopperTiling> run() {
    visitBoxes(ownRows, own, [&] { visitShapes(); });
    return best.take();
  }

private:
  void visitShapes() {
    for (int64_t warpgroups : {2, 1})
      for (int64_t columns = maxColumns; columns > 0;
           columns -= columnMultiple) {
        shape = {warpgroups, columns, HopperTiling().stages};
        budgets = getBudgets(problem, chip, shape);
        if (!budgets || isForHandsOnly())
          continue;
        for (split = 0; split < (warpgroups > 1 ? rank : 1); ++split)
          visitBoxes(columns, column, [&] { visit(); });
      }
  }

  /// No time of two programs with narrow weights is known.
  bool isForHandsOnly() const {
    return problem.gradient != Gradient::All &&
           hasNarrowWeights(problem, shape.columns);
  }

  const AxisCost &getAxis(size_t axis, int64_t rowTile, int64_t columnTile) {
    auto [it, inserted] =
        costs.try_emplace({int64_t(axis), rowTile, columnTile});
    if (inserted)
      it->second = axisCost(problem, axis, rowTile, columnTile);
    return it->second;
  }

  void visit() {
    if (!canDivideSums(problem, column))
      return;
    Work work;
    work.irregular = isIrregular(problem, column);
    for (size_t i = 0; i < rank; ++i)
      addAxis(
          work,
          getAxis(i, own[i] * (i == split ? shape.warpgroups : 1), column[i]),
          getAxis(i, own[i], column[i]));
    double cycles = combine(problem, chip, shape, *budgets, work).cycles;
    if (!best.accepts(cycles))
      return;
    HopperTiling tiling;
    tiling.warpgroupTile = own;
    std::vector<int64_t> rows = own;
    rows[split] *= shape.warpgroups;
    tiling.queryTile = problem.hasKeyRows() ? column : rows;
    tiling.keyTile = problem.hasKeyRows() ? rows : column;
    tiling.stages = shape.stages;
    best.insert(cycles, std::move(tiling));
  }

  const GpuProblem &problem;
  const GpuChip &chip;
  size_t rank, split = 0;
  Shape shape = {};
  std::optional<WarpgroupBudgets> budgets;
  std::map<std::array<int64_t, 3>, AxisCost> costs;
  std::vector<int64_t> own, column;
  BestOf<HopperTiling> best;
};

} // namespace

std::string HopperGradientCost::describe() const {
  char text[320];
  std::snprintf(text, sizeof(text),
                "predicted %.3g cycles, waste %.2f, %.3g %s tiles per thread "
                "block, of which a warpgroup computes %.3g, %.0f thread blocks "
                "(%d per multiprocessor), %.1f KiB of shared memory, %d "
                "registers",
                cycles, waste, loaded, hasKeyRows ? "query" : "key", computed,
                blocks, int(blocksPerMultiprocessor),
                double(sharedBytes) / 1024, int(registers));
  return text;
}

bool schedule::isForGradientWarpgroups(const GpuProblem &problem) {
  constexpr int64_t maxChannels = 256, channelMultiple = 16;
  constexpr size_t maxRank = 3;
  auto fits = [](int64_t channels) {
    return channels > 0 && channels <= maxChannels &&
           channels % channelMultiple == 0;
  };
  bool narrow = problem.gradient != Gradient::None &&
                problem.operandBytes == 2 && fits(problem.headDim) &&
                fits(problem.valueDim);
  // The gradients of the queries are added up in blocks of 64 channels, by two
  // warpgroups.
  if (problem.gradient == Gradient::All)
    narrow &= problem.headDim == ownRows ||
              problem.headDim == maxGradientWarpgroups * ownRows;
  for (int64_t length : problem.lengths)
    narrow &= length != dynamicLength;
  return narrow && problem.axes.size() <= maxRank;
}

std::optional<HopperGradientCost>
schedule::predictHopperGradient(const GpuProblem &problem, const GpuChip &chip,
                                const HopperTiling &tiling) {
  const std::vector<int64_t> &rows =
      problem.hasKeyRows() ? tiling.keyTile : tiling.queryTile;
  const std::vector<int64_t> &columns =
      problem.hasKeyRows() ? tiling.queryTile : tiling.keyTile;
  Shape shape = {1, 1, tiling.stages};
  Work work;
  int64_t own = 1;
  for (size_t i = 0; i < problem.axes.size(); ++i) {
    int64_t extent = tiling.warpgroupTile[i], warpgroups = rows[i] / extent;
    if (rows[i] % extent != 0 ||
        warpgroups * shape.warpgroups > maxGradientWarpgroups)
      return std::nullopt;
    shape.warpgroups *= warpgroups;
    shape.columns *= columns[i];
    own *= extent;
    addAxis(work, axisCost(problem, i, rows[i], columns[i]),
            axisCost(problem, i, extent, columns[i]));
  }
  work.irregular = isIrregular(problem, columns);
  std::optional<WarpgroupBudgets> budgets = getBudgets(problem, chip, shape);
  if (own != ownRows || !budgets || !canDivideSums(problem, columns))
    return std::nullopt;
  return combine(problem, chip, shape, *budgets, work);
}

/// Cycles of the passes over the workspace of the gradients of queries: it is
/// set to zero, added to, read again and rounded.
static double countWorkspaceCycles(const GpuProblem &problem,
                                   const GpuChip &chip) {
  constexpr double bytesOfPasses = 16, bytesPerSecond = 3.9e12;
  double elements = double(problem.headDim) * double(problem.batchHeads);
  for (size_t i = 0; i < problem.axes.size(); ++i)
    elements *= modelTokens(problem, i);
  return elements * bytesOfPasses / bytesPerSecond * chip.gigahertz * 1e9;
}

/// Whether one program for all gradients, with that tiling, is faster than one
/// for those of queries and one for those of keys and values.
static bool isFasterTogether(const GpuProblem &problem, const GpuChip &chip,
                             const HopperTiling &tiling) {
  double together = predictHopperGradient(problem, chip, tiling)->cycles;
  if (problem.batchHeads != dynamicLength)
    together += countWorkspaceCycles(problem, chip);
  double apart = 0;
  for (Gradient gradient : {Gradient::Queries, Gradient::KeysAndValues}) {
    GpuProblem part = problem;
    part.gradient = gradient;
    std::optional<HopperTiling> best = searchHopperGradient(part, chip);
    if (!best)
      return true;
    apart += predictHopperGradient(part, chip, *best)->cycles;
  }
  return together < apart;
}

std::vector<HopperTiling>
schedule::rankHopperGradient(const GpuProblem &problem, const GpuChip &chip,
                             size_t count) {
  if (!isForGradientWarpgroups(problem) || !chip.hasWarpgroups)
    return {};
  std::vector<HopperTiling> tilings = Search(problem, chip, count).run();
  if (!tilings.empty() && problem.gradient == Gradient::All &&
      !isFasterTogether(problem, chip, tilings.front()))
    return {};
  return tilings;
}

std::optional<HopperTiling>
schedule::searchHopperGradient(const GpuProblem &problem, const GpuChip &chip) {
  std::vector<HopperTiling> tilings = rankHopperGradient(problem, chip, 1);
  return tilings.empty() ? std::nullopt
                         : std::optional(std::move(tilings.front()));
}
