//===- TileSoftmax.cpp - Online softmax over tiles of scores --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/Transforms/TileSoftmax.h"

#include "na/Dialect/NA/Transforms/TileBuilders.h"
#include "na/Dialect/NA/Transforms/TileLinalg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::na;

static constexpr double negativeInfinity =
    -std::numeric_limits<double>::infinity();

SoftmaxState TileSoftmax::buildInitial(ImplicitLocOpBuilder &b) const {
  return {buildFilled(b, form.getShape(queries, channels), type, 0),
          buildFilled(b, {queries}, type, negativeInfinity),
          buildFilled(b, {queries}, type, 0)};
}

SoftmaxState TileSoftmax::buildStep(ImplicitLocOpBuilder &b, Value scores,
                                    Value values,
                                    const SoftmaxState &state) const {
  return form.isGPU() ? buildGPUStep(b, scores, values, state)
                      : buildCPUStep(b, scores, values, state);
}

/// Maximum, new statistics, weights with their sum, and the rescaled
/// accumulator: as few passes over the tiles as there can be.
SoftmaxState TileSoftmax::buildCPUStep(ImplicitLocOpBuilder &b, Value scores,
                                       Value values,
                                       const SoftmaxState &state) const {
  AffineMap both = tileMap(b, 2, {0, 1}), queryOnly = tileMap(b, 2, {1});
  AffineMap vector = tileMap(b, 1, {0});

  Value tileMaximum = buildGeneric(
      b, {scores}, {buildFilled(b, {queries}, type, negativeInfinity)},
      {both, queryOnly}, {0},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        // Not a NaN-propagating maximum: a NaN logit reaches the sum through
        // its exponential, and this form is one instruction on every target.
        Value greater = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT,
                                              args[0], args[1]);
        return {arith::SelectOp::create(b, greater, args[0], args[1])};
      })[0];

  // The maximum that exponents are taken against is finite even if every key
  // so far is masked: exp(-inf - 0) is 0, exp(-inf + inf) would be a NaN.
  SmallVector<Value> statistics = buildGeneric(
      b, {tileMaximum},
      {state.maximum, buildEmpty(b, {queries}, type),
       buildEmpty(b, {queries}, type)},
      {vector, vector, vector, vector}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        Value greater = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT,
                                              args[0], args[1]);
        Value maximum = arith::SelectOp::create(b, greater, args[0], args[1]);
        Value empty =
            arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, maximum,
                                  buildFloat(b, type, negativeInfinity));
        Value shift =
            arith::SelectOp::create(b, empty, buildFloat(b, type, 0), maximum);
        Value rescale = math::ExpOp::create(
            b, arith::SubFOp::create(b, args[1], shift).getResult());
        return {maximum, shift, rescale};
      });
  Value shift = statistics[1], rescale = statistics[2];

  // The sum of the tile starts at zero: over many keys, sums of sums round far
  // less than one running sum.
  SmallVector<Value> weights = buildGeneric(
      b, {shift}, {scores, buildFilled(b, {queries}, type, 0)},
      {queryOnly, both, queryOnly}, {0},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        Value weight = math::ExpOp::create(
            b, arith::SubFOp::create(b, args[1], args[0]).getResult());
        return {weight, arith::AddFOp::create(b, args[2], weight)};
      });
  Value sum = buildGeneric(
      b, {weights[1], rescale}, {state.sum}, {vector, vector, vector}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        Value before = arith::MulFOp::create(b, args[2], args[1]);
        return {arith::AddFOp::create(b, before, args[0])};
      })[0];

  Value rescaled = buildGeneric(
      b, {rescale}, {state.accumulator}, {queryOnly, both}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        return {arith::MulFOp::create(b, args[1], args[0])};
      })[0];
  return {buildWeightedSums(b, form, weights[0], values, rescaled),
          statistics[0], sum};
}

