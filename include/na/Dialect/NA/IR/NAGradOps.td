//===- NAGradOps.td - Gradients of the na operations -*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_IR_NAGRADOPS_TD
#define NA_DIALECT_NA_IR_NAGRADOPS_TD

include "na/Dialect/NA/IR/NAOps.td"

// What the gradients of na.attention have in common.
class NA_GradOp<string mnemonic, list<Trait> traits = []>
    : NA_StructuredOp<mnemonic, traits> {
  let results = (outs Variadic<AnyRankedTensor>:$results);
  code attentionGradDeclaration = baseClassDeclaration # [{
    /// Number of spatial axes.
    int64_t getSpatialRank() {
      return ::llvm::cast<::mlir::ShapedType>(getQuery().getType()).getRank() -
             3;
    }
    /// Element type of queries, keys, values and their gradients.
    ::mlir::FloatType getElementType();
    /// Type of logits, statistics and accumulators: f64 for f64, else f32.
    ::mlir::FloatType getAccumulatorType();
    /// The scale as a number; fails (nullopt) when it defaults and D is dynamic.
    std::optional<double> getScaleValue();
  }];
  let extraClassDeclaration = attentionGradDeclaration;
}

def NA_AttentionGradOp : NA_GradOp<"attention_grad",
    [AttrSizedOperandSegments,
     NA_OneOperandEach<[0, 1, 2, 3, 4, 5, 10, 11, 12],
                       "'query', 'key', 'value', 'output', 'lse', "
                       "'output_grad', 'query_grad', 'key_grad' and "
                       "'value_grad'">]> {
  let summary = "Gradients of neighborhood attention";
  let description = [{
    The gradients of the operands of an `na.attention`, given its output, its
    LSE and the gradients of the two. For every query and every key that it
    sees, with `logit` as in `na.attention`:

    ```
    weight     = exp(logit - lse)
    delta      = dot(output, output_grad) - lse_grad
    logit_grad = weight * (dot(output_grad, value) - delta)

    query_grad = scale * sum over visible keys of logit_grad * key
    key_grad   = scale * sum over the queries that see the key of logit_grad * query
    value_grad = sum over the queries that see the key of weight * output_grad
    bias_grad  = sum of logit_grad over the batch and the pairs of a relative position
    ```

    Sums of keys and values run over all query heads that read the key head.
    The gradients of additional keys and values are those of keys that every
    query sees.

    | operand | shape | element type |
    |---|---|---|
    | `query`, `key`, `value`, `bias`, `additional_key`, `additional_value` | as in `na.attention` | as in `na.attention` |
    | `output`, `output_grad` | `[B, X.., Hq, Dv]` | the query's |
    | `lse`, `lse_grad` (optional: 0) | `[B, X.., Hq]` | f32; f64 for f64 |
    | `query_grad`, `key_grad`, `value_grad` | `query`'s, `key`'s, `value`'s | the query's |
    | `bias_grad` (optional) | `bias`'s | the bias's |
    | `additional_key_grad`, `additional_value_grad` (optional) | `additional_key`'s, `additional_value`'s | the query's |

    The destinations are written, never read. All sums are in f32, or f64 for
    f64. `deterministic` asks for gradients that do not depend on the order in
    which threads run: no sum is made with atomic operations.
    `na-decompose-attention-grad` rewrites the operation into one operation for
    each gradient or pair of gradients.

    Errors: as `na.attention`; a gradient whose shape or element type is not
    that of its operand; `bias_grad` without `bias`; one of
    `additional_key_grad` and `additional_value_grad` alone, or both without
    `additional_key`.

    Example:

    ```mlir
    %dq, %dk, %dv = na.attention_grad
        ins(%q, %k, %v, %o, %lse, %do
            : tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>,
              tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>,
              tensor<1x56x4xf32>, tensor<1x56x4x32xf32>)
        outs(%dq0, %dk0, %dv0
             : tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>,
               tensor<1x56x4x32xf32>)
        window(<size = [7]>) {deterministic}
        -> tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>
    ```
  }];
  let arguments = (ins
    NA_Shaped:$query, NA_Shaped:$key, NA_Shaped:$value, NA_Shaped:$output,
    NA_Statistic:$lse, NA_Shaped:$output_grad,
    Optional<NA_Statistic>:$lse_grad, Optional<NA_Shaped>:$bias,
    Optional<NA_Shaped>:$additional_key, Optional<NA_Shaped>:$additional_value,
    NA_Shaped:$query_grad, NA_Shaped:$key_grad, NA_Shaped:$value_grad,
    Optional<NA_Shaped>:$bias_grad,
    Optional<NA_Shaped>:$additional_key_grad,
    Optional<NA_Shaped>:$additional_value_grad,
    NA_WindowAttr:$window, OptionalAttr<F64Attr>:$scale,
    UnitAttr:$deterministic, OptionalAttr<NA_ScheduleAttr>:$schedule);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `,` $output `,` $lse `,` $output_grad
    `:` type($query) `,` type($key) `,` type($value) `,` type($output) `,`
    type($lse) `,` type($output_grad) `)`
    (`dlse` `(` $lse_grad^ `:` type($lse_grad) `)`)?
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`additional` `(` $additional_key^ `,` $additional_value `:`
      type($additional_key) `,` type($additional_value) `)`)?
    `outs` `(` $query_grad `,` $key_grad `,` $value_grad `:` type($query_grad)
    `,` type($key_grad) `,` type($value_grad) `)`
    (`dbias` `(` $bias_grad^ `:` type($bias_grad) `)`)?
    (`dadditional` `(` $additional_key_grad^ `,` $additional_value_grad `:`
      type($additional_key_grad) `,` type($additional_value_grad) `)`)?
    `window` `(` $window `)`
    attr-dict (`->` type($results)^)?
  }];
  let builders = [
    // With destinations; results follow from them.
    OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key,
                   "::mlir::Value":$value, "::mlir::Value":$output,
                   "::mlir::Value":$lse, "::mlir::Value":$outputGrad,
                   "::mlir::Value":$lseGrad, "::mlir::Value":$bias,
                   "::mlir::Value":$additionalKey,
                   "::mlir::Value":$additionalValue,
                   "::mlir::Value":$queryGrad, "::mlir::Value":$keyGrad,
                   "::mlir::Value":$valueGrad, "::mlir::Value":$biasGrad,
                   "::mlir::Value":$additionalKeyGrad,
                   "::mlir::Value":$additionalValueGrad,
                   "::mlir::na::WindowAttr":$window,
                   "::mlir::FloatAttr":$scale,
                   CArg<"bool", "false">:$deterministic,
                   CArg<"::mlir::na::ScheduleAttr", "{}">:$schedule)>
  ];
  let hasCanonicalizer = 1;
}

