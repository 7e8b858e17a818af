//===- DeferColumnSums.cpp - Sums for columns one tile later --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpgroupLoop.h"

#include "na/Dialect/NAGPU/IR/NAGPU.h"
#include "na/Dialect/NAGPU/Transforms/Passes.h"
#include "na/Schedule/WarpgroupBudgets.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/STLExtras.h"

namespace mlir::nagpu {
#define GEN_PASS_DEF_NAGPUDEFERCOLUMNSUMS
#include "na/Dialect/NAGPU/Transforms/Passes.h.inc"
} // namespace mlir::nagpu

using namespace mlir;
using namespace mlir::nagpu;

namespace {

/// A group of products up to its commit, and the wait for it.
struct Product {
  SmallVector<Operation *> issue;
  WgmmaWaitOp wait;
};

/// What nagpu-assign-layouts builds for the sums of a tile of columns.
struct Sums {
  StoreTransposedOp weights;
  /// All behind that, up to the last addition.
  SmallVector<Operation *> rest;
  SmallVector<WgmmaOp> products;
  NamedBarrierOp barrier;
  SmallVector<TmaAddOp> adds;
};

/// The slot of a ring in an iteration, and its parity.
struct Slot {
  Value index, parity;
};

class SumsDeferrer {
public:
  explicit SumsDeferrer(RolesOp roles)
      : roles(roles), b(roles.getLoc(), roles),
        group(roles.getConsumers().getArgument(0)) {}

  bool match();
  void run();

private:
  bool matchSums();
  bool matchProducts();
  bool matchColumns();

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Slot retreat(Slot slot);
  Slot choose(Value condition, Slot first, Slot second);
  Value getTile(Value at, Value ofGroup);
  TypedValue<TensorMapType> buildPartMap();
  void shareRows();
  void meet() {
    NamedBarrierOp::create(b, sums.barrier.getId(), warpgroupWarps * 32);
  }
  void storeWeights(Value weights, Slot slot);
  Value issue(Slot previous);
  Value wait(Value sum, int64_t pending);
  void write(Value sum, Slot previous, Value condition);
  Value clonePrevious(Value value, Slot previous, IRMapping &mapping);
  void order(Slot slot, Value later);
  void skip(Slot slot, Value later);

  RolesOp roles;
  ImplicitLocOpBuilder b;
  Value group;
  int64_t groups = 0, stages = 0;
  scf::ForOp loop;
  /// The block that computes a tile, and the branch it is of, if any.
  Block *block = nullptr;
  scf::IfOp branch;
  Sums sums;
  /// Of two loaded tiles, then of their results with loaded tiles: scores,
  /// weights times gradients, products, gradients times queries.
  SmallVector<Product> products;
  SlotOp rows;
  MBarrierWaitOp rowsWait;
  /// That nobody reads the rows any more; null without a loop over items.
  MBarrierArriveOp rowsFree;
  /// The rings of weights and of sums, and the barrier of the weights.
  Value weights, staging, full;
  /// The channels that this warpgroup adds, of the rows of all warpgroups.
  SmallVector<Value> panels;
  /// With one block of channels, each warpgroup adds a part of the columns: the
  /// axis of their box that is divided.
  std::optional<size_t> splitAxis;
  /// What a warpgroup adds.
  FragmentType sumType;
  TypedValue<TensorMapType> map;
};

} // namespace

//===----------------------------------------------------------------------===//
// What there is
//===----------------------------------------------------------------------===//

