// RUN: na-opt %s -math-to-nvvm-approx | FileCheck %s

// CHECK-LABEL: func @fma
// CHECK-NEXT:    math.fma
// CHECK-NEXT:    return
func.func @fma(%x: f32) -> f32 {
  %0 = math.fma %x, %x, %x : f32
  return %0 : f32
}
