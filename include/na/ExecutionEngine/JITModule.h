//===- JITModule.h - A module compiled into this process --------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_EXECUTIONENGINE_JITMODULE_H
#define NA_EXECUTIONENGINE_JITMODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace mlir {
class PassManager;
} // namespace mlir

namespace na::runtime {
struct Symbol;
} // namespace na::runtime

namespace mlir::na {

struct JITOptions {
  /// The passes that take the module to the LLVM dialect, in the textual form,
  /// with or without `builtin.module(..)` around them.
  std::string pipeline;
  /// Called on the pass manager before it runs, to add instrumentation.
  std::function<void(PassManager &)> configurePasses;
  /// Called on the module after the passes, to take out what is not for the
  /// host.
  std::function<llvm::Error(ModuleOp)> afterPasses;
  /// Symbols that the code may use beside those of the run time, and in place
  /// of those of the same name; ends with an entry without a name.
  const ::na::runtime::Symbol *symbols = nullptr;
  /// LLVM's optimization level, 0 to 3.
  int optLevel = 3;
};

/// Where the time of a compilation went, in seconds.
struct CompileTimes {
  double passes = 0;    ///< MLIR passes.
  double translate = 0; ///< MLIR to LLVM IR.
  double optimize = 0;  ///< LLVM's middle end.
  double codegen = 0;   ///< LLVM's back end.
  double link = 0;      ///< Loading into this process.
  double total() const {
    return passes + translate + optimize + codegen + link;
  }
};

/// Machine code for this host, not loaded yet.
struct ObjectCode {
  std::string bytes;
  /// The functions that JITModule::lookup finds.
  std::vector<std::string> functions;
};

/// A module compiled for the host and loaded into this process.
///
/// Every public `func.func` with a body can be called. Memrefs are passed as
/// descriptors (HostTensor::getDescriptor), scalars by value.
class JITModule {
public:
  /// Takes a pointer per argument to where the argument's value is, then, for a
  /// function that returns a scalar, one to where the result goes. The value of
  /// a memref is a pointer to its descriptor. Results that are memrefs come
  /// first: one pointer to a struct of descriptors.
  using PackedFunction = void (*)(void **);

  ~JITModule();

  /// Compiles `module`, which the passes rewrite. Diagnostics of errors become
  /// the text of the returned error.
  static llvm::Expected<std::unique_ptr<JITModule>>
  compile(ModuleOp module, const JITOptions &options);

  /// The two halves of compile(). Both add to `times`.
  static llvm::Expected<ObjectCode> compileToObject(ModuleOp module,
                                                    const JITOptions &options,
                                                    CompileTimes &times);
  static llvm::Expected<std::unique_ptr<JITModule>>
  load(const ObjectCode &code, const ::na::runtime::Symbol *symbols,
       CompileTimes &times);

  /// Finds a function. It lives as long as this object.
  llvm::Expected<PackedFunction> lookup(llvm::StringRef function) const;

  /// Calls `function` with memref descriptors; see PackedFunction for the order
  /// where there are results.
  llvm::Error invoke(llvm::StringRef function,
                     llvm::ArrayRef<void *> descriptors) const;

  const CompileTimes &getTimes() const { return times; }

private:
  JITModule();

  std::unique_ptr<llvm::orc::LLJIT> jit;
  CompileTimes times;
};

/// The name of the host's CPU, for reports.
std::string getHostCPU();

/// The host's CPU and all of its features: code for one is not for another.
std::string getHostTarget();

} // namespace mlir::na

#endif // NA_EXECUTIONENGINE_JITMODULE_H
