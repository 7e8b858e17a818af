// RUN: na-opt %s -split-input-file -nagpu-assign-shared-memory | FileCheck %s
// RUN: na-opt %s -split-input-file -nagpu-assign-shared-memory=limit=16384 | FileCheck %s

// Tiles that are in use together lie one behind the other. Rows of 32 bytes
// and powers of two from there on get `xor`, others `padded`; a row of 48
// channels of 2 bytes is 7 chunks then. Everything that names a tile has its
// type.
// CHECK-LABEL: func @together
// CHECK-DAG:     %[[BYTES:.*]] = arith.constant 8704 : i32
// CHECK:         gpu.launch {{.*}} dynamic_shared_memory_size %[[BYTES]] {
// CHECK:           %[[A:.*]] = nagpu.alloc {offset = 0 : i64} : <32x16xbf16, xor>
// CHECK:           %[[B:.*]] = nagpu.alloc {offset = 1024 : i64} : <2x32x48xbf16, padded>
// CHECK:           %[[C:.*]] = nagpu.alloc {offset = 8192 : i64} : <32x8xbf16, padded>
// CHECK:           nagpu.slot %[[B]][%{{.*}}] : <2x32x48xbf16, padded> -> <32x48xbf16, padded>
// CHECK-NOT:       nagpu.barrier
// CHECK:           nagpu.async_wait {{.*}} : !nagpu.shared<32x16xbf16, xor>, !nagpu.shared<32x48xbf16, padded>, !nagpu.shared<32x8xbf16, padded>
func.func @together(%k: memref<1x64x1x8xbf16>) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %a = nagpu.alloc : !nagpu.shared<32x16xbf16, linear>
    %b = nagpu.alloc : !nagpu.shared<2x32x48xbf16, linear>
    %c = nagpu.alloc : !nagpu.shared<32x8xbf16, linear>
    %at = nagpu.async_copy %k[%bx, %bx] at(%bx) box [32] dilation [1] into %a warps 1
      : memref<1x64x1x8xbf16>, !nagpu.shared<32x16xbf16, linear>
    %slot = nagpu.slot %b[%bx] : !nagpu.shared<2x32x48xbf16, linear> -> !nagpu.shared<32x48xbf16, linear>
    %bt = nagpu.async_copy %k[%bx, %bx] at(%bx) box [32] dilation [1] into %slot warps 1
      : memref<1x64x1x8xbf16>, !nagpu.shared<32x48xbf16, linear>
    %ct = nagpu.async_copy %k[%bx, %bx] at(%bx) box [32] dilation [1] into %c warps 1
      : memref<1x64x1x8xbf16>, !nagpu.shared<32x8xbf16, linear>
    %g = nagpu.async_commit %at, %bt, %ct
    %r:3 = nagpu.async_wait %g pending 0 tiles(%a, %slot, %c)
      : !nagpu.shared<32x16xbf16, linear>, !nagpu.shared<32x48xbf16, linear>, !nagpu.shared<32x8xbf16, linear>
    gpu.terminator
  }
  return
}

// -----

!f32 = !nagpu.shared<16x16xf32, linear>
!large = !nagpu.shared<32x16xf32, linear>
!acc = !nagpu.fragment<16x16xf32, accumulator, 1>
!wide = !nagpu.fragment<16x32xf32, accumulator, 1>

