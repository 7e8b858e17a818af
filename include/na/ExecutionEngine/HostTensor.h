//===- HostTensor.h - Tensors in host memory --------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_EXECUTIONENGINE_HOSTTENSOR_H
#define NA_EXECUTIONENGINE_HOSTTENSOR_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

namespace mlir::na {

enum class ElementType { F64, F32, F16, BF16, I64, I32, I16, I8, I1, Index };

/// The bytes of one element.
int64_t getByteWidth(ElementType type);
bool isFloat(ElementType type);
/// As MLIR spells it: "f32", "bf16", "index".
llvm::StringRef getName(ElementType type);
/// The element type that stands for an MLIR type; none if it is not supported.
std::optional<ElementType> getElementType(Type type);

/// A tensor in host memory: dense, row-major, aligned to 64 bytes. Moves only.
class HostTensor {
public:
  HostTensor() = default;

  /// Allocates a tensor; its elements are undefined. Fails when the size in
  /// bytes overflows or exceeds the memory of the host.
  static llvm::Expected<HostTensor> allocate(llvm::StringRef name,
                                             ElementType type,
                                             llvm::ArrayRef<int64_t> shape);

  llvm::StringRef getName() const { return name; }
  ElementType getType() const { return type; }
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  int64_t getNumElements() const { return numElements; }
  int64_t getNumBytes() const { return numElements * getByteWidth(type); }
  void *getData() { return data.get(); }
  const void *getData() const { return data.get(); }

  /// One element as a double; `index` is row-major.
  double get(int64_t index) const;
  /// Sets one element, rounded to nearest even, or truncated for integers.
  void set(int64_t index, double value);

  /// Fills floats with NaN and integers with an unlikely pattern, so that an
  /// element that is never written shows.
  void poison();

  /// Fills floats from the standard normal distribution, integers from 0 to 7
  /// and booleans from 0 and 1. The same seed gives the same numbers on every
  /// host, and any two seeds give unrelated ones.
  void fillRandom(uint64_t seed);

  llvm::Expected<HostTensor> clone() const;

  /// The memref descriptor of the tensor, as 64-bit words: allocated and
  /// aligned pointer, offset, sizes, strides.
  llvm::SmallVector<int64_t> getDescriptor();

private:
  struct Free {
    void operator()(void *pointer) const { std::free(pointer); }
  };

  std::string name;
  ElementType type = ElementType::F32;
  llvm::SmallVector<int64_t> shape;
  int64_t numElements = 0;
  std::unique_ptr<void, Free> data;
};

/// Row-major strides, in elements.
llvm::SmallVector<int64_t> getRowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// "2x56x56x4x32"; "scalar" for rank 0; "?" for a dynamic size.
std::string formatShape(llvm::ArrayRef<int64_t> shape);

} // namespace mlir::na

#endif // NA_EXECUTIONENGINE_HOSTTENSOR_H
