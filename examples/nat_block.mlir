//===- nat_block.mlir - A block of the Neighborhood Attention Transformer -===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One block of NAT-Tiny (Hassani et al., "Neighborhood Attention Transformer",
// CVPR 2023) in its first stage: 56x56 tokens of 64 features, 2 heads of 32,
// window 7x7, relative position bias, MLP ratio 3.
//
//   y1 = x  + projection(attention(norm1(x)))
//   y  = y1 + mlp(norm2(y1))
//
// The weights are arguments. A linear layer divides by sqrt(input features),
// so weights of unit variance, the ones that na-run draws, keep the activations
// of order 1. To use trained weights, multiply them by that root.
//
// Compile it, here to the LLVM dialect:
//   na-opt --na-to-cpu examples/nat_block.mlir
// Run it on random inputs, compare with the naive lowering, time it:
//   na-run examples/nat_block.mlir --verify --bench
// Run it on arrays (scripts/quickstart.sh does, on a photograph):
//   na-run examples/nat_block.mlir --inputs=x=x.npy,.. --outputs=y=y.npy
// The weights of the attention alone, computed by na.qk and a softmax:
//   na-run examples/nat_block.mlir --entry=attention_weights
//          --outputs=weights=weights.npy
//
//===----------------------------------------------------------------------===//

// Loops over tokens and features; operands of one axis are broadcast.
#both = affine_map<(t, c) -> (t, c)>
#token = affine_map<(t, c) -> (t)>
#feature = affine_map<(t, c) -> (c)>

// Softmax over the slots of a row of scores.
#slots = affine_map<(b, x, y, h, s) -> (b, x, y, h, s)>
#row = affine_map<(b, x, y, h, s) -> (b, x, y, h)>

