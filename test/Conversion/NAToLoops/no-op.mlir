// RUN: na-opt %s -convert-na-to-loops | FileCheck %s

// Nothing of the na dialect to lower: the function stays as it is.

// CHECK-LABEL: func @other
// CHECK-SAME:    (%[[A:[a-z0-9_-]+]]: memref<4xf32>, %[[I:[a-z0-9_-]+]]: index) -> f32
// CHECK-NEXT:    %[[X:[a-z0-9_-]+]] = memref.load %[[A]][%[[I]]]
// CHECK-NEXT:    return %[[X]]
func.func @other(%a: memref<4xf32>, %i: index) -> f32 {
  %x = memref.load %a[%i] : memref<4xf32>
  return %x : f32
}