def NA_AttentionDQOp : NA_GradOp<"attention_dq",
    [AttrSizedOperandSegments,
     NA_OneOperandEach<[0, 1, 2, 3, 4, 5, 9],
                       "'query', 'key', 'value', 'output_grad', 'lse', "
                       "'delta' and 'query_grad'">]> {
  let summary = "Gradient of the queries of neighborhood attention";
  let description = [{
    `query_grad` of `na.attention_grad`, given the statistics of the rows:

    ```
    logit_grad = exp(logit - lse) * (dot(output_grad, value) - delta)
    query_grad = scale * sum over visible keys of logit_grad * key
    ```

    | operand | shape | element type |
    |---|---|---|
    | `query`, `key`, `value`, `bias`, `additional_key`, `additional_value` | as in `na.attention` | as in `na.attention` |
    | `output_grad` | `[B, X.., Hq, Dv]` | the query's |
    | `lse`, `delta` | `[B, X.., Hq]` | f32; f64 for f64 |
    | `query_grad` | `query`'s | the query's |

    `delta` is that of `na.attention_grad`. Additional keys are visible to
    every query. The sum is in f32, or f64 for f64.

    Errors: as `na.attention_grad`.

    Example:

    ```mlir
    %dq = na.attention_dq
        ins(%q, %k, %v, %do
            : tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>,
              tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>)
        stats(%lse, %delta : tensor<1x56x4xf32>, tensor<1x56x4xf32>)
        outs(%dq0 : tensor<1x56x4x32xf32>) window(<size = [7]>)
        -> tensor<1x56x4x32xf32>
    ```
  }];
  let arguments = (ins
    NA_Shaped:$query, NA_Shaped:$key, NA_Shaped:$value, NA_Shaped:$output_grad,
    NA_Statistic:$lse, NA_Statistic:$delta, Optional<NA_Shaped>:$bias,
    Optional<NA_Shaped>:$additional_key, Optional<NA_Shaped>:$additional_value,
    NA_Shaped:$query_grad,
    NA_WindowAttr:$window, OptionalAttr<F64Attr>:$scale,
    OptionalAttr<NA_ScheduleAttr>:$schedule);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `,` $output_grad `:` type($query) `,`
    type($key) `,` type($value) `,` type($output_grad) `)`
    `stats` `(` $lse `,` $delta `:` type($lse) `,` type($delta) `)`
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`additional` `(` $additional_key^ `,` $additional_value `:`
      type($additional_key) `,` type($additional_value) `)`)?
    `outs` `(` $query_grad `:` type($query_grad) `)`
    `window` `(` $window `)`
    attr-dict (`->` type($results)^)?
  }];
  let builders = [
    // With a destination; the result follows from it.
    OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key,
                   "::mlir::Value":$value, "::mlir::Value":$outputGrad,
                   "::mlir::Value":$lse, "::mlir::Value":$delta,
                   "::mlir::Value":$bias, "::mlir::Value":$additionalKey,
                   "::mlir::Value":$additionalValue,
                   "::mlir::Value":$queryGrad,
                   "::mlir::na::WindowAttr":$window,
                   "::mlir::FloatAttr":$scale,
                   CArg<"::mlir::na::ScheduleAttr", "{}">:$schedule)>
  ];
  let hasCanonicalizer = 1;
}

