//===- GpuCostModel.cpp - Cost of a tiling on a GPU, and the search -------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Schedule/GpuCostModel.h"

#include "AxisModel.h"
#include "BestOf.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

using namespace na;
using namespace na::schedule;

namespace {

/// Rows, columns and depth of products come in multiples of this.
constexpr int64_t fragment = 16;

constexpr int64_t maxKeys = 256;
constexpr int64_t maxThreads = 1024;

constexpr std::array<GpuChip, 5> chips = {{
    {"sm_80", 108, 163 << 10, 164 << 10, 1024, 64, 36, 1.41},
    {"sm_86", 84, 99 << 10, 100 << 10, 512, 128, 24, 1.7},
    {"sm_87", 16, 163 << 10, 164 << 10, 1024, 128, 24, 1.3},
    {"sm_89", 142, 99 << 10, 100 << 10, 512, 128, 24, 2.5},
    {"sm_90", 132, 227 << 10, 228 << 10, 1280, 128, 28, 1.65, true},
}};

/// What all axes contribute together. Rows are queries and columns keys, or the
/// reverse for gradients of keys and values.
struct GridCost {
  explicit GridCost(const Problem &problem)
      : hasKeyRows(problem.hasKeyRows()) {}

  bool hasKeyRows;
  double rowTiles = 1, columnTiles = 1, insideTiles = 1;
  int64_t cutAxes = 0;
  int64_t rows = 1, columns = 1;
  /// Most keys of a tile that one query sees, and how many of these follow each
  /// other in its slots.
  int64_t slots = 1, run = 1;
  /// Keys that a query sees in all tiles.
  double window = 1;
  int64_t axes = 0;
  /// Whether positions in a key tile take divisions that are no shifts. The
  /// first axis is what is left of the others.
  bool divides = false;

  /// Queries of a pair of tiles, which have slots, and keys.
  int64_t queries() const { return hasKeyRows ? columns : rows; }
  int64_t keys() const { return hasKeyRows ? rows : columns; }
  /// Slots that a query has in a pair of tiles, on average.
  double meanSlots() const {
    // Window edges leave less than a tile can have.
    double pairs = window * double(rows) / columnTiles;
    return std::min(double(slots), pairs / double(queries()));
  }

