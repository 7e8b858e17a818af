// RUN: not na-opt %s -na-select-schedule=target=tpu 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not na-opt %s -na-select-schedule=query-tile=4,4,4 2>&1 | FileCheck %s --check-prefix=QUERYRANK
// RUN: not na-opt %s -na-select-schedule=key-tile=4 2>&1 | FileCheck %s --check-prefix=KEYRANK
// RUN: not na-opt %s -na-select-schedule=query-tile=4,0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not na-opt %s -na-select-schedule=key-tile=-1,4 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not na-opt %s -na-select-schedule=key-tile=65537,1 2>&1 | FileCheck %s --check-prefix=EXTENT
// RUN: not na-opt %s -na-select-schedule=query-tile=4611686018427387904,4611686018427387904 2>&1 | FileCheck %s --check-prefix=HUGE
// RUN: not na-opt %s -na-select-schedule=query-tile=512,256 2>&1 | FileCheck %s --check-prefix=LANES
// RUN: not na-opt %s -na-select-schedule="target=sm_90a warpgroup-tile=8" 2>&1 | FileCheck %s --check-prefix=GROUPRANK
// RUN: not na-opt %s -na-select-schedule="target=sm_90a warpgroup-tile=8,8" 2>&1 | FileCheck %s --check-prefix=GROUP
// RUN: not na-opt %s -na-select-schedule="target=sm_90a query-tile=8,12 key-tile=8,8 warpgroup-tile=8,8" 2>&1 | FileCheck %s --check-prefix=DIVIDES
// RUN: not na-opt %s -na-select-schedule=tile=4 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not na-opt %s -na-select-schedule=key-tile=four 2>&1 | FileCheck %s --check-prefix=NUMBER

// TARGET:    error: na-select-schedule: unknown target 'tpu', expected cpu, sm_80, sm_86, sm_87, sm_89, sm_90, sm_90a
// QUERYRANK: error: 'na.attention' op na-select-schedule: 'query-tile' has 3 entries, expected 2 (one per axis)
// KEYRANK:   error: 'na.attention' op na-select-schedule: 'key-tile' has 1 entries, expected 2 (one per axis)
// ZERO:      error: 'na.attention' op schedule 'query_tile'[1] = 0, expected 1 to 65536
// NEGATIVE:  error: 'na.attention' op schedule 'key_tile'[0] = -1, expected 1 to 65536
// EXTENT:    error: 'na.attention' op schedule 'key_tile'[0] = 65537, expected 1 to 65536
// HUGE:      error: 'na.attention' op schedule 'query_tile'[0] = 4611686018427387904, expected 1 to 65536
// LANES:     error: 'na.attention' op schedule 'query_tile' holds 131072 tokens, expected at most 65536
// GROUPRANK: error: 'na.attention' op na-select-schedule: 'warpgroup-tile' has 1 entries, expected 2 (one per axis)
// GROUP:     error: 'na.attention' op na-select-schedule: 'warpgroup-tile' needs 'query-tile' and 'key-tile'
// DIVIDES:   error: 'na.attention' op schedule 'warpgroup_tile'[1] = 8 does not divide 'query_tile'[1] = 12
// OPTION:    no such option tile
// NUMBER:    for the --key-tile option: 'four' value invalid
func.func @attention(%q: memref<1x56x56x2x32xf32>, %o: memref<1x56x56x2x32xf32>) {
  na.attention
    ins(%q, %q, %q : memref<1x56x56x2x32xf32>, memref<1x56x56x2x32xf32>,
                     memref<1x56x56x2x32xf32>)
    outs(%o : memref<1x56x56x2x32xf32>) window(<size = [7, 7]>)
  return
}
