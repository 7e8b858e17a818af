//===- Ranking.h - Schedules in the order of their cost ---------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One view of the models of all targets (CostModel.h, GpuCostModel.h,
// GpuGradientModel.h, HopperCostModel.h, HopperGradientModel.h): what the
// compiler selects, what is explained to people and what is measured on a
// device are entries of the same ranking.
//
//===----------------------------------------------------------------------===//

#ifndef NA_SCHEDULE_RANKING_H
#define NA_SCHEDULE_RANKING_H

#include "na/Schedule/HopperCostModel.h"

#include <optional>
#include <string>
#include <vector>

namespace na::schedule {

/// An operation, as far as schedules depend on it. `headDim` and `valueDim` are
/// never 0 here.
struct Workload : GpuProblem {
  /// "attention", one of its halves: "qk", "av", one of their gradients:
  /// "qk_dq", "qk_dk", "av_dweights", "av_dv", or the gradients of attention of
  /// one program: "attention_dq", "attention_dkv", "attention_dk",
  /// "attention_dv", "attention_dqkv".
  std::string operation = "attention";
  /// Sizes; `dynamicLength` if unknown.
  int64_t batch = 1, heads = 1, kvHeads = 1;
  /// Element types; that of the bias is empty without one.
  std::string type = "f32", biasType;
  /// Beside `additionalKeys`, whether there are any of unknown number.
  bool hasAdditionalKeys = false;
  /// Whether the TMA can read boxes of the operands.
  bool hasBoxes = true;

  /// Whether it is a gradient of attention, with a softmax between products.
  bool isGradient() const {
    return gradient != Gradient::None && gradient != Gradient::KeySums;
  }

  /// Whether it is one product that makes scores, and no sum.
  bool hasScores() const {
    return operation == "qk" || operation == "av_dweights";
  }

  /// What identifies the workload in a tuning file, on one line:
  /// "attention 56x56 window 7x7 stride 1x1 ... bf16".
  std::string getKey() const;

  /// Floating-point operations of both products on the pairs that are needed;
  /// of one batch and head where their number is unknown.
  double countFlop() const;
  /// Bytes of operands and results, each moved once; 0 if sizes are unknown.
  double countBytes() const;
};

/// What `#na.schedule` says.
struct Schedule : Tiling {
  std::string target;
  std::vector<int64_t> warpgroupTile;
  int64_t stages = 0, warps = 0;
  /// 0: all channels.
  int64_t valueTile = 0;
  int64_t headsPerTile = 1;

  bool operator==(const Schedule &other) const;

  /// "query 8x16, key 22x8, warpgroup 8x8, stages 2".
  std::string describe() const;
};

/// A share of the time in which a unit is busy.
struct UnitShare {
  std::string unit;
  double share;
};

/// What a model expects of a schedule. For gradients, without units, axes and
/// traffic; tiles are those of columns (AxisModel.h) then.
struct Prediction {
  /// Of the whole operation; on a CPU by one thread.
  double seconds = 0;
  /// The busiest unit, and all of them.
  std::string limit;
  std::vector<UnitShare> units;
  /// Query/key pairs that are computed, over those that are needed.
  double waste = 0;
  /// Key tiles that a query tile loads and that its warpgroups, if it has any,
  /// compute on average; the share of these that is masked.
  double loadedTiles = 0, computedTiles = 0, maskedShare = 0;
  std::vector<AxisPart> axes;
  /// Query tiles in all. Of a GPU: those that it holds at a time, and how often
  /// it is filled.
  double blocks = 0, waves = 0;
  int64_t blocksPerMultiprocessor = 0;
  /// Of a thread block; of a CPU the bytes of tiles that are live at once.
  int64_t sharedBytes = 0;
  /// Of a thread, and how many more it would need.
  int64_t registers = 0, spilled = 0;
  /// Bytes that all query tiles read and write.
  double tileTraffic = 0;
  /// One line of the model.
  std::string text;
};

struct Candidate {
  Schedule schedule;
  Prediction prediction;
};

struct RankingOptions {
  /// "cpu" or the name of a chip (findGpuChip).
  std::string target = "cpu";
  /// Candidates at most.
  size_t count = 1;
  /// Tiles that are not empty, and numbers that are not 0, are kept.
  Schedule fixed;
  /// Heads per tile. What tiles of several save is not fitted to measurements,
  /// so the models compare tiles of one number of heads only; 0 means 1.
  int64_t headsPerTile = 0;
};

/// The chip whose kernels can have warpgroups with queries of their own. Its
/// name without the letter stands for kernels that have none.
constexpr const char *warpgroupChip = "sm_90a";

/// The best schedules, the one that the compiler selects first; for gradients
/// on a GPU only this one. None if nothing fits the target. Deterministic.
std::vector<Candidate> rankSchedules(const Workload &workload,
                                     const RankingOptions &options);

/// What the model of `schedule.target` expects; none if it knows no such
/// kernels: tiles of another rank, without a place in registers or memory, ...
std::optional<Prediction> predictSchedule(const Workload &workload,
                                          const Schedule &schedule);

/// "8x16".
std::string formatBox(const std::vector<int64_t> &box);

} // namespace na::schedule

#endif // NA_SCHEDULE_RANKING_H
