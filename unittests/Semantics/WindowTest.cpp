//===- WindowTest.cpp - Tests of the window arithmetic ----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares with the oracle's own table (generate_oracle_table.py writes it)
// for every legal argument up to a length of 24. Tiles and the inverse are
// compared with what follows from the oracle's rows by enumeration.
//
//===----------------------------------------------------------------------===//

#include "na/Semantics/Window.h"
#include "gtest/gtest.h"

#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <sstream>
#include <tuple>
#include <type_traits>
#include <vector>

using namespace na::window;

namespace {

constexpr int64_t maxLength = 24;
constexpr int64_t maxInt64 = std::numeric_limits<int64_t>::max();
constexpr int64_t minInt64 = std::numeric_limits<int64_t>::min();

std::string describe(const Axis &axis, int64_t size) {
  std::ostringstream os;
  os << "size " << size << " window " << axis.window << " stride "
     << axis.stride << " dilation " << axis.dilation << " causal "
     << axis.causal;
  return os.str();
}

//===----------------------------------------------------------------------===//
// The oracle's table
//===----------------------------------------------------------------------===//

struct Row {
  int64_t first, count;
};

struct Case {
  Axis axis;
  int64_t length;
  std::vector<Row> rows;
};

struct Count {
  Axis axis;
  int64_t length, pairs;
};

struct Table {
  std::vector<Case> cases;
  std::vector<Count> golden, problems;
  bool malformed = false;
};

const Table &table() {
  static const Table table = [] {
    Table result;
    std::ifstream file(NA_ORACLE_TABLE);
    std::string line, kind;
    while (std::getline(file, line)) {
      std::istringstream words(line);
      Axis axis;
      int64_t length;
      words >> kind >> length >> axis.window >> axis.stride >> axis.dilation >>
          axis.causal;
      if (kind == "rows") {
        Case entry{axis, length, std::vector<Row>(length)};
        for (Row &row : entry.rows)
          words >> row.first >> row.count;
        result.cases.push_back(std::move(entry));
      } else {
        int64_t pairs;
        words >> pairs;
        (kind == "golden" ? result.golden : result.problems)
            .push_back({axis, length, pairs});
      }
      result.malformed |= words.fail();
    }
    return result;
  }();
  return table;
}

/// A set of positions of one residue class, one bit each.
using Set = uint32_t;

Set bits(int64_t begin, int64_t end) {
  Set set = 0;
  for (int64_t i = begin; i < end; ++i)
    set |= Set(1) << i;
  return set;
}

/// The set of a range, which has to lie inside the class.
Set bits(const Range<int64_t> &range, int64_t size) {
  if (range.begin < range.end) {
    EXPECT_GE(range.begin, 0);
    EXPECT_LE(range.end, size);
  }
  return bits(range.begin, range.end);
}

/// One residue class of a case: keys[p] are the keys that position p sees, and
/// queries[p] the positions that see key p.
struct Class {
  Axis axis;
  int64_t size;
  std::vector<Set> keys, queries;
};

std::vector<Class> classes() {
  std::vector<Class> result;
  for (const Case &entry : table().cases) {
    int64_t dilation = entry.axis.dilation;
    for (int64_t residue = 0; residue < dilation; ++residue) {
      Class c{entry.axis, 0, {}, {}};
      for (int64_t i = residue; i < entry.length; i += dilation) {
        int64_t first = (entry.rows[i].first - residue) / dilation;
        c.keys.push_back(bits(first, first + entry.rows[i].count));
      }
      c.size = c.keys.size();
      c.queries.resize(c.size);
      for (int64_t query = 0; query < c.size; ++query)
        for (int64_t key = 0; key < c.size; ++key)
          if (c.keys[query] >> key & 1)
            c.queries[key] |= Set(1) << query;
      result.push_back(std::move(c));
    }
  }
  return result;
}

/// Compares span and interior of every tile with the union and intersection of
/// its rows.
template <class Span, class Interior>
void checkTiles(const Class &c, const std::vector<Set> &rows, Span span,
                Interior interior) {
  for (int64_t begin = 0; begin < c.size; ++begin) {
    Set any = 0, all = ~Set(0);
    for (int64_t end = begin + 1; end <= c.size; ++end) {
      any |= rows[end - 1];
      all &= rows[end - 1];
      ASSERT_EQ(bits(span(c.axis, c.size, begin, end), c.size), any)
          << describe(c.axis, c.size) << " tile " << begin << " " << end;
      ASSERT_EQ(bits(interior(c.axis, c.size, begin, end), c.size), all)
          << describe(c.axis, c.size) << " tile " << begin << " " << end;
    }
  }
}

//===----------------------------------------------------------------------===//
// Against the oracle
//===----------------------------------------------------------------------===//

TEST(Window, TableIsWhole) {
  ASSERT_FALSE(table().malformed);
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t, bool>, int> seen;
  for (const Case &c : table().cases)
    ++seen[{c.length, c.axis.window, c.axis.stride, c.axis.dilation,
            c.axis.causal}];
  // What the checks call legal is exactly what the table holds, once each.
  size_t legal = 0;
  for (int64_t length = 1; length <= maxLength; ++length)
    for (int64_t window = -1; window <= length + 1; ++window)
      for (int64_t stride = -1; stride <= window + 1; ++stride)
        for (int64_t dilation = -1; dilation <= length + 1; ++dilation)
          for (bool causal : {false, true}) {
            Axis axis{window, stride, dilation, causal};
            bool ok = !checkAxis(axis, 0, length);
            auto found = seen.find({length, window, stride, dilation, causal});
            ASSERT_EQ(ok, found != seen.end()) << describe(axis, length);
            if (ok) {
              ASSERT_EQ(found->second, 1) << describe(axis, length);
            }
            legal += ok;
          }
  EXPECT_EQ(legal, table().cases.size());
  EXPECT_GT(legal, 5000u);
  EXPECT_EQ(table().golden.size(), 11u);
  EXPECT_GT(table().problems.size(), 100u);
}

TEST(Window, KeyRange) {
  for (const Case &entry : table().cases) {
    const Axis &axis = entry.axis;
    for (int64_t i = 0; i < entry.length; ++i) {
      int64_t residue = i % axis.dilation;
      int64_t size = classSize(axis, entry.length, residue);
      Range<int64_t> range = keyRange(axis, size, i / axis.dilation);
      ASSERT_EQ(residue + range.begin * axis.dilation, entry.rows[i].first)
          << describe(axis, entry.length) << " query " << i;
      ASSERT_EQ(range.end - range.begin, entry.rows[i].count)
          << describe(axis, entry.length) << " query " << i;
    }
  }
}

TEST(Window, ClassSizes) {
  for (const Case &entry : table().cases) {
    std::vector<int64_t> sizes(entry.axis.dilation);
    for (int64_t i = 0; i < entry.length; ++i)
      ++sizes[i % entry.axis.dilation];
    for (int64_t residue = 0; residue < entry.axis.dilation; ++residue)
      ASSERT_EQ(classSize(entry.axis, entry.length, residue), sizes[residue])
          << describe(entry.axis, entry.length) << " residue " << residue;
  }
}

TEST(Window, QueryRangeIsTheInverse) {
  for (const Class &c : classes())
    for (int64_t key = 0; key < c.size; ++key)
      ASSERT_EQ(bits(queryRange(c.axis, c.size, key), c.size), c.queries[key])
          << describe(c.axis, c.size) << " key " << key;
}

TEST(Window, Tiles) {
  for (const Class &c : classes()) {
    checkTiles(c, c.keys, tileSpan<int64_t>, tileInterior<int64_t>);
    if (HasFailure())
      return;
  }
}

TEST(Window, InverseTiles) {
  for (const Class &c : classes()) {
    checkTiles(c, c.queries, inverseTileSpan<int64_t>,
               inverseTileInterior<int64_t>);
    if (HasFailure())
      return;
  }
}

TEST(Window, PairCount) {
  for (const Case &entry : table().cases) {
    int64_t pairs = 0;
    for (const Row &row : entry.rows)
      pairs += row.count;
    ASSERT_EQ(pairCount(entry.axis, entry.length), pairs)
        << describe(entry.axis, entry.length);
  }
}

TEST(Window, GoldenPairCounts) {
  for (const Count &count : table().golden)
    EXPECT_EQ(pairCount(count.axis, count.length), count.pairs)
        << describe(count.axis, count.length);
}

TEST(Window, ProblemAxes) {
  for (const Count &count : table().problems) {
    const Axis &axis = count.axis;
    EXPECT_FALSE(checkAxis(axis, 0, count.length));
    EXPECT_EQ(pairCount(axis, count.length), count.pairs)
        << describe(axis, count.length);
    // Both directions sum to the same pairs on lengths beyond the table's.
    int64_t forward = 0, inverse = 0;
    for (int64_t i = 0; i < count.length; ++i) {
      int64_t size = classSize(axis, count.length, i % axis.dilation);
      Range<int64_t> keys = keyRange(axis, size, i / axis.dilation);
      Range<int64_t> queries = queryRange(axis, size, i / axis.dilation);
      forward += keys.end - keys.begin;
      inverse += queries.end - queries.begin;
    }
    EXPECT_EQ(forward, count.pairs) << describe(axis, count.length);
    EXPECT_EQ(inverse, count.pairs) << describe(axis, count.length);
  }
}

TEST(Window, PairCountOfLongAxes) {
  int64_t length = int64_t(1) << 40;
  EXPECT_EQ(pairCount({5, 2, 1, false}, length), 5 * length);
  EXPECT_EQ(pairCount({3, 1, 1, true}, length), 3 * length - 3);
  EXPECT_EQ(pairCount({3, 1, 2, true}, length), 3 * length - 6);
  // Just below 2^63: no intermediate is larger than the result.
  length = 4294967295;
  EXPECT_EQ(pairCount({length, 1, 1, true}, length), 9223372034707292160);
}

//===----------------------------------------------------------------------===//
// Properties of an axis
//===----------------------------------------------------------------------===//

TEST(Window, MaxSpanAndCanCut) {
  for (const Class &c : classes()) {
    for (int64_t tile = 1; tile <= c.size + 2; ++tile) {
      int64_t longest = 0;
      bool cut = false;
      for (int64_t begin = 0; begin < c.size; begin += tile) {
        Set any = 0;
        for (int64_t i = begin; i < minV(begin + tile, c.size); ++i) {
          any |= c.keys[i];
          cut |= c.keys[i] != c.keys[begin];
        }
        int64_t count = 0;
        for (; any != 0; any &= any - 1)
          ++count;
        longest = maxV(longest, count);
      }
      ASSERT_EQ(maxSpan(c.axis, c.size, tile), longest)
          << describe(c.axis, c.size) << " tile " << tile;
      ASSERT_EQ(canCut(c.axis, c.size, tile), cut)
          << describe(c.axis, c.size) << " tile " << tile;
    }
    bool cut = false;
    for (Set keys : c.keys)
      cut |= keys != bits(0, c.size);
    ASSERT_EQ(canCut(c.axis, c.size), cut) << describe(c.axis, c.size);
  }
}

TEST(Window, MaxSpanAndCanCutOfLongerAxes) {
  // Long enough for the loops to stop before they have seen every tile.
  for (int64_t size : {100, 251})
    for (int64_t window : {1, 2, 7, 12, 30})
      for (int64_t stride = 1; stride <= window; ++stride)
        for (bool causal : {false, true})
          for (int64_t tile = 1; tile <= 40; ++tile) {
            Axis axis{window, stride, 1, causal};
            int64_t longest = 0;
            bool cut = false;
            for (int64_t begin = 0; begin < size; begin += tile) {
              int64_t end = minV(begin + tile, size);
              Range<int64_t> span = tileSpan(axis, size, begin, end);
              Range<int64_t> inside = tileInterior(axis, size, begin, end);
              longest = maxV(longest, span.end - span.begin);
              cut |= span.begin != inside.begin || span.end != inside.end;
            }
            ASSERT_EQ(maxSpan(axis, size, tile), longest)
                << describe(axis, size) << " tile " << tile;
            ASSERT_EQ(canCut(axis, size, tile), cut)
                << describe(axis, size) << " tile " << tile;
          }
}

TEST(Window, CanCutAndOverrunInverse) {
  for (const Class &c : classes())
    for (int64_t tile = 1; tile <= c.size + 2; ++tile) {
      bool cut = false;
      std::vector<int64_t> lengths;
      for (int64_t begin = 0; begin < c.size; begin += tile) {
        Set any = 0;
        for (int64_t i = begin; i < minV(begin + tile, c.size); ++i) {
          any |= c.queries[i];
          cut |= c.queries[i] != c.queries[begin];
        }
        int64_t length = 0;
        for (; any != 0; any &= any - 1)
          ++length;
        lengths.push_back(length);
      }
      ASSERT_EQ(canCutInverse(c.axis, c.size, tile), cut)
          << describe(c.axis, c.size) << " tile " << tile;
      for (int64_t queries = 1; queries <= 5; ++queries) {
        bool overruns = false;
        for (int64_t length : lengths)
          overruns |= length % queries != 0;
        ASSERT_EQ(canOverrunInverse(c.axis, c.size, tile, queries), overruns)
            << describe(c.axis, c.size) << " tile " << tile << " queries "
            << queries;
      }
    }
}

TEST(Window, CanCutAndOverrunInverseOfLongerAxes) {
  // Long enough for the loops to leave the middle out.
  for (int64_t size : {100, 251})
    for (int64_t window : {1, 2, 7, 12, 30})
      for (int64_t stride = 1; stride <= window; ++stride)
        for (bool causal : {false, true})
          for (int64_t tile = 1; tile <= 40; ++tile) {
            Axis axis{window, stride, 1, causal};
            bool cut = false, overruns = false;
            for (int64_t begin = 0; begin < size; begin += tile) {
              int64_t end = minV(begin + tile, size);
              Range<int64_t> span = inverseTileSpan(axis, size, begin, end);
              Range<int64_t> inside =
                  inverseTileInterior(axis, size, begin, end);
              cut |= span.begin != inside.begin || span.end != inside.end;
              overruns |= (span.end - span.begin) % 4 != 0;
            }
            ASSERT_EQ(canCutInverse(axis, size, tile), cut)
                << describe(axis, size) << " tile " << tile;
            ASSERT_EQ(canOverrunInverse(axis, size, tile, 4), overruns)
                << describe(axis, size) << " tile " << tile;
          }
  // At once for a long one.
  int64_t size = int64_t(1) << 30;
  EXPECT_FALSE(canCutInverse({32, 32, 1, false}, size, 16));
  EXPECT_FALSE(canOverrunInverse({32, 32, 1, false}, size, 16, 16));
}

TEST(Window, MaxSpanDoesNotWalkALongAxis) {
  // A walk over all tiles would take hours.
  int64_t size = int64_t(1) << 50;
  EXPECT_EQ(maxSpan({7, 1, 1, false}, size, 64), 70);
  EXPECT_EQ(maxSpan({7, 1, 1, true}, size, 64), 70);
  EXPECT_EQ(maxSpan({8, 8, 1, false}, size, 4), 8);
  EXPECT_TRUE(canCut({7, 1, 1, false}, size, 64));
  EXPECT_FALSE(canCut({8, 8, 1, false}, size, 4));
  // The first window that differs is that of the query in the middle.
  EXPECT_TRUE(canCut({size / 2, 1, 1, false}, size, 64));
  EXPECT_TRUE(canCut({size - 1, 3, 1, false}, size, 2));
}

//===----------------------------------------------------------------------===//
// Other value types
//===----------------------------------------------------------------------===//

namespace symbolic {

/// A value that only records the operations on it, as one that builds IR does.
/// It has nothing to branch on, so a branch on a value does not compile.
struct Value {
  struct Node {
    enum Kind {
      Variable,
      Constant,
      Add,
      Sub,
      Mul,
      Min,
      Max,
      FloorDiv,
      CeilDiv
    };
    Kind kind;
    int64_t number;
    std::shared_ptr<const Node> lhs, rhs;
  };
  std::shared_ptr<const Node> node;

