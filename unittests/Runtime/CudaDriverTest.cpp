//===- CudaDriverTest.cpp - Tests of the CUDA layer without a GPU ---------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaDriver.h"
#include "FakeCuda.h"
#include "na/Runtime/CudaTensorMap.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <thread>

using namespace na::cuda;

namespace {

/// The process's driver is the fake one from its first use on.
struct FakeDriver : ::testing::Test {
  static void SetUpTestSuite() {
    setenv("NA_CUDA_DRIVER", NA_FAKE_CUDA, /*overwrite=*/1);
  }
  void SetUp() override {
    Expected<Device *> got = Device::get(0);
    ASSERT_TRUE(got) << got.error().message();
    device = *got;
    fakeClearCalls();
  }
  void TearDown() override {
    fakeFail("", 0);
    EXPECT_EQ(fakeContextDepth(), 0);
    Error error = device->close();
    EXPECT_FALSE(error) << error.message();
    EXPECT_EQ(fakeObjects(), 0);
  }
  Device *device = nullptr;
};

TEST(CudaLibrary, MissingLibraryIsAnErrorThatNamesIt) {
  for (int i = 0; i < 2; ++i) {
    Expected<Driver> driver = openDriver("libno-such-driver.so.1");
    ASSERT_FALSE(driver);
    EXPECT_EQ(driver.error().kind(), ErrorKind::NoDriver);
    EXPECT_NE(driver.error().message().find("libno-such-driver.so.1"),
              std::string::npos);
  }
}

TEST(CudaLibrary, LibraryWithoutTheFunctionsIsTooOld) {
  Expected<Driver> driver = openDriver("libm.so.6");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().kind(), ErrorKind::DriverTooOld);
  EXPECT_NE(driver.error().message().find("cuInit"), std::string::npos);
}

TEST(CudaLibrary, FailuresOfTheFirstCallsAreReported) {
  fakeFail("cuInit", ResultNoDevice);
  Expected<Driver> driver = openDriver(NA_FAKE_CUDA);
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().kind(), ErrorKind::NoDevice);
  EXPECT_EQ(driver.error().call(), "cuInit");
  EXPECT_EQ(driver.error().code(), 100);
  EXPECT_EQ(driver.error().codeName(), "CUDA_ERROR_NO_DEVICE");
  fakeFail("cuDeviceGetCount", 12345);
  driver = openDriver(NA_FAKE_CUDA);
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().message(),
            "cuDeviceGetCount: unknown error (12345)");
  driver = openDriver(NA_FAKE_CUDA);
  ASSERT_TRUE(driver) << driver.error().message();
  EXPECT_EQ(driver->devices, 2);
  EXPECT_EQ(driver->version, 12080);
  EXPECT_EQ(driver->cuLaunchKernelEx, nullptr);
}

TEST_F(FakeDriver, AnOldDriverHasNoTensorMaps) {
  Expected<const Driver *> opened = driver();
  ASSERT_TRUE(opened);
  auto &function = const_cast<Driver *>(*opened)->cuTensorMapEncodeTiled;
  const auto kept = function;
  function = nullptr;
  TensorBoxes boxes;
  boxes.address = reinterpret_cast<const void *>(uintptr_t(4096));
  boxes.sizes = {1, 8, 1, 64};
  boxes.strides = {512, 64, 64, 1};
  boxes.box = {1, 8, 64};
  TensorMap map;
  Error error = encodeTensorMap(*device, boxes, map);
  function = kept;
  EXPECT_EQ(error.kind(), ErrorKind::DriverTooOld);
  EXPECT_EQ(error.message(),
            "tensor map of the tensor: the CUDA driver has no function "
            "cuTensorMapEncodeTiled; a driver for CUDA 12.0 or later is "
            "needed");
  error = encodeTensorMap(*device, boxes, map);
  EXPECT_FALSE(error) << error.message();
}

