//===- Problem.cpp - Programs from problem descriptions -------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "na/Dialect/NA/IR/NA.h"
#include "na/ExecutionEngine/Diagnostics.h"
#include "na/Semantics/Window.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::capi;

/// The problem with its defaults filled in.
static NaProblem complete(NaProblem problem) {
  if (problem.kv_heads == 0)
    problem.kv_heads = problem.heads;
  if (problem.value_dim == 0)
    problem.value_dim = problem.head_dim;
  for (int axis = 0; axis < 3; ++axis) {
    if (problem.stride[axis] == 0)
      problem.stride[axis] = 1;
    if (problem.dilation[axis] == 0)
      problem.dilation[axis] = 1;
  }
  return problem;
}

/// What is wrong with a problem, as text; empty if nothing is. Types are not
/// looked at.
static std::string findFault(const NaProblem &problem) {
  auto outside = [](const char *name, int64_t value, const char *limit) {
    return llvm::formatv("{0}: {1} is not {2}", name, value, limit).str();
  };
  if (problem.rank < 1 || problem.rank > 3)
    return outside("rank", problem.rank, "in 1 to 3");
  if (problem.batch < 0)
    return outside("batch", problem.batch, "at least 0");
  if (problem.heads < 1)
    return outside("heads", problem.heads, "at least 1");
  if (problem.kv_heads < 1)
    return outside("kv_heads", problem.kv_heads, "at least 1");
  if (problem.heads % problem.kv_heads != 0)
    return llvm::formatv("kv_heads: {0} does not divide heads, {1}",
                         problem.kv_heads, problem.heads);
  if (problem.head_dim < 1)
    return outside("head_dim", problem.head_dim, "at least 1");
  if (problem.value_dim < 1)
    return outside("value_dim", problem.value_dim, "at least 1");
  if (problem.additional < 0)
    return outside("additional", problem.additional, "at least 0");
  for (int axis = 0; axis < problem.rank; ++axis) {
    auto atAxis = [&](const char *name, int64_t value, const llvm::Twine &why) {
      return (llvm::Twine(name) + ", axis " + llvm::Twine(axis) + ": " +
              llvm::Twine(value) + " " + why)
          .str();
    };
    int64_t tokens = problem.tokens[axis], window = problem.window[axis];
    int64_t stride = problem.stride[axis], dilation = problem.dilation[axis];
    if (tokens < 1)
      return atAxis("tokens", tokens, "is not at least 1");
    if (window < 1)
      return atAxis("window", window, "is not at least 1");
    if (dilation < 1)
      return atAxis("dilation", dilation, "is not at least 1");
    if (stride < 1 || stride > window)
      return atAxis("stride", stride,
                    "is not in 1 to the window, " + llvm::Twine(window));
    if (window > tokens / dilation)
      return atAxis("window", window,
                    "times dilation " + llvm::Twine(dilation) +
                        " exceeds the length, " + llvm::Twine(tokens));
  }
  // Sizes in bytes, with room for what the passes compute from them.
  int64_t elements = 64;
  for (int64_t size :
       {std::max<int64_t>(problem.batch, 1), problem.heads,
        std::max(problem.head_dim, problem.value_dim), problem.tokens[0],
        problem.rank > 1 ? problem.tokens[1] : 1,
        problem.rank > 2 ? problem.tokens[2] : 1})
    if (llvm::MulOverflow(elements, size, elements))
      return "the number of elements overflows 64 bits";
  int64_t extra = 16;
  for (int64_t size : {std::max<int64_t>(problem.batch, 1), problem.heads,
                       std::max(problem.head_dim, problem.value_dim),
                       std::max<int64_t>(problem.additional, 1)})
    if (llvm::MulOverflow(extra, size, extra))
      return "the number of elements of additional_keys overflows 64 bits";
  return "";
}

static FloatType getFloatType(int32_t code, Builder &builder) {
  switch (code) {
  case NA_TYPE_F64:
    return builder.getF64Type();
  case NA_TYPE_F32:
    return builder.getF32Type();
  case NA_TYPE_F16:
    return builder.getF16Type();
  case NA_TYPE_BF16:
    return builder.getBF16Type();
  default:
    return {};
  }
}

namespace {
/// The operands of an attention or of its gradients; null where absent.
struct Operands {
  Value query, key, value, output, lse, outputGrad, lseGrad, bias;
  Value additionalKey, additionalValue;
};
} // namespace

