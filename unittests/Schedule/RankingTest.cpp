//===- RankingTest.cpp - Tests of the ranking of schedules ----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Schedule/Ranking.h"
#include "na/Schedule/GpuGradientModel.h"
#include "na/Schedule/HopperGradientModel.h"
#include "gtest/gtest.h"

#include <ctime>
#include <set>

using namespace na;
using namespace na::schedule;
using window::Axis;

namespace {

const char *const targets[] = {"cpu",   "sm_80", "sm_86",
                               "sm_89", "sm_90", "sm_90a"};

Workload makeWorkload(std::vector<Axis> axes, std::vector<int64_t> lengths,
                      int64_t heads = 24, int64_t channels = 128) {
  Workload workload;
  workload.axes = std::move(axes);
  workload.lengths = std::move(lengths);
  workload.heads = workload.kvHeads = workload.batchHeads = heads;
  workload.headDim = workload.valueDim = channels;
  workload.type = "bf16";
  return workload;
}

std::vector<Workload> getWorkloads() {
  return {makeWorkload({{7}, {7}}, {56, 56}, 4, 32),
          makeWorkload({{2048, 1, 1, true}}, {32768}, 16),
          makeWorkload({{80}, {80}}, {256, 256}),
          makeWorkload({{18, 16}, {24, 8}, {24, 8}}, {30, 48, 80}),
          makeWorkload({{8, 1, 2}}, {64}, dynamicLength, 64)};
}

RankingOptions makeOptions(const char *target, size_t count) {
  RankingOptions options;
  options.target = target;
  options.count = count;
  return options;
}

TEST(Ranking, HeadsPerTile) {
  Workload workload = makeWorkload({{128, 1, 1, true}}, {32768}, 64, 64);
  workload.kvHeads = 8;
  workload.headGroup = 8;
  for (const char *target : {"sm_80", "sm_90a"}) {
    RankingOptions options = makeOptions(target, 1);
    auto free = rankSchedules(workload, options);
    ASSERT_EQ(free.size(), 1u);
    EXPECT_EQ(free[0].schedule.headsPerTile, 1) << target;
    options.headsPerTile = 2;
    auto two = rankSchedules(workload, options);
    ASSERT_EQ(two.size(), 1u);
    EXPECT_EQ(two[0].schedule.headsPerTile, 2) << target;
    EXPECT_NE(two[0].schedule.describe().find(", heads 2"), std::string::npos);
    EXPECT_TRUE(predictSchedule(workload, two[0].schedule));
    // Tiles by hand are of one head unless they say how many.
    options.headsPerTile = 0;
    options.fixed.queryTile = {64};
    options.fixed.keyTile = {64};
    auto fixed = rankSchedules(workload, options);
    ASSERT_EQ(fixed.size(), 1u);
    EXPECT_EQ(fixed[0].schedule.headsPerTile, 1) << target;
  }
  // Heads that share nothing do not share a tile.
  workload.headGroup = 1;
  RankingOptions options = makeOptions("sm_90a", 1);
  EXPECT_EQ(rankSchedules(workload, options)[0].schedule.headsPerTile, 1);
  options.headsPerTile = 2;
  EXPECT_TRUE(rankSchedules(workload, options).empty());
}

TEST(Ranking, FirstDoesNotDependOnTheCount) {
  for (const Workload &workload : getWorkloads())
    for (const char *target : targets) {
      auto one = rankSchedules(workload, makeOptions(target, 1));
      auto many = rankSchedules(workload, makeOptions(target, 24));
      ASSERT_EQ(one.size(), 1u) << target;
      ASSERT_GT(many.size(), 3u) << target;
      EXPECT_TRUE(one[0].schedule == many[0].schedule)
          << target << ": " << one[0].schedule.describe() << " and "
          << many[0].schedule.describe();
    }
}

TEST(Ranking, IsSortedAndDistinct) {
  for (const Workload &workload : getWorkloads())
    for (const char *target : targets) {
      std::set<std::string> seen;
      // The first may have been preferred to near ties.
      constexpr double margin = 0.05;
      double least = 0;
      for (const Candidate &candidate :
           rankSchedules(workload, makeOptions(target, 24))) {
        const Schedule &schedule = candidate.schedule;
        double seconds = candidate.prediction.seconds;
        EXPECT_GE(seconds, least * (1 - 1e-5)) << target;
        least = seen.empty() ? seconds * (1 - margin) : seconds;
        EXPECT_TRUE(seen.insert(formatBox(schedule.queryTile) + " " +
                                formatBox(schedule.keyTile) + " " +
                                formatBox(schedule.warpgroupTile))
                        .second)
            << target << ": " << schedule.describe() << " twice";
      }
    }
}

TEST(Ranking, PredictionsAreWhole) {
  for (const Workload &workload : getWorkloads())
    for (const char *target : targets)
      for (const Candidate &candidate :
           rankSchedules(workload, makeOptions(target, 8))) {
        const Prediction &prediction = candidate.prediction;
        EXPECT_GT(prediction.seconds, 0);
        EXPECT_GE(prediction.waste, 1 - 1e-9);
        EXPECT_EQ(prediction.axes.size(), workload.axes.size());
        EXPECT_FALSE(prediction.limit.empty());
        EXPECT_GE(prediction.maskedShare, -1e-9);
        EXPECT_LE(prediction.maskedShare, 1);
        for (const UnitShare &unit : prediction.units) {
          EXPECT_GE(unit.share, 0) << unit.unit;
          // Models may add more than a unit can do where parts overlap.
          EXPECT_LT(unit.share, 1.1) << unit.unit;
        }
        std::optional<Prediction> again =
            predictSchedule(workload, candidate.schedule);
        ASSERT_TRUE(again);
        EXPECT_EQ(again->text, prediction.text);
        EXPECT_EQ(again->sharedBytes, prediction.sharedBytes);
      }
}

TEST(Ranking, FixedTilesGiveTheirVariants) {
  Workload workload = getWorkloads()[2];
  RankingOptions options = makeOptions("sm_80", 10);
  options.fixed.queryTile = {8, 8};
  options.fixed.keyTile = {8, 8};
  auto ranked = rankSchedules(workload, options);
  ASSERT_GT(ranked.size(), 1u);
  for (size_t i = 0; i < ranked.size(); ++i) {
    EXPECT_EQ(ranked[i].schedule.queryTile, options.fixed.queryTile);
    EXPECT_EQ(ranked[i].schedule.keyTile, options.fixed.keyTile);
    for (size_t j = 0; j < i; ++j)
      EXPECT_FALSE(ranked[i].schedule == ranked[j].schedule);
  }
  options = makeOptions("sm_90a", 10);
  options.fixed.queryTile = {8, 16};
  options.fixed.warpgroupTile = {8, 8};
  options.fixed.keyTile = {8, 8};
  ranked = rankSchedules(workload, options);
  ASSERT_GT(ranked.size(), 1u);
  EXPECT_EQ(ranked[0].schedule.stages, 2);
  EXPECT_EQ(ranked[1].schedule.stages, 3);
}

TEST(Ranking, WarpgroupsNeedBoxesAndTheirChip) {
  Workload workload = getWorkloads()[2];
  auto first = [&](const char *target) {
    return rankSchedules(workload, makeOptions(target, 1))[0].schedule;
  };
  EXPECT_EQ(first("sm_90a").target, "sm_90a");
  EXPECT_FALSE(first("sm_90a").warpgroupTile.empty());
  EXPECT_TRUE(first("sm_90").warpgroupTile.empty());
  Schedule ofWarpgroups = first("sm_90a");
  workload.hasBoxes = false;
  EXPECT_EQ(first("sm_90a").target, "sm_90");
  EXPECT_FALSE(predictSchedule(workload, ofWarpgroups));
  workload.hasBoxes = true;
  // They take additional keys and a bias, which do not make warps better.
  workload.hasAdditionalKeys = true;
  workload.additionalKeys = 4;
  EXPECT_EQ(first("sm_90a").target, "sm_90a");
  workload.hasBias = true;
  EXPECT_EQ(first("sm_90a").target, "sm_90a");
}

// The model of warps knows no time of it, which is no reason to take them.
TEST(Ranking, BiasKeepsTheKindOfKernel) {
  auto hasWarpgroupsFirst = [](const Workload &workload) {
    auto ranked = rankSchedules(workload, makeOptions("sm_90a", 1));
    return !ranked.at(0).schedule.warpgroupTile.empty();
  };
  Workload few = makeWorkload({{3}}, {32}, 8192, 16);
  for (Workload workload : {getWorkloads()[0], getWorkloads()[2], few}) {
    bool plain = hasWarpgroupsFirst(workload);
    EXPECT_EQ(plain, workload.headDim != 16);
    workload.hasBias = true;
    workload.biasType = "f32";
    EXPECT_EQ(hasWarpgroupsFirst(workload), plain) << workload.getKey();
  }
}

TEST(Ranking, SumsOfKeysAreOfTilesOfKeys) {
  for (const char *operation : {"qk_dk", "av_dv"}) {
    Workload workload = makeWorkload({{9}, {15}}, {48, 64}, 8);
    workload.gradient = Gradient::KeySums;
    workload.operation = operation;
    workload.fused = false;
    workload.slotBytes = 4;
    EXPECT_FALSE(workload.isGradient());
    EXPECT_FALSE(workload.hasScores());
    auto ranked = rankSchedules(workload, makeOptions("sm_80", 8));
    ASSERT_GT(ranked.size(), 1u);
    for (const Candidate &candidate : ranked) {
      const Schedule &schedule = candidate.schedule;
      int64_t keys = schedule.keyTile[0] * schedule.keyTile[1];
      int64_t queries = schedule.queryTile[0] * schedule.queryTile[1];
      EXPECT_TRUE(keys == 16 * schedule.warps || keys == 32 * schedule.warps)
          << schedule.describe();
      EXPECT_EQ(queries % (16 * schedule.warps), 0) << schedule.describe();
      EXPECT_GE(candidate.prediction.waste, 1);
      EXPECT_NE(candidate.prediction.text.find("query tiles per key tile"),
                std::string::npos);
    }
    // Warps without queries of their own have nothing to gather.
    Schedule schedule = ranked.front().schedule;
    schedule.queryTile = {1, 16};
    schedule.keyTile = {8, 8};
    schedule.warps = 4;
    EXPECT_FALSE(predictSchedule(workload, schedule));
    schedule.queryTile = {4, 16};
    EXPECT_TRUE(predictSchedule(workload, schedule));
    EXPECT_FALSE(rankSchedules(workload, makeOptions("cpu", 2)).empty());
  }
}

TEST(Ranking, GradientsAreRankedByTheirSearch) {
  for (Gradient gradient : {Gradient::Queries, Gradient::KeysAndValues,
                            Gradient::Keys, Gradient::Values}) {
    Workload workload = makeWorkload({{9}, {15}}, {48, 64}, 8);
    workload.gradient = gradient;
    workload.operation = "attention_dq";
    for (const char *target : {"sm_80", "sm_90a"}) {
      const GpuChip &chip = *findGpuChip(target);
      auto ranked = rankSchedules(workload, makeOptions(target, 8));
      ASSERT_EQ(ranked.size(), 8u) << target;
      for (size_t i = 0; i < ranked.size(); ++i) {
        const Prediction &prediction = ranked[i].prediction;
        if (i > 0) {
          EXPECT_GE(prediction.seconds, ranked[i - 1].prediction.seconds);
          EXPECT_FALSE(ranked[i].schedule == ranked[i - 1].schedule);
        }
        EXPECT_EQ(prediction.limit, prediction.units.front().unit);
        EXPECT_EQ(prediction.axes.size(), 2u);
        for (const UnitShare &unit : prediction.units) {
          EXPECT_GT(unit.share, 0) << unit.unit;
          EXPECT_LE(unit.share, 1) << unit.unit;
        }
        EXPECT_GT(prediction.maskedShare, 0);
        EXPECT_LE(prediction.maskedShare, 1);
        EXPECT_GT(prediction.tileTraffic, 0);
      }
      const Schedule &schedule = ranked[0].schedule;
      auto ofWarps = searchGpuGradient(workload, chip);
      auto ofWarpgroups = searchHopperGradient(workload, chip);
      ASSERT_TRUE(ofWarps);
      ASSERT_EQ(bool(ofWarpgroups), target == std::string("sm_90a"));
      if (ofWarpgroups) {
        EXPECT_EQ(schedule.target, "sm_90a");
        EXPECT_EQ(schedule.queryTile, ofWarpgroups->queryTile);
        EXPECT_EQ(schedule.keyTile, ofWarpgroups->keyTile);
        EXPECT_EQ(schedule.warpgroupTile, ofWarpgroups->warpgroupTile);
        EXPECT_EQ(
            ranked[0].prediction.text,
            predictHopperGradient(workload, chip, *ofWarpgroups)->describe());
        workload.hasBoxes = false;
        EXPECT_EQ(
            rankSchedules(workload, makeOptions(target, 1))[0].schedule.target,
            "sm_90");
      } else {
        EXPECT_EQ(schedule.queryTile, ofWarps->queryTile);
        EXPECT_EQ(schedule.keyTile, ofWarps->keyTile);
        EXPECT_EQ(schedule.warps, ofWarps->warps);
        EXPECT_EQ(schedule.stages, ofWarps->stages);
        EXPECT_EQ(ranked[0].prediction.text,
                  predictGpuGradient(workload, chip, *ofWarps)->describe());
      }
    }
    Tiling tiling = searchCpu(workload);
    auto ranked = rankSchedules(workload, makeOptions("cpu", 1));
    ASSERT_EQ(ranked.size(), 1u);
    EXPECT_EQ(ranked[0].schedule.queryTile, tiling.queryTile);
    EXPECT_EQ(ranked[0].schedule.keyTile, tiling.keyTile);
  }
}

// One less than the forward has.
TEST(Ranking, GradientsHaveTwoWarpgroups) {
  Workload workload = makeWorkload({{9}, {15}}, {48, 64}, 8, 64);
  workload.gradient = Gradient::Queries;
  Schedule schedule;
  schedule.target = "sm_90a";
  schedule.queryTile = {16, 8};
  schedule.keyTile = {4, 8};
  schedule.warpgroupTile = {8, 8};
  schedule.stages = 2;
  EXPECT_TRUE(predictSchedule(workload, schedule));
  schedule.queryTile = {24, 8};
  EXPECT_FALSE(predictSchedule(workload, schedule));
}

// Two sums of more than 128 channels leave no registers for scores.
TEST(Ranking, WarpgroupsHaveOneSumOfManyChannels) {
  for (int64_t channels : {192, 224, 256}) {
    Workload workload = makeWorkload({{1024}}, {8192}, 8, channels);
    auto hasWarpgroups = [&](Gradient gradient) {
      workload.gradient = gradient;
      auto ranked = rankSchedules(workload, makeOptions("sm_90a", 1));
      return !ranked.empty() && !ranked[0].schedule.warpgroupTile.empty();
    };
    for (bool hasBias : {false, true}) {
      workload.hasBias = hasBias;
      EXPECT_FALSE(hasWarpgroups(Gradient::KeysAndValues)) << channels;
      EXPECT_TRUE(hasWarpgroups(Gradient::Keys)) << channels;
      EXPECT_TRUE(hasWarpgroups(Gradient::Values)) << channels;
    }
  }
}

TEST(Ranking, IllegalSchedulesHaveNoPrediction) {
  Workload workload = getWorkloads()[0];
  Schedule schedule =
      rankSchedules(workload, makeOptions("sm_80", 1))[0].schedule;
  auto without = [&](auto change) {
    Schedule other = schedule;
    change(other);
    EXPECT_FALSE(predictSchedule(workload, other)) << other.describe();
  };
  EXPECT_TRUE(predictSchedule(workload, schedule));
  without([](Schedule &s) { s.target = "sm_12"; });
  without([](Schedule &s) { s.queryTile.push_back(1); });
  without([](Schedule &s) { s.keyTile.clear(); });
  without([](Schedule &s) { s.keyTile[0] = 0; });
  without([](Schedule &s) { s.queryTile[0] = -8; });
  without([](Schedule &s) { s.warps = 7; });
  without([](Schedule &s) { s.warpgroupTile = {8, 0}; });
}

TEST(Ranking, Key) {
  Workload workload = makeWorkload({{7, 2, 2, true}, {5}}, {56, 48}, 8, 64);
  workload.kvHeads = 2;
  workload.valueDim = 32;
  workload.batch = dynamicLength;
  EXPECT_EQ(workload.getKey(),
            "attention 56x48 window 7x5 stride 2x1 dilation 2x1 causal tf "
            "batch ? heads 8/2 dim 64/32 bf16");
  workload.hasBias = true;
  workload.biasType = "f32";
  workload.hasAdditionalKeys = true;
  workload.additionalKeys = 4;
  EXPECT_EQ(workload.getKey(),
            "attention 56x48 window 7x5 stride 2x1 dilation 2x1 causal tf "
            "batch ? heads 8/2 dim 64/32 additional 4 bias f32 bf16");
}

TEST(Ranking, Counts) {
  Workload workload = makeWorkload({{5}}, {16}, 2, 8);
  EXPECT_EQ(workload.countFlop(), 2.0 * 16 * 5 * 16 * 2);
  EXPECT_EQ(workload.countBytes(), 2.0 * 4 * 16 * 2 * 8);
  workload.batch = dynamicLength;
  EXPECT_EQ(workload.countBytes(), 0);
}

TEST(Ranking, Time) {
  clock_t begin = clock();
  int searches = 0;
  for (const Workload &workload : getWorkloads())
    for (const char *target : targets) {
      rankSchedules(workload, makeOptions(target, 32));
      ++searches;
    }
  double seconds = double(clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 0.05 * searches);
}

} // namespace
