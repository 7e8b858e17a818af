//===- CoverageTest.cpp - Tests of which key tiles are visited ------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Schedule/Coverage.h"
#include "gtest/gtest.h"

#include <random>

using namespace na;
using namespace na::schedule;

namespace {

using Box = std::vector<int64_t>;

class Random {
public:
  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine);
  }

  Workload makeWorkload(size_t rank, int64_t longest, bool dilated) {
    Workload workload;
    for (size_t i = 0; i < rank; ++i) {
      int64_t length = pick(1, longest);
      window::Axis axis;
      axis.dilation = dilated ? pick(1, 3) : 1;
      axis.window = pick(1, std::max<int64_t>(1, length / axis.dilation));
      if (axis.window * axis.dilation > length)
        axis.dilation = 1;
      axis.stride = pick(1, axis.window);
      axis.causal = pick(0, 2) == 0;
      workload.axes.push_back(axis);
      workload.lengths.push_back(length);
    }
    workload.headDim = workload.valueDim = 64;
    return workload;
  }

private:
  std::mt19937 engine{11};
};

/// Calls `visit` for all indices below `counts`.
template <typename Visit>
void forEach(const Box &counts, Visit visit) {
  Box index(counts.size(), 0);
  for (;;) {
    visit(index);
    size_t axis = counts.size();
    while (axis > 0 && ++index[axis - 1] == counts[axis - 1])
      index[--axis] = 0;
    if (axis == 0)
      return;
  }
}

Box getRowTiles(const Workload &workload, const Schedule &schedule) {
  Box tiles;
  for (size_t i = 0; i < workload.axes.size(); ++i)
    tiles.push_back(countRowTiles(workload, schedule, i));
  return tiles;
}

/// The columns of a row: keys of a query, or queries of a key, one by one.
window::Range<int64_t> getColumns(const Workload &workload, size_t axis,
                                  int64_t size, int64_t row) {
  const window::Axis &window = workload.axes[axis];
  if (!workload.hasKeyRows())
    return window::keyRange<int64_t>(window, size, row);
  window::Range<int64_t> queries{size, size};
  for (int64_t query = size - 1; query >= 0; --query) {
    auto keys = window::keyRange<int64_t>(window, size, query);
    if (keys.begin > row || keys.end <= row)
      continue;
    if (queries.begin == size)
      queries.end = query + 1;
    queries.begin = query;
  }
  return queries;
}

/// How the rows of a part meet a column tile, from each row's own columns.
TileKind lookAt(const Workload &workload, const Coverage &coverage,
                int64_t part, const Box &tile) {
  bool some = true, all = true;
  for (size_t i = 0; i < workload.axes.size(); ++i) {
    const AxisCoverage &axis = coverage.axes[i];
    int64_t first = axis.span.begin + tile[i] * axis.columnTile;
    int64_t last = first + axis.columnTile;
    bool any = false;
    window::Range<int64_t> rows = axis.parts[size_t(part)].rows;
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      auto columns = getColumns(workload, i, axis.size, row);
      any |= columns.begin < last && columns.end > first;
      all &= columns.begin <= first && columns.end >= last;
    }
    some &= any;
  }
  return !some ? TileKind::Skipped
         : all ? TileKind::Interior
               : TileKind::Boundary;
}

TEST(Coverage, MeetsEachRow) {
  Random random;
  for (int trial = 0; trial < 400; ++trial) {
    Workload workload =
        random.makeWorkload(size_t(random.pick(1, 3)), 24, true);
    if (trial % 2)
      workload.gradient = Gradient::KeysAndValues;
    Schedule schedule;
    schedule.target = "cpu";
    for (size_t i = 0; i < workload.axes.size(); ++i) {
      schedule.queryTile.push_back(random.pick(1, 9));
      schedule.keyTile.push_back(random.pick(1, 9));
    }
    Box rowTiles = getRowTiles(workload, schedule), chosen;
    for (int64_t tiles : rowTiles)
      chosen.push_back(random.pick(0, tiles - 1));
    Coverage coverage = getCoverage(workload, schedule, chosen);
    ASSERT_EQ(coverage.parts, 1);
    Box columnTiles;
    for (const AxisCoverage &axis : coverage.axes)
      columnTiles.push_back(axis.tiles);
    Coverage::Counts counts;
    forEach(columnTiles, [&](const Box &tile) {
      TileKind kind = coverage.getKind(0, tile);
      EXPECT_EQ(kind, lookAt(workload, coverage, 0, tile));
      ++(kind == TileKind::Interior   ? counts.interior
         : kind == TileKind::Boundary ? counts.boundary
                                      : counts.skipped);
    });
    EXPECT_EQ(coverage.count().interior, counts.interior);
    EXPECT_EQ(coverage.count().boundary, counts.boundary);
    EXPECT_EQ(coverage.count().skipped, counts.skipped);
  }
}

