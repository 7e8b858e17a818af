//===- ThreadBuilder.cpp - Arithmetic of one thread of a CTA ----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::nagpu;

//===----------------------------------------------------------------------===//
// ThreadBuilder
//===----------------------------------------------------------------------===//

Value ThreadBuilder::constant(int64_t value, Type type) {
  return arith::ConstantOp::create(
      *this, getIntegerAttr(type ? type : getI32Type(), value));
}

Value ThreadBuilder::add(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return createOrFold<arith::AddIOp>(a, b);
}

Value ThreadBuilder::add(Value a, int64_t b) {
  return b == 0 ? a : add(a, constant(b, a.getType()));
}

Value ThreadBuilder::mul(Value a, int64_t b) {
  return createOrFold<arith::MulIOp>(a, constant(b, a.getType()));
}

Value ThreadBuilder::div(Value a, int64_t b) {
  return createOrFold<arith::DivUIOp>(a, constant(b, a.getType()));
}

Value ThreadBuilder::rem(Value a, int64_t b) {
  return createOrFold<arith::RemUIOp>(a, constant(b, a.getType()));
}

Value ThreadBuilder::bitXor(Value a, Value b) {
  return createOrFold<arith::XOrIOp>(a, b);
}

Value ThreadBuilder::bitXor(Value a, int64_t b) {
  return b == 0 ? a : bitXor(a, constant(b, a.getType()));
}

Value ThreadBuilder::bitAnd(Value a, int64_t b) {
  return createOrFold<arith::AndIOp>(a, constant(b, a.getType()));
}

Value ThreadBuilder::andLess(Value condition, Value a, Value b) {
  Value less = arith::CmpIOp::create(*this, arith::CmpIPredicate::ult, a, b);
  return condition ? Value(arith::AndIOp::create(*this, condition, less))
                   : less;
}

Value ThreadBuilder::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::AndIOp::create(*this, a, b);
}

Value ThreadBuilder::thread() {
  int64_t threads = roles ? roles.getThreads() : warps * warpSize;
  auto range = LLVM::ConstantRangeAttr::get(getContext(), APInt(32, 0),
                                            APInt(32, uint64_t(threads)));
  Value thread = NVVM::ThreadIdXOp::create(*this, getI32Type(), range);
  if (!roles)
    return thread;
  // A producer is a warp.
  return bitAnd(thread, (producer ? warpSize : warpgroupSize) - 1);
}

Value ThreadBuilder::warp() {
  return warps == 1 ? constant(0) : div(thread(), warpSize);
}

Value ThreadBuilder::lane() { return bitAnd(thread(), warpSize - 1); }

Value ThreadBuilder::group() { return div(lane(), 4); }

Value ThreadBuilder::threadInGroup() { return bitAnd(thread(), 3); }

