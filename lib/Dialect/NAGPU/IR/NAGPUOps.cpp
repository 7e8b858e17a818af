//===- NAGPUOps.cpp - Operations of the nagpu dialect -----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifySize.h"

#include "na/Dialect/NAGPU/IR/NAGPU.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::nagpu;

#define GET_OP_CLASSES
#include "na/Dialect/NAGPU/IR/NAGPUOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Checks that several operations share
//===----------------------------------------------------------------------===//

static LogicalResult verifyRole(Operation *op, StringRef name,
                                FragmentType type, ArrayRef<Role> expected) {
  if (llvm::is_contained(expected, type.getRole()))
    return success();
  InFlightDiagnostic diag = op->emitOpError()
                            << "'" << name << "' has role "
                            << stringifyRole(type.getRole()) << ", expected ";
  llvm::interleave(
      expected, [&](Role role) { diag << stringifyRole(role); },
      [&] { diag << " or "; });
  return diag;
}

static LogicalResult verifyElement(Operation *op, StringRef name, Type element,
                                   Type expected, StringRef why) {
  if (element == expected)
    return success();
  return op->emitOpError() << "'" << name << "' has element type " << element
                           << ", expected " << expected << " (" << why << ")";
}

static LogicalResult verifyF32(Operation *op, StringRef name, Type element) {
  if (element.isF32())
    return success();
  return op->emitOpError() << "'" << name << "' has element type " << element
                           << ", expected 'f32'";
}

/// Row `r` belongs to the same warp in two fragments only if they have the same
/// number of warps.
static LogicalResult verifyWarps(Operation *op, StringRef name,
                                 FragmentType type, int64_t expected,
                                 StringRef other) {
  if (type.getWarps() == expected)
    return success();
  return op->emitOpError() << "'" << name << "' has " << type.getWarps()
                           << " warps, expected " << expected << " as in '"
                           << other << "'";
}

static LogicalResult verifyNoRing(Operation *op, StringRef name,
                                  SharedType type) {
  if (!type.isRing())
    return success();
  return op->emitOpError() << "'" << name << "' is " << type
                           << ", a ring, expected one tile";
}

/// Checks that the tile is not in the panels of the TMA, whose addresses these
/// operations do not compute.
static LogicalResult verifyNoPanels(Operation *op, StringRef name,
                                    SharedType type) {
  if (!type.isTma())
    return success();
  return op->emitOpError() << "'" << name << "' is " << type
                           << ", in panels of the TMA, expected linear, xor or "
                              "padded";
}

/// Checks that `[start, start + size)` lies in `[0, limit)` and that `start` is
/// a multiple of `multiple`.
static LogicalResult verifySlice(Operation *op, StringRef name, int64_t start,
                                 int64_t size, int64_t limit,
                                 StringRef limitName, int64_t multiple) {
  if (start < 0 || size > limit || start > limit - size)
    return op->emitOpError()
           << "'" << name << "' is " << start << " and the result has " << size
           << " from there, but '" << limitName << "' has " << limit;
  if (start % multiple != 0)
    return op->emitOpError() << "'" << name << "' is " << start
                             << ", expected a multiple of " << multiple;
  return success();
}

/// Checks that a list has one entry of at least 1 per axis.
static LogicalResult verifyPerAxis(Operation *op, StringRef name,
                                   ArrayRef<int64_t> list, int64_t rank) {
  if (int64_t(list.size()) != rank)
    return op->emitOpError()
           << "'" << name << "' has " << list.size() << " entries, expected "
           << rank << " (one per axis)";
  for (auto [axis, value] : llvm::enumerate(list))
    if (value < 1)
      return op->emitOpError() << "'" << name << "'[" << axis << "] = " << value
                               << ", expected at least 1";
  return success();
}

