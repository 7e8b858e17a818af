//===- NAGradOps.cpp - Gradients of the na operations -----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NAVerifiers.h"
#include "na/Dialect/NA/IR/NA.h"

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::detail;

/// Destinations are the last operands, from `first` on.
static MutableOperandRange destinationsFrom(Operation *op, unsigned first) {
  return MutableOperandRange(op, first, op->getNumOperands() - first);
}

/// The operands that the gradients of na.attention have in common with it.
template <typename OpTy>
static AttentionOperands operandsOf(OpTy op) {
  AttentionOperands operands(op, op.getQuery(), op.getKey(), op.getValue());
  operands.bias = op.getBias();
  operands.window = op.getWindow();
  operands.scale = op.getScale();
  return operands;
}

/// Those of an operation that gets the statistics of the rows.
template <typename OpTy>
static AttentionOperands operandsWithStatistics(OpTy op) {
  AttentionOperands operands = operandsOf(op);
  operands.outputs.push_back({"output_grad", shaped(op.getOutputGrad())});
  operands.statistics.push_back({"lse", shaped(op.getLse())});
  operands.statistics.push_back({"delta", shaped(op.getDelta())});
  return operands;
}

/// Replaces an operation by others that have one of its results each.
static void replaceByParts(RewriterBase &rewriter, Operation *op,
                           ArrayRef<Operation *> parts) {
  SmallVector<Value> results;
  for (Operation *part : parts)
    llvm::append_range(results, part->getResults());
  rewriter.replaceOp(op, results);
}

template <typename OpTy>
static FloatType elementType(OpTy op) {
  return cast<FloatType>(shaped(op.getQuery()).getElementType());
}

//===----------------------------------------------------------------------===//
// AttentionGradOp
//===----------------------------------------------------------------------===//

MutableOperandRange AttentionGradOp::getDpsInitsMutable() {
  return destinationsFrom(getOperation(),
                          getODSOperandIndexAndLength(10).first);
}

FloatType AttentionGradOp::getElementType() { return elementType(*this); }

FloatType AttentionGradOp::getAccumulatorType() {
  return accumulatorType(getElementType());
}

std::optional<double> AttentionGradOp::getScaleValue() {
  return scaleValue(getScale(), shaped(getQuery()));
}

void AttentionGradOp::build(OpBuilder &builder, OperationState &state,
                            Value query, Value key, Value value, Value output,
                            Value lse, Value outputGrad, Value lseGrad,
                            Value bias, Value additionalKey,
                            Value additionalValue, Value queryGrad,
                            Value keyGrad, Value valueGrad, Value biasGrad,
                            Value additionalKeyGrad, Value additionalValueGrad,
                            WindowAttr window, FloatAttr scale,
                            bool deterministic, ScheduleAttr schedule) {
  build(builder, state,
        resultTypes({queryGrad, keyGrad, valueGrad, biasGrad, additionalKeyGrad,
                     additionalValueGrad}),
        query, key, value, output, lse, outputGrad, lseGrad, bias,
        additionalKey, additionalValue, queryGrad, keyGrad, valueGrad, biasGrad,
        additionalKeyGrad, additionalValueGrad, window, scale,
        deterministic ? builder.getUnitAttr() : UnitAttr(), schedule);
}

