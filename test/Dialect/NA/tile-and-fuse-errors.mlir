// RUN: na-opt %s -na-tile-and-fuse -split-input-file -verify-diagnostics

func.func @tensors(%q: tensor<1x9x1x8xf32>, %o: tensor<1x9x1x8xf32>)
    -> tensor<1x9x1x8xf32> {
  // expected-error @+1 {{'na.attention' op is on tensors; bufferize before na-tile-and-fuse}}
  %r = na.attention
    ins(%q, %q, %q : tensor<1x9x1x8xf32>, tensor<1x9x1x8xf32>, tensor<1x9x1x8xf32>)
    outs(%o : tensor<1x9x1x8xf32>) window(<size = [3]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [3]>}
    -> tensor<1x9x1x8xf32>
  return %r : tensor<1x9x1x8xf32>
}

// -----

func.func @no_schedule(%q: memref<1x9x1x8xf32>, %o: memref<1x9x1x8xf32>) {
  // expected-error @+1 {{'na.attention' op has no schedule; run na-select-schedule before na-tile-and-fuse}}
  na.attention
    ins(%q, %q, %q : memref<1x9x1x8xf32>, memref<1x9x1x8xf32>, memref<1x9x1x8xf32>)
    outs(%o : memref<1x9x1x8xf32>) window(<size = [3]>)
  return
}
