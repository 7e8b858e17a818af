//===- NAGPUTypes.cpp - Types of the nagpu dialect --------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NAGPU/IR/NAGPU.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::nagpu;

#include "na/Dialect/NAGPU/IR/NAGPUEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "na/Dialect/NAGPU/IR/NAGPUTypes.cpp.inc"

void NAGPUDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "na/Dialect/NAGPU/IR/NAGPUTypes.cpp.inc"
      >();
}

/// Far more than any CTA holds; bytes and registers are counted in 64 bits.
static constexpr int64_t maxTileSize = 65536;

/// Parses `4x8xf32`.
static ParseResult parseShape(AsmParser &parser, SmallVector<int64_t> &shape,
                              Type &elementType) {
  return failure(parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
                 parser.parseType(elementType));
}

static void printShape(AsmPrinter &printer, ArrayRef<int64_t> shape,
                       Type elementType) {
  for (int64_t size : shape)
    printer << size << 'x';
  printer << elementType;
}

/// Parses a keyword of an enum; `symbolize` gives nothing for others.
template <typename EnumTy>
static FailureOr<EnumTy>
parseKeyword(AsmParser &parser, StringRef what,
             std::optional<EnumTy> (*symbolize)(StringRef)) {
  StringRef keyword;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<EnumTy> value = symbolize(keyword);
  if (!value)
    return parser.emitError(location, "unknown ")
           << what << " '" << keyword << "'";
  return *value;
}

//===----------------------------------------------------------------------===//
// FragmentType
//===----------------------------------------------------------------------===//

Type FragmentType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  int64_t warps;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseLess() || parseShape(parser, shape, elementType) ||
      parser.parseComma())
    return {};
  FailureOr<Role> role = parseKeyword<Role>(parser, "role", symbolizeRole);
  if (failed(role) || parser.parseComma() || parser.parseInteger(warps) ||
      parser.parseGreater())
    return {};
  return FragmentType::getChecked([&] { return parser.emitError(location); },
                                  parser.getContext(), shape, elementType,
                                  *role, warps);
}

void FragmentType::print(AsmPrinter &printer) const {
  printer << '<';
  printShape(printer, getShape(), getElementType());
  printer << ", " << stringifyRole(getRole()) << ", " << getWarps() << '>';
}

LogicalResult FragmentType::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ArrayRef<int64_t> shape, Type elementType,
                                   Role role, int64_t warps) {
  if (warps < 1 || warps > 32)
    return emitError() << "fragment: warps is " << warps
                       << ", expected 1 to 32";
  bool rowLike = role == Role::Row || role == Role::PartialRow;
  bool vector = rowLike || role == Role::Column;
  if (int64_t(shape.size()) != (vector ? 1 : 2))
    return emitError() << "fragment: a tile of role " << stringifyRole(role)
                       << " has " << (vector ? 1 : 2) << " dimensions, got "
                       << shape.size();
  if (!elementType.isF32() && !elementType.isF16() && !elementType.isBF16() &&
      !elementType.isSignlessInteger(32) && !elementType.isSignlessInteger(1))
    return emitError()
           << "fragment: element type " << elementType
           << " has no fragment, expected f32, i32, f16, bf16 or i1";
  unsigned bits = elementType.getIntOrFloatBitWidth();
  bool operand = role == Role::Lhs || role == Role::Rhs;
  if (bits == 16 && !operand)
    return emitError() << "fragment: role " << stringifyRole(role)
                       << " holds 32-bit elements, got " << elementType;
  int64_t depth = bits == 16 ? 16 : 8;
  auto check = [&](int64_t dim, int64_t multiple) -> LogicalResult {
    if (shape[dim] <= 0 || shape[dim] % multiple != 0)
      return emitError() << "fragment: size " << shape[dim] << " of dimension "
                         << dim << " is not a positive multiple of " << multiple
                         << " (role " << stringifyRole(role) << ", " << warps
                         << " warps)";
    if (shape[dim] > maxTileSize)
      return emitError() << "fragment: size " << shape[dim] << " of dimension "
                         << dim << " is more than " << maxTileSize;
    return success();
  };
  if (role == Role::Rhs)
    return failure(failed(check(0, depth)) || failed(check(1, 8)));
  if (role == Role::Column)
    return check(0, 8);
  if (failed(check(0, 16 * warps)))
    return failure();
  if (rowLike)
    return success();
  return check(1, role == Role::Lhs ? depth : 8);
}

