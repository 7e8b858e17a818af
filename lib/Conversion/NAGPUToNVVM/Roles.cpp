//===- Roles.cpp - Branches of warpgroups with roles ------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "na/Dialect/NAGPU/IR/RegisterBudgets.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::nagpu;

/// Moves the operations of `region` to the end of `block`, before its
/// terminator.
static void moveBody(Region &region, Block *block) {
  Block &body = region.front();
  block->getOperations().splice(block->getTerminator()->getIterator(),
                                body.getOperations());
}

static void lowerRole(RolesOp op) {
  OpBuilder builder(op);
  // The whole CTA takes part, so the builder must not see the roles.
  ThreadBuilder b(op->getParentOp(), builder, op.getThreads() / warpSize);
  b.setLoc(op.getLoc());
  b.setInsertionPoint(op);
  // Outlining knows the threads of a launch.
  auto func = op->getParentOfType<gpu::GPUFuncOp>();
  if (func)
    func.setKnownBlockSize(
        std::array<int32_t, 3>{int32_t(op.getThreads()), 1, 1});
  gpu::BarrierOp::create(b);
  Value thread = b.thread();
  // From a lane, so that ptxas knows it to be the same for the whole warp.
  Value warpgroup = b.shuffle(b.div(thread, warpgroupSize), b.constant(0));
  auto equals = [&](Value value, int64_t constant) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, value,
                                 b.constant(constant));
  };
  int64_t ctas = getCTAsPerMultiprocessor(op);
  auto setRegisters = [&](StringRef change, int64_t count) {
    if (!changesRegisters(op))
      return;
    b.assembly(
        ("setmaxnreg." + change + ".sync.aligned.u32 " + Twine(count) + ";")
            .str(),
        {});
    std::prev(b.getInsertionPoint())
        ->setDiscardableAttr(registersAttrName, b.getI32IntegerAttr(ctas));
  };
  auto branch =
      scf::IfOp::create(b, equals(warpgroup, 0), /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.thenBlock());
  setRegisters("dec", op.getProducerRegisters());
  Value warp = b.shuffle(b.div(thread, warpSize), b.constant(0));
  for (auto [number, producer] : llvm::enumerate(op.getProducers())) {
    auto guard = scf::IfOp::create(b, equals(warp, number),
                                   /*withElseRegion=*/false);
    moveBody(producer, guard.thenBlock());
  }
  b.setInsertionPointToStart(branch.elseBlock());
  setRegisters("inc", op.getConsumerRegisters());
  Value group = b.cast(b.add(warpgroup, -1), b.getIndexType());
  op.getConsumers().getArgument(0).replaceAllUsesWith(group);
  moveBody(op.getConsumers(), branch.elseBlock());
  if (func)
    keepRegisterBudgets(func);
  op.erase();
}

void nagpu::keepRegisterBudgets(gpu::GPUFuncOp func) {
  // The assembly says how many CTAs share a multiprocessor.
  IntegerAttr ctas = Builder(func).getI32IntegerAttr(1);
  func.walk([&](LLVM::InlineAsmOp op) {
    if (auto attr = op->getAttrOfType<IntegerAttr>(registersAttrName))
      ctas = attr;
  });
  func->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), ctas);
}

void nagpu::lowerRoles(Operation *op) {
  SmallVector<RolesOp> roles;
  op->walk([&](RolesOp role) { roles.push_back(role); });
  llvm::for_each(roles, lowerRole);
}
