//===- NAGPUOps.cpp - Operations of the nagpu dialect -----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NAGPU/IR/NAGPU.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mlir::nagpu;

#define GET_OP_CLASSES
#include "na/Dialect/NAGPU/IR/NAGPUOps.cpp.inc"

FragmentType MapOp::getIterationType() {
  for (Type type : getResultTypes())
    return cast<FragmentType>(type);
  if (getOver())
    return cast<FragmentType>(*getOver());
  for (Value input : getInputs())
    if (!cast<FragmentType>(input.getType()).isRowLike())
      return cast<FragmentType>(input.getType());
  return cast<FragmentType>(getInputs().front().getType());
}

LogicalResult AllocOp::verify() { return success(); }
LogicalResult SlotOp::verify() { return success(); }
LogicalResult AsyncCopyOp::verify() { return success(); }
LogicalResult AsyncWaitOp::verify() { return success(); }
LogicalResult LdMatrixOp::verify() { return success(); }
LogicalResult MmaOp::verify() { return success(); }
LogicalResult FmaOp::verify() { return success(); }
LogicalResult SplatOp::verify() { return success(); }
LogicalResult ExtractOp::verify() { return success(); }
LogicalResult ConvertOp::verify() { return success(); }
LogicalResult MapOp::verify() { return success(); }
LogicalResult IndexOp::verify() { return success(); }
LogicalResult ReduceOp::verify() { return success(); }
LogicalResult StoreOp::verify() { return success(); }