// The second tile takes the place of the first, after everybody has left it;
// the third, in use together with the second, the lowest place behind it.
// CHECK-LABEL: func @reuse
// CHECK-DAG:     %[[BYTES:.*]] = arith.constant 3072 : i32
// CHECK:         gpu.launch {{.*}} dynamic_shared_memory_size %[[BYTES]] {
// CHECK:           %[[C:.*]] = nagpu.alloc {offset = 2048 : i64} : <16x16xf32, xor>
// CHECK:           %[[B:.*]] = nagpu.alloc {offset = 0 : i64} : <32x16xf32, xor>
// CHECK:           %[[A:.*]] = nagpu.alloc {offset = 0 : i64} : <16x16xf32, xor>
// CHECK-NOT:       nagpu.barrier
// CHECK:           nagpu.async_copy {{.*}} into %[[A]]
// CHECK-NOT:       nagpu.barrier
// CHECK:           nagpu.fma
// CHECK-NEXT:      nagpu.barrier
// CHECK-NEXT:      nagpu.async_copy {{.*}} into %[[B]]
// CHECK-NOT:       nagpu.barrier
// CHECK:           nagpu.async_copy {{.*}} into %[[C]]
// CHECK-NOT:       nagpu.barrier
// CHECK:           gpu.terminator
func.func @reuse(%k: memref<1x64x1x16xf32>) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %c = nagpu.alloc : !f32
    %b = nagpu.alloc : !large
    %a = nagpu.alloc : !f32
    %zero = nagpu.splat %f0 : f32 -> !acc
    %at = nagpu.async_copy %k[%bx, %bx] at(%bx) box [16] dilation [1] into %a warps 1
      : memref<1x64x1x16xf32>, !f32
    %ag = nagpu.async_commit %at
    %ar = nagpu.async_wait %ag pending 0 tiles(%a) : !f32
    %s = nagpu.fma %ar, %ar, %zero transposed : !f32, !f32, !acc
    %bt = nagpu.async_copy %k[%bx, %bx] at(%bx) box [32] dilation [1] into %b warps 1
      : memref<1x64x1x16xf32>, !large
    %bg = nagpu.async_commit %bt
    %ct = nagpu.async_copy %k[%bx, %bx] at(%bx) box [16] dilation [1] into %c warps 1
      : memref<1x64x1x16xf32>, !f32
    %cg = nagpu.async_commit %ct
    %br = nagpu.async_wait %bg pending 1 tiles(%b) : !large
    %wide0 = nagpu.splat %f0 : f32 -> !wide
    %p = nagpu.fma %s, %br, %wide0 transposed : !acc, !large, !wide
    %cr = nagpu.async_wait %cg pending 0 tiles(%c) : !f32
    gpu.terminator
  }
  return
}

// -----

!tile = !nagpu.shared<16x16xf32, linear>
!acc = !nagpu.fragment<16x16xf32, accumulator, 1>

// A tile that a loop reads is in use during the whole loop, together with what
// is loaded in it; the ring of a later loop takes the place of the first one,
// behind a barrier before its prologue.
// CHECK-LABEL: func @loops
// CHECK-DAG:     %[[BYTES:.*]] = arith.constant 3072 : i32
// CHECK:         gpu.launch {{.*}} dynamic_shared_memory_size %[[BYTES]] {
// CHECK:           nagpu.alloc {offset = 0 : i64}
// CHECK:           nagpu.alloc {offset = 1024 : i64} : <2x16x16xf32, xor>
// CHECK:           nagpu.alloc {offset = 1024 : i64} : <2x16x16xf32, xor>
// CHECK-NOT:       nagpu.barrier
// CHECK:           scf.if
// CHECK-NOT:       nagpu.barrier
// CHECK:           scf.for
// CHECK-NOT:       nagpu.barrier
// CHECK:           }
// CHECK:           nagpu.barrier
// CHECK-NEXT:      scf.if
// CHECK-NOT:       nagpu.barrier
// CHECK:           gpu.terminator
func.func @loops(%k: memref<1x64x1x16xf32>, %n: index, %flag: i1) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %zero = nagpu.splat %f0 : f32 -> !acc
    %q = nagpu.alloc : !tile
    %ring0 = nagpu.alloc : !nagpu.shared<2x16x16xf32, linear>
    %ring1 = nagpu.alloc : !nagpu.shared<2x16x16xf32, linear>
    %qt = nagpu.async_copy %k[%bx, %bx] at(%bx) box [16] dilation [1] into %q warps 1
      : memref<1x64x1x16xf32>, !tile
    %qg = nagpu.async_commit %qt
    %qr = nagpu.async_wait %qg pending 0 tiles(%q) : !tile
    scf.if %flag {
      %slot = nagpu.slot %ring0[%bx] : !nagpu.shared<2x16x16xf32, linear> -> !tile
      %t = nagpu.async_copy %k[%bx, %bx] at(%bx) box [16] dilation [1] into %slot warps 1
        : memref<1x64x1x16xf32>, !tile
    }
    %r0 = scf.for %i = %bx to %n step %c1 iter_args(%acc = %zero) -> (!acc) {
      %slot = nagpu.slot %ring0[%i] : !nagpu.shared<2x16x16xf32, linear> -> !tile
      %s = nagpu.fma %qr, %slot, %acc transposed : !tile, !tile, !acc
      scf.yield %s : !acc
    }
    scf.if %flag {
      %slot = nagpu.slot %ring1[%bx] : !nagpu.shared<2x16x16xf32, linear> -> !tile
      %t = nagpu.async_copy %k[%bx, %bx] at(%bx) box [16] dilation [1] into %slot warps 1
        : memref<1x64x1x16xf32>, !tile
    }
    %r1 = scf.for %i = %bx to %n step %c1 iter_args(%acc = %r0) -> (!acc) {
      %slot = nagpu.slot %ring1[%i] : !nagpu.shared<2x16x16xf32, linear> -> !tile
      %s = nagpu.fma %qr, %slot, %acc transposed : !tile, !tile, !acc
      scf.yield %s : !acc
    }
    gpu.terminator
  }
  return
}

