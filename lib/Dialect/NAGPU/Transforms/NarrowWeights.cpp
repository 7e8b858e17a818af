//===- NarrowWeights.cpp - Weights in 16 bits -----------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NAGPU/IR/NAGPU.h"
#include "na/Dialect/NAGPU/Transforms/Passes.h"
#include "na/Schedule/WarpgroupBudgets.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

namespace mlir::nagpu {
#define GEN_PASS_DEF_NAGPUNARROWWEIGHTS
#include "na/Dialect/NAGPU/Transforms/Passes.h.inc"
} // namespace mlir::nagpu

using namespace mlir;
using namespace mlir::nagpu;

/// Registers of the sums that the loop around `op` carries.
static int64_t countCarried(Operation *op) {
  int64_t carried = 0;
  if (auto loop = op->getParentOfType<scf::ForOp>())
    for (Type type : loop.getResultTypes())
      if (auto sum = dyn_cast<FragmentType>(type))
        carried += sum.getNumRegisters();
  return carried;
}

/// Whether a product of a warpgroup takes the fragment, behind a fence or not.
static bool isOperand(Value fragment) {
  return llvm::any_of(fragment.getUses(), [&](OpOperand &use) {
    auto fence = dyn_cast<WgmmaFenceOp>(use.getOwner());
    return fence ? isOperand(fence->getResult(use.getOperandNumber()))
                 : isa<WgmmaOp>(use.getOwner());
  });
}

namespace {
struct NarrowWeights : nagpu::impl::NAGPUNarrowWeightsBase<NarrowWeights> {
  void runOnOperation() override {
    getOperation()->walk([&](RolesOp roles) {
      SmallVector<ConvertOp> converts;
      roles.getConsumers().walk([&](ConvertOp op) { converts.push_back(op); });
      for (ConvertOp op : converts)
        narrow(op);
    });
  }

  void narrow(ConvertOp op) {
    FragmentType wide = op.getSource().getType();
    // Scores have as many registers as their gradients.
    if (op.getType().getRole() != Role::Lhs || !isOperand(op.getResult()) ||
        !::na::schedule::needsNarrowWeights(countCarried(op),
                                            2 * wide.getNumRegisters()))
      return;
    for (OpOperand &use :
         llvm::make_early_inc_range(op.getSource().getUses())) {
      Operation *user = use.getOwner();
      if (user->getBlock() != op->getBlock() || user->isBeforeInBlock(op) ||
          user == op)
        continue;
      OpBuilder b(user);
      use.set(ConvertOp::create(b, user->getLoc(), wide, op.getResult()));
    }
  }
};
} // namespace
