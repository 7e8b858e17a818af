//===- RaiseMask.cpp - Which window a mask is -----------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseMask.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <functional>

using namespace mlir;
using namespace mlir::na::raise;
using ::na::window::Axis;

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

namespace {

/// One value per key, or one for all of them.
template <typename T>
struct Row {
  std::vector<T> values;
  T operator[](size_t key) const {
    return values.size() == 1 ? values[0] : values[key];
  }
  size_t size() const { return values.size(); }
};

/// Integers, or floats that are factor * product + offset.
struct Values {
  Row<int64_t> integers;
  Row<double> offset, factor;
};

/// Evaluates expressions for one query and all keys at a time.
class Evaluator {
public:
  Evaluator(const Loops &loops, ArrayRef<unsigned> queries,
            ArrayRef<unsigned> keys)
      : loops(loops), queries(queries), keys(keys), tokens(loops.getSize(keys)),
        weights(loops.size(), unknownLoop), isKey(loops.size(), false),
        queryValues(loops.size(), 0), keyValues(loops.size()) {
    for (unsigned loop : queries)
      weights[loop] = 0;
    int64_t inner = tokens;
    for (unsigned loop : keys) {
      int64_t size = loops.getSize({loop});
      weights[loop] = 0;
      isKey[loop] = true;
      inner /= size;
      for (int64_t key = 0; key < tokens; ++key)
        keyValues[loop].push_back(key / inner % size);
    }
  }

  void setQuery(int64_t query) {
    int64_t inner = tokens;
    for (unsigned loop : queries) {
      int64_t size = loops.getSize({loop});
      inner /= size;
      queryValues[loop] = query / inner % size;
    }
  }

  /// False, with `reason`, if the value cannot be told.
  bool evaluate(const Expr *expr, Values &values);
  std::string reason;

private:
  static constexpr int64_t unknownLoop = -1;

  bool fail(const Twine &message) {
    if (reason.empty())
      reason = message.str();
    return false;
  }
  bool dependsOnQuery(const Expr *expr);
  bool evaluateAnew(const Expr *expr, Values &values);
  bool getPosition(ArrayRef<unsigned> index, Row<int64_t> &row);
  bool evaluateTable(const Expr *expr, Values &values);
  bool evaluateInteger(Operation *op, ArrayRef<Values> in, Values &out);
  bool evaluateFloat(Operation *op, ArrayRef<Values> in, Values &out);
  bool evaluateSelect(ArrayRef<Values> in, bool isFloat, Values &out);

  const Loops &loops;
  ArrayRef<unsigned> queries, keys;
  int64_t tokens;
  std::vector<int64_t> weights;
  std::vector<bool> isKey;
  std::vector<int64_t> queryValues;
  std::vector<std::vector<int64_t>> keyValues;
  llvm::DenseMap<const Expr *, bool> queryDependent;
  /// What is the same for all queries.
  llvm::DenseMap<const Expr *, Values> keyOnly;
};

} // namespace

/// f(a, b) per key.
template <typename R, typename T, typename Fn>
static void apply(const Row<T> &a, const Row<T> &b, Row<R> &out, Fn f) {
  out.values.resize(std::max(a.size(), b.size()));
  for (size_t key = 0; key < out.size(); ++key)
    out.values[key] = f(a[key], b[key]);
}

