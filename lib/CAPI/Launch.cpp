//===- Launch.cpp - Launches behind the C API -----------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::capi;
namespace cuda = ::na::cuda;

namespace {

/// What PackedFunction takes: for each argument a slot that points to a pointer
/// to its descriptor, or to its value.
class Arguments {
public:
  explicit Arguments(const NaProgram &program) : program(program) {
    size_t count = 0;
    for (const Argument &argument : program.arguments)
      count += 3 + 2 * argument.shape.size();
    // Pointers into `words` must stay.
    words.reserve(count);
    values.reserve(program.arguments.size());
  }

  void add(const Argument &argument, void *data, ArrayRef<int64_t> shape) {
    int64_t *start = words.end();
    if (argument.kind == NA_ARGUMENT_VALUE) {
      words.push_back(0);
      std::memcpy(start, data, getByteWidth(argument.type));
      values.push_back(nullptr);
      slots.push_back(start);
      return;
    }
    auto address = static_cast<int64_t>(reinterpret_cast<intptr_t>(data));
    words.append({address, address, 0});
    words.append(shape.begin(), shape.end());
    size_t strides = words.size();
    words.append(shape.size(), 1);
    for (size_t axis = shape.size(); axis-- > 1;)
      words[strides + axis - 1] = words[strides + axis] * shape[axis];
    values.push_back(start);
    slots.push_back(&values.back());
  }

  NaStatus launch(void *stream, cuda::Workspace workspace = {}) {
    if (program.host) {
      program.function(slots.data());
      return ok();
    }
    return makeStatus(program.cuda->call(
        program.function, slots.data(), static_cast<cuda::StreamHandle>(stream),
        /*afterwards=*/{}, workspace));
  }

  size_t measureWorkspace() {
    return program.cuda->measureWorkspace(program.function, slots.data());
  }

private:
  const NaProgram &program;
  SmallVector<int64_t, 96> words;
  SmallVector<void *, 8> values, slots;
};

} // namespace

static NaStatus checkLaunch(const NaProgram *program, const void *list,
                            int32_t count) {
  if (!program)
    return makeStatus(NA_INVALID_ARGUMENT, "program: null");
  if (!program->loaded)
    return makeStatus(NA_INVALID_ARGUMENT,
                      "program: was compiled without a device, so it cannot be "
                      "launched");
  if (count != naProgramGetNumArguments(program))
    return makeStatus(NA_INVALID_ARGUMENT,
                      llvm::formatv("count: the program has {0} arguments, not "
                                    "{1}",
                                    program->arguments.size(), count)
                          .str());
  if (!list && count)
    return makeStatus(NA_INVALID_ARGUMENT, "the list of arguments is null");
  return ok();
}

/// Addresses on the host; CudaProgram::checkTensor does it for a device.
static NaStatus checkAddress(const Argument &argument, const void *data,
                             bool empty) {
  if (!data && !empty)
    return makeStatus(NA_INVALID_ARGUMENT,
                      "argument '" + argument.name + "': the address is null");
  auto width = static_cast<uintptr_t>(getByteWidth(argument.type));
  if (reinterpret_cast<uintptr_t>(data) % width)
    return makeStatus(NA_INVALID_ARGUMENT,
                      llvm::formatv("argument '{0}': address {1} is not a "
                                    "multiple of {2} bytes, one element",
                                    argument.name, data, width)
                          .str());
  return ok();
}