// -----

!tile = !nagpu.shared<16x16xf32, linear>
!acc = !nagpu.fragment<16x16xf32, accumulator, 1>

// A tile in a loop is placed, too, and one that a branch passes on counts as
// used to the end. Unused ones vanish.
// CHECK-LABEL: func @elsewhere
// CHECK-DAG:     %[[BYTES:.*]] = arith.constant 4096 : i32
// CHECK:         gpu.launch {{.*}} dynamic_shared_memory_size %[[BYTES]] {
// CHECK:           %[[A:.*]] = nagpu.alloc {offset = 0 : i64} : <16x16xf32, xor>
// CHECK-NEXT:      %[[B:.*]] = nagpu.alloc {offset = 1024 : i64} : <16x16xf32, xor>
// CHECK-NEXT:      %[[C:.*]] = nagpu.alloc {offset = 2048 : i64} : <16x16xf32, xor>
// CHECK-NEXT:      scf.if %{{.*}} -> (!nagpu.shared<16x16xf32, xor>) {
// CHECK:           nagpu.async_copy {{.*}} into %[[C]]
// CHECK:           scf.for
// CHECK-NEXT:        nagpu.alloc {offset = 3072 : i64} : <16x16xf32, xor>
// CHECK-NOT:       nagpu.barrier
func.func @elsewhere(%k: memref<1x64x1x16xf32>, %n: index, %flag: i1) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %a = nagpu.alloc : !tile
    %b = nagpu.alloc : !tile
    %c = nagpu.alloc : !tile
    %unused = nagpu.alloc : !nagpu.shared<64x16xf32, linear>
    %ab = scf.if %flag -> (!tile) {
      scf.yield %a : !tile
    } else {
      scf.yield %b : !tile
    }
    %ct = nagpu.async_copy %k[%bx, %bx] at(%bx) box [16] dilation [1] into %c warps 1
      : memref<1x64x1x16xf32>, !tile
    scf.for %i = %bx to %n step %c1 {
      %d = nagpu.alloc : !tile
      %f0 = arith.constant 0.0 : f32
      %zero = nagpu.splat %f0 : f32 -> !acc
      %s = nagpu.fma %ab, %d, %zero transposed : !tile, !tile, !acc
      %p = nagpu.fma %s, %c, %zero transposed : !acc, !tile, !acc
    }
    gpu.terminator
  }
  return
}

// -----

