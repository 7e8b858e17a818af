// RUN: na-opt %s --linalg-to-vector-loops="vector-bits=512 registers=32" | FileCheck %s

#rows = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A sum along the contiguous dimension: partial sums in the lanes, four
// vectors at a time; the rest of each row in a narrower vector.
// CHECK-LABEL: func @row_sums
// CHECK: %[[PARTS:.*]]:4 = scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-4: arith.addf {{.*}} : vector<16xf32>
// CHECK: vector.reduction <add>, %[[PARTS]]#0
// CHECK: vector.load {{.*}} vector<3xf32>
// CHECK: vector.reduction <add>, {{.*}} : vector<3xf32> into f32
// CHECK: memref.store
func.func @row_sums(%in: memref<4x67xf32>, %out: memref<4xf32>) {
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]}
      ins(%in : memref<4x67xf32>) outs(%out : memref<4xf32>) {
  ^bb0(%x: f32, %sum: f32):
    %0 = arith.addf %sum, %x : f32
    linalg.yield %0 : f32
  }
  return
}

// A maximum as the softmax of tiles writes it.
// CHECK-LABEL: func @row_maxima
// CHECK: vector.reduction <maxnumf>
func.func @row_maxima(%in: memref<4x64xf32>, %out: memref<4xf32>) {
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]}
      ins(%in : memref<4x64xf32>) outs(%out : memref<4xf32>) {
  ^bb0(%x: f32, %max: f32):
    %0 = arith.cmpf ogt, %x, %max : f32
    %1 = arith.select %0, %x, %max : f32
    linalg.yield %1 : f32
  }
  return
}

// Not a combination that lanes can do in any order.
// CHECK-LABEL: func @alternating
// CHECK: linalg.generic
func.func @alternating(%in: memref<4x64xf32>, %out: memref<4xf32>) {
  linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]}
      ins(%in : memref<4x64xf32>) outs(%out : memref<4xf32>) {
  ^bb0(%x: f32, %sum: f32):
    %0 = arith.subf %x, %sum : f32
    linalg.yield %0 : f32
  }
  return
}

// Two results at once; those of a narrow type are rounded once.
// CHECK-LABEL: func @pair
// CHECK-DAG: arith.constant 0xFF800000 : f32
// CHECK-DAG: arith.constant 1.000000e+00 : f32
// CHECK: vector.load {{.*}} vector<16xbf16>
// CHECK: arith.extf {{.*}} vector<16xbf16> to vector<16xf32>
// CHECK-NOT: arith.truncf
// CHECK-DAG: vector.reduction <maximumf>, {{.*}} vector<16xf32> into f32
// CHECK-DAG: vector.reduction <mul>, {{.*}} vector<16xf32> into f32
// CHECK-COUNT-2: arith.truncf {{.*}} : f32 to bf16
// CHECK-NOT: arith.truncf
// CHECK: return
func.func @pair(%in: memref<1x200xbf16>, %max: memref<1xbf16>, %product: memref<1xbf16>) {
  linalg.generic {indexing_maps = [#rows, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%in : memref<1x200xbf16>) outs(%max, %product : memref<1xbf16>, memref<1xbf16>) {
  ^bb0(%x: bf16, %m: bf16, %p: bf16):
    %0 = arith.maximumf %x, %m : bf16
    %1 = arith.mulf %p, %x : bf16
    linalg.yield %0, %1 : bf16, bf16
  }
  return
}
