// RUN: na-opt %s -gpu-map-parallel -verify-diagnostics
// RUN: not na-opt %s -gpu-map-parallel=block-size=100 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not na-opt %s -gpu-map-parallel=block-size=2048 2>&1 | FileCheck %s --check-prefix=LARGE

// SIZE: gpu-map-parallel: block-size = 100, expected a multiple of 32 from 32 to 1024
// LARGE: gpu-map-parallel: block-size = 2048, expected a multiple of 32 from 32 to 1024

func.func @buffer(%m: memref<9xf32>, %x: f32, %n: index) {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (9) {
    // expected-error @+1 {{gpu-map-parallel: allocates 'memref<?xf32>' in a parallel loop; a GPU thread has no buffers of dynamic size}}
    %local = memref.alloc(%n) : memref<?xf32>
    memref.store %x, %local[%c0] : memref<?xf32>
  }
  return
}
