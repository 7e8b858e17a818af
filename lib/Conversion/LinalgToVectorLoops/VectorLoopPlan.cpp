//===- VectorLoopPlan.cpp - How loops are blocked for registers -----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorLoopPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::linalg;
using namespace mlir::na::vectorloops;

Type mlir::na::vectorloops::getComputeType(Type type) {
  return type.isF16() || type.isBF16() ? Float32Type::get(type.getContext())
                                       : type;
}

/// Whether the last dimension of `type` is contiguous.
static bool isContiguous(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         (strides.empty() || strides.back() == 1);
}

/// Whether vectors of `type` lie in memory as a memref's elements do: LLVM
/// packs the bits of vectors, and pads single elements.
static bool hasVectorLayout(Type type) {
  unsigned bits = type.getIntOrFloatBitWidth();
  return bits >= 8 && llvm::isPowerOf2_32(bits);
}

/// Bits of the widest element that the body computes with.
static std::optional<int64_t> widestElement(LinalgOp op) {
  int64_t widest = 0;
  auto update = [&](Type type) {
    if (type.isIndex())
      return;
    widest =
        std::max<int64_t>(widest, getComputeType(type).getIntOrFloatBitWidth());
  };
  for (BlockArgument argument : op.getBlock()->getArguments()) {
    if (!argument.getType().isIntOrFloat())
      return std::nullopt;
    update(argument.getType());
  }
  for (Operation &inner : op.getBlock()->without_terminator())
    for (Type type : inner.getResultTypes()) {
      if (!type.isIntOrIndexOrFloat())
        return std::nullopt;
      update(type);
    }
  return widest;
}

/// Whether the body can be evaluated on vectors.
static bool hasVectorizableBody(LinalgOp op) {
  return llvm::all_of(op.getBlock()->without_terminator(),
                      [](Operation &inner) {
                        return isa<IndexOp>(inner) ||
                               (OpTrait::hasElementwiseMappableTraits(&inner) &&
                                inner.getNumRegions() == 0) ||
                               isa<arith::ConstantOp>(inner);
                      });
}

/// How the values of one output combine, if by one operation that vectors can
/// be reduced with.
static std::optional<vector::CombiningKind> getCombiner(LinalgOp op,
                                                        unsigned output) {
  BlockArgument accumulator = op.getRegionOutputArgs()[output];
  auto yield = cast<YieldOp>(op.getBlock()->getTerminator());
  Operation *combiner = yield.getOperand(output).getDefiningOp();
  // A running result that is used beside is more than a combination.
  if (!combiner || !combiner->hasOneUse() ||
      !isa<FloatType>(accumulator.getType()))
    return std::nullopt;
  // value > accumulator ? value : accumulator
  if (auto select = dyn_cast<arith::SelectOp>(combiner)) {
    auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
    if (compare && compare.getPredicate() == arith::CmpFPredicate::OGT &&
        compare.getLhs() == select.getTrueValue() &&
        compare.getRhs() == accumulator &&
        select.getFalseValue() == accumulator &&
        llvm::range_size(accumulator.getUses()) == 2)
      return vector::CombiningKind::MAXNUMF;
    return std::nullopt;
  }
  if (!accumulator.hasOneUse() || combiner->getNumOperands() != 2 ||
      !llvm::is_contained(combiner->getOperands(), accumulator))
    return std::nullopt;
  if (isa<arith::AddFOp>(combiner))
    return vector::CombiningKind::ADD;
  if (isa<arith::MulFOp>(combiner))
    return vector::CombiningKind::MUL;
  if (isa<arith::MaximumFOp>(combiner))
    return vector::CombiningKind::MAXIMUMF;
  if (isa<arith::MaxNumFOp>(combiner))
    return vector::CombiningKind::MAXNUMF;
  if (isa<arith::MinimumFOp>(combiner))
    return vector::CombiningKind::MINIMUMF;
  if (isa<arith::MinNumFOp>(combiner))
    return vector::CombiningKind::MINNUMF;
  return std::nullopt;
}

