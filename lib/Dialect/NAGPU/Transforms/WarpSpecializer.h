//===- WarpSpecializer.h - From copies to rings of tiles ------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Internal to nagpu-specialize-warps.
//
//===----------------------------------------------------------------------===//

#ifndef NA_LIB_DIALECT_NAGPU_TRANSFORMS_WARPSPECIALIZER_H
#define NA_LIB_DIALECT_NAGPU_TRANSFORMS_WARPSPECIALIZER_H

#include "na/Dialect/NAGPU/IR/NAGPU.h"
#include "na/Schedule/WarpgroupBudgets.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::nagpu {

/// Whether a producer can compute it: a scalar, from scalars.
bool isBookkeeping(Operation *op);

/// A copy, and what the TMA has to know of its tensor.
struct Source {
  AsyncCopyOp copy;
  Value map;
  /// Empty without dilation.
  SmallVector<Value> strides;
};

/// A tile that is copied, waited for and read.
struct Load {
  Source source;
  /// Where the tile is copied from one of two tensors: the branch, and the
  /// other copy, that of its `else`.
  scf::IfOp choice;
  Source other;
  AsyncCommitOp commit;
  AsyncWaitOp wait;
  Value ring, full, free;

  Value getTile() { return source.copy.getDest(); }
  SharedType getType() { return cast<SharedType>(getTile().getType()); }
  /// Whether the lanes of the producer copy it, a number for each token,
  /// instead of the TMA.
  bool isVector() { return source.copy.isVector(); }
};

/// The slot of the rings in an iteration.
struct Slot {
  Value index, parity;
};

/// Splits the loop over warpgroups of a launch into roles.
class WarpSpecializer {
public:
  WarpSpecializer(gpu::LaunchOp launch, scf::ForallOp groups, int64_t stages)
      : launch(launch), groups(groups), stages(stages), rewriter(launch),
        b(launch.getLoc(), launch) {}

  LogicalResult run();

private:
  // SpecializeWarps.cpp
  LogicalResult collect();
  LogicalResult checkCopy(AsyncCopyOp copy);
  LogicalResult collectLoad(AsyncCopyOp copy, Load &load);
  LogicalResult collectMessages();
  RolesOp buildRoles();
  int64_t countProductRegisters();
  ::na::schedule::WarpgroupBudgets getBudgets(int64_t sharedBytes);
  void buildMap(Source &source);
  void buildMaps(Load &load);
  Value buildRing(Load &load, int64_t slots);
  Value buildBarrier(int64_t slots, int64_t arrivals);

  // WarpProducers.cpp
  void buildRowProducer();
  void buildLoopProducer(ArrayRef<Load *> loads, bool posts);
  Value buildVectorCopy(Load &load, IRMapping &mapping, Slot slot);
  void buildCopies(ArrayRef<Load *> loads, IRMapping &mapping, Slot slot);
  SmallVector<Value> buildCoordinates(Source &source, IRMapping &mapping);
  void buildTmaLoad(Load &load, IRMapping &mapping, Slot slot);
  void buildPosts(MutableArrayRef<IRMapping> mappings, Slot slot);
  Value clone(Value value, IRMapping &mapping, Operation *beforeLoop);

  // WarpConsumers.cpp
  LogicalResult convertConsumers();
  LogicalResult receive(Load &load, Slot slot, bool waited);
  void receiveMessages(Slot slot);
  void skip(scf::IfOp branch, Slot slot);

  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value toI32(Value value) {
    return value.getType().isIndex()
               ? arith::IndexCastOp::create(b, b.getI32Type(), value)
                     .getResult()
               : value;
  }
  /// The slot of the mailbox that goes with a slot of the rings, whose parity
  /// is the one that consumers wait for.
  Value getMailboxSlot(Slot slot) {
    Value phase = arith::IndexCastOp::create(b, b.getIndexType(), slot.parity);
    Value turn = arith::MulIOp::create(b, phase, constant(stages));
    return arith::AddIOp::create(b, slot.index, turn);
  }

  gpu::LaunchOp launch;
  scf::ForallOp groups;
  int64_t stages, numGroups = 0, producers = 0;
  /// Rows and columns of the last tile of the loop.
  int64_t keys = 0, values = 0;
  IRRewriter rewriter;
  ImplicitLocOpBuilder b;
  RolesOp roles;
  /// The loop over tiles of columns (keys, or the queries of a gradient), what
  /// is loaded in it, in order, and what is loaded for the rows before it.
  scf::ForOp loop;
  SmallVector<Load> loopLoads, rowLoads;
  /// What the loop computes from its induction variable for the consumers:
  /// conditions, which share a word, and positions.
  SetVector<Value> conditions, positions;
  /// The branches that choose what is copied.
  DenseSet<Operation *> choices;
  Value mailbox;
};

} // namespace mlir::nagpu

#endif // NA_LIB_DIALECT_NAGPU_TRANSFORMS_WARPSPECIALIZER_H
