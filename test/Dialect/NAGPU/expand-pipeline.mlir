// RUN: na-opt %s -split-input-file -nagpu-expand-pipeline -canonicalize -cse | FileCheck %s

!q = !nagpu.shared<16x16xbf16, linear>
!tile = !nagpu.shared<32x16xbf16, linear>
!lhs = !nagpu.fragment<16x16xbf16, lhs, 1>
!scores = !nagpu.fragment<16x32xf32, accumulator, 1>

// Three stages: two iterations are loaded before the loop, if it has as many.
// Every iteration makes a group, be it empty, so that the number of younger
// groups is known: one at the wait of an iteration, two (those of the
// prologue) at the wait for the query tile, which sinks behind the prologue
// together with the fragment that is read from it.
// CHECK-LABEL: func @three_stages
// CHECK:         gpu.launch
// CHECK:           %[[V:.*]] = nagpu.alloc : <3x32x16xbf16, linear>
// CHECK-NEXT:      %[[K:.*]] = nagpu.alloc : <3x32x16xbf16, linear>
// CHECK-NEXT:      %[[Q:.*]] = nagpu.alloc : <16x16xbf16, linear>
// CHECK:           %[[QT:.*]] = nagpu.async_copy %{{.*}} into %[[Q]]
// CHECK-NEXT:      %[[QG:.*]] = nagpu.async_commit %[[QT]]
// CHECK-NOT:       nagpu.async_wait
// CHECK:           %[[HAS0:.*]] = arith.cmpi sgt, %[[N:.*]], %c0_i32 : i32
// CHECK-NEXT:      scf.if %[[HAS0]] {
// CHECK:             %[[K0:.*]] = nagpu.slot %[[K]][%c0]
// CHECK:             nagpu.async_copy %[[KMEM:[a-z0-9_]+]][{{.*}}] at(%c0) box [32] dilation [1] into %[[K0]] warps 1
// CHECK:             %[[V0:.*]] = nagpu.slot %[[V]][%c0]
// CHECK:             nagpu.async_copy %[[VMEM:[a-z0-9_]+]][{{.*}}] at(%c0) box [32] dilation [1] into %[[V0]] warps 1
// CHECK:           }
// CHECK-NEXT:      nagpu.async_commit none
// CHECK:           %[[HAS1:.*]] = arith.cmpi sgt, %[[N]], %c1_i32 : i32
// CHECK-NEXT:      scf.if %[[HAS1]] {
// CHECK:             %[[K1:.*]] = nagpu.slot %[[K]][%c1]
// CHECK:             nagpu.async_copy %[[KMEM]][{{.*}}] at(%c32) box [32] dilation [1] into %[[K1]] warps 1
// CHECK:             %[[V1:.*]] = nagpu.slot %[[V]][%c1]
// CHECK:             nagpu.async_copy %[[VMEM]][{{.*}}] at(%c32) box [32] dilation [1] into %[[V1]] warps 1
// CHECK:           }
// CHECK-NEXT:      nagpu.async_commit none
// CHECK-NEXT:      %[[QR:.*]] = nagpu.async_wait %[[QG]] pending 2 tiles(%[[Q]])
// CHECK-NEXT:      %[[A:.*]] = nagpu.ldmatrix %[[QR]][0, 0]
// CHECK-NEXT:      scf.for %[[I:.*]] = %c0_i32 to %[[N]] step %c1_i32 iter_args(%[[SLOT:.*]] = %c0_i32) -> (i32) : i32 {
// CHECK-NOT:         nagpu.barrier
// CHECK:             %[[INDEX:.*]] = arith.index_cast %[[SLOT]] : i32 to index
// CHECK-NEXT:        %[[KS:.*]] = nagpu.slot %[[K]][%[[INDEX]]]
// CHECK-NEXT:        %[[VS:.*]] = nagpu.slot %[[V]][%[[INDEX]]]
// CHECK-NEXT:        %[[READY:.*]]:2 = nagpu.async_wait pending 1 tiles(%[[KS]], %[[VS]])
// CHECK:             %[[AHEAD:.*]] = arith.addi %[[I]], %c2_i32 : i32
// The slot that the last iteration has read is the one before, or the last.
// CHECK:             %[[FIRST:.*]] = arith.cmpi eq, %[[SLOT]], %c0_i32 : i32
// CHECK:             %[[BEFORE:.*]] = arith.subi %[[SLOT]], %c1_i32 : i32
// CHECK:             %[[FILL:.*]] = arith.select %[[FIRST]], %c2_i32, %[[BEFORE]] : i32
// CHECK:             %[[HAS:.*]] = arith.cmpi slt, %[[AHEAD]], %[[N]] : i32
// CHECK-NEXT:        scf.if %[[HAS]] {
// CHECK:               %[[AT32:.*]] = arith.muli %[[AHEAD]], %c32_i32 : i32
// CHECK:               %[[AT:.*]] = arith.index_cast %[[AT32]] : i32 to index
// CHECK:               %[[TO:.*]] = arith.index_cast %[[FILL]] : i32 to index
// CHECK:               %[[KN:.*]] = nagpu.slot %[[K]][%[[TO]]]
// CHECK:               nagpu.async_copy %[[KMEM]][{{.*}}] at(%[[AT]]) box [32] dilation [1] into %[[KN]] warps 1
// CHECK:               %[[VN:.*]] = nagpu.slot %[[V]][%[[TO]]]
// CHECK:               nagpu.async_copy %[[VMEM]][{{.*}}] at(%[[AT]]) box [32] dilation [1] into %[[VN]] warps 1
// CHECK:             }
// CHECK-NEXT:        nagpu.async_commit none
// CHECK-NOT:         nagpu.barrier
// CHECK:             nagpu.ldmatrix %[[READY]]#0[0, 0] transposed
// CHECK:             nagpu.mma %[[A]],
// CHECK:             nagpu.ldmatrix %[[READY]]#1[0, 0]
// CHECK:             %[[NEXT:.*]] = arith.addi %[[SLOT]], %c1_i32 : i32
// CHECK:             %[[WRAPS:.*]] = arith.cmpi eq, %[[NEXT]], %c3_i32 : i32
// CHECK:             %[[ROUND:.*]] = arith.select %[[WRAPS]], %c0_i32, %[[NEXT]] : i32
// CHECK:             scf.yield %[[ROUND]] : i32
// CHECK-NOT:       nagpu.stages
func.func @three_stages(%q: memref<1x64x1x16xbf16>, %k: memref<1x64x1x16xbf16>,
                        %v: memref<1x64x1x16xbf16>, %n: i32, %m: memref<1xf32>) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c32_i32 = arith.constant 32 : i32
    %f0 = arith.constant 0.0 : f32
    %vtile = nagpu.alloc : !tile
    %ktile = nagpu.alloc : !tile
    %qtile = nagpu.alloc : !q
    %qt = nagpu.async_copy %q[%bx, %bx] at(%bx) box [16] dilation [1] into %qtile warps 1
      : memref<1x64x1x16xbf16>, !q
    %qg = nagpu.async_commit %qt
    %qr = nagpu.async_wait %qg pending 0 tiles(%qtile) : !q
    %a = nagpu.ldmatrix %qr[0, 0] : !q -> !lhs
    %zero = nagpu.splat %f0 : f32 -> !scores
    scf.for %i = %c0_i32 to %n step %c1_i32 : i32 {
      %at32 = arith.muli %i, %c32_i32 : i32
      %at = arith.index_cast %at32 : i32 to index
      nagpu.barrier
      %kt = nagpu.async_copy %k[%bx, %bx] at(%at) box [32] dilation [1] into %ktile warps 1
        : memref<1x64x1x16xbf16>, !tile
      %kg = nagpu.async_commit %kt
      %kr = nagpu.async_wait %kg pending 0 tiles(%ktile) : !tile
      %b = nagpu.ldmatrix %kr[0, 0] transposed : !tile -> !nagpu.fragment<16x32xbf16, rhs, 1>
      %s = nagpu.mma %a, %b, %zero : !lhs, !nagpu.fragment<16x32xbf16, rhs, 1>, !scores
      nagpu.barrier
      %vt = nagpu.async_copy %v[%bx, %bx] at(%at) box [32] dilation [1] into %vtile warps 1
        : memref<1x64x1x16xbf16>, !tile
      %vg = nagpu.async_commit %vt
      %vr = nagpu.async_wait %vg pending 0 tiles(%vtile) : !tile
      %c = nagpu.ldmatrix %vr[0, 0] : !tile -> !nagpu.fragment<32x16xbf16, rhs, 1>
      nagpu.map(%s, %zero : !scores, !scores) {
      ^bb0(%x: f32, %y: f32):
        memref.store %x, %m[%bx] : memref<1xf32>
        nagpu.yield
      }
      nagpu.map(%c : !nagpu.fragment<32x16xbf16, rhs, 1>) {
      ^bb0(%x: bf16):
        %y = arith.extf %x : bf16 to f32
        memref.store %y, %m[%bx] : memref<1xf32>
        nagpu.yield
      }
    } {nagpu.stages = 3 : i64}
    gpu.terminator
  }
  return
}

