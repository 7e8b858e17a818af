//===- OverlapGradients.cpp - Products of a tile beside its own gradients -===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NAGPU/IR/NAGPU.h"
#include "na/Dialect/NAGPU/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

namespace mlir::nagpu {
#define GEN_PASS_DEF_NAGPUOVERLAPGRADIENTS
#include "na/Dialect/NAGPU/Transforms/Passes.h.inc"
} // namespace mlir::nagpu

using namespace mlir;
using namespace mlir::nagpu;

namespace {

/// A group of products up to its commit, the wait for it, and what that frees.
struct Product {
  SmallVector<Operation *> issue;
  WgmmaWaitOp wait;
  SmallVector<Operation *> frees;

  WgmmaCommitOp getCommit() const { return cast<WgmmaCommitOp>(issue.back()); }
  /// The first product, if it starts a sum of two tiles in shared memory.
  WgmmaOp getScores() const;
};

} // namespace

WgmmaOp Product::getScores() const {
  for (Operation *op : issue)
    if (auto product = dyn_cast<WgmmaOp>(op))
      return !product.getAcc() && isa<SharedType>(product.getLhs().getType())
                 ? product
                 : WgmmaOp();
  return {};
}

/// The products of a block in their order; none if they do not have the form of
/// nagpu-assign-layouts.
static SmallVector<Product> collectProducts(Block &block) {
  SmallVector<Product> products;
  bool issuing = false;
  for (Operation &op : block) {
    if (isa<WgmmaFenceOp>(op) && !issuing) {
      if (!products.empty() && !products.back().wait)
        return {};
      products.emplace_back();
      issuing = true;
    }
    if (issuing) {
      products.back().issue.push_back(&op);
      issuing = !isa<WgmmaCommitOp>(op);
      continue;
    }
    if (auto wait = dyn_cast<WgmmaWaitOp>(op)) {
      if (products.empty() || products.back().wait || wait.getPending() != 0)
        return {};
      products.back().wait = wait;
    } else if (isa<MBarrierArriveOp>(op) && !products.empty() &&
               products.back().wait == op.getPrevNode()) {
      products.back().frees.push_back(&op);
    } else if (isa<MBarrierArriveOp>(op) && !products.empty() &&
               !products.back().frees.empty() &&
               products.back().frees.back() == op.getPrevNode()) {
      products.back().frees.push_back(&op);
    }
  }
  if (issuing || (!products.empty() && !products.back().wait))
    return {};
  return products;
}

/// Moves the second product of two loaded tiles behind the first one.
static void issueEarly(Product &first, Product &second) {
  Operation *at = first.issue.back();
  auto move = [&](Operation *op) {
    op->moveAfter(at);
    at = op;
  };
  auto isBetween = [&](Operation *op) {
    return op && op->getBlock() == at->getBlock() && at->isBeforeInBlock(op);
  };
  SmallVector<Operation *> before;
  for (Value operand : {Value(second.getScores().getLhs()),
                        Value(second.getScores().getRhs())}) {
    auto slot = operand.getDefiningOp<SlotOp>();
    if (!isBetween(slot))
      continue;
    if (auto wait = dyn_cast_or_null<MBarrierWaitOp>(slot->getPrevNode()))
      if (isBetween(wait))
        before.push_back(wait);
    before.push_back(slot);
  }
  for (Operation *op : before)
    move(op);
  for (Operation *op : second.issue)
    move(op);
}

/// What needs the result, in the block; its end if nothing does.
static Operation *findFirstUser(WgmmaWaitOp wait) {
  Block *block = wait->getBlock();
  Operation *first = block->getTerminator();
  for (Operation *user : wait->getUsers()) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    if (ancestor && ancestor->isBeforeInBlock(first))
      first = ancestor;
  }
  return first;
}

/// What is computed behind a product from the values of its left operand reads
/// them from there, which takes half of the registers while it is in flight.
static void reuseOperands(Product &product) {
  for (Operation *op : product.issue) {
    auto fence = dyn_cast<WgmmaFenceOp>(op);
    if (!fence)
      continue;
    for (Value value : fence.getValues()) {
      auto convert = value.getDefiningOp<ConvertOp>();
      if (!convert || convert->getBlock() != op->getBlock())
        continue;
      Value wide = convert.getSource();
      for (OpOperand &use : llvm::make_early_inc_range(wide.getUses())) {
        Operation *user = use.getOwner();
        if (!isa<MapOp>(user) || user->getBlock() != op->getBlock() ||
            user->isBeforeInBlock(op))
          continue;
        OpBuilder builder(user);
        use.set(ConvertOp::create(builder, user->getLoc(), wide.getType(),
                                  convert.getResult()));
      }
    }
  }
}

static void overlap(Block &block) {
  SmallVector<Product> products = collectProducts(block);
  SmallVector<size_t> scores;
  for (auto [i, product] : llvm::enumerate(products))
    if (product.getScores())
      scores.push_back(i);
  if (scores.size() != 2 || products.size() < 3)
    return;
  issueEarly(products[scores[0]], products[scores[1]]);
  // What a wait freed was read by products up to that one, of which others may
  // be waited for later now.
  Operation *latest = nullptr;
  for (Product &product : products) {
    product.wait->moveBefore(findFirstUser(product.wait));
    if (!latest || latest->isBeforeInBlock(product.wait))
      latest = product.wait;
    Operation *at = latest;
    for (Operation *op : product.frees) {
      op->moveAfter(at);
      at = op;
    }
  }
  for (Product &product : products)
    reuseOperands(product);
  // A group may be waited for while younger ones are in flight.
  Builder builder(block.getParent()->getContext());
  for (Product &product : products) {
    int64_t younger = 0;
    for (const Product &other : products)
      younger += product.getCommit()->isBeforeInBlock(other.getCommit()) &&
                 other.getCommit()->isBeforeInBlock(product.wait);
    product.wait.setPendingAttr(builder.getI64IntegerAttr(younger));
  }
}

namespace {
struct OverlapGradients
    : nagpu::impl::NAGPUOverlapGradientsBase<OverlapGradients> {
  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation()->walk([&](WgmmaWaitOp wait) {
      if (wait->getParentOfType<scf::ForOp>() &&
          !llvm::is_contained(blocks, wait->getBlock()))
        blocks.push_back(wait->getBlock());
    });
    for (Block *block : blocks)
      overlap(*block);
  }
};
} // namespace
