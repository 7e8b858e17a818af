//===- NAGPUHopperOps.td - nagpu on Hopper -*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types and operations of sm_90a: the tensor memory accelerator (TMA), barriers
// in shared memory, products of a warpgroup, and the roles of warpgroups.
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NAGPU_IR_NAGPUHOPPEROPS_TD
#define NA_DIALECT_NAGPU_IR_NAGPUHOPPEROPS_TD

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def NAGPU_TensorMapType : NAGPU_Type<"TensorMap", "tensor_map"> {
  let summary = "How the TMA reads boxes of a tensor in global memory";
  let description = [{
    `!nagpu.tensor_map<BxXx..xCxT, swizzle>` is the address of a descriptor of
    128 bytes, which the host encodes; the shape is that of the box, outermost
    dimension first, at most 5 dimensions of at most 256. A tensor
    `[B, X, Y, Z, H, D]` has five once heads and channels are folded: dimension
    `h D + c` is the innermost. The innermost size of the box is one panel of
    `swizzle` (`tma128`, `tma64` or `tma32`; see `!nagpu.shared`). What lies
    outside the tensor is read as zeros and not written.

    As an argument of a `gpu.func` kernel it is a `grid_constant` parameter that
    holds the descriptor by value.

    Example: `!nagpu.tensor_map<1x2x8x12x64xbf16, tma128>`, 192 tokens.
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t", "the box, outermost dimension first">:$shape,
    "::mlir::Type":$elementType,
    EnumParameter<NAGPU_Swizzle>:$swizzle);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Rows of a tile that a box fills: the product of all but the channels.
    int64_t getRows() const;
  }];
}

def NAGPU_BarrierType : NAGPU_Type<"Barrier", "barrier"> {
  let summary = "A ring of barriers (mbarrier) in shared memory";
  let description = [{
    `!nagpu.barrier<N>`: `N` barriers of 8 bytes. A barrier goes from one phase
    to the next when the arrivals that it was initialised with have come and the
    bytes that were announced have been copied. A wait names the parity of the
    phase whose end it waits for: 0 for the first. A wait for parity 1 on a
    barrier in its first phase returns at once, so that a producer that starts
    with parity 1 finds all slots free.
  }];
  let parameters = (ins "int64_t":$slots);
  let assemblyFormat = "`<` $slots `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static constexpr int64_t slotBytes = 8;
    int64_t getBytes() const { return getSlots() * slotBytes; }
  }];
}

def NAGPU_MailboxType : NAGPU_Type<"Mailbox", "mailbox"> {
  let summary = "Words that a producer leaves for the consumers";
  let description = [{
    `!nagpu.mailbox<SxGxW>`: for each of `S` slots and `G` readers, `W` words of
    32 bits, 1 to 8, in a row of 16 or 32 bytes of shared memory. A producer writes
    what the consumers have to know of the tile in a slot of a ring (where it
    lies, who needs it); the barrier that says that the slot is full covers the
    words too.
  }];
  let parameters = (ins "int64_t":$slots, "int64_t":$readers, "int64_t":$words);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static constexpr int64_t alignment = 16;
    static constexpr int64_t maxWords = 8;
    int64_t getRowBytes() const { return getWords() > 4 ? 32 : 16; }
    int64_t getBytes() const {
      return getSlots() * getReaders() * getRowBytes();
    }
  }];
}

//===----------------------------------------------------------------------===//
// Barriers in shared memory
//===----------------------------------------------------------------------===//

