//===- BufferizableOpInterfaceImpl.cpp - Bufferization ----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/Interfaces/BufferizableOpInterfaceImpl.h"

#include "na/Dialect/NA/IR/NA.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace mlir::na;

/// Rebuilds `op` on buffers, without results.
static LogicalResult rebuildOnBuffers(Operation *op, RewriterBase &rewriter,
                                      const BufferizationOptions &options,
                                      BufferizationState &state) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    if (!isa<TensorType>(operand.getType())) {
      operands.push_back(operand);
      continue;
    }
    FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
    if (failed(buffer))
      return failure();
    operands.push_back(*buffer);
  }
  SmallVector<Value> replacements;
  if (auto dst = dyn_cast<DestinationStyleOpInterface>(op))
    for (OpResult result : op->getResults())
      replacements.push_back(
          operands[dst.getTiedOpOperand(result)->getOperandNumber()]);
  clone(rewriter, op, TypeRange(), operands);
  replaceOpWithBufferizedValues(rewriter, op, replacements);
  return success();
}

namespace {
/// Operations in destination style. Their destinations are written without
/// being read, unless the operation updates them in place.
template <typename OpTy, bool readsInits>
struct DestinationStyleModel
    : DstBufferizableOpInterfaceExternalModel<
          DestinationStyleModel<OpTy, readsInits>, OpTy> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return readsInits ||
           !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    return rebuildOnBuffers(op, rewriter, options, state);
  }
};

/// Operations that read tiles and write to a memref.
template <typename OpTy>
struct TileSinkModel
    : BufferizableOpInterface::ExternalModel<TileSinkModel<OpTy>, OpTy> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return true;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return false;
  }
  AliasingValueList getAliasingValues(Operation *, OpOperand &,
                                      const AnalysisState &) const {
    return {};
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    return rebuildOnBuffers(op, rewriter, options, state);
  }
};
} // namespace

void mlir::na::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, NADialect *) {
    AttentionOp::attachInterface<DestinationStyleModel<AttentionOp, false>>(
        *context);
    QKOp::attachInterface<DestinationStyleModel<QKOp, false>>(*context);
    AVOp::attachInterface<DestinationStyleModel<AVOp, false>>(*context);
    MergeOp::attachInterface<DestinationStyleModel<MergeOp, false>>(*context);
    AttentionGradOp::attachInterface<
        DestinationStyleModel<AttentionGradOp, false>>(*context);
    AttentionDQOp::attachInterface<DestinationStyleModel<AttentionDQOp, false>>(
        *context);
    AttentionDKVOp::attachInterface<
        DestinationStyleModel<AttentionDKVOp, false>>(*context);
    AttentionDQKVOp::attachInterface<
        DestinationStyleModel<AttentionDQKVOp, false>>(*context);
    AttentionDAdditionalOp::attachInterface<
        DestinationStyleModel<AttentionDAdditionalOp, false>>(*context);
    AttentionDBiasOp::attachInterface<
        DestinationStyleModel<AttentionDBiasOp, false>>(*context);
    QKGradOp::attachInterface<DestinationStyleModel<QKGradOp, false>>(*context);
    AVGradOp::attachInterface<DestinationStyleModel<AVGradOp, false>>(*context);
    QKDQOp::attachInterface<DestinationStyleModel<QKDQOp, false>>(*context);
    QKDKOp::attachInterface<DestinationStyleModel<QKDKOp, false>>(*context);
    QKDBiasOp::attachInterface<DestinationStyleModel<QKDBiasOp, false>>(
        *context);
    AVDWeightsOp::attachInterface<DestinationStyleModel<AVDWeightsOp, false>>(
        *context);
    AVDVOp::attachInterface<DestinationStyleModel<AVDVOp, false>>(*context);
    MergeGradOp::attachInterface<DestinationStyleModel<MergeGradOp, false>>(
        *context);
    TileLoadOp::attachInterface<DestinationStyleModel<TileLoadOp, false>>(
        *context);
    TileWindowsOp::attachInterface<DestinationStyleModel<TileWindowsOp, false>>(
        *context);
    TileGatherOp::attachInterface<DestinationStyleModel<TileGatherOp, false>>(
        *context);
    TileMaskOp::attachInterface<DestinationStyleModel<TileMaskOp, true>>(
        *context);
    TileBiasOp::attachInterface<DestinationStyleModel<TileBiasOp, true>>(
        *context);
    TileStoreOp::attachInterface<TileSinkModel<TileStoreOp>>(*context);
    TileAddOp::attachInterface<TileSinkModel<TileAddOp>>(*context);
    TileScatterOp::attachInterface<TileSinkModel<TileScatterOp>>(*context);
  });
}
