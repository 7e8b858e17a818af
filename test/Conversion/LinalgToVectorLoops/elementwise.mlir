// RUN: na-opt %s -linalg-to-vector-loops="vector-bits=256 registers=16" -canonicalize -cse | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#column = affine_map<(d0, d1) -> (d0)>
#second = affine_map<(d0, d1) -> (1, d1)>

// CHECK-LABEL: func @fill
// CHECK-SAME:    %[[X:.*]]: f32, %[[M:.*]]: memref<2x8xf32>
// CHECK:         %[[V:.*]] = vector.broadcast %[[X]]
// CHECK-DAG:     vector.store %[[V]], %[[M]][%c0, %c0]
// CHECK-DAG:     vector.store %[[V]], %[[M]][%c1, %c0]
func.func @fill(%x: f32, %m: memref<2x8xf32>) {
  linalg.fill ins(%x : f32) outs(%m : memref<2x8xf32>)
  return
}

// A reduction over rows carries one vector; its other output, which depends on
// the reduction, is read and written on the way.
// CHECK-LABEL: func @two_outputs
// CHECK-SAME:    %[[S:[a-z0-9_]+]]: memref<8xf32>, %[[P:[a-z0-9_]+]]: memref<5x8xf32>, %[[SUM:[a-z0-9_]+]]: memref<8xf32>
// CHECK:         %[[START:.*]] = vector.load %[[SUM]][%c0]
// CHECK:         %[[R:.*]] = scf.for %[[K:.*]] = %c0 to %c5 step %c1 iter_args(%[[ACC:.*]] = %[[START]])
// CHECK-DAG:       %[[SHIFT:.*]] = vector.load %[[S]][%c0]
// CHECK-DAG:       %[[OLD:.*]] = vector.load %[[P]][%[[K]], %c0]
// CHECK:           %[[W:.*]] = arith.subf %[[OLD]], %[[SHIFT]]
// CHECK:           %[[NEXT:.*]] = arith.addf %[[ACC]], %[[W]]
// CHECK:           vector.store %[[W]], %[[P]][%[[K]], %c0]
// CHECK:           scf.yield %[[NEXT]]
// CHECK:         vector.store %[[R]], %[[SUM]][%c0]
func.func @two_outputs(%s: memref<8xf32>, %p: memref<5x8xf32>, %sum: memref<8xf32>) {
  linalg.generic {indexing_maps = [#row, #id, #row],
                  iterator_types = ["reduction", "parallel"]}
    ins(%s : memref<8xf32>) outs(%p, %sum : memref<5x8xf32>, memref<8xf32>) {
  ^bb0(%shift: f32, %old: f32, %acc: f32):
    %w = arith.subf %old, %shift : f32
    %next = arith.addf %acc, %w : f32
    linalg.yield %w, %next : f32, f32
  }
  return
}

// A map may fix an index; an index along the lanes is a vector, another one a
// scalar.
// CHECK-LABEL: func @indices
// CHECK-SAME:    %[[A:[a-z0-9_]+]]: memref<3x8xi64>, %[[B:[a-z0-9_]+]]: memref<2xi64>
// CHECK-DAG:     vector.load %[[A]][%c1, %c0]
// CHECK-DAG:     vector.step : vector<4xindex>
// CHECK-DAG:     memref.load %[[B]][%c0]
// CHECK-DAG:     memref.load %[[B]][%c1]
func.func @indices(%a: memref<3x8xi64>, %b: memref<2xi64>, %o: memref<2x8xi64>) {
  linalg.generic {indexing_maps = [#second, #column, #id],
                  iterator_types = ["parallel", "parallel"]}
    ins(%a, %b : memref<3x8xi64>, memref<2xi64>) outs(%o : memref<2x8xi64>) {
  ^bb0(%x: i64, %y: i64, %z: i64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.addi %i, %j : index
    %l = arith.index_cast %k : index to i64
    %m = arith.addi %x, %y : i64
    %n = arith.addi %l, %m : i64
    linalg.yield %n : i64
  }
  return
}

// Strides and offsets outside of the lanes are no obstacle, nor are scalars of
// any layout.
// CHECK-LABEL: func @strided
// CHECK:         vector.load {{.*}} : memref<2x8xf32, strided<[?, 1], offset: ?>>, vector<8xf32>
// CHECK:         memref.load {{.*}} : memref<2xf32, strided<[7], offset: 3>>
func.func @strided(%a: memref<2x8xf32, strided<[?, 1], offset: ?>>,
                   %b: memref<2xf32, strided<[7], offset: 3>>, %o: memref<2x8xf32>) {
  linalg.generic {indexing_maps = [#id, #column, #id],
                  iterator_types = ["parallel", "parallel"]}
    ins(%a, %b : memref<2x8xf32, strided<[?, 1], offset: ?>>,
                 memref<2xf32, strided<[7], offset: 3>>)
    outs(%o : memref<2x8xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.divf %x, %y : f32
    linalg.yield %s : f32
  }
  return
}

// A value from outside is as good as an operand; a flag per row is a scalar.
// CHECK-LABEL: func @captured
// CHECK-SAME:    %[[W:[a-z0-9_]+]]: f32
// CHECK:         vector.broadcast %[[W]]
// CHECK:         memref.load %{{.*}} : memref<2xi1>
// CHECK:         arith.select {{.*}} vector<8xf32>
func.func @captured(%w: f32, %c: memref<2xi1>, %o: memref<2x8xf32>) {
  linalg.generic {indexing_maps = [#column, #id],
                  iterator_types = ["parallel", "parallel"]}
    ins(%c : memref<2xi1>) outs(%o : memref<2x8xf32>) {
  ^bb0(%flag: i1, %z: f32):
    %n = arith.select %flag, %w, %z : f32
    linalg.yield %n : f32
  }
  return
}

// Operations in regions are found; a nested one counts for itself.
// CHECK-LABEL: func @nested
// CHECK-NOT:     linalg
// CHECK:         return
func.func @nested(%x: f32, %m: memref<2x8xf32>, %c: i1) {
  scf.forall (%i) in (4) {
    scf.if %c {
      linalg.fill ins(%x : f32) outs(%m : memref<2x8xf32>)
    }
  }
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  linalg.fill ins(%x : f32) outs(%m : memref<2x8xf32>)
  cf.br ^bb2
^bb2:
  return
}
