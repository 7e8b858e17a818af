// RUN: na-opt %s -na-tile-and-fuse -nagpu-map-grid -canonicalize -cse \
// RUN:   -nagpu-assign-layouts -canonicalize -cse | FileCheck %s --check-prefix=LAYOUT
// RUN: na-opt %s -na-tile-and-fuse -nagpu-map-grid -canonicalize -cse \
// RUN:   -nagpu-assign-layouts -canonicalize -cse -nagpu-specialize-warps \
// RUN:   -canonicalize -cse -nagpu-persistent-grid -nagpu-defer-column-sums \
// RUN:   -canonicalize -cse | FileCheck %s

// A workspace of f32, to which tiles add, and what is made of it.
// LAYOUT-LABEL: func @all
// LAYOUT:         %[[SUMS:.*]] = memref.alloc() : memref<1x1024x2x128xf32>
// LAYOUT:         linalg.fill ins(%{{.*}}) outs(%[[SUMS]] :
// LAYOUT:         %[[MAP:.*]] = nagpu.tensor_map %{{.*}} : memref<1x1024x2x128xf32> -> !nagpu.tensor_map<1x64x32xf32, tma128>
// LAYOUT:         gpu.launch
// LAYOUT:           scf.forall (%[[G:.*]]) in (2)
// LAYOUT:             scf.for
// LAYOUT:               arith.subf
// LAYOUT:               %[[DS:.*]] = nagpu.convert %{{.*}} -> <64x64xbf16, lhs, 4>
// LAYOUT:               nagpu.store_transposed %[[DS]] into %[[W:.*]] : <64x64xbf16, lhs, 4>, <64x64xbf16, tma128>
// LAYOUT-NEXT:          nagpu.proxy_fence
// LAYOUT-NEXT:          nagpu.named_barrier %{{.*}} threads 128
// LAYOUT:               nagpu.wgmma_fence
// LAYOUT-NEXT:          %[[P0:.*]] = nagpu.wgmma %{{.*}}, %[[W]] transposed lhs_transposed
// LAYOUT-NEXT:          %[[P1:.*]] = nagpu.wgmma %{{.*}}, %[[W]] transposed lhs_transposed
// LAYOUT-NEXT:          nagpu.wgmma_commit
// LAYOUT-NEXT:          %[[D:.*]]:2 = nagpu.wgmma_wait pending 0(%[[P0]], %[[P1]]
// LAYOUT:               nagpu.tma_store_wait pending 0
// LAYOUT-NEXT:          nagpu.named_barrier
// LAYOUT-NEXT:          nagpu.store_transposed %[[D]]#0 into
// LAYOUT-NEXT:          nagpu.store_transposed %[[D]]#1 into
// LAYOUT-NEXT:          nagpu.proxy_fence
// LAYOUT-NEXT:          nagpu.named_barrier
// LAYOUT-NEXT:          nagpu.tma_add %{{.*}} to %[[MAP]]
// LAYOUT-NEXT:          nagpu.tma_add %{{.*}} to %[[MAP]]
// LAYOUT:             nagpu.store
// LAYOUT:             nagpu.tma_store_wait pending 0
// LAYOUT:         linalg.generic {{.*}} ins(%[[SUMS]] :
// LAYOUT:         memref.dealloc %[[SUMS]]

