//===- Lowering.h - Parts of the nagpu to NVVM conversion -------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_CONVERSION_NAGPUTONVVM_LOWERING_H
#define NA_CONVERSION_NAGPUTONVVM_LOWERING_H

#include "na/Dialect/NAGPU/IR/NAGPU.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::nagpu {

constexpr int64_t warpSize = 32;
constexpr int64_t warpgroupSize = 4 * warpSize;
/// Bytes of the unit that swizzles move, and of the widest access.
constexpr int64_t chunkBytes = 16;

/// Marks assembly that all threads of a warp execute together. The translation
/// to LLVM IR makes it `convergent`, which MLIR's operation cannot say.
constexpr llvm::StringLiteral convergentAttrName = "nagpu.convergent";
/// On a kernel: the arguments of the LLVM function that hold descriptors by
/// value.
constexpr llvm::StringLiteral tensorMapsAttrName = "nagpu.tensor_maps";

/// Marks assembly that changes how many registers a thread has, with the number
/// of CTAs that share a multiprocessor; see `keepRegisterBudgets`.
constexpr llvm::StringLiteral registersAttrName = "nagpu.registers";

inline int64_t getElementBytes(Type type) {
  return type.getIntOrFloatBitWidth() / 8;
}

/// Builds the integer arithmetic of one thread. All of it is pure and depends
/// on as little as possible, so that LLVM merges what operations of a kernel
/// have in common and moves it out of loops.
class ThreadBuilder : public ImplicitLocOpBuilder {
public:
  ThreadBuilder(Operation *op, OpBuilder &builder, int64_t warps)
      : ImplicitLocOpBuilder(op->getLoc(), builder),
        roles(RolesOp::getEnclosing(op)), producer(RolesOp::isInProducer(op)),
        warps(warps) {}

  Value constant(int64_t value, Type type = {});
  Value add(Value a, Value b);
  Value add(Value a, int64_t b);
  Value mul(Value a, int64_t b);
  Value div(Value a, int64_t b);
  Value rem(Value a, int64_t b);
  Value bitXor(Value a, Value b);
  Value bitXor(Value a, int64_t b);
  Value bitAnd(Value a, int64_t b);
  /// `condition && (a unsigned< b)`; a null condition is true.
  Value andLess(Value condition, Value a, Value b);
  /// Both, of which one may be null (true).
  Value both(Value a, Value b);

  /// Index in the CTA (in the warpgroup or the producer if there are roles),
  /// warp, and lane of the thread (i32).
  Value thread();
  Value warp();
  Value lane();
  /// `g` and `t` of lane `4 g + t`.
  Value group();
  Value threadInGroup();

  /// An integer or index value as `type` (i32 or i64), signed.
  Value cast(Value value, Type type);
  /// The pointer to shared memory of an address in it (i32), plus `offset`.
  Value sharedPointer(Value address, int64_t offset);
  /// `pointer` moved by bytes.
  Value move(Value pointer, Value bytes);
  Value move(Value pointer, int64_t bytes);
  Value load(Type type, Value pointer);
  void store(Value value, Value pointer);
  /// Stores up to 16 bytes to global memory at `pointer + offset` if the
  /// condition, which may be null, holds: one instruction under a predicate. A
  /// branch that not all lanes take would keep what warps share out of uniform
  /// registers in the whole kernel.
  void storeIf(Value condition, Value value, Value pointer, int64_t offset);

  /// The value of the lane whose index differs in `mask`.
  Value shuffleXor(Value value, int64_t mask);
  /// The value of lane `source` (i32).
  Value shuffle(Value value, Value source);

  /// The larger number; NaN only if both are. As an operation of LLVM, because
  /// the expansion of `arith` makes a comparison and a selection of its own.
  Value maxNum(Value a, Value b) { return LLVM::MaxNumOp::create(*this, a, b); }

