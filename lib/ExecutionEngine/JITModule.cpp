//===- JITModule.cpp - A module compiled into this process ----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/ExecutionEngine/JITModule.h"

#include "na/ExecutionEngine/Diagnostics.h"
#include "na/Runtime/Runtime.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

#include <chrono>

using namespace mlir;
using namespace mlir::na;

namespace {

constexpr llvm::StringLiteral cInterfacePrefix("_mlir_ciface_");
constexpr llvm::StringLiteral packedPrefix("_na_packed_");

class Stopwatch {
public:
  /// The seconds since construction or the last call.
  double lap() {
    auto now = std::chrono::steady_clock::now();
    double seconds = std::chrono::duration<double>(now - start).count();
    start = now;
    return seconds;
  }

private:
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};

void initializeNativeTarget() {
  static const bool once = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
    return true;
  }();
  (void)once;
}

llvm::Error runPasses(ModuleOp module, const JITOptions &options) {
  ErrorCollector errors(module.getContext());
  StringRef pipeline = StringRef(options.pipeline).trim();
  if (pipeline.consume_front("builtin.module(") && !pipeline.consume_back(")"))
    return llvm::createStringError("pass pipeline '" + options.pipeline +
                                   "' lacks its closing parenthesis");
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (failed(parsePassPipeline(pipeline, manager, stream)))
    return llvm::createStringError(
        "invalid pass pipeline '" + options.pipeline +
        "': " + errors.take(StringRef(message).trim()));
  if (options.configurePasses)
    options.configurePasses(manager);
  if (failed(manager.run(module)))
    return llvm::createStringError(errors.take("a pass failed"));
  return llvm::Error::success();
}

/// Adds, for a function of the C interface, a function that takes an array of
/// pointers to the arguments.
void addPackedFunction(llvm::Function &function, StringRef name) {
  llvm::LLVMContext &context = function.getContext();
  llvm::Type *pointer = llvm::PointerType::getUnqual(context);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                       {pointer}, /*isVarArg=*/false);
  llvm::Function *packed =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                             packedPrefix + name, function.getParent());
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", packed));
  auto slot = [&](unsigned index) {
    llvm::Value *address = builder.CreateConstGEP1_64(
        pointer, packed->getArg(0), static_cast<uint64_t>(index));
    return builder.CreateLoad(pointer, address);
  };
  SmallVector<llvm::Value *> arguments;
  for (llvm::Argument &argument : function.args())
    arguments.push_back(
        builder.CreateLoad(argument.getType(), slot(argument.getArgNo())));
  llvm::Value *result = builder.CreateCall(&function, arguments);
  if (!function.getReturnType()->isVoidTy())
    builder.CreateStore(result, slot(function.arg_size()));
  builder.CreateRetVoid();
}

/// Makes the packed functions, and everything else local to the module, so that
/// the optimizer may inline and drop it.
void makeInterface(llvm::Module &module) {
  SmallVector<llvm::Function *> interface;
  for (llvm::Function &function : module)
    if (!function.isDeclaration() &&
        function.getName().starts_with(cInterfacePrefix))
      interface.push_back(&function);
  for (llvm::GlobalValue &value : module.global_values())
    if (!value.isDeclaration() && !value.getName().starts_with("llvm."))
      value.setLinkage(llvm::GlobalValue::InternalLinkage);
  for (llvm::Function *function : interface)
    addPackedFunction(*function,
                      function->getName().drop_front(cInterfacePrefix.size()));
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine, int level) {
  llvm::PipelineTuningOptions tuning;
  // Our loops are blocked for the registers already. Unrolling the rest triples
  // the code and takes strength reduction seconds on 3-D problems.
  tuning.LoopUnrolling = false;
  tuning.LoopInterleaving = tuning.LoopVectorization = level > 1;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager cgsccs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(cgsccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, cgsccs, modules);
  static const llvm::OptimizationLevel levels[] = {
      llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
      llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  llvm::ModulePassManager passes =
      level == 0 ? builder.buildO0DefaultPipeline(levels[0])
                 : builder.buildPerModuleDefaultPipeline(levels[level]);
  passes.run(module, modules);
}

llvm::Error registerSymbols(llvm::orc::LLJIT &jit,
                            const ::na::runtime::Symbol *additional) {
  llvm::orc::SymbolMap symbols;
  for (const ::na::runtime::Symbol *table :
       {::na::runtime::symbols(), additional})
    for (const auto *symbol = table; symbol && symbol->name; ++symbol)
      symbols[jit.mangleAndIntern(symbol->name)] = {
          llvm::orc::ExecutorAddr::fromPtr(symbol->address),
          llvm::JITSymbolFlags::Exported};
  return jit.getMainJITDylib().define(
      llvm::orc::absoluteSymbols(std::move(symbols)));
}

} // namespace

JITModule::JITModule() = default;
JITModule::~JITModule() = default;

/// A description of the host's CPU for the code generator.
static llvm::Expected<llvm::orc::JITTargetMachineBuilder> detectHost() {
  initializeNativeTarget();
  return llvm::orc::JITTargetMachineBuilder::detectHost();
}

