//===- GpuCostModelTest.cpp - Tests of the GPU cost model and its search --===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Schedule/GpuCostModel.h"
#include "gtest/gtest.h"

#include <cmath>
#include <ctime>
#include <random>
#include <string>

using namespace na;
using namespace na::schedule;
using window::Axis;

namespace {

const char *const names[] = {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"};

GpuProblem makeProblem(std::vector<Axis> axes, std::vector<int64_t> lengths,
                       int64_t headDim, int64_t batchHeads) {
  GpuProblem problem;
  problem.axes = std::move(axes);
  problem.lengths = std::move(lengths);
  problem.headDim = problem.valueDim = headDim;
  problem.batchHeads = batchHeads;
  return problem;
}

int64_t product(const std::vector<int64_t> &values) {
  int64_t result = 1;
  for (int64_t value : values)
    result *= value;
  return result;
}

using Box = std::vector<int64_t>;

GpuTiling makeTiling(Box queryTile, Box keyTile, int64_t warps, int64_t stages,
                     int64_t valueTile) {
  GpuTiling tiling;
  tiling.queryTile = std::move(queryTile);
  tiling.keyTile = std::move(keyTile);
  tiling.warps = warps;
  tiling.stages = stages;
  tiling.valueTile = valueTile;
  return tiling;
}

/// Key tiles of all query tiles, and those inside of all windows, one by one.
struct Count {
  double tiles = 0, inside = 0;
};

Count countTiles(const GpuProblem &problem, const GpuTiling &tiling) {
  Count total{1, 1};
  for (size_t i = 0; i < problem.axes.size(); ++i) {
    const Axis &axis = problem.axes[i];
    int64_t queryTile = tiling.queryTile[i], keyTile = tiling.keyTile[i];
    int64_t largest = window::ceilDiv(problem.lengths[i], axis.dilation);
    int64_t tiles = window::ceilDiv(largest, queryTile);
    Count count;
    for (int64_t residue = 0; residue < axis.dilation; ++residue) {
      int64_t size = window::classSize(axis, problem.lengths[i], residue);
      for (int64_t tile = 0; tile < tiles; ++tile) {
        int64_t begin = std::min(tile * queryTile, size - 1);
        int64_t end = std::min(begin + queryTile, size);
        auto span = window::tileSpan(axis, size, begin, end);
        auto all = window::tileInterior(axis, size, begin, end);
        for (int64_t at = span.begin; at < span.end; at += keyTile) {
          ++count.tiles;
          count.inside += at >= all.begin && at + keyTile <= all.end;
        }
      }
    }
    total.tiles *= count.tiles;
    total.inside *= count.inside;
  }
  return total;
}

TEST(GpuCostModel, KnowsChips) {
  for (const char *name : names)
    EXPECT_NE(findGpuChip(name), nullptr) << name;
  EXPECT_EQ(findGpuChip("sm_90"), findGpuChip("sm_90a"));
  EXPECT_EQ(findGpuChip("sm_75"), nullptr);
  EXPECT_EQ(findGpuChip("cpu"), nullptr);
  EXPECT_EQ(findGpuChip(""), nullptr);
  EXPECT_EQ(listGpuChips(), "sm_80, sm_86, sm_87, sm_89, sm_90, sm_90a");
}

TEST(GpuCostModel, CountsTilesExactly) {
  GpuProblem problem =
      makeProblem({{7, 2, 3, false}, {5, 1, 1, false}, {9, 1, 2, true}},
                  {40, 23, 35}, 64, 6);
  GpuTiling tiling = makeTiling({4, 2, 8}, {4, 4, 4}, 4, 2, 64);
  auto cost = predictGpu(problem, *findGpuChip("sm_80"), tiling);
  ASSERT_TRUE(cost);
  Count count = countTiles(problem, tiling);
  double queryTiles = 3 * 4 * 12 * 2 * 3;
  EXPECT_DOUBLE_EQ(cost->keyTiles, count.tiles / queryTiles);
  EXPECT_NEAR(cost->maskedShare, 1 - count.inside / count.tiles, 1e-12);
  EXPECT_DOUBLE_EQ(cost->blocks, 6 * queryTiles);
  double needed = 1;
  for (size_t i = 0; i < 3; ++i)
    needed *= double(window::pairCount(problem.axes[i], problem.lengths[i]));
  EXPECT_DOUBLE_EQ(cost->waste, count.tiles * 64 * 64 / needed);
}

TEST(GpuCostModel, NothingIsMaskedWhereNoEdgeCuts) {
  GpuProblem dense = makeProblem({{4096, 1, 1, false}}, {4096}, 64, 16);
  auto cost = predictGpu(dense, *findGpuChip("sm_90"),
                         makeTiling({128}, {64}, 4, 2, 64));
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->maskedShare, 0);
  EXPECT_EQ(cost->waste, 1);
  EXPECT_EQ(cost->keyTiles, 64);
}

TEST(GpuCostModel, AdditionalKeysAreTiles) {
  GpuProblem problem = makeProblem({{64, 64, 1, false}}, {128}, 64, 16);
  GpuTiling tiling = makeTiling({64}, {32}, 4, 2, 64);
  const GpuChip &chip = *findGpuChip("sm_90");
  double before = predictGpu(problem, chip, tiling)->keyTiles;
  problem.additionalKeys = 33;
  EXPECT_EQ(predictGpu(problem, chip, tiling)->keyTiles, before + 2);
}

/// Shared memory and registers, worked out by hand.
TEST(GpuCostModel, Resources) {
  GpuProblem problem = makeProblem({{2048, 1, 1, false}}, {8192}, 72, 64);
  problem.valueDim = 128;
  const GpuChip &chip = *findGpuChip("sm_90");
  GpuTiling wide = makeTiling({128}, {32}, 4, 2, 128);
  auto cost = predictGpu(problem, chip, wide);
  ASSERT_TRUE(cost);
  // 72 channels take 80.
  EXPECT_EQ(cost->sharedBytes, 2 * (128 * 80 + 2 * 32 * (80 + 128)));
  EXPECT_EQ(cost->blocksPerMultiprocessor, 2);
  // Two rows of 16 have two accumulators, and scores, for each of one.
  GpuTiling half = makeTiling({64}, {32}, 4, 2, 128);
  auto halfCost = predictGpu(problem, chip, half);
  ASSERT_TRUE(halfCost);
  EXPECT_GT(cost->registers, halfCost->registers);
  EXPECT_LE(cost->registers, halfCost->registers + 64 + 16 + 20);
  EXPECT_EQ(halfCost->spilled, 0);
  // Rows of a warp: 16 or 32. Keys: multiples of 16, 256 at most.
  EXPECT_FALSE(predictGpu(problem, chip, makeTiling({128}, {64}, 2, 2, 128)));
  EXPECT_FALSE(predictGpu(problem, chip, makeTiling({64}, {64}, 8, 2, 128)));
  EXPECT_FALSE(predictGpu(problem, chip, makeTiling({96}, {64}, 4, 2, 128)));
  EXPECT_FALSE(predictGpu(problem, chip, makeTiling({64}, {40}, 4, 2, 128)));
  EXPECT_FALSE(predictGpu(problem, chip, makeTiling({64}, {272}, 4, 1, 128)));
  EXPECT_FALSE(predictGpu(problem, chip, makeTiling({64}, {64}, 0, 1, 128)));
  // 128 + 128 registers and more.
  EXPECT_FALSE(predictGpu(problem, chip, makeTiling({128}, {128}, 4, 1, 128)));
  // A bias takes some, scores that go to memory where a row's slots are.
  problem.hasBias = true;
  EXPECT_GT(predictGpu(problem, chip, half)->registers, halfCost->registers);
  problem.fused = problem.hasBias = false;
  problem.valueDim = half.valueTile = 0;
  EXPECT_EQ(predictGpu(problem, chip, half)->registers,
            halfCost->registers - 64 + 3);
  problem.fused = true;
  problem.valueDim = 128;
  // 229 KB do not fit sm_90, 93 KB fit sm_89 and 107 KB do not.
  problem.headDim = 128;
  EXPECT_FALSE(predictGpu(problem, chip, makeTiling({64}, {128}, 4, 4, 128)));
  const GpuChip &small = *findGpuChip("sm_89");
  EXPECT_TRUE(predictGpu(problem, small, makeTiling({64}, {64}, 4, 2, 128)));
  EXPECT_FALSE(predictGpu(problem, small, makeTiling({64}, {96}, 4, 2, 128)));
  // f32 takes twice as much.
  problem.operandBytes = 4;
  EXPECT_FALSE(predictGpu(problem, small, makeTiling({64}, {64}, 4, 2, 128)));
}

/// Divisions by the extents of a box, but not by that of its first axis.
TEST(GpuCostModel, BoxesThatDivide) {
  GpuProblem problem =
      makeProblem({{48, 48, 1, false}, {48, 48, 1, false}}, {96, 96}, 64, 16);
  const GpuChip &chip = *findGpuChip("sm_90");
  auto predict = [&](Box keyTile) {
    return *predictGpu(problem, chip, makeTiling({16, 4}, keyTile, 4, 2, 64));
  };
  EXPECT_EQ(predict({4, 12}).registers - predict({12, 4}).registers, 20);
  EXPECT_GT(predict({4, 12}).cycles, predict({12, 4}).cycles);
}

TEST(GpuCostModel, SearchFitsAndKeepsWhatIsFixed) {
  std::mt19937 random(7);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 60; ++round) {
    GpuProblem problem;
    for (int64_t rank = pick(1, 3); rank > 0; --rank) {
      Axis axis;
      axis.dilation = pick(1, 3);
      int64_t length = pick(1, 60) * axis.dilation;
      axis.window = pick(1, length / axis.dilation);
      axis.stride = pick(1, axis.window);
      axis.causal = pick(0, 3) == 0;
      problem.axes.push_back(axis);
      problem.lengths.push_back(pick(0, 9) ? length : dynamicLength);
    }
    problem.headDim = pick(1, 160);
    problem.valueDim = pick(1, 400);
    problem.batchHeads = pick(0, 9) ? pick(1, 300) : dynamicLength;
    problem.additionalKeys = pick(0, 3) ? 0 : pick(1, 50);
    problem.operandBytes = pick(0, 3) ? 2 : 4;
    problem.tileElementBytes = 4;
    const GpuChip &chip = *findGpuChip(names[pick(0, 4)]);
    auto best = searchGpu(problem, chip);
    ASSERT_TRUE(best);
    auto cost = predictGpu(problem, chip, *best);
    ASSERT_TRUE(cost);
    EXPECT_GT(cost->cycles, 0);
    EXPECT_TRUE(std::isfinite(cost->cycles));
    EXPECT_GE(cost->waste, 0.999);
    EXPECT_LE(best->valueTile, std::min<int64_t>(256, problem.valueDim));
    EXPECT_LE(product(best->queryTile), 128);

    // The search prefers what the model does.
    GpuTiling fixed;
    fixed.queryTile = best->queryTile;
    fixed.keyTile.assign(problem.axes.size(), 1);
    fixed.keyTile.back() = 16;
    auto other = searchGpu(problem, chip, fixed);
    ASSERT_TRUE(other);
    EXPECT_EQ(other->queryTile, fixed.queryTile);
    EXPECT_EQ(other->keyTile, fixed.keyTile);
    EXPECT_GE(predictGpu(problem, chip, *other)->cycles,
              cost->cycles * (1 - 1e-6));
  }
}

