//===- Explain.cpp - Why a schedule is selected ---------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Schedule/Explain.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <ctime>

using namespace na;
using namespace na::schedule;
using llvm::formatv;
namespace json = llvm::json;

static const char *getRowName(const Workload &workload) {
  return workload.hasKeyRows() ? "key" : "query";
}
static const char *getColumnName(const Workload &workload) {
  return workload.hasKeyRows() ? "query" : "key";
}

const Schedule *Explanation::getSelected() const {
  if (tuned)
    return &tuned->schedule;
  return candidates.empty() ? nullptr : &candidates.front().schedule;
}

/// What the thread has computed for, whatever else runs on the host.
static double getThreadSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

static llvm::Error addCoverage(const ExplainOptions &options,
                               Explanation &explanation) {
  const Workload &workload = explanation.workload;
  const Schedule *selected = explanation.getSelected();
  if (!selected)
    return llvm::Error::success();
  size_t rank = workload.axes.size();
  if (!options.queryTile.empty() && options.queryTile.size() != rank)
    return llvm::createStringError(
        formatv("{0} tile {1}: {2} axes, expected {3}", getRowName(workload),
                formatBox(options.queryTile), options.queryTile.size(), rank)
            .str());
  for (size_t i = 0; i < rank; ++i) {
    int64_t tiles = countRowTiles(workload, *selected, i);
    int64_t tile = options.queryTile.empty() ? tiles / 2 : options.queryTile[i];
    if (tile < 0 || tile >= tiles)
      return llvm::createStringError(
          formatv("{0} tile, axis {1}: {2} is not in 0 to {3}",
                  getRowName(workload), i, tile, tiles - 1)
              .str());
    explanation.rowTile.push_back(tile);
    explanation.rowTiles.push_back(tiles);
  }
  explanation.coverage = getCoverage(workload, *selected, explanation.rowTile);
  return llvm::Error::success();
}

