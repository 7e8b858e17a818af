//===- CudaTest.cpp - Tests of the CUDA layer on a GPU --------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Needs a driver and a GPU. Where there is none it says why and exits with 77,
// which ctest reports as skipped; with NA_REQUIRE_GPU set, with 1.
//
//===----------------------------------------------------------------------===//

#include "CudaDriver.h"
#include "na/Runtime/CudaTensorMap.h"
#include "na/Runtime/KernelCache.h"
#include "gtest/gtest.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <set>
#include <thread>
#include <unistd.h>

using namespace na;
using namespace na::cuda;

#define ASSERT_OK(expression)                                                  \
  do {                                                                         \
    Error error_ = (expression);                                               \
    ASSERT_FALSE(error_) << error_.message();                                  \
  } while (false)
#define ASSERT_GOT(expected) ASSERT_TRUE(expected) << expected.error().message()

namespace {

// out[i] = a[i] + b[i]; fill: out[i] = value.
const char *const vectorPtx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 pa, .param .u64 pb, .param .u64 po,
                    .param .u32 pn) {
  .reg .pred %p;
  .reg .b32 %i, %t, %n;
  .reg .f32 %x, %y;
  .reg .b64 %a, %b, %o, %s;
  ld.param.u64 %a, [pa];
  ld.param.u64 %b, [pb];
  ld.param.u64 %o, [po];
  ld.param.u32 %n, [pn];
  mov.u32 %i, %ctaid.x;
  mov.u32 %t, %ntid.x;
  mul.lo.u32 %i, %i, %t;
  mov.u32 %t, %tid.x;
  add.u32 %i, %i, %t;
  setp.ge.u32 %p, %i, %n;
  @%p ret;
  mul.wide.u32 %s, %i, 4;
  add.u64 %a, %a, %s;
  add.u64 %b, %b, %s;
  add.u64 %o, %o, %s;
  ld.global.f32 %x, [%a];
  ld.global.f32 %y, [%b];
  add.f32 %x, %x, %y;
  st.global.f32 [%o], %x;
  ret;
}
)";

// Writes i * 3 to each word of the dynamic shared memory, then copies it out
// in reverse, one block of any size.
const char *const sharedPtx = R"(
.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry reverse(.param .u64 po, .param .u32 pn) {
  .reg .pred %p;
  .reg .b32 %i, %t, %n, %v, %a, %base;
  .reg .b64 %o, %s, %d;
  ld.param.u64 %o, [po];
  ld.param.u32 %n, [pn];
  mov.u32 %t, %ntid.x;
  mov.u32 %base, dynamic;
  mov.u32 %i, %tid.x;
write:
  setp.ge.u32 %p, %i, %n;
  @%p bra written;
  mul.lo.u32 %v, %i, 3;
  shl.b32 %a, %i, 2;
  add.u32 %a, %a, %base;
  st.shared.u32 [%a], %v;
  add.u32 %i, %i, %t;
  bra write;
written:
  bar.sync 0;
  mov.u32 %i, %tid.x;
read:
  setp.ge.u32 %p, %i, %n;
  @%p bra done;
  sub.u32 %a, %n, %i;
  sub.u32 %a, %a, 1;
  shl.b32 %a, %a, 2;
  add.u32 %a, %a, %base;
  ld.shared.u32 %v, [%a];
  mul.wide.u32 %s, %i, 4;
  add.u64 %d, %o, %s;
  st.global.u32 [%d], %v;
  add.u32 %i, %i, %t;
  bra read;
done:
  ret;
}
)";

// Spins for a number of nanoseconds.
const char *const spinPtx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry spin(.param .u64 pn) {
  .reg .pred %p;
  .reg .b64 %n, %t;
  ld.param.u64 %n, [pn];
  mov.u64 %t, %globaltimer;
  add.u64 %n, %n, %t;
again:
  mov.u64 %t, %globaltimer;
  setp.lt.u64 %p, %t, %n;
  @%p bra again;
  ret;
}
)";

// Each block writes its rank in the cluster and the cluster's size.
const char *const clusterPtx = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry cluster(.param .u64 po) {
  .reg .b32 %b, %v;
  .reg .b64 %o, %s;
  ld.param.u64 %o, [po];
  mov.u32 %b, %ctaid.x;
  mul.wide.u32 %s, %b, 8;
  add.u64 %o, %o, %s;
  mov.u32 %v, %cluster_ctarank;
  st.global.u32 [%o], %v;
  mov.u32 %v, %cluster_nctarank;
  st.global.u32 [%o+4], %v;
  ret;
}
)";

