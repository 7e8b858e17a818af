//===- ExecutionEngineTest.cpp - Tests of the execution engine ------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/ExecutionEngine/Compare.h"
#include "na/ExecutionEngine/Harness.h"
#include "na/ExecutionEngine/HostTensor.h"
#include "na/ExecutionEngine/JITModule.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "na/InitAll.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace mlir::na;

namespace {

/// The text of an error; empty on success.
std::string errorOf(llvm::Error error) {
  return error ? llvm::toString(std::move(error)) : std::string();
}
template <typename T>
std::string errorOf(llvm::Expected<T> &expected) {
  return expected ? std::string() : errorOf(expected.takeError());
}
template <typename T>
std::string errorOf(llvm::Expected<T> &&expected) {
  return errorOf(expected);
}

HostTensor make(ElementType type, ArrayRef<int64_t> shape) {
  return llvm::cantFail(HostTensor::allocate("t", type, shape));
}

//===----------------------------------------------------------------------===//
// HostTensor
//===----------------------------------------------------------------------===//

TEST(HostTensor, IsAlignedAndDescribed) {
  for (int i = 0; i < 5; ++i) {
    HostTensor tensor = make(ElementType::F16, {2, 3, 5});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.getData()) % 64, 0u);
    EXPECT_EQ(tensor.getNumElements(), 30);
    EXPECT_EQ(tensor.getNumBytes(), 60);
    SmallVector<int64_t> words = tensor.getDescriptor();
    int64_t pointer = reinterpret_cast<intptr_t>(tensor.getData());
    EXPECT_EQ(words,
              (SmallVector<int64_t>{pointer, pointer, 0, 2, 3, 5, 15, 5, 1}));
  }
  EXPECT_EQ(make(ElementType::F64, {}).getNumElements(), 1);
  EXPECT_EQ(make(ElementType::F64, {4, 0, 2}).getNumBytes(), 0);
}

TEST(HostTensor, RefusesSizesThatDoNotFit) {
  auto message = [](ArrayRef<int64_t> shape) {
    llvm::Expected<HostTensor> tensor =
        HostTensor::allocate("q", ElementType::F64, shape);
    return tensor ? std::string("allocated")
                  : llvm::toString(tensor.takeError());
  };
  int64_t large = int64_t(1) << 40;
  EXPECT_EQ(message({large, large}), "cannot allocate 'q' of "
                                     "1099511627776x1099511627776xf64: the "
                                     "number of elements overflows");
  EXPECT_EQ(message({large, int64_t(1) << 22}),
            "cannot allocate 'q' of 1099511627776x4194304xf64: the number of "
            "bytes overflows");
  EXPECT_EQ(message({large, 64}), "cannot allocate 'q' of 1099511627776x64xf64:"
                                  " it is larger than the memory of the host");
  EXPECT_EQ(message({2, -1}),
            "cannot allocate 'q' of 2x-1xf64: a size is negative");
}

TEST(HostTensor, ElementsRoundTrip) {
  for (ElementType type :
       {ElementType::F64, ElementType::F32, ElementType::F16, ElementType::BF16,
        ElementType::I64, ElementType::I32, ElementType::I16, ElementType::I8,
        ElementType::I1, ElementType::Index}) {
    HostTensor tensor = make(type, {3});
    tensor.set(0, 1);
    tensor.set(1, type == ElementType::I1 ? 0 : -7);
    EXPECT_EQ(tensor.get(0), 1) << getName(type).str();
    EXPECT_EQ(tensor.get(1), type == ElementType::I1 ? 0 : -7);
    tensor.poison();
    for (int64_t i = 0; i < 3; ++i)
      EXPECT_TRUE(isFloat(type) ? std::isnan(tensor.get(i))
                                : tensor.get(i) != -7);
  }
}

