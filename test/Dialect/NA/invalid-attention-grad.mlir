// RUN: na-opt %s --split-input-file --verify-diagnostics

// Operands that na.attention has too are checked as there.

func.func @head_dims(%q: memref<1x9x4x8xf32>, %k: memref<1x9x4x7xf32>, %l: memref<1x9x4xf32>) {
  // expected-error @+1 {{'na.attention_grad' op 'key' dimension 3 (head dim) is 7, expected 8 as in 'query'}}
  na.attention_grad
      ins(%q, %k, %q, %q, %l, %q : memref<1x9x4x8xf32>, memref<1x9x4x7xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4xf32>, memref<1x9x4x8xf32>)
      outs(%q, %k, %q : memref<1x9x4x8xf32>, memref<1x9x4x7xf32>, memref<1x9x4x8xf32>)
      window(<size = [3]>)
  return
}

// -----

func.func @window(%q: memref<1x9x4x8xf32>, %l: memref<1x9x4xf32>) {
  // expected-error @+1 {{'na.attention_grad' op window[0] = 10 times dilation[0] = 1 exceeds the axis length 9}}
  na.attention_grad
      ins(%q, %q, %q, %q, %l, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4xf32>, memref<1x9x4x8xf32>)
      outs(%q, %q, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>)
      window(<size = [10]>)
  return
}

// -----

func.func @lse_type(%q: memref<1x9x4x8xf64>, %l: memref<1x9x4xf32>) {
  // expected-error @+1 {{'na.attention_grad' op 'lse' has element type 'f32', expected 'f64' (f32, or f64 for f64 queries)}}
  na.attention_grad
      ins(%q, %q, %q, %q, %l, %q : memref<1x9x4x8xf64>, memref<1x9x4x8xf64>, memref<1x9x4x8xf64>, memref<1x9x4x8xf64>, memref<1x9x4xf32>, memref<1x9x4x8xf64>)
      outs(%q, %q, %q : memref<1x9x4x8xf64>, memref<1x9x4x8xf64>, memref<1x9x4x8xf64>)
      window(<size = [3]>)
  return
}

// -----

func.func @lse_grad_rank(%q: memref<1x9x4x8xf32>, %l: memref<1x9x4xf32>, %d: memref<9x4xf32>) {
  // expected-error @+1 {{'na.attention_grad' op 'lse_grad' has rank 2, expected 3, [B, X.., Hq]}}
  na.attention_grad
      ins(%q, %q, %q, %q, %l, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4xf32>, memref<1x9x4x8xf32>)
      dlse(%d : memref<9x4xf32>)
      outs(%q, %q, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>)
      window(<size = [3]>)
  return
}

// -----

func.func @output_grad_heads(%q: memref<1x9x4x8xf32>, %do: memref<1x9x2x8xf32>, %l: memref<1x9x4xf32>) {
  // expected-error @+1 {{'na.attention_grad' op 'output_grad' dimension 2 (heads) is 2, expected 4 as in 'query'}}
  na.attention_grad
      ins(%q, %q, %q, %q, %l, %do : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4xf32>, memref<1x9x2x8xf32>)
      outs(%q, %q, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>)
      window(<size = [3]>)
  return
}

// -----

func.func @key_grad_shape(%q: memref<1x9x4x8xf32>, %k: memref<1x9x2x8xf32>, %l: memref<1x9x4xf32>) {
  // expected-error @+1 {{'na.attention_grad' op 'key_grad' dimension 2 (gradient) is 4, expected 2 as in 'key'}}
  na.attention_grad
      ins(%q, %k, %k, %q, %l, %q : memref<1x9x4x8xf32>, memref<1x9x2x8xf32>, memref<1x9x2x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4xf32>, memref<1x9x4x8xf32>)
      outs(%q, %q, %k : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x2x8xf32>)
      window(<size = [3]>)
  return
}

// -----

func.func @query_grad_type(%q: memref<1x9x4x8xbf16>, %dq: memref<1x9x4x8xf32>, %l: memref<1x9x4xf32>) {
  // expected-error @+1 {{'na.attention_dq' op 'query_grad' has element type 'f32', expected 'bf16' (that of 'query')}}
  na.attention_dq
      ins(%q, %q, %q, %q : memref<1x9x4x8xbf16>, memref<1x9x4x8xbf16>, memref<1x9x4x8xbf16>, memref<1x9x4x8xbf16>)
      stats(%l, %l : memref<1x9x4xf32>, memref<1x9x4xf32>)
      outs(%dq : memref<1x9x4x8xf32>) window(<size = [3]>)
  return
}

// -----

func.func @value_grad_rank(%q: memref<1x9x4x8xf32>, %dv: memref<9x4x8xf32>, %l: memref<1x9x4xf32>) {
  // expected-error @+1 {{'na.attention_dkv' op 'value_grad' has rank 3, expected 4, that of 'value'}}
  na.attention_dkv
      ins(%q, %q, %q, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>)
      stats(%l, %l : memref<1x9x4xf32>, memref<1x9x4xf32>)
      outs(%q, %dv : memref<1x9x4x8xf32>, memref<9x4x8xf32>)
      window(<size = [3]>)
  return
}

