// RUN: na-opt %s -convert-na-to-thread-loops -verify-diagnostics

func.func @tensors(%q: tensor<1x9x2x8xf32>, %s: tensor<1x9x2x3xf32>)
    -> tensor<1x9x2x3xf32> {
  // expected-error @+1 {{'na.qk' op is on tensors; bufferize it before it is lowered to loops}}
  %r = na.qk ins(%q, %q : tensor<1x9x2x8xf32>, tensor<1x9x2x8xf32>)
      outs(%s : tensor<1x9x2x3xf32>) window(<size = [3]>)
      -> tensor<1x9x2x3xf32>
  return %r : tensor<1x9x2x3xf32>
}