// -----

!tile = !nagpu.shared<16x16xf32, linear>
!acc = !nagpu.fragment<16x16xf32, accumulator, 1>

// One stage: both copies start together behind a barrier. The first wait
// leaves the younger group in flight.
// CHECK-LABEL: func @one_stage
// CHECK:         %[[V:.*]] = nagpu.alloc
// CHECK:         %[[K:.*]] = nagpu.alloc
// CHECK:         scf.for
// CHECK-NEXT:      %[[AT:.*]] = arith.muli
// CHECK-NEXT:      nagpu.barrier
// CHECK-NEXT:      %[[KT:.*]] = nagpu.async_copy {{.*}} at(%[[AT]]) {{.*}} into %[[K]]
// CHECK-NEXT:      %[[KG:.*]] = nagpu.async_commit %[[KT]]
// CHECK-NEXT:      %[[VT:.*]] = nagpu.async_copy {{.*}} at(%[[AT]]) {{.*}} into %[[V]]
// CHECK-NEXT:      %[[VG:.*]] = nagpu.async_commit %[[VT]]
// CHECK-NEXT:      %[[KR:.*]] = nagpu.async_wait %[[KG]] pending 1 tiles(%[[K]])
// CHECK-NEXT:      %[[S:.*]] = nagpu.fma %[[KR]], %[[KR]],
// CHECK-NEXT:      %[[VR:.*]] = nagpu.async_wait %[[VG]] pending 0 tiles(%[[V]])
// CHECK-NEXT:      %[[P:.*]] = nagpu.fma %[[S]], %[[VR]],
// CHECK-NOT:       nagpu.barrier
// CHECK-NOT:     nagpu.stages
func.func @one_stage(%k: memref<1x64x1x16xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %c16 = arith.constant 16 : index
    %zero = nagpu.splat %f0 : f32 -> !acc
    %vtile = nagpu.alloc : !tile
    %ktile = nagpu.alloc : !tile
    %r = scf.for %i = %bx to %n step %c1 iter_args(%acc = %zero) -> (!acc) {
      nagpu.barrier
      %at = arith.muli %i, %c16 : index
      %kt = nagpu.async_copy %k[%bx, %bx] at(%at) box [16] dilation [1] into %ktile warps 1
        : memref<1x64x1x16xf32>, !tile
      %kg = nagpu.async_commit %kt
      %kr = nagpu.async_wait %kg pending 0 tiles(%ktile) : !tile
      %s = nagpu.fma %kr, %kr, %zero transposed : !tile, !tile, !acc
      nagpu.barrier
      %vt = nagpu.async_copy %k[%bx, %bx] at(%at) box [16] dilation [1] into %vtile warps 1
        : memref<1x64x1x16xf32>, !tile
      %vg = nagpu.async_commit %vt
      %vr = nagpu.async_wait %vg pending 0 tiles(%vtile) : !tile
      %p = nagpu.fma %s, %vr, %acc : !acc, !tile, !acc
      scf.yield %p : !acc
    } {nagpu.stages = 1 : i64}
    nagpu.store %r into %k[%bx, %bx] at(%bx) box [16] dilation [1] : !acc, memref<1x64x1x16xf32>
    gpu.terminator
  }
  return
}

