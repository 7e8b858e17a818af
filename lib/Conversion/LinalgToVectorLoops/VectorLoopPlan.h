//===- VectorLoopPlan.h - How loops are blocked for registers ---*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_CONVERSION_LINALGTOVECTORLOOPS_VECTORLOOPPLAN_H
#define NA_LIB_CONVERSION_LINALGTOVECTORLOOPS_VECTORLOOPPLAN_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <optional>

namespace mlir::na::vectorloops {

/// The vector unit to block for.
struct Machine {
  int64_t vectorBits;
  int64_t registers;
};

/// What values of a scalar type are computed in: 16-bit floats in f32, so that
/// they are rounded only where they are stored.
Type getComputeType(Type type);

/// How the loops of one operation are ordered and blocked. `lane` runs along
/// vectors; `row`, if any, is the parallel loop that is unrolled so that a
/// block of accumulators stays in registers during the reductions.
struct Plan {
  SmallVector<int64_t> extents;
  unsigned lane;
  std::optional<unsigned> row;
  SmallVector<unsigned> outer, reductions;
  /// Lanes of one vector, vectors and rows of one block.
  int64_t width, vectors, rows;
  /// Not empty if the lane is itself the only reduction: how lanes combine,
  /// one entry per output.
  SmallVector<vector::CombiningKind> combiners;
};

/// The plan of an operation on buffers; none if it cannot run along vectors.
std::optional<Plan> makePlan(linalg::LinalgOp op, Machine machine);

} // namespace mlir::na::vectorloops

#endif // NA_LIB_CONVERSION_LINALGTOVECTORLOOPS_VECTORLOOPPLAN_H
