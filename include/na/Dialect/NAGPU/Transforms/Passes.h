//===- Passes.h - Passes on the nagpu dialect ---*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NAGPU_TRANSFORMS_PASSES_H
#define NA_DIALECT_NAGPU_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::nagpu {

#define GEN_PASS_DECL
#include "na/Dialect/NAGPU/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "na/Dialect/NAGPU/Transforms/Passes.h.inc"

} // namespace mlir::nagpu

#endif // NA_DIALECT_NAGPU_TRANSFORMS_PASSES_H
