//===- AssignLayouts.cpp - Place tiles in registers and shared memory -----===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutAssigner.h"

#include "na/Dialect/NAGPU/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

namespace mlir::nagpu {
#define GEN_PASS_DEF_NAGPUASSIGNLAYOUTS
#include "na/Dialect/NAGPU/Transforms/Passes.h.inc"
} // namespace mlir::nagpu

using namespace mlir;
using namespace mlir::nagpu;

static constexpr int64_t warpSize = 32;
static constexpr int64_t maxThreads = 1024;
/// An operand of at most so many registers a thread is kept in them over the
/// loops, instead of being read from shared memory in every iteration, if they
/// hold no more than that with it.
static constexpr int64_t residentRegisters = 32;
static constexpr int64_t loopRegisters = 200;

SmallVector<Value> mlir::nagpu::buildMap(
    ImplicitLocOpBuilder &b, ValueRange inputs, ArrayRef<FragmentType> results,
    FragmentType over,
    function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, ValueRange)> body) {
  SmallVector<Type> resultTypes(results.begin(), results.end());
  auto map = MapOp::create(b, resultTypes, inputs,
                           results.empty() ? TypeAttr::get(over) : TypeAttr());
  Block &block = map.getBody().emplaceBlock();
  for (Value input : inputs)
    block.addArgument(cast<FragmentType>(input.getType()).getElementType(),
                      b.getLoc());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&block);
  YieldOp::create(b, body(b, block.getArguments()));
  return llvm::to_vector_of<Value>(map.getResults());
}

SmallVector<Value> mlir::nagpu::buildDigits(ImplicitLocOpBuilder &b, Value lane,
                                            ArrayRef<int64_t> box) {
  SmallVector<Value> digits(box.size());
  Value rest = lane;
  for (int64_t axis = box.size() - 1; axis >= 0; --axis) {
    if (axis == 0) {
      digits[axis] = rest;
      break;
    }
    Value extent = arith::ConstantOp::create(b, b.getI32IntegerAttr(box[axis]));
    digits[axis] = arith::RemUIOp::create(b, rest, extent);
    rest = arith::DivUIOp::create(b, rest, extent);
  }
  return digits;
}

FragmentType LayoutAssigner::getFragmentType(Operation *op,
                                             RankedTensorType type) {
  auto emitError = [&] {
    return op->emitError("nagpu-assign-layouts: no fragment for ")
           << type << ": ";
  };
  if (!type.hasStaticShape() || type.getRank() < 1 || type.getRank() > 2) {
    emitError() << "expected one or two static dimensions";
    return {};
  }
  Type elementType = type.getElementType();
  if (type.getRank() == 1)
    return FragmentType::getChecked(emitError, b.getContext(), type.getShape(),
                                    elementType, Role::Row, warps);
  if (elementType.isF16() || elementType.isBF16())
    elementType = b.getF32Type();
  int64_t shape[] = {type.getDimSize(0), padColumns(type.getDimSize(1))};
  return FragmentType::getChecked(emitError, b.getContext(), ArrayRef(shape),
                                  elementType, Role::Accumulator, warps);
}

/// Bytes, at most 16, that divide the distance of any two rows of channels, as
/// far as the type tells.
static int64_t getRowAlignment(MemRefType type) {
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  int64_t rows = 16;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return bytes;
  auto divide = [&](int64_t elements) {
    int64_t distance = ShapedType::isDynamic(elements) ? 1 : elements;
    rows = std::gcd(rows, distance * bytes);
  };
  divide(type.getShape().back());
  divide(offset);
  for (int64_t stride : ArrayRef(strides).drop_back())
    divide(stride);
  return rows;
}

