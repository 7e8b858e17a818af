//===- GpuGradientModelTest.cpp - Tests of the model of gradients ---------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Schedule/GpuGradientModel.h"
#include "gtest/gtest.h"

#include <string>

using namespace na;
using namespace na::schedule;
using window::Axis;

namespace {

constexpr Gradient gradients[] = {Gradient::Queries, Gradient::KeysAndValues,
                                  Gradient::Keys, Gradient::Values};

GpuProblem makeProblem(std::vector<Axis> axes, std::vector<int64_t> lengths,
                       Gradient gradient, int64_t channels = 128) {
  GpuProblem problem;
  problem.axes = std::move(axes);
  problem.lengths = std::move(lengths);
  problem.headDim = problem.valueDim = channels;
  problem.gradient = gradient;
  problem.batchHeads = 24;
  return problem;
}

int64_t product(const std::vector<int64_t> &values) {
  int64_t result = 1;
  for (int64_t value : values)
    result *= value;
  return result;
}

TEST(GpuGradientModel, SearchFits) {
  for (const char *name : {"sm_80", "sm_86", "sm_89", "sm_90"})
    for (Gradient gradient : gradients)
      for (int64_t channels : {32, 64, 128})
        for (const GpuProblem &problem :
             {makeProblem({{1024}}, {8192}, gradient, channels),
              makeProblem({{13}, {13}}, {64, 64}, gradient, channels),
              makeProblem({{9, 3}, {7, 1, 2}, {5, 1, 1, true}}, {30, 48, 80},
                          gradient, channels)}) {
          const GpuChip &chip = *findGpuChip(name);
          std::optional<GpuTiling> tiling = searchGpuGradient(problem, chip);
          ASSERT_TRUE(tiling) << name << " " << channels;
          int64_t rows = product(tiling->getRowTile(problem));
          int64_t columns = product(tiling->getColumnTile(problem));
          EXPECT_TRUE(rows == 64 || rows == 128) << rows;
          EXPECT_EQ(rows, 16 * tiling->warps);
          EXPECT_EQ(columns % 16, 0);
          std::optional<GpuGradientCost> cost =
              predictGpuGradient(problem, chip, *tiling);
          ASSERT_TRUE(cost);
          EXPECT_LE(cost->sharedBytes, chip.sharedPerBlock);
          EXPECT_LE(cost->registers, 255);
          EXPECT_GE(cost->blocksPerMultiprocessor, 1);
          EXPECT_GE(cost->waste, 1);
        }
}

TEST(GpuGradientModel, TwoAccumulatorsLeaveRoomForFewColumns) {
  // 128 registers of accumulators, and 2.5 for every two columns.
  GpuProblem keys = makeProblem({{1024}}, {8192}, Gradient::KeysAndValues);
  const GpuChip &chip = *findGpuChip("sm_80");
  EXPECT_TRUE(predictGpuGradient(keys, chip, {{{32}, {64}}, 4, 2, 0}));
  EXPECT_FALSE(predictGpuGradient(keys, chip, {{{64}, {64}}, 4, 2, 0}));
  GpuProblem queries = makeProblem({{1024}}, {8192}, Gradient::Queries);
  EXPECT_TRUE(predictGpuGradient(queries, chip, {{{64}, {64}}, 4, 2, 0}));
  // Rows of a warp are 16.
  EXPECT_FALSE(predictGpuGradient(queries, chip, {{{64}, {64}}, 2, 2, 0}));
}

TEST(GpuGradientModel, SharedMemory) {
  GpuProblem problem = makeProblem({{64}}, {8192}, Gradient::KeysAndValues);
  std::optional<GpuGradientCost> cost = predictGpuGradient(
      problem, *findGpuChip("sm_90"), {{{16}, {64}}, 4, 2, 0});
  ASSERT_TRUE(cost);
  // Tiles of 64 keys and values, two of 16 queries and output gradients each,
  // and the statistics of these.
  EXPECT_EQ(cost->sharedBytes, 2 * 256 * (64 + 2 * 16) + 2 * 16 * 8);
}

TEST(GpuGradientModel, OneSumWhereTwoDoNotFit) {
  for (const char *name : {"sm_80", "sm_86", "sm_89", "sm_90"})
    for (int64_t channels : {176, 192, 256})
      for (int64_t bytes : {2, 4}) {
        const GpuChip &chip = *findGpuChip(name);
        auto find = [&](Gradient gradient) {
          GpuProblem problem =
              makeProblem({{1024}}, {8192}, gradient, channels);
          problem.operandBytes = bytes;
          return searchGpuGradient(problem, chip);
        };
        EXPECT_FALSE(find(Gradient::KeysAndValues)) << channels;
        EXPECT_TRUE(find(Gradient::Keys)) << name << " " << channels;
        EXPECT_TRUE(find(Gradient::Values)) << name << " " << channels;
      }
  // A bias leaves room for 16 columns.
  for (Gradient gradient :
       {Gradient::Queries, Gradient::Keys, Gradient::Values}) {
    GpuProblem problem =
        makeProblem({{5}, {7}, {7}}, {16, 32, 32}, gradient, 256);
    problem.hasBias = true;
    for (const char *name : {"sm_80", "sm_86", "sm_89", "sm_90"})
      EXPECT_TRUE(searchGpuGradient(problem, *findGpuChip(name))) << name;
  }
  // The gradient of the values needs neither values nor delta, nor registers
  // for the gradients of scores.
  const GpuChip &chip = *findGpuChip("sm_90");
  GpuTiling tiling{{{16}, {64}}, 4, 2, 0};
  auto keys = predictGpuGradient(
      makeProblem({{64}}, {8192}, Gradient::Keys, 256), chip, tiling);
  auto values = predictGpuGradient(
      makeProblem({{64}}, {8192}, Gradient::Values, 256), chip, tiling);
  ASSERT_TRUE(keys && values);
  EXPECT_EQ(keys->sharedBytes - values->sharedBytes, 2 * 256 * 64 + 2 * 16 * 4);
  EXPECT_EQ(keys->registers - values->registers, 8);
  EXPECT_LT(values->cycles, keys->cycles);
}

TEST(GpuGradientModel, KeepsWhatIsFixed) {
  GpuProblem problem =
      makeProblem({{13}, {13}}, {64, 64}, Gradient::KeysAndValues, 64);
  const GpuChip &chip = *findGpuChip("sm_80");
  GpuTiling fixed;
  fixed.keyTile = {8, 8};
  fixed.stages = 1;
  std::optional<GpuTiling> tiling = searchGpuGradient(problem, chip, fixed);
  ASSERT_TRUE(tiling);
  EXPECT_EQ(tiling->keyTile, fixed.keyTile);
  EXPECT_EQ(tiling->warps, 4);
  EXPECT_EQ(tiling->stages, 1);
  fixed.queryTile = {4, 8};
  tiling = searchGpuGradient(problem, chip, fixed);
  ASSERT_TRUE(tiling);
  EXPECT_EQ(tiling->queryTile, fixed.queryTile);
  // Not a multiple of 16 columns.
  fixed.queryTile = {3, 5};
  EXPECT_FALSE(searchGpuGradient(problem, chip, fixed));
}

TEST(GpuGradientModel, FewTokensAndManyChannels) {
  const GpuChip &chip = *findGpuChip("sm_80");
  std::optional<GpuTiling> tiling =
      searchGpuGradient(makeProblem({{5}}, {16}, Gradient::Queries, 32), chip);
  ASSERT_TRUE(tiling);
  EXPECT_EQ(tiling->warps, 1);
  EXPECT_FALSE(searchGpuGradient(
      makeProblem({{15}}, {512}, Gradient::KeysAndValues, 1024), chip));
}

TEST(GpuGradientModel, Describes) {
  GpuProblem problem = makeProblem({{1024}}, {8192}, Gradient::KeysAndValues);
  std::string text = predictGpuGradient(problem, *findGpuChip("sm_80"),
                                        {{{32}, {64}}, 4, 2, 0})
                         ->describe();
  EXPECT_NE(text.find("query tiles per key tile"), std::string::npos) << text;
}

} // namespace
