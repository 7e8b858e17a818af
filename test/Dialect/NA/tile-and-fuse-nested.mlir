// RUN: na-opt %s -na-tile-and-fuse | FileCheck %s

// Operations are found in any region, and each has its own grid.

#s = #na.schedule<target = "cpu", query_tile = [4], key_tile = [3]>

// CHECK-LABEL: func @nested
// CHECK-NOT:     na.attention
// CHECK:         scf.if
// CHECK:           scf.forall
// CHECK:             na.tile.store
// CHECK:         } else {
// CHECK:           scf.for
// CHECK:             scf.forall
// CHECK:               na.tile.store
// CHECK:         scf.forall
// CHECK:           scf.forall
// CHECK:             na.tile.store
// CHECK:         cf.cond_br
// CHECK:       ^bb1:
// CHECK:         scf.forall
// CHECK:           na.tile.store
// CHECK:       ^bb2:
// CHECK-NOT:     na.attention
// CHECK:         return
func.func @nested(%q: memref<1x9x1x8xf32>, %o: memref<1x9x1x8xf32>, %c: i1,
                  %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.if %c {
    na.attention
      ins(%q, %q, %q : memref<1x9x1x8xf32>, memref<1x9x1x8xf32>, memref<1x9x1x8xf32>)
      outs(%o : memref<1x9x1x8xf32>) window(<size = [3]>) {schedule = #s}
  } else {
    scf.for %i = %c0 to %n step %c1 {
      na.attention
        ins(%q, %q, %q : memref<1x9x1x8xf32>, memref<1x9x1x8xf32>, memref<1x9x1x8xf32>)
        outs(%o : memref<1x9x1x8xf32>) window(<size = [3]>) {schedule = #s}
    }
  }
  scf.forall (%i) in (4) {
    na.attention
      ins(%q, %q, %q : memref<1x9x1x8xf32>, memref<1x9x1x8xf32>, memref<1x9x1x8xf32>)
      outs(%o : memref<1x9x1x8xf32>) window(<size = [3]>) {schedule = #s}
  }
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  na.attention
    ins(%q, %q, %q : memref<1x9x1x8xf32>, memref<1x9x1x8xf32>, memref<1x9x1x8xf32>)
    outs(%o : memref<1x9x1x8xf32>) window(<size = [3]>) {schedule = #s}
  cf.br ^bb2
^bb2:
  return
}

// CHECK-LABEL: module @inner
// CHECK:         func.func @in_module
// CHECK:           scf.forall
// CHECK-NOT:       na.attention
// CHECK:           return
module @inner {
  func.func @in_module(%q: memref<1x9x1x8xf32>, %o: memref<1x9x1x8xf32>) {
    na.attention
      ins(%q, %q, %q : memref<1x9x1x8xf32>, memref<1x9x1x8xf32>, memref<1x9x1x8xf32>)
      outs(%o : memref<1x9x1x8xf32>) window(<size = [3]>) {schedule = #s}
    return
  }
}

// A declaration has no body to look at.
// CHECK: func private @declared(memref<1x9x1x8xf32>)
func.func private @declared(memref<1x9x1x8xf32>)
