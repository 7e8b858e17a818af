// RUN: na-opt %s -pass-pipeline="builtin.module(gpu.module(convert-gpu-to-nvvm,gpu-align-shared-memory))" | FileCheck %s
// RUN: na-opt %s -pass-pipeline="builtin.module(gpu.module(convert-gpu-to-nvvm,gpu-align-shared-memory{alignment=64}))" | FileCheck %s --check-prefix=OPTION
// RUN: na-opt %s -pass-pipeline="builtin.module(gpu.module(expand-strided-metadata,convert-gpu-to-nvvm,gpu-align-shared-memory,reconcile-unrealized-casts),nvvm-attach-target{chip=sm_90a features=+ptx80},gpu-module-to-binary{format=isa})" | FileCheck %s --check-prefix=PTX

// What has an alignment of its own, a size, or is in another memory, stays.
// CHECK-DAG: llvm.mlir.global external @__dynamic_shmem__{{.*}}() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
// CHECK-DAG: llvm.mlir.global external @coarse() {addr_space = 3 : i32, alignment = 4096 : i64} : !llvm.array<0 x i8>
// CHECK-DAG: llvm.mlir.global external @fixed() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<8 x i8>
// CHECK-DAG: llvm.mlir.global external @constants() {addr_space = 4 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
// OPTION:    llvm.mlir.global external @__dynamic_shmem__{{.*}}() {addr_space = 3 : i32, alignment = 64 : i64}
// PTX:       .extern .shared .align 1024 .b8 __dynamic_shmem__0[];
gpu.module @kernels {
  llvm.mlir.global external @coarse() {addr_space = 3 : i32, alignment = 4096 : i64} : !llvm.array<0 x i8>
  llvm.mlir.global external @fixed() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<8 x i8>
  llvm.mlir.global external @constants() {addr_space = 4 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  gpu.func @kernel(%out: memref<1xindex>) kernel {
    %c0 = arith.constant 0 : index
    %memory = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %address = memref.extract_aligned_pointer_as_index %memory
      : memref<?xi8, #gpu.address_space<workgroup>> -> index
    memref.store %address, %out[%c0] : memref<1xindex>
    gpu.return
  }
}
