//===- NAGPUTranslation.h - nagpu attributes in LLVM IR ---------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_CONVERSION_NAGPUTRANSLATION_H
#define NA_CONVERSION_NAGPUTRANSLATION_H

namespace mlir {
class DialectRegistry;

namespace nagpu {

/// Registers what the translation to LLVM IR does with the attributes that
/// `convert-nagpu-to-nvvm` leaves: `nagpu.convergent` on assembly, which MLIR's
/// operation cannot say, makes the call convergent; `nagpu.tensor_maps` on a
/// kernel makes the arguments of these numbers parameters that hold descriptors
/// by value, which no thread copies.
void registerTranslation(DialectRegistry &registry);

} // namespace nagpu
} // namespace mlir

#endif // NA_CONVERSION_NAGPUTRANSLATION_H
