//===- TileLinalg.cpp - Builders of linalg on tiles ---*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/Transforms/TileLinalg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

AffineMap mlir::na::tileMap(OpBuilder &builder, unsigned dims,
                            ArrayRef<unsigned> used) {
  SmallVector<AffineExpr> results;
  for (unsigned dim : used)
    results.push_back(builder.getAffineDimExpr(dim));
  return AffineMap::get(dims, 0, results, builder.getContext());
}

Value mlir::na::buildFloat(ImplicitLocOpBuilder &b, Type type, double value) {
  return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
}

Value mlir::na::buildEmpty(ImplicitLocOpBuilder &b, ArrayRef<int64_t> shape,
                           Type type) {
  return tensor::EmptyOp::create(b, shape, type);
}

Value mlir::na::buildFilled(ImplicitLocOpBuilder &b, ArrayRef<int64_t> shape,
                            Type type, double value) {
  return linalg::FillOp::create(b, buildFloat(b, type, value),
                                buildEmpty(b, shape, type))
      .getResult(0);
}

SmallVector<Value> mlir::na::buildGeneric(
    ImplicitLocOpBuilder &b, ValueRange inputs, ValueRange outputs,
    ArrayRef<AffineMap> maps, ArrayRef<unsigned> reductions,
    function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, ValueRange)> body) {
  SmallVector<utils::IteratorType> iterators(maps.front().getNumDims(),
                                             utils::IteratorType::parallel);
  for (unsigned dim : reductions)
    iterators[dim] = utils::IteratorType::reduction;
  auto generic = linalg::GenericOp::create(
      b, outputs.getTypes(), inputs, outputs, maps, iterators,
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        ImplicitLocOpBuilder inner(loc, nested);
        linalg::YieldOp::create(inner, body(inner, args));
      });
  return SmallVector<Value>(generic.getResults());
}

Value mlir::na::buildContract(ImplicitLocOpBuilder &b, Value lhs, Value rhs,
                              Value output, ArrayRef<AffineMap> maps) {
  return linalg::ContractOp::create(b, output.getType(), ValueRange{lhs, rhs},
                                    ValueRange{output},
                                    b.getAffineMapArrayAttr(maps))
      .getResult(0);
}
