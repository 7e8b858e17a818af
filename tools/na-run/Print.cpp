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
  os << "verify    against " << report.reference << "\n"
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

static void printRate(const Timing &timing, bool onGpu, llvm::raw_ostream &os) {
  double work = timing.work.total();
  if (work == 0)
    return;
  double rate = work / timing.median;
  if (onGpu)
    os << llvm::formatv("          {0:f2} TFLOP/s useful\n", rate * 1e-12);
  else
    os << llvm::formatv("          {0:f1} GFLOP/s useful, {1:f1} % of the "
                        "host's f32 matmul rate ({2:f1} GFLOP/s)\n",
                        rate * 1e-9, 100 * rate / timing.matmulRate,
                        timing.matmulRate * 1e-9);
  if (timing.work.contractions > 0)
    os << llvm::formatv("          {0:f1} % of the work is attention\n",
                        100 * timing.work.attention / work);
}

static void printTiming(const Report &report, llvm::raw_ostream &os) {
  const Timing &timing = *report.timing;
  os << "bench     median " << formatTime(timing.median) << ", fastest "
     << formatTime(timing.fastest) << ", " << timing.runs << " runs\n";
  printRate(timing, report.gpu.has_value(), os);
  if (!report.gpu)
    return;
  const GpuReport &gpu = *report.gpu;
  os << "          a call takes " << formatTime(gpu.hostTime)
     << " on the host; cache " << (gpu.flushed ? "flushed" : "not flushed");
  if (gpu.pauseMs)
    os << ", pauses of " << gpu.pauseMs << " ms";
  if (gpu.smClock)
    os << ", clocks " << gpu.smClock << " MHz, memory " << gpu.memoryClock
       << " MHz";
  os << "\n";
}

static void printTarget(const Report &report, llvm::raw_ostream &os) {
  if (!report.gpu) {
    os << "target    cpu (" << report.cpu << "), " << report.threads
       << (report.threads == 1 ? " thread, " : " threads, ") << report.pipeline
       << " pipeline\n";
    return;
  }
  const GpuReport &gpu = *report.gpu;
  os << "target    cuda (" << (gpu.name.empty() ? "no device" : gpu.name);
  if (!gpu.driver.empty())
    os << ", driver " << gpu.driver;
  if (!gpu.cuda.empty())
    os << ", CUDA " << gpu.cuda;
  os << "), " << gpu.chip << " code, " << report.pipeline << " pipeline\n";
  for (const std::string &remark : gpu.remarks)
    os << "remark    " << remark << "\n";
}

void run::printText(const Report &report, llvm::raw_ostream &os) {
  const CompileTimes &times = report.compile;
  os << "program   " << report.summary << "\n";
  printTarget(report, os);
  for (const std::string &warning : report.warnings)
    os << "warning   " << warning << "\n";
  os << llvm::formatv("compile   {0:f0} ms (passes {1:f0}, LLVM IR {2:f0}, "
                      "optimizer {3:f0}, code generator {4:f0}, loading "
                      "{5:f0})\n",
                      times.total() * 1e3, times.passes * 1e3,
                      times.translate * 1e3, times.optimize * 1e3,
                      times.codegen * 1e3, times.link * 1e3);
  if (report.gpu && report.gpu->launches)
    os << "load      " << formatTime(report.gpu->load) << " in the driver\n";
  if (report.firstRun > 0)
    os << "run       " << formatTime(report.firstRun) << " (first)\n";
  for (const std::string &written : report.written)
    os << "wrote     " << written << "\n";
  if (!report.checks.empty())
    printChecks(report, os);
  if (report.timing)
    printTiming(report, os);
  os << llvm::formatv("memory    peak {0:f1} MiB\n",
                      static_cast<double>(report.peakMemory) / (1 << 20));
}

/// JSON has no infinities and NaNs.
static llvm::json::Value number(double value) {
  if (std::isfinite(value))
    return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

static llvm::json::Value textOrNull(const std::string &text) {
  return text.empty() ? llvm::json::Value(nullptr) : llvm::json::Value(text);
}

static void addGpu(const GpuReport &gpu, llvm::json::Object &json) {
  json["gpu"] = textOrNull(gpu.name);
  json["driver"] = textOrNull(gpu.driver);
  json["cuda"] = textOrNull(gpu.cuda);
  json["chip"] = gpu.chip;
  json["load_s"] = gpu.load;
  json["launches"] = gpu.launches;
  llvm::json::Array remarks;
  for (const std::string &remark : gpu.remarks)
    remarks.push_back(remark);
  json["remarks"] = std::move(remarks);
}

static void addTiming(const Report &report, llvm::json::Object &json) {
  const Timing &timing = *report.timing;
  double rate = timing.work.total() / timing.median;
  llvm::json::Object bench{{"median_s", timing.median},
                           {"fastest_s", timing.fastest},
                           {"runs", timing.runs},
                           {"attention_flop", timing.work.attention},
                           {"contraction_flop", timing.work.contractions},
                           {"flop_per_s", rate},
                           {"matmul_flop_per_s", nullptr},
                           {"matmul_share", nullptr}};
  if (timing.matmulRate > 0) {
    bench["matmul_flop_per_s"] = timing.matmulRate;
    bench["matmul_share"] = rate / timing.matmulRate;
  }
  if (report.gpu) {
    const GpuReport &gpu = *report.gpu;
    auto clock = [](unsigned mhz) {
      return mhz ? llvm::json::Value(mhz) : llvm::json::Value(nullptr);
    };
    bench["host_call_s"] = gpu.hostTime;
    bench["pause_ms"] = gpu.pauseMs;
    bench["cache_flushed"] = gpu.flushed;
    bench["sm_clock_mhz"] = clock(gpu.smClock);
    bench["memory_clock_mhz"] = clock(gpu.memoryClock);
  }
  json["bench"] = std::move(bench);
}

llvm::json::Object run::toJSON(const Report &report) {
  const CompileTimes &times = report.compile;
  llvm::json::Object json{
      {"ok", report.passed()},
      {"program", report.summary},
      {"target", report.gpu ? "cuda" : "cpu"},
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
  if (!report.warnings.empty())
    json["warnings"] = llvm::json::Array(report.warnings);
  if (report.gpu)
    addGpu(*report.gpu, json);
  if (!report.checks.empty()) {
    json["reference"] = report.reference;
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
  if (report.timing)
    addTiming(report, json);
  return json;
}
