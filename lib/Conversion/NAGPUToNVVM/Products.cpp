//===- Products.cpp - Matrix products and their operands --------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::nagpu;

namespace {

//===----------------------------------------------------------------------===//
// ldmatrix
//===----------------------------------------------------------------------===//

/// Loads one, two or four 8x8 matrices of 16-bit elements.
SmallVector<Value> loadMatrices(ThreadBuilder &b, Value pointer, int64_t count,
                                bool transposed) {
  Type i32 = b.getI32Type();
  Type type = i32;
  if (count > 1)
    type = LLVM::LLVMStructType::getLiteral(b.getContext(),
                                            SmallVector<Type>(count, i32));
  Value loaded = NVVM::LdMatrixOp::create(
      b, type, pointer, count,
      transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8),
      NVVM::LdStMatrixEltType::B16);
  if (count == 1)
    return {loaded};
  SmallVector<Value> matrices;
  for (int64_t i = 0; i < count; ++i)
    matrices.push_back(LLVM::ExtractValueOp::create(b, loaded, i));
  return matrices;
}

struct ConvertLdMatrix : OpConversionPattern<LdMatrixOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(LdMatrixOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<FragmentType>(op.getResult().getType());
    ThreadBuilder b(op, rewriter, type.getWarps());
    SmallVector<Value> registers(type.getNumRegisters());
    bool wide = getElementBytes(type.getElementType()) == 4;
    if (type.getRole() == Role::Lhs && op.getTransposed())
      loadTransposedLhs(b, op, adaptor.getSource(), type, registers);
    else if (type.getRole() == Role::Lhs)
      loadLhs(b, op, adaptor.getSource(), type, registers);
    else if (wide && (!op.getTransposed() || op.getPermuted()))
      loadScalars(b, op, adaptor.getSource(), type, registers);
    else
      loadRhs(b, op, adaptor.getSource(), type, registers);
    for (Value &value : registers)
      if (value.getType() != type.getRegisterType())
        value = LLVM::BitcastOp::create(b, type.getRegisterType(), value);
    rewriter.replaceOpWithMultiple(op, {registers});
    return success();
  }

