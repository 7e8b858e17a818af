//===- Harness.cpp - Makes a function callable from the host --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/ExecutionEngine/Harness.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "na/Dialect/NA/IR/NA.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::na;

static constexpr llvm::StringLiteral harnessName("__na_harness");

bool HarnessOutput::isAllocatedByProgram() const {
  return !input && ShapedType::isDynamicShape(shape);
}

StringRef Harness::getPreparation() { return "inline,eliminate-empty-tensors"; }

namespace {

llvm::Error unsupported(const Twine &what, Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return llvm::createStringError(what + " has type '" + text +
                                 "', which the host cannot provide: it must be "
                                 "a ranked tensor, a memref without layout and "
                                 "memory space, or a scalar, of f64, f32, f16, "
                                 "bf16, index or an integer of 1, 8, 16, 32 or "
                                 "64 bits");
}

/// The row-major memref that carries a value of `type`; null if none can.
MemRefType getCarrier(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (!mlir::na::getElementType(element))
    return {};
  if (auto memref = dyn_cast<MemRefType>(type))
    return memref.getLayout().isIdentity() && !memref.getMemorySpace()
               ? memref
               : MemRefType();
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.getEncoding() ? MemRefType()
                                : MemRefType::get(tensor.getShape(), element);
  if (isa<ShapedType>(type))
    return {};
  return MemRefType::get({}, element);
}

bool makesGradients(Operation *op) {
  return isa_and_nonnull<AttentionGradOp, AttentionDQOp, AttentionDKVOp,
                         AttentionDQKVOp, AttentionDBiasOp,
                         AttentionDAdditionalOp, QKGradOp, AVGradOp, QKDQOp,
                         QKDKOp, QKDBiasOp, AVDWeightsOp, AVDVOp, MergeGradOp>(
      op);
}

/// Whether `value` is only written, as a destination of na operations, and
/// whether it holds log-sum-exps or gradients.
struct ArgumentUse {
  bool destination = false, lse = false, gradient = false;
  explicit ArgumentUse(Value value) {
    destination = isa<MemRefType>(value.getType()) && !value.use_empty();
    for (OpOperand &use : value.getUses()) {
      auto op = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
      destination &=
          op && isa<NADialect>(op->getDialect()) && op.isDpsInit(&use);
      if (auto attention = dyn_cast<AttentionOp>(use.getOwner()))
        lse |= attention.getLse() == value;
      if (auto merge = dyn_cast<MergeOp>(use.getOwner()))
        lse |= merge.getLse() == value;
      gradient |= makesGradients(use.getOwner());
    }
    lse &= destination;
    gradient &= destination;
  }
};

bool isLseResult(Value value) {
  return isa_and_nonnull<AttentionOp, MergeOp>(value.getDefiningOp()) &&
         cast<OpResult>(value).getResultNumber() == 1;
}

Value loadArgument(ImplicitLocOpBuilder &builder, Value carrier, Type type) {
  if (isa<MemRefType>(type))
    return carrier;
  if (isa<RankedTensorType>(type))
    return bufferization::ToTensorOp::create(builder, type, carrier,
                                             /*restrict=*/true);
  return memref::LoadOp::create(builder, carrier);
}

void storeResult(ImplicitLocOpBuilder &builder, Value result, Value carrier) {
  if (isa<RankedTensorType>(result.getType()))
    bufferization::MaterializeInDestinationOp::create(
        builder, TypeRange(), result, carrier, /*restrict=*/true,
        /*writable=*/true);
  else
    memref::StoreOp::create(builder, result, carrier);
}

/// Puts `result` into a new buffer of its shape.
Value allocateResult(ImplicitLocOpBuilder &builder, Value result,
                     MemRefType type) {
  SmallVector<Value> sizes;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    if (type.isDynamicDim(axis))
      sizes.push_back(tensor::DimOp::create(builder, result, axis));
  Value buffer = memref::AllocOp::create(builder, type, sizes);
  storeResult(builder, result, buffer);
  return buffer;
}

std::string nameOf(ArrayRef<std::string> names, unsigned index,
                   const char *otherwise) {
  if (index < names.size() && !names[index].empty())
    return names[index];
  return otherwise + std::to_string(index);
}

} // namespace

llvm::Expected<std::string> mlir::na::findEntry(ModuleOp module,
                                                StringRef name) {
  std::string candidates;
  func::FuncOp only;
  unsigned count = 0;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    if (name.empty() ? function.getName() == "main"
                     : function.getName() == name)
      return function.getName().str();
    if (!function.isPublic())
      continue;
    only = function;
    candidates += (count++ ? ", " : "") + function.getName().str();
  }
  if (!name.empty())
    return llvm::createStringError(
        "the program has no function '" + name + "' with a body" +
        (count ? "; public functions: " + candidates : std::string()));
  if (count == 0)
    return llvm::createStringError(
        "the program has no public function with a body");
  if (count > 1)
    return llvm::createStringError("the program has several public functions, "
                                   "and none is called 'main': " +
                                   candidates);
  return only.getName().str();
}

