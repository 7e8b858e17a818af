//===- Store.cpp - Stores of fragments to global memory ---------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::nagpu;

namespace {

struct ConvertStore : OpConversionPattern<StoreOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(StoreOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (failed(checkTokenMemory(op, op.getDest(), op.getAt().size())))
      return failure();
    auto type = cast<FragmentType>(op.getSource().getType());
    ThreadBuilder b(op, rewriter, type.getWarps());
    TokenMemory memory(b, adaptor.getDest().front(), adaptor.getBatch().front(),
                       adaptor.getHead().front(), flatten(adaptor.getAt()),
                       op.getBox(), op.getDilation());
    Type elementType =
        cast<MemRefType>(op.getDest().getType()).getElementType();
    FragmentLayout layout(type);
    Value threadRow = layout.getThreadRow(b);
    // Of the four lanes that hold the same row, one stores it.
    Value first;
    if (type.isRowLike())
      first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                    b.threadInGroup(), b.constant(0));
    bool wide = !type.isRowLike() && getElementBytes(elementType) == 2 &&
                memory.getAccessBytes() == chunkBytes;
    for (int64_t row = 0; row < type.getRowsPerWarp() / 8; ++row) {
      SmallVector<Digit> digits =
          splitRow(b, b.add(threadRow, 8 * row), op.getBox());
      TokenMemory::Row target = memory.getRow(b, digits, Value());
      Value valid = b.both(first, target.valid);
      if (type.isRowLike())
        b.storeIf(valid, round(b, adaptor.getSource()[row], elementType),
                  target.pointer, target.offset);
      else if (wide)
        storeChunks(b,
                    gatherChunks(b, type, row, adaptor.getSource(),
                                 memory.getChannels(), elementType),
                    memory, target, valid);
      else
        storeColumns(b, type, row, adaptor.getSource(), memory, target, valid,
                     elementType);
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  static Value round(ThreadBuilder &b, Value value, Type type) {
    if (value.getType() == type)
      return value;
    return arith::TruncFOp::create(b, type, value);
  }

  /// The two values of the thread in block `j` of 8 columns, rounded.
  static Value getPair(ThreadBuilder &b, FragmentType type, int64_t row,
                       int64_t j, ValueRange source, Type elementType) {
    int64_t columns = type.getColumns() / 8;
    int64_t index = ((row / 2 * columns + j) * 2 + row % 2) * 2;
    return round(b, b.pack(source[index], source[index + 1]),
                 VectorType::get({2}, elementType));
  }

  /// Exchanges the row's values among its four lanes so that lane `t` holds
  /// all 8 columns of block `j + t`, for every fourth block `j` (a
  /// transposition of four registers of four lanes). Blocks beyond the channels
  /// repeat the last one.
  static SmallVector<Value> gatherChunks(ThreadBuilder &b, FragmentType type,
                                         int64_t row, ValueRange source,
                                         int64_t channels, Type elementType) {
    int64_t blocks = channels / 8;
    Value t = b.threadInGroup();
    SmallVector<Value> chunks;
    for (int64_t j = 0; j < blocks; j += 4) {
      SmallVector<Value, 4> parts;
      for (int64_t i = 0; i < 4; ++i) {
        Value pair = getPair(b, type, row, std::min(j + i, blocks - 1), source,
                             elementType);
        parts.push_back(LLVM::BitcastOp::create(b, b.getI32Type(), pair));
      }
      for (int64_t mask : {2, 1}) {
        Value upper = arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                            b.bitAnd(t, mask), b.constant(0));
        for (int64_t i = 0; i < 4; ++i) {
          if (i & mask)
            continue;
          Value &low = parts[i], &high = parts[i | mask];
          Value given = arith::SelectOp::create(b, upper, low, high);
          Value taken = b.shuffleXor(given, mask);
          low = arith::SelectOp::create(b, upper, taken, low);
          high = arith::SelectOp::create(b, upper, high, taken);
        }
      }
      Value chunk =
          LLVM::PoisonOp::create(b, VectorType::get({4}, b.getI32Type()));
      for (int64_t i = 0; i < 4; ++i)
        chunk =
            LLVM::InsertElementOp::create(b, chunk, parts[i], b.constant(i));
      chunks.push_back(chunk);
    }
    return chunks;
  }

  static void storeChunks(ThreadBuilder &b, ArrayRef<Value> chunks,
                          const TokenMemory &memory, TokenMemory::Row target,
                          Value valid) {
    int64_t blocks = memory.getChannels() / 8;
    Value t = b.threadInGroup();
    Value pointer = b.move(target.pointer, b.mul(t, chunkBytes));
    for (auto [i, chunk] : llvm::enumerate(chunks)) {
      int64_t j = 4 * i;
      Value exists = valid;
      if (j + 4 > blocks)
        exists = b.andLess(valid, t, b.constant(blocks - j));
      b.storeIf(exists, chunk, pointer, target.offset + j * chunkBytes);
    }
  }

