//===- NATileOps.cpp - Tile operations --------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NAVerifiers.h"
#include "na/Dialect/NA/IR/NA.h"

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::detail;

/// A tile has a result exactly if it is a tensor.
static LogicalResult verifyTileResult(Operation *op, Value init) {
  bool tensor = isa<TensorType>(init.getType());
  if (op->getNumResults() != unsigned(tensor))
    return op->emitOpError()
           << "has " << op->getNumResults() << " results, expected "
           << unsigned(tensor) << " for a tile of type " << init.getType();
  if (tensor && op->getResult(0).getType() != init.getType())
    return op->emitOpError() << "result is " << op->getResult(0).getType()
                             << ", expected the tile's type " << init.getType();
  return success();
}

static LogicalResult verifyAxes(Operation *op, int64_t rank) {
  if (rank >= 1 && rank <= 3)
    return success();
  return op->emitOpError() << "'at' has " << rank
                           << " entries, expected 1 to 3 (one per axis)";
}

/// Checks that a list has one entry per axis and returns its product through
/// `lanes` if that is asked for.
static LogicalResult verifyBox(Operation *op, StringRef name,
                               ArrayRef<int64_t> box, int64_t rank,
                               int64_t *lanes = nullptr) {
  if (int64_t(box.size()) != rank)
    return op->emitOpError()
           << "'" << name << "' has " << box.size() << " entries, expected "
           << rank << " (one per axis)";
  int64_t product = 1;
  for (auto [axis, extent] : llvm::enumerate(box)) {
    if (extent < 1)
      return op->emitOpError() << "'" << name << "'[" << axis
                               << "] = " << extent << ", expected at least 1";
    if (llvm::MulOverflow(product, extent, product))
      return op->emitOpError() << "'" << name << "' has more lanes than 64 "
                               << "bits can count";
  }
  if (lanes)
    *lanes = product;
  return success();
}

static LogicalResult verifyCount(Operation *op, StringRef name, size_t count,
                                 int64_t rank) {
  if (int64_t(count) == rank)
    return success();
  return op->emitOpError() << "'" << name << "' has " << count
                           << " entries, expected " << rank
                           << " (one per axis)";
}

/// Checks the shape of a tile; an expected dynamic size fits any.
static LogicalResult verifyTileShape(Operation *op, StringRef name,
                                     ShapedType tile,
                                     ArrayRef<int64_t> expected) {
  auto fits = [](auto sizes) {
    auto [size, expected] = sizes;
    return size == expected || ShapedType::isDynamic(expected);
  };
  if (tile.getShape().size() == expected.size() &&
      llvm::all_of(llvm::zip_equal(tile.getShape(), expected), fits))
    return success();
  InFlightDiagnostic diag = op->emitOpError() << "'" << name << "' is " << tile
                                              << ", expected shape [";
  llvm::interleaveComma(expected, diag, [&](int64_t size) {
    if (ShapedType::isDynamic(size))
      diag << "?";
    else
      diag << size;
  });
  return diag << "]";
}

/// The types that attention is computed in; others lack an infinity, or are not
/// known to any lowering.
static bool isAttentionFloat(Type type) {
  return type.isF64() || type.isF32() || type.isF16() || type.isBF16();
}

static LogicalResult verifyTileElement(Operation *op, ShapedType tile,
                                       ShapedType whole, bool loads) {
  Type narrow = whole.getElementType(), wide = tile.getElementType();
  if (isAttentionFloat(wide) &&
      (wide == narrow ||
       narrow.getIntOrFloatBitWidth() < wide.getIntOrFloatBitWidth()))
    return success();
  return op->emitOpError() << "cannot " << (loads ? "extend " : "truncate ")
                           << (loads ? whole : tile).getElementType() << " to "
                           << (loads ? tile : whole).getElementType();
}

/// Shape [rows, columns], swapped if `swapped`.
static SmallVector<int64_t, 2> tileShape(int64_t rows, int64_t columns,
                                         bool swapped) {
  if (swapped)
    return {columns, rows};
  return {rows, columns};
}