  GridCost with(const AxisCost &axis, int64_t rowTile, int64_t columnTile,
                int64_t window) const {
    GridCost all = *this;
    all.rowTiles *= axis.rowTiles;
    all.columnTiles *= axis.columnTiles;
    all.insideTiles *= axis.cut ? axis.insideTiles : axis.columnTiles;
    all.cutAxes += axis.cut;
    if (all.axes++ > 0)
      all.divides |= (columnTile & (columnTile - 1)) != 0;
    all.rows *= rowTile;
    all.columns *= columnTile;
    int64_t seen = std::min(hasKeyRows ? rowTile : columnTile, window);
    all.slots *= seen;
    all.window *= double(window);
    // One key tile has the whole window on the axis: the next keys of the axis
    // further out follow.
    all.run = axis.columnTiles <= 1 && !hasKeyRows ? run * seen : seen;
    return all;
  }
};

/// The part of a tiling that axes do not determine.
struct BlockShape {
  int64_t warps, stages, valueTile;
};

/// What a thread block takes of a multiprocessor.
struct Resources {
  int64_t sharedBytes, registers, spilled, blocks;
};

/// Registers of a thread whose warp owns `rows` queries. Fitted to what ptxas
/// takes for kernels of na-to-nvvm.
int64_t countRegisters(const GpuProblem &problem, const GridCost &grid,
                       int64_t rows, int64_t values) {
  constexpr int64_t ofDivisions = 20, ofBias = 70;
  // Small query tiles are read once and stay in registers; others take
  // addresses and what is on its way.
  constexpr int64_t mostResident = 32;
  int64_t queries = rows * alignUp(problem.headDim, fragment) *
                    std::min<int64_t>(problem.operandBytes, 4) / 128;
  bool resident = queries <= mostResident;
  int64_t others = resident ? queries + 58 : 68;
  int64_t perCutAxis = resident ? 7 : 4;
  // The scores' registers are reused for the weights in the type of values.
  int64_t scores = rows * grid.columns / 32;
  if (!problem.fused) {
    // Weights are in shared memory; on their way to it they are in registers,
    // and places of slots are.
    int64_t groups = window::ceilDiv(grid.slots, 32);
    scores =
        (problem.headDim > 0 ? scores : std::min<int64_t>(8 * groups, 32)) +
        groups * (grid.axes + 2);
  }
  return rows * values / 32 + scores + others + perCutAxis * grid.cutAxes +
         (grid.divides ? ofDivisions : 0) + (problem.hasBias ? ofBias : 0);
}

/// None if the block does not fit.
std::optional<Resources> getResources(const GpuProblem &problem,
                                      const GpuChip &chip, const GridCost &grid,
                                      const BlockShape &shape) {
  constexpr int64_t maxRegisters = 255, maxSpilled = 4;
  constexpr int64_t registersPerMultiprocessor = 64 << 10;
  constexpr int64_t reservedBytes = 1 << 10; // by the driver, per block
  if (shape.warps < 1 || grid.rows % shape.warps != 0)
    return std::nullopt;
  int64_t rows = grid.rows / shape.warps;
  if ((rows != 16 && rows != 32) || grid.columns % fragment != 0 ||
      grid.columns > maxKeys || shape.warps * 32 > maxThreads)
    return std::nullopt;
  // Each warp gathers the weights of queries of its own.
  if (grid.hasKeyRows && grid.columns % (fragment * shape.warps) != 0)
    return std::nullopt;
  int64_t channels = alignUp(problem.headDim, fragment);
  int64_t values = alignUp(shape.valueTile, fragment);
  Resources result;
  result.sharedBytes = problem.operandBytes *
                       (grid.rows * channels +
                        shape.stages * grid.columns * (channels + values));
  // What stands between slots and fragments, see nagpu.scatter.
  if (!problem.fused)
    result.sharedBytes +=
        (grid.queries() + 1) *
        (grid.keys() * (problem.headDim > 0 ? 4 : problem.operandBytes) + 48);
  int64_t wanted = countRegisters(problem, grid, rows, values);
  result.registers = std::min(wanted, maxRegisters);
  result.spilled = wanted - result.registers;
  if (result.sharedBytes > chip.sharedPerBlock || result.spilled > maxSpilled)
    return std::nullopt;
  int64_t threads = shape.warps * 32;
  result.blocks = std::min(
      {chip.sharedPerMultiprocessor / (result.sharedBytes + reservedBytes),
       registersPerMultiprocessor / (alignUp(result.registers, 8) * threads),
       2 * maxThreads / threads});
  if (result.blocks < 1)
    return std::nullopt;
  return result;
}

/// Cycles of a multiprocessor's units.
struct Work {
  double tensor = 0, shared = 0, vector = 0, cache = 0;

