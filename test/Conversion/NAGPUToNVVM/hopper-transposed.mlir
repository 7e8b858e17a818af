// RUN: na-opt %s -convert-nagpu-to-nvvm | FileCheck %s

// Four matrices of 8 by 8 at a time, transposed.
// CHECK-LABEL: gpu.func @weights
// CHECK:         llvm.inline_asm {{.*}}"stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [$0+0], {$1, $2, $3, $4};"
// CHECK:         llvm.inline_asm {{.*}}"stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [$0+2048], {$1, $2, $3, $4};"
// CHECK-NOT:     stmatrix
// A is M-major: the last but one of the flags.
// CHECK:         wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {{.*}}, first, 1, 1, 1, 0;
gpu.module @m {
  gpu.func @weights() kernel {
    %i = arith.constant 1 : index
    %k = nagpu.alloc {offset = 0 : i64} : !nagpu.shared<64x128xbf16, tma128>
    %tile = nagpu.alloc {offset = 16384 : i64} : !nagpu.shared<32x64xbf16, tma128>
    %zero = arith.constant 0.0 : f32
    %s = nagpu.splat %zero : f32 -> !nagpu.fragment<64x32xf32, accumulator, 4>
    %f = nagpu.convert %s : !nagpu.fragment<64x32xf32, accumulator, 4> -> !nagpu.fragment<64x32xbf16, lhs, 4>
    nagpu.store_transposed %f into %tile : !nagpu.fragment<64x32xbf16, lhs, 4>, !nagpu.shared<32x64xbf16, tma128>
    %panel = nagpu.panel %k[%i] : !nagpu.shared<64x128xbf16, tma128> -> !nagpu.shared<64x64xbf16, tma128>
    nagpu.wgmma_fence
    %p = nagpu.wgmma %panel, %tile transposed lhs_transposed
      : !nagpu.shared<64x64xbf16, tma128>, !nagpu.shared<32x64xbf16, tma128> -> !nagpu.fragment<64x32xf32, accumulator, 4>
    nagpu.wgmma_commit
    %r = nagpu.wgmma_wait pending 0 (%p : !nagpu.fragment<64x32xf32, accumulator, 4>)
    gpu.return
  }

  // A panel of 32 channels each, by one thread, where the condition holds.
  // CHECK-LABEL: gpu.func @sums
  // CHECK-COUNT-16: llvm.store %{{.*}} : f32, !llvm.ptr<3>
  // CHECK:         %[[ONE:.*]] = arith.andi
  // CHECK:         scf.if %[[ONE]] {
  // CHECK-COUNT-2:   llvm.inline_asm {{.*}}"cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group [$1, {$2,$3,$4}], [$0];"{{.*$}}
  // CHECK-NEXT:    }
  // CHECK-NEXT:    llvm.inline_asm {{.*}}"cp.async.bulk.commit_group;"
  gpu.func @sums(%map: !nagpu.tensor_map<1x32x32xf32, tma128>, %b: index, %x: index, %c: index, %later: i1) kernel {
    %tile = nagpu.alloc {offset = 0 : i64} : !nagpu.shared<32x64xf32, tma128>
    %one = arith.constant 1.0 : f32
    %s = nagpu.splat %one : f32 -> !nagpu.fragment<64x32xf32, accumulator, 4>
    nagpu.store_transposed %s into %tile : !nagpu.fragment<64x32xf32, accumulator, 4>, !nagpu.shared<32x64xf32, tma128>
    nagpu.tma_add %tile to %map[%b, %x, %c] if %later : !nagpu.shared<32x64xf32, tma128>, !nagpu.tensor_map<1x32x32xf32, tma128>
    gpu.return
  }

  // 32 rows of 128 bytes.
  // CHECK-LABEL: gpu.func @rows
  // CHECK-DAG:     %[[BYTES:.*]] = arith.constant 4096 : i32
  // CHECK:         arith.muli %{{.*}}, %[[BYTES]] : i32
  gpu.func @rows(%i: index) kernel {
    %tile = nagpu.alloc {offset = 0 : i64} : !nagpu.shared<64x64xbf16, tma128>
    %k = nagpu.alloc {offset = 8192 : i64} : !nagpu.shared<64x64xbf16, tma128>
    %half = nagpu.rows %tile[%i] : !nagpu.shared<64x64xbf16, tma128> -> !nagpu.shared<32x64xbf16, tma128>
    nagpu.wgmma_fence
    %p = nagpu.wgmma %k, %half transposed
      : !nagpu.shared<64x64xbf16, tma128>, !nagpu.shared<32x64xbf16, tma128> -> !nagpu.fragment<64x32xf32, accumulator, 4>
    nagpu.wgmma_commit
    %r = nagpu.wgmma_wait pending 0 (%p : !nagpu.fragment<64x32xf32, accumulator, 4>)
    gpu.return
  }
}
