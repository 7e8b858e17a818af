//===- LinalgToVectorLoops.cpp - Register-blocked vector loops ------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::na {
#define GEN_PASS_DEF_LINALGTOVECTORLOOPSPASS
#include "na/Conversion/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;
using namespace mlir::linalg;

namespace {

/// The vector unit to block for.
struct Machine {
  int64_t vectorBits;
  int64_t registers;
};

/// What values of a scalar type are computed in: 16-bit floats in f32, so that
/// they are rounded only where they are stored.
Type getComputeType(Type type) {
  return type.isF16() || type.isBF16() ? Float32Type::get(type.getContext())
                                       : type;
}

/// How the loops of one operation are ordered and blocked. `lane` runs along
/// vectors; `row`, if any, is the parallel loop that is unrolled so that a
/// block of accumulators stays in registers during the reductions.
struct Plan {
  SmallVector<int64_t> extents;
  unsigned lane;
  std::optional<unsigned> row;
  SmallVector<unsigned> outer, reductions;
  /// Lanes of one vector, vectors and rows of one block.
  int64_t width, vectors, rows;
  /// Not empty if the lane is itself the only reduction: how lanes combine,
  /// one entry per output.
  SmallVector<vector::CombiningKind> combiners;
};

/// Emits one operation.
class Emitter {
public:
  Emitter(LinalgOp op, Plan plan, ImplicitLocOpBuilder &b)
      : op(op), plan(std::move(plan)), b(b), ivs(op.getNumLoops()) {}

  void run();

private:
  /// One vector of a block: its first lane, relative to the block's, and width.
  struct Chunk {
    int64_t offset, width;
  };

  void emitOuterParallel();
  void emitRowPanels();
  void emitOuter(unsigned depth);
  void emitLanes();
  void emitRows(ArrayRef<Chunk> chunks);
  void emitBlock(int64_t rows, ArrayRef<Chunk> chunks);
  void emitLaneReduction(int64_t rows);
  SmallVector<Value> combineLanes(int64_t rows, ArrayRef<Chunk> chunks,
                                  ValueRange accumulators);
  SmallVector<Value> buildIdentities(int64_t rows, ArrayRef<Chunk> chunks);
  SmallVector<Value> emitReductions(unsigned depth, int64_t rows,
                                    ArrayRef<Chunk> chunks,
                                    ValueRange accumulators);
  SmallVector<Value> emitBody(int64_t rows, ArrayRef<Chunk> chunks,
                              ValueRange accumulators);
  SmallVector<Value>
  emitLane(int64_t row, Chunk chunk, ValueRange carried,
           DenseMap<std::tuple<unsigned, int64_t, int64_t>, Value> &loads);
  void forLoop(unsigned dim, int64_t from, int64_t to, int64_t step,
               function_ref<void()> body);

  bool usesDim(OpOperand &operand, unsigned dim) {
    return op.getMatchingIndexingMap(&operand).isFunctionOfDim(dim);
  }
  /// Whether an output is accumulated over all reductions.
  bool isCarried(OpOperand &output) {
    if (!plan.combiners.empty())
      return true;
    return !plan.reductions.empty() &&
           llvm::none_of(plan.reductions,
                         [&](unsigned dim) { return usesDim(output, dim); });
  }
  int64_t getNumIterations() { return llvm::product_of(plan.extents); }
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value offset(Value base, int64_t by) {
    if (by == 0)
      return base;
    return arith::AddIOp::create(b, base, constant(by));
  }
  SmallVector<Value> indices(OpOperand &operand, int64_t row, int64_t lane);
  Value load(OpOperand &operand, int64_t row, Chunk chunk);
  void store(Value value, OpOperand &operand, int64_t row, Chunk chunk);
  Value widen(Value value, int64_t width);
  Value extend(Value value);
  Value truncate(Value value, Type element);
  void emitInner(Operation &inner, IRMapping &map, int64_t width);
  Value emitFusedMultiplyAdd(Operation &inner, ValueRange operands,
                             ArrayRef<Type> types);

