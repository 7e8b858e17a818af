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

  /// A buffer for sums that go to `memref`, which must not be rounded to a
  /// narrower type before they are complete: `memref` if it has the type of
  /// accumulators. One buffer for all rows keeps allocations out of parallel
  /// loops.
  Value allocateSums(Value memref) {
    if (getFloatType(memref) == accumulator)
      return memref;
    SmallVector<Value> dynamicSizes;
    for (const IndexValue &size : dims(memref))
      if (!size.getConstant())
        dynamicSizes.push_back(size.getValue());
    ArrayRef<int64_t> shape = cast<MemRefType>(memref.getType()).getShape();
    return memref::AllocOp::create(b, MemRefType::get(shape, accumulator),
                                   dynamicSizes);
  }
  void freeSums(Value sums, Value memref) {
    if (sums != memref)
      memref::DeallocOp::create(b, sums);
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

  /// Loops over the boxes [0, sizes) that carry `inits`.
  SmallVector<Value>
  sequentialNest(ArrayRef<IndexValue> sizes, ValueRange inits,
                 function_ref<SmallVector<Value>(ValueRange, ValueRange)> body,
                 ValueRange outer = {}) {
    if (sizes.empty())
      return body(outer, inits);
    return sequential(sizes.front(), inits,
                      [&](Value iv, ValueRange args) -> SmallVector<Value> {
                        return sequentialNest(sizes.drop_front(), args, body,
                                              concat(outer, iv));
                      });
  }

protected:
  ImplicitLocOpBuilder b;
  FloatType accumulator;
};

using IndexRange = ::na::window::Range<IndexValue>;

/// A token; positions and residues per axis.
struct Token {
  SmallVector<Value> coordinates;
  SmallVector<IndexValue> positions;
  SmallVector<IndexValue> residues;
};

/// A query token and head, and the keys that it sees.
struct Row : Token {
  Value batch;
  Value head;
  Value kvHead;
  SmallVector<IndexRange> keys;

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

/// Adds windows to the loops. The window is null where every query sees every
/// key.
class WindowLoopBuilder : public LoopBuilder {
public:
  WindowLoopBuilder(RewriterBase &rewriter, Operation *op,
                    FloatType accumulator, WindowAttr window)
      : LoopBuilder(rewriter, op, accumulator), window(window) {}

protected:
  /// How many heads of `queries` read one of `values`, both [B, X.., H, ..];
  /// none where the numbers are the same value.
  std::optional<IndexValue> getGroup(Value queries, int64_t queryDim,
                                     Value values, int64_t valueDim) {
    IndexValue heads = dim(queries, queryDim), kvHeads = dim(values, valueDim);
    if (heads.getFoldResult() == kvHeads.getFoldResult())
      return std::nullopt;
    Value group =
        b.createOrFold<arith::DivUIOp>(heads.getValue(), kvHeads.getValue());
    return IndexValue(b, b.getLoc(), getAsOpFoldResult(group),
                      /*nonNegative=*/true);
  }

  /// Describes the token of `tokens`, [B, X.., ..], at `coordinates`, and adds
  /// what `getRange` gives for the axes to `ranges`.
  void locate(Token &token, ValueRange coordinates, Value tokens,
              SmallVectorImpl<IndexRange> &ranges,
              IndexRange (*getRange)(const ::na::window::Axis &, IndexValue,
                                     IndexValue)) {
    token.coordinates = llvm::to_vector(coordinates);
    for (int64_t i = 0; i < window.getRank(); ++i) {
      ::na::window::Axis axis = window.getAxis(i);
      IndexValue length = dim(tokens, i + 1);
      IndexValue coordinate(b, b.getLoc(), coordinates[i],
                            /*nonNegative=*/true);
      IndexValue position = floorDiv(coordinate, axis.dilation);
      IndexValue residue = axis.dilation == 1
                               ? constantLike(coordinate, 0)
                               : coordinate - position * axis.dilation;
      IndexValue size = ::na::window::classSize(axis, length, residue);
      token.positions.push_back(position);
      token.residues.push_back(residue);
      ranges.push_back(getRange(axis, size, position));
    }
  }

  /// Describes the row at `indices` ([batch, coordinates.., head]) of
  /// `queries`, a memref [B, X.., Hq, ..]; `values` is [B, X.., Hkv, ..].
  Row makeRow(ValueRange indices, Value queries, Value values) {
    int64_t rank = window.getRank();
    Row row;
    row.batch = indices.front();
    row.head = row.kvHead = indices[rank + 1];
    if (auto group = getGroup(queries, rank + 1, values, rank + 1))
      row.kvHead = b.createOrFold<arith::DivUIOp>(row.head, group->getValue());
    locate(row, indices.slice(1, rank), queries, row.keys,
           ::na::window::keyRange<IndexValue>);
    return row;
  }