  /// What one warp does one after the other. Matrix loads run ahead of the
  /// products that wait for them.
  double sum() const { return tensor + 0.1 * shared + vector + 0.4 * cache; }
  double largest() const { return std::max({tensor, shared, vector, cache}); }
  const char *limit() const {
    double most = largest();
    return most == tensor   ? "tensor cores"
           : most == vector ? "softmax"
           : most == shared ? "shared memory"
                            : "cache";
  }
};

/// Operations that move the scores of a key tile to their slots, or weights
/// from there.
double slotOperations(const GpuProblem &problem, const GridCost &grid) {
  double queries = double(grid.queries()), axes = double(grid.axes);
  bool scatters = problem.headDim > 0;
  // Of a warp: what is read of a row, and per 32 slots a comparison an axis,
  // two addresses, a load and a store; of weights also where to put what does
  // not exist.
  double perRow = 3, perGroup = axes + (scatters ? 4 : 6);
  double groups = double(window::ceilDiv(grid.slots, 32));
  // Of eight rows: where they are and how many slots they have.
  double perRows = 25 + 10 * axes;
  // Scaling and half a store; or zeros, 16 bytes at a time.
  double perEntry = scatters ? 1.5 : double(problem.operandBytes) / 16;
  return queries * (32 * (perRow + groups * perGroup) + 4 * perRows +
                    perEntry * double(grid.keys()));
}

/// Bytes that these move: whole sectors, of which runs of slots end in two that
/// others share.
double slotBytes(const GpuProblem &problem, const GridCost &grid) {
  constexpr double sector = 32;
  double bytes = problem.slotBytes     ? double(problem.slotBytes)
                 : problem.headDim > 0 ? 4
                                       : double(problem.operandBytes);
  double run = double(grid.run);
  double sectors = 1 + (run - 1) * bytes / sector;
  return double(grid.queries()) * grid.meanSlots() / run * sectors * sector;
}

/// Cycles in which the operands of products on FMA units are read: a thread of
/// a warp has a block of its rows and columns, and reads vectors of both.
double fmaLoads(const GridCost &grid, const BlockShape &shape, double head,
                double values) {
  // Of 16 bytes, and of 8, a lane; most lanes read what others read.
  constexpr double perVector = 2.5, perPair = 1.5;
  double warps = double(shape.warps), keys = double(grid.columns);
  double rows = double(grid.rows) / warps / 8;
  double scores = head / 4 * (rows + keys / 4) * perVector;
  double sums =
      values == 0 ? 0 : keys / 4 * (rows * perVector + values / 2 * perPair);
  return warps * (scores + sums);
}

/// The work of one key tile. `maskedShare` of the tiles are masked.
Work keyTileWork(const GpuProblem &problem, const GpuChip &chip,
                 const GridCost &grid, const BlockShape &shape,
                 double maskedShare, int64_t spilled) {
  // Operations per score: maximum, multiply-add, sum, half a conversion and
  // what exponentials hold back.
  constexpr double perScore = 7;
  constexpr double maskPerAxis = 3;
  // Per 16 bytes: address, bounds, and the asynchronous copy.
  double perCopy = grid.divides ? 8 : 4;
  // Instructions of a warp: loop, position of the tile, barriers, statistics.
  constexpr double perWarp = 200;
  // Of a lane: stores and loads that others wait for.
  constexpr double perSpilled = 16;
  constexpr double sharedRate = 200;
  // Without tensor cores.
  double productRate =
      problem.operandBytes == 2 ? chip.tensorRate : chip.vectorRate;

  double queries = double(grid.rows), keys = double(grid.columns);
  double values = double(alignUp(shape.valueTile, fragment));
  double head = double(alignUp(problem.headDim, fragment));
  double tileBytes = double(problem.operandBytes) * keys * (head + values);
  double scores = queries * keys;
  Work work;
  work.tensor = scores * (head + values) / productRate;
  // Every warp reads the tiles and its rows of the queries.
  work.shared = (double(shape.warps + 1) * tileBytes +
                 double(problem.operandBytes) * queries * head) /
                sharedRate;
  double ofScores =
      problem.fused
          ? scores * (perScore + maskedShare * maskPerAxis * grid.cutAxes) +
                queries * values
          : slotOperations(problem, grid);
  double operations =
      ofScores + perCopy * tileBytes / 16 +
      (perWarp + perSpilled * double(spilled)) * 32 * double(shape.warps);
  work.vector = operations / chip.vectorRate;
  work.cache = tileBytes / chip.cacheRate;
  if (!problem.fused)
    work.cache += slotBytes(problem, grid) / chip.cacheRate;
  if (problem.operandBytes == 4)
    work.shared = fmaLoads(grid, shape, head, values);
  return work;
}

/// Combines what the axes contribute. Only ratios of the result matter.
GpuCost combine(const GpuProblem &problem, const GpuChip &chip,
                const GridCost &grid, const BlockShape &shape,
                const Resources &resources) {
  constexpr double latency = 200;     // of a key tile, beside its work
  constexpr double loadLatency = 900; // that a single stage does not hide
  constexpr double perBlock = 2500;   // start, query tile, windows, output
  constexpr double perWarp = 1500;    // instructions of these
  GpuCost cost;
  cost.hasKeyRows = grid.hasKeyRows;
  double additional =
      double(window::ceilDiv(problem.additionalKeys, grid.columns));
  cost.keyTiles = grid.columnTiles + additional;
  cost.maskedShare =
      grid.cutAxes == 0 ? 0
                        : (grid.columnTiles - grid.insideTiles) / cost.keyTiles;
  cost.sharedBytes = resources.sharedBytes;
  cost.registers = resources.registers;
  cost.spilled = resources.spilled;
  int64_t chunks = shape.valueTile == 0
                       ? 1
                       : window::ceilDiv(problem.valueDim, shape.valueTile);
  // A batch that is not known fills the chip.
  double batchHeads = problem.batchHeads == dynamicLength
                          ? double(8 * chip.multiprocessors)
                          : double(problem.batchHeads);
  cost.blocks = batchHeads * double(chunks) * grid.rowTiles;
  double perMultiprocessor =
      std::ceil(cost.blocks / double(chip.multiprocessors));
  cost.blocksPerMultiprocessor = int64_t(
      std::min(double(resources.blocks), std::max(1.0, perMultiprocessor)));

  // A warp computes on one of four schedulers, and does one thing after the
  // other; what other blocks and, as far as barriers let them, other warps of
  // the scheduler do meanwhile fills the gaps.
  double warps = double(shape.warps);
  double alone = std::max(1.0, 4 / warps);
  double overlap = double(cost.blocksPerMultiprocessor) *
                   std::max(1.0, 1 + 0.5 * (warps / 4 - 1));
  auto elapsed = [&](double throughput, double sum, double exposed) {
    return throughput +
           std::max(0.0, sum * alone + exposed - throughput) / overlap;
  };
  Work work = keyTileWork(problem, chip, grid, shape, cost.maskedShare,
                          resources.spilled);
  // The first load is waited for whatever the stages.
  double waits = shape.stages > 1 ? 0 : std::max(0.0, 1 - 1 / cost.keyTiles);
  double perKeyTile =
      elapsed(work.largest(), work.sum(), latency + waits * loadLatency);
  // Products and slots take turns in a block; another one fills the gaps.
  constexpr double ofOneBlock = 1.3; // not measured
  if (!problem.fused && resources.blocks == 1)
    perKeyTile *= ofOneBlock;
  double head = double(problem.headDim + shape.valueTile);
  double edges =
      double(grid.rows) * head * double(problem.operandBytes) / chip.cacheRate +
      perWarp * 32 * warps / chip.vectorRate;
  edges = elapsed(edges, edges, perBlock);
  cost.limit = work.limit();
  cost.cycles = perMultiprocessor * (cost.keyTiles * perKeyTile + edges);
  double perShare = cost.keyTiles / (cost.keyTiles * perKeyTile + edges);
  cost.tensorShare = work.tensor * perShare;
  cost.softmaxShare = work.vector * perShare;
  cost.sharedShare = work.shared * perShare;
  cost.cacheShare = work.cache * perShare;
  return cost;
}

/// Queries of a tile. Large ones read keys less often.
constexpr std::array<int64_t, 4> queryCounts = {16, 32, 64, 128};

std::vector<int64_t> keyExtents(int64_t span) {
  return gpuColumnExtents(
      span,
      {1, 2, 4, 8, 16, 32, 48, 64, 80, 96, 112, 128, 160, 176, 192, 224, 256},
      maxKeys);
}

/// Channels of the values worth trying.
std::vector<int64_t> valueTiles(int64_t channels) {
  std::vector<int64_t> tiles;
  for (int64_t chunks = 1; chunks <= 64; ++chunks) {
    int64_t tile = std::min(
        channels, alignUp(window::ceilDiv(channels, chunks), fragment));
    if (tile <= 256 && (tiles.empty() || tile < tiles.back()))
      tiles.push_back(tile);
    if (tile <= 64)
      break;
  }
  return tiles;
}

/// All ways to tile an axis that are worth trying.
std::vector<AxisChoice> axisChoices(const GpuProblem &problem, size_t i,
                                    const GpuTiling &fixed) {
  int64_t size = modelSize(problem, i);
  // The last axis takes what small axes leave of a tile.
  bool last = i + 1 == problem.axes.size();
  const std::vector<int64_t> &fixedRows = fixed.getRowTile(problem);
  std::vector<int64_t> rowTiles =
      !fixedRows.empty()
          ? std::vector{fixedRows[i]}
          : rowExtents(last ? std::max(size, queryCounts.back()) : size,
                       queryCounts.back());
  return axisChoices(problem, i, rowTiles, fixed.getColumnTile(problem),
                     keyExtents);
}

/// Walks through all combinations of the axes' choices.
class Search {
public:
  Search(const GpuProblem &whole, const GpuChip &chip, size_t count,
         const GpuTiling &fixed)
      : problem(withHeadsPerTile(whole, fixed.headsPerTile)), chip(chip),
        fixed(fixed), values(fixed.valueTile ? std::vector{fixed.valueTile}
                                             : valueTiles(problem.valueDim)),
        current(problem.axes.size()), best(count) {
    for (size_t i = 0; i < problem.axes.size(); ++i)
      choices.push_back(axisChoices(problem, i, fixed));
  }

