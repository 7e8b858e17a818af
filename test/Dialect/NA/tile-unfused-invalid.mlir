// RUN: na-opt %s -na-tile-unfused -split-input-file -verify-diagnostics

func.func @tensors(%q: tensor<1x9x2x4xf32>, %s: tensor<1x9x2x3xf32>)
    -> tensor<1x9x2x3xf32> {
  // expected-error @below {{'na.qk' op is on tensors; bufferize before na-tile-unfused}}
  %0 = na.qk ins(%q, %q : tensor<1x9x2x4xf32>, tensor<1x9x2x4xf32>)
      outs(%s : tensor<1x9x2x3xf32>) window(<size = [3]>)
      -> tensor<1x9x2x3xf32>
  return %0 : tensor<1x9x2x3xf32>
}

// -----

func.func @no_schedule(%w: memref<1x9x2x3xf32>, %v: memref<1x9x2x4xf32>,
                       %o: memref<1x9x2x4xf32>) {
  // expected-error @below {{'na.av' op has no schedule; run na-select-schedule before na-tile-unfused}}
  na.av ins(%w, %v : memref<1x9x2x3xf32>, memref<1x9x2x4xf32>)
      outs(%o : memref<1x9x2x4xf32>) window(<size = [3]>)
  return
}
