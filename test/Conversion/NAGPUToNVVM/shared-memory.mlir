// RUN: na-opt %s -convert-nagpu-to-nvvm -canonicalize -cse | FileCheck %s

// CHECK-LABEL: func @alloc() -> i32
// CHECK:         %[[M:.*]] = gpu.dynamic_shared_memory
// CHECK:         %[[P:.*]] = memref.extract_aligned_pointer_as_index %[[M]]
// CHECK:         %[[A:.*]] = arith.index_cast %[[P]] : index to i32
// CHECK:         %[[R:.*]] = arith.addi %[[A]], %c1024_i32
// CHECK:         return %[[R]]
func.func @alloc() -> !nagpu.shared<2x64x64xbf16, xor> {
  %0 = nagpu.alloc {offset = 1024 : i64} : !nagpu.shared<2x64x64xbf16, xor>
  return %0 : !nagpu.shared<2x64x64xbf16, xor>
}

// A slot of 15 rows of 5 chunks takes 1200 bytes, rounded up to 1280.
// CHECK-LABEL: func @slot(
// CHECK-SAME:    %[[RING:.*]]: i32, %[[I:.*]]: index) -> i32
// CHECK:         %[[C:.*]] = arith.index_cast %[[I]] : index to i32
// CHECK:         %[[O:.*]] = arith.muli %[[C]], %c1280_i32
// CHECK:         %[[R:.*]] = arith.addi %[[RING]], %[[O]]
// CHECK:         return %[[R]]
func.func @slot(%ring: !nagpu.shared<2x15x40xbf16, padded>, %i: index)
    -> !nagpu.shared<15x40xbf16, padded> {
  %0 = nagpu.slot %ring[%i]
    : !nagpu.shared<2x15x40xbf16, padded> -> !nagpu.shared<15x40xbf16, padded>
  return %0 : !nagpu.shared<15x40xbf16, padded>
}

// 8 threads a row, 16 rows at once: one row of the box, so that the second
// step differs in x alone. The swizzle combines chunk and row. The batch's
// offset is in 64 bits, offsets in it are in 32. Tokens vanish.
// CHECK-LABEL: func @copy16(
// CHECK-SAME:    %[[M:.*]]: memref<1x40x48x2x64xbf16>, %[[TILE:.*]]: i32, %[[B:.*]]: index, %[[H:.*]]: index, %[[X:.*]]: index, %[[Y:.*]]: index)
// CHECK:         arith.muli %{{.*}}, %c491520_i64 : i64
// CHECK:         %[[BASE:.*]] = llvm.getelementptr %{{.*}} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
// CHECK:         %[[X32:.*]] = arith.index_cast %[[X]] : index to i32
// CHECK:         %[[Y32:.*]] = arith.index_cast %[[Y]] : index to i32
// CHECK:         %[[T:.*]] = nvvm.read.ptx.sreg.tid.x range <i32, 0, 128> : i32
// CHECK:         %[[UNIT:.*]] = arith.remui %[[T]], %c8_i32
// CHECK:         %[[ROW:.*]] = arith.divui %[[T]], %c8_i32
// CHECK:         %[[TY:.*]] = arith.remui %[[ROW]], %c16_i32
// CHECK:         %[[XT:.*]] = arith.addi %[[X32]], %{{.*}} : i32
// CHECK:         %[[XIN:.*]] = arith.cmpi ult, %[[XT]], %c40_i32
// CHECK:         %[[YT:.*]] = arith.addi %[[Y32]], %[[TY]] : i32
// CHECK:         %[[YIN:.*]] = arith.cmpi ult, %[[YT]], %c48_i32
// CHECK:         %[[IN:.*]] = arith.andi %[[XIN]], %[[YIN]]
// CHECK:         %[[SOURCE:.*]] = llvm.getelementptr %[[BASE]][%{{.*}}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
// CHECK:         %[[F:.*]] = arith.andi %{{.*}}, %c7_i32
// CHECK:         arith.xori %[[UNIT]], %[[F]]
// CHECK:         %[[DEST:.*]] = arith.addi %[[TILE]], %{{.*}} : i32
// CHECK:         %[[OUT:.*]] = arith.xori %[[IN]], %true
// CHECK:         llvm.inline_asm has_side_effects {{.*}} "cp.async.cg.shared.global.L2::128B [$0+0], [$1+0], 16, $2;", "r,l,b" %[[DEST]], %[[SOURCE]], %[[OUT]]
// CHECK:         %[[X1:.*]] = arith.addi %[[XT]], %c1_i32
// CHECK:         %[[XIN1:.*]] = arith.cmpi ult, %[[X1]], %c40_i32
// CHECK:         %[[IN1:.*]] = arith.andi %[[XIN1]], %[[YIN]]
// CHECK:         %[[OUT1:.*]] = arith.xori %[[IN1]], %true
// CHECK:         llvm.inline_asm has_side_effects {{.*}} "cp.async.cg.shared.global.L2::128B [$0+2048], [$1+12288], 16, $2;", "r,l,b" %[[DEST]], %[[SOURCE]], %[[OUT1]]
// CHECK-NEXT:    nvvm.cp.async.commit.group
// CHECK-NEXT:    nvvm.cp.async.wait.group 1
// CHECK-NEXT:    gpu.barrier
// CHECK-NEXT:    return %[[TILE]]
func.func @copy16(
    %m: memref<1x40x48x2x64xbf16>, %tile: !nagpu.shared<32x64xbf16, xor>,
    %b: index, %h: index, %x: index, %y: index)
    -> !nagpu.shared<32x64xbf16, xor> {
  %t = nagpu.async_copy %m[%b, %h] at(%x, %y) box [2, 16] dilation [1, 1]
         into %tile warps 4
    : memref<1x40x48x2x64xbf16>, !nagpu.shared<32x64xbf16, xor>
  %g = nagpu.async_commit %t
  %tile1 = nagpu.async_wait %g pending 1 tiles(%tile)
    : !nagpu.shared<32x64xbf16, xor>
  return %tile1 : !nagpu.shared<32x64xbf16, xor>
}

