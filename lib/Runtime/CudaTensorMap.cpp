//===- CudaTensorMap.cpp - Descriptors of the tensor memory accelerator ---===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Runtime/CudaTensorMap.h"

#include "CudaDriver.h"

#include <algorithm>

using namespace na::cuda;

// Limits of cuTensorMapEncodeTiled.
static constexpr int64_t unitBytes = 16;
static constexpr int64_t maxSize = int64_t(1) << 32;
static constexpr int64_t maxStrideBytes = (int64_t(1) << 40) - 1;
static constexpr int64_t maxBox = 256;
/// Coordinates are signed numbers of 32 bits.
static constexpr int64_t maxCoordinate = (int64_t(1) << 31) - 1;

static int64_t getBytes(TensorType type) {
  return type == TensorType::F32 ? 4 : 2;
}

static int getDriverType(TensorType type) {
  switch (type) {
  case TensorType::F16:
    return TensorMapF16;
  case TensorType::BF16:
    return TensorMapBF16;
  case TensorType::F32:
    return TensorMapF32;
  }
  return TensorMapF32;
}

namespace {
/// The parameters of the driver's call, innermost dimension first.
struct Tiled {
  uint64_t sizes[5];
  /// In bytes, without the innermost.
  uint64_t strides[4];
  uint32_t box[5];
  uint32_t steps[5] = {1, 1, 1, 1, 1};
  unsigned rank;
  int swizzle;
  uint64_t address;
};
} // namespace

