//===- OverlapProducts.cpp - Products of one tile beside another's softmax ===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NAGPU/IR/NAGPU.h"
#include "na/Dialect/NAGPU/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/STLExtras.h"

namespace mlir::nagpu {
#define GEN_PASS_DEF_NAGPUOVERLAPPRODUCTS
#include "na/Dialect/NAGPU/Transforms/Passes.h.inc"
} // namespace mlir::nagpu

using namespace mlir;
using namespace mlir::nagpu;

namespace {

/// A slot of a ring and the parity of its phase.
struct Slot {
  Value index, parity;
};

/// The loop of a consumer over tiles of keys, taken apart.
struct Step {
  scf::ForOp loop;
  /// The branch where the tile is needed; null if all are.
  scf::IfOp needed;
  MBarrierWaitOp keysFull, valuesFull;
  MBarrierArriveOp keysFree, valuesFree;
  int64_t slots = 0;
  /// What is read of the mailbox. Registers are scarce while products are in
  /// flight, so it is read behind the first.
  SmallVector<Operation *> head;
  /// The first product up to its commit.
  SmallVector<Operation *> scores;
  WgmmaWaitOp scoresWait;
  /// From scores to weights; then what also reads the accumulator, or makes
  /// the operand of the second product.
  SmallVector<Operation *> softmax, late;
  /// The second product up to its commit, without the wait for the values.
  SmallVector<Operation *> output;
  WgmmaFenceOp outputFence;
  WgmmaWaitOp outputWait;
  /// Values of an iteration's end, for each carried value but the slot.
  SmallVector<Value> yields;
  size_t accumulator = 0;

  bool match(scf::ForOp loop);

private:
  bool matchBlock(Block *block);
};

/// What a search for the next needed tile gives.
struct Found {
  Value found, position;
  Slot keys, values;
  /// Tiles of values that were passed by and not freed yet.
  Value skipped;
};

class ProductOverlapper {
public:
  ProductOverlapper(Step &step, RewriterBase &rewriter)
      : step(step), rewriter(rewriter), b(step.loop.getLoc(), rewriter) {}

  void run();

private:
  Found findNext(Value position, Slot keys, Slot values, bool pending);
  SmallVector<Value> buildRound(const Found &first, ValueRange carried,
                                Found &last);
  Value buildOutput(ValueRange operands, Slot values);
  void freeValues(Slot values);
  Slot freeSkipped(Slot values, Value count);
  void cloneAll(ArrayRef<Operation *> operations, IRMapping &mapping) {
    for (Operation *op : operations)
      b.clone(*op, mapping);
  }
  void mapSlot(IRMapping &mapping, Slot slot) {
    auto args = step.loop.getRegionIterArgs();
    mapping.map(args[args.size() - 2], slot.index);
    mapping.map(args[args.size() - 1], slot.parity);
  }
  Slot advance(Slot slot) {
    auto next = AdvanceOp::create(b, slot.index, slot.parity, step.slots);
    return {next.getNextIndex(), next.getNextParity()};
  }
  Value i32(int64_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  }
  Value nextPosition(Value position) {
    return arith::AddIOp::create(b, position, step.loop.getStep());
  }
  Value isInside(Value position) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, position,
                                 step.loop.getUpperBound());
  }

  Step &step;
  RewriterBase &rewriter;
  ImplicitLocOpBuilder b;
};

} // namespace

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

bool Step::match(scf::ForOp candidate) {
  loop = candidate;
  size_t carried = loop.getNumRegionIterArgs();
  if (carried < 3)
    return false;
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  auto advance = yield.getOperand(carried - 1).getDefiningOp<AdvanceOp>();
  if (!advance || yield.getOperand(carried - 2) != advance.getNextIndex() ||
      advance.getIndex() != loop.getRegionIterArgs()[carried - 2])
    return false;
  slots = advance.getSlots();
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (auto wait = dyn_cast<MBarrierWaitOp>(op); wait && !keysFull) {
      keysFull = wait;
      continue;
    }
    auto branch = dyn_cast<scf::IfOp>(op);
    if (branch && keysFull && branch.getNumResults() + 2 == carried) {
      needed = branch;
      break;
    }
    if (isa<WgmmaFenceOp, SlotOp>(op))
      break;
    head.push_back(&op);
  }
  if (!keysFull)
    return false;
  Block *block = needed ? needed.thenBlock() : loop.getBody();
  if (needed) {
    auto results = cast<scf::YieldOp>(block->getTerminator()).getOperands();
    for (auto [value, result] :
         llvm::zip(yield.getOperands(), needed.getResults()))
      if (value != result)
        return false;
    llvm::append_range(yields, results);
  } else {
    llvm::append_range(yields, yield.getOperands().drop_back(2));
  }
  return matchBlock(block);
}