TEST(HostTensor, RandomNumbersAreNormalAndSeeded) {
  constexpr int64_t count = 100001;
  HostTensor a = make(ElementType::F32, {count}),
             again = make(ElementType::F32, {count}),
             b = make(ElementType::F32, {count});
  a.fillRandom(1);
  again.fillRandom(1);
  b.fillRandom(2);
  double mean = 0, square = 0, fourth = 0, product = 0, neighbours = 0;
  for (int64_t i = 0; i < count; ++i) {
    double x = a.get(i);
    ASSERT_EQ(x, again.get(i));
    mean += x;
    square += x * x;
    fourth += x * x * x * x;
    product += x * b.get(i);
    neighbours += i ? x * a.get(i - 1) : 0;
  }
  EXPECT_NEAR(mean / count, 0, 0.02);
  EXPECT_NEAR(square / count, 1, 0.02);
  EXPECT_NEAR(fourth / count, 3, 0.15);
  EXPECT_NEAR(product / count, 0, 0.02);
  EXPECT_NEAR(neighbours / count, 0, 0.02);
  HostTensor integers = make(ElementType::I32, {1000});
  integers.fillRandom(3);
  for (int64_t i = 0; i < 1000; ++i)
    EXPECT_TRUE(integers.get(i) >= 0 && integers.get(i) < 8);
}

//===----------------------------------------------------------------------===//
// Compare
//===----------------------------------------------------------------------===//

struct CompareTest : ::testing::Test {
  HostTensor ref = make(ElementType::F32, {4, 8}),
             out = make(ElementType::F32, {4, 8});
  Tolerance limits = Tolerance::forTensor(ElementType::F32);
  void SetUp() override {
    for (int64_t i = 0; i < 32; ++i) {
      ref.set(i, 1);
      out.set(i, 1);
    }
  }
};

TEST_F(CompareTest, EqualTensorsAgree) {
  Comparison result = compare(out, ref, limits);
  EXPECT_TRUE(result.pass);
  EXPECT_EQ(result.whole, 0);
  EXPECT_EQ(result.worstRow, 0);
}

TEST_F(CompareTest, ErrorsAreRelative) {
  out.set(13, 1 + 1.0 / 1024);
  Comparison result = compare(out, ref, limits);
  EXPECT_FALSE(result.pass);
  EXPECT_NEAR(result.whole, 1.0 / 1024 / std::sqrt(32), 1e-9);
  EXPECT_NEAR(result.worstRow, 1.0 / 1024 / std::sqrt(8), 1e-9);
  EXPECT_EQ(result.worstRowIndex, 8);
  // The same relative error at another magnitude.
  for (int64_t i = 0; i < 32; ++i) {
    ref.set(i, ref.get(i) / 65536);
    out.set(i, out.get(i) / 65536);
  }
  EXPECT_NEAR(compare(out, ref, limits).worstRow, result.worstRow, 1e-9);
}

TEST_F(CompareTest, OneBadRowFailsEvenIfTheWholeIsClose) {
  for (int64_t i = 0; i < 8; ++i) {
    ref.set(i, 1e-6);
    out.set(i, 0);
  }
  Comparison result = compare(out, ref, limits);
  EXPECT_LT(result.whole, limits.whole);
  EXPECT_EQ(result.worstRow, 1);
  EXPECT_FALSE(result.pass);
}

TEST_F(CompareTest, ZerosMustBeZero) {
  for (int64_t i = 0; i < 32; ++i) {
    ref.set(i, 0);
    out.set(i, 0);
  }
  EXPECT_TRUE(compare(out, ref, limits).pass);
  out.set(0, 1e-30);
  EXPECT_FALSE(compare(out, ref, limits).pass);
}

TEST_F(CompareTest, RowsOfGradientsAreHeldToTheirMean) {
  for (int64_t i = 0; i < 8; ++i)
    ref.set(i, 0);
  out.set(0, 1e-5);
  for (int64_t i = 1; i < 8; ++i)
    out.set(i, 0);
  EXPECT_FALSE(compare(out, ref, limits).pass);
  limits.gradient = true;
  Comparison result = compare(out, ref, limits);
  EXPECT_TRUE(result.pass);
  // 24 ones in 4 rows.
  EXPECT_NEAR(result.worstRow, 1e-5 / std::sqrt(24 / 4.0), 1e-9);
  out.set(0, 1.5e-4);
  EXPECT_FALSE(compare(out, ref, limits).pass);
  // All rows 0: nothing but 0 will do.
  for (int64_t i = 8; i < 32; ++i) {
    ref.set(i, 0);
    out.set(i, 0);
  }
  EXPECT_FALSE(compare(out, ref, limits).pass);
  out.set(0, 0);
  EXPECT_TRUE(compare(out, ref, limits).pass);
}

