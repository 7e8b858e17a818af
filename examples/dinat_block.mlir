//===- dinat_block.mlir - A dilated block of DiNAT ------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One dilated block of the Dilated Neighborhood Attention Transformer (Hassani
// and Shi, 2022) in the second stage of DiNAT-Small: two images of 28x28 tokens
// of 192 features, 6 heads of 32, window 7x7, dilation 4x4 (the largest that
// fits: 7 * 4 = 28), relative position bias, layer scale, MLP ratio 2.
//
//   y1 = x  + layer_scale1 * projection(attention(norm1(x)))
//   y  = y1 + layer_scale2 * mlp(norm2(y1))
//
// The linear layers are contractions between heads-last tensors, so nothing is
// reshaped: q[b, x, y, h, d] = sum over c of norm1[b, x, y, c] * weight[c, h, d].
//
// The weights are arguments. A linear layer divides by sqrt(input features),
// so weights of unit variance, the ones that na-run draws, keep the activations
// of order 1. To use trained weights, multiply them by that root.
//
// Compile it, here to the LLVM dialect:
//   na-opt --na-to-cpu examples/dinat_block.mlir
// Run it on random inputs, compare with the naive lowering, time it:
//   na-run examples/dinat_block.mlir --verify --bench
// Run it on arrays:
//   na-run examples/dinat_block.mlir --inputs=x=x.npy,.. --outputs=y=y.npy
//
//===----------------------------------------------------------------------===//

!features = tensor<2x28x28x192xf32>
!hidden = tensor<2x28x28x384xf32>
!heads = tensor<2x28x28x6x32xf32>

// Loops over tokens and features; operands without an axis are broadcast.
#all = affine_map<(b, x, y, c) -> (b, x, y, c)>
#token = affine_map<(b, x, y, c) -> (b, x, y)>
#feature = affine_map<(b, x, y, c) -> (c)>
#all_heads = affine_map<(b, x, y, h, d) -> (b, x, y, h, d)>
#head = affine_map<(b, x, y, h, d) -> (h, d)>

// Contractions: features to heads, heads to features, features to features.
#split_in = affine_map<(b, x, y, h, d, c) -> (b, x, y, c)>
#split_weight = affine_map<(b, x, y, h, d, c) -> (c, h, d)>
#split_out = affine_map<(b, x, y, h, d, c) -> (b, x, y, h, d)>
#join_in = affine_map<(b, x, y, c, h, d) -> (b, x, y, h, d)>
#join_weight = affine_map<(b, x, y, c, h, d) -> (h, d, c)>
#join_out = affine_map<(b, x, y, c, h, d) -> (b, x, y, c)>
#linear_in = affine_map<(b, x, y, o, i) -> (b, x, y, i)>
#linear_weight = affine_map<(b, x, y, o, i) -> (i, o)>
#linear_out = affine_map<(b, x, y, o, i) -> (b, x, y, o)>