TEST(Coverage, WarpgroupsAddUpToTheModel) {
  Random random;
  for (int trial = 0; trial < 100; ++trial) {
    Workload workload = random.makeWorkload(2, 70, false);
    Schedule schedule;
    schedule.target = "sm_90a";
    int64_t first = int64_t(1) << random.pick(0, 6);
    schedule.warpgroupTile = {first, 64 / first};
    schedule.queryTile = schedule.warpgroupTile;
    int64_t warpgroups = random.pick(1, 3);
    schedule.queryTile[size_t(random.pick(0, 1))] *= warpgroups;
    schedule.keyTile = {random.pick(1, 6), 16};
    schedule.stages = 2;
    std::optional<Prediction> prediction = predictSchedule(workload, schedule);
    ASSERT_TRUE(prediction);
    double computed = 0, interior = 0, loaded = 0;
    forEach(getRowTiles(workload, schedule), [&](const Box &queryTile) {
      Coverage coverage = getCoverage(workload, schedule, queryTile);
      Coverage::Counts counts = coverage.count();
      computed += double(counts.boundary + counts.interior);
      interior += double(counts.interior);
      loaded += double(coverage.axes[0].tiles * coverage.axes[1].tiles);
      // What is computed in vain is at most masked.
      Box keyTiles = {coverage.axes[0].tiles, coverage.axes[1].tiles};
      forEach(keyTiles, [&](const Box &tile) {
        for (int64_t part = 0; part < coverage.parts; ++part) {
          TileKind seen = lookAt(workload, coverage, part, tile);
          TileKind kind = coverage.getKind(part, tile);
          if (seen != TileKind::Skipped)
            EXPECT_EQ(kind, seen);
          else
            EXPECT_NE(kind, TileKind::Interior);
        }
      });
    });
    double blocks = prediction->blocks;
    EXPECT_NEAR(prediction->loadedTiles, loaded / blocks, 1e-9);
    EXPECT_NEAR(prediction->computedTiles,
                computed / (blocks * double(warpgroups)), 1e-9);
    // Axes that are never cut count as inside even where a tile hangs over.
    EXPECT_LE(prediction->maskedShare, 1 - interior / computed + 1e-9);
  }
}

TEST(Coverage, Draws) {
  Workload workload;
  workload.axes = {{5}, {5}};
  workload.lengths = {20, 20};
  workload.headDim = workload.valueDim = 64;
  Schedule schedule;
  schedule.target = "cpu";
  schedule.queryTile = {4, 4};
  schedule.keyTile = {2, 2};
  Coverage coverage = getCoverage(workload, schedule, {2, 2});
  std::string text = drawText(coverage);
  EXPECT_NE(text.find("axis 0: queries 8..12 of 20, keys 6..14 in 4 tiles of "
                      "2, seen by all 9..11"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("6..8  + + + +\n"), std::string::npos) << text;
  std::string svg = drawSVG(coverage, "a < b");
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
  EXPECT_NE(svg.find("boundary, 16"), std::string::npos) << svg;
  // Rows of the gradients of keys and values are keys.
  workload.gradient = Gradient::KeysAndValues;
  text = drawText(getCoverage(workload, schedule, {2, 2}));
  EXPECT_NE(text.find("axis 0: keys 4..6 of 20, queries 0..8 in 2 tiles of 4, "
                      "seeing all 3..7"),
            std::string::npos)
      << text;
  workload.gradient = Gradient::None;
  // Long axes are shortened.
  schedule.keyTile = {1, 1};
  workload.lengths = {200, 200};
  workload.axes = {{100}, {100}};
  text = drawText(getCoverage(workload, schedule, {20, 20}), 10);
  EXPECT_NE(text.find("+ + + # # ... "), std::string::npos) << text;
  EXPECT_LT(text.size(), 1500u);
}

} // namespace
