//===- sliding_window_layer.mlir - A layer of a language model ------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One layer of a decoder-only language model with sliding-window attention, as
// in Mistral 7B but narrower: 1024 tokens of 256 features, 8 query heads that
// share 2 key heads of 32 features (grouped queries), each token sees itself
// and the 255 before it, rotary position embedding, RMS norm, gated MLP:
//
//   y1 = x  + projection(attention(norm1(x)))
//   y  = y1 + down(silu(gate(norm2(y1))) * up(norm2(y1)))
//
// Rotary embedding turns features i and i + 16 of a query or key at position p
// by the angle p * 10000^(-i / 16). The angles are computed in f64: in f32 the
// angle of a late token is off by more than the rest of the layer is.
//
// The weights are arguments. A linear layer divides by sqrt(input features),
// so weights of unit variance, the ones that na-run draws, keep the activations
// of order 1. To use trained weights, multiply them by that root.
//
// Compile it, here to the LLVM dialect:
//   na-opt --na-to-cpu examples/sliding_window_layer.mlir
// Run it on random inputs, compare with the naive lowering, time it:
//   na-run examples/sliding_window_layer.mlir --verify --bench
// Run it on arrays:
//   na-run examples/sliding_window_layer.mlir --inputs=x=x.npy,..
//          --outputs=y=y.npy
//
//===----------------------------------------------------------------------===//

!tokens = tensor<1024x256xf32>
!hidden = tensor<1024x512xf32>
!queries = tensor<1024x8x32xf32>
!keys = tensor<1024x2x32xf32>
!angles = tensor<1024x16xf32>

// Loops over tokens and features; operands of one axis are broadcast.
#both = affine_map<(t, c) -> (t, c)>
#token = affine_map<(t, c) -> (t)>
#feature = affine_map<(t, c) -> (c)>

// Rotary embedding: tokens, heads and pairs of features.
#pairs = affine_map<(t, h, i) -> (t, h, i)>
#angle = affine_map<(t, h, i) -> (t, i)>

