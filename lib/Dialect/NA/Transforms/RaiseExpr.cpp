//===- RaiseExpr.cpp - Tensor programs as expressions of an element -------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseExpr.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mlir::na::raise;

/// Expressions are trees: shared parts are built once per use. This bounds
/// the work on programs that are not attention.
static constexpr size_t maxExprs = 20000;
/// And this the recursion.
static constexpr unsigned maxDepth = 256;

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

Index Loops::make(int64_t size) {
  if (size == 1)
    return {};
  loops.push_back({size, std::nullopt});
  return {unsigned(loops.size() - 1)};
}

Index Loops::resolve(ArrayRef<unsigned> index) const {
  Index resolved;
  for (unsigned loop : index) {
    if (!loops[loop].parts) {
      resolved.push_back(loop);
      continue;
    }
    auto [outer, inner] = *loops[loop].parts;
    resolved.append(resolve({outer}));
    resolved.append(resolve({inner}));
  }
  return resolved;
}

Index Loops::resolve(const Indices &indices) const {
  Index resolved;
  for (const Index &index : indices)
    resolved.append(resolve(ArrayRef<unsigned>(index)));
  return resolved;
}

int64_t Loops::getSize(ArrayRef<unsigned> index) const {
  int64_t size = 1;
  for (unsigned loop : index)
    size *= loops[loop].size;
  return size;
}

std::optional<Indices> Loops::split(ArrayRef<unsigned> index,
                                    ArrayRef<int64_t> sizes) {
  Index rest = resolve(index);
  std::reverse(rest.begin(), rest.end());
  Indices digits;
  for (int64_t size : sizes) {
    Index digit;
    while (size != 1) {
      if (rest.empty())
        return std::nullopt;
      unsigned loop = rest.pop_back_val();
      int64_t loopSize = loops[loop].size;
      if (size % loopSize == 0) {
        digit.push_back(loop);
        size /= loopSize;
        continue;
      }
      if (size == 0 || loopSize % size != 0)
        return std::nullopt;
      unsigned outer = make(size)[0], inner = make(loopSize / size)[0];
      loops[loop].parts = {outer, inner};
      digit.push_back(outer);
      rest.push_back(inner);
      size = 1;
    }
    digits.push_back(digit);
  }
  if (!rest.empty())
    return std::nullopt;
  return digits;
}

bool Loops::equal(const Indices &a, const Indices &b) const {
  return a.size() == b.size() &&
         llvm::all_of(llvm::zip(a, b), [&](const auto &pair) {
           return resolve(ArrayRef<unsigned>(std::get<0>(pair))) ==
                  resolve(ArrayRef<unsigned>(std::get<1>(pair)));
         });
}

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

static bool hasStaticShape(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && type.getNumElements() > 0;
}

static Value getViewSource(Operation *op) {
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::CastOp>(op))
    return op->getOperand(0);
  return {};
}

std::optional<Indices>
mlir::na::raise::getViewedIndices(Loops &loops, Operation *op,
                                  const Indices &indices) {
  Value source = getViewSource(op);
  if (!source || !hasStaticShape(source))
    return std::nullopt;
  auto type = cast<RankedTensorType>(source.getType());
  if (isa<tensor::CastOp>(op))
    return indices;
  Indices viewed;
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    for (const auto &group : expand.getReassociationIndices()) {
      Index index;
      for (int64_t dim : group)
        index.append(indices[dim]);
      viewed.push_back(index);
    }
    // A tensor of one element has no groups.
    viewed.resize(type.getRank());
    return viewed;
  }
  auto collapse = cast<tensor::CollapseShapeOp>(op);
  for (auto [dim, group] :
       llvm::enumerate(collapse.getReassociationIndices())) {
    SmallVector<int64_t> sizes;
    for (int64_t source : group)
      sizes.push_back(type.getDimSize(source));
    std::optional<Indices> digits = loops.split(indices[dim], sizes);
    if (!digits)
      return std::nullopt;
    viewed.append(*digits);
  }
  viewed.resize(type.getRank());
  return viewed;
}

