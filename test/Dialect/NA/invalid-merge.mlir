// RUN: na-opt %s --split-input-file --verify-diagnostics

func.func @counts(%a: tensor<4x16xf32>, %b: tensor<4x16xf32>,
                  %c: tensor<4xf32>, %d: tensor<4x16xf32>) {
  // expected-error @+1 {{'na.merge' op has 2 outputs and 1 LSEs, expected as many LSEs as outputs}}
  %0 = na.merge
      ins(%a, %b : tensor<4x16xf32>, tensor<4x16xf32>)
      lses(%c : tensor<4xf32>)
      outs(%d : tensor<4x16xf32>)
      -> tensor<4x16xf32>
  return
}

// -----

func.func @mixed(%a: tensor<4x16xf32>, %b: memref<4xf32>,
                 %c: tensor<4x16xf32>) {
  // expected-error @+1 {{'na.merge' op mixes tensors and memrefs: operand 1 is 'memref<4xf32>'}}
  %0 = na.merge
      ins(%a : tensor<4x16xf32>)
      lses(%b : memref<4xf32>)
      outs(%c : tensor<4x16xf32>)
      -> tensor<4x16xf32>
  return
}

// -----

func.func @no_result(%a: tensor<4x16xf32>, %b: tensor<4xf32>,
                     %c: tensor<4x16xf32>) {
  // expected-error @+1 {{'na.merge' op has 0 results, expected 1 (one per destination)}}
  na.merge
      ins(%a : tensor<4x16xf32>)
      lses(%b : tensor<4xf32>)
      outs(%c : tensor<4x16xf32>)
  return
}

// -----

func.func @rank_zero(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>) {
  // expected-error @+1 {{'na.merge' op 'output' has rank 0, expected [.., Dv]}}
  %0 = na.merge
      ins(%a : tensor<f32>)
      lses(%b : tensor<f32>)
      outs(%c : tensor<f32>)
      -> tensor<f32>
  return
}

// -----

func.func @output_rank(%a: tensor<4x16xf32>, %b: tensor<4x4x16xf32>,
                       %c: tensor<4xf32>, %d: tensor<4xf32>,
                       %e: tensor<4x16xf32>) {
  // expected-error @+1 {{'na.merge' op 'outputs[1]' has rank 3, expected 2, that of 'output'}}
  %0 = na.merge
      ins(%a, %b : tensor<4x16xf32>, tensor<4x4x16xf32>)
      lses(%c, %d : tensor<4xf32>, tensor<4xf32>)
      outs(%e : tensor<4x16xf32>)
      -> tensor<4x16xf32>
  return
}

// -----

func.func @lse_rank(%a: tensor<4x16xf32>, %b: tensor<4x16xf32>,
                    %c: tensor<4xf32>, %d: tensor<4x16xf32>,
                    %e: tensor<4x16xf32>) {
  // expected-error @+1 {{'na.merge' op 'lses[1]' has rank 2, expected 1, that of 'output' without Dv}}
  %0 = na.merge
      ins(%a, %b : tensor<4x16xf32>, tensor<4x16xf32>)
      lses(%c, %d : tensor<4xf32>, tensor<4x16xf32>)
      outs(%e : tensor<4x16xf32>)
      -> tensor<4x16xf32>
  return
}

// -----

func.func @destination_lse_rank(%a: tensor<4x16xf32>, %b: tensor<4xf32>,
                                %c: tensor<4x16xf32>, %d: tensor<4x16xf32>) {
  // expected-error @+1 {{'na.merge' op 'lse' has rank 2, expected 1, that of 'output' without Dv}}
  %0:2 = na.merge
      ins(%a : tensor<4x16xf32>)
      lses(%b : tensor<4xf32>)
      outs(%c, %d : tensor<4x16xf32>, tensor<4x16xf32>)
      -> tensor<4x16xf32>, tensor<4x16xf32>
  return
}

// -----