bool Step::matchBlock(Block *block) {
  for (Operation &op : block->without_terminator()) {
    if (&op == keysFull || isa<AdvanceOp>(op) || llvm::is_contained(head, &op))
      continue;
    if (auto wait = dyn_cast<WgmmaWaitOp>(op)) {
      if (!scoresWait)
        scoresWait = wait;
      else if (!outputWait)
        outputWait = wait;
      else
        return false;
      if (wait.getValues().size() != 1 || wait.getPending() != 0)
        return false;
      continue;
    }
    if (auto arrive = dyn_cast<MBarrierArriveOp>(op)) {
      (outputWait ? valuesFree : keysFree) = arrive;
      continue;
    }
    if (!scoresWait) {
      scores.push_back(&op);
      continue;
    }
    if (auto wait = dyn_cast<MBarrierWaitOp>(op)) {
      if (valuesFull)
        return false;
      valuesFull = wait;
      continue;
    }
    if (auto fence = dyn_cast<WgmmaFenceOp>(op))
      outputFence = fence;
    if (outputFence || isa<SlotOp>(op)) {
      if (outputWait)
        return false;
      output.push_back(&op);
      continue;
    }
    softmax.push_back(&op);
  }
  if (!outputWait || !keysFree || !valuesFree || !valuesFull || !outputFence)
    return false;

  // The accumulator is what the second product gives back.
  auto *it = llvm::find(yields, outputWait.getResult(0));
  if (it == yields.end())
    return false;
  accumulator = it - yields.begin();
  Value carried = loop.getRegionIterArgs()[accumulator];
  SmallPtrSet<Operation *, 8> dependent;
  auto isLate = [&](Operation *op) {
    bool late = isa<ConvertOp>(op) &&
                llvm::is_contained(outputFence.getValues(), op->getResult(0));
    op->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        late |=
            operand == carried || (operand.getDefiningOp() &&
                                   dependent.contains(operand.getDefiningOp()));
    });
    if (late)
      dependent.insert(op);
    return late;
  };
  SmallVector<Operation *> all;
  std::swap(all, softmax);
  for (Operation *op : all)
    (isLate(op) ? late : softmax).push_back(op);
  // What the next tile needs must not wait for this one's product.
  auto isEarly = [&](Value value) {
    return !value.getDefiningOp() || !dependent.contains(value.getDefiningOp());
  };
  for (auto [i, value] : llvm::enumerate(yields))
    if (i != accumulator && !isEarly(value))
      return false;
  auto isProduct = [](ArrayRef<Operation *> operations) {
    return llvm::count_if(operations, llvm::IsaPred<WgmmaOp>) == 1 &&
           llvm::count_if(operations, llvm::IsaPred<WgmmaCommitOp>) == 1 &&
           llvm::all_of(operations, [](Operation *op) {
             return isa<WgmmaOp, WgmmaCommitOp, WgmmaFenceOp, SlotOp>(op) ||
                    isMemoryEffectFree(op) || isa<MailboxGetOp>(op);
           });
  };
  return isProduct(scores) && isProduct(output);
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

void ProductOverlapper::freeValues(Slot values) {
  MBarrierArriveOp::create(b, step.valuesFree.getBarrier(), values.index);
}

