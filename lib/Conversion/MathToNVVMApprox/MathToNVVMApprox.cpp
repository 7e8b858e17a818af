//===- MathToNVVMApprox.cpp - Functions that the GPU computes itself ------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::na {
#define GEN_PASS_DEF_MATHTONVVMAPPROXPASS
#include "na/Conversion/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;

namespace {

/// What a function of `math` is on the GPU: instruction(x * before) * after.
struct Instruction {
  StringRef intrinsic;
  double before = 1, after = 1;
};

constexpr double log2OfE = 1.4426950408889634074;
constexpr double logOf2 = 0.69314718055994530942;
constexpr double log10Of2 = 0.30102999566398119521;

} // namespace

/// The instruction for `op`, if there is one. None of them flushes subnormal
/// numbers to zero.
static std::optional<Instruction> getInstruction(Operation *op) {
  if (isa<math::ExpOp>(op))
    return Instruction{"llvm.nvvm.ex2.approx.f32", log2OfE, 1};
  if (isa<math::Exp2Op>(op))
    return Instruction{"llvm.nvvm.ex2.approx.f32"};
  if (isa<math::LogOp>(op))
    return Instruction{"llvm.nvvm.lg2.approx.f", 1, logOf2};
  if (isa<math::Log2Op>(op))
    return Instruction{"llvm.nvvm.lg2.approx.f"};
  if (isa<math::Log10Op>(op))
    return Instruction{"llvm.nvvm.lg2.approx.f", 1, log10Of2};
  if (isa<math::RsqrtOp>(op))
    return Instruction{"llvm.nvvm.rsqrt.approx.f"};
  return std::nullopt;
}

/// `instruction` of one f32.
static Value buildScalar(ImplicitLocOpBuilder &b,
                         const Instruction &instruction, Value x) {
  Type f32 = b.getF32Type();
  auto scale = [&](Value value, double factor) -> Value {
    if (factor == 1)
      return value;
    Value constant = arith::ConstantOp::create(b, b.getFloatAttr(f32, factor));
    return arith::MulFOp::create(b, value, constant);
  };
  Value result = LLVM::CallIntrinsicOp::create(
                     b, f32, b.getStringAttr(instruction.intrinsic),
                     scale(x, instruction.before))
                     .getResult(0);
  return scale(result, instruction.after);
}

static LogicalResult convert(RewriterBase &rewriter, Operation *op,
                             const Instruction &instruction) {
  Type type = op->getResult(0).getType();
  Type element = getElementTypeOrSelf(type);
  auto vectorType = dyn_cast<VectorType>(type);
  if (!(element.isF32() || element.isF16() || element.isBF16()) ||
      (vectorType && vectorType.isScalable()))
    return op->emitOpError("math-to-nvvm-approx: is on ")
           << type << "; the GPU path computes it on f32, f16 and bf16";

  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op->getLoc(), rewriter);
  // f16 and bf16 are computed in f32 and rounded once.
  auto like = [&](Type element) -> Type {
    return vectorType ? Type(vectorType.clone(element)) : element;
  };
  Value x = op->getOperand(0);
  if (!element.isF32())
    x = arith::ExtFOp::create(b, like(b.getF32Type()), x);
  Value result;
  if (!vectorType) {
    result = buildScalar(b, instruction, x);
  } else {
    result = arith::ConstantOp::create(b, b.getZeroAttr(like(b.getF32Type())));
    SmallVector<int64_t> strides = computeStrides(vectorType.getShape());
    for (int64_t i = 0, e = vectorType.getNumElements(); i < e; ++i) {
      SmallVector<int64_t> at = delinearize(i, strides);
      Value lane = vector::ExtractOp::create(b, x, at);
      result = vector::InsertOp::create(b, buildScalar(b, instruction, lane),
                                        result, at);
    }
  }
  if (!element.isF32())
    result = arith::TruncFOp::create(b, type, result);
  rewriter.replaceOp(op, result);
  return success();
}

namespace {
struct MathToNVVMApprox
    : mlir::na::impl::MathToNVVMApproxPassBase<MathToNVVMApprox> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (getInstruction(op))
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : ops)
      if (failed(convert(rewriter, op, *getInstruction(op))))
        return signalPassFailure();
  }
};
} // namespace