  std::vector<GpuTiling> run() {
    // Small tiles are for problems of few tokens, and for those that fit none
    // else.
    GridCost none(problem);
    none.rows = fixed.headsPerTile;
    int64_t tokens = fixed.headsPerTile;
    for (size_t i = 0; i < problem.axes.size(); ++i)
      tokens *= std::min(modelSize(problem, i), queryCounts.back());
    leastQueries = tokens <= 32 ? 16 : 64;
    visit(0, none);
    if (best.empty()) {
      leastQueries = 16;
      visit(0, none);
    }
    return best.take();
  }

private:
  void visit(size_t axis, const GridCost &grid) {
    if (axis == choices.size())
      return visitShapes(grid);
    for (const AxisChoice &choice : choices[axis]) {
      if (choice.columnTile > maxKeys / grid.columns)
        continue;
      if (fixed.getRowTile(problem).empty() &&
          choice.rowTile > queryCounts.back() / grid.rows)
        continue;
      current[axis] = &choice;
      visit(axis + 1, grid.with(choice.cost, choice.rowTile, choice.columnTile,
                                problem.axes[axis].window));
    }
  }

  void visitShapes(const GridCost &grid) {
    if (grid.columns % fragment != 0 || grid.rows % fragment != 0 ||
        (fixed.getRowTile(problem).empty() && grid.rows < leastQueries))
      return;
    for (int64_t rows : {32, 16}) {
      if (fixed.warps ? grid.rows != rows * fixed.warps : grid.rows % rows != 0)
        continue;
      for (int64_t stages : {2, 1, 3}) {
        if (fixed.stages && fixed.stages != stages)
          continue;
        for (int64_t valueTile : values)
          visit(grid, {grid.rows / rows, stages, valueTile});
      }
    }
  }

