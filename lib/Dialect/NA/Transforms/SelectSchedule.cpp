//===- SelectSchedule.cpp - Attach a schedule by the cost model -----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NA/Transforms/Passes.h"
#include "na/Schedule/CostModel.h"

namespace mlir::na {
#define GEN_PASS_DEF_NASELECTSCHEDULE
#include "na/Dialect/NA/Transforms/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;
using namespace mlir::na;

namespace {

struct SelectSchedule : mlir::na::impl::NASelectScheduleBase<SelectSchedule> {
  using NASelectScheduleBase::NASelectScheduleBase;

  void runOnOperation() override {
    if (target != "cpu") {
      getOperation()->emitError("na-select-schedule: unknown target '")
          << target << "', expected cpu";
      return signalPassFailure();
    }
    WalkResult result = getOperation()->walk([&](Operation *op) {
      LogicalResult done = success();
      if (auto attention = dyn_cast<AttentionOp>(op))
        done = select(attention, attention.getQuery(), attention.getValue());
      else if (auto qk = dyn_cast<QKOp>(op))
        done = select(qk, qk.getQuery(), qk.getKey());
      else if (auto av = dyn_cast<AVOp>(op))
        done = select(av, av.getValue(), av.getValue());
      return failed(done) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  /// Schedules one operation whose batch and lengths are those of `tokens`.
  template <typename OpTy>
  LogicalResult select(OpTy op, Value tokens, Value values) {
    if (op.getSchedule())
      return success();
    WindowAttr window = op.getWindow();
    if (failed(checkTile(op, "query-tile", queryTile)) ||
        failed(checkTile(op, "key-tile", keyTile)))
      return failure();
    auto type = cast<ShapedType>(tokens.getType());
    ::na::schedule::Problem problem;
    for (int64_t axis = 0; axis < window.getRank(); ++axis) {
      problem.axes.push_back(window.getAxis(axis));
      problem.lengths.push_back(type.isDynamicDim(axis + 1)
                                    ? ::na::schedule::dynamicLength
                                    : type.getDimSize(axis + 1));
    }
    // A dynamic head dim is not tiled at all; any number does.
    auto channels = [](ShapedType type) {
      int64_t size = type.getShape().back();
      return ShapedType::isDynamic(size) ? 64 : size;
    };
    problem.headDim = channels(type);
    problem.valueDim = channels(cast<ShapedType>(values.getType()));
    problem.tileElementBytes = type.getElementType().isF64() ? 8 : 4;

    // The model is for tiles that a schedule can hold.
    ::na::schedule::Tiling fixed;
    fixed.queryTile.assign(queryTile.begin(), queryTile.end());
    fixed.keyTile.assign(keyTile.begin(), keyTile.end());
    std::vector<int64_t> ones(window.getRank(), 1);
    if (!getSchedule(op, queryTile.empty() ? ones : fixed.queryTile,
                     keyTile.empty() ? ones : fixed.keyTile))
      return failure();
    ::na::schedule::Tiling tiling = ::na::schedule::searchCpu(problem, fixed);
    ScheduleAttr schedule = getSchedule(op, tiling.queryTile, tiling.keyTile);
    if (!schedule)
      return failure();
    op.setScheduleAttr(schedule);
    if (explain)
      op.emitRemark() << "schedule " << Attribute(schedule) << ": "
                      << ::na::schedule::predictCpu(problem, tiling).describe();
    return success();
  }

  /// The schedule with these tiles; null after an error if they are illegal.
  ScheduleAttr getSchedule(Operation *op, ArrayRef<int64_t> query,
                           ArrayRef<int64_t> key) {
    return ScheduleAttr::getChecked([&] { return op->emitOpError(); },
                                    op->getContext(), StringRef(target), query,
                                    key, ArrayRef<int64_t>(), int64_t(0));
  }

  LogicalResult checkTile(Operation *op, StringRef name,
                          ArrayRef<int64_t> tile) {
    int64_t rank = op->getAttrOfType<WindowAttr>("window").getRank();
    if (tile.empty())
      return success();
    if (int64_t(tile.size()) != rank)
      return op->emitOpError()
             << "na-select-schedule: '" << name << "' has " << tile.size()
             << " entries, expected " << rank << " (one per axis)";
    return success();
  }
};

} // namespace
