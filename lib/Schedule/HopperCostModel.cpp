//===- HopperCostModel.cpp - Tilings of warpgroups on Hopper --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Schedule/HopperCostModel.h"

#include "na/Schedule/WarpgroupBudgets.h"

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

constexpr int64_t rows = 64;
/// Columns of one product, and rows of a box of the TMA.
constexpr int64_t maxKeys = 256;
constexpr int64_t keyMultiple = 16;
constexpr int64_t maxChannels = 256, channelMultiple = 16;
constexpr size_t maxRank = 3;

/// What one axis contributes to the work of a thread block.
struct AxisWork {
  /// Thread blocks.
  double blocks = 0;
  /// Key tiles that a block loads, summed over blocks.
  double loaded = 0;
  /// Key tiles that its warpgroups compute, and how many of them are not cut by
  /// a window edge, summed over blocks; on the axis of the warpgroups over the
  /// warpgroups too.
  double computed = 0, inside = 0;
  /// `computed`, where tiles that some warpgroups of a block do not compute
  /// count for more: nothing fills the gaps.
  double weighted = 0;
  bool cut = false;

  double maskedShare() const { return cut ? 1 - inside / computed : 0; }
};

/// An axis on which all warpgroups of a block have the same `queryTile`
/// queries.
AxisWork commonAxis(const Problem &problem, size_t i, int64_t queryTile,
                    int64_t keyTile) {
  AxisCost cost = axisCost(problem, i, queryTile, keyTile);
  AxisWork work;
  work.blocks = cost.rowTiles;
  work.loaded = work.computed = work.weighted =
      cost.columnTiles * cost.rowTiles;
  work.inside = cost.insideTiles * cost.rowTiles;
  work.cut = cost.cut;
  return work;
}

/// The axis along which `warpgroups` lie, each with `ownTile` queries. Counts
/// what the tiled program (TileWarpgroups.cpp) does.
AxisWork splitAxis(const Problem &problem, size_t i, int64_t warpgroups,
                   int64_t ownTile, int64_t keyTile) {
  constexpr double perMissing = 1.3;
  constexpr int64_t maxBlocks = 512; // more are sampled
  const window::Axis &axis = problem.axes[i];
  // Of the larger residue classes, which stand for all.
  int64_t size = modelSize(problem, i), queryTile = warpgroups * ownTile;
  int64_t blocks = window::ceilDiv(size, queryTile);
  bool differs = window::canCut(axis, size, queryTile);
  int64_t step = std::max<int64_t>(1, blocks / maxBlocks), count = 0;
  AxisWork work;
  for (int64_t block = 0; block < blocks; block += step, ++count) {
    int64_t begin = block * queryTile, end = std::min(begin + queryTile, size);
    SplitBlock split =
        splitBlock(axis, size, begin, warpgroups, ownTile, keyTile);
    work.loaded += double(split.tiles);
    for (int64_t g = 0; g < split.active; ++g) {
      int64_t from = begin + g * ownTile;
      auto interior = window::tileInterior<int64_t>(
          axis, size, from, std::min(from + ownTile, end));
      int64_t insideFirst =
          window::ceilDiv(interior.begin - split.span.begin, keyTile);
      int64_t insideLast =
          window::floorDiv(interior.end - split.span.begin, keyTile);
      double computed = double(split.last[g] - split.first[g]);
      work.computed += computed;
      work.inside += double(
          std::max<int64_t>(0, std::min(insideLast, split.last[g]) -
                                   std::max(insideFirst, split.first[g])));
      double missing = double(warpgroups - split.active);
      // Of three, the first and the last wait for each other.
      if (warpgroups == 3)
        missing += 1 - computed / double(split.tiles);
      work.weighted += computed * (1 + perMissing * missing);
    }
  }
  work.blocks = double(blocks) * double(axis.dilation);
  double weight = work.blocks / double(count);
  for (double *sum :
       {&work.loaded, &work.computed, &work.weighted, &work.inside})
    *sum *= weight;
  work.cut =
      differs || (axis.causal ? keyTile != 1 : axis.window % keyTile != 0);
  return work;
}

/// What all axes contribute together.
struct BlockWork {
  double blocks = 1, loaded = 1, computed = 1, weighted = 1;
  /// Axes on which a key tile is masked, on average, and the share of tiles
  /// without any mask.
  double maskedAxes = 0, unmaskedShare = 1;
  int64_t cutAxes = 0;

