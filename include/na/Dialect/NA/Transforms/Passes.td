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
    Writes a `#na.schedule` on every `na.attention`, `na.qk` and `na.av` that
    has none. The tiles are those that the cost model of
    `na/Schedule/CostModel.h` expects to be fastest on the target; `query-tile`
    and `key-tile` override it. With `explain`, each choice is reported as a
    remark with its predicted work and waste.

    Example:

    ```mlir
    na.attention ins(..) outs(..) window(<size = [7, 7]>)
    // becomes
    na.attention ins(..) outs(..) window(<size = [7, 7]>) {schedule =
      #na.schedule<target = "cpu", query_tile = [8, 8], key_tile = [14, 14]>}
    ```

    Errors: an unknown target; a tile with another number of axes than the
    window of an operation, or outside the limits of `#na.schedule`.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"",
           "What to schedule for: cpu">,
    ListOption<"queryTile", "query-tile", "int64_t",
               "Query tile per axis, instead of the model's">,
    ListOption<"keyTile", "key-tile", "int64_t",
               "Key tile per axis, instead of the model's">,
    Option<"explain", "explain", "bool", "false",
           "Report every choice as a remark">
  ];
}

def NATileAndFuse : Pass<"na-tile-and-fuse"> {
  let summary = "Tile na.attention with the softmax fused in";
  let description = [{
    Turns `na.attention` on memrefs into the tiled program that every fused
    target shares: a parallel grid over batch, head and query tiles around a
    loop over key tiles with an online softmax. Tile values are small tensors
    under `linalg`; boxes are read, written and masked by `na.tile`
    operations. Memory is linear in tokens: nothing but tiles is allocated.

    Key tiles start at the exact start of the union of the tile's windows.
    Tiles inside the intersection of the windows are not masked, axes that no
    window edge can cut are never masked, tiles outside the union do not
    exist. Scores are held key-major, `[keys, queries]`, so that softmax
    statistics run along the queries' lanes.

    Tiles come from the operation's schedule. Operations with dynamic heads,
    head dim or value dim are left for `convert-na-to-loops`, with a remark.

    Errors: `na.attention` on tensors (bufferize first); no schedule.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def NATileToLinalg : Pass<"na-tile-to-linalg"> {
  let summary = "Lower masks on tiles to linalg";
  let description = [{
    Lowers `na.tile.mask` to an `scf.if` on its flag around a `linalg.generic`
    that compares key positions with the queries' ranges, axis by axis, on the
    axes of the operation only.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def NAHoistTileBuffers : Pass<"na-hoist-tile-buffers"> {
  let summary = "Allocate tiles once per parallel iteration";
  let description = [{
    Moves allocations of static size out of the sequential loops and branches
    of an outermost parallel loop to the start of its body, so that nothing is
    allocated in inner loops. Buffers that a loop carries, or that leave their
    block, stay where they are.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

#endif // NA_DIALECT_NA_TRANSFORMS_PASSES_TD
