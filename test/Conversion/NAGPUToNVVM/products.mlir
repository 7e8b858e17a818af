// RUN: na-opt %s -convert-nagpu-to-nvvm -canonicalize -cse | FileCheck %s

// Rows 16 i + lane % 16 of the warp's 32; the lanes from 16 on take the second
// chunk of a depth of 16. The next depth flips a bit of the chunk.
// CHECK-LABEL: func @lhs(
// CHECK-SAME:    %[[TILE:.*]]: i32)
// CHECK:         %[[T:.*]] = nvvm.read.ptx.sreg.tid.x range <i32, 0, 64> : i32
// CHECK:         %[[W:.*]] = arith.divui %[[T]], %c32_i32
// CHECK:         %[[WR:.*]] = arith.muli %[[W]], %c32_i32
// CHECK:         %[[L:.*]] = arith.andi %[[T]], %c31_i32
// CHECK:         %[[L16:.*]] = arith.remui %[[L]], %c16_i32
// CHECK:         %[[ROW:.*]] = arith.addi %[[WR]], %[[L16]]
// CHECK:         %[[SIDE:.*]] = arith.divui %[[L]], %c16_i32
// CHECK:         %[[F:.*]] = arith.andi %[[ROW]], %c7_i32
// CHECK:         arith.xori %[[SIDE]], %[[F]]
// CHECK:         %[[A:.*]] = arith.addi %[[TILE]], %{{.*}}
// CHECK:         %[[A1:.*]] = arith.xori %[[A]], %c32_i32
// CHECK:         %[[P:.*]] = llvm.inttoptr %[[A1]] : i32 to !llvm.ptr<3>
// CHECK:         nvvm.ldmatrix %[[P]] {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32
// CHECK:         %[[P1:.*]] = llvm.getelementptr %[[P]][2048]
// CHECK:         nvvm.ldmatrix %[[P1]] {{.*}}num = 4 : i32
// CHECK-NOT:     nvvm.ldmatrix
// CHECK:         return {{.*}} : vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>
func.func @lhs(%tile: !nagpu.shared<64x64xbf16, xor>)
    -> !nagpu.fragment<64x16xbf16, lhs, 2> {
  %0 = nagpu.ldmatrix %tile[0, 16]
    : !nagpu.shared<64x64xbf16, xor> -> !nagpu.fragment<64x16xbf16, lhs, 2>
  return %0 : !nagpu.fragment<64x16xbf16, lhs, 2>
}

// Keys: the rows of memory are the columns. Three blocks of 8: a load of four
// matrices and one of two.
// CHECK-LABEL: func @rhs_transposed
// CHECK:         nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>, num = 4
// CHECK:         nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>, num = 2
// CHECK-NOT:     nvvm.ldmatrix
func.func @rhs_transposed(%tile: !nagpu.shared<24x32xf16, xor>)
    -> !nagpu.fragment<16x24xf16, rhs, 1> {
  %0 = nagpu.ldmatrix %tile[0, 16] transposed
    : !nagpu.shared<24x32xf16, xor> -> !nagpu.fragment<16x24xf16, rhs, 1>
  return %0 : !nagpu.fragment<16x24xf16, rhs, 1>
}

// Values: transposed by the load.
// CHECK-LABEL: func @rhs
// CHECK:         %[[P:.*]] = llvm.inttoptr
// CHECK:         %[[P1:.*]] = llvm.getelementptr %[[P]][1024]
// CHECK:         nvvm.ldmatrix %[[P1]] {{.*}}layout = #nvvm.mma_layout<col>, num = 4
// CHECK-NOT:     nvvm.ldmatrix
func.func @rhs(%tile: !nagpu.shared<32x32xf16, linear>)
    -> !nagpu.fragment<16x16xf16, rhs, 1> {
  %0 = nagpu.ldmatrix %tile[16, 0]
    : !nagpu.shared<32x32xf16, linear> -> !nagpu.fragment<16x16xf16, rhs, 1>
  return %0 : !nagpu.fragment<16x16xf16, rhs, 1>
}

// 32-bit elements across the rows have no matrix load.
// CHECK-LABEL: func @rhs_wide
// CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
// CHECK-NOT:     ldmatrix
func.func @rhs_wide(%tile: !nagpu.shared<16x8xf32, padded>)
    -> !nagpu.fragment<16x8xf32, rhs, 1> {
  %0 = nagpu.ldmatrix %tile[0, 0] permuted
    : !nagpu.shared<16x8xf32, padded> -> !nagpu.fragment<16x8xf32, rhs, 1>
  return %0 : !nagpu.fragment<16x8xf32, rhs, 1>
}

