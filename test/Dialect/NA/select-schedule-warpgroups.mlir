// RUN: na-opt %s -na-select-schedule=target=sm_90a | FileCheck %s
// RUN: na-opt %s -na-select-schedule=target=sm_90 | FileCheck %s --check-prefix=PLAIN
// RUN: na-opt %s -na-select-schedule="target=sm_90a explain" 2>&1 | FileCheck %s --check-prefix=EXPLAIN
// RUN: na-opt %s -na-select-schedule="target=sm_90a query-tile=8,8 key-tile=8,8" | FileCheck %s --check-prefix=TILES
// RUN: na-opt %s -na-select-schedule="target=sm_90a query-tile=8,16 key-tile=8,8 warpgroup-tile=8,8 explain" 2>&1 | FileCheck %s --check-prefix=BYHAND

// Kernels of warpgroups are for 16 to 256 channels in 16 bits, and for axes that
// fill the tile of one.

// PLAIN-NOT: warpgroup_tile

// The tiles of a user who says nothing of warpgroups have none.
// TILES-COUNT-12: <target = "sm_90", query_tile = [8, 8], key_tile = [8, 8], stages
// TILES-NOT:     warpgroup_tile

// EXPLAIN:     remark: schedule #na.schedule<target = "sm_90a", query_tile = [16, 8], key_tile = [8, 22], warpgroup_tile = [8, 8], stages = 2>: predicted {{.*}} waste 1.18, 45.5 key tiles per thread block, of which a warpgroup computes 42.8 (50% masked
// EXPLAIN:     remark: schedule #na.schedule<target = "sm_90", {{.*}} limited by

// BYHAND:      remark: schedule #na.schedule<target = "sm_90a", query_tile = [8, 16], key_tile = [8, 8], warpgroup_tile = [8, 8], stages = 2>: predicted
// BYHAND:      remark: schedule #na.schedule<target = "sm_90a", query_tile = [8, 16], key_tile = [8, 8], warpgroup_tile = [8, 8], stages = 2>: no prediction for such tiles

// CHECK-LABEL: func @flux
// CHECK:         schedule = #na.schedule<target = "sm_90a", query_tile = [16, 8], key_tile = [8, 22], warpgroup_tile = [8, 8], stages = 2>
func.func @flux(%q: memref<?x256x256x24x128xbf16>, %k: memref<?x256x256x8x128xbf16>,
                %o: memref<?x256x256x24x128xbf16>) {
  na.attention
    ins(%q, %k, %k : memref<?x256x256x24x128xbf16>, memref<?x256x256x8x128xbf16>, memref<?x256x256x8x128xbf16>)
    outs(%o : memref<?x256x256x24x128xbf16>) window(<size = [80, 80]>)
  return
}

// CHECK-LABEL: func @small_window
// CHECK:         schedule = #na.schedule<target = "sm_90a", query_tile = [4, 16], key_tile = [10, 8], warpgroup_tile = [4, 16], stages = 2>
func.func @small_window(%q: memref<1x64x64x8x64xbf16>, %o: memref<1x64x64x8x64xbf16>) {
  na.attention
    ins(%q, %q, %q : memref<1x64x64x8x64xbf16>, memref<1x64x64x8x64xbf16>, memref<1x64x64x8x64xbf16>)
    outs(%o : memref<1x64x64x8x64xbf16>) window(<size = [7, 7]>)
  return
}

// CHECK-LABEL: func @short_axis
// CHECK:         schedule = #na.schedule<target = "sm_90", {{.*}} warps
func.func @short_axis(%q: memref<1024x4x8x8x16xbf16>, %o: memref<1024x4x8x8x16xbf16>) {
  na.attention
    ins(%q, %q, %q : memref<1024x4x8x8x16xbf16>, memref<1024x4x8x8x16xbf16>, memref<1024x4x8x8x16xbf16>)
    outs(%o : memref<1024x4x8x8x16xbf16>) window(<size = [3, 3]>)
  return
}

