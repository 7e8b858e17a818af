//===- CudaRunner.cpp - Runs a program on a GPU ---------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaRunner.h"

#include "DeviceTensor.h"
#include "Execution.h"
#include "Explain.h"
#include "Nvml.h"
#include "Progress.h"
#include "Verify.h"
#include "na/ExecutionEngine/CudaProgram.h"
#include "na/Pipelines/Pipelines.h"
#include "na/Runtime/Runtime.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <chrono>
#include <thread>

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::run;
namespace cuda = ::na::cuda;
namespace runtime = ::na::runtime;

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

namespace {
/// A program compiled for a chip.
struct CompiledForCuda {
  Harness harness;
  CudaCode code;
};
} // namespace

static std::string getPipeline(const Options &options, StringRef mode,
                               StringRef chip) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << Harness::getPreparation() << ",na-to-nvvm{chip=" << chip
     << " format=isa mode=" << mode;
  if (options.tf32)
    os << " f32-math=tf32";
  if (options.arriveByLanes)
    os << " arrive-by-lanes";
  if (!options.persistentGrid)
    os << " persistent-grid=false";
  for (auto [name, tile] : {std::pair("query-tile", &options.queryTile),
                            {"key-tile", &options.keyTile},
                            {"warpgroup-tile", &options.warpgroupTile}})
    if (!tile->empty())
      os << " " << name << "="
         << llvm::join(
                llvm::map_range(
                    *tile, [](int64_t size) { return std::to_string(size); }),
                ",");
  if (options.headsPerTile)
    os << " heads-per-tile=" << options.headsPerTile;
  os << formatTuningFileOption(options.tuningFile) << "}";
  return text;
}

/// Keeps programs as files where NA_CACHE_DIR says so.
static runtime::KernelCache &getCache() {
  static runtime::KernelCache cache;
  return cache;
}