func.func @main(
    %x: tensor<1x56x56x64xf32>,
    %norm1_gain: tensor<64xf32>, %norm1_shift: tensor<64xf32>,
    %qkv_weight: tensor<64x192xf32>, %qkv_shift: tensor<192xf32>,
    %position_bias: tensor<2x13x13xf32>,
    %projection_weight: tensor<64x64xf32>, %projection_shift: tensor<64xf32>,
    %norm2_gain: tensor<64xf32>, %norm2_shift: tensor<64xf32>,
    %mlp1_weight: tensor<64x192xf32>, %mlp1_shift: tensor<192xf32>,
    %mlp2_weight: tensor<192x64xf32>, %mlp2_shift: tensor<64xf32>)
    -> tensor<1x56x56x64xf32> {
  %zero = arith.constant 0.0 : f32
  %tokens = tensor.collapse_shape %x [[0, 1, 2], [3]]
      : tensor<1x56x56x64xf32> into tensor<3136x64xf32>

  // Attention.
  %norm1 = call @layer_norm(%tokens, %norm1_gain, %norm1_shift)
      : (tensor<3136x64xf32>, tensor<64xf32>, tensor<64xf32>)
      -> tensor<3136x64xf32>
  %q, %k, %v = call @query_key_value(%norm1, %qkv_weight, %qkv_shift)
      : (tensor<3136x64xf32>, tensor<64x192xf32>, tensor<192xf32>)
      -> (tensor<1x56x56x2x32xf32>, tensor<1x56x56x2x32xf32>,
          tensor<1x56x56x2x32xf32>)
  %attention_empty = tensor.empty() : tensor<1x56x56x2x32xf32>
  %attention = na.attention
      ins(%q, %k, %v : tensor<1x56x56x2x32xf32>, tensor<1x56x56x2x32xf32>,
                       tensor<1x56x56x2x32xf32>)
      bias(%position_bias : tensor<2x13x13xf32>)
      outs(%attention_empty : tensor<1x56x56x2x32xf32>)
      window(<size = [7, 7]>) -> tensor<1x56x56x2x32xf32>
  %joined = tensor.collapse_shape %attention [[0, 1, 2], [3, 4]]
      : tensor<1x56x56x2x32xf32> into tensor<3136x64xf32>

  // Projection and residual.
  %narrow_empty = tensor.empty() : tensor<3136x64xf32>
  %narrow_zero = linalg.fill ins(%zero : f32)
      outs(%narrow_empty : tensor<3136x64xf32>) -> tensor<3136x64xf32>
  %projection = linalg.matmul
      ins(%joined, %projection_weight : tensor<3136x64xf32>, tensor<64x64xf32>)
      outs(%narrow_zero : tensor<3136x64xf32>) -> tensor<3136x64xf32>
  %rsqrt64 = arith.constant 0.125 : f32
  %y1 = linalg.generic {
      indexing_maps = [#both, #feature, #both, #both],
      iterator_types = ["parallel", "parallel"]}
      ins(%projection, %projection_shift, %tokens
          : tensor<3136x64xf32>, tensor<64xf32>, tensor<3136x64xf32>)
      outs(%narrow_empty : tensor<3136x64xf32>) {
    ^bb0(%sum: f32, %shift: f32, %residual: f32, %out: f32):
      %scaled = arith.mulf %sum, %rsqrt64 : f32
      %linear = arith.addf %scaled, %shift : f32
      %value = arith.addf %linear, %residual : f32
      linalg.yield %value : f32
  } -> tensor<3136x64xf32>

  // MLP with GELU in its exact form, x / 2 * (1 + erf(x / sqrt(2))).
  %norm2 = call @layer_norm(%y1, %norm2_gain, %norm2_shift)
      : (tensor<3136x64xf32>, tensor<64xf32>, tensor<64xf32>)
      -> tensor<3136x64xf32>
  %wide_empty = tensor.empty() : tensor<3136x192xf32>
  %wide_zero = linalg.fill ins(%zero : f32)
      outs(%wide_empty : tensor<3136x192xf32>) -> tensor<3136x192xf32>
  %mlp1 = linalg.matmul
      ins(%norm2, %mlp1_weight : tensor<3136x64xf32>, tensor<64x192xf32>)
      outs(%wide_zero : tensor<3136x192xf32>) -> tensor<3136x192xf32>
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %rsqrt2 = arith.constant 0.707106781 : f32
  %hidden = linalg.generic {
      indexing_maps = [#both, #feature, #both],
      iterator_types = ["parallel", "parallel"]}
      ins(%mlp1, %mlp1_shift : tensor<3136x192xf32>, tensor<192xf32>)
      outs(%wide_empty : tensor<3136x192xf32>) {
    ^bb0(%sum: f32, %shift: f32, %out: f32):
      %scaled = arith.mulf %sum, %rsqrt64 : f32
      %linear = arith.addf %scaled, %shift : f32
      %argument = arith.mulf %linear, %rsqrt2 : f32
      %erf = math.erf %argument : f32
      %gate = arith.addf %erf, %one : f32
      %halved = arith.mulf %linear, %half : f32
      %value = arith.mulf %halved, %gate : f32
      linalg.yield %value : f32
  } -> tensor<3136x192xf32>
  %mlp2 = linalg.matmul
      ins(%hidden, %mlp2_weight : tensor<3136x192xf32>, tensor<192x64xf32>)
      outs(%narrow_zero : tensor<3136x64xf32>) -> tensor<3136x64xf32>
  %rsqrt192 = arith.constant 0.0721687824 : f32
  %y2 = linalg.generic {
      indexing_maps = [#both, #feature, #both, #both],
      iterator_types = ["parallel", "parallel"]}
      ins(%mlp2, %mlp2_shift, %y1
          : tensor<3136x64xf32>, tensor<64xf32>, tensor<3136x64xf32>)
      outs(%narrow_empty : tensor<3136x64xf32>) {
    ^bb0(%sum: f32, %shift: f32, %residual: f32, %out: f32):
      %scaled = arith.mulf %sum, %rsqrt192 : f32
      %linear = arith.addf %scaled, %shift : f32
      %value = arith.addf %linear, %residual : f32
      linalg.yield %value : f32
  } -> tensor<3136x64xf32>

  %y = tensor.expand_shape %y2 [[0, 1, 2], [3]] output_shape [1, 56, 56, 64]
      : tensor<3136x64xf32> into tensor<1x56x56x64xf32>
  return %y : tensor<1x56x56x64xf32>
}

/// The weights that each query gives to the 49 keys of its window, row-major
/// from the first key. The arguments are the first ones of @main: na-run draws
/// the same numbers for both.
func.func @attention_weights(
    %x: tensor<1x56x56x64xf32>,
    %norm1_gain: tensor<64xf32>, %norm1_shift: tensor<64xf32>,
    %qkv_weight: tensor<64x192xf32>, %qkv_shift: tensor<192xf32>,
    %position_bias: tensor<2x13x13xf32>) -> tensor<1x56x56x2x49xf32> {
  %tokens = tensor.collapse_shape %x [[0, 1, 2], [3]]
      : tensor<1x56x56x64xf32> into tensor<3136x64xf32>
  %norm1 = call @layer_norm(%tokens, %norm1_gain, %norm1_shift)
      : (tensor<3136x64xf32>, tensor<64xf32>, tensor<64xf32>)
      -> tensor<3136x64xf32>
  %q, %k, %v = call @query_key_value(%norm1, %qkv_weight, %qkv_shift)
      : (tensor<3136x64xf32>, tensor<64x192xf32>, tensor<192xf32>)
      -> (tensor<1x56x56x2x32xf32>, tensor<1x56x56x2x32xf32>,
          tensor<1x56x56x2x32xf32>)
  %scores_empty = tensor.empty() : tensor<1x56x56x2x49xf32>
  %scores = na.qk
      ins(%q, %k : tensor<1x56x56x2x32xf32>, tensor<1x56x56x2x32xf32>)
      bias(%position_bias : tensor<2x13x13xf32>)
      outs(%scores_empty : tensor<1x56x56x2x49xf32>)
      window(<size = [7, 7]>) -> tensor<1x56x56x2x49xf32>

  %lowest = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %row_empty = tensor.empty() : tensor<1x56x56x2xf32>
  %row_lowest = linalg.fill ins(%lowest : f32)
      outs(%row_empty : tensor<1x56x56x2xf32>) -> tensor<1x56x56x2xf32>
  %row_zero = linalg.fill ins(%zero : f32)
      outs(%row_empty : tensor<1x56x56x2xf32>) -> tensor<1x56x56x2xf32>
  %top = linalg.reduce ins(%scores : tensor<1x56x56x2x49xf32>)
      outs(%row_lowest : tensor<1x56x56x2xf32>) dimensions = [4]
      (%score: f32, %so_far: f32) {
        %larger = arith.maximumf %score, %so_far : f32
        linalg.yield %larger : f32
      }
  %exponentials = linalg.generic {
      indexing_maps = [#slots, #row, #slots],
      iterator_types = ["parallel", "parallel", "parallel", "parallel",
                        "parallel"]}
      ins(%scores, %top : tensor<1x56x56x2x49xf32>, tensor<1x56x56x2xf32>)
      outs(%scores_empty : tensor<1x56x56x2x49xf32>) {
    ^bb0(%score: f32, %largest: f32, %out: f32):
      %difference = arith.subf %score, %largest : f32
      %exponential = math.exp %difference : f32
      linalg.yield %exponential : f32
  } -> tensor<1x56x56x2x49xf32>
  %total = linalg.reduce { arith.addf }
      ins(%exponentials : tensor<1x56x56x2x49xf32>)
      outs(%row_zero : tensor<1x56x56x2xf32>) dimensions = [4]
  %weights = linalg.generic {
      indexing_maps = [#slots, #row, #slots],
      iterator_types = ["parallel", "parallel", "parallel", "parallel",
                        "parallel"]}
      ins(%exponentials, %total
          : tensor<1x56x56x2x49xf32>, tensor<1x56x56x2xf32>)
      outs(%scores_empty : tensor<1x56x56x2x49xf32>) {
    ^bb0(%exponential: f32, %sum: f32, %out: f32):
      %weight = arith.divf %exponential, %sum : f32
      linalg.yield %weight : f32
  } -> tensor<1x56x56x2x49xf32>
  return %weights : tensor<1x56x56x2x49xf32>
}

/// gain * (x - mean) / sqrt(variance + 1e-5) + shift, over the features of
/// each token.
func.func private @layer_norm(%x: tensor<3136x64xf32>, %gain: tensor<64xf32>,
                              %shift: tensor<64xf32>) -> tensor<3136x64xf32> {
  %zero = arith.constant 0.0 : f32
  %rfeatures = arith.constant 0.015625 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %empty = tensor.empty() : tensor<3136xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<3136xf32>)
      -> tensor<3136xf32>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<3136x64xf32>)
      outs(%zeros : tensor<3136xf32>) dimensions = [1]
  %centred_empty = tensor.empty() : tensor<3136x64xf32>
  %centred = linalg.generic {
      indexing_maps = [#both, #token, #both],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : tensor<3136x64xf32>, tensor<3136xf32>)
      outs(%centred_empty : tensor<3136x64xf32>) {
    ^bb0(%value: f32, %total: f32, %out: f32):
      %mean = arith.mulf %total, %rfeatures : f32
      %difference = arith.subf %value, %mean : f32
      linalg.yield %difference : f32
  } -> tensor<3136x64xf32>
  %squares = linalg.reduce ins(%centred : tensor<3136x64xf32>)
      outs(%zeros : tensor<3136xf32>) dimensions = [1]
      (%value: f32, %so_far: f32) {
        %square = arith.mulf %value, %value : f32
        %next = arith.addf %square, %so_far : f32
        linalg.yield %next : f32
      }
  %result = linalg.generic {
      indexing_maps = [#both, #token, #feature, #feature, #both],
      iterator_types = ["parallel", "parallel"]}
      ins(%centred, %squares, %gain, %shift
          : tensor<3136x64xf32>, tensor<3136xf32>, tensor<64xf32>,
            tensor<64xf32>)
      outs(%centred_empty : tensor<3136x64xf32>) {
    ^bb0(%value: f32, %total: f32, %g: f32, %s: f32, %out: f32):
      %variance = arith.mulf %total, %rfeatures : f32
      %padded = arith.addf %variance, %epsilon : f32
      %factor = math.rsqrt %padded : f32
      %normal = arith.mulf %value, %factor : f32
      %scaled = arith.mulf %normal, %g : f32
      %shifted = arith.addf %scaled, %s : f32
      linalg.yield %shifted : f32
  } -> tensor<3136x64xf32>
  return %result : tensor<3136x64xf32>
}

/// One linear layer gives queries, keys and values: its 192 results are three
/// parts of 2 heads of 32 features.
func.func private @query_key_value(
    %x: tensor<3136x64xf32>, %weight: tensor<64x192xf32>,
    %shift: tensor<192xf32>)
    -> (tensor<1x56x56x2x32xf32>, tensor<1x56x56x2x32xf32>,
        tensor<1x56x56x2x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %rsqrt64 = arith.constant 0.125 : f32
  %empty = tensor.empty() : tensor<3136x192xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<3136x192xf32>)
      -> tensor<3136x192xf32>
  %product = linalg.matmul
      ins(%x, %weight : tensor<3136x64xf32>, tensor<64x192xf32>)
      outs(%zeros : tensor<3136x192xf32>) -> tensor<3136x192xf32>
  %linear = linalg.generic {
      indexing_maps = [#both, #feature, #both],
      iterator_types = ["parallel", "parallel"]}
      ins(%product, %shift : tensor<3136x192xf32>, tensor<192xf32>)
      outs(%empty : tensor<3136x192xf32>) {
    ^bb0(%sum: f32, %s: f32, %out: f32):
      %scaled = arith.mulf %sum, %rsqrt64 : f32
      %value = arith.addf %scaled, %s : f32
      linalg.yield %value : f32
  } -> tensor<3136x192xf32>
  %parts = tensor.expand_shape %linear [[0, 1, 2], [3, 4, 5]]
      output_shape [1, 56, 56, 3, 2, 32]
      : tensor<3136x192xf32> into tensor<1x56x56x3x2x32xf32>
  %q = tensor.extract_slice %parts[0, 0, 0, 0, 0, 0] [1, 56, 56, 1, 2, 32]
      [1, 1, 1, 1, 1, 1]
      : tensor<1x56x56x3x2x32xf32> to tensor<1x56x56x2x32xf32>
  %k = tensor.extract_slice %parts[0, 0, 0, 1, 0, 0] [1, 56, 56, 1, 2, 32]
      [1, 1, 1, 1, 1, 1]
      : tensor<1x56x56x3x2x32xf32> to tensor<1x56x56x2x32xf32>
  %v = tensor.extract_slice %parts[0, 0, 0, 2, 0, 0] [1, 56, 56, 1, 2, 32]
      [1, 1, 1, 1, 1, 1]
      : tensor<1x56x56x3x2x32xf32> to tensor<1x56x56x2x32xf32>
  return %q, %k, %v : tensor<1x56x56x2x32xf32>, tensor<1x56x56x2x32xf32>,
      tensor<1x56x56x2x32xf32>
}