  static Value variable(int64_t number) {
    return {std::make_shared<Node>(Node{Node::Variable, number, {}, {}})};
  }
  static Value constant(int64_t number) {
    return {std::make_shared<Node>(Node{Node::Constant, number, {}, {}})};
  }
  static Value binary(Node::Kind kind, const Value &a, const Value &b) {
    return {std::make_shared<Node>(Node{kind, 0, a.node, b.node})};
  }
};

using Node = Value::Node;

Value operator+(const Value &a, const Value &b) {
  return Value::binary(Node::Add, a, b);
}
Value operator-(const Value &a, const Value &b) {
  return Value::binary(Node::Sub, a, b);
}
Value operator+(const Value &a, int64_t b) { return a + Value::constant(b); }
Value operator-(const Value &a, int64_t b) { return a - Value::constant(b); }
Value operator*(const Value &a, int64_t b) {
  return Value::binary(Node::Mul, a, Value::constant(b));
}
Value minV(const Value &a, const Value &b) {
  return Value::binary(Node::Min, a, b);
}
Value maxV(const Value &a, const Value &b) {
  return Value::binary(Node::Max, a, b);
}
Value floorDiv(const Value &a, int64_t b) {
  EXPECT_GT(b, 1) << "division without effect";
  return Value::binary(Node::FloorDiv, a, Value::constant(b));
}
Value ceilDiv(const Value &a, int64_t b) {
  EXPECT_GT(b, 1) << "division without effect";
  return Value::binary(Node::CeilDiv, a, Value::constant(b));
}
Value constantLike(const Value &, int64_t c) { return Value::constant(c); }

int64_t evaluate(const Node &node, const std::vector<int64_t> &variables) {
  if (node.kind == Node::Variable)
    return variables[node.number];
  if (node.kind == Node::Constant)
    return node.number;
  int64_t a = evaluate(*node.lhs, variables);
  int64_t b = evaluate(*node.rhs, variables);
  switch (node.kind) {
  case Node::Add:
    return a + b;
  case Node::Sub:
    return a - b;
  case Node::Mul:
    return a * b;
  case Node::Min:
    return a < b ? a : b;
  case Node::Max:
    return a < b ? b : a;
  case Node::FloorDiv:
    return na::window::floorDiv(a, b);
  default:
    return na::window::ceilDiv(a, b);
  }
}

static_assert(!std::is_constructible_v<bool, Value>);
static_assert(!std::is_convertible_v<int64_t, Value>);
static_assert(!std::is_convertible_v<Value, int64_t>);

} // namespace symbolic

using symbolic::Value;

void expectSame(const Range<Value> &symbols, const Range<int64_t> &numbers,
                const std::vector<int64_t> &variables, const Axis &axis) {
  EXPECT_EQ(evaluate(*symbols.begin.node, variables), numbers.begin)
      << describe(axis, variables[0]);
  EXPECT_EQ(evaluate(*symbols.end.node, variables), numbers.end)
      << describe(axis, variables[0]);
}

TEST(Window, SymbolicValues) {
  Value size = Value::variable(0), a = Value::variable(1),
        b = Value::variable(2);
  for (int64_t window = 1; window <= 8; ++window)
    for (int64_t stride = 1; stride <= window; ++stride)
      for (bool causal : {false, true}) {
        Axis axis{window, stride, 1, causal};
        // Built once, without any size or position at hand.
        Range<Value> keys = keyRange(axis, size, a);
        Range<Value> span = tileSpan(axis, size, a, b);
        Range<Value> inside = tileInterior(axis, size, a, b);
        Range<Value> queries = queryRange(axis, size, a);
        Range<Value> inverseSpan = inverseTileSpan(axis, size, a, b);
        Range<Value> inverseInside = inverseTileInterior(axis, size, a, b);
        for (int64_t n = window; n <= 12; ++n)
          for (int64_t i = 0; i < n; ++i)
            for (int64_t j = i + 1; j <= n; ++j) {
              std::vector<int64_t> at{n, i, j};
              expectSame(keys, keyRange(axis, n, i), at, axis);
              expectSame(span, tileSpan(axis, n, i, j), at, axis);
              expectSame(inside, tileInterior(axis, n, i, j), at, axis);
              expectSame(queries, queryRange(axis, n, i), at, axis);
              expectSame(inverseSpan, inverseTileSpan(axis, n, i, j), at, axis);
              expectSame(inverseInside, inverseTileInterior(axis, n, i, j), at,
                         axis);
              ASSERT_FALSE(HasFailure()) << "positions " << i << " " << j;
            }
      }
}

TEST(Window, SymbolicClassSize) {
  Value length = Value::variable(0), residue = Value::variable(1);
  for (int64_t dilation = 1; dilation <= 6; ++dilation) {
    Axis axis{1, 1, dilation, false};
    Value size = classSize(axis, length, residue);
    for (int64_t n = dilation; n <= 20; ++n)
      for (int64_t r = 0; r < dilation; ++r)
        EXPECT_EQ(evaluate(*size.node, {n, r}), classSize(axis, n, r));
  }
}

//===----------------------------------------------------------------------===//
// Divisions and argument checks
//===----------------------------------------------------------------------===//

TEST(Window, DivisionsRound) {
  for (int64_t b = 1; b <= 5; ++b)
    for (int64_t a = -12; a <= 12; ++a) {
      int64_t down = floorDiv(a, b), up = ceilDiv(a, b);
      EXPECT_TRUE(down * b <= a && a < (down + 1) * b) << a << " " << b;
      EXPECT_TRUE((up - 1) * b < a && a <= up * b) << a << " " << b;
    }
}

struct Fault {
  Axis args;
  int axis;
  std::optional<int64_t> length;
  const char *argument;
  int64_t value, limit;
  const char *message;
};

TEST(Window, CheckAxisFaults) {
  const Fault faults[] = {
      {{0, 1, 1, false}, 0, 16, "window", 0, 1, "window[0] = 0 is less than 1"},
      {{minInt64, 1, 1, true},
       2,
       16,
       "window",
       minInt64,
       1,
       "window[2] = -9223372036854775808 is less than 1"},
      {{3, 0, 1, false}, 1, 16, "stride", 0, 1, "stride[1] = 0 is less than 1"},
      {{3, -2, 1, false},
       1,
       {},
       "stride",
       -2,
       1,
       "stride[1] = -2 is less than 1"},
      {{3, 4, 1, false},
       0,
       16,
       "stride",
       4,
       3,
       "stride[0] = 4 exceeds window[0] = 3"},
      {{3, maxInt64, 1, true},
       0,
       {},
       "stride",
       maxInt64,
       3,
       "stride[0] = 9223372036854775807 exceeds window[0] = 3"},
      {{3, 1, 0, false},
       2,
       16,
       "dilation",
       0,
       1,
       "dilation[2] = 0 is less than 1"},
      {{3, 1, -1, false},
       0,
       {},
       "dilation",
       -1,
       1,
       "dilation[0] = -1 is less than 1"},
      {{9, 1, 2, false},
       1,
       16,
       "window",
       9,
       16,
       "window[1] = 9 times dilation[1] = 2 exceeds the axis length 16"},
      {{17, 1, 1, true},
       0,
       16,
       "window",
       17,
       16,
       "window[0] = 17 times dilation[0] = 1 exceeds the axis length 16"},
      {{1, 1, 17, false},
       0,
       16,
       "window",
       1,
       16,
       "window[0] = 1 times dilation[0] = 17 exceeds the axis length 16"},
      {{1, 1, 1, false},
       0,
       0,
       "window",
       1,
       0,
       "window[0] = 1 times dilation[0] = 1 exceeds the axis length 0"},
      {{1, 1, 1, false},
       0,
       minInt64,
       "window",
       1,
       minInt64,
       "window[0] = 1 times dilation[0] = 1 exceeds the axis length "
       "-9223372036854775808"},
      // The products are 2^63, 2^64 (0 when wrapped) and 1 when wrapped.
      {{int64_t(1) << 62, 1, 2, false},
       0,
       maxInt64,
       "window",
       int64_t(1) << 62,
       maxInt64,
       "window[0] = 4611686018427387904 times dilation[0] = 2 exceeds the axis "
       "length 9223372036854775807"},
      {{int64_t(1) << 32, 1, int64_t(1) << 32, false},
       0,
       16,
       "window",
       int64_t(1) << 32,
       16,
       "window[0] = 4294967296 times dilation[0] = 4294967296 exceeds the axis "
       "length 16"},
      {{maxInt64, 1, maxInt64, false},
       1,
       maxInt64,
       "window",
       maxInt64,
       maxInt64,
       "window[1] = 9223372036854775807 times dilation[1] = "
       "9223372036854775807 exceeds the axis length 9223372036854775807"},
  };
  for (const Fault &fault : faults) {
    std::optional<ArgError> error =
        checkAxis(fault.args, fault.axis, fault.length);
    ASSERT_TRUE(error) << fault.message;
    EXPECT_EQ(error->argument, fault.argument);
    EXPECT_EQ(error->axis, fault.axis);
    EXPECT_EQ(error->value, fault.value);
    EXPECT_EQ(error->limit, fault.limit);
    EXPECT_EQ(error->message, fault.message);
  }
}

TEST(Window, CheckAxisLegal) {
  EXPECT_FALSE(checkAxis({}, 0, 1));
  EXPECT_FALSE(checkAxis({8, 8, 2, true}, 0, 16));
  EXPECT_FALSE(checkAxis({8, 8, 2, true}, 0, 17));
  // A dynamic length has no limit to break.
  EXPECT_FALSE(checkAxis({maxInt64, maxInt64, maxInt64, false}, 0, {}));
  EXPECT_FALSE(checkAxis({maxInt64, 1, 1, false}, 0, maxInt64));
  EXPECT_FALSE(checkAxis({(int64_t(1) << 62) - 1, 1, 2, false}, 0, maxInt64));
}

} // namespace
