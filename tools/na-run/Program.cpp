//===- Program.cpp - The program that na-run runs -------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "na/Dialect/NA/IR/NA.h"
#include "na/ExecutionEngine/Diagnostics.h"
#include "na/Semantics/Window.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::run;

//===----------------------------------------------------------------------===//
// Programs from files
//===----------------------------------------------------------------------===//

/// The name that the source gives to a value, without the '%'.
static std::string getSourceName(SMRange range) {
  if (!range.isValid())
    return "";
  StringRef text(range.Start.getPointer(),
                 range.End.getPointer() - range.Start.getPointer());
  text.consume_front("%");
  text = text.split(':').first.trim();
  // %0, %1, .. say nothing.
  int64_t number;
  return text.getAsInteger(10, number) ? text.str() : std::string();
}

static std::string getResultName(Value value, const AsmParserState &state) {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return "";
  const auto *definition = state.getOpDef(result.getOwner());
  if (!definition)
    return "";
  // `%a, %b:2 = ..` is two groups that start at results 0 and 1.
  for (const auto &group : definition->resultGroups)
    if (group.startIndex == result.getResultNumber())
      return getSourceName(group.definition.loc);
  return "";
}

/// Names the arguments and results of the entry as the source does.
static HarnessNames getNames(func::FuncOp entry, const AsmParserState &state) {
  HarnessNames names;
  if (const auto *block = state.getBlockDef(&entry.getBody().front()))
    for (const auto &argument : block->arguments)
      names.inputs.push_back(getSourceName(argument.loc));
  auto returnOp =
      dyn_cast<func::ReturnOp>(entry.getBody().back().getTerminator());
  if (returnOp)
    for (Value value : returnOp.getOperands()) {
      std::string name = getResultName(value, state);
      // Two results may be one value.
      if (llvm::is_contained(names.outputs, name) ||
          llvm::is_contained(names.inputs, name))
        name.clear();
      names.outputs.push_back(name);
    }
  return names;
}

static llvm::Expected<Program> parseProgram(const Options &options,
                                            MLIRContext &context) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer =
      openInputFile(options.file, &message);
  if (!buffer)
    return llvm::createStringError(message);
  Program program;
  bool isText = !isBytecode(*buffer);
  llvm::SourceMgr source;
  source.AddNewSourceBuffer(std::move(buffer), SMLoc());

  AsmParserState state;
  ErrorCollector errors(&context);
  ParserConfig config(&context);
  Block block;
  if (failed(isText ? parseAsmSourceFile(source, &block, config, &state)
                    : parseSourceFile(source, &block, config)))
    return llvm::createStringError(
        errors.take("'" + options.file + "' cannot be parsed"));
  // A file may be a module, or what is inside one.
  if (llvm::hasSingleElement(block) && isa<ModuleOp>(block.front())) {
    auto module = cast<ModuleOp>(block.front());
    module->remove();
    program.module = module;
  } else {
    program.module = ModuleOp::create(UnknownLoc::get(&context));
    program.module->getBody()->getOperations().splice(
        program.module->getBody()->end(), block.getOperations());
    if (failed(verify(*program.module)))
      return llvm::createStringError(errors.take("invalid program"));
  }
  llvm::Expected<std::string> entry = findEntry(*program.module, options.entry);
  if (!entry)
    return llvm::createStringError(options.file + ": " +
                                   llvm::toString(entry.takeError()));
  program.entry = *entry;
  auto function = program.module->lookupSymbol<func::FuncOp>(*entry);
  if (isText)
    program.names = getNames(function, state);
  program.summary = options.file + ", function " + program.entry;
  return program;
}

//===----------------------------------------------------------------------===//
// Programs from flags
//===----------------------------------------------------------------------===//

static FloatType getFloatType(ElementType type, Builder &builder) {
  switch (type) {
  case ElementType::F64:
    return builder.getF64Type();
  case ElementType::F16:
    return builder.getF16Type();
  case ElementType::BF16:
    return builder.getBF16Type();
  default:
    return builder.getF32Type();
  }
}

static std::string formatList(ArrayRef<int64_t> list) {
  return formatShape(list);
}

