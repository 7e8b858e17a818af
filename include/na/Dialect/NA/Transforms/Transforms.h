//===- Transforms.h - Patterns on the na dialect ----------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_TRANSFORMS_TRANSFORMS_H
#define NA_DIALECT_NA_TRANSFORMS_TRANSFORMS_H

namespace mlir {
class RewritePatternSet;

namespace na {

/// Lowers `na.tile.scatter`, `na.tile.gather` and `na.tile.bias` on memrefs to
/// `scf` loops over `memref` and `vector` operations.
void populateTileSlotsToLoopsPatterns(RewritePatternSet &patterns);

} // namespace na
} // namespace mlir

#endif // NA_DIALECT_NA_TRANSFORMS_TRANSFORMS_H
