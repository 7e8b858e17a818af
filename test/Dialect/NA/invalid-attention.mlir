// RUN: na-opt %s --split-input-file --verify-diagnostics

func.func @mixed_output(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                        %c: tensor<2x8x4x16xf32>, %d: memref<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op mixes tensors and memrefs: operand 3 is 'memref<2x8x4x16xf32>'}}
  na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d : memref<2x8x4x16xf32>)
      window(<size = [3]>)
  return
}

// -----

func.func @mixed_value(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                       %c: memref<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op mixes tensors and memrefs: operand 2 is 'memref<2x8x4x16xf32>'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, memref<2x8x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @no_result(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                     %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op has 0 results, expected 1 (one per destination)}}
  na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
  return
}

// -----

func.func @result_of_memref(%a: memref<2x8x4x16xf32>, %b: memref<2x8x4x16xf32>,
                            %c: memref<2x8x4x16xf32>,
                            %d: memref<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op has 1 results, expected 0 (memref destinations)}}
  %0 = na.attention
      ins(%a, %b, %c : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>, memref<2x8x4x16xf32>)
      outs(%d : memref<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @too_few_results(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                           %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>,
                           %e: tensor<2x8x4xf32>) {
  // expected-error @+1 {{'na.attention' op has 1 results, expected 2 (one per destination)}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d, %e : tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @result_type(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                       %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op result 0 is 'tensor<2x?x4x16xf32>', expected the destination's type 'tensor<2x8x4x16xf32>'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x?x4x16xf32>
  return
}

// -----

func.func @query_rank(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                      %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'query' has rank 4, expected 5, [B, X.., Hq, D]}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3, 3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @key_rank(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x8x4x16xf32>,
                    %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'key' has rank 5, expected 4, [B, X.., Hkv, D]}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @value_rank(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                      %c: tensor<2x8x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'value' has rank 5, expected 4, [B, X.., Hkv, Dv]}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x8x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @output_rank(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                       %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'output' has rank 5, expected 4, [B, X.., Hq, Dv]}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x8x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x8x4x16xf32>
  return
}

// -----

func.func @lse_rank(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                    %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>,
                    %e: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'lse' has rank 4, expected 3, [B, X.., Hq]}}
  %0:2 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d, %e : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>
  return
}

// -----