static unsigned getWidth(Type type) {
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

/// The value as an integer of `width` bits: i1 is 0 or 1, others have a sign.
static int64_t wrap(int64_t value, unsigned width) {
  return width == 1 ? value & 1 : llvm::SignExtend64(value, width);
}

static uint64_t toUnsigned(int64_t value, unsigned width) {
  return uint64_t(value) & llvm::maskTrailingOnes<uint64_t>(width);
}

static int64_t toSigned(int64_t value, unsigned width) {
  return width == 1 ? -value : value;
}

bool Evaluator::getPosition(ArrayRef<unsigned> index, Row<int64_t> &row) {
  row.values.assign(1, 0);
  for (unsigned loop : loops.resolve(index)) {
    if (weights[loop] == unknownLoop)
      return fail("the mask depends on more than the tokens");
    if (isKey[loop])
      row.values.assign(tokens, 0);
  }
  for (unsigned loop : loops.resolve(index)) {
    int64_t size = loops.getSize({loop});
    for (size_t key = 0; key < row.size(); ++key)
      row.values[key] =
          row.values[key] * size +
          (isKey[loop] ? keyValues[loop][key] : queryValues[loop]);
  }
  return true;
}

bool Evaluator::evaluateTable(const Expr *expr, Values &values) {
  Row<int64_t> at{{0}};
  for (auto [index, size] :
       llvm::zip(expr->indices, expr->table.getType().getShape())) {
    Row<int64_t> position, next;
    if (!getPosition(index, position))
      return false;
    apply(at, position, next,
          [size = size](int64_t a, int64_t b) { return a * size + b; });
    at = std::move(next);
  }
  if (auto type = dyn_cast<FloatType>(expr->type)) {
    auto numbers = expr->table.getValues<APFloat>();
    values.factor.values.assign(1, 0);
    for (int64_t element : at.values) {
      APFloat number = numbers[element];
      bool losesInfo;
      number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                     &losesInfo);
      values.offset.values.push_back(number.convertToDouble());
    }
    return true;
  }
  if (!expr->type.isIntOrIndex() || getWidth(expr->type) > 64)
    return fail("the mask is a table of another type");
  auto integers = expr->table.getValues<APInt>();
  unsigned width = getWidth(expr->type);
  for (int64_t element : at.values)
    values.integers.values.push_back(
        wrap(integers[element].getSExtValue(), width));
  return true;
}

bool Evaluator::dependsOnQuery(const Expr *expr) {
  auto [it, isNew] = queryDependent.try_emplace(expr, false);
  if (!isNew)
    return it->second;
  bool depends = llvm::any_of(loops.resolve(expr->indices),
                              [&](unsigned loop) { return !isKey[loop]; });
  for (const Expr *operand : expr->operands)
    depends |= dependsOnQuery(operand);
  return queryDependent[expr] = depends;
}

bool Evaluator::evaluate(const Expr *expr, Values &values) {
  if (expr->kind != Expr::Kind::Scalar || dependsOnQuery(expr))
    return evaluateAnew(expr, values);
  auto [it, isNew] = keyOnly.try_emplace(expr);
  if (isNew) {
    Values result;
    if (!evaluateAnew(expr, result))
      return false;
    keyOnly[expr] = std::move(result);
  }
  values = keyOnly[expr];
  return true;
}

bool Evaluator::evaluateAnew(const Expr *expr, Values &values) {
  switch (expr->kind) {
  case Expr::Kind::Constant:
    values.integers.values.assign(1, expr->integer);
    values.offset.values.assign(1, expr->number);
    values.factor.values.assign(1, 0);
    return true;
  case Expr::Kind::Product:
    values.offset.values.assign(1, 0);
    values.factor.values.assign(1, 1);
    return true;
  case Expr::Kind::Table:
    return evaluateTable(expr, values);
  case Expr::Kind::Position:
    return getPosition(expr->indices[0], values.integers);
  case Expr::Kind::Scalar:
    break;
  default:
    return fail("the logits are not a known function of the tokens");
  }
  SmallVector<Values, 2> in(expr->operands.size());
  for (auto [operand, result] : llvm::zip(expr->operands, in))
    if (!evaluate(operand, result))
      return false;
  if (isa<arith::SelectOp>(expr->op))
    return evaluateSelect(in, isa<FloatType>(expr->type), values);
  if (isa<FloatType>(expr->type))
    return evaluateFloat(expr->op, in, values);
  if (expr->type.isIntOrIndex() && getWidth(expr->type) <= 64)
    return evaluateInteger(expr->op, in, values);
  return fail("the logits are computed by '" +
              expr->op->getName().getStringRef() + "'");
}

bool Evaluator::evaluateSelect(ArrayRef<Values> in, bool isFloat, Values &out) {
  auto select = [&](const auto &a, const auto &b, auto &row) {
    row.values.resize(std::max({in[0].integers.size(), a.size(), b.size()}));
    for (size_t key = 0; key < row.size(); ++key)
      row.values[key] = in[0].integers[key] ? a[key] : b[key];
  };
  if (!isFloat) {
    select(in[1].integers, in[2].integers, out.integers);
    return true;
  }
  select(in[1].offset, in[2].offset, out.offset);
  select(in[1].factor, in[2].factor, out.factor);
  return true;
}

