//===- HoistTileBuffers.cpp - Allocate tiles once per parallel iteration ---*-
//C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/Transforms/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::na {
#define GEN_PASS_DEF_NAHOISTTILEBUFFERS
#include "na/Dialect/NA/Transforms/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;

/// A loop that carries memrefs may hold on to the buffer of an earlier
/// iteration, so a buffer made inside it must stay inside.
static bool carriesBuffers(Operation *op) {
  auto loop = dyn_cast<LoopLikeOpInterface>(op);
  return loop && llvm::any_of(loop.getRegionIterArgs(), [](Value value) {
           return isa<BaseMemRefType>(value.getType());
         });
}

/// Whether `alloc` can move to the start of the body of `parallel`.
static bool canHoist(memref::AllocOp alloc, Operation *parallel) {
  if (alloc->getNumOperands() != 0)
    return false;
  for (Operation *parent = alloc->getParentOp(); parent != parallel;
       parent = parent->getParentOp())
    if (!isa<scf::ForOp, scf::IfOp>(parent) || carriesBuffers(parent))
      return false;
  // A buffer that leaves its block is not a temporary, and one that is freed
  // already has its place.
  return llvm::none_of(alloc->getUsers(), [](Operation *user) {
    return user->hasTrait<OpTrait::IsTerminator>() ||
           isa<memref::DeallocOp>(user);
  });
}

namespace {
struct HoistTileBuffers
    : mlir::na::impl::NAHoistTileBuffersBase<HoistTileBuffers> {
  void runOnOperation() override {
    getOperation()->walk<WalkOrder::PreOrder>([](Operation *op) {
      if (!isa<scf::ForallOp, scf::ParallelOp>(op))
        return WalkResult::advance();
      Block &body = op->getRegion(0).front();
      SmallVector<memref::AllocOp> allocs;
      op->walk([&](memref::AllocOp alloc) {
        if (canHoist(alloc, op))
          allocs.push_back(alloc);
      });
      for (memref::AllocOp alloc : llvm::reverse(allocs))
        alloc->moveBefore(&body, body.begin());
      return WalkResult::skip();
    });
  }
};
} // namespace
