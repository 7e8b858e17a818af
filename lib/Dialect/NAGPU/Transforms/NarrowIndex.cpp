//===- NarrowIndex.cpp - Compute positions in 32 bits ---------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NAGPU/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::nagpu {
#define GEN_PASS_DEF_NAGPUNARROWINDEX
#include "na/Dialect/NAGPU/Transforms/Passes.h.inc"
} // namespace mlir::nagpu

using namespace mlir;

static Value castTo(ImplicitLocOpBuilder &b, Value value, Type type) {
  if (value.getType() == type)
    return value;
  // Constants and casts fold.
  if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    if (cast.getIn().getType() == type)
      return cast.getIn();
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    if (!type.isIndex())
      return arith::ConstantOp::create(b, b.getIntegerAttr(type, *constant));
  return arith::IndexCastOp::create(b, type, value);
}

/// Whether the value is no constant that 32 bits cannot hold.
static bool canNarrow(Value value) {
  std::optional<int64_t> constant = getConstantIntValue(value);
  return !constant || llvm::isInt<32>(*constant);
}

static bool isIndexArithmetic(Operation *op) {
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ConstantOp>(op) ||
      op->getName().getDialectNamespace() != "arith")
    return false;
  // The other result is the upper half, which depends on the width.
  if (op->getNumResults() != 1 || !llvm::all_of(op->getOperands(), canNarrow))
    return false;
  auto isIndex = [](Type type) { return type.isIndex(); };
  return llvm::any_of(op->getOperandTypes(), isIndex) ||
         llvm::any_of(op->getResultTypes(), isIndex);
}

/// Gives the operation i32 operands and results, with casts around it.
static void narrow(Operation *op) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  Type i32 = b.getI32Type();
  for (OpOperand &operand : op->getOpOperands())
    if (operand.get().getType().isIndex())
      operand.set(castTo(b, operand.get(), i32));
  b.setInsertionPointAfter(op);
  for (OpResult result : op->getResults()) {
    if (!result.getType().isIndex())
      continue;
    result.setType(i32);
    auto wide = arith::IndexCastOp::create(b, b.getIndexType(), result);
    result.replaceAllUsesExcept(wide, wide);
  }
}

static void narrow(scf::ForOp loop) {
  if (!loop.getInductionVar().getType().isIndex() ||
      !canNarrow(loop.getLowerBound()) || !canNarrow(loop.getUpperBound()) ||
      !canNarrow(loop.getStep()))
    return;
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  Type i32 = b.getI32Type();
  loop.setLowerBound(castTo(b, loop.getLowerBound(), i32));
  loop.setUpperBound(castTo(b, loop.getUpperBound(), i32));
  loop.setStep(castTo(b, loop.getStep(), i32));
  auto iv = cast<BlockArgument>(loop.getInductionVar());
  iv.setType(i32);
  b.setInsertionPointToStart(loop.getBody());
  auto wide = arith::IndexCastOp::create(b, b.getIndexType(), iv);
  iv.replaceAllUsesExcept(wide, wide);
}

namespace {
struct NarrowIndex : nagpu::impl::NAGPUNarrowIndexBase<NarrowIndex> {
  void runOnOperation() override {
    getOperation()->walk([](gpu::LaunchOp launch) {
      launch.walk<WalkOrder::PreOrder>([](Operation *op) {
        if (auto loop = dyn_cast<scf::ForOp>(op))
          narrow(loop);
        else if (isIndexArithmetic(op))
          narrow(op);
      });
    });
  }
};
} // namespace