// Copies a box of 8 rows of 128 bytes to shared memory, and from there as it
// lies to `out`, by 256 threads.
const char *const boxPtx = R"(
.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 1024 .b8 dynamic[];
.visible .entry box(.param .align 64 .b8 pm[128], .param .u64 po,
                    .param .u32 pc, .param .u32 px, .param .u32 pb) {
  .reg .pred %first, %done;
  .reg .b32 %t, %c, %x, %b, %tile, %bar, %v;
  .reg .b64 %m, %o, %s;
  mov.u32 %t, %tid.x;
  mov.u32 %tile, dynamic;
  add.u32 %bar, %tile, 1024;
  setp.eq.u32 %first, %t, 0;
  @!%first bra issued;
  mbarrier.init.shared::cta.b64 [%bar], 1;
  fence.mbarrier_init.release.cluster;
  fence.proxy.async.shared::cta;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 1024;
  mov.b64 %m, pm;
  cvta.param.u64 %m, %m;
  ld.param.u32 %c, [pc];
  ld.param.u32 %x, [px];
  ld.param.u32 %b, [pb];
  cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes
    [%tile], [%m, {%c, %x, %b}], [%bar];
issued:
  bar.sync 0;
again:
  mbarrier.try_wait.parity.shared::cta.b64 %done, [%bar], 0;
  @!%done bra again;
  shl.b32 %t, %t, 2;
  add.u32 %tile, %tile, %t;
  ld.shared.u32 %v, [%tile];
  ld.param.u64 %o, [po];
  cvt.u64.u32 %s, %t;
  add.u64 %o, %o, %s;
  st.global.u32 [%o], %v;
  ret;
}
)";

Device &device(int ordinal = 0) {
  Expected<Device *> got = Device::get(ordinal);
  if (!got) {
    std::fprintf(stderr, "%s\n", got.error().message().c_str());
    std::abort();
  }
  return **got;
}

ContextHandle currentContext() {
  ContextHandle current = nullptr;
  EXPECT_EQ((*driver())->cuCtxGetCurrent(&current), ResultSuccess);
  return current;
}

Expected<Kernel> kernelOf(Device &device, const char *ptx, const char *name,
                          const KernelOptions &options = {}) {
  Expected<std::shared_ptr<Module>> module = device.load(ptx, {name});
  if (!module)
    return module.error();
  return Kernel::get(*module, name, options);
}

/// Adds two vectors of `count` numbers that depend on `seed`, on `stream`.
void addVectors(Device &device, StreamHandle stream, unsigned count, int seed) {
  Expected<Kernel> add = kernelOf(device, vectorPtx, "add");
  ASSERT_GOT(add);
  std::vector<float> a(count), b(count), out(count, -1.0f);
  for (unsigned i = 0; i < count; ++i) {
    a[i] = float(i % 1000) + float(seed);
    b[i] = float(i % 77) * 0.5f;
  }
  const size_t bytes = count * sizeof(float);
  Expected<Buffer> da = device.allocate(bytes);
  ASSERT_GOT(da);
  Expected<Buffer> db = device.allocateAsync(bytes, stream);
  ASSERT_GOT(db);
  Expected<Buffer> dout = device.allocateAsync(bytes, stream);
  ASSERT_GOT(dout);
  ASSERT_OK(device.checkPointer("a", da->data(), bytes, 16));
  ASSERT_OK(device.checkPointer("b", db->data(), bytes, 16));
  ASSERT_OK(device.fillAsync(dout->data(), 0xff, bytes, stream));
  ASSERT_OK(device.copyToDeviceAsync(da->data(), a.data(), bytes, stream));
  ASSERT_OK(device.copyToDeviceAsync(db->data(), b.data(), bytes, stream));
  LaunchConfig config;
  config.grid.x = (count + 255) / 256;
  config.block.x = 256;
  ASSERT_OK(
      add->launch(config, stream, da->data(), db->data(), dout->data(), count));
  ASSERT_OK(device.copyToHostAsync(out.data(), dout->data(), bytes, stream));
  ASSERT_OK(device.synchronize(stream));
  for (unsigned i = 0; i < count; ++i)
    ASSERT_EQ(out[i], a[i] + b[i]) << "at " << i << ", seed " << seed;
}

