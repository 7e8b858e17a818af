//===- SelectSchedule.cpp - Attach a schedule by the cost model -----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NA/Transforms/Passes.h"
#include "na/Dialect/NA/Transforms/Workload.h"
#include "na/Schedule/TuningFile.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::na {
#define GEN_PASS_DEF_NASELECTSCHEDULE
#include "na/Dialect/NA/Transforms/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;
using namespace mlir::na;
using ::na::schedule::Schedule;
using ::na::schedule::Workload;

namespace {

struct SelectSchedule : mlir::na::impl::NASelectScheduleBase<SelectSchedule> {
  using NASelectScheduleBase::NASelectScheduleBase;

  void runOnOperation() override {
    chip = ::na::schedule::findGpuChip(target);
    if (target != "cpu" && !chip) {
      getOperation()->emitError("na-select-schedule: unknown target '")
          << target << "', expected cpu, " << ::na::schedule::listGpuChips();
      return signalPassFailure();
    }
    if (failed(readTuningFile()))
      return signalPassFailure();
    WalkResult result = getOperation()->walk([&](Operation *op) {
      return failed(select(op)) ? WalkResult::interrupt()
                                : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult readTuningFile() {
    tuning.reset();
    if (tuningFile.empty())
      return success();
    auto file = ::na::schedule::TuningFile::read(tuningFile);
    if (!file)
      return getOperation()->emitError("na-select-schedule: ")
             << llvm::toString(file.takeError());
    tuning = std::move(*file);
    if (!tuning->getOtherCompiler().empty())
      getOperation()->emitWarning("na-select-schedule: tuning file '")
          << tuningFile << "' was measured with " << tuning->getOtherCompiler()
          << ", this is " << ::na::schedule::getCompilerName();
    return success();
  }

  LogicalResult select(Operation *op) {
    std::optional<Workload> workload = getWorkload(op);
    if (!workload)
      return success();
    if (auto gradients = dyn_cast<AttentionDQKVOp>(op))
      return selectTogether(gradients, *workload);
    if (auto gradients = dyn_cast<AttentionDKVOp>(op);
        gradients && gradients.getKeyGrad() && gradients.getValueGrad() &&
        prefersApart(gradients, *workload)) {
      IRRewriter rewriter(op);
      auto [keys, values] = gradients.split(rewriter);
      return failure(failed(select(keys)) || failed(select(values)));
    }
    return select(op, *workload);
  }

  /// Whether two programs, one for the gradient of the keys and one for that of
  /// the values, are better than one whose registers hold both sums.
  bool prefersApart(AttentionDKVOp op, const Workload &workload) {
    using ::na::schedule::Gradient;
    Workload keys = workload, values = workload;
    keys.gradient = Gradient::Keys;
    values.gradient = Gradient::Values;
    if (op.getSchedule() || !warpgroupTile.empty())
      return fitsApartOnly(op, workload, keys, values);
    size_t rank = workload.axes.size();
    auto fits = [&](ArrayRef<int64_t> tile) {
      return tile.empty() || tile.size() == rank;
    };
    if (!chip || !fits(queryTile) || !fits(keyTile))
      return false;
    auto best = [&](const Workload &part) {
      return ::na::schedule::rankSchedules(part, getRankingOptions());
    };
    auto both = best(workload), ofKeys = best(keys), ofValues = best(values);
    if (ofKeys.empty() || ofValues.empty())
      return false;
    auto note = [&](const Twine &why) {
      if (explain)
        op.emitRemark("one program for each gradient: ") << why;
      return true;
    };
    if (both.empty())
      return note("no schedule has room for both sums");
    auto hasWarpgroups = [](const auto &candidates) {
      return !candidates.front().schedule.warpgroupTile.empty();
    };
    // Times of the two kinds of kernels are not comparable.
    if (hasWarpgroups(ofKeys) && hasWarpgroups(ofValues) &&
        !hasWarpgroups(both))
      return note("no schedule of warpgroups has room for both sums");
    if (hasWarpgroups(ofKeys) != hasWarpgroups(both) ||
        hasWarpgroups(ofValues) != hasWarpgroups(both))
      return false;
    // Five products instead of four must be better by more than what the models
    // know.
    constexpr double margin = 1.25;
    double apart =
        ofKeys.front().prediction.seconds + ofValues.front().prediction.seconds;
    double together = both.front().prediction.seconds;
    if (margin * apart >= together)
      return false;
    return note(
        llvm::formatv("{0:f2} times as fast by prediction", together / apart)
            .str());
  }

  /// Whether the tiles that are given leave room for one of the sums only.
  bool fitsApartOnly(AttentionDKVOp op, const Workload &workload,
                     const Workload &keys, const Workload &values) {
    Schedule schedule;
    if (auto attribute = op.getSchedule()) {
      schedule = unwrap(*attribute);
    } else {
      schedule = getRankingOptions().fixed;
      schedule.target = target;
      schedule.warpgroupTile.assign(warpgroupTile.begin(), warpgroupTile.end());
    }
    if (!::na::schedule::findGpuChip(schedule.target))
      return false;
    if (schedule.stages == 0)
      schedule.stages = ::na::schedule::HopperTiling().stages;
    if (schedule.warps == 0 && schedule.warpgroupTile.empty())
      schedule.warps = llvm::product_of(schedule.keyTile) / 16;
    auto has = [&](const Workload &part) {
      return ::na::schedule::predictSchedule(part, schedule).has_value();
    };
    return !has(workload) && has(keys) && has(values);
  }

  /// The options of the pass, for tiles that are given or not.
  ::na::schedule::RankingOptions getRankingOptions() const {
    ::na::schedule::RankingOptions options;
    options.target = target;
    options.headsPerTile = headsPerTile;
    Schedule &fixed = options.fixed;
    fixed.headsPerTile = std::max<int64_t>(headsPerTile, 1);
    fixed.queryTile.assign(queryTile.begin(), queryTile.end());
    fixed.keyTile.assign(keyTile.begin(), keyTile.end());
    return options;
  }

  /// The one program for all gradients is of warpgroups; where it does not fit,
  /// each kind of rows gets a program of its own.
  LogicalResult selectTogether(AttentionDQKVOp op, const Workload &workload) {
    bool byHand = !op.getSchedule() && !warpgroupTile.empty();
    if ((op.getSchedule() || byHand) && failed(select(op, workload)))
      return failure();
    if (!op.getSchedule() && chip) {
      auto ranked =
          ::na::schedule::rankSchedules(workload, getRankingOptions());
      if (!ranked.empty())
        return attach(op, ranked.front().schedule,
                      ranked.front().prediction.text);
    }
    if (auto schedule = op.getSchedule();
        schedule &&
        ::na::schedule::predictSchedule(workload, unwrap(*schedule)))
      return success();
    if (byHand)
      op.removeScheduleAttr();
    IRRewriter rewriter(op);
    auto [dq, dkv] = op.split(rewriter);
    return failure(failed(select(dq)) || failed(select(dkv)));
  }

  static Schedule unwrap(ScheduleAttr attribute) {
    Schedule schedule;
    schedule.target = attribute.getTarget();
    schedule.queryTile = attribute.getQueryTile();
    schedule.keyTile = attribute.getKeyTile();
    schedule.warpgroupTile = attribute.getWarpgroupTile();
    schedule.stages = attribute.getStages();
    schedule.warps = attribute.getWarps();
    if (!schedule.warpgroupTile.empty() && schedule.stages == 0)
      schedule.stages = ::na::schedule::HopperTiling().stages;
    return schedule;
  }

  LogicalResult select(Operation *op, const Workload &workload) {
    if (auto schedule = op->getAttrOfType<ScheduleAttr>("schedule")) {
      // Tiles for a GPU run on a CPU too, but not the other way around.
      if (schedule.isForGPU() || schedule.isNaive() || target == "cpu")
        return success();
      op->emitRemark("na-select-schedule: the schedule is for '")
          << schedule.getTarget() << "'; replaced by one for '" << target
          << "'";
    }
    int64_t rank = workload.axes.size();
    if (failed(checkTile(op, "query-tile", queryTile, rank)) ||
        failed(checkTile(op, "key-tile", keyTile, rank)) ||
        failed(checkTile(op, "warpgroup-tile", warpgroupTile, rank)))
      return failure();
    if (!warpgroupTile.empty() && (queryTile.empty() || keyTile.empty()))
      return op->emitOpError("na-select-schedule: 'warpgroup-tile' needs "
                             "'query-tile' and 'key-tile'");
    if (headsPerTile < 0 || (headsPerTile > 1 && !isa<AttentionOp>(op)))
      return op->emitOpError("na-select-schedule: 'heads-per-tile' is ")
             << int64_t(headsPerTile)
             << (isa<AttentionOp>(op) ? ", expected at least 0"
                                      : ", expected 0 or 1: only na.attention "
                                        "has tiles of several heads");
    if (headsPerTile > 1 && !chip && (queryTile.empty() || keyTile.empty()))
      return op->emitOpError("na-select-schedule: 'heads-per-tile' needs "
                             "'query-tile' and 'key-tile' for a CPU");
    ::na::schedule::RankingOptions options = getRankingOptions();
    const Schedule &fixed = options.fixed;
    // The model is for tiles that a schedule can hold.
    if (!getSchedule(op, fill(fixed, rank, 1),
                     [&] { return op->emitOpError(); }))
      return failure();
    bool byModel =
        fixed.queryTile.empty() && fixed.keyTile.empty() && headsPerTile == 0;
    if (byModel && !workload.isGradient() && selectTuned(op, workload))
      return success();
    if (!chip && headsPerTile > 1)
      return attach(op, fill(fixed, rank, 1),
                    "no prediction for tiles of several heads");
    if (!warpgroupTile.empty() && chip && workload.fused)
      return selectByHand(op, workload, fixed);
    std::vector<::na::schedule::Candidate> ranked =
        ::na::schedule::rankSchedules(workload, options);
    if (!ranked.empty())
      return attach(op, ranked.front().schedule,
                    ranked.front().prediction.text);
    if (byModel) {
      leaveToNaive(op, workload);
      return success();
    }
    if (chip && workload.gradient == ::na::schedule::Gradient::KeySums) {
      op->emitRemark("na-select-schedule: the tiles that are given have no "
                     "warps with 16 or 32 keys each and 16 queries, or a "
                     "multiple of these: left for the naive lowering");
      setNaive(op, rank);
      return success();
    }
    // Such tiles are still a program, of which a later pass may make something.
    return attach(op, fill(fixed, rank, 16), "no tiling fits " + target);
  }

  /// Attaches what the tuning file has for the operation. False if it has
  /// nothing that can be used.
  bool selectTuned(Operation *op, const Workload &workload) {
    if (!tuning)
      return false;
    std::string key = ::na::schedule::getTuningKey(workload, target);
    const ::na::schedule::TuningEntry *entry = tuning->find(key);
    if (!entry) {
      if (explain)
        op->emitRemark("na-select-schedule: tuning file '")
            << tuningFile << "' has no entry '" << key << "'";
      return false;
    }
    auto warn = [&] {
      return op->emitWarning("na-select-schedule: tuning file '")
             << tuningFile << "', entry '" << key
             << "', is stale: the cost model chooses instead, because ";
    };
    const Schedule &schedule = entry->schedule;
    if (int64_t(schedule.queryTile.size()) != int64_t(workload.axes.size())) {
      warn() << "its query_tile has " << schedule.queryTile.size()
             << " axes, expected " << workload.axes.size();
      return false;
    }
    ScheduleAttr attribute = getSchedule(op, schedule, warn);
    if (!attribute)
      return false;
    bool isOfTarget =
        schedule.target == target || (chip && schedule.target == chip->name);
    if (!isOfTarget || !::na::schedule::predictSchedule(workload, schedule)) {
      warn() << attribute << " is no schedule that this compiler has for '"
             << target << "'";
      return false;
    }
    op->setAttr("schedule", attribute);
    if (explain)
      op->emitRemark() << "schedule " << Attribute(attribute)
                       << ": from the tuning file, measured "
                       << llvm::formatv("{0:e3} s", entry->seconds).str()
                       << (entry->gpu.empty() ? "" : " on " + entry->gpu);
    return true;
  }

  LogicalResult selectByHand(Operation *op, const Workload &workload,
                             Schedule schedule) {
    schedule.target = target;
    schedule.warpgroupTile.assign(warpgroupTile.begin(), warpgroupTile.end());
    schedule.stages = ::na::schedule::HopperTiling().stages;
    // Which of the two tiles it divides depends on what rows are, which the
    // attribute does not know.
    auto [name, rows] = workload.hasKeyRows()
                            ? std::pair("key_tile", schedule.keyTile)
                            : std::pair("query_tile", schedule.queryTile);
    for (auto [axis, extent] : llvm::enumerate(schedule.warpgroupTile))
      if (extent > 0 && rows[axis] % extent != 0)
        return op->emitOpError("schedule 'warpgroup_tile'[")
               << axis << "] = " << extent << " does not divide '" << name
               << "'[" << axis << "] = " << rows[axis];
    auto prediction = ::na::schedule::predictSchedule(workload, schedule);
    return attach(op, schedule,
                  prediction ? prediction->text
                             : "no prediction for such tiles");
  }

  void leaveToNaive(Operation *op, const Workload &workload) {
    bool hasKeys = workload.fused || workload.hasScores();
    bool hasValues = workload.fused || !workload.hasScores();
    op->emitRemark("no tile of 16 queries and 16 keys with ")
        << (hasKeys ? workload.headDim : 0) << " channels of keys and "
        << (hasValues ? workload.valueDim : 0) << " of values fits the "
        << chip->sharedPerBlock
        << " bytes of shared memory and 255 registers of " << target
        << ": left for the naive lowering";
    setNaive(op, workload.axes.size());
  }

  static void setNaive(Operation *op, int64_t rank) {
    SmallVector<int64_t> ones(rank, 1);
    op->setAttr("schedule",
                ScheduleAttr::get(op->getContext(), "naive", ones, ones));
  }

  /// With `extent` tokens on the last axis of tiles that are not given.
  Schedule fill(Schedule schedule, int64_t rank, int64_t extent) {
    for (std::vector<int64_t> *tile : {&schedule.queryTile, &schedule.keyTile})
      if (tile->empty()) {
        tile->assign(rank, 1);
        tile->back() = extent;
      }
    schedule.target = chip ? std::string(chip->name) : target.getValue();
    return schedule;
  }

  LogicalResult attach(Operation *op, const Schedule &schedule,
                       const std::string &why) {
    ScheduleAttr attribute =
        getSchedule(op, schedule, [&] { return op->emitOpError(); });
    if (!attribute)
      return failure();
    op->setAttr("schedule", attribute);
    if (explain)
      op->emitRemark() << "schedule " << Attribute(attribute) << ": " << why;
    return success();
  }

  /// Null, after a diagnostic by `emit`, for what no schedule can hold.
  ScheduleAttr getSchedule(Operation *op, const Schedule &schedule,
                           function_ref<InFlightDiagnostic()> emit) {
    return ScheduleAttr::getChecked(
        emit, op->getContext(), StringRef(schedule.target),
        ArrayRef<int64_t>(schedule.queryTile),
        ArrayRef<int64_t>(schedule.keyTile),
        ArrayRef<int64_t>(schedule.warpgroupTile), schedule.stages,
        schedule.warps, schedule.valueTile, schedule.headsPerTile);
  }

  LogicalResult checkTile(Operation *op, StringRef name, ArrayRef<int64_t> tile,
                          int64_t rank) {
    if (tile.empty() || int64_t(tile.size()) == rank)
      return success();
    return op->emitOpError()
           << "na-select-schedule: '" << name << "' has " << tile.size()
           << " entries, expected " << rank << " (one per axis)";
  }

  /// Null for the CPU.
  const ::na::schedule::GpuChip *chip = nullptr;
  std::optional<::na::schedule::TuningFile> tuning;
};

} // namespace