TEST(GpuCostModel, FixedWarpsStagesAndValues) {
  GpuProblem problem = makeProblem({{64, 1, 1, false}}, {512}, 64, 16);
  GpuTiling fixed;
  fixed.warps = 8;
  fixed.stages = 3;
  fixed.valueTile = 32;
  auto best = searchGpu(problem, *findGpuChip("sm_90"), fixed);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->warps, 8);
  EXPECT_EQ(best->stages, 3);
  EXPECT_EQ(best->valueTile, 32);
  EXPECT_EQ(product(best->queryTile), 128);
}

TEST(GpuCostModel, NothingFits) {
  GpuProblem problem = makeProblem({{64, 1, 1, false}}, {512}, 4096, 16);
  EXPECT_FALSE(searchGpu(problem, *findGpuChip("sm_86")));
  GpuTiling odd;
  odd.queryTile = {5};
  problem.headDim = 64;
  EXPECT_FALSE(searchGpu(problem, *findGpuChip("sm_90"), odd));
}

/// One product, scores or weights in memory.
TEST(GpuCostModel, UnfusedHalves) {
  GpuProblem problem =
      makeProblem({{7, 1, 1, false}, {7, 1, 1, false}}, {56, 56}, 32, 64);
  problem.fused = false;
  problem.valueDim = 0;
  EXPECT_TRUE(searchGpu(problem, *findGpuChip("sm_90")));
  std::swap(problem.headDim, problem.valueDim);
  EXPECT_TRUE(searchGpu(problem, *findGpuChip("sm_90")));
}

