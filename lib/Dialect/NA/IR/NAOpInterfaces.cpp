//===- NAOpInterfaces.cpp - Effects and result shapes -----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/IR/NA.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
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
void AttentionGradOp::getEffects(Effects &effects) {
  getDestinationStyleEffects(getOperation(), effects);
}
void AttentionDQOp::getEffects(Effects &effects) {
  getDestinationStyleEffects(getOperation(), effects);
}
void AttentionDKVOp::getEffects(Effects &effects) {
  getDestinationStyleEffects(getOperation(), effects);
}
void AttentionDQKVOp::getEffects(Effects &effects) {
  getDestinationStyleEffects(getOperation(), effects);
}
void AttentionDAdditionalOp::getEffects(Effects &effects) {
  getDestinationStyleEffects(getOperation(), effects);
}
void AttentionDBiasOp::getEffects(Effects &effects) {
  getDestinationStyleEffects(getOperation(), effects);
}
void QKGradOp::getEffects(Effects &effects) {
  getDestinationStyleEffects(getOperation(), effects);
}
void AVGradOp::getEffects(Effects &effects) {
  getDestinationStyleEffects(getOperation(), effects);
}
void QKDQOp::getEffects(Effects &effects) {
  getDestinationStyleEffects(getOperation(), effects);
}
void QKDKOp::getEffects(Effects &effects) {
  getDestinationStyleEffects(getOperation(), effects);
}
void QKDBiasOp::getEffects(Effects &effects) {
  getDestinationStyleEffects(getOperation(), effects);
}
void AVDWeightsOp::getEffects(Effects &effects) {
  getDestinationStyleEffects(getOperation(), effects);
}
void AVDVOp::getEffects(Effects &effects) {
  getDestinationStyleEffects(getOperation(), effects);
}
void MergeGradOp::getEffects(Effects &effects) {
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
void TileAddOp::getEffects(Effects &effects) {
  addEffect(effects, getTileMutable(), MemoryEffects::Read::get());
  addEffect(effects, getDestMutable(), MemoryEffects::Read::get());
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

/// The sizes of one result. A static size of its type is an attribute, a
/// dynamic one a value, as callers of the interface expect.
static SmallVector<OpFoldResult> reify(OpBuilder &builder, OpResult result,
                                       ArrayRef<DimSource> dims) {
  Location loc = result.getLoc();
  auto type = cast<RankedTensorType>(result.getType());
  SmallVector<OpFoldResult> sizes;
  for (auto [index, source] : llvm::enumerate(dims)) {
    if (!type.isDynamicDim(index)) {
      sizes.push_back(builder.getIndexAttr(type.getDimSize(index)));
      continue;
    }
    OpFoldResult size =
        tensor::getMixedSize(builder, loc, source.first, source.second);
    sizes.push_back(getValueOrCreateConstantIndexOp(builder, loc, size));
  }
  return sizes;
}

static int64_t lastDim(Value value) {
  return cast<ShapedType>(value.getType()).getRank() - 1;
}

/// All dimensions of `value` but the last.
static SmallVector<DimSource> leadingDims(Value value) {
  SmallVector<DimSource> dims;
  for (int64_t dim : llvm::seq(lastDim(value)))
    dims.emplace_back(value, dim);
  return dims;
}

/// The sizes of a bias: the heads of `rows`, [B, X.., Hq, ..], and the window's
/// sizes.
static void reifyBias(OpBuilder &builder, OpResult bias, Value rows,
                      WindowAttr window, ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(
      reify(builder, bias, {DimSource(rows, window.getRank() + 1)}));
  for (int64_t axis = 0; axis < window.getRank(); ++axis) {
    OpFoldResult entries = builder.getIndexAttr(2 * window.getSize()[axis] - 1);
    if (cast<ShapedType>(bias.getType()).isDynamicDim(axis + 1))
      entries =
          getValueOrCreateConstantIndexOp(builder, bias.getLoc(), entries);
    shapes.back().push_back(entries);
  }
}

/// The sizes of rows of slots, of the queries of `rows`, [B, X.., Hq, ..].
static void reifySlots(OpBuilder &builder, OpResult result, Value rows,
                       WindowAttr window, ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(reify(builder, result, leadingDims(rows)));
  OpFoldResult slots = builder.getIndexAttr(window.getNumSlots());
  if (cast<ShapedType>(result.getType()).isDynamicDim(lastDim(result)))
    slots = getValueOrCreateConstantIndexOp(builder, result.getLoc(), slots);
  shapes.back().push_back(slots);
}

/// The sizes of an output, whose rows are those of `rows` and whose last
/// dimension is that of `channels`, and of an LSE, if there are such results.
static void reifyOutputAndLse(OpBuilder &builder, Operation *op, Value rows,
                              Value channels,
                              ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<DimSource> lse = leadingDims(rows);
  SmallVector<DimSource> output = lse;
  output.emplace_back(channels, lastDim(channels));
  if (op->getNumResults() > 0)
    shapes.push_back(reify(builder, op->getResult(0), output));
  if (op->getNumResults() > 1)
    shapes.push_back(reify(builder, op->getResult(1), lse));
}

LogicalResult
AttentionOp::reifyResultShapes(OpBuilder &builder,
                               ReifiedRankedShapedTypeDims &shapes) {
  reifyOutputAndLse(builder, getOperation(), getQuery(), getValue(), shapes);
  return success();
}

LogicalResult QKOp::reifyResultShapes(OpBuilder &builder,
                                      ReifiedRankedShapedTypeDims &shapes) {
  if (getNumResults() != 0)
    reifySlots(builder, getOperation()->getResult(0), getQuery(), getWindow(),
               shapes);
  return success();
}

LogicalResult AVOp::reifyResultShapes(OpBuilder &builder,
                                      ReifiedRankedShapedTypeDims &shapes) {
  reifyOutputAndLse(builder, getOperation(), getWeights(), getValue(), shapes);
  return success();
}

LogicalResult MergeOp::reifyResultShapes(OpBuilder &builder,
                                         ReifiedRankedShapedTypeDims &shapes) {
  reifyOutputAndLse(builder, getOperation(), getOutputs().front(),
                    getOutputs().front(), shapes);
  return success();
}

/// The sizes of gradients, which are those of their operands.
static LogicalResult reifyGradients(OpBuilder &builder, Operation *op,
                                    ArrayRef<std::pair<Value, Value>> gradients,
                                    ReifiedRankedShapedTypeDims &shapes) {
  unsigned next = 0;
  for (auto [destination, operand] : gradients) {
    if (!destination || next == op->getNumResults())
      continue;
    SmallVector<DimSource> dims = leadingDims(operand);
    dims.emplace_back(operand, lastDim(operand));
    shapes.push_back(reify(builder, op->getResult(next++), dims));
  }
  return success();
}

LogicalResult
AttentionGradOp::reifyResultShapes(OpBuilder &builder,
                                   ReifiedRankedShapedTypeDims &shapes) {
  return reifyGradients(builder, getOperation(),
                        {{getQueryGrad(), getQuery()},
                         {getKeyGrad(), getKey()},
                         {getValueGrad(), getValue()},
                         {getBiasGrad(), getBias()},
                         {getAdditionalKeyGrad(), getAdditionalKey()},
                         {getAdditionalValueGrad(), getAdditionalValue()}},
                        shapes);
}

LogicalResult
AttentionDQOp::reifyResultShapes(OpBuilder &builder,
                                 ReifiedRankedShapedTypeDims &shapes) {
  return reifyGradients(builder, getOperation(), {{getQueryGrad(), getQuery()}},
                        shapes);
}

LogicalResult
AttentionDKVOp::reifyResultShapes(OpBuilder &builder,
                                  ReifiedRankedShapedTypeDims &shapes) {
  return reifyGradients(
      builder, getOperation(),
      {{getKeyGrad(), getKey()}, {getValueGrad(), getValue()}}, shapes);
}

LogicalResult
AttentionDQKVOp::reifyResultShapes(OpBuilder &builder,
                                   ReifiedRankedShapedTypeDims &shapes) {
  return reifyGradients(builder, getOperation(),
                        {{getQueryGrad(), getQuery()},
                         {getKeyGrad(), getKey()},
                         {getValueGrad(), getValue()}},
                        shapes);
}

LogicalResult
AttentionDAdditionalOp::reifyResultShapes(OpBuilder &builder,
                                          ReifiedRankedShapedTypeDims &shapes) {
  return reifyGradients(builder, getOperation(),
                        {{getAdditionalKeyGrad(), getAdditionalKey()},
                         {getAdditionalValueGrad(), getAdditionalValue()}},
                        shapes);
}

LogicalResult
AttentionDBiasOp::reifyResultShapes(OpBuilder &builder,
                                    ReifiedRankedShapedTypeDims &shapes) {
  return reifyGradients(builder, getOperation(), {{getBiasGrad(), getBias()}},
                        shapes);
}

LogicalResult QKGradOp::reifyResultShapes(OpBuilder &builder,
                                          ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<std::pair<Value, Value>> gradients = {
      {getQueryGrad(), getQuery()}, {getKeyGrad(), getKey()}};
  if (failed(reifyGradients(builder, getOperation(), gradients, shapes)))
    return failure();
  if (getNumResults() == 3)
    reifyBias(builder, getOperation()->getResult(2), getQuery(), getWindow(),
              shapes);
  return success();
}

LogicalResult AVGradOp::reifyResultShapes(OpBuilder &builder,
                                          ReifiedRankedShapedTypeDims &shapes) {
  return reifyGradients(
      builder, getOperation(),
      {{getWeightsGrad(), getWeights()}, {getValueGrad(), getValue()}}, shapes);
}

/// The sizes of the gradient of a key or value, whose head is not an operand's:
/// those of its destination.
static void reifyDestination(OpBuilder &builder, Operation *op,
                             ReifiedRankedShapedTypeDims &shapes) {
  if (op->getNumResults() == 0)
    return;
  Value destination = cast<DestinationStyleOpInterface>(op).getDpsInits()[0];
  SmallVector<DimSource> dims = leadingDims(destination);
  dims.emplace_back(destination, lastDim(destination));
  shapes.push_back(reify(builder, op->getResult(0), dims));
}

LogicalResult QKDQOp::reifyResultShapes(OpBuilder &builder,
                                        ReifiedRankedShapedTypeDims &shapes) {
  reifyOutputAndLse(builder, getOperation(), getScoresGrad(), getKey(), shapes);
  return success();
}

LogicalResult QKDKOp::reifyResultShapes(OpBuilder &builder,
                                        ReifiedRankedShapedTypeDims &shapes) {
  reifyDestination(builder, getOperation(), shapes);
  return success();
}

LogicalResult
QKDBiasOp::reifyResultShapes(OpBuilder &builder,
                             ReifiedRankedShapedTypeDims &shapes) {
  if (getNumResults() != 0)
    reifyBias(builder, getOperation()->getResult(0), getScoresGrad(),
              getWindow(), shapes);
  return success();
}

LogicalResult
AVDWeightsOp::reifyResultShapes(OpBuilder &builder,
                                ReifiedRankedShapedTypeDims &shapes) {
  if (getNumResults() != 0)
    reifySlots(builder, getOperation()->getResult(0), getOutputGrad(),
               getWindow(), shapes);
  return success();
}

LogicalResult AVDVOp::reifyResultShapes(OpBuilder &builder,
                                        ReifiedRankedShapedTypeDims &shapes) {
  reifyDestination(builder, getOperation(), shapes);
  return success();
}

LogicalResult
MergeGradOp::reifyResultShapes(OpBuilder &builder,
                               ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<std::pair<Value, Value>> gradients;
  for (auto [gradient, output] : llvm::zip(getOutputsGrad(), getOutputs()))
    gradients.emplace_back(gradient, output);
  for (auto [gradient, lse] : llvm::zip(getLsesGrad(), getLses()))
    gradients.emplace_back(gradient, lse);
  return reifyGradients(builder, getOperation(), gradients, shapes);
}
