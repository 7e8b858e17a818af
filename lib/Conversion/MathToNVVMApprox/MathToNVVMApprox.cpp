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
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::na {
#define GEN_PASS_DEF_MATHTONVVMAPPROXPASS
#include "na/Conversion/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;

namespace {

/// What a function of `math` is on the GPU: intrinsic(x * before) * after.
struct Instruction {
  StringRef intrinsic;
  double before = 1, after = 1;
  /// An approximation of f32 alone; otherwise one for every type.
  bool onlyF32 = true;
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
  // Exact; LLVM has them, but the conversion to NVVM calls libdevice.
  StringRef exact =
      TypeSwitch<Operation *, StringRef>(op)
          .Case([](math::AbsFOp) { return "llvm.fabs"; })
          .Case([](math::CeilOp) { return "llvm.ceil"; })
          .Case([](math::CopySignOp) { return "llvm.copysign"; })
          .Case([](math::FloorOp) { return "llvm.floor"; })
          .Case([](math::RoundOp) { return "llvm.round"; })
          .Case([](math::RoundEvenOp) { return "llvm.roundeven"; })
          .Case([](math::SqrtOp) { return "llvm.sqrt"; })
          .Case([](math::TruncOp) { return "llvm.trunc"; })
          .Default([](Operation *) { return ""; });
  if (!exact.empty())
    return Instruction{exact, 1, 1, /*onlyF32=*/false};
  return std::nullopt;
}

/// `instruction` of scalars.
static Value buildScalar(ImplicitLocOpBuilder &b,
                         const Instruction &instruction, ValueRange operands) {
  Type type = operands.front().getType();
  auto scale = [&](Value value, double factor) -> Value {
    if (factor == 1)
      return value;
    Value constant = arith::ConstantOp::create(b, b.getFloatAttr(type, factor));
    return arith::MulFOp::create(b, value, constant);
  };
  std::string name = instruction.intrinsic.str();
  if (!instruction.onlyF32)
    name += ".f" + std::to_string(type.getIntOrFloatBitWidth());
  SmallVector<Value> scaled;
  for (Value operand : operands)
    scaled.push_back(scale(operand, instruction.before));
  Value result = LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name),
                                               ValueRange(scaled))
                     .getResult(0);
  return scale(result, instruction.after);
}

static LogicalResult convert(RewriterBase &rewriter, Operation *op,
                             const Instruction &instruction) {
  Type type = op->getResult(0).getType();
  Type element = getElementTypeOrSelf(type);
  auto vectorType = dyn_cast<VectorType>(type);
  bool narrow = element.isF16() || element.isBF16();
  if (!(narrow || element.isF32() ||
        (element.isF64() && !instruction.onlyF32)) ||
      (vectorType && vectorType.isScalable()))
    return op->emitOpError("math-to-nvvm-approx: is on ")
           << type << "; the GPU path computes it on f32, f16 and bf16";

  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op->getLoc(), rewriter);
  // f16 and bf16 are computed in f32 and rounded once.
  Type computed = narrow ? b.getF32Type() : element;
  auto like = [&](Type element) -> Type {
    return vectorType ? Type(vectorType.clone(element)) : element;
  };
  SmallVector<Value> operands(op->getOperands());
  if (narrow)
    for (Value &operand : operands)
      operand = arith::ExtFOp::create(b, like(computed), operand);
  Value result;
  if (!vectorType) {
    result = buildScalar(b, instruction, operands);
  } else {
    result = arith::ConstantOp::create(
        b, cast<TypedAttr>(b.getZeroAttr(like(computed))));
    SmallVector<int64_t> strides = computeStrides(vectorType.getShape());
    for (int64_t i = 0, e = vectorType.getNumElements(); i < e; ++i) {
      SmallVector<int64_t> at = delinearize(i, strides);
      SmallVector<Value> lanes;
      for (Value operand : operands)
        lanes.push_back(vector::ExtractOp::create(b, operand, at));
      result = vector::InsertOp::create(b, buildScalar(b, instruction, lanes),
                                        result, at);
    }
  }
  if (narrow)
    result = arith::TruncFOp::create(b, type, result);
  rewriter.replaceOp(op, result);
  return success();
}

namespace {
struct MathToNVVMApprox
    : mlir::na::impl::MathToNVVMApproxPassBase<MathToNVVMApprox> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    WalkResult result = getOperation()->walk([&](Operation *op) {
      if (getInstruction(op)) {
        ops.push_back(op);
      } else if (isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
                 !isa<math::FmaOp>(op) &&
                 isa<FloatType>(getElementTypeOrSelf(op->getResult(0)))) {
        op->emitOpError(
            "math-to-nvvm-approx: is a function that the GPU has no "
            "instruction for");
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    for (Operation *op : ops)
      if (failed(convert(rewriter, op, *getInstruction(op))))
        return signalPassFailure();
  }
};
} // namespace
