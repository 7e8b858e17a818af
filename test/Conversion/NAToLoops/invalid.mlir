// RUN: na-opt %s -convert-na-to-loops -split-input-file -verify-diagnostics

func.func @attention(%q: tensor<1x9x2x8xf32>, %o: tensor<1x9x2x8xf32>)
    -> tensor<1x9x2x8xf32> {
  // expected-error @+1 {{'na.attention' op is on tensors; bufferize it before it is lowered to loops}}
  %r = na.attention
    ins(%q, %q, %q : tensor<1x9x2x8xf32>, tensor<1x9x2x8xf32>,
                     tensor<1x9x2x8xf32>)
    outs(%o : tensor<1x9x2x8xf32>) window(<size = [3]>)
    -> tensor<1x9x2x8xf32>
  return %r : tensor<1x9x2x8xf32>
}

// -----

func.func @merge(%o0: tensor<9x8xf32>, %l0: tensor<9xf32>, %o: tensor<9x8xf32>)
    -> tensor<9x8xf32> {
  // expected-error @+1 {{'na.merge' op is on tensors; bufferize it before it is lowered to loops}}
  %r = na.merge ins(%o0 : tensor<9x8xf32>) lses(%l0 : tensor<9xf32>)
       outs(%o : tensor<9x8xf32>) -> tensor<9x8xf32>
  return %r : tensor<9x8xf32>
}
