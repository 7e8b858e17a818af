//===- SchedulePipeline.cpp - Decide how far ahead loops load -------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NAGPU/IR/NAGPU.h"
#include "na/Dialect/NAGPU/Transforms/Passes.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::nagpu {
#define GEN_PASS_DEF_NAGPUSCHEDULEPIPELINE
#include "na/Dialect/NAGPU/Transforms/Passes.h.inc"
} // namespace mlir::nagpu

using namespace mlir;
using namespace mlir::nagpu;

/// Whether what the copy needs can be computed in another iteration: from the
/// induction variable and from outside, without effects.
static bool isMovable(AsyncCopyOp copy, scf::ForOp loop) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.filter = [&](Operation *op) { return loop->isProperAncestor(op); };
  options.inclusive = true;
  if (failed(getBackwardSlice(copy.getOperation(), &slice, options)))
    return false;
  for (Operation *op : slice) {
    if (op != copy && !isMemoryEffectFree(op))
      return false;
    for (Value operand : op->getOperands())
      if (llvm::is_contained(loop.getRegionIterArgs(), operand))
        return false;
  }
  return true;
}

namespace {
struct SchedulePipeline
    : nagpu::impl::NAGPUSchedulePipelineBase<SchedulePipeline> {
  using NAGPUSchedulePipelineBase::NAGPUSchedulePipelineBase;

  void runOnOperation() override {
    if (stages < 0 || stages > 8) {
      getOperation()->emitError("nagpu-schedule-pipeline: 'stages' is ")
          << stages << ", expected 0 to 8";
      return signalPassFailure();
    }
    getOperation()->walk([&](gpu::LaunchOp launch) {
      int64_t depth = stages;
      if (auto schedule =
              launch->getAttrOfType<mlir::na::ScheduleAttr>("na.schedule");
          schedule && depth == 0)
        depth = schedule.getStages();
      if (depth == 0)
        depth = 2;
      launch.walk([&](scf::ForOp loop) {
        auto copies = loop.getBody()->getOps<AsyncCopyOp>();
        if (!copies.empty() && llvm::all_of(copies, [&](AsyncCopyOp copy) {
              return isMovable(copy, loop);
            }))
          loop->setAttr("nagpu.stages",
                        Builder(&getContext()).getI64IntegerAttr(depth));
      });
    });
  }
};
} // namespace
