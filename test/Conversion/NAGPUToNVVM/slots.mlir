// RUN: na-opt %s -convert-nagpu-to-nvvm -canonicalize -cse | FileCheck %s

// 21 slots of a row in a tile of 4x8 keys: 28 at most, one store of 28 lanes.
// Rows go through shared memory, with the lanes of the warp along the slots.
// CHECK-LABEL: func @scatter(
// CHECK:         nvvm.bar.warp.sync
// Where a row begins, in memory and in the tile, and its counts.
// CHECK:         %[[ROW:.*]] = llvm.ptrtoint %{{.*}} : !llvm.ptr<1> to i64
// CHECK:         llvm.store %[[ROW]], %{{.*}} : i64, !llvm.ptr<3>
// CHECK:         llvm.store %{{.*}} : vector<2xi32>, !llvm.ptr<3>
// CHECK:         llvm.store %{{.*}} : i32, !llvm.ptr<3>
// CHECK:         llvm.store %{{.*}} : vector<2xf32>, !llvm.ptr<3>
// CHECK-NOT:     !llvm.ptr<1>
// CHECK:         nvvm.bar.warp.sync
// CHECK:         llvm.load %{{.*}} : !llvm.ptr<3> -> vector<2xi64>
// CHECK:         %[[SCORE:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> f32
// CHECK:         scf.if %{{.*}} {
// CHECK:           llvm.store %[[SCORE]], %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<1>
// CHECK-NEXT:    }
// CHECK-COUNT-15: : f32, !llvm.ptr<1>
// CHECK-NOT:     : f32, !llvm.ptr<1>
func.func @scatter(%s: !nagpu.fragment<16x32xf32, accumulator, 1>,
                   %m: memref<1x20x30x2x21xf32>, %c: index,
                   %r: !nagpu.fragment<16xi32, row, 1>) {
  %t = nagpu.alloc {offset = 0 : i64} : !nagpu.shared<17x44xf32, padded>
  nagpu.scatter %s via %t into %m[%c, %c] at(%c, %c) ranges(%r, %r, %r, %r) window [3, 7]
    query_box [2, 8] key_box [4, 8] dilation [1, 2]
    : !nagpu.fragment<16x32xf32, accumulator, 1>, !nagpu.shared<17x44xf32, padded>, memref<1x20x30x2x21xf32>,
      !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>,
      !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}

// Zeros first. 40 slots are two loads a row; the loads of eight rows are in
// flight before what they bring is stored. A lane without a slot stores to the
// scratch of the first row.
// CHECK-LABEL: func @gather(
// CHECK:         nvvm.bar.warp.sync
// CHECK:         llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK:         nvvm.bar.warp.sync
// CHECK:         llvm.store %{{.*}} : i64, !llvm.ptr<3>
// CHECK:         nvvm.bar.warp.sync
// CHECK-COUNT-16: llvm.load %{{.*}} : !llvm.ptr<1> -> i16
// CHECK-NOT:     llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK-COUNT-16: llvm.store %{{.*}} {alignment = 2 : i64} : i16, !llvm.ptr<3>
// CHECK:         llvm.load %{{.*}} : !llvm.ptr<1> -> i16
// CHECK:         nvvm.bar.warp.sync
// CHECK:         nvvm.ldmatrix
func.func @gather(%m: memref<1x90x2x40xbf16>, %c: index, %r: !nagpu.fragment<16xi32, row, 1>)
    -> !nagpu.fragment<16x16xbf16, lhs, 1> {
  %t = nagpu.alloc {offset = 0 : i64} : !nagpu.shared<16x88xbf16, padded>
  %w = nagpu.gather %m[%c, %c] at(%c) ranges(%r, %r) into %t window [40] query_box [16] key_box [64] dilation [1] warps 1
    : memref<1x90x2x40xbf16>, !nagpu.shared<16x88xbf16, padded>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  %a = nagpu.ldmatrix %w[0, 0] : !nagpu.shared<16x88xbf16, padded> -> !nagpu.fragment<16x16xbf16, lhs, 1>
  return %a : !nagpu.fragment<16x16xbf16, lhs, 1>
}

// For all warps, rounded to the type of the tile: barriers of the CTA around it.
// Matrices are transposed as they are loaded.
// CHECK-LABEL: func @gather_for_cta(
// CHECK:         gpu.barrier
// CHECK:         nvvm.bar.warp.sync
// CHECK:         llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK:         %[[NARROW:.*]] = arith.truncf %{{.*}} : f32 to bf16
// CHECK:         llvm.store %[[NARROW]], %{{.*}} {alignment = 2 : i64} : bf16, !llvm.ptr<3>
// CHECK:         gpu.barrier
// CHECK:         nvvm.ldmatrix %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>, num = 4 : i32
func.func @gather_for_cta(%m: memref<1x90x2x40xf32>, %c: index, %r: !nagpu.fragment<32xi32, row, 2>)
    -> !nagpu.fragment<64x16xbf16, lhs, 2> {
  %t = nagpu.alloc {offset = 0 : i64} : !nagpu.shared<32x88xbf16, padded>
  %w = nagpu.gather %m[%c, %c] at(%c) ranges(%r, %r) into %t window [40] query_box [32] key_box [64] dilation [1] warps 2 for_cta
    : memref<1x90x2x40xf32>, !nagpu.shared<32x88xbf16, padded>, !nagpu.fragment<32xi32, row, 2>, !nagpu.fragment<32xi32, row, 2>
  %a = nagpu.ldmatrix %w[16, 0] transposed : !nagpu.shared<32x88xbf16, padded> -> !nagpu.fragment<64x16xbf16, lhs, 2>
  return %a : !nagpu.fragment<64x16xbf16, lhs, 2>
}
