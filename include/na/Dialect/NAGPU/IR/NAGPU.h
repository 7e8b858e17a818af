//===- NAGPU.h - The nagpu dialect ------------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NAGPU_IR_NAGPU_H
#define NA_DIALECT_NAGPU_IR_NAGPU_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "na/Dialect/NAGPU/IR/NAGPUDialect.h.inc"
#include "na/Dialect/NAGPU/IR/NAGPUEnums.h.inc"

namespace mlir::nagpu {

/// Bytes of a row of a panel of the TMA; 0 for the other swizzles.
inline int64_t getTmaBytes(Swizzle swizzle) {
  switch (swizzle) {
  case Swizzle::Tma128:
    return 128;
  case Swizzle::Tma64:
    return 64;
  case Swizzle::Tma32:
    return 32;
  default:
    return 0;
  }
}

} // namespace mlir::nagpu

#define GET_TYPEDEF_CLASSES
#include "na/Dialect/NAGPU/IR/NAGPUTypes.h.inc"

#define GET_OP_CLASSES
#include "na/Dialect/NAGPU/IR/NAGPUOps.h.inc"

#endif // NA_DIALECT_NAGPU_IR_NAGPU_H
