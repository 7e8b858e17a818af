// RUN: na-opt %s -linalg-to-vector-loops="vector-bits=256 registers=16" -canonicalize -cse | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Rows are summed along the vectors: lanes that are left over start anew, and
// all meet the value in memory at the end.
// CHECK-LABEL: func @sum
// CHECK-SAME:    %[[X:[a-z0-9_]+]]: memref<1x35xf32>, %[[S:[a-z0-9_]+]]: memref<1xf32>
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<8xf32>
// CHECK-DAG:     %[[START:.*]] = memref.load %[[S]][%c0]
// CHECK:         %[[R:.*]]:2 = scf.for %[[K:.*]] = %c0 to %c32 step %c16 iter_args(%[[A:.*]] = %[[ZERO]], %[[B:.*]] = %[[ZERO]])
// CHECK:           vector.load %[[X]][%c0, %[[K]]]
// CHECK:         vector.reduction <add>, %[[R]]#0
// CHECK:         vector.reduction <add>, %[[R]]#1
// CHECK:         vector.load %[[X]][%c0, %c32] : memref<1x35xf32>, vector<3xf32>
// CHECK:         vector.reduction <add>, %{{.*}} : vector<3xf32> into f32
// CHECK:         %[[ALL:.*]] = arith.addf
// CHECK:         memref.store %[[ALL]], %[[S]][%c0]
func.func @sum(%x: memref<1x35xf32>, %sum: memref<1xf32>) {
  linalg.reduce { arith.addf } ins(%x : memref<1x35xf32>) outs(%sum : memref<1xf32>)
    dimensions = [1]
  return
}

// Two results at once; those of a narrow type are rounded once.
// CHECK-LABEL: func @pair
// CHECK-DAG:     arith.constant dense<0xFF800000> : vector<8xf32>
// CHECK-DAG:     arith.constant dense<1.000000e+00> : vector<8xf32>
// CHECK:         vector.load {{.*}} vector<8xbf16>
// CHECK:         arith.extf {{.*}} vector<8xbf16> to vector<8xf32>
// CHECK-NOT:     arith.truncf
// CHECK-DAG:     vector.reduction <maximumf>, {{.*}} vector<8xf32> into f32
// CHECK-DAG:     vector.reduction <mul>, {{.*}} vector<8xf32> into f32
// CHECK-COUNT-2: arith.truncf {{.*}} : f32 to bf16
// CHECK-NOT:     arith.truncf
// CHECK:         return
func.func @pair(%x: memref<1x40xbf16>, %max: memref<1xbf16>, %product: memref<1xbf16>) {
  linalg.generic {indexing_maps = [#id, #row, #row],
                  iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<1x40xbf16>) outs(%max, %product : memref<1xbf16>, memref<1xbf16>) {
  ^bb0(%a: bf16, %m: bf16, %p: bf16):
    %0 = arith.maximumf %a, %m : bf16
    %1 = arith.mulf %p, %a : bf16
    linalg.yield %0, %1 : bf16, bf16
  }
  return
}

// The maximum as a comparison and a selection.
// CHECK-LABEL: func @select
// CHECK:         vector.reduction <maxnumf>
func.func @select(%x: memref<2x64xf32>, %max: memref<2xf32>) {
  linalg.generic {indexing_maps = [#id, #row],
                  iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<2x64xf32>) outs(%max : memref<2xf32>) {
  ^bb0(%a: f32, %m: f32):
    %0 = arith.cmpf ogt, %a, %m : f32
    %1 = arith.select %0, %a, %m : f32
    linalg.yield %1 : f32
  }
  return
}
