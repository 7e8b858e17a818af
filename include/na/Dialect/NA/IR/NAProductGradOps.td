//===- NAProductGradOps.td - One gradient of a product each -*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_IR_NAPRODUCTGRADOPS_TD
#define NA_DIALECT_NA_IR_NAPRODUCTGRADOPS_TD

include "na/Dialect/NA/IR/NAOps.td"

// One gradient of na.qk or na.av: one product.
class NA_ProductGradOp<string mnemonic> : NA_StructuredOp<mnemonic> {
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let hasCanonicalizer = 1;
  code productGradDeclaration = baseClassDeclaration # [{
    int64_t getSpatialRank() { return getWindow().getRank(); }
  }];
  code scaledGradDeclaration = productGradDeclaration # [{
    /// The scale as a number; fails (nullopt) when it defaults and D is dynamic.
    std::optional<double> getScaleValue();
  }];
  let extraClassDeclaration = productGradDeclaration;
}

def NA_QKDQOp : NA_ProductGradOp<"qk_dq"> {
  let summary = "Gradient of the queries of attention scores";
  let description = [{
    `query_grad` of `na.qk_grad`:

    ```
    query_grad = scale * sum over visible keys of scores_grad * key
    ```

    Slots past the end of a causal row are not read. The sum is in f32, or f64
    for f64.

    | operand | shape | element type |
    |---|---|---|
    | `key` | `[B, X.., Hkv, D]`, Hkv divides Hq | f64, f32, f16, bf16 |
    | `scores_grad` | `[B, X.., Hq, prod(size)]` | f32; f64 for f64 |
    | `query_grad` | `[B, X.., Hq, D]` | the key's |

    Errors: as `na.qk`, with `query_grad` in the place of the query.

    Example:

    ```mlir
    %dq = na.qk_dq
        ins(%k, %ds : tensor<1x56x2x32xf32>, tensor<1x56x2x7xf32>)
        outs(%dq0 : tensor<1x56x2x32xf32>) window(<size = [7]>)
        -> tensor<1x56x2x32xf32>
    ```
  }];
  let arguments = (ins
    NA_Shaped:$key, NA_Statistic:$scores_grad,
    NA_Shaped:$query_grad, NA_WindowAttr:$window, OptionalAttr<F64Attr>:$scale,
    OptionalAttr<NA_ScheduleAttr>:$schedule);
  let assemblyFormat = [{
    `ins` `(` $key `,` $scores_grad `:` type($key) `,` type($scores_grad) `)`
    `outs` `(` $query_grad `:` type($query_grad) `)`
    `window` `(` $window `)`
    attr-dict (`->` type($results)^)?
  }];
  let builders = [
    // With a destination; the result follows from it.
    OpBuilder<(ins "::mlir::Value":$key, "::mlir::Value":$scoresGrad,
                   "::mlir::Value":$queryGrad,
                   "::mlir::na::WindowAttr":$window,
                   "::mlir::FloatAttr":$scale,
                   CArg<"::mlir::na::ScheduleAttr", "{}">:$schedule)>
  ];
  let extraClassDeclaration = scaledGradDeclaration;
}

def NA_QKDKOp : NA_ProductGradOp<"qk_dk"> {
  let summary = "Gradient of the keys of attention scores";
  let description = [{
    `key_grad` of `na.qk_grad`:

    ```
    key_grad = scale * sum over the queries that see the key of scores_grad * query
    ```

    The sum runs over all query heads that read the key head. Slots past the end
    of a causal row are not read. The sum is in f32, or f64 for f64.

    | operand | shape | element type |
    |---|---|---|
    | `query` | `[B, X.., Hq, D]` | f64, f32, f16, bf16 |
    | `scores_grad` | `[B, X.., Hq, prod(size)]` | f32; f64 for f64 |
    | `key_grad` | `[B, X.., Hkv, D]`, Hkv divides Hq | the query's |

    Errors: as `na.qk`, with `key_grad` in the place of the key.

    Example:

    ```mlir
    %dk = na.qk_dk
        ins(%q, %ds : tensor<1x56x2x32xf32>, tensor<1x56x2x7xf32>)
        outs(%dk0 : tensor<1x56x2x32xf32>) window(<size = [7]>)
        -> tensor<1x56x2x32xf32>
    ```
  }];
  let arguments = (ins
    NA_Shaped:$query, NA_Statistic:$scores_grad,
    NA_Shaped:$key_grad, NA_WindowAttr:$window, OptionalAttr<F64Attr>:$scale,
    OptionalAttr<NA_ScheduleAttr>:$schedule);
  let assemblyFormat = [{
    `ins` `(` $query `,` $scores_grad `:` type($query) `,` type($scores_grad) `)`
    `outs` `(` $key_grad `:` type($key_grad) `)`
    `window` `(` $window `)`
    attr-dict (`->` type($results)^)?
  }];
  let builders = [
    // With a destination; the result follows from it.
    OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$scoresGrad,
                   "::mlir::Value":$keyGrad,
                   "::mlir::na::WindowAttr":$window,
                   "::mlir::FloatAttr":$scale,
                   CArg<"::mlir::na::ScheduleAttr", "{}">:$schedule)>
  ];
  let extraClassDeclaration = scaledGradDeclaration;
}

