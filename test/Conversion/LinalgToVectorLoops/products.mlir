// RUN: na-opt %s -linalg-to-vector-loops="vector-bits=256 registers=16" -canonicalize -cse | FileCheck %s

// Two rows of two vectors in registers while the reduction runs; what does not
// depend on the row is loaded once for both, what does not depend on the lane
// is one scalar.
// CHECK-LABEL: func @matmul
// CHECK-SAME:    %[[A:[a-z0-9_]+]]: memref<2x64xf32>, %[[B:[a-z0-9_]+]]: memref<64x16xf32>, %[[C:[a-z0-9_]+]]: memref<2x16xf32>
// CHECK-DAG:     %[[C00:.*]] = vector.load %[[C]][%c0, %c0] : memref<2x16xf32>, vector<8xf32>
// CHECK-DAG:     %[[C01:.*]] = vector.load %[[C]][%c0, %c8]
// CHECK-DAG:     %[[C10:.*]] = vector.load %[[C]][%c1, %c0]
// CHECK-DAG:     %[[C11:.*]] = vector.load %[[C]][%c1, %c8]
// CHECK:         %[[R:.*]]:4 = scf.for %[[K:.*]] = %c0 to %c64 step %c1 iter_args(%[[S00:.*]] = %[[C00]], %[[S01:.*]] = %[[C01]], %[[S10:.*]] = %[[C10]], %[[S11:.*]] = %[[C11]])
// CHECK-DAG:       %[[A0:.*]] = memref.load %[[A]][%c0, %[[K]]]
// CHECK-DAG:       %[[B0:.*]] = vector.load %[[B]][%[[K]], %c0]
// CHECK-DAG:       %[[A0V:.*]] = vector.broadcast %[[A0]] : f32 to vector<8xf32>
// CHECK-DAG:       %[[N00:.*]] = math.fma %[[A0V]], %[[B0]], %[[S00]]
// CHECK-DAG:       %[[B1:.*]] = vector.load %[[B]][%[[K]], %c8]
// CHECK-DAG:       %[[N01:.*]] = math.fma %[[A0V]], %[[B1]], %[[S01]]
// CHECK-NOT:       vector.load
// CHECK-DAG:       %[[A1:.*]] = memref.load %[[A]][%c1, %[[K]]]
// CHECK-DAG:       %[[A1V:.*]] = vector.broadcast %[[A1]]
// CHECK-DAG:       %[[N10:.*]] = math.fma %[[A1V]], %[[B0]], %[[S10]]
// CHECK-DAG:       %[[N11:.*]] = math.fma %[[A1V]], %[[B1]], %[[S11]]
// CHECK:           scf.yield %[[N00]], %[[N01]], %[[N10]], %[[N11]]
// CHECK:         vector.store %[[R]]#0, %[[C]][%c0, %c0]
// CHECK:         vector.store %[[R]]#3, %[[C]][%c1, %c8]
func.func @matmul(%a: memref<2x64xf32>, %b: memref<64x16xf32>,
                  %c: memref<2x16xf32>) {
  linalg.matmul ins(%a, %b : memref<2x64xf32>, memref<64x16xf32>)
                outs(%c : memref<2x16xf32>)
  return
}

// Lanes and rows that are left over: 19 lanes are 16 and a vector of 3, seven
// rows are six and one.
// CHECK-LABEL: func @remainders
// CHECK:         scf.for {{.*}} iter_args
// CHECK-COUNT-12:  math.fma {{.*}} : vector<8xf32>
// CHECK-NOT:       math.fma
// CHECK:         scf.for {{.*}} iter_args
// CHECK-COUNT-2:   math.fma {{.*}} : vector<8xf32>
// CHECK-NOT:       math.fma
// CHECK:         scf.for {{.*}} iter_args
// CHECK-COUNT-6:   math.fma {{.*}} : vector<3xf32>
// CHECK-NOT:       math.fma
// CHECK:         scf.for {{.*}} iter_args
// CHECK-COUNT-1:   math.fma {{.*}} : vector<3xf32>
// CHECK-NOT:       math.fma
// CHECK:         return
func.func @remainders(%a: memref<7x3xf32>, %b: memref<3x19xf32>,
                      %c: memref<7x19xf32>) {
  linalg.matmul ins(%a, %b : memref<7x3xf32>, memref<3x19xf32>)
                outs(%c : memref<7x19xf32>)
  return
}

