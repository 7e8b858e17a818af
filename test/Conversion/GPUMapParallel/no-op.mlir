// RUN: na-opt %s -gpu-map-parallel | FileCheck %s

// Sequential loops, loops with results, tiles and kernels stay.

// CHECK-NOT:   gpu.launch
// CHECK-LABEL: func @sequential
// CHECK:         scf.for
func.func @sequential(%m: memref<8xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
    %x = memref.load %m[%i] : memref<8xf32>
    %t = arith.addf %s, %x : f32
    scf.yield %t : f32
  }
  return %r : f32
}

// CHECK-LABEL: func @reduction
// CHECK:         scf.parallel {{.*}} init
func.func @reduction(%m: memref<8xf32>, %x: f32, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%x) -> f32 {
    %y = memref.load %m[%i] : memref<8xf32>
    scf.reduce(%y : f32) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      scf.reduce.return %s : f32
    }
  }
  return %r : f32
}

// CHECK-LABEL: func @tiles
// CHECK:         scf.forall
// CHECK:           na.tile.load
// CHECK:           scf.parallel
func.func @tiles(%q: memref<1x9x2x16xf32>, %tile: memref<6x16xf32>,
                 %m: memref<8xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.forall (%i) in (3) {
    na.tile.load %q[%c0, %c0] at(%i) box [6] dilation [1] into %tile
        : memref<1x9x2x16xf32>, memref<6x16xf32>
    scf.parallel (%j) = (%c0) to (%c8) step (%c1) {
      memref.store %x, %m[%j] : memref<8xf32>
      scf.reduce
    }
  }
  return
}

// CHECK:       gpu.func @kernel
// CHECK:         scf.parallel
gpu.module @kernels {
  gpu.func @kernel(%m: memref<8xf32>, %x: f32, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.parallel (%j) = (%c0) to (%n) step (%c1) {
      memref.store %x, %m[%j] : memref<8xf32>
      scf.reduce
    }
    gpu.return
  }
}
