// RUN: na-opt %s -na-select-schedule=target=sm_90a -split-input-file | FileCheck %s
// RUN: not na-opt %s -na-select-schedule="target=sm_80 heads-per-tile=2" -split-input-file 2>&1 | FileCheck %s --check-prefix=TWO

// Where tiles of several heads have no kernels, none are selected: with a bias,
// on three axes, for the halves.

// TWO: error: 'na.attention' op 'schedule' has 'heads_per_tile' = 2, expected 1: each query head has a bias of its own
// TWO: error: 'na.attention' op schedule 'heads_per_tile' = 2 with 3 axes, expected at most 2
// TWO: error: 'na.qk' op na-select-schedule: 'heads-per-tile' is 2, expected 0 or 1: only na.attention has tiles of several heads

// CHECK-NOT: heads_per_tile
func.func @bias(%q: memref<1x4096x64x64xbf16>, %k: memref<1x4096x8x64xbf16>, %b: memref<64x255xbf16>,
                %o: memref<1x4096x64x64xbf16>) {
  na.attention
    ins(%q, %k, %k : memref<1x4096x64x64xbf16>, memref<1x4096x8x64xbf16>, memref<1x4096x8x64xbf16>)
    bias(%b : memref<64x255xbf16>)
    outs(%o : memref<1x4096x64x64xbf16>) window(<size = [128], causal = [true]>)
  return
}

// -----

func.func @three_axes(%q: memref<1x16x16x16x64x64xbf16>, %k: memref<1x16x16x16x8x64xbf16>,
                      %o: memref<1x16x16x16x64x64xbf16>) {
  na.attention
    ins(%q, %k, %k : memref<1x16x16x16x64x64xbf16>, memref<1x16x16x16x8x64xbf16>, memref<1x16x16x16x8x64xbf16>)
    outs(%o : memref<1x16x16x16x64x64xbf16>) window(<size = [3, 3, 3]>)
  return
}

// -----

func.func @half(%q: memref<1x64x4x16xf16>, %k: memref<1x64x2x16xf16>, %s: memref<1x64x4x5xf32>) {
  na.qk
      ins(%q, %k : memref<1x64x4x16xf16>, memref<1x64x2x16xf16>)
      outs(%s : memref<1x64x4x5xf32>) window(<size = [5]>)
  return
}
