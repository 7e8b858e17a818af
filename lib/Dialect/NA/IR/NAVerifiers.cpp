//===- NAVerifiers.cpp - Checks shared by the verifiers ---------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NAVerifiers.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::detail;

FloatType mlir::na::detail::accumulatorType(Type elementType) {
  return elementType.isF64() ? cast<FloatType>(elementType)
                             : Float32Type::get(elementType.getContext());
}

SmallVector<Type> mlir::na::detail::resultTypes(ValueRange destinations) {
  SmallVector<Type> types;
  for (Value value : destinations)
    if (value && isa<RankedTensorType>(value.getType()))
      types.push_back(value.getType());
  return types;
}

std::optional<double> mlir::na::detail::scaleValue(std::optional<APFloat> scale,
                                                   ShapedType query) {
  if (scale)
    return scale->convertToDouble();
  int64_t headDim = query.getShape().back();
  if (ShapedType::isDynamic(headDim))
    return std::nullopt;
  return 1.0 / std::sqrt(static_cast<double>(headDim));
}

/// Fails if the static sizes of an operand make it larger than any memory;
/// offsets computed from them would overflow.
static LogicalResult verifyAddressable(OpOperand &operand) {
  auto type = dyn_cast<ShapedType>(operand.get().getType());
  if (!type)
    return success();
  int64_t bytes = (type.getElementTypeBitWidth() + 7) / 8;
  for (int64_t size : type.getShape())
    if (!ShapedType::isDynamic(size) && size != 0 &&
        llvm::MulOverflow(bytes, size, bytes))
      return operand.getOwner()->emitOpError()
             << "operand " << operand.getOperandNumber() << " is " << type
             << ": more than 2^63 - 1 bytes";
  return success();
}

LogicalResult mlir::na::detail::verifyDestinationStyle(Operation *op) {
  auto dst = cast<DestinationStyleOpInterface>(op);
  bool tensors = isa<TensorType>(op->getOperand(0).getType());
  for (OpOperand &operand : op->getOpOperands())
    if (isa<ShapedType>(operand.get().getType()) &&
        isa<TensorType>(operand.get().getType()) != tensors)
      return op->emitOpError()
             << "mixes tensors and memrefs: operand "
             << operand.getOperandNumber() << " is " << operand.get().getType();
  for (OpOperand &operand : op->getOpOperands())
    if (failed(verifyAddressable(operand)))
      return failure();
  unsigned expected = tensors ? dst.getNumDpsInits() : 0;
  if (op->getNumResults() != expected)
    return op->emitOpError()
           << "has " << op->getNumResults() << " results, expected " << expected
           << (tensors ? " (one per destination)" : " (memref destinations)");
  if (tensors)
    for (auto [index, init] : llvm::enumerate(dst.getDpsInits()))
      if (op->getResult(index).getType() != init.getType())
        return op->emitOpError()
               << "result " << index << " is " << op->getResult(index).getType()
               << ", expected the destination's type " << init.getType();
  return success();
}

LogicalResult mlir::na::detail::verifyRank(Operation *op, Named operand,
                                           int64_t rank, StringRef layout) {
  if (operand.type.getRank() == rank)
    return success();
  return op->emitOpError() << "'" << operand.name << "' has rank "
                           << operand.type.getRank() << ", expected " << rank
                           << ", " << layout;
}

/// The first of `dims` that is static, if any.
static const DimOf *firstStatic(ArrayRef<DimOf> dims) {
  const auto *it = llvm::find_if(dims, [](const DimOf &entry) {
    return !entry.operand.type.isDynamicDim(entry.dim);
  });
  return it == dims.end() ? nullptr : it;
}

static int64_t sizeOf(const DimOf &entry) {
  return entry.operand.type.getDimSize(entry.dim);
}

