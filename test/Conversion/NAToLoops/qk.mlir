// RUN: na-opt %s -convert-na-to-loops -canonicalize -cse -split-input-file | FileCheck %s

// Every slot has a key: nothing is filled in advance.

// CHECK-LABEL: func @all_slots
// CHECK-SAME:    (%[[Q:[a-z0-9_-]+]]: memref<2x6x9x4x8xf16>, %[[K:[a-z0-9_-]+]]: memref<2x6x9x1x8xf16>, %[[S:[a-z0-9_-]+]]: memref<2x6x9x4x12xf32>)
// CHECK-DAG:     %[[SCALE:[a-z0-9_-]+]] = arith.constant 2.500000e-01 : f32
// CHECK-DAG:     %[[C3:[a-z0-9_-]+]] = arith.constant 3 : index
// CHECK-DAG:     %[[C4:[a-z0-9_-]+]] = arith.constant 4 : index
// CHECK:         scf.parallel (%[[B:[a-z0-9_-]+]], %[[X:[a-z0-9_-]+]], %[[Y:[a-z0-9_-]+]], %[[H:[a-z0-9_-]+]]) =
// CHECK-NOT:       memref.store
// CHECK:           %[[KVH:[a-z0-9_-]+]] = arith.divui %[[H]], %[[C4]]
// CHECK:           scf.for %[[KX:[a-z0-9_-]+]] = %[[BX:[a-z0-9_-]+]] to
// CHECK:             scf.for %[[KY:[a-z0-9_-]+]] = %[[BY:[a-z0-9_-]+]] to
// CHECK-DAG:           %[[JX:[a-z0-9_-]+]] = arith.subi %[[KX]], %[[BX]]
// CHECK-DAG:           %[[JY:[a-z0-9_-]+]] = arith.subi %[[KY]], %[[BY]]
// CHECK:               memref.load %[[K]][%[[B]], %[[KX]], %[[KY]], %[[KVH]], %{{.*}}]
// CHECK:               %[[LOGIT:[a-z0-9_-]+]] = arith.mulf %{{.*}}, %[[SCALE]]
// CHECK:               %[[ROW:[a-z0-9_-]+]] = arith.muli %[[JX]], %[[C3]]
// CHECK:               %[[SLOT:[a-z0-9_-]+]] = arith.addi %[[ROW]], %[[JY]]
// CHECK:               memref.store %[[LOGIT]], %[[S]][%[[B]], %[[X]], %[[Y]], %[[H]], %[[SLOT]]]
// CHECK-NOT:     na.qk
func.func @all_slots(%q: memref<2x6x9x4x8xf16>, %k: memref<2x6x9x1x8xf16>,
                     %s: memref<2x6x9x4x12xf32>) {
  na.qk ins(%q, %k : memref<2x6x9x4x8xf16>, memref<2x6x9x1x8xf16>)
        outs(%s : memref<2x6x9x4x12xf32>) window(<size = [4, 3]>)
        {scale = 2.500000e-01 : f64}
  return
}

// -----

// CHECK-LABEL: func @causal
// CHECK-SAME:    %[[BIAS:[a-z0-9_-]+]]: memref<2x7xf32>, %[[S:[a-z0-9_-]+]]: memref<1x9x2x4xf32>
// CHECK-DAG:     %[[NONE:[a-z0-9_-]+]] = arith.constant 0xFF800000 : f32
// CHECK-DAG:     %[[C0:[a-z0-9_-]+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C4:[a-z0-9_-]+]] = arith.constant 4 : index
// CHECK:         scf.parallel
// CHECK:           scf.for %[[J:[a-z0-9_-]+]] = %[[C0]] to %[[C4]]
// CHECK-NEXT:        memref.store %[[NONE]], %[[S]][{{.*}}, %[[J]]]
// CHECK:           scf.for
// CHECK:             memref.load %[[BIAS]]
// CHECK:             memref.store %{{.*}}, %[[S]]
func.func @causal(%q: memref<1x9x2x8xf32>, %k: memref<1x9x2x8xf32>,
                  %b: memref<2x7xf32>, %s: memref<1x9x2x4xf32>) {
  na.qk ins(%q, %k : memref<1x9x2x8xf32>, memref<1x9x2x8xf32>)
        bias(%b : memref<2x7xf32>)
        outs(%s : memref<1x9x2x4xf32>) window(<size = [4], causal = [true]>)
  return
}
