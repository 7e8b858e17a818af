// RUN: na-opt %s -linalg-to-thread-loops -cse | FileCheck %s

// Sums are carried, and stored once.
// CHECK-LABEL: func @matmul(
// CHECK-SAME:    %[[A:[a-z0-9]+]]: memref<5x7xf32>, %[[B:[a-z0-9]+]]: memref<7x3xf32>, %[[C:[a-z0-9]+]]: memref<5x3xf32>
// CHECK:         scf.parallel (%[[I:.*]], %[[J:.*]]) = (%c0, %c0) to (%c5, %c3) step (%c1, %c1) {
// CHECK:           %[[INIT:.*]] = memref.load %[[C]][%[[I]], %[[J]]]
// CHECK:           %[[SUM:.*]] = scf.for %[[K:.*]] = %c0 to %c7 step %c1 iter_args(%[[S:.*]] = %[[INIT]]) -> (f32) {
// CHECK:             %[[X:.*]] = memref.load %[[A]][%[[I]], %[[K]]]
// CHECK:             %[[Y:.*]] = memref.load %[[B]][%[[K]], %[[J]]]
// CHECK:             %[[XY:.*]] = arith.mulf %[[X]], %[[Y]] fastmath<contract> : f32
// CHECK:             %[[NEXT:.*]] = arith.addf %[[S]], %[[XY]] fastmath<contract> : f32
// CHECK:             scf.yield %[[NEXT]]
// CHECK:           memref.store %[[SUM]], %[[C]][%[[I]], %[[J]]]
func.func @matmul(%a: memref<5x7xf32>, %b: memref<7x3xf32>, %c: memref<5x3xf32>) {
  linalg.matmul ins(%a, %b : memref<5x7xf32>, memref<7x3xf32>)
      outs(%c : memref<5x3xf32>)
  return
}

// Reductions inside of parallel loops wherever they are, in their order;
// operands of any map; no load of an output that is not read.
// CHECK-LABEL: func @mixed(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x9xf32>
// CHECK:         %[[N:.*]] = memref.dim %[[X]], %c0
// CHECK:         scf.parallel (%[[J:.*]]) = (%c0) to (%c4) step (%c1) {
// CHECK:           scf.for %[[I:.*]] = %c0 to %[[N]]
// CHECK:             scf.for %[[K:.*]] = %c0 to %c3
// CHECK:               %[[AT:.*]] = affine.apply #{{.*}}(%[[I]], %[[J]], %[[K]])
// CHECK:               memref.load %[[X]][%[[I]], %[[AT]]]
// CHECK:               arith.index_cast %[[I]] : index to i32
func.func @mixed(%x: memref<?x9xf32>, %w: memref<3xf32>, %y: memref<4xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(i, j, k) -> (i, j * 2 + k)>,
                       affine_map<(i, j, k) -> (k)>,
                       affine_map<(i, j, k) -> (j)>],
      iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%x, %w : memref<?x9xf32>, memref<3xf32>) outs(%y : memref<4xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %i = linalg.index 0 : index
      %n = arith.index_cast %i : index to i32
      %f = arith.sitofp %n : i32 to f32
      %0 = arith.mulf %a, %f : f32
      %1 = arith.addf %0, %out : f32
      linalg.yield %1 : f32
  }
  return
}

// CHECK-LABEL: func @elementwise(
// CHECK:         scf.parallel
// CHECK-COUNT-1: memref.load
// CHECK-NOT:     memref.load
// CHECK:         memref.store
func.func @elementwise(%x: memref<5xf32>, %y: memref<5xf32>) {
  linalg.exp ins(%x : memref<5xf32>) outs(%y : memref<5xf32>)
  return
}

// CHECK-LABEL: func @fill(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: f32, %[[M:[a-z0-9]+]]: memref<f32>
// CHECK:         scf.parallel (%{{.*}}) = (%c0) to (%c1) step (%c1) {
// CHECK:           memref.store %[[X]], %[[M]][]
func.func @fill(%x: f32, %m: memref<f32>) {
  linalg.fill ins(%x : f32) outs(%m : memref<f32>)
  return
}

