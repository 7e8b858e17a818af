//===- WindowFragments.cpp - Windows, masks and slots on fragments --------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutAssigner.h"

#include "na/Dialect/NA/Transforms/IRIndex.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <limits>

using namespace mlir;
using namespace mlir::nagpu;
using mlir::na::IndexValue;

static Value toIndex(ImplicitLocOpBuilder &b, Value value) {
  return arith::IndexCastOp::create(b, b.getIndexType(), value);
}

static Value toI32(ImplicitLocOpBuilder &b, Value value) {
  return value.getType().isIndex()
             ? arith::IndexCastOp::create(b, b.getI32Type(), value).getResult()
             : value;
}

static Value constant(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
}

static Value castFloat(ImplicitLocOpBuilder &b, Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (from < to)
    return arith::ExtFOp::create(b, type, value);
  if (from > to)
    return arith::TruncFOp::create(b, type, value);
  return value;
}

LogicalResult LayoutAssigner::convertWindows(mlir::na::TileWindowsOp op) {
  auto tensor = dyn_cast<RankedTensorType>(op.getInit().getType());
  if (!tensor)
    return op.emitError("nagpu-assign-layouts: windows on memrefs");
  FragmentType type = getFragmentType(
      op, RankedTensorType::get({tensor.getDimSize(1)}, b.getI32Type()));
  if (!type)
    return failure();
  SmallVector<Value> at = scalars(op.getAt()), sizes = scalars(op.getSizes());
  // Where a window ends follows from where it begins, unless it is causal: one
  // register a row less over the loop. The queries that see a key are not
  // equally many for all keys.
  bool inverse = op.getInverse();
  auto needsEnd = llvm::map_to_vector(op.getWindow().getCausal(),
                                      [&](bool c) { return c || inverse; });
  SmallVector<FragmentType> types(needsEnd.size() + llvm::count(needsEnd, true),
                                  type);
  SmallVector<Value> bounds = buildMap(
      b, {}, types, {},
      [&](ImplicitLocOpBuilder &b, ValueRange) -> SmallVector<Value> {
        Value query = IndexOp::create(b, 0);
        // Rows of several heads are neighbours where they are of one query.
        if (int64_t heads = op.getHeads(); heads != 1)
          query = arith::DivUIOp::create(b, query, constant(b, heads));
        SmallVector<Value> digits = buildDigits(b, query, op.getBox());
        SmallVector<Value> bounds;
        for (int64_t axis = 0; axis < op.getWindow().getRank(); ++axis) {
          IndexValue size(b, b.getLoc(), sizes[axis], /*nonNegative=*/true);
          IndexValue first(b, b.getLoc(), at[axis], /*nonNegative=*/true);
          IndexValue digit(b, b.getLoc(), toIndex(b, digits[axis]),
                           /*nonNegative=*/true);
          // Lanes beyond the class take its last one.
          IndexValue position = minV(first + digit, size - 1);
          position = IndexValue(b, b.getLoc(), position.getFoldResult(),
                                /*nonNegative=*/true);
          auto windowAxis = op.getWindow().getAxis(axis);
          auto range =
              inverse ? ::na::window::queryRange(windowAxis, size, position)
                      : ::na::window::keyRange(windowAxis, size, position);
          bounds.push_back(toI32(b, range.begin.getValue()));
          if (needsEnd[axis])
            bounds.push_back(toI32(b, range.end.getValue()));
        }
        return bounds;
      });
  keptRegisters += int64_t(bounds.size()) * type.getNumRegisters();
  ArrayRef<Value> rest = bounds;
  SmallVector<WindowBounds> &axes = windowRanges[op.getResult()];
  for (auto [hasEnd, size] :
       llvm::zip_equal(needsEnd, op.getWindow().getSize())) {
    axes.push_back({rest.front(), hasEnd ? rest[1] : Value(), size});
    rest = rest.drop_front(hasEnd ? 2 : 1);
  }
  return success();
}

