//===- Npy.h - Arrays in NumPy's file format --------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_TOOLS_NARUN_NPY_H
#define NA_TOOLS_NARUN_NPY_H

#include "na/ExecutionEngine/HostTensor.h"

namespace mlir::na::run {

/// Reads an array as a tensor of `type`, of any shape. The file must hold that
/// type: nothing is converted. bf16 is stored as 16-bit unsigned integers or
/// 2-byte voids.
llvm::Expected<HostTensor> readNpy(llvm::StringRef path, llvm::StringRef name,
                                   ElementType type);

llvm::Error writeNpy(llvm::StringRef path, const HostTensor &tensor);

} // namespace mlir::na::run

#endif // NA_TOOLS_NARUN_NPY_H