static bool compareFloats(arith::CmpFPredicate predicate, double a, double b) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::AlwaysTrue:
    return true;
  case P::OEQ:
    return a == b;
  case P::OGT:
    return a > b;
  case P::OGE:
    return a >= b;
  case P::OLT:
    return a < b;
  case P::OLE:
    return a <= b;
  case P::ONE:
    return !unordered && a != b;
  case P::ORD:
    return !unordered;
  case P::UEQ:
    return unordered || a == b;
  case P::UGT:
    return unordered || a > b;
  case P::UGE:
    return unordered || a >= b;
  case P::ULT:
    return unordered || a < b;
  case P::ULE:
    return unordered || a <= b;
  case P::UNE:
    return unordered || a != b;
  case P::UNO:
    return unordered;
  }
  return false;
}

bool Evaluator::evaluateInteger(Operation *op, ArrayRef<Values> in,
                                Values &out) {
  Type operandType = getElementTypeOrSelf(op->getOperand(0).getType());
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    for (const Values &operand : in)
      for (double factor : operand.factor.values)
        if (factor != 0)
          return fail("a comparison depends on the products");
    apply(in[0].offset, in[1].offset, out.integers, [&](double a, double b) {
      return int64_t(compareFloats(compare.getPredicate(), a, b));
    });
    return true;
  }
  if (!operandType.isIntOrIndex() || getWidth(operandType) > 64)
    return fail("the mask is computed by '" + op->getName().getStringRef() +
                "'");
  unsigned width = getWidth(operandType);
  unsigned resultWidth = getWidth(getElementTypeOrSelf(op->getResult(0)));
  bool defined = true;
  auto binary = [&](auto f) {
    apply(in[0].integers, in[1].integers, out.integers,
          [&](int64_t a, int64_t b) { return wrap(f(a, b), resultWidth); });
    return true;
  };
  auto unary = [&](auto f) {
    apply(in[0].integers, in[0].integers, out.integers,
          [&](int64_t a, int64_t) { return wrap(f(a), resultWidth); });
    return true;
  };
  // Of signed numbers of which the second must not be 0, nor overflow.
  auto divide = [&](auto f) {
    return binary([&](int64_t a, int64_t b) -> int64_t {
      a = toSigned(a, width), b = toSigned(b, width);
      if (b == 0 || (b == -1 && a == llvm::minIntN(width))) {
        defined = false;
        return 0;
      }
      return f(a, b);
    });
  };
  auto divideUnsigned = [&](auto f) {
    return binary([&](int64_t a, int64_t b) -> int64_t {
      defined &= b != 0;
      return b == 0 ? 0 : f(toUnsigned(a, width), toUnsigned(b, width));
    });
  };
  auto shift = [&](auto f) {
    return binary([&](int64_t a, int64_t b) -> int64_t {
      bool inside = toUnsigned(b, width) < width;
      defined &= inside;
      return inside ? f(a, toUnsigned(b, width)) : 0;
    });
  };
  using I = int64_t;
  using U = uint64_t;
  bool known =
      llvm::TypeSwitch<Operation *, bool>(op)
          .Case([&](arith::AddIOp) {
            return binary([](I a, I b) { return I(U(a) + U(b)); });
          })
          .Case([&](arith::SubIOp) {
            return binary([](I a, I b) { return I(U(a) - U(b)); });
          })
          .Case([&](arith::MulIOp) {
            return binary([](I a, I b) { return I(U(a) * U(b)); });
          })
          .Case([&](arith::DivSIOp) {
            return divide([](I a, I b) { return a / b; });
          })
          .Case([&](arith::FloorDivSIOp) {
            return divide([](I a, I b) {
              return a / b - (a % b != 0 && (a < 0) != (b < 0));
            });
          })
          .Case([&](arith::CeilDivSIOp) {
            return divide([](I a, I b) {
              return a / b + (a % b != 0 && (a < 0) == (b < 0));
            });
          })
          .Case([&](arith::RemSIOp) {
            return divide([](I a, I b) { return a % b; });
          })
          .Case([&](arith::DivUIOp) {
            return divideUnsigned([](U a, U b) { return I(a / b); });
          })
          .Case([&](arith::CeilDivUIOp) {
            return divideUnsigned(
                [](U a, U b) { return I(a / b + (a % b != 0)); });
          })
          .Case([&](arith::RemUIOp) {
            return divideUnsigned([](U a, U b) { return I(a % b); });
          })
          .Case([&](arith::ShLIOp) {
            return shift([](I a, U b) { return I(U(a) << b); });
          })
          .Case([&](arith::ShRSIOp) {
            return shift([&](I a, U b) { return toSigned(a, width) >> b; });
          })
          .Case([&](arith::ShRUIOp) {
            return shift(
                [&](I a, U b) { return I(toUnsigned(a, width) >> b); });
          })
          .Case([&](arith::AndIOp) {
            return binary([](I a, I b) { return a & b; });
          })
          .Case([&](arith::OrIOp) {
            return binary([](I a, I b) { return a | b; });
          })
          .Case([&](arith::XOrIOp) {
            return binary([](I a, I b) { return a ^ b; });
          })
          .Case([&](arith::MinSIOp) {
            return binary([&](I a, I b) {
              return std::min(toSigned(a, width), toSigned(b, width));
            });
          })
          .Case([&](arith::MaxSIOp) {
            return binary([&](I a, I b) {
              return std::max(toSigned(a, width), toSigned(b, width));
            });
          })
          .Case([&](arith::MinUIOp) {
            return binary([&](I a, I b) {
              return toUnsigned(a, width) < toUnsigned(b, width) ? a : b;
            });
          })
          .Case([&](arith::MaxUIOp) {
            return binary([&](I a, I b) {
              return toUnsigned(a, width) < toUnsigned(b, width) ? b : a;
            });
          })
          .Case([&](arith::CmpIOp compare) {
            // Signed numbers compare as they are, but for i1.
            auto asSigned = [&](auto f) {
              return binary([&, f](I a, I b) {
                return I(f(toSigned(a, width), toSigned(b, width)));
              });
            };
            auto asUnsigned = [&](auto f) {
              return binary([&, f](I a, I b) {
                return I(f(toUnsigned(a, width), toUnsigned(b, width)));
              });
            };
            switch (compare.getPredicate()) {
            case arith::CmpIPredicate::eq:
              return asSigned(std::equal_to<I>());
            case arith::CmpIPredicate::ne:
              return asSigned(std::not_equal_to<I>());
            case arith::CmpIPredicate::slt:
              return asSigned(std::less<I>());
            case arith::CmpIPredicate::sle:
              return asSigned(std::less_equal<I>());
            case arith::CmpIPredicate::sgt:
              return asSigned(std::greater<I>());
            case arith::CmpIPredicate::sge:
              return asSigned(std::greater_equal<I>());
            case arith::CmpIPredicate::ult:
              return asUnsigned(std::less<U>());
            case arith::CmpIPredicate::ule:
              return asUnsigned(std::less_equal<U>());
            case arith::CmpIPredicate::ugt:
              return asUnsigned(std::greater<U>());
            case arith::CmpIPredicate::uge:
              return asUnsigned(std::greater_equal<U>());
            }
            return false;
          })
          .Case<arith::IndexCastOp, arith::ExtSIOp>([&](auto) {
            return unary([&](I a) { return toSigned(a, width); });
          })
          .Case<arith::IndexCastUIOp, arith::ExtUIOp>([&](auto) {
            return unary([&](I a) { return I(toUnsigned(a, width)); });
          })
          .Case([&](arith::TruncIOp) { return unary([](I a) { return a; }); })
          .Case([&](math::AbsIOp) {
            return unary([&](I a) {
              I value = toSigned(a, width);
              return value < 0 ? I(0 - U(value)) : value;
            });
          })
          .Default([](Operation *) { return false; });
  if (!known)
    return fail("the mask is computed by '" + op->getName().getStringRef() +
                "'");
  return defined || fail("the mask divides by zero or overflows");
}

