// RUN: na-opt %s -na-tile-and-fuse -cse | FileCheck %s

// The gradients in the CPU form: rows run along the lanes of all tiles, and one
// operation does what one pass over the scores can.

// CHECK-DAG:   #[[ROW:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG:   #[[COL:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG:   #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG:   #[[CK:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG:   #[[KR:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG:   #[[KC:.*]] = affine_map<(d0, d1, d2) -> (d2, d0)>
// CHECK-DAG:   #[[OUT:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>

// Rows are queries.
// CHECK-LABEL: func @dq
// CHECK:         scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (1, 2, 3)
// CHECK:           %[[Q:.*]] = na.tile.load {{.*}} box [4] dilation [1] transposed into {{.*}} -> tensor<8x4xf32>
// CHECK:           %[[SCALED:.*]] = linalg.generic {{.*}} outs(%[[Q]]
// CHECK:             arith.constant 0.353
// CHECK:           %[[DO:.*]] = na.tile.load {{.*}} transposed into {{.*}} -> tensor<6x4xf32>
// CHECK:           %[[LSE:.*]] = na.tile.load {{.*}} -> tensor<4xf32>
// CHECK:           %[[DELTA:.*]] = na.tile.load {{.*}} -> tensor<4xf32>
// CHECK:           %[[RANGES:.*]] = na.tile.windows <size = [5]>
// CHECK:           %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (tensor<8x4xf32>)
// CHECK:             %[[K:.*]] = na.tile.load {{.*}} box [3] dilation [1] into {{.*}} -> tensor<3x8xf32>
// CHECK:             %[[S:.*]] = linalg.contract indexing_maps = [#[[CK]], #[[KR]], #[[OUT]]] ins(%[[K]], %[[SCALED]] : {{.*}}) -> tensor<3x4xf32>
// CHECK:             %[[M:.*]] = na.tile.mask %[[S]] ranges(%[[RANGES]] : tensor<2x4xi32>) at(%{{.*}}) box [3] axes [0] key_major unless
// CHECK:             %[[V:.*]] = na.tile.load {{.*}} -> tensor<3x6xf32>
// CHECK:             %[[DP:.*]] = linalg.contract indexing_maps = [#[[CK]], #[[KR]], #[[OUT]]] ins(%[[V]], %[[DO]] : {{.*}}) -> tensor<3x4xf32>
// CHECK:             %[[DS:.*]] = linalg.generic {indexing_maps = [#[[ROW]], #[[ROW]], #[[ID]], #[[ID]]], iterator_types = ["parallel", "parallel"]} ins(%[[LSE]], %[[DELTA]], %[[M]] : {{.*}}) outs(%[[DP]]
// CHECK:             ^bb0(%[[L:.*]]: f32, %[[D:.*]]: f32, %[[X:.*]]: f32, %[[P:.*]]: f32):
// CHECK:               %[[E:.*]] = arith.subf %[[X]], %[[L]]
// CHECK:               %[[W:.*]] = math.exp %[[E]]
// CHECK:               %[[C:.*]] = arith.subf %[[P]], %[[D]]
// CHECK:               arith.mulf %[[W]], %[[C]]
// CHECK:             %[[NEXT:.*]] = linalg.contract indexing_maps = [#[[KC]], #[[KR]], #[[OUT]]] ins(%[[K]], %[[DS]] : {{.*}}) outs(%[[ACC]]
// CHECK:             scf.yield %[[NEXT]]
// CHECK:           %[[DQ:.*]] = linalg.generic {{.*}} outs(%[[SUM]]
// CHECK:             arith.constant 0.353
// CHECK:           na.tile.store %[[DQ]] into {{.*}} box [4] dilation [1] transposed
func.func @dq(%q: memref<1x9x2x8xbf16>, %v: memref<1x9x2x6xbf16>,
              %l: memref<1x9x2xf32>, %d: memref<1x9x2xf32>) {
  na.attention_dq
    ins(%q, %q, %v, %v : memref<1x9x2x8xbf16>, memref<1x9x2x8xbf16>, memref<1x9x2x6xbf16>, memref<1x9x2x6xbf16>)
    stats(%l, %d : memref<1x9x2xf32>, memref<1x9x2xf32>)
    outs(%q : memref<1x9x2x8xbf16>) window(<size = [5]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [3]>}
  return
}

