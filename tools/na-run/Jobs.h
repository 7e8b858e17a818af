//===- Jobs.h - Many runs in one process ------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_TOOLS_NARUN_JOBS_H
#define NA_TOOLS_NARUN_JOBS_H

#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::na::run {

/// Runs the jobs of a file, one JSON object `{"args": [..]}` a line, as if each
/// was called alone, and prints a line of JSON for each: its report, or
/// `{"ok": false, "error": ".."}`. Returns whether all of them succeeded; fails
/// only if the file cannot be read.
llvm::Expected<bool> runJobs(llvm::StringRef path,
                             const DialectRegistry &registry,
                             llvm::raw_ostream &os);

} // namespace mlir::na::run

#endif // NA_TOOLS_NARUN_JOBS_H