  void visit(const GridCost &grid, const BlockShape &shape) {
    std::optional<Resources> resources =
        getResources(problem, chip, grid, shape);
    if (!resources)
      return;
    double cycles = combine(problem, chip, grid, shape, *resources).cycles;
    if (!best.accepts(cycles))
      return;
    GpuTiling tiling;
    static_cast<Tiling &>(tiling) = makeTiling(problem, current);
    tiling.headsPerTile = fixed.headsPerTile;
    tiling.warps = shape.warps;
    tiling.stages = shape.stages;
    tiling.valueTile = shape.valueTile;
    bool distinct = fixed.queryTile.empty() || fixed.keyTile.empty();
    best.insert(cycles, std::move(tiling),
                [&](const GpuTiling &a, const GpuTiling &b) {
                  return distinct && a.queryTile == b.queryTile &&
                         a.keyTile == b.keyTile;
                });
  }

  GpuProblem problem;
  const GpuChip &chip;
  const GpuTiling &fixed;
  std::vector<int64_t> values;
  int64_t leastQueries = 0;
  std::vector<std::vector<AxisChoice>> choices;
  std::vector<const AxisChoice *> current;
  BestOf<GpuTiling> best;
};

} // namespace

const GpuChip *schedule::findGpuChip(const std::string &name) {
  for (const GpuChip &chip : chips)
    if (name == chip.name || name == std::string(chip.name) + "a")
      return &chip;
  return nullptr;
}

