//===- HopperCostModel.cpp - Tilings of warpgroups on Hopper --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Schedule/HopperCostModel.h"

#include "AxisModel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

using namespace na;
using namespace na::schedule;

namespace {

constexpr int64_t warpgroups = 2;
constexpr int64_t rows = 64;
/// More keys leave too few registers for the accumulators.
constexpr int64_t maxKeys = 192;
constexpr int64_t keyMultiple = 16;
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
  /// `computed`, where tiles of a block of which one warpgroup has no queries
  /// count for more: nothing fills its gaps.
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
  work.blocks = cost.queryTiles;
  work.loaded = work.computed = work.weighted = cost.keyTiles * cost.queryTiles;
  work.inside = cost.insideTiles * cost.queryTiles;
  work.cut = cost.cut;
  return work;
}

/// The axis along which the warpgroups lie, each with `ownTile` queries. Counts
/// what the tiled program (TileWarpgroups.cpp) does.
AxisWork splitAxis(const Problem &problem, size_t i, int64_t ownTile,
                   int64_t keyTile) {
  constexpr double alone = 1.3;
  constexpr int64_t maxBlocks = 512; // more are sampled
  const window::Axis &axis = problem.axes[i];
  int64_t size = problem.lengths[i], queryTile = warpgroups * ownTile;
  int64_t blocks = window::ceilDiv(size, queryTile);
  bool differs = window::canCut(axis, size, queryTile);
  int64_t step = std::max<int64_t>(1, blocks / maxBlocks), count = 0;
  AxisWork work;
  for (int64_t block = 0; block < blocks; block += step, ++count) {
    int64_t begin = block * queryTile, end = std::min(begin + queryTile, size);
    auto span = window::tileSpan<int64_t>(axis, size, begin, end);
    int64_t tiles = window::ceilDiv(span.end - span.begin, keyTile);
    int64_t middle = begin + ownTile;
    bool single = middle >= size;
    // The key tiles of each warpgroup.
    int64_t first[warpgroups] = {0, 0}, last[warpgroups] = {tiles, tiles};
    window::Range<int64_t> own[warpgroups] = {{begin, std::min(middle, size)},
                                              {std::min(middle, size), end}};
    if (differs && !single) {
      auto before = window::tileSpan<int64_t>(axis, size, begin, middle);
      auto after = window::tileSpan<int64_t>(axis, size, middle, end);
      int64_t front = (after.begin - span.begin) / keyTile;
      int64_t back = tiles - window::ceilDiv(before.end - span.begin, keyTile);
      if (tiles - front - back >= std::abs(front - back)) {
        first[1] = front;
        last[0] = tiles - back;
      }
    }
    work.loaded += double(tiles);
    for (int64_t g = 0; g < (single ? 1 : warpgroups); ++g) {
      auto interior =
          window::tileInterior<int64_t>(axis, size, own[g].begin, own[g].end);
      int64_t insideFirst =
          window::ceilDiv(interior.begin - span.begin, keyTile);
      int64_t insideLast = window::floorDiv(interior.end - span.begin, keyTile);
      work.computed += double(last[g] - first[g]);
      work.weighted += (single ? alone : 1) * double(last[g] - first[g]);
      work.inside += double(std::max<int64_t>(
          0, std::min(insideLast, last[g]) - std::max(insideFirst, first[g])));
    }
  }
  double weight = double(blocks) / double(count);
  for (double *sum :
       {&work.loaded, &work.computed, &work.weighted, &work.inside})
    *sum *= weight;
  work.blocks = double(blocks);
  work.cut =
      differs || (axis.causal ? keyTile != 1 : axis.window % keyTile != 0);
  return work;
}

/// What all axes contribute together.
struct BlockWork {
  double blocks = 1, loaded = 1, computed = 1, weighted = 1;
  double maskedAxes = 0, unmaskedShare = 1;
  /// Key tiles that masks hold up, in those of masks of short axes.
  double masks = 0;
  int64_t cutAxes = 0;

  void add(const AxisWork &axis, int64_t keyTile) {
    // On a short axis a comparison serves many scores.
    constexpr int64_t shortExtent = 24;
    constexpr double longMask = 2.5;
    double share = axis.maskedShare();
    blocks *= axis.blocks;
    loaded *= axis.loaded;
    computed *= axis.computed;
    weighted *= axis.weighted;
    maskedAxes += share;
    unmaskedShare *= 1 - share;
    masks += keyTile <= shortExtent ? share : longMask * share;
    cutAxes += axis.cut;
  }
};

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

