// RUN: na-opt %s -na-tile-and-fuse -nagpu-map-grid -canonicalize -cse \
// RUN:   -nagpu-assign-layouts -canonicalize -cse -nagpu-specialize-warps \
// RUN:   -canonicalize -cse | FileCheck %s

// Numbers of tokens are no boxes of the TMA: the lanes of a producer copy them.
// Those of the loop share a producer; those of the rows come behind the tiles of
// the rows, on the same barrier, to which 2 copies of the TMA and 32 lanes arrive.

// CHECK-LABEL: func @queries
// CHECK:         %[[ROWS:.*]] = nagpu.mbarrier_init arrivals 34 : <2>
// CHECK:         nagpu.roles
// CHECK:         producer {
// CHECK:         producer {
// CHECK:         producer {
// CHECK:           nagpu.tma_load {{.*}} signal %[[ROWS]][%c0]
// CHECK:           nagpu.tma_load {{.*}} signal %[[ROWS]][%c0]
// CHECK:           %[[LSE:.*]] = nagpu.async_copy {{.*}} box [64] dilation [1] into {{.*}} warps 1
// CHECK:           %[[DELTA:.*]] = nagpu.async_copy {{.*}} warps 1
// CHECK-NEXT:      nagpu.mbarrier_arrive_copies %[[ROWS]][%c0] after %[[LSE]], %[[DELTA]]
// CHECK:           nagpu.mbarrier_arrive_copies %[[ROWS]][%c1]
// CHECK-NOT:     producer {
// CHECK:         consumers(%[[G:.*]] in 2)
// CHECK:           nagpu.mbarrier_wait %[[ROWS]][%[[G]]]
// CHECK-NOT:       nagpu.mbarrier_wait %[[ROWS]]
func.func @queries(
    %q: memref<1x1024x2x64xbf16>, %do: memref<1x1024x2x64xbf16>, %lse: memref<1x1024x2xf32>,
    %delta: memref<1x1024x2xf32>, %dq: memref<1x1024x2x64xbf16>) {
  na.attention_dq
    ins(%q, %q, %do, %do : memref<1x1024x2x64xbf16>, memref<1x1024x2x64xbf16>, memref<1x1024x2x64xbf16>, memref<1x1024x2x64xbf16>)
    stats(%lse, %delta : memref<1x1024x2xf32>, memref<1x1024x2xf32>)
    outs(%dq : memref<1x1024x2x64xbf16>) window(<size = [256]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [128], key_tile = [96], warpgroup_tile = [64], stages = 2>}
  return
}

// CHECK-LABEL: func @keys_and_values
// CHECK:         nagpu.mbarrier_init arrivals 2 : <2>
// CHECK:         nagpu.mbarrier_init arrivals 32 : <3>
// CHECK:         nagpu.roles
// CHECK:         producer {
// CHECK:         producer {
// CHECK:         producer {
// CHECK:           scf.for
// CHECK:             nagpu.mbarrier_wait %[[FREE:.*]][%[[SLOT:.*]]] parity
// CHECK-NEXT:        nagpu.mbarrier_wait %{{.*}}[%[[SLOT]]] parity
// CHECK:             %[[LSE:.*]] = nagpu.async_copy
// CHECK:             %[[DELTA:.*]] = nagpu.async_copy
// CHECK:             nagpu.mbarrier_arrive_copies %{{.*}}[%[[SLOT]]] after %[[LSE]] : <3>
// CHECK:             nagpu.mbarrier_arrive_copies %{{.*}}[%[[SLOT]]] after %[[DELTA]] : <3>
// CHECK:         producer {
// CHECK-NOT:       scf.for
// CHECK:         consumers(
func.func @keys_and_values(
    %q: memref<1x1024x2x64xbf16>, %do: memref<1x1024x2x64xbf16>, %lse: memref<1x1024x2xf32>,
    %delta: memref<1x1024x2xf32>, %dk: memref<1x1024x2x64xbf16>,
    %dv: memref<1x1024x2x64xbf16>) {
  na.attention_dkv
    ins(%q, %q, %do, %do : memref<1x1024x2x64xbf16>, memref<1x1024x2x64xbf16>, memref<1x1024x2x64xbf16>, memref<1x1024x2x64xbf16>)
    stats(%lse, %delta : memref<1x1024x2xf32>, memref<1x1024x2xf32>)
    outs(%dk, %dv : memref<1x1024x2x64xbf16>, memref<1x1024x2x64xbf16>)
    window(<size = [256]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [64], key_tile = [128], warpgroup_tile = [64], stages = 3>}
  return
}