private:
  /// Chunk in which the slice starts.
  static int64_t getFirstChunk(LdMatrixOp op) {
    Type type = cast<SharedType>(op.getSource().getType()).getElementType();
    return op.getColumn() * getElementBytes(type) / chunkBytes;
  }

  /// Pointers for matrices of which those of one load lie side by side in
  /// two chunks; lanes hold `row` and `side` (0 or 1).
  struct Pairs {
    Pairs(ThreadBuilder &b, SharedType type, Value tile, Value row, Value side)
        : b(b), type(type), tile(tile), row(row), side(side),
          address(b, type, tile, row, side) {}

    Value at(int64_t firstRow, int64_t chunk) {
      if (chunk % 2 == 0)
        return address.at(firstRow, chunk);
      // The lane's bit and the constant would carry.
      return SharedAddress(b, type, tile, row, b.add(side, chunk))
          .at(firstRow, 0);
    }

    ThreadBuilder &b;
    SharedType type;
    Value tile, row, side;
    SharedAddress address;
  };

  static void loadLhs(ThreadBuilder &b, LdMatrixOp op, Value tile,
                      FragmentType type, SmallVector<Value> &registers) {
    auto shared = cast<SharedType>(op.getSource().getType());
    FragmentLayout layout(type);
    Value row = b.add(layout.getWarpRow(b), b.rem(b.lane(), 16));
    Pairs pairs(b, shared, tile, row, b.div(b.lane(), 16));
    int64_t index = 0,
            steps = type.getNumRegisters() / (type.getRowsPerWarp() / 16) / 4;
    for (int64_t i = 0; i < type.getRowsPerWarp() / 16; ++i)
      for (int64_t k = 0; k < steps; ++k)
        for (Value value :
             loadMatrices(b, pairs.at(16 * i, getFirstChunk(op) + 2 * k), 4,
                          /*transposed=*/false))
          registers[index++] = value;
  }

  static void loadTransposedLhs(ThreadBuilder &b, LdMatrixOp op, Value tile,
                                FragmentType type,
                                SmallVector<Value> &registers) {
    auto shared = cast<SharedType>(op.getSource().getType());
    FragmentLayout layout(type);
    int64_t blocks = type.getRowsPerWarp() / 16, index = 0;
    int64_t steps = type.getNumRegisters() / blocks / 4;
    Value lane = b.lane(), warpRow = layout.getWarpRow(b);
    if (getElementBytes(type.getElementType()) == 2) {
      // The second matrix of a load lies beside the first, the others below.
      Value row = b.add(b.rem(lane, 8), b.mul(b.div(lane, 16), 8));
      Value side = b.rem(b.div(lane, 8), 2);
      SharedAddress address(b, shared, tile, row,
                            b.add(side, b.div(warpRow, 8)));
      for (int64_t i = 0; i < blocks; ++i)
        for (int64_t k = 0; k < steps; ++k)
          for (Value value :
               loadMatrices(b, address.at(op.getRow() + 16 * k, 2 * i), 4,
                            /*transposed=*/true))
            registers[index++] = value;
      return;
    }
    // 32-bit elements that no matrix load puts in their place.
    Value column = b.add(warpRow, b.group());
    SharedAddress address(b, shared, tile, b.threadInGroup(), b.div(column, 4),
                          b.mul(b.rem(column, 4), 4));
    for (int64_t i = 0; i < blocks; ++i)
      for (int64_t k = 0; k < steps; ++k)
        for (int64_t r = 0; r < 4; ++r)
          registers[index++] = b.load(
              b.getF32Type(), address.at(op.getRow() + 8 * k + 4 * (r / 2),
                                         4 * i + 2 * (r % 2)));
  }

  static void loadRhs(ThreadBuilder &b, LdMatrixOp op, Value tile,
                      FragmentType type, SmallVector<Value> &registers) {
    auto shared = cast<SharedType>(op.getSource().getType());
    bool transposed = op.getTransposed();
    int64_t columns = type.getColumns() / 8;
    int64_t steps = type.getNumRegisters() / columns / 2;
    // Of the four matrices of a load, the first two are the registers of one
    // block of 8 columns, the others those of the next. In memory the two
    // registers lie side by side if transposed, else below each other.
    Value lane = b.lane();
    Value row = transposed ? b.add(b.rem(lane, 8), b.mul(b.div(lane, 16), 8))
                           : b.rem(lane, 16);
    Value side = transposed ? b.rem(b.div(lane, 8), 2) : b.div(lane, 16);
    Pairs pairs(b, shared, tile, row, side);
    for (int64_t k = 0; k < steps; ++k) {
      int64_t count = 2;
      for (int64_t j = 0; j < columns; j += count) {
        int64_t firstRow = op.getRow() + (transposed ? 8 * j : 16 * k);
        int64_t chunk = getFirstChunk(op) + (transposed ? 2 * k : j);
        // A load of four would carry into the next pair of chunks.
        count = j + 1 == columns || (!transposed && chunk % 2 == 1) ? 1 : 2;
        Value pointer = count == 1 && !transposed
                            ? pairs.address.at(firstRow, chunk)
                            : pairs.at(firstRow, chunk);
        SmallVector<Value> matrices =
            loadMatrices(b, pointer, 2 * count, !transposed);
        for (auto [m, value] : llvm::enumerate(matrices))
          registers[(k * columns + j) * 2 + m] = value;
      }
    }
  }

  /// 32-bit elements that no matrix load puts in their place.
  static void loadScalars(ThreadBuilder &b, LdMatrixOp op, Value tile,
                          FragmentType type, SmallVector<Value> &registers) {
    auto shared = cast<SharedType>(op.getSource().getType());
    Type f32 = b.getF32Type();
    bool permuted = op.getPermuted(), transposed = op.getTransposed();
    int64_t columns = type.getColumns() / 8, steps = type.getRows() / 8;
    Value g = b.group(), t = b.threadInGroup();
    // Place in the slice's contraction dimension: a part of the thread's and
    // a constant of each register.
    Value depth = permuted ? b.mul(t, 2) : t;
    int64_t registerStep = permuted ? 1 : 4;
    Value row = transposed ? g : depth;
    Value column = transposed ? depth : g;
    SharedAddress address(b, shared, tile, row, b.div(column, 4),
                          b.mul(b.rem(column, 4), 4));
    for (int64_t k = 0; k < steps; ++k) {
      for (int64_t j = 0; j < columns; ++j) {
        for (int64_t r = 0; r < 2; ++r) {
          int64_t inDepth = 8 * k + registerStep * r, inWidth = 8 * j;
          int64_t firstRow = op.getRow() + (transposed ? inWidth : inDepth);
          int64_t firstColumn =
              op.getColumn() + (transposed ? inDepth : inWidth);
          registers[(k * columns + j) * 2 + r] = b.load(
              f32, address.at(firstRow, firstColumn / 4, firstColumn % 4 * 4));
        }
      }
    }
  }
};