llvm::Expected<Harness> Harness::create(ModuleOp module, StringRef entryName,
                                        const HarnessNames &names,
                                        bool onDevice) {
  auto entry = module.lookupSymbol<func::FuncOp>(entryName);
  if (!entry || entry.isExternal())
    return llvm::createStringError("the program has no function '" + entryName +
                                   "' with a body");
  if (module.lookupSymbol(harnessName))
    return llvm::createStringError("the name '" + harnessName +
                                   "' is taken by the program");
  module.getContext()
      ->loadDialect<bufferization::BufferizationDialect, func::FuncDialect,
                    memref::MemRefDialect, tensor::TensorDialect>();
  Harness harness;
  SmallVector<Type> argumentTypes, returnedTypes;
  for (BlockArgument argument : entry.getArguments()) {
    unsigned index = argument.getArgNumber();
    std::string name = nameOf(names.inputs, index, "arg");
    MemRefType type = getCarrier(argument.getType());
    if (!type)
      return unsupported("argument '" + name + "'", argument.getType());
    bool byValue = onDevice && !isa<ShapedType>(argument.getType());
    argumentTypes.push_back(byValue ? argument.getType() : type);
    ArgumentUse use(argument);
    ElementType element = *mlir::na::getElementType(type.getElementType());
    harness.inputs.push_back({name, element,
                              SmallVector<int64_t>(type.getShape()),
                              use.destination, byValue});
    if (isa<MemRefType>(argument.getType()))
      harness.outputs.push_back({name, element,
                                 SmallVector<int64_t>(type.getShape()), index,
                                 use.lse, use.gradient});
  }

  // The return of the entry, to tell log-sum-exps and gradients from other
  // results.
  auto returnOp =
      dyn_cast<func::ReturnOp>(entry.getBody().back().getTerminator());
  SmallVector<MemRefType> resultTypes;
  for (auto [index, resultType] :
       llvm::enumerate(entry.getFunctionType().getResults())) {
    std::string name = nameOf(names.outputs, index, "result");
    MemRefType type = getCarrier(resultType);
    if (!type || isa<MemRefType>(resultType))
      return unsupported("result '" + name + "'", resultType);
    if (onDevice && !isa<ShapedType>(resultType))
      return llvm::createStringError(
          "result '" + name +
          "' is a scalar, which a program on a GPU cannot return; return a "
          "tensor");
    resultTypes.push_back(type);
    Value returned = returnOp ? returnOp.getOperand(index) : Value();
    bool isLse = returned && isLseResult(returned);
    bool isGradient = returned && makesGradients(returned.getDefiningOp());
    harness.outputs.push_back({name,
                               *mlir::na::getElementType(type.getElementType()),
                               SmallVector<int64_t>(type.getShape()),
                               std::nullopt, isLse, isGradient});
    if (type.hasStaticShape())
      argumentTypes.push_back(type);
    else
      returnedTypes.push_back(type);
  }

  ImplicitLocOpBuilder builder(entry.getLoc(), module.getBodyRegion());
  builder.setInsertionPointToEnd(module.getBody());
  auto function = func::FuncOp::create(
      builder, harnessName,
      builder.getFunctionType(argumentTypes, returnedTypes));
  builder.setInsertionPointToStart(function.addEntryBlock());
  SmallVector<Value> operands;
  for (auto [argument, carrier] :
       llvm::zip(entry.getArguments(), function.getArguments()))
    operands.push_back(
        carrier.getType() == argument.getType()
            ? Value(carrier)
            : loadArgument(builder, carrier, argument.getType()));
  auto call = func::CallOp::create(builder, entry, operands);
  SmallVector<Value> returned;
  unsigned destination = entry.getNumArguments();
  for (auto [result, type] : llvm::zip(call.getResults(), resultTypes)) {
    if (type.hasStaticShape())
      storeResult(builder, result, function.getArgument(destination++));
    else
      returned.push_back(allocateResult(builder, result, type));
  }
  func::ReturnOp::create(builder, returned);

  // Only the harness is called, so other functions can go once inlined.
  for (auto other : module.getOps<func::FuncOp>())
    if (other != function)
      other.setPrivate();
  return harness;
}

llvm::Expected<Harness::Call>
Harness::Call::bind(const Harness &harness, const JITModule &module,
                    MutableArrayRef<HostTensor> inputs,
                    MutableArrayRef<HostTensor> outputs) {
  auto describe = [](MutableArrayRef<HostTensor> tensors) {
    SmallVector<TensorBinding> bindings;
    for (HostTensor &tensor : tensors)
      bindings.push_back(
          {tensor.getType(), tensor.getShape(), tensor.getData()});
    return bindings;
  };
  return bind(harness, module, describe(inputs), describe(outputs));
}

