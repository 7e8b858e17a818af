// RUN: na-opt %s -linalg-to-thread-loops | FileCheck %s

// Tensors, and outputs that a reduction indexes.

// CHECK-NOT:   scf
// CHECK-LABEL: func @tensors
// CHECK:         linalg.fill
func.func @tensors(%x: f32, %t: tensor<5xf32>) -> tensor<5xf32> {
  %r = linalg.fill ins(%x : f32) outs(%t : tensor<5xf32>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func @scattered
// CHECK:         linalg.generic
func.func @scattered(%x: memref<5xf32>, %y: memref<5xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>,
                                   affine_map<(i) -> (i)>],
                  iterator_types = ["reduction"]}
      ins(%x : memref<5xf32>) outs(%y : memref<5xf32>) {
    ^bb0(%a: f32, %out: f32):
      linalg.yield %a : f32
  }
  return
}
