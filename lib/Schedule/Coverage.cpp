//===- Coverage.cpp - Which key tiles a query tile visits -----------------===//
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

Range<int64_t> AxisCoverage::getKeys(int64_t tile) const {
  int64_t begin = span.begin + tile * keyTile;
  return {begin, std::min(begin + keyTile, size)};
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

int64_t schedule::countQueryTiles(const Workload &workload,
                                  const Schedule &schedule, size_t axis) {
  return window::ceilDiv(modelSize(workload, axis), schedule.queryTile[axis]);
}

/// Of the warpgroup's queries, the key tiles that all of them see in whole.
static Range<int64_t> getInside(const window::Axis &axis, int64_t size,
                                Range<int64_t> query, int64_t spanBegin,
                                int64_t keyTile, Range<int64_t> computed) {
  auto interior =
      window::tileInterior<int64_t>(axis, size, query.begin, query.end);
  return {std::max(computed.begin,
                   window::ceilDiv(interior.begin - spanBegin, keyTile)),
          std::min(computed.end,
                   window::floorDiv(interior.end - spanBegin, keyTile))};
}

Coverage schedule::getCoverage(const Workload &workload,
                               const Schedule &schedule,
                               const std::vector<int64_t> &queryTile) {
  Coverage coverage;
  size_t rank = workload.axes.size();
  // The axis along which warpgroups lie.
  size_t splitAxis = rank;
  int64_t warpgroups = 1;
  for (size_t i = 0; i < schedule.warpgroupTile.size(); ++i) {
    int64_t number = schedule.queryTile[i] / schedule.warpgroupTile[i];
    if (number > 1 && number <= maxWarpgroups) {
      splitAxis = i;
      warpgroups = number;
    }
  }
  for (size_t i = 0; i < rank; ++i) {
    const window::Axis &axis = workload.axes[i];
    AxisCoverage part;
    part.size = modelSize(workload, i);
    part.keyTile = schedule.keyTile[i];
    int64_t tile = schedule.queryTile[i];
    part.query.begin = queryTile[i] * tile;
    part.query.end = std::min(part.query.begin + tile, part.size);
    part.interior = window::tileInterior<int64_t>(
        axis, part.size, part.query.begin, part.query.end);
    int64_t own = i == splitAxis ? schedule.warpgroupTile[i] : tile;
    SplitBlock block =
        splitBlock(axis, part.size, part.query.begin,
                   i == splitAxis ? warpgroups : 1, own, part.keyTile);
    part.span = block.span;
    part.tiles = block.tiles;
    for (int64_t g = 0; g < block.active; ++g) {
      AxisCoverage::Part &entry = part.parts.emplace_back();
      entry.query.begin = part.query.begin + g * own;
      entry.query.end = std::min(entry.query.begin + own, part.query.end);
      entry.computed = {block.first[g], block.last[g]};
      entry.inside = getInside(axis, part.size, entry.query, block.span.begin,
                               part.keyTile, entry.computed);
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