static Operation *buildGradients(OpBuilder &builder, Location loc,
                                 const Operands &operands, WindowAttr window,
                                 FloatAttr scale, int32_t flags) {
  auto destination = [&](Value operand, bool asked = true) -> Value {
    if (!operand || !asked)
      return {};
    auto type = cast<RankedTensorType>(operand.getType());
    return tensor::EmptyOp::create(builder, loc, type.getShape(),
                                   type.getElementType());
  };
  bool ofBias = (flags & NA_GRADIENT_BIAS) != 0;
  bool ofAdditional = (flags & NA_GRADIENT_ADDITIONAL) != 0;
  Value queryGrad = destination(operands.query);
  Value keyGrad = destination(operands.key);
  Value valueGrad = destination(operands.value);
  Value biasGrad = destination(operands.bias, ofBias);
  Value additionalKeyGrad = destination(operands.additionalKey, ofAdditional);
  Value additionalValueGrad =
      destination(operands.additionalValue, ofAdditional);
  return AttentionGradOp::create(
      builder, loc, operands.query, operands.key, operands.value,
      operands.output, operands.lse, operands.outputGrad, operands.lseGrad,
      operands.bias, operands.additionalKey, operands.additionalValue,
      queryGrad, keyGrad, valueGrad, biasGrad, additionalKeyGrad,
      additionalValueGrad, window, scale,
      (flags & NA_GRADIENT_DETERMINISTIC) != 0);
}

/// What is wrong with the flags of gradients; empty if nothing is.
static std::string findFlagsFault(const NaProblem &problem, int32_t flags) {
  constexpr int32_t known = NA_GRADIENT_LSE | NA_GRADIENT_BIAS |
                            NA_GRADIENT_ADDITIONAL | NA_GRADIENT_DETERMINISTIC;
  if ((flags & ~known) != 0)
    return llvm::formatv("flags: {0} has bits other than those of NA_GRADIENT_*"
                         ", {1}",
                         flags, known);
  if ((flags & NA_GRADIENT_BIAS) && problem.bias_type == NA_TYPE_NONE)
    return "flags: NA_GRADIENT_BIAS, but bias_type is NA_TYPE_NONE";
  if ((flags & NA_GRADIENT_ADDITIONAL) && problem.additional == 0)
    return "flags: NA_GRADIENT_ADDITIONAL, but additional is 0";
  return "";
}