LogicalResult AttentionGradOp::verify() {
  Operation *op = getOperation();
  AttentionOperands operands = operandsOf(*this);
  operands.outputs.push_back({"output", shaped(getOutput())});
  operands.outputs.push_back({"output_grad", shaped(getOutputGrad())});
  operands.statistics.push_back({"lse", shaped(getLse())});
  if (getLseGrad())
    operands.statistics.push_back({"lse_grad", shaped(getLseGrad())});
  operands.additionalKey = getAdditionalKey();
  operands.additionalValue = getAdditionalValue();
  operands.schedule = getScheduleAttr();
  if (failed(verifyAttention(operands)) ||
      failed(verifyGradient(op, {"query_grad", shaped(getQueryGrad())},
                            operands.query)) ||
      failed(verifyGradient(op, {"key_grad", shaped(getKeyGrad())},
                            operands.key)) ||
      failed(verifyGradient(op, {"value_grad", shaped(getValueGrad())},
                            operands.value)))
    return failure();
  if (getBiasGrad()) {
    if (!getBias())
      return emitOpError() << "has 'bias_grad' without 'bias'";
    if (failed(verifyGradient(op, {"bias_grad", shaped(getBiasGrad())},
                              {"bias", shaped(getBias())})))
      return failure();
  }
  if (!getAdditionalKeyGrad() != !getAdditionalValueGrad())
    return emitOpError() << "has '"
                         << (getAdditionalKeyGrad() ? "additional_key_grad"
                                                    : "additional_value_grad")
                         << "' alone, expected both of 'additional_key_grad' "
                            "and 'additional_value_grad' or neither";
  if (!getAdditionalKeyGrad())
    return success();
  if (!getAdditionalKey())
    return emitOpError()
           << "has 'additional_key_grad' without 'additional_key'";
  if (failed(verifyGradient(
          op, {"additional_key_grad", shaped(getAdditionalKeyGrad())},
          {"additional_key", shaped(getAdditionalKey())})) ||
      failed(verifyGradient(
          op, {"additional_value_grad", shaped(getAdditionalValueGrad())},
          {"additional_value", shaped(getAdditionalValue())})))
    return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// AttentionDQOp
//===----------------------------------------------------------------------===//

MutableOperandRange AttentionDQOp::getDpsInitsMutable() {
  return getQueryGradMutable();
}

FloatType AttentionDQOp::getElementType() { return elementType(*this); }

FloatType AttentionDQOp::getAccumulatorType() {
  return accumulatorType(getElementType());
}

std::optional<double> AttentionDQOp::getScaleValue() {
  return scaleValue(getScale(), shaped(getQuery()));
}

void AttentionDQOp::build(OpBuilder &builder, OperationState &state,
                          Value query, Value key, Value value, Value outputGrad,
                          Value lse, Value delta, Value bias,
                          Value additionalKey, Value additionalValue,
                          Value queryGrad, WindowAttr window, FloatAttr scale,
                          ScheduleAttr schedule) {
  build(builder, state, resultTypes(queryGrad), query, key, value, outputGrad,
        lse, delta, bias, additionalKey, additionalValue, queryGrad, window,
        scale, schedule);
}

LogicalResult AttentionDQOp::verify() {
  AttentionOperands operands = operandsWithStatistics(*this);
  operands.additionalKey = getAdditionalKey();
  operands.additionalValue = getAdditionalValue();
  operands.schedule = getScheduleAttr();
  if (failed(verifyAttention(operands)))
    return failure();
  return verifyGradient(getOperation(), {"query_grad", shaped(getQueryGrad())},
                        operands.query);
}

//===----------------------------------------------------------------------===//
// AttentionDKVOp
//===----------------------------------------------------------------------===//

MutableOperandRange AttentionDKVOp::getDpsInitsMutable() {
  return destinationsFrom(getOperation(), getODSOperandIndexAndLength(7).first);
}

FloatType AttentionDKVOp::getElementType() { return elementType(*this); }

FloatType AttentionDKVOp::getAccumulatorType() {
  return accumulatorType(getElementType());
}

std::optional<double> AttentionDKVOp::getScaleValue() {
  return scaleValue(getScale(), shaped(getQuery()));
}

void AttentionDKVOp::build(OpBuilder &builder, OperationState &state,
                           Value query, Value key, Value value,
                           Value outputGrad, Value lse, Value delta, Value bias,
                           Value keyGrad, Value valueGrad, WindowAttr window,
                           FloatAttr scale, ScheduleAttr schedule) {
  build(builder, state, resultTypes({keyGrad, valueGrad}), query, key, value,
        outputGrad, lse, delta, bias, keyGrad, valueGrad, window, scale,
        schedule);
}

LogicalResult AttentionDKVOp::verify() {
  Operation *op = getOperation();
  if (!getKeyGrad() && !getValueGrad())
    return emitOpError() << "has neither 'key_grad' nor 'value_grad', expected "
                            "at least one of them";
  AttentionOperands operands = operandsWithStatistics(*this);
  operands.schedule = getScheduleAttr();
  if (failed(verifyAttention(operands)) ||
      (getKeyGrad() &&
       failed(verifyGradient(op, {"key_grad", shaped(getKeyGrad())},
                             operands.key))) ||
      (getValueGrad() &&
       failed(verifyGradient(op, {"value_grad", shaped(getValueGrad())},
                             operands.value))))
    return failure();
  return success();
}

std::pair<AttentionDKVOp, AttentionDKVOp>
AttentionDKVOp::split(RewriterBase &rewriter) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(getOperation());
  auto create = [&](Value keyGrad, Value valueGrad) {
    return AttentionDKVOp::create(
        rewriter, getLoc(), getQuery(), getKey(), getValue(), getOutputGrad(),
        getLse(), getDelta(), getBias(), keyGrad, valueGrad, getWindow(),
        getScaleAttr(), getScheduleAttr());
  };
  AttentionDKVOp dk = create(getKeyGrad(), Value());
  AttentionDKVOp dv = create(Value(), getValueGrad());
  SmallVector<Value> results(dk->getResults());
  llvm::append_range(results, dv->getResults());
  rewriter.replaceOp(getOperation(), results);
  return {dk, dv};
}

