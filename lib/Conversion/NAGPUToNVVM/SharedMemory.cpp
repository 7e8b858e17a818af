//===- SharedMemory.cpp - Shared tiles and copies to them -------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <numeric>

using namespace mlir;
using namespace mlir::nagpu;

namespace {

/// Shared tiles are addresses in the window of shared memory: 32-bit integers,
/// because the swizzle works on their bits.
struct ConvertAlloc : OpConversionPattern<AllocOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AllocOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(op, rewriter, 1);
    auto space = gpu::AddressSpaceAttr::get(b.getContext(),
                                            gpu::AddressSpace::Workgroup);
    auto type = MemRefType::get({ShapedType::kDynamic}, b.getI8Type(),
                                MemRefLayoutAttrInterface(), space);
    Value memory = gpu::DynamicSharedMemoryOp::create(b, type);
    Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, memory);
    rewriter.replaceOp(
        op, b.add(b.cast(address, b.getI32Type()), *op.getOffset()));
    return success();
  }
};

struct ConvertSlot : OpConversionPattern<SlotOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(SlotOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(op, rewriter, 1);
    Value index = b.cast(adaptor.getIndex(), b.getI32Type());
    int64_t bytes = cast<SharedType>(op.getRing().getType()).getSlotBytes();
    rewriter.replaceOp(op, b.add(adaptor.getRing(), b.mul(index, bytes)));
    return success();
  }
};

/// How the threads share the units (the bytes of one access) of a tile: each
/// takes `columns` units, `lanes` apart, of `passes` rows, `rows` apart.
struct CopyPlan {
  CopyPlan(AsyncCopyOp op, int64_t accessBytes) : accessBytes(accessBytes) {
    auto type = cast<SharedType>(op.getDest().getType());
    int64_t rowBytes =
        type.getColumns() * getElementBytes(type.getElementType());
    int64_t units = rowBytes / accessBytes;
    // A power of two, so that a thread's place is given by bits of its index;
    // neighbours take neighbouring units.
    lanes = std::min<int64_t>(warpSize, units & -units);
    columns = units / lanes;
    rows = op.getWarps() * warpSize / lanes;
    passes = llvm::divideCeil(type.getRows(), rows);
  }

  int64_t accessBytes;
  int64_t lanes, columns;
  int64_t rows, passes;
};

struct ConvertAsyncCopy : OpConversionPattern<AsyncCopyOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AsyncCopyOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (failed(checkTokenMemory(op, op.getSource(), op.getAt().size())))
      return failure();
    ThreadBuilder b(op, rewriter, op.getWarps());
    auto type = cast<SharedType>(op.getDest().getType());
    int64_t elementBytes = getElementBytes(type.getElementType());
    TokenMemory memory(b, adaptor.getSource().front(),
                       adaptor.getBatch().front(), adaptor.getHead().front(),
                       flatten(adaptor.getAt()), op.getBox(), op.getDilation());
    bool async = memory.getAccessBytes() >= 4;
    CopyPlan plan(op, async ? memory.getAccessBytes() : elementBytes);
    int64_t accessBytes = plan.accessBytes;

    Value unit = b.rem(b.thread(), plan.lanes);
    Value row = b.div(b.thread(), plan.lanes);
    // The thread's place in the tile.
    int64_t unitsPerChunk = chunkBytes / accessBytes;
    Value chunk = b.div(unit, unitsPerChunk);
    Value byte = b.mul(b.rem(unit, unitsPerChunk), accessBytes);
    Value tile = adaptor.getDest().front();
    // Rows of a pass and of the thread share bits if their number is odd, say.
    bool disjoint = plan.rows % 8 == 0 || llvm::isPowerOf2_64(plan.rows);
    SharedAddress address(b, type, tile, row, chunk, byte);

    for (int64_t pass = 0; pass < plan.passes; ++pass) {
      int64_t firstRow = pass * plan.rows;
      auto emit = [&](ThreadBuilder &b) {
        SharedAddress passAddress =
            disjoint
                ? address
                : SharedAddress(b, type, tile, b.add(row, firstRow), chunk, byte);
        SmallVector<Digit> digits =
            splitRow(b, row, plan.rows, firstRow, op.getBox());
        TokenMemory::Row source =
            memory.getRow(b, digits, b.mul(unit, accessBytes));
        for (int64_t column = 0; column < plan.columns; ++column) {
          int64_t firstByte = column * plan.lanes * accessBytes;
          SharedAddress::Place destination =
              passAddress.locate(disjoint ? firstRow : 0,
                                 firstByte / chunkBytes,
                                 firstByte % chunkBytes);
          int64_t channelBytes = memory.getChannels() * elementBytes;
          Value valid = source.valid;
          if (firstByte + plan.lanes * accessBytes > channelBytes)
            valid = b.andLess(
                valid, unit,
                b.constant(std::max<int64_t>(channelBytes - firstByte, 0) /
                           accessBytes));
          int64_t offset = source.offset + firstByte;
          if (async)
            copyAsync(b, accessBytes, destination, source.pointer, offset,
                      valid);
          else
            copyElement(b, type.getElementType(), destination,
                        b.move(source.pointer, offset), memory.getBase(),
                        valid);
        }
      };
      if (firstRow + plan.rows <= type.getRows()) {
        emit(b);
        continue;
      }
      Value inTile =
          b.andLess({}, row, b.constant(type.getRows() - firstRow));
      auto guard = scf::IfOp::create(b, inTile, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard insertion(b);
      b.setInsertionPointToStart(guard.thenBlock());
      // Values that `address` caches must dominate later passes; this is the
      // last one.
      emit(b);
    }
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{ValueRange()});
    return success();
  }

