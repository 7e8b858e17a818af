//===- GPULaunchToRuntime.cpp - Launch kernels through the run time -------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Conversion/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace mlir::na {
#define GEN_PASS_DEF_GPULAUNCHTORUNTIMEPASS
#include "na/Conversion/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;

static constexpr llvm::StringLiteral runtimeName = "naCudaLaunch";
static constexpr llvm::StringLiteral kernelsName = "na.kernels";

namespace {

/// The parameters of a kernel, flattened: one value (an index or an i64) and
/// one alignment each. Alignment 0 means that the parameter is no pointer, -n
/// that the value is the address of the n bytes of the parameter.
struct Parameters {
  SmallVector<Value> values;
  SmallVector<int64_t> alignments;

  void add(Value value, int64_t alignment = 0) {
    values.push_back(value);
    alignments.push_back(alignment);
  }
};

class LaunchLowering {
public:
  LaunchLowering(SymbolTable &symbols, gpu::LaunchFuncOp launch,
                 gpu::GPUFuncOp function, int64_t kernel)
      : symbols(symbols), launch(launch), function(function), kernel(kernel),
        b(launch.getLoc(), launch) {}

  LogicalResult run();

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  LogicalResult flatten(Value operand, int64_t number, Parameters &parameters);
  Value buildSlots(const Parameters &parameters);
  Value buildAlignments(const Parameters &parameters);
  FailureOr<func::FuncOp> getRuntimeFunction();

  SymbolTable &symbols;
  gpu::LaunchFuncOp launch;
  gpu::GPUFuncOp function;
  int64_t kernel;
  ImplicitLocOpBuilder b;
};

} // namespace

FailureOr<func::FuncOp> LaunchLowering::getRuntimeFunction() {
  SmallVector<Type> inputs(7, b.getIndexType());
  FunctionType type = b.getFunctionType(inputs, {});
  if (Operation *existing = symbols.lookup(runtimeName)) {
    auto function = dyn_cast<func::FuncOp>(existing);
    if (function && function.isDeclaration() &&
        function.getFunctionType() == type)
      return function;
    return existing->emitError("gpu-launch-to-runtime: symbol '")
           << runtimeName << "' is taken; expected a declaration of type "
           << type;
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&symbols.getOp()->getRegion(0).front());
  auto function = func::FuncOp::create(b, runtimeName, type);
  function.setPrivate();
  symbols.insert(function);
  return function;
}

/// The alignment that the kernel was made for. Views share the address of
/// what they are views of.
static int64_t getAlignment(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  int64_t alignment = 1;
  if (type.getElementType().isIntOrFloat())
    alignment = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  while (Operation *op = memref.getDefiningOp()) {
    if (auto assume = dyn_cast<memref::AssumeAlignmentOp>(op))
      alignment = std::max<int64_t>(alignment, assume.getAlignment());
    auto view = dyn_cast<ViewLikeOpInterface>(op);
    if (!view)
      break;
    memref = view.getViewSource();
  }
  return alignment;
}

LogicalResult LaunchLowering::flatten(Value operand, int64_t number,
                                      Parameters &parameters) {
  Type type = operand.getType();
  if (auto memref = dyn_cast<MemRefType>(type)) {
    auto parts = memref::ExtractStridedMetadataOp::create(b, operand);
    Value pointer = memref::ExtractAlignedPointerAsIndexOp::create(b, operand);
    int64_t alignment = getAlignment(operand);
    parameters.add(pointer, alignment);
    parameters.add(pointer, alignment);
    parameters.add(parts.getOffset());
    for (ValueRange values : {parts.getSizes(), parts.getStrides()})
      for (Value value : values)
        parameters.add(value);
    return success();
  }
  if (type.isIndex()) {
    parameters.add(operand);
    return success();
  }
  if (type.isIntOrFloat() && type.getIntOrFloatBitWidth() <= 64) {
    Value bits = operand;
    unsigned width = type.getIntOrFloatBitWidth();
    if (isa<FloatType>(type))
      bits = arith::BitcastOp::create(b, b.getIntegerType(width), bits);
    if (width < 64)
      bits = arith::ExtUIOp::create(b, b.getI64Type(), bits);
    parameters.add(bits);
    return success();
  }
  auto byValue = function.getArgAttrOfType<TypeAttr>(
      number, LLVM::LLVMDialect::getByValAttrName());
  if (isa<LLVM::LLVMPointerType>(type) && byValue) {
    int64_t bytes = DataLayout::closest(launch).getTypeSize(byValue.getValue());
    parameters.add(LLVM::PtrToIntOp::create(b, b.getI64Type(), operand),
                   -bytes);
    return success();
  }
  return launch.emitOpError("gpu-launch-to-runtime: kernel argument of type ")
         << type << "; expected a memref, an index, an integer or a float of "
         << "at most 64 bits, or a pointer to a parameter by value";
}

/// Writes the values to an array and returns its address.
Value LaunchLowering::buildSlots(const Parameters &parameters) {
  auto type =
      MemRefType::get({int64_t(parameters.values.size())}, b.getI64Type());
  Value slots;
  {
    // The launch may be in a loop.
    OpBuilder::InsertionGuard guard(b);
    auto parent = launch->getParentOfType<FunctionOpInterface>();
    b.setInsertionPointToStart(&parent.getFunctionBody().front());
    slots = memref::AllocaOp::create(b, type);
  }
  for (auto [i, parameter] : llvm::enumerate(parameters.values)) {
    Value value = parameter;
    if (value.getType().isIndex())
      value = arith::IndexCastOp::create(b, b.getI64Type(), value);
    memref::StoreOp::create(b, value, slots, index(i));
  }
  return memref::ExtractAlignedPointerAsIndexOp::create(b, slots);
}

