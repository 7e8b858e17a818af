//===- Mask.cpp - Masks on one axis of the columns --------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mask is one selection an element; what may cost as much is the predicate.
// A thread has few different coordinates on an axis, so predicates are per row
// and coordinate. Two comparisons make one; a word with a bit for each
// coordinate makes many: the assembler moves seven bits at a time from a
// register to predicates.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "llvm/ADT/SmallSet.h"

#include <limits>
#include <map>

using namespace mlir;
using namespace mlir::nagpu;

/// Bits of a word, and of a pair of words, that are used. A bound is at most
/// this, so that shifts by it are defined.
static constexpr int64_t wordBits = 31;
static constexpr int64_t pairBits = 63;
/// So many coordinates are compared one by one.
static constexpr int64_t fewCoordinates = 5;

namespace {

/// The coordinates on one axis of the columns `c + l` of a thread, of which `c`
/// is constant and `l` = 2 t the lane's. With `inner` columns from one
/// coordinate to the next, a column's is
///   (c / inner + step) % extent,  step = (c % inner + l) / inner % extent:
/// a constant and a part that depends on the lane and on `c % inner` only.
class ColumnCoordinates {
public:
  ColumnCoordinates(ArrayRef<int64_t> box, int64_t axis, int64_t columns)
      : extent(box[axis]), inner(llvm::product_of(box.drop_front(axis + 1))) {
    SmallVector<int64_t, 4> first = getSteps(0);
    for (int64_t column = 0; column < columns; ++column) {
      if (column % 8 > 1)
        continue; // Another lane's.
      SmallVector<int64_t, 4> steps = getSteps(column);
      int64_t constant = getConstant(column), last = *llvm::max_element(steps);
      carries |= steps != first || constant + last >= extent;
      maxStep = std::max(maxStep, last);
      constants.insert(constant);
      pairs &= constant % 8 < 2;
    }
  }

  int64_t getConstant(int64_t column) const { return column / inner % extent; }
  /// The step of each of the four lanes.
  SmallVector<int64_t, 4> getSteps(int64_t column) const {
    SmallVector<int64_t, 4> steps;
    for (int64_t t = 0; t < 4; ++t)
      steps.push_back((column % inner + 2 * t) / inner % extent);
    return steps;
  }
  /// The step of the thread; null if it is 0 for all.
  Value getStep(ThreadBuilder &b, int64_t column) const {
    if (llvm::all_of(getSteps(column), [](int64_t s) { return s == 0; }))
      return {};
    Value lane = b.mul(b.threadInGroup(), 2);
    Value step = b.div(b.add(lane, column % inner), inner);
    return (column % inner + 6) / inner < extent ? step : b.rem(step, extent);
  }
  /// The coordinate of a column, for what knows nothing about it.
  Value get(ThreadBuilder &b, int64_t column) const {
    Value step = getStep(b, column);
    int64_t constant = getConstant(column);
    return step ? b.rem(b.add(step, constant), extent) : b.constant(constant);
  }

  int64_t extent, inner;
  /// Whether steps differ from column to column, or pass the extent.
  bool carries = false;
  /// Whether the constants are those of the columns themselves: 8 j + e.
  bool pairs = true;
  int64_t maxStep = 0;
  llvm::SmallSet<int64_t, 32> constants;
};

/// The predicates of one row.
class RowPredicates {
public:
  RowPredicates(ThreadBuilder &b, const ColumnCoordinates &axis, Value begin,
                Value end, std::optional<int64_t> size)
      : b(b), axis(axis), begin(begin), end(end), size(size) {
    if (axis.carries) {
      // Bits are repeated where a step passes the extent.
      kind = axis.extent + axis.maxStep <= wordBits ? Kind::ShiftedWord
                                                    : Kind::Column;
      return;
    }
    // The step is the same for all columns: the bounds take it.
    if (Value step = axis.getStep(b, 0)) {
      this->begin = arith::SubIOp::create(b, begin, step);
      if (end)
        this->end = arith::SubIOp::create(b, end, step);
    }
    kind = int64_t(axis.constants.size()) <= fewCoordinates ? Kind::Compare
                                                            : Kind::Word;
    int64_t last = axis.extent - 1;
    packed = kind == Kind::Word && last >= wordBits && axis.pairs;
    wide = kind == Kind::Word && getPosition(last) >= wordBits;
  }

  /// Whether the coordinate of a column is in the interval.
  Value isInside(int64_t column) {
    int64_t constant = axis.getConstant(column);
    switch (kind) {
    case Kind::Compare:
      return cached(constant, [&] { return compare(b.constant(constant)); });
    case Kind::Word:
      return cached(constant, [&] {
        int64_t position = getPosition(constant);
        if (!wide)
          return getBit(getWord(), position);
        int64_t bit = position % pairBits;
        return getBit(getHalf(position / pairBits, bit / 32), bit % 32);
      });
    case Kind::ShiftedWord:
      return getBit(getShiftedWord(column), constant);
    case Kind::Column:
      return compare(axis.get(b, column));
    }
    llvm_unreachable("unknown kind");
  }

private:
  enum class Kind { Compare, Word, ShiftedWord, Column };

  Value cached(int64_t constant, function_ref<Value()> build) {
    Value &predicate = predicates[constant];
    if (!predicate)
      predicate = build();
    return predicate;
  }

  Value compare(Value coordinate) {
    auto build = [&](arith::CmpIPredicate predicate, Value x,
                     Value y) -> Value {
      return arith::CmpIOp::create(b, predicate, x, y);
    };
    if (size)
      return build(arith::CmpIPredicate::ult,
                   arith::SubIOp::create(b, coordinate, begin),
                   b.constant(*size));
    Value since = build(arith::CmpIPredicate::sge, coordinate, begin);
    Value before = build(arith::CmpIPredicate::slt, coordinate, end);
    return arith::AndIOp::create(b, since, before);
  }

