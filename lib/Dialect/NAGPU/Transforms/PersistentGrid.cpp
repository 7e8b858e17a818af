//===- PersistentGrid.cpp - As many CTAs as run at a time -----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpgroupLoop.h"

#include "na/Dialect/NAGPU/IR/NAGPU.h"
#include "na/Dialect/NAGPU/IR/RegisterBudgets.h"
#include "na/Dialect/NAGPU/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::nagpu {
#define GEN_PASS_DEF_NAGPUPERSISTENTGRID
#include "na/Dialect/NAGPU/Transforms/Passes.h.inc"
} // namespace mlir::nagpu

using namespace mlir;
using namespace mlir::nagpu;

namespace {

class GridShrinker {
public:
  GridShrinker(gpu::LaunchOp launch, RolesOp roles)
      : launch(launch), roles(roles), rewriter(launch),
        b(launch.getLoc(), rewriter), isUneven(launch->hasAttr("na.uneven")) {}

  bool match();
  void run();

private:
  scf::ForOp findLoop(Region &region);
  Value rotate(Value round);
  Value countRounds();
  scf::ForOp wrap(Region &region, ValueRange inits);
  void finish(scf::ForOp items, ValueRange values);
  void repeatKeys(Region &region);
  void repeatQueries(Region &region);
  void repeatConsumers();
  Value i32(int64_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  }
  Value flip(Value parity) { return arith::XOrIOp::create(b, parity, i32(1)); }

  gpu::LaunchOp launch;
  RolesOp roles;
  IRRewriter rewriter;
  ImplicitLocOpBuilder b;
  bool isUneven;
  /// The producer of the queries, the barriers that say that they have come,
  /// and that nobody reads them any more.
  Region *queries = nullptr;
  Value queriesFull, queriesFree;
  Value count;
};

} // namespace

//===----------------------------------------------------------------------===//
// What there is
//===----------------------------------------------------------------------===//

/// The loop of a role over tiles, whose last two carried values are the slot;
/// null if there is none or several.
scf::ForOp GridShrinker::findLoop(Region &region) {
  scf::ForOp found;
  for (auto loop : region.getOps<scf::ForOp>()) {
    if (found)
      return {};
    found = loop;
  }
  if (!found || found.getNumRegionIterArgs() < 2)
    return {};
  auto slot = found.getResults().take_back(2);
  bool isSlot = slot[0].getType().isIndex() && slot[1].getType().isInteger(32);
  return isSlot ? found : scf::ForOp();
}

bool GridShrinker::match() {
  for (Region &producer : roles.getProducers()) {
    if (findLoop(producer))
      continue;
    // One that loads a tile for each warpgroup, once.
    if (queries || !producer.getOps<scf::ForOp>().empty())
      return false;
    queries = &producer;
    for (auto expect : producer.getOps<MBarrierExpectTxOp>()) {
      if (queriesFull && queriesFull != expect.getBarrier())
        return false;
      queriesFull = expect.getBarrier();
    }
  }
  if (!queriesFull || !findLoop(roles.getConsumers()))
    return false;
  // What depends on the CTA is arithmetic, so that roles can repeat it.
  Block *body = roles->getBlock();
  for (Operation &op : *body)
    if (!isa<AllocOp, MBarrierInitOp, MailboxAllocOp, gpu::TerminatorOp>(op) &&
        &op != roles && !isMemoryEffectFree(&op))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// What becomes of it
//===----------------------------------------------------------------------===//

/// Which item the CTA takes in a round of uneven items. Where one always took
/// the same place of a round, some would have more than their share of long
/// items: their order repeats itself from head to head.
Value GridShrinker::rotate(Value round) {
  Value ctas = launch.getGridSize().x;
  Value place = arith::RemUIOp::create(
      b, arith::AddIOp::create(b, launch.getBlockIds().x, round).getResult(),
      ctas);
  return arith::AddIOp::create(
      b, arith::MulIOp::create(b, round, ctas).getResult(), place);
}

/// How many rounds have an item for the CTA: the last one has fewer than CTAs.
Value GridShrinker::countRounds() {
  Value ctas = launch.getGridSize().x;
  Value whole = arith::DivUIOp::create(b, count, ctas);
  Value last =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, rotate(whole), count);
  Value more = arith::AddIOp::create(
      b, whole, arith::ConstantIndexOp::create(b, 1).getResult());
  return arith::SelectOp::create(b, last, more, whole);
}

