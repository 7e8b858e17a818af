//===- Runner.cpp - Compiles, runs, verifies and times a program ----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Runner.h"

#include "CudaRunner.h"
#include "Execution.h"
#include "MatmulRate.h"
#include "Progress.h"
#include "Verify.h"
#include "na/Runtime/Runtime.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <chrono>
#include <sys/resource.h>

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::run;

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool Report::passed() const {
  return llvm::all_of(
      checks, [](const OutputCheck &check) { return check.comparison.pass; });
}

static llvm::Expected<Timing> benchmark(Harness::Call &call,
                                        const Program &program,
                                        const Options &options,
                                        MLIRContext &context, bool quiet) {
  Progress progress(quiet);
  progress.show("measuring the host's matmul rate");
  Timing timing;
  timing.work = countWork(program, options);
  llvm::Expected<double> rate = measureMatmulRate(context);
  if (!rate)
    return rate.takeError();
  timing.matmulRate = *rate;

  // Larger than the caches of one core and its share of the last level.
  std::vector<char> flush(options.cold ? 64 << 20 : 0);
  std::vector<double> seconds;
  auto runOnce = [&] {
    for (size_t i = 0; i < flush.size(); i += 64)
      ++flush[i];
    Clock::time_point start = Clock::now();
    call.run();
    return secondsSince(start);
  };
  // Warm up until clocks and threads have settled.
  constexpr double warmUpTime = 0.1, benchTime = 0.5;
  Clock::time_point start = Clock::now();
  for (int i = 0; i < 2 || secondsSince(start) < warmUpTime; ++i) {
    progress.show("warming up");
    runOnce();
  }
  start = Clock::now();
  Clock::time_point shown;
  int limit = std::max(options.runs, 2000);
  while (static_cast<int>(seconds.size()) < options.runs ||
         (static_cast<int>(seconds.size()) < limit &&
          secondsSince(start) < benchTime)) {
    seconds.push_back(runOnce());
    if (secondsSince(shown) > 0.2) {
      shown = Clock::now();
      progress.show(llvm::formatv("run {0} of at least {1}: {2:f3} ms",
                                  seconds.size(), options.runs,
                                  seconds.back() * 1e3));
    }
  }
  llvm::sort(seconds);
  size_t middle = seconds.size() / 2;
  timing.median = seconds.size() % 2
                      ? seconds[middle]
                      : (seconds[middle - 1] + seconds[middle]) / 2;
  timing.fastest = seconds.front();
  timing.runs = static_cast<int>(seconds.size());
  return timing;
}

static int64_t getPeakMemory() {
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0)
    return 0;
#if defined(__APPLE__)
  return usage.ru_maxrss;
#else
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
#endif
}

llvm::Expected<std::string> run::printProgram(const Options &options,
                                              MLIRContext &context) {
  llvm::Expected<Program> program = loadProgram(options, context);
  if (!program)
    return program.takeError();
  std::string text;
  llvm::raw_string_ostream os(text);
  program->module->print(os, OpPrintingFlags().printNameLocAsPrefix());
  os << "\n";
  return text;
}

/// Runs on the CPU.
static llvm::Error runOnHost(const Program &program, const Options &options,
                             bool quiet, Report &report) {
  std::optional<Progress> progress(quiet);
  progress->show("compiling");
  llvm::Expected<Compiled> compiled =
      compileForHost(program, options.pipeline, options, options.printAfter);
  if (!compiled)
    return compiled.takeError();
  report.compile = compiled->module->getTimes();
  const Harness &harness = compiled->harness;
  if (llvm::Error error = checkNames(harness, options))
    return error;

  llvm::Expected<std::vector<HostTensor>> computed =
      runForwardOnHost(program, options);
  if (!computed)
    return computed.takeError();
  Execution execution;
  llvm::Expected<std::vector<HostTensor>> inputs =
      makeInputs(harness, program, options, *computed);
  if (!inputs)
    return inputs.takeError();
  execution.inputs = std::move(*inputs);
  // A program on memrefs may change its arguments.
  std::vector<HostTensor> originals;
  if (options.verify) {
    llvm::Expected<std::vector<HostTensor>> copies = cloneAll(execution.inputs);
    if (!copies)
      return copies.takeError();
    originals = std::move(*copies);
  }
  progress->show("running");
  Clock::time_point start = Clock::now();
  if (llvm::Error error = execute(*compiled, execution))
    return error;
  report.firstRun = secondsSince(start);
  std::vector<HostTensor *> results = execution.getOutputs(harness);
  llvm::Expected<std::vector<std::string>> written =
      writeOutputs(harness, results, options);
  if (!written)
    return written.takeError();
  report.written = std::move(*written);
  if (options.verify) {
    progress->show("verifying");
    if (llvm::Error error = compareWithHost(program, "naive", options,
                                            originals, results, report))
      return error;
  }
  progress.reset();
  if (options.bench) {
    llvm::Expected<Timing> timing =
        benchmark(*execution.call, program, options,
                  *program.module.get().getContext(), quiet);
    if (!timing)
      return timing.takeError();
    report.timing = *timing;
  }
  return llvm::Error::success();
}

llvm::Expected<Report> run::runProgram(const Options &options,
                                       MLIRContext &context, bool quiet) {
  Report report;
  naSetNumThreads(options.threads);
  report.threads = naGetNumThreads();
  report.cpu = getHostCPU();
  report.pipeline = options.pipeline;
  if (llvm::Error error = checkPassNames(options, context))
    return std::move(error);
  llvm::Expected<Program> program = loadProgram(options, context);
  if (!program)
    return program.takeError();
  report.summary = program->summary;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Warning)
      return failure();
    report.warnings.push_back(diagnostic.str());
    return success();
  });
  if (llvm::Error error = options.cuda
                              ? runOnCuda(*program, options, quiet, report)
                              : runOnHost(*program, options, quiet, report))
    return std::move(error);
  report.peakMemory = getPeakMemory();
  return report;
}
