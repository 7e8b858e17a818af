//===- RowKernel.cpp - A kernel of operations on rows ---------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowKernel.h"

#include "na/Conversion/GPU/LinearIndex.h"
#include "na/Conversion/GPU/WideBody.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::na;

/// Elements of a row that one thread keeps in registers.
static constexpr int64_t wantedElements = 8, manyElements = 16,
                         mostElements = 32;
static constexpr int64_t warpSize = 32, blockSize = 256;
/// Threads of a row.
static constexpr int64_t leastThreads = 4, mostThreads = 1024;

linalg::LinalgOp RowGroup::getSeed() const {
  for (const RowOp &row : ops)
    if (row.work == RowWork::Reduction)
      return row.op;
  llvm_unreachable("a group has a reduction");
}

namespace {

class RowKernelBuilder {
public:
  RowKernelBuilder(OpBuilder &builder, const RowGroup &group)
      : b(group.getSeed().getLoc(), builder), group(group) {}

  void build();

private:
  void chooseTeam();
  void buildThread();
  bool isDead(Value memref);

  /// Values of the current row.
  Value loadRow(Value memref);
  Value loadElement(Value memref, unsigned k);
  Value loadOperand(const RowOp &row, OpOperand &operand, unsigned k);
  SmallVector<Value> buildBody(const RowOp &row, unsigned k, Value carried);
  void buildInRegisters(const RowOp &row);
  void buildInMemory(const RowOp &row);
  void finishReduction(const RowOp &row, Value partial);
  void storeResults();

  /// 16-bit floats are computed in f32.
  Value extend(Value value) { return extendValue(b, b.getLoc(), value); }
  Value truncate(Value value, Value memref) {
    return truncateValue(b, b.getLoc(), value,
                         cast<MemRefType>(memref.getType()).getElementType());
  }

  Value combine(const RowOp &row, Value x, Value y);
  Value combineTeam(const RowOp &row, Value partial);
  Value shuffle(Value value, int64_t distance, int64_t width);

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, predicate, x, y);
  }
  /// Runs `body` where all of the conditions that are not null hold.
  void guarded(ArrayRef<Value> conditions, function_ref<void()> body);

  ImplicitLocOpBuilder b;
  const RowGroup &group;

  /// Threads of a row, and elements of each; 0 where elements stay in memory.
  int64_t team, elements;
  Value rowSize;
  std::optional<int64_t> knownRowSize;

  gpu::LaunchOp launch;
  Value lane, thread;
  /// Whether this team has a row of its own; null where every team has.
  Value active;
  SmallVector<Value> rowIndices;
  /// Element k of this thread: its index, and whether it exists (null: yes).
  SmallVector<Value> elementIndices, exists;

  /// What is in registers instead of memory.
  llvm::MapVector<Value, SmallVector<Value>> elementValues;
  llvm::MapVector<Value, Value> rowValues;
  llvm::SetVector<Value> written;
  llvm::DenseSet<Value> loadedRows;
};

} // namespace

