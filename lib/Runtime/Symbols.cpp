//===- Symbols.cpp - The symbols that compiled code may need --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversions.h"
#include "MemRefCopy.h"
#include "na/Runtime/Runtime.h"

const na::runtime::Symbol *na::runtime::symbols() {
  static const Symbol table[] = {
      {"naParallelFor", reinterpret_cast<void *>(&naParallelFor)},
      {"naSetNumThreads", reinterpret_cast<void *>(&naSetNumThreads)},
      {"naGetNumThreads", reinterpret_cast<void *>(&naGetNumThreads)},
      {"memrefCopy", reinterpret_cast<void *>(&naMemRefCopy)},
      {"__truncsfhf2", reinterpret_cast<void *>(&naTruncF32ToF16)},
      {"__truncdfhf2", reinterpret_cast<void *>(&naTruncF64ToF16)},
      {"__truncsfbf2", reinterpret_cast<void *>(&naTruncF32ToBF16)},
      {"__truncdfbf2", reinterpret_cast<void *>(&naTruncF64ToBF16)},
      {"__extendhfsf2", reinterpret_cast<void *>(&naExtendF16ToF32)},
      {nullptr, nullptr}};
  return table;
}