static std::string summarize(const Problem &problem) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto isOther = [](int64_t value) { return value != 1; };
  os << (problem.backward ? "gradients of " : "")
     << "neighborhood attention, tokens " << formatList(problem.shape)
     << ", window " << formatList(problem.window);
  if (llvm::any_of(problem.stride, isOther))
    os << ", stride " << formatList(problem.stride);
  if (llvm::any_of(problem.dilation, isOther))
    os << ", dilation " << formatList(problem.dilation);
  if (llvm::is_contained(problem.causal, true)) {
    os << ", causal ";
    llvm::interleave(
        problem.causal, os, [&](bool causal) { os << (causal ? "t" : "f"); },
        ",");
  }
  os << ", batch " << problem.batch << ", heads " << problem.heads;
  if (problem.kvHeads != problem.heads)
    os << "/" << problem.kvHeads;
  os << ", head dim " << problem.headDim;
  if (problem.valueDim != problem.headDim)
    os << "/" << problem.valueDim;
  if (problem.extraKV)
    os << ", additional keys " << problem.extraKV;
  if (problem.bias)
    os << ", bias " << getName(*problem.bias);
  os << ", " << getName(problem.type);
  return text;
}

/// The gradients of an attention operation, with destinations of their own.
static AttentionGradOp buildGradient(ImplicitLocOpBuilder &b, Value query,
                                     Value key, Value value, Value output,
                                     Value lse, Value outputGrad, Value lseGrad,
                                     Value bias, Value extraKey,
                                     Value extraValue, WindowAttr window,
                                     FloatAttr scale, bool deterministic) {
  auto buildLike = [&](Value like) -> Value {
    if (!like)
      return Value();
    return tensor::EmptyOp::create(b,
                                   tensor::getMixedSizes(b, b.getLoc(), like),
                                   getElementTypeOrSelf(like.getType()))
        .getResult();
  };
  return AttentionGradOp::create(
      b, query, key, value, output, lse, outputGrad, lseGrad, bias, extraKey,
      extraValue, buildLike(query), buildLike(key), buildLike(value),
      buildLike(bias), buildLike(extraKey), buildLike(extraValue), window,
      scale, deterministic);
}

static llvm::Expected<Program> buildProgram(const Problem &problem,
                                            MLIRContext &context) {
  Program program;
  program.summary = summarize(problem);
  program.precision = problem.type;
  program.entry = "main";
  program.names.inputs = {"q", "k", "v"};
  program.names.outputs = {"o", "lse"};

  context.loadDialect<NADialect, func::FuncDialect, tensor::TensorDialect>();
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  FloatType type = getFloatType(problem.type, builder);
  SmallVector<Type> types;
  SmallVector<Location> locations;
  auto addInput = [&](const char *name, ArrayRef<int64_t> shape,
                      FloatType element, unsigned dynamicSizes) {
    program.shapes[name].assign(shape.begin(), shape.end());
    SmallVector<int64_t> sizes(shape);
    unsigned count = std::min<unsigned>(
        dynamicSizes, problem.dynamic ? dynamicSizes : problem.dynamicBatch);
    std::fill_n(sizes.begin(), count, ShapedType::kDynamic);
    types.push_back(RankedTensorType::get(sizes, element));
    locations.push_back(NameLoc::get(builder.getStringAttr(name)));
  };
  auto heads = [&](ArrayRef<int64_t> tokens, int64_t heads, int64_t features) {
    SmallVector<int64_t> shape = {problem.batch};
    llvm::append_range(shape, tokens);
    shape.push_back(heads);
    shape.push_back(features);
    return shape;
  };
  unsigned outer = 1 + problem.shape.size();
  addInput("q", heads(problem.shape, problem.heads, problem.headDim), type,
           outer);
  addInput("k", heads(problem.shape, problem.kvHeads, problem.headDim), type,
           outer);
  addInput("v", heads(problem.shape, problem.kvHeads, problem.valueDim), type,
           outer);
  if (problem.bias) {
    SmallVector<int64_t> shape = {problem.heads};
    for (int64_t size : problem.window)
      shape.push_back(2 * size - 1);
    program.names.inputs.push_back("bias");
    addInput("bias", shape, getFloatType(*problem.bias, builder), 0);
  }
  if (problem.extraKV) {
    program.names.inputs.push_back("ek");
    program.names.inputs.push_back("ev");
    addInput("ek", heads(problem.extraKV, problem.kvHeads, problem.headDim),
             type, 1);
    addInput("ev", heads(problem.extraKV, problem.kvHeads, problem.valueDim),
             type, 1);
  }
  SmallVector<int64_t> outputShape =
      heads(problem.shape, problem.heads, problem.valueDim);
  auto statistics =
      cast<FloatType>(problem.type == ElementType::F64 ? builder.getF64Type()
                                                       : builder.getF32Type());
  if (problem.backward) {
    ArrayRef<int64_t> rows = ArrayRef<int64_t>(outputShape).drop_back();
    program.names.inputs.push_back("do");
    addInput("do", outputShape, type, outer);
    if (problem.lseGrad) {
      program.names.inputs.push_back("dlse");
      addInput("dlse", rows, statistics, outer);
    }
    if (problem.readsOutput) {
      program.names.inputs.push_back("o");
      addInput("o", outputShape, type, outer);
      program.names.inputs.push_back("lse");
      addInput("lse", rows, statistics, outer);
    }
    program.names.outputs = {"dq", "dk", "dv"};
    if (problem.bias)
      program.names.outputs.push_back("dbias");
    if (problem.extraKV) {
      program.names.outputs.push_back("dek");
      program.names.outputs.push_back("dev");
    }
  }

  ErrorCollector errors(&context);
  program.module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(program.module->getBody());
  auto function = func::FuncOp::create(
      builder, loc, program.entry, builder.getFunctionType(types, TypeRange()));
  Block *body = builder.createBlock(&function.getBody(), {}, types, locations);
  unsigned next = 3;
  auto take = [&](bool present) {
    return present ? Value(body->getArgument(next++)) : Value();
  };
  Value bias = take(problem.bias.has_value());
  Value extraKey = take(problem.extraKV != 0);
  Value extraValue = take(problem.extraKV != 0);
  SmallVector<bool> causal(problem.causal.begin(), problem.causal.end());
  auto window = WindowAttr::get(&context, problem.window, problem.stride,
                                problem.dilation, causal);
  auto scale =
      problem.scale ? builder.getF64FloatAttr(*problem.scale) : FloatAttr();
  Value outputGrad = take(problem.backward);
  Value lseGrad = take(problem.lseGrad);
  Value output = take(problem.readsOutput), lse = take(problem.readsOutput);
  Operation *last = nullptr;
  if (!problem.readsOutput)
    last =
        AttentionOp::create(builder, loc, body->getArgument(0),
                            body->getArgument(1), body->getArgument(2), window,
                            problem.lse, bias, extraKey, extraValue, scale);
  if (problem.backward) {
    ImplicitLocOpBuilder b(loc, builder);
    last = buildGradient(
        b, body->getArgument(0), body->getArgument(1), body->getArgument(2),
        last ? last->getResult(0) : output, last ? last->getResult(1) : lse,
        outputGrad, lseGrad, bias, extraKey, extraValue, window, scale,
        problem.deterministic);
  }
  func::ReturnOp::create(builder, loc, last->getResults());
  function.setFunctionType(
      builder.getFunctionType(types, last->getResultTypes()));
  if (failed(verify(*program.module)))
    return llvm::createStringError(errors.take("invalid problem"));
  return program;
}

