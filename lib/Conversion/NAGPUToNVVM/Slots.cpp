//===- Slots.cpp - Scores to slots of windows, slots to weights -*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a fragment, neighbouring lanes hold different rows, whose slots are far
// from each other in memory: an access then touches eight lines, of each only
// a part of a sector. Here the lanes of a warp go along the slots of one row,
// between which and the fragment a tile in shared memory stands.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::nagpu;

namespace {

/// Walks through the slots that a key tile has of the rows of a warp.
template <typename OpTy, typename Adaptor>
class SlotWalk {
public:
  SlotWalk(ThreadBuilder &b, OpTy op, Adaptor adaptor, Value memory,
           MemRefType memoryType, Value tile, SharedType tileType,
           FragmentType rows)
      : b(b), op(op), rows(rows), pitch(tileType.getPitchBytes()),
        elementBytes(getElementBytes(tileType.getElementType())),
        memoryBytes(getElementBytes(memoryType.getElementType())),
        rowsPerWarp(rows.getRowsPerWarp()) {
    for (auto [size, extent] : llvm::zip_equal(op.getWindow(), op.getKeyBox()))
      box.push_back(std::min(size, extent));
    FragmentLayout layout(rows);
    warpTile = b.add(tile, b.mul(layout.getWarpRow(b), pitch));
    threadTile = b.add(tile, b.mul(layout.getThreadRow(b), pitch));
    infoBytes = getProduct(op.getKeyBox()) * elementBytes;
    buildLanes();
    tokens.emplace(b, memory, adaptor.getBatch().front(),
                   adaptor.getHead().front(), flatten(adaptor.getAt()),
                   op.getQueryBox(), op.getDilation());
    for (ValueRange range : adaptor.getRanges())
      ranges.push_back(range);
  }

  static int64_t getProduct(ArrayRef<int64_t> list) {
    int64_t product = 1;
    for (int64_t entry : list)
      product *= entry;
    return product;
  }

  void syncWarp() { NVVM::SyncWarpOp::create(b, b.constant(-1)); }

  /// Leaves behind the keys of each row what its lanes need: where its first
  /// slot of this tile lies in memory and in the tile, and how many slots there
  /// are per axis.
  void storeInfo();

  /// What `storeInfo` left of a row of the warp.
  struct Info {
    Value pointer;
    /// Where the row's first key is in shared memory.
    Value address;
    SmallVector<Value> counts;
  };
  Info loadInfo(int64_t row);

  /// Number of times that 32 lanes make all slots which a tile may have of a
  /// row.
  int64_t getGroups() const {
    return llvm::divideCeil(getProduct(box), warpSize);
  }
  /// Whether the row has the slot of this lane in a group (i1).
  Value exists(const Info &info, int64_t group) {
    Value all;
    for (auto [digit, count] :
         llvm::zip_equal(lanes[group].digits, info.counts)) {
      Value less =
          arith::CmpIOp::create(b, arith::CmpIPredicate::slt, digit, count);
      all = all ? arith::AndIOp::create(b, all, less).getResult() : less;
    }
    return all;
  }
  /// The address of it in the tile, of a row of which some key is in the tile.
  Value getAddress(const Info &info, int64_t group) {
    return b.add(info.address, lanes[group].column);
  }
  /// Its place in memory.
  Value getPointer(const Info &info, int64_t group) {
    return b.move(info.pointer, b.cast(lanes[group].slot, b.getI64Type()));
  }

  /// A pointer to `offset` bytes behind the first byte of the warp's rows.
  Value inWarp(int64_t offset) { return b.sharedPointer(warpTile, offset); }

private:
  void buildLanes();

