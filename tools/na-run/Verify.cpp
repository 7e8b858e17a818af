//===- Verify.cpp - Compares results with a reference ---------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verify.h"

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::run;

/// The least precise type that an output's values went through.
static ElementType getToleranceType(const HarnessOutput &output,
                                    const Program &program) {
  if (!isFloat(output.type))
    return output.type;
  double own = Tolerance::forTensor(output.type).whole;
  double least = Tolerance::forTensor(program.precision).whole;
  return own > least && !output.isLse ? output.type : program.precision;
}

static Tolerance getTolerance(const HarnessOutput &output,
                              const Program &program, const Options &options) {
  ElementType type = getToleranceType(output, program);
  bool tf32 = options.tf32 && type == ElementType::F32;
  if (output.isLse)
    return tf32 ? Tolerance::forTF32Lse() : Tolerance::forLse(type);
  Tolerance tolerance =
      tf32 ? Tolerance::forTF32() : Tolerance::forTensor(type);
  tolerance.gradient = output.isGradient;
  return tolerance;
}

llvm::Error run::compareOutputs(const Program &program, const Options &options,
                                const Harness &harness,
                                ArrayRef<HostTensor *> results,
                                ArrayRef<HostTensor *> references,
                                Report &report) {
  for (auto [output, result, reference] :
       llvm::zip(harness.getOutputs(), results, references)) {
    OutputCheck check;
    check.name = output.name;
    check.shape = formatShape(result->getShape()) + "x" +
                  getName(result->getType()).str();
    if (result->getShape() != reference->getShape())
      return llvm::createStringError("output '" + output.name + "' has shape " +
                                     check.shape +
                                     ", but the naive lowering gives " +
                                     formatShape(reference->getShape()));
    check.tolerance = getTolerance(output, program, options);
    check.comparison = compare(*result, *reference, check.tolerance);
    report.checks.push_back(std::move(check));
  }
  return llvm::Error::success();
}

llvm::Error run::compareWithHost(const Program &program, StringRef pipeline,
                                 const Options &options,
                                 ArrayRef<HostTensor> inputs,
                                 ArrayRef<HostTensor *> results,
                                 Report &report) {
  llvm::Expected<Compiled> compiled =
      compileForHost(program, pipeline, options, {});
  if (!compiled)
    return compiled.takeError();
  Execution execution;
  llvm::Expected<std::vector<HostTensor>> copies = cloneAll(inputs);
  if (!copies)
    return copies.takeError();
  execution.inputs = std::move(*copies);
  if (llvm::Error error = execute(*compiled, execution))
    return error;
  report.reference = "the " + pipeline.str() + " lowering";
  if (report.gpu)
    report.reference += " on the CPU";
  return compareOutputs(program, options, compiled->harness, results,
                        execution.getOutputs(compiled->harness), report);
}
