// RUN: na-opt %s -na-tile-and-fuse -cse -canonicalize | FileCheck %s

// Query heads that share a tile are a further axis of the boxes of queries and
// results, and the grid goes over groups of them.

// CHECK-LABEL: func @warpgroups
// CHECK-SAME:    %[[Q:[a-z0-9_]+]]: memref<?x256x16x64xbf16>, %[[K:[a-z0-9_]+]]: memref<?x256x2x64xbf16>, %[[O:[a-z0-9_]+]]: memref<?x256x16x64xbf16>, %[[LSE:[a-z0-9_]+]]: memref<?x256x16xf32>
// CHECK:         %[[QV:.*]] = memref.expand_shape %[[Q]] {{.*}}[0], [1], [2, 3], [4]{{.*}} into memref<?x256x16x1x64xbf16>
// CHECK:         %[[OV:.*]] = memref.expand_shape %[[O]] {{.*}} into memref<?x256x16x1x64xbf16>
// CHECK:         %[[LV:.*]] = memref.expand_shape %[[LSE]] {{.*}}[0], [1], [2, 3]{{.*}} into memref<?x256x16x1xf32>
// CHECK:         scf.forall (%[[B:.*]], %[[G:.*]], %{{.*}}) in (%{{.*}}, 4, 8)
// CHECK:           %[[H:.*]] = arith.muli %[[G]], %c4
// CHECK:           scf.forall ({{.*}}) in (2)
// CHECK:             %[[KH:.*]] = arith.divui %[[H]], %c8
// CHECK:             na.tile.load %[[QV]][%[[B]], %c0] at(%[[AT:.*]], %[[H]]) box [16, 4] dilation [1, 1] into {{.*}} -> tensor<64x64xbf16>
// CHECK:             na.tile.windows <size = [100], causal = [true]> {{.*}} box [16] heads 4 into {{.*}} -> tensor<2x64xi32>
// CHECK:             na.tile.load %[[K]][%[[B]], %[[KH]]] at(%{{.*}}) box [64] dilation [1]
// CHECK:             na.tile.mask {{.*}} : tensor<64x64xf32>
// CHECK:             na.tile.store {{.*}} into %[[OV]][%[[B]], %c0] at(%[[AT]], %[[H]]) box [16, 4] dilation [1, 1]
// CHECK:             na.tile.store {{.*}} into %[[LV]][%[[B]], %c0] at(%[[AT]], %[[H]]) box [16, 4] dilation [1, 1]
func.func @warpgroups(%q: memref<?x256x16x64xbf16>, %k: memref<?x256x2x64xbf16>,
                      %o: memref<?x256x16x64xbf16>, %lse: memref<?x256x16xf32>) {
  na.attention
    ins(%q, %k, %k : memref<?x256x16x64xbf16>, memref<?x256x2x64xbf16>, memref<?x256x2x64xbf16>)
    outs(%o, %lse : memref<?x256x16x64xbf16>, memref<?x256x16xf32>)
    window(<size = [100], causal = [true]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [32], key_tile = [64], warpgroup_tile = [16], heads_per_tile = 4>}
  return
}

// A CPU has them along its vector lanes; memory may have gaps.

// CHECK-LABEL: func @cpu
// CHECK-DAG:     memref.expand_shape %{{.*}} into memref<1x6x9x4x1x8xf32, strided<[?, 800, 32, 8, 8, 1], offset: ?>>
// CHECK:         scf.forall ({{.*}}) in (2, 3, 3)
// CHECK:           na.tile.load %{{.*}} at(%{{.*}}, %{{.*}}, %{{.*}}) box [2, 3, 2] dilation [1, 3, 1] transposed into {{.*}} -> tensor<8x12xf32>
// CHECK:           na.tile.store {{.*}} box [2, 3, 2] dilation [1, 3, 1] transposed
func.func @cpu(%q: memref<1x6x9x4x8xf32, strided<[?, 800, 32, 8, 1], offset: ?>>, %k: memref<1x6x9x2x8xf32>,
               %o: memref<1x6x9x4x8xf32>) {
  na.attention
    ins(%q, %k, %k : memref<1x6x9x4x8xf32, strided<[?, 800, 32, 8, 1], offset: ?>>, memref<1x6x9x2x8xf32>, memref<1x6x9x2x8xf32>)
    outs(%o : memref<1x6x9x4x8xf32>) window(<size = [3, 3], dilation = [1, 3]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [2, 3], key_tile = [2, 2], heads_per_tile = 2>}
  return
}