ParseResult mlir::na::detail::parseKeyGradients(OpAsmParser &parser,
                                                OptionalOperand &keyGrad,
                                                OptionalOperand &valueGrad,
                                                Type &keyType,
                                                Type &valueType) {
  OptionalOperand *operands[] = {&keyGrad, &valueGrad};
  Type *types[] = {&keyType, &valueType};
  size_t first = 0, last = 2;
  if (succeeded(parser.parseOptionalKeyword("dk")))
    last = 1;
  else if (succeeded(parser.parseOptionalKeyword("dv")))
    first = 1;
  else if (parser.parseKeyword("outs", " or 'dk' or 'dv'"))
    return failure();
  if (parser.parseLParen())
    return failure();
  for (size_t i = first; i < last; ++i) {
    operands[i]->emplace();
    if ((i != first && parser.parseComma()) ||
        parser.parseOperand(**operands[i]))
      return failure();
  }
  if (parser.parseColon())
    return failure();
  for (size_t i = first; i < last; ++i)
    if ((i != first && parser.parseComma()) || parser.parseType(*types[i]))
      return failure();
  return parser.parseRParen();
}

void mlir::na::detail::printKeyGradients(OpAsmPrinter &printer, Operation *,
                                         Value keyGrad, Value valueGrad,
                                         Type keyType, Type valueType) {
  if (keyGrad && valueGrad)
    printer << "outs(" << keyGrad << ", " << valueGrad << " : " << keyType
            << ", " << valueType << ")";
  else if (keyGrad)
    printer << "dk(" << keyGrad << " : " << keyType << ")";
  else
    printer << "dv(" << valueGrad << " : " << valueType << ")";
}

//===----------------------------------------------------------------------===//
// AttentionDQKVOp
//===----------------------------------------------------------------------===//

MutableOperandRange AttentionDQKVOp::getDpsInitsMutable() {
  return destinationsFrom(getOperation(), getODSOperandIndexAndLength(6).first);
}

FloatType AttentionDQKVOp::getElementType() { return elementType(*this); }

FloatType AttentionDQKVOp::getAccumulatorType() {
  return accumulatorType(getElementType());
}

std::optional<double> AttentionDQKVOp::getScaleValue() {
  return scaleValue(getScale(), shaped(getQuery()));
}

void AttentionDQKVOp::build(OpBuilder &builder, OperationState &state,
                            Value query, Value key, Value value,
                            Value outputGrad, Value lse, Value delta,
                            Value queryGrad, Value keyGrad, Value valueGrad,
                            WindowAttr window, FloatAttr scale,
                            ScheduleAttr schedule) {
  build(builder, state, resultTypes({queryGrad, keyGrad, valueGrad}), query,
        key, value, outputGrad, lse, delta, queryGrad, keyGrad, valueGrad,
        window, scale, schedule);
}

