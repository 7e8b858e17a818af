//===- TokenMemory.cpp - Addresses of tokens in global memory ---*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::nagpu;

//===----------------------------------------------------------------------===//
// Alignment
//===----------------------------------------------------------------------===//

/// A number that divides the value in all executions (0 divides only 0).
static int64_t getKnownDivisor(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return std::abs(constant.getSExtValue());
  Operation *op = value.getDefiningOp();
  if (!op)
    return 1;
  auto common = [](ValueRange values) {
    int64_t divisor = 0;
    for (Value operand : values)
      divisor = std::gcd(divisor, getKnownDivisor(operand));
    return divisor;
  };
  auto ofMap = [](AffineMap map) {
    int64_t divisor = 0;
    for (AffineExpr result : map.getResults())
      divisor = std::gcd(divisor, result.getLargestKnownDivisor());
    return divisor;
  };
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case<arith::MulIOp>([](auto mul) {
        return getKnownDivisor(mul.getLhs()) * getKnownDivisor(mul.getRhs());
      })
      .Case<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp,
            arith::MinUIOp, arith::MaxUIOp>(
          [&](auto op) { return common(op->getOperands()); })
      .Case<arith::SelectOp>([&](auto select) {
        return common({select.getTrueValue(), select.getFalseValue()});
      })
      .Case<affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp>(
          [&](auto op) { return ofMap(op.getAffineMap()); })
      .Default([](Operation *) { return 1; });
}

/// A number that divides the offset of a memref, in elements.
static int64_t getOffsetDivisor(Value memory) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(cast<MemRefType>(memory.getType())
                 .getStridesAndOffset(strides, offset)))
    return 1;
  if (ShapedType::isStatic(offset))
    return offset;
  if (auto castOp = memory.getDefiningOp<memref::CastOp>())
    return getOffsetDivisor(castOp.getSource());
  auto subview = memory.getDefiningOp<memref::SubViewOp>();
  if (!subview ||
      failed(subview.getSourceType().getStridesAndOffset(strides, offset)))
    return 1;
  int64_t divisor = getOffsetDivisor(subview.getSource());
  for (auto [start, stride] :
       llvm::zip_equal(subview.getMixedOffsets(), strides)) {
    int64_t factor = 1;
    if (auto constant = getConstantIntValue(start))
      factor = *constant;
    else
      factor = getKnownDivisor(cast<Value>(start));
    // A dynamic stride may be anything.
    divisor = std::gcd(divisor,
                       ShapedType::isStatic(stride) ? factor * stride : factor);
  }
  return divisor;
}

static int64_t getAlignment(Value memory, ArrayRef<int64_t> strides,
                            bool hasChannels) {
  auto type = cast<MemRefType>(memory.getType());
  int64_t divisor = getOffsetDivisor(memory);
  if (hasChannels)
    divisor = std::gcd(divisor, type.getShape().back());
  int64_t product = 1;
  for (int64_t dim = type.getRank() - 1 - hasChannels; dim >= 0; --dim) {
    if (type.getLayout().isIdentity()) {
      // Dynamic sizes are factors of the strides further out.
      int64_t inner = dim == type.getRank() - 1 ? 1 : type.getDimSize(dim + 1);
      product *= ShapedType::isStatic(inner) ? inner : 1;
      divisor = std::gcd(divisor, product);
    } else {
      divisor = std::gcd(divisor,
                         ShapedType::isStatic(strides[dim]) ? strides[dim] : 1);
    }
  }
  int64_t bytes = divisor * getElementBytes(type.getElementType());
  return bytes == 0 ? chunkBytes
                    : std::min<int64_t>(chunkBytes, bytes & -bytes);
}