LogicalResult mlir::na::detail::verifySameDims(Operation *op, StringRef what,
                                               ArrayRef<DimOf> dims) {
  const DimOf *expected = firstStatic(dims);
  if (!expected)
    return success();
  for (const DimOf &entry : dims)
    if (!entry.operand.type.isDynamicDim(entry.dim) &&
        sizeOf(entry) != sizeOf(*expected))
      return op->emitOpError()
             << "'" << entry.operand.name << "' dimension " << entry.dim << " ("
             << what << ") is " << sizeOf(entry) << ", expected "
             << sizeOf(*expected) << " as in '" << expected->operand.name
             << "'";
  return success();
}

LogicalResult mlir::na::detail::verifyElementType(Operation *op, Named operand,
                                                  Type expected,
                                                  StringRef why) {
  if (operand.type.getElementType() == expected)
    return success();
  return op->emitOpError() << "'" << operand.name << "' has element type "
                           << operand.type.getElementType() << ", expected "
                           << expected << " (" << why << ")";
}

/// Dimension `dim` of all `operands`.
static SmallVector<DimOf> dimOfAll(ArrayRef<Named> operands, int64_t dim) {
  return llvm::map_to_vector(
      operands, [&](Named operand) { return DimOf{operand, dim}; });
}

LogicalResult mlir::na::detail::verifySameTokens(Operation *op,
                                                 ArrayRef<Named> operands,
                                                 int64_t spatialRank) {
  if (failed(verifySameDims(op, "batch", dimOfAll(operands, 0))))
    return failure();
  for (int64_t axis = 0; axis < spatialRank; ++axis) {
    std::string what = "axis " + std::to_string(axis);
    if (failed(verifySameDims(op, what, dimOfAll(operands, axis + 1))))
      return failure();
  }
  return success();
}

LogicalResult mlir::na::detail::verifyWindowFits(Operation *op,
                                                 WindowAttr window,
                                                 ArrayRef<Named> operands) {
  int64_t headDim = window.getRank() + 1;
  for (int64_t axis = 0; axis < window.getRank(); ++axis) {
    SmallVector<DimOf> lengths = dimOfAll(operands, axis + 1);
    const DimOf *source = firstStatic(lengths);
    if (!source)
      continue;
    int64_t length = sizeOf(*source);
    auto error = ::na::window::checkAxis(window.getAxis(axis), axis, length);
    if (!error)
      continue;
    InFlightDiagnostic diag = op->emitOpError() << error->message;
    // Heads-first tensors are the usual way to get here.
    int64_t heads = source->operand.type.getDimSize(headDim);
    if (error->argument == "window" && !ShapedType::isDynamic(heads) &&
        heads > length)
      diag << "; '" << source->operand.name << "' has " << heads
           << " heads and " << length << " tokens on axis " << axis
           << ": are heads and tokens swapped? The layout is heads-last, [B, "
              "X.., H, D]";
    return diag;
  }
  return success();
}

LogicalResult mlir::na::detail::verifyHeads(Operation *op,
                                            ArrayRef<DimOf> queries,
                                            ArrayRef<DimOf> keys) {
  if (failed(verifySameDims(op, "heads", queries)) ||
      failed(verifySameDims(op, "heads", keys)))
    return failure();
  const DimOf *query = firstStatic(queries), *key = firstStatic(keys);
  for (const DimOf *side : {query, key})
    if (side && sizeOf(*side) == 0)
      return op->emitOpError()
             << "'" << side->operand.name << "' dimension " << side->dim
             << " (heads) is 0, expected at least 1";
  if (!query || !key || sizeOf(*query) % sizeOf(*key) == 0)
    return success();
  return op->emitOpError() << "'" << query->operand.name << "' has "
                           << sizeOf(*query) << " heads, not a multiple of the "
                           << sizeOf(*key) << " heads of '" << key->operand.name
                           << "'";
}

