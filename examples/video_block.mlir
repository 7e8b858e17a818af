//===- video_block.mlir - A layer of a video diffusion transformer --------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One layer of an autoregressive video diffusion transformer: 8 frames of
// 12x20 tokens of 128 features, 2 heads of 64, and 16 text tokens that every
// video token sees (the additional keys and values of na.attention). A token
// sees 4 frames, its own and the three before it (causal in time), and 6x10
// tokens of each; 2x2 neighbouring tokens share a window (stride 2 in space).
// Queries and keys are normalised by their root mean square. A diffusion time
// step acts through six vectors, two shifts, two scales and two gates:
//
//   y1 = x  + gate1 * projection(attention(modulated1(x), text))
//   y  = y1 + gate2 * mlp(modulated2(y1))
//   modulated(x) = (1 + scale) * norm(x) + shift
//
// The weights are arguments. A linear layer divides by sqrt(input features),
// so weights of unit variance, the ones that na-run draws, keep the activations
// of order 1. To use trained weights, multiply them by that root.
//
// Compile it, here to the LLVM dialect:
//   na-opt --na-to-cpu examples/video_block.mlir
// Run it on random inputs, compare with the naive lowering, time it:
//   na-run examples/video_block.mlir --verify --bench
// Run it on arrays:
//   na-run examples/video_block.mlir --inputs=x=x.npy,.. --outputs=y=y.npy
//
//===----------------------------------------------------------------------===//

!video = tensor<1x8x12x20x2x64xf32>
!tokens = tensor<1920x128xf32>

// Loops over tokens and features; operands of one axis are broadcast.
#both = affine_map<(t, c) -> (t, c)>
#token = affine_map<(t, c) -> (t)>
#feature = affine_map<(t, c) -> (c)>

// Loops over tokens, heads and the features of a head.
#split = affine_map<(t, h, d) -> (t, h, d)>
#split_head = affine_map<(t, h, d) -> (t, h)>
#split_feature = affine_map<(t, h, d) -> (d)>

