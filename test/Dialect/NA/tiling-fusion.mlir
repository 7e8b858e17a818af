// RUN: na-opt %s --transform-interpreter --canonicalize --cse --split-input-file | FileCheck %s

// A tiled consumer pulls the attention into its loop; the scale of the queries,
// an elementwise producer, follows.

// CHECK-DAG: #[[X2:.+]] = affine_map<(d0) -> (d0 * 2)>
// CHECK-LABEL: func @producer_and_consumer
// CHECK-SAME: %[[Q:[^:]+]]: tensor<2x8x4x16xf32>, %[[K:[^:]+]]: tensor<2x8x2x16xf32>
func.func @producer_and_consumer(%q: tensor<2x8x4x16xf32>,
                                 %k: tensor<2x8x2x16xf32>,
                                 %o: tensor<2x8x4x16xf32>)
    -> tensor<2x8x4x16xf32> {
  // CHECK: scf.forall (%[[B:.+]], %[[J:.+]]) in (2, 2)
  // CHECK: %[[H:.+]] = affine.apply #[[X2]](%[[J]])
  // CHECK: tensor.extract_slice %[[Q]][%[[B]], 0, %[[H]], 0] [1, 8, 2, 16]
  // CHECK: %[[E:.+]] = linalg.exp
  // CHECK: %[[KT:.+]] = tensor.extract_slice %[[K]][%[[B]], 0, %[[J]], 0] [1, 8, 1, 16]
  // CHECK: %[[A:.+]] = na.attention ins(%[[E]], %[[KT]], %[[KT]]
  // CHECK: %[[N:.+]] = linalg.negf ins(%[[A]]
  // CHECK: tensor.parallel_insert_slice %[[N]]
  // CHECK-NOT: na.attention ins
  %e = linalg.exp ins(%q : tensor<2x8x4x16xf32>)
                  outs(%o : tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  %a = na.attention
      ins(%e, %k, %k : tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>,
                       tensor<2x8x2x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>) window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  %n = linalg.negf ins(%a : tensor<2x8x4x16xf32>)
                   outs(%o : tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return %n : tensor<2x8x4x16xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %neg = transform.structured.match ops{["linalg.negf"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_forall %neg tile_sizes [1, 0, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %attention = transform.structured.match ops{["na.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %fused, %loop1 = transform.structured.fuse_into_containing_op %attention into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %exp = transform.structured.match ops{["linalg.exp"]} in %root : (!transform.any_op) -> !transform.any_op
    %fused1, %loop2 = transform.structured.fuse_into_containing_op %exp into %loop1 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// One query head of a group of three takes its one key head.

// CHECK-DAG: #[[BY3:.+]] = affine_map<(d0) -> (d0 floordiv 3)>
// CHECK-LABEL: func @inside_a_group
func.func @inside_a_group(%q: tensor<2x8x6x16xf32>, %k: tensor<2x8x2x16xf32>,
                          %o: tensor<2x8x6x16xf32>) -> tensor<2x8x6x16xf32> {
  // CHECK: scf.for %[[H:.+]] = %c0 to %c6 step %c1
  // CHECK-DAG: %[[KH:.+]] = affine.apply #[[BY3]](%[[H]])
  // CHECK-DAG: tensor.extract_slice %{{.+}}[0, 0, %[[H]], 0] [2, 8, 1, 16]
  // CHECK-DAG: tensor.extract_slice %{{.+}}[0, 0, %[[KH]], 0] [2, 8, 1, 16]
  // CHECK: na.attention
  // CHECK-SAME: -> tensor<2x8x1x16xf32>
  // CHECK: linalg.negf
  %a = na.attention
      ins(%q, %k, %k : tensor<2x8x6x16xf32>, tensor<2x8x2x16xf32>,
                       tensor<2x8x2x16xf32>)
      outs(%o : tensor<2x8x6x16xf32>) window(<size = [3]>)
      -> tensor<2x8x6x16xf32>
  %n = linalg.negf ins(%a : tensor<2x8x6x16xf32>)
                   outs(%o : tensor<2x8x6x16xf32>) -> tensor<2x8x6x16xf32>
  return %n : tensor<2x8x6x16xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %neg = transform.structured.match ops{["linalg.negf"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loops = transform.structured.fuse %neg tile_sizes [0, 0, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A tile of two query heads would straddle groups of three, and a tile of
// tokens is none of the loops: the attention stays outside.

// CHECK-LABEL: func @stays_outside
func.func @stays_outside(%q: tensor<2x8x6x16xf32>, %k: tensor<2x8x2x16xf32>,
                         %o: tensor<2x8x6x16xf32>)
    -> (tensor<2x8x6x16xf32>, tensor<2x8x6x16xf32>) {
  // CHECK: na.attention
  // CHECK-SAME: -> tensor<2x8x6x16xf32>
  // CHECK: scf.for
  // CHECK-NOT: na.attention ins
  // CHECK: linalg.negf
  %a = na.attention
      ins(%q, %k, %k : tensor<2x8x6x16xf32>, tensor<2x8x2x16xf32>,
                       tensor<2x8x2x16xf32>)
      outs(%o : tensor<2x8x6x16xf32>) window(<size = [3]>)
      -> tensor<2x8x6x16xf32>
  %n = linalg.negf ins(%a : tensor<2x8x6x16xf32>)
                   outs(%o : tensor<2x8x6x16xf32>) -> tensor<2x8x6x16xf32>
  // CHECK: scf.for
  // CHECK-NOT: na.attention ins
  // CHECK: linalg.abs
  %m = linalg.abs ins(%a : tensor<2x8x6x16xf32>)
                  outs(%o : tensor<2x8x6x16xf32>) -> tensor<2x8x6x16xf32>
  return %n, %m : tensor<2x8x6x16xf32>, tensor<2x8x6x16xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %neg = transform.structured.match ops{["linalg.negf"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loops = transform.structured.fuse %neg tile_sizes [0, 0, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %abs = transform.structured.match ops{["linalg.abs"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled1, %loops1 = transform.structured.fuse %abs tile_sizes [0, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Dynamic sizes: the consumer's whole axis is proven to be the attention's.

// CHECK-LABEL: func @dynamic_tokens
func.func @dynamic_tokens(%q: tensor<?x?x4x16xf32>, %o: tensor<?x?x4x16xf32>)
    -> tensor<?x?x4x16xf32> {
  // CHECK: scf.for
  // CHECK: na.attention
  // CHECK-SAME: tensor<1x?x4x16xf32>
  // CHECK: linalg.negf
  %a = na.attention
      ins(%q, %q, %q : tensor<?x?x4x16xf32>, tensor<?x?x4x16xf32>,
                       tensor<?x?x4x16xf32>)
      outs(%o : tensor<?x?x4x16xf32>) window(<size = [3]>)
      -> tensor<?x?x4x16xf32>
  %n = linalg.negf ins(%a : tensor<?x?x4x16xf32>)
                   outs(%o : tensor<?x?x4x16xf32>) -> tensor<?x?x4x16xf32>
  return %n : tensor<?x?x4x16xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %neg = transform.structured.match ops{["linalg.negf"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loops = transform.structured.fuse %neg tile_sizes [1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
