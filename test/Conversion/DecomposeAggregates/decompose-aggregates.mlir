// RUN: na-opt %s -linalg-decompose-aggregates | FileCheck %s

// Maximum, exponentials, sum, quotient.
// CHECK-LABEL: func @softmax
// CHECK-NOT:     linalg.softmax
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]
// CHECK:           arith.maxnumf
// CHECK:         linalg.generic
// CHECK:           math.exp
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]
// CHECK:           arith.addf
// CHECK:         %[[R:.*]] = linalg.generic
// CHECK:           arith.divf
// CHECK:         return %[[R]]
func.func @softmax(%x: tensor<4x8xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>)
       outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// Operations on memrefs, and those that are plain already.
// CHECK-LABEL: func @no_op
// CHECK-NEXT:    linalg.softmax
// CHECK-NEXT:    linalg.add
// CHECK-NEXT:    return
func.func @no_op(%x: memref<4x8xf32>, %o: memref<4x8xf32>) {
  linalg.softmax dimension(1) ins(%x : memref<4x8xf32>) outs(%o : memref<4x8xf32>)
  linalg.add ins(%x, %x : memref<4x8xf32>, memref<4x8xf32>) outs(%o : memref<4x8xf32>)
  return
}
