// RUN: na-opt %s -split-input-file -nagpu-assign-layouts -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,IEEE
// RUN: na-opt %s -split-input-file -nagpu-assign-layouts=tf32 -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,TF32

// Loads, products and loops. A tile becomes a shared tile behind a copy and a
// wait; 24 channels are padded to 32, in the tile only. In a loop a barrier
// comes first: nobody reads the last tile any more. The query operand, of few
// registers, is read before the loop.
// CHECK-LABEL: func @attention
// CHECK-SAME:    %[[Q0:[a-z0-9_]+]]: memref<1x64x1x24xbf16>, %[[K0:[a-z0-9_]+]]: memref<1x64x1x24xbf16>, %[[V0:[a-z0-9_]+]]: memref<1x64x1x40xbf16>, %[[O0:[a-z0-9_]+]]: memref<1x64x1x40xbf16>
// CHECK-DAG:     %[[Q:.*]] = memref.assume_alignment %[[Q0]], 16
// CHECK-DAG:     %[[K:.*]] = memref.assume_alignment %[[K0]], 16
// CHECK-DAG:     %[[V:.*]] = memref.assume_alignment %[[V0]], 16
// CHECK-DAG:     %[[O:.*]] = memref.assume_alignment %[[O0]], 16
// CHECK:         gpu.launch
// CHECK:           %[[VT:.*]] = nagpu.alloc : <32x48xbf16, linear>
// CHECK:           %[[KT:.*]] = nagpu.alloc : <32x32xbf16, linear>
// CHECK:           %[[QT:.*]] = nagpu.alloc : <16x32xbf16, linear>
// CHECK-NEXT:      %[[QC:.*]] = nagpu.async_copy %[[Q]][%[[B:[a-z0-9_]+]], %[[B]]] at(%[[B]]) box [16] dilation [2] into %[[QT]] warps 1
// CHECK-NEXT:      %[[QG:.*]] = nagpu.async_commit %[[QC]]
// CHECK-NEXT:      %[[QW:.*]] = nagpu.async_wait %[[QG]] pending 0 tiles(%[[QT]])
// CHECK-NEXT:      %[[A0:.*]] = nagpu.ldmatrix %[[QW]][0, 0] : <16x32xbf16, linear> -> <16x16xbf16, lhs, 1>
// CHECK-NEXT:      %[[A1:.*]] = nagpu.ldmatrix %[[QW]][0, 16] : <16x32xbf16, linear> -> <16x16xbf16, lhs, 1>
// CHECK-NEXT:      %[[ZEROS:.*]] = nagpu.splat %{{.*}} : f32 -> <16x48xf32, accumulator, 1>
// CHECK-NEXT:      %[[R:.*]] = scf.for %[[I:.*]] = {{.*}} iter_args(%[[ACC:.*]] = %[[ZEROS]]) -> (!nagpu.fragment<16x48xf32, accumulator, 1>)
// CHECK-NEXT:        nagpu.barrier
// CHECK-NEXT:        nagpu.async_copy %[[K]]{{.*}} at(%[[I]]) box [32] dilation [2] into %[[KT]]
// CHECK-NEXT:        nagpu.async_commit
// CHECK-NEXT:        %[[KW:.*]] = nagpu.async_wait {{.*}} tiles(%[[KT]])
// CHECK-NEXT:        %[[S:.*]] = nagpu.splat %{{.*}} : f32 -> <16x32xf32, accumulator, 1>
// CHECK-NEXT:        %[[B0:.*]] = nagpu.ldmatrix %[[KW]][0, 0] transposed : <32x32xbf16, linear> -> <16x32xbf16, rhs, 1>
// CHECK-NEXT:        %[[S0:.*]] = nagpu.mma %[[A0]], %[[B0]], %[[S]]
// CHECK-NEXT:        %[[B1:.*]] = nagpu.ldmatrix %[[KW]][0, 16] transposed
// CHECK-NEXT:        %[[S1:.*]] = nagpu.mma %[[A1]], %[[B1]], %[[S0]]
// CHECK-NEXT:        %[[P:.*]] = nagpu.convert %[[S1]] : <16x32xf32, accumulator, 1> -> <16x32xbf16, lhs, 1>
// CHECK-NEXT:        nagpu.barrier
// CHECK-NEXT:        nagpu.async_copy %[[V]]{{.*}} into %[[VT]]
// CHECK-NEXT:        nagpu.async_commit
// CHECK-NEXT:        %[[VW:.*]] = nagpu.async_wait {{.*}} tiles(%[[VT]])
// CHECK-NEXT:        %[[C0:.*]] = nagpu.ldmatrix %[[VW]][0, 0] : <32x48xbf16, linear> -> <16x48xbf16, rhs, 1>
// CHECK-NEXT:        %[[P0:.*]] = nagpu.extract %[[P]][0] : <16x32xbf16, lhs, 1> -> <16x16xbf16, lhs, 1>
// CHECK-NEXT:        %[[O1:.*]] = nagpu.mma %[[P0]], %[[C0]], %[[ACC]]
// CHECK-NEXT:        %[[C1:.*]] = nagpu.ldmatrix %[[VW]][16, 0]
// CHECK-NEXT:        %[[P1:.*]] = nagpu.extract %[[P]][16]
// CHECK-NEXT:        %[[O2:.*]] = nagpu.mma %[[P1]], %[[C1]], %[[O1]]
// CHECK-NEXT:        scf.yield %[[O2]]
// CHECK:           nagpu.store %[[R]] into %[[O]][%[[B]], %[[B]]] at(%[[B]]) box [16] dilation [2] : <16x48xf32, accumulator, 1>, memref<1x64x1x40xbf16>
// CHECK-NEXT:      gpu.terminator
#id = affine_map<(d0, d1) -> (d0, d1)>
#mk = affine_map<(d0, d1, d2) -> (d0, d2)>
#nk = affine_map<(d0, d1, d2) -> (d1, d2)>
#kn = affine_map<(d0, d1, d2) -> (d2, d1)>
#mn = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @attention(%q: memref<1x64x1x24xbf16>, %k: memref<1x64x1x24xbf16>,
                     %v: memref<1x64x1x40xbf16>, %o: memref<1x64x1x40xbf16>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %q0 = tensor.empty() : tensor<16x24xbf16>
    %qt = na.tile.load %q[%b, %b] at(%b) box [16] dilation [2] into %q0
      : memref<1x64x1x24xbf16>, tensor<16x24xbf16> -> tensor<16x24xbf16>
    %o0 = tensor.empty() : tensor<16x40xf32>
    %zeros = linalg.fill ins(%f0 : f32) outs(%o0 : tensor<16x40xf32>) -> tensor<16x40xf32>
    %r = scf.for %i = %b to %c32 step %c1 iter_args(%acc = %zeros) -> (tensor<16x40xf32>) {
      %k0 = tensor.empty() : tensor<32x24xbf16>
      %kt = na.tile.load %k[%b, %b] at(%i) box [32] dilation [2] into %k0
        : memref<1x64x1x24xbf16>, tensor<32x24xbf16> -> tensor<32x24xbf16>
      %s0 = tensor.empty() : tensor<16x32xf32>
      %s1 = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x32xf32>) -> tensor<16x32xf32>
      %s = linalg.contract indexing_maps = [#mk, #nk, #mn]
        ins(%qt, %kt : tensor<16x24xbf16>, tensor<32x24xbf16>) outs(%s1 : tensor<16x32xf32>) -> tensor<16x32xf32>
      %p0 = tensor.empty() : tensor<16x32xbf16>
      %p = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%s : tensor<16x32xf32>) outs(%p0 : tensor<16x32xbf16>) {
      ^bb0(%x: f32, %y: bf16):
        %z = arith.truncf %x : f32 to bf16
        linalg.yield %z : bf16
      } -> tensor<16x32xbf16>
      %v0 = tensor.empty() : tensor<32x40xbf16>
      %vt = na.tile.load %v[%b, %b] at(%i) box [32] dilation [2] into %v0
        : memref<1x64x1x40xbf16>, tensor<32x40xbf16> -> tensor<32x40xbf16>
      %next = linalg.contract indexing_maps = [#mk, #kn, #mn]
        ins(%p, %vt : tensor<16x32xbf16>, tensor<32x40xbf16>) outs(%acc : tensor<16x40xf32>) -> tensor<16x40xf32>
      scf.yield %next : tensor<16x40xf32>
    }
    na.tile.store %r into %o[%b, %b] at(%b) box [16] dilation [2]
      : tensor<16x40xf32>, memref<1x64x1x40xbf16>
    gpu.terminator
  }
  return
}