bool SumsDeferrer::matchSums() {
  roles.getConsumers().walk([&](StoreTransposedOp store) {
    if (store.getSource().getType().getRole() == Role::Lhs)
      sums.weights = store;
  });
  if (!sums.weights)
    return false;
  block = sums.weights->getBlock();
  SmallVector<Operation *> pending;
  for (Operation *op = sums.weights->getNextNode();
       op && !op->hasTrait<OpTrait::IsTerminator>(); op = op->getNextNode()) {
    pending.push_back(op);
    if (auto product = dyn_cast<WgmmaOp>(op))
      sums.products.push_back(product);
    else if (auto barrier = dyn_cast<NamedBarrierOp>(op))
      sums.barrier = barrier;
    else if (auto add = dyn_cast<TmaAddOp>(op))
      sums.adds.push_back(add);
    if (isa<TmaAddOp>(op)) {
      sums.rest.append(pending);
      pending.clear();
    }
  }
  llvm::erase_if(sums.rest, [](Operation *op) {
    return isMemoryEffectFree(op) || isa<MBarrierArriveOp, MailboxGetOp>(op);
  });
  if (sums.products.empty() || sums.adds.size() != sums.products.size() ||
      !sums.barrier)
    return false;
  sumType = sums.products[0].getType();
  map = sums.adds[0].getMap();
  if (int64_t(sums.products.size()) != groups && !matchColumns())
    return false;
  for (WgmmaOp product : sums.products) {
    auto panel = product.getLhs().getDefiningOp<PanelOp>();
    auto slot = panel ? panel.getTile().getDefiningOp<SlotOp>() : SlotOp();
    if (!slot || slot.getIndex() != group || (rows && slot != rows))
      return false;
    rows = slot;
  }
  return true;
}

/// Whether each warpgroup can add a part of the columns: consecutive ones,
/// whose box is a part of the tile's.
bool SumsDeferrer::matchColumns() {
  if (sums.products.size() != 1)
    return false;
  // [batch, axes.., channels]
  splitAxis = ::na::schedule::findDividedAxis(
      map.getType().getShape().drop_back(), groups);
  if (!splitAxis)
    return false;
  sumType = FragmentType::get(
      sumType.getContext(), {warpgroupRows, sumType.getColumns() / groups},
      sumType.getElementType(), sumType.getRole(), sumType.getWarps());
  return true;
}

/// The products of the block before the sums.
bool SumsDeferrer::matchProducts() {
  bool issuing = false;
  for (Operation &op : *block) {
    if (&op == sums.weights)
      break;
    if (isa<WgmmaFenceOp>(op) && !issuing) {
      products.emplace_back();
      issuing = true;
    }
    if (issuing) {
      products.back().issue.push_back(&op);
      issuing = !isa<WgmmaCommitOp>(op);
    } else if (auto wait = dyn_cast<WgmmaWaitOp>(op)) {
      if (products.empty() || products.back().wait)
        return false;
      products.back().wait = wait;
    }
  }
  if (products.size() != 4)
    return false;
  for (auto [i, product] : llvm::enumerate(products)) {
    if (!product.wait || product.wait.getValues().size() != 1)
      return false;
    auto first = product.wait.getValues()[0].getDefiningOp<WgmmaOp>();
    bool loaded = isa<SharedType>(first.getLhs().getType());
    if (loaded != (i % 2 == 0) || loaded == bool(first.getAcc()))
      return false;
  }
  return true;
}

bool SumsDeferrer::match() {
  groups = roles.getGroups();
  if (!matchSums() || !matchProducts())
    return false;
  branch = dyn_cast<scf::IfOp>(block->getParentOp());
  loop = block->getParentOp()->getParentOfType<scf::ForOp>();
  if (!branch)
    loop = dyn_cast<scf::ForOp>(block->getParentOp());
  if (!loop ||
      (branch &&
       (branch->getBlock() != loop.getBody() || !branch.elseBlock())) ||
      loop.getNumRegionIterArgs() < 2)
    return false;
  auto advance = loop.getYieldedValues().back().getDefiningOp<AdvanceOp>();
  if (!advance)
    return false;
  stages = advance.getSlots();
  for (Operation &op : *rows->getBlock()) {
    if (auto wait = dyn_cast<MBarrierWaitOp>(op);
        wait && wait.getIndex() == group)
      rowsWait = wait;
    if (auto arrive = dyn_cast<MBarrierArriveOp>(op);
        arrive && arrive.getIndex() == group)
      rowsFree = arrive;
  }
  // Weights of a tile are read in the next one.
  return stages > 1 && rowsWait && rows->getBlock() == loop->getBlock();
}

