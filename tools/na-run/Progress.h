//===- Progress.h - A line that says what is going on -----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_TOOLS_NARUN_PROGRESS_H
#define NA_TOOLS_NARUN_PROGRESS_H

#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace mlir::na::run {

/// A line on standard error that is overwritten, on terminals only.
class Progress {
public:
  explicit Progress(bool quiet)
      : visible(!quiet && llvm::sys::Process::StandardErrIsDisplayed()) {}
  Progress(const Progress &) = delete;
  ~Progress() { clear(); }

  void show(const std::string &text) {
    if (visible)
      llvm::errs() << "\r\033[K" << text;
  }
  void clear() { show(""); }

private:
  bool visible;
};

} // namespace mlir::na::run

#endif // NA_TOOLS_NARUN_PROGRESS_H
