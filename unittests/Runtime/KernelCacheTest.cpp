//===- KernelCacheTest.cpp - Tests of the kernel cache --------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Runtime/KernelCache.h"
#include "gtest/gtest.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace na::runtime;
namespace fs = std::filesystem;

namespace {

struct Cache : ::testing::Test {
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "na-cache-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root = name;
    options.directory = name + "/made/on/demand";
    options.useEnvironment = false;
  }
  void TearDown() override { fs::remove_all(root); }

  /// A builder that counts its calls.
  KernelCache::Builder builder(const std::string &image = "image") {
    return [this, image]() -> Expected<CompiledKernel> {
      ++builds;
      return CompiledKernel{image, "meta"};
    };
  }
  static std::string read(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const std::string &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  size_t filesInDirectory() const {
    return std::distance(fs::directory_iterator(options.directory),
                         fs::directory_iterator());
  }

  fs::path root;
  KernelCacheOptions options;
  std::atomic<int> builds{0};
};

TEST(KernelKey, EveryFieldCountsAndNoneRunsIntoTheNext) {
  std::set<std::string> keys;
  KernelKey key;
  keys.insert(key.str());
  std::string KernelKey::*const fields[] = {
      &KernelKey::problem,  &KernelKey::stridesClass, &KernelKey::dtype,
      &KernelKey::arch,     &KernelKey::schedule,     &KernelKey::compilerBuild,
      &KernelKey::assembler};
  for (auto field : fields) {
    KernelKey other;
    other.*field = "x";
    keys.insert(other.str());
    other.*field = "x;strides=1:y";
    keys.insert(other.str());
  }
  EXPECT_EQ(keys.size(), 15u);
}

TEST_F(Cache, BuildsOncePerKeyInMemory) {
  KernelCache cache({"", /*useEnvironment=*/false});
  EXPECT_EQ(cache.directory(), "");
  for (int i = 0; i < 3; ++i) {
    Expected<KernelCache::CompiledPtr> got = cache.get("key", builder());
    ASSERT_TRUE(got);
    EXPECT_EQ((*got)->image, "image");
    EXPECT_EQ((*got)->metadata, "meta");
  }
  EXPECT_TRUE(cache.get("other", builder()));
  EXPECT_EQ(builds, 2);
  EXPECT_EQ(cache.statistics().memoryHits, 2u);
  cache.clear();
  EXPECT_TRUE(cache.get("key", builder()));
  EXPECT_EQ(builds, 3);
}

TEST_F(Cache, DirectoryComesFromTheEnvironment) {
  setenv("NA_CACHE_DIR", options.directory.c_str(), 1);
  EXPECT_EQ(KernelCache().directory(), options.directory);
  EXPECT_EQ(KernelCache({"/elsewhere", true}).directory(), "/elsewhere");
  EXPECT_EQ(KernelCache({"", false}).directory(), "");
  unsetenv("NA_CACHE_DIR");
  EXPECT_EQ(KernelCache().directory(), "");
}

TEST_F(Cache, SecondCacheReadsTheFile) {
  const std::string image("\0binary\xff with zeros\0", 21);
  ASSERT_TRUE(KernelCache(options).get("key", builder(image)));
  EXPECT_EQ(filesInDirectory(), 1u);
  KernelCache second(options);
  Expected<KernelCache::CompiledPtr> got = second.get("key", builder("other"));
  ASSERT_TRUE(got);
  EXPECT_EQ((*got)->image, image);
  EXPECT_EQ((*got)->metadata, "meta");
  EXPECT_EQ(builds, 1);
  EXPECT_EQ(second.statistics().fileHits, 1u);
}

TEST_F(Cache, EveryTruncationAndEveryChangedByteIsRebuilt) {
  std::string path = KernelCache(options).fileOf("key");
  ASSERT_TRUE(KernelCache(options).get("key", builder()));
  const std::string whole = read(path);
  ASSERT_GT(whole.size(), 56u);
  int expected = 1;
  auto expectRebuilt = [&](const std::string &bytes, const std::string &what) {
    write(path, bytes);
    KernelCache cache(options);
    Expected<KernelCache::CompiledPtr> got = cache.get("key", builder());
    ASSERT_TRUE(got);
    EXPECT_EQ((*got)->image, "image");
    ASSERT_EQ(builds, ++expected) << what;
    EXPECT_EQ(cache.statistics().rejectedFiles, 1u) << what;
    EXPECT_FALSE(cache.statistics().lastFileError.empty());
    ASSERT_EQ(read(path), whole) << what << " is not repaired";
  };
  for (size_t size = 0; size < whole.size(); ++size)
    expectRebuilt(whole.substr(0, size), "length " + std::to_string(size));
  expectRebuilt(whole + "x", "a longer file");
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = char(changed[i] ^ 0x40);
    expectRebuilt(changed, "byte " + std::to_string(i));
  }
}