/// The same with one job per operation, in base 2: an exponential then is one
/// multiply-add and one instruction.
SoftmaxState TileSoftmax::buildGPUStep(ImplicitLocOpBuilder &b, Value scores,
                                       Value values,
                                       const SoftmaxState &state) const {
  AffineMap both = tileMap(b, 2, {0, 1}), row = tileMap(b, 2, {0});
  AffineMap vector = tileMap(b, 1, {0});
  double scale = form.getExponentScale();

  Value tileMaximum = buildGeneric(
      b, {scores}, {buildFilled(b, {queries}, type, negativeInfinity)},
      {both, row}, {1},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        // Not a NaN-propagating maximum: a NaN score reaches the sum through
        // its exponential.
        return {arith::MaxNumFOp::create(b, args[0], args[1])};
      })[0];
  // The running maximum is that of exponents, which are rounded once: where it
  // stays, the accumulator is rescaled by 1 exactly, however many tiles follow.
  Value maximum = buildGeneric(
      b, {tileMaximum, state.maximum}, {buildEmpty(b, {queries}, type)},
      {vector, vector, vector}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        Value exponent =
            arith::MulFOp::create(b, args[0], buildFloat(b, type, scale));
        return {arith::MaxNumFOp::create(b, exponent, args[1])};
      })[0];
  // Finite even if every key so far is masked.
  Value shift = buildGeneric(
      b, {maximum}, {buildEmpty(b, {queries}, type)}, {vector, vector}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        Value empty =
            arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, args[0],
                                  buildFloat(b, type, negativeInfinity));
        return {
            arith::SelectOp::create(b, empty, buildFloat(b, type, 0), args[0])};
      })[0];
  Value rescale = buildGeneric(
      b, {shift}, {state.maximum}, {vector, vector}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        return {math::Exp2Op::create(
            b, arith::SubFOp::create(b, args[1], args[0]).getResult())};
      })[0];
  // A masked score gives exp2(-inf), because the scale is positive and the
  // shift finite.
  Value weights = buildGeneric(
      b, {shift}, {scores}, {row, both}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        Value exponent =
            math::FmaOp::create(b, args[1], buildFloat(b, type, scale),
                                arith::NegFOp::create(b, args[0]));
        return {math::Exp2Op::create(b, exponent)};
      })[0];
  // The sum of the tile starts at zero: over many keys, sums of sums round far
  // less than one running sum.
  Value tileSum = buildGeneric(
      b, {weights}, {buildFilled(b, {queries}, type, 0)}, {both, row}, {1},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        return {arith::AddFOp::create(b, args[0], args[1])};
      })[0];
  Value sum = buildGeneric(
      b, {tileSum, rescale}, {state.sum}, {vector, vector, vector}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        return {math::FmaOp::create(b, args[2], args[1], args[0])};
      })[0];
  Value rescaled = buildGeneric(
      b, {rescale}, {state.accumulator}, {row, both}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        return {arith::MulFOp::create(b, args[1], args[0])};
      })[0];
  return {buildWeightedSums(b, form, weights, values, rescaled), maximum, sum};
}

Value TileSoftmax::buildOutput(ImplicitLocOpBuilder &b,
                               const SoftmaxState &state) const {
  AffineMap row = tileMap(b, 2, {form.getRowDim()});
  AffineMap both = tileMap(b, 2, {0, 1}), vector = tileMap(b, 1, {0});
  if (form.isGPU()) {
    // One division a row: it takes as long as eight multiplications.
    Value inverse = buildGeneric(
        b, {state.sum}, {buildEmpty(b, {queries}, type)}, {vector, vector}, {},
        [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
          return {arith::DivFOp::create(b, buildFloat(b, type, 1), args[0])};
        })[0];
    return buildGeneric(
        b, {inverse}, {state.accumulator}, {row, both}, {},
        [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
          return {arith::MulFOp::create(b, args[1], args[0])};
        })[0];
  }
  return buildGeneric(
      b, {state.sum}, {state.accumulator}, {row, both}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        return {arith::DivFOp::create(b, args[1], args[0])};
      })[0];
}

Value TileSoftmax::buildLse(ImplicitLocOpBuilder &b,
                            const SoftmaxState &state) const {
  AffineMap vector = tileMap(b, 1, {0});
  return buildGeneric(
      b, {state.maximum}, {state.sum}, {vector, vector}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        Value maximum = args[0];
        if (form.isGPU())
          maximum = arith::MulFOp::create(
              b, maximum, buildFloat(b, type, llvm::numbers::ln2));
        return {arith::AddFOp::create(
            b, maximum, math::LogOp::create(b, args[1]).getResult())};
      })[0];
}
