// RUN: na-opt %s -convert-nagpu-to-nvvm | FileCheck %s --check-prefix=BODY
// RUN: na-opt %s -convert-nagpu-to-nvvm -canonicalize -gpu-kernel-outlining -nagpu-finalize-kernels -canonicalize -cse -split-input-file | FileCheck %s
// RUN: na-opt %s -convert-nagpu-to-nvvm -canonicalize -gpu-kernel-outlining -nagpu-finalize-kernels -gpu-launch-to-runtime -split-input-file | FileCheck %s --check-prefix=RUNTIME

!map = !nagpu.tensor_map<1x8x8x64xbf16, tma128>
!source = memref<?x64x64x2x128xbf16, strided<[?, 16384, 256, 128, 1], offset: ?>>
!tile = !nagpu.shared<64x128xbf16, tma128>

// What the body of a launch captures stays the map, so that outlining makes it
// a parameter.
// BODY-LABEL: func @maps(
// BODY:         %[[MAP:.*]] = nagpu.tensor_map
// BODY:         gpu.launch
// BODY:           %[[POINTER:.*]] = builtin.unrealized_conversion_cast %[[MAP]] : !nagpu.tensor_map<1x8x8x64xbf16, tma128> to !llvm.ptr
// BODY:           cp.async.bulk.tensor.4d{{.*}} %[[POINTER]],

// The function's second argument, of type 1 (bf16), rank 5, panels of 128
// bytes: sizes, strides, the box and dilations are in memory. The map is made where the
// operation is, in memory of the function.
// CHECK-LABEL: func private @naCudaEncodeTensorMap(!llvm.ptr, i64, i64, i64, i64, !llvm.ptr, i64)
// CHECK-LABEL: func @maps(
// CHECK-SAME:    %[[N:.*]]: index, %[[K:.*]]: memref<?x64x64x2x128xbf16,
// CHECK-DAG:     %[[MAP:.*]] = llvm.alloca %{{.*}} x i64 {alignment = 64 : i64} : (i64) -> !llvm.ptr
// CHECK-DAG:     %[[SHAPE:.*]] = llvm.alloca %{{.*}} x i64 {alignment = 8 : i64} : (i64) -> !llvm.ptr
// CHECK:         scf.for
// CHECK:           %{{.*}}, %[[OFFSET:.*]], %[[SIZES:.*]]:5, %[[STRIDES:.*]]:5 = memref.extract_strided_metadata %[[VIEW:.*]] :
// CHECK:           %[[INDEX:.*]] = memref.extract_aligned_pointer_as_index %[[VIEW]]
// CHECK:           %[[POINTER:.*]] = arith.index_cast %[[INDEX]] : index to i64
// CHECK:           %[[START:.*]] = arith.index_cast %[[OFFSET]] : index to i64
// CHECK:           %[[BYTES:.*]] = arith.muli %[[START]], %c2_i64 : i64
// CHECK:           %[[ADDRESS:.*]] = arith.addi %[[POINTER]], %[[BYTES]] : i64
// CHECK:           %[[STRIDE:.*]] = arith.index_cast %[[STRIDES]]#0 : index to i64
// CHECK:           llvm.store %c1_i64, %[[SHAPE]] : i64, !llvm.ptr
// CHECK:           %[[FIFTH:.*]] = llvm.getelementptr %[[SHAPE]][5]
// CHECK:           llvm.store %[[STRIDE]], %[[FIFTH]] : i64, !llvm.ptr
// CHECK:           %[[LAST:.*]] = llvm.getelementptr %[[SHAPE]][13] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK:           llvm.store %c64_i64, %[[LAST]] : i64, !llvm.ptr
// CHECK:           %[[DILATION:.*]] = llvm.getelementptr %[[SHAPE]][15] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK:           llvm.store %c3_i64, %[[DILATION]] : i64, !llvm.ptr
// CHECK:           call @naCudaEncodeTensorMap(%[[MAP]], %c1_i64, %[[ADDRESS]], %c1_i64, %c5_i64, %[[SHAPE]], %c128_i64)
// CHECK:           gpu.launch_func {{.*}} args({{.*}}%[[MAP]] : !llvm.ptr

// One CTA may have a multiprocessor, so that register budgets count.
// CHECK:         gpu.func @maps_kernel(
// CHECK-SAME:      %[[P:[^ ]*]]: !llvm.ptr {llvm.byval = !llvm.array<16 x i64>}
// CHECK-SAME:      kernel attributes {
// CHECK-SAME:        known_block_size = array<i32: 384, 1, 1>
// CHECK-SAME:        nagpu.tensor_maps = array<i64: 0>
// CHECK-SAME:        nvvm.minctasm = 1 : i32
// CHECK-NOT:       unrealized_conversion_cast
// CHECK:           cp.async.bulk.tensor.4d{{.*}} %[[P]],

// RUNTIME:       memref.global "private" constant @na_alignments : memref<{{.*}}xi64> = dense<{{.*}}-128
// RUNTIME-LABEL: func @maps
// RUNTIME:         llvm.ptrtoint
// RUNTIME:         call @naCudaLaunch
func.func @maps(%n: index, %k: !source) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c384 = arith.constant 384 : index
  scf.for %i = %c0 to %n step %c1 {
    %cast = memref.subview %k[0, 0, 0, 0, 0] [1, 64, 64, 2, 128] [1, 1, 1, 1, 1]
      : !source to memref<1x64x64x2x128xbf16, strided<[?, 16384, 256, 128, 1], offset: ?>>
    %map = nagpu.tensor_map %cast dilation [1, 3]
      : memref<1x64x64x2x128xbf16, strided<[?, 16384, 256, 128, 1], offset: ?>> -> !map
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c384, %sy = %c1, %sz = %c1) {
      %zero = arith.constant 0 : index
      %tile = nagpu.alloc {offset = 0 : i64} : !tile
      %full = nagpu.mbarrier_init arrivals 1 {offset = 16384 : i64} : !nagpu.barrier<1>
      nagpu.roles registers(24, 240) producer {
        nagpu.mbarrier_expect_tx %full[%zero] bytes 16384 : !nagpu.barrier<1>
        nagpu.tma_load %map[%zero, %bx, %zero, %zero] into %tile signal %full[%zero]
          : !map, !tile, !nagpu.barrier<1>
      } consumers(%group in 2) {
      }
      gpu.terminator
    }
  }
  return
}
