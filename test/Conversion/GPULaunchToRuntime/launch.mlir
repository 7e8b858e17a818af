// RUN: na-opt %s -gpu-launch-to-runtime -cse | FileCheck %s

// CHECK:       module attributes {{{.*}}na.kernels = ["first", "second"]}
// CHECK-NOT:   helper
module attributes {gpu.container_module} {
  // Two pointers, offset, two sizes, two strides; a float, a half float, an
  // index. The view has the address, and so the alignment, of its buffer.
  // CHECK-DAG:   memref.global "private" constant @[[ONE:na_alignments[_0-9]*]] : memref<10xi64> = dense<[4, 4, 0, 0, 0, 0, 0, 0, 0, 0]>
  // CHECK-DAG:   memref.global "private" constant @[[TWO:na_alignments[_0-9]*]] : memref<5xi64> = dense<[16, 16, 0, 0, 0]>
  // CHECK-DAG:   func.func private @naCudaLaunch(index, index, index, index, index, index, index)

  // CHECK-LABEL: func @main(
  // CHECK-SAME:    %[[M:[a-z0-9]+]]: memref<4x?xf32>, %[[H:[a-z0-9]+]]: memref<8xbf16>, %[[X:[a-z0-9]+]]: f32, %[[Y:[a-z0-9]+]]: f16, %[[N:[a-z0-9]+]]: index, %[[SHARED:[a-z0-9]+]]: i32
  // The arrays are made once, at the start.
  // CHECK-DAG:     %[[SLOTS:.*]] = memref.alloca() : memref<10xi64>
  // CHECK-DAG:     %[[VIEWED:.*]] = memref.alloca() : memref<5xi64>
  // CHECK:         scf.for
  // CHECK-NOT:       gpu.launch_func
  // CHECK:           %[[BASE:.*]], %[[OFFSET:.*]], %[[SIZES:.*]]:2, %[[STRIDES:.*]]:2 = memref.extract_strided_metadata %[[M]]
  // CHECK:           %[[POINTER:.*]] = memref.extract_aligned_pointer_as_index %[[M]]
  // CHECK:           %[[XBITS:.*]] = arith.bitcast %[[X]] : f32 to i32
  // CHECK:           %[[XSLOT:.*]] = arith.extui %[[XBITS]] : i32 to i64
  // CHECK:           %[[YBITS:.*]] = arith.bitcast %[[Y]] : f16 to i16
  // CHECK:           %[[YSLOT:.*]] = arith.extui %[[YBITS]] : i16 to i64
  // CHECK:           %[[P:.*]] = arith.index_cast %[[POINTER]] : index to i64
  // CHECK:           memref.store %[[P]], %[[SLOTS]][%c0]
  // CHECK:           memref.store %[[P]], %[[SLOTS]][%c1]
  // CHECK:           %[[O:.*]] = arith.index_cast %[[OFFSET]] : index to i64
  // CHECK:           memref.store %[[O]], %[[SLOTS]][%c2{{.*}}]
  // CHECK:           %[[S1:.*]] = arith.index_cast %[[STRIDES]]#1 : index to i64
  // CHECK:           memref.store %[[S1]], %[[SLOTS]][%c6{{.*}}]
  // CHECK:           memref.store %[[XSLOT]], %[[SLOTS]][%c7{{.*}}]
  // CHECK:           memref.store %[[YSLOT]], %[[SLOTS]][%c8{{.*}}]
  // CHECK:           memref.store %{{.*}}, %[[SLOTS]][%c9{{.*}}]
  // CHECK:           %[[PARAMS:.*]] = memref.extract_aligned_pointer_as_index %[[SLOTS]]
  // CHECK:           %[[GLOBAL:.*]] = memref.get_global @[[ONE]] : memref<10xi64>
  // CHECK:           %[[ALIGNMENTS:.*]] = memref.extract_aligned_pointer_as_index %[[GLOBAL]]
  // CHECK:           call @naCudaLaunch(%c1, %[[N]], %c128, %c0, %[[PARAMS]], %c10{{.*}}, %[[ALIGNMENTS]])
  // CHECK:         }
  // The promise of an alignment is the run time's to check.
  // CHECK-NOT:     assume_alignment
  // CHECK:         %[[BYTES:.*]] = arith.index_cast %[[SHARED]] : i32 to index
  // CHECK:         memref.get_global @[[TWO]] : memref<5xi64>
  // CHECK:         call @naCudaLaunch(%c0, %[[N]], %c128, %[[BYTES]], %{{.*}}, %c5{{.*}}, %{{.*}})
  func.func @main(%m: memref<4x?xf32>, %h: memref<8xbf16>, %x: f32, %y: f16,
                  %n: index, %shared: i32) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    scf.for %i = %c0 to %n step %c1 {
      gpu.launch_func @na_kernels::@second
          blocks in (%n, %c1, %c1) threads in (%c128, %c1, %c1)
          args(%m : memref<4x?xf32>, %x : f32, %y : f16, %n : index)
    }
    %aligned = memref.assume_alignment %h, 16 : memref<8xbf16>
    %view = memref.subview %aligned[2] [4] [1]
        : memref<8xbf16> to memref<4xbf16, strided<[1], offset: 2>>
    gpu.launch_func @na_kernels::@first
        blocks in (%n, %c1, %c1) threads in (%c128, %c1, %c1)
        dynamic_shared_memory_size %shared
        args(%view : memref<4xbf16, strided<[1], offset: 2>>)
    return
  }
  gpu.module @na_kernels {
    gpu.func @first(%a: memref<4xbf16, strided<[1], offset: 2>>) kernel {
      gpu.return
    }
    gpu.func @helper() {
      gpu.return
    }
    gpu.func @second(%a: memref<4x?xf32>, %b: f32, %c: f16, %d: index) kernel {
      gpu.return
    }
  }
}