  static void storeColumns(ThreadBuilder &b, FragmentType type, int64_t row,
                           ValueRange source, const TokenMemory &memory,
                           TokenMemory::Row target, Value valid,
                           Type elementType) {
    int64_t columns = type.getColumns() / 8;
    int64_t elementBytes = getElementBytes(elementType);
    int64_t channels = memory.getChannels();
    bool pairs = memory.getAccessBytes() >= 2 * elementBytes;
    Value column = b.mul(b.threadInGroup(), 2);
    Value pointer = b.move(target.pointer, b.mul(column, elementBytes));
    for (int64_t j = 0; j < columns && 8 * j < channels; ++j) {
      int64_t index = ((row / 2 * columns + j) * 2 + row % 2) * 2;
      // Stores if `element` of the pair exists.
      auto store = [&](int64_t element, Value value) {
        Value exists = valid;
        if (8 * j + 8 > channels)
          exists = b.andLess(
              valid, column,
              b.constant(std::max<int64_t>(channels - 8 * j - element, 0)));
        b.storeIf(exists, value, pointer,
                  target.offset + (8 * j + element) * elementBytes);
      };
      if (pairs) {
        store(0, getPair(b, type, row, j, source, elementType));
        continue;
      }
      for (int64_t element = 0; element < 2; ++element)
        store(element, round(b, source[index + element], elementType));
    }
  }
};

struct ConvertStoreTransposed : OpConversionPattern<StoreTransposedOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(StoreTransposedOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(op, rewriter, 4);
    Value tile = adaptor.getDest().front();
    if (op.getSource().getType().getElementType().isF32())
      storeElements(b, op.getDest().getType(), tile, adaptor.getSource());
    else
      storeMatrices(b, tile, adaptor.getSource());
    rewriter.eraseOp(op);
    return success();
  }

private:
  static constexpr int64_t pitch = 128;

  /// Four matrices of 8 by 8 at a time: those of 16 columns of the fragment, of
  /// the warp's 16 rows. Lane `8 m + i` has the address of column `i` of matrix
  /// `m`.
  static void storeMatrices(ThreadBuilder &b, Value tile, ValueRange source) {
    Value lane = b.lane();
    Value matrix = b.div(lane, 8), column = b.bitAnd(lane, 7);
    Value row = b.add(b.mul(b.div(matrix, 2), 8), column);
    Value chunk = b.add(b.mul(b.warp(), 2), b.bitAnd(matrix, 1));
    Value address =
        b.add(tile, b.add(b.mul(row, pitch),
                          b.mul(b.bitXor(chunk, column), chunkBytes)));
    for (int64_t k = 0; k < int64_t(source.size()) / 4; ++k) {
      SmallVector<Value> inputs{address};
      for (Value pair : source.slice(4 * k, 4))
        inputs.push_back(LLVM::BitcastOp::create(b, b.getI32Type(), pair));
      b.assembly("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [$0+" +
                     std::to_string(16 * pitch * k) + "], {$1, $2, $3, $4};",
                 inputs);
    }
  }

  /// The lanes of a group hold neighbouring columns of the tile, so that the 32
  /// elements of a store lie in 32 banks.
  static void storeElements(ThreadBuilder &b, SharedType type, Value tile,
                            ValueRange source) {
    Value warp = b.warp(), group = b.group();
    Value panel = b.mul(b.div(warp, 2), type.getPanelBytes());
    Value byte = b.mul(b.bitAnd(group, 3), 4);
    Value row = b.mul(b.threadInGroup(), 2);
    Value chunk =
        b.bitXor(b.add(b.mul(b.bitAnd(warp, 1), 4), b.div(group, 4)), row);
    Value base = b.add(b.add(tile, b.add(panel, byte)),
                       b.add(b.mul(row, pitch), b.mul(chunk, chunkBytes)));
    // One address stays in a register over a loop; as assembly, because LLVM
    // would keep those of all elements.
    base = b.assembly("mov.b32 $0, $1;", base, b.getI32Type()).front();
    for (int64_t e = 0; e < 4; ++e) {
      Value address = b.bitXor(base, (2 * (e / 2) + e % 2) * chunkBytes);
      Value pointer = b.sharedPointer(address, (e % 2) * pitch);
      for (int64_t j = 0; j < int64_t(source.size()) / 4; ++j)
        b.store(source[4 * j + e], b.move(pointer, 8 * pitch * j));
    }
  }
};

} // namespace

void nagpu::populateStorePatterns(const TypeConverter &converter,
                                  RewritePatternSet &patterns) {
  patterns.add<ConvertStore, ConvertStoreTransposed>(converter,
                                                     patterns.getContext());
}
