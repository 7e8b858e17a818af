//===- layer.mlir - A front end's program with one na operation -----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 14x14 tokens of 64 features, 2 heads of 32, window 7x7:
//   q, k, v = tokens * weight
//   result  = tanh(tokens + attention(q, k, v))
//
//===----------------------------------------------------------------------===//

func.func @layer(%x: tensor<1x14x14x64xf32>, %weight: tensor<1x64x192xf32>)
    -> tensor<1x14x14x64xf32> {
  // Projection.
  %rows_shape = tosa.const_shape {values = dense<[1, 196, 64]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %rows = tosa.reshape %x, %rows_shape : (tensor<1x14x14x64xf32>, !tosa.shape<3>) -> tensor<1x196x64xf32>
  %zero = "tosa.const"() {values = dense<0.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %qkv_rows = tosa.matmul %rows, %weight, %zero, %zero
    : (tensor<1x196x64xf32>, tensor<1x64x192xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x196x192xf32>

  // Two heads each for queries, keys and values.
  %heads_shape = tosa.const_shape {values = dense<[1, 14, 14, 6, 32]> : tensor<5xindex>} : () -> !tosa.shape<5>
  %qkv = tosa.reshape %qkv_rows, %heads_shape : (tensor<1x196x192xf32>, !tosa.shape<5>) -> tensor<1x14x14x6x32xf32>
  %size = tosa.const_shape {values = dense<[1, 14, 14, 2, 32]> : tensor<5xindex>} : () -> !tosa.shape<5>
  %q_start = tosa.const_shape {values = dense<[0, 0, 0, 0, 0]> : tensor<5xindex>} : () -> !tosa.shape<5>
  %k_start = tosa.const_shape {values = dense<[0, 0, 0, 2, 0]> : tensor<5xindex>} : () -> !tosa.shape<5>
  %v_start = tosa.const_shape {values = dense<[0, 0, 0, 4, 0]> : tensor<5xindex>} : () -> !tosa.shape<5>
  %q = tosa.slice %qkv, %q_start, %size : (tensor<1x14x14x6x32xf32>, !tosa.shape<5>, !tosa.shape<5>) -> tensor<1x14x14x2x32xf32>
  %k = tosa.slice %qkv, %k_start, %size : (tensor<1x14x14x6x32xf32>, !tosa.shape<5>, !tosa.shape<5>) -> tensor<1x14x14x2x32xf32>
  %v = tosa.slice %qkv, %v_start, %size : (tensor<1x14x14x6x32xf32>, !tosa.shape<5>, !tosa.shape<5>) -> tensor<1x14x14x2x32xf32>

  %empty = tensor.empty() : tensor<1x14x14x2x32xf32>
  %attention = na.attention
    ins(%q, %k, %v : tensor<1x14x14x2x32xf32>, tensor<1x14x14x2x32xf32>, tensor<1x14x14x2x32xf32>)
    outs(%empty : tensor<1x14x14x2x32xf32>)
    window(<size = [7, 7]>) -> tensor<1x14x14x2x32xf32>

  // Residual and activation.
  %features_shape = tosa.const_shape {values = dense<[1, 14, 14, 64]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %update = tosa.reshape %attention, %features_shape : (tensor<1x14x14x2x32xf32>, !tosa.shape<4>) -> tensor<1x14x14x64xf32>
  %sum = tosa.add %x, %update : (tensor<1x14x14x64xf32>, tensor<1x14x14x64xf32>) -> tensor<1x14x14x64xf32>
  %result = tosa.tanh %sum : (tensor<1x14x14x64xf32>) -> tensor<1x14x14x64xf32>
  return %result : tensor<1x14x14x64xf32>
}