private:
  /// As assembly, because the intrinsics have no operand for a predicate: a
  /// size that depends on it would cost a selection and a comparison more.
  static void copyAsync(ThreadBuilder &b, int64_t bytes,
                        SharedAddress::Place destination, Value source,
                        int64_t offset, Value valid) {
    // Offsets of an address are 32-bit numbers.
    if (!llvm::isInt<31>(offset)) {
      source = b.move(source, offset);
      offset = 0;
    }
    std::string assembly;
    llvm::raw_string_ostream os(assembly);
    os << "cp.async." << (bytes == 16 ? "cg" : "ca")
       << ".shared.global.L2::128B [$0+" << destination.offset << "], [$1+"
       << offset << "], " << bytes;
    SmallVector<Value> operands{destination.address, source};
    StringRef constraints = "r,l";
    if (valid) {
      // What is not read is filled with zeros.
      os << ", $2";
      operands.push_back(
          arith::XOrIOp::create(b, valid, b.constant(1, b.getI1Type())));
      constraints = "r,l,b";
    }
    os << ";";
    LLVM::InlineAsmOp::create(
        b, TypeRange(), operands, assembly, constraints,
        /*has_side_effects=*/true, /*is_align_stack=*/false,
        LLVM::tailcallkind::TailCallKind::None,
        LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
        ArrayAttr());
  }

  static void copyElement(ThreadBuilder &b, Type type,
                          SharedAddress::Place destination, Value source,
                          Value safeSource, Value valid) {
    Value address = arith::SelectOp::create(b, valid, source, safeSource);
    Value value = b.load(type, address);
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
    b.store(arith::SelectOp::create(b, valid, value, zero),
            b.sharedPointer(destination.address, destination.offset));
  }
};

struct ConvertAsyncCommit : OpConversionPattern<AsyncCommitOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AsyncCommitOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVM::CpAsyncCommitGroupOp::create(rewriter, op.getLoc());
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{ValueRange()});
    return success();
  }
};

struct ConvertAsyncWait : OpConversionPattern<AsyncWaitOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AsyncWaitOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVM::CpAsyncWaitGroupOp::create(rewriter, op.getLoc(),
                                     uint32_t(op.getPending()));
    gpu::BarrierOp::create(rewriter, op.getLoc());
    SmallVector<ValueRange> tiles(adaptor.getTiles());
    rewriter.replaceOpWithMultiple(op, tiles);
    return success();
  }
};

struct ConvertBarrier : OpConversionPattern<BarrierOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(BarrierOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<gpu::BarrierOp>(op);
    return success();
  }
};

} // namespace

void nagpu::populateSharedMemoryPatterns(const TypeConverter &converter,
                                         RewritePatternSet &patterns) {
  patterns.add<ConvertAlloc, ConvertSlot, ConvertAsyncCopy, ConvertAsyncCommit,
               ConvertAsyncWait, ConvertBarrier>(converter,
                                                 patterns.getContext());
}
