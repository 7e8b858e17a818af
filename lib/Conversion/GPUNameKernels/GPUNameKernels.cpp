//===- GPUNameKernels.cpp - One module, and a name for every kernel -------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Conversion/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::na {
#define GEN_PASS_DEF_GPUNAMEKERNELSPASS
#include "na/Conversion/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;

namespace {
struct GPUNameKernels : mlir::na::impl::GPUNameKernelsPassBase<GPUNameKernels> {
  using GPUNameKernelsPassBase::GPUNameKernelsPassBase;

  void runOnOperation() override {
    auto moduleName = FlatSymbolRefAttr::get(&getContext(), module);
    llvm::StringSet<> taken;
    unsigned count = 0;
    getOperation()->walk([&](gpu::LaunchOp launch) {
      std::string name;
      if (FlatSymbolRefAttr given = launch.getFunctionAttr())
        name = given.getValue().str();
      else if (auto parent = launch->getParentOfType<FunctionOpInterface>())
        name = (parent.getName() + "_" + std::to_string(count)).str();
      std::string unique = name;
      for (unsigned number = 1; !taken.insert(unique).second; ++number)
        unique = name + "_" + std::to_string(number);
      launch.setModuleAttr(moduleName);
      launch.setFunctionAttr(FlatSymbolRefAttr::get(&getContext(), unique));
      ++count;
    });
  }
};
} // namespace