LogicalResult TileLoadOp::verify() {
  Operation *op = getOperation();
  auto source = getSource().getType();
  auto tile = shaped(getInit());
  int64_t rank = getAt().size(), lanes = 0;
  if (failed(verifyAxes(op, rank)))
    return failure();
  bool hasChannels = source.getRank() == rank + 3;
  if (!hasChannels && source.getRank() != rank + 2)
    return emitOpError() << "'source' has rank " << source.getRank()
                         << ", expected " << rank + 2 << ", [B, X.., H], or "
                         << rank + 3 << ", [B, X.., H, D]";
  if (failed(verifyTileResult(op, getInit())) ||
      failed(verifyBox(op, "box", getBox(), rank, &lanes)) ||
      failed(verifyBox(op, "dilation", getDilation(), rank)) ||
      failed(verifyTileElement(op, tile, source, /*loads=*/true)))
    return failure();
  if (!hasChannels)
    return verifyTileShape(op, "init", tile, {lanes});
  return verifyTileShape(
      op, "init", tile,
      tileShape(lanes, source.getShape().back(), getTransposed()));
}

LogicalResult TileStoreOp::verify() {
  Operation *op = getOperation();
  auto dest = getDest().getType();
  auto tile = shaped(getTile());
  int64_t rank = getAt().size(), lanes = 0;
  if (failed(verifyAxes(op, rank)) ||
      failed(verifyBox(op, "box", getBox(), rank, &lanes)) ||
      failed(verifyBox(op, "dilation", getDilation(), rank)) ||
      failed(verifyTileElement(op, tile, dest, /*loads=*/false)))
    return failure();
  if (dest.getRank() == rank + 2)
    return verifyTileShape(op, "tile", tile, {lanes});
  if (dest.getRank() == rank + 3)
    return verifyTileShape(
        op, "tile", tile,
        tileShape(lanes, dest.getShape().back(), getTransposed()));
  return emitOpError() << "'dest' has rank " << dest.getRank() << ", expected "
                       << rank + 2 << ", [B, X.., H], or " << rank + 3
                       << ", [B, X.., H, D]";
}

LogicalResult TileAddOp::verify() {
  Operation *op = getOperation();
  auto dest = getDest().getType();
  auto tile = shaped(getTile());
  int64_t rank = getAt().size(), lanes = 0;
  if (failed(verifyAxes(op, rank)) ||
      failed(verifyBox(op, "box", getBox(), rank, &lanes)) ||
      failed(verifyBox(op, "dilation", getDilation(), rank)))
    return failure();
  if (tile.getElementType() != dest.getElementType())
    return emitOpError() << "'tile' has element type " << tile.getElementType()
                         << ", expected " << dest.getElementType()
                         << " as in 'dest'";
  if (dest.getRank() != rank + 3)
    return emitOpError() << "'dest' has rank " << dest.getRank()
                         << ", expected " << rank + 3 << ", [B, X.., H, D]";
  return verifyTileShape(
      op, "tile", tile,
      tileShape(lanes, dest.getShape().back(), getTransposed()));
}

LogicalResult TileWindowsOp::verify() {
  Operation *op = getOperation();
  int64_t rank = getWindow().getRank(), lanes = 0;
  if (failed(verifyTileResult(op, getInit())) ||
      failed(verifyCount(op, "at", getAt().size(), rank)) ||
      failed(verifyCount(op, "sizes", getSizes().size(), rank)) ||
      failed(verifyBox(op, "box", getBox(), rank, &lanes)))
    return failure();
  if (!shaped(getInit()).getElementType().isSignlessInteger(32))
    return emitOpError() << "'init' is " << getInit().getType()
                         << ", expected elements of type i32";
  int64_t heads = getHeads();
  if (heads < 1)
    return emitOpError() << "'heads' is " << heads << ", expected at least 1";
  if (llvm::MulOverflow(lanes, heads, lanes))
    return emitOpError() << "'box' and 'heads' have more lanes than 64 bits "
                            "can count";
  return verifyTileShape(op, "init", shaped(getInit()), {2 * rank, lanes});
}

/// Checks a tile of scores and its ranges.
static LogicalResult verifyScores(Operation *op, StringRef name, Value scores,
                                  Value ranges, int64_t rank, int64_t keyLanes,
                                  bool keyMajor,
                                  std::optional<int64_t> queryLanes = {}) {
  auto rangesType = shaped(ranges);
  if (isa<TensorType>(ranges.getType()) != isa<TensorType>(scores.getType()))
    return op->emitOpError()
           << "'ranges' is " << rangesType << " and '" << name << "' is "
           << scores.getType() << ", expected two tensors or two memrefs";
  if (rangesType.getRank() != 2 || rangesType.isDynamicDim(1) ||
      !rangesType.getElementType().isSignlessInteger(32))
    return op->emitOpError() << "'ranges' is " << rangesType
                             << ", expected [2 * axes, queries] of i32";
  int64_t queries = queryLanes.value_or(rangesType.getDimSize(1));
  if (failed(verifyTileShape(op, "ranges", rangesType, {2 * rank, queries})))
    return failure();
  if (!isAttentionFloat(shaped(scores).getElementType()))
    return op->emitOpError() << "'" << name << "' is " << scores.getType()
                             << ", expected elements of f64, f32, f16 or bf16";
  return verifyTileShape(op, name, shaped(scores),
                         tileShape(queries, keyLanes, keyMajor));
}

