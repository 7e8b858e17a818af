//===- Execution.cpp - Programs bound to tensors --------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execution.h"

#include "Npy.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "na/Pipelines/Pipelines.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::run;

/// Whether the text of a pipeline has the pass `name`.
static bool hasPass(StringRef pipeline, StringRef name) {
  for (size_t at = pipeline.find(name); at != StringRef::npos;
       at = pipeline.find(name, at + 1)) {
    StringRef before = pipeline.take_front(at);
    StringRef after = pipeline.drop_front(at + name.size());
    if ((before.empty() || StringRef("(,").contains(before.back())) &&
        (after.empty() || StringRef(",){").contains(after.front())))
      return true;
  }
  return false;
}

llvm::Error run::checkPassNames(const Options &options, MLIRContext &context) {
  if (options.printAfter.empty())
    return llvm::Error::success();
  PassManager manager(&context);
  std::string text = llvm::formatv(
      "{0},{1}{{mode={2}}", Harness::getPreparation(),
      options.cuda ? "na-to-nvvm" : "na-to-cpu", options.pipeline);
  if (failed(parsePassPipeline(text, manager)))
    return llvm::createStringError("invalid pass pipeline '" + text + "'");
  std::string pipeline;
  llvm::raw_string_ostream os(pipeline);
  manager.printAsTextualPipeline(os);
  for (const std::string &name : options.printAfter)
    if (name != "all" && !hasPass(pipeline, name))
      return llvm::createStringError("--print-ir-after: there is no pass '" +
                                     name + "' in the pipeline");
  return llvm::Error::success();
}

std::function<void(PassManager &)>
run::getPassPrinting(ArrayRef<std::string> after) {
  if (after.empty())
    return {};
  return [after](PassManager &manager) {
    auto wanted = [after](Pass *pass, Operation *) {
      return llvm::is_contained(after, "all") ||
             llvm::is_contained(after, pass->getArgument());
    };
    manager.enableIRPrinting(nullptr, wanted, /*printModuleScope=*/true,
                             /*printAfterOnlyOnChange=*/false);
  };
}

llvm::Expected<Compiled> run::compileForHost(const Program &program,
                                             StringRef pipeline,
                                             const Options &runOptions,
                                             ArrayRef<std::string> printAfter) {
  OwningOpRef<ModuleOp> module(program.module.get().clone());
  llvm::Expected<Harness> harness =
      Harness::create(*module, program.entry, program.names);
  if (!harness)
    return harness.takeError();
  JITOptions options;
  options.optLevel = runOptions.optLevel;
  options.pipeline = llvm::formatv(
      "{0},na-to-cpu{{mode={1} vector-bits={2} schedule-target={3}{4}}",
      Harness::getPreparation(), pipeline, runOptions.vectorBits,
      runOptions.scheduleTarget, formatTuningFileOption(runOptions.tuningFile));
  options.configurePasses = getPassPrinting(printAfter);
  llvm::Expected<std::unique_ptr<JITModule>> jit =
      JITModule::compile(*module, options);
  if (!jit)
    return llvm::createStringError(
        pipeline + " pipeline: " + llvm::toString(jit.takeError()));
  return Compiled{std::move(*harness), std::move(*jit)};
}

namespace {
template <typename Ports>
std::string listNames(const Ports &ports) {
  std::string text;
  for (const auto &port : ports)
    text += (text.empty() ? "" : ", ") + port.name;
  return text.empty() ? "none" : text;
}

template <typename Ports>
llvm::Error checkPortNames(const std::map<std::string, std::string> &files,
                           const Ports &ports, const char *option) {
  for (const auto &[name, path] : files)
    if (llvm::none_of(
            ports, [&, &name = name](auto &port) { return port.name == name; }))
      return llvm::createStringError(
          llvm::formatv("--{0}: the program has no '{1}'; it has: {2}", option,
                        name, listNames(ports)));
  return llvm::Error::success();
}

} // namespace

llvm::Error run::checkNames(const Harness &harness, const Options &options) {
  if (llvm::Error error =
          checkPortNames(options.inputs, harness.getInputs(), "inputs"))
    return error;
  return checkPortNames(options.outputs, harness.getOutputs(), "outputs");
}