  void add(const AxisWork &axis) {
    double share = axis.maskedShare();
    blocks *= axis.blocks;
    loaded *= axis.loaded;
    computed *= axis.computed;
    weighted *= axis.weighted;
    maskedAxes += share;
    unmaskedShare *= 1 - share;
    cutAxes += axis.cut;
  }
};

/// The part of a tiling that axes do not determine.
struct BlockShape {
  int64_t warpgroups, keys, stages;
  bool separable;
};

/// Adds the tiles of additional keys, which every block loads and all of its
/// warpgroups compute.
void addAdditionalKeys(const GpuProblem &problem, const BlockShape &shape,
                       BlockWork &work) {
  if (problem.additionalKeys == 0)
    return;
  double tiles =
      work.blocks * double(window::ceilDiv(problem.additionalKeys, shape.keys));
  double computed = tiles * double(shape.warpgroups);
  double share = work.computed / (work.computed + computed);
  work.loaded += tiles;
  work.computed += computed;
  work.weighted += computed;
  work.maskedAxes *= share;
  work.unmaskedShare = work.unmaskedShare * share + 1 - share;
}

/// Whether the coordinates in a key tile of the columns that a thread holds are
/// numbers known at compile time plus a part that depends on the thread alone:
/// a mask then is a comparison per coordinate and a selection per score.
/// Columns come in groups of 8.
bool hasSeparableColumns(const std::vector<int64_t> &keyTile,
                         bool cutsOuterAxes) {
  int64_t last = keyTile.back();
  int64_t others = keyTile.size() > 1 ? keyTile[keyTile.size() - 2] : 1;
  if (last % 8 == 0)
    return true;
  if (last != 4 && last != 2 && last != 1)
    return false;
  return !cutsOuterAxes || others % (8 / last) == 0;
}

int64_t countSharedBytes(const GpuProblem &problem, const BlockShape &shape) {
  return problem.operandBytes * (shape.warpgroups * rows * problem.headDim +
                                 shape.stages * shape.keys *
                                     (problem.headDim + problem.valueDim)) +
         bookkeepingBytes;
}

/// None if the block does not fit.
std::optional<WarpgroupBudgets> getBudgets(const GpuProblem &problem,
                                           const GpuChip &chip,
                                           const BlockShape &shape) {
  // Places in the table and what is on its way from there, as measured.
  constexpr int64_t ofBias = 24;
  int64_t bytes = countSharedBytes(problem, shape);
  if (bytes > chip.sharedPerBlock || shape.keys > maxKeys ||
      shape.keys % keyMultiple != 0)
    return std::nullopt;
  WarpgroupBudgets budgets = getWarpgroupBudgets(shape.warpgroups, shape.keys,
                                                 problem.valueDim, bytes);
  int64_t needed = countConsumerRegisters(shape.keys, problem.valueDim) +
                   (problem.hasBias ? ofBias : 0);
  if (!budgets.fits || (problem.hasBias && needed > budgets.consumer))
    return std::nullopt;
  return budgets;
}

/// Pieces in which the TMA copies the channels of a row.
double countPieces(int64_t channels) {
  int64_t width = channels % 64 == 0 ? 64 : channels % 32 == 0 ? 32 : 16;
  return double(channels / width);
}

/// Cycles that a thread block keeps units busy, and all that it takes.
struct BlockCycles {
  double tensor = 0, exponentials = 0, cache = 0, masks = 0, all = 0;
};

