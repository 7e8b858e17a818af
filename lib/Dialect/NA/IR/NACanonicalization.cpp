//===- NACanonicalization.cpp - Exact simplifications -----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every rewrite here keeps each finite result bit for bit. Casts of tensors are
// folded by upstream's pattern for operations in destination style.
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/IR/NA.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::na;

static ShapedType shaped(Value value) {
  return cast<ShapedType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// The length of an axis where an operand [B, X.., H, ...] states it.
static std::optional<int64_t> staticLength(ValueRange operands, int64_t axis) {
  for (Value operand : operands)
    if (!shaped(operand).isDynamicDim(axis + 1))
      return shaped(operand).getDimSize(axis + 1);
  return std::nullopt;
}

/// The simplest window that shows every query the same keys from the same first
/// key on. `operands` are those that tell the lengths.
static WindowAttr simplify(WindowAttr window, ValueRange operands) {
  SmallVector<int64_t> stride(window.getStride());
  SmallVector<int64_t> dilation(window.getDilation());
  SmallVector<bool> causal(window.getCausal());
  for (int64_t axis = 0; axis < window.getRank(); ++axis) {
    int64_t size = window.getSize()[axis];
    // A window of one key is the query itself, in whatever class it is.
    if (size == 1) {
      dilation[axis] = 1;
      causal[axis] = false;
    }
    // Where the window is as long as every class, it begins at the first key of
    // the class for all queries: the group that a query is in has no effect,
    // with causality neither, since a causal window ends at the query.
    std::optional<int64_t> length = staticLength(operands, axis);
    if (length && *length % dilation[axis] == 0 &&
        *length / dilation[axis] == size)
      stride[axis] = 1;
  }
  return WindowAttr::get(window.getContext(), window.getSize(), stride,
                         dilation, causal);
}

namespace {
template <typename OpTy>
struct SimplifyWindow : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    // The first operands of all operations and their destination, unless it is
    // a bias, are [B, X.., H, ...].
    unsigned inputs = isa<QKDBiasOp>(op) ? 1 : 2;
    SmallVector<Value> operands(op->getOperands().take_front(inputs));
    if (!isa<AttentionDBiasOp, QKDBiasOp>(op))
      operands.push_back(op.getDpsInits().front());
    WindowAttr window = simplify(op.getWindow(), operands);
    if (window == op.getWindow())
      return rewriter.notifyMatchFailure(op, "window is simple");
    rewriter.modifyOpInPlace(op, [&]() { op.setWindowAttr(window); });
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Destinations
//===----------------------------------------------------------------------===//

/// The operation without the destination of the LSE.
Value rebuildWithoutLse(OpBuilder &builder, AttentionOp op) {
  auto smaller = AttentionOp::create(
      builder, op.getLoc(), op.getQuery(), op.getKey(), op.getValue(),
      op.getBias(), op.getAdditionalKey(), op.getAdditionalValue(),
      op.getOutput(), /*lse=*/Value(), op.getWindow(), op.getScaleAttr(),
      op.getScheduleAttr());
  smaller->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return smaller->getResult(0);
}
Value rebuildWithoutLse(OpBuilder &builder, MergeOp op) {
  auto smaller = MergeOp::create(builder, op.getLoc(), op.getOutputs(),
                                 op.getLses(), op.getOutput());
  smaller->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return smaller->getResult(0);
}

/// Drops the destination of an LSE that nobody reads.
template <typename OpTy>
struct DropUnusedLse : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 2 || !op->getResult(1).use_empty())
      return rewriter.notifyMatchFailure(op, "no unused LSE");
    rewriter.replaceAllUsesWith(op->getResult(0),
                                rebuildWithoutLse(rewriter, op));
    rewriter.eraseOp(op);
    return success();
  }
};

/// Destinations are written without being read: a value that they are filled
/// with is lost.
template <typename OpTy>
struct DropFilledDestination : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    for (OpOperand &init : op.getDpsInitsMutable())
      if (auto fill = init.get().getDefiningOp<linalg::FillOp>()) {
        rewriter.modifyOpInPlace(op, [&]() { init.set(fill.getOutputs()[0]); });
        changed = true;
      }
    return success(changed);
  }
};

