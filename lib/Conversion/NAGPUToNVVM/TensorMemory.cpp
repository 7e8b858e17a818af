//===- TensorMemory.cpp - TMA copies and their barriers ---------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::nagpu;

Value nagpu::getSharedMemory(ThreadBuilder &b, int64_t offset) {
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get({ShapedType::kDynamic}, b.getI8Type(),
                              MemRefLayoutAttrInterface(), space);
  Value memory = gpu::DynamicSharedMemoryOp::create(b, type);
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, memory);
  return b.add(b.cast(address, b.getI32Type()), offset);
}

namespace {

Value isEqual(ThreadBuilder &b, Value value, int64_t constant) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, value,
                               b.constant(constant));
}

/// The address of a barrier of a ring.
Value getBarrier(ThreadBuilder &b, Value ring, Value index) {
  return b.add(ring,
               b.mul(b.cast(index, b.getI32Type()), BarrierType::slotBytes));
}

SmallVector<Value> castToI32(ThreadBuilder &b, ValueRange values) {
  return llvm::map_to_vector(
      values, [&](Value value) { return b.cast(value, b.getI32Type()); });
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

struct ConvertMBarrierInit : OpConversionPattern<MBarrierInitOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(MBarrierInitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    // As many warps as a CTA can have: the kernel has them by its launch.
    ThreadBuilder b(op, rewriter, 32);
    Value ring = getSharedMemory(b, *op.getOffset());
    Value first = isEqual(b, b.thread(), 0);
    std::string text;
    llvm::raw_string_ostream os(text);
    int64_t slots = cast<BarrierType>(op.getResult().getType()).getSlots();
    for (int64_t slot = 0; slot < slots; ++slot)
      os << "@$1 mbarrier.init.shared::cta.b64 [$0+"
         << slot * BarrierType::slotBytes << "], " << int64_t(op.getArrivals())
         << ";\n";
    os << "fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::"
          "cta;";
    b.assembly(text, {ring, first});
    rewriter.replaceOp(op, ring);
    return success();
  }
};

/// What one lane of a producer warp does, always the same one. All lanes come
/// here: in a branch of one thread, ptxas would keep addresses, coordinates and
/// counters in the few registers that a producer has, instead of in those of
/// the whole warp.
std::string byOneLane(const std::string &text) {
  return "{\n.reg .pred leader;\nelect.sync _|leader, 0xffffffff;\n@leader " +
         text + "\n}";
}