/// Tilings that measurements or published kernels have shown to be good.
TEST(GpuCostModel, Choices) {
  const GpuChip &chip = *findGpuChip("sm_90");
  auto dense = [&](int64_t headDim) {
    return *searchGpu(makeProblem({{16384, 1, 1, false}}, {16384}, headDim, 24),
                      chip);
  };
  EXPECT_EQ(dense(128).queryTile, Box{128});
  EXPECT_GE(dense(128).keyTile[0], 32);
  EXPECT_EQ(dense(64).queryTile, Box{128});
  EXPECT_GE(dense(64).keyTile[0], 64);

  auto waste = [&](const GpuProblem &problem) {
    return predictGpu(problem, chip, *searchGpu(problem, chip))->waste;
  };
  EXPECT_LE(waste(makeProblem(
                {{18, 1, 1, false}, {24, 1, 1, false}, {24, 1, 1, false}},
                {30, 48, 80}, 128, 24)),
            1.75);
  EXPECT_LE(waste(makeProblem({{80, 1, 1, false}, {80, 1, 1, false}},
                              {256, 256}, 128, 24)),
            1.25);
  EXPECT_LE(waste(makeProblem({{7, 1, 1, false}, {7, 1, 1, false}}, {56, 56},
                              32, 256)),
            5);
  // Windows that move in steps of a tile need no more than they see.
  EXPECT_EQ(waste(makeProblem(
                {{18, 6, 1, false}, {24, 8, 1, false}, {24, 8, 1, false}},
                {30, 48, 80}, 128, 24)),
            1);
}