//===----------------------------------------------------------------------===//
// Both
//===----------------------------------------------------------------------===//

/// Attaches the schedule of the options to every operation that can have one.
static llvm::Error attachSchedule(const Options &options, ModuleOp module) {
  // On a GPU they are options of the pipeline, which knows the chip.
  if (options.queryTile.empty() || options.cuda)
    return llvm::Error::success();
  ErrorCollector errors(module.getContext());
  auto schedule = ScheduleAttr::getChecked(
      [&] { return emitError(module.getLoc()); }, module.getContext(),
      StringRef(options.scheduleTarget), ArrayRef<int64_t>(options.queryTile),
      ArrayRef<int64_t>(options.keyTile),
      ArrayRef<int64_t>(options.warpgroupTile), /*stages=*/int64_t(0),
      /*warps=*/int64_t(0), /*valueTile=*/int64_t(0),
      std::max<int64_t>(options.headsPerTile, 1));
  if (!schedule)
    return llvm::createStringError(errors.take("invalid schedule"));
  bool found = false;
  module.walk([&](Operation *op) {
    auto attach = [&](auto structured) {
      if (!structured)
        return;
      structured.setScheduleAttr(schedule);
      found = true;
    };
    attach(dyn_cast<AttentionOp>(op));
    attach(dyn_cast<AttentionGradOp>(op));
    attach(dyn_cast<AttentionDQOp>(op));
    attach(dyn_cast<AttentionDKVOp>(op));
    attach(dyn_cast<AttentionDQKVOp>(op));
    attach(dyn_cast<QKOp>(op));
    attach(dyn_cast<AVOp>(op));
    attach(dyn_cast<QKGradOp>(op));
    attach(dyn_cast<AVGradOp>(op));
    attach(dyn_cast<QKDQOp>(op));
    attach(dyn_cast<QKDKOp>(op));
    attach(dyn_cast<AVDWeightsOp>(op));
    attach(dyn_cast<AVDVOp>(op));
  });
  if (!found)
    return llvm::createStringError(
        "--query-tile: the program has no operation that takes a schedule");
  if (failed(verify(module)))
    return llvm::createStringError(errors.take("invalid schedule"));
  return llvm::Error::success();
}