void RowKernelBuilder::guarded(ArrayRef<Value> conditions,
                               function_ref<void()> body) {
  Value all;
  for (Value condition : conditions)
    if (condition)
      all = all ? arith::AndIOp::create(b, all, condition) : condition;
  if (!all)
    return body();
  auto guard = scf::IfOp::create(b, all, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard keep(b);
  b.setInsertionPointToStart(guard.thenBlock());
  body();
}

/// Several elements a thread, so that enough loads are in flight; but no more
/// warps than registers ask for, as warps meet in shared memory.
void RowKernelBuilder::chooseTeam() {
  elements = 0;
  team = blockSize;
  if (!knownRowSize)
    return;
  int64_t size = std::max<int64_t>(*knownRowSize, 1);
  auto threadsFor = [&](int64_t elements) -> int64_t {
    return llvm::PowerOf2Ceil(llvm::divideCeil(size, elements));
  };
  int64_t wanted = threadsFor(wantedElements);
  if (wanted > warpSize)
    wanted = std::max(warpSize, threadsFor(manyElements));
  int64_t least = std::min(leastThreads, threadsFor(1));
  wanted = std::min(mostThreads, std::max(wanted, least));
  if (int64_t each = llvm::divideCeil(size, wanted); each <= mostElements) {
    team = wanted;
    elements = each;
  }
}

void RowKernelBuilder::build() {
  linalg::LinalgOp seed = group.getSeed();
  SmallVector<Value> counts;
  SmallVector<Range> ranges = seed.createLoopRanges(b, b.getLoc());
  for (const Range &range : ranges)
    counts.push_back(
        getValueOrCreateConstantIndexOp(b, b.getLoc(), range.size));
  rowSize = counts.pop_back_val();
  knownRowSize = getConstantIntValue(rowSize);
  chooseTeam();
  Value rows = index(1);
  for (Value count : counts)
    rows = b.createOrFold<arith::MulIOp>(rows, count);

  int64_t teams = std::max<int64_t>(1, blockSize / team);
  // Teams of several warps meet at barriers of the whole block.
  if (team > warpSize)
    teams = 1;
  Value one = index(1), threads = index(team * teams);
  Value blocks = b.createOrFold<arith::CeilDivUIOp>(rows, index(teams));
  launch = gpu::LaunchOp::create(b, blocks, one, one, threads, one, one);
  b.setInsertionPointToStart(&launch.getBody().front());
  auto terminator = gpu::TerminatorOp::create(b);
  b.setInsertionPoint(terminator);

  thread = launch.getThreadIds().x;
  Value row = launch.getBlockIds().x;
  lane = thread;
  if (teams > 1) {
    lane = arith::RemUIOp::create(b, thread, index(team));
    Value first = arith::MulIOp::create(b, row, index(teams));
    row = arith::AddIOp::create(b, first,
                                arith::DivUIOp::create(b, thread, index(team)));
    std::optional<int64_t> known = getConstantIntValue(rows);
    if (!known || *known % teams != 0) {
      // All threads of a warp take part in its shuffles. Teams without a row
      // compute the last one again.
      active = compare(arith::CmpIPredicate::ult, row, rows);
      Value last = arith::SubIOp::create(b, rows, index(1));
      row = arith::MinUIOp::create(b, row, last);
    }
  }
  rowIndices = delinearize(b, row, counts, rows);
  buildThread();
}

void RowKernelBuilder::buildThread() {
  for (int64_t k = 0; k < elements; ++k) {
    Value at = lane;
    if (k > 0)
      at = arith::AddIOp::create(b, lane, index(k * team));
    Value inside;
    if ((k + 1) * team > *knownRowSize) {
      inside = compare(arith::CmpIPredicate::ult, at, rowSize);
      Value last = index(std::max<int64_t>(*knownRowSize - 1, 0));
      at = arith::MinUIOp::create(b, at, last);
    }
    elementIndices.push_back(at);
    exists.push_back(inside);
  }
  for (const RowOp &row : group.ops) {
    if (elements > 0 || row.work == RowWork::Scalar)
      buildInRegisters(row);
    else
      buildInMemory(row);
  }
  storeResults();
}

Value RowKernelBuilder::loadRow(Value memref) {
  Value &value = rowValues[memref];
  if (!value) {
    value = memref::LoadOp::create(b, memref, rowIndices);
    loadedRows.insert(memref);
  }
  return value;
}

Value RowKernelBuilder::loadElement(Value memref, unsigned k) {
  SmallVector<Value> indices(rowIndices);
  indices.push_back(elementIndices[k]);
  if (elements == 0)
    return memref::LoadOp::create(b, memref, indices);
  SmallVector<Value> &values = elementValues[memref];
  values.resize(elements);
  if (!values[k])
    values[k] = memref::LoadOp::create(b, memref, indices);
  return values[k];
}

/// The value of an operand of `row` at element `k` of this thread.
Value RowKernelBuilder::loadOperand(const RowOp &row, OpOperand &operand,
                                    unsigned k) {
  if (!isa<MemRefType>(operand.get().getType()))
    return operand.get();
  switch (row.getAccess(operand)) {
  case RowAccess::Element:
    return loadElement(operand.get(), k);
  case RowAccess::Row:
    return loadRow(operand.get());
  case RowAccess::Other:
    break;
  }
  linalg::LinalgOp op = row.op;
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<Value> ivs(rowIndices);
  if (row.work != RowWork::Scalar)
    ivs.push_back(elementIndices[k]);
  SmallVector<Value> indices;
  for (AffineExpr result : map.getResults())
    indices.push_back(affine::AffineApplyOp::create(
        b, AffineMap::get(map.getNumDims(), 0, result), ivs));
  return memref::LoadOp::create(b, operand.get(), indices);
}

/// The body of `row` at element `k`; of a reduction with `carried` for the
/// result so far.
SmallVector<Value> RowKernelBuilder::buildBody(const RowOp &row, unsigned k,
                                               Value carried) {
  linalg::LinalgOp op = row.op;
  IRMapping map;
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    if (argument.use_empty())
      continue;
    map.map(argument, carried && op.isDpsInit(&operand)
                          ? carried
                          : extend(loadOperand(row, operand, k)));
  }
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (auto indexOp = dyn_cast<linalg::IndexOp>(inner)) {
      unsigned dim = indexOp.getDim();
      map.map(indexOp.getResult(),
              dim < rowIndices.size() ? rowIndices[dim] : elementIndices[k]);
      continue;
    }
    cloneWide(b, inner, map);
  }
  SmallVector<Value> results;
  for (auto [init, value] : llvm::zip_equal(
           op.getDpsInits(), op.getBlock()->getTerminator()->getOperands())) {
    Value result = extend(map.lookupOrDefault(value));
    // Only what a reduction carries is not rounded.
    results.push_back(carried ? result : truncate(result, init));
  }
  return results;
}

