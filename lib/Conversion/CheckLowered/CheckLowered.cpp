//===- CheckLowered.cpp - Refuse what is not in the LLVM dialect ----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Conversion/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::na {
#define GEN_PASS_DEF_CHECKLOWEREDPASS
#include "na/Conversion/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;

namespace {
struct CheckLowered : mlir::na::impl::CheckLoweredPassBase<CheckLowered> {
  void runOnOperation() override {
    // Casts are left because of the operations that use them.
    Operation *cast = nullptr;
    WalkResult result = getOperation()->walk([&](Operation *op) {
      if (isa<ModuleOp, gpu::BinaryOp>(op) ||
          isa<LLVM::LLVMDialect>(op->getDialect()))
        return WalkResult::advance();
      if (isa<UnrealizedConversionCastOp>(op)) {
        if (!cast)
          cast = op;
        return WalkResult::advance();
      }
      op->emitOpError("has no lowering to the LLVM dialect");
      return WalkResult::interrupt();
    });
    if (!result.wasInterrupted() && cast)
      cast->emitOpError("is left over between operations of the LLVM dialect");
    if (result.wasInterrupted() || cast)
      signalPassFailure();
  }
};
} // namespace
