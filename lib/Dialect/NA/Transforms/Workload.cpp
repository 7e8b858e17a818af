//===- Workload.cpp - Operations as the cost model sees them --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/Transforms/Workload.h"

#include "na/Dialect/NA/IR/NA.h"
#include "llvm/Support/MathExtras.h"

#include <tuple>

using namespace mlir;
using namespace mlir::na;
using ::na::schedule::Workload;

/// Whether the TMA can read boxes of a tensor `[B, X.., H, D]`, by what its
/// type says (the rest is for the run time): heads and channels without gaps,
/// other strides a multiple of 16 bytes, and coordinates of 32 bits, also of
/// the innermost dimension, which residues are a part of.
static bool canReadBoxes(Value tensor, ArrayRef<int64_t> dilations) {
  auto shaped = cast<ShapedType>(tensor.getType());
  auto type = dyn_cast<MemRefType>(shaped);
  // What has no layout yet will get one without gaps.
  if (!type)
    type = MemRefType::get(shaped.getShape(), shaped.getElementType());
  SmallVector<int64_t> strides;
  int64_t offset, rank = type.getRank();
  if (failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return false;
  // Sizes that the type does not say are for the run time too.
  int64_t heads = type.getDimSize(rank - 2);
  int64_t channels = type.getDimSize(rank - 1), last = 0;
  if (!ShapedType::isDynamic(heads) && !ShapedType::isDynamic(channels) &&
      llvm::MulOverflow(heads, channels, last))
    return false;
  for (auto [axis, dilation] : llvm::enumerate(dilations)) {
    int64_t stride = strides[axis + 1], residues;
    if (dilation != 1 && (type.isDynamicDim(axis + 1) ||
                          type.getDimSize(axis + 1) % dilation != 0))
      return false;
    if (ShapedType::isDynamic(stride))
      continue;
    if (llvm::MulOverflow(stride, dilation - 1, residues) ||
        llvm::AddOverflow(last, residues, last))
      return false;
  }
  if (!llvm::isInt<32>(last))
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

/// Operations whose rows are keys; none of them has additional keys.
template <typename OpTy>
static constexpr bool hasKeyRows = std::is_same_v<OpTy, AttentionDKVOp> ||
                                   std::is_same_v<OpTy, AttentionDQKVOp>;

/// Whether the TMA can read all that kernels of warpgroups load.
template <typename OpTy>
static bool canReadBoxes(OpTy op) {
  SmallVector<Value> tensors = {op.getQuery(), op.getKey(), op.getValue()};
  if constexpr (!std::is_same_v<OpTy, AttentionOp>)
    tensors.push_back(op.getOutputGrad());
  for (Value tensor : tensors)
    if (!canReadBoxes(tensor, op.getWindow().getDilation()))
      return false;
  if constexpr (!hasKeyRows<OpTy>)
    for (Value tensor : {op.getAdditionalKey(), op.getAdditionalValue()})
      if (tensor && !canReadBoxes(tensor, ArrayRef<int64_t>()))
        return false;
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

static void addAdditionalKeys(Value keys, Workload &workload) {
  if (!keys)
    return;
  workload.hasAdditionalKeys = true;
  workload.additionalKeys = std::max<int64_t>(getSize(keys, 1), 0);
}

/// `rows` are the queries, or for the gradients of keys and values the keys.
template <typename OpTy>
static Workload makeFusedWorkload(OpTy op, Value rows) {
  Workload workload = makeWorkload(op.getWindow(), rows, rows, op.getKey(),
                                   rows, op.getValue());
  addBias(op.getBias(), workload);
  if constexpr (!hasKeyRows<OpTy>)
    addAdditionalKeys(op.getAdditionalKey(), workload);
  workload.hasBoxes = canReadBoxes(op);
  // A bias is of one head; gradients have no tiles of several.
  if (std::is_same_v<OpTy, AttentionOp> && !workload.hasBias &&
      workload.heads != ::na::schedule::dynamicLength &&
      workload.kvHeads != ::na::schedule::dynamicLength &&
      workload.kvHeads != 0)
    workload.headGroup =
        std::max<int64_t>(workload.heads / workload.kvHeads, 1);
  return workload;
}

/// A product of `weights`, whose rows are those of `rows`, and `values`.
static Workload makeSumWorkload(StringRef operation, WindowAttr window,
                                Value weights, Value values, Value rows,
                                Value keys) {
  Workload workload = makeWorkload(window, values, rows, keys,
                                   /*heads=*/Value(), values);
  workload.operation = operation.str();
  workload.slotBytes =
      cast<ShapedType>(weights.getType()).getElementTypeBitWidth() / 8;
  return workload;
}

std::optional<Workload> mlir::na::getWorkload(Operation *op) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return makeFusedWorkload(attention, attention.getQuery());
  if (auto dq = dyn_cast<AttentionDQOp>(op)) {
    Workload workload = makeFusedWorkload(dq, dq.getQuery());
    workload.operation = "attention_dq";
    workload.gradient = ::na::schedule::Gradient::Queries;
    return workload;
  }
  if (auto dkv = dyn_cast<AttentionDKVOp>(op)) {
    using ::na::schedule::Gradient;
    Workload workload = makeFusedWorkload(dkv, dkv.getKey());
    std::tie(workload.operation, workload.gradient) =
        !dkv.getValueGrad() ? std::pair("attention_dk", Gradient::Keys)
        : !dkv.getKeyGrad()
            ? std::pair("attention_dv", Gradient::Values)
            : std::pair("attention_dkv", Gradient::KeysAndValues);
    // Thread blocks are those of the heads of keys.
    workload.heads = getSize(dkv.getQuery(), dkv.getWindow().getRank() + 1);
    return workload;
  }
  if (auto dqkv = dyn_cast<AttentionDQKVOp>(op)) {
    Workload workload = makeFusedWorkload(dqkv, dqkv.getKey());
    workload.operation = "attention_dqkv";
    workload.gradient = ::na::schedule::Gradient::All;
    workload.heads = getSize(dqkv.getQuery(), dqkv.getWindow().getRank() + 1);
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
  if (auto dq = dyn_cast<QKDQOp>(op))
    return makeSumWorkload("qk_dq", dq.getWindow(), dq.getScoresGrad(),
                           dq.getKey(), dq.getScoresGrad(), dq.getKey());
  if (auto dk = dyn_cast<QKDKOp>(op)) {
    Workload workload =
        makeSumWorkload("qk_dk", dk.getWindow(), dk.getScoresGrad(),
                        dk.getQuery(), dk.getKeyGrad(), dk.getKeyGrad());
    workload.gradient = ::na::schedule::Gradient::KeySums;
    workload.heads = getSize(dk.getQuery(), dk.getWindow().getRank() + 1);
    return workload;
  }
  if (auto dv = dyn_cast<AVDVOp>(op)) {
    Workload workload = makeSumWorkload("av_dv", dv.getWindow(),
                                        dv.getWeights(), dv.getOutputGrad(),
                                        dv.getValueGrad(), dv.getValueGrad());
    workload.gradient = ::na::schedule::Gradient::KeySums;
    workload.heads = getSize(dv.getOutputGrad(), dv.getWindow().getRank() + 1);
    return workload;
  }
  if (auto dw = dyn_cast<AVDWeightsOp>(op)) {
    Workload workload =
        makeWorkload(dw.getWindow(), dw.getOutputGrad(), dw.getOutputGrad(),
                     dw.getValue(), dw.getValue(), /*values=*/Value());
    workload.operation = "av_dweights";
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