std::string schedule::listGpuChips() {
  std::string names;
  for (const GpuChip &chip : chips)
    names += (names.empty() ? "" : ", ") + std::string(chip.name) +
             (chip.hasWarpgroups ? ", " + std::string(chip.name) + "a" : "");
  return names;
}

std::string GpuCost::describe() const {
  char text[320];
  std::snprintf(
      text, sizeof(text),
      "predicted %.3g cycles, waste %.2f, %.3g %s (%.0f%% masked), %.0f thread "
      "blocks (%d per multiprocessor), %.1f KiB of shared "
      "memory, %d registers (%d spilled), limited by %s",
      cycles, waste, keyTiles,
      hasKeyRows ? "query tiles per key tile" : "key tiles per query tile",
      100 * maskedShare, blocks, int(blocksPerMultiprocessor),
      double(sharedBytes) / 1024, int(registers), int(spilled), limit);
  return text;
}

GpuProblem schedule::withHeadsPerTile(const GpuProblem &problem,
                                      int64_t heads) {
  GpuProblem packed = problem;
  if (packed.batchHeads != dynamicLength)
    packed.batchHeads = window::ceilDiv(packed.batchHeads, heads);
  return packed;
}

bool schedule::canShareTile(const GpuProblem &problem, int64_t heads) {
  // Beyond two axes the TMA has no dimension left for heads.
  constexpr int64_t maxHeads = 64;
  constexpr size_t maxAxes = 2;
  return heads == 1 ||
         (heads >= 1 && heads <= maxHeads && problem.headGroup % heads == 0 &&
          problem.axes.size() <= maxAxes);
}

std::optional<GpuCost> schedule::predictGpu(const GpuProblem &whole,
                                            const GpuChip &chip,
                                            const GpuTiling &tiling) {
  if (!canShareTile(whole, tiling.headsPerTile))
    return std::nullopt;
  GpuProblem problem = withHeadsPerTile(whole, tiling.headsPerTile);
  GridCost grid(problem);
  grid.rows = tiling.headsPerTile;
  double needed = double(tiling.headsPerTile), queries = needed;
  for (size_t i = 0; i < problem.axes.size(); ++i) {
    int64_t rowTile = tiling.getRowTile(problem)[i];
    int64_t columnTile = tiling.getColumnTile(problem)[i];
    grid = grid.with(axisCost(problem, i, rowTile, columnTile), rowTile,
                     columnTile, problem.axes[i].window);
    needed *= pairCount(problem, i);
    queries *= modelTokens(problem, i);
  }
  needed += queries * double(problem.additionalKeys);
  BlockShape shape{tiling.warps, tiling.stages, tiling.valueTile};
  std::optional<Resources> resources = getResources(problem, chip, grid, shape);
  if (!resources)
    return std::nullopt;
  GpuCost cost = combine(problem, chip, grid, shape, *resources);
  cost.waste = grid.rowTiles * double(grid.rows) * cost.keyTiles *
               double(grid.columns) / needed;
  return cost;
}

std::vector<GpuTiling> schedule::rankGpu(const GpuProblem &problem,
                                         const GpuChip &chip, size_t count,
                                         const GpuTiling &fixed) {
  if (!canShareTile(problem, fixed.headsPerTile))
    return {};
  return Search(problem, chip, count, fixed).run();
}

std::optional<GpuTiling> schedule::searchGpu(const GpuProblem &problem,
                                             const GpuChip &chip,
                                             const GpuTiling &fixed) {
  std::vector<GpuTiling> ranked = rankGpu(problem, chip, 1, fixed);
  if (ranked.empty())
    return std::nullopt;
  return ranked.front();
}
