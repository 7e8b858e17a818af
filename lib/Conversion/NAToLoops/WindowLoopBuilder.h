//===- WindowLoopBuilder.h - Builds loops over windows ----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the lowerings of na operations to loops share.
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_CONVERSION_NATOLOOPS_WINDOWLOOPBUILDER_H
#define NA_LIB_CONVERSION_NATOLOOPS_WINDOWLOOPBUILDER_H

#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NA/Transforms/IRIndex.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

namespace mlir::na {

inline FloatType getFloatType(Value memref) {
  return cast<FloatType>(cast<MemRefType>(memref.getType()).getElementType());
}

/// Concatenates index lists.
inline SmallVector<Value> concat(ValueRange a, ValueRange b,
                                 ValueRange c = {}) {
  SmallVector<Value> result(a);
  llvm::append_range(result, b);
  llvm::append_range(result, c);
  return result;
}

/// Builds loops and scalar arithmetic in the accumulator type. The callbacks
/// run with the insertion point inside of the loop that they fill.
class LoopBuilder {
public:
  LoopBuilder(RewriterBase &rewriter, Operation *op, FloatType accumulator)
      : b(op->getLoc(), rewriter), accumulator(accumulator) {}

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value number(double value) {
    return arith::ConstantOp::create(b, b.getFloatAttr(accumulator, value));
  }
  Value negativeInfinity() {
    return number(-std::numeric_limits<double>::infinity());
  }

  IndexValue dim(Value memref, int64_t axis) {
    int64_t size = cast<MemRefType>(memref.getType()).getDimSize(axis);
    if (!ShapedType::isDynamic(size))
      return IndexValue(b, b.getLoc(), size);
    Value value = memref::DimOp::create(b, memref, axis);
    return IndexValue(b, b.getLoc(), value, /*nonNegative=*/true);
  }
  SmallVector<IndexValue> dims(Value memref) {
    SmallVector<IndexValue> result;
    int64_t rank = cast<MemRefType>(memref.getType()).getRank();
    for (int64_t axis = 0; axis < rank; ++axis)
      result.push_back(dim(memref, axis));
    return result;
  }

  Value castFloat(Value value, Type type) {
    unsigned from = value.getType().getIntOrFloatBitWidth();
    unsigned to = type.getIntOrFloatBitWidth();
    if (value.getType() == type)
      return value;
    if (from < to)
      return arith::ExtFOp::create(b, type, value);
    if (from > to)
      return arith::TruncFOp::create(b, type, value);
    // f16 and bf16: neither holds the other, f32 holds both.
    return castFloat(castFloat(value, b.getF32Type()), type);
  }
  Value load(Value memref, ValueRange indices) {
    return castFloat(memref::LoadOp::create(b, memref, indices), accumulator);
  }
  void store(Value value, Value memref, ValueRange indices) {
    memref::StoreOp::create(b, castFloat(value, getFloatType(memref)), memref,
                            indices);
  }

  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value max(Value x, Value y) { return arith::MaximumFOp::create(b, x, y); }
  Value exp(Value x) { return math::ExpOp::create(b, x); }
  Value log(Value x) { return math::LogOp::create(b, x); }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }
  Value isEqual(Value x, Value y) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, y);
  }

  void parallel(ArrayRef<IndexValue> sizes,
                function_ref<void(ValueRange)> body) {
    if (sizes.empty())
      return body({});
    SmallVector<Value> uppers;
    for (const IndexValue &size : sizes)
      uppers.push_back(size.getValue());
    SmallVector<Value> lowers(sizes.size(), index(0));
    SmallVector<Value> steps(sizes.size(), index(1));
    scf::ParallelOp::create(
        b, lowers, uppers, steps,
        [&](OpBuilder &, Location, ValueRange ivs) { body(ivs); });
  }

  /// A loop over [0, size) that carries `inits`.
  SmallVector<Value>
  sequential(const IndexValue &size, ValueRange inits,
             function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    auto loop = scf::ForOp::create(
        b, index(0), size.getValue(), index(1), inits,
        [&](OpBuilder &, Location, Value iv, ValueRange args) {
          scf::YieldOp::create(b, body(iv, args));
        });
    return llvm::to_vector(llvm::map_range(
        loop.getResults(), [](OpResult result) -> Value { return result; }));
  }
  void sequential(const IndexValue &size, function_ref<void(Value)> body) {
    sequential(size, {}, [&](Value iv, ValueRange) -> SmallVector<Value> {
      body(iv);
      return {};
    });
  }

protected:
  ImplicitLocOpBuilder b;
  FloatType accumulator;
};

/// A query token and head, and the keys that it sees.
struct Row {
  Value batch;
  SmallVector<Value> coordinates;
  Value head;
  Value kvHead;
  // Per axis.
  SmallVector<IndexValue> positions;
  SmallVector<IndexValue> residues;
  SmallVector<::na::window::Range<IndexValue>> keys;

  SmallVector<Value> indices() const {
    return concat(batch, coordinates, head);
  }
};

/// A key of a row's window. `slots` count from the first key, per axis.
struct Key {
  SmallVector<Value> coordinates;
  SmallVector<IndexValue> positions;
  SmallVector<IndexValue> slots;
};

