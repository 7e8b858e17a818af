// RUN: na-opt %s -na-tile-unfused -canonicalize -split-input-file -verify-diagnostics | FileCheck %s

// Weighted sums: dense weights [queries, keys] times values [keys, channels].

// CHECK-DAG:   #[[LHS:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG:   #[[RHS:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG:   #[[OUT:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func @av
// CHECK-SAME:    (%[[W:[a-z0-9_]+]]: memref<2x56x2x7xf32>, %[[V:[a-z0-9_]+]]: memref<2x56x2x32xf32>, %[[O:[a-z0-9_]+]]: memref<2x56x2x32xf32>)
// CHECK:         scf.forall (%[[B:[a-z0-9_]+]], %[[H:[a-z0-9_]+]], %[[TILE:[a-z0-9_]+]]) in (2, 2, 4) {
// CHECK:           %[[AT:[a-z0-9_]+]] = arith.muli %[[TILE]], %c16
// CHECK:           %[[STEPS:[a-z0-9_]+]] = arith.ceildivsi %{{.*}}, %c24
// CHECK:           %[[RANGES:[a-z0-9_]+]] = na.tile.windows <size = [7]> at(%[[AT]]) sizes(%c56) box [16]
// CHECK:           %[[ZEROS:[a-z0-9_]+]] = linalg.fill {{.*}} -> tensor<16x32xf32>
// CHECK:           %[[SUM:[a-z0-9_]+]] = scf.for %[[I:[a-z0-9_]+]] = %c0 to %[[STEPS]] step %c1 iter_args(%[[ACC:[a-z0-9_]+]] = %[[ZEROS]])
// CHECK:             %[[STEP:[a-z0-9_]+]] = arith.muli %[[I]], %c24
// CHECK:             %[[KEY:[a-z0-9_]+]] = arith.addi %{{.*}}, %[[STEP]]
// CHECK:             %[[P:[a-z0-9_]+]] = na.tile.gather %[[W]][%[[B]], %[[H]]] at(%[[AT]]) ranges(%[[RANGES]] : tensor<2x16xi32>) key_at(%[[KEY]]) <size = [7]> query_box [16] key_box [24] into %{{.*}} -> tensor<16x24xf32>
// CHECK:             %[[T:[a-z0-9_]+]] = na.tile.load %[[V]][%[[B]], %[[H]]] at(%[[KEY]]) box [24] dilation [1] into %{{.*}} -> tensor<24x32xf32>
// CHECK:             %[[NEXT:[a-z0-9_]+]] = linalg.contract indexing_maps = [#[[LHS]], #[[RHS]], #[[OUT]]] ins(%[[P]], %[[T]] : {{.*}}) outs(%[[ACC]] :
// CHECK:             scf.yield %[[NEXT]]
// CHECK:           na.tile.store %[[SUM]] into %[[O]][%[[B]], %[[H]]] at(%[[AT]]) box [16] dilation [1] : tensor<16x32xf32>
func.func @av(%w: memref<2x56x2x7xf32>, %v: memref<2x56x2x32xf32>,
              %o: memref<2x56x2x32xf32>) {
  na.av ins(%w, %v : memref<2x56x2x7xf32>, memref<2x56x2x32xf32>)
      outs(%o : memref<2x56x2x32xf32>) window(<size = [7]>) {schedule =
        #na.schedule<target = "cpu", query_tile = [16], key_tile = [24]>}
  return
}

// -----

// Scores: keys times scaled queries, then the bias, then to the slots. Slots
// past the end of a causal row are -inf. Three query heads read one key head.

// CHECK-DAG:   #[[LHS:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG:   #[[RHS:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG:   #[[OUT:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func @qk
// CHECK-SAME:    (%[[Q:[a-z0-9_]+]]: memref<?x14x?x6x8xbf16>, %[[K:[a-z0-9_]+]]: memref<?x14x?x2x8xbf16>, %[[BIAS:[a-z0-9_]+]]: memref<6x5x7xbf16>, %[[S:[a-z0-9_]+]]: memref<?x14x?x6x12xf32>)
// CHECK-DAG:     %[[NONE:[a-z0-9_]+]] = arith.constant 0xFF800000 : f32
// CHECK-DAG:     %[[SCALE:[a-z0-9_]+]] = arith.constant -2.500000e-01 : f32
// CHECK:         linalg.fill ins(%[[NONE]] : f32) outs(%[[S]] :
// CHECK:         %[[BATCH:[a-z0-9_]+]] = memref.dim %[[Q]], %c0
// CHECK:         scf.forall (%[[B:[a-z0-9_]+]], %[[H:[a-z0-9_]+]], %{{.*}}, %{{.*}}) in (%[[BATCH]], 6, 8, %{{.*}}) {
// CHECK:           %[[KH:[a-z0-9_]+]] = arith.divui %[[H]], %c3
// CHECK:           %[[QT:[a-z0-9_]+]] = na.tile.load %[[Q]][%[[B]], %[[H]]] at(%[[X:[a-z0-9_]+]], %[[Y:[a-z0-9_]+]]) box [2, 8] dilation [2, 1] transposed into %{{.*}} -> tensor<8x16xf32>
// CHECK:           %[[SCALED:[a-z0-9_]+]] = linalg.generic {{.*}} outs(%[[QT]] :
// CHECK:             arith.mulf %{{.*}}, %[[SCALE]]
// CHECK:           %[[RANGES:[a-z0-9_]+]] = na.tile.windows
// CHECK-SAME:        at(%[[PX:[a-z0-9_]+]], %[[Y]])
// CHECK:           scf.for
// CHECK:             %[[KT:[a-z0-9_]+]] = na.tile.load %[[K]][%[[B]], %[[KH]]] at(%{{.*}}, %[[KY:[a-z0-9_]+]]) box [4, 5] dilation [2, 1] into %{{.*}} -> tensor<20x8xf32>
// CHECK:             %[[DOT:[a-z0-9_]+]] = linalg.contract indexing_maps = [#[[LHS]], #[[RHS]], #[[OUT]]] ins(%[[KT]], %[[SCALED]] : {{.*}}) outs(%{{.*}} : tensor<20x16xf32>)
// CHECK:             %[[T:[a-z0-9_]+]] = na.tile.bias %[[DOT]] table(%[[BIAS]][%[[H]]] : memref<6x5x7xbf16>)
// CHECK-SAME:          query_at(%[[PX]], %[[Y]]) key_at(%[[KX:[a-z0-9_]+]], %[[KY]]) query_box [2, 8] key_box [4, 5] key_major
// CHECK:             na.tile.scatter %[[T]] ranges(%[[RANGES]] : tensor<4x16xi32>) key_at(%[[KX]], %[[KY]]) into %[[S]][%[[B]], %[[H]]] at(%[[X]], %[[Y]])
// CHECK-SAME:          key_major : tensor<20x16xf32>, memref<?x14x?x6x12xf32>
// CHECK-NOT:     na.qk
func.func @qk(%q: memref<?x14x?x6x8xbf16>, %k: memref<?x14x?x2x8xbf16>,
              %bias: memref<6x5x7xbf16>, %s: memref<?x14x?x6x12xf32>) {
  na.qk ins(%q, %k : memref<?x14x?x6x8xbf16>, memref<?x14x?x2x8xbf16>)
      bias(%bias : memref<6x5x7xbf16>)
      outs(%s : memref<?x14x?x6x12xf32>)
      window(<size = [3, 4], dilation = [2, 1], causal = [true, false]>)
      {scale = -0.25 : f64, schedule = #na.schedule<
         target = "cpu", query_tile = [2, 8], key_tile = [4, 5]>}
  return
}

// -----

// Rows that are not causal have no empty slots.

// CHECK-LABEL: func @no_fill
// CHECK-NOT:     linalg.fill
// CHECK:         scf.forall
// CHECK:           na.tile.scatter
func.func @no_fill(%q: memref<1x9x2x4xf32>, %s: memref<1x9x2x3xf32>) {
  na.qk ins(%q, %q : memref<1x9x2x4xf32>, memref<1x9x2x4xf32>)
      outs(%s : memref<1x9x2x3xf32>) window(<size = [3]>) {schedule =
        #na.schedule<target = "cpu", query_tile = [4], key_tile = [6]>}
  return
}

// -----

// No operand is narrowed on its way into a tile.

// CHECK-LABEL: func @wide_weights
// CHECK:         na.tile.gather {{.*}} memref<1x9x2x3xf64>, tensor<4x6xf64>
// CHECK:         na.tile.load {{.*}} memref<1x9x2x4xf32>, tensor<6x4xf64>
// CHECK:         na.tile.store {{.*}} tensor<4x4xf64>, memref<1x9x2x4xf32>
func.func @wide_weights(%w: memref<1x9x2x3xf64>, %v: memref<1x9x2x4xf32>,
                        %o: memref<1x9x2x4xf32>) {
  na.av ins(%w, %v : memref<1x9x2x3xf64>, memref<1x9x2x4xf32>)
      outs(%o : memref<1x9x2x4xf32>) window(<size = [3]>) {schedule =
        #na.schedule<target = "cpu", query_tile = [4], key_tile = [6]>}
  return
}

// -----

// CHECK-LABEL: func @dynamic_heads
// CHECK-NEXT:    na.qk
// CHECK-NEXT:    na.av
func.func @dynamic_heads(%q: memref<1x9x?x4xf32>, %s: memref<1x9x?x3xf32>,
                         %v: memref<1x9x2x?xf32>, %o: memref<1x9x2x?xf32>) {
  // expected-remark @below {{heads, head dim or value dim is dynamic: left for the naive lowering}}
  na.qk ins(%q, %q : memref<1x9x?x4xf32>, memref<1x9x?x4xf32>)
      outs(%s : memref<1x9x?x3xf32>) window(<size = [3]>) {schedule =
        #na.schedule<target = "cpu", query_tile = [4], key_tile = [6]>}
  // expected-remark @below {{heads, head dim or value dim is dynamic: left for the naive lowering}}
  na.av ins(%s, %v : memref<1x9x?x3xf32>, memref<1x9x2x?xf32>)
      outs(%o : memref<1x9x2x?xf32>) window(<size = [3]>) {schedule =
        #na.schedule<target = "cpu", query_tile = [4], key_tile = [6]>}
  return
}

// -----

// Nothing to do.

// CHECK-LABEL: func @others
// CHECK-NEXT:    na.attention
// CHECK-NEXT:    na.merge
// CHECK-NEXT:    return
func.func @others(%q: memref<1x9x2x4xf32>, %o: memref<1x9x2x4xf32>,
                  %l: memref<1x9x2xf32>) {
  na.attention
      ins(%q, %q, %q : memref<1x9x2x4xf32>, memref<1x9x2x4xf32>,
                       memref<1x9x2x4xf32>)
      outs(%o, %l : memref<1x9x2x4xf32>, memref<1x9x2xf32>)
      window(<size = [3]>)
  na.merge ins(%q : memref<1x9x2x4xf32>) lses(%l : memref<1x9x2xf32>)
      outs(%o : memref<1x9x2x4xf32>)
  return
}
