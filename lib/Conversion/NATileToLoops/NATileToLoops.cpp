//===- NATileToLoops.cpp - Lower tile loads, stores and windows -----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileSlotsToLoops.h"
#include "na/Conversion/Passes.h"
#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NA/Transforms/IRIndex.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/bit.h"

namespace mlir::na {
#define GEN_PASS_DEF_NATILETOLOOPSPASS
#include "na/Conversion/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;
using namespace mlir::na;

namespace {

/// One lane of a tile: its number and, per axis, its index in the box.
struct Lane {
  Value number;
  SmallVector<Value> indices;
};

/// Calls `body` for every lane of `box`, in a nest of loops over its axes.
void forEachLane(ImplicitLocOpBuilder &b, ArrayRef<int64_t> box,
                 function_ref<void(ImplicitLocOpBuilder &, const Lane &)> body,
                 Lane lane = {}) {
  if (lane.indices.size() == box.size()) {
    body(b, lane);
    return;
  }
  int64_t extent = box[lane.indices.size()];
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value end = arith::ConstantIndexOp::create(b, extent);
  auto loop = scf::ForOp::create(b, zero, end, one);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value index = loop.getInductionVar();
  lane.number =
      lane.number
          ? arith::AddIOp::create(
                b, arith::MulIOp::create(b, lane.number, end).getResult(),
                index)
                .getResult()
          : index;
  lane.indices.push_back(index);
  forEachLane(b, box, body, lane);
}

/// Lowers loads and stores, which both move the channels of tokens.
class TokenMover {
public:
  TokenMover(ImplicitLocOpBuilder &b, Value whole, Value tile, Value batch,
             Value head, ValueRange at, ArrayRef<int64_t> dilation,
             bool transposed, int64_t vectorBits)
      : whole(whole), tile(tile), batch(batch), head(head), at(at),
        dilation(dilation), transposed(transposed),
        wholeType(cast<MemRefType>(whole.getType()).getElementType()),
        tileType(cast<MemRefType>(tile.getType()).getElementType()),
        vectorBits(vectorBits) {}

  /// Calls `inside` for a token in the tensor and `outside` for another.
  void
  forToken(ImplicitLocOpBuilder &b, const Lane &lane,
           function_ref<void(ImplicitLocOpBuilder &, ValueRange token)> inside,
           function_ref<void(ImplicitLocOpBuilder &)> outside) {
    SmallVector<Value> token = {batch};
    Value exists;
    Value zero = arith::ConstantIndexOp::create(b, 0);
    for (size_t axis = 0; axis < at.size(); ++axis) {
      Value step = arith::ConstantIndexOp::create(b, dilation[axis]);
      Value coordinate = arith::AddIOp::create(
          b, at[axis],
          arith::MulIOp::create(b, lane.indices[axis], step).getResult());
      Value length = memref::DimOp::create(b, whole, axis + 1);
      Value first =
          arith::CmpIOp::create(b, arith::CmpIPredicate::sge, coordinate, zero);
      Value last = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                         coordinate, length);
      Value both = arith::AndIOp::create(b, first, last);
      exists =
          exists ? arith::AndIOp::create(b, exists, both).getResult() : both;
      token.push_back(coordinate);
    }
    token.push_back(head);
    auto branch =
        scf::IfOp::create(b, exists, /*withElseRegion=*/bool(outside));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    inside(b, token);
    if (!outside)
      return;
    b.setInsertionPointToStart(branch.elseBlock());
    outside(b);
  }

