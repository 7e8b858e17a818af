//===- ParallelToRuntime.cpp - Run parallel loops on the run time ---------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Conversion/Passes.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::na {
#define GEN_PASS_DEF_PARALLELTORUNTIMEPASS
#include "na/Conversion/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;

static constexpr llvm::StringLiteral runtimeName = "naParallelFor";

namespace {

/// Bounds of a parallel loop; all have one entry per dimension.
struct Bounds {
  SmallVector<Value> lower, upper, step;
  SmallVector<Value> ivs;
};

class Outliner {
public:
  Outliner(SymbolTable &symbols, Operation *loop, unsigned number)
      : symbols(symbols), loop(loop), converter(loop->getContext()),
        pointer(LLVM::LLVMPointerType::get(loop->getContext())),
        number(number) {}

  LogicalResult run();

private:
  Type findUnknownType();
  Bounds getBounds(ImplicitLocOpBuilder &b);
  func::FuncOp buildFunction(ArrayRef<Value> captured, Type contextType,
                             const Bounds &bounds, ArrayRef<Value> counts);
  void moveBuffers(scf::ForOp iterations);
  FailureOr<LLVM::LLVMFuncOp> getRuntimeFunction();

  SymbolTable &symbols;
  Operation *loop;
  LLVMTypeConverter converter;
  Type pointer;
  unsigned number;
};

} // namespace

Bounds Outliner::getBounds(ImplicitLocOpBuilder &b) {
  if (auto parallel = dyn_cast<scf::ParallelOp>(loop))
    return {parallel.getLowerBound(), parallel.getUpperBound(),
            parallel.getStep(),
            llvm::to_vector_of<Value>(parallel.getInductionVars())};
  auto forall = cast<scf::ForallOp>(loop);
  return {forall.getLowerBound(b), forall.getUpperBound(b), forall.getStep(b),
          llvm::to_vector_of<Value>(forall.getInductionVars())};
}

FailureOr<LLVM::LLVMFuncOp> Outliner::getRuntimeFunction() {
  OpBuilder b(loop->getContext());
  Type count = b.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), {count, pointer, pointer});
  if (Operation *existing = symbols.lookup(runtimeName)) {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(existing);
    if (function && function.getFunctionType() == type)
      return function;
    return existing->emitError("parallel-to-runtime: symbol '")
           << runtimeName << "' is taken; expected an llvm.func of type "
           << type;
  }
  auto function =
      LLVM::LLVMFuncOp::create(b, symbols.getOp()->getLoc(), runtimeName, type);
  symbols.insert(function, symbols.getOp()->getRegion(0).front().begin());
  return function;
}

/// The type of a value from outside that no structure can hold, if any.
Type Outliner::findUnknownType() {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(loop->getRegions(), used);
  for (Value value : used)
    if (!matchPattern(value, m_Constant()) &&
        !converter.convertType(value.getType()))
      return value.getType();
  return {};
}

LogicalResult Outliner::run() {
  if (Type unknown = findUnknownType()) {
    loop->emitRemark("parallel-to-runtime: uses a value of type ")
        << unknown << " from outside: stays sequential";
    return success();
  }
  FailureOr<LLVM::LLVMFuncOp> runtime = getRuntimeFunction();
  if (failed(runtime))
    return failure();
  ImplicitLocOpBuilder b(loop->getLoc(), loop);
  Bounds bounds = getBounds(b);

  // Iterations per dimension, and in all.
  SmallVector<Value> counts;
  Value total = arith::ConstantIndexOp::create(b, 1);
  for (auto [lower, upper, step] :
       llvm::zip_equal(bounds.lower, bounds.upper, bounds.step)) {
    Value span = b.createOrFold<arith::SubIOp>(upper, lower);
    Value zero = arith::ConstantIndexOp::create(b, 0);
    span = b.createOrFold<arith::MaxSIOp>(span, zero);
    counts.push_back(b.createOrFold<arith::CeilDivSIOp>(span, step));
    total = b.createOrFold<arith::MulIOp>(total, counts.back());
  }

  // What the outlined function needs; constants are made anew inside it.
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(loop->getRegions(), used);
  for (ArrayRef<Value> values :
       {ArrayRef<Value>(bounds.lower), ArrayRef<Value>(bounds.step),
        ArrayRef<Value>(counts)})
    used.insert(values.begin(), values.end());
  SmallVector<Value> captured;
  SmallVector<Type> fields;
  for (Value value : used) {
    if (matchPattern(value, m_Constant()))
      continue;
    captured.push_back(value);
    fields.push_back(converter.convertType(value.getType()));
  }
  Type contextType = LLVM::LLVMStructType::getLiteral(b.getContext(), fields);
  func::FuncOp function = buildFunction(captured, contextType, bounds, counts);

  // A structure in the entry block: the loop may itself be in a loop.
  Value context;
  {
    OpBuilder::InsertionGuard guard(b);
    auto parent = loop->getParentOfType<FunctionOpInterface>();
    b.setInsertionPointToStart(&parent.getFunctionBody().front());
    Value one = LLVM::ConstantOp::create(b, b.getI64Type(), 1);
    context = LLVM::AllocaOp::create(b, pointer, contextType, one);
  }
  Value packed = LLVM::UndefOp::create(b, contextType);
  for (auto [index, value] : llvm::enumerate(captured)) {
    Value field = UnrealizedConversionCastOp::create(b, fields[index], value)
                      .getResult(0);
    packed = LLVM::InsertValueOp::create(b, packed, field, index);
  }
  LLVM::StoreOp::create(b, packed, context);
  Value symbol = func::ConstantOp::create(b, function.getFunctionType(),
                                          SymbolRefAttr::get(function));
  Value address =
      UnrealizedConversionCastOp::create(b, pointer, symbol).getResult(0);
  Value count = arith::IndexCastOp::create(b, b.getI64Type(), total);
  LLVM::CallOp::create(b, *runtime, ValueRange{count, address, context});
  loop->erase();
  return success();
}