Value ThreadBuilder::cast(Value value, Type type) {
  Type from = value.getType();
  if (from == type)
    return value;
  if (isa<IndexType>(from) || isa<IndexType>(type))
    return createOrFold<arith::IndexCastOp>(type, value);
  if (from.getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
    return createOrFold<arith::ExtSIOp>(type, value);
  return createOrFold<arith::TruncIOp>(type, value);
}

Value ThreadBuilder::sharedPointer(Value address, int64_t offset) {
  auto type = LLVM::LLVMPointerType::get(
      getContext(), unsigned(NVVM::NVVMMemorySpace::Shared));
  Value pointer = LLVM::IntToPtrOp::create(*this, type, address);
  return move(pointer, offset);
}

Value ThreadBuilder::move(Value pointer, Value bytes) {
  return LLVM::GEPOp::create(*this, pointer.getType(), getI8Type(), pointer,
                             ValueRange{bytes});
}

Value ThreadBuilder::move(Value pointer, int64_t bytes) {
  if (bytes == 0)
    return pointer;
  // An index that does not fit a constant one is a value.
  if (!llvm::isInt<30>(bytes))
    return move(pointer, constant(bytes, getI64Type()));
  return LLVM::GEPOp::create(*this, pointer.getType(), getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
}

static unsigned getBytes(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * getElementBytes(vector.getElementType());
  return getElementBytes(type);
}

Value ThreadBuilder::load(Type type, Value pointer) {
  return LLVM::LoadOp::create(*this, type, pointer, getBytes(type));
}

void ThreadBuilder::store(Value value, Value pointer) {
  LLVM::StoreOp::create(*this, value, pointer, getBytes(value.getType()));
}

void ThreadBuilder::storeIf(Value condition, Value value, Value pointer,
                            int64_t offset) {
  if (!llvm::isInt<24>(offset)) {
    pointer = move(pointer, offset);
    offset = 0;
  }
  // Words, or what is smaller than one.
  SmallVector<Value> inputs = {pointer};
  int64_t bytes = getBytes(value.getType());
  int64_t words = std::max<int64_t>(bytes / 4, 1);
  Type bits = getIntegerType(8 * std::min<int64_t>(bytes, 4));
  if (words == 1) {
    inputs.push_back(LLVM::BitcastOp::create(*this, bits, value));
  } else {
    Value all =
        LLVM::BitcastOp::create(*this, VectorType::get({words}, bits), value);
    for (int64_t i = 0; i < words; ++i)
      inputs.push_back(unpack(all, i));
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  if (condition) {
    os << "@$" << inputs.size() << " ";
    inputs.push_back(condition);
  }
  os << "st.global";
  if (words > 1)
    os << ".v" << words;
  os << ".b" << bits.getIntOrFloatBitWidth() << " [$0+" << offset << "], ";
  if (words > 1)
    os << "{";
  for (int64_t i = 0; i < words; ++i)
    os << (i ? ", $" : "$") << i + 1;
  os << (words > 1 ? "};" : ";");
  assembly(text, inputs);
}

Value ThreadBuilder::shuffle(Value value, Value operand, NVVM::ShflKind kind) {
  Type type = value.getType();
  if (!type.isF32() && !type.isInteger(32)) {
    Value bits = LLVM::BitcastOp::create(*this, getI32Type(), value);
    return LLVM::BitcastOp::create(*this, type, shuffle(bits, operand, kind));
  }
  return NVVM::ShflOp::create(*this, type, constant(-1), value, operand,
                              constant(warpSize - 1), kind, UnitAttr());
}

Value ThreadBuilder::shuffleXor(Value value, int64_t mask) {
  return shuffle(value, constant(mask), NVVM::ShflKind::bfly);
}

Value ThreadBuilder::shuffle(Value value, Value source) {
  return shuffle(value, source, NVVM::ShflKind::idx);
}

static Value callIntrinsic(ThreadBuilder &b, StringRef name, Value value) {
  return LLVM::CallIntrinsicOp::create(b, value.getType(),
                                       b.getStringAttr(name), ValueRange{value})
      .getResult(0);
}

Value ThreadBuilder::exp2(Value value) {
  return callIntrinsic(*this, "llvm.nvvm.ex2.approx.ftz.f32", value);
}

Value ThreadBuilder::reciprocal(Value value) {
  return callIntrinsic(*this, "llvm.nvvm.rcp.approx.ftz.f", value);
}

SmallVector<Value> ThreadBuilder::assembly(StringRef text, ValueRange inputs,
                                           ArrayRef<Type> outputs,
                                           ValueRange tied) {
  auto letter = [](Type type) {
    if (type.isF32())
      return "f";
    if (type.isInteger(1))
      return "b";
    if (type.isInteger(16))
      return "h";
    return type.isInteger(32) ? "r" : "l";
  };
  std::string constraints;
  auto append = [&](const Twine &constraint) {
    constraints += ((constraints.empty() ? "" : ",") + constraint).str();
  };
  for (Type type : outputs)
    append(Twine("=") + letter(type));
  for (Value input : inputs)
    append(letter(input.getType()));
  for (size_t i = 0; i < tied.size(); ++i)
    append(Twine(outputs.size() - tied.size() + i));
  append("~{memory}");
  SmallVector<Value> operands(inputs);
  llvm::append_range(operands, tied);
  SmallVector<Type> result;
  if (outputs.size() == 1)
    result.push_back(outputs.front());
  else if (!outputs.empty())
    result.push_back(LLVM::LLVMStructType::getLiteral(getContext(), outputs));
  auto op = LLVM::InlineAsmOp::create(
      *this, result, operands, text, constraints,
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(getContext(), LLVM::AsmDialect::AD_ATT),
      ArrayAttr());
  op->setDiscardableAttr(convergentAttrName, getUnitAttr());
  SmallVector<Value> results;
  if (outputs.size() == 1)
    results.push_back(op.getResult(0));
  else
    for (size_t i = 0; i < outputs.size(); ++i)
      results.push_back(
          LLVM::ExtractValueOp::create(*this, op.getResult(0), i));
  return results;
}

Value ThreadBuilder::pack(Value low, Value high) {
  Value pair =
      LLVM::PoisonOp::create(*this, VectorType::get({2}, low.getType()));
  pair = LLVM::InsertElementOp::create(*this, pair, low, constant(0));
  return LLVM::InsertElementOp::create(*this, pair, high, constant(1));
}

Value ThreadBuilder::unpack(Value pair, int64_t position) {
  return LLVM::ExtractElementOp::create(*this, pair, constant(position));
}

//===----------------------------------------------------------------------===//
// FragmentLayout
//===----------------------------------------------------------------------===//

int64_t FragmentLayout::getElementsPerRegister() const {
  return type.getElementType().getIntOrFloatBitWidth() == 16 ? 2 : 1;
}

FragmentLayout::Position FragmentLayout::getPosition(int64_t index,
                                                     int64_t element) const {
  bool narrow = getElementsPerRegister() == 2;
  int64_t columns = type.getColumns();
  switch (type.getRole()) {
  case Role::Accumulator: {
    int64_t e = index % 4, j = index / 4 % (columns / 8);
    int64_t i = index / 4 / (columns / 8);
    return {16 * i + 8 * (e / 2), 8 * j + e % 2};
  }
  case Role::Lhs: {
    int64_t depth = narrow ? 16 : 8;
    int64_t r = index % 4, k = index / 4 % (columns / depth);
    int64_t i = index / 4 / (columns / depth);
    return {16 * i + 8 * (r % 2), depth * k + depth / 2 * (r / 2) + element};
  }
  case Role::Rhs: {
    int64_t depth = narrow ? 16 : 8;
    int64_t r = index % 2, j = index / 2 % (columns / 8);
    int64_t k = index / 2 / (columns / 8);
    return {depth * k + depth / 2 * r + element, 8 * j};
  }
  case Role::Row:
  case Role::PartialRow:
    return {8 * index, 0};
  case Role::Column:
    return {0, 8 * (index / 2) + index % 2};
  }
  llvm_unreachable("unknown role");
}

Value FragmentLayout::getWarpRow(ThreadBuilder &b) const {
  return type.getWarps() == 1 ? b.constant(0)
                              : b.mul(b.warp(), type.getRowsPerWarp());
}

Value FragmentLayout::getThreadRow(ThreadBuilder &b) const {
  if (type.getRole() == Role::Column)
    return b.constant(0);
  if (type.getRole() != Role::Rhs)
    return b.add(getWarpRow(b), b.group());
  Value t = b.threadInGroup();
  return getElementsPerRegister() == 2 ? b.mul(t, 2) : t;
}

Value FragmentLayout::getThreadColumn(ThreadBuilder &b) const {
  switch (type.getRole()) {
  case Role::Rhs:
    return b.group();
  case Role::Lhs:
    if (getElementsPerRegister() == 1)
      return b.threadInGroup();
    [[fallthrough]];
  case Role::Accumulator:
  case Role::Column:
    return b.mul(b.threadInGroup(), 2);
  case Role::Row:
  case Role::PartialRow:
    return b.constant(0);
  }
  llvm_unreachable("unknown role");
}

//===----------------------------------------------------------------------===//
// SharedLayout and SharedAddress
//===----------------------------------------------------------------------===//

SharedLayout::SharedLayout(SharedType type) : pitch(type.getPitchBytes()) {
  if (type.getSwizzle() != Swizzle::Xor)
    return;
  mask = std::min<int64_t>(pitch / chunkBytes, 8) - 1;
  shift = 3 - llvm::Log2_64(mask + 1);
}

int64_t SharedLayout::getXor(int64_t row) const { return row >> shift & mask; }

Value SharedLayout::getXor(ThreadBuilder &b, Value row) const {
  return b.bitAnd(b.div(row, int64_t(1) << shift), mask);
}

SharedAddress::SharedAddress(ThreadBuilder &b, SharedType type, Value tile,
                             Value row, Value chunk, Value byte)
    : b(b), layout(type) {
  if (layout.mask)
    chunk = b.bitXor(chunk, layout.getXor(b, row));
  Value offset = b.add(b.mul(row, layout.pitch), b.mul(chunk, chunkBytes));
  if (byte)
    offset = b.add(offset, byte);
  base = b.add(tile, offset);
}

SharedAddress::Place SharedAddress::locate(int64_t row, int64_t chunk,
                                           int64_t byte) {
  int64_t low = (chunk & layout.mask) ^ layout.getXor(row);
  // Tiles start on a multiple of 128 bytes, so the bits that the swizzle
  // changes are also bits of the address.
  Value &address = swizzled[low];
  if (!address)
    address = b.bitXor(base, low * chunkBytes);
  return {address,
          row * layout.pitch + (chunk & ~layout.mask) * chunkBytes + byte};
}