bool Evaluator::evaluateFloat(Operation *op, ArrayRef<Values> in, Values &out) {
  auto isNumber = [](const Values &values) {
    return llvm::all_of(values.factor.values,
                        [](double factor) { return factor == 0; });
  };
  auto combine = [&](auto f) {
    apply(in[0].offset, in[1].offset, out.offset, f);
    apply(in[0].factor, in[1].factor, out.factor, f);
    return true;
  };
  auto numbers = [&](auto f) {
    if (!llvm::all_of(in, isNumber))
      return fail("'" + op->getName().getStringRef() +
                  "' is applied to the products");
    out.factor.values.assign(1, 0);
    apply(in[0].offset, in.back().offset, out.offset, f);
    return true;
  };
  auto convert = [&](bool isSigned) {
    unsigned width = getWidth(getElementTypeOrSelf(op->getOperand(0)));
    out.factor.values.assign(1, 0);
    apply(in[0].integers, in[0].integers, out.offset,
          [&](int64_t a, int64_t) -> double {
            if (isSigned)
              return double(toSigned(a, width));
            return double(toUnsigned(a, width));
          });
    return true;
  };
  // 0 times an infinite number is no part of a product.
  auto times = [](double factor, double number) {
    return factor == 0 ? 0 : factor * number;
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](arith::AddFOp) {
        return combine([](double a, double b) { return a + b; });
      })
      .Case([&](arith::SubFOp) {
        return combine([](double a, double b) { return a - b; });
      })
      .Case([&](arith::MulFOp) {
        bool first = isNumber(in[0]);
        if (!first && !isNumber(in[1]))
          return fail("products are multiplied with each other");
        const Values &number = in[first ? 0 : 1], &other = in[first ? 1 : 0];
        apply(other.factor, number.offset, out.factor, times);
        apply(other.offset, number.offset, out.offset,
              [](double a, double b) { return a * b; });
        return true;
      })
      .Case([&](arith::DivFOp) {
        if (!isNumber(in[1]))
          return fail("the logits are divided by products");
        apply(in[0].factor, in[1].offset, out.factor,
              [](double a, double b) { return a == 0 ? 0 : a / b; });
        apply(in[0].offset, in[1].offset, out.offset,
              [](double a, double b) { return a / b; });
        return true;
      })
      .Case([&](arith::NegFOp) {
        apply(in[0].factor, in[0].factor, out.factor,
              [](double a, double) { return -a; });
        apply(in[0].offset, in[0].offset, out.offset,
              [](double a, double) { return -a; });
        return true;
      })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>([&](auto) {
        return numbers([](double a, double b) { return std::max(a, b); });
      })
      .Case<arith::MinimumFOp, arith::MinNumFOp>([&](auto) {
        return numbers([](double a, double b) { return std::min(a, b); });
      })
      .Case([&](math::AbsFOp) {
        return numbers([](double a, double) { return std::fabs(a); });
      })
      .Case([&](arith::SIToFPOp) { return convert(true); })
      .Case([&](arith::UIToFPOp) { return convert(false); })
      .Default([&](Operation *) {
        return fail("the logits are computed by '" +
                    op->getName().getStringRef() + "'");
      });
}