// -----

!tile = !nagpu.shared<16x16xf32, linear>
!acc = !nagpu.fragment<16x16xf32, accumulator, 1>

// A second loop, over additional keys: the query tile was waited for before
// the first one, and stays there.
// CHECK-LABEL: func @two_loops
// CHECK:         %[[QG:.*]] = nagpu.async_commit %{{.*}}
// CHECK:         scf.if
// CHECK:         nagpu.async_commit none
// CHECK-NEXT:    %[[QR:.*]] = nagpu.async_wait %[[QG]] pending 1
// CHECK-NEXT:    %[[FIRST:.*]]:2 = scf.for
// CHECK:           nagpu.async_wait pending 0
// CHECK:           nagpu.fma %[[QR]]
// CHECK:         }
// CHECK-NOT:     nagpu.async_wait
// CHECK:         scf.if
// CHECK:         nagpu.async_commit none
// CHECK-NEXT:    scf.for {{.*}} iter_args(%{{.*}} = %[[FIRST]]#0,
// CHECK:           nagpu.async_wait pending 0
// CHECK:           nagpu.fma %[[QR]]
func.func @two_loops(%q: memref<1x64x1x16xf32>, %k: memref<1x64x1x16xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %zero = nagpu.splat %f0 : f32 -> !acc
    %atile = nagpu.alloc : !tile
    %ktile = nagpu.alloc : !tile
    %qtile = nagpu.alloc : !tile
    %qt = nagpu.async_copy %q[%bx, %bx] at(%bx) box [16] dilation [1] into %qtile warps 1
      : memref<1x64x1x16xf32>, !tile
    %qg = nagpu.async_commit %qt
    %qr = nagpu.async_wait %qg pending 0 tiles(%qtile) : !tile
    %first = scf.for %i = %bx to %n step %c1 iter_args(%acc = %zero) -> (!acc) {
      %kt = nagpu.async_copy %k[%bx, %bx] at(%i) box [16] dilation [1] into %ktile warps 1
        : memref<1x64x1x16xf32>, !tile
      %kg = nagpu.async_commit %kt
      %kr = nagpu.async_wait %kg pending 0 tiles(%ktile) : !tile
      %s = nagpu.fma %qr, %kr, %acc transposed : !tile, !tile, !acc
      scf.yield %s : !acc
    } {nagpu.stages = 2 : i64}
    %second = scf.for %i = %bx to %n step %c1 iter_args(%acc = %first) -> (!acc) {
      %kt = nagpu.async_copy %k[%bx, %bx] at(%i) box [16] dilation [1] into %atile warps 1
        : memref<1x64x1x16xf32>, !tile
      %kg = nagpu.async_commit %kt
      %kr = nagpu.async_wait %kg pending 0 tiles(%atile) : !tile
      %s = nagpu.fma %qr, %kr, %acc transposed : !tile, !tile, !acc
      scf.yield %s : !acc
    } {nagpu.stages = 2 : i64}
    nagpu.store %second into %q[%bx, %bx] at(%bx) box [16] dilation [1] : !acc, memref<1x64x1x16xf32>
    gpu.terminator
  }
  return
}

