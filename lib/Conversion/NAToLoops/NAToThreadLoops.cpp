//===- NAToThreadLoops.cpp - na operations for the threads of a GPU -------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The naive algorithm for a GPU, as published for neighborhood attention: a
// thread computes one score, or one element of the output, from global memory.
//
//===----------------------------------------------------------------------===//

#include "MergeLowering.h"
#include "WindowLoopBuilder.h"

#include "na/Conversion/Passes.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::na {
#define GEN_PASS_DEF_CONVERTNATOTHREADLOOPSPASS
#include "na/Conversion/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;
using namespace mlir::na;

/// Bytes of the widest access of a thread.
static constexpr int64_t maxAccessBytes = 16;
/// Most value channels of one thread of na.attention: its sums are registers.
static constexpr int64_t maxChannels = 64;

static int64_t getLastDim(Value memref) {
  return cast<MemRefType>(memref.getType()).getShape().back();
}

/// How many elements a thread can access at once, in every row along the last
/// dimension of `memref`, where its base address is a multiple of 16 bytes.
static int64_t getLanes(Value memref) {
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

static bool isContiguous(Value memref) {
  auto [strides, offset] =
      cast<MemRefType>(memref.getType()).getStridesAndOffset();
  return strides.back() == 1;
}

namespace {

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

  /// The bias of a key.
  Value loadBias(Value bias, const Row &row, const Key &key) {
    SmallVector<Value> indices{row.head};
    for (int64_t i = 0; i < window.getRank(); ++i) {
      IndexValue offset =
          key.positions[i] - row.positions[i] + (window.getSize()[i] - 1);
      indices.push_back(offset.getValue());
    }
    return load(bias, indices);
  }
};

//===----------------------------------------------------------------------===//
// na.qk
//===----------------------------------------------------------------------===//

class QKThreads : public ThreadLoopBuilder {
public:
  QKThreads(RewriterBase &rewriter, QKOp op)
      : ThreadLoopBuilder(rewriter, op, getFloatType(op.getScores()),
                          op.getWindow()),
        op(op) {}

  void lower() {
    lanes = std::min(getLanes(op.getQuery()), getLanes(op.getKey()));
    query = assumeAligned(op.getQuery(), lanes);
    key = assumeAligned(op.getKey(), lanes);
    scale = makeScale(op.getScaleValue(), query);
    SmallVector<IndexValue> sizes = dims(op.getScores());
    unsigned rowDims = sizes.size() - 1;
    sizes.pop_back();
    for (int64_t size : window.getSize())
      sizes.emplace_back(b, b.getLoc(), size);
    parallel(sizes, [&](ValueRange indices) {
      lowerScore(indices.take_front(rowDims), indices.drop_front(rowDims));
    });
  }

private:
  void lowerScore(ValueRange rowIndices, ValueRange slots) {
    Row row = makeRow(rowIndices, query, key);
    Key one = makeKey(row, slots);
    Value exists;
    for (int64_t i = 0; i < window.getRank(); ++i) {
      // Only causal rows can have fewer keys than slots.
      if (!window.getCausal()[i])
        continue;
      Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                           one.positions[i].getValue(),
                                           row.keys[i].end.getValue());
      exists = exists ? arith::AndIOp::create(b, exists, inside) : inside;
    }
    Value score;
    if (exists) {
      auto branch = scf::IfOp::create(
          b, exists,
          [&](OpBuilder &, Location) {
            scf::YieldOp::create(b, logit(row, one));
          },
          [&](OpBuilder &, Location) {
            scf::YieldOp::create(b, negativeInfinity());
          });
      score = branch.getResult(0);
    } else {
      score = logit(row, one);
    }
    store(score, op.getScores(), concat(rowIndices, slotOf(one)));
  }

  Value logit(const Row &row, const Key &one) {
    Value product = dot(query, row.indices(), key,
                        concat(row.batch, one.coordinates, row.kvHead), lanes);
    Value logit = mul(product, scale);
    return op.getBias() ? add(logit, loadBias(op.getBias(), row, one)) : logit;
  }

  QKOp op;
  Value query, key, scale;
  int64_t lanes;
};

//===----------------------------------------------------------------------===//
// na.av
//===----------------------------------------------------------------------===//

