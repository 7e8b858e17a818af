//===- CostModel.cpp - Predicted cost of a tiling, and the search over tilings
//---*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Schedule/CostModel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <set>

using namespace na;
using namespace na::schedule;

namespace {

/// Averages over the query tiles of one axis.
struct AxisCost {
  /// Query tiles of all residue classes.
  double queryTiles = 0;
  /// Key tiles per query tile.
  double keyTiles = 0;
  /// Whether window edges cut key tiles on the axis.
  bool cut = false;
};

/// Lengths beyond this add nothing but more interior tiles.
constexpr int64_t maxModelTiles = 512;

AxisCost axisCost(const window::Axis &axis, int64_t length, int64_t queryTile,
                  int64_t keyTile) {
  AxisCost cost;
  int64_t size = window::classSize<int64_t>(axis, length, 0);
  int64_t tiles = window::ceilDiv(size, queryTile);
  cost.queryTiles = double(tiles) * double(axis.dilation);
  int64_t stride = std::max<int64_t>(1, tiles / maxModelTiles), count = 0;
  for (int64_t tile = 0; tile < tiles; tile += stride, ++count) {
    int64_t begin = tile * queryTile;
    int64_t end = std::min(begin + queryTile, size);
    auto span = window::tileSpan<int64_t>(axis, size, begin, end);
    cost.keyTiles += double(window::ceilDiv(span.end - span.begin, keyTile));
  }
  cost.keyTiles /= double(count);
  cost.cut = axis.causal || window::canCut(axis, size, queryTile) ||
             axis.window % keyTile != 0;
  return cost;
}

/// A length for the model: unknown ones become long.
int64_t modelLength(const Problem &problem, size_t i) {
  if (problem.lengths[i] != dynamicLength)
    return problem.lengths[i];
  const window::Axis &axis = problem.axes[i];
  int64_t reach = std::min<int64_t>(axis.window, int64_t(1) << 20) *
                  std::min<int64_t>(axis.dilation, int64_t(1) << 10);
  return std::max<int64_t>(256, 4 * reach);
}

int64_t product(const std::vector<int64_t> &values) {
  int64_t result = 1;
  for (int64_t value : values)
    result *= value;
  return result;
}

/// Combines per-axis averages. The weights were fitted to measurements on an
/// AVX-512 host (docs/performance.md); only their ratios matter.
Cost combine(const Problem &problem, const std::vector<AxisCost> &axes,
             int64_t queries, int64_t keys, int64_t lanes) {
  constexpr double exponential = 18; // vector operations of softmax per score
  constexpr double maskPerAxis = 3;
  constexpr double loadPerElement = 0.15;
  constexpr double transposePerElement = 1.2;
  constexpr double perKeyTile = 300;
  double queryTiles = 1, keyTiles = 1, cutAxes = 0;
  for (const AxisCost &axis : axes) {
    queryTiles *= axis.queryTiles;
    keyTiles *= axis.keyTiles;
    cutAxes += axis.cut;
  }
  double channels = double(problem.headDim + problem.valueDim);
  // Partly filled vectors cost as much as full ones.
  double vectors = double(window::ceilDiv(queries, lanes)) *
                   (double(problem.tileElementBytes) / 4);
  double scores = keyTiles * double(keys) * vectors;
  double products = scores * channels;
  // Narrow register blocks leave the multipliers waiting for loads.
  if (vectors < 4)
    products *= 1 + 0.15 * (4 - vectors);
  Cost cost;
  double perQueryTile =
      products + scores * (exponential + maskPerAxis * cutAxes) +
      keyTiles * double(keys) * channels * loadPerElement +
      double(queries) * channels * transposePerElement +
      keyTiles * (perKeyTile + 2 * double(problem.valueDim) * vectors);
  cost.tileBytes = problem.tileElementBytes *
                   (queries * (problem.headDim + problem.valueDim + keys) +
                    keys * (problem.headDim + problem.valueDim));
  // Tiles that do not stay in the second-level cache.
  constexpr double cacheBytes = 512 * 1024;
  if (double(cost.tileBytes) > cacheBytes)
    perQueryTile *= double(cost.tileBytes) / cacheBytes;
  cost.cycles = perQueryTile * queryTiles;
  cost.keyTiles = keyTiles;
  double computed = queryTiles * double(queries) * keyTiles * double(keys),
         needed = 1;
  for (size_t i = 0; i < problem.axes.size(); ++i)
    needed *=
        double(window::pairCount(problem.axes[i], modelLength(problem, i)));
  cost.waste = computed / needed;
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

/// Enumerates the boxes with extents of `choices` and at most `limit` tokens.
template <typename Callback>
void forEachBox(const std::vector<std::vector<int64_t>> &choices, int64_t limit,
                std::vector<int64_t> &box, Callback &&callback) {
  if (box.size() == choices.size()) {
    callback();
    return;
  }
  for (int64_t extent : choices[box.size()]) {
    if (product(box) * extent > limit)
      continue;
    box.push_back(extent);
    forEachBox(choices, limit, box, callback);
    box.pop_back();
  }
}

} // namespace

std::string Cost::describe() const {
  char text[160];
  std::snprintf(text, sizeof(text),
                "predicted %.3g cycles per head, waste %.2f, %.3g key tiles "
                "per query tile, %lld KiB of tiles",
                cycles, waste, keyTiles,
                static_cast<long long>(tileBytes / 1024));
  return text;
}

Cost schedule::predictCpu(const Problem &problem, const Tiling &tiling,
                          int64_t lanes) {
  std::vector<AxisCost> axes;
  for (size_t i = 0; i < problem.axes.size(); ++i)
    axes.push_back(axisCost(problem.axes[i], modelLength(problem, i),
                            tiling.queryTile[i], tiling.keyTile[i]));
  return combine(problem, axes, product(tiling.queryTile),
                 product(tiling.keyTile), lanes);
}

Tiling schedule::searchCpu(const Problem &problem, const Tiling &fixed,
                           int64_t lanes) {
  size_t rank = problem.axes.size();
  std::vector<std::vector<int64_t>> queryChoices;
  for (size_t i = 0; i < rank; ++i)
    queryChoices.push_back(
        fixed.queryTile.empty()
            ? queryExtents(window::classSize<int64_t>(
                  problem.axes[i], modelLength(problem, i), 0))
            : std::vector<int64_t>{fixed.queryTile[i]});
  constexpr int64_t maxQueries = 128, maxKeys = 512, unlimited = 65536;
  std::map<std::array<int64_t, 3>, AxisCost> memo;
  Tiling best, current;
  double bestCycles = std::numeric_limits<double>::infinity();
  forEachBox(
      queryChoices, fixed.queryTile.empty() ? maxQueries : unlimited,
      current.queryTile, [&] {
        std::vector<std::vector<int64_t>> keyChoices;
        for (size_t i = 0; i < rank; ++i) {
          const window::Axis &axis = problem.axes[i];
          int64_t size =
              window::classSize<int64_t>(axis, modelLength(problem, i), 0);
          keyChoices.push_back(fixed.keyTile.empty()
                                   ? keyExtents(window::maxSpan(
                                         axis, size, current.queryTile[i]))
                                   : std::vector<int64_t>{fixed.keyTile[i]});
        }
        forEachBox(
            keyChoices, fixed.keyTile.empty() ? maxKeys : unlimited,
            current.keyTile, [&] {
              std::vector<AxisCost> axes;
              for (size_t i = 0; i < rank; ++i) {
                std::array<int64_t, 3> key = {int64_t(i), current.queryTile[i],
                                              current.keyTile[i]};
                auto [it, inserted] = memo.try_emplace(key);
                if (inserted)
                  it->second =
                      axisCost(problem.axes[i], modelLength(problem, i),
                               current.queryTile[i], current.keyTile[i]);
                axes.push_back(it->second);
              }
              double cycles = combine(problem, axes, product(current.queryTile),
                                      product(current.keyTile), lanes)
                                  .cycles;
              if (cycles < bestCycles) {
                bestCycles = cycles;
                best = current;
              }
            });
      });
  return best;
}
