// RUN: na-opt %s -na-select-schedule="target=sm_80 explain" 2>%t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=EXPLAIN --input-file=%t.err
// RUN: na-opt %s -na-select-schedule="target=sm_80 explain tuning-file=%S/Inputs/tuning/good.json" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=EXPLAIN --implicit-check-not="has no entry"
// RUN: na-opt %s -na-select-schedule | FileCheck %s --check-prefix=CPU
// RUN: na-opt %s -na-select-schedule="target=sm_90a key-tile=64" 2>/dev/null | FileCheck %s --check-prefix=FIXED
// RUN: not na-opt %s -na-select-schedule="target=sm_80 query-tile=8,8" 2>&1 | FileCheck %s --check-prefix=ERROR

// 64 or 128 rows of 16 each for a warp: queries, or keys.
// CHECK-LABEL: func @gradients
// CHECK:         na.attention_dq
// CHECK-SAME:      schedule = #na.schedule<target = "sm_80", query_tile = [{{64|128}}], key_tile = [{{[0-9]+}}], stages = {{[1-3]}}, warps = {{[48]}}>
// CHECK:         na.attention_dkv
// CHECK-SAME:      schedule = #na.schedule<target = "sm_80", query_tile = [{{16|32}}], key_tile = [{{64|128}}], stages = {{[1-3]}}, warps = {{[48]}}>
// EXPLAIN:       remark: schedule #na.schedule<{{.*}}>: predicted {{.*}} key tiles per query tile ({{[0-9]+}}% masked), {{.*}} KiB of shared memory, {{[0-9]+}} registers
// EXPLAIN:       remark: schedule #na.schedule<{{.*}}>: predicted {{.*}} query tiles per key tile ({{[0-9]+}}% masked), {{.*}} KiB of shared memory, {{[0-9]+}} registers
// The other tile is made to fit the one that is given.
// FIXED-LABEL: func @gradients
// FIXED:         schedule = #na.schedule<target = "sm_90", query_tile = [{{[0-9]+}}], key_tile = [64], stages = {{[1-3]}}, warps = {{[48]}}>
// FIXED:         schedule = #na.schedule<target = "sm_90", query_tile = [{{[0-9]+}}], key_tile = [64], stages = {{[1-3]}}, warps = 4>
// ERROR:         error: 'na.attention_dq' op na-select-schedule: 'query-tile' has 2 entries, expected 1 (one per axis)
func.func @gradients(%q: memref<2x8192x8x128xbf16>, %k: memref<2x8192x2x128xbf16>,
                     %l: memref<2x8192x8xf32>) {
  na.attention_dq
    ins(%q, %k, %k, %q : memref<2x8192x8x128xbf16>, memref<2x8192x2x128xbf16>, memref<2x8192x2x128xbf16>, memref<2x8192x8x128xbf16>)
    stats(%l, %l : memref<2x8192x8xf32>, memref<2x8192x8xf32>)
    outs(%q : memref<2x8192x8x128xbf16>) window(<size = [1024]>)
  na.attention_dkv
    ins(%q, %k, %k, %q : memref<2x8192x8x128xbf16>, memref<2x8192x2x128xbf16>, memref<2x8192x2x128xbf16>, memref<2x8192x8x128xbf16>)
    stats(%l, %l : memref<2x8192x8xf32>, memref<2x8192x8xf32>)
    outs(%k, %k : memref<2x8192x2x128xbf16>, memref<2x8192x2x128xbf16>) window(<size = [1024]>)
  return
}