TEST(Cuda, PropertiesAreThoseOfTheDevice) {
  Device &first = device();
  EXPECT_EQ(&first, &device());
  const DeviceProperties &p = first.properties();
  Expected<MemoryInfo> memory = first.memoryInfo();
  ASSERT_GOT(memory);
  std::printf("device 0: %s, %s, %d multiprocessors, %zu bytes (%zu free), "
              "shared %zu / %zu per block, %zu per multiprocessor, L2 %zu, "
              "driver %d\n",
              p.name.c_str(), p.arch().c_str(), p.multiprocessors,
              p.memoryBytes, memory->freeBytes, p.sharedBytesPerBlock,
              p.sharedBytesPerBlockOptIn, p.sharedBytesPerMultiprocessor,
              p.l2Bytes, p.driverVersion);
  EXPECT_FALSE(p.name.empty());
  EXPECT_GE(p.major, 8);
  EXPECT_GT(p.multiprocessors, 0);
  EXPECT_EQ(p.sharedBytesPerBlock, size_t(48 * 1024));
  EXPECT_GT(p.sharedBytesPerBlockOptIn, p.sharedBytesPerBlock);
  EXPECT_EQ(p.warpSize, 32);
  EXPECT_EQ(p.maxThreadsPerBlock, 1024);
  EXPECT_EQ(p.maxGrid[0], 2147483647);
  EXPECT_EQ(p.maxGrid[1], 65535);
  EXPECT_GE(p.driverVersion, 11020);
  EXPECT_LE(memory->freeBytes, memory->totalBytes);
}

TEST(Cuda, DeviceOutOfRangeIsAnError) {
  Expected<int> count = deviceCount();
  ASSERT_GOT(count);
  for (int ordinal : {-1, *count}) {
    Expected<Device *> none = Device::get(ordinal);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().kind(), ErrorKind::NoDevice);
  }
}

TEST(Cuda, AddsVectorsOnItsOwnAndTheDefaultStream) {
  Expected<Stream> stream = device().createStream();
  ASSERT_GOT(stream);
  addVectors(device(), *stream, 100001, 1);
  addVectors(device(), nullptr, 100001, 2);
  ASSERT_OK(stream->destroy());
}

TEST(Cuda, UsesACallersStreamAndKeepsTheCallersContext) {
  Device &last = device(*deviceCount() - 1);
  const Driver &api = **driver();
  // The caller works on device 0 and hands over a stream of the last device.
  Device::State &state = last.state();
  ASSERT_OK(last.synchronize());
  StreamHandle stream = nullptr;
  ASSERT_OK(state.inContext([&] {
    return api.check("cuStreamCreate", api.cuStreamCreate(&stream, 0));
  }));
  ASSERT_OK(device().synchronize());
  ContextHandle own = device().state().context;
  ASSERT_EQ(api.cuCtxPushCurrent(own), ResultSuccess);
  addVectors(last, stream, 4097, 3);
  EXPECT_EQ(currentContext(), own);
  Error failure = last.copyToDevice(reinterpret_cast<void *>(16), &failure, 1);
  EXPECT_TRUE(failure) << "a copy to address 16";
  EXPECT_EQ(currentContext(), own);
  ContextHandle popped = nullptr;
  ASSERT_EQ(api.cuCtxPopCurrent(&popped), ResultSuccess);
  EXPECT_EQ(popped, own);
  ASSERT_OK(state.inContext([&] {
    return api.check("cuStreamDestroy", api.cuStreamDestroy(stream));
  }));
}

