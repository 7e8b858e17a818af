// RUN: na-opt %s --split-input-file --verify-diagnostics

func.func @scores_type(%q: memref<1x9x4x8xf64>, %s: memref<1x9x4x3xf32>) {
  // expected-error @+1 {{'na.qk_grad' op 'scores_grad' has element type 'f32', expected 'f64' (f32, or f64 for f64 queries)}}
  na.qk_grad ins(%q, %q, %s : memref<1x9x4x8xf64>, memref<1x9x4x8xf64>, memref<1x9x4x3xf32>)
      outs(%q, %q : memref<1x9x4x8xf64>, memref<1x9x4x8xf64>) window(<size = [3]>)
  return
}

// -----

func.func @slots(%q: memref<1x9x4x8xf32>, %s: memref<1x9x4x4xf32>) {
  // expected-error @+1 {{'na.qk_grad' op 'scores_grad' dimension 3 (slots) is 4, expected the product of the window sizes, 3}}
  na.qk_grad ins(%q, %q, %s : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x4xf32>)
      outs(%q, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>) window(<size = [3]>)
  return
}

// -----

func.func @key_grad(%q: memref<1x9x4x8xf32>, %k: memref<1x9x2x8xf32>, %s: memref<1x9x4x3xf32>) {
  // expected-error @+1 {{'na.qk_grad' op 'key_grad' dimension 2 (gradient) is 4, expected 2 as in 'key'}}
  na.qk_grad ins(%q, %k, %s : memref<1x9x4x8xf32>, memref<1x9x2x8xf32>, memref<1x9x4x3xf32>)
      outs(%q, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>) window(<size = [3]>)
  return
}

// -----

func.func @bias_grad(%q: memref<1x9x4x8xf32>, %s: memref<1x9x4x3xf32>, %b: memref<4x3xf32>) {
  // expected-error @+1 {{'na.qk_grad' op 'bias_grad' dimension 1 (axis 0) is 3, expected 2 * window[0] - 1 = 5}}
  na.qk_grad ins(%q, %q, %s : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>, memref<1x9x4x3xf32>)
      outs(%q, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>)
      dbias(%b : memref<4x3xf32>) window(<size = [3]>)
  return
}

// -----

func.func @output_grad(%v: memref<1x9x4x8xbf16>, %o: memref<1x9x4x8xf32>, %w: memref<1x9x4x3xf32>) {
  // expected-error @+1 {{'na.av_grad' op 'output_grad' has element type 'f32', expected 'bf16' (the value's)}}
  na.av_grad ins(%w, %v, %o : memref<1x9x4x3xf32>, memref<1x9x4x8xbf16>, memref<1x9x4x8xf32>)
      outs(%w, %v : memref<1x9x4x3xf32>, memref<1x9x4x8xbf16>) window(<size = [3]>)
  return
}

// -----

func.func @weights_grad(%v: memref<1x9x4x8xbf16>, %w: memref<1x9x4x3xf32>, %dw: memref<1x9x4x3xbf16>) {
  // expected-error @+1 {{'na.av_grad' op 'weights_grad' has element type 'bf16', expected 'f32' (that of 'weights')}}
  na.av_grad ins(%w, %v, %v : memref<1x9x4x3xf32>, memref<1x9x4x8xbf16>, memref<1x9x4x8xbf16>)
      outs(%dw, %v : memref<1x9x4x3xbf16>, memref<1x9x4x8xbf16>) window(<size = [3]>)
  return
}

// -----

func.func @no_part(%o: memref<9x8xf32>, %l: memref<9xf32>) {
  // expected-error @+1 {{'na.merge_grad' op has no part, expected at least 1}}
  "na.merge_grad"(%o) <{operandSegmentSizes = array<i32: 0, 0, 1, 0, 0, 0>}> : (memref<9x8xf32>) -> ()
  return
}

// -----

func.func @parts(%o: memref<9x8xf32>, %l: memref<9xf32>) {
  // expected-error @+1 {{'na.merge_grad' op has 1 'outputs_grad' for 2 'outputs', expected one each}}
  na.merge_grad ins(%o, %o : memref<9x8xf32>, memref<9x8xf32>)
      lses(%l, %l : memref<9xf32>, memref<9xf32>) grad(%o : memref<9x8xf32>)
      outs(%o : memref<9x8xf32>) dlses(%l, %l : memref<9xf32>, memref<9xf32>)
  return
}

// -----

func.func @part_shape(%o: memref<9x8xf32>, %l: memref<9xf32>, %d: memref<9x7xf32>) {
  // expected-error @+1 {{'na.merge_grad' op 'outputs_grad[1]' dimension 1 (gradient) is 7, expected 8 as in 'outputs[1]'}}
  na.merge_grad ins(%o, %o : memref<9x8xf32>, memref<9x8xf32>)
      lses(%l, %l : memref<9xf32>, memref<9xf32>) grad(%o : memref<9x8xf32>)
      outs(%o, %d : memref<9x8xf32>, memref<9x7xf32>)
      dlses(%l, %l : memref<9xf32>, memref<9xf32>)
  return
}

