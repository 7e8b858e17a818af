//===- RaiseAttention.cpp - Recognise neighborhood attention --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseExpr.h"
#include "RaiseMask.h"

#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NA/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <cmath>
#include <functional>

namespace mlir::na {
#define GEN_PASS_DEF_NARAISEATTENTION
#include "na/Dialect/NA/Transforms/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;
using namespace mlir::na;
using namespace mlir::na::raise;

//===----------------------------------------------------------------------===//
// The softmax
//===----------------------------------------------------------------------===//

template <typename OpTy>
static bool isScalar(const Expr *expr) {
  return expr->kind == Expr::Kind::Scalar && isa<OpTy>(expr->op);
}

/// The logits of a softmax over the keys; null if the weights are none.
static const Expr *getLogits(const ExprBuilder &builder, const Expr *weights) {
  if (weights->kind == Expr::Kind::Softmax)
    return weights->operands[0];
  const Expr *exponential, *sum;
  if (isScalar<arith::DivFOp>(weights)) {
    exponential = weights->operands[0];
    sum = weights->operands[1];
  } else if (isScalar<arith::MulFOp>(weights)) {
    // Times one over the sum.
    exponential = weights->operands[0];
    sum = weights->operands[1];
    if (!isScalar<math::ExpOp>(exponential))
      std::swap(exponential, sum);
    if (!isScalar<arith::DivFOp>(sum) ||
        sum->operands[0]->kind != Expr::Kind::Constant ||
        sum->operands[0]->number != 1)
      return nullptr;
    sum = sum->operands[1];
  } else {
    return nullptr;
  }
  if (!isScalar<math::ExpOp>(exponential) || sum->kind != Expr::Kind::Sum ||
      !builder.equal(sum->operands[0], exponential))
    return nullptr;
  const Expr *difference = exponential->operands[0];
  if (!isScalar<arith::SubFOp>(difference))
    return nullptr;
  const Expr *logits = difference->operands[0];
  const Expr *maximum = difference->operands[1];
  if (maximum->kind != Expr::Kind::Maximum ||
      !builder.equal(maximum->operands[0], logits))
    return nullptr;
  return logits;
}

/// Collects the products that an expression depends on.
static void collectProducts(const Expr *expr,
                            SmallVectorImpl<const Expr *> &products) {
  if (!expr->hasProduct)
    return;
  if (expr->kind == Expr::Kind::Product)
    products.push_back(expr);
  for (const Expr *operand : expr->operands)
    collectProducts(operand, products);
}

//===----------------------------------------------------------------------===//
// One attention
//===----------------------------------------------------------------------===//

namespace {

/// What the raised operation is made of. Indices are lists of loops.
struct Parts {
  Operand query, key, value;
  Value result;
  Indices resultIndices;
  Index batch, queries, keys, keyHeads, sharedHeads, channels, valueChannels;
  Windows windows;
  double scale = 1;
};

/// Matches the attention whose second product is `root`.
class Matcher {
public:
  struct Options {
    double maskedBelow;
    int64_t maxTokens;
  };

  Matcher(linalg::LinalgOp root, const Options &options)
      : root(root), options(options) {}

  /// Fills `parts`; if that fails and `root` ends a softmax attention, `reason`
  /// says why.
  bool match();

  const Loops &getLoops() const { return loops; }

  Parts parts;
  std::string reason;

private:
  bool fail(const Twine &message) {
    reason = message.str();
    return false;
  }
  bool matchSoftmax(ExprBuilder &builder, unsigned weights);
  bool checkUses(const ExprBuilder &builder);
  void followResult();
  bool classify();

  Indices getIndices(linalg::LinalgOp op, unsigned operand,
                     const Indices &values) const {
    Indices indices;
    AffineMap map = op.getMatchingIndexingMap(&op->getOpOperand(operand));
    for (AffineExpr result : map.getResults())
      indices.push_back(values[cast<AffineDimExpr>(result).getPosition()]);
    return indices;
  }