// CHECK-LABEL: func @all
// CHECK:         gpu.launch
// CHECK-DAG:       %[[W:.*]] = nagpu.alloc : <4x64x64xbf16, tma128>
// CHECK-DAG:       %[[STAGING:.*]] = nagpu.alloc : <2x64x64xf32, tma128>
// CHECK:         consumers(%[[G:.*]] in 2)
// Both warpgroups read the keys of both.
// CHECK:           nagpu.mbarrier_wait %[[ROWS:.*]][%c0] parity
// CHECK:           nagpu.mbarrier_wait %[[ROWS]][%c1] parity
// CHECK:           %[[K0:.*]] = nagpu.panel %{{.*}}[%[[G]]]
// CHECK:           %[[K1:.*]] = nagpu.panel %{{.*}}[%[[G]]]
// CHECK:           scf.for
// CHECK:             %[[LATER:.*]] = arith.cmpi ne
// CHECK:             scf.if
// The scores, then the sums of the tile before.
// CHECK:               %[[S:.*]] = nagpu.wgmma %{{.*}} transposed
// CHECK-NEXT:          nagpu.wgmma_commit
// CHECK:               nagpu.mbarrier_wait %[[FULL:.*]][%{{.*}}] parity
// CHECK:               nagpu.wgmma_fence
// CHECK-NEXT:          %[[A:.*]] = nagpu.wgmma %[[K0]], %{{.*}} transposed lhs_transposed
// CHECK-NEXT:          %[[B:.*]] = nagpu.wgmma %[[K1]], %{{.*}}, %[[A]] transposed lhs_transposed
// CHECK-NEXT:          nagpu.wgmma_commit
// CHECK-NEXT:          nagpu.wgmma_wait pending 1(%[[S]]
// CHECK:               math.exp2
// CHECK:               %[[D:.*]] = nagpu.wgmma_wait pending 0(%[[B]]
// CHECK:               nagpu.store_transposed %[[D]] into
// CHECK:               nagpu.tma_add %{{.*}} if %[[LATER]]
// Both products of the gradients of the output.
// CHECK:               %[[DP:.*]] = nagpu.wgmma %{{.*}} transposed :
// CHECK:               %[[DV:.*]] = nagpu.wgmma %{{.*}}
// CHECK:               nagpu.wgmma_wait pending 1(%[[DP]]
// CHECK:               arith.subf
// CHECK:               nagpu.store_transposed %[[DS:.*]] into
// CHECK-NEXT:          nagpu.proxy_fence
// CHECK-NEXT:          nagpu.tma_store_wait pending 0
// CHECK-NEXT:          nagpu.mbarrier_arrive %[[FULL]]
// CHECK:               %[[DK:.*]] = nagpu.wgmma %{{.*}}
// CHECK:               nagpu.wgmma_wait pending 1(%[[DV]]
// CHECK:               nagpu.wgmma_wait pending 0(%[[DK]]
// CHECK-NEXT:          nagpu.mbarrier_arrive
// CHECK:             } else {
// A tile that is left out.
// CHECK:               nagpu.mbarrier_wait %[[FULL]]
// CHECK:               nagpu.wgmma_wait pending 0
// CHECK:               nagpu.store_transposed %{{.*}} : <64x64xbf16, lhs, 4>
// CHECK:               nagpu.mbarrier_arrive %[[FULL]]
// CHECK:               nagpu.tma_add %{{.*}} if %[[LATER]]
// CHECK-NEXT:          nagpu.tma_store_wait pending 0
// CHECK-NEXT:          nagpu.named_barrier
// The last tile, behind which the keys are free.
// CHECK:           nagpu.mbarrier_wait %[[FULL]]
// CHECK:           nagpu.tma_add
// CHECK-NEXT:      nagpu.mbarrier_arrive %[[FREE:.*]][%c0]
// CHECK-NEXT:      nagpu.mbarrier_arrive %[[FREE]][%c1]
func.func @all(
    %q: memref<1x1024x2x128xbf16>, %k: memref<1x1024x2x128xbf16>,
    %v: memref<1x1024x2x128xbf16>, %do: memref<1x1024x2x128xbf16>,
    %lse: memref<1x1024x2xf32>, %delta: memref<1x1024x2xf32>,
    %dq: memref<1x1024x2x128xbf16>, %dk: memref<1x1024x2x128xbf16>,
    %dv: memref<1x1024x2x128xbf16>) {
  na.attention_dqkv
    ins(%q, %k, %v, %do : memref<1x1024x2x128xbf16>, memref<1x1024x2x128xbf16>, memref<1x1024x2x128xbf16>, memref<1x1024x2x128xbf16>)
    stats(%lse, %delta : memref<1x1024x2xf32>, memref<1x1024x2xf32>)
    outs(%dq, %dk, %dv : memref<1x1024x2x128xbf16>, memref<1x1024x2x128xbf16>, memref<1x1024x2x128xbf16>)
    window(<size = [256]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [64],
      key_tile = [128], warpgroup_tile = [64], stages = 2>}
  return
}