LogicalResult AttentionDQKVOp::verify() {
  Operation *op = getOperation();
  AttentionOperands operands = operandsWithStatistics(*this);
  operands.schedule = getScheduleAttr();
  if (failed(verifyAttention(operands)) ||
      failed(verifyGradient(op, {"query_grad", shaped(getQueryGrad())},
                            operands.query)) ||
      failed(
          verifyGradient(op, {"key_grad", shaped(getKeyGrad())}, operands.key)))
    return failure();
  return verifyGradient(op, {"value_grad", shaped(getValueGrad())},
                        operands.value);
}

std::pair<AttentionDQOp, AttentionDKVOp>
AttentionDQKVOp::split(RewriterBase &rewriter) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(getOperation());
  auto dq = AttentionDQOp::create(
      rewriter, getLoc(), getQuery(), getKey(), getValue(), getOutputGrad(),
      getLse(), getDelta(), /*bias=*/Value(), /*additionalKey=*/Value(),
      /*additionalValue=*/Value(), getQueryGrad(), getWindow(), getScaleAttr(),
      getScheduleAttr());
  auto dkv = AttentionDKVOp::create(
      rewriter, getLoc(), getQuery(), getKey(), getValue(), getOutputGrad(),
      getLse(), getDelta(), /*bias=*/Value(), getKeyGrad(), getValueGrad(),
      getWindow(), getScaleAttr(), getScheduleAttr());
  SmallVector<Value> results(dq->getResults());
  llvm::append_range(results, dkv->getResults());
  rewriter.replaceOp(getOperation(), results);
  return {dq, dkv};
}

//===----------------------------------------------------------------------===//
// AttentionDAdditionalOp
//===----------------------------------------------------------------------===//

MutableOperandRange AttentionDAdditionalOp::getDpsInitsMutable() {
  return destinationsFrom(getOperation(), getODSOperandIndexAndLength(6).first);
}

FloatType AttentionDAdditionalOp::getElementType() {
  return elementType(*this);
}

FloatType AttentionDAdditionalOp::getAccumulatorType() {
  return accumulatorType(getElementType());
}

std::optional<double> AttentionDAdditionalOp::getScaleValue() {
  return scaleValue(getScale(), shaped(getQuery()));
}

void AttentionDAdditionalOp::build(OpBuilder &builder, OperationState &state,
                                   Value query, Value outputGrad,
                                   Value additionalKey, Value additionalValue,
                                   Value lse, Value delta,
                                   Value additionalKeyGrad,
                                   Value additionalValueGrad, FloatAttr scale,
                                   ScheduleAttr schedule) {
  build(builder, state, resultTypes({additionalKeyGrad, additionalValueGrad}),
        query, outputGrad, additionalKey, additionalValue, lse, delta,
        additionalKeyGrad, additionalValueGrad, scale, schedule);
}

LogicalResult AttentionDAdditionalOp::verify() {
  Operation *op = getOperation();
  Named query{"query", shaped(getQuery())};
  Named outputGrad{"output_grad", shaped(getOutputGrad())};
  Named extraKey{"additional_key", shaped(getAdditionalKey())};
  Named extraValue{"additional_value", shaped(getAdditionalValue())};
  Named lse{"lse", shaped(getLse())}, delta{"delta", shaped(getDelta())};
  int64_t rank = getSpatialRank();
  if (failed(verifyDestinationStyle(op)))
    return failure();
  if (rank < 1 || rank > 3)
    return emitOpError() << "'query' has rank " << rank + 3
                         << ", expected 4 to 6, [B, X.., Hq, D]";
  Type element = query.type.getElementType();
  if (failed(verifyRank(op, outputGrad, rank + 3, "[B, X.., Hq, Dv]")) ||
      failed(verifyElementType(op, outputGrad, element, "the query's")))
    return failure();
  for (Named statistic : {lse, delta})
    if (failed(verifyRank(op, statistic, rank + 2, "[B, X.., Hq]")) ||
        failed(verifyElementType(op, statistic, accumulatorType(element),
                                 "f32, or f64 for f64 queries")))
      return failure();
  if (failed(verifyAdditional(op, extraKey, extraValue, query, outputGrad,
                              /*key=*/std::nullopt, /*value=*/std::nullopt)) ||
      failed(verifySameTokens(op, {query, outputGrad, lse, delta}, rank)) ||
      failed(verifyHeads(op,
                         {{query, rank + 1},
                          {outputGrad, rank + 1},
                          {lse, rank + 1},
                          {delta, rank + 1}},
                         {{extraKey, 2}, {extraValue, 2}})) ||
      failed(verifyChannels(op, {query, outputGrad, extraKey, extraValue})) ||
      failed(verifyScale(op, getScale())) ||
      failed(verifySchedule(op, getScheduleAttr(), rank)) ||
      failed(verifyGradient(
          op, {"additional_key_grad", shaped(getAdditionalKeyGrad())},
          extraKey)))
    return failure();
  return verifyGradient(
      op, {"additional_value_grad", shaped(getAdditionalValueGrad())},
      extraValue);
}

