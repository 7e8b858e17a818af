// RUN: na-opt %s -gpu-map-rows | FileCheck %s

// What cannot join a group ends it.

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// Rows of another number.
// CHECK-LABEL:   func @sizes
// CHECK-COUNT-2:   gpu.launch
func.func @sizes(%x: memref<5x7xf32>, %y: memref<5xf32>, %z: memref<6x7xf32>,
                 %w: memref<6xf32>) {
  linalg.reduce { arith.addf } ins(%x : memref<5x7xf32>)
      outs(%y : memref<5xf32>) dimensions = [1]
  linalg.reduce { arith.addf } ins(%z : memref<6x7xf32>)
      outs(%w : memref<6xf32>) dimensions = [1]
  return
}

// A row that is read depends on another row of the group.
// CHECK-LABEL: func @transposed
// CHECK:         gpu.launch
// CHECK:         linalg.generic
func.func @transposed(%x: memref<7x7xf32>, %y: memref<7xf32>, %z: memref<7x7xf32>) {
  linalg.reduce { arith.addf } ins(%x : memref<7x7xf32>)
      outs(%y : memref<7xf32>) dimensions = [1]
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, #all],
                  iterator_types = ["parallel", "parallel"]}
      ins(%y : memref<7xf32>) outs(%z : memref<7x7xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
  }
  return
}

// Two views of one buffer.
// CHECK-LABEL: func @views
// CHECK:         gpu.launch
// CHECK:         linalg.generic
func.func @views(%x: memref<10x7xf32>, %y: memref<5xf32>) {
  %a = memref.subview %x[0, 0] [5, 7] [1, 1]
      : memref<10x7xf32> to memref<5x7xf32, strided<[7, 1]>>
  %b = memref.subview %x[1, 0] [5, 7] [1, 1]
      : memref<10x7xf32> to memref<5x7xf32, strided<[7, 1], offset: 7>>
  linalg.reduce { arith.addf } ins(%a : memref<5x7xf32, strided<[7, 1]>>)
      outs(%y : memref<5xf32>) dimensions = [1]
  linalg.generic {indexing_maps = [#row, #all],
                  iterator_types = ["parallel", "parallel"]}
      ins(%y : memref<5xf32>)
      outs(%b : memref<5x7xf32, strided<[7, 1], offset: 7>>) {
    ^bb0(%s: f32, %e: f32):
      %0 = arith.divf %e, %s : f32
      linalg.yield %0 : f32
  }
  return
}

// An access to memory between them.
// CHECK-LABEL: func @between
// CHECK:         gpu.launch
// CHECK:         memref.copy
// CHECK:         linalg.generic
func.func @between(%x: memref<5x7xf32>, %y: memref<5xf32>, %z: memref<5xf32>) {
  linalg.reduce { arith.addf } ins(%x : memref<5x7xf32>)
      outs(%y : memref<5xf32>) dimensions = [1]
  memref.copy %z, %y : memref<5xf32> to memref<5xf32>
  linalg.generic {indexing_maps = [#row, #all],
                  iterator_types = ["parallel", "parallel"]}
      ins(%y : memref<5xf32>) outs(%x : memref<5x7xf32>) {
    ^bb0(%s: f32, %e: f32):
      %0 = arith.divf %e, %s : f32
      linalg.yield %0 : f32
  }
  return
}

// An operand by any map joins where the group does not write it.
// CHECK-LABEL:   func @gain
// CHECK-COUNT-1:   gpu.launch
// CHECK-NOT:       linalg
func.func @gain(%x: memref<5x7xf32>, %g: memref<7xf32>, %y: memref<5xf32>) {
  linalg.reduce { arith.addf } ins(%x : memref<5x7xf32>)
      outs(%y : memref<5xf32>) dimensions = [1]
  linalg.generic {indexing_maps = [#row, affine_map<(i, j) -> (j)>, #all],
                  iterator_types = ["parallel", "parallel"]}
      ins(%y, %g : memref<5xf32>, memref<7xf32>) outs(%x : memref<5x7xf32>) {
    ^bb0(%s: f32, %w: f32, %e: f32):
      %0 = arith.divf %e, %s : f32
      %1 = arith.mulf %0, %w : f32
      linalg.yield %1 : f32
  }
  return
}
