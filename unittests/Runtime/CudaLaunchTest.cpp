//===- CudaLaunchTest.cpp - Tests of launches from compiled code ----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On the driver without a GPU. Compiled code is played by calls of the C
// functions.
//
//===----------------------------------------------------------------------===//

#include "na/Runtime/CudaLaunch.h"

#include "FakeCuda.h"
#include "gtest/gtest.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>

using namespace na::cuda;

namespace {

void *symbol(const char *name) {
  for (const na::runtime::Symbol *entry = launchSymbols(); entry->name; ++entry)
    if (!std::strcmp(entry->name, name))
      return entry->address;
  return nullptr;
}
const auto allocate =
    reinterpret_cast<void *(*)(uint64_t)>(symbol("_mlir_memref_to_llvm_alloc"));
const auto allocateAligned = reinterpret_cast<void *(*)(uint64_t, uint64_t)>(
    symbol("_mlir_memref_to_llvm_aligned_alloc"));
const auto release =
    reinterpret_cast<void (*)(void *)>(symbol("_mlir_memref_to_llvm_free"));

/// Launches with arguments that are all pointers aligned to 16, or numbers.
void launch(int64_t kernel, int64_t grid, std::vector<int64_t> params,
            int64_t alignment = 16, int64_t threads = 32, int64_t shared = 0) {
  std::vector<int64_t> alignments(params.size(), alignment);
  naCudaLaunch(kernel, grid, threads, shared,
               reinterpret_cast<int64_t>(params.data()), int64_t(params.size()),
               reinterpret_cast<int64_t>(alignments.data()));
}

struct CudaLaunch : ::testing::Test {
  void SetUp() override {
    setenv("NA_CUDA_DRIVER", NA_FAKE_CUDA, /*overwrite=*/1);
    Expected<Device *> got = Device::get(0);
    ASSERT_TRUE(got) << got.error().message();
    device = *got;
    Expected<std::shared_ptr<Module>> module = device->load("// kernels");
    ASSERT_TRUE(module) << module.error().message();
    Expected<std::shared_ptr<KernelTable>> made =
        KernelTable::create(*module, {"first", "second"});
    ASSERT_TRUE(made) << made.error().message();
    table = *made;
    fakeClearCalls();
  }
  void TearDown() override {
    fakeFail("", 0);
    fakeKernel("second", nullptr);
    table.reset();
    // Fails if memory is left.
    Error error = device->close();
    EXPECT_FALSE(error) << error.message();
  }
  Device *device = nullptr;
  std::shared_ptr<KernelTable> table;
};

TEST_F(CudaLaunch, MissingKernelsShowBeforeALaunch) {
  Expected<std::shared_ptr<Module>> module = device->load("// kernels");
  ASSERT_TRUE(module);
  auto made = KernelTable::create(*module, {"first", "missing"});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message().find("kernel 'missing'"), std::string::npos);
  EXPECT_EQ(KernelTable::create(nullptr, {}).error().kind(),
            ErrorKind::NullPointer);
}

TEST_F(CudaLaunch, PassesTheSlotsAndTheSizes) {
  static int64_t seen[5];
  fakeKernel("second",
             [](unsigned grid, unsigned block, unsigned shared, void **args) {
               float value;
               std::memcpy(&value, args[1], sizeof(value));
               seen[0] = grid;
               seen[1] = block;
               seen[2] = shared;
               std::memcpy(&seen[3], args[0], 8);
               seen[4] = int64_t(value);
             });
  int64_t number = 0;
  const float value = 7;
  std::memcpy(&number, &value, sizeof(value));
  LaunchScope scope(*table, nullptr);
  launch(1, 100000, {1ll << 40, number}, 0, 96, 512);
  EXPECT_FALSE(scope.error()) << scope.error().message();
  EXPECT_EQ(seen[0], 100000);
  EXPECT_EQ(seen[1], 96);
  EXPECT_EQ(seen[2], 512);
  EXPECT_EQ(seen[3], 1ll << 40);
  EXPECT_EQ(seen[4], 7);
  EXPECT_EQ(scope.launches(), 1);
}

TEST_F(CudaLaunch, NoBlocksNoLaunch) {
  LaunchScope scope(*table, nullptr);
  launch(0, 0, {0});
  EXPECT_FALSE(scope.error());
  EXPECT_EQ(scope.launches(), 0);
  EXPECT_EQ(fakeCalls("cuLaunchKernel"), 0);
}