func.func @bias_rank(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                     %c: tensor<2x8x4x16xf32>, %d: tensor<4x5x5xf32>,
                     %e: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'bias' has rank 3, expected 2, [Hq, 2 * size - 1 per axis]}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      bias(%d : tensor<4x5x5xf32>)
      outs(%e : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @additional_key_rank(%a: tensor<2x8x4x16xf32>,
                               %b: tensor<2x8x4x16xf32>,
                               %c: tensor<2x8x4x16xf32>,
                               %d: tensor<2x3x16xf32>,
                               %e: tensor<2x3x4x16xf32>,
                               %f: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'additional_key' has rank 3, expected 4, [B, T, Hkv, D]}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      additional(%d, %e : tensor<2x3x16xf32>, tensor<2x3x4x16xf32>)
      outs(%f : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @additional_value_rank(%a: tensor<2x8x4x16xf32>,
                                 %b: tensor<2x8x4x16xf32>,
                                 %c: tensor<2x8x4x16xf32>,
                                 %d: tensor<2x3x4x16xf32>,
                                 %e: tensor<2x3x16xf32>,
                                 %f: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'additional_value' has rank 3, expected 4, [B, T, Hkv, Dv]}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      additional(%d, %e : tensor<2x3x4x16xf32>, tensor<2x3x16xf32>)
      outs(%f : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @key_type(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf16>,
                    %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'key' has element type 'f16', expected 'f32' (the query's)}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf16>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @value_type(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                      %c: tensor<2x8x4x16xf16>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'value' has element type 'f16', expected 'f32' (the query's)}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf16>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @output_type(%a: tensor<2x8x4x16xbf16>, %b: tensor<2x8x4x16xbf16>,
                       %c: tensor<2x8x4x16xbf16>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'output' has element type 'f32', expected 'bf16' (the query's)}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @bias_type(%a: tensor<2x8x4x16xf16>, %b: tensor<2x8x4x16xf16>,
                     %c: tensor<2x8x4x16xf16>, %d: tensor<4x5xbf16>,
                     %e: tensor<2x8x4x16xf16>) {
  // expected-error @+1 {{'na.attention' op 'bias' has element type 'bf16', expected f32 or 'f16' (the query's)}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf16>, tensor<2x8x4x16xf16>, tensor<2x8x4x16xf16>)
      bias(%d : tensor<4x5xbf16>)
      outs(%e : tensor<2x8x4x16xf16>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf16>
  return
}

// -----

func.func @lse_type(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                    %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>,
                    %e: tensor<2x8x4xf64>) {
  // expected-error @+1 {{'na.attention' op 'lse' has element type 'f64', expected 'f32' (f32, or f64 for f64 queries)}}
  %0:2 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d, %e : tensor<2x8x4x16xf32>, tensor<2x8x4xf64>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>, tensor<2x8x4xf64>
  return
}

// -----

func.func @lse_type_f64(%a: tensor<2x8x4x16xf64>, %b: tensor<2x8x4x16xf64>,
                        %c: tensor<2x8x4x16xf64>, %d: tensor<2x8x4x16xf64>,
                        %e: tensor<2x8x4xf32>) {
  // expected-error @+1 {{'na.attention' op 'lse' has element type 'f32', expected 'f64' (f32, or f64 for f64 queries)}}
  %0:2 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf64>, tensor<2x8x4x16xf64>, tensor<2x8x4x16xf64>)
      outs(%d, %e : tensor<2x8x4x16xf64>, tensor<2x8x4xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf64>, tensor<2x8x4xf32>
  return
}

// -----

func.func @additional_key_type(%a: tensor<2x8x4x16xf32>,
                               %b: tensor<2x8x4x16xf32>,
                               %c: tensor<2x8x4x16xf32>,
                               %d: tensor<2x3x4x16xf64>,
                               %e: tensor<2x3x4x16xf32>,
                               %f: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'additional_key' has element type 'f64', expected 'f32' (the query's)}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      additional(%d, %e : tensor<2x3x4x16xf64>, tensor<2x3x4x16xf32>)
      outs(%f : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @additional_value_type(%a: tensor<2x8x4x16xf32>,
                                 %b: tensor<2x8x4x16xf32>,
                                 %c: tensor<2x8x4x16xf32>,
                                 %d: tensor<2x3x4x16xf32>,
                                 %e: tensor<2x3x4x16xf64>,
                                 %f: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'additional_value' has element type 'f64', expected 'f32' (the query's)}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      additional(%d, %e : tensor<2x3x4x16xf32>, tensor<2x3x4x16xf64>)
      outs(%f : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @integer_query(%a: tensor<2x8x4x16xi32>, %b: tensor<2x8x4x16xf32>,
                         %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op operand #0 must be ranked tensor or memref of f64, f32, f16 or bf16, but got 'tensor<2x8x4x16xi32>'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xi32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @unranked_key(%a: tensor<2x8x4x16xf32>, %b: tensor<*xf32>,
                        %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op operand #1 must be ranked tensor or memref of f64, f32, f16 or bf16, but got 'tensor<*xf32>'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<*xf32>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @unranked_memref(%a: memref<2x8x4x16xf32>, %b: memref<2x8x4x16xf32>,
                           %c: memref<2x8x4x16xf32>, %d: memref<*xf32>) {
  // expected-error @+1 {{'na.attention' op operand #3 must be ranked tensor or memref of f64, f32, f16 or bf16, but got 'memref<*xf32>'}}
  na.attention
      ins(%a, %b, %c : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>, memref<2x8x4x16xf32>)
      outs(%d : memref<*xf32>)
      window(<size = [3]>)
  return
}

// -----

func.func @vector_value(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                        %c: vector<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op operand #2 must be ranked tensor or memref of f64, f32, f16 or bf16, but got 'vector<2x8x4x16xf32>'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, vector<2x8x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @scalar_bias(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                       %c: tensor<2x8x4x16xf32>, %d: f32,
                       %e: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op operand #3 must be ranked tensor or memref of f64, f32, f16 or bf16, but got 'f32'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      bias(%d : f32)
      outs(%e : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @f8_query(%a: tensor<2x8x4x16xf8E5M2>, %b: tensor<2x8x4x16xf32>,
                    %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op operand #0 must be ranked tensor or memref of f64, f32, f16 or bf16, but got 'tensor<2x8x4x16xf8E5M2>'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf8E5M2>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @half_lse(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                    %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>,
                    %e: tensor<2x8x4xf16>) {
  // expected-error @+1 {{'na.attention' op operand #4 must be ranked tensor or memref of f32 or f64, but got 'tensor<2x8x4xf16>'}}
  %0:2 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d, %e : tensor<2x8x4x16xf32>, tensor<2x8x4xf16>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>, tensor<2x8x4xf16>
  return
}
