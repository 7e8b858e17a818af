//===- ExpandPipeline.cpp - Prologue and overlapped iterations ------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopySlice.h"

#include "na/Dialect/NAGPU/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::nagpu {
#define GEN_PASS_DEF_NAGPUEXPANDPIPELINE
#include "na/Dialect/NAGPU/Transforms/Passes.h.inc"
} // namespace mlir::nagpu

using namespace mlir;
using namespace mlir::nagpu;

namespace {
/// A copy of a loop body, with the wait for its tile.
struct Load {
  AsyncCopyOp copy;
  AsyncCommitOp commit;
  AsyncWaitOp wait;
};

class PipelineExpander {
public:
  PipelineExpander(scf::ForOp loop, int64_t stages, RewriterBase &rewriter)
      : loop(loop), stages(stages), rewriter(rewriter),
        b(loop.getLoc(), rewriter) {}

  LogicalResult run();

private:
  LogicalResult collect();
  void hoistCopies();
  void buildRings();
  void sinkWaits(Operation *before);
  Value constantLike(Value value, int64_t constant) {
    return arith::ConstantOp::create(
        b, b.getIntegerAttr(value.getType(), constant));
  }
  /// Issues the copies of the iteration with induction variable `iv` into the
  /// slots `slot`, if there is such an iteration.
  void buildCopies(Value iv, Value slot);

  scf::ForOp loop;
  int64_t stages;
  RewriterBase &rewriter;
  ImplicitLocOpBuilder b;
  SmallVector<Load> loads;
  SmallVector<Value> rings;
  /// What the copies are computed from, in order.
  SmallVector<Operation *> slice;
};
} // namespace

LogicalResult PipelineExpander::collect() {
  SetVector<Operation *> operations;
  for (AsyncCopyOp copy : loop.getBody()->getOps<AsyncCopyOp>()) {
    Load load;
    load.copy = copy;
    if (copy.getToken().hasOneUse())
      load.commit = dyn_cast<AsyncCommitOp>(*copy.getToken().user_begin());
    if (load.commit && load.commit.getGroup().hasOneUse())
      load.wait = dyn_cast<AsyncWaitOp>(*load.commit.getGroup().user_begin());
    Value tile = copy.getDest();
    auto isOwn = [&] {
      return load.wait && load.commit->getBlock() == loop.getBody() &&
             loop->isProperAncestor(load.wait) &&
             load.commit.getTokens().size() == 1 &&
             load.wait.getGroups().size() == 1 &&
             load.wait.getTiles().size() == 1 &&
             load.wait.getTiles().front() == tile &&
             tile.getDefiningOp<AllocOp>() &&
             llvm::all_of(tile.getUsers(), [&](Operation *user) {
               return user == copy || user == load.wait;
             });
    };
    if (!isOwn())
      return copy.emitError("nagpu-expand-pipeline: expected a copy into its "
                            "own tile, with a group and a wait of its own");
    if (failed(collectCopySlice(copy, loop, operations)))
      return copy.emitError("nagpu-expand-pipeline: expected a copy that "
                            "depends on the induction variable only");
    loads.push_back(load);
  }
  slice = operations.takeVector();
  llvm::sort(slice,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return success();
}

/// One stage: all copies at the start of the iteration, each with a group.
void PipelineExpander::hoistCopies() {
  for (BarrierOp barrier :
       llvm::make_early_inc_range(loop.getBody()->getOps<BarrierOp>()))
    rewriter.eraseOp(barrier);
  rewriter.setInsertionPointToStart(loop.getBody());
  auto barrier = BarrierOp::create(rewriter, loop.getLoc());
  Operation *last = barrier;
  for (Operation *op : slice)
    rewriter.moveOpBefore(op, barrier);
  for (auto [i, load] : llvm::enumerate(loads)) {
    rewriter.moveOpAfter(load.copy, last);
    rewriter.moveOpAfter(load.commit, load.copy);
    last = load.commit;
    load.wait.setPending(loads.size() - 1 - i);
  }
}

void PipelineExpander::buildRings() {
  for (Load &load : loads) {
    auto alloc = load.copy.getDest().getDefiningOp<AllocOp>();
    auto type = cast<SharedType>(alloc.getType());
    SmallVector<int64_t> shape = {stages};
    llvm::append_range(shape, type.getShape());
    b.setInsertionPoint(alloc);
    rings.push_back(AllocOp::create(b,
                                    SharedType::get(b.getContext(), shape,
                                                    type.getElementType(),
                                                    type.getSwizzle()),
                                    IntegerAttr()));
  }
}

static Value buildSlot(ImplicitLocOpBuilder &b, Value ring, Value slot) {
  auto type = cast<SharedType>(ring.getType());
  Value index = b.createOrFold<arith::IndexCastOp>(b.getIndexType(), slot);
  return SlotOp::create(b, type.getSlotType(), ring, index);
}

void PipelineExpander::buildCopies(Value iv, Value slot) {
  auto less = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult
                                    : arith::CmpIPredicate::slt;
  Value exists = b.createOrFold<arith::CmpIOp>(less, iv, loop.getUpperBound());
  auto branch = scf::IfOp::create(b, exists, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), iv);
    for (Operation *op : slice)
      b.clone(*op, mapping);
    for (auto [load, ring] : llvm::zip_equal(loads, rings)) {
      mapping.map(load.copy.getDest(), buildSlot(b, ring, slot));
      b.clone(*load.copy, mapping);
    }
  }
  AsyncCommitOp::create(b, ValueRange());
}

