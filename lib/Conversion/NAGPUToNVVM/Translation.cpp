//===- Translation.cpp - nagpu attributes in LLVM IR ------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Conversion/NAGPUTranslation.h"

#include "Lowering.h"

#include "mlir/Target/LLVMIR/LLVMTranslationInterface.h"
#include "mlir/Target/LLVMIR/ModuleTranslation.h"

#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"

using namespace mlir;
using namespace mlir::nagpu;

namespace {
struct Translation : LLVMTranslationDialectInterface {
  using LLVMTranslationDialectInterface::LLVMTranslationDialectInterface;

  LogicalResult
  amendOperation(Operation *op, ArrayRef<llvm::Instruction *> instructions,
                 NamedAttribute attribute,
                 LLVM::ModuleTranslation &moduleTranslation) const override {
    if (attribute.getName() == convergentAttrName)
      for (llvm::Instruction *instruction : instructions)
        if (auto *call = llvm::dyn_cast<llvm::CallBase>(instruction))
          call->setConvergent();
    return success();
  }

  LogicalResult convertParameterAttr(
      LLVM::LLVMFuncOp function, int argument, NamedAttribute attribute,
      LLVM::ModuleTranslation &moduleTranslation) const override {
    if (attribute.getName() == gridConstantAttrName) {
      llvm::Function *kernel =
          moduleTranslation.lookupFunction(function.getName());
      kernel->addParamAttr(
          argument,
          llvm::Attribute::get(kernel->getContext(), "nvvm.grid_constant"));
    }
    return success();
  }
};
} // namespace

void nagpu::registerTranslation(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, NAGPUDialect *dialect) {
    dialect->addInterfaces<Translation>();
  });
}
