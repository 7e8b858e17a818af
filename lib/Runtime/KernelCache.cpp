//===- KernelCache.cpp - Compiled kernels, built once ---------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Runtime/KernelCache.h"

#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace na::runtime;

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

std::string KernelKey::str() const {
  // Lengths make the text unambiguous whatever the fields contain.
  std::string text = "na-kernel-1";
  auto add = [&](const char *name, const std::string &value) {
    text += std::string(";") + name + "=" + std::to_string(value.size()) + ":" +
            value;
  };
  add("problem", problem);
  add("strides", stridesClass);
  add("dtype", dtype);
  add("arch", arch);
  add("schedule", schedule);
  add("compiler", compilerBuild);
  add("assembler", assembler);
  return text;
}

/// FNV-1a, which notices every change of a single byte.
static uint64_t hashBytes(const char *bytes, size_t count,
                          uint64_t state = 0xcbf29ce484222325ull) {
  for (size_t i = 0; i < count; ++i)
    state = (state ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3ull;
  return state;
}

static uint64_t hashString(const std::string &text, uint64_t seed) {
  uint64_t state = hashBytes(text.data(), text.size(), seed);
  // FNV's low bits mix well and its high bits do not.
  state ^= state >> 32;
  state *= 0xd6e8feb86659fd93ull;
  return state ^ (state >> 32);
}

static uint64_t keyHash(const std::string &key) {
  return hashString(key, 0xcbf29ce484222325ull);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

namespace {

/// The start of a file. Numbers are in the machine's own order: a file from a
/// machine of another order has another magic number.
struct Header {
  uint64_t magic;
  uint64_t version;
  uint64_t keyHash;
  uint64_t keyBytes;
  uint64_t metadataBytes;
  uint64_t imageBytes;
  /// Of the rest of the header and all that follows it.
  uint64_t checksum;
};
static_assert(sizeof(Header) == 56);

constexpr uint64_t fileMagic = 0x314548434143414Eull; // "NACACHE1"
constexpr uint64_t fileVersion = 1;

/// A file descriptor that is closed.
struct File {
  int descriptor;
  explicit File(int descriptor) : descriptor(descriptor) {}
  File(const File &) = delete;
  ~File() {
    if (descriptor >= 0)
      ::close(descriptor);
  }
};

} // namespace

static uint64_t checksumOf(const Header &header, const std::string &rest) {
  uint64_t state = hashBytes(reinterpret_cast<const char *>(&header),
                             offsetof(Header, checksum));
  return hashBytes(rest.data(), rest.size(), state);
}

static std::string systemError(const std::string &what) {
  return what + ": " + std::strerror(errno);
}

/// Makes `path` and its parents.
static bool makeDirectories(const std::string &path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      // A parent on a read-only file system reports that before EEXIST.
      struct stat status;
      if (::stat(part.c_str(), &status) != 0)
        return false;
    }
    if (end == std::string::npos)
      break;
  }
  struct stat status;
  if (::stat(path.c_str(), &status) != 0)
    return false;
  if (S_ISDIR(status.st_mode))
    return true;
  errno = ENOTDIR;
  return false;
}

static bool writeAll(int descriptor, const char *bytes, size_t count) {
  while (count) {
    ssize_t written = ::write(descriptor, bytes, count);
    if (written < 0) {
      if (errno == EINTR)
        continue;
      return false;
    }
    bytes += written;
    count -= size_t(written);
  }
  return true;
}

static bool readAll(int descriptor, std::string &bytes) {
  struct stat status;
  if (::fstat(descriptor, &status) != 0)
    return false;
  if (!S_ISREG(status.st_mode)) {
    errno = EISDIR;
    return false;
  }
  bytes.resize(size_t(status.st_size));
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t got = ::read(descriptor, &bytes[done], bytes.size() - done);
    if (got < 0) {
      if (errno == EINTR)
        continue;
      return false;
    }
    if (got == 0)
      break;
    done += size_t(got);
  }
  bytes.resize(done);
  return true;
}