TEST_F(Cache, FileOfAnotherKeyIsNotUsed) {
  KernelCache first(options);
  ASSERT_TRUE(first.get("key", builder("of key")));
  fs::copy_file(first.fileOf("key"), first.fileOf("other"));
  KernelCache second(options);
  Expected<KernelCache::CompiledPtr> got =
      second.get("other", builder("of other"));
  ASSERT_TRUE(got);
  EXPECT_EQ((*got)->image, "of other");
  EXPECT_NE(second.statistics().lastFileError.find("another key"),
            std::string::npos);
}

TEST_F(Cache, DirectoryThatCannotBeWrittenIsOnlySlower) {
  // A file in the way, which stops root too.
  write((root / "file").string(), "");
  options.directory = (root / "file" / "below").string();
  KernelCache cache(options);
  for (const char *key : {"a", "b"}) {
    Expected<KernelCache::CompiledPtr> got = cache.get(key, builder());
    ASSERT_TRUE(got);
    EXPECT_EQ((*got)->image, "image");
  }
  EXPECT_EQ(builds, 2);
  EXPECT_EQ(cache.statistics().failedWrites, 2u);
  EXPECT_NE(cache.statistics().lastFileError.find("Not a directory"),
            std::string::npos)
      << cache.statistics().lastFileError;
  // A directory in the place of the file.
  options.directory = root.string();
  KernelCache blocked(options);
  fs::create_directory(blocked.fileOf("key"));
  EXPECT_TRUE(blocked.get("key", builder()));
  EXPECT_EQ(blocked.statistics().rejectedFiles, 1u);
  EXPECT_EQ(blocked.statistics().failedWrites, 1u);
  // No temporary file is left behind.
  EXPECT_EQ(filesInDirectory(), 2u);
}

TEST_F(Cache, ReadOnlyDirectoryIsOnlySlower) {
  options.directory = root.string();
  fs::permissions(root, fs::perms(0555));
  pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    // Root may write anywhere, so somebody else tries.
    if (geteuid() == 0 && setuid(65534) != 0)
      _exit(2);
    KernelCache cache(options);
    Expected<KernelCache::CompiledPtr> got = cache.get("key", builder());
    KernelCache::Statistics statistics = cache.statistics();
    const bool right =
        got && (*got)->image == "image" && statistics.failedWrites == 1 &&
        statistics.lastFileError.find("Permission denied") != std::string::npos;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  fs::permissions(root, fs::perms::owner_all);
  EXPECT_EQ(filesInDirectory(), 0u);
}

TEST_F(Cache, ThreadsBuildAKeyOnce) {
  KernelCache cache(options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < 20; ++k) {
        const std::string key = "key " + std::to_string((k + t) % 20);
        Expected<KernelCache::CompiledPtr> got =
            cache.get(key, [&]() -> Expected<CompiledKernel> {
              ++builds;
              std::this_thread::sleep_for(std::chrono::milliseconds(1));
              return CompiledKernel{"image of " + key, ""};
            });
        ASSERT_TRUE(got);
        EXPECT_EQ((*got)->image, "image of " + key);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(builds, 20);
  EXPECT_EQ(cache.statistics().memoryHits, 300u);
}

TEST_F(Cache, AFailedBuildIsReportedAndTriedAgain) {
  KernelCache cache(options);
  auto fail = [&]() -> Expected<CompiledKernel> {
    ++builds;
    return Error::make(ErrorKind::CompileFailed, "no such schedule");
  };
  for (int i = 0; i < 2; ++i) {
    Expected<KernelCache::CompiledPtr> got = cache.get("key", fail);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().message(), "no such schedule");
  }
  EXPECT_EQ(builds, 2);
  EXPECT_TRUE(cache.get("key", builder()));
  EXPECT_FALSE(cache.get("absent", nullptr));
}