struct ConvertMBarrierArrive : OpConversionPattern<MBarrierArriveOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(MBarrierArriveOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(op, rewriter, 32);
    Value barrier = getBarrier(b, adaptor.getBarrier(), adaptor.getIndex());
    if (RolesOp::isInProducer(op)) {
      b.assembly(byOneLane("mbarrier.arrive.shared::cta.b64 _, [$0];"),
                 barrier);
    } else if (op.getLanes()) {
      b.assembly("mbarrier.arrive.shared::cta.b64 _, [$0];", barrier);
    } else {
      NVVM::SyncWarpOp::create(b, b.constant(-1));
      // A predicate, no branch: behind a divergent one ptxas would not know
      // that what loops carry is the same for all lanes.
      b.assembly("@$1 mbarrier.arrive.shared::cta.b64 _, [$0];",
                 {barrier, isEqual(b, b.lane(), 0)});
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertMBarrierExpectTx : OpConversionPattern<MBarrierExpectTxOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(MBarrierExpectTxOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(op, rewriter, 1);
    b.assembly(byOneLane("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], " +
                         std::to_string(int64_t(op.getBytes())) + ";"),
               getBarrier(b, adaptor.getBarrier(), adaptor.getIndex()));
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertMBarrierArriveCopies
    : OpConversionPattern<MBarrierArriveCopiesOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(MBarrierArriveCopiesOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(op, rewriter, 1);
    b.assembly("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];",
               getBarrier(b, adaptor.getBarrier().front(),
                          adaptor.getIndex().front()));
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertMBarrierWait : OpConversionPattern<MBarrierWaitOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(MBarrierWaitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(op, rewriter, 1);
    b.assembly("{\n.reg .pred done;\nTRY_${:uid}:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n"
               "@done bra DONE_${:uid};\nbra TRY_${:uid};\nDONE_${:uid}:\n}",
               {getBarrier(b, adaptor.getBarrier(), adaptor.getIndex()),
                adaptor.getParity()});
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertAdvance : OpConversionPattern<AdvanceOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AdvanceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(op, rewriter, 1);
    Type type = b.getIndexType();
    Value next = b.add(adaptor.getIndex(), 1);
    Value wraps =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, next,
                              b.constant(int64_t(op.getSlots()), type));
    Value index = arith::SelectOp::create(b, wraps, b.constant(0, type), next);
    Value flip = arith::ExtUIOp::create(b, b.getI32Type(), wraps);
    rewriter.replaceOp(op, {index, b.bitXor(adaptor.getParity(), flip)});
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Mailboxes
//===----------------------------------------------------------------------===//

/// The address of the words of a slot for a reader.
Value getMailRow(ThreadBuilder &b, Value box, MailboxType type, Value slot,
                 Value reader) {
  Value row = b.add(b.mul(b.cast(slot, b.getI32Type()), type.getReaders()),
                    b.cast(reader, b.getI32Type()));
  return b.add(box, b.mul(row, type.getRowBytes()));
}

/// The accesses that cover so many words, and not more: of 4, 2 and 1 words.
SmallVector<int64_t> getMailAccesses(int64_t words, bool mayReadMore) {
  SmallVector<int64_t> accesses;
  for (; words > 4; words -= 4)
    accesses.push_back(4);
  if (words != 3)
    accesses.push_back(words);
  else if (mayReadMore)
    accesses.push_back(4);
  else
    accesses.append({2, 1});
  return accesses;
}

/// `$first`, or `{$first, ..}` for vectors.
std::string getWords(int64_t first, int64_t count) {
  if (count == 1)
    return "$" + std::to_string(first);
  std::string text = "{";
  for (int64_t word = 0; word < count; ++word)
    text += (word ? ", $" : "$") + std::to_string(first + word);
  return text + "}";
}

std::string getWidth(int64_t words) {
  return words == 1 ? "" : ".v" + std::to_string(words);
}

struct ConvertMailboxPut : OpConversionPattern<MailboxPutOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(MailboxPutOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(op, rewriter, 1);
    Value row = getMailRow(b, adaptor.getBox(),
                           cast<MailboxType>(op.getBox().getType()),
                           adaptor.getSlot(), adaptor.getReader());
    int64_t word = 0;
    for (int64_t count : getMailAccesses(adaptor.getWords().size(), false)) {
      SmallVector<Value> inputs{row};
      llvm::append_range(inputs, adaptor.getWords().slice(word, count));
      b.assembly(byOneLane("st.shared" + getWidth(count) + ".b32 [$0+" +
                           std::to_string(4 * word) + "], " +
                           getWords(1, count) + ";"),
                 inputs);
      word += count;
    }
    rewriter.eraseOp(op);
    return success();
  }
};

/// One access for up to four words, as assembly: what LLVM knows as a load it
/// may move across the wait that the words depend on.
struct ConvertMailboxGet : OpConversionPattern<MailboxGetOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(MailboxGetOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(op, rewriter, 1);
    auto type = cast<MailboxType>(op.getBox().getType());
    Value row = getMailRow(b, adaptor.getBox(), type, adaptor.getSlot(),
                           adaptor.getReader());
    SmallVector<Value> words;
    for (int64_t count : getMailAccesses(type.getWords(), true)) {
      SmallVector<Type> outputs(count, b.getI32Type());
      std::string address = "[$" + std::to_string(count);
      if (!words.empty())
        address += "+" + std::to_string(4 * words.size());
      llvm::append_range(words, b.assembly("ld.shared" + getWidth(count) +
                                               ".b32 " + getWords(0, count) +
                                               ", " + address + "];",
                                           row, outputs));
    }
    words.truncate(type.getWords());
    rewriter.replaceOp(op, words);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// `{$first,$first+1,..}`, the coordinates of a box, innermost first.
std::string getCoordinates(int64_t first, int64_t rank) {
  std::string text = "{";
  for (int64_t dim = 0; dim < rank; ++dim)
    text += (dim ? ",$" : "$") + std::to_string(first + dim);
  return text + "}";
}

/// Calls `copy` with the address of every panel and its coordinates.
void forEachPanel(ThreadBuilder &b, SharedType type, Value tile, ValueRange at,
                  llvm::function_ref<void(Value, ArrayRef<Value>)> copy) {
  SmallVector<Value> coordinates = castToI32(b, at);
  std::reverse(coordinates.begin(), coordinates.end());
  Value channel = coordinates.front();
  int64_t columns = type.getPanelColumns();
  for (int64_t panel = 0; panel < type.getColumns() / columns; ++panel) {
    coordinates.front() = b.add(channel, panel * columns);
    copy(b.add(tile, panel * type.getPanelBytes()), coordinates);
  }
}

struct ConvertTmaLoad : OpConversionPattern<TmaLoadOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(TmaLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(op, rewriter, 1);
    Value barrier = getBarrier(b, adaptor.getBarrier(), adaptor.getIndex());
    std::string rank = std::to_string(adaptor.getAt().size());
    std::string text = byOneLane(
        "cp.async.bulk.tensor." + rank +
        "d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, " +
        getCoordinates(3, adaptor.getAt().size()) + "], [$2];");
    forEachPanel(b, cast<SharedType>(op.getDest().getType()), adaptor.getDest(),
                 adaptor.getAt(), [&](Value panel, ArrayRef<Value> at) {
                   SmallVector<Value> inputs{panel, adaptor.getMap(), barrier};
                   llvm::append_range(inputs, at);
                   b.assembly(text, inputs);
                 });
    rewriter.eraseOp(op);
    return success();
  }
};

/// Issues `instruction` for every panel of a tile by one thread of the
/// warpgroup, CTA or producer, if `condition`, which may be null, holds; as one
/// group.
void writePanels(ThreadBuilder &b, Operation *op, StringRef instruction,
                 SharedType type, Value tile, Value map, ValueRange at,
                 Value condition) {
  std::string text =
      instruction.str() + " [$1, " + getCoordinates(2, at.size()) + "], [$0];";
  auto write = [&](const std::string &text) {
    forEachPanel(b, type, tile, at, [&](Value panel, ArrayRef<Value> at) {
      SmallVector<Value> inputs{panel, map};
      llvm::append_range(inputs, at);
      b.assembly(text, inputs);
    });
  };
  if (RolesOp::isInProducer(op)) {
    write(byOneLane(text));
  } else {
    // A branch: the coordinates take instructions that wait for each other,
    // which the other warps leave out.
    condition = b.both(isEqual(b, b.thread(), 0), condition);
    auto guard = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard insertion(b);
    b.setInsertionPointToStart(guard.thenBlock());
    write(text);
  }
  // The groups of the other threads are empty.
  b.assembly("cp.async.bulk.commit_group;", {});
}

struct ConvertTmaStore : OpConversionPattern<TmaStoreOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(TmaStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(op, rewriter, 32);
    writePanels(b, op,
                "cp.async.bulk.tensor." + std::to_string(op.getAt().size()) +
                    "d.global.shared::cta.bulk_group",
                op.getSource().getType(), adaptor.getSource(), adaptor.getMap(),
                adaptor.getAt(), Value());
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertTmaAdd : OpConversionPattern<TmaAddOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(TmaAddOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(op, rewriter, 32);
    writePanels(b, op,
                "cp.reduce.async.bulk.tensor." +
                    std::to_string(op.getAt().size()) +
                    "d.global.shared::cta.add.tile.bulk_group",
                op.getSource().getType(), adaptor.getSource(), adaptor.getMap(),
                adaptor.getAt(), adaptor.getCondition());
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertTmaStoreWait : OpConversionPattern<TmaStoreWaitOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(TmaStoreWaitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(op, rewriter, 1);
    b.assembly("cp.async.bulk.wait_group.read " +
                   std::to_string(int64_t(op.getPending())) + ";",
               {});
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertProxyFence : OpConversionPattern<ProxyFenceOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(ProxyFenceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(op, rewriter, 1);
    b.assembly("fence.proxy.async.shared::cta;", {});
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertNamedBarrier : OpConversionPattern<NamedBarrierOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(NamedBarrierOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(op, rewriter, 1);
    b.assembly((op.getArrive() ? "bar.arrive $0, " : "bar.sync $0, ") +
                   std::to_string(int64_t(op.getThreads())) + ";",
               b.cast(adaptor.getId(), b.getI32Type()));
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

/// The 128 bytes of a descriptor are this many i64.
static constexpr int64_t descriptorWords = 16;

/// Arguments of the LLVM function that one of a kernel becomes: a memref is two
/// pointers, an offset, sizes and strides.
static int64_t countLLVMArguments(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  return memref ? 3 + 2 * memref.getRank() : 1;
}

void nagpu::lowerTensorMapParameters(Operation *op) {
  MLIRContext *context = op->getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto bytes =
      LLVM::LLVMArrayType::get(IntegerType::get(context, 64), descriptorWords);
  op->walk([&](gpu::GPUFuncOp func) {
    SmallVector<Type> inputs(func.getArgumentTypes());
    OpBuilder builder = OpBuilder::atBlockBegin(&func.getBody().front());
    SmallVector<int64_t> maps;
    int64_t position = 0;
    for (auto [index, type] : llvm::enumerate(inputs)) {
      int64_t first = position;
      position += countLLVMArguments(type);
      if (!isa<TensorMapType>(type))
        continue;
      BlockArgument argument = func.getArgument(index);
      auto cast = UnrealizedConversionCastOp::create(builder, argument.getLoc(),
                                                     type, argument);
      argument.replaceAllUsesExcept(cast.getResult(0), cast);
      argument.setType(pointer);
      type = pointer;
      func.setArgAttr(index, LLVM::LLVMDialect::getByValAttrName(),
                      TypeAttr::get(bytes));
      maps.push_back(first);
    }
    if (maps.empty())
      return;
    func.setFunctionType(FunctionType::get(
        context, inputs, func.getFunctionType().getResults()));
    // convert-gpu-to-nvvm drops `byval` of an argument, but keeps attributes
    // of the function.
    func->setAttr(tensorMapsAttrName, builder.getDenseI64ArrayAttr(maps));
  });
}

void nagpu::castCapturedTensorMaps(Operation *op) {
  auto pointer = LLVM::LLVMPointerType::get(op->getContext());
  op->walk([&](gpu::LaunchOp launch) {
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(launch.getBody(), captured);
    OpBuilder builder = OpBuilder::atBlockBegin(&launch.getBody().front());
    for (Value map : captured) {
      if (!isa<TensorMapType>(map.getType()))
        continue;
      Location loc = launch.getLoc();
      auto address =
          UnrealizedConversionCastOp::create(builder, loc, pointer, map);
      auto inside = UnrealizedConversionCastOp::create(
          builder, loc, map.getType(), address.getResult(0));
      replaceAllUsesInRegionWith(map, inside.getResult(0), launch.getBody());
      address.getInputsMutable().assign(map);
    }
  });
}

void nagpu::populateTensorMemoryPatterns(const TypeConverter &converter,
                                         RewritePatternSet &patterns) {
  patterns.add<
      ConvertMBarrierInit, ConvertMBarrierArrive, ConvertMBarrierArriveCopies,
      ConvertMBarrierExpectTx, ConvertMBarrierWait, ConvertAdvance,
      ConvertPlaced<MailboxAllocOp>, ConvertMailboxPut, ConvertMailboxGet,
      ConvertTmaLoad, ConvertTmaStore, ConvertTmaAdd, ConvertTmaStoreWait,
      ConvertProxyFence, ConvertNamedBarrier>(converter, patterns.getContext());
}
