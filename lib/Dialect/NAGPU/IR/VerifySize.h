//===- VerifySize.h - Sizes that operations check ---------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_DIALECT_NAGPU_IR_VERIFYSIZE_H
#define NA_LIB_DIALECT_NAGPU_IR_VERIFYSIZE_H

#include "mlir/IR/Operation.h"

namespace mlir::nagpu {

/// Checks a size against the one of another operand; `what` names it.
inline LogicalResult verifySize(Operation *op, StringRef name, int64_t dim,
                                StringRef what, int64_t size, int64_t expected,
                                StringRef other) {
  if (size == expected)
    return success();
  return op->emitOpError() << "'" << name << "' dimension " << dim << " ("
                           << what << ") is " << size << ", expected "
                           << expected << " as in '" << other << "'";
}

/// Columns of an `lhs` that one matrix instruction takes.
inline int64_t productDepth(Type element) {
  return element.getIntOrFloatBitWidth() == 16 ? 16 : 8;
}

} // namespace mlir::nagpu

#endif // NA_LIB_DIALECT_NAGPU_IR_VERIFYSIZE_H