/// Checks a box of tokens of `memref`, [B, X.., H] and `[, D]` if `channels`,
/// and that its tokens are those of the tile `name`, in its dimension `dim`.
static LogicalResult verifyTokens(Operation *op, StringRef memrefName,
                                  MemRefType memref, bool channels,
                                  int64_t rank, ArrayRef<int64_t> box,
                                  ArrayRef<int64_t> dilation, StringRef name,
                                  int64_t rows, int64_t columns,
                                  int64_t dim = 0) {
  if (rank < 1 || rank > 3)
    return op->emitOpError()
           << "'at' has " << rank << " entries, expected 1 to 3 (one per axis)";
  int64_t expected = rank + (channels ? 3 : 2);
  if (memref.getRank() != expected)
    return op->emitOpError() << "'" << memrefName << "' has rank "
                             << memref.getRank() << ", expected " << expected
                             << ", [B, X.., H" << (channels ? ", D]" : "]");
  auto space = dyn_cast_or_null<gpu::AddressSpaceAttr>(memref.getMemorySpace());
  if (memref.getMemorySpace() &&
      (!space || space.getValue() != gpu::AddressSpace::Global))
    return op->emitOpError()
           << "'" << memrefName << "' is in memory space "
           << memref.getMemorySpace() << ", expected global memory";
  if (failed(verifyPerAxis(op, "box", box, rank)) ||
      failed(verifyPerAxis(op, "dilation", dilation, rank)))
    return failure();
  int64_t lanes = 1;
  for (int64_t extent : box)
    if (llvm::MulOverflow(lanes, extent, lanes))
      return op->emitOpError() << "'box' has more tokens than 64 bits can "
                                  "count";
  if (lanes != rows)
    return op->emitOpError()
           << "'box' has " << lanes << " tokens, expected " << rows
           << " (dimension " << dim << " of '" << name << "')";
  int64_t last = memref.getRank() - 1;
  if (channels && !memref.isDynamicDim(last) &&
      memref.getDimSize(last) > columns)
    return op->emitOpError()
           << "'" << memrefName << "' dimension " << last << " (channels) is "
           << memref.getDimSize(last) << ", expected at most " << columns
           << " (dimension 1 of '" << name << "')";
  return success();
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

LogicalResult AllocOp::verify() {
  std::optional<int64_t> offset = getOffset();
  if (!offset)
    return success();
  if (*offset < 0)
    return emitOpError() << "'offset' is " << *offset
                         << ", expected at least 0";
  int64_t alignment = getResult().getType().getAlignment();
  if (*offset % alignment != 0)
    return emitOpError() << "'offset' is " << *offset
                         << ", expected a multiple of " << alignment;
  return success();
}

LogicalResult SlotOp::verify() {
  SharedType ring = getRing().getType();
  if (!ring.isRing())
    return emitOpError() << "'ring' is " << ring
                         << ", one tile, expected a ring";
  if (getResult().getType() != ring.getSlotType())
    return emitOpError() << "result is " << getResult().getType()
                         << ", expected " << ring.getSlotType()
                         << ", a slot of 'ring'";
  APInt index;
  if (matchPattern(getIndex(), m_ConstantInt(&index)) &&
      (index.isNegative() || index.sge(ring.getSlots())))
    return emitOpError() << "'index' is " << index.getSExtValue()
                         << ", expected 0 to " << ring.getSlots() - 1
                         << " ('ring' has " << ring.getSlots() << " slots)";
  return success();
}

bool AsyncCopyOp::isVector() {
  return cast<MemRefType>(getSource().getType()).getRank() ==
         int64_t(getAt().size()) + 2;
}

/// Checks a tile that holds a value for each token, and no channels.
static LogicalResult verifyVector(AsyncCopyOp op) {
  SharedType dest = op.getDest().getType();
  if (failed(verifyNoPanels(op, "dest", dest)) ||
      failed(verifyF32(op, "dest", dest.getElementType())))
    return failure();
  if (dest.getRows() != 1)
    return op.emitOpError() << "'dest' has " << dest.getRows()
                            << " rows, expected 1 for a 'source' [B, X.., H] "
                               "without channels";
  return verifyTokens(op, "source", cast<MemRefType>(op.getSource().getType()),
                      /*channels=*/false, op.getAt().size(), op.getBox(),
                      op.getDilation(), "dest", dest.getColumns(), 1,
                      /*dim=*/1);
}

LogicalResult AsyncCopyOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  SharedType dest = getDest().getType();
  if (failed(verifyNoRing(*this, "dest", dest)) ||
      failed(verifyElement(*this, "dest", dest.getElementType(),
                           source.getElementType(), "that of 'source'")))
    return failure();
  if (isVector() ? failed(verifyVector(*this))
                 : failed(verifyTokens(*this, "source", source,
                                       /*channels=*/true, getAt().size(),
                                       getBox(), getDilation(), "dest",
                                       dest.getRows(), dest.getColumns())))
    return failure();
  // The TMA would fill columns beyond the head's with those of the next head.
  int64_t last = source.getRank() - 1;
  if (dest.isTma() && source.getDimSize(last) != dest.getColumns()) {
    InFlightDiagnostic diag = emitOpError();
    diag << "'source' dimension " << last << " (channels) is ";
    if (source.isDynamicDim(last))
      diag << "dynamic";
    else
      diag << source.getDimSize(last);
    return diag << ", expected " << dest.getColumns()
                << ", the columns of 'dest', which is in panels of the TMA";
  }
  int64_t warps = getWarps();
  if (warps < 1 || warps > 32)
    return emitOpError() << "'warps' is " << warps << ", expected 1 to 32";
  return success();
}

