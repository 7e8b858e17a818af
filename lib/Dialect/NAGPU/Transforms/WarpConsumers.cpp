//===- WarpConsumers.cpp - Warpgroups that read the rings -----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpSpecializer.h"

using namespace mlir;
using namespace mlir::nagpu;

/// The last wait for products behind the reads of a vector, where all threads
/// of a warp have read it.
static Operation *findLastReaderOfVector(Value tile) {
  Operation *last = nullptr;
  for (Operation *user : tile.getUsers())
    for (Operation *op = user; op; op = op->getNextNode())
      if (isa<WgmmaWaitOp>(op) &&
          (!last || last->getBlock() != op->getBlock() ||
           last->isBeforeInBlock(op)))
        last = op;
  return last;
}

/// The wait that gives back the last product that reads the tile.
static Operation *findLastReader(Value tile) {
  Operation *last = nullptr;
  for (Operation *user : tile.getUsers()) {
    auto product = dyn_cast<WgmmaOp>(user);
    if (!product)
      return nullptr;
    Value result = product.getResult();
    WgmmaWaitOp wait;
    while (result.hasOneUse() && !wait) {
      Operation *next = *result.user_begin();
      wait = dyn_cast<WgmmaWaitOp>(next);
      if (auto more = dyn_cast<WgmmaOp>(next))
        result = more.getResult();
      else
        break;
    }
    if (!wait || (last && wait->getBlock() != last->getBlock()))
      return nullptr;
    if (!last || last->isBeforeInBlock(wait))
      last = wait;
  }
  return last;
}

LogicalResult WarpSpecializer::receive(Load &load, Slot slot, bool waited) {
  b.setInsertionPoint(load.wait);
  b.setLoc(load.wait.getLoc());
  Value phase = slot.parity;
  if (!phase)
    phase = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  if (!waited)
    MBarrierWaitOp::create(b, load.full, slot.index, phase);
  Value tile = SlotOp::create(b, load.getType(), load.ring, slot.index);
  rewriter.replaceAllUsesWith(load.wait.getResult(0), tile);
  if (load.free) {
    Operation *last =
        load.isVector() ? findLastReaderOfVector(tile) : findLastReader(tile);
    if (!last || last->getBlock() != load.wait->getBlock())
      return load.source.copy.emitError(
          "nagpu-specialize-warps: expected only "
          "nagpu.wgmma to read the tile, and a wait for "
          "each beside it");
    b.setInsertionPointAfter(last);
    MBarrierArriveOp::create(b, load.free, slot.index);
  }
  Operation *alloc = load.getTile().getDefiningOp();
  Operation *copy = load.source.copy;
  if (load.choice)
    copy = load.choice;
  for (Operation *op :
       {load.wait.getOperation(), load.commit.getOperation(), copy, alloc})
    rewriter.eraseOp(op);
  return success();
}

/// Where a tile is not needed, its slots are freed unread. The keys have been
/// waited for, which is what says that the slot was freed before.
void WarpSpecializer::skip(scf::IfOp branch, Slot slot) {
  b.setInsertionPointToStart(branch.elseBlock());
  for (auto [i, load] : llvm::enumerate(loopLoads)) {
    if (i > 0)
      MBarrierWaitOp::create(b, load.full, slot.index, slot.parity);
    MBarrierArriveOp::create(b, load.free, slot.index);
  }
}

/// The ancestor of `op` (or itself) that branches and loops see.
static Operation *findStatement(Operation *op) {
  while (!isa<scf::IfOp, scf::ForOp, RolesOp>(op->getParentOp()))
    op = op->getParentOp();
  return op;
}