std::optional<double> mlir::na::raise::getConstantNumber(Value value) {
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant))) {
    if (auto elements = dyn_cast<DenseElementsAttr>(constant)) {
      if (!elements.isSplat())
        return std::nullopt;
      constant = elements.getSplatValue<Attribute>();
    }
    if (auto number = dyn_cast<FloatAttr>(constant))
      return number.getValueAsDouble();
    return std::nullopt;
  }
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (Value source = getViewSource(op))
    return getConstantNumber(source);
  if (isa<linalg::FillOp, tensor::SplatOp, linalg::BroadcastOp,
          linalg::TransposeOp, arith::ExtFOp, arith::TruncFOp>(op))
    return getConstantNumber(op->getOperand(0));
  return std::nullopt;
}

static Value stripFloatCasts(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

static Value getYielded(linalg::LinalgOp op, unsigned result) {
  return op.getBlock()->getTerminator()->getOperand(result);
}

/// The term of `accumulator + term`, in either order.
static Value getAddedTerm(Value yielded, Value accumulator) {
  auto add = yielded.getDefiningOp<arith::AddFOp>();
  if (!add)
    return {};
  if (add.getLhs() == accumulator)
    return add.getRhs();
  return add.getRhs() == accumulator ? add.getLhs() : Value();
}

/// The term of the maximum of `accumulator` and the term.
static Value getMaximumTerm(Value yielded, Value accumulator) {
  Operation *op = yielded.getDefiningOp();
  if (!op)
    return {};
  Value a, b;
  if (isa<arith::MaximumFOp, arith::MaxNumFOp>(op)) {
    a = op->getOperand(0), b = op->getOperand(1);
  } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
    auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
    if (!compare)
      return {};
    using P = arith::CmpFPredicate;
    P predicate = compare.getPredicate();
    a = compare.getLhs(), b = compare.getRhs();
    if (llvm::is_contained({P::OLT, P::OLE, P::ULT, P::ULE}, predicate))
      std::swap(a, b);
    else if (!llvm::is_contained({P::OGT, P::OGE, P::UGT, P::UGE}, predicate))
      return {};
    if (select.getTrueValue() != a || select.getFalseValue() != b)
      return {};
  }
  if (a == accumulator)
    return b;
  return b == accumulator ? a : Value();
}