/// Says outside the launch which alignment wide accesses in it rely on.
void LayoutAssigner::assumeAlignments() {
  llvm::MapVector<Value, int64_t> alignments;
  launch.walk([&](Operation *op) {
    Value memref;
    if (auto load = dyn_cast<mlir::na::TileLoadOp>(op))
      memref = load.getSource();
    else if (auto store = dyn_cast<mlir::na::TileStoreOp>(op))
      memref = store.getDest();
    else if (auto add = dyn_cast<mlir::na::TileAddOp>(op))
      memref = add.getDest();
    if (!memref)
      return;
    int64_t alignment = getRowAlignment(cast<MemRefType>(memref.getType()));
    // A view that the host takes is an argument of the kernel itself.
    while (auto view = memref.getDefiningOp<ViewLikeOpInterface>()) {
      if (!launch->isProperAncestor(view))
        break;
      memref = view.getViewSource();
    }
    auto [it, inserted] = alignments.try_emplace(memref, alignment);
    if (!inserted)
      it->second = std::max(it->second, alignment);
  });
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(launch);
  for (auto [memref, alignment] : alignments)
    if (memref.getParentRegion()->isProperAncestor(&launch.getBody()))
      mapping.map(
          memref,
          memref::AssumeAlignmentOp::create(b, memref, alignment).getResult());
}

LogicalResult LayoutAssigner::run() {
  assumeAlignments();
  Region &region = launch.getBody();
  if (!region.hasOneBlock())
    return launch.emitError("nagpu-assign-layouts: body has several blocks");
  Block &old = region.front();
  auto *block = new Block();
  for (BlockArgument arg : old.getArguments())
    mapping.map(arg, block->addArgument(arg.getType(), arg.getLoc()));
  region.push_back(block);
  b.setInsertionPointToEnd(block);
  if (failed(convertBlock(old)))
    return failure();
  gpu::TerminatorOp::create(b);
  old.dropAllDefinedValueUses();
  for (BlockArgument arg : old.getArguments())
    arg.dropAllUses();
  old.erase();
  return success();
}

LogicalResult LayoutAssigner::convertBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    b.setLoc(op.getLoc());
    if (failed(convert(op)))
      return failure();
  }
  return success();
}

LogicalResult LayoutAssigner::convert(Operation &op) {
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](scf::ForOp op) { return convertFor(op); })
      .Case([&](scf::IfOp op) { return convertIf(op); })
      .Case([&](scf::ForallOp op) { return convertWarpgroups(op); })
      .Case([&](na::TileLoadOp op) { return convertLoad(op); })
      .Case([&](na::TileStoreOp op) { return convertStore(op); })
      .Case([&](na::TileAddOp op) { return convertAdd(op); })
      .Case([&](na::TileWindowsOp op) { return convertWindows(op); })
      .Case([&](na::TileMaskOp op) { return convertMask(op); })
      .Case([&](na::TileBiasOp op) { return convertBias(op); })
      .Case([&](na::TileScatterOp op) { return convertScatter(op); })
      .Case([&](na::TileGatherOp op) { return convertGather(op); })
      .Case([&](linalg::FillOp op) { return convertFill(op); })
      .Case([&](linalg::ContractOp op) { return convertContract(op); })
      .Case([&](linalg::GenericOp op) { return convertGeneric(op); })
      .Case([&](tensor::EmptyOp) { return success(); })
      .Default([&](Operation *op) -> LogicalResult {
        auto isTensor = [](Type type) { return isa<TensorType>(type); };
        if (llvm::any_of(op->getOperandTypes(), isTensor) ||
            llvm::any_of(op->getResultTypes(), isTensor) ||
            op->getNumRegions() != 0)
          return op->emitError(
              "nagpu-assign-layouts: no layout for this operation");
        convertScalar(*op);
        return success();
      });
}

void LayoutAssigner::convertScalar(Operation &op) { b.clone(op, mapping); }

