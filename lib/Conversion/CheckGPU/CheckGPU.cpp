//===- CheckGPU.cpp - Refuse what the GPU pipeline cannot compile ---------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Conversion/Passes.h"
#include "na/Dialect/NA/IR/NA.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::na {
#define GEN_PASS_DEF_CHECKGPUPASS
#include "na/Conversion/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;

static constexpr StringLiteral chips[] = {"sm_80", "sm_86", "sm_87",
                                          "sm_89", "sm_90", "sm_90a"};

namespace {
struct CheckGPU : mlir::na::impl::CheckGPUPassBase<CheckGPU> {
  using CheckGPUPassBase::CheckGPUPassBase;

  LogicalResult initialize(MLIRContext *context) override {
    if (!llvm::is_contained(chips, chip))
      return emitError(UnknownLoc::get(context))
             << "na-check-gpu: unknown chip '" << chip << "', expected one of "
             << llvm::join(ArrayRef(chips), ", ");
    if (!llvm::is_contained({"isa", "bin", "fatbin"}, StringRef(format)))
      return emitError(UnknownLoc::get(context))
             << "na-check-gpu: unknown format '" << format
             << "', expected isa, bin or fatbin";
    return success();
  }

  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](Operation *op) {
      if (!isa_and_nonnull<mlir::na::NADialect>(op->getDialect()))
        return WalkResult::advance();
      auto schedule = op->getAttrOfType<mlir::na::ScheduleAttr>("schedule");
      if (schedule && schedule.isForGPU() && chip != "sm_90a" &&
          !schedule.getWarpgroupTile().empty()) {
        op->emitOpError("schedule has a 'warpgroup_tile'; kernels of "
                        "warpgroups are for sm_90a, not for ")
            << chip;
        return WalkResult::interrupt();
      }
      for (Type type : op->getOperandTypes()) {
        if (!getElementTypeOrSelf(type).isF64())
          continue;
        op->emitOpError("is on ") << type << "; the GPU pipeline takes element "
                                  << "types f32, f16 and bf16, not f64";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