KernelCache::KernelCache(const KernelCacheOptions &options)
    : folder(options.directory) {
  if (folder.empty() && options.useEnvironment)
    if (const char *value = std::getenv("NA_CACHE_DIR"))
      folder = value;
}

std::string KernelCache::fileOf(const std::string &key) const {
  if (folder.empty())
    return {};
  char name[64];
  std::snprintf(
      name, sizeof(name), "/%016llx%016llx.nakernel",
      static_cast<unsigned long long>(keyHash(key)),
      static_cast<unsigned long long>(hashString(key, 0x9ae16a3b2f90404full)));
  return folder + name;
}

void KernelCache::noteFileError(std::string message, bool write) {
  ++(write ? failedWrites : rejectedFiles);
  std::lock_guard<std::mutex> lock(errorMutex);
  lastFileError = std::move(message);
}

KernelCache::CompiledPtr KernelCache::readFile(const std::string &key) {
  const std::string path = fileOf(key);
  auto reject = [&](const std::string &why) {
    noteFileError(path + ": " + why, /*write=*/false);
    return nullptr;
  };
  File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.descriptor < 0)
    return errno == ENOENT ? nullptr : reject(std::strerror(errno));
  std::string bytes;
  if (!readAll(file.descriptor, bytes))
    return reject(std::strerror(errno));

  Header header;
  if (bytes.size() < sizeof(header))
    return reject("shorter than a header");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != fileMagic)
    return reject("not a kernel file");
  if (header.version != fileVersion)
    return reject("of version " + std::to_string(header.version));
  const std::string rest = bytes.substr(sizeof(header));
  // One by one, as their sum could wrap around.
  uint64_t left = rest.size();
  for (uint64_t part :
       {header.keyBytes, header.metadataBytes, header.imageBytes}) {
    if (part > left)
      return reject("truncated");
    left -= part;
  }
  if (left)
    return reject("longer than its header says");
  if (header.checksum != checksumOf(header, rest))
    return reject("the checksum is wrong");
  if (header.keyHash != keyHash(key) ||
      rest.compare(0, header.keyBytes, key) != 0)
    return reject("of another key");
  CompiledKernel kernel;
  kernel.metadata = rest.substr(header.keyBytes, header.metadataBytes);
  kernel.image = rest.substr(header.keyBytes + header.metadataBytes);
  return std::make_shared<const CompiledKernel>(std::move(kernel));
}