TEST_F(FakeDriver, ContextIsRetainedOnFirstUseAndOnce) {
  EXPECT_EQ(fakeRetained(0), 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      Expected<Buffer> buffer = device->allocate(64);
      EXPECT_TRUE(buffer) << buffer.error().message();
      EXPECT_EQ(fakeContextDepth(), 0);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(fakeRetained(0), 1);
  EXPECT_EQ(fakeRetained(1), 0);
  EXPECT_FALSE(device->close());
  EXPECT_EQ(fakeRetained(0), 0);
}

TEST_F(FakeDriver, EveryFailingCallIsAnErrorAndTheNextCallWorks) {
  const std::string ptx = "// text";
  // What each call is reached by.
  auto everything = [&]() -> Error {
    Expected<Stream> stream = device->createStream();
    if (!stream)
      return stream.error();
    Expected<Event> start = device->createEvent();
    if (!start)
      return start.error();
    if (Error error = start->record(*stream))
      return error;
    if (Error error = stream->wait(*start))
      return error;
    if (Error error = start->synchronize())
      return error;
    Expected<bool> done = start->done();
    if (!done)
      return done.error();
    Expected<float> elapsed = start->millisecondsSince(*start);
    if (!elapsed)
      return elapsed.error();
    Expected<Buffer> a = device->allocate(256);
    if (!a)
      return a.error();
    Expected<Buffer> b = device->allocateAsync(256, *stream);
    if (!b)
      return b.error();
    Expected<HostBuffer> host = device->allocateHost(256);
    if (!host)
      return host.error();
    if (Error error = device->checkPointer("a", a->data(), 256, 16))
      return error;
    Device &d = *device;
    void *x = a->data(), *y = b->data(), *h = host->data();
    for (Error error :
         {d.copyToDevice(x, h, 256), d.copyToHost(h, x, 256),
          d.copyOnDevice(y, x, 256), d.copyToDeviceAsync(x, h, 256, *stream),
          d.copyToHostAsync(h, x, 256, *stream),
          d.copyOnDeviceAsync(y, x, 256, *stream), d.fill(x, 1, 256),
          d.fillAsync(x, 1, 256, *stream), d.fill32Async(x, 1, 64, *stream)})
      if (error)
        return error;
    if (Error error = d.keepFreedMemory(1 << 20))
      return error;
    Expected<MemoryInfo> info = d.memoryInfo();
    if (!info)
      return info.error();
    {
      Expected<std::shared_ptr<Module>> module = d.load(ptx);
      if (!module)
        return module.error();
      KernelOptions options;
      options.dynamicSharedBytes = 48 * 1024;
      Expected<Kernel> kernel = Kernel::get(*module, "kernel", options);
      if (!kernel)
        return kernel.error();
      if (Error error = kernel->launch({}, *stream, 1, 2.0f))
        return error;
    }
    if (Error error = d.unloadUnusedModules())
      return error;
    if (Error error = d.synchronize())
      return error;
    if (Error error = stream->synchronize())
      return error;
    Error freed[] = {a->free(), b->freeAsync(*stream), host->free(),
                     start->destroy(), stream->destroy()};
    for (const Error &error : freed)
      if (error)
        return error;
    return Error::success();
  };
  Error error = everything();
  ASSERT_FALSE(error) << error.message();

  const char *const symbols[] = {"cuCtxGetCurrent",
                                 "cuCtxPushCurrent_v2",
                                 "cuCtxSynchronize",
                                 "cuMemAlloc_v2",
                                 "cuMemAllocAsync",
                                 "cuMemHostAlloc",
                                 "cuMemGetInfo_v2",
                                 "cuMemcpyHtoD_v2",
                                 "cuMemcpyDtoH_v2",
                                 "cuMemcpyDtoD_v2",
                                 "cuMemcpyHtoDAsync_v2",
                                 "cuMemcpyDtoHAsync_v2",
                                 "cuMemcpyDtoDAsync_v2",
                                 "cuMemsetD8_v2",
                                 "cuMemsetD8Async",
                                 "cuMemsetD32Async",
                                 "cuPointerGetAttributes",
                                 "cuStreamCreate",
                                 "cuStreamWaitEvent",
                                 "cuStreamSynchronize",
                                 "cuEventCreate",
                                 "cuEventRecord",
                                 "cuEventQuery",
                                 "cuEventSynchronize",
                                 "cuEventElapsedTime",
                                 "cuModuleLoadDataEx",
                                 "cuModuleGetFunction",
                                 "cuFuncGetAttribute",
                                 "cuFuncSetAttribute",
                                 "cuLaunchKernel",
                                 "cuDeviceGetDefaultMemPool",
                                 "cuMemPoolSetAttribute"};
  for (const char *symbol : symbols) {
    fakeFail(symbol, 999);
    error = everything();
    ASSERT_TRUE(error) << symbol;
    EXPECT_EQ(error.code(), 999) << symbol;
    EXPECT_EQ(error.codeName(), "CUDA_ERROR_UNKNOWN") << symbol;
    EXPECT_EQ(std::string(symbol).find(error.call()), 0u)
        << symbol << ": " << error.message();
    EXPECT_EQ(fakeContextDepth(), 0) << symbol;
    error = everything();
    ASSERT_FALSE(error) << "after " << symbol << ": " << error.message();
  }
}

TEST_F(FakeDriver, KeepsTheCallersContext) {
  Expected<const Driver *> api = driver();
  ASSERT_TRUE(api);
  ContextHandle other = reinterpret_cast<ContextHandle>(&api);
  ASSERT_EQ((*api)->cuCtxPushCurrent(other), ResultSuccess);
  {
    EXPECT_TRUE(device->allocate(64));
  }
  EXPECT_EQ(device->allocate(size_t(1) << 40).error().kind(),
            ErrorKind::OutOfMemory);
  ContextHandle current = nullptr;
  ASSERT_EQ((*api)->cuCtxPopCurrent(&current), ResultSuccess);
  EXPECT_EQ(current, other);
}

TEST_F(FakeDriver, OutOfMemorySaysHowMuch) {
  Expected<Buffer> buffer = device->allocate(size_t(1) << 40);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().message(),
            "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2): 1099511627776 bytes "
            "asked for on device 0, 1000 of 2000 bytes free");
}

