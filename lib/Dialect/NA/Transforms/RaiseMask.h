//===- RaiseMask.h - Which window a mask is ---*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mask is evaluated for every pair of tokens and compared with the windows
// of Semantics/Window.h: what a front-end computes it from does not matter.
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_DIALECT_NA_TRANSFORMS_RAISEMASK_H
#define NA_LIB_DIALECT_NA_TRANSFORMS_RAISEMASK_H

#include "RaiseExpr.h"

#include "na/Semantics/Window.h"
#include "llvm/ADT/BitVector.h"

namespace mlir::na::raise {

/// Logits that are `scale` times the product where visible, and as good as
/// -inf elsewhere.
struct Mask {
  int64_t tokens;
  double scale;
  /// Of query * tokens + key.
  llvm::BitVector visible;
};

/// Evaluates a logit for all tokens, which are numbered by the loops of
/// `queries` and `keys`. Logits up to `maskedBelow` are masked. On failure
/// `reason` says why these are not masked products.
std::optional<Mask> evaluateMask(const Loops &loops, ArrayRef<unsigned> queries,
                                 ArrayRef<unsigned> keys, const Expr *logit,
                                 double maskedBelow, std::string &reason);

struct Windows {
  SmallVector<int64_t, 3> shape;
  SmallVector<::na::window::Axis, 3> axes;
};

/// The window whose visible keys are exactly those of the mask. Token shapes
/// are tried in the order `shapes`, one axis, two axes, three axes.
std::optional<Windows> findWindows(const Mask &mask,
                                   ArrayRef<SmallVector<int64_t>> shapes);

} // namespace mlir::na::raise

#endif // NA_LIB_DIALECT_NA_TRANSFORMS_RAISEMASK_H