LogicalResult mlir::na::detail::verifyTableAxes(Operation *op, Named table,
                                                WindowAttr window) {
  for (int64_t axis = 0; axis < window.getRank(); ++axis) {
    int64_t size = window.getSize()[axis], expected = 0;
    if (llvm::MulOverflow<int64_t>(size, 2, expected))
      return op->emitOpError()
             << "window[" << axis << "] = " << size << " is too large for '"
             << table.name << "': 2 * window[" << axis
             << "] - 1 exceeds 64 bits";
    expected -= 1;
    int64_t entries = table.type.getDimSize(axis + 1);
    if (!ShapedType::isDynamic(entries) && entries != expected)
      return op->emitOpError()
             << "'" << table.name << "' dimension " << axis + 1 << " (axis "
             << axis << ") is " << entries << ", expected 2 * window[" << axis
             << "] - 1 = " << expected;
  }
  return success();
}

LogicalResult mlir::na::detail::verifySlotCount(Operation *op, Named slots,
                                                WindowAttr window) {
  int64_t dim = slots.type.getRank() - 1, expected = window.getNumSlots();
  if (expected == std::numeric_limits<int64_t>::max())
    return op->emitOpError()
           << "the product of the window sizes is too large for '" << slots.name
           << "': it exceeds 64 bits";
  int64_t count = slots.type.getDimSize(dim);
  if (ShapedType::isDynamic(count) || count == expected)
    return success();
  return op->emitOpError() << "'" << slots.name << "' dimension " << dim
                           << " (slots) is " << count
                           << ", expected the product of the window sizes, "
                           << expected;
}

LogicalResult mlir::na::detail::verifyBias(Operation *op, Named bias,
                                           Named query, WindowAttr window) {
  int64_t rank = window.getRank();
  if (failed(verifyRank(op, bias, rank + 1, "[Hq, 2 * size - 1 per axis]")) ||
      failed(verifySameDims(op, "heads", {{query, rank + 1}, {bias, 0}})) ||
      failed(verifyTableAxes(op, bias, window)))
    return failure();
  Type type = bias.type.getElementType();
  if (!type.isF32() && type != query.type.getElementType())
    return op->emitOpError() << "'" << bias.name << "' has element type "
                             << type << ", expected f32 or "
                             << query.type.getElementType() << " (the query's)";
  return success();
}

LogicalResult mlir::na::detail::verifyScale(Operation *op,
                                            std::optional<APFloat> scale) {
  if (!scale || scale->isFinite())
    return success();
  return op->emitOpError() << "'scale' is not finite";
}

LogicalResult mlir::na::detail::verifyChannels(Operation *op,
                                               ArrayRef<Named> operands) {
  for (Named operand : operands)
    if (operand.type.getShape().back() == 0)
      return op->emitOpError() << "'" << operand.name << "' dimension "
                               << operand.type.getRank() - 1
                               << " (channels) is 0, expected at least 1";
  return success();
}

LogicalResult mlir::na::detail::verifySchedule(Operation *op,
                                               ScheduleAttr schedule,
                                               int64_t rank) {
  if (!schedule)
    return success();
  if (int64_t(schedule.getQueryTile().size()) != rank)
    return op->emitOpError()
           << "'schedule' is for " << schedule.getQueryTile().size()
           << " axes, expected " << rank;
  if (schedule.getHeadsPerTile() != 1 && !isa<AttentionOp>(op))
    return op->emitOpError()
           << "'schedule' has 'heads_per_tile' = " << schedule.getHeadsPerTile()
           << ", expected 1: only na.attention has tiles of several heads";
  bool hasKeyRows = isa<AttentionDKVOp>(op);
  int64_t rows = hasKeyRows ? llvm::product_of(schedule.getKeyTile())
                            : llvm::product_of(schedule.getQueryTile()) *
                                  schedule.getHeadsPerTile();
  if (schedule.getWarps() != 0 && rows % schedule.getWarps() != 0)
    return op->emitOpError()
           << "schedule 'warps' = " << schedule.getWarps()
           << " does not divide the " << rows
           << (hasKeyRows ? " keys of 'key_tile'" : " queries of 'query_tile'");
  return success();
}

