//===- Ranking.cpp - Schedules in the order of their cost -----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Schedule/Ranking.h"

#include "na/Schedule/GpuGradientModel.h"
#include "na/Schedule/HopperGradientModel.h"

#include "AxisModel.h"

#include <algorithm>
#include <cmath>

using namespace na;
using namespace na::schedule;

namespace {

/// Of a vector unit of a host. Not a measurement: times of a CPU are for
/// comparisons with each other.
constexpr double hostGigahertz = 3;

/// The problem as the models of GPUs see it: a half has one product.
GpuProblem getGpuProblem(const Workload &workload) {
  GpuProblem problem = workload;
  if (!workload.fused)
    (workload.hasScores() ? problem.valueDim : problem.headDim) = 0;
  return problem;
}

GpuTiling getGpuTiling(const GpuProblem &problem, const Schedule &schedule) {
  GpuTiling tiling;
  tiling.queryTile = schedule.queryTile;
  tiling.keyTile = schedule.keyTile;
  tiling.warps = schedule.warps;
  tiling.stages = schedule.stages;
  tiling.valueTile = schedule.valueTile ? schedule.valueTile : problem.valueDim;
  tiling.headsPerTile = schedule.headsPerTile;
  return tiling;
}

HopperTiling getHopperTiling(const Schedule &schedule) {
  HopperTiling tiling;
  tiling.queryTile = schedule.queryTile;
  tiling.keyTile = schedule.keyTile;
  tiling.warpgroupTile = schedule.warpgroupTile;
  tiling.stages = schedule.stages;
  tiling.headsPerTile = schedule.headsPerTile;
  return tiling;
}

double getVolume(const std::vector<int64_t> &box) {
  double volume = 1;
  for (int64_t extent : box)
    volume *= double(extent);
  return volume;
}

void addUnits(Prediction &prediction, std::vector<UnitShare> units) {
  std::sort(
      units.begin(), units.end(),
      [](const UnitShare &a, const UnitShare &b) { return a.share > b.share; });
  prediction.limit = units.front().unit;
  prediction.units = std::move(units);
}

/// What holds for tiles that all rows of a row tile go through together.
void addAxes(const Problem &problem, const Schedule &schedule,
             Prediction &prediction) {
  for (size_t i = 0; i < problem.axes.size(); ++i) {
    AxisCost cost = axisCost(problem, i, schedule.getRowTile(problem)[i],
                             schedule.getColumnTile(problem)[i]);
    double inside = cost.cut ? cost.insideTiles / cost.columnTiles : 1;
    prediction.axes.push_back(
        {cost.cut, 1 - inside, cost.columnTiles, cost.rowTiles});
  }
}

void addTraffic(const Workload &workload, const Schedule &schedule,
                Prediction &prediction) {
  double rows =
      getVolume(schedule.getRowTile(workload)) * double(schedule.headsPerTile);
  double columns = getVolume(schedule.getColumnTile(workload));
  double channels = double(workload.headDim + workload.valueDim);
  // Of gradients, rows are read and their sums are written.
  if (workload.isGradient())
    rows *= 2;
  prediction.tileTraffic = prediction.blocks * channels *
                           double(workload.operandBytes) *
                           (rows + prediction.loadedTiles * columns);
}

Prediction predictCpuSchedule(const Workload &workload,
                              const Schedule &schedule) {
  Cost cost = predictCpu(workload, {schedule.queryTile, schedule.keyTile});
  double heads =
      workload.batchHeads == dynamicLength ? 1 : double(workload.batchHeads);
  Prediction prediction;
  prediction.seconds = cost.cycles * heads / (hostGigahertz * 1e9);
  addUnits(prediction, {{"products", cost.productShare},
                        {"softmax", cost.softmaxShare},
                        {"moves of tiles", cost.moveShare}});
  prediction.waste = cost.waste;
  prediction.loadedTiles = prediction.computedTiles = cost.columnTiles;
  addAxes(workload, schedule, prediction);
  double unmasked = 1;
  prediction.blocks = heads;
  for (const AxisPart &axis : prediction.axes) {
    unmasked *= 1 - axis.maskedShare;
    prediction.blocks *= axis.rowTiles;
  }
  prediction.maskedShare = 1 - unmasked;
  prediction.sharedBytes = int64_t(cost.tileBytes);
  prediction.text = cost.describe();
  return prediction;
}

void addWaves(const GpuChip &chip, Prediction &prediction) {
  prediction.waves =
      prediction.blocks /
      double(chip.multiprocessors *
             std::max<int64_t>(1, prediction.blocksPerMultiprocessor));
}

/// `scale` is what makes cycles comparable with those of warpgroups.
std::optional<Prediction> predictWarps(const Workload &workload,
                                       const GpuChip &chip,
                                       const Schedule &schedule,
                                       std::optional<double> scale) {
  GpuProblem problem = getGpuProblem(workload);
  GpuTiling tiling = getGpuTiling(problem, schedule);
  std::optional<GpuCost> cost = predictGpu(problem, chip, tiling);
  if (!cost)
    return std::nullopt;
  Prediction prediction;
  prediction.seconds = cost->cycles *
                       scale.value_or(scaleOfWarps(*cost, tiling)) /
                       (chip.gigahertz * 1e9);
  addUnits(prediction,
           {{problem.operandBytes == 2 ? "tensor cores" : "multiply-add units",
             cost->tensorShare},
            {"softmax", cost->softmaxShare},
            {"shared memory", cost->sharedShare},
            {"L2 cache", cost->cacheShare}});
  prediction.limit = cost->limit;
  prediction.waste = cost->waste;
  prediction.loadedTiles = prediction.computedTiles = cost->keyTiles;
  prediction.maskedShare = cost->maskedShare;
  addAxes(problem, schedule, prediction);
  prediction.blocks = cost->blocks;
  prediction.blocksPerMultiprocessor = cost->blocksPerMultiprocessor;
  addWaves(chip, prediction);
  prediction.sharedBytes = cost->sharedBytes;
  prediction.registers = cost->registers;
  prediction.spilled = cost->spilled;
  prediction.text = cost->describe();
  return prediction;
}

std::optional<Prediction> predictWarpgroups(const Workload &workload,
                                            const GpuChip &chip,
                                            const Schedule &schedule) {
  if (!isForWarpgroups(workload) || !workload.hasBoxes || !chip.hasWarpgroups)
    return std::nullopt;
  std::optional<HopperCost> cost = predictHopper(
      withKnownBatch(workload, chip), chip, getHopperTiling(schedule));
  if (!cost)
    return std::nullopt;
  Prediction prediction;
  prediction.seconds = cost->cycles / (chip.gigahertz * 1e9);
  addUnits(prediction, {{"tensor cores", cost->tensorShare},
                        {"exponentials", cost->exponentialShare},
                        {"masks", cost->maskShare},
                        {"L2 cache", cost->cacheShare}});
  prediction.waste = cost->waste;
  prediction.loadedTiles = cost->loaded;
  prediction.computedTiles = cost->computed;
  prediction.maskedShare = cost->maskedShare;
  prediction.axes = cost->axes;
  prediction.blocks = cost->blocks;
  prediction.blocksPerMultiprocessor = cost->blocksPerMultiprocessor;
  addWaves(chip, prediction);
  prediction.sharedBytes = cost->sharedBytes;
  prediction.registers = cost->registers;
  prediction.text = cost->describe();
  return prediction;
}

/// What the two models of gradients on a GPU have in common.
template <typename CostTy>
Prediction makeGradientPrediction(const Workload &workload, const GpuChip &chip,
                                  const Schedule &schedule,
                                  const CostTy &cost) {
  Prediction prediction;
  addAxes(workload, schedule, prediction);
  prediction.maskedShare = cost.maskedShare;
  prediction.seconds = cost.cycles / (chip.gigahertz * 1e9);
  prediction.waste = cost.waste;
  prediction.blocks = cost.blocks;
  prediction.blocksPerMultiprocessor = cost.blocksPerMultiprocessor;
  addWaves(chip, prediction);
  prediction.sharedBytes = cost.sharedBytes;
  prediction.registers = cost.registers;
  prediction.text = cost.describe();
  return prediction;
}

std::optional<Prediction> predictGradient(const Workload &workload,
                                          const GpuChip &chip,
                                          const Schedule &schedule) {
  if (schedule.warpgroupTile.empty()) {
    // There is no such program without warpgroups.
    if (workload.gradient == Gradient::All)
      return std::nullopt;
    auto cost =
        predictGpuGradient(workload, chip, getGpuTiling(workload, schedule));
    if (!cost)
      return std::nullopt;
    Prediction prediction =
        makeGradientPrediction(workload, chip, schedule, *cost);
    addUnits(prediction, {{workload.operandBytes == 2 ? "tensor cores"
                                                      : "multiply-add units",
                           cost->tensorShare},
                          {"elementwise", cost->vectorShare},
                          {"shared memory", cost->sharedShare},
                          {"L2 cache", cost->cacheShare}});
    prediction.loadedTiles = prediction.computedTiles = cost->columnTiles;
    return prediction;
  }
  if (!isForGradientWarpgroups(workload) || !workload.hasBoxes ||
      !chip.hasWarpgroups)
    return std::nullopt;
  auto cost = predictHopperGradient(workload, chip, getHopperTiling(schedule));
  if (!cost)
    return std::nullopt;
  Prediction prediction =
      makeGradientPrediction(workload, chip, schedule, *cost);
  addUnits(prediction, {{"tensor cores", cost->tensorShare},
                        {"elementwise", cost->vectorShare},
                        {"L2 cache", cost->cacheShare}});
  prediction.loadedTiles = cost->loaded;
  prediction.computedTiles = cost->computed;
  return prediction;
}

bool hasRankOf(const Workload &workload, const Schedule &schedule) {
  size_t rank = workload.axes.size();
  auto fits = [&](const std::vector<int64_t> &box) {
    return box.size() == rank &&
           std::all_of(box.begin(), box.end(), [](int64_t n) { return n > 0; });
  };
  return fits(schedule.queryTile) && fits(schedule.keyTile) &&
         (schedule.warpgroupTile.empty() || fits(schedule.warpgroupTile));
}

std::optional<Prediction> predict(const Workload &workload,
                                  const Schedule &schedule,
                                  std::optional<double> scale) {
  if (!hasRankOf(workload, schedule))
    return std::nullopt;
  Prediction prediction;
  if (schedule.target == "cpu") {
    if (schedule.headsPerTile != 1)
      return std::nullopt;
    prediction = predictCpuSchedule(workload, schedule);
  } else {
    const GpuChip *chip = findGpuChip(schedule.target);
    if (!chip)
      return std::nullopt;
    std::optional<Prediction> found =
        workload.isGradient() ? predictGradient(workload, *chip, schedule)
        : schedule.warpgroupTile.empty()
            ? predictWarps(workload, *chip, schedule, scale)
            : predictWarpgroups(workload, *chip, schedule);
    if (!found)
      return std::nullopt;
    prediction = std::move(*found);
  }
  // Where windows are long, tiles of several heads are about as good as others:
  // they must be better by more than what the models know.
  constexpr double margin = 1.03;
  if (schedule.headsPerTile != 1)
    prediction.seconds *= margin;
  addTraffic(workload, schedule, prediction);
  return prediction;
}

GpuTiling getFixedGpuTiling(const RankingOptions &options) {
  GpuTiling fixed;
  fixed.queryTile = options.fixed.queryTile;
  fixed.keyTile = options.fixed.keyTile;
  fixed.warps = options.fixed.warps;
  fixed.stages = options.fixed.stages;
  fixed.valueTile = options.fixed.valueTile;
  return fixed;
}

Schedule makeSchedule(const GpuChip &chip, const GpuTiling &tiling) {
  Schedule schedule;
  schedule.target = chip.name;
  schedule.queryTile = tiling.queryTile;
  schedule.keyTile = tiling.keyTile;
  schedule.stages = tiling.stages;
  schedule.warps = tiling.warps;
  schedule.headsPerTile = tiling.headsPerTile;
  return schedule;
}

Schedule makeSchedule(const HopperTiling &tiling) {
  Schedule schedule;
  schedule.target = warpgroupChip;
  schedule.queryTile = tiling.queryTile;
  schedule.keyTile = tiling.keyTile;
  schedule.warpgroupTile = tiling.warpgroupTile;
  schedule.stages = tiling.stages;
  schedule.headsPerTile = tiling.headsPerTile;
  return schedule;
}

/// How much longer the bias makes kernels of warpgroups. Those of warps read it
/// in the same way, of which their model knows no time.
double scaleOfBias(const Workload &workload, const GpuChip &chip,
                   const std::vector<Candidate> &warpgroups) {
  if (!workload.hasBias || warpgroups.empty())
    return 1;
  Workload plain = workload;
  plain.hasBias = false;
  const auto &[schedule, prediction] = warpgroups.front();
  std::optional<Prediction> without = predictWarpgroups(plain, chip, schedule);
  return without ? prediction.seconds / without->seconds : 1;
}

/// Schedules of warps, with predictions that are comparable with those of
/// warpgroups. Times are multiplied by `ofBias`.
std::vector<Candidate> rankWarps(const Workload &workload, const GpuChip &chip,
                                 const RankingOptions &options, int64_t heads,
                                 double ofBias) {
  GpuProblem problem = getGpuProblem(workload);
  GpuTiling fixed = getFixedGpuTiling(options);
  fixed.headsPerTile = heads;
  std::vector<Candidate> candidates;
  std::optional<double> scale;
  for (const GpuTiling &tiling : rankGpu(problem, chip, options.count, fixed)) {
    Schedule schedule = makeSchedule(chip, tiling);
    // All channels are what a schedule means that says nothing.
    if (tiling.valueTile != problem.valueDim)
      schedule.valueTile = tiling.valueTile;
    // One factor for all keeps their order.
    if (!scale)
      scale = ofBias * scaleOfWarps(*predictGpu(problem, chip, tiling), tiling);
    if (auto prediction = predict(workload, schedule, scale))
      candidates.push_back({std::move(schedule), std::move(*prediction)});
  }
  return candidates;
}

std::vector<Candidate> rankWarpgroups(const Workload &workload,
                                      const GpuChip &chip,
                                      const RankingOptions &options,
                                      int64_t heads) {
  std::vector<HopperTiling> tilings;
  const Schedule &fixed = options.fixed;
  if (!fixed.warpgroupTile.empty()) {
    // The model does not tell numbers of stages apart; two suffice mostly.
    for (int64_t stages : {2, 3, 4, 1})
      if (fixed.stages == 0 || fixed.stages == stages) {
        tilings.push_back(getHopperTiling(fixed));
        tilings.back().stages = stages;
        tilings.back().headsPerTile = heads;
      }
  } else if (workload.hasBoxes && fixed.queryTile.empty() &&
             fixed.keyTile.empty()) {
    tilings = rankHopper(workload, chip, options.count, heads);
  }
  std::vector<Candidate> candidates;
  for (const HopperTiling &tiling : tilings) {
    Schedule schedule = makeSchedule(tiling);
    if (auto prediction = predict(workload, schedule, std::nullopt))
      candidates.push_back({std::move(schedule), std::move(*prediction)});
  }
  return candidates;
}

/// Schedules of gradients. Where there are kernels of warpgroups, they are
/// taken.
std::vector<Candidate> rankGradient(const Workload &workload,
                                    const GpuChip &chip,
                                    const RankingOptions &options) {
  std::vector<Schedule> schedules;
  const Schedule &fixed = options.fixed;
  bool ofWarpgroups = options.target == warpgroupChip;
  if (!fixed.warpgroupTile.empty()) {
    if (ofWarpgroups) {
      schedules.push_back(fixed);
      schedules.back().target = warpgroupChip;
      if (fixed.stages == 0)
        schedules.back().stages = HopperTiling().stages;
    }
  } else {
    if (ofWarpgroups && workload.hasBoxes && fixed.queryTile.empty() &&
        fixed.keyTile.empty())
      for (const HopperTiling &tiling :
           rankHopperGradient(workload, chip, options.count))
        schedules.push_back(makeSchedule(tiling));
    if (schedules.empty() && workload.gradient != Gradient::All)
      for (const GpuTiling &tiling : rankGpuGradient(
               workload, chip, options.count, getFixedGpuTiling(options)))
        schedules.push_back(makeSchedule(chip, tiling));
  }
  std::vector<Candidate> candidates;
  for (Schedule &schedule : schedules)
    if (auto prediction = predict(workload, schedule, std::nullopt))
      candidates.push_back({std::move(schedule), std::move(*prediction)});
  return candidates;
}

/// Both are sorted, and stay so.
std::vector<Candidate> merge(std::vector<Candidate> a,
                             std::vector<Candidate> b) {
  std::vector<Candidate> all;
  std::merge(
      std::make_move_iterator(a.begin()), std::make_move_iterator(a.end()),
      std::make_move_iterator(b.begin()), std::make_move_iterator(b.end()),
      std::back_inserter(all), [](const Candidate &x, const Candidate &y) {
        return x.prediction.seconds < y.prediction.seconds;
      });
  return all;
}

std::vector<Candidate> rankCpuSchedules(const Workload &workload,
                                        const RankingOptions &options) {
  std::vector<Candidate> candidates;
  // Of tiles of several heads the model knows nothing.
  if (options.headsPerTile > 1)
    return candidates;
  Tiling fixed{options.fixed.queryTile, options.fixed.keyTile};
  for (Tiling &tiling : rankCpu(workload, options.count, fixed)) {
    Schedule schedule;
    schedule.target = "cpu";
    schedule.queryTile = std::move(tiling.queryTile);
    schedule.keyTile = std::move(tiling.keyTile);
    if (auto prediction = predict(workload, schedule, std::nullopt))
      candidates.push_back({std::move(schedule), std::move(*prediction)});
  }
  return candidates;
}

std::string formatSize(int64_t size) {
  return size == dynamicLength ? "?" : std::to_string(size);
}

} // namespace