llvm::Expected<ObjectCode> JITModule::compileToObject(ModuleOp module,
                                                      const JITOptions &options,
                                                      CompileTimes &times) {
  if (options.optLevel < 0 || options.optLevel > 3)
    return llvm::createStringError("optimization level " +
                                   std::to_string(options.optLevel) +
                                   " is not in 0 to 3");
  Stopwatch watch;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                        UnitAttr::get(module.getContext()));
  if (llvm::Error error = runPasses(module, options))
    return std::move(error);
  if (options.afterPasses)
    if (llvm::Error error = options.afterPasses(module))
      return std::move(error);
  times.passes += watch.lap();

  auto context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> llvmModule;
  {
    ErrorCollector errors(module.getContext());
    llvmModule = translateModuleToLLVMIR(module, *context, "na");
    if (!llvmModule)
      return llvm::createStringError(
          errors.take("the module cannot be translated to LLVM IR"));
  }
  llvm::Expected<llvm::orc::JITTargetMachineBuilder> machineBuilder =
      detectHost();
  if (!machineBuilder)
    return machineBuilder.takeError();
  machineBuilder->setCodeGenOptLevel(
      *llvm::CodeGenOpt::getLevel(options.optLevel));
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine =
      machineBuilder->createTargetMachine();
  if (!machine)
    return machine.takeError();
  llvmModule->setTargetTriple((*machine)->getTargetTriple());
  llvmModule->setDataLayout((*machine)->createDataLayout());
  makeInterface(*llvmModule);
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(*llvmModule, &stream))
    return llvm::createStringError("the passes made invalid LLVM IR: " +
                                   message);
  times.translate += watch.lap();

  optimize(*llvmModule, **machine, options.optLevel);
  times.optimize += watch.lap();

  llvm::orc::SimpleCompiler compiler(**machine);
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> object =
      compiler(*llvmModule);
  if (!object)
    return object.takeError();
  ObjectCode code;
  code.bytes = (*object)->getBuffer().str();
  for (llvm::Function &function : *llvmModule) {
    StringRef name = function.getName();
    if (name.consume_front(packedPrefix))
      code.functions.push_back(name.str());
  }
  times.codegen += watch.lap();
  return code;
}

llvm::Expected<std::unique_ptr<JITModule>>
JITModule::load(const ObjectCode &code, const ::na::runtime::Symbol *symbols,
                CompileTimes &times) {
  Stopwatch watch;
  llvm::Expected<llvm::orc::JITTargetMachineBuilder> machineBuilder =
      detectHost();
  if (!machineBuilder)
    return machineBuilder.takeError();
  // There are no static constructors to run, so no platform is needed.
  llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> jit =
      llvm::orc::LLJITBuilder()
          .setJITTargetMachineBuilder(*machineBuilder)
          .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
          .create();
  if (!jit)
    return jit.takeError();
  // What went wrong is reported to the session, beside the error of a lookup.
  auto reported = std::make_shared<std::string>();
  (*jit)->getExecutionSession().setErrorReporter([reported](llvm::Error error) {
    *reported += llvm::toString(std::move(error));
  });
  if (llvm::Error error = registerSymbols(**jit, symbols))
    return std::move(error);
  if (llvm::Error error = (*jit)->addObjectFile(
          llvm::MemoryBuffer::getMemBufferCopy(code.bytes, "na")))
    return std::move(error);
  // Missing symbols show now rather than at the first call.
  for (const std::string &name : code.functions) {
    llvm::Expected<llvm::orc::ExecutorAddr> address =
        (*jit)->lookup((packedPrefix + name).str());
    if (address)
      continue;
    llvm::Error error = address.takeError();
    if (reported->empty())
      return std::move(error);
    llvm::consumeError(std::move(error));
    return llvm::createStringError(*reported);
  }
  std::unique_ptr<JITModule> result(new JITModule());
  result->jit = std::move(*jit);
  times.link += watch.lap();
  result->times = times;
  return result;
}

llvm::Expected<std::unique_ptr<JITModule>>
JITModule::compile(ModuleOp module, const JITOptions &options) {
  CompileTimes times;
  llvm::Expected<ObjectCode> code = compileToObject(module, options, times);
  if (!code)
    return code.takeError();
  return load(*code, options.symbols, times);
}

llvm::Expected<JITModule::PackedFunction>
JITModule::lookup(StringRef function) const {
  llvm::Expected<llvm::orc::ExecutorAddr> address =
      jit->lookup((packedPrefix + function).str());
  if (!address) {
    llvm::consumeError(address.takeError());
    return llvm::createStringError("the compiled module has no function '" +
                                   function + "'");
  }
  return address->toPtr<PackedFunction>();
}

llvm::Error JITModule::invoke(StringRef function,
                              ArrayRef<void *> descriptors) const {
  llvm::Expected<PackedFunction> packed = lookup(function);
  if (!packed)
    return packed.takeError();
  SmallVector<void *> values(descriptors), slots;
  for (void *&value : values)
    slots.push_back(&value);
  (*packed)(slots.data());
  return llvm::Error::success();
}

std::string mlir::na::getHostCPU() { return llvm::sys::getHostCPUName().str(); }

std::string mlir::na::getHostTarget() {
  SmallVector<StringRef> enabled;
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  for (const auto &feature : features)
    if (feature.second)
      enabled.push_back(feature.first());
  llvm::sort(enabled);
  return getHostCPU() + "+" + llvm::join(enabled, "+");
}
