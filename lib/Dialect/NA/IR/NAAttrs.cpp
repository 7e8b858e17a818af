//===- NAAttrs.cpp - Attributes ---------------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/IR/NA.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace mlir::na;

//===----------------------------------------------------------------------===//
// Reading and writing lists
//===----------------------------------------------------------------------===//

static ParseResult parseIntegerList(AsmParser &parser,
                                    SmallVectorImpl<int64_t> &list) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        return parser.parseInteger(list.emplace_back());
      });
}

static ParseResult parseBoolList(AsmParser &parser,
                                 SmallVectorImpl<bool> &list) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        StringRef keyword;
        SMLoc loc = parser.getCurrentLocation();
        if (parser.parseKeyword(&keyword))
          return failure();
        if (keyword != "true" && keyword != "false")
          return parser.emitError(loc, "expected 'true' or 'false'");
        list.push_back(keyword == "true");
        return success();
      });
}

static void printList(AsmPrinter &printer, ArrayRef<int64_t> list) {
  printer << '[';
  llvm::interleaveComma(list, printer);
  printer << ']';
}

/// Parses `<name = value, ..>`; `parseEntry` reads the value of one name.
static ParseResult
parseStruct(AsmParser &parser,
            function_ref<ParseResult(StringRef name, SMLoc loc)> parseEntry) {
  llvm::SmallSet<StringRef, 8> seen;
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::LessGreater, [&]() -> ParseResult {
        StringRef name;
        SMLoc loc = parser.getCurrentLocation();
        if (parser.parseKeyword(&name))
          return failure();
        if (!seen.insert(name).second)
          return parser.emitError(loc)
                 << "entry '" << name << "' is given twice";
        if (parser.parseEqual())
          return failure();
        return parseEntry(name, loc);
      });
}

//===----------------------------------------------------------------------===//
// WindowAttr
//===----------------------------------------------------------------------===//

Attribute WindowAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> size, stride, dilation;
  SmallVector<bool> causal;
  SMLoc loc = parser.getCurrentLocation();
  if (parseStruct(parser, [&](StringRef name, SMLoc nameLoc) -> ParseResult {
        if (name == "size")
          return parseIntegerList(parser, size);
        if (name == "stride")
          return parseIntegerList(parser, stride);
        if (name == "dilation")
          return parseIntegerList(parser, dilation);
        if (name == "causal")
          return parseBoolList(parser, causal);
        return parser.emitError(nameLoc)
               << "unknown entry '" << name
               << "' of a window; expected size, stride, dilation or causal";
      }))
    return {};
  // Omitted lists mean 1 / false; a written empty list means the same.
  if (stride.empty())
    stride.assign(size.size(), 1);
  if (dilation.empty())
    dilation.assign(size.size(), 1);
  if (causal.empty())
    causal.assign(size.size(), false);
  return parser.getChecked<WindowAttr>(
      loc, parser.getContext(), ArrayRef<int64_t>(size),
      ArrayRef<int64_t>(stride), ArrayRef<int64_t>(dilation),
      ArrayRef<bool>(causal));
}

void WindowAttr::print(AsmPrinter &printer) const {
  auto allOnes = [](ArrayRef<int64_t> list) {
    return llvm::all_of(list, [](int64_t value) { return value == 1; });
  };
  printer << "<size = ";
  printList(printer, getSize());
  if (!allOnes(getStride())) {
    printer << ", stride = ";
    printList(printer, getStride());
  }
  if (!allOnes(getDilation())) {
    printer << ", dilation = ";
    printList(printer, getDilation());
  }
  if (llvm::is_contained(getCausal(), true)) {
    printer << ", causal = [";
    llvm::interleaveComma(getCausal(), printer, [&](bool causal) {
      printer << (causal ? "true" : "false");
    });
    printer << ']';
  }
  printer << '>';
}

