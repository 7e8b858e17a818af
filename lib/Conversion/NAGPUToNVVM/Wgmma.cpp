//===- Wgmma.cpp - Products of a warpgroup ----------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::nagpu;

namespace {

/// What `wgmma` is told about a tile in shared memory, in units of 16 bytes
/// (PTX ISA, matrix descriptor): address in bits 0 to 13, leading offset from
/// bit 16, stride offset from bit 32, swizzle from bit 62.
class MatrixDescriptor {
public:
  /// `depthInRows`: the contraction runs along the rows of the tile (their
  /// elements are contiguous in the other dimension).
  MatrixDescriptor(ThreadBuilder &b, SharedType type, Value tile,
                   bool depthInRows)
      : type(type), depthInRows(depthInRows) {
    // Along rows, the leading offset leads to the next panel; across them the
    // hardware does not use it.
    int64_t leading = depthInRows ? type.getPanelBytes() : chunkBytes;
    int64_t swizzle = type.getSwizzle() == Swizzle::Tma128  ? 1
                      : type.getSwizzle() == Swizzle::Tma64 ? 2
                                                            : 3;
    uint64_t constant = uint64_t(leading / chunkBytes) << 16 |
                        uint64_t(8 * type.getPitchBytes() / chunkBytes) << 32 |
                        uint64_t(swizzle) << 62;
    Value address = b.div(b.bitAnd(tile, 0x3ffff), chunkBytes);
    address = b.createOrFold<arith::ExtUIOp>(b.getI64Type(), address);
    base = b.createOrFold<arith::OrIOp>(
        address, b.constant(int64_t(constant), b.getI64Type()));
  }

  Value getBase() const { return base; }

  /// What the descriptor of step `k` is beyond the first one.
  int64_t getOffset(int64_t k) const {
    if (depthInRows)
      return k * WgmmaOp::stepDepth * type.getPitchBytes() / chunkBytes;
    int64_t column = k * WgmmaOp::stepDepth;
    int64_t columns = type.getPanelColumns();
    int64_t bytes = column / columns * type.getPanelBytes() +
                    column % columns * getElementBytes(type.getElementType());
    return bytes / chunkBytes;
  }

private:
  SharedType type;
  bool depthInRows;
  Value base;
};

/// Registers as assembly takes them: pairs of 16-bit elements are i32.
SmallVector<Value> toAssembly(ThreadBuilder &b, ValueRange registers) {
  return llvm::map_to_vector(registers, [&](Value value) -> Value {
    if (isa<VectorType>(value.getType()))
      return LLVM::BitcastOp::create(b, b.getI32Type(), value);
    return value;
  });
}

struct ConvertWgmma : OpConversionPattern<WgmmaOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(WgmmaOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto result = cast<FragmentType>(op.getResult().getType());
    auto rhsType = cast<SharedType>(op.getRhs().getType());
    ThreadBuilder b(op, rewriter, 4);
    bool transposed = op.getTransposed();
    int64_t depth = transposed ? rhsType.getColumns() : rhsType.getRows();
    int64_t steps = depth / WgmmaOp::stepDepth;
    int64_t outputs = result.getNumRegisters();
    auto lhsType = dyn_cast<SharedType>(op.getLhs().getType());

    MatrixDescriptor rhs(b, rhsType, adaptor.getRhs().front(), !transposed);
    std::optional<MatrixDescriptor> lhs;
    SmallVector<Value> inputs;
    if (lhsType)
      lhs.emplace(b, lhsType, adaptor.getLhs().front(),
                  /*depthInRows=*/op.getLhsTransposed());
    else
      inputs = toAssembly(b, adaptor.getLhs());

    // All steps are one piece of assembly, so that nothing comes between them.
    // The descriptors of its steps are too: computed outside, those of tiles
    // that a loop does not change would be kept in registers for all of it.
    std::string sums, text;
    llvm::raw_string_ostream os(text);
    for (int64_t i = 0; i < outputs; ++i)
      sums += (i ? ",$" : "$") + std::to_string(i);
    int64_t descriptors = outputs + int64_t(inputs.size());
    os << "{\n.reg .pred first, next;\n.reg .b64 a, b;\nsetp.ne.b32 first, "
       << (op.getAcc() ? 1 : 0) << ", 0;\nsetp.ne.b32 next, 1, 0;\n";
    auto addDescriptor = [&](StringRef name, const MatrixDescriptor &descriptor,
                             int64_t operand, int64_t k) {
      os << "add.s64 " << name << ", $" << operand << ", "
         << descriptor.getOffset(k) << ";\n";
    };
    StringRef element = rhsType.getElementType().isBF16() ? "bf16" : "f16";
    for (int64_t k = 0; k < steps; ++k) {
      if (lhs)
        addDescriptor("a", *lhs, descriptors, k);
      addDescriptor("b", rhs, descriptors + (lhs ? 1 : 0), k);
      os << "wgmma.mma_async.sync.aligned.m64n" << result.getColumns()
         << "k16.f32." << element << "." << element << " {" << sums << "}, ";
      if (lhs) {
        os << "a";
      } else {
        int64_t first = outputs + 4 * k;
        os << "{$" << first << ",$" << first + 1 << ",$" << first + 2 << ",$"
           << first + 3 << "}";
      }
      os << ", b, " << (k == 0 ? "first" : "next") << ", 1, 1"
         << (!lhs                    ? ""
             : op.getLhsTransposed() ? ", 1"
                                     : ", 0")
         << ", " << (transposed ? 0 : 1) << ";\n";
    }
    os << "}";
    if (lhs)
      inputs.push_back(lhs->getBase());
    inputs.push_back(rhs.getBase());
    SmallVector<Type> types(outputs, b.getF32Type());
    SmallVector<Value> results =
        b.assembly(text, inputs, types, adaptor.getAcc());
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }
};