// Rows are keys, of which the first tile of the loop is at the first query that
// sees one: causal, so the first key.
// CHECK-LABEL: func @dkv
// CHECK:         scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (1, 2, 3)
// CHECK:           %[[AT:.*]] = arith.muli %{{.*}}, %c4
// CHECK:           %[[BEGIN:.*]] = arith.minsi %[[AT]], %c8
// CHECK:           %[[K:.*]] = na.tile.load {{.*}} box [4] dilation [1] transposed into {{.*}} -> tensor<8x4xf32>
// CHECK:           %[[SCALED:.*]] = linalg.generic {{.*}} outs(%[[K]]
// CHECK:           %[[V:.*]] = na.tile.load {{.*}} transposed into {{.*}} -> tensor<6x4xf32>
// CHECK:           %[[RANGES:.*]] = na.tile.windows inverse <size = [5], causal = [true]>
// CHECK:           %[[SUM:.*]]:2 = scf.for %[[I:.*]] = {{.*}} iter_args(%[[KACC:.*]] = %{{.*}}, %[[VACC:.*]] = %{{.*}}) -> (tensor<8x4xf32>, tensor<6x4xf32>)
// CHECK:             %[[STEP:.*]] = arith.muli %[[I]], %c3
// CHECK:             %[[QAT:.*]] = arith.addi %[[BEGIN]], %[[STEP]]
// CHECK:             %[[Q:.*]] = na.tile.load {{.*}} at(%[[QAT]]) box [3] dilation [1] into {{.*}} -> tensor<3x8xf32>
// CHECK:             %[[DO:.*]] = na.tile.load {{.*}} at(%[[QAT]]) {{.*}} -> tensor<3x6xf32>
// CHECK:             %[[LSE:.*]] = na.tile.load {{.*}} at(%[[QAT]]) {{.*}} -> tensor<3xf32>
// CHECK:             %[[DELTA:.*]] = na.tile.load {{.*}} at(%[[QAT]]) {{.*}} -> tensor<3xf32>
// CHECK:             %[[S:.*]] = linalg.contract indexing_maps = [#[[CK]], #[[KR]], #[[OUT]]] ins(%[[Q]], %[[SCALED]] : {{.*}}) -> tensor<3x4xf32>
// CHECK:             %[[M:.*]] = na.tile.mask %[[S]] ranges(%[[RANGES]] : tensor<2x4xi32>) at(%[[QAT]]) box [3] axes [0] key_major unless
// CHECK:             %[[DP:.*]] = linalg.contract indexing_maps = [#[[CK]], #[[KR]], #[[OUT]]] ins(%[[DO]], %[[V]] : {{.*}}) -> tensor<3x4xf32>
// Weights and their gradients in one pass.
// CHECK:             %[[BOTH:.*]]:2 = linalg.generic {indexing_maps = [#[[COL]], #[[COL]], #[[ID]], #[[ID]]], iterator_types = ["parallel", "parallel"]} ins(%[[LSE]], %[[DELTA]] : {{.*}}) outs(%[[DP]], %[[M]]
// CHECK:             %[[KNEXT:.*]] = linalg.contract indexing_maps = [#[[KC]], #[[KR]], #[[OUT]]] ins(%[[Q]], %[[BOTH]]#0 : {{.*}}) outs(%[[KACC]]
// CHECK:             %[[VNEXT:.*]] = linalg.contract indexing_maps = [#[[KC]], #[[KR]], #[[OUT]]] ins(%[[DO]], %[[BOTH]]#1 : {{.*}}) outs(%[[VACC]]
// CHECK:             scf.yield %[[KNEXT]], %[[VNEXT]]
// CHECK:           %[[DK:.*]] = linalg.generic {{.*}} outs(%[[SUM]]#0
// CHECK:             arith.constant 0.353
// CHECK:           na.tile.store %[[DK]] into {{.*}} transposed
// CHECK:           na.tile.store %[[SUM]]#1 into {{.*}} transposed
func.func @dkv(%q: memref<1x9x2x8xbf16>, %v: memref<1x9x2x6xbf16>,
               %l: memref<1x9x2xf32>, %d: memref<1x9x2xf32>) {
  na.attention_dkv
    ins(%q, %q, %v, %v : memref<1x9x2x8xbf16>, memref<1x9x2x8xbf16>, memref<1x9x2x6xbf16>, memref<1x9x2x6xbf16>)
    stats(%l, %d : memref<1x9x2xf32>, memref<1x9x2xf32>)
    outs(%q, %v : memref<1x9x2x8xbf16>, memref<1x9x2x6xbf16>)
    window(<size = [5], causal = [true]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [3], key_tile = [4]>}
  return
}

// Additional keys go on with the sum; their lanes past the last are masked. The
// bias of a tile is key-major where queries run along lanes.
// CHECK-LABEL: func @operands
// CHECK:         %[[SUM:.*]] = scf.for
// CHECK:           na.tile.bias {{.*}} query_box [4] key_box [2] key_major
// CHECK:         scf.for {{.*}} iter_args(%{{.*}} = %[[SUM]])
// CHECK:           na.tile.load %{{.*}} box [2] {{.*}} : memref<1x5x2x8xf32>
// CHECK:           arith.cmpi slt, %{{.*}}, %c5
// CHECK-NOT:       na.tile.bias
// CHECK:           math.exp
// CHECK:         na.tile.store
// CHECK:         scf.for
// CHECK:           na.tile.bias {{.*}} query_box [4] key_box [2] : tensor<4x2xf32>
func.func @operands(%q: memref<1x9x2x8xf32>, %b: memref<2x9xf32>,
                    %e: memref<1x5x2x8xf32>, %l: memref<1x9x2xf32>) {
  na.attention_dq
    ins(%q, %q, %q, %q : memref<1x9x2x8xf32>, memref<1x9x2x8xf32>, memref<1x9x2x8xf32>, memref<1x9x2x8xf32>)
    stats(%l, %l : memref<1x9x2xf32>, memref<1x9x2xf32>)
    bias(%b : memref<2x9xf32>)
    additional(%e, %e : memref<1x5x2x8xf32>, memref<1x5x2x8xf32>)
    outs(%q : memref<1x9x2x8xf32>) window(<size = [5]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [2]>}
  na.attention_dkv
    ins(%q, %q, %q, %q : memref<1x9x2x8xf32>, memref<1x9x2x8xf32>, memref<1x9x2x8xf32>, memref<1x9x2x8xf32>)
    stats(%l, %l : memref<1x9x2xf32>, memref<1x9x2xf32>)
    bias(%b : memref<2x9xf32>)
    outs(%q, %q : memref<1x9x2x8xf32>, memref<1x9x2x8xf32>) window(<size = [5]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [2]>}
  return
}
