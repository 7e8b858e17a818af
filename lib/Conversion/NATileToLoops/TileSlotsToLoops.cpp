//===- TileSlotsToLoops.cpp - Lower slots and biases of tiles to loops ----===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row of attention weights and a row of the bias table are both contiguous
// along the last axis. The loops therefore go over runs on that axis: keys of
// one query that are in its window, or lanes that share the other axes of the
// bias. No run leaves the window, so the work is that of the needed entries.
//
//===----------------------------------------------------------------------===//

#include "TileSlotsToLoops.h"

#include "na/Dialect/NA/Transforms/IRIndex.h"
#include "na/Dialect/NA/Transforms/TileLinalg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::na;

namespace {

bool hasContiguousRows(Value memref) {
  return cast<MemRefType>(memref.getType()).isLastDimUnitStride();
}

FloatType elementOf(Value memref) {
  return cast<FloatType>(cast<MemRefType>(memref.getType()).getElementType());
}

/// Builds loops and index arithmetic; the insertion point is inside the loop
/// that a callback fills.
class SlotBuilder {
public:
  SlotBuilder(ImplicitLocOpBuilder &b, int64_t vectorBits)
      : b(b), vectorBits(vectorBits) {}

protected:
  using Indices = SmallVector<IndexValue>;

  IndexValue index(OpFoldResult value) {
    return IndexValue(b, b.getLoc(), value);
  }
  IndexValue index(int64_t value) { return IndexValue(b, b.getLoc(), value); }

  void loop(const IndexValue &lower, const IndexValue &upper, int64_t step,
            function_ref<void(const IndexValue &)> body) {
    auto loop = scf::ForOp::create(b, lower.getValue(), upper.getValue(),
                                   index(step).getValue());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body(index(OpFoldResult(loop.getInductionVar())));
  }

  /// A loop per axis, the last one innermost.
  void loops(ArrayRef<IndexValue> lower, ArrayRef<IndexValue> upper,
             function_ref<void(const Indices &)> body) {
    Indices indices;
    loops(lower, upper, indices, body);
  }
  void loops(ArrayRef<int64_t> box, function_ref<void(const Indices &)> body) {
    Indices lower(box.size(), index(int64_t(0))), upper;
    for (int64_t extent : box)
      upper.push_back(index(extent));
    loops(lower, upper, body);
  }

  void when(Value condition, function_ref<void()> body) {
    auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    body();
  }

  /// The row-major lane of `indices` in `box`.
  IndexValue flatten(ArrayRef<IndexValue> indices, ArrayRef<int64_t> box) {
    IndexValue lane = indices.front();
    for (size_t axis = 1; axis < indices.size(); ++axis)
      lane = lane * box[axis] + indices[axis];
    return lane;
  }

  Value castFloat(Value value, Type element) {
    Type type = element;
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      type = vector.clone(element);
    if (value.getType() == type)
      return value;
    if (getElementTypeOrSelf(value).getIntOrFloatBitWidth() <
        element.getIntOrFloatBitWidth())
      return arith::ExtFOp::create(b, type, value);
    return arith::TruncFOp::create(b, type, value);
  }

  Value zeros(VectorType type) {
    return arith::ConstantOp::create(b, b.getZeroAttr(type));
  }

  /// Calls `body` for chunks of at most a vector of lanes that together are
  /// [0, size).
  void chunks(int64_t size, int64_t lanes,
              function_ref<void(const IndexValue &begin, int64_t lanes)> body) {
    int64_t full = size / lanes * lanes;
    if (full > lanes)
      loop(index(int64_t(0)), index(full), lanes,
           [&](const IndexValue &begin) { body(begin, lanes); });
    else if (full == lanes)
      body(index(int64_t(0)), lanes);
    if (full < size)
      body(index(full), size - full);
  }

  int64_t vectorLanes(FloatType element) {
    return std::max<int64_t>(1, vectorBits / element.getWidth());
  }

  ImplicitLocOpBuilder &b;

private:
  void loops(ArrayRef<IndexValue> lower, ArrayRef<IndexValue> upper,
             Indices &indices, function_ref<void(const Indices &)> body) {
    size_t axis = indices.size();
    if (axis == lower.size())
      return body(indices);
    loop(lower[axis], upper[axis], 1, [&](const IndexValue &i) {
      indices.push_back(i);
      loops(lower, upper, indices, body);
      indices.pop_back();
    });
  }

