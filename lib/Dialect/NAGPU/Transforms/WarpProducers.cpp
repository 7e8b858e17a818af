//===- WarpProducers.cpp - Warps that fill the rings ----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpSpecializer.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::nagpu;

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
      Value residue = arith::RemUIOp::create(b, place, constant(dilation));
      place = arith::DivUIOp::create(b, place, constant(dilation));
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

void WarpSpecializer::buildPosts(MutableArrayRef<IRMapping> mappings,
                                 Slot slot) {
  Operation *before = b.getInsertionBlock()->getParentOp();
  Value at = getMailboxSlot(slot);
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
