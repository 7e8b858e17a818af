// RUN: na-opt %s -na-tile-and-fuse -cse | FileCheck %s

// One axis, two query heads per key head, bf16: the whole program.

// CHECK-DAG:   #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG:   #[[QUERY:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG:   #[[KD:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG:   #[[DQ:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG:   #[[OUT:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG:   #[[VT:.*]] = affine_map<(d0, d1, d2) -> (d2, d0)>

// CHECK-LABEL: func @one_axis
// CHECK-SAME:    %[[Q:[a-z0-9_]+]]: memref<2x16x4x8xbf16>, %[[K:[a-z0-9_]+]]: memref<2x16x2x8xbf16>, %[[V:[a-z0-9_]+]]: memref<2x16x2x6xbf16>, %[[O:[a-z0-9_]+]]: memref<2x16x4x6xbf16>, %[[LSE:[a-z0-9_]+]]: memref<2x16x4xf32>
// The grid: batch, head, query tiles.
// CHECK:         scf.forall (%[[B:.*]], %[[H:.*]], %[[T:.*]]) in (2, 4, 4)
// CHECK:           %[[AT:.*]] = arith.muli %[[T]], %c4
// Two query heads read one key head.
// CHECK:           %[[KH:.*]] = arith.divui %[[H]], %c2
// The query tile, channels first, times 1 / sqrt(8).
// CHECK:           %[[QT:.*]] = na.tile.load %[[Q]][%[[B]], %[[H]]] at(%[[AT]]) box [4] dilation [1] transposed
// CHECK-SAME:        -> tensor<8x4xf32>
// CHECK:           %[[SCALED:.*]] = linalg.generic {{.*}} outs(%[[QT]]
// CHECK:             arith.mulf %{{.*}}, %{{.*}}
// CHECK:           %[[RANGES:.*]] = na.tile.windows <size = [5]> at(%[[AT]]) sizes(%c16) box [4]
// CHECK-DAG:       %[[ACC0:.*]] = linalg.fill {{.*}} -> tensor<6x4xf32>
// CHECK-DAG:       %[[INF:.*]] = arith.constant 0xFF800000 : f32
// CHECK-DAG:       %[[MAX0:.*]] = linalg.fill ins(%[[INF]] : f32) outs({{.*}}) -> tensor<4xf32>
// CHECK:           %[[LOOP:.*]]:3 = scf.for %[[N:.*]] = %c0{{.*}} to %{{.*}} step %c1{{.*}} iter_args(%[[ACC:.*]] = %[[ACC0]], %[[MAX:.*]] = %[[MAX0]], %[[SUM:.*]] = %{{.*}}) -> (tensor<6x4xf32>, tensor<4xf32>, tensor<4xf32>)
// Key tiles follow each other from the start of the span.
// CHECK:             %[[STEP:.*]] = arith.muli %[[N]], %c3
// CHECK:             %[[POS:.*]] = arith.addi %{{.*}}, %[[STEP]]
// CHECK:             %[[BEGINS:.*]] = arith.cmpi sge, %[[POS]],
// CHECK:             %[[ENDS:.*]] = arith.cmpi sle,
// CHECK:             %[[INSIDE:.*]] = arith.andi %[[BEGINS]], %[[ENDS]] : i1
// CHECK:             %[[KT:.*]] = na.tile.load %[[K]][%[[B]], %[[KH]]] at(%[[POS]]) box [3] dilation [1] into
// CHECK-SAME:          -> tensor<3x8xf32>
// CHECK:             %[[S:.*]] = linalg.contract indexing_maps = [#[[KD]], #[[DQ]], #[[OUT]]] ins(%[[KT]], %[[SCALED]] : {{.*}}) -> tensor<3x4xf32>
// CHECK:             %[[MASKED:.*]] = na.tile.mask %[[S]] ranges(%[[RANGES]] : tensor<2x4xi32>) at(%[[POS]]) box [3] axes [0] key_major unless %[[INSIDE]]
// CHECK:             %[[VALUES:.*]] = na.tile.load %[[V]][%[[B]], %[[KH]]] at(%[[POS]]) box [3]
// The online softmax: maximum of the tile, new statistics, weights and their
// sum over the tile, running sum, rescaled accumulator.
// CHECK:             %[[TILEMAX:.*]] = linalg.generic {indexing_maps = [#[[ID]], #[[QUERY]]], iterator_types = ["reduction", "parallel"]} ins(%[[MASKED]]
// CHECK:             %[[STATS:.*]]:3 = linalg.generic {{.*}} ins(%[[TILEMAX]] : tensor<4xf32>) outs(%[[MAX]],
// CHECK:               math.exp
// CHECK:             %[[P:.*]]:2 = linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]} ins(%[[STATS]]#1 : tensor<4xf32>) outs(%[[MASKED]],
// CHECK:               math.exp
// CHECK:             %[[TOTAL:.*]] = linalg.generic {{.*}} ins(%[[P]]#1, %[[STATS]]#2 : tensor<4xf32>, tensor<4xf32>) outs(%[[SUM]]
// CHECK:             %[[RESCALED:.*]] = linalg.generic {{.*}} ins(%[[STATS]]#2 : tensor<4xf32>) outs(%[[ACC]]
// CHECK:             %[[NEXT:.*]] = linalg.contract indexing_maps = [#[[VT]], #[[DQ]], #[[OUT]]] ins(%[[VALUES]], %[[P]]#0 : {{.*}}) outs(%[[RESCALED]]
// CHECK:             scf.yield %[[NEXT]], %[[STATS]]#0, %[[TOTAL]]
// CHECK:           %[[RESULT:.*]] = linalg.generic {{.*}} ins(%[[LOOP]]#2 : tensor<4xf32>) outs(%[[LOOP]]#0 : tensor<6x4xf32>)
// CHECK:             arith.divf
// CHECK:           na.tile.store %[[RESULT]] into %[[O]][%[[B]], %[[H]]] at(%[[AT]]) box [4] dilation [1] transposed : tensor<6x4xf32>, memref<2x16x4x6xbf16>
// CHECK:           %[[LOG:.*]] = linalg.generic {{.*}} ins(%[[LOOP]]#1 : tensor<4xf32>) outs(%[[LOOP]]#2 : tensor<4xf32>)
// CHECK:             math.log
// CHECK:           na.tile.store %[[LOG]] into %[[LSE]][%[[B]], %[[H]]] at(%[[AT]]) box [4] dilation [1] : tensor<4xf32>, memref<2x16x4xf32>
// CHECK-NOT:     na.attention
func.func @one_axis(%q: memref<2x16x4x8xbf16>, %k: memref<2x16x2x8xbf16>,
                    %v: memref<2x16x2x6xbf16>, %o: memref<2x16x4x6xbf16>,
                    %lse: memref<2x16x4xf32>) {
  na.attention
    ins(%q, %k, %v : memref<2x16x4x8xbf16>, memref<2x16x2x8xbf16>, memref<2x16x2x6xbf16>)
    outs(%o, %lse : memref<2x16x4x6xbf16>, memref<2x16x4xf32>)
    window(<size = [5]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [3]>}
  return
}

