//===- TilingInterfaceImpl.cpp - Tiling of the na operations ----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/Interfaces/TilingInterfaceImpl.h"

#include "na/Dialect/NA/IR/NA.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/TilingInterface.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

#include <numeric>

using namespace mlir;
using namespace mlir::na;

//===----------------------------------------------------------------------===//
// Which loops the dimensions of the operands belong to
//===----------------------------------------------------------------------===//

namespace {
/// One dimension of an operand: all of it in every tile, the range of a loop,
/// or the query heads that read the key heads of a tile.
enum class DimKind { Whole, Loop, QueryHeads };
struct Dim {
  DimKind kind;
  unsigned loop = 0;
};
using Dims = SmallVector<Dim>;

/// A tile of the loops. `queryHeads*` is the part of the query heads; it is not
/// used by na.merge.
struct LoopTile {
  SmallVector<OpFoldResult> offsets, sizes;
  OpFoldResult queryHeadsOffset, queryHeadsSize;
};
} // namespace

constexpr Dim whole{DimKind::Whole};
constexpr Dim batch{DimKind::Loop, 0};
constexpr Dim keyHeads{DimKind::Loop, 1};
constexpr Dim queryHeads{DimKind::QueryHeads, 1};

/// [B, X.., heads, channels].
static Dims tokenDims(int64_t spatialRank, Dim heads) {
  Dims dims(spatialRank + 3, whole);
  dims[0] = batch;
  dims[spatialRank + 1] = heads;
  return dims;
}

/// [Hq, 2 * size - 1 per axis].
static Dims biasDims(int64_t spatialRank) {
  Dims dims(spatialRank + 1, whole);
  dims[0] = queryHeads;
  return dims;
}