//===----------------------------------------------------------------------===//
// What becomes of it
//===----------------------------------------------------------------------===//

static SharedType withShape(SharedType type, ArrayRef<int64_t> shape) {
  return SharedType::get(type.getContext(), shape, type.getElementType(),
                         type.getSwizzle());
}

Slot SumsDeferrer::retreat(Slot slot) {
  Value wraps =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, slot.index, index(0));
  Value before = arith::SubIOp::create(b, slot.index, index(1));
  Value flip = arith::ExtUIOp::create(b, b.getI32Type(), wraps);
  return {arith::SelectOp::create(b, wraps, index(stages - 1), before),
          arith::XOrIOp::create(b, slot.parity, flip)};
}

/// `condition ? first : second`.
Slot SumsDeferrer::choose(Value condition, Slot first, Slot second) {
  auto select = [&](Value ifTrue, Value ifFalse) -> Value {
    return arith::SelectOp::create(b, condition, ifTrue, ifFalse);
  };
  return {select(first.index, second.index),
          select(first.parity, second.parity)};
}

/// The weights of a warpgroup in a slot.
Value SumsDeferrer::getTile(Value at, Value ofGroup) {
  Value first = arith::MulIOp::create(b, at, index(groups));
  auto ring = cast<SharedType>(weights.getType());
  return SlotOp::create(b, ring.getSlotType(), weights,
                        arith::AddIOp::create(b, first, ofGroup).getResult());
}

/// All warpgroups read the rows of all.
void SumsDeferrer::shareRows() {
  b.setInsertionPoint(rowsWait);
  for (int64_t i = 0; i < groups; ++i)
    MBarrierWaitOp::create(b, rowsWait.getBarrier(), index(i),
                           rowsWait.getParity());
  // What was added for the item before has been read.
  TmaStoreWaitOp::create(b, /*pending=*/0);
  meet();
  rowsWait.erase();
  b.setInsertionPointAfter(rows);
  auto type = cast<SharedType>(sums.products[0].getLhs().getType());
  Value block = splitAxis ? index(0) : group;
  for (int64_t i = 0; i < groups; ++i) {
    Value tile = SlotOp::create(b, rows.getType(), rows.getRing(), index(i));
    panels.push_back(PanelOp::create(b, type, tile, block));
  }
}

/// The map of boxes of what one warpgroup adds.
TypedValue<TensorMapType> SumsDeferrer::buildPartMap() {
  auto whole = map.getDefiningOp<TensorMapOp>();
  SmallVector<int64_t> box(map.getType().getShape());
  box[*splitAxis] /= groups;
  b.setInsertionPointAfter(whole);
  auto type =
      TensorMapType::get(b.getContext(), box, map.getType().getElementType(),
                         map.getType().getSwizzle());
  return TensorMapOp::create(b, type, whole.getSource(),
                             whole.getDilationAttr());
}

void SumsDeferrer::storeWeights(Value values, Slot slot) {
  StoreTransposedOp::create(b, values, getTile(slot.index, group));
  ProxyFenceOp::create(b);
  // Who waits for the weights of this tile may write the sums of it: what was
  // added last has been read, beside the computing of the weights.
  TmaStoreWaitOp::create(b, /*pending=*/0);
  MBarrierArriveOp::create(b, full, slot.index);
}