  LinalgOp op;
  Plan plan;
  ImplicitLocOpBuilder &b;
  SmallVector<Value> ivs;
  /// The rows to emit, if not all: [panelBegin, panelEnd), in full blocks.
  Value panelBegin, panelEnd;
};

} // namespace

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void Emitter::forLoop(unsigned dim, int64_t from, int64_t to, int64_t step,
                      function_ref<void()> body) {
  if (to <= from)
    return;
  if (to - from <= step) {
    ivs[dim] = constant(from);
    body();
    return;
  }
  auto loop =
      scf::ForOp::create(b, constant(from), constant(to), constant(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  ivs[dim] = loop.getInductionVar();
  body();
}

/// Operations inside a parallel loop are sequential; large ones outside of any
/// become parallel over their outer loops or over panels of rows.
void Emitter::run() {
  constexpr int64_t minIterations = 1 << 14, minParallel = 8;
  bool nested = op->getParentOfType<scf::ForallOp>() ||
                op->getParentOfType<scf::ParallelOp>();
  if (nested || getNumIterations() < minIterations)
    return emitOuter(0);
  int64_t outer = 1;
  for (unsigned dim : plan.outer)
    outer *= plan.extents[dim];
  if (outer >= minParallel)
    return emitOuterParallel();
  if (plan.row && plan.extents[*plan.row] >= 2 * plan.rows)
    return emitRowPanels();
  emitOuter(0);
}

void Emitter::emitOuterParallel() {
  SmallVector<Value> lower(plan.outer.size(), constant(0));
  SmallVector<Value> step(plan.outer.size(), constant(1));
  SmallVector<Value> upper;
  for (unsigned dim : plan.outer)
    upper.push_back(constant(plan.extents[dim]));
  auto loop = scf::ParallelOp::create(b, lower, upper, step);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  for (auto [dim, iv] : llvm::zip_equal(plan.outer, loop.getInductionVars()))
    ivs[dim] = iv;
  emitLanes();
}

/// A panel of rows reuses what the rows share while it is in the cache.
void Emitter::emitRowPanels() {
  constexpr int64_t maxBlocks = 16, minPanels = 8;
  int64_t extent = plan.extents[*plan.row];
  int64_t blocks = extent / plan.rows, full = blocks * plan.rows;
  int64_t panel =
      plan.rows * std::clamp<int64_t>(blocks / minPanels, 1, maxBlocks);
  auto loop = scf::ParallelOp::create(b, ValueRange{constant(0)},
                                      ValueRange{constant(full)},
                                      ValueRange{constant(panel)});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    panelBegin = loop.getInductionVars()[0];
    panelEnd =
        arith::MinSIOp::create(b, offset(panelBegin, panel), constant(full));
    emitOuter(0);
  }
  if (full == extent)
    return;
  panelBegin = constant(full);
  panelEnd = {};
  emitOuter(0);
}

void Emitter::emitOuter(unsigned depth) {
  if (depth == plan.outer.size()) {
    emitLanes();
    return;
  }
  unsigned dim = plan.outer[depth];
  forLoop(dim, 0, plan.extents[dim], 1, [&] { emitOuter(depth + 1); });
}

void Emitter::emitLanes() {
  if (!plan.combiners.empty())
    return emitRows({});
  int64_t extent = plan.extents[plan.lane];
  int64_t block = plan.vectors * plan.width;
  int64_t full = extent / block * block;
  SmallVector<Chunk> chunks;
  for (int64_t i = 0; i < plan.vectors; ++i)
    chunks.push_back({i * plan.width, plan.width});
  forLoop(plan.lane, 0, full, block, [&] { emitRows(chunks); });
  if (full == extent)
    return;
  chunks.clear();
  for (int64_t at = 0, rest = extent - full; at < rest; at += plan.width)
    chunks.push_back({at, std::min(plan.width, rest - at)});
  ivs[plan.lane] = constant(full);
  emitRows(chunks);
}

void Emitter::emitRows(ArrayRef<Chunk> chunks) {
  if (!plan.row) {
    emitBlock(1, chunks);
    return;
  }
  int64_t extent = plan.extents[*plan.row];
  int64_t full = extent / plan.rows * plan.rows;
  if (panelEnd) {
    auto loop =
        scf::ForOp::create(b, panelBegin, panelEnd, constant(plan.rows));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    ivs[*plan.row] = loop.getInductionVar();
    return emitBlock(plan.rows, chunks);
  }
  if (panelBegin) {
    ivs[*plan.row] = panelBegin;
    return emitBlock(extent - full, chunks);
  }
  forLoop(*plan.row, 0, full, plan.rows, [&] { emitBlock(plan.rows, chunks); });
  if (full == extent)
    return;
  ivs[*plan.row] = constant(full);
  emitBlock(extent - full, chunks);
}

void Emitter::emitBlock(int64_t rows, ArrayRef<Chunk> chunks) {
  if (!plan.combiners.empty())
    return emitLaneReduction(rows);
  SmallVector<Value> accumulators;
  for (OpOperand &output : op.getDpsInitsMutable())
    if (isCarried(output))
      for (int64_t row = 0; row < rows; ++row)
        for (Chunk chunk : chunks)
          accumulators.push_back(widen(load(output, row, chunk), chunk.width));
  SmallVector<Value> results = emitReductions(0, rows, chunks, accumulators);
  auto *result = results.begin();
  for (OpOperand &output : op.getDpsInitsMutable())
    if (isCarried(output))
      for (int64_t row = 0; row < rows; ++row)
        for (Chunk chunk : chunks)
          store(*result++, output, row, chunk);
}

/// Reduces along vectors: partial results in each lane, combined at the end.
void Emitter::emitLaneReduction(int64_t rows) {
  int64_t extent = plan.extents[plan.lane];
  int64_t block = plan.vectors * plan.width;
  int64_t full = extent / block * block;
  SmallVector<Chunk> chunks, tail;
  for (int64_t i = 0; i < plan.vectors; ++i)
    chunks.push_back({i * plan.width, plan.width});
  for (int64_t at = 0, rest = extent - full; at < rest; at += plan.width)
    tail.push_back({at, std::min(plan.width, rest - at)});

  // One value per output and row, as in memory.
  SmallVector<Value> results;
  Chunk scalar{0, 1};
  for (OpOperand &output : op.getDpsInitsMutable())
    for (int64_t row = 0; row < rows; ++row)
      results.push_back(load(output, row, scalar));
  auto combine = [&](ArrayRef<Chunk> chunks, ValueRange accumulators) {
    SmallVector<Value> partial = combineLanes(rows, chunks, accumulators);
    for (auto [index, value] : llvm::enumerate(partial))
      results[index] = vector::makeArithReduction(
          b, b.getLoc(), plan.combiners[index / rows], results[index], value);
  };
  if (full > 0) {
    auto loop =
        scf::ForOp::create(b, constant(0), constant(full), constant(block),
                           buildIdentities(rows, chunks));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      ivs[plan.lane] = loop.getInductionVar();
      scf::YieldOp::create(b, emitBody(rows, chunks, loop.getRegionIterArgs()));
    }
    combine(chunks, loop.getResults());
  }
  if (!tail.empty()) {
    ivs[plan.lane] = constant(full);
    combine(tail, emitBody(rows, tail, buildIdentities(rows, tail)));
  }
  auto *result = results.begin();
  for (OpOperand &output : op.getDpsInitsMutable())
    for (int64_t row = 0; row < rows; ++row)
      store(*result++, output, row, scalar);
}

