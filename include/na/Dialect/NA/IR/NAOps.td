//===- NAOps.td - Operations of the na dialect -*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_IR_NAOPS_TD
#define NA_DIALECT_NA_IR_NAOPS_TD

include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "na/Dialect/NA/IR/NAAttrs.td"
include "na/Dialect/NA/IR/NABase.td"

def NA_Float : AnyTypeOf<[F64, F32, F16, BF16]>;
def NA_Shaped : AnyTypeOf<[RankedTensorOf<[NA_Float]>, MemRefOf<[NA_Float]>],
                          "ranked tensor or memref of f64, f32, f16 or bf16">;
def NA_Statistic : AnyTypeOf<[RankedTensorOf<[F64, F32]>,
                              MemRefOf<[F64, F32]>],
                             "ranked tensor or memref of f32 or f64">;

// Destination style on tensors or on memrefs (never mixed); one result per
// destination on tensors, none on memrefs.
class NA_StructuredOp<string mnemonic, list<Trait> traits = []>
    : Op<NA_Dialect, mnemonic,
         !listconcat(traits, [
           DestinationStyleOpInterface,
           DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
           DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                                     ["reifyResultShapes"]>])> {
  let hasVerifier = 1;
  let hasFolder = 1;
  code baseClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable();
  }];
  let extraClassDeclaration = baseClassDeclaration;
}