  /// Calls `body` with the first channel and the number of channels of each
  /// vector of a token.
  void forChannels(
      ImplicitLocOpBuilder &b,
      function_ref<void(ImplicitLocOpBuilder &, Value channel, int64_t width)>
          body) {
    unsigned dim = transposed ? 0 : 1;
    int64_t channels = cast<MemRefType>(tile.getType()).getDimSize(dim);
    if (ShapedType::isDynamic(channels)) {
      auto loop = scf::ForOp::create(
          b, arith::ConstantIndexOp::create(b, 0).getResult(),
          memref::DimOp::create(b, tile, dim).getResult(),
          arith::ConstantIndexOp::create(b, 1).getResult());
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      body(b, loop.getInductionVar(), 1);
      return;
    }
    int64_t width =
        std::max<int64_t>(1, vectorBits / tileType.getIntOrFloatBitWidth());
    // The transposed layout, or channels with a stride, go one by one.
    if (transposed || !isContiguous(whole) || !isContiguous(tile))
      width = 1;
    int64_t full = channels / width * width;
    if (full > 0) {
      auto loop = scf::ForOp::create(b, arith::ConstantIndexOp::create(b, 0),
                                     arith::ConstantIndexOp::create(b, full),
                                     arith::ConstantIndexOp::create(b, width));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      body(b, loop.getInductionVar(), width);
    }
    while (full < channels) {
      int64_t rest = channels - full;
      // LLVM's code generator does not know odd vectors of narrow floats.
      if (tileType.getIntOrFloatBitWidth() < 32)
        rest = llvm::bit_floor(uint64_t(rest));
      body(b, arith::ConstantIndexOp::create(b, full), rest);
      full += rest;
    }
  }

  Value loadWhole(ImplicitLocOpBuilder &b, SmallVector<Value> token,
                  Value channel, int64_t width) {
    token.push_back(channel);
    return load(b, whole, token, wholeType, width);
  }
  Value loadTile(ImplicitLocOpBuilder &b, Value lane, Value channel,
                 int64_t width) {
    return load(b, tile, tileIndices(lane, channel), tileType, width);
  }
  void storeWhole(ImplicitLocOpBuilder &b, Value value,
                  SmallVector<Value> token, Value channel) {
    token.push_back(channel);
    store(b, value, whole, token);
  }
  void storeTile(ImplicitLocOpBuilder &b, Value value, Value lane,
                 Value channel) {
    store(b, value, tile, tileIndices(lane, channel));
  }

  /// Converts between the element types of the tile and the whole.
  Value convert(ImplicitLocOpBuilder &b, Value value, bool toTile) {
    if (wholeType == tileType)
      return value;
    Type type = toTile ? tileType : wholeType;
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      type = vector.clone(type);
    if (toTile)
      return arith::ExtFOp::create(b, type, value);
    return arith::TruncFOp::create(b, type, value);
  }

  Type getTileType() const { return tileType; }

private:
  static bool isContiguous(Value memref) {
    SmallVector<int64_t> strides;
    int64_t offset;
    return succeeded(cast<MemRefType>(memref.getType())
                         .getStridesAndOffset(strides, offset)) &&
           strides.back() == 1;
  }
  SmallVector<Value> tileIndices(Value lane, Value channel) const {
    if (transposed)
      return {channel, lane};
    return {lane, channel};
  }
  static Value load(ImplicitLocOpBuilder &b, Value memref, ValueRange at,
                    Type type, int64_t width) {
    if (width == 1)
      return memref::LoadOp::create(b, memref, at);
    return vector::LoadOp::create(b, VectorType::get({width}, type), memref,
                                  at);
  }
  static void store(ImplicitLocOpBuilder &b, Value value, Value memref,
                    ValueRange at) {
    if (isa<VectorType>(value.getType()))
      vector::StoreOp::create(b, value, memref, at);
    else
      memref::StoreOp::create(b, value, memref, at);
  }