def NA_AttentionDKVOp : NA_GradOp<"attention_dkv",
    [AttrSizedOperandSegments,
     NA_OneOperandEach<[0, 1, 2, 3, 4, 5],
                       "'query', 'key', 'value', 'output_grad', 'lse' and "
                       "'delta'">]> {
  let summary = "Gradients of the keys and values of neighborhood attention";
  let description = [{
    `key_grad` and `value_grad` of `na.attention_grad`, or one of them, given
    the statistics of the rows:

    ```
    weight     = exp(logit - lse)
    logit_grad = weight * (dot(output_grad, value) - delta)
    key_grad   = scale * sum over the queries that see the key of logit_grad * query
    value_grad = sum over the queries that see the key of weight * output_grad
    ```

    The sums run over all query heads that read the key head. The queries that
    see a key are in general not as many as the keys that a query sees, and not
    symmetric around it. Additional keys matter only in that `lse` and `delta`
    count them.

    | operand | shape | element type |
    |---|---|---|
    | `query`, `key`, `value`, `bias` | as in `na.attention` | as in `na.attention` |
    | `output_grad` | `[B, X.., Hq, Dv]` | the query's |
    | `lse`, `delta` | `[B, X.., Hq]` | f32; f64 for f64 |
    | `key_grad`, `value_grad` (either one is optional) | `key`'s, `value`'s | the query's |

    `delta` is that of `na.attention_grad`. The sums are in f32, or f64 for
    f64. `outs` stands before both destinations, `dk` before that of the keys
    alone and `dv` before that of the values alone: a program for one of them
    has room for larger tiles.

    Errors: as `na.attention_grad`; neither `key_grad` nor `value_grad`.

    Example:

    ```mlir
    %dk, %dv = na.attention_dkv
        ins(%q, %k, %v, %do
            : tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>,
              tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>)
        stats(%lse, %delta : tensor<1x56x4xf32>, tensor<1x56x4xf32>)
        outs(%dk0, %dv0 : tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>)
        window(<size = [7]>)
        -> tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>
    %dv1 = na.attention_dkv
        ins(%q, %k, %v, %do
            : tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>,
              tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>)
        stats(%lse, %delta : tensor<1x56x4xf32>, tensor<1x56x4xf32>)
        dv(%dv0 : tensor<1x56x4x32xf32>) window(<size = [7]>)
        -> tensor<1x56x4x32xf32>
    ```
  }];
  let arguments = (ins
    NA_Shaped:$query, NA_Shaped:$key, NA_Shaped:$value, NA_Shaped:$output_grad,
    NA_Statistic:$lse, NA_Statistic:$delta, Optional<NA_Shaped>:$bias,
    Optional<NA_Shaped>:$key_grad, Optional<NA_Shaped>:$value_grad,
    NA_WindowAttr:$window, OptionalAttr<F64Attr>:$scale,
    OptionalAttr<NA_ScheduleAttr>:$schedule);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `,` $output_grad `:` type($query) `,`
    type($key) `,` type($value) `,` type($output_grad) `)`
    `stats` `(` $lse `,` $delta `:` type($lse) `,` type($delta) `)`
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    custom<KeyGradients>($key_grad, $value_grad, type($key_grad),
                         type($value_grad))
    `window` `(` $window `)`
    attr-dict (`->` type($results)^)?
  }];
  let builders = [
    // With destinations, of which one may be null; results follow from them.
    OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key,
                   "::mlir::Value":$value, "::mlir::Value":$outputGrad,
                   "::mlir::Value":$lse, "::mlir::Value":$delta,
                   "::mlir::Value":$bias, "::mlir::Value":$keyGrad,
                   "::mlir::Value":$valueGrad,
                   "::mlir::na::WindowAttr":$window,
                   "::mlir::FloatAttr":$scale,
                   CArg<"::mlir::na::ScheduleAttr", "{}">:$schedule)>
  ];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = attentionGradDeclaration # [{
    /// Replaces the operation, which has both gradients, by one for each: that
    /// of the keys first.
    std::pair<::mlir::na::AttentionDKVOp, ::mlir::na::AttentionDKVOp>
    split(::mlir::RewriterBase &rewriter);
  }];
}