  int64_t vectorBits;
};

//===----------------------------------------------------------------------===//
// na.tile.scatter and na.tile.gather
//===----------------------------------------------------------------------===//

/// Moves in-window entries between a tile and the slots of the rows of `whole`.
template <typename OpTy>
class SlotMover : public SlotBuilder {
public:
  SlotMover(ImplicitLocOpBuilder &b, int64_t vectorBits, OpTy op, Value tile,
            Value whole)
      : SlotBuilder(b, vectorBits), op(op), tile(tile), whole(whole),
        window(op.getWindow()), rank(window.getRank()) {}

  /// `toTile` says in which direction entries are moved.
  void build(bool toTile) {
    if (toTile)
      buildZeroTile();
    forEachQuery([&](const IndexValue &lane, ArrayRef<Value> row) {
      forEachRun(lane, [&](const IndexValue &keyLane, const IndexValue &slot,
                           const IndexValue &length) {
        Run run{lane, keyLane, slot, length, row};
        // Narrow elements have no masked moves on every host.
        bool whole32 = elementOf(whole) == elementOf(tile) &&
                       elementOf(whole).getWidth() >= 32;
        if (!op.getKeyMajor() && whole32 && hasContiguousRows(whole) &&
            hasContiguousRows(tile))
          moveVectors(run, toTile);
        else
          moveScalars(run, toTile);
      });
    });
  }

private:
  /// Consecutive keys on the last axis, and their slots.
  struct Run {
    IndexValue lane, keyLane, slot, length;
    ArrayRef<Value> row;
  };

  void buildZeroTile() {
    FloatType element = elementOf(tile);
    ArrayRef<int64_t> shape = cast<MemRefType>(tile.getType()).getShape();
    loop(index(int64_t(0)), index(shape[0]), 1, [&](const IndexValue &row) {
      int64_t lanes = hasContiguousRows(tile) ? vectorLanes(element) : 1;
      chunks(shape[1], lanes, [&](const IndexValue &begin, int64_t lanes) {
        SmallVector<Value> at{row.getValue(), begin.getValue()};
        if (hasContiguousRows(tile))
          vector::StoreOp::create(b, zeros(VectorType::get({lanes}, element)),
                                  tile, at);
        else
          memref::StoreOp::create(b, buildFloat(b, element, 0), tile, at);
      });
    });
  }

  /// Loops over the query lanes inside of `whole`. `body` gets the lane, and
  /// [batch, coordinates.., head] of its row.
  void
  forEachQuery(function_ref<void(const IndexValue &, ArrayRef<Value>)> body) {
    Indices lower(rank, index(int64_t(0))), upper;
    for (int64_t axis = 0; axis < rank; ++axis) {
      IndexValue length =
          index(memref::getMixedSize(b, b.getLoc(), whole, axis + 1));
      int64_t dilation = window.getDilation()[axis];
      IndexValue count = length - index(OpFoldResult(op.getAt()[axis]));
      // Rounded up where there are lanes; at most 0 where there are none.
      if (dilation != 1)
        count = index(OpFoldResult(b.createOrFold<arith::DivSIOp>(
            (count + (dilation - 1)).getValue(), index(dilation).getValue())));
      upper.push_back(minV(count, index(op.getQueryBox()[axis])));
    }
    loops(lower, upper, [&](const Indices &indices) {
      SmallVector<Value> row{op.getBatch()};
      for (int64_t axis = 0; axis < rank; ++axis)
        row.push_back((index(OpFoldResult(op.getAt()[axis])) +
                       indices[axis] * window.getDilation()[axis])
                          .getValue());
      row.push_back(op.getHead());
      body(flatten(indices, op.getQueryBox()), row);
    });
  }

  /// Loops over the runs of keys of the box that the query at `lane` sees.
  void forEachRun(
      const IndexValue &lane,
      function_ref<void(const IndexValue &keyLane, const IndexValue &slot,
                        const IndexValue &length)>
          body) {
    auto load = [&](int64_t row) {
      Value position = memref::LoadOp::create(
          b, op.getRanges(),
          ValueRange{index(row).getValue(), lane.getValue()});
      return index(
          OpFoldResult(arith::IndexCastOp::create(b, b.getIndexType(), position)
                           .getResult()));
    };
    // Key lanes [lower, upper) are seen; lane 0 has the slot `origin`.
    Indices lower, upper, origin;
    for (int64_t axis = 0; axis < rank; ++axis) {
      IndexValue at = index(OpFoldResult(op.getKeyAt()[axis]));
      IndexValue begin = load(2 * axis), end = load(2 * axis + 1);
      lower.push_back(maxV(begin - at, index(int64_t(0))));
      upper.push_back(minV(end - at, index(op.getKeyBox()[axis])));
      origin.push_back(at - begin);
    }
    IndexValue first = lower.pop_back_val(), last = upper.pop_back_val();
    loops(lower, upper, [&](Indices indices) {
      indices.push_back(first);
      Indices slots;
      for (int64_t axis = 0; axis < rank; ++axis)
        slots.push_back(origin[axis] + indices[axis]);
      body(flatten(indices, op.getKeyBox()), flatten(slots, window.getSize()),
           last - first);
    });
  }