llvm::Expected<Explanation> schedule::explain(const Workload &workload,
                                              const ExplainOptions &options) {
  const std::string &target = options.ranking.target;
  if (target != "cpu" && !findGpuChip(target))
    return llvm::createStringError("unknown target '" + target +
                                   "', expected cpu, " + listGpuChips());
  Explanation explanation;
  explanation.workload = workload;
  explanation.target = target;
  double start = getThreadSeconds();
  explanation.candidates = rankSchedules(workload, options.ranking);
  explanation.searchSeconds = getThreadSeconds() - start;
  if (options.tuning && options.ranking.fixed.queryTile.empty()) {
    const TuningEntry *entry =
        options.tuning->find(getTuningKey(workload, target));
    // What the compiler would not take is no selection.
    if (entry && predictSchedule(workload, entry->schedule))
      explanation.tuned = *entry;
  }
  if (llvm::Error error = addCoverage(options, explanation))
    return std::move(error);
  return explanation;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string formatTime(double seconds) {
  if (seconds < 1e-3)
    return formatv("{0:f1} us", seconds * 1e6);
  if (seconds < 1)
    return formatv("{0:f3} ms", seconds * 1e3);
  return formatv("{0:f3} s", seconds);
}

static std::string formatBytes(double bytes) {
  if (bytes < 1e6)
    return formatv("{0:f1} KB", bytes * 1e-3);
  if (bytes < 1e9)
    return formatv("{0:f1} MB", bytes * 1e-6);
  return formatv("{0:f2} GB", bytes * 1e-9);
}

static std::string formatPercent(double share) {
  return formatv("{0:f0} %", 100 * share);
}

/// What most of a candidate's distance to the first one comes from, as far as a
/// single number tells.
static std::string compare(const Workload &workload, const Prediction &first,
                           const Prediction &other) {
  struct Reason {
    double factor;
    std::string text;
  };
  std::vector<Reason> reasons;
  auto add = [&](double mine, double best, std::string text) {
    if (best > 0 && mine > best)
      reasons.push_back({mine / best, std::move(text)});
  };
  add(other.waste, first.waste,
      formatv("waste {0:f2}, not {1:f2}", other.waste, first.waste));
  // A masked tile takes a fifth longer, or so.
  add(1 + 0.2 * other.maskedShare, 1 + 0.2 * first.maskedShare,
      formatv("{0} masked, not {1}", formatPercent(other.maskedShare),
              formatPercent(first.maskedShare)));
  auto tail = [](const Prediction &p) {
    return p.waves > 0 ? std::ceil(p.waves) / p.waves : 1;
  };
  add(tail(other), tail(first),
      formatv("last wave {0} full",
              formatPercent(other.waves - std::ceil(other.waves) + 1)));
  add(other.loadedTiles, first.loadedTiles * 1.2,
      formatv("{0:f1} {1} tiles, not {2:f1}", other.loadedTiles,
              getColumnName(workload), first.loadedTiles));
  add(other.tileTraffic, first.tileTraffic * 1.2,
      formatv("{0} through the cache, not {1}", formatBytes(other.tileTraffic),
              formatBytes(first.tileTraffic)));
  if (other.spilled > first.spilled)
    reasons.push_back({1.05, formatv("{0} registers spill", other.spilled)});
  if (other.blocksPerMultiprocessor < first.blocksPerMultiprocessor)
    reasons.push_back({1.02, formatv("{0} blocks a multiprocessor, not {1}",
                                     other.blocksPerMultiprocessor,
                                     first.blocksPerMultiprocessor)});
  const Reason *best = nullptr;
  for (const Reason &reason : reasons)
    if (!best || reason.factor > best->factor)
      best = &reason;
  return best && best->factor > 1.005 ? best->text : "-";
}

static void printRanking(const Explanation &explanation,
                         llvm::raw_ostream &os) {
  bool onGpu = explanation.target != "cpu";
  os << "rank  predicted         vs best  waste  masked  "
     << (onGpu ? "waves    shared     regs  " : "tiles      ")
     << "limit               schedule; why it is not first\n";
  const Prediction &first = explanation.candidates.front().prediction;
  for (auto [rank, candidate] : llvm::enumerate(explanation.candidates)) {
    const Prediction &prediction = candidate.prediction;
    os << llvm::format("%4d  ", int(rank + 1))
       << llvm::left_justify(formatTime(prediction.seconds), 16)
       << llvm::format("  %+6.1f%%  %5.2f  %4.0f %%  ",
                       100 * (prediction.seconds / first.seconds - 1),
                       prediction.waste, 100 * prediction.maskedShare);
    double kib = double(prediction.sharedBytes) / 1024;
    if (onGpu)
      os << llvm::format("%6.1f  %5.1f KiB  %4d  ", prediction.waves, kib,
                         int(prediction.registers));
    else
      os << llvm::format("%5.0f KiB  ", kib);
    os << llvm::left_justify(prediction.limit, 18) << "  "
       << candidate.schedule.describe();
    if (rank > 0)
      os << "; " << compare(explanation.workload, first, prediction);
    os << "\n";
  }
}

static void printReasons(const Explanation &explanation,
                         const Schedule &schedule, const Prediction &prediction,
                         llvm::raw_ostream &os) {
  const Workload &workload = explanation.workload;
  const char *row = getRowName(workload), *column = getColumnName(workload);
  os << "selected  " << schedule.describe() << " (" << schedule.target << ")\n";
  os << formatv("tiles     {0:f0} {1} tiles", prediction.blocks, row);
  if (prediction.blocksPerMultiprocessor)
    os << formatv(", {0} at a time on a multiprocessor: {1:f2} waves",
                  prediction.blocksPerMultiprocessor, prediction.waves);
  os << formatv("\n          {0:f1} {1} tiles loaded by each",
                prediction.loadedTiles, column);
  if (!schedule.warpgroupTile.empty())
    os << formatv(", {0:f1} computed by each warpgroup",
                  prediction.computedTiles);
  os << formatv(": {0:f2} computed pairs for each that is needed\n",
                prediction.waste);
  for (auto [i, axis] : llvm::enumerate(prediction.axes)) {
    os << formatv("axis {0}    {1:f1} {2} tiles, ", i, axis.columnTiles,
                  column);
    if (axis.cut)
      os << formatPercent(axis.maskedShare)
         << " of them cut by a window edge and masked\n";
    else
      os << "never cut: no mask\n";
  }
  os << "units    ";
  for (const UnitShare &unit : prediction.units)
    os << " " << unit.unit << " " << formatPercent(unit.share)
       << (&unit == &prediction.units.back() ? "\n" : ",");
  os << "bytes     " << formatBytes(prediction.tileTraffic)
     << " read and written by all " << row << " tiles";
  if (double least = workload.countBytes())
    os << "; operands and results have " << formatBytes(least);
  os << formatv("\nmemory    {0:f1} KiB of {1}",
                double(prediction.sharedBytes) / 1024,
                prediction.registers ? "shared memory" : "tiles");
  if (prediction.registers)
    os << ", " << prediction.registers << " registers a thread";
  if (prediction.spilled)
    os << ", " << prediction.spilled << " spilled";
  os << "\n";
}

std::string schedule::printText(const Explanation &explanation) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const Workload &workload = explanation.workload;
  os << "problem   " << workload.getKey() << "\n";
  os << "target    " << explanation.target;
  if (const GpuChip *chip = findGpuChip(explanation.target))
    os << formatv(", {0} multiprocessors at {1:f2} GHz", chip->multiprocessors,
                  chip->gigahertz);
  else
    os << ", times of one thread at 3 GHz, for comparisons only";
  os << formatv("\nwork      {0:e2} flop needed", workload.countFlop());
  if (workload.batchHeads == dynamicLength)
    os << " for each batch and head";
  os << formatv("\nsearch    {0:f1} ms for {1} candidates\n\n",
                explanation.searchSeconds * 1e3, explanation.candidates.size());
  const Schedule *selected = explanation.getSelected();
  if (!selected) {
    os << "No schedule fits the registers and the memory of the target: the "
          "naive lowering is used.\n";
    return text;
  }
  if (!explanation.candidates.empty()) {
    printRanking(explanation, os);
    os << "\n";
  }
  if (explanation.tuned)
    os << "measured  " << formatTime(explanation.tuned->seconds)
       << (explanation.tuned->gpu.empty() ? ""
                                          : " on " + explanation.tuned->gpu)
       << ", from the tuning file\n";
  Prediction prediction = explanation.tuned
                              ? *predictSchedule(workload, *selected)
                              : explanation.candidates.front().prediction;
  printReasons(explanation, *selected, prediction, os);
  os << "\n"
     << getRowName(workload) << " tile " << formatBox(explanation.rowTile)
     << " of " << formatBox(explanation.rowTiles) << "\n"
     << drawText(*explanation.coverage);
  return text;
}

