//===- SharedMemory.cpp - Shared tiles and copies to them -------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <map>

using namespace mlir;
using namespace mlir::nagpu;

namespace {

/// A slot of a ring, or a panel or rows of a tile: parts of the same size lie
/// one behind the other.
template <typename PartOp>
struct ConvertPart : OpConversionPattern<PartOp> {
  using OpConversionPattern<PartOp>::OpConversionPattern;

  LogicalResult
  matchAndRewrite(PartOp op, typename PartOp::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(op, rewriter, 1);
    Value index = b.cast(adaptor.getIndex(), b.getI32Type());
    int64_t bytes = op.getResult().getType().getSlotBytes();
    Value whole = adaptor.getOperands().front();
    rewriter.replaceOp(op, b.add(whole, b.mul(index, bytes)));
    return success();
  }
};

/// How the threads share the units (the bytes of one access) of a tile. `lanes`
/// threads lie along a row; each takes `columns` units, `lanes` apart. The
/// threads of different rows form a box, which steps through the box of tokens:
/// so the coordinates of a thread in the steps differ by constants only.
struct CopyPlan {
  CopyPlan(AsyncCopyOp op, int64_t accessBytes) {
    auto type = cast<SharedType>(op.getDest().getType());
    int64_t channels = op.isVector() ? 1 : type.getColumns();
    int64_t units =
        channels * getElementBytes(type.getElementType()) / accessBytes;
    // A power of two, so that a thread's place is given by bits of its index;
    // neighbours take neighbouring units.
    lanes = std::min<int64_t>(warpSize, units & -units);
    columns = units / lanes;
    SmallVector<int64_t> extents(op.getBox().size());
    search(op.getBox(), extents, op.getBox().size() - 1,
           op.getWarps() * warpSize / lanes);
  }

  int64_t getSteps(ArrayRef<int64_t> box, int64_t axis) const {
    return llvm::divideCeil(box[axis], threads[axis]);
  }

  int64_t lanes, columns;
  /// Extents of the box of threads.
  SmallVector<int64_t> threads;

private:
  /// Tries all boxes of `rows` threads in the axes up to `axis`, the longest
  /// along the inner axes first, and keeps one that needs the fewest steps.
  void search(ArrayRef<int64_t> box, SmallVector<int64_t> &extents,
              int64_t axis, int64_t rows) {
    if (axis == 0) {
      extents[0] = rows;
      int64_t steps = 1;
      for (auto [size, extent] : llvm::zip_equal(box, extents))
        steps *= llvm::divideCeil(size, extent);
      if (threads.empty() || steps < best) {
        threads = extents;
        best = steps;
      }
      return;
    }
    for (int64_t extent = rows; extent >= 1; --extent) {
      if (rows % extent != 0)
        continue;
      extents[axis] = extent;
      search(box, extents, axis - 1, rows / extent);
    }
  }

  int64_t best = 0;
};

struct ConvertAsyncCopy : OpConversionPattern<AsyncCopyOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AsyncCopyOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ArrayRef<int64_t> box = op.getBox();
    int64_t axes = box.size();
    if (failed(checkTokenMemory(op, op.getSource(), axes)))
      return failure();
    ThreadBuilder b(op, rewriter, op.getWarps());
    auto type = cast<SharedType>(op.getDest().getType());
    if (type.isTma())
      return op.emitOpError()
             << "copies to " << type
             << ", in panels of the TMA; nagpu-specialize-warps gives such a "
                "copy to a producer as a nagpu.tma_load";
    int64_t elementBytes = getElementBytes(type.getElementType());
    TokenMemory memory(b, adaptor.getSource().front(),
                       adaptor.getBatch().front(), adaptor.getHead().front(),
                       flatten(adaptor.getAt()), box, op.getDilation());
    bool async = memory.getAccessBytes() >= 4;
    int64_t accessBytes =
        async && !op.isVector() ? memory.getAccessBytes() : elementBytes;
    int64_t channelBytes = memory.getChannels() * elementBytes;
    CopyPlan plan(op, accessBytes);

    // The thread's place in the tile, in the first step.
    Value unit = b.rem(b.thread(), plan.lanes);
    int64_t unitsPerChunk = chunkBytes / accessBytes;
    Value chunk = b.div(unit, unitsPerChunk);
    Value byte = b.mul(b.rem(unit, unitsPerChunk), accessBytes);
    SmallVector<Value> place(axes);
    SmallVector<int64_t> strides(axes, 1);
    Value rest = b.div(b.thread(), plan.lanes), row;
    for (int64_t axis = axes - 1; axis >= 0; --axis) {
      place[axis] = axis == 0 ? rest : b.rem(rest, plan.threads[axis]);
      rest = b.div(rest, plan.threads[axis]);
      if (axis + 1 < axes)
        strides[axis] = strides[axis + 1] * box[axis + 1];
      row = b.add(row, b.mul(place[axis], strides[axis]));
    }
    // Constant rows that are multiples of 4 only flip a bit of the swizzle.
    std::map<int64_t, SharedAddress> addresses;
    auto getAddress = [&](int64_t remainder) -> SharedAddress & {
      return addresses
          .try_emplace(remainder, b, type, adaptor.getDest().front(),
                       b.add(row, remainder), chunk, byte)
          .first->second;
    };

