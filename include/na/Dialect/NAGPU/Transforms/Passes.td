//===- Passes.td - Passes on the nagpu dialect ---*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NAGPU_TRANSFORMS_PASSES_TD
#define NA_DIALECT_NAGPU_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def NAGPUMapGrid : Pass<"nagpu-map-grid"> {
  let summary = "Map tiled loops to the grid of a kernel";
  let description = [{
    Turns every `scf.forall` with `na.tile` operations into a `gpu.launch` of
    one CTA per iteration. The grid has one dimension, so that neither tokens
    nor batch * heads meet the limit of the others; the last dimension of the
    loop varies fastest, so that CTAs that run together share keys and values
    in the L2 cache. The threads of a CTA are those that the schedule of the
    operation (`na.schedule` on the loop) asks for. A loop with the mapping
    `#gpu.warpgroup<x>` in its body, over the `G` warpgroups that share its
    queries, stays; its CTA has `128 (1 + G)` threads: those of one more
    warpgroup that loads their tiles.

    Errors: a query tile whose rows are no multiple of 16 times the warps; a
    warpgroup of other than 64 queries; a loop with results, of other steps than
    1, or inside another one.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
}

def NAGPUAssignLayouts : Pass<"nagpu-assign-layouts"> {
  let summary = "Place the tiles of a kernel in registers and shared memory";
  let description = [{
    Rewrites the body of a `gpu.launch` made by `nagpu-map-grid`. Tiles that
    are loaded become shared tiles behind a copy and a wait; everything
    computed becomes a fragment: results of products and what is computed from
    them elementwise `accumulator`, one value per query `row`. Products become
    `nagpu.ldmatrix` and `nagpu.mma` (f16, bf16, and f32 with `f32-math=tf32`)
    or `nagpu.fma` (f32). Channels are padded to the depth of a product here,
    in the tiles only. A left operand that loops do not change stays in
    registers where they suffice.

    Vectors that are loaded, a number a token, become the one row of a shared
    tile, which `nagpu.ldvector` reads as `row` or `column`, whichever the
    elementwise operations that use them want; what is computed from a vector of
    columns is computed where it is used.

    In a loop over warpgroups (`#gpu.warpgroup<x>`), fragments are those of one
    warpgroup of 4 warps. Its tiles, of f16 or bf16, lie in the panels of the
    TMA (`tma128`, `tma64` or `tma32`, the widest that divides the channels),
    behind copies that `nagpu-specialize-warps` turns into loads by the TMA; no
    barrier is put between them. A product becomes `nagpu.wgmma` between a fence
    and a wait, with the queries from their tile, weights from registers, and no
    accumulator where the sum starts at zero.

    Errors: a key tile that is no multiple of 16 keys; tile operations of
    another form than `na-tile-and-fuse` gives for a GPU; in warpgroups, channels
    that are no multiple of 16, more than 256 keys or channels, f32 operands.
  }];
  let options = [
    Option<"tf32", "tf32", "bool", "false",
           "Round f32 operands of products to tf32">];
  let dependentDialects = [
    "::mlir::nagpu::NAGPUDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

def NAGPUArriveByLanes : Pass<"nagpu-arrive-by-lanes"> {
  let summary = "Let all lanes of a consumer warp arrive at barriers";
  let description = [{
    The first lane of a warp arrives for the warp, behind a barrier of its lanes,
    of which nothing is left in the machine code where the lanes run together
    anyway. Tools that follow single threads, such as compute-sanitizer's
    racecheck, then miss that what the other lanes have read comes before the
    arrival. This pass makes each lane arrive, and barriers count 32 arrivals for
    each of these: slower, with the same order otherwise.

    Example: `nagpu.mbarrier_init arrivals 8` and `nagpu.mbarrier_arrive %free[%i]`
    become

    ```mlir
    %free = nagpu.mbarrier_init arrivals 256 : !nagpu.barrier<2>
    nagpu.mbarrier_arrive lanes %free[%i] : !nagpu.barrier<2>
    ```

    A barrier at which producers arrive too is left as it is.
  }];
  let dependentDialects = ["::mlir::nagpu::NAGPUDialect"];
}

def NAGPUDeferRowSums : Pass<"nagpu-defer-row-sums"> {
  let summary = "Sum rows over lanes once, behind the loops";
  let description = [{
    A sum of columns that a loop only adds up and scales need not be known in
    the loop: `nagpu.reduce add` gives `partial_row` there, whose parts the four
    lanes of a row keep, and what is computed from it keeps that role, through
    the values that loops carry and branches select. A `nagpu.convert` behind
    the loop sums over the lanes. That saves two shuffles and additions a row
    and iteration.

    A carried value stays a `row` if it does not start at zero, if something
    else in the loop reads it, or if it is not linear in the sums.
  }];
  let dependentDialects = ["::mlir::nagpu::NAGPUDialect"];
}

def NAGPUNarrowIndex : Pass<"nagpu-narrow-index"> {
  let summary = "Compute positions in 32 bits";
  let description = [{
    Inside `gpu.launch`, arithmetic on `index` values becomes arithmetic on
    i32; a GPU has no 64-bit integer units. Tiled programs compute positions
    and numbers of tiles only, which are below 2^31 (`na-tile-and-fuse` leaves
    longer axes to the naive lowering); addresses are formed later. What reads
    a constant that 32 bits cannot hold keeps its width.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def NAGPUSchedulePipeline : Pass<"nagpu-schedule-pipeline"> {
  let summary = "Decide how far ahead the loops over keys load";
  let description = [{
    Marks the loops whose copies can be issued ahead of the iteration that
    reads them with `nagpu.stages`, the number of tiles in flight; the copies
    must depend on the induction variable only. With one stage the copies of an
    iteration are issued together at its start, and each is waited for where
    its tile is read first.

    Errors: `stages` outside 0 to 64.
  }];
  let options = [
    Option<"stages", "stages", "int64_t", "0",
           "Tiles in flight, at most 64 (0: as the schedule says, or 2)">];
}

def NAGPUExpandPipeline : Pass<"nagpu-expand-pipeline"> {
  let summary = "Expand loops into a prologue and overlapped iterations";
  let description = [{
    In a loop with `nagpu.stages = S` (and `S > 1`), the shared tiles become
    rings of `S` slots; the copies of the first `S - 1` iterations are issued
    before the loop, and iteration `j` waits for its tiles, then issues the
    copies of iteration `j + S - 1`, whose slots everybody has left behind.
    Waits for tiles that were loaded before the loop move behind the prologue.
    A loop inside another one begins with a barrier, since its prologue fills
    slots that its last run has read. With `S = 1`, the copies of an iteration
    are issued together at its start, behind a barrier.

    Errors: `nagpu.stages` outside 1 to 64; a copy that depends on more than
    the induction variable, or that shares its tile, its group or its wait.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def NAGPUSpecializeWarps : Pass<"nagpu-specialize-warps"> {
  let summary = "Divide a kernel into producer warps and consumer warpgroups";
  let description = [{
    Turns the loop over warpgroups (`#gpu.warpgroup<x>`) of a kernel into
    `nagpu.roles`. Its copies become loads by the TMA: one producer warp loads
    the keys, one the values and one the queries, into rings of `stages` slots
    behind barriers that say which are full and which are free. The tensors get
    descriptors (`nagpu.tensor_map`) before the launch, one each, whatever the
    dilation.

    What consumers read of the arithmetic on the induction variable, conditions
    (is the tile needed, which axes does a window edge cut) and positions, the
    producer of the keys computes for every warpgroup and posts in a mailbox, so
    that consumers carry nothing but the slot. In the branch where a tile is not
    needed, its slots are freed unread.

    Errors: `stages` outside 0 to 64; a copy that shares its tile, group or
    wait, that has dilation on an axis of dynamic length, or of a tensor made in
    the kernel; more than one loop over keys, or more tiles in it than there are producer warps; a tile that
    other operations than products read; more than four words of messages;
    products that take more registers than the threads of so many warpgroups
    start with.
  }];
  let options = [
    Option<"stages", "stages", "int64_t", "0",
           "Slots of a ring, at most 64 (0: as the schedule says, or 2)">];
  let dependentDialects = [
    "::mlir::nagpu::NAGPUDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect"];
}

def NAGPUPersistentGrid : Pass<"nagpu-persistent-grid"> {
  let summary = "Launch no more CTAs than there are multiprocessors";
  let description = [{
    Each role of a kernel with `nagpu.roles`, as `nagpu-specialize-warps` makes
    it, gets a loop over items: those that were CTAs, in steps of the grid. Slots
    and parities go on from one item to the next, so that producers load the
    first tiles of an item while the consumers still store the results of the one
    before; a further barrier says that the queries are read no more. The grid
    has as many CTAs as there are multiprocessors, times those that share one by
    their register budgets. Where items take unequal times (`na.uneven` on the
    launch), a CTA takes another place of the grid's steps each time: the next
    one, and the first after the last.

    A launch with `na.in_order` keeps a CTA for each item: they start in the
    order of the items, each where one has ended.

    A kernel whose loop over tiles has been folded away, or of another form, is
    left as it is.
  }];
  let dependentDialects = [
    "::mlir::nagpu::NAGPUDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect"];
}

def NAGPUOverlapProducts : Pass<"nagpu-overlap-products"> {
  let summary = "Start the scores of the next tile before a tile's softmax";
  let description = [{
    Rewrites the loop over tiles of keys in the consumers of `nagpu.roles`, as
    `nagpu-specialize-warps` makes it: while a warpgroup computes the softmax of
    one tile, its matrix units multiply the weights of the tile before with their
    values, and have multiplied this tile's queries and keys. The first tile and
    the last product stand before and behind the loop.

    Between softmax and the wait for the product stands the wait for the keys of
    the next tile that is needed. Tiles on the way there are freed unread. Their
    values are freed behind those of the pending product, and no more than
    `slots - 1` of them wait for that: a warpgroup that held a whole ring while
    it waits for keys would stop the others.

    A loop of another form is left as it is.
  }];
  let dependentDialects = [
    "::mlir::nagpu::NAGPUDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect"];
}

def NAGPUDeferColumnSums : Pass<"nagpu-defer-column-sums"> {
  let summary = "Sums for columns one tile later, over the rows of the CTA";
  let description = [{
    Rewrites the loop over tiles in the consumers of the gradients of keys and
    values that also add to those of queries, as `nagpu-assign-layouts` builds
    it: there each warpgroup stores its weights, waits for itself, and adds its
    product with its own rows. Where each warpgroup can take a block of 64
    channels, or, if there is one block, consecutive columns whose box is a part
    of the tile's, it now adds the sums over the rows of all warpgroups to these,
    and does so in the next iteration, or behind the loop:

    * the weights go to a ring of as many slots as tiles, and an arrival at a
      barrier says so; no warpgroup waits for the other within an iteration;
    * the product of the tile before is issued behind that for the scores, and
      its result is written before the second product of loaded tiles, whose
      registers it had; the product of the weights runs beside the gradients of
      scores;
    * a warpgroup that leaves out a tile stores weights of zero, and does its part
      for the tile before. In the first iteration nothing is added.

    Example: the middle of an iteration becomes

    ```mlir
    nagpu.mbarrier_wait %full[%previous] parity %p : !nagpu.barrier<2>
    nagpu.wgmma_fence
    %0 = nagpu.wgmma %keys0, %weights0 transposed lhs_transposed : ..
    %1 = nagpu.wgmma %keys1, %weights1, %0 transposed lhs_transposed : ..
    nagpu.wgmma_commit
    ```

    A kernel of another form, or with rings of one slot, is left as it is.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::nagpu::NAGPUDialect"];
}

def NAGPUNarrowWeights : Pass<"nagpu-narrow-weights"> {
  let summary = "Keep weights in 16 bits where registers are short";
  let description = [{
    In the consumers of gradients of keys and values, weights are the operand of
    a product in 16 bits, and are read in f32 behind it for the gradients of
    their scores. Where sums and tiles of scores do not leave the registers for
    both, what reads them reads them back from the operand: rounded, as the
    product has them.

    Example:

    ```mlir
    %p = nagpu.convert %w : !nagpu.fragment<64x80xf32, accumulator, 4>
      -> !nagpu.fragment<64x80xbf16, lhs, 4>
    .. a product with %p ..
    %r = nagpu.convert %p : !nagpu.fragment<64x80xbf16, lhs, 4>
      -> !nagpu.fragment<64x80xf32, accumulator, 4>
    .. what read %w reads %r ..
    ```
  }];
  let dependentDialects = ["::mlir::nagpu::NAGPUDialect"];
}

def NAGPUOverlapGradients : Pass<"nagpu-overlap-gradients"> {
  let summary = "Let products of a tile run beside its elementwise work";
  let description = [{
    Rewrites the loop over tiles in the consumers of gradients, which have two
    products of loaded tiles, for the scores and for their gradients, and
    products of what is computed from these. The second product of loaded tiles
    is issued behind the first one, and every wait moves to what needs its
    result, with as many groups pending as are younger then: weights are computed
    while the product for their gradients runs, and those gradients while the
    weights are multiplied. What a wait frees is freed behind it.

    Example:

    ```mlir
    %s = nagpu.wgmma ..  nagpu.wgmma_commit
    %p = nagpu.wgmma ..  nagpu.wgmma_commit
    %s1 = nagpu.wgmma_wait pending 1 (%s : ..)
    .. weights from %s1 ..
    ```

    A loop of another form is left as it is.
  }];
  let dependentDialects = ["::mlir::nagpu::NAGPUDialect"];
}

def NAGPUAssignSharedMemory : Pass<"nagpu-assign-shared-memory"> {
  let summary = "Choose the swizzle and the place of what is in shared memory";
  let description = [{
    Gives each shared tile the swizzle under which matrix loads have no bank
    conflicts: `xor` where a row is a power of two of 32 bytes or more,
    `padded` otherwise (panels of the TMA stay); and each tile, ring of
    barriers and mailbox an offset. Tiles that are never alive together share
    memory, behind a barrier, unless the kernel has `nagpu.roles`, which have no
    such point. The launch gets the total as its dynamic shared memory.

    Example: `%full = nagpu.mbarrier_init arrivals 1 : !nagpu.barrier<2>` behind
    tiles of 64 KiB becomes

    ```mlir
    %full = nagpu.mbarrier_init arrivals 1 {offset = 65536 : i64} : !nagpu.barrier<2>
    ```

    Errors: more bytes than `limit`, the most that a CTA of the chip can have; a
    body of several blocks.
  }];
  let options = [
    Option<"limit", "limit", "int64_t", "0",
           "Bytes of shared memory that a CTA may use (0: no limit)">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif // NA_DIALECT_NAGPU_TRANSFORMS_PASSES_TD
