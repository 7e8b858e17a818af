//===- Window.h - Window arithmetic of one attention axis -------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which keys a query sees on one axis of a neighborhood attention, and the
// inverse, for single positions and for tiles. Axes are independent: a pair is
// visible iff it is visible on every axis.
//
// An axis with dilation d falls apart into d residue classes that do not see
// each other. Position p of class r is the coordinate r + p * d. Except for
// classSize, pairCount and checkAxis everything here is in positions of one
// class, and `size` is the size of that class. Arguments are legal (checkAxis),
// positions are in [0, size), tiles are not empty and end at `size` at most.
//
// The functions are generic over the value type V, so that one definition
// evaluates on int64_t and builds IR. They use on V only
//   operators + - with V or int64_t, and * with int64_t, on the right,
//   minV(V, V), maxV(V, V), floorDiv(V, int64_t), ceilDiv(V, int64_t),
//   constantLike(V, int64_t),
// the latter found by argument-dependent lookup. Divisors are positive;
// dividends may be negative, and floorDiv rounds to minus infinity. Control
// flow depends on the fields of Axis only, never on a V.
//
//===----------------------------------------------------------------------===//

#ifndef NA_SEMANTICS_WINDOW_H
#define NA_SEMANTICS_WINDOW_H

#include <cstdint>
#include <optional>
#include <string>