func::FuncOp Outliner::buildFunction(ArrayRef<Value> captured, Type contextType,
                                     const Bounds &bounds,
                                     ArrayRef<Value> counts) {
  ImplicitLocOpBuilder b(loop->getLoc(), loop->getContext());
  auto parent = loop->getParentOfType<FunctionOpInterface>();
  b.setInsertionPoint(parent);
  std::string name =
      (parent.getName() + "_parallel_" + std::to_string(number)).str();
  auto function = func::FuncOp::create(
      b, name,
      b.getFunctionType({b.getI64Type(), b.getI64Type(), pointer}, {}));
  function.setPrivate();
  symbols.insert(function); // makes the name unique
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);

  IRMapping map;
  Value packed = LLVM::LoadOp::create(b, contextType, entry->getArgument(2));
  for (auto [index, value] : llvm::enumerate(captured)) {
    Value field = LLVM::ExtractValueOp::create(b, packed, index);
    map.map(value, UnrealizedConversionCastOp::create(b, value.getType(), field)
                       .getResult(0));
  }
  auto lookup = [&](Value value) -> Value {
    if (Value mapped = map.lookupOrNull(value))
      return mapped;
    Operation *copy = b.clone(*value.getDefiningOp());
    map.map(value, copy->getResult(0));
    return copy->getResult(0);
  };
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(loop->getRegions(), used);
  for (Value value : used)
    lookup(value);

  Value begin =
      arith::IndexCastOp::create(b, b.getIndexType(), entry->getArgument(0));
  Value end =
      arith::IndexCastOp::create(b, b.getIndexType(), entry->getArgument(1));
  SmallVector<Value> lower, step, count;
  for (unsigned dim = 0; dim < counts.size(); ++dim) {
    lower.push_back(lookup(bounds.lower[dim]));
    step.push_back(lookup(bounds.step[dim]));
    count.push_back(lookup(counts[dim]));
  }
  auto iterations = scf::ForOp::create(
      b, begin, end, arith::ConstantIndexOp::create(b, 1).getResult());
  func::ReturnOp::create(b);
  b.setInsertionPointToStart(iterations.getBody());
  Value rest = iterations.getInductionVar();
  for (int64_t dim = counts.size() - 1; dim >= 0; --dim) {
    Value index = rest;
    if (dim > 0) {
      index = b.createOrFold<arith::RemUIOp>(rest, count[dim]);
      rest = b.createOrFold<arith::DivUIOp>(rest, count[dim]);
    }
    Value scaled = b.createOrFold<arith::MulIOp>(index, step[dim]);
    map.map(bounds.ivs[dim], b.createOrFold<arith::AddIOp>(scaled, lower[dim]));
  }
  for (Operation &inner : loop->getRegion(0).front().without_terminator())
    b.clone(inner, map);
  moveBuffers(iterations);
  return function;
}

/// One allocation serves all iterations of a call. On the stack, one per
/// iteration would pile up until the function returns.
void Outliner::moveBuffers(scf::ForOp iterations) {
  for (auto alloca : llvm::make_early_inc_range(
           iterations.getBody()->getOps<memref::AllocaOp>()))
    if (alloca->getNumOperands() == 0)
      alloca->moveBefore(iterations);
  SmallVector<memref::AllocOp> allocs;
  for (auto alloc : iterations.getBody()->getOps<memref::AllocOp>())
    if (alloc->getNumOperands() == 0)
      allocs.push_back(alloc);
  for (memref::AllocOp alloc : allocs) {
    Operation *dealloc = nullptr;
    for (Operation *user : alloc->getUsers())
      if (isa<memref::DeallocOp>(user) &&
          user->getBlock() == iterations.getBody())
        dealloc = user;
    if (!dealloc)
      continue;
    alloc->moveBefore(iterations);
    dealloc->moveAfter(iterations);
  }
}

/// Whether `op` is a parallel loop that can be outlined.
static bool isParallelLoop(Operation *op) {
  if (auto parallel = dyn_cast<scf::ParallelOp>(op))
    return parallel.getNumReductions() == 0;
  auto forall = dyn_cast<scf::ForallOp>(op);
  return forall && forall.getNumResults() == 0;
}

namespace {
struct ParallelToRuntime
    : mlir::na::impl::ParallelToRuntimePassBase<ParallelToRuntime> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      SmallVector<Operation *> loops;
      function.walk<WalkOrder::PreOrder>([&](Operation *op) {
        if (!isParallelLoop(op))
          return WalkResult::advance();
        loops.push_back(op);
        return WalkResult::skip();
      });
      for (auto [number, loop] : llvm::enumerate(loops))
        if (failed(Outliner(symbols, loop, number).run()))
          return signalPassFailure();
    }
  }
};
} // namespace