def NAGPU_MBarrierInitOp : NAGPU_Op<"mbarrier_init",
    [MemoryEffects<[MemAlloc, MemRead, MemWrite]>]> {
  let summary = "A ring of barriers, initialised";
  let description = [{
    The first thread of the CTA initialises the barriers to `arrivals` arrivals
    a phase and makes that visible to the TMA; the other threads may use them
    behind a `nagpu.barrier` or in `nagpu.roles`. `offset` is the byte in the
    kernel's dynamic shared memory, set by `nagpu-assign-shared-memory`.

    Example: two slots that eight warps free:

    ```mlir
    %free = nagpu.mbarrier_init arrivals 8 {offset = 98304 : i64} : !nagpu.barrier<2>
    ```
  }];
  let arguments = (ins I64Attr:$arrivals, OptionalAttr<I64Attr>:$offset);
  let results = (outs NAGPU_BarrierType:$result);
  let assemblyFormat = "`arrivals` $arrivals attr-dict `:` type($result)";
  let hasVerifier = 1;
}

class NAGPU_MBarrierOp<string mnemonic>
    : NAGPU_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let hasVerifier = 1;
}

def NAGPU_MBarrierArriveOp : NAGPU_MBarrierOp<"mbarrier_arrive"> {
  let summary = "One arrival a warp, or of the producer";
  let description = [{
    In a producer of `nagpu.roles`, one lane arrives once; elsewhere the first
    lane of every warp does, behind all lanes of the warp, or with `lanes`, which
    `nagpu-arrive-by-lanes` sets, each of the 32 lanes.

    Example:

    ```mlir
    nagpu.mbarrier_arrive %free[%i] : !nagpu.barrier<2>
    nagpu.mbarrier_arrive lanes %free[%i] : !nagpu.barrier<2>
    ```
  }];
  let arguments = (ins NAGPU_BarrierType:$barrier, Index:$index,
                       UnitAttr:$lanes);
  let assemblyFormat = [{
    (`lanes` $lanes^)? $barrier `[` $index `]` attr-dict `:` type($barrier)
  }];
}

def NAGPU_MBarrierArriveCopiesOp : NAGPU_MBarrierOp<"mbarrier_arrive_copies"> {
  let summary = "An arrival of every lane of a producer, behind its copies";
  let description = [{
    Each of the 32 lanes of a producer of `nagpu.roles` arrives once, as soon as
    what it has copied by the `nagpu.async_copy` of `copies`, and by all before,
    is in shared memory. The lanes do not wait for it.

    Example:

    ```mlir
    nagpu.mbarrier_arrive_copies %full[%i] after %token : !nagpu.barrier<2>
    ```
  }];
  let arguments = (ins NAGPU_BarrierType:$barrier, Index:$index,
                       Variadic<NAGPU_TokenType>:$copies);
  let assemblyFormat = [{
    $barrier `[` $index `]` `after` $copies attr-dict `:` type($barrier)
  }];
}

def NAGPU_MBarrierExpectTxOp : NAGPU_MBarrierOp<"mbarrier_expect_tx"> {
  let summary = "Arrives and announces bytes that the TMA will copy";
  let description = [{
    One arrival, of a producer of `nagpu.roles`; the phase ends only when
    `bytes` more bytes have been copied by `nagpu.tma_load` with this barrier.

    Example:

    ```mlir
    nagpu.mbarrier_expect_tx %full[%i] bytes 49152 : !nagpu.barrier<2>
    ```
  }];
  let arguments = (ins NAGPU_BarrierType:$barrier, Index:$index,
                       I64Attr:$bytes);
  let assemblyFormat = [{
    $barrier `[` $index `]` `bytes` $bytes attr-dict `:` type($barrier)
  }];
}

def NAGPU_MBarrierWaitOp : NAGPU_MBarrierOp<"mbarrier_wait"> {
  let summary = "Waits for the end of a phase";
  let description = [{
    Tries until the phase of parity `parity` (0 or 1) has ended. What was
    written before the arrivals, and what the TMA copied, may be read after it.

    Example:

    ```mlir
    nagpu.mbarrier_wait %full[%i] parity %p : !nagpu.barrier<2>
    ```
  }];
  let arguments = (ins NAGPU_BarrierType:$barrier, Index:$index, I32:$parity);
  let assemblyFormat = [{
    $barrier `[` $index `]` `parity` $parity attr-dict `:` type($barrier)
  }];
}