def NA_AttentionOp : NA_StructuredOp<"attention",
    [AttrSizedOperandSegments,
     NA_OneOperandEach<[0, 1, 2, 6],
                       "'query', 'key', 'value' and 'output'">]> {
  let summary = "Neighborhood attention";
  let description = [{
    For every batch, query token and query head:

    ```
    logit(key) = scale * dot(query, key) + bias
    output     = sum over visible keys of softmax(logit) * value
    lse        = log(sum over visible keys of exp(logit))
    ```

    The visible keys are those of `window` (see `#na.window`), then all
    additional keys.

    | operand | shape | element type |
    |---|---|---|
    | `query` | `[B, X(, Y(, Z)), Hq, D]` | f64, f32, f16, bf16 |
    | `key` | `[B, X.., Hkv, D]`, Hkv divides Hq | the query's |
    | `value` | `[B, X.., Hkv, Dv]` | the query's |
    | `bias` (optional) | `[Hq, 2 * size_x - 1, ..]` | f32 or the query's |
    | `additional_key` (optional) | `[B, T, Hkv, D]` | the query's |
    | `additional_value` (optional) | `[B, T, Hkv, Dv]` | the query's |
    | `output` | `[B, X.., Hq, Dv]` | the query's |
    | `lse` (optional) | `[B, X.., Hq]` | f32; f64 for f64 |

    The destinations are written, never read. `scale` (a float attribute)
    defaults to `1 / sqrt(D)`; 0 and negative values are legal. The bias is
    indexed per axis by `position(key) - position(query) + size - 1` and is
    added after the scale; additional keys get none. All accumulation is in
    f32, or f64 for f64.

    Sizes may be dynamic. Inside legal arguments no query is without a key.

    A NaN or an infinity in a key or value reaches only the rows that see the
    key in the naive lowering. Tiled lowerings may in addition reach rows whose
    tile visits the key (0 * NaN in the second product), never another batch
    or head.

    Canonicalization keeps every finite result bit for bit. Where a query sees
    only itself (all window sizes 1, no additional keys, as many key heads as
    query heads, no LSE) the output becomes `value`, also for logits that are
    not finite.

    Tiling (`TilingInterface`): the loops are the batch and the key heads.

    Errors: wrong ranks or shapes, mixed element types, `Hkv` not dividing
    `Hq`, window * dilation above a static length.

    Source: Hassani et al., "Neighborhood Attention Transformer" (CVPR 2023)
    and "Faster Neighborhood Attention" (NeurIPS 2024).

    Example:

    ```mlir
    %o, %lse = na.attention
        ins(%q, %k, %v : tensor<2x56x56x4x32xf32>, tensor<2x56x56x4x32xf32>,
                         tensor<2x56x56x4x32xf32>)
        outs(%o0, %l0 : tensor<2x56x56x4x32xf32>, tensor<2x56x56x4xf32>)
        window(<size = [7, 7]>)
        -> tensor<2x56x56x4x32xf32>, tensor<2x56x56x4xf32>
    ```
  }];
  let arguments = (ins
    NA_Shaped:$query, NA_Shaped:$key, NA_Shaped:$value,
    Optional<NA_Shaped>:$bias,
    Optional<NA_Shaped>:$additional_key, Optional<NA_Shaped>:$additional_value,
    NA_Shaped:$output, Optional<NA_Statistic>:$lse,
    NA_WindowAttr:$window, OptionalAttr<F64Attr>:$scale,
    OptionalAttr<NA_ScheduleAttr>:$schedule);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,`
    type($value) `)`
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`additional` `(` $additional_key^ `,` $additional_value `:`
      type($additional_key) `,` type($additional_value) `)`)?
    `outs` `(` $output (`,` $lse^)? `:` type($output) (`,` type($lse)^)? `)`
    `window` `(` $window `)`
    attr-dict (`->` type($results)^)?
  }];
  let builders = [
    // On tensors: makes the destinations; dynamic sizes come from the operands.
    OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key,
                   "::mlir::Value":$value, "::mlir::na::WindowAttr":$window,
                   CArg<"bool", "false">:$withLse,
                   CArg<"::mlir::Value", "{}">:$bias,
                   CArg<"::mlir::Value", "{}">:$additionalKey,
                   CArg<"::mlir::Value", "{}">:$additionalValue,
                   CArg<"::mlir::FloatAttr", "{}">:$scale)>,
    // With destinations; results follow from them.
    OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key,
                   "::mlir::Value":$value, "::mlir::Value":$bias,
                   "::mlir::Value":$additionalKey,
                   "::mlir::Value":$additionalValue, "::mlir::Value":$output,
                   "::mlir::Value":$lse, "::mlir::na::WindowAttr":$window,
                   "::mlir::FloatAttr":$scale,
                   CArg<"::mlir::na::ScheduleAttr", "{}">:$schedule)>
  ];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = baseClassDeclaration # [{
    /// Number of spatial axes.
    int64_t getSpatialRank() { return getWindow().getRank(); }
    /// Element type of queries, keys, values and output.
    ::mlir::FloatType getElementType();
    /// Type of logits, statistics and accumulators: f64 for f64, else f32.
    ::mlir::FloatType getAccumulatorType();
    /// The scale as a number; fails (nullopt) when it defaults and D is dynamic.
    std::optional<double> getScaleValue();
  }];
}

def NA_QKOp : NA_StructuredOp<"qk"> {
  let summary = "Attention scores of every query and the keys of its window";
  let description = [{
    The first product of unfused neighborhood attention:
    `scores[b, x.., h, j] = scale * dot(query, key_j) + bias`, where `key_j` is
    the j-th key of the query's window; slots run row-major over the axes from
    the first key of the row's window. Slots past the end of a causal row are
    -inf.

    | operand | shape | element type |
    |---|---|---|
    | `query`, `key`, `bias` | as in `na.attention` | as in `na.attention` |
    | `scores` | `[B, X.., Hq, prod(size)]` | f32; f64 for f64 |

    Errors: as `na.attention`; a last dimension of `scores` that is not the
    product of the window sizes.

    Example:

    ```mlir
    %s = na.qk ins(%q, %k : tensor<1x56x2x32xf32>, tensor<1x56x2x32xf32>)
           outs(%s0 : tensor<1x56x2x7xf32>) window(<size = [7]>)
           -> tensor<1x56x2x7xf32>
    ```
  }];
  let arguments = (ins
    NA_Shaped:$query, NA_Shaped:$key, Optional<NA_Shaped>:$bias,
    NA_Statistic:$scores,
    NA_WindowAttr:$window, OptionalAttr<F64Attr>:$scale,
    OptionalAttr<NA_ScheduleAttr>:$schedule);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `:` type($query) `,` type($key) `)`
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    `outs` `(` $scores `:` type($scores) `)`
    `window` `(` $window `)`
    attr-dict (`->` type($results)^)?
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key,
                   "::mlir::Value":$bias, "::mlir::Value":$scores,
                   "::mlir::na::WindowAttr":$window,
                   "::mlir::FloatAttr":$scale,
                   CArg<"::mlir::na::ScheduleAttr", "{}">:$schedule)>
  ];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = baseClassDeclaration # [{
    int64_t getSpatialRank() { return getWindow().getRank(); }
    /// The scale as a number; fails (nullopt) when it defaults and D is dynamic.
    std::optional<double> getScaleValue();
  }];
}

def NA_AVOp : NA_StructuredOp<"av"> {
  let summary = "Weighted sum of the values of every query's window";
  let description = [{
    The second product of unfused neighborhood attention:
    `output[b, x.., h, :] = sum_j weights[b, x.., h, j] * value_j`, slots as in
    `na.qk`. Slots past the end of a causal row are not read.

    | operand | shape | element type |
    |---|---|---|
    | `weights` | `[B, X.., Hq, prod(size)]` | any of the four floats |
    | `value` | `[B, X.., Hkv, Dv]`, Hkv divides Hq | any of the four floats |
    | `output` | `[B, X.., Hq, Dv]` | the value's |

    The sum is in f32, or f64 when the values are f64.

    Errors: wrong ranks or shapes; a last dimension of `weights` that is not
    the product of the window sizes.

    Example:

    ```mlir
    %o = na.av ins(%w, %v : tensor<1x56x2x7xf32>, tensor<1x56x2x32xf32>)
           outs(%o0 : tensor<1x56x2x32xf32>) window(<size = [7]>)
           -> tensor<1x56x2x32xf32>
    ```
  }];
  let arguments = (ins
    NA_Shaped:$weights, NA_Shaped:$value, NA_Shaped:$output,
    NA_WindowAttr:$window, OptionalAttr<NA_ScheduleAttr>:$schedule);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $weights `,` $value `:` type($weights) `,` type($value) `)`
    `outs` `(` $output `:` type($output) `)`
    `window` `(` $window `)`
    attr-dict (`->` type($results)^)?
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$weights, "::mlir::Value":$value,
                   "::mlir::Value":$output, "::mlir::na::WindowAttr":$window,
                   CArg<"::mlir::na::ScheduleAttr", "{}">:$schedule)>
  ];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = baseClassDeclaration # [{
    int64_t getSpatialRank() { return getWindow().getRank(); }
  }];
}

def NA_MergeOp : NA_StructuredOp<"merge",
    [AttrSizedOperandSegments, NA_OneOperandEach<[2], "'output'">]> {
  let summary = "Joins attention outputs over disjoint sets of keys";
  let description = [{
    Given partial outputs `O_p` over disjoint key sets and the natural logs
    `L_p` of their softmax denominators, gives the output over the union:

    ```
    lse    = log(sum_p exp(L_p))
    output = sum_p exp(L_p - lse) * O_p
    ```

    A part with `L_p = -inf` contributes nothing, whatever its output holds
    (a NaN included). Where every part is -inf the output is 0 and the LSE
    -inf.

    | operand | shape | element type |
    |---|---|---|
    | `outputs` (one or more) | any `[.., Dv]`, all equal | any of the four floats |
    | `lses` (as many) | the outputs' without `Dv` | f32 or f64, all the same |
    | `output` | as `outputs` | any of the four floats |
    | `lse` (optional) | as `lses` | as `lses` |

    Errors: no part, unequal numbers of outputs and LSEs, unequal shapes or
    types of LSEs.

    Example:

    ```mlir
    %o = na.merge ins(%o0, %o1 : tensor<1x56x2x32xf32>, tensor<1x56x2x32xf32>)
           lses(%l0, %l1 : tensor<1x56x2xf32>, tensor<1x56x2xf32>)
           outs(%d : tensor<1x56x2x32xf32>) -> tensor<1x56x2x32xf32>
    ```
  }];
  let arguments = (ins
    Variadic<NA_Shaped>:$outputs, Variadic<NA_Statistic>:$lses,
    NA_Shaped:$output, Optional<NA_Statistic>:$lse);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $outputs `:` type($outputs) `)`
    `lses` `(` $lses `:` type($lses) `)`
    `outs` `(` $output (`,` $lse^)? `:` type($output) (`,` type($lse)^)? `)`
    attr-dict (`->` type($results)^)?
  }];
  let builders = [
    OpBuilder<(ins "::mlir::ValueRange":$outputs, "::mlir::ValueRange":$lses,
                   "::mlir::Value":$output,
                   CArg<"::mlir::Value", "{}">:$lse)>
  ];
  let hasCanonicalizer = 1;
}

include "na/Dialect/NA/IR/NAGradOps.td"
include "na/Dialect/NA/IR/NAProductGradOps.td"
include "na/Dialect/NA/IR/NATileOps.td"

#endif // NA_DIALECT_NA_IR_NAOPS_TD
