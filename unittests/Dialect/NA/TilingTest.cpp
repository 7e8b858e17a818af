//===- TilingTest.cpp - Attention fused into its producer's loop *- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/IR/NA.h"
#include "na/InitAll.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/TilingInterface.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::na;

namespace {
class TilingTest : public ::testing::Test {
protected:
  TilingTest() {
    DialectRegistry registry;
    mlir::na::registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// Tiles the linalg.exp of `source` and fuses the attention, its consumer,
  /// into the loops. Returns the attention there, or none.
  AttentionOp fuse(StringRef source, ArrayRef<int64_t> tile) {
    module = parseSourceString<ModuleOp>(source, &context);
    if (!module)
      return {};
    linalg::ExpOp producer;
    AttentionOp consumer;
    module->walk([&](linalg::ExpOp op) { producer = op; });
    module->walk([&](AttentionOp op) { consumer = op; });

    IRRewriter rewriter(&context);
    rewriter.setInsertionPoint(producer);
    scf::SCFTilingOptions options;
    options.setTileSizes(getAsIndexOpFoldResult(&context, tile));
    auto tiled = scf::tileUsingSCF(
        rewriter, cast<TilingInterface>(producer.getOperation()), options);
    if (failed(tiled))
      return {};
    rewriter.replaceOp(producer, tiled->replacements);
    auto fused = scf::tileAndFuseConsumer(rewriter, consumer, tiled->loops);
    if (failed(fused))
      return {};
    EXPECT_TRUE(succeeded(verify(*module)));
    AttentionOp result;
    tiled->loops.back()->walk([&](AttentionOp op) { result = op; });
    return result;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

constexpr StringLiteral queryProducer = R"mlir(
func.func @f(%q: tensor<2x8x6x16xf32>, %k: tensor<2x8x2x16xf32>,
             %e: tensor<2x8x6x16xf32>, %o: tensor<2x8x6x16xf32>)
    -> tensor<2x8x6x16xf32> {
  %x = linalg.exp ins(%q : tensor<2x8x6x16xf32>)
                  outs(%e : tensor<2x8x6x16xf32>) -> tensor<2x8x6x16xf32>
  %a = na.attention
      ins(%x, %k, %k : tensor<2x8x6x16xf32>, tensor<2x8x2x16xf32>,
                       tensor<2x8x2x16xf32>)
      outs(%o : tensor<2x8x6x16xf32>) window(<size = [3]>)
      -> tensor<2x8x6x16xf32>
  return %a : tensor<2x8x6x16xf32>
}
)mlir";

TEST_F(TilingTest, QueriesOfOneKeyHead) {
  AttentionOp op = fuse(queryProducer, {1, 0, 3});
  ASSERT_TRUE(op);
  auto shape = [](Value value) {
    return cast<ShapedType>(value.getType()).getShape();
  };
  EXPECT_EQ(shape(op.getQuery()), ArrayRef<int64_t>({1, 8, 3, 16}));
  EXPECT_EQ(shape(op.getKey()), ArrayRef<int64_t>({1, 8, 1, 16}));
  EXPECT_EQ(shape(op->getResult(0)), ArrayRef<int64_t>({1, 8, 3, 16}));
}

TEST_F(TilingTest, KeysAndValues) {
  AttentionOp op = fuse(R"mlir(
func.func @f(%q: tensor<2x8x6x16xf32>, %k: tensor<2x8x2x16xf32>,
             %e: tensor<2x8x2x16xf32>, %o: tensor<2x8x6x16xf32>)
    -> tensor<2x8x6x16xf32> {
  %x = linalg.exp ins(%k : tensor<2x8x2x16xf32>)
                  outs(%e : tensor<2x8x2x16xf32>) -> tensor<2x8x2x16xf32>
  %a = na.attention
      ins(%q, %x, %x : tensor<2x8x6x16xf32>, tensor<2x8x2x16xf32>,
                       tensor<2x8x2x16xf32>)
      outs(%o : tensor<2x8x6x16xf32>) window(<size = [3]>)
      -> tensor<2x8x6x16xf32>
  return %a : tensor<2x8x6x16xf32>
}
)mlir",
                        {1, 0, 1});
  ASSERT_TRUE(op);
  EXPECT_EQ(cast<ShapedType>(op.getQuery().getType()).getShape(),
            ArrayRef<int64_t>({1, 8, 3, 16}));
}

TEST_F(TilingTest, PartsThatAreNoTile) {
  // Two query heads of a group of three; half of the tokens.
  EXPECT_FALSE(fuse(queryProducer, {1, 0, 2}));
  EXPECT_FALSE(fuse(queryProducer, {1, 4, 0}));
}
// A slice of a result says which heads it needs; a slice that needs parts of
// two groups, or a part of the tokens, is refused.
TEST_F(TilingTest, SlicesOfTheResult) {
  module = parseSourceString<ModuleOp>(R"mlir(
func.func @f(%q: tensor<2x8x8x16xf32>, %k: tensor<2x8x2x16xf32>)
    -> tensor<2x8x8x16xf32> {
  %a = na.attention
      ins(%q, %k, %k : tensor<2x8x8x16xf32>, tensor<2x8x2x16xf32>,
                       tensor<2x8x2x16xf32>)
      outs(%q : tensor<2x8x8x16xf32>) window(<size = [3]>)
      -> tensor<2x8x8x16xf32>
  return %a : tensor<2x8x8x16xf32>
}
)mlir",
                                       &context);
  ASSERT_TRUE(module);
  TilingInterface tiling;
  module->walk([&](AttentionOp op) {
    tiling = cast<TilingInterface>(op.getOperation());
  });
  OpBuilder builder(tiling);
  auto keyHeads = [&](ArrayRef<int64_t> offsets,
                      ArrayRef<int64_t> sizes) -> std::pair<int64_t, int64_t> {
    FailureOr<TilingResult> result = tiling.generateResultTileValue(
        builder, 0, getAsIndexOpFoldResult(&context, offsets),
        getAsIndexOpFoldResult(&context, sizes));
    if (failed(result))
      return {-1, -1};
    auto op = cast<AttentionOp>(result->tiledOps.front());
    auto slice = op.getKey().getDefiningOp<tensor::ExtractSliceOp>();
    return {slice.getStaticOffset(2), slice.getStaticSize(2)};
  };
  using Heads = std::pair<int64_t, int64_t>;
  EXPECT_EQ(keyHeads({0, 0, 0, 0}, {2, 8, 8, 16}), Heads(0, 2));
  EXPECT_EQ(keyHeads({0, 0, 4, 0}, {2, 8, 4, 16}), Heads(1, 1));
  EXPECT_EQ(keyHeads({0, 0, 6, 0}, {2, 8, 2, 16}), Heads(1, 1));
  EXPECT_EQ(keyHeads({0, 0, 3, 0}, {2, 8, 1, 16}), Heads(0, 1));
  Heads refused(-1, -1);
  EXPECT_EQ(keyHeads({0, 0, 3, 0}, {2, 8, 2, 16}), refused);
  EXPECT_EQ(keyHeads({0, 0, 2, 0}, {2, 8, 4, 16}), refused);
  EXPECT_EQ(keyHeads({0, 0, 0, 0}, {2, 8, 3, 16}), refused);
  EXPECT_EQ(keyHeads({0, 4, 0, 0}, {2, 4, 8, 16}), refused);
  EXPECT_EQ(keyHeads({0, 0, 0, 0}, {2, 8, 8, 8}), refused);
  EXPECT_TRUE(succeeded(verify(*module)));
}
} // namespace
