//===- Bufferization.h - What the pipelines share ---------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_PIPELINES_BUFFERIZATION_H
#define NA_LIB_PIPELINES_BUFFERIZATION_H

#include "mlir/Pass/PassManager.h"

namespace mlir::na {

/// Bufferizes the whole module; function arguments and results become memrefs
/// of identity layout.
void addBufferization(OpPassManager &pm);

/// Lowers what tiles are made of, and bufferizes them.
void addTileLowering(OpPassManager &pm);

} // namespace mlir::na

#endif // NA_LIB_PIPELINES_BUFFERIZATION_H
