//===- TuningFile.h - Schedules that were measured --------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tuning file is JSON:
//
//   {"format": "na-tuning 1",
//    "compiler": "namlir 0.1.0",
//    "entries": {
//      "attention 56x56 window 7x7 .. bf16 on sm_80": {
//        "schedule": {"target": "sm_80", "query_tile": [8, 8],
//                     "key_tile": [14, 16], "warpgroup_tile": [],
//                     "stages": 2, "warps": 4, "value_tile": 0,
//                     "heads_per_tile": 1},
//        "seconds": 2.1e-4, "gpu": "..", "driver": "..", "commit": ".."}}}
//
// Keys are those of Workload::getKey, followed by the target. Only the schedule
// is needed; what else an entry has is for people.
//
//===----------------------------------------------------------------------===//

#ifndef NA_SCHEDULE_TUNINGFILE_H
#define NA_SCHEDULE_TUNINGFILE_H

#include "na/Schedule/Ranking.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <optional>

namespace na::schedule {

llvm::json::Object toJSON(const Schedule &schedule);

/// Fails, with the name and the value of what is wrong, for what is no
/// schedule.
llvm::Expected<Schedule> parseSchedule(const llvm::json::Object &object);

struct TuningEntry {
  Schedule schedule;
  /// As measured; 0 if the file does not say.
  double seconds = 0;
  /// Where it was measured; empty if the file does not say.
  std::string gpu;
};

/// The key of a workload on a target.
std::string getTuningKey(const Workload &workload, const std::string &target);

class TuningFile {
public:
  /// Errors begin with `name`, and say which entry is wrong.
  static llvm::Expected<TuningFile> parse(llvm::StringRef text,
                                          llvm::StringRef name);
  static llvm::Expected<TuningFile> read(llvm::StringRef path);

  /// Null if there is none.
  const TuningEntry *find(const std::string &key) const;

  size_t size() const { return entries.size(); }

  /// The compiler that the schedules were measured with, if it is not this one;
  /// empty otherwise.
  const std::string &getOtherCompiler() const { return otherCompiler; }

private:
  std::map<std::string, TuningEntry> entries;
  std::string otherCompiler;
};

/// "namlir 0.1.0": what a tuning file of this compiler says.
std::string getCompilerName();

} // namespace na::schedule

#endif // NA_SCHEDULE_TUNINGFILE_H
