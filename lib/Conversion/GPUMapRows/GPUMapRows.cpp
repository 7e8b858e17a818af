//===- GPUMapRows.cpp - A team of GPU threads for every row ---------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowKernel.h"

#include "na/Conversion/GPU/WideBody.h"
#include "na/Conversion/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace mlir::na {
#define GEN_PASS_DEF_GPUMAPROWSPASS
#include "na/Conversion/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;
using namespace mlir::na;

//===----------------------------------------------------------------------===//
// Operations on rows
//===----------------------------------------------------------------------===//

/// Finds what combines an element with the result so far: one operation that
/// has a neutral element, or the selection of the larger or smaller one.
static bool findCombiner(RowOp &row) {
  linalg::LinalgOp op = row.op;
  if (op.getNumDpsInits() != 1)
    return false;
  BlockArgument carried = op.getRegionOutputArgs().front();
  Operation *last =
      op.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
  if (!last || last->getBlock() != op.getBlock())
    return false;
  if (auto select = dyn_cast<arith::SelectOp>(last)) {
    auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
    if (!compare || compare.getRhs() != carried ||
        select.getTrueValue() != compare.getLhs() ||
        select.getFalseValue() != carried)
      return false;
    using Predicate = arith::CmpFPredicate;
    bool larger = llvm::is_contained({Predicate::OGT, Predicate::OGE},
                                     compare.getPredicate());
    bool smaller = llvm::is_contained({Predicate::OLT, Predicate::OLE},
                                      compare.getPredicate());
    if (!larger && !smaller)
      return false;
    auto type = cast<FloatType>(select.getType());
    row.element = compare.getLhs();
    row.combiner = {compare, select};
    row.neutral = FloatAttr::get(
        type, APFloat::getInf(type.getFloatSemantics(), /*Negative=*/larger));
    return llvm::hasNItems(carried.getUses(), 2);
  }
  if (last->getNumOperands() != 2 || !carried.hasOneUse() ||
      *carried.user_begin() != last)
    return false;
  std::optional<TypedAttr> neutral = arith::getNeutralElement(last);
  if (!neutral || !last->hasTrait<OpTrait::IsCommutative>())
    return false;
  row.element = last->getOperand(last->getOperand(0) == carried ? 1 : 0);
  row.combiner = {last};
  row.neutral = *neutral;
  return true;
}

RowAccess RowOp::getAccess(OpOperand &operand) const {
  linalg::LinalgOp linalgOp = op;
  AffineMap map = linalgOp.getMatchingIndexingMap(&operand);
  if (work == RowWork::Scalar)
    return map.isIdentity() ? RowAccess::Row : RowAccess::Other;
  if (map.isIdentity())
    return RowAccess::Element;
  AffineMap row =
      AffineMap::getMultiDimIdentityMap(map.getNumDims(), map.getContext())
          .dropResult(map.getNumDims() - 1);
  return map == row ? RowAccess::Row : RowAccess::Other;
}

