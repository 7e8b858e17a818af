//===- GpuGradientModel.h - Tilings of gradients on a GPU -------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model of the kernels of na.attention_dq and na.attention_dkv in which every
// warp owns 16 rows of the row tile, row and column tiles are in shared memory,
// and products are those of mma.sync. It counts executed column tiles exactly,
// and what else there is by rule of thumb.
//
//===----------------------------------------------------------------------===//

#ifndef NA_SCHEDULE_GPUGRADIENTMODEL_H
#define NA_SCHEDULE_GPUGRADIENTMODEL_H

#include "na/Schedule/GpuCostModel.h"

#include <optional>

namespace na::schedule {

/// What a whole problem costs under a tiling.
struct GpuGradientCost {
  /// Predicted cycles of the kernel, the quantity that is minimised.
  double cycles = 0;
  /// Query/key pairs that are computed, over those that are needed.
  double waste = 0;
  /// Column tiles per row tile, on average, and the share that masks can touch.
  double columnTiles = 0, maskedShare = 0;
  /// How busy the units are.
  double tensorShare = 0, vectorShare = 0, sharedShare = 0, cacheShare = 0;
  bool hasKeyRows = false;
  /// Thread blocks in all, and how many a multiprocessor holds.
  double blocks = 0;
  int64_t blocksPerMultiprocessor = 0;
  int64_t sharedBytes = 0, registers = 0;

  /// One line for a reader.
  std::string describe() const;
};

/// Predicts the cost of `tiling` on `chip`; `problem` is of a gradient. None if
/// it does not fit: 16 rows per warp, columns in multiples of 16, shared memory
/// or registers.
std::optional<GpuGradientCost> predictGpuGradient(const GpuProblem &problem,
                                                  const GpuChip &chip,
                                                  const GpuTiling &tiling);

/// The `count` cheapest tilings on `chip`, the cheapest one first; none if none
/// fits. What is not empty or 0 in `fixed` is kept. Deterministic.
std::vector<GpuTiling> rankGpuGradient(const GpuProblem &problem,
                                       const GpuChip &chip, size_t count,
                                       const GpuTiling &fixed = {});

/// The first of them.
std::optional<GpuTiling> searchGpuGradient(const GpuProblem &problem,
                                           const GpuChip &chip,
                                           const GpuTiling &fixed = {});

} // namespace na::schedule

#endif // NA_SCHEDULE_GPUGRADIENTMODEL_H
