//===- Problem.cpp - Programs from problem descriptions -------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
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
  int64_t elements = 16;
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

NaStatus capi::buildProblem(const NaProblem &given, MLIRContext &context,
                            Source &source) {
  NaProblem problem = complete(given);
  std::string fault = findFault(problem);
  if (!fault.empty())
    return makeStatus(NA_INVALID_ARGUMENT, fault);
  context.loadDialect<NADialect, func::FuncDialect>();
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

  SmallVector<Type> types;
  SmallVector<Location> locations;
  auto add = [&](const char *name, ArrayRef<int64_t> shape, FloatType element) {
    source.names.inputs.push_back(name);
    types.push_back(RankedTensorType::get(shape, element));
    locations.push_back(NameLoc::get(builder.getStringAttr(name)));
  };
  ArrayRef<int64_t> tokens(problem.tokens, problem.rank);
  auto addHeads = [&](const char *name, ArrayRef<int64_t> length, int64_t heads,
                      int64_t features) {
    SmallVector<int64_t> shape = {problem.batch};
    llvm::append_range(shape, length);
    shape.push_back(heads);
    shape.push_back(features);
    add(name, shape, type);
  };
  addHeads("q", tokens, problem.heads, problem.head_dim);
  addHeads("k", tokens, problem.kv_heads, problem.head_dim);
  addHeads("v", tokens, problem.kv_heads, problem.value_dim);
  if (biasType) {
    SmallVector<int64_t> shape = {problem.heads};
    for (int axis = 0; axis < problem.rank; ++axis)
      shape.push_back(2 * problem.window[axis] - 1);
    add("bias", shape, biasType);
  }
  if (problem.additional) {
    addHeads("additional_keys", problem.additional, problem.kv_heads,
             problem.head_dim);
    addHeads("additional_values", problem.additional, problem.kv_heads,
             problem.value_dim);
  }
  source.names.outputs = {"o", "lse"};
  source.entry = "main";

  ErrorCollector errors(&context);
  source.module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(source.module->getBody());
  auto function = func::FuncOp::create(
      builder, loc, source.entry, builder.getFunctionType(types, TypeRange()));
  Block *body = builder.createBlock(&function.getBody(), {}, types, locations);
  unsigned next = 3;
  auto take = [&](bool present) {
    return present ? Value(body->getArgument(next++)) : Value();
  };
  Value bias = take(static_cast<bool>(biasType));
  Value extraKey = take(problem.additional != 0);
  Value extraValue = take(problem.additional != 0);
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
  auto attention = AttentionOp::create(
      builder, loc, body->getArgument(0), body->getArgument(1),
      body->getArgument(2), window, problem.lse != 0, bias, extraKey,
      extraValue,
      problem.has_scale ? builder.getF64FloatAttr(problem.scale) : FloatAttr());
  func::ReturnOp::create(builder, loc, attention->getResults());
  function.setFunctionType(
      builder.getFunctionType(types, attention->getResultTypes()));
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