// -----

func.func @lse_grad(%o: memref<9x8xf32>, %l: memref<9xf32>, %d: memref<9xf64>) {
  // expected-error @+1 {{'na.merge_grad' op 'lse_grad' has element type 'f64', expected 'f32' (as 'lses[0]')}}
  na.merge_grad ins(%o : memref<9x8xf32>) lses(%l : memref<9xf32>)
      grad(%o : memref<9x8xf32>) dlse(%d : memref<9xf64>)
      outs(%o : memref<9x8xf32>) dlses(%l : memref<9xf32>)
  return
}

// -----

func.func @dq_heads(%q: memref<1x9x3x8xf32>, %k: memref<1x9x2x8xf32>, %s: memref<1x9x3x3xf32>) {
  // expected-error @+1 {{'na.qk_dq' op 'query_grad' has 3 heads, not a multiple of the 2 heads of 'key'}}
  na.qk_dq ins(%k, %s : memref<1x9x2x8xf32>, memref<1x9x3x3xf32>)
      outs(%q : memref<1x9x3x8xf32>) window(<size = [3]>)
  return
}

// -----

func.func @dq_type(%q: memref<1x9x4x8xf32>, %k: memref<1x9x4x8xbf16>, %s: memref<1x9x4x3xf32>) {
  // expected-error @+1 {{'na.qk_dq' op 'key' has element type 'bf16', expected 'f32' (the query's)}}
  na.qk_dq ins(%k, %s : memref<1x9x4x8xbf16>, memref<1x9x4x3xf32>)
      outs(%q : memref<1x9x4x8xf32>) window(<size = [3]>)
  return
}

// -----

func.func @dk_slots(%q: memref<1x9x4x8xf32>, %s: memref<1x9x4x4xf32>) {
  // expected-error @+1 {{'na.qk_dk' op 'scores_grad' dimension 3 (slots) is 4, expected the product of the window sizes, 3}}
  na.qk_dk ins(%q, %s : memref<1x9x4x8xf32>, memref<1x9x4x4xf32>)
      outs(%q : memref<1x9x4x8xf32>) window(<size = [3]>)
  return
}

// -----

func.func @dk_channels(%q: memref<1x9x4x8xf32>, %k: memref<1x9x4x7xf32>, %s: memref<1x9x4x3xf32>) {
  // expected-error @+1 {{'na.qk_dk' op 'key_grad' dimension 3 (head dim) is 7, expected 8 as in 'query'}}
  na.qk_dk ins(%q, %s : memref<1x9x4x8xf32>, memref<1x9x4x3xf32>)
      outs(%k : memref<1x9x4x7xf32>) window(<size = [3]>)
  return
}

// -----

func.func @dbias_entries(%s: memref<1x9x4x3xf32>, %b: memref<4x3xf32>) {
  // expected-error @+1 {{'na.qk_dbias' op 'bias_grad' dimension 1 (axis 0) is 3, expected 2 * window[0] - 1 = 5}}
  na.qk_dbias ins(%s : memref<1x9x4x3xf32>) outs(%b : memref<4x3xf32>) window(<size = [3]>)
  return
}

// -----

func.func @dbias_heads(%s: memref<1x9x4x3xf32>, %b: memref<2x5xf32>) {
  // expected-error @+1 {{'na.qk_dbias' op 'bias_grad' dimension 0 (heads) is 2, expected 4 as in 'scores_grad'}}
  na.qk_dbias ins(%s : memref<1x9x4x3xf32>) outs(%b : memref<2x5xf32>) window(<size = [3]>)
  return
}

// -----

func.func @dweights_rank(%v: memref<1x9x4x8xf32>, %w: memref<1x9x3xf32>) {
  // expected-error @+1 {{'na.av_dweights' op 'weights_grad' has rank 3, expected 4, [B, X.., Hq, prod(size)]}}
  na.av_dweights ins(%v, %v : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>)
      outs(%w : memref<1x9x3xf32>) window(<size = [3]>)
  return
}

// -----

func.func @dv_type(%v: memref<1x9x4x8xbf16>, %o: memref<1x9x4x8xf32>, %w: memref<1x9x4x3xf32>) {
  // expected-error @+1 {{'na.av_dv' op 'output_grad' has element type 'f32', expected 'bf16' (the value's)}}
  na.av_dv ins(%w, %o : memref<1x9x4x3xf32>, memref<1x9x4x8xf32>)
      outs(%v : memref<1x9x4x8xbf16>) window(<size = [3]>)
  return
}

// -----

func.func @dv_window(%v: memref<1x9x4x8xf32>, %w: memref<1x9x4x10xf32>) {
  // expected-error @+1 {{'na.av_dv' op window[0] = 10 times dilation[0] = 1 exceeds the axis length 9}}
  na.av_dv ins(%w, %v : memref<1x9x4x10xf32>, memref<1x9x4x8xf32>)
      outs(%v : memref<1x9x4x8xf32>) window(<size = [10]>)
  return
}
