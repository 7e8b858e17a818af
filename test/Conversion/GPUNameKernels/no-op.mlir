// RUN: na-opt %s -gpu-name-kernels | FileCheck %s

// CHECK:     module {
// CHECK-NOT: na_kernels
// CHECK:     func @f
func.func @f() {
  return
}