std::string schedule::formatBox(const std::vector<int64_t> &box) {
  std::string text;
  for (int64_t extent : box)
    text += (text.empty() ? "" : "x") + formatSize(extent);
  return text;
}

bool Schedule::operator==(const Schedule &other) const {
  return target == other.target && queryTile == other.queryTile &&
         keyTile == other.keyTile && warpgroupTile == other.warpgroupTile &&
         stages == other.stages && warps == other.warps &&
         valueTile == other.valueTile && headsPerTile == other.headsPerTile;
}

std::string Schedule::describe() const {
  std::string text =
      "query " + formatBox(queryTile) + ", key " + formatBox(keyTile);
  if (!warpgroupTile.empty())
    text += ", warpgroup " + formatBox(warpgroupTile);
  if (warps)
    text += ", warps " + std::to_string(warps);
  if (stages)
    text += ", stages " + std::to_string(stages);
  if (valueTile)
    text += ", values " + std::to_string(valueTile);
  if (headsPerTile != 1)
    text += ", heads " + std::to_string(headsPerTile);
  return text;
}

std::string Workload::getKey() const {
  std::vector<int64_t> windows, strides, dilations;
  std::string causal;
  for (const window::Axis &axis : axes) {
    windows.push_back(axis.window);
    strides.push_back(axis.stride);
    dilations.push_back(axis.dilation);
    causal += axis.causal ? 't' : 'f';
  }
  std::string key = operation + " " + formatBox(lengths) + " window " +
                    formatBox(windows) + " stride " + formatBox(strides) +
                    " dilation " + formatBox(dilations) + " causal " + causal +
                    " batch " + formatSize(batch) + " heads " +
                    formatSize(heads) + "/" + formatSize(kvHeads) + " dim " +
                    formatSize(headDim) + "/" + formatSize(valueDim);
  if (hasAdditionalKeys)
    key += " additional " +
           (additionalKeys ? formatSize(additionalKeys) : std::string("?"));
  if (hasBias)
    key += " bias " + biasType;
  return key + " " + type;
}

