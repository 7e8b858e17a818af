//===- RuntimeTest.cpp - Tests of the runtime library ---------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Runtime/Runtime.h"
#include "na/Runtime/HalfFloat.h"
#include "llvm/ADT/APFloat.h"
#include "gtest/gtest.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace na::runtime;

namespace {

/// Counts how often each index was visited.
struct Visits {
  std::vector<std::atomic<int>> counts;
  explicit Visits(int64_t size) : counts(size) {}

  static void body(int64_t begin, int64_t end, void *ctx) {
    for (int64_t i = begin; i < end; ++i)
      ++static_cast<Visits *>(ctx)->counts[i];
  }
  void expectAll(int times) {
    for (size_t i = 0; i < counts.size(); ++i)
      ASSERT_EQ(counts[i], times) << "index " << i;
  }
};

struct ThreadCount : ::testing::Test {
  void TearDown() override { naSetNumThreads(0); }
};

TEST_F(ThreadCount, IsSetAndReset) {
  naSetNumThreads(0);
  int byDefault = naGetNumThreads();
  EXPECT_GE(byDefault, 1);
  naSetNumThreads(3);
  EXPECT_EQ(naGetNumThreads(), 3);
  naSetNumThreads(-5);
  EXPECT_EQ(naGetNumThreads(), byDefault);
  // More than any host would start.
  naSetNumThreads(1 << 30);
  EXPECT_EQ(naGetNumThreads(), 4096);
}

TEST_F(ThreadCount, EveryIndexIsVisitedOnce) {
  // Growing, shrinking, more threads than the host has.
  for (int threads : {1, 2, 7, 3, 16, 2}) {
    naSetNumThreads(threads);
    for (int64_t count : {0, 1, 2, 5, 16, 97, 1000}) {
      Visits visits(count);
      for (int repeat = 0; repeat < 20; ++repeat)
        naParallelFor(count, Visits::body, &visits);
      visits.expectAll(20);
    }
  }
}

TEST_F(ThreadCount, NegativeCountDoesNothing) {
  naParallelFor(-1, [](int64_t, int64_t, void *) { FAIL(); }, nullptr);
}

/// Whether the two iterations of a loop run at the same time: each waits for
/// the other.
bool runsTogether() {
  struct Context {
    std::atomic<int> arrived{0};
    bool together[2] = {false, false};
  } context;
  naParallelFor(
      2,
      [](int64_t begin, int64_t, void *ctx) {
        auto *context = static_cast<Context *>(ctx);
        ++context->arrived;
        auto limit =
            std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (context->arrived < 2 && std::chrono::steady_clock::now() < limit)
          std::this_thread::yield();
        context->together[begin] = context->arrived == 2;
      },
      &context);
  return context.together[0] && context.together[1];
}

TEST_F(ThreadCount, SeveralThreadsTakePart) {
  naSetNumThreads(2);
  EXPECT_TRUE(runsTogether());
}

TEST_F(ThreadCount, ChildrenOfAForkHaveThreadsOfTheirOwn) {
  naSetNumThreads(2);
  ASSERT_TRUE(runsTogether());
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Not for ever, if threads of the parent were waited for.
    alarm(60);
    bool passed = naGetNumThreads() == 2 && runsTogether();
    // More than the parent had.
    naSetNumThreads(5);
    _exit(passed && runsTogether() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(runsTogether());
}

TEST_F(ThreadCount, HelpersThatWentToSleepAreWoken) {
  naSetNumThreads(4);
  for (int repeat = 0; repeat < 50; ++repeat) {
    Visits visits(64);
    naParallelFor(64, Visits::body, &visits);
    visits.expectAll(1);
    // Around the time after which an idle helper leaves.
    std::this_thread::sleep_for(std::chrono::microseconds(30 + repeat));
  }
}

TEST_F(ThreadCount, NestedCallsRunInline) {
  naSetNumThreads(4);
  struct Context {
    Visits inner{40 * 10};
    std::atomic<int> elsewhere{0};
  } context;
  struct Nested {
    Context *context;
    int64_t outer;
    std::thread::id thread;
  };
  naParallelFor(
      40,
      [](int64_t begin, int64_t end, void *ctx) {
        for (int64_t i = begin; i < end; ++i) {
          Nested nested{static_cast<Context *>(ctx), i,
                        std::this_thread::get_id()};
          naParallelFor(
              10,
              [](int64_t begin, int64_t end, void *ctx) {
                auto *nested = static_cast<Nested *>(ctx);
                if (std::this_thread::get_id() != nested->thread)
                  ++nested->context->elsewhere;
                Visits::body(nested->outer * 10 + begin,
                             nested->outer * 10 + end, &nested->context->inner);
              },
              &nested);
        }
      },
      &context);
  context.inner.expectAll(1);
  EXPECT_EQ(context.elsewhere, 0);
}

TEST_F(ThreadCount, CallersMayBeSeveralThreads) {
  naSetNumThreads(3);
  std::vector<std::thread> callers;
  std::vector<Visits> visits;
  for (int i = 0; i < 4; ++i)
    visits.emplace_back(100);
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&visits, i] {
      for (int repeat = 0; repeat < 200; ++repeat)
        naParallelFor(100, Visits::body, &visits[i]);
    });
  for (std::thread &caller : callers)
    caller.join();
  for (Visits &of : visits)
    of.expectAll(200);
}

