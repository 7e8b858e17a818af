// RUN: na-opt %s -parallel-to-runtime -verify-diagnostics | FileCheck %s

// Without a parallel loop the run time is not even declared. Loops with
// results stay, and so do loops that use what no structure can hold.

// CHECK-NOT:   llvm
// CHECK-LABEL: func @sequential
// CHECK:         scf.for
func.func @sequential(%m: memref<8xf32>, %x: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    memref.store %x, %m[%i] : memref<8xf32>
  }
  return
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

// CHECK-LABEL: func @shared
// CHECK:         scf.forall {{.*}} shared_outs
func.func @shared(%t: tensor<8xf32>, %u: tensor<1xf32>) -> tensor<8xf32> {
  %r = scf.forall (%i) in (8) shared_outs(%o = %t) -> tensor<8xf32> {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %u into %o[%i] [1] [1] : tensor<1xf32> into tensor<8xf32>
    }
  }
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func @tensors
// CHECK:         scf.forall
func.func @tensors(%t: tensor<8xf32>, %m: memref<8xf32>) {
  // expected-remark @+1 {{parallel-to-runtime: uses a value of type 'tensor<8xf32>' from outside: stays sequential}}
  scf.forall (%i) in (8) {
    %x = tensor.extract %t[%i] : tensor<8xf32>
    memref.store %x, %m[%i] : memref<8xf32>
  }
  return
}

// CHECK:       func private @declared
// CHECK-NOT:   llvm
func.func private @declared(memref<8xf32>)