TEST_F(CompareTest, NaNsAndInfinitiesMustBeInTheSamePlaces) {
  ref.set(3, NAN);
  out.set(3, NAN);
  ref.set(4, -INFINITY);
  out.set(4, -INFINITY);
  EXPECT_TRUE(compare(out, ref, limits).pass);
  out.set(4, INFINITY);
  EXPECT_EQ(compare(out, ref, limits).mismatched, 1);
  EXPECT_FALSE(compare(out, ref, limits).pass);
  out.set(4, -INFINITY);
  out.set(5, NAN);
  EXPECT_EQ(compare(out, ref, limits).mismatched, 1);
  EXPECT_FALSE(compare(out, ref, limits).pass);
}

TEST_F(CompareTest, LseIsAbsoluteOrAFewUlp) {
  Tolerance lse = Tolerance::forLse(ElementType::F32);
  out.set(0, 1 + 9e-6);
  EXPECT_TRUE(compare(out, ref, lse).pass);
  out.set(0, 1 + 12e-6);
  EXPECT_FALSE(compare(out, ref, lse).pass);
  // At 1000 one unit in the last place is 6.1e-5.
  out.set(0, 1);
  ref.set(7, 1000);
  out.set(7, 1000 + 2e-4);
  EXPECT_TRUE(compare(out, ref, lse).pass);
  out.set(7, 1000 + 4e-4);
  EXPECT_FALSE(compare(out, ref, lse).pass);
}

TEST_F(CompareTest, IntegersMustBeEqual) {
  HostTensor a = make(ElementType::I32, {2}), b = make(ElementType::I32, {2});
  a.fillRandom(0);
  b.fillRandom(0);
  Tolerance exact = Tolerance::forTensor(ElementType::I32);
  EXPECT_TRUE(compare(a, b, exact).pass);
  a.set(1, b.get(1) + 1);
  EXPECT_FALSE(compare(a, b, exact).pass);
}

//===----------------------------------------------------------------------===//
// JITModule and Harness
//===----------------------------------------------------------------------===//

constexpr const char *toLLVM =
    "func.func(convert-elementwise-to-linalg),one-shot-bufferize{bufferize-"
    "function-boundaries=1 function-boundary-type-conversion=identity-layout-"
    "map},func.func(convert-linalg-to-loops),convert-scf-to-cf,"
    "expand-strided-metadata,finalize-memref-to-llvm,convert-arith-to-llvm,"
    "convert-index-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,"
    "reconcile-unrealized-casts";

struct JITTest : ::testing::Test {
  static void SetUpTestSuite() { mlir::na::registerAllPasses(); }

  DialectRegistry registry;
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;

  JITTest() {
    mlir::na::registerAllDialects(registry);
    registerAllToLLVMIRTranslations(registry);
    context = std::make_unique<MLIRContext>(registry);
    context->printOpOnDiagnostic(false);
  }
  llvm::Expected<std::unique_ptr<JITModule>>
  compile(const char *source, std::string pipeline = toLLVM) {
    module = parseSourceString<ModuleOp>(source, ParserConfig(context.get()));
    if (!module)
      return llvm::createStringError("parse error");
    JITOptions options;
    options.pipeline = pipeline;
    return JITModule::compile(*module, options);
  }
  std::string getError(const char *source, std::string pipeline = toLLVM) {
    llvm::Expected<std::unique_ptr<JITModule>> jit = compile(source, pipeline);
    return jit ? std::string("compiled") : llvm::toString(jit.takeError());
  }
};