/// Reads conditions at the start of the iteration, where they steer it, and
/// positions in each block that uses them.
void WarpSpecializer::receiveMessages(Slot slot) {
  if (!mailbox)
    return;
  int64_t words = cast<MailboxType>(mailbox.getType()).getWords();
  Value reader = roles.getConsumers().getArgument(0);
  SmallVector<Type> types(words, b.getI32Type());
  Value at = getMailboxSlot(slot);
  auto isConsumer = [&](OpOperand &use) {
    Operation *user = use.getOwner();
    return roles.getConsumers().isAncestor(user->getParentRegion()) &&
           !(user->getBlock() == loop.getBody() && isBookkeeping(user));
  };
  if (!conditions.empty()) {
    Value flags =
        MailboxGetOp::create(b, types, mailbox, at, reader).getResult(0);
    Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
    for (auto [bit, condition] : llvm::enumerate(conditions)) {
      Value mask =
          arith::ConstantOp::create(b, b.getI32IntegerAttr(int64_t(1) << bit));
      Value set = arith::CmpIOp::create(
          b, arith::CmpIPredicate::ne,
          arith::AndIOp::create(b, flags, mask).getResult(), zero);
      rewriter.replaceUsesWithIf(condition, set, isConsumer);
    }
  }
  DenseMap<Block *, MailboxGetOp> gets;
  for (auto [number, position] : llvm::enumerate(positions)) {
    for (OpOperand &use : llvm::make_early_inc_range(position.getUses())) {
      if (!isConsumer(use))
        continue;
      Operation *statement = findStatement(use.getOwner());
      MailboxGetOp &get = gets[statement->getBlock()];
      OpBuilder::InsertionGuard guard(b);
      // As late as possible, to keep it in registers for a short time.
      b.setInsertionPoint(statement);
      if (!get)
        get = MailboxGetOp::create(b, types, mailbox, at, reader);
      else if (statement->isBeforeInBlock(get))
        get->moveBefore(statement);
      b.setInsertionPointAfter(get);
      Value word = get.getResult(number + (conditions.empty() ? 0 : 1));
      if (position.getType().isIndex())
        word = arith::IndexCastOp::create(b, b.getIndexType(), word);
      use.set(word);
    }
  }
}

LogicalResult WarpSpecializer::convertConsumers() {
  Block *body = groups.getBody();
  Block *block = &roles.getConsumers().emplaceBlock();
  Value group = block->addArgument(b.getIndexType(), groups.getLoc());
  rewriter.eraseOp(groups.getTerminator());
  groups.getInductionVar(0).replaceAllUsesWith(group);
  block->getOperations().splice(block->end(), body->getOperations());
  // One barrier is for all.
  for (auto [i, load] : llvm::enumerate(rowLoads))
    if (failed(receive(load, {group, Value()}, /*waited=*/i > 0)))
      return failure();

  if (!loop) {
    b.setInsertionPointToStart(block);
    Value first = constant(0);
    for (Load &load : loopLoads)
      if (failed(receive(load, {first, Value()}, /*waited=*/false)))
        return failure();
    return success();
  }
  b.setInsertionPoint(loop);
  b.setLoc(loop.getLoc());
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  auto replaced = loop.replaceWithAdditionalYields(
      rewriter, ValueRange{constant(0), zero},
      /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &builder, Location loc,
          ArrayRef<BlockArgument> args) -> SmallVector<Value> {
        auto next = AdvanceOp::create(builder, loc, builder.getIndexType(),
                                      builder.getI32Type(), args[0], args[1],
                                      builder.getI64IntegerAttr(stages));
        return {next.getNextIndex(), next.getNextParity()};
      });
  if (failed(replaced))
    return loop.emitError("nagpu-specialize-warps: cannot carry the slot");
  loop = cast<scf::ForOp>(replaced->getOperation());
  Slot slot{*(loop.getRegionIterArgs().end() - 2),
            loop.getRegionIterArgs().back()};

  SetVector<scf::IfOp> branches;
  for (auto [i, load] : llvm::enumerate(loopLoads)) {
    if (auto branch = dyn_cast<scf::IfOp>(load.wait->getParentOp()))
      branches.insert(branch);
    if (failed(receive(load, slot, /*waited=*/i == 0)))
      return failure();
  }
  auto isChoice = [&](scf::IfOp branch) {
    return branch->getBlock() == loop.getBody() && branch.elseBlock();
  };
  if (branches.size() > 1 || !llvm::all_of(branches, isChoice))
    return loop.emitError("nagpu-specialize-warps: expected all loads of an "
                          "iteration in it or in one branch of it");
  for (scf::IfOp branch : branches)
    skip(branch, slot);
  b.setInsertionPointToStart(loop.getBody());
  b.setLoc(loop.getLoc());
  MBarrierWaitOp::create(b, loopLoads.front().full, slot.index, slot.parity);
  receiveMessages(slot);
  return success();
}