// -----

// f32: FMA units on whole shared tiles, or, with tf32, blocks of 8. Weights
// keep their place as a left operand; the rows of the other one are permuted.
// CHECK-LABEL: func @f32
// CHECK:         %[[KT:.*]] = nagpu.alloc : <16x16xf32, linear>
// CHECK:         %[[QT:.*]] = nagpu.alloc : <16x16xf32, linear>
// CHECK:         %[[Q:.*]] = nagpu.async_wait {{.*}} tiles(%[[QT]])
// CHECK-NOT:     nagpu.barrier
// CHECK:         %[[K:.*]] = nagpu.async_wait {{.*}} tiles(%[[KT]])
// CHECK:         %[[ZEROS:.*]] = nagpu.splat
// IEEE-NEXT:     %[[S:.*]] = nagpu.fma %[[Q]], %[[K]], %[[ZEROS]] transposed
// IEEE-NEXT:     nagpu.fma %[[S]], %[[K]], %[[ZEROS]] :
// TF32-NEXT:     %[[A0:.*]] = nagpu.ldmatrix %[[Q]][0, 0] : <16x16xf32, linear> -> <16x8xf32, lhs, 1>
// TF32-NEXT:     %[[B0:.*]] = nagpu.ldmatrix %[[K]][0, 0] transposed : <16x16xf32, linear> -> <8x16xf32, rhs, 1>
// TF32-NEXT:     %[[S0:.*]] = nagpu.mma %[[A0]], %[[B0]], %[[ZEROS]]
// TF32-NEXT:     %[[A1:.*]] = nagpu.ldmatrix %[[Q]][0, 8]
// TF32-NEXT:     %[[B1:.*]] = nagpu.ldmatrix %[[K]][0, 8] transposed
// TF32-NEXT:     %[[S:.*]] = nagpu.mma %[[A1]], %[[B1]], %[[S0]]
// TF32-NEXT:     %[[P:.*]] = nagpu.convert %[[S]] : <16x16xf32, accumulator, 1> -> <16x16xf32, lhs, 1>
// TF32-NEXT:     %[[C0:.*]] = nagpu.ldmatrix %[[K]][0, 0] permuted : <16x16xf32, linear> -> <8x16xf32, rhs, 1>
// TF32-NEXT:     %[[P0:.*]] = nagpu.extract %[[P]][0]
// TF32-NEXT:     %[[O0:.*]] = nagpu.mma %[[P0]], %[[C0]], %[[ZEROS]]
// TF32-NEXT:     %[[C1:.*]] = nagpu.ldmatrix %[[K]][8, 0] permuted
// TF32-NEXT:     %[[P1:.*]] = nagpu.extract %[[P]][8]
// TF32-NEXT:     nagpu.mma %[[P1]], %[[C1]], %[[O0]]
#mk = affine_map<(d0, d1, d2) -> (d0, d2)>
#nk = affine_map<(d0, d1, d2) -> (d1, d2)>
#kn = affine_map<(d0, d1, d2) -> (d2, d1)>
#mn = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @f32(%q: memref<1x64x1x8xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<16x8xf32>
    %qt = na.tile.load %q[%b, %b] at(%b) box [16] dilation [1] into %empty
      : memref<1x64x1x8xf32>, tensor<16x8xf32> -> tensor<16x8xf32>
    %kt = na.tile.load %q[%b, %b] at(%c1) box [16] dilation [1] into %empty
      : memref<1x64x1x8xf32>, tensor<16x8xf32> -> tensor<16x8xf32>
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s1 = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %s = linalg.contract indexing_maps = [#mk, #nk, #mn]
      ins(%qt, %kt : tensor<16x8xf32>, tensor<16x8xf32>) outs(%s1 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %o1 = linalg.fill ins(%f0 : f32) outs(%empty : tensor<16x8xf32>) -> tensor<16x8xf32>
    %o = linalg.contract indexing_maps = [#mk, #kn, #mn]
      ins(%s, %kt : tensor<16x16xf32>, tensor<16x8xf32>) outs(%o1 : tensor<16x8xf32>) -> tensor<16x8xf32>
    na.tile.store %o into %q[%b, %b] at(%b) box [16] dilation [1]
      : tensor<16x8xf32>, memref<1x64x1x8xf32>
    gpu.terminator
  }
  return
}

// -----

// A query operand of 64 registers a thread is read again in every iteration.
// The loops of a product may be numbered in any order.
// CHECK-LABEL: func @not_resident
// CHECK:         %[[Q:.*]] = nagpu.async_wait
// CHECK-NOT:     nagpu.ldmatrix
// CHECK:         scf.for
// CHECK:           %[[K:.*]] = nagpu.async_wait
// CHECK:           nagpu.ldmatrix %[[Q]][0, 0] : <16x256xf16, linear> -> <16x16xf16, lhs, 1>
// CHECK-NEXT:      nagpu.ldmatrix %[[K]][0, 0] transposed
// CHECK:           nagpu.ldmatrix %[[Q]][0, 240]
#km = affine_map<(d0, d1, d2) -> (d1, d0)>
#kn = affine_map<(d0, d1, d2) -> (d2, d0)>
#mn = affine_map<(d0, d1, d2) -> (d1, d2)>
func.func @not_resident(%q: memref<1x64x1x256xf16>, %w: memref<1x64x1x5xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<16x256xf16>
    %qt = na.tile.load %q[%b, %b] at(%b) box [16] dilation [1] into %empty
      : memref<1x64x1x256xf16>, tensor<16x256xf16> -> tensor<16x256xf16>
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s1 = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %r = scf.for %i = %b to %c32 step %c1 iter_args(%acc = %s1) -> (tensor<16x16xf32>) {
      %kt = na.tile.load %q[%b, %b] at(%i) box [16] dilation [1] into %empty
        : memref<1x64x1x256xf16>, tensor<16x256xf16> -> tensor<16x256xf16>
      %s = linalg.contract indexing_maps = [#km, #kn, #mn]
        ins(%qt, %kt : tensor<16x256xf16>, tensor<16x256xf16>) outs(%acc : tensor<16x16xf32>) -> tensor<16x16xf32>
      scf.yield %s : tensor<16x16xf32>
    }
    %sub = memref.subview %q[0, 0, 0, 0] [1, 64, 1, 16] [1, 1, 1, 1]
      : memref<1x64x1x256xf16> to memref<1x64x1x16xf16, strided<[16384, 256, 256, 1]>>
    na.tile.store %r into %sub[%b, %b] at(%b) box [16] dilation [1]
      : tensor<16x16xf32>, memref<1x64x1x16xf16, strided<[16384, 256, 256, 1]>>
    gpu.terminator
  }
  return
}

// -----

// What a loop has in registers is not read again behind it.
// CHECK-LABEL: func @resident_behind_loop
// CHECK:         %[[A:.*]] = nagpu.ldmatrix %{{.*}} -> <16x16xf16, lhs, 1>
// CHECK:         scf.for
// CHECK:           nagpu.mma %[[A]],
// CHECK:         }
// CHECK-NOT:     lhs, 1>{{$}}
// CHECK:         nagpu.mma %[[A]],
#mk = affine_map<(d0, d1, d2) -> (d0, d2)>
#nk = affine_map<(d0, d1, d2) -> (d1, d2)>
#mn = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @resident_behind_loop(%q: memref<1x64x1x16xf16>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<16x16xf16>
    %qt = na.tile.load %q[%b, %b] at(%b) box [16] dilation [1] into %empty
      : memref<1x64x1x16xf16>, tensor<16x16xf16> -> tensor<16x16xf16>
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s1 = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %r = scf.for %i = %b to %c32 step %c1 iter_args(%acc = %s1) -> (tensor<16x16xf32>) {
      %kt = na.tile.load %q[%b, %b] at(%i) box [16] dilation [1] into %empty
        : memref<1x64x1x16xf16>, tensor<16x16xf16> -> tensor<16x16xf16>
      %s = linalg.contract indexing_maps = [#mk, #nk, #mn]
        ins(%qt, %kt : tensor<16x16xf16>, tensor<16x16xf16>) outs(%acc : tensor<16x16xf32>) -> tensor<16x16xf32>
      scf.yield %s : tensor<16x16xf32>
    }
    %kt = na.tile.load %q[%b, %b] at(%c1) box [16] dilation [1] into %empty
      : memref<1x64x1x16xf16>, tensor<16x16xf16> -> tensor<16x16xf16>
    %s = linalg.contract indexing_maps = [#mk, #nk, #mn]
      ins(%qt, %kt : tensor<16x16xf16>, tensor<16x16xf16>) outs(%r : tensor<16x16xf32>) -> tensor<16x16xf32>
    na.tile.store %s into %q[%b, %b] at(%b) box [16] dilation [1]
      : tensor<16x16xf32>, memref<1x64x1x16xf16>
    gpu.terminator
  }
  return
}

// -----

// Rows of 10 channels begin on multiples of 4 bytes only, and those of a view
// with a dynamic offset on any element; what the view is made of is assumed to
// be aligned that much. Without a known layout nothing is assumed.
// CHECK-LABEL: func @alignment
// CHECK-DAG:     memref.assume_alignment %arg0, 4 : memref<1x64x1x10xbf16>
// CHECK-DAG:     memref.assume_alignment %arg1, 2 : memref<1x64x1x64xbf16>
// CHECK-DAG:     memref.assume_alignment %arg2, 2 : memref<1x64x1x16xbf16, #{{.*}}>
func.func @alignment(%q: memref<1x64x1x10xbf16>, %k: memref<1x64x1x64xbf16>,
                     %v: memref<1x64x1x16xbf16, affine_map<(d0, d1, d2, d3) -> (d1 mod 8, d3)>>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %e0 = tensor.empty() : tensor<16x10xbf16>
    %t0 = na.tile.load %q[%b, %b] at(%b) box [16] dilation [1] into %e0
      : memref<1x64x1x10xbf16>, tensor<16x10xbf16> -> tensor<16x10xbf16>
    %sub = memref.subview %k[0, 0, 0, %b] [1, 64, 1, 16] [1, 1, 1, 1]
      : memref<1x64x1x64xbf16> to memref<1x64x1x16xbf16, strided<[4096, 64, 64, 1], offset: ?>>
    %e1 = tensor.empty() : tensor<16x16xbf16>
    %t1 = na.tile.load %sub[%b, %b] at(%b) box [16] dilation [1] into %e1
      : memref<1x64x1x16xbf16, strided<[4096, 64, 64, 1], offset: ?>>, tensor<16x16xbf16> -> tensor<16x16xbf16>
    %t2 = na.tile.load %v[%b, %b] at(%b) box [16] dilation [1] into %e1
      : memref<1x64x1x16xbf16, affine_map<(d0, d1, d2, d3) -> (d1 mod 8, d3)>>, tensor<16x16xbf16> -> tensor<16x16xbf16>
    gpu.terminator
  }
  return
}

// -----

// No-op: a kernel without tiles, of any number of threads.
// CHECK-LABEL: func @no_tiles
// CHECK:         gpu.launch
// CHECK-NEXT:      memref.store
// CHECK-NEXT:      gpu.terminator
func.func @no_tiles(%n: index, %m: memref<?xf32>, %x: f32) {
  gpu.launch blocks(%b, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n)
             threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) {
    memref.store %x, %m[%tx] : memref<?xf32>
    gpu.terminator
  }
  return
}
