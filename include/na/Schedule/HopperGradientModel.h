//===- HopperGradientModel.h - Gradients on Hopper --------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model of the kernels of na.attention_dq and na.attention_dkv in which one
// or two warpgroups of a thread block own 64 rows each, producers load tiles of
// columns for both, and products are those of wgmma. It counts column tiles
// exactly, and what else there is by what 20 such kernels took on an H200.
//
//===----------------------------------------------------------------------===//

#ifndef NA_SCHEDULE_HOPPERGRADIENTMODEL_H
#define NA_SCHEDULE_HOPPERGRADIENTMODEL_H

#include "na/Schedule/HopperCostModel.h"

#include <optional>

namespace na::schedule {

/// What a whole problem costs under a tiling.
struct HopperGradientCost {
  /// Predicted cycles of the kernel, the quantity that is minimised.
  double cycles = 0;
  /// Query/key pairs that are computed, over those that are needed.
  double waste = 0;
  /// Column tiles that a block loads, and that a warpgroup computes, on
  /// average; the share of the latter that is masked.
  double loaded = 0, computed = 0, maskedShare = 0;
  /// How busy the units are.
  double tensorShare = 0, vectorShare = 0, cacheShare = 0;
  /// Thread blocks in all, and how many share a multiprocessor.
  double blocks = 0;
  int64_t blocksPerMultiprocessor = 0;
  int64_t sharedBytes = 0, registers = 0;
  bool hasKeyRows = false;

  /// One line for a reader.
  std::string describe() const;
};

/// Whether there are such kernels for the problem, which is of a gradient:
/// 16-bit operands of 16 to 256 channels, in steps of 16, on axes of known
/// lengths; of 128 channels of queries if all gradients are computed together.
bool isForGradientWarpgroups(const GpuProblem &problem);

/// Predicts the cost of `tiling` on `chip`, whose warpgroup tile divides the
/// query tile, or the key tile if rows are keys. None if it does not fit: 64
/// rows per warpgroup, of which there are up to two along one axis, columns in
/// multiples of 16, registers and shared memory.
std::optional<HopperGradientCost>
predictHopperGradient(const GpuProblem &problem, const GpuChip &chip,
                      const HopperTiling &tiling);

/// The `count` cheapest tilings on `chip`, the cheapest one first; none if the
/// problem is not for warpgroups, nothing fits, or two programs are faster than
/// one for all gradients. Deterministic.
std::vector<HopperTiling> rankHopperGradient(const GpuProblem &problem,
                                             const GpuChip &chip, size_t count);

/// The first of them.
std::optional<HopperTiling> searchHopperGradient(const GpuProblem &problem,
                                                 const GpuChip &chip);

} // namespace na::schedule

#endif // NA_SCHEDULE_HOPPERGRADIENTMODEL_H
