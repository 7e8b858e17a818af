// RUN: na-opt %s --split-input-file --verify-diagnostics | na-opt --split-input-file | FileCheck %s
// RUN: na-opt %s --split-input-file --verify-diagnostics --convert-na-tile-to-loops | FileCheck %s --check-prefix=LOOPS

// CHECK-LABEL: func @sums
// CHECK: na.tile.add %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}] at(%{{.*}}, %{{.*}}) box [4, 8] dilation [1, 1] transposed : memref<16x32xf32>, memref<1x56x56x2x16xf32>
// Elements inside the tensor are added in one step each.
// LOOPS-LABEL: func @sums
// LOOPS:         scf.if
// LOOPS:           scf.for %[[C:.*]] = %{{.*}} to %{{.*}}
// LOOPS:             %[[V:.*]] = memref.load %{{.*}}[%[[C]], %{{.*}}] : memref<16x32xf32>
// LOOPS:             memref.atomic_rmw addf %[[V]], %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[C]]] : (f32, memref<1x56x56x2x16xf32>) -> f32
func.func @sums(%t: memref<16x32xf32>, %d: memref<1x56x56x2x16xf32>, %i: index) {
  na.tile.add %t to %d[%i, %i] at(%i, %i) box [4, 8] dilation [1, 1] transposed
    : memref<16x32xf32>, memref<1x56x56x2x16xf32>
  return
}

// -----

func.func @element(%t: memref<32x16xf32>, %d: memref<1x56x2x16xf64>, %i: index) {
  // expected-error @+1 {{'na.tile.add' op 'tile' has element type 'f32', expected 'f64' as in 'dest'}}
  na.tile.add %t to %d[%i, %i] at(%i) box [32] dilation [1] : memref<32x16xf32>, memref<1x56x2x16xf64>
  return
}

// -----

func.func @rank(%t: memref<32x16xf32>, %d: memref<1x56x2xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.add' op 'dest' has rank 3, expected 4, [B, X.., H, D]}}
  na.tile.add %t to %d[%i, %i] at(%i) box [32] dilation [1] : memref<32x16xf32>, memref<1x56x2xf32>
  return
}

// -----

func.func @shape(%t: memref<32x16xf32>, %d: memref<1x56x2x16xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.add' op 'tile' is 'memref<32x16xf32>', expected shape [16, 32]}}
  na.tile.add %t to %d[%i, %i] at(%i) box [32] dilation [1] transposed : memref<32x16xf32>, memref<1x56x2x16xf32>
  return
}