LogicalResult WindowAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> size,
                                 ArrayRef<int64_t> stride,
                                 ArrayRef<int64_t> dilation,
                                 ArrayRef<bool> causal) {
  if (size.empty() || size.size() > 3)
    return emitError() << "window has " << size.size()
                       << " axes, expected 1 to 3 ('size' has one entry per "
                          "axis)";
  auto checkLength = [&](StringRef name, size_t entries) -> LogicalResult {
    if (entries == size.size())
      return success();
    return emitError() << "window '" << name << "' has " << entries
                       << " entries, expected " << size.size()
                       << " (as many as 'size')";
  };
  if (failed(checkLength("stride", stride.size())) ||
      failed(checkLength("dilation", dilation.size())) ||
      failed(checkLength("causal", causal.size())))
    return failure();
  for (size_t i = 0; i < size.size(); ++i)
    if (auto error = ::na::window::checkAxis(
            {size[i], stride[i], dilation[i], causal[i]}, i, std::nullopt))
      return emitError() << error->message;
  return success();
}

::na::window::Axis WindowAttr::getAxis(int64_t axis) const {
  return {getSize()[axis], getStride()[axis], getDilation()[axis],
          getCausal()[axis]};
}

int64_t WindowAttr::getNumSlots() const {
  // Saturates: a window that large is legal as an attribute and is refused
  // where its weights would have to exist.
  int64_t slots = 1;
  for (int64_t size : getSize())
    if (__builtin_mul_overflow(slots, size, &slots))
      return std::numeric_limits<int64_t>::max();
  return slots;
}

bool WindowAttr::isIdentity() const {
  return llvm::all_of(getSize(), [](int64_t size) { return size == 1; });
}

//===----------------------------------------------------------------------===//
// ScheduleAttr
//===----------------------------------------------------------------------===//

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  std::string target;
  SmallVector<int64_t> queryTile, keyTile, warpgroupTile;
  int64_t stages = 0, warps = 0, valueTile = 0, headsPerTile = 1;
  SMLoc loc = parser.getCurrentLocation();
  if (parseStruct(parser, [&](StringRef name, SMLoc nameLoc) -> ParseResult {
        if (name == "target")
          return parser.parseString(&target);
        if (name == "query_tile")
          return parseIntegerList(parser, queryTile);
        if (name == "key_tile")
          return parseIntegerList(parser, keyTile);
        if (name == "warpgroup_tile")
          return parseIntegerList(parser, warpgroupTile);
        if (name == "stages")
          return parser.parseInteger(stages);
        if (name == "warps")
          return parser.parseInteger(warps);
        if (name == "value_tile")
          return parser.parseInteger(valueTile);
        if (name == "heads_per_tile")
          return parser.parseInteger(headsPerTile);
        return parser.emitError(nameLoc)
               << "unknown entry '" << name
               << "' of a schedule; expected target, query_tile, key_tile, "
                  "warpgroup_tile, stages, warps, value_tile or "
                  "heads_per_tile";
      }))
    return {};
  return parser.getChecked<ScheduleAttr>(
      loc, parser.getContext(), StringRef(target), ArrayRef<int64_t>(queryTile),
      ArrayRef<int64_t>(keyTile), ArrayRef<int64_t>(warpgroupTile), stages,
      warps, valueTile, headsPerTile);
}

