//===- GPUPipeline.cpp - The pipeline na-to-nvvm ----------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Pipelines/Pipelines.h"

#include "Bufferization.h"
#include "na/Conversion/Passes.h"
#include "na/Dialect/NA/Transforms/Passes.h"
#include "na/Dialect/NAGPU/Transforms/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::na;

/// Bytes of shared memory that a CTA can have (CUDA programming guide, compute
/// capabilities).
static int64_t getSharedMemoryLimit(StringRef chip) {
  if (chip.starts_with("sm_90"))
    return 227 * 1024;
  if (chip == "sm_80" || chip == "sm_87")
    return 163 * 1024;
  return 99 * 1024;
}

/// Tiles na operations on memrefs, and makes kernels of the tiles.
static void addTiledKernels(OpPassManager &pm,
                            const GPUPipelineOptions &options) {
  if (options.mode == LoweringMode::Fused)
    pm.addPass(createNATileAndFuse());
  // Products that stand alone in the program too.
  pm.addPass(createNATileUnfused());
  // At once: a canonical loop of one iteration is no loop.
  pm.addPass(nagpu::createNAGPUMapGrid());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  nagpu::NAGPUAssignLayoutsOptions layouts;
  layouts.tf32 = options.f32Math == F32Math::TF32;
  pm.addPass(nagpu::createNAGPUAssignLayouts(layouts));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  if (options.chip == "sm_90a") {
    pm.addPass(nagpu::createNAGPUDeferRowSums());
    pm.addPass(nagpu::createNAGPUSpecializeWarps());
    pm.addPass(createCanonicalizerPass());
    pm.addPass(createCSEPass());
    if (options.persistentGrid)
      pm.addPass(nagpu::createNAGPUPersistentGrid());
    pm.addPass(nagpu::createNAGPUOverlapProducts());
    pm.addPass(nagpu::createNAGPUNarrowWeights());
    pm.addPass(nagpu::createNAGPUDeferColumnSums());
    pm.addPass(nagpu::createNAGPUOverlapGradients());
    if (options.arriveByLanes)
      pm.addPass(nagpu::createNAGPUArriveByLanes());
    pm.addPass(createCanonicalizerPass());
    pm.addPass(createCSEPass());
  }
  pm.addPass(nagpu::createNAGPUNarrowIndex());
  pm.addPass(nagpu::createNAGPUSchedulePipeline());
  pm.addPass(nagpu::createNAGPUExpandPipeline());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  nagpu::NAGPUAssignSharedMemoryOptions shared;
  shared.limit = getSharedMemoryLimit(options.chip);
  pm.addPass(nagpu::createNAGPUAssignSharedMemory(shared));
  pm.addPass(createConvertNAGPUToNVVMPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void mlir::na::buildGPUKernelsPipeline(OpPassManager &pm,
                                       const GPUPipelineOptions &options) {
  CheckGPUPassOptions check;
  check.chip = options.chip;
  check.format = options.format;
  pm.addPass(createCheckGPUPass(check));
  // A buffer that crosses a call is freed by flags in memory, which the host
  // cannot read.
  pm.addPass(createInlinerPass());
  pm.addPass(createCanonicalizerPass());
  NADecomposeAttentionGradOptions gradients;
  gradients.unfused = options.mode != LoweringMode::Fused;
  gradients.together = options.gradientsTogether &&
                       options.mode == LoweringMode::Fused &&
                       options.chip == "sm_90a";
  if (options.mode == LoweringMode::Naive)
    gradients.weightsLimit = options.naiveWeightsLimit;
  pm.addPass(createNADecomposeAttentionGrad(gradients));
  if (options.mode != LoweringMode::Fused) {
    NADecomposeAttentionOptions decompose;
    if (options.mode == LoweringMode::Naive)
      decompose.weightsLimit = options.naiveWeightsLimit;
    // Tensor cores take the weights in the type of the values.
    decompose.narrowWeights = options.mode == LoweringMode::Unfused;
    pm.addPass(createNADecomposeAttention(decompose));
  }
  if (options.mode != LoweringMode::Naive) {
    pm.addPass(createNADecomposeProductGrad());
    NASelectScheduleOptions schedule;
    schedule.target = options.chip;
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
  // Kernels allocate nothing; what they are made of says less about memory
  // than na and linalg operations do.
  bufferization::buildBufferDeallocationPipeline(
      pm, bufferization::BufferDeallocationPipelineOptions());
  pm.addPass(createConvertBufferizationToMemRefPass());
  if (options.mode != LoweringMode::Naive)
    addTiledKernels(pm, options);
  // What has no tiled form, and everything in naive mode: a thread for each
  // iteration of the parallel loops.
  pm.addPass(createConvertNAToThreadLoopsPass());
  pm.addPass(createConvertNAToLoopsPass());
  pm.addPass(createGPUMapRowsPass());
  pm.addPass(createLinalgToThreadLoopsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createGPUMapParallelPass());
}

/// Lowers the kernels to the NVVM and LLVM dialects.
static void addKernelLowering(OpPassManager &pm,
                              const GPUPipelineOptions &options) {
  OpPassManager &kernels = pm.nest<gpu::GPUModuleOp>();
  kernels.addPass(math::createMathExtendToSupportedTypes());
  kernels.addPass(createExpandF64MathPass());
  kernels.addPass(createApproximateMathPass());
  kernels.addPass(createMathToNVVMApproxPass());
  kernels.addPass(createForallToParallelLoopPass());
  kernels.addPass(createConvertVectorToSCFPass());
  kernels.addPass(memref::createExpandStridedMetadataPass());
  kernels.addPass(createLowerAffinePass());
  kernels.addPass(arith::createArithExpandOpsPass());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  kernels.addPass(createSCFToControlFlowPass());
  kernels.addPass(createConvertMathToLLVMPass());
  ConvertGpuOpsToNVVMOpsOptions toNVVM;
  toNVVM.indexBitwidth = 64;
  kernels.addPass(createConvertGpuOpsToNVVMOps(toNVVM));
  // For tiles in panels of the TMA.
  if (options.chip == "sm_90a")
    kernels.addPass(createGPUAlignSharedMemoryPass());
  kernels.addPass(createReconcileUnrealizedCastsPass());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
}

/// Lowers the functions of the host to the LLVM dialect.
static void addHostLowering(OpPassManager &pm) {
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(arith::createArithExpandOpsPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertMathToLLVMPass());
  FinalizeMemRefToLLVMConversionPassOptions memref;
  // The run time allocates on the device.
  memref.useGenericFunctions = true;
  pm.addPass(createFinalizeMemRefToLLVMConversionPass(memref));
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCheckLoweredPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void mlir::na::buildGPUPipeline(OpPassManager &pm,
                                const GPUPipelineOptions &options) {
  buildGPUKernelsPipeline(pm, options);
  pm.addPass(createGPUNameKernelsPass());
  // Constants belong into the kernels.
  pm.addPass(createGpuLaunchSinkIndexComputationsPass());
  pm.addPass(createGpuKernelOutliningPass());
  pm.addPass(createNAGPUFinalizeKernelsPass());
  pm.addPass(createGPULaunchToRuntimePass());
  addKernelLowering(pm, options);
  GpuNVVMAttachTargetOptions target;
  target.chip = options.chip;
  target.features = "+ptx80";
  target.optLevel = 3;
  pm.addPass(createGpuNVVMAttachTarget(target));
  GpuModuleToBinaryPassOptions binary;
  binary.compilationTarget = options.format;
  pm.addPass(createGpuModuleToBinaryPass(binary));
  addHostLowering(pm);
}