int64_t countSharedBytes(const GpuProblem &problem, int64_t keys,
                         int64_t stages) {
  // Barriers, and where each tile lies and what masks it needs.
  constexpr int64_t bookkeeping = 2048;
  return problem.operandBytes *
             (warpgroups * rows * problem.headDim +
              stages * keys * (problem.headDim + problem.valueDim)) +
         bookkeeping;
}

/// Cycles of the kernel. The rates were fitted to 14 measurements of a
/// hand-written kernel of this form on an H200, which they meet within 10 %.
double predictCycles(const GpuProblem &problem, const GpuChip &chip,
                     const BlockWork &work, int64_t keys, bool separable) {
  constexpr double perKey = 7.7 / 256; // and channel of keys and values
  constexpr double perTile = 370;
  // Above this many keys registers are scarce.
  constexpr int64_t comfortableKeys = 176;
  constexpr double crowded = 70;
  // Not fitted: the hand-written kernel has tables of bits for inseparable
  // columns, and takes half as long.
  constexpr double perInseparableKey = 6;
  constexpr double perMaskedKey = 2.1;
  // Code that might have to mask, where it does not.
  constexpr double perCutAxis = 10;
  constexpr double perWarpgroup = 300;
  double channels = double(problem.headDim + problem.valueDim);
  double masked = separable ? perMaskedKey : perInseparableKey;
  double tile = perTile + perCutAxis * double(work.cutAxes) +
                (keys > comfortableKeys ? crowded : 0) +
                double(keys) * (perKey * channels + masked * work.masks);
  double cycles =
      work.weighted * tile + work.blocks * warpgroups * perWarpgroup;
  if (problem.batchHeads == dynamicLength)
    return cycles;
  // Blocks that do not fill the chip.
  double blocks = work.blocks * double(problem.batchHeads);
  double multiprocessors = double(chip.multiprocessors);
  return cycles / work.blocks * std::ceil(blocks / multiprocessors);
}

/// The work of one axis for all tiles that the search asks for.
class AxisTable {
public:
  AxisTable(const GpuProblem &problem, size_t axis)
      : problem(problem), axis(axis) {}

  const AxisWork &get(int64_t ownTile, int64_t keyTile, bool split) {
    size_t exponent = 0;
    while ((int64_t(1) << exponent) < ownTile)
      ++exponent;
    std::optional<AxisWork> &entry = entries[split][exponent][keyTile];
    if (!entry)
      entry = (split ? splitAxis : commonAxis)(problem, axis, ownTile, keyTile);
    return *entry;
  }

private:
  const GpuProblem &problem;
  size_t axis;
  std::array<std::array<std::array<std::optional<AxisWork>, maxKeys + 1>, 7>, 2>
      entries;
};

class Search {
public:
  Search(const GpuProblem &problem, const GpuChip &chip)
      : problem(problem), chip(chip), rank(problem.axes.size()) {
    for (size_t i = 0; i < rank; ++i)
      tables.emplace_back(problem, i);
    own.resize(rank);
    key.resize(rank);
  }

  std::optional<HopperTiling> run() {
    visitRows(0, rows);
    return best;
  }

private:
  /// All boxes of 64 queries.
  void visitRows(size_t axis, int64_t left) {
    if (axis + 1 == rank) {
      own[axis] = left;
      for (split = 0; split < rank; ++split)
        for (int64_t keys = maxKeys; keys > 0; keys -= keyMultiple)
          visitKeys(0, keys, keys);
      return;
    }
    for (int64_t extent = 1; extent <= left; extent *= 2) {
      own[axis] = extent;
      visitRows(axis + 1, left / extent);
    }
  }

  /// All boxes of `keys` keys.
  void visitKeys(size_t axis, int64_t keys, int64_t left) {
    if (axis + 1 == rank) {
      key[axis] = left;
      return visit(keys);
    }
    for (int64_t extent = 1; extent <= left; ++extent)
      if (left % extent == 0) {
        key[axis] = extent;
        visitKeys(axis + 1, keys, left / extent);
      }
  }

