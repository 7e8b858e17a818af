// RUN: na-opt %s -na-tile-and-fuse -cse | FileCheck %s

// The GPU form: queries first, operands in their own type, one job per linalg
// operation, a softmax in base 2. Two query heads per key head.

// CHECK-DAG:   #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG:   #[[ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG:   #[[VEC:.*]] = affine_map<(d0) -> (d0)>
// CHECK-DAG:   #[[MK:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG:   #[[NK:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG:   #[[KN:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG:   #[[MN:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>

// CHECK-LABEL: func @one_axis
// CHECK-SAME:    %[[Q:[a-z0-9_]+]]: memref<2x64x4x40xbf16>, %[[K:[a-z0-9_]+]]: memref<2x64x2x40xbf16>, %[[V:[a-z0-9_]+]]: memref<2x64x2x48xbf16>, %[[O:[a-z0-9_]+]]: memref<2x64x4x48xbf16>, %[[LSE:[a-z0-9_]+]]: memref<2x64x4xf32>
// CHECK:         scf.forall (%[[B:.*]], %[[H:.*]], %[[T:.*]]) in (2, 4, 2)
// CHECK:           %[[KH:.*]] = arith.divui %[[H]], %c2
// CHECK:           %[[QT:.*]] = na.tile.load %[[Q]][%[[B]], %[[H]]] at(%[[AT:.*]]) box [32] dilation [1] into {{.*}} -> tensor<32x40xbf16>
// CHECK:           %[[RANGES:.*]] = na.tile.windows <size = [5]>
// CHECK-SAME:        -> tensor<2x32xi32>
// CHECK:           %[[INF:.*]] = linalg.fill {{.*}} -> tensor<32xf32>
// CHECK:           %[[ZERO:.*]] = linalg.fill {{.*}} -> tensor<32xf32>
// CHECK:           %[[LOOP:.*]]:3 = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %[[MAX:.*]] = %[[INF]], %[[SUM:.*]] = %[[ZERO]]) -> (tensor<32x48xf32>, tensor<32xf32>, tensor<32xf32>)
// CHECK:             %[[KT:.*]] = na.tile.load %[[K]][%[[B]], %[[KH]]] {{.*}} -> tensor<16x40xbf16>
// CHECK:             %[[S:.*]] = linalg.contract indexing_maps = [#[[MK]], #[[NK]], #[[MN]]] ins(%[[QT]], %[[KT]] : {{.*}}) -> tensor<32x16xf32>
// CHECK:             %[[M:.*]] = na.tile.mask %[[S]] ranges(%[[RANGES]] : tensor<2x32xi32>) at(%{{.*}}) box [16] axes [0] unless %{{.*}} : tensor<32x16xf32>
// CHECK:             %[[VT:.*]] = na.tile.load %[[V]][%[[B]], %[[KH]]] {{.*}} -> tensor<16x48xbf16>
// CHECK:             %[[TILEMAX:.*]] = linalg.generic {indexing_maps = [#[[ID]], #[[ROW]]], iterator_types = ["parallel", "reduction"]} ins(%[[M]] : {{.*}}) outs(%[[INF]]
// CHECK:               arith.maxnumf
// The running maximum is that of exponents: 0.228 is log2(e) / sqrt(40).
// CHECK:             %[[NEWMAX:.*]] = linalg.generic {{.*}} ins(%[[TILEMAX]], %[[MAX]] :
// CHECK:               arith.constant 0.228
// CHECK:               arith.mulf
// CHECK-NEXT:          arith.maxnumf
// A row with no key so far is shifted by nothing.
// CHECK:             %[[SHIFT:.*]] = linalg.generic {{.*}} ins(%[[NEWMAX]] :
// CHECK:               arith.cmpf oeq
// CHECK-NEXT:          arith.select
// CHECK:             %[[RESCALE:.*]] = linalg.generic {{.*}} ins(%[[SHIFT]] : tensor<32xf32>) outs(%[[MAX]]
// CHECK:               arith.subf
// CHECK-NEXT:          math.exp2
// CHECK:             %[[P:.*]] = linalg.generic {indexing_maps = [#[[ROW]], #[[ID]]], iterator_types = ["parallel", "parallel"]} ins(%[[SHIFT]] : tensor<32xf32>) outs(%[[M]]
// CHECK:             ^bb0(%[[SH:.*]]: f32, %[[X:.*]]: f32):
// CHECK:               %[[C2:.*]] = arith.constant 0.228
// CHECK:               %[[NEG:.*]] = arith.negf %[[SH]]
// CHECK:               %[[E:.*]] = math.fma %[[X]], %[[C2]], %[[NEG]]
// CHECK:               math.exp2 %[[E]]
// CHECK:             %[[TILESUM:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[P]] : tensor<32x16xf32>) outs(%[[ZERO]]
// CHECK:               arith.addf
// CHECK:             %[[NEWSUM:.*]] = linalg.generic {{.*}} ins(%[[TILESUM]], %[[RESCALE]] : {{.*}}) outs(%[[SUM]]
// CHECK:             %[[RESCALED:.*]] = linalg.generic {{.*}} ins(%[[RESCALE]] : tensor<32xf32>) outs(%[[ACC]]
// CHECK:             %[[NARROW:.*]] = linalg.generic {{.*}} ins(%[[P]] : tensor<32x16xf32>) outs(%{{.*}} : tensor<32x16xbf16>)
// CHECK:               arith.truncf
// CHECK:             %[[NEXT:.*]] = linalg.contract indexing_maps = [#[[MK]], #[[KN]], #[[MN]]] ins(%[[NARROW]], %[[VT]] : {{.*}}) outs(%[[RESCALED]]
// CHECK:             scf.yield %[[NEXT]], %[[NEWMAX]], %[[NEWSUM]]
// One division a row.
// CHECK:           %[[INVERSE:.*]] = linalg.generic {{.*}} ins(%[[LOOP]]#2 : tensor<32xf32>)
// CHECK:             arith.divf
// CHECK:           %[[RESULT:.*]] = linalg.generic {{.*}} ins(%[[INVERSE]] : tensor<32xf32>) outs(%[[LOOP]]#0
// CHECK:             arith.mulf
// CHECK:           na.tile.store %[[RESULT]] into %[[O]][%[[B]], %[[H]]] at(%[[AT]]) box [32] dilation [1] : tensor<32x48xf32>, memref<2x64x4x48xbf16>
// From the exponent of two to that of e: times ln(2).
// CHECK:           %[[L:.*]] = linalg.generic {{.*}} ins(%[[LOOP]]#1 : tensor<32xf32>) outs(%[[LOOP]]#2
// CHECK:             arith.constant 0.693
// CHECK:             arith.mulf
// CHECK:             math.log
// CHECK:           na.tile.store %[[L]] into %[[LSE]]
func.func @one_axis(%q: memref<2x64x4x40xbf16>, %k: memref<2x64x2x40xbf16>,
                    %v: memref<2x64x2x48xbf16>, %o: memref<2x64x4x48xbf16>,
                    %lse: memref<2x64x4xf32>) {
  na.attention
    ins(%q, %k, %v : memref<2x64x4x40xbf16>, memref<2x64x2x40xbf16>, memref<2x64x2x48xbf16>)
    outs(%o, %lse : memref<2x64x4x48xbf16>, memref<2x64x4xf32>)
    window(<size = [5]>)
    {schedule = #na.schedule<target = "sm_80", query_tile = [32], key_tile = [16]>}
  return
}

// Weights of f32 are not cast. A scale that is no exponent's factor, here a
// negative one, is applied to the scores, and the exponent's is log2(e).
// CHECK-LABEL: func @negative_scale
// CHECK:         %[[S:.*]] = linalg.contract {{.*}} ins(%{{.*}}, %{{.*}} : tensor<16x8xf32>, tensor<16x8xf32>)
// CHECK:         %[[SCALED:.*]] = linalg.generic {{.*}} outs(%[[S]]
// CHECK:           arith.constant -2.5
// CHECK:           arith.mulf
// CHECK:         na.tile.mask %[[SCALED]]
// CHECK:         arith.constant 1.442
// CHECK-NOT:     arith.truncf
// CHECK:         linalg.contract
// CHECK:         na.tile.store
// CHECK:         math.log
func.func @negative_scale(%q: memref<1x16x1x8xf32>, %o: memref<1x16x1x8xf32>,
                          %lse: memref<1x16x1xf32>) {
  na.attention
    ins(%q, %q, %q : memref<1x16x1x8xf32>, memref<1x16x1x8xf32>, memref<1x16x1x8xf32>)
    outs(%o, %lse : memref<1x16x1x8xf32>, memref<1x16x1xf32>) window(<size = [5]>)
    {scale = -2.5 : f64,
     schedule = #na.schedule<target = "sm_90a", query_tile = [16], key_tile = [16]>}
  return
}

// Nor is a factor that vanishes in f32: -inf times 0 is a NaN.
// CHECK-LABEL: func @tiny_scale
// CHECK:         linalg.contract
// CHECK:           arith.mulf
// CHECK:         na.tile.mask
// CHECK:         arith.constant 1.442
func.func @tiny_scale(%q: memref<1x16x1x8xf32>, %o: memref<1x16x1x8xf32>) {
  na.attention
    ins(%q, %q, %q : memref<1x16x1x8xf32>, memref<1x16x1x8xf32>, memref<1x16x1x8xf32>)
    outs(%o : memref<1x16x1x8xf32>) window(<size = [5]>)
    {scale = 1.0e-50 : f64,
     schedule = #na.schedule<target = "sm_90a", query_tile = [16], key_tile = [16]>}
  return
}

// A bias is added to scaled scores, additional keys get none. Their tile has
// as many rows as a fragment at least; lanes past the last key are masked.
// CHECK-LABEL: func @bias
// CHECK:         %[[S:.*]] = linalg.contract
// CHECK:         %[[SCALED:.*]] = linalg.generic {{.*}} outs(%[[S]]
// CHECK:         %[[T:.*]] = na.tile.bias %[[SCALED]] table(%{{.*}}[%{{.*}}] : memref<2x5xf16>) {{.*}} query_box [32] key_box [64] : tensor<32x64xf32>
// CHECK:         na.tile.mask %[[T]]
// CHECK:         scf.for
// CHECK:           na.tile.load {{.*}} box [16] dilation [1] into {{.*}} -> tensor<16x8xf16>
// CHECK:           linalg.contract
// CHECK:             arith.mulf
// CHECK:           linalg.generic
// CHECK:             %[[LANE:.*]] = linalg.index 1
// CHECK:             %[[TOKEN:.*]] = arith.addi %{{.*}}, %[[LANE]]
// CHECK:             arith.cmpi slt, %[[TOKEN]], %c3
func.func @bias(%q: memref<1x64x2x8xf16>, %bias: memref<2x5xf16>,
                %a: memref<1x3x2x8xf16>, %o: memref<1x64x2x8xf16>) {
  na.attention
    ins(%q, %q, %q : memref<1x64x2x8xf16>, memref<1x64x2x8xf16>, memref<1x64x2x8xf16>)
    bias(%bias : memref<2x5xf16>)
    additional(%a, %a : memref<1x3x2x8xf16>, memref<1x3x2x8xf16>)
    outs(%o : memref<1x64x2x8xf16>) window(<size = [3]>)
    {schedule = #na.schedule<target = "sm_80", query_tile = [32], key_tile = [64]>}
  return
}

// More than 256 channels of values: chunks are a dimension of the grid.
// CHECK-LABEL: func @value_chunks
// CHECK:         scf.forall (%{{.*}}, %{{.*}}, %[[CHUNK:.*]], %{{.*}}) in (1, 1, 2, 1)
// CHECK:           %[[MUL:.*]] = arith.muli %[[CHUNK]], %c208
// CHECK:           %[[FIRST:.*]] = arith.minsi %[[MUL]], %c192
// CHECK:           %[[V:.*]] = memref.subview %{{.*}}[0, 0, 0, %[[FIRST]]] [1, 16, 1, 208] [1, 1, 1, 1]
// CHECK:           na.tile.load %[[V]]{{.*}} -> tensor<16x208xf32>
// CHECK:           %[[A:.*]] = memref.subview %{{.*}}[0, 0, 0, %[[FIRST]]] [1, 4, 1, 208] [1, 1, 1, 1]
// CHECK:           na.tile.load %[[A]]{{.*}} -> tensor<16x208xf32>
// CHECK:           %[[O:.*]] = memref.subview %{{.*}}[0, 0, 0, %[[FIRST]]] [1, 16, 1, 208] [1, 1, 1, 1]
// CHECK:           na.tile.store %{{.*}} into %[[O]]
func.func @value_chunks(%q: memref<1x16x1x8xf32>, %v: memref<1x16x1x400xf32>,
                        %ak: memref<1x4x1x8xf32>, %av: memref<1x4x1x400xf32>,
                        %o: memref<1x16x1x400xf32>) {
  na.attention
    ins(%q, %q, %v : memref<1x16x1x8xf32>, memref<1x16x1x8xf32>, memref<1x16x1x400xf32>)
    additional(%ak, %av : memref<1x4x1x8xf32>, memref<1x4x1x400xf32>)
    outs(%o : memref<1x16x1x400xf32>) window(<size = [5]>)
    {schedule = #na.schedule<target = "sm_80", query_tile = [16], key_tile = [16]>}
  return
}

// Nothing is stored to a destination that holds nothing.
// CHECK-LABEL: func @empty
// CHECK-NEXT:    return
func.func @empty(%q: memref<0x16x1x8xf32>, %v: memref<0x16x1x400xf32>) {
  na.attention
    ins(%q, %q, %v : memref<0x16x1x8xf32>, memref<0x16x1x8xf32>, memref<0x16x1x400xf32>)
    outs(%v : memref<0x16x1x400xf32>) window(<size = [5]>)
    {schedule = #na.schedule<target = "sm_80", query_tile = [16], key_tile = [16]>}
  return
}