void RowKernelBuilder::buildInRegisters(const RowOp &row) {
  linalg::LinalgOp op = row.op;
  if (row.work == RowWork::Scalar) {
    SmallVector<Value> results = buildBody(row, 0, Value());
    for (auto [init, value] : llvm::zip_equal(op.getDpsInits(), results)) {
      rowValues[init] = value;
      written.insert(init);
    }
    return;
  }
  if (row.work == RowWork::Reduction) {
    Value partial = arith::ConstantOp::create(b, row.neutral);
    for (int64_t k = 0; k < elements; ++k) {
      Value next = buildBody(row, k, partial).front();
      partial = exists[k] ? arith::SelectOp::create(b, exists[k], next, partial)
                          : next;
    }
    return finishReduction(row, partial);
  }
  SmallVector<SmallVector<Value>> results;
  for (int64_t k = 0; k < elements; ++k)
    results.push_back(buildBody(row, k, Value()));
  for (auto [i, init] : llvm::enumerate(op.getDpsInits())) {
    SmallVector<Value> values;
    for (const SmallVector<Value> &result : results)
      values.push_back(result[i]);
    elementValues[init] = values;
    written.insert(init);
  }
}

/// Every thread reads what it has written itself.
void RowKernelBuilder::buildInMemory(const RowOp &row) {
  linalg::LinalgOp op = row.op;
  Value step = index(team);
  SmallVector<Value> inits;
  if (row.work == RowWork::Reduction)
    inits.push_back(arith::ConstantOp::create(b, row.neutral));
  // Their loads stay outside.
  for (OpOperand &operand : op->getOpOperands())
    if (isa<MemRefType>(operand.get().getType()) &&
        row.getAccess(operand) == RowAccess::Row &&
        (!op.isDpsInit(&operand) || row.work != RowWork::Reduction))
      loadRow(operand.get());
  auto loop = scf::ForOp::create(b, lane, rowSize, step, inits);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    elementIndices = {loop.getInductionVar()};
    Value carried = inits.empty() ? Value() : loop.getRegionIterArg(0);
    SmallVector<Value> results = buildBody(row, 0, carried);
    if (carried) {
      scf::YieldOp::create(b, results);
    } else {
      SmallVector<Value> indices(rowIndices);
      indices.push_back(loop.getInductionVar());
      for (auto [init, value] : llvm::zip_equal(op.getDpsInits(), results))
        memref::StoreOp::create(b, value, init, indices);
    }
  }
  if (row.work == RowWork::Reduction)
    finishReduction(row, loop.getResult(0));
}

void RowKernelBuilder::finishReduction(const RowOp &row, Value partial) {
  linalg::LinalgOp op = row.op;
  Value init = op.getDpsInits().front();
  Value all = combine(row, combineTeam(row, partial), extend(loadRow(init)));
  rowValues[init] = truncate(all, init);
  written.insert(init);
}

