//===- TileGrid.h - Query and key tiles of a window -------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
// What every tiled lowering of an na operation has in common: a parallel grid
// over batch, head and query tiles (residue class by residue class), and for
// each query tile a loop over the key tiles that cover the union of its
// windows, from the exact start of that union.
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_TRANSFORMS_TILEGRID_H
#define NA_DIALECT_NA_TRANSFORMS_TILEGRID_H

#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NA/Transforms/IRIndex.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::na {

/// One query tile on one axis. Positions are those of the residue class.
struct AxisTile {
  /// Tokens of the residue class.
  IndexValue size;
  /// Coordinate of position 0, i.e. the residue.
  IndexValue residue;
  /// Position and coordinate of the tile's first query.
  IndexValue queryPos, queryAt;
  /// Keys that some query of the tile sees, and keys that all of them see.
  ::na::window::Range<IndexValue> span, interior;
  /// Number of key tiles that cover the span.
  IndexValue keyTiles;
};

/// One key tile: first position and coordinate per axis.
struct KeyTile {
  /// Axes to mask unless the tile lies in the interior (i1) on all of them.
  struct Mask {
    SmallVector<int64_t> axes;
    Value inside;
  };
  /// Additional keys among the tiles of a loop.
  struct Additional {
    /// Whether the tile is one of additional keys (i1), and the first of them.
    Value is, first;
    /// Whether it is the last of these, with only `rest` keys; null where all
    /// tiles are full.
    Value isPartial, rest;
  };
  SmallVector<Value> positions, coordinates;
  /// Where the loop has tiles of additional keys too; positions and coordinates
  /// of such a tile mean nothing, and nothing is to be masked in it.
  std::optional<Additional> additional;
  /// Empty where no axis can be cut, so that nothing is ever masked.
  SmallVector<Mask> masks;
};

/// One iteration of the parallel loop.
struct GridPoint {
  Value batch, head;
  /// First channel of the values; null where the grid is not cut along them.
  Value channel;
  SmallVector<AxisTile, 3> axes;
};

/// Channels of the values and how many of them one iteration works on.
struct ValueChunks {
  int64_t channels = 1, tile = 1;
};

/// Static facts about the tiling of one operation.
class TileGrid {
public:
  /// `tokens` is a memref [B, X.., H, D] that has the batch and the lengths.
  /// Tiles are boxes of positions, one entry per axis.
  TileGrid(WindowAttr window, ArrayRef<int64_t> queryTile,
           ArrayRef<int64_t> keyTile, TypedValue<MemRefType> tokens)
      : window(window), queryTile(queryTile), keyTile(keyTile), tokens(tokens) {
  }

  int64_t getRank() const { return window.getRank(); }
  WindowAttr getWindow() const { return window; }
  ArrayRef<int64_t> getQueryTile() const { return queryTile; }
  ArrayRef<int64_t> getKeyTile() const { return keyTile; }
  TypedValue<MemRefType> getTokens() const { return tokens; }
  int64_t getNumQueries() const;
  int64_t getNumKeys() const;

  /// Whether queries of one tile can see different keys on the axis.
  bool canDiffer(int64_t axis) const;

  /// The axes on which a key tile can hold keys that some query of its query
  /// tile does not see. On the others nothing is masked.
  SmallVector<int64_t> getCutAxes() const;

  /// Builds the parallel loop over (batch, head, query tiles) at the insertion
  /// point of `builder` and calls `body` inside it. Where `values` are more
  /// than a chunk, their chunks are a dimension after the head; the last one
  /// then ends with the channels and may overlap the one before.
  scf::ForallOp
  buildGrid(OpBuilder &builder, Location loc, int64_t heads, ValueChunks values,
            function_ref<void(OpBuilder &, const GridPoint &)> body) const;

  /// The tile whose first query is at `queryPos` of a residue class.
  AxisTile buildTile(int64_t axis, IndexValue size, IndexValue residue,
                     IndexValue queryPos) const;

  /// The key tile that is `steps` tiles after the first one of `axes`, axis by
  /// axis, without its masks.
  KeyTile buildKeyTile(OpBuilder &builder, Location loc,
                       ArrayRef<AxisTile> axes,
                       ArrayRef<IndexValue> steps) const;

  /// Whether a key tile lies in the interior of the query tile `tile` (i1).
  Value buildInside(OpBuilder &builder, Location loc, int64_t axis,
                    const AxisTile &tile, const KeyTile &keyTile) const;

  /// Builds the loop over the key tiles of a query tile, which carries
  /// `state`; `body` returns the new state.
  SmallVector<Value>
  buildKeyLoop(OpBuilder &builder, Location loc, ArrayRef<AxisTile> axes,
               ValueRange state,
               function_ref<SmallVector<Value>(OpBuilder &, const KeyTile &,
                                               ValueRange state)>
                   body) const;

private:
  AxisTile buildAxis(OpBuilder &builder, Location loc, int64_t axis,
                     IndexValue length, Value index) const;

  WindowAttr window;
  SmallVector<int64_t> queryTile, keyTile;
  TypedValue<MemRefType> tokens;
};

/// The number of key tiles of a query tile.
IndexValue countKeyTiles(OpBuilder &builder, Location loc,
                         ArrayRef<AxisTile> axes);

/// Takes the number of a key tile apart into one number per axis. The last axis
/// of `order`, which names every axis once, varies fastest.
SmallVector<IndexValue> splitKeyTile(OpBuilder &builder, Location loc,
                                     Value number, ArrayRef<AxisTile> axes,
                                     ArrayRef<int64_t> order);

/// Keeps a schedule that is for a GPU on the loop over the grid, where the
/// passes on kernels find warps and stages.
void noteSchedule(scf::ForallOp grid, ScheduleAttr schedule);

/// Whether the positions of residue classes fit 32 bits, as operations on tiles
/// need it. Lengths that are not known are trusted to.
bool hasNarrowPositions(WindowAttr window, MemRefType tokens);

/// The SSA values of one field of all axes, e.g. the first query's coordinate;
/// constants are built by `builder`.
SmallVector<Value> getValues(OpBuilder &builder, Location loc,
                             ArrayRef<AxisTile> axes,
                             IndexValue AxisTile::*field);

/// `value`, building further arithmetic with `builder`.
IndexValue rebind(OpBuilder &builder, Location loc, const IndexValue &value);

} // namespace mlir::na

#endif // NA_DIALECT_NA_TRANSFORMS_TILEGRID_H
