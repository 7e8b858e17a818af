//===- NAGPUOps.td - Operations of the nagpu dialect -*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NAGPU_IR_NAGPUOPS_TD
#define NA_DIALECT_NAGPU_IR_NAGPUOPS_TD

include "mlir/IR/Properties.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "na/Dialect/NAGPU/IR/NAGPUTypes.td"

def NAGPU_GlobalMemRef : MemRefOf<[F32, F16, BF16]>;

class NAGPU_Op<string mnemonic, list<Trait> traits = []>
    : Op<NAGPU_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

def NAGPU_AllocOp : NAGPU_Op<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "A tile or a ring of tiles in the CTA's shared memory";
  let description = [{
    Lives until the kernel ends. `offset` is the byte at which it starts in
    the kernel's dynamic shared memory, set by `nagpu-assign-shared-memory`.

    Example:

    ```mlir
    %ring = nagpu.alloc {offset = 32768 : i64} : !nagpu.shared<2x64x128xbf16, xor>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs NAGPU_SharedType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NAGPU_SlotOp : NAGPU_Op<"slot", [Pure]> {
  let summary = "One tile of a ring";
  let description = [{
    `index` is in `[0, slots)`.

    Example:

    ```mlir
    %tile = nagpu.slot %ring[%i]
      : !nagpu.shared<2x64x128xbf16, xor> -> !nagpu.shared<64x128xbf16, xor>
    ```
  }];
  let arguments = (ins NAGPU_SharedType:$ring, Index:$index);
  let results = (outs NAGPU_SharedType:$result);
  let assemblyFormat = "$ring `[` $index `]` attr-dict `:` type($ring) `->` type($result)";
  let hasVerifier = 1;
}

def NAGPU_AsyncCopyOp : NAGPU_Op<"async_copy",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Starts to copy a box of tokens of one batch and head";
  let description = [{
    Copies what `na.tile.load` reads to a shared tile, by `cp.async` of all
    `warps * 32` threads where 4, 8 or 16 bytes at a time are possible, by
    plain loads and stores otherwise. Row `(i, j, ..)` of the tile, row-major
    over `box`, is
    `source[batch, at_x + i * dilation_x, at_y + j * dilation_y, .., head, :]`;
    rows with a coordinate outside `[0, length)` and columns beyond `D` are
    filled with zeros.

    A source without channels, `[B, X.., H]`, goes to the one row of a tile:
    column `(i, j, ..)`, row-major over `box`, is that of the token.

    A tile in the panels of the TMA (`tma128`, `tma64`, `tma32`) has `D` columns.
    Its copy is one that `nagpu-specialize-warps` gives to a producer as a
    `nagpu.tma_load`; `convert-nagpu-to-nvvm` refuses one that is left.

    Example:

    ```mlir
    %t = nagpu.async_copy %k[%b, %h] at(%x, %y) box [4, 16] dilation [1, 1]
           into %tile warps 4
           : memref<1x56x56x2x32xbf16>, !nagpu.shared<64x32xbf16, xor>
    ```
  }];
  let arguments = (ins
    NAGPU_GlobalMemRef:$source, Index:$batch, Index:$head,
    Variadic<Index>:$at, NAGPU_SharedType:$dest,
    DenseI64ArrayAttr:$box, DenseI64ArrayAttr:$dilation, I64Attr:$warps);
  let extraClassDeclaration = [{
    /// Whether the source has no channels, and the tile is one row.
    bool isVector();
  }];
  let results = (outs NAGPU_TokenType:$token);
  let assemblyFormat = [{
    $source `[` $batch `,` $head `]` `at` `(` $at `)` `box` $box
    `dilation` $dilation `into` $dest `warps` $warps attr-dict
    `:` type($source) `,` type($dest)
  }];
  let hasVerifier = 1;
}

def NAGPU_AsyncCommitOp : NAGPU_Op<"async_commit",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Makes a group of the copies that were issued";
  let description = [{
    Groups all copies issued since the last group (`cp.async.commit_group`).
    `none` makes an empty group.

    Example:

    ```mlir
    %g = nagpu.async_commit %t0, %t1
    ```
  }];
  let arguments = (ins Variadic<NAGPU_TokenType>:$tokens);
  let results = (outs NAGPU_TokenType:$group);
  // Without `none` an empty list would take the name that the next line defines.
  let assemblyFormat = "($tokens^) : (`none`)? attr-dict";
}

def NAGPU_AsyncWaitOp : NAGPU_Op<"async_wait",
    [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>,
     RangedTypesMatchWith<"results have the types of the tiles", "tiles",
                          "results", "$_self">]> {
  let summary = "Waits for groups of copies and threads the tiles through";
  let description = [{
    Waits until at most the `pending` youngest groups of the thread are in
    flight (`cp.async.wait_group`), then for all threads of the CTA
    (a barrier). The results are the tiles, which may be read from here on;
    after the barrier, nobody still reads what was read before it. What waits
    for a tile in the panels of the TMA is a consumer, in
    `nagpu-specialize-warps`, and not all threads.

    Example:

    ```mlir
    %k1, %v1 = nagpu.async_wait %g pending 0 tiles(%k, %v)
      : !nagpu.shared<64x128xbf16, xor>, !nagpu.shared<64x128xbf16, xor>
    ```
  }];
  let arguments = (ins
    Variadic<NAGPU_TokenType>:$groups, Variadic<NAGPU_SharedType>:$tiles,
    I64Attr:$pending);
  let results = (outs Variadic<NAGPU_SharedType>:$results);
  let assemblyFormat = [{
    $groups `pending` $pending (`tiles` `(` $tiles^ `)`)? attr-dict
    (`:` type($tiles)^)?
  }];
  let hasVerifier = 1;
}

def NAGPU_BarrierOp : NAGPU_Op<"barrier",
    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits for all threads of the CTA";
  let description = [{
    What any thread wrote to shared memory before may be read by all behind it.
    Not in `nagpu.roles`, see `nagpu.named_barrier`.

    Example:

    ```mlir
    nagpu.barrier
    ```
  }];
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

def NAGPU_LdMatrixOp : NAGPU_Op<"ldmatrix", [MemoryEffects<[MemRead]>]> {
  let summary = "Loads a slice of a shared tile as an operand of a product";
  let description = [{
    The slice starts at row `row` and column `column` of the tile and has the
    result's shape; with `transposed` the result is the transpose of the slice
    (its rows are the tile's columns). An `lhs` starts at row 0 and has all rows
    of the tile; a transposed one starts at column 0, and where the tile is one
    of `nagpu.gather`, the keys are its rows. 16-bit elements take `ldmatrix`. With
    `permuted` (32-bit `rhs` only), row `8 k + 4 r + t` of the fragment is row
    `8 k + 2 t + r` of the slice, which fits an `lhs` made by `nagpu.convert`.

    Example: all keys, 16 channels, as the right operand of `Q K^T`:

    ```mlir
    %b = nagpu.ldmatrix %k[0, 16] transposed
      : !nagpu.shared<64x128xbf16, xor> -> !nagpu.fragment<16x64xbf16, rhs, 4>
    ```
  }];
  let arguments = (ins NAGPU_SharedType:$source, I64Attr:$row, I64Attr:$column,
                       UnitAttr:$transposed, UnitAttr:$permuted);
  let results = (outs NAGPU_FragmentType:$result);
  let assemblyFormat = [{
    $source `[` $row `,` $column `]` (`transposed` $transposed^)?
    (`permuted` $permuted^)? attr-dict
    `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NAGPU_MmaOp : NAGPU_Op<"mma",
    [Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc + lhs * rhs on the matrix units";
  let description = [{
    `mma.sync` over all `m16n8k16` (16-bit operands) or `m16n8k8` (f32
    operands, rounded to tf32) blocks. The accumulator is f32.

    Example:

    ```mlir
    %d = nagpu.mma %a, %b, %c
      : !nagpu.fragment<128x16xbf16, lhs, 4>, !nagpu.fragment<16x64xbf16, rhs, 4>,
        !nagpu.fragment<128x64xf32, accumulator, 4>
    ```
  }];
  let arguments = (ins NAGPU_FragmentType:$lhs, NAGPU_FragmentType:$rhs,
                       NAGPU_FragmentType:$acc);
  let results = (outs NAGPU_FragmentType:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $acc attr-dict
    `:` type($lhs) `,` type($rhs) `,` type($acc)
  }];
  let hasVerifier = 1;
}

def NAGPU_FmaOp : NAGPU_Op<"fma",
    [MemoryEffects<[MemRead]>, AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc + lhs * rhs in f32 on the FMA units";
  let description = [{
    `lhs` is a shared tile `[M, K]`, or `[K, M]` with `lhs_transposed`, or an
    accumulator fragment `[M, K]` whose elements are passed among the four lanes
    of a row. `rhs` is a shared tile `[K, N]`, or `[N, K]` with `transposed`. All
    f32.

    Example:

    ```mlir
    %s = nagpu.fma %q, %k, %zero transposed
      : !nagpu.shared<64x32xf32, padded>, !nagpu.shared<64x32xf32, padded>,
        !nagpu.fragment<64x64xf32, accumulator, 4>
    ```
  }];
  let arguments = (ins AnyTypeOf<[NAGPU_SharedType, NAGPU_FragmentType]>:$lhs,
                       NAGPU_SharedType:$rhs, NAGPU_FragmentType:$acc,
                       UnitAttr:$transposed, UnitAttr:$lhs_transposed);
  let results = (outs NAGPU_FragmentType:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $acc (`transposed` $transposed^)?
    (`lhs_transposed` $lhs_transposed^)? attr-dict
    `:` type($lhs) `,` type($rhs) `,` type($acc)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

def NAGPU_LdVectorOp : NAGPU_Op<"ldvector", [MemoryEffects<[MemRead]>]> {
  let summary = "Loads the one row of a shared tile for rows or columns";
  let description = [{
    Element `i` of the tile's row becomes that of row `i` (role `row`) or of
    column `i` (role `column`) of the fragments that the result is combined
    with.

    Example: what the columns of scores, queries here, are shifted by:

    ```mlir
    %c = nagpu.ldvector %lse
      : !nagpu.shared<1x64xf32, xor> -> !nagpu.fragment<64xf32, column, 4>
    ```
  }];
  let arguments = (ins NAGPU_SharedType:$source);
  let results = (outs NAGPU_FragmentType:$result);
  let assemblyFormat = [{
    $source attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NAGPU_SplatOp : NAGPU_Op<"splat", [Pure]> {
  let summary = "A fragment whose elements are all one value";
  let description = [{
    The value of a `partial_row` must be 0: each of the four lanes holds it.

    Example:

    ```mlir
    %s = nagpu.splat %zero : f32 -> !nagpu.fragment<128x64xf32, accumulator, 4>
    ```
  }];
  let arguments = (ins AnyType:$value);
  let results = (outs NAGPU_FragmentType:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def NAGPU_ExtractOp : NAGPU_Op<"extract", [Pure]> {
  let summary = "Columns of a left operand";
  let description = [{
    The columns from `column` on, as many as the result has. No data moves.

    Example:

    ```mlir
    %a = nagpu.extract %p[16]
      : !nagpu.fragment<128x64xbf16, lhs, 4> -> !nagpu.fragment<128x16xbf16, lhs, 4>
    ```
  }];
  let arguments = (ins NAGPU_FragmentType:$source, I64Attr:$column);
  let results = (outs NAGPU_FragmentType:$result);
  let assemblyFormat = [{
    $source `[` $column `]` attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NAGPU_ConvertOp : NAGPU_Op<"convert", [Pure]> {
  let summary = "The same values in another role or element type";
  let description = [{
    | from | to | how |
    |---|---|---|
    | `accumulator` f32 | `lhs` f16, bf16 | rounds; no data moves between threads |
    | `lhs` f16, bf16 | `accumulator` f32 | exactly; no data moves between threads |
    | `accumulator` f32 | `lhs` f32 | no data moves: column `8 k + 2 t + e` takes the place of column `8 k + 4 e + t`, so the rows of the `rhs` must be loaded in that order (`permuted` on `nagpu.ldmatrix`) |
    | `partial_row` | `row` | sums over the four lanes of a row |

    Example:

    ```mlir
    %p = nagpu.convert %w
      : !nagpu.fragment<128x64xf32, accumulator, 4> -> !nagpu.fragment<128x64xbf16, lhs, 4>
    ```
  }];
  let arguments = (ins NAGPU_FragmentType:$source);
  let results = (outs NAGPU_FragmentType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def NAGPU_MapOp : NAGPU_Op<"map",
    [RecursiveMemoryEffects, SingleBlock]> {
  let summary = "Computes fragments element by element";
  let description = [{
    The region is evaluated for every element that a thread holds, on the
    elements of the operands at the same place; `row` operands are the same
    for all columns, `column` operands (beside an `accumulator`) for all rows.
    Results, and operands that are neither, all have one shape; if there is neither, `over` gives the type that is iterated over.
    `partial_row` operands and results are only allowed if everything is
    row-like. What is computed from a `partial_row` must be linear in it, by
    `arith.addf`, `subf`, `negf`, `mulf`, `divf`, `select` or `math.fma`, and
    goes to `partial_row` results only.

    Example:

    ```mlir
    %w = nagpu.map(%s, %shift : !nagpu.fragment<128x64xf32, accumulator, 4>, !nagpu.fragment<128xf32, row, 4>) {
    ^bb0(%x: f32, %y: f32):
      %d = arith.subf %x, %y : f32
      %e = math.exp2 %d : f32
      nagpu.yield %e : f32
    } : !nagpu.fragment<128x64xf32, accumulator, 4>
    ```
  }];
  let arguments = (ins Variadic<NAGPU_FragmentType>:$inputs,
                       OptionalAttr<TypeAttr>:$over);
  let results = (outs Variadic<NAGPU_FragmentType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` ($inputs^ `:` type($inputs))? `)` (`over` $over^)? attr-dict-with-keyword
    $body (`:` type($results)^)?
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The fragment type whose elements are iterated over; null if there is no
    /// fragment (invalid).
    FragmentType getIterationType();
    /// Whether all results are sums over four lanes of what the region gives
    /// for the lanes' parts of some inputs (`partial_row`).
    bool isLinearIn(::llvm::ArrayRef<bool> parts);
  }];
}

def NAGPU_IndexOp : NAGPU_Op<"index", [Pure, HasParent<"MapOp">]> {
  let summary = "Row (dim 0) or column (dim 1) of the element";
  let description = [{
    A 32-bit `lhs` has no `dim` 1, since its columns may be permuted.

    Example:

    ```mlir
    %column = nagpu.index 1
    ```
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs I32:$result);
  let assemblyFormat = "$dim attr-dict";
  let hasVerifier = 1;
}

def NAGPU_YieldOp : NAGPU_Op<"yield", [Pure, Terminator, HasParent<"MapOp">]> {
  let summary = "Ends the region of `nagpu.map`";
  let description = [{
    Gives the elements of the results, one value for each.

    Example:

    ```mlir
    nagpu.yield %e, %visible : f32, i1
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def NAGPU_Kind : I32Enum<"Kind", "How a row is reduced", [
    I32EnumCase<"Max", 0, "max">, I32EnumCase<"Add", 1, "add">]> {
  let cppNamespace = "::mlir::nagpu";
}

def NAGPU_ReduceOp : NAGPU_Op<"reduce", [Pure]> {
  let summary = "Reduces the columns of a fragment";
  let description = [{
    Combines the columns of an f32 accumulator by `kind`. With a `row` result
    the four lanes of a row exchange their parts; a `partial_row` result
    (`add` only) leaves that to a later `nagpu.convert`. The largest of NaN and
    a number is the number.

    Example:

    ```mlir
    %m = nagpu.reduce max %s
      : !nagpu.fragment<128x64xf32, accumulator, 4> -> !nagpu.fragment<128xf32, row, 4>
    ```
  }];
  let arguments = (ins EnumProp<NAGPU_Kind>:$kind, NAGPU_FragmentType:$source);
  let results = (outs NAGPU_FragmentType:$result);
  let assemblyFormat = [{
    $kind $source attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NAGPU_MaskOp : NAGPU_Op<"mask",
    [Pure, AllTypesMatch<["source", "result"]>]> {
  let summary = "Sets the columns outside an interval of each row to -inf";
  let description = [{
    The columns run row-major over `box`. On `axis`, the coordinates in
    `[begin, end)` keep their value; the others become -inf. Both bounds are a
    number a row; `size` says instead of `end` how many coordinates there are.
    Bounds may lie outside the box. A window of several axes is a product of
    intervals: one `nagpu.mask` for each axis that its edges cut.

    Elements of a thread that share a coordinate share what decides about them;
    where the coordinates are many, it comes from the bits of a word a row.

    Example: 176 keys, of which rows see 20 of 22 positions on the first axis:

    ```mlir
    %m = nagpu.mask %s axis 0 of [22, 8] from %begin size 20
      : !nagpu.fragment<64x176xf32, accumulator, 4>, !nagpu.fragment<64xi32, row, 4>
    ```
  }];
  let arguments = (ins NAGPU_FragmentType:$source, NAGPU_FragmentType:$begin,
                       Optional<NAGPU_FragmentType>:$end,
                       OptionalAttr<I64Attr>:$size, I64Attr:$axis,
                       DenseI64ArrayAttr:$box);
  let results = (outs NAGPU_FragmentType:$result);
  let assemblyFormat = [{
    $source `axis` $axis `of` $box `from` $begin (`to` $end^)? (`size` $size^)?
    attr-dict `:` type($source) `,` type($begin) (`,` type($end)^)?
  }];
  let hasVerifier = 1;
}

def NAGPU_MaskBoxOp : NAGPU_Op<"mask_box",
    [Pure, AllTypesMatch<["source", "result"]>, SameVariadicOperandSize]> {
  let summary = "Sets the columns outside a box of each row to -inf";
  let description = [{
    What `nagpu.mask` does on each of `axes`, in one selection an element: the
    columns whose coordinates are in `[begin, end)` on all of them keep their
    value. Bounds are a number a row, one pair for each axis, and may lie outside
    of `box`. For tiles that are cut on several axes.

    Elements that share their coordinates on all but one axis share a word with a
    bit for each coordinate on that one; where too many words would be needed,
    one axis is masked after the other.

    Example: 80 keys, of which rows see an interval on both axes:

    ```mlir
    %m = nagpu.mask_box %s axes [0, 1] of [10, 8] from %b0, %b1 to %e0, %e1
      : !nagpu.fragment<64x80xf32, accumulator, 4>, !nagpu.fragment<64xi32, row, 4>
    ```
  }];
  let arguments = (ins NAGPU_FragmentType:$source,
                       Variadic<NAGPU_FragmentType>:$begins,
                       Variadic<NAGPU_FragmentType>:$ends,
                       DenseI64ArrayAttr:$axes, DenseI64ArrayAttr:$box);
  let results = (outs NAGPU_FragmentType:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def NAGPU_StoreOp : NAGPU_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "Stores a fragment to a box of tokens of one batch and head";
  let description = [{
    What `na.tile.store` does: row `(i, j, ..)` of the fragment, row-major over
    `box`, goes to `dest[batch, at_x + i * dilation_x, .., head, :]`, rounded
    to the destination's type. Rows with a coordinate outside `[0, length)` and
    columns beyond `Dv` are dropped. A `row` fragment goes to `[B, X.., H]`.

    Example:

    ```mlir
    nagpu.store %o into %out[%b, %h] at(%x, %y) box [8, 16] dilation [1, 1]
      : !nagpu.fragment<128x32xf32, accumulator, 4>, memref<1x56x56x2x32xbf16>
    ```
  }];
  let arguments = (ins
    NAGPU_FragmentType:$source, NAGPU_GlobalMemRef:$dest, Index:$batch,
    Index:$head, Variadic<Index>:$at,
    DenseI64ArrayAttr:$box, DenseI64ArrayAttr:$dilation);
  let assemblyFormat = [{
    $source `into` $dest `[` $batch `,` $head `]` `at` `(` $at `)` `box` $box
    `dilation` $dilation attr-dict `:` type($source) `,` type($dest)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Slots of windows
//===----------------------------------------------------------------------===//

def NAGPU_ScatterOp : NAGPU_Op<"scatter",
    [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "Stores the in-window entries of scores to their slots";
  let description = [{
    What `na.tile.scatter` does. Row `(i, j, ..)` of `source`, row-major over
    `query_box`, is the query with token `at_x + i * dilation_x, ..`; column
    `(k, l, ..)`, row-major over `key_box`, is a key of the tile. On each axis
    the query sees the keys `[begin, end)` of its two entries of `ranges`, which
    count from the tile's first key and may lie outside of the tile. A key in
    all of these ranges goes to
    `dest[batch, token, head, (k - begin_x) * size_y * .. + (l - begin_y) ..]`.
    Queries whose token is outside of `dest` are dropped.

    The entries go through `scratch`, so that the lanes of a warp store
    neighbouring slots of one row together. It has a row for each query and one
    more, and `getScratchColumns` columns: the keys, and what a row needs of
    its addresses. Each warp uses the rows of its own queries.

    Example:

    ```mlir
    nagpu.scatter %s via %scratch into %scores[%b, %h] at(%x, %y)
      ranges(%b0, %e0, %b1, %e1) window [7, 7] query_box [8, 8] key_box [4, 16]
      dilation [1, 1]
      : !nagpu.fragment<64x64xf32, accumulator, 2>,
        !nagpu.shared<65x76xf32, padded>, memref<1x56x56x2x49xf32>,
        !nagpu.fragment<64xi32, row, 2>
    ```
  }];
  let arguments = (ins
    NAGPU_FragmentType:$source, NAGPU_SharedType:$scratch,
    NAGPU_GlobalMemRef:$dest, Index:$batch, Index:$head, Variadic<Index>:$at,
    Variadic<NAGPU_FragmentType>:$ranges, DenseI64ArrayAttr:$window,
    DenseI64ArrayAttr:$query_box, DenseI64ArrayAttr:$key_box,
    DenseI64ArrayAttr:$dilation);
  let assemblyFormat = [{
    $source `via` $scratch `into` $dest `[` $batch `,` $head `]`
    `at` `(` $at `)` `ranges` `(` $ranges `)` `window` $window
    `query_box` $query_box `key_box` $key_box `dilation` $dilation attr-dict
    `:` type($source) `,` type($scratch) `,` type($dest) `,` type($ranges)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Columns of the scratch tile for so many keys of a type.
    static int64_t getScratchColumns(int64_t keys, ::mlir::Type elementType);
  }];
}

def NAGPU_GatherOp : NAGPU_Op<"gather",
    [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments,
     AllTypesMatch<["dest", "result"]>]> {
  let summary = "Loads the weights of queries into a dense tile";
  let description = [{
    What `na.tile.gather` does, the opposite of `nagpu.scatter`: entry
    `(query, key)` of `dest` becomes the weight of the key's slot, or zero where
    the query does not see the key. `dest` has a row for each query, and the
    columns of a scratch tile of `nagpu.scatter`, of which the keys are the
    first; what the others hold is not defined. Weights of f32 are rounded to a
    tile of f16 or bf16. The lanes of a warp load neighbouring slots of one row
    together. Each warp fills the rows of its own queries, and only it may read
    them without a barrier. With `for_cta`, there are barriers of the CTA before
    and behind: all warps may read all rows.

    Example:

    ```mlir
    %t = nagpu.gather %weights[%b, %h] at(%x, %y) ranges(%b0, %e0, %b1, %e1)
      into %tile window [7, 7] query_box [8, 8] key_box [4, 16]
      dilation [1, 1] warps 2
      : memref<1x56x56x2x49xbf16>, !nagpu.shared<64x88xbf16, padded>,
        !nagpu.fragment<64xi32, row, 2>
    ```
  }];
  let arguments = (ins
    NAGPU_GlobalMemRef:$source, NAGPU_SharedType:$dest, Index:$batch,
    Index:$head, Variadic<Index>:$at, Variadic<NAGPU_FragmentType>:$ranges,
    DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$query_box,
    DenseI64ArrayAttr:$key_box, DenseI64ArrayAttr:$dilation,
    I64Attr:$warps, UnitAttr:$for_cta);
  let results = (outs NAGPU_SharedType:$result);
  let assemblyFormat = [{
    $source `[` $batch `,` $head `]` `at` `(` $at `)` `ranges` `(` $ranges `)`
    `into` $dest `window` $window `query_box` $query_box `key_box` $key_box
    `dilation` $dilation `warps` $warps (`for_cta` $for_cta^)? attr-dict
    `:` type($source) `,` type($dest) `,` type($ranges)
  }];
  let hasVerifier = 1;
}

include "na/Dialect/NAGPU/IR/NAGPUHopperOps.td"

#endif // NA_DIALECT_NAGPU_IR_NAGPUOPS_TD
