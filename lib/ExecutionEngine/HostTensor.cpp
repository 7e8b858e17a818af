//===- HostTensor.cpp - Tensors in host memory ----------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/ExecutionEngine/HostTensor.h"

#include "mlir/IR/BuiltinTypes.h"
#include "na/Runtime/HalfFloat.h"
#include "na/Runtime/Runtime.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

using namespace mlir;
using namespace mlir::na;
using namespace ::na::runtime;

int64_t mlir::na::getByteWidth(ElementType type) {
  switch (type) {
  case ElementType::F64:
  case ElementType::I64:
  case ElementType::Index:
    return 8;
  case ElementType::F32:
  case ElementType::I32:
    return 4;
  case ElementType::F16:
  case ElementType::BF16:
  case ElementType::I16:
    return 2;
  case ElementType::I8:
  case ElementType::I1:
    return 1;
  }
  llvm_unreachable("unknown element type");
}

bool mlir::na::isFloat(ElementType type) {
  return type == ElementType::F64 || type == ElementType::F32 ||
         type == ElementType::F16 || type == ElementType::BF16;
}

StringRef mlir::na::getName(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return "f64";
  case ElementType::F32:
    return "f32";
  case ElementType::F16:
    return "f16";
  case ElementType::BF16:
    return "bf16";
  case ElementType::I64:
    return "i64";
  case ElementType::I32:
    return "i32";
  case ElementType::I16:
    return "i16";
  case ElementType::I8:
    return "i8";
  case ElementType::I1:
    return "i1";
  case ElementType::Index:
    return "index";
  }
  llvm_unreachable("unknown element type");
}

std::optional<ElementType> mlir::na::getElementType(Type type) {
  if (type.isF64())
    return ElementType::F64;
  if (type.isF32())
    return ElementType::F32;
  if (type.isF16())
    return ElementType::F16;
  if (type.isBF16())
    return ElementType::BF16;
  if (type.isIndex())
    return ElementType::Index;
  if (!isa<IntegerType>(type))
    return std::nullopt;
  switch (type.getIntOrFloatBitWidth()) {
  case 64:
    return ElementType::I64;
  case 32:
    return ElementType::I32;
  case 16:
    return ElementType::I16;
  case 8:
    return ElementType::I8;
  case 1:
    return ElementType::I1;
  default:
    return std::nullopt;
  }
}

SmallVector<int64_t> mlir::na::getRowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    strides[i] = stride;
  return strides;
}

std::string mlir::na::formatShape(ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "scalar";
  std::string text;
  for (int64_t size : shape) {
    if (!text.empty())
      text += "x";
    text += ShapedType::isDynamic(size) ? "?" : std::to_string(size);
  }
  return text;
}

/// Bytes of physical memory, or the largest number when unknown.
static int64_t getHostMemory() {
#if defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
  int64_t pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  if (pages > 0 && size > 0)
    return pages * size;
#endif
  return std::numeric_limits<int64_t>::max();
}

llvm::Expected<HostTensor> HostTensor::allocate(StringRef name,
                                                ElementType type,
                                                ArrayRef<int64_t> shape) {
  auto fail = [&](const char *why) {
    return llvm::createStringError(
        llvm::formatv("cannot allocate '{0}' of {1}x{2}: {3}", name,
                      formatShape(shape), mlir::na::getName(type), why));
  };
  HostTensor tensor;
  tensor.name = name.str();
  tensor.type = type;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.numElements = 1;
  for (int64_t size : shape) {
    if (size < 0)
      return fail("a size is negative");
    if (llvm::MulOverflow(tensor.numElements, size, tensor.numElements))
      return fail("the number of elements overflows");
  }
  int64_t bytes;
  if (llvm::MulOverflow(tensor.numElements, getByteWidth(type), bytes) ||
      bytes > std::numeric_limits<int64_t>::max() - 64)
    return fail("the number of bytes overflows");
  if (bytes > getHostMemory())
    return fail("it is larger than the memory of the host");
  // A whole number of cache lines, at least one.
  int64_t rounded = llvm::alignTo(std::max<int64_t>(bytes, 1), 64);
  tensor.data.reset(std::aligned_alloc(64, rounded));
  if (!tensor.data)
    return fail("out of memory");
  return tensor;
}