NaStatus capi::buildProblem(const NaProblem &given,
                            std::optional<int32_t> gradients,
                            MLIRContext &context, Source &source) {
  NaProblem problem = complete(given);
  std::string fault = findFault(problem);
  if (fault.empty() && gradients)
    fault = findFlagsFault(problem, *gradients);
  if (!fault.empty())
    return makeStatus(NA_INVALID_ARGUMENT, fault);
  context.loadDialect<NADialect, func::FuncDialect, tensor::TensorDialect>();
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  FloatType type = getFloatType(problem.type, builder);
  if (!type)
    return makeStatus(NA_INVALID_ARGUMENT,
                      "type: " + llvm::Twine(problem.type) +
                          " is not NA_TYPE_F64, F32, F16 or BF16");
  FloatType biasType = getFloatType(problem.bias_type, builder);
  if (problem.bias_type != NA_TYPE_NONE &&
      (!biasType || (!biasType.isF32() && biasType != type)))
    return makeStatus(NA_INVALID_ARGUMENT,
                      "bias_type: " + llvm::Twine(problem.bias_type) +
                          " is not NA_TYPE_NONE, NA_TYPE_F32 or `type`");

  source.module = ModuleOp::create(loc);
  source.entry = "main";
  ErrorCollector errors(&context);
  builder.setInsertionPointToStart(source.module->getBody());
  auto function = func::FuncOp::create(builder, loc, source.entry,
                                       builder.getFunctionType({}, {}));
  Block *body = builder.createBlock(&function.getBody());
  auto add = [&](const char *name, ArrayRef<int64_t> shape,
                 FloatType element) -> Value {
    source.names.inputs.push_back(name);
    return body->addArgument(RankedTensorType::get(shape, element),
                             NameLoc::get(builder.getStringAttr(name)));
  };
  ArrayRef<int64_t> tokens(problem.tokens, problem.rank);
  auto addHeads = [&](const char *name, ArrayRef<int64_t> length, int64_t heads,
                      int64_t features) {
    SmallVector<int64_t> shape = {problem.batch};
    llvm::append_range(shape, length);
    shape.append({heads, features});
    return add(name, shape, type);
  };
  Operands operands;
  operands.query = addHeads("q", tokens, problem.heads, problem.head_dim);
  operands.key = addHeads("k", tokens, problem.kv_heads, problem.head_dim);
  operands.value = addHeads("v", tokens, problem.kv_heads, problem.value_dim);
  if (gradients) {
    FloatType statistic = type.isF64() ? type : builder.getF32Type();
    SmallVector<int64_t> rows = {problem.batch};
    llvm::append_range(rows, tokens);
    rows.push_back(problem.heads);
    operands.output = addHeads("o", tokens, problem.heads, problem.value_dim);
    operands.lse = add("lse", rows, statistic);
    operands.outputGrad =
        addHeads("do", tokens, problem.heads, problem.value_dim);
    if (*gradients & NA_GRADIENT_LSE)
      operands.lseGrad = add("dlse", rows, statistic);
  }
  if (biasType) {
    SmallVector<int64_t> shape = {problem.heads};
    for (int axis = 0; axis < problem.rank; ++axis)
      shape.push_back(2 * problem.window[axis] - 1);
    operands.bias = add("bias", shape, biasType);
  }
  if (problem.additional) {
    operands.additionalKey = addHeads("additional_keys", problem.additional,
                                      problem.kv_heads, problem.head_dim);
    operands.additionalValue = addHeads("additional_values", problem.additional,
                                        problem.kv_heads, problem.value_dim);
  }
  SmallVector<bool> causal;
  for (int axis = 0; axis < problem.rank; ++axis)
    causal.push_back(problem.causal[axis] != 0);
  auto window = WindowAttr::getChecked([&] { return emitError(loc); }, &context,
                                       ArrayRef(problem.window, problem.rank),
                                       ArrayRef(problem.stride, problem.rank),
                                       ArrayRef(problem.dilation, problem.rank),
                                       ArrayRef<bool>(causal));
  if (!window)
    return makeStatus(NA_INVALID_ARGUMENT, errors.take("invalid window"));
  FloatAttr scale =
      problem.has_scale ? builder.getF64FloatAttr(problem.scale) : FloatAttr();
  Operation *op;
  if (gradients) {
    op = buildGradients(builder, loc, operands, window, scale, *gradients);
    source.names.outputs = {"dq", "dk", "dv"};
    if (*gradients & NA_GRADIENT_BIAS)
      source.names.outputs.push_back("dbias");
    if (*gradients & NA_GRADIENT_ADDITIONAL)
      llvm::append_range(
          source.names.outputs,
          ArrayRef<const char *>{"dadditional_keys", "dadditional_values"});
  } else {
    op = AttentionOp::create(builder, loc, operands.query, operands.key,
                             operands.value, window, problem.lse != 0,
                             operands.bias, operands.additionalKey,
                             operands.additionalValue, scale);
    source.names.outputs = {"o", "lse"};
  }
  func::ReturnOp::create(builder, loc, op->getResults());
  function.setFunctionType(
      builder.getFunctionType(body->getArgumentTypes(), op->getResultTypes()));
  if (failed(verify(*source.module)))
    return makeStatus(NA_INVALID_ARGUMENT, errors.take("invalid problem"));
  return ok();
}

NaStatus naProblemGetKeys(const NaProblem *given, int32_t axis, int64_t query,
                          int64_t *first, int64_t *count, int64_t *step) {
  if (!given || !first || !count || !step)
    return makeStatus(NA_INVALID_ARGUMENT,
                      given ? "first, count or step: null" : "problem: null");
  if (given->struct_size != sizeof(NaProblem))
    return makeStatus(NA_INVALID_ARGUMENT,
                      "problem: struct_size is not sizeof(NaProblem); start "
                      "with naProblemInit");
  NaProblem problem = complete(*given);
  std::string fault = findFault(problem);
  if (!fault.empty())
    return makeStatus(NA_INVALID_ARGUMENT, fault);
  auto outside = [](const char *name, int64_t value, int64_t limit) {
    return makeStatus(
        NA_INVALID_ARGUMENT,
        llvm::formatv("{0}: {1} is not in 0 to {2}", name, value, limit - 1)
            .str());
  };
  if (axis < 0 || axis >= problem.rank)
    return outside("axis", axis, problem.rank);
  int64_t length = problem.tokens[axis];
  if (query < 0 || query >= length)
    return outside("query", query, length);
  ::na::window::Axis window{problem.window[axis], problem.stride[axis],
                            problem.dilation[axis], problem.causal[axis] != 0};
  int64_t residue = query % window.dilation;
  int64_t size = ::na::window::classSize(window, length, residue);
  auto keys = ::na::window::keyRange(window, size, query / window.dilation);
  *first = keys.begin * window.dilation + residue;
  *count = keys.end - keys.begin;
  *step = window.dilation;
  return ok();
}
