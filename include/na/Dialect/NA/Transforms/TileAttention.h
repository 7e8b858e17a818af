//===- TileAttention.h - Tiled programs of attention ------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_TRANSFORMS_TILEATTENTION_H
#define NA_DIALECT_NA_TRANSFORMS_TILEATTENTION_H

#include "na/Dialect/NA/IR/NA.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::na {

/// Replaces `op`, which is on memrefs with static heads and channels and has a
/// schedule with tiles, by its tiled program.
void tileAttention(AttentionOp op, RewriterBase &rewriter);
void tileAttentionDQ(AttentionDQOp op, RewriterBase &rewriter);
void tileAttentionDKV(AttentionDKVOp op, RewriterBase &rewriter);
/// That of the gradients of keys and values, which also adds what its tiles
/// contribute to those of the queries to a workspace. The schedule has
/// warpgroups.
void tileAttentionDQKV(AttentionDQKVOp op, RewriterBase &rewriter);

} // namespace mlir::na

#endif // NA_DIALECT_NA_TRANSFORMS_TILEATTENTION_H
