//===- CudaProgramTest.cpp - Tests of programs on the driver without a GPU
//-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/ExecutionEngine/CudaProgram.h"
#include "na/ExecutionEngine/Harness.h"

#include "../Runtime/FakeCuda.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "na/InitAll.h"
#include "gtest/gtest.h"

#include <chrono>
#include <cstdlib>
#include <thread>

using namespace mlir;
using namespace mlir::na;
namespace cuda = ::na::cuda;
namespace runtime = ::na::runtime;

namespace {

/// What the GPU pipeline leaves behind but for the lowering of the host code:
/// two launches of kernel 1, through memory that the host code allocates.
const char *const lowered = R"(
module attributes {na.kernels = ["unused", "scale"]} {
  gpu.binary @na_kernels [#gpu.object<#nvvm.target<chip = "sm_80">, assembly = "// program">]
  func.func private @naCudaLaunch(index, index, index, index, index, index, index)
  func.func private @launch(%from: memref<8xf32>, %to: memref<8xf32>, %by: f32) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c32 = arith.constant 32 : index
    %params = memref.alloca() : memref<3xi64>
    %alignments = memref.alloca() : memref<3xi64>
    %a = memref.extract_aligned_pointer_as_index %from : memref<8xf32> -> index
    %b = memref.extract_aligned_pointer_as_index %to : memref<8xf32> -> index
    %a64 = arith.index_cast %a : index to i64
    %b64 = arith.index_cast %b : index to i64
    %by32 = arith.bitcast %by : f32 to i32
    %by64 = arith.extui %by32 : i32 to i64
    memref.store %a64, %params[%c0] : memref<3xi64>
    memref.store %b64, %params[%c1] : memref<3xi64>
    memref.store %by64, %params[%c2] : memref<3xi64>
    %sixteen = arith.constant 16 : i64
    %zero = arith.constant 0 : i64
    memref.store %sixteen, %alignments[%c0] : memref<3xi64>
    memref.store %sixteen, %alignments[%c1] : memref<3xi64>
    memref.store %zero, %alignments[%c2] : memref<3xi64>
    %p = memref.extract_aligned_pointer_as_index %params : memref<3xi64> -> index
    %q = memref.extract_aligned_pointer_as_index %alignments : memref<3xi64> -> index
    call @naCudaLaunch(%c1, %c4, %c32, %c0, %p, %c3, %q)
      : (index, index, index, index, index, index, index) -> ()
    return
  }
  func.func @main(%x: memref<8xf32>, %y: memref<8xf32>, %by: f32) {
    %between = memref.alloc() : memref<8xf32>
    call @launch(%x, %between, %by) : (memref<8xf32>, memref<8xf32>, f32) -> ()
    call @launch(%between, %y, %by) : (memref<8xf32>, memref<8xf32>, f32) -> ()
    memref.dealloc %between : memref<8xf32>
    return
  }
})";

const char *const pipeline =
    "finalize-memref-to-llvm{use-generic-functions},convert-func-to-llvm,"
    "convert-arith-to-llvm,convert-index-to-llvm,reconcile-unrealized-casts";

void scale(unsigned, unsigned, unsigned, void **args) {
  auto *from = *static_cast<float **>(args[0]);
  auto *to = *static_cast<float **>(args[1]);
  for (int i = 0; i < 8; ++i)
    to[i] = from[i] * *static_cast<float *>(args[2]);
}

std::string errorOf(llvm::Error error) {
  return error ? llvm::toString(std::move(error)) : std::string();
}

struct CudaProgramTest : ::testing::Test {
  CudaProgramTest() {
    registerAllPasses();
    registerAllDialects(registry);
    registerAllToLLVMIRTranslations(registry);
    context.appendDialectRegistry(registry);
  }
  void SetUp() override {
    setenv("NA_CUDA_DRIVER", NA_FAKE_CUDA, /*overwrite=*/1);
    auto got = cuda::Device::get(0);
    ASSERT_TRUE(got) << got.error().message();
    device = *got;
    fakeKernel("scale", scale);
    fakeClearCalls();
  }
  void TearDown() override {
    fakeFail("", 0);
    runtime::Error error = device->close();
    EXPECT_FALSE(error) << error.message();
  }
  llvm::Expected<CudaCode> compile(StringRef text) {
    auto module = parseSourceString<ModuleOp>(text, &context);
    CompileTimes times;
    CudaOptions options;
    options.pipeline = pipeline;
    return compileForCuda(*module, options, times);
  }
  std::shared_ptr<CudaProgram> load() {
    return llvm::cantFail(
        CudaProgram::load(llvm::cantFail(compile(lowered)), *device));
  }

