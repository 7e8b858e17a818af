// RUN: na-opt %s -na-hoist-tile-buffers | FileCheck %s

// Temporaries of loops and branches, in the order in which they were.
// CHECK-LABEL: func @loops
// CHECK:         scf.forall
// CHECK-NEXT:      %[[A:.*]] = memref.alloc() : memref<4xf32>
// CHECK-NEXT:      %[[B:.*]] = memref.alloc() {alignment = 64 : i64} : memref<5xf32>
// CHECK-NEXT:      %[[C:.*]] = memref.alloc() : memref<6xf32>
// CHECK:           scf.for
// CHECK-NOT:         memref.alloc
// CHECK:             memref.store %{{.*}}, %[[A]]
// CHECK:             scf.if
// CHECK:               memref.store %{{.*}}, %[[B]]
// CHECK:             memref.subview %[[C]]
func.func @loops(%n: index, %c: i1, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%i) in (8) {
    scf.for %j = %c0 to %n step %c1 {
      %a = memref.alloc() : memref<4xf32>
      memref.store %x, %a[%c0] : memref<4xf32>
      scf.if %c {
        %b = memref.alloc() {alignment = 64 : i64} : memref<5xf32>
        memref.store %x, %b[%c0] : memref<5xf32>
      }
      %d = memref.alloc() : memref<6xf32>
      %v = memref.subview %d[1] [3] [1] : memref<6xf32> to memref<3xf32, strided<[1], offset: 1>>
      memref.store %x, %v[%c0] : memref<3xf32, strided<[1], offset: 1>>
    }
  }
  return
}

// Inside a parallel loop in a parallel loop, the inner one is as far as it goes.
// CHECK-LABEL: func @nested
// CHECK:         scf.parallel
// CHECK-NEXT:      scf.parallel
// CHECK-NEXT:        memref.alloc
// CHECK-NEXT:        scf.for
func.func @nested(%n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.parallel (%k) = (%c0) to (%n) step (%c1) {
      scf.for %j = %c0 to %n step %c1 {
        %a = memref.alloc() : memref<4xf32>
        memref.store %x, %a[%c0] : memref<4xf32>
      }
    }
  }
  return
}

// Whatever is not a temporary of static size stays.
// CHECK-LABEL: func @no_op
// CHECK:         scf.for
// CHECK-NEXT:      memref.alloc() : memref<1xf32>
// CHECK:         scf.forall
// CHECK-NEXT:      scf.for
// CHECK:             memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK:             memref.alloc() : memref<2xf32>
// CHECK:             memref.dealloc
// CHECK:             memref.alloc() : memref<3xf32>
// CHECK:             memref.cast
// CHECK:             memref.dealloc
// CHECK:             scf.if
// CHECK:               memref.alloc() : memref<4xf32>
// CHECK:             memref.alloc() : memref<5xf32>
// CHECK:             memref.store %{{.*}} : memref<1xmemref<5xf32>>
// CHECK:             scf.while
// CHECK:               memref.alloc() : memref<6xf32>
// CHECK:           scf.for {{.*}} iter_args
// CHECK:             memref.alloc() : memref<7xf32>
// CHECK:             memref.alloc() : memref<8xf32>
// CHECK:             arith.select
func.func @no_op(%n: index, %x: f32, %c: i1, %table: memref<1xmemref<5xf32>>,
                 %seven: memref<7xf32>, %eight: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // In no parallel loop.
  scf.for %j = %c0 to %n step %c1 {
    %1 = memref.alloc() : memref<1xf32>
    memref.store %x, %1[%c0] : memref<1xf32>
  }
  scf.forall (%i) in (8) {
    scf.for %j = %c0 to %n step %c1 {
      // Its size may change.
      %d = memref.alloc(%j) : memref<?xf32>
      memref.store %x, %d[%c0] : memref<?xf32>
      // Freed here, by name and by another.
      %2 = memref.alloc() : memref<2xf32>
      memref.dealloc %2 : memref<2xf32>
      %3 = memref.alloc() : memref<3xf32>
      %cast = memref.cast %3 : memref<3xf32> to memref<?xf32>
      memref.dealloc %cast : memref<?xf32>
      // It leaves its block, as a value or through memory.
      %r = scf.if %c -> memref<4xf32> {
        %4 = memref.alloc() : memref<4xf32>
        scf.yield %4 : memref<4xf32>
      } else {
        %other = memref.alloc() : memref<4xf32>
        scf.yield %other : memref<4xf32>
      }
      memref.store %x, %r[%c0] : memref<4xf32>
      %5 = memref.alloc() : memref<5xf32>
      memref.store %5, %table[%c0] : memref<1xmemref<5xf32>>
      // In a loop that is not known to be one.
      scf.while : () -> () {
        scf.condition(%c)
      } do {
        %6 = memref.alloc() : memref<6xf32>
        memref.store %x, %6[%c0] : memref<6xf32>
        scf.yield
      }
    }
    // The loop may carry it.
    %last = scf.for %j = %c0 to %n step %c1 iter_args(%before = %seven) -> memref<7xf32> {
      %7 = memref.alloc() : memref<7xf32>
      %8 = memref.alloc() : memref<8xf32>
      %any = arith.select %c, %8, %eight : memref<8xf32>
      memref.store %x, %any[%c0] : memref<8xf32>
      scf.yield %7 : memref<7xf32>
    }
    memref.store %x, %last[%c0] : memref<7xf32>
  }
  return
}
