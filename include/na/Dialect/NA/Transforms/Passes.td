//===- Passes.td - Passes on the na dialect ---*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_TRANSFORMS_PASSES_TD
#define NA_DIALECT_NA_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // NA_DIALECT_NA_TRANSFORMS_PASSES_TD
