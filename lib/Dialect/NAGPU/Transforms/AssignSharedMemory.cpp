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
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <tuple>

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
/// Where a tile, a ring of barriers or a mailbox lies, and between which
/// operations of the launch it is used.
struct Allocation {
  Operation *op;
  /// Position among the allocations of the kernel.
  size_t number;
  int64_t bytes, alignment;
  Operation *first = nullptr, *last = nullptr;
  int64_t begin = 0, end = 0;
};
} // namespace

/// The number of bytes that `op` allocates and their alignment; no bytes if it
/// allocates none.
static std::pair<int64_t, int64_t> getMemory(Operation *op) {
  if (auto alloc = dyn_cast<AllocOp>(op)) {
    SharedType type = alloc.getResult().getType();
    return {type.getBytes(), type.getAlignment()};
  }
  if (auto barrier = dyn_cast<MBarrierInitOp>(op))
    return {barrier.getResult().getType().getBytes(), BarrierType::slotBytes};
  if (auto box = dyn_cast<MailboxAllocOp>(op))
    return {box.getResult().getType().getBytes(), MailboxType::alignment};
  return {0, 0};
}

static void setOffset(Operation *op, int64_t offset) {
  auto attribute = Builder(op).getI64IntegerAttr(offset);
  llvm::TypeSwitch<Operation *>(op)
      .Case<AllocOp, MBarrierInitOp, MailboxAllocOp>(
          [&](auto allocation) { allocation.setOffsetAttr(attribute); });
}

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
  SmallVector<Operation *> ops;
  bool hasRoles = false;
  launch.walk([&](Operation *op) {
    hasRoles |= isa<RolesOp>(op);
    if (getMemory(op).first > 0)
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (op->use_empty()) {
      op->erase();
      continue;
    }
    auto [bytes, alignment] = getMemory(op);
    Allocation allocation{op, allocations.size(), bytes, alignment};
    if (hasRoles || !isa<AllocOp>(op)) {
      // Roles do not meet in a barrier behind which a place were free, and what
      // barriers and mailboxes hold outlives the operations that use them.
      allocation.first = &body->front();
      allocation.last = body->getTerminator();
    } else {
      collectUses(op->getResult(0), body, allocation);
    }
    allocations.push_back(allocation);
  }
  llvm::sort(allocations, [](const Allocation &a, const Allocation &b) {
    if (a.first != b.first)
      return a.first->isBeforeInBlock(b.first);
    // The coarsest alignment first, so that nothing is lost between them.
    return std::tuple(-a.alignment, a.number) <
           std::tuple(-b.alignment, b.number);
  });
  int64_t total = 0;
  for (size_t i = 0; i < allocations.size(); ++i) {
    Allocation &current = allocations[i];
    int64_t bytes = current.bytes;
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
          current.begin = llvm::alignTo(other.end, current.alignment);
          moved = true;
        }
    }
    current.end = current.begin + bytes;
    total = std::max(total, current.end);
    setOffset(current.op, current.begin);
    if (llvm::any_of(placed, [&](const Allocation &other) {
          return !isLive(other) && overlaps(other);
        })) {
      OpBuilder builder(current.first);
      BarrierOp::create(builder, current.first->getLoc());
    }
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
      bool uses = launch
                      .walk([](Operation *op) {
                        return getMemory(op).first > 0 ? WalkResult::interrupt()
                                                       : WalkResult::advance();
                      })
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
        launch.emitError("nagpu-assign-shared-memory: the kernel takes ")
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