LogicalResult AsyncWaitOp::verify() {
  int64_t pending = getPending();
  if (pending < 0 || pending > std::numeric_limits<int32_t>::max())
    return emitOpError() << "'pending' is " << pending << ", expected 0 to "
                         << std::numeric_limits<int32_t>::max();
  for (auto [index, tile] : llvm::enumerate(getTiles()))
    if (failed(verifyNoRing(*this, "tiles[" + std::to_string(index) + "]",
                            cast<SharedType>(tile.getType()))))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

LogicalResult LdMatrixOp::verify() {
  SharedType source = getSource().getType();
  FragmentType result = getResult().getType();
  Type element = result.getElementType();
  if (failed(verifyNoRing(*this, "source", source)) ||
      failed(verifyNoPanels(*this, "source", source)) ||
      failed(verifyRole(*this, "result", result, {Role::Lhs, Role::Rhs})) ||
      failed(verifyElement(*this, "result", element, source.getElementType(),
                           "that of 'source'")))
    return failure();
  bool lhs = result.getRole() == Role::Lhs;
  if (getPermuted() && (lhs || getTransposed() || !element.isF32()))
    return emitOpError()
           << "'permuted' is for role rhs of 'f32' that is not transposed, "
              "result is "
           << result << (getTransposed() ? ", transposed" : "");
  if (lhs && getTransposed()) {
    int64_t rows = source.getColumns();
    bool gathered =
        rows == ScatterOp::getScratchColumns(result.getRows(), element);
    if (getColumn() != 0 || (result.getRows() != rows && !gathered))
      return emitOpError() << "'column' is " << int64_t(getColumn())
                           << " and the result has " << result.getRows()
                           << " rows, expected column 0 and all " << rows
                           << " columns of 'source' (role lhs, transposed)";
  } else if (lhs && (getRow() != 0 || result.getRows() != source.getRows()))
    return emitOpError() << "'row' is " << int64_t(getRow())
                         << " and the result has " << result.getRows()
                         << " rows, expected row 0 and all " << source.getRows()
                         << " rows of 'source' (role lhs)";
  int64_t rows = result.getRows(), columns = result.getColumns();
  if (getTransposed())
    std::swap(rows, columns);
  // Where a chunk lies depends on its row modulo 8, and it has 16 bytes.
  int64_t chunk = 128 / element.getIntOrFloatBitWidth();
  return failure(failed(verifySlice(*this, "row", getRow(), rows,
                                    source.getRows(), "source", 8)) ||
                 failed(verifySlice(*this, "column", getColumn(), columns,
                                    source.getColumns(), "source", chunk)));
}

LogicalResult MmaOp::verify() {
  FragmentType lhs = getLhs().getType(), rhs = getRhs().getType(),
               acc = getAcc().getType();
  Type element = lhs.getElementType();
  if (failed(verifyRole(*this, "lhs", lhs, Role::Lhs)) ||
      failed(verifyRole(*this, "rhs", rhs, Role::Rhs)) ||
      failed(verifyRole(*this, "acc", acc, Role::Accumulator)))
    return failure();
  if (!element.isF16() && !element.isBF16() && !element.isF32())
    return emitOpError() << "'lhs' has element type " << element
                         << ", expected 'f16', 'bf16' or 'f32'";
  return failure(
      failed(verifyElement(*this, "rhs", rhs.getElementType(), element,
                           "that of 'lhs'")) ||
      failed(verifyF32(*this, "acc", acc.getElementType())) ||
      failed(verifyWarps(*this, "rhs", rhs, lhs.getWarps(), "lhs")) ||
      failed(verifyWarps(*this, "acc", acc, lhs.getWarps(), "lhs")) ||
      failed(verifySize(*this, "rhs", 0, "K", rhs.getRows(), lhs.getColumns(),
                        "lhs")) ||
      failed(verifySize(*this, "acc", 0, "M", acc.getRows(), lhs.getRows(),
                        "lhs")) ||
      failed(verifySize(*this, "acc", 1, "N", acc.getColumns(),
                        rhs.getColumns(), "rhs")));
}

LogicalResult FmaOp::verify() {
  SharedType rhs = getRhs().getType();
  FragmentType acc = getAcc().getType();
  if (failed(verifyRole(*this, "acc", acc, Role::Accumulator)))
    return failure();
  Type element;
  int64_t rows, depth;
  if (auto lhs = dyn_cast<FragmentType>(getLhs().getType())) {
    if (failed(verifyRole(*this, "lhs", lhs, Role::Accumulator)) ||
        failed(verifyWarps(*this, "lhs", lhs, acc.getWarps(), "acc")))
      return failure();
    if (getLhsTransposed())
      return emitOpError() << "'lhs_transposed' is for a shared tile, 'lhs' is "
                           << lhs;
    element = lhs.getElementType();
    rows = lhs.getRows();
    depth = lhs.getColumns();
  } else {
    auto shared = cast<SharedType>(getLhs().getType());
    if (failed(verifyNoRing(*this, "lhs", shared)))
      return failure();
    element = shared.getElementType();
    rows = shared.getRows();
    depth = shared.getColumns();
  }
  if (getLhsTransposed())
    std::swap(rows, depth);
  bool transposed = getTransposed();
  int64_t rhsDepth = transposed ? rhs.getColumns() : rhs.getRows();
  int64_t columns = transposed ? rhs.getRows() : rhs.getColumns();
  // Behind the weights that nagpu.gather fills in, a tile has more columns.
  bool gathered = !transposed && isa<SharedType>(getLhs().getType());
  auto isScratch = [&](int64_t columns, int64_t keys) {
    return gathered && columns == ScatterOp::getScratchColumns(keys, element);
  };
  if (getLhsTransposed() && isScratch(rows, acc.getRows()))
    rows = acc.getRows();
  if (!getLhsTransposed() && isScratch(depth, rhsDepth))
    depth = rhsDepth;
  return failure(
      failed(verifyNoRing(*this, "rhs", rhs)) ||
      failed(verifyF32(*this, "lhs", element)) ||
      failed(verifyF32(*this, "rhs", rhs.getElementType())) ||
      failed(verifyF32(*this, "acc", acc.getElementType())) ||
      failed(verifySize(*this, "rhs", transposed ? 1 : 0, "K", rhsDepth, depth,
                        "lhs")) ||
      failed(verifySize(*this, "acc", 0, "M", acc.getRows(), rows, "lhs")) ||
      failed(
          verifySize(*this, "acc", 1, "N", acc.getColumns(), columns, "rhs")));
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

LogicalResult SplatOp::verify() {
  FragmentType result = getResult().getType();
  Type element = result.getElementType();
  if (getValue().getType() != element)
    return emitOpError() << "'value' is of type " << getValue().getType()
                         << ", expected " << element
                         << ", the element type of the result";
  // Each of the four lanes would hold the value, and their sum counts.
  Attribute constant;
  if (result.getRole() == Role::PartialRow &&
      matchPattern(getValue(), m_Constant(&constant)) &&
      !matchPattern(constant, m_AnyZeroFloat()) &&
      !matchPattern(constant, m_Zero()))
    return emitOpError() << "'value' is " << constant
                         << ", expected 0 for role partial_row (its value is "
                            "the sum over four lanes)";
  return success();
}

LogicalResult ExtractOp::verify() {
  FragmentType source = getSource().getType(), result = getResult().getType();
  return failure(
      failed(verifyRole(*this, "source", source, Role::Lhs)) ||
      failed(verifyRole(*this, "result", result, Role::Lhs)) ||
      failed(verifyElement(*this, "result", result.getElementType(),
                           source.getElementType(), "that of 'source'")) ||
      failed(
          verifyWarps(*this, "result", result, source.getWarps(), "source")) ||
      failed(verifySize(*this, "result", 0, "rows", result.getRows(),
                        source.getRows(), "source")) ||
      failed(verifySlice(*this, "column", getColumn(), result.getColumns(),
                         source.getColumns(), "source",
                         productDepth(source.getElementType()))));
}

LogicalResult LdVectorOp::verify() {
  SharedType source = getSource().getType();
  FragmentType result = getResult().getType();
  if (failed(verifyNoRing(*this, "source", source)) ||
      failed(verifyNoPanels(*this, "source", source)) ||
      failed(verifyF32(*this, "source", source.getElementType())) ||
      failed(verifyRole(*this, "result", result, {Role::Row, Role::Column})) ||
      failed(verifyF32(*this, "result", result.getElementType())))
    return failure();
  if (source.getRows() != 1)
    return emitOpError() << "'source' has " << source.getRows()
                         << " rows, expected 1";
  return verifySize(*this, "result", 0, result.isRowLike() ? "rows" : "columns",
                    result.getShape().front(), source.getColumns(), "source");
}

/// Of a left operand back to what it was rounded from.
static LogicalResult verifyWidening(ConvertOp op, FragmentType source,
                                    FragmentType result) {
  Type element = source.getElementType();
  if (!element.isF16() && !element.isBF16())
    return op.emitOpError() << "'source' has element type " << element
                            << ", expected 'f16' or 'bf16' of role lhs";
  return failure(
      failed(verifyRole(op, "result", result, Role::Accumulator)) ||
      failed(verifyF32(op, "result", result.getElementType())) ||
      failed(verifyWarps(op, "result", result, source.getWarps(), "source")) ||
      failed(verifySize(op, "result", 0, "rows", result.getRows(),
                        source.getRows(), "source")) ||
      failed(verifySize(op, "result", 1, "columns", result.getColumns(),
                        source.getColumns(), "source")));
}

LogicalResult ConvertOp::verify() {
  FragmentType source = getSource().getType(), result = getResult().getType();
  if (source.getRole() == Role::Lhs)
    return verifyWidening(*this, source, result);
  if (failed(verifyRole(*this, "source", source,
                        {Role::Accumulator, Role::PartialRow})) ||
      failed(verifyF32(*this, "source", source.getElementType())))
    return failure();
  bool row = source.isRowLike();
  if (failed(
          verifyRole(*this, "result", result, row ? Role::Row : Role::Lhs)) ||
      failed(
          verifyWarps(*this, "result", result, source.getWarps(), "source")) ||
      failed(verifySize(*this, "result", 0, "rows", result.getRows(),
                        source.getRows(), "source")))
    return failure();
  if (row)
    return verifyF32(*this, "result", result.getElementType());
  Type element = result.getElementType();
  if (!element.isF16() && !element.isBF16() && !element.isF32())
    return emitOpError() << "'result' has element type " << element
                         << ", expected 'f16', 'bf16' or 'f32'";
  return verifySize(*this, "result", 1, "columns", result.getColumns(),
                    source.getColumns(), "source");
}

LogicalResult ReduceOp::verify() {
  FragmentType source = getSource().getType(), result = getResult().getType();
  if (failed(verifyRole(*this, "source", source, Role::Accumulator)) ||
      failed(
          verifyRole(*this, "result", result, {Role::Row, Role::PartialRow})))
    return failure();
  if (result.getRole() == Role::PartialRow && getKind() != Kind::Add)
    return emitOpError() << "'kind' is " << stringifyKind(getKind())
                         << ", expected add for a result of role partial_row "
                            "(the sum over four lanes)";
  return failure(failed(verifyF32(*this, "source", source.getElementType())) ||
                 failed(verifyF32(*this, "result", result.getElementType())) ||
                 failed(verifyWarps(*this, "result", result, source.getWarps(),
                                    "source")) ||
                 failed(verifySize(*this, "result", 0, "rows", result.getRows(),
                                   source.getRows(), "source")));
}

/// A number a row of `source`.
static LogicalResult verifyBound(Operation *op, StringRef name,
                                 FragmentType type, FragmentType source) {
  return failure(
      failed(verifyRole(op, name, type, Role::Row)) ||
      failed(verifyElement(op, name, type.getElementType(),
                           IntegerType::get(op->getContext(), 32),
                           "a coordinate")) ||
      failed(verifyWarps(op, name, type, source.getWarps(), "source")) ||
      failed(verifySize(op, name, 0, "rows", type.getRows(), source.getRows(),
                        "source")));
}

/// What is masked, whose columns run over `box`.
static LogicalResult verifyMasked(Operation *op, FragmentType source,
                                  ArrayRef<int64_t> box) {
  if (failed(verifyRole(op, "source", source, Role::Accumulator)) ||
      failed(verifyF32(op, "source", source.getElementType())) ||
      failed(verifyPerAxis(op, "box", box, box.size())))
    return failure();
  int64_t columns = 1;
  for (int64_t extent : box)
    if (llvm::MulOverflow(columns, extent, columns))
      return op->emitOpError()
             << "'box' has more columns than 64 bits can count";
  return verifySize(op, "source", 1, "columns", source.getColumns(), columns,
                    "box");
}

LogicalResult MaskOp::verify() {
  FragmentType source = getSource().getType();
  ArrayRef<int64_t> box = getBox();
  if (failed(verifyMasked(*this, source, box)) ||
      failed(verifyBound(*this, "begin", getBegin().getType(), source)) ||
      (getEnd() &&
       failed(verifyBound(*this, "end", getEnd().getType(), source))))
    return failure();
  if (bool(getEnd()) == getSize().has_value())
    return emitOpError() << "has " << (getEnd() ? "" : "neither ") << "'end' "
                         << (getEnd() ? "and" : "nor")
                         << " 'size', expected one of them";
  std::optional<int64_t> size = getSize();
  if (size && (*size < 1 || *size > std::numeric_limits<int32_t>::max()))
    return emitOpError() << "'size' is " << *size << ", expected 1 to "
                         << std::numeric_limits<int32_t>::max();
  int64_t axis = getAxis(), rank = box.size();
  if (axis < 0 || axis >= rank)
    return emitOpError() << "'axis' is " << axis << ", expected 0 to "
                         << rank - 1 << " ('box' has " << rank << " entries)";
  return success();
}

LogicalResult MaskBoxOp::verify() {
  FragmentType source = getSource().getType();
  ArrayRef<int64_t> axes = getAxes(), box = getBox();
  if (failed(verifyMasked(*this, source, box)))
    return failure();
  int64_t rank = box.size(), last = -1;
  if (axes.empty() || axes.size() != getBegins().size())
    return emitOpError() << "'axes' has " << axes.size()
                         << " entries, expected at least one, and one for each "
                            "of the "
                         << getBegins().size() << " 'begins'";
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (axis <= last || axis >= rank)
      return emitOpError() << "'axes'[" << i << "] is " << axis << ", expected "
                           << last + 1 << " to " << rank - 1
                           << " (axes of 'box', in their order)";
    last = axis;
    if (failed(verifyBound(*this, "begins",
                           cast<FragmentType>(getBegins()[i].getType()),
                           source)) ||
        failed(verifyBound(*this, "ends",
                           cast<FragmentType>(getEnds()[i].getType()), source)))
      return failure();
  }
  return success();
}

ParseResult MaskBoxOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand source;
  SmallVector<OpAsmParser::UnresolvedOperand> begins, ends;
  SmallVector<int64_t> axes, box;
  Type sourceType, boundType;
  auto parseNumbers = [&](SmallVector<int64_t> &numbers) {
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
      return parser.parseInteger(numbers.emplace_back());
    });
  };
  if (parser.parseOperand(source) || parser.parseKeyword("axes") ||
      parseNumbers(axes) || parser.parseKeyword("of") || parseNumbers(box) ||
      parser.parseKeyword("from") || parser.parseOperandList(begins) ||
      parser.parseKeyword("to") || parser.parseOperandList(ends) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parser.parseType(sourceType) || parser.parseComma() ||
      parser.parseType(boundType))
    return failure();
  if (begins.size() != ends.size())
    return parser.emitError(parser.getNameLoc())
           << "has " << ends.size() << " ends, expected " << begins.size()
           << ", one for each begin";
  Builder &b = parser.getBuilder();
  result.getOrAddProperties<Properties>().axes = b.getDenseI64ArrayAttr(axes);
  result.getOrAddProperties<Properties>().box = b.getDenseI64ArrayAttr(box);
  result.addTypes(sourceType);
  return failure(parser.resolveOperand(source, sourceType, result.operands) ||
                 parser.resolveOperands(begins, boundType, result.operands) ||
                 parser.resolveOperands(ends, boundType, result.operands));
}