// Half-size elements, with sums in f32: the vectors are those of the sums.
// CHECK-LABEL: func @mixed
// CHECK:         vector.load {{.*}} : memref<4x8xbf16>, vector<8xbf16>
// CHECK:         arith.extf {{.*}} : vector<8xbf16> to vector<8xf32>
// CHECK:         math.fma {{.*}} : vector<8xf32>
func.func @mixed(%a: memref<1x4xbf16>, %b: memref<4x8xbf16>, %c: memref<1x8xf32>) {
  linalg.matmul ins(%a, %b : memref<1x4xbf16>, memref<4x8xbf16>)
                outs(%c : memref<1x8xf32>)
  return
}

// Sums of halves are in f32 too, and rounded after the reduction; so is all
// between, but for what the body rounds itself.
// CHECK-LABEL: func @halves
// CHECK:         %[[START:.*]] = arith.extf {{.*}} : vector<8xf16> to vector<8xf32>
// CHECK:         %[[R:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[START]]) -> (vector<8xf32>)
// CHECK-NOT:       arith.truncf
// CHECK:           math.fma {{.*}} : vector<8xf32>
// CHECK:         arith.truncf %[[R]] : vector<8xf32> to vector<8xf16>
func.func @halves(%a: memref<1x4xf16>, %b: memref<4x8xf16>, %c: memref<1x8xf16>) {
  linalg.matmul ins(%a, %b : memref<1x4xf16>, memref<4x8xf16>)
                outs(%c : memref<1x8xf16>)
  return
}

// CHECK-LABEL: func @conversions
// CHECK-SAME:    %[[X:[a-z0-9_]+]]: memref<8xf64>, %[[W:[a-z0-9_]+]]: bf16
// CHECK-DAG:     %[[WIDE:.*]] = arith.extf %[[W]] : bf16 to f32
// CHECK-DAG:     %[[L:.*]] = vector.load %[[X]][%{{.*}}] : memref<8xf64>, vector<4xf64>
// CHECK-DAG:     %[[ROUNDED:.*]] = arith.truncf %[[L]] : vector<4xf64> to vector<4xbf16>
// CHECK-DAG:     %[[EXACT:.*]] = arith.extf %[[ROUNDED]] : vector<4xbf16> to vector<4xf32>
// CHECK:         arith.addf %[[EXACT]], %{{.*}} : vector<4xf32>
// CHECK:         arith.truncf {{.*}} : vector<4xf32> to vector<4xbf16>
// CHECK:         arith.bitcast {{.*}} : vector<4xbf16> to vector<4xi16>
func.func @conversions(%x: memref<8xf64>, %w: bf16, %o: memref<8xi16>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                  iterator_types = ["parallel"]}
    ins(%x : memref<8xf64>) outs(%o : memref<8xi16>) {
  ^bb0(%a: f64, %b: i16):
    %0 = arith.truncf %a : f64 to bf16
    %1 = arith.addf %0, %w : bf16
    %2 = arith.bitcast %1 : bf16 to i16
    linalg.yield %2 : i16
  }
  return
}

// Integers are multiplied and added.
// CHECK-LABEL: func @integers
// CHECK:         arith.muli {{.*}} : vector<8xi32>
// CHECK:         arith.addi {{.*}} : vector<8xi32>
func.func @integers(%a: memref<1x4xi32>, %b: memref<4x8xi32>, %c: memref<1x8xi32>) {
  linalg.matmul ins(%a, %b : memref<1x4xi32>, memref<4x8xi32>)
                outs(%c : memref<1x8xi32>)
  return
}
