//===- Explain.h - Explains the schedules of a program ----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_TOOLS_NARUN_EXPLAIN_H
#define NA_TOOLS_NARUN_EXPLAIN_H

#include "Options.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/JSON.h"

namespace mlir::na::run {

/// The ranking of schedules of each operation that takes one, as text or as
/// JSON. A program for a GPU needs `options.chip`. Writes `options.svgFile`.
llvm::Expected<std::string> explainText(const Options &options,
                                        MLIRContext &context);
llvm::Expected<llvm::json::Object> explainJSON(const Options &options,
                                               MLIRContext &context);

/// Writes to standard output if `path` is empty.
llvm::Error writeFile(StringRef path, const llvm::Twine &text);

/// Prints `json` to standard output, or to the file of the options.
llvm::Error writeJSON(const Options &options, llvm::json::Object json);

/// Explains to standard output or the file of the options.
llvm::Error explainProgram(const Options &options, MLIRContext &context);

} // namespace mlir::na::run

#endif // NA_TOOLS_NARUN_EXPLAIN_H
