//===- TileGrid.h - Row and column tiles of a window ------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
// What every tiled lowering of an na operation has in common: a parallel grid
// over batch, head and row tiles (residue class by residue class), and for each
// row tile a loop over the column tiles that cover the union of what its rows
// are paired with, from the exact start of that union.
//
// Rows are queries and columns the keys that they see, or, in an inverse grid,
// rows are keys and columns the queries that see them.
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_TRANSFORMS_TILEGRID_H
#define NA_DIALECT_NA_TRANSFORMS_TILEGRID_H

#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NA/Transforms/IRIndex.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::na {

/// One row tile on one axis. Positions are those of the residue class.
struct AxisTile {
  /// Tokens of the residue class.
  IndexValue size;
  /// Coordinate of position 0, i.e. the residue.
  IndexValue residue;
  /// Position and coordinate of the tile's first row.
  IndexValue rowPos, rowAt;
  /// Columns that some row of the tile is paired with, and those that all are.
  ::na::window::Range<IndexValue> span, interior;
  /// Number of column tiles that cover the span.
  IndexValue columnTiles;
};

/// One column tile: first position and coordinate per axis.
struct ColumnTile {
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
  /// The number of the round, where the loop goes over the columns repeatedly.
  Value round;
  /// Where the loop has tiles of additional keys too; positions and coordinates
  /// of such a tile mean nothing, and nothing is to be masked in it.
  std::optional<Additional> additional;
  /// Empty where no axis can be cut, so that nothing is ever masked.
  SmallVector<Mask> masks;
};

/// One iteration of the parallel loop.
struct GridPoint {
  /// The head is the first one of the tile, where a tile has several.
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
  enum class Rows { Queries, Keys };

  /// `tokens` is a memref [B, X.., H, D] that has the batch and the lengths.
  /// Tiles are boxes of positions, one entry per axis. A tile has a row for
  /// each of `headsPerTile` heads of a position, one behind the other.
  TileGrid(WindowAttr window, ArrayRef<int64_t> rowTile,
           ArrayRef<int64_t> columnTile, TypedValue<MemRefType> tokens,
           Rows rows = Rows::Queries, int64_t headsPerTile = 1)
      : window(window), rowTile(rowTile), columnTile(columnTile),
        tokens(tokens), rows(rows), headsPerTile(headsPerTile) {}

  int64_t getRank() const { return window.getRank(); }
  WindowAttr getWindow() const { return window; }
  ArrayRef<int64_t> getRowTile() const { return rowTile; }
  ArrayRef<int64_t> getColumnTile() const { return columnTile; }
  TypedValue<MemRefType> getTokens() const { return tokens; }
  Rows getRows() const { return rows; }
  bool isInverse() const { return rows == Rows::Keys; }
  int64_t getHeadsPerTile() const { return headsPerTile; }
  int64_t getNumRows() const;
  int64_t getNumColumns() const;

  /// The grid of a part of this grid's row tile.
  TileGrid getPart(ArrayRef<int64_t> part) const {
    return TileGrid(window, part, columnTile, tokens, rows, headsPerTile);
  }

  /// Whether rows of one tile can have different columns on the axis.
  bool canDiffer(int64_t axis) const;

  /// The axes on which a column tile can hold columns that some row of its row
  /// tile is not paired with. On the others nothing is masked.
  SmallVector<int64_t> getCutAxes() const;

  /// Builds the parallel loop over (batch, head, row tiles) at the insertion
  /// point of `builder` and calls `body` inside it; `heads` are the heads of
  /// the rows. Where `values` are more
  /// than a chunk, their chunks are a dimension after the head; the last one
  /// then ends with the channels and may overlap the one before.
  scf::ForallOp
  buildGrid(OpBuilder &builder, Location loc, int64_t heads, ValueChunks values,
            function_ref<void(OpBuilder &, const GridPoint &)> body) const;

  /// The tile whose first row is at `rowPos` of a residue class.
  AxisTile buildTile(int64_t axis, IndexValue size, IndexValue residue,
                     IndexValue rowPos) const;

  /// The column tile that is `steps` tiles after the first one of `axes`, axis
  /// by axis, without its masks.
  ColumnTile buildColumnTile(OpBuilder &builder, Location loc,
                             ArrayRef<AxisTile> axes,
                             ArrayRef<IndexValue> steps) const;

  /// Whether a column tile lies in the interior of the row tile `tile` (i1).
  Value buildInside(OpBuilder &builder, Location loc, int64_t axis,
                    const AxisTile &tile, const ColumnTile &columnTile) const;

  /// Builds the loop over the column tiles of a row tile, which carries
  /// `state`; `body` returns the new state. The loop goes over all of them
  /// `rounds` times.
  SmallVector<Value> buildColumnLoop(
      OpBuilder &builder, Location loc, ArrayRef<AxisTile> axes,
      ValueRange state,
      function_ref<SmallVector<Value>(OpBuilder &, const ColumnTile &,
                                      ValueRange state)>
          body,
      int64_t rounds = 1) const;

private:
  AxisTile buildAxis(OpBuilder &builder, Location loc, int64_t axis,
                     IndexValue length, Value index) const;

  WindowAttr window;
  SmallVector<int64_t> rowTile, columnTile;
  TypedValue<MemRefType> tokens;
  Rows rows;
  int64_t headsPerTile;
};

/// The number of column tiles of a row tile.
IndexValue countColumnTiles(OpBuilder &builder, Location loc,
                            ArrayRef<AxisTile> axes);

/// Takes the number of a column tile apart into one number per axis. The last
/// axis of `order`, which names every axis once, varies fastest.
SmallVector<IndexValue> splitColumnTile(OpBuilder &builder, Location loc,
                                        Value number, ArrayRef<AxisTile> axes,
                                        ArrayRef<int64_t> order);

/// Takes the number of a column tile in a loop that goes over `count` tiles
/// `rounds` times apart into the round, null if there is one only, and the
/// number of the tile.
std::pair<Value, Value> splitRound(OpBuilder &builder, Location loc,
                                   Value number, IndexValue count,
                                   int64_t rounds);

/// Keeps a schedule that is for a GPU on the loop over the grid, where the
/// passes on kernels find warps and stages.
void noteSchedule(scf::ForallOp grid, ScheduleAttr schedule);

/// Whether the positions of residue classes fit 32 bits, as operations on tiles
/// need it. Lengths that are not known are trusted to.
bool hasNarrowPositions(WindowAttr window, MemRefType tokens);

/// The SSA values of one field of all axes, e.g. the first row's coordinate;
/// constants are built by `builder`.
SmallVector<Value> getValues(OpBuilder &builder, Location loc,
                             ArrayRef<AxisTile> axes,
                             IndexValue AxisTile::*field);

/// `value`, building further arithmetic with `builder`.
IndexValue rebind(OpBuilder &builder, Location loc, const IndexValue &value);

} // namespace mlir::na

#endif // NA_DIALECT_NA_TRANSFORMS_TILEGRID_H