/// The neutral elements of the combiners.
SmallVector<Value> Emitter::buildIdentities(int64_t rows,
                                            ArrayRef<Chunk> chunks) {
  SmallVector<Value> values;
  for (auto [output, kind] :
       llvm::zip_equal(op.getDpsInitsMutable(), plan.combiners)) {
    auto type = cast<FloatType>(
        getComputeType(getElementTypeOrSelf(output.get().getType())));
    double neutral = kind == vector::CombiningKind::ADD   ? 0
                     : kind == vector::CombiningKind::MUL ? 1
                     : kind == vector::CombiningKind::MAXNUMF ||
                             kind == vector::CombiningKind::MAXIMUMF
                         ? -std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::infinity();
    Value scalar = arith::ConstantOp::create(b, b.getFloatAttr(type, neutral));
    for (int64_t row = 0; row < rows; ++row)
      for (Chunk chunk : chunks)
        values.push_back(widen(scalar, chunk.width));
  }
  return values;
}

/// One scalar per output and row.
SmallVector<Value> Emitter::combineLanes(int64_t rows, ArrayRef<Chunk> chunks,
                                         ValueRange accumulators) {
  SmallVector<Value> results;
  auto next = accumulators.begin();
  for (vector::CombiningKind kind : plan.combiners)
    for (int64_t row = 0; row < rows; ++row) {
      Value result;
      for (size_t i = 0; i < chunks.size(); ++i) {
        // Lanes hold partial results of an arbitrary order already.
        Value lane = vector::ReductionOp::create(b, kind, *next++,
                                                 arith::FastMathFlags::reassoc);
        result = result ? vector::makeArithReduction(b, b.getLoc(), kind,
                                                     result, lane)
                        : lane;
      }
      results.push_back(result);
    }
  return results;
}