  ThreadBuilder &b;
  OpTy op;
  FragmentType rows;

public:
  /// Bytes of an element in the tile and in memory.
  const int64_t pitch, elementBytes, memoryBytes, rowsPerWarp;
  /// Bytes of a row's keys; what follows is scratch.
  int64_t infoBytes;
  /// The first row of the warp, and of the thread.
  Value warpTile, threadTile;

private:
  /// Slots that a tile can have of a row, per axis.
  SmallVector<int64_t> box;
  /// What a lane has to do with the slots of a group: the slot's place in the
  /// box, and bytes from the row's first slot in the tile and in memory.
  struct Lane {
    SmallVector<Value> digits;
    Value column, slot;
  };
  SmallVector<Lane> lanes;
  std::optional<TokenMemory> tokens;
  SmallVector<ValueRange> ranges;
};

/// The sum of the products of two lists; the second list goes row-major.
Value buildOffset(ThreadBuilder &b, ArrayRef<Value> digits,
                  ArrayRef<int64_t> box, int64_t unit) {
  Value sum;
  for (int64_t axis = box.size() - 1; axis >= 0; --axis) {
    sum = b.add(sum, b.mul(digits[axis], unit));
    unit *= box[axis];
  }
  return sum;
}

template <typename OpTy, typename Adaptor>
void SlotWalk<OpTy, Adaptor>::buildLanes() {
  auto split = [&](Value number) {
    SmallVector<Value> digits;
    for (const Digit &digit : splitRow(b, number, box))
      digits.push_back(digit.value);
    return digits;
  };
  int64_t slots = getProduct(box);
  for (int64_t group = 0; group < getGroups(); ++group) {
    Lane lane;
    Value number = b.add(b.lane(), warpSize * group);
    // Lanes beyond the box have a first digit outside of it, and load what its
    // last lane does.
    lane.digits = split(number);
    SmallVector<Value> inside = lane.digits;
    if (warpSize * (group + 1) > slots)
      inside =
          split(b.createOrFold<arith::MinUIOp>(number, b.constant(slots - 1)));
    lane.column = buildOffset(b, inside, op.getKeyBox(), elementBytes);
    lane.slot = buildOffset(b, inside, op.getWindow(), memoryBytes);
    lanes.push_back(lane);
  }
}

template <typename OpTy, typename Adaptor>
void SlotWalk<OpTy, Adaptor>::storeInfo() {
  FragmentLayout layout(rows);
  Value zero = b.constant(0);
  Type i64 = b.getI64Type();
  for (int64_t index = 0; index < rowsPerWarp / 8; ++index) {
    TokenMemory::Row row = tokens->getRow(
        b,
        splitRow(b, b.add(layout.getThreadRow(b), 8 * index), op.getQueryBox()),
        Value());
    SmallVector<Value> columns, slots, counts;
    Value some = row.valid;
    for (auto [axis, extent] : llvm::enumerate(op.getKeyBox())) {
      Value begin = ranges[2 * axis][index], end = ranges[2 * axis + 1][index];
      Value first = b.createOrFold<arith::MaxSIOp>(begin, zero);
      Value last = b.createOrFold<arith::MinSIOp>(end, b.constant(extent));
      columns.push_back(first);
      slots.push_back(b.createOrFold<arith::SubIOp>(first, begin));
      counts.push_back(b.createOrFold<arith::SubIOp>(last, first));
      some = arith::AndIOp::create(
          b, some,
          arith::CmpIOp::create(b, arith::CmpIPredicate::slt, first, last));
    }
    // Lanes load from a tile before they know whether their slot exists.
    Value column = arith::SelectOp::create(
        b, some, buildOffset(b, columns, op.getKeyBox(), elementBytes), zero);
    counts[0] = arith::SelectOp::create(b, some, counts[0], zero);
    Value slot = arith::SelectOp::create(
        b, some, buildOffset(b, slots, op.getWindow(), memoryBytes), zero);
    Value pointer = b.move(b.move(row.pointer, row.offset), b.cast(slot, i64));
    int64_t offset = 8 * index * pitch + infoBytes;
    Value address = b.add(b.add(threadTile, column), 8 * index * pitch);
    // The four lanes of a row store the same.
    b.store(LLVM::PtrToIntOp::create(b, i64, pointer),
            b.sharedPointer(threadTile, offset));
    b.store(b.pack(address, counts[0]),
            b.sharedPointer(threadTile, offset + 8));
    for (size_t axis = 1; axis < counts.size(); ++axis)
      b.store(counts[axis],
              b.sharedPointer(threadTile, offset + 12 + 4 * axis));
  }
}

template <typename OpTy, typename Adaptor>
typename SlotWalk<OpTy, Adaptor>::Info
SlotWalk<OpTy, Adaptor>::loadInfo(int64_t row) {
  Info info;
  int64_t offset = row * pitch + infoBytes;
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  Value words = b.load(VectorType::get({2}, i64), inWarp(offset));
  auto pointerType = LLVM::LLVMPointerType::get(
      b.getContext(), unsigned(NVVM::NVVMMemorySpace::Global));
  info.pointer = LLVM::IntToPtrOp::create(b, pointerType, b.unpack(words, 0));
  Value rest = b.unpack(words, 1);
  info.address = arith::TruncIOp::create(b, i32, rest);
  info.counts.push_back(arith::TruncIOp::create(
      b, i32,
      arith::ShRUIOp::create(b, rest, b.constant(32, i64)).getResult()));
  if (box.size() == 2)
    info.counts.push_back(b.load(i32, inWarp(offset + 16)));
  if (box.size() == 3) {
    Value more = b.load(VectorType::get({2}, i32), inWarp(offset + 16));
    info.counts.push_back(b.unpack(more, 0));
    info.counts.push_back(b.unpack(more, 1));
  }
  return info;
}

struct ConvertScatter : OpConversionPattern<ScatterOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(ScatterOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (failed(checkTokenMemory(op, op.getDest(), op.getAt().size())))
      return failure();
    auto type = cast<FragmentType>(op.getSource().getType());
    ThreadBuilder b(op, rewriter, type.getWarps());
    SlotWalk walk(b, op, adaptor, adaptor.getDest().front(),
                  cast<MemRefType>(op.getDest().getType()),
                  adaptor.getScratch().front(), op.getScratch().getType(),
                  cast<FragmentType>(op.getRanges()[0].getType()));
    // The lanes have read what the last tile left.
    walk.syncWarp();
    walk.storeInfo();
    storeFragment(b, type, adaptor.getSource(), walk.threadTile, walk.pitch);
    walk.syncWarp();
    for (int64_t row = 0; row < walk.rowsPerWarp; ++row) {
      auto info = walk.loadInfo(row);
      for (int64_t group = 0; group < walk.getGroups(); ++group) {
        Value score = b.load(b.getF32Type(),
                             b.sharedPointer(walk.getAddress(info, group), 0));
        auto guard = scf::IfOp::create(b, walk.exists(info, group),
                                       /*withElseRegion=*/false);
        OpBuilder::InsertionGuard insertion(b);
        b.setInsertionPointToStart(guard.thenBlock());
        b.store(score, walk.getPointer(info, group));
      }
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  static void storeFragment(ThreadBuilder &b, FragmentType type,
                            ValueRange source, Value threadTile,
                            int64_t pitch) {
    int64_t columns = type.getColumns() / 8;
    Value base = b.add(threadTile, b.mul(b.threadInGroup(), 8));
    for (int64_t row = 0; row < type.getRowsPerWarp() / 8; ++row)
      for (int64_t j = 0; j < columns; ++j) {
        int64_t index = ((row / 2 * columns + j) * 2 + row % 2) * 2;
        b.store(b.pack(source[index], source[index + 1]),
                b.sharedPointer(base, 8 * row * pitch + 32 * j));
      }
  }
};

struct ConvertGather : OpConversionPattern<GatherOp> {
  using OpConversionPattern::OpConversionPattern;

  /// Loads of a lane that are in flight together.
  static constexpr int64_t maxLoads = 16;

  LogicalResult
  matchAndRewrite(GatherOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (failed(checkTokenMemory(op, op.getSource(), op.getAt().size())))
      return failure();
    SharedType type = op.getDest().getType();
    ThreadBuilder b(op, rewriter, op.getWarps());
    Value tile = adaptor.getDest().front();
    SlotWalk walk(b, op, adaptor, adaptor.getSource().front(),
                  cast<MemRefType>(op.getSource().getType()), tile, type,
                  cast<FragmentType>(op.getRanges()[0].getType()));
    auto syncReaders = [&] {
      if (op.getForCta())
        gpu::BarrierOp::create(b);
      else
        walk.syncWarp();
    };
    // All have read what the last tile left.
    syncReaders();
    clear(b, walk.warpTile, walk.rowsPerWarp * walk.pitch);
    walk.syncWarp();
    walk.storeInfo();
    walk.syncWarp();
    int64_t groups = walk.getGroups();
    int64_t rows = std::clamp<int64_t>(maxLoads / groups, 1, 8);
    // Where lanes put what their row does not have: in the third chunk behind
    // the keys of the warp's first row.
    Value nowhere = b.add(walk.warpTile, walk.infoBytes + 2 * chunkBytes);
    bool narrow = walk.memoryBytes == 2;
    Type element = narrow ? Type(b.getI16Type()) : Type(b.getF32Type());
    bool rounds = walk.elementBytes < walk.memoryBytes;
    for (int64_t first = 0; first < walk.rowsPerWarp; first += rows) {
      SmallVector<std::pair<Value, Value>> weights;
      for (int64_t row = first; row < std::min(first + rows, walk.rowsPerWarp);
           ++row) {
        auto info = walk.loadInfo(row);
        for (int64_t group = 0; group < groups; ++group) {
          Value exists = walk.exists(info, group);
          Value address = arith::SelectOp::create(
              b, exists, walk.getAddress(info, group), nowhere);
          auto guard = scf::IfOp::create(b, TypeRange(element), exists,
                                         /*addThenBlock=*/true,
                                         /*addElseBlock=*/true);
          OpBuilder::InsertionGuard insertion(b);
          b.setInsertionPointToEnd(guard.elseBlock());
          Value none = narrow
                           ? b.constant(0, element)
                           : arith::ConstantOp::create(b, b.getF32FloatAttr(0));
          scf::YieldOp::create(b, none);
          b.setInsertionPointToEnd(guard.thenBlock());
          scf::YieldOp::create(b,
                               b.load(element, walk.getPointer(info, group)));
          weights.push_back({guard.getResult(0), address});
        }
      }
      for (auto [weight, address] : weights)
        b.store(rounds
                    ? arith::TruncFOp::create(b, type.getElementType(), weight)
                          .getResult()
                    : weight,
                b.sharedPointer(address, 0));
    }
    syncReaders();
    rewriter.replaceOp(op, tile);
    return success();
  }

private:
  /// Stores zeros to the rows of a warp.
  static void clear(ThreadBuilder &b, Value address, int64_t bytes) {
    Type i32 = b.getI32Type();
    Value zeros =
        LLVM::PoisonOp::create(b, VectorType::get({4}, i32)).getResult();
    for (int64_t i = 0; i < 4; ++i)
      zeros =
          LLVM::InsertElementOp::create(b, zeros, b.constant(0), b.constant(i));
    Value base = b.add(address, b.mul(b.lane(), chunkBytes));
    for (int64_t offset = 0; offset < bytes; offset += warpSize * chunkBytes) {
      OpBuilder::InsertionGuard insertion(b);
      if (int64_t chunks = (bytes - offset) / chunkBytes; chunks < warpSize) {
        Value exists = b.andLess({}, b.lane(), b.constant(chunks));
        auto guard = scf::IfOp::create(b, exists, /*withElseRegion=*/false);
        b.setInsertionPointToStart(guard.thenBlock());
      }
      b.store(zeros, b.sharedPointer(base, offset));
    }
  }
};

} // namespace

void nagpu::populateSlotPatterns(const TypeConverter &converter,
                                 RewritePatternSet &patterns) {
  patterns.add<ConvertScatter, ConvertGather>(converter, patterns.getContext());
}
