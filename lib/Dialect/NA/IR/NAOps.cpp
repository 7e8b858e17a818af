//===- NAOps.cpp - Attention operations -------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NAVerifiers.h"
#include "na/Dialect/NA/IR/NA.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::detail;

//===----------------------------------------------------------------------===//
// AttentionOp
//===----------------------------------------------------------------------===//

MutableOperandRange AttentionOp::getDpsInitsMutable() {
  // Output and lse are neighbouring operands, so one range covers both.
  unsigned first = getODSOperandIndexAndLength(6).first;
  return MutableOperandRange(getOperation(), first,
                             getOperation()->getNumOperands() - first);
}

FloatType AttentionOp::getElementType() {
  return cast<FloatType>(shaped(getQuery()).getElementType());
}

FloatType AttentionOp::getAccumulatorType() {
  return accumulatorType(getElementType());
}

std::optional<double> AttentionOp::getScaleValue() {
  return scaleValue(getScale(), shaped(getQuery()));
}

void AttentionOp::build(OpBuilder &builder, OperationState &state, Value query,
                        Value key, Value value, WindowAttr window, bool withLse,
                        Value bias, Value additionalKey, Value additionalValue,
                        FloatAttr scale) {
  auto queryType = cast<RankedTensorType>(query.getType());
  int64_t rank = queryType.getRank();
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, state.location, query);
  SmallVector<OpFoldResult> lseSizes(ArrayRef(sizes).drop_back());
  sizes.back() = tensor::getMixedSize(builder, state.location, value, rank - 1);
  Value output = tensor::EmptyOp::create(builder, state.location, sizes,
                                         queryType.getElementType());
  Value lse;
  if (withLse)
    lse = tensor::EmptyOp::create(builder, state.location, lseSizes,
                                  accumulatorType(queryType.getElementType()));
  build(builder, state, query, key, value, bias, additionalKey, additionalValue,
        output, lse, window, scale, ScheduleAttr());
}

void AttentionOp::build(OpBuilder &builder, OperationState &state, Value query,
                        Value key, Value value, Value bias, Value additionalKey,
                        Value additionalValue, Value output, Value lse,
                        WindowAttr window, FloatAttr scale,
                        ScheduleAttr schedule) {
  build(builder, state, resultTypes({output, lse}), query, key, value, bias,
        additionalKey, additionalValue, output, lse, window, scale, schedule);
}

LogicalResult AttentionOp::verify() {
  AttentionOperands operands(getOperation(), getQuery(), getKey(), getValue());
  operands.outputs.push_back({"output", shaped(getOutput())});
  if (getLse())
    operands.statistics.push_back({"lse", shaped(getLse())});
  operands.bias = getBias();
  operands.additionalKey = getAdditionalKey();
  operands.additionalValue = getAdditionalValue();
  operands.window = getWindow();
  operands.scale = getScale();
  operands.schedule = getScheduleAttr();
  return verifyAttention(operands);
}

//===----------------------------------------------------------------------===//
// QKOp
//===----------------------------------------------------------------------===//

MutableOperandRange QKOp::getDpsInitsMutable() { return getScoresMutable(); }

std::optional<double> QKOp::getScaleValue() {
  return scaleValue(getScale(), shaped(getQuery()));
}

void QKOp::build(OpBuilder &builder, OperationState &state, Value query,
                 Value key, Value bias, Value scores, WindowAttr window,
                 FloatAttr scale, ScheduleAttr schedule) {
  build(builder, state, resultTypes(scores), query, key, bias, scores, window,
        scale, schedule);
}

LogicalResult QKOp::verify() {
  Named query{"query", shaped(getQuery())};
  if (failed(verifyQK(getOperation(), query, {"key", shaped(getKey())},
                      {"scores", shaped(getScores())}, getWindow(), getScale(),
                      getScheduleAttr())))
    return failure();
  if (getBias())
    return verifyBias(getOperation(), {"bias", shaped(getBias())}, query,
                      getWindow());
  return success();
}

//===----------------------------------------------------------------------===//
// AVOp
//===----------------------------------------------------------------------===//

MutableOperandRange AVOp::getDpsInitsMutable() { return getOutputMutable(); }

void AVOp::build(OpBuilder &builder, OperationState &state, Value weights,
                 Value value, Value output, WindowAttr window,
                 ScheduleAttr schedule) {
  build(builder, state, resultTypes(output), weights, value, output, window,
        schedule);
}

LogicalResult AVOp::verify() {
  return verifyAV(getOperation(), {"weights", shaped(getWeights())},
                  {"value", shaped(getValue())},
                  {"output", shaped(getOutput())}, getWindow(),
                  getScheduleAttr());
}

//===----------------------------------------------------------------------===//
// MergeOp
//===----------------------------------------------------------------------===//

MutableOperandRange MergeOp::getDpsInitsMutable() {
  unsigned first = getODSOperandIndexAndLength(2).first;
  return MutableOperandRange(getOperation(), first,
                             getOperation()->getNumOperands() - first);
}

void MergeOp::build(OpBuilder &builder, OperationState &state,
                    ValueRange outputs, ValueRange lses, Value output,
                    Value lse) {
  build(builder, state, resultTypes({output, lse}), outputs, lses, output, lse);
}

LogicalResult MergeOp::verify() {
  std::optional<Named> lse;
  if (getLse())
    lse = Named{"lse", shaped(getLse())};
  return verifyMerge(getOperation(), getOutputs(), getLses(),
                     {"output", shaped(getOutput())}, lse);
}
