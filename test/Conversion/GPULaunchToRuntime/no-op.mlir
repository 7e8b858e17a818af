// RUN: na-opt %s -gpu-launch-to-runtime | FileCheck %s

// A program without kernels has an empty list of them.
// CHECK:       module attributes {na.kernels = []}
// CHECK-NEXT:    func.func @f
// CHECK-NEXT:      return
func.func @f(%m: memref<8xf32>) -> memref<8xf32> {
  return %m : memref<8xf32>
}
