//===- Mask.cpp - Masks on axes of the columns ------------------*- C++ -*-===//
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
// register to predicates. Where several axes are masked at once, each
// combination of coordinates on all but one of them has a word of the bits of
// that one: the word of the row, or none.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "llvm/ADT/SmallSet.h"

#include <limits>
#include <map>
#include <memory>
#include <vector>

using namespace mlir;
using namespace mlir::nagpu;

/// Bits of a word, and of a pair of words, that are used. A bound is at most
/// this, so that shifts by it are defined.
static constexpr int64_t wordBits = 31;
static constexpr int64_t pairBits = 63;
/// So many coordinates are compared one by one.
static constexpr int64_t fewCoordinates = 5;
/// So many words of a row are worth it, where each is for one combination of
/// coordinates on the other axes.
static constexpr size_t maxCombinations = 8;

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

  /// What the coordinates of columns follow from, as far as it differs between
  /// columns: steps and constant.
  using Key = std::vector<int64_t>;
  Key getKey(int64_t column) const {
    SmallVector<int64_t, 4> steps = getSteps(column);
    Key key(steps.begin(), steps.end());
    key.push_back(getConstant(column));
    return key;
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

/// What has to hold beside: a predicate, null for nothing, and its number.
struct Condition {
  Value predicate;
  int64_t number = 0;
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

  /// Whether the coordinate of a column is in the interval, and the condition
  /// holds.
  Value isInside(int64_t column, Condition condition = {}) {
    int64_t constant = axis.getConstant(column);
    switch (kind) {
    case Kind::Compare:
      return cached({constant, condition.number}, [&] {
        return both(cached({constant, -1},
                           [&] { return compare(b.constant(constant)); }),
                    condition);
      });
    case Kind::Word:
      return cached({constant, condition.number}, [&] {
        int64_t position = getPosition(constant);
        if (!wide)
          return getBit(onlyIf(getWord(), condition), position);
        int64_t bit = position % pairBits;
        return getBit(onlyIf(getHalf(position / pairBits, bit / 32), condition),
                      bit % 32);
      });
    case Kind::ShiftedWord:
      return getBit(onlyIf(getShiftedWord(column), condition), constant);
    case Kind::Column:
      return both(compare(axis.get(b, column)), condition);
    }
    llvm_unreachable("unknown kind");
  }

private:
  enum class Kind { Compare, Word, ShiftedWord, Column };

  Value cached(std::pair<int64_t, int64_t> key, function_ref<Value()> build) {
    if (Value known = predicates.lookup(key))
      return known;
    return predicates[key] = build();
  }

  Value both(Value predicate, Condition condition) {
    if (!condition.predicate)
      return predicate;
    return arith::AndIOp::create(b, predicate, condition.predicate);
  }

  /// The word where the condition holds, else no bits.
  Value onlyIf(Value word, Condition condition) {
    if (!condition.predicate)
      return word;
    Value &result = conditional[{word, condition.number}];
    if (!result)
      result = arith::SelectOp::create(b, condition.predicate, word,
                                       b.constant(0, word.getType()));
    return result;
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
  llvm::DenseMap<std::pair<int64_t, int64_t>, Value> predicates;
  llvm::DenseMap<std::pair<Value, int64_t>, Value> conditional;
  std::map<std::vector<int64_t>, Value> words;
};

/// The bounds of the rows of a thread on an axis; `end` is empty if `size` is
/// given.
struct Bounds {
  ColumnCoordinates axis;
  ValueRange begin, end;
  std::optional<int64_t> size;

  RowPredicates getRow(ThreadBuilder &b, int64_t number) const {
    return RowPredicates(b, axis, begin[number],
                         end.empty() ? Value() : end[number], size);
  }
};

/// The registers of `type` in such an order that neighbouring uses are of
/// neighbouring bits, which then are moved to predicates together: row by row,
/// by `getNumber` of their columns, and in the order of their bits.
SmallVector<int64_t> getOrder(FragmentType type, const ColumnCoordinates &axis,
                              function_ref<int64_t(int64_t column)> getNumber) {
  FragmentLayout layout(type);
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(type.getNumRegisters()));
  auto key = [&](int64_t index) {
    FragmentLayout::Position position = layout.getPosition(index, 0);
    return std::make_tuple(position.row, getNumber(position.column),
                           axis.getKey(position.column));
  };
  llvm::stable_sort(order,
                    [&](int64_t x, int64_t y) { return key(x) < key(y); });
  return order;
}

/// The combinations of coordinates on all axes but one; there is one of none.
class Combinations {
public:
  Combinations(ArrayRef<Bounds> all, size_t without, int64_t columns)
      : all(all), without(without) {
    for (int64_t column = 0; column < columns; ++column)
      if (column % 8 < 2)
        numbers.try_emplace(getKey(column), int64_t(numbers.size()) + 1);
  }
  size_t size() const { return numbers.size(); }
  int64_t getNumber(int64_t column) const {
    return numbers.find(getKey(column))->second;
  }

private:
  ColumnCoordinates::Key getKey(int64_t column) const {
    ColumnCoordinates::Key key;
    for (auto [i, bounds] : llvm::enumerate(all))
      if (i != without)
        llvm::append_range(key, bounds.axis.getKey(column));
    return key;
  }

  ArrayRef<Bounds> all;
  size_t without;
  std::map<ColumnCoordinates::Key, int64_t> numbers;
};

/// Masks the registers on all axes, of which that at `base` gives the words.
void maskTogether(ThreadBuilder &b, FragmentType type, ArrayRef<Bounds> all,
                  size_t base, const Combinations &combinations,
                  MutableArrayRef<Value> registers) {
  FragmentLayout layout(type);
  Value hidden = arith::ConstantOp::create(
      b, b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
  SmallVector<std::unique_ptr<RowPredicates>> rows;
  SmallVector<Value> conditions;
  int64_t current = -1;
  auto getNumber = [&](int64_t column) {
    return combinations.getNumber(column);
  };
  for (int64_t index : getOrder(type, all[base].axis, getNumber)) {
    auto [row, column] = layout.getPosition(index, 0);
    if (int64_t number = row / 8; number != current) {
      current = number;
      rows.clear();
      for (const Bounds &bounds : all)
        rows.push_back(
            std::make_unique<RowPredicates>(bounds.getRow(b, number)));
      conditions.assign(combinations.size() + 1, Value());
    }
    int64_t number = combinations.getNumber(column);
    Value &condition = conditions[number];
    if (!condition)
      for (auto [i, predicates] : llvm::enumerate(rows)) {
        if (i == base)
          continue;
        Value inside = predicates->isInside(column);
        condition =
            condition ? arith::AndIOp::create(b, condition, inside) : inside;
      }
    registers[index] = arith::SelectOp::create(
        b, rows[base]->isInside(column, {condition, number}), registers[index],
        hidden);
  }
}

void maskAxis(ThreadBuilder &b, FragmentType type, const Bounds &bounds,
              MutableArrayRef<Value> registers) {
  maskTogether(b, type, bounds, 0, Combinations(bounds, 0, type.getColumns()),
               registers);
}

struct ConvertMask : OpConversionPattern<MaskOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(MaskOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<FragmentType>(op.getSource().getType());
    ThreadBuilder b(op, rewriter, type.getWarps());
    SmallVector<Value> registers(adaptor.getSource());
    maskAxis(b, type,
             {ColumnCoordinates(op.getBox(), op.getAxis(), type.getColumns()),
              adaptor.getBegin(),
              op.getEnd() ? ValueRange(adaptor.getEnd()) : ValueRange(),
              op.getSize()},
             registers);
    rewriter.replaceOpWithMultiple(op, {registers});
    return success();
  }
};

struct ConvertMaskBox : OpConversionPattern<MaskBoxOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(MaskBoxOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<FragmentType>(op.getSource().getType());
    ThreadBuilder b(op, rewriter, type.getWarps());
    SmallVector<Value> registers(adaptor.getSource());
    std::vector<Bounds> all;
    for (auto [axis, begin, end] :
         llvm::zip_equal(op.getAxes(), adaptor.getBegins(), adaptor.getEnds()))
      all.push_back({ColumnCoordinates(op.getBox(), axis, type.getColumns()),
                     begin, end, std::nullopt});
    // The fewest words: without the axis that has the most coordinates.
    size_t base = 0;
    std::optional<Combinations> best;
    for (size_t i = 0; i < all.size(); ++i) {
      Combinations combinations(all, i, type.getColumns());
      if (!best || combinations.size() < best->size()) {
        best.emplace(combinations);
        base = i;
      }
    }
    if (best->size() <= maxCombinations)
      maskTogether(b, type, all, base, *best, registers);
    else
      for (const Bounds &bounds : all)
        maskAxis(b, type, bounds, registers);
    rewriter.replaceOpWithMultiple(op, {registers});
    return success();
  }
};

} // namespace

void nagpu::populateMaskPatterns(const TypeConverter &converter,
                                 RewritePatternSet &patterns) {
  patterns.add<ConvertMask, ConvertMaskBox>(converter, patterns.getContext());
}