static NaStatus checkTensor(const NaProgram &program, const Argument &argument,
                            const NaTensor &tensor) {
  auto fail = [&](const llvm::Twine &what) {
    return makeStatus(NA_INVALID_ARGUMENT,
                      "argument '" + argument.name + "': " + what);
  };
  std::optional<ElementType> type = getTypeOfCode(tensor.type);
  if (type != argument.type)
    return fail("the element type must be " + getName(argument.type) +
                ", not " +
                (type ? getName(*type).str()
                      : "type code " + std::to_string(tensor.type)));
  size_t rank = argument.shape.size();
  if (tensor.rank < 0 || static_cast<size_t>(tensor.rank) != rank)
    return fail("the rank must be " + llvm::Twine(rank) + " (" +
                formatShape(argument.shape) + "), not " +
                llvm::Twine(tensor.rank));
  if (rank && !tensor.shape)
    return fail("the shape is null");
  ArrayRef<int64_t> shape(tensor.shape, rank);
  bool empty = false;
  for (size_t axis = 0; axis < rank; ++axis) {
    int64_t wanted = argument.shape[axis];
    if (shape[axis] < 0 ||
        (!ShapedType::isDynamic(wanted) && shape[axis] != wanted))
      return fail("axis " + llvm::Twine(axis) + " has size " +
                  llvm::Twine(shape[axis]) + "; the shape must be " +
                  formatShape(argument.shape));
    empty |= shape[axis] == 0;
  }
  if (tensor.strides && !empty) {
    SmallVector<int64_t> wanted = getRowMajorStrides(shape);
    for (size_t axis = 0; axis < rank; ++axis)
      if (shape[axis] > 1 && tensor.strides[axis] != wanted[axis])
        return fail("axis " + llvm::Twine(axis) + " has stride " +
                    llvm::Twine(tensor.strides[axis]) +
                    "; a tensor must be row-major, which is " +
                    llvm::Twine(wanted[axis]) + " there");
  }
  NaStatus status = checkAddress(argument, tensor.data, empty);
  if (status.code != NA_OK || program.host ||
      argument.kind == NA_ARGUMENT_VALUE)
    return status;
  return makeStatus(program.cuda->checkTensor(
      argument.name.c_str(), {argument.type, shape, tensor.data}));
}

NaStatus naLaunch(const NaProgram *program, const NaTensor *tensors,
                  int32_t count, void *stream) {
  NaStatus status = checkLaunch(program, tensors, count);
  if (status.code != NA_OK)
    return status;
  Arguments arguments(*program);
  for (auto [argument, tensor] :
       llvm::zip(program->arguments, ArrayRef(tensors, count))) {
    status = checkTensor(*program, argument, tensor);
    if (status.code != NA_OK)
      return status;
    arguments.add(argument, tensor.data,
                  ArrayRef(tensor.shape, argument.shape.size()));
  }
  return arguments.launch(stream);
}

size_t capi::measureWorkspace(const NaProgram &program) {
  // Any address that is not null and aligned.
  constexpr uintptr_t somewhere = uintptr_t(1) << 36;
  Arguments arguments(program);
  for (const Argument &argument : program.arguments)
    arguments.add(argument, reinterpret_cast<void *>(somewhere),
                  argument.shape);
  return arguments.measureWorkspace();
}

static NaStatus launchAddresses(const NaProgram *program,
                                void *const *addresses, int32_t count,
                                cuda::Workspace workspace, void *stream) {
  NaStatus status = checkLaunch(program, addresses, count);
  if (status.code != NA_OK)
    return status;
  if (!program->staticSizes)
    return makeStatus(NA_INVALID_ARGUMENT,
                      "program: has dynamic sizes; naLaunch takes them");
  Arguments arguments(*program);
  for (auto [argument, address] :
       llvm::zip(program->arguments, ArrayRef(addresses, count))) {
    status = checkAddress(argument, address, argument.bytes == 0);
    if (status.code != NA_OK)
      return status;
    arguments.add(argument, address, argument.shape);
  }
  return arguments.launch(stream, workspace);
}

NaStatus naLaunchAddresses(const NaProgram *program, void *const *addresses,
                           int32_t count, void *stream) {
  return launchAddresses(program, addresses, count, {}, stream);
}

int64_t naProgramGetWorkspaceSize(const NaProgram *program) {
  return program ? static_cast<int64_t>(program->workspaceBytes) : 0;
}

NaStatus naLaunchInWorkspace(const NaProgram *program, void *const *addresses,
                             int32_t count, void *workspace, int64_t bytes,
                             void *stream) {
  if (program && program->workspaceBytes) {
    auto needed = static_cast<int64_t>(program->workspaceBytes);
    if (!workspace)
      return makeStatus(NA_INVALID_ARGUMENT, "workspace: null");
    if (bytes < needed)
      return makeStatus(NA_INVALID_ARGUMENT,
                        llvm::formatv("bytes: {0} is less than the {1} of the "
                                      "program's workspace",
                                      bytes, needed)
                            .str());
    if (reinterpret_cast<uintptr_t>(workspace) % cuda::Arena::alignment)
      return makeStatus(NA_INVALID_ARGUMENT,
                        llvm::formatv("workspace: address {0} is not a "
                                      "multiple of {1} bytes",
                                      workspace, cuda::Arena::alignment)
                            .str());
    return launchAddresses(program, addresses, count,
                           {workspace, program->workspaceBytes}, stream);
  }
  return launchAddresses(program, addresses, count, {}, stream);
}