func.func @main(
    %x: !features,
    %norm1_gain: tensor<192xf32>, %norm1_shift: tensor<192xf32>,
    %q_weight: tensor<192x6x32xf32>, %q_shift: tensor<6x32xf32>,
    %k_weight: tensor<192x6x32xf32>, %k_shift: tensor<6x32xf32>,
    %v_weight: tensor<192x6x32xf32>, %v_shift: tensor<6x32xf32>,
    %position_bias: tensor<6x13x13xf32>,
    %projection_weight: tensor<6x32x192xf32>,
    %projection_shift: tensor<192xf32>, %layer_scale1: tensor<192xf32>,
    %norm2_gain: tensor<192xf32>, %norm2_shift: tensor<192xf32>,
    %mlp1_weight: tensor<192x384xf32>, %mlp1_shift: tensor<384xf32>,
    %mlp2_weight: tensor<384x192xf32>, %mlp2_shift: tensor<192xf32>,
    %layer_scale2: tensor<192xf32>) -> !features {
  %zero = arith.constant 0.0 : f32
  %features_empty = tensor.empty() : !features
  %features_zero = linalg.fill ins(%zero : f32)
      outs(%features_empty : !features) -> !features

  // Attention.
  %norm1 = call @layer_norm(%x, %norm1_gain, %norm1_shift)
      : (!features, tensor<192xf32>, tensor<192xf32>) -> !features
  %q = call @to_heads(%norm1, %q_weight, %q_shift)
      : (!features, tensor<192x6x32xf32>, tensor<6x32xf32>) -> !heads
  %k = call @to_heads(%norm1, %k_weight, %k_shift)
      : (!features, tensor<192x6x32xf32>, tensor<6x32xf32>) -> !heads
  %v = call @to_heads(%norm1, %v_weight, %v_shift)
      : (!features, tensor<192x6x32xf32>, tensor<6x32xf32>) -> !heads
  %attention_empty = tensor.empty() : !heads
  %attention = na.attention
      ins(%q, %k, %v : !heads, !heads, !heads)
      bias(%position_bias : tensor<6x13x13xf32>)
      outs(%attention_empty : !heads)
      window(<size = [7, 7], dilation = [4, 4]>) -> !heads

  // Projection, layer scale and residual.
  %projection = linalg.contract
      indexing_maps = [#join_in, #join_weight, #join_out]
      ins(%attention, %projection_weight : !heads, tensor<6x32x192xf32>)
      outs(%features_zero : !features) -> !features
  %rsqrt192 = arith.constant 0.0721687824 : f32
  %y1 = linalg.generic {
      indexing_maps = [#all, #feature, #feature, #all, #all],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%projection, %projection_shift, %layer_scale1, %x
          : !features, tensor<192xf32>, tensor<192xf32>, !features)
      outs(%features_empty : !features) {
    ^bb0(%sum: f32, %shift: f32, %scale: f32, %residual: f32, %out: f32):
      %normal = arith.mulf %sum, %rsqrt192 : f32
      %linear = arith.addf %normal, %shift : f32
      %scaled = arith.mulf %linear, %scale : f32
      %value = arith.addf %scaled, %residual : f32
      linalg.yield %value : f32
  } -> !features

  // MLP with GELU in its exact form, x / 2 * (1 + erf(x / sqrt(2))).
  %norm2 = call @layer_norm(%y1, %norm2_gain, %norm2_shift)
      : (!features, tensor<192xf32>, tensor<192xf32>) -> !features
  %hidden_empty = tensor.empty() : !hidden
  %hidden_zero = linalg.fill ins(%zero : f32) outs(%hidden_empty : !hidden)
      -> !hidden
  %mlp1 = linalg.contract
      indexing_maps = [#linear_in, #linear_weight, #linear_out]
      ins(%norm2, %mlp1_weight : !features, tensor<192x384xf32>)
      outs(%hidden_zero : !hidden) -> !hidden
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %rsqrt2 = arith.constant 0.707106781 : f32
  %hidden = linalg.generic {
      indexing_maps = [#all, #feature, #all],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%mlp1, %mlp1_shift : !hidden, tensor<384xf32>)
      outs(%hidden_empty : !hidden) {
    ^bb0(%sum: f32, %shift: f32, %out: f32):
      %normal = arith.mulf %sum, %rsqrt192 : f32
      %linear = arith.addf %normal, %shift : f32
      %argument = arith.mulf %linear, %rsqrt2 : f32
      %erf = math.erf %argument : f32
      %gate = arith.addf %erf, %one : f32
      %halved = arith.mulf %linear, %half : f32
      %value = arith.mulf %halved, %gate : f32
      linalg.yield %value : f32
  } -> !hidden
  %mlp2 = linalg.contract
      indexing_maps = [#linear_in, #linear_weight, #linear_out]
      ins(%hidden, %mlp2_weight : !hidden, tensor<384x192xf32>)
      outs(%features_zero : !features) -> !features
  %rsqrt384 = arith.constant 0.0510310363 : f32
  %y = linalg.generic {
      indexing_maps = [#all, #feature, #feature, #all, #all],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%mlp2, %mlp2_shift, %layer_scale2, %y1
          : !features, tensor<192xf32>, tensor<192xf32>, !features)
      outs(%features_empty : !features) {
    ^bb0(%sum: f32, %shift: f32, %scale: f32, %residual: f32, %out: f32):
      %normal = arith.mulf %sum, %rsqrt384 : f32
      %linear = arith.addf %normal, %shift : f32
      %scaled = arith.mulf %linear, %scale : f32
      %value = arith.addf %scaled, %residual : f32
      linalg.yield %value : f32
  } -> !features
  return %y : !features
}

/// gain * (x - mean) / sqrt(variance + 1e-5) + shift, over the features of
/// each token.
func.func private @layer_norm(%x: !features, %gain: tensor<192xf32>,
                              %shift: tensor<192xf32>) -> !features {
  %zero = arith.constant 0.0 : f32
  %features = arith.constant 192.0 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %empty = tensor.empty() : tensor<2x28x28xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x28x28xf32>)
      -> tensor<2x28x28xf32>
  %sum = linalg.reduce { arith.addf } ins(%x : !features)
      outs(%zeros : tensor<2x28x28xf32>) dimensions = [3]
  %centred_empty = tensor.empty() : !features
  %centred = linalg.generic {
      indexing_maps = [#all, #token, #all],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %sum : !features, tensor<2x28x28xf32>)
      outs(%centred_empty : !features) {
    ^bb0(%value: f32, %total: f32, %out: f32):
      %mean = arith.divf %total, %features : f32
      %difference = arith.subf %value, %mean : f32
      linalg.yield %difference : f32
  } -> !features
  %squares = linalg.reduce ins(%centred : !features)
      outs(%zeros : tensor<2x28x28xf32>) dimensions = [3]
      (%value: f32, %so_far: f32) {
        %square = arith.mulf %value, %value : f32
        %next = arith.addf %square, %so_far : f32
        linalg.yield %next : f32
      }
  %result = linalg.generic {
      indexing_maps = [#all, #token, #feature, #feature, #all],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%centred, %squares, %gain, %shift
          : !features, tensor<2x28x28xf32>, tensor<192xf32>, tensor<192xf32>)
      outs(%centred_empty : !features) {
    ^bb0(%value: f32, %total: f32, %g: f32, %s: f32, %out: f32):
      %variance = arith.divf %total, %features : f32
      %padded = arith.addf %variance, %epsilon : f32
      %factor = math.rsqrt %padded : f32
      %normal = arith.mulf %value, %factor : f32
      %scaled = arith.mulf %normal, %g : f32
      %shifted = arith.addf %scaled, %s : f32
      linalg.yield %shifted : f32
  } -> !features
  return %result : !features
}

/// A linear layer from features to heads.
func.func private @to_heads(%x: !features, %weight: tensor<192x6x32xf32>,
                            %shift: tensor<6x32xf32>) -> !heads {
  %zero = arith.constant 0.0 : f32
  %rsqrt192 = arith.constant 0.0721687824 : f32
  %empty = tensor.empty() : !heads
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : !heads) -> !heads
  %product = linalg.contract
      indexing_maps = [#split_in, #split_weight, #split_out]
      ins(%x, %weight : !features, tensor<192x6x32xf32>)
      outs(%zeros : !heads) -> !heads
  %linear = linalg.generic {
      indexing_maps = [#all_heads, #head, #all_heads],
      iterator_types = ["parallel", "parallel", "parallel", "parallel",
                        "parallel"]}
      ins(%product, %shift : !heads, tensor<6x32xf32>)
      outs(%empty : !heads) {
    ^bb0(%sum: f32, %s: f32, %out: f32):
      %normal = arith.mulf %sum, %rsqrt192 : f32
      %value = arith.addf %normal, %s : f32
      linalg.yield %value : f32
  } -> !heads
  return %linear : !heads
}
