//===- LinalgToThreadLoops.cpp - linalg with sums in registers ------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Conversion/GPU/WideBody.h"
#include "na/Conversion/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::na {
#define GEN_PASS_DEF_LINALGTOTHREADLOOPSPASS
#include "na/Conversion/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;
using namespace mlir::na;

namespace {

class LoopsOfLinalg {
public:
  LoopsOfLinalg(RewriterBase &rewriter, linalg::LinalgOp op)
      : op(op), b(op.getLoc(), rewriter) {}

  void run();

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  /// The value of an operand, in the type in which it is computed.
  Value load(OpOperand &operand);
  SmallVector<Value> buildIndices(OpOperand &operand);
  SmallVector<Value> buildBody(ValueRange outputs);
  int64_t getElementsPerThread();
  SmallVector<Value> loadOutputs(bool reduces);
  void store(ValueRange results);

  linalg::LinalgOp op;
  ImplicitLocOpBuilder b;
  /// The induction variable of every loop.
  SmallVector<Value> ivs;
};

} // namespace

SmallVector<Value> LoopsOfLinalg::buildIndices(OpOperand &operand) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<Value> indices;
  for (AffineExpr result : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(result)) {
      indices.push_back(ivs[dim.getPosition()]);
      continue;
    }
    AffineMap one = AffineMap::get(map.getNumDims(), 0, result);
    indices.push_back(affine::AffineApplyOp::create(b, one, ivs));
  }
  return indices;
}

Value LoopsOfLinalg::load(OpOperand &operand) {
  Value value = operand.get();
  if (isa<MemRefType>(value.getType()))
    value = memref::LoadOp::create(b, value, buildIndices(operand));
  return extendValue(b, b.getLoc(), value);
}

/// One iteration; `outputs` are the values of the outputs before it.
SmallVector<Value> LoopsOfLinalg::buildBody(ValueRange outputs) {
  IRMapping map;
  Block *body = op.getBlock();
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(input);
    if (!argument.use_empty())
      map.map(argument, load(*input));
  }
  for (auto [argument, value] :
       llvm::zip_equal(op.getRegionOutputArgs(), outputs))
    map.map(argument, value);
  for (Operation &inner : body->without_terminator()) {
    if (auto indexOp = dyn_cast<linalg::IndexOp>(inner)) {
      map.map(indexOp.getResult(), ivs[indexOp.getDim()]);
      continue;
    }
    cloneWide(b, inner, map);
  }
  SmallVector<Value> results;
  for (Value value : body->getTerminator()->getOperands())
    results.push_back(extendValue(b, b.getLoc(), map.lookupOrDefault(value)));
  return results;
}

/// How many elements of the innermost loop one thread computes. With one, too
/// few bytes are on their way from memory (an H200 reads 1.8 TB/s of f32 so).
/// They are far from each other, so that neighbours are those of one warp.
int64_t LoopsOfLinalg::getElementsPerThread() {
  constexpr int64_t several = 4, fewestApart = 16, manyElements = 1 << 18;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  int64_t elements = 1;
  for (int64_t size : sizes)
    if (!ShapedType::isDynamic(size))
      elements *= size;
  bool fits = op.getNumReductionLoops() == 0 && !sizes.empty() &&
              !ShapedType::isDynamic(sizes.back()) &&
              sizes.back() % several == 0 &&
              sizes.back() / several >= fewestApart;
  return fits && elements >= manyElements ? several : 1;
}

/// The values of the outputs before an iteration, where something needs them.
SmallVector<Value> LoopsOfLinalg::loadOutputs(bool reduces) {
  SmallVector<Value> values;
  for (OpOperand &init : op.getDpsInitsMutable())
    values.push_back(op.getMatchingBlockArgument(&init).use_empty() && !reduces
                         // Arguments without uses are not looked up.
                         ? init.get()
                         : load(init));
  return values;
}

void LoopsOfLinalg::store(ValueRange results) {
  for (auto [init, value] : llvm::zip_equal(
           llvm::make_pointer_range(op.getDpsInitsMutable()), results)) {
    Type type = cast<MemRefType>(init->get().getType()).getElementType();
    memref::StoreOp::create(b, truncateValue(b, b.getLoc(), value, type),
                            init->get(), buildIndices(*init));
  }
}

