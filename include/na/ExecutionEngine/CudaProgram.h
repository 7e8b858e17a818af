//===- CudaProgram.h - A module compiled for a GPU --------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compilation needs no GPU and gives a CudaCode: the image of the kernels and
// the machine code of the host functions that launch them. It may be kept in a
// KernelCache, across processes too. Loaded on a device it is a CudaProgram,
// which any number of threads may call.
//
//===----------------------------------------------------------------------===//

#ifndef NA_EXECUTIONENGINE_CUDAPROGRAM_H
#define NA_EXECUTIONENGINE_CUDAPROGRAM_H

#include "na/ExecutionEngine/Harness.h"
#include "na/ExecutionEngine/JITModule.h"
#include "na/Runtime/CudaLaunch.h"
#include "na/Runtime/KernelCache.h"

namespace mlir::na {

/// Kernels and the host code around them.
struct CudaCode {
  /// PTX text, or the bytes of a cubin or fatbin.
  std::string image;
  /// The names of the kernels, by index.
  std::vector<std::string> kernels;
  ObjectCode host;
  /// What the passes remarked, such as what has no faster path.
  std::vector<std::string> remarks;

  /// As a cache keeps it, and back.
  ::na::runtime::CompiledKernel pack() const;
  static llvm::Expected<CudaCode> unpack(const ::na::runtime::CompiledKernel &);
};

struct CudaOptions {
  /// Passes that take the module to the LLVM dialect with one gpu.binary: ends
  /// with na-to-nvvm.
  std::string pipeline;
  std::function<void(PassManager &)> configurePasses;
  /// LLVM's optimization level for the host code. There is little of it.
  int optLevel = 1;
  /// The tuning file that the passes read, if any: what it holds is part of the
  /// key of a cache.
  std::string tuningFile;
  /// What turns the image into code, for the key of a cache.
  std::string assembler;
};

/// Compiles `module`, which the passes rewrite.
llvm::Expected<CudaCode> compileForCuda(ModuleOp module,
                                        const CudaOptions &options,
                                        CompileTimes &times);

/// The same through a cache. `arch` is the chip of the pipeline. On a hit the
/// module stays as it is.
llvm::Expected<CudaCode>
compileForCuda(ModuleOp module, const CudaOptions &options, CompileTimes &times,
               ::na::runtime::KernelCache &cache, llvm::StringRef arch);

/// What identifies this build of the compiler: a hash of the file that this
/// code was loaded from, and the version of LLVM.
const std::string &getCompilerBuild();

/// CudaCode loaded on a device and into this process.
class CudaProgram {
public:
  static llvm::Expected<std::shared_ptr<CudaProgram>>
  load(const CudaCode &code, ::na::cuda::Device &device);

  ::na::cuda::Device &getDevice() const { return kernels->device(); }
  const JITModule &getHostModule() const { return *host; }
  ::na::cuda::KernelTable &getKernels() const { return *kernels; }
  /// How long the driver took to compile and load the kernels, in seconds.
  double getLoadTime() const { return loadTime; }

  /// Whether `tensor` may be an argument: not null unless it is empty, aligned
  /// to its elements, and all of it in memory of this device. `name` is what
  /// errors call it. Costs a call of the driver.
  ::na::runtime::Error checkTensor(const char *name,
                                   const TensorBinding &tensor) const;

  /// Runs a function of the host module with `stream` as its stream and
  /// returns when everything is enqueued. `slots` as for PackedFunction;
  /// memrefs are of this device. `afterwards` is called before memory that the
  /// function allocated and did not free is let go. What it allocates is from
  /// `workspace` if there is one.
  ::na::runtime::Error
  call(JITModule::PackedFunction function, void **slots,
       ::na::cuda::StreamHandle stream,
       llvm::function_ref<void(::na::cuda::LaunchScope &)> afterwards = {},
       ::na::cuda::Workspace workspace = {}) const;

  /// The bytes of a workspace for a call with memrefs of these sizes. The
  /// function must not depend on what is in them: they may be anywhere.
  size_t measureWorkspace(JITModule::PackedFunction function,
                          void **slots) const;

private:
  CudaProgram() = default;
  std::unique_ptr<JITModule> host;
  std::shared_ptr<::na::cuda::KernelTable> kernels;
  double loadTime = 0;
};

/// The error as LLVM has it; success stays success.
llvm::Error toLLVMError(const ::na::runtime::Error &error);

/// The chip to compile for on a device: the newest that na-to-nvvm knows and
/// the device can run.
llvm::Expected<std::string>
getDefaultChip(const ::na::cuda::DeviceProperties &properties);

/// Whether code for `chip` runs on a device.
llvm::Error checkChip(llvm::StringRef chip,
                      const ::na::cuda::DeviceProperties &properties);

/// Whether na-to-nvvm knows `chip`; the error lists those that it does.
llvm::Error checkChip(llvm::StringRef chip);

} // namespace mlir::na

#endif // NA_EXECUTIONENGINE_CUDAPROGRAM_H
