//===- Print.cpp - Reports as text and as JSON ----------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Print.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::run;

static std::string formatTime(double seconds) {
  if (seconds < 1e-3)
    return llvm::formatv("{0:f1} us", seconds * 1e6);
  if (seconds < 1)
    return llvm::formatv("{0:f3} ms", seconds * 1e3);
  return llvm::formatv("{0:f3} s", seconds);
}

static void printChecks(const Report &report, llvm::raw_ostream &os) {
  size_t width = 6;
  for (const OutputCheck &check : report.checks)
    width = std::max(width, check.name.size());
  os << "verify    against the naive lowering\n"
     << "            " << llvm::left_justify("output", width)
     << "  error       limit       worst row   limit       result\n";
  for (const OutputCheck &check : report.checks) {
    const Comparison &comparison = check.comparison;
    os << "            " << llvm::left_justify(check.name, width)
       << llvm::format("  %-10.2e  %-10.2e", comparison.whole,
                       check.tolerance.whole);
    if (check.tolerance.absolute)
      os << "  absolute               ";
    else
      os << llvm::format("  %-10.2e  %-10.2e", comparison.worstRow,
                         check.tolerance.row)
         << " ";
    os << " " << (comparison.pass ? "pass" : "FAIL");
    if (comparison.mismatched)
      os << ", " << comparison.mismatched
         << " elements with a NaN or infinity on one side";
    else if (!comparison.pass)
      os << ", worst at element " << comparison.worstRowIndex;
    os << "\n";
  }
}

static void printTiming(const Timing &timing, llvm::raw_ostream &os) {
  os << "bench     median " << formatTime(timing.median) << ", fastest "
     << formatTime(timing.fastest) << ", " << timing.runs << " runs\n";
  double work = timing.work.total();
  if (work > 0) {
    double rate = work / timing.median;
    os << llvm::formatv("          {0:f1} GFLOP/s useful, {1:f1} % of the "
                        "host's f32 matmul rate ({2:f1} GFLOP/s)\n",
                        rate * 1e-9, 100 * rate / timing.matmulRate,
                        timing.matmulRate * 1e-9);
    if (timing.work.contractions > 0)
      os << llvm::formatv("          {0:f1} % of the work is attention\n",
                          100 * timing.work.attention / work);
  }
}

void run::printText(const Report &report, llvm::raw_ostream &os) {
  const CompileTimes &times = report.compile;
  os << "program   " << report.summary << "\n"
     << "target    cpu (" << report.cpu << "), " << report.threads
     << (report.threads == 1 ? " thread, " : " threads, ") << report.pipeline
     << " pipeline\n"
     << llvm::formatv("compile   {0:f0} ms (passes {1:f0}, LLVM IR {2:f0}, "
                      "optimizer {3:f0}, code generator {4:f0}, loading "
                      "{5:f0})\n",
                      times.total() * 1e3, times.passes * 1e3,
                      times.translate * 1e3, times.optimize * 1e3,
                      times.codegen * 1e3, times.link * 1e3)
     << "run       " << formatTime(report.firstRun) << " (first)\n";
  for (const std::string &written : report.written)
    os << "wrote     " << written << "\n";
  if (!report.checks.empty())
    printChecks(report, os);
  if (report.timing)
    printTiming(*report.timing, os);
  os << llvm::formatv("memory    peak {0:f1} MiB\n",
                      static_cast<double>(report.peakMemory) / (1 << 20));
}

/// JSON has no infinities and NaNs.
static llvm::json::Value number(double value) {
  if (std::isfinite(value))
    return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

llvm::json::Object run::toJSON(const Report &report) {
  const CompileTimes &times = report.compile;
  llvm::json::Object json{
      {"ok", report.passed()},
      {"program", report.summary},
      {"target", "cpu"},
      {"cpu", report.cpu},
      {"threads", report.threads},
      {"pipeline", report.pipeline},
      {"compile_s", llvm::json::Object{{"total", times.total()},
                                       {"passes", times.passes},
                                       {"translate", times.translate},
                                       {"optimize", times.optimize},
                                       {"codegen", times.codegen},
                                       {"link", times.link}}},
      {"first_run_s", report.firstRun},
      {"peak_memory_bytes", report.peakMemory}};
  if (!report.checks.empty()) {
    llvm::json::Array checks;
    for (const OutputCheck &check : report.checks) {
      const Comparison &comparison = check.comparison;
      llvm::json::Object entry{
          {"output", check.name},
          {"shape", check.shape},
          {"pass", comparison.pass},
          {"kind", check.tolerance.absolute ? "absolute" : "relative"},
          {"error", number(comparison.whole)},
          {"limit", check.tolerance.whole},
          {"mismatched", comparison.mismatched}};
      if (!check.tolerance.absolute) {
        entry["worst_row_error"] = number(comparison.worstRow);
        entry["worst_row_limit"] = check.tolerance.row;
        entry["worst_row_index"] = comparison.worstRowIndex;
      }
      checks.push_back(std::move(entry));
    }
    json["verify"] = std::move(checks);
  }
  if (report.timing) {
    const Timing &timing = *report.timing;
    double rate = timing.work.total() / timing.median;
    json["bench"] =
        llvm::json::Object{{"median_s", timing.median},
                           {"fastest_s", timing.fastest},
                           {"runs", timing.runs},
                           {"attention_flop", timing.work.attention},
                           {"contraction_flop", timing.work.contractions},
                           {"flop_per_s", rate},
                           {"matmul_flop_per_s", timing.matmulRate},
                           {"matmul_share", rate / timing.matmulRate}};
  }
  return json;
}
