//===- Coverage.cpp - Which column tiles a row tile visits ----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Schedule/Coverage.h"

#include "AxisModel.h"

#include <algorithm>

using namespace na;
using namespace na::schedule;
using window::Range;

Range<int64_t> AxisCoverage::getColumns(int64_t tile) const {
  int64_t begin = span.begin + tile * columnTile;
  return {begin, std::min(begin + columnTile, size)};
}

TileKind Coverage::getKind(int64_t part,
                           const std::vector<int64_t> &tile) const {
  bool inside = true;
  for (size_t i = 0; i < axes.size(); ++i) {
    const AxisCoverage::Part &own = axes[i].parts[size_t(part)];
    if (tile[i] < own.computed.begin || tile[i] >= own.computed.end)
      return TileKind::Skipped;
    inside &= tile[i] >= own.inside.begin && tile[i] < own.inside.end;
  }
  return inside ? TileKind::Interior : TileKind::Boundary;
}

Coverage::Counts Coverage::count() const {
  int64_t loaded = 1;
  for (const AxisCoverage &axis : axes)
    loaded *= axis.tiles;
  Counts counts;
  for (int64_t part = 0; part < parts; ++part) {
    int64_t computed = 1, inside = 1;
    for (const AxisCoverage &axis : axes) {
      const AxisCoverage::Part &own = axis.parts[size_t(part)];
      computed *= own.computed.end - own.computed.begin;
      inside *= std::max<int64_t>(0, own.inside.end - own.inside.begin);
    }
    counts.skipped += loaded - computed;
    counts.boundary += computed - inside;
    counts.interior += inside;
  }
  return counts;
}

int64_t schedule::countRowTiles(const Workload &workload,
                                const Schedule &schedule, size_t axis) {
  return window::ceilDiv(modelSize(workload, axis),
                         schedule.getRowTile(workload)[axis]);
}

Coverage schedule::getCoverage(const Workload &workload,
                               const Schedule &schedule,
                               const std::vector<int64_t> &rowTile) {
  Coverage coverage;
  bool inverse = coverage.hasKeyRows = workload.hasKeyRows();
  const std::vector<int64_t> &tiles = schedule.getRowTile(workload);
  size_t rank = workload.axes.size();
  // The axis along which warpgroups lie.
  size_t splitAxis = rank;
  int64_t warpgroups = 1;
  for (size_t i = 0; i < schedule.warpgroupTile.size(); ++i) {
    int64_t number = tiles[i] / schedule.warpgroupTile[i];
    if (number > 1 && number <= maxWarpgroups) {
      splitAxis = i;
      warpgroups = number;
    }
  }
  for (size_t i = 0; i < rank; ++i) {
    const window::Axis &axis = workload.axes[i];
    AxisCoverage part;
    part.size = modelSize(workload, i);
    part.columnTile = schedule.getColumnTile(workload)[i];
    part.rows.begin = rowTile[i] * tiles[i];
    part.rows.end = std::min(part.rows.begin + tiles[i], part.size);
    part.interior =
        rowInterior(axis, part.size, part.rows.begin, part.rows.end, inverse);
    int64_t own = i == splitAxis ? schedule.warpgroupTile[i] : tiles[i];
    SplitBlock block = splitBlock(axis, part.size, part.rows.begin,
                                  i == splitAxis ? warpgroups : 1, own,
                                  part.columnTile, inverse);
    part.span = block.span;
    part.tiles = block.tiles;
    for (int64_t g = 0; g < block.active; ++g) {
      AxisCoverage::Part &entry = part.parts.emplace_back();
      entry.rows.begin = part.rows.begin + g * own;
      entry.rows.end = std::min(entry.rows.begin + own, part.rows.end);
      entry.computed = {block.first[g], block.last[g]};
      auto interior = rowInterior(axis, part.size, entry.rows.begin,
                                  entry.rows.end, inverse);
      entry.inside = {std::max(entry.computed.begin,
                               window::ceilDiv(interior.begin - part.span.begin,
                                               part.columnTile)),
                      std::min(entry.computed.end,
                               window::floorDiv(interior.end - part.span.begin,
                                                part.columnTile))};
    }
    if (i == splitAxis)
      coverage.parts = block.active;
    coverage.axes.push_back(std::move(part));
  }
  for (AxisCoverage &axis : coverage.axes)
    while (int64_t(axis.parts.size()) < coverage.parts)
      axis.parts.push_back(axis.parts.front());
  return coverage;
}