std::optional<RowOp> mlir::na::getRowOp(linalg::LinalgOp op, unsigned rowDims) {
  if (!op.hasPureBufferSemantics())
    return std::nullopt;
  SmallVector<utils::IteratorType> loops = op.getIteratorTypesArray();
  RowOp row;
  row.op = op;
  if (loops.size() == rowDims)
    row.work = RowWork::Scalar;
  else if (loops.size() == rowDims + 1)
    row.work = linalg::isParallelIterator(loops.back()) ? RowWork::Elementwise
                                                        : RowWork::Reduction;
  else
    return std::nullopt;
  if (!llvm::all_of(ArrayRef(loops).take_front(rowDims),
                    linalg::isParallelIterator))
    return std::nullopt;
  for (Operation &inner : op.getBlock()->without_terminator())
    if (inner.getNumRegions() != 0 || !isMemoryEffectFree(&inner))
      return std::nullopt;
  for (Value argument : op.getBlock()->getArguments())
    if (!argument.getType().isIntOrIndexOrFloat())
      return std::nullopt;

  RowAccess wanted =
      row.work == RowWork::Elementwise ? RowAccess::Element : RowAccess::Row;
  for (OpOperand &init : op.getDpsInitsMutable())
    if (row.getAccess(init) != wanted)
      return std::nullopt;
  if (row.work != RowWork::Reduction)
    return row;

  // What is not along the rows would be read in strides.
  for (OpOperand *input : op.getDpsInputOperands())
    if (isa<MemRefType>(input->get().getType()) &&
        row.getAccess(*input) == RowAccess::Other &&
        op.getMatchingIndexingMap(input).getNumResults() > 1)
      return std::nullopt;
  Type type = op.getRegionOutputArgs().front().getType();
  bool isShuffled =
      type.isIntOrFloat() &&
      llvm::is_contained({8u, 16u, 32u}, type.getIntOrFloatBitWidth());
  if (!isShuffled || !findCombiner(row))
    return std::nullopt;
  if (auto neutral = dyn_cast<FloatAttr>(row.neutral))
    row.neutral = FloatAttr::get(getWideType(type), neutral.getValueAsDouble());
  return row;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// The buffer that `memref` is a view of.
static Value getRoot(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  return memref;
}

/// Whether loop `dim` of the two operations has the same size.
static bool haveSameSize(linalg::LinalgOp x, linalg::LinalgOp y, unsigned dim) {
  int64_t size = x.getStaticLoopRanges()[dim];
  if (!ShapedType::isDynamic(size))
    return size == y.getStaticLoopRanges()[dim];
  // Sizes of a buffer that both access.
  for (OpOperand &mine : x->getOpOperands())
    for (OpOperand &other : y->getOpOperands()) {
      if (mine.get() != other.get() || !isa<MemRefType>(mine.get().getType()))
        continue;
      AffineExpr loop = getAffineDimExpr(dim, x.getContext());
      for (auto [a, b] :
           llvm::zip(x.getMatchingIndexingMap(&mine).getResults(),
                     y.getMatchingIndexingMap(&other).getResults()))
        if (a == loop && b == loop)
          return true;
    }
  return false;
}

/// Whether `row` can be computed by the teams of `group`, row by row: it has
/// the same rows, and no row depends on what the group does to another.
static bool isCompatible(const RowGroup &group, const RowOp &row) {
  linalg::LinalgOp op = row.op;
  unsigned loops = op.getNumLoops();
  for (unsigned dim = 0; dim < loops; ++dim)
    if (llvm::none_of(group.ops, [&](const RowOp &other) {
          linalg::LinalgOp otherOp = other.op;
          return dim < otherOp.getNumLoops() && haveSameSize(op, otherOp, dim);
        }))
      return false;
  auto conflicts = [](const RowOp &writer, const RowOp &user) {
    linalg::LinalgOp from = writer.op, to = user.op;
    for (OpOperand &init : from.getDpsInitsMutable())
      for (OpOperand &operand : to->getOpOperands()) {
        if (!isa<MemRefType>(operand.get().getType()) ||
            getRoot(operand.get()) != getRoot(init.get()))
          continue;
        if (operand.get() != init.get() ||
            user.getAccess(operand) != writer.getAccess(init))
          return true;
      }
    return false;
  };
  return llvm::none_of(group.ops,
                       [&](const RowOp &other) {
                         return conflicts(row, other) || conflicts(other, row);
                       }) &&
         !conflicts(row, row);
}

/// Whether the operations of a group may be moved over `op`.
static bool canBePassed(Operation *op) {
  return isMemoryEffectFree(op) || isa<memref::AllocOp>(op);
}

/// Makes groups of the operations of `run`, between which nothing accesses
/// memory.
static void collectGroups(ArrayRef<linalg::LinalgOp> run,
                          SmallVectorImpl<RowGroup> &groups) {
  size_t free = 0; // The first operation that is in no group.
  for (size_t i = 0; i < run.size(); ++i) {
    linalg::LinalgOp op = run[i];
    // Empty rows have no element to load.
    if (op.getNumLoops() == 0 || op.getStaticLoopRanges().back() == 0)
      continue;
    RowGroup group;
    group.rowDims = op.getNumLoops() - 1;
    std::optional<RowOp> seed = getRowOp(op, group.rowDims);
    if (!seed || seed->work != RowWork::Reduction)
      continue;
    group.ops.push_back(*seed);
    if (!isCompatible(group, *seed))
      continue;
    auto extend = [&](linalg::LinalgOp op, bool before) {
      std::optional<RowOp> row = getRowOp(op, group.rowDims);
      if (!row || !isCompatible(group, *row))
        return false;
      group.ops.insert(before ? group.ops.begin() : group.ops.end(), *row);
      return true;
    };
    for (size_t j = i; j > free && extend(run[j - 1], true); --j)
      ;
    size_t end = i + 1;
    while (end < run.size() && extend(run[end], false))
      ++end;
    groups.push_back(group);
    free = end;
    i = end - 1;
  }
}

namespace {
struct GPUMapRows : mlir::na::impl::GPUMapRowsPassBase<GPUMapRows> {
  void runOnOperation() override {
    SmallVector<RowGroup> groups;
    getOperation()->walk([&](Block *block) {
      Operation *parent = block->getParentOp();
      // A kernel starts on the host.
      while (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(parent))
        parent = parent->getParentOp();
      if (!isa<FunctionOpInterface>(parent) ||
          parent->getParentOfType<gpu::GPUModuleOp>())
        return;
      SmallVector<linalg::LinalgOp> run;
      for (Operation &op : *block) {
        if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
          run.push_back(linalgOp);
        } else if (!canBePassed(&op)) {
          collectGroups(run, groups);
          run.clear();
        }
      }
      collectGroups(run, groups);
    });
    IRRewriter rewriter(&getContext());
    for (const RowGroup &group : groups) {
      buildRowKernel(rewriter, group);
      for (const RowOp &row : llvm::reverse(group.ops))
        rewriter.eraseOp(row.op);
    }
  }
};
} // namespace
