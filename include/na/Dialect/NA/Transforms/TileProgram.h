//===- TileProgram.h - The loops of a tiled program -------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_TRANSFORMS_TILEPROGRAM_H
#define NA_DIALECT_NA_TRANSFORMS_TILEPROGRAM_H

#include "na/Dialect/NA/Transforms/TileWarpgroups.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::na {

/// The loops around the body of a tiled operation, whether its row tiles are
/// split among warpgroups or not.
class TileProgram {
public:
  /// What the loops are at in the body: a row tile, of a warpgroup where there
  /// are any.
  struct Point : GridPoint {
    const Warpgroup *warpgroup;
  };

  TileProgram(const TileGrid &grid, ScheduleAttr schedule)
      : grid(grid), schedule(schedule),
        warpgroups(getWarpgroups(grid, schedule)),
        rows(warpgroups ? warpgroups->getRows() : grid) {}

  /// The grid of the rows that share accumulators.
  const TileGrid &getRows() const { return rows; }

  /// Builds the parallel loops at the insertion point of `rewriter` and calls
  /// `body` inside them.
  void
  build(RewriterBase &rewriter, Location loc, int64_t heads, ValueChunks values,
        function_ref<void(ImplicitLocOpBuilder &, const Point &)> body) const;

  /// The column ranges of the rows, which masks need; null where there are
  /// none.
  Value buildRanges(ImplicitLocOpBuilder &b, const Point &at) const;

  /// Builds the loop over the column tiles of the rows, `rounds` times over all
  /// of them, which carries `state`; `body` returns the new state. Tiles of the
  /// keys of `additional`, if that is not null, come last in the loop of a
  /// warpgroup, so that nothing waits between them and the window; without
  /// warpgroups they have a loop of their own.
  SmallVector<Value> buildColumnLoop(
      ImplicitLocOpBuilder &b, const Point &at, ValueRange state,
      function_ref<SmallVector<Value>(ImplicitLocOpBuilder &,
                                      const ColumnTile &, ValueRange state)>
          body,
      int64_t rounds = 1, Value additional = {}) const;

private:
  /// Whether some row tiles have far fewer column tiles than others.
  bool isUneven() const;
  /// Whether starting a thread block takes little of its time, so that uneven
  /// ones are best started in their order, each where one has ended: those that
  /// run are neighbours then, and share what they read and add to in the cache.
  bool isInOrder() const;
  static std::optional<WarpgroupGrid> getWarpgroups(const TileGrid &grid,
                                                    ScheduleAttr schedule);

  TileGrid grid;
  ScheduleAttr schedule;
  std::optional<WarpgroupGrid> warpgroups;
  TileGrid rows;
};

} // namespace mlir::na

#endif // NA_DIALECT_NA_TRANSFORMS_TILEPROGRAM_H
