//===- IRIndex.h - Window arithmetic that builds IR -------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// IndexValue is a value type for the templates of na/Semantics/Window.h: an
// index that is a constant or an SSA value. Its operators build `arith`
// operations at the insertion point of the builder, and none where the result
// is known.
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_TRANSFORMS_IRINDEX_H
#define NA_DIALECT_NA_TRANSFORMS_IRINDEX_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"
#include "na/Semantics/Window.h"

#include <optional>

namespace mlir::na {

/// An index in the making of IR. Copies are cheap; the builder must outlive
/// them.
///
/// What is known not to be negative (`nonNegative`, a promise of the caller for
/// values that are not constants) divides by the plain unsigned division. Other
/// divisions become `arith.floordivsi` and `arith.ceildivsi`, which
/// `arith-expand` lowers.
class IndexValue {
public:
  IndexValue(OpBuilder &builder, Location loc, OpFoldResult value,
             bool nonNegative = false)
      : builder(&builder), loc(loc), value(value), nonNegative(nonNegative) {
    if (std::optional<int64_t> c = getConstantIntValue(value)) {
      this->value = builder.getIndexAttr(*c);
      this->nonNegative = *c >= 0;
    }
  }
  IndexValue(OpBuilder &builder, Location loc, int64_t value)
      : IndexValue(builder, loc, builder.getIndexAttr(value)) {}

  OpFoldResult getFoldResult() const { return value; }
  std::optional<int64_t> getConstant() const {
    return getConstantIntValue(value);
  }
  bool isNonNegative() const { return nonNegative; }

  /// The SSA value; builds a constant if there is none.
  Value getValue() const {
    if (auto v = dyn_cast<Value>(value))
      return v;
    return arith::ConstantIndexOp::create(*builder, loc, *getConstant());
  }

  friend IndexValue operator+(const IndexValue &a, const IndexValue &b) {
    if (a.isConstant(0))
      return b;
    if (b.isConstant(0))
      return a;
    auto fold = [](int64_t x, int64_t y) { return x + y; };
    return a.binary<arith::AddIOp>(b, fold, a.nonNegative && b.nonNegative);
  }
  friend IndexValue operator-(const IndexValue &a, const IndexValue &b) {
    if (b.isConstant(0))
      return a;
    auto fold = [](int64_t x, int64_t y) { return x - y; };
    return a.binary<arith::SubIOp>(b, fold, false);
  }
  friend IndexValue operator*(const IndexValue &a, const IndexValue &b) {
    if (a.isConstant(0) || b.isConstant(1))
      return a;
    if (b.isConstant(0) || a.isConstant(1))
      return b;
    auto fold = [](int64_t x, int64_t y) { return x * y; };
    return a.binary<arith::MulIOp>(b, fold, a.nonNegative && b.nonNegative);
  }
  friend IndexValue operator+(const IndexValue &a, int64_t b) {
    // Not `a - (-b)`, but the form that `arith` canonicalises to.
    return a + constantLike(a, b);
  }
  friend IndexValue operator-(const IndexValue &a, int64_t b) {
    return a + constantLike(a, -b);
  }
  friend IndexValue operator*(const IndexValue &a, int64_t b) {
    return a * constantLike(a, b);
  }

  friend IndexValue minV(const IndexValue &a, const IndexValue &b) {
    if (a.value == b.value)
      return a;
    auto fold = [](int64_t x, int64_t y) { return ::na::window::minV(x, y); };
    return a.binary<arith::MinSIOp>(b, fold, a.nonNegative && b.nonNegative);
  }
  friend IndexValue maxV(const IndexValue &a, const IndexValue &b) {
    if (a.value == b.value)
      return a;
    // The usual clamp at 0.
    if (a.nonNegative && b.isConstant(0))
      return a;
    if (b.nonNegative && a.isConstant(0))
      return b;
    auto fold = [](int64_t x, int64_t y) { return ::na::window::maxV(x, y); };
    return a.binary<arith::MaxSIOp>(b, fold, a.nonNegative || b.nonNegative);
  }

  /// Divisors are positive.
  friend IndexValue floorDiv(const IndexValue &a, int64_t b) {
    if (b == 1)
      return a;
    auto fold = [](int64_t x, int64_t y) {
      return ::na::window::floorDiv(x, y);
    };
    IndexValue divisor = constantLike(a, b);
    if (a.nonNegative)
      return a.binary<arith::DivUIOp>(divisor, fold, true);
    return a.binary<arith::FloorDivSIOp>(divisor, fold, false);
  }
  friend IndexValue ceilDiv(const IndexValue &a, int64_t b) {
    if (b == 1)
      return a;
    auto fold = [](int64_t x, int64_t y) {
      return ::na::window::ceilDiv(x, y);
    };
    return a.binary<arith::CeilDivSIOp>(constantLike(a, b), fold,
                                        a.nonNegative);
  }

  friend IndexValue constantLike(const IndexValue &a, int64_t c) {
    return IndexValue(*a.builder, a.loc, c);
  }

private:
  bool isConstant(int64_t c) const {
    std::optional<int64_t> constant = getConstant();
    return constant && *constant == c;
  }

  template <class Op, class Fold>
  IndexValue binary(const IndexValue &b, Fold fold,
                    bool resultNonNegative) const {
    std::optional<int64_t> x = getConstant(), y = b.getConstant();
    if (x && y)
      return constantLike(*this, fold(*x, *y));
    Value result =
        builder->createOrFold<Op>(loc, this->getValue(), b.getValue());
    return IndexValue(*builder, loc, result, resultNonNegative);
  }

  OpBuilder *builder;
  Location loc;
  OpFoldResult value;
  bool nonNegative;
};

} // namespace mlir::na

#endif // NA_DIALECT_NA_TRANSFORMS_IRINDEX_H
