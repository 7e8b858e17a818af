//===- NAVerifiers.cpp - Checks shared by the verifiers ---*- C++ -*-===//
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

LogicalResult mlir::na::detail::verifySameDim(Operation *op, Named operand,
                                              int64_t dim, Named ref,
                                              int64_t refDim, StringRef what) {
  int64_t size = operand.type.getDimSize(dim);
  int64_t expected = ref.type.getDimSize(refDim);
  if (ShapedType::isDynamic(size) || ShapedType::isDynamic(expected) ||
      size == expected)
    return success();
  return op->emitOpError() << "'" << operand.name << "' dimension " << dim
                           << " (" << what << ") is " << size << ", expected "
                           << expected << " as in '" << ref.name << "'";
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

LogicalResult mlir::na::detail::verifySameTokens(Operation *op, Named operand,
                                                 Named ref,
                                                 int64_t spatialRank) {
  if (failed(verifySameDim(op, operand, 0, ref, 0, "batch")))
    return failure();
  for (int64_t axis = 0; axis < spatialRank; ++axis) {
    std::string what = "axis " + std::to_string(axis);
    if (failed(verifySameDim(op, operand, axis + 1, ref, axis + 1, what)))
      return failure();
  }
  return success();
}

LogicalResult mlir::na::detail::verifyWindowFits(Operation *op,
                                                 WindowAttr window, Named ref) {
  int64_t headDim = window.getRank() + 1;
  for (int64_t axis = 0; axis < window.getRank(); ++axis) {
    int64_t length = ref.type.getDimSize(axis + 1);
    if (ShapedType::isDynamic(length))
      continue;
    auto error = ::na::window::checkAxis(window.getAxis(axis), axis, length);
    if (!error)
      continue;
    InFlightDiagnostic diag = op->emitOpError() << error->message;
    // Heads-first tensors are the usual way to get here.
    int64_t heads = ref.type.getDimSize(headDim);
    if (error->argument == "window" && !ShapedType::isDynamic(heads) &&
        heads > length)
      diag << "; '" << ref.name << "' has " << heads << " heads and " << length
           << " tokens on axis " << axis
           << ": are heads and tokens swapped? The layout is heads-last, [B, "
              "X.., H, D]";
    return diag;
  }
  return success();
}

LogicalResult mlir::na::detail::verifyHeads(Operation *op, Named query,
                                            int64_t queryDim, Named key,
                                            int64_t keyDim) {
  int64_t queryHeads = query.type.getDimSize(queryDim);
  int64_t keyHeads = key.type.getDimSize(keyDim);
  if (queryHeads == 0)
    return op->emitOpError() << "'" << query.name << "' dimension " << queryDim
                             << " (heads) is 0, expected at least 1";
  if (keyHeads == 0)
    return op->emitOpError() << "'" << key.name << "' dimension " << keyDim
                             << " (heads) is 0, expected at least 1";
  if (ShapedType::isDynamic(queryHeads) || ShapedType::isDynamic(keyHeads) ||
      queryHeads % keyHeads == 0)
    return success();
  return op->emitOpError() << "'" << query.name << "' has " << queryHeads
                           << " heads, not a multiple of the " << keyHeads
                           << " heads of '" << key.name << "'";
}

LogicalResult mlir::na::detail::verifyBias(Operation *op, Named bias,
                                           Named query, WindowAttr window) {
  int64_t rank = window.getRank();
  if (failed(verifyRank(op, bias, rank + 1, "[Hq, 2 * size - 1 per axis]")) ||
      failed(verifySameDim(op, bias, 0, query, rank + 1, "heads")))
    return failure();
  for (int64_t axis = 0; axis < rank; ++axis) {
    int64_t size = bias.type.getDimSize(axis + 1);
    int64_t expected = 2 * window.getSize()[axis] - 1;
    if (!ShapedType::isDynamic(size) && size != expected)
      return op->emitOpError()
             << "'bias' dimension " << axis + 1 << " (axis " << axis << ") is "
             << size << ", expected 2 * window[" << axis
             << "] - 1 = " << expected;
  }
  Type type = bias.type.getElementType();
  if (!type.isF32() && type != query.type.getElementType())
    return op->emitOpError()
           << "'bias' has element type " << type << ", expected f32 or "
           << query.type.getElementType() << " (the query's)";
  return success();
}
