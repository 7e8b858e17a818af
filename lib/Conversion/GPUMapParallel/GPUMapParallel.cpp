//===- GPUMapParallel.cpp - One GPU thread per iteration ------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Conversion/GPU/LinearIndex.h"
#include "na/Conversion/Passes.h"
#include "na/Dialect/NA/IR/NA.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::na {
#define GEN_PASS_DEF_GPUMAPPARALLELPASS
#include "na/Conversion/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;

namespace {

/// The iterations of a parallel loop, one entry per dimension.
struct Iterations {
  SmallVector<Value> lower, step, counts, ivs;
  Value total;

  /// The number of all iterations, if it is known.
  std::optional<int64_t> getStaticTotal() const {
    return getConstantIntValue(total);
  }
};

class Mapper {
public:
  Mapper(Operation *loop, int64_t blockSize)
      : loop(loop), b(loop->getLoc(), loop), blockSize(blockSize) {}

  LogicalResult run();

private:
  Iterations buildIterations();
  gpu::LaunchOp buildLaunch(Value blocks);
  SmallVector<Value> buildIndices(Value id, const Iterations &iterations);
  LogicalResult moveBuffers(gpu::LaunchOp launch);

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  Operation *loop;
  ImplicitLocOpBuilder b;
  int64_t blockSize;
};

} // namespace

Iterations Mapper::buildIterations() {
  Iterations result;
  SmallVector<Value> upper;
  if (auto parallel = dyn_cast<scf::ParallelOp>(loop)) {
    result.lower = parallel.getLowerBound();
    result.step = parallel.getStep();
    upper = parallel.getUpperBound();
    llvm::append_range(result.ivs, parallel.getInductionVars());
  } else if (auto forall = dyn_cast<scf::ForallOp>(loop)) {
    result.lower = forall.getLowerBound(b);
    result.step = forall.getStep(b);
    upper = forall.getUpperBound(b);
    llvm::append_range(result.ivs, forall.getInductionVars());
  }
  result.total = index(1);
  for (auto [from, to, step] :
       llvm::zip_equal(result.lower, upper, result.step)) {
    Value span = b.createOrFold<arith::SubIOp>(to, from);
    span = b.createOrFold<arith::MaxSIOp>(span, index(0));
    result.counts.push_back(b.createOrFold<arith::CeilDivUIOp>(span, step));
    result.total =
        b.createOrFold<arith::MulIOp>(result.total, result.counts.back());
  }
  return result;
}

gpu::LaunchOp Mapper::buildLaunch(Value blocks) {
  Value one = index(1), threads = index(blockSize);
  auto launch = gpu::LaunchOp::create(b, blocks, one, one, threads, one, one);
  b.setInsertionPointToStart(&launch.getBody().front());
  return launch;
}

/// The induction variables of iteration `id`; the last one varies fastest.
SmallVector<Value> Mapper::buildIndices(Value id,
                                        const Iterations &iterations) {
  SmallVector<Value> indices =
      mlir::na::delinearize(b, id, iterations.counts, iterations.total);
  for (auto [index, step, lower] :
       llvm::zip_equal(indices, iterations.step, iterations.lower)) {
    Value scaled = b.createOrFold<arith::MulIOp>(index, step);
    index = b.createOrFold<arith::AddIOp>(scaled, lower);
  }
  return indices;
}

/// Buffers that an iteration allocates become memory of its thread.
LogicalResult Mapper::moveBuffers(gpu::LaunchOp launch) {
  SmallVector<Operation *> allocations;
  launch.walk([&](Operation *op) {
    if (isa<memref::AllocOp, memref::AllocaOp>(op))
      allocations.push_back(op);
  });
  for (Operation *op : allocations) {
    auto type = cast<MemRefType>(op->getResult(0).getType());
    if (!type.hasStaticShape() || op->getNumOperands() != 0)
      return op->emitOpError("gpu-map-parallel: allocates ")
             << type << " in a parallel loop; a GPU thread has no buffers of "
             << "dynamic size";
    for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
      if (isa<memref::DeallocOp>(user))
        user->erase();
    // One for all iterations of loops inside of the thread; LLVM places only
    // those of the entry block in the frame.
    OpBuilder builder(launch.getContext());
    builder.setInsertionPointToStart(&launch.getBody().front());
    auto local = memref::AllocaOp::create(builder, op->getLoc(), type);
    op->replaceAllUsesWith(local);
    op->erase();
  }
  return success();
}