def NA_AttentionDQKVOp : NA_GradOp<"attention_dqkv"> {
  let summary = "Gradients of queries, keys and values in one program";
  let description = [{
    `query_grad`, `key_grad` and `value_grad` of `na.attention_grad`, given the
    statistics of the rows: the results of `na.attention_dq` and
    `na.attention_dkv`, for a program that computes the gradient of every logit
    once. There are no additional keys and there is no bias.

    | operand | shape | element type |
    |---|---|---|
    | `query`, `key`, `value` | as in `na.attention` | as in `na.attention` |
    | `output_grad` | `[B, X.., Hq, Dv]` | the query's |
    | `lse`, `delta` | `[B, X.., Hq]` | f32; f64 for f64 |
    | `query_grad`, `key_grad`, `value_grad` | `query`'s, `key`'s, `value`'s | the query's |

    `na-tile-and-fuse` builds the program of `na.attention_dkv`, whose tiles
    also add their part of `query_grad` to a workspace of the size of `query`, in
    f32, or f64 for f64: memory linear in tokens. The order of these sums is not
    defined, so results of two runs may differ by rounding. Other lowerings
    split the operation into `na.attention_dq` and `na.attention_dkv`.

    Errors: as `na.attention_grad`.

    Example:

    ```mlir
    %dq, %dk, %dv = na.attention_dqkv
        ins(%q, %k, %v, %do
            : tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>,
              tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>)
        stats(%lse, %delta : tensor<1x56x4xf32>, tensor<1x56x4xf32>)
        outs(%dq0, %dk0, %dv0
             : tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>,
               tensor<1x56x4x32xf32>)
        window(<size = [7]>)
        -> tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>
    ```
  }];
  let arguments = (ins
    NA_Shaped:$query, NA_Shaped:$key, NA_Shaped:$value, NA_Shaped:$output_grad,
    NA_Statistic:$lse, NA_Statistic:$delta,
    NA_Shaped:$query_grad, NA_Shaped:$key_grad, NA_Shaped:$value_grad,
    NA_WindowAttr:$window, OptionalAttr<F64Attr>:$scale,
    OptionalAttr<NA_ScheduleAttr>:$schedule);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `,` $output_grad `:` type($query) `,`
    type($key) `,` type($value) `,` type($output_grad) `)`
    `stats` `(` $lse `,` $delta `:` type($lse) `,` type($delta) `)`
    `outs` `(` $query_grad `,` $key_grad `,` $value_grad `:` type($query_grad)
    `,` type($key_grad) `,` type($value_grad) `)`
    `window` `(` $window `)`
    attr-dict (`->` type($results)^)?
  }];
  let builders = [
    // With destinations; results follow from them.
    OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key,
                   "::mlir::Value":$value, "::mlir::Value":$outputGrad,
                   "::mlir::Value":$lse, "::mlir::Value":$delta,
                   "::mlir::Value":$queryGrad, "::mlir::Value":$keyGrad,
                   "::mlir::Value":$valueGrad,
                   "::mlir::na::WindowAttr":$window,
                   "::mlir::FloatAttr":$scale,
                   CArg<"::mlir::na::ScheduleAttr", "{}">:$schedule)>
  ];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = attentionGradDeclaration # [{
    /// There is none.
    ::mlir::Value getBias() { return {}; }
    /// Replaces the operation by `na.attention_dq` and `na.attention_dkv`.
    std::pair<::mlir::na::AttentionDQOp, ::mlir::na::AttentionDKVOp>
    split(::mlir::RewriterBase &rewriter);
  }];
}

