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

// -----

func.func @two_split_axes(%q: memref<1x9x9x1x8xf32>, %o: memref<1x9x9x1x8xf32>) {
  // expected-error @+1 {{'na.attention' op schedule 'warpgroup_tile' splits 'query_tile' on axes 0 and 1, expected one axis at most}}
  na.attention
    ins(%q, %q, %q : memref<1x9x9x1x8xf32>, memref<1x9x9x1x8xf32>, memref<1x9x9x1x8xf32>)
    outs(%o : memref<1x9x9x1x8xf32>) window(<size = [3, 3]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [4, 4], key_tile = [4, 4], warpgroup_tile = [2, 2]>}
  return
}

// -----

func.func @four_warpgroups(%q: memref<1x9x1x8xf32>, %o: memref<1x9x1x8xf32>) {
  // expected-error @+1 {{'na.attention' op schedule 'warpgroup_tile'[0] = 4 makes 4 warpgroups of 'query_tile'[0] = 16, expected at most 3}}
  na.attention
    ins(%q, %q, %q : memref<1x9x1x8xf32>, memref<1x9x1x8xf32>, memref<1x9x1x8xf32>)
    outs(%o : memref<1x9x1x8xf32>) window(<size = [3]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [16], key_tile = [4], warpgroup_tile = [4]>}
  return
}

// -----

func.func @dq_tensors(%q: tensor<1x9x1x8xf32>, %l: tensor<1x9x1xf32>)
    -> tensor<1x9x1x8xf32> {
  // expected-error @+1 {{'na.attention_dq' op is on tensors; bufferize before na-tile-and-fuse}}
  %r = na.attention_dq
    ins(%q, %q, %q, %q : tensor<1x9x1x8xf32>, tensor<1x9x1x8xf32>, tensor<1x9x1x8xf32>, tensor<1x9x1x8xf32>)
    stats(%l, %l : tensor<1x9x1xf32>, tensor<1x9x1xf32>)
    outs(%q : tensor<1x9x1x8xf32>) window(<size = [3]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [3]>}
    -> tensor<1x9x1x8xf32>
  return %r : tensor<1x9x1x8xf32>
}

// -----

func.func @dkv_no_schedule(%q: memref<1x9x1x8xf32>, %l: memref<1x9x1xf32>) {
  // expected-error @+1 {{'na.attention_dkv' op has no schedule; run na-select-schedule before na-tile-and-fuse}}
  na.attention_dkv
    ins(%q, %q, %q, %q : memref<1x9x1x8xf32>, memref<1x9x1x8xf32>, memref<1x9x1x8xf32>, memref<1x9x1x8xf32>)
    stats(%l, %l : memref<1x9x1xf32>, memref<1x9x1xf32>)
    outs(%q, %q : memref<1x9x1x8xf32>, memref<1x9x1x8xf32>) window(<size = [3]>)
  return
}