  /// Loops over the positions in `ranges`, of tokens with `residues`.
  SmallVector<Value> forEachPosition(
      ArrayRef<IndexRange> ranges, ArrayRef<IndexValue> residues,
      ValueRange inits,
      function_ref<SmallVector<Value>(const Token &, ValueRange)> body) {
    SmallVector<Value> begins, ends;
    for (const IndexRange &range : ranges) {
      begins.push_back(range.begin.getValue());
      ends.push_back(range.end.getValue());
    }
    SmallVector<Value> steps(begins.size(), index(1));
    auto fill = [&](OpBuilder &builder, Location loc, ValueRange ivs,
                    ValueRange args) -> scf::ValueVector {
      OpBuilder::InsertionGuard guard(b);
      b.restoreInsertionPoint(builder.saveInsertionPoint());
      Token token;
      token.residues = llvm::to_vector(residues);
      for (auto [i, iv] : llvm::enumerate(ivs)) {
        IndexValue position(b, loc, iv, /*nonNegative=*/true);
        IndexValue coordinate =
            residues[i] + position * window.getDilation()[i];
        token.coordinates.push_back(coordinate.getValue());
        token.positions.push_back(position);
      }
      SmallVector<Value> results = body(token, args);
      builder.restoreInsertionPoint(b.saveInsertionPoint());
      return scf::ValueVector(results.begin(), results.end());
    };
    scf::LoopNest nest =
        scf::buildLoopNest(b, b.getLoc(), begins, ends, steps, inits, fill);
    return SmallVector<Value>(nest.results.begin(), nest.results.end());
  }

  /// Loops over the keys of the window of `row`, carrying `inits`.
  SmallVector<Value>
  forEachKey(const Row &row, ValueRange inits,
             function_ref<SmallVector<Value>(const Key &, ValueRange)> body) {
    return forEachPosition(
        row.keys, row.residues, inits,
        [&](const Token &token, ValueRange args) -> SmallVector<Value> {
          Key key{token.coordinates, token.positions, {}};
          for (int64_t i = 0; i < window.getRank(); ++i)
            key.slots.push_back(token.positions[i] - row.keys[i].begin);
          return body(key, args);
        });
  }

  /// Loops over the queries that see a key token and read its head, carrying
  /// `inits`. `indices` are those of the key, [batch, coordinates.., head], in
  /// `keys`; without a window, [batch, token, head], of a key that every query
  /// sees. Rows and keys come without ranges and slots.
  SmallVector<Value> forEachQuery(
      ValueRange indices, Value queries, Value keys, ValueRange inits,
      function_ref<SmallVector<Value>(const Row &, const Key &, ValueRange)>
          body) {
    int64_t rank = cast<MemRefType>(queries.getType()).getRank() - 3;
    Row row;
    row.batch = indices.front();
    row.head = row.kvHead = indices.back();
    Token keyToken;
    SmallVector<IndexRange> ranges;
    if (window)
      locate(keyToken, indices.slice(1, rank), keys, ranges,
             ::na::window::queryRange<IndexValue>);
    Key key{keyToken.coordinates, keyToken.positions, {}};

    auto visit = [&](const Token &token, ValueRange args) {
      static_cast<Token &>(row) = token;
      return body(row, key, args);
    };
    auto visitHead = [&](ValueRange args) -> SmallVector<Value> {
      if (window)
        return forEachPosition(ranges, keyToken.residues, args, visit);
      SmallVector<IndexValue> lengths;
      for (int64_t i = 0; i < rank; ++i)
        lengths.push_back(dim(queries, i + 1));
      return sequentialNest(
          lengths, args, [&](ValueRange coordinates, ValueRange args) {
            return visit(Token{llvm::to_vector(coordinates), {}, {}}, args);
          });
    };
    std::optional<IndexValue> group =
        getGroup(queries, rank + 1, keys, indices.size() - 1);
    if (!group)
      return visitHead(inits);
    Value first = arith::MulIOp::create(b, row.kvHead, group->getValue());
    return sequential(*group, inits,
                      [&](Value member, ValueRange args) -> SmallVector<Value> {
                        row.head = arith::AddIOp::create(b, first, member);
                        return visitHead(args);
                      });
  }

  /// The slot of `key` in a row of attention weights.
  Value slotOf(const Key &key) {
    IndexValue slot = key.slots.front();
    for (int64_t i = 1; i < window.getRank(); ++i)
      slot = slot * window.getSize()[i] + key.slots[i];
    return slot.getValue();
  }