// Tiles of f64 are f64; a scale of 1 is no work; without an LSE no logarithm.
// CHECK-LABEL: func @f64
// CHECK:         %[[QT:.*]] = na.tile.load {{.*}} transposed into {{.*}} -> tensor<8x4xf64>
// CHECK:         linalg.contract {{.*}} ins(%{{.*}}, %[[QT]] : tensor<3x8xf64>, tensor<8x4xf64>)
// CHECK-NOT:     math.log
// CHECK:         return
func.func @f64(%q: memref<2x16x4x8xf64>, %o: memref<2x16x4x8xf64>) {
  na.attention
    ins(%q, %q, %q : memref<2x16x4x8xf64>, memref<2x16x4x8xf64>, memref<2x16x4x8xf64>)
    outs(%o : memref<2x16x4x8xf64>) window(<size = [5]>)
    {scale = 1.0 : f64,
     schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [3]>}
  return
}

// Strides and offsets of the operands are the business of loads and stores.
// CHECK-LABEL: func @strided
// CHECK:         na.tile.load %{{.*}} : memref<1x16x1x8xf32, strided<[?, 64, ?, 2], offset: ?>>, tensor<8x4xf32>
// CHECK:         na.tile.store %{{.*}} : tensor<8x4xf32>, memref<1x16x1x8xf32, strided<[?, 64, ?, 2], offset: ?>>
func.func @strided(%q: memref<1x16x1x8xf32, strided<[?, 64, ?, 2], offset: ?>>) {
  na.attention
    ins(%q, %q, %q : memref<1x16x1x8xf32, strided<[?, 64, ?, 2], offset: ?>>,
                     memref<1x16x1x8xf32, strided<[?, 64, ?, 2], offset: ?>>,
                     memref<1x16x1x8xf32, strided<[?, 64, ?, 2], offset: ?>>)
    outs(%q : memref<1x16x1x8xf32, strided<[?, 64, ?, 2], offset: ?>>)
    window(<size = [5]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [3]>}
  return
}
