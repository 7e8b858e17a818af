//===- Passes.td - Passes on the na dialect ---*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_TRANSFORMS_PASSES_TD
#define NA_DIALECT_NA_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def NASelectSchedule : Pass<"na-select-schedule"> {
  let summary = "Attach a schedule to na operations by the cost model";
  let description = [{
    Writes a `#na.schedule` on every `na.attention`, `na.attention_dq`,
    `na.attention_dkv`, `na.qk` and `na.av` that has none: the first one of the
    ranking of `na/Schedule/Ranking.h`, whose models count what tiles execute on
    the target. `query-tile` and `key-tile` override it, with `warpgroup-tile`
    beside them for `na.attention` and its gradients. For a GPU the model also
    chooses warps, stages and, where it pays, a tile of the values' channels.
    Tiles are of one query head, or of the `heads-per-tile` that are given.
    With `explain`, each choice is reported as a remark with its predicted work
    and waste; the tool `na-explain` prints the whole ranking.

    `tuning-file` names a file of schedules that were measured, as `na-tune`
    writes it (`na/Schedule/TuningFile.h` describes it).
    An operation that the file knows, by its sizes, types and window, gets the
    schedule of the file, unless tiles are given. An entry that this compiler has
    no kernel for is reported as a warning, and the model chooses. Gradients are
    not looked up.

    For sm_90a, problems that kernels with warpgroups are for (fused attention
    of 16-bit operands with 16 to 256 channels, in steps of 16, on axes of known
    lengths) get a schedule with a `warpgroup_tile`
    by the model of `na/Schedule/HopperCostModel.h`, unless `query-tile` or
    `key-tile` is given alone. All others get the schedule of sm_90, which is
    then its target.

    The registers of a GPU hold the sums of an `na.attention_dkv` of up to about
    150 channels. Where no schedule has room for the gradients of both keys and
    values, but one has for each of them, two operations take the place of one;
    `explain` says so. With tiles that are given, or a schedule for a GPU, these
    decide; with `cpu` as the target too, so that both run the same programs.

    What no tile fits the registers and the shared memory of a GPU for gets a
    schedule for the target `naive`, and a remark with the limits. Where a tile
    is given and nothing fits beside it, the others are 16 tokens, and `explain`
    says so.

    Example: `-na-select-schedule="query-tile=8,8 key-tile=14,14"` turns

    ```mlir
    na.attention
        ins(%q, %k, %v : memref<1x56x56x2x32xf32>, memref<1x56x56x2x32xf32>,
                         memref<1x56x56x2x32xf32>)
        outs(%o : memref<1x56x56x2x32xf32>) window(<size = [7, 7]>)
    ```

    into

    ```mlir
    na.attention
        ins(%q, %k, %v : memref<1x56x56x2x32xf32>, memref<1x56x56x2x32xf32>,
                         memref<1x56x56x2x32xf32>)
        outs(%o : memref<1x56x56x2x32xf32>) window(<size = [7, 7]>)
        {schedule = #na.schedule<target = "cpu", query_tile = [8, 8],
                                 key_tile = [14, 14]>}
    ```

    Errors: an unknown target; a tile with another number of axes than the
    window of an operation, or outside the limits of `#na.schedule`;
    `warpgroup-tile` without the other tiles, or not a divisor of the tile that it
    is a part of; `heads-per-tile` for another operation than `na.attention`, or
    that its heads do not allow; a tuning file that cannot be read or is none.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"",
           "What to schedule for: cpu, sm_80, sm_86, sm_87, sm_89, sm_90 or sm_90a">,
    ListOption<"queryTile", "query-tile", "int64_t",
               "Query tile per axis, instead of the model's">,
    ListOption<"keyTile", "key-tile", "int64_t",
               "Key tile per axis, instead of the model's">,
    ListOption<"warpgroupTile", "warpgroup-tile", "int64_t",
               "Part of the query tile that a warpgroup of a fused kernel owns, "
               "per axis; needs query-tile and key-tile">,
    Option<"headsPerTile", "heads-per-tile", "int64_t", "0",
           "Query heads of a key head that share a tile; 0 means 1">,
    Option<"tuningFile", "tuning-file", "std::string", "\"\"",
           "File of measured schedules, which come before the model's">,
    Option<"explain", "explain", "bool", "false",
           "Report every choice as a remark">
  ];
}

