//===- NATileOps.td - Operations on tiles of queries and keys -*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_IR_NATILEOPS_TD
#define NA_DIALECT_NA_IR_NATILEOPS_TD

include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "na/Dialect/NA/IR/NABase.td"
include "na/Dialect/NA/IR/NAAttrs.td"

def NA_AnyShaped : AnyTypeOf<[AnyRankedTensor, AnyMemRef]>;
def NA_FloatMemRef : MemRefOf<[F64, F32, F16, BF16]>;

// Tile operations are in destination style on the tile (a small tensor, or a
// memref once bufferized); whole operands are memrefs.
class NA_TileOp<string mnemonic, list<Trait> traits = []>
    : Op<NA_Dialect, "tile." # mnemonic,
         !listconcat(traits, [
           DestinationStyleOpInterface,
           DeclareOpInterfaceMethods<MemoryEffectsOpInterface>])> {
  let hasVerifier = 1;
  code baseClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getInitMutable();
    }
  }];
  let extraClassDeclaration = baseClassDeclaration;
}

def NA_TileLoadOp : NA_TileOp<"load"> {
  let summary = "Loads a box of tokens of one batch and head as a tile";
  let description = [{
    Lanes run row-major over `box`. Lane `(i, j, ..)` holds the row
    `source[batch, at_x + i * dilation_x, at_y + j * dilation_y, .., head, :]`,
    or zeros where a coordinate is not in `[0, length)`. The tile is
    `[lanes, D]`, or `[D, lanes]` with `transposed`; a narrower source element
    type is extended to the tile's. A source `[B, X.., H]`, one number per token
    and head, gives a tile `[lanes]`.

    Example:

    ```mlir
    %t = na.tile.load %k[%b, %h] at(%x, %y) box [14, 14] dilation [1, 1]
           into %init : memref<1x56x56x2x32xbf16>, tensor<196x32xf32>
           -> tensor<196x32xf32>
    %l = na.tile.load %lse[%b, %h] at(%x, %y) box [14, 14] dilation [1, 1]
           into %init1 : memref<1x56x56x2xf32>, tensor<196xf32>
           -> tensor<196xf32>
    ```
  }];
  let arguments = (ins
    NA_FloatMemRef:$source, Index:$batch, Index:$head,
    Variadic<Index>:$at, NA_AnyShaped:$init,
    DenseI64ArrayAttr:$box, DenseI64ArrayAttr:$dilation,
    UnitAttr:$transposed);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $source `[` $batch `,` $head `]` `at` `(` $at `)` `box` $box
    `dilation` $dilation (`transposed` $transposed^)? `into` $init attr-dict
    `:` type($source) `,` type($init) (`->` type($result)^)?
  }];
}

def NA_TileStoreOp : Op<NA_Dialect, "tile.store",
    [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Stores a tile to a box of tokens of one batch and head";
  let description = [{
    The inverse of `na.tile.load`: lanes whose coordinates are inside
    `[0, length)` are written, the others dropped. A tile `[lanes]` goes to a
    destination `[B, X.., H]`, a tile `[lanes, D]` (`[D, lanes]` with
    `transposed`) to `[B, X.., H, D]`; elements are truncated to the
    destination's type.

    Example:

    ```mlir
    na.tile.store %t into %o[%b, %h] at(%x, %y) box [8, 8] dilation [1, 1]
      : tensor<64x32xf32>, memref<1x56x56x2x32xbf16>
    ```
  }];
  let arguments = (ins
    NA_AnyShaped:$tile, NA_FloatMemRef:$dest, Index:$batch, Index:$head,
    Variadic<Index>:$at, DenseI64ArrayAttr:$box, DenseI64ArrayAttr:$dilation,
    UnitAttr:$transposed);
  let assemblyFormat = [{
    $tile `into` $dest `[` $batch `,` $head `]` `at` `(` $at `)` `box` $box
    `dilation` $dilation (`transposed` $transposed^)? attr-dict
    `:` type($tile) `,` type($dest)
  }];
  let hasVerifier = 1;
}

def NA_TileAddOp : Op<NA_Dialect, "tile.add",
    [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Adds a tile to a box of tokens of one batch and head";
  let description = [{
    `na.tile.store` that adds to what `dest`, `[B, X.., H, D]`, holds: each
    element in one step that no other thread comes between. The tile, `[lanes,
    D]` or `[D, lanes]` with `transposed`, has the element type of `dest`, f32 or
    f64.

    Example:

    ```mlir
    na.tile.add %t to %sums[%b, %h] at(%x, %y) box [8, 8] dilation [1, 1]
      transposed : tensor<32x64xf32>, memref<1x56x56x2x32xf32>
    ```
  }];
  let arguments = (ins
    NA_AnyShaped:$tile, MemRefOf<[F64, F32]>:$dest, Index:$batch, Index:$head,
    Variadic<Index>:$at, DenseI64ArrayAttr:$box, DenseI64ArrayAttr:$dilation,
    UnitAttr:$transposed);
  let assemblyFormat = [{
    $tile `to` $dest `[` $batch `,` $head `]` `at` `(` $at `)` `box` $box
    `dilation` $dilation (`transposed` $transposed^)? attr-dict
    `:` type($tile) `,` type($dest)
  }];
  let hasVerifier = 1;
}