TEST(Cuda, EightThreadsLaunchOnTheirOwnStreams) {
  const int devices = *deviceCount();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([t, devices] {
      Device &own = device(t % devices);
      EXPECT_EQ(currentContext(), nullptr);
      Expected<Stream> stream = own.createStream();
      ASSERT_GOT(stream);
      for (int round = 0; round < 20; ++round)
        addVectors(own, *stream, 10000 + 13 * t, 100 * t + round);
      EXPECT_EQ(currentContext(), nullptr);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Cuda, SameImageIsLoadedOnceAlsoByThreads) {
  // An image of its own, so that no other test has loaded it.
  const std::string image = std::string(vectorPtx) + "// once\n";
  std::vector<std::shared_ptr<Module>> modules(8);
  std::vector<std::thread> threads;
  for (std::shared_ptr<Module> &slot : modules)
    threads.emplace_back([&] {
      Expected<std::shared_ptr<Module>> module = device().load(image);
      ASSERT_GOT(module);
      slot = *module;
    });
  for (std::thread &thread : threads)
    thread.join();
  for (std::shared_ptr<Module> &module : modules)
    EXPECT_EQ(module, modules.front());
  Expected<std::shared_ptr<Module>> other = device().load(spinPtx);
  ASSERT_GOT(other);
  EXPECT_NE(*other, modules.front());
}

void reverseShared(size_t bytes) {
  KernelOptions options;
  options.dynamicSharedBytes = bytes;
  Expected<Kernel> reverse = kernelOf(device(), sharedPtx, "reverse", options);
  ASSERT_GOT(reverse);
  const uint32_t words = uint32_t(bytes / 4);
  Expected<Buffer> out = device().allocate(bytes);
  ASSERT_GOT(out);
  ASSERT_OK(device().fill(out->data(), 0xee, bytes));
  LaunchConfig config;
  config.block.x = 128;
  config.dynamicSharedBytes = bytes;
  ASSERT_OK(reverse->launch(config, nullptr, out->data(), words));
  std::vector<uint32_t> host(words);
  ASSERT_OK(device().copyToHost(host.data(), out->data(), bytes));
  for (uint32_t i = 0; i < words; ++i)
    ASSERT_EQ(host[i], 3 * (words - 1 - i)) << "of " << bytes << " bytes";
}

TEST(Cuda, DynamicSharedMemoryOfAnySize) {
  for (size_t kib : {100, 48, 16})
    reverseShared(kib * 1024);
  reverseShared(device().properties().sharedBytesPerBlockOptIn);
}

TEST(Cuda, TooMuchSharedMemoryNamesTheLimit) {
  KernelOptions options;
  options.dynamicSharedBytes =
      device().properties().sharedBytesPerBlockOptIn + 16;
  Expected<Kernel> kernel = kernelOf(device(), sharedPtx, "reverse", options);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().kind(), ErrorKind::Unsupported);
  EXPECT_NE(kernel.error().message().find(
                std::to_string(device().properties().sharedBytesPerBlockOptIn)),
            std::string::npos)
      << kernel.error().message();
  reverseShared(100 * 1024);
}

TEST(Cuda, BadPointersAreErrorsByName) {
  Device &own = device();
  Expected<Buffer> buffer = own.allocate(1024);
  ASSERT_GOT(buffer);
  char *address = static_cast<char *>(buffer->data());
  int onStack = 0;
  auto expect = [&](Error error, ErrorKind kind) {
    EXPECT_EQ(error.kind(), kind) << error.message();
    EXPECT_NE(error.message().find("'key'"), std::string::npos)
        << error.message();
    ASSERT_OK(own.checkPointer("key", address, 1024, 16));
  };
  expect(own.checkPointer("key", nullptr), ErrorKind::NullPointer);
  expect(own.checkPointer("key", address + 4, 4, 16),
         ErrorKind::MisalignedPointer);
  expect(own.checkPointer("key", &onStack), ErrorKind::NotDeviceMemory);
  expect(own.checkPointer("key", reinterpret_cast<void *>(0x123450)),
         ErrorKind::NotDeviceMemory);
  expect(own.checkPointer("key", address + 16, 1024, 16),
         ErrorKind::OutOfBounds);
  Expected<HostBuffer> pinned = own.allocateHost(64);
  ASSERT_GOT(pinned);
  expect(own.checkPointer("key", pinned->data()), ErrorKind::NotDeviceMemory);
  Error null = own.copyToDevice(nullptr, &onStack, 4);
  EXPECT_EQ(null.kind(), ErrorKind::NullPointer);
  null = own.copyToHost(nullptr, address, 4);
  EXPECT_EQ(null.kind(), ErrorKind::NullPointer);
  EXPECT_EQ(own.fill32Async(address + 2, 0, 1, nullptr).kind(),
            ErrorKind::MisalignedPointer);
  addVectors(own, nullptr, 1000, 4);
}

TEST(Cuda, MemoryOfAnotherDeviceIsAnErrorByName) {
  if (*deviceCount() < 2)
    GTEST_SKIP() << "one device only";
  Expected<Buffer> other = device(1).allocate(256);
  ASSERT_GOT(other);
  Error error = device(0).checkPointer("value", other->data(), 256, 16);
  EXPECT_EQ(error.kind(), ErrorKind::WrongDevice) << error.message();
  ASSERT_OK(device(1).checkPointer("value", other->data(), 256, 16));
  addVectors(device(1), nullptr, 5000, 5);
  addVectors(device(0), nullptr, 5000, 6);
  // A stream of another device.
  Expected<Stream> stream = device(1).createStream();
  ASSERT_GOT(stream);
  Expected<Kernel> spin = kernelOf(device(0), spinPtx, "spin");
  ASSERT_GOT(spin);
  EXPECT_TRUE(spin->launch({}, *stream, uint64_t(1)));
  addVectors(device(0), nullptr, 5000, 7);
}

TEST(Cuda, OutOfMemoryIsAnErrorAndTheNextCallWorks) {
  Expected<Buffer> huge = device().allocate(size_t(1) << 50);
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().kind(), ErrorKind::OutOfMemory);
  EXPECT_EQ(huge.error().call(), "cuMemAlloc");
  EXPECT_EQ(huge.error().code(), 2);
  EXPECT_EQ(huge.error().codeName(), "CUDA_ERROR_OUT_OF_MEMORY");
  std::printf("%s\n", huge.error().message().c_str());
  Expected<Stream> stream = device().createStream();
  ASSERT_GOT(stream);
  Expected<Buffer> pooled = device().allocateAsync(size_t(1) << 50, *stream);
  ASSERT_FALSE(pooled);
  EXPECT_EQ(pooled.error().kind(), ErrorKind::OutOfMemory)
      << pooled.error().message();
  addVectors(device(), *stream, 1000, 8);
}

