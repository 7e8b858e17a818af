//===- NAGPUHopperOps.cpp - Operations of Hopper ----------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifySize.h"

#include "na/Dialect/NAGPU/IR/NAGPU.h"
#include "na/Dialect/NAGPU/IR/RegisterBudgets.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::nagpu;

/// Bits of the counts of an mbarrier: arrivals and bytes.
static constexpr int64_t maxCount = (int64_t(1) << 20) - 1;

//===----------------------------------------------------------------------===//
// Checks that several operations share
//===----------------------------------------------------------------------===//

static LogicalResult verifyRange(Operation *op, StringRef name, int64_t value,
                                 int64_t first, int64_t last) {
  if (value >= first && value <= last)
    return success();
  return op->emitOpError() << "'" << name << "' is " << value << ", expected "
                           << first << " to " << last;
}

/// Checks a value whose range is known only if it is constant.
static LogicalResult verifyConstant(Operation *op, StringRef name, Value value,
                                    int64_t first, int64_t last) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)))
    return success();
  return verifyRange(op, name, constant.getSExtValue(), first, last);
}

static LogicalResult verifySlot(Operation *op, BarrierType type, Value index) {
  return verifyConstant(op, "index", index, 0, type.getSlots() - 1);
}

/// Checks that `op` is executed by one thread.
static LogicalResult verifyInProducer(Operation *op) {
  if (RolesOp::isInProducer(op))
    return success();
  return op->emitOpError() << "is not in a producer of nagpu.roles";
}

static LogicalResult verifyPanels(Operation *op, StringRef name,
                                  SharedType type) {
  if (type.isRing())
    return op->emitOpError()
           << "'" << name << "' is " << type << ", a ring, expected one tile";
  if (!type.isTma())
    return op->emitOpError() << "'" << name << "' is " << type
                             << ", expected swizzle tma128, tma64 or tma32";
  return success();
}

/// Checks that the box of a tensor map fills the panels of a tile.
static LogicalResult verifyBox(Operation *op, TensorMapType map,
                               OperandRange at, StringRef name,
                               SharedType tile) {
  if (failed(verifyPanels(op, name, tile)))
    return failure();
  if (at.size() != map.getShape().size())
    return op->emitOpError()
           << "'at' has " << at.size() << " entries, expected "
           << map.getShape().size() << " (one per dimension of 'map')";
  if (tile.getElementType() != map.getElementType() ||
      tile.getSwizzle() != map.getSwizzle())
    return op->emitOpError()
           << "'" << name << "' is " << tile << ", expected element type "
           << map.getElementType() << " and swizzle "
           << stringifySwizzle(map.getSwizzle()) << " as in 'map'";
  if (tile.getRows() != map.getRows())
    return op->emitOpError()
           << "'" << name << "' has " << tile.getRows() << " rows, expected "
           << map.getRows() << ", those of the box of 'map'";
  return success();
}

//===----------------------------------------------------------------------===//
// Barriers in shared memory
//===----------------------------------------------------------------------===//

LogicalResult MBarrierInitOp::verify() {
  if (failed(verifyRange(*this, "arrivals", getArrivals(), 1, maxCount)))
    return failure();
  if (RolesOp::getEnclosing(*this))
    return emitOpError() << "is in nagpu.roles, expected it before";
  std::optional<int64_t> offset = getOffset();
  if (offset && (*offset < 0 || *offset % 8 != 0))
    return emitOpError() << "'offset' is " << *offset
                         << ", expected a multiple of 8 from 0 on";
  return success();
}

LogicalResult MBarrierArriveOp::verify() {
  if (getLanes() && RolesOp::isInProducer(*this))
    return emitOpError() << "'lanes' has no place in a producer, of which one "
                            "lane arrives";
  return verifySlot(*this, getBarrier().getType(), getIndex());
}

LogicalResult MBarrierExpectTxOp::verify() {
  // The TMA copies units of 16 bytes.
  if (getBytes() % 16 != 0)
    return emitOpError() << "'bytes' is " << int64_t(getBytes())
                         << ", expected a multiple of 16";
  return failure(
      failed(verifyInProducer(*this)) ||
      failed(verifySlot(*this, getBarrier().getType(), getIndex())) ||
      failed(verifyRange(*this, "bytes", getBytes(), 16, maxCount)));
}