SmallVector<Value> LayoutAssigner::getRelativeRanges(Value ranges,
                                                     ValueRange at,
                                                     ArrayRef<int64_t> axes) {
  ArrayRef<WindowBounds> bounds = windowRanges[ranges];
  SmallVector<Value> inputs;
  for (int64_t axis : axes) {
    inputs.push_back(bounds[axis].begin);
    if (bounds[axis].end)
      inputs.push_back(bounds[axis].end);
  }
  if (inputs.empty())
    return {};
  SmallVector<FragmentType> types(2 * axes.size(),
                                  cast<FragmentType>(inputs[0].getType()));
  return buildMap(
      b, inputs, types, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        SmallVector<Value> relative;
        auto next = args.begin();
        for (int64_t axis : axes) {
          Value origin = toI32(b, at[axis]);
          Value begin = arith::SubIOp::create(b, *next++, origin);
          relative.push_back(begin);
          relative.push_back(
              bounds[axis].end
                  ? arith::SubIOp::create(b, *next++, origin).getResult()
                  : arith::AddIOp::create(b, begin,
                                          constant(b, bounds[axis].size))
                        .getResult());
        }
        return relative;
      });
}

/// Whether digit is in [begin, end), one comparison each way.
static Value buildInside(ImplicitLocOpBuilder &b, Value digit, Value begin,
                         Value end) {
  Value after =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sge, digit, begin);
  Value before =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, digit, end);
  return arith::AndIOp::create(b, after, before);
}

LogicalResult LayoutAssigner::convertMask(mlir::na::TileMaskOp op) {
  Value scores = fragment(op.getInit());
  if (!scores || op.getKeyMajor() || !windowRanges.contains(op.getRanges()))
    return op.emitError("nagpu-assign-layouts: expected scores [queries, keys] "
                        "and ranges of na.tile.windows");
  auto type = cast<FragmentType>(scores.getType());
  SmallVector<Value> at = scalars(op.getAt());
  ArrayRef<WindowBounds> bounds = windowRanges[op.getRanges()];
  auto masked = [&]() -> Value {
    ArrayRef<int64_t> axes = op.getAxes();
    if (axes.empty())
      return scores;
    // Most tiles are cut on all of them.
    if (axes.size() > 1) {
      SmallVector<Value> ranges = getRelativeRanges(op.getRanges(), at, axes);
      SmallVector<Value> begins, ends;
      for (size_t i = 0; i < ranges.size(); i += 2) {
        begins.push_back(ranges[i]);
        ends.push_back(ranges[i + 1]);
      }
      return MaskBoxOp::create(b, type, scores, begins, ends, axes,
                               op.getBox());
    }
    int64_t axis = axes.front();
    auto relative = [&](Value bound) -> Value {
      if (!bound)
        return {};
      return buildMap(
          b, {bound}, {cast<FragmentType>(bound.getType())}, {},
          [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
            return {arith::SubIOp::create(b, args[0], toI32(b, at[axis]))};
          })[0];
    };
    auto [begin, end, size] = bounds[axis];
    return MaskOp::create(b, type, scores, relative(begin), relative(end),
                          end ? IntegerAttr() : b.getI64IntegerAttr(size), axis,
                          op.getBox());
  };
  if (!op.getUnless()) {
    fragments[op.getResult()] = masked();
    return success();
  }
  auto branch = scf::IfOp::create(b, TypeRange(type), scalar(op.getUnless()),
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(b, scores);
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, masked());
  fragments[op.getResult()] = branch.getResult(0);
  return success();
}