func.func @lse_type(%a: tensor<4x16xf32>, %b: tensor<4x16xf32>,
                    %c: tensor<4xf32>, %d: tensor<4xf64>,
                    %e: tensor<4x16xf32>) {
  // expected-error @+1 {{'na.merge' op 'lses[1]' has element type 'f64', expected 'f32' (as 'lses[0]')}}
  %0 = na.merge
      ins(%a, %b : tensor<4x16xf32>, tensor<4x16xf32>)
      lses(%c, %d : tensor<4xf32>, tensor<4xf64>)
      outs(%e : tensor<4x16xf32>)
      -> tensor<4x16xf32>
  return
}

// -----

func.func @destination_lse_type(%a: tensor<4x16xf64>, %b: tensor<4xf64>,
                                %c: tensor<4x16xf64>, %d: tensor<4xf32>) {
  // expected-error @+1 {{'na.merge' op 'lse' has element type 'f32', expected 'f64' (as 'lses[0]')}}
  %0:2 = na.merge
      ins(%a : tensor<4x16xf64>)
      lses(%b : tensor<4xf64>)
      outs(%c, %d : tensor<4x16xf64>, tensor<4xf32>)
      -> tensor<4x16xf64>, tensor<4xf32>
  return
}

// -----

func.func @half_lse(%a: tensor<4x16xf32>, %b: tensor<4xf16>,
                    %c: tensor<4x16xf32>) {
  // expected-error @+1 {{'na.merge' op operand #1 must be variadic of ranked tensor or memref of f32 or f64, but got 'tensor<4xf16>'}}
  %0 = na.merge
      ins(%a : tensor<4x16xf32>)
      lses(%b : tensor<4xf16>)
      outs(%c : tensor<4x16xf32>)
      -> tensor<4x16xf32>
  return
}

// -----

func.func @rows(%a: tensor<4x16xf32>, %b: tensor<5x16xf32>, %c: tensor<4xf32>,
                %d: tensor<4xf32>, %e: tensor<4x16xf32>) {
  // expected-error @+1 {{'na.merge' op 'outputs[1]' dimension 0 (rows) is 5, expected 4 as in 'output'}}
  %0 = na.merge
      ins(%a, %b : tensor<4x16xf32>, tensor<5x16xf32>)
      lses(%c, %d : tensor<4xf32>, tensor<4xf32>)
      outs(%e : tensor<4x16xf32>)
      -> tensor<4x16xf32>
  return
}

// -----

func.func @lse_rows(%a: tensor<4x16xf32>, %b: tensor<4x16xf32>,
                    %c: tensor<4xf32>, %d: tensor<5xf32>,
                    %e: tensor<4x16xf32>) {
  // expected-error @+1 {{'na.merge' op 'lses[1]' dimension 0 (rows) is 5, expected 4 as in 'output'}}
  %0 = na.merge
      ins(%a, %b : tensor<4x16xf32>, tensor<4x16xf32>)
      lses(%c, %d : tensor<4xf32>, tensor<5xf32>)
      outs(%e : tensor<4x16xf32>)
      -> tensor<4x16xf32>
  return
}

// -----

func.func @destination_lse_rows(%a: tensor<4x16xf32>, %b: tensor<4xf32>,
                                %c: tensor<4x16xf32>, %d: tensor<5xf32>) {
  // expected-error @+1 {{'na.merge' op 'lse' dimension 0 (rows) is 5, expected 4 as in 'output'}}
  %0:2 = na.merge
      ins(%a : tensor<4x16xf32>)
      lses(%b : tensor<4xf32>)
      outs(%c, %d : tensor<4x16xf32>, tensor<5xf32>)
      -> tensor<4x16xf32>, tensor<5xf32>
  return
}

// -----

func.func @value_dim(%a: tensor<4x8xf32>, %b: tensor<4xf32>,
                     %c: tensor<4x16xf32>) {
  // expected-error @+1 {{'na.merge' op 'outputs[0]' dimension 1 (value dim) is 8, expected 16 as in 'output'}}
  %0 = na.merge
      ins(%a : tensor<4x8xf32>)
      lses(%b : tensor<4xf32>)
      outs(%c : tensor<4x16xf32>)
      -> tensor<4x16xf32>
  return
}
