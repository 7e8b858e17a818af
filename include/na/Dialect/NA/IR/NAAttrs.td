//===- NAAttrs.td - Attributes of the na dialect -*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_IR_NAATTRS_TD
#define NA_DIALECT_NA_IR_NAATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "na/Dialect/NA/IR/NABase.td"

def NA_WindowAttr : AttrDef<NA_Dialect, "Window"> {
  let mnemonic = "window";
  let summary = "Which keys a query sees, axis by axis";
  let description = [{
    One entry per spatial axis, rank 1 to 3. Units are positions, that is
    tokens of a residue class (see the dialect's description).

    | list | meaning | legal values |
    |---|---|---|
    | `size` | keys a query sees on the axis | >= 1, `size * dilation` <= length |
    | `stride` | queries that share one window | 1 to `size`; omitted: 1 |
    | `dilation` | distance of neighbouring keys, in tokens | >= 1; omitted: 1 |
    | `causal` | whether keys after the query are hidden | omitted: false |

    A group of `stride` queries shares the window of its leader. Not causal:
    the leader is the middle query of the group (the right-hand one if the
    stride is even); an even window of 2m sees m positions to the left of the
    leader and m - 1 to its right; at a border the window is shifted inward,
    never cut. Causal: the last query of the group leads, the window ends at
    the query itself and is cut at the first position.

    Example:

    ```mlir
    #na.window<size = [7, 7]>
    #na.window<size = [18, 24, 24], stride = [16, 8, 8]>
    #na.window<size = [256], causal = [true]>
    ```

    Errors: a list whose length differs from that of `size`, a rank outside 1
    to 3, a value outside its legal range.
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t", "window size per axis">:$size,
    ArrayRefParameter<"int64_t", "stride per axis">:$stride,
    ArrayRefParameter<"int64_t", "dilation per axis">:$dilation,
    ArrayRefParameter<"bool", "causal mask per axis">:$causal);
  let builders = [
    // Empty lists stand for their defaults.
    AttrBuilder<(ins "::llvm::ArrayRef<int64_t>":$size,
                     CArg<"::llvm::ArrayRef<int64_t>", "{}">:$stride,
                     CArg<"::llvm::ArrayRef<int64_t>", "{}">:$dilation,
                     CArg<"::llvm::ArrayRef<bool>", "{}">:$causal), [{
      ::llvm::SmallVector<int64_t, 3> ones(size.size(), 1);
      ::llvm::SmallVector<bool, 3> falses(size.size(), false);
      return $_get($_ctxt, size, stride.empty() ? ::llvm::ArrayRef<int64_t>(ones) : stride,
                   dilation.empty() ? ::llvm::ArrayRef<int64_t>(ones) : dilation,
                   causal.empty() ? ::llvm::ArrayRef<bool>(falses) : causal);
    }]>
  ];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Number of spatial axes, 1 to 3.
    int64_t getRank() const { return getSize().size(); }
    /// The arguments of one axis, for the arithmetic in Semantics/Window.h.
    ::na::window::Axis getAxis(int64_t axis) const;
    /// Product of the window sizes: the slots of one row of attention weights.
    int64_t getNumSlots() const;
    /// Whether every query sees exactly itself.
    bool isIdentity() const;
  }];
}

def NA_ScheduleAttr : AttrDef<NA_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "How one operation is tiled and pipelined on a target";
  let description = [{
    A schedule is data: `na-select-schedule` writes it, a user may write it by
    hand, later passes only read it. All tiles are boxes of positions, one
    entry per spatial axis.

    | entry | meaning |
    |---|---|
    | `target` | what the schedule is made for: `cpu`, or a chip such as `sm_90a`; `naive`: not to be tiled |
    | `query_tile` | queries of one tile of the grid, per axis |
    | `key_tile` | keys of one step of the loop over keys, per axis |
    | `warpgroup_tile` | the part of `query_tile` that one warpgroup owns (GPU; empty: there are no warpgroups with queries of their own) |
    | `stages` | depth of the key/value pipeline (GPU; 0: chosen by the pass) |
    | `warps` | warps of a thread block, each of which owns as many queries, or keys of `na.attention_dkv` (GPU; 0: chosen by the pass) |
    | `value_tile` | channels of the values that one iteration of the grid works on (GPU; 0: all, up to 256) |
    | `heads_per_tile` | query heads that share a tile: its rows are so many for each of its tokens (default 1) |

    Limits: tiles of at most 65536 tokens; `warpgroup_tile` divides
    `query_tile`; `stages` at most 64; `warps` at most 32 and a divisor of the
    number of rows of the query tile, of `na.attention_dkv` of the keys;
    `value_tile` at most 65536.
    `heads_per_tile` divides the query heads that read one key head, and is at
    most 64; tiles of several heads are for `na.attention` of one or two axes
    and without a bias.

    Example:

    ```mlir
    #na.schedule<target = "cpu", query_tile = [8, 8], key_tile = [14, 14]>
    #na.schedule<target = "sm_90", query_tile = [8, 16], key_tile = [8, 8],
                 stages = 2, warps = 4>
    #na.schedule<target = "sm_90a", query_tile = [16], key_tile = [144],
                 warpgroup_tile = [8], stages = 2, heads_per_tile = 8>
    ```
  }];
  let parameters = (ins
    StringRefParameter<"target">:$target,
    ArrayRefParameter<"int64_t", "query tile per axis">:$queryTile,
    ArrayRefParameter<"int64_t", "key tile per axis">:$keyTile,
    ArrayRefParameter<"int64_t", "warpgroup tile per axis">:$warpgroupTile,
    "int64_t":$stages, "int64_t":$warps, "int64_t":$valueTile,
    "int64_t":$headsPerTile);
  let builders = [
    AttrBuilder<(ins "::llvm::StringRef":$target,
                     "::llvm::ArrayRef<int64_t>":$queryTile,
                     "::llvm::ArrayRef<int64_t>":$keyTile,
                     CArg<"::llvm::ArrayRef<int64_t>", "{}">:$warpgroupTile,
                     CArg<"int64_t", "0">:$stages,
                     CArg<"int64_t", "0">:$warps,
                     CArg<"int64_t", "0">:$valueTile,
                     CArg<"int64_t", "1">:$headsPerTile), [{
      return $_get($_ctxt, target, queryTile, keyTile, warpgroupTile, stages,
                   warps, valueTile, headsPerTile);
    }]>
  ];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether the operation is left for the naive lowering.
    bool isNaive() const { return getTarget() == "naive"; }
    /// Whether the schedule is for a GPU.
    bool isForGPU() const { return getTarget() != "cpu" && !isNaive(); }
  }];
}

#endif // NA_DIALECT_NA_IR_NAATTRS_TD
