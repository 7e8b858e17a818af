//===- NAOpInterfaces.cpp - Effects and result shapes -----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/IR/NA.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::na;

//===----------------------------------------------------------------------===//
// Memory effects: memref operands are read, memref destinations written
//===----------------------------------------------------------------------===//

using Effects = SmallVectorImpl<MemoryEffects::EffectInstance>;

static void addEffect(Effects &effects, OpOperand &operand,
                      MemoryEffects::Effect *effect) {
  if (isa<MemRefType>(operand.get().getType()))
    effects.emplace_back(effect, &operand, SideEffects::DefaultResource::get());
}

/// Destinations of the attention operations are written only; tiles that are
/// updated in place (`readsInits`) are read too.
static void getDestinationStyleEffects(Operation *op, Effects &effects,
                                       bool readsInits = false) {
  auto dst = cast<DestinationStyleOpInterface>(op);
  for (OpOperand &operand : op->getOpOperands()) {
    bool isInit = dst.isDpsInit(&operand);
    if (!isInit || readsInits)
      addEffect(effects, operand, MemoryEffects::Read::get());
    if (isInit)
      addEffect(effects, operand, MemoryEffects::Write::get());
  }
}

void AttentionOp::getEffects(Effects &effects) {
  getDestinationStyleEffects(getOperation(), effects);
}
void QKOp::getEffects(Effects &effects) {
  getDestinationStyleEffects(getOperation(), effects);
}
void AVOp::getEffects(Effects &effects) {
  getDestinationStyleEffects(getOperation(), effects);
}
void MergeOp::getEffects(Effects &effects) {
  getDestinationStyleEffects(getOperation(), effects);
}
void TileLoadOp::getEffects(Effects &effects) {
  getDestinationStyleEffects(getOperation(), effects);
}
void TileWindowsOp::getEffects(Effects &effects) {
  getDestinationStyleEffects(getOperation(), effects);
}
void TileMaskOp::getEffects(Effects &effects) {
  getDestinationStyleEffects(getOperation(), effects, /*readsInits=*/true);
}
void TileBiasOp::getEffects(Effects &effects) {
  getDestinationStyleEffects(getOperation(), effects, /*readsInits=*/true);
}
void TileGatherOp::getEffects(Effects &effects) {
  getDestinationStyleEffects(getOperation(), effects);
}
void TileStoreOp::getEffects(Effects &effects) {
  addEffect(effects, getTileMutable(), MemoryEffects::Read::get());
  addEffect(effects, getDestMutable(), MemoryEffects::Write::get());
}
void TileScatterOp::getEffects(Effects &effects) {
  addEffect(effects, getTileMutable(), MemoryEffects::Read::get());
  addEffect(effects, getRangesMutable(), MemoryEffects::Read::get());
  addEffect(effects, getDestMutable(), MemoryEffects::Write::get());
}

//===----------------------------------------------------------------------===//
// Result shapes, from the operands where they determine them
//===----------------------------------------------------------------------===//

/// Where one dimension of a result comes from.
using DimSource = std::pair<Value, int64_t>;

static SmallVector<OpFoldResult> reify(OpBuilder &builder, Location loc,
                                       ArrayRef<DimSource> dims) {
  SmallVector<OpFoldResult> sizes;
  for (auto [value, dim] : dims)
    sizes.push_back(tensor::getMixedSize(builder, loc, value, dim));
  return sizes;
}

/// All dimensions of `value` but the last.
static SmallVector<DimSource> leadingDims(Value value) {
  SmallVector<DimSource> dims;
  for (int64_t dim : llvm::seq(cast<ShapedType>(value.getType()).getRank() - 1))
    dims.emplace_back(value, dim);
  return dims;
}

static int64_t lastDim(Value value) {
  return cast<ShapedType>(value.getType()).getRank() - 1;
}

LogicalResult
AttentionOp::reifyResultShapes(OpBuilder &builder,
                               ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<DimSource> lse = leadingDims(getQuery());
  SmallVector<DimSource> output = lse;
  output.emplace_back(getValue(), lastDim(getValue()));
  if (getNumResults() > 0)
    shapes.push_back(reify(builder, getLoc(), output));
  if (getNumResults() > 1)
    shapes.push_back(reify(builder, getLoc(), lse));
  return success();
}

LogicalResult QKOp::reifyResultShapes(OpBuilder &builder,
                                      ReifiedRankedShapedTypeDims &shapes) {
  if (getNumResults() == 0)
    return success();
  shapes.push_back(reify(builder, getLoc(), leadingDims(getQuery())));
  shapes.back().push_back(builder.getIndexAttr(getWindow().getNumSlots()));
  return success();
}

LogicalResult AVOp::reifyResultShapes(OpBuilder &builder,
                                      ReifiedRankedShapedTypeDims &shapes) {
  if (getNumResults() == 0)
    return success();
  SmallVector<DimSource> output = leadingDims(getWeights());
  output.emplace_back(getValue(), lastDim(getValue()));
  shapes.push_back(reify(builder, getLoc(), output));
  return success();
}

LogicalResult MergeOp::reifyResultShapes(OpBuilder &builder,
                                         ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<DimSource> lse = leadingDims(getOutputs().front());
  SmallVector<DimSource> output = lse;
  output.emplace_back(getOutputs().front(), lastDim(getOutputs().front()));
  if (getNumResults() > 0)
    shapes.push_back(reify(builder, getLoc(), output));
  if (getNumResults() > 1)
    shapes.push_back(reify(builder, getLoc(), lse));
  return success();
}
