//===- InitPipelines.cpp - Registers the project's passes and pipelines --===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/InitAll.h"

#include "na/Conversion/Passes.h"
#include "na/Dialect/NA/Transforms/Passes.h"
#include "na/Dialect/NAGPU/Transforms/Passes.h"
#include "na/Pipelines/Pipelines.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

void mlir::na::registerNAPasses() {
  registerNAConversionPasses();
  registerNATransformsPasses();
  nagpu::registerNAGPUPasses();
}

// Apart from registerAllPasses(), whose object files would bring every back end
// of LLVM into a statically linked tool.
void mlir::na::registerPipelinePasses() {
  registerNAPasses();
  registerNAPipelines();
  registerTransformsPasses();
  // What the measurement of the host's matmul rate is made with.
  registerSCFToControlFlowPass();
  registerConvertVectorToLLVMPass();
  registerFinalizeMemRefToLLVMConversionPass();
  registerArithToLLVMConversionPass();
  registerConvertIndexToLLVMPass();
  registerConvertFuncToLLVMPass();
  registerConvertControlFlowToLLVMPass();
  registerReconcileUnrealizedCastsPass();
  bufferization::registerBufferizationPasses();
}
