//===- WideBody.h - Bodies of linalg in f32 ---------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies of the bodies of linalg operations in which f16 and bf16 are computed
// in f32.
//
//===----------------------------------------------------------------------===//

#ifndef NA_CONVERSION_GPU_WIDEBODY_H
#define NA_CONVERSION_GPU_WIDEBODY_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::na {

/// The type in which values of `type` are computed.
inline Type getWideType(Type type) {
  return type.isF16() || type.isBF16() ? Float32Type::get(type.getContext())
                                       : type;
}

/// `value` in the type in which it is computed.
inline Value extendValue(OpBuilder &b, Location loc, Value value) {
  Type wide = getWideType(value.getType());
  if (wide == value.getType())
    return value;
  return arith::ExtFOp::create(b, loc, wide, value);
}

/// The inverse of `extendValue` for values of type `type`.
inline Value truncateValue(OpBuilder &b, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  return arith::TruncFOp::create(b, loc, type, value);
}

/// Copies `inner`, on scalars; `map` holds what is computed of its operands.
/// Arithmetic gets the flag `contract`, so that LLVM fuses a product with the
/// sum that it is added to.
inline void cloneWide(OpBuilder &b, Operation &inner, IRMapping &map) {
  Location loc = inner.getLoc();
  // Operations that say themselves what they make of 16-bit floats.
  bool exact =
      isa<arith::ConstantOp, arith::TruncFOp, arith::BitcastOp>(inner) ||
      !isa<arith::ArithDialect, math::MathDialect>(inner.getDialect());
  SmallVector<Value> operands;
  for (Value operand : inner.getOperands()) {
    Value value = extendValue(b, loc, map.lookupOrDefault(operand));
    operands.push_back(exact ? truncateValue(b, loc, value, operand.getType())
                             : value);
  }
  if (isa<arith::ExtFOp>(inner) &&
      operands[0].getType() == inner.getResult(0).getType()) {
    map.map(inner.getResult(0), operands[0]);
    return;
  }
  SmallVector<Type> types;
  for (Type type : inner.getResultTypes())
    types.push_back(exact ? type : getWideType(type));
  OperationState state(loc, inner.getName(), operands, types, inner.getAttrs());
  Operation *copy = b.create(state);
  if (auto arithmetic = dyn_cast<arith::ArithFastMathInterface>(copy)) {
    arith::FastMathFlags flags = arith::FastMathFlags::contract;
    if (arith::FastMathFlagsAttr given = arithmetic.getFastMathFlagsAttr())
      flags = flags | given.getValue();
    copy->setAttr(arithmetic.getFastMathAttrName(),
                  arith::FastMathFlagsAttr::get(b.getContext(), flags));
  }
  for (auto [result, value] :
       llvm::zip_equal(inner.getResults(), copy->getResults()))
    map.map(result, extendValue(b, loc, value));
}

} // namespace mlir::na

#endif // NA_CONVERSION_GPU_WIDEBODY_H