uint64_t roundBits(double value, const llvm::fltSemantics &semantics) {
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.bitcastToAPInt().getZExtValue();
}

TEST(HalfFloat, WideningThenNarrowingKeepsEveryPattern) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float f16 = f16ToF32(bits), bf16 = bf16ToF32(bits);
    EXPECT_EQ(std::isnan(f16), (bits & 0x7fff) > 0x7c00);
    if (!std::isnan(f16)) {
      EXPECT_EQ(f32ToF16(f16), bits);
      EXPECT_EQ(roundBits(f16, llvm::APFloat::IEEEhalf()), bits);
    }
    if (!std::isnan(bf16))
      EXPECT_EQ(f32ToBF16(bf16), bits);
  }
}

TEST(HalfFloat, NarrowingRoundsToNearestEven) {
  // Steps that hit ties, subnormals, overflow and everything between.
  uint64_t state = 1;
  for (int i = 0; i < 200000; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    uint32_t bits = static_cast<uint32_t>(state >> 32);
    if (i % 3 == 0)
      bits &= 0xfffff000; // Ties of f16.
    if (i % 3 == 1)
      bits = (bits & 0x8fffffff) | 0x30000000; // Around f16's small numbers.
    float value = bitCast<float>(bits);
    if (std::isnan(value))
      continue;
    ASSERT_EQ(f32ToF16(value), roundBits(value, llvm::APFloat::IEEEhalf()))
        << value;
    ASSERT_EQ(f32ToBF16(value), roundBits(value, llvm::APFloat::BFloat()))
        << value;
    // Just beside a tie, where rounding twice would go wrong.
    double beside = value * (1.0 + ((i & 1) ? 1e-12 : -1e-12));
    ASSERT_EQ(f64ToF16(beside), roundBits(beside, llvm::APFloat::IEEEhalf()))
        << beside;
    ASSERT_EQ(f64ToBF16(beside), roundBits(beside, llvm::APFloat::BFloat()))
        << beside;
  }
  EXPECT_GT(f32ToF16(NAN) & 0x3ff, 0);
  EXPECT_GT(f32ToBF16(bitCast<float>(0x7f800001u)) & 0x7f, 0);
}

TEST(Symbols, NamesAreUnique) {
  std::set<std::string> names;
  for (const Symbol *symbol = symbols(); symbol->name; ++symbol) {
    EXPECT_NE(symbol->address, nullptr);
    EXPECT_TRUE(names.insert(symbol->name).second) << symbol->name;
  }
  EXPECT_TRUE(names.count("naParallelFor"));
}

TEST(Symbols, MemRefCopyFollowsStrides) {
  struct Unranked {
    int64_t rank;
    void *descriptor;
  };
  using CopyFn = void (*)(int64_t, Unranked *, Unranked *);
  CopyFn copy = nullptr;
  for (const Symbol *symbol = symbols(); symbol->name; ++symbol)
    if (std::string(symbol->name) == "memrefCopy")
      copy = reinterpret_cast<CopyFn>(symbol->address);
  ASSERT_NE(copy, nullptr);
  // A 2x3 matrix from a transposed one that starts at element 1.
  float from[] = {-1, 0, 3, 1, 4, 2, 5}, to[6] = {};
  struct {
    float *allocated, *aligned;
    int64_t offset, sizes[2], strides[2];
  } source{from, from, 1, {2, 3}, {1, 2}}, dest{to, to, 0, {2, 3}, {3, 1}};
  Unranked unrankedSource{2, &source}, unrankedDest{2, &dest};
  copy(sizeof(float), &unrankedSource, &unrankedDest);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(to[i], i);
  // Nothing is touched where a size is 0.
  dest.sizes[1] = source.sizes[1] = 0;
  to[0] = 7;
  copy(sizeof(float), &unrankedSource, &unrankedDest);
  EXPECT_EQ(to[0], 7);
}

} // namespace
