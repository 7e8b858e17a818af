//===- ParallelFor.cpp - A parallel loop with low fork/join latency -------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads come from llvm::DefaultThreadPool. Waking one of them costs more than
// a short kernel can afford, so a task of the pool does not end with the loop
// that it was started for: it watches for the next loop for a short while.
//
//===----------------------------------------------------------------------===//

#include "na/Runtime/Runtime.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/Threading.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include <pthread.h>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace {

using Body = void (*)(int64_t, int64_t, void *);

/// How long an idle helper watches for work before its thread goes to sleep.
constexpr std::chrono::microseconds spinTime(50);

/// Chunks per thread: enough to even out ranges of unequal cost.
constexpr int64_t chunksPerThread = 8;

/// A host that cannot start a thread ends the process, so that a slip must not
/// ask for millions.
constexpr int maxThreads = 4096;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

/// Whether this thread is inside a body; such calls run inline.
thread_local bool insideBody = false;

class Team {
public:
  static Team &get() {
    static const bool made = [] {
      // Never destroyed: a thread may still be in a loop when the process
      // exits.
      current = new Team();
      ::pthread_atfork(nullptr, nullptr, renew);
      return true;
    }();
    (void)made;
    return *current;
  }

  void setNumThreads(int count) {
    numThreads.store(count > 0 ? std::min(count, maxThreads) : defaultThreads(),
                     std::memory_order_relaxed);
  }
  int getNumThreads() const {
    return numThreads.load(std::memory_order_relaxed);
  }

  void parallelFor(int64_t count, Body body, void *ctx) {
    if (count <= 0)
      return;
    int64_t threads = std::min<int64_t>(getNumThreads(), count);
    if (threads <= 1 || insideBody)
      return body(0, count, ctx);
    std::unique_lock<std::mutex> owner(mutex, std::try_to_lock);
    if (!owner.owns_lock())
      return body(0, count, ctx);

    int helpersWanted = static_cast<int>(threads) - 1;
    reserve(helpersWanted);
    loopBody = body;
    loopCtx = ctx;
    loopCount = count;
    loopChunk = std::max<int64_t>(1, count / (chunksPerThread * threads));
    next.store(0, std::memory_order_relaxed);
    places.store(helpersWanted, std::memory_order_relaxed);
    generation.fetch_add(1, std::memory_order_relaxed);
    open.store(true, std::memory_order_seq_cst);
    wake(helpersWanted);
    work();
    close();
  }

private:
  Team() { numThreads = defaultThreads(); }

  /// In the child of a fork the helpers are gone and the locks are as they
  /// were, maybe held: it gets a team of its own, and the old one stays.
  static void renew() {
    auto *team = new Team();
    team->setNumThreads(current->getNumThreads());
    current = team;
  }

  static Team *current;

  static int defaultThreads() {
    return llvm::hardware_concurrency().compute_thread_count();
  }

  /// Makes sure that the pool can run `wanted` helpers.
  void reserve(int wanted) {
    if (pool && static_cast<int>(pool->getMaxConcurrency()) >= wanted)
      return;
    llvm::ThreadPoolStrategy strategy;
    strategy.ThreadsRequested = wanted;
    // As many threads as asked for, even if the host has fewer.
    strategy.Limit = false;
    // Waits for the helpers of the old pool, which end as no loop is open.
    pool.reset();
    pool = std::make_unique<llvm::DefaultThreadPool>(strategy);
  }

  /// Starts as many helpers as are missing.
  void wake(int wanted) {
    int missing = wanted - helpers.load(std::memory_order_seq_cst);
    for (int i = 0; i < missing; ++i) {
      helpers.fetch_add(1, std::memory_order_seq_cst);
      pool->async([this] { help(); });
    }
  }

  /// Runs chunks of the current loop until none is left.
  void work() {
    insideBody = true;
    int64_t count = loopCount, chunk = loopChunk;
    while (true) {
      int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= count)
        break;
      loopBody(begin, std::min(count, begin + chunk), loopCtx);
    }
    insideBody = false;
  }

  /// Takes part in the current loop if there is one with a free place.
  void join() {
    // A helper counts itself before it looks, and close() looks after it has
    // closed: so either the helper finds the loop closed or close() waits. The
    // loop's fields are stable for a helper that found it open.
    inside.fetch_add(1, std::memory_order_seq_cst);
    if (open.load(std::memory_order_seq_cst) &&
        places.fetch_sub(1, std::memory_order_relaxed) > 0)
      work();
    inside.fetch_sub(1, std::memory_order_seq_cst);
  }

  /// Ends the current loop when all chunks are done.
  void close() {
    open.store(false, std::memory_order_seq_cst);
    for (int i = 0; inside.load(std::memory_order_seq_cst) != 0; ++i) {
      // The helper that is waited for may need this thread's CPU.
      if (i < 4096)
        relax();
      else
        std::this_thread::yield();
    }
  }

  /// The task of a helper: takes part in loops until none comes for a while.
  void help() {
    using Clock = std::chrono::steady_clock;
    uint64_t seen = 0;
    auto isNew = [&] {
      return open.load(std::memory_order_seq_cst) &&
             generation.load(std::memory_order_relaxed) != seen;
    };
    Clock::time_point end = Clock::now() + spinTime;
    while (true) {
      if (isNew()) {
        seen = generation.load(std::memory_order_relaxed);
        join();
        end = Clock::now() + spinTime;
      } else if (Clock::now() < end) {
        relax();
      } else {
        // A loop that opened before this helper left counts on it.
        helpers.fetch_sub(1, std::memory_order_seq_cst);
        if (!isNew())
          return;
        helpers.fetch_add(1, std::memory_order_seq_cst);
      }
    }
  }

  std::atomic<int> numThreads;
  /// Held by the thread whose loop the team works on.
  std::mutex mutex;
  std::unique_ptr<llvm::DefaultThreadPool> pool;

  // The current loop.
  Body loopBody = nullptr;
  void *loopCtx = nullptr;
  int64_t loopCount = 0, loopChunk = 1;
  /// Numbers the loops, from 1.
  std::atomic<uint64_t> generation{0};
  std::atomic<bool> open{false};
  alignas(64) std::atomic<int64_t> next{0};
  /// How many more helpers may take part.
  alignas(64) std::atomic<int64_t> places{0};
  /// Helpers that may be looking at the current loop.
  alignas(64) std::atomic<int> inside{0};
  /// Helpers that run or are about to.
  alignas(64) std::atomic<int> helpers{0};
};

Team *Team::current = nullptr;

} // namespace

extern "C" void naParallelFor(int64_t count,
                              void (*body)(int64_t, int64_t, void *),
                              void *ctx) {
  Team::get().parallelFor(count, body, ctx);
}

extern "C" void naSetNumThreads(int count) { Team::get().setNumThreads(count); }

extern "C" int naGetNumThreads() { return Team::get().getNumThreads(); }
