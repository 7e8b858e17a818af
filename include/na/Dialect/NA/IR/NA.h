//===- NA.h - The na dialect ------------------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_IR_NA_H
#define NA_DIALECT_NA_IR_NA_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "na/Semantics/Window.h"

#include <optional>

#include "na/Dialect/NA/IR/NADialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "na/Dialect/NA/IR/NAAttrs.h.inc"

#define GET_OP_CLASSES
#include "na/Dialect/NA/IR/NAOps.h.inc"

#endif // NA_DIALECT_NA_IR_NA_H
