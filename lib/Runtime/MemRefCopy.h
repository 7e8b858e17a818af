//===- MemRefCopy.h - Copy between strided memrefs --------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_RUNTIME_MEMREFCOPY_H
#define NA_LIB_RUNTIME_MEMREFCOPY_H

#include <cstdint>

struct NAUnrankedMemRef {
  int64_t rank;
  void *descriptor;
};

/// What memref.copy becomes when a layout is not contiguous.
extern "C" void naMemRefCopy(int64_t elemSize, NAUnrankedMemRef *source,
                             NAUnrankedMemRef *dest);

#endif // NA_LIB_RUNTIME_MEMREFCOPY_H
