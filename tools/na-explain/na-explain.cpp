//===- na-explain.cpp - Explains which schedule is selected ---------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Explain.h"
#include "Options.h"

#include "mlir/IR/MLIRContext.h"
#include "na/InitAll.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::run;

static llvm::Error runTool(ArrayRef<std::string> arguments,
                           const DialectRegistry &registry) {
  llvm::Expected<Options> options =
      parseOptions(arguments, /*mayExit=*/true, Tool::Explain);
  if (!options)
    return options.takeError();
  if (!options->jobs.empty())
    return llvm::createStringError("--jobs is for na-run");
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  return explainProgram(*options, context);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  DialectRegistry registry;
  registerAllDialects(registry);
  if (llvm::Error error =
          runTool(std::vector<std::string>(argv + 1, argv + argc), registry)) {
    llvm::WithColor::error(llvm::errs(), "na-explain")
        << llvm::toString(std::move(error)) << "\n";
    return 1;
  }
  return 0;
}
