//===- Compare.cpp - Compares a result with a reference -------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/ExecutionEngine/Compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::na;

Tolerance Tolerance::forTensor(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return {false, 1e-12, 5e-12};
  case ElementType::F32:
    return {false, 1e-5, 5e-5};
  case ElementType::F16:
    return {false, 2e-3, 1e-2};
  case ElementType::BF16:
    return {false, 1e-2, 5e-2};
  default:
    return {false, 0, 0};
  }
}

Tolerance Tolerance::forLse(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return {true, 1e-12, 1e-12};
  case ElementType::F32:
    return {true, 1e-5, 1e-5};
  default:
    return {true, 1e-3, 1e-3};
  }
}

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// A unit in the last place of `value` in the tensor's type.
static double unitInLastPlace(double value, ElementType type) {
  if (type == ElementType::F64)
    return std::nextafter(std::fabs(value), infinity) - std::fabs(value);
  float single = std::fabs(static_cast<float>(value));
  return static_cast<double>(
             std::nextafter(single, std::numeric_limits<float>::infinity())) -
         single;
}

static double ratio(double error, double norm) {
  if (error == 0)
    return 0;
  return norm == 0 ? infinity : error / norm;
}

Comparison mlir::na::compare(const HostTensor &out, const HostTensor &reference,
                             const Tolerance &tolerance) {
  Comparison result;
  int64_t count = reference.getNumElements();
  int64_t rowSize =
      reference.getShape().empty() ? 1 : reference.getShape().back();
  // Every element of an absolute comparison is held to the limit by itself.
  if (tolerance.absolute)
    rowSize = 1;
  double wholeError = 0, wholeNorm = 0;
  bool withinLimit = true;
  double leastNorm = 0;
  if (tolerance.gradient && count > 0) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i)
      if (double ref = reference.get(i); std::isfinite(ref))
        sum += ref * ref;
    leastNorm = std::sqrt(sum * static_cast<double>(rowSize) /
                          static_cast<double>(count));
  }
  for (int64_t row = 0; row < count; row += rowSize) {
    double rowError = 0, rowNorm = 0;
    for (int64_t i = row; i < row + rowSize; ++i) {
      double ref = reference.get(i), value = out.get(i);
      if (!std::isfinite(ref) || !std::isfinite(value)) {
        bool same = std::isnan(ref) ? std::isnan(value) : ref == value;
        result.mismatched += !same;
        continue;
      }
      double difference = value - ref;
      rowError += difference * difference;
      rowNorm += ref * ref;
      if (tolerance.absolute)
        withinLimit &= std::fabs(difference) <=
                       std::max(tolerance.whole,
                                4 * unitInLastPlace(ref, reference.getType()));
    }
    wholeError += rowError;
    wholeNorm += rowNorm;
    double error = tolerance.absolute
                       ? std::sqrt(rowError)
                       : ratio(std::sqrt(rowError),
                               std::max(std::sqrt(rowNorm), leastNorm));
    if (error > result.worstRow) {
      result.worstRow = error;
      result.worstRowIndex = row;
    }
  }
  if (tolerance.absolute) {
    result.whole = result.worstRow;
  } else {
    result.whole = ratio(std::sqrt(wholeError), std::sqrt(wholeNorm));
    withinLimit =
        result.whole <= tolerance.whole && result.worstRow <= tolerance.row;
  }
  result.pass = withinLimit && result.mismatched == 0;
  return result;
}
