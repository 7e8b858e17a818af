//===- BestOf.h - The cheapest tilings of a search --------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_SCHEDULE_BESTOF_H
#define NA_LIB_SCHEDULE_BESTOF_H

#include <cstddef>
#include <utility>
#include <vector>

namespace na::schedule {

/// Keeps the `count` cheapest of the tilings that a search offers.
template <typename TilingT>
class BestOf {
public:
  explicit BestOf(size_t count) : count(count) {}

  /// Whether a tiling of that cost is kept. Near ties go to what was offered
  /// first, not to rounding errors.
  bool accepts(double cycles) const {
    return entries.size() < count ||
           (count > 0 && isLess(cycles, entries.back().cycles));
  }

  void insert(double cycles, TilingT tiling) {
    insert(cycles, std::move(tiling),
           [](const TilingT &, const TilingT &) { return false; });
  }

  /// Of the tilings that are `same`, only the cheapest is kept.
  template <typename Same>
  void insert(double cycles, TilingT tiling, Same same) {
    size_t place = 0;
    while (place < entries.size() && !isLess(cycles, entries[place].cycles))
      if (same(tiling, entries[place++].tiling))
        return;
    entries.insert(entries.begin() + place, {cycles, std::move(tiling)});
    for (size_t i = place + 1; i < entries.size(); ++i)
      if (same(entries[place].tiling, entries[i].tiling)) {
        entries.erase(entries.begin() + i);
        break;
      }
    if (entries.size() > count)
      entries.pop_back();
  }

  bool empty() const { return entries.empty(); }

  /// The tilings, the cheapest one first.
  std::vector<TilingT> take() {
    std::vector<TilingT> tilings;
    for (Entry &entry : entries)
      tilings.push_back(std::move(entry.tiling));
    entries.clear();
    return tilings;
  }

private:
  static bool isLess(double a, double b) { return a < b * (1 - 1e-9); }

  struct Entry {
    double cycles;
    TilingT tiling;
  };

  size_t count;
  std::vector<Entry> entries;
};

} // namespace na::schedule

#endif // NA_LIB_SCHEDULE_BESTOF_H
