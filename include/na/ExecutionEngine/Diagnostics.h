//===- Diagnostics.h - Diagnostics as text ----------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_EXECUTIONENGINE_DIAGNOSTICS_H
#define NA_EXECUTIONENGINE_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringRef.h"

#include <mutex>
#include <string>

namespace mlir::na {

/// While it lives, takes the error diagnostics of a context, with their notes,
/// and keeps them as text. Warnings and remarks go on to other handlers.
class ErrorCollector {
public:
  explicit ErrorCollector(MLIRContext *context);

  /// The text so far, which is forgotten; `otherwise` if there is none.
  std::string take(llvm::StringRef otherwise);

private:
  // Passes may run on several threads.
  std::mutex mutex;
  std::string text;
  ScopedDiagnosticHandler handler;
};

} // namespace mlir::na

#endif // NA_EXECUTIONENGINE_DIAGNOSTICS_H
