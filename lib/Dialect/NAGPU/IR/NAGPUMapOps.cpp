//===- NAGPUMapOps.cpp - Computing fragments element by element -----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifySize.h"

#include "na/Dialect/NAGPU/IR/NAGPU.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::nagpu;

FragmentType MapOp::getIterationType() {
  for (Type type : getResultTypes())
    return cast<FragmentType>(type);
  if (getOver())
    return dyn_cast<FragmentType>(*getOver());
  for (Value input : getInputs())
    if (auto type = cast<FragmentType>(input.getType());
        type.getShape().size() > 1)
      return type;
  if (getInputs().empty())
    return {};
  return cast<FragmentType>(getInputs().front().getType());
}

/// Checks that the elements of `type` lie where those of `iteration` lie, or,
/// if `broadcasts`, that it has one for each row or column.
static LogicalResult verifyPlaces(Operation *op, const Twine &name,
                                  FragmentType type, FragmentType iteration,
                                  bool broadcasts) {
  auto fits = [&] {
    if (type.getWarps() != iteration.getWarps())
      return false;
    if (iteration.isRowLike())
      return type.isRowLike() && type.getShape() == iteration.getShape();
    // Every warp holds all rows of an rhs, but only its own of a row.
    if (broadcasts && type.getRole() == Role::Row)
      return iteration.getRole() != Role::Rhs &&
             type.getRows() == iteration.getRows();
    if (broadcasts && type.getRole() == Role::Column &&
        iteration.getRole() == Role::Accumulator)
      return type.getColumns() == iteration.getColumns();
    // Where an operand's elements lie depends on their width.
    return type.getRole() == iteration.getRole() &&
           type.getShape() == iteration.getShape() &&
           (type.getRole() == Role::Accumulator ||
            productDepth(type.getElementType()) ==
                productDepth(iteration.getElementType()));
  };
  if (fits())
    return success();
  InFlightDiagnostic diag = op->emitOpError()
                            << name << " is " << type << ", expected "
                            << "the shape, role and warps of " << iteration;
  if (broadcasts && iteration.getShape().size() > 1 &&
      iteration.getRole() != Role::Rhs)
    diag << ", or a row of its rows and warps";
  if (broadcasts && iteration.getRole() == Role::Accumulator)
    diag << ", or a column of its columns and warps";
  return diag;
}

LogicalResult MapOp::verify() {
  if (getOver() && !isa<FragmentType>(*getOver()))
    return emitOpError() << "'over' is " << *getOver()
                         << ", expected a fragment";
  FragmentType iteration = getIterationType();
  if (!iteration)
    return emitOpError() << "has no inputs, no results and no 'over', which "
                            "give the elements that it iterates over";
  if (getOver() &&
      failed(verifyPlaces(*this, "'over'", cast<FragmentType>(*getOver()),
                          iteration, /*broadcasts=*/false)))
    return failure();
  for (auto [index, type] : llvm::enumerate(getInputs().getTypes()))
    if (failed(verifyPlaces(*this, "input " + Twine(index),
                            cast<FragmentType>(type), iteration,
                            /*broadcasts=*/true)))
      return failure();
  for (auto [index, type] : llvm::enumerate(getResultTypes()))
    if (failed(verifyPlaces(*this, "result " + Twine(index),
                            cast<FragmentType>(type), iteration,
                            /*broadcasts=*/false)))
      return failure();

  Block &body = getBody().front();
  auto yield = dyn_cast<YieldOp>(body.back());
  if (!yield)
    return emitOpError() << "has a region that does not end with nagpu.yield";
  if (body.getNumArguments() != getNumOperands())
    return emitOpError() << "has a region with " << body.getNumArguments()
                         << " arguments, expected " << getNumOperands()
                         << " (one per input)";
  for (auto [index, argument, type] :
       llvm::enumerate(body.getArgumentTypes(), getInputs().getTypes()))
    if (Type element = cast<FragmentType>(type).getElementType();
        argument != element)
      return emitOpError() << "has a region whose argument " << index << " is "
                           << argument << ", expected " << element
                           << ", the element type of input " << index;
  if (yield.getNumOperands() != getNumResults())
    return yield.emitOpError()
           << "has " << yield.getNumOperands() << " values, expected "
           << getNumResults() << " (one per result of 'nagpu.map')";
  for (auto [index, value, type] :
       llvm::enumerate(yield.getOperandTypes(), getResultTypes()))
    if (Type element = cast<FragmentType>(type).getElementType();
        value != element)
      return yield.emitOpError()
             << "value " << index << " is " << value << ", expected " << element
             << ", the element type of result " << index;
  return success();
}