int64_t FragmentType::getNumRegisters() const {
  int64_t rows = getRows(), columns = getColumns();
  int64_t perRegister = getElementType().getIntOrFloatBitWidth() == 16 ? 2 : 1;
  switch (getRole()) {
  case Role::Rhs:
    return rows * columns / 32 / perRegister;
  case Role::Accumulator:
  case Role::Lhs:
    return getRowsPerWarp() * columns / 32 / perRegister;
  case Role::Row:
  case Role::PartialRow:
    return getRowsPerWarp() / 8;
  case Role::Column:
    return columns / 4;
  }
  llvm_unreachable("unknown role");
}

Type FragmentType::getRegisterType() const {
  Type type = getElementType();
  if (type.getIntOrFloatBitWidth() == 16)
    return VectorType::get({2}, type);
  return type;
}

//===----------------------------------------------------------------------===//
// SharedType
//===----------------------------------------------------------------------===//

static constexpr int64_t chunkBytes = 16;

/// Parses and prints `<4x8xf32, swizzle>`.
template <typename TypeTy>
static Type parseSwizzled(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseLess() || parseShape(parser, shape, elementType) ||
      parser.parseComma())
    return {};
  FailureOr<Swizzle> swizzle =
      parseKeyword<Swizzle>(parser, "swizzle", symbolizeSwizzle);
  if (failed(swizzle) || parser.parseGreater())
    return {};
  return TypeTy::getChecked([&] { return parser.emitError(location); },
                            parser.getContext(), shape, elementType, *swizzle);
}

template <typename TypeTy>
static void printSwizzled(AsmPrinter &printer, TypeTy type) {
  printer << '<';
  printShape(printer, type.getShape(), type.getElementType());
  printer << ", " << stringifySwizzle(type.getSwizzle()) << '>';
}

Type SharedType::parse(AsmParser &parser) {
  return parseSwizzled<SharedType>(parser);
}

void SharedType::print(AsmPrinter &printer) const {
  printSwizzled(printer, *this);
}

LogicalResult SharedType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type elementType,
                                 Swizzle swizzle) {
  if (shape.size() != 2 && shape.size() != 3)
    return emitError() << "shared: expected 2 dimensions, or 3 for a ring, got "
                       << shape.size();
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size <= 0 || size > maxTileSize)
      return emitError() << "shared: size " << size << " of dimension " << dim
                         << ", expected 1 to " << maxTileSize;
  if (!elementType.isF32() && !elementType.isF16() && !elementType.isBF16())
    return emitError() << "shared: element type " << elementType
                       << ", expected f32, f16 or bf16";
  int64_t bytes = shape.back() * elementType.getIntOrFloatBitWidth() / 8;
  if (bytes % chunkBytes != 0)
    return emitError() << "shared: a row has " << bytes
                       << " bytes, expected a multiple of " << chunkBytes;
  int64_t chunks = bytes / chunkBytes;
  if (swizzle == Swizzle::Xor && (chunks < 2 || !llvm::isPowerOf2_64(chunks)))
    return emitError() << "shared: a row has " << chunks
                       << " chunks of 16 bytes; 'xor' needs a power of two "
                          "from 2 on";
  int64_t panel = getTmaBytes(swizzle);
  if (panel == 0)
    return success();
  int64_t rows = shape[shape.size() - 2];
  if (bytes % panel != 0)
    return emitError() << "shared: a row has " << bytes
                       << " bytes, expected a multiple of " << panel
                       << ", the panel of '" << stringifySwizzle(swizzle)
                       << "'";
  if (rows % 8 != 0)
    return emitError() << "shared: a tile has " << rows
                       << " rows, expected a multiple of 8 ('"
                       << stringifySwizzle(swizzle) << "')";
  return success();
}

SharedType SharedType::getSlotType() const {
  return SharedType::get(getContext(), getShape().take_back(2),
                         getElementType(), getSwizzle());
}

