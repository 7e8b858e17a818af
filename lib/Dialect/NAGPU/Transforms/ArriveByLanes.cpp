//===- ArriveByLanes.cpp - All lanes of consumers arrive at barriers ------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NAGPU/IR/NAGPU.h"
#include "na/Dialect/NAGPU/Transforms/Passes.h"

namespace mlir::nagpu {
#define GEN_PASS_DEF_NAGPUARRIVEBYLANES
#include "na/Dialect/NAGPU/Transforms/Passes.h.inc"
} // namespace mlir::nagpu

using namespace mlir;
using namespace mlir::nagpu;

constexpr int64_t warpSize = 32;

/// The arrivals at a barrier; none if others than warps of consumers arrive.
static SmallVector<MBarrierArriveOp> getConsumerArrivals(MBarrierInitOp init) {
  SmallVector<MBarrierArriveOp> arrivals;
  for (Operation *user : init->getUsers()) {
    if (isa<MBarrierWaitOp>(user))
      continue;
    auto arrive = dyn_cast<MBarrierArriveOp>(user);
    if (!arrive || RolesOp::isInProducer(arrive) || arrive.getLanes())
      return {};
    arrivals.push_back(arrive);
  }
  return arrivals;
}

namespace {
struct ArriveByLanes : nagpu::impl::NAGPUArriveByLanesBase<ArriveByLanes> {
  void runOnOperation() override {
    getOperation()->walk([](MBarrierInitOp init) {
      SmallVector<MBarrierArriveOp> arrivals = getConsumerArrivals(init);
      if (arrivals.empty())
        return;
      init.setArrivals(init.getArrivals() * warpSize);
      for (MBarrierArriveOp arrive : arrivals)
        arrive.setLanes(true);
    });
  }
};
} // namespace
