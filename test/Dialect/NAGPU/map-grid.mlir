// RUN: na-opt %s -split-input-file -nagpu-map-grid -canonicalize -cse | FileCheck %s

// One CTA an iteration, the last dimension fastest. Without a schedule a warp
// has 16 queries, up to 4 warps.
// CHECK-LABEL: func @three_dims
// CHECK-SAME:    %[[N:[a-z0-9_]+]]: index
// CHECK:         %[[GRID:.*]] = arith.muli %[[N]], %c8 : index
// CHECK:         gpu.launch blocks(%[[ID:[a-z0-9_]+]], %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}) in (%{{[a-z0-9_]+}} = %[[GRID]], %{{[a-z0-9_]+}} = %c1, %{{[a-z0-9_]+}} = %c1)
// CHECK-SAME:      threads({{[^)]*}}) in (%{{.*}} = %c64, %{{.*}} = %c1, %{{.*}} = %c1)
// CHECK:           %[[T:.*]] = arith.remui %[[ID]], %c2 : index
// CHECK:           %[[REST:.*]] = arith.divui %[[ID]], %c2 : index
// CHECK:           %[[H:.*]] = arith.remui %[[REST]], %c4 : index
// CHECK:           %[[B:.*]] = arith.divui %[[REST]], %c4 : index
// CHECK:           %[[AT:.*]] = arith.muli %[[T]], %{{.*}}
// CHECK:           na.tile.load %{{.*}}[%[[B]], %[[H]]] at(%[[AT]])
// CHECK:           na.tile.store
// CHECK-NEXT:      gpu.terminator
// CHECK-NOT:     scf.forall
func.func @three_dims(%n: index, %q: memref<?x64x4x16xf32>,
                      %o: memref<?x64x4x16xf32>) {
  %c32 = arith.constant 32 : index
  scf.forall (%b, %h, %t) in (%n, 4, 2) {
    %at = arith.muli %t, %c32 : index
    %init = tensor.empty() : tensor<32x16xf32>
    %tile = na.tile.load %q[%b, %h] at(%at) box [32] dilation [1] into %init
      : memref<?x64x4x16xf32>, tensor<32x16xf32> -> tensor<32x16xf32>
    na.tile.store %tile into %o[%b, %h] at(%at) box [32] dilation [1]
      : tensor<32x16xf32>, memref<?x64x4x16xf32>
  }
  return
}

// -----

// The schedule says how many warps, and stays on the launch.
// CHECK-LABEL: func @warps_of_schedule
// CHECK:         gpu.launch {{.*}} threads({{.*}}) in (%{{.*}} = %c32,
// CHECK:           gpu.terminator
// CHECK-NEXT:    } {na.schedule = #na.schedule<target = "sm_80", query_tile = [64], key_tile = [16], stages = 3, warps = 1>}
func.func @warps_of_schedule(%tile: tensor<64xf32>, %o: memref<1x64x1xf32>) {
  scf.forall (%b) in (1) {
    na.tile.store %tile into %o[%b, %b] at(%b) box [64] dilation [1]
      : tensor<64xf32>, memref<1x64x1xf32>
  } {na.schedule = #na.schedule<target = "sm_80", query_tile = [64], key_tile = [16], stages = 3, warps = 1>}
  return
}

// -----

// 96 queries are 6 blocks of 16: 3 warps, since 4 would have unequal shares.
// CHECK-LABEL: func @three_warps
// CHECK:         gpu.launch {{.*}} threads({{.*}}) in (%{{.*}} = %c96,
func.func @three_warps(%tile: tensor<96xf32>, %o: memref<1x8x12x1xf32>) {
  scf.forall (%b) in (1) {
    na.tile.store %tile into %o[%b, %b] at(%b, %b) box [8, 12] dilation [1, 1]
      : tensor<96xf32>, memref<1x8x12x1xf32>
  }
  return
}

// -----

// Scattered scores give the number of queries, too.
// CHECK-LABEL: func @scatter
// CHECK:         gpu.launch {{.*}} threads({{.*}}) in (%{{.*}} = %c32,
func.func @scatter(%s: tensor<16x32xf32>, %r: tensor<2x16xi32>,
                   %w: memref<1x16x1x5xf32>) {
  scf.forall (%b) in (1) {
    na.tile.scatter %s ranges(%r : tensor<2x16xi32>) key_at(%b)
      into %w[%b, %b] at(%b) <size = [5]> query_box [16] key_box [32]
      : tensor<16x32xf32>, memref<1x16x1x5xf32>
  }
  return
}

// -----

// No-op: loops without tiles are left to the naive lowering.
// CHECK-LABEL: func @no_tiles
// CHECK-NOT:     gpu.launch
// CHECK:         scf.forall
func.func @no_tiles(%m: memref<8xf32>, %x: f32) {
  scf.forall (%i) in (8) {
    memref.store %x, %m[%i] : memref<8xf32>
  }
  return
}

// -----

// The loop over the warpgroups of a CTA stays in the kernel, which has one more
// warpgroup to load their tiles.
// CHECK-LABEL: func @warpgroups
// CHECK:         gpu.launch blocks(%[[ID:[a-z0-9_]+]], {{.*}} threads({{.*}}) in (%{{.*}} = %c384,
// CHECK:           scf.forall (%[[G:.*]]) in (2) {
// CHECK-NEXT:        na.tile.store %{{.*}} into %{{.*}}[%[[ID]], %[[G]]]
// CHECK-NEXT:      } {mapping = [#gpu.warpgroup<x>]}
// CHECK-NEXT:      gpu.terminator
func.func @warpgroups(%tile: tensor<64xf32>, %o: memref<1x64x2xf32>) {
  scf.forall (%b) in (8) {
    scf.forall (%g) in (2) {
      na.tile.store %tile into %o[%b, %g] at(%b) box [64] dilation [1]
        : tensor<64xf32>, memref<1x64x2xf32>
    } {mapping = [#gpu.warpgroup<x>]}
  }
  return
}