SharedType SharedType::withSwizzle(Swizzle swizzle) const {
  return SharedType::get(getContext(), getShape(), getElementType(), swizzle);
}

int64_t SharedType::getPanelColumns() const {
  if (!isTma())
    return getColumns();
  return getTmaBytes(getSwizzle()) /
         (getElementType().getIntOrFloatBitWidth() / 8);
}

int64_t SharedType::getPitchBytes() const {
  if (isTma())
    return getTmaBytes(getSwizzle());
  int64_t chunks = getColumns() *
                   (getElementType().getIntOrFloatBitWidth() / 8) / chunkBytes;
  if (getSwizzle() == Swizzle::Padded)
    chunks |= 1;
  return chunks * chunkBytes;
}

int64_t SharedType::getAlignment() const {
  // The swizzle repeats after eight rows of a panel.
  return isTma() ? 8 * getPitchBytes() : 128;
}

int64_t SharedType::getSlotBytes() const {
  int64_t panels = getColumns() / getPanelColumns();
  return llvm::alignTo(panels * getPanelBytes(), getAlignment());
}

//===----------------------------------------------------------------------===//
// TensorMapType, BarrierType and MailboxType
//===----------------------------------------------------------------------===//

Type TensorMapType::parse(AsmParser &parser) {
  return parseSwizzled<TensorMapType>(parser);
}

void TensorMapType::print(AsmPrinter &printer) const {
  printSwizzled(printer, *this);
}

LogicalResult
TensorMapType::verify(function_ref<InFlightDiagnostic()> emitError,
                      ArrayRef<int64_t> shape, Type elementType,
                      Swizzle swizzle) {
  if (shape.size() < 2 || shape.size() > 5)
    return emitError() << "tensor_map: the box has " << shape.size()
                       << " dimensions, expected 2 to 5";
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size < 1 || size > 256)
      return emitError() << "tensor_map: size " << size << " of dimension "
                         << dim << ", expected 1 to 256";
  if (!elementType.isF32() && !elementType.isF16() && !elementType.isBF16())
    return emitError() << "tensor_map: element type " << elementType
                       << ", expected f32, f16 or bf16";
  int64_t panel = getTmaBytes(swizzle);
  if (panel == 0)
    return emitError() << "tensor_map: swizzle '" << stringifySwizzle(swizzle)
                       << "', expected tma128, tma64 or tma32";
  int64_t bytes = shape.back() * elementType.getIntOrFloatBitWidth() / 8;
  if (bytes != panel)
    return emitError() << "tensor_map: the innermost dimension has " << bytes
                       << " bytes, expected " << panel << ", the panel of '"
                       << stringifySwizzle(swizzle) << "'";
  return success();
}

int64_t TensorMapType::getRows() const {
  int64_t rows = 1;
  for (int64_t size : getShape().drop_back())
    rows *= size;
  return rows;
}

LogicalResult BarrierType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t slots) {
  if (slots < 1 || slots > 256)
    return emitError() << "barrier: " << slots << " slots, expected 1 to 256";
  return success();
}

Type MailboxType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false,
                                /*withTrailingX=*/false) ||
      parser.parseGreater())
    return {};
  if (shape.size() != 3) {
    parser.emitError(location, "mailbox: expected slots, readers and words, "
                               "got ")
        << shape.size() << " sizes";
    return {};
  }
  return MailboxType::getChecked([&] { return parser.emitError(location); },
                                 parser.getContext(), shape[0], shape[1],
                                 shape[2]);
}

void MailboxType::print(AsmPrinter &printer) const {
  printer << '<' << getSlots() << 'x' << getReaders() << 'x' << getWords()
          << '>';
}

LogicalResult MailboxType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t slots, int64_t readers,
                                  int64_t words) {
  if (slots < 1 || slots > 256)
    return emitError() << "mailbox: " << slots << " slots, expected 1 to 256";
  if (readers < 1 || readers > 7)
    return emitError() << "mailbox: " << readers << " readers, expected 1 to 7";
  if (words < 1 || words > maxWords)
    return emitError() << "mailbox: " << words << " words, expected 1 to "
                       << maxWords;
  return success();
}