void KernelCache::writeFile(const std::string &key,
                            const CompiledKernel &kernel) {
  auto fail = [&](const std::string &what) {
    noteFileError(systemError(what), /*write=*/true);
  };
  if (!makeDirectories(folder))
    return fail("cannot make the directory " + folder);
  const std::string rest = key + kernel.metadata + kernel.image;
  Header header = {};
  header.magic = fileMagic;
  header.version = fileVersion;
  header.keyHash = keyHash(key);
  header.keyBytes = key.size();
  header.metadataBytes = kernel.metadata.size();
  header.imageBytes = kernel.image.size();
  header.checksum = checksumOf(header, rest);

  const std::string path = fileOf(key);
  // A name of its own, also beside processes of other hosts with equal ids.
  std::string temporary = path + ".XXXXXX";
  File file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (file.descriptor < 0)
    return fail("cannot write in " + folder);
  if (!writeAll(file.descriptor, reinterpret_cast<const char *>(&header),
                sizeof(header)) ||
      !writeAll(file.descriptor, rest.data(), rest.size())) {
    fail("cannot write " + temporary);
    ::unlink(temporary.c_str());
    return;
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    fail("cannot rename " + temporary + " to " + path);
    ::unlink(temporary.c_str());
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

struct KernelCache::Entry {
  std::mutex mutex;
  std::condition_variable finished;
  CompiledPtr kernel;
  bool building = false;
  std::thread::id builder;
  /// Counts the builds that ended, and how the last one did.
  uint64_t attempts = 0;
  Error failure;
};

Expected<KernelCache::CompiledPtr>
KernelCache::readOrBuild(const std::string &key, const Builder &build) {
  if (!folder.empty()) {
    if (CompiledPtr found = readFile(key)) {
      ++fileHits;
      return found;
    }
  }
  if (!build)
    return Error::make(ErrorKind::InvalidArgument,
                       "the kernel is not cached and nothing builds it");
  ++builds;
  Expected<CompiledKernel> built = build();
  if (!built)
    return built.error();
  auto kernel = std::make_shared<const CompiledKernel>(std::move(*built));
  if (!folder.empty())
    writeFile(key, *kernel);
  return CompiledPtr(std::move(kernel));
}

Expected<KernelCache::CompiledPtr> KernelCache::get(const std::string &key,
                                                    const Builder &build) {
  std::shared_ptr<Entry> entry;
  {
    std::shared_lock<std::shared_mutex> lock(mutex);
    auto found = entries.find(key);
    if (found != entries.end())
      entry = found->second;
  }
  if (!entry) {
    std::unique_lock<std::shared_mutex> lock(mutex);
    std::shared_ptr<Entry> &slot = entries[key];
    if (!slot)
      slot = std::make_shared<Entry>();
    entry = slot;
  }

  std::unique_lock<std::mutex> lock(entry->mutex);
  if (entry->kernel) {
    ++memoryHits;
    return entry->kernel;
  }
  if (entry->building) {
    if (entry->builder == std::this_thread::get_id())
      return Error::make(ErrorKind::InvalidArgument,
                         "the builder of a kernel asks for the same kernel");
    const uint64_t awaited = entry->attempts;
    entry->finished.wait(lock, [&] { return entry->attempts != awaited; });
    if (entry->kernel) {
      ++memoryHits;
      return entry->kernel;
    }
    return entry->failure;
  }
  entry->building = true;
  entry->builder = std::this_thread::get_id();
  lock.unlock();
  Expected<CompiledPtr> result = readOrBuild(key, build);
  lock.lock();
  entry->building = false;
  ++entry->attempts;
  if (result)
    entry->kernel = *result;
  entry->failure = result.error();
  lock.unlock();
  entry->finished.notify_all();
  return result;
}

Expected<na::cuda::Kernel> KernelCache::getKernel(
    const std::string &key, cuda::Device &device, const std::string &name,
    const cuda::KernelOptions &options, const Builder &build) {
  LoadedKey loadedKey(key, device.ordinal(), name, options.dynamicSharedBytes,
                      options.nonPortableClusters);
  {
    std::shared_lock<std::shared_mutex> lock(mutex);
    auto found = loaded.find(loadedKey);
    if (found != loaded.end()) {
      ++memoryHits;
      return found->second;
    }
  }
  Expected<CompiledPtr> compiled = get(key, build);
  if (!compiled)
    return compiled.error();
  cuda::LoadOptions loadOptions;
  loadOptions.name = name;
  Expected<std::shared_ptr<cuda::Module>> module =
      device.load((*compiled)->image, loadOptions);
  if (!module)
    return module.error();
  Expected<cuda::Kernel> kernel = cuda::Kernel::get(*module, name, options);
  if (!kernel)
    return kernel.error();
  // Threads that race here hold kernels of the same module; one is kept.
  std::unique_lock<std::shared_mutex> lock(mutex);
  return loaded.emplace(std::move(loadedKey), *kernel).first->second;
}

void KernelCache::clear() {
  std::unique_lock<std::shared_mutex> lock(mutex);
  loaded.clear();
  entries.clear();
}

KernelCache::Statistics KernelCache::statistics() const {
  Statistics result;
  result.memoryHits = memoryHits;
  result.fileHits = fileHits;
  result.builds = builds;
  result.rejectedFiles = rejectedFiles;
  result.failedWrites = failedWrites;
  std::lock_guard<std::mutex> lock(errorMutex);
  result.lastFileError = lastFileError;
  return result;
}
