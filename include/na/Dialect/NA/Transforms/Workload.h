//===- Workload.h - Operations as the cost model sees them ------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_TRANSFORMS_WORKLOAD_H
#define NA_DIALECT_NA_TRANSFORMS_WORKLOAD_H

#include "mlir/IR/Operation.h"
#include "na/Schedule/Ranking.h"

#include <optional>

namespace mlir::na {

/// What schedules of `op` depend on; none if it is not `na.attention`,
/// `na.attention_dq`, `na.attention_dkv`, `na.qk` or `na.av`.
std::optional<::na::schedule::Workload> getWorkload(Operation *op);

} // namespace mlir::na

#endif // NA_DIALECT_NA_TRANSFORMS_WORKLOAD_H
