//===- Explain.h - Why a schedule is selected -------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_SCHEDULE_EXPLAIN_H
#define NA_SCHEDULE_EXPLAIN_H

#include "na/Schedule/Coverage.h"
#include "na/Schedule/TuningFile.h"

namespace na::schedule {

struct ExplainOptions {
  RankingOptions ranking;
  /// The row tile that is drawn; empty for one in the middle.
  std::vector<int64_t> queryTile;
  /// A file of measured schedules; null for none.
  const TuningFile *tuning = nullptr;
};

/// The ranking of one operation, with what it says to people.
struct Explanation {
  Workload workload;
  std::string target;
  /// What the search took of a processor.
  double searchSeconds = 0;
  /// The first one is selected, unless there is a measured one.
  std::vector<Candidate> candidates;
  std::optional<TuningEntry> tuned;
  /// Of the selected schedule; none if nothing fits the target.
  std::optional<Coverage> coverage;
  /// The row tile of the coverage, and how many there are.
  std::vector<int64_t> rowTile, rowTiles;

  const Schedule *getSelected() const;
};

/// Fails for a target that is not known, and for a query tile that is not
/// there.
llvm::Expected<Explanation> explain(const Workload &workload,
                                    const ExplainOptions &options);

/// For people: the ranking, the reasons for the first one, its coverage.
std::string printText(const Explanation &explanation);
llvm::json::Object toJSON(const Explanation &explanation);
/// The coverage as SVG; empty without one.
std::string printSVG(const Explanation &explanation);

} // namespace na::schedule

#endif // NA_SCHEDULE_EXPLAIN_H
