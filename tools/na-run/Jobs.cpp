//===- Jobs.cpp - Many runs in one process --------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Jobs.h"

#include "CudaRunner.h"
#include "Explain.h"
#include "Print.h"
#include "Runner.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::run;

static llvm::Expected<std::vector<std::string>> parseJob(StringRef line) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
  if (!value)
    return value.takeError();
  const llvm::json::Object *object = value->getAsObject();
  const llvm::json::Array *args = object ? object->getArray("args") : nullptr;
  if (!args)
    return llvm::createStringError(
        "a job must be an object with an array 'args'");
  std::vector<std::string> arguments;
  for (const llvm::json::Value &arg : *args) {
    std::optional<StringRef> text = arg.getAsString();
    if (!text)
      return llvm::createStringError("'args' must hold strings");
    arguments.push_back(text->str());
  }
  return arguments;
}

static llvm::Expected<llvm::json::Object> runJob(StringRef line,
                                                 MLIRContext &context) {
  llvm::Expected<std::vector<std::string>> arguments = parseJob(line);
  if (!arguments)
    return arguments.takeError();
  llvm::Expected<Options> options = parseOptions(*arguments, /*mayExit=*/false);
  if (!options)
    return options.takeError();
  if (!options->jobs.empty())
    return llvm::createStringError("a job cannot hold jobs");
  if (options->emitMLIR) {
    llvm::Expected<std::string> text = printProgram(*options, context);
    if (!text)
      return text.takeError();
    return llvm::json::Object{{"ok", true}, {"mlir", *text}};
  }
  if (options->explain) {
    if (llvm::Error error = chooseChip(*options))
      return std::move(error);
    return explainJSON(*options, context);
  }
  llvm::Expected<Report> report = runProgram(*options, context, /*quiet=*/true);
  if (!report)
    return report.takeError();
  return toJSON(*report);
}

llvm::Expected<bool>
run::runJobs(StringRef path, const DialectRegistry &registry, raw_ostream &os) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(path, &message);
  if (!file)
    return llvm::createStringError(message);
  bool allPassed = true;
  std::unique_ptr<MLIRContext> context;
  int64_t done = 0;
  for (llvm::line_iterator line(*file, /*SkipBlanks=*/true); !line.is_at_end();
       ++line) {
    // A context keeps every type and attribute that it has ever seen; a new one
    // now and then keeps the memory bounded.
    if (done++ % 64 == 0) {
      context = std::make_unique<MLIRContext>(registry,
                                              MLIRContext::Threading::DISABLED);
      context->printOpOnDiagnostic(false);
    }
    llvm::Expected<llvm::json::Object> result = runJob(*line, *context);
    llvm::json::Object json;
    if (result)
      json = std::move(*result);
    else
      json = llvm::json::Object{{"ok", false},
                                {"error", llvm::toString(result.takeError())}};
    json["job"] = line.line_number();
    allPassed &= json.getBoolean("ok").value_or(false);
    os << llvm::json::Value(std::move(json)) << "\n";
    os.flush();
  }
  return allPassed;
}