  SmallVector<Value> slotIndices(const Run &run, const IndexValue &offset) {
    SmallVector<Value> indices(run.row);
    indices.push_back((run.slot + offset).getValue());
    return indices;
  }

  SmallVector<Value> tileIndices(const Run &run, const IndexValue &offset) {
    SmallVector<Value> indices{run.lane.getValue(),
                               (run.keyLane + offset).getValue()};
    if (op.getKeyMajor())
      std::swap(indices[0], indices[1]);
    return indices;
  }

  void moveScalars(const Run &run, bool toTile) {
    loop(index(int64_t(0)), run.length, 1, [&](const IndexValue &i) {
      SmallVector<Value> from = slotIndices(run, i), to = tileIndices(run, i);
      if (!toTile)
        std::swap(from, to);
      Value target = toTile ? tile : whole;
      Value value = memref::LoadOp::create(b, toTile ? whole : tile, from);
      memref::StoreOp::create(b, castFloat(value, elementOf(target)), target,
                              to);
    });
  }

  void moveVectors(const Run &run, bool toTile) {
    FloatType element = elementOf(tile);
    int64_t longest = std::min(op.getKeyBox().back(), window.getSize().back());
    int64_t lanes =
        std::min<int64_t>(vectorLanes(element), llvm::PowerOf2Ceil(longest));
    auto type = VectorType::get({lanes}, element);
    loop(index(int64_t(0)), run.length, lanes, [&](const IndexValue &i) {
      SmallVector<Value> from = slotIndices(run, i), to = tileIndices(run, i);
      if (!toTile)
        std::swap(from, to);
      Value rest = (run.length - i).getValue();
      Value mask =
          vector::CreateMaskOp::create(b, type.clone(b.getI1Type()), rest);
      Value values = vector::MaskedLoadOp::create(
          b, type, toTile ? whole : tile, from, mask, zeros(type));
      vector::MaskedStoreOp::create(b, toTile ? tile : whole, to, mask, values);
    });
  }

  OpTy op;
  Value tile, whole;
  WindowAttr window;
  int64_t rank;
};

//===----------------------------------------------------------------------===//
// na.tile.bias
//===----------------------------------------------------------------------===//

/// Adds bias[head, key position - query position + size - 1, ..]. For every
/// lane of the tile's rows, and every index of the columns' leading axes, the
/// columns along the last axis are contiguous in the table: ascending for keys,
/// descending for queries.
class BiasBuilder : public SlotBuilder {
public:
  BiasBuilder(ImplicitLocOpBuilder &b, int64_t vectorBits, TileBiasOp op)
      : SlotBuilder(b, vectorBits), op(op), tile(op.getInit()),
        window(op.getWindow()), rank(window.getRank()),
        descending(op.getKeyMajor()) {}

  void build() {
    ArrayRef<int64_t> rows =
        op.getKeyMajor() ? op.getKeyBox() : op.getQueryBox();
    ArrayRef<int64_t> columns =
        op.getKeyMajor() ? op.getQueryBox() : op.getKeyBox();
    loops(rows, [&](const Indices &rowIndices) {
      IndexValue row = flatten(rowIndices, rows);
      // Table indices of the row's first column.
      Indices first;
      for (int64_t axis = 0; axis < rank; ++axis) {
        IndexValue origin = index(OpFoldResult(op.getKeyAt()[axis])) -
                            index(OpFoldResult(op.getQueryAt()[axis])) +
                            (window.getSize()[axis] - 1);
        first.push_back(descending ? origin + rowIndices[axis]
                                   : origin - rowIndices[axis]);
      }
      loops(columns.drop_back(), [&](Indices indices) {
        Line line{{op.getHead()}, first.back(), row, index(int64_t(0))};
        Value inside;
        for (auto [axis, i] : llvm::enumerate(indices)) {
          IndexValue entry = descending ? first[axis] - i : first[axis] + i;
          line.leading.push_back(entry.getValue());
          Value exists = isEntry(entry, axis);
          inside = inside ? arith::AndIOp::create(b, inside, exists).getResult()
                          : exists;
        }
        indices.push_back(index(int64_t(0)));
        line.column = flatten(indices, columns);
        if (inside)
          when(inside, [&] { buildLine(line, columns.back()); });
        else
          buildLine(line, columns.back());
      });
    });
  }

private:
  /// Columns along the last axis. `leading` indexes the table up to it,
  /// `entry` is the table index of the first column.
  struct Line {
    SmallVector<Value> leading;
    IndexValue entry, row, column;
  };