/// Whether the operation does the same behind the copies of the prologue: it
/// has no effects, or reads shared tiles only.
static bool canSink(Operation *op) {
  return isa<LdMatrixOp, LdVectorOp, FmaOp>(op) || isMemoryEffectFree(op);
}

/// Adds to `users` what is computed before `loop`, in its block, from the
/// results of `op`. Fails if some of that has to stay where it is.
static LogicalResult collectUsers(Operation *op, scf::ForOp loop,
                                  SetVector<Operation *> &users) {
  for (Operation *user : op->getUsers()) {
    // A loop in between, say, reads the tile in its body.
    Operation *ancestor = loop->getBlock()->findAncestorOpInBlock(*user);
    if (!ancestor->isBeforeInBlock(loop))
      continue;
    if (!canSink(ancestor))
      return failure();
    if (users.insert(ancestor) && failed(collectUsers(ancestor, loop, users)))
      return failure();
  }
  return success();
}

/// Tiles loaded before the loop are waited for together with its first ones.
/// `before` is an operation of the prologue or the loop itself.
void PipelineExpander::sinkWaits(Operation *before) {
  SmallVector<AsyncWaitOp> waits;
  for (Operation &op : *loop->getBlock()) {
    if (&op == before)
      break;
    if (auto wait = dyn_cast<AsyncWaitOp>(op); wait && wait.getPending() == 0 &&
                                               !wait.getGroups().empty() &&
                                               !wait.getTiles().empty())
      waits.push_back(wait);
  }
  for (AsyncWaitOp wait : waits) {
    SetVector<Operation *> users;
    if (failed(collectUsers(wait, loop, users)))
      continue;
    SmallVector<Operation *> ordered = users.takeVector();
    llvm::sort(ordered, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    rewriter.moveOpBefore(wait, loop);
    for (Operation *user : ordered)
      rewriter.moveOpBefore(user, loop);
    // The groups of the prologue are the youngest.
    wait.setPending(stages - 1);
  }
}

/// Whether the loop runs several times in a kernel.
static bool isRepeated(scf::ForOp loop) {
  Operation *parent = loop->getParentOp();
  while (parent && !isa<gpu::LaunchOp>(parent)) {
    if (isa<LoopLikeOpInterface>(parent))
      return true;
    parent = parent->getParentOp();
  }
  return false;
}

LogicalResult PipelineExpander::run() {
  if (failed(collect()))
    return failure();
  loop->removeAttr("nagpu.stages");
  if (loads.empty())
    return success();
  if (stages == 1) {
    hoistCopies();
    return success();
  }
  buildRings();

  b.setInsertionPoint(loop);
  Operation *before = loop->getPrevNode();
  // The prologue fills slots that the last run of the loop has read.
  if (isRepeated(loop))
    BarrierOp::create(b);
  for (int64_t stage = 0; stage + 1 < stages; ++stage) {
    Value lower = loop.getLowerBound();
    Value ahead = b.createOrFold<arith::MulIOp>(
        loop.getStep(), constantLike(loop.getStep(), stage));
    Value iv = b.createOrFold<arith::AddIOp>(lower, ahead);
    Value slot = arith::ConstantOp::create(b, b.getI32IntegerAttr(stage));
    buildCopies(iv, slot);
  }
  sinkWaits(before ? before->getNextNode() : &loop->getBlock()->front());

  // The slot of an iteration runs round the ring.
  b.setInsertionPoint(loop);
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  auto replaced = loop.replaceWithAdditionalYields(
      rewriter, zero, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &builder, Location loc,
          ArrayRef<BlockArgument> args) -> SmallVector<Value> {
        ImplicitLocOpBuilder b(loc, builder);
        Value one = arith::ConstantOp::create(b, b.getI32IntegerAttr(1));
        Value next = arith::AddIOp::create(b, args[0], one);
        Value size = arith::ConstantOp::create(b, b.getI32IntegerAttr(stages));
        Value wraps =
            arith::CmpIOp::create(b, arith::CmpIPredicate::eq, next, size);
        Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
        return {arith::SelectOp::create(b, wraps, zero, next)};
      });
  if (failed(replaced))
    return loop.emitError("nagpu-expand-pipeline: cannot carry the slot");
  loop = cast<scf::ForOp>(replaced->getOperation());

  Value slot = loop.getRegionIterArgs().back();
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> tiles;
  for (Value ring : rings)
    tiles.push_back(buildSlot(b, ring, slot));
  auto wait = AsyncWaitOp::create(b, ValueRange(tiles).getTypes(), ValueRange(),
                                  tiles, stages - 2);
  Value ahead = b.createOrFold<arith::MulIOp>(
      loop.getStep(), constantLike(loop.getStep(), stages - 1));
  Value iv = b.createOrFold<arith::AddIOp>(loop.getInductionVar(), ahead);
  Value one = arith::ConstantOp::create(b, b.getI32IntegerAttr(1));
  Value first = arith::CmpIOp::create(
      b, arith::CmpIPredicate::eq, slot,
      arith::ConstantOp::create(b, b.getI32IntegerAttr(0)).getResult());
  Value last = arith::ConstantOp::create(b, b.getI32IntegerAttr(stages - 1));
  Value previous = arith::SubIOp::create(b, slot, one);
  buildCopies(iv, arith::SelectOp::create(b, first, last, previous));

  for (auto [i, load] : llvm::enumerate(loads)) {
    rewriter.replaceAllUsesWith(load.wait.getResult(0), wait.getResult(i));
    Value tile = load.copy.getDest();
    rewriter.eraseOp(load.wait);
    rewriter.eraseOp(load.commit);
    rewriter.eraseOp(load.copy);
    rewriter.eraseOp(tile.getDefiningOp());
  }
  // The wait at the start of an iteration is also the barrier behind which
  // nobody reads the slots that it fills.
  for (BarrierOp barrier :
       llvm::make_early_inc_range(loop.getBody()->getOps<BarrierOp>()))
    rewriter.eraseOp(barrier);
  return success();
}

namespace {
struct ExpandPipeline : nagpu::impl::NAGPUExpandPipelineBase<ExpandPipeline> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) {
      if (loop->hasAttr("nagpu.stages"))
        loops.push_back(loop);
    });
    IRRewriter rewriter(&getContext());
    for (scf::ForOp loop : loops) {
      Attribute attribute = loop->getAttr("nagpu.stages");
      auto stages = dyn_cast<IntegerAttr>(attribute);
      if (!stages || !stages.getType().isSignlessInteger(64) ||
          stages.getInt() < 1 || stages.getInt() > maxStages) {
        loop.emitError("nagpu-expand-pipeline: 'nagpu.stages' is ")
            << attribute << ", expected 1 to " << maxStages << " : i64";
        return signalPassFailure();
      }
      if (failed(PipelineExpander(loop, stages.getInt(), rewriter).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
