//===- Fragments.cpp - Operations on the elements of fragments --*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

#include <map>

using namespace mlir;
using namespace mlir::nagpu;

namespace {

struct ConvertSplat : OpConversionPattern<SplatOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(SplatOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<FragmentType>(op.getResult().getType());
    ThreadBuilder b(op, rewriter, type.getWarps());
    Value value = adaptor.getValue();
    if (FragmentLayout(type).getElementsPerRegister() == 2)
      value = b.pack(value, value);
    SmallVector<Value> registers(type.getNumRegisters(), value);
    rewriter.replaceOpWithMultiple(op, {registers});
    return success();
  }
};

struct ConvertExtract : OpConversionPattern<ExtractOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(ExtractOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto from = cast<FragmentType>(op.getSource().getType());
    auto to = cast<FragmentType>(op.getResult().getType());
    int64_t depth = from.getElementType().isF32() ? 8 : 16;
    int64_t fromPerBlock = from.getColumns() / depth * 4;
    int64_t toPerBlock = to.getColumns() / depth * 4;
    int64_t first = op.getColumn() / depth * 4;
    SmallVector<Value> registers;
    for (int64_t i = 0; i < to.getRowsPerWarp() / 16; ++i)
      llvm::append_range(registers, adaptor.getSource().slice(
                                        i * fromPerBlock + first, toPerBlock));
    rewriter.replaceOpWithMultiple(op, {registers});
    return success();
  }
};

struct ConvertConvert : OpConversionPattern<ConvertOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(ConvertOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto from = cast<FragmentType>(op.getSource().getType());
    auto to = cast<FragmentType>(op.getResult().getType());
    ThreadBuilder b(op, rewriter, from.getWarps());
    ValueRange source = adaptor.getSource();
    SmallVector<Value> registers(to.getNumRegisters());

    if (from.getRole() == Role::PartialRow) {
      for (auto [value, result] : llvm::zip_equal(source, registers)) {
        result = value;
        for (int64_t mask : {1, 2})
          result = arith::AddFOp::create(b, result, b.shuffleXor(result, mask));
      }
      rewriter.replaceOpWithMultiple(op, {registers});
      return success();
    }

    if (from.getRole() == Role::Lhs) {
      int64_t columns = from.getColumns() / 8, steps = from.getColumns() / 16;
      Type wide = VectorType::get(2, b.getF32Type());
      for (auto [index, pair] : llvm::enumerate(source)) {
        int64_t r = index % 4, k = index / 4 % steps, i = index / 4 / steps;
        int64_t first = (i * columns + 2 * k + r / 2) * 4 + 2 * (r % 2);
        Value values = arith::ExtFOp::create(b, wide, pair);
        for (int64_t e = 0; e < 2; ++e)
          registers[first + e] = b.unpack(values, e);
      }
      rewriter.replaceOpWithMultiple(op, {registers});
      return success();
    }

    // An `lhs` block of 16 (8) columns holds the accumulators of two (one)
    // blocks of 8 columns of the same thread.
    bool narrow = to.getElementType().getIntOrFloatBitWidth() == 16;
    int64_t columns = from.getColumns() / 8;
    int64_t steps = from.getColumns() / (narrow ? 16 : 8);
    for (int64_t index = 0; index < to.getNumRegisters(); ++index) {
      int64_t r = index % 4, k = index / 4 % steps, i = index / 4 / steps;
      if (!narrow) {
        registers[index] = source[(i * columns + k) * 4 + 2 * (r % 2) + r / 2];
        continue;
      }
      int64_t first = (i * columns + 2 * k + r / 2) * 4 + 2 * (r % 2);
      registers[index] = arith::TruncFOp::create(
          b, to.getRegisterType(), b.pack(source[first], source[first + 1]));
    }
    rewriter.replaceOpWithMultiple(op, {registers});
    return success();
  }
};