LogicalResult MBarrierArriveCopiesOp::verify() {
  return failure(failed(verifyInProducer(*this)) ||
                 failed(verifySlot(*this, getBarrier().getType(), getIndex())));
}

LogicalResult MBarrierWaitOp::verify() {
  return failure(
      failed(verifySlot(*this, getBarrier().getType(), getIndex())) ||
      failed(verifyConstant(*this, "parity", getParity(), 0, 1)));
}

LogicalResult AdvanceOp::verify() {
  return failure(
      failed(verifyRange(*this, "slots", getSlots(), 1, 256)) ||
      failed(verifyConstant(*this, "index", getIndex(), 0, getSlots() - 1)) ||
      failed(verifyConstant(*this, "parity", getParity(), 0, 1)));
}

//===----------------------------------------------------------------------===//
// Mailboxes in shared memory
//===----------------------------------------------------------------------===//

LogicalResult MailboxAllocOp::verify() {
  if (RolesOp::getEnclosing(*this))
    return emitOpError() << "is in nagpu.roles, expected it before";
  std::optional<int64_t> offset = getOffset();
  if (offset && (*offset < 0 || *offset % MailboxType::alignment != 0))
    return emitOpError() << "'offset' is " << *offset
                         << ", expected a multiple of "
                         << MailboxType::alignment << " from 0 on";
  return success();
}

static LogicalResult verifyMailRow(Operation *op, MailboxType type, Value slot,
                                   Value reader) {
  return failure(
      failed(verifyConstant(op, "slot", slot, 0, type.getSlots() - 1)) ||
      failed(verifyConstant(op, "reader", reader, 0, type.getReaders() - 1)));
}

LogicalResult MailboxPutOp::verify() {
  MailboxType type = getBox().getType();
  if (failed(verifyInProducer(*this)))
    return failure();
  if (int64_t(getWords().size()) != type.getWords())
    return emitOpError() << "has " << getWords().size() << " words, expected "
                         << type.getWords();
  return verifyMailRow(*this, type, getSlot(), getReader());
}

LogicalResult MailboxGetOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  if (operands.empty())
    return failure();
  auto type = dyn_cast<MailboxType>(operands.front().getType());
  if (!type)
    return failure();
  types.assign(type.getWords(), IntegerType::get(context, 32));
  return success();
}

LogicalResult MailboxGetOp::verify() {
  return verifyMailRow(*this, getBox().getType(), getSlot(), getReader());
}

//===----------------------------------------------------------------------===//
// Tensor memory accelerator
//===----------------------------------------------------------------------===//

static LogicalResult verifyOnHost(Operation *op) {
  if (op->getParentOfType<gpu::LaunchOp>() ||
      op->getParentOfType<gpu::GPUFuncOp>())
    return op->emitOpError() << "is in a kernel, expected it on the host";
  return success();
}

LogicalResult MultiprocessorsOp::verify() { return verifyOnHost(*this); }