LogicalResult LayoutAssigner::convertYield(Operation *yield, TypeRange types) {
  SmallVector<Value> values;
  for (auto [value, type] : llvm::zip_equal(yield->getOperands(), types)) {
    Value converted =
        isa<TensorType>(value.getType()) ? fragment(value) : scalar(value);
    if (!converted || converted.getType() != type)
      return yield->emitError("nagpu-assign-layouts: operand ")
             << values.size() << " is not in registers as " << type;
    values.push_back(converted);
  }
  b.setLoc(yield->getLoc());
  scf::YieldOp::create(b, values);
  return success();
}

/// Registers a thread for the tiles that a loop carries from `inits`, and those
/// that each iteration computes by products.
int64_t LayoutAssigner::countRegisters(scf::ForOp loop, ValueRange inits) {
  int64_t registers = 0;
  for (Value init : inits)
    if (auto type = dyn_cast<FragmentType>(init.getType()))
      registers += type.getNumRegisters();
  loop.walk([&](linalg::ContractOp product) {
    if (!product.getOutputs()[0].getDefiningOp<linalg::FillOp>())
      return;
    auto type = cast<RankedTensorType>(product.getOutputs()[0].getType());
    int64_t rows = llvm::divideCeil(type.getDimSize(0), warps);
    registers += rows * padColumns(type.getDimSize(1)) / warpSize;
  });
  return registers;
}

LogicalResult LayoutAssigner::convertFor(scf::ForOp loop) {
  SmallVector<Value> inits;
  for (Value init : loop.getInitArgs())
    inits.push_back(isa<TensorType>(init.getType()) ? fragment(init)
                                                    : scalar(init));
  if (llvm::is_contained(inits, Value()))
    return loop.emitError("nagpu-assign-layouts: a loop carries a tile that "
                          "is not in registers");
  if (loops.empty())
    carriedRegisters = countRegisters(loop, inits);
  auto converted = scf::ForOp::create(b, scalar(loop.getLowerBound()),
                                      scalar(loop.getUpperBound()),
                                      scalar(loop.getStep()), inits);
  mapping.map(loop.getInductionVar(), converted.getInductionVar());
  auto bind = [&](ValueRange from, ValueRange to) {
    for (auto [old, value] : llvm::zip_equal(from, to)) {
      if (isa<TensorType>(old.getType()))
        fragments[old] = value;
      else
        mapping.map(old, value);
    }
  };
  bind(loop.getRegionIterArgs(), converted.getRegionIterArgs());
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(converted.getBody());
    // Without carried values the builder has made the terminator already.
    if (inits.empty())
      b.setInsertionPoint(converted.getBody()->getTerminator());
    loops.push_back(converted);
    if (failed(convertBlock(*loop.getBody())))
      return failure();
    loops.pop_back();
    if (!inits.empty() && failed(convertYield(loop.getBody()->getTerminator(),
                                              ValueRange(inits).getTypes())))
      return failure();
  }
  bind(loop.getResults(), converted.getResults());
  return success();
}

/// The load whose tile a branch gives back; null if it is none, or does more.
static mlir::na::TileLoadOp getOnlyLoad(Block *block) {
  if (!block || block->getTerminator()->getNumOperands() != 1)
    return {};
  auto load = block->getTerminator()
                  ->getOperand(0)
                  .getDefiningOp<mlir::na::TileLoadOp>();
  return load && load->getBlock() == block ? load : mlir::na::TileLoadOp();
}

