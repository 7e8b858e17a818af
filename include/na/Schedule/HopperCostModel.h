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
  /// Query heads that share a tile.
  int64_t headsPerTile = 1;
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
  /// Registers of a thread of a consumer.
  int64_t registers = 0;
  /// Shares of the time in which the tensor cores, the exponentials and the
  /// reads from the second-level cache are busy, and that masks take.
  double tensorShare = 0, exponentialShare = 0, cacheShare = 0, maskShare = 0;

  std::vector<AxisPart> axes;

  /// One line for a reader.
  std::string describe() const;
};

/// Whether there are such kernels for the problem: fused attention with 16-bit
/// operands of 16 to 256 channels, in steps of 16, on axes of known lengths.
bool isForWarpgroups(const GpuProblem &problem);

/// Predicts the cost of `tiling` on `chip`, for a problem that is for
/// warpgroups. None if it does not fit: 64 rows per warpgroup, of which
/// there are up to three along one axis, up to 256 keys, registers and shared
/// memory.
std::optional<HopperCost> predictHopper(const GpuProblem &problem,
                                        const GpuChip &chip,
                                        const HopperTiling &tiling);

/// The cheapest tilings on `chip` with so many heads per tile, at most `count`,
/// the best one first; none if the problem is not for warpgroups.
/// Deterministic.
std::vector<HopperTiling> rankHopper(const GpuProblem &problem,
                                     const GpuChip &chip, size_t count,
                                     int64_t headsPerTile = 1);

/// The first of these.
std::optional<HopperTiling> searchHopper(const GpuProblem &problem,
                                         const GpuChip &chip);

/// What cycles that GpuCostModel.h predicts are to be multiplied by for a
/// comparison with those of this model. `best` is what it predicts for
/// `tiling`, the best one that it knows.
double scaleOfWarps(const GpuCost &best, const GpuTiling &tiling);

/// The problem with a batch that fills the chip, if it is not known.
GpuProblem withKnownBatch(const GpuProblem &problem, const GpuChip &chip);

} // namespace na::schedule

#endif // NA_SCHEDULE_HOPPERCOSTMODEL_H