/// Adds windows to the loops.
class WindowLoopBuilder : public LoopBuilder {
public:
  WindowLoopBuilder(RewriterBase &rewriter, Operation *op,
                    FloatType accumulator, WindowAttr window)
      : LoopBuilder(rewriter, op, accumulator), window(window) {}

protected:
  /// Describes the row at `indices` ([batch, coordinates.., head]) of
  /// `queries`, a memref [B, X.., Hq, ..]; `values` is [B, X.., Hkv, ..].
  Row makeRow(ValueRange indices, Value queries, Value values) {
    int64_t rank = window.getRank();
    Row row;
    row.batch = indices.front();
    row.coordinates = llvm::to_vector(indices.slice(1, rank));
    row.head = indices[rank + 1];

    IndexValue heads = dim(queries, rank + 1), kvHeads = dim(values, rank + 1);
    if (heads.getFoldResult() == kvHeads.getFoldResult()) {
      row.kvHead = row.head;
    } else {
      Value group =
          b.createOrFold<arith::DivUIOp>(heads.getValue(), kvHeads.getValue());
      row.kvHead = b.createOrFold<arith::DivUIOp>(row.head, group);
    }

    for (int64_t i = 0; i < rank; ++i) {
      ::na::window::Axis axis = window.getAxis(i);
      IndexValue length = dim(queries, i + 1);
      IndexValue coordinate(b, b.getLoc(), row.coordinates[i],
                            /*nonNegative=*/true);
      IndexValue position = floorDiv(coordinate, axis.dilation);
      IndexValue residue = axis.dilation == 1
                               ? constantLike(coordinate, 0)
                               : coordinate - position * axis.dilation;
      IndexValue size = ::na::window::classSize(axis, length, residue);
      row.positions.push_back(position);
      row.residues.push_back(residue);
      row.keys.push_back(::na::window::keyRange(axis, size, position));
    }
    return row;
  }

  /// Loops over the keys of the window of `row`, carrying `inits`.
  SmallVector<Value>
  forEachKey(const Row &row, ValueRange inits,
             function_ref<SmallVector<Value>(const Key &, ValueRange)> body) {
    SmallVector<Value> begins, ends;
    for (const ::na::window::Range<IndexValue> &range : row.keys) {
      begins.push_back(range.begin.getValue());
      ends.push_back(range.end.getValue());
    }
    SmallVector<Value> steps(begins.size(), index(1));
    auto fill = [&](OpBuilder &builder, Location loc, ValueRange ivs,
                    ValueRange args) -> scf::ValueVector {
      OpBuilder::InsertionGuard guard(b);
      b.restoreInsertionPoint(builder.saveInsertionPoint());
      Key key;
      for (auto [i, iv] : llvm::enumerate(ivs)) {
        IndexValue position(b, loc, iv, /*nonNegative=*/true);
        IndexValue coordinate =
            row.residues[i] + position * window.getDilation()[i];
        key.coordinates.push_back(coordinate.getValue());
        key.positions.push_back(position);
        key.slots.push_back(position - row.keys[i].begin);
      }
      SmallVector<Value> results = body(key, args);
      builder.restoreInsertionPoint(b.saveInsertionPoint());
      return scf::ValueVector(results.begin(), results.end());
    };
    scf::LoopNest nest =
        scf::buildLoopNest(b, b.getLoc(), begins, ends, steps, inits, fill);
    return SmallVector<Value>(nest.results.begin(), nest.results.end());
  }

  /// The slot of `key` in a row of attention weights.
  Value slotOf(const Key &key) {
    IndexValue slot = key.slots.front();
    for (int64_t i = 1; i < window.getRank(); ++i)
      slot = slot * window.getSize()[i] + key.slots[i];
    return slot.getValue();
  }

  /// The factor of the dot products.
  Value makeScale(std::optional<double> scale, Value query) {
    if (scale)
      return number(*scale);
    Value dimension = arith::IndexCastOp::create(b, b.getI64Type(),
                                                 lastDim(query).getValue());
    Value root = math::SqrtOp::create(
        b, arith::SIToFPOp::create(b, accumulator, dimension));
    return div(number(1), root);
  }

  IndexValue lastDim(Value memref) {
    return dim(memref, cast<MemRefType>(memref.getType()).getRank() - 1);
  }

  /// scale * dot(query row, row `keyIndices` of `keys`)
  Value scaledDot(Value scale, Value query, ValueRange queryIndices, Value keys,
                  ValueRange keyIndices) {
    Value dot = sequential(lastDim(query), number(0),
                           [&](Value c, ValueRange sum) -> SmallVector<Value> {
                             Value x = load(query, concat(queryIndices, c));
                             Value y = load(keys, concat(keyIndices, c));
                             return {add(sum.front(), mul(x, y))};
                           })[0];
    return mul(dot, scale);
  }

  /// The logit of a key of the window. `bias` may be null.
  Value windowLogit(const Row &row, const Key &key, Value scale, Value query,
                    Value keys, Value bias) {
    Value logit = scaledDot(scale, query, row.indices(), keys,
                            concat(row.batch, key.coordinates, row.kvHead));
    if (!bias)
      return logit;
    SmallVector<Value> indices{row.head};
    for (int64_t i = 0; i < window.getRank(); ++i) {
      IndexValue offset =
          key.positions[i] - row.positions[i] + (window.getSize()[i] - 1);
      indices.push_back(offset.getValue());
    }
    return add(logit, load(bias, indices));
  }

  WindowAttr window;
};

/// The type of sums of values of type `type`.
inline FloatType getAccumulatorFor(FloatType type) {
  return type.isF64() ? type : Float32Type::get(type.getContext());
}

} // namespace mlir::na

#endif // NA_LIB_CONVERSION_NATOLOOPS_WINDOWLOOPBUILDER_H