SmallVector<Value> Emitter::emitReductions(unsigned depth, int64_t rows,
                                           ArrayRef<Chunk> chunks,
                                           ValueRange accumulators) {
  if (depth == plan.reductions.size())
    return emitBody(rows, chunks, accumulators);
  unsigned dim = plan.reductions[depth];
  auto loop = scf::ForOp::create(b, constant(0), constant(plan.extents[dim]),
                                 constant(1), accumulators);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  ivs[dim] = loop.getInductionVar();
  SmallVector<Value> next =
      emitReductions(depth + 1, rows, chunks, loop.getRegionIterArgs());
  if (!accumulators.empty())
    scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults());
}

//===----------------------------------------------------------------------===//
// One step of the innermost loop
//===----------------------------------------------------------------------===//

SmallVector<Value> Emitter::emitBody(int64_t rows, ArrayRef<Chunk> chunks,
                                     ValueRange accumulators) {
  // Accumulators are ordered by output, row, chunk.
  int64_t perOutput = rows * int64_t(chunks.size());
  SmallVector<Value> next(accumulators.size());
  DenseMap<std::tuple<unsigned, int64_t, int64_t>, Value> loads;
  for (int64_t row = 0; row < rows; ++row) {
    for (auto [index, chunk] : llvm::enumerate(chunks)) {
      int64_t at = row * int64_t(chunks.size()) + int64_t(index);
      SmallVector<Value> carried;
      for (int64_t i = at; i < int64_t(accumulators.size()); i += perOutput)
        carried.push_back(accumulators[i]);
      SmallVector<Value> results = emitLane(row, chunk, carried, loads);
      for (auto [output, result] : llvm::enumerate(results))
        next[int64_t(output) * perOutput + at] = result;
    }
  }
  return next;
}

/// Evaluates the body for one vector; returns the carried outputs.
SmallVector<Value> Emitter::emitLane(
    int64_t row, Chunk chunk, ValueRange carried,
    DenseMap<std::tuple<unsigned, int64_t, int64_t>, Value> &loads) {
  Block *body = op.getBlock();
  IRMapping map;
  unsigned carriedIndex = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = body->getArgument(operand.getOperandNumber());
    bool isOutput = op.isDpsInit(&operand);
    if (isOutput && isCarried(operand)) {
      map.map(argument, carried[carriedIndex++]);
      continue;
    }
    if (argument.use_empty())
      continue;
    if (!isa<MemRefType>(operand.get().getType())) {
      map.map(argument, extend(operand.get()));
      continue;
    }
    // Vectors of a block that read the same elements share the load.
    bool perRow = plan.row && usesDim(operand, *plan.row);
    bool perLane = usesDim(operand, plan.lane);
    auto key = std::make_tuple(operand.getOperandNumber(), perRow ? row : -1,
                               perLane ? chunk.offset : -1);
    Value &value = loads[key];
    if (!value || isOutput)
      value = load(operand, row, chunk);
    map.map(argument, value);
  }

  for (Operation &inner : body->without_terminator()) {
    if (auto index = dyn_cast<IndexOp>(inner)) {
      unsigned dim = index.getDim();
      Value value = ivs[dim];
      if (plan.row && dim == *plan.row)
        value = offset(value, row);
      if (dim == plan.lane) {
        auto type = VectorType::get({chunk.width}, b.getIndexType());
        value = arith::AddIOp::create(
            b, vector::StepOp::create(b, type).getResult(),
            widen(offset(value, chunk.offset), chunk.width));
      }
      map.map(index.getResult(), value);
      continue;
    }
    emitInner(inner, map, chunk.width);
  }

  SmallVector<Value> results;
  auto yield = cast<YieldOp>(body->getTerminator());
  for (auto [output, yielded] :
       llvm::zip_equal(op.getDpsInitsMutable(), yield.getValues())) {
    Value value = widen(extend(map.lookupOrDefault(yielded)), chunk.width);
    if (isCarried(output))
      results.push_back(value);
    else
      store(value, output, row, chunk);
  }
  return results;
}