struct ConvertReduce : OpConversionPattern<ReduceOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(ReduceOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto from = cast<FragmentType>(op.getSource().getType());
    auto to = cast<FragmentType>(op.getResult().getType());
    ThreadBuilder b(op, rewriter, from.getWarps());
    auto combine = [&](Value x, Value y) -> Value {
      if (op.getKind() == Kind::Max)
        return b.maxNum(x, y);
      return arith::AddFOp::create(b, x, y);
    };
    int64_t columns = from.getColumns() / 8;
    SmallVector<Value> rows;
    for (int64_t row = 0; row < to.getNumRegisters(); ++row) {
      // Two chains a row; with those of the other rows they fill the pipe.
      SmallVector<Value, 2> chains(2);
      for (int64_t j = 0; j < columns; ++j) {
        for (int64_t e = 0; e < 2; ++e) {
          Value value =
              adaptor
                  .getSource()[((row / 2 * columns + j) * 2 + row % 2) * 2 + e];
          chains[e] = chains[e] ? combine(chains[e], value) : value;
        }
      }
      rows.push_back(combine(chains[0], chains[1]));
    }
    if (to.getRole() == Role::Row)
      for (int64_t mask : {1, 2})
        for (Value &value : rows)
          value = combine(value, b.shuffleXor(value, mask));
    // Consumers sum the weights of a tile beside a product in flight. LLVM
    // would sink that, and the exponentials with it, behind the wait for the
    // next keys, which separates them from the wait for the product; ptxas
    // would then move that wait up to before them. Assembly that takes the sums
    // stays.
    if (to.getRole() == Role::PartialRow && RolesOp::getEnclosing(op)) {
      SmallVector<Type> types(ValueRange(rows).getTypes());
      rows = b.assembly("", {}, types, rows);
    }
    rewriter.replaceOpWithMultiple(op, {rows});
    return success();
  }
};

/// Clones the body of a `nagpu.map` for the elements of a thread. What depends
/// only on the row or only on the column is computed once for each.
class MapExpander {
public:
  MapExpander(ThreadBuilder &b, MapOp op, ArrayRef<ValueRange> inputs)
      : b(b), op(op), inputs(inputs), type(op.getIterationType()),
        layout(type) {
    Block &body = op.getBody().front();
    for (auto [argument, input] :
         llvm::zip_equal(body.getArguments(), op.getInputs())) {
      auto inputType = cast<FragmentType>(input.getType());
      varies[argument] = inputType.isRowLike()                 ? Row
                         : inputType.getRole() == Role::Column ? Column
                                                               : Row | Column;
    }
    for (Operation &nested : body.without_terminator())
      classify(nested);
    threadRow = layout.getThreadRow(b);
    threadColumn = layout.getThreadColumn(b);
  }

  SmallVector<SmallVector<Value>> expand() {
    int64_t perRegister = layout.getElementsPerRegister();
    SmallVector<SmallVector<Value>> results(op.getNumResults());
    for (int64_t index = 0; index < type.getNumRegisters(); ++index) {
      SmallVector<SmallVector<Value>, 2> elements;
      for (int64_t element = 0; element < perRegister; ++element)
        elements.push_back(expandElement(index, element));
      for (auto [i, registers] : llvm::enumerate(results))
        registers.push_back(perRegister == 1
                                ? elements[0][i]
                                : b.pack(elements[0][i], elements[1][i]));
    }
    return results;
  }

private:
  enum : unsigned { Row = 1, Column = 2 };