TEST_F(JITTest, PassesMemrefsOfAnyRankAndScalars) {
  auto jit = compile(R"(
    func.func @fill(%m: memref<2x3xf64>, %x: f64, %s: memref<i32>) -> i64 {
      linalg.fill ins(%x : f64) outs(%m : memref<2x3xf64>)
      %c = arith.constant 7 : i32
      memref.store %c, %s[] : memref<i32>
      %r = arith.constant -3 : i64
      return %r : i64
    })");
  ASSERT_EQ(errorOf(jit), "");
  auto fill = (*jit)->lookup("fill");
  ASSERT_EQ(errorOf(fill), "");
  HostTensor matrix = make(ElementType::F64, {2, 3}),
             scalar = make(ElementType::I32, {});
  SmallVector<int64_t> matrixWords = matrix.getDescriptor(),
                       scalarWords = scalar.getDescriptor();
  void *matrixPointer = matrixWords.data(), *scalarPointer = scalarWords.data();
  double x = 2.5;
  int64_t result = 0;
  void *arguments[] = {&matrixPointer, &x, &scalarPointer, &result};
  (*fill)(arguments);
  for (int64_t i = 0; i < 6; ++i)
    EXPECT_EQ(matrix.get(i), 2.5);
  EXPECT_EQ(scalar.get(0), 7);
  EXPECT_EQ(result, -3);
  const CompileTimes &times = (*jit)->getTimes();
  EXPECT_GT(times.passes, 0);
  EXPECT_GT(times.codegen, 0);
  EXPECT_GT(times.total(), times.passes + times.codegen);
}

TEST_F(JITTest, FindsTheRuntime) {
  auto jit = compile(R"(
    func.func private @naGetNumThreads() -> i32
    func.func @threads(%m: memref<i32>) {
      %n = call @naGetNumThreads() : () -> i32
      memref.store %n, %m[] : memref<i32>
      return
    })");
  ASSERT_EQ(errorOf(jit), "");
  HostTensor count = make(ElementType::I32, {});
  SmallVector<int64_t> words = count.getDescriptor();
  ASSERT_EQ(errorOf((*jit)->invoke("threads", {words.data()})), "");
  EXPECT_GE(count.get(0), 1);
}

TEST_F(JITTest, ReportsErrors) {
  const char *good = "func.func @f() { return }";
  EXPECT_EQ(getError(good), "compiled");
  EXPECT_NE(getError(good, "no-such-pass").find("no-such-pass"),
            std::string::npos);
  EXPECT_NE(getError(good, "canonicalize{bogus=1}").find("bogus"),
            std::string::npos);
  EXPECT_NE(getError(good, "builtin.module(canonicalize")
                .find("lacks its closing parenthesis"),
            std::string::npos);
  // A pass that fails.
  std::string unbufferized =
      getError("func.func @f(%t: tensor<4xf32>) -> tensor<4xf32> {\n"
               "  %0 = tensor.empty() : tensor<4xf32>\n"
               "  %1 = \"tosa.abs\"(%t) : (tensor<4xf32>) -> tensor<4xf32>\n"
               "  return %1 : tensor<4xf32>\n}");
  EXPECT_NE(unbufferized.find("op was not bufferized"), std::string::npos)
      << unbufferized;
  // Operations that are left over.
  std::string leftover = getError("func.func @f() {\n  return\n}", "cse");
  EXPECT_NE(leftover.find("cannot be converted to LLVM IR"), std::string::npos)
      << leftover;
  // Symbols that nobody has.
  std::string symbol = getError("func.func private @no_such_symbol()\n"
                                "func.func @f() {\n"
                                "  call @no_such_symbol() : () -> ()\n"
                                "  return\n}");
  EXPECT_NE(symbol.find("no_such_symbol"), std::string::npos) << symbol;

  auto jit = compile(good);
  ASSERT_EQ(errorOf(jit), "");
  EXPECT_EQ(errorOf((*jit)->invoke("g", {})),
            "the compiled module has no function 'g'");
}

TEST_F(JITTest, SeveralModulesLiveSideBySide) {
  const char *source = "func.func @f(%m: memref<i32>) {\n"
                       "  %c = arith.constant 1 : i32\n"
                       "  memref.store %c, %m[] : memref<i32>\n  return\n}";
  auto first = compile(source), second = compile(source);
  ASSERT_EQ(errorOf(first), "");
  ASSERT_EQ(errorOf(second), "");
  HostTensor value = make(ElementType::I32, {});
  SmallVector<int64_t> words = value.getDescriptor();
  first->reset();
  EXPECT_EQ(errorOf((*second)->invoke("f", {words.data()})), "");
  EXPECT_EQ(value.get(0), 1);
}

