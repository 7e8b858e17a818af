//===- Compare.h - Compares a result with a reference -----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_EXECUTIONENGINE_COMPARE_H
#define NA_EXECUTIONENGINE_COMPARE_H

#include "na/ExecutionEngine/HostTensor.h"

namespace mlir::na {

/// Limits of the errors. For relative ones, of ||out - ref|| / ||ref||.
struct Tolerance {
  /// Log-sum-exps are compared by their absolute difference, element by
  /// element; 4 units in the last place of the reference are always allowed.
  bool absolute = false;
  double whole = 0; ///< Over the whole tensor, or the absolute limit.
  double row = 0;   ///< Over each row, the last axis.
  /// Rows of gradients can be exactly 0: the error of each is relative to its
  /// norm or to the root mean square of the norms of all, whichever is more.
  bool gradient = false;

  /// What a tensor is held to whose computation starts from `type`.
  static Tolerance forTensor(ElementType type);
  static Tolerance forLse(ElementType type);
  /// The same for f32 whose products are made from factors rounded to tf32.
  static Tolerance forTF32() { return {false, 1e-3, 5e-3}; }
  static Tolerance forTF32Lse() { return {true, 1e-3, 1e-3}; }
};

struct Comparison {
  bool pass = false;
  /// The relative error of the whole tensor, or the largest absolute one.
  double whole = 0;
  /// The relative error of the worst row, and where it starts.
  double worstRow = 0;
  int64_t worstRowIndex = 0;
  /// Elements where one side is a NaN or an infinity and the other is not the
  /// same one. Any such element fails.
  int64_t mismatched = 0;
};

/// Compares tensors of the same shape. Elements where both sides are NaN, or
/// the same infinity, agree. Integers must be equal.
Comparison compare(const HostTensor &out, const HostTensor &reference,
                   const Tolerance &tolerance);

} // namespace mlir::na

#endif // NA_EXECUTIONENGINE_COMPARE_H