  void classify(Operation &nested) {
    unsigned mask = 0;
    if (auto index = dyn_cast<IndexOp>(nested))
      mask = index.getDim() == 0 ? Row : Column;
    // What is computed once must give the same value each time.
    if (!isa<IndexOp>(nested) && !isMemoryEffectFree(&nested))
      mask = Row | Column;
    nested.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        mask |= varies.lookup(operand);
    });
    variesOp[&nested] = mask;
    for (Value result : nested.getResults())
      varies[result] = mask;
  }

  SmallVector<Value> expandElement(int64_t index, int64_t element) {
    FragmentLayout::Position position = layout.getPosition(index, element);
    Block &body = op.getBody().front();
    IRMapping mapping;
    for (auto [argument, input, registers] :
         llvm::zip_equal(body.getArguments(), op.getInputs(), inputs)) {
      auto inputType = cast<FragmentType>(input.getType());
      if (inputType.isRowLike() && !type.isRowLike())
        mapping.map(argument, registers[position.row / 8]);
      else if (inputType.getRole() == Role::Column &&
               type.getRole() != Role::Column)
        mapping.map(argument,
                    registers[position.column / 8 * 2 + position.column % 2]);
      else if (layout.getElementsPerRegister() == 2)
        mapping.map(argument, b.unpack(registers[index], element));
      else
        mapping.map(argument, registers[index]);
    }
    for (Operation &nested : body.without_terminator()) {
      unsigned mask = variesOp.lookup(&nested);
      bool shared = mask != (Row | Column);
      auto key = std::make_tuple(&nested, mask & Row ? position.row : 0,
                                 mask & Column ? position.column : 0);
      if (shared) {
        auto found = sharedOps.find(key);
        if (found != sharedOps.end()) {
          mapping.map(nested.getResults(), found->second);
          continue;
        }
      }
      SmallVector<Value> values = cloneOp(nested, mapping, position);
      mapping.map(nested.getResults(), values);
      if (shared)
        sharedOps[key] = std::move(values);
    }
    return llvm::map_to_vector(
        body.getTerminator()->getOperands(),
        [&](Value value) { return mapping.lookupOrDefault(value); });
  }

  SmallVector<Value> cloneOp(Operation &nested, IRMapping &mapping,
                             FragmentLayout::Position position) {
    if (auto index = dyn_cast<IndexOp>(nested)) {
      if (index.getDim() == 0)
        return {addDisjoint(threadRow, position.row)};
      return {addDisjoint(threadColumn, position.column)};
    }
    if (auto max = dyn_cast<arith::MaxNumFOp>(nested))
      if (max.getType().isF32())
        return {b.maxNum(mapping.lookupOrDefault(max.getLhs()),
                         mapping.lookupOrDefault(max.getRhs()))};
    if (auto exp2 = dyn_cast<math::Exp2Op>(nested))
      if (exp2.getType().isF32())
        return {b.exp2(mapping.lookupOrDefault(exp2.getOperand()))};
    if (auto quotient = dyn_cast<arith::DivFOp>(nested))
      if (quotient.getType().isF32() &&
          matchPattern(quotient.getLhs(), m_OneFloat()))
        return {b.reciprocal(mapping.lookupOrDefault(quotient.getRhs()))};
    return SmallVector<Value>(b.clone(nested, mapping)->getResults());
  }

  /// The sum does not wrap, which lets the bits of the constant show through
  /// divisions.
  Value addDisjoint(Value value, int64_t constant) {
    if (constant == 0)
      return value;
    auto flags = arith::IntegerOverflowFlagsAttr::get(
        b.getContext(),
        arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw);
    return arith::AddIOp::create(b, value, b.constant(constant), flags);
  }

  ThreadBuilder &b;
  MapOp op;
  ArrayRef<ValueRange> inputs;
  FragmentType type;
  FragmentLayout layout;
  Value threadRow, threadColumn;
  llvm::DenseMap<Value, unsigned> varies;
  llvm::DenseMap<Operation *, unsigned> variesOp;
  std::map<std::tuple<Operation *, int64_t, int64_t>, SmallVector<Value>>
      sharedOps;
};

struct ConvertMap : OpConversionPattern<MapOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(MapOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(op, rewriter, op.getIterationType().getWarps());
    SmallVector<ValueRange> inputs(adaptor.getInputs());
    SmallVector<SmallVector<Value>> results =
        MapExpander(b, op, inputs).expand();
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

struct ConvertLdVector : OpConversionPattern<LdVectorOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(LdVectorOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<FragmentType>(op.getResult().getType());
    ThreadBuilder b(op, rewriter, type.getWarps());
    FragmentLayout layout(type);
    Type f32 = b.getF32Type();
    bool ofRow = type.isRowLike();
    Value first = ofRow ? layout.getThreadRow(b) : layout.getThreadColumn(b);
    Value address = b.add(adaptor.getSource(), b.mul(first, 4));
    SmallVector<Value> registers;
    while (int64_t(registers.size()) < type.getNumRegisters()) {
      FragmentLayout::Position position =
          layout.getPosition(registers.size(), 0);
      Value pointer =
          b.sharedPointer(address, 4 * (position.row + position.column));
      if (ofRow) {
        registers.push_back(b.load(f32, pointer));
        continue;
      }
      // Two neighbouring columns are the same lane's.
      Value pair = b.load(VectorType::get({2}, f32), pointer);
      for (int64_t e = 0; e < 2; ++e)
        registers.push_back(b.unpack(pair, e));
    }
    rewriter.replaceOpWithMultiple(op, {registers});
    return success();
  }
};

} // namespace

void nagpu::populateFragmentPatterns(const TypeConverter &converter,
                                     RewritePatternSet &patterns) {
  patterns.add<ConvertSplat, ConvertExtract, ConvertConvert, ConvertReduce,
               ConvertMap, ConvertLdVector>(converter, patterns.getContext());
}