std::optional<Mask>
mlir::na::raise::evaluateMask(const Loops &loops, ArrayRef<unsigned> queries,
                              ArrayRef<unsigned> keys, const Expr *logit,
                              double maskedBelow, std::string &reason) {
  Mask mask;
  mask.tokens = loops.getSize(keys);
  mask.visible.resize(mask.tokens * mask.tokens);
  Evaluator evaluator(loops, queries, keys);
  std::optional<double> scale;
  for (int64_t query = 0; query < mask.tokens; ++query) {
    Values values;
    evaluator.setQuery(query);
    if (!evaluator.evaluate(logit, values)) {
      reason = evaluator.reason;
      return std::nullopt;
    }
    for (int64_t key = 0; key < mask.tokens; ++key) {
      double offset = values.offset[key], factor = values.factor[key];
      if (!std::isfinite(factor)) {
        reason = "the scale is not finite";
        return std::nullopt;
      }
      if (offset <= maskedBelow)
        continue;
      if (offset != 0) {
        reason = "the logits have a bias or a mask that hides too little";
        return std::nullopt;
      }
      if (scale && factor != *scale) {
        reason = "the scale is not the same everywhere";
        return std::nullopt;
      }
      scale = factor;
      mask.visible.set(query * mask.tokens + key);
    }
  }
  if (!scale) {
    reason = "the mask hides every key";
    return std::nullopt;
  }
  mask.scale = *scale;
  return mask;
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

namespace {
/// The keys first, first + step, .. up to last.
struct Progression {
  int64_t first, last, count;
};
} // namespace

/// Whether the rows, which are progressions of step axis.dilation, are the
/// windows of `axis`.
static bool matches(const Axis &axis, ArrayRef<Progression> rows) {
  int64_t length = rows.size();
  if (::na::window::checkAxis(axis, 0, length))
    return false;
  for (int64_t query = 0; query < length; ++query) {
    int64_t residue = query % axis.dilation;
    ::na::window::Range<int64_t> range = ::na::window::keyRange(
        axis, ::na::window::classSize(axis, length, residue),
        query / axis.dilation);
    if (rows[query].first != residue + range.begin * axis.dilation ||
        rows[query].last != residue + (range.end - 1) * axis.dilation)
      return false;
  }
  return true;
}

/// The window of an axis of `length` tokens that sees what `sees` says.
static std::optional<Axis>
findAxis(int64_t length, llvm::function_ref<bool(int64_t, int64_t)> sees) {
  SmallVector<Progression> rows;
  Axis axis;
  int64_t longest = 0;
  for (int64_t query = 0; query < length; ++query) {
    Progression row{0, 0, 0};
    int64_t step = 0;
    for (int64_t key = 0; key < length; ++key) {
      if (!sees(query, key))
        continue;
      if (row.count == 0)
        row.first = key;
      else if (step == 0)
        step = key - row.last;
      else if (step != key - row.last)
        return std::nullopt;
      row.last = key;
      ++row.count;
    }
    // A row of one key has no step; all others have the same.
    if (row.count == 0 || (step != 0 && longest > 1 && step != axis.dilation))
      return std::nullopt;
    if (step != 0)
      axis.dilation = step;
    longest = std::max(longest, row.count);
    rows.push_back(row);
  }
  axis.window = longest;
  // Only a causal window can be shorter than another.
  axis.causal = rows[0].count < longest;
  for (axis.stride = 1; axis.stride <= longest; ++axis.stride) {
    axis.window = longest;
    if (matches(axis, rows))
      return axis;
    // No full causal window may be there where the last stride group is cut.
    for (axis.window = longest + 1;
         axis.causal && axis.window < longest + axis.stride &&
         axis.window <= length / axis.dilation;
         ++axis.window)
      if (matches(axis, rows))
        return axis;
  }
  return std::nullopt;
}

/// The window on tokens of this shape that is the mask.
static std::optional<Windows> findWindows(const Mask &mask,
                                          ArrayRef<int64_t> shape) {
  Windows windows;
  windows.shape.assign(shape.begin(), shape.end());
  std::vector<llvm::BitVector> seen;
  // A query sees itself, so that each axis is seen where the others do not
  // move.
  int64_t inner = mask.tokens;
  for (int64_t length : shape) {
    inner /= length;
    llvm::BitVector &bits = seen.emplace_back(length * length);
    for (int64_t query = 0; query < length; ++query)
      for (int64_t key = 0; key < length; ++key)
        if (mask.visible[query * inner * mask.tokens + key * inner])
          bits.set(query * length + key);
    std::optional<Axis> axis =
        findAxis(length, [&, length](int64_t query, int64_t key) {
          return bits[query * length + key];
        });
    if (!axis)
      return std::nullopt;
    windows.axes.push_back(*axis);
  }
  // What an axis hides of a query is hidden, and nothing else.
  llvm::BitVector row(mask.tokens);
  for (int64_t query = 0; query < mask.tokens; ++query) {
    row.set();
    inner = mask.tokens;
    for (auto [length, bits] : llvm::zip(shape, seen)) {
      inner /= length;
      int64_t first = query / inner % length * length;
      for (int64_t block = 0; block < mask.tokens / inner; ++block)
        if (!bits[first + block % length])
          row.reset(block * inner, (block + 1) * inner);
    }
    for (int64_t key = 0; key < mask.tokens; ++key)
      if (row[key] != mask.visible[query * mask.tokens + key])
        return std::nullopt;
  }
  return windows;
}

std::optional<Windows>
mlir::na::raise::findWindows(const Mask &mask,
                             ArrayRef<SmallVector<int64_t>> shapes) {
  for (ArrayRef<int64_t> shape : shapes)
    if (shape.size() <= 3)
      if (std::optional<Windows> windows = ::findWindows(mask, shape))
        return windows;
  if (std::optional<Windows> windows = ::findWindows(mask, {mask.tokens}))
    return windows;
  SmallVector<int64_t> divisors;
  for (int64_t size = 2; size < mask.tokens; ++size)
    if (mask.tokens % size == 0)
      divisors.push_back(size);
  for (int64_t size : divisors)
    if (std::optional<Windows> windows =
            ::findWindows(mask, {size, mask.tokens / size}))
      return windows;
  for (int64_t outer : divisors)
    for (int64_t middle : divisors)
      if (mask.tokens % (outer * middle) == 0 && outer * middle < mask.tokens)
        if (std::optional<Windows> windows = ::findWindows(
                mask, {outer, middle, mask.tokens / (outer * middle)}))
          return windows;
  return std::nullopt;
}
