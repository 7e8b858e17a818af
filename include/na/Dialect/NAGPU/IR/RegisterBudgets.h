//===- RegisterBudgets.h - CTAs that share a multiprocessor -----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NAGPU_IR_REGISTERBUDGETS_H
#define NA_DIALECT_NAGPU_IR_REGISTERBUDGETS_H

#include "na/Dialect/NAGPU/IR/NAGPU.h"

namespace mlir::nagpu {

/// How many CTAs of these budgets the registers of a multiprocessor are enough
/// for; at least 1.
int64_t getCTAsPerMultiprocessor(RolesOp roles);

/// Registers that each thread has before the budgets count, with so many CTAs.
int64_t getStartRegisters(RolesOp roles, int64_t ctas);

/// Whether threads change the number of their registers. One consumer of a CTA
/// that has the multiprocessor for itself has as many as it can name.
inline bool changesRegisters(RolesOp roles) {
  return roles.getGroups() > 1 || getCTAsPerMultiprocessor(roles) > 1;
}

} // namespace mlir::nagpu

#endif // NA_DIALECT_NAGPU_IR_REGISTERBUDGETS_H
