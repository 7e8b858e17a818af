// RUN: na-opt %s -na-select-schedule="target=sm_80 explain" 2>%t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=EXPLAIN --input-file=%t.err
// RUN: na-opt %s -na-select-schedule="target=sm_90 key-tile=64" | FileCheck %s --check-prefix=FIXED
// RUN: na-opt %s -na-select-schedule | FileCheck %s --check-prefix=CPU
// RUN: na-opt %s -na-select-schedule="target=sm_80 query-tile=16 key-tile=64" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not na-opt %s -na-select-schedule="target=sm_80 query-tile=8,8" 2>&1 | FileCheck %s --check-prefix=ERROR

// Of the gradients of keys and values tiles of keys have 16 or 32 rows a warp,
// and each warp gathers the weights of 16 queries or a multiple of that.
// CHECK-LABEL: func @gradients
// CHECK:         na.qk_dq
// CHECK-SAME:      schedule = #na.schedule<target = "sm_80", query_tile = [{{64|128}}], key_tile = [{{[0-9]+}}], stages = {{[1-3]}}, warps = {{[248]}}
// CHECK:         na.qk_dk
// CHECK-SAME:      schedule = #na.schedule<target = "sm_80", query_tile = [{{32|64|96|128|160|192|224|256}}], key_tile = [{{64|128}}], stages = {{[1-3]}}, warps = {{[248]}}
// CHECK:         na.av_dweights
// CHECK-SAME:      schedule = #na.schedule<target = "sm_80", query_tile = [{{64|128}}], key_tile = [{{[0-9]+}}], stages = {{[1-3]}}, warps = {{[248]}}
// CHECK:         na.av_dv
// CHECK-SAME:      schedule = #na.schedule<target = "sm_80", query_tile = [{{32|64|96|128|160|192|224|256}}], key_tile = [{{64|128}}], stages = {{[1-3]}}, warps = {{[248]}}
// EXPLAIN:       remark: schedule #na.schedule<{{.*}}>: predicted {{.*}} key tiles per query tile
// EXPLAIN:       remark: schedule #na.schedule<{{.*}}>: predicted {{.*}} query tiles per key tile
// EXPLAIN:       remark: schedule #na.schedule<{{.*}}>: predicted {{.*}} key tiles per query tile
// EXPLAIN:       remark: schedule #na.schedule<{{.*}}>: predicted {{.*}} query tiles per key tile
// FIXED-LABEL: func @gradients
// FIXED-COUNT-4: key_tile = [64]
// Four warps would have keys, and one of them queries.
// NONE:          remark: na-select-schedule: the tiles that are given have no warps with 16 or 32 keys each and 16 queries, or a multiple of these: left for the naive lowering
// NONE:          remark: na-select-schedule: the tiles that are given have no warps
// NONE-LABEL:    func.func @gradients(
// NONE:          na.qk_dq {{.*}} query_tile = [16], key_tile = [64]
// NONE:          na.qk_dk {{.*}}target = "naive"
// NONE:          na.av_dweights {{.*}} query_tile = [16], key_tile = [64]
// NONE:          na.av_dv {{.*}}target = "naive"
// CPU-LABEL:   func @gradients
// CPU-COUNT-4:   schedule = #na.schedule<target = "cpu"
// ERROR:         error: 'na.qk_dq' op na-select-schedule: 'query-tile' has 2 entries, expected 1 (one per axis)
func.func @gradients(%q: memref<2x8192x8x64xbf16>, %k: memref<2x8192x2x64xbf16>,
                     %s: memref<2x8192x8x127xf32>) {
  na.qk_dq ins(%k, %s : memref<2x8192x2x64xbf16>, memref<2x8192x8x127xf32>)
    outs(%q : memref<2x8192x8x64xbf16>) window(<size = [127]>)
  na.qk_dk ins(%q, %s : memref<2x8192x8x64xbf16>, memref<2x8192x8x127xf32>)
    outs(%k : memref<2x8192x2x64xbf16>) window(<size = [127]>)
  na.av_dweights ins(%k, %q : memref<2x8192x2x64xbf16>, memref<2x8192x8x64xbf16>)
    outs(%s : memref<2x8192x8x127xf32>) window(<size = [127]>)
  na.av_dv ins(%s, %q : memref<2x8192x8x127xf32>, memref<2x8192x8x64xbf16>)
    outs(%k : memref<2x8192x2x64xbf16>) window(<size = [127]>)
  return
}

// A sum of a bias gets none.
// CHECK-LABEL: func @bias
// CHECK-NOT:     schedule
func.func @bias(%s: memref<1x9x2x3xf32>, %b: memref<2x5xf32>) {
  na.qk_dbias ins(%s : memref<1x9x2x3xf32>) outs(%b : memref<2x5xf32>)
      window(<size = [3]>)
  return
}
