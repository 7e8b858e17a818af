// RUN: na-opt %s -split-input-file -nagpu-specialize-warps -canonicalize -cse | FileCheck %s
// RUN: na-opt %s -split-input-file -nagpu-specialize-warps=stages=3 | FileCheck %s --check-prefix=THREE

!tokens = memref<2x64x4x16xf16>
!q = !nagpu.shared<64x16xf16, tma32>
!tile = !nagpu.shared<16x16xf16, tma32>
!acc = !nagpu.fragment<64x16xf32, accumulator, 4>
!lhs = !nagpu.fragment<64x16xf16, lhs, 4>

// A tile is needed by a warpgroup or not, and its position masks. Both come from
// the producer of the keys, for each warpgroup; the consumers compute neither.
// CHECK-LABEL: func @needed
// CHECK-SAME:    (%[[Q:[a-z0-9]+]]: {{[^,]*}}, %[[K:[a-z0-9]+]]: {{[^,]*}}, %[[V:[a-z0-9]+]]: memref
// CHECK-DAG:     %[[QMAP:.*]] = nagpu.tensor_map %[[Q]] : {{.*}} -> !nagpu.tensor_map<1x64x16xf16, tma32>
// CHECK-DAG:     %[[KMAP:.*]] = nagpu.tensor_map %[[K]] : {{.*}} -> !nagpu.tensor_map<1x16x16xf16, tma32>
// CHECK-DAG:     %[[VMAP:.*]] = nagpu.tensor_map %[[V]] : {{.*}} -> !nagpu.tensor_map<1x16x16xf16, tma32>
// CHECK:         gpu.launch
// CHECK-DAG:       %[[QRING:.*]] = nagpu.alloc : <2x64x16xf16, tma32>
// CHECK-DAG:       %[[BOX:.*]] = nagpu.mailbox_alloc : <4x2x2>
// CHECK:           nagpu.roles registers(24, 72) producer {
// CHECK:             scf.for %[[I:.*]] = %c0 to %c8 step %c1 iter_args(%[[SLOT:.*]] = %c0, %[[PARITY:.*]] = %c1_i32)
// CHECK-NEXT:          nagpu.mbarrier_wait %[[KFREE:.*]][%[[SLOT]]] parity %[[PARITY]] : <2>
// CHECK:               %[[AT:.*]] = arith.muli %[[I]], %c16
// CHECK:               nagpu.mailbox_put %[[BOX]][%[[PUT:.*]], %c0] %{{.*}}, %[[WORD:.*]] : <4x2x2>
// CHECK:               nagpu.mailbox_put %[[BOX]][%[[PUT]], %c1] %{{.*}}, %[[WORD]] : <4x2x2>
// CHECK:               nagpu.mbarrier_expect_tx %[[KFULL:.*]][%[[SLOT]]] bytes 512 : <2>
// CHECK-NEXT:          %[[KSLOT:.*]] = nagpu.slot %[[KRING:.*]][%[[SLOT]]]
// CHECK-NEXT:          nagpu.tma_load %[[KMAP]][%[[B:.*]], %[[AT]], %[[CHANNEL:.*]]] into %[[KSLOT]] signal %[[KFULL]][%[[SLOT]]]
// CHECK-NEXT:          nagpu.advance %[[SLOT]], %[[PARITY]] in 2
// CHECK:           } producer {
// CHECK:             scf.for
// CHECK-NEXT:          nagpu.mbarrier_wait %[[VFREE:.*]][
// CHECK-NOT:           nagpu.mailbox_put
// CHECK:               nagpu.tma_load %[[VMAP]]{{.*}} signal %[[VFULL:.*]][
// CHECK:           } producer {
// CHECK-NOT:         scf.for
// CHECK:             nagpu.tma_load %[[QMAP]][%[[B]], %c0, %[[CHANNEL]]] into %{{.*}} signal %[[QFULL:.*]][%c0]
// CHECK:             nagpu.tma_load %[[QMAP]][%[[B]], %c64, %[[CHANNEL]]] into %{{.*}} signal %[[QFULL]][%c1]
// CHECK:           } consumers(%[[G:.*]] in 2) {
// CHECK:             nagpu.mbarrier_wait %[[QFULL]][%[[G]]] parity %c0_i32
// CHECK-NEXT:        %[[QT:.*]] = nagpu.slot %[[QRING]][%[[G]]]
// CHECK:             scf.for %{{.*}} = %c0 to %c8 step %c1 iter_args(%[[O:.*]] = %{{.*}}, %[[CS:.*]] = %c0, %[[CP:.*]] = %c0_i32)
// CHECK-NEXT:          nagpu.mbarrier_wait %[[KFULL]][%[[CS]]] parity %[[CP]]
// CHECK:               %[[FLAGS:.*]]:2 = nagpu.mailbox_get %[[BOX]][%[[GET:.*]], %[[G]]]
// CHECK:               %[[BIT:.*]] = arith.andi %[[FLAGS]]#0, %c1_i32
// CHECK-NEXT:          %[[NEEDED:.*]] = arith.cmpi ne, %[[BIT]], %c0_i32
// CHECK-NEXT:          scf.if %[[NEEDED]]
// CHECK-NEXT:            %[[KT:.*]] = nagpu.slot %[[KRING]][%[[CS]]]
// CHECK:                 nagpu.wgmma %[[QT]], %[[KT]] transposed
// CHECK-NEXT:            nagpu.wgmma_commit
// CHECK-NEXT:            nagpu.wgmma_wait pending 0
// CHECK-NEXT:            nagpu.mbarrier_arrive %[[KFREE]][%[[CS]]]
// CHECK-NEXT:            %[[TEXT:.*]]:2 = nagpu.mailbox_get %[[BOX]][%[[GET]], %[[G]]]
// CHECK:                 arith.sitofp %[[TEXT]]#1
// CHECK:                 nagpu.mbarrier_wait %[[VFULL]][%[[CS]]] parity %[[CP]]
// CHECK:                 nagpu.wgmma_wait pending 0
// CHECK-NEXT:            nagpu.mbarrier_arrive %[[VFREE]][%[[CS]]]
// CHECK-NEXT:            scf.yield
// CHECK-NEXT:          } else {
// The keys have been waited for already.
// CHECK-NEXT:            nagpu.mbarrier_arrive %[[KFREE]][%[[CS]]]
// CHECK-NEXT:            nagpu.mbarrier_wait %[[VFULL]][%[[CS]]] parity %[[CP]]
// CHECK-NEXT:            nagpu.mbarrier_arrive %[[VFREE]][%[[CS]]]
// CHECK-NEXT:            scf.yield %[[O]]
// CHECK-NEXT:          }
// CHECK-NEXT:          nagpu.advance %[[CS]], %[[CP]] in 2

