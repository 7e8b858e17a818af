//===- SpecializeWarps.cpp - Producer warps and consumer warpgroups -------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpgroupLoop.h"

#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NAGPU/IR/NAGPU.h"
#include "na/Dialect/NAGPU/Transforms/Passes.h"
#include "na/Schedule/WarpgroupBudgets.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
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
static constexpr int64_t mailboxWords = 4;
static constexpr int64_t maxProducers = 4;
static constexpr int64_t warpSize = 32;

namespace {

/// A copy, and what the TMA has to know of its tensor.
struct Source {
  AsyncCopyOp copy;
  Value map;
  /// Empty without dilation.
  SmallVector<Value> strides;
};

/// A tile that is copied, waited for and read.
struct Load {
  Source source;
  /// Where the tile is copied from one of two tensors: the branch, and the
  /// other copy, that of its `else`.
  scf::IfOp choice;
  Source other;
  AsyncCommitOp commit;
  AsyncWaitOp wait;
  Value ring, full, free;

  Value getTile() { return source.copy.getDest(); }
  SharedType getType() { return cast<SharedType>(getTile().getType()); }
  /// Whether the lanes of the producer copy it, a number for each token,
  /// instead of the TMA.
  bool isVector() { return source.copy.isVector(); }
};

/// The slot of the rings in an iteration.
struct Slot {
  Value index, parity;
};

class WarpSpecializer {
public:
  WarpSpecializer(gpu::LaunchOp launch, scf::ForallOp groups, int64_t stages)
      : launch(launch), groups(groups), stages(stages), rewriter(launch),
        b(launch.getLoc(), launch) {}

  LogicalResult run();

private:
  LogicalResult collect();
  LogicalResult checkCopy(AsyncCopyOp copy);
  LogicalResult collectLoad(AsyncCopyOp copy, Load &load);
  LogicalResult collectMessages();
  RolesOp buildRoles();
  ::na::schedule::WarpgroupBudgets getBudgets(int64_t sharedBytes);
  void buildMap(Source &source);
  void buildMaps(Load &load);
  Value buildRing(Load &load, int64_t slots);
  Value buildBarrier(int64_t slots, int64_t arrivals);
  void buildRowProducer();
  void buildLoopProducer(ArrayRef<Load *> loads, bool posts);
  Value buildVectorCopy(Load &load, IRMapping &mapping, Slot slot);
  void buildCopies(ArrayRef<Load *> loads, IRMapping &mapping, Slot slot);
  SmallVector<Value> buildCoordinates(Source &source, IRMapping &mapping);
  void buildTmaLoad(Load &load, IRMapping &mapping, Slot slot);
  void buildPosts(MutableArrayRef<IRMapping> mappings, Slot slot);
  Value clone(Value value, IRMapping &mapping, Operation *beforeLoop);
  LogicalResult convertConsumers();
  LogicalResult receive(Load &load, Slot slot, bool waited);
  void receiveMessages(Slot slot);
  void skip(scf::IfOp branch, Slot slot);
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value toI32(Value value);

  gpu::LaunchOp launch;
  scf::ForallOp groups;
  int64_t stages, numGroups = 0, producers = 0;
  /// Rows and columns of the last tile of the loop.
  int64_t keys = 0, values = 0;
  IRRewriter rewriter;
  ImplicitLocOpBuilder b;
  RolesOp roles;
  /// The loop over tiles of columns (keys, or the queries of a gradient), what
  /// is loaded in it, in order, and what is loaded for the rows before it.
  scf::ForOp loop;
  SmallVector<Load> loopLoads, rowLoads;
  /// What the loop computes from its induction variable for the consumers:
  /// conditions, which share a word, and positions.
  SetVector<Value> conditions, positions;
  /// The branches that choose what is copied.
  DenseSet<Operation *> choices;
  Value mailbox;
};

} // namespace

Value WarpSpecializer::toI32(Value value) {
  return value.getType().isIndex()
             ? arith::IndexCastOp::create(b, b.getI32Type(), value).getResult()
             : value;
}

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
  for (auto [axis, dilation] : llvm::enumerate(copy.getDilation()))
    if (!copy.isVector() && dilation != 1 && source.isDynamicDim(axis + 1))
      return copy.emitError("nagpu-specialize-warps: a copy with dilation ")
             << dilation << " on axis " << axis << ", whose length is dynamic";
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
  int64_t needed = ::na::schedule::countProductRegisters(keys, values);
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
static bool isBookkeeping(Operation *op) {
  auto isScalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
  return op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         llvm::all_of(op->getResultTypes(), isScalar) &&
         llvm::all_of(op->getOperandTypes(), isScalar);
}