func.func @main(
    %x: tensor<1x8x12x20x128xf32>, %text: tensor<1x16x128xf32>,
    %shift1: tensor<128xf32>, %scale1: tensor<128xf32>,
    %gate1: tensor<128xf32>, %shift2: tensor<128xf32>,
    %scale2: tensor<128xf32>, %gate2: tensor<128xf32>,
    %qkv_weight: tensor<128x384xf32>,
    %q_gain: tensor<64xf32>, %k_gain: tensor<64xf32>,
    %text_weight: tensor<128x256xf32>,
    %projection_weight: tensor<128x128xf32>,
    %mlp1_weight: tensor<128x512xf32>, %mlp1_shift: tensor<512xf32>,
    %mlp2_weight: tensor<512x128xf32>, %mlp2_shift: tensor<128xf32>)
    -> tensor<1x8x12x20x128xf32> {
  %zero = arith.constant 0.0 : f32
  %rsqrt128 = arith.constant 0.0883883476 : f32
  %tokens = tensor.collapse_shape %x [[0, 1, 2, 3], [4]]
      : tensor<1x8x12x20x128xf32> into !tokens
  %tokens_empty = tensor.empty() : !tokens
  %tokens_zero = linalg.fill ins(%zero : f32) outs(%tokens_empty : !tokens)
      -> !tokens

  // Queries, keys and values of the video: 3 x 2 heads x 64 features. The norm
  // of queries and keys cancels their factor of 1 / sqrt(128).
  %modulated1 = call @modulated_norm(%tokens, %shift1, %scale1)
      : (!tokens, tensor<128xf32>, tensor<128xf32>) -> !tokens
  %qkv_empty = tensor.empty() : tensor<1920x384xf32>
  %qkv_zero = linalg.fill ins(%zero : f32)
      outs(%qkv_empty : tensor<1920x384xf32>) -> tensor<1920x384xf32>
  %qkv = linalg.matmul
      ins(%modulated1, %qkv_weight : !tokens, tensor<128x384xf32>)
      outs(%qkv_zero : tensor<1920x384xf32>) -> tensor<1920x384xf32>
  %parts = tensor.expand_shape %qkv [[0], [1, 2, 3]]
      output_shape [1920, 3, 2, 64]
      : tensor<1920x384xf32> into tensor<1920x3x2x64xf32>
  %q_part = tensor.extract_slice %parts[0, 0, 0, 0] [1920, 1, 2, 64]
      [1, 1, 1, 1] : tensor<1920x3x2x64xf32> to tensor<1920x2x64xf32>
  %k_part = tensor.extract_slice %parts[0, 1, 0, 0] [1920, 1, 2, 64]
      [1, 1, 1, 1] : tensor<1920x3x2x64xf32> to tensor<1920x2x64xf32>
  %v_part = tensor.extract_slice %parts[0, 2, 0, 0] [1920, 1, 2, 64]
      [1, 1, 1, 1] : tensor<1920x3x2x64xf32> to tensor<1920x2x64xf32>
  %q_normal = call @head_norm(%q_part, %q_gain)
      : (tensor<1920x2x64xf32>, tensor<64xf32>) -> tensor<1920x2x64xf32>
  %k_normal = call @head_norm(%k_part, %k_gain)
      : (tensor<1920x2x64xf32>, tensor<64xf32>) -> tensor<1920x2x64xf32>
  %v_empty = tensor.empty() : tensor<1920x2x64xf32>
  %v_scaled = linalg.generic {
      indexing_maps = [#split, #split],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%v_part : tensor<1920x2x64xf32>)
      outs(%v_empty : tensor<1920x2x64xf32>) {
    ^bb0(%sum: f32, %out: f32):
      %value = arith.mulf %sum, %rsqrt128 : f32
      linalg.yield %value : f32
  } -> tensor<1920x2x64xf32>
  %q = tensor.expand_shape %q_normal [[0, 1, 2, 3], [4], [5]]
      output_shape [1, 8, 12, 20, 2, 64]
      : tensor<1920x2x64xf32> into !video
  %k = tensor.expand_shape %k_normal [[0, 1, 2, 3], [4], [5]]
      output_shape [1, 8, 12, 20, 2, 64]
      : tensor<1920x2x64xf32> into !video
  %v = tensor.expand_shape %v_scaled [[0, 1, 2, 3], [4], [5]]
      output_shape [1, 8, 12, 20, 2, 64]
      : tensor<1920x2x64xf32> into !video

  // Keys and values of the text: 2 x 2 heads x 64 features.
  %text_tokens = tensor.collapse_shape %text [[0, 1], [2]]
      : tensor<1x16x128xf32> into tensor<16x128xf32>
  %text_empty = tensor.empty() : tensor<16x256xf32>
  %text_zero = linalg.fill ins(%zero : f32)
      outs(%text_empty : tensor<16x256xf32>) -> tensor<16x256xf32>
  %text_product = linalg.matmul
      ins(%text_tokens, %text_weight : tensor<16x128xf32>, tensor<128x256xf32>)
      outs(%text_zero : tensor<16x256xf32>) -> tensor<16x256xf32>
  %text_scaled = linalg.generic {
      indexing_maps = [#both, #both], iterator_types = ["parallel", "parallel"]}
      ins(%text_product : tensor<16x256xf32>)
      outs(%text_empty : tensor<16x256xf32>) {
    ^bb0(%sum: f32, %out: f32):
      %value = arith.mulf %sum, %rsqrt128 : f32
      linalg.yield %value : f32
  } -> tensor<16x256xf32>
  %text_parts = tensor.expand_shape %text_scaled [[0, 1], [2, 3, 4]]
      output_shape [1, 16, 2, 2, 64]
      : tensor<16x256xf32> into tensor<1x16x2x2x64xf32>
  %text_k = tensor.extract_slice %text_parts[0, 0, 0, 0, 0] [1, 16, 1, 2, 64]
      [1, 1, 1, 1, 1] : tensor<1x16x2x2x64xf32> to tensor<1x16x2x64xf32>
  %text_v = tensor.extract_slice %text_parts[0, 0, 1, 0, 0] [1, 16, 1, 2, 64]
      [1, 1, 1, 1, 1] : tensor<1x16x2x2x64xf32> to tensor<1x16x2x64xf32>

  // Attention to the window and the text.
  %attention_empty = tensor.empty() : !video
  %attention = na.attention
      ins(%q, %k, %v : !video, !video, !video)
      additional(%text_k, %text_v
          : tensor<1x16x2x64xf32>, tensor<1x16x2x64xf32>)
      outs(%attention_empty : !video)
      window(<size = [4, 6, 10], stride = [1, 2, 2],
              causal = [true, false, false]>) -> !video
  %joined = tensor.collapse_shape %attention [[0, 1, 2, 3], [4, 5]]
      : !video into !tokens

  // Projection, gate and residual.
  %projection = linalg.matmul
      ins(%joined, %projection_weight : !tokens, tensor<128x128xf32>)
      outs(%tokens_zero : !tokens) -> !tokens
  %y1 = linalg.generic {
      indexing_maps = [#both, #feature, #both, #both],
      iterator_types = ["parallel", "parallel"]}
      ins(%projection, %gate1, %tokens : !tokens, tensor<128xf32>, !tokens)
      outs(%tokens_empty : !tokens) {
    ^bb0(%sum: f32, %gate: f32, %residual: f32, %out: f32):
      %linear = arith.mulf %sum, %rsqrt128 : f32
      %gated = arith.mulf %linear, %gate : f32
      %value = arith.addf %gated, %residual : f32
      linalg.yield %value : f32
  } -> !tokens

  // MLP with the tanh form of GELU:
  // x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
  %modulated2 = call @modulated_norm(%y1, %shift2, %scale2)
      : (!tokens, tensor<128xf32>, tensor<128xf32>) -> !tokens
  %hidden_empty = tensor.empty() : tensor<1920x512xf32>
  %hidden_zero = linalg.fill ins(%zero : f32)
      outs(%hidden_empty : tensor<1920x512xf32>) -> tensor<1920x512xf32>
  %mlp1 = linalg.matmul
      ins(%modulated2, %mlp1_weight : !tokens, tensor<128x512xf32>)
      outs(%hidden_zero : tensor<1920x512xf32>) -> tensor<1920x512xf32>
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %cubic = arith.constant 0.044715 : f32
  %sqrt2_pi = arith.constant 0.797884561 : f32
  %hidden = linalg.generic {
      indexing_maps = [#both, #feature, #both],
      iterator_types = ["parallel", "parallel"]}
      ins(%mlp1, %mlp1_shift : tensor<1920x512xf32>, tensor<512xf32>)
      outs(%hidden_empty : tensor<1920x512xf32>) {
    ^bb0(%sum: f32, %shift: f32, %out: f32):
      %normal = arith.mulf %sum, %rsqrt128 : f32
      %linear = arith.addf %normal, %shift : f32
      %square = arith.mulf %linear, %linear : f32
      %curved = arith.mulf %square, %cubic : f32
      %factor = arith.addf %curved, %one : f32
      %product = arith.mulf %linear, %factor : f32
      %argument = arith.mulf %product, %sqrt2_pi : f32
      %tanh = math.tanh %argument : f32
      %gate = arith.addf %tanh, %one : f32
      %halved = arith.mulf %linear, %half : f32
      %value = arith.mulf %halved, %gate : f32
      linalg.yield %value : f32
  } -> tensor<1920x512xf32>
  %mlp2 = linalg.matmul
      ins(%hidden, %mlp2_weight : tensor<1920x512xf32>, tensor<512x128xf32>)
      outs(%tokens_zero : !tokens) -> !tokens
  %rsqrt512 = arith.constant 0.0441941738 : f32
  %y2 = linalg.generic {
      indexing_maps = [#both, #feature, #feature, #both, #both],
      iterator_types = ["parallel", "parallel"]}
      ins(%mlp2, %mlp2_shift, %gate2, %y1
          : !tokens, tensor<128xf32>, tensor<128xf32>, !tokens)
      outs(%tokens_empty : !tokens) {
    ^bb0(%sum: f32, %shift: f32, %gate: f32, %residual: f32, %out: f32):
      %normal = arith.mulf %sum, %rsqrt512 : f32
      %linear = arith.addf %normal, %shift : f32
      %gated = arith.mulf %linear, %gate : f32
      %value = arith.addf %gated, %residual : f32
      linalg.yield %value : f32
  } -> !tokens

  %y = tensor.expand_shape %y2 [[0, 1, 2, 3], [4]]
      output_shape [1, 8, 12, 20, 128]
      : !tokens into tensor<1x8x12x20x128xf32>
  return %y : tensor<1x8x12x20x128xf32>
}

/// (1 + scale) * (x - mean) / sqrt(variance + 1e-6) + shift, over the features
/// of each token.
func.func private @modulated_norm(%x: !tokens, %shift: tensor<128xf32>,
                                  %scale: tensor<128xf32>) -> !tokens {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %rfeatures = arith.constant 0.0078125 : f32
  %epsilon = arith.constant 1.0e-6 : f32
  %empty = tensor.empty() : tensor<1920xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1920xf32>)
      -> tensor<1920xf32>
  %sum = linalg.reduce { arith.addf } ins(%x : !tokens)
      outs(%zeros : tensor<1920xf32>) dimensions = [1]
  %centred_empty = tensor.empty() : !tokens
  %centred = linalg.generic {
      indexing_maps = [#both, #token, #both],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : !tokens, tensor<1920xf32>)
      outs(%centred_empty : !tokens) {
    ^bb0(%value: f32, %total: f32, %out: f32):
      %mean = arith.mulf %total, %rfeatures : f32
      %difference = arith.subf %value, %mean : f32
      linalg.yield %difference : f32
  } -> !tokens
  %squares = linalg.reduce ins(%centred : !tokens)
      outs(%zeros : tensor<1920xf32>) dimensions = [1]
      (%value: f32, %so_far: f32) {
        %square = arith.mulf %value, %value : f32
        %next = arith.addf %square, %so_far : f32
        linalg.yield %next : f32
      }
  %result = linalg.generic {
      indexing_maps = [#both, #token, #feature, #feature, #both],
      iterator_types = ["parallel", "parallel"]}
      ins(%centred, %squares, %shift, %scale
          : !tokens, tensor<1920xf32>, tensor<128xf32>, tensor<128xf32>)
      outs(%centred_empty : !tokens) {
    ^bb0(%value: f32, %total: f32, %s: f32, %g: f32, %out: f32):
      %variance = arith.mulf %total, %rfeatures : f32
      %padded = arith.addf %variance, %epsilon : f32
      %factor = math.rsqrt %padded : f32
      %normal = arith.mulf %value, %factor : f32
      %gain = arith.addf %g, %one : f32
      %scaled = arith.mulf %normal, %gain : f32
      %shifted = arith.addf %scaled, %s : f32
      linalg.yield %shifted : f32
  } -> !tokens
  return %result : !tokens
}

/// gain * x / sqrt(mean of squares + 1e-6), over the features of each head.
func.func private @head_norm(%x: tensor<1920x2x64xf32>, %gain: tensor<64xf32>)
    -> tensor<1920x2x64xf32> {
  %zero = arith.constant 0.0 : f32
  %rfeatures = arith.constant 0.015625 : f32
  %epsilon = arith.constant 1.0e-6 : f32
  %empty = tensor.empty() : tensor<1920x2xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1920x2xf32>)
      -> tensor<1920x2xf32>
  %squares = linalg.reduce ins(%x : tensor<1920x2x64xf32>)
      outs(%zeros : tensor<1920x2xf32>) dimensions = [2]
      (%value: f32, %so_far: f32) {
        %square = arith.mulf %value, %value : f32
        %next = arith.addf %square, %so_far : f32
        linalg.yield %next : f32
      }
  %result_empty = tensor.empty() : tensor<1920x2x64xf32>
  %result = linalg.generic {
      indexing_maps = [#split, #split_head, #split_feature, #split],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %squares, %gain
          : tensor<1920x2x64xf32>, tensor<1920x2xf32>, tensor<64xf32>)
      outs(%result_empty : tensor<1920x2x64xf32>) {
    ^bb0(%value: f32, %total: f32, %g: f32, %out: f32):
      %mean = arith.mulf %total, %rfeatures : f32
      %padded = arith.addf %mean, %epsilon : f32
      %factor = math.rsqrt %padded : f32
      %normal = arith.mulf %value, %factor : f32
      %scaled = arith.mulf %normal, %g : f32
      linalg.yield %scaled : f32
  } -> tensor<1920x2x64xf32>
  return %result : tensor<1920x2x64xf32>
}
