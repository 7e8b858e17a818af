//===- Compile.cpp - Compilation behind the C API -------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "na/Dialect/NA/Transforms/Workload.h"
#include "na/ExecutionEngine/Diagnostics.h"
#include "na/InitAll.h"
#include "na/Pipelines/Pipelines.h"
#include "na/Runtime/KernelCache.h"
#include "na/Schedule/Explain.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cstdlib>
#include <cstring>

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::capi;
namespace cuda = ::na::cuda;
namespace runtime = ::na::runtime;
namespace schedule = ::na::schedule;

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

NaStatus capi::makeStatus(int32_t code, const llvm::Twine &message) {
  return {code, strdup(message.str().c_str())};
}

NaStatus capi::makeStatus(int32_t code, llvm::Error error) {
  return makeStatus(code, llvm::toString(std::move(error)));
}

NaStatus capi::makeStatus(const runtime::Error &error) {
  if (!error)
    return ok();
  int32_t code = NA_DEVICE_ERROR;
  switch (error.kind()) {
  case runtime::ErrorKind::NoDriver:
  case runtime::ErrorKind::DriverTooOld:
  case runtime::ErrorKind::NoDevice:
    code = NA_NO_DEVICE;
    break;
  case runtime::ErrorKind::InvalidArgument:
  case runtime::ErrorKind::NullPointer:
  case runtime::ErrorKind::MisalignedPointer:
  case runtime::ErrorKind::NotDeviceMemory:
  case runtime::ErrorKind::WrongDevice:
  case runtime::ErrorKind::OutOfBounds:
    code = NA_INVALID_ARGUMENT;
    break;
  case runtime::ErrorKind::OutOfMemory:
    code = NA_OUT_OF_MEMORY;
    break;
  case runtime::ErrorKind::Unsupported:
    code = NA_UNSUPPORTED;
    break;
  case runtime::ErrorKind::CompileFailed:
    code = NA_COMPILE_FAILED;
    break;
  default:
    break;
  }
  return makeStatus(code, error.message());
}

void naStatusRelease(NaStatus status) { std::free(status.message); }

const char *naVersion() {
  return "namlir " NAMLIR_VERSION ", LLVM " LLVM_VERSION_STRING;
}

static constexpr std::pair<ElementType, int32_t> typeCodes[] = {
    {ElementType::F64, NA_TYPE_F64}, {ElementType::F32, NA_TYPE_F32},
    {ElementType::F16, NA_TYPE_F16}, {ElementType::BF16, NA_TYPE_BF16},
    {ElementType::I64, NA_TYPE_I64}, {ElementType::I32, NA_TYPE_I32},
    {ElementType::I16, NA_TYPE_I16}, {ElementType::I8, NA_TYPE_I8},
    {ElementType::I1, NA_TYPE_I1},   {ElementType::Index, NA_TYPE_INDEX}};

int32_t capi::getTypeCode(ElementType type) {
  for (auto [element, code] : typeCodes)
    if (element == type)
      return code;
  return NA_TYPE_NONE;
}

std::optional<ElementType> capi::getTypeOfCode(int32_t wanted) {
  for (auto [element, code] : typeCodes)
    if (code == wanted)
      return element;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

namespace {

/// A context for one compilation, whose diagnostics never reach stderr. Several
/// threads may compile at a time, so it has no threads of its own.
class Session {
public:
  Session()
      : context(getRegistry(), MLIRContext::Threading::DISABLED),
        handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Note)
            remarks.push_back(diagnostic.str());
          return llvm::success();
        }) {
    // A message is for people who did not write the program.
    context.printOpOnDiagnostic(false);
  }

  MLIRContext context;
  /// What the other handlers left.
  std::vector<std::string> remarks;

private:
  static const DialectRegistry &getRegistry() {
    static const DialectRegistry *registry = [] {
      auto *made = new DialectRegistry();
      registerAllDialects(*made);
      registerPipelinePasses();
      return made;
    }();
    return *registry;
  }
  ScopedDiagnosticHandler handler;
};

/// What the options come to.
struct Target {
  bool onDevice = false;
  std::string chip, pipeline, schedulePipeline, tuningFile;
  cuda::Device *device = nullptr;
};

} // namespace

