//===- CudaProgram.cpp - A module compiled for a GPU ----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/ExecutionEngine/CudaProgram.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/xxhash.h"

#include <chrono>
#include <dlfcn.h>
#include <mutex>

using namespace mlir;
using namespace mlir::na;
namespace runtime = ::na::runtime;
namespace cuda = ::na::cuda;

static constexpr llvm::StringLiteral binaryName("na_kernels");
static constexpr llvm::StringLiteral kernelsName("na.kernels");

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

/// Moves the kernels of a lowered module to `code`. A program without kernels
/// has neither the attribute nor a binary.
static llvm::Error takeKernels(ModuleOp module, CudaCode &code) {
  auto names = module->getAttrOfType<ArrayAttr>(kernelsName);
  if (names)
    for (Attribute name : names) {
      auto text = dyn_cast<StringAttr>(name);
      if (!text)
        return llvm::createStringError("the module attribute '" + kernelsName +
                                       "' does not hold names of kernels");
      code.kernels.push_back(text.str());
    }
  SmallVector<gpu::BinaryOp> binaries(module.getOps<gpu::BinaryOp>());
  if (code.kernels.empty() && binaries.empty())
    return llvm::Error::success();
  if (code.kernels.empty())
    return llvm::createStringError(
        "the module has kernels, but no attribute '" + kernelsName +
        "' that names them");
  if (binaries.size() != 1)
    return llvm::createStringError(
        llvm::formatv("the lowered module has {0} gpu.binary operations; 1 is "
                      "expected, '{1}'",
                      binaries.size(), binaryName));
  ArrayAttr objects = binaries.front().getObjects();
  auto object =
      objects.size() == 1 ? dyn_cast<gpu::ObjectAttr>(objects[0]) : nullptr;
  if (!object)
    return llvm::createStringError(llvm::formatv(
        "'{0}' holds {1} objects; 1 is expected", binaryName, objects.size()));
  StringRef image = object.getObject().getValue();
  // PTX may come with the zero byte that ends it.
  if (object.getFormat() == gpu::CompilationTarget::Assembly)
    image = image.rtrim('\0');
  code.image = image.str();
  binaries.front().erase();
  module->removeAttr(kernelsName);
  return llvm::Error::success();
}

llvm::Expected<CudaCode> mlir::na::compileForCuda(ModuleOp module,
                                                  const CudaOptions &options,
                                                  CompileTimes &times) {
  CudaCode code;
  JITOptions jit;
  jit.pipeline = options.pipeline;
  jit.configurePasses = options.configurePasses;
  jit.optLevel = options.optLevel;
  jit.afterPasses = [&](ModuleOp lowered) {
    return takeKernels(lowered, code);
  };
  // Passes may run on several threads.
  std::mutex mutex;
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Remark)
          return failure();
        std::lock_guard<std::mutex> lock(mutex);
        code.remarks.push_back(diagnostic.str());
        return success();
      });
  llvm::Expected<ObjectCode> host =
      JITModule::compileToObject(module, jit, times);
  if (!host)
    return host.takeError();
  code.host = std::move(*host);
  return code;
}

