// RUN: na-opt %s -na-tile-and-fuse -nagpu-map-grid -canonicalize -cse \
// RUN:   -nagpu-assign-layouts -canonicalize -cse -nagpu-specialize-warps \
// RUN:   -canonicalize -cse -nagpu-narrow-weights | FileCheck %s

// Sums of 128 channels each and tiles of 80 queries: 128 registers, and 40 for
// each of scores and their gradients.
// CHECK-LABEL: func @many
// CHECK:       consumers(
// CHECK:         scf.for
// CHECK:           math.exp2
// CHECK:           %[[P:.*]] = nagpu.convert %[[W:.*]] : <64x80xf32, accumulator, 4> -> <64x80xbf16, lhs, 4>
// CHECK:           nagpu.wgmma_fence(%[[P]],
// CHECK:           %[[R:.*]] = nagpu.convert %[[P]] : <64x80xbf16, lhs, 4> -> <64x80xf32, accumulator, 4>
// CHECK-NEXT:      nagpu.map(%{{[0-9]+}}, %[[R]], 
// CHECK:             arith.subf
func.func @many(
    %q: memref<1x1024x2x128xbf16>, %k: memref<1x1024x2x128xbf16>,
    %v: memref<1x1024x2x128xbf16>, %do: memref<1x1024x2x128xbf16>,
    %lse: memref<1x1024x2xf32>, %delta: memref<1x1024x2xf32>,
    %dk: memref<1x1024x2x128xbf16>, %dv: memref<1x1024x2x128xbf16>) {
  na.attention_dkv
    ins(%q, %k, %v, %do : memref<1x1024x2x128xbf16>, memref<1x1024x2x128xbf16>, memref<1x1024x2x128xbf16>, memref<1x1024x2x128xbf16>)
    stats(%lse, %delta : memref<1x1024x2xf32>, memref<1x1024x2xf32>)
    outs(%dk, %dv : memref<1x1024x2x128xbf16>, memref<1x1024x2x128xbf16>)
    window(<size = [256]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [80], key_tile = [128], warpgroup_tile = [64], stages = 2>}
  return
}

// With 64 queries there are registers for both.
// CHECK-LABEL: func @few
// CHECK:       consumers(
// CHECK-NOT:     nagpu.convert {{.*}}-> <64x64xf32, accumulator, 4>
// CHECK:         return
func.func @few(
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