TEST(Cuda, EmptyBuffersAndCopies) {
  Expected<Buffer> empty = device().allocate(0);
  ASSERT_GOT(empty);
  EXPECT_EQ(empty->data(), nullptr);
  ASSERT_OK(device().copyToDevice(nullptr, nullptr, 0));
  ASSERT_OK(device().fill(nullptr, 0, 0));
  Expected<Buffer> a = device().allocate(64), b = device().allocate(64);
  ASSERT_GOT(a);
  ASSERT_GOT(b);
  ASSERT_OK(device().fill32Async(a->data(), 0x01020304u, 16, nullptr));
  ASSERT_OK(device().copyOnDevice(b->data(), a->data(), 64));
  uint32_t host[16] = {};
  ASSERT_OK(device().copyToHost(host, b->data(), 64));
  for (uint32_t word : host)
    EXPECT_EQ(word, 0x01020304u);
  EXPECT_EQ(a->freeAsync(nullptr).kind(), ErrorKind::InvalidArgument);
  ASSERT_OK(a->free());
  ASSERT_OK(a->free());
}

TEST(Cuda, FaultyPtxGivesTheCompilersLog) {
  std::string faulty = vectorPtx;
  size_t where = faulty.find("add.f32");
  faulty.replace(where, 7, "bad.f32");
  Expected<std::shared_ptr<Module>> module =
      device().load(faulty, {"faulty kernel"});
  ASSERT_FALSE(module);
  const Error &error = module.error();
  std::printf("%s\n", error.message().c_str());
  EXPECT_EQ(error.kind(), ErrorKind::CompileFailed);
  EXPECT_EQ(error.codeName(), "CUDA_ERROR_INVALID_PTX");
  EXPECT_NE(error.message().find("faulty kernel"), std::string::npos);
  EXPECT_NE(error.message().find("line"), std::string::npos);
  Expected<std::shared_ptr<Module>> empty = device().load("");
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().kind(), ErrorKind::InvalidArgument);
  addVectors(device(), nullptr, 1000, 9);
}

