// RUN: na-opt %s -convert-nagpu-to-nvvm -canonicalize -cse | FileCheck %s

!column = !nagpu.fragment<32xf32, column, 2>
!row = !nagpu.fragment<32xf32, row, 2>
!acc = !nagpu.fragment<32x32xf32, accumulator, 2>

// One number a token, four bytes at a time; the 64 threads take 32 tokens.
// CHECK-LABEL: func @copy
// CHECK:         arith.cmpi ult, %{{.*}}, %c32_i32
// CHECK-COUNT-1: llvm.inline_asm {{.*}} "@$2 cp.async.ca.shared.global.L2::128B [$0+0], [$1+0], 4, $3;"
// CHECK-NOT:     cp.async
func.func @copy(%lse: memref<1x56x2xf32>, %b: index, %x: index) {
  %tile = nagpu.alloc {offset = 0 : i64} : !nagpu.shared<1x32xf32, xor>
  %t = nagpu.async_copy %lse[%b, %b] at(%x) box [32] dilation [1] into %tile warps 2
    : memref<1x56x2xf32>, !nagpu.shared<1x32xf32, xor>
  return
}

// A lane has two neighbouring columns of every eight.
// CHECK-LABEL: func @columns
// CHECK-COUNT-4: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<2xf32>
// CHECK-NOT:     llvm.load
func.func @columns(%tile: !nagpu.shared<1x32xf32, xor>) -> !column {
  %c = nagpu.ldvector %tile : !nagpu.shared<1x32xf32, xor> -> !column
  return %c : !column
}

// CHECK-LABEL: func @rows
// CHECK-COUNT-2: llvm.load %{{.*}} : !llvm.ptr<3> -> f32
// CHECK-NOT:     llvm.load
func.func @rows(%tile: !nagpu.shared<1x32xf32, xor>) -> !row {
  %r = nagpu.ldvector %tile : !nagpu.shared<1x32xf32, xor> -> !row
  return %r : !row
}

// What depends on the column only is computed once for the two rows of a
// thread.
// CHECK-LABEL: func @map
// CHECK-COUNT-8: arith.mulf
// CHECK-NOT:     arith.mulf
// CHECK-LABEL: func @column_index
func.func @map(%c: !column, %a: !acc) -> !acc {
  %m = nagpu.map(%c, %a : !column, !acc) {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %x : f32
    %w = arith.addf %y, %z : f32
    nagpu.yield %w : f32
  } : !acc
  return %m : !acc
}

// Columns 2 t, 2 t + 1, 8 + 2 t, ..
// CHECK:         %[[T:.*]] = arith.muli %{{.*}}, %c2_i32
// CHECK:         arith.sitofp %[[T]]
// CHECK:         %[[T1:.*]] = arith.addi %[[T]], %c1_i32
// CHECK:         arith.sitofp %[[T1]]
// CHECK:         %[[T8:.*]] = arith.addi %[[T]], %c8_i32
// CHECK:         arith.sitofp %[[T8]]
func.func @column_index(%c: !column) -> !column {
  %m = nagpu.map(%c : !column) {
  ^bb0(%x: f32):
    %i = nagpu.index 1
    %f = arith.sitofp %i : i32 to f32
    nagpu.yield %f : f32
  } : !column
  return %m : !column
}