/// Checks that the query heads of a tile are there, and share all that they
/// read but the queries.
static LogicalResult verifyHeadsPerTile(const AttentionOperands &operands) {
  ScheduleAttr schedule = operands.schedule;
  if (!schedule || schedule.getHeadsPerTile() == 1)
    return success();
  int64_t dim = operands.window.getRank() + 1;
  int64_t heads = operands.query.type.getDimSize(dim);
  int64_t keyHeads = operands.key.type.getDimSize(dim);
  InFlightDiagnostic diag = operands.op->emitOpError()
                            << "'schedule' has 'heads_per_tile' = "
                            << schedule.getHeadsPerTile() << ", expected ";
  if (operands.bias)
    return diag << "1: each query head has a bias of its own";
  bool isStatic =
      !ShapedType::isDynamic(heads) && !ShapedType::isDynamic(keyHeads);
  int64_t group = isStatic && keyHeads != 0 ? heads / keyHeads : 0;
  if (isStatic && group % schedule.getHeadsPerTile() != 0)
    return diag << "a divisor of " << group << ", the query heads (" << heads
                << ") that read one of the " << keyHeads << " key heads";
  // Dynamic heads are left to the naive lowering.
  diag.abandon();
  return success();
}

//===----------------------------------------------------------------------===//
// na.attention and its gradients
//===----------------------------------------------------------------------===//

LogicalResult
mlir::na::detail::verifyAttention(const AttentionOperands &operands) {
  Operation *op = operands.op;
  Named query = operands.query, key = operands.key, value = operands.value;
  int64_t rank = operands.window.getRank();
  Type element = query.type.getElementType();
  if (failed(verifyDestinationStyle(op)) ||
      failed(verifyRank(op, query, rank + 3, "[B, X.., Hq, D]")) ||
      failed(verifyRank(op, key, rank + 3, "[B, X.., Hkv, D]")) ||
      failed(verifyRank(op, value, rank + 3, "[B, X.., Hkv, Dv]")))
    return failure();
  for (Named output : operands.outputs)
    if (failed(verifyRank(op, output, rank + 3, "[B, X.., Hq, Dv]")))
      return failure();
  if (failed(verifyElementType(op, key, element, "the query's")) ||
      failed(verifyElementType(op, value, element, "the query's")))
    return failure();
  SmallVector<Named> tokens = {query, key, value};
  SmallVector<DimOf> queryHeads = {{query, rank + 1}};
  SmallVector<DimOf> valueDims = {{value, rank + 2}};
  for (Named output : operands.outputs) {
    if (failed(verifyElementType(op, output, element, "the query's")))
      return failure();
    tokens.push_back(output);
    queryHeads.push_back({output, rank + 1});
    valueDims.push_back({output, rank + 2});
  }
  SmallVector<Named> channels = tokens;
  for (Named statistic : operands.statistics) {
    if (failed(verifyRank(op, statistic, rank + 2, "[B, X.., Hq]")) ||
        failed(verifyElementType(op, statistic, accumulatorType(element),
                                 "f32, or f64 for f64 queries")))
      return failure();
    tokens.push_back(statistic);
    queryHeads.push_back({statistic, rank + 1});
  }
  if (failed(verifySameTokens(op, tokens, rank)) ||
      failed(
          verifyHeads(op, queryHeads, {{key, rank + 1}, {value, rank + 1}})) ||
      failed(verifySameDims(op, "head dim",
                            {{query, rank + 2}, {key, rank + 2}})) ||
      failed(verifySameDims(op, "value dim", valueDims)) ||
      failed(verifyChannels(op, channels)) ||
      failed(verifyWindowFits(op, operands.window, channels)) ||
      failed(verifyScale(op, operands.scale)) ||
      failed(verifySchedule(op, operands.schedule, rank)) ||
      failed(verifyHeadsPerTile(operands)))
    return failure();
  if (operands.bias && failed(verifyBias(op, {"bias", shaped(operands.bias)},
                                         query, operands.window)))
    return failure();
  if (!operands.additionalKey != !operands.additionalValue)
    return op->emitOpError()
           << "has '"
           << (operands.additionalKey ? "additional_key" : "additional_value")
           << "' alone, expected both of 'additional_key' and "
              "'additional_value' or neither";
  if (!operands.additionalKey)
    return success();
  return verifyAdditional(
      op, {"additional_key", shaped(operands.additionalKey)},
      {"additional_value", shaped(operands.additionalValue)}, query,
      operands.outputs, key, value);
}

