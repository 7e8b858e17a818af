//===- HopperCostModelTest.cpp - Tests of the model of warpgroups ---------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Schedule/HopperCostModel.h"
#include "na/Schedule/Ranking.h"
#include "na/Schedule/WarpgroupBudgets.h"
#include "gtest/gtest.h"

#include <ctime>
#include <random>

using namespace na;
using namespace na::schedule;
using window::Axis;

namespace {

using Box = std::vector<int64_t>;

GpuProblem makeProblem(std::vector<Axis> axes, Box lengths, int64_t batchHeads,
                       int64_t channels = 128) {
  GpuProblem problem;
  problem.axes = std::move(axes);
  problem.lengths = std::move(lengths);
  problem.headDim = problem.valueDim = channels;
  problem.batchHeads = batchHeads;
  return problem;
}

int64_t product(const Box &box) {
  int64_t result = 1;
  for (int64_t extent : box)
    result *= extent;
  return result;
}

const GpuChip &getChip() { return *findGpuChip("sm_90a"); }

HopperTiling makeTiling(Box queryTile, Box warpgroupTile, Box keyTile) {
  HopperTiling tiling;
  tiling.queryTile = std::move(queryTile);
  tiling.keyTile = std::move(keyTile);
  tiling.warpgroupTile = std::move(warpgroupTile);
  return tiling;
}

/// A problem of the suite (benchmarks/suite.json) and the tiles that the model
/// has to pick, most of which a hand-written kernel was fastest with.
struct Pick {
  const char *name;
  GpuProblem problem;
  Box queryTile, warpgroupTile, keyTile;
};

std::vector<Pick> getPicks() {
  auto video = [](Box strides) {
    std::vector<Axis> axes = {{18}, {24}, {24}};
    for (size_t i = 0; i < axes.size(); ++i)
      axes[i].stride = strides[i];
    return makeProblem(axes, {30, 48, 80}, 24);
  };
  Axis causal{4096, 1, 1, true};
  return {
      {"dense-16k", makeProblem({{16384}}, {16384}, 24), {128}, {64}, {176}},
      {"dense-32k", makeProblem({{32768}}, {32768}, 24), {128}, {64}, {176}},
      {"seq-32k-s1", makeProblem({{2048}}, {32768}, 16), {128}, {64}, {176}},
      // 128 keys divide the window, so that nothing is masked.
      {"seq-32k-s256",
       makeProblem({{2048, 256}}, {32768}, 16),
       {128},
       {64},
       {128}},
      {"seq-32k-causal",
       makeProblem({causal}, {32768}, 16),
       {128},
       {64},
       {176}},
      {"flux-s1",
       makeProblem({{80}, {80}}, {256, 256}, 24),
       {16, 8},
       {8, 8},
       {8, 22}},
      {"flux-s16",
       makeProblem({{80, 16}, {80, 16}}, {256, 256}, 24),
       {8, 16},
       {4, 16},
       {2, 80}},
      {"hunyuan-s1", video({1, 1, 1}), {8, 16, 1}, {8, 8, 1}, {2, 4, 24}},
      {"hunyuan-s16", video({16, 8, 8}), {2, 8, 8}, {1, 8, 8}, {1, 8, 24}},
      {"hunyuan-sta", video({6, 8, 8}), {2, 8, 8}, {1, 8, 8}, {1, 8, 24}},
      {"video-16x44x80",
       makeProblem({{16}, {12}, {24}}, {16, 44, 80}, 32),
       {16, 1, 8},
       {16, 1, 4},
       {16, 12, 1}},
      // Three warpgroups hide what of a tile is no product.
      {"dense-16k-d64",
       makeProblem({{16384}}, {16384}, 24, 64),
       {192},
       {64},
       {128}},
      {"dense-16k-d256",
       makeProblem({{16384}}, {16384}, 8, 256),
       {128},
       {64},
       {64}},
      // Several thread blocks of one warpgroup.
      {"image-k25",
       makeProblem({{25}, {25}}, {128, 128}, 64, 64),
       {8, 8},
       {8, 8},
       {3, 32}},
  };
}

TEST(HopperCostModel, Picks) {
  for (const Pick &pick : getPicks()) {
    std::optional<HopperTiling> tiling = searchHopper(pick.problem, getChip());
    ASSERT_TRUE(tiling) << pick.name;
    EXPECT_EQ(tiling->queryTile, pick.queryTile) << pick.name;
    EXPECT_EQ(tiling->warpgroupTile, pick.warpgroupTile) << pick.name;
    EXPECT_EQ(tiling->keyTile, pick.keyTile) << pick.name;
    EXPECT_EQ(tiling->stages, 2) << pick.name;
  }
}

TEST(HopperCostModel, Measurements) {
  // Milliseconds of a hand-written kernel at about 1.65 GHz. Without a mask
  // both key tiles of a strided problem are the same to the model.
  struct {
    size_t pick;
    HopperTiling tiling;
    double milliseconds;
  } measured[] = {
      {0, makeTiling({128}, {64}, {176}), 4.64},
      {2, makeTiling({128}, {64}, {128}), 0.937},
      {5, makeTiling({8, 16}, {8, 8}, {22, 8}), 9.05},
      {5, makeTiling({8, 16}, {8, 8}, {16, 8}), 9.6},
      {6, makeTiling({8, 16}, {4, 16}, {20, 8}), 7.33},
      {7, makeTiling({8, 16, 1}, {8, 8, 1}, {2, 4, 24}), 33.8},
      {7, makeTiling({8, 16, 1}, {8, 8, 1}, {6, 1, 24}), 34.1},
      {7, makeTiling({1, 16, 8}, {1, 8, 8}, {9, 4, 4}), 38.4},
      {8, makeTiling({2, 8, 8}, {1, 8, 8}, {2, 8, 12}), 21.1},
      {10, makeTiling({16, 1, 8}, {16, 1, 4}, {16, 12, 1}), 7.02},
  };
  std::vector<Pick> picks = getPicks();
  for (const auto &point : measured) {
    std::optional<HopperCost> cost =
        predictHopper(picks[point.pick].problem, getChip(), point.tiling);
    ASSERT_TRUE(cost);
    EXPECT_NEAR(cost->cycles / 1.65e6 / point.milliseconds, 1, 0.12)
        << picks[point.pick].name << " " << point.milliseconds;
  }
}

TEST(HopperCostModel, HeadsPerTile) {
  // Eight heads see the keys of eight queries, not of 64.
  GpuProblem problem = makeProblem({{128, 1, 1, true}}, {32768}, 64, 64);
  problem.headGroup = 8;
  HopperTiling single = makeTiling({128}, {64}, {64});
  HopperTiling packed = makeTiling({16}, {8}, {144});
  packed.headsPerTile = 8;
  auto one = predictHopper(problem, getChip(), single);
  auto eight = predictHopper(problem, getChip(), packed);
  ASSERT_TRUE(one && eight);
  EXPECT_NEAR(eight->waste, 144.0 / 128, 0.01);
  EXPECT_GT(one->waste, 1.4);
  EXPECT_LT(eight->cycles, 0.8 * one->cycles);
  EXPECT_EQ(eight->blocks, 32768 / 16 * 8);
  auto best = rankHopper(problem, getChip(), 1, 8);
  ASSERT_EQ(best.size(), 1u);
  EXPECT_EQ(best.front().headsPerTile, 8);
  EXPECT_EQ(product(best.front().warpgroupTile), 8);
  // Rows are 64; a tile has heads of one group; the TMA has no dimension for
  // heads in three axes.
  packed.headsPerTile = 4;
  EXPECT_FALSE(predictHopper(problem, getChip(), packed));
  packed.headsPerTile = 16;
  EXPECT_FALSE(predictHopper(problem, getChip(), packed));
  EXPECT_TRUE(rankHopper(problem, getChip(), 1, 3).empty());
  GpuProblem video = makeProblem({{3}, {3}, {3}}, {16, 16, 16}, 64, 64);
  video.headGroup = 8;
  EXPECT_TRUE(rankHopper(video, getChip(), 1, 8).empty());
}

TEST(HopperCostModel, SearchTime) {
  clock_t begin = clock();
  for (const Pick &pick : getPicks())
    searchHopper(pick.problem, getChip());
  // Long axes are sampled.
  Axis axis{24};
  searchHopper(makeProblem({axis, axis, axis}, {4096, 4096, 4096}, 8),
               getChip());
  double seconds = double(clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 0.05 * double(getPicks().size() + 1));
}

/// Counts of a thread block's tiles, from the keys of each query.
struct Count {
  double loaded = 0, computed = 0, inside = 0;
};

Count countAxis(const Axis &axis, int64_t size, int64_t queryTile,
                int64_t ownTile, int64_t keyTile) {
  auto keys = [&](int64_t begin, int64_t end) {
    window::Range<int64_t> all{size, 0};
    for (int64_t query = begin; query < std::min(end, size); ++query) {
      auto range = window::keyRange(axis, size, query);
      all = {std::min(all.begin, range.begin), std::max(all.end, range.end)};
    }
    return all;
  };
  auto seen = [&](int64_t begin, int64_t end, int64_t key) {
    for (int64_t query = begin; query < std::min(end, size); ++query) {
      auto range = window::keyRange(axis, size, query);
      if (key < range.begin || key + keyTile > range.end)
        return false;
    }
    return true;
  };
  Count count;
  for (int64_t block = 0; block < size; block += queryTile) {
    auto all = keys(block, block + queryTile);
    int64_t tiles = window::ceilDiv(all.end - all.begin, keyTile);
    // Which warpgroups need a tile.
    int64_t warpgroups = queryTile / ownTile, only[2] = {0, 0}, both = 0;
    Count own, together;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      int64_t key = all.begin + tile * keyTile;
      ++count.loaded;
      bool needed[3] = {false, false, false};
      for (int64_t g = 0; g < warpgroups; ++g) {
        int64_t begin = block + g * ownTile;
        if (begin >= size)
          continue;
        auto range = keys(begin, begin + ownTile);
        needed[g] = key < range.end && key + keyTile > range.begin;
        bool inside = seen(begin, begin + ownTile, key);
        own.computed += needed[g];
        own.inside += needed[g] && inside;
        together.computed += 1;
        together.inside += inside;
      }
      only[0] += needed[0] && !needed[1];
      only[1] += needed[1] && !needed[0];
      both += needed[0] && needed[1];
    }
    // Too few common tiles to put between those of one warpgroup.
    bool two = warpgroups == 2 && block + ownTile < size;
    const Count &chosen =
        two && both < std::abs(only[0] - only[1]) ? together : own;
    count.computed += chosen.computed;
    count.inside += chosen.inside;
  }
  return count;
}

