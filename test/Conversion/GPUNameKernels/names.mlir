// RUN: na-opt %s -gpu-name-kernels | FileCheck %s
// RUN: na-opt %s -gpu-name-kernels=module=other | FileCheck %s --check-prefix=OTHER
// RUN: na-opt %s -gpu-name-kernels -gpu-kernel-outlining | FileCheck %s --check-prefix=OUTLINED

// A name that is given stays unless another kernel has it.
// CHECK-LABEL: func @f
// CHECK:         gpu.launch {{.*}} module(@na_kernels) function(@f_0)
// CHECK:         gpu.launch {{.*}} module(@na_kernels) function(@mine)
// CHECK-LABEL: func @g
// CHECK:         gpu.launch {{.*}} module(@na_kernels) function(@mine_1)
// CHECK:         gpu.launch {{.*}} module(@na_kernels) function(@g_3)

// OTHER-COUNT-4: module(@other)

// OUTLINED-COUNT-1: gpu.module @na_kernels
// OUTLINED-NOT:     gpu.module
// OUTLINED-DAG:     gpu.func @f_0
// OUTLINED-DAG:     gpu.func @mine(
// OUTLINED-DAG:     gpu.func @mine_1
// OUTLINED-DAG:     gpu.func @g_3
func.func @f() {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1)
      threads(%g, %h, %i) in (%j = %c1, %k = %c1, %l = %c1) {
    gpu.terminator
  }
  gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1)
      threads(%g, %h, %i) in (%j = %c1, %k = %c1, %l = %c1)
      module(@elsewhere) function(@mine) {
    gpu.terminator
  }
  return
}
func.func @g() {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1)
      threads(%g, %h, %i) in (%j = %c1, %k = %c1, %l = %c1)
      function(@mine) {
    gpu.terminator
  }
  gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1)
      threads(%g, %h, %i) in (%j = %c1, %k = %c1, %l = %c1) {
    gpu.terminator
  }
  return
}