struct HarnessTest : JITTest {
  /// Adds the harness and compiles.
  llvm::Expected<std::unique_ptr<JITModule>>
  build(const char *source, const char *entry,
        std::optional<Harness> &harness) {
    module = parseSourceString<ModuleOp>(source, ParserConfig(context.get()));
    if (!module)
      return llvm::createStringError("parse error");
    llvm::Expected<Harness> made = Harness::create(*module, entry, {});
    if (!made)
      return made.takeError();
    harness = *made;
    JITOptions options;
    options.pipeline = (Harness::getPreparation() + "," + toLLVM).str();
    return JITModule::compile(*module, options);
  }
};

TEST_F(HarnessTest, BindsTensorsScalarsAndDestinations) {
  std::optional<Harness> harness;
  auto jit = build(R"(
    func.func @f(%t: tensor<4xf32>, %x: f32, %m: memref<2xi16>)
        -> (tensor<4xf32>, f32) {
      %c0 = arith.constant 0 : index
      %c = arith.constant 5 : i16
      memref.store %c, %m[%c0] : memref<2xi16>
      %s = tensor.splat %x : tensor<4xf32>
      %r = arith.addf %t, %s : tensor<4xf32>
      return %r, %x : tensor<4xf32>, f32
    })",
                   "f", harness);
  ASSERT_EQ(errorOf(jit), "");
  ASSERT_EQ(harness->getInputs().size(), 3u);
  EXPECT_EQ(harness->getInputs()[1].name, "arg1");
  ASSERT_EQ(harness->getOutputs().size(), 3u);
  EXPECT_EQ(harness->getOutputs()[0].input, std::optional<unsigned>(2));
  EXPECT_EQ(harness->getOutputs()[1].name, "result0");

  std::vector<HostTensor> inputs, outputs;
  inputs.push_back(make(ElementType::F32, {4}));
  inputs.push_back(make(ElementType::F32, {}));
  inputs.push_back(make(ElementType::I16, {2}));
  outputs.push_back(make(ElementType::F32, {4}));
  outputs.push_back(make(ElementType::F32, {}));
  for (int64_t i = 0; i < 4; ++i)
    inputs[0].set(i, i);
  inputs[1].set(0, 0.5);
  inputs[2].set(1, 9);
  outputs[0].poison();
  auto call = Harness::Call::bind(*harness, **jit, inputs, outputs);
  ASSERT_EQ(errorOf(call), "");
  call->run();
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(outputs[0].get(i), i + 0.5);
    EXPECT_EQ(inputs[0].get(i), i);
  }
  EXPECT_EQ(outputs[1].get(0), 0.5);
  EXPECT_EQ(inputs[2].get(0), 5);
  EXPECT_EQ(inputs[2].get(1), 9);

  // Too few, and the wrong shape or type.
  EXPECT_EQ(errorOf(Harness::Call::bind(
                *harness, **jit, inputs,
                MutableArrayRef<HostTensor>(outputs).drop_back())),
            "no tensor is bound to output 'result1'");
  inputs[0] = make(ElementType::F64, {4});
  EXPECT_EQ(errorOf(Harness::Call::bind(*harness, **jit, inputs, outputs)),
            "'arg0' must be 4xf32, not 4xf64");
}

TEST_F(HarnessTest, CopiesResultsOfDynamicShape) {
  std::optional<Harness> harness;
  auto jit = build(R"(
    func.func @f(%a: tensor<?x2xf32>, %b: tensor<?xi32>)
        -> (tensor<?x2xf32>, tensor<2xf32>, tensor<?xi32>) {
      %s = arith.addf %a, %a : tensor<?x2xf32>
      %c = arith.constant dense<3.0> : tensor<2xf32>
      return %s, %c, %b : tensor<?x2xf32>, tensor<2xf32>, tensor<?xi32>
    })",
                   "f", harness);
  ASSERT_EQ(errorOf(jit), "");
  for (int64_t size : {3, 1, 6}) {
    std::vector<HostTensor> inputs, outputs;
    inputs.push_back(make(ElementType::F32, {size, 2}));
    inputs.push_back(make(ElementType::I32, {size + 1}));
    inputs[0].fillRandom(size);
    inputs[1].fillRandom(size);
    outputs.push_back(make(ElementType::F32, {2}));
    auto call = Harness::Call::bind(*harness, **jit, inputs, outputs);
    ASSERT_EQ(errorOf(call), "");
    EXPECT_EQ(errorOf(call->takeAllocated()), "the program has not run");
    call->run();
    call->run();
    auto allocated = call->takeAllocated();
    ASSERT_EQ(errorOf(allocated), "");
    ASSERT_EQ(allocated->size(), 2u);
    EXPECT_EQ((*allocated)[0].getShape(), ArrayRef<int64_t>({size, 2}));
    EXPECT_EQ((*allocated)[1].getShape(), ArrayRef<int64_t>({size + 1}));
    for (int64_t i = 0; i < 2 * size; ++i)
      EXPECT_EQ((*allocated)[0].get(i), 2 * inputs[0].get(i));
    for (int64_t i = 0; i <= size; ++i)
      EXPECT_EQ((*allocated)[1].get(i), inputs[1].get(i));
    EXPECT_EQ(outputs[0].get(1), 3);
  }
}

