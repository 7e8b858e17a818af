//===- InitPasses.cpp - Registers all passes -----------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/InitAll.h"

#include "mlir/InitAllPasses.h"

void mlir::na::registerAllPasses() {
  mlir::registerAllPasses();
  registerPipelinePasses();
}
