//===- NAVerifiers.cpp - Checks shared by the verifiers ---------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NAVerifiers.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::detail;

FloatType mlir::na::detail::accumulatorType(Type elementType) {
  return elementType.isF64() ? cast<FloatType>(elementType)
                             : Float32Type::get(elementType.getContext());
}

/// Fails if the static sizes of an operand make it larger than any memory;
/// offsets computed from them would overflow.
static LogicalResult verifyAddressable(OpOperand &operand) {
  auto type = dyn_cast<ShapedType>(operand.get().getType());
  if (!type)
    return success();
  int64_t bytes = (type.getElementTypeBitWidth() + 7) / 8;
  for (int64_t size : type.getShape())
    if (!ShapedType::isDynamic(size) && size != 0 &&
        llvm::MulOverflow(bytes, size, bytes))
      return operand.getOwner()->emitOpError()
             << "operand " << operand.getOperandNumber() << " is " << type
             << ": more than 2^63 - 1 bytes";
  return success();
}

LogicalResult mlir::na::detail::verifyDestinationStyle(Operation *op) {
  auto dst = cast<DestinationStyleOpInterface>(op);
  bool tensors = isa<TensorType>(op->getOperand(0).getType());
  for (OpOperand &operand : op->getOpOperands())
    if (isa<ShapedType>(operand.get().getType()) &&
        isa<TensorType>(operand.get().getType()) != tensors)
      return op->emitOpError()
             << "mixes tensors and memrefs: operand "
             << operand.getOperandNumber() << " is " << operand.get().getType();
  for (OpOperand &operand : op->getOpOperands())
    if (failed(verifyAddressable(operand)))
      return failure();
  unsigned expected = tensors ? dst.getNumDpsInits() : 0;
  if (op->getNumResults() != expected)
    return op->emitOpError()
           << "has " << op->getNumResults() << " results, expected " << expected
           << (tensors ? " (one per destination)" : " (memref destinations)");
  if (tensors)
    for (auto [index, init] : llvm::enumerate(dst.getDpsInits()))
      if (op->getResult(index).getType() != init.getType())
        return op->emitOpError()
               << "result " << index << " is " << op->getResult(index).getType()
               << ", expected the destination's type " << init.getType();
  return success();
}

LogicalResult mlir::na::detail::verifyRank(Operation *op, Named operand,
                                           int64_t rank, StringRef layout) {
  if (operand.type.getRank() == rank)
    return success();
  return op->emitOpError() << "'" << operand.name << "' has rank "
                           << operand.type.getRank() << ", expected " << rank
                           << ", " << layout;
}

/// The first of `dims` that is static, if any.
static const DimOf *firstStatic(ArrayRef<DimOf> dims) {
  const auto *it = llvm::find_if(dims, [](const DimOf &entry) {
    return !entry.operand.type.isDynamicDim(entry.dim);
  });
  return it == dims.end() ? nullptr : it;
}

static int64_t sizeOf(const DimOf &entry) {
  return entry.operand.type.getDimSize(entry.dim);
}

LogicalResult mlir::na::detail::verifySameDims(Operation *op, StringRef what,
                                               ArrayRef<DimOf> dims) {
  const DimOf *expected = firstStatic(dims);
  if (!expected)
    return success();
  for (const DimOf &entry : dims)
    if (!entry.operand.type.isDynamicDim(entry.dim) &&
        sizeOf(entry) != sizeOf(*expected))
      return op->emitOpError()
             << "'" << entry.operand.name << "' dimension " << entry.dim << " ("
             << what << ") is " << sizeOf(entry) << ", expected "
             << sizeOf(*expected) << " as in '" << expected->operand.name
             << "'";
  return success();
}

LogicalResult mlir::na::detail::verifyElementType(Operation *op, Named operand,
                                                  Type expected,
                                                  StringRef why) {
  if (operand.type.getElementType() == expected)
    return success();
  return op->emitOpError() << "'" << operand.name << "' has element type "
                           << operand.type.getElementType() << ", expected "
                           << expected << " (" << why << ")";
}

/// Dimension `dim` of all `operands`.
static SmallVector<DimOf> dimOfAll(ArrayRef<Named> operands, int64_t dim) {
  return llvm::map_to_vector(
      operands, [&](Named operand) { return DimOf{operand, dim}; });
}

LogicalResult mlir::na::detail::verifySameTokens(Operation *op,
                                                 ArrayRef<Named> operands,
                                                 int64_t spatialRank) {
  if (failed(verifySameDims(op, "batch", dimOfAll(operands, 0))))
    return failure();
  for (int64_t axis = 0; axis < spatialRank; ++axis) {
    std::string what = "axis " + std::to_string(axis);
    if (failed(verifySameDims(op, what, dimOfAll(operands, axis + 1))))
      return failure();
  }
  return success();
}

