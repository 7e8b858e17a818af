// RUN: na-opt %s --transform-interpreter --canonicalize --cse --split-input-file | FileCheck %s

// The loops are [batch, key heads]: two key heads take their six query heads.

// CHECK-DAG: #[[X2:.+]] = affine_map<(d0) -> (d0 * 2)>
// CHECK-DAG: #[[X6:.+]] = affine_map<(d0) -> (d0 * 6)>
// CHECK-LABEL: func @attention
// CHECK-SAME: %[[Q:[^:]+]]: tensor<2x8x12x16xf32>, %[[K:[^:]+]]: tensor<2x8x4x16xf32>
func.func @attention(%q: tensor<2x8x12x16xf32>, %k: tensor<2x8x4x16xf32>,
                     %v: tensor<2x8x4x24xf32>, %b: tensor<12x5xf32>,
                     %ek: tensor<2x3x4x16xf32>, %ev: tensor<2x3x4x24xf32>,
                     %o: tensor<2x8x12x24xf32>, %l: tensor<2x8x12xf32>)
    -> (tensor<2x8x12x24xf32>, tensor<2x8x12xf32>) {
  // CHECK: %[[R:.+]]:2 = scf.forall (%[[B:.+]], %[[H:.+]]) in (2, 2)
  // CHECK-SAME: shared_outs(%[[O:.+]] = %{{.+}}, %[[L:.+]] = %{{.+}})
  // CHECK-DAG: %[[KH:.+]] = affine.apply #[[X2]](%[[H]])
  // CHECK-DAG: %[[QH:.+]] = affine.apply #[[X6]](%[[H]])
  // CHECK-DAG: %[[QT:.+]] = tensor.extract_slice %[[Q]][%[[B]], 0, %[[QH]], 0] [1, 8, 6, 16]
  // CHECK-DAG: %[[KT:.+]] = tensor.extract_slice %[[K]][%[[B]], 0, %[[KH]], 0] [1, 8, 2, 16]
  // CHECK-DAG: %[[VT:.+]] = tensor.extract_slice %{{.+}}[%[[B]], 0, %[[KH]], 0] [1, 8, 2, 24]
  // CHECK-DAG: %[[BT:.+]] = tensor.extract_slice %{{.+}}[%[[QH]], 0] [6, 5]
  // CHECK-DAG: %[[EKT:.+]] = tensor.extract_slice %{{.+}}[%[[B]], 0, %[[KH]], 0] [1, 3, 2, 16]
  // CHECK-DAG: %[[EVT:.+]] = tensor.extract_slice %{{.+}}[%[[B]], 0, %[[KH]], 0] [1, 3, 2, 24]
  // CHECK-DAG: %[[OT:.+]] = tensor.extract_slice %[[O]][%[[B]], 0, %[[QH]], 0] [1, 8, 6, 24]
  // CHECK-DAG: %[[LT:.+]] = tensor.extract_slice %[[L]][%[[B]], 0, %[[QH]]] [1, 8, 6]
  // CHECK: %[[T:.+]]:2 = na.attention ins(%[[QT]], %[[KT]], %[[VT]]
  // CHECK-SAME: bias(%[[BT]]
  // CHECK-SAME: additional(%[[EKT]], %[[EVT]]
  // CHECK-SAME: outs(%[[OT]], %[[LT]]
  // CHECK-SAME: window(<size = [3], causal = [true]>) {scale = 5.000000e-01 : f64}
  // CHECK-DAG: tensor.parallel_insert_slice %[[T]]#0 into %[[O]][%[[B]], 0, %[[QH]], 0] [1, 8, 6, 24]
  // CHECK-DAG: tensor.parallel_insert_slice %[[T]]#1 into %[[L]][%[[B]], 0, %[[QH]]] [1, 8, 6]
  // CHECK: return %[[R]]#0, %[[R]]#1
  %0:2 = na.attention
      ins(%q, %k, %v : tensor<2x8x12x16xf32>, tensor<2x8x4x16xf32>,
                       tensor<2x8x4x24xf32>)
      bias(%b : tensor<12x5xf32>)
      additional(%ek, %ev : tensor<2x3x4x16xf32>, tensor<2x3x4x24xf32>)
      outs(%o, %l : tensor<2x8x12x24xf32>, tensor<2x8x12xf32>)
      window(<size = [3], causal = [true]>) {scale = 0.5 : f64}
      -> tensor<2x8x12x24xf32>, tensor<2x8x12xf32>
  return %0#0, %0#1 : tensor<2x8x12x24xf32>, tensor<2x8x12xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["na.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_forall %op tile_sizes [1, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Sizes of the last tile and of a group that are known at run time only.

// CHECK-LABEL: func @dynamic
// CHECK-SAME: %[[Q:[^:]+]]: tensor<?x?x?x16xf32>, %[[K:[^:]+]]: tensor<?x?x?x16xf32>
func.func @dynamic(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>,
                   %o: tensor<?x?x?x16xf32>) -> tensor<?x?x?x16xf32> {
  // CHECK-DAG: %[[HK:.+]] = tensor.dim %[[K]], %c2
  // CHECK: scf.for
  // CHECK: scf.for %[[H:.+]] = %c0 to %[[HK]] step %c2
  // CHECK-DAG: %[[NK:.+]] = affine.min #{{.+}}(%[[H]])[%[[HK]]]
  // CHECK-DAG: %[[HQ:.+]] = tensor.dim %[[Q]], %c2
  // CHECK-DAG: %[[G:.+]] = arith.divui %[[HQ]], %[[HK]]
  // CHECK-DAG: %[[QH:.+]] = arith.muli %[[H]], %[[G]]
  // CHECK-DAG: %[[NQ:.+]] = arith.muli %[[NK]], %[[G]]
  // CHECK-DAG: tensor.extract_slice %[[Q]][%{{.+}}, 0, %[[QH]], 0] [1, %{{.+}}, %[[NQ]], 16]
  // CHECK-DAG: tensor.extract_slice %[[K]][%{{.+}}, 0, %[[H]], 0] [1, %{{.+}}, %[[NK]], 16]
  // CHECK: na.attention
  %0 = na.attention
      ins(%q, %k, %k : tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>,
                       tensor<?x?x?x16xf32>)
      outs(%o : tensor<?x?x?x16xf32>) window(<size = [3]>)
      -> tensor<?x?x?x16xf32>
  return %0 : tensor<?x?x?x16xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["na.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loops:2 = transform.structured.tile_using_for %op tile_sizes [1, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// CHECK-DAG: #[[X2:.+]] = affine_map<(d0) -> (d0 * 2)>
// CHECK-LABEL: func @memref
// CHECK-SAME: %[[Q:[^:]+]]: memref<2x8x6x16xf16>
func.func @memref(%q: memref<2x8x6x16xf16>, %k: memref<2x8x3x16xf16>,
                  %o: memref<2x8x6x16xf16>) {
  // CHECK: scf.for %[[H:.+]] = %c0 to %c3 step %c1
  // CHECK: %[[QH:.+]] = affine.apply #[[X2]](%[[H]])
  // CHECK: memref.subview %[[Q]][0, 0, %[[QH]], 0] [2, 8, 2, 16]
  // CHECK: na.attention ins(
  // CHECK-SAME: memref<2x8x1x16xf16, strided<[384, 48, 16, 1], offset: ?>>
  na.attention ins(%q, %k, %k : memref<2x8x6x16xf16>, memref<2x8x3x16xf16>,
                                memref<2x8x3x16xf16>)
      outs(%o : memref<2x8x6x16xf16>) window(<size = [3]>)
  return
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["na.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [0, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// CHECK-DAG: #[[X2:.+]] = affine_map<(d0) -> (d0 * 2)>
// CHECK-LABEL: func @qk_av
func.func @qk_av(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x2x16xf32>,
                 %b: tensor<4x5xf32>, %s: tensor<2x8x4x3xf32>,
                 %o: tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32> {
  // CHECK: scf.forall (%[[B:.+]], %[[H:.+]]) in (2, 2)
  // CHECK: %[[QH:.+]] = affine.apply #[[X2]](%[[H]])
  // CHECK-DAG: tensor.extract_slice %{{.+}}[%[[B]], 0, %[[QH]], 0] [1, 8, 2, 16]
  // CHECK-DAG: tensor.extract_slice %{{.+}}[%[[B]], 0, %[[H]], 0] [1, 8, 1, 16]
  // CHECK-DAG: tensor.extract_slice %{{.+}}[%[[QH]], 0] [2, 5]
  // CHECK-DAG: tensor.extract_slice %{{.+}}[%[[B]], 0, %[[QH]], 0] [1, 8, 2, 3]
  // CHECK: na.qk
  // CHECK-SAME: -> tensor<1x8x2x3xf32>
  %0 = na.qk ins(%q, %k : tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>)
      bias(%b : tensor<4x5xf32>) outs(%s : tensor<2x8x4x3xf32>)
      window(<size = [3]>) -> tensor<2x8x4x3xf32>
  // CHECK: scf.forall (%[[B:.+]], %[[H:.+]]) in (2, 2)
  // CHECK: %[[QH:.+]] = affine.apply #[[X2]](%[[H]])
  // CHECK-DAG: tensor.extract_slice %{{.+}}[%[[B]], 0, %[[QH]], 0] [1, 8, 2, 3]
  // CHECK-DAG: tensor.extract_slice %{{.+}}[%[[B]], 0, %[[H]], 0] [1, 8, 1, 16]
  // CHECK: na.av
  // CHECK-SAME: -> tensor<1x8x2x16xf32>
  %1 = na.av ins(%0, %k : tensor<2x8x4x3xf32>, tensor<2x8x2x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>) window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return %1 : tensor<2x8x4x16xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %qk = transform.structured.match ops{["na.qk"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_forall %qk tile_sizes [1, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %av = transform.structured.match ops{["na.av"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_forall %av tile_sizes [1, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Rows of a merge are independent of each other.

// CHECK-DAG: #[[X4:.+]] = affine_map<(d0) -> (d0 * 4)>
// CHECK-LABEL: func @merge
func.func @merge(%o0: tensor<2x8x4x16xf32>, %o1: tensor<2x8x4x16xf32>,
                 %l0: tensor<2x8x4xf32>, %l1: tensor<2x8x4xf32>,
                 %o: tensor<2x8x4x16xf32>, %l: tensor<2x8x4xf32>)
    -> (tensor<2x8x4x16xf32>, tensor<2x8x4xf32>) {
  // CHECK: scf.forall (%[[I:.+]], %[[J:.+]]) in (2, 2)
  // CHECK: %[[X:.+]] = affine.apply #[[X4]](%[[J]])
  // CHECK-COUNT-2: tensor.extract_slice %{{.+}}[%[[I]], %[[X]], 0, 0] [1, 4, 4, 16]
  // CHECK-COUNT-2: tensor.extract_slice %{{.+}}[%[[I]], %[[X]], 0] [1, 4, 4]
  // CHECK: na.merge
  // CHECK-SAME: -> tensor<1x4x4x16xf32>, tensor<1x4x4xf32>
  // CHECK: tensor.parallel_insert_slice
  // CHECK-SAME: [%[[I]], %[[X]], 0, 0] [1, 4, 4, 16]
  %0:2 = na.merge
      ins(%o0, %o1 : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      lses(%l0, %l1 : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      outs(%o, %l : tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
      -> tensor<2x8x4x16xf32>, tensor<2x8x4xf32>
  return %0#0, %0#1 : tensor<2x8x4x16xf32>, tensor<2x8x4xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["na.merge"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_forall %op tile_sizes [1, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
