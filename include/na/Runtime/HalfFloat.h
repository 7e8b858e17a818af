//===- HalfFloat.h - Bits of f16 and bf16 -----------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions between f32, f64 and the bit patterns of f16 and bf16. Narrowing
// rounds to nearest even; NaNs stay NaNs.
//
//===----------------------------------------------------------------------===//

#ifndef NA_RUNTIME_HALFFLOAT_H
#define NA_RUNTIME_HALFFLOAT_H

#include <cstdint>
#include <cstring>

namespace na::runtime {

template <class To, class From>
To bitCast(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  std::memcpy(&result, &value, sizeof(To));
  return result;
}

/// Rounds a double to f32 so that a second rounding, to fewer bits, gives what
/// one rounding would have given: inexact results get an odd last bit.
inline float f64ToF32Odd(double value) {
  float rounded = static_cast<float>(value);
  double back = rounded;
  if (back == value || value != value || back - back != 0)
    return rounded;
  uint32_t bits = bitCast<uint32_t>(rounded);
  // Step back to the neighbour nearer to zero, then set the last bit.
  double magnitude = value < 0 ? -value : value;
  double backMagnitude = back < 0 ? -back : back;
  if (backMagnitude > magnitude)
    --bits;
  return bitCast<float>(bits | 1);
}

inline uint16_t f32ToBF16(float value) {
  uint32_t bits = bitCast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

inline float bf16ToF32(uint16_t bits) {
  return bitCast<float>(static_cast<uint32_t>(bits) << 16);
}

inline uint16_t f32ToF16(float value) {
  uint32_t bits = bitCast<uint32_t>(value);
  uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  bits &= 0x7fffffff;
  if (bits > 0x7f800000)
    return sign | 0x7e00;
  // 65520, halfway between the largest number and the next, rounds up.
  if (bits >= 0x477ff000)
    return sign | 0x7c00;
  if (bits < 0x38800000) {
    // Subnormal. Adding 0.5 leaves the value, in units of 2^-24, rounded in
    // the low bits of the significand.
    float shifted = bitCast<float>(bits) + 0.5f;
    return sign | static_cast<uint16_t>(bitCast<uint32_t>(shifted) -
                                        bitCast<uint32_t>(0.5f));
  }
  uint32_t rounded = bits + 0xfff + ((bits >> 13) & 1);
  return sign | static_cast<uint16_t>((rounded >> 13) - (112 << 10));
}

inline float f16ToF32(uint16_t half) {
  uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  uint32_t exponent = (half >> 10) & 0x1f, fraction = half & 0x3ff;
  if (exponent == 0) {
    float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return bitCast<float>(sign | bitCast<uint32_t>(magnitude));
  }
  uint32_t wide = exponent == 31 ? 0xff : exponent + 112;
  return bitCast<float>(sign | (wide << 23) | (fraction << 13));
}

inline uint16_t f64ToF16(double value) { return f32ToF16(f64ToF32Odd(value)); }
inline uint16_t f64ToBF16(double value) {
  return f32ToBF16(f64ToF32Odd(value));
}

} // namespace na::runtime

#endif // NA_RUNTIME_HALFFLOAT_H
