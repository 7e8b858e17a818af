//===- WarpgroupBudgets.h - Registers of warpgroups -------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How thread blocks of one producer warpgroup and some consumers of 64 queries
// each divide the registers of a multiprocessor. The model and the pass that
// writes the budgets agree on these numbers.
//
//===----------------------------------------------------------------------===//

#ifndef NA_SCHEDULE_WARPGROUPBUDGETS_H
#define NA_SCHEDULE_WARPGROUPBUDGETS_H

#include <algorithm>
#include <cstdint>
#include <optional>

namespace na::schedule {

/// Shared memory of barriers, and of where each tile lies and what masks it
/// needs; at most.
constexpr int64_t bookkeepingBytes = 2048;
/// That of gradients, which have fewer rings.
constexpr int64_t gradientBookkeepingBytes = 1024;

struct WarpgroupBudgets {
  /// Registers of a thread.
  int64_t producer = 240, consumer = 240;
  /// Thread blocks that share a multiprocessor.
  int64_t blocks = 1;
  /// Whether the consumers can do without spills.
  bool fits = false;
};

/// Registers that a thread of a consumer needs for key tiles of `keys` keys
/// with `values` channels: scores in f32, weights in 16 bits, the accumulator,
/// and what ptxas takes beside them, as measured.
constexpr int64_t countConsumerRegisters(int64_t keys, int64_t values) {
  constexpr int64_t others = 32, manyValues = 192;
  int64_t tiles = keys / 2 + keys / 4 + values / 2;
  int64_t more = std::max<int64_t>(0, values - manyValues) / 4;
  return (tiles + others + more + 7) / 8 * 8;
}

/// Registers that the operands of one product take, with what is beside them.
/// ptxas compiles none that takes more than each thread starts with.
constexpr int64_t countProductRegisters(int64_t keys, int64_t values) {
  constexpr int64_t besideProduct = 30;
  return std::max(keys, values) / 2 + besideProduct;
}

/// What a thread of a block starts with, if `blocks` share a multiprocessor.
constexpr int64_t countStartRegisters(int64_t groups, int64_t blocks = 1) {
  constexpr int64_t registers = 65536;
  return registers / (128 * (1 + groups) * blocks) / 8 * 8;
}

/// The axis on which a box of columns is divided between `groups` warpgroups,
/// so that each has consecutive ones, in multiples of the 8 rows over which
/// panels are swizzled; none if it cannot be.
template <typename BoxTy>
std::optional<size_t> findDividedAxis(const BoxTy &box, int64_t groups) {
  constexpr int64_t swizzledRows = 8;
  int64_t columns = 1;
  std::optional<size_t> first;
  for (size_t axis = 0; axis < box.size(); ++axis) {
    columns *= box[axis];
    if (!first && box[axis] > 1)
      first = axis;
  }
  if (!first || box[*first] % groups != 0 ||
      columns % (groups * swizzledRows) != 0)
    return std::nullopt;
  return first;
}

/// What a thread of a consumer has at most.
constexpr int64_t mostConsumerRegisters = 240;

/// Registers that a thread of a consumer of gradients needs: `carried` for the
/// sums, `scores` for the scores and their gradients in f32 and half of one of
/// them in 16 bits. With `narrow` the weights are only kept in 16 bits.
constexpr int64_t countGradientRegisters(int64_t carried, int64_t scores,
                                         bool narrow = false) {
  constexpr int64_t others = 32;
  int64_t weights = narrow ? 0 : scores / 4;
  return (carried + scores + weights + others + 7) / 8 * 8;
}

/// Whether the weights of such tiles are only kept in 16 bits: what reads them
/// behind their product takes them from its operand.
constexpr bool needsNarrowWeights(int64_t carried, int64_t scores) {
  return countGradientRegisters(carried, scores) > mostConsumerRegisters;
}

/// The budgets of blocks with `groups` consumers that take `sharedBytes` of
/// shared memory, whose threads need `needed` registers, and `ofProduct` of
/// them for one product. As many blocks as have room for their registers and
/// memory share a multiprocessor: one fills the gaps of the other.
inline WarpgroupBudgets getWarpgroupBudgets(int64_t groups, int64_t needed,
                                            int64_t ofProduct,
                                            int64_t sharedBytes, bool wide) {
  constexpr int64_t leastRegisters = 24;
  constexpr int64_t mostRegisters = mostConsumerRegisters;
  constexpr int64_t shared = 228 << 10, reserved = 1 << 10, mostBlocks = 4;
  WarpgroupBudgets budgets;
  for (int64_t blocks = std::clamp<int64_t>(shared / (sharedBytes + reserved),
                                            1, mostBlocks);
       blocks >= 1; --blocks) {
    int64_t start = countStartRegisters(groups, blocks);
    int64_t all = start * (1 + groups);
    int64_t most =
        std::min(mostRegisters, (all - leastRegisters) / groups / 8 * 8);
    budgets.fits = needed <= most && ofProduct <= start;
    if (!budgets.fits && blocks > 1)
      continue;
    budgets.blocks = blocks;
    budgets.consumer = most;
    // Producers of masked tiles compute their positions in what is left. With
    // 128 channels ptxas takes less than it may with others.
    if (blocks == 1 && groups == 2) {
      if (needed <= 208)
        budgets.consumer = 216;
      else if (needed <= (wide ? 232 : 216))
        budgets.consumer = 224;
      else if (needed <= 224)
        budgets.consumer = 232;
    }
    budgets.producer = std::min(mostRegisters, all - groups * budgets.consumer);
    break;
  }
  return budgets;
}

/// Those of attention on tiles of `keys` keys with `values` channels.
inline WarpgroupBudgets getWarpgroupBudgets(int64_t groups, int64_t keys,
                                            int64_t values,
                                            int64_t sharedBytes) {
  return getWarpgroupBudgets(groups, countConsumerRegisters(keys, values),
                             countProductRegisters(keys, values), sharedBytes,
                             /*wide=*/values == 128);
}

} // namespace na::schedule

#endif // NA_SCHEDULE_WARPGROUPBUDGETS_H
