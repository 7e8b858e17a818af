//===- TileLinalg.h - Builders of linalg on tiles ---*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_TRANSFORMS_TILELINALG_H
#define NA_DIALECT_NA_TRANSFORMS_TILELINALG_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::na {

/// Loop dimensions of a tile: d0, d1, d2.
AffineMap tileMap(OpBuilder &builder, unsigned dims, ArrayRef<unsigned> used);

/// A tensor of the given shape, filled with `value`.
Value buildFilled(ImplicitLocOpBuilder &b, ArrayRef<int64_t> shape, Type type,
                  double value);

/// An uninitialised tensor.
Value buildEmpty(ImplicitLocOpBuilder &b, ArrayRef<int64_t> shape, Type type);

/// `linalg.generic` in which the loops of `reductions` are reductions.
/// `maps` holds one map per input, then one per output.
SmallVector<Value> buildGeneric(
    ImplicitLocOpBuilder &b, ValueRange inputs, ValueRange outputs,
    ArrayRef<AffineMap> maps, ArrayRef<unsigned> reductions,
    function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, ValueRange)> body);

/// `linalg.contract`: output += sum of lhs * rhs over the loops that the output
/// does not use. `maps` are those of lhs, rhs and output.
Value buildContract(ImplicitLocOpBuilder &b, Value lhs, Value rhs, Value output,
                    ArrayRef<AffineMap> maps);

/// The constant `value` as a float of type `type`.
Value buildFloat(ImplicitLocOpBuilder &b, Type type, double value);

} // namespace mlir::na

#endif // NA_DIALECT_NA_TRANSFORMS_TILELINALG_H
