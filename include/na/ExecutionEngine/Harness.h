//===- Harness.h - Makes a function callable from the host ------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_EXECUTIONENGINE_HARNESS_H
#define NA_EXECUTIONENGINE_HARNESS_H

#include "mlir/IR/BuiltinOps.h"
#include "na/ExecutionEngine/HostTensor.h"
#include "na/ExecutionEngine/JITModule.h"

#include <string>
#include <vector>

namespace mlir::na {

/// An argument that the host fills.
struct HarnessInput {
  std::string name;
  ElementType type;
  /// A size may be dynamic.
  llvm::SmallVector<int64_t> shape;
  /// The program only writes it: the host fills it with NaN.
  bool destination = false;
  /// A scalar that is passed by value.
  bool byValue = false;
};

/// What the program computes.
struct HarnessOutput {
  std::string name;
  ElementType type;
  llvm::SmallVector<int64_t> shape;
  /// The input that is written in place, for arguments that are memrefs.
  std::optional<unsigned> input;
  /// A log-sum-exp of an attention operation.
  bool isLse = false;
  /// A result of an operation that computes gradients.
  bool isGradient = false;

  /// The program allocates it, since the host cannot know its shape.
  bool isAllocatedByProgram() const;
};

/// Names of arguments and results; those that are missing become `arg0`, .. and
/// `result0`, ...
struct HarnessNames {
  std::vector<std::string> inputs, outputs;
};

/// A tensor in row-major layout, in the memory of the host or of a device.
struct TensorBinding {
  ElementType type;
  llvm::ArrayRef<int64_t> shape;
  void *data = nullptr;
};

/// A function around an entry function, all of whose arguments and results are
/// memrefs in row-major layout that the host owns.
class Harness {
public:
  /// Adds the function to `module`. Scalars become memrefs of rank 0, results
  /// become destinations. Fails on types that the host cannot provide. With
  /// `onDevice`, memrefs are in memory that host code cannot read or write:
  /// arguments that are scalars are passed by value, and there are no results
  /// that are.
  static llvm::Expected<Harness> create(ModuleOp module, llvm::StringRef entry,
                                        const HarnessNames &names,
                                        bool onDevice = false);

  llvm::ArrayRef<HarnessInput> getInputs() const { return inputs; }
  llvm::ArrayRef<HarnessOutput> getOutputs() const { return outputs; }

  /// Passes that have to run before the pipeline of the target, so that results
  /// are computed in the destinations.
  static llvm::StringRef getPreparation();

  /// One binding of the compiled function to tensors, for repeated calls.
  class Call {
  public:
    /// `inputs` has a tensor per input; `outputs` one per output that is
    /// neither an input nor allocated by the program. All must outlive this.
    static llvm::Expected<Call> bind(const Harness &harness,
                                     const JITModule &module,
                                     llvm::MutableArrayRef<HostTensor> inputs,
                                     llvm::MutableArrayRef<HostTensor> outputs);

    /// The same for tensors anywhere. The data of an input that is passed by
    /// value is the address of the value in the memory of the host. Only the
    /// shapes and addresses are kept.
    static llvm::Expected<Call> bind(const Harness &harness,
                                     const JITModule &module,
                                     llvm::ArrayRef<TensorBinding> inputs,
                                     llvm::ArrayRef<TensorBinding> outputs);

    Call(Call &&) = default;

    // For callers that run the program in an environment of their own.
    JITModule::PackedFunction getFunction() const { return function; }
    void **getSlots() { return slots.data(); }
    /// Outputs that the program allocated in the last run: the memref
    /// descriptor of each.
    std::vector<std::pair<HarnessOutput, llvm::ArrayRef<int64_t>>>
    getAllocated() const;
    /// Leaves their memory to the caller.
    void forgetAllocated();

    /// Runs the program once. Outputs that the program allocated in the run
    /// before are freed.
    void run();

    /// Copies the outputs that the program allocated in the last run.
    llvm::Expected<std::vector<HostTensor>> takeAllocated();

    ~Call() { freeAllocated(); }

  private:
    Call() = default;
    void freeAllocated();

    JITModule::PackedFunction function = nullptr;
    std::vector<HarnessOutput> allocated;
    /// Descriptors, then pointers to them, then pointers to those; a value
    /// itself in place of a descriptor has one step less.
    std::vector<llvm::SmallVector<int64_t>> descriptors;
    std::vector<bool> byValue;
    std::vector<int64_t> returned;
    std::vector<void *> values, slots;
  };

private:
  std::vector<HarnessInput> inputs;
  std::vector<HarnessOutput> outputs;
};

/// The entry of `module`: `name`, or the only public function with a body, or
/// `main` if `name` is empty.
llvm::Expected<std::string> findEntry(ModuleOp module, llvm::StringRef name);

} // namespace mlir::na

#endif // NA_EXECUTIONENGINE_HARNESS_H