TEST(Cuda, LoadsCubinsAndRefusesTruncatedOnes) {
  char folder[] = "/tmp/na-cuda-test-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string ptx = std::string(folder) + "/k.ptx";
  const std::string cubin = std::string(folder) + "/k.cubin";
  FILE *file = std::fopen(ptx.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs(vectorPtx, file);
  std::fclose(file);
  const std::string command = "ptxas -arch=" + device().properties().arch() +
                              " -o " + cubin + " " + ptx;
  const bool assembled = std::system(command.c_str()) == 0;
  std::string image;
  if (assembled) {
    file = std::fopen(cubin.c_str(), "r");
    ASSERT_NE(file, nullptr);
    for (int c; (c = std::fgetc(file)) != EOF;)
      image.push_back(char(c));
    std::fclose(file);
  }
  std::remove(ptx.c_str());
  std::remove(cubin.c_str());
  rmdir(folder);
  if (!assembled)
    GTEST_SKIP() << "ptxas is not on PATH";
  Expected<std::shared_ptr<Module>> module = device().load(image, {"cubin"});
  ASSERT_GOT(module);
  ASSERT_GOT(Kernel::get(*module, "add"));
  for (size_t size : {image.size() - 1, size_t(70), size_t(10)}) {
    Expected<std::shared_ptr<Module>> cut =
        device().load(std::string_view(image).substr(0, size), {"cut"});
    ASSERT_FALSE(cut) << size;
    EXPECT_EQ(cut.error().kind(), ErrorKind::CompileFailed);
  }
}

TEST(Cuda, WrongLaunchesAreErrorsByName) {
  Expected<Kernel> add = kernelOf(device(), vectorPtx, "add");
  ASSERT_GOT(add);
  EXPECT_GT(add->info().registers, 0);
  EXPECT_EQ(add->info().localBytes, 0u);
  Expected<Kernel> none = kernelOf(device(), vectorPtx, "subtract");
  EXPECT_FALSE(none);
  auto expect = [&](LaunchConfig config, const char *part) {
    Error error = add->launch(config, nullptr, nullptr, nullptr, nullptr, 0u);
    EXPECT_EQ(error.kind(), ErrorKind::InvalidArgument) << error.message();
    EXPECT_NE(error.message().find(part), std::string::npos) << error.message();
  };
  expect({{0, 1, 1}, {1, 1, 1}, 0, {}}, "grid.x = 0");
  expect({{1, 65536, 1}, {1, 1, 1}, 0, {}}, "grid.y = 65536");
  expect({{1, 1, 1}, {2048, 1, 1}, 0, {}}, "block.x = 2048");
  expect({{1, 1, 1}, {1024, 2, 1}, 0, {}}, "2048 threads");
  expect({{1, 1, 1}, {32, 1, 1}, 64, {}}, "64 bytes");
  expect({{3, 1, 1}, {32, 1, 1}, 0, {2, 1, 1}}, "cluster.x = 2");
  if (add->info().parametersKnown) {
    ASSERT_EQ(add->info().parameterBytes.size(), 4u);
    Error few = add->launch({}, nullptr, nullptr);
    EXPECT_NE(few.message().find("1 arguments for 4"), std::string::npos)
        << few.message();
    Error wide = add->launch({}, nullptr, nullptr, nullptr, nullptr, size_t(0));
    EXPECT_NE(wide.message().find("argument 3"), std::string::npos)
        << wide.message();
  }
  addVectors(device(), nullptr, 1000, 10);
}

TEST(Cuda, ClustersOfBlocks) {
  if (!device().properties().clusterLaunch)
    GTEST_SKIP() << device().properties().arch() << " has no clusters";
  KernelOptions options;
  options.nonPortableClusters = true;
  Expected<Kernel> kernel = kernelOf(device(), clusterPtx, "cluster", options);
  ASSERT_GOT(kernel);
  for (unsigned size : {1u, 2u, 8u, 16u}) {
    Expected<Buffer> out = device().allocate(32 * 8);
    ASSERT_GOT(out);
    LaunchConfig config;
    config.grid.x = 32;
    config.cluster.x = size;
    ASSERT_OK(kernel->launch(config, nullptr, out->data()));
    uint32_t host[64];
    ASSERT_OK(device().copyToHost(host, out->data(), sizeof(host)));
    for (unsigned block = 0; block < 32; ++block) {
      EXPECT_EQ(host[2 * block], block % size);
      EXPECT_EQ(host[2 * block + 1], size);
    }
  }
}

/// Boxes of 8 tokens and 64 channels of a tensor [2, 37, 3, 128] of which no
/// two elements are alike.
class Boxes {
public:
  static constexpr int batches = 2, tokens = 37, heads = 3, channels = 128;

  /// The tokens are `pitch` elements apart, those of a box `dilation` tokens.
  void make(int pitch, int dilation) {
    this->pitch = pitch;
    this->dilation = dilation;
    KernelOptions options;
    options.dynamicSharedBytes = 1032;
    Expected<Kernel> box = kernelOf(device(), boxPtx, "box", options);
    ASSERT_GOT(box);
    kernel.emplace(std::move(*box));
    tensor.resize(batches * tokens * pitch);
    for (size_t i = 0; i < tensor.size(); ++i)
      tensor[i] = uint16_t(i + 1);
    const size_t bytes = tensor.size() * 2;
    Expected<Buffer> memory = device().allocate(bytes);
    ASSERT_GOT(memory);
    in = std::move(*memory);
    Expected<Buffer> tile = device().allocate(1024);
    ASSERT_GOT(tile);
    out = std::move(*tile);
    ASSERT_OK(device().copyToDevice(in.data(), tensor.data(), bytes));
    TensorBoxes boxes;
    boxes.address = in.data();
    boxes.type = TensorType::BF16;
    boxes.sizes = {batches, tokens, heads, channels};
    boxes.strides = {tokens * pitch, pitch, channels, 1};
    boxes.box = {1, 8, 64};
    boxes.dilation = {dilation};
    ASSERT_OK(encodeTensorMap(device(), boxes, map));
  }

  /// Reads the box whose first token and channel these are.
  void check(int batch, int token, int channel) {
    const int padding = (tokens + dilation - 1) / dilation * dilation - tokens;
    const int place = token + padding;
    const int residue = dilation == 1 ? 0 : place % dilation;
    LaunchConfig config;
    config.block.x = 256;
    config.dynamicSharedBytes = 1032;
    ASSERT_OK(device().fill(out.data(), 0xff, 1024));
    ASSERT_OK(kernel->launch(config, nullptr, map, out.data(),
                             channel + residue * pitch,
                             (place - residue) / dilation, batch));
    uint16_t tile[8][64];
    ASSERT_OK(device().copyToHost(tile, out.data(), sizeof(tile)));
    for (int row = 0; row < 8; ++row)
      for (int column = 0; column < 64; ++column) {
        const int at = token + row * dilation;
        const bool inside = at >= 0 && at < tokens;
        const uint16_t expected =
            inside ? tensor[(batch * tokens + at) * pitch + channel + column]
                   : 0;
        ASSERT_EQ(tile[row][(column / 8 ^ row) * 8 + column % 8], expected)
            << batch << ", " << at << ", " << channel + column;
      }
  }

private:
  int pitch = 0, dilation = 1;
  std::optional<Kernel> kernel;
  std::vector<uint16_t> tensor;
  Buffer in, out;
  TensorMap map;
};

TEST(Cuda, TensorMapsReadBoxes) {
  if (device().properties().major < 9)
    GTEST_SKIP() << device().properties().arch() << " has no TMA";
  Boxes boxes;
  ASSERT_NO_FATAL_FAILURE(boxes.make(520, 1));
  // The last two begin before the first token and end behind the last.
  const std::array<int, 3> places[] = {
      {0, 0, 0}, {1, 11, 2 * 128 + 64}, {1, -3, 64}, {0, 32, 128}};
  for (auto [batch, token, channel] : places)
    ASSERT_NO_FATAL_FAILURE(boxes.check(batch, token, channel));
  addVectors(device(), nullptr, 1000, 11);
}

// One map reads every fourth token from any first one on; what lies beyond the
// last of a residue is zeros, also at the end of the tensor.
TEST(Cuda, TensorMapsReadResidues) {
  if (device().properties().major < 9)
    GTEST_SKIP() << device().properties().arch() << " has no TMA";
  Boxes boxes;
  ASSERT_NO_FATAL_FAILURE(boxes.make(Boxes::heads * Boxes::channels, 4));
  for (int batch = 0; batch < Boxes::batches; ++batch)
    for (int token = 0; token < Boxes::tokens; ++token)
      ASSERT_NO_FATAL_FAILURE(
          boxes.check(batch, token, token % Boxes::heads * 128 + 64));
}

TEST(Cuda, EventsTimeAndNothingWaits) {
  Expected<Kernel> spin = kernelOf(device(), spinPtx, "spin");
  ASSERT_GOT(spin);
  Expected<Stream> stream = device().createStream();
  Expected<Event> start = device().createEvent();
  Expected<Event> stop = device().createEvent();
  ASSERT_GOT(stream);
  ASSERT_GOT(start);
  ASSERT_GOT(stop);
  Expected<HostBuffer> host = device().allocateHost(4096);
  ASSERT_GOT(host);
  ASSERT_OK(spin->launch({}, *stream, uint64_t(1000)));
  ASSERT_OK(stream->synchronize());

  const auto before = std::chrono::steady_clock::now();
  ASSERT_OK(start->record(*stream));
  ASSERT_OK(spin->launch({}, *stream, uint64_t(300000000)));
  ASSERT_OK(stop->record(*stream));
  {
    Expected<Buffer> buffer = device().allocateAsync(4096, *stream);
    ASSERT_GOT(buffer);
    ASSERT_OK(device().fillAsync(buffer->data(), 1, 4096, *stream));
    ASSERT_OK(
        device().copyToHostAsync(host->data(), buffer->data(), 4096, *stream));
    ASSERT_OK(device().checkPointer("buffer", buffer->data(), 4096));
  }
  const double enqueued = std::chrono::duration<double, std::milli>(
                              std::chrono::steady_clock::now() - before)
                              .count();
  Expected<bool> done = stop->done();
  ASSERT_GOT(done);
  EXPECT_FALSE(*done);
  EXPECT_LT(enqueued, 250);
  EXPECT_FALSE(stop->millisecondsSince(*start)) << "stop is not done";
  ASSERT_OK(stop->synchronize());
  Expected<float> elapsed = stop->millisecondsSince(*start);
  ASSERT_GOT(elapsed);
  std::printf("spin of 300 ms: %.3f ms by events, enqueued in %.3f ms\n",
              *elapsed, enqueued);
  EXPECT_GE(*elapsed, 299);
  EXPECT_LT(*elapsed, 400);
  ASSERT_OK(stream->synchronize());
  EXPECT_EQ(static_cast<char *>(host->data())[4095], 1);

  // Another stream waits for an event, the host does not.
  Expected<Stream> second = device().createStream();
  Expected<Event> order = device().createEvent(/*timing=*/false);
  ASSERT_GOT(second);
  ASSERT_GOT(order);
  ASSERT_OK(spin->launch({}, *stream, uint64_t(50000000)));
  ASSERT_OK(order->record(*stream));
  ASSERT_OK(second->wait(*order));
  ASSERT_OK(second->synchronize());
  done = order->done();
  ASSERT_GOT(done);
  EXPECT_TRUE(*done);
}

TEST(Cuda, LaunchCostsFewMicroseconds) {
  Expected<Kernel> spin = kernelOf(device(), spinPtx, "spin");
  ASSERT_GOT(spin);
  Expected<Stream> stream = device().createStream();
  ASSERT_GOT(stream);
  runtime::KernelCache cache({"", /*useEnvironment=*/false});
  auto build = [&]() -> Expected<runtime::CompiledKernel> {
    return runtime::CompiledKernel{spinPtx, ""};
  };
  const std::string key(400, 'k');
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    ASSERT_OK(stream->synchronize());
    const auto before = std::chrono::steady_clock::now();
    for (int i = 0; i < 100; ++i) {
      Expected<Kernel> kernel =
          cache.getKernel(key, device(), "spin", {}, build);
      ASSERT_GOT(kernel);
      ASSERT_OK(kernel->launch({}, *stream, uint64_t(0)));
    }
    best = std::min(best, std::chrono::duration<double, std::micro>(
                              std::chrono::steady_clock::now() - before)
                                  .count() /
                              100);
  }
  std::printf("cache look-up and launch: %.2f us of host time\n", best);
  EXPECT_EQ(cache.statistics().builds, 1u);
  EXPECT_LT(best, 200);
}

