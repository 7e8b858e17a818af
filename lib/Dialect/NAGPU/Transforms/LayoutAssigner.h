//===- LayoutAssigner.h - From tiles to fragments and shared tiles --------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Internal to nagpu-assign-layouts.
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_DIALECT_NAGPU_TRANSFORMS_LAYOUTASSIGNER_H
#define NA_LIB_DIALECT_NAGPU_TRANSFORMS_LAYOUTASSIGNER_H

#include "WarpgroupLoop.h"

#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NAGPU/IR/NAGPU.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::nagpu {

/// Builds a `nagpu.map`: `body` gets the elements of `inputs` and returns those
/// of the results. Without results, `over` says what is iterated over.
SmallVector<Value> buildMap(
    ImplicitLocOpBuilder &b, ValueRange inputs, ArrayRef<FragmentType> results,
    FragmentType over,
    function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, ValueRange)> body);

/// Whether the left operand of a product is gathered weights, transposed.
bool isTransposedLhs(linalg::ContractOp op);

/// Rebuilds the body of a launch on tensors as one on fragments.
class LayoutAssigner {
public:
  LayoutAssigner(gpu::LaunchOp launch, int64_t warps, bool tf32)
      : launch(launch), warps(warps), tf32(tf32),
        b(launch.getLoc(), launch.getContext()) {}

  LogicalResult run();

private:
  // AssignLayouts.cpp
  void assumeAlignments();
  LogicalResult convertBlock(Block &block);
  LogicalResult convert(Operation &op);
  LogicalResult convertFor(scf::ForOp loop);
  LogicalResult convertIf(scf::IfOp branch);
  LogicalResult convertYield(Operation *yield, TypeRange types);
  LogicalResult convertLoad(na::TileLoadOp op);
  LogicalResult convertLoadChoice(scf::IfOp branch);
  SharedType getTileType(na::TileLoadOp op);
  Value buildTile(SharedType type);
  Value buildCopy(na::TileLoadOp op, Value slot);
  LogicalResult convertStore(na::TileStoreOp op);
  LogicalResult convertFill(linalg::FillOp op);
  LogicalResult convertContract(linalg::ContractOp op);
  void convertScalar(Operation &op);
  Value buildProduct(Value lhs, Value rhs, Value acc, bool transposed,
                     bool lhsTransposed);
  Value getLhsSlice(Value tile, int64_t column, int64_t depth);
  int64_t countRegisters(scf::ForOp loop, ValueRange inits);
  /// The fragment for a tensor that `op` computes; null, after an error, if
  /// there is none.
  FragmentType getFragmentType(Operation *op, RankedTensorType type);

  // ElementFragments.cpp
  LogicalResult convertGeneric(linalg::GenericOp op);
  LogicalResult convertElementwise(linalg::GenericOp op);
  LogicalResult convertReduction(linalg::GenericOp op);
  SmallVector<Value> cloneBody(linalg::GenericOp op, ValueRange args,
                               ImplicitLocOpBuilder &b);
  /// A loaded or computed vector of a value for each row, or each column; null
  /// if there is none.
  Value vectorFragment(Value tensor, Role role);
  /// Whether a vector is used for rows or for columns of tiles.
  static Role getVectorRole(Value vector);
  static Role getVectorRole(AffineMap map);

  // Warpgroups.cpp
  LogicalResult convertWarpgroups(scf::ForallOp loop);
  /// The panels that tiles of so many columns are cut into.
  static Swizzle getPanels(Type elementType, int64_t columns);
  /// As `buildProduct`, by `nagpu.wgmma`; null after an error.
  Value buildWarpgroupProduct(Value lhs, Value rhs, Value acc, bool transposed);

  // ColumnSums.cpp
  LogicalResult convertColumnSums(linalg::ContractOp op);
  LogicalResult convertAdd(na::TileAddOp op);
  /// A tile of the warpgroup's own, outside of the loop over warpgroups, of
  /// which it has `count`.
  SmallVector<Value> buildOwnTiles(SharedType type, int64_t count);
  /// What the threads of the warpgroup have stored can be read by the TMA and
  /// by products behind it.
  void buildPublication();
  void buildOwnBarrier();

  // WindowFragments.cpp
  LogicalResult convertWindows(na::TileWindowsOp op);
  LogicalResult convertMask(na::TileMaskOp op);
  LogicalResult convertBias(na::TileBiasOp op);
  Value buildFlatBias(na::TileBiasOp op, Value scores);
  LogicalResult convertScatter(na::TileScatterOp op);
  LogicalResult convertGather(na::TileGatherOp op);
  Value buildScratch(int64_t rows, ArrayRef<int64_t> keyBox, Type elementType);
  /// Key ranges of the rows, relative to `at`, as row fragments per axis.
  SmallVector<Value> getRelativeRanges(Value ranges, ValueRange at,
                                       ArrayRef<int64_t> axes);

  /// A scalar or memref of the old body in the new one.
  Value scalar(Value value) { return mapping.lookupOrDefault(value); }
  SmallVector<Value> scalars(ValueRange values) {
    return llvm::map_to_vector(values, [&](Value v) { return scalar(v); });
  }
  Value fragment(Value tensor) { return fragments.lookup(tensor); }
  /// Whether the value is there before all loops over tiles.
  bool isOutsideLoops(Value tile);
  /// Columns of tiles are multiples of the depth of a 16-bit product, and all
  /// alike: channels are rows of one product and columns of the next one.
  static int64_t padColumns(int64_t columns) {
    return llvm::alignTo(columns, 16);
  }
  int64_t depthOf(Type elementType) const {
    return elementType.getIntOrFloatBitWidth() == 16 ? 16 : 8;
  }

  gpu::LaunchOp launch;
  /// Warps that a fragment is spread over: those of a CTA or a warpgroup.
  int64_t warps;
  bool tf32;
  ImplicitLocOpBuilder b;
  /// The loop of the new body whose iterations are warpgroups, if there is one.
  scf::ForallOp warpgroups;
  /// Loops of the new body around the insertion point, outermost first.
  SmallVector<scf::ForOp> loops;
  IRMapping mapping;
  DenseMap<Value, Value> fragments, tiles;
  /// Sums for columns, transposed: a fragment for every 64 channels.
  DenseMap<Value, SmallVector<Value>> columnSums;
  /// Whether the TMA reads tiles of the warpgroups, to the end.
  bool addsTiles = false;
  /// The keys that the rows see on an axis: from `begin` on, up to `end`, or
  /// `size` of them if that is null.
  struct WindowBounds {
    Value begin, end;
    int64_t size;
  };
  DenseMap<Value, SmallVector<WindowBounds>> windowRanges;
  /// Operands, and vectors of rows, in registers over the loops.
  DenseMap<Value, SmallVector<Value>> resident;
  /// Registers a thread that the outermost loop needs, and those of `resident`
  /// and `windowRanges`.
  int64_t carriedRegisters = 0, keptRegisters = 0;
};

/// The digits of `lane` (i32), row-major in `box`.
SmallVector<Value> buildDigits(ImplicitLocOpBuilder &b, Value lane,
                               ArrayRef<int64_t> box);

} // namespace mlir::nagpu

#endif // NA_LIB_DIALECT_NAGPU_TRANSFORMS_LAYOUTASSIGNER_H