llvm::Expected<std::vector<HostTensor>>
run::makeInputs(const Harness &harness, const Program &program,
                const Options &options, MutableArrayRef<HostTensor> computed) {
  std::vector<HostTensor> tensors;
  uint64_t index = 0;
  for (const HarnessInput &input : harness.getInputs()) {
    // Far apart, so that the inputs of near seeds have nothing in common.
    uint64_t seed = options.seed * 1000003 + index++;
    if (auto file = options.inputs.find(input.name);
        file != options.inputs.end()) {
      llvm::Expected<HostTensor> tensor =
          readNpy(file->second, input.name, input.type);
      if (!tensor)
        return tensor.takeError();
      tensors.push_back(std::move(*tensor));
      continue;
    }
    auto *result = llvm::find_if(computed, [&](const HostTensor &tensor) {
      return tensor.getName() == input.name;
    });
    if (result != computed.end()) {
      tensors.push_back(std::move(*result));
      continue;
    }
    SmallVector<int64_t> shape = input.shape;
    if (auto known = program.shapes.find(input.name);
        known != program.shapes.end())
      shape = known->second;
    if (ShapedType::isDynamicShape(shape))
      return llvm::createStringError(
          "input '" + input.name + "' of shape " + formatShape(shape) +
          " has dynamic sizes; give a file by --inputs=" + input.name +
          "=file.npy");
    llvm::Expected<HostTensor> tensor =
        HostTensor::allocate(input.name, input.type, shape);
    if (!tensor)
      return tensor.takeError();
    if (input.destination)
      tensor->poison();
    else
      tensor->fillRandom(seed);
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

llvm::Expected<std::vector<HostTensor>>
run::makeDestinations(const Harness &harness) {
  std::vector<HostTensor> tensors;
  for (const HarnessOutput &output : harness.getOutputs()) {
    if (output.input || output.isAllocatedByProgram())
      continue;
    llvm::Expected<HostTensor> tensor =
        HostTensor::allocate(output.name, output.type, output.shape);
    if (!tensor)
      return tensor.takeError();
    tensor->poison();
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

llvm::Expected<std::vector<HostTensor>>
run::cloneAll(ArrayRef<HostTensor> tensors) {
  std::vector<HostTensor> copies;
  for (const HostTensor &tensor : tensors) {
    llvm::Expected<HostTensor> copy = tensor.clone();
    if (!copy)
      return copy.takeError();
    copies.push_back(std::move(*copy));
  }
  return copies;
}

llvm::Error run::execute(const Compiled &compiled, Execution &execution) {
  llvm::Expected<std::vector<HostTensor>> destinations =
      makeDestinations(compiled.harness);
  if (!destinations)
    return destinations.takeError();
  execution.destinations = std::move(*destinations);
  llvm::Expected<Harness::Call> call =
      Harness::Call::bind(compiled.harness, *compiled.module, execution.inputs,
                          execution.destinations);
  if (!call)
    return call.takeError();
  execution.call.emplace(std::move(*call));
  execution.call->run();
  llvm::Expected<std::vector<HostTensor>> allocated =
      execution.call->takeAllocated();
  if (!allocated)
    return allocated.takeError();
  execution.allocated = std::move(*allocated);
  return llvm::Error::success();
}

std::vector<HostTensor> run::takeOutputs(const Harness &harness,
                                         Execution &execution) {
  std::vector<HostTensor> outputs;
  for (HostTensor *output : execution.getOutputs(harness))
    outputs.push_back(std::move(*output));
  return outputs;
}

llvm::Expected<std::vector<HostTensor>>
run::runForwardOnHost(const Program &program, const Options &options) {
  if (!program.forward)
    return std::vector<HostTensor>();
  llvm::Expected<Compiled> compiled =
      compileForHost(*program.forward, options.pipeline, options, {});
  if (!compiled)
    return compiled.takeError();
  Execution execution;
  llvm::Expected<std::vector<HostTensor>> inputs =
      makeInputs(compiled->harness, *program.forward, options);
  if (!inputs)
    return inputs.takeError();
  execution.inputs = std::move(*inputs);
  if (llvm::Error error = execute(*compiled, execution))
    return std::move(error);
  return takeOutputs(compiled->harness, execution);
}

llvm::Expected<std::vector<std::string>>
run::writeOutputs(const Harness &harness, ArrayRef<HostTensor *> results,
                  const Options &options) {
  std::vector<std::string> written;
  for (auto [output, result] : llvm::zip(harness.getOutputs(), results)) {
    auto file = options.outputs.find(output.name);
    if (file == options.outputs.end())
      continue;
    if (llvm::Error error = writeNpy(file->second, *result))
      return std::move(error);
    written.push_back(output.name + " to " + file->second);
  }
  return written;
}