  /// 2 to the power of `value` (f32) on the special function unit. Subnormal
  /// results become zero: they are weights next to one of at least 1, and what
  /// keeps them costs three more instructions an element.
  Value exp2(Value value);
  /// 1 / `value` (f32), to one unit in the last place, and infinity for
  /// subnormal values: what is divided by is a sum of weights, of which one is
  /// at least 1. An exact quotient has a branch.
  Value reciprocal(Value value);

  /// PTX that LLVM neither removes, moves nor duplicates into branches.
  /// `outputs` are the types of its results, which come first among its
  /// operands; `tied` are inputs in the registers of the last outputs.
  SmallVector<Value> assembly(StringRef text, ValueRange inputs,
                              ArrayRef<Type> outputs = {},
                              ValueRange tied = {});

  /// Packs two scalars into a vector, and takes one out.
  Value pack(Value low, Value high);
  Value unpack(Value pair, int64_t position);

private:
  Value shuffle(Value value, Value operand, NVVM::ShflKind kind);

  /// The roles of the warpgroups, if they have any.
  RolesOp roles;
  /// Whether the thread is one of a producer.
  bool producer;
  int64_t warps;
};

/// How the elements of a fragment are spread over the threads: an element's
/// row is the sum of a part that depends on the thread and a constant one,
/// which have no bits in common as far as one warp is concerned; so is its
/// column.
struct FragmentLayout {
  explicit FragmentLayout(FragmentType type) : type(type) {}

  struct Position {
    int64_t row;
    int64_t column;
  };

  /// Elements in one register.
  int64_t getElementsPerRegister() const;
  /// The constant part of the position of an element of a register.
  Position getPosition(int64_t index, int64_t element) const;
  /// The part that depends on the thread.
  Value getThreadRow(ThreadBuilder &b) const;
  Value getThreadColumn(ThreadBuilder &b) const;
  /// First row of the thread's warp.
  Value getWarpRow(ThreadBuilder &b) const;

  FragmentType type;
};

/// Where the bytes of a shared tile lie.
struct SharedLayout {
  explicit SharedLayout(SharedType type);

  /// What the chunk index of a row is combined with by exclusive or; linear
  /// (over that operation) in the bits of the row.
  int64_t getXor(int64_t row) const;
  Value getXor(ThreadBuilder &b, Value row) const;

  int64_t pitch;
  /// The chunk bits that the swizzle changes.
  int64_t mask = 0;
  /// The row bits that it takes them from begin here.
  int64_t shift = 0;
};

/// Addresses in a shared tile, of which a part differs from thread to thread
/// and the rest is constant. The part of the threads is computed once;
/// constants cost an exclusive or, or nothing (an immediate offset).
class SharedAddress {
public:
  /// `row`, `chunk` and `byte` (in the chunk, may be null) are the thread's
  /// part.
  SharedAddress(ThreadBuilder &b, SharedType type, Value tile, Value row,
                Value chunk, Value byte = {});

  struct Place {
    Value address;
    int64_t offset;
  };
  /// The place of the thread's part plus `row`, `chunk` and `byte`. The
  /// constants must have no bits in common with the thread's part: in the last
  /// two bits of the row and in the bits that the swizzle changes of the chunk.
  /// (A carry out of the third bit of the row does not concern the swizzle.)
  Place locate(int64_t row, int64_t chunk, int64_t byte = 0);
  /// The pointer to it.
  Value at(int64_t row, int64_t chunk, int64_t byte = 0) {
    Place place = locate(row, chunk, byte);
    return b.sharedPointer(place.address, place.offset);
  }

private:
  ThreadBuilder &b;
  SharedLayout layout;
  Value base;
  llvm::SmallDenseMap<int64_t, Value, 8> swizzled;
};

/// One axis of a row's position in its box: a value and a constant part.
struct Digit {
  Value value;
  int64_t constant;
};

/// The digits of `row`, row-major over `box`.
SmallVector<Digit> splitRow(ThreadBuilder &b, Value row, ArrayRef<int64_t> box);

