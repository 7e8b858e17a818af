// RUN: na-opt %s -na-tile-to-linalg | FileCheck %s

// CHECK-DAG: #[[R0:.*]] = affine_map<(d0, d1) -> (0, d1)>
// CHECK-DAG: #[[R1:.*]] = affine_map<(d0, d1) -> (1, d1)>
// CHECK-DAG: #[[R2:.*]] = affine_map<(d0, d1) -> (2, d1)>
// CHECK-DAG: #[[R3:.*]] = affine_map<(d0, d1) -> (3, d1)>
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[T2:.*]] = affine_map<(d0, d1) -> (2, d0)>
// CHECK-DAG: #[[T3:.*]] = affine_map<(d0, d1) -> (3, d0)>

// Both axes of a tile [keys, queries], except where the flag is true. Key lane
// l is at (x + l / 3, y + l mod 3).
// CHECK-LABEL: func @both_axes
// CHECK-SAME:    %[[S:[a-z0-9_]+]]: tensor<6x4xf32>, %[[R:[a-z0-9_]+]]: tensor<4x4xi32>, %[[X:[a-z0-9_]+]]: index, %[[Y:[a-z0-9_]+]]: index, %[[INSIDE:[a-z0-9_]+]]: i1
// CHECK:         %[[IF:.*]] = scf.if %[[INSIDE]] -> (tensor<6x4xf32>)
// CHECK-NEXT:      scf.yield %[[S]]
// CHECK:         else
// CHECK:           %[[M:.*]] = linalg.generic {indexing_maps = [#[[R0]], #[[R1]], #[[R2]], #[[R3]], #[[ID]]], iterator_types = ["parallel", "parallel"]}
// CHECK-SAME:        ins(%[[R]], %[[R]], %[[R]], %[[R]] : {{.*}}) outs(%[[S]]
// CHECK-NEXT:      ^bb0(%[[XB:.*]]: i32, %[[XE:.*]]: i32, %[[YB:.*]]: i32, %[[YE:.*]]: i32, %[[SCORE:.*]]: f32):
// CHECK:             %[[LANE:.*]] = linalg.index 0
// CHECK:             %[[C3:.*]] = arith.constant 3 : index
// CHECK:             %[[YI:.*]] = arith.remui %[[LANE]], %[[C3]]
// CHECK:             %[[XI:.*]] = arith.divui %[[LANE]], %[[C3]]
// CHECK:             %[[YPOS:.*]] = arith.addi %[[Y]], %[[YI]]
// CHECK:             %[[YI32:.*]] = arith.index_cast %[[YPOS]] : index to i32
// CHECK:             %[[XPOS:.*]] = arith.addi %[[X]], %[[XI]]
// CHECK:             %[[XI32:.*]] = arith.index_cast %[[XPOS]] : index to i32
// CHECK-DAG:         %[[INF:.*]] = arith.constant 0xFF800000 : f32
// CHECK-DAG:         %[[XGE:.*]] = arith.cmpi sge, %[[XI32]], %[[XB]]
// CHECK-DAG:         %[[XLT:.*]] = arith.cmpi slt, %[[XI32]], %[[XE]]
// CHECK:             %[[XIN:.*]] = arith.andi %[[XGE]], %[[XLT]]
// CHECK:             %[[FIRST:.*]] = arith.select %[[XIN]], %[[SCORE]], %[[INF]]
// CHECK-DAG:         %[[YGE:.*]] = arith.cmpi sge, %[[YI32]], %[[YB]]
// CHECK-DAG:         %[[YLT:.*]] = arith.cmpi slt, %[[YI32]], %[[YE]]
// CHECK:             %[[YIN:.*]] = arith.andi %[[YGE]], %[[YLT]]
// CHECK:             %[[SECOND:.*]] = arith.select %[[YIN]], %[[FIRST]], %[[INF]]
// CHECK:             linalg.yield %[[SECOND]]
// CHECK:           scf.yield %[[M]]
// CHECK:         return %[[IF]]
func.func @both_axes(%s: tensor<6x4xf32>, %r: tensor<4x4xi32>, %x: index,
                     %y: index, %inside: i1) -> tensor<6x4xf32> {
  %m = na.tile.mask %s ranges(%r : tensor<4x4xi32>) at(%x, %y) box [2, 3]
       axes [0, 1] key_major unless %inside : tensor<6x4xf32> -> tensor<6x4xf32>
  return %m : tensor<6x4xf32>
}

// One axis, always, of a tile [queries, keys].
// CHECK-LABEL: func @query_major
// CHECK-NOT:     scf.if
// CHECK:         linalg.generic {indexing_maps = [#[[T2]], #[[T3]], #[[ID]]]
// CHECK:           linalg.index 1
// CHECK-COUNT-1:   arith.select
// CHECK-NOT:       arith.select
// CHECK:           linalg.yield
func.func @query_major(%s: tensor<4x6xf64>, %r: tensor<4x4xi32>, %x: index,
                       %y: index) -> tensor<4x6xf64> {
  %m = na.tile.mask %s ranges(%r : tensor<4x4xi32>) at(%x, %y) box [2, 3]
       axes [1] : tensor<4x6xf64> -> tensor<4x6xf64>
  return %m : tensor<4x6xf64>
}

// No axis: nothing is hidden.
// CHECK-LABEL: func @no_axis
// CHECK:         linalg.generic
// CHECK-NOT:       arith.select
// CHECK:           linalg.yield
func.func @no_axis(%s: tensor<6x4xf32>, %r: tensor<2x4xi32>, %x: index)
    -> tensor<6x4xf32> {
  %m = na.tile.mask %s ranges(%r : tensor<2x4xi32>) at(%x) box [6] axes []
       key_major : tensor<6x4xf32> -> tensor<6x4xf32>
  return %m : tensor<6x4xf32>
}

// Masks on memrefs, and other tile operations, stay as they are.
// CHECK-LABEL: func @no_op
// CHECK-NEXT:    na.tile.mask
// CHECK-NEXT:    na.tile.load
// CHECK-NEXT:    arith.addi
// CHECK-NEXT:    return
func.func @no_op(%s: memref<6x4xf32>, %r: memref<2x4xi32>, %x: index,
                 %q: memref<1x9x1x4xf32>) {
  na.tile.mask %s ranges(%r : memref<2x4xi32>) at(%x) box [6] axes [0]
    key_major : memref<6x4xf32>
  na.tile.load %q[%x, %x] at(%x) box [6] dilation [1] into %s
    : memref<1x9x1x4xf32>, memref<6x4xf32>
  %dead = arith.addi %x, %x : index
  return
}