  linalg::LinalgOp root;
  Options options;
  Loops loops;
  /// The values of the root's loops.
  Indices values;
  const Expr *logits = nullptr;
};

} // namespace

/// Whether the loops of a contraction can be named by its operands.
static bool isPlainProduct(linalg::LinalgOp op) {
  return isProduct(op) && !op.hasDynamicShape() &&
         llvm::all_of(op->getOperands(),
                      [](Value operand) {
                        return isa<RankedTensorType>(operand.getType());
                      }) &&
         llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) {
           return map.isProjectedPermutation();
         });
}

bool Matcher::match() {
  if (!isPlainProduct(root))
    return false;
  for (unsigned weights : {0u, 1u}) {
    loops = Loops();
    values.clear();
    Index keys;
    for (auto [size, type] :
         llvm::zip(root.getStaticLoopRanges(), root.getIteratorTypesArray())) {
      values.push_back(loops.make(size));
      if (type == utils::IteratorType::reduction)
        keys.append(values.back());
    }
    ExprBuilder builder(loops, keys);
    parts = Parts();
    parts.keys = keys;
    if (matchSoftmax(builder, weights))
      return true;
    if (logits)
      return false;
  }
  return false;
}

bool Matcher::matchSoftmax(ExprBuilder &builder, unsigned weights) {
  const Expr *expr = builder.build(root->getOperand(weights),
                                   getIndices(root, weights, values));
  logits = getLogits(builder, expr);
  if (!logits)
    return false;
  SmallVector<const Expr *> products;
  collectProducts(logits, products);
  if (products.empty()) {
    logits = nullptr;
    return false;
  }
  for (const Expr *product : products)
    if (!builder.equal(product, products[0]))
      return fail("the logits depend on two products");
  auto scores = cast<linalg::LinalgOp>(products[0]->op);
  if (!isPlainProduct(scores))
    return fail("the scores are no product of queries and keys");
  if (!checkUses(builder))
    return false;

  parts.result = root->getResult(0);
  parts.resultIndices =
      getIndices(root, root.getDpsInitOperand(0)->getOperandNumber(), values);
  followResult();
  Type type = getElementTypeOrSelf(parts.result.getType());

  Indices product = products[0]->indices;
  for (auto [index, size, iterator] :
       llvm::zip(product, scores.getStaticLoopRanges(),
                 scores.getIteratorTypesArray()))
    if (iterator == utils::IteratorType::reduction) {
      index = loops.make(size);
      parts.channels.append(index);
    }
  parts.query = builder.trace(scores->getOperand(0),
                              getIndices(scores, 0, product), type, true);
  parts.key = builder.trace(scores->getOperand(1),
                            getIndices(scores, 1, product), type, true);
  unsigned other = 1 - weights;
  parts.value = builder.trace(root->getOperand(other),
                              getIndices(root, other, values), type, false);
  if (!classify())
    return false;
  for (const Operand *operand : {&parts.query, &parts.key, &parts.value})
    if (getElementTypeOrSelf(operand->value.getType()) != type)
      return fail("the element types of operands and result differ");
  if (!isa<Float64Type, Float32Type, Float16Type, BFloat16Type>(type))
    return fail("the element type is none of f64, f32, f16 and bf16");

  int64_t tokens = loops.getSize(parts.keys);
  if (tokens > options.maxTokens)
    return fail("there are " + Twine(tokens) + " tokens, more than " +
                Twine(options.maxTokens));
  std::optional<Mask> mask = evaluateMask(loops, parts.queries, parts.keys,
                                          logits, options.maskedBelow, reason);
  if (!mask)
    return false;
  SmallVector<SmallVector<int64_t>> shapes;
  for (ArrayRef<unsigned> order : {parts.queries, parts.keys}) {
    SmallVector<int64_t> &shape = shapes.emplace_back();
    for (unsigned loop : order)
      shape.push_back(loops.getSize({loop}));
  }
  std::optional<Windows> windows = findWindows(*mask, shapes);
  if (!windows)
    return fail("the mask is not that of a window");
  parts.windows = *windows;
  parts.scale = mask->scale * parts.query.factor * parts.key.factor;
  if (!std::isfinite(parts.scale))
    return fail("the scale is not finite");
  return true;
}