/// The address of a constant array of the alignments.
Value LaunchLowering::buildAlignments(const Parameters &parameters) {
  auto type =
      MemRefType::get({int64_t(parameters.alignments.size())}, b.getI64Type());
  auto values = DenseElementsAttr::get(
      RankedTensorType::get(type.getShape(), type.getElementType()),
      ArrayRef(parameters.alignments));
  memref::GlobalOp global;
  for (auto other : symbols.getOp()->getRegion(0).getOps<memref::GlobalOp>())
    if (other.getConstant() && other.getInitialValueAttr() == values)
      global = other;
  if (!global) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&symbols.getOp()->getRegion(0).front());
    global = memref::GlobalOp::create(
        b, "na_alignments", b.getStringAttr("private"), type, values,
        /*constant=*/true, /*alignment=*/IntegerAttr());
    symbols.insert(global);
  }
  Value array = memref::GetGlobalOp::create(b, type, global.getSymName());
  return memref::ExtractAlignedPointerAsIndexOp::create(b, array);
}

LogicalResult LaunchLowering::run() {
  if (launch.getAsyncToken() || !launch.getAsyncDependencies().empty() ||
      launch.hasClusterSize())
    return launch.emitOpError("gpu-launch-to-runtime: is asynchronous or has "
                              "clusters; expected neither");
  gpu::KernelDim3 grid = launch.getGridSizeOperandValues();
  gpu::KernelDim3 block = launch.getBlockSizeOperandValues();
  for (Value size : {grid.y, grid.z, block.y, block.z})
    if (!isConstantIntValue(size, 1))
      return launch.emitOpError("gpu-launch-to-runtime: has blocks or threads "
                                "in y or z; expected them all in x");
  FailureOr<func::FuncOp> runtime = getRuntimeFunction();
  if (failed(runtime))
    return failure();

  Parameters parameters;
  for (auto [number, operand] : llvm::enumerate(launch.getKernelOperands()))
    if (failed(flatten(operand, number, parameters)))
      return failure();
  Value shared = launch.getDynamicSharedMemorySize();
  shared =
      shared
          ? arith::IndexCastOp::create(b, b.getIndexType(), shared).getResult()
          : index(0);
  Value slots = buildSlots(parameters);
  Value alignments = buildAlignments(parameters);
  func::CallOp::create(b, *runtime,
                       ValueRange{index(kernel), grid.x, block.x, shared, slots,
                                  index(parameters.values.size()), alignments});
  launch.erase();
  return success();
}

/// Fails at the first operation of the host that accesses memory of the
/// device.
static LogicalResult checkHost(ModuleOp module) {
  WalkResult result = module.walk<WalkOrder::PreOrder>([](Operation *op) {
    if (isa<gpu::GPUModuleOp>(op))
      return WalkResult::skip();
    if (isa<memref::GetGlobalOp>(op)) {
      op->emitOpError(
          "gives the address of constants on the host; in a program "
          "for the GPU only kernels can use them");
      return WalkResult::interrupt();
    }
    StringRef verb;
    if (isa<memref::LoadOp, affine::AffineLoadOp, vector::LoadOp,
            vector::TransferReadOp>(op))
      verb = "reads";
    else if (isa<memref::StoreOp, memref::CopyOp, affine::AffineStoreOp,
                 vector::StoreOp, vector::TransferWriteOp>(op))
      verb = "writes";
    else
      return WalkResult::advance();
    op->emitOpError(verb) << " tensor data on the host; in a program for the "
                          << "GPU only kernels can, and the flow of control "
                          << "cannot depend on it";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct GPULaunchToRuntime
    : mlir::na::impl::GPULaunchToRuntimePassBase<GPULaunchToRuntime> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkHost(module)))
      return signalPassFailure();

    SymbolTable symbols(module);
    SmallVector<Attribute> names;
    llvm::DenseMap<Attribute, std::pair<int64_t, gpu::GPUFuncOp>> kernels;
    gpu::GPUModuleOp first;
    for (auto gpuModule : module.getOps<gpu::GPUModuleOp>()) {
      if (first) {
        gpuModule
                .emitOpError("gpu-launch-to-runtime: is the second module of "
                             "kernels; expected one")
                .attachNote(first.getLoc())
            << "the first one is here";
        return signalPassFailure();
      }
      first = gpuModule;
      for (auto function : gpuModule.getOps<gpu::GPUFuncOp>()) {
        if (!function.isKernel())
          continue;
        auto reference = SymbolRefAttr::get(
            gpuModule.getNameAttr(),
            {FlatSymbolRefAttr::get(function.getNameAttr())});
        kernels[reference] = {names.size(), function};
        names.push_back(function.getNameAttr());
      }
    }
    SmallVector<gpu::LaunchFuncOp> launches;
    module.walk([&](gpu::LaunchFuncOp op) { launches.push_back(op); });
    for (gpu::LaunchFuncOp launch : launches) {
      auto kernel = kernels.find(launch.getKernelAttr());
      if (kernel == kernels.end()) {
        launch.emitOpError("gpu-launch-to-runtime: there is no kernel ")
            << launch.getKernelAttr();
        return signalPassFailure();
      }
      auto [number, function] = kernel->second;
      if (failed(LaunchLowering(symbols, launch, function, number).run()))
        return signalPassFailure();
    }
    // The run time checks alignments; to LLVM they would be promises.
    module.walk([&](memref::AssumeAlignmentOp op) {
      if (op->getParentOfType<gpu::GPUModuleOp>())
        return;
      op.replaceAllUsesWith(op.getMemref());
      op.erase();
    });
    module->setAttr(kernelsName, ArrayAttr::get(&getContext(), names));
  }
};
} // namespace
