//===- Runner.cpp - Compiles, runs, verifies and times a program ----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Runner.h"

#include "MatmulRate.h"
#include "Npy.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "na/Runtime/Runtime.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"

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

namespace {

/// A line on standard error that is overwritten, on terminals only.
class Progress {
public:
  explicit Progress(bool quiet)
      : visible(!quiet && llvm::sys::Process::StandardErrIsDisplayed()) {}
  ~Progress() {
    if (visible)
      llvm::errs() << "\r\033[K";
  }
  void show(const std::string &text) {
    if (visible)
      llvm::errs() << "\r\033[K" << text;
  }

private:
  bool visible;
};

/// A program compiled by one pipeline.
struct Compiled {
  Harness harness;
  std::unique_ptr<JITModule> module;
};

llvm::Error checkPassNames(ArrayRef<std::string> names) {
  for (const std::string &name : names)
    if (name != "all" && !PassInfo::lookup(name))
      return llvm::createStringError("--print-ir-after: there is no pass '" +
                                     name + "'");
  return llvm::Error::success();
}

llvm::Expected<Compiled> compile(const Program &program, StringRef pipeline,
                                 const Options &runOptions,
                                 ArrayRef<std::string> printAfter) {
  OwningOpRef<ModuleOp> module(program.module.get().clone());
  llvm::Expected<Harness> harness =
      Harness::create(*module, program.entry, program.names);
  if (!harness)
    return harness.takeError();
  JITOptions options;
  options.optLevel = runOptions.optLevel;
  options.pipeline = llvm::formatv(
      "{0},na-to-cpu{{mode={1} vector-bits={2} schedule-target={3}}",
      Harness::getPreparation(), pipeline, runOptions.vectorBits,
      runOptions.scheduleTarget);
  if (!printAfter.empty())
    options.configurePasses = [&](PassManager &manager) {
      auto wanted = [printAfter](Pass *pass, Operation *) {
        return llvm::is_contained(printAfter, "all") ||
               llvm::is_contained(printAfter, pass->getArgument());
      };
      manager.enableIRPrinting(nullptr, wanted, /*printModuleScope=*/true,
                               /*printAfterOnlyOnChange=*/false);
    };
  llvm::Expected<std::unique_ptr<JITModule>> jit =
      JITModule::compile(*module, options);
  if (!jit)
    return llvm::createStringError(
        pipeline + " pipeline: " + llvm::toString(jit.takeError()));
  return Compiled{std::move(*harness), std::move(*jit)};
}

template <typename Ports>
std::string listNames(const Ports &ports) {
  std::string text;
  for (const auto &port : ports)
    text += (text.empty() ? "" : ", ") + port.name;
  return text.empty() ? "none" : text;
}

template <typename Ports>
llvm::Error checkNames(const std::map<std::string, std::string> &files,
                       const Ports &ports, const char *option) {
  for (const auto &[name, path] : files)
    if (llvm::none_of(
            ports, [&, &name = name](auto &port) { return port.name == name; }))
      return llvm::createStringError(
          llvm::formatv("--{0}: the program has no '{1}'; it has: {2}", option,
                        name, listNames(ports)));
  return llvm::Error::success();
}

/// Reads or generates the inputs.
llvm::Expected<std::vector<HostTensor>> makeInputs(const Harness &harness,
                                                   const Program &program,
                                                   const Options &options) {
  std::vector<HostTensor> tensors;
  uint64_t index = 0;
  for (const HarnessInput &input : harness.getInputs()) {
    // Far apart, so that the inputs of near seeds have nothing in common.
    uint64_t seed = options.seed * 1000003 + index++;
    if (auto file = options.inputs.find(input.name);
        file != options.inputs.end()) {
      llvm::Expected<HostTensor> tensor =
          readNpy(file->second, input.name, input.type);
      if (!tensor)
        return tensor.takeError();
      tensors.push_back(std::move(*tensor));
      continue;
    }
    SmallVector<int64_t> shape = input.shape;
    if (auto known = program.shapes.find(input.name);
        known != program.shapes.end())
      shape = known->second;
    if (ShapedType::isDynamicShape(shape))
      return llvm::createStringError(
          "input '" + input.name + "' of shape " + formatShape(shape) +
          " has dynamic sizes; give a file by --inputs=" + input.name +
          "=file.npy");
    llvm::Expected<HostTensor> tensor =
        HostTensor::allocate(input.name, input.type, shape);
    if (!tensor)
      return tensor.takeError();
    if (input.destination)
      tensor->poison();
    else
      tensor->fillRandom(seed);
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

llvm::Expected<std::vector<HostTensor>>
makeDestinations(const Harness &harness) {
  std::vector<HostTensor> tensors;
  for (const HarnessOutput &output : harness.getOutputs()) {
    if (output.input || output.isAllocatedByProgram())
      continue;
    llvm::Expected<HostTensor> tensor =
        HostTensor::allocate(output.name, output.type, output.shape);
    if (!tensor)
      return tensor.takeError();
    tensor->poison();
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

llvm::Expected<std::vector<HostTensor>> cloneAll(ArrayRef<HostTensor> tensors) {
  std::vector<HostTensor> copies;
  for (const HostTensor &tensor : tensors) {
    llvm::Expected<HostTensor> copy = tensor.clone();
    if (!copy)
      return copy.takeError();
    copies.push_back(std::move(*copy));
  }
  return copies;
}

/// A compiled program bound to its tensors.
struct Execution {
  std::vector<HostTensor> inputs, destinations, allocated;
  std::optional<Harness::Call> call;

  /// The tensors of the outputs, in order.
  std::vector<HostTensor *> getOutputs(const Harness &harness) {
    std::vector<HostTensor *> outputs;
    size_t destination = 0, own = 0;
    for (const HarnessOutput &output : harness.getOutputs())
      outputs.push_back(output.input ? &inputs[*output.input]
                        : output.isAllocatedByProgram()
                            ? &allocated[own++]
                            : &destinations[destination++]);
    return outputs;
  }
};

llvm::Error execute(const Compiled &compiled, Execution &execution) {
  llvm::Expected<std::vector<HostTensor>> destinations =
      makeDestinations(compiled.harness);
  if (!destinations)
    return destinations.takeError();
  execution.destinations = std::move(*destinations);
  llvm::Expected<Harness::Call> call =
      Harness::Call::bind(compiled.harness, *compiled.module, execution.inputs,
                          execution.destinations);
  if (!call)
    return call.takeError();
  execution.call.emplace(std::move(*call));
  execution.call->run();
  llvm::Expected<std::vector<HostTensor>> allocated =
      execution.call->takeAllocated();
  if (!allocated)
    return allocated.takeError();
  execution.allocated = std::move(*allocated);
  return llvm::Error::success();
}

/// The least precise type that an output's values went through.
ElementType getToleranceType(const HarnessOutput &output,
                             const Program &program) {
  if (!isFloat(output.type))
    return output.type;
  double own = Tolerance::forTensor(output.type).whole;
  double least = Tolerance::forTensor(program.precision).whole;
  return own > least && !output.isLse ? output.type : program.precision;
}

llvm::Error verify(const Program &program, const Options &options,
                   ArrayRef<HostTensor> inputs, ArrayRef<HostTensor *> results,
                   Report &report) {
  llvm::Expected<Compiled> naive = compile(program, "naive", options, {});
  if (!naive)
    return naive.takeError();
  Execution execution;
  llvm::Expected<std::vector<HostTensor>> copies = cloneAll(inputs);
  if (!copies)
    return copies.takeError();
  execution.inputs = std::move(*copies);
  if (llvm::Error error = execute(*naive, execution))
    return error;
  std::vector<HostTensor *> references = execution.getOutputs(naive->harness);
  for (auto [output, result, reference] :
       llvm::zip(naive->harness.getOutputs(), results, references)) {
    OutputCheck check;
    check.name = output.name;
    check.shape = formatShape(result->getShape()) + "x" +
                  getName(result->getType()).str();
    if (result->getShape() != reference->getShape())
      return llvm::createStringError("output '" + output.name + "' has shape " +
                                     check.shape +
                                     ", but the naive lowering gives " +
                                     formatShape(reference->getShape()));
    ElementType type = getToleranceType(output, program);
    check.tolerance =
        output.isLse ? Tolerance::forLse(type) : Tolerance::forTensor(type);
    check.comparison = compare(*result, *reference, check.tolerance);
    report.checks.push_back(std::move(check));
  }
  return llvm::Error::success();
}

llvm::Expected<Timing> benchmark(Harness::Call &call, const Program &program,
                                 const Options &options, MLIRContext &context,
                                 bool quiet) {
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

int64_t getPeakMemory() {
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0)
    return 0;
#if defined(__APPLE__)
  return usage.ru_maxrss;
#else
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
#endif
}

} // namespace

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

llvm::Expected<Report> run::runProgram(const Options &options,
                                       MLIRContext &context, bool quiet) {
  Report report;
  naSetNumThreads(options.threads);
  report.threads = naGetNumThreads();
  report.cpu = getHostCPU();
  report.pipeline = options.pipeline;
  if (llvm::Error error = checkPassNames(options.printAfter))
    return std::move(error);
  llvm::Expected<Program> program = loadProgram(options, context);
  if (!program)
    return program.takeError();
  report.summary = program->summary;
  std::optional<Progress> progress(quiet);
  progress->show("compiling");
  llvm::Expected<Compiled> compiled =
      compile(*program, options.pipeline, options, options.printAfter);
  if (!compiled)
    return compiled.takeError();
  report.compile = compiled->module->getTimes();
  const Harness &harness = compiled->harness;
  if (llvm::Error error =
          checkNames(options.inputs, harness.getInputs(), "inputs"))
    return std::move(error);
  if (llvm::Error error =
          checkNames(options.outputs, harness.getOutputs(), "outputs"))
    return std::move(error);

  Execution execution;
  llvm::Expected<std::vector<HostTensor>> inputs =
      makeInputs(harness, *program, options);
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
    return std::move(error);
  report.firstRun = secondsSince(start);
  std::vector<HostTensor *> results = execution.getOutputs(harness);
  for (auto [output, result] : llvm::zip(harness.getOutputs(), results)) {
    auto file = options.outputs.find(output.name);
    if (file == options.outputs.end())
      continue;
    if (llvm::Error error = writeNpy(file->second, *result))
      return std::move(error);
    report.written.push_back(output.name + " to " + file->second);
  }
  if (options.verify) {
    progress->show("verifying");
    if (llvm::Error error =
            verify(*program, options, originals, results, report))
      return std::move(error);
  }
  progress.reset();
  if (options.bench) {
    llvm::Expected<Timing> timing =
        benchmark(*execution.call, *program, options, context, quiet);
    if (!timing)
      return timing.takeError();
    report.timing = *timing;
  }
  report.peakMemory = getPeakMemory();
  return report;
}
