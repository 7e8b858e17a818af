//===- MemRefCopy.cpp - Copy between strided memrefs ----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemRefCopy.h"

#include <cstring>

namespace {
/// The descriptor of a memref: sizes, then strides, follow the header.
struct Descriptor {
  char *allocated;
  char *aligned;
  int64_t offset;
  int64_t shape[1];
};
} // namespace

static void copyBox(int64_t elemSize, int64_t rank, const int64_t *sizes,
                    const char *source, const int64_t *sourceStrides,
                    char *dest, const int64_t *destStrides) {
  if (rank == 0) {
    std::memcpy(dest, source, elemSize);
    return;
  }
  int64_t sourceStep = sourceStrides[0] * elemSize;
  int64_t destStep = destStrides[0] * elemSize;
  if (rank == 1 && sourceStep == elemSize && destStep == elemSize) {
    std::memcpy(dest, source, sizes[0] * elemSize);
    return;
  }
  for (int64_t i = 0; i < sizes[0]; ++i)
    copyBox(elemSize, rank - 1, sizes + 1, source + i * sourceStep,
            sourceStrides + 1, dest + i * destStep, destStrides + 1);
}

void naMemRefCopy(int64_t elemSize, NAUnrankedMemRef *source,
                  NAUnrankedMemRef *dest) {
  auto *from = static_cast<Descriptor *>(source->descriptor);
  auto *to = static_cast<Descriptor *>(dest->descriptor);
  int64_t rank = source->rank;
  for (int64_t i = 0; i < rank; ++i)
    if (from->shape[i] == 0)
      return;
  copyBox(elemSize, rank, from->shape, from->aligned + from->offset * elemSize,
          from->shape + rank, to->aligned + to->offset * elemSize,
          to->shape + rank);
}