    SmallVector<int64_t> step(axes, 0);
    do {
      int64_t firstRow = 0;
      SmallVector<Digit> digits;
      Value inTile;
      for (int64_t axis = 0; axis < axes; ++axis) {
        int64_t first = step[axis] * plan.threads[axis];
        firstRow += first * strides[axis];
        digits.push_back({place[axis], first});
        if (first + plan.threads[axis] > box[axis])
          inTile =
              b.andLess(inTile, place[axis], b.constant(box[axis] - first));
      }
      TokenMemory::Row source =
          memory.getRow(b, digits, b.mul(unit, accessBytes));
      SmallVector<SharedAddress::Place> destinations;
      // Tokens lie side by side, without a swizzle.
      if (op.isVector())
        destinations.push_back(
            {b.add(adaptor.getDest().front(), b.mul(row, elementBytes)),
             firstRow * elementBytes});
      for (int64_t column = 0; column < plan.columns && !op.isVector();
           ++column) {
        SharedAddress &address = getAddress(firstRow % 4);
        int64_t firstByte = column * plan.lanes * accessBytes;
        destinations.push_back(address.locate(
            firstRow / 4 * 4, firstByte / chunkBytes, firstByte % chunkBytes));
      }
      OpBuilder::InsertionGuard insertion(b);
      if (inTile && !async) {
        auto guard = scf::IfOp::create(b, inTile, /*withElseRegion=*/false);
        b.setInsertionPointToStart(guard.thenBlock());
      }
      for (auto [column, destination] : llvm::enumerate(destinations)) {
        int64_t firstByte = column * plan.lanes * accessBytes;
        Value valid = source.valid;
        if (firstByte + plan.lanes * accessBytes > channelBytes)
          valid = b.andLess(
              valid, unit,
              b.constant(std::max<int64_t>(channelBytes - firstByte, 0) /
                         accessBytes));
        int64_t offset = source.offset + firstByte;
        if (async)
          copyAsync(b, accessBytes, destination, source.pointer, offset, valid,
                    inTile);
        else
          copyElement(b, type.getElementType(), destination,
                      b.move(source.pointer, offset), memory.getBase(), valid);
      }
    } while (advance(plan, box, step));
    rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{ValueRange()});
    return success();
  }

private:
  /// Goes to the next step, row-major; false after the last one.
  static bool advance(const CopyPlan &plan, ArrayRef<int64_t> box,
                      SmallVector<int64_t> &step) {
    for (int64_t axis = box.size() - 1; axis >= 0; --axis) {
      if (++step[axis] < plan.getSteps(box, axis))
        return true;
      step[axis] = 0;
    }
    return false;
  }

  /// As assembly, because the intrinsics have no operand for a predicate: a
  /// size that depends on it would cost a selection and a comparison more.
  static void copyAsync(ThreadBuilder &b, int64_t bytes,
                        SharedAddress::Place destination, Value source,
                        int64_t offset, Value valid, Value inTile) {
    // Offsets of an address are 32-bit numbers.
    if (!llvm::isInt<31>(offset)) {
      source = b.move(source, offset);
      offset = 0;
    }
    std::string assembly;
    llvm::raw_string_ostream os(assembly);
    SmallVector<Value> operands{destination.address, source};
    std::string constraints = "r,l";
    if (inTile) {
      os << "@$2 ";
      operands.push_back(inTile);
      constraints += ",b";
    }
    os << "cp.async." << (bytes == 16 ? "cg" : "ca")
       << ".shared.global.L2::128B [$0+" << destination.offset << "], [$1+"
       << offset << "], " << bytes;
    if (valid) {
      // What is not read is filled with zeros.
      os << ", $" << operands.size();
      operands.push_back(
          arith::XOrIOp::create(b, valid, b.constant(1, b.getI1Type())));
      constraints += ",b";
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
  patterns.add<ConvertPlaced<AllocOp>, ConvertPart<SlotOp>,
               ConvertPart<PanelOp>, ConvertPart<RowsOp>, ConvertAsyncCopy,
               ConvertAsyncCommit, ConvertAsyncWait, ConvertBarrier>(
      converter, patterns.getContext());
}
