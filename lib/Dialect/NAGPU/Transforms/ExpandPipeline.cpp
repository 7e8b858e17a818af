//===- ExpandPipeline.cpp - Prologue and overlapped iterations ------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NAGPU/IR/NAGPU.h"
#include "na/Dialect/NAGPU/Transforms/Passes.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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
  void sinkWaits(Operation *prologue);
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
  SetVector<Operation *> slice;
};
} // namespace

LogicalResult PipelineExpander::collect() {
  for (AsyncCopyOp copy : loop.getBody()->getOps<AsyncCopyOp>()) {
    Load load;
    load.copy = copy;
    if (copy.getToken().hasOneUse())
      load.commit = dyn_cast<AsyncCommitOp>(*copy.getToken().user_begin());
    if (load.commit && load.commit.getGroup().hasOneUse())
      load.wait = dyn_cast<AsyncWaitOp>(*load.commit.getGroup().user_begin());
    if (!load.wait || load.wait.getTiles().size() != 1 ||
        !copy.getDest().getDefiningOp<AllocOp>())
      return copy.emitError("nagpu-expand-pipeline: expected a copy into its "
                            "own tile, with a group and a wait of its own");
    loads.push_back(load);
    BackwardSliceOptions options;
    options.filter = [&](Operation *op) { return loop->isProperAncestor(op); };
    if (failed(getBackwardSlice(copy.getOperation(), &slice, options)))
      return failure();
  }
  slice = topologicalSort(slice);
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
  for (Operation *op : slice) {
    rewriter.moveOpBefore(op, barrier);
  }
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
  Value index = arith::IndexCastOp::create(b, b.getIndexType(), slot);
  return SlotOp::create(b, type.getSlotType(), ring, index);
}

void PipelineExpander::buildCopies(Value iv, Value slot) {
  Value exists = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, iv,
                                               loop.getUpperBound());
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

/// Tiles loaded before the loop are waited for together with its first ones.
void PipelineExpander::sinkWaits(Operation *prologue) {
  SmallVector<AsyncWaitOp> waits;
  for (Operation &op : *loop->getBlock()) {
    if (&op == prologue)
      break;
    if (auto wait = dyn_cast<AsyncWaitOp>(op);
        wait && wait.getPending() == 0 && !wait.getGroups().empty())
      waits.push_back(wait);
  }
  for (AsyncWaitOp wait : waits) {
    SetVector<Operation *> users;
    ForwardSliceOptions options;
    options.filter = [&](Operation *op) {
      return op->getBlock() == loop->getBlock() && op->isBeforeInBlock(loop);
    };
    getForwardSlice(wait.getOperation(), &users, options);
    // A loop in between reads the tile: it has the wait where it needs it.
    if (llvm::any_of(users,
                     [](Operation *op) { return op->getNumRegions() != 0; }))
      continue;
    users = topologicalSort(users);
    rewriter.moveOpBefore(wait, loop);
    for (Operation *user : users)
      rewriter.moveOpBefore(user, loop);
    wait.setPending(stages - 1);
  }
}

LogicalResult PipelineExpander::run() {
  if (failed(collect()))
    return failure();
  loop->removeAttr("nagpu.stages");
  if (stages == 1) {
    hoistCopies();
    return success();
  }
  buildRings();

  b.setInsertionPoint(loop);
  Type i32 = b.getI32Type();
  Operation *before = nullptr;
  for (int64_t stage = 0; stage + 1 < stages; ++stage) {
    Value lower = loop.getLowerBound();
    Value ahead = b.createOrFold<arith::MulIOp>(
        loop.getStep(), constantLike(loop.getStep(), stage));
    Value iv = b.createOrFold<arith::AddIOp>(lower, ahead);
    Value slot = arith::ConstantOp::create(b, b.getI32IntegerAttr(stage));
    if (!before)
      before = slot.getDefiningOp();
    buildCopies(iv, slot);
  }
  sinkWaits(before);

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
  (void)i32;
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
      int64_t stages =
          loop->getAttrOfType<IntegerAttr>("nagpu.stages").getInt();
      if (stages < 1) {
        loop.emitError("nagpu-expand-pipeline: 'nagpu.stages' is ")
            << stages << ", expected at least 1";
        return signalPassFailure();
      }
      if (failed(PipelineExpander(loop, stages, rewriter).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
