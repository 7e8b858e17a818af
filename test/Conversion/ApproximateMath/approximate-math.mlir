// RUN: na-opt %s --approximate-math | FileCheck %s

// CHECK-LABEL: func @vectors
// CHECK-NOT: math.erf
// CHECK-NOT: math.tanh
// CHECK: return
func.func @vectors(%x: vector<16xf32>) -> (vector<16xf32>, vector<16xf32>) {
  %0 = math.erf %x : vector<16xf32>
  %1 = math.tanh %x : vector<16xf32>
  return %0, %1 : vector<16xf32>, vector<16xf32>
}

// f64 keeps the precision of libm.
// CHECK-LABEL: func @f64
// CHECK: math.erf
// CHECK: math.tanh
func.func @f64(%x: f64) -> (f64, f64) {
  %0 = math.erf %x : f64
  %1 = math.tanh %x : f64
  return %0, %1 : f64, f64
}

// Nothing to do.
// CHECK-LABEL: func @other
// CHECK: math.sin
func.func @other(%x: f32) -> f32 {
  %0 = math.sin %x : f32
  return %0 : f32
}
