//===- NAGPUToNVVM.cpp - Lower nagpu to the operations of a thread --------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "na/Conversion/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"

namespace mlir::na {
#define GEN_PASS_DEF_CONVERTNAGPUTONVVMPASS
#include "na/Conversion/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;
using namespace mlir::nagpu;

namespace {

struct ConvertNAGPUToNVVM
    : na::impl::ConvertNAGPUToNVVMPassBase<ConvertNAGPUToNVVM> {
  void runOnOperation() override {
    WalkResult placed = getOperation()->walk([](Operation *op) {
      auto alloc = dyn_cast<AllocOp>(op);
      auto barrier = dyn_cast<MBarrierInitOp>(op);
      auto box = dyn_cast<MailboxAllocOp>(op);
      if (!(alloc && !alloc.getOffset()) &&
          !(barrier && !barrier.getOffset()) && !(box && !box.getOffset()))
        return WalkResult::advance();
      op->emitOpError("has no offset in shared memory; "
                      "nagpu-assign-shared-memory sets it");
      return WalkResult::interrupt();
    });
    if (placed.wasInterrupted())
      return signalPassFailure();

    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion(
        [](FragmentType type, SmallVectorImpl<Type> &results) {
          results.append(type.getNumRegisters(), type.getRegisterType());
          return success();
        });
    converter.addConversion([](SharedType type) {
      return IntegerType::get(type.getContext(), 32);
    });
    converter.addConversion([](BarrierType type) {
      return IntegerType::get(type.getContext(), 32);
    });
    converter.addConversion([](MailboxType type) {
      return IntegerType::get(type.getContext(), 32);
    });
    converter.addConversion([](TensorMapType type) {
      return LLVM::LLVMPointerType::get(type.getContext());
    });
    lowerTensorMapParameters(getOperation());
    castCapturedTensorMaps(getOperation());
    // The order of copies and waits is that of the operations.
    converter.addConversion(
        [](TokenType, SmallVectorImpl<Type> &) { return success(); });

    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalDialect<NAGPUDialect>();
    // Becomes branches when its body, which must see it, is converted.
    target.addLegalOp<RolesOp>();
    // Of the host; see nagpu-finalize-kernels.
    target.addLegalOp<TensorMapOp, MultiprocessorsOp>();
    // Bodies of maps are cloned element by element, as they are.
    target.addDynamicallyLegalOp<IndexOp, YieldOp>([](Operation *op) {
      return isa_and_nonnull<MapOp>(op->getParentOp());
    });

    RewritePatternSet patterns(&getContext());
    populateSharedMemoryPatterns(converter, patterns);
    populateProductPatterns(converter, patterns);
    populateFragmentPatterns(converter, patterns);
    populateMaskPatterns(converter, patterns);
    populateStorePatterns(converter, patterns);
    populateSlotPatterns(converter, patterns);
    populateWgmmaPatterns(converter, patterns);
    populateTensorMemoryPatterns(converter, patterns);
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                         target);
    populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns,
                                                                   converter);
    populateReturnOpTypeConversionPattern(patterns, converter);
    target.addDynamicallyLegalOp<func::FuncOp>([&](func::FuncOp op) {
      return converter.isSignatureLegal(op.getFunctionType());
    });
    target.addDynamicallyLegalOp<func::ReturnOp>(
        [&](func::ReturnOp op) { return converter.isLegal(op); });
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      return signalPassFailure();
    lowerRoles(getOperation());
    SmallVector<UnrealizedConversionCastOp> casts;
    getOperation()->walk(
        [&](UnrealizedConversionCastOp op) { casts.push_back(op); });
    reconcileUnrealizedCasts(casts);
  }
};

} // namespace