TEST_F(Cache, ABuilderThatAsksForItsOwnKeyGetsAnError) {
  KernelCache cache(options);
  Error inner;
  Expected<KernelCache::CompiledPtr> got =
      cache.get("key", [&]() -> Expected<CompiledKernel> {
        inner = cache.get("key", builder()).error();
        // Another key is fine.
        Expected<KernelCache::CompiledPtr> other = cache.get("b", builder());
        return other ? **other : CompiledKernel();
      });
  ASSERT_TRUE(got);
  EXPECT_EQ((*got)->image, "image");
  EXPECT_EQ(inner.kind(), ErrorKind::InvalidArgument);
}

TEST_F(Cache, ReadersSeeWholeFilesOnly) {
  // The file comes and goes while others read it.
  const std::string image(1 << 20, 'x');
  std::atomic<bool> stop{false};
  std::atomic<size_t> rejected{0}, hits{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t)
    readers.emplace_back([&] {
      while (!stop) {
        KernelCache cache(options);
        Expected<KernelCache::CompiledPtr> got = cache.get("key", nullptr);
        hits += got ? 1 : 0;
        rejected += cache.statistics().rejectedFiles;
        if (got)
          EXPECT_EQ((*got)->image.size(), image.size());
      }
    });
  for (int round = 0; round < 50 || (!hits && round < 5000); ++round) {
    KernelCache cache(options);
    fs::remove(cache.fileOf("key"));
    EXPECT_TRUE(cache.get("key", builder(image)));
  }
  stop = true;
  for (std::thread &reader : readers)
    reader.join();
  EXPECT_GT(hits, 0u);
  EXPECT_EQ(rejected, 0u);
}

TEST_F(Cache, SixteenProcessesRaceOnAColdCache) {
  // Rounds, as one race may happen to be won by the first. The processes start
  // together when the parent raises the flag.
  auto *go = static_cast<std::atomic<int> *>(
      mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void *>(go), MAP_FAILED);
  for (int round = 0; round < 5; ++round) {
    options.directory = (root / ("round" + std::to_string(round))).string();
    new (go) std::atomic<int>(0);
    std::vector<pid_t> children;
    for (int child = 0; child < 16; ++child) {
      pid_t pid = fork();
      ASSERT_GE(pid, 0);
      if (pid == 0) {
        while (!go->load())
          std::this_thread::yield();
        KernelCache cache(options);
        bool right = true;
        int own = 0;
        for (int k = 0; k < 8; ++k) {
          const std::string image(20000 + k, char('a' + k));
          for (int again = 0; again < 2; ++again) {
            Expected<KernelCache::CompiledPtr> got = cache.get(
                "key " + std::to_string(k), [&]() -> Expected<CompiledKernel> {
                  ++own;
                  return CompiledKernel{image, "m"};
                });
            right = right && got && (*got)->image == image;
          }
        }
        KernelCache::Statistics statistics = cache.statistics();
        right = right && own == int(statistics.builds) && own <= 8 &&
                statistics.rejectedFiles == 0 && statistics.failedWrites == 0;
        if (!right)
          std::fprintf(stderr, "process %d: %s\n", child,
                       statistics.lastFileError.c_str());
        _exit(right ? 0 : 1);
      }
      children.push_back(pid);
    }
    go->store(1);
    for (pid_t pid : children) {
      int status = -1;
      ASSERT_EQ(waitpid(pid, &status, 0), pid);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    EXPECT_EQ(filesInDirectory(), 8u);
    KernelCache warm(options);
    for (int k = 0; k < 8; ++k)
      EXPECT_TRUE(warm.get("key " + std::to_string(k), nullptr));
  }
  munmap(go, sizeof(*go));
}

} // namespace
