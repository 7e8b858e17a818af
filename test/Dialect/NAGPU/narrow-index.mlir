// RUN: na-opt %s -split-input-file -nagpu-narrow-index -canonicalize -cse | FileCheck %s

// Loops and arithmetic in a kernel are in i32; what is indexed stays index.
// CHECK-LABEL: func @kernel
// CHECK-SAME:    %[[N:[a-z0-9_]+]]: index
// CHECK:         gpu.launch blocks(%[[ID:[a-z0-9_]+]],
// CHECK:           %[[ID32:.*]] = arith.index_cast %[[ID]] : index to i32
// CHECK:           %[[T:.*]] = arith.remui %[[ID32]], %c7_i32 : i32
// CHECK:           %[[N32:.*]] = arith.index_cast %[[N]] : index to i32
// CHECK:           %[[FIRST:.*]] = arith.minsi %[[T]], %[[N32]] : i32
// CHECK:           scf.for %[[I:.*]] = %[[FIRST]] to %[[N32]] step %c2_i32 : i32 {
// CHECK:             %[[SUM:.*]] = arith.addi %[[I]], %[[T]] : i32
// CHECK:             %[[BELOW:.*]] = arith.cmpi ult, %[[SUM]], %c100_i32 : i32
// CHECK:             %[[AT32:.*]] = arith.select %[[BELOW]], %[[SUM]], %c0_i32 : i32
// CHECK:             %[[AT:.*]] = arith.index_cast %[[AT32]] : i32 to index
// CHECK:             memref.store %{{.*}}, %{{.*}}[%[[AT]]]
func.func @kernel(%n: index, %m: memref<?xf32>, %x: f32) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c7 = arith.constant 7 : index
    %c100 = arith.constant 100 : index
    %t = arith.remui %bx, %c7 : index
    %first = arith.minsi %t, %n : index
    scf.for %i = %first to %n step %c2 {
      %sum = arith.addi %i, %t : index
      %below = arith.cmpi ult, %sum, %c100 : index
      %at = arith.select %below, %sum, %c0 : index
      memref.store %x, %m[%at] : memref<?xf32>
    }
    gpu.terminator
  }
  return
}

// -----

// Carried positions stay index at the borders of the loop.
// CHECK-LABEL: func @carried
// CHECK:         scf.for {{.*}} iter_args(%[[C:.*]] = %{{.*}}) -> (index) : i32 {
// CHECK:           %[[C32:.*]] = arith.index_cast %[[C]] : index to i32
// CHECK:           %[[NEXT32:.*]] = arith.addi %[[C32]], %{{.*}} : i32
// CHECK:           %[[NEXT:.*]] = arith.index_cast %[[NEXT32]] : i32 to index
// CHECK:           scf.yield %[[NEXT]] : index
func.func @carried(%n: index, %m: memref<?xf32>, %x: f32) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %r = scf.for %i = %bx to %n step %c1 iter_args(%c = %bx) -> (index) {
      %next = arith.addi %c, %i : index
      scf.yield %next : index
    }
    memref.store %x, %m[%r] : memref<?xf32>
    gpu.terminator
  }
  return
}

// -----

// Numbers that 32 bits cannot hold, and upper halves of products, keep the
// width of index.
// CHECK-LABEL: func @wide
// CHECK:         gpu.launch
// CHECK:           arith.minsi %{{.*}}, %c4294967296 : index
// CHECK:           arith.mului_extended %{{.*}}, %{{.*}} : index
// CHECK:           scf.for %{{.*}} = %c0{{.*}} to %c4294967296 step %{{.*}} {
func.func @wide(%n: index, %m: memref<?xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %large = arith.constant 4294967296 : index
    %at = arith.minsi %n, %large : index
    memref.store %x, %m[%at] : memref<?xf32>
    %low, %high = arith.mului_extended %n, %n : index
    memref.store %x, %m[%high] : memref<?xf32>
    scf.for %i = %c0 to %large step %n {
      memref.store %x, %m[%i] : memref<?xf32>
    }
    gpu.terminator
  }
  return
}

// -----

// No-op: the host has 64 bits.
// CHECK-LABEL: func @host
// CHECK:         scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:           arith.addi %{{.*}}, %{{.*}} : index
func.func @host(%n: index, %m: memref<?xf32>, %x: f32) {
  %c1 = arith.constant 1 : index
  scf.for %i = %c1 to %n step %c1 {
    %at = arith.addi %i, %n : index
    memref.store %x, %m[%at] : memref<?xf32>
  }
  return
}
