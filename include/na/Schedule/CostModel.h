//===- CostModel.h - Cost of a tiling, and the search over tilings --------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_SCHEDULE_COSTMODEL_H
#define NA_SCHEDULE_COSTMODEL_H

#include "na/Semantics/Window.h"

#include <cstdint>
#include <string>
#include <vector>

namespace na::schedule {

/// The operation that is tiled: attention or a product of it, or the gradients
/// that one program makes (those of all are made in the program for keys and
/// values), or the gradient of keys or of values as one product of weights in
/// memory.
enum class Gradient {
  None,
  Queries,
  KeysAndValues,
  All,
  Keys,
  Values,
  KeySums
};

/// What the model needs to know of a problem. Lengths that are not known at
/// compile time are given as `dynamicLength`.
struct Problem {
  std::vector<window::Axis> axes;
  std::vector<int64_t> lengths;
  int64_t headDim = 0, valueDim = 0;
  /// Bytes of an element of a tile, 4 or 8.
  int64_t tileElementBytes = 4;
  Gradient gradient = Gradient::None;

  /// Whether what a tile accumulates for is keys, with a loop over queries,
  /// and not the other way around.
  bool hasKeyRows() const {
    return gradient != Gradient::None && gradient != Gradient::Queries;
  }
};

/// Stands for a length that is not known: long enough that borders do not
/// matter.
constexpr int64_t dynamicLength = -1;

struct Tiling {
  std::vector<int64_t> queryTile, keyTile;

  /// The tiles that own accumulators, and those that the loop goes over.
  const std::vector<int64_t> &getRowTile(const Problem &problem) const {
    return problem.hasKeyRows() ? keyTile : queryTile;
  }
  const std::vector<int64_t> &getColumnTile(const Problem &problem) const {
    return problem.hasKeyRows() ? queryTile : keyTile;
  }
};

/// What a tiling means on one axis.
struct AxisPart {
  /// Whether window edges can cut column tiles, and the share of tiles that
  /// they do cut.
  bool cut = false;
  double maskedShare = 0;
  /// Column tiles per row tile, on average, and row tiles.
  double columnTiles = 0, rowTiles = 0;
};

/// What one batch and head costs under a tiling.
struct Cost {
  /// Predicted time in vector-unit cycles, the quantity that is minimised.
  double cycles = 0;
  /// Query/key pairs that are computed, over those that are needed.
  double waste = 0;
  /// Column tiles per row tile, on average: key tiles per query tile, or the
  /// reverse for the gradients of keys and values.
  double columnTiles = 0;
  bool hasKeyRows = false;
  /// Bytes of the tiles that are live at once.
  double tileBytes = 0;
  /// Shares of the time: products, softmax with its masks, and moving tiles.
  double productShare = 0, softmaxShare = 0, moveShare = 0;

  /// One line for a reader: "predicted 1.2e+06 cycles, waste 4.00, ...".
  std::string describe() const;
};

/// Predicts the cost of `tiling` on a CPU with vectors of `lanes` f32.
Cost predictCpu(const Problem &problem, const Tiling &tiling,
                int64_t lanes = 16);

/// The cheapest tilings on a CPU, at most `count`, the best one first. A query
/// or key tile that is not empty in `fixed` is kept. Deterministic.
std::vector<Tiling> rankCpu(const Problem &problem, size_t count,
                            const Tiling &fixed = {}, int64_t lanes = 16);

/// The first of these.
Tiling searchCpu(const Problem &problem, const Tiling &fixed = {},
                 int64_t lanes = 16);

} // namespace na::schedule

#endif // NA_SCHEDULE_COSTMODEL_H