/// Puts all of a role into a loop over items, in front of it the arithmetic on
/// the item that the role uses. What was built at the start of the role, like
/// `inits`, stays in front of the loop.
scf::ForOp GridShrinker::wrap(Region &region, ValueRange inits) {
  Block &block = region.front();
  Value begin = launch.getBlockIds().x, end = count;
  Value step = launch.getGridSize().x;
  if (isUneven) {
    begin = arith::ConstantIndexOp::create(b, 0);
    end = countRounds();
    step = arith::ConstantIndexOp::create(b, 1);
  }
  auto items = scf::ForOp::create(b, begin, end, step, inits);
  SmallVector<Operation *> before;
  for (auto it = block.begin(); &*it != items; ++it)
    before.push_back(&*it);
  Block *body = items.getBody();
  if (inits.empty())
    rewriter.eraseOp(body->getTerminator());
  items->remove();
  body->getOperations().splice(body->end(), block.getOperations());
  block.push_back(items);
  for (Operation *op : before)
    op->moveBefore(items);

  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(body);
  Operation *first = &body->front();
  Value item = items.getInductionVar();
  if (isUneven)
    item = rotate(item);
  IRMapping mapping;
  mapping.map(launch.getBlockIds().x, item);
  b.setInsertionPoint(first);
  for (Operation &op : *roles->getBlock()) {
    if (&op == roles)
      break;
    bool depends = llvm::any_of(op.getOperands(), [&](Value operand) {
      return mapping.contains(operand);
    });
    if (depends)
      b.clone(op, mapping);
  }
  for (auto [from, to] : mapping.getValueMap())
    rewriter.replaceUsesWithIf(from, to, [&](OpOperand &use) {
      Operation *owner = body->findAncestorOpInBlock(*use.getOwner());
      return owner && owner->getBlock() == body &&
             !owner->isBeforeInBlock(first);
    });
  return items;
}

void GridShrinker::finish(scf::ForOp items, ValueRange values) {
  b.setInsertionPointToEnd(items.getBody());
  scf::YieldOp::create(b, values);
}

/// A producer of keys or values goes on with the next slot.
void GridShrinker::repeatKeys(Region &region) {
  scf::ForOp loop = findLoop(region);
  b.setInsertionPointToStart(&region.front());
  SmallVector<Value> fresh = {arith::ConstantIndexOp::create(b, 0), i32(1)};
  scf::ForOp items = wrap(region, fresh);
  loop.getInitArgsMutable()
      .slice(loop.getInitArgs().size() - 2, 2)
      .assign(items.getRegionIterArgs());
  finish(items, loop.getResults().take_back(2));
}

/// The producer of queries waits until those of the item before are read.
void GridShrinker::repeatQueries(Region &region) {
  b.setInsertionPointToStart(&region.front());
  Value free = i32(1);
  scf::ForOp items = wrap(region, free);
  Value parity = items.getRegionIterArg(0);
  for (auto expect : llvm::make_early_inc_range(
           items.getBody()->getOps<MBarrierExpectTxOp>())) {
    b.setInsertionPoint(expect);
    MBarrierWaitOp::create(b, queriesFree, expect.getIndex(), parity);
  }
  b.setInsertionPointToEnd(items.getBody());
  finish(items, flip(parity));
}

void GridShrinker::repeatConsumers() {
  Region &region = roles.getConsumers();
  scf::ForOp loop = findLoop(region);
  b.setInsertionPointToStart(&region.front());
  SmallVector<Value> fresh = {arith::ConstantIndexOp::create(b, 0), i32(0),
                              i32(0)};
  scf::ForOp items = wrap(region, fresh);
  auto args = items.getRegionIterArgs();
  Value parity = args[2];
  loop.getInitArgsMutable()
      .slice(loop.getInitArgs().size() - 2, 2)
      .assign(args.take_front(2));
  items.walk([&](MBarrierWaitOp wait) {
    if (wait.getBarrier() == queriesFull)
      wait.getParityMutable().assign(parity);
  });
  b.setInsertionPointAfter(loop);
  MBarrierArriveOp::create(b, queriesFree, region.getArgument(0));
  b.setInsertionPointToEnd(items.getBody());
  SmallVector<Value> next(loop.getResults().take_back(2));
  next.push_back(flip(parity));
  finish(items, next);
}

void GridShrinker::run() {
  count = launch.getGridSizeX();
  b.setInsertionPoint(launch);
  Value resident = MultiprocessorsOp::create(b, b.getIndexType());
  if (int64_t ctas = getCTAsPerMultiprocessor(roles); ctas > 1) {
    Value perMultiprocessor = arith::ConstantIndexOp::create(b, ctas);
    resident = arith::MulIOp::create(b, resident, perMultiprocessor);
  }
  launch.getGridSizeXMutable().assign(
      arith::MinUIOp::create(b, count, resident).getResult());
  b.setInsertionPoint(roles);
  // Every warp of a consumer arrives for itself.
  queriesFree = MBarrierInitOp::create(b, queriesFull.getType(), warpgroupWarps,
                                       IntegerAttr());
  for (Region &producer : roles.getProducers()) {
    if (&producer == queries)
      repeatQueries(producer);
    else
      repeatKeys(producer);
  }
  repeatConsumers();
}

namespace {
struct PersistentGrid : nagpu::impl::NAGPUPersistentGridBase<PersistentGrid> {
  void runOnOperation() override {
    SmallVector<std::pair<gpu::LaunchOp, RolesOp>> kernels;
    getOperation()->walk([&](gpu::LaunchOp launch) {
      if (!launch.getBody().hasOneBlock() || launch->hasAttr("na.in_order"))
        return;
      auto roles = launch.getBody().getOps<RolesOp>();
      if (llvm::hasSingleElement(roles))
        kernels.push_back({launch, *roles.begin()});
    });
    for (auto [launch, roles] : kernels) {
      GridShrinker shrinker(launch, roles);
      if (shrinker.match())
        shrinker.run();
    }
  }
};
} // namespace