//===----------------------------------------------------------------------===//
// mma
//===----------------------------------------------------------------------===//

/// Operands of `mma.sync` as its operation wants them.
SmallVector<Value> getMmaOperands(ThreadBuilder &b, ValueRange registers,
                                  Type elementType) {
  return llvm::map_to_vector(registers, [&](Value value) -> Value {
    if (elementType.isF32())
      return NVVM::ConvertFloatToTF32Op::create(
          b, b.getI32Type(), value, NVVM::FPRoundingMode::RNA,
          NVVM::SaturationMode::NONE, /*relu=*/false);
    if (elementType.isBF16())
      return LLVM::BitcastOp::create(b, b.getI32Type(), value);
    return value;
  });
}

struct ConvertMma : OpConversionPattern<MmaOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(MmaOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<FragmentType>(op.getLhs().getType());
    auto rhsType = cast<FragmentType>(op.getRhs().getType());
    Type elementType = type.getElementType();
    ThreadBuilder b(op, rewriter, type.getWarps());
    int64_t depth = elementType.isF32() ? 8 : 16;
    int64_t blocks = type.getRowsPerWarp() / 16;
    int64_t columns = rhsType.getColumns() / 8;
    int64_t steps = type.getColumns() / depth;

    NVVM::MMATypes operandType = elementType.isF32()    ? NVVM::MMATypes::tf32
                                 : elementType.isBF16() ? NVVM::MMATypes::bf16
                                                        : NVVM::MMATypes::f16;
    Type result = LLVM::LLVMStructType::getLiteral(
        b.getContext(), SmallVector<Type>(4, b.getF32Type()));
    SmallVector<Value> lhs = getMmaOperands(b, adaptor.getLhs(), elementType);
    SmallVector<Value> rhs = getMmaOperands(b, adaptor.getRhs(), elementType);
    SmallVector<Value> acc(adaptor.getAcc());
    auto slice = [](SmallVector<Value> &values, int64_t first, int64_t count) {
      return ArrayRef(values).slice(first, count);
    };
    for (int64_t k = 0; k < steps; ++k) {
      for (int64_t j = 0; j < columns; ++j) {
        // The blocks follow each other, so that the registers of `rhs` can
        // be free after them.
        for (int64_t i = 0; i < blocks; ++i) {
          int64_t first = (i * columns + j) * 4;
          Value product = NVVM::MmaOp::create(
              b, result, slice(lhs, (i * steps + k) * 4, 4),
              slice(rhs, (k * columns + j) * 2, 2), slice(acc, first, 4),
              ArrayRef<int64_t>{16, 8, depth}, std::nullopt, std::nullopt,
              std::array{operandType, operandType},
              std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
          for (int64_t e = 0; e < 4; ++e)
            acc[first + e] = LLVM::ExtractValueOp::create(b, product, e);
        }
      }
    }
    rewriter.replaceOpWithMultiple(op, {acc});
    return success();
  }
};

//===----------------------------------------------------------------------===//
// fma
//===----------------------------------------------------------------------===//

struct ConvertFma : OpConversionPattern<FmaOp> {
  using OpConversionPattern::OpConversionPattern;

  /// Channels that one vector load takes.
  static constexpr int64_t width = 4;

