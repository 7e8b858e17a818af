//===- TileGradient.cpp - Gradients of tiles of scores --------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/Transforms/TileGradient.h"

#include "na/Dialect/NA/Transforms/TileBuilders.h"
#include "na/Dialect/NA/Transforms/TileLinalg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::na;

AffineMap TileGradient::getQueryMap(ImplicitLocOpBuilder &b) const {
  return tileMap(b, 2, {queryDim});
}

TileGradient::Statistics TileGradient::buildStatistics(
    ImplicitLocOpBuilder &b, Value lse, Value delta, Value batch, Value head,
    ValueRange at, ArrayRef<int64_t> box, ArrayRef<int64_t> dilation) const {
  Value shift = buildNumbersLoad(b, lse, batch, head, at, box, dilation);
  if (form.isGPU())
    shift = buildScaled(b, shift, llvm::numbers::log2e);
  if (!delta)
    return {shift, Value()};
  return {shift, buildNumbersLoad(b, delta, batch, head, at, box, dilation)};
}

/// A masked score gives exp(-inf): the LSE is finite, and the scale in the
/// exponent positive.
Value TileGradient::buildWeight(ImplicitLocOpBuilder &b, Value score,
                                Value shift) const {
  if (!form.isGPU())
    return math::ExpOp::create(
        b, arith::SubFOp::create(b, score, shift).getResult());
  Value exponent = math::FmaOp::create(
      b, score, buildFloat(b, type, form.getExponentScale()),
      arith::NegFOp::create(b, shift));
  return math::Exp2Op::create(b, exponent);
}

Value TileGradient::buildWeights(ImplicitLocOpBuilder &b, Value scores,
                                 const Statistics &statistics) const {
  return buildGeneric(
      b, {statistics.shift}, {scores}, {getQueryMap(b), tileMap(b, 2, {0, 1})},
      {}, [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        return {buildWeight(b, args[1], args[0])};
      })[0];
}

static Value buildGradient(ImplicitLocOpBuilder &b, Value weight, Value product,
                           Value delta) {
  Value difference = arith::SubFOp::create(b, product, delta);
  return arith::MulFOp::create(b, weight, difference);
}

Value TileGradient::buildLogitGrad(ImplicitLocOpBuilder &b, Value weights,
                                   Value products,
                                   const Statistics &statistics) const {
  AffineMap both = tileMap(b, 2, {0, 1});
  return buildGeneric(
      b, {statistics.delta, weights}, {products}, {getQueryMap(b), both, both},
      {}, [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        return {buildGradient(b, args[1], args[2], args[0])};
      })[0];
}

TileGradient::Result TileGradient::buildInOnePass(ImplicitLocOpBuilder &b,
                                                  Value scores, Value products,
                                                  const Statistics &statistics,
                                                  bool weights) const {
  AffineMap both = tileMap(b, 2, {0, 1}), query = getQueryMap(b);
  SmallVector<Value> inputs = {statistics.shift, statistics.delta};
  SmallVector<Value> outputs = {products};
  (weights ? outputs : inputs).push_back(scores);
  SmallVector<Value> results = buildGeneric(
      b, inputs, outputs, {query, query, both, both}, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        Value score = args[weights ? 3 : 2], product = args[weights ? 2 : 3];
        Value weight = buildWeight(b, score, args[0]);
        Value gradient = buildGradient(b, weight, product, args[1]);
        if (weights)
          return {gradient, weight};
        return {gradient};
      });
  return {weights ? results[1] : Value(), results[0]};
}
