//===- TileAndFuse.cpp - Tile attention and its gradients -----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NA/Transforms/Passes.h"
#include "na/Dialect/NA/Transforms/TileAttention.h"
#include "na/Dialect/NA/Transforms/TileGrid.h"
#include "na/Dialect/NA/Transforms/TileWarpgroups.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::na {
#define GEN_PASS_DEF_NATILEANDFUSE
#include "na/Dialect/NA/Transforms/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;
using namespace mlir::na;

template <typename OpTy>
static constexpr bool hasKeyRows = std::is_same_v<OpTy, AttentionDKVOp> ||
                                   std::is_same_v<OpTy, AttentionDQKVOp>;

/// Whether the tiled program can be built; says why not otherwise.
template <typename OpTy>
static LogicalResult checkTileable(OpTy op) {
  if (!isa<MemRefType>(op.getQuery().getType()))
    return op.emitOpError("is on tensors; bufferize before na-tile-and-fuse");
  if (!op.getSchedule())
    return op.emitOpError(
        "has no schedule; run na-select-schedule before na-tile-and-fuse");
  if (op.getSchedule()->isForGPU() &&
      !op.getSchedule()->getWarpgroupTile().empty())
    return checkWarpgroups(op, *op.getSchedule(),
                           hasKeyRows<OpTy> ? TileGrid::Rows::Keys
                                            : TileGrid::Rows::Queries);
  return success();
}

/// Sizes that tiles and the head mapping need as numbers.
template <typename OpTy>
static bool hasStaticChannels(OpTy op) {
  SmallVector<Value> operands = {op.getQuery(), op.getKey(), op.getValue()};
  if constexpr (!hasKeyRows<OpTy>)
    if (op.getAdditionalKey())
      operands.append({op.getAdditionalKey(), op.getAdditionalValue()});
  return llvm::none_of(operands, [](Value operand) {
    return ShapedType::isDynamicShape(
        cast<MemRefType>(operand.getType()).getShape().take_back(2));
  });
}

namespace {
struct TileAndFuse : mlir::na::impl::NATileAndFuseBase<TileAndFuse> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](AttentionDQKVOp op) {
      if (op.getSchedule() && op.getSchedule()->getWarpgroupTile().empty())
        op.split(rewriter);
    });
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<AttentionOp, AttentionDQOp, AttentionDKVOp, AttentionDQKVOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      rewriter.setInsertionPoint(op);
      LogicalResult done = TypeSwitch<Operation *, LogicalResult>(op)
                               .Case([&](AttentionOp op) {
                                 return tile(op, rewriter, tileAttention);
                               })
                               .Case([&](AttentionDQOp op) {
                                 return tile(op, rewriter, tileAttentionDQ);
                               })
                               .Case([&](AttentionDKVOp op) {
                                 return tile(op, rewriter, tileAttentionDKV);
                               })
                               .Case([&](AttentionDQKVOp op) {
                                 return tile(op, rewriter, tileAttentionDQKV);
                               });
      if (failed(done))
        return signalPassFailure();
    }
  }

  template <typename OpTy>
  LogicalResult tile(OpTy op, RewriterBase &rewriter,
                     void (*build)(OpTy, RewriterBase &)) {
    if (failed(checkTileable(op)))
      return failure();
    if (op.getSchedule()->isNaive())
      return success();
    auto query = cast<MemRefType>(op.getQuery().getType());
    if (!hasStaticChannels(op))
      op.emitRemark("heads, head dim or value dim is dynamic: left for the "
                    "naive lowering");
    else if (!hasNarrowPositions(op.getWindow(), query))
      op.emitRemark("an axis is longer than 2^30 times its dilation: left for "
                    "the naive lowering");
    else
      build(op, rewriter);
    return success();
  }
};
} // namespace
