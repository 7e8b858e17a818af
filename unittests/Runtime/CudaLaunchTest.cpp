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

TEST(CudaArena, PlacesWhereItFitsFirst) {
  Arena arena;
  EXPECT_EQ(arena.allocate(1000), 0u);
  EXPECT_EQ(arena.allocate(0), 1024u);
  EXPECT_EQ(arena.allocate(300), 1280u);
  EXPECT_EQ(arena.peak(), 1792u);
  EXPECT_TRUE(arena.release(0));
  EXPECT_FALSE(arena.release(0));
  EXPECT_FALSE(arena.release(256));
  // What is too large for the gap goes behind the last.
  EXPECT_EQ(arena.allocate(1025), 1792u);
  EXPECT_EQ(arena.allocate(512), 0u);
  EXPECT_EQ(arena.allocate(512), 512u);
  EXPECT_EQ(arena.allocate(1), 3072u);
  EXPECT_EQ(arena.peak(), 3328u);
}

TEST_F(CudaLaunch, AllocatesFromAWorkspace) {
  // Played twice: to measure, and in memory of that size.
  std::vector<void *> places;
  auto play = [&] {
    void *a = allocate(1000), *b = allocateAligned(64, 300);
    launch(0, 1, {int64_t(a), int64_t(b)});
    release(a);
    void *c = allocate(512);
    launch(1, 1, {int64_t(c), int64_t(b)});
    release(b);
    release(c);
    places = {a, b, c};
  };
  size_t bytes = 0;
  {
    LaunchScope rehearsal(*table);
    play();
    EXPECT_FALSE(rehearsal.error()) << rehearsal.error().message();
    bytes = rehearsal.getWorkspaceBytes();
    EXPECT_EQ(rehearsal.launches(), 0);
  }
  EXPECT_EQ(bytes, 1536u);
  EXPECT_EQ(fakeCalls("cuLaunchKernel"), 0);
  Expected<Buffer> memory = device->allocate(bytes);
  ASSERT_TRUE(memory);
  fakeClearCalls();
  {
    LaunchScope scope(*table, nullptr, {memory->data(), bytes});
    play();
    EXPECT_FALSE(scope.error()) << scope.error().message();
    EXPECT_EQ(scope.launches(), 2);
  }
  auto *start = static_cast<char *>(memory->data());
  EXPECT_EQ(places, (std::vector<void *>{start, start + 1024, start}));
  EXPECT_EQ(fakeCalls("cuMemAllocAsync"), 0);
  EXPECT_EQ(fakeCalls("cuMemFreeAsync"), 0);
  {
    LaunchScope scope(*table, nullptr, {memory->data(), bytes - 1});
    play();
    EXPECT_EQ(scope.error().kind(), ErrorKind::OutOfMemory);
    EXPECT_NE(scope.error().message().find(
                  "the workspace has 1535 bytes, compiled code needs 1536"),
              std::string::npos);
    EXPECT_EQ(scope.launches(), 0);
  }
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

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

/// A tensor [2, 3, 40, 4, 128] of bf16, boxes of one head and half the
/// channels.
TensorBoxes makeBoxes() {
  TensorBoxes boxes;
  boxes.name = "argument 1";
  boxes.address = reinterpret_cast<const void *>(uintptr_t(4096));
  boxes.type = TensorType::BF16;
  boxes.sizes = {2, 3, 40, 4, 128};
  boxes.strides = {3 * 40 * 512, 40 * 512, 512, 128, 1};
  boxes.box = {1, 2, 8, 64};
  return boxes;
}

/// As compiled code encodes them.
void encode(const TensorBoxes &boxes, TensorMap &map, int64_t argument = 1) {
  std::vector<int64_t> shape(boxes.sizes);
  shape.insert(shape.end(), boxes.strides.begin(), boxes.strides.end());
  shape.insert(shape.end(), boxes.box.begin(), boxes.box.end());
  std::vector<int64_t> dilation(boxes.dilation);
  dilation.resize(std::max<size_t>(boxes.sizes.size(), 3) - 3, 1);
  shape.insert(shape.end(), dilation.begin(), dilation.end());
  auto function = reinterpret_cast<decltype(&naCudaEncodeTensorMap)>(
      symbol("naCudaEncodeTensorMap"));
  function(&map, argument, reinterpret_cast<int64_t>(boxes.address),
           int64_t(boxes.type), int64_t(boxes.sizes.size()), shape.data(),
           boxes.swizzleBytes);
}

TEST_F(CudaLaunch, ParametersByValue) {
  static TensorMap seen;
  static int64_t number;
  fakeKernel("second", [](unsigned, unsigned, unsigned, void **args) {
    std::memcpy(&number, args[0], 8);
    std::memcpy(&seen, args[1], sizeof(seen));
  });
  TensorMap map;
  for (int i = 0; i < 16; ++i)
    map.words[i] = 1000 + i;
  int64_t params[] = {7, reinterpret_cast<int64_t>(&map)};
  int64_t alignments[] = {0, -128};
  LaunchScope scope(*table, nullptr);
  naCudaLaunch(1, 1, 32, 0, reinterpret_cast<int64_t>(params), 2,
               reinterpret_cast<int64_t>(alignments));
  EXPECT_FALSE(scope.error()) << scope.error().message();
  EXPECT_EQ(number, 7);
  EXPECT_EQ(std::memcmp(&seen, &map, sizeof(map)), 0);
}

TEST_F(CudaLaunch, TensorMapsFoldHeadsAndChannels) {
  LaunchScope scope(*table, nullptr);
  TensorMap map;
  encode(makeBoxes(), map);
  ASSERT_FALSE(scope.error()) << scope.error().message();
  // Type 9, four dimensions, no interleave, swizzle 3 (128 bytes), promotion 3
  // (256 bytes), zeros outside; then the address, sizes, strides in bytes, and
  // the box with element strides of 1, all innermost first.
  const uint64_t expected[16] = {0x0009000400030300,
                                 4096,
                                 512,
                                 40,
                                 3,
                                 2,
                                 1024,
                                 40960,
                                 122880,
                                 64 << 8 | 1,
                                 8 << 8 | 1,
                                 2 << 8 | 1,
                                 1 << 8 | 1};
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(map.words[i], expected[i]) << i;

  // f16 in five dimensions, panels of 64 bytes; strides of a view.
  TensorBoxes boxes;
  boxes.address = reinterpret_cast<const void *>(uintptr_t(4096 + 16));
  boxes.sizes = {2, 3, 4, 5, 1, 32};
  boxes.strides = {8000, 2000, 480, 96, 7, 1};
  boxes.box = {1, 1, 256, 1, 32};
  boxes.swizzleBytes = 64;
  encode(boxes, map);
  ASSERT_FALSE(scope.error()) << scope.error().message();
  const uint64_t view[16] = {0x0006000500020300,
                             4112,
                             32,
                             5,
                             4,
                             3,
                             2,
                             192,
                             960,
                             4000,
                             16000,
                             32 << 8 | 1,
                             1 << 8 | 1,
                             256 << 8 | 1,
                             1 << 8 | 1,
                             1 << 8 | 1};
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(map.words[i], view[i]) << i;
  EXPECT_EQ(fakeCalls("cuTensorMapEncodeTiled"), 2);
}

TEST_F(CudaLaunch, TensorMapsFoldResidues) {
  LaunchScope scope(*table, nullptr);
  TensorBoxes boxes = makeBoxes();
  boxes.address = reinterpret_cast<const void *>(uintptr_t(1) << 20);
  boxes.sizes = {2, 9, 40, 4, 128};
  boxes.strides = {9 * 40 * 512, 40 * 512, 512, 128, 1};
  boxes.dilation = {3, 4};
  TensorMap map;
  encode(boxes, map);
  ASSERT_FALSE(scope.error()) << scope.error().message();
  // 9 tokens are 3 of each residue. The innermost dimension has 2 and 3 steps
  // more of the two axes.
  EXPECT_EQ(map.words[1], uint64_t(1) << 20);
  EXPECT_EQ(map.words[2], 512u + 2 * 20480 + 3 * 512);
  EXPECT_EQ(map.words[3], 10u);
  EXPECT_EQ(map.words[4], 3u);
  EXPECT_EQ(map.words[5], 2u);
  EXPECT_EQ(map.words[6], 4 * 1024u);
  EXPECT_EQ(map.words[7], 3 * 40960u);
  EXPECT_EQ(map.words[8], 9 * 40960u);
}

TEST_F(CudaLaunch, TheStrideOfOneElementDoesNotMatter) {
  LaunchScope scope(*table, nullptr);
  TensorBoxes boxes = makeBoxes();
  boxes.sizes = {1, 3, 1, 4, 128};
  boxes.strides = {-1, 520, 3, 128, 1};
  TensorMap map;
  encode(boxes, map);
  ASSERT_FALSE(scope.error()) << scope.error().message();
  EXPECT_EQ(map.words[6], 1024u);
  EXPECT_EQ(map.words[7], 1040u);
  EXPECT_EQ(map.words[8], 3120u);
}

TEST_F(CudaLaunch, EmptyTensorsNeedNoMap) {
  LaunchScope scope(*table, nullptr);
  TensorBoxes boxes = makeBoxes();
  boxes.address = nullptr;
  boxes.sizes[0] = 0;
  TensorMap map;
  map.words[5] = 1;
  encode(boxes, map);
  EXPECT_FALSE(scope.error()) << scope.error().message();
  EXPECT_EQ(map.words[5], 0u);
  EXPECT_EQ(fakeCalls("cuTensorMapEncodeTiled"), 0);
}

TEST_F(CudaLaunch, BadTensorMapsAreNamed) {
  struct Case {
    void (*change)(TensorBoxes &);
    ErrorKind kind;
    const char *message;
  };
  const ErrorKind invalid = ErrorKind::InvalidArgument;
  const Case cases[] = {
      {[](TensorBoxes &b) { b.address = nullptr; }, ErrorKind::NullPointer,
       "it is a null pointer"},
      {[](TensorBoxes &b) {
         b.address = reinterpret_cast<const void *>(uintptr_t(4104));
       },
       ErrorKind::MisalignedPointer, "it (0x1008) is not aligned to 16 bytes"},
      {[](TensorBoxes &b) { b.strides[1] = 516; }, invalid,
       "the stride of dimension 1 is 516, expected a multiple of 8 (16 bytes) "
       "from 0 to 549755813887"},
      {[](TensorBoxes &b) { b.strides[2] = -512; }, invalid,
       "the stride of dimension 2 is -512, expected a multiple of 8 (16 bytes) "
       "from 0 to 549755813887"},
      {[](TensorBoxes &b) { b.strides[0] = 1ll << 62; }, invalid,
       "the stride of dimension 0 is 4611686018427387904, expected a multiple "
       "of 8 (16 bytes) from 0 to 549755813887"},
      {[](TensorBoxes &b) { b.strides[3] = 256; }, invalid,
       "the stride of dimension 3 is 256, expected 128, the number of "
       "channels"},
      {[](TensorBoxes &b) { b.strides[4] = 2; }, invalid,
       "the stride of dimension 4 is 2, expected 1 (channels)"},
      {[](TensorBoxes &b) { b.sizes[0] = (1ll << 32) + 1; }, invalid,
       "the size of dimension 0 is 4294967297, expected at most 4294967296"},
      {[](TensorBoxes &b) { b.sizes[3] = 1ll << 26; }, invalid,
       "the size of dimension 3 is 67108864, expected at most 4294967296 with "
       "the 128 channels"},
      {[](TensorBoxes &b) { b.box[2] = 257; }, invalid,
       "the box of dimension 2 is 257, expected 1 to 256"},
      {[](TensorBoxes &b) { b.box[3] = 128; }, invalid,
       "a row of the box has 256 bytes, expected a multiple of 16, at most "
       "128"},
      {[](TensorBoxes &b) { b.box[3] = 4; }, invalid,
       "a row of the box has 8 bytes, expected a multiple of 16, at most 128"},
      {[](TensorBoxes &b) { b.swizzleBytes = 96; }, invalid,
       "the swizzle is of 96 bytes, expected 0, 32, 64 or 128"},
      {[](TensorBoxes &b) { b.dilation = {1, 41}; }, invalid,
       "the dilation of dimension 2 is 41, expected 1 to the 40 tokens"},
      {[](TensorBoxes &b) { b.dilation = {1, 7}; }, invalid,
       "the dilation of dimension 2 is 7, expected a divisor of the 40 tokens"},
      {[](TensorBoxes &b) { b.dilation = {0, 1}; }, invalid,
       "the dilation of dimension 1 is 0, expected 1 to the 3 tokens"},
      {[](TensorBoxes &b) {
         b.strides[1] = 1ll << 30;
         b.dilation = {3, 1};
       },
       invalid,
       "the stride of dimension 1 is 1073741824, expected less for a dilation "
       "of 3: a coordinate passes 2147483647"},
      {[](TensorBoxes &b) {
         b.strides[1] = 1ll << 38;
         b.dilation = {3, 1};
       },
       invalid,
       "the stride of dimension 1 is 274877906944, expected a multiple of 8 "
       "(16 bytes) from 0 to 183251937962"}};
  for (const Case &one : cases) {
    TensorBoxes boxes = makeBoxes();
    one.change(boxes);
    LaunchScope scope(*table, nullptr);
    TensorMap map;
    encode(boxes, map);
    EXPECT_EQ(scope.error().kind(), one.kind);
    EXPECT_EQ(scope.error().message(),
              std::string("tensor map of argument 1: ") + one.message);
    // The launch that was to use it.
    launch(0, 1, {4096});
    EXPECT_EQ(scope.launches(), 0);
  }
  EXPECT_EQ(fakeCalls("cuTensorMapEncodeTiled"), 0);

  TensorMap map;
  LaunchScope scope(*table, nullptr);
  fakeFail("cuTensorMapEncodeTiled", 999);
  encode(makeBoxes(), map, -1);
  EXPECT_EQ(scope.error().message(),
            "tensor map of the tensor: cuTensorMapEncodeTiled: "
            "CUDA_ERROR_UNKNOWN (999): unknown error");
  LaunchScope other(*table, nullptr);
  TensorBoxes boxes = makeBoxes();
  boxes.sizes.resize(2);
  encode(boxes, map);
  EXPECT_EQ(other.error().message(), "tensor map of type 1 with 2 dimensions, "
                                     "expected 0 to 2 and 3 to 6");
}

} // namespace