TEST(HopperCostModel, Counts) {
  std::mt19937 random(5);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<Axis> axes(2);
    Box lengths(2);
    for (int i = 0; i < 2; ++i) {
      lengths[i] = pick(1, 60);
      axes[i].window = pick(1, lengths[i]);
      axes[i].stride = pick(1, axes[i].window);
      axes[i].causal = pick(0, 2) == 0;
    }
    GpuProblem problem = makeProblem(axes, lengths, 1, 64);
    int64_t first = int64_t(1) << pick(0, 6);
    Box own = {first, 64 / first};
    Box query = own;
    int64_t warpgroups = pick(1, 3);
    query[pick(0, 1)] *= warpgroups;
    int64_t keys = 16 * pick(1, warpgroups == 3 ? 8 : 12);
    int64_t outer = pick(1, keys);
    while (keys % outer != 0)
      --outer;
    Box key = {outer, keys / outer};
    std::optional<HopperCost> cost =
        predictHopper(problem, getChip(), makeTiling(query, own, key));
    ASSERT_TRUE(cost);
    Count total{1, 1, 1};
    double blocks = 1, needed = 1, masked = 0;
    for (int i = 0; i < 2; ++i) {
      Count count = countAxis(axes[i], lengths[i], query[i], own[i], key[i]);
      total.loaded *= count.loaded;
      total.computed *= count.computed;
      masked += 1 - count.inside / count.computed;
      blocks *= double(window::ceilDiv(lengths[i], query[i]));
      needed *= double(window::pairCount(axes[i], lengths[i]));
    }
    EXPECT_EQ(cost->blocks, blocks);
    EXPECT_NEAR(cost->loaded, total.loaded / blocks, 1e-9);
    EXPECT_NEAR(cost->computed, total.computed / (double(warpgroups) * blocks),
                1e-9);
    EXPECT_NEAR(cost->maskedAxes, masked, 1e-9);
    EXPECT_NEAR(cost->waste, total.computed * 64 * double(keys) / needed,
                1e-9 * cost->waste);
  }
}