//===----------------------------------------------------------------------===//
// AttentionDBiasOp
//===----------------------------------------------------------------------===//

MutableOperandRange AttentionDBiasOp::getDpsInitsMutable() {
  return getBiasGradMutable();
}

FloatType AttentionDBiasOp::getElementType() { return elementType(*this); }

FloatType AttentionDBiasOp::getAccumulatorType() {
  return accumulatorType(getElementType());
}

std::optional<double> AttentionDBiasOp::getScaleValue() {
  return scaleValue(getScale(), shaped(getQuery()));
}

void AttentionDBiasOp::build(OpBuilder &builder, OperationState &state,
                             Value query, Value key, Value value,
                             Value outputGrad, Value lse, Value delta,
                             Value bias, Value biasGrad, WindowAttr window,
                             FloatAttr scale) {
  build(builder, state, resultTypes(biasGrad), query, key, value, outputGrad,
        lse, delta, bias, biasGrad, window, scale);
}

LogicalResult AttentionDBiasOp::verify() {
  AttentionOperands operands = operandsWithStatistics(*this);
  if (failed(verifyAttention(operands)))
    return failure();
  return verifyGradient(getOperation(), {"bias_grad", shaped(getBiasGrad())},
                        {"bias", shaped(getBias())});
}

//===----------------------------------------------------------------------===//
// QKGradOp
//===----------------------------------------------------------------------===//

MutableOperandRange QKGradOp::getDpsInitsMutable() {
  return destinationsFrom(getOperation(), getODSOperandIndexAndLength(3).first);
}

std::optional<double> QKGradOp::getScaleValue() {
  return scaleValue(getScale(), shaped(getQuery()));
}

void QKGradOp::build(OpBuilder &builder, OperationState &state, Value query,
                     Value key, Value scoresGrad, Value queryGrad,
                     Value keyGrad, Value biasGrad, WindowAttr window,
                     FloatAttr scale, ScheduleAttr schedule) {
  build(builder, state, resultTypes({queryGrad, keyGrad, biasGrad}), query, key,
        scoresGrad, queryGrad, keyGrad, biasGrad, window, scale, schedule);
}

LogicalResult QKGradOp::verify() {
  Operation *op = getOperation();
  Named query{"query", shaped(getQuery())}, key{"key", shaped(getKey())};
  if (failed(verifyQK(op, query, key, {"scores_grad", shaped(getScoresGrad())},
                      getWindow(), getScale(), getScheduleAttr())) ||
      failed(
          verifyGradient(op, {"query_grad", shaped(getQueryGrad())}, query)) ||
      failed(verifyGradient(op, {"key_grad", shaped(getKeyGrad())}, key)))
    return failure();
  if (getBiasGrad())
    return verifyBias(op, {"bias_grad", shaped(getBiasGrad())}, query,
                      getWindow());
  return success();
}

SmallVector<Operation *> QKGradOp::split(RewriterBase &rewriter) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(getOperation());
  SmallVector<Operation *> parts = {
      QKDQOp::create(rewriter, getLoc(), getKey(), getScoresGrad(),
                     getQueryGrad(), getWindow(), getScaleAttr(),
                     getScheduleAttr()),
      QKDKOp::create(rewriter, getLoc(), getQuery(), getScoresGrad(),
                     getKeyGrad(), getWindow(), getScaleAttr(),
                     getScheduleAttr())};
  if (getBiasGrad())
    parts.push_back(QKDBiasOp::create(rewriter, getLoc(), getScoresGrad(),
                                      getBiasGrad(), getWindow()));
  replaceByParts(rewriter, getOperation(), parts);
  return parts;
}