LogicalResult TensorMapOp::verify() {
  MemRefType source = getSource().getType();
  TensorMapType map = getResult().getType();
  if (failed(verifyOnHost(*this)))
    return failure();
  int64_t rank = source.getRank();
  int64_t mapRank = map.getShape().size();
  if (rank != mapRank + 1)
    return emitOpError() << "'source' has rank " << rank << ", expected "
                         << mapRank + 1
                         << " (that of the box, with heads and channels apart)";
  if (source.getElementType() != map.getElementType())
    return emitOpError() << "'source' has element type "
                         << source.getElementType() << ", expected "
                         << map.getElementType() << " as in 'result'";
  int64_t channels = source.getDimSize(rank - 1);
  if (ShapedType::isDynamic(channels))
    return emitOpError() << "'source' dimension " << rank - 1
                         << " (channels) is dynamic, expected a static size";
  if (channels % map.getShape().back() != 0)
    return emitOpError() << "'source' dimension " << rank - 1
                         << " (channels) is " << channels
                         << ", expected a multiple of " << map.getShape().back()
                         << ", the channels of a box";
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(source.getStridesAndOffset(strides, offset)))
    return emitOpError() << "'source' is " << source
                         << ", expected a strided layout";
  if (strides[rank - 1] != 1)
    return emitOpError() << "'source' has stride "
                         << (ShapedType::isDynamic(strides[rank - 1])
                                 ? "?"
                                 : Twine(strides[rank - 1]).str())
                         << " between channels, expected 1";
  // How far a head of its own is from the next does not matter.
  int64_t headStride = strides[rank - 2];
  if (source.getDimSize(rank - 2) != 1 && !ShapedType::isDynamic(headStride) &&
      headStride != channels)
    return emitOpError() << "'source' has stride " << headStride
                         << " between heads, expected " << channels
                         << ", its channels";
  // The unit of the TMA is 16 bytes. There is no second element to which the
  // stride of a size of 1 would lead.
  int64_t unit = 16 / (source.getElementTypeBitWidth() / 8);
  for (int64_t dim = 0; dim < rank - 2; ++dim)
    if (source.getDimSize(dim) != 1 && !ShapedType::isDynamic(strides[dim]) &&
        strides[dim] % unit != 0)
      return emitOpError() << "'source' has stride " << strides[dim]
                           << " in dimension " << dim
                           << ", expected a multiple of " << unit
                           << " (16 bytes)";
  if (!getDilation())
    return success();
  if (int64_t(getDilation()->size()) != rank - 3)
    return emitOpError() << "'dilation' has " << getDilation()->size()
                         << " entries, expected " << rank - 3
                         << " (one per axis)";
  for (auto [axis, dilation] : llvm::enumerate(*getDilation())) {
    int64_t length = source.getDimSize(axis + 1);
    // Residues must have equally many tokens.
    if (dilation > 1 && ShapedType::isDynamic(length))
      return emitOpError() << "'source' dimension " << axis + 1
                           << " is dynamic, expected a static length of an "
                              "axis with dilation";
    if (dilation < 1 || (dilation != 1 && dilation > length))
      return emitOpError() << "'dilation'[" << axis << "] is " << dilation
                           << ", expected 1 to the length "
                           << (ShapedType::isDynamic(length)
                                   ? "?"
                                   : Twine(length).str())
                           << " of the axis";
    if (dilation != 1 && length % dilation != 0)
      return emitOpError() << "'dilation'[" << axis << "] is " << dilation
                           << ", expected a divisor of the length " << length
                           << " of the axis";
  }
  return success();
}

LogicalResult TmaLoadOp::verify() {
  return failure(failed(verifyInProducer(*this)) ||
                 failed(verifyBox(*this, getMap().getType(), getAt(), "dest",
                                  getDest().getType())) ||
                 failed(verifySlot(*this, getBarrier().getType(), getIndex())));
}

LogicalResult TmaStoreOp::verify() {
  return verifyBox(*this, getMap().getType(), getAt(), "source",
                   getSource().getType());
}

LogicalResult TmaAddOp::verify() {
  if (!getMap().getType().getElementType().isF32())
    return emitOpError() << "'map' has element type "
                         << getMap().getType().getElementType()
                         << ", expected 'f32'";
  return verifyBox(*this, getMap().getType(), getAt(), "source",
                   getSource().getType());
}

LogicalResult TmaStoreWaitOp::verify() {
  return verifyRange(*this, "pending", getPending(), 0,
                     std::numeric_limits<int32_t>::max());
}

//===----------------------------------------------------------------------===//
// Products of a warpgroup
//===----------------------------------------------------------------------===//

/// Checks a fragment of the 64 rows of a warpgroup.
static LogicalResult verifyWarpgroup(Operation *op, StringRef name,
                                     FragmentType type, Role role) {
  if (type.getRole() == role && type.getWarps() == 4 && type.getRows() == 64)
    return success();
  return op->emitOpError() << "'" << name << "' is " << type
                           << ", expected 64 rows, role " << stringifyRole(role)
                           << " and 4 warps";
}

LogicalResult PanelOp::verify() {
  SharedType tile = getTile().getType(), result = getResult().getType();
  if (failed(verifyPanels(*this, "tile", tile)))
    return failure();
  auto expected =
      SharedType::get(getContext(), {tile.getRows(), tile.getPanelColumns()},
                      tile.getElementType(), tile.getSwizzle());
  if (result != expected)
    return emitOpError() << "'result' is " << result << ", expected "
                         << expected;
  return verifyConstant(*this, "index", getIndex(), 0,
                        tile.getColumns() / tile.getPanelColumns() - 1);
}