def NA_AttentionDAdditionalOp : NA_GradOp<"attention_dadditional"> {
  let summary = "Gradients of the additional keys and values of attention";
  let description = [{
    `additional_key_grad` and `additional_value_grad` of `na.attention_grad`,
    given the statistics of the rows: `key_grad` and `value_grad` of
    `na.attention_dkv` for keys that every query sees. There is no window and
    no bias.

    | operand | shape | element type |
    |---|---|---|
    | `query`, `additional_key`, `additional_value` | as in `na.attention` | as in `na.attention` |
    | `output_grad` | `[B, X.., Hq, Dv]` | the query's |
    | `lse`, `delta` | `[B, X.., Hq]` | f32; f64 for f64 |
    | `additional_key_grad`, `additional_value_grad` | `additional_key`'s, `additional_value`'s | the query's |

    `delta` is that of `na.attention_grad`. The sums are in f32, or f64 for
    f64.

    Errors: wrong ranks or shapes, mixed element types, `Hkv` not dividing
    `Hq`.

    Example:

    ```mlir
    %dk, %dv = na.attention_dadditional
        ins(%q, %do, %k, %v
            : tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>,
              tensor<1x3x4x32xf32>, tensor<1x3x4x32xf32>)
        stats(%lse, %delta : tensor<1x56x4xf32>, tensor<1x56x4xf32>)
        outs(%dk0, %dv0 : tensor<1x3x4x32xf32>, tensor<1x3x4x32xf32>)
        -> tensor<1x3x4x32xf32>, tensor<1x3x4x32xf32>
    ```
  }];
  let arguments = (ins
    NA_Shaped:$query, NA_Shaped:$output_grad,
    NA_Shaped:$additional_key, NA_Shaped:$additional_value,
    NA_Statistic:$lse, NA_Statistic:$delta,
    NA_Shaped:$additional_key_grad, NA_Shaped:$additional_value_grad,
    OptionalAttr<F64Attr>:$scale, OptionalAttr<NA_ScheduleAttr>:$schedule);
  let assemblyFormat = [{
    `ins` `(` $query `,` $output_grad `,` $additional_key `,` $additional_value
    `:` type($query) `,` type($output_grad) `,` type($additional_key) `,`
    type($additional_value) `)`
    `stats` `(` $lse `,` $delta `:` type($lse) `,` type($delta) `)`
    `outs` `(` $additional_key_grad `,` $additional_value_grad `:`
    type($additional_key_grad) `,` type($additional_value_grad) `)`
    attr-dict (`->` type($results)^)?
  }];
  let builders = [
    // With destinations; results follow from them.
    OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$outputGrad,
                   "::mlir::Value":$additionalKey,
                   "::mlir::Value":$additionalValue, "::mlir::Value":$lse,
                   "::mlir::Value":$delta, "::mlir::Value":$additionalKeyGrad,
                   "::mlir::Value":$additionalValueGrad,
                   "::mlir::FloatAttr":$scale,
                   CArg<"::mlir::na::ScheduleAttr", "{}">:$schedule)>
  ];
}