  void visit(int64_t keys) {
    BlockWork work;
    bool cutsOuterAxes = false;
    for (size_t i = 0; i < rank; ++i) {
      const AxisWork &axis = tables[i].get(own[i], key[i], i == split);
      work.add(axis, key[i]);
      cutsOuterAxes |= axis.cut && i + 1 < rank;
    }
    double cycles = predictCycles(problem, chip, work, keys,
                                  hasSeparableColumns(key, cutsOuterAxes));
    // Near ties go to what was tried first, not to rounding errors.
    if (best && cycles >= bestCycles * (1 - 1e-9))
      return;
    bestCycles = cycles;
    best.emplace();
    best->warpgroupTile = best->queryTile = own;
    best->queryTile[split] *= warpgroups;
    best->keyTile = key;
  }

  const GpuProblem &problem;
  const GpuChip &chip;
  size_t rank, split = 0;
  std::vector<AxisTable> tables;
  std::vector<int64_t> own, key;
  std::optional<HopperTiling> best;
  double bestCycles = std::numeric_limits<double>::infinity();
};

} // namespace

std::string HopperCost::describe() const {
  char text[320];
  std::snprintf(
      text, sizeof(text),
      "predicted %.3g cycles, waste %.2f, %.3g key tiles per thread block, of "
      "which a warpgroup computes %.3g (%.0f%% masked, on %.2f axes on "
      "average), %.0f thread blocks, %.1f KiB of shared memory",
      cycles, waste, loaded, computed, 100 * maskedShare, maskedAxes, blocks,
      double(sharedBytes) / 1024);
  return text;
}

bool schedule::isForWarpgroups(const GpuProblem &problem) {
  constexpr int64_t channels = 128;
  bool narrow = problem.fused && problem.operandBytes == 2 &&
                problem.headDim == channels && problem.valueDim == channels &&
                !problem.hasBias && problem.additionalKeys == 0;
  for (size_t i = 0; i < problem.axes.size(); ++i)
    narrow &=
        problem.lengths[i] != dynamicLength && problem.axes[i].dilation == 1;
  return narrow && problem.axes.size() <= maxRank;
}

std::optional<HopperCost> schedule::predictHopper(const GpuProblem &problem,
                                                  const GpuChip &chip,
                                                  const HopperTiling &tiling) {
  BlockWork work;
  int64_t keys = 1, own = 1;
  std::optional<size_t> split;
  bool cutsOuterAxes = false;
  double needed = 1;
  for (size_t i = 0; i < problem.axes.size(); ++i) {
    if (tiling.queryTile[i] != tiling.warpgroupTile[i]) {
      if (split || tiling.queryTile[i] != warpgroups * tiling.warpgroupTile[i])
        return std::nullopt;
      split = i;
    }
    AxisWork axis = (split == i ? splitAxis : commonAxis)(
        problem, i, tiling.warpgroupTile[i], tiling.keyTile[i]);
    work.add(axis, tiling.keyTile[i]);
    cutsOuterAxes |= axis.cut && i + 1 < problem.axes.size();
    keys *= tiling.keyTile[i];
    own *= tiling.warpgroupTile[i];
    needed *= pairCount(problem, i);
  }
  HopperCost cost;
  cost.sharedBytes = countSharedBytes(problem, keys, tiling.stages);
  if (!split || own != rows || keys > maxKeys || keys % keyMultiple != 0 ||
      cost.sharedBytes > chip.sharedPerBlock)
    return std::nullopt;
  cost.cycles =
      predictCycles(problem, chip, work, keys,
                    hasSeparableColumns(tiling.keyTile, cutsOuterAxes));
  cost.waste = work.computed * double(rows * keys) / needed;
  cost.loaded = work.loaded / work.blocks;
  cost.computed = work.computed / (work.blocks * warpgroups);
  cost.maskedAxes = work.maskedAxes;
  cost.maskedShare = 1 - work.unmaskedShare;
  cost.blocks = work.blocks;
  if (problem.batchHeads != dynamicLength)
    cost.blocks *= double(problem.batchHeads);
  return cost;
}

std::optional<HopperTiling> schedule::searchHopper(const GpuProblem &problem,
                                                   const GpuChip &chip) {
  // The largest key tile fits as well as any.
  if (!isForWarpgroups(problem) ||
      countSharedBytes(problem, maxKeys, HopperTiling().stages) >
          chip.sharedPerBlock)
    return std::nullopt;
  return Search(problem, chip).run();
}