LogicalResult RowsOp::verify() {
  SharedType tile = getTile().getType(), result = getResult().getType();
  if (failed(verifyPanels(*this, "tile", tile)))
    return failure();
  if (tile.getColumns() != tile.getPanelColumns())
    return emitOpError() << "'tile' has " << tile.getColumns()
                         << " columns, expected " << tile.getPanelColumns()
                         << ", one panel";
  int64_t rows = result.getRows();
  auto expected = SharedType::get(getContext(), {rows, tile.getColumns()},
                                  tile.getElementType(), tile.getSwizzle());
  if (result != expected)
    return emitOpError() << "'result' is " << result << ", expected "
                         << expected;
  if (tile.getRows() % rows != 0)
    return emitOpError() << "'result' has " << rows
                         << " rows, expected a divisor of the "
                         << tile.getRows() << " rows of 'tile'";
  return verifyConstant(*this, "index", getIndex(), 0,
                        tile.getRows() / rows - 1);
}

LogicalResult StoreTransposedOp::verify() {
  FragmentType source = getSource().getType();
  SharedType dest = getDest().getType();
  Role role = source.getElementType().isF32() ? Role::Accumulator : Role::Lhs;
  if (failed(verifyWarpgroup(*this, "source", source, role)) ||
      failed(verifyPanels(*this, "dest", dest)))
    return failure();
  auto expected = SharedType::get(getContext(), {source.getColumns(), 64},
                                  source.getElementType(), Swizzle::Tma128);
  if (dest != expected)
    return emitOpError() << "'dest' is " << dest << ", expected " << expected;
  return success();
}

LogicalResult WgmmaOp::verify() {
  FragmentType result = getResult().getType();
  SharedType rhs = getRhs().getType();
  if (failed(verifyWarpgroup(*this, "result", result, Role::Accumulator)))
    return failure();
  if (!result.getElementType().isF32())
    return emitOpError() << "'result' has element type "
                         << result.getElementType() << ", expected 'f32'";
  if (result.getColumns() > 256)
    return emitOpError() << "'result' dimension 1 (N) is "
                         << result.getColumns() << ", expected at most 256";
  Type element;
  int64_t depth;
  if (auto lhs = dyn_cast<FragmentType>(getLhs().getType())) {
    if (failed(verifyWarpgroup(*this, "lhs", lhs, Role::Lhs)))
      return failure();
    element = lhs.getElementType();
    depth = lhs.getColumns();
  } else {
    auto shared = cast<SharedType>(getLhs().getType());
    if (failed(verifyPanels(*this, "lhs", shared)))
      return failure();
    bool swapped = getLhsTransposed();
    int64_t rows = swapped ? shared.getColumns() : shared.getRows();
    if (rows != 64)
      return emitOpError() << "'lhs' dimension " << (swapped ? 1 : 0)
                           << " (M) is " << rows << ", expected 64";
    element = shared.getElementType();
    depth = swapped ? shared.getRows() : shared.getColumns();
    if (swapped && shared.getSwizzle() != Swizzle::Tma128)
      return emitOpError() << "'lhs' is " << shared
                           << ", transposed, expected swizzle tma128";
  }
  if (getLhsTransposed() && isa<FragmentType>(getLhs().getType()))
    return emitOpError() << "'lhs' is a fragment, expected a shared tile with "
                            "'lhs_transposed'";
  if (!element.isF16() && !element.isBF16())
    return emitOpError() << "'lhs' has element type " << element
                         << ", expected 'f16' or 'bf16'";
  if (failed(verifyPanels(*this, "rhs", rhs)))
    return failure();
  if (rhs.getElementType() != element)
    return emitOpError() << "'rhs' has element type " << rhs.getElementType()
                         << ", expected " << element << " (that of 'lhs')";
  bool transposed = getTransposed();
  int64_t rhsDepth = transposed ? rhs.getColumns() : rhs.getRows();
  int64_t columns = transposed ? rhs.getRows() : rhs.getColumns();
  if (failed(verifySize(*this, "rhs", transposed ? 1 : 0, "K", rhsDepth, depth,
                        "lhs")) ||
      failed(verifySize(*this, "result", 1, "N", result.getColumns(), columns,
                        "rhs")))
    return failure();
  if (depth % stepDepth != 0)
    return emitOpError() << "'lhs' dimension 1 (K) is " << depth
                         << ", expected a multiple of " << stepDepth;
  for (OpOperand &use : getResult().getUses()) {
    Operation *user = use.getOwner();
    auto next = dyn_cast<WgmmaOp>(user);
    if ((next && use.get() == next.getAcc() && use.get() != next.getLhs()) ||
        isa<WgmmaWaitOp>(user) || user->hasTrait<OpTrait::IsTerminator>())
      continue;
    InFlightDiagnostic diag =
        emitOpError() << "'result' is in flight, but '" << user->getName()
                      << "' takes it before a nagpu.wgmma_wait";
    diag.attachNote(user->getLoc()) << "the use";
    return diag;
  }
  return success();
}