// -----

!tile = !nagpu.shared<16x16xf32, linear>
!acc = !nagpu.fragment<16x16xf32, accumulator, 1>

// The first loop has no pipeline, but reads the query tile: the wait stays
// before it, also if only the second loop has a prologue.
// CHECK-LABEL: func @read_in_between
// CHECK:         %[[QG:.*]] = nagpu.async_commit %{{.*}}
// CHECK-NEXT:    %[[QR:.*]] = nagpu.async_wait %[[QG]] pending 0
// CHECK-NEXT:    scf.for
// CHECK:           nagpu.fma %[[QR]]
// CHECK:         nagpu.async_commit none
// CHECK-NEXT:    scf.for
// CHECK:           nagpu.fma %[[QR]]
func.func @read_in_between(%q: memref<1x64x1x16xf32>, %k: memref<1x64x1x16xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %zero = nagpu.splat %f0 : f32 -> !acc
    %ktile = nagpu.alloc : !tile
    %qtile = nagpu.alloc : !tile
    %qt = nagpu.async_copy %q[%bx, %bx] at(%bx) box [16] dilation [1] into %qtile warps 1
      : memref<1x64x1x16xf32>, !tile
    %qg = nagpu.async_commit %qt
    %qr = nagpu.async_wait %qg pending 0 tiles(%qtile) : !tile
    %first = scf.for %i = %bx to %n step %c1 iter_args(%acc = %zero) -> (!acc) {
      %s = nagpu.fma %qr, %qr, %acc transposed : !tile, !tile, !acc
      scf.yield %s : !acc
    }
    %second = scf.for %i = %bx to %n step %c1 iter_args(%acc = %first) -> (!acc) {
      %kt = nagpu.async_copy %k[%bx, %bx] at(%i) box [16] dilation [1] into %ktile warps 1
        : memref<1x64x1x16xf32>, !tile
      %kg = nagpu.async_commit %kt
      %kr = nagpu.async_wait %kg pending 0 tiles(%ktile) : !tile
      %s = nagpu.fma %qr, %kr, %acc transposed : !tile, !tile, !acc
      scf.yield %s : !acc
    } {nagpu.stages = 2 : i64}
    nagpu.store %second into %q[%bx, %bx] at(%bx) box [16] dilation [1] : !acc, memref<1x64x1x16xf32>
    gpu.terminator
  }
  return
}

