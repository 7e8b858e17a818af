// RUN: na-opt %s -expand-f64-math | FileCheck %s

// CHECK-LABEL: func @exp(
// CHECK-SAME:    %[[X:.*]]: f64)
// CHECK-NOT:     math.exp
// CHECK:         %[[N:.*]] = math.roundeven
// CHECK:         math.fma %[[N]], %{{.*}}, %[[X]] : f64
// CHECK:         arith.shli
// CHECK:         arith.cmpf uno, %[[X]]
func.func @exp(%x: f64) -> f64 {
  %0 = math.exp %x : f64
  return %0 : f64
}

// Narrower sines and cosines are computed in f64.
// CHECK-LABEL: func @cos(
// CHECK-SAME:    %[[X:.*]]: f32)
// CHECK:         arith.extf %[[X]] : f32 to f64
// CHECK-NOT:     math.cos
// CHECK:         %[[Y:.*]] = arith.truncf %{{.*}} : f64 to f32
// CHECK:         return %[[Y]]
func.func @cos(%x: f32) -> f32 {
  %0 = math.cos %x : f32
  return %0 : f32
}

// An exponential of f32 has an instruction.
// CHECK-LABEL: func @kept(
// CHECK:         math.exp %{{.*}} : f32
// CHECK:         math.sin %{{.*}} : vector<2xf64>
func.func @kept(%x: f32, %y: vector<2xf64>) -> (f32, vector<2xf64>) {
  %0 = math.exp %x : f32
  %1 = math.sin %y : vector<2xf64>
  return %0, %1 : f32, vector<2xf64>
}
