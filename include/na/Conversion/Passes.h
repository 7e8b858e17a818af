//===- Passes.h - Conversions of the na dialect -----------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_CONVERSION_PASSES_H
#define NA_CONVERSION_PASSES_H

#include "na/Conversion/NAToLoops/NAToLoops.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::na {

#define GEN_PASS_DECL_APPROXIMATEMATHPASS
#define GEN_PASS_DECL_CHECKGPUPASS
#define GEN_PASS_DECL_CHECKLOWEREDPASS
#define GEN_PASS_DECL_CONVERTNAGPUTONVVMPASS
#define GEN_PASS_DECL_CONVERTNATOTHREADLOOPSPASS
#define GEN_PASS_DECL_DECOMPOSEAGGREGATESPASS
#define GEN_PASS_DECL_EXPANDF64MATHPASS
#define GEN_PASS_DECL_EXPTOARITHPASS
#define GEN_PASS_DECL_GPULAUNCHTORUNTIMEPASS
#define GEN_PASS_DECL_GPUMAPPARALLELPASS
#define GEN_PASS_DECL_GPUMAPROWSPASS
#define GEN_PASS_DECL_GPUNAMEKERNELSPASS
#define GEN_PASS_DECL_LINALGTOTHREADLOOPSPASS
#define GEN_PASS_DECL_LINALGTOVECTORLOOPSPASS
#define GEN_PASS_DECL_MATHTONVVMAPPROXPASS
#define GEN_PASS_DECL_NATILETOLOOPSPASS
#define GEN_PASS_DECL_PARALLELTORUNTIMEPASS
#define GEN_PASS_DECL_SETVECTORWIDTHPASS
#define GEN_PASS_REGISTRATION
#include "na/Conversion/Passes.h.inc"

} // namespace mlir::na

#endif // NA_CONVERSION_PASSES_H