/// `scores` plus the bias by one number an element, or null if the table is not
/// of such a kind. What is outside the table of the head is read somewhere in
/// the whole table, and masked later.
Value LayoutAssigner::buildFlatBias(mlir::na::TileBiasOp op, Value scores) {
  Value table = scalar(op.getTable());
  auto tableType = cast<MemRefType>(table.getType());
  if (!tableType.hasStaticShape() || !tableType.getLayout().isIdentity() ||
      !llvm::isInt<32>(tableType.getNumElements()))
    return {};
  ArrayRef<int64_t> shape = tableType.getShape();
  SmallVector<ReassociationIndices> all = {
      llvm::to_vector(llvm::seq<int64_t>(tableType.getRank()))};
  Value entries = memref::CollapseShapeOp::create(b, table, all);
  SmallVector<Value> queryAt = scalars(op.getQueryAt()),
                     keyAt = scalars(op.getKeyAt());
  Value head = scalar(op.getHead());
  int64_t rank = op.getWindow().getRank();
  SmallVector<int64_t> strides(rank, 1);
  for (int64_t axis = rank - 1; axis > 0; --axis)
    strides[axis - 1] = strides[axis] * shape[axis + 1];
  auto add = [](ImplicitLocOpBuilder &b, Value sum, Value number,
                int64_t factor) -> Value {
    Value product = arith::MulIOp::create(b, number, constant(b, factor));
    return arith::AddIOp::create(b, sum, product);
  };
  auto type = cast<FragmentType>(scores.getType());
  auto rowType = FragmentType::get(b.getContext(), {type.getRows()},
                                   b.getI32Type(), Role::Row, warps);
  bool keyMajor = op.getKeyMajor();
  // Where the row's columns are, in the table. All of it in the map: arithmetic
  // between maps would be words that a producer posts, of which there are few.
  Value rows = buildMap(
      b, {}, {rowType}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange) -> SmallVector<Value> {
        SmallVector<Value> digits =
            buildDigits(b, IndexOp::create(b, 0),
                        keyMajor ? op.getKeyBox() : op.getQueryBox());
        int64_t middle = 0;
        for (int64_t axis = 0; axis < rank; ++axis)
          middle += (op.getWindow().getSize()[axis] - 1) * strides[axis];
        Value place =
            add(b, constant(b, middle), toI32(b, head), strides[0] * shape[1]);
        for (int64_t axis = 0; axis < rank; ++axis) {
          Value query = toI32(b, queryAt[axis]), key = toI32(b, keyAt[axis]);
          Value &row = keyMajor ? key : query;
          row = arith::AddIOp::create(b, row, digits[axis]);
          Value offset = arith::SubIOp::create(b, key, query);
          place = add(b, place, offset, strides[axis]);
        }
        return {place};
      })[0];
  return buildMap(
      b, {scores, rows}, {type}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        SmallVector<Value> digits =
            buildDigits(b, IndexOp::create(b, 1),
                        keyMajor ? op.getQueryBox() : op.getKeyBox());
        Value column = constant(b, 0);
        for (int64_t axis = 0; axis < rank; ++axis)
          column = add(b, column, digits[axis],
                       keyMajor ? -strides[axis] : strides[axis]);
        Value place = arith::AddIOp::create(b, args[1], column);
        Value last = constant(b, tableType.getNumElements() - 1);
        place = arith::MinUIOp::create(b, place, last);
        Value bias = memref::LoadOp::create(b, entries, toIndex(b, place));
        bias = castFloat(b, bias, b.getF32Type());
        return {arith::AddFOp::create(b, args[0], bias)};
      })[0];
}

LogicalResult LayoutAssigner::convertBias(mlir::na::TileBiasOp op) {
  Value scores = fragment(op.getInit());
  if (!scores)
    return op.emitError("nagpu-assign-layouts: expected computed scores");
  // Beside products in flight few registers are left.
  if (warpgroups)
    if (Value biased = buildFlatBias(op, scores)) {
      fragments[op.getResult()] = biased;
      return success();
    }
  auto type = cast<FragmentType>(scores.getType());
  SmallVector<Value> queryAt = scalars(op.getQueryAt()),
                     keyAt = scalars(op.getKeyAt());
  Value table = scalar(op.getTable()), head = scalar(op.getHead());
  fragments[op.getResult()] = buildMap(
      b, {scores}, {type}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        bool keyMajor = op.getKeyMajor();
        SmallVector<Value> queries =
            buildDigits(b, IndexOp::create(b, keyMajor), op.getQueryBox());
        SmallVector<Value> keys =
            buildDigits(b, IndexOp::create(b, !keyMajor), op.getKeyBox());
        SmallVector<Value> indices = {head};
        for (int64_t axis = 0; axis < op.getWindow().getRank(); ++axis) {
          int64_t size = op.getWindow().getSize()[axis];
          Value origin = arith::SubIOp::create(b, toI32(b, keyAt[axis]),
                                               toI32(b, queryAt[axis]));
          origin = arith::AddIOp::create(b, origin, constant(b, size - 1));
          Value offset = arith::SubIOp::create(b, keys[axis], queries[axis]);
          Value entry = arith::AddIOp::create(b, origin, offset);
          // What is outside the table is read at its end, and masked later.
          Value last = constant(b, 2 * size - 2);
          indices.push_back(toIndex(b, arith::MinUIOp::create(b, entry, last)));
        }
        Value bias = castFloat(b, memref::LoadOp::create(b, table, indices),
                               b.getF32Type());
        return {arith::AddFOp::create(b, args[0], bias)};
      })[0];
  return success();
}