bool Matcher::checkUses(const ExprBuilder &builder) {
  for (Operation *op : builder.getProductOps())
    for (Operation *user : op->getUsers())
      if (user != root && !builder.getProductOps().contains(user))
        return fail("'" + op->getName().getStringRef() +
                    "' on the way has another use");
  return true;
}

/// Takes in what only moves or rounds the result, so that the transposes that
/// put heads in place meet those that the raised operation needs.
void Matcher::followResult() {
  while (parts.result.hasOneUse()) {
    OpOperand &use = *parts.result.use_begin();
    Operation *op = use.getOwner();
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp || op->getBlock() != root->getBlock() ||
        linalgOp.getNumReductionLoops() != 0 ||
        linalgOp.getNumDpsInputs() != 1 || !linalgOp.isDpsInput(&use) ||
        op->getNumResults() != 1 ||
        !llvm::all_of(linalgOp.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isPermutation(); }))
      return;
    Value yielded = linalgOp.getBlock()->getTerminator()->getOperand(0);
    if (auto truncate = yielded.getDefiningOp<arith::TruncFOp>())
      yielded = truncate.getIn();
    if (yielded != linalgOp.getBlock()->getArgument(0))
      return;
    Indices loopValues(linalgOp.getNumLoops());
    AffineMap in = linalgOp.getMatchingIndexingMap(&use);
    for (auto [result, index] : llvm::zip(in.getResults(), parts.resultIndices))
      loopValues[cast<AffineDimExpr>(result).getPosition()] = index;
    parts.resultIndices =
        getIndices(linalgOp, use.getOperandNumber() + 1, loopValues);
    parts.result = op->getResult(0);
  }
}

static void eraseAll(Index &index, ArrayRef<unsigned> others) {
  llvm::erase_if(
      index, [&](unsigned loop) { return llvm::is_contained(others, loop); });
}

/// The loops of `index` that are in `others`, or that are not.
static Index filter(ArrayRef<unsigned> index, ArrayRef<unsigned> others,
                    bool contained) {
  Index filtered;
  for (unsigned loop : index)
    if (llvm::is_contained(others, loop) == contained)
      filtered.push_back(loop);
  return filtered;
}

static bool isPermutation(Index a, Index b) {
  llvm::sort(a);
  llvm::sort(b);
  return a == b && std::unique(a.begin(), a.end()) == a.end();
}

/// Tells by which operands have a loop what the loop is.
bool Matcher::classify() {
  Index keys = loops.resolve(ArrayRef<unsigned>(parts.keys));
  Index channels = loops.resolve(ArrayRef<unsigned>(parts.channels));
  Index key = loops.resolve(parts.key.indices);
  Index query = loops.resolve(parts.query.indices);
  if (filter(key, keys, true).empty()) {
    std::swap(parts.query, parts.key);
    std::swap(query, key);
  }
  Index value = loops.resolve(parts.value.indices);
  Index result = loops.resolve(parts.resultIndices);
  // In the order of memory; the weights may have another.
  parts.keys = filter(key, keys, true);
  parts.channels = filter(query, channels, true);
  parts.valueChannels = filter(value, query, false);
  eraseAll(parts.valueChannels, keys);

  // What keys and values share with the queries is computed apart. The rest of
  // the queries' loops are tokens, or heads of which several share a key head.
  Index apart = filter(filter(query, channels, false), value, true);
  Index own = filter(filter(query, channels, false), value, false);
  int64_t tokens = loops.getSize(keys);
  if (tokens <= 1)
    return fail("there is only one key");
  parts.queries = own;
  if (loops.getSize(own) != tokens) {
    // Loops on which the mask depends are tokens, if there are enough of them.
    std::function<void(const Expr *, Index &)> collect = [&](const Expr *expr,
                                                             Index &index) {
      if (expr->kind == Expr::Kind::Table || expr->kind == Expr::Kind::Position)
        index.append(loops.resolve(expr->indices));
      for (const Expr *operand : expr->operands)
        collect(operand, index);
    };
    Index masked;
    collect(logits, masked);
    parts.queries = filter(own, masked, true);
    if (loops.getSize(parts.queries) != tokens)
      return fail("queries and keys differ in number");
    parts.sharedHeads = filter(own, masked, false);
  }
  unsigned firstToken =
      llvm::find(query, parts.queries.front()) - query.begin();
  for (auto [at, loop] : llvm::enumerate(query))
    if (llvm::is_contained(apart, loop))
      (at < firstToken ? parts.batch : parts.keyHeads).push_back(loop);

  auto join = [](std::initializer_list<ArrayRef<unsigned>> lists) {
    Index joined;
    for (ArrayRef<unsigned> list : lists)
      joined.append(list.begin(), list.end());
    return joined;
  };
  if (!isPermutation(query, join({parts.batch, parts.queries, parts.keyHeads,
                                  parts.sharedHeads, parts.channels})) ||
      !isPermutation(key,
                     join({parts.batch, keys, parts.keyHeads, channels})) ||
      !isPermutation(value, join({parts.batch, keys, parts.keyHeads,
                                  parts.valueChannels})) ||
      !isPermutation(result, join({parts.batch, parts.queries, parts.keyHeads,
                                   parts.sharedHeads, parts.valueChannels})))
    return fail("the dimensions of queries, keys and values do not fit");
  return true;
}