// -----

!tile = !nagpu.shared<16x16xf32, linear>
!acc = !nagpu.fragment<16x16xf32, accumulator, 1>

// A pipeline inside a loop: its prologue fills slots that slower warps may
// still read in the last run, so that it starts with a barrier.
// CHECK-LABEL: func @nested
// CHECK:         %[[RING:.*]] = nagpu.alloc : <2x16x16xf32, linear>
// CHECK:         scf.for
// CHECK-NEXT:      nagpu.barrier
// CHECK-NOT:       scf.for
// CHECK:           scf.if
// CHECK:             nagpu.slot %[[RING]]
// CHECK:           scf.for
// CHECK-NOT:         nagpu.barrier
// CHECK:         gpu.terminator
func.func @nested(%k: memref<1x64x1x16xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %zero = nagpu.splat %f0 : f32 -> !acc
    %ktile = nagpu.alloc : !tile
    %r = scf.for %j = %bx to %n step %c1 iter_args(%outer = %zero) -> (!acc) {
      %s = scf.for %i = %j to %n step %c1 iter_args(%acc = %outer) -> (!acc) {
        nagpu.barrier
        %kt = nagpu.async_copy %k[%bx, %bx] at(%i) box [16] dilation [1] into %ktile warps 1
          : memref<1x64x1x16xf32>, !tile
        %kg = nagpu.async_commit %kt
        %kr = nagpu.async_wait %kg pending 0 tiles(%ktile) : !tile
        %p = nagpu.fma %kr, %kr, %acc transposed : !tile, !tile, !acc
        scf.yield %p : !acc
      } {nagpu.stages = 2 : i64}
      scf.yield %s : !acc
    }
    nagpu.store %r into %k[%bx, %bx] at(%bx) box [16] dilation [1] : !acc, memref<1x64x1x16xf32>
    gpu.terminator
  }
  return
}

// -----

// No-op: loops that are not marked, and marked ones without copies.
// CHECK-LABEL: func @not_marked
// CHECK:         nagpu.alloc : <16x16xf32, linear>
// CHECK-NOT:     scf.if
// CHECK:         scf.for
// CHECK-NEXT:      nagpu.barrier
// CHECK-NEXT:      nagpu.async_copy
// CHECK:           nagpu.async_wait %{{.*}} pending 0
// CHECK:         scf.for
// CHECK-NEXT:      memref.store
// CHECK-NEXT:    }
func.func @not_marked(%k: memref<1x64x1x16xf32>, %n: index, %end: index, %m: memref<?xf32>, %x: f32) {
  %tile = nagpu.alloc : !nagpu.shared<16x16xf32, linear>
  scf.for %i = %n to %end step %n {
    nagpu.barrier
    %kt = nagpu.async_copy %k[%n, %n] at(%i) box [16] dilation [1] into %tile warps 1
      : memref<1x64x1x16xf32>, !nagpu.shared<16x16xf32, linear>
    %kg = nagpu.async_commit %kt
    %kr = nagpu.async_wait %kg pending 0 tiles(%tile) : !nagpu.shared<16x16xf32, linear>
  }
  scf.for %i = %n to %end step %n {
    memref.store %x, %m[%i] : memref<?xf32>
  } {nagpu.stages = 2 : i64}
  return
}
