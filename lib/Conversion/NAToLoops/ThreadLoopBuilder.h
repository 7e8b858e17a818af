//===- ThreadLoopBuilder.h - Loops of a thread of a GPU ---------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_CONVERSION_NATOLOOPS_THREADLOOPBUILDER_H
#define NA_LIB_CONVERSION_NATOLOOPS_THREADLOOPBUILDER_H

#include "WindowLoopBuilder.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::na {

/// Bytes of the widest access of a thread.
inline constexpr int64_t maxAccessBytes = 16;
/// Most value channels of one thread of na.attention: its sums are registers.
inline constexpr int64_t maxChannels = 64;

inline int64_t getLastDim(Value memref) {
  return cast<MemRefType>(memref.getType()).getShape().back();
}

/// How many elements a thread can access at once, in every row along the last
/// dimension of `memref`, where its base address is a multiple of 16 bytes.
inline int64_t getLanes(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  int64_t lanes =
      maxAccessBytes / (cast<FloatType>(type.getElementType()).getWidth() / 8);
  auto divides = [&](int64_t size) {
    if (ShapedType::isDynamic(size))
      lanes = 1;
    while (size % lanes != 0)
      lanes /= 2;
  };
  divides(type.getShape().back());
  if (type.getLayout().isIdentity())
    return lanes; // All strides are multiples of the last size.
  auto [strides, offset] = type.getStridesAndOffset();
  if (strides.back() != 1)
    return 1;
  divides(offset);
  for (int64_t stride : ArrayRef(strides).drop_back())
    divides(stride);
  return lanes;
}

inline bool isContiguous(Value memref) {
  auto [strides, offset] =
      cast<MemRefType>(memref.getType()).getStridesAndOffset();
  return strides.back() == 1;
}

/// Adds accesses of several elements to the loops.
class ThreadLoopBuilder : public WindowLoopBuilder {
public:
  using WindowLoopBuilder::WindowLoopBuilder;

protected:
  int64_t getBytes(Value memref, int64_t lanes) {
    return lanes * getFloatType(memref).getWidth() / 8;
  }

  /// `memref`, with the promise that accesses of `lanes` elements need.
  Value assumeAligned(Value memref, int64_t lanes) {
    if (lanes == 1)
      return memref;
    return memref::AssumeAlignmentOp::create(b, memref,
                                             getBytes(memref, lanes));
  }