Value SumsDeferrer::issue(Slot previous) {
  MBarrierWaitOp::create(b, full, previous.index, previous.parity);
  SmallVector<Value> tiles;
  for (int64_t i = 0; i < groups; ++i) {
    Value tile = getTile(previous.index, index(i));
    if (splitAxis) {
      auto type = cast<SharedType>(tile.getType());
      tile = RowsOp::create(
          b, withShape(type, {sumType.getColumns(), type.getColumns()}), tile,
          group);
    }
    tiles.push_back(tile);
  }
  WgmmaFenceOp::create(b, TypeRange(), ValueRange());
  Value sum;
  for (auto [panel, tile] : llvm::zip_equal(panels, tiles))
    sum = WgmmaOp::create(b, sumType, panel, tile, sum,
                          /*transposed=*/true, /*lhs_transposed=*/true);
  WgmmaCommitOp::create(b);
  return sum;
}

Value SumsDeferrer::wait(Value sum, int64_t pending) {
  return WgmmaWaitOp::create(b, TypeRange(sum.getType()), pending, sum)
      .getResult(0);
}

/// A value of the iteration, as it was in that of `previous`: what changes
/// comes from the mailbox.
Value SumsDeferrer::clonePrevious(Value value, Slot previous,
                                  IRMapping &mapping) {
  Operation *op = value.getDefiningOp();
  if (!op || !loop->isProperAncestor(op))
    return value;
  if (Value known = mapping.lookupOrNull(value))
    return known;
  if (auto get = dyn_cast<MailboxGetOp>(op)) {
    Value turn =
        arith::IndexCastOp::create(b, b.getIndexType(), previous.parity);
    Value at = arith::AddIOp::create(
        b, previous.index,
        arith::MulIOp::create(b, turn, index(stages)).getResult());
    auto words =
        MailboxGetOp::create(b, SmallVector<Type>(get.getResultTypes()),
                             get.getBox(), at, get.getReader());
    mapping.map(get.getResults(), words.getResults());
  } else {
    for (Value operand : op->getOperands())
      mapping.map(operand, clonePrevious(operand, previous, mapping));
    b.clone(*op, mapping);
  }
  return mapping.lookup(value);
}

void SumsDeferrer::write(Value sum, Slot previous, Value condition) {
  auto ring = cast<SharedType>(staging.getType());
  Value tile = SlotOp::create(b, ring.getSlotType(), staging, group);
  StoreTransposedOp::create(b, sum, tile);
  ProxyFenceOp::create(b);
  meet();
  // The place of the first block or part, moved by those of the warpgroups
  // before.
  TmaAddOp add = sums.adds.front();
  IRMapping mapping;
  SmallVector<Value> at;
  for (Value place : add.getAt())
    at.push_back(clonePrevious(place, previous, mapping));
  Value &moved = splitAxis ? at[*splitAxis] : at.back();
  int64_t part =
      splitAxis ? map.getType().getShape()[*splitAxis] : warpgroupRows;
  Value before = arith::MulIOp::create(b, group, index(part));
  moved = arith::AddIOp::create(b, moved, before);
  TmaAddOp::create(b, tile, map, at, condition);
}

/// Scores, then the sums of the tile before; these are written in front of the
/// products of values, in whose registers they were; the product of the weights
/// runs beside the gradients of scores.
void SumsDeferrer::order(Slot slot, Value later) {
  Product &scores = products[0], &valueGrads = products[1],
          &values = products[2], &keyGrads = products[3];
  b.setInsertionPointAfter(scores.issue.back());
  Slot previous = retreat(slot);
  Value sum = issue(previous);
  scores.wait.setPending(1);
  b.setInsertionPoint(valueGrads.issue.front());
  write(wait(sum, 0), choose(later, previous, slot), later);
  // Statistics of the columns take registers.
  Operation *at = scores.wait;
  for (auto load : llvm::make_early_inc_range(block->getOps<LdVectorOp>())) {
    if (!load->isBeforeInBlock(scores.wait))
      continue;
    load->moveAfter(at);
    at = load;
    for (Operation *user : llvm::make_early_inc_range(load->getUsers()))
      if (user->getBlock() == block && user->isBeforeInBlock(load)) {
        user->moveAfter(at);
        at = user;
      }
  }
  for (Operation *op : values.issue)
    op->moveBefore(valueGrads.issue.front());
  values.wait.setPending(1);
  b.setInsertionPoint(keyGrads.issue.front());
  storeWeights(sums.weights.getSource(), slot);
  // Nothing is freed before all has been read.
  valueGrads.wait->moveBefore(keyGrads.wait);
  valueGrads.wait.setPending(1);
  SmallVector<Operation *> frees;
  for (auto arrive : block->getOps<MBarrierArriveOp>())
    if (arrive.getBarrier() != full)
      frees.push_back(arrive);
  for (Operation *free : frees)
    free->moveBefore(block->getTerminator());
}