/// Waits for the keys of the next tile that is needed. Those on the way are
/// freed; their values too, unless a product that is pending still reads the
/// tile of values before them. Then they are counted, and the search ends, in
/// vain, before this warpgroup keeps the whole ring from the others.
Found ProductOverlapper::findNext(Value position, Slot keys, Slot values,
                                  bool pending) {
  Value none = i32(0);
  auto waitForKeys = [&](Slot slot) {
    MBarrierWaitOp::create(b, step.keysFull.getBarrier(), slot.index,
                           slot.parity);
  };
  if (!step.needed) {
    Value inside = isInside(position);
    auto branch = scf::IfOp::create(b, inside, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    waitForKeys(keys);
    return {inside, position, keys, values, none};
  }
  SmallVector<Value> inits = {position,     keys.index,    keys.parity,
                              values.index, values.parity, none};
  SmallVector<Type> types(ValueRange(inits).getTypes());
  types.insert(types.begin(), b.getI1Type());
  auto search = scf::WhileOp::create(b, types, inits);
  SmallVector<Location> locations(inits.size(), b.getLoc());
  {
    OpBuilder::InsertionGuard guard(b);
    Block *before = b.createBlock(&search.getBefore(), {},
                                  ValueRange(inits).getTypes(), locations);
    Slot slot{before->getArgument(1), before->getArgument(2)};
    Value inside = isInside(before->getArgument(0));
    auto branch =
        scf::IfOp::create(b, TypeRange(b.getI1Type()), inside, true, true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(branch.elseBlock());
      scf::YieldOp::create(
          b, arith::ConstantOp::create(b, b.getBoolAttr(false)).getResult());
      b.setInsertionPointToEnd(branch.thenBlock());
      waitForKeys(slot);
      IRMapping mapping;
      mapSlot(mapping, slot);
      cloneAll(step.head, mapping);
      scf::YieldOp::create(b,
                           mapping.lookupOrDefault(step.needed.getCondition()));
    }
    Value found = branch.getResult(0);
    Value passBy = arith::AndIOp::create(
        b, inside,
        arith::XOrIOp::create(
            b, found,
            arith::ConstantOp::create(b, b.getBoolAttr(true)).getResult())
            .getResult());
    if (pending)
      passBy = arith::AndIOp::create(
          b, passBy,
          arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                before->getArgument(5), i32(step.slots - 1))
              .getResult());
    SmallVector<Value> results = {found};
    llvm::append_range(results, before->getArguments());
    scf::ConditionOp::create(b, passBy, results);

    Block *after =
        b.createBlock(&search.getAfter(), {}, types,
                      SmallVector<Location>(types.size(), b.getLoc()));
    Slot passed{after->getArgument(2), after->getArgument(3)};
    Slot unread{after->getArgument(4), after->getArgument(5)};
    Value count = after->getArgument(6);
    MBarrierArriveOp::create(b, step.keysFree.getBarrier(), passed.index);
    passed = advance(passed);
    if (pending) {
      count = arith::AddIOp::create(b, count, i32(1));
    } else {
      MBarrierWaitOp::create(b, step.valuesFull.getBarrier(), unread.index,
                             unread.parity);
      freeValues(unread);
      unread = advance(unread);
    }
    scf::YieldOp::create(b, ValueRange{nextPosition(after->getArgument(1)),
                                       passed.index, passed.parity,
                                       unread.index, unread.parity, count});
  }
  return {search.getResult(0),
          search.getResult(1),
          {search.getResult(2), search.getResult(3)},
          {search.getResult(4), search.getResult(5)},
          search.getResult(6)};
}

/// Frees, unread, as many tiles of values.
Slot ProductOverlapper::freeSkipped(Slot values, Value count) {
  if (!step.needed)
    return values;
  auto loop = scf::ForOp::create(b, i32(0), count, i32(1),
                                 ValueRange{values.index, values.parity});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Slot slot{loop.getRegionIterArg(0), loop.getRegionIterArg(1)};
  MBarrierWaitOp::create(b, step.valuesFull.getBarrier(), slot.index,
                         slot.parity);
  freeValues(slot);
  slot = advance(slot);
  scf::YieldOp::create(b, ValueRange{slot.index, slot.parity});
  return {loop.getResult(0), loop.getResult(1)};
}

/// Starts the product of weights and values.
Value ProductOverlapper::buildOutput(ValueRange operands, Slot values) {
  MBarrierWaitOp::create(b, step.valuesFull.getBarrier(), values.index,
                         values.parity);
  IRMapping mapping;
  mapSlot(mapping, values);
  for (auto [old, value] :
       llvm::zip_equal(step.outputFence.getValues(), operands))
    mapping.map(old, value);
  cloneAll(step.output, mapping);
  return mapping.lookup(step.outputWait.getValues()[0]);
}

static Value buildWait(ImplicitLocOpBuilder &b, int64_t pending, Value value) {
  return WgmmaWaitOp::create(b, TypeRange(value.getType()), pending, value)
      .getResult(0);
}