class AVThreads : public ThreadLoopBuilder {
public:
  AVThreads(RewriterBase &rewriter, AVOp op)
      : ThreadLoopBuilder(rewriter, op,
                          getAccumulatorFor(getFloatType(op.getValue())),
                          op.getWindow()),
        op(op) {}

  void lower() {
    // Neighbours of 16 bits share the loads of the weights.
    Value value = op.getValue(), output = op.getOutput();
    int64_t lanes = std::min(getLanes(value), getLanes(output));
    lanes = std::min<int64_t>(lanes, 32 / getFloatType(value).getWidth());
    lanes = std::max<int64_t>(lanes, 1);
    value = assumeAligned(value, lanes);
    output = assumeAligned(output, lanes);
    SmallVector<IndexValue> sizes = dims(output);
    if (lanes > 1)
      sizes.back() = IndexValue(b, b.getLoc(), getLastDim(output) / lanes);
    parallel(sizes, [&](ValueRange indices) {
      ValueRange rowIndices = indices.drop_back();
      Row row = makeRow(rowIndices, op.getWeights(), value);
      IndexValue part(b, b.getLoc(), indices.back(), /*nonNegative=*/true);
      Value channel = (part * lanes).getValue();
      Value zero = lanes > 1 ? splat(number(0), lanes) : number(0);
      Value sum = forEachSlot(
          row, zero,
          [&](const Key &key, ValueRange args) -> SmallVector<Value> {
            Value weight =
                load(op.getWeights(), concat(rowIndices, slotOf(key)));
            SmallVector<Value> at =
                concat(concat(row.batch, key.coordinates), row.kvHead, channel);
            if (lanes == 1)
              return {fma(weight, load(value, at), args.front())};
            return {fma(splat(weight, lanes),
                        loadVector(value, at, lanes, lanes), args.front())};
          })[0];
      SmallVector<Value> at = concat(rowIndices, channel);
      if (lanes == 1)
        store(sum, output, at);
      else
        storeVector(sum, output, at, lanes);
    });
  }

private:
  AVOp op;
};

//===----------------------------------------------------------------------===//
// na.attention
//===----------------------------------------------------------------------===//

/// A thread computes up to `maxChannels` channels of a row. It carries the
/// largest logit, the sum of the weights and the sums of the channels; rows of
/// more channels compute their logits once for each part.
class AttentionThreads : public ThreadLoopBuilder {
public:
  AttentionThreads(RewriterBase &rewriter, AttentionOp op)
      : ThreadLoopBuilder(rewriter, op, op.getAccumulatorType(),
                          op.getWindow()),
        op(op) {}

