//===- Print.h - Reports as text and as JSON --------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_TOOLS_NARUN_PRINT_H
#define NA_TOOLS_NARUN_PRINT_H

#include "Runner.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::na::run {

void printText(const Report &report, llvm::raw_ostream &os);
llvm::json::Object toJSON(const Report &report);

} // namespace mlir::na::run

#endif // NA_TOOLS_NARUN_PRINT_H
