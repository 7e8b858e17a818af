//===- Diagnostics.cpp - Diagnostics as text ------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/ExecutionEngine/Diagnostics.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::na;

static void print(Diagnostic &diagnostic, llvm::raw_ostream &os) {
  if (auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
    os << place.getFilename().getValue() << ":" << place.getLine() << ":"
       << place.getColumn() << ": ";
  if (diagnostic.getSeverity() == DiagnosticSeverity::Note)
    os << "note: ";
  os << diagnostic.str();
}

ErrorCollector::ErrorCollector(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) -> LogicalResult {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return failure();
        std::lock_guard<std::mutex> lock(mutex);
        llvm::raw_string_ostream os(text);
        if (!text.empty())
          os << "\n";
        print(diagnostic, os);
        for (Diagnostic &note : diagnostic.getNotes()) {
          os << "\n";
          print(note, os);
        }
        return success();
      }) {}

std::string ErrorCollector::take(llvm::StringRef otherwise) {
  std::lock_guard<std::mutex> lock(mutex);
  std::string taken = text.empty() ? otherwise.str() : std::move(text);
  text.clear();
  return taken;
}