/// The last dimension of the outputs, if it is one that can run along vectors.
static std::optional<unsigned> getParallelLane(LinalgOp op) {
  std::optional<unsigned> lane;
  for (OpOperand &output : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&output);
    auto last = map.getNumResults() == 0
                    ? AffineDimExpr(nullptr)
                    : dyn_cast<AffineDimExpr>(map.getResults().back());
    if (!last || (lane && *lane != last.getPosition()))
      return std::nullopt;
    lane = last.getPosition();
  }
  if (!lane ||
      op.getIteratorTypesArray()[*lane] != utils::IteratorType::parallel)
    return std::nullopt;
  return lane;
}

/// The only reduction, if the outputs combine over it by known operations.
static std::optional<unsigned>
getReducedLane(LinalgOp op, SmallVectorImpl<vector::CombiningKind> &combiners) {
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  if (reductions.size() != 1)
    return std::nullopt;
  for (OpOperand &output : op.getDpsInitsMutable()) {
    if (op.getMatchingIndexingMap(&output).isFunctionOfDim(reductions[0]))
      return std::nullopt;
    std::optional<vector::CombiningKind> kind =
        getCombiner(op, output.getOperandNumber() - op.getNumDpsInputs());
    if (!kind)
      return std::nullopt;
    combiners.push_back(*kind);
  }
  return reductions[0];
}

/// Whether every operand is indexed by dimensions and constants, with `lane`
/// contiguous in memory wherever it occurs.
static bool hasContiguousLane(LinalgOp op, unsigned lane) {
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!type)
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [i, expr] : llvm::enumerate(map.getResults())) {
      if (isa<AffineConstantExpr>(expr))
        continue;
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim)
        return false;
      if (dim.getPosition() == lane &&
          (i + 1 != map.getNumResults() || !isContiguous(type) ||
           !hasVectorLayout(type.getElementType())))
        return false;
    }
  }
  return true;
}

std::optional<Plan> mlir::na::vectorloops::makePlan(LinalgOp op,
                                                    Machine machine) {
  if (!op.hasPureBufferSemantics() || op.hasDynamicShape() ||
      op.getNumLoops() == 0 || !hasVectorizableBody(op))
    return std::nullopt;
  std::optional<int64_t> bits = widestElement(op);
  // Bytes and booleans have no use in tiles; their vectors would be too long.
  if (!bits || *bits < 16)
    return std::nullopt;
  Plan plan;
  plan.extents = op.getStaticLoopRanges();
  if (llvm::any_of(plan.extents, [](int64_t e) { return e <= 0; }))
    return std::nullopt;

  std::optional<unsigned> lane = getParallelLane(op);
  if (!lane || !hasContiguousLane(op, *lane)) {
    lane = getReducedLane(op, plan.combiners);
    if (!lane || !hasContiguousLane(op, *lane))
      return std::nullopt;
  }
  plan.lane = *lane;
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  for (unsigned dim = 0; dim < op.getNumLoops(); ++dim) {
    if (dim == plan.lane)
      continue;
    if (iterators[dim] == utils::IteratorType::parallel)
      plan.outer.push_back(dim);
    else
      plan.reductions.push_back(dim);
  }
  bool accumulates = !plan.reductions.empty();
  // The innermost parallel loop is unrolled: it reuses vectors of operands
  // that do not depend on it.
  if (!plan.outer.empty())
    plan.row = plan.outer.pop_back_val();

  plan.width = std::max<int64_t>(1, machine.vectorBits / *bits);
  int64_t available = (plan.extents[plan.lane] + plan.width - 1) / plan.width;
  plan.vectors = std::min<int64_t>(available, machine.registers >= 32 ? 4 : 2);
  if (plan.row) {
    // Accumulators, one row of vectors and a broadcast share the registers.
    int64_t limit = accumulates
                        ? (machine.registers - plan.vectors - 2) / plan.vectors
                        : std::max<int64_t>(1, 4 / plan.vectors);
    plan.rows = std::clamp<int64_t>(std::min<int64_t>(limit, 12), 1,
                                    plan.extents[*plan.row]);
  } else {
    plan.rows = 1;
  }
  return plan;
}