  LogicalResult
  matchAndRewrite(FmaOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<FragmentType>(op.getAcc().getType());
    auto rhsType = cast<SharedType>(op.getRhs().getType());
    ThreadBuilder b(op, rewriter, type.getWarps());
    int64_t depth =
        op.getTransposed() ? rhsType.getColumns() : rhsType.getRows();
    SmallVector<Value> acc(adaptor.getAcc());
    SmallVector<Value> lhs(adaptor.getLhs());
    Value rhs = adaptor.getRhs().front();
    if (isa<SharedType>(op.getLhs().getType())) {
      // A loop over the chunks of a row. Unrolled, the loads of many chunks
      // would be in flight at once, in registers.
      auto loop = scf::ForOp::create(
          b, b.constant(0), b.constant(depth / width), b.constant(1), acc);
      OpBuilder::InsertionGuard insertion(b);
      b.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> sums(loop.getRegionIterArgs());
      multiply(b, op, lhs, rhs, loop.getInductionVar(), width, sums);
      scf::YieldOp::create(b, sums);
      acc.assign(loop.getResults().begin(), loop.getResults().end());
    } else {
      multiply(b, op, lhs, rhs, b.constant(0), depth, acc);
      // LLVM would sink the sums behind a loop of the next product, and keep
      // all their operands until there. Assembly that takes them stays.
      for (Value &sum : acc)
        sum = b.assembly("", {}, {sum.getType()}, {sum})[0];
    }
    rewriter.replaceOpWithMultiple(op, {acc});
    return success();
  }

private:
  /// Adds the products of `depth` columns of `lhs` to `acc`. Those of a shared
  /// tile begin with `chunk`.
  static void multiply(ThreadBuilder &b, FmaOp op, ArrayRef<Value> lhs,
                       Value rhs, Value chunk, int64_t depth,
                       SmallVector<Value> &acc) {
    auto type = cast<FragmentType>(op.getAcc().getType());
    auto rhsType = cast<SharedType>(op.getRhs().getType());
    FragmentLayout layout(type);
    bool transposed = op.getTransposed();
    int64_t rows = type.getRowsPerWarp() / 8, columns = type.getColumns() / 8;

    Value column = layout.getThreadColumn(b);
    bool lhsTransposed = op.getLhsTransposed();
    std::optional<SharedAddress> lhsAddress;
    if (auto lhsType = dyn_cast<SharedType>(op.getLhs().getType())) {
      Value row = layout.getThreadRow(b);
      if (lhsTransposed)
        lhsAddress.emplace(b, lhsType, lhs.front(), b.mul(chunk, width),
                           b.div(row, 4), b.mul(b.rem(row, 4), 4));
      else
        lhsAddress.emplace(b, lhsType, lhs.front(), row, chunk);
    }
    // Not transposed, two neighbouring columns are in one chunk, and the chunks
    // of `lhs` are groups of rows.
    SharedAddress rhsAddress =
        transposed
            ? SharedAddress(b, rhsType, rhs, column, chunk)
            : SharedAddress(b, rhsType, rhs, b.mul(chunk, width),
                            b.div(column, 4), b.mul(b.rem(column, 4), 4));
    Value laneOfGroup = b.bitAnd(b.lane(), ~int64_t(3));

    Type f32 = b.getF32Type();
    auto vectorType = VectorType::get({width}, f32);
    auto pairType = VectorType::get({2}, f32);
    for (int64_t first = 0; first < depth; first += width) {
      SmallVector<SmallVector<Value>> left(rows);
      for (int64_t row = 0; row < rows; ++row) {
        if (lhsTransposed) {
          for (int64_t k = 0; k < width; ++k)
            left[row].push_back(
                b.load(f32, lhsAddress->at(first + k, 2 * row)));
          continue;
        }
        if (lhsAddress) {
          Value loaded =
              b.load(vectorType, lhsAddress->at(8 * row, first / width));
          for (int64_t k = 0; k < width; ++k)
            left[row].push_back(b.unpack(loaded, k));
          continue;
        }
        auto lhsType = cast<FragmentType>(op.getLhs().getType());
        for (int64_t k = first; k < first + width; ++k) {
          // Lane `k % 8 / 2` of the four has it.
          int64_t index =
              ((row / 2 * (lhsType.getColumns() / 8) + k / 8) * 2 + row % 2) *
                  2 +
              k % 2;
          left[row].push_back(
              b.shuffle(lhs[index], b.add(laneOfGroup, k % 8 / 2)));
        }
      }
      for (int64_t j = 0; j < columns; ++j) {
        Value right[2][width];
        if (transposed) {
          for (int64_t e = 0; e < 2; ++e) {
            Value loaded =
                b.load(vectorType, rhsAddress.at(8 * j + e, first / width));
            for (int64_t k = 0; k < width; ++k)
              right[e][k] = b.unpack(loaded, k);
          }
        } else {
          for (int64_t k = 0; k < width; ++k) {
            Value loaded = b.load(pairType, rhsAddress.at(first + k, 2 * j));
            for (int64_t e = 0; e < 2; ++e)
              right[e][k] = b.unpack(loaded, e);
          }
        }
        for (int64_t k = 0; k < width; ++k)
          for (int64_t row = 0; row < rows; ++row)
            for (int64_t e = 0; e < 2; ++e) {
              Value &sum = acc[((row / 2 * columns + j) * 2 + row % 2) * 2 + e];
              sum = math::FmaOp::create(b, left[row][k], right[e][k], sum);
            }
      }
    }
  }
};

} // namespace

void nagpu::populateProductPatterns(const TypeConverter &converter,
                                    RewritePatternSet &patterns) {
  patterns.add<ConvertLdMatrix, ConvertMma, ConvertFma>(converter,
                                                        patterns.getContext());
}
