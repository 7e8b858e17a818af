//===- WarpgroupLoop.h - The loop over the warpgroups of a CTA --*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Internal to the passes on kernels whose warpgroups own parts of the queries.
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_DIALECT_NAGPU_TRANSFORMS_WARPGROUPLOOP_H
#define NA_LIB_DIALECT_NAGPU_TRANSFORMS_WARPGROUPLOOP_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::nagpu {

/// Warps of a warpgroup, and rows of its matrix instruction.
constexpr int64_t warpgroupWarps = 4;
constexpr int64_t warpgroupRows = 64;

/// Whether each iteration of `loop` is the work of one warpgroup.
inline bool isWarpgroupLoop(scf::ForallOp loop) {
  std::optional<ArrayAttr> mapping = loop.getMapping();
  return mapping && !mapping->empty() &&
         isa<gpu::GPUWarpgroupMappingAttr>((*mapping)[0]);
}

/// The loop over warpgroups directly in `block`; null if there is none.
inline scf::ForallOp findWarpgroupLoop(Block &block) {
  for (auto loop : block.getOps<scf::ForallOp>())
    if (isWarpgroupLoop(loop))
      return loop;
  return {};
}

/// Gives every choice between two copies into one tile a branch of its own,
/// which canonicalization may have made one with a neighbour.
void splitChoices(scf::ForallOp groups);

} // namespace mlir::nagpu

#endif // NA_LIB_DIALECT_NAGPU_TRANSFORMS_WARPGROUPLOOP_H
