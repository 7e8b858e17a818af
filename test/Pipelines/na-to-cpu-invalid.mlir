// RUN: na-opt %s -na-to-cpu -split-input-file -verify-diagnostics

// What has no lowering is named, rather than left in the result.
func.func @softmax(%x: memref<4x8xf32>, %o: memref<4x8xf32>) {
  // expected-error @+1 {{'linalg.softmax' op has no lowering to the LLVM dialect}}
  linalg.softmax dimension(1) ins(%x : memref<4x8xf32>) outs(%o : memref<4x8xf32>)
  return
}

// -----

// Functions in a module in the module keep their tensors.
module {
module @inner {
  func.func @f(%q: tensor<1x9x2x8xf32>, %o: tensor<1x9x2x8xf32>)
      -> tensor<1x9x2x8xf32> {
    // expected-error @+1 {{'na.attention' op is on tensors; bufferize before na-tile-and-fuse}}
    %r = na.attention
      ins(%q, %q, %q : tensor<1x9x2x8xf32>, tensor<1x9x2x8xf32>, tensor<1x9x2x8xf32>)
      outs(%o : tensor<1x9x2x8xf32>) window(<size = [3]>) -> tensor<1x9x2x8xf32>
    return %r : tensor<1x9x2x8xf32>
  }
}
}