def NA_TileWindowsOp : NA_TileOp<"windows",
    [AttrSizedOperandSegments,
     NA_OneOperandEach<[2],
                       "'init'">]> {
  let summary = "Key range of every query of a tile, or the inverse, by axis";
  let description = [{
    For query lane `m` (row-major over `box`) at position `p_a = at_a + index`
    of a residue class with `sizes_a` tokens: `result[2 a][m]` is the first
    key position that the query sees on axis `a`, `result[2 a + 1][m]` one
    past the last. Lanes beyond the class get the range of its last query, so
    that no lane is without a key.

    With `inverse`, lanes are keys, and their ranges are those of the queries
    that see them, which are not all of one length.

    With `heads`, each query of the box is so many lanes, one behind the other:
    those of the query heads that share a tile.

    Example:

    ```mlir
    %r = na.tile.windows <size = [7, 7]> at(%px, %py) sizes(%sx, %sy)
           box [8, 8] into %init : tensor<4x64xi32> -> tensor<4x64xi32>
    %s = na.tile.windows inverse <size = [7, 7]> at(%kx, %ky) sizes(%sx, %sy)
           box [4, 4] into %init1 : tensor<4x16xi32> -> tensor<4x16xi32>
    %g = na.tile.windows <size = [128], causal = [true]> at(%px) sizes(%sx)
           box [8] heads 8 into %init2 : tensor<2x64xi32> -> tensor<2x64xi32>
    ```
  }];
  let arguments = (ins
    NA_WindowAttr:$window, Variadic<Index>:$at, Variadic<Index>:$sizes,
    NA_AnyShaped:$init, DenseI64ArrayAttr:$box, UnitAttr:$inverse,
    DefaultValuedOptionalAttr<I64Attr, "1">:$heads);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    (`inverse` $inverse^)? $window `at` `(` $at `)` `sizes` `(` $sizes `)` `box` $box
    (`heads` $heads^)? `into` $init
    attr-dict `:` type($init) (`->` type($result)^)?
  }];
}

def NA_TileMaskOp : NA_TileOp<"mask",
    [AttrSizedOperandSegments,
     NA_OneOperandEach<[0, 1],
                       "'init' and 'ranges'">]> {
  let summary = "Sets the scores of keys outside the window to -inf";
  let description = [{
    `scores` is a tile of logits, `[queries, keys]` or `[keys, queries]` with
    `key_major`. Key lane `n` (row-major over `box`) is at position
    `at_a + index`. Scores of pairs that `ranges` (of `na.tile.windows`) does
    not hold on an axis of `axes` become -inf. Axes that no window edge can
    cut are left out of `axes`. With `unless`, nothing is masked where that
    flag is true: the tile lies in the intersection of all windows.

    With ranges of `na.tile.windows inverse`, queries and keys change places:
    the ranges and their lanes are of keys, `at` and `box` are of queries, and
    `key_major` scores are `[queries, keys]`.

    Example:

    ```mlir
    %m = na.tile.mask %s ranges(%r : tensor<4x64xi32>) at(%kx, %ky)
           box [14, 14] axes [0, 1] key_major unless %inside
           : tensor<196x64xf32> -> tensor<196x64xf32>
    ```
  }];
  let arguments = (ins
    NA_AnyShaped:$init, NA_AnyShaped:$ranges, Variadic<Index>:$at,
    Optional<I1>:$unless, DenseI64ArrayAttr:$box, DenseI64ArrayAttr:$axes,
    UnitAttr:$key_major);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $init `ranges` `(` $ranges `:` type($ranges) `)` `at` `(` $at `)`
    `box` $box `axes` $axes (`key_major` $key_major^)? (`unless` $unless^)?
    attr-dict `:` type($init) (`->` type($result)^)?
  }];
}

