//===- NAToLoops.cpp - Lowering of na operations to loops -----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lowering is the oracle for the others, so it follows the definitions of
// the operations and leaves every optimisation to later passes. It shares only
// the window arithmetic (Semantics/Window.h) with them.
//
//===----------------------------------------------------------------------===//

#include "na/Conversion/NAToLoops/NAToLoops.h"

#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NA/Transforms/IRIndex.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

namespace mlir::na {
#define GEN_PASS_DEF_CONVERTNATOLOOPSPASS
#include "na/Conversion/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;
using namespace mlir::na;

namespace {

//===----------------------------------------------------------------------===//
// What the lowerings share
//===----------------------------------------------------------------------===//

FloatType getFloatType(Value memref) {
  return cast<FloatType>(cast<MemRefType>(memref.getType()).getElementType());
}

/// Concatenates index lists.
SmallVector<Value> concat(ValueRange a, ValueRange b, ValueRange c = {}) {
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

//===----------------------------------------------------------------------===//
// na.attention
//===----------------------------------------------------------------------===//

class AttentionLowering : public WindowLoopBuilder {
public:
  AttentionLowering(RewriterBase &rewriter, AttentionOp op)
      : WindowLoopBuilder(rewriter, op, op.getAccumulatorType(),
                          op.getWindow()),
        op(op) {}

  void lower() {
    scale = makeScale(op.getScaleValue(), op.getQuery());
    Value output = op.getOutput();
    // Sums must not be rounded to a narrow output between two keys. One buffer
    // for all rows keeps allocations out of the parallel loop.
    sums = output;
    if (getFloatType(output) != accumulator)
      sums = allocateLike(output);
    SmallVector<IndexValue> sizes = dims(output);
    valueDim = {sizes.pop_back_val()};
    parallel(sizes, [&](ValueRange indices) { lowerRow(indices); });
    if (sums != output)
      memref::DeallocOp::create(b, sums);
  }

private:
  /// Runs over the logits of all keys of a row, the window's, then the
  /// additional ones. `visit` also gets the key's value vector: a memref and
  /// the indices of a row of it.
  Value forEachLogit(const Row &row, ValueRange inits,
                     function_ref<Value(Value logit, Value values,
                                        ValueRange indices, Value carried)>
                         visit) {
    SmallVector<Value> carried = forEachKey(
        row, inits, [&](const Key &key, ValueRange args) -> SmallVector<Value> {
          Value logit = windowLogit(row, key, scale, op.getQuery(), op.getKey(),
                                    op.getBias());
          return {visit(logit, op.getValue(),
                        concat(row.batch, key.coordinates, row.kvHead),
                        args.front())};
        });
    if (Value keys = op.getAdditionalKey())
      carried =
          sequential(dim(keys, 1), carried,
                     [&](Value token, ValueRange args) -> SmallVector<Value> {
                       SmallVector<Value> indices{row.batch, token, row.kvHead};
                       Value logit = scaledDot(scale, op.getQuery(),
                                               row.indices(), keys, indices);
                       return {visit(logit, op.getAdditionalValue(), indices,
                                     args.front())};
                     });
    return carried.front();
  }

  void lowerRow(ValueRange indices) {
    Row row = makeRow(indices, op.getQuery(), op.getKey());
    Value top =
        forEachLogit(row, negativeInfinity(),
                     [&](Value logit, Value, ValueRange, Value largest) {
                       return max(largest, logit);
                     });

    sequential(*valueDim,
               [&](Value c) { store(number(0), sums, concat(indices, c)); });
    Value total = forEachLogit(
        row, number(0),
        [&](Value logit, Value values, ValueRange valueIndices, Value sum) {
          Value weight = exp(sub(logit, top));
          sequential(*valueDim, [&](Value c) {
            Value term = mul(weight, load(values, concat(valueIndices, c)));
            SmallVector<Value> at = concat(indices, c);
            store(add(load(sums, at), term), sums, at);
          });
          return add(sum, weight);
        });
    sequential(*valueDim, [&](Value c) {
      SmallVector<Value> at = concat(indices, c);
      store(div(load(sums, at), total), op.getOutput(), at);
    });
    if (Value lse = op.getLse())
      store(add(top, log(total)), lse, indices);
  }

  Value allocateLike(Value memref) {
    SmallVector<Value> dynamicSizes;
    for (const IndexValue &size : dims(memref))
      if (!size.getConstant())
        dynamicSizes.push_back(size.getValue());
    ArrayRef<int64_t> shape = cast<MemRefType>(memref.getType()).getShape();
    return memref::AllocOp::create(b, MemRefType::get(shape, accumulator),
                                   dynamicSizes);
  }

  AttentionOp op;
  Value scale, sums;
  std::optional<IndexValue> valueDim;
};

//===----------------------------------------------------------------------===//
// na.qk
//===----------------------------------------------------------------------===//

class QKLowering : public WindowLoopBuilder {
public:
  QKLowering(RewriterBase &rewriter, QKOp op)
      : WindowLoopBuilder(rewriter, op, getFloatType(op.getScores()),
                          op.getWindow()),
        op(op) {}

  void lower() {
    Value scores = op.getScores();
    Value scale = makeScale(op.getScaleValue(), op.getQuery());
    SmallVector<IndexValue> sizes = dims(scores);
    IndexValue slots = sizes.pop_back_val();
    parallel(sizes, [&](ValueRange indices) {
      Row row = makeRow(indices, op.getQuery(), op.getKey());
      // Only causal rows can have fewer keys than slots.
      if (llvm::is_contained(window.getCausal(), true))
        sequential(slots, [&](Value slot) {
          store(negativeInfinity(), scores, concat(indices, slot));
        });
      forEachKey(row, {},
                 [&](const Key &key, ValueRange) -> SmallVector<Value> {
                   Value logit = windowLogit(row, key, scale, op.getQuery(),
                                             op.getKey(), op.getBias());
                   store(logit, scores, concat(indices, slotOf(key)));
                   return {};
                 });
    });
  }

private:
  QKOp op;
};

//===----------------------------------------------------------------------===//
// na.av
//===----------------------------------------------------------------------===//

FloatType getAccumulatorFor(FloatType type) {
  return type.isF64() ? type : Float32Type::get(type.getContext());
}

class AVLowering : public WindowLoopBuilder {
public:
  AVLowering(RewriterBase &rewriter, AVOp op)
      : WindowLoopBuilder(rewriter, op,
                          getAccumulatorFor(getFloatType(op.getValue())),
                          op.getWindow()),
        op(op) {}

  void lower() {
    parallel(dims(op.getOutput()), [&](ValueRange indices) {
      ValueRange rowIndices = indices.drop_back();
      Row row = makeRow(rowIndices, op.getWeights(), op.getValue());
      Value sum = forEachKey(
          row, number(0),
          [&](const Key &key, ValueRange args) -> SmallVector<Value> {
            Value weight =
                load(op.getWeights(), concat(rowIndices, slotOf(key)));
            Value value =
                load(op.getValue(), concat(concat(row.batch, key.coordinates),
                                           row.kvHead, indices.back()));
            return {add(args.front(), mul(weight, value))};
          })[0];
      store(sum, op.getOutput(), indices);
    });
  }

private:
  AVOp op;
};

//===----------------------------------------------------------------------===//
// na.merge
//===----------------------------------------------------------------------===//

class MergeLowering : public LoopBuilder {
public:
  MergeLowering(RewriterBase &rewriter, MergeOp op)
      : LoopBuilder(rewriter, op,
                    getAccumulatorFor(getFloatType(op.getLses().front()).isF64()
                                          ? getFloatType(op.getLses().front())
                                          : getFloatType(op.getOutput()))),
        op(op) {}

  void lower() {
    SmallVector<IndexValue> sizes = dims(op.getOutput());
    IndexValue valueDim = sizes.pop_back_val();
    parallel(sizes, [&](ValueRange indices) { lowerRow(indices, valueDim); });
  }

private:
  void lowerRow(ValueRange indices, const IndexValue &valueDim) {
    Value none = negativeInfinity();
    Value zero = number(0);
    SmallVector<Value> lses;
    for (Value lse : op.getLses())
      lses.push_back(load(lse, indices));
    Value top = lses.front();
    for (Value lse : ArrayRef(lses).drop_front())
      top = max(top, lse);

    // Without a key in any part, -inf - top would be a NaN.
    Value noKeys = isEqual(top, none);
    Value base = select(noKeys, zero, top);
    SmallVector<Value> weights, empty;
    Value total = zero;
    for (Value lse : lses) {
      weights.push_back(exp(sub(lse, base)));
      empty.push_back(isEqual(lse, none));
      total = add(total, weights.back());
    }
    total = select(noKeys, number(1), total);

    sequential(valueDim, [&](Value c) {
      SmallVector<Value> at = concat(indices, c);
      Value sum = zero;
      for (auto [i, output] : llvm::enumerate(op.getOutputs())) {
        // 0 * NaN would let a part without keys through.
        Value term = mul(weights[i], load(output, at));
        sum = add(sum, select(empty[i], zero, term));
      }
      store(div(sum, total), op.getOutput(), at);
    });
    if (Value lse = op.getLse())
      store(select(noKeys, none, add(base, log(total))), lse, indices);
  }

  MergeOp op;
};

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

constexpr StringLiteral opNames[] = {"attention", "qk", "av", "merge"};

struct ConvertNAToLoops
    : public mlir::na::impl::ConvertNAToLoopsPassBase<ConvertNAToLoops> {
  using ConvertNAToLoopsPassBase::ConvertNAToLoopsPassBase;

  LogicalResult initialize(MLIRContext *context) override {
    for (const std::string &name : ops)
      if (!llvm::is_contained(opNames, name))
        return emitError(UnknownLoc::get(context))
               << "convert-na-to-loops: unknown operation '" << name
               << "' in option 'ops'; expected one of "
               << llvm::join(ArrayRef(opNames), ", ");
    return success();
  }

  void runOnOperation() override {
    SmallVector<Operation *> worklist;
    getOperation()->walk([&](Operation *op) {
      if (isa<AttentionOp, QKOp, AVOp, MergeOp>(op) && isSelected(op))
        worklist.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : worklist)
      if (failed(lowerToLoops(rewriter, op)))
        signalPassFailure();
  }

private:
  bool isSelected(Operation *op) {
    StringRef name = op->getName().stripDialect();
    return ops.empty() || llvm::is_contained(ops, name);
  }
};

} // namespace

LogicalResult mlir::na::lowerToLoops(RewriterBase &rewriter, Operation *op) {
  for (Value operand : op->getOperands())
    if (isa<TensorType>(operand.getType()))
      return op->emitOpError("is on tensors; bufferize it before it is lowered "
                             "to loops");
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  TypeSwitch<Operation *>(op)
      .Case([&](AttentionOp op) { AttentionLowering(rewriter, op).lower(); })
      .Case([&](QKOp op) { QKLowering(rewriter, op).lower(); })
      .Case([&](AVOp op) { AVLowering(rewriter, op).lower(); })
      .Case([&](MergeOp op) { MergeLowering(rewriter, op).lower(); });
  rewriter.eraseOp(op);
  return success();
}
