//===- BuilderTest.cpp - Building na operations from C++ --------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/IR/NA.h"
#include "na/InitAll.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::na;

namespace {
constexpr int64_t dynamic = ShapedType::kDynamic;

class BuilderTest : public ::testing::Test {
protected:
  BuilderTest() : builder(&context) {
    DialectRegistry registry;
    mlir::na::registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadDialect<NADialect, func::FuncDialect>();
    module = ModuleOp::create(builder.getUnknownLoc());
  }

  /// Starts a function with arguments of `types`; the builder is inside it.
  Block::BlockArgListType start(ArrayRef<Type> types) {
    builder.setInsertionPointToStart(module->getBody());
    auto function = func::FuncOp::create(builder, module->getLoc(), "f",
                                         builder.getFunctionType(types, {}));
    Block *block = function.addEntryBlock();
    builder.setInsertionPointToStart(block);
    auto end = func::ReturnOp::create(builder, module->getLoc());
    builder.setInsertionPoint(end);
    return block->getArguments();
  }

  bool verifies() { return succeeded(verify(*module)); }

  MLIRContext context;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
};

TEST_F(BuilderTest, StaticSizes) {
  Type f16 = builder.getF16Type();
  auto arguments = start({RankedTensorType::get({2, 9, 8, 4, 16}, f16),
                          RankedTensorType::get({2, 9, 8, 2, 16}, f16),
                          RankedTensorType::get({2, 9, 8, 2, 24}, f16)});
  auto op =
      AttentionOp::create(builder, module->getLoc(), arguments[0], arguments[1],
                          arguments[2], WindowAttr::get(&context, {3, 3}));
  EXPECT_TRUE(verifies());
  ASSERT_EQ(op->getNumResults(), 1u);
  EXPECT_EQ(op->getResult(0).getType(),
            RankedTensorType::get({2, 9, 8, 4, 24}, f16));
  EXPECT_EQ(op.getSpatialRank(), 2);
  EXPECT_EQ(op.getElementType(), f16);
  EXPECT_TRUE(op.getAccumulatorType().isF32());
  EXPECT_EQ(op.getScaleValue(), 0.25);
}

TEST_F(BuilderTest, DynamicSizesAndAllOptions) {
  Type f64 = builder.getF64Type();
  auto arguments =
      start({RankedTensorType::get({dynamic, dynamic, dynamic, dynamic}, f64),
             RankedTensorType::get({dynamic, dynamic, 2, dynamic}, f64),
             RankedTensorType::get({dynamic, 8, 2, dynamic}, f64),
             RankedTensorType::get({dynamic, 5}, f64),
             RankedTensorType::get({dynamic, dynamic, 2, dynamic}, f64),
             RankedTensorType::get({dynamic, dynamic, 2, dynamic}, f64)});
  auto op = AttentionOp::create(
      builder, module->getLoc(), arguments[0], arguments[1], arguments[2],
      WindowAttr::get(&context, {3}, {2}, {1}, {true}), /*withLse=*/true,
      /*bias=*/arguments[3], /*additionalKey=*/arguments[4],
      /*additionalValue=*/arguments[5], builder.getF64FloatAttr(-2.0));
  EXPECT_TRUE(verifies());
  ASSERT_EQ(op->getNumResults(), 2u);
  EXPECT_EQ(op->getResult(0).getType(),
            RankedTensorType::get({dynamic, dynamic, dynamic, dynamic}, f64));
  EXPECT_EQ(op->getResult(1).getType(),
            RankedTensorType::get({dynamic, dynamic, dynamic}, f64));
  EXPECT_EQ(op.getScaleValue(), -2.0);
  // The destinations are as large as the operands at run time: the query's
  // tokens and heads, the value's channels.
  auto empty = op.getOutput().getDefiningOp<tensor::EmptyOp>();
  ASSERT_TRUE(empty);
  ASSERT_EQ(empty.getDynamicSizes().size(), 4u);
  auto channels = empty.getDynamicSizes()[3].getDefiningOp<tensor::DimOp>();
  ASSERT_TRUE(channels);
  EXPECT_EQ(channels.getSource(), arguments[2]);
  EXPECT_EQ(channels.getConstantIndex(), 3);
  auto heads = empty.getDynamicSizes()[2].getDefiningOp<tensor::DimOp>();
  ASSERT_TRUE(heads);
  EXPECT_EQ(heads.getSource(), arguments[0]);
}

TEST_F(BuilderTest, DefaultScaleNeedsHeadDim) {
  Type f32 = builder.getF32Type();
  auto type = RankedTensorType::get({2, 8, 4, dynamic}, f32);
  auto arguments = start({type});
  auto op =
      AttentionOp::create(builder, module->getLoc(), arguments[0], arguments[0],
                          arguments[0], WindowAttr::get(&context, {3}));
  EXPECT_TRUE(verifies());
  EXPECT_EQ(op.getScaleValue(), std::nullopt);
}

TEST_F(BuilderTest, MemRefDestinations) {
  Type f32 = builder.getF32Type();
  auto tokens = MemRefType::get({2, 8, 4, 16}, f32);
  auto scores = MemRefType::get({2, 8, 4, 3}, f32);
  auto statistic = MemRefType::get({2, 8, 4}, f32);
  auto arguments = start({tokens, tokens, scores, statistic});
  auto window = WindowAttr::get(&context, {3});
  Location loc = module->getLoc();
  Value q = arguments[0], o = arguments[1], s = arguments[2], l = arguments[3];
  Operation *ops[] = {
      AttentionOp::create(builder, loc, q, q, q, /*bias=*/Value(),
                          /*additionalKey=*/Value(),
                          /*additionalValue=*/Value(), o, l, window,
                          FloatAttr()),
      QKOp::create(builder, loc, q, q, /*bias=*/Value(), s, window,
                   FloatAttr()),
      AVOp::create(builder, loc, s, q, o, window),
      MergeOp::create(builder, loc, ValueRange{q, q}, ValueRange{l, l}, o, l)};
  EXPECT_TRUE(verifies());
  for (Operation *op : ops)
    EXPECT_EQ(op->getNumResults(), 0u);
}

TEST_F(BuilderTest, TensorDestinations) {
  Type f32 = builder.getF32Type();
  auto tokens = RankedTensorType::get({2, 8, 4, 16}, f32);
  auto scores = RankedTensorType::get({2, 8, 4, 3}, f32);
  auto statistic = RankedTensorType::get({2, 8, 4}, f32);
  auto arguments = start({tokens, scores, statistic});
  auto window = WindowAttr::get(&context, {3});
  Location loc = module->getLoc();
  Value q = arguments[0], s = arguments[1], l = arguments[2];
  auto qk = QKOp::create(builder, loc, q, q, /*bias=*/Value(), s, window,
                         FloatAttr());
  auto av = AVOp::create(builder, loc, qk->getResult(0), q, q, window);
  auto merge = MergeOp::create(builder, loc, ValueRange{av->getResult(0), q},
                               ValueRange{l, l}, q, l);
  EXPECT_TRUE(verifies());
  EXPECT_EQ(qk->getResult(0).getType(), scores);
  EXPECT_EQ(av->getResult(0).getType(), tokens);
  EXPECT_EQ(merge->getResult(0).getType(), tokens);
  EXPECT_EQ(merge->getResult(1).getType(), statistic);
}

TEST_F(BuilderTest, WindowDefaults) {
  auto window = WindowAttr::get(&context, {3, 5});
  EXPECT_EQ(window.getStride(), ArrayRef<int64_t>({1, 1}));
  EXPECT_EQ(window.getDilation(), ArrayRef<int64_t>({1, 1}));
  EXPECT_EQ(window.getCausal(), ArrayRef<bool>({false, false}));
  EXPECT_EQ(window.getNumSlots(), 15);
  EXPECT_FALSE(window.isIdentity());
  EXPECT_TRUE(WindowAttr::get(&context, {1, 1}).isIdentity());
  // The product saturates.
  EXPECT_EQ(WindowAttr::get(&context, {int64_t(1) << 32, int64_t(1) << 32})
                .getNumSlots(),
            std::numeric_limits<int64_t>::max());
}
} // namespace
