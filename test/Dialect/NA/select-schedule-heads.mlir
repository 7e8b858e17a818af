// RUN: na-opt %s -na-select-schedule=target=sm_90a | FileCheck %s
// RUN: na-opt %s -na-select-schedule="target=sm_90a heads-per-tile=2" | FileCheck %s --check-prefix=TWO
// RUN: na-opt %s -na-select-schedule="target=sm_90a heads-per-tile=1" | FileCheck %s --check-prefix=ONE
// RUN: na-opt %s -na-select-schedule="target=sm_90a query-tile=32 key-tile=64 warpgroup-tile=16 heads-per-tile=4" | FileCheck %s --check-prefix=BYHAND
// RUN: na-opt %s -na-select-schedule="target=sm_80 query-tile=32 key-tile=64" | FileCheck %s --check-prefix=TILES
// RUN: na-opt %s -na-select-schedule="target=cpu query-tile=8 key-tile=64 heads-per-tile=4" | FileCheck %s --check-prefix=CPU
// RUN: not na-opt %s -na-select-schedule="target=sm_90a heads-per-tile=3" 2>&1 | FileCheck %s --check-prefix=GROUP
// RUN: not na-opt %s -na-select-schedule="target=sm_90a heads-per-tile=-1" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not na-opt %s -na-select-schedule="target=sm_90a heads-per-tile=65" 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not na-opt %s -na-select-schedule="heads-per-tile=2" 2>&1 | FileCheck %s --check-prefix=CPUTILES

// The model keeps to one head for each tile unless it is told otherwise.

// TWO:      heads_per_tile = 2
// ONE-NOT:  heads_per_tile
// BYHAND:   <target = "sm_90a", query_tile = [32], key_tile = [64], warpgroup_tile = [16], stages = 2, heads_per_tile = 4>
// TILES:    <target = "sm_80", query_tile = [32], key_tile = [64], stages
// TILES-NOT: heads_per_tile
// CPU:      <target = "cpu", query_tile = [8], key_tile = [64], heads_per_tile = 4>
// GROUP:    error: 'na.attention' op 'schedule' has 'heads_per_tile' = 3, expected a divisor of 8, the query heads (64) that read one of the 8 key heads
// NEGATIVE: error: 'na.attention' op na-select-schedule: 'heads-per-tile' is -1, expected at least 0
// LARGE:    error: 'na.attention' op schedule 'heads_per_tile' = 65, expected 1 to 64
// CPUTILES: error: 'na.attention' op na-select-schedule: 'heads-per-tile' needs 'query-tile' and 'key-tile' for a CPU

// CHECK-LABEL: func @short
// CHECK-NOT:     heads_per_tile
func.func @short(%q: memref<1x32768x64x64xbf16>, %k: memref<1x32768x8x64xbf16>,
                 %o: memref<1x32768x64x64xbf16>) {
  na.attention
    ins(%q, %k, %k : memref<1x32768x64x64xbf16>, memref<1x32768x8x64xbf16>, memref<1x32768x8x64xbf16>)
    outs(%o : memref<1x32768x64x64xbf16>) window(<size = [128], causal = [true]>)
  return
}

// CHECK-LABEL: func @long
// CHECK:         schedule = #na.schedule<target = "sm_90a", query_tile = [128], key_tile = [{{[0-9]+}}], warpgroup_tile = [64], stages = 2>
func.func @long(%q: memref<1x32768x32x128xbf16>, %k: memref<1x32768x8x128xbf16>,
                %o: memref<1x32768x32x128xbf16>) {
  na.attention
    ins(%q, %k, %k : memref<1x32768x32x128xbf16>, memref<1x32768x8x128xbf16>, memref<1x32768x8x128xbf16>)
    outs(%o : memref<1x32768x32x128xbf16>) window(<size = [4096], causal = [true]>)
  return
}
