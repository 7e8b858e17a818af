//===- NAGPUDialect.cpp - The nagpu dialect ---------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NAGPU/IR/NAGPU.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::nagpu;

#include "na/Dialect/NAGPU/IR/NAGPUDialect.cpp.inc"

void NAGPUDialect::initialize() {
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "na/Dialect/NAGPU/IR/NAGPUOps.cpp.inc"
      >();
}