TEST(Cuda, CachedKernelsPerDevice) {
  runtime::KernelCache cache({"", /*useEnvironment=*/false});
  auto build = [&]() -> Expected<runtime::CompiledKernel> {
    return runtime::CompiledKernel{vectorPtx, ""};
  };
  for (int ordinal = 0; ordinal < *deviceCount(); ++ordinal) {
    Expected<Kernel> kernel =
        cache.getKernel("key", device(ordinal), "add", {}, build);
    ASSERT_GOT(kernel);
    EXPECT_EQ(&kernel->device(), &device(ordinal));
  }
  EXPECT_EQ(cache.statistics().builds, 1u);
}

// Uses no address of the driver, so that it cannot share state with the others.
void illegalAddress() {
  Expected<Kernel> add = kernelOf(device(), vectorPtx, "add");
  if (!add)
    std::_Exit(3);
  void *wild = reinterpret_cast<void *>(uintptr_t(0x700000000000));
  LaunchConfig config;
  if (add->launch(config, nullptr, wild, wild, wild, 1u))
    std::_Exit(4);
  Error error = device().synchronize();
  if (error.code() != 700 || error.codeName() != "CUDA_ERROR_ILLEGAL_ADDRESS")
    std::_Exit(5);
  // The context is lost; that is an error too, not the end of the process.
  Expected<Buffer> buffer = device().allocate(16);
  std::_Exit(buffer ? 6 : 0);
}

