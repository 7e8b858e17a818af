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
  Operation *op = getOperation();
  int64_t rank = getSpatialRank();
  Named query{"query", shaped(getQuery())}, key{"key", shaped(getKey())};
  Named scores{"scores", shaped(getScores())};
  Type element = query.type.getElementType();
  if (failed(verifyDestinationStyle(op)) ||
      failed(verifyRank(op, query, rank + 3, "[B, X.., Hq, D]")) ||
      failed(verifyRank(op, key, rank + 3, "[B, X.., Hkv, D]")) ||
      failed(verifyRank(op, scores, rank + 3, "[B, X.., Hq, prod(size)]")) ||
      failed(verifyElementType(op, key, element, "the query's")) ||
      failed(verifyElementType(op, scores, accumulatorType(element),
                               "f32, or f64 for f64 queries")) ||
      failed(verifySameTokens(op, {query, key, scores}, rank)) ||
      failed(verifyHeads(op, {{query, rank + 1}, {scores, rank + 1}},
                         {{key, rank + 1}})) ||
      failed(verifySameDims(op, "head dim",
                            {{query, rank + 2}, {key, rank + 2}})) ||
      failed(verifyChannels(op, {query, key})) ||
      failed(verifyWindowFits(op, getWindow(), {query, key, scores})) ||
      failed(verifySlotCount(op, scores, getWindow())) ||
      failed(verifyScale(op, getScale())) ||
      failed(verifySchedule(op, getScheduleAttr(), rank)))
    return failure();
  if (getBias())
    return verifyBias(op, {"bias", shaped(getBias())}, query, getWindow());
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
  Operation *op = getOperation();
  int64_t rank = getSpatialRank();
  Named weights{"weights", shaped(getWeights())};
  Named value{"value", shaped(getValue())};
  Named output{"output", shaped(getOutput())};
  if (failed(verifyDestinationStyle(op)) ||
      failed(verifyRank(op, value, rank + 3, "[B, X.., Hkv, Dv]")) ||
      failed(verifyRank(op, output, rank + 3, "[B, X.., Hq, Dv]")) ||
      failed(verifyRank(op, weights, rank + 3, "[B, X.., Hq, prod(size)]")) ||
      failed(verifyElementType(op, output, value.type.getElementType(),
                               "the value's")) ||
      failed(verifySameTokens(op, {value, weights, output}, rank)) ||
      failed(verifyHeads(op, {{weights, rank + 1}, {output, rank + 1}},
                         {{value, rank + 1}})) ||
      failed(verifySameDims(op, "value dim",
                            {{value, rank + 2}, {output, rank + 2}})) ||
      failed(verifyChannels(op, {value, output})) ||
      failed(verifyWindowFits(op, getWindow(), {value, weights, output})) ||
      failed(verifySlotCount(op, weights, getWindow())) ||
      failed(verifySchedule(op, getScheduleAttr(), rank)))
    return failure();
  return success();
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
  Operation *op = getOperation();
  if (getOutputs().empty())
    return emitOpError() << "has no part, expected at least 1";
  if (getOutputs().size() != getLses().size())
    return emitOpError() << "has " << getOutputs().size() << " outputs and "
                         << getLses().size()
                         << " LSEs, expected as many LSEs as outputs";
  if (failed(verifyDestinationStyle(op)))
    return failure();
  Named output{"output", shaped(getOutput())};
  int64_t rank = output.type.getRank();
  if (rank < 1)
    return emitOpError() << "'output' has rank 0, expected [.., Dv]";
  SmallVector<std::string> names;
  for (size_t i = 0; i < getOutputs().size(); ++i) {
    names.push_back("outputs[" + std::to_string(i) + "]");
    names.push_back("lses[" + std::to_string(i) + "]");
  }
  Type statistic = shaped(getLses()[0]).getElementType();
  SmallVector<Named> shapes = {output}, statistics;
  for (auto [i, part, lse] : llvm::enumerate(getOutputs(), getLses())) {
    shapes.push_back({names[2 * i], shaped(part)});
    statistics.push_back({names[2 * i + 1], shaped(lse)});
  }
  if (getLse())
    statistics.push_back({"lse", shaped(getLse())});
  for (Named part : shapes)
    if (failed(verifyRank(op, part, rank, "that of 'output'")))
      return failure();
  for (Named lse : statistics)
    if (failed(verifyRank(op, lse, rank - 1, "that of 'output' without Dv")) ||
        failed(verifyElementType(op, lse, statistic, "as 'lses[0]'")))
      return failure();
  for (int64_t dim = 0; dim < rank; ++dim) {
    SmallVector<DimOf> dims;
    for (Named part : shapes)
      dims.push_back({part, dim});
    if (dim < rank - 1)
      for (Named lse : statistics)
        dims.push_back({lse, dim});
    if (failed(verifySameDims(op, dim < rank - 1 ? "rows" : "value dim", dims)))
      return failure();
  }
  return success();
}
