// RUN: na-opt %s -na-select-schedule="target=cpu query-tile=3,5 key-tile=6,7" | FileCheck %s --check-prefix=BOTH
// RUN: na-opt %s -na-select-schedule=query-tile=3,5 | FileCheck %s --check-prefix=QUERY
// RUN: na-opt %s -na-select-schedule=key-tile=300,200 | FileCheck %s --check-prefix=KEY
// RUN: na-opt %s -na-select-schedule="target=sm_90a query-tile=8,16 key-tile=22,8 warpgroup-tile=8,8" | FileCheck %s --check-prefix=GROUP
// RUN: na-opt %s -na-select-schedule="query-tile=2,2 key-tile=8,8 explain" -verify-diagnostics

// BOTH:  query_tile = [3, 5], key_tile = [6, 7]
// QUERY: query_tile = [3, 5], key_tile = [{{[1-9][0-9]*, [1-9][0-9]*}}]
// KEY:   query_tile = [{{[1-9][0-9]*, [1-9][0-9]*}}], key_tile = [300, 200]
// GROUP: <target = "sm_90a", query_tile = [8, 16], key_tile = [22, 8], warpgroup_tile = [8, 8], stages = 2>
func.func @attention(%q: memref<1x56x56x2x32xf32>, %o: memref<1x56x56x2x32xf32>) {
  // A query tile and its key tile have 4 * 64 pairs, of which a window holds 49
  // per query; windows of two queries span 8 keys at most.
  // expected-remark @+1 {{schedule #na.schedule<target = "cpu", query_tile = [2, 2], key_tile = [8, 8]>: predicted}}
  na.attention
    ins(%q, %q, %q : memref<1x56x56x2x32xf32>, memref<1x56x56x2x32xf32>,
                     memref<1x56x56x2x32xf32>)
    outs(%o : memref<1x56x56x2x32xf32>) window(<size = [7, 7]>)
  return
}
