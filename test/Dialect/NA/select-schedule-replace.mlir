// RUN: na-opt %s -na-select-schedule=target=sm_80 -verify-diagnostics | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: na-opt %s -na-select-schedule=target=cpu 2>/dev/null | FileCheck %s --check-prefixes=CHECK,CPU

// Tiles for a GPU run on a CPU too, so a schedule for one is kept; what is for
// a CPU is of no use on a GPU.
// CHECK-LABEL: func @replaced
// GPU:           schedule = #na.schedule<target = "sm_80"
// CPU:           schedule = #na.schedule<target = "cpu", query_tile = [6], key_tile = [10]>
func.func @replaced(%q: memref<1x64x1x16xf32>) {
  // expected-remark @+1 {{na-select-schedule: the schedule is for 'cpu'; replaced by one for 'sm_80'}}
  na.attention
    ins(%q, %q, %q : memref<1x64x1x16xf32>, memref<1x64x1x16xf32>, memref<1x64x1x16xf32>)
    outs(%q : memref<1x64x1x16xf32>) window(<size = [7]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [6], key_tile = [10]>}
  return
}

// CHECK-LABEL: func @kept
// CHECK:         schedule = #na.schedule<target = "sm_90", query_tile = [16], key_tile = [32]>
func.func @kept(%q: memref<1x64x1x16xf32>) {
  na.attention
    ins(%q, %q, %q : memref<1x64x1x16xf32>, memref<1x64x1x16xf32>, memref<1x64x1x16xf32>)
    outs(%q : memref<1x64x1x16xf32>) window(<size = [7]>)
    {schedule = #na.schedule<target = "sm_90", query_tile = [16], key_tile = [32]>}
  return
}
