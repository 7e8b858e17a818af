//===- NADialect.cpp - The na dialect ---------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NAVerifiers.h"
#include "na/Dialect/NA/IR/NA.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::detail;

#include "na/Dialect/NA/IR/NADialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "na/Dialect/NA/IR/NAAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "na/Dialect/NA/IR/NAOps.cpp.inc"

namespace {
/// Nothing ties an operation of the dialect to the function that it is in.
struct NAInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void NADialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "na/Dialect/NA/IR/NAAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "na/Dialect/NA/IR/NAOps.cpp.inc"
      >();
  addInterfaces<NAInlinerInterface>();
}
