//===- Warpgroups.cpp - Layouts of kernels whose warpgroups have roles ----===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutAssigner.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::nagpu;

/// Columns of the result of one `wgmma`.
static constexpr int64_t maxColumns = 256;

LogicalResult LayoutAssigner::convertWarpgroups(scf::ForallOp loop) {
  if (!isWarpgroupLoop(loop))
    return loop.emitError("nagpu-assign-layouts: no layout for this operation");
  if (warpgroups)
    return loop.emitError("nagpu-assign-layouts: a second loop over "
                          "warpgroups in one kernel");
  auto bounds = [&](ArrayRef<OpFoldResult> bounds) {
    return llvm::map_to_vector(bounds, [&](OpFoldResult bound) -> OpFoldResult {
      if (auto value = dyn_cast<Value>(bound))
        return scalar(value);
      return bound;
    });
  };
  warpgroups = scf::ForallOp::create(
      b, bounds(loop.getMixedLowerBound()), bounds(loop.getMixedUpperBound()),
      bounds(loop.getMixedStep()),
      /*outputs=*/ValueRange(), loop.getMapping());
  for (auto [from, to] :
       llvm::zip_equal(loop.getInductionVars(), warpgroups.getInductionVars()))
    mapping.map(from, to);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(warpgroups.getTerminator());
  if (failed(convertBlock(*loop.getBody())))
    return failure();
  if (addsTiles)
    TmaStoreWaitOp::create(b, /*pending=*/0);
  return success();
}

Swizzle LayoutAssigner::getPanels(Type elementType, int64_t columns) {
  int64_t bytes = columns * elementType.getIntOrFloatBitWidth() / 8;
  return bytes % 128 == 0  ? Swizzle::Tma128
         : bytes % 64 == 0 ? Swizzle::Tma64
                           : Swizzle::Tma32;
}

Value LayoutAssigner::buildWarpgroupProduct(Value lhs, Value rhs, Value acc,
                                            bool transposed) {
  auto type = cast<FragmentType>(acc.getType());
  auto rhsType = cast<SharedType>(rhs.getType());
  auto emitError = [&] {
    return mlir::emitError(b.getLoc(), "nagpu-assign-layouts: ");
  };
  if (type.getRows() != warpgroupRows) {
    emitError() << "a product of " << type.getRows()
                << " queries in a warpgroup, expected " << warpgroupRows;
    return {};
  }
  if (type.getColumns() > maxColumns) {
    emitError() << "a product of " << type.getColumns()
                << " columns in a warpgroup, expected at most " << maxColumns;
    return {};
  }
  // A sum that starts at zero need not be in registers before.
  auto splat = acc.getDefiningOp<SplatOp>();
  if (splat && matchPattern(splat.getValue(), m_AnyZeroFloat()))
    acc = {};

  SmallVector<Value> registers;
  if (auto fragment = dyn_cast<FragmentType>(lhs.getType())) {
    auto lhsType =
        FragmentType::get(b.getContext(), fragment.getShape(),
                          rhsType.getElementType(), Role::Lhs, warps);
    if (fragment != lhsType)
      lhs = ConvertOp::create(b, lhsType, lhs);
    registers.push_back(lhs);
  }
  if (acc)
    registers.push_back(acc);
  auto fence =
      WgmmaFenceOp::create(b, ValueRange(registers).getTypes(), registers);
  if (isa<FragmentType>(lhs.getType()))
    lhs = fence.getResults().front();
  if (acc)
    acc = fence.getResults().back();
  Value product = WgmmaOp::create(b, type, lhs, rhs, acc, transposed);
  WgmmaCommitOp::create(b);
  return WgmmaWaitOp::create(b, TypeRange(type), /*pending=*/0, product)
      .getResult(0);
}