// Two sums of 256 channels fit no registers: a program for each. What is given
// of tiles is kept in both, and one sum is split no further.
// CHECK-LABEL: func @apart
// CHECK:         na.attention_dkv {{.*}} dk(%{{.*}}) window({{.*}}) {schedule = #na.schedule<target = "sm_80", query_tile = [{{[0-9]+}}], key_tile = [{{[0-9]+}}], stages = {{[1-3]}}, warps = {{[0-9]}}>}
// CHECK-NEXT:    na.attention_dkv {{.*}} dv(%{{.*}}) window({{.*}}) {schedule = #na.schedule<target = "sm_80", query_tile = [{{[0-9]+}}], key_tile = [{{[0-9]+}}], stages = {{[1-3]}}, warps = {{[0-9]}}>}
// CHECK-NEXT:    na.attention_dkv {{.*}} dv(
// CHECK-NEXT:    na.attention_dkv {{.*}} dk(%{{.*}}) {{.*}} query_tile = [16], key_tile = [32]>}
// CHECK-NEXT:    na.attention_dkv {{.*}} dv(%{{.*}}) {{.*}} query_tile = [16], key_tile = [32]>}
// CHECK-NEXT:    return
// EXPLAIN:       remark: one program for each gradient: no schedule has room for both sums
// EXPLAIN:       remark: schedule #na.schedule<{{.*}}>: predicted {{.*}} query tiles per key tile
// EXPLAIN:       remark: schedule #na.schedule<{{.*}}>: predicted {{.*}} query tiles per key tile
// EXPLAIN:       remark: schedule #na.schedule<{{.*}}>: predicted {{.*}} query tiles per key tile
// FIXED-LABEL: func @apart
// FIXED:         na.attention_dkv {{.*}} dk({{.*}} key_tile = [64],
// FIXED:         na.attention_dkv {{.*}} dv({{.*}} key_tile = [64],
// On a CPU too, for tiles of a GPU only.
// CPU-LABEL:   func @apart
// CPU:           na.attention_dkv {{.*}} outs(
// CPU-NEXT:      na.attention_dkv {{.*}} dv(
// CPU-NEXT:      na.attention_dkv {{.*}} dk(
// CPU-NEXT:      na.attention_dkv {{.*}} dv(
// CPU-NEXT:      return
func.func @apart(%q: memref<1x4096x4x256xbf16>, %l: memref<1x4096x4xf32>) {
  na.attention_dkv
    ins(%q, %q, %q, %q : memref<1x4096x4x256xbf16>, memref<1x4096x4x256xbf16>, memref<1x4096x4x256xbf16>, memref<1x4096x4x256xbf16>)
    stats(%l, %l : memref<1x4096x4xf32>, memref<1x4096x4xf32>)
    outs(%q, %q : memref<1x4096x4x256xbf16>, memref<1x4096x4x256xbf16>) window(<size = [1024]>)
  na.attention_dkv
    ins(%q, %q, %q, %q : memref<1x4096x4x256xbf16>, memref<1x4096x4x256xbf16>, memref<1x4096x4x256xbf16>, memref<1x4096x4x256xbf16>)
    stats(%l, %l : memref<1x4096x4xf32>, memref<1x4096x4xf32>)
    dv(%q : memref<1x4096x4x256xbf16>) window(<size = [1024]>)
  na.attention_dkv
    ins(%q, %q, %q, %q : memref<1x4096x4x256xbf16>, memref<1x4096x4x256xbf16>, memref<1x4096x4x256xbf16>, memref<1x4096x4x256xbf16>)
    stats(%l, %l : memref<1x4096x4xf32>, memref<1x4096x4xf32>)
    outs(%q, %q : memref<1x4096x4x256xbf16>, memref<1x4096x4x256xbf16>) window(<size = [1024]>)
    {schedule = #na.schedule<target = "sm_80", query_tile = [16], key_tile = [32]>}
  return
}

// Two accumulators of 512 channels fit no registers.
// CHECK-LABEL: func @wide
// CHECK:         schedule = #na.schedule<target = "naive", query_tile = [1], key_tile = [1]>
// EXPLAIN:       remark: no tile of 16 queries and 16 keys with 512 channels of keys and 512 of values fits {{.*}}: left for the naive lowering
func.func @wide(%q: memref<1x512x1x512xbf16>, %l: memref<1x512x1xf32>) {
  na.attention_dkv
    ins(%q, %q, %q, %q : memref<1x512x1x512xbf16>, memref<1x512x1x512xbf16>, memref<1x512x1x512xbf16>, memref<1x512x1x512xbf16>)
    stats(%l, %l : memref<1x512x1xf32>, memref<1x512x1xf32>)
    outs(%q, %q : memref<1x512x1x512xbf16>, memref<1x512x1x512xbf16>) window(<size = [15]>)
  return
}
