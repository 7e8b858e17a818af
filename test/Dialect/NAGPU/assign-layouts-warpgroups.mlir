// RUN: na-opt %s -split-input-file -nagpu-assign-layouts -canonicalize -cse | FileCheck %s

// Warpgroups that share a query tile. Fragments are those of one warpgroup,
// tiles lie in the panels of the TMA, without barriers between them. The first
// product starts at zero and takes the queries from their tile, the second one
// adds to the sums and takes weights from registers. Nothing of a tile that a
// warpgroup does not need is computed.
// CHECK-LABEL: func @warpgroups
// CHECK:         gpu.launch {{.*}} threads({{.*}}) in (%{{.*}} = %c384,
// CHECK-NOT:       nagpu.
// CHECK:           scf.forall (%[[G:.*]]) in (2) {
// CHECK-DAG:         %[[VT:.*]] = nagpu.alloc : <32x64xbf16, tma128>
// CHECK-DAG:         %[[KT:.*]] = nagpu.alloc : <32x32xbf16, tma64>
// CHECK-DAG:         %[[QT:.*]] = nagpu.alloc : <64x32xbf16, tma64>
// CHECK:             %[[AT:.*]] = arith.muli %[[G]], %c8
// CHECK-NEXT:        %[[QC:.*]] = nagpu.async_copy {{.*}} at(%[[AT]], %{{.*}}) box [8, 8] dilation [1, 1] into %[[QT]] warps 4
// CHECK-NEXT:        %[[QG:.*]] = nagpu.async_commit %[[QC]]
// CHECK-NEXT:        %[[Q:.*]] = nagpu.async_wait %[[QG]] pending 0 tiles(%[[QT]])
// CHECK:             scf.for %[[T:.*]] = {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (!nagpu.fragment<64x64xf32, accumulator, 4>)
// CHECK-NEXT:          %[[NEEDED:.*]] = arith.cmpi
// CHECK-NEXT:          %[[N:.*]] = scf.if %[[NEEDED]] -> (!nagpu.fragment<64x64xf32, accumulator, 4>) {
// CHECK-NEXT:            nagpu.async_copy {{.*}} into %[[KT]]
// CHECK-NEXT:            nagpu.async_commit
// CHECK-NEXT:            %[[K:.*]] = nagpu.async_wait {{.*}} tiles(%[[KT]])
// CHECK-NEXT:            nagpu.wgmma_fence
// CHECK-NEXT:            %[[S0:.*]] = nagpu.wgmma %[[Q]], %[[K]] transposed : !nagpu.shared<64x32xbf16, tma64>, <32x32xbf16, tma64> -> <64x32xf32, accumulator, 4>
// CHECK-NEXT:            nagpu.wgmma_commit
// CHECK-NEXT:            %[[S:.*]] = nagpu.wgmma_wait pending 0(%[[S0]] :
// CHECK-NEXT:            %[[P0:.*]] = nagpu.convert %[[S]] : <64x32xf32, accumulator, 4> -> <64x32xbf16, lhs, 4>
// CHECK-NEXT:            nagpu.async_copy {{.*}} into %[[VT]]
// CHECK-NEXT:            nagpu.async_commit
// CHECK-NEXT:            %[[V:.*]] = nagpu.async_wait {{.*}} tiles(%[[VT]])
// CHECK-NEXT:            %[[F:.*]]:2 = nagpu.wgmma_fence(%[[P0]], %[[ACC]] :
// CHECK-NEXT:            %[[O0:.*]] = nagpu.wgmma %[[F]]#0, %[[V]], %[[F]]#1 : !nagpu.fragment<64x32xbf16, lhs, 4>, <32x64xbf16, tma128> -> <64x64xf32, accumulator, 4>
// CHECK-NEXT:            nagpu.wgmma_commit
// CHECK-NEXT:            %[[O1:.*]] = nagpu.wgmma_wait pending 0(%[[O0]] :
// CHECK-NEXT:            scf.yield %[[O1]]
// CHECK-NEXT:          } else {
// CHECK-NEXT:            scf.yield %[[ACC]]
// CHECK-NEXT:          }
// CHECK-NEXT:          scf.yield %[[N]]
// CHECK:             nagpu.store {{.*}} at(%[[AT]], %{{.*}}) box [8, 8]
// CHECK-NEXT:      } {mapping = [#gpu.warpgroup<x>]}
// CHECK-NEXT:      gpu.terminator
#id = affine_map<(d0, d1) -> (d0, d1)>
#mk = affine_map<(d0, d1, d2) -> (d0, d2)>
#nk = affine_map<(d0, d1, d2) -> (d1, d2)>
#kn = affine_map<(d0, d1, d2) -> (d2, d1)>
#mn = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @warpgroups(%q: memref<1x64x64x1x32xbf16>, %k: memref<1x64x64x1x32xbf16>,
                      %v: memref<1x64x64x1x64xbf16>, %o: memref<1x64x64x1x64xbf16>) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c384 = arith.constant 384 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c384, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    scf.forall (%g) in (2) {
      %at = arith.muli %g, %c8 : index
      %q0 = tensor.empty() : tensor<64x32xbf16>
      %qt = na.tile.load %q[%b, %b] at(%at, %by) box [8, 8] dilation [1, 1] into %q0
        : memref<1x64x64x1x32xbf16>, tensor<64x32xbf16> -> tensor<64x32xbf16>
      %o0 = tensor.empty() : tensor<64x64xf32>
      %zeros = linalg.fill ins(%f0 : f32) outs(%o0 : tensor<64x64xf32>) -> tensor<64x64xf32>
      %r = scf.for %t = %b to %c8 step %c1 iter_args(%acc = %zeros) -> (tensor<64x64xf32>) {
        %needed = arith.cmpi sle, %t, %at : index
        %n = scf.if %needed -> (tensor<64x64xf32>) {
          %k0 = tensor.empty() : tensor<32x32xbf16>
          %kt = na.tile.load %k[%b, %b] at(%t, %by) box [4, 8] dilation [1, 1] into %k0
            : memref<1x64x64x1x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xbf16>
          %s0 = tensor.empty() : tensor<64x32xf32>
          %s1 = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<64x32xf32>) -> tensor<64x32xf32>
          %s = linalg.contract indexing_maps = [#mk, #nk, #mn]
            ins(%qt, %kt : tensor<64x32xbf16>, tensor<32x32xbf16>) outs(%s1 : tensor<64x32xf32>) -> tensor<64x32xf32>
          %p0 = tensor.empty() : tensor<64x32xbf16>
          %p = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
            ins(%s : tensor<64x32xf32>) outs(%p0 : tensor<64x32xbf16>) {
          ^bb0(%x: f32, %y: bf16):
            %z = arith.truncf %x : f32 to bf16
            linalg.yield %z : bf16
          } -> tensor<64x32xbf16>
          %v0 = tensor.empty() : tensor<32x64xbf16>
          %vt = na.tile.load %v[%b, %b] at(%t, %by) box [4, 8] dilation [1, 1] into %v0
            : memref<1x64x64x1x64xbf16>, tensor<32x64xbf16> -> tensor<32x64xbf16>
          %next = linalg.contract indexing_maps = [#mk, #kn, #mn]
            ins(%p, %vt : tensor<64x32xbf16>, tensor<32x64xbf16>) outs(%acc : tensor<64x64xf32>) -> tensor<64x64xf32>
          scf.yield %next : tensor<64x64xf32>
        } else {
          scf.yield %acc : tensor<64x64xf32>
        }
        scf.yield %n : tensor<64x64xf32>
      }
      na.tile.store %r into %o[%b, %b] at(%at, %by) box [8, 8] dilation [1, 1]
        : tensor<64x64xf32>, memref<1x64x64x1x64xbf16>
    } {mapping = [#gpu.warpgroup<x>]}
    gpu.terminator
  }
  return
}

// -----

// A tile of one of two tensors: the copies are a branch.
// CHECK-LABEL: func @choice
// CHECK:         scf.forall
// CHECK:           %[[TILE:.*]] = nagpu.alloc : <32x32xbf16, tma64>
// CHECK:           %[[COPY:.*]] = scf.if %{{.*}} -> (!nagpu.token) {
// CHECK-NEXT:        %[[C0:.*]] = nagpu.async_copy %{{.*}}[%{{.*}}, %{{.*}}] at(%{{.*}}) box [32] dilation [1] into %[[TILE]]
// CHECK-NEXT:        scf.yield %[[C0]]
// CHECK-NEXT:      } else {
// CHECK-NEXT:        %[[C1:.*]] = nagpu.async_copy %{{.*}}[%{{.*}}, %{{.*}}] at(%{{.*}}, %{{.*}}) box [4, 8] dilation [1, 1] into %[[TILE]]
// CHECK-NEXT:        scf.yield %[[C1]]
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[GROUP:.*]] = nagpu.async_commit %[[COPY]]
// CHECK-NEXT:      %[[T:.*]] = nagpu.async_wait %[[GROUP]] pending 0 tiles(%[[TILE]])
// CHECK:           nagpu.wgmma %{{.*}}, %[[T]] transposed
#mk = affine_map<(d0, d1, d2) -> (d0, d2)>
#nk = affine_map<(d0, d1, d2) -> (d1, d2)>
#mn = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @choice(%q: memref<1x64x64x1x32xbf16>, %e: memref<1x9x1x32xbf16>,
                  %o: memref<1x64x64x1x32xbf16>, %which: i1) {
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    scf.forall (%g) in (1) {
      %q0 = tensor.empty() : tensor<64x32xbf16>
      %qt = na.tile.load %q[%b, %b] at(%b, %by) box [8, 8] dilation [1, 1] into %q0
        : memref<1x64x64x1x32xbf16>, tensor<64x32xbf16> -> tensor<64x32xbf16>
      %kt = scf.if %which -> (tensor<32x32xbf16>) {
        %k0 = tensor.empty() : tensor<32x32xbf16>
        %k1 = na.tile.load %e[%b, %b] at(%by) box [32] dilation [1] into %k0
          : memref<1x9x1x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xbf16>
        scf.yield %k1 : tensor<32x32xbf16>
      } else {
        %k0 = tensor.empty() : tensor<32x32xbf16>
        %k1 = na.tile.load %q[%b, %b] at(%b, %by) box [4, 8] dilation [1, 1] into %k0
          : memref<1x64x64x1x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xbf16>
        scf.yield %k1 : tensor<32x32xbf16>
      }
      %s0 = tensor.empty() : tensor<64x32xf32>
      %s1 = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<64x32xf32>) -> tensor<64x32xf32>
      %s = linalg.contract indexing_maps = [#mk, #nk, #mn]
        ins(%qt, %kt : tensor<64x32xbf16>, tensor<32x32xbf16>) outs(%s1 : tensor<64x32xf32>) -> tensor<64x32xf32>
      na.tile.store %s into %o[%b, %b] at(%b, %by) box [8, 8] dilation [1, 1]
        : tensor<64x32xf32>, memref<1x64x64x1x32xbf16>
    } {mapping = [#gpu.warpgroup<x>]}
    gpu.terminator
  }
  return
}

// -----

// A bias is read by one number of an element: that of its row's keys in the
// whole table, 3 heads of 13 x 9 entries, and that of its column. What is
// outside of the table is read at its end.
// CHECK-LABEL: func @bias
// CHECK-SAME:    %[[TABLE:[a-z0-9]+]]: memref<3x13x9xf16>
// CHECK:         scf.forall
// CHECK:           %[[SUM:.*]] = nagpu.wgmma_wait
// CHECK:           %[[ENTRIES:.*]] = memref.collapse_shape %[[TABLE]] {{\[\[}}0, 1, 2]] : memref<3x13x9xf16> into memref<351xf16>
// CHECK:           %[[ROWS:.*]] = nagpu.map() {
// CHECK:             nagpu.index 0
// CHECK:             arith.muli %{{.*}}, %c117_i32
// CHECK:             arith.muli %{{.*}}, %c9_i32
// CHECK:           } : !nagpu.fragment<64xi32, row, 4>
// CHECK:           nagpu.map(%[[SUM]], %[[ROWS]] : !nagpu.fragment<64x32xf32, accumulator, 4>, !nagpu.fragment<64xi32, row, 4>) {
// CHECK-NEXT:      ^bb0(%[[S:.*]]: f32, %[[ROW:.*]]: i32):
// CHECK:             %[[COLUMN:.*]] = nagpu.index 1
// CHECK:             %[[PLACE:.*]] = arith.addi %[[ROW]], %{{.*}} : i32
// CHECK-NEXT:        %[[INSIDE:.*]] = arith.minui %[[PLACE]], %c350_i32
// CHECK-NEXT:        %[[INDEX:.*]] = arith.index_cast %[[INSIDE]]
// CHECK-NEXT:        %[[ENTRY:.*]] = memref.load %[[ENTRIES]][%[[INDEX]]]
// CHECK-NEXT:        %[[WIDE:.*]] = arith.extf %[[ENTRY]] : f16 to f32
// CHECK-NEXT:        %[[B:.*]] = arith.addf %[[S]], %[[WIDE]]
// CHECK-NEXT:        nagpu.yield %[[B]]
#mk = affine_map<(d0, d1, d2) -> (d0, d2)>
#nk = affine_map<(d0, d1, d2) -> (d1, d2)>
#mn = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @bias(%q: memref<1x64x64x3x32xbf16>, %table: memref<3x13x9xf16>,
                %o: memref<1x64x64x3x32xbf16>, %h: index) {
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    scf.forall (%g) in (1) {
      %q0 = tensor.empty() : tensor<64x32xbf16>
      %qt = na.tile.load %q[%b, %bz] at(%b, %by) box [8, 8] dilation [1, 1] into %q0
        : memref<1x64x64x3x32xbf16>, tensor<64x32xbf16> -> tensor<64x32xbf16>
      %k0 = tensor.empty() : tensor<32x32xbf16>
      %kt = na.tile.load %q[%b, %bz] at(%by, %bz) box [4, 8] dilation [1, 1] into %k0
        : memref<1x64x64x3x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xbf16>
      %s0 = tensor.empty() : tensor<64x32xf32>
      %s1 = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<64x32xf32>) -> tensor<64x32xf32>
      %s = linalg.contract indexing_maps = [#mk, #nk, #mn]
        ins(%qt, %kt : tensor<64x32xbf16>, tensor<32x32xbf16>) outs(%s1 : tensor<64x32xf32>) -> tensor<64x32xf32>
      %r = na.tile.bias %s table(%table[%h] : memref<3x13x9xf16>) <size = [7, 5]>
        query_at(%b, %by) key_at(%by, %bz) query_box [8, 8] key_box [4, 8] : tensor<64x32xf32> -> tensor<64x32xf32>
      na.tile.store %r into %o[%b, %bz] at(%b, %by) box [8, 8] dilation [1, 1]
        : tensor<64x32xf32>, memref<1x64x64x3x32xbf16>
    } {mapping = [#gpu.warpgroup<x>]}
    gpu.terminator
  }
  return
}
