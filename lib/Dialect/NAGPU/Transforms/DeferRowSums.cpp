//===- DeferRowSums.cpp - Sum rows over lanes once, behind loops ----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NAGPU/IR/NAGPU.h"
#include "na/Dialect/NAGPU/Transforms/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

namespace mlir::nagpu {
#define GEN_PASS_DEF_NAGPUDEFERROWSUMS
#include "na/Dialect/NAGPU/Transforms/Passes.h.inc"
} // namespace mlir::nagpu

using namespace mlir;
using namespace mlir::nagpu;

/// Whether `value` is zero in all elements, and so a sum of zeros.
static bool isZero(Value value) {
  auto splat = value.getDefiningOp<SplatOp>();
  return splat && matchPattern(splat.getValue(), m_AnyZeroFloat());
}

static ReduceOp getSum(Value value) {
  auto reduce = value.getDefiningOp<ReduceOp>();
  return reduce && reduce.getKind() == Kind::Add ? reduce : ReduceOp();
}

namespace {
/// The values that become parts of sums together with what a loop carries:
/// everything that it flows into and comes from, up to sums and zeros.
class Web {
public:
  /// Follows the value carried in place `number` of `loop`; fails if one of the
  /// values cannot be in parts.
  LogicalResult collect(scf::ForOp loop, unsigned number) {
    type = dyn_cast<FragmentType>(loop.getRegionIterArg(number).getType());
    if (!type || type.getRole() != Role::Row || !type.getElementType().isF32())
      return failure();
    add(loop.getRegionIterArg(number));
    // The list grows.
    for (size_t i = 0; i < values.size(); ++i)
      if (failed(visitSource(values[i])) || failed(visitUses(values[i])))
        return failure();
    for (MapOp map : maps)
      if (!map.isLinearIn(llvm::map_to_vector(
              map.getInputs(), [&](Value v) { return values.contains(v); })))
        return failure();
    return success(sums);
  }

  void convert() {
    auto partial = FragmentType::get(type.getContext(), type.getShape(),
                                     type.getElementType(), Role::PartialRow,
                                     type.getWarps());
    for (Value value : values)
      value.setType(partial);
    for (OpOperand *zero : zeros) {
      ImplicitLocOpBuilder b(zero->getOwner()->getLoc(), zero->getOwner());
      zero->set(SplatOp::create(
          b, partial, zero->get().getDefiningOp<SplatOp>().getValue()));
    }
    for (Value value : values) {
      SmallVector<OpOperand *> others;
      for (OpOperand &use : value.getUses())
        if (needsWhole.contains(&use))
          others.push_back(&use);
      if (others.empty())
        continue;
      ImplicitLocOpBuilder b(value.getLoc(), value.getContext());
      b.setInsertionPointAfterValue(value);
      Value whole = ConvertOp::create(b, type, value);
      for (OpOperand *use : others)
        use->set(whole);
    }
  }

private:
  void add(Value value) { values.insert(value); }

  /// An operand that is merged with values of the web.
  void addOperand(OpOperand &operand) {
    if (isZero(operand.get()))
      zeros.push_back(&operand);
    else
      add(operand.get());
  }

  void addLoop(scf::ForOp loop, unsigned number) {
    if (!loops.insert({loop, number}).second)
      return;
    add(loop.getRegionIterArg(number));
    add(loop.getResult(number));
    addOperand(loop.getInitArgsMutable()[number]);
    addOperand((*loop.getYieldedValuesMutable())[number]);
  }

  void addBranch(scf::IfOp branch, unsigned number) {
    if (!branches.insert({branch, number}).second)
      return;
    add(branch.getResult(number));
    addOperand(branch.thenYield()->getOpOperand(number));
    addOperand(branch.elseYield()->getOpOperand(number));
  }

  LogicalResult visitSource(Value value) {
    if (value.getType() != type)
      return failure();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop || argument == loop.getInductionVar())
        return failure();
      addLoop(loop, argument.getArgNumber() - loop.getNumInductionVars());
      return success();
    }
    Operation *op = value.getDefiningOp();
    unsigned number = cast<OpResult>(value).getResultNumber();
    if (auto loop = dyn_cast<scf::ForOp>(op))
      addLoop(loop, number);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      addBranch(branch, number);
    else if (auto map = dyn_cast<MapOp>(op))
      return addMap(map);
    else if (getSum(value))
      sums = true;
    else
      return failure();
    return success();
  }

  LogicalResult addMap(MapOp map) {
    if (map.getNumResults() != 1)
      return failure();
    if (!maps.insert(map))
      return success();
    add(map.getResult(0));
    // What is added to a part must be one.
    for (Value input : map.getInputs())
      if (getSum(input))
        add(input);
    return success();
  }

  LogicalResult visitUses(Value value) {
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      unsigned number = use.getOperandNumber();
      auto loop = dyn_cast<scf::ForOp>(user);
      if (auto map = dyn_cast<MapOp>(user);
          map && map.getNumResults() == 1 &&
          map.getResult(0).getType() == type &&
          !isa_and_present<scf::ForOp>(value.getDefiningOp())) {
        if (failed(addMap(map)))
          return failure();
      } else if (loop && number >= loop.getNumControlOperands()) {
        addLoop(loop, number - loop.getNumControlOperands());
      } else if (isa<scf::YieldOp>(user)) {
        Operation *parent = user->getParentOp();
        if (auto outer = dyn_cast<scf::ForOp>(parent))
          addLoop(outer, number);
        else if (auto branch = dyn_cast<scf::IfOp>(parent))
          addBranch(branch, number);
        else
          return failure();
      } else if (isa_and_present<scf::ForOp>(value.getDefiningOp())) {
        // Behind a loop, the sum over the lanes is taken once.
        needsWhole.insert(&use);
      } else {
        return failure();
      }
    }
    return success();
  }

  FragmentType type;
  llvm::SetVector<Value> values;
  llvm::SetVector<MapOp> maps;
  llvm::DenseSet<std::pair<Operation *, unsigned>> loops, branches;
  SmallVector<OpOperand *> zeros;
  llvm::DenseSet<OpOperand *> needsWhole;
  /// Whether there is a sum to defer.
  bool sums = false;
};

struct DeferRowSums : nagpu::impl::NAGPUDeferRowSumsBase<DeferRowSums> {
  void runOnOperation() override {
    getOperation()->walk([](gpu::LaunchOp launch) {
      launch.walk([](scf::ForOp loop) {
        for (unsigned number = 0; number < loop.getNumRegionIterArgs();
             ++number) {
          Web web;
          if (succeeded(web.collect(loop, number)))
            web.convert();
        }
      });
    });
  }
};
} // namespace