namespace {
/// Which values in the region of a map are parts of a sum over four lanes.
class PartialSums {
public:
  void add(Value value) { parts.insert(value); }
  bool isPart(Value value) const { return parts.contains(value); }
  /// Zero is a part of a sum, too.
  bool fits(Value value) const {
    return isPart(value) || matchPattern(value, m_AnyZeroFloat());
  }
  /// Whether the sum over the lanes of what `op` gives is what it gives for the
  /// sums of its operands, some of which are parts.
  bool isLinear(Operation *op) const;

private:
  llvm::SmallPtrSet<Value, 8> parts;
};
} // namespace

bool PartialSums::isLinear(Operation *op) const {
  return TypeSwitch<Operation *, bool>(op)
      .Case<arith::AddFOp, arith::SubFOp>(
          [&](auto sum) { return fits(sum.getLhs()) && fits(sum.getRhs()); })
      .Case([](arith::NegFOp) { return true; })
      .Case([&](arith::MulFOp product) {
        return !isPart(product.getLhs()) || !isPart(product.getRhs());
      })
      .Case([&](arith::DivFOp quotient) { return !isPart(quotient.getRhs()); })
      .Case([&](math::FmaOp fma) {
        return fits(fma.getC()) && isPart(fma.getA()) != isPart(fma.getB());
      })
      .Case([&](arith::SelectOp select) {
        return fits(select.getTrueValue()) && fits(select.getFalseValue());
      })
      .Default(false);
}

/// The first operation of the region that is not linear in parts of sums; adds
/// those that are computed from parts to `partial`.
static Operation *findNonLinear(Block &body, PartialSums &partial) {
  for (Operation &op : body.without_terminator()) {
    bool uses = op.walk([&](Operation *nested) {
                    return llvm::any_of(nested->getOperands(),
                                        [&](Value value) {
                                          return partial.isPart(value);
                                        })
                               ? WalkResult::interrupt()
                               : WalkResult::advance();
                  }).wasInterrupted();
    if (!uses)
      continue;
    if (!partial.isLinear(&op))
      return &op;
    partial.add(op.getResult(0));
  }
  return nullptr;
}

bool MapOp::isLinearIn(ArrayRef<bool> parts) {
  Block &body = getBody().front();
  PartialSums partial;
  for (auto [argument, part] : llvm::zip_equal(body.getArguments(), parts))
    if (part)
      partial.add(argument);
  return !findNonLinear(body, partial) &&
         llvm::all_of(body.getTerminator()->getOperands(),
                      [&](Value value) { return partial.fits(value); });
}

LogicalResult MapOp::verifyRegions() {
  Block &body = getBody().front();
  PartialSums partial;
  for (auto [argument, input] :
       llvm::zip_equal(body.getArguments(), getInputs()))
    if (cast<FragmentType>(input.getType()).getRole() == Role::PartialRow)
      partial.add(argument);
  if (Operation *op = findNonLinear(body, partial))
    return op->emitOpError() << "is not linear in the elements of role "
                                "partial_row, whose value is the sum over "
                                "four lanes";
  auto yield = cast<YieldOp>(body.getTerminator());
  for (auto [index, value, type] :
       llvm::enumerate(yield.getValues(), getResultTypes())) {
    Role role = cast<FragmentType>(type).getRole();
    bool part = role == Role::PartialRow;
    if (part ? !partial.fits(value) : partial.isPart(value))
      return yield.emitOpError()
             << "value " << index << (part ? " is not" : " is")
             << " computed from elements of role partial_row, but result "
             << index << " has role " << stringifyRole(role);
  }
  return success();
}

LogicalResult IndexOp::verify() {
  int64_t dim = getDim();
  if (dim != 0 && dim != 1)
    return emitOpError() << "'dim' is " << dim
                         << ", expected 0 (row) or 1 (column)";
  FragmentType type = cast<MapOp>((*this)->getParentOp()).getIterationType();
  if (type && dim == 0 && type.getRole() == Role::Column)
    return emitOpError() << "'dim' is 0, expected 1: " << type
                         << " has no rows";
  if (dim == 0 || !type)
    return success();
  if (type.isRowLike())
    return emitOpError() << "'dim' is 1, expected 0: " << type
                         << " has no columns";
  // nagpu.convert permutes them.
  if (type.getRole() == Role::Lhs && productDepth(type.getElementType()) == 8)
    return emitOpError() << "'dim' is 1, expected 0: the columns of " << type
                         << " may be permuted";
  return success();
}
