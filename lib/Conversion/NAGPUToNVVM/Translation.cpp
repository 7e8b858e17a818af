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

/// The 128 bytes of a descriptor, on a multiple of 64.
static constexpr uint64_t descriptorWords = 16;
static constexpr uint64_t descriptorAlignment = 64;

/// Makes arguments parameters that hold a descriptor, which no thread copies.
static void passByValue(llvm::Function &kernel, ArrayRef<int64_t> arguments) {
  llvm::LLVMContext &context = kernel.getContext();
  llvm::Type *bytes =
      llvm::ArrayType::get(llvm::Type::getInt64Ty(context), descriptorWords);
  for (int64_t argument : arguments) {
    llvm::AttrBuilder attributes(context);
    attributes.addByValAttr(bytes);
    attributes.addAlignmentAttr(descriptorAlignment);
    attributes.addAttribute("nvvm.grid_constant");
    kernel.addParamAttrs(argument, attributes);
  }
}

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
    if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
        function && attribute.getName() == tensorMapsAttrName) {
      auto maps = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
      if (!maps)
        return op->emitError("'")
               << tensorMapsAttrName << "' is " << attribute.getValue()
               << ", expected the numbers of arguments";
      passByValue(*moduleTranslation.lookupFunction(function.getName()),
                  maps.asArrayRef());
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