// A swizzle that is set stays. Rows of 512 bytes have `xor`, too.
// CHECK-LABEL: func @swizzles
// CHECK:           nagpu.alloc {offset = 0 : i64} : <16x16xf32, padded>
// CHECK:           nagpu.alloc {offset = 1280 : i64} : <16x128xf32, xor>
func.func @swizzles(%k: memref<1x64x1x16xf32>) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %a = nagpu.alloc : !nagpu.shared<16x16xf32, padded>
    %b = nagpu.alloc : !nagpu.shared<16x128xf32, linear>
    %w:2 = nagpu.async_wait pending 0 tiles(%a, %b)
      : !nagpu.shared<16x16xf32, padded>, !nagpu.shared<16x128xf32, linear>
    gpu.terminator
  }
  return
}

// -----

// No-op: a kernel without tiles.
// CHECK-LABEL: func @no_tiles
// CHECK:         gpu.launch
// CHECK-NOT:     dynamic_shared_memory_size
func.func @no_tiles() {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    gpu.terminator
  }
  return
}

// -----

!k = !nagpu.shared<8x128xbf16, tma128>
!k_ring = !nagpu.shared<2x8x128xbf16, tma128>
!small = !nagpu.shared<8x16xbf16, tma32>

// Nothing shares memory once warpgroups have roles, not even what is done with
// before: the largest alignment comes first, barriers of 8 bytes last. No
// barrier is added, the panels stay, and what nobody uses has no place.
// CHECK-LABEL: func @roles
// CHECK-DAG:     %[[BYTES:.*]] = arith.constant 7720 : i32
// CHECK:         gpu.launch {{.*}} dynamic_shared_memory_size %[[BYTES]] {
// CHECK-NEXT:      nagpu.mbarrier_init arrivals 1 {offset = 7696 : i64} : <2>
// CHECK-NEXT:      nagpu.mbarrier_init arrivals 8 {offset = 7712 : i64} : <1>
// CHECK-NEXT:      nagpu.mailbox_alloc {offset = 7680 : i64} : <1x1x2>
// CHECK-NEXT:      nagpu.alloc {offset = 4096 : i64} : <8x16xbf16, tma32>
// CHECK-NEXT:      nagpu.alloc {offset = 0 : i64} : <2x8x128xbf16, tma128>
// CHECK-NEXT:      nagpu.alloc {offset = 4352 : i64} : <16x48xf32, padded>
// CHECK-NOT:       nagpu.barrier
func.func @roles(%map: !nagpu.tensor_map<1x8x64xbf16, tma128>,
                 %other: !nagpu.tensor_map<8x16xbf16, tma32>) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %full = nagpu.mbarrier_init arrivals 1 : !nagpu.barrier<2>
    %free = nagpu.mbarrier_init arrivals 8 : !nagpu.barrier<1>
    %box = nagpu.mailbox_alloc : !nagpu.mailbox<1x1x2>
    %unused = nagpu.mailbox_alloc : !nagpu.mailbox<4x2x4>
    %first = nagpu.alloc : !small
    %ring = nagpu.alloc : !k_ring
    %early = nagpu.alloc : !nagpu.shared<16x48xf32, linear>
    %done = nagpu.async_wait pending 0 tiles(%early) : !nagpu.shared<16x48xf32, linear>
    %i = arith.constant 0 : i32
    nagpu.roles registers(24, 240) producer {
      nagpu.mailbox_put %box[%bx, %bx] %i, %i : !nagpu.mailbox<1x1x2>
      nagpu.mbarrier_expect_tx %full[%bx] bytes 2048 : !nagpu.barrier<2>
      %k = nagpu.slot %ring[%bx] : !k_ring -> !k
      nagpu.tma_load %map[%bx, %bx, %bx] into %k signal %full[%bx]
        : !nagpu.tensor_map<1x8x64xbf16, tma128>, !k, !nagpu.barrier<2>
      nagpu.tma_load %other[%bx, %bx] into %first signal %full[%bx]
        : !nagpu.tensor_map<8x16xbf16, tma32>, !small, !nagpu.barrier<2>
    } consumers(%group in 2) {
      nagpu.mbarrier_arrive %free[%bx] : !nagpu.barrier<1>
    }
    gpu.terminator
  }
  return
}