/// Whether `op` has the same result on the host and the device.
static bool isSunk(Operation *op) {
  if (matchPattern(op, m_Constant()) || isa<memref::GetGlobalOp>(op))
    return true;
  auto view = dyn_cast<ViewLikeOpInterface>(op);
  Operation *source = view ? view.getViewSource().getDefiningOp() : nullptr;
  return source && isa<memref::GetGlobalOp, ViewLikeOpInterface>(source) &&
         isSunk(source);
}

/// Copies what is the same on the host and the device into the kernel: the
/// constants, and the addresses of constant memrefs with views of them.
static void sinkConstants(gpu::LaunchOp launch) {
  OpBuilder builder(launch.getContext());
  builder.setInsertionPointToStart(&launch.getBody().front());
  IRMapping map;
  std::function<void(Operation *)> sink = [&](Operation *op) {
    if (map.contains(op))
      return;
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp(); source && isSunk(source))
        sink(source);
    builder.clone(*op, map);
  };
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(launch.getBody(), used);
  for (Value value : used) {
    Operation *op = value.getDefiningOp();
    if (!op || !isSunk(op))
      continue;
    sink(op);
    replaceAllUsesInRegionWith(value, map.lookup(value), launch.getBody());
  }
}

LogicalResult Mapper::run() {
  Iterations iterations = buildIterations();
  std::optional<int64_t> total = iterations.getStaticTotal();
  Value blocks =
      b.createOrFold<arith::CeilDivUIOp>(iterations.total, index(blockSize));
  gpu::LaunchOp launch = buildLaunch(blocks);
  Value first =
      arith::MulIOp::create(b, launch.getBlockIds().x, index(blockSize));
  Value id = arith::AddIOp::create(b, first, launch.getThreadIds().x);
  if (!total || *total % blockSize != 0) {
    Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, id,
                                         iterations.total);
    auto guard = scf::IfOp::create(b, inside, /*withElseRegion=*/false);
    gpu::TerminatorOp::create(b);
    b.setInsertionPointToStart(guard.thenBlock());
  } else {
    auto terminator = gpu::TerminatorOp::create(b);
    b.setInsertionPoint(terminator);
  }

  SmallVector<Value> indices = buildIndices(id, iterations);
  if (isa<memref::StoreOp>(loop)) {
    loop->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
  } else {
    Block &body = loop->getRegion(0).front();
    body.getTerminator()->erase();
    for (auto [iv, index] : llvm::zip_equal(iterations.ivs, indices))
      iv.replaceAllUsesWith(index);
    b.getInsertionBlock()->getOperations().splice(b.getInsertionPoint(),
                                                  body.getOperations());
    loop->erase();
  }
  sinkConstants(launch);
  return moveBuffers(launch);
}

/// Whether a kernel is to be made of `op`.
static bool isMapped(Operation *op) {
  if (auto parallel = dyn_cast<scf::ParallelOp>(op))
    return parallel.getNumReductions() == 0;
  if (auto forall = dyn_cast<scf::ForallOp>(op)) {
    // Tiles are for a block of threads, not for one.
    WalkResult tiles = forall->walk([](Operation *inner) {
      return isa_and_nonnull<mlir::na::NADialect>(inner->getDialect())
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    return forall.getNumResults() == 0 && !tiles.wasInterrupted();
  }
  // Only the device can write to its memory.
  return isa<memref::StoreOp>(op);
}

namespace {
struct GPUMapParallel : mlir::na::impl::GPUMapParallelPassBase<GPUMapParallel> {
  using GPUMapParallelPassBase::GPUMapParallelPassBase;

  LogicalResult initialize(MLIRContext *context) override {
    if (blockSize >= 32 && blockSize <= 1024 && blockSize % 32 == 0)
      return success();
    return emitError(UnknownLoc::get(context))
           << "gpu-map-parallel: block-size = " << int64_t(blockSize)
           << ", expected a multiple of 32 from 32 to 1024";
  }

  void runOnOperation() override {
    SmallVector<Operation *> loops;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<gpu::LaunchOp, gpu::GPUModuleOp>(op))
        return WalkResult::skip();
      if (isMapped(op)) {
        loops.push_back(op);
        return WalkResult::skip();
      }
      // What is inside is for a block of threads.
      return isa<scf::ForallOp>(op) ? WalkResult::skip()
                                    : WalkResult::advance();
    });
    for (Operation *loop : loops)
      if (failed(Mapper(loop, blockSize).run()))
        return signalPassFailure();
  }
};
} // namespace
