//===- TileForm.cpp - How the tiles of an operation are held --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/Transforms/TileForm.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace mlir::na;

/// Rows and columns of tensor-core products come in multiples of this.
static constexpr int64_t fragmentExtent = 16;

/// Whether `value` is positive and neither vanishes nor overflows in `type`:
/// 0 times the -inf of a masked score would be a NaN.
static bool isNormalFactor(FloatType type, double value) {
  llvm::APFloat rounded(value);
  bool losesInfo;
  rounded.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                  &losesInfo);
  return value > 0 && rounded.isNormal();
}

TileForm::TileForm(ScheduleAttr schedule, FloatType accumulator, double scale,
                   bool softmax)
    : accumulator(accumulator), scale(scale), gpu(schedule.isForGPU()),
      valueTile(schedule.getValueTile()) {
  if (!gpu)
    scaleAt = ScaleAt::Row;
  else if (softmax && isNormalFactor(accumulator, scale * llvm::numbers::log2e))
    scaleAt = ScaleAt::Exponent;
  else
    scaleAt = ScaleAt::Scores;
}

FloatType TileForm::getOperandType(Value whole) const {
  return gpu ? cast<FloatType>(
                   cast<MemRefType>(whole.getType()).getElementType())
             : accumulator;
}

SmallVector<int64_t, 2> TileForm::getShape(int64_t rows, int64_t others) const {
  if (isColumnMajor())
    return {others, rows};
  return {rows, others};
}

double TileForm::getExponentScale() const {
  return scaleAt == ScaleAt::Exponent ? scale * llvm::numbers::log2e
                                      : llvm::numbers::log2e;
}

int64_t TileForm::getAdditionalTile(int64_t keys,
                                    std::optional<int64_t> tokens) const {
  if (!tokens)
    return keys;
  int64_t needed = std::max<int64_t>(*tokens, 1);
  if (gpu)
    needed = llvm::alignTo(needed, fragmentExtent);
  return std::min(keys, needed);
}

int64_t TileForm::getValueTile(int64_t channels) const {
  if (!gpu || channels == 0)
    return channels;
  // Accumulators of more channels do not fit the registers of a warp.
  constexpr int64_t maxValueTile = 256;
  if (valueTile != 0)
    return std::min(valueTile, channels);
  int64_t chunks = llvm::divideCeil(channels, maxValueTile);
  return std::min<int64_t>(
      channels,
      llvm::alignTo(llvm::divideCeil(channels, chunks), fragmentExtent));
}
