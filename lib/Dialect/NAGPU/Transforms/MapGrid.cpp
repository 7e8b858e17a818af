//===- MapGrid.cpp - Map tiled loops to the grid of a kernel --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpgroupLoop.h"

#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NAGPU/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::nagpu {
#define GEN_PASS_DEF_NAGPUMAPGRID
#include "na/Dialect/NAGPU/Transforms/Passes.h.inc"
} // namespace mlir::nagpu

using namespace mlir;
using namespace mlir::nagpu;

static constexpr int64_t warpSize = 32;
/// Rows of one block of a matrix instruction.
static constexpr int64_t blockRows = 16;
/// As many as share the matrix units of an SM.
static constexpr int64_t defaultWarps = 4;
/// Warpgroups of the largest CTA, one of which only loads.
static constexpr int64_t maxWarpgroups = 8;

static bool isTileOp(Operation *op) {
  return op->getName().getStringRef().starts_with("na.tile.");
}

/// Rows (queries, or keys of a gradient) of the tile that an iteration
/// computes; 0 if it stores none.
static int64_t getRows(scf::ForallOp loop) {
  int64_t rows = 0;
  loop.walk([&](Operation *op) {
    ArrayRef<int64_t> box;
    if (auto store = dyn_cast<mlir::na::TileStoreOp>(op))
      box = store.getBox();
    else if (auto scatter = dyn_cast<mlir::na::TileScatterOp>(op))
      box = scatter.getQueryBox();
    if (!box.empty())
      rows = std::max<int64_t>(rows, llvm::product_of(box));
  });
  return rows;
}

/// Warps of a CTA whose warpgroups are the iterations of `loop`: theirs, and
/// those of one more that loads their tiles.
static FailureOr<int64_t> getWarpsOfWarpgroups(scf::ForallOp loop) {
  std::optional<int64_t> groups =
      loop.getRank() == 1 ? getConstantIntValue(loop.getMixedUpperBound()[0])
                          : std::nullopt;
  if (!loop.isNormalized() || loop.getNumResults() != 0 || !groups ||
      *groups < 1 || *groups >= maxWarpgroups)
    return loop.emitError("nagpu-map-grid: expected a loop over 1 to ")
           << maxWarpgroups - 1 << " warpgroups, from 0 in steps of 1, "
           << "without results";
  int64_t rows = getRows(loop);
  if (rows != warpgroupRows)
    return loop.emitError("nagpu-map-grid: a warpgroup has ")
           << rows << " rows, expected " << warpgroupRows;
  return warpgroupWarps * (1 + *groups);
}

static FailureOr<int64_t> getWarps(scf::ForallOp loop) {
  if (scf::ForallOp warpgroups = findWarpgroupLoop(*loop.getBody()))
    return getWarpsOfWarpgroups(warpgroups);
  int64_t rows = getRows(loop);
  int64_t warps = 0;
  if (auto schedule =
          loop->getAttrOfType<mlir::na::ScheduleAttr>("na.schedule"))
    warps = schedule.getWarps();
  if (warps == 0) {
    warps = std::clamp<int64_t>(rows / blockRows, 1, defaultWarps);
    while (warps > 1 && rows % (blockRows * warps) != 0)
      --warps;
  }
  if (rows == 0 || rows % (blockRows * warps) != 0)
    return loop.emitError("nagpu-map-grid: the tile of a CTA has ")
           << rows << " rows, expected a multiple of " << blockRows * warps
           << " (" << blockRows << " for each of " << warps << " warps)";
  return warps;
}

/// Refuses loops of another form than the grid of `na-tile-and-fuse`.
static LogicalResult verifyForm(scf::ForallOp loop) {
  if (loop.getNumResults() != 0)
    return loop.emitError("nagpu-map-grid: expected a loop without results, "
                          "got ")
           << loop.getNumResults();
  if (!loop.isNormalized())
    return loop.emitError(
        "nagpu-map-grid: expected a loop from 0 in steps of 1");
  if (loop->getParentOfType<scf::ForallOp>() ||
      loop->getParentOfType<gpu::LaunchOp>())
    return loop.emitError(
        "nagpu-map-grid: expected a loop outside of kernels and their grids");
  return success();
}

static void mapToGrid(scf::ForallOp loop, int64_t warps,
                      RewriterBase &rewriter) {
  ImplicitLocOpBuilder b(loop.getLoc(), rewriter);
  SmallVector<OpFoldResult> extents = loop.getMixedUpperBound();
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value grid = one;
  for (OpFoldResult extent : extents)
    grid = b.createOrFold<arith::MulIOp>(
        grid, getValueOrCreateConstantIndexOp(b, b.getLoc(), extent));
  Value threads = arith::ConstantIndexOp::create(b, warps * warpSize);
  auto launch = gpu::LaunchOp::create(b, grid, one, one, threads, one, one);
  for (StringRef name : {"na.schedule", "na.uneven", "na.in_order"})
    if (Attribute note = loop->getAttr(name))
      launch->setAttr(name, note);

  // The first dimension, which may be dynamic, is what remains.
  b.setInsertionPointToStart(&launch.getBody().front());
  Value rest = launch.getBlockIds().x;
  SmallVector<Value> ids(extents.size());
  for (int64_t dim = extents.size() - 1; dim > 0; --dim) {
    Value extent = getValueOrCreateConstantIndexOp(b, b.getLoc(), extents[dim]);
    ids[dim] = b.createOrFold<arith::RemUIOp>(rest, extent);
    rest = b.createOrFold<arith::DivUIOp>(rest, extent);
  }
  ids[0] = rest;
  rewriter.eraseOp(loop.getTerminator());
  rewriter.inlineBlockBefore(loop.getBody(), &launch.getBody().front(),
                             launch.getBody().front().end(), ids);
  b.setInsertionPointToEnd(&launch.getBody().front());
  gpu::TerminatorOp::create(b);
  rewriter.eraseOp(loop);
}

namespace {
struct MapGrid : nagpu::impl::NAGPUMapGridBase<MapGrid> {
  void runOnOperation() override {
    SmallVector<scf::ForallOp> loops;
    getOperation()->walk([&](scf::ForallOp loop) {
      if (isWarpgroupLoop(loop))
        return;
      if (findWarpgroupLoop(*loop.getBody()) ||
          llvm::any_of(*loop.getBody(),
                       [](Operation &op) { return isTileOp(&op); }))
        loops.push_back(loop);
    });
    IRRewriter rewriter(&getContext());
    for (scf::ForallOp loop : loops) {
      if (failed(verifyForm(loop)))
        return signalPassFailure();
      FailureOr<int64_t> warps = getWarps(loop);
      if (failed(warps))
        return signalPassFailure();
      rewriter.setInsertionPoint(loop);
      mapToGrid(loop, *warps, rewriter);
    }
  }
};
} // namespace