/// The tokens of one batch and head of a tensor `[B, X.., H(, D)]` in global
/// memory.
class TokenMemory {
public:
  TokenMemory(ThreadBuilder &b, Value memory, Value batch, Value head,
              ValueRange at, ArrayRef<int64_t> box, ArrayRef<int64_t> dilation);

  /// The widest access in bytes, at most 16, that the strides permit if the
  /// tensor's address does.
  int64_t getAccessBytes() const { return accessBytes; }

  struct Row {
    /// Address of the row's first channel, without `offset`.
    Value pointer;
    /// Bytes to add to it.
    int64_t offset;
    /// Whether the row is in the tensor (i1).
    Value valid;
  };
  /// The row of the box with these digits; `offset` bytes of the thread are
  /// added (may be null).
  Row getRow(ThreadBuilder &b, ArrayRef<Digit> digits, Value offset);

  /// Address of the first token of the batch and head.
  Value getBase() const { return base; }
  /// The number of channels; 1 if there is no such dimension.
  int64_t getChannels() const { return channels; }

private:
  /// i32 where the offsets in one batch fit, else i64.
  Type indexType;
  int64_t accessBytes;
  int64_t channels = 1;
  Value base;
  SmallVector<Value> at;
  SmallVector<Value> lengths;
  /// Bytes from one row of the box to the next, per axis.
  SmallVector<OpFoldResult> steps;
  SmallVector<int64_t> dilation;
  /// Bytes from `base` to the box's first row.
  Value origin;
};

/// The address of a byte of the kernel's dynamic shared memory (i32).
Value getSharedMemory(ThreadBuilder &b, int64_t offset);

/// What has a place in shared memory becomes its address there: a 32-bit
/// integer, because swizzles work on its bits.
template <typename OpTy>
struct ConvertPlaced : OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;

  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ThreadBuilder b(op, rewriter, 1);
    rewriter.replaceOp(op, getSharedMemory(b, *op.getOffset()));
    return success();
  }
};

/// Whether the conversion knows the layout of a tensor: the channels (if it
/// has that dimension) are static and contiguous.
LogicalResult checkTokenMemory(Operation *op, Value memory, int64_t axes);

/// The values of operands that are converted one to one.
inline SmallVector<Value> flatten(ArrayRef<ValueRange> values) {
  return llvm::map_to_vector(values,
                             [](ValueRange range) { return range.front(); });
}

/// The patterns, by what they deal with.
void populateSharedMemoryPatterns(const TypeConverter &converter,
                                  RewritePatternSet &patterns);
void populateProductPatterns(const TypeConverter &converter,
                             RewritePatternSet &patterns);
void populateFragmentPatterns(const TypeConverter &converter,
                              RewritePatternSet &patterns);
void populateMaskPatterns(const TypeConverter &converter,
                          RewritePatternSet &patterns);
void populateStorePatterns(const TypeConverter &converter,
                           RewritePatternSet &patterns);
void populateSlotPatterns(const TypeConverter &converter,
                          RewritePatternSet &patterns);
void populateWgmmaPatterns(const TypeConverter &converter,
                           RewritePatternSet &patterns);
void populateTensorMemoryPatterns(const TypeConverter &converter,
                                  RewritePatternSet &patterns);

/// Turns the tensor maps that kernels take into parameters by value.
void lowerTensorMapParameters(Operation *op);
/// Makes bodies of `gpu.launch` use the pointer of a tensor map of the host
/// through one cast each, so that it is the map that outlining captures.
void castCapturedTensorMaps(Operation *op);
/// Tells ptxas how many CTAs of the kernel share a multiprocessor: without
/// that, and the number of its threads, it ignores register budgets.
void keepRegisterBudgets(gpu::GPUFuncOp func);
/// Turns roles into branches, behind the conversion of what is in them.
void lowerRoles(Operation *op);

} // namespace mlir::nagpu

#endif // NA_CONVERSION_NAGPUTONVVM_LOWERING_H