//===----------------------------------------------------------------------===//
// The raised operation
//===----------------------------------------------------------------------===//

namespace {

/// Builds the operation and what moves its operands and its result.
class Raiser {
public:
  Raiser(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}
  AttentionOp raise(const Loops &loops, const Parts &parts, Value &result);

private:
  Value reshape(Value value, ArrayRef<int64_t> shape);
  /// From dimensions in the order `from` of loops to the order `to`.
  Value reorder(const Loops &loops, Value value, ArrayRef<unsigned> from,
                ArrayRef<unsigned> to, ArrayRef<int64_t> shape);

  OpBuilder &builder;
  Location loc;
};

} // namespace

Value Raiser::reshape(Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  // Through the finest shape that both split.
  ArrayRef<int64_t> from = type.getShape();
  SmallVector<ReassociationIndices> collapse, expand;
  SmallVector<int64_t> common;
  size_t source = 0, target = 0;
  while (source < from.size() && target < shape.size()) {
    int64_t sourceSize = from[source], targetSize = shape[target];
    ReassociationIndices &sources = collapse.emplace_back();
    ReassociationIndices &targets = expand.emplace_back();
    sources.push_back(source++);
    targets.push_back(target++);
    while (sourceSize != targetSize) {
      if (sourceSize < targetSize) {
        sourceSize *= from[source];
        sources.push_back(source++);
      } else {
        targetSize *= shape[target];
        targets.push_back(target++);
      }
    }
    common.push_back(sourceSize);
  }
  // Sizes of 1 are left over at the end.
  for (; source < from.size(); ++source)
    collapse.back().push_back(source);
  for (; target < shape.size(); ++target)
    expand.back().push_back(target);
  if (common.size() != from.size())
    value = tensor::CollapseShapeOp::create(builder, loc, value, collapse);
  if (common.size() != shape.size())
    value = tensor::ExpandShapeOp::create(
        builder, loc, RankedTensorType::get(shape, type.getElementType()),
        value, expand);
  return value;
}

Value Raiser::reorder(const Loops &loops, Value value, ArrayRef<unsigned> from,
                      ArrayRef<unsigned> to, ArrayRef<int64_t> shape) {
  if (from != to) {
    SmallVector<int64_t> sizes, transposed, permutation;
    for (unsigned loop : from)
      sizes.push_back(loops.getSize({loop}));
    for (unsigned loop : to) {
      transposed.push_back(loops.getSize({loop}));
      permutation.push_back(llvm::find(from, loop) - from.begin());
    }
    value = reshape(value, sizes);
    Value empty = tensor::EmptyOp::create(
        builder, loc, transposed, getElementTypeOrSelf(value.getType()));
    value = linalg::TransposeOp::create(builder, loc, value, empty, permutation)
                ->getResult(0);
  }
  return reshape(value, shape);
}

