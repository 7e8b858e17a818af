//===- InitAllTest.cpp - What a compiler that embeds us has to register ---===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing here registers all of MLIR: registerNADialects() alone has to be
// enough for the pipelines.
//
//===----------------------------------------------------------------------===//

#include "na/InitAll.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::na;

namespace {

// Operations of every upstream dialect that a program may have around ours.
constexpr const char *program = R"mlir(
#row = affine_map<(i, j) -> (i, j)>
func.func @main(%q: tensor<2x19x4x8xf16>, %v: tensor<2x19x2x6xf16>,
                %size: index) -> (tensor<2x19x24xf32>, tensor<?x19xf32>) {
  %k = tensor.extract_slice %q[0, 0, 0, 0] [2, 19, 2, 8] [1, 1, 1, 1]
    : tensor<2x19x4x8xf16> to tensor<2x19x2x8xf16>
  %empty = tensor.empty() : tensor<2x19x4x6xf16>
  %o = na.attention
    ins(%q, %k, %v : tensor<2x19x4x8xf16>, tensor<2x19x2x8xf16>, tensor<2x19x2x6xf16>)
    outs(%empty : tensor<2x19x4x6xf16>)
    window(<size = [5], stride = [2], dilation = [3], causal = [true]>)
    -> tensor<2x19x4x6xf16>
  %flat = tensor.collapse_shape %o [[0], [1], [2, 3]]
    : tensor<2x19x4x6xf16> into tensor<2x19x24xf16>
  %wide = arith.extf %flat : tensor<2x19x24xf16> to tensor<2x19x24xf32>
  %r = math.tanh %wide : tensor<2x19x24xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %one = arith.constant 1.0 : f32
  %start = tensor.empty(%size) : tensor<?x19xf32>
  %filled = linalg.fill ins(%one : f32) outs(%start : tensor<?x19xf32>)
    -> tensor<?x19xf32>
  %sum = scf.for %i = %c0 to %c3 step %c1 iter_args(%t = %filled)
      -> tensor<?x19xf32> {
    %next = linalg.generic
      {indexing_maps = [#row], iterator_types = ["parallel", "parallel"]}
      outs(%t : tensor<?x19xf32>) {
    ^bb0(%x: f32):
      %y = arith.addf %x, %one : f32
      linalg.yield %y : f32
    } -> tensor<?x19xf32>
    scf.yield %next : tensor<?x19xf32>
  }
  return %r, %sum : tensor<2x19x24xf32>, tensor<?x19xf32>
}
)mlir";

class InitAllTest : public ::testing::TestWithParam<LoweringMode> {
protected:
  InitAllTest() {
    DialectRegistry registry;
    registerNADialects(registry);
    context.appendDialectRegistry(registry);
    module = parseSourceString<ModuleOp>(program, &context);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_P(InitAllTest, DialectsAreEnoughForTheCPU) {
  ASSERT_TRUE(module);
  PassManager passes(&context);
  CPUPipelineOptions options;
  options.mode = GetParam();
  buildCPUPipeline(passes, options);
  ASSERT_TRUE(succeeded(passes.run(*module)));
  EXPECT_TRUE(module->lookupSymbol<LLVM::LLVMFuncOp>("main"));
}

TEST_P(InitAllTest, DialectsAreEnoughForAGPU) {
  ASSERT_TRUE(module);
  PassManager passes(&context);
  GPUPipelineOptions options;
  options.mode = GetParam();
  options.chip = "sm_90a";
  buildGPUPipeline(passes, options);
  ASSERT_TRUE(succeeded(passes.run(*module)));
  EXPECT_TRUE(module->lookupSymbol<LLVM::LLVMFuncOp>("main"));
  EXPECT_TRUE(module->lookupSymbol<gpu::BinaryOp>("na_kernels"));
}

INSTANTIATE_TEST_SUITE_P(Modes, InitAllTest,
                         ::testing::Values(LoweringMode::Naive,
                                           LoweringMode::Unfused,
                                           LoweringMode::Fused));

TEST(RegistrationTest, PassesAndPipelinesHaveNames) {
  EXPECT_EQ(PassInfo::lookup("na-tile-and-fuse"), nullptr);
  registerNAPasses();
  for (StringRef name : {"na-tile-and-fuse", "convert-na-to-loops",
                         "nagpu-map-grid", "convert-nagpu-to-nvvm"})
    EXPECT_NE(PassInfo::lookup(name), nullptr) << name.str();
  EXPECT_EQ(PassPipelineInfo::lookup("na-to-cpu"), nullptr);
  registerNAPipelines();
  for (StringRef name : {"na-to-cpu", "na-to-nvvm"})
    EXPECT_NE(PassPipelineInfo::lookup(name), nullptr) << name.str();
  // None of upstream's.
  EXPECT_EQ(PassInfo::lookup("canonicalize"), nullptr);
}

} // namespace