void LoopsOfLinalg::run() {
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  SmallVector<Range> ranges = op.createLoopRanges(b, b.getLoc());
  ivs.resize(kinds.size());
  SmallVector<unsigned> parallel, reductions;
  for (auto [i, kind] : llvm::enumerate(kinds))
    (linalg::isParallelIterator(kind) ? parallel : reductions).push_back(i);
  auto upper = [&](unsigned loop) {
    return getValueOrCreateConstantIndexOp(b, b.getLoc(), ranges[loop].size);
  };

  // Everything that the loops need is outside of them.
  Value zero = index(0), one = index(1);
  SmallVector<Value> sizes;
  for (unsigned loop = 0; loop < kinds.size(); ++loop)
    sizes.push_back(upper(loop));

  // A kernel needs a loop, also for a single value.
  SmallVector<Value> uppers;
  for (unsigned loop : parallel)
    uppers.push_back(sizes[loop]);
  if (uppers.empty())
    uppers.push_back(one);
  int64_t perThread = getElementsPerThread(), apart = 1;
  if (perThread > 1) {
    apart = op.getStaticLoopRanges().back() / perThread;
    uppers.back() = index(apart);
  }
  auto outer =
      scf::ParallelOp::create(b, SmallVector<Value>(uppers.size(), zero),
                              uppers, SmallVector<Value>(uppers.size(), one),
                              [](OpBuilder &, Location, ValueRange) {});
  b.setInsertionPoint(outer.getBody()->getTerminator());
  for (auto [loop, iv] : llvm::zip(parallel, outer.getInductionVars()))
    ivs[loop] = iv;

  if (perThread > 1) {
    // All loads come first: none waits for a store.
    Value first = ivs.back();
    SmallVector<SmallVector<Value>> results;
    SmallVector<Value> places;
    for (int64_t i = 0; i < perThread; ++i) {
      ivs.back() = arith::AddIOp::create(b, first, index(i * apart));
      places.push_back(ivs.back());
      results.push_back(buildBody(loadOutputs(/*reduces=*/false)));
    }
    for (auto [place, values] : llvm::zip_equal(places, results)) {
      ivs.back() = place;
      store(values);
    }
    return;
  }
  SmallVector<Value> values = loadOutputs(!reductions.empty());
  SmallVector<Value> results;
  if (reductions.empty()) {
    results = buildBody(values);
  } else {
    OpBuilder::InsertionGuard guard(b);
    SmallVector<scf::ForOp> loops;
    for (unsigned loop : reductions) {
      auto inner =
          scf::ForOp::create(b, zero, sizes[loop], one, ValueRange(values));
      if (!loops.empty())
        scf::YieldOp::create(b, inner.getResults());
      loops.push_back(inner);
      ivs[loop] = inner.getInductionVar();
      values.assign(inner.getRegionIterArgs().begin(),
                    inner.getRegionIterArgs().end());
      b.setInsertionPointToStart(inner.getBody());
    }
    scf::YieldOp::create(b, buildBody(values));
    llvm::append_range(results, loops.front().getResults());
  }
  if (!reductions.empty())
    b.setInsertionPoint(outer.getBody()->getTerminator());
  store(results);
}

/// Whether outputs are indexed by parallel loops alone, so that their values
/// can be carried through the reductions.
static bool carriesOutputs(linalg::LinalgOp op) {
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  for (OpOperand &init : op.getDpsInitsMutable())
    for (auto [i, kind] : llvm::enumerate(kinds))
      if (!linalg::isParallelIterator(kind) &&
          op.getMatchingIndexingMap(&init).isFunctionOfDim(i))
        return false;
  return true;
}

namespace {
struct LinalgToThreadLoops
    : mlir::na::impl::LinalgToThreadLoopsPassBase<LinalgToThreadLoops> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<memref::CopyOp> copies;
    getOperation()->walk([&](memref::CopyOp op) { copies.push_back(op); });
    for (memref::CopyOp copy : copies) {
      if (!isa<MemRefType>(copy.getSource().getType()) ||
          !isa<MemRefType>(copy.getTarget().getType()))
        continue;
      rewriter.setInsertionPoint(copy);
      rewriter.replaceOpWithNewOp<linalg::CopyOp>(copy, copy.getSource(),
                                                  copy.getTarget());
    }

    SmallVector<linalg::LinalgOp> ops;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (op.hasPureBufferSemantics() && carriesOutputs(op))
        ops.push_back(op);
    });
    for (linalg::LinalgOp op : ops) {
      rewriter.setInsertionPoint(op);
      LoopsOfLinalg(rewriter, op).run();
      rewriter.eraseOp(op);
    }
  }
};
} // namespace