// -----

func.func @dk_rank(%q: memref<1x9x4x8xf32>, %dk: memref<9x4x8xf32>, %l: memref<1x9x4xf32>) {
  // expected-error @+1 {{'na.attention_dkv' op 'key_grad' has rank 3, expected 4, that of 'key'}}
  na.attention_dkv
      ins(%q, %q, %q, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>)
      stats(%l, %l : memref<1x9x4xf32>, memref<1x9x4xf32>)
      dk(%dk : memref<9x4x8xf32>)
      window(<size = [3]>)
  return
}

// -----

func.func @no_gradient(%q: memref<1x9x4x8xf32>, %l: memref<1x9x4xf32>) {
  // expected-error @+1 {{'na.attention_dkv' op has neither 'key_grad' nor 'value_grad', expected at least one of them}}
  "na.attention_dkv"(%q, %q, %q, %q, %l, %l) <{window = #na.window<size = [3]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0>}>
      : (memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4xf32>, memref<1x9x4xf32>) -> ()
  return
}

// -----

func.func @no_key(%q: memref<1x9x4x8xf32>, %l: memref<1x9x4xf32>) {
  // expected-error @+1 {{'na.attention_dkv' op failed to verify that segments of 'query', 'key', 'value', 'output_grad', 'lse' and 'delta' hold one operand each}}
  "na.attention_dkv"(%q, %q, %q, %l, %l, %q) <{window = #na.window<size = [3]>, operandSegmentSizes = array<i32: 1, 0, 1, 1, 1, 1, 0, 1, 0>}>
      : (memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4xf32>, memref<1x9x4xf32>, memref<1x9x4x8xf32>) -> ()
  return
}

// -----

func.func @destination(%q: memref<1x9x4x8xf32>, %l: memref<1x9x4xf32>) {
  na.attention_dkv
      ins(%q, %q, %q, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>)
      stats(%l, %l : memref<1x9x4xf32>, memref<1x9x4xf32>)
      // expected-error @+1 {{expected 'outs' or 'dk' or 'dv'}}
      dq(%q : memref<1x9x4x8xf32>)
      window(<size = [3]>)
  return
}

// -----

func.func @delta_tokens(%q: memref<1x9x4x8xf32>, %l: memref<1x9x4xf32>, %d: memref<1x8x4xf32>) {
  // expected-error @+1 {{'na.attention_dkv' op 'delta' dimension 1 (axis 0) is 8, expected 9 as in 'query'}}
  na.attention_dkv
      ins(%q, %q, %q, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>)
      stats(%l, %d : memref<1x9x4xf32>, memref<1x8x4xf32>)
      outs(%q, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>)
      window(<size = [3]>)
  return
}

// -----

func.func @schedule_warps(%q: memref<1x9x4x8xf32>, %l: memref<1x9x4xf32>) {
  // The warps of na.attention_dkv own keys.
  na.attention_dkv
      ins(%q, %q, %q, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>)
      stats(%l, %l : memref<1x9x4xf32>, memref<1x9x4xf32>)
      outs(%q, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>)
      window(<size = [3]>)
      {schedule = #na.schedule<target = "sm_80", query_tile = [16], key_tile = [48], warps = 3>}
  // expected-error @+1 {{'na.attention_dkv' op schedule 'warps' = 3 does not divide the 16 keys of 'key_tile'}}
  na.attention_dkv
      ins(%q, %q, %q, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>)
      stats(%l, %l : memref<1x9x4xf32>, memref<1x9x4xf32>)
      outs(%q, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>)
      window(<size = [3]>)
      {schedule = #na.schedule<target = "sm_80", query_tile = [48], key_tile = [16], warps = 3>}
  return
}

// -----

func.func @schedule(%q: memref<1x9x4x8xf32>, %l: memref<1x9x4xf32>) {
  // expected-error @+1 {{'na.attention_dq' op 'schedule' is for 2 axes, expected 1}}
  na.attention_dq
      ins(%q, %q, %q, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>)
      stats(%l, %l : memref<1x9x4xf32>, memref<1x9x4xf32>)
      outs(%q : memref<1x9x4x8xf32>) window(<size = [3]>)
      {schedule = #na.schedule<target = "cpu", query_tile = [4, 4], key_tile = [4, 4]>}
  return
}

// -----

func.func @bias_grad_alone(%q: memref<1x9x4x8xf32>, %l: memref<1x9x4xf32>, %b: memref<4x5xf32>) {
  // expected-error @+1 {{'na.attention_grad' op has 'bias_grad' without 'bias'}}
  na.attention_grad
      ins(%q, %q, %q, %q, %l, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4xf32>, memref<1x9x4x8xf32>)
      outs(%q, %q, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>)
      dbias(%b : memref<4x5xf32>)
      window(<size = [3]>)
  return
}

// -----

func.func @bias_grad_shape(%q: memref<1x9x4x8xf32>, %l: memref<1x9x4xf32>, %b: memref<4x5xf32>, %db: memref<1x5xf32>) {
  // expected-error @+1 {{'na.attention_dbias' op 'bias_grad' dimension 0 (gradient) is 1, expected 4 as in 'bias'}}
  na.attention_dbias
      ins(%q, %q, %q, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>)
      stats(%l, %l : memref<1x9x4xf32>, memref<1x9x4xf32>)
      bias(%b : memref<4x5xf32>) outs(%db : memref<1x5xf32>)
      window(<size = [3]>)
  return
}

// -----

func.func @additional_grad_alone(%q: memref<1x9x4x8xf32>, %l: memref<1x9x4xf32>, %e: memref<1x3x4x8xf32>) {
  // expected-error @+1 {{'na.attention_grad' op has 'additional_key_grad' without 'additional_key'}}
  na.attention_grad
      ins(%q, %q, %q, %q, %l, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4xf32>, memref<1x9x4x8xf32>)
      outs(%q, %q, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>)
      dadditional(%e, %e : memref<1x3x4x8xf32>, memref<1x3x4x8xf32>)
      window(<size = [3]>)
  return
}

// -----

func.func @one_additional_grad(%q: memref<1x9x4x8xf32>, %l: memref<1x9x4xf32>, %e: memref<1x3x4x8xf32>) {
  // expected-error @+1 {{'na.attention_grad' op has 'additional_value_grad' alone, expected both of 'additional_key_grad' and 'additional_value_grad' or neither}}
  "na.attention_grad"(%q, %q, %q, %q, %l, %q, %e, %e, %q, %q, %q, %e)
      <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 0, 1>,
        window = #na.window<size = [3]>}>
      : (memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4xf32>, memref<1x9x4x8xf32>, memref<1x3x4x8xf32>, memref<1x3x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x3x4x8xf32>) -> ()
  return
}

// -----

func.func @segments(%q: memref<1x9x4x8xf32>, %l: memref<1x9x4xf32>) {
  // expected-error @+1 {{segments of 'query', 'key', 'value', 'output_grad', 'lse', 'delta' and 'query_grad' hold one operand each}}
  "na.attention_dq"(%q, %q, %q, %q, %l, %l, %q)
      <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 0, 0>, window = #na.window<size = [3]>}>
      : (memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4xf32>, memref<1x9x4xf32>, memref<1x9x4x8xf32>) -> ()
  return
}

// -----

func.func @results(%q: tensor<1x9x4x8xf32>, %l: tensor<1x9x4xf32>) {
  // expected-error @+1 {{'na.attention_dkv' op has 1 results, expected 2 (one per destination)}}
  %0 = na.attention_dkv
      ins(%q, %q, %q, %q : tensor<1x9x4x8xf32>, tensor<1x9x4x8xf32>, tensor<1x9x4x8xf32>, tensor<1x9x4x8xf32>)
      stats(%l, %l : tensor<1x9x4xf32>, tensor<1x9x4xf32>)
      outs(%q, %q : tensor<1x9x4x8xf32>, tensor<1x9x4x8xf32>)
      window(<size = [3]>) -> tensor<1x9x4x8xf32>
  return
}

// -----

func.func @mixed(%q: memref<1x9x4x8xf32>, %e: memref<1x3x4x8xf32>, %l: tensor<1x9x4xf32>) {
  // expected-error @+1 {{'na.attention_dadditional' op mixes tensors and memrefs: operand 4 is 'tensor<1x9x4xf32>'}}
  na.attention_dadditional
      ins(%q, %q, %e, %e : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x3x4x8xf32>, memref<1x3x4x8xf32>)
      stats(%l, %l : tensor<1x9x4xf32>, tensor<1x9x4xf32>)
      outs(%e, %e : memref<1x3x4x8xf32>, memref<1x3x4x8xf32>)
  return
}

// -----

func.func @additional_heads(%q: memref<1x9x4x8xf32>, %e: memref<1x3x3x8xf32>, %l: memref<1x9x4xf32>) {
  // expected-error @+1 {{'na.attention_dadditional' op 'query' has 4 heads, not a multiple of the 3 heads of 'additional_key'}}
  na.attention_dadditional
      ins(%q, %q, %e, %e : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x3x3x8xf32>, memref<1x3x3x8xf32>)
      stats(%l, %l : memref<1x9x4xf32>, memref<1x9x4xf32>)
      outs(%e, %e : memref<1x3x3x8xf32>, memref<1x3x3x8xf32>)
  return
}

// -----

func.func @additional_ranks(%q: memref<9x4x8xf32>, %e: memref<1x3x4x8xf32>, %l: memref<9x4xf32>) {
  // expected-error @+1 {{'na.attention_dadditional' op 'query' has rank 3, expected 4 to 6, [B, X.., Hq, D]}}
  na.attention_dadditional
      ins(%q, %q, %e, %e : memref<9x4x8xf32>, memref<9x4x8xf32>, memref<1x3x4x8xf32>, memref<1x3x4x8xf32>)
      stats(%l, %l : memref<9x4xf32>, memref<9x4xf32>)
      outs(%e, %e : memref<1x3x4x8xf32>, memref<1x3x4x8xf32>)
  return
}
