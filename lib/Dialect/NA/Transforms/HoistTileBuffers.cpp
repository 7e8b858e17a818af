//===- HoistTileBuffers.cpp - Allocate tiles once per parallel iteration --===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
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

static bool isBuffer(Value value) {
  return isa<BaseMemRefType>(value.getType());
}

/// Whether `buffer` is a temporary of its block: neither it nor a view of it
/// leaves the block, is freed, or goes where that cannot be seen.
static bool isTemporary(Value buffer) {
  return llvm::all_of(buffer.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (user->hasTrait<OpTrait::IsTerminator>() ||
        isa<memref::DeallocOp, bufferization::DeallocOp>(user))
      return false;
    if (auto store = dyn_cast<memref::StoreOp>(user))
      return store.getValueToStore() != buffer;
    if (isa<ViewLikeOpInterface>(user))
      return llvm::all_of(user->getResults(), [](Value view) {
        return !isBuffer(view) || isTemporary(view);
      });
    return llvm::none_of(user->getResults(), isBuffer);
  });
}

/// The parallel loop to whose body's start `alloc` can move, if any.
static Operation *findDestination(memref::AllocOp alloc) {
  if (alloc->getNumOperands() != 0 || !isTemporary(alloc))
    return nullptr;
  Operation *parent = alloc->getParentOp();
  while (isa<scf::ForOp, scf::IfOp>(parent) && !carriesBuffers(parent))
    parent = parent->getParentOp();
  return isa<scf::ForallOp, scf::ParallelOp>(parent) ? parent : nullptr;
}

namespace {
struct HoistTileBuffers
    : mlir::na::impl::NAHoistTileBuffersBase<HoistTileBuffers> {
  void runOnOperation() override {
    SmallVector<std::pair<memref::AllocOp, Operation *>> moves;
    getOperation()->walk([&](memref::AllocOp alloc) {
      if (Operation *parallel = findDestination(alloc))
        moves.emplace_back(alloc, parallel);
    });
    // In reverse, so that the order of the allocations stays.
    for (auto [alloc, parallel] : llvm::reverse(moves)) {
      Block &body = parallel->getRegion(0).front();
      alloc->moveBefore(&body, body.begin());
    }
  }
};
} // namespace