/// Cycles of the kernel; `parts`, if given, gets those of a thread block. The
/// constants were fitted to 140 measurements of generated kernels on an H200
/// (2026-11-30), of problems with head dims of 32 to 256, most of which it
/// meets within 10 %.
double predictCycles(const GpuProblem &problem, const GpuChip &chip,
                     const BlockWork &work, const BlockShape &shape,
                     const WarpgroupBudgets &budgets,
                     BlockCycles *parts = nullptr) {
  // Of a score of each of 64 queries: matrix units, per channel of keys and
  // values; exponentials; and what two warpgroups reach where neither unit
  // hides the other.
  constexpr double perChannel = 0.032, perExponential = 3.1;
  constexpr double ofTwo = 2.26, ofTwoPerChannel = 0.0261;
  // Of a tile: instructions of its loop and its statistics, and what of the
  // latencies two warpgroups leave.
  constexpr double perTile = 43, latency = 359;
  constexpr int64_t comfortableRegisters = 232;
  constexpr double crowded = 34;
  // Likewise, of a score that is masked on one axis.
  constexpr double perMask = 0.45, maskLatency = 2.5;
  constexpr double perInseparable = 0.89, inseparableLatency = 1.6;
  // Likewise, of a score that has a bias: a load, mostly from the first-level
  // cache, and its address. Not measured.
  constexpr double perBias = 10;
  // Code that might have to mask, where it does not.
  constexpr double perCutAxis = 34;
  // Of a block: the first tiles and the results; and what each warpgroup does.
  constexpr double perBlock = 850, perWarpgroup = 300;
  // Bytes that a multiprocessor gets from the second-level cache.
  constexpr double cacheRate = 36;
  // Tiles come in pieces of 128, 64 or 32 bytes of a row, whichever divides it.
  // The narrowest take longer, and each has a copy of its own.
  constexpr int64_t wideChannels = 32;
  constexpr double narrowPieces = 1.9, perPiece = 49;

  double blocks = work.blocks;
  double perMultiprocessor = std::numeric_limits<double>::infinity();
  if (problem.batchHeads != dynamicLength) {
    blocks *= double(problem.batchHeads);
    perMultiprocessor =
        std::max(1.0, std::ceil(blocks / double(chip.multiprocessors)));
  }
  double resident = std::min(double(budgets.blocks), perMultiprocessor);
  double busy = resident * double(shape.warpgroups);
  double channels = double(problem.headDim + problem.valueDim);
  double unit = std::max(perChannel * channels, perExponential);
  double perKey =
      unit +
      std::max(0.0, ofTwo + ofTwoPerChannel * channels - unit) * 2 / busy +
      (problem.hasBias ? perBias : 0);
  double perMasked = shape.separable
                         ? perMask + maskLatency / busy
                         : perInseparable + inseparableLatency / busy;
  double tile = perTile + latency / busy + perCutAxis * double(work.cutAxes) +
                double(shape.keys) * (perKey + perMasked * work.maskedAxes);
  if (countConsumerRegisters(shape.keys, problem.valueDim) >
      comfortableRegisters)
    tile += crowded * 2 / busy;
  double warpgroups = double(shape.warpgroups);
  double bytes = double(problem.operandBytes) * channels;
  if (problem.headDim % wideChannels != 0 ||
      problem.valueDim % wideChannels != 0)
    bytes *= narrowPieces;
  double pieces = countPieces(problem.headDim) + countPieces(problem.valueDim);
  double load = double(shape.keys) * bytes / cacheRate + perPiece * pieces;
  double cycles =
      std::max(work.weighted * tile, work.loaded * load) / work.blocks +
      perBlock / resident +
      warpgroups * (perWarpgroup + double(rows) * bytes / cacheRate);
  if (parts) {
    double keys = double(shape.keys), computed = work.computed / work.blocks;
    parts->tensor = computed * keys * perChannel * channels;
    parts->exponentials = computed * keys * perExponential;
    parts->cache = work.loaded / work.blocks * load;
    parts->masks = computed * keys * perMasked * work.maskedAxes;
    parts->all = cycles;
  }
  return cycles * (problem.batchHeads == dynamicLength ? work.blocks
                                                       : perMultiprocessor);
}

/// The work of one axis for all tiles that the search asks for.
class AxisTable {
public:
  AxisTable(const GpuProblem &problem, size_t axis)
      : problem(problem), axis(axis) {}

  /// One warpgroup is none that the axis is split among.
  const AxisWork &get(int64_t ownTile, int64_t keyTile, int64_t warpgroups) {
    size_t exponent = 0;
    while ((int64_t(1) << exponent) < ownTile)
      ++exponent;
    std::optional<AxisWork> &entry =
        entries[size_t(warpgroups - 1)][exponent][size_t(keyTile)];
    if (!entry)
      entry = warpgroups > 1
                  ? splitAxis(problem, axis, warpgroups, ownTile, keyTile)
                  : commonAxis(problem, axis, ownTile, keyTile);
    return *entry;
  }

private:
  const GpuProblem &problem;
  size_t axis;
  std::array<std::array<std::array<std::optional<AxisWork>, maxKeys + 1>, 7>,
             maxWarpgroups>
      entries;
};

