// RUN: na-opt %s -linalg-to-vector-loops="vector-bits=512 registers=32" -canonicalize -cse | FileCheck %s

// Over the outer dimensions where they are enough of them.
// CHECK-LABEL: func @batches
// CHECK:         scf.parallel (%[[B:.*]]) = (%c0) to (%c16) step (%c1)
// CHECK:           vector.load %{{.*}}[%[[B]],
// CHECK-NOT:     scf.parallel
// CHECK:         return
func.func @batches(%a: memref<16x32x32xf32>, %b: memref<16x32x64xf32>,
                   %c: memref<16x32x64xf32>) {
  linalg.batch_matmul ins(%a, %b : memref<16x32x32xf32>, memref<16x32x64xf32>)
                      outs(%c : memref<16x32x64xf32>)
  return
}

// Over panels of rows otherwise; the rows that fill no block come after: 99 are
// 16 blocks of 6 in panels of two blocks, and 3.
// CHECK-LABEL: func @panels
// CHECK:         scf.parallel (%[[P:.*]]) = (%c0) to (%c96) step (%c12)
// CHECK:           %[[NEXT:.*]] = arith.addi %[[P]], %c12
// CHECK:           %[[END:.*]] = arith.minsi %[[NEXT]], %c96
// CHECK:           scf.for %{{.*}} = %c0 to %c128 step %c64
// CHECK:             scf.for %[[R:.*]] = %[[P]] to %[[END]] step %c6
// CHECK:               scf.for {{.*}} iter_args
// CHECK-COUNT-24:        math.fma
// CHECK-NOT:     scf.parallel
// CHECK:         scf.for %{{.*}} = %c0 to %c128 step %c64
// CHECK:           scf.for {{.*}} iter_args
// CHECK-COUNT-12:    math.fma
// CHECK-NOT:         math.fma
// CHECK:         return
func.func @panels(%a: memref<99x64xf32>, %b: memref<64x128xf32>,
                  %c: memref<99x128xf32>) {
  linalg.matmul ins(%a, %b : memref<99x64xf32>, memref<64x128xf32>)
                outs(%c : memref<99x128xf32>)
  return
}

// Neither for little work nor in a parallel loop.
// CHECK-LABEL: func @sequential
// CHECK-NOT:     scf.parallel
// CHECK:         scf.forall
// CHECK-NOT:     scf.parallel
// CHECK:         return
func.func @sequential(%x: f32, %small: memref<16x8xf32>, %large: memref<99x512xf32>) {
  linalg.fill ins(%x : f32) outs(%small : memref<16x8xf32>)
  scf.forall (%i) in (8) {
    linalg.fill ins(%x : f32) outs(%large : memref<99x512xf32>)
  }
  return
}