// CHECK-LABEL: func @barrier
// CHECK-NEXT:    gpu.barrier
func.func @barrier() {
  nagpu.barrier
  return
}

// 8 bytes divide the 28 channels of a token; the last two of the 16 units of a
// row are zeros.
// CHECK-LABEL: func @copy8
// CHECK:         %[[UNIT:.*]] = arith.remui %{{.*}}, %c8_i32
// CHECK:         "cp.async.ca.shared.global.L2::128B [$0+0], [$1+0], 8, $2;"
// CHECK-NOT:     cp.async
func.func @copy8(
    %m: memref<1x9x4x28xbf16>, %tile: !nagpu.shared<4x32xbf16, xor>,
    %c: index) {
  %t = nagpu.async_copy %m[%c, %c] at(%c) box [4] dilation [1]
         into %tile warps 1
    : memref<1x9x4x28xbf16>, !nagpu.shared<4x32xbf16, xor>
  return
}

// 13 channels have no unit of 4 bytes: elements, with a load from the first
// token where the row or column does not exist.
// CHECK-LABEL: func @copy_elements
// CHECK:         %[[V:.*]] = llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<1> -> bf16
// CHECK:         %[[S:.*]] = arith.select %{{.*}}, %[[V]], %{{.*}} : bf16
// CHECK:         llvm.store %[[S]], %{{.*}} {alignment = 2 : i64} : bf16, !llvm.ptr<3>
// CHECK-NOT:     cp.async
func.func @copy_elements(
    %m: memref<1x9x4x13xbf16>, %tile: !nagpu.shared<5x16xbf16, xor>,
    %c: index) {
  %t = nagpu.async_copy %m[%c, %c] at(%c) box [5] dilation [1]
         into %tile warps 1
    : memref<1x9x4x13xbf16>, !nagpu.shared<5x16xbf16, xor>
  return
}

// Threads beyond the tile's rows copy nothing.
// CHECK-LABEL: func @rows_beyond
// CHECK:         %[[IN:.*]] = arith.cmpi ult, %{{.*}}, %c3_i32
// CHECK:         "@$2 cp.async.cg.shared.global.L2::128B [$0+0], [$1+0], 16, $3;", "r,l,b,b" %{{.*}}, %{{.*}}, %[[IN]], %{{.*}}
func.func @rows_beyond(
    %m: memref<1x9x4x32xf16>, %tile: !nagpu.shared<3x32xf16, xor>,
    %c: index) {
  %t = nagpu.async_copy %m[%c, %c] at(%c) box [3] dilation [1]
         into %tile warps 1
    : memref<1x9x4x32xf16>, !nagpu.shared<3x32xf16, xor>
  return
}

// Dynamic sizes: 64-bit offsets; their strides are multiples of a token.
// CHECK-LABEL: func @dynamic
// CHECK:         memref.extract_strided_metadata
// CHECK:         "cp.async.cg.shared.global.L2::128B
func.func @dynamic(
    %m: memref<?x?x?x32xf16>, %tile: !nagpu.shared<8x32xf16, xor>, %c: index) {
  %t = nagpu.async_copy %m[%c, %c] at(%c) box [8] dilation [2]
         into %tile warps 1
    : memref<?x?x?x32xf16>, !nagpu.shared<8x32xf16, xor>
  return
}

// The start of a slice of the channels is a multiple of 32, or only of 2.
// CHECK-LABEL: func @slices
// CHECK:         "cp.async.cg.shared.global.L2::128B [$0+0], [$1+0], 16, $2;"
// CHECK:         "cp.async.ca.shared.global.L2::128B [$0+0], [$1+0], 4, $2;"
func.func @slices(
    %m: memref<1x9x4x96xf16>, %tile: !nagpu.shared<8x32xf16, xor>,
    %c: index) {
  %c32 = arith.constant 32 : index
  %c2 = arith.constant 2 : index
  %p = arith.muli %c, %c32 : index
  %q = arith.muli %c, %c2 : index
  %a = memref.subview %m[0, 0, 0, %p] [1, 9, 4, 32] [1, 1, 1, 1]
    : memref<1x9x4x96xf16> to memref<1x9x4x32xf16, strided<[3456, 384, 96, 1], offset: ?>>
  %b = memref.subview %m[0, 0, 0, %q] [1, 9, 4, 32] [1, 1, 1, 1]
    : memref<1x9x4x96xf16> to memref<1x9x4x32xf16, strided<[3456, 384, 96, 1], offset: ?>>
  %t = nagpu.async_copy %a[%c, %c] at(%c) box [8] dilation [2]
         into %tile warps 1
    : memref<1x9x4x32xf16, strided<[3456, 384, 96, 1], offset: ?>>, !nagpu.shared<8x32xf16, xor>
  %u = nagpu.async_copy %b[%c, %c] at(%c) box [8] dilation [2]
         into %tile warps 1
    : memref<1x9x4x32xf16, strided<[3456, 384, 96, 1], offset: ?>>, !nagpu.shared<8x32xf16, xor>
  return
}