Value RowKernelBuilder::combine(const RowOp &row, Value x, Value y) {
  linalg::LinalgOp op = row.op;
  IRMapping map;
  map.map(row.element, x);
  map.map(op.getRegionOutputArgs().front(), y);
  for (Operation *inner : row.combiner)
    cloneWide(b, *inner, map);
  return map.lookup(row.combiner.back()->getResult(0));
}

/// The value of the thread whose lane differs in the bit `distance`.
Value RowKernelBuilder::shuffle(Value value, int64_t distance, int64_t width) {
  Type type = value.getType();
  bool narrow = type.getIntOrFloatBitWidth() < 32; // Shuffles are of 32 bits.
  if (narrow)
    value = arith::ExtUIOp::create(b, b.getI32Type(), value);
  Value received =
      gpu::ShuffleOp::create(b, value, distance, width, gpu::ShuffleMode::XOR)
          .getShuffleResult();
  if (narrow)
    received = arith::TruncIOp::create(b, type, received);
  return received;
}

/// Combines the partial results of a team; all of its threads get the result.
Value RowKernelBuilder::combineTeam(const RowOp &row, Value partial) {
  auto combineLanes = [&](Value value, int64_t lanes) {
    for (int64_t distance = lanes / 2; distance > 0; distance /= 2)
      value = combine(row, shuffle(value, distance, warpSize), value);
    return value;
  };
  Value result = combineLanes(partial, std::min(team, warpSize));
  if (team <= warpSize)
    return result;

  // One value a warp, through shared memory of this reduction's own, so that
  // one barrier is enough.
  int64_t warps = team / warpSize;
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get({warps}, partial.getType(),
                              MemRefLayoutAttrInterface(), space);
  Value shared = launch.addWorkgroupAttribution(type, b.getLoc());
  Value warp = arith::DivUIOp::create(b, thread, index(warpSize));
  Value inWarp = arith::RemUIOp::create(b, thread, index(warpSize));
  guarded({compare(arith::CmpIPredicate::eq, inWarp, index(0))},
          [&] { memref::StoreOp::create(b, result, shared, warp); });
  gpu::BarrierOp::create(b);
  Value other = arith::RemUIOp::create(b, thread, index(warps));
  return combineLanes(memref::LoadOp::create(b, shared, other), warps);
}

/// Whether nothing reads what the group leaves in `memref`.
bool RowKernelBuilder::isDead(Value memref) {
  Operation *allocation = memref.getDefiningOp<memref::AllocOp>();
  Operation *last = group.ops.back().op;
  if (!allocation || allocation->getBlock() != last->getBlock())
    return false;
  return llvm::all_of(memref.getUsers(), [&](Operation *user) {
    if (isa<memref::DeallocOp>(user) ||
        llvm::any_of(group.ops,
                     [&](const RowOp &row) { return row.op == user; }))
      return true;
    // Others have read it before, unless they make views of it.
    Operation *ancestor = last->getBlock()->findAncestorOpInBlock(*user);
    return llvm::none_of(user->getResultTypes(),
                         llvm::IsaPred<BaseMemRefType>) &&
           ancestor && ancestor->isBeforeInBlock(last);
  });
}

void RowKernelBuilder::storeResults() {
  // All threads of a team load the value of a row that one of them replaces.
  if (llvm::any_of(written, [&](Value memref) {
        return loadedRows.contains(memref) && !isDead(memref);
      }))
    gpu::BarrierOp::create(b);
  for (Value memref : written) {
    if (isDead(memref))
      continue;
    auto values = elementValues.find(memref);
    if (values == elementValues.end()) {
      Value isFirst = compare(arith::CmpIPredicate::eq, lane, index(0));
      guarded({active, isFirst}, [&] {
        memref::StoreOp::create(b, rowValues[memref], memref, rowIndices);
      });
      continue;
    }
    for (auto [at, inside, value] :
         llvm::zip_equal(elementIndices, exists, values->second)) {
      SmallVector<Value> indices(rowIndices);
      indices.push_back(at);
      guarded({active, inside}, [&, value = value] {
        memref::StoreOp::create(b, value, memref, indices);
      });
    }
  }
}

void mlir::na::buildRowKernel(OpBuilder &builder, const RowGroup &group) {
  builder.setInsertionPoint(group.ops.back().op);
  RowKernelBuilder(builder, group).build();
}
