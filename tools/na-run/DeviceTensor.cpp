//===- DeviceTensor.cpp - Tensors in the memory of a GPU ------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceTensor.h"

#include "na/ExecutionEngine/CudaProgram.h"

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::run;
namespace cuda = ::na::cuda;

/// Bytes of a guard; keeps the alignment of the allocation.
static constexpr size_t guardBytes = 4096;
/// A NaN in every float type.
static constexpr uint8_t guardByte = 0xff;

llvm::Expected<DeviceTensor> DeviceTensor::upload(cuda::Device &device,
                                                  const HostTensor &tensor) {
  DeviceTensor copy;
  copy.name = tensor.getName().str();
  copy.type = tensor.getType();
  copy.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  copy.bytes = static_cast<size_t>(tensor.getNumBytes());
  auto fail = [&](const ::na::runtime::Error &error) {
    return toLLVMError(error.withPrefix("'" + copy.name + "'"));
  };
  auto buffer = device.allocate(copy.bytes + 2 * guardBytes);
  if (!buffer)
    return fail(buffer.error());
  copy.buffer = std::move(*buffer);
  char *start = static_cast<char *>(copy.buffer.data());
  char *data = start + guardBytes;
  for (char *guard : {start, data + copy.bytes})
    if (auto error = device.fill(guard, guardByte, guardBytes))
      return fail(error);
  if (auto error = device.copyToDevice(data, tensor.getData(), copy.bytes))
    return fail(error);
  return copy;
}

TensorBinding DeviceTensor::getBinding() const {
  return {type, shape, static_cast<char *>(buffer.data()) + guardBytes};
}

llvm::Error DeviceTensor::download(HostTensor &tensor) const {
  return toLLVMError(
      buffer.device()->copyToHost(tensor.getData(), getBinding().data, bytes));
}

llvm::Error DeviceTensor::checkGuards() const {
  uint8_t guard[guardBytes];
  const char *start = static_cast<const char *>(buffer.data());
  for (bool after : {false, true}) {
    const char *from = after ? start + guardBytes + bytes : start;
    if (auto error = buffer.device()->copyToHost(guard, from, guardBytes))
      return toLLVMError(error);
    for (size_t i = 0; i < guardBytes; ++i)
      if (guard[i] != guardByte)
        return llvm::createStringError(
            "the program writes outside of '" + name + "', " +
            std::to_string(after ? i : guardBytes - i) +
            (after ? " bytes past its end" : " bytes before its start"));
  }
  return llvm::Error::success();
}