/// Evaluates one operation of the body.
void Emitter::emitInner(Operation &inner, IRMapping &map, int64_t width) {
  // Operations that say themselves what they make of 16-bit floats.
  bool exact =
      isa<arith::ConstantOp, arith::TruncFOp, arith::BitcastOp>(inner) ||
      !isa<arith::ArithDialect, math::MathDialect>(inner.getDialect());
  SmallVector<Value> operands;
  bool anyVector = false;
  for (Value operand : inner.getOperands()) {
    Value value = extend(map.lookupOrDefault(operand));
    if (exact)
      value = truncate(value, operand.getType());
    operands.push_back(value);
    anyVector |= isa<VectorType>(value.getType());
  }
  if (isa<arith::ExtFOp>(inner) &&
      getElementTypeOrSelf(operands[0]) == inner.getResult(0).getType()) {
    map.map(inner.getResult(0), operands[0]);
    return;
  }
  SmallVector<Type> types;
  for (Type type : inner.getResultTypes())
    types.push_back(exact ? type : getComputeType(type));
  if (anyVector) {
    for (Value &operand : operands)
      operand = widen(operand, width);
    for (Type &type : types)
      type = VectorType::get({width}, type);
  }
  if (Value fused = emitFusedMultiplyAdd(inner, operands, types)) {
    map.map(inner.getResult(0), fused);
    return;
  }
  OperationState state(b.getLoc(), inner.getName(), operands, types,
                       inner.getAttrs());
  Operation *copy = b.create(state);
  for (auto [result, value] :
       llvm::zip_equal(inner.getResults(), copy->getResults()))
    map.map(result, extend(value));
}

/// A sum with a product in it, rounded once. The product that was emitted
/// before is dead then.
Value Emitter::emitFusedMultiplyAdd(Operation &inner, ValueRange operands,
                                    ArrayRef<Type> types) {
  if (!isa<arith::AddFOp>(inner))
    return {};
  for (unsigned i : {0, 1})
    if (auto product = operands[i].getDefiningOp<arith::MulFOp>())
      return math::FmaOp::create(b, types[0], product.getLhs(),
                                 product.getRhs(), operands[1 - i]);
  return {};
}

Value Emitter::widen(Value value, int64_t width) {
  if (isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(
      b, VectorType::get({width}, value.getType()), value);
}

/// 16-bit floats as f32; other values as they are.
Value Emitter::extend(Value value) {
  Type element = getElementTypeOrSelf(value);
  Type wide = getComputeType(element);
  if (wide == element)
    return value;
  Type type = wide;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(wide);
  return arith::ExtFOp::create(b, type, value);
}

/// The inverse of `extend` for values of type `element`.
Value Emitter::truncate(Value value, Type element) {
  if (getElementTypeOrSelf(value) == element)
    return value;
  Type type = element;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(element);
  return arith::TruncFOp::create(b, type, value);
}

SmallVector<Value> Emitter::indices(OpOperand &operand, int64_t row,
                                    int64_t lane) {
  SmallVector<Value> result;
  for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults()) {
    if (auto fixed = dyn_cast<AffineConstantExpr>(expr)) {
      result.push_back(constant(fixed.getValue()));
      continue;
    }
    unsigned dim = cast<AffineDimExpr>(expr).getPosition();
    int64_t by = dim == plan.lane               ? lane
                 : plan.row && dim == *plan.row ? row
                                                : 0;
    result.push_back(offset(ivs[dim], by));
  }
  return result;
}

Value Emitter::load(OpOperand &operand, int64_t row, Chunk chunk) {
  SmallVector<Value> at = indices(operand, row, chunk.offset);
  if (!usesDim(operand, plan.lane))
    return extend(memref::LoadOp::create(b, operand.get(), at));
  Type element = cast<MemRefType>(operand.get().getType()).getElementType();
  return extend(vector::LoadOp::create(
      b, VectorType::get({chunk.width}, element), operand.get(), at));
}

