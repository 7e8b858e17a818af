// RUN: na-opt %s -gpu-launch-to-runtime | FileCheck %s

// The slot of a parameter by value has the address of its bytes; that it does,
// and how many they are, is said in place of an alignment.
module attributes {gpu.container_module} {
  // CHECK:       memref.global "private" constant @[[KINDS:na_alignments]] : memref<2xi64> = dense<[0, -128]>
  // CHECK-LABEL: func @main(
  // CHECK-SAME:    %[[N:.*]]: index, %[[P:.*]]: !llvm.ptr)
  // CHECK-DAG:     %[[SLOTS:.*]] = memref.alloca() : memref<2xi64>
  // CHECK:         %[[ADDRESS:.*]] = llvm.ptrtoint %[[P]] : !llvm.ptr to i64
  // CHECK:         memref.store %[[ADDRESS]], %[[SLOTS]][%c1{{.*}}] : memref<2xi64>
  // CHECK:         memref.get_global @[[KINDS]]
  // CHECK:         call @naCudaLaunch
  func.func @main(%n: index, %p: !llvm.ptr) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @na_kernels::@k
        blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%n : index, %p : !llvm.ptr)
    return
  }
  gpu.module @na_kernels {
    gpu.func @k(%n: index, %p: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<16 x i64>}) kernel {
      gpu.return
    }
  }
}
