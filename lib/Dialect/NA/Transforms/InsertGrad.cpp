//===- InsertGrad.cpp - The backward function of a function ---------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NA/Transforms/Passes.h"
#include "na/Dialect/NA/Transforms/TileLinalg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::na {
#define GEN_PASS_DEF_NAINSERTGRAD
#include "na/Dialect/NA/Transforms/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;
using namespace mlir::na;

/// Whether values of the type have gradients.
static bool isDifferentiable(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

namespace {
/// Builds the backward pass of the operations of one block, last to first, and
/// keeps the gradients of their values.
class GradBuilder {
public:
  GradBuilder(OpBuilder &builder, Location loc) : b(loc, builder) {}

  /// Marks what depends on the arguments: nothing else needs a gradient.
  void markActive(Block &block) {
    for (BlockArgument argument : block.getArguments())
      if (isDifferentiable(argument.getType()))
        active.insert(argument);
    for (Operation &op : block)
      if (llvm::any_of(getReadOperands(&op),
                       [&](Value value) { return active.contains(value); }))
        for (Value result : op.getResults())
          if (isDifferentiable(result.getType()))
            active.insert(result);
  }

  void addGrad(Value value, Value grad) {
    if (!active.contains(value) || !grad)
      return;
    Value &sum = gradients[value];
    sum = sum ? arith::AddFOp::create(b, sum, grad).getResult() : grad;
  }
  /// Null where it is 0.
  Value getGrad(Value value) const { return gradients.lookup(value); }
  Value getGradOrZeros(Value value) {
    if (Value grad = getGrad(value))
      return grad;
    Value zero = buildFloat(
        b, cast<RankedTensorType>(value.getType()).getElementType(), 0);
    return linalg::FillOp::create(b, zero, buildEmptyLike(value)).getResult(0);
  }

  /// Adds to the gradients of the operands of `op`. Fails with a message if it
  /// is not differentiable here.
  LogicalResult differentiate(Operation *op) {
    bool hasGrad = llvm::any_of(
        op->getResults(), [&](Value value) { return bool(getGrad(value)); });
    bool isActive = llvm::any_of(
        op->getResults(), [&](Value value) { return active.contains(value); });
    if (!isActive || !hasGrad)
      return success();
    return TypeSwitch<Operation *, LogicalResult>(op)
        .Case<AttentionOp, QKOp, AVOp, MergeOp, arith::AddFOp, arith::SubFOp,
              arith::MulFOp, arith::DivFOp, arith::NegFOp, arith::ExtFOp,
              arith::TruncFOp, math::ExpOp, tensor::CastOp>([&](auto op) {
          differentiate(op);
          return success();
        })
        .Default([](Operation *op) {
          return op->emitError("na-insert-grad: '")
                 << op->getName() << "' has no gradient here";
        });
  }

private:
  /// The operands whose values matter: destinations are only written.
  static SmallVector<Value> getReadOperands(Operation *op) {
    auto dst = dyn_cast<DestinationStyleOpInterface>(op);
    if (!dst || isa<linalg::LinalgOp>(op))
      return SmallVector<Value>(op->getOperands());
    return dst.getDpsInputs();
  }

  /// An uninitialised tensor of the shape and type of `value`; null for null.
  Value buildEmptyLike(Value value) {
    if (!value)
      return Value();
    auto type = cast<RankedTensorType>(value.getType());
    return tensor::EmptyOp::create(b,
                                   tensor::getMixedSizes(b, b.getLoc(), value),
                                   type.getElementType(), type.getEncoding());
  }
  SmallVector<Value> buildEmptyLike(ValueRange values) {
    return llvm::map_to_vector(values,
                               [&](Value v) { return buildEmptyLike(v); });
  }

  void differentiate(AttentionOp op) {
    bool withBias = op.getBias() && active.contains(op.getBias());
    bool withAdditional =
        op.getAdditionalKey() && (active.contains(op.getAdditionalKey()) ||
                                  active.contains(op.getAdditionalValue()));
    auto additional = [&](Value value) {
      return withAdditional ? buildEmptyLike(value) : Value();
    };
    auto grad = AttentionGradOp::create(
        b, op.getQuery(), op.getKey(), op.getValue(), op->getResult(0),
        op->getResult(1), getGradOrZeros(op->getResult(0)),
        getGrad(op->getResult(1)), op.getBias(), op.getAdditionalKey(),
        op.getAdditionalValue(), buildEmptyLike(op.getQuery()),
        buildEmptyLike(op.getKey()), buildEmptyLike(op.getValue()),
        withBias ? buildEmptyLike(op.getBias()) : Value(),
        additional(op.getAdditionalKey()), additional(op.getAdditionalValue()),
        op.getWindow(), op.getScaleAttr());
    SmallVector<Value> operands = {op.getQuery(), op.getKey(), op.getValue()};
    if (withBias)
      operands.push_back(op.getBias());
    if (withAdditional)
      operands.append({op.getAdditionalKey(), op.getAdditionalValue()});
    for (auto [operand, result] : llvm::zip_equal(operands, grad->getResults()))
      addGrad(operand, result);
  }
  void differentiate(QKOp op) {
    bool withBias = op.getBias() && active.contains(op.getBias());
    auto grad = QKGradOp::create(
        b, op.getQuery(), op.getKey(), getGrad(op->getResult(0)),
        buildEmptyLike(op.getQuery()), buildEmptyLike(op.getKey()),
        withBias ? buildEmptyLike(op.getBias()) : Value(), op.getWindow(),
        op.getScaleAttr());
    addGrad(op.getQuery(), grad->getResult(0));
    addGrad(op.getKey(), grad->getResult(1));
    if (withBias)
      addGrad(op.getBias(), grad->getResult(2));
  }
  void differentiate(AVOp op) {
    auto grad = AVGradOp::create(b, op.getWeights(), op.getValue(),
                                 getGrad(op->getResult(0)),
                                 buildEmptyLike(op.getWeights()),
                                 buildEmptyLike(op.getValue()), op.getWindow());
    addGrad(op.getWeights(), grad->getResult(0));
    addGrad(op.getValue(), grad->getResult(1));
  }
  void differentiate(MergeOp op) {
    Value lseGrad = op.getLse() ? getGrad(op->getResult(1)) : Value();
    auto grad = MergeGradOp::create(
        b, op.getOutputs(), op.getLses(), getGradOrZeros(op->getResult(0)),
        lseGrad, buildEmptyLike(op.getOutputs()), buildEmptyLike(op.getLses()));
    unsigned parts = op.getOutputs().size();
    for (unsigned i = 0; i < parts; ++i) {
      addGrad(op.getOutputs()[i], grad->getResult(i));
      addGrad(op.getLses()[i], grad->getResult(parts + i));
    }
  }
  void differentiate(arith::AddFOp op) {
    addGrad(op.getLhs(), getGrad(op));
    addGrad(op.getRhs(), getGrad(op));
  }
  void differentiate(arith::SubFOp op) {
    addGrad(op.getLhs(), getGrad(op));
    if (active.contains(op.getRhs()))
      addGrad(op.getRhs(), arith::NegFOp::create(b, getGrad(op)));
  }
  void differentiate(arith::MulFOp op) {
    if (active.contains(op.getLhs()))
      addGrad(op.getLhs(), arith::MulFOp::create(b, getGrad(op), op.getRhs()));
    if (active.contains(op.getRhs()))
      addGrad(op.getRhs(), arith::MulFOp::create(b, getGrad(op), op.getLhs()));
  }
  void differentiate(arith::DivFOp op) {
    Value grad = arith::DivFOp::create(b, getGrad(op), op.getRhs());
    addGrad(op.getLhs(), grad);
    if (active.contains(op.getRhs()))
      addGrad(op.getRhs(),
              arith::NegFOp::create(
                  b, arith::MulFOp::create(b, grad, op.getResult())));
  }
  void differentiate(arith::NegFOp op) {
    addGrad(op.getOperand(), arith::NegFOp::create(b, getGrad(op)));
  }
  void differentiate(arith::ExtFOp op) {
    addGrad(op.getIn(),
            arith::TruncFOp::create(b, op.getIn().getType(), getGrad(op)));
  }
  void differentiate(arith::TruncFOp op) {
    addGrad(op.getIn(),
            arith::ExtFOp::create(b, op.getIn().getType(), getGrad(op)));
  }
  void differentiate(math::ExpOp op) {
    addGrad(op.getOperand(),
            arith::MulFOp::create(b, getGrad(op), op.getResult()));
  }
  void differentiate(tensor::CastOp op) {
    addGrad(op.getSource(),
            tensor::CastOp::create(b, op.getSource().getType(), getGrad(op)));
  }

  ImplicitLocOpBuilder b;
  DenseSet<Value> active;
  DenseMap<Value, Value> gradients;
};

struct InsertGrad : mlir::na::impl::NAInsertGradBase<InsertGrad> {
  using NAInsertGradBase::NAInsertGradBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> selected;
    if (functions.empty()) {
      for (auto function : module.getOps<func::FuncOp>())
        if (function
                .walk([](Operation *op) {
                  return isa<AttentionOp, QKOp, AVOp, MergeOp>(op)
                             ? WalkResult::interrupt()
                             : WalkResult::advance();
                })
                .wasInterrupted())
          selected.push_back(function);
    }
    SymbolTable symbols(module);
    for (const std::string &name : functions) {
      auto function = symbols.lookup<func::FuncOp>(name);
      if (!function) {
        module.emitError("na-insert-grad: there is no function '")
            << name << "', which the option 'functions' names";
        return signalPassFailure();
      }
      selected.push_back(function);
    }
    for (func::FuncOp function : selected)
      if (failed(insertGrad(function, symbols)))
        return signalPassFailure();
  }

private:
  LogicalResult insertGrad(func::FuncOp function, SymbolTable &symbols);
};
} // namespace

