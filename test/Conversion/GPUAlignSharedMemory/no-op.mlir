// RUN: na-opt %s -pass-pipeline="builtin.module(gpu.module(gpu-align-shared-memory))" | FileCheck %s

// CHECK-NOT: alignment
// CHECK:     llvm.func @kernel
// CHECK-NOT: alignment
gpu.module @kernels {
  llvm.func @kernel() {
    llvm.return
  }
}