double Workload::countFlop() const {
  double pairs = 1, tokens = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    pairs *= pairCount(*this, i);
    tokens *= modelTokens(*this, i);
  }
  pairs += tokens * double(additionalKeys);
  // Of the products of a pair.
  double channels = double(headDim + valueDim);
  if (gradient == Gradient::Queries || gradient == Gradient::Keys)
    channels += double(headDim);
  else if (gradient == Gradient::KeysAndValues)
    channels *= 2;
  else if (gradient == Gradient::All)
    channels = 2 * channels + double(headDim);
  else if (operation != "attention" && !isGradient())
    channels = double(hasScores() ? headDim : valueDim);
  double all = batchHeads == dynamicLength ? 1 : double(batchHeads);
  return 2 * pairs * channels * all;
}

double Workload::countBytes() const {
  if (operation != "attention" || batch == dynamicLength ||
      heads == dynamicLength || kvHeads == dynamicLength)
    return 0;
  double tokens = 1;
  for (int64_t length : lengths) {
    if (length == dynamicLength)
      return 0;
    tokens *= double(length);
  }
  double channels = double(headDim + valueDim);
  return double(batch) * double(operandBytes) * channels *
         (double(heads) * tokens +
          double(kvHeads) * (tokens + double(additionalKeys)));
}

