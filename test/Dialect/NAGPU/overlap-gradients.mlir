// RUN: na-opt %s -na-tile-and-fuse -nagpu-map-grid -canonicalize -cse \
// RUN:   -nagpu-assign-layouts -canonicalize -cse -nagpu-specialize-warps \
// RUN:   -canonicalize -cse -nagpu-overlap-gradients | FileCheck %s

// Both products of loaded tiles are issued at once. Weights are computed while
// the second one runs, and the gradients of the scores while the weights are
// multiplied; then there is one product more that may be pending.

// CHECK-LABEL: func @keys_and_values
// CHECK:       consumers(
// CHECK:         scf.for
// CHECK:           %[[QUERIES:.*]] = nagpu.slot {{.*}} -> <64x128xbf16, tma128>
// CHECK:           %[[GRADS:.*]] = nagpu.slot {{.*}} -> <64x128xbf16, tma128>
// CHECK:           %[[S:.*]] = nagpu.wgmma %{{.*}}, %[[QUERIES]] transposed
// CHECK-NEXT:      nagpu.wgmma_commit
// CHECK-NEXT:      nagpu.wgmma_fence
// CHECK-NEXT:      %[[DP:.*]] = nagpu.wgmma %{{.*}}, %[[GRADS]] transposed
// CHECK-NEXT:      nagpu.wgmma_commit
// CHECK-NEXT:      nagpu.wgmma_wait pending 1(%[[S]]
// CHECK:           nagpu.ldvector {{.*}} -> <64xf32, column, 4>
// CHECK:           math.exp2
// CHECK:           %[[P:.*]] = nagpu.convert %{{.*}} -> <64x64xbf16, lhs, 4>
// CHECK:           %[[DV:.*]] = nagpu.wgmma %{{.*}}, %[[GRADS]], %{{.*}} -> <64x128xf32, accumulator, 4>
// CHECK-NEXT:      nagpu.wgmma_commit
// CHECK:           nagpu.wgmma_wait pending 1(%[[DP]]
// The weights need not stay in f32.
// CHECK:           nagpu.convert %[[P]] : <64x64xbf16, lhs, 4> -> <64x64xf32, accumulator, 4>
// CHECK:           arith.subf
// CHECK:           %[[DK:.*]] = nagpu.wgmma %{{.*}}, %[[QUERIES]], %{{.*}} -> <64x128xf32, accumulator, 4>
// CHECK-NEXT:      nagpu.wgmma_commit
// CHECK-NEXT:      nagpu.wgmma_wait pending 1(%[[DV]]
// The gradients of the output are freed behind the last product that reads them.
// CHECK-NEXT:      nagpu.mbarrier_arrive
// CHECK-NEXT:      nagpu.wgmma_wait pending 0(%[[DK]]
// CHECK-NEXT:      nagpu.mbarrier_arrive
func.func @keys_and_values(
    %q: memref<1x1024x2x128xbf16>, %k: memref<1x1024x2x128xbf16>,
    %v: memref<1x1024x2x128xbf16>, %do: memref<1x1024x2x128xbf16>,
    %lse: memref<1x1024x2xf32>, %delta: memref<1x1024x2xf32>,
    %dk: memref<1x1024x2x128xbf16>, %dv: memref<1x1024x2x128xbf16>) {
  na.attention_dkv
    ins(%q, %k, %v, %do : memref<1x1024x2x128xbf16>, memref<1x1024x2x128xbf16>, memref<1x1024x2x128xbf16>, memref<1x1024x2x128xbf16>)
    stats(%lse, %delta : memref<1x1024x2xf32>, memref<1x1024x2xf32>)
    outs(%dk, %dv : memref<1x1024x2x128xbf16>, memref<1x1024x2x128xbf16>)
    window(<size = [256]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [64], key_tile = [128], warpgroup_tile = [64], stages = 2>}
  return
}

// The tile of keys is an operand of two products, and free behind the second.
// CHECK-LABEL: func @queries
// CHECK:       consumers(
// CHECK:         scf.for
// CHECK:           %[[KEYS:.*]] = nagpu.slot {{.*}} -> <96x64xf16, tma128>
// CHECK:           %[[S:.*]] = nagpu.wgmma %{{.*}}, %[[KEYS]] transposed
// CHECK-NEXT:      nagpu.wgmma_commit
// CHECK-NEXT:      nagpu.mbarrier_wait
// CHECK-NEXT:      %[[VALUES:.*]] = nagpu.slot {{.*}} -> <96x48xf16, tma32>
// CHECK-NEXT:      nagpu.wgmma_fence
// CHECK-NEXT:      %[[DP:.*]] = nagpu.wgmma %{{.*}}, %[[VALUES]] transposed
// CHECK-NEXT:      nagpu.wgmma_commit
// CHECK-NEXT:      nagpu.wgmma_wait pending 1(%[[S]]
// CHECK:           nagpu.wgmma_wait pending 0(%[[DP]]
// CHECK-NEXT:      nagpu.mbarrier_arrive
// CHECK:           %[[DQ:.*]] = nagpu.wgmma %{{.*}}, %[[KEYS]], %{{.*}} -> <64x64xf32, accumulator, 4>
// CHECK-NEXT:      nagpu.wgmma_commit
// CHECK:           nagpu.wgmma_wait pending 0(%[[DQ]]
// CHECK-NEXT:      nagpu.mbarrier_arrive
func.func @queries(
    %q: memref<1x1024x2x64xf16>, %v: memref<1x1024x2x48xf16>,
    %lse: memref<1x1024x2xf32>, %dq: memref<1x1024x2x64xf16>) {
  na.attention_dq
    ins(%q, %q, %v, %v : memref<1x1024x2x64xf16>, memref<1x1024x2x64xf16>, memref<1x1024x2x48xf16>, memref<1x1024x2x48xf16>)
    stats(%lse, %lse : memref<1x1024x2xf32>, memref<1x1024x2xf32>)
    outs(%dq : memref<1x1024x2x64xf16>) window(<size = [1024]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [64], key_tile = [96], warpgroup_tile = [64], stages = 2>}
  return
}

// A loop with one product of loaded tiles is left to nagpu-overlap-products.
// CHECK-LABEL: func @attention
// CHECK-NOT:     pending 1
func.func @attention(%q: memref<1x1024x2x64xf16>, %o: memref<1x1024x2x64xf16>) {
  na.attention
    ins(%q, %q, %q : memref<1x1024x2x64xf16>, memref<1x1024x2x64xf16>, memref<1x1024x2x64xf16>)
    outs(%o : memref<1x1024x2x64xf16>) window(<size = [256]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [64], key_tile = [64], warpgroup_tile = [64], stages = 2>}
  return
}
