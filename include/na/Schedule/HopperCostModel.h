//===- HopperCostModel.h - Tilings of warpgroups on Hopper ------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model of kernels in which one to three warpgroups of a thread block own 64
// queries each, a further one loads keys and values for all, and products are
// those of wgmma. It counts exactly which key tiles a block loads, which of
// them each warpgroup computes, and which of those a window edge cuts on which
// axis.
//
//===----------------------------------------------------------------------===//

#ifndef NA_SCHEDULE_HOPPERCOSTMODEL_H
#define NA_SCHEDULE_HOPPERCOSTMODEL_H

#include "na/Schedule/GpuCostModel.h"

#include <optional>

namespace na::schedule {

/// `queryTile` is that of a thread block.
struct HopperTiling : Tiling {
  /// Divides the query tile by the number of warpgroups on one axis.
  std::vector<int64_t> warpgroupTile;
  /// Key and value tiles in shared memory at a time.
  int64_t stages = 2;
};

/// What a whole problem costs under a tiling.
struct HopperCost {
  /// Predicted cycles of the kernel, the quantity that is minimised.
  double cycles = 0;
  /// Query/key pairs that are computed, over those that are needed.
  double waste = 0;
  /// Key tiles that a block loads, and that a warpgroup computes, on average.
  double loaded = 0, computed = 0;
  /// Axes on which a computed tile is masked, on average, and the share of
  /// tiles with any mask.
  double maskedAxes = 0, maskedShare = 0;
  /// Thread blocks in all, and how many share a multiprocessor.
  double blocks = 0;
  int64_t blocksPerMultiprocessor = 0;
  int64_t sharedBytes = 0;

  /// One line for a reader.
  std::string describe() const;
};

/// Whether there are such kernels for the problem: fused attention with 16-bit
/// operands of 16 to 256 channels, in steps of 16, on axes of known lengths.
bool isForWarpgroups(const GpuProblem &problem);

/// Predicts the cost of `tiling` on `chip`, for a problem that is for
/// warpgroups. None if it does not fit: 64 queries per warpgroup, of which
/// there are up to three along one axis, up to 256 keys, registers and shared
/// memory.
std::optional<HopperCost> predictHopper(const GpuProblem &problem,
                                        const GpuChip &chip,
                                        const HopperTiling &tiling);

/// The cheapest tiling on `chip`; none if the problem is not for warpgroups.
/// Deterministic.
std::optional<HopperTiling> searchHopper(const GpuProblem &problem,
                                         const GpuChip &chip);

/// Whether the problem is expected to take less time with `tiling` than with
/// the best one of warps (GpuCostModel.h).
bool isFasterWithWarpgroups(const GpuProblem &problem, const GpuChip &chip,
                            const HopperTiling &tiling);

} // namespace na::schedule

#endif // NA_SCHEDULE_HOPPERCOSTMODEL_H