AttentionOp Raiser::raise(const Loops &loops, const Parts &parts,
                          Value &result) {
  // Shape and order of loops of an operand.
  auto getShape = [&](int64_t heads, ArrayRef<unsigned> channels) {
    SmallVector<int64_t> shape{loops.getSize(parts.batch)};
    shape.append(parts.windows.shape);
    shape.push_back(heads);
    shape.push_back(loops.getSize(channels));
    return shape;
  };
  auto getOrder = [&](ArrayRef<unsigned> tokens, bool shared,
                      ArrayRef<unsigned> channels) {
    Index order = parts.batch;
    order.append(tokens.begin(), tokens.end());
    order.append(parts.keyHeads);
    // Consecutive query heads share a key head.
    if (shared)
      order.append(parts.sharedHeads);
    order.append(channels.begin(), channels.end());
    return order;
  };
  int64_t keyHeads = loops.getSize(parts.keyHeads);
  int64_t heads = keyHeads * loops.getSize(parts.sharedHeads);
  Value query =
      reorder(loops, parts.query.value, loops.resolve(parts.query.indices),
              getOrder(parts.queries, true, parts.channels),
              getShape(heads, parts.channels));
  Value key = reorder(loops, parts.key.value, loops.resolve(parts.key.indices),
                      getOrder(parts.keys, false, parts.channels),
                      getShape(keyHeads, parts.channels));
  Value value =
      reorder(loops, parts.value.value, loops.resolve(parts.value.indices),
              getOrder(parts.keys, false, parts.valueChannels),
              getShape(keyHeads, parts.valueChannels));

  SmallVector<int64_t, 3> size, stride, dilation;
  SmallVector<bool, 3> causal;
  for (const ::na::window::Axis &axis : parts.windows.axes) {
    size.push_back(axis.window);
    stride.push_back(axis.stride);
    dilation.push_back(axis.dilation);
    causal.push_back(axis.causal);
  }
  auto window =
      WindowAttr::get(builder.getContext(), size, stride, dilation, causal);
  auto attention = AttentionOp::create(
      builder, loc, query, key, value, window, /*withLse=*/false, Value(),
      Value(), Value(), builder.getF64FloatAttr(parts.scale));
  result = reorder(loops, attention->getResult(0),
                   getOrder(parts.queries, true, parts.valueChannels),
                   loops.resolve(parts.resultIndices),
                   cast<RankedTensorType>(parts.result.getType()).getShape());
  return attention;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Erases `op` and what only it needed, if nothing needs it, also from `left`.
static void eraseIfDead(Operation *op, llvm::DenseSet<Operation *> &left) {
  SetVector<Operation *> worklist;
  worklist.insert(op);
  while (!worklist.empty()) {
    Operation *next = worklist.pop_back_val();
    if (!isOpTriviallyDead(next))
      continue;
    for (Value operand : next->getOperands())
      if (Operation *definition = operand.getDefiningOp())
        worklist.insert(definition);
    left.erase(next);
    next->erase();
  }
}

namespace {

struct RaiseAttention : mlir::na::impl::NARaiseAttentionBase<RaiseAttention> {
  using NARaiseAttentionBase::NARaiseAttentionBase;

  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> products;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (isProduct(op))
        products.push_back(op);
    });
    // Raising one erases others.
    llvm::DenseSet<Operation *> left(products.begin(), products.end());
    for (linalg::LinalgOp product : products)
      if (left.contains(product))
        if (Operation *old = raise(product))
          eraseIfDead(old, left);
  }

  /// Returns the operation whose result was replaced, or null.
  Operation *raise(linalg::LinalgOp product);
};

} // namespace

Operation *RaiseAttention::raise(linalg::LinalgOp product) {
  Matcher matcher(product, {maskedBelow, maxTokens});
  if (!matcher.match()) {
    if (explain && !matcher.reason.empty())
      product->emitRemark() << "attention is not raised: " << matcher.reason;
    return nullptr;
  }
  Parts &parts = matcher.parts;
  Operation *old = parts.result.getDefiningOp();
  OpBuilder builder(old);
  Value result;
  AttentionOp attention = Raiser(builder, product->getLoc())
                              .raise(matcher.getLoops(), parts, result);
  if (explain)
    product->emitRemark() << "attention is raised to " << attention.getWindow();
  parts.result.replaceAllUsesWith(result);
  return old;
}