/// The dimensions of every operand, in the order of the operands.
static SmallVector<Dims> operandDims(AttentionOp op) {
  int64_t rank = op.getSpatialRank();
  SmallVector<Dims> dims = {tokenDims(rank, queryHeads),
                            tokenDims(rank, keyHeads),
                            tokenDims(rank, keyHeads)};
  if (op.getBias())
    dims.push_back(biasDims(rank));
  // Additional keys and values are [B, T, heads, channels].
  if (op.getAdditionalKey())
    dims.append(2, tokenDims(1, keyHeads));
  dims.push_back(tokenDims(rank, queryHeads));
  if (op.getLse()) {
    dims.push_back(tokenDims(rank, queryHeads));
    dims.back().pop_back();
  }
  return dims;
}
static SmallVector<Dims> operandDims(QKOp op) {
  int64_t rank = op.getSpatialRank();
  SmallVector<Dims> dims = {tokenDims(rank, queryHeads),
                            tokenDims(rank, keyHeads)};
  if (op.getBias())
    dims.push_back(biasDims(rank));
  dims.push_back(tokenDims(rank, queryHeads));
  return dims;
}
static SmallVector<Dims> operandDims(AVOp op) {
  int64_t rank = op.getSpatialRank();
  return {tokenDims(rank, queryHeads), tokenDims(rank, keyHeads),
          tokenDims(rank, queryHeads)};
}
static SmallVector<Dims> operandDims(MergeOp op) {
  int64_t rank = cast<ShapedType>(op.getOutput().getType()).getRank();
  Dims statistic;
  for (int64_t dim : llvm::seq(rank - 1))
    statistic.push_back({DimKind::Loop, unsigned(dim)});
  Dims rows = statistic;
  rows.push_back(whole);
  SmallVector<Dims> dims(op.getOutputs().size(), rows);
  dims.append(op.getLses().size(), statistic);
  dims.push_back(rows);
  if (op.getLse())
    dims.push_back(statistic);
  return dims;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static OpFoldResult sizeOf(OpBuilder &builder, Location loc, Value value,
                           int64_t dim) {
  if (isa<MemRefType>(value.getType()))
    return memref::getMixedSize(builder, loc, value, dim);
  return tensor::getMixedSize(builder, loc, value, dim);
}

/// The number of loops.
template <typename OpTy>
static size_t loopCount(OpTy) {
  return 2;
}
static size_t loopCount(MergeOp op) {
  return cast<ShapedType>(op.getOutput().getType()).getRank() - 1;
}

/// The sizes of the loops.
template <typename OpTy>
static SmallVector<OpFoldResult> loopSizes(OpBuilder &builder, OpTy op) {
  // The second operand has the key heads.
  Value keys = op->getOperand(1);
  int64_t headDim = op.getSpatialRank() + 1;
  return {sizeOf(builder, op.getLoc(), keys, 0),
          sizeOf(builder, op.getLoc(), keys, headDim)};
}
static SmallVector<OpFoldResult> loopSizes(OpBuilder &builder, MergeOp op) {
  SmallVector<OpFoldResult> sizes;
  for (size_t dim : llvm::seq(loopCount(op)))
    sizes.push_back(sizeOf(builder, op.getLoc(), op.getOutput(), dim));
  return sizes;
}

/// Query heads per key head, if both are static.
template <typename OpTy>
static std::optional<int64_t> staticGroup(OpTy op) {
  int64_t dim = op.getSpatialRank() + 1;
  int64_t queries =
      cast<ShapedType>(op->getOperand(0).getType()).getDimSize(dim);
  int64_t keys = cast<ShapedType>(op->getOperand(1).getType()).getDimSize(dim);
  if (ShapedType::isDynamic(queries) || ShapedType::isDynamic(keys))
    return std::nullopt;
  return queries / keys;
}

/// `value` times query heads per key head.
template <typename OpTy>
static OpFoldResult timesGroup(OpBuilder &builder, OpTy op,
                               OpFoldResult value) {
  Location loc = op.getLoc();
  if (std::optional<int64_t> group = staticGroup(op))
    return affine::makeComposedFoldedAffineApply(
        builder, loc, builder.getAffineDimExpr(0) * *group, {value});
  if (isZeroInteger(value))
    return value;
  int64_t dim = op.getSpatialRank() + 1;
  auto asValue = [&](OpFoldResult size) {
    return getValueOrCreateConstantIndexOp(builder, loc, size);
  };
  Value queries = asValue(sizeOf(builder, loc, op->getOperand(0), dim));
  Value keys = asValue(sizeOf(builder, loc, op->getOperand(1), dim));
  Value group = arith::DivUIOp::create(builder, loc, queries, keys);
  return arith::MulIOp::create(builder, loc, asValue(value), group).getResult();
}

template <typename OpTy>
static LoopTile makeTile(OpBuilder &builder, OpTy op,
                         ArrayRef<OpFoldResult> offsets,
                         ArrayRef<OpFoldResult> sizes) {
  LoopTile tile{SmallVector<OpFoldResult>(offsets),
                SmallVector<OpFoldResult>(sizes),
                {},
                {}};
  if constexpr (!std::is_same_v<OpTy, MergeOp>) {
    tile.queryHeadsOffset = timesGroup(builder, op, offsets[1]);
    tile.queryHeadsSize = timesGroup(builder, op, sizes[1]);
  }
  return tile;
}

//===----------------------------------------------------------------------===//
// From a tile of the loops to slices of the operands
//===----------------------------------------------------------------------===//

/// The slice of `value` that a tile of the loops needs or makes.
static void getSlice(OpBuilder &builder, Location loc, Value value,
                     ArrayRef<Dim> dims, const LoopTile &tile,
                     SmallVector<OpFoldResult> &offsets,
                     SmallVector<OpFoldResult> &sizes) {
  for (auto [index, dim] : llvm::enumerate(dims)) {
    switch (dim.kind) {
    case DimKind::Whole:
      offsets.push_back(builder.getIndexAttr(0));
      sizes.push_back(sizeOf(builder, loc, value, index));
      break;
    case DimKind::Loop:
      offsets.push_back(tile.offsets[dim.loop]);
      sizes.push_back(tile.sizes[dim.loop]);
      break;
    case DimKind::QueryHeads:
      offsets.push_back(tile.queryHeadsOffset);
      sizes.push_back(tile.queryHeadsSize);
      break;
    }
  }
}

/// Builds the operation on the slices of a tile.
template <typename OpTy>
static TilingResult buildTile(OpBuilder &builder, OpTy op,
                              const LoopTile &tile) {
  Location loc = op.getLoc();
  SmallVector<Value> operands;
  SmallVector<Operation *> slices;
  for (auto [value, dims] :
       llvm::zip_equal(op->getOperands(), operandDims(op))) {
    SmallVector<OpFoldResult> offsets, sizes;
    getSlice(builder, loc, value, dims, tile, offsets, sizes);
    SmallVector<OpFoldResult> strides(dims.size(), builder.getIndexAttr(1));
    Operation *slice = isa<MemRefType>(value.getType())
                           ? memref::SubViewOp::create(builder, loc, value,
                                                       offsets, sizes, strides)
                                 .getOperation()
                           : tensor::ExtractSliceOp::create(
                                 builder, loc, value, offsets, sizes, strides)
                                 .getOperation();
    slices.push_back(slice);
    operands.push_back(slice->getResult(0));
  }
  SmallVector<Type> types;
  for (OpResult result : op->getResults())
    types.push_back(
        operands[op.getTiedOpOperand(result)->getOperandNumber()].getType());
  Operation *tiled = clone(builder, op, types, operands);
  return TilingResult{{tiled}, SmallVector<Value>(tiled->getResults()), slices};
}

//===----------------------------------------------------------------------===//
// From a slice of an operand to a tile of the loops
//===----------------------------------------------------------------------===//

/// A number that is known to divide `value`; 0 for zero, which all divide.
static int64_t knownDivisor(OpFoldResult ofr) {
  if (std::optional<int64_t> constant = getConstantIntValue(ofr))
    return *constant;
  auto value = cast<Value>(ofr);
  if (auto apply = value.getDefiningOp<affine::AffineApplyOp>())
    return apply.getAffineMap().getResult(0).getLargestKnownDivisor();
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return 1;
  auto loop = dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
  if (!loop)
    return 1;
  std::optional<SmallVector<Value>> variables = loop.getLoopInductionVars();
  std::optional<SmallVector<OpFoldResult>> starts = loop.getLoopLowerBounds();
  std::optional<SmallVector<OpFoldResult>> steps = loop.getLoopSteps();
  if (!variables || !starts || !steps)
    return 1;
  for (auto [variable, start, step] :
       llvm::zip_equal(*variables, *starts, *steps))
    if (variable == value)
      return std::gcd(getConstantIntValue(start).value_or(1),
                      getConstantIntValue(step).value_or(1));
  return 1;
}

static bool isWhole(Value value, int64_t dim, OpFoldResult offset,
                    OpFoldResult size) {
  if (!isZeroInteger(offset))
    return false;
  using Bounds = ValueBoundsConstraintSet;
  FailureOr<bool> equal =
      Bounds::areEqual(Bounds::Variable(size), Bounds::Variable(value, dim));
  return succeeded(equal) && *equal;
}

/// Sets the heads of `tile` from a slice of query heads. Where `insideGroup`
/// is set, a part of the query heads of one key head is enough.
template <typename OpTy>
static LogicalResult setQueryHeads(OpBuilder &builder, OpTy op, LoopTile &tile,
                                   OpFoldResult offset, OpFoldResult size,
                                   bool insideGroup) {
  std::optional<int64_t> group = staticGroup(op);
  if (!group)
    return failure();
  auto divideByGroup = [&](OpFoldResult value) {
    return affine::makeComposedFoldedAffineApply(
        builder, op.getLoc(), builder.getAffineDimExpr(0).floorDiv(*group),
        {value});
  };
  int64_t offsetDivisor = knownDivisor(offset);
  if (offsetDivisor % *group == 0 && knownDivisor(size) % *group == 0) {
    tile.sizes[1] = divideByGroup(size);
  } else {
    std::optional<int64_t> heads = getConstantIntValue(size);
    if (!insideGroup || !heads || *heads < 1 || *group % *heads != 0 ||
        offsetDivisor % *heads != 0)
      return failure();
    tile.sizes[1] = builder.getIndexAttr(1);
  }
  tile.offsets[1] = divideByGroup(offset);
  tile.queryHeadsOffset = offset;
  tile.queryHeadsSize = size;
  return success();
}

/// The tile of the loops that a slice of operand `number` belongs to. Fails
/// where the slice cuts a dimension that is no loop.
template <typename OpTy>
static FailureOr<LoopTile>
tileFromSlice(OpBuilder &builder, OpTy op, unsigned number,
              ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
              bool insideGroup = false) {
  Value value = op->getOperand(number);
  Dims dims = operandDims(op)[number];
  LoopTile tile;
  tile.offsets.resize(loopCount(op));
  tile.sizes.resize(loopCount(op));
  for (auto [index, dim] : llvm::enumerate(dims)) {
    OpFoldResult offset = offsets[index], size = sizes[index];
    if (dim.kind == DimKind::Whole) {
      if (!isWhole(value, index, offset, size))
        return failure();
      continue;
    }
    tile.offsets[dim.loop] = offset;
    tile.sizes[dim.loop] = size;
    if constexpr (!std::is_same_v<OpTy, MergeOp>) {
      if (dim.kind == DimKind::QueryHeads) {
        if (failed(setQueryHeads(builder, op, tile, offset, size, insideGroup)))
          return failure();
      } else if (dim.loop == keyHeads.loop) {
        tile.queryHeadsOffset = timesGroup(builder, op, offset);
        tile.queryHeadsSize = timesGroup(builder, op, size);
      }
    }
  }
  // A bias, for one, does not tell the batch.
  if (llvm::any_of(tile.sizes, [](OpFoldResult size) { return !size; }))
    return failure();
  return tile;
}

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

namespace {
template <typename OpTy>
struct TilingModel : TilingInterface::ExternalModel<TilingModel<OpTy>, OpTy> {
  using Folds = ArrayRef<OpFoldResult>;
  using FoldLists = ArrayRef<SmallVector<OpFoldResult>>;

  SmallVector<utils::IteratorType> getLoopIteratorTypes(Operation *op) const {
    return SmallVector<utils::IteratorType>(loopCount(cast<OpTy>(op)),
                                            utils::IteratorType::parallel);
  }

  SmallVector<Range> getIterationDomain(Operation *op,
                                        OpBuilder &builder) const {
    OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
    return llvm::map_to_vector(
        loopSizes(builder, cast<OpTy>(op)),
        [&](OpFoldResult size) { return Range{zero, size, one}; });
  }

  FailureOr<TilingResult> getTiledImplementation(Operation *op,
                                                 OpBuilder &builder,
                                                 Folds offsets,
                                                 Folds sizes) const {
    auto typed = cast<OpTy>(op);
    return buildTile(builder, typed, makeTile(builder, typed, offsets, sizes));
  }

  LogicalResult
  getResultTilePosition(Operation *op, OpBuilder &builder,
                        unsigned resultNumber, Folds offsets, Folds sizes,
                        SmallVector<OpFoldResult> &resultOffsets,
                        SmallVector<OpFoldResult> &resultSizes) const {
    auto typed = cast<OpTy>(op);
    OpOperand *init = typed.getDpsInitOperand(resultNumber);
    getSlice(builder, op->getLoc(), init->get(),
             operandDims(typed)[init->getOperandNumber()],
             makeTile(builder, typed, offsets, sizes), resultOffsets,
             resultSizes);
    return success();
  }

  FailureOr<TilingResult> generateResultTileValue(Operation *op,
                                                  OpBuilder &builder,
                                                  unsigned resultNumber,
                                                  Folds offsets,
                                                  Folds sizes) const {
    auto typed = cast<OpTy>(op);
    unsigned init = typed.getDpsInitOperand(resultNumber)->getOperandNumber();
    FailureOr<LoopTile> tile = tileFromSlice(builder, typed, init, offsets,
                                             sizes, /*insideGroup=*/true);
    if (failed(tile))
      return failure();
    TilingResult result = buildTile(builder, typed, *tile);
    result.tiledValues = {result.tiledValues[resultNumber]};
    return result;
  }

  LogicalResult getIterationDomainTileFromResultTile(
      Operation *op, OpBuilder &builder, unsigned resultNumber, Folds offsets,
      Folds sizes, SmallVectorImpl<OpFoldResult> &loopOffsets,
      SmallVectorImpl<OpFoldResult> &loopSizes) const {
    auto typed = cast<OpTy>(op);
    unsigned init = typed.getDpsInitOperand(resultNumber)->getOperandNumber();
    FailureOr<LoopTile> tile =
        tileFromSlice(builder, typed, init, offsets, sizes);
    if (failed(tile))
      return failure();
    loopOffsets.assign(tile->offsets);
    loopSizes.assign(tile->sizes);
    return success();
  }

  LogicalResult getIterationDomainTileFromOperandTiles(
      Operation *op, OpBuilder &builder, ArrayRef<unsigned> operandNumbers,
      FoldLists offsets, FoldLists sizes,
      SmallVectorImpl<OpFoldResult> &loopOffsets,
      SmallVectorImpl<OpFoldResult> &loopSizes) const {
    auto equal = [](Folds one, Folds other) {
      return llvm::all_of(llvm::zip_equal(one, other), [](auto pair) {
        return isEqualConstantIntOrValue(std::get<0>(pair), std::get<1>(pair));
      });
    };
    for (auto [i, number] : llvm::enumerate(operandNumbers)) {
      FailureOr<LoopTile> tile =
          tileFromSlice(builder, cast<OpTy>(op), number, offsets[i], sizes[i]);
      if (failed(tile))
        return failure();
      if (i > 0 &&
          !(equal(loopOffsets, tile->offsets) && equal(loopSizes, tile->sizes)))
        return failure();
      loopOffsets.assign(tile->offsets);
      loopSizes.assign(tile->sizes);
    }
    return success(!operandNumbers.empty());
  }

  FailureOr<TilingResult> getTiledImplementationFromOperandTiles(
      Operation *op, OpBuilder &builder, ArrayRef<unsigned> operandNumbers,
      FoldLists offsets, FoldLists sizes) const {
    SmallVector<OpFoldResult> loopOffsets, loopSizes;
    if (failed(getIterationDomainTileFromOperandTiles(
            op, builder, operandNumbers, offsets, sizes, loopOffsets,
            loopSizes)))
      return failure();
    return getTiledImplementation(op, builder, loopOffsets, loopSizes);
  }
};
} // namespace

void mlir::na::registerTilingInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, NADialect *) {
    AttentionOp::attachInterface<TilingModel<AttentionOp>>(*context);
    QKOp::attachInterface<TilingModel<QKOp>>(*context);
    AVOp::attachInterface<TilingModel<AVOp>>(*context);
    MergeOp::attachInterface<TilingModel<MergeOp>>(*context);
  });
}
