//===- CostModelTest.cpp - Tests of the cost model and its search ---------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Schedule/CostModel.h"
#include "gtest/gtest.h"

#include <cmath>
#include <ctime>
#include <random>
#include <string>

using namespace na;
using namespace na::schedule;
using window::Axis;

namespace {

Problem makeProblem(std::vector<Axis> axes, std::vector<int64_t> lengths,
                    int64_t headDim = 64) {
  Problem problem;
  problem.axes = std::move(axes);
  problem.lengths = std::move(lengths);
  problem.headDim = problem.valueDim = headDim;
  return problem;
}

std::string describe(const Problem &problem) {
  std::string text = " gradient " + std::to_string(int(problem.gradient));
  for (size_t i = 0; i < problem.axes.size(); ++i) {
    const Axis &axis = problem.axes[i];
    text += " [length " + std::to_string(problem.lengths[i]) + " window " +
            std::to_string(axis.window) + " stride " +
            std::to_string(axis.stride) + " dilation " +
            std::to_string(axis.dilation) + (axis.causal ? " causal]" : "]");
  }
  return text;
}

int64_t product(const std::vector<int64_t> &values) {
  int64_t result = 1;
  for (int64_t value : values)
    result *= value;
  return result;
}

/// Counts what the tiled program does, tile by tile.
struct Count {
  double rowTiles = 0, columnTiles = 0, needed = 1;
};

Count countTiles(const Problem &problem, const Tiling &tiling) {
  Count count;
  // The column tiles of every row tile.
  std::vector<std::vector<int64_t>> perAxis;
  for (size_t i = 0; i < problem.axes.size(); ++i) {
    const Axis &axis = problem.axes[i];
    int64_t length = problem.lengths[i];
    int64_t rowTile = tiling.getRowTile(problem)[i];
    int64_t columnTile = tiling.getColumnTile(problem)[i];
    int64_t largest = (length + axis.dilation - 1) / axis.dilation;
    std::vector<int64_t> tiles;
    int64_t needed = 0;
    for (int64_t residue = 0; residue < axis.dilation; ++residue) {
      int64_t size = window::classSize<int64_t>(axis, length, residue);
      for (int64_t pos = 0; pos < size; ++pos) {
        auto keys = window::keyRange<int64_t>(axis, size, pos);
        needed += keys.end - keys.begin;
      }
      // All classes have as many tiles as the largest; those beyond a smaller
      // class take its last row.
      for (int64_t begin = 0; begin < largest; begin += rowTile) {
        int64_t first = std::min(begin, size - 1);
        int64_t last = std::max(std::min(begin + rowTile, size), first + 1);
        auto span = problem.hasKeyRows()
                        ? window::inverseTileSpan(axis, size, first, last)
                        : window::tileSpan(axis, size, first, last);
        int64_t columnTiles = 0;
        for (int64_t at = span.begin; at < span.end; at += columnTile)
          ++columnTiles;
        tiles.push_back(columnTiles);
      }
    }
    count.needed *= double(needed);
    perAxis.push_back(std::move(tiles));
  }
  // All combinations of the axes' tiles.
  std::vector<size_t> at(perAxis.size(), 0);
  while (true) {
    int64_t columnTiles = 1;
    for (size_t i = 0; i < at.size(); ++i)
      columnTiles *= perAxis[i][at[i]];
    count.rowTiles += 1;
    count.columnTiles += double(columnTiles);
    size_t axis = 0;
    while (axis < at.size() && ++at[axis] == perAxis[axis].size())
      at[axis++] = 0;
    if (axis == at.size())
      return count;
  }
}

/// Seconds of processor time that `function` takes.
template <typename Function>
double processorTime(Function &&function) {
  std::clock_t start = std::clock();
  function();
  return double(std::clock() - start) / CLOCKS_PER_SEC;
}

/// Checks what every search has to give.
void expectLegal(const Problem &problem, const Tiling &tiling) {
  size_t rank = problem.axes.size();
  ASSERT_EQ(tiling.queryTile.size(), rank) << describe(problem);
  ASSERT_EQ(tiling.keyTile.size(), rank) << describe(problem);
  const std::vector<int64_t> &rows = tiling.getRowTile(problem);
  const std::vector<int64_t> &columns = tiling.getColumnTile(problem);
  EXPECT_LE(product(rows), 128) << describe(problem);
  EXPECT_LE(product(columns), 512) << describe(problem);
  for (size_t i = 0; i < rank; ++i) {
    EXPECT_GE(rows[i], 1) << describe(problem);
    EXPECT_GE(columns[i], 1) << describe(problem);
    if (problem.lengths[i] == dynamicLength)
      continue;
    int64_t size =
        window::classSize<int64_t>(problem.axes[i], problem.lengths[i], 0);
    // A power of two that holds the whole axis is as large as it gets.
    EXPECT_LT(rows[i], 2 * size) << describe(problem);
    EXPECT_LE(columns[i], size) << describe(problem);
  }
}

/// Arguments that no one would write, and usual ones.
std::vector<Problem> randomProblems(int count, int64_t maxLength) {
  std::mt19937 random(2022);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  std::vector<Problem> problems;
  for (int n = 0; n < count; ++n) {
    Problem problem = makeProblem({}, {}, draw(1, 256));
    problem.gradient = Gradient(n % 3);
    int64_t rank = draw(1, 3);
    for (int64_t i = 0; i < rank; ++i) {
      int64_t length = draw(1, maxLength);
      Axis axis;
      axis.dilation = draw(1, std::min<int64_t>(length, 4));
      axis.window = draw(1, length / axis.dilation);
      axis.stride = draw(1, axis.window);
      axis.causal = draw(0, 1) != 0;
      problem.axes.push_back(axis);
      problem.lengths.push_back(length);
    }
    problems.push_back(problem);
  }
  return problems;
}

TEST(CostModel, WasteIsWhatTheTilesCompute) {
  for (const Problem &problem : randomProblems(200, 30)) {
    for (const Tiling &tiling :
         {searchCpu(problem),
          Tiling{std::vector<int64_t>(problem.axes.size(), 3),
                 std::vector<int64_t>(problem.axes.size(), 5)},
          Tiling{std::vector<int64_t>(problem.axes.size(), 64),
                 std::vector<int64_t>(problem.axes.size(), 1)}}) {
      Cost cost = predictCpu(problem, tiling);
      Count count = countTiles(problem, tiling);
      EXPECT_NEAR(cost.columnTiles, count.columnTiles / count.rowTiles,
                  1e-9 * cost.columnTiles)
          << describe(problem);
      double computed = count.columnTiles * double(product(tiling.queryTile)) *
                        double(product(tiling.keyTile));
      EXPECT_NEAR(cost.waste, computed / count.needed, 1e-9 * cost.waste)
          << describe(problem);
      EXPECT_GE(cost.waste, 1 - 1e-9) << describe(problem);
    }
  }
}

TEST(CostModel, SampledAxesAreNearTheCount) {
  // More query tiles than the model looks at one by one.
  for (const Axis &axis : {Axis{63, 1, 1, false}, Axis{64, 16, 3, true},
                           Axis{1000, 7, 2, false}}) {
    Problem problem = makeProblem({axis}, {100003});
    Tiling tiling{{16}, {32}};
    Cost cost = predictCpu(problem, tiling);
    Count count = countTiles(problem, tiling);
    double waste = count.columnTiles * 16 * 32 / count.needed;
    EXPECT_NEAR(cost.waste, waste, 0.02 * waste) << describe(problem);
  }
}

TEST(CostModel, SearchGivesLegalTiles) {
  for (const Problem &problem : randomProblems(200, 100))
    expectLegal(problem, searchCpu(problem));
  // One token on some or all axes.
  for (const Problem &problem :
       {makeProblem({{}}, {1}), makeProblem({{}, {}, {}}, {1, 1, 1}),
        makeProblem({{}, {7, 2, 3, true}, {}}, {1, 100, 1}),
        makeProblem({{}, {}}, {1, 4096})})
    expectLegal(problem, searchCpu(problem));
}

TEST(CostModel, SearchIsDeterministic) {
  for (const Problem &problem : randomProblems(20, 100)) {
    Tiling first = searchCpu(problem), second = searchCpu(problem);
    EXPECT_EQ(first.queryTile, second.queryTile) << describe(problem);
    EXPECT_EQ(first.keyTile, second.keyTile) << describe(problem);
  }
}

TEST(CostModel, SearchFindsTheCheapest) {
  // No other tile of the same kind is cheaper.
  for (const Problem &problem : randomProblems(10, 40)) {
    double cycles = predictCpu(problem, searchCpu(problem)).cycles;
    for (int64_t extent : {1, 2, 4}) {
      std::vector<int64_t> tile(problem.axes.size(), extent);
      EXPECT_LE(cycles, predictCpu(problem, {tile, tile}).cycles * (1 + 1e-9))
          << describe(problem) << " tile " << extent;
    }
  }
}

TEST(CostModel, SearchKeepsFixedTiles) {
  Problem problem = makeProblem({{7}, {7}}, {56, 56}, 32);
  std::vector<int64_t> odd = {3, 5}, large = {300, 200};
  for (const std::vector<int64_t> &tile : {odd, large}) {
    Tiling query = searchCpu(problem, {tile, {}});
    EXPECT_EQ(query.queryTile, tile);
    EXPECT_EQ(query.keyTile.size(), 2u);
    EXPECT_LE(product(query.keyTile), 512);
    Tiling key = searchCpu(problem, {{}, tile});
    EXPECT_EQ(key.keyTile, tile);
    EXPECT_EQ(key.queryTile.size(), 2u);
    EXPECT_LE(product(key.queryTile), 128);
    Tiling both = searchCpu(problem, {tile, odd});
    EXPECT_EQ(both.queryTile, tile);
    EXPECT_EQ(both.keyTile, odd);
  }
}

TEST(CostModel, LanesAndCacheDecide) {
  Problem problem = makeProblem({{7}, {7}}, {56, 56}, 32);
  // A tile that fills no vector wastes what is left of it.
  EXPECT_GT(predictCpu(problem, {{1, 1}, {7, 7}}, 16).cycles,
            predictCpu(problem, {{4, 4}, {10, 10}}, 16).cycles);
  // Elements of twice the size take twice the room.
  Cost narrow = predictCpu(problem, {{8, 8}, {14, 14}});
  problem.tileElementBytes = 8;
  Cost wide = predictCpu(problem, {{8, 8}, {14, 14}});
  EXPECT_EQ(wide.tileBytes, 2 * narrow.tileBytes);
  EXPECT_GT(wide.cycles, narrow.cycles);
}

TEST(CostModel, GradientsTakeMoreProducts) {
  Problem problem = makeProblem({{7}, {7}}, {56, 56}, 64);
  Tiling tiling{{8, 8}, {14, 14}};
  double forward = predictCpu(problem, tiling).cycles;
  problem.gradient = Gradient::Queries;
  double queries = predictCpu(problem, tiling).cycles;
  problem.gradient = Gradient::KeysAndValues;
  std::swap(tiling.queryTile, tiling.keyTile);
  double keys = predictCpu(problem, tiling).cycles;
  EXPECT_GT(queries, 1.2 * forward);
  EXPECT_GT(keys, 1.2 * queries);
  // One of two gradients takes less than both, that of the values least.
  problem.gradient = Gradient::Keys;
  double keysAlone = predictCpu(problem, tiling).cycles;
  problem.gradient = Gradient::Values;
  double valuesAlone = predictCpu(problem, tiling).cycles;
  EXPECT_LT(keysAlone, keys);
  EXPECT_LT(valuesAlone, keysAlone);
  EXPECT_GT(keysAlone + valuesAlone, keys);
}

TEST(CostModel, DescribesItself) {
  Cost cost;
  cost.cycles = 1.25e6;
  cost.waste = 2.5;
  cost.columnTiles = 3;
  cost.tileBytes = 10 * 1024 + 512;
  EXPECT_EQ(cost.describe(),
            "predicted 1.25e+06 cycles per head, waste 2.50, 3 key tiles per "
            "query tile, 10 KiB of tiles");
  cost.hasKeyRows = true;
  EXPECT_EQ(cost.describe(),
            "predicted 1.25e+06 cycles per head, waste 2.50, 3 query tiles per "
            "key tile, 10 KiB of tiles");
}

TEST(CostModel, SearchIsFast) {
  int64_t huge = int64_t(1) << 40;
  std::vector<Problem> problems = {
      makeProblem({{18}, {24}, {24}}, {30, 48, 80}, 128),
      makeProblem({{18, 16}, {24, 8}, {24}}, {30, 48, 80}, 128),
      makeProblem({{18, 2, 1, true}, {24, 8}, {24}}, {30, 48, 80}, 128),
      makeProblem({{1024, 1, 1, true}}, {1 << 20}),
      makeProblem({{18}, {24}, {24}}, {1 << 20, 1 << 20, 1 << 20}),
      // Windows of which the first that moves is far from the border.
      makeProblem({{1 << 19}}, {1 << 20}),
      makeProblem({{(1 << 20) - 1, (1 << 19) - 1}}, {1 << 20}),
      makeProblem({{huge / 2, 3}}, {huge}),
      makeProblem({{huge / 2, huge / 4 - 1, 2, true}}, {huge}),
      makeProblem({{18}, {24}, {24}},
                  {dynamicLength, dynamicLength, dynamicLength}),
      makeProblem({{huge, 1, huge}, {7}}, {dynamicLength, 56})};
  for (const Problem &problem : problems) {
    Tiling tiling;
    double seconds = processorTime([&] { tiling = searchCpu(problem); });
    EXPECT_LE(seconds, 0.05) << describe(problem);
    expectLegal(problem, tiling);
    Cost cost = predictCpu(problem, tiling);
    EXPECT_TRUE(std::isfinite(cost.cycles) && cost.cycles > 0)
        << describe(problem);
    EXPECT_GT(cost.waste, 0.9) << describe(problem);
  }
}

} // namespace