/// From a needed tile on, as long as there are further ones: returns the
/// carried values behind them.
SmallVector<Value> ProductOverlapper::buildRound(const Found &first,
                                                 ValueRange carried,
                                                 Found &last) {
  size_t accumulator = step.accumulator;
  auto mapCarried = [&](IRMapping &mapping, ValueRange values) {
    for (auto [arg, value] : llvm::zip(step.loop.getRegionIterArgs(), values))
      mapping.map(arg, value);
  };
  auto getYields = [&](IRMapping &mapping) {
    SmallVector<Value> values;
    for (auto [i, value] : llvm::enumerate(step.yields))
      if (i != accumulator)
        values.push_back(mapping.lookupOrDefault(value));
    return values;
  };
  auto getOperands = [&](IRMapping &mapping) {
    return llvm::map_to_vector(step.outputFence.getValues(), [&](Value value) {
      return mapping.lookupOrDefault(value);
    });
  };
  /// Carried values with a hole for the accumulator.
  auto withAccumulator = [&](ValueRange rest, Value value) {
    SmallVector<Value> values(rest);
    values.insert(values.begin() + accumulator, value);
    return values;
  };

  IRMapping mapping;
  mapSlot(mapping, first.keys);
  mapCarried(mapping, carried);
  cloneAll(step.scores, mapping);
  Value product = mapping.lookup(step.scoresWait.getValues()[0]);
  mapping.map(step.scoresWait.getResult(0), buildWait(b, 0, product));
  MBarrierArriveOp::create(b, step.keysFree.getBarrier(), first.keys.index);
  cloneAll(step.head, mapping);
  cloneAll(step.softmax, mapping);
  cloneAll(step.late, mapping);
  SmallVector<Value> operands = getOperands(mapping);
  SmallVector<Value> rest = getYields(mapping);
  Found next = findNext(nextPosition(first.position), advance(first.keys),
                        first.values, /*pending=*/true);

  // found, position, slots of keys and pending values, skipped, operands of
  // the pending product, the rest of what is carried.
  SmallVector<Value> inits = {next.found,         next.position,
                              next.keys.index,    next.keys.parity,
                              first.values.index, first.values.parity,
                              next.skipped};
  size_t fixed = inits.size();
  llvm::append_range(inits, operands);
  llvm::append_range(inits, rest);
  SmallVector<Type> types(ValueRange(inits).getTypes());
  SmallVector<Location> locations(types.size(), b.getLoc());
  auto steady = scf::WhileOp::create(b, types, inits);
  {
    OpBuilder::InsertionGuard guard(b);
    Block *before = b.createBlock(&steady.getBefore(), {}, types, locations);
    scf::ConditionOp::create(b, before->getArgument(0), before->getArguments());

    Block *body = b.createBlock(&steady.getAfter(), {}, types, locations);
    Slot keys{body->getArgument(2), body->getArgument(3)};
    Slot values{body->getArgument(4), body->getArgument(5)};
    ValueRange pendingOperands =
        ValueRange(body->getArguments()).slice(fixed, operands.size());
    ValueRange pendingRest =
        ValueRange(body->getArguments()).drop_front(fixed + operands.size());
    IRMapping mapping;
    mapSlot(mapping, keys);
    mapCarried(mapping, withAccumulator(pendingRest, Value()));
    mapping.erase(step.loop.getRegionIterArgs()[accumulator]);
    cloneAll(step.scores, mapping);
    Value scores = mapping.lookup(step.scoresWait.getValues()[0]);
    Value output = buildOutput(pendingOperands, values);
    mapping.map(step.scoresWait.getResult(0), buildWait(b, 1, scores));
    MBarrierArriveOp::create(b, step.keysFree.getBarrier(), keys.index);
    cloneAll(step.head, mapping);
    cloneAll(step.softmax, mapping);
    // The wait for the next keys is also a branch, over which ptxas does not
    // move the wait for the product; it would move it up to the softmax.
    Found next = findNext(nextPosition(body->getArgument(1)), advance(keys),
                          values, /*pending=*/true);
    output = buildWait(b, 0, output);
    freeValues(values);
    values = freeSkipped(advance(values), body->getArgument(6));
    mapping.map(step.loop.getRegionIterArgs()[accumulator], output);
    cloneAll(step.late, mapping);
    SmallVector<Value> yields = {
        next.found,   next.position, next.keys.index, next.keys.parity,
        values.index, values.parity, next.skipped};
    llvm::append_range(yields, getOperands(mapping));
    llvm::append_range(yields, getYields(mapping));
    scf::YieldOp::create(b, yields);
  }
  ValueRange results = steady.getResults();
  Slot values{results[4], results[5]};
  Value output = buildWait(
      b, 0, buildOutput(results.slice(fixed, operands.size()), values));
  freeValues(values);
  last.position = results[1];
  last.keys = {results[2], results[3]};
  last.values = freeSkipped(advance(values), results[6]);
  return withAccumulator(results.drop_front(fixed + operands.size()), output);
}