std::string schedule::printSVG(const Explanation &explanation) {
  if (!explanation.coverage)
    return "";
  return drawSVG(*explanation.coverage,
                 explanation.workload.getKey() + " on " + explanation.target +
                     ": " + getRowName(explanation.workload) + " tile " +
                     formatBox(explanation.rowTile));
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static json::Value getSize(int64_t size) {
  return size == dynamicLength ? json::Value(nullptr) : json::Value(size);
}

static json::Object toJSON(const Workload &workload) {
  json::Array lengths, windows, strides, dilations, causal;
  for (int64_t length : workload.lengths)
    lengths.push_back(getSize(length));
  for (const window::Axis &axis : workload.axes) {
    windows.push_back(axis.window);
    strides.push_back(axis.stride);
    dilations.push_back(axis.dilation);
    causal.push_back(axis.causal);
  }
  return json::Object{{"operation", workload.operation},
                      {"shape", std::move(lengths)},
                      {"window", std::move(windows)},
                      {"stride", std::move(strides)},
                      {"dilation", std::move(dilations)},
                      {"causal", std::move(causal)},
                      {"batch", getSize(workload.batch)},
                      {"heads", getSize(workload.heads)},
                      {"kv_heads", getSize(workload.kvHeads)},
                      {"head_dim", workload.headDim},
                      {"value_dim", workload.valueDim},
                      {"extra_kv", workload.additionalKeys},
                      {"bias", workload.hasBias ? json::Value(workload.biasType)
                                                : json::Value(nullptr)},
                      {"dtype", workload.type}};
}

static json::Object toJSON(const Prediction &prediction) {
  json::Array axes;
  for (const AxisPart &axis : prediction.axes)
    axes.push_back(json::Object{{"cut", axis.cut},
                                {"masked_share", axis.maskedShare},
                                {"key_tiles", axis.columnTiles},
                                {"query_tiles", axis.rowTiles}});
  json::Object units;
  for (const UnitShare &unit : prediction.units)
    units[unit.unit] = unit.share;
  return json::Object{
      {"seconds", prediction.seconds},
      {"limit", prediction.limit},
      {"units", std::move(units)},
      {"waste", prediction.waste},
      {"loaded_tiles", prediction.loadedTiles},
      {"computed_tiles", prediction.computedTiles},
      {"masked_share", prediction.maskedShare},
      {"axes", std::move(axes)},
      {"query_tiles", prediction.blocks},
      {"blocks_per_multiprocessor", prediction.blocksPerMultiprocessor},
      {"waves", prediction.waves},
      {"shared_bytes", prediction.sharedBytes},
      {"registers", prediction.registers},
      {"spilled", prediction.spilled},
      {"tile_traffic_bytes", prediction.tileTraffic}};
}

static json::Array toJSON(window::Range<int64_t> range) {
  return json::Array{range.begin, range.end};
}

static json::Object toJSON(const Explanation &explanation,
                           const Coverage &coverage) {
  json::Array axes;
  for (const AxisCoverage &axis : coverage.axes) {
    json::Array parts;
    for (const AxisCoverage::Part &part : axis.parts)
      parts.push_back(json::Object{{"query", toJSON(part.rows)},
                                   {"computed", toJSON(part.computed)},
                                   {"inside", toJSON(part.inside)}});
    axes.push_back(json::Object{{"size", axis.size},
                                {"query", toJSON(axis.rows)},
                                {"span", toJSON(axis.span)},
                                {"interior", toJSON(axis.interior)},
                                {"tiles", axis.tiles},
                                {"key_tile", axis.columnTile},
                                {"parts", std::move(parts)}});
  }
  Coverage::Counts counts = coverage.count();
  return json::Object{{"rows", coverage.hasKeyRows ? "keys" : "queries"},
                      {"query_tile", json::Array(explanation.rowTile)},
                      {"query_tiles", json::Array(explanation.rowTiles)},
                      {"parts", coverage.parts},
                      {"skipped", counts.skipped},
                      {"boundary", counts.boundary},
                      {"interior", counts.interior},
                      {"axes", std::move(axes)}};
}

json::Object schedule::toJSON(const Explanation &explanation) {
  const Workload &workload = explanation.workload;
  json::Array candidates;
  for (const Candidate &candidate : explanation.candidates)
    candidates.push_back(
        json::Object{{"schedule", toJSON(candidate.schedule)},
                     {"prediction", ::toJSON(candidate.prediction)}});
  json::Object result{{"key", getTuningKey(workload, explanation.target)},
                      {"compiler", getCompilerName()},
                      {"problem", ::toJSON(workload)},
                      {"target", explanation.target},
                      {"flop", workload.countFlop()},
                      {"bytes", workload.countBytes()},
                      {"search_s", explanation.searchSeconds},
                      {"candidates", std::move(candidates)},
                      {"selected", nullptr},
                      {"measured_s", nullptr},
                      {"coverage", nullptr}};
  if (const Schedule *selected = explanation.getSelected())
    result["selected"] = toJSON(*selected);
  if (explanation.tuned)
    result["measured_s"] = explanation.tuned->seconds;
  if (explanation.coverage)
    result["coverage"] = ::toJSON(explanation, *explanation.coverage);
  return result;
}
