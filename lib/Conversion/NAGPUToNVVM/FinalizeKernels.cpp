//===- FinalizeKernels.cpp - What kernels ask of their launches -----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "na/Conversion/Passes.h"

#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace mlir::na {
#define GEN_PASS_DEF_NAGPUFINALIZEKERNELSPASS
#include "na/Conversion/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;
using namespace mlir::nagpu;

static constexpr llvm::StringLiteral encodeName = "naCudaEncodeTensorMap";

/// What the run time calls an element type.
static int64_t getTypeNumber(Type type) {
  return type.isF32() ? 2 : type.isBF16() ? 1 : 0;
}
static constexpr llvm::StringLiteral multiprocessorsName =
    "naCudaMultiprocessors";

/// The bytes of a descriptor, as 64-bit words, and their alignment.
static constexpr int64_t descriptorWords = 16;
static constexpr int64_t descriptorAlignment = 64;

/// Which argument of its function a memref is, or a view of; -1 for others.
static int64_t getArgumentNumber(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  auto argument = dyn_cast<BlockArgument>(memref);
  if (!argument || !argument.getOwner()->isEntryBlock() ||
      !isa<FunctionOpInterface>(argument.getOwner()->getParentOp()))
    return -1;
  return argument.getArgNumber();
}

/// `count` words on the stack of the function: the map may be made in a loop.
static Value allocateWords(OpBuilder &builder, Operation *op, int64_t count,
                           int64_t alignment) {
  OpBuilder::InsertionGuard guard(builder);
  auto function = op->getParentOfType<FunctionOpInterface>();
  builder.setInsertionPointToStart(&function.getFunctionBody().front());
  Location loc = op->getLoc();
  Value size = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(),
                                        builder.getI64IntegerAttr(count));
  return LLVM::AllocaOp::create(builder, loc,
                                LLVM::LLVMPointerType::get(op->getContext()),
                                builder.getI64Type(), size, alignment);
}

/// A function of the run time.
static FailureOr<func::FuncOp> getFunction(SymbolTable &symbols, StringRef name,
                                           FunctionType type) {
  if (Operation *existing = symbols.lookup(name)) {
    auto function = dyn_cast<func::FuncOp>(existing);
    if (function && function.isDeclaration() &&
        function.getFunctionType() == type)
      return function;
    return existing->emitError("nagpu-finalize-kernels: symbol '")
           << name << "' is taken; expected a declaration of type " << type;
  }
  auto builder =
      OpBuilder::atBlockBegin(&symbols.getOp()->getRegion(0).front());
  auto function =
      func::FuncOp::create(builder, symbols.getOp()->getLoc(), name, type);
  function.setPrivate();
  symbols.insert(function);
  return function;
}

static FailureOr<func::FuncOp> getEncoder(SymbolTable &symbols,
                                          OpBuilder builder) {
  Type integer = builder.getI64Type();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  return getFunction(
      symbols, encodeName,
      builder.getFunctionType(
          {pointer, integer, integer, integer, integer, pointer, integer}, {}));
}

static LogicalResult lowerMultiprocessors(MultiprocessorsOp op,
                                          SymbolTable &symbols) {
  OpBuilder builder(op);
  FailureOr<func::FuncOp> function =
      getFunction(symbols, multiprocessorsName,
                  builder.getFunctionType({}, builder.getI64Type()));
  if (failed(function))
    return failure();
  auto call = func::CallOp::create(builder, op.getLoc(), *function);
  op.replaceAllUsesWith(arith::IndexCastOp::create(builder, op.getLoc(),
                                                   builder.getIndexType(),
                                                   call.getResult(0))
                            .getResult());
  op.erase();
  return success();
}

/// Has the run time encode the map, into memory of the function.
static LogicalResult lowerTensorMap(TensorMapOp op, SymbolTable &symbols) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  FailureOr<func::FuncOp> encoder = getEncoder(symbols, builder);
  if (failed(encoder))
    return failure();
  Type integer = builder.getI64Type();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  };
  auto cast = [&](Value value) -> Value {
    return arith::IndexCastOp::create(builder, loc, integer, value);
  };
  TensorMapType type = op.getResult().getType();
  MemRefType source = op.getSource().getType();
  auto parts =
      memref::ExtractStridedMetadataOp::create(builder, loc, op.getSource());
  Value address = cast(memref::ExtractAlignedPointerAsIndexOp::create(
      builder, loc, op.getSource()));
  Value bytes =
      arith::MulIOp::create(builder, loc, cast(parts.getOffset()),
                            constant(source.getElementTypeBitWidth() / 8));
  address = arith::AddIOp::create(builder, loc, address, bytes);

  SmallVector<Value> numbers;
  for (ValueRange values : {parts.getSizes(), parts.getStrides()})
    llvm::append_range(numbers, llvm::map_range(values, cast));
  llvm::append_range(numbers, llvm::map_range(type.getShape(), constant));
  for (int64_t axis = 0; axis < source.getRank() - 3; ++axis)
    numbers.push_back(constant(op.getAxisDilation(axis)));
  Value shape = allocateWords(builder, op, numbers.size(), /*alignment=*/8);
  auto pointer = LLVM::LLVMPointerType::get(op->getContext());
  for (auto [i, number] : llvm::enumerate(numbers)) {
    Value place = LLVM::GEPOp::create(builder, loc, pointer, integer, shape,
                                      ArrayRef<LLVM::GEPArg>{int32_t(i)});
    LLVM::StoreOp::create(builder, loc, number, place);
  }
  Value map = allocateWords(builder, op, descriptorWords, descriptorAlignment);
  func::CallOp::create(
      builder, loc, *encoder,
      ValueRange{map, constant(getArgumentNumber(op.getSource())), address,
                 constant(getTypeNumber(source.getElementType())),
                 constant(source.getRank()), shape,
                 constant(getTmaBytes(type.getSwizzle()))});
  op.getResult().replaceAllUsesWith(map);
  op.erase();
  return success();
}

namespace {
struct FinalizeKernels
    : na::impl::NAGPUFinalizeKernelsPassBase<FinalizeKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    SmallVector<TensorMapOp> maps;
    module.walk([&](TensorMapOp op) { maps.push_back(op); });
    for (TensorMapOp op : maps) {
      for (OpOperand &use : op.getResult().getUses()) {
        if (isa<gpu::LaunchFuncOp>(use.getOwner()))
          continue;
        op.emitError("nagpu-finalize-kernels: the map is used by '")
            << use.getOwner()->getName() << "', expected 'gpu.launch_func'";
        return signalPassFailure();
      }
      if (failed(lowerTensorMap(op, symbols)))
        return signalPassFailure();
    }
    SmallVector<MultiprocessorsOp> counts;
    module.walk([&](MultiprocessorsOp op) { counts.push_back(op); });
    for (MultiprocessorsOp op : counts)
      if (failed(lowerMultiprocessors(op, symbols)))
        return signalPassFailure();
    lowerTensorMapParameters(module);
    SmallVector<UnrealizedConversionCastOp> casts;
    module.walk([&](UnrealizedConversionCastOp op) { casts.push_back(op); });
    reconcileUnrealizedCasts(casts);

    module.walk([&](gpu::GPUFuncOp func) {
      bool budgets = func.walk([](LLVM::InlineAsmOp op) {
                           return op->hasAttr(registersAttrName)
                                      ? WalkResult::interrupt()
                                      : WalkResult::advance();
                         })
                         .wasInterrupted();
      if (budgets)
        keepRegisterBudgets(func);
    });
  }
};
} // namespace
