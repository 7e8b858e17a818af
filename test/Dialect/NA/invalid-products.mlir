// RUN: na-opt %s --split-input-file --verify-diagnostics

func.func @qk_mixed(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                    %c: memref<2x8x4x3xf32>) {
  // expected-error @+1 {{'na.qk' op mixes tensors and memrefs: operand 2 is 'memref<2x8x4x3xf32>'}}
  na.qk
      ins(%a, %b : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%c : memref<2x8x4x3xf32>)
      window(<size = [3]>)
  return
}

// -----

func.func @qk_no_result(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                        %c: tensor<2x8x4x3xf32>) {
  // expected-error @+1 {{'na.qk' op has 0 results, expected 1 (one per destination)}}
  na.qk
      ins(%a, %b : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%c : tensor<2x8x4x3xf32>)
      window(<size = [3]>)
  return
}

// -----

func.func @qk_query_rank(%a: tensor<2x8x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                         %c: tensor<2x8x4x3xf32>) {
  // expected-error @+1 {{'na.qk' op 'query' has rank 5, expected 4, [B, X.., Hq, D]}}
  %0 = na.qk
      ins(%a, %b : tensor<2x8x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%c : tensor<2x8x4x3xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x3xf32>
  return
}

// -----

func.func @qk_key_rank(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x8x4x16xf32>,
                       %c: tensor<2x8x4x3xf32>) {
  // expected-error @+1 {{'na.qk' op 'key' has rank 5, expected 4, [B, X.., Hkv, D]}}
  %0 = na.qk
      ins(%a, %b : tensor<2x8x4x16xf32>, tensor<2x8x8x4x16xf32>)
      outs(%c : tensor<2x8x4x3xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x3xf32>
  return
}

// -----

func.func @qk_scores_rank(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                          %c: tensor<2x8x4xf32>) {
  // expected-error @+1 {{'na.qk' op 'scores' has rank 3, expected 4, [B, X.., Hq, prod(size)]}}
  %0 = na.qk
      ins(%a, %b : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%c : tensor<2x8x4xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4xf32>
  return
}

// -----

func.func @qk_key_type(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf16>,
                       %c: tensor<2x8x4x3xf32>) {
  // expected-error @+1 {{'na.qk' op 'key' has element type 'f16', expected 'f32' (the query's)}}
  %0 = na.qk
      ins(%a, %b : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf16>)
      outs(%c : tensor<2x8x4x3xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x3xf32>
  return
}

// -----

func.func @qk_scores_type(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                          %c: tensor<2x8x4x3xf64>) {
  // expected-error @+1 {{'na.qk' op 'scores' has element type 'f64', expected 'f32' (f32, or f64 for f64 queries)}}
  %0 = na.qk
      ins(%a, %b : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%c : tensor<2x8x4x3xf64>)
      window(<size = [3]>)
      -> tensor<2x8x4x3xf64>
  return
}

// -----

func.func @qk_half_scores(%a: tensor<2x8x4x16xf16>, %b: tensor<2x8x4x16xf16>,
                          %c: tensor<2x8x4x3xf16>) {
  // expected-error @+1 {{'na.qk' op operand #2 must be ranked tensor or memref of f32 or f64, but got 'tensor<2x8x4x3xf16>'}}
  %0 = na.qk
      ins(%a, %b : tensor<2x8x4x16xf16>, tensor<2x8x4x16xf16>)
      outs(%c : tensor<2x8x4x3xf16>)
      window(<size = [3]>)
      -> tensor<2x8x4x3xf16>
  return
}

// -----

func.func @qk_key_length(%a: tensor<2x8x4x16xf32>, %b: tensor<2x9x4x16xf32>,
                         %c: tensor<2x8x4x3xf32>) {
  // expected-error @+1 {{'na.qk' op 'key' dimension 1 (axis 0) is 9, expected 8 as in 'query'}}
  %0 = na.qk
      ins(%a, %b : tensor<2x8x4x16xf32>, tensor<2x9x4x16xf32>)
      outs(%c : tensor<2x8x4x3xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x3xf32>
  return
}

// -----

func.func @qk_scores_batch(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                           %c: tensor<1x8x4x3xf32>) {
  // expected-error @+1 {{'na.qk' op 'scores' dimension 0 (batch) is 1, expected 2 as in 'query'}}
  %0 = na.qk
      ins(%a, %b : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%c : tensor<1x8x4x3xf32>)
      window(<size = [3]>)
      -> tensor<1x8x4x3xf32>
  return
}

// -----

func.func @qk_scores_heads(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                           %c: tensor<2x8x2x3xf32>) {
  // expected-error @+1 {{'na.qk' op 'scores' dimension 2 (heads) is 2, expected 4 as in 'query'}}
  %0 = na.qk
      ins(%a, %b : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%c : tensor<2x8x2x3xf32>)
      window(<size = [3]>)
      -> tensor<2x8x2x3xf32>
  return
}

// -----

func.func @qk_heads(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x3x16xf32>,
                    %c: tensor<2x8x4x3xf32>) {
  // expected-error @+1 {{'na.qk' op 'query' has 4 heads, not a multiple of the 3 heads of 'key'}}
  %0 = na.qk
      ins(%a, %b : tensor<2x8x4x16xf32>, tensor<2x8x3x16xf32>)
      outs(%c : tensor<2x8x4x3xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x3xf32>
  return
}

// -----

func.func @qk_head_dim(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x8xf32>,
                       %c: tensor<2x8x4x3xf32>) {
  // expected-error @+1 {{'na.qk' op 'key' dimension 3 (head dim) is 8, expected 16 as in 'query'}}
  %0 = na.qk
      ins(%a, %b : tensor<2x8x4x16xf32>, tensor<2x8x4x8xf32>)
      outs(%c : tensor<2x8x4x3xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x3xf32>
  return
}

// -----

func.func @qk_no_head_dim(%a: tensor<2x8x4x0xf32>, %b: tensor<2x8x4x0xf32>,
                          %c: tensor<2x8x4x3xf32>) {
  // expected-error @+1 {{'na.qk' op 'query' dimension 3 (channels) is 0, expected at least 1}}
  %0 = na.qk
      ins(%a, %b : tensor<2x8x4x0xf32>, tensor<2x8x4x0xf32>)
      outs(%c : tensor<2x8x4x3xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x3xf32>
  return
}

// -----

func.func @qk_window(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                     %c: tensor<2x8x4x9xf32>) {
  // expected-error @+1 {{'na.qk' op window[0] = 9 times dilation[0] = 1 exceeds the axis length 8}}
  %0 = na.qk
      ins(%a, %b : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%c : tensor<2x8x4x9xf32>)
      window(<size = [9]>)
      -> tensor<2x8x4x9xf32>
  return
}

// -----

func.func @qk_slots(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                    %c: tensor<2x8x4x4xf32>) {
  // expected-error @+1 {{'na.qk' op 'scores' dimension 3 (slots) is 4, expected the product of the window sizes, 3}}
  %0 = na.qk
      ins(%a, %b : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%c : tensor<2x8x4x4xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x4xf32>
  return
}

// -----

func.func @qk_slots_overflow(%a: tensor<2x?x?x4x16xf32>,
                             %b: tensor<2x?x?x4x16xf32>,
                             %c: tensor<2x?x?x4x?xf32>) {
  // expected-error @+1 {{'na.qk' op the product of the window sizes is too large for 'scores': it exceeds 64 bits}}
  %0 = na.qk
      ins(%a, %b : tensor<2x?x?x4x16xf32>, tensor<2x?x?x4x16xf32>)
      outs(%c : tensor<2x?x?x4x?xf32>)
      window(<size = [4294967296, 4294967296]>)
      -> tensor<2x?x?x4x?xf32>
  return
}

// -----

func.func @qk_bias(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                   %c: tensor<4x4xf32>, %d: tensor<2x8x4x3xf32>) {
  // expected-error @+1 {{'na.qk' op 'bias' dimension 1 (axis 0) is 4, expected 2 * window[0] - 1 = 5}}
  %0 = na.qk
      ins(%a, %b : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      bias(%c : tensor<4x4xf32>)
      outs(%d : tensor<2x8x4x3xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x3xf32>
  return
}

// -----

func.func @qk_scale(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                    %c: tensor<2x8x4x3xf32>) {
  // expected-error @+1 {{'na.qk' op 'scale' is not finite}}
  %0 = na.qk
      ins(%a, %b : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%c : tensor<2x8x4x3xf32>)
      window(<size = [3]>)
      {scale = 0xFFF0000000000000 : f64}
      -> tensor<2x8x4x3xf32>
  return
}

// -----

func.func @qk_schedule(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                       %c: tensor<2x8x4x3xf32>) {
  // expected-error @+1 {{'na.qk' op 'schedule' is for 2 axes, expected 1}}
  %0 = na.qk
      ins(%a, %b : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%c : tensor<2x8x4x3xf32>)
      window(<size = [3]>)
      {schedule = #na.schedule<target = "cpu", query_tile = [4, 4], key_tile = [6, 6]>}
      -> tensor<2x8x4x3xf32>
  return
}

// -----

func.func @av_mixed(%a: tensor<2x8x4x3xf32>, %b: memref<2x8x4x16xf32>,
                    %c: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.av' op mixes tensors and memrefs: operand 1 is 'memref<2x8x4x16xf32>'}}
  %0 = na.av
      ins(%a, %b : tensor<2x8x4x3xf32>, memref<2x8x4x16xf32>)
      outs(%c : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @av_result_type(%a: tensor<2x8x4x3xf32>, %b: tensor<2x8x4x16xf32>,
                          %c: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.av' op result 0 is 'tensor<2x8x4x?xf32>', expected the destination's type 'tensor<2x8x4x16xf32>'}}
  %0 = na.av
      ins(%a, %b : tensor<2x8x4x3xf32>, tensor<2x8x4x16xf32>)
      outs(%c : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x?xf32>
  return
}

// -----

func.func @av_value_rank(%a: tensor<2x8x4x3xf32>, %b: tensor<2x8x8x4x16xf32>,
                         %c: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.av' op 'value' has rank 5, expected 4, [B, X.., Hkv, Dv]}}
  %0 = na.av
      ins(%a, %b : tensor<2x8x4x3xf32>, tensor<2x8x8x4x16xf32>)
      outs(%c : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @av_output_rank(%a: tensor<2x8x4x3xf32>, %b: tensor<2x8x4x16xf32>,
                          %c: tensor<2x8x8x4x16xf32>) {
  // expected-error @+1 {{'na.av' op 'output' has rank 5, expected 4, [B, X.., Hq, Dv]}}
  %0 = na.av
      ins(%a, %b : tensor<2x8x4x3xf32>, tensor<2x8x4x16xf32>)
      outs(%c : tensor<2x8x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x8x4x16xf32>
  return
}

// -----

func.func @av_weights_rank(%a: tensor<2x8x4xf32>, %b: tensor<2x8x4x16xf32>,
                           %c: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.av' op 'weights' has rank 3, expected 4, [B, X.., Hq, prod(size)]}}
  %0 = na.av
      ins(%a, %b : tensor<2x8x4xf32>, tensor<2x8x4x16xf32>)
      outs(%c : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @av_output_type(%a: tensor<2x8x4x3xf32>, %b: tensor<2x8x4x16xf16>,
                          %c: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.av' op 'output' has element type 'f32', expected 'f16' (the value's)}}
  %0 = na.av
      ins(%a, %b : tensor<2x8x4x3xf32>, tensor<2x8x4x16xf16>)
      outs(%c : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @av_integer_weights(%a: tensor<2x8x4x3xi8>, %b: tensor<2x8x4x16xf32>,
                              %c: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.av' op operand #0 must be ranked tensor or memref of f64, f32, f16 or bf16, but got 'tensor<2x8x4x3xi8>'}}
  %0 = na.av
      ins(%a, %b : tensor<2x8x4x3xi8>, tensor<2x8x4x16xf32>)
      outs(%c : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @av_weights_length(%a: tensor<2x9x4x3xf32>, %b: tensor<2x8x4x16xf32>,
                             %c: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.av' op 'weights' dimension 1 (axis 0) is 9, expected 8 as in 'value'}}
  %0 = na.av
      ins(%a, %b : tensor<2x9x4x3xf32>, tensor<2x8x4x16xf32>)
      outs(%c : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @av_output_batch(%a: tensor<2x8x4x3xf32>, %b: tensor<2x8x4x16xf32>,
                           %c: tensor<1x8x4x16xf32>) {
  // expected-error @+1 {{'na.av' op 'output' dimension 0 (batch) is 1, expected 2 as in 'value'}}
  %0 = na.av
      ins(%a, %b : tensor<2x8x4x3xf32>, tensor<2x8x4x16xf32>)
      outs(%c : tensor<1x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<1x8x4x16xf32>
  return
}

// -----

func.func @av_output_heads(%a: tensor<2x8x4x3xf32>, %b: tensor<2x8x4x16xf32>,
                           %c: tensor<2x8x2x16xf32>) {
  // expected-error @+1 {{'na.av' op 'output' dimension 2 (heads) is 2, expected 4 as in 'weights'}}
  %0 = na.av
      ins(%a, %b : tensor<2x8x4x3xf32>, tensor<2x8x4x16xf32>)
      outs(%c : tensor<2x8x2x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x2x16xf32>
  return
}

// -----

func.func @av_heads(%a: tensor<2x8x4x3xf32>, %b: tensor<2x8x3x16xf32>,
                    %c: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.av' op 'weights' has 4 heads, not a multiple of the 3 heads of 'value'}}
  %0 = na.av
      ins(%a, %b : tensor<2x8x4x3xf32>, tensor<2x8x3x16xf32>)
      outs(%c : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @av_value_dim(%a: tensor<2x8x4x3xf32>, %b: tensor<2x8x4x16xf32>,
                        %c: tensor<2x8x4x24xf32>) {
  // expected-error @+1 {{'na.av' op 'output' dimension 3 (value dim) is 24, expected 16 as in 'value'}}
  %0 = na.av
      ins(%a, %b : tensor<2x8x4x3xf32>, tensor<2x8x4x16xf32>)
      outs(%c : tensor<2x8x4x24xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x24xf32>
  return
}

// -----

func.func @av_no_value_dim(%a: tensor<2x8x4x3xf32>, %b: tensor<2x8x4x0xf32>,
                           %c: tensor<2x8x4x0xf32>) {
  // expected-error @+1 {{'na.av' op 'value' dimension 3 (channels) is 0, expected at least 1}}
  %0 = na.av
      ins(%a, %b : tensor<2x8x4x3xf32>, tensor<2x8x4x0xf32>)
      outs(%c : tensor<2x8x4x0xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x0xf32>
  return
}

// -----

func.func @av_window(%a: tensor<2x8x4x3xf32>, %b: tensor<2x8x4x16xf32>,
                     %c: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.av' op window[0] = 3 times dilation[0] = 3 exceeds the axis length 8}}
  %0 = na.av
      ins(%a, %b : tensor<2x8x4x3xf32>, tensor<2x8x4x16xf32>)
      outs(%c : tensor<2x8x4x16xf32>)
      window(<size = [3], dilation = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @av_slots(%a: tensor<2x8x4x4xf32>, %b: tensor<2x8x4x16xf32>,
                    %c: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.av' op 'weights' dimension 3 (slots) is 4, expected the product of the window sizes, 3}}
  %0 = na.av
      ins(%a, %b : tensor<2x8x4x4xf32>, tensor<2x8x4x16xf32>)
      outs(%c : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @av_slots_overflow(%a: tensor<2x?x?x4x?xf32>,
                             %b: tensor<2x?x?x4x16xf32>,
                             %c: tensor<2x?x?x4x16xf32>) {
  // expected-error @+1 {{'na.av' op the product of the window sizes is too large for 'weights': it exceeds 64 bits}}
  %0 = na.av
      ins(%a, %b : tensor<2x?x?x4x?xf32>, tensor<2x?x?x4x16xf32>)
      outs(%c : tensor<2x?x?x4x16xf32>)
      window(<size = [4294967296, 4294967296]>)
      -> tensor<2x?x?x4x16xf32>
  return
}

// -----

func.func @av_schedule(%a: tensor<2x8x4x3xf32>, %b: tensor<2x8x4x16xf32>,
                       %c: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.av' op 'schedule' is for 2 axes, expected 1}}
  %0 = na.av
      ins(%a, %b : tensor<2x8x4x3xf32>, tensor<2x8x4x16xf32>)
      outs(%c : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      {schedule = #na.schedule<target = "cpu", query_tile = [4, 4], key_tile = [6, 6]>}
      -> tensor<2x8x4x16xf32>
  return
}