LogicalResult LayoutAssigner::convertIf(scf::IfOp branch) {
  if (getOnlyLoad(branch.thenBlock()) && getOnlyLoad(branch.elseBlock()))
    return convertLoadChoice(branch);
  SmallVector<Type> types;
  for (Type type : branch.getResultTypes()) {
    if (auto tensor = dyn_cast<RankedTensorType>(type)) {
      type = getFragmentType(branch, tensor);
      if (!type)
        return failure();
    }
    types.push_back(type);
  }
  auto converted =
      scf::IfOp::create(b, types, scalar(branch.getCondition()),
                        /*addThenBlock=*/true,
                        /*addElseBlock=*/branch.elseBlock() != nullptr);
  auto convertBranch = [&](Block *from, Block *to) -> LogicalResult {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(to);
    return failure(failed(convertBlock(*from)) ||
                   failed(convertYield(from->getTerminator(), types)));
  };
  if (failed(convertBranch(branch.thenBlock(), converted.thenBlock())) ||
      (branch.elseBlock() &&
       failed(convertBranch(branch.elseBlock(), converted.elseBlock()))))
    return failure();
  for (auto [old, value] :
       llvm::zip_equal(branch.getResults(), converted.getResults())) {
    if (isa<TensorType>(old.getType()))
      fragments[old] = value;
    else
      mapping.map(old, value);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

/// The tile in shared memory that a load fills; null, after an error, if there
/// is none.
SharedType LayoutAssigner::getTileType(na::TileLoadOp op) {
  auto emitError = [&](const Twine &text) {
    return op.emitError("nagpu-assign-layouts: " + text);
  };
  auto tensor = dyn_cast<RankedTensorType>(op.getInit().getType());
  Type elementType =
      cast<MemRefType>(op.getSource().getType()).getElementType();
  if (!tensor || op.getTransposed() || tensor.getElementType() != elementType)
    return emitError("a tile on a GPU is a tensor of its source's element "
                     "type, not transposed"),
           SharedType();
  if (!tensor.hasStaticShape())
    return emitError("expected a tile of static shape, got ") << tensor,
           SharedType();
  if (tensor.getDimSize(0) % 16 != 0)
    return emitError("a tile of ")
               << tensor.getDimSize(0)
               << " tokens; matrix instructions need a multiple of 16",
           SharedType();
  auto check = [&] { return emitError(""); };
  if (tensor.getRank() == 1)
    return SharedType::getChecked(check, b.getContext(),
                                  {1, tensor.getDimSize(0)}, elementType,
                                  Swizzle::Linear);
  int64_t shape[] = {tensor.getDimSize(0), padColumns(tensor.getDimSize(1))};
  if (warpgroups && shape[1] != tensor.getDimSize(1))
    return emitError("a tile of ")
               << tensor.getDimSize(1)
               << " channels for a warpgroup, expected a multiple of 16",
           SharedType();
  return SharedType::getChecked(
      check, b.getContext(), ArrayRef(shape), elementType,
      warpgroups ? getPanels(elementType, shape[1]) : Swizzle::Linear);
}

Value LayoutAssigner::buildTile(SharedType type) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(warpgroups ? warpgroups.getBody()
                                        : &launch.getBody().back());
  return AllocOp::create(b, type, IntegerAttr());
}

/// Starts to copy what `op` loads; returns the token.
Value LayoutAssigner::buildCopy(na::TileLoadOp op, Value slot) {
  return AsyncCopyOp::create(b, scalar(op.getSource()), scalar(op.getBatch()),
                             scalar(op.getHead()), scalars(op.getAt()), slot,
                             op.getBox(), op.getDilation(), warps);
}

LogicalResult LayoutAssigner::convertLoad(na::TileLoadOp op) {
  SharedType type = getTileType(op);
  if (!type)
    return failure();
  Value slot = buildTile(type);
  // Nobody reads what the last iteration loaded any more. (Warpgroups wait for
  // each other's tiles only once nagpu-specialize-warps has made them one.)
  if (!loops.empty() && !warpgroups)
    BarrierOp::create(b);
  Value group = AsyncCommitOp::create(b, buildCopy(op, slot));
  tiles[op.getResult()] =
      AsyncWaitOp::create(b, TypeRange(type), group, slot, /*pending=*/0)
          .getResult(0);
  return success();
}

/// A tile that one of two loads fills: the copies are a branch, what follows
/// them is common.
LogicalResult LayoutAssigner::convertLoadChoice(scf::IfOp branch) {
  SharedType type = getTileType(getOnlyLoad(branch.thenBlock()));
  if (!type)
    return failure();
  if (type != getTileType(getOnlyLoad(branch.elseBlock())))
    return branch.emitError("nagpu-assign-layouts: the tiles of the two "
                            "branches have different types");
  Value slot = buildTile(type);
  if (!loops.empty() && !warpgroups)
    BarrierOp::create(b);
  auto choice =
      scf::IfOp::create(b, TypeRange(TokenType::get(b.getContext())),
                        scalar(branch.getCondition()), /*addThenBlock=*/true,
                        /*addElseBlock=*/true);
  auto convertBranch = [&](Block *from, Block *to) -> LogicalResult {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(to);
    mlir::na::TileLoadOp load = getOnlyLoad(from);
    for (Operation &op : from->without_terminator())
      if (&op != load && failed(convert(op)))
        return failure();
    scf::YieldOp::create(b, buildCopy(load, slot));
    return success();
  };
  if (failed(convertBranch(branch.thenBlock(), choice.thenBlock())) ||
      failed(convertBranch(branch.elseBlock(), choice.elseBlock())))
    return failure();
  Value group = AsyncCommitOp::create(b, choice.getResult(0));
  tiles[branch.getResult(0)] =
      AsyncWaitOp::create(b, TypeRange(type), group, slot, /*pending=*/0)
          .getResult(0);
  return success();
}

LogicalResult LayoutAssigner::convertStore(na::TileStoreOp op) {
  Value source = fragment(op.getTile());
  if (!source || op.getTransposed() ||
      cast<FragmentType>(source.getType()).getRole() == Role::Lhs)
    return op.emitError("nagpu-assign-layouts: expected a computed f32 tile "
                        "[queries, channels] or [queries]");
  StoreOp::create(b, source, scalar(op.getDest()), scalar(op.getBatch()),
                  scalar(op.getHead()), scalars(op.getAt()), op.getBox(),
                  op.getDilation());
  return success();
}

LogicalResult LayoutAssigner::convertFill(linalg::FillOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getOutputs()[0].getType());
  if (!type)
    return op.emitError("nagpu-assign-layouts: fill of a memref in a kernel");
  FragmentType fragmentType = getFragmentType(op, type);
  if (!fragmentType)
    return failure();
  Value value = scalar(op.getInputs()[0]);
  if (value.getType() != fragmentType.getElementType())
    return op.emitError("nagpu-assign-layouts: fill with ")
           << value.getType() << ", expected " << fragmentType.getElementType();
  fragments[op.getResult(0)] = SplatOp::create(b, fragmentType, value);
  return success();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The columns from `column` on of a left operand, `depth` of them. Where the
/// whole operand can stay in registers, it is loaded before the loops.
Value LayoutAssigner::getLhsSlice(Value tile, int64_t column, int64_t depth) {
  auto type = cast<SharedType>(tile.getType());
  int64_t columns = type.getColumns();
  auto sliceType = FragmentType::get(b.getContext(), {type.getRows(), depth},
                                     type.getElementType(), Role::Lhs, warps);
  auto load = [&](int64_t column) {
    return LdMatrixOp::create(b, sliceType, tile, 0, column, false, false);
  };
  if (auto it = resident.find(tile); it != resident.end())
    return it->second[column / depth];
  int64_t registers = sliceType.getNumRegisters() * columns / depth;
  bool invariant =
      !loops.empty() && tile.getParentRegion() == &launch.getBody();
  if (!invariant || registers > residentRegisters ||
      carriedRegisters + keptRegisters + registers > loopRegisters)
    return load(column);
  keptRegisters += registers;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(tile);
  SmallVector<Value> &slices = resident[tile];
  for (int64_t k = 0; k < columns; k += depth)
    slices.push_back(load(k));
  return slices[column / depth];
}

/// acc + lhs * rhs, or lhs * rhs^T with `transposed`. `rhs` is a shared tile,
/// `lhs` a shared tile, which may be [K, M], or a fragment.
Value LayoutAssigner::buildProduct(Value lhs, Value rhs, Value acc,
                                   bool transposed, bool lhsTransposed) {
  auto rhsType = cast<SharedType>(rhs.getType());
  Type elementType = rhsType.getElementType();
  if (elementType.isF32() && !tf32)
    return FmaOp::create(b, acc.getType(), lhs, rhs, acc, transposed,
                         lhsTransposed);

  int64_t depth = depthOf(elementType);
  int64_t inner = transposed ? rhsType.getColumns() : rhsType.getRows();
  int64_t outer = transposed ? rhsType.getRows() : rhsType.getColumns();
  bool fromFragment = isa<FragmentType>(lhs.getType());
  if (fromFragment) {
    auto lhsType = cast<FragmentType>(lhs.getType());
    auto whole = FragmentType::get(b.getContext(), lhsType.getShape(),
                                   elementType, Role::Lhs, warps);
    if (whole != lhsType)
      lhs = ConvertOp::create(b, whole, lhs);
  }
  auto rhsSlice = FragmentType::get(b.getContext(), {depth, outer}, elementType,
                                    Role::Rhs, warps);
  for (int64_t k = 0; k < inner; k += depth) {
    Value left;
    if (lhsTransposed)
      left = LdMatrixOp::create(
          b,
          FragmentType::get(
              b.getContext(),
              {cast<FragmentType>(acc.getType()).getRows(), depth}, elementType,
              Role::Lhs, warps),
          lhs, /*row=*/k, /*column=*/0, /*transposed=*/true,
          /*permuted=*/false);
    else if (!fromFragment)
      left = getLhsSlice(lhs, k, depth);
    Value right = LdMatrixOp::create(
        b, rhsSlice, rhs, transposed ? 0 : k, transposed ? k : 0, transposed,
        /*permuted=*/fromFragment && elementType.isF32());
    if (fromFragment) {
      auto lhsType = cast<FragmentType>(lhs.getType());
      left = ExtractOp::create(b,
                               FragmentType::get(b.getContext(),
                                                 {lhsType.getRows(), depth},
                                                 elementType, Role::Lhs, warps),
                               lhs, k);
    }
    acc = MmaOp::create(b, acc.getType(), left, right, acc);
  }
  return acc;
}

bool mlir::nagpu::isTransposedLhs(linalg::ContractOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  return op.getInputs()[0].getDefiningOp<mlir::na::TileGatherOp>() &&
         maps[0].getNumResults() == 2 && maps[2].getNumResults() == 2 &&
         maps[0].getResult(1) == maps[2].getResult(0);
}

LogicalResult LayoutAssigner::convertContract(linalg::ContractOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  AffineExpr m, n, k;
  bindDims(b.getContext(), m, n, k);
  auto is = [&](AffineMap map, AffineExpr first, AffineExpr second) {
    return map == AffineMap::get(3, 0, {first, second}, b.getContext());
  };
  // The loops may be numbered in any order.
  if (maps[2].getNumResults() != 2 || maps[2].getNumDims() != 3)
    return op.emitError("nagpu-assign-layouts: not a product of matrices");
  m = maps[2].getResult(0);
  n = maps[2].getResult(1);
  for (unsigned dim = 0; dim < 3; ++dim)
    if (AffineExpr d = b.getAffineDimExpr(dim); d != m && d != n)
      k = d;
  if (warpgroups && is(maps[0], k, m) && is(maps[1], k, n))
    return convertColumnSums(op);
  bool transposed = is(maps[1], n, k);
  bool lhsTransposed = isTransposedLhs(op);
  Value left = op.getInputs()[0], right = op.getInputs()[1];
  Value acc = fragment(op.getOutputs()[0]);
  Value rhs = tiles.lookup(right);
  Value lhs = tiles.lookup(left);
  if (!lhs)
    lhs = fragment(left);
  if (!(lhsTransposed || is(maps[0], m, k)) ||
      !(transposed || is(maps[1], k, n)) || !lhs || !rhs || !acc)
    return op.emitError("nagpu-assign-layouts: expected a product of a tile of "
                        "queries or weights with a loaded tile");
  auto getElement = [](Value value) {
    return cast<ShapedType>(value.getType()).getElementType();
  };
  if (getElement(left) != getElement(right) ||
      !getElement(op.getOutputs()[0]).isF32())
    return op.emitError("nagpu-assign-layouts: a product of ")
           << getElement(left) << " and " << getElement(right) << " in "
           << getElement(op.getOutputs()[0])
           << ", expected operands of one type and f32";
  // The columns of such weights are permuted, and the rows of a transposed
  // operand cannot be.
  if (tf32 && transposed && isa<FragmentType>(lhs.getType()) &&
      getElement(left).isF32())
    return op.emitError("nagpu-assign-layouts: a product of computed tf32 "
                        "weights with a transposed tile");
  Value product = warpgroups
                      ? buildWarpgroupProduct(lhs, rhs, acc, transposed)
                      : buildProduct(lhs, rhs, acc, transposed, lhsTransposed);
  if (!product)
    return failure();
  fragments[op.getResult(0)] = product;
  return success();
}

static bool isVector(mlir::na::TileLoadOp load) {
  return cast<ShapedType>(load.getInit().getType()).getRank() == 1;
}

/// Checks that the work on tiles of a launch is that of its warpgroups, and of
/// a type that their products take.
static LogicalResult verifyWarpgroups(gpu::LaunchOp launch,
                                      scf::ForallOp loop) {
  WalkResult result = launch.walk([&](Operation *op) -> WalkResult {
    if (!op->getName().getStringRef().starts_with("na.tile."))
      return WalkResult::advance();
    if (!loop->isProperAncestor(op))
      return op->emitError("nagpu-assign-layouts: a tile outside of the loop "
                           "over the warpgroups");
    auto load = dyn_cast<mlir::na::TileLoadOp>(op);
    if (!load)
      return WalkResult::advance();
    Type type = cast<MemRefType>(load.getSource().getType()).getElementType();
    // Numbers of tokens are no operands of products.
    if (!type.isF16() && !type.isBF16() && !isVector(load))
      return op->emitError("nagpu-assign-layouts: a tile of ")
             << type << " for a warpgroup, expected 'f16' or 'bf16'";
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct AssignLayouts : nagpu::impl::NAGPUAssignLayoutsBase<AssignLayouts> {
  using NAGPUAssignLayoutsBase::NAGPUAssignLayoutsBase;

  void runOnOperation() override {
    SmallVector<gpu::LaunchOp> launches;
    getOperation()->walk([&](gpu::LaunchOp launch) {
      bool tiled = false;
      launch.walk([&](Operation *op) {
        tiled |= op->getName().getStringRef().starts_with("na.tile.");
      });
      if (tiled)
        launches.push_back(launch);
    });
    for (gpu::LaunchOp launch : launches) {
      std::optional<int64_t> threads =
          getConstantIntValue(launch.getBlockSizeX());
      if (!threads || *threads % warpSize != 0 || *threads < warpSize ||
          *threads > maxThreads) {
        launch.emitError("nagpu-assign-layouts: the number of threads is not a "
                         "known multiple of 32, up to 1024");
        return signalPassFailure();
      }
      int64_t warps = *threads / warpSize;
      if (scf::ForallOp loop = findWarpgroupLoop(launch.getBody().front())) {
        if (failed(verifyWarpgroups(launch, loop)))
          return signalPassFailure();
        warps = warpgroupWarps;
      }
      if (failed(LayoutAssigner(launch, warps, tf32).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