bool mlir::na::raise::isProduct(linalg::LinalgOp op) {
  if (op->getNumResults() != 1 || op.getNumDpsInputs() != 2 ||
      op.getNumReductionLoops() == 0)
    return false;
  BlockArgument accumulator = op.getBlock()->getArguments().back();
  Value term = getAddedTerm(getYielded(op, 0), accumulator);
  auto product = term ? stripFloatCasts(term).getDefiningOp<arith::MulFOp>()
                      : arith::MulFOp();
  if (!product)
    return false;
  auto lhs = dyn_cast<BlockArgument>(stripFloatCasts(product.getLhs()));
  auto rhs = dyn_cast<BlockArgument>(stripFloatCasts(product.getRhs()));
  auto isInput = [&](BlockArgument argument) {
    return argument && argument.getOwner() == op.getBlock() &&
           argument != accumulator;
  };
  return isInput(lhs) && isInput(rhs) && lhs != rhs &&
         getConstantNumber(op.getDpsInits()[0]) == 0.0;
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

Expr *ExprBuilder::make(Expr::Kind kind, Type type) {
  Expr &expr = exprs.emplace_back();
  expr.kind = kind;
  expr.type = type;
  return &expr;
}

const Expr *ExprBuilder::makeScalar(Operation *op,
                                    ArrayRef<const Expr *> operands) {
  if (isa<arith::ExtFOp, arith::TruncFOp>(op) &&
      llvm::all_of(
          ArrayRef<Type>{op->getOperand(0).getType(),
                         op->getResult(0).getType()},
          [](Type type) {
            return isa<Float64Type, Float32Type, Float16Type, BFloat16Type>(
                getElementTypeOrSelf(type));
          }))
    return operands[0];
  Expr *expr = make(Expr::Kind::Scalar,
                    getElementTypeOrSelf(op->getResult(0).getType()));
  expr->op = op;
  expr->operands.assign(operands.begin(), operands.end());
  expr->hasProduct = llvm::any_of(
      operands, [](const Expr *operand) { return operand->hasProduct; });
  return expr;
}

const Expr *ExprBuilder::buildConstant(Attribute attribute, Type type) {
  if (auto elements = dyn_cast<DenseElementsAttr>(attribute))
    if (elements.isSplat())
      attribute = elements.getSplatValue<Attribute>();
  Expr *expr = make(Expr::Kind::Constant, getElementTypeOrSelf(type));
  if (auto number = dyn_cast<FloatAttr>(attribute))
    expr->number = number.getValueAsDouble();
  else if (auto integer = dyn_cast<IntegerAttr>(attribute))
    expr->integer = integer.getType().isInteger(1)
                        ? integer.getValue().getZExtValue()
                        : integer.getValue().getSExtValue();
  else
    expr->kind = Expr::Kind::Unknown;
  return expr;
}

const Expr *ExprBuilder::build(Value tensor, Indices indices) {
  Expr *unknown = make(Expr::Kind::Unknown, tensor.getType());
  llvm::SaveAndRestore nested(depth, depth + 1);
  if (exprs.size() > maxExprs || depth > maxDepth || !hasStaticShape(tensor) ||
      !tensor.getDefiningOp())
    return unknown;
  const Expr *expr = buildDefinition(tensor, indices);
  if (!expr)
    return unknown;
  if (expr->hasProduct)
    productOps.insert(tensor.getDefiningOp());
  return expr;
}

const Expr *ExprBuilder::buildDefinition(Value tensor, const Indices &indices) {
  Operation *op = tensor.getDefiningOp();
  Attribute constant;
  if (matchPattern(tensor, m_Constant(&constant))) {
    auto elements = dyn_cast<DenseElementsAttr>(constant);
    if (!elements || elements.isSplat())
      return buildConstant(constant, tensor.getType());
    Expr *expr = make(Expr::Kind::Table, elements.getElementType());
    expr->table = elements;
    expr->indices = indices;
    return expr;
  }
  if (std::optional<Indices> viewed = getViewedIndices(loops, op, indices))
    return build(op->getOperand(0), *viewed);
  if (auto splat = dyn_cast<tensor::SplatOp>(op)) {
    Attribute number;
    if (matchPattern(splat.getInput(), m_Constant(&number)))
      return buildConstant(number, splat.getInput().getType());
    return nullptr;
  }
  if (auto softmax = dyn_cast<linalg::SoftmaxOp>(op)) {
    // Unless it is over the keys, or of something else than scores.
    Index over = loops.resolve(ArrayRef(indices[softmax.getDimension()]));
    if (over != loops.resolve(ArrayRef<unsigned>(keys)))
      return nullptr;
    const Expr *input = build(softmax.getInput(), indices);
    Expr *expr = make(Expr::Kind::Softmax, input->type);
    expr->operands.push_back(input);
    expr->hasProduct = input->hasProduct;
    return expr;
  }
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return buildLinalg(linalgOp, cast<OpResult>(tensor).getResultNumber(),
                       indices);
  if (OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1) {
    SmallVector<const Expr *, 2> operands;
    for (Value operand : op->getOperands()) {
      if (isa<RankedTensorType>(operand.getType())) {
        operands.push_back(build(operand, indices));
        continue;
      }
      Attribute number;
      if (!matchPattern(operand, m_Constant(&number)))
        return nullptr;
      operands.push_back(buildConstant(number, operand.getType()));
    }
    return makeScalar(op, operands);
  }
  return nullptr;
}

std::optional<Indices> ExprBuilder::getIndices(OpOperand *operand,
                                               const Body &body) const {
  linalg::LinalgOp op = body.op;
  AffineMap map = op.getMatchingIndexingMap(operand);
  Indices indices;
  for (auto [result, size] :
       llvm::zip(map.getResults(), op.getShape(operand))) {
    if (auto dim = dyn_cast<AffineDimExpr>(result))
      indices.push_back(body.loops[dim.getPosition()]);
    else if (result == getAffineConstantExpr(0, map.getContext()))
      indices.emplace_back();
    else
      return std::nullopt;
    // Only a part of the operand is read.
    if (loops.getSize(indices.back()) != size)
      return std::nullopt;
  }
  return indices;
}

bool ExprBuilder::bind(Body &body, AffineMap map,
                       const Indices &indices) const {
  llvm::SmallBitVector bound(map.getNumDims());
  body.loops.resize(map.getNumDims());
  for (auto [result, index] : llvm::zip(map.getResults(), indices)) {
    auto dim = dyn_cast<AffineDimExpr>(result);
    if (!dim || bound.test(dim.getPosition()))
      return false;
    bound.set(dim.getPosition());
    body.loops[dim.getPosition()] = index;
  }
  return true;
}

const Expr *ExprBuilder::buildLinalg(linalg::LinalgOp op, unsigned result,
                                     const Indices &indices) {
  Body body{op, {}};
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  AffineMap map = op.getIndexingMapMatchingResult(op->getOpResult(result));
  if (ShapedType::isDynamicShape(sizes) || !bind(body, map, indices))
    return nullptr;
  SmallVector<unsigned> reductions;
  for (unsigned loop = 0; loop < sizes.size(); ++loop)
    if (!map.isFunctionOfDim(loop) &&
        (sizes[loop] != 1 ||
         op.getIteratorTypesArray()[loop] == utils::IteratorType::reduction))
      reductions.push_back(loop);
  if (op.getNumReductionLoops() != 0)
    return buildReduction(body, result, reductions);
  // A loop that the result does not say which of it is left over.
  if (!reductions.empty())
    return nullptr;
  return buildScalar(getYielded(op, result), body);
}

const Expr *ExprBuilder::buildReduction(Body &body, unsigned result,
                                        ArrayRef<unsigned> reductions) {
  linalg::LinalgOp op = body.op;
  Value init = op.getDpsInits()[result];
  Type type = getElementTypeOrSelf(init.getType());
  if (isProduct(op)) {
    Expr *expr = make(Expr::Kind::Product, type);
    expr->op = op;
    expr->indices = body.loops;
    expr->hasProduct = true;
    return expr;
  }
  std::optional<double> initial = getConstantNumber(init);
  if (!initial)
    return nullptr;
  BlockArgument accumulator =
      op.getMatchingBlockArgument(op.getDpsInitOperand(result));
  Value yielded = getYielded(op, result);
  Value term = getAddedTerm(yielded, accumulator);
  Expr::Kind kind = Expr::Kind::Sum;
  if (term) {
    if (*initial != 0)
      return nullptr;
  } else {
    term = getMaximumTerm(yielded, accumulator);
    kind = Expr::Kind::Maximum;
    auto floatType = dyn_cast<FloatType>(type);
    if (!term || !floatType)
      return nullptr;
    double lowest = llvm::APFloat::getLargest(floatType.getFloatSemantics(),
                                              /*Negative=*/true)
                        .convertToDouble();
    if (!(*initial <= lowest))
      return nullptr;
  }
  // The only reductions of a softmax are over all keys of one row.
  SmallVector<int64_t> all = op.getStaticLoopRanges(), sizes;
  for (unsigned loop : reductions)
    sizes.push_back(all[loop]);
  Index outer = loops.resolve(body.loops);
  for (unsigned key : loops.resolve(ArrayRef<unsigned>(keys)))
    if (llvm::is_contained(outer, key))
      return nullptr;
  std::optional<Indices> digits = loops.split(keys, sizes);
  if (!digits)
    return nullptr;
  for (auto [loop, digit] : llvm::zip(reductions, *digits))
    body.loops[loop] = digit;
  const Expr *element = buildScalar(term, body);
  Expr *expr = make(kind, type);
  expr->operands.push_back(element);
  expr->hasProduct = element->hasProduct;
  return expr;
}

const Expr *ExprBuilder::buildScalar(Value scalar, const Body &body) {
  Expr *unknown = make(Expr::Kind::Unknown, scalar.getType());
  Attribute constant;
  llvm::SaveAndRestore nested(depth, depth + 1);
  if (exprs.size() > maxExprs || depth > maxDepth)
    return unknown;
  if (matchPattern(scalar, m_Constant(&constant)))
    return buildConstant(constant, scalar.getType());
  linalg::LinalgOp linalgOp = body.op;
  if (auto argument = dyn_cast<BlockArgument>(scalar)) {
    if (argument.getOwner() != linalgOp.getBlock())
      return unknown;
    OpOperand *operand = linalgOp.getMatchingOpOperand(argument);
    if (!isa<RankedTensorType>(operand->get().getType()))
      return buildScalar(operand->get(), body);
    std::optional<Indices> indices = getIndices(operand, body);
    return indices ? build(operand->get(), *indices) : unknown;
  }
  Operation *op = scalar.getDefiningOp();
  if (op->getBlock() != linalgOp.getBlock() || op->getNumRegions() != 0 ||
      op->getNumResults() != 1)
    return unknown;
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    Expr *expr = make(Expr::Kind::Position, index.getType());
    expr->indices.push_back(body.loops[index.getDim()]);
    return expr;
  }
  SmallVector<const Expr *, 2> operands;
  for (Value operand : op->getOperands())
    operands.push_back(buildScalar(operand, body));
  return makeScalar(op, operands);
}