class Search {
public:
  Search(const GpuProblem &whole, const GpuChip &chip, size_t count,
         int64_t heads)
      : problem(withHeadsPerTile(whole, heads)), chip(chip),
        rank(problem.axes.size()), heads(heads), others(count - 1) {
    for (size_t i = 0; i < rank; ++i)
      tables.emplace_back(problem, i);
    own.resize(rank);
    key.resize(rank);
  }

  std::vector<HopperTiling> run() {
    visitBoxes(rows / heads, own, [&] { visitShapes(); });
    std::vector<HopperTiling> ranked = others.take();
    if (selected)
      ranked.insert(ranked.begin(), std::move(*selected));
    return ranked;
  }

private:
  void visitShapes() {
    for (int64_t warpgroups : {1, 2, 3})
      for (int64_t keys = maxKeys; keys > 0; keys -= keyMultiple) {
        shape = {warpgroups, keys, stages, true};
        budgets = getBudgets(problem, chip, shape);
        if (!budgets)
          continue;
        for (split = 0; split < (warpgroups > 1 ? rank : 1); ++split)
          visitBoxes(keys, key, [&] { visit(); });
      }
  }

  void visit() {
    BlockWork work;
    bool cutsOuterAxes = false;
    for (size_t i = 0; i < rank; ++i) {
      const AxisWork &axis =
          tables[i].get(own[i], key[i], i == split ? shape.warpgroups : 1);
      work.add(axis);
      cutsOuterAxes |= axis.cut && i + 1 < rank;
    }
    addAdditionalKeys(problem, shape, work);
    shape.separable = hasSeparableColumns(key, cutsOuterAxes);
    double cycles = predictCycles(problem, chip, work, shape, *budgets);
    if (!isSelected(cycles) && !others.accepts(cycles))
      return;
    HopperTiling tiling;
    tiling.warpgroupTile = tiling.queryTile = own;
    tiling.queryTile[split] *= shape.warpgroups;
    tiling.keyTile = key;
    tiling.stages = stages;
    tiling.headsPerTile = heads;
    if (isSelected(cycles)) {
      if (selected)
        others.insert(selectedCycles, std::move(*selected));
      selectedCycles = cycles;
      selectedWarpgroups = shape.warpgroups;
      selected = std::move(tiling);
    } else {
      others.insert(cycles, std::move(tiling));
    }
  }

  /// Near ties go to what was tried first: more keys, not rounding errors. A
  /// block of one warpgroup shares its multiprocessor with others, which the
  /// model does not do full justice.
  bool isSelected(double cycles) const {
    double margin = selectedWarpgroups == 1 ? 0.05 : 1e-6;
    return !selected || cycles < selectedCycles * (1 - margin);
  }

  GpuProblem problem;
  const GpuChip &chip;
  const int64_t stages = HopperTiling().stages;
  size_t rank, split = 0;
  int64_t heads;
  BlockShape shape = {};
  std::optional<WarpgroupBudgets> budgets;
  std::vector<AxisTable> tables;
  std::vector<int64_t> own, key;
  std::optional<HopperTiling> selected;
  double selectedCycles = 0;
  int64_t selectedWarpgroups = 0;
  BestOf<HopperTiling> others;
};

} // namespace

std::string HopperCost::describe() const {
  char text[320];
  std::snprintf(
      text, sizeof(text),
      "predicted %.3g cycles, waste %.2f, %.3g key tiles per thread block, of "
      "which a warpgroup computes %.3g (%.0f%% masked, on %.2f axes on "
      "average), %.0f thread blocks (%d per multiprocessor), %.1f KiB of "
      "shared "
      "memory",
      cycles, waste, loaded, computed, 100 * maskedShare, maskedAxes, blocks,
      int(blocksPerMultiprocessor), double(sharedBytes) / 1024);
  return text;
}

bool schedule::isForWarpgroups(const GpuProblem &problem) {
  auto fits = [](int64_t channels) {
    return channels > 0 && channels <= maxChannels &&
           channels % channelMultiple == 0;
  };
  bool narrow = problem.gradient == Gradient::None && problem.fused &&
                problem.operandBytes == 2 && fits(problem.headDim) &&
                fits(problem.valueDim);
  for (int64_t length : problem.lengths)
    narrow &= length != dynamicLength;
  return narrow && problem.axes.size() <= maxRank;
}