double HostTensor::get(int64_t index) const {
  switch (type) {
  case ElementType::F64:
    return static_cast<const double *>(data.get())[index];
  case ElementType::F32:
    return static_cast<const float *>(data.get())[index];
  case ElementType::F16:
    return f16ToF32(static_cast<const uint16_t *>(data.get())[index]);
  case ElementType::BF16:
    return bf16ToF32(static_cast<const uint16_t *>(data.get())[index]);
  case ElementType::I64:
  case ElementType::Index:
    return static_cast<double>(static_cast<const int64_t *>(data.get())[index]);
  case ElementType::I32:
    return static_cast<const int32_t *>(data.get())[index];
  case ElementType::I16:
    return static_cast<const int16_t *>(data.get())[index];
  case ElementType::I8:
    return static_cast<const int8_t *>(data.get())[index];
  case ElementType::I1:
    return static_cast<const uint8_t *>(data.get())[index] & 1;
  }
  llvm_unreachable("unknown element type");
}

void HostTensor::set(int64_t index, double value) {
  switch (type) {
  case ElementType::F64:
    static_cast<double *>(data.get())[index] = value;
    return;
  case ElementType::F32:
    static_cast<float *>(data.get())[index] = static_cast<float>(value);
    return;
  case ElementType::F16:
    static_cast<uint16_t *>(data.get())[index] = f64ToF16(value);
    return;
  case ElementType::BF16:
    static_cast<uint16_t *>(data.get())[index] = f64ToBF16(value);
    return;
  case ElementType::I64:
  case ElementType::Index:
    static_cast<int64_t *>(data.get())[index] = static_cast<int64_t>(value);
    return;
  case ElementType::I32:
    static_cast<int32_t *>(data.get())[index] = static_cast<int32_t>(value);
    return;
  case ElementType::I16:
    static_cast<int16_t *>(data.get())[index] = static_cast<int16_t>(value);
    return;
  case ElementType::I8:
    static_cast<int8_t *>(data.get())[index] = static_cast<int8_t>(value);
    return;
  case ElementType::I1:
    static_cast<uint8_t *>(data.get())[index] = value != 0;
    return;
  }
}

void HostTensor::poison() {
  if (isFloat(type)) {
    // All bits set is a NaN in every float type.
    std::memset(data.get(), 0xff, getNumBytes());
    return;
  }
  std::memset(data.get(), type == ElementType::I1 ? 1 : 0x5a, getNumBytes());
}

/// A 64-bit mixing function (splitmix64): one unrelated number per counter.
static uint64_t mix(uint64_t counter) {
  uint64_t z = counter * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/// Elements that one call of `fillRange` sets, an even number.
static constexpr int64_t fillChunk = 1 << 16;

static void fillRange(HostTensor &tensor, uint64_t stream, int64_t begin,
                      int64_t end) {
  auto draw = [&](int64_t index) { return mix(stream + index); };
  if (!isFloat(tensor.getType())) {
    int shift = tensor.getType() == ElementType::I1 ? 63 : 61;
    for (int64_t i = begin; i < end; ++i)
      tensor.set(i, static_cast<double>(draw(i) >> shift));
    return;
  }
  // Box-Muller, two numbers at a time.
  constexpr double twoPi = 6.283185307179586;
  for (int64_t i = begin; i < end; i += 2) {
    double u = static_cast<double>((draw(i) >> 11) + 1) * 0x1p-53;
    double v = static_cast<double>(draw(i + 1) >> 11) * 0x1p-53;
    double radius = std::sqrt(-2 * std::log(u));
    tensor.set(i, radius * std::cos(twoPi * v));
    if (i + 1 < end)
      tensor.set(i + 1, radius * std::sin(twoPi * v));
  }
}

void HostTensor::fillRandom(uint64_t seed) {
  struct Context {
    HostTensor *tensor;
    uint64_t stream;
  } context{this, mix(seed + 1)};
  naParallelFor(
      llvm::divideCeil(numElements, fillChunk),
      [](int64_t begin, int64_t end, void *opaque) {
        auto *context = static_cast<Context *>(opaque);
        fillRange(*context->tensor, context->stream, begin * fillChunk,
                  std::min(end * fillChunk, context->tensor->numElements));
      },
      &context);
}

llvm::Expected<HostTensor> HostTensor::clone() const {
  llvm::Expected<HostTensor> copy = allocate(name, type, shape);
  if (copy)
    std::memcpy(copy->data.get(), data.get(), getNumBytes());
  return copy;
}

SmallVector<int64_t> HostTensor::getDescriptor() {
  int64_t pointer = reinterpret_cast<intptr_t>(data.get());
  SmallVector<int64_t> words = {pointer, pointer, 0};
  words.append(shape.begin(), shape.end());
  llvm::append_range(words, getRowMajorStrides(shape));
  return words;
}
