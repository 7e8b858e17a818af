//===- NAToLoops.h - Lowering of na operations to loops ---------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_CONVERSION_NATOLOOPS_NATOLOOPS_H
#define NA_CONVERSION_NATOLOOPS_NATOLOOPS_H

#include "mlir/Pass/Pass.h"
#include "mlir/Support/LLVM.h"

#include <memory>

namespace mlir {
class RewriterBase;
} // namespace mlir

namespace mlir::na {

#define GEN_PASS_DECL_CONVERTNATOLOOPSPASS
#include "na/Conversion/Passes.h.inc"

/// Replaces `op`, one of na.attention, na.qk, na.av and na.merge on memrefs, by
/// loops. Emits an error and fails if `op` is on tensors.
LogicalResult lowerToLoops(RewriterBase &rewriter, Operation *op);

} // namespace mlir::na

#endif // NA_CONVERSION_NATOLOOPS_NATOLOOPS_H