func.func @main(
    %x: tensor<1x1024x256xf32>,
    %norm1_gain: tensor<256xf32>,
    %q_weight: tensor<256x256xf32>, %k_weight: tensor<256x64xf32>,
    %v_weight: tensor<256x64xf32>, %projection_weight: tensor<256x256xf32>,
    %norm2_gain: tensor<256xf32>,
    %gate_weight: tensor<256x512xf32>, %up_weight: tensor<256x512xf32>,
    %down_weight: tensor<512x256xf32>) -> tensor<1x1024x256xf32> {
  %zero = arith.constant 0.0 : f32
  %rsqrt256 = arith.constant 0.0625 : f32
  %tokens = tensor.collapse_shape %x [[0, 1], [2]]
      : tensor<1x1024x256xf32> into !tokens
  %tokens_empty = tensor.empty() : !tokens
  %tokens_zero = linalg.fill ins(%zero : f32) outs(%tokens_empty : !tokens)
      -> !tokens

  // Queries, keys and values.
  %norm1 = call @rms_norm(%tokens, %norm1_gain)
      : (!tokens, tensor<256xf32>) -> !tokens
  %q_product = linalg.matmul
      ins(%norm1, %q_weight : !tokens, tensor<256x256xf32>)
      outs(%tokens_zero : !tokens) -> !tokens
  %keys_empty = tensor.empty() : tensor<1024x64xf32>
  %keys_zero = linalg.fill ins(%zero : f32)
      outs(%keys_empty : tensor<1024x64xf32>) -> tensor<1024x64xf32>
  %k_product = linalg.matmul
      ins(%norm1, %k_weight : !tokens, tensor<256x64xf32>)
      outs(%keys_zero : tensor<1024x64xf32>) -> tensor<1024x64xf32>
  %v_product = linalg.matmul
      ins(%norm1, %v_weight : !tokens, tensor<256x64xf32>)
      outs(%keys_zero : tensor<1024x64xf32>) -> tensor<1024x64xf32>
  %v_scaled = linalg.generic {
      indexing_maps = [#both, #both], iterator_types = ["parallel", "parallel"]}
      ins(%v_product : tensor<1024x64xf32>)
      outs(%keys_empty : tensor<1024x64xf32>) {
    ^bb0(%sum: f32, %out: f32):
      %value = arith.mulf %sum, %rsqrt256 : f32
      linalg.yield %value : f32
  } -> tensor<1024x64xf32>

  // Positions. The rotation takes the factor of the linear layers with it.
  %cos, %sin = call @rotary_table() : () -> (!angles, !angles)
  %q_heads = tensor.expand_shape %q_product [[0], [1, 2]]
      output_shape [1024, 8, 32] : !tokens into !queries
  %k_heads = tensor.expand_shape %k_product [[0], [1, 2]]
      output_shape [1024, 2, 32] : tensor<1024x64xf32> into !keys
  %q_first = tensor.extract_slice %q_heads[0, 0, 0] [1024, 8, 16] [1, 1, 1]
      : !queries to tensor<1024x8x16xf32>
  %q_second = tensor.extract_slice %q_heads[0, 0, 16] [1024, 8, 16] [1, 1, 1]
      : !queries to tensor<1024x8x16xf32>
  %q_part_empty = tensor.empty() : tensor<1024x8x16xf32>
  %q_turned:2 = linalg.generic {
      indexing_maps = [#pairs, #pairs, #angle, #angle, #pairs, #pairs],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%q_first, %q_second, %cos, %sin
          : tensor<1024x8x16xf32>, tensor<1024x8x16xf32>, !angles, !angles)
      outs(%q_part_empty, %q_part_empty
          : tensor<1024x8x16xf32>, tensor<1024x8x16xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32, %s: f32, %out_a: f32, %out_b: f32):
      %ac = arith.mulf %a, %c : f32
      %bs = arith.mulf %b, %s : f32
      %as = arith.mulf %a, %s : f32
      %bc = arith.mulf %b, %c : f32
      %first = arith.subf %ac, %bs : f32
      %second = arith.addf %as, %bc : f32
      %first_scaled = arith.mulf %first, %rsqrt256 : f32
      %second_scaled = arith.mulf %second, %rsqrt256 : f32
      linalg.yield %first_scaled, %second_scaled : f32, f32
  } -> (tensor<1024x8x16xf32>, tensor<1024x8x16xf32>)
  %k_first = tensor.extract_slice %k_heads[0, 0, 0] [1024, 2, 16] [1, 1, 1]
      : !keys to tensor<1024x2x16xf32>
  %k_second = tensor.extract_slice %k_heads[0, 0, 16] [1024, 2, 16] [1, 1, 1]
      : !keys to tensor<1024x2x16xf32>
  %k_part_empty = tensor.empty() : tensor<1024x2x16xf32>
  %k_turned:2 = linalg.generic {
      indexing_maps = [#pairs, #pairs, #angle, #angle, #pairs, #pairs],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%k_first, %k_second, %cos, %sin
          : tensor<1024x2x16xf32>, tensor<1024x2x16xf32>, !angles, !angles)
      outs(%k_part_empty, %k_part_empty
          : tensor<1024x2x16xf32>, tensor<1024x2x16xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32, %s: f32, %out_a: f32, %out_b: f32):
      %ac = arith.mulf %a, %c : f32
      %bs = arith.mulf %b, %s : f32
      %as = arith.mulf %a, %s : f32
      %bc = arith.mulf %b, %c : f32
      %first = arith.subf %ac, %bs : f32
      %second = arith.addf %as, %bc : f32
      %first_scaled = arith.mulf %first, %rsqrt256 : f32
      %second_scaled = arith.mulf %second, %rsqrt256 : f32
      linalg.yield %first_scaled, %second_scaled : f32, f32
  } -> (tensor<1024x2x16xf32>, tensor<1024x2x16xf32>)
  %q_joined = tensor.concat dim(2) %q_turned#0, %q_turned#1
      : (tensor<1024x8x16xf32>, tensor<1024x8x16xf32>) -> !queries
  %k_joined = tensor.concat dim(2) %k_turned#0, %k_turned#1
      : (tensor<1024x2x16xf32>, tensor<1024x2x16xf32>) -> !keys

  // Attention.
  %q = tensor.expand_shape %q_joined [[0, 1], [2], [3]]
      output_shape [1, 1024, 8, 32] : !queries into tensor<1x1024x8x32xf32>
  %k = tensor.expand_shape %k_joined [[0, 1], [2], [3]]
      output_shape [1, 1024, 2, 32] : !keys into tensor<1x1024x2x32xf32>
  %v = tensor.expand_shape %v_scaled [[0, 1], [2, 3]]
      output_shape [1, 1024, 2, 32]
      : tensor<1024x64xf32> into tensor<1x1024x2x32xf32>
  %attention_empty = tensor.empty() : tensor<1x1024x8x32xf32>
  %attention = na.attention
      ins(%q, %k, %v : tensor<1x1024x8x32xf32>, tensor<1x1024x2x32xf32>,
                       tensor<1x1024x2x32xf32>)
      outs(%attention_empty : tensor<1x1024x8x32xf32>)
      window(<size = [256], causal = [true]>) -> tensor<1x1024x8x32xf32>
  %joined = tensor.collapse_shape %attention [[0, 1], [2, 3]]
      : tensor<1x1024x8x32xf32> into !tokens

  // Projection and residual.
  %projection = linalg.matmul
      ins(%joined, %projection_weight : !tokens, tensor<256x256xf32>)
      outs(%tokens_zero : !tokens) -> !tokens
  %y1 = linalg.generic {
      indexing_maps = [#both, #both, #both],
      iterator_types = ["parallel", "parallel"]}
      ins(%projection, %tokens : !tokens, !tokens)
      outs(%tokens_empty : !tokens) {
    ^bb0(%sum: f32, %residual: f32, %out: f32):
      %linear = arith.mulf %sum, %rsqrt256 : f32
      %value = arith.addf %linear, %residual : f32
      linalg.yield %value : f32
  } -> !tokens

  // Gated MLP; silu(x) = x / (1 + exp(-x)).
  %norm2 = call @rms_norm(%y1, %norm2_gain)
      : (!tokens, tensor<256xf32>) -> !tokens
  %hidden_empty = tensor.empty() : !hidden
  %hidden_zero = linalg.fill ins(%zero : f32) outs(%hidden_empty : !hidden)
      -> !hidden
  %gate = linalg.matmul ins(%norm2, %gate_weight : !tokens, tensor<256x512xf32>)
      outs(%hidden_zero : !hidden) -> !hidden
  %up = linalg.matmul ins(%norm2, %up_weight : !tokens, tensor<256x512xf32>)
      outs(%hidden_zero : !hidden) -> !hidden
  %one = arith.constant 1.0 : f32
  %hidden = linalg.generic {
      indexing_maps = [#both, #both, #both],
      iterator_types = ["parallel", "parallel"]}
      ins(%gate, %up : !hidden, !hidden) outs(%hidden_empty : !hidden) {
    ^bb0(%gate_sum: f32, %up_sum: f32, %out: f32):
      %gate_linear = arith.mulf %gate_sum, %rsqrt256 : f32
      %up_linear = arith.mulf %up_sum, %rsqrt256 : f32
      %minus = arith.negf %gate_linear : f32
      %exponential = math.exp %minus : f32
      %divisor = arith.addf %exponential, %one : f32
      %silu = arith.divf %gate_linear, %divisor : f32
      %value = arith.mulf %silu, %up_linear : f32
      linalg.yield %value : f32
  } -> !hidden
  %down = linalg.matmul ins(%hidden, %down_weight : !hidden, tensor<512x256xf32>)
      outs(%tokens_zero : !tokens) -> !tokens
  %rsqrt512 = arith.constant 0.0441941738 : f32
  %y2 = linalg.generic {
      indexing_maps = [#both, #both, #both],
      iterator_types = ["parallel", "parallel"]}
      ins(%down, %y1 : !tokens, !tokens) outs(%tokens_empty : !tokens) {
    ^bb0(%sum: f32, %residual: f32, %out: f32):
      %linear = arith.mulf %sum, %rsqrt512 : f32
      %value = arith.addf %linear, %residual : f32
      linalg.yield %value : f32
  } -> !tokens

  %y = tensor.expand_shape %y2 [[0, 1], [2]] output_shape [1, 1024, 256]
      : !tokens into tensor<1x1024x256xf32>
  return %y : tensor<1x1024x256xf32>
}

/// gain * x / sqrt(mean of squares + 1e-5), over the features of each token.
func.func private @rms_norm(%x: !tokens, %gain: tensor<256xf32>) -> !tokens {
  %zero = arith.constant 0.0 : f32
  %rfeatures = arith.constant 0.00390625 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %empty = tensor.empty() : tensor<1024xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1024xf32>)
      -> tensor<1024xf32>
  %squares = linalg.reduce ins(%x : !tokens)
      outs(%zeros : tensor<1024xf32>) dimensions = [1]
      (%value: f32, %so_far: f32) {
        %square = arith.mulf %value, %value : f32
        %next = arith.addf %square, %so_far : f32
        linalg.yield %next : f32
      }
  %result_empty = tensor.empty() : !tokens
  %result = linalg.generic {
      indexing_maps = [#both, #token, #feature, #both],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %squares, %gain : !tokens, tensor<1024xf32>, tensor<256xf32>)
      outs(%result_empty : !tokens) {
    ^bb0(%value: f32, %total: f32, %g: f32, %out: f32):
      %mean = arith.mulf %total, %rfeatures : f32
      %padded = arith.addf %mean, %epsilon : f32
      %factor = math.rsqrt %padded : f32
      %normal = arith.mulf %value, %factor : f32
      %scaled = arith.mulf %normal, %g : f32
      linalg.yield %scaled : f32
  } -> !tokens
  return %result : !tokens
}

/// Cosines and sines of the angles p * 10000^(-i / 16).
func.func private @rotary_table() -> (!angles, !angles) {
  // -log(10000) / 16
  %rate = arith.constant -0.57564627324851148 : f64
  %empty = tensor.empty() : !angles
  %cos, %sin = linalg.generic {
      indexing_maps = [#both, #both],
      iterator_types = ["parallel", "parallel"]}
      outs(%empty, %empty : !angles, !angles) {
    ^bb0(%out_cos: f32, %out_sin: f32):
      %p = linalg.index 0 : index
      %i = linalg.index 1 : index
      %p_int = arith.index_cast %p : index to i64
      %i_int = arith.index_cast %i : index to i64
      %position = arith.sitofp %p_int : i64 to f64
      %pair = arith.sitofp %i_int : i64 to f64
      %exponent = arith.mulf %pair, %rate : f64
      %frequency = math.exp %exponent : f64
      %turn = arith.mulf %position, %frequency : f64
      %cos_wide = math.cos %turn : f64
      %sin_wide = math.sin %turn : f64
      %cos_value = arith.truncf %cos_wide : f64 to f32
      %sin_value = arith.truncf %sin_wide : f64 to f32
      linalg.yield %cos_value, %sin_value : f32, f32
  } -> (!angles, !angles)
  return %cos, %sin : !angles, !angles
}
