//===- ElementFragments.cpp - Elementwise operations and reductions -------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutAssigner.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::nagpu;

SmallVector<Value> LayoutAssigner::cloneBody(linalg::GenericOp op,
                                             ValueRange args,
                                             ImplicitLocOpBuilder &b) {
  IRMapping inner = mapping;
  Block *body = op.getBody();
  for (auto [arg, value] : llvm::zip_equal(body->getArguments(), args))
    if (value)
      inner.map(arg, value);
  for (Operation &nested : body->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(nested)) {
      Value position = IndexOp::create(b, index.getDim());
      inner.map(index.getResult(),
                arith::IndexCastOp::create(b, b.getIndexType(), position)
                    .getResult());
      continue;
    }
    b.clone(nested, inner);
  }
  return llvm::map_to_vector(body->getTerminator()->getOperands(),
                             [&](Value v) { return inner.lookupOrDefault(v); });
}

LogicalResult LayoutAssigner::convertGeneric(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics())
    return op.emitError("nagpu-assign-layouts: elementwise operation or "
                        "reduction on memrefs in a kernel");
  WalkResult result = op.getBody()->walk([&](Operation *nested) {
    return llvm::any_of(nested->getOperandTypes(),
                        [](Type type) { return isa<TensorType>(type); })
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  if (result.wasInterrupted())
    return op.emitError("nagpu-assign-layouts: body reads a whole tile");
  // What columns share is computed where it is used: it is many registers.
  if (op.getNumLoops() == 1 && getVectorRole(op.getResult(0)) == Role::Column)
    return success();
  return op.getNumReductionLoops() == 0 ? convertElementwise(op)
                                        : convertReduction(op);
}

LogicalResult LayoutAssigner::convertElementwise(linalg::GenericOp op) {
  SmallVector<Value> inputs;
  SmallVector<int64_t> positions;
  Block *body = op.getBody();
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument arg = body->getArgument(operand.getOperandNumber());
    if (arg.use_empty())
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    Value value;
    if (type && type.getRank() == 1 && map.isProjectedPermutation())
      value = vectorFragment(operand.get(), map.getNumDims() == 1
                                                ? getVectorRole(op.getResult(0))
                                                : getVectorRole(map));
    else if (type && map.isIdentity())
      value = fragment(operand.get());
    if (!value)
      return op.emitError("nagpu-assign-layouts: operand ")
             << operand.getOperandNumber()
             << " is no computed tile [rows, columns], and no computed or "
                "loaded [rows] or loaded [columns]";
    inputs.push_back(value);
    positions.push_back(operand.getOperandNumber());
  }
  auto arguments = [&](ValueRange values) {
    SmallVector<Value> args(body->getNumArguments());
    for (auto [position, value] : llvm::zip_equal(positions, values))
      args[position] = value;
    return args;
  };
  for (OpOperand &init : op.getDpsInitsMutable())
    if (!op.getMatchingIndexingMap(&init).isIdentity())
      return op.emitError("nagpu-assign-layouts: operand ")
             << init.getOperandNumber()
             << " is written in another order than the loops'";
  // Rounding to 16 bits makes the left operand of a product.
  auto first = cast<RankedTensorType>(op.getResult(0).getType());
  if (op.getNumResults() == 1 && first.getRank() == 2 &&
      first.getElementType().getIntOrFloatBitWidth() == 16) {
    auto yielded = body->getTerminator()->getOperand(0);
    auto round = yielded.getDefiningOp<arith::TruncFOp>();
    if (inputs.size() != 1 || !round || !isa<BlockArgument>(round.getIn()) ||
        cast<FragmentType>(inputs[0].getType()).getRole() != Role::Accumulator)
      return op.emitError("nagpu-assign-layouts: a 16-bit tile must be a "
                          "rounded one");
    auto accumulator = cast<FragmentType>(inputs[0].getType());
    fragments[op.getResult(0)] = ConvertOp::create(
        b,
        FragmentType::get(b.getContext(), accumulator.getShape(),
                          first.getElementType(), Role::Lhs, warps),
        inputs[0]);
    return success();
  }
  SmallVector<FragmentType> types;
  for (Value result : op.getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    if (type.getRank() == 1 && getVectorRole(result) == Role::Column)
      types.push_back(FragmentType::get(b.getContext(), type.getShape(),
                                        type.getElementType(), Role::Column,
                                        warps));
    else
      types.push_back(getFragmentType(op, type));
    if (!types.back())
      return failure();
  }
  SmallVector<Value> results = buildMap(
      b, inputs, types, {}, [&](ImplicitLocOpBuilder &b, ValueRange values) {
        return cloneBody(op, arguments(values), b);
      });
  for (auto [old, value] : llvm::zip_equal(op.getResults(), results))
    fragments[old] = value;
  return success();
}

Role LayoutAssigner::getVectorRole(AffineMap map) {
  return map.getNumDims() == 2 && map.getDimPosition(0) == 1 ? Role::Column
                                                             : Role::Row;
}

