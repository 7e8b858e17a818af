// RUN: na-opt %s -gpu-kernel-outlining -nagpu-finalize-kernels | FileCheck %s

// CHECK-NOT: naCudaEncodeTensorMap
// CHECK:     gpu.func @f_kernel(%{{.*}}: memref<4xf32>) kernel attributes
// CHECK-NOT: minctasm
// CHECK:     memref.store
func.func @f(%m: memref<4xf32>, %x: f32) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %zero = arith.constant 0.0 : f32
    memref.store %zero, %m[%bx] : memref<4xf32>
    gpu.terminator
  }
  return
}
