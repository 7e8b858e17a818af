//===- CopySlice.h - What a copy in a loop is computed from -----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Internal to nagpu-schedule-pipeline and nagpu-expand-pipeline.
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_DIALECT_NAGPU_TRANSFORMS_COPYSLICE_H
#define NA_LIB_DIALECT_NAGPU_TRANSFORMS_COPYSLICE_H

#include "na/Dialect/NAGPU/IR/NAGPU.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::nagpu {

/// The largest depth of a pipeline, that of `na.schedule`.
constexpr int64_t maxStages = 64;

/// Adds to `slice` the operations in the body of `loop` that the operands of
/// `copy`, an operation of that body, are computed from. Fails if the copy
/// cannot be issued in another iteration: if one of them has effects, or reads
/// a value that the loop carries.
LogicalResult collectCopySlice(AsyncCopyOp copy, scf::ForOp loop,
                               SetVector<Operation *> &slice);

} // namespace mlir::nagpu

#endif // NA_LIB_DIALECT_NAGPU_TRANSFORMS_COPYSLICE_H