LogicalResult mlir::na::detail::verifyAdditional(
    Operation *op, Named additionalKey, Named additionalValue, Named query,
    ArrayRef<Named> outputs, std::optional<Named> key,
    std::optional<Named> value) {
  Type element = query.type.getElementType();
  int64_t rank = query.type.getRank() - 3;
  if (failed(verifyRank(op, additionalKey, 4, "[B, T, Hkv, D]")) ||
      failed(verifyRank(op, additionalValue, 4, "[B, T, Hkv, Dv]")) ||
      failed(verifyElementType(op, additionalKey, element, "the query's")) ||
      failed(verifyElementType(op, additionalValue, element, "the query's")))
    return failure();
  SmallVector<DimOf> batches = {{query, 0}}, heads;
  SmallVector<DimOf> headDims = {{query, rank + 2}}, valueDims;
  if (key) {
    batches.push_back({*key, 0});
    heads.push_back({*key, rank + 1});
    headDims.push_back({*key, rank + 2});
  }
  if (value) {
    heads.push_back({*value, rank + 1});
    valueDims.push_back({*value, rank + 2});
  }
  for (Named output : outputs)
    valueDims.push_back({output, rank + 2});
  batches.append({{additionalKey, 0}, {additionalValue, 0}});
  heads.append({{additionalKey, 2}, {additionalValue, 2}});
  headDims.push_back({additionalKey, 3});
  valueDims.push_back({additionalValue, 3});
  return success(
      succeeded(verifySameDims(op, "batch", batches)) &&
      succeeded(verifySameDims(op, "tokens",
                               {{additionalKey, 1}, {additionalValue, 1}})) &&
      succeeded(verifySameDims(op, "heads", heads)) &&
      succeeded(verifySameDims(op, "head dim", headDims)) &&
      succeeded(verifySameDims(op, "value dim", valueDims)));
}

//===----------------------------------------------------------------------===//
// na.qk, na.av, na.merge and their gradients
//===----------------------------------------------------------------------===//

LogicalResult mlir::na::detail::verifyQK(Operation *op, Named query, Named key,
                                         Named scores, WindowAttr window,
                                         std::optional<APFloat> scale,
                                         ScheduleAttr schedule) {
  int64_t rank = window.getRank();
  Type element = query.type.getElementType();
  return success(
      succeeded(verifyDestinationStyle(op)) &&
      succeeded(verifyRank(op, query, rank + 3, "[B, X.., Hq, D]")) &&
      succeeded(verifyRank(op, key, rank + 3, "[B, X.., Hkv, D]")) &&
      succeeded(verifyRank(op, scores, rank + 3, "[B, X.., Hq, prod(size)]")) &&
      succeeded(verifyElementType(op, key, element, "the query's")) &&
      succeeded(verifyElementType(op, scores, accumulatorType(element),
                                  "f32, or f64 for f64 queries")) &&
      succeeded(verifySameTokens(op, {query, key, scores}, rank)) &&
      succeeded(verifyHeads(op, {{query, rank + 1}, {scores, rank + 1}},
                            {{key, rank + 1}})) &&
      succeeded(verifySameDims(op, "head dim",
                               {{query, rank + 2}, {key, rank + 2}})) &&
      succeeded(verifyChannels(op, {query, key})) &&
      succeeded(verifyWindowFits(op, window, {query, key, scores})) &&
      succeeded(verifySlotCount(op, scores, window)) &&
      succeeded(verifyScale(op, scale)) &&
      succeeded(verifySchedule(op, schedule, rank)));
}