static NaStatus parseOptions(const NaOptions *given, NaOptions &options) {
  naOptionsInit(&options);
  if (!given)
    return ok();
  if (given->struct_size != sizeof(NaOptions))
    return makeStatus(NA_INVALID_ARGUMENT,
                      "options: struct_size is not sizeof(NaOptions); start "
                      "with naOptionsInit");
  options = *given;
  auto outside = [](const char *name, int64_t value, const char *limit) {
    return makeStatus(
        NA_INVALID_ARGUMENT,
        llvm::formatv("options.{0}: {1} is not {2}", name, value, limit).str());
  };
  if (options.target != NA_TARGET_CPU && options.target != NA_TARGET_CUDA)
    return outside("target", options.target, "NA_TARGET_CPU or NA_TARGET_CUDA");
  if (options.mode < NA_MODE_FUSED || options.mode > NA_MODE_NAIVE)
    return outside("mode", options.mode,
                   "NA_MODE_FUSED, NA_MODE_UNFUSED or NA_MODE_NAIVE");
  if (options.f32_math != NA_F32_IEEE && options.f32_math != NA_F32_TF32)
    return outside("f32_math", options.f32_math, "NA_F32_IEEE or NA_F32_TF32");
  for (const auto *tile : {&options.query_tile, &options.key_tile})
    for (int64_t size : *tile)
      if (size < 0)
        return outside(tile == &options.query_tile ? "query_tile" : "key_tile",
                       size, "at least 0");
  return ok();
}

/// The leading entries of a tile that are not 0, as an option of a pipeline.
static std::string formatTile(const char *name, const int64_t (&tile)[3]) {
  std::string text;
  for (int64_t size : tile) {
    if (size == 0)
      break;
    text += (text.empty() ? "" : ",") + std::to_string(size);
  }
  return text.empty() ? text : std::string(" ") + name + "=" + text;
}