/// What the rest of the iteration reads of the arithmetic on the induction
/// variable comes from the producer, so that consumers carry no state.
LogicalResult WarpSpecializer::collectMessages() {
  auto note = [&](Value value, Operation *user) -> LogicalResult {
    Operation *def = value.getDefiningOp();
    if (value == loop.getInductionVar())
      return user->emitError("nagpu-specialize-warps: consumers read the "
                             "induction variable");
    if (!def || def->getBlock() != loop.getBody() || !isBookkeeping(def))
      return success();
    if (value.getType().isInteger(1))
      conditions.insert(value);
    else if (value.getType().isIndex() || value.getType().isInteger(32))
      positions.insert(value);
    return success();
  };
  auto collect = [&](Operation *op) -> WalkResult {
    // The producers read what copies need.
    if (choices.contains(op))
      return WalkResult::skip();
    if (isa<AsyncCopyOp>(op) ||
        (op->getBlock() == loop.getBody() && isBookkeeping(op)))
      return WalkResult::advance();
    for (Value operand : op->getOperands())
      if (failed(note(operand, op)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  };
  for (Operation &op : *loop.getBody())
    if (op.walk<WalkOrder::PreOrder>(collect).wasInterrupted())
      return failure();
  int64_t words = positions.size() + (conditions.empty() ? 0 : 1);
  if (words > mailboxWords || conditions.size() > conditionBits)
    return loop.emitError("nagpu-specialize-warps: consumers read ")
           << positions.size() << " positions and " << conditions.size()
           << " conditions of a tile, expected at most " << mailboxWords
           << " words";
  return success();
}

//===----------------------------------------------------------------------===//
// Producers
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
      ::na::schedule::countProductRegisters(keys, values), sharedBytes,
      /*wide=*/false);
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

/// The value in a producer: arithmetic of the loop is cloned at the insertion
/// point, that before it once, before the producer's loop.
Value WarpSpecializer::clone(Value value, IRMapping &mapping,
                             Operation *beforeLoop) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *def = value.getDefiningOp();
  if (!def || !groups->isProperAncestor(def))
    return value;
  for (Value operand : def->getOperands())
    mapping.map(operand, clone(operand, mapping, beforeLoop));
  OpBuilder::InsertionGuard guard(b);
  if (beforeLoop && def->getBlock() == groups.getBody())
    b.setInsertionPoint(beforeLoop);
  Operation *cloned = b.clone(*def, mapping);
  return cloned->getResult(cast<OpResult>(value).getResultNumber());
}

/// The coordinates of a box, as the tensor map has them.
SmallVector<Value> WarpSpecializer::buildCoordinates(Source &source,
                                                     IRMapping &mapping) {
  AsyncCopyOp copy = source.copy;
  Operation *before =
      dyn_cast<scf::ForOp>(b.getInsertionBlock()->getParentOp());
  SmallVector<Value> at = {clone(copy.getBatch(), mapping, before)};
  auto type = cast<MemRefType>(copy.getSource().getType());
  Value head = clone(copy.getHead(), mapping, before);
  Value channel =
      arith::MulIOp::create(b, head, constant(type.getShape().back()));
  for (auto [axis, token] : llvm::enumerate(copy.getAt())) {
    Value place = clone(token, mapping, before);
    if (int64_t dilation = copy.getDilation()[axis]; dilation != 1) {
      int64_t length = type.getDimSize(axis + 1);
      int64_t padding = llvm::alignTo(length, dilation) - length;
      Value padded = arith::AddIOp::create(b, place, constant(padding));
      place = arith::DivUIOp::create(b, padded, constant(dilation));
      Value residue = arith::RemUIOp::create(b, padded, constant(dilation));
      residue = arith::MulIOp::create(b, residue, source.strides[axis + 1]);
      channel = arith::AddIOp::create(b, channel, residue);
    }
    at.push_back(place);
  }
  at.push_back(channel);
  return at;
}

void WarpSpecializer::buildTmaLoad(Load &load, IRMapping &mapping, Slot slot) {
  // All in front of the branch, because both of its sides share some of it.
  SmallVector<Value> at = buildCoordinates(load.source, mapping), otherAt;
  Value condition;
  if (load.choice) {
    otherAt = buildCoordinates(load.other, mapping);
    condition =
        clone(load.choice.getCondition(), mapping,
              dyn_cast<scf::ForOp>(b.getInsertionBlock()->getParentOp()));
  }
  SharedType type = load.getType();
  int64_t bytes = type.getSlotType().getBytes();
  MBarrierExpectTxOp::create(b, load.full, slot.index, bytes);
  Value tile = SlotOp::create(b, type, load.ring, slot.index);
  auto copy = [&](Source &source, ValueRange at) {
    TmaLoadOp::create(b, source.map, at, tile, load.full, slot.index);
  };
  if (!load.choice)
    return copy(load.source, at);
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  copy(load.source, at);
  b.setInsertionPointToStart(branch.elseBlock());
  copy(load.other, otherAt);
}

