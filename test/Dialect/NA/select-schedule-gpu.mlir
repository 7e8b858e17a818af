// RUN: na-opt %s -na-select-schedule=target=sm_90 2>%t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.err
// RUN: na-opt %s -na-select-schedule="target=sm_80 query-tile=64 key-tile=32" | FileCheck %s --check-prefix=FIXED
// RUN: na-opt %s -na-select-schedule="target=sm_86 query-tile=64 key-tile=48 explain" -o /dev/null 2>&1 | FileCheck %s --check-prefix=EXPLAIN
// RUN: na-opt %s -na-select-schedule="target=sm_90 query-tile=5 key-tile=7" | FileCheck %s --check-prefix=ODD

// The tiles are the cost model's; unittests/Schedule tests how it chooses.

// CHECK-LABEL: func @attention
// CHECK:         schedule = #na.schedule<target = "sm_90", query_tile = [{{[0-9]+}}], key_tile = [{{[0-9]+}}], stages = {{[1-3]}}, warps = {{[1-8]}}{{.*}}>
// FIXED-LABEL: func @attention
// FIXED:         query_tile = [64], key_tile = [32], stages = {{[1-3]}}, warps = {{[24]}}>
// 1024 keys of a window, and no more than 64 + 47 beside it.
// EXPLAIN:       remark: schedule #na.schedule<target = "sm_86", query_tile = [64], key_tile = [48], {{.*}}>: predicted {{[0-9.e+]+}} cycles, waste 1.0{{[0-9]}}, {{.*}} key tiles per query tile ({{[0-9]+}}% masked), 2048 thread blocks ({{[1-9]}} per multiprocessor), {{[0-9.]+}} KiB of shared memory, {{[0-9]+}} registers ({{[0-9]+}} spilled), limited by {{.*}}
// Rows of five queries are no warp's: whoever makes a kernel of it may choose.
// ODD-LABEL:   func @attention
// ODD:           schedule = #na.schedule<target = "sm_90", query_tile = [5], key_tile = [7]>
func.func @attention(%q: memref<2x8192x8x128xbf16>, %k: memref<2x8192x2x128xbf16>,
                     %o: memref<2x8192x8x128xbf16>) {
  na.attention
    ins(%q, %k, %k : memref<2x8192x8x128xbf16>, memref<2x8192x2x128xbf16>,
                     memref<2x8192x2x128xbf16>)
    outs(%o : memref<2x8192x8x128xbf16>) window(<size = [1024]>)
  return
}

// More than 256 channels of values are cut.
// CHECK-LABEL: func @value_chunks
// CHECK:         schedule = #na.schedule<target = "sm_90", {{.*}}, value_tile = {{[0-9]+}}>
func.func @value_chunks(%q: memref<?x512x4x32xf32>, %v: memref<?x512x4x384xf32>) {
  na.attention
    ins(%q, %q, %v : memref<?x512x4x32xf32>, memref<?x512x4x32xf32>, memref<?x512x4x384xf32>)
    outs(%v : memref<?x512x4x384xf32>) window(<size = [15]>)
  return
}

// The halves of the unfused form, with sizes that are not known.
// CHECK-LABEL: func @halves
// CHECK:         na.qk
// CHECK-SAME:      schedule = #na.schedule<target = "sm_90", {{.*}}, warps = {{[1-8]}}>
// CHECK:         na.av
// CHECK-SAME:      schedule = #na.schedule<target = "sm_90", {{.*}}, warps = {{[1-8]}}>
func.func @halves(%q: memref<?x?x2x8xf16>, %w: memref<?x?x2x5xf32>) {
  na.qk ins(%q, %q : memref<?x?x2x8xf16>, memref<?x?x2x8xf16>)
        outs(%w : memref<?x?x2x5xf32>) window(<size = [5]>)
  na.av ins(%w, %q : memref<?x?x2x5xf32>, memref<?x?x2x8xf16>)
        outs(%q : memref<?x?x2x8xf16>) window(<size = [5]>)
  return
}

// Nothing fits: the queries alone would take all of the shared memory.
// CHECK-LABEL: func @wide
// CHECK:         schedule = #na.schedule<target = "naive", query_tile = [1], key_tile = [1]>
// EXPLAIN:       remark: {{.*}}: no tiling fits sm_86
// REMARK:        remark: no tile of 16 queries and 16 keys with 8192 channels of keys and 8192 of values fits the 232448 bytes of shared memory and 255 registers of sm_90: left for the naive lowering
func.func @wide(%q: memref<1x512x1x8192xbf16>) {
  na.attention
    ins(%q, %q, %q : memref<1x512x1x8192xbf16>, memref<1x512x1x8192xbf16>, memref<1x512x1x8192xbf16>)
    outs(%q : memref<1x512x1x8192xbf16>) window(<size = [15]>)
  return
}