TEST(HopperCostModel, EveryProblemHasATiling) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    auto pick = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    std::vector<Axis> axes(size_t(pick(1, 3)));
    Box lengths;
    for (Axis &axis : axes) {
      lengths.push_back(pick(1, trial % 2 ? 5 : 70));
      axis.window = pick(1, lengths.back());
      axis.stride = pick(1, axis.window);
      axis.causal = pick(0, 2) == 0;
    }
    GpuProblem problem = makeProblem(
        axes, lengths, trial % 7 == 0 ? dynamicLength : pick(0, 100),
        16 * pick(1, 16));
    if (trial % 3 == 0)
      problem.valueDim = 16 * pick(1, 16);
    std::optional<HopperTiling> tiling = searchHopper(problem, getChip());
    ASSERT_TRUE(tiling);
    EXPECT_EQ(product(tiling->warpgroupTile), 64);
    EXPECT_EQ(product(tiling->queryTile) % 64, 0);
    EXPECT_LE(product(tiling->queryTile), 192);
    EXPECT_EQ(product(tiling->keyTile) % 16, 0);
    EXPECT_LE(product(tiling->keyTile), 256);
    std::optional<HopperCost> cost = predictHopper(problem, getChip(), *tiling);
    ASSERT_TRUE(cost);
    EXPECT_LE(cost->sharedBytes, getChip().sharedPerBlock);
  }
}

