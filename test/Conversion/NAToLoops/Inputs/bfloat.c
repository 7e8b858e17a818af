/* Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What code for a host without bfloat16 calls, which libgcc has from 13 on. */

#include <stdint.h>
#include <string.h>

__attribute__((weak)) __bf16 __truncsfbf2(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  uint16_t high = (uint16_t)(bits >> 16);
  if (value != value)
    high |= 0x40;
  else
    high = (uint16_t)((bits + 0x7fff + (high & 1)) >> 16);
  __bf16 result;
  memcpy(&result, &high, 2);
  return result;
}