// With 64 channels each warpgroup adds half of the queries, for all keys: the
// second half is 4x8 tokens behind the first.
// CHECK-LABEL: func @narrow
// CHECK:         nagpu.tensor_map %{{.*}} : memref<1x32x32x2x64xf32> -> !nagpu.tensor_map<1x4x8x32xf32, tma128>
// CHECK:         gpu.launch
// CHECK-DAG:       nagpu.alloc : <4x64x64xbf16, tma128>
// CHECK-DAG:       nagpu.alloc : <2x32x64xf32, tma128>
// CHECK:         consumers(%[[G:.*]] in 2)
// CHECK:           %[[K0:.*]] = nagpu.panel %{{.*}}[%c0]
// CHECK:           %[[K1:.*]] = nagpu.panel %{{.*}}[%c0]
// CHECK:             %[[W0:.*]] = nagpu.rows %{{.*}}[%[[G]]] : <64x64xbf16, tma128> -> <32x64xbf16, tma128>
// CHECK:             %[[W1:.*]] = nagpu.rows %{{.*}}[%[[G]]]
// CHECK:             %[[A:.*]] = nagpu.wgmma %[[K0]], %[[W0]] transposed lhs_transposed
// CHECK-SAME:          -> <64x32xf32, accumulator, 4>
// CHECK-NEXT:        nagpu.wgmma %[[K1]], %[[W1]], %[[A]] transposed lhs_transposed
// CHECK:             %[[HALF:.*]] = arith.muli %[[G]], %c4
// CHECK:             %[[X:.*]] = arith.addi %{{.*}}, %[[HALF]]
// CHECK:             nagpu.tma_add %{{.*}}[%{{.*}}, %[[X]], %{{.*}}, %{{.*}}] if
func.func @narrow(
    %q: memref<1x32x32x2x64xbf16>, %k: memref<1x32x32x2x64xbf16>, %v: memref<1x32x32x2x64xbf16>,
    %do: memref<1x32x32x2x64xbf16>, %lse: memref<1x32x32x2xf32>, %delta: memref<1x32x32x2xf32>,
    %dq: memref<1x32x32x2x64xbf16>, %dk: memref<1x32x32x2x64xbf16>, %dv: memref<1x32x32x2x64xbf16>) {
  na.attention_dqkv
    ins(%q, %k, %v, %do : memref<1x32x32x2x64xbf16>, memref<1x32x32x2x64xbf16>, memref<1x32x32x2x64xbf16>, memref<1x32x32x2x64xbf16>)
    stats(%lse, %delta : memref<1x32x32x2xf32>, memref<1x32x32x2xf32>)
    outs(%dq, %dk, %dv : memref<1x32x32x2x64xbf16>, memref<1x32x32x2x64xbf16>, memref<1x32x32x2x64xbf16>)
    window(<size = [16, 16]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [8, 8],
      key_tile = [8, 16], warpgroup_tile = [8, 8], stages = 2>}
  return
}

// A box that cannot be divided: each warpgroup keeps to its own keys.
// CHECK-LABEL: func @odd
// CHECK:         consumers(
// CHECK:           nagpu.store_transposed
// CHECK:           nagpu.named_barrier
// CHECK:           nagpu.wgmma %{{.*}} transposed lhs_transposed
func.func @odd(
    %q: memref<1x32x32x2x64xbf16>, %k: memref<1x32x32x2x64xbf16>, %v: memref<1x32x32x2x64xbf16>,
    %do: memref<1x32x32x2x64xbf16>, %lse: memref<1x32x32x2xf32>, %delta: memref<1x32x32x2xf32>,
    %dq: memref<1x32x32x2x64xbf16>, %dk: memref<1x32x32x2x64xbf16>, %dv: memref<1x32x32x2x64xbf16>) {
  na.attention_dqkv
    ins(%q, %k, %v, %do : memref<1x32x32x2x64xbf16>, memref<1x32x32x2x64xbf16>, memref<1x32x32x2x64xbf16>, memref<1x32x32x2x64xbf16>)
    stats(%lse, %delta : memref<1x32x32x2xf32>, memref<1x32x32x2xf32>)
    outs(%dq, %dk, %dv : memref<1x32x32x2x64xbf16>, memref<1x32x32x2x64xbf16>, memref<1x32x32x2x64xbf16>)
    window(<size = [16, 16]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [5, 16],
      key_tile = [8, 16], warpgroup_tile = [8, 8], stages = 2>}
  return
}