TEST(HopperCostModel, Scope) {
  GpuProblem problem = makeProblem({{5}}, {16}, 1);
  EXPECT_TRUE(isForWarpgroups(problem));
  auto without = [&](auto change) {
    GpuProblem other = problem;
    change(other);
    EXPECT_FALSE(isForWarpgroups(other));
    EXPECT_FALSE(searchHopper(other, getChip()));
  };
  for (int64_t channels = 16; channels <= 256; channels += 16) {
    GpuProblem other = problem;
    other.headDim = channels;
    other.valueDim = 272 - channels;
    EXPECT_TRUE(searchHopper(other, getChip())) << channels;
  }
  without([](GpuProblem &p) { p.headDim = 272; });
  without([](GpuProblem &p) { p.valueDim = 24; });
  without([](GpuProblem &p) { p.operandBytes = 4; });
  without([](GpuProblem &p) { p.fused = false; });
  without([](GpuProblem &p) { p.lengths[0] = dynamicLength; });
  // Products of warpgroups.
  EXPECT_FALSE(searchHopper(problem, *findGpuChip("sm_89")));
}

// Residue classes are problems of their own: with as many tokens each as the
// axis of another problem has, they cost as many times as much.
TEST(HopperCostModel, ResidueClasses) {
  GpuProblem one = makeProblem({{9}, {5}}, {40, 32}, 132 * 8);
  GpuProblem dilated = makeProblem({{9}, {5}}, {160, 64}, 132);
  dilated.axes[0].dilation = 4;
  dilated.axes[1].dilation = 2;
  HopperTiling tiling = makeTiling({8, 16}, {8, 8}, {8, 8});
  auto cost = predictHopper(one, getChip(), tiling);
  auto dilatedCost = predictHopper(dilated, getChip(), tiling);
  ASSERT_TRUE(cost && dilatedCost);
  EXPECT_DOUBLE_EQ(cost->cycles, dilatedCost->cycles);
  EXPECT_DOUBLE_EQ(cost->waste, dilatedCost->waste);
  EXPECT_DOUBLE_EQ(cost->blocks, dilatedCost->blocks);
  EXPECT_DOUBLE_EQ(cost->loaded, dilatedCost->loaded);
  EXPECT_DOUBLE_EQ(cost->maskedShare, dilatedCost->maskedShare);
}

// Every thread block loads as many tiles of additional keys, and all of its
// warpgroups compute them, without a mask.
TEST(HopperCostModel, AdditionalKeys) {
  GpuProblem problem = makeProblem({{9}, {5}}, {64, 64}, 24);
  HopperTiling tiling = makeTiling({8, 16}, {8, 8}, {8, 8});
  auto cost = predictHopper(problem, getChip(), tiling);
  problem.additionalKeys = 65;
  auto more = predictHopper(problem, getChip(), tiling);
  ASSERT_TRUE(cost && more);
  EXPECT_DOUBLE_EQ(more->loaded, cost->loaded + 2);
  EXPECT_DOUBLE_EQ(more->computed, cost->computed + 2);
  EXPECT_DOUBLE_EQ(more->blocks, cost->blocks);
  EXPECT_NEAR(more->maskedShare * more->computed,
              cost->maskedShare * cost->computed, 1e-9);
  EXPECT_GT(more->cycles, cost->cycles);
}

TEST(HopperCostModel, BiasTakesTime) {
  GpuProblem problem = makeProblem({{9}, {5}}, {64, 64}, 24);
  HopperTiling tiling = makeTiling({8, 16}, {8, 8}, {8, 8});
  auto cost = predictHopper(problem, getChip(), tiling);
  problem.hasBias = true;
  auto more = predictHopper(problem, getChip(), tiling);
  ASSERT_TRUE(cost && more);
  EXPECT_GT(more->cycles, 1.2 * cost->cycles);
  EXPECT_EQ(more->waste, cost->waste);
  EXPECT_TRUE(searchHopper(problem, getChip()));
  // And registers: tiles of so many keys would spill.
  tiling = makeTiling({8, 16}, {8, 8}, {22, 8});
  EXPECT_FALSE(predictHopper(problem, getChip(), tiling));
  problem.hasBias = false;
  EXPECT_TRUE(predictHopper(problem, getChip(), tiling));
}