std::optional<Prediction> schedule::predictSchedule(const Workload &workload,
                                                    const Schedule &schedule) {
  return predict(workload, schedule, std::nullopt);
}

std::vector<Candidate> schedule::rankSchedules(const Workload &workload,
                                               const RankingOptions &options) {
  std::vector<Candidate> candidates;
  if (options.target == "cpu") {
    candidates = rankCpuSchedules(workload, options);
  } else if (const GpuChip *chip = findGpuChip(options.target)) {
    if (workload.isGradient())
      return rankGradient(workload, *chip, options);
    int64_t heads = std::max<int64_t>(options.headsPerTile, 1);
    if (options.target == warpgroupChip)
      candidates = rankWarpgroups(workload, *chip, options, heads);
    if (options.fixed.warpgroupTile.empty()) {
      double ofBias = scaleOfBias(workload, *chip, candidates);
      candidates = merge(std::move(candidates),
                         rankWarps(workload, *chip, options, heads, ofBias));
    }
  }
  // A search may select what is not quite the cheapest; only the first of all
  // is kept for that.
  for (size_t i = 2; i < candidates.size(); ++i) {
    auto next = candidates.begin() + std::ptrdiff_t(i);
    auto place =
        std::upper_bound(candidates.begin() + 1, next, next->prediction.seconds,
                         [](double seconds, const Candidate &other) {
                           return seconds < other.prediction.seconds;
                         });
    std::rotate(place, next, next + 1);
  }
  if (candidates.size() > options.count)
    candidates.resize(options.count);
  return candidates;
}
