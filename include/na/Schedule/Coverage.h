//===- Coverage.h - Which key tiles a query tile visits ---------*- C++ -*-===//
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
  /// Not computed: no query of the tile (or of the warpgroup) sees a key.
  Skipped,
  /// Computed with a mask: a window edge cuts it for some query.
  Boundary,
  /// Computed without a mask: all queries see all keys.
  Interior
};

/// One axis of a query tile. Everything is in positions of a residue class.
struct AxisCoverage {
  int64_t size = 0;
  /// The query tile, and the keys that some, and that all of its queries see;
  /// the latter may be empty.
  window::Range<int64_t> query{0, 0}, span{0, 0}, interior{0, 0};
  /// Number and length of key tiles, which begin at the start of the span.
  int64_t tiles = 0, keyTile = 1;
  /// Of each warpgroup (of the whole query tile if there is none): its queries,
  /// the key tiles that it computes and those of them that are not cut. All
  /// have the same on axes along which they do not lie.
  struct Part {
    window::Range<int64_t> query{0, 0}, computed{0, 0}, inside{0, 0};
  };
  std::vector<Part> parts;

  /// The keys of a tile that exist.
  window::Range<int64_t> getKeys(int64_t tile) const;
};

/// What one query tile visits.
struct Coverage {
  std::vector<AxisCoverage> axes;
  /// Warpgroups that have queries; 1 without warpgroups.
  int64_t parts = 1;

  TileKind getKind(int64_t part, const std::vector<int64_t> &tile) const;
  /// Key tiles of each kind, over all parts; `Skipped` counts tiles that the
  /// block loads for others.
  struct Counts {
    int64_t skipped = 0, boundary = 0, interior = 0;
  };
  Counts count() const;
};

/// Query tiles of an axis, of the largest residue class.
int64_t countQueryTiles(const Workload &workload, const Schedule &schedule,
                        size_t axis);

/// The coverage of the query tile with these indices, one per axis, each less
/// than countQueryTiles.
Coverage getCoverage(const Workload &workload, const Schedule &schedule,
                     const std::vector<int64_t> &queryTile);

/// As text: a character per key tile and warpgroup, # interior, + boundary,
/// . skipped. Long axes are shortened to `columns` tiles.
std::string drawText(const Coverage &coverage, int64_t columns = 32);

/// As SVG.
std::string drawSVG(const Coverage &coverage, const std::string &title);

} // namespace na::schedule

#endif // NA_SCHEDULE_COVERAGE_H
