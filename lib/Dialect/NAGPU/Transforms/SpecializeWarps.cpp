//===- SpecializeWarps.cpp - Producer warps and consumer warpgroups -------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpSpecializer.h"
#include "WarpgroupLoop.h"

#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NAGPU/Transforms/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::nagpu {
#define GEN_PASS_DEF_NAGPUSPECIALIZEWARPS
#include "na/Dialect/NAGPU/Transforms/Passes.h.inc"
} // namespace mlir::nagpu

using namespace mlir;
using namespace mlir::nagpu;

static constexpr int64_t defaultStages = 2;
static constexpr int64_t maxStages = 64;
/// Conditions that one word of a mailbox holds.
static constexpr unsigned conditionBits = 32;
static constexpr int64_t maxProducers = 4;
static constexpr int64_t warpSize = 32;

//===----------------------------------------------------------------------===//
// What there is
//===----------------------------------------------------------------------===//

/// The branch that does nothing but choose between two copies into one tile,
/// of which `copy` is one; null if there is none. `other` is that of its
/// `else`.
static scf::IfOp getChoice(AsyncCopyOp copy, AsyncCopyOp &other) {
  auto branch = dyn_cast<scf::IfOp>(copy->getParentOp());
  if (!branch || branch.getNumResults() != 1 || !branch.elseBlock())
    return {};
  auto getOnlyCopy = [&](Block *block) -> AsyncCopyOp {
    for (Operation &op : block->without_terminator())
      if (!isMemoryEffectFree(&op) && !isa<AsyncCopyOp>(op))
        return {};
    auto only =
        block->getTerminator()->getOperand(0).getDefiningOp<AsyncCopyOp>();
    if (!only || !only.getToken().hasOneUse() ||
        !llvm::hasSingleElement(block->getOps<AsyncCopyOp>()) ||
        only.getDest() != copy.getDest())
      return {};
    return only;
  };
  other = getOnlyCopy(branch.elseBlock());
  return getOnlyCopy(branch.thenBlock()) && other ? branch : scf::IfOp();
}

/// Finds what belongs to a copy, or to that of a `then` to the choice.
LogicalResult WarpSpecializer::collectLoad(AsyncCopyOp copy, Load &load) {
  load.source.copy = copy;
  load.choice = getChoice(copy, load.other.copy);
  Operation *first = copy;
  if (load.choice) {
    first = load.choice;
    choices.insert(first);
  }
  auto isOwn = [&] {
    if (!first->getResult(0).hasOneUse())
      return false;
    load.commit = dyn_cast<AsyncCommitOp>(*first->user_begin());
    if (!load.commit || load.commit->getNumOperands() != 1 ||
        !load.commit.getGroup().hasOneUse())
      return false;
    load.wait = dyn_cast<AsyncWaitOp>(*load.commit.getGroup().user_begin());
    return load.wait && load.wait.getTiles().size() == 1 &&
           load.wait.getTiles().front() == copy.getDest() &&
           load.wait->getBlock() == first->getBlock() &&
           copy.getDest().getDefiningOp<AllocOp>();
  };
  if (!isOwn())
    return copy.emitError("nagpu-specialize-warps: expected a copy into its "
                          "own tile, with a group and a wait of its own");
  return failure(failed(checkCopy(copy)) ||
                 (load.choice && failed(checkCopy(load.other.copy))));
}

LogicalResult WarpSpecializer::checkCopy(AsyncCopyOp copy) {
  if (!cast<SharedType>(copy.getDest().getType()).isTma() && !copy.isVector())
    return copy.emitError("nagpu-specialize-warps: the tile does not lie in "
                          "panels of the TMA");
  auto source = cast<MemRefType>(copy.getSource().getType());
  for (auto [axis, dilation] : llvm::enumerate(copy.getDilation())) {
    if (copy.isVector() || dilation == 1)
      continue;
    if (source.isDynamicDim(axis + 1))
      return copy.emitError("nagpu-specialize-warps: a copy with dilation ")
             << dilation << " on axis " << axis << ", whose length is dynamic";
    if (source.getDimSize(axis + 1) % dilation != 0)
      return copy.emitError("nagpu-specialize-warps: a copy with dilation ")
             << dilation << " on axis " << axis
             << ", expected a divisor of its " << source.getDimSize(axis + 1)
             << " tokens";
  }
  if (!copy.getSource().getParentRegion()->isProperAncestor(&launch.getBody()))
    return copy.emitError("nagpu-specialize-warps: the tensor is not known "
                          "where the kernel is launched");
  return success();
}