  int64_t numEntries(int64_t axis) { return 2 * window.getSize()[axis] - 1; }

  /// Whether 0 <= entry < number of entries.
  Value isEntry(const IndexValue &entry, int64_t axis) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, entry.getValue(),
                                 index(numEntries(axis)).getValue());
  }

  void buildLine(const Line &line, int64_t columns) {
    bool vectors = hasContiguousRows(tile) && hasContiguousRows(op.getTable());
    int64_t lanes = vectors ? vectorLanes(elementOf(tile)) : 1;
    chunks(columns, lanes, [&](const IndexValue &begin, int64_t lanes) {
      IndexValue entry = descending ? line.entry - begin : line.entry + begin;
      SmallVector<Value> at{line.row.getValue(),
                            (line.column + begin).getValue()};
      if (vectors)
        addVector(line, entry, at, lanes);
      else
        addScalar(line, entry, at);
    });
  }

  void addScalar(const Line &line, const IndexValue &entry, ValueRange at) {
    when(isEntry(entry, rank - 1), [&] {
      SmallVector<Value> indices(line.leading);
      indices.push_back(entry.getValue());
      Value bias = castFloat(memref::LoadOp::create(b, op.getTable(), indices),
                             elementOf(tile));
      Value logit = memref::LoadOp::create(b, tile, at);
      memref::StoreOp::create(b, arith::AddFOp::create(b, logit, bias), tile,
                              at);
    });
  }

  void addVector(const Line &line, const IndexValue &entry, ValueRange at,
                 int64_t lanes) {
    IndexValue lowest = descending ? entry - (lanes - 1) : entry;
    auto indexType = VectorType::get({lanes}, b.getI32Type());
    Value start = vector::BroadcastOp::create(
        b, indexType,
        arith::IndexCastOp::create(b, b.getI32Type(), lowest.getValue()));
    auto steps = llvm::to_vector(llvm::seq<int32_t>(0, lanes));
    Value entries = arith::AddIOp::create(
        b, start,
        arith::ConstantOp::create(
            b, DenseElementsAttr::get(indexType, ArrayRef(steps)))
            .getResult());
    Value limit = arith::ConstantOp::create(
        b, DenseElementsAttr::get(indexType, int32_t(numEntries(rank - 1))));
    Value mask =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, entries, limit);

    SmallVector<Value> indices(line.leading);
    indices.push_back(lowest.getValue());
    auto biasType = VectorType::get({lanes}, elementOf(op.getTable()));
    Value bias = vector::MaskedLoadOp::create(b, biasType, op.getTable(),
                                              indices, mask, zeros(biasType));
    if (descending) {
      auto reversed = llvm::to_vector(llvm::reverse(llvm::seq(lanes)));
      bias = vector::ShuffleOp::create(b, bias, bias, reversed);
    }
    bias = castFloat(bias, elementOf(tile));
    auto type = VectorType::get({lanes}, elementOf(tile));
    Value logits = vector::LoadOp::create(b, type, tile, at);
    vector::StoreOp::create(b, arith::AddFOp::create(b, logits, bias), tile,
                            at);
  }

  TileBiasOp op;
  Value tile;
  WindowAttr window;
  int64_t rank;
  bool descending;
};

} // namespace

void mlir::na::lowerScatter(ImplicitLocOpBuilder &b, TileScatterOp op,
                            int64_t vectorBits) {
  SlotMover<TileScatterOp>(b, vectorBits, op, op.getTile(), op.getDest())
      .build(/*toTile=*/false);
}

void mlir::na::lowerGather(ImplicitLocOpBuilder &b, TileGatherOp op,
                           int64_t vectorBits) {
  SlotMover<TileGatherOp>(b, vectorBits, op, op.getInit(), op.getSource())
      .build(/*toTile=*/true);
}

void mlir::na::lowerBias(ImplicitLocOpBuilder &b, TileBiasOp op,
                         int64_t vectorBits) {
  BiasBuilder(b, vectorBits, op).build();
}
