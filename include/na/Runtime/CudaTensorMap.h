//===- CudaTensorMap.h - Descriptors of the tensor memory accelerator -----===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_RUNTIME_CUDATENSORMAP_H
#define NA_RUNTIME_CUDATENSORMAP_H

#include "na/Runtime/Cuda.h"

extern "C" {

/// Encodes a tensor map in the 128 bytes, aligned to 64, at `map`, for the
/// device of the thread's LaunchScope. A failure is the scope's; the launch
/// that was to use the map then does not happen. `argument` is the number of
/// the function's argument that the tensor is, for errors, or -1; `type` 0 for
/// f16, 1 for bf16 and 2 for f32. `shape` has the sizes of the tensor
/// `[B, X.., H, D]` and its strides in elements, `rank` each, the sizes of the
/// box, one fewer (heads and channels are one dimension), and the dilation of
/// each axis X.., three fewer. `swizzle` is the bytes of a row of the box in
/// shared memory: 32, 64 or 128, or 0 for rows that are not swizzled.
void naCudaEncodeTensorMap(void *map, int64_t argument, int64_t address,
                           int64_t type, int64_t rank, const int64_t *shape,
                           int64_t swizzle);

} // extern "C"

namespace na::cuda {

/// What a kernel takes by value.
struct alignas(64) TensorMap {
  uint64_t words[16];
};

enum class TensorType { F16, BF16, F32 };

/// A tensor `[B, X.., H, D]` in device memory, and boxes of it.
struct TensorBoxes {
  /// What errors call the tensor.
  std::string name = "the tensor";
  const void *address = nullptr;
  TensorType type = TensorType::F16;
  /// Sizes, and strides in elements: 3 to 6, outermost first.
  std::vector<int64_t> sizes, strides;
  /// The sizes of the box, one fewer: heads and channels are one dimension.
  std::vector<int64_t> box;
  /// Tokens from one row of the box to the next on each axis X..; empty if 1 on
  /// all.
  std::vector<int64_t> dilation;
  int64_t swizzleBytes = 128;
};

/// Encodes the map. What a box covers outside of the tensor reads as zeros.
/// A tensor without elements has a map of zeros, of which no kernel can read.
///
/// The coordinates of a token t on an axis of length L with dilation d: with
/// t' = t + ceil(L / d) d - L, it is entry t' / d of the axis's dimension, and
/// t' % d times the axis's stride further in the innermost one. So one map does
/// for all residues: the last entry of each is its last token, whether or not d
/// divides L. What the first entries then name before the first token, no box
/// that starts at a token covers.
Error encodeTensorMap(Device &device, const TensorBoxes &boxes, TensorMap &map);

} // namespace na::cuda

#endif // NA_RUNTIME_CUDATENSORMAP_H
