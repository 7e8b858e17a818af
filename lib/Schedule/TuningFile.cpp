//===- TuningFile.cpp - Schedules that were measured ----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Schedule/TuningFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace na;
using namespace na::schedule;
using llvm::StringRef;
namespace json = llvm::json;

static constexpr StringRef format = "na-tuning 1";
/// What #na.schedule can hold.
static constexpr int64_t maxExtent = 65536;

template <typename... Args>
static llvm::Error fail(const char *text, Args &&...args) {
  return llvm::createStringError(
      llvm::formatv(text, std::forward<Args>(args)...).str());
}

json::Object schedule::toJSON(const Schedule &schedule) {
  return json::Object{{"target", schedule.target},
                      {"query_tile", json::Array(schedule.queryTile)},
                      {"key_tile", json::Array(schedule.keyTile)},
                      {"warpgroup_tile", json::Array(schedule.warpgroupTile)},
                      {"stages", schedule.stages},
                      {"warps", schedule.warps},
                      {"value_tile", schedule.valueTile},
                      {"heads_per_tile", schedule.headsPerTile}};
}

static llvm::Error parseBox(const json::Object &object, StringRef name,
                            bool required, std::vector<int64_t> &box) {
  const json::Value *value = object.get(name);
  if (!value && !required)
    return llvm::Error::success();
  const json::Array *array = value ? value->getAsArray() : nullptr;
  if (!array)
    return fail("'{0}' is {1}, expected an array of numbers", name,
                value ? llvm::formatv("{0}", *value).str() : "missing");
  for (auto [axis, entry] : llvm::enumerate(*array)) {
    std::optional<int64_t> extent = entry.getAsInteger();
    if (!extent || *extent < 1 || *extent > maxExtent)
      return fail("'{0}'[{1}] = {2}, expected 1 to {3}", name, axis, entry,
                  maxExtent);
    box.push_back(*extent);
  }
  if (required && (box.empty() || box.size() > 3))
    return fail("'{0}' has {1} entries, expected 1 to 3, one per axis", name,
                box.size());
  return llvm::Error::success();
}

static llvm::Error parseNumber(const json::Object &object, StringRef name,
                               int64_t &number) {
  const json::Value *value = object.get(name);
  if (!value)
    return llvm::Error::success();
  std::optional<int64_t> found = value->getAsInteger();
  if (!found || *found < 0 || *found > maxExtent)
    return fail("'{0}' = {1}, expected 0 to {2}", name, *value, maxExtent);
  number = *found;
  return llvm::Error::success();
}

llvm::Expected<Schedule> schedule::parseSchedule(const json::Object &object) {
  Schedule schedule;
  std::optional<StringRef> target = object.getString("target");
  if (!target)
    return fail("'target' is missing");
  schedule.target = target->str();
  if (schedule.target != "cpu" && !findGpuChip(schedule.target))
    return fail("'target' is '{0}', expected cpu, {1}", *target,
                listGpuChips());
  if (auto error = parseBox(object, "query_tile", true, schedule.queryTile))
    return std::move(error);
  if (auto error = parseBox(object, "key_tile", true, schedule.keyTile))
    return std::move(error);
  if (auto error =
          parseBox(object, "warpgroup_tile", false, schedule.warpgroupTile))
    return std::move(error);
  for (auto [name, number] :
       {std::pair<StringRef, int64_t &>{"stages", schedule.stages},
        {"warps", schedule.warps},
        {"value_tile", schedule.valueTile}})
    if (auto error = parseNumber(object, name, number))
      return std::move(error);
  if (auto error = parseNumber(object, "heads_per_tile", schedule.headsPerTile))
    return std::move(error);
  if (schedule.headsPerTile == 0)
    return fail("'heads_per_tile' = 0, expected at least 1");
  return schedule;
}

std::string schedule::getTuningKey(const Workload &workload,
                                   const std::string &target) {
  return workload.getKey() + " on " + target;
}

std::string schedule::getCompilerName() { return "namlir " NAMLIR_VERSION; }

static llvm::Expected<TuningEntry> parseEntry(const json::Value &value) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return fail("is no object");
  const json::Object *stored = object->getObject("schedule");
  if (!stored)
    return fail("has no object 'schedule'");
  llvm::Expected<Schedule> schedule = parseSchedule(*stored);
  if (!schedule)
    return fail("schedule: {0}", llvm::toString(schedule.takeError()));
  TuningEntry entry;
  entry.schedule = std::move(*schedule);
  entry.seconds = object->getNumber("seconds").value_or(0);
  entry.gpu = object->getString("gpu").value_or("").str();
  return entry;
}

llvm::Expected<TuningFile> TuningFile::parse(StringRef text, StringRef name) {
  std::string prefix = ("tuning file '" + name + "': ").str();
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return fail("{0}{1}", prefix, llvm::toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  std::optional<StringRef> found =
      object ? object->getString("format") : std::nullopt;
  if (!found)
    return fail("{0}it has no \"format\", so it is no tuning file", prefix);
  if (*found != format)
    return fail("{0}its format is '{1}'; this compiler reads '{2}'", prefix,
                *found, format);
  const json::Object *stored = object->getObject("entries");
  if (!stored)
    return fail("{0}it has no object \"entries\"", prefix);
  TuningFile file;
  for (const auto &[key, entryValue] : *stored) {
    llvm::Expected<TuningEntry> entry = parseEntry(entryValue);
    if (!entry)
      return fail("{0}entry '{1}': {2}", prefix, StringRef(key),
                  llvm::toString(entry.takeError()));
    file.entries.emplace(StringRef(key).str(), std::move(*entry));
  }
  StringRef compiler = object->getString("compiler").value_or("");
  if (!compiler.empty() && compiler != getCompilerName())
    file.otherCompiler = compiler.str();
  return file;
}

llvm::Expected<TuningFile> TuningFile::read(StringRef path) {
  // One that has no end would take all memory.
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(path, status) &&
      status.type() == llvm::sys::fs::file_type::character_file)
    return fail("tuning file '{0}': is a device", path);
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return fail("tuning file '{0}': {1}", path, buffer.getError().message());
  return parse((*buffer)->getBuffer(), path);
}

const TuningEntry *TuningFile::find(const std::string &key) const {
  auto found = entries.find(key);
  return found == entries.end() ? nullptr : &found->second;
}
