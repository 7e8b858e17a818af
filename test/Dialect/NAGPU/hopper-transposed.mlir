// RUN: na-opt %s | na-opt | FileCheck %s
// RUN: na-opt %s --mlir-print-op-generic | na-opt | FileCheck %s

// CHECK-LABEL: func @column_sums
func.func @column_sums(%w: !nagpu.fragment<64x80xbf16, lhs, 4>,
                       %k: !nagpu.shared<64x128xbf16, tma128>,
                       %tile: !nagpu.shared<80x64xbf16, tma128>,
                       %sums: !nagpu.shared<80x64xf32, tma128>,
                       %map: !nagpu.tensor_map<1x1x10x8x32xf32, tma128>,
                       %b: index, %x: index, %y: index, %z: index, %c: index,
                       %later: i1) {
  %i = arith.constant 1 : index
  // CHECK: nagpu.store_transposed %{{.*}} into %[[TILE:.*]] : <64x80xbf16, lhs, 4>, <80x64xbf16, tma128>
  nagpu.store_transposed %w into %tile
    : !nagpu.fragment<64x80xbf16, lhs, 4>, !nagpu.shared<80x64xbf16, tma128>
  // CHECK: %[[PANEL:.*]] = nagpu.panel %{{.*}}[%{{.*}}] : <64x128xbf16, tma128> -> <64x64xbf16, tma128>
  %panel = nagpu.panel %k[%i]
    : !nagpu.shared<64x128xbf16, tma128> -> !nagpu.shared<64x64xbf16, tma128>
  nagpu.wgmma_fence
  // CHECK: nagpu.wgmma %[[PANEL]], %[[TILE]] transposed lhs_transposed :
  %p = nagpu.wgmma %panel, %tile transposed lhs_transposed
    : !nagpu.shared<64x64xbf16, tma128>, !nagpu.shared<80x64xbf16, tma128>
      -> !nagpu.fragment<64x80xf32, accumulator, 4>
  nagpu.wgmma_commit
  // CHECK: nagpu.rows %[[TILE]][%{{.*}}] : <80x64xbf16, tma128> -> <40x64xbf16, tma128>
  %half = nagpu.rows %tile[%i]
    : !nagpu.shared<80x64xbf16, tma128> -> !nagpu.shared<40x64xbf16, tma128>
  %s = nagpu.wgmma_wait pending 0 (%p : !nagpu.fragment<64x80xf32, accumulator, 4>)
  // CHECK: nagpu.store_transposed %{{.*}} into %[[SUMS:.*]] : <64x80xf32, accumulator, 4>, <80x64xf32, tma128>
  nagpu.store_transposed %s into %sums
    : !nagpu.fragment<64x80xf32, accumulator, 4>, !nagpu.shared<80x64xf32, tma128>
  // CHECK: nagpu.tma_add %[[SUMS]] to %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] : <80x64xf32, tma128>, <1x1x10x8x32xf32, tma128>
  nagpu.tma_add %sums to %map[%b, %x, %y, %z, %c]
    : !nagpu.shared<80x64xf32, tma128>, !nagpu.tensor_map<1x1x10x8x32xf32, tma128>
  // CHECK: nagpu.tma_add %[[SUMS]] to %{{.*}}[%{{.*}}] if %{{.*}} : <80x64xf32, tma128>
  nagpu.tma_add %sums to %map[%b, %x, %y, %z, %c] if %later
    : !nagpu.shared<80x64xf32, tma128>, !nagpu.tensor_map<1x1x10x8x32xf32, tma128>
  return
}