TEST_F(FakeDriver, PointersOfAnotherDeviceAreNamed) {
  Expected<Device *> second = Device::get(1);
  ASSERT_TRUE(second);
  {
    Expected<Buffer> buffer = (*second)->allocate(64);
    ASSERT_TRUE(buffer);
    Error error = device->checkPointer("q", buffer->data());
    EXPECT_EQ(error.kind(), ErrorKind::WrongDevice);
    EXPECT_NE(error.message().find("argument 'q'"), std::string::npos);
    EXPECT_NE(error.message().find("device 1, not of device 0"),
              std::string::npos);
    EXPECT_FALSE((*second)->checkPointer("q", buffer->data(), 64, 256));
    int local = 0;
    EXPECT_EQ(device->checkPointer("q", &local).kind(),
              ErrorKind::NotDeviceMemory);
  }
  EXPECT_FALSE((*second)->close());
}

TEST_F(FakeDriver, ModulesAreLoadedOnceAndUnloadedWhenUnused) {
  {
    Expected<std::shared_ptr<Module>> first = device->load("// one");
    Expected<std::shared_ptr<Module>> again = device->load("// one");
    Expected<std::shared_ptr<Module>> other = device->load("// two");
    ASSERT_TRUE(first && again && other);
    EXPECT_EQ(*first, *again);
    EXPECT_NE(*first, *other);
    EXPECT_EQ(fakeCalls("cuModuleLoadDataEx"), 2);
    EXPECT_FALSE(device->unloadUnusedModules());
    EXPECT_EQ(fakeCalls("cuModuleUnload"), 0);
    EXPECT_EQ(device->close().kind(), ErrorKind::InUse);
  }
  EXPECT_FALSE(device->unloadUnusedModules());
  EXPECT_EQ(fakeCalls("cuModuleUnload"), 2);
}

TEST_F(FakeDriver, AFailedLoadHasTheLogAndIsTriedAgain) {
  Expected<std::shared_ptr<Module>> module =
      device->load("// faulty", {"attention"});
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().kind(), ErrorKind::CompileFailed);
  EXPECT_EQ(module.error().message(),
            "cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (218): loading "
            "'attention':\nline 7: no such word");
  fakeFail("cuModuleLoadDataEx", ResultOutOfMemory);
  module = device->load("// sound");
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().kind(), ErrorKind::OutOfMemory);
  module = device->load("// sound");
  EXPECT_TRUE(module) << module.error().message();
}

