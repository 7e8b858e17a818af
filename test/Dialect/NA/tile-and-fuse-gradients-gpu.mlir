// RUN: na-opt %s -na-tile-and-fuse -cse | FileCheck %s

// The gradients in the GPU form: rows first, operands in their own type, one
// job per linalg operation, exponents of 2.

// CHECK-DAG:   #[[VEC:.*]] = affine_map<(d0) -> (d0)>
// CHECK-DAG:   #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG:   #[[ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG:   #[[COL:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG:   #[[MK:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG:   #[[NK:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG:   #[[KN:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG:   #[[MN:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>

// Rows are queries: what they have is loaded once, statistics as vectors.
// CHECK-LABEL: func @dq
// CHECK-SAME:    %[[Q:[a-z0-9_]+]]: memref<2x64x4x32xbf16>, %[[K:[a-z0-9_]+]]: memref<2x64x4x32xbf16>, %[[V:[a-z0-9_]+]]: memref<2x64x4x48xbf16>, %[[DO:[a-z0-9_]+]]: memref<2x64x4x48xbf16>, %[[LSE:[a-z0-9_]+]]: memref<2x64x4xf32>, %[[DELTA:[a-z0-9_]+]]: memref<2x64x4xf32>, %[[DQ:[a-z0-9_]+]]: memref<2x64x4x32xbf16>
// CHECK:         scf.forall (%[[B:.*]], %[[H:.*]], %[[T:.*]]) in (2, 4, 2)
// CHECK:           %[[QT:.*]] = na.tile.load %[[Q]][%[[B]], %[[H]]] at(%[[AT:.*]]) box [32] dilation [1] into {{.*}} -> tensor<32x32xbf16>
// CHECK:           %[[DOT:.*]] = na.tile.load %[[DO]][%[[B]], %[[H]]] at(%[[AT]]) box [32] dilation [1] into {{.*}} -> tensor<32x48xbf16>
// CHECK:           %[[L:.*]] = na.tile.load %[[LSE]][%[[B]], %[[H]]] at(%[[AT]]) box [32] dilation [1] into {{.*}} : memref<2x64x4xf32>, tensor<32xf32> -> tensor<32xf32>
// To base 2, once.
// CHECK:           %[[L2:.*]] = linalg.generic {indexing_maps = [#[[VEC]]], iterator_types = ["parallel"]} outs(%[[L]]
// CHECK:             arith.constant 1.442
// CHECK-NEXT:        arith.mulf
// CHECK:           %[[DT:.*]] = na.tile.load %[[DELTA]][%[[B]], %[[H]]]
// CHECK:           %[[RANGES:.*]] = na.tile.windows <size = [5]>
// CHECK:           %[[LOOP:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (tensor<32x32xf32>)
// CHECK:             %[[KT:.*]] = na.tile.load %[[K]][%[[B]], %[[H]]] at(%[[KAT:.*]]) box [16] {{.*}} -> tensor<16x32xbf16>
// CHECK:             %[[S:.*]] = linalg.contract indexing_maps = [#[[MK]], #[[NK]], #[[MN]]] ins(%[[QT]], %[[KT]] : {{.*}}) -> tensor<32x16xf32>
// CHECK:             %[[M:.*]] = na.tile.mask %[[S]] ranges(%[[RANGES]] : tensor<2x32xi32>) at(%[[KAT]]) box [16] axes [0] unless
// CHECK:             %[[VT:.*]] = na.tile.load %[[V]][%[[B]], %[[H]]] at(%[[KAT]]) box [16] {{.*}} -> tensor<16x48xbf16>
// The scale in the exponent: 0.255 is log2(e) / sqrt(32).
// CHECK:             %[[P:.*]] = linalg.generic {indexing_maps = [#[[ROW]], #[[ID]]], iterator_types = ["parallel", "parallel"]} ins(%[[L2]] : tensor<32xf32>) outs(%[[M]]
// CHECK:               arith.constant 0.255
// CHECK:               math.fma
// CHECK-NEXT:          math.exp2
// CHECK:             %[[DP:.*]] = linalg.contract indexing_maps = [#[[MK]], #[[NK]], #[[MN]]] ins(%[[DOT]], %[[VT]] : {{.*}}) -> tensor<32x16xf32>
// CHECK:             %[[DS:.*]] = linalg.generic {indexing_maps = [#[[ROW]], #[[ID]], #[[ID]]], iterator_types = ["parallel", "parallel"]} ins(%[[DT]], %[[P]] : tensor<32xf32>, tensor<32x16xf32>) outs(%[[DP]]
// CHECK:             ^bb0(%[[D:.*]]: f32, %[[W:.*]]: f32, %[[X:.*]]: f32):
// CHECK:               %[[SUB:.*]] = arith.subf %[[X]], %[[D]]
// CHECK:               arith.mulf %[[W]], %[[SUB]]
// CHECK:             %[[NARROW:.*]] = linalg.generic {{.*}} ins(%[[DS]] : tensor<32x16xf32>) outs(%{{.*}} : tensor<32x16xbf16>)
// CHECK:               arith.truncf
// The key tile again, as the other operand.
// CHECK:             %[[NEXT:.*]] = linalg.contract indexing_maps = [#[[MK]], #[[KN]], #[[MN]]] ins(%[[NARROW]], %[[KT]] : {{.*}}) outs(%[[ACC]]
// CHECK:             scf.yield %[[NEXT]]
// CHECK:           %[[RESULT:.*]] = linalg.generic {{.*}} outs(%[[LOOP]]
// CHECK:             arith.constant 0.176
// CHECK:             arith.mulf
// CHECK:           na.tile.store %[[RESULT]] into %[[DQ]][%[[B]], %[[H]]] at(%[[AT]]) box [32] dilation [1] : tensor<32x32xf32>, memref<2x64x4x32xbf16>
// CHECK:         } {na.schedule = #na.schedule<target = "sm_80", query_tile = [32], key_tile = [16]>}
func.func @dq(%q: memref<2x64x4x32xbf16>, %k: memref<2x64x4x32xbf16>,
              %v: memref<2x64x4x48xbf16>, %do: memref<2x64x4x48xbf16>,
              %lse: memref<2x64x4xf32>, %delta: memref<2x64x4xf32>,
              %dq: memref<2x64x4x32xbf16>) {
  na.attention_dq
    ins(%q, %k, %v, %do : memref<2x64x4x32xbf16>, memref<2x64x4x32xbf16>, memref<2x64x4x48xbf16>, memref<2x64x4x48xbf16>)
    stats(%lse, %delta : memref<2x64x4xf32>, memref<2x64x4xf32>)
    outs(%dq : memref<2x64x4x32xbf16>) window(<size = [5]>)
    {schedule = #na.schedule<target = "sm_80", query_tile = [32], key_tile = [16]>}
  return
}

// Rows are keys, columns queries: the statistics are vectors along columns.
// CHECK-LABEL: func @dkv
// CHECK-SAME:    %[[Q:[a-z0-9_]+]]: memref<2x64x4x32xbf16>, %[[K:[a-z0-9_]+]]: memref<2x64x4x32xbf16>, %[[V:[a-z0-9_]+]]: memref<2x64x4x48xbf16>, %[[DO:[a-z0-9_]+]]: memref<2x64x4x48xbf16>, %[[LSE:[a-z0-9_]+]]: memref<2x64x4xf32>, %[[DELTA:[a-z0-9_]+]]: memref<2x64x4xf32>, %[[DK:[a-z0-9_]+]]: memref<2x64x4x32xbf16>, %[[DV:[a-z0-9_]+]]: memref<2x64x4x48xbf16>
// CHECK:         scf.forall (%[[B:.*]], %[[H:.*]], %[[T:.*]]) in (2, 4, 2)
// CHECK:           %[[KT:.*]] = na.tile.load %[[K]][%[[B]], %[[H]]] at(%[[AT:.*]]) box [32] dilation [1] into {{.*}} -> tensor<32x32xbf16>
// CHECK:           %[[VT:.*]] = na.tile.load %[[V]][%[[B]], %[[H]]] at(%[[AT]]) box [32] dilation [1] into {{.*}} -> tensor<32x48xbf16>
// CHECK:           %[[RANGES:.*]] = na.tile.windows inverse <size = [5]> at(%[[AT]])
// CHECK:           %[[LOOP:.*]]:2 = scf.for {{.*}} iter_args(%[[KACC:.*]] = %{{.*}}, %[[VACC:.*]] = %{{.*}}) -> (tensor<32x32xf32>, tensor<32x48xf32>)
// CHECK:             %[[QT:.*]] = na.tile.load %[[Q]][%[[B]], %[[H]]] at(%[[QAT:.*]]) box [16] {{.*}} -> tensor<16x32xbf16>
// CHECK:             %[[DOT:.*]] = na.tile.load %[[DO]][%[[B]], %[[H]]] at(%[[QAT]]) box [16] {{.*}} -> tensor<16x48xbf16>
// CHECK:             %[[L:.*]] = na.tile.load %[[LSE]][%[[B]], %[[H]]] at(%[[QAT]]) box [16] {{.*}} -> tensor<16xf32>
// CHECK:             %[[L2:.*]] = linalg.generic {{.*}} outs(%[[L]]
// CHECK:             %[[DT:.*]] = na.tile.load %[[DELTA]][%[[B]], %[[H]]] at(%[[QAT]]) box [16] {{.*}} -> tensor<16xf32>
// CHECK:             %[[S:.*]] = linalg.contract indexing_maps = [#[[MK]], #[[NK]], #[[MN]]] ins(%[[KT]], %[[QT]] : {{.*}}) -> tensor<32x16xf32>
// CHECK:             %[[M:.*]] = na.tile.mask %[[S]] ranges(%[[RANGES]] : tensor<2x32xi32>) at(%[[QAT]]) box [16] axes [0] unless
// CHECK:             %[[P:.*]] = linalg.generic {indexing_maps = [#[[COL]], #[[ID]]], iterator_types = ["parallel", "parallel"]} ins(%[[L2]] : tensor<16xf32>) outs(%[[M]]
// CHECK:             %[[PN:.*]] = linalg.generic {{.*}} ins(%[[P]] : tensor<32x16xf32>) outs(%{{.*}} : tensor<32x16xbf16>)
// CHECK:             %[[VNEXT:.*]] = linalg.contract indexing_maps = [#[[MK]], #[[KN]], #[[MN]]] ins(%[[PN]], %[[DOT]] : {{.*}}) outs(%[[VACC]]
// CHECK:             %[[DP:.*]] = linalg.contract indexing_maps = [#[[MK]], #[[NK]], #[[MN]]] ins(%[[VT]], %[[DOT]] : {{.*}}) -> tensor<32x16xf32>
// CHECK:             %[[DS:.*]] = linalg.generic {indexing_maps = [#[[COL]], #[[ID]], #[[ID]]], iterator_types = ["parallel", "parallel"]} ins(%[[DT]], %[[P]] : tensor<16xf32>, tensor<32x16xf32>) outs(%[[DP]]
// CHECK:             %[[DSN:.*]] = linalg.generic {{.*}} ins(%[[DS]] : tensor<32x16xf32>) outs(%{{.*}} : tensor<32x16xbf16>)
// CHECK:             %[[KNEXT:.*]] = linalg.contract indexing_maps = [#[[MK]], #[[KN]], #[[MN]]] ins(%[[DSN]], %[[QT]] : {{.*}}) outs(%[[KACC]]
// CHECK:             scf.yield %[[KNEXT]], %[[VNEXT]]
// CHECK:           %[[RESULT:.*]] = linalg.generic {{.*}} outs(%[[LOOP]]#0
// CHECK:             arith.constant 0.176
// CHECK:           na.tile.store %[[RESULT]] into %[[DK]][%[[B]], %[[H]]] at(%[[AT]]) box [32] {{.*}} : tensor<32x32xf32>, memref<2x64x4x32xbf16>
// CHECK:           na.tile.store %[[LOOP]]#1 into %[[DV]][%[[B]], %[[H]]] at(%[[AT]]) box [32] {{.*}} : tensor<32x48xf32>, memref<2x64x4x48xbf16>
// CHECK:         } {na.schedule = #na.schedule<target = "sm_80", query_tile = [16], key_tile = [32]>}
func.func @dkv(%q: memref<2x64x4x32xbf16>, %k: memref<2x64x4x32xbf16>,
               %v: memref<2x64x4x48xbf16>, %do: memref<2x64x4x48xbf16>,
               %lse: memref<2x64x4xf32>, %delta: memref<2x64x4xf32>,
               %dk: memref<2x64x4x32xbf16>, %dv: memref<2x64x4x48xbf16>) {
  na.attention_dkv
    ins(%q, %k, %v, %do : memref<2x64x4x32xbf16>, memref<2x64x4x32xbf16>, memref<2x64x4x48xbf16>, memref<2x64x4x48xbf16>)
    stats(%lse, %delta : memref<2x64x4xf32>, memref<2x64x4xf32>)
    outs(%dk, %dv : memref<2x64x4x32xbf16>, memref<2x64x4x48xbf16>) window(<size = [5]>)
    {schedule = #na.schedule<target = "sm_80", query_tile = [16], key_tile = [32]>}
  return
}

// The gradient of the keys alone needs all operands, that of the values neither
// the values nor delta.
// CHECK-LABEL: func @apart
// CHECK:         scf.forall
// CHECK:           %[[LOOP:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (tensor<32x32xf32>)
// CHECK-COUNT-3:     linalg.contract
// CHECK-NOT:         linalg.contract
// CHECK:           %[[RESULT:.*]] = linalg.generic {{.*}} outs(%[[LOOP]]
// CHECK:           na.tile.store %[[RESULT]] into %{{.*}} : tensor<32x32xf32>, memref<2x64x4x32xbf16>
// CHECK:         scf.forall
// CHECK:           na.tile.load %{{.*}} box [32] {{.*}} -> tensor<32x32xbf16>
// CHECK-NOT:       na.tile.load %{{.*}} box [32]
// CHECK:           %[[LOOP:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (tensor<32x48xf32>)
// CHECK:             na.tile.load {{.*}} -> tensor<16x32xbf16>
// CHECK:             na.tile.load {{.*}} -> tensor<16x48xbf16>
// CHECK:             na.tile.load {{.*}} -> tensor<16xf32>
// CHECK-NOT:         na.tile.load
// CHECK-COUNT-2:     linalg.contract
// CHECK-NOT:         linalg.contract
// CHECK:           na.tile.store %[[LOOP]] into %{{.*}} : tensor<32x48xf32>, memref<2x64x4x48xbf16>
func.func @apart(%q: memref<2x64x4x32xbf16>, %k: memref<2x64x4x32xbf16>,
                 %v: memref<2x64x4x48xbf16>, %do: memref<2x64x4x48xbf16>,
                 %lse: memref<2x64x4xf32>, %delta: memref<2x64x4xf32>,
                 %dk: memref<2x64x4x32xbf16>, %dv: memref<2x64x4x48xbf16>) {
  na.attention_dkv
    ins(%q, %k, %v, %do : memref<2x64x4x32xbf16>, memref<2x64x4x32xbf16>, memref<2x64x4x48xbf16>, memref<2x64x4x48xbf16>)
    stats(%lse, %delta : memref<2x64x4xf32>, memref<2x64x4xf32>)
    dk(%dk : memref<2x64x4x32xbf16>) window(<size = [5]>)
    {schedule = #na.schedule<target = "sm_80", query_tile = [16], key_tile = [32]>}
  na.attention_dkv
    ins(%q, %k, %v, %do : memref<2x64x4x32xbf16>, memref<2x64x4x32xbf16>, memref<2x64x4x48xbf16>, memref<2x64x4x48xbf16>)
    stats(%lse, %delta : memref<2x64x4xf32>, memref<2x64x4xf32>)
    dv(%dv : memref<2x64x4x48xbf16>) window(<size = [5]>)
    {schedule = #na.schedule<target = "sm_80", query_tile = [16], key_tile = [32]>}
  return
}

// With a bias, the scale is in the scores, and the bias of a tile whose rows are
// keys is key-major.
// CHECK-LABEL: func @bias
// CHECK:         na.tile.bias {{.*}} query_at(%[[ROWS:.*]]) key_at(%{{.*}}) query_box [32] key_box [16] : tensor<32x16xf32>
// CHECK:         arith.constant 1.442
// CHECK:         math.exp2
// CHECK:         na.tile.store
// CHECK:         %[[S:.*]] = linalg.contract
// CHECK:         linalg.generic {{.*}} outs(%[[S]]
// CHECK:           arith.constant 0.353
// CHECK:         na.tile.bias {{.*}} query_at(%{{.*}}) key_at(%{{.*}}) query_box [16] key_box [32] key_major : tensor<32x16xf32>
func.func @bias(%q: memref<1x64x2x8xf16>, %bias: memref<2x5xf16>,
                %lse: memref<1x64x2xf32>, %dq: memref<1x64x2x8xf16>) {
  na.attention_dq
    ins(%q, %q, %q, %q : memref<1x64x2x8xf16>, memref<1x64x2x8xf16>, memref<1x64x2x8xf16>, memref<1x64x2x8xf16>)
    stats(%lse, %lse : memref<1x64x2xf32>, memref<1x64x2xf32>)
    bias(%bias : memref<2x5xf16>)
    outs(%dq : memref<1x64x2x8xf16>) window(<size = [3]>)
    {schedule = #na.schedule<target = "sm_80", query_tile = [32], key_tile = [16]>}
  na.attention_dkv
    ins(%q, %q, %q, %q : memref<1x64x2x8xf16>, memref<1x64x2x8xf16>, memref<1x64x2x8xf16>, memref<1x64x2x8xf16>)
    stats(%lse, %lse : memref<1x64x2xf32>, memref<1x64x2xf32>)
    bias(%bias : memref<2x5xf16>)
    outs(%dq, %dq : memref<1x64x2x8xf16>, memref<1x64x2x8xf16>) window(<size = [3]>)
    {schedule = #na.schedule<target = "sm_80", query_tile = [16], key_tile = [32]>}
  return
}

// The loop goes over the queries of the three heads of a group.
// CHECK-LABEL: func @group
// CHECK:         scf.forall (%{{.*}}, %[[H:.*]], %{{.*}}) in (1, 2, 2)
// CHECK:           %[[TILES:.*]] = arith.ceildivsi
// CHECK:           %[[ALL:.*]] = arith.muli %[[TILES]], %c3
// CHECK:           scf.for %[[I:.*]] = %c0 to %[[ALL]]
// CHECK:             %[[ROUND:.*]] = arith.divui %[[I]], %[[TILES]]
// CHECK:             %[[TILE:.*]] = arith.remui %[[I]], %[[TILES]]
// CHECK:             arith.muli %[[TILE]], %c16
// CHECK:             %[[FIRST:.*]] = arith.muli %[[H]], %c3
// CHECK:             %[[QH:.*]] = arith.addi %[[FIRST]], %[[ROUND]]
// CHECK:             na.tile.load %{{.*}}[%{{.*}}, %[[QH]]]
func.func @group(%q: memref<1x64x6x8xf16>, %k: memref<1x64x2x8xf16>,
                 %lse: memref<1x64x6xf32>) {
  na.attention_dkv
    ins(%q, %k, %k, %q : memref<1x64x6x8xf16>, memref<1x64x2x8xf16>, memref<1x64x2x8xf16>, memref<1x64x6x8xf16>)
    stats(%lse, %lse : memref<1x64x6xf32>, memref<1x64x6xf32>)
    outs(%k, %k : memref<1x64x2x8xf16>, memref<1x64x2x8xf16>) window(<size = [3]>)
    {schedule = #na.schedule<target = "sm_80", query_tile = [16], key_tile = [32]>}
  return
}

// Blocks that do not overlap, of which key tiles are halves: nothing is masked.
// CHECK-LABEL: func @blocked
// CHECK-NOT:     na.tile.windows
// CHECK-NOT:     na.tile.mask
// CHECK:         return
func.func @blocked(%q: memref<1x64x2x8xf16>, %lse: memref<1x64x2xf32>) {
  na.attention_dkv
    ins(%q, %q, %q, %q : memref<1x64x2x8xf16>, memref<1x64x2x8xf16>, memref<1x64x2x8xf16>, memref<1x64x2x8xf16>)
    stats(%lse, %lse : memref<1x64x2xf32>, memref<1x64x2xf32>)
    outs(%q, %q : memref<1x64x2x8xf16>, memref<1x64x2x8xf16>) window(<size = [32], stride = [32]>)
    {schedule = #na.schedule<target = "sm_80", query_tile = [16], key_tile = [16]>}
  return
}