/// Fails with a message unless `function` is one block on tensors.
static LogicalResult checkFunction(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitError("na-insert-grad: '")
           << function.getName() << "' has "
           << function.getBody().getBlocks().size() << " blocks, expected 1";
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (isa<BaseMemRefType>(type))
      return function.emitError("na-insert-grad: argument ")
             << index << " of '" << function.getName() << "' is " << type
             << ", expected a tensor";
  return success();
}

/// The gradient of na.attention needs the LSE.
static void addLses(Block &block) {
  for (auto op : llvm::make_early_inc_range(block.getOps<AttentionOp>())) {
    if (op.getLse() || op->getNumResults() == 0)
      continue;
    ImplicitLocOpBuilder b(op.getLoc(), op);
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(b, b.getLoc(), op.getQuery());
    sizes.pop_back();
    Value lse = tensor::EmptyOp::create(b, sizes, op.getAccumulatorType());
    auto larger = AttentionOp::create(
        b, op.getQuery(), op.getKey(), op.getValue(), op.getBias(),
        op.getAdditionalKey(), op.getAdditionalValue(), op.getOutput(), lse,
        op.getWindow(), op.getScaleAttr(), op.getScheduleAttr());
    larger->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    op->getResult(0).replaceAllUsesWith(larger->getResult(0));
    op->erase();
  }
}

