// RUN: na-opt %s -math-to-nvvm-approx | FileCheck %s

// CHECK-LABEL: func @exponentials(
// CHECK-SAME:    %[[X:.*]]: f32)
// CHECK:         %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
// CHECK:         %[[SCALED:.*]] = arith.mulf %[[X]], %[[LOG2E]] : f32
// CHECK:         llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"(%[[SCALED]]) : (f32) -> f32
// CHECK:         llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"(%[[X]]) : (f32) -> f32
func.func @exponentials(%x: f32) -> (f32, f32) {
  %0 = math.exp %x : f32
  %1 = math.exp2 %x : f32
  return %0, %1 : f32, f32
}

// CHECK-LABEL: func @logarithms(
// CHECK-SAME:    %[[X:.*]]: f32)
// CHECK:         %[[LG:.*]] = llvm.call_intrinsic "llvm.nvvm.lg2.approx.f"(%[[X]])
// CHECK:         %[[LN2:.*]] = arith.constant 0.693147182 : f32
// CHECK:         arith.mulf %[[LG]], %[[LN2]] : f32
// CHECK:         %[[LG:.*]] = llvm.call_intrinsic "llvm.nvvm.lg2.approx.f"(%[[X]])
// CHECK:         %[[LOG2:.*]] = arith.constant 3.010300e-01 : f32
// CHECK:         arith.mulf %[[LG]], %[[LOG2]] : f32
// CHECK:         %[[LG:.*]] = llvm.call_intrinsic "llvm.nvvm.lg2.approx.f"(%[[X]])
// CHECK:         %[[ROOT:.*]] = llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"(%[[X]])
// CHECK:         return %{{.*}}, %{{.*}}, %[[LG]], %[[ROOT]]
func.func @logarithms(%x: f32) -> (f32, f32, f32, f32) {
  %0 = math.log %x : f32
  %1 = math.log10 %x : f32
  %2 = math.log2 %x : f32
  %3 = math.rsqrt %x : f32
  return %0, %1, %2, %3 : f32, f32, f32, f32
}

// Narrow types are computed in f32, vectors lane by lane.
// CHECK-LABEL: func @narrow(
// CHECK-SAME:    %[[X:.*]]: vector<2xbf16>)
// CHECK:         %[[WIDE:.*]] = arith.extf %[[X]] : vector<2xbf16> to vector<2xf32>
// CHECK:         %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<2xf32>
// CHECK:         %[[LANE0:.*]] = vector.extract %[[WIDE]][0]
// CHECK:         %[[Y0:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"(%[[LANE0]])
// CHECK:         %[[ONE:.*]] = vector.insert %[[Y0]], %[[ZERO]] [0]
// CHECK:         %[[LANE1:.*]] = vector.extract %[[WIDE]][1]
// CHECK:         %[[Y1:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"(%[[LANE1]])
// CHECK:         %[[BOTH:.*]] = vector.insert %[[Y1]], %[[ONE]] [1]
// CHECK:         arith.truncf %[[BOTH]] : vector<2xf32> to vector<2xbf16>
func.func @narrow(%x: vector<2xbf16>) -> vector<2xbf16> {
  %0 = math.exp2 %x : vector<2xbf16>
  return %0 : vector<2xbf16>
}

// What is exact is computed in its type.
// CHECK-LABEL: func @exact(
// CHECK:         llvm.call_intrinsic "llvm.fabs.f32"(%{{.*}}) : (f32) -> f32
// CHECK:         llvm.call_intrinsic "llvm.copysign.f32"(%{{.*}}, %{{.*}}) : (f32, f32) -> f32
// CHECK:         llvm.call_intrinsic "llvm.sqrt.f64"(%{{.*}}) : (f64) -> f64
func.func @exact(%x: f32, %y: f64) -> (f32, f32, f64) {
  %0 = math.absf %x : f32
  %1 = math.copysign %0, %x : f32
  %2 = math.sqrt %y : f64
  return %0, %1, %2 : f32, f32, f64
}