static NaStatus chooseTarget(const NaOptions &options, Target &target) {
  target.onDevice = options.target == NA_TARGET_CUDA;
  if (target.onDevice) {
    if (options.chip)
      target.chip = options.chip;
    if (options.device >= 0) {
      auto device = cuda::Device::get(options.device);
      if (!device)
        return makeStatus(device.error());
      target.device = *device;
      if (target.chip.empty()) {
        llvm::Expected<std::string> chip =
            getDefaultChip(target.device->properties());
        if (!chip)
          return makeStatus(NA_UNSUPPORTED, chip.takeError());
        target.chip = *chip;
      } else if (llvm::Error error = mlir::na::checkChip(
                     target.chip, target.device->properties())) {
        return makeStatus(NA_INVALID_ARGUMENT, std::move(error));
      }
    } else if (target.chip.empty()) {
      return makeStatus(NA_INVALID_ARGUMENT,
                        "options.chip: null, but there is no device "
                        "(options.device is negative) to ask for its chip");
    }
    if (llvm::Error error = mlir::na::checkChip(target.chip))
      return makeStatus(NA_INVALID_ARGUMENT, std::move(error));
  }
  const char *tuningFile =
      options.tuning_file ? options.tuning_file : std::getenv("NA_TUNING_FILE");
  target.tuningFile = tuningFile ? tuningFile : "";
  static const char *const modes[] = {"fused", "unfused", "naive"};
  std::string tiles = formatTile("query-tile", options.query_tile) +
                      formatTile("key-tile", options.key_tile) +
                      formatTuningFileOption(target.tuningFile);
  target.pipeline =
      target.onDevice
          ? llvm::formatv("na-to-nvvm{{chip={0} format=isa mode={1} "
                          "f32-math={2}{3}}",
                          target.chip, modes[options.mode],
                          options.f32_math == NA_F32_TF32 ? "tf32" : "ieee",
                          tiles)
                .str()
          : llvm::formatv("na-to-cpu{{mode={0}{1}}", modes[options.mode], tiles)
                .str();
  target.schedulePipeline =
      llvm::formatv("na-select-schedule{{target={0}{1}}",
                    target.onDevice ? target.chip : "cpu", tiles);
  return ok();
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

/// Keeps programs as files where NA_CACHE_DIR says so.
static runtime::KernelCache &getCache() {
  static auto *cache = new runtime::KernelCache();
  return *cache;
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

/// The arguments of a launch: the inputs of the harness, then its outputs.
static NaStatus listArguments(const Harness &harness, NaProgram &program) {
  auto add = [&](const std::string &name, ElementType type, int32_t kind,
                 ArrayRef<int64_t> shape) {
    Argument argument{name, type, kind, SmallVector<int64_t>(shape), -1};
    if (ShapedType::isDynamicShape(shape)) {
      program.staticSizes = false;
    } else {
      argument.bytes = getByteWidth(type);
      for (int64_t size : shape)
        argument.bytes *= size;
    }
    program.arguments.push_back(std::move(argument));
  };
  for (const HarnessInput &input : harness.getInputs())
    add(input.name, input.type,
        input.byValue       ? NA_ARGUMENT_VALUE
        : input.destination ? NA_ARGUMENT_OUTPUT
                            : NA_ARGUMENT_INPUT,
        input.shape);
  for (const HarnessOutput &output : harness.getOutputs()) {
    if (output.input)
      continue;
    if (output.isAllocatedByProgram())
      return makeStatus(NA_UNSUPPORTED,
                        "result '" + output.name + "' of shape " +
                            formatShape(output.shape) +
                            " has dynamic sizes; write it to an argument that "
                            "is a memref instead");
    add(output.name, output.type, NA_ARGUMENT_OUTPUT, output.shape);
  }
  return ok();
}

static NaStatus compileForHost(Source &source, const Target &target,
                               NaProgram &program) {
  JITOptions options;
  options.pipeline = (Harness::getPreparation() + "," + target.pipeline).str();
  llvm::Expected<std::unique_ptr<JITModule>> module =
      JITModule::compile(*source.module, options);
  if (!module)
    return makeStatus(NA_COMPILE_FAILED, module.takeError());
  program.host = std::move(*module);
  program.times = program.host->getTimes();
  program.chip = getHostCPU();
  return ok();
}

static NaStatus compileForDevice(Source &source, const Target &target,
                                 NaProgram &program) {
  CudaOptions options;
  options.pipeline = (Harness::getPreparation() + "," + target.pipeline).str();
  options.tuningFile = target.tuningFile;
  if (target.device)
    options.assembler =
        "driver " + std::to_string(target.device->properties().driverVersion);
  bool cached = !getCache().directory().empty();
  size_t failedWrites = getCache().statistics().failedWrites;
  llvm::Expected<CudaCode> code =
      cached ? compileForCuda(*source.module, options, program.times,
                              getCache(), target.chip)
             : compileForCuda(*source.module, options, program.times);
  if (!code)
    return makeStatus(NA_COMPILE_FAILED, code.takeError());
  program.ptx = code->image;
  program.remarks = code->remarks;
  runtime::KernelCache::Statistics statistics = getCache().statistics();
  if (statistics.failedWrites != failedWrites)
    program.remarks.push_back("not kept as a file: " +
                              statistics.lastFileError);
  program.chip = target.chip;
  if (!target.device)
    return ok();
  llvm::Expected<std::shared_ptr<CudaProgram>> loaded =
      CudaProgram::load(*code, *target.device);
  if (!loaded)
    return makeStatus(NA_DEVICE_ERROR, loaded.takeError());
  program.cuda = *loaded;
  return ok();
}

/// Finds the compiled function, by binding it to tensors that are not there.
static NaStatus findFunction(const Harness &harness, const JITModule &module,
                             NaProgram &program) {
  // The value of an argument that is passed by value.
  static const int64_t zero = 0;
  SmallVector<SmallVector<int64_t>> shapes;
  for (const Argument &argument : program.arguments) {
    shapes.push_back(argument.shape);
    for (int64_t &size : shapes.back())
      size = std::max<int64_t>(size, 0);
  }
  SmallVector<TensorBinding> bindings;
  for (auto [argument, shape] : llvm::zip(program.arguments, shapes))
    bindings.push_back({argument.type, shape, const_cast<int64_t *>(&zero)});
  size_t inputs = harness.getInputs().size();
  llvm::Expected<Harness::Call> call = Harness::Call::bind(
      harness, module, ArrayRef(bindings).take_front(inputs),
      ArrayRef(bindings).drop_front(inputs));
  if (!call)
    return makeStatus(NA_COMPILE_FAILED, call.takeError());
  program.function = call->getFunction();
  program.loaded = true;
  return ok();
}

static NaStatus compile(Session &session, Source &source,
                        const NaOptions *givenOptions, NaProgram **result) {
  NaOptions options;
  NaStatus status = parseOptions(givenOptions, options);
  if (status.code != NA_OK)
    return status;
  Target target;
  status = chooseTarget(options, target);
  if (status.code != NA_OK)
    return status;
  auto program = std::make_unique<NaProgram>();
  program->source = print(*source.module);
  program->entry = source.entry;
  program->schedulePipeline = target.schedulePipeline;
  program->lowerPipeline = target.pipeline;
  llvm::Expected<Harness> harness = Harness::create(
      *source.module, source.entry, source.names, target.onDevice);
  if (!harness)
    return makeStatus(NA_COMPILE_FAILED, harness.takeError());
  status = listArguments(*harness, *program);
  if (status.code == NA_OK)
    status = target.onDevice ? compileForDevice(source, target, *program)
                             : compileForHost(source, target, *program);
  if (status.code != NA_OK)
    return status;
  if (program->host)
    status = findFunction(*harness, *program->host, *program);
  else if (program->cuda)
    status = findFunction(*harness, program->cuda->getHostModule(), *program);
  if (status.code != NA_OK)
    return status;
  llvm::append_range(program->remarks, session.remarks);
  *result = program.release();
  return ok();
}

static NaStatus compileProblem(const NaProblem *problem,
                               std::optional<int32_t> gradients,
                               const NaOptions *options, NaProgram **program) {
  if (!problem || !program)
    return makeStatus(NA_INVALID_ARGUMENT,
                      problem ? "program: null" : "problem: null");
  if (problem->struct_size != sizeof(NaProblem))
    return makeStatus(NA_INVALID_ARGUMENT,
                      "problem: struct_size is not sizeof(NaProblem); start "
                      "with naProblemInit");
  Session session;
  Source source;
  NaStatus status = buildProblem(*problem, gradients, session.context, source);
  if (status.code != NA_OK)
    return status;
  status = compile(session, source, options, program);
  if (status.code == NA_OK && (*program)->cuda)
    (*program)->workspaceBytes = measureWorkspace(**program);
  return status;
}

NaStatus naCompileProblem(const NaProblem *problem, const NaOptions *options,
                          NaProgram **program) {
  return compileProblem(problem, std::nullopt, options, program);
}

NaStatus naCompileGradients(const NaProblem *problem, int32_t flags,
                            const NaOptions *options, NaProgram **program) {
  return compileProblem(problem, flags, options, program);
}

static NaStatus parse(Session &session, StringRef text, Source &source) {
  ErrorCollector errors(&session.context);
  source.module = parseSourceString<ModuleOp>(
      text, ParserConfig(&session.context), "program");
  if (!source.module)
    return makeStatus(NA_COMPILE_FAILED,
                      errors.take("the program cannot be parsed"));
  return ok();
}

NaStatus naCompileMLIR(const char *text, size_t length, const char *entry,
                       const NaOptions *options, NaProgram **program) {
  if (!text || !program)
    return makeStatus(NA_INVALID_ARGUMENT,
                      text ? "program: null" : "text: null");
  Session session;
  Source source;
  // The parser reads to a zero byte.
  std::string copy(text, length);
  NaStatus status = parse(session, copy, source);
  if (status.code != NA_OK)
    return status;
  llvm::Expected<std::string> found =
      findEntry(*source.module, entry ? entry : "");
  if (!found)
    return makeStatus(NA_INVALID_ARGUMENT, found.takeError());
  source.entry = *found;
  return compile(session, source, options, program);
}

void naProgramRelease(NaProgram *program) { delete program; }

void naProblemInit(NaProblem *problem) {
  *problem = NaProblem();
  problem->struct_size = sizeof(NaProblem);
  problem->batch = problem->heads = 1;
}

void naOptionsInit(NaOptions *options) {
  *options = NaOptions();
  options->struct_size = sizeof(NaOptions);
}

//===----------------------------------------------------------------------===//
// Looking at programs
//===----------------------------------------------------------------------===//

int32_t naProgramGetNumArguments(const NaProgram *program) {
  return program ? static_cast<int32_t>(program->arguments.size()) : 0;
}

NaStatus naProgramGetArgument(const NaProgram *program, int32_t index,
                              NaArgumentInfo *info) {
  if (!program || !info)
    return makeStatus(NA_INVALID_ARGUMENT,
                      program ? "info: null" : "program: null");
  if (index < 0 || index >= naProgramGetNumArguments(program))
    return makeStatus(NA_INVALID_ARGUMENT,
                      llvm::formatv("index: {0} is not in 0 to {1}", index,
                                    naProgramGetNumArguments(program) - 1)
                          .str());
  const Argument &argument = program->arguments[index];
  *info = {argument.name.c_str(), getTypeCode(argument.type), argument.kind,
           static_cast<int32_t>(argument.shape.size()), argument.shape.data()};
  return ok();
}

/// The program after `pipeline`.
static NaStatus runOnSource(const NaProgram &program, StringRef pipeline,
                            std::string &text) {
  Session session;
  Source source;
  NaStatus status = parse(session, program.source, source);
  if (status.code != NA_OK)
    return status;
  ErrorCollector errors(&session.context);
  PassManager manager(&session.context, ModuleOp::getOperationName());
  if (failed(parsePassPipeline(pipeline, manager)) ||
      failed(manager.run(*source.module)))
    return makeStatus(NA_COMPILE_FAILED, errors.take("a pass failed"));
  // Kernels are bytes by now; NA_TEXT_PTX has them as text.
  for (auto binary :
       llvm::make_early_inc_range(source.module->getOps<gpu::BinaryOp>()))
    binary.erase();
  text = print(*source.module);
  return ok();
}

static NaStatus makeText(const NaProgram &program, int32_t kind,
                         std::string &text) {
  switch (kind) {
  case NA_TEXT_MLIR:
    text = program.source;
    return ok();
  case NA_TEXT_SCHEDULE:
    return runOnSource(program, program.schedulePipeline, text);
  case NA_TEXT_LOWERED:
    return runOnSource(program, program.lowerPipeline, text);
  case NA_TEXT_PTX:
    if (program.host)
      return makeStatus(NA_INVALID_ARGUMENT,
                        "kind: a program for the CPU has no PTX");
    text = program.ptx;
    return ok();
  case NA_TEXT_REMARKS:
    text = llvm::join(program.remarks, "\n");
    return ok();
  case NA_TEXT_CHIP:
    text = program.chip;
    return ok();
  case NA_TEXT_TIMES: {
    const CompileTimes &times = program.times;
    text = llvm::formatv("{0:f1} ms: passes {1:f1}, LLVM IR {2:f1}, optimizer "
                         "{3:f1}, code generator {4:f1}, loading {5:f1}",
                         times.total() * 1e3, times.passes * 1e3,
                         times.translate * 1e3, times.optimize * 1e3,
                         times.codegen * 1e3, times.link * 1e3);
    return ok();
  }
  default:
    return makeStatus(
        NA_INVALID_ARGUMENT,
        llvm::formatv("kind: {0} is not in 0 to {1}", kind, int(NA_TEXT_TIMES))
            .str());
  }
}

NaStatus naProgramGetText(const NaProgram *program, int32_t kind,
                          const char **text) {
  if (!program || !text)
    return makeStatus(NA_INVALID_ARGUMENT,
                      program ? "text: null" : "program: null");
  std::lock_guard<std::mutex> lock(program->mutex);
  auto found = program->texts.find(kind);
  if (found == program->texts.end()) {
    std::string made;
    NaStatus status = makeText(*program, kind, made);
    if (status.code != NA_OK)
      return status;
    found = program->texts.emplace(kind, std::move(made)).first;
  }
  *text = found->second.c_str();
  return ok();
}

//===----------------------------------------------------------------------===//
// Explanations
//===----------------------------------------------------------------------===//

/// The leading entries that are not 0.
static std::vector<int64_t> getTile(const int64_t (&tile)[3]) {
  return {tile, std::find(tile, tile + 3, 0)};
}

static llvm::Expected<schedule::Explanation>
explain(const schedule::Workload &workload, const NaOptions &options,
        const Target &target, int32_t count, const int64_t *queryTile) {
  schedule::ExplainOptions explainOptions;
  schedule::RankingOptions &ranking = explainOptions.ranking;
  ranking.target = target.onDevice ? target.chip : "cpu";
  ranking.count = count;
  ranking.fixed.queryTile = getTile(options.query_tile);
  ranking.fixed.keyTile = getTile(options.key_tile);
  size_t rank = workload.axes.size();
  for (const auto *tile : {&ranking.fixed.queryTile, &ranking.fixed.keyTile})
    if (!tile->empty() && tile->size() != rank)
      return llvm::createStringError(
          llvm::formatv("options.{0}: {1} entries, expected {2}, one per axis",
                        tile == &ranking.fixed.queryTile ? "query_tile"
                                                         : "key_tile",
                        tile->size(), rank)
              .str());
  if (queryTile)
    explainOptions.queryTile.assign(queryTile, queryTile + rank);
  std::optional<schedule::TuningFile> tuning;
  if (!target.tuningFile.empty()) {
    auto file = schedule::TuningFile::read(target.tuningFile);
    if (!file)
      return file.takeError();
    tuning = std::move(*file);
    explainOptions.tuning = &*tuning;
  }
  return schedule::explain(workload, explainOptions);
}

NaStatus naExplainProblem(const NaProblem *problem, const NaOptions *given,
                          int32_t count, const int64_t *queryTile, int32_t form,
                          char **text) {
  if (!problem || !text)
    return makeStatus(NA_INVALID_ARGUMENT,
                      problem ? "text: null" : "problem: null");
  if (problem->struct_size != sizeof(NaProblem))
    return makeStatus(NA_INVALID_ARGUMENT,
                      "problem: struct_size is not sizeof(NaProblem); start "
                      "with naProblemInit");
  if (count < 1)
    return makeStatus(NA_INVALID_ARGUMENT,
                      "count: " + llvm::Twine(count) + " is less than 1");
  if (form < NA_EXPLAIN_JSON || form > NA_EXPLAIN_SVG)
    return makeStatus(NA_INVALID_ARGUMENT,
                      "form: " + llvm::Twine(form) +
                          " is not NA_EXPLAIN_JSON, TEXT or SVG");
  NaOptions options;
  NaStatus status = parseOptions(given, options);
  if (status.code != NA_OK)
    return status;
  if (options.mode != NA_MODE_FUSED)
    return makeStatus(NA_INVALID_ARGUMENT,
                      "options.mode: only schedules of NA_MODE_FUSED are "
                      "explained");
  Target target;
  status = chooseTarget(options, target);
  if (status.code != NA_OK)
    return status;
  Session session;
  Source source;
  status = buildProblem(*problem, /*gradients=*/std::nullopt, session.context,
                        source);
  if (status.code != NA_OK)
    return status;
  std::optional<schedule::Workload> workload;
  source.module->walk([&](Operation *op) {
    if (!workload)
      workload = getWorkload(op);
  });
  auto explanation = explain(*workload, options, target, count, queryTile);
  if (!explanation)
    return makeStatus(NA_INVALID_ARGUMENT, explanation.takeError());
  std::string made =
      form == NA_EXPLAIN_TEXT ? schedule::printText(*explanation)
      : form == NA_EXPLAIN_SVG
          ? schedule::printSVG(*explanation)
          : llvm::formatv("{0}",
                          llvm::json::Value(schedule::toJSON(*explanation)))
                .str();
  *text = strdup(made.c_str());
  return ok();
}

void naTextRelease(char *text) { std::free(text); }