/// The lanes' copies of a vector; returns their token.
Value WarpSpecializer::buildVectorCopy(Load &load, IRMapping &mapping,
                                       Slot slot) {
  Operation *before =
      dyn_cast<scf::ForOp>(b.getInsertionBlock()->getParentOp());
  AsyncCopyOp copy = load.source.copy;
  Value batch = clone(copy.getBatch(), mapping, before);
  Value head = clone(copy.getHead(), mapping, before);
  auto at = llvm::map_to_vector(copy.getAt(), [&](Value position) {
    return clone(position, mapping, before);
  });
  Value tile = SlotOp::create(b, load.getType(), load.ring, slot.index);
  return AsyncCopyOp::create(b, copy.getSource(), batch, head, at, tile,
                             copy.getBox(), copy.getDilation(), /*warps=*/1);
}

void WarpSpecializer::buildCopies(ArrayRef<Load *> loads, IRMapping &mapping,
                                  Slot slot) {
  llvm::MapVector<Value, SmallVector<Value>> tokens;
  for (Load *load : loads) {
    if (load->isVector())
      tokens[load->full].push_back(buildVectorCopy(*load, mapping, slot));
    else
      buildTmaLoad(*load, mapping, slot);
  }
  for (auto &[barrier, copies] : tokens)
    MBarrierArriveCopiesOp::create(b, barrier, slot.index, copies);
}

void WarpSpecializer::buildRowProducer() {
  SmallVector<Load *> loads;
  for (bool vectors : {false, true})
    for (Load &load : rowLoads)
      if (load.isVector() == vectors)
        loads.push_back(&load);
  for (int64_t group = 0; group < numGroups; ++group) {
    IRMapping mapping;
    Value index = constant(group);
    mapping.map(groups.getInductionVar(0), index);
    buildCopies(loads, mapping, {index, Value()});
  }
}

/// The slot of the mailbox that goes with a slot of the rings; `phase` is the
/// parity that consumers wait for.
static Value getMailboxSlot(ImplicitLocOpBuilder &b, Slot slot,
                            int64_t stages) {
  Value phase = arith::IndexCastOp::create(b, b.getIndexType(), slot.parity);
  Value turn = arith::MulIOp::create(
      b, phase, arith::ConstantIndexOp::create(b, stages).getResult());
  return arith::AddIOp::create(b, slot.index, turn);
}

void WarpSpecializer::buildPosts(MutableArrayRef<IRMapping> mappings,
                                 Slot slot) {
  Operation *before = b.getInsertionBlock()->getParentOp();
  Value at = getMailboxSlot(b, slot, stages);
  for (auto [group, mapping] : llvm::enumerate(mappings)) {
    SmallVector<Value> words;
    Value flags;
    for (auto [bit, condition] : llvm::enumerate(conditions)) {
      Value word = arith::ExtUIOp::create(b, b.getI32Type(),
                                          clone(condition, mapping, before));
      if (bit)
        word = arith::ShLIOp::create(
            b, word,
            arith::ConstantOp::create(b, b.getI32IntegerAttr(bit)).getResult());
      flags = flags ? arith::OrIOp::create(b, flags, word).getResult() : word;
    }
    if (flags)
      words.push_back(flags);
    for (Value position : positions)
      words.push_back(toI32(clone(position, mapping, before)));
    MailboxPutOp::create(b, mailbox, at, constant(group), words);
  }
}

void WarpSpecializer::buildLoopProducer(ArrayRef<Load *> loads, bool posts) {
  SmallVector<IRMapping> mappings(numGroups);
  for (auto [group, mapping] : llvm::enumerate(mappings))
    mapping.map(groups.getInductionVar(0), constant(group));
  if (!loop)
    return buildCopies(loads, mappings[0], {constant(0), Value()});
  auto bound = [&](Value value) { return clone(value, mappings[0], nullptr); };
  // A producer finds all slots free: the phase before the first has ended.
  Value free = arith::ConstantOp::create(b, b.getI32IntegerAttr(1));
  auto copies = scf::ForOp::create(
      b, bound(loop.getLowerBound()), bound(loop.getUpperBound()),
      bound(loop.getStep()), ValueRange{constant(0), free});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(copies.getBody());
  Value iv = copies.getInductionVar();
  for (IRMapping &mapping : mappings)
    mapping.map(loop.getInductionVar(), iv);
  Slot slot{copies.getRegionIterArg(0), copies.getRegionIterArg(1)};
  for (Load *load : loads)
    MBarrierWaitOp::create(b, load->free, slot.index, slot.parity);
  if (posts) {
    Value one = arith::ConstantOp::create(b, b.getI32IntegerAttr(1));
    Value phase = arith::XOrIOp::create(b, slot.parity, one);
    buildPosts(mappings, {slot.index, phase});
  }
  buildCopies(loads, mappings[0], slot);
  auto next = AdvanceOp::create(b, slot.index, slot.parity, stages);
  scf::YieldOp::create(b, next.getResults());
}

//===----------------------------------------------------------------------===//
// Consumers
//===----------------------------------------------------------------------===//

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
  Value at = getMailboxSlot(b, slot, stages);
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
