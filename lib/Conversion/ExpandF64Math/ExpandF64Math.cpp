//===- ExpandF64Math.cpp - exp, sin and cos in arithmetic -----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"

#include <limits>

namespace mlir::na {
#define GEN_PASS_DEF_EXPANDF64MATHPASS
#include "na/Conversion/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;

namespace {

/// Builds the functions for scalars of f64.
class Expander {
public:
  Expander(RewriterBase &rewriter, Operation *op) : b(op->getLoc(), rewriter) {}

  Value exp(Value x);
  Value sineOrCosine(Value x, bool isSine);

  Value widen(Value x) {
    return x.getType().isF64()
               ? x
               : arith::ExtFOp::create(b, b.getF64Type(), x).getResult();
  }
  Value narrow(Value x, Type type) {
    return type.isF64() ? x : arith::TruncFOp::create(b, type, x).getResult();
  }

private:
  Value number(double value) {
    return arith::ConstantOp::create(b, b.getF64FloatAttr(value));
  }
  Value integer(int64_t value) {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
  }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, x, y, z);
  }
  Value compare(arith::CmpFPredicate predicate, Value x, double y) {
    return arith::CmpFOp::create(b, predicate, x, number(y));
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }
  /// The sum of x^n / n! over n = first, first + step, .. , last, with
  /// alternating signs if `alternate`, divided by x^first; `power` is x^step.
  Value taylor(Value power, int first, int step, int last, bool alternate);

  ImplicitLocOpBuilder b;
};

} // namespace

Value Expander::taylor(Value power, int first, int step, int last,
                       bool alternate) {
  Value result;
  for (int n = last; n >= first; n -= step) {
    double coefficient = alternate && (n - first) / step % 2 == 1 ? -1 : 1;
    for (int factor = 2; factor <= n; ++factor)
      coefficient /= factor;
    result =
        result ? fma(result, power, number(coefficient)) : number(coefficient);
  }
  return result;
}

/// 2^n exp(r) with n = round(x / ln 2), |r| <= ln(2) / 2.
Value Expander::exp(Value x) {
  Value n = math::RoundEvenOp::create(b, mul(x, number(1.4426950408889634074)));
  // ln 2 in two parts, so that r has the precision of x.
  Value r = fma(n, number(-0.693147180369123816490), x);
  r = fma(n, number(-1.90821492927058770002e-10), r);
  Value result = taylor(r, 0, 1, 13, /*alternate=*/false);
  Value exponent = arith::FPToSIOp::create(b, b.getI64Type(), n);
  Value biased = arith::AddIOp::create(b, exponent, integer(1023));
  Value bits = arith::ShLIOp::create(b, biased, integer(52));
  Value power = arith::BitcastOp::create(b, b.getF64Type(), bits);
  result = mul(result, power);
  // Where the exponent does not fit; a NaN fails both comparisons.
  double infinity = std::numeric_limits<double>::infinity();
  result = select(compare(arith::CmpFPredicate::OGT, x, 709.4),
                  number(infinity), result);
  result =
      select(compare(arith::CmpFPredicate::OLT, x, -708.0), number(0), result);
  return select(compare(arith::CmpFPredicate::UNO, x, 0), x, result);
}

/// sin or cos of r or r + pi / 2 with n = round(x / (pi / 2)), |r| <= pi / 4.
Value Expander::sineOrCosine(Value x, bool isSine) {
  Value n =
      math::RoundEvenOp::create(b, mul(x, number(0.63661977236758134308)));
  // pi / 2 in three parts.
  Value r = fma(n, number(-1.5707963267948966192), x);
  r = fma(n, number(-6.1232339957367660359e-17), r);
  r = fma(n, number(1.4973849048591698e-33), r);
  Value square = mul(r, r);
  Value sine = mul(taylor(square, 1, 2, 17, /*alternate=*/true), r);
  Value cosine = taylor(square, 0, 2, 16, /*alternate=*/true);
  // The cosine is a quarter of a turn ahead.
  Value quarter = arith::FPToSIOp::create(b, b.getI64Type(), n);
  if (!isSine)
    quarter = arith::AddIOp::create(b, quarter, integer(1));
  auto hasBit = [&](int64_t bit) -> Value {
    Value masked = arith::AndIOp::create(b, quarter, integer(bit));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, masked,
                                 integer(0));
  };
  Value result = select(hasBit(1), cosine, sine);
  Value negative = arith::NegFOp::create(b, result);
  return select(hasBit(2), negative, result);
}

static bool isExpanded(Operation *op) {
  if (op->getNumResults() != 1)
    return false;
  Type type = op->getResult(0).getType();
  if (isa<math::ExpOp>(op))
    return type.isF64();
  return isa<math::SinOp, math::CosOp>(op) && isa<FloatType>(type) &&
         type.getIntOrFloatBitWidth() <= 64;
}

namespace {
struct ExpandF64Math : mlir::na::impl::ExpandF64MathPassBase<ExpandF64Math> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isExpanded(op))
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : ops) {
      rewriter.setInsertionPoint(op);
      Expander expander(rewriter, op);
      Value x = expander.widen(op->getOperand(0));
      Value result = isa<math::ExpOp>(op)
                         ? expander.exp(x)
                         : expander.sineOrCosine(x, isa<math::SinOp>(op));
      rewriter.replaceOp(op,
                         expander.narrow(result, op->getResult(0).getType()));
    }
  }
};
} // namespace