def NA_AttentionDBiasOp : NA_GradOp<"attention_dbias"> {
  let summary = "Gradient of the bias of neighborhood attention";
  let description = [{
    `bias_grad` of `na.attention_grad`, given the statistics of the rows: for
    every query head and relative position the sum of `logit_grad` over the
    batch and all pairs of a query and a visible key at that position. An entry
    that no pair has is 0.

    | operand | shape | element type |
    |---|---|---|
    | `query`, `key`, `value`, `bias` | as in `na.attention` | as in `na.attention` |
    | `output_grad` | `[B, X.., Hq, Dv]` | the query's |
    | `lse`, `delta` | `[B, X.., Hq]` | f32; f64 for f64 |
    | `bias_grad` | `bias`'s | the bias's |

    `delta` is that of `na.attention_grad`. The sum is in f32, or f64 for f64.

    Errors: as `na.attention_grad`.

    Example:

    ```mlir
    %db = na.attention_dbias
        ins(%q, %k, %v, %do
            : tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>,
              tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>)
        stats(%lse, %delta : tensor<1x56x4xf32>, tensor<1x56x4xf32>)
        bias(%b : tensor<4x13xf32>) outs(%db0 : tensor<4x13xf32>)
        window(<size = [7]>) -> tensor<4x13xf32>
    ```
  }];
  let arguments = (ins
    NA_Shaped:$query, NA_Shaped:$key, NA_Shaped:$value, NA_Shaped:$output_grad,
    NA_Statistic:$lse, NA_Statistic:$delta, NA_Shaped:$bias,
    NA_Shaped:$bias_grad,
    NA_WindowAttr:$window, OptionalAttr<F64Attr>:$scale);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `,` $output_grad `:` type($query) `,`
    type($key) `,` type($value) `,` type($output_grad) `)`
    `stats` `(` $lse `,` $delta `:` type($lse) `,` type($delta) `)`
    `bias` `(` $bias `:` type($bias) `)`
    `outs` `(` $bias_grad `:` type($bias_grad) `)`
    `window` `(` $window `)`
    attr-dict (`->` type($results)^)?
  }];
  let builders = [
    // With a destination; the result follows from it.
    OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key,
                   "::mlir::Value":$value, "::mlir::Value":$outputGrad,
                   "::mlir::Value":$lse, "::mlir::Value":$delta,
                   "::mlir::Value":$bias, "::mlir::Value":$biasGrad,
                   "::mlir::na::WindowAttr":$window,
                   "::mlir::FloatAttr":$scale)>
  ];
  let hasCanonicalizer = 1;
}