  Value whole, tile, batch, head;
  ValueRange at;
  ArrayRef<int64_t> dilation;
  bool transposed;
  Type wholeType, tileType;
  int64_t vectorBits;
};

/// Zero, or a vector of zeros.
Value buildZero(ImplicitLocOpBuilder &b, Type type, int64_t width) {
  if (width == 1)
    return arith::ConstantOp::create(b, b.getZeroAttr(type));
  return arith::ConstantOp::create(
      b, b.getZeroAttr(VectorType::get({width}, type)));
}

/// Loads one number per token.
void lowerNumbers(ImplicitLocOpBuilder &b, TileLoadOp op, TokenMover &mover) {
  forEachLane(b, op.getBox(), [&](ImplicitLocOpBuilder &b, const Lane &lane) {
    auto store = [&](ImplicitLocOpBuilder &b, Value value) {
      memref::StoreOp::create(b, value, op.getInit(), lane.number);
    };
    mover.forToken(
        b, lane,
        [&](ImplicitLocOpBuilder &b, ValueRange token) {
          Value value = memref::LoadOp::create(b, op.getSource(), token);
          store(b, mover.convert(b, value, /*toTile=*/true));
        },
        [&](ImplicitLocOpBuilder &b) {
          store(b, buildZero(b, mover.getTileType(), /*width=*/1));
        });
  });
}

void lowerLoad(ImplicitLocOpBuilder &b, TileLoadOp op, int64_t vectorBits) {
  TokenMover mover(b, op.getSource(), op.getInit(), op.getBatch(), op.getHead(),
                   op.getAt(), op.getDilation(), op.getTransposed(),
                   vectorBits);
  if (op.getSource().getType().getRank() == int64_t(op.getAt().size()) + 2)
    return lowerNumbers(b, op, mover);
  forEachLane(b, op.getBox(), [&](ImplicitLocOpBuilder &b, const Lane &lane) {
    mover.forToken(
        b, lane,
        [&](ImplicitLocOpBuilder &b, ValueRange token) {
          mover.forChannels(b, [&](ImplicitLocOpBuilder &b, Value channel,
                                   int64_t width) {
            Value value =
                mover.loadWhole(b, SmallVector<Value>(token), channel, width);
            mover.storeTile(b, mover.convert(b, value, true), lane.number,
                            channel);
          });
        },
        [&](ImplicitLocOpBuilder &b) {
          mover.forChannels(
              b, [&](ImplicitLocOpBuilder &b, Value channel, int64_t width) {
                mover.storeTile(b, buildZero(b, mover.getTileType(), width),
                                lane.number, channel);
              });
        });
  });
}

void lowerStore(ImplicitLocOpBuilder &b, TileStoreOp op, int64_t vectorBits) {
  TokenMover mover(b, op.getDest(), op.getTile(), op.getBatch(), op.getHead(),
                   op.getAt(), op.getDilation(), op.getTransposed(),
                   vectorBits);
  MemRefType type = op.getDest().getType();
  bool hasChannels = type.getRank() == int64_t(op.getAt().size()) + 3;
  forEachLane(b, op.getBox(), [&](ImplicitLocOpBuilder &b, const Lane &lane) {
    auto store = [&](ImplicitLocOpBuilder &b, ValueRange token) {
      if (!hasChannels) {
        Value value = memref::LoadOp::create(b, op.getTile(), lane.number);
        memref::StoreOp::create(b, mover.convert(b, value, false), op.getDest(),
                                token);
        return;
      }
      mover.forChannels(
          b, [&](ImplicitLocOpBuilder &b, Value channel, int64_t width) {
            Value value = mover.loadTile(b, lane.number, channel, width);
            mover.storeWhole(b, mover.convert(b, value, false),
                             SmallVector<Value>(token), channel);
          });
    };
    mover.forToken(b, lane, store, nullptr);
  });
}

/// Elements of different threads are added in any order.
void lowerAdd(ImplicitLocOpBuilder &b, TileAddOp op) {
  int64_t channels = op.getDest().getType().getShape().back();
  TokenMover mover(b, op.getDest(), op.getTile(), op.getBatch(), op.getHead(),
                   op.getAt(), op.getDilation(), op.getTransposed(),
                   /*vectorBits=*/64);
  forEachLane(b, op.getBox(), [&](ImplicitLocOpBuilder &b, const Lane &lane) {
    auto add = [&](ImplicitLocOpBuilder &b, ValueRange token) {
      Value zero = arith::ConstantIndexOp::create(b, 0);
      Value one = arith::ConstantIndexOp::create(b, 1);
      Value count = arith::ConstantIndexOp::create(b, channels);
      if (ShapedType::isDynamic(channels))
        count = memref::DimOp::create(b, op.getDest(),
                                      op.getDest().getType().getRank() - 1);
      scf::ForOp::create(
          b, zero, count, one, ValueRange(),
          [&](OpBuilder &builder, Location loc, Value channel, ValueRange) {
            ImplicitLocOpBuilder b(loc, builder);
            SmallVector<Value> from = {lane.number, channel};
            if (op.getTransposed())
              std::swap(from[0], from[1]);
            Value value = memref::LoadOp::create(b, op.getTile(), from);
            SmallVector<Value> to(token);
            to.push_back(channel);
            memref::AtomicRMWOp::create(b, arith::AtomicRMWKind::addf, value,
                                        op.getDest(), to);
            scf::YieldOp::create(b);
          });
    };
    mover.forToken(b, lane, add, nullptr);
  });
}

void lowerWindows(ImplicitLocOpBuilder &b, TileWindowsOp op) {
  SmallVector<int64_t> box(op.getBox());
  if (op.getHeads() != 1)
    box.push_back(op.getHeads());
  forEachLane(b, box, [&](ImplicitLocOpBuilder &b, const Lane &lane) {
    for (int64_t axis = 0; axis < op.getWindow().getRank(); ++axis) {
      IndexValue size(b, b.getLoc(), op.getSizes()[axis], true);
      IndexValue at(b, b.getLoc(), op.getAt()[axis], true);
      IndexValue index(b, b.getLoc(), lane.indices[axis], true);
      IndexValue position = minV(at + index, size - 1);
      ::na::window::Axis parameters = op.getWindow().getAxis(axis);
      auto range = op.getInverse()
                       ? ::na::window::queryRange(parameters, size, position)
                       : ::na::window::keyRange(parameters, size, position);
      for (auto [row, bound] : {std::make_pair(2 * axis, range.begin),
                                std::make_pair(2 * axis + 1, range.end)}) {
        Value narrow =
            arith::IndexCastOp::create(b, b.getI32Type(), bound.getValue());
        memref::StoreOp::create(
            b, narrow, op.getInit(),
            ValueRange{arith::ConstantIndexOp::create(b, row), lane.number});
      }
    }
  });
}

struct NATileToLoops : mlir::na::impl::NATileToLoopsPassBase<NATileToLoops> {
  using NATileToLoopsPassBase::NATileToLoopsPassBase;