/// A warpgroup that does not need the tile has weights of zero, and its part in
/// the sums of the tile before.
void SumsDeferrer::skip(Slot slot, Value later) {
  b.setInsertionPointToStart(branch.elseBlock());
  Slot previous = retreat(slot);
  Value sum = wait(issue(previous), 0);
  FragmentType type = sums.weights.getSource().getType();
  auto wide = FragmentType::get(b.getContext(), type.getShape(), b.getF32Type(),
                                Role::Accumulator, type.getWarps());
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  Value zeros = SplatOp::create(b, wide, zero);
  storeWeights(ConvertOp::create(b, type, zeros), slot);
  write(sum, choose(later, previous, slot), later);
  // The others do not wait for this one to be read.
  TmaStoreWaitOp::create(b, /*pending=*/0);
  meet();
}

void SumsDeferrer::run() {
  b.setInsertionPoint(roles);
  auto tile = cast<SharedType>(sums.weights.getDest().getType());
  auto makeRing = [&](SharedType type, int64_t slots) -> Value {
    return AllocOp::create(
        b, withShape(type, {slots, type.getRows(), type.getColumns()}),
        IntegerAttr());
  };
  weights = makeRing(tile, stages * groups);
  auto whole = cast<SharedType>(sums.adds[0].getSource().getType());
  staging = makeRing(
      withShape(whole, {sumType.getColumns(), whole.getColumns()}), groups);
  if (splitAxis) {
    map = buildPartMap();
    b.setInsertionPoint(roles);
  }
  full = MBarrierInitOp::create(b, BarrierType::get(b.getContext(), stages),
                                groups * warpgroupWarps, IntegerAttr());
  shareRows();

  auto args = loop.getRegionIterArgs().take_back(2);
  Slot slot{args[0], args[1]};
  b.setInsertionPointToStart(loop.getBody());
  Value later =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, loop.getInductionVar(),
                            loop.getLowerBound());
  order(slot, later);
  if (branch)
    skip(slot, later);
  // Those of the last tile.
  b.setInsertionPointAfter(loop);
  auto results = loop.getResults().take_back(2);
  Slot last = retreat({results[0], results[1]});
  Value any = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                    loop.getLowerBound(), loop.getUpperBound());
  write(wait(issue(last), 0), last, any);
  if (rowsFree) {
    for (int64_t i = 0; i < groups; ++i)
      MBarrierArriveOp::create(b, rowsFree.getBarrier(), index(i));
    auto init = rowsFree.getBarrier().getDefiningOp<MBarrierInitOp>();
    init.setArrivals(groups * warpgroupWarps);
    rowsFree.erase();
  }
  for (Operation *op : llvm::reverse(sums.rest))
    op->erase();
  sums.weights.erase();
}

namespace {
struct DeferColumnSums
    : nagpu::impl::NAGPUDeferColumnSumsBase<DeferColumnSums> {
  void runOnOperation() override {
    SmallVector<RolesOp> kernels;
    getOperation()->walk([&](RolesOp roles) { kernels.push_back(roles); });
    for (RolesOp roles : kernels) {
      SumsDeferrer deferrer(roles);
      if (deferrer.match())
        deferrer.run();
    }
  }
};
} // namespace
