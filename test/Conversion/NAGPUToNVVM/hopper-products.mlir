// RUN: na-opt %s -convert-nagpu-to-nvvm -canonicalize -cse | FileCheck %s

// Scores of 16 keys: A and B from shared memory. Swizzle 128 (bit 62) and a
// stride of 1024 bytes (64 from bit 32); the second step is 32 bytes on. The
// sum starts at zero, so nothing is tied to the 8 results.
// CHECK-LABEL: func @scores(
// CHECK-SAME:    %[[Q:.*]]: i32, %[[K:.*]]: i32)
// CHECK-DAG:     %[[HIGH:.*]] = arith.constant 4611686293305360384 : i64
// CHECK:         %[[KA:.*]] = arith.andi %[[K]], %c262143_i32
// CHECK:         %[[KB:.*]] = arith.divui %[[KA]], %c16_i32
// CHECK:         %[[KC:.*]] = arith.extui %[[KB]] : i32 to i64
// CHECK:         %[[KD:.*]] = arith.ori %[[KC]], %[[HIGH]] : i64
// CHECK:         %[[QD:.*]] = arith.ori %{{.*}}, %[[HIGH]] : i64
// CHECK:         llvm.inline_asm has_side_effects {{.*}}{nagpu.convergent}
// CHECK-SAME:      setp.ne.b32 first, 0, 0;
// CHECK-SAME:      add.s64 a, $8, 0;\0Aadd.s64 b, $9, 0;
// CHECK-SAME:      wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {$0,$1,$2,$3,$4,$5,$6,$7}, a, b, first, 1, 1, 0, 0;
// CHECK-SAME:      add.s64 a, $8, 2;\0Aadd.s64 b, $9, 2;
// CHECK-SAME:      m64n16k16.f32.bf16.bf16 {$0,$1,$2,$3,$4,$5,$6,$7}, a, b, next, 1, 1, 0, 0;
// CHECK-SAME:      "=f,=f,=f,=f,=f,=f,=f,=f,l,l,~{memory}" %[[QD]], %[[KD]]
func.func @scores(%q: !nagpu.shared<64x64xbf16, tma128>,
                  %k: !nagpu.shared<16x64xbf16, tma128>)
    -> !nagpu.fragment<64x16xf32, accumulator, 4> {
  %0 = nagpu.wgmma %q, %k transposed
    : !nagpu.shared<64x64xbf16, tma128>, !nagpu.shared<16x64xbf16, tma128>
      -> !nagpu.fragment<64x16xf32, accumulator, 4>
  nagpu.wgmma_commit
  %1 = nagpu.wgmma_wait pending 0 (%0 : !nagpu.fragment<64x16xf32, accumulator, 4>)
  return %1 : !nagpu.fragment<64x16xf32, accumulator, 4>
}

// The output: P from registers, V along its rows: the next 16 keys are 512
// bytes on, the next panel of 16 channels 32 rows. The sums are tied.
// CHECK-LABEL: func @output(
// CHECK-DAG:     %[[HIGH:.*]] = arith.constant -4611685949703716864 : i64
// CHECK:         llvm.inline_asm {{.*}}"wgmma.fence.sync.aligned;", "=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=r,=r,=r,=r,=r,=r,=r,=r,0,1,
// CHECK:         setp.ne.b32 first, 1, 0;
// CHECK-SAME:      add.s64 b, $24, 0;
// CHECK-SAME:      m64n32k16.f32.f16.f16 {{.*}},$15}, {$16,$17,$18,$19}, b, first, 1, 1, 1;
// CHECK-SAME:      add.s64 b, $24, 32;
// CHECK-SAME:      {$20,$21,$22,$23}, b, next, 1, 1, 1;
// CHECK-SAME:      r,r,r,r,r,r,r,r,l,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,~{memory}
// CHECK:         llvm.inline_asm {{.*}}"wgmma.commit_group.sync.aligned;"
// CHECK:         llvm.inline_asm {{.*}}"wgmma.wait_group.sync.aligned 1;", "=f,=f,{{.*}},14,15,~{memory}"
func.func @output(%p: !nagpu.fragment<64x32xf16, lhs, 4>,
                  %v: !nagpu.shared<32x32xf16, tma32>,
                  %o: !nagpu.fragment<64x32xf32, accumulator, 4>)
    -> !nagpu.fragment<64x32xf32, accumulator, 4> {
  %o1, %p1 = nagpu.wgmma_fence(%o, %p
    : !nagpu.fragment<64x32xf32, accumulator, 4>, !nagpu.fragment<64x32xf16, lhs, 4>)
  %0 = nagpu.wgmma %p1, %v, %o1
    : !nagpu.fragment<64x32xf16, lhs, 4>, !nagpu.shared<32x32xf16, tma32>
      -> !nagpu.fragment<64x32xf32, accumulator, 4>
  nagpu.wgmma_commit
  %1 = nagpu.wgmma_wait pending 1 (%0 : !nagpu.fragment<64x32xf32, accumulator, 4>)
  return %1 : !nagpu.fragment<64x32xf32, accumulator, 4>
}

// In consumers the sums of a tile's weights are held where they are, before
// the next wait; elsewhere, and where lanes are summed too, nothing is.
// CHECK-LABEL: gpu.func @held(
gpu.module @sums {
gpu.func @held(%phase: i32) kernel {
  %zero = arith.constant 0 : index
  %full = nagpu.mbarrier_init arrivals 1 {offset = 0 : i64} : !nagpu.barrier<1>
  %one = arith.constant 1.0 : f32
  %s = nagpu.splat %one : f32 -> !nagpu.fragment<64x16xf32, accumulator, 4>
  // CHECK-NOT: llvm.inline_asm {{.*}} "",
  %out = nagpu.reduce add %s
    : !nagpu.fragment<64x16xf32, accumulator, 4> -> !nagpu.fragment<64xf32, partial_row, 4>
  // CHECK: gpu.barrier
  nagpu.roles registers(24, 240) producer {
  } consumers(%group in 2) {
    nagpu.mbarrier_wait %full[%zero] parity %phase : !nagpu.barrier<1>
    // CHECK: mbarrier.try_wait
    // CHECK: llvm.inline_asm has_side_effects asm_dialect = att {nagpu.convergent} "", "=f,=f,0,1,~{memory}"
    // CHECK: mbarrier.try_wait
    %p = nagpu.reduce add %s
      : !nagpu.fragment<64x16xf32, accumulator, 4> -> !nagpu.fragment<64xf32, partial_row, 4>
    nagpu.mbarrier_wait %full[%zero] parity %phase : !nagpu.barrier<1>
    // CHECK-NOT: "",
    %r = nagpu.reduce add %s
      : !nagpu.fragment<64x16xf32, accumulator, 4> -> !nagpu.fragment<64xf32, row, 4>
  }
  // CHECK: gpu.return
  gpu.return
}
}
