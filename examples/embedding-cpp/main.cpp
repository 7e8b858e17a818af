//===- main.cpp - A compiler that embeds neighborhood attention -----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads layer.mlir, tosa with an na operation inside, lowers the whole to the
// LLVM dialect, runs it with mlir::ExecutionEngine and compares the result with
// plain C++. The exit code is 0 if they agree.
//
//===----------------------------------------------------------------------===//

#include "Reference.h"

#include "na/InitAll.h"
#include "na/Runtime/Runtime.h"

#include "mlir/Conversion/TosaToArith/TosaToArith.h"
#include "mlir/Conversion/TosaToLinalg/TosaToLinalg.h"
#include "mlir/Conversion/TosaToTensor/TosaToTensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/ExecutionEngine/CRunnerUtils.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstdlib>
#include <random>

using namespace mlir;

/// tosa to linalg, tensor and arith by upstream passes, the rest by the
/// project's pipeline.
static LogicalResult lower(ModuleOp module) {
  PassManager passes(module.getContext());
  tosa::addTosaToLinalgPasses(passes, TosaToLinalgOptions());
  passes.addNestedPass<func::FuncOp>(createTosaToTensorPass());
  passes.addNestedPass<func::FuncOp>(createTosaToArithPass());
  mlir::na::CPUPipelineOptions options;
  mlir::na::buildCPUPipeline(passes, options);
  return passes.run(module);
}

/// The functions of the run time that compiled code calls.
static llvm::orc::SymbolMap
getRuntimeSymbols(llvm::orc::MangleAndInterner interner) {
  llvm::orc::SymbolMap map;
  for (const ::na::runtime::Symbol *symbol = ::na::runtime::symbols();
       symbol->name; ++symbol)
    map[interner(symbol->name)] = {
        llvm::orc::ExecutorAddr::fromPtr(symbol->address),
        llvm::JITSymbolFlags::Exported};
  return map;
}

static llvm::Expected<std::unique_ptr<ExecutionEngine>>
createEngine(ModuleOp module) {
  ExecutionEngineOptions options;
  auto optimize = makeOptimizingTransformer(/*optLevel=*/3, /*sizeLevel=*/0,
                                            /*targetMachine=*/nullptr);
  options.transformer = optimize;
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Aggressive;
  auto engine = ExecutionEngine::create(module, options);
  if (engine)
    (*engine)->registerSymbols(getRuntimeSymbols);
  return engine;
}

static std::vector<float> draw(size_t count, float deviation) {
  static std::mt19937 generator(0);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> values(count);
  for (float &value : values)
    value = normal(generator);
  return values;
}

/// A descriptor of `data`, dense and row-major.
template <int rank>
static StridedMemRefType<float, rank> describe(std::vector<float> &data,
                                               const int64_t (&shape)[rank]) {
  StridedMemRefType<float, rank> memref;
  memref.basePtr = memref.data = data.data();
  memref.offset = 0;
  int64_t stride = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    memref.sizes[axis] = shape[axis];
    memref.strides[axis] = stride;
    stride *= shape[axis];
  }
  return memref;
}

int main() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();

  DialectRegistry registry;
  mlir::na::registerNADialects(registry);
  registry.insert<tosa::TosaDialect>();
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(LAYER_FILE, &context);
  if (!module)
    return 1;
  Operation *layer = SymbolTable::lookupSymbolIn(*module, "layer");
  if (!layer) {
    llvm::errs() << "error: the program has no function 'layer'\n";
    return 1;
  }
  layer->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                 UnitAttr::get(&context));
  if (failed(lower(*module)))
    return 1;
  auto engine = createEngine(*module);
  if (!engine) {
    llvm::errs() << "error: " << llvm::toString(engine.takeError()) << "\n";
    return 1;
  }

  std::vector<float> x = draw(tokens * features, 1),
                     weight = draw(features * 3 * features,
                                   1 / std::sqrt(float(features)));
  auto xMemref = describe<4>(x, {1, side, side, features});
  auto weightMemref = describe<3>(weight, {1, features, 3 * features});
  // The program allocates its result.
  StridedMemRefType<float, 4> result;
  if (llvm::Error error =
          (*engine)->invoke("layer", &result, &xMemref, &weightMemref)) {
    llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
    return 1;
  }

  std::vector<float> expected = computeReference(x, weight);
  float worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    float error = std::abs(result.data[i] - expected[i]);
    if (!(error <= worst))
      worst = std::isnan(error) ? INFINITY : error;
  }
  std::free(result.basePtr);
  constexpr float limit = 1e-5f;
  bool passed = worst <= limit;
  llvm::outs() << "layer: largest error " << worst << ", limit " << limit
               << ": " << (passed ? "pass" : "FAIL") << "\n";
  return passed ? 0 : 1;
}
