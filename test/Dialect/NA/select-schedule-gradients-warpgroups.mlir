// RUN: na-opt %s -na-select-schedule="target=sm_90a explain" 2>&1 | FileCheck %s
// RUN: not na-opt %s -na-select-schedule="target=sm_90a query-tile=128 key-tile=96 warpgroup-tile=64" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=DIVIDES

// Rows of the gradients of keys and values are keys, which warpgroups divide.
// CHECK: remark: schedule #na.schedule<target = "sm_90a", query_tile = [128], key_tile = [112], warpgroup_tile = [64], stages = 2>: predicted {{.*}} key tiles per thread block{{.*}} 240 registers
// CHECK: remark: schedule #na.schedule<target = "sm_90a", query_tile = [64], key_tile = [128], warpgroup_tile = [64], stages = 2>: predicted {{.*}} query tiles per thread block{{.*}} 240 registers
// So do those with a bias.
// CHECK: remark: schedule #na.schedule<target = "sm_90a", query_tile = [{{[0-9]+}}], key_tile = [128], warpgroup_tile = [64], stages = 2>: predicted {{.*}} query tiles per thread block
// Of 256 channels the registers hold one sum.
// CHECK: remark: one program for each gradient: no schedule has room for both sums
// CHECK: remark: schedule #na.schedule<target = "sm_90a", query_tile = [{{32|48|64}}], key_tile = [{{64|128}}], warpgroup_tile = [64], stages = 2>: predicted {{.*}} query tiles per thread block
// CHECK: remark: schedule #na.schedule<target = "sm_90a", query_tile = [{{48|64|80}}], key_tile = [{{64|128}}], warpgroup_tile = [64], stages = 2>: predicted {{.*}} query tiles per thread block

// DIVIDES: error: 'na.attention_dkv' op schedule 'warpgroup_tile'[0] = 64 does not divide 'key_tile'[0] = 96
func.func @gradients(
    %q: memref<1x16384x24x128xbf16>, %lse: memref<1x16384x24xf32>,
    %bias: memref<24x32767xf32>, %g: memref<1x16384x24x128xbf16>,
    %h: memref<1x16384x24x128xbf16>, %n: memref<1x16384x24x64xbf16>,
    %m: memref<1x16384x24x64xbf16>, %w: memref<1x16384x24x256xbf16>) {
  na.attention_dq
    ins(%q, %q, %q, %q : memref<1x16384x24x128xbf16>, memref<1x16384x24x128xbf16>, memref<1x16384x24x128xbf16>, memref<1x16384x24x128xbf16>)
    stats(%lse, %lse : memref<1x16384x24xf32>, memref<1x16384x24xf32>)
    outs(%g : memref<1x16384x24x128xbf16>) window(<size = [16384]>)
  na.attention_dkv
    ins(%q, %q, %q, %q : memref<1x16384x24x128xbf16>, memref<1x16384x24x128xbf16>, memref<1x16384x24x128xbf16>, memref<1x16384x24x128xbf16>)
    stats(%lse, %lse : memref<1x16384x24xf32>, memref<1x16384x24xf32>)
    outs(%g, %h : memref<1x16384x24x128xbf16>, memref<1x16384x24x128xbf16>) window(<size = [16384]>)
  na.attention_dkv
    ins(%n, %n, %n, %n : memref<1x16384x24x64xbf16>, memref<1x16384x24x64xbf16>, memref<1x16384x24x64xbf16>, memref<1x16384x24x64xbf16>)
    stats(%lse, %lse : memref<1x16384x24xf32>, memref<1x16384x24xf32>)
    bias(%bias : memref<24x32767xf32>)
    outs(%n, %m : memref<1x16384x24x64xbf16>, memref<1x16384x24x64xbf16>) window(<size = [16384]>)
  na.attention_dkv
    ins(%w, %w, %w, %w : memref<1x16384x24x256xbf16>, memref<1x16384x24x256xbf16>, memref<1x16384x24x256xbf16>, memref<1x16384x24x256xbf16>)
    stats(%lse, %lse : memref<1x16384x24xf32>, memref<1x16384x24xf32>)
    outs(%w, %w : memref<1x16384x24x256xbf16>, memref<1x16384x24x256xbf16>) window(<size = [16384]>)
  return
}