  /// `size` elements from `indices` on, in the accumulator's type.
  Value loadVector(Value memref, ValueRange indices, int64_t size,
                   int64_t lanes) {
    auto type = VectorType::get({size}, getFloatType(memref));
    if (!isContiguous(memref)) {
      SmallVector<Value> elements;
      for (int64_t i = 0; i < size; ++i)
        elements.push_back(load(memref, shift(indices, i)));
      return vector::FromElementsOp::create(b, type.clone(accumulator),
                                            elements);
    }
    Value loaded =
        vector::LoadOp::create(b, type, memref, indices, /*nontemporal=*/false,
                               llvm::MaybeAlign(getBytes(memref, lanes)));
    return castFloat(loaded, type.clone(accumulator));
  }
  void storeVector(Value vector, Value memref, ValueRange indices,
                   int64_t lanes) {
    auto type = cast<VectorType>(vector.getType());
    if (!isContiguous(memref)) {
      for (int64_t i = 0; i < type.getDimSize(0); ++i)
        store(vector::ExtractOp::create(b, vector, i), memref,
              shift(indices, i));
      return;
    }
    vector::StoreOp::create(
        b, castFloat(vector, type.clone(getFloatType(memref))), memref, indices,
        /*nontemporal=*/false, llvm::MaybeAlign(getBytes(memref, lanes)));
  }
  /// `indices`, `offset` further along the last dimension.
  SmallVector<Value> shift(ValueRange indices, int64_t offset) {
    SmallVector<Value> result(indices);
    if (offset == 0)
      return result;
    result.back() = arith::AddIOp::create(b, result.back(), index(offset));
    return result;
  }
  Value castFloat(Value value, Type type) {
    if (getElementTypeOrSelf(value) == getElementTypeOrSelf(type))
      return value;
    if (isa<VectorType>(type))
      return getElementTypeOrSelf(type) == accumulator
                 ? arith::ExtFOp::create(b, type, value).getResult()
                 : arith::TruncFOp::create(b, type, value).getResult();
    return WindowLoopBuilder::castFloat(value, type);
  }
  Value splat(Value scalar, int64_t size) {
    return vector::BroadcastOp::create(
        b, VectorType::get({size}, scalar.getType()), scalar);
  }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, x, y, z);
  }

  /// The dot product of two rows, without the scale.
  Value dot(Value x, ValueRange xIndices, Value y, ValueRange yIndices,
            int64_t lanes) {
    Value zero = number(0);
    int64_t size = getLastDim(x);
    if (lanes > 1)
      zero = splat(zero, lanes);
    // Several accesses in flight hide the latency of memory.
    int64_t unroll = 4;
    while (size % (lanes * unroll) != 0)
      unroll /= 2;
    auto loop = scf::ForOp::create(
        b, index(0), index(size), index(lanes * unroll), ValueRange{zero},
        [&](OpBuilder &, Location, Value c, ValueRange sums) {
          auto at = [&](Value memref, ValueRange indices, int64_t i) {
            SmallVector<Value> all = shift(concat(indices, c), i * lanes);
            return lanes > 1 ? loadVector(memref, all, lanes, lanes)
                             : load(memref, all);
          };
          Value sum = sums.front();
          for (int64_t i = 0; i < unroll; ++i)
            sum = fma(at(x, xIndices, i), at(y, yIndices, i), sum);
          scf::YieldOp::create(b, sum);
        });
    Value sum = loop.getResult(0);
    if (lanes > 1)
      sum = vector::ReductionOp::create(b, vector::CombiningKind::ADD, sum);
    return sum;
  }

  /// The key at `slots` of the window of `row`.
  Key makeKey(const Row &row, ValueRange slots) {
    Key key;
    for (int64_t i = 0; i < window.getRank(); ++i) {
      IndexValue slot(b, b.getLoc(), slots[i], /*nonNegative=*/true);
      IndexValue position = row.keys[i].begin + slot;
      IndexValue coordinate =
          row.residues[i] + position * window.getDilation()[i];
      key.slots.push_back(slot);
      key.positions.push_back(position);
      key.coordinates.push_back(coordinate.getValue());
    }
    return key;
  }

  /// Loops over the slots of the window of `row`, carrying `inits`. The bounds
  /// are constants, which lets LLVM unroll, on axes that have all keys.
  SmallVector<Value>
  forEachSlot(const Row &row, ValueRange inits,
              function_ref<SmallVector<Value>(const Key &, ValueRange)> body) {
    SmallVector<Value> ends;
    for (int64_t i = 0; i < window.getRank(); ++i)
      ends.push_back(window.getCausal()[i]
                         ? (row.keys[i].end - row.keys[i].begin).getValue()
                         : index(window.getSize()[i]));
    SmallVector<Value> begins(ends.size(), index(0));
    SmallVector<Value> steps(ends.size(), index(1));
    auto fill = [&](OpBuilder &builder, Location, ValueRange slots,
                    ValueRange args) -> scf::ValueVector {
      OpBuilder::InsertionGuard guard(b);
      b.restoreInsertionPoint(builder.saveInsertionPoint());
      SmallVector<Value> results = body(makeKey(row, slots), args);
      builder.restoreInsertionPoint(b.saveInsertionPoint());
      return scf::ValueVector(results.begin(), results.end());
    };
    scf::LoopNest nest =
        scf::buildLoopNest(b, b.getLoc(), begins, ends, steps, inits, fill);
    return SmallVector<Value>(nest.results.begin(), nest.results.end());
  }
};

/// Whether the rows of all operands have a known number of channels.
inline bool hasStaticChannels(ValueRange operands) {
  return llvm::none_of(operands, [](Value operand) {
    return operand && ShapedType::isDynamic(getLastDim(operand));
  });
}

} // namespace mlir::na

#endif // NA_LIB_CONVERSION_NATOLOOPS_THREADLOOPBUILDER_H