void ScheduleAttr::print(AsmPrinter &printer) const {
  printer << "<target = ";
  printer.printString(getTarget());
  printer << ", query_tile = ";
  printList(printer, getQueryTile());
  printer << ", key_tile = ";
  printList(printer, getKeyTile());
  if (!getWarpgroupTile().empty()) {
    printer << ", warpgroup_tile = ";
    printList(printer, getWarpgroupTile());
  }
  if (getStages())
    printer << ", stages = " << getStages();
  if (getWarps())
    printer << ", warps = " << getWarps();
  if (getValueTile())
    printer << ", value_tile = " << getValueTile();
  if (getHeadsPerTile() != 1)
    printer << ", heads_per_tile = " << getHeadsPerTile();
  printer << '>';
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   StringRef target,
                                   ArrayRef<int64_t> queryTile,
                                   ArrayRef<int64_t> keyTile,
                                   ArrayRef<int64_t> warpgroupTile,
                                   int64_t stages, int64_t warps,
                                   int64_t valueTile, int64_t headsPerTile) {
  if (queryTile.empty() || queryTile.size() > 3)
    return emitError() << "schedule 'query_tile' has " << queryTile.size()
                       << " entries, expected 1 to 3";
  if (keyTile.size() != queryTile.size())
    return emitError() << "schedule 'key_tile' has " << keyTile.size()
                       << " entries, expected " << queryTile.size()
                       << " (as many as 'query_tile')";
  if (!warpgroupTile.empty() && warpgroupTile.size() != queryTile.size())
    return emitError() << "schedule 'warpgroup_tile' has "
                       << warpgroupTile.size() << " entries, expected "
                       << queryTile.size() << " (as many as 'query_tile')";
  // Tile lanes are static sizes of small tensors; the bound keeps their
  // products far from any overflow.
  constexpr int64_t maxTile = 65536;
  auto checkTile = [&](StringRef name,
                       ArrayRef<int64_t> tile) -> LogicalResult {
    int64_t lanes = 1;
    for (auto [axis, extent] : llvm::enumerate(tile)) {
      if (extent < 1 || extent > maxTile)
        return emitError() << "schedule '" << name << "'[" << axis
                           << "] = " << extent << ", expected 1 to " << maxTile;
      lanes *= extent;
    }
    if (lanes > maxTile)
      return emitError() << "schedule '" << name << "' holds " << lanes
                         << " tokens, expected at most " << maxTile;
    return success();
  };
  if (failed(checkTile("query_tile", queryTile)) ||
      failed(checkTile("key_tile", keyTile)) ||
      failed(checkTile("warpgroup_tile", warpgroupTile)))
    return failure();
  // Which of the two it divides depends on what the operation's rows are.
  auto isDivided = [&](ArrayRef<int64_t> tile) {
    return llvm::all_of(llvm::zip(tile, warpgroupTile), [](auto extents) {
      return std::get<0>(extents) % std::get<1>(extents) == 0;
    });
  };
  if (!isDivided(queryTile) && !isDivided(keyTile))
    for (auto [axis, extent] : llvm::enumerate(warpgroupTile))
      if (queryTile[axis] % extent != 0)
        return emitError() << "schedule 'warpgroup_tile'[" << axis
                           << "] = " << extent
                           << " does not divide 'query_tile'[" << axis
                           << "] = " << queryTile[axis];
  if (stages < 0 || stages > 64)
    return emitError() << "schedule 'stages' = " << stages
                       << ", expected 0 to 64";
  if (warps < 0 || warps > 32)
    return emitError() << "schedule 'warps' = " << warps
                       << ", expected 0 to 32";
  constexpr int64_t maxHeads = 64;
  if (headsPerTile < 1 || headsPerTile > maxHeads)
    return emitError() << "schedule 'heads_per_tile' = " << headsPerTile
                       << ", expected 1 to " << maxHeads;
  // With the heads, boxes of tokens have one dimension more; the TMA knows
  // five, of which channels and batches take two.
  if (headsPerTile != 1 && queryTile.size() > 2)
    return emitError() << "schedule 'heads_per_tile' = " << headsPerTile
                       << " with " << queryTile.size()
                       << " axes, expected at most 2";
  // The operation knows which of the two they divide.
  int64_t queries = llvm::product_of(queryTile) * headsPerTile;
  int64_t keys = llvm::product_of(keyTile);
  if (warps != 0 && queries % warps != 0 && keys % warps != 0)
    return emitError() << "schedule 'warps' = " << warps
                       << " divides neither the " << queries
                       << " queries of 'query_tile'"
                       << (headsPerTile != 1 ? " and 'heads_per_tile'" : "")
                       << " nor the " << keys << " keys of 'key_tile'";
  if (valueTile < 0 || valueTile > maxTile)
    return emitError() << "schedule 'value_tile' = " << valueTile
                       << ", expected 0 to " << maxTile;
  return success();
}