/// The memref descriptor of a tensor.
static SmallVector<int64_t> getDescriptor(const TensorBinding &tensor) {
  auto address = static_cast<int64_t>(reinterpret_cast<intptr_t>(tensor.data));
  SmallVector<int64_t> words = {address, address, 0};
  llvm::append_range(words, tensor.shape);
  llvm::append_range(words, getRowMajorStrides(tensor.shape));
  return words;
}

llvm::Expected<Harness::Call>
Harness::Call::bind(const Harness &harness, const JITModule &module,
                    ArrayRef<TensorBinding> inputs,
                    ArrayRef<TensorBinding> outputs) {
  llvm::Expected<JITModule::PackedFunction> function =
      module.lookup(harnessName);
  if (!function)
    return function.takeError();
  Call call;
  call.function = *function;
  auto add = [&](const TensorBinding &tensor, StringRef name, ElementType type,
                 ArrayRef<int64_t> shape, bool byValue) -> llvm::Error {
    bool fits = tensor.type == type && tensor.shape.size() == shape.size();
    for (size_t i = 0; fits && i < shape.size(); ++i)
      fits = ShapedType::isDynamic(shape[i]) || tensor.shape[i] == shape[i];
    if (!fits)
      return llvm::createStringError(llvm::formatv(
          "'{0}' must be {1}x{2}, not {3}x{4}", name, formatShape(shape),
          mlir::na::getName(type), formatShape(tensor.shape),
          mlir::na::getName(tensor.type)));
    call.descriptors.push_back(getDescriptor(tensor));
    if (byValue) {
      // The slot is the address of the value itself.
      SmallVector<int64_t> &value = call.descriptors.back();
      value.assign(1, 0);
      std::memcpy(value.data(), tensor.data, getByteWidth(type));
    }
    call.byValue.push_back(byValue);
    return llvm::Error::success();
  };
  if (inputs.size() != harness.inputs.size())
    return llvm::createStringError(
        llvm::formatv("the program takes {0} inputs, not {1}",
                      harness.inputs.size(), inputs.size()));
  for (auto [tensor, input] : llvm::zip(inputs, harness.inputs))
    if (llvm::Error error =
            add(tensor, input.name, input.type, input.shape, input.byValue))
      return std::move(error);

  size_t next = 0, words = 0;
  for (const HarnessOutput &output : harness.outputs) {
    if (output.isAllocatedByProgram()) {
      call.allocated.push_back(output);
      words += 3 + 2 * output.shape.size();
      continue;
    }
    if (output.input)
      continue;
    if (next == outputs.size())
      return llvm::createStringError("no tensor is bound to output '" +
                                     output.name + "'");
    if (llvm::Error error =
            add(outputs[next++], output.name, output.type, output.shape,
                /*byValue=*/false))
      return std::move(error);
  }
  if (next != outputs.size())
    return llvm::createStringError(llvm::formatv(
        "the program has {0} destinations, not {1}", next, outputs.size()));

  call.returned.assign(words, 0);
  if (words)
    call.values.push_back(call.returned.data());
  for (SmallVector<int64_t> &descriptor : call.descriptors)
    call.values.push_back(descriptor.data());
  for (auto [index, value] : llvm::enumerate(call.values)) {
    size_t argument = index - (words ? 1 : 0);
    bool direct = (!words || index > 0) && call.byValue[argument];
    call.slots.push_back(direct ? value : &value);
  }
  return call;
}

std::vector<std::pair<HarnessOutput, ArrayRef<int64_t>>>
Harness::Call::getAllocated() const {
  std::vector<std::pair<HarnessOutput, ArrayRef<int64_t>>> list;
  size_t word = 0;
  for (const HarnessOutput &output : allocated) {
    size_t count = 3 + 2 * output.shape.size();
    list.emplace_back(output, ArrayRef(returned).slice(word, count));
    word += count;
  }
  return list;
}

void Harness::Call::forgetAllocated() {
  std::fill(returned.begin(), returned.end(), 0);
}

void Harness::Call::run() {
  freeAllocated();
  function(slots.data());
}

void Harness::Call::freeAllocated() {
  for (const auto &[output, descriptor] : getAllocated())
    std::free(reinterpret_cast<void *>(descriptor[0]));
  forgetAllocated();
}

llvm::Expected<std::vector<HostTensor>> Harness::Call::takeAllocated() {
  std::vector<HostTensor> tensors;
  for (const auto &[output, descriptor] : getAllocated()) {
    if (descriptor[0] == 0)
      return llvm::createStringError("the program has not run");
    // The program returns a row-major memref, so the sizes say everything.
    llvm::Expected<HostTensor> tensor = HostTensor::allocate(
        output.name, output.type, descriptor.slice(3, output.shape.size()));
    if (!tensor)
      return tensor.takeError();
    std::memcpy(tensor->getData(),
                reinterpret_cast<const char *>(descriptor[1]) +
                    descriptor[2] * getByteWidth(output.type),
                tensor->getNumBytes());
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}
