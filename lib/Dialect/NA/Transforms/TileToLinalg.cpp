//===- TileToLinalg.cpp - Lower masks on tiles to linalg ---*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NA/Transforms/Passes.h"
#include "na/Dialect/NA/Transforms/TileLinalg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

#include <limits>

namespace mlir::na {
#define GEN_PASS_DEF_NATILETOLINALG
#include "na/Dialect/NA/Transforms/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;
using namespace mlir::na;

/// Positions, as i32, of key lane `lane` on each axis.
static SmallVector<Value> buildKeyPositions(ImplicitLocOpBuilder &b,
                                            TileMaskOp op, Value lane) {
  ArrayRef<int64_t> box = op.getBox();
  SmallVector<Value> positions(box.size());
  Value rest = lane;
  for (int64_t axis = box.size() - 1; axis >= 0; --axis) {
    Value index = rest;
    if (axis > 0) {
      Value extent = arith::ConstantIndexOp::create(b, box[axis]);
      index = arith::RemUIOp::create(b, rest, extent);
      rest = arith::DivUIOp::create(b, rest, extent);
    }
    positions[axis] = arith::IndexCastOp::create(
        b, b.getI32Type(),
        arith::AddIOp::create(b, op.getAt()[axis], index).getResult());
  }
  return positions;
}

/// Masks the whole tile.
static Value buildMask(ImplicitLocOpBuilder &b, TileMaskOp op) {
  Type type = cast<ShapedType>(op.getInit().getType()).getElementType();
  // Loops in the order of the tile's dimensions.
  unsigned keyDim = op.getKeyMajor() ? 0 : 1, queryDim = 1 - keyDim;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (int64_t axis : op.getAxes())
    for (int64_t row : {2 * axis, 2 * axis + 1}) {
      inputs.push_back(op.getRanges());
      maps.push_back(AffineMap::get(
          2, 0, {b.getAffineConstantExpr(row), b.getAffineDimExpr(queryDim)},
          b.getContext()));
    }
  maps.push_back(b.getMultiDimIdentityMap(2));
  return buildGeneric(
      b, inputs, {op.getInit()}, maps, {},
      [&](ImplicitLocOpBuilder &b, ValueRange args) -> SmallVector<Value> {
        Value lane = linalg::IndexOp::create(b, keyDim);
        SmallVector<Value> positions = buildKeyPositions(b, op, lane);
        Value score = args.back();
        Value hidden =
            buildFloat(b, type, -std::numeric_limits<double>::infinity());
        for (auto [index, axis] : llvm::enumerate(op.getAxes())) {
          Value position = positions[axis];
          Value after = arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                              position, args[2 * index]);
          Value before = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                               position, args[2 * index + 1]);
          Value visible = arith::AndIOp::create(b, after, before);
          score = arith::SelectOp::create(b, visible, score, hidden);
        }
        return {score};
      })[0];
}

namespace {

struct LowerMask : OpRewritePattern<TileMaskOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TileMaskOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getResult())
      return rewriter.notifyMatchFailure(op, "is on memrefs");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    if (!op.getUnless()) {
      rewriter.replaceOp(op, buildMask(b, op));
      return success();
    }
    auto branch = scf::IfOp::create(
        b, op.getUnless(),
        [&](OpBuilder &nested, Location loc) {
          scf::YieldOp::create(nested, loc, op.getInit());
        },
        [&](OpBuilder &nested, Location loc) {
          ImplicitLocOpBuilder inner(loc, nested);
          scf::YieldOp::create(inner, buildMask(inner, op));
        });
    rewriter.replaceOp(op, branch.getResults());
    return success();
  }
};

struct TileToLinalg : mlir::na::impl::NATileToLinalgBase<TileToLinalg> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<LowerMask>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
