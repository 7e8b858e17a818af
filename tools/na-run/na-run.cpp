//===- na-run.cpp - Runs neighborhood attention programs ------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaRunner.h"
#include "Explain.h"
#include "Jobs.h"
#include "Options.h"
#include "Print.h"
#include "Runner.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "na/InitAll.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::run;

static llvm::Expected<bool> runTool(ArrayRef<std::string> arguments,
                                    const DialectRegistry &registry) {
  llvm::Expected<Options> options = parseOptions(arguments, /*mayExit=*/true);
  if (!options)
    return options.takeError();
  if (!options->jobs.empty())
    return runJobs(options->jobs, registry, llvm::outs());
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  if (options->emitMLIR) {
    llvm::Expected<std::string> text = printProgram(*options, context);
    if (!text)
      return text.takeError();
    llvm::outs() << *text;
    return true;
  }
  if (options->explain) {
    if (llvm::Error error = chooseChip(*options))
      return std::move(error);
    if (llvm::Error error = explainProgram(*options, context))
      return std::move(error);
    return true;
  }
  llvm::Expected<Report> report =
      runProgram(*options, context, /*quiet=*/false);
  if (!report) {
    llvm::Error error = report.takeError();
    if (!options->json)
      return std::move(error);
    std::string message = llvm::toString(std::move(error));
    if (llvm::Error unwritten = writeJSON(
            *options, llvm::json::Object{{"ok", false}, {"error", message}}))
      llvm::consumeError(std::move(unwritten));
    return llvm::createStringError(message);
  }
  // Text and JSON do not mix on one stream.
  if (!options->json || !options->jsonFile.empty())
    printText(*report, llvm::outs());
  if (options->json)
    if (llvm::Error error = writeJSON(*options, toJSON(*report)))
      return std::move(error);
  if (!report->passed())
    return llvm::createStringError("verification failed");
  return true;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
#ifdef __GLIBC__
  // Programs allocate their temporaries in each run; without these, large ones
  // are mapped and unmapped every time, and page faults dominate small layers.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
  registerPipelinePasses();
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllToLLVMIRTranslations(registry);
  llvm::Expected<bool> passed =
      runTool(std::vector<std::string>(argv + 1, argv + argc), registry);
  if (!passed) {
    llvm::WithColor::error(llvm::errs(), "na-run")
        << llvm::toString(passed.takeError()) << "\n";
    return 1;
  }
  return *passed ? 0 : 1;
}