std::optional<HopperCost> schedule::predictHopper(const GpuProblem &whole,
                                                  const GpuChip &chip,
                                                  const HopperTiling &tiling) {
  if (!canShareTile(whole, tiling.headsPerTile))
    return std::nullopt;
  double heads = double(tiling.headsPerTile);
  GpuProblem problem = withHeadsPerTile(whole, tiling.headsPerTile);
  HopperCost cost;
  BlockWork work;
  BlockShape shape = {1, 1, tiling.stages, true};
  int64_t own = tiling.headsPerTile;
  bool cutsOuterAxes = false;
  double needed = heads;
  for (size_t i = 0; i < problem.axes.size(); ++i) {
    int64_t queryTile = tiling.queryTile[i], ownTile = tiling.warpgroupTile[i];
    int64_t warpgroups = queryTile / ownTile;
    if (queryTile % ownTile != 0 || warpgroups > maxWarpgroups ||
        (warpgroups > 1 && shape.warpgroups > 1))
      return std::nullopt;
    shape.warpgroups *= warpgroups;
    AxisWork axis =
        warpgroups > 1
            ? splitAxis(problem, i, warpgroups, ownTile, tiling.keyTile[i])
            : commonAxis(problem, i, ownTile, tiling.keyTile[i]);
    work.add(axis);
    cost.axes.push_back(
        {axis.cut, axis.maskedShare(), axis.loaded / axis.blocks, axis.blocks});
    cutsOuterAxes |= axis.cut && i + 1 < problem.axes.size();
    shape.keys *= tiling.keyTile[i];
    own *= ownTile;
    needed *= pairCount(problem, i);
  }
  std::optional<WarpgroupBudgets> budgets = getBudgets(problem, chip, shape);
  if (own != rows || !budgets)
    return std::nullopt;
  addAdditionalKeys(problem, shape, work);
  double queries = heads;
  for (int64_t length : problem.lengths)
    queries *= double(length);
  needed += queries * double(problem.additionalKeys);
  shape.separable = hasSeparableColumns(tiling.keyTile, cutsOuterAxes);
  cost.sharedBytes = countSharedBytes(problem, shape);
  BlockCycles parts;
  cost.cycles = predictCycles(problem, chip, work, shape, *budgets, &parts);
  cost.registers = budgets->consumer;
  cost.tensorShare = parts.tensor / parts.all;
  cost.exponentialShare = parts.exponentials / parts.all;
  cost.cacheShare = parts.cache / parts.all;
  cost.maskShare = parts.masks / parts.all;
  cost.blocksPerMultiprocessor = budgets->blocks;
  cost.waste = work.computed * double(rows * shape.keys) / needed;
  cost.loaded = work.loaded / work.blocks;
  cost.computed = work.computed / (work.blocks * double(shape.warpgroups));
  cost.maskedAxes = work.maskedAxes;
  cost.maskedShare = 1 - work.unmaskedShare;
  cost.blocks = work.blocks;
  if (problem.batchHeads != dynamicLength)
    cost.blocks *= double(problem.batchHeads);
  return cost;
}

std::vector<HopperTiling> schedule::rankHopper(const GpuProblem &problem,
                                               const GpuChip &chip,
                                               size_t count,
                                               int64_t headsPerTile) {
  if (!isForWarpgroups(problem) || !chip.hasWarpgroups ||
      !canShareTile(problem, headsPerTile) || rows % headsPerTile != 0)
    return {};
  return Search(problem, chip, count, headsPerTile).run();
}

std::optional<HopperTiling> schedule::searchHopper(const GpuProblem &problem,
                                                   const GpuChip &chip) {
  std::vector<HopperTiling> ranked = rankHopper(problem, chip, 1);
  if (ranked.empty())
    return std::nullopt;
  return ranked.front();
}

GpuProblem schedule::withKnownBatch(const GpuProblem &problem,
                                    const GpuChip &chip) {
  GpuProblem full = problem;
  if (full.batchHeads == dynamicLength)
    full.batchHeads = 8 * chip.multiprocessors;
  return full;
}

double schedule::scaleOfWarps(const GpuCost &best, const GpuTiling &tiling) {
  // The other model was fitted to longer loops: where a query tile has few keys
  // it predicts up to 1.8 times of what such kernels were measured to take.
  constexpr double fewKeys = 512, ofFewKeys = 0.75, otherwise = 0.85;
  double keys = best.keyTiles;
  for (int64_t extent : tiling.keyTile)
    keys *= double(extent);
  return keys < fewKeys ? ofFewKeys : otherwise;
}