// THREE-LABEL: func @needed
// THREE:         nagpu.alloc : <2x64x16xf16, tma32>
// THREE:         nagpu.alloc : <3x16x16xf16, tma32>
// THREE:         nagpu.mbarrier_init arrivals 1 : <3>
// THREE:         nagpu.mbarrier_init arrivals 8 : <3>
// THREE:         nagpu.mailbox_alloc : <6x2x2>
func.func @needed(%qs: !tokens, %ks: !tokens, %vs: !tokens, %os: !tokens, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %c384 = arith.constant 384 : index
  %zero = arith.constant 0.0 : f32
  gpu.launch blocks(%b, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
      threads(%tx, %ty, %tz) in (%sx = %c384, %sy = %c1, %sz = %c1) {
    scf.forall (%g) in (2) {
      %qa = nagpu.alloc : !q
      %ka = nagpu.alloc : !tile
      %va = nagpu.alloc : !tile
      %at = arith.muli %g, %c64 : index
      %qc = nagpu.async_copy %qs[%b, %c1] at(%at) box [64] dilation [1] into %qa warps 4 : !tokens, !q
      %qg = nagpu.async_commit %qc
      %qt = nagpu.async_wait %qg pending 0 tiles(%qa) : !q
      %init = nagpu.splat %zero : f32 -> !acc
      %sum = scf.for %t = %c0 to %c8 step %c1 iter_args(%o = %init) -> (!acc) {
        %key = arith.muli %t, %c16 : index
        %needed = arith.cmpi slt, %key, %at : index
        %next = scf.if %needed -> (!acc) {
          %kc = nagpu.async_copy %ks[%b, %c1] at(%key) box [16] dilation [1] into %ka warps 4 : !tokens, !tile
          %kg = nagpu.async_commit %kc
          %kt = nagpu.async_wait %kg pending 0 tiles(%ka) : !tile
          nagpu.wgmma_fence
          %s0 = nagpu.wgmma %qt, %kt transposed : !q, !tile -> !acc
          nagpu.wgmma_commit
          %s1 = nagpu.wgmma_wait pending 0 (%s0 : !acc)
          %s2 = nagpu.map(%s1 : !acc) {
          ^bb0(%x: f32):
            %i = arith.index_cast %key : index to i32
            %f = arith.sitofp %i : i32 to f32
            %y = arith.addf %x, %f : f32
            nagpu.yield %y : f32
          } : !acc
          %vc = nagpu.async_copy %vs[%b, %c1] at(%key) box [16] dilation [1] into %va warps 4 : !tokens, !tile
          %vg = nagpu.async_commit %vc
          %vt = nagpu.async_wait %vg pending 0 tiles(%va) : !tile
          %p = nagpu.convert %s2 : !acc -> !lhs
          %f:2 = nagpu.wgmma_fence(%p, %o : !lhs, !acc)
          %o0 = nagpu.wgmma %f#0, %vt, %f#1 : !lhs, !tile -> !acc
          nagpu.wgmma_commit
          %o1 = nagpu.wgmma_wait pending 0 (%o0 : !acc)
          scf.yield %o1 : !acc
        } else {
          scf.yield %o : !acc
        }
        scf.yield %next : !acc
      }
      nagpu.store %sum into %os[%b, %c1] at(%at) box [64] dilation [1] : !acc, !tokens
    } {mapping = [#gpu.warpgroup<x>]}
    gpu.terminator
  } {na.schedule = #na.schedule<target = "sm_90a", query_tile = [128], key_tile = [16], warpgroup_tile = [64], stages = 2>}
  return
}

// -----

!tokens = memref<2x64x4x16xf16>
!q = !nagpu.shared<64x16xf16, tma32>
!tile = !nagpu.shared<16x16xf16, tma32>
!acc = !nagpu.fragment<64x16xf32, accumulator, 4>

// A loop of one iteration has been folded away: nothing is freed, and there is
// nothing to tell the consumers. Four such CTAs share a multiprocessor.
// CHECK-LABEL: func @one_tile
// CHECK-NOT:     nagpu.mailbox
// CHECK:         nagpu.roles registers(24, 104) producer {
// CHECK-NOT:       scf.for
// CHECK:           nagpu.tma_load
// CHECK:         } producer {
// CHECK:           nagpu.tma_load
// CHECK:         } consumers(%{{.*}} in 1) {
// CHECK:           nagpu.mbarrier_wait
// CHECK:           nagpu.mbarrier_wait
// CHECK:           nagpu.wgmma
// CHECK-NOT:       nagpu.mbarrier_arrive
func.func @one_tile(%qs: !tokens, %ks: !tokens, %os: !tokens, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
      threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    scf.forall (%g) in (1) {
      %qa = nagpu.alloc : !q
      %ka = nagpu.alloc : !tile
      %qc = nagpu.async_copy %qs[%b, %c1] at(%c0) box [64] dilation [1] into %qa warps 4 : !tokens, !q
      %qg = nagpu.async_commit %qc
      %qt = nagpu.async_wait %qg pending 0 tiles(%qa) : !q
      %kc = nagpu.async_copy %ks[%b, %c1] at(%c0) box [16] dilation [1] into %ka warps 4 : !tokens, !tile
      %kg = nagpu.async_commit %kc
      %kt = nagpu.async_wait %kg pending 0 tiles(%ka) : !tile
      nagpu.wgmma_fence
      %s0 = nagpu.wgmma %qt, %kt transposed : !q, !tile -> !acc
      nagpu.wgmma_commit
      %s1 = nagpu.wgmma_wait pending 0 (%s0 : !acc)
      nagpu.store %s1 into %os[%b, %c1] at(%c0) box [64] dilation [1] : !acc, !tokens
    } {mapping = [#gpu.warpgroup<x>]}
    gpu.terminator
  }
  return
}

// -----

!tokens = memref<2x64x4x16xf16>
!view = memref<2x64x4x16xf16, strided<[?, ?, 16, 1], offset: ?>>
!q = !nagpu.shared<64x16xf16, tma32>
!tile = !nagpu.shared<16x16xf16, tma32>
!acc = !nagpu.fragment<64x16xf32, accumulator, 4>

// Of 64 tokens, 22 have residue 0 and 21 each of the others: two more in front,
// and all residues end alike. The residue is part of the innermost coordinate.
// CHECK-LABEL: func @dilated
// CHECK-DAG:     %[[QMAP:.*]] = nagpu.tensor_map %{{.*}} dilation [3] : memref<2x64x4x16xf16> -> !nagpu.tensor_map<1x64x16xf16, tma32>
// CHECK-DAG:     %[[KMAP:.*]] = nagpu.tensor_map %[[VIEW:.*]] dilation [3] : {{.*}} -> !nagpu.tensor_map<1x16x16xf16, tma32>
// CHECK-DAG:     %{{.*}}, %{{.*}}, %{{.*}}:4, %[[STRIDES:.*]]:4 = memref.extract_strided_metadata %[[VIEW]]
// CHECK:         nagpu.roles {{.*}} producer {
// CHECK:           %[[FIRST:.*]] = arith.addi %{{.*}}, %c2
// CHECK:           %[[ENTRY:.*]] = arith.divui %[[FIRST]], %c3
// CHECK:           %[[RESIDUE:.*]] = arith.remui %[[FIRST]], %c3
// CHECK:           %[[OFFSET:.*]] = arith.muli %[[RESIDUE]], %[[STRIDES]]#1
// CHECK:           %[[CHANNEL:.*]] = arith.addi %[[OFFSET]], %c16
// CHECK:           nagpu.tma_load %[[KMAP]][%{{.*}}, %[[ENTRY]], %[[CHANNEL]]]
// CHECK:         } producer {
// CHECK:           arith.muli %{{.*}}, %c64
// CHECK:           nagpu.tma_load %[[QMAP]][
func.func @dilated(%qs: !tokens, %ks: !view, %os: !tokens, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
      threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    scf.forall (%g) in (1) {
      %qa = nagpu.alloc : !q
      %ka = nagpu.alloc : !tile
      %qc = nagpu.async_copy %qs[%b, %c1] at(%b) box [64] dilation [3] into %qa warps 4 : !tokens, !q
      %qg = nagpu.async_commit %qc
      %qt = nagpu.async_wait %qg pending 0 tiles(%qa) : !q
      %kc = nagpu.async_copy %ks[%b, %c1] at(%b) box [16] dilation [3] into %ka warps 4 : !view, !tile
      %kg = nagpu.async_commit %kc
      %kt = nagpu.async_wait %kg pending 0 tiles(%ka) : !tile
      nagpu.wgmma_fence
      %s0 = nagpu.wgmma %qt, %kt transposed : !q, !tile -> !acc
      nagpu.wgmma_commit
      %s1 = nagpu.wgmma_wait pending 0 (%s0 : !acc)
      nagpu.store %s1 into %os[%b, %c1] at(%b) box [64] dilation [3] : !acc, !tokens
    } {mapping = [#gpu.warpgroup<x>]}
    gpu.terminator
  }
  return
}

// -----

!tokens = memref<2x64x4x16xf16>
!few = memref<2x9x4x16xf16>
!q = !nagpu.shared<64x16xf16, tma32>
!tile = !nagpu.shared<16x16xf16, tma32>
!acc = !nagpu.fragment<64x16xf32, accumulator, 4>

// The last tile is one of another tensor. Where it lies, and that it is, only
// the producer has to know.
// CHECK-LABEL: func @choice
// CHECK-SAME:    (%{{.*}}: {{[^,]*}}, %[[K:[a-z0-9]+]]: {{[^,]*}}, %[[E:[a-z0-9]+]]: memref<2x9
// CHECK-DAG:     %[[KMAP:.*]] = nagpu.tensor_map %[[K]]
// CHECK-DAG:     %[[EMAP:.*]] = nagpu.tensor_map %[[E]]
// CHECK-NOT:     nagpu.mailbox
// CHECK:         nagpu.roles {{.*}} producer {
// CHECK:           scf.for %[[T:.*]] = %c0 to %c8
// CHECK:             %[[KEY:.*]] = arith.muli %[[T]], %c16
// CHECK:             %[[OTHER:.*]] = arith.cmpi eq, %[[T]], %c7
// CHECK:             nagpu.mbarrier_expect_tx
// CHECK:             %[[SLOT:.*]] = nagpu.slot
// CHECK-NEXT:        scf.if %[[OTHER]] {
// CHECK-NEXT:          nagpu.tma_load %[[EMAP]][%{{.*}}, %c0, %[[CHANNEL:.*]]] into %[[SLOT]] signal
// CHECK-NEXT:        } else {
// CHECK-NEXT:          nagpu.tma_load %[[KMAP]][%{{.*}}, %[[KEY]], %[[CHANNEL]]] into %[[SLOT]] signal
// CHECK-NEXT:        }
// CHECK-NEXT:        nagpu.advance
// CHECK:         } consumers
// CHECK:           scf.for
// CHECK-NOT:         scf.if
// CHECK:             nagpu.wgmma
// CHECK:             nagpu.mbarrier_arrive
func.func @choice(%qs: !tokens, %ks: !tokens, %es: !few, %os: !tokens, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  gpu.launch blocks(%b, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
      threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    scf.forall (%g) in (1) {
      %qa = nagpu.alloc : !q
      %ka = nagpu.alloc : !tile
      %qc = nagpu.async_copy %qs[%b, %c1] at(%c0) box [64] dilation [1] into %qa warps 4 : !tokens, !q
      %qg = nagpu.async_commit %qc
      %qt = nagpu.async_wait %qg pending 0 tiles(%qa) : !q
      %init = nagpu.splat %zero : f32 -> !acc
      %sum = scf.for %t = %c0 to %c8 step %c1 iter_args(%o = %init) -> (!acc) {
        %key = arith.muli %t, %c16 : index
        %other = arith.cmpi eq, %t, %c7 : index
        %kc = scf.if %other -> (!nagpu.token) {
          %ec = nagpu.async_copy %es[%b, %c1] at(%c0) box [16] dilation [1] into %ka warps 4 : !few, !tile
          scf.yield %ec : !nagpu.token
        } else {
          %wc = nagpu.async_copy %ks[%b, %c1] at(%key) box [16] dilation [1] into %ka warps 4 : !tokens, !tile
          scf.yield %wc : !nagpu.token
        }
        %kg = nagpu.async_commit %kc
        %kt = nagpu.async_wait %kg pending 0 tiles(%ka) : !tile
        %f = nagpu.wgmma_fence(%o : !acc)
        %s0 = nagpu.wgmma %qt, %kt, %f transposed : !q, !tile -> !acc
        nagpu.wgmma_commit
        %s1 = nagpu.wgmma_wait pending 0 (%s0 : !acc)
        scf.yield %s1 : !acc
      }
      nagpu.store %sum into %os[%b, %c1] at(%c0) box [64] dilation [1] : !acc, !tokens
    } {mapping = [#gpu.warpgroup<x>]}
    gpu.terminator
  }
  return
}

// -----

// A kernel without warpgroups stays as it is.
// CHECK-LABEL: func @other
// CHECK-NOT:     nagpu.roles
// CHECK:         return
func.func @other(%m: memref<8xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  gpu.launch blocks(%b, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
      threads(%tx, %ty, %tz) in (%sx = %n, %sy = %c1, %sz = %c1) {
    memref.store %zero, %m[%tx] : memref<8xf32>
    gpu.terminator
  }
  return
}