//===----------------------------------------------------------------------===//
// AVGradOp
//===----------------------------------------------------------------------===//

MutableOperandRange AVGradOp::getDpsInitsMutable() {
  return destinationsFrom(getOperation(), getODSOperandIndexAndLength(3).first);
}

void AVGradOp::build(OpBuilder &builder, OperationState &state, Value weights,
                     Value value, Value outputGrad, Value weightsGrad,
                     Value valueGrad, WindowAttr window,
                     ScheduleAttr schedule) {
  build(builder, state, resultTypes({weightsGrad, valueGrad}), weights, value,
        outputGrad, weightsGrad, valueGrad, window, schedule);
}

LogicalResult AVGradOp::verify() {
  Operation *op = getOperation();
  Named weights{"weights", shaped(getWeights())};
  Named value{"value", shaped(getValue())};
  return success(
      succeeded(verifyAV(op, weights, value,
                         {"output_grad", shaped(getOutputGrad())}, getWindow(),
                         getScheduleAttr())) &&
      succeeded(verifyGradient(op, {"weights_grad", shaped(getWeightsGrad())},
                               weights)) &&
      succeeded(
          verifyGradient(op, {"value_grad", shaped(getValueGrad())}, value)));
}

SmallVector<Operation *> AVGradOp::split(RewriterBase &rewriter) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(getOperation());
  SmallVector<Operation *> parts = {
      AVDWeightsOp::create(rewriter, getLoc(), getValue(), getOutputGrad(),
                           getWeightsGrad(), getWindow(), getScheduleAttr()),
      AVDVOp::create(rewriter, getLoc(), getWeights(), getOutputGrad(),
                     getValueGrad(), getWindow(), getScheduleAttr())};
  replaceByParts(rewriter, getOperation(), parts);
  return parts;
}

//===----------------------------------------------------------------------===//
// One gradient of a product
//===----------------------------------------------------------------------===//

MutableOperandRange QKDQOp::getDpsInitsMutable() {
  return getQueryGradMutable();
}

std::optional<double> QKDQOp::getScaleValue() {
  return scaleValue(getScale(), shaped(getQueryGrad()));
}

void QKDQOp::build(OpBuilder &builder, OperationState &state, Value key,
                   Value scoresGrad, Value queryGrad, WindowAttr window,
                   FloatAttr scale, ScheduleAttr schedule) {
  build(builder, state, resultTypes(queryGrad), key, scoresGrad, queryGrad,
        window, scale, schedule);
}

LogicalResult QKDQOp::verify() {
  return verifyQK(getOperation(), {"query_grad", shaped(getQueryGrad())},
                  {"key", shaped(getKey())},
                  {"scores_grad", shaped(getScoresGrad())}, getWindow(),
                  getScale(), getScheduleAttr());
}

MutableOperandRange QKDKOp::getDpsInitsMutable() { return getKeyGradMutable(); }

std::optional<double> QKDKOp::getScaleValue() {
  return scaleValue(getScale(), shaped(getQuery()));
}

void QKDKOp::build(OpBuilder &builder, OperationState &state, Value query,
                   Value scoresGrad, Value keyGrad, WindowAttr window,
                   FloatAttr scale, ScheduleAttr schedule) {
  build(builder, state, resultTypes(keyGrad), query, scoresGrad, keyGrad,
        window, scale, schedule);
}

LogicalResult QKDKOp::verify() {
  return verifyQK(getOperation(), {"query", shaped(getQuery())},
                  {"key_grad", shaped(getKeyGrad())},
                  {"scores_grad", shaped(getScoresGrad())}, getWindow(),
                  getScale(), getScheduleAttr());
}

MutableOperandRange QKDBiasOp::getDpsInitsMutable() {
  return getBiasGradMutable();
}

void QKDBiasOp::build(OpBuilder &builder, OperationState &state,
                      Value scoresGrad, Value biasGrad, WindowAttr window) {
  build(builder, state, resultTypes(biasGrad), scoresGrad, biasGrad, window);
}