/// Fewer bits of significand mean less precision.
static unsigned getPrecision(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return 53;
  case ElementType::F32:
    return 24;
  case ElementType::F16:
    return 11;
  case ElementType::BF16:
    return 8;
  default:
    return 64;
  }
}

static ElementType findPrecision(ModuleOp module) {
  ElementType least = ElementType::F64;
  module.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto element = mlir::na::getElementType(getElementTypeOrSelf(type)))
        if (getPrecision(*element) < getPrecision(least))
          least = *element;
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Type type : block.getArgumentTypes())
          if (auto element =
                  mlir::na::getElementType(getElementTypeOrSelf(type)))
            if (getPrecision(*element) < getPrecision(least))
              least = *element;
  });
  return least;
}

llvm::Expected<Program> run::loadProgram(const Options &options,
                                         MLIRContext &context) {
  llvm::Expected<Program> program =
      options.problem ? buildProgram(*options.problem, context)
                      : parseProgram(options, context);
  if (!program)
    return program;
  if (llvm::Error error = attachSchedule(options, *program->module))
    return std::move(error);
  program->precision = findPrecision(*program->module);
  if (!options.problem || !options.problem->readsOutput ||
      options.inputs.count("o"))
    return program;
  Problem forward = *options.problem;
  forward.backward = forward.readsOutput = forward.lseGrad = false;
  llvm::Expected<Program> built = buildProgram(forward, context);
  if (!built)
    return built.takeError();
  built->precision = findPrecision(*built->module);
  program->forward = std::make_unique<Program>(std::move(*built));
  return program;
}

/// Visible pairs of all tokens of one batch and head.
static double countPairs(ArrayRef<::na::window::Axis> axes,
                         ArrayRef<int64_t> shape, int64_t extraKV) {
  double pairs = 1, tokens = 1;
  for (auto [axis, length] : llvm::zip(axes, shape)) {
    pairs *= static_cast<double>(::na::window::pairCount(axis, length));
    tokens *= static_cast<double>(length);
  }
  return pairs + tokens * static_cast<double>(extraKV);
}

/// Of an na.attention, or of its gradients if they did as many products.
template <typename OpTy>
static double countAttention(OpTy op) {
  auto query = cast<ShapedType>(op.getQuery().getType());
  auto value = cast<ShapedType>(op.getValue().getType());
  if (!query.hasStaticShape() || value.isDynamicDim(value.getRank() - 1))
    return 0;
  int64_t extraKV = 0;
  if (Value key = op.getAdditionalKey()) {
    extraKV = cast<ShapedType>(key.getType()).getDimSize(1);
    if (ShapedType::isDynamic(extraKV))
      return 0;
  }
  int64_t rank = op.getWindow().getRank();
  SmallVector<::na::window::Axis> axes;
  for (int64_t axis = 0; axis < rank; ++axis)
    axes.push_back(op.getWindow().getAxis(axis));
  ArrayRef<int64_t> shape = query.getShape();
  double rows = static_cast<double>(shape[0]) * shape[rank + 1];
  double features = static_cast<double>(shape[rank + 2]) +
                    value.getDimSize(value.getRank() - 1);
  return 2 * rows * countPairs(axes, shape.slice(1, rank), extraKV) * features;
}

/// Products of gradients for each of the forward's: 5 instead of 2.
static constexpr double gradientProducts = 2.5;

Work run::countWork(const Program &program, const Options &options) {
  Work work;
  ModuleOp module = *program.module;
  module.walk([&](Operation *op) {
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      work.attention += countAttention(attention);
    } else if (auto gradient = dyn_cast<AttentionGradOp>(op)) {
      work.attention += gradientProducts * countAttention(gradient);
    } else if (auto contraction =
                   dyn_cast<linalg::ContractionOpInterface>(op)) {
      double points = 2;
      for (int64_t size : cast<linalg::LinalgOp>(op).getStaticLoopRanges())
        points *= ShapedType::isDynamic(size) ? 0 : static_cast<double>(size);
      work.contractions += points;
    }
  });
  if (options.problem && options.problem->dynamicBatch) {
    const Problem &problem = *options.problem;
    SmallVector<::na::window::Axis> axes;
    for (size_t axis = 0; axis < problem.shape.size(); ++axis)
      axes.push_back({problem.window[axis], problem.stride[axis],
                      problem.dilation[axis], problem.causal[axis]});
    work.attention = 2.0 * problem.batch * problem.heads *
                     countPairs(axes, problem.shape, problem.extraKV) *
                     (problem.headDim + problem.valueDim);
    if (problem.backward)
      work.attention *= gradientProducts + (problem.readsOutput ? 0 : 1);
  }
  return work;
}