void MaskBoxOp::print(OpAsmPrinter &p) {
  p << " " << getSource() << " axes [";
  llvm::interleaveComma(getAxes(), p);
  p << "] of [";
  llvm::interleaveComma(getBox(), p);
  p << "] from " << getBegins() << " to " << getEnds();
  p.printOptionalAttrDict((*this)->getAttrs(), {"axes", "box"});
  p << " : " << getSource().getType() << ", " << getBegins().front().getType();
}

LogicalResult StoreOp::verify() {
  FragmentType source = getSource().getType();
  if (failed(verifyRole(*this, "source", source,
                        {Role::Accumulator, Role::Row})) ||
      failed(verifyF32(*this, "source", source.getElementType())))
    return failure();
  return verifyTokens(*this, "dest", cast<MemRefType>(getDest().getType()),
                      /*channels=*/!source.isRowLike(), getAt().size(),
                      getBox(), getDilation(), "source", source.getRows(),
                      source.getColumns());
}

//===----------------------------------------------------------------------===//
// Slots of windows
//===----------------------------------------------------------------------===//

int64_t ScatterOp::getScratchColumns(int64_t keys, Type elementType) {
  // Three more chunks: the address of a row and its number of slots per axis,
  // and a place for what is not stored. With an even number of chunks of keys
  // the pitch is odd, so that rows lie in different banks.
  return keys + 3 * 128 / elementType.getIntOrFloatBitWidth();
}