def NAGPU_AdvanceOp : NAGPU_Op<"advance", [Pure]> {
  let summary = "The next slot of a ring and its parity";
  let description = [{
    `(index + 1, parity)`, or `(0, 1 - parity)` behind the last of `slots`.

    Example:

    ```mlir
    %i1, %p1 = nagpu.advance %i, %p in 2
    ```
  }];
  let arguments = (ins Index:$index, I32:$parity, I64Attr:$slots);
  let results = (outs Index:$nextIndex, I32:$nextParity);
  let assemblyFormat = "$index `,` $parity `in` $slots attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Mailboxes in shared memory
//===----------------------------------------------------------------------===//

def NAGPU_MailboxAllocOp : NAGPU_Op<"mailbox_alloc",
    [MemoryEffects<[MemAlloc, MemRead, MemWrite]>]> {
  let summary = "A mailbox in the CTA's shared memory";
  let description = [{
    Its words are not initialised. `offset` is the byte in the kernel's dynamic
    shared memory, set by `nagpu-assign-shared-memory`.

    Example:

    ```mlir
    %box = nagpu.mailbox_alloc {offset = 98560 : i64} : !nagpu.mailbox<2x2x4>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs NAGPU_MailboxType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NAGPU_MailboxPutOp : NAGPU_Op<"mailbox_put",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Writes the words of a slot for a reader";
  let description = [{
    Executed by a producer of `nagpu.roles`, when the slot is free. Its next
    `nagpu.mbarrier_expect_tx` (or `nagpu.mbarrier_arrive`) publishes the words
    to those who wait for that barrier.

    Example:

    ```mlir
    nagpu.mailbox_put %box[%slot, %reader] %x, %flags : !nagpu.mailbox<2x2x2>
    ```
  }];
  let arguments = (ins NAGPU_MailboxType:$box, Index:$slot, Index:$reader,
                       Variadic<I32>:$words);
  let assemblyFormat = [{
    $box `[` $slot `,` $reader `]` $words attr-dict `:` type($box)
  }];
  let hasVerifier = 1;
}

def NAGPU_MailboxGetOp : NAGPU_Op<"mailbox_get",
    [MemoryEffects<[MemRead]>,
     DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "Reads the words of a slot for a reader";
  let description = [{
    Behind the wait for the barrier that publishes them, and before the slot is
    freed. All threads of a warp read the same words.

    Example:

    ```mlir
    %words:2 = nagpu.mailbox_get %box[%slot, %reader] : !nagpu.mailbox<2x2x2>
    ```
  }];
  let arguments = (ins NAGPU_MailboxType:$box, Index:$slot, Index:$reader);
  let results = (outs Variadic<I32>:$words);
  let assemblyFormat = [{
    $box `[` $slot `,` $reader `]` attr-dict `:` type($box)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Tensor memory accelerator
//===----------------------------------------------------------------------===//

def NAGPU_TensorMapOp : NAGPU_Op<"tensor_map", [Pure]> {
  let summary = "Encodes how the TMA reads boxes of a tensor";
  let description = [{
    Executed by the host, before the `gpu.launch` that uses the result, which
    becomes a parameter by value of the kernel. `source` is `[B, X.., H, D]`
    in device memory; heads and channels are one dimension of the map, so heads
    must be `D` elements apart, and a box is of one head: its channels divide
    `D`. The address and the other strides must be multiples of 16 bytes; what
    only the run time knows of that is checked there.

    With `dilation`, consecutive rows of a box are so many tokens apart on each
    axis `X..`, and one map serves all residues. The dilation `d` divides the
    length `L` of its axis, so that all residues have equally many tokens:
    dimension `i` of the map then has `L / d` entries, the token `t` is entry
    `t / d`, and the innermost coordinate has `t % d` times the stride of the
    axis added to it. What a box covers behind the last entry reads as zeros.

    Examples: boxes of 192 tokens and half the channels, and boxes of 64 tokens
    with every fifth of an axis:

    ```mlir
    %map = nagpu.tensor_map %k : memref<?x30x48x80x24x128xbf16>
      -> !nagpu.tensor_map<1x2x8x12x64xbf16, tma128>
    %fifth = nagpu.tensor_map %k dilation [5, 1] : memref<?x50x48x24x64xbf16>
      -> !nagpu.tensor_map<1x8x8x64xbf16, tma128>
    ```
  }];
  let arguments = (ins MemRefOf<[F32, F16, BF16]>:$source,
                       OptionalAttr<DenseI64ArrayAttr>:$dilation);
  let results = (outs NAGPU_TensorMapType:$result);
  let assemblyFormat = [{
    $source (`dilation` $dilation^)? attr-dict
    `:` type($source) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Tokens from one entry of an axis to the next.
    int64_t getAxisDilation(int64_t axis) {
      return getDilation() ? (*getDilation())[axis] : 1;
    }
  }];
}

def NAGPU_MultiprocessorsOp : NAGPU_Op<"multiprocessors", [Pure]> {
  let summary = "The multiprocessors of the device";
  let description = [{
    On the host: of the device that the function launches its kernels on.

    Example:

    ```mlir
    %n = nagpu.multiprocessors : index
    ```
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NAGPU_TmaLoadOp : NAGPU_Op<"tma_load",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Starts to copy a box of a tensor to a shared tile";
  let description = [{
    Issued by a producer of `nagpu.roles`. Row `(b, x, ..)` of the tile,
    row-major over the box without its channels, is the tensor at
    `at` + `(b, x, ..)`; panel `p` holds the channels from `at`'s last entry
    `+ p` times the panel's columns on. The copy counts against the bytes that
    the barrier expects: those of the tile, whatever lies outside the tensor.
    The channels of a tile must be of one head: beyond it lie those of the next,
    not zeros.

    Example: 192 tokens, 128 channels of head `h` from `%c = h * D` on:

    ```mlir
    nagpu.tma_load %map[%b, %x, %y, %z, %c] into %tile signal %full[%i]
      : !nagpu.tensor_map<1x2x8x12x64xbf16, tma128>,
        !nagpu.shared<192x128xbf16, tma128>, !nagpu.barrier<2>
    ```
  }];
  let arguments = (ins NAGPU_TensorMapType:$map, Variadic<Index>:$at,
                       NAGPU_SharedType:$dest, NAGPU_BarrierType:$barrier,
                       Index:$index);
  let assemblyFormat = [{
    $map `[` $at `]` `into` $dest `signal` $barrier `[` $index `]` attr-dict
    `:` type($map) `,` type($dest) `,` type($barrier)
  }];
  let hasVerifier = 1;
}

def NAGPU_TmaStoreOp : NAGPU_Op<"tma_store",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Starts to copy a shared tile to a box of a tensor";
  let description = [{
    The opposite of `nagpu.tma_load`, as a group of its own. Issued by the
    producer, the first thread of each consumer warpgroup, or the first thread
    of the CTA outside `nagpu.roles`. The writes of other threads to the tile
    must be ordered before it: each of them executes `nagpu.proxy_fence`, and
    all of them meet in a barrier. What lies outside the tensor is dropped.

    Example:

    ```mlir
    nagpu.tma_store %tile to %map[%b, %x, %y, %z, %c]
      : !nagpu.shared<64x128xbf16, tma128>, !nagpu.tensor_map<1x1x8x8x64xbf16, tma128>
    ```
  }];
  let arguments = (ins NAGPU_SharedType:$source, NAGPU_TensorMapType:$map,
                       Variadic<Index>:$at);
  let assemblyFormat = [{
    $source `to` $map `[` $at `]` attr-dict `:` type($source) `,` type($map)
  }];
  let hasVerifier = 1;
}

def NAGPU_TmaAddOp : NAGPU_Op<"tma_add",
    [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "Starts to add a shared tile to a box of a tensor";
  let description = [{
    `nagpu.tma_store` of f32 that adds to what is there: in the L2 cache, each
    element in one step, in no defined order among those who add. With a condition
    after `if`, nothing is added where it is false.

    Example:

    ```mlir
    nagpu.tma_add %tile to %map[%b, %x, %y, %z, %c] if %later
      : !nagpu.shared<64x64xf32, tma128>, !nagpu.tensor_map<1x1x8x8x32xf32, tma128>
    ```
  }];
  let arguments = (ins NAGPU_SharedType:$source, NAGPU_TensorMapType:$map,
                       Variadic<Index>:$at, Optional<I1>:$condition);
  let assemblyFormat = [{
    $source `to` $map `[` $at `]` (`if` $condition^)? attr-dict
    `:` type($source) `,` type($map)
  }];
  let hasVerifier = 1;
}

def NAGPU_TmaStoreWaitOp : NAGPU_Op<"tma_store_wait",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits until stores have read their tiles";
  let description = [{
    The thread that issued them waits until at most the `pending` youngest
    `nagpu.tma_store` and `nagpu.tma_add` still read shared memory; others do not
    wait.

    Example:

    ```mlir
    nagpu.tma_store_wait pending 0
    ```
  }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "`pending` $pending attr-dict";
  let hasVerifier = 1;
}

def NAGPU_ProxyFenceOp : NAGPU_Op<"proxy_fence",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Orders a thread's accesses before those of the TMA and wgmma";
  let description = [{
    What the thread wrote to shared memory by ordinary stores is seen by the
    asynchronous proxy (`nagpu.tma_store`, `nagpu.tma_add`, `nagpu.wgmma`) that is
    ordered behind this fence. Between threads a barrier is needed besides.

    Example:

    ```mlir
    nagpu.proxy_fence
    ```
  }];
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Fragments of a warpgroup in shared memory
//===----------------------------------------------------------------------===//

def NAGPU_PanelOp : NAGPU_Op<"panel", [Pure]> {
  let summary = "One panel of a shared tile";
  let description = [{
    The columns of panel `index` of a tile in panels of the TMA, as a tile.

    Example: the first 64 channels:

    ```mlir
    %half = nagpu.panel %tile[%c0]
      : !nagpu.shared<64x128xbf16, tma128> -> !nagpu.shared<64x64xbf16, tma128>
    ```
  }];
  let arguments = (ins NAGPU_SharedType:$tile, Index:$index);
  let results = (outs NAGPU_SharedType:$result);
  let assemblyFormat = [{
    $tile `[` $index `]` attr-dict `:` type($tile) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NAGPU_RowsOp : NAGPU_Op<"rows", [Pure]> {
  let summary = "A block of rows of a shared tile";
  let description = [{
    Rows `index * R` to `(index + 1) * R` of a tile of one panel of the TMA, as a
    tile of `R` rows. R is a multiple of 8, over which panels are swizzled, and
    divides the rows of the tile.

    Example: the second half of 80 rows:

    ```mlir
    %half = nagpu.rows %tile[%c1]
      : !nagpu.shared<80x64xbf16, tma128> -> !nagpu.shared<40x64xbf16, tma128>
    ```
  }];
  let arguments = (ins NAGPU_SharedType:$tile, Index:$index);
  let results = (outs NAGPU_SharedType:$result);
  let assemblyFormat = [{
    $tile `[` $index `]` attr-dict `:` type($tile) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NAGPU_StoreTransposedOp : NAGPU_Op<"store_transposed",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Stores a fragment of a warpgroup to a shared tile, transposed";
  let description = [{
    Column `j` of the fragment, `[64, N]` of 4 warps, becomes row `j` of the tile,
    `[N, 64]` in panels of 128 bytes: an `lhs` of 16 bits by `stmatrix`, an
    `accumulator` of f32 element by element, without bank conflicts. Before the
    asynchronous proxy reads the tile, each thread executes `nagpu.proxy_fence`
    and all meet in a barrier.

    Example:

    ```mlir
    nagpu.store_transposed %f into %tile
      : !nagpu.fragment<64x80xbf16, lhs, 4>, !nagpu.shared<80x64xbf16, tma128>
    ```
  }];
  let arguments = (ins NAGPU_FragmentType:$source, NAGPU_SharedType:$dest);
  let assemblyFormat = [{
    $source `into` $dest attr-dict `:` type($source) `,` type($dest)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Products of a warpgroup
//===----------------------------------------------------------------------===//

def NAGPU_WgmmaOp : NAGPU_Op<"wgmma",
    [MemoryEffects<[MemRead, MemWrite]>,
     OptionalTypesMatchWith<"'acc' has the type of the result", "result", "acc",
                            "$_self">]> {
  let summary = "Starts acc + lhs * rhs on the matrix units of a warpgroup";
  let description = [{
    `wgmma.mma_async` over all of K in steps of 16, m64nNk16, f16 or bf16 to
    f32, N a multiple of 8 up to 256. `lhs` is a shared tile `[64, K]` or a
    fragment `64xK` of role `lhs` and 4 warps. `rhs` is a shared tile `[K, N]`,
    or `[N, K]` with `transposed`. Both tiles lie in panels (`tma128`, `tma64`,
    `tma32`). With `lhs_transposed`, `lhs` is a shared tile `[K, 64]` of one
    panel. Without `acc` the sum starts at zero.

    The result is in flight until a `nagpu.wgmma_wait` gives it back: until then
    only a further `nagpu.wgmma` may take it, as its `acc`. Registers that the
    product reads or adds to were written before the last `nagpu.wgmma_fence`.

    Example: `Q K^T` and `P V`:

    ```mlir
    %s = nagpu.wgmma %q, %k transposed
      : !nagpu.shared<64x128xbf16, tma128>, !nagpu.shared<176x128xbf16, tma128>
        -> !nagpu.fragment<64x176xf32, accumulator, 4>
    %o1 = nagpu.wgmma %p, %v, %o
      : !nagpu.fragment<64x176xbf16, lhs, 4>, !nagpu.shared<176x128xbf16, tma128>
        -> !nagpu.fragment<64x128xf32, accumulator, 4>
    ```
  }];
  let arguments = (ins AnyTypeOf<[NAGPU_SharedType, NAGPU_FragmentType]>:$lhs,
                       NAGPU_SharedType:$rhs, Optional<NAGPU_FragmentType>:$acc,
                       UnitAttr:$transposed, UnitAttr:$lhs_transposed);
  let results = (outs NAGPU_FragmentType:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`,` $acc^)? (`transposed` $transposed^)?
    (`lhs_transposed` $lhs_transposed^)? attr-dict
    `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// The depth of one instruction.
    static constexpr int64_t stepDepth = 16;
  }];
  let hasVerifier = 1;
}

def NAGPU_WgmmaFenceOp : NAGPU_Op<"wgmma_fence",
    [MemoryEffects<[MemRead, MemWrite]>,
     RangedTypesMatchWith<"results have the types of the values", "values",
                          "results", "$_self">]> {
  let summary = "Orders writes to registers before the next products";
  let description = [{
    Precedes each group of products. The results are the values, which products
    read or add to from here on; a product must not take what was computed
    behind the fence.

    Example:

    ```mlir
    %o1, %p1 = nagpu.wgmma_fence(%o, %p : !nagpu.fragment<64x128xf32, accumulator, 4>,
                                 !nagpu.fragment<64x176xbf16, lhs, 4>)
    ```
  }];
  let arguments = (ins Variadic<NAGPU_FragmentType>:$values);
  let results = (outs Variadic<NAGPU_FragmentType>:$results);
  let assemblyFormat = "(`(` $values^ `:` type($values) `)`)? attr-dict";
  let hasVerifier = 1;
}

def NAGPU_WgmmaCommitOp : NAGPU_Op<"wgmma_commit",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Makes a group of the products that were started";
  let description = [{
    Groups all `nagpu.wgmma` since the last group.

    Example:

    ```mlir
    nagpu.wgmma_commit
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def NAGPU_WgmmaWaitOp : NAGPU_Op<"wgmma_wait",
    [MemoryEffects<[MemRead, MemWrite]>,
     RangedTypesMatchWith<"results have the types of the values", "values",
                          "results", "$_self">]> {
  let summary = "Waits for groups of products and threads the sums through";
  let description = [{
    Waits until at most the `pending` youngest groups are in flight. The values
    must come from older ones; the results may be read.

    Example: the scores, while the product with the values goes on:

    ```mlir
    %s1 = nagpu.wgmma_wait pending 1 (%s : !nagpu.fragment<64x176xf32, accumulator, 4>)
    ```
  }];
  let arguments = (ins I64Attr:$pending, Variadic<NAGPU_FragmentType>:$values);
  let results = (outs Variadic<NAGPU_FragmentType>:$results);
  let assemblyFormat = [{
    `pending` $pending (`(` $values^ `:` type($values) `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Roles of warpgroups
//===----------------------------------------------------------------------===//

def NAGPU_RolesOp : NAGPU_Op<"roles",
    [MemoryEffects<[MemRead, MemWrite]>, SingleBlock, NoTerminator]> {
  let summary = "Divides the CTA into producer warps and consumer warpgroups";
  let description = [{
    The CTA has `128 (1 + groups)` threads. First all of them meet in a barrier.
    Then warp `i` of warpgroup 0 executes the `i`-th of the (one to four)
    producer regions as one thread: all its lanes compute, one of them copies,
    arrives and writes. Each of the other warpgroups executes the consumer region
    with its number, from 0 on; warps and threads are those of the warpgroup
    there. A thread of the producers may have
    `producerRegisters` registers, one of the consumers `consumerRegisters`
    (`setmaxnreg`): multiples of 8 from 24 to 240, in all at most what the CTA
    starts with. Small budgets let several CTAs share a multiprocessor, each of
    which then starts with its part of the registers. One consumer warpgroup of
    the only CTA has as many registers as it can name; its budgets have no
    effect. Nothing waits at the end.

    Only `nagpu.named_barrier` is a barrier in here: not all threads of the CTA
    come to the same place. Producers have no fragments.

    Example:

    ```mlir
    nagpu.roles registers(24, 240) producer {
      nagpu.mbarrier_expect_tx %full[%c0] bytes 49152 : !nagpu.barrier<2>
    } producer {
    } consumers(%group in 2) {
      nagpu.mbarrier_wait %full[%c0] parity %p0 : !nagpu.barrier<2>
    }
    ```
  }];
  let arguments = (ins I64Attr:$producerRegisters, I64Attr:$consumerRegisters,
                       I64Attr:$groups);
  let regions = (region SizedRegion<1>:$consumers,
                        VariadicRegion<SizedRegion<1>>:$producers);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getThreads() { return 128 * (1 + int64_t(getGroups())); }
    /// The operation whose region `op` is in, if any.
    static RolesOp getEnclosing(::mlir::Operation *op);
    /// Whether `op` is in a producer region of one.
    static bool isInProducer(::mlir::Operation *op);
  }];
}

def NAGPU_NamedBarrierOp : NAGPU_Op<"named_barrier",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits for threads at a barrier of a number";
  let description = [{
    `bar.sync` of barrier `id`, 1 to 15, and `threads` threads, a multiple of
    32. With `arrive`, the threads count but do not wait.

    Example: the threads of one warpgroup:

    ```mlir
    nagpu.named_barrier %id threads 128
    ```
  }];
  let arguments = (ins Index:$id, I64Attr:$threads, UnitAttr:$arrive);
  let assemblyFormat = "(`arrive` $arrive^)? $id `threads` $threads attr-dict";
  let hasVerifier = 1;
}

#endif // NA_DIALECT_NAGPU_IR_NAGPUHOPPEROPS_TD