//===----------------------------------------------------------------------===//
// na.attention
//===----------------------------------------------------------------------===//

/// Whether every query head has a key head of its own.
bool hasHeadPerQueryHead(AttentionOp op) {
  // The same tensor has the same heads, static or not.
  if (op.getQuery() == op.getKey() || op.getQuery() == op.getValue())
    return true;
  int64_t dim = op.getSpatialRank() + 1;
  auto heads = [&](Value one, Value other) {
    int64_t size = shaped(one).getDimSize(dim);
    return ShapedType::isDynamic(size) ? shaped(other).getDimSize(dim) : size;
  };
  int64_t queryHeads = heads(op.getQuery(), op.getOutput());
  int64_t keyHeads = heads(op.getKey(), op.getValue());
  // A number of key heads that divides 1 is 1.
  return queryHeads == 1 ||
         (!ShapedType::isDynamic(queryHeads) && queryHeads == keyHeads);
}

/// A query that sees only itself takes its own value: its softmax weight is 1.
struct FoldIdentityWindow : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1 || !op.getWindow().isIdentity() ||
        op.getAdditionalKey() || !hasHeadPerQueryHead(op))
      return rewriter.notifyMatchFailure(op, "not the values alone");
    auto type = cast<RankedTensorType>(op.getOutput().getType());
    auto valueType = cast<RankedTensorType>(op.getValue().getType());
    if (type.getEncoding() != valueType.getEncoding())
      return rewriter.notifyMatchFailure(op, "another tensor encoding");
    if (type == valueType)
      rewriter.replaceOp(op, op.getValue());
    else
      rewriter.replaceOpWithNewOp<tensor::CastOp>(op, type, op.getValue());
    return success();
  }
};

/// Drops additional keys and values of which there are none.
template <typename OpTy>
struct DropEmptyAdditional : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!op.getAdditionalKey() ||
        (shaped(op.getAdditionalKey()).getDimSize(1) != 0 &&
         shaped(op.getAdditionalValue()).getDimSize(1) != 0))
      return rewriter.notifyMatchFailure(op, "no empty additional keys");
    rewriter.modifyOpInPlace(op, [&]() {
      op.getAdditionalKeyMutable().clear();
      op.getAdditionalValueMutable().clear();
    });
    return success();
  }
};

//===----------------------------------------------------------------------===//
// na.merge
//===----------------------------------------------------------------------===//

bool isNegativeInfinity(Value value) {
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    value = fill.getInputs()[0];
  return matchPattern(value, m_NegInfFloat());
}

/// Drops parts without keys. One part stays, since an operation needs one.
struct DropEmptyParts : OpRewritePattern<MergeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MergeOp op,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    for (unsigned i = op.getLses().size(); i-- > 0;) {
      if (op.getLses().size() == 1 || !isNegativeInfinity(op.getLses()[i]))
        continue;
      rewriter.modifyOpInPlace(op, [&]() {
        op.getOutputsMutable().erase(i);
        op.getLsesMutable().erase(i);
      });
      changed = true;
    }
    return success(changed);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<SimplifyWindow<AttentionOp>, DropUnusedLse<AttentionOp>,
               DropFilledDestination<AttentionOp>, FoldIdentityWindow,
               DropEmptyAdditional<AttentionOp>>(context);
}
void QKOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                       MLIRContext *context) {
  patterns.add<SimplifyWindow<QKOp>, DropFilledDestination<QKOp>>(context);
}
void AVOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                       MLIRContext *context) {
  patterns.add<SimplifyWindow<AVOp>, DropFilledDestination<AVOp>>(context);
}
void MergeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<DropUnusedLse<MergeOp>, DropFilledDestination<MergeOp>,
               DropEmptyParts>(context);
}

void AttentionGradOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                  MLIRContext *context) {
  patterns.add<SimplifyWindow<AttentionGradOp>,
               DropFilledDestination<AttentionGradOp>>(context);
}
void AttentionDQOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                MLIRContext *context) {
  patterns
      .add<SimplifyWindow<AttentionDQOp>, DropFilledDestination<AttentionDQOp>,
           DropEmptyAdditional<AttentionDQOp>>(context);
}
void AttentionDKVOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                 MLIRContext *context) {
  patterns.add<SimplifyWindow<AttentionDKVOp>,
               DropFilledDestination<AttentionDKVOp>>(context);
}
void AttentionDQKVOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                  MLIRContext *context) {
  patterns.add<SimplifyWindow<AttentionDQKVOp>,
               DropFilledDestination<AttentionDQKVOp>>(context);
}
void AttentionDBiasOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                   MLIRContext *context) {
  patterns.add<SimplifyWindow<AttentionDBiasOp>,
               DropFilledDestination<AttentionDBiasOp>>(context);
}
void QKGradOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<SimplifyWindow<QKGradOp>, DropFilledDestination<QKGradOp>>(
      context);
}
void AVGradOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<SimplifyWindow<AVGradOp>, DropFilledDestination<AVGradOp>>(
      context);
}
void QKDQOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *context) {
  patterns.add<SimplifyWindow<QKDQOp>, DropFilledDestination<QKDQOp>>(context);
}
void QKDKOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *context) {
  patterns.add<SimplifyWindow<QKDKOp>, DropFilledDestination<QKDKOp>>(context);
}
void QKDBiasOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns.add<SimplifyWindow<QKDBiasOp>, DropFilledDestination<QKDBiasOp>>(
      context);
}
void AVDWeightsOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                               MLIRContext *context) {
  patterns
      .add<SimplifyWindow<AVDWeightsOp>, DropFilledDestination<AVDWeightsOp>>(
          context);
}
void AVDVOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *context) {
  patterns.add<SimplifyWindow<AVDVOp>, DropFilledDestination<AVDVOp>>(context);
}

/// Folds casts that only forget sizes or a layout. Unlike upstream's
/// foldMemRefCast it keeps those that add some: lowerings use static sizes.
static LogicalResult foldCasts(Operation *op) {
  bool changed = false;
  for (OpOperand &operand : op->getOpOperands()) {
    auto cast = operand.get().getDefiningOp<memref::CastOp>();
    if (!cast || !memref::CastOp::canFoldIntoConsumerOp(cast))
      continue;
    operand.set(cast.getSource());
    changed = true;
  }
  return success(changed);
}

LogicalResult AttentionOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &) {
  return foldCasts(getOperation());
}
LogicalResult QKOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &) {
  return foldCasts(getOperation());
}
LogicalResult AVOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &) {
  return foldCasts(getOperation());
}
LogicalResult MergeOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &) {
  return foldCasts(getOperation());
}
LogicalResult AttentionGradOp::fold(FoldAdaptor,
                                    SmallVectorImpl<OpFoldResult> &) {
  return foldCasts(getOperation());
}
LogicalResult AttentionDQOp::fold(FoldAdaptor,
                                  SmallVectorImpl<OpFoldResult> &) {
  return foldCasts(getOperation());
}
LogicalResult AttentionDKVOp::fold(FoldAdaptor,
                                   SmallVectorImpl<OpFoldResult> &) {
  return foldCasts(getOperation());
}
LogicalResult AttentionDQKVOp::fold(FoldAdaptor,
                                    SmallVectorImpl<OpFoldResult> &) {
  return foldCasts(getOperation());
}
LogicalResult AttentionDAdditionalOp::fold(FoldAdaptor,
                                           SmallVectorImpl<OpFoldResult> &) {
  return foldCasts(getOperation());
}
LogicalResult AttentionDBiasOp::fold(FoldAdaptor,
                                     SmallVectorImpl<OpFoldResult> &) {
  return foldCasts(getOperation());
}
LogicalResult QKGradOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &) {
  return foldCasts(getOperation());
}
LogicalResult AVGradOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &) {
  return foldCasts(getOperation());
}
LogicalResult QKDQOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &) {
  return foldCasts(getOperation());
}
LogicalResult QKDKOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &) {
  return foldCasts(getOperation());
}
LogicalResult QKDBiasOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &) {
  return foldCasts(getOperation());
}
LogicalResult AVDWeightsOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &) {
  return foldCasts(getOperation());
}
LogicalResult AVDVOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &) {
  return foldCasts(getOperation());
}
LogicalResult MergeGradOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &) {
  return foldCasts(getOperation());
}
