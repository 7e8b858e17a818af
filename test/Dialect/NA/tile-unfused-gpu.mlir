// RUN: na-opt %s -na-tile-unfused -canonicalize -split-input-file | FileCheck %s

// Weighted sums in the GPU form: weights of f32, narrowed to the type of the
// values by an operation of its own, and bf16 times bf16 into f32.

// CHECK-DAG:   #[[ID:map[0-9]*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG:   #[[LHS:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG:   #[[RHS:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG:   #[[OUT:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func @av
// CHECK:         scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (2, 2, 4) {
// CHECK:           scf.for {{.*}} -> (tensor<16x32xf32>)
// CHECK:             %[[W:.*]] = na.tile.gather {{.*}} query_box [16] key_box [32] into %{{.*}} : memref<2x56x2x7xf32>, tensor<16x32xf32>
// CHECK:             %[[V:.*]] = na.tile.load {{.*}} : memref<2x56x2x32xbf16>, tensor<32x32xbf16>
// CHECK:             %[[P:.*]] = linalg.generic {indexing_maps = [#[[ID]], #[[ID]]], iterator_types = ["parallel", "parallel"]} ins(%[[W]] : tensor<16x32xf32>) outs(%{{.*}} : tensor<16x32xbf16>)
// CHECK:               arith.truncf
// CHECK:             linalg.contract indexing_maps = [#[[LHS]], #[[RHS]], #[[OUT]]] ins(%[[P]], %[[V]] : {{.*}}) outs({{.*}} : tensor<16x32xf32>)
// CHECK:           na.tile.store {{.*}} : tensor<16x32xf32>, memref<2x56x2x32xbf16>
func.func @av(%w: memref<2x56x2x7xf32>, %v: memref<2x56x2x32xbf16>,
              %o: memref<2x56x2x32xbf16>) {
  na.av ins(%w, %v : memref<2x56x2x7xf32>, memref<2x56x2x32xbf16>)
      outs(%o : memref<2x56x2x32xbf16>) window(<size = [7]>) {schedule =
        #na.schedule<target = "sm_80", query_tile = [16], key_tile = [32]>}
  return
}

// -----

// Weights in the values' type stay as they are; a schedule says how many
// channels one iteration works on.

// CHECK-LABEL: func @av_same_type
// CHECK:         scf.forall (%{{.*}}, %[[CHUNK:.*]]) in (2, 3) {
// CHECK:           %[[MUL:.*]] = arith.muli %[[CHUNK]], %c16
// CHECK:           %[[FIRST:.*]] = arith.minsi %[[MUL]], %c24
// CHECK:           %[[PART:.*]] = memref.subview %{{.*}}[0, 0, 0, %[[FIRST]]] [1, 16, 2, 16] [1, 1, 1, 1]
// CHECK:           na.tile.gather {{.*}} : memref<1x16x2x7xf16>, tensor<16x32xf16>
// CHECK:           na.tile.load %[[PART]]{{.*}}, tensor<32x16xf16>
// CHECK-NOT:       arith.truncf
// CHECK:           linalg.contract
// CHECK:           %[[OUTPUT:.*]] = memref.subview
// CHECK:           na.tile.store %{{.*}} into %[[OUTPUT]]
func.func @av_same_type(%w: memref<1x16x2x7xf16>, %v: memref<1x16x2x40xf16>,
                        %o: memref<1x16x2x40xf16>) {
  na.av ins(%w, %v : memref<1x16x2x7xf16>, memref<1x16x2x40xf16>)
      outs(%o : memref<1x16x2x40xf16>) window(<size = [7]>) {schedule =
        #na.schedule<target = "sm_80", query_tile = [16], key_tile = [32],
                     value_tile = 16>}
  return
}

// -----

// Scores: queries times keys, then the scale, then the bias.

// CHECK-DAG:   #[[LHS:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG:   #[[RHS:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG:   #[[OUT:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func @qk
// CHECK:         %[[SCALE:.*]] = arith.constant -2.500000e-01 : f32
// CHECK:         linalg.fill
// CHECK:         scf.forall
// CHECK:           %[[Q:.*]] = na.tile.load {{.*}} box [2, 8] dilation [2, 1] into {{.*}} -> tensor<16x8xbf16>
// CHECK:             %[[K:.*]] = na.tile.load {{.*}} -> tensor<32x8xbf16>
// CHECK:             %[[DOT:.*]] = linalg.contract indexing_maps = [#[[LHS]], #[[RHS]], #[[OUT]]] ins(%[[Q]], %[[K]] : {{.*}}) outs({{.*}} : tensor<16x32xf32>)
// CHECK:             %[[SCALED:.*]] = linalg.generic {{.*}} outs(%[[DOT]]
// CHECK:               arith.mulf %{{.*}}, %[[SCALE]]
// CHECK:             %[[T:.*]] = na.tile.bias %[[SCALED]] {{.*}} query_box [2, 8] key_box [4, 8] : tensor<16x32xf32>
// CHECK:             na.tile.scatter %[[T]] {{.*}} query_box [2, 8] key_box [4, 8] : tensor<16x32xf32>
func.func @qk(%q: memref<?x14x?x6x8xbf16>, %k: memref<?x14x?x2x8xbf16>,
              %bias: memref<6x5x7xbf16>, %s: memref<?x14x?x6x12xf32>) {
  na.qk ins(%q, %k : memref<?x14x?x6x8xbf16>, memref<?x14x?x2x8xbf16>)
      bias(%bias : memref<6x5x7xbf16>)
      outs(%s : memref<?x14x?x6x12xf32>)
      window(<size = [3, 4], dilation = [2, 1], causal = [true, false]>)
      {scale = -0.25 : f64, schedule = #na.schedule<
         target = "sm_90", query_tile = [2, 8], key_tile = [4, 8]>}
  return
}