Role LayoutAssigner::getVectorRole(Value vector) {
  for (OpOperand &use : vector.getUses()) {
    auto user = dyn_cast<linalg::GenericOp>(use.getOwner());
    if (!user || user.getNumResults() == 0)
      continue;
    AffineMap map = user.getMatchingIndexingMap(&use);
    bool ofColumns = user.getNumLoops() == 1
                         ? getVectorRole(user.getResult(0)) == Role::Column
                         : map.isProjectedPermutation() &&
                               getVectorRole(map) == Role::Column;
    if (ofColumns)
      return Role::Column;
  }
  return Role::Row;
}

bool LayoutAssigner::isOutsideLoops(Value tile) {
  Region *region = tile.getParentRegion();
  return region == &launch.getBody() ||
         (warpgroups && region == &warpgroups.getRegion());
}

Value LayoutAssigner::vectorFragment(Value tensor, Role role) {
  if (Value computed = fragment(tensor))
    return cast<FragmentType>(computed.getType()).getRole() == role ? computed
                                                                    : Value();
  auto deferred = tensor.getDefiningOp<linalg::GenericOp>();
  if (role == Role::Column && deferred && deferred.getNumLoops() == 1) {
    if (failed(convertElementwise(deferred)))
      return {};
    Value computed = fragment(tensor);
    fragments.erase(tensor);
    return computed;
  }
  Value tile = tiles.lookup(tensor);
  if (!tile)
    return {};
  auto load = [&] {
    int64_t size = cast<SharedType>(tile.getType()).getColumns();
    return LdVectorOp::create(
        b,
        FragmentType::get(b.getContext(), {size}, b.getF32Type(), role, warps),
        tile);
  };
  // Few registers, but columns are many: those are loaded where they are used.
  bool invariant = !loops.empty() && isOutsideLoops(tile);
  if (role == Role::Column || !invariant)
    return load();
  SmallVector<Value> &rows = resident[tile];
  if (rows.empty()) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(tile);
    rows.push_back(load());
  }
  return rows.front();
}

/// The combiner of a reduction whose body is one sum or maximum of the element
/// and the result so far.
static std::optional<Kind> getKind(Block *body) {
  Operation *yield = body->getTerminator();
  if (body->getNumArguments() != 2 || yield->getNumOperands() != 1)
    return std::nullopt;
  auto combinesArguments = [&](Operation *op) {
    Value left = op->getOperand(0), right = op->getOperand(1);
    return left != right && is_contained(body->getArguments(), left) &&
           is_contained(body->getArguments(), right);
  };
  Operation *combiner = yield->getOperand(0).getDefiningOp();
  if (isa_and_present<arith::AddFOp>(combiner) && combinesArguments(combiner))
    return Kind::Add;
  if (isa_and_present<arith::MaximumFOp, arith::MaxNumFOp>(combiner) &&
      combinesArguments(combiner))
    return Kind::Max;
  if (auto select = dyn_cast_if_present<arith::SelectOp>(combiner)) {
    auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
    if (compare && compare.getPredicate() == arith::CmpFPredicate::OGT &&
        combinesArguments(compare) &&
        select.getTrueValue() == compare.getLhs() &&
        select.getFalseValue() == compare.getRhs())
      return Kind::Max;
  }
  return std::nullopt;
}

LogicalResult LayoutAssigner::convertReduction(linalg::GenericOp op) {
  std::optional<Kind> kind = getKind(op.getBody());
  Value source =
      op.getNumDpsInputs() == 1 ? fragment(op.getInputs()[0]) : Value();
  Value init = op.getNumResults() == 1 ? fragment(op.getOutputs()[0]) : Value();
  AffineMap rows = AffineMap::get(2, 0, b.getAffineDimExpr(0));
  if (!kind || !source || !init || op.getNumLoops() != 2 ||
      !op.getMatchingIndexingMap(op.getDpsInputOperand(0)).isIdentity() ||
      op.getMatchingIndexingMap(op.getDpsInitOperand(0)) != rows)
    return op.emitError("nagpu-assign-layouts: expected the sum or maximum of "
                        "the columns of a computed tile");
  // What is computed in padding is no zero.
  auto tensor = cast<RankedTensorType>(op.getInputs()[0].getType());
  if (tensor.getDimSize(1) != padColumns(tensor.getDimSize(1)))
    return op.emitError("nagpu-assign-layouts: a reduction of ")
           << tensor.getDimSize(1) << " columns, expected a multiple of 16";
  FragmentType type =
      getFragmentType(op, cast<RankedTensorType>(op.getResult(0).getType()));
  if (!type)
    return failure();
  Value reduced = ReduceOp::create(b, type, *kind, source);
  // A reduction that starts at its identity is its own result.
  auto splat = init.getDefiningOp<SplatOp>();
  FloatAttr start;
  if (splat)
    matchPattern(splat.getValue(), m_Constant(&start));
  bool identity =
      start && (*kind == Kind::Add ? start.getValue().isZero()
                                   : start.getValue().isInfinity() &&
                                         start.getValue().isNegative());
  if (!identity)
    reduced = buildMap(
        b, {reduced, init}, {type}, {},
        [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
          if (*kind == Kind::Add)
            return {arith::AddFOp::create(b, args[0], args[1])};
          return {arith::MaxNumFOp::create(b, args[0], args[1])};
        })[0];
  fragments[op.getResult(0)] = reduced;
  return success();
}
