// RUN: na-opt %s --resolve-ranked-shaped-type-result-dims --canonicalize --cse | FileCheck %s

// Sizes of results come from the operands: the operations are not needed to
// know them.

// CHECK-LABEL: func @attention
// CHECK-SAME: %[[Q:[^:]+]]: tensor<?x?x?x?x16xf32>, %[[K:[^:]+]]: tensor<?x?x?x?x16xf32>, %[[V:[^:]+]]: tensor<?x?x?x?x?xf32>
// CHECK-DAG: %[[B:.+]] = tensor.dim %[[Q]], %c0
// CHECK-DAG: %[[X:.+]] = tensor.dim %[[Q]], %c1
// CHECK-DAG: %[[Y:.+]] = tensor.dim %[[Q]], %c2
// CHECK-DAG: %[[H:.+]] = tensor.dim %[[Q]], %c3
// CHECK-DAG: %[[D:.+]] = tensor.dim %[[V]], %c4
// CHECK-NOT: na.attention
// CHECK: return %[[B]], %[[X]], %[[Y]], %[[H]], %[[D]], %[[H]]
func.func @attention(%q: tensor<?x?x?x?x16xf32>, %k: tensor<?x?x?x?x16xf32>,
                     %v: tensor<?x?x?x?x?xf32>, %o: tensor<?x?x?x?x?xf32>,
                     %l: tensor<?x?x?x?xf32>)
    -> (index, index, index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %0:2 = na.attention
      ins(%q, %k, %v : tensor<?x?x?x?x16xf32>, tensor<?x?x?x?x16xf32>,
                       tensor<?x?x?x?x?xf32>)
      outs(%o, %l : tensor<?x?x?x?x?xf32>, tensor<?x?x?x?xf32>)
      window(<size = [3, 3]>) -> tensor<?x?x?x?x?xf32>, tensor<?x?x?x?xf32>
  %b = tensor.dim %0#0, %c0 : tensor<?x?x?x?x?xf32>
  %x = tensor.dim %0#0, %c1 : tensor<?x?x?x?x?xf32>
  %y = tensor.dim %0#0, %c2 : tensor<?x?x?x?x?xf32>
  %h = tensor.dim %0#0, %c3 : tensor<?x?x?x?x?xf32>
  %d = tensor.dim %0#0, %c4 : tensor<?x?x?x?x?xf32>
  %lh = tensor.dim %0#1, %c3 : tensor<?x?x?x?xf32>
  return %b, %x, %y, %h, %d, %lh : index, index, index, index, index, index
}

// A size that an operand states is a constant.

// CHECK-LABEL: func @static_sizes
// CHECK-DAG: %[[X:.+]] = arith.constant 8 : index
// CHECK-DAG: %[[S:.+]] = arith.constant 12 : index
// CHECK: return %[[X]], %[[S]]
func.func @static_sizes(%q: tensor<2x8x8x4x16xf32>, %s: tensor<?x?x?x?x?xf32>)
    -> (index, index) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %0 = na.qk ins(%q, %q : tensor<2x8x8x4x16xf32>, tensor<2x8x8x4x16xf32>)
      outs(%s : tensor<?x?x?x?x?xf32>) window(<size = [3, 4]>)
      -> tensor<?x?x?x?x?xf32>
  %x = tensor.dim %0, %c1 : tensor<?x?x?x?x?xf32>
  %slots = tensor.dim %0, %c4 : tensor<?x?x?x?x?xf32>
  return %x, %slots : index, index
}

// CHECK-LABEL: func @av
// CHECK-SAME: %[[W:[^:]+]]: tensor<?x?x?x3xf32>, %[[V:[^:]+]]: tensor<?x?x?x?xf32>
// CHECK-DAG: %[[H:.+]] = tensor.dim %[[W]], %c2
// CHECK-DAG: %[[D:.+]] = tensor.dim %[[V]], %c3
// CHECK-NOT: na.av
// CHECK: return %[[H]], %[[D]]
func.func @av(%w: tensor<?x?x?x3xf32>, %v: tensor<?x?x?x?xf32>)
    -> (index, index) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %0 = na.av ins(%w, %v : tensor<?x?x?x3xf32>, tensor<?x?x?x?xf32>)
      outs(%v : tensor<?x?x?x?xf32>) window(<size = [3]>)
      -> tensor<?x?x?x?xf32>
  %h = tensor.dim %0, %c2 : tensor<?x?x?x?xf32>
  %d = tensor.dim %0, %c3 : tensor<?x?x?x?xf32>
  return %h, %d : index, index
}

// CHECK-LABEL: func @merge
// CHECK-SAME: %[[P:[^:]+]]: tensor<?x?xf32>
// CHECK-DAG: %[[R:.+]] = tensor.dim %[[P]], %c0
// CHECK-DAG: %[[D:.+]] = tensor.dim %[[P]], %c1
// CHECK-NOT: na.merge
// CHECK: return %[[R]], %[[D]], %[[R]]
func.func @merge(%p: tensor<?x?xf32>, %l: tensor<?xf32>, %o: tensor<?x?xf32>)
    -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0:2 = na.merge ins(%p : tensor<?x?xf32>) lses(%l : tensor<?xf32>)
      outs(%o, %l : tensor<?x?xf32>, tensor<?xf32>)
      -> tensor<?x?xf32>, tensor<?xf32>
  %r = tensor.dim %0#0, %c0 : tensor<?x?xf32>
  %d = tensor.dim %0#0, %c1 : tensor<?x?xf32>
  %lr = tensor.dim %0#1, %c0 : tensor<?xf32>
  return %r, %d, %lr : index, index, index
}