// CHECK-LABEL: func @channels
// CHECK:         schedule = #na.schedule<target = "sm_90a", query_tile = [{{.*}}], key_tile = [{{.*}}], warpgroup_tile = [{{.*}}], stages = 2>
func.func @channels(%q: memref<1x128x128x24x64xbf16>, %o: memref<1x128x128x24x64xbf16>) {
  na.attention
    ins(%q, %q, %q : memref<1x128x128x24x64xbf16>, memref<1x128x128x24x64xbf16>, memref<1x128x128x24x64xbf16>)
    outs(%o : memref<1x128x128x24x64xbf16>) window(<size = [128, 128]>)
  return
}

// CHECK-LABEL: func @value_channels
// CHECK:         schedule = #na.schedule<target = "sm_90a", query_tile = [{{.*}}], key_tile = [{{.*}}], warpgroup_tile = [{{.*}}], stages = 2>
func.func @value_channels(%q: memref<1x128x128x24x192xf16>, %v: memref<1x128x128x24x128xf16>,
                          %o: memref<1x128x128x24x128xf16>) {
  na.attention
    ins(%q, %q, %v : memref<1x128x128x24x192xf16>, memref<1x128x128x24x192xf16>, memref<1x128x128x24x128xf16>)
    outs(%o : memref<1x128x128x24x128xf16>) window(<size = [128, 128]>)
  return
}

// CHECK-LABEL: func @odd_channels
// CHECK:         schedule = #na.schedule<target = "sm_90", {{.*}} warps
func.func @odd_channels(%q: memref<1x128x128x24x72xf16>, %o: memref<1x128x128x24x72xf16>) {
  na.attention
    ins(%q, %q, %q : memref<1x128x128x24x72xf16>, memref<1x128x128x24x72xf16>, memref<1x128x128x24x72xf16>)
    outs(%o : memref<1x128x128x24x72xf16>) window(<size = [128, 128]>)
  return
}

// CHECK-LABEL: func @dilation
// CHECK:         schedule = #na.schedule<target = "sm_90a", {{.*}} warpgroup_tile
func.func @dilation(%q: memref<1x128x128x24x128xf16>, %o: memref<1x128x128x24x128xf16>) {
  na.attention
    ins(%q, %q, %q : memref<1x128x128x24x128xf16>, memref<1x128x128x24x128xf16>, memref<1x128x128x24x128xf16>)
    outs(%o : memref<1x128x128x24x128xf16>) window(<size = [64, 32], dilation = [1, 4]>)
  return
}

// A token of the other residue is 2^31 elements away, which is no coordinate.
// CHECK-LABEL: func @far_residue
// CHECK:         schedule = #na.schedule<target = "sm_90", {{.*}} warps
func.func @far_residue(
    %q: memref<1x128x128x24x128xf16, strided<[?, 2147483648, 3072, 128, 1]>>,
    %o: memref<1x128x128x24x128xf16>) {
  na.attention
    ins(%q, %q, %q : memref<1x128x128x24x128xf16, strided<[?, 2147483648, 3072, 128, 1]>>,
                     memref<1x128x128x24x128xf16, strided<[?, 2147483648, 3072, 128, 1]>>,
                     memref<1x128x128x24x128xf16, strided<[?, 2147483648, 3072, 128, 1]>>)
    outs(%o : memref<1x128x128x24x128xf16>) window(<size = [64, 64], dilation = [2, 1]>)
  return
}

// CHECK-LABEL: func @bias
// CHECK:         schedule = #na.schedule<target = "sm_90a", {{.*}} warpgroup_tile
func.func @bias(%q: memref<1x128x128x24x128xf16>, %b: memref<24x127x63xf32>,
                %o: memref<1x128x128x24x128xf16>) {
  na.attention
    ins(%q, %q, %q : memref<1x128x128x24x128xf16>, memref<1x128x128x24x128xf16>, memref<1x128x128x24x128xf16>)
    bias(%b : memref<24x127x63xf32>)
    outs(%o : memref<1x128x128x24x128xf16>) window(<size = [64, 32]>)
  return
}

// CHECK-LABEL: func @additional_keys
// CHECK:         schedule = #na.schedule<target = "sm_90a", {{.*}} warpgroup_tile
func.func @additional_keys(%q: memref<1x128x128x24x128xf16>, %a: memref<1x512x24x128xf16>,
                           %o: memref<1x128x128x24x128xf16>) {
  na.attention
    ins(%q, %q, %q : memref<1x128x128x24x128xf16>, memref<1x128x128x24x128xf16>, memref<1x128x128x24x128xf16>)
    additional(%a, %a : memref<1x512x24x128xf16>, memref<1x512x24x128xf16>)
    outs(%o : memref<1x128x128x24x128xf16>) window(<size = [64, 32]>)
  return
}

