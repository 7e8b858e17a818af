//===- AssignSharedMemory.cpp - Swizzle and place of shared tiles ---------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NAGPU/IR/NAGPU.h"
#include "na/Dialect/NAGPU/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

namespace mlir::nagpu {
#define GEN_PASS_DEF_NAGPUASSIGNSHAREDMEMORY
#include "na/Dialect/NAGPU/Transforms/Passes.h.inc"
} // namespace mlir::nagpu

using namespace mlir;
using namespace mlir::nagpu;

static constexpr int64_t chunkBytes = 16;

static SharedType getSwizzled(SharedType type) {
  int64_t chunks = type.getColumns() *
                   (type.getElementType().getIntOrFloatBitWidth() / 8) /
                   chunkBytes;
  bool canXor = chunks >= 2 && llvm::isPowerOf2_64(chunks);
  return type.withSwizzle(canXor ? Swizzle::Xor : Swizzle::Padded);
}

static void assignSwizzle(gpu::LaunchOp launch) {
  auto update = [](Value value) {
    if (auto type = dyn_cast<SharedType>(value.getType());
        type && type.getSwizzle() == Swizzle::Linear)
      value.setType(getSwizzled(type));
  };
  launch.walk([&](Block *block) {
    llvm::for_each(block->getArguments(), update);
    for (Operation &op : *block)
      llvm::for_each(op.getResults(), update);
  });
}

namespace {
/// Where a tile lies, and between which operations of the launch it is used.
struct Allocation {
  AllocOp op;
  /// Position among the allocations of the kernel.
  size_t number;
  Operation *first = nullptr, *last = nullptr;
  int64_t begin = 0, end = 0;
};
} // namespace

/// Notes the uses of `value` and of what names the same memory.
static void collectUses(Value value, Block *body, Allocation &allocation) {
  auto note = [&](Operation *op) {
    if (!allocation.first || op->isBeforeInBlock(allocation.first))
      allocation.first = op;
    if (!allocation.last || allocation.last->isBeforeInBlock(op))
      allocation.last = op;
  };
  for (Operation *user : value.getUsers()) {
    note(body->findAncestorOpInBlock(*user));
    bool known = isa<NAGPUDialect>(user->getDialect()) ||
                 isa<SelectLikeOpInterface>(user);
    // Where it goes from there is not followed: it may live to the end.
    if (!known)
      note(body->getTerminator());
    for (OpResult result : user->getResults())
      if (isa<SharedType>(result.getType()))
        collectUses(result, body, allocation);
  }
}

static int64_t assignOffsets(gpu::LaunchOp launch) {
  Block *body = &launch.getBody().front();
  SmallVector<Allocation> allocations;
  SmallVector<AllocOp> allocs;
  launch.walk([&](AllocOp op) { allocs.push_back(op); });
  for (AllocOp op : allocs) {
    Allocation allocation;
    allocation.op = op;
    allocation.number = allocations.size();
    collectUses(op.getResult(), body, allocation);
    if (!allocation.first)
      op.erase();
    else
      allocations.push_back(allocation);
  }
  llvm::sort(allocations, [](const Allocation &a, const Allocation &b) {
    return a.first == b.first ? a.number < b.number
                              : a.first->isBeforeInBlock(b.first);
  });
  int64_t total = 0;
  for (size_t i = 0; i < allocations.size(); ++i) {
    Allocation &current = allocations[i];
    int64_t bytes = cast<SharedType>(current.op.getType()).getBytes();
    auto overlaps = [&](const Allocation &other) {
      return current.begin < other.end && other.begin < current.begin + bytes;
    };
    auto isLive = [&](const Allocation &other) {
      return other.last == current.first ||
             current.first->isBeforeInBlock(other.last);
    };
    // The lowest place that no live tile covers.
    ArrayRef<Allocation> placed = ArrayRef(allocations).take_front(i);
    bool moved = true;
    while (moved) {
      moved = false;
      for (const Allocation &other : placed)
        if (isLive(other) && overlaps(other)) {
          current.begin = other.end;
          moved = true;
        }
    }
    current.end = current.begin + bytes;
    total = std::max(total, current.end);
    OpBuilder builder(current.first);
    current.op.setOffsetAttr(builder.getI64IntegerAttr(current.begin));
    if (llvm::any_of(placed, [&](const Allocation &other) {
          return !isLive(other) && overlaps(other);
        }))
      BarrierOp::create(builder, current.first->getLoc());
  }
  return total;
}

namespace {
struct AssignSharedMemory
    : nagpu::impl::NAGPUAssignSharedMemoryBase<AssignSharedMemory> {
  using NAGPUAssignSharedMemoryBase::NAGPUAssignSharedMemoryBase;

  void runOnOperation() override {
    if (limit < 0) {
      getOperation()->emitError("nagpu-assign-shared-memory: 'limit' is ")
          << int64_t(limit) << ", expected at least 0";
      return signalPassFailure();
    }
    // The launch takes an i32.
    int64_t most =
        limit > 0 ? int64_t(limit) : std::numeric_limits<int32_t>::max();
    WalkResult result = getOperation()->walk([&](gpu::LaunchOp launch) {
      bool uses = launch.walk([](AllocOp) { return WalkResult::interrupt(); })
                      .wasInterrupted();
      if (!uses)
        return WalkResult::advance();
      if (!launch.getBody().hasOneBlock()) {
        launch.emitError("nagpu-assign-shared-memory: body has several blocks");
        return WalkResult::interrupt();
      }
      assignSwizzle(launch);
      int64_t bytes = assignOffsets(launch);
      if (bytes > most) {
        launch.emitError("nagpu-assign-shared-memory: the tiles take ")
            << bytes << " bytes of shared memory, but a CTA can have " << most;
        return WalkResult::interrupt();
      }
      ImplicitLocOpBuilder b(launch.getLoc(), launch);
      launch.getDynamicSharedMemorySizeMutable().assign(
          arith::ConstantOp::create(b, b.getI32IntegerAttr(bytes)).getResult());
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
