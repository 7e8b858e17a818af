//===- LinearIndex.h - Indices from a linear index --------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_CONVERSION_GPU_LINEARINDEX_H
#define NA_CONVERSION_GPU_LINEARINDEX_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <limits>

namespace mlir::na {

/// The position `id`, the last dimension fastest, in a box of `counts`
/// elements, whose product is `total`.
///
/// Divides in 32 bits where the product is known to allow it: divisions of 64
/// bits take a GPU several times as many instructions.
inline SmallVector<Value> delinearize(ImplicitLocOpBuilder &b, Value id,
                                      ValueRange counts, Value total) {
  std::optional<int64_t> known = getConstantIntValue(total);
  bool narrow = known && *known <= std::numeric_limits<int32_t>::max();
  Type type = narrow ? Type(b.getI32Type()) : Type(b.getIndexType());
  auto toType = [&](Value value, Type type) -> Value {
    return b.createOrFold<arith::IndexCastUIOp>(type, value);
  };

  SmallVector<Value> indices(counts.size());
  Value rest = narrow ? toType(id, type) : id;
  for (int64_t dim = indices.size() - 1; dim >= 0; --dim) {
    std::optional<int64_t> count = getConstantIntValue(counts[dim]);
    Value position = rest;
    if (count && *count == 1) {
      position = arith::ConstantOp::create(b, b.getIntegerAttr(type, 0));
    } else if (dim > 0) {
      Value divisor = counts[dim];
      if (count)
        divisor = arith::ConstantOp::create(b, b.getIntegerAttr(type, *count));
      position = arith::RemUIOp::create(b, rest, divisor);
      rest = arith::DivUIOp::create(b, rest, divisor);
    }
    indices[dim] = narrow ? toType(position, b.getIndexType()) : position;
  }
  return indices;
}

} // namespace mlir::na

#endif // NA_CONVERSION_GPU_LINEARINDEX_H
