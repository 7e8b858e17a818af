//===- Program.h - What is behind NaProgram ---------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_CAPI_PROGRAM_H
#define NA_LIB_CAPI_PROGRAM_H

#include "na-c/Runtime.h"
#include "na/ExecutionEngine/CudaProgram.h"

#include <mutex>

namespace mlir::na::capi {

inline NaStatus ok() { return {NA_OK, nullptr}; }
NaStatus makeStatus(int32_t code, const llvm::Twine &message);
NaStatus makeStatus(int32_t code, llvm::Error error);
NaStatus makeStatus(const ::na::runtime::Error &error);

struct Argument {
  std::string name;
  ElementType type;
  int32_t kind;
  llvm::SmallVector<int64_t> shape;
  /// Bytes of the tensor; negative if a size is dynamic.
  int64_t bytes = -1;
};

int32_t getTypeCode(ElementType type);
std::optional<ElementType> getTypeOfCode(int32_t code);

/// A module and its function, before passes.
struct Source {
  OwningOpRef<ModuleOp> module;
  std::string entry;
  HarnessNames names;
};

/// Checks `problem` and builds its module: of the attention or, with the
/// NA_GRADIENT_* flags, of its gradients.
NaStatus buildProblem(const NaProblem &problem,
                      std::optional<int32_t> gradients, MLIRContext &context,
                      Source &source);

/// The bytes of a workspace for a program whose sizes are static and whose
/// host code does not depend on values.
size_t measureWorkspace(const NaProgram &program);

} // namespace mlir::na::capi

struct NaProgram {
  /// What it was compiled from, as text.
  std::string source, entry;
  std::string chip, schedulePipeline, lowerPipeline;
  mlir::na::CompileTimes times;
  std::vector<std::string> remarks;
  std::string ptx;
  /// Whether launches may happen: not for a program without a device.
  bool loaded = false;
  bool staticSizes = true;
  /// Of the device, beside the arguments; 0 where that is not known before.
  size_t workspaceBytes = 0;
  std::vector<mlir::na::capi::Argument> arguments;
  mlir::na::JITModule::PackedFunction function = nullptr;
  // One of these, by target.
  std::unique_ptr<mlir::na::JITModule> host;
  std::shared_ptr<mlir::na::CudaProgram> cuda;

  /// Texts that were asked for, by kind.
  mutable std::mutex mutex;
  mutable std::map<int32_t, std::string> texts;
};

#endif // NA_LIB_CAPI_PROGRAM_H