// CHECK-LABEL: func @copy(
// CHECK:         scf.parallel
// CHECK:           %[[X:.*]] = memref.load %{{.*}}[%[[I:.*]], %[[J:.*]]] : memref<2x3xf32>
// CHECK:           memref.store %[[X]], %{{.*}}[%[[I]], %[[J]]] : memref<2x3xf32, strided<[9, 3]>>
func.func @copy(%x: memref<2x3xf32>, %y: memref<2x3xf32, strided<[9, 3]>>) {
  memref.copy %x, %y : memref<2x3xf32> to memref<2x3xf32, strided<[9, 3]>>
  return
}

// A sum of f16 is carried in f32 and rounded once.
// CHECK-LABEL: func @narrow(
// CHECK:           %[[OLD:.*]] = memref.load %{{.*}} : memref<5xf16>
// CHECK:           %[[INIT:.*]] = arith.extf %[[OLD]] : f16 to f32
// CHECK:           %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[S:.*]] = %[[INIT]]) -> (f32) {
// CHECK:             %[[X:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK:             %[[XX:.*]] = arith.mulf %[[X]], %[[X]] fastmath<contract> : f32
// CHECK:             arith.addf %[[XX]], %[[S]] fastmath<contract> : f32
// CHECK:           %[[NEW:.*]] = arith.truncf %[[SUM]] : f32 to f16
// CHECK:           memref.store %[[NEW]]
func.func @narrow(%x: memref<5x7xf16>, %y: memref<5xf16>) {
  linalg.reduce ins(%x : memref<5x7xf16>) outs(%y : memref<5xf16>)
      dimensions = [1]
      (%a: f16, %s: f16) {
        %0 = arith.mulf %a, %a : f16
        %1 = arith.addf %0, %s : f16
        linalg.yield %1 : f16
      }
  return
}

// Many elements: an iteration computes four, a quarter of the innermost loop
// apart.
// CHECK-LABEL: func @many(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<2048x128xf32>, %[[Y:[a-z0-9]+]]: memref<2048x128xbf16>
// CHECK:         scf.parallel (%[[I:.*]], %[[J:.*]]) = (%c0, %c0) to (%c2048, %c32) step (%c1, %c1) {
// CHECK:           %[[J0:.*]] = arith.addi %[[J]], %c0
// CHECK:           %[[A:.*]] = memref.load %[[X]][%[[I]], %[[J0]]]
// CHECK:           arith.index_cast %[[J0]]
// CHECK:           %[[J1:.*]] = arith.addi %[[J]], %c32
// CHECK:           memref.load %[[X]][%[[I]], %[[J1]]]
// CHECK:           %[[J3:.*]] = arith.addi %[[J]], %c96
// CHECK:           memref.load %[[X]][%[[I]], %[[J3]]]
// CHECK:           memref.store %{{.*}}, %[[Y]][%[[I]], %[[J0]]]
// CHECK:           memref.store %{{.*}}, %[[Y]][%[[I]], %[[J1]]]
// CHECK:           memref.store
// CHECK:           memref.store %{{.*}}, %[[Y]][%[[I]], %[[J3]]]
// CHECK-NOT:       memref.store
// CHECK:           scf.reduce
func.func @many(%x: memref<2048x128xf32>, %y: memref<2048x128xbf16>) {
  linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>,
                       affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<2048x128xf32>) outs(%y : memref<2048x128xbf16>) {
    ^bb0(%a: f32, %out: bf16):
      %j = linalg.index 1 : index
      %0 = arith.index_cast %j : index to i32
      %1 = arith.sitofp %0 : i32 to f32
      %2 = arith.mulf %a, %1 : f32
      %3 = arith.truncf %2 : f32 to bf16
      linalg.yield %3 : bf16
  }
  return
}

// An odd number in the innermost loop, or few elements: one for each.
// CHECK-LABEL: func @odd(
// CHECK:         to (%c4096, %c130) step
// CHECK:         to (%c64, %c128) step
func.func @odd(%x: memref<4096x130xf32>, %y: memref<4096x130xf32>,
               %u: memref<64x128xf32>, %v: memref<64x128xf32>) {
  linalg.copy ins(%x : memref<4096x130xf32>) outs(%y : memref<4096x130xf32>)
  linalg.copy ins(%u : memref<64x128xf32>) outs(%v : memref<64x128xf32>)
  return
}