void Emitter::store(Value value, OpOperand &operand, int64_t row, Chunk chunk) {
  value = truncate(value, getElementTypeOrSelf(operand.get().getType()));
  SmallVector<Value> at = indices(operand, row, chunk.offset);
  if (isa<VectorType>(value.getType()))
    vector::StoreOp::create(b, value, operand.get(), at);
  else
    memref::StoreOp::create(b, value, operand.get(), at);
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

/// Whether the last dimension of `type` is contiguous.
static bool isContiguous(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         (strides.empty() || strides.back() == 1);
}

/// Whether vectors of `type` lie in memory as a memref's elements do: LLVM
/// packs the bits of vectors, and pads single elements.
static bool hasVectorLayout(Type type) {
  unsigned bits = type.getIntOrFloatBitWidth();
  return bits >= 8 && llvm::isPowerOf2_32(bits);
}

/// Bits of the widest element that the body computes with.
static std::optional<int64_t> widestElement(LinalgOp op) {
  int64_t widest = 0;
  auto update = [&](Type type) {
    if (type.isIndex())
      return;
    widest =
        std::max<int64_t>(widest, getComputeType(type).getIntOrFloatBitWidth());
  };
  for (BlockArgument argument : op.getBlock()->getArguments()) {
    if (!argument.getType().isIntOrFloat())
      return std::nullopt;
    update(argument.getType());
  }
  for (Operation &inner : op.getBlock()->without_terminator())
    for (Type type : inner.getResultTypes()) {
      if (!type.isIntOrIndexOrFloat())
        return std::nullopt;
      update(type);
    }
  return widest;
}

/// Whether the body can be evaluated on vectors.
static bool hasVectorizableBody(LinalgOp op) {
  return llvm::all_of(op.getBlock()->without_terminator(),
                      [](Operation &inner) {
                        return isa<IndexOp>(inner) ||
                               (OpTrait::hasElementwiseMappableTraits(&inner) &&
                                inner.getNumRegions() == 0) ||
                               isa<arith::ConstantOp>(inner);
                      });
}

/// How the values of one output combine, if by one operation that vectors can
/// be reduced with.
static std::optional<vector::CombiningKind> getCombiner(LinalgOp op,
                                                        unsigned output) {
  BlockArgument accumulator = op.getRegionOutputArgs()[output];
  auto yield = cast<YieldOp>(op.getBlock()->getTerminator());
  Operation *combiner = yield.getOperand(output).getDefiningOp();
  // A running result that is used beside is more than a combination.
  if (!combiner || !combiner->hasOneUse() ||
      !isa<FloatType>(accumulator.getType()))
    return std::nullopt;
  // value > accumulator ? value : accumulator
  if (auto select = dyn_cast<arith::SelectOp>(combiner)) {
    auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
    if (compare && compare.getPredicate() == arith::CmpFPredicate::OGT &&
        compare.getLhs() == select.getTrueValue() &&
        compare.getRhs() == accumulator &&
        select.getFalseValue() == accumulator &&
        llvm::range_size(accumulator.getUses()) == 2)
      return vector::CombiningKind::MAXNUMF;
    return std::nullopt;
  }
  if (!accumulator.hasOneUse() || combiner->getNumOperands() != 2 ||
      !llvm::is_contained(combiner->getOperands(), accumulator))
    return std::nullopt;
  if (isa<arith::AddFOp>(combiner))
    return vector::CombiningKind::ADD;
  if (isa<arith::MulFOp>(combiner))
    return vector::CombiningKind::MUL;
  if (isa<arith::MaximumFOp>(combiner))
    return vector::CombiningKind::MAXIMUMF;
  if (isa<arith::MaxNumFOp>(combiner))
    return vector::CombiningKind::MAXNUMF;
  if (isa<arith::MinimumFOp>(combiner))
    return vector::CombiningKind::MINIMUMF;
  if (isa<arith::MinNumFOp>(combiner))
    return vector::CombiningKind::MINNUMF;
  return std::nullopt;
}

/// The last dimension of the outputs, if it is one that can run along vectors.
static std::optional<unsigned> getParallelLane(LinalgOp op) {
  std::optional<unsigned> lane;
  for (OpOperand &output : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&output);
    auto last = map.getNumResults() == 0
                    ? AffineDimExpr(nullptr)
                    : dyn_cast<AffineDimExpr>(map.getResults().back());
    if (!last || (lane && *lane != last.getPosition()))
      return std::nullopt;
    lane = last.getPosition();
  }
  if (!lane ||
      op.getIteratorTypesArray()[*lane] != utils::IteratorType::parallel)
    return std::nullopt;
  return lane;
}