def NA_QKDBiasOp : NA_ProductGradOp<"qk_dbias"> {
  let summary = "Gradient of the bias of attention scores";
  let description = [{
    `bias_grad` of `na.qk_grad`: for every query head and relative position the
    sum of `scores_grad` over the batch and all pairs of a query and a visible
    key at that position. An entry that no pair has is 0. The sum is in f32, or
    f64 for f64.

    | operand | shape | element type |
    |---|---|---|
    | `scores_grad` | `[B, X.., Hq, prod(size)]` | f32, f64 |
    | `bias_grad` | `[Hq, 2 * size_x - 1, ..]` | any of the four floats |

    Errors: wrong ranks or shapes, window * dilation above a static length.

    Example:

    ```mlir
    %db = na.qk_dbias ins(%ds : tensor<1x56x2x7xf32>)
        outs(%db0 : tensor<2x13xf32>) window(<size = [7]>) -> tensor<2x13xf32>
    ```
  }];
  let arguments = (ins
    NA_Statistic:$scores_grad,
    NA_Shaped:$bias_grad, NA_WindowAttr:$window);
  let assemblyFormat = [{
    `ins` `(` $scores_grad `:` type($scores_grad) `)`
    `outs` `(` $bias_grad `:` type($bias_grad) `)`
    `window` `(` $window `)`
    attr-dict (`->` type($results)^)?
  }];
  let builders = [
    // With a destination; the result follows from it.
    OpBuilder<(ins "::mlir::Value":$scoresGrad, "::mlir::Value":$biasGrad,
                   "::mlir::na::WindowAttr":$window)>
  ];
}

def NA_AVDWeightsOp : NA_ProductGradOp<"av_dweights"> {
  let summary = "Gradient of the weights of a weighted sum of values";
  let description = [{
    `weights_grad` of `na.av_grad`:

    ```
    weights_grad[j] = dot(output_grad, value_j)
    ```

    Slots past the end of a causal row are 0. The products are summed in f32, or
    f64 when the values are f64.

    | operand | shape | element type |
    |---|---|---|
    | `value` | `[B, X.., Hkv, Dv]`, Hkv divides Hq | any of the four floats |
    | `output_grad` | `[B, X.., Hq, Dv]` | the value's |
    | `weights_grad` | `[B, X.., Hq, prod(size)]` | any of the four floats |

    Errors: as `na.av`, with `weights_grad` in the place of the weights.

    Example:

    ```mlir
    %dw = na.av_dweights
        ins(%v, %do : tensor<1x56x2x32xf32>, tensor<1x56x2x32xf32>)
        outs(%dw0 : tensor<1x56x2x7xf32>) window(<size = [7]>)
        -> tensor<1x56x2x7xf32>
    ```
  }];
  let arguments = (ins
    NA_Shaped:$value, NA_Shaped:$output_grad,
    NA_Shaped:$weights_grad, NA_WindowAttr:$window,
    OptionalAttr<NA_ScheduleAttr>:$schedule);
  let assemblyFormat = [{
    `ins` `(` $value `,` $output_grad `:` type($value) `,` type($output_grad) `)`
    `outs` `(` $weights_grad `:` type($weights_grad) `)`
    `window` `(` $window `)`
    attr-dict (`->` type($results)^)?
  }];
  let builders = [
    // With a destination; the result follows from it.
    OpBuilder<(ins "::mlir::Value":$value, "::mlir::Value":$outputGrad,
                   "::mlir::Value":$weightsGrad,
                   "::mlir::na::WindowAttr":$window,
                   CArg<"::mlir::na::ScheduleAttr", "{}">:$schedule)>
  ];
}

def NA_AVDVOp : NA_ProductGradOp<"av_dv"> {
  let summary = "Gradient of the values of a weighted sum of values";
  let description = [{
    `value_grad` of `na.av_grad`:

    ```
    value_grad = sum over the queries that see the key of weight * output_grad
    ```

    The sum runs over all query heads that read the value's head. Slots past the
    end of a causal row are not read. The sum is in f32, or f64 when the values
    are f64.

    | operand | shape | element type |
    |---|---|---|
    | `weights` | `[B, X.., Hq, prod(size)]` | any of the four floats |
    | `output_grad` | `[B, X.., Hq, Dv]` | any of the four floats |
    | `value_grad` | `[B, X.., Hkv, Dv]`, Hkv divides Hq | that of `output_grad` |

    Errors: as `na.av`, with `value_grad` in the place of the value.

    Example:

    ```mlir
    %dv = na.av_dv
        ins(%w, %do : tensor<1x56x2x7xf32>, tensor<1x56x2x32xf32>)
        outs(%dv0 : tensor<1x56x2x32xf32>) window(<size = [7]>)
        -> tensor<1x56x2x32xf32>
    ```
  }];
  let arguments = (ins
    NA_Shaped:$weights, NA_Shaped:$output_grad,
    NA_Shaped:$value_grad, NA_WindowAttr:$window,
    OptionalAttr<NA_ScheduleAttr>:$schedule);
  let assemblyFormat = [{
    `ins` `(` $weights `,` $output_grad `:` type($weights) `,` type($output_grad) `)`
    `outs` `(` $value_grad `:` type($value_grad) `)`
    `window` `(` $window `)`
    attr-dict (`->` type($results)^)?
  }];
  let builders = [
    // With a destination; the result follows from it.
    OpBuilder<(ins "::mlir::Value":$weights, "::mlir::Value":$outputGrad,
                   "::mlir::Value":$valueGrad,
                   "::mlir::na::WindowAttr":$window,
                   CArg<"::mlir::na::ScheduleAttr", "{}">:$schedule)>
  ];
}

#endif // NA_DIALECT_NA_IR_NAPRODUCTGRADOPS_TD
