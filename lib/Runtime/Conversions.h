//===- Conversions.h - Conversions as the ABI wants them --------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_RUNTIME_CONVERSIONS_H
#define NA_LIB_RUNTIME_CONVERSIONS_H

extern "C" {
_Float16 naTruncF32ToF16(float value);
_Float16 naTruncF64ToF16(double value);
_Float16 naTruncF32ToBF16(float value);
_Float16 naTruncF64ToBF16(double value);
float naExtendF16ToF32(_Float16 value);
}

#endif // NA_LIB_RUNTIME_CONVERSIONS_H
