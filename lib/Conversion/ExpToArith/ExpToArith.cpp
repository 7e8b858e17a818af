//===- ExpToArith.cpp - Expand f32 exponentials to arithmetic ---*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::na {
#define GEN_PASS_DEF_EXPTOARITHPASS
#include "na/Conversion/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;

namespace {

struct ExpandExp : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32() ||
        (!isa<VectorType>(type) && !isa<FloatType>(type)))
      return rewriter.notifyMatchFailure(op, "not f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);

    auto integerType = [&]() -> Type {
      if (auto vector = dyn_cast<VectorType>(type))
        return vector.clone(b.getI32Type());
      return b.getI32Type();
    }();
    auto constant = [&](float value) -> Value {
      TypedAttr attr = b.getF32FloatAttr(value);
      if (auto vector = dyn_cast<VectorType>(type))
        attr = DenseElementsAttr::get(vector, attr);
      return arith::ConstantOp::create(b, attr);
    };
    auto integer = [&](int32_t value) -> Value {
      TypedAttr attr = b.getI32IntegerAttr(value);
      if (auto vector = dyn_cast<VectorType>(integerType))
        attr = DenseElementsAttr::get(vector, attr);
      return arith::ConstantOp::create(b, attr);
    };
    auto fma = [&](Value x, Value y, Value z) -> Value {
      return math::FmaOp::create(b, x, y, z);
    };

    // exp(x) = 2^n exp(r) with n = round(x / ln 2) and |r| <= ln(2) / 2.
    Value x = op.getOperand();
    // Above this the result is infinite; the comparison keeps a NaN.
    Value large = constant(89.0f);
    Value above = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, large, x);
    Value clamped = arith::SelectOp::create(b, above, large, x);
    // Adding 1.5 * 2^23 rounds to an integer, which the low bits then hold.
    Value magic = constant(12582912.0f);
    Value shifted = fma(clamped, constant(1.44269504f), magic);
    Value n = arith::SubFOp::create(b, shifted, magic);
    // ln 2 in two parts; n times the first is exact.
    Value r = fma(n, constant(-0.693145751953125f), clamped);
    r = fma(n, constant(-1.42860682030941723212e-6f), r);
    // Minimax polynomial of exp on [-ln(2)/2, ln(2)/2] (relative error 1.9e-9),
    // doubled, because 2^(n - 1) still exists where 2^n does not.
    constexpr float coefficients[] = {0.0013836742145940661f,
                                      0.008374898694455624f,
                                      0.041668232530355453f,
                                      0.16666419804096222f,
                                      0.49999991059303284f,
                                      1.0f,
                                      1.0f};
    Value result = constant(2 * coefficients[0]);
    for (float coefficient : ArrayRef(coefficients).drop_front())
      result = fma(result, r, constant(2 * coefficient));
    Value bits = arith::ShLIOp::create(
        b, arith::BitcastOp::create(b, integerType, shifted).getResult(),
        integer(23));
    Value power = arith::BitcastOp::create(
        b, type,
        arith::AddIOp::create(b, bits, integer(126 << 23)).getResult());
    result = arith::MulFOp::create(b, result, power);
    // From n = -126 on 2^(n - 1) is subnormal; such results are 0. A NaN is
    // kept.
    Value tiny = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x,
                                       constant(-86.98f));
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, tiny, constant(0.0f),
                                                 result);
    return success();
  }
};

struct ExpToArith : mlir::na::impl::ExpToArithPassBase<ExpToArith> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandExp>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
