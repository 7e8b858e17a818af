//===- GpuCostModel.h - Cost of a tiling on a GPU, and the search ---------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model of kernels in which every warp of a thread block owns 16 or 32
// queries of the query tile, keys and values go through shared memory, and
// products are those of mma.sync. It counts executed key tiles exactly and
// adds up what each needs of the units of a multiprocessor.
//
//===----------------------------------------------------------------------===//

#ifndef NA_SCHEDULE_GPUCOSTMODEL_H
#define NA_SCHEDULE_GPUCOSTMODEL_H

#include "na/Schedule/CostModel.h"

#include <optional>

namespace na::schedule {

/// What the model knows of a chip. Rates are per cycle and multiprocessor.
struct GpuChip {
  const char *name;
  int64_t multiprocessors;
  /// Bytes of shared memory: of one thread block, and of a multiprocessor.
  int64_t sharedPerBlock, sharedPerMultiprocessor;
  /// Multiply-adds of tensor cores on 16-bit operands.
  double tensorRate;
  /// f32 operations of the other units.
  double vectorRate;
  /// Bytes read from the second-level cache.
  double cacheRate;
  /// The clock under load, for predictions in seconds.
  double gigahertz;
  /// Whether it has the products of warpgroups and the copies of the TMA.
  bool hasWarpgroups = false;
};

/// The chip of that name; null if the model has none. Names that differ in the
/// trailing letter (sm_90, sm_90a) are one chip.
const GpuChip *findGpuChip(const std::string &name);

/// The names of all chips, for messages.
std::string listGpuChips();

struct GpuProblem : Problem {
  /// Batch size times query heads; `dynamicLength` if unknown.
  int64_t batchHeads = 1;
  /// Keys that every query sees beside its window.
  int64_t additionalKeys = 0;
  bool hasBias = false;
  /// Query heads that read the same keys and values, and nothing else but
  /// queries: divisors of this can share a tile. 1 where they cannot.
  int64_t headGroup = 1;
  /// Bytes of an element of an operand in memory: 2, 4 or 8.
  int64_t operandBytes = 2;
  /// Whether there is a softmax between the products; without one, scores or
  /// weights go through memory and one of the products is not there (its
  /// channels are 0).
  bool fused = true;
  /// Bytes of a score or weight in memory; 0 if scores have 4 and weights as
  /// many as operands.
  int64_t slotBytes = 0;
};

/// Where a query tile has several heads, it has a row for each of them and
/// each of its tokens.
struct GpuTiling : Tiling {
  /// Warps of a thread block.
  int64_t warps = 0;
  /// Key and value tiles in shared memory at a time.
  int64_t stages = 0;
  /// Channels of the values that a thread block works on.
  int64_t valueTile = 0;
  int64_t headsPerTile = 1;
};

/// What a whole problem costs under a tiling.
struct GpuCost {
  /// Predicted cycles of the kernel, the quantity that is minimised.
  double cycles = 0;
  /// Query/key pairs that are computed, over those that are needed.
  double waste = 0;
  /// Key tiles per query tile on average, or the reverse where rows are keys,
  /// and the share that masks can touch.
  double keyTiles = 0, maskedShare = 0;
  bool hasKeyRows = false;
  /// Thread blocks in all, and how many a multiprocessor holds.
  double blocks = 0;
  int64_t blocksPerMultiprocessor = 0;
  int64_t sharedBytes = 0;
  /// Registers of a thread, and how many more it would need.
  int64_t registers = 0, spilled = 0;
  /// The unit that limits a key tile: "tensor cores", "shared memory", ...
  const char *limit = "";
  /// Shares of the time in which units are busy.
  double tensorShare = 0, softmaxShare = 0, sharedShare = 0, cacheShare = 0;

  /// One line for a reader.
  std::string describe() const;
};

/// Predicts the cost of `tiling` on `chip`. None if it does not fit: rows per
/// warp, shared memory or registers.
std::optional<GpuCost> predictGpu(const GpuProblem &problem,
                                  const GpuChip &chip, const GpuTiling &tiling);

/// The cheapest tilings on `chip`, at most `count`, the best one first; of
/// those with the same tiles only one, unless `fixed` has the tiles. What is
/// not empty or 0 in `fixed` is kept, and its heads per tile. Deterministic.
std::vector<GpuTiling> rankGpu(const GpuProblem &problem, const GpuChip &chip,
                               size_t count, const GpuTiling &fixed = {});

/// The problem with `heads` query heads in a tile as one.
GpuProblem withHeadsPerTile(const GpuProblem &problem, int64_t heads);

/// Whether tiles can have so many heads.
bool canShareTile(const GpuProblem &problem, int64_t heads);

/// The first of these; none if none fits.
std::optional<GpuTiling> searchGpu(const GpuProblem &problem,
                                   const GpuChip &chip,
                                   const GpuTiling &fixed = {});

} // namespace na::schedule

#endif // NA_SCHEDULE_GPUCOSTMODEL_H
