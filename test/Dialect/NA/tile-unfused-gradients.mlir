// RUN: na-opt %s -na-tile-unfused -canonicalize -split-input-file -verify-diagnostics | FileCheck %s

// The gradient of keys: rows are 8 keys, of the two query heads that read their
// head the queries that see them, 16 at a time. The windows are those of the
// queries; the weights are transposed in the product.

// CHECK-DAG:   #[[LHS:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d2, d0)>
// CHECK-DAG:   #[[RHS:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG:   #[[OUT:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func @dk
// CHECK-SAME:    (%[[Q:.*]]: memref<2x56x4x32xf32>, %[[S:.*]]: memref<2x56x4x7xf32>, %[[K:.*]]: memref<2x56x2x32xf32>)
// CHECK-DAG:     %[[SCALE:.*]] = arith.constant 5.000000e-01 : f32
// CHECK:         scf.forall (%[[B:.*]], %[[H:.*]], %[[TILE:.*]]) in (2, 2, 7) {
// CHECK:           %[[KEY:.*]] = arith.muli %[[TILE]], %c8
// CHECK:           %[[TILES:.*]] = arith.ceildivsi %{{.*}}, %c16
// CHECK:           %[[ZEROS:.*]] = linalg.fill {{.*}} -> tensor<8x32xf32>
// CHECK:           %[[ALL:.*]] = arith.muli %[[TILES]], %c2
// CHECK:           %[[SUM:.*]] = scf.for %[[I:.*]] = %c0 to %[[ALL]] step %c1 iter_args(%[[ACC:.*]] = %[[ZEROS]])
// CHECK:             %[[ROUND:.*]] = arith.divui %[[I]], %[[TILES]]
// CHECK:             %[[FIRST:.*]] = arith.muli %[[H]], %c2
// CHECK:             %[[HEAD:.*]] = arith.addi %[[FIRST]], %[[ROUND]]
// CHECK:             %[[RANGES:.*]] = na.tile.windows <size = [7]> at(%[[AT:.*]]) sizes(%c56) box [16]
// CHECK:             %[[W:.*]] = na.tile.gather %[[S]][%[[B]], %[[HEAD]]] at(%[[AT]]) ranges(%[[RANGES]] : tensor<2x16xi32>) key_at(%[[KEY]]) <size = [7]> query_box [16] key_box [8] into %{{.*}} -> tensor<16x8xf32>
// CHECK:             %[[T:.*]] = na.tile.load %[[Q]][%[[B]], %[[HEAD]]] at(%[[AT]]) box [16] dilation [1] into %{{.*}} -> tensor<16x32xf32>
// CHECK:             %[[NEXT:.*]] = linalg.contract indexing_maps = [#[[LHS]], #[[RHS]], #[[OUT]]] ins(%[[W]], %[[T]] : {{.*}}) outs(%[[ACC]] : tensor<8x32xf32>)
// CHECK:             scf.yield %[[NEXT]]
// CHECK:           %[[SCALED:.*]] = linalg.generic {{.*}} outs(%[[SUM]] : tensor<8x32xf32>)
// CHECK:             arith.mulf %{{.*}}, %[[SCALE]]
// CHECK:           na.tile.store %[[SCALED]] into %[[K]][%[[B]], %[[H]]] at(%[[KEY]]) box [8] dilation [1]
// CHECK-NOT:     na.qk_dk
func.func @dk(%q: memref<2x56x4x32xf32>, %s: memref<2x56x4x7xf32>,
              %k: memref<2x56x2x32xf32>) {
  na.qk_dk ins(%q, %s : memref<2x56x4x32xf32>, memref<2x56x4x7xf32>)
      outs(%k : memref<2x56x2x32xf32>) window(<size = [7]>) {scale = 0.5 : f64,
        schedule = #na.schedule<target = "cpu", query_tile = [16], key_tile = [8]>}
  return
}

// -----

// The gradient of values in the form for a GPU: weights of f32 are rounded as
// they are gathered, and values of many channels cut into chunks.

// CHECK-LABEL: func @dv
// CHECK:         scf.forall (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) in (2, 2, 2, 4) {
// CHECK:           scf.for {{.*}} -> (tensor<16x160xf32>)
// CHECK:             na.tile.gather {{.*}} query_box [32] key_box [16] into %{{.*}} : memref<2x64x2x7xf32>, tensor<32x16xbf16>
// CHECK:             na.tile.load {{.*}} -> tensor<32x160xbf16>
// CHECK-NOT:         arith.truncf
// CHECK:             linalg.contract {{.*}} outs({{.*}} : tensor<16x160xf32>)
// CHECK:           na.tile.store {{.*}} : tensor<16x160xf32>
func.func @dv(%w: memref<2x64x2x7xf32>, %o: memref<2x64x2x320xbf16>,
              %v: memref<2x64x2x320xbf16>) {
  na.av_dv ins(%w, %o : memref<2x64x2x7xf32>, memref<2x64x2x320xbf16>)
      outs(%v : memref<2x64x2x320xbf16>) window(<size = [7]>) {schedule =
        #na.schedule<target = "sm_80", query_tile = [32], key_tile = [16]>}
  return
}

// -----

// The gradient of queries is a weighted sum of keys, with the scale at the end.

// CHECK-LABEL: func @dq
// CHECK-DAG:     %[[SCALE:.*]] = arith.constant 2.500000e-01 : f32
// CHECK:         scf.forall (%[[B:.*]], %[[H:.*]], %{{.*}}) in (2, 4, 4) {
// CHECK:           scf.for
// CHECK:             %[[KH:.*]] = arith.divui %[[H]], %c2
// CHECK:             na.tile.gather {{.*}}[%[[B]], %[[H]]] {{.*}} memref<2x64x4x7xf32>, tensor<16x32xf16>
// CHECK:             na.tile.load %{{.*}}[%[[B]], %[[KH]]]
// CHECK:           linalg.generic
// CHECK:             arith.mulf %{{.*}}, %[[SCALE]]
// CHECK:           na.tile.store
func.func @dq(%k: memref<2x64x2x16xf16>, %s: memref<2x64x4x7xf32>,
              %q: memref<2x64x4x16xf16>) {
  na.qk_dq ins(%k, %s : memref<2x64x2x16xf16>, memref<2x64x4x7xf32>)
      outs(%q : memref<2x64x4x16xf16>) window(<size = [7]>) {schedule =
        #na.schedule<target = "sm_80", query_tile = [16], key_tile = [32]>}
  return
}

// -----

// The gradient of weights is made as scores are, without a scale; slots that no
// key fills are 0.

// CHECK-LABEL: func @dweights
// CHECK-SAME:    %[[W:[a-z0-9_]+]]: memref<1x9x2x3xf16>)
// CHECK-DAG:     %[[NONE:.*]] = arith.constant 0.000000e+00 : f16
// CHECK:         linalg.fill ins(%[[NONE]] : f16) outs(%[[W]] :
// CHECK:         scf.forall
// CHECK-NOT:       arith.mulf
// CHECK:           na.tile.scatter {{.*}} into %[[W]]
func.func @dweights(%v: memref<1x9x2x4xf32>, %w: memref<1x9x2x3xf16>) {
  na.av_dweights ins(%v, %v : memref<1x9x2x4xf32>, memref<1x9x2x4xf32>)
      outs(%w : memref<1x9x2x3xf16>) window(<size = [3], causal = [true]>)
      {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [6]>}
  return
}

// -----

// Kernels transpose contiguous weights; programs of a CPU any.

// CHECK-LABEL: func @strided
// CHECK:         na.av_dv
// CHECK:         scf.forall
// CHECK-NOT:     na.av_dv
func.func @strided(%w: memref<1x9x2x3xf32, strided<[108, 12, 6, 2]>>,
                   %v: memref<1x9x2x4xf32>) {
  // expected-remark @below {{weights are 'memref<1x9x2x3xf32, strided<[108, 12, 6, 2]>>', expected contiguous ones of f32 or of the type that they are multiplied with, 'f32': left for the naive lowering}}
  na.av_dv ins(%w, %v : memref<1x9x2x3xf32, strided<[108, 12, 6, 2]>>, memref<1x9x2x4xf32>)
      outs(%v : memref<1x9x2x4xf32>) window(<size = [3]>) {schedule =
        #na.schedule<target = "sm_80", query_tile = [16], key_tile = [16]>}
  na.av_dv ins(%w, %v : memref<1x9x2x3xf32, strided<[108, 12, 6, 2]>>, memref<1x9x2x4xf32>)
      outs(%v : memref<1x9x2x4xf32>) window(<size = [3]>) {schedule =
        #na.schedule<target = "cpu", query_tile = [16], key_tile = [16]>}
  return
}

// -----

// CHECK-LABEL: func @dynamic_heads
// CHECK-NEXT:    na.qk_dq
// CHECK-NEXT:    na.qk_dk
// CHECK-NEXT:    na.av_dweights
// CHECK-NEXT:    na.av_dv
// CHECK-NEXT:    return
func.func @dynamic_heads(%q: memref<1x9x?x4xf32>, %s: memref<1x9x?x3xf32>,
                         %v: memref<1x9x2x?xf32>) {
  // expected-remark @below {{heads, head dim or value dim is dynamic: left for the naive lowering}}
  na.qk_dq ins(%q, %s : memref<1x9x?x4xf32>, memref<1x9x?x3xf32>)
      outs(%q : memref<1x9x?x4xf32>) window(<size = [3]>) {schedule =
        #na.schedule<target = "cpu", query_tile = [4], key_tile = [6]>}
  // expected-remark @below {{heads, head dim or value dim is dynamic: left for the naive lowering}}
  na.qk_dk ins(%q, %s : memref<1x9x?x4xf32>, memref<1x9x?x3xf32>)
      outs(%q : memref<1x9x?x4xf32>) window(<size = [3]>) {schedule =
        #na.schedule<target = "cpu", query_tile = [4], key_tile = [6]>}
  // expected-remark @below {{heads, head dim or value dim is dynamic: left for the naive lowering}}
  na.av_dweights ins(%v, %v : memref<1x9x2x?xf32>, memref<1x9x2x?xf32>)
      outs(%s : memref<1x9x?x3xf32>) window(<size = [3]>) {schedule =
        #na.schedule<target = "cpu", query_tile = [4], key_tile = [6]>}
  // expected-remark @below {{heads, head dim or value dim is dynamic: left for the naive lowering}}
  na.av_dv ins(%s, %v : memref<1x9x?x3xf32>, memref<1x9x2x?xf32>)
      outs(%v : memref<1x9x2x?xf32>) window(<size = [3]>) {schedule =
        #na.schedule<target = "cpu", query_tile = [4], key_tile = [6]>}
  return
}

// -----

// The sum of a bias has no tiles.

// CHECK-LABEL: func @others
// CHECK-NEXT:    na.qk_dbias
// CHECK-NEXT:    return
func.func @others(%s: memref<1x9x2x3xf32>, %b: memref<2x5xf32>) {
  na.qk_dbias ins(%s : memref<1x9x2x3xf32>) outs(%b : memref<2x5xf32>)
      window(<size = [3]>)
  return
}

// -----

func.func @no_schedule(%s: memref<1x9x2x3xf32>, %v: memref<1x9x2x4xf32>) {
  // expected-error @below {{'na.av_dv' op has no schedule; run na-select-schedule before na-tile-unfused}}
  na.av_dv ins(%s, %v : memref<1x9x2x3xf32>, memref<1x9x2x4xf32>)
      outs(%v : memref<1x9x2x4xf32>) window(<size = [3]>)
  return
}