  /// The bit of a constant.
  int64_t getPosition(int64_t constant) const {
    return packed ? constant / 8 * 2 + std::min<int64_t>(constant % 8, 2)
                  : constant;
  }
  /// The bit of the first constant that is not before a coordinate.
  Value getPosition(Value bound) {
    if (!packed)
      return bound;
    Value eighth = arith::ShRSIOp::create(b, bound, b.constant(3));
    Value rest = arith::MinUIOp::create(b, b.bitAnd(bound, 7), b.constant(2));
    return b.add(b.mul(eighth, 2), rest);
  }

  /// The bits from `begin` up to `end`, as far as they are in 0 to `bits`.
  Value getOnes(Value begin, Value end, int64_t bits) {
    Type type = bits > wordBits ? b.getI64Type() : b.getI32Type();
    auto from = [&](Value bound) -> Value {
      bound = arith::MinSIOp::create(b, bound, b.constant(bits));
      bound = arith::MaxSIOp::create(b, bound, b.constant(0));
      if (bits > wordBits)
        bound = arith::ExtUIOp::create(b, type, bound);
      return arith::ShLIOp::create(b, b.constant(-1, type), bound);
    };
    Value since = from(begin);
    Value before = b.bitXor(from(end), -1);
    return arith::AndIOp::create(b, since, before);
  }

  Value getEnd() {
    if (!end)
      end = b.add(begin, *size);
    return end;
  }

  Value getWord() {
    Value &word = words[{}];
    if (!word) {
      Value first = getPosition(begin);
      word = getOnes(first, getPosition(getEnd()), wordBits);
    }
    return word;
  }

  /// A half of the pair of words with the bits from `pairBits * index` on.
  Value getHalf(int64_t index, int64_t half) {
    Value &word = words[{index, half}];
    if (word)
      return word;
    Value &pair = words[{index}];
    if (!pair) {
      Value first = b.add(getPosition(begin), -index * pairBits);
      pair = getOnes(first, b.add(getPosition(getEnd()), -index * pairBits),
                     pairBits);
    }
    Value bits = pair;
    if (half == 1)
      bits = arith::ShRUIOp::create(b, pair, b.constant(32, b.getI64Type()));
    return word = b.cast(bits, b.getI32Type());
  }

  Value getShiftedWord(int64_t column) {
    if (!wholeWord) {
      wholeWord = getOnes(begin, getEnd(), axis.extent);
      wholeWord = arith::OrIOp::create(
          b, wholeWord,
          arith::ShLIOp::create(b, wholeWord, b.constant(axis.extent))
              .getResult());
    }
    SmallVector<int64_t, 4> steps = axis.getSteps(column);
    Value &word = words[std::vector<int64_t>(steps.begin(), steps.end())];
    if (!word) {
      word = wholeWord;
      if (Value step = axis.getStep(b, column))
        word = arith::ShRUIOp::create(b, word, step);
    }
    return word;
  }

  Value getBit(Value word, int64_t position) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                 b.bitAnd(word, int64_t(1) << position),
                                 b.constant(0));
  }

  ThreadBuilder &b;
  const ColumnCoordinates &axis;
  Value begin, end;
  std::optional<int64_t> size;
  Kind kind;
  /// Whether the bits are those of the constants 0, 1, 8, 9, .. only.
  bool packed = false;
  /// Whether the bits are in pairs of words.
  bool wide = false;
  Value wholeWord;
  std::map<int64_t, Value> predicates;
  std::map<std::vector<int64_t>, Value> words;
};

struct ConvertMask : OpConversionPattern<MaskOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(MaskOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<FragmentType>(op.getSource().getType());
    ThreadBuilder b(op, rewriter, type.getWarps());
    FragmentLayout layout(type);
    ColumnCoordinates axis(op.getBox(), op.getAxis(), type.getColumns());
    std::optional<int64_t> size = op.getSize();
    SmallVector<Value> registers(adaptor.getSource());
    Value hidden = arith::ConstantOp::create(
        b, b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
    // Row by row, bit by bit: only neighbouring uses of neighbouring bits are
    // moved to predicates together.
    SmallVector<int64_t> order =
        llvm::to_vector(llvm::seq<int64_t>(type.getNumRegisters()));
    auto key = [&](int64_t index) {
      FragmentLayout::Position position = layout.getPosition(index, 0);
      SmallVector<int64_t, 4> steps = axis.getSteps(position.column);
      return std::make_tuple(position.row,
                             std::vector<int64_t>(steps.begin(), steps.end()),
                             axis.getConstant(position.column));
    };
    llvm::stable_sort(order,
                      [&](int64_t x, int64_t y) { return key(x) < key(y); });
    std::optional<RowPredicates> row;
    int64_t current = -1;
    for (int64_t index : order) {
      FragmentLayout::Position position = layout.getPosition(index, 0);
      if (int64_t number = position.row / 8; number != current) {
        current = number;
        row.emplace(b, axis, adaptor.getBegin()[number],
                    op.getEnd() ? adaptor.getEnd()[number] : Value(), size);
      }
      registers[index] = arith::SelectOp::create(
          b, row->isInside(position.column), registers[index], hidden);
    }
    rewriter.replaceOpWithMultiple(op, {registers});
    return success();
  }
};

} // namespace

void nagpu::populateMaskPatterns(const TypeConverter &converter,
                                 RewritePatternSet &patterns) {
  patterns.add<ConvertMask>(converter, patterns.getContext());
}
