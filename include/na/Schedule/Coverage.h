//===- Coverage.h - Which column tiles a row tile visits --------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_SCHEDULE_COVERAGE_H
#define NA_SCHEDULE_COVERAGE_H

#include "na/Schedule/Ranking.h"

namespace na::schedule {

enum class TileKind {
  /// Not computed: no query sees a key of the tiles (or of the warpgroup's).
  Skipped,
  /// Computed with a mask: a window edge cuts it for some row.
  Boundary,
  /// Computed without a mask: all queries see all keys.
  Interior
};

/// One axis of a row tile, in positions of a residue class. Rows are queries
/// and columns the keys that they see, or for the gradients of keys and values
/// rows are keys and columns the queries that see them.
struct AxisCoverage {
  int64_t size = 0;
  /// The row tile, and the columns of some, and of all of its rows; the latter
  /// may be empty.
  window::Range<int64_t> rows{0, 0}, span{0, 0}, interior{0, 0};
  /// Number and length of column tiles, which begin at the start of the span.
  int64_t tiles = 0, columnTile = 1;
  /// Of each warpgroup (of the whole row tile if there is none): its rows, the
  /// column tiles that it computes and those of them that are not cut. All have
  /// the same on axes along which they do not lie.
  struct Part {
    window::Range<int64_t> rows{0, 0}, computed{0, 0}, inside{0, 0};
  };
  std::vector<Part> parts;

  /// The columns of a tile that exist.
  window::Range<int64_t> getColumns(int64_t tile) const;
};

/// What one row tile visits.
struct Coverage {
  bool hasKeyRows = false;
  std::vector<AxisCoverage> axes;
  /// Warpgroups that have rows; 1 without warpgroups.
  int64_t parts = 1;

  TileKind getKind(int64_t part, const std::vector<int64_t> &tile) const;
  /// Column tiles of each kind, over all parts; `Skipped` counts tiles that the
  /// block loads for others.
  struct Counts {
    int64_t skipped = 0, boundary = 0, interior = 0;
  };
  Counts count() const;
};

/// Row tiles of an axis, of the largest residue class.
int64_t countRowTiles(const Workload &workload, const Schedule &schedule,
                      size_t axis);

/// The coverage of the row tile with these indices, one per axis, each less
/// than countRowTiles.
Coverage getCoverage(const Workload &workload, const Schedule &schedule,
                     const std::vector<int64_t> &rowTile);

/// As text: a character per column tile and warpgroup, # interior, + boundary,
/// . skipped. Long axes are shortened to `columns` tiles.
std::string drawText(const Coverage &coverage, int64_t columns = 32);

/// As SVG.
std::string drawSVG(const Coverage &coverage, const std::string &title);

} // namespace na::schedule

#endif // NA_SCHEDULE_COVERAGE_H
