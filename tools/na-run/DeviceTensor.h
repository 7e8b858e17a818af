//===- DeviceTensor.h - Tensors in the memory of a GPU ----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_TOOLS_NARUN_DEVICETENSOR_H
#define NA_TOOLS_NARUN_DEVICETENSOR_H

#include "na/ExecutionEngine/Harness.h"
#include "na/Runtime/Cuda.h"

namespace mlir::na::run {

/// A tensor in device memory, between guards that hold NaN: what reads past it
/// computes NaN, and what writes past it is found. Moves only.
class DeviceTensor {
public:
  /// Copies a tensor to the device. The copy has been made when the device has
  /// been synchronized.
  static llvm::Expected<DeviceTensor> upload(::na::cuda::Device &device,
                                             const HostTensor &tensor);

  TensorBinding getBinding() const;

  /// Copies to a tensor of the same type and shape.
  llvm::Error download(HostTensor &tensor) const;

  /// Fails if something wrote before or past the tensor.
  llvm::Error checkGuards() const;

private:
  std::string name;
  ElementType type = ElementType::F32;
  llvm::SmallVector<int64_t> shape;
  size_t bytes = 0;
  ::na::cuda::Buffer buffer;
};

} // namespace mlir::na::run

#endif // NA_TOOLS_NARUN_DEVICETENSOR_H