/// The only reduction, if the outputs combine over it by known operations.
static std::optional<unsigned>
getReducedLane(LinalgOp op, SmallVectorImpl<vector::CombiningKind> &combiners) {
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  if (reductions.size() != 1)
    return std::nullopt;
  for (OpOperand &output : op.getDpsInitsMutable()) {
    if (op.getMatchingIndexingMap(&output).isFunctionOfDim(reductions[0]))
      return std::nullopt;
    std::optional<vector::CombiningKind> kind =
        getCombiner(op, output.getOperandNumber() - op.getNumDpsInputs());
    if (!kind)
      return std::nullopt;
    combiners.push_back(*kind);
  }
  return reductions[0];
}

/// Whether every operand is indexed by dimensions and constants, with `lane`
/// contiguous in memory wherever it occurs.
static bool hasContiguousLane(LinalgOp op, unsigned lane) {
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!type)
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [i, expr] : llvm::enumerate(map.getResults())) {
      if (isa<AffineConstantExpr>(expr))
        continue;
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim)
        return false;
      if (dim.getPosition() == lane &&
          (i + 1 != map.getNumResults() || !isContiguous(type) ||
           !hasVectorLayout(type.getElementType())))
        return false;
    }
  }
  return true;
}

static std::optional<Plan> makePlan(LinalgOp op, Machine machine) {
  if (!op.hasPureBufferSemantics() || op.hasDynamicShape() ||
      op.getNumLoops() == 0 || !hasVectorizableBody(op))
    return std::nullopt;
  std::optional<int64_t> bits = widestElement(op);
  // Bytes and booleans have no use in tiles; their vectors would be too long.
  if (!bits || *bits < 16)
    return std::nullopt;
  Plan plan;
  plan.extents = op.getStaticLoopRanges();
  if (llvm::any_of(plan.extents, [](int64_t e) { return e <= 0; }))
    return std::nullopt;

  std::optional<unsigned> lane = getParallelLane(op);
  if (!lane || !hasContiguousLane(op, *lane)) {
    lane = getReducedLane(op, plan.combiners);
    if (!lane || !hasContiguousLane(op, *lane))
      return std::nullopt;
  }
  plan.lane = *lane;
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  for (unsigned dim = 0; dim < op.getNumLoops(); ++dim) {
    if (dim == plan.lane)
      continue;
    if (iterators[dim] == utils::IteratorType::parallel)
      plan.outer.push_back(dim);
    else
      plan.reductions.push_back(dim);
  }
  bool accumulates = !plan.reductions.empty();
  // The innermost parallel loop is unrolled: it reuses vectors of operands
  // that do not depend on it.
  if (!plan.outer.empty())
    plan.row = plan.outer.pop_back_val();

  plan.width = std::max<int64_t>(1, machine.vectorBits / *bits);
  int64_t available = (plan.extents[plan.lane] + plan.width - 1) / plan.width;
  plan.vectors = std::min<int64_t>(available, machine.registers >= 32 ? 4 : 2);
  if (plan.row) {
    // Accumulators, one row of vectors and a broadcast share the registers.
    int64_t limit = accumulates
                        ? (machine.registers - plan.vectors - 2) / plan.vectors
                        : std::max<int64_t>(1, 4 / plan.vectors);
    plan.rows = std::clamp<int64_t>(std::min<int64_t>(limit, 12), 1,
                                    plan.extents[*plan.row]);
  } else {
    plan.rows = 1;
  }
  return plan;
}

namespace {
struct LinalgToVectorLoops
    : mlir::na::impl::LinalgToVectorLoopsPassBase<LinalgToVectorLoops> {
  using LinalgToVectorLoopsPassBase::LinalgToVectorLoopsPassBase;

  void runOnOperation() override {
    if (vectorBits < 64 || vectorBits > 4096 || vectorBits % 64 != 0) {
      getOperation()->emitError("linalg-to-vector-loops: vector-bits = ")
          << int64_t(vectorBits)
          << ", expected a multiple of 64 from 64 to 4096";
      return signalPassFailure();
    }
    if (registers < 4 || registers > 256) {
      getOperation()->emitError("linalg-to-vector-loops: registers = ")
          << int64_t(registers) << ", expected 4 to 256";
      return signalPassFailure();
    }
    Machine machine{vectorBits, registers};
    SmallVector<LinalgOp> ops;
    getOperation()->walk([&](LinalgOp op) { ops.push_back(op); });
    for (LinalgOp op : ops) {
      std::optional<Plan> plan = makePlan(op, machine);
      if (!plan)
        continue;
      ImplicitLocOpBuilder b(op.getLoc(), op);
      Emitter(op, std::move(*plan), b).run();
      op->erase();
    }
  }
};
} // namespace
