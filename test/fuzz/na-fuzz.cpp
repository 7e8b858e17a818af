//===- na-fuzz.cpp - Fuzzes parser, verifiers and pipelines -----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A libFuzzer target: whatever text comes in, the parser, the verifiers and the
// pipelines answer with success or with a diagnostic. Beyond not crashing, two
// properties hold for each module that the verifiers accept: what the printer
// prints parses again to the same text, and a pipeline that succeeds leaves a
// module that verifies.
//
//===----------------------------------------------------------------------===//

#include "Mutator.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "na/Dialect/NA/IR/NA.h"
#include "na/InitAll.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <cstring>

using namespace mlir;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

static constexpr const char *pipelines[] = {
    "canonicalize,cse",
    "na-to-cpu{mode=naive parallel=false}",
    "na-to-cpu{mode=unfused}",
    "na-to-cpu{mode=fused}",
    "na-to-cpu{query-tile=4 key-tile=8 vector-bits=256 registers=16}",
};

[[noreturn]] static void fail(const llvm::Twine &what) {
  llvm::errs() << "na-fuzz: " << what << "\n";
  std::abort();
}

// What the run reached; a fuzzer whose inputs are all rejected checks nothing.
static struct {
  size_t inputs = 0, accepted = 0, pipelines = 0;
} reached;

static std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  return text;
}

static const DialectRegistry &getRegistry() {
  static const DialectRegistry registry = [] {
    mlir::na::registerAllPasses();
    DialectRegistry result;
    mlir::na::registerAllDialects(result);
    return result;
  }();
  return registry;
}

static void checkRoundTrip(ModuleOp module) {
  std::string text = print(module);
  OwningOpRef<ModuleOp> again =
      parseSourceString<ModuleOp>(text, module.getContext());
  if (!again)
    fail("the printed module does not parse:\n" + text);
  if (print(*again) != text)
    fail("printing changed the module:\n" + text + "\nbecame\n" +
         print(*again));
}

static void checkPipeline(ModuleOp module, llvm::StringRef pipeline) {
  PassManager manager(module.getContext());
  manager.enableVerifier(true);
  if (failed(parsePassPipeline(pipeline, manager, llvm::errs())))
    fail("unknown pipeline: " + pipeline);
  OwningOpRef<ModuleOp> clone = module.clone();
  if (failed(manager.run(*clone)))
    return;
  if (failed(verify(*clone)))
    fail("pipeline left an invalid module: " + pipeline);
  ++reached.pipelines;
}

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  std::atexit([] {
    llvm::errs() << "na-fuzz: " << reached.inputs << " inputs, "
                 << reached.accepted << " valid programs with na operations, "
                 << reached.pipelines << " runs of pipelines succeeded\n";
  });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ++reached.inputs;
  // The lexer reads up to a terminating zero.
  std::string text(reinterpret_cast<const char *>(data), size);
  MLIRContext context(getRegistry(), MLIRContext::Threading::DISABLED);
  // A rejected input is a right answer; its message must exist and is dropped.
  size_t numErrors = 0;
  context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      ++numErrors;
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  // -1 keeps an input out of the corpus: changes to a valid program reach
  // further than changes to a broken one.
  if (!module) {
    if (!numErrors)
      fail("rejected without a message");
    return -1;
  }
  bool holdsNAOps =
      module
          ->walk([](Operation *op) {
            return isa_and_nonnull<mlir::na::NADialect>(op->getDialect())
                       ? WalkResult::interrupt()
                       : WalkResult::advance();
          })
          .wasInterrupted();
  if (!holdsNAOps)
    return -1;
  ++reached.accepted;
  checkRoundTrip(*module);
  for (const char *pipeline : pipelines)
    checkPipeline(*module, pipeline);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  // Some raw bytes keep the lexer honest.
  if (seed % 8 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::string text = ::na::fuzz::mutate(
      std::string(reinterpret_cast<char *>(data), size), seed / 8);
  text.resize(std::min(text.size(), maxSize));
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