  void lower() {
    keyLanes = std::min(getLanes(op.getQuery()), getLanes(op.getKey()));
    valueLanes = getLanes(op.getValue());
    if (op.getAdditionalKey()) {
      keyLanes = std::min(keyLanes, getLanes(op.getAdditionalKey()));
      valueLanes = std::min(valueLanes, getLanes(op.getAdditionalValue()));
      additionalKey = assumeAligned(op.getAdditionalKey(), keyLanes);
      additionalValue = assumeAligned(op.getAdditionalValue(), valueLanes);
    }
    query = assumeAligned(op.getQuery(), keyLanes);
    key = assumeAligned(op.getKey(), keyLanes);
    value = assumeAligned(op.getValue(), valueLanes);
    outputLanes = getLanes(op.getOutput());
    output = assumeAligned(op.getOutput(), outputLanes);
    scale = makeScale(op.getScaleValue(), query);

    int64_t valueDim = getLastDim(output);
    channels = std::min(valueDim, maxChannels);
    SmallVector<IndexValue> sizes = dims(output);
    sizes.pop_back();
    sizes.emplace_back(b, b.getLoc(),
                       ::na::window::ceilDiv(valueDim, channels));
    parallel(sizes, [&](ValueRange indices) {
      lowerPart(indices.drop_back(), indices.back());
    });
  }

private:
  void lowerPart(ValueRange indices, Value part) {
    // The last part ends with the row; what it shares with the one before
    // is computed twice.
    IndexValue first =
        minV(IndexValue(b, b.getLoc(), part, /*nonNegative=*/true) * channels,
             IndexValue(b, b.getLoc(), getLastDim(output) - channels));
    Value channel = first.getValue();
    Row row = makeRow(indices, query, key);
    SmallVector<Value> state = {negativeInfinity(), number(0),
                                splat(number(0), channels)};
    state = forEachSlot(
        row, state, [&](const Key &one, ValueRange args) -> SmallVector<Value> {
          SmallVector<Value> at =
              concat(row.batch, one.coordinates, row.kvHead);
          Value logit =
              mul(dot(query, row.indices(), key, at, keyLanes), scale);
          if (op.getBias())
            logit = add(logit, loadBias(op.getBias(), row, one));
          return visit(logit, value, concat(at, channel), args);
        });
    if (additionalKey)
      state = sequential(
          dim(additionalKey, 1), state,
          [&](Value token, ValueRange args) -> SmallVector<Value> {
            SmallVector<Value> at{row.batch, token, row.kvHead};
            Value logit = mul(
                dot(query, row.indices(), additionalKey, at, keyLanes), scale);
            return visit(logit, additionalValue, concat(at, channel), args);
          });

    Value top = state[0], total = state[1];
    storeVector(div(state[2], splat(total, channels)), output,
                concat(indices, channel), outputLanes);
    if (!op.getLse())
      return;
    auto writeLse = [&] { store(add(top, log(total)), op.getLse(), indices); };
    if (channels == getLastDim(output))
      return writeLse();
    Value isFirst =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, part, index(0));
    scf::IfOp::create(b, isFirst, [&](OpBuilder &, Location) {
      writeLse();
      scf::YieldOp::create(b);
    });
  }

  /// Adds a key to the state of a row.
  SmallVector<Value> visit(Value logit, Value values, ValueRange at,
                           ValueRange state) {
    Value greater =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, logit, state[0]);
    auto rescaled = scf::IfOp::create(
        b, greater,
        [&](OpBuilder &, Location) {
          Value factor = exp(sub(state[0], logit));
          scf::YieldOp::create(
              b, ValueRange{logit, mul(state[1], factor),
                            mul(state[2], splat(factor, channels))});
        },
        [&](OpBuilder &, Location) { scf::YieldOp::create(b, state); });
    Value top = rescaled.getResult(0);
    Value weight = exp(sub(logit, top));
    Value loaded = loadVector(values, at, channels, valueLanes);
    return {top, add(rescaled.getResult(1), weight),
            fma(splat(weight, channels), loaded, rescaled.getResult(2))};
  }

  AttentionOp op;
  Value query, key, value, additionalKey, additionalValue, output, scale;
  int64_t keyLanes, valueLanes, outputLanes, channels;
};

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Whether the rows of all operands have a known number of channels.
bool hasStaticChannels(ValueRange operands) {
  return llvm::none_of(operands, [](Value operand) {
    return operand && ShapedType::isDynamic(getLastDim(operand));
  });
}

struct ConvertNAToThreadLoops
    : mlir::na::impl::ConvertNAToThreadLoopsPassBase<ConvertNAToThreadLoops> {
  void runOnOperation() override {
    SmallVector<Operation *> worklist;
    getOperation()->walk([&](Operation *op) {
      if (isa<AttentionOp, QKOp, AVOp, MergeOp>(op))
        worklist.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : worklist) {
      if (llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TensorType>)) {
        op->emitOpError("is on tensors; bufferize it before it is lowered to "
                        "loops");
        return signalPassFailure();
      }
      rewriter.setInsertionPoint(op);
      bool lowered =
          TypeSwitch<Operation *, bool>(op)
              .Case([&](AttentionOp op) {
                if (!hasStaticChannels({op.getQuery(), op.getKey(),
                                        op.getValue(), op.getOutput()}))
                  return false;
                AttentionThreads(rewriter, op).lower();
                return true;
              })
              .Case([&](QKOp op) {
                if (!hasStaticChannels({op.getQuery(), op.getKey()}))
                  return false;
                QKThreads(rewriter, op).lower();
                return true;
              })
              .Case([&](AVOp op) {
                AVThreads(rewriter, op).lower();
                return true;
              })
              .Case([&](MergeOp op) {
                MergeLowering(rewriter, op, /*elements=*/true).lower();
                return true;
              });
      if (lowered)
        rewriter.eraseOp(op);
    }
  }
};

} // namespace