LogicalResult WgmmaFenceOp::verify() {
  for (Value value : getValues())
    if (failed(verifyWarpgroup(
            *this, "values", cast<FragmentType>(value.getType()),
            cast<FragmentType>(value.getType()).getRole() == Role::Lhs
                ? Role::Lhs
                : Role::Accumulator)))
      return failure();
  return success();
}

LogicalResult WgmmaWaitOp::verify() {
  for (Value value : getValues())
    if (failed(verifyWarpgroup(*this, "values",
                               cast<FragmentType>(value.getType()),
                               Role::Accumulator)))
      return failure();
  return verifyRange(*this, "pending", getPending(), 0, 7);
}

//===----------------------------------------------------------------------===//
// Roles of warpgroups
//===----------------------------------------------------------------------===//

/// Parses a region of operations without a terminator.
static ParseResult parseBody(OpAsmParser &parser, Region &region,
                             ArrayRef<OpAsmParser::Argument> arguments = {}) {
  if (parser.parseRegion(region, arguments))
    return failure();
  if (region.empty())
    region.emplaceBlock();
  return success();
}

ParseResult RolesOp::parse(OpAsmParser &parser, OperationState &result) {
  int64_t producer, consumer, groups;
  if (parser.parseKeyword("registers") || parser.parseLParen() ||
      parser.parseInteger(producer) || parser.parseComma() ||
      parser.parseInteger(consumer) || parser.parseRParen())
    return failure();
  Region *consumers = result.addRegion();
  while (succeeded(parser.parseOptionalKeyword("producer")))
    if (parseBody(parser, *result.addRegion()))
      return failure();
  OpAsmParser::Argument group;
  group.type = parser.getBuilder().getIndexType();
  if (parser.parseKeyword("consumers") || parser.parseLParen() ||
      parser.parseArgument(group) || parser.parseKeyword("in") ||
      parser.parseInteger(groups) || parser.parseRParen() ||
      parseBody(parser, *consumers, group) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  Builder &builder = parser.getBuilder();
  auto &properties = result.getOrAddProperties<Properties>();
  properties.producerRegisters = builder.getI64IntegerAttr(producer);
  properties.consumerRegisters = builder.getI64IntegerAttr(consumer);
  properties.groups = builder.getI64IntegerAttr(groups);
  return success();
}

void RolesOp::print(OpAsmPrinter &printer) {
  printer << " registers(" << int64_t(getProducerRegisters()) << ", "
          << int64_t(getConsumerRegisters()) << ") ";
  for (Region &producer : getProducers()) {
    printer << "producer ";
    printer.printRegion(producer, /*printEntryBlockArgs=*/false);
    printer << ' ';
  }
  printer << "consumers(";
  printer.printRegionArgument(getConsumers().getArgument(0), {},
                              /*omitType=*/true);
  printer << " in " << int64_t(getGroups()) << ") ";
  printer.printRegion(getConsumers(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getDiscardableAttrs().empty()
          ? ArrayRef<NamedAttribute>()
          : llvm::to_vector((*this)->getDiscardableAttrs()));
}

int64_t nagpu::getStartRegisters(RolesOp roles, int64_t ctas) {
  // ptxas gives each thread as many, in units of 8.
  return 65536 / (roles.getThreads() * ctas) / 8 * 8;
}

int64_t nagpu::getCTAsPerMultiprocessor(RolesOp roles) {
  int64_t groups = roles.getGroups();
  int64_t total =
      roles.getProducerRegisters() + groups * roles.getConsumerRegisters();
  int64_t ctas = 2048 / roles.getThreads();
  while (ctas > 1 && total > getStartRegisters(roles, ctas) * (1 + groups))
    --ctas;
  return ctas;
}

LogicalResult RolesOp::verify() {
  if (getEnclosing(*this))
    return emitOpError() << "is in another nagpu.roles";
  int64_t producers = getProducers().size();
  if (producers < 1 || producers > 4)
    return emitOpError() << "has " << producers
                         << " producers, expected 1 to 4 (one per warp)";
  if (failed(verifyRange(*this, "groups", getGroups(), 1, 7)))
    return failure();
  int64_t producer = getProducerRegisters(), consumer = getConsumerRegisters();
  for (auto [name, count] : {std::pair("producerRegisters", producer),
                             std::pair("consumerRegisters", consumer)}) {
    if (failed(verifyRange(*this, name, count, 24, 240)))
      return failure();
    if (count % 8 != 0)
      return emitOpError() << "'" << name << "' is " << count
                           << ", expected a multiple of 8";
  }
  // One warpgroup of each kind has all the registers that it can name.
  if (!changesRegisters(*this))
    return success();
  int64_t start = getStartRegisters(*this, getCTAsPerMultiprocessor(*this));
  if (producer > start || consumer < start)
    return emitOpError() << "the CTA starts with " << start
                         << " registers a thread; expected at most as many "
                            "'producerRegisters' (got "
                         << producer
                         << ") and at least as many 'consumerRegisters' (got "
                         << consumer << ")";
  int64_t total = producer + getGroups() * consumer;
  int64_t limit = start * (1 + getGroups());
  if (total > limit)
    return emitOpError() << "'producerRegisters' and " << int64_t(getGroups())
                         << " times 'consumerRegisters' are " << total
                         << ", expected at most " << limit;
  return success();
}

LogicalResult RolesOp::verifyRegions() {
  if (getConsumers().getNumArguments() != 1 ||
      !getConsumers().getArgument(0).getType().isIndex())
    return emitOpError() << "the consumers have "
                         << getConsumers().getNumArguments()
                         << " arguments, expected one of type 'index'";
  for (Region &producer : getProducers())
    if (producer.getNumArguments() != 0)
      return emitOpError() << "a producer has " << producer.getNumArguments()
                           << " arguments, expected none";
  auto check = [&](Operation *op, bool isProducer) -> WalkResult {
    if (isa<BarrierOp, AsyncWaitOp>(op))
      return op->emitOpError() << "waits for all threads of the CTA, which do "
                                  "not come here; expected "
                                  "nagpu.named_barrier";
    if (isProducer &&
        isa<NamedBarrierOp, WgmmaFenceOp, WgmmaCommitOp, WgmmaWaitOp, WgmmaOp>(
            op))
      return op->emitOpError()
             << "is of whole warps, but a producer is one thread";
    for (Type type :
         llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()),
                                  SmallVector<Type>(op->getResultTypes()))) {
      auto fragment = dyn_cast<FragmentType>(type);
      if (fragment && isProducer)
        return op->emitOpError() << "has a fragment, but a producer is one "
                                    "thread";
      if (fragment && fragment.getWarps() != 4)
        return op->emitOpError() << "has a fragment of " << fragment.getWarps()
                                 << " warps, expected 4, those of a warpgroup";
    }
    return WalkResult::advance();
  };
  for (Region &region : getProducers())
    if (region.walk([&](Operation *op) { return check(op, true); })
            .wasInterrupted())
      return failure();
  return failure(getConsumers()
                     .walk([&](Operation *op) { return check(op, false); })
                     .wasInterrupted());
}

RolesOp RolesOp::getEnclosing(Operation *op) {
  return op->getParentOfType<RolesOp>();
}

bool RolesOp::isInProducer(Operation *op) {
  for (Region *region = op->getParentRegion(); region;
       region = region->getParentRegion())
    if (auto roles = dyn_cast_or_null<RolesOp>(region->getParentOp()))
      return region != &roles.getConsumers();
  return false;
}

LogicalResult NamedBarrierOp::verify() {
  if (failed(verifyConstant(*this, "id", getId(), 1, 15)) ||
      failed(verifyRange(*this, "threads", getThreads(), 32, 1024)))
    return failure();
  if (getThreads() % 32 != 0)
    return emitOpError() << "'threads' is " << int64_t(getThreads())
                         << ", expected a multiple of 32";
  return success();
}