TEST(CudaDeathTest, AKernelsFaultIsAnError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(illegalAddress(), ::testing::ExitedWithCode(0), "");
}

// Last, as it leaves nothing loaded.
TEST(CudaZClose, ReleasesAndComesBack) {
  Device &own = device();
  {
    Expected<Buffer> buffer = own.allocate(16);
    ASSERT_GOT(buffer);
    Expected<Kernel> add = kernelOf(own, vectorPtx, "add");
    ASSERT_GOT(add);
    Error inUse = own.close();
    EXPECT_EQ(inUse.kind(), ErrorKind::InUse) << inUse.message();
    EXPECT_NE(inUse.message().find("1 modules, 1 buffers, 0 streams and 0 "
                                   "events"),
              std::string::npos)
        << inUse.message();
  }
  ASSERT_OK(own.close());
  ASSERT_OK(own.close());
  addVectors(own, nullptr, 1000, 11);
  ASSERT_OK(own.close());
}

} // namespace

int main(int argc, char **argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (Error error = initialize()) {
    const char *required = std::getenv("NA_REQUIRE_GPU");
    std::fprintf(stderr, "%s: %s\n", required ? "FAILED" : "SKIPPED",
                 error.message().c_str());
    return required ? 1 : 77;
  }
  return RUN_ALL_TESTS();
}