LogicalResult TileMaskOp::verify() {
  Operation *op = getOperation();
  int64_t rank = getAt().size(), keys = 0;
  if (failed(verifyTileResult(op, getInit())) || failed(verifyAxes(op, rank)) ||
      failed(verifyBox(op, "box", getBox(), rank, &keys)) ||
      failed(verifyScores(op, "init", getInit(), getRanges(), rank, keys,
                          getKeyMajor())))
    return failure();
  for (int64_t axis : getAxes())
    if (axis < 0 || axis >= rank)
      return emitOpError() << "'axes' holds " << axis << ", expected 0 to "
                           << rank - 1;
  return success();
}

LogicalResult TileBiasOp::verify() {
  Operation *op = getOperation();
  int64_t rank = getWindow().getRank(), queries = 0, keys = 0;
  if (getTable().getType().getRank() != rank + 1)
    return emitOpError() << "'table' has rank "
                         << getTable().getType().getRank() << ", expected "
                         << rank + 1 << ", [Hq, 2 * size - 1 per axis]";
  if (failed(verifyTileResult(op, getInit())) ||
      failed(
          verifyTableAxes(op, {"table", getTable().getType()}, getWindow())) ||
      failed(verifyCount(op, "query_at", getQueryAt().size(), rank)) ||
      failed(verifyCount(op, "key_at", getKeyAt().size(), rank)) ||
      failed(verifyBox(op, "query_box", getQueryBox(), rank, &queries)) ||
      failed(verifyBox(op, "key_box", getKeyBox(), rank, &keys)) ||
      failed(verifyTileElement(op, shaped(getInit()), getTable().getType(),
                               /*loads=*/true)))
    return failure();
  return verifyTileShape(op, "init", shaped(getInit()),
                         tileShape(queries, keys, getKeyMajor()));
}

/// What gather and scatter have in common.
template <typename OpTy>
static LogicalResult verifySlotsTile(OpTy op, StringRef wholeName,
                                     MemRefType whole, StringRef tileName,
                                     Value tile) {
  int64_t rank = op.getWindow().getRank(), queries = 0, keys = 0;
  if (whole.getRank() != rank + 3)
    return op.emitOpError()
           << "'" << wholeName << "' has rank " << whole.getRank()
           << ", expected " << rank + 3 << ", [B, X.., H, prod(size)]";
  if (failed(verifySlotCount(op, {wholeName, whole}, op.getWindow())) ||
      failed(verifyCount(op, "at", op.getAt().size(), rank)) ||
      failed(verifyCount(op, "key_at", op.getKeyAt().size(), rank)) ||
      failed(verifyBox(op, "query_box", op.getQueryBox(), rank, &queries)) ||
      failed(verifyBox(op, "key_box", op.getKeyBox(), rank, &keys)))
    return failure();
  return verifyScores(op, tileName, tile, op.getRanges(), rank, keys,
                      op.getKeyMajor(), queries);
}

LogicalResult TileScatterOp::verify() {
  if (failed(verifySlotsTile(*this, "dest", getDest().getType(), "tile",
                             getTile())))
    return failure();
  return verifyTileElement(getOperation(), shaped(getTile()),
                           getDest().getType(), /*loads=*/false);
}

LogicalResult TileGatherOp::verify() {
  if (failed(verifyTileResult(getOperation(), getInit())) ||
      failed(verifySlotsTile(*this, "source", getSource().getType(), "init",
                             getInit())))
    return failure();
  Type from = getSource().getType().getElementType();
  Type to = shaped(getInit()).getElementType();
  // Weights of f32 are rounded to the type of what they are multiplied with.
  if (from.isF32() && (to.isF16() || to.isBF16()))
    return success();
  return verifyTileElement(getOperation(), shaped(getInit()),
                           getSource().getType(), /*loads=*/true);
}