bool ExprBuilder::equal(const Expr *a, const Expr *b) const {
  if (a == b)
    return true;
  if (a->kind != b->kind || a->type != b->type ||
      a->operands.size() != b->operands.size() ||
      !loops.equal(a->indices, b->indices))
    return false;
  switch (a->kind) {
  case Expr::Kind::Unknown:
    return false;
  case Expr::Kind::Constant:
    return a->integer == b->integer && a->number == b->number;
  case Expr::Kind::Table:
    return a->table == b->table;
  case Expr::Kind::Product:
    return a->op == b->op;
  case Expr::Kind::Scalar:
    if (a->op != b->op &&
        (a->op->getName() != b->op->getName() ||
         a->op->getAttrDictionary() != b->op->getAttrDictionary()))
      return false;
    break;
  default:
    break;
  }
  return llvm::all_of(llvm::zip(a->operands, b->operands),
                      [&](const auto &pair) {
                        return equal(std::get<0>(pair), std::get<1>(pair));
                      });
}

//===----------------------------------------------------------------------===//
// Operands of the products
//===----------------------------------------------------------------------===//

Operand ExprBuilder::trace(Value tensor, Indices indices, Type type,
                           bool scaled) {
  Operand traced{tensor, indices, 1};
  while (Operation *op = traced.value.getDefiningOp()) {
    if (std::optional<Indices> viewed =
            getViewedIndices(loops, op, traced.indices)) {
      traced.value = op->getOperand(0);
      traced.indices = *viewed;
      continue;
    }
    auto elementType = getElementTypeOrSelf(traced.value.getType());
    // One factor or cast of a scalar or of a whole tensor, if there is one.
    double factor = 1;
    auto peel = [&](Value value, auto getNumber) -> Value {
      Operation *def = value.getDefiningOp();
      if (def && isa<arith::ExtFOp>(def) && elementType != type) {
        elementType = getElementTypeOrSelf(def->getOperand(0).getType());
        return def->getOperand(0);
      }
      if (!def || !isa<arith::MulFOp, arith::DivFOp>(def) || !scaled)
        return {};
      Value lhs = def->getOperand(0), rhs = def->getOperand(1);
      bool divided = isa<arith::DivFOp>(def);
      if (std::optional<double> number = getNumber(rhs)) {
        factor = divided ? factor / *number : factor * *number;
        return lhs;
      }
      if (std::optional<double> number = getNumber(lhs); number && !divided) {
        factor *= *number;
        return rhs;
      }
      return {};
    };
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp) {
      Value source =
          peel(traced.value, [](Value v) { return getConstantNumber(v); });
      if (!source)
        break;
      traced.value = source;
      traced.factor *= factor;
      continue;
    }
    if (linalgOp.getNumReductionLoops() != 0 || op->getNumResults() != 1 ||
        linalgOp.hasDynamicShape())
      break;
    Body body{linalgOp, {}};
    if (!bind(body,
              linalgOp.getMatchingIndexingMap(linalgOp.getDpsInitOperand(0)),
              traced.indices))
      break;
    auto getNumber = [&](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (argument && argument.getOwner() == linalgOp.getBlock())
        return getConstantNumber(
            linalgOp.getMatchingOpOperand(argument)->get());
      return getConstantNumber(value);
    };
    Value value = getYielded(linalgOp, 0);
    while (Value source = peel(value, getNumber))
      value = source;
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || argument.getOwner() != linalgOp.getBlock())
      break;
    OpOperand *operand = linalgOp.getMatchingOpOperand(argument);
    std::optional<Indices> source = getIndices(operand, body);
    if (!linalgOp.isDpsInput(operand) || !source ||
        !hasStaticShape(operand->get()))
      break;
    traced.value = operand->get();
    traced.indices = *source;
    traced.factor *= factor;
  }
  return traced;
}
