//===- SelectSchedule.cpp - Attach a schedule by the cost model -----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "na/Dialect/NA/IR/NA.h"
#include "na/Dialect/NA/Transforms/Passes.h"
#include "na/Schedule/CostModel.h"
#include "na/Schedule/GpuCostModel.h"
#include "na/Schedule/GpuGradientModel.h"
#include "na/Schedule/HopperCostModel.h"
#include "na/Schedule/HopperGradientModel.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::na {
#define GEN_PASS_DEF_NASELECTSCHEDULE
#include "na/Dialect/NA/Transforms/Passes.h.inc"
} // namespace mlir::na

using namespace mlir;
using namespace mlir::na;

/// The chip whose kernels can have warpgroups with queries of their own. Its
/// name without the letter stands for kernels that have none.
static constexpr StringLiteral warpgroupChip = "sm_90a";

/// Whether the TMA can read boxes of a tensor `[B, X.., H, D]`, by what its
/// type says (the rest is for the run time): heads and channels without gaps,
/// other strides a multiple of 16 bytes, and coordinates of 32 bits, also of
/// the innermost dimension, which residues are a part of.
static bool canReadBoxes(Value tensor, ArrayRef<int64_t> dilations) {
  auto shaped = cast<ShapedType>(tensor.getType());
  auto type = dyn_cast<MemRefType>(shaped);
  // What has no layout yet will get one without gaps.
  if (!type)
    type = MemRefType::get(shaped.getShape(), shaped.getElementType());
  SmallVector<int64_t> strides;
  int64_t offset, rank = type.getRank();
  if (failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return false;
  int64_t last = shaped.getShape()[rank - 2] * shaped.getShape()[rank - 1];
  for (auto [axis, dilation] : llvm::enumerate(dilations)) {
    int64_t stride = strides[axis + 1], residues;
    if (ShapedType::isDynamic(stride))
      continue;
    if (llvm::MulOverflow(stride, dilation - 1, residues) ||
        llvm::AddOverflow(last, residues, last))
      return false;
  }
  if (!llvm::isInt<32>(last))
    return false;
  for (int64_t dim = 0; dim < rank - 1; ++dim) {
    if (type.getDimSize(dim) == 1 || ShapedType::isDynamic(strides[dim]))
      continue;
    if (dim == rank - 2 ? strides[dim] != type.getDimSize(rank - 1)
                        : strides[dim] * type.getElementTypeBitWidth() % 128)
      return false;
  }
  return true;
}

/// Whether the TMA can read all that kernels of warpgroups load.
template <typename OpTy>
static bool canReadBoxes(OpTy op) {
  SmallVector<Value> tensors = {op.getQuery(), op.getKey(), op.getValue()};
  if constexpr (!std::is_same_v<OpTy, AttentionOp>)
    tensors.push_back(op.getOutputGrad());
  for (Value tensor : tensors)
    if (!canReadBoxes(tensor, op.getWindow().getDilation()))
      return false;
  if constexpr (!std::is_same_v<OpTy, AttentionDKVOp>)
    for (Value tensor : {op.getAdditionalKey(), op.getAdditionalValue()})
      if (tensor && !canReadBoxes(tensor, ArrayRef<int64_t>()))
        return false;
  return true;
}

static bool canReadBoxes(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<AttentionOp, AttentionDQOp, AttentionDKVOp>(
          [](auto op) { return canReadBoxes(op); })
      .Default(false);
}

namespace {

struct SelectSchedule : mlir::na::impl::NASelectScheduleBase<SelectSchedule> {
  using NASelectScheduleBase::NASelectScheduleBase;

  void runOnOperation() override {
    chip = ::na::schedule::findGpuChip(target);
    if (target != "cpu" && !chip) {
      getOperation()->emitError("na-select-schedule: unknown target '")
          << target << "', expected cpu, " << ::na::schedule::listGpuChips();
      return signalPassFailure();
    }
    WalkResult result = getOperation()->walk([&](Operation *op) {
      LogicalResult done = success();
      if (auto attention = dyn_cast<AttentionOp>(op))
        done = select(attention, attention.getQuery(), attention.getQuery(),
                      attention.getQuery(), attention.getValue(),
                      attention.getAdditionalKey());
      else if (auto dq = dyn_cast<AttentionDQOp>(op))
        done = select(dq, dq.getQuery(), dq.getQuery(), dq.getQuery(),
                      dq.getValue(), dq.getAdditionalKey());
      else if (auto dkv = dyn_cast<AttentionDKVOp>(op))
        done = select(dkv, dkv.getKey(), dkv.getKey(), dkv.getKey(),
                      dkv.getValue());
      else if (auto qk = dyn_cast<QKOp>(op))
        done = select(qk, qk.getQuery(), qk.getQuery(), qk.getKey(), Value());
      else if (auto av = dyn_cast<AVOp>(op))
        done =
            select(av, av.getValue(), av.getWeights(), Value(), av.getValue());
      return failed(done) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  /// Schedules one operation whose batch and lengths are those of `tokens`,
  /// and the number of its heads that of `rows`. `heads` and `values` have the
  /// channels of the two products; null where there is no such product.
  template <typename OpTy>
  LogicalResult select(OpTy op, Value tokens, Value rows, Value heads,
                       Value values, Value additional = Value()) {
    if (ScheduleAttr schedule = op.getScheduleAttr()) {
      // Tiles for a GPU run on a CPU too, but not the other way around.
      if (schedule.isForGPU() || schedule.isNaive() || target == "cpu")
        return success();
      op.emitRemark("na-select-schedule: the schedule is for '")
          << schedule.getTarget() << "'; replaced by one for '" << target
          << "'";
    }
    WindowAttr window = op.getWindow();
    if (failed(checkTile(op, "query-tile", queryTile)) ||
        failed(checkTile(op, "key-tile", keyTile)) ||
        failed(checkTile(op, "warpgroup-tile", warpgroupTile)))
      return failure();
    if (!warpgroupTile.empty() && (queryTile.empty() || keyTile.empty()))
      return op.emitOpError("na-select-schedule: 'warpgroup-tile' needs "
                            "'query-tile' and 'key-tile'");
    auto type = cast<ShapedType>(tokens.getType());
    ::na::schedule::GpuProblem problem;
    for (int64_t axis = 0; axis < window.getRank(); ++axis) {
      problem.axes.push_back(window.getAxis(axis));
      problem.lengths.push_back(type.isDynamicDim(axis + 1)
                                    ? ::na::schedule::dynamicLength
                                    : type.getDimSize(axis + 1));
    }
    // A dynamic head dim is not tiled at all; any number does.
    auto channels = [](Value value) {
      int64_t size = cast<ShapedType>(value.getType()).getShape().back();
      return ShapedType::isDynamic(size) ? 64 : size;
    };
    problem.headDim = channels(heads ? heads : values);
    problem.valueDim = channels(values ? values : heads);
    problem.tileElementBytes = type.getElementType().isF64() ? 8 : 4;
    if (std::is_same_v<OpTy, AttentionDQOp>)
      problem.gradient = ::na::schedule::Gradient::Queries;
    else if (std::is_same_v<OpTy, AttentionDKVOp>)
      problem.gradient = ::na::schedule::Gradient::KeysAndValues;

    // The model is for tiles that a schedule can hold.
    ::na::schedule::GpuTiling fixed;
    fixed.queryTile.assign(queryTile.begin(), queryTile.end());
    fixed.keyTile.assign(keyTile.begin(), keyTile.end());
    ::na::schedule::GpuTiling ones = fixed;
    for (std::vector<int64_t> *tile : {&ones.queryTile, &ones.keyTile})
      if (tile->empty())
        tile->assign(window.getRank(), 1);
    if (!getSchedule(op, ones))
      return failure();
    if (!chip) {
      ::na::schedule::GpuTiling tiling;
      static_cast<::na::schedule::Tiling &>(tiling) =
          ::na::schedule::searchCpu(problem, fixed);
      return attach(op, tiling, [&] {
        return ::na::schedule::predictCpu(problem, tiling).describe();
      });
    }

    auto rowsType = cast<ShapedType>(rows.getType());
    int64_t headAxis = window.getRank() + 1;
    problem.batchHeads =
        rowsType.isDynamicDim(0) || rowsType.isDynamicDim(headAxis)
            ? ::na::schedule::dynamicLength
            : rowsType.getDimSize(0) * rowsType.getDimSize(headAxis);
    if (additional) {
      auto additionalType = cast<ShapedType>(additional.getType());
      if (!additionalType.isDynamicDim(1))
        problem.additionalKeys = additionalType.getDimSize(1);
    }
    if constexpr (!std::is_same_v<OpTy, AVOp>)
      problem.hasBias = bool(op.getBias());
    problem.operandBytes = type.getElementTypeBitWidth() / 8;
    problem.fused = heads && values;
    if (problem.fused) {
      FailureOr<bool> done = selectWarpgroups(op, problem);
      if (failed(done) || *done)
        return success(succeeded(done));
    }
    if (!heads)
      problem.headDim = 0;
    if (!values)
      problem.valueDim = 0;
    bool isGradient = problem.gradient != ::na::schedule::Gradient::None;
    std::optional<::na::schedule::GpuTiling> tiling =
        isGradient ? ::na::schedule::searchGpuGradient(problem, *chip, fixed)
                   : ::na::schedule::searchGpu(problem, *chip, fixed);
    if (tiling)
      return attach(op, *tiling, [&] {
        if (isGradient)
          return ::na::schedule::predictGpuGradient(problem, *chip, *tiling)
              ->describe();
        return ::na::schedule::predictGpu(problem, *chip, *tiling)->describe();
      });
    if (fixed.queryTile.empty() && fixed.keyTile.empty()) {
      op.emitRemark("no tile of 16 queries and 16 keys with ")
          << problem.headDim << " channels of keys and " << problem.valueDim
          << " of values fits the " << chip->sharedPerBlock
          << " bytes of shared memory and 255 registers of " << target
          << ": left for the naive lowering";
      SmallVector<int64_t> ones(window.getRank(), 1);
      op.setScheduleAttr(
          ScheduleAttr::get(op->getContext(), "naive", ones, ones));
      return success();
    }
    // Such tiles are still a program, of which a later pass may make something.
    return attach(op, fallBack(fixed, window.getRank()),
                  [&] { return "no tiling fits " + target; });
  }

  /// Attaches a schedule for warpgroups: that of the options, or the model's if
  /// the options say nothing and the problem is for them. False if neither.
  FailureOr<bool> selectWarpgroups(Operation *op,
                                   const ::na::schedule::GpuProblem &problem) {
    using namespace ::na::schedule;
    std::optional<HopperTiling> tiling;
    if (!warpgroupTile.empty()) {
      tiling.emplace();
      tiling->queryTile.assign(queryTile.begin(), queryTile.end());
      tiling->keyTile.assign(keyTile.begin(), keyTile.end());
      tiling->warpgroupTile.assign(warpgroupTile.begin(), warpgroupTile.end());
    } else if (target == warpgroupChip && queryTile.empty() &&
               keyTile.empty() && canReadBoxes(op)) {
      if (problem.gradient != Gradient::None) {
        tiling = searchHopperGradient(problem, *chip);
      } else {
        tiling = searchHopper(problem, *chip);
        if (tiling && !isFasterWithWarpgroups(problem, *chip, *tiling))
          return false;
      }
    }
    if (!tiling)
      return false;
    auto schedule = ScheduleAttr::getChecked(
        [&] { return op->emitOpError(); }, op->getContext(), StringRef(target),
        ArrayRef<int64_t>(tiling->queryTile),
        ArrayRef<int64_t>(tiling->keyTile),
        ArrayRef<int64_t>(tiling->warpgroupTile), tiling->stages,
        /*warps=*/int64_t(0), /*valueTile=*/int64_t(0));
    if (!schedule)
      return failure();
    auto [name, rows] = problem.hasKeyRows()
                            ? std::pair("key_tile", schedule.getKeyTile())
                            : std::pair("query_tile", schedule.getQueryTile());
    for (auto [axis, extent] : llvm::enumerate(schedule.getWarpgroupTile()))
      if (rows[axis] % extent != 0)
        return op->emitOpError("schedule 'warpgroup_tile'[")
               << axis << "] = " << extent << " does not divide '" << name
               << "'[" << axis << "] = " << rows[axis];
    op->setAttr("schedule", schedule);
    if (explain)
      op->emitRemark() << "schedule " << Attribute(schedule) << ": "
                       << describe(problem, *tiling);
    return true;
  }

  std::string describe(const ::na::schedule::GpuProblem &problem,
                       const ::na::schedule::HopperTiling &tiling) const {
    using namespace ::na::schedule;
    if (chip && isForWarpgroups(problem))
      if (auto cost = predictHopper(problem, *chip, tiling))
        return cost->describe();
    if (chip && isForGradientWarpgroups(problem))
      if (auto cost = predictHopperGradient(problem, *chip, tiling))
        return cost->describe();
    return "no prediction for such tiles";
  }

  /// The smallest tiles where nothing fits a chip.
  static ::na::schedule::GpuTiling fallBack(::na::schedule::GpuTiling fixed,
                                            int64_t rank) {
    for (std::vector<int64_t> *tile : {&fixed.queryTile, &fixed.keyTile})
      if (tile->empty()) {
        tile->assign(rank, 1);
        tile->back() = 16;
      }
    return fixed;
  }

  LogicalResult attach(Operation *op, const ::na::schedule::GpuTiling &tiling,
                       llvm::function_ref<std::string()> describe) {
    ScheduleAttr schedule = getSchedule(op, tiling);
    if (!schedule)
      return failure();
    op->setAttr("schedule", schedule);
    if (explain)
      op->emitRemark() << "schedule " << Attribute(schedule) << ": "
                       << describe();
    return success();
  }

  /// The schedule with these tiles; null after an error if they are illegal.
  ScheduleAttr getSchedule(Operation *op,
                           const ::na::schedule::GpuTiling &tiling) {
    // All channels are what a schedule means that says nothing.
    int64_t valueTile = 0;
    if (tiling.valueTile != 0) {
      auto output = cast<ShapedType>(
          cast<DestinationStyleOpInterface>(op).getDpsInits()[0].getType());
      if (tiling.valueTile != output.getShape().back())
        valueTile = tiling.valueTile;
    }
    return ScheduleAttr::getChecked(
        [&] { return op->emitOpError(); }, op->getContext(),
        chip ? StringRef(chip->name) : StringRef(target),
        ArrayRef<int64_t>(tiling.queryTile), ArrayRef<int64_t>(tiling.keyTile),
        ArrayRef<int64_t>(), tiling.stages, tiling.warps, valueTile);
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

  /// Null for the CPU.
  const ::na::schedule::GpuChip *chip = nullptr;
};

} // namespace
