//===- TileSlotsToLoops.h - Lower slots and biases of tiles -----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_CONVERSION_NATILETOLOOPS_TILESLOTSTOLOOPS_H
#define NA_LIB_CONVERSION_NATILETOLOOPS_TILESLOTSTOLOOPS_H

#include "na/Dialect/NA/IR/NA.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::na {

/// Build what the operation does, on memrefs, at the insertion point of `b`.
void lowerScatter(ImplicitLocOpBuilder &b, TileScatterOp op,
                  int64_t vectorBits);
void lowerGather(ImplicitLocOpBuilder &b, TileGatherOp op, int64_t vectorBits);
void lowerBias(ImplicitLocOpBuilder &b, TileBiasOp op, int64_t vectorBits);

} // namespace mlir::na

#endif // NA_LIB_CONVERSION_NATILETOLOOPS_TILESLOTSTOLOOPS_H
