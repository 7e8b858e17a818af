//===- Execution.h - Programs bound to tensors ------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_TOOLS_NARUN_EXECUTION_H
#define NA_TOOLS_NARUN_EXECUTION_H

#include "Options.h"
#include "Program.h"
#include "na/ExecutionEngine/JITModule.h"

namespace mlir::na::run {

/// Fails if a pass to print after is not in the pipeline.
llvm::Error checkPassNames(const Options &options, MLIRContext &context);

/// What prints the program after some passes; empty if there are none.
std::function<void(PassManager &)>
getPassPrinting(llvm::ArrayRef<std::string> after);

/// A program compiled for the host by one pipeline.
struct Compiled {
  Harness harness;
  std::unique_ptr<JITModule> module;
};

llvm::Expected<Compiled> compileForHost(const Program &program,
                                        llvm::StringRef pipeline,
                                        const Options &options,
                                        llvm::ArrayRef<std::string> printAfter);

/// Fails if the options name inputs or outputs that the program does not have.
llvm::Error checkNames(const Harness &harness, const Options &options);

/// Reads or generates the inputs. Those of the names of `computed` are taken
/// from there.
llvm::Expected<std::vector<HostTensor>>
makeInputs(const Harness &harness, const Program &program,
           const Options &options,
           llvm::MutableArrayRef<HostTensor> computed = {});

/// Tensors for the results whose shapes are known, full of NaN.
llvm::Expected<std::vector<HostTensor>>
makeDestinations(const Harness &harness);

llvm::Expected<std::vector<HostTensor>>
cloneAll(llvm::ArrayRef<HostTensor> tensors);

/// A compiled program bound to its tensors. On a GPU these are copies.
struct Execution {
  std::vector<HostTensor> inputs, destinations, allocated;
  std::optional<Harness::Call> call;

  /// The tensors of the outputs, in order.
  std::vector<HostTensor *> getOutputs(const Harness &harness) {
    std::vector<HostTensor *> outputs;
    size_t destination = 0, own = 0;
    for (const HarnessOutput &output : harness.getOutputs())
      outputs.push_back(output.input ? &inputs[*output.input]
                        : output.isAllocatedByProgram()
                            ? &allocated[own++]
                            : &destinations[destination++]);
    return outputs;
  }
};

/// Runs `compiled` once on the inputs of `execution`.
llvm::Error execute(const Compiled &compiled, Execution &execution);

/// Runs the program that comes before a backward, if there is one; returns its
/// results.
llvm::Expected<std::vector<HostTensor>>
runForwardOnHost(const Program &program, const Options &options);

/// Moves the outputs of an execution out, with their names.
std::vector<HostTensor> takeOutputs(const Harness &harness,
                                    Execution &execution);

/// Writes the outputs that the options ask for; returns what to report.
llvm::Expected<std::vector<std::string>>
writeOutputs(const Harness &harness, llvm::ArrayRef<HostTensor *> results,
             const Options &options);

} // namespace mlir::na::run

#endif // NA_TOOLS_NARUN_EXECUTION_H