namespace na::window {

/// The parameters of one axis. A causal window ends at the query.
struct Axis {
  int64_t window = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  bool causal = false;
};

/// The half-open range [begin, end); empty if begin >= end.
template <class V>
struct Range {
  V begin, end;
};

//===----------------------------------------------------------------------===//
// The operations on int64_t
//===----------------------------------------------------------------------===//

constexpr int64_t minV(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t maxV(int64_t a, int64_t b) { return a < b ? b : a; }
constexpr int64_t floorDiv(int64_t a, int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}
constexpr int64_t ceilDiv(int64_t a, int64_t b) {
  return a / b + (a % b > 0 ? 1 : 0);
}
constexpr int64_t constantLike(int64_t, int64_t c) { return c; }

//===----------------------------------------------------------------------===//
// Building blocks
//===----------------------------------------------------------------------===//

namespace detail {

/// How far before a key x the stride group begins that is the first whose
/// window starts after x, away from the borders: that group starts at
/// (x + reach) rounded down to the stride. Conversely the window of the group
/// that starts at g begins at g + stride - reach. Positive for legal arguments.
///
/// Without causality the query g + stride / 2 leads the group, with window / 2
/// keys on its left; with causality the last query leads, and ends the window.
constexpr int64_t reach(const Axis &axis) {
  return axis.causal ? axis.window
                     : axis.window / 2 + axis.stride - axis.stride / 2;
}

/// x + c, without a dead operation in the IR when c is 0.
template <class V>
V plus(const V &x, int64_t c) {
  return c == 0 ? x : x + c;
}

/// x rounded down to a multiple of the stride.
template <class V>
V groupStart(const Axis &axis, const V &x) {
  return axis.stride == 1 ? x : floorDiv(x, axis.stride) * axis.stride;
}

/// The first key of the window of the query at `pos`. Monotone in `pos`.
/// Clamping to [0, size - window] shifts the window inward at a border, and
/// covers the clamp of the leader to the last position as well.
template <class V>
V keyBegin(const Axis &axis, const V &size, const V &pos) {
  V begin = plus(groupStart(axis, pos), axis.stride - reach(axis));
  return maxV(minV(begin, size - axis.window), constantLike(size, 0));
}

/// One past the last key of the window of the query at `pos`. Monotone.
template <class V>
V keyEnd(const Axis &axis, const V &size, const V &pos) {
  if (axis.causal)
    return pos + int64_t(1);
  return keyBegin(axis, size, pos) + axis.window;
}

/// The first query that sees `key`. Monotone in `key`.
template <class V>
V queryBegin(const Axis &axis, const V &key) {
  // No query before the key sees it, and the key's own query does.
  if (axis.causal)
    return key;
  // Otherwise it is the first query whose window starts after x = key - window.
  // For x < 0 that is query 0, since windows start at 0 or later. The second
  // operand of the minimum is at most 0 there, and from x = 0 on it is never
  // below the first operand, which is at most x + reach.
  int64_t r = reach(axis);
  V start = groupStart(axis, plus(key, r - axis.window));
  V step = plus(key, 1 - axis.window) * r;
  return maxV(minV(start, step), constantLike(key, 0));
}

/// One past the last query that sees `key`, which is the first query whose
/// window starts after the key, or `size` if there is none. Monotone.
template <class V>
V queryEnd(const Axis &axis, const V &size, const V &key) {
  // No window starts after the key from key = size - window on. The second
  // operand of the maximum is `size` or more there, and below it is never above
  // the first operand, which is at least key + reach - stride + 1.
  int64_t r = reach(axis);
  V start = groupStart(axis, plus(key, r));
  // Causal windows of stride 1: both operands are key + window.
  if (axis.causal && axis.stride == 1)
    return minV(start, size);
  V step = size + (key + axis.window - size) * (axis.window - r + axis.stride);
  return minV(maxV(start, step), size);
}

constexpr int64_t gcd(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/// 1 + 2 + ... + n.
constexpr int64_t triangle(int64_t n) {
  return n % 2 == 0 ? n / 2 * (n + 1) : (n + 1) / 2 * n;
}

/// The number of visible pairs in one residue class.
constexpr int64_t classPairCount(const Axis &axis, int64_t size) {
  int64_t window = axis.window, stride = axis.stride;
  if (!axis.causal)
    return size * window;
  // Position i of a group of n queries whose last one leads sees
  // window - n + i + 1 keys, unless the window starts before key 0: then every
  // query sees all keys up to itself.
  int64_t cutGroups = ceilDiv(window, stride) - 1;
  int64_t fullGroups = size / stride - cutGroups;
  int64_t rest = size % stride;
  return triangle(cutGroups * stride) +
         fullGroups * ((window - stride) * stride + triangle(stride)) +
         (window - rest) * rest + triangle(rest);
}

} // namespace detail

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

/// The number of positions in a residue class of an axis of `length` tokens.
/// Classes differ in size by one when the dilation does not divide the length.
template <class V>
V classSize(const Axis &axis, V length, V residue) {
  return axis.dilation == 1 ? length : ceilDiv(length - residue, axis.dilation);
}

/// The keys that the query at `pos` sees.
template <class V>
Range<V> keyRange(const Axis &axis, V size, V pos) {
  V begin = detail::keyBegin(axis, size, pos);
  if (axis.causal)
    return {begin, pos + int64_t(1)};
  return {begin, begin + axis.window};
}

/// The keys that some query of [begin, end) sees. They are contiguous.
template <class V>
Range<V> tileSpan(const Axis &axis, V size, V begin, V end) {
  return {detail::keyBegin(axis, size, begin),
          detail::keyEnd(axis, size, end - int64_t(1))};
}

/// The keys that all queries of [begin, end) see; may be empty.
template <class V>
Range<V> tileInterior(const Axis &axis, V size, V begin, V end) {
  return {detail::keyBegin(axis, size, end - int64_t(1)),
          detail::keyEnd(axis, size, begin)};
}

/// The queries that see `key`. Never empty, in general not `window` long, and
/// not symmetric.
template <class V>
Range<V> queryRange(const Axis &axis, V size, V key) {
  return {detail::queryBegin(axis, key), detail::queryEnd(axis, size, key)};
}

/// The queries that see some key of [begin, end). They are contiguous.
template <class V>
Range<V> inverseTileSpan(const Axis &axis, V size, V begin, V end) {
  return {detail::queryBegin(axis, begin),
          detail::queryEnd(axis, size, end - int64_t(1))};
}

/// The queries that see all keys of [begin, end); may be empty.
template <class V>
Range<V> inverseTileInterior(const Axis &axis, V size, V begin, V end) {
  return {detail::queryBegin(axis, end - int64_t(1)),
          detail::queryEnd(axis, size, begin)};
}

//===----------------------------------------------------------------------===//
// Counts and properties of a whole axis
//===----------------------------------------------------------------------===//

/// The number of visible query/key pairs on an axis of `length` tokens, over
/// all residue classes, in constant time.
constexpr int64_t pairCount(const Axis &axis, int64_t length) {
  int64_t small = length / axis.dilation, larger = length % axis.dilation;
  int64_t count =
      (axis.dilation - larger) * detail::classPairCount(axis, small);
  if (larger != 0)
    count += larger * detail::classPairCount(axis, small + 1);
  return count;
}

/// The length of the longest tileSpan over the tiles of `tile` queries that
/// start at the multiples of `tile`; the last one may be shorter.
inline int64_t maxSpan(const Axis &axis, int64_t size, int64_t tile) {
  tile = minV(tile, size);
  // The span of a tile that starts as late in a stride group as any multiple of
  // the tile does, and that no border shortens. Stopping there bounds the loop
  // by the tiles at the border and one period of the alignments.
  int64_t latest = axis.stride - detail::gcd(tile, axis.stride);
  int64_t bound =
      axis.causal
          ? tile + latest + axis.window - axis.stride
          : (tile - 1 + latest) / axis.stride * axis.stride + axis.window;
  int64_t longest = 0;
  for (int64_t begin = 0; begin < size && longest < bound; begin += tile) {
    Range<int64_t> span =
        tileSpan(axis, size, begin, begin + minV(tile, size - begin));
    longest = maxV(longest, span.end - span.begin);
  }
  return longest;
}

/// Whether two queries of the class can see different keys. If not, every query
/// sees every key of its class, and nothing is ever masked on the axis.
constexpr bool canCut(const Axis &axis, int64_t size) {
  return axis.causal ? size > 1 : axis.window < size;
}

/// Whether two queries can see different keys that are in one tile of `tile`
/// queries, where tiles start at the multiples of `tile`. If not, the span of
/// every tile is its interior, and a key in the span needs no mask.
inline bool canCut(const Axis &axis, int64_t size, int64_t tile) {
  tile = minV(tile, size);
  if (!canCut(axis, size) || tile <= 1)
    return false;
  if (axis.causal)
    return true;
  // No tile crosses from one stride group into the next.
  if (axis.stride % tile == 0)
    return false;
  // The positions whose windows differ from their predecessors' are successive
  // multiples of the stride. Two in a row cannot both be the start of a tile.
  int64_t first = detail::reach(axis) / axis.stride * axis.stride;
  int64_t second = first + axis.stride;
  if (first < size && first % tile != 0)
    return true;
  return second < size && second % tile != 0 &&
         detail::keyBegin(axis, size, first) !=
             detail::keyBegin(axis, size, second);
}

namespace detail {

/// Whether `holds` for the queries that see [begin, end), for some tile of
/// `tile` keys that starts at a multiple of `tile`. Away from the borders, what
/// a tile has repeats with the alignments, so the middle of an axis is left
/// out.
template <class Predicate>
bool anyInverseTile(const Axis &axis, int64_t size, int64_t tile,
                    Predicate holds) {
  int64_t period = axis.stride / gcd(tile, axis.stride);
  int64_t border = (axis.window + 2 * axis.stride) / tile + period + 1;
  int64_t tiles = ceilDiv(size, tile);
  for (int64_t i = 0; i < tiles; ++i) {
    if (i == border)
      i = maxV(i, tiles - border);
    if (holds(i * tile, minV(i * tile + tile, size)))
      return true;
  }
  return false;
}

} // namespace detail

/// Whether some two keys that are in one tile of `tile` keys, where tiles start
/// at the multiples of `tile`, can be seen by different queries. If not, the
/// inverse span of every tile is its interior.
inline bool canCutInverse(const Axis &axis, int64_t size, int64_t tile) {
  tile = minV(tile, size);
  if (!canCut(axis, size) || tile <= 1)
    return false;
  if (axis.causal)
    return true;
  return detail::anyInverseTile(
      axis, size, tile, [&](int64_t begin, int64_t end) {
        Range<int64_t> span = inverseTileSpan(axis, size, begin, end);
        Range<int64_t> interior = inverseTileInterior(axis, size, begin, end);
        return span.begin != interior.begin || span.end != interior.end;
      });
}

/// Whether tiles of `queryTile` queries, laid from the start of the inverse
/// span of a tile of `keyTile` keys, can reach beyond its end.
inline bool canOverrunInverse(const Axis &axis, int64_t size, int64_t keyTile,
                              int64_t queryTile) {
  if (queryTile == 1)
    return false;
  return detail::anyInverseTile(
      axis, size, keyTile, [&](int64_t begin, int64_t end) {
        Range<int64_t> span = inverseTileSpan(axis, size, begin, end);
        return (span.end - span.begin) % queryTile != 0;
      });
}

//===----------------------------------------------------------------------===//
// Argument checks
//===----------------------------------------------------------------------===//

/// An illegal argument: `value` of `argument` on `axis` breaks `limit`. Where
/// window times dilation exceeds the length, `argument` is the window and
/// `limit` the length.
struct ArgError {
  std::string argument;
  int axis;
  int64_t value, limit;
  std::string message;
};

/// Returns the first fault of the arguments of one axis, if any. `axis` numbers
/// the axis in messages; without `length` (a dynamic size) that limit is not
/// checked.
inline std::optional<ArgError> checkAxis(const Axis &args, int axis,
                                         std::optional<int64_t> length) {
  auto name = [&](const char *argument, int64_t value) {
    return std::string(argument) + "[" + std::to_string(axis) +
           "] = " + std::to_string(value);
  };
  auto atLeastOne = [&](const char *argument,
                        int64_t value) -> std::optional<ArgError> {
    if (value >= 1)
      return std::nullopt;
    return ArgError{argument, axis, value, 1,
                    name(argument, value) + " is less than 1"};
  };
  if (auto error = atLeastOne("window", args.window))
    return error;
  if (auto error = atLeastOne("stride", args.stride))
    return error;
  if (args.stride > args.window)
    return ArgError{"stride", axis, args.stride, args.window,
                    name("stride", args.stride) + " exceeds " +
                        name("window", args.window)};
  if (auto error = atLeastOne("dilation", args.dilation))
    return error;
  // Divided, because the product can overflow.
  if (length && args.window > *length / args.dilation)
    return ArgError{"window", axis, args.window, *length,
                    name("window", args.window) + " times " +
                        name("dilation", args.dilation) +
                        " exceeds the axis length " + std::to_string(*length)};
  return std::nullopt;
}

} // namespace na::window

#endif // NA_SEMANTICS_WINDOW_H
