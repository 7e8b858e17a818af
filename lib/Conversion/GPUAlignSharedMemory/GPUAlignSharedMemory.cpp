//===- GPUAlignSharedMemory.cpp - Where dynamic shared memory starts ------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Conversion/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::na {
#define GEN_PASS_DEF_GPUALIGNSHAREDMEMORYPASS
#include "na/Conversion/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;

/// Whether the size of the variable is that of the launch.
static bool isDynamicSharedMemory(LLVM::GlobalOp global) {
  auto type = dyn_cast<LLVM::LLVMArrayType>(global.getType());
  return type && type.getNumElements() == 0 &&
         global.getAddrSpace() == unsigned(NVVM::NVVMMemorySpace::Shared);
}

namespace {
struct GPUAlignSharedMemory
    : mlir::na::impl::GPUAlignSharedMemoryPassBase<GPUAlignSharedMemory> {
  using GPUAlignSharedMemoryPassBase::GPUAlignSharedMemoryPassBase;

  void runOnOperation() override {
    // ptxas takes no more.
    constexpr int64_t most = 1 << 16;
    if (alignment < 1 || alignment > most || !llvm::isPowerOf2_64(alignment)) {
      getOperation()->emitError("gpu-align-shared-memory: 'alignment' is ")
          << int64_t(alignment) << ", expected a power of two from 1 to "
          << most;
      return signalPassFailure();
    }
    for (auto global : getOperation().getOps<LLVM::GlobalOp>()) {
      if (!isDynamicSharedMemory(global))
        continue;
      global.setLinkage(LLVM::Linkage::External);
      if (global.getAlignment().value_or(1) < uint64_t(alignment))
        global.setAlignment(alignment);
    }
  }
};
} // namespace