TEST_F(HarnessTest, KnowsDestinationsAndLogSumExps) {
  std::optional<Harness> harness;
  const char *source = R"(
    func.func @buffers(%q: memref<1x8x1x4xf32>, %o: memref<1x8x1x4xf32>,
                       %l: memref<1x8x1xf32>) {
      na.attention ins(%q, %q, %q : memref<1x8x1x4xf32>, memref<1x8x1x4xf32>,
                                    memref<1x8x1x4xf32>)
          outs(%o, %l : memref<1x8x1x4xf32>, memref<1x8x1xf32>)
          window(<size = [3]>)
      return
    }
    func.func @tensors(%q: tensor<1x8x1x4xf32>)
        -> (tensor<1x8x1xf32>, tensor<1x8x1x4xf32>) {
      %0 = tensor.empty() : tensor<1x8x1x4xf32>
      %1 = tensor.empty() : tensor<1x8x1xf32>
      %2:2 = na.attention
          ins(%q, %q, %q : tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>,
                           tensor<1x8x1x4xf32>)
          outs(%0, %1 : tensor<1x8x1x4xf32>, tensor<1x8x1xf32>)
          window(<size = [3]>) -> tensor<1x8x1x4xf32>, tensor<1x8x1xf32>
      return %2#1, %2#0 : tensor<1x8x1xf32>, tensor<1x8x1x4xf32>
    })";
  module = parseSourceString<ModuleOp>(source, ParserConfig(context.get()));
  ASSERT_TRUE(module);
  EXPECT_EQ(errorOf(findEntry(*module, "")),
            "the program has several public functions, and "
            "none is called 'main': buffers, tensors");
  EXPECT_EQ(llvm::cantFail(findEntry(*module, "tensors")), "tensors");
  {
    auto made = Harness::create(*module, "buffers", {});
    ASSERT_EQ(errorOf(made), "");
    EXPECT_FALSE(made->getInputs()[0].destination);
    EXPECT_TRUE(made->getInputs()[1].destination);
    EXPECT_FALSE(made->getOutputs()[1].isLse);
    EXPECT_TRUE(made->getOutputs()[2].isLse);
  }
  module = parseSourceString<ModuleOp>(source, ParserConfig(context.get()));
  auto made = Harness::create(*module, "tensors", {{"q"}, {"lse", "o"}});
  ASSERT_EQ(errorOf(made), "");
  EXPECT_EQ(made->getInputs()[0].name, "q");
  EXPECT_EQ(made->getOutputs()[0].name, "lse");
  EXPECT_TRUE(made->getOutputs()[0].isLse);
  EXPECT_FALSE(made->getOutputs()[1].isLse);
}

TEST_F(HarnessTest, RefusesTypesThatTheHostCannotProvide) {
  for (const char *type :
       {"tensor<*xf32>", "memref<4xf32, strided<[2]>>", "memref<4xf32, 1>",
        "tensor<4xi3>", "complex<f32>", "vector<4xf32>", "!llvm.ptr",
        "tensor<4xf8E4M3FN>"}) {
    std::string source =
        std::string("func.func @f(%x: ") + type + ") { return }";
    module = parseSourceString<ModuleOp>(source, ParserConfig(context.get()));
    ASSERT_TRUE(module) << type;
    auto made = Harness::create(*module, "f", {});
    ASSERT_FALSE(bool(made)) << type;
    std::string message = llvm::toString(made.takeError());
    EXPECT_NE(message.find("argument 'arg0' has type"), std::string::npos)
        << message;
  }
}

} // namespace
