// RUN: na-opt %s -convert-na-to-loops -canonicalize -cse -split-input-file | FileCheck %s

// CHECK-LABEL: func @merge
// CHECK-SAME:    (%[[O0:[a-z0-9_-]+]]: memref<?x4xf16>, %[[O1:[a-z0-9_-]+]]: memref<?x4xf16>, %[[L0:[a-z0-9_-]+]]: memref<?xf32>, %[[L1:[a-z0-9_-]+]]: memref<?xf32>, %[[O:[a-z0-9_-]+]]: memref<?x4xf32>, %[[L:[a-z0-9_-]+]]: memref<?xf32>)
// CHECK-DAG:     %[[ZERO:[a-z0-9_-]+]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG:     %[[ONE:[a-z0-9_-]+]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG:     %[[NONE:[a-z0-9_-]+]] = arith.constant 0xFF800000 : f32
// CHECK:         scf.parallel (%[[X:[a-z0-9_-]+]]) =
// CHECK:           %[[A:[a-z0-9_-]+]] = memref.load %[[L0]][%[[X]]]
// CHECK:           %[[B:[a-z0-9_-]+]] = memref.load %[[L1]][%[[X]]]
// CHECK:           %[[TOP:[a-z0-9_-]+]] = arith.maximumf %[[A]], %[[B]]
// CHECK:           %[[NOKEYS:[a-z0-9_-]+]] = arith.cmpf oeq, %[[TOP]], %[[NONE]]
// CHECK:           %[[BASE:[a-z0-9_-]+]] = arith.select %[[NOKEYS]], %[[ZERO]], %[[TOP]]
// CHECK:           %[[DA:[a-z0-9_-]+]] = arith.subf %[[A]], %[[BASE]]
// CHECK:           %[[WA:[a-z0-9_-]+]] = math.exp %[[DA]]
// CHECK:           %[[EMPTYA:[a-z0-9_-]+]] = arith.cmpf oeq, %[[A]], %[[NONE]]
// CHECK:           %[[TOTAL:[a-z0-9_-]+]] = arith.select %[[NOKEYS]], %[[ONE]], %{{.*}}
// CHECK:           scf.for
// CHECK:             memref.load %[[O0]]
// CHECK:             %[[TERM:[a-z0-9_-]+]] = arith.mulf %[[WA]], %{{.*}}
// A part without keys may hold NaNs.
// CHECK:             arith.select %[[EMPTYA]], %[[ZERO]], %[[TERM]]
// CHECK:             memref.load %[[O1]]
// CHECK:             %[[OUT:[a-z0-9_-]+]] = arith.divf %{{.*}}, %[[TOTAL]]
// CHECK:             memref.store %[[OUT]], %[[O]]
// CHECK:           %[[LOG:[a-z0-9_-]+]] = math.log %[[TOTAL]]
// CHECK:           %[[LSE:[a-z0-9_-]+]] = arith.addf %[[BASE]], %[[LOG]]
// CHECK:           %[[RESULT:[a-z0-9_-]+]] = arith.select %[[NOKEYS]], %[[NONE]], %[[LSE]]
// CHECK:           memref.store %[[RESULT]], %[[L]][%[[X]]]
// CHECK-NOT:     na.merge
func.func @merge(%o0: memref<?x4xf16>, %o1: memref<?x4xf16>,
                 %l0: memref<?xf32>, %l1: memref<?xf32>, %o: memref<?x4xf32>,
                 %l: memref<?xf32>) {
  na.merge ins(%o0, %o1 : memref<?x4xf16>, memref<?x4xf16>)
           lses(%l0, %l1 : memref<?xf32>, memref<?xf32>)
           outs(%o, %l : memref<?x4xf32>, memref<?xf32>)
  return
}

// -----

// A single row has no parallel loop; without a destination there is no LSE.

// CHECK-LABEL: func @row
// CHECK-NOT:     scf.parallel
// CHECK:         memref.load %{{.*}}[] : memref<f64>
// CHECK:         scf.for
// CHECK:           arith.truncf %{{.*}} : f64 to bf16
// CHECK-NOT:     math.log
// CHECK-NOT:     na.merge
func.func @row(%o0: memref<4xbf16>, %l0: memref<f64>, %o: memref<4xbf16>) {
  na.merge ins(%o0 : memref<4xbf16>) lses(%l0 : memref<f64>)
           outs(%o : memref<4xbf16>)
  return
}
