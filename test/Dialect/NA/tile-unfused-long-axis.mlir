// RUN: na-opt %s -na-tile-unfused -verify-diagnostics | FileCheck %s

// Positions on tiles have 32 bits.
// CHECK-LABEL: func @long_axis
// CHECK-NEXT:    na.qk
// CHECK-NEXT:    na.av
// CHECK-NEXT:    return
func.func @long_axis(%q: memref<1x3000000000x1x8xf32>, %w: memref<1x3000000000x1x3xf32>) {
  // expected-remark @+1 {{an axis is longer than 2^30 times its dilation: left for the naive lowering}}
  na.qk ins(%q, %q : memref<1x3000000000x1x8xf32>, memref<1x3000000000x1x8xf32>)
        outs(%w : memref<1x3000000000x1x3xf32>) window(<size = [3]>)
        {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [3]>}
  // expected-remark @+1 {{an axis is longer than 2^30 times its dilation: left for the naive lowering}}
  na.av ins(%w, %q : memref<1x3000000000x1x3xf32>, memref<1x3000000000x1x8xf32>)
        outs(%q : memref<1x3000000000x1x8xf32>) window(<size = [3]>)
        {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [3]>}
  return
}
