//===- Workload.cpp - Operations as the cost model sees them --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/Transforms/Workload.h"

#include "na/Dialect/NA/IR/NA.h"

using namespace mlir;
using namespace mlir::na;
using ::na::schedule::Workload;

/// Whether the TMA can read boxes of a tensor `[B, X.., H, D]`, by what its
/// type says (the rest is for the run time): heads and channels without gaps,
/// other strides a multiple of 16 bytes.
static bool canReadBoxes(Value tensor) {
  auto type = dyn_cast<MemRefType>(tensor.getType());
  if (!type)
    return true;
  SmallVector<int64_t> strides;
  int64_t offset, rank = type.getRank();
  if (failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return false;
  for (int64_t dim = 0; dim < rank - 1; ++dim) {
    if (type.getDimSize(dim) == 1 || ShapedType::isDynamic(strides[dim]))
      continue;
    if (dim == rank - 2 ? strides[dim] != type.getDimSize(rank - 1)
                        : strides[dim] * type.getElementTypeBitWidth() % 128)
      return false;
  }
  return true;
}

static int64_t getSize(Value value, int64_t dim) {
  auto type = cast<ShapedType>(value.getType());
  return type.isDynamicDim(dim) ? ::na::schedule::dynamicLength
                                : type.getDimSize(dim);
}

static std::string getTypeName(Value value) {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << cast<ShapedType>(value.getType()).getElementType();
  return name;
}

/// `tokens` has the batch and the lengths, `rows` the query heads, `keys` the
/// key heads. `heads` and `values` have the channels of the two products; null
/// where there is no such product.
static Workload makeWorkload(WindowAttr window, Value tokens, Value rows,
                             Value keys, Value heads, Value values) {
  Workload workload;
  for (int64_t axis = 0; axis < window.getRank(); ++axis) {
    workload.axes.push_back(window.getAxis(axis));
    workload.lengths.push_back(getSize(tokens, axis + 1));
  }
  // A dynamic head dim is not tiled at all; any number does.
  auto channels = [](Value value) {
    int64_t rank = cast<ShapedType>(value.getType()).getRank();
    int64_t size = getSize(value, rank - 1);
    return size == ::na::schedule::dynamicLength ? 64 : size;
  };
  workload.headDim = channels(heads ? heads : values);
  workload.valueDim = channels(values ? values : heads);
  Type element = cast<ShapedType>(tokens.getType()).getElementType();
  workload.tileElementBytes = element.isF64() ? 8 : 4;
  workload.operandBytes = element.getIntOrFloatBitWidth() / 8;
  workload.type = getTypeName(tokens);
  workload.fused = heads && values;
  int64_t headAxis = window.getRank() + 1;
  workload.batch = getSize(rows, 0);
  workload.heads = getSize(rows, headAxis);
  workload.kvHeads = getSize(keys, headAxis);
  workload.batchHeads = workload.batch == ::na::schedule::dynamicLength ||
                                workload.heads == ::na::schedule::dynamicLength
                            ? ::na::schedule::dynamicLength
                            : workload.batch * workload.heads;
  return workload;
}

static void addBias(Value bias, Workload &workload) {
  workload.hasBias = bool(bias);
  if (bias)
    workload.biasType = getTypeName(bias);
}

std::optional<Workload> mlir::na::getWorkload(Operation *op) {
  if (auto attention = dyn_cast<AttentionOp>(op)) {
    Value query = attention.getQuery();
    Workload workload =
        makeWorkload(attention.getWindow(), query, query, attention.getKey(),
                     query, attention.getValue());
    addBias(attention.getBias(), workload);
    if (Value additional = attention.getAdditionalKey()) {
      workload.hasAdditionalKeys = true;
      int64_t number = getSize(additional, 1);
      workload.additionalKeys = std::max<int64_t>(number, 0);
    }
    workload.hasBoxes =
        llvm::all_of(op->getOperands().take_front(3), canReadBoxes);
    return workload;
  }
  if (auto qk = dyn_cast<QKOp>(op)) {
    Workload workload = makeWorkload(qk.getWindow(), qk.getQuery(),
                                     qk.getQuery(), qk.getKey(), qk.getKey(),
                                     /*values=*/Value());
    workload.operation = "qk";
    addBias(qk.getBias(), workload);
    return workload;
  }
  if (auto av = dyn_cast<AVOp>(op)) {
    Workload workload =
        makeWorkload(av.getWindow(), av.getValue(), av.getWeights(),
                     av.getValue(), /*heads=*/Value(), av.getValue());
    workload.operation = "av";
    return workload;
  }
  return std::nullopt;
}