LogicalResult mlir::na::detail::verifyAV(Operation *op, Named weights,
                                         Named value, Named output,
                                         WindowAttr window,
                                         ScheduleAttr schedule) {
  int64_t rank = window.getRank();
  return success(
      succeeded(verifyDestinationStyle(op)) &&
      succeeded(verifyRank(op, value, rank + 3, "[B, X.., Hkv, Dv]")) &&
      succeeded(verifyRank(op, output, rank + 3, "[B, X.., Hq, Dv]")) &&
      succeeded(
          verifyRank(op, weights, rank + 3, "[B, X.., Hq, prod(size)]")) &&
      succeeded(verifyElementType(op, output, value.type.getElementType(),
                                  "the value's")) &&
      succeeded(verifySameTokens(op, {value, weights, output}, rank)) &&
      succeeded(verifyHeads(op, {{weights, rank + 1}, {output, rank + 1}},
                            {{value, rank + 1}})) &&
      succeeded(verifySameDims(op, "value dim",
                               {{value, rank + 2}, {output, rank + 2}})) &&
      succeeded(verifyChannels(op, {value, output})) &&
      succeeded(verifyWindowFits(op, window, {value, weights, output})) &&
      succeeded(verifySlotCount(op, weights, window)) &&
      succeeded(verifySchedule(op, schedule, rank)));
}

LogicalResult mlir::na::detail::verifyMerge(Operation *op, ValueRange outputs,
                                            ValueRange lses, Named output,
                                            std::optional<Named> lse) {
  if (outputs.empty())
    return op->emitOpError() << "has no part, expected at least 1";
  if (outputs.size() != lses.size())
    return op->emitOpError()
           << "has " << outputs.size() << " outputs and " << lses.size()
           << " LSEs, expected as many LSEs as outputs";
  if (failed(verifyDestinationStyle(op)))
    return failure();
  int64_t rank = output.type.getRank();
  if (rank < 1)
    return op->emitOpError()
           << "'" << output.name << "' has rank 0, expected [.., Dv]";
  SmallVector<std::string> names;
  for (size_t i = 0; i < outputs.size(); ++i) {
    names.push_back("outputs[" + std::to_string(i) + "]");
    names.push_back("lses[" + std::to_string(i) + "]");
  }
  Type statistic = shaped(lses[0]).getElementType();
  SmallVector<Named> shapes = {output}, statistics;
  for (auto [i, part, partLse] : llvm::enumerate(outputs, lses)) {
    shapes.push_back({names[2 * i], shaped(part)});
    statistics.push_back({names[2 * i + 1], shaped(partLse)});
  }
  if (lse)
    statistics.push_back(*lse);
  std::string layout = "that of '" + output.name.str() + "'";
  for (Named part : shapes)
    if (failed(verifyRank(op, part, rank, layout)))
      return failure();
  for (Named statisticOperand : statistics)
    if (failed(verifyRank(op, statisticOperand, rank - 1,
                          layout + " without Dv")) ||
        failed(
            verifyElementType(op, statisticOperand, statistic, "as 'lses[0]'")))
      return failure();
  for (int64_t dim = 0; dim < rank; ++dim) {
    SmallVector<DimOf> dims;
    for (Named part : shapes)
      dims.push_back({part, dim});
    if (dim < rank - 1)
      for (Named statisticOperand : statistics)
        dims.push_back({statisticOperand, dim});
    if (failed(verifySameDims(op, dim < rank - 1 ? "rows" : "value dim", dims)))
      return failure();
  }
  return success();
}

LogicalResult mlir::na::detail::verifyGradient(Operation *op, Named grad,
                                               Named operand) {
  std::string layout = "that of '" + operand.name.str() + "'";
  if (failed(verifyRank(op, grad, operand.type.getRank(), layout)) ||
      failed(
          verifyElementType(op, grad, operand.type.getElementType(), layout)))
    return failure();
  for (int64_t dim = 0; dim < operand.type.getRank(); ++dim)
    if (failed(verifySameDims(op, "gradient", {{operand, dim}, {grad, dim}})))
      return failure();
  return success();
}
