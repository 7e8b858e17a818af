// RUN: na-opt %s -na-tile-and-fuse | FileCheck %s

// Tiles of keys near an end of the axis have other numbers of tiles of queries.
// With 64 of these or more, thread blocks start in order.
// CHECK-LABEL: func @many
// CHECK:         scf.forall
// CHECK-NOT:     na.uneven
// CHECK:         } {na.in_order, na.schedule = {{.*}}}
func.func @many(%q: memref<1x8192x2x64xbf16>, %s: memref<1x8192x2xf32>,
                %dk: memref<1x8192x2x64xbf16>, %dv: memref<1x8192x2x64xbf16>) {
  na.attention_dkv
    ins(%q, %q, %q, %q : memref<1x8192x2x64xbf16>, memref<1x8192x2x64xbf16>, memref<1x8192x2x64xbf16>, memref<1x8192x2x64xbf16>)
    stats(%s, %s : memref<1x8192x2xf32>, memref<1x8192x2xf32>)
    outs(%dk, %dv : memref<1x8192x2x64xbf16>, memref<1x8192x2x64xbf16>)
    window(<size = [4096]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [64],
      key_tile = [128], warpgroup_tile = [64], stages = 2>}
  return
}

// CHECK-LABEL: func @few
// CHECK-NOT:     na.in_order
// CHECK:         } {na.schedule = {{.*}}, na.uneven}
func.func @few(%q: memref<1x8192x2x64xbf16>, %s: memref<1x8192x2xf32>,
               %dk: memref<1x8192x2x64xbf16>, %dv: memref<1x8192x2x64xbf16>) {
  na.attention_dkv
    ins(%q, %q, %q, %q : memref<1x8192x2x64xbf16>, memref<1x8192x2x64xbf16>, memref<1x8192x2x64xbf16>, memref<1x8192x2x64xbf16>)
    stats(%s, %s : memref<1x8192x2xf32>, memref<1x8192x2xf32>)
    outs(%dk, %dv : memref<1x8192x2x64xbf16>, memref<1x8192x2x64xbf16>)
    window(<size = [2048]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [64],
      key_tile = [128], warpgroup_tile = [64], stages = 2>}
  return
}

// Tiles of queries all have about as many tiles of keys.
// CHECK-LABEL: func @even
// CHECK-NOT:     na.in_order
// CHECK:         } {na.schedule = {{[^,]*}}
// CHECK-NOT:     na.uneven
// CHECK:         return
func.func @even(%q: memref<1x8192x2x64xbf16>, %s: memref<1x8192x2xf32>,
                %dq: memref<1x8192x2x64xbf16>) {
  na.attention_dq
    ins(%q, %q, %q, %q : memref<1x8192x2x64xbf16>, memref<1x8192x2x64xbf16>, memref<1x8192x2x64xbf16>, memref<1x8192x2x64xbf16>)
    stats(%s, %s : memref<1x8192x2xf32>, memref<1x8192x2xf32>)
    outs(%dq : memref<1x8192x2x64xbf16>) window(<size = [4096]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [128],
      key_tile = [64], warpgroup_tile = [64], stages = 2>}
  return
}