LogicalResult InsertGrad::insertGrad(func::FuncOp function,
                                     SymbolTable &symbols) {
  if (failed(checkFunction(function)))
    return failure();
  std::string name = function.getName().str() + "_grad";
  if (symbols.lookup(name))
    return function.emitError("na-insert-grad: there is a symbol '")
           << name << "' already";

  func::FuncOp grad = function.clone();
  grad.setName(name);
  symbols.insert(grad, std::next(function->getIterator()));
  Block &block = grad.getBody().front();
  Operation *end = block.getTerminator();
  addLses(block);
  SmallVector<Operation *> forward;
  for (Operation &op : block.without_terminator())
    forward.push_back(&op);
  SmallVector<Value> inputs(block.getArguments());

  OpBuilder builder(end);
  GradBuilder gradients(builder, function.getLoc());
  gradients.markActive(block);
  unsigned argument = grad.getNumArguments();
  for (Value result : end->getOperands()) {
    if (!isDifferentiable(result.getType()))
      continue;
    (void)grad.insertArgument(argument, result.getType(), DictionaryAttr(),
                              function.getLoc());
    gradients.addGrad(result, grad.getArgument(argument++));
  }
  for (Operation *op : llvm::reverse(forward))
    if (failed(gradients.differentiate(op))) {
      grad.erase();
      return failure();
    }

  SmallVector<Value> results;
  for (Value input : inputs)
    if (isDifferentiable(input.getType()))
      results.push_back(gradients.getGradOrZeros(input));
  end->setOperands(results);
  grad.setFunctionType(builder.getFunctionType(grad.getArgumentTypes(),
                                               ValueRange(results).getTypes()));
  grad.removeResAttrsAttr();
  return success();
}