/// Checks the tensor, and folds its heads and channels, and the residues of
/// dilated axes into them.
static Error fold(const TensorBoxes &boxes, Tiled &tiled) {
  auto fail = [&](ErrorKind kind, const std::string &message) {
    return Error::make(kind, "tensor map of " + boxes.name + ": " + message);
  };
  auto invalid = [&](const std::string &message) {
    return fail(ErrorKind::InvalidArgument, message);
  };
  auto inDimension = [](const char *what, size_t dim, int64_t value,
                        const std::string &expected) {
    return std::string(what) + " of dimension " + std::to_string(dim) + " is " +
           std::to_string(value) + ", expected " + expected;
  };
  const size_t rank = boxes.sizes.size();
  if (rank < 3 || rank > 6)
    return invalid("it has " + std::to_string(rank) +
                   " dimensions, expected 3 to 6");
  if (boxes.strides.size() != rank || boxes.box.size() != rank - 1)
    return invalid(std::to_string(boxes.strides.size()) +
                   " strides and a box "
                   "of " +
                   std::to_string(boxes.box.size()) + " dimensions, expected " +
                   std::to_string(rank) + " and " + std::to_string(rank - 1));
  if (!boxes.dilation.empty() && boxes.dilation.size() != rank - 3)
    return invalid(std::to_string(boxes.dilation.size()) +
                   " dilations, expected " + std::to_string(rank - 3));
  // Of a dimension of the tensor; batches, heads and channels have none.
  auto getDilation = [&](size_t dim) {
    return boxes.dilation.empty() || dim == 0 || dim > rank - 3
               ? int64_t(1)
               : boxes.dilation[dim - 1];
  };
  switch (boxes.swizzleBytes) {
  case 0:
    tiled.swizzle = TensorMapSwizzleNone;
    break;
  case 32:
    tiled.swizzle = TensorMapSwizzle32;
    break;
  case 64:
    tiled.swizzle = TensorMapSwizzle64;
    break;
  case 128:
    tiled.swizzle = TensorMapSwizzle128;
    break;
  default:
    return invalid("the swizzle is of " + std::to_string(boxes.swizzleBytes) +
                   " bytes, expected 0, 32, 64 or 128");
  }
  if (!boxes.address)
    return fail(ErrorKind::NullPointer, "it is a null pointer");
  if (addressOf(boxes.address) % unitBytes)
    return fail(ErrorKind::MisalignedPointer,
                "it (" + hex(boxes.address) + ") is not aligned to " +
                    std::to_string(unitBytes) + " bytes");

  const int64_t bytes = getBytes(boxes.type);
  const int64_t heads = boxes.sizes[rank - 2];
  const int64_t channels = boxes.sizes[rank - 1];
  if (channels != 1 && boxes.strides[rank - 1] != 1)
    return invalid(inDimension("the stride", rank - 1, boxes.strides[rank - 1],
                               "1 (channels)"));
  if (heads != 1 && boxes.strides[rank - 2] != channels)
    return invalid(
        inDimension("the stride", rank - 2, boxes.strides[rank - 2],
                    std::to_string(channels) + ", the number of channels"));
  tiled.rank = unsigned(rank - 1);
  for (size_t dim = 0; dim < rank - 1; ++dim) {
    const size_t place = rank - 2 - dim;
    // The last is that of heads and channels.
    const bool folded = dim == rank - 2;
    if (boxes.sizes[dim] > maxSize || (folded && heads > maxSize / channels))
      return invalid(inDimension("the size", dim, boxes.sizes[dim],
                                 folded ? "at most 4294967296 with the " +
                                              std::to_string(channels) +
                                              " channels"
                                        : "at most 4294967296"));
    const int64_t dilation = getDilation(dim);
    if (dilation < 1 || dilation > boxes.sizes[dim])
      return invalid(inDimension(
          "the dilation", dim, dilation,
          "1 to the " + std::to_string(boxes.sizes[dim]) + " tokens"));
    tiled.sizes[place] =
        uint64_t(folded ? heads * channels
                        : (boxes.sizes[dim] + dilation - 1) / dilation);
    if (boxes.box[dim] < 1 || boxes.box[dim] > maxBox)
      return invalid(inDimension("the box", dim, boxes.box[dim], "1 to 256"));
    tiled.box[place] = uint32_t(boxes.box[dim]);
  }
  const int64_t row = boxes.box[rank - 2] * bytes;
  if (row % unitBytes || (boxes.swizzleBytes && row > boxes.swizzleBytes))
    return invalid("a row of the box has " + std::to_string(row) +
                   " bytes, expected a multiple of 16" +
                   (boxes.swizzleBytes
                        ? ", at most " + std::to_string(boxes.swizzleBytes)
                        : ""));
  // Upwards, because the stride of one element does not matter and may be
  // anything: the driver gets that of a tensor without gaps.
  uint64_t dense = uint64_t(heads) * uint64_t(channels) * uint64_t(bytes);
  tiled.address = addressOf(boxes.address);
  for (size_t place = 1; place < tiled.rank; ++place) {
    const size_t dim = rank - 2 - place;
    const int64_t stride = boxes.strides[dim];
    if (boxes.sizes[dim] == 1) {
      tiled.strides[place - 1] =
          std::min<uint64_t>((dense + unitBytes - 1) / unitBytes * unitBytes,
                             maxStrideBytes / unitBytes * unitBytes);
      continue;
    }
    const int64_t dilation = getDilation(dim);
    const int64_t most = maxStrideBytes / bytes / dilation;
    if (stride < 0 || stride > most || stride * bytes % unitBytes)
      return invalid(
          inDimension("the stride", dim, stride,
                      "a multiple of " + std::to_string(unitBytes / bytes) +
                          " (16 bytes) from 0 to " + std::to_string(most)));
    tiled.strides[place - 1] = uint64_t(stride * dilation * bytes);
    dense = tiled.strides[place - 1] * tiled.sizes[place];
    if (dilation == 1)
      continue;
    if (stride > (maxCoordinate - int64_t(tiled.sizes[0])) / (dilation - 1))
      return invalid(inDimension("the stride", dim, stride,
                                 "less for a dilation of " +
                                     std::to_string(dilation) +
                                     ": a coordinate passes 2147483647"));
    tiled.sizes[0] += uint64_t(stride * (dilation - 1));
    const int64_t padding =
        int64_t(tiled.sizes[place]) * dilation - boxes.sizes[dim];
    tiled.address -= uint64_t(padding * stride * bytes);
  }
  return Error::success();
}

Error na::cuda::encodeTensorMap(Device &device, const TensorBoxes &boxes,
                                TensorMap &map) {
  map = {};
  if (std::count(boxes.sizes.begin(), boxes.sizes.end(), 0))
    return Error::success();
  Tiled tiled;
  if (Error error = fold(boxes, tiled))
    return error;
  Device::State &state = device.state();
  const Driver &driver = state.driver;
  if (!driver.cuTensorMapEncodeTiled)
    return Error::make(ErrorKind::DriverTooOld,
                       "tensor map of " + boxes.name +
                           ": the CUDA driver has no function "
                           "cuTensorMapEncodeTiled; a driver for CUDA 12.0 or "
                           "later is needed");
  Error error = state.inContext([&] {
    return NA_CUDA_CALL(
        driver, cuTensorMapEncodeTiled, &map, getDriverType(boxes.type),
        tiled.rank, reinterpret_cast<void *>(tiled.address), tiled.sizes,
        tiled.strides, tiled.box, tiled.steps, TensorMapInterleaveNone,
        tiled.swizzle, TensorMapPromotion256, TensorMapFillZeros);
  });
  return error ? error.withPrefix("tensor map of " + boxes.name)
               : Error::success();
}