static llvm::Expected<CompiledForCuda>
compileForChip(const Program &program, const Options &options, StringRef mode,
               StringRef chip, const cuda::DeviceProperties *properties,
               ArrayRef<std::string> printAfter, CompileTimes &times) {
  if (mode == "fused" && !options.warpgroupTile.empty() && chip != "sm_90a")
    return llvm::createStringError("--warpgroup-tile: kernels of warpgroups "
                                   "are for sm_90a, not for " +
                                   chip);
  OwningOpRef<ModuleOp> module(program.module.get().clone());
  llvm::Expected<Harness> harness =
      Harness::create(*module, program.entry, program.names, /*onDevice=*/true);
  if (!harness)
    return harness.takeError();
  CudaOptions cudaOptions;
  cudaOptions.pipeline = getPipeline(options, mode, chip);
  cudaOptions.tuningFile = options.tuningFile;
  cudaOptions.configurePasses = getPassPrinting(printAfter);
  if (properties)
    cudaOptions.assembler =
        "driver " + std::to_string(properties->driverVersion);
  bool cached = !getCache().directory().empty() && printAfter.empty();
  llvm::Expected<CudaCode> code =
      cached ? compileForCuda(*module, cudaOptions, times, getCache(), chip)
             : compileForCuda(*module, cudaOptions, times);
  // The files are for other processes; what is in memory would only grow.
  if (cached)
    getCache().clear();
  if (!code)
    return llvm::createStringError(
        mode + " pipeline: " + llvm::toString(code.takeError()));
  return CompiledForCuda{std::move(*harness), std::move(*code)};
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

namespace {
/// A program loaded on a device and bound to tensors there.
class DeviceExecution {
public:
  static llvm::Expected<DeviceExecution> create(const CompiledForCuda &compiled,
                                                cuda::Device &device,
                                                cuda::StreamHandle stream,
                                                ArrayRef<HostTensor> inputs);

  DeviceExecution(DeviceExecution &&) = default;
  // The device owns what the program allocated.
  ~DeviceExecution() {
    if (call)
      call->forgetAllocated();
  }

  /// Enqueues the program once.
  llvm::Error launch();
  llvm::Error synchronize() {
    return toLLVMError(program->getDevice().synchronize(stream));
  }
  /// Copies what the last run left behind to the host, and looks for writes
  /// outside of the tensors.
  llvm::Expected<Execution> download();

  const CudaProgram &getProgram() const { return *program; }
  int64_t getLaunches() const { return launches; }

private:
  DeviceExecution() = default;

  std::shared_ptr<CudaProgram> program;
  cuda::StreamHandle stream = nullptr;
  std::vector<DeviceTensor> inputs, destinations;
  /// The same on the host: values by which scalars are passed, and shapes.
  std::vector<HostTensor> hostInputs, hostDestinations;
  std::vector<cuda::Buffer> allocated;
  std::optional<Harness::Call> call;
  int64_t launches = 0;
};
} // namespace

llvm::Expected<DeviceExecution>
DeviceExecution::create(const CompiledForCuda &compiled, cuda::Device &device,
                        cuda::StreamHandle stream,
                        ArrayRef<HostTensor> inputs) {
  DeviceExecution execution;
  execution.stream = stream;
  llvm::Expected<std::shared_ptr<CudaProgram>> program =
      CudaProgram::load(compiled.code, device);
  if (!program)
    return program.takeError();
  execution.program = *program;
  llvm::Expected<std::vector<HostTensor>> copies = cloneAll(inputs);
  if (!copies)
    return copies.takeError();
  execution.hostInputs = std::move(*copies);
  llvm::Expected<std::vector<HostTensor>> destinations =
      makeDestinations(compiled.harness);
  if (!destinations)
    return destinations.takeError();
  execution.hostDestinations = std::move(*destinations);

  SmallVector<TensorBinding> inputBindings, destinationBindings;
  for (auto [tensor, input] :
       llvm::zip(execution.hostInputs, compiled.harness.getInputs())) {
    llvm::Expected<DeviceTensor> copy = DeviceTensor::upload(device, tensor);
    if (!copy)
      return copy.takeError();
    inputBindings.push_back(copy->getBinding());
    if (input.byValue)
      inputBindings.back().data = tensor.getData();
    execution.inputs.push_back(std::move(*copy));
    // Shapes are referred to.
    inputBindings.back().shape = tensor.getShape();
  }
  for (HostTensor &tensor : execution.hostDestinations) {
    llvm::Expected<DeviceTensor> copy = DeviceTensor::upload(device, tensor);
    if (!copy)
      return copy.takeError();
    destinationBindings.push_back(copy->getBinding());
    destinationBindings.back().shape = tensor.getShape();
    execution.destinations.push_back(std::move(*copy));
  }
  for (auto [list, bindings] :
       {std::pair(&execution.hostInputs, &inputBindings),
        {&execution.hostDestinations, &destinationBindings}})
    for (auto [index, binding] : llvm::enumerate(*bindings)) {
      std::string name = (*list)[index].getName().str();
      // A scalar that is passed by value is not on the device.
      if (binding.data == (*list)[index].getData())
        continue;
      if (auto error = execution.program->checkTensor(name.c_str(), binding))
        return toLLVMError(error);
    }
  // Uploads are not in the order of the stream.
  if (auto error = device.synchronize())
    return toLLVMError(error);
  llvm::Expected<Harness::Call> call =
      Harness::Call::bind(compiled.harness, execution.program->getHostModule(),
                          inputBindings, destinationBindings);
  if (!call)
    return call.takeError();
  execution.call.emplace(std::move(*call));
  return execution;
}

llvm::Error DeviceExecution::launch() {
  allocated.clear();
  call->forgetAllocated();
  runtime::Error error = program->call(
      call->getFunction(), call->getSlots(), stream,
      [&](cuda::LaunchScope &scope) {
        launches = scope.launches();
        for (const auto &[output, descriptor] : call->getAllocated())
          allocated.push_back(
              scope.take(reinterpret_cast<void *>(descriptor[0])));
      });
  return toLLVMError(error);
}

llvm::Expected<Execution> DeviceExecution::download() {
  if (llvm::Error error = synchronize())
    return std::move(error);
  Execution result;
  for (auto [tensors, copies, downloaded] :
       {std::tuple(&inputs, &hostInputs, &result.inputs),
        {&destinations, &hostDestinations, &result.destinations}})
    for (auto [tensor, copy] : llvm::zip(*tensors, *copies)) {
      if (llvm::Error error = tensor.checkGuards())
        return std::move(error);
      llvm::Expected<HostTensor> host = copy.clone();
      if (!host)
        return host.takeError();
      if (llvm::Error error = tensor.download(*host))
        return std::move(error);
      downloaded->push_back(std::move(*host));
    }
  for (auto [port, buffer] : llvm::zip(call->getAllocated(), allocated)) {
    const auto &[output, descriptor] = port;
    llvm::Expected<HostTensor> host = HostTensor::allocate(
        output.name, output.type, descriptor.slice(3, output.shape.size()));
    if (!host)
      return host.takeError();
    auto *address = reinterpret_cast<char *>(descriptor[1]) +
                    descriptor[2] * getByteWidth(output.type);
    if (auto error = program->getDevice().copyToHost(
            host->getData(), address, static_cast<size_t>(host->getNumBytes())))
      return toLLVMError(error);
    result.allocated.push_back(std::move(*host));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Timing
//===----------------------------------------------------------------------===//

static double median(std::vector<double> values) {
  llvm::sort(values);
  size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle]
                           : (values[middle - 1] + values[middle]) / 2;
}

static llvm::Expected<Timing> benchmark(DeviceExecution &execution,
                                        const Program &program,
                                        const Options &options,
                                        cuda::Stream &stream, bool quiet,
                                        GpuReport &gpu) {
  cuda::Device &device = *stream.device();
  Progress progress(quiet);
  Timing timing;
  timing.work = countWork(program, options);
  // The program's temporaries come back in every run.
  if (auto error = device.keepFreedMemory(~uint64_t(0)))
    return toLLVMError(error);
  llvm::scope_exit restore([&] {
    // Whether it worked or not, there is nothing else to do.
    (void)device.keepFreedMemory(0);
  });
  cuda::Buffer flush;
  if (options.cold) {
    auto made = device.allocate(
        std::max<size_t>(2 * device.properties().l2Bytes, 64 << 20));
    if (!made)
      return toLLVMError(made.error());
    flush = std::move(*made);
  }
  auto start = device.createEvent(), stop = device.createEvent();
  for (const auto *event : {&start, &stop})
    if (!*event)
      return toLLVMError(event->error());

  std::vector<double> seconds, hostSeconds;
  auto runOnce = [&]() -> llvm::Error {
    if (options.pauseMs)
      std::this_thread::sleep_for(std::chrono::milliseconds(options.pauseMs));
    // The device is busy with this while the host enqueues the program.
    if (auto error =
            device.fill32Async(flush.data(), 0, flush.size() / 4, stream))
      return toLLVMError(error);
    if (auto error = start->record(stream))
      return toLLVMError(error);
    Clock::time_point began = Clock::now();
    if (llvm::Error error = execution.launch())
      return error;
    hostSeconds.push_back(secondsSince(began));
    if (auto error = stop->record(stream))
      return toLLVMError(error);
    if (auto error = stop->synchronize())
      return toLLVMError(error);
    auto elapsed = stop->millisecondsSince(*start);
    if (!elapsed)
      return toLLVMError(elapsed.error());
    seconds.push_back(*elapsed * 1e-3);
    return llvm::Error::success();
  };
  constexpr double warmUpTime = 0.1, benchTime = 0.5;
  Clock::time_point began = Clock::now();
  // Of slow programs, one run is enough.
  constexpr double longWarmUp = 0.5;
  for (int i = 0; (i < 3 && secondsSince(began) < longWarmUp) ||
                  secondsSince(began) < warmUpTime;
       ++i) {
    progress.show("warming up");
    if (llvm::Error error = runOnce())
      return std::move(error);
  }
  seconds.clear();
  hostSeconds.clear();
  began = Clock::now();
  size_t least = options.runs, most = std::max<size_t>(least, 2000);
  while (seconds.size() < least ||
         (seconds.size() < most && secondsSince(began) < benchTime)) {
    if (llvm::Error error = runOnce())
      return std::move(error);
    progress.show(llvm::formatv("run {0} of at least {1}: {2:f3} ms",
                                seconds.size(), least, seconds.back() * 1e3));
  }
  // An idle device would say another clock.
  timing.median = median(seconds);
  constexpr double busyTime = 0.02;
  for (double busy = 0; busy < busyTime && timing.median > 0;
       busy += std::max(timing.median, 20e-6))
    if (llvm::Error error = execution.launch())
      return std::move(error);
  GpuState state = readGpuState(device.properties().pciBusId);
  if (llvm::Error error = execution.synchronize())
    return std::move(error);
  gpu.smClock = state.smClock;
  gpu.memoryClock = state.memoryClock;
  gpu.hostTime = median(hostSeconds);
  gpu.flushed = options.cold;
  gpu.pauseMs = options.pauseMs;
  timing.fastest = *llvm::min_element(seconds);
  timing.runs = static_cast<int>(seconds.size());
  return timing;
}

/// Keeps other processes from running kernels at the same time.
namespace {
class DeviceLock {
public:
  DeviceLock() = default;
  DeviceLock(const DeviceLock &) = delete;
  DeviceLock &operator=(const DeviceLock &) = delete;
  ~DeviceLock() {
    if (file)
      llvm::sys::fs::closeFile(*file);
  }

  llvm::Error acquire(StringRef path) {
    if (path.empty())
      return llvm::Error::success();
    auto opened = llvm::sys::fs::openNativeFileForReadWrite(
        path, llvm::sys::fs::CD_OpenAlways, llvm::sys::fs::OF_None);
    if (!opened)
      return llvm::createFileError(path, opened.takeError());
    file = *opened;
    if (std::error_code error = llvm::sys::fs::lockFile(*file))
      return llvm::createFileError(path, error);
    return llvm::Error::success();
  }

private:
  std::optional<llvm::sys::fs::file_t> file;
};
} // namespace

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

/// Operations that the plain loops on the CPU do in some seconds.
static double getHostReferenceLimit() { return 1e10 * naGetNumThreads(); }

/// What a run without tiles by hand does.
static Options withoutTiles(const Options &options) {
  Options plain = options;
  plain.queryTile.clear();
  plain.keyTile.clear();
  plain.warpgroupTile.clear();
  plain.headsPerTile = 0;
  return plain;
}

/// Runs the program that comes before a backward, if there is one; returns its
/// results.
static llvm::Expected<std::vector<HostTensor>>
runForwardOnCuda(const Program &program, const Options &options, StringRef chip,
                 cuda::Stream &stream) {
  if (!program.forward)
    return std::vector<HostTensor>();
  cuda::Device &device = *stream.device();
  CompileTimes times;
  llvm::Expected<CompiledForCuda> compiled =
      compileForChip(*program.forward, withoutTiles(options), options.pipeline,
                     chip, &device.properties(), {}, times);
  if (!compiled)
    return compiled.takeError();
  llvm::Expected<std::vector<HostTensor>> inputs =
      makeInputs(compiled->harness, *program.forward, options);
  if (!inputs)
    return inputs.takeError();
  llvm::Expected<DeviceExecution> execution =
      DeviceExecution::create(*compiled, device, stream, *inputs);
  if (!execution)
    return execution.takeError();
  if (llvm::Error error = execution->launch())
    return std::move(error);
  llvm::Expected<Execution> results = execution->download();
  if (!results)
    return results.takeError();
  return takeOutputs(compiled->harness, *results);
}

static llvm::Error verifyOnCuda(const Program &program, const Options &options,
                                const CompiledForCuda &compiled,
                                cuda::Stream &stream,
                                ArrayRef<HostTensor> inputs,
                                ArrayRef<HostTensor *> results,
                                Report &report) {
  if (countWork(program, options).total() <= getHostReferenceLimit())
    return compareWithHost(program, "naive", options, inputs, results, report);
  if (options.pipeline == "naive")
    return compareWithHost(program, "fused", options, inputs, results, report);
  Options plain = withoutTiles(options);
  plain.tuningFile.clear();
  plain.tf32 = false;
  CompileTimes times;
  cuda::Device &device = *stream.device();
  llvm::Expected<CompiledForCuda> naive =
      compileForChip(program, plain, "naive", report.gpu->chip,
                     &device.properties(), {}, times);
  if (!naive)
    return naive.takeError();
  llvm::Expected<DeviceExecution> execution =
      DeviceExecution::create(*naive, device, stream, inputs);
  if (!execution)
    return execution.takeError();
  if (llvm::Error error = execution->launch())
    return error;
  llvm::Expected<Execution> reference = execution->download();
  if (!reference)
    return reference.takeError();
  report.reference = "the naive lowering on the GPU";
  return compareOutputs(program, options, compiled.harness, results,
                        reference->getOutputs(naive->harness), report);
}

/// Finds the device and the chip to compile for. Without a device only
/// compilation is possible.
static llvm::Expected<cuda::Device *> chooseDevice(const Options &options,
                                                   GpuReport &gpu) {
  if (!options.chip.empty()) {
    gpu.chip = options.chip;
    if (llvm::Error error = checkChip(gpu.chip))
      return llvm::createStringError("--chip: " +
                                     llvm::toString(std::move(error)));
    if (options.compileOnly)
      return nullptr;
  }
  auto found = cuda::Device::get(options.device);
  if (!found)
    return toLLVMError(found.error().withPrefix("--target=cuda"));
  const cuda::DeviceProperties &properties = (*found)->properties();
  gpu.name = properties.name;
  gpu.cuda = std::to_string(properties.driverVersion / 1000) + "." +
             std::to_string(properties.driverVersion % 1000 / 10);
  gpu.driver = readGpuState(properties.pciBusId).driver;
  if (options.chip.empty()) {
    llvm::Expected<std::string> chip = getDefaultChip(properties);
    if (!chip)
      return chip.takeError();
    gpu.chip = *chip;
  } else if (llvm::Error error = checkChip(gpu.chip, properties)) {
    return llvm::createStringError("--chip: " +
                                   llvm::toString(std::move(error)));
  }
  return *found;
}

llvm::Error run::chooseChip(Options &options) {
  if (!options.cuda || !options.chip.empty())
    return llvm::Error::success();
  GpuReport gpu;
  llvm::Expected<cuda::Device *> device = chooseDevice(options, gpu);
  if (!device)
    return device.takeError();
  options.chip = gpu.chip;
  return llvm::Error::success();
}

llvm::Error run::runOnCuda(const Program &program, const Options &options,
                           bool quiet, Report &report) {
  GpuReport &gpu = report.gpu.emplace();
  llvm::Expected<cuda::Device *> device = chooseDevice(options, gpu);
  if (!device)
    return device.takeError();
  Progress progress(quiet);
  progress.show("compiling");
  llvm::Expected<CompiledForCuda> compiled =
      compileForChip(program, options, options.pipeline, gpu.chip,
                     *device ? &(*device)->properties() : nullptr,
                     options.printAfter, report.compile);
  if (!compiled)
    return compiled.takeError();
  gpu.remarks = compiled->code.remarks;
  if (options.noFallback && !gpu.remarks.empty())
    return llvm::createStringError("--no-fallback: " +
                                   llvm::join(gpu.remarks, "; "));
  if (llvm::Error error = checkNames(compiled->harness, options))
    return error;
  if (!options.ptxFile.empty()) {
    if (llvm::Error error = writeFile(options.ptxFile, compiled->code.image))
      return error;
    report.written.push_back("PTX to " + options.ptxFile);
  }
  if (options.compileOnly)
    return llvm::Error::success();

  auto stream = (*device)->createStream();
  if (!stream)
    return toLLVMError(stream.error());
  // Modules stay loaded until somebody says so; runs of a batch differ.
  llvm::scope_exit unload([&] { (void)(*device)->unloadUnusedModules(); });
  DeviceLock lock;
  if (program.forward) {
    progress.show("computing the output");
    if (llvm::Error error = lock.acquire(options.lockFile))
      return error;
  }
  llvm::Expected<std::vector<HostTensor>> computed =
      runForwardOnCuda(program, options, gpu.chip, *stream);
  if (!computed)
    return computed.takeError();
  llvm::Expected<std::vector<HostTensor>> inputs =
      makeInputs(compiled->harness, program, options, *computed);
  if (!inputs)
    return inputs.takeError();
  progress.show("loading");
  llvm::Expected<DeviceExecution> execution =
      DeviceExecution::create(*compiled, **device, *stream, *inputs);
  if (!execution)
    return execution.takeError();
  gpu.load = execution->getProgram().getLoadTime();
  report.compile.link = execution->getProgram().getHostModule().getTimes().link;
  if (!program.forward) {
    progress.show("waiting for the lock");
    if (llvm::Error error = lock.acquire(options.lockFile))
      return error;
  }
  progress.show("running");
  Clock::time_point start = Clock::now();
  if (llvm::Error error = execution->launch())
    return error;
  if (llvm::Error error = execution->synchronize())
    return error;
  report.firstRun = secondsSince(start);
  gpu.launches = execution->getLaunches();
  llvm::Expected<Execution> results = execution->download();
  if (!results)
    return results.takeError();
  std::vector<HostTensor *> outputs = results->getOutputs(compiled->harness);
  llvm::Expected<std::vector<std::string>> written =
      writeOutputs(compiled->harness, outputs, options);
  if (!written)
    return written.takeError();
  llvm::append_range(report.written, *written);
  if (options.verify) {
    progress.show("verifying");
    if (llvm::Error error = verifyOnCuda(program, options, *compiled, *stream,
                                         *inputs, outputs, report))
      return error;
  }
  progress.clear();
  if (options.bench) {
    llvm::Expected<Timing> timing =
        benchmark(*execution, program, options, *stream, quiet, gpu);
    if (!timing)
      return timing.takeError();
    report.timing = *timing;
  }
  return llvm::Error::success();
}
