//===- InitDialects.cpp - Registers the dialects -------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/InitAll.h"

#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NA/Interfaces/BufferizableOpInterfaceImpl.h"
#include "na/Dialect/NA/Interfaces/TilingInterfaceImpl.h"
#include "na/Dialect/NAGPU/IR/NAGPU.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

using namespace mlir;

void mlir::na::registerAllDialects(DialectRegistry &registry) {
  registry.insert<NADialect, nagpu::NAGPUDialect>();
  registerBufferizableOpInterfaceExternalModels(registry);
  registerTilingInterfaceExternalModels(registry);
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  // gpu-module-to-binary translates to LLVM IR.
  registerAllGPUToLLVMIRTranslations(registry);
}