// A box of additional keys cannot be read either where heads are apart.
// CHECK-LABEL: func @additional_keys_apart
// CHECK:         schedule = #na.schedule<target = "sm_90", {{.*}} warps
func.func @additional_keys_apart(
    %q: memref<1x128x128x24x128xf16>,
    %a: memref<1x512x24x128xf16, strided<[1966080, 3840, 160, 1]>>,
    %o: memref<1x128x128x24x128xf16>) {
  na.attention
    ins(%q, %q, %q : memref<1x128x128x24x128xf16>, memref<1x128x128x24x128xf16>, memref<1x128x128x24x128xf16>)
    additional(%a, %a : memref<1x512x24x128xf16, strided<[1966080, 3840, 160, 1]>>,
                        memref<1x512x24x128xf16, strided<[1966080, 3840, 160, 1]>>)
    outs(%o : memref<1x128x128x24x128xf16>) window(<size = [64, 32]>)
  return
}

// CHECK-LABEL: func @dynamic
// CHECK:         schedule = #na.schedule<target = "sm_90", {{.*}} warps
func.func @dynamic(%q: memref<1x?x64x8x128xf16>, %o: memref<1x?x64x8x128xf16>) {
  na.attention
    ins(%q, %q, %q : memref<1x?x64x8x128xf16>, memref<1x?x64x8x128xf16>, memref<1x?x64x8x128xf16>)
    outs(%o : memref<1x?x64x8x128xf16>) window(<size = [7, 7]>)
  return
}

// CHECK-LABEL: func @tokens_apart
// CHECK:         schedule = #na.schedule<target = "sm_90", {{.*}} warps
func.func @tokens_apart(%q: memref<1x64x64x8x128xf16>,
                        %k: memref<1x64x64x8x128xf16, strided<[?, ?, 1028, 128, 1]>>,
                        %o: memref<1x64x64x8x128xf16>) {
  na.attention
    ins(%q, %k, %q : memref<1x64x64x8x128xf16>, memref<1x64x64x8x128xf16, strided<[?, ?, 1028, 128, 1]>>, memref<1x64x64x8x128xf16>)
    outs(%o : memref<1x64x64x8x128xf16>) window(<size = [24, 24]>)
  return
}

// CHECK-LABEL: func @heads_apart
// CHECK:         schedule = #na.schedule<target = "sm_90", {{.*}} warps
func.func @heads_apart(%q: memref<1x64x64x8x128xf16>,
                       %v: memref<1x64x64x8x128xf16, strided<[4194304, 8192, 128, 524288, 1]>>,
                       %o: memref<1x64x64x8x128xf16>) {
  na.attention
    ins(%q, %q, %v : memref<1x64x64x8x128xf16>, memref<1x64x64x8x128xf16>, memref<1x64x64x8x128xf16, strided<[4194304, 8192, 128, 524288, 1]>>)
    outs(%o : memref<1x64x64x8x128xf16>) window(<size = [24, 24]>)
  return
}

// Strides of the run time, and of what there is only one, do not matter.
// CHECK-LABEL: func @dynamic_strides
// CHECK:         schedule = #na.schedule<target = "sm_90a", {{.*}} warpgroup_tile
func.func @dynamic_strides(%q: memref<1x64x64x8x128xf16, strided<[3, ?, 1032, 128, 1], offset: ?>>,
                           %o: memref<1x64x64x8x128xf16>) {
  na.attention
    ins(%q, %q, %q : memref<1x64x64x8x128xf16, strided<[3, ?, 1032, 128, 1], offset: ?>>, memref<1x64x64x8x128xf16, strided<[3, ?, 1032, 128, 1], offset: ?>>, memref<1x64x64x8x128xf16, strided<[3, ?, 1032, 128, 1], offset: ?>>)
    outs(%o : memref<1x64x64x8x128xf16>) window(<size = [24, 24]>)
  return
}