TEST(GpuCostModel, FewTokensTakeSmallTiles) {
  GpuProblem tiny = makeProblem({{3, 1, 1, false}}, {30}, 32, 4096);
  auto best = searchGpu(tiny, *findGpuChip("sm_90"));
  ASSERT_TRUE(best);
  EXPECT_LE(product(best->queryTile), 32);
}

TEST(GpuCostModel, IsFastAndDeterministic) {
  GpuProblem problem =
      makeProblem({{18, 1, 1, false}, {24, 1, 1, false}, {24, 1, 1, false}},
                  {30, 48, 80}, 128, 24);
  const GpuChip &chip = *findGpuChip("sm_90");
  std::clock_t start = std::clock();
  GpuTiling first = *searchGpu(problem, chip);
  double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 0.5);
  GpuTiling second = *searchGpu(problem, chip);
  EXPECT_EQ(first.queryTile, second.queryTile);
  EXPECT_EQ(first.keyTile, second.keyTile);
  EXPECT_EQ(first.warps, second.warps);
  EXPECT_EQ(first.stages, second.stages);
}

TEST(GpuCostModel, Describes) {
  GpuProblem problem = makeProblem({{64, 64, 1, false}}, {128}, 64, 16);
  auto cost = predictGpu(problem, *findGpuChip("sm_90"),
                         makeTiling({64}, {32}, 4, 2, 64));
  ASSERT_TRUE(cost);
  std::string text = cost->describe();
  EXPECT_NE(text.find("waste 1.00, 2 key tiles per query tile (0% masked), "
                      "32 thread blocks"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("24.0 KiB of shared memory, 122 registers (0 spilled)"),
            std::string::npos)
      << text;
}

} // namespace