/// Checks what a scatter and a gather have in common; the tile `name` has
/// `rows` of scratch memory.
template <typename OpTy>
static LogicalResult
verifySlots(OpTy op, StringRef memrefName, MemRefType memref, StringRef name,
            SharedType tile, int64_t moreRows, int64_t warps) {
  if (failed(verifyNoRing(op, name, tile)) ||
      failed(verifyNoPanels(op, name, tile)))
    return failure();
  // A gather rounds.
  bool rounds =
      std::is_same_v<OpTy, GatherOp> && memref.getElementType().isF32() &&
      (tile.getElementType().isF16() || tile.getElementType().isBF16());
  if (!rounds && failed(verifyElement(op, name, tile.getElementType(),
                                      memref.getElementType(),
                                      ("that of '" + memrefName + "'").str())))
    return failure();
  if (tile.getSwizzle() == Swizzle::Xor)
    return op.emitOpError()
           << "'" << name << "' is " << tile << ", expected linear or padded";
  int64_t rank = op.getAt().size();
  if (failed(verifyTokens(op, memrefName, memref, /*channels=*/true, rank,
                          op.getQueryBox(), op.getDilation(), name,
                          tile.getRows() - moreRows,
                          std::numeric_limits<int64_t>::max())) ||
      failed(verifyPerAxis(op, "window", op.getWindow(), rank)) ||
      failed(verifyPerAxis(op, "key_box", op.getKeyBox(), rank)))
    return failure();
  int64_t slots = 1, keys = 1;
  for (auto [size, extent] : llvm::zip_equal(op.getWindow(), op.getKeyBox()))
    if (llvm::MulOverflow(slots, size, slots) ||
        llvm::MulOverflow(keys, extent, keys))
      return op.emitOpError() << "'window' or 'key_box' has more entries than "
                                 "64 bits can count";
  int64_t last = memref.getRank() - 1;
  if (memref.getDimSize(last) != slots)
    return op.emitOpError() << "'" << memrefName << "' dimension " << last
                            << " (slots) is " << memref.getDimSize(last)
                            << ", expected " << slots << " (of 'window')";
  if (failed(
          verifySize(op, name, 1, "keys and scratch", tile.getColumns(),
                     ScatterOp::getScratchColumns(keys, tile.getElementType()),
                     "key_box")))
    return failure();
  if (int64_t(op.getRanges().size()) != 2 * rank)
    return op.emitOpError()
           << "'ranges' has " << op.getRanges().size() << " entries, expected "
           << 2 * rank << " (two per axis)";
  for (auto [index, value] : llvm::enumerate(op.getRanges())) {
    auto type = cast<FragmentType>(value.getType());
    std::string range = ("ranges[" + Twine(index) + "]").str();
    if (failed(verifyRole(op, range, type, Role::Row)) ||
        failed(verifyElement(op, range, type.getElementType(),
                             IntegerType::get(op.getContext(), 32),
                             "positions of keys")) ||
        failed(verifySize(op, range, 0, "queries", type.getRows(),
                          tile.getRows() - moreRows, name)) ||
        failed(verifyWarps(op, range, type, warps, name)))
      return failure();
  }
  return success();
}

LogicalResult ScatterOp::verify() {
  FragmentType source = getSource().getType();
  if (failed(verifyRole(*this, "source", source, Role::Accumulator)) ||
      failed(verifySlots(*this, "dest", cast<MemRefType>(getDest().getType()),
                         "scratch", getScratch().getType(), /*moreRows=*/1,
                         source.getWarps())) ||
      failed(verifyElement(*this, "source", source.getElementType(),
                           getScratch().getType().getElementType(),
                           "that of 'scratch'")) ||
      failed(verifySize(*this, "source", 0, "queries", source.getRows(),
                        getScratch().getType().getRows() - 1, "scratch")))
    return failure();
  int64_t keys = 1;
  for (int64_t extent : getKeyBox())
    keys *= extent;
  return verifySize(*this, "source", 1, "keys", source.getColumns(), keys,
                    "key_box");
}

LogicalResult GatherOp::verify() {
  if (getWarps() < 1)
    return emitOpError() << "'warps' is " << int64_t(getWarps())
                         << ", expected at least 1";
  return verifySlots(*this, "source", cast<MemRefType>(getSource().getType()),
                     "dest", getDest().getType(), /*moreRows=*/0, getWarps());
}