LogicalResult mlir::na::detail::verifyWindowFits(Operation *op,
                                                 WindowAttr window,
                                                 ArrayRef<Named> operands) {
  int64_t headDim = window.getRank() + 1;
  for (int64_t axis = 0; axis < window.getRank(); ++axis) {
    SmallVector<DimOf> lengths = dimOfAll(operands, axis + 1);
    const DimOf *source = firstStatic(lengths);
    if (!source)
      continue;
    int64_t length = sizeOf(*source);
    auto error = ::na::window::checkAxis(window.getAxis(axis), axis, length);
    if (!error)
      continue;
    InFlightDiagnostic diag = op->emitOpError() << error->message;
    // Heads-first tensors are the usual way to get here.
    int64_t heads = source->operand.type.getDimSize(headDim);
    if (error->argument == "window" && !ShapedType::isDynamic(heads) &&
        heads > length)
      diag << "; '" << source->operand.name << "' has " << heads
           << " heads and " << length << " tokens on axis " << axis
           << ": are heads and tokens swapped? The layout is heads-last, [B, "
              "X.., H, D]";
    return diag;
  }
  return success();
}

LogicalResult mlir::na::detail::verifyHeads(Operation *op,
                                            ArrayRef<DimOf> queries,
                                            ArrayRef<DimOf> keys) {
  if (failed(verifySameDims(op, "heads", queries)) ||
      failed(verifySameDims(op, "heads", keys)))
    return failure();
  const DimOf *query = firstStatic(queries), *key = firstStatic(keys);
  for (const DimOf *side : {query, key})
    if (side && sizeOf(*side) == 0)
      return op->emitOpError()
             << "'" << side->operand.name << "' dimension " << side->dim
             << " (heads) is 0, expected at least 1";
  if (!query || !key || sizeOf(*query) % sizeOf(*key) == 0)
    return success();
  return op->emitOpError() << "'" << query->operand.name << "' has "
                           << sizeOf(*query) << " heads, not a multiple of the "
                           << sizeOf(*key) << " heads of '" << key->operand.name
                           << "'";
}

LogicalResult mlir::na::detail::verifyTableAxes(Operation *op, Named table,
                                                WindowAttr window) {
  for (int64_t axis = 0; axis < window.getRank(); ++axis) {
    int64_t size = window.getSize()[axis], expected = 0;
    if (llvm::MulOverflow<int64_t>(size, 2, expected))
      return op->emitOpError()
             << "window[" << axis << "] = " << size << " is too large for '"
             << table.name << "': 2 * window[" << axis
             << "] - 1 exceeds 64 bits";
    expected -= 1;
    int64_t entries = table.type.getDimSize(axis + 1);
    if (!ShapedType::isDynamic(entries) && entries != expected)
      return op->emitOpError()
             << "'" << table.name << "' dimension " << axis + 1 << " (axis "
             << axis << ") is " << entries << ", expected 2 * window[" << axis
             << "] - 1 = " << expected;
  }
  return success();
}

LogicalResult mlir::na::detail::verifySlotCount(Operation *op, Named slots,
                                                WindowAttr window) {
  int64_t dim = slots.type.getRank() - 1, expected = window.getNumSlots();
  if (expected == std::numeric_limits<int64_t>::max())
    return op->emitOpError()
           << "the product of the window sizes is too large for '" << slots.name
           << "': it exceeds 64 bits";
  int64_t count = slots.type.getDimSize(dim);
  if (ShapedType::isDynamic(count) || count == expected)
    return success();
  return op->emitOpError() << "'" << slots.name << "' dimension " << dim
                           << " (slots) is " << count
                           << ", expected the product of the window sizes, "
                           << expected;
}

LogicalResult mlir::na::detail::verifyBias(Operation *op, Named bias,
                                           Named query, WindowAttr window) {
  int64_t rank = window.getRank();
  if (failed(verifyRank(op, bias, rank + 1, "[Hq, 2 * size - 1 per axis]")) ||
      failed(verifySameDims(op, "heads", {{query, rank + 1}, {bias, 0}})) ||
      failed(verifyTableAxes(op, bias, window)))
    return failure();
  Type type = bias.type.getElementType();
  if (!type.isF32() && type != query.type.getElementType())
    return op->emitOpError()
           << "'bias' has element type " << type << ", expected f32 or "
           << query.type.getElementType() << " (the query's)";
  return success();
}
