// RUN: na-opt %s -gpu-map-rows | FileCheck %s

// CHECK-NOT:   gpu.launch

// The second operand of a product would be read in strides.
// CHECK-LABEL: func @matmul
// CHECK:         linalg.matmul
func.func @matmul(%a: memref<5x7xf32>, %b: memref<7x3xf32>, %c: memref<5x3xf32>) {
  linalg.matmul ins(%a, %b : memref<5x7xf32>, memref<7x3xf32>)
      outs(%c : memref<5x3xf32>)
  return
}

// Not along the last dimension.
// CHECK-LABEL: func @columns
// CHECK:         linalg.reduce
func.func @columns(%x: memref<5x7xf32>, %y: memref<7xf32>) {
  linalg.reduce { arith.addf } ins(%x : memref<5x7xf32>)
      outs(%y : memref<7xf32>) dimensions = [0]
  return
}

// Nothing but the order of the elements combines them.
// CHECK-LABEL: func @difference
// CHECK:         linalg.reduce
func.func @difference(%x: memref<5x7xf32>, %y: memref<5xf32>) {
  linalg.reduce { arith.subf } ins(%x : memref<5x7xf32>)
      outs(%y : memref<5xf32>) dimensions = [1]
  return
}

// No reduction.
// CHECK-LABEL: func @elementwise
// CHECK:         linalg.exp
func.func @elementwise(%x: memref<5x7xf32>) {
  linalg.exp ins(%x : memref<5x7xf32>) outs(%x : memref<5x7xf32>)
  return
}

// Empty rows, and tensors.
// CHECK-LABEL: func @empty
// CHECK:         linalg.reduce
func.func @empty(%x: memref<5x0xf32>, %y: memref<5xf32>) {
  linalg.reduce { arith.addf } ins(%x : memref<5x0xf32>)
      outs(%y : memref<5xf32>) dimensions = [1]
  return
}

// CHECK-LABEL: func @tensors
// CHECK:         linalg.reduce
func.func @tensors(%x: tensor<5x7xf32>, %y: tensor<5xf32>) -> tensor<5xf32> {
  %r = linalg.reduce { arith.addf } ins(%x : tensor<5x7xf32>)
      outs(%y : tensor<5xf32>) dimensions = [1]
  return %r : tensor<5xf32>
}

// A parallel loop is for threads, not for the host.
// CHECK-LABEL: func @inside
// CHECK:         linalg.reduce
func.func @inside(%x: memref<4x5x7xf32>, %y: memref<5xf32>) {
  scf.forall (%i) in (4) {
    %v = memref.subview %x[%i, 0, 0] [1, 5, 7] [1, 1, 1]
        : memref<4x5x7xf32> to memref<5x7xf32, strided<[7, 1], offset: ?>>
    linalg.reduce { arith.addf }
        ins(%v : memref<5x7xf32, strided<[7, 1], offset: ?>>)
        outs(%y : memref<5xf32>) dimensions = [1]
  }
  return
}
