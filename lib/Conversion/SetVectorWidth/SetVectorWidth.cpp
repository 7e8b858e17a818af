//===- SetVectorWidth.cpp - Tell LLVM which vectors to use ---*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::na {
#define GEN_PASS_DEF_SETVECTORWIDTHPASS
#include "na/Conversion/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;

namespace {
struct SetVectorWidth : mlir::na::impl::SetVectorWidthPassBase<SetVectorWidth> {
  using SetVectorWidthPassBase::SetVectorWidthPassBase;

  void runOnOperation() override {
    if (vectorBits < 64 || vectorBits > 4096) {
      getOperation()->emitError("llvm-set-vector-width: vector-bits = ")
          << int64_t(vectorBits) << ", expected 64 to 4096";
      return signalPassFailure();
    }
    getOperation()->walk([&](LLVM::LLVMFuncOp function) {
      if (!function.isExternal() && !function.getPreferVectorWidth())
        function.setPreferVectorWidth(std::to_string(vectorBits));
    });
  }
};
} // namespace