TEST(HopperCostModel, IllegalTilings) {
  GpuProblem problem = makeProblem({{5}, {5}}, {64, 64}, 1);
  auto predict = [&](Box queryTile, Box warpgroupTile, Box keyTile) {
    return bool(predictHopper(problem, getChip(),
                              makeTiling(queryTile, warpgroupTile, keyTile)));
  };
  EXPECT_TRUE(predict({8, 16}, {8, 8}, {8, 8}));
  EXPECT_TRUE(predict({8, 8}, {8, 8}, {8, 8}));
  EXPECT_TRUE(predict({8, 24}, {8, 8}, {8, 8}));
  EXPECT_FALSE(predict({8, 32}, {8, 8}, {8, 8}));
  EXPECT_FALSE(predict({16, 16}, {8, 8}, {8, 8}));
  EXPECT_FALSE(predict({8, 20}, {8, 8}, {8, 8}));
  EXPECT_FALSE(predict({8, 8}, {8, 4}, {8, 8}));
  EXPECT_FALSE(predict({8, 16}, {8, 8}, {8, 9}));
  EXPECT_FALSE(predict({8, 16}, {8, 8}, {16, 13}));
}

/// Whether the ranking of all schedules begins with one of warpgroups.
bool hasWarpgroupsFirst(const GpuProblem &problem) {
  Workload workload;
  static_cast<GpuProblem &>(workload) = problem;
  RankingOptions options;
  options.target = "sm_90a";
  std::vector<Candidate> ranked = rankSchedules(workload, options);
  return !ranked.empty() && !ranked[0].schedule.warpgroupTile.empty();
}

TEST(HopperCostModel, Faster) {
  for (const Pick &pick : getPicks())
    EXPECT_TRUE(hasWarpgroupsFirst(pick.problem)) << pick.name;
  EXPECT_TRUE(
      hasWarpgroupsFirst(makeProblem({{80}, {80}}, {256, 256}, dynamicLength)));
  // Few keys for each query: several thread blocks share a multiprocessor.
  EXPECT_TRUE(hasWarpgroupsFirst(makeProblem({{7}, {7}}, {56, 56}, 256, 32)));
  EXPECT_TRUE(hasWarpgroupsFirst(makeProblem({{7}, {7}}, {14, 14}, 1024, 32)));
  // Most of a tile is not needed, whoever computes it; tiles of warps are
  // smaller.
  EXPECT_FALSE(hasWarpgroupsFirst(makeProblem({{3}}, {32}, 8192, 16)));
}

TEST(WarpgroupBudgets, ShareAMultiprocessor) {
  auto check = [](int64_t groups, int64_t keys, int64_t values, int64_t bytes,
                  int64_t blocks, int64_t producer, int64_t consumer) {
    WarpgroupBudgets budgets = getWarpgroupBudgets(groups, keys, values, bytes);
    EXPECT_TRUE(budgets.fits);
    EXPECT_EQ(budgets.blocks, blocks);
    EXPECT_EQ(budgets.producer, producer);
    EXPECT_EQ(budgets.consumer, consumer);
  };
  constexpr int64_t large = 200 << 10, small = 20 << 10;
  check(2, 176, 128, large, 1, 56, 224);
  check(2, 192, 128, large, 1, 24, 240);
  check(2, 80, 256, large, 1, 24, 240);
  check(3, 128, 64, large, 1, 32, 160);
  check(1, 192, 128, large, 1, 240, 240);
  check(1, 192, 64, small, 2, 24, 232);
  check(1, 96, 64, small, 3, 24, 136);
  check(1, 64, 32, small, 4, 24, 104);
  // Two by their memory.
  check(1, 64, 32, 100 << 10, 2, 24, 232);
  // A product of 112 columns takes more than a third of the registers.
  check(1, 112, 32, small, 2, 24, 232);
  EXPECT_FALSE(getWarpgroupBudgets(3, 176, 64, small).fits);
  EXPECT_FALSE(getWarpgroupBudgets(2, 192, 192, small).fits);
}

TEST(HopperCostModel, Describes) {
  std::optional<HopperCost> cost = predictHopper(
      getPicks()[5].problem, getChip(), makeTiling({8, 16}, {8, 8}, {22, 8}));
  ASSERT_TRUE(cost);
  EXPECT_NE(cost->describe().find("45.5 key tiles per thread block, of which a "
                                  "warpgroup computes 42.8 (50% masked"),
            std::string::npos)
      << cost->describe();
}

} // namespace