def NA_TileBiasOp : NA_TileOp<"bias",
    [AttrSizedOperandSegments,
     NA_OneOperandEach<[0, 1, 2],
                       "'init', 'table' and 'head'">]> {
  let summary = "Adds the relative-position bias to a tile of logits";
  let description = [{
    Adds `bias[head, r_x, ..]` with `r_a = key position - query position +
    size_a - 1` to each logit. Pairs with an index outside the table are outside
    the window, and are masked: a lowering may leave anything there.

    Example:

    ```mlir
    %t = na.tile.bias %s table(%bias[%h] : memref<4x13x13xf32>)
           <size = [7, 7]> query_at(%qx, %qy) key_at(%kx, %ky)
           query_box [8, 8] key_box [14, 14] key_major
           : tensor<196x64xf32> -> tensor<196x64xf32>
    ```
  }];
  let arguments = (ins
    NA_AnyShaped:$init, NA_FloatMemRef:$table, Index:$head,
    NA_WindowAttr:$window, Variadic<Index>:$query_at, Variadic<Index>:$key_at,
    DenseI64ArrayAttr:$query_box, DenseI64ArrayAttr:$key_box,
    UnitAttr:$key_major);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $init `table` `(` $table `[` $head `]` `:` type($table) `)` $window
    `query_at` `(` $query_at `)` `key_at` `(` $key_at `)`
    `query_box` $query_box `key_box` $key_box (`key_major` $key_major^)?
    attr-dict `:` type($init) (`->` type($result)^)?
  }];
}

def NA_TileScatterOp : Op<NA_Dialect, "tile.scatter",
    [AttrSizedOperandSegments,
     NA_OneOperandEach<[0, 1, 3, 4, 5],
                       "'tile', 'ranges', 'dest', 'batch' and 'head'">,
     DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Stores the in-window entries of a tile of scores to slots";
  let description = [{
    For every query lane inside the tensor (coordinates `at_a + index *
    dilation_a`; `at` itself is not negative) and every key lane (positions `key_at_a + index`) that
    `ranges` holds on all axes, stores the score to
    `dest[batch, x.., head, slot]`, where the slot is row-major over the axes
    from the first key of the row's window.

    Example:

    ```mlir
    na.tile.scatter %s ranges(%r : tensor<2x64xi32>) key_at(%kx)
      into %w[%b, %h] at(%x) <size = [7]> query_box [64] key_box [80]
      : tensor<80x64xf32>, memref<1x128x2x7xf32>
    ```
  }];
  let arguments = (ins
    NA_AnyShaped:$tile, NA_AnyShaped:$ranges, Variadic<Index>:$key_at,
    NA_FloatMemRef:$dest, Index:$batch, Index:$head, Variadic<Index>:$at,
    NA_WindowAttr:$window,
    DenseI64ArrayAttr:$query_box, DenseI64ArrayAttr:$key_box,
    UnitAttr:$key_major);
  let assemblyFormat = [{
    $tile `ranges` `(` $ranges `:` type($ranges) `)` `key_at` `(` $key_at `)`
    `into` $dest `[` $batch `,` $head `]` `at` `(` $at `)` $window
    `query_box` $query_box `key_box` $key_box (`key_major` $key_major^)?
    attr-dict `:` type($tile) `,` type($dest)
  }];
  let hasVerifier = 1;
}

def NA_TileGatherOp : NA_TileOp<"gather",
    [AttrSizedOperandSegments,
     NA_OneOperandEach<[0, 1, 2, 4, 6],
                       "'source', 'batch', 'head', 'ranges' and 'init'">]> {
  let summary = "Loads slots of attention weights as a dense tile";
  let description = [{
    The inverse of `na.tile.scatter`: a dense tile of weights, 0 for pairs
    outside the window and for queries outside the tensor; a narrower source
    element type is extended to the tile's, and f32 is rounded to f16 or bf16.

    Example:

    ```mlir
    %p = na.tile.gather %w[%b, %h] at(%x) ranges(%r : tensor<2x64xi32>)
           key_at(%kx) <size = [7]> query_box [64] key_box [80] key_major
           into %init : memref<1x128x2x7xf32>, tensor<80x64xf32>
           -> tensor<80x64xf32>
    ```
  }];
  let arguments = (ins
    NA_FloatMemRef:$source, Index:$batch, Index:$head, Variadic<Index>:$at,
    NA_AnyShaped:$ranges, Variadic<Index>:$key_at, NA_AnyShaped:$init,
    NA_WindowAttr:$window,
    DenseI64ArrayAttr:$query_box, DenseI64ArrayAttr:$key_box,
    UnitAttr:$key_major);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $source `[` $batch `,` $head `]` `at` `(` $at `)`
    `ranges` `(` $ranges `:` type($ranges) `)` `key_at` `(` $key_at `)` $window
    `query_box` $query_box `key_box` $key_box (`key_major` $key_major^)?
    `into` $init attr-dict
    `:` type($source) `,` type($init) (`->` type($result)^)?
  }];
}

#endif // NA_DIALECT_NA_IR_NATILEOPS_TD
