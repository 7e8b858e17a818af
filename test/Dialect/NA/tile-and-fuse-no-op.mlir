// RUN: na-opt %s -na-tile-and-fuse -verify-diagnostics | FileCheck %s

// The other operations of the dialect are not this pass's.
// CHECK-LABEL: func @others
// CHECK-NEXT:    na.qk
// CHECK-NEXT:    na.av
// CHECK-NEXT:    return
func.func @others(%q: memref<1x9x1x8xf32>, %w: memref<1x9x1x3xf32>,
                  %o: memref<1x9x1x8xf32>) {
  na.qk ins(%q, %q : memref<1x9x1x8xf32>, memref<1x9x1x8xf32>)
        outs(%w : memref<1x9x1x3xf32>) window(<size = [3]>)
  na.av ins(%w, %q : memref<1x9x1x3xf32>, memref<1x9x1x8xf32>)
        outs(%o : memref<1x9x1x8xf32>) window(<size = [3]>)
  return
}

// Tiles need heads and channels as numbers; the naive lowering does not.
// CHECK-LABEL: func @dynamic_heads
// CHECK-NEXT:    na.attention
// CHECK-NOT:     scf.forall
// CHECK:         return
func.func @dynamic_heads(%q: memref<1x9x?x8xf32>, %o: memref<1x9x?x8xf32>) {
  // expected-remark @+1 {{heads, head dim or value dim is dynamic: left for the naive lowering}}
  na.attention
    ins(%q, %q, %q : memref<1x9x?x8xf32>, memref<1x9x?x8xf32>, memref<1x9x?x8xf32>)
    outs(%o : memref<1x9x?x8xf32>) window(<size = [3]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [3]>}
  return
}

// Positions on tiles have 32 bits.
// CHECK-LABEL: func @long_axis
// CHECK-NEXT:    na.attention
// CHECK-NOT:     scf.forall
// CHECK:         return
func.func @long_axis(%q: memref<1x3000000000x1x8xf32>) {
  // expected-remark @+1 {{an axis is longer than 2^30 times its dilation: left for the naive lowering}}
  na.attention
    ins(%q, %q, %q : memref<1x3000000000x1x8xf32>, memref<1x3000000000x1x8xf32>,
                     memref<1x3000000000x1x8xf32>)
    outs(%q : memref<1x3000000000x1x8xf32>) window(<size = [3], dilation = [2]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [3]>}
  return
}

// CHECK-LABEL: func @dynamic_value_dim
// CHECK-NEXT:    na.attention
// CHECK:         return
func.func @dynamic_value_dim(%q: memref<1x9x1x8xf32>, %v: memref<1x9x1x?xf32>) {
  // expected-remark @+1 {{heads, head dim or value dim is dynamic: left for the naive lowering}}
  na.attention
    ins(%q, %q, %v : memref<1x9x1x8xf32>, memref<1x9x1x8xf32>, memref<1x9x1x?xf32>)
    outs(%v : memref<1x9x1x?xf32>) window(<size = [3]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [3]>}
  return
}

// The schedule says that no tile fits.
// CHECK-LABEL: func @naive
// CHECK-NEXT:    na.attention
func.func @naive(%q: memref<1x16x1x8xf32>) {
  na.attention
    ins(%q, %q, %q : memref<1x16x1x8xf32>, memref<1x16x1x8xf32>, memref<1x16x1x8xf32>)
    outs(%q : memref<1x16x1x8xf32>) window(<size = [5]>)
    {schedule = #na.schedule<target = "naive", query_tile = [1], key_tile = [1]>}
  return
}

// Nor are gradients tiled without these numbers, or against their schedule.
// CHECK-LABEL: func @gradients
// CHECK-NEXT:    na.attention_dq
// CHECK-NEXT:    na.attention_dkv
// CHECK-NEXT:    na.attention_dkv
// CHECK-NEXT:    return
func.func @gradients(%q: memref<1x9x?x8xf32>, %l: memref<1x9x?xf32>,
                     %r: memref<1x9x2x8xf32>, %m: memref<1x9x2xf32>) {
  // expected-remark @+1 {{heads, head dim or value dim is dynamic: left for the naive lowering}}
  na.attention_dq
    ins(%q, %q, %q, %q : memref<1x9x?x8xf32>, memref<1x9x?x8xf32>, memref<1x9x?x8xf32>, memref<1x9x?x8xf32>)
    stats(%l, %l : memref<1x9x?xf32>, memref<1x9x?xf32>)
    outs(%q : memref<1x9x?x8xf32>) window(<size = [3]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [3]>}
  // expected-remark @+1 {{heads, head dim or value dim is dynamic: left for the naive lowering}}
  na.attention_dkv
    ins(%q, %q, %q, %q : memref<1x9x?x8xf32>, memref<1x9x?x8xf32>, memref<1x9x?x8xf32>, memref<1x9x?x8xf32>)
    stats(%l, %l : memref<1x9x?xf32>, memref<1x9x?xf32>)
    outs(%q, %q : memref<1x9x?x8xf32>, memref<1x9x?x8xf32>) window(<size = [3]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [3]>}
  na.attention_dkv
    ins(%r, %r, %r, %r : memref<1x9x2x8xf32>, memref<1x9x2x8xf32>, memref<1x9x2x8xf32>, memref<1x9x2x8xf32>)
    stats(%m, %m : memref<1x9x2xf32>, memref<1x9x2xf32>)
    outs(%r, %r : memref<1x9x2x8xf32>, memref<1x9x2x8xf32>) window(<size = [3]>)
    {schedule = #na.schedule<target = "naive", query_tile = [1], key_tile = [1]>}
  return
}