/// Where a pair of a query and a key lies in the weights of the query.
namespace {
struct Slot {
  Value exists;
  SmallVector<Value> indices;
};
} // namespace

/// `bounds` are the relative ranges of the row, axis by axis.
static Slot buildSlot(ImplicitLocOpBuilder &b, MemRefType weights, Value memref,
                      Value batch, Value head, ValueRange at,
                      mlir::na::WindowAttr window, ArrayRef<int64_t> queryBox,
                      ArrayRef<int64_t> keyBox, ValueRange bounds) {
  SmallVector<Value> rows = buildDigits(b, IndexOp::create(b, 0), queryBox);
  SmallVector<Value> columns = buildDigits(b, IndexOp::create(b, 1), keyBox);
  Slot slot;
  slot.indices.push_back(batch);
  Value number;
  for (int64_t axis = 0; axis < window.getRank(); ++axis) {
    Value step = constant(b, window.getDilation()[axis]);
    Value token = arith::AddIOp::create(
        b, toI32(b, at[axis]),
        arith::MulIOp::create(b, rows[axis], step).getResult());
    Value length =
        toI32(b, b.createOrFold<memref::DimOp>(memref, int64_t(axis + 1)));
    Value inside = arith::AndIOp::create(
        b,
        buildInside(b, columns[axis], bounds[2 * axis], bounds[2 * axis + 1]),
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, token, length));
    slot.exists =
        slot.exists ? arith::AndIOp::create(b, slot.exists, inside).getResult()
                    : inside;
    slot.indices.push_back(toIndex(b, token));
    Value offset = arith::SubIOp::create(b, columns[axis], bounds[2 * axis]);
    if (!number) {
      number = offset;
      continue;
    }
    Value size = constant(b, window.getSize()[axis]);
    number = arith::AddIOp::create(
        b, arith::MulIOp::create(b, number, size).getResult(), offset);
  }
  slot.indices.push_back(head);
  slot.indices.push_back(toIndex(b, number));
  return slot;
}

static SmallVector<int64_t> allAxes(mlir::na::WindowAttr window) {
  return llvm::to_vector(llvm::seq<int64_t>(window.getRank()));
}

/// Whether `nagpu.scatter` and `nagpu.gather` know the layout of the weights:
/// the slots contiguous, the keys not padded.
static bool hasSlots(MemRefType weights, int64_t columns,
                     ArrayRef<int64_t> keyBox) {
  SmallVector<int64_t> strides;
  int64_t offset, keys = 1;
  for (int64_t extent : keyBox)
    keys *= extent;
  return succeeded(weights.getStridesAndOffset(strides, offset)) &&
         strides.back() == 1 && columns == keys;
}

/// A tile between the slots of the rows and what the lanes hold of them.
Value LayoutAssigner::buildScratch(int64_t rows, ArrayRef<int64_t> keyBox,
                                   Type elementType) {
  int64_t keys = 1;
  for (int64_t extent : keyBox)
    keys *= extent;
  auto type = SharedType::get(
      b.getContext(), {rows, ScatterOp::getScratchColumns(keys, elementType)},
      elementType, Swizzle::Linear);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&launch.getBody().back());
  return AllocOp::create(b, type, IntegerAttr());
}

