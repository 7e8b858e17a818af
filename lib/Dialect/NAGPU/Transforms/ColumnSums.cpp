//===- ColumnSums.cpp - Sums for columns that are added to memory ---------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a loop's columns in a kernel whose accumulators are of rows:
// weights that a warpgroup has computed in registers are stored to shared
// memory, because the product sums over their rows, and its result goes through
// shared memory to the TMA, which adds it. Every step is where the tile is
// used, between barriers of the warpgroup.
//
//===----------------------------------------------------------------------===//

#include "LayoutAssigner.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::nagpu;

/// Channels of one product, whose rows they are.
static constexpr int64_t channelBlock = 64;

SmallVector<Value> LayoutAssigner::buildOwnTiles(SharedType type,
                                                 int64_t count) {
  int64_t groups = *getConstantIntValue(warpgroups.getMixedUpperBound()[0]);
  Value ring;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(warpgroups);
    int64_t shape[] = {groups * count, type.getRows(), type.getColumns()};
    ring = AllocOp::create(b,
                           SharedType::get(b.getContext(), shape,
                                           type.getElementType(),
                                           type.getSwizzle()),
                           IntegerAttr());
  }
  // In front of the loop: what is in it would come from a producer.
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(warpgroups.getBody());
  Value first = arith::MulIOp::create(
      b, warpgroups.getInductionVar(0),
      arith::ConstantIndexOp::create(b, count).getResult());
  SmallVector<Value> tiles;
  for (int64_t i = 0; i < count; ++i) {
    Value index = arith::AddIOp::create(
        b, first, arith::ConstantIndexOp::create(b, i).getResult());
    tiles.push_back(SlotOp::create(b, type, ring, index));
  }
  return tiles;
}

void LayoutAssigner::buildOwnBarrier() {
  Value id;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(warpgroups.getBody());
    id =
        arith::AddIOp::create(b, warpgroups.getInductionVar(0),
                              arith::ConstantIndexOp::create(b, 1).getResult());
  }
  NamedBarrierOp::create(b, id, warpgroupWarps * 32);
}

void LayoutAssigner::buildPublication() {
  ProxyFenceOp::create(b);
  buildOwnBarrier();
}

LogicalResult LayoutAssigner::convertColumnSums(linalg::ContractOp op) {
  Value rows = tiles.lookup(op.getInputs()[0]);
  Value weights = fragment(op.getInputs()[1]);
  auto splat = fragment(op.getOutputs()[0]).getDefiningOp<SplatOp>();
  auto emitError = [&] { return op.emitError("nagpu-assign-layouts: "); };
  if (!warpgroups || !rows || !weights || !splat ||
      !matchPattern(splat.getValue(), m_AnyZeroFloat()))
    return emitError()
           << "a product over rows, expected one of a warpgroup, of "
              "a loaded tile and computed weights, from zero on";
  auto rowsType = cast<SharedType>(rows.getType());
  auto weightsType = cast<FragmentType>(weights.getType());
  int64_t channels = rowsType.getColumns(), columns = weightsType.getColumns();
  if (rowsType.getRows() != warpgroupRows || channels % channelBlock != 0)
    return emitError() << "sums over " << rowsType.getRows() << " rows of "
                       << channels << " channels, expected " << warpgroupRows
                       << " rows of a multiple of " << channelBlock
                       << " channels";
  Type element = rowsType.getElementType();
  auto lhsType = FragmentType::get(b.getContext(), weightsType.getShape(),
                                   element, Role::Lhs, warps);
  if (weightsType != lhsType)
    weights = ConvertOp::create(b, lhsType, weights);
  auto tileType = SharedType::get(b.getContext(), {columns, warpgroupRows},
                                  element, Swizzle::Tma128);
  Value tile = buildOwnTiles(tileType, 1).front();
  StoreTransposedOp::create(b, weights, tile);
  buildPublication();
  auto blockType = SharedType::get(
      b.getContext(), {warpgroupRows, channelBlock}, element, Swizzle::Tma128);
  auto resultType = FragmentType::get(b.getContext(), {channelBlock, columns},
                                      b.getF32Type(), Role::Accumulator, warps);
  SmallVector<Value> blocks;
  for (int64_t i = 0; i < channels / channelBlock; ++i) {
    Value index = arith::ConstantIndexOp::create(b, i);
    blocks.push_back(PanelOp::create(b, blockType, rows, index));
  }
  WgmmaFenceOp::create(b, TypeRange(), ValueRange());
  SmallVector<Value> sums;
  for (Value block : blocks)
    sums.push_back(WgmmaOp::create(b, resultType, block, tile, Value(),
                                   /*transposed=*/true,
                                   /*lhs_transposed=*/true));
  WgmmaCommitOp::create(b);
  auto wait = WgmmaWaitOp::create(b, ValueRange(sums).getTypes(),
                                  /*pending=*/0, sums);
  columnSums[op.getResult(0)] = llvm::to_vector_of<Value>(wait.getResults());
  return success();
}

LogicalResult LayoutAssigner::convertAdd(na::TileAddOp op) {
  auto it = columnSums.find(op.getTile());
  if (it == columnSums.end() || !op.getTransposed())
    return op.emitError("nagpu-assign-layouts: expected transposed sums of a "
                        "product over rows");
  for (auto [axis, dilation] : llvm::enumerate(op.getDilation()))
    if (dilation != 1)
      return op.emitError("nagpu-assign-layouts: 'dilation'[")
             << axis << "] is " << dilation << ", expected 1";
  auto sums = cast<FragmentType>(it->second.front().getType());
  auto type = SharedType::get(b.getContext(), {sums.getColumns(), channelBlock},
                              b.getF32Type(), Swizzle::Tma128);
  Value map;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(launch);
    SmallVector<int64_t> box = {1};
    llvm::append_range(box, op.getBox());
    box.push_back(type.getPanelColumns());
    map = TensorMapOp::create(b,
                              TensorMapType::get(b.getContext(), box,
                                                 b.getF32Type(),
                                                 type.getSwizzle()),
                              scalar(op.getDest()), DenseI64ArrayAttr());
  }
  SmallVector<Value> tiles = buildOwnTiles(type, it->second.size());
  // What was added last has been read.
  TmaStoreWaitOp::create(b, /*pending=*/0);
  buildOwnBarrier();
  for (auto [sum, tile] : llvm::zip_equal(it->second, tiles))
    StoreTransposedOp::create(b, sum, tile);
  buildPublication();
  int64_t channels = op.getDest().getType().getShape().back();
  Value head = scalar(op.getHead());
  SmallVector<Value> firstChannels;
  {
    OpBuilder::InsertionGuard guard(b);
    if (head.getParentRegion()->isAncestor(warpgroups->getParentRegion()))
      b.setInsertionPointToStart(warpgroups.getBody());
    Value channel = arith::MulIOp::create(
        b, head, arith::ConstantIndexOp::create(b, channels).getResult());
    for (size_t i = 0; i < tiles.size(); ++i)
      firstChannels.push_back(arith::AddIOp::create(
          b, channel,
          arith::ConstantIndexOp::create(b, int64_t(i) * channelBlock)
              .getResult()));
  }
  for (auto [tile, channel] : llvm::zip_equal(tiles, firstChannels)) {
    SmallVector<Value> at = {scalar(op.getBatch())};
    llvm::append_range(at, scalars(op.getAt()));
    at.push_back(channel);
    TmaAddOp::create(b, tile, map, at, /*condition=*/Value());
  }
  addsTiles = true;
  return success();
}
