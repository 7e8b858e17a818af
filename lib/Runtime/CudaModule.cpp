//===- CudaModule.cpp - Modules and kernel launches -----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaDriver.h"

#include <algorithm>
#include <cstring>

using namespace na::cuda;

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

template <typename T>
static T readAt(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

/// The driver takes no length, so an image that ends early would make it read
/// on. Checks that the lengths that a binary states fit.
static Error checkImage(std::string_view image, const std::string &name) {
  auto truncated = [&](const char *kind) {
    return Error::make(ErrorKind::CompileFailed,
                       "'" + name + "' is a truncated " + kind + " of " +
                           std::to_string(image.size()) + " bytes");
  };
  if (image.empty())
    return Error::make(ErrorKind::InvalidArgument,
                       "'" + name + "' is an empty image");
  if (image.substr(0, 4) == "\x7f"
                            "ELF") {
    // The 64-bit ELF header has the places of the program and section headers
    // at bytes 32 and 40, their sizes and counts from byte 54 on.
    if (image.size() < 64)
      return truncated("cubin");
    auto fits = [&](uint64_t start, uint64_t length) {
      return start <= image.size() && length <= image.size() - start;
    };
    const uint64_t segments = readAt<uint64_t>(image, 32);
    const uint64_t sections = readAt<uint64_t>(image, 40);
    const uint64_t segmentBytes = readAt<uint16_t>(image, 54);
    const uint64_t segmentCount = readAt<uint16_t>(image, 56);
    const uint64_t sectionBytes = readAt<uint16_t>(image, 58);
    const uint64_t sectionCount = readAt<uint16_t>(image, 60);
    if (!fits(segments, segmentBytes * segmentCount) ||
        !fits(sections, sectionBytes * sectionCount) ||
        (sectionCount && sectionBytes < 64))
      return truncated("cubin");
    // A section of type 8 (no bits) takes no place in the file.
    for (uint64_t i = 0; i < sectionCount; ++i) {
      const uint64_t header = sections + i * sectionBytes;
      if (readAt<uint32_t>(image, header + 4) != 8 &&
          !fits(readAt<uint64_t>(image, header + 24),
                readAt<uint64_t>(image, header + 32)))
        return truncated("cubin");
    }
    return Error::success();
  }
  constexpr uint32_t fatbinMagic = 0xBA55ED50;
  if (image.size() >= 4 && readAt<uint32_t>(image, 0) == fatbinMagic) {
    // The size of the header is at byte 6, that of the rest at byte 8.
    if (image.size() < 16)
      return truncated("fatbin");
    const uint64_t header = readAt<uint16_t>(image, 6);
    const uint64_t rest = readAt<uint64_t>(image, 8);
    if (header > image.size() || rest > image.size() - header)
      return truncated("fatbin");
  }
  return Error::success();
}

/// Loads `image`, with the compiler's log in `log` or in the Error. To be
/// called with the context current.
static Error loadImage(const Driver &driver, std::string_view image,
                       const LoadOptions &options, ModuleHandle &handle,
                       std::string &log) {
  // PTX has to end in a zero byte, which a string_view need not have.
  const std::string text(image);
  std::vector<char> info(8192, '\0'), errors(8192, '\0');
  auto asValue = [](size_t value) {
    return reinterpret_cast<void *>(static_cast<uintptr_t>(value));
  };
  int names[] = {JitInfoLog, JitInfoLogSize, JitErrorLog, JitErrorLogSize,
                 JitOptimizationLevel};
  void *values[] = {info.data(), asValue(info.size() - 1), errors.data(),
                    asValue(errors.size() - 1),
                    asValue(options.optimizationLevel)};
  Result result =
      driver.cuModuleLoadDataEx(&handle, text.data(), 5, names, values);
  log = info.data();
  if (result == ResultSuccess)
    return Error::success();
  std::string detail = "loading '" + options.name + "'";
  if (errors[0])
    detail += std::string(":\n") + errors.data();
  return driver.check("cuModuleLoadDataEx", result, detail);
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

struct Module::Functions {
  /// The opt-in belongs to the function, so it only ever grows.
  std::mutex mutex;
  std::map<std::string, size_t> dynamicShared;
};

Module::Module(Device *owner, ModuleHandle handle, std::string label,
               std::string jitLog)
    : owner(owner), handle(handle), label(std::move(label)),
      jitLog(std::move(jitLog)), functions(std::make_unique<Functions>()) {}

Module::~Module() = default;

Expected<std::shared_ptr<Module>> Device::load(std::string_view image,
                                               const LoadOptions &options) {
  if (options.optimizationLevel < 0 || options.optimizationLevel > 4)
    return Error::make(ErrorKind::InvalidArgument,
                       "optimization level " +
                           std::to_string(options.optimizationLevel) + " of '" +
                           options.name + "' is not in 0 to 4");
  if (Error error = checkImage(image, options.name))
    return error;

  std::string key = std::to_string(options.optimizationLevel) + ":";
  key.append(image);
  std::shared_ptr<State::ModuleEntry> entry;
  {
    std::lock_guard<std::mutex> lock(impl->modulesMutex);
    std::shared_ptr<State::ModuleEntry> &slot = impl->modules[key];
    if (!slot)
      slot = std::make_shared<State::ModuleEntry>();
    entry = slot;
  }

  std::lock_guard<std::mutex> entryLock(entry->mutex);
  if (entry->module)
    return entry->module;
  ModuleHandle handle = nullptr;
  std::string log;
  if (Error error = impl->inContext(
          [&] { return loadImage(impl->driver, image, options, handle, log); }))
    return error;
  entry->module.reset(new Module(this, handle, options.name, std::move(log)));
  std::lock_guard<std::mutex> lock(impl->modulesMutex);
  entry->order = ++impl->loads;
  return entry->module;
}

Error Device::unloadUnusedModules() {
  std::lock_guard<std::mutex> lock(impl->modulesMutex);
  // With the lock held nobody can come by another reference to an entry that
  // only the map refers to, nor to its module.
  std::vector<std::pair<uint64_t, std::string>> unused;
  for (auto &[key, entry] : impl->modules)
    if (entry.use_count() == 1 &&
        (!entry->module || entry->module.use_count() == 1))
      unused.push_back({entry->order, key});
  if (unused.empty())
    return Error::success();
  // Pairs with the release of those who let the modules go.
  std::atomic_thread_fence(std::memory_order_acquire);
  std::sort(unused.rbegin(), unused.rend());

  Error first;
  auto note = [&](Error error) {
    if (error && !first)
      first = error;
  };
  bool anyLoaded = unused.front().first != 0;
  if (!anyLoaded) {
    for (auto &[order, key] : unused)
      impl->modules.erase(key);
    return Error::success();
  }
  note(impl->inContext([&] {
    // A kernel that was enqueued may still run.
    note(NA_CUDA_CALL(impl->driver, cuCtxSynchronize));
    for (auto &[order, key] : unused) {
      auto found = impl->modules.find(key);
      if (found->second->module)
        note(NA_CUDA_CALL(impl->driver, cuModuleUnload,
                          found->second->module->handle));
      impl->modules.erase(found);
    }
    return Error::success();
  }));
  return first;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

Expected<Kernel> Kernel::get(std::shared_ptr<Module> module,
                             const std::string &name,
                             const KernelOptions &options) {
  if (!module)
    return Error::make(ErrorKind::NullPointer,
                       "kernel '" + name + "' of no module");
  Device::State &state = module->device().state();
  const Driver &driver = state.driver;
  const std::string what = "kernel '" + name + "' of '" + module->label + "'";
  Info info;
  info.name = name;
  info.dynamicSharedBytes = options.dynamicSharedBytes;
  FunctionHandle function = nullptr;

  Error error = state.inContext([&]() -> Error {
    if (Error failure = NA_CUDA_CALL(driver, cuModuleGetFunction, &function,
                                     module->handle, name.c_str()))
      return failure;
    int shared = 0, local = 0;
    const std::pair<int, int *> wanted[] = {
        {FuncStaticShared, &shared},
        {FuncLocalBytes, &local},
        {FuncRegisters, &info.registers},
        {FuncMaxThreadsPerBlock, &info.maxThreadsPerBlock}};
    for (auto [attribute, value] : wanted)
      if (Error failure = NA_CUDA_CALL(driver, cuFuncGetAttribute, value,
                                       attribute, function))
        return failure;
    info.staticSharedBytes = shared;
    info.localBytes = local;

    const size_t limit = state.properties.sharedBytesPerBlockOptIn;
    if (info.staticSharedBytes > limit ||
        options.dynamicSharedBytes > limit - info.staticSharedBytes)
      return Error::make(
          ErrorKind::Unsupported,
          "it asks for " + std::to_string(options.dynamicSharedBytes) +
              " bytes of dynamic and " + std::to_string(shared) +
              " of static shared memory per block; device " +
              std::to_string(state.ordinal) + " (" + state.properties.arch() +
              ") has " + std::to_string(limit));
    {
      std::lock_guard<std::mutex> lock(module->functions->mutex);
      size_t &made = module->functions->dynamicShared[name];
      if (options.dynamicSharedBytes > made) {
        if (Error failure = NA_CUDA_CALL(driver, cuFuncSetAttribute, function,
                                         FuncMaxDynamicShared,
                                         int(options.dynamicSharedBytes)))
          return failure;
        made = options.dynamicSharedBytes;
      }
    }
    if (options.nonPortableClusters)
      if (Error failure = NA_CUDA_CALL(driver, cuFuncSetAttribute, function,
                                       FuncNonPortableCluster, 1))
        return failure;

    if (driver.cuFuncGetParamInfo) {
      for (size_t index = 0;; ++index) {
        size_t offset = 0, size = 0;
        Result result =
            driver.cuFuncGetParamInfo(function, index, &offset, &size);
        // Past the last parameter.
        if (result == ResultInvalidValue)
          break;
        if (result != ResultSuccess)
          return driver.check("cuFuncGetParamInfo", result);
        info.parameterBytes.push_back(size);
      }
      info.parametersKnown = true;
    }
    return Error::success();
  });
  if (error)
    return error.withPrefix(what);

  Kernel kernel;
  kernel.module = std::move(module);
  kernel.function = function;
  kernel.shared = std::make_shared<const Info>(std::move(info));
  return kernel;
}

Error Kernel::checkLaunch(const LaunchConfig &config,
                          const KernelArgument *arguments, size_t count) const {
  auto fail = [&](const std::string &message) {
    return Error::make(ErrorKind::InvalidArgument,
                       "kernel '" + shared->name + "': " + message);
  };
  const DeviceProperties &properties = device().properties();
  const unsigned grid[] = {config.grid.x, config.grid.y, config.grid.z};
  const unsigned block[] = {config.block.x, config.block.y, config.block.z};
  const unsigned cluster[] = {config.cluster.x, config.cluster.y,
                              config.cluster.z};
  const char *const axes[] = {"x", "y", "z"};
  auto outside = [&](const char *what, int axis, unsigned value, int limit) {
    return fail(std::string(what) + "." + axes[axis] + " = " +
                std::to_string(value) + " is not in 1 to " +
                std::to_string(limit));
  };
  uint64_t threads = 1;
  for (int axis = 0; axis < 3; ++axis) {
    if (grid[axis] == 0 || grid[axis] > unsigned(properties.maxGrid[axis]))
      return outside("grid", axis, grid[axis], properties.maxGrid[axis]);
    if (block[axis] == 0 || block[axis] > unsigned(properties.maxBlock[axis]))
      return outside("block", axis, block[axis], properties.maxBlock[axis]);
    if (cluster[axis] == 0 || grid[axis] % cluster[axis])
      return fail(std::string("cluster.") + axes[axis] + " = " +
                  std::to_string(cluster[axis]) + " does not divide grid." +
                  axes[axis] + " = " + std::to_string(grid[axis]));
    threads *= block[axis];
  }
  if (threads > uint64_t(shared->maxThreadsPerBlock))
    return fail(std::to_string(threads) + " threads per block; at most " +
                std::to_string(shared->maxThreadsPerBlock));
  if (config.dynamicSharedBytes > shared->dynamicSharedBytes)
    return fail(std::to_string(config.dynamicSharedBytes) +
                " bytes of dynamic shared memory; it was loaded for " +
                std::to_string(shared->dynamicSharedBytes));
  if (count && !arguments)
    return fail("no arguments are given");
  if (shared->parametersKnown && count != shared->parameterBytes.size())
    return fail(std::to_string(count) + " arguments for " +
                std::to_string(shared->parameterBytes.size()) + " parameters");
  for (size_t i = 0; i < count; ++i) {
    if (!arguments[i].data)
      return fail("argument " + std::to_string(i) + " has no value");
    if (shared->parametersKnown &&
        arguments[i].size != shared->parameterBytes[i])
      return fail("argument " + std::to_string(i) + " has " +
                  std::to_string(arguments[i].size) + " bytes, the parameter " +
                  std::to_string(shared->parameterBytes[i]));
  }
  return Error::success();
}

Error Kernel::launchWith(const LaunchConfig &config, StreamHandle stream,
                         const KernelArgument *arguments, size_t count) const {
  if (Error error = checkLaunch(config, arguments, count))
    return error;
  void *few[32];
  std::vector<void *> many;
  void **values = few;
  if (count > 32) {
    many.resize(count);
    values = many.data();
  }
  for (size_t i = 0; i < count; ++i)
    values[i] = const_cast<void *>(arguments[i].data);

  Device::State &state = device().state();
  const Driver &driver = state.driver;
  const bool clustered =
      config.cluster.x * config.cluster.y * config.cluster.z != 1;
  const unsigned sharedBytes = unsigned(config.dynamicSharedBytes);
  Error error;
  if (!clustered) {
    error = state.inContext([&] {
      return NA_CUDA_CALL(driver, cuLaunchKernel, function, config.grid.x,
                          config.grid.y, config.grid.z, config.block.x,
                          config.block.y, config.block.z, sharedBytes, stream,
                          values, nullptr);
    });
  } else {
    if (!driver.cuLaunchKernelEx || !state.properties.clusterLaunch)
      return Error::make(ErrorKind::Unsupported,
                         "kernel '" + shared->name + "': device " +
                             std::to_string(state.ordinal) + " (" +
                             state.properties.arch() +
                             ") or its driver cannot launch clusters");
    LaunchAttribute attribute = {};
    attribute.id = LaunchClusterSize;
    attribute.value.clusterSize[0] = config.cluster.x;
    attribute.value.clusterSize[1] = config.cluster.y;
    attribute.value.clusterSize[2] = config.cluster.z;
    const ExtendedLaunch launch = {
        {config.grid.x, config.grid.y, config.grid.z},
        {config.block.x, config.block.y, config.block.z},
        sharedBytes,
        stream,
        &attribute,
        1};
    error = state.inContext([&] {
      return NA_CUDA_CALL(driver, cuLaunchKernelEx, &launch, function, values,
                          nullptr);
    });
  }
  return error ? error.withPrefix("kernel '" + shared->name + "'") : error;
}