  DialectRegistry registry;
  MLIRContext context{MLIRContext::Threading::DISABLED};
  cuda::Device *device = nullptr;
};

/// Arguments of @main in device memory.
struct Arguments {
  Arguments(cuda::Device &device, float by) : by(by) {
    x = std::move(*device.allocate(32));
    y = std::move(*device.allocate(32));
    for (int i = 0; i < 8; ++i)
      static_cast<float *>(x.data())[i] = float(i);
    for (auto [buffer, words] :
         {std::pair(&x, descriptors[0]), {&y, descriptors[1]}}) {
      words[0] = words[1] = reinterpret_cast<int64_t>(buffer->data());
      words[2] = 0;
      words[3] = 8;
      words[4] = 1;
    }
    for (int i = 0; i < 2; ++i) {
      pointers[i] = descriptors[i];
      slots[i] = &pointers[i];
    }
    slots[2] = &this->by;
  }
  float result(int i) const { return static_cast<float *>(y.data())[i]; }

  cuda::Buffer x, y;
  float by;
  int64_t descriptors[2][5];
  void *pointers[2];
  void *slots[3];
};

TEST_F(CudaProgramTest, RunsTheHostCodeAgainstTheDevice) {
  std::shared_ptr<CudaProgram> program = load();
  JITModule::PackedFunction main =
      llvm::cantFail(program->getHostModule().lookup("main"));
  Arguments arguments(*device, 3);
  fakeClearCalls();
  for (int run = 0; run < 2; ++run) {
    runtime::Error error = program->call(main, arguments.slots, nullptr);
    ASSERT_FALSE(error) << error.message();
  }
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(arguments.result(i), 9.0f * i);
  EXPECT_EQ(fakeCalls("cuLaunchKernel"), 4);
  EXPECT_EQ(fakeCalls("cuMemAllocAsync"), 2);
  EXPECT_EQ(fakeCalls("cuMemFreeAsync"), 2);
  EXPECT_EQ(fakeCalls("cuModuleLoadDataEx"), 0);
  for (const char *waits : {"cuCtxSynchronize", "cuStreamSynchronize",
                            "cuEventSynchronize", "cuMemFree_v2"})
    EXPECT_EQ(fakeCalls(waits), 0) << waits;
}

TEST_F(CudaProgramTest, AFailureIsAValueAndTheNextCallIsRight) {
  std::shared_ptr<CudaProgram> program = load();
  JITModule::PackedFunction main =
      llvm::cantFail(program->getHostModule().lookup("main"));
  Arguments arguments(*device, 2);
  int64_t &address = arguments.descriptors[0][1];
  const int64_t right = address;
  address = 0;
  runtime::Error error = program->call(main, arguments.slots, nullptr);
  EXPECT_EQ(error.kind(), runtime::ErrorKind::NullPointer);
  EXPECT_EQ(error.message(), "kernel 'scale': parameter 0 is a null pointer");
  address = right + 4;
  error = program->call(main, arguments.slots, nullptr);
  EXPECT_EQ(error.kind(), runtime::ErrorKind::MisalignedPointer);
  address = right;
  for (const char *call : {"cuLaunchKernel", "cuMemAllocAsync"}) {
    fakeFail(call, 2);
    error = program->call(main, arguments.slots, nullptr);
    EXPECT_EQ(error.kind(), runtime::ErrorKind::OutOfMemory) << call;
  }
  error = program->call(main, arguments.slots, nullptr);
  EXPECT_FALSE(error) << error.message();
  EXPECT_EQ(arguments.result(7), 28.0f);
}

TEST_F(CudaProgramTest, TensorsThatCannotBeArgumentsAreNamed) {
  std::shared_ptr<CudaProgram> program = load();
  auto second = cuda::Device::get(1);
  ASSERT_TRUE(second);
  auto here = device->allocate(64), elsewhere = (*second)->allocate(64);
  ASSERT_TRUE(here && elsewhere);
  int64_t local[8];
  int64_t fits[] = {2, 8}, tooMuch[] = {17}, none[] = {0, 8},
          huge[] = {1ll << 40, 1ll << 40};
  char *data = static_cast<char *>(here->data());
  auto kindOf = [&](void *pointer, ArrayRef<int64_t> shape) {
    return program->checkTensor("q", {ElementType::F32, shape, pointer}).kind();
  };
  using Kind = runtime::ErrorKind;
  EXPECT_EQ(kindOf(data, fits), Kind::None);
  EXPECT_EQ(kindOf(data, tooMuch), Kind::OutOfBounds);
  EXPECT_EQ(kindOf(data, huge), Kind::InvalidArgument);
  EXPECT_EQ(kindOf(data + 2, ArrayRef(fits).take_front(1)),
            Kind::MisalignedPointer);
  EXPECT_EQ(kindOf(nullptr, fits), Kind::NullPointer);
  EXPECT_EQ(kindOf(nullptr, none), Kind::None);
  EXPECT_EQ(kindOf(local, fits), Kind::NotDeviceMemory);
  EXPECT_EQ(kindOf(elsewhere->data(), fits), Kind::WrongDevice);
  (void)elsewhere->free();
  EXPECT_FALSE((*second)->close());
}

