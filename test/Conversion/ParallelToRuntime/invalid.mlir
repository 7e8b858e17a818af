// RUN: na-opt %s -parallel-to-runtime -split-input-file -verify-diagnostics

// expected-error @+1 {{parallel-to-runtime: symbol 'naParallelFor' is taken; expected an llvm.func of type '!llvm.func<void (i64, ptr, ptr)>'}}
func.func private @naParallelFor(i64)
func.func @f(%m: memref<8xf32>, %x: f32) {
  scf.forall (%i) in (8) {
    memref.store %x, %m[%i] : memref<8xf32>
  }
  return
}

// -----

// expected-error @+1 {{parallel-to-runtime: symbol 'naParallelFor' is taken}}
llvm.func @naParallelFor(i32, !llvm.ptr, !llvm.ptr)
func.func @f(%m: memref<8xf32>, %x: f32) {
  scf.forall (%i) in (8) {
    memref.store %x, %m[%i] : memref<8xf32>
  }
  return
}