  void runOnOperation() override {
    if (vectorBits < 64 || vectorBits > 4096 || vectorBits % 64 != 0) {
      getOperation()->emitError("convert-na-tile-to-loops: vector-bits = ")
          << int64_t(vectorBits)
          << ", expected a multiple of 64 from 64 to 4096";
      return signalPassFailure();
    }
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<TileLoadOp, TileStoreOp, TileAddOp, TileWindowsOp, TileBiasOp,
              TileScatterOp, TileGatherOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      for (Value operand : op->getOperands())
        if (isa<TensorType>(operand.getType())) {
          op->emitOpError(
              "is on tensors; bufferize before convert-na-tile-to-loops");
          return signalPassFailure();
        }
      ImplicitLocOpBuilder b(op->getLoc(), op);
      if (auto load = dyn_cast<TileLoadOp>(op))
        lowerLoad(b, load, vectorBits);
      else if (auto store = dyn_cast<TileStoreOp>(op))
        lowerStore(b, store, vectorBits);
      else if (auto add = dyn_cast<TileAddOp>(op))
        lowerAdd(b, add);
      else if (auto bias = dyn_cast<TileBiasOp>(op))
        lowerBias(b, bias, vectorBits);
      else if (auto scatter = dyn_cast<TileScatterOp>(op))
        lowerScatter(b, scatter, vectorBits);
      else if (auto gather = dyn_cast<TileGatherOp>(op))
        lowerGather(b, gather, vectorBits);
      else
        lowerWindows(b, cast<TileWindowsOp>(op));
      op->erase();
    }
  }
};

} // namespace