TEST_F(CudaLaunch, BadArgumentsAreNamedAndTheNextCallIsRight) {
  struct Case {
    std::vector<int64_t> params;
    int64_t kernel, grid, threads, shared;
    ErrorKind kind;
    const char *message;
  };
  const int64_t big = std::numeric_limits<int64_t>::max();
  const Case cases[] = {
      {{4096, 0},
       0,
       1,
       32,
       0,
       ErrorKind::NullPointer,
       "kernel 'first': parameter 1 is a null pointer"},
      {{4096, 4112, 4104},
       1,
       1,
       32,
       0,
       ErrorKind::MisalignedPointer,
       "kernel 'second': parameter 2 (0x1008) is not aligned to 16 bytes"},
      {{}, 2, 1, 32, 0, ErrorKind::Internal, "launch of kernel 2 of 2"},
      {{}, -1, 1, 32, 0, ErrorKind::Internal, "launch of kernel -1 of 2"},
      {{},
       0,
       -1,
       32,
       0,
       ErrorKind::InvalidArgument,
       "kernel 'first': -1 blocks; a grid has 1 to 2147483647"},
      {{},
       0,
       big,
       32,
       0,
       ErrorKind::InvalidArgument,
       "kernel 'first': 9223372036854775807 blocks; a grid has 1 to "
       "2147483647"},
      {{},
       0,
       1,
       0,
       0,
       ErrorKind::InvalidArgument,
       "kernel 'first': 0 threads per block; a block has 1 to 1024"},
      {{},
       0,
       1,
       32,
       -5,
       ErrorKind::InvalidArgument,
       "kernel 0: -5 bytes of dynamic shared memory"},
      {{},
       1,
       1,
       32,
       200 << 10,
       ErrorKind::Unsupported,
       "kernel 'second' of 'module': it asks for 204800 bytes of dynamic and "
       "1024 of static shared memory per block; device 0 (sm_89) has 101376"}};
  for (const Case &one : cases) {
    LaunchScope scope(*table, nullptr);
    launch(one.kernel, one.grid, one.params, 16, one.threads, one.shared);
    EXPECT_EQ(scope.error().kind(), one.kind);
    EXPECT_EQ(scope.error().message(), one.message);
    // What follows a failure in the same call does nothing.
    launch(0, 1, {4096});
    EXPECT_EQ(allocate(64), nullptr);
    EXPECT_EQ(scope.error().message(), one.message);
    EXPECT_EQ(scope.launches(), 0);
  }
  EXPECT_EQ(fakeCalls("cuLaunchKernel"), 0);
  LaunchScope scope(*table, nullptr);
  launch(0, 1, {4096});
  EXPECT_EQ(scope.launches(), 1);
  EXPECT_FALSE(scope.error());
}

TEST_F(CudaLaunch, FailedLaunchesAreTheDriversErrors) {
  fakeFail("cuLaunchKernel", 999);
  LaunchScope scope(*table, nullptr);
  launch(1, 1, {4096});
  EXPECT_EQ(scope.error().message(),
            "kernel 'second': cuLaunchKernel: CUDA_ERROR_UNKNOWN (999): "
            "unknown error");
}

TEST_F(CudaLaunch, SharedMemoryIsAskedForOnce) {
  LaunchScope scope(*table, nullptr);
  for (int64_t shared : {60 << 10, 60 << 10, 50 << 10, 0, 80 << 10, 80 << 10})
    launch(0, 1, {}, 0, 32, shared);
  EXPECT_EQ(scope.launches(), 6) << scope.error().message();
  EXPECT_EQ(fakeCalls("cuFuncSetAttribute"), 2);
}

TEST_F(CudaLaunch, AllocatesOnTheDeviceAndFrees) {
  {
    LaunchScope scope(*table, nullptr);
    void *a = allocate(1000);
    void *b = allocateAligned(64, 1000);
    void *empty = allocate(0);
    ASSERT_TRUE(a && b && empty);
    EXPECT_FALSE(device->checkPointer("a", a, 1000));
    EXPECT_FALSE(device->checkPointer("b", b, 1000, 64));
    EXPECT_EQ(fakeCalls("cuMemAllocAsync"), 3);
    release(a);
    release(nullptr);
    EXPECT_EQ(fakeCalls("cuMemFreeAsync"), 1);
    Buffer taken = scope.take(b);
    EXPECT_EQ(taken.data(), b);
    EXPECT_EQ(scope.take(b).data(), nullptr);
    EXPECT_FALSE(scope.error()) << scope.error().message();
    release(b);
    EXPECT_EQ(scope.error().kind(), ErrorKind::Internal);
  }
  // The empty one, left behind, and the taken one.
  EXPECT_EQ(fakeCalls("cuMemFreeAsync"), 3);
}

TEST_F(CudaLaunch, FailedAllocationsStopTheCall) {
  LaunchScope scope(*table, nullptr);
  EXPECT_EQ(allocate(1ull << 40), nullptr);
  EXPECT_EQ(scope.error().kind(), ErrorKind::OutOfMemory);
  launch(0, 1, {4096});
  EXPECT_EQ(scope.launches(), 0);
  LaunchScope other(*table, nullptr);
  EXPECT_EQ(allocateAligned(512, 8), nullptr);
  EXPECT_EQ(other.error().message(),
            "device memory aligned to 512 bytes; at most 256");
}

TEST_F(CudaLaunch, ScopesNestAndBelongToAThread) {
  EXPECT_EQ(LaunchScope::current(), nullptr);
  LaunchScope outer(*table, nullptr);
  {
    LaunchScope inner(*table, nullptr);
    launch(0, 1, {0});
    EXPECT_TRUE(inner.error());
  }
  EXPECT_EQ(LaunchScope::current(), &outer);
  EXPECT_FALSE(outer.error());
  std::thread([&] { EXPECT_EQ(LaunchScope::current(), nullptr); }).join();
}

TEST_F(CudaLaunch, WithoutAScopeNothingHappens) {
  launch(0, 1, {4096});
  EXPECT_EQ(allocate(64), nullptr);
  release(&table);
  EXPECT_EQ(fakeCalls("cuLaunchKernel"), 0);
  EXPECT_EQ(fakeCalls("cuMemAllocAsync"), 0);
}

TEST_F(CudaLaunch, ManyThreadsShareATable) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      LaunchScope scope(*table, nullptr);
      for (int i = 0; i < 200; ++i) {
        void *memory = allocate(256);
        launch(i % 2, 1, {reinterpret_cast<int64_t>(memory)}, 16, 32,
               (t + i) << 8);
        release(memory);
      }
      EXPECT_FALSE(scope.error()) << scope.error().message();
      EXPECT_EQ(scope.launches(), 200);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(fakeCalls("cuLaunchKernel"), 1600);
}

} // namespace