def NA_QKGradOp : NA_StructuredOp<"qk_grad"> {
  let summary = "Gradients of attention scores";
  let description = [{
    The gradients of the operands of an `na.qk`, given that of its scores:

    ```
    query_grad = scale * sum over visible keys of scores_grad * key
    key_grad   = scale * sum over the queries that see the key of scores_grad * query
    bias_grad  = sum of scores_grad over the batch and the pairs of a relative position
    ```

    Sums of keys run over all query heads that read the key head. Slots past
    the end of a causal row are not read.

    | operand | shape | element type |
    |---|---|---|
    | `query`, `key` | as in `na.qk` | as in `na.qk` |
    | `scores_grad` | `[B, X.., Hq, prod(size)]` | f32; f64 for f64 |
    | `query_grad`, `key_grad` | `query`'s, `key`'s | the query's |
    | `bias_grad` (optional) | `[Hq, 2 * size_x - 1, ..]` | f32 or the query's |

    All sums are in f32, or f64 for f64. `na-decompose-product-grad` rewrites the
    operation into one operation for each gradient.

    Errors: as `na.qk`; a gradient whose shape or element type is not that of
    its operand.

    Example:

    ```mlir
    %dq, %dk = na.qk_grad
        ins(%q, %k, %ds : tensor<1x56x2x32xf32>, tensor<1x56x2x32xf32>,
                          tensor<1x56x2x7xf32>)
        outs(%dq0, %dk0 : tensor<1x56x2x32xf32>, tensor<1x56x2x32xf32>)
        window(<size = [7]>) -> tensor<1x56x2x32xf32>, tensor<1x56x2x32xf32>
    ```
  }];
  let arguments = (ins
    NA_Shaped:$query, NA_Shaped:$key, NA_Statistic:$scores_grad,
    NA_Shaped:$query_grad, NA_Shaped:$key_grad,
    Optional<NA_Shaped>:$bias_grad,
    NA_WindowAttr:$window, OptionalAttr<F64Attr>:$scale,
    OptionalAttr<NA_ScheduleAttr>:$schedule);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $scores_grad `:` type($query) `,` type($key)
    `,` type($scores_grad) `)`
    `outs` `(` $query_grad `,` $key_grad `:` type($query_grad) `,`
    type($key_grad) `)`
    (`dbias` `(` $bias_grad^ `:` type($bias_grad) `)`)?
    `window` `(` $window `)`
    attr-dict (`->` type($results)^)?
  }];
  let builders = [
    // With destinations; results follow from them.
    OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key,
                   "::mlir::Value":$scoresGrad, "::mlir::Value":$queryGrad,
                   "::mlir::Value":$keyGrad, "::mlir::Value":$biasGrad,
                   "::mlir::na::WindowAttr":$window,
                   "::mlir::FloatAttr":$scale,
                   CArg<"::mlir::na::ScheduleAttr", "{}">:$schedule)>
  ];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = baseClassDeclaration # [{
    int64_t getSpatialRank() { return getWindow().getRank(); }
    /// The scale as a number; fails (nullopt) when it defaults and D is dynamic.
    std::optional<double> getScaleValue();
    /// Replaces the operation by one for each gradient, which are returned.
    ::llvm::SmallVector<::mlir::Operation *>
    split(::mlir::RewriterBase &rewriter);
  }];
}

def NA_AVGradOp : NA_StructuredOp<"av_grad"> {
  let summary = "Gradients of the weighted sum of values";
  let description = [{
    The gradients of the operands of an `na.av`, given that of its output:

    ```
    weights_grad[j] = dot(output_grad, value_j)
    value_grad      = sum over the queries that see the key of weight * output_grad
    ```

    Sums of values run over all query heads that read the value's head. Slots
    past the end of a causal row are not read, their gradients are 0.

    | operand | shape | element type |
    |---|---|---|
    | `weights`, `value` | as in `na.av` | as in `na.av` |
    | `output_grad` | `[B, X.., Hq, Dv]` | the value's |
    | `weights_grad`, `value_grad` | `weights`'s, `value`'s | the weights', the value's |

    All sums are in f32, or f64 when the values are f64.
    `na-decompose-product-grad` rewrites the operation into one operation for
    each gradient.

    Errors: as `na.av`; a gradient whose shape or element type is not that of
    its operand.

    Example:

    ```mlir
    %dw, %dv = na.av_grad
        ins(%w, %v, %do : tensor<1x56x2x7xf32>, tensor<1x56x2x32xf32>,
                          tensor<1x56x2x32xf32>)
        outs(%dw0, %dv0 : tensor<1x56x2x7xf32>, tensor<1x56x2x32xf32>)
        window(<size = [7]>) -> tensor<1x56x2x7xf32>, tensor<1x56x2x32xf32>
    ```
  }];
  let arguments = (ins
    NA_Shaped:$weights, NA_Shaped:$value, NA_Shaped:$output_grad,
    NA_Shaped:$weights_grad, NA_Shaped:$value_grad,
    NA_WindowAttr:$window, OptionalAttr<NA_ScheduleAttr>:$schedule);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $weights `,` $value `,` $output_grad `:` type($weights) `,`
    type($value) `,` type($output_grad) `)`
    `outs` `(` $weights_grad `,` $value_grad `:` type($weights_grad) `,`
    type($value_grad) `)`
    `window` `(` $window `)`
    attr-dict (`->` type($results)^)?
  }];
  let builders = [
    // With destinations; results follow from them.
    OpBuilder<(ins "::mlir::Value":$weights, "::mlir::Value":$value,
                   "::mlir::Value":$outputGrad, "::mlir::Value":$weightsGrad,
                   "::mlir::Value":$valueGrad,
                   "::mlir::na::WindowAttr":$window,
                   CArg<"::mlir::na::ScheduleAttr", "{}">:$schedule)>
  ];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = baseClassDeclaration # [{
    int64_t getSpatialRank() { return getWindow().getRank(); }
    /// Replaces the operation by one for each gradient, which are returned.
    ::llvm::SmallVector<::mlir::Operation *>
    split(::mlir::RewriterBase &rewriter);
  }];
}