void ProductOverlapper::run() {
  scf::ForOp loop = step.loop;
  b.setInsertionPoint(loop);
  size_t carried = loop.getNumRegionIterArgs() - 2;
  ValueRange inits = loop.getInitArgs().take_front(carried);
  Slot slot{loop.getInitArgs()[carried], loop.getInitArgs()[carried + 1]};

  // Without a branch all tiles are one round; with one, a round ends where too
  // many tiles in a row are not needed.
  auto buildRoundIf = [&](Found first, ValueRange values, Found &last) {
    SmallVector<Type> types = {first.position.getType(), b.getIndexType(),
                               b.getI32Type(), b.getIndexType(),
                               b.getI32Type()};
    size_t fixed = types.size();
    llvm::append_range(types, values.getTypes());
    auto branch = scf::IfOp::create(b, types, first.found, true, true);
    auto yield = [&](const Found &end, ValueRange values) {
      SmallVector<Value> results = {end.position, end.keys.index,
                                    end.keys.parity, end.values.index,
                                    end.values.parity};
      llvm::append_range(results, values);
      scf::YieldOp::create(b, results);
    };
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(branch.elseBlock());
    yield(first, values);
    b.setInsertionPointToEnd(branch.thenBlock());
    Found end = first;
    SmallVector<Value> round = buildRound(first, values, end);
    yield(end, round);
    ValueRange results = branch.getResults();
    last.position = results[0];
    last.keys = {results[1], results[2]};
    last.values = {results[3], results[4]};
    return SmallVector<Value>(results.drop_front(fixed));
  };
  SmallVector<Value> results;
  Found last;
  if (!step.needed) {
    results = buildRoundIf(
        findNext(loop.getLowerBound(), slot, slot, /*pending=*/false), inits,
        last);
  } else {
    SmallVector<Value> state = {loop.getLowerBound(), slot.index, slot.parity,
                                slot.index, slot.parity};
    size_t fixed = state.size();
    llvm::append_range(state, inits);
    SmallVector<Type> types(ValueRange(state).getTypes());
    SmallVector<Location> locations(types.size(), b.getLoc());
    auto rounds = scf::WhileOp::create(b, types, state);
    OpBuilder::InsertionGuard guard(b);
    Block *before = b.createBlock(&rounds.getBefore(), {}, types, locations);
    scf::ConditionOp::create(b, isInside(before->getArgument(0)),
                             before->getArguments());
    Block *body = b.createBlock(&rounds.getAfter(), {}, types, locations);
    auto args = body->getArguments();
    Found first = findNext(args[0], {args[1], args[2]}, {args[3], args[4]},
                           /*pending=*/false);
    SmallVector<Value> values =
        buildRoundIf(first, ValueRange(args).drop_front(fixed), last);
    SmallVector<Value> yields = {last.position, last.keys.index,
                                 last.keys.parity, last.values.index,
                                 last.values.parity};
    llvm::append_range(yields, values);
    scf::YieldOp::create(b, yields);
    llvm::append_range(results, rounds.getResults().drop_front(fixed));
    last.keys = {rounds.getResult(1), rounds.getResult(2)};
  }
  results.push_back(last.keys.index);
  results.push_back(last.keys.parity);
  rewriter.replaceOp(loop, results);
}

namespace {
struct OverlapProducts
    : nagpu::impl::NAGPUOverlapProductsBase<OverlapProducts> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](RolesOp roles) {
      roles.getConsumers().walk(
          [&](scf::ForOp loop) { loops.push_back(loop); });
    });
    IRRewriter rewriter(&getContext());
    for (scf::ForOp loop : loops) {
      Step step;
      if (step.match(loop))
        ProductOverlapper(step, rewriter).run();
    }
  }
};
} // namespace