LogicalResult nagpu::checkTokenMemory(Operation *op, Value memory,
                                      int64_t axes) {
  auto type = cast<MemRefType>(memory.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return op->emitOpError() << "has a tensor of type " << type
                             << ", whose layout is not strided";
  if (type.getRank() != axes + 3)
    return success();
  if (type.isDynamicDim(type.getRank() - 1))
    return op->emitOpError() << "has a tensor of type " << type
                             << ", whose number of channels is not static";
  if (strides.back() != 1)
    return op->emitOpError() << "has a tensor of type " << type
                             << ", whose channels are not contiguous";
  return success();
}

//===----------------------------------------------------------------------===//
// TokenMemory
//===----------------------------------------------------------------------===//

/// Whether 32 bits hold every offset from the first token of a batch, also of
/// rows of a box that leaves the tensor.
static bool fitsNarrow(MemRefType type, ArrayRef<int64_t> strides,
                       ArrayRef<int64_t> box, ArrayRef<int64_t> dilation) {
  // A quarter of the range leaves room for the boxes that leave the tensor.
  constexpr int64_t limit = int64_t(1) << 29;
  int64_t sum = 0;
  for (size_t axis = 0; axis < box.size(); ++axis) {
    int64_t length = type.getDimSize(axis + 1), stride = strides[axis + 1];
    if (ShapedType::isDynamic(length) || ShapedType::isDynamic(stride))
      return false;
    int64_t extent = std::max(length, box[axis] * dilation[axis]);
    if (extent > limit || stride > limit)
      return false;
    sum += extent * stride * getElementBytes(type.getElementType());
    if (sum > 2 * limit)
      return false;
  }
  return true;
}

TokenMemory::TokenMemory(ThreadBuilder &b, Value memory, Value batch,
                         Value head, ValueRange at, ArrayRef<int64_t> box,
                         ArrayRef<int64_t> dilation)
    : dilation(dilation) {
  auto type = cast<MemRefType>(memory.getType());
  int64_t axes = at.size(),
          elementBytes = getElementBytes(type.getElementType());
  bool hasChannels = type.getRank() == axes + 3;
  SmallVector<int64_t> strides;
  int64_t offset;
  LogicalResult strided = type.getStridesAndOffset(strides, offset);
  assert(succeeded(strided) && "checkTokenMemory");
  (void)strided;
  if (hasChannels)
    channels = type.getShape().back();
  accessBytes = getAlignment(memory, strides, hasChannels);
  bool narrow = fitsNarrow(type, strides, box, dilation);
  Type wide = b.getI64Type();
  indexType = narrow ? b.getI32Type() : wide;

  memref::ExtractStridedMetadataOp metadata;
  auto getMetadata = [&] {
    if (!metadata)
      metadata = memref::ExtractStridedMetadataOp::create(b, memory);
    return metadata;
  };
  auto getStride = [&](int64_t dim) -> OpFoldResult {
    if (ShapedType::isStatic(strides[dim]))
      return b.getI64IntegerAttr(strides[dim] * elementBytes);
    return b.mul(b.cast(getMetadata().getStrides()[dim], wide), elementBytes);
  };
  auto multiply = [&](Value value, OpFoldResult factor) -> Value {
    if (auto constant = getConstantIntValue(factor))
      return b.mul(value, *constant);
    return b.createOrFold<arith::MulIOp>(
        value, b.cast(cast<Value>(factor), value.getType()));
  };

  Value bytes = b.add(multiply(b.cast(batch, wide), getStride(0)),
                      multiply(b.cast(head, wide), getStride(axes + 1)));
  if (ShapedType::isDynamic(offset))
    bytes = b.add(bytes,
                  b.mul(b.cast(getMetadata().getOffset(), wide), elementBytes));
  else
    bytes = b.add(bytes, offset * elementBytes);
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, memory);
  auto pointerType = LLVM::LLVMPointerType::get(
      b.getContext(), unsigned(NVVM::NVVMMemorySpace::Global));
  base = b.move(LLVM::IntToPtrOp::create(b, pointerType, b.cast(address, wide)),
                bytes);

  for (int64_t axis = 0; axis < axes; ++axis) {
    OpFoldResult stride = getStride(axis + 1);
    Value start = b.cast(at[axis], indexType);
    this->at.push_back(start);
    origin = b.add(origin, multiply(start, stride));
    if (type.isDynamicDim(axis + 1))
      lengths.push_back(b.cast(getMetadata().getSizes()[axis + 1], indexType));
    else
      lengths.push_back(b.constant(type.getDimSize(axis + 1), indexType));
    if (auto constant = getConstantIntValue(stride))
      steps.push_back(b.getI64IntegerAttr(*constant * dilation[axis]));
    else
      steps.push_back(b.mul(cast<Value>(stride), dilation[axis]));
  }
}

TokenMemory::Row TokenMemory::getRow(ThreadBuilder &b, ArrayRef<Digit> digits,
                                     Value offset) {
  Row row{{}, 0, {}};
  Value ofThread = offset ? b.cast(offset, indexType) : offset;
  for (auto [axis, digit] : llvm::enumerate(digits)) {
    Value value = b.cast(digit.value, indexType);
    Value coordinate = b.add(b.add(at[axis], b.mul(value, dilation[axis])),
                             digit.constant * dilation[axis]);
    row.valid = b.andLess(row.valid, coordinate, lengths[axis]);
    if (auto step = getConstantIntValue(steps[axis])) {
      row.offset += digit.constant * *step;
      ofThread = b.add(ofThread, b.mul(value, *step));
    } else {
      Value sum = b.add(value, digit.constant);
      ofThread =
          b.add(ofThread,
                b.createOrFold<arith::MulIOp>(sum, cast<Value>(steps[axis])));
    }
  }
  row.pointer = b.move(base, b.add(origin, ofThread));
  return row;
}

SmallVector<Digit> nagpu::splitRow(ThreadBuilder &b, Value row,
                                   ArrayRef<int64_t> box) {
  SmallVector<Digit> digits(box.size());
  for (int64_t axis = box.size() - 1; axis > 0; --axis) {
    digits[axis] = {b.rem(row, box[axis]), 0};
    row = b.div(row, box[axis]);
  }
  digits[0] = {row, 0};
  return digits;
}
