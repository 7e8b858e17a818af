//===- LiftToTensors.h - Operations on memrefs on tensors -------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_DIALECT_NA_TRANSFORMS_LIFTTOTENSORS_H
#define NA_LIB_DIALECT_NA_TRANSFORMS_LIFTTOTENSORS_H

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

namespace mlir::na {

/// Rebuilds an operation in destination style on memrefs on tensors, which are
/// materialised in its destinations. One on tensors stays as it is. Leaves the
/// insertion point before the operation.
template <typename OpTy>
OpTy liftToTensors(RewriterBase &rewriter, OpTy op) {
  rewriter.setInsertionPoint(op);
  if (!op.hasPureBufferSemantics())
    return op;
  Location loc = op.getLoc();
  SmallVector<Value> operands;
  SmallVector<Type> types;
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (!isa<BaseMemRefType>(value.getType())) {
      operands.push_back(value);
      continue;
    }
    bool isInit = op.isDpsInit(&operand);
    operands.push_back(bufferization::ToTensorOp::create(
        rewriter, loc, memref::getTensorTypeFromMemRefType(value.getType()),
        value, /*restrict=*/true, /*writable=*/isInit));
    if (isInit)
      types.push_back(operands.back().getType());
  }
  auto lifted = cast<OpTy>(clone(rewriter, op, types, operands));
  for (auto [result, buffer] :
       llvm::zip_equal(lifted->getResults(), op.getDpsInits()))
    bufferization::MaterializeInDestinationOp::create(
        rewriter, loc, /*result=*/Type(), result, buffer, /*restrict=*/true,
        /*writable=*/true);
  rewriter.eraseOp(op);
  rewriter.setInsertionPoint(lifted);
  return lifted;
}

} // namespace mlir::na

#endif // NA_LIB_DIALECT_NA_TRANSFORMS_LIFTTOTENSORS_H