/// Whether a tile is one of rows, by those who read it: products have rows on
/// the left.
static bool isOfRows(Value tile) {
  return llvm::any_of(tile.getUsers(), [&](Operation *user) {
    if (auto vector = dyn_cast<LdVectorOp>(user))
      return cast<FragmentType>(vector.getType()).isRowLike();
    auto product = dyn_cast<WgmmaOp>(user);
    return product && product.getLhs() == tile;
  });
}

LogicalResult WarpSpecializer::collect() {
  std::optional<int64_t> number;
  if (groups.getRank() == 1 && groups.isNormalized() &&
      groups.getOutputs().empty())
    number = getConstantIntValue(groups.getMixedUpperBound()[0]);
  if (!number || *number < 1)
    return groups.emitError("nagpu-specialize-warps: expected a loop over a "
                            "known number of warpgroups, from 0 in steps of 1");
  numGroups = *number;
  WalkResult result = groups.getBody()->walk([&](AsyncCopyOp copy) {
    AsyncCopyOp other;
    if (getChoice(copy, other) && copy == other)
      return WalkResult::advance(); // Comes with the first.
    Load load;
    if (failed(collectLoad(copy, load)))
      return WalkResult::interrupt();
    if (isOfRows(load.wait.getResult(0))) {
      rowLoads.push_back(load);
      return WalkResult::advance();
    }
    loopLoads.push_back(load);
    auto parent = copy->getParentOfType<scf::ForOp>();
    if (loopLoads.size() == 1)
      loop = parent;
    if (loop != parent || (loop && loop->getBlock() != groups.getBody())) {
      copy.emitError("nagpu-specialize-warps: expected one loop over tiles");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  // A producer warp for the rows, one for all vectors of the loop, and one for
  // each of its other tiles.
  auto isVector = [](Load &load) { return load.isVector(); };
  int64_t tiles = llvm::count_if(loopLoads, std::not_fn(isVector));
  producers = 1 + tiles + llvm::any_of(loopLoads, isVector);
  if (llvm::all_of(rowLoads, isVector) || tiles == 0 ||
      loopLoads.front().isVector() || producers > maxProducers ||
      llvm::any_of(rowLoads, [&](Load &load) {
        return load.choice || load.wait->getBlock() != groups.getBody();
      }))
    return groups.emitError("nagpu-specialize-warps: expected tiles of rows "
                            "before the loop over tiles, and one to three "
                            "tiles in that, of which the first is of "
                            "channels, got ")
           << rowLoads.size() << " and " << loopLoads.size();
  for (Load &load : loopLoads)
    if (!load.isVector()) {
      keys = load.getType().getRows();
      values = load.getType().getColumns();
    }
  int64_t needed = countProductRegisters();
  int64_t start = ::na::schedule::countStartRegisters(numGroups);
  if (needed > start)
    return groups.emitError("nagpu-specialize-warps: products of ")
           << keys << " keys and " << values << " channels take " << needed
           << " registers of a thread, but those of a CTA with " << numGroups
           << " consumer warpgroups start with " << start;
  // A loop of one iteration is no loop: then there is no state to carry.
  if (!loop) {
    stages = 1;
    return success();
  }
  return collectMessages();
}

/// Whether a producer can compute it: a scalar, from scalars.
bool mlir::nagpu::isBookkeeping(Operation *op) {
  auto isScalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
  return op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         llvm::all_of(op->getResultTypes(), isScalar) &&
         llvm::all_of(op->getOperandTypes(), isScalar);
}

/// What the rest of the iteration reads of the arithmetic on the induction
/// variable comes from the producer, so that consumers carry no state.
LogicalResult WarpSpecializer::collectMessages() {
  // Of the induction variable itself too: the head, where nothing else changes.
  b.setInsertionPointToStart(loop.getBody());
  Value number = loop.getInductionVar();
  Value copy = arith::AddIOp::create(b, number, constant(0));
  rewriter.replaceUsesWithIf(number, copy, [&](OpOperand &use) {
    Operation *user = use.getOwner();
    bool computes = user->getBlock() == loop.getBody() && isBookkeeping(user);
    return !computes && !isa<AsyncCopyOp>(user);
  });
  auto note = [&](Value value) {
    Operation *def = value.getDefiningOp();
    if (!def || def->getBlock() != loop.getBody() || !isBookkeeping(def))
      return;
    if (value.getType().isInteger(1))
      conditions.insert(value);
    else if (value.getType().isIndex() || value.getType().isInteger(32))
      positions.insert(value);
  };
  auto collect = [&](Operation *op) -> WalkResult {
    // The producers read what copies need.
    if (choices.contains(op))
      return WalkResult::skip();
    if (isa<AsyncCopyOp>(op) ||
        (op->getBlock() == loop.getBody() && isBookkeeping(op)))
      return WalkResult::advance();
    llvm::for_each(op->getOperands(), note);
    return WalkResult::advance();
  };
  for (Operation &op : *loop.getBody())
    op.walk<WalkOrder::PreOrder>(collect);
  int64_t words = positions.size() + (conditions.empty() ? 0 : 1);
  if (words > MailboxType::maxWords || conditions.size() > conditionBits)
    return loop.emitError("nagpu-specialize-warps: consumers read ")
           << positions.size() << " positions and " << conditions.size()
           << " conditions of a tile, expected at most "
           << MailboxType::maxWords << " words";
  return success();
}

//===----------------------------------------------------------------------===//
// Maps, rings and barriers
//===----------------------------------------------------------------------===//

void WarpSpecializer::buildMap(Source &source) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(launch);
  SmallVector<int64_t> box = {1};
  llvm::append_range(box, source.copy.getBox());
  auto type = cast<SharedType>(source.copy.getDest().getType());
  box.push_back(type.getPanelColumns());
  Value tensor = source.copy.getSource();
  ArrayRef<int64_t> dilation = source.copy.getDilation();
  bool dilated = llvm::any_of(dilation, [](int64_t d) { return d != 1; });
  source.map = TensorMapOp::create(
      b,
      TensorMapType::get(b.getContext(), box, type.getElementType(),
                         type.getSwizzle()),
      tensor, dilated ? b.getDenseI64ArrayAttr(dilation) : DenseI64ArrayAttr());
  if (!dilated)
    return;
  auto [strides, offset] =
      cast<MemRefType>(tensor.getType()).getStridesAndOffset();
  if (llvm::none_of(strides, ShapedType::isDynamic)) {
    for (int64_t stride : strides)
      source.strides.push_back(constant(stride));
    return;
  }
  llvm::append_range(
      source.strides,
      memref::ExtractStridedMetadataOp::create(b, tensor).getStrides());
}

void WarpSpecializer::buildMaps(Load &load) {
  buildMap(load.source);
  if (load.choice)
    buildMap(load.other);
}

Value WarpSpecializer::buildRing(Load &load, int64_t slots) {
  SharedType type = load.getType();
  SmallVector<int64_t> shape = {slots};
  llvm::append_range(shape, type.getShape());
  return AllocOp::create(b,
                         SharedType::get(b.getContext(), shape,
                                         type.getElementType(),
                                         type.getSwizzle()),
                         IntegerAttr());
}

Value WarpSpecializer::buildBarrier(int64_t slots, int64_t arrivals) {
  return MBarrierInitOp::create(b, BarrierType::get(b.getContext(), slots),
                                arrivals, IntegerAttr());
}

/// Registers of the product with the most columns: keys, or channels.
int64_t WarpSpecializer::countProductRegisters() {
  int64_t columns = std::max(keys, values);
  groups.walk([&](WgmmaOp product) {
    columns = std::max(columns, product.getType().getShape().back());
  });
  return ::na::schedule::countProductRegisters(columns, columns);
}

/// Attention has one product for scores in its loop, gradients have two.
::na::schedule::WarpgroupBudgets
WarpSpecializer::getBudgets(int64_t sharedBytes) {
  int64_t carried = 0, scores = 0, products = 0;
  groups.walk([&](WgmmaOp product) {
    if (product.getAcc()) {
      carried += product.getType().getNumRegisters();
      return;
    }
    scores += product.getType().getNumRegisters();
    ++products;
  });
  if (products < 2)
    return ::na::schedule::getWarpgroupBudgets(numGroups, keys, values,
                                               sharedBytes);
  return ::na::schedule::getWarpgroupBudgets(
      numGroups, ::na::schedule::countGradientRegisters(carried, scores),
      countProductRegisters(), sharedBytes, /*wide=*/false);
}

RolesOp WarpSpecializer::buildRoles() {
  b.setInsertionPoint(groups);
  b.setLoc(groups.getLoc());
  // Every warp of a consumer arrives for itself.
  int64_t consumers = numGroups * warpgroupWarps;
  int64_t arrivals = 0, lanes = 0;
  for (Load &load : rowLoads) {
    if (load.isVector())
      lanes = warpSize;
    else
      ++arrivals;
  }
  Value rowsFull = buildBarrier(numGroups, arrivals + lanes);
  for (Load &load : rowLoads) {
    load.ring = buildRing(load, numGroups);
    load.full = rowsFull;
  }
  for (Load &load : loopLoads) {
    load.ring = buildRing(load, stages);
    load.full = buildBarrier(stages, load.isVector() ? warpSize : 1);
    if (loop)
      load.free = buildBarrier(stages, consumers);
  }
  for (Load &load : llvm::concat<Load>(rowLoads, loopLoads))
    if (!load.isVector())
      buildMaps(load);
  int64_t words = positions.size() + (conditions.empty() ? 0 : 1);
  // Words may be read until the slot of the tile is filled a second time.
  if (words)
    mailbox = MailboxAllocOp::create(
        b, MailboxType::get(b.getContext(), 2 * stages, numGroups, words),
        IntegerAttr());
  auto countBytes = [](ArrayRef<Load> loads) {
    int64_t bytes = 0;
    for (const Load &load : loads)
      bytes += cast<SharedType>(load.ring.getType()).getBytes();
    return bytes;
  };
  int64_t sharedBytes = countBytes(rowLoads) + countBytes(loopLoads) +
                        ::na::schedule::bookkeepingBytes;
  auto budgets = getBudgets(sharedBytes);
  auto op = RolesOp::create(b, budgets.producer, budgets.consumer, numGroups,
                            producers);
  for (Region &region : op.getProducers())
    region.emplaceBlock();
  return op;
}

LogicalResult WarpSpecializer::run() {
  if (failed(collect()))
    return failure();
  roles = buildRoles();
  MutableArrayRef<Region> regions = roles.getProducers();
  SmallVector<Load *> vectors;
  auto enter = [&] {
    b.setInsertionPointToEnd(&regions.front().front());
    regions = regions.drop_front();
  };
  for (auto [i, load] : llvm::enumerate(loopLoads)) {
    if (load.isVector()) {
      vectors.push_back(&load);
      continue;
    }
    enter();
    buildLoopProducer(&load, /*posts=*/i == 0 && mailbox);
  }
  if (!vectors.empty()) {
    enter();
    buildLoopProducer(vectors, /*posts=*/false);
  }
  enter();
  buildRowProducer();
  if (failed(convertConsumers()))
    return failure();
  rewriter.eraseOp(groups);
  return success();
}

namespace {
struct SpecializeWarps
    : nagpu::impl::NAGPUSpecializeWarpsBase<SpecializeWarps> {
  using NAGPUSpecializeWarpsBase::NAGPUSpecializeWarpsBase;

  void runOnOperation() override {
    if (stages < 0 || stages > maxStages) {
      getOperation()->emitError("nagpu-specialize-warps: 'stages' is ")
          << int64_t(stages) << ", expected 0 to " << maxStages;
      return signalPassFailure();
    }
    SmallVector<gpu::LaunchOp> launches;
    getOperation()->walk([&](gpu::LaunchOp op) { launches.push_back(op); });
    for (gpu::LaunchOp launch : launches) {
      if (!launch.getBody().hasOneBlock())
        continue;
      scf::ForallOp groups = findWarpgroupLoop(launch.getBody().front());
      if (!groups)
        continue;
      int64_t depth = stages;
      auto schedule =
          launch->getAttrOfType<mlir::na::ScheduleAttr>("na.schedule");
      if (depth == 0 && schedule)
        depth = schedule.getStages();
      if (depth == 0)
        depth = defaultStages;
      splitChoices(groups);
      if (failed(WarpSpecializer(launch, groups, depth).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
