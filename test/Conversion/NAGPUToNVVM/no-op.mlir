// RUN: na-opt %s -convert-nagpu-to-nvvm | FileCheck %s

// CHECK-LABEL: func @other(
// CHECK-SAME:    %[[X:.*]]: f32, %[[N:.*]]: index) -> f32
// CHECK-NEXT:    %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %[[C1:.*]] = arith.constant 1 : index
// CHECK-NEXT:    %[[R:.*]] = scf.for %{{.*}} = %[[C0]] to %[[N]] step %[[C1]] iter_args(%[[Y:.*]] = %[[X]]) -> (f32) {
// CHECK-NEXT:      %[[M:.*]] = arith.maxnumf %[[Y]], %[[X]] : f32
// CHECK-NEXT:      scf.yield %[[M]] : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[R]] : f32
func.func @other(%x: f32, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> (f32) {
    %m = arith.maxnumf %y, %x : f32
    scf.yield %m : f32
  }
  return %r : f32
}