def NATileAndFuse : Pass<"na-tile-and-fuse"> {
  let summary = "Tile na.attention, the softmax fused in, and its gradients";
  let description = [{
    Turns `na.attention`, `na.attention_dq` and `na.attention_dkv` on memrefs
    into the tiled programs that every fused target shares. A parallel grid
    goes over batch, head and row tiles around a loop over column tiles:

    | | rows | columns | the loop carries |
    |---|---|---|---|
    | `na.attention` | queries | keys | output, maximum and sum of an online softmax |
    | `na.attention_dq` | queries | keys | the gradient of the queries |
    | `na.attention_dkv` | keys | queries that see them, of one query head of the group after the other | the gradients of keys and values, or one of them |

    Tile values are small tensors under `linalg`; boxes are read, written and
    masked by `na.tile` operations. Memory is linear in tokens: nothing but
    tiles is allocated.

    Column tiles start at the exact start of the union of what the rows of the
    tile are paired with. Tiles inside the intersection are not masked, axes
    that no window edge can cut are never masked, tiles outside the union do
    not exist.

    Tiles come from the operation's schedule, and its target decides the form:

    | | CPU | GPU |
    |---|---|---|
    | scores, accumulators | `[columns, rows]`, `[channels, rows]`: rows run along vector lanes | `[rows, columns]`, `[rows, channels]`: rows of fragments |
    | operands of products | extended to the accumulator's type when loaded | in their own type; weights and gradients of logits are truncated to it |
    | scale | in the row tile | in the exponent; on the scores where it is not positive or there is a bias |
    | exponential | `exp` | `exp2` of a multiply-add; the running maximum, and the LSE once it is loaded, are exponents of two |
    | `linalg.generic` | one for all that one pass can do | each elementwise, or one reduction along rows |
    | values of many channels | one tile | chunks of `value_tile`, at most 256, as a dimension of the grid after the head; the last one ends with the channels and may overlap the one before |

    Both forms are the same function and run on a CPU. The grid of the GPU form
    keeps the schedule as its attribute `na.schedule`.

    Queries of a column tile that do not exist are zeros, gradient and
    statistics too, and add nothing.

    With `heads_per_tile`, a tile has that many rows for each of its queries,
    one behind the other: those of query heads that read the same keys. Boxes of
    queries and results then have the heads as a last axis, of views
    `[B, X.., Hq, 1, D]`, and the grid goes over groups of heads.

    With a `warpgroup_tile` an iteration of the grid is that of a CTA, and its
    rows belong to one to three warpgroups, side by side on one axis. They are
    an inner `scf.forall`, mapped to `#gpu.warpgroup<x>`. All warpgroups
    walk the column tiles of the CTA's span, but each has a span and an interior
    of its own: an `scf.if` leaves out the tiles that it does not need, unless
    the spans cannot differ, and each cut axis has a mask of its own. The axis
    of the warpgroups varies fastest, and with two of them the tiles that only
    one needs alternate with those that only the other needs.

    Operations with dynamic heads, head dim or value dim, or with an axis of
    more than 2^30 tokens in a residue class, are left for
    `convert-na-to-loops`, with a remark.

    Example, with arithmetic and types left out:

    ```mlir
    na.attention ins(%q, %k, %v) outs(%o) window(<size = [5]>)
        {schedule = #na.schedule<target = "cpu", query_tile = [4],
                                 key_tile = [3]>}
    ```

    on `memref<2x16x4x8xf32>` becomes

    ```mlir
    scf.forall (%b, %h, %tile) in (2, 4, 4) {
      // %at = 4 * %tile; %span, %inside: see na/Semantics/Window.h
      %q0 = na.tile.load %q[%b, %h] at(%at) box [4] dilation [1] transposed
            into %empty -> tensor<8x4xf32>
      %scaled = linalg.generic .. outs(%q0)          // times 1 / sqrt(8)
      %ranges = na.tile.windows <size = [5]> at(%at) sizes(%c16) box [4] ..
      %r:3 = scf.for %n = %c0 to %key_tiles step %c1
          iter_args(%acc = %zeros, %max = %minus_infinities, %sum = %zeros) {
        %kt = na.tile.load %k[%b, %h] at(%key) box [3] .. -> tensor<3x8xf32>
        %s = linalg.contract .. ins(%kt, %scaled) -> tensor<3x4xf32>
        %m = na.tile.mask %s ranges(%ranges) at(%key) box [3] axes [0]
             key_major unless %inside
        %vt = na.tile.load %v[%b, %h] at(%key) box [3] .. -> tensor<3x8xf32>
        %tile_max = linalg.generic .. ins(%m)        // maximum of each query
        %stats:4 = linalg.generic .. ins(%tile_max) outs(%max, %sum, ..)
        %p:2 = linalg.generic .. outs(%m, %stats#1)  // exponentials and sum
        %rescaled = linalg.generic .. ins(%stats#3) outs(%acc)
        %next = linalg.contract .. ins(%vt, %p#0) outs(%rescaled)
        scf.yield %next, %stats#0, %p#1
      }
      %result = linalg.generic .. ins(%r#2) outs(%r#0)  // quotient
      na.tile.store %result into %o[%b, %h] at(%at) box [4] .. transposed
    }
    ```

    Two warpgroups, on `memref<2x64x4x128xbf16>` with `query_tile = [32]` and
    `warpgroup_tile = [16]`:

    ```mlir
    scf.forall (%b, %h, %tile) in (2, 4, 2) {
      // %cta = 32 * %tile; %begin, %key_tiles: the span of 32 queries
      scf.forall (%g) in (2) {
        // %at = %cta + 16 * %g; the warpgroup's span and interior
        %q0 = na.tile.load %q[%b, %h] at(%at) box [16] .. -> tensor<16x128xbf16>
        %ranges = na.tile.windows <size = [5]> at(%at) sizes(%c64) box [16] ..
        %r:3 = scf.for %n = %c0 to %key_tiles step %c1
            iter_args(%acc = %zeros, %max = %minus_infinities, %sum = %zeros) {
          // %key, %needed, %inside: from %n
          %next:3 = scf.if %needed -> .. {
            ..
          } else {
            scf.yield %acc, %max, %sum
          }
          scf.yield %next#0, %next#1, %next#2
        }
        ..
        na.tile.store %result into %o[%b, %h] at(%at) box [16] ..
      } {mapping = [#gpu.warpgroup<x>]}
    }
    ```

    Errors: `na.attention` on tensors (bufferize first); no schedule; a
    `warpgroup_tile` that splits the query tile on two axes or into more than
    three parts.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def NATileToLinalg : Pass<"na-tile-to-linalg"> {
  let summary = "Lower masks on tiles to linalg";
  let description = [{
    Lowers `na.tile.mask` to an `scf.if` on its flag around a `linalg.generic`
    that compares key positions with the queries' ranges, axis by axis, on the
    axes of the operation only. Masks on memrefs are left alone.

    Example:

    ```mlir
    %m = na.tile.mask %s ranges(%r : tensor<2x4xi32>) at(%x) box [6] axes [0]
         key_major unless %inside : tensor<6x4xf32> -> tensor<6x4xf32>
    ```

    becomes

    ```mlir
    %m = scf.if %inside -> (tensor<6x4xf32>) {
      scf.yield %s : tensor<6x4xf32>
    } else {
      %0 = linalg.generic {
          indexing_maps = [affine_map<(d0, d1) -> (0, d1)>,
                           affine_map<(d0, d1) -> (1, d1)>,
                           affine_map<(d0, d1) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel"]}
          ins(%r, %r : tensor<2x4xi32>, tensor<2x4xi32>)
          outs(%s : tensor<6x4xf32>) {
      ^bb0(%begin: i32, %end: i32, %score: f32):
        %lane = linalg.index 0 : index
        %1 = arith.addi %x, %lane : index
        %position = arith.index_cast %1 : index to i32
        %2 = arith.cmpi sge, %position, %begin : i32
        %3 = arith.cmpi slt, %position, %end : i32
        %visible = arith.andi %2, %3 : i1
        %4 = arith.select %visible, %score, %minus_infinity : f32
        linalg.yield %4 : f32
      } -> tensor<6x4xf32>
      scf.yield %0 : tensor<6x4xf32>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def NAHoistTileBuffers : Pass<"na-hoist-tile-buffers"> {
  let summary = "Allocate tiles once per parallel iteration";
  let description = [{
    Moves allocations of static size out of the `scf.for` loops and `scf.if`
    branches inside a parallel loop to the start of its body, so that nothing
    is allocated in inner loops. Buffers that a loop carries, that are freed
    already, or that leave their block, stay where they are.

    Example: `-na-hoist-tile-buffers` turns

    ```mlir
    scf.forall (%i) in (8) {
      scf.for %j = %c0 to %n step %c1 {
        %tile = memref.alloc() : memref<16x32xf32>
        linalg.fill ins(%zero : f32) outs(%tile : memref<16x32xf32>)
        ..
      }
    }
    ```

    into

    ```mlir
    scf.forall (%i) in (8) {
      %tile = memref.alloc() : memref<16x32xf32>
      scf.for %j = %c0 to %n step %c1 {
        linalg.fill ins(%zero : f32) outs(%tile : memref<16x32xf32>)
        ..
      }
    }
    ```

    Whoever frees the buffers does it after this pass: the pipelines run
    upstream's buffer deallocation next.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def NADecomposeAttention : Pass<"na-decompose-attention"> {
  let summary = "Rewrite na.attention as na.qk, softmax and na.av";
  let description = [{
    The unfused form of `na.attention`: the scores of `na.qk`, a softmax over
    the slots of each row in `linalg` (maximum, exponentials, sum, division; in
    f32, or f64 for f64), and the weighted sums of `na.av`. The attention
    weights, `[B, X.., Hq, prod(size)]`, are a tensor in memory. An LSE is
    `maximum + log(sum)`.

    Additional keys are attended to by dense products (`linalg.contract`), in
    which the query heads of one key head are a dimension of their own, and
    joined with the window's part by `na.merge`. Both parts are kept in the
    accumulator's type, so that an f16 or bf16 output is rounded once.

    The operation's schedule is passed on to both products. On memrefs the same
    program is built between `bufferization.to_tensor` and
    `bufferization.materialize_in_destination`. Operations with additional keys
    whose heads are dynamic, or whose scale defaults to that of a dynamic head
    dim, are left for `convert-na-to-loops`, with a remark.

    With `weights-limit`, operations whose attention weights take more bytes,
    or are of dynamic size, are left too. With `narrow-weights` the attention
    weights have the type of the values instead of the accumulator's, except
    where there are additional keys.

    Example: `-na-decompose-attention` turns

    ```mlir
    %o = na.attention
        ins(%q, %k, %v : tensor<1x56x2x32xf32>, tensor<1x56x2x32xf32>,
                         tensor<1x56x2x32xf32>)
        outs(%d : tensor<1x56x2x32xf32>) window(<size = [7]>)
        -> tensor<1x56x2x32xf32>
    ```

    into

    ```mlir
    %s = na.qk ins(%q, %k : tensor<1x56x2x32xf32>, tensor<1x56x2x32xf32>)
        outs(%empty : tensor<1x56x2x7xf32>) window(<size = [7]>)
        -> tensor<1x56x2x7xf32>
    %max = linalg.generic {indexing_maps = [#all, #row], iterator_types = [
          "parallel", "parallel", "parallel", "reduction"]}
        ins(%s : tensor<1x56x2x7xf32>) outs(%infinities : tensor<1x56x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.cmpf ogt, %in, %out : f32
      %1 = arith.select %0, %in, %out : f32
      linalg.yield %1 : f32
    } -> tensor<1x56x2xf32>
    %exp = linalg.generic {indexing_maps = [#row, #all], iterator_types = [
          "parallel", "parallel", "parallel", "parallel"]}
        ins(%max : tensor<1x56x2xf32>) outs(%s : tensor<1x56x2x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.subf %out, %in : f32
      %1 = math.exp %0 : f32
      linalg.yield %1 : f32
    } -> tensor<1x56x2x7xf32>
    // The sum of %exp, and the weights: %exp divided by it.
    %o = na.av ins(%w, %v : tensor<1x56x2x7xf32>, tensor<1x56x2x32xf32>)
        outs(%d : tensor<1x56x2x32xf32>) window(<size = [7]>)
        -> tensor<1x56x2x32xf32>
    ```
  }];
  let options = [
    Option<"weightsLimit", "weights-limit", "int64_t", "-1",
           "The most bytes that attention weights may take; of any size, known "
           "or not, if negative">,
    Option<"narrowWeights", "narrow-weights", "bool", "false",
           "Store attention weights in the type of the values">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def NADecomposeAttentionGrad : Pass<"na-decompose-attention-grad"> {
  let summary = "Rewrite na.attention_grad as an operation for each gradient";
  let description = [{
    Computes `delta`, the row sums of `output * output_grad` minus the gradient
    of the LSE, in a `linalg.generic` (in f32, or f64 for f64), and rewrites the
    operation as `na.attention_dq`, `na.attention_dkv` and, where their
    destinations are there, `na.attention_dbias` and
    `na.attention_dadditional`. `delta`, `[B, X.., Hq]`, is the only workspace.
    No sum of the parts needs atomic operations, so the result is
    deterministic, whether or not the operation asks for it.

    With `together`, an operation that is not `deterministic` and has neither a
    bias nor additional keys nor dilation gets one `na.attention_dqkv` for the
    gradients of queries, keys and values.

    With `unfused`, the attention weights are computed once more from the LSE
    and are, with their gradients, tensors `[B, X.., Hq, prod(size)]` in memory:
    `na.qk`, the exponentials, `na.av_grad`, the gradients of the scores, and
    `na.qk_grad`. Operations with additional keys have no such form, which a
    remark says, and get the other. So do those whose attention weights take
    more bytes than `weights-limit`, or are of dynamic size.

    The operation's scale and schedule are passed on. On memrefs the same
    program is built between `bufferization.to_tensor` and
    `bufferization.materialize_in_destination`.

    Example: `-na-decompose-attention-grad` turns

    ```mlir
    %g:3 = na.attention_grad
        ins(%q, %k, %v, %o, %lse, %do
            : tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>,
              tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>,
              tensor<1x56x4xf32>, tensor<1x56x4x32xf32>)
        outs(%dq0, %dk0, %dv0
             : tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>,
               tensor<1x56x4x32xf32>)
        window(<size = [7]>)
        -> tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>
    ```

    into

    ```mlir
    %delta = linalg.generic {indexing_maps = [#all, #all, #row],
          iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%o, %do : tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>)
        outs(%zeros : tensor<1x56x4xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %0 = arith.mulf %in, %in_1 : f32
      %1 = arith.addf %out, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<1x56x4xf32>
    %dq = na.attention_dq
        ins(%q, %k, %v, %do
            : tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>,
              tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>)
        stats(%lse, %delta : tensor<1x56x4xf32>, tensor<1x56x4xf32>)
        outs(%dq0 : tensor<1x56x4x32xf32>) window(<size = [7]>)
        -> tensor<1x56x4x32xf32>
    %dk, %dv = na.attention_dkv
        ins(%q, %k, %v, %do
            : tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>,
              tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>)
        stats(%lse, %delta : tensor<1x56x4xf32>, tensor<1x56x4xf32>)
        outs(%dk0, %dv0 : tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>)
        window(<size = [7]>) -> tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>
    ```

    Errors: none.
  }];
  let options = [
    Option<"unfused", "unfused", "bool", "false",
           "Keep attention weights and their gradients in memory">,
    Option<"weightsLimit", "weights-limit", "int64_t", "-1",
           "With unfused, the most bytes that attention weights may take; of "
           "any size, known or not, if negative">,
    Option<"together", "together", "bool", "false",
           "One operation for the gradients of queries, keys and values, whose "
           "sums need not be deterministic">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def NADecomposeProductGrad : Pass<"na-decompose-product-grad"> {
  let summary = "Rewrite the gradients of na.qk and na.av as one product each";
  let description = [{
    Rewrites `na.qk_grad` as `na.qk_dq`, `na.qk_dk` and, where the destination is
    there, `na.qk_dbias`, and `na.av_grad` as `na.av_dweights` and `na.av_dv`, so
    that each product gets a schedule and tiles of its own. Scale and schedule
    are passed on.

    Example: `-na-decompose-product-grad` turns

    ```mlir
    %dq, %dk = na.qk_grad
        ins(%q, %k, %ds : tensor<1x56x2x32xf32>, tensor<1x56x2x32xf32>,
                          tensor<1x56x2x7xf32>)
        outs(%dq0, %dk0 : tensor<1x56x2x32xf32>, tensor<1x56x2x32xf32>)
        window(<size = [7]>) -> tensor<1x56x2x32xf32>, tensor<1x56x2x32xf32>
    ```

    into

    ```mlir
    %dq = na.qk_dq
        ins(%k, %ds : tensor<1x56x2x32xf32>, tensor<1x56x2x7xf32>)
        outs(%dq0 : tensor<1x56x2x32xf32>) window(<size = [7]>)
        -> tensor<1x56x2x32xf32>
    %dk = na.qk_dk
        ins(%q, %ds : tensor<1x56x2x32xf32>, tensor<1x56x2x7xf32>)
        outs(%dk0 : tensor<1x56x2x32xf32>) window(<size = [7]>)
        -> tensor<1x56x2x32xf32>
    ```

    Errors: none.
  }];
}

def NAInsertGrad : Pass<"na-insert-grad", "::mlir::ModuleOp"> {
  let summary = "Add the backward function of functions with na operations";
  let description = [{
    For a function `@f` on tensors adds `@f_grad` beside it. Its arguments are
    those of `@f`, then the gradient of each result of `@f` that is a tensor of
    floats; its results are the gradients of the arguments of `@f` that are
    tensors of floats (zeros for those that do not matter). It computes what it
    needs of `@f` once more.

    Differentiated are `na.attention`, `na.qk`, `na.av` and `na.merge`, the
    elementwise `arith.addf`, `arith.subf`, `arith.mulf`, `arith.divf`,
    `arith.negf`, `arith.extf`, `arith.truncf` and `math.exp`, and
    `tensor.cast`. Operations that no argument reaches, such as constants, may
    be any. A value with several uses adds up their gradients; the gradient of
    an LSE is honoured, so that outputs joined by `na.merge` differentiate
    right. Functions are one block.

    Example: `-na-insert-grad` turns

    ```mlir
    func.func @f(%q: tensor<1x56x4x32xf32>, %k: tensor<1x56x4x32xf32>,
                 %v: tensor<1x56x4x32xf32>) -> tensor<1x56x4x32xf32> {
      %e = tensor.empty() : tensor<1x56x4x32xf32>
      %o = na.attention ins(%q, %k, %v : ..) outs(%e : ..) window(<size = [7]>)
          -> tensor<1x56x4x32xf32>
      return %o : tensor<1x56x4x32xf32>
    }
    ```

    into `@f` and

    ```mlir
    func.func @f_grad(%q: tensor<1x56x4x32xf32>, %k: tensor<1x56x4x32xf32>,
                      %v: tensor<1x56x4x32xf32>, %do: tensor<1x56x4x32xf32>)
        -> (tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>,
            tensor<1x56x4x32xf32>) {
      %e = tensor.empty() : tensor<1x56x4x32xf32>
      %l = tensor.empty() : tensor<1x56x4xf32>
      %o, %lse = na.attention ins(%q, %k, %v : ..) outs(%e, %l : ..)
          window(<size = [7]>) -> tensor<1x56x4x32xf32>, tensor<1x56x4xf32>
      %dq, %dk, %dv = na.attention_grad ins(%q, %k, %v, %o, %lse, %do : ..)
          outs(%e0, %e1, %e2 : ..) window(<size = [7]>)
          -> tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>,
             tensor<1x56x4x32xf32>
      return %dq, %dk, %dv : ..
    }
    ```

    Errors: an operation without a gradient between an argument and a result; a
    function of several blocks or on memrefs; a name in `functions` that is no
    function; a symbol `f_grad` that is there already.
  }];
  let options = [
    ListOption<"functions", "functions", "std::string",
               "Functions to differentiate (default: those with an na operation "
               "in them)">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::na::NADialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def NATileUnfused : Pass<"na-tile-unfused"> {
  let summary = "Tile na.qk, na.av and their gradients into dense products";
  let description = [{
    Turns `na.qk`, `na.av` and the gradients of their operands on memrefs into a
    parallel grid over batch, head and query tiles around a loop over the key
    tiles that cover the union of the tile's windows, with one dense product per
    key tile.

    * `na.qk` and `na.av_dweights`: keys times queries, `[keys, queries]`;
      entries inside the window are scattered to the slots of their rows. If an
      axis is causal, the scores are first filled with -inf, and gradients with
      0, which the slots that no key fills keep.
    * `na.av` and `na.qk_dq`: the slots of the tile's rows, gathered to a dense
      tile `[queries, keys]` with zeros outside the windows, times values.
    * `na.av_dv` and `na.qk_dk`: tiles of the grid are of keys, and the loop goes
      over the tiles of queries that see them, of one query head of the group
      after the other. The slots of the queries, gathered to a dense tile
      `[queries, keys]`, are transposed in the product.

    Products are in the type of the scores for `na.qk`; for others in f64 if
    weights or values are f64, otherwise in f32. Tiles come from the operation's
    schedule. If that is for a GPU, the program has the GPU form of
    `na-tile-and-fuse`: scores are `[queries, keys]` and scaled after the
    product, operands stay in their own type, and values of many channels are
    cut into chunks. Gradients round weights to the type of the other operand
    as they are gathered.

    Operations with dynamic heads, head dim or value dim are left for
    `convert-na-to-loops`, with a remark. So are, of a schedule for a GPU,
    gradients of keys and values whose slots are not contiguous. `na.qk_grad`
    and `na.av_grad` are to be decomposed before
    (`na-decompose-product-grad`); they and `na.qk_dbias` are left alone.

    Example: with 16 queries and 24 keys per tile, `-na-tile-unfused` and
    canonicalisation turn

    ```mlir
    na.av ins(%w, %v : memref<2x56x2x7xf32>, memref<2x56x2x32xf32>)
        outs(%o : memref<2x56x2x32xf32>) window(<size = [7]>) {schedule =
          #na.schedule<target = "cpu", query_tile = [16], key_tile = [24]>}
    ```

    into

    ```mlir
    scf.forall (%b, %h, %tile) in (2, 2, 4) {
      // %at: the first query; %begin, %end: the union of the windows
      %ranges = na.tile.windows <size = [7]> at(%at) sizes(%c56) box [16]
          into %0 : tensor<2x16xi32> -> tensor<2x16xi32>
      %sum = scf.for %i = %c0 to %steps step %c1
          iter_args(%acc = %zeros) -> (tensor<16x32xf32>) {
        %1 = arith.muli %i, %c24 : index
        %key = arith.addi %begin, %1 : index
        %p = na.tile.gather %w[%b, %h] at(%at)
            ranges(%ranges : tensor<2x16xi32>) key_at(%key) <size = [7]>
            query_box [16] key_box [24] into %2
            : memref<2x56x2x7xf32>, tensor<16x24xf32> -> tensor<16x24xf32>
        %t = na.tile.load %v[%b, %h] at(%key) box [24] dilation [1] into %3
            : memref<2x56x2x32xf32>, tensor<24x32xf32> -> tensor<24x32xf32>
        %next = linalg.contract indexing_maps = [#lhs, #rhs, #out]
            ins(%p, %t : tensor<16x24xf32>, tensor<24x32xf32>)
            outs(%acc : tensor<16x32xf32>) -> tensor<16x32xf32>
        scf.yield %next : tensor<16x32xf32>
      }
      na.tile.store %sum into %o[%b, %h] at(%at) box [16] dilation [1]
          : tensor<16x32xf32>, memref<2x56x2x32xf32>
    }
    ```

    Errors: an operation on tensors (bufferize first); no schedule.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def NARaiseAttention : Pass<"na-raise-attention"> {
  let summary = "Recognise neighborhood attention in linalg on tensors";
  let description = [{
    Turns `softmax(scale * Q K^T + mask) V` into `na.attention` where the mask
    is that of a window. Anything else stays as it is.

    * The products are any contractions of `linalg`, named or generic, whose
      result starts at 0. The softmax is `linalg.softmax`, or the exponential
      of the logits minus their maximum, divided by the sum over the keys. The
      steps may be cut into `linalg` or elementwise `arith` and `math`
      operations in any way. Transposes, broadcasts and reshapes may stand
      anywhere, also a broadcast of a key head to several query heads. Roundings
      between f64, f32, f16 and bf16 on the way are dropped.
    * The scale is any constant, also in parts on Q and K.
    * The mask is a `select` of a constant, or an added term, that is constant
      or computed from `linalg.index` by integer and float arithmetic. It is
      evaluated for all pairs of tokens: logits of at most `masked-below` are
      masked, all others must be the scaled product. The visible pairs must be
      exactly those of a `#na.window` (also strided, dilated or, where nothing
      is masked, as large as the axis). So a window that is cut at the borders
      is left alone unless it is causal.
    * Tokens may be one dimension or up to three; a dimension of flattened
      tokens is taken as one axis, else two, else three, of the sizes whose
      windows fit the mask.

    Dimensions of Q before the tokens become the batch, those after them the
    heads. Operands in another order are transposed, and so is the result.

    Left alone too, and with `explain` reported by a remark: a bias, more than
    `max-tokens` tokens, queries and keys of different number, and logits or
    weights that have other uses, since they would have to be computed all the
    same. All sizes have to be static.

    Example: `-na-raise-attention` turns

    ```mlir
    %s = linalg.batch_matmul
        indexing_maps = [affine_map<(b, q, k, d) -> (b, q, d)>,
                         affine_map<(b, q, k, d) -> (b, k, d)>,
                         affine_map<(b, q, k, d) -> (b, q, k)>]
        ins(%q, %k : tensor<2x64x32xf32>, tensor<2x64x32xf32>)
        outs(%zeros : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
    %l = linalg.generic {indexing_maps = [#id, #id], iterator_types = [
          "parallel", "parallel", "parallel"]}
        ins(%s : tensor<2x64x64xf32>) outs(%d0 : tensor<2x64x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %i = linalg.index 1 : index
      %j = linalg.index 2 : index
      %distance = arith.subi %i, %j : index
      // As unsigned, keys after the query are far away.
      %near = arith.cmpi ult, %distance, %c16 : index
      %scaled = arith.mulf %in, %scale : f32
      %masked = arith.select %near, %scaled, %minus_infinity : f32
      linalg.yield %masked : f32
    } -> tensor<2x64x64xf32>
    %p = linalg.softmax dimension(2) ins(%l : tensor<2x64x64xf32>)
        outs(%d1 : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
    %o = linalg.batch_matmul
        ins(%p, %v : tensor<2x64x64xf32>, tensor<2x64x32xf32>)
        outs(%d2 : tensor<2x64x32xf32>) -> tensor<2x64x32xf32>
    ```

    into (reshapes left out)

    ```mlir
    %o = na.attention
        ins(%q, %k, %v : tensor<2x64x1x32xf32>, tensor<2x64x1x32xf32>,
                         tensor<2x64x1x32xf32>)
        outs(%d : tensor<2x64x1x32xf32>)
        window(<size = [16], causal = [true]>) {scale = 2.500000e-01 : f64}
        -> tensor<2x64x1x32xf32>
    ```

    Errors: none.
  }];
  let options = [
    Option<"explain", "explain", "bool", "false",
           "Report what is raised, and why an attention is not, as remarks">,
    Option<"maskedBelow", "masked-below", "double", "-10000",
           "The largest logit of a masked key">,
    Option<"maxTokens", "max-tokens", "int64_t", "16384",
           "The most tokens for whose pairs masks are evaluated">
  ];
  let dependentDialects = [
    "::mlir::linalg::LinalgDialect", "::mlir::na::NADialect",
    "::mlir::tensor::TensorDialect"
  ];
}

#endif // NA_DIALECT_NA_TRANSFORMS_PASSES_TD