LogicalResult LayoutAssigner::convertScatter(mlir::na::TileScatterOp op) {
  Value scores = fragment(op.getTile());
  if (!scores || op.getKeyMajor() || !windowRanges.contains(op.getRanges()))
    return op.emitError("nagpu-assign-layouts: expected scores [queries, keys] "
                        "and ranges of na.tile.windows");
  SmallVector<Value> at = scalars(op.getAt());
  Value dest = scalar(op.getDest());
  Value batch = scalar(op.getBatch()), head = scalar(op.getHead());
  auto memref = cast<MemRefType>(dest.getType());
  if (auto type = cast<FragmentType>(scores.getType());
      memref.getElementType().isF32() &&
      hasSlots(memref, type.getColumns(), op.getKeyBox())) {
    // Lanes of the last row may read beyond it what they drop.
    Value scratch = buildScratch(type.getRows() + 1, op.getKeyBox(),
                                 memref.getElementType());
    ScatterOp::create(b, scores, scratch, dest, batch, head, at,
                      getRelativeRanges(op.getRanges(), scalars(op.getKeyAt()),
                                        allAxes(op.getWindow())),
                      op.getWindow().getSize(), op.getQueryBox(),
                      op.getKeyBox(), op.getWindow().getDilation());
    return success();
  }
  SmallVector<Value> inputs = {scores};
  llvm::append_range(inputs,
                     getRelativeRanges(op.getRanges(), scalars(op.getKeyAt()),
                                       allAxes(op.getWindow())));
  buildMap(b, inputs, {}, cast<FragmentType>(scores.getType()),
           [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
             Slot slot =
                 buildSlot(b, memref, dest, batch, head, at, op.getWindow(),
                           op.getQueryBox(), op.getKeyBox(), args.drop_front());
             auto branch = scf::IfOp::create(b, slot.exists, false);
             OpBuilder::InsertionGuard guard(b);
             b.setInsertionPointToStart(branch.thenBlock());
             memref::StoreOp::create(
                 b, castFloat(b, args[0], memref.getElementType()), dest,
                 slot.indices);
             return {};
           });
  return success();
}

LogicalResult LayoutAssigner::convertGather(mlir::na::TileGatherOp op) {
  auto tensor = dyn_cast<RankedTensorType>(op.getInit().getType());
  if (!tensor || op.getKeyMajor() || !windowRanges.contains(op.getRanges()))
    return op.emitError("nagpu-assign-layouts: expected weights [queries, "
                        "keys] and ranges of na.tile.windows");
  if (tensor.getDimSize(1) != padColumns(tensor.getDimSize(1)))
    return op.emitError("nagpu-assign-layouts: weights of ")
           << tensor.getDimSize(1) << " keys, expected a multiple of 16";
  FragmentType type = getFragmentType(op, tensor);
  if (!type)
    return failure();
  SmallVector<Value> at = scalars(op.getAt());
  Value source = scalar(op.getSource());
  Value batch = scalar(op.getBatch()), head = scalar(op.getHead());
  auto memref = cast<MemRefType>(source.getType());
  SmallVector<Value> inputs = getRelativeRanges(
      op.getRanges(), scalars(op.getKeyAt()), allAxes(op.getWindow()));
  auto isFactor = [&](Operation *user) {
    auto product = dyn_cast<linalg::ContractOp>(user);
    return product && product.getInputs()[0] == op.getResult();
  };
  // Of a product in which weights are transposed, the rows are those of all
  // warps.
  bool forCta = llvm::any_of(op->getUsers(), [&](Operation *user) {
    auto product = dyn_cast<linalg::ContractOp>(user);
    return product && isTransposedLhs(product);
  });
  Type element = tensor.getElementType();
  bool converts = element == memref.getElementType() ||
                  (memref.getElementType().isF32() &&
                   element.getIntOrFloatBitWidth() == 16);
  if (converts && llvm::all_of(op->getUsers(), isFactor) &&
      hasSlots(memref, tensor.getDimSize(1), op.getKeyBox())) {
    Value tile = buildScratch(tensor.getDimSize(0), op.getKeyBox(), element);
    tiles[op.getResult()] = GatherOp::create(
        b, tile.getType(), source, tile, batch, head, at, inputs,
        op.getWindow().getSize(), op.getQueryBox(), op.getKeyBox(),
        op.getWindow().getDilation(), warps, forCta);
    return success();
  }
  if (forCta)
    return op.emitError("nagpu-assign-layouts: weights of type ")
           << memref << " as " << element
           << " cannot be transposed, expected contiguous ones of the tile's "
              "type or f32";
  fragments[op.getResult()] = buildMap(
      b, inputs, {type}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        Slot slot =
            buildSlot(b, memref, source, batch, head, at, op.getWindow(),
                      op.getQueryBox(), op.getKeyBox(), args);
        auto branch = scf::IfOp::create(b, TypeRange(b.getF32Type()),
                                        slot.exists, true, true);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(branch.thenBlock());
        Value weight = castFloat(
            b, memref::LoadOp::create(b, source, slot.indices), b.getF32Type());
        scf::YieldOp::create(b, weight);
        b.setInsertionPointToEnd(branch.elseBlock());
        scf::YieldOp::create(
            b, arith::ConstantOp::create(b, b.getF32FloatAttr(0)).getResult());
        return {branch.getResult(0)};
      })[0];
  return success();
}