TEST_F(CudaProgramTest, ManyThreadsCallOneProgram) {
  std::shared_ptr<CudaProgram> program = load();
  JITModule::PackedFunction main =
      llvm::cantFail(program->getHostModule().lookup("main"));
  std::vector<std::thread> threads;
  for (int t = 1; t <= 8; ++t)
    threads.emplace_back([&, t] {
      Arguments arguments(*device, float(t));
      for (int i = 0; i < 100; ++i) {
        runtime::Error error = program->call(main, arguments.slots, nullptr);
        EXPECT_FALSE(error) << error.message();
        EXPECT_EQ(arguments.result(5), 5.0f * t * t);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(CudaProgramTest, ACallCostsTheHostLittle) {
  std::shared_ptr<CudaProgram> program = load();
  JITModule::PackedFunction main =
      llvm::cantFail(program->getHostModule().lookup("main"));
  Arguments arguments(*device, 1);
  using Clock = std::chrono::steady_clock;
  // The fastest of some batches: machines that run tests are busy.
  double best = 1;
  for (int batch = 0; batch < 20; ++batch) {
    fakeClearCalls();
    constexpr int calls = 100;
    Clock::time_point start = Clock::now();
    for (int i = 0; i < calls; ++i)
      (void)program->call(main, arguments.slots, nullptr);
    best = std::min(
        best,
        std::chrono::duration<double>(Clock::now() - start).count() / calls);
  }
  // Two launches, an allocation and a deallocation.
  EXPECT_LT(best, 20e-6);
  RecordProperty("host_time_us", std::to_string(best * 1e6));
}

TEST_F(CudaProgramTest, TheCacheKeepsPrograms) {
  runtime::KernelCacheOptions cacheOptions;
  cacheOptions.useEnvironment = false;
  runtime::KernelCache cache(cacheOptions);
  CudaOptions options;
  options.pipeline = pipeline;
  auto compile = [&](StringRef arch) {
    auto module = parseSourceString<ModuleOp>(lowered, &context);
    CompileTimes times;
    return llvm::cantFail(compileForCuda(*module, options, times, cache, arch));
  };
  CudaCode first = compile("sm_80"), second = compile("sm_80");
  EXPECT_EQ(cache.statistics().builds, 1u);
  EXPECT_EQ(cache.statistics().memoryHits, 1u);
  compile("sm_90");
  options.optLevel = 2;
  compile("sm_90");
  options.assembler = "driver 13000";
  compile("sm_90");
  EXPECT_EQ(cache.statistics().builds, 4u);
  EXPECT_EQ(second.image, "// program");
  EXPECT_EQ(second.kernels, (std::vector<std::string>{"unused", "scale"}));
  EXPECT_EQ(second.host.bytes, first.host.bytes);
  std::shared_ptr<CudaProgram> program =
      llvm::cantFail(CudaProgram::load(second, *device));
  EXPECT_TRUE(bool(program->getHostModule().lookup("main")));

  // A failure is not kept, and has the diagnostics.
  options.pipeline = "convert-func-to-llvm";
  auto module = parseSourceString<ModuleOp>(lowered, &context);
  CompileTimes times;
  EXPECT_NE(
      errorOf(
          compileForCuda(*module, options, times, cache, "sm_80").takeError()),
      "");
}

TEST_F(CudaProgramTest, PackedProgramsAreChecked) {
  CudaCode code = llvm::cantFail(compile(lowered));
  code.remarks = {"first", "", "5:third"};
  runtime::CompiledKernel packed = code.pack();
  CudaCode again = llvm::cantFail(CudaCode::unpack(packed));
  EXPECT_EQ(again.image, code.image);
  EXPECT_EQ(again.kernels, code.kernels);
  EXPECT_EQ(again.remarks, code.remarks);
  EXPECT_EQ(again.host.functions, code.host.functions);
  EXPECT_EQ(again.host.bytes, code.host.bytes);
  for (size_t size : {size_t(0), size_t(3), packed.metadata.size() - 1}) {
    runtime::CompiledKernel cut = packed;
    cut.metadata.resize(size);
    EXPECT_NE(errorOf(CudaCode::unpack(cut).takeError()), "") << size;
  }
  packed.metadata += "x";
  EXPECT_NE(errorOf(CudaCode::unpack(packed).takeError()), "");
}

TEST_F(CudaProgramTest, ModulesOutOfFormAreRefused) {
  auto errorFor = [&](const char *attribute, const char *binaries) {
    std::string text = std::string("module attributes {") + attribute + "} {" +
                       binaries + " func.func @main() { return } }";
    return errorOf(compile(text).takeError());
  };
  const std::string object =
      "#gpu.object<#nvvm.target<chip = \"sm_80\">, assembly = \"x\">";
  const std::string one = "gpu.binary @a [" + object + "]";
  EXPECT_EQ(errorFor("", ""), "");
  EXPECT_EQ(errorFor("", one.c_str()),
            "the module has kernels, but no attribute 'na.kernels' that names "
            "them");
  EXPECT_EQ(errorFor("na.kernels = [\"k\"]", ""),
            "the lowered module has 0 gpu.binary operations; 1 is expected, "
            "'na_kernels'");
  EXPECT_EQ(errorFor("na.kernels = [1]", one.c_str()),
            "the module attribute 'na.kernels' does not hold names of kernels");
  EXPECT_EQ(
      errorFor("na.kernels = [\"k\"]",
               ("gpu.binary @a [" + object + ", " + object + "]").c_str()),
      "'na_kernels' holds 2 objects; 1 is expected");
}

TEST_F(CudaProgramTest, DriversRefusalsAreErrors) {
  CudaCode code = llvm::cantFail(compile(lowered));
  CudaCode faulty = code;
  faulty.image = "// faulty";
  EXPECT_NE(errorOf(CudaProgram::load(faulty, *device).takeError())
                .find("line 7: no such word"),
            std::string::npos);
  CudaCode missing = code;
  missing.kernels.push_back("missing");
  EXPECT_NE(errorOf(CudaProgram::load(missing, *device).takeError())
                .find("kernel 'missing' of 'na_kernels'"),
            std::string::npos);
}

TEST_F(CudaProgramTest, ScalarsArePassedByValueOnADevice) {
  const char *const text = R"(
    func.func @main(%x: tensor<4xf32>, %by: f32, %n: index) -> tensor<4xf32> {
      return %x : tensor<4xf32>
    })";
  auto module = parseSourceString<ModuleOp>(text, &context);
  Harness harness =
      llvm::cantFail(Harness::create(*module, "main", {}, /*onDevice=*/true));
  EXPECT_FALSE(harness.getInputs()[0].byValue);
  EXPECT_TRUE(harness.getInputs()[1].byValue);
  EXPECT_TRUE(harness.getInputs()[2].byValue);
  auto scalar = parseSourceString<ModuleOp>(
      "func.func @main(%x: f32) -> f32 { return %x : f32 }", &context);
  EXPECT_EQ(errorOf(Harness::create(*scalar, "main", {}, true).takeError()),
            "result 'result0' is a scalar, which a program on a GPU cannot "
            "return; return a tensor");
}

TEST(CudaChip, FitsTheDevice) {
  auto device = [](int major, int minor) {
    cuda::DeviceProperties properties;
    properties.name = "GPU";
    properties.major = major;
    properties.minor = minor;
    return properties;
  };
  EXPECT_EQ(llvm::cantFail(getDefaultChip(device(8, 0))), "sm_80");
  EXPECT_EQ(llvm::cantFail(getDefaultChip(device(8, 8))), "sm_87");
  EXPECT_EQ(llvm::cantFail(getDefaultChip(device(9, 0))), "sm_90a");
  EXPECT_EQ(llvm::cantFail(getDefaultChip(device(12, 0))), "sm_90");
  EXPECT_EQ(errorOf(getDefaultChip(device(7, 5)).takeError()),
            "the device (GPU) is sm_75; sm_80 is the oldest supported");
  EXPECT_EQ(errorOf(checkChip("sm_80", device(9, 0))), "");
  EXPECT_EQ(errorOf(checkChip("sm_90a", device(9, 0))), "");
  EXPECT_EQ(errorOf(checkChip("sm_90a", device(12, 0))),
            "code for sm_90a does not run here: the device (GPU) is sm_120");
  EXPECT_EQ(errorOf(checkChip("sm_90", device(8, 9))),
            "code for sm_90 does not run here: the device (GPU) is sm_89");
  EXPECT_EQ(errorOf(checkChip("sm_75")),
            "unknown chip 'sm_75'; available: sm_80, sm_86, sm_87, sm_89, "
            "sm_90, sm_90a");
}

} // namespace