LogicalResult QKDBiasOp::verify() {
  Operation *op = getOperation();
  Named scores{"scores_grad", shaped(getScoresGrad())};
  Named bias{"bias_grad", shaped(getBiasGrad())};
  int64_t rank = getSpatialRank();
  return success(
      succeeded(verifyDestinationStyle(op)) &&
      succeeded(verifyRank(op, scores, rank + 3, "[B, X.., Hq, prod(size)]")) &&
      succeeded(
          verifyRank(op, bias, rank + 1, "[Hq, 2 * size - 1 per axis]")) &&
      succeeded(verifySameDims(op, "heads", {{scores, rank + 1}, {bias, 0}})) &&
      succeeded(verifyTableAxes(op, bias, getWindow())) &&
      succeeded(verifyWindowFits(op, getWindow(), {scores})) &&
      succeeded(verifySlotCount(op, scores, getWindow())));
}

MutableOperandRange AVDWeightsOp::getDpsInitsMutable() {
  return getWeightsGradMutable();
}

void AVDWeightsOp::build(OpBuilder &builder, OperationState &state, Value value,
                         Value outputGrad, Value weightsGrad, WindowAttr window,
                         ScheduleAttr schedule) {
  build(builder, state, resultTypes(weightsGrad), value, outputGrad,
        weightsGrad, window, schedule);
}

LogicalResult AVDWeightsOp::verify() {
  return verifyAV(getOperation(), {"weights_grad", shaped(getWeightsGrad())},
                  {"value", shaped(getValue())},
                  {"output_grad", shaped(getOutputGrad())}, getWindow(),
                  getScheduleAttr());
}

MutableOperandRange AVDVOp::getDpsInitsMutable() {
  return getValueGradMutable();
}

void AVDVOp::build(OpBuilder &builder, OperationState &state, Value weights,
                   Value outputGrad, Value valueGrad, WindowAttr window,
                   ScheduleAttr schedule) {
  build(builder, state, resultTypes(valueGrad), weights, outputGrad, valueGrad,
        window, schedule);
}

LogicalResult AVDVOp::verify() {
  return verifyAV(getOperation(), {"weights", shaped(getWeights())},
                  {"value_grad", shaped(getValueGrad())},
                  {"output_grad", shaped(getOutputGrad())}, getWindow(),
                  getScheduleAttr());
}

//===----------------------------------------------------------------------===//
// MergeGradOp
//===----------------------------------------------------------------------===//

MutableOperandRange MergeGradOp::getDpsInitsMutable() {
  return destinationsFrom(getOperation(), getODSOperandIndexAndLength(4).first);
}

void MergeGradOp::build(OpBuilder &builder, OperationState &state,
                        ValueRange outputs, ValueRange lses, Value outputGrad,
                        Value lseGrad, ValueRange outputsGrad,
                        ValueRange lsesGrad) {
  SmallVector<Type> types = resultTypes(outputsGrad);
  llvm::append_range(types, resultTypes(lsesGrad));
  build(builder, state, types, outputs, lses, outputGrad, lseGrad, outputsGrad,
        lsesGrad);
}

LogicalResult MergeGradOp::verify() {
  Operation *op = getOperation();
  std::optional<Named> lseGrad;
  if (getLseGrad())
    lseGrad = Named{"lse_grad", shaped(getLseGrad())};
  if (failed(verifyMerge(op, getOutputs(), getLses(),
                         {"output_grad", shaped(getOutputGrad())}, lseGrad)))
    return failure();
  auto verifyGradients = [&](StringRef name, ValueRange operands,
                             ValueRange gradients) -> LogicalResult {
    if (operands.size() != gradients.size())
      return emitOpError() << "has " << gradients.size() << " '" << name
                           << "_grad' for " << operands.size() << " '" << name
                           << "', expected one each";
    for (auto [i, operand, gradient] : llvm::enumerate(operands, gradients)) {
      std::string index = "[" + std::to_string(i) + "]";
      std::string operandName = name.str() + index;
      std::string gradientName = name.str() + "_grad" + index;
      if (failed(verifyGradient(op, {gradientName, shaped(gradient)},
                                {operandName, shaped(operand)})))
        return failure();
    }
    return success();
  };
  if (failed(verifyGradients("outputs", getOutputs(), getOutputsGrad())))
    return failure();
  return verifyGradients("lses", getLses(), getLsesGrad());
}