TEST_F(FakeDriver, RefusesTruncatedBinaries) {
  std::string cubin("\x7f"
                    "ELF",
                    4);
  for (size_t size : {4, 63, 64}) {
    cubin.resize(size, '\xff');
    EXPECT_EQ(device->load(cubin).error().kind(), ErrorKind::CompileFailed);
  }
  // Headers that end where the file does, and ones that end a byte later. Each
  // field is {offset, bytes, value}.
  struct Field {
    size_t offset, bytes;
    uint64_t value;
  };
  auto binary = [](size_t size, std::initializer_list<Field> fields) {
    std::string image("\x7f"
                      "ELF",
                      4);
    image.resize(size, '\0');
    for (const Field &field : fields)
      std::memcpy(&image[field.offset], &field.value, field.bytes);
    return image;
  };
  const Field segments[] = {{32, 8, 64}, {54, 2, 56}, {56, 2, 1}};
  const Field sections[] = {{40, 8, 64}, {58, 2, 64}, {60, 2, 1}};
  const Field from{64 + 24, 8, 100}, length{64 + 32, 8, 28}, longer{96, 8, 29};
  auto kindOf = [&](const std::string &image) {
    return device->load(image).error().kind();
  };
  const Field &a = segments[0], &b = segments[1], &c = segments[2];
  EXPECT_EQ(kindOf(binary(64 + 56, {a, b, c})), ErrorKind::None);
  EXPECT_EQ(kindOf(binary(64 + 55, {a, b, c})), ErrorKind::CompileFailed);
  const Field &d = sections[0], &e = sections[1], &f = sections[2];
  EXPECT_EQ(kindOf(binary(128, {d, e, f, from, length})), ErrorKind::None);
  EXPECT_EQ(kindOf(binary(127, {d, e, f})), ErrorKind::CompileFailed);
  EXPECT_EQ(kindOf(binary(128, {d, e, f, from, longer})),
            ErrorKind::CompileFailed);
  EXPECT_EQ(fakeCalls("cuModuleLoadDataEx"), 2);
  fakeClearCalls();

  std::string fatbin("\x50\xed\x55\xba\x01\0\x10\0\x01\0\0\0\0\0\0\0", 16);
  EXPECT_EQ(device->load(fatbin).error().kind(), ErrorKind::CompileFailed);
  EXPECT_EQ(fakeCalls("cuModuleLoadDataEx"), 0);
  EXPECT_TRUE(device->load(fatbin + "x"));
}

TEST_F(FakeDriver, OptInGrowsAndHasALimit) {
  Expected<std::shared_ptr<Module>> module = device->load("// text");
  ASSERT_TRUE(module);
  KernelOptions options;
  for (size_t bytes : {0, 48 * 1024, 16 * 1024, 98 * 1024}) {
    options.dynamicSharedBytes = bytes;
    EXPECT_TRUE(Kernel::get(*module, "kernel", options));
  }
  EXPECT_EQ(fakeCalls("cuFuncSetAttribute"), 2);
  options.dynamicSharedBytes = 98 * 1024 + 1;
  Expected<Kernel> kernel = Kernel::get(*module, "kernel", options);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().kind(), ErrorKind::Unsupported);
  EXPECT_EQ(kernel.error().message(),
            "kernel 'kernel' of 'module': it asks for 100353 bytes of dynamic "
            "and 1024 of static shared memory per block; device 0 (sm_89) has "
            "101376");
  EXPECT_FALSE(Kernel::get(*module, "missing"));
}

TEST_F(FakeDriver, ClustersNeedADeviceThatHasThem) {
  Expected<std::shared_ptr<Module>> module = device->load("// text");
  ASSERT_TRUE(module);
  Expected<Kernel> kernel = Kernel::get(*module, "kernel");
  ASSERT_TRUE(kernel);
  LaunchConfig config;
  config.grid.x = config.cluster.x = 2;
  EXPECT_EQ(kernel->launch(config, nullptr).kind(), ErrorKind::Unsupported);
}

} // namespace
