// RUN: na-opt %s -parallel-to-runtime | FileCheck %s
// RUN: na-opt %s -parallel-to-runtime -parallel-to-runtime | FileCheck %s

// The declaration that is there serves; a name that is taken is not used twice;
// a second run finds nothing to do.

// CHECK-NOT:     naParallelFor
// CHECK:         func.func @f_parallel_0()
// CHECK:         func.func private @f_parallel_0_0(%{{.*}}: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr)
// CHECK:         func.func @f(
// CHECK:           constant @f_parallel_0_0
// CHECK:           llvm.call @naParallelFor
// CHECK:         llvm.func @naParallelFor(i64, !llvm.ptr, !llvm.ptr)
// CHECK-NOT:     naParallelFor
func.func @f_parallel_0() {
  return
}
func.func @f(%m: memref<8xf32>, %x: f32) {
  scf.forall (%i) in (8) {
    memref.store %x, %m[%i] : memref<8xf32>
  }
  return
}
llvm.func @naParallelFor(i64, !llvm.ptr, !llvm.ptr)