// The two blocks of rows follow each other; bf16 goes as i32.
// CHECK-LABEL: func @mma(
// CHECK-SAME:    %[[A0:[^ :]*]]: vector<2xbf16>
// CHECK:         %[[I:.*]] = llvm.bitcast %[[A0]] : vector<2xbf16> to i32
// CHECK:         nvvm.mma.sync A[%[[I]], {{.*}}] B[%[[B0:.*]], %[[B1:.*]]] C[%{{.*}}] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>}
// CHECK:         nvvm.mma.sync A[{{.*}}] B[%[[B0]], %[[B1]]]
// CHECK:         nvvm.mma.sync A[%[[I]], {{.*}}]
// CHECK:         nvvm.mma.sync
// CHECK-NOT:     nvvm.mma.sync
func.func @mma(%a: !nagpu.fragment<32x16xbf16, lhs, 1>,
               %b: !nagpu.fragment<16x16xbf16, rhs, 1>,
               %c: !nagpu.fragment<32x16xf32, accumulator, 1>)
    -> !nagpu.fragment<32x16xf32, accumulator, 1> {
  %d = nagpu.mma %a, %b, %c
    : !nagpu.fragment<32x16xbf16, lhs, 1>, !nagpu.fragment<16x16xbf16, rhs, 1>,
      !nagpu.fragment<32x16xf32, accumulator, 1>
  return %d : !nagpu.fragment<32x16xf32, accumulator, 1>
}

// CHECK-LABEL: func @mma_f16
// CHECK:         nvvm.mma.sync {{.*}} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
func.func @mma_f16(%a: !nagpu.fragment<16x16xf16, lhs, 1>,
                   %b: !nagpu.fragment<16x8xf16, rhs, 1>,
                   %c: !nagpu.fragment<16x8xf32, accumulator, 1>)
    -> !nagpu.fragment<16x8xf32, accumulator, 1> {
  %d = nagpu.mma %a, %b, %c
    : !nagpu.fragment<16x16xf16, lhs, 1>, !nagpu.fragment<16x8xf16, rhs, 1>,
      !nagpu.fragment<16x8xf32, accumulator, 1>
  return %d : !nagpu.fragment<16x8xf32, accumulator, 1>
}

// CHECK-LABEL: func @mma_tf32
// CHECK-COUNT-6: nvvm.convert.float.to.tf32 %{{.*}} {rnd = #nvvm.fp_rnd_mode<rna>}
// CHECK:         nvvm.mma.sync {{.*}}tf32{{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 8>
func.func @mma_tf32(%a: !nagpu.fragment<16x8xf32, lhs, 1>,
                    %b: !nagpu.fragment<8x8xf32, rhs, 1>,
                    %c: !nagpu.fragment<16x8xf32, accumulator, 1>)
    -> !nagpu.fragment<16x8xf32, accumulator, 1> {
  %d = nagpu.mma %a, %b, %c
    : !nagpu.fragment<16x8xf32, lhs, 1>, !nagpu.fragment<8x8xf32, rhs, 1>,
      !nagpu.fragment<16x8xf32, accumulator, 1>
  return %d : !nagpu.fragment<16x8xf32, accumulator, 1>
}

// Both operands lie along rows: vector loads, and a loop over the chunks.
// CHECK-LABEL: func @fma_transposed(
// CHECK-SAME:    %[[Q:.*]]: i32, %[[K:.*]]: i32
// CHECK:         scf.for %[[I:.*]] = %c0_i32 to %c16_i32 step %c1_i32 iter_args({{.*}}) -> (f32, f32, f32, f32)
// CHECK:           llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// CHECK-COUNT-16:  math.fma
// CHECK-NOT:     math.fma
func.func @fma_transposed(%q: !nagpu.shared<16x64xf32, padded>,
                          %k: !nagpu.shared<8x64xf32, padded>,
                          %c: !nagpu.fragment<16x8xf32, accumulator, 1>)
    -> !nagpu.fragment<16x8xf32, accumulator, 1> {
  %d = nagpu.fma %q, %k, %c transposed
    : !nagpu.shared<16x64xf32, padded>, !nagpu.shared<8x64xf32, padded>,
      !nagpu.fragment<16x8xf32, accumulator, 1>
  return %d : !nagpu.fragment<16x8xf32, accumulator, 1>
}

// The lanes of a row pass its elements on.
// CHECK-LABEL: func @fma_fragment(
// CHECK-SAME:    %[[P0:[^ :]*]]: f32
// CHECK:         %[[FIRST:.*]] = arith.andi %{{.*}}, %c-4_i32
// CHECK:         nvvm.shfl.sync idx %c-1_i32, %[[P0]], %[[FIRST]], %c31_i32
// CHECK:         llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
// CHECK:         math.fma
func.func @fma_fragment(%p: !nagpu.fragment<16x8xf32, accumulator, 1>,
                        %v: !nagpu.shared<8x8xf32, padded>,
                        %c: !nagpu.fragment<16x8xf32, accumulator, 1>)
    -> !nagpu.fragment<16x8xf32, accumulator, 1> {
  %d = nagpu.fma %p, %v, %c
    : !nagpu.fragment<16x8xf32, accumulator, 1>, !nagpu.shared<8x8xf32, padded>,
      !nagpu.fragment<16x8xf32, accumulator, 1>
  return %d : !nagpu.fragment<16x8xf32, accumulator, 1>
}