/// Assembly that the registers of `values` go through.
SmallVector<SmallVector<Value>> threadThrough(ThreadBuilder &b, StringRef text,
                                              ArrayRef<ValueRange> values) {
  SmallVector<Value> flat;
  for (ValueRange range : values)
    llvm::append_range(flat, toAssembly(b, range));
  SmallVector<Type> types(ValueRange(flat).getTypes());
  SmallVector<Value> through = b.assembly(text, {}, types, flat);
  SmallVector<SmallVector<Value>> results;
  ArrayRef<Value> rest(through);
  for (ValueRange range : values) {
    SmallVector<Value> &result = results.emplace_back();
    for (auto [before, after] :
         llvm::zip_equal(range, rest.take_front(range.size())))
      result.push_back(
          before.getType() == after.getType()
              ? after
              : Value(LLVM::BitcastOp::create(b, before.getType(), after)));
    rest = rest.drop_front(range.size());
  }
  return results;
}

struct ConvertWgmmaFence : OpConversionPattern<WgmmaFenceOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(WgmmaFenceOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(op, rewriter, 4);
    rewriter.replaceOpWithMultiple(
        op, threadThrough(b, "wgmma.fence.sync.aligned;", adaptor.getValues()));
    return success();
  }
};

struct ConvertWgmmaCommit : OpConversionPattern<WgmmaCommitOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(WgmmaCommitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(op, rewriter, 4);
    b.assembly("wgmma.commit_group.sync.aligned;", {});
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertWgmmaWait : OpConversionPattern<WgmmaWaitOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(WgmmaWaitOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(op, rewriter, 4);
    std::string text = "wgmma.wait_group.sync.aligned " +
                       std::to_string(int64_t(op.getPending())) + ";";
    rewriter.replaceOpWithMultiple(op,
                                   threadThrough(b, text, adaptor.getValues()));
    return success();
  }
};

} // namespace

void nagpu::populateWgmmaPatterns(const TypeConverter &converter,
                                  RewritePatternSet &patterns) {
  patterns.add<ConvertWgmma, ConvertWgmmaFence, ConvertWgmmaCommit,
               ConvertWgmmaWait>(converter, patterns.getContext());
}
