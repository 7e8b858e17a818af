//===- MatmulRate.h - The host's rate of f32 matrix products ----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_TOOLS_NARUN_MATMULRATE_H
#define NA_TOOLS_NARUN_MATMULRATE_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Error.h"

namespace mlir::na::run {

/// Measures, in operations per second, the register-blocked inner kernel of an
/// f32 matrix product on packed panels that stay in the first-level cache, on
/// all threads of the runtime at once. No matrix product on this host is
/// faster; whole ones, which also move and pack data, are somewhat slower.
llvm::Expected<double> measureMatmulRate(MLIRContext &context);

} // namespace mlir::na::run

#endif // NA_TOOLS_NARUN_MATMULRATE_H
