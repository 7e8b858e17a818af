// RUN: na-opt %s -split-input-file -nagpu-specialize-warps -canonicalize -cse -nagpu-overlap-products -canonicalize -cse | FileCheck %s

!tokens = memref<2x64x4x16xf16>
!q = !nagpu.shared<64x16xf16, tma32>
!tile = !nagpu.shared<16x16xf16, tma32>
!acc = !nagpu.fragment<64x16xf32, accumulator, 4>
!lhs = !nagpu.fragment<64x16xf16, lhs, 4>

// The scores of a tile are computed beside the output of the tile before it. The
// wait for the next keys stands before the wait for the output.
// CHECK-LABEL: func @all
// CHECK:         consumers(%{{.*}} in 2) {
// CHECK:           nagpu.mbarrier_wait %[[KFULL:.*]][%c0] parity %c0_i32
// CHECK:           %[[S0:.*]] = nagpu.wgmma %[[Q:.*]], %{{.*}} transposed
// CHECK-NEXT:      nagpu.wgmma_commit
// CHECK-NEXT:      %[[S:.*]] = nagpu.wgmma_wait pending 0(%[[S0]]
// CHECK-NEXT:      nagpu.mbarrier_arrive %[[KFREE:.*]][%c0]
// CHECK:           %[[P:.*]] = nagpu.convert
// CHECK:           scf.while ({{.*}})
// CHECK:             scf.condition
// CHECK:           } do {
// CHECK-NEXT:      ^bb0(%[[T:.*]]: index, %[[K:[a-z0-9]+]]: index, %{{.*}}: i32, %[[V:[a-z0-9]+]]: index, %[[VP:[a-z0-9]+]]: i32,
// CHECK:             nagpu.wgmma %[[Q]], %{{.*}} transposed
// CHECK-NEXT:        nagpu.wgmma_commit
// CHECK-NEXT:        nagpu.mbarrier_wait %[[VFULL:.*]][%[[V]]] parity %[[VP]]
// CHECK:             %[[O:.*]] = nagpu.wgmma %{{.*}} : !nagpu.fragment
// CHECK-NEXT:        nagpu.wgmma_commit
// CHECK-NEXT:        nagpu.wgmma_wait pending 1
// CHECK-NEXT:        nagpu.mbarrier_arrive %[[KFREE]][%[[K]]]
// CHECK:             nagpu.map
// CHECK:             %[[NEXT:.*]] = arith.addi %[[T]], %c1
// CHECK:             %[[EXISTS:.*]] = arith.cmpi slt, %[[NEXT]], %c8
// CHECK-NEXT:        scf.if %[[EXISTS]] {
// CHECK-NEXT:          nagpu.mbarrier_wait %[[KFULL]]
// CHECK-NEXT:        }
// CHECK-NEXT:        %[[OUT:.*]] = nagpu.wgmma_wait pending 0(%[[O]]
// CHECK-NEXT:        nagpu.mbarrier_arrive %[[VFREE:.*]][%[[V]]]
// CHECK:             nagpu.convert
// CHECK:             scf.yield %[[EXISTS]], %[[NEXT]]
// CHECK:           }
// CHECK:           nagpu.mbarrier_wait %[[VFULL]]
// CHECK:           nagpu.wgmma
// CHECK:           nagpu.wgmma_wait pending 0
// CHECK-NEXT:      nagpu.mbarrier_arrive %[[VFREE]]
// CHECK:           nagpu.store
func.func @all(%qs: !tokens, %ks: !tokens, %vs: !tokens, %os: !tokens, %n: index) {
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
!lhs = !nagpu.fragment<64x16xf16, lhs, 4>

// Where tiles are not needed, a search stands for the wait. Before a round it
// frees keys and values; beside a product it frees keys, at most one tile (of two
// slots), and its values are freed behind those of the product.
// CHECK-LABEL: func @needed
// CHECK:         consumers(%[[G:.*]] in 2) {
// CHECK:           scf.while
// CHECK:             scf.condition
// CHECK:           } do {
// CHECK:             %[[FIRST:.*]]:6 = scf.while
// CHECK:               %[[NEEDED:.*]] = scf.if
// CHECK-NEXT:            nagpu.mbarrier_wait %[[KFULL:.*]][
// CHECK:                 nagpu.mailbox_get
// CHECK:               %[[NOT:.*]] = arith.xori %[[NEEDED]], %true
// CHECK:               scf.condition
// CHECK:             } do {
// CHECK:               nagpu.mbarrier_arrive %[[KFREE:.*]][
// CHECK:               nagpu.mbarrier_wait %[[VFULL:.*]][
// CHECK-NEXT:          nagpu.mbarrier_arrive %[[VFREE:.*]][
// CHECK:             scf.if %[[FIRST]]#0
// CHECK:               nagpu.wgmma %{{.*}} transposed
// CHECK:               scf.while
// CHECK:                 scf.if
// CHECK-NEXT:              nagpu.mbarrier_wait %[[KFULL]]
// CHECK:                 %[[ROOM:.*]] = arith.cmpi slt, %{{.*}}, %c1_i32
// CHECK-NEXT:            %[[PASS:.*]] = arith.andi %{{.*}}, %[[ROOM]]
// CHECK-NEXT:            scf.condition(%[[PASS]])
// CHECK:               } do {
// CHECK:                 nagpu.mbarrier_arrive %[[KFREE]]
// CHECK-NOT:             nagpu.mbarrier_wait
// CHECK:                 scf.yield
// CHECK:               scf.while
// CHECK:                 nagpu.wgmma_wait pending 1
// CHECK:                 nagpu.wgmma_wait pending 0
// CHECK-NEXT:            nagpu.mbarrier_arrive %[[VFREE]]
// CHECK:                 scf.for
// CHECK-NEXT:              nagpu.mbarrier_wait %[[VFULL]]
// CHECK-NEXT:              nagpu.mbarrier_arrive %[[VFREE]]
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

!fragment = !nagpu.fragment<64x16xf32, accumulator, 4>

// Another loop stays as it is.
// CHECK-LABEL: func @other
// CHECK:         scf.for
// CHECK-NEXT:      nagpu.mbarrier_wait
// CHECK-NEXT:      nagpu.mbarrier_arrive
// CHECK-NEXT:      nagpu.advance
func.func @other(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p0 = arith.constant 0 : i32
  %full = nagpu.mbarrier_init arrivals 1 : !nagpu.barrier<2>
  nagpu.roles registers(24, 240) producer {
  } consumers(%g in 2) {
    scf.for %t = %c0 to %n step %c1 iter_args(%i = %c0, %p = %p0) -> (index, i32) {
      nagpu.mbarrier_wait %full[%i] parity %p : !nagpu.barrier<2>
      nagpu.mbarrier_arrive %full[%i] : !nagpu.barrier<2>
      %i1, %p1 = nagpu.advance %i, %p in 2
      scf.yield %i1, %p1 : index, i32
    }
  }
  return
}