def NA_MergeGradOp : NA_StructuredOp<"merge_grad",
    [AttrSizedOperandSegments, NA_OneOperandEach<[2], "'output_grad'">]> {
  let summary = "Gradients of joined attention outputs";
  let description = [{
    The gradients of the operands of an `na.merge`, given those of its output
    and of its LSE (0 where there is none):

    ```
    lse            = log(sum_p exp(L_p))
    output         = sum_p exp(L_p - lse) * O_p
    outputs_grad_p = exp(L_p - lse) * output_grad
    lses_grad_p    = exp(L_p - lse) * (dot(output_grad, O_p - output) + lse_grad)
    ```

    A part with `L_p = -inf` has gradients of 0, whatever its output holds; where
    every part is -inf all gradients are 0.

    | operand | shape | element type |
    |---|---|---|
    | `outputs` (one or more), `lses` (as many) | as in `na.merge` | as in `na.merge` |
    | `output_grad` | as `outputs` | any of the four floats |
    | `lse_grad` (optional) | as `lses` | as `lses` |
    | `outputs_grad`, `lses_grad` (as many) | `outputs`', `lses`' | the outputs', the LSEs' |

    Errors: as `na.merge`; another number of gradients than of parts; a gradient
    whose shape or element type is not that of its operand.

    Example:

    ```mlir
    %do0, %do1, %dl0, %dl1 = na.merge_grad
        ins(%o0, %o1 : tensor<1x56x2x32xf32>, tensor<1x56x2x32xf32>)
        lses(%l0, %l1 : tensor<1x56x2xf32>, tensor<1x56x2xf32>)
        grad(%do : tensor<1x56x2x32xf32>)
        outs(%a, %b : tensor<1x56x2x32xf32>, tensor<1x56x2x32xf32>)
        dlses(%c, %d : tensor<1x56x2xf32>, tensor<1x56x2xf32>)
        -> tensor<1x56x2x32xf32>, tensor<1x56x2x32xf32>, tensor<1x56x2xf32>,
           tensor<1x56x2xf32>
    ```
  }];
  let arguments = (ins
    Variadic<NA_Shaped>:$outputs, Variadic<NA_Statistic>:$lses,
    NA_Shaped:$output_grad, Optional<NA_Statistic>:$lse_grad,
    Variadic<NA_Shaped>:$outputs_grad, Variadic<NA_Statistic>:$lses_grad);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $outputs `:` type($outputs) `)`
    `lses` `(` $lses `:` type($lses) `)`
    `grad` `(` $output_grad `:` type($output_grad) `)`
    (`dlse` `(` $lse_grad^ `:` type($lse_grad) `)`)?
    `outs` `(` $outputs_grad `:` type($outputs_grad) `)`
    `dlses` `(` $lses_grad `:` type($lses_grad) `)`
    attr-dict (`->` type($results)^)?
  }];
  let builders = [
    // With destinations; results follow from them.
    OpBuilder<(ins "::mlir::ValueRange":$outputs, "::mlir::ValueRange":$lses,
                   "::mlir::Value":$outputGrad, "::mlir::Value":$lseGrad,
                   "::mlir::ValueRange":$outputsGrad,
                   "::mlir::ValueRange":$lsesGrad)>
  ];
}

#endif // NA_DIALECT_NA_IR_NAGRADOPS_TD
