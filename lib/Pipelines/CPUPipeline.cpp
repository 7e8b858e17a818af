//===- CPUPipeline.cpp - The pipeline na-to-cpu ---*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Pipelines/Pipelines.h"

#include "Bufferization.h"
#include "na/Conversion/Passes.h"
#include "na/Dialect/NA/Transforms/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace mlir::na;

namespace {
/// The vector unit to compile for.
struct VectorUnit {
  int64_t bits, registers;
};
} // namespace

/// What the options say; the host's where they say nothing.
static VectorUnit getVectorUnit(const CPUPipelineOptions &options) {
  VectorUnit unit{128, 16};
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  if (features.lookup("avx512f"))
    unit = {512, 32};
  else if (features.lookup("avx2"))
    unit = {256, 16};
  else if (features.lookup("neon"))
    unit = {128, 32};
  if (options.vectorBits != 0)
    unit.bits = options.vectorBits;
  if (options.registers != 0)
    unit.registers = options.registers;
  return unit;
}

void mlir::na::addBufferization(OpPassManager &pm) {
  // Softmax and arithmetic on whole tensors have no bufferization of their own.
  pm.addPass(createDecomposeAggregatesPass());
  pm.addNestedPass<func::FuncOp>(createConvertElementwiseToLinalgPass());
  pm.addPass(bufferization::createEmptyTensorEliminationPass());
  bufferization::OneShotBufferizePassOptions options;
  options.bufferizeFunctionBoundaries = true;
  // A loop over layers carries a tensor that every layer makes anew.
  options.allowReturnAllocsFromLoops = true;
  options.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(options));
  pm.addPass(createCanonicalizerPass());
}

void mlir::na::addTileLowering(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createNATileToLinalg());
  bufferization::OneShotBufferizePassOptions options;
  // The GPU form needs the old maxima after the new ones are there.
  options.allowReturnAllocsFromLoops = true;
  pm.addPass(bufferization::createOneShotBufferizePass(options));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

std::string mlir::na::formatTuningFileOption(StringRef path) {
  if (path.empty())
    return "";
  StringRef quote = path.contains('"') ? "'" : "\"";
  return (" tuning-file=" + quote + path + quote).str();
}

void mlir::na::buildCPULoopsPipeline(OpPassManager &pm,
                                     const CPUPipelineOptions &options) {
  pm.addPass(createCanonicalizerPass());
  NADecomposeAttentionGradOptions gradients;
  gradients.unfused = options.mode == LoweringMode::Unfused;
  pm.addPass(createNADecomposeAttentionGrad(gradients));
  if (options.mode == LoweringMode::Unfused)
    pm.addPass(createNADecomposeAttention());
  if (options.mode != LoweringMode::Naive) {
    pm.addPass(createNADecomposeProductGrad());
    NASelectScheduleOptions schedule;
    schedule.target = options.scheduleTarget;
    schedule.queryTile.assign(options.queryTile.begin(),
                              options.queryTile.end());
    schedule.keyTile.assign(options.keyTile.begin(), options.keyTile.end());
    schedule.warpgroupTile.assign(options.warpgroupTile.begin(),
                                  options.warpgroupTile.end());
    schedule.headsPerTile = options.headsPerTile;
    schedule.tuningFile = options.tuningFile;
    pm.addPass(createNASelectSchedule(schedule));
  }
  addBufferization(pm);
  if (options.mode == LoweringMode::Fused)
    pm.addPass(createNATileAndFuse());
  // Products that stand alone in the program too.
  if (options.mode != LoweringMode::Naive) {
    pm.addPass(createNATileUnfused());
    addTileLowering(pm);
  }
  pm.addPass(createNAHoistTileBuffers());
  bufferization::buildBufferDeallocationPipeline(
      pm, bufferization::BufferDeallocationPipelineOptions());
  pm.addPass(createConvertBufferizationToMemRefPass());
  // What has no tiled form, and everything in naive mode. The loops free their
  // buffers, which the deallocation of others does not expect.
  pm.addPass(createConvertNAToLoopsPass());
  VectorUnit unit = getVectorUnit(options);
  NATileToLoopsPassOptions tileToLoops;
  tileToLoops.vectorBits = unit.bits;
  pm.addPass(createNATileToLoopsPass(tileToLoops));
  LinalgToVectorLoopsPassOptions vectorLoops;
  vectorLoops.vectorBits = unit.bits;
  vectorLoops.registers = unit.registers;
  pm.addPass(createLinalgToVectorLoopsPass(vectorLoops));
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToParallelLoopsPass());
  pm.addPass(createExpToArithPass());
  pm.addPass(createApproximateMathPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
}

void mlir::na::buildCPUToLLVMPipeline(OpPassManager &pm,
                                      const CPUPipelineOptions &options) {
  pm.addPass(createLowerAffinePass());
  pm.addPass(createForallToParallelLoopPass());
  pm.addPass(createConvertVectorToSCFPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  pm.addPass(arith::createArithExpandOpsPass(expand));
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertMathToLLVMPass());
  // Takes vectors apart into vector.extract and vector.insert.
  pm.addPass(createConvertMathToLibmPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCheckLoweredPass());
  SetVectorWidthPassOptions width;
  width.vectorBits = getVectorUnit(options).bits;
  pm.addPass(createSetVectorWidthPass(width));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void mlir::na::buildCPUPipeline(OpPassManager &pm,
                                const CPUPipelineOptions &options) {
  buildCPULoopsPipeline(pm, options);
  if (options.parallel)
    pm.addPass(createParallelToRuntimePass());
  buildCPUToLLVMPipeline(pm, options);
}

void mlir::na::registerNAPipelines() {
  PassPipelineRegistration<CPUPipelineOptions>(
      "na-to-cpu",
      "Lower na operations and what is around them to the LLVM dialect for a "
      "CPU",
      buildCPUPipeline);
  PassPipelineRegistration<CPUPipelineOptions>(
      "na-to-cpu-loops", "The part of na-to-cpu that ends in loops and vectors",
      buildCPULoopsPipeline);
  PassPipelineRegistration<GPUPipelineOptions>(
      "na-to-nvvm",
      "Lower na operations and what is around them to kernels of an NVIDIA GPU "
      "and to the LLVM dialect for the host",
      buildGPUPipeline);
  PassPipelineRegistration<GPUPipelineOptions>(
      "na-to-nvvm-kernels",
      "The part of na-to-nvvm that ends in gpu.launch operations",
      buildGPUKernelsPipeline);
}
