//===- SchedulePipeline.cpp - Decide how far ahead loops load -------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopySlice.h"

#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NAGPU/Transforms/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::nagpu {
#define GEN_PASS_DEF_NAGPUSCHEDULEPIPELINE
#include "na/Dialect/NAGPU/Transforms/Passes.h.inc"
} // namespace mlir::nagpu

using namespace mlir;
using namespace mlir::nagpu;

/// Tiles in flight where neither the option nor the schedule says: one that is
/// read, one that is loaded.
static constexpr int64_t defaultStages = 2;

LogicalResult mlir::nagpu::collectCopySlice(AsyncCopyOp copy, scf::ForOp loop,
                                            SetVector<Operation *> &slice) {
  SmallVector<Operation *> worklist = {copy};
  while (!worklist.empty()) {
    Operation *user = worklist.pop_back_val();
    WalkResult result = user->walk([&](Operation *op) {
      for (Value operand : op->getOperands()) {
        if (operand.getParentBlock() != loop.getBody())
          continue;
        Operation *producer = operand.getDefiningOp();
        if (!producer) {
          if (operand != loop.getInductionVar())
            return WalkResult::interrupt();
          continue;
        }
        if (!isMemoryEffectFree(producer))
          return WalkResult::interrupt();
        if (slice.insert(producer))
          worklist.push_back(producer);
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}

namespace {
struct SchedulePipeline
    : nagpu::impl::NAGPUSchedulePipelineBase<SchedulePipeline> {
  using NAGPUSchedulePipelineBase::NAGPUSchedulePipelineBase;

  void runOnOperation() override {
    if (stages < 0 || stages > maxStages) {
      getOperation()->emitError("nagpu-schedule-pipeline: 'stages' is ")
          << int64_t(stages) << ", expected 0 to " << maxStages;
      return signalPassFailure();
    }
    getOperation()->walk([&](gpu::LaunchOp launch) {
      int64_t depth = stages;
      if (auto schedule =
              launch->getAttrOfType<mlir::na::ScheduleAttr>("na.schedule");
          schedule && depth == 0)
        depth = schedule.getStages();
      if (depth == 0)
        depth = defaultStages;
      launch.walk([&](scf::ForOp loop) {
        // Roles have pipelines of their own.
        if (RolesOp::getEnclosing(loop))
          return;
        auto copies = loop.getBody()->getOps<AsyncCopyOp>();
        if (!copies.empty() && llvm::all_of(copies, [&](AsyncCopyOp copy) {
              SetVector<Operation *> slice;
              return succeeded(collectCopySlice(copy, loop, slice));
            }))
          loop->setAttr("nagpu.stages",
                        Builder(&getContext()).getI64IntegerAttr(depth));
      });
    });
  }
};
} // namespace
