// RUN: na-opt %s -na-insert-grad -split-input-file -verify-diagnostics
// RUN: not na-opt %s -na-insert-grad=functions=other -split-input-file 2>&1 | FileCheck %s

// CHECK: error: na-insert-grad: there is no function 'other', which the option 'functions' names

func.func @no_gradient(%q: tensor<1x9x4x8xf32>) -> tensor<1x9x4x8xf32> {
  %e = tensor.empty() : tensor<1x9x4x8xf32>
  // expected-error @+1 {{na-insert-grad: 'math.sin' has no gradient here}}
  %s = math.sin %q : tensor<1x9x4x8xf32>
  %o = na.attention
      ins(%q, %s, %q : tensor<1x9x4x8xf32>, tensor<1x9x4x8xf32>,
                       tensor<1x9x4x8xf32>)
      outs(%e : tensor<1x9x4x8xf32>) window(<size = [3]>)
      -> tensor<1x9x4x8xf32>
  return %o : tensor<1x9x4x8xf32>
}

// -----

// expected-error @+1 {{na-insert-grad: argument 1 of 'memrefs' is 'memref<1x9x4x8xf32>', expected a tensor}}
func.func @memrefs(%n: index, %q: memref<1x9x4x8xf32>) {
  na.attention
      ins(%q, %q, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>,
                       memref<1x9x4x8xf32>)
      outs(%q : memref<1x9x4x8xf32>) window(<size = [3]>)
  return
}

// -----

// expected-error @+1 {{na-insert-grad: 'blocks' has 2 blocks, expected 1}}
func.func @blocks(%q: tensor<1x9x4x8xf32>) -> tensor<1x9x4x8xf32> {
  cf.br ^next
^next:
  %o = na.attention
      ins(%q, %q, %q : tensor<1x9x4x8xf32>, tensor<1x9x4x8xf32>,
                       tensor<1x9x4x8xf32>)
      outs(%q : tensor<1x9x4x8xf32>) window(<size = [3]>)
      -> tensor<1x9x4x8xf32>
  return %o : tensor<1x9x4x8xf32>
}

// -----

// expected-error @+1 {{na-insert-grad: there is a symbol 'taken_grad' already}}
func.func @taken(%q: tensor<1x9x4x8xf32>) -> tensor<1x9x4x8xf32> {
  %o = na.attention
      ins(%q, %q, %q : tensor<1x9x4x8xf32>, tensor<1x9x4x8xf32>,
                       tensor<1x9x4x8xf32>)
      outs(%q : tensor<1x9x4x8xf32>) window(<size = [3]>)
      -> tensor<1x9x4x8xf32>
  return %o : tensor<1x9x4x8xf32>
}
func.func private @taken_grad()