  /// The slot of a key that the query of `row` sees; neither needs to have
  /// ranges or slots.
  Value slotIn(const Row &row, Key key, Value queries) {
    key.slots.clear();
    for (int64_t i = 0; i < window.getRank(); ++i) {
      ::na::window::Axis axis = window.getAxis(i);
      IndexValue size =
          ::na::window::classSize(axis, dim(queries, i + 1), row.residues[i]);
      key.slots.push_back(
          key.positions[i] -
          ::na::window::keyRange(axis, size, row.positions[i]).begin);
    }
    return slotOf(key);
  }

  /// The sum of `term` over the pairs of a query and a visible key that have an
  /// entry of a bias, [head, offset per axis]: over the batch and those queries
  /// of `queries`, [B, X.., Hq, ..], whose window has a key at the offset.
  Value sumRelative(ValueRange entry, Value queries, Value keys,
                    function_ref<Value(const Row &, const Key &)> term) {
    SmallVector<IndexValue> sizes;
    for (int64_t i = 0; i <= window.getRank(); ++i)
      sizes.push_back(dim(queries, i));
    auto visit = [&](ValueRange token, ValueRange args) -> SmallVector<Value> {
      Row row = makeRow(concat(token, entry.front()), queries, keys);
      Key key;
      Value visible;
      auto require = [&](arith::CmpIPredicate predicate, IndexValue position,
                         IndexValue bound) {
        Value holds = arith::CmpIOp::create(b, predicate, position.getValue(),
                                            bound.getValue());
        visible = visible ? arith::AndIOp::create(b, visible, holds) : holds;
      };
      for (int64_t i = 0; i < window.getRank(); ++i) {
        IndexValue offset(b, b.getLoc(), entry[i + 1], /*nonNegative=*/true);
        IndexValue position =
            row.positions[i] + offset - (window.getSize()[i] - 1);
        require(arith::CmpIPredicate::sge, position, row.keys[i].begin);
        require(arith::CmpIPredicate::slt, position, row.keys[i].end);
        key.positions.push_back(position);
        key.slots.push_back(position - row.keys[i].begin);
        key.coordinates.push_back(
            (row.residues[i] + position * window.getDilation()[i]).getValue());
      }
      auto branch = scf::IfOp::create(
          b, visible,
          [&](OpBuilder &, Location) {
            scf::YieldOp::create(b, add(args.front(), term(row, key)));
          },
          [&](OpBuilder &, Location) { scf::YieldOp::create(b, args); });
      return {branch.getResult(0)};
    };
    return sequentialNest(sizes, number(0), visit)[0];
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

  /// The dot product of a row of `xs` and one of `ys`.
  Value dot(Value xs, ValueRange xIndices, Value ys, ValueRange yIndices) {
    return sequential(lastDim(xs), number(0),
                      [&](Value c, ValueRange sum) -> SmallVector<Value> {
                        Value x = load(xs, concat(xIndices, c));
                        Value y = load(ys, concat(yIndices, c));
                        return {add(sum.front(), mul(x, y))};
                      })[0];
  }

  /// scale * dot(query row, row `keyIndices` of `keys`)
  Value scaledDot(Value scale, Value query, ValueRange queryIndices, Value keys,
                  ValueRange keyIndices) {
    return mul(dot(query, queryIndices, keys, keyIndices), scale);
  }

  /// The bias of a key of the window.
  Value loadBias(Value bias, const Row &row, const Key &key) {
    SmallVector<Value> indices{row.head};
    for (int64_t i = 0; i < window.getRank(); ++i) {
      IndexValue offset =
          key.positions[i] - row.positions[i] + (window.getSize()[i] - 1);
      indices.push_back(offset.getValue());
    }
    return load(bias, indices);
  }

  /// The logit of a key of the window. `bias` may be null.
  Value windowLogit(const Row &row, const Key &key, Value scale, Value query,
                    Value keys, Value bias) {
    Value logit = scaledDot(scale, query, row.indices(), keys,
                            concat(row.batch, key.coordinates, row.kvHead));
    return bias ? add(logit, loadBias(bias, row, key)) : logit;
  }

  WindowAttr window;
};

/// The type of sums of values of type `type`.
inline FloatType getAccumulatorFor(FloatType type) {
  return type.isF64() ? type : Float32Type::get(type.getContext());
}

} // namespace mlir::na

#endif // NA_LIB_CONVERSION_NATOLOOPS_WINDOWLOOPBUILDER_H
