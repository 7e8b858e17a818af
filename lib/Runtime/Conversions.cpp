//===- Conversions.cpp - Conversions between narrow and wide floats -------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversions.h"
#include "na/Runtime/HalfFloat.h"

using namespace na::runtime;

// The ABI passes both narrow types in the low 16 bits of a vector register.
using NarrowFloat = _Float16;

static NarrowFloat fromBits(uint16_t bits) {
  return bitCast<NarrowFloat>(bits);
}
static uint16_t toBits(NarrowFloat value) { return bitCast<uint16_t>(value); }

extern "C" {
NarrowFloat naTruncF32ToF16(float value) { return fromBits(f32ToF16(value)); }
NarrowFloat naTruncF64ToF16(double value) { return fromBits(f64ToF16(value)); }
NarrowFloat naTruncF32ToBF16(float value) { return fromBits(f32ToBF16(value)); }
NarrowFloat naTruncF64ToBF16(double value) {
  return fromBits(f64ToBF16(value));
}
float naExtendF16ToF32(NarrowFloat value) { return f16ToF32(toBits(value)); }
}
