// RUN: na-opt %s -convert-na-to-loops -canonicalize -cse | FileCheck %s

// CHECK-LABEL: func @av
// CHECK-SAME:    (%[[W:[a-z0-9_-]+]]: memref<?x12x9x2x12xf16>, %[[V:[a-z0-9_-]+]]: memref<?x12x9x1x32xbf16>, %[[O:[a-z0-9_-]+]]: memref<?x12x9x2x32xbf16>)
// CHECK-DAG:     %[[ZERO:[a-z0-9_-]+]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG:     %[[C2:[a-z0-9_-]+]] = arith.constant 2 : index
// CHECK-DAG:     %[[C3:[a-z0-9_-]+]] = arith.constant 3 : index
// CHECK:         scf.parallel (%[[B:[a-z0-9_-]+]], %[[X:[a-z0-9_-]+]], %[[Y:[a-z0-9_-]+]], %[[H:[a-z0-9_-]+]], %[[D:[a-z0-9_-]+]]) =
// CHECK:           %[[KVH:[a-z0-9_-]+]] = arith.divui %[[H]], %[[C2]]
// Two queries share a window.
// CHECK:           %[[GROUP:[a-z0-9_-]+]] = arith.divui %[[X]], %[[C2]]
// CHECK:           arith.muli %[[GROUP]], %[[C2]]
// CHECK:           %[[SUM:[a-z0-9_-]+]] = scf.for %[[KX:[a-z0-9_-]+]] = %[[BX:[a-z0-9_-]+]] to %{{.*}} iter_args(%{{.*}} = %[[ZERO]]) -> (f32)
// CHECK:             scf.for %[[KY:[a-z0-9_-]+]] = %[[BY:[a-z0-9_-]+]] to
// CHECK:               %[[STEPS:[a-z0-9_-]+]] = arith.muli %[[KY]], %[[C2]]
// CHECK:               %[[AT:[a-z0-9_-]+]] = arith.addi %{{.*}}, %[[STEPS]]
// CHECK:               %[[JX:[a-z0-9_-]+]] = arith.subi %[[KX]], %[[BX]]
// CHECK:               %[[JY:[a-z0-9_-]+]] = arith.subi %[[KY]], %[[BY]]
// CHECK:               %[[ROW:[a-z0-9_-]+]] = arith.muli %[[JX]], %[[C3]]
// CHECK:               %[[SLOT:[a-z0-9_-]+]] = arith.addi %[[ROW]], %[[JY]]
// CHECK:               %[[WEIGHT:[a-z0-9_-]+]] = memref.load %[[W]][%[[B]], %[[X]], %[[Y]], %[[H]], %[[SLOT]]]
// CHECK:               arith.extf %[[WEIGHT]] : f16 to f32
// CHECK:               %[[VALUE:[a-z0-9_-]+]] = memref.load %[[V]][%[[B]], %[[KX]], %[[AT]], %[[KVH]], %[[D]]]
// CHECK:               arith.extf %[[VALUE]] : bf16 to f32
// CHECK:           %[[OUT:[a-z0-9_-]+]] = arith.truncf %[[SUM]] : f32 to bf16
// CHECK:           memref.store %[[OUT]], %[[O]][%[[B]], %[[X]], %[[Y]], %[[H]], %[[D]]]
// CHECK-NOT:     na.av
func.func @av(%w: memref<?x12x9x2x12xf16>, %v: memref<?x12x9x1x32xbf16>,
              %o: memref<?x12x9x2x32xbf16>) {
  na.av ins(%w, %v : memref<?x12x9x2x12xf16>, memref<?x12x9x1x32xbf16>)
        outs(%o : memref<?x12x9x2x32xbf16>)
        window(<size = [4, 3], stride = [2, 1], dilation = [1, 2]>)
  return
}
