//===- CanonicalizationTest.cpp - Rewrites of windows are exact -*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The canonicalizer's rules on windows are run on every axis of up to 12
// tokens, and the simplified axis is compared with the original one, query by
// query.
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/IR/NA.h"
#include "na/InitAll.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "gtest/gtest.h"

#include <vector>

using namespace mlir;
using namespace mlir::na;
using ::na::window::Axis;

namespace {
/// The coordinates of the keys that the query at `coordinate` sees.
std::vector<int64_t> keys(const Axis &axis, int64_t length,
                          int64_t coordinate) {
  int64_t residue = coordinate % axis.dilation;
  int64_t size = ::na::window::classSize(axis, length, residue);
  auto range = ::na::window::keyRange(axis, size, coordinate / axis.dilation);
  std::vector<int64_t> result;
  for (int64_t key = range.begin; key < range.end; ++key)
    result.push_back(residue + key * axis.dilation);
  return result;
}

TEST(CanonicalizationTest, WindowsSeeTheSameKeys) {
  MLIRContext context;
  DialectRegistry registry;
  mlir::na::registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadDialect<NADialect, func::FuncDialect>();
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);

  // One function per length holds all operations of that length.
  std::vector<std::pair<Axis, int64_t>> problems;
  for (int64_t length = 1; length <= 12; ++length) {
    builder.setInsertionPointToEnd(module->getBody());
    auto type = MemRefType::get({1, length, 1, 1}, builder.getF32Type());
    auto function =
        func::FuncOp::create(builder, loc, "f" + std::to_string(length),
                             builder.getFunctionType({type, type}, {}));
    Block *block = function.addEntryBlock();
    builder.setInsertionPointToStart(block);
    Value tokens = block->getArgument(0), output = block->getArgument(1);
    for (int64_t dilation = 1; dilation <= length; ++dilation)
      for (int64_t window = 1; window * dilation <= length; ++window)
        for (int64_t stride = 1; stride <= window; ++stride)
          for (bool causal : {false, true}) {
            problems.push_back({{window, stride, dilation, causal}, length});
            AttentionOp::create(
                builder, loc, tokens, tokens, tokens, /*bias=*/Value(),
                /*additionalKey=*/Value(), /*additionalValue=*/Value(), output,
                /*lse=*/Value(),
                WindowAttr::get(&context, {window}, {stride}, {dilation},
                                {causal}),
                FloatAttr());
          }
    func::ReturnOp::create(builder, loc);
  }

  PassManager passes(&context);
  passes.addPass(createCanonicalizerPass());
  ASSERT_TRUE(succeeded(passes.run(*module)));

  size_t index = 0, simplified = 0;
  module->walk([&](AttentionOp op) {
    auto [axis, length] = problems[index++];
    Axis simple = op.getWindow().getAxis(0);
    simplified += simple.stride != axis.stride ||
                  simple.dilation != axis.dilation ||
                  simple.causal != axis.causal;
    for (int64_t query = 0; query < length; ++query)
      EXPECT_EQ(keys(simple, length, query), keys(axis, length, query))
          << "window " << axis.window << " stride " << axis.stride
          << " dilation " << axis.dilation << " causal " << axis.causal
          << " length " << length << " query " << query;
  });
  EXPECT_EQ(index, problems.size());
  EXPECT_GT(simplified, 0u);
}
} // namespace
