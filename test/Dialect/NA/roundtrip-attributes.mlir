// RUN: na-opt %s | na-opt | FileCheck %s
// RUN: na-opt %s --mlir-print-op-generic | na-opt | FileCheck %s
// RUN: na-opt %s --emit-bytecode | na-opt | FileCheck %s

// Entries come in any order; defaults are not printed.

// CHECK-LABEL: func private @windows
func.func private @windows() attributes {
  // CHECK-SAME: a = #na.window<size = [7]>
  a = #na.window<size = [7]>,
  // CHECK-SAME: b = #na.window<size = [7, 5]>
  b = #na.window<stride = [1, 1], dilation = [1, 1], causal = [false, false], size = [7, 5]>,
  // CHECK-SAME: c = #na.window<size = [18, 24, 24], stride = [16, 8, 8]>
  c = #na.window<size = [18, 24, 24], stride = [16, 8, 8]>,
  // CHECK-SAME: d = #na.window<size = [3, 4], dilation = [2, 1]>
  d = #na.window<size = [3, 4], dilation = [2, 1]>,
  // CHECK-SAME: e = #na.window<size = [256], causal = [true]>
  e = #na.window<size = [256], causal = [true]>,
  // CHECK-SAME: f = #na.window<size = [4, 5], stride = [4, 2], dilation = [3, 2], causal = [false, true]>
  f = #na.window<size = [4, 5], causal = [false, true], dilation = [3, 2], stride = [4, 2]>,
  // CHECK-SAME: g = #na.window<size = [3]>
  g = #na.window<size = [3], stride = [], dilation = [], causal = []>,
  // CHECK-SAME: h = #na.window<size = [9223372036854775807, 9223372036854775807]>
  h = #na.window<size = [9223372036854775807, 9223372036854775807]>
}

// CHECK-LABEL: func private @schedules
func.func private @schedules() attributes {
  // CHECK-SAME: a = #na.schedule<target = "cpu", query_tile = [8, 8], key_tile = [14, 14]>
  a = #na.schedule<target = "cpu", query_tile = [8, 8], key_tile = [14, 14]>,
  // CHECK-SAME: b = #na.schedule<target = "sm_90a", query_tile = [8, 16], key_tile = [14, 8], warpgroup_tile = [8, 8], stages = 2>
  b = #na.schedule<stages = 2, warpgroup_tile = [8, 8], key_tile = [14, 8], query_tile = [8, 16], target = "sm_90a">,
  // CHECK-SAME: c = #na.schedule<target = "a \22quoted\22 name", query_tile = [1], key_tile = [65536]>
  c = #na.schedule<target = "a \22quoted\22 name", query_tile = [1], key_tile = [65536], warpgroup_tile = [], stages = 0>,
  // CHECK-SAME: d = #na.schedule<target = "sm_80", query_tile = [64], key_tile = [32], stages = 2, warps = 4, value_tile = 192>
  d = #na.schedule<value_tile = 192, warps = 4, stages = 2, key_tile = [32], query_tile = [64], target = "sm_80">,
  // CHECK-SAME: e = #na.schedule<target = "sm_80", query_tile = [8, 8], key_tile = [4, 4]>
  e = #na.schedule<target = "sm_80", query_tile = [8, 8], key_tile = [4, 4], warps = 0, value_tile = 0, heads_per_tile = 1>,
  // CHECK-SAME: f = #na.schedule<target = "sm_80", query_tile = [8], key_tile = [16], warps = 4, heads_per_tile = 8>
  f = #na.schedule<heads_per_tile = 8, target = "sm_80", query_tile = [8], key_tile = [16], warps = 4>
}