static std::string hash(StringRef text) {
  auto digest = llvm::SHA256::hash(
      ArrayRef(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
  return "sha256:" + llvm::toHex(digest);
}

/// What a file holds; a file that cannot be read is the passes' error.
static std::string hashFile(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? hash((*buffer)->getBuffer()) : "unreadable";
}

/// The module as a key: its text, or a hash of a long one.
static std::string getProblemKey(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, OpPrintingFlags().printGenericOpForm());
  constexpr size_t longest = 4096;
  if (text.size() <= longest)
    return text;
  return hash(text);
}

llvm::Expected<CudaCode> mlir::na::compileForCuda(ModuleOp module,
                                                  const CudaOptions &options,
                                                  CompileTimes &times,
                                                  runtime::KernelCache &cache,
                                                  StringRef arch) {
  runtime::KernelKey key;
  key.problem = getProblemKey(module);
  key.stridesClass = "row-major";
  key.dtype = "as in the problem";
  key.arch = arch.str();
  key.schedule =
      options.pipeline + " host-O" + std::to_string(options.optLevel);
  if (!options.tuningFile.empty())
    key.schedule += " tuning " + hashFile(options.tuningFile);
  key.compilerBuild = getCompilerBuild() + " for " + getHostTarget();
  key.assembler = options.assembler;
  runtime::Expected<runtime::KernelCache::CompiledPtr> compiled =
      cache.get(key.str(), [&]() -> runtime::Expected<runtime::CompiledKernel> {
        llvm::Expected<CudaCode> code = compileForCuda(module, options, times);
        if (code)
          return code->pack();
        return runtime::Error::make(runtime::ErrorKind::CompileFailed,
                                    llvm::toString(code.takeError()));
      });
  if (!compiled)
    return toLLVMError(compiled.error());
  return CudaCode::unpack(**compiled);
}

const std::string &mlir::na::getCompilerBuild() {
  static const std::string build = [] {
    std::string text = "namlir, LLVM " LLVM_VERSION_STRING;
    Dl_info info = {};
    auto here = reinterpret_cast<const void *>(&getCompilerBuild);
    if (!dladdr(here, &info) || !info.dli_fname)
      return text;
    // The name of the program is as it was called; this link is the file.
    std::string path = info.dli_fname;
    auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
    if (!file)
      file = llvm::MemoryBuffer::getFile("/proc/self/exe", /*IsText=*/false,
                                         /*RequiresNullTerminator=*/false);
    if (!file)
      return text;
    StringRef bytes = (*file)->getBuffer();
    llvm::XXH128_hash_t hash = llvm::xxh3_128bits(ArrayRef(
        reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
    return text +
           llvm::formatv(", {0:x-16}{1:x-16}", hash.high64, hash.low64).str();
  }();
  return build;
}

//===----------------------------------------------------------------------===//
// CudaCode
//===----------------------------------------------------------------------===//

static void append(std::string &text, StringRef field) {
  text += std::to_string(field.size()) + ":";
  text += field;
}

/// Takes a field that append() wrote from the front of `text`.
static bool take(StringRef &text, std::string &field) {
  size_t size;
  if (text.consumeInteger(10, size) || !text.consume_front(":") ||
      size > text.size())
    return false;
  field = text.take_front(size).str();
  text = text.drop_front(size);
  return true;
}

static void appendList(std::string &text, ArrayRef<std::string> list) {
  append(text, std::to_string(list.size()));
  for (const std::string &item : list)
    append(text, item);
}

static bool takeList(StringRef &text, std::vector<std::string> &list) {
  std::string field;
  size_t size;
  if (!take(text, field) || StringRef(field).getAsInteger(10, size))
    return false;
  for (size_t i = 0; i < size; ++i) {
    if (!take(text, field))
      return false;
    list.push_back(std::move(field));
  }
  return true;
}

runtime::CompiledKernel CudaCode::pack() const {
  runtime::CompiledKernel packed;
  packed.image = image;
  appendList(packed.metadata, kernels);
  appendList(packed.metadata, remarks);
  appendList(packed.metadata, host.functions);
  append(packed.metadata, host.bytes);
  return packed;
}

llvm::Expected<CudaCode>
CudaCode::unpack(const runtime::CompiledKernel &packed) {
  CudaCode code;
  code.image = packed.image;
  StringRef text = packed.metadata;
  if (!takeList(text, code.kernels) || !takeList(text, code.remarks) ||
      !takeList(text, code.host.functions) || !take(text, code.host.bytes) ||
      !text.empty())
    return llvm::createStringError(
        "the cached program is not of the form that it was written in");
  return code;
}

//===----------------------------------------------------------------------===//
// CudaProgram
//===----------------------------------------------------------------------===//

llvm::Error mlir::na::toLLVMError(const runtime::Error &error) {
  if (!error)
    return llvm::Error::success();
  return llvm::createStringError(error.message());
}

llvm::Expected<std::shared_ptr<CudaProgram>>
CudaProgram::load(const CudaCode &code, cuda::Device &device) {
  std::shared_ptr<CudaProgram> program(new CudaProgram());
  auto start = std::chrono::steady_clock::now();
  // A program without kernels still allocates and returns, on the device.
  static constexpr llvm::StringLiteral empty(
      ".version 7.0\n.target sm_80\n.address_size 64\n");
  cuda::LoadOptions options;
  options.name = binaryName.str();
  auto module = device.load(
      code.image.empty() ? std::string_view(empty) : code.image, options);
  if (!module)
    return toLLVMError(module.error());
  auto table = cuda::KernelTable::create(*module, code.kernels);
  if (!table)
    return toLLVMError(table.error());
  program->kernels = *table;
  program->loadTime =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  CompileTimes times;
  llvm::Expected<std::unique_ptr<JITModule>> host =
      JITModule::load(code.host, cuda::launchSymbols(), times);
  if (!host)
    return host.takeError();
  program->host = std::move(*host);
  return program;
}

runtime::Error CudaProgram::checkTensor(const char *name,
                                        const TensorBinding &tensor) const {
  const int64_t elementBytes = getByteWidth(tensor.type);
  int64_t bytes = elementBytes;
  for (int64_t size : tensor.shape)
    if (llvm::MulOverflow(bytes, size, bytes))
      return runtime::Error::make(runtime::ErrorKind::InvalidArgument,
                                  "argument '" + std::string(name) +
                                      "': the size of " +
                                      formatShape(tensor.shape) + " overflows");
  if (bytes == 0)
    return runtime::Error::success();
  return getDevice().checkPointer(name, tensor.data, static_cast<size_t>(bytes),
                                  static_cast<size_t>(elementBytes));
}

runtime::Error
CudaProgram::call(JITModule::PackedFunction function, void **slots,
                  cuda::StreamHandle stream,
                  llvm::function_ref<void(cuda::LaunchScope &)> afterwards,
                  cuda::Workspace workspace) const {
  cuda::LaunchScope scope(*kernels, stream, workspace);
  function(slots);
  if (afterwards)
    afterwards(scope);
  return scope.error();
}

size_t CudaProgram::measureWorkspace(JITModule::PackedFunction function,
                                     void **slots) const {
  cuda::LaunchScope rehearsal(*kernels);
  function(slots);
  return rehearsal.getWorkspaceBytes();
}

//===----------------------------------------------------------------------===//
// Chips
//===----------------------------------------------------------------------===//

namespace {
struct Chip {
  llvm::StringLiteral name;
  int version;
  /// Runs on this version only, not on later ones.
  bool only;
};
} // namespace

static constexpr Chip chips[] = {{"sm_80", 80, false}, {"sm_86", 86, false},
                                 {"sm_87", 87, false}, {"sm_89", 89, false},
                                 {"sm_90", 90, false}, {"sm_90a", 90, true}};

static int getVersion(const cuda::DeviceProperties &properties) {
  return 10 * properties.major + properties.minor;
}

static std::string describe(const cuda::DeviceProperties &properties) {
  return "the device (" + properties.name + ") is " + properties.arch();
}

llvm::Expected<std::string>
mlir::na::getDefaultChip(const cuda::DeviceProperties &properties) {
  const Chip *best = nullptr;
  for (const Chip &chip : chips)
    if (chip.only ? chip.version == getVersion(properties)
                  : chip.version <= getVersion(properties))
      best = &chip;
  if (best)
    return best->name.str();
  return llvm::createStringError(describe(properties) +
                                 "; sm_80 is the oldest supported");
}

llvm::Error mlir::na::checkChip(StringRef name) {
  std::string known;
  for (const Chip &chip : chips) {
    if (chip.name == name)
      return llvm::Error::success();
    known += (known.empty() ? "" : ", ") + chip.name.str();
  }
  return llvm::createStringError("unknown chip '" + name +
                                 "'; available: " + known);
}

llvm::Error mlir::na::checkChip(StringRef name,
                                const cuda::DeviceProperties &properties) {
  if (llvm::Error error = checkChip(name))
    return error;
  const Chip *chip = llvm::find_if(
      chips, [&](const Chip &candidate) { return candidate.name == name; });
  int version = getVersion(properties);
  if (chip->only ? chip->version == version : chip->version <= version)
    return llvm::Error::success();
  return llvm::createStringError("code for " + name +
                                 " does not run here: " + describe(properties));
}
