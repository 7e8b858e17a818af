//===- NAPlugin.cpp - The project as a plugin of mlir-opt -----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One library for both options of a tool such as mlir-opt:
// --load-dialect-plugin adds the dialects, --load-pass-plugin the passes and
// pipelines.
//
//===----------------------------------------------------------------------===//

#include "na/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

static constexpr const char name[] = "NAPlugin";

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, name, NA_VERSION,
          [](mlir::DialectRegistry *registry) {
            mlir::na::registerNADialects(*registry);
          }};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, name, NA_VERSION, [] {
            mlir::na::registerNAPasses();
            mlir::na::registerNAPipelines();
          }};
}
