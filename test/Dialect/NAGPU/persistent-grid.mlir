// RUN: na-opt %s -split-input-file -nagpu-persistent-grid -canonicalize -cse | FileCheck %s

!tokens = memref<8x64x1x16xf16>
!map = !nagpu.tensor_map<1x16x16xf16, tma32>
!ring = !nagpu.shared<2x16x16xf16, tma32>
!tile = !nagpu.shared<16x16xf16, tma32>

// Roles go through the items, and with them their slots and parities. The queries
// of the next item are loaded when those of this one are read no more.
// CHECK-LABEL: func @items
// CHECK-SAME:    %[[N:[a-z0-9]+]]: index, %[[MAP:.*]]: !nagpu.tensor_map
// CHECK:         %[[SMS:.*]] = nagpu.multiprocessors : index
// CHECK-NEXT:    %[[GRID:.*]] = arith.minui %[[N]], %[[SMS]] : index
// CHECK:         gpu.launch blocks(%[[BX:[a-z0-9]+]], %{{.*}}, %{{.*}}) in (%[[GX:[a-z0-9]+]] = %[[GRID]],
// CHECK:           %[[QFULL:.*]] = nagpu.mbarrier_init arrivals 1 : <1>
// CHECK:           %[[QFREE:.*]] = nagpu.mbarrier_init arrivals 4 : <1>
// CHECK:           nagpu.roles registers(24, 240) producer {
// CHECK-NEXT:        scf.for %[[I:.*]] = %[[BX]] to %[[N]] step %[[GX]] iter_args(%[[S:.*]] = %c0, %[[P:.*]] = %c1_i32)
// CHECK-NEXT:          %[[AT:.*]] = arith.muli %[[I]], %c2
// CHECK-NEXT:          %[[LOOP:.*]]:2 = scf.for %{{.*}} = %c0 to %[[AT]] step %c1 iter_args(%{{.*}} = %[[S]], %{{.*}} = %[[P]])
// CHECK:                 nagpu.tma_load
// CHECK:               scf.yield %[[LOOP]]#0, %[[LOOP]]#1
// CHECK:           } producer {
// CHECK-NEXT:        scf.for %[[QI:.*]] = %[[BX]] to %[[N]] step %[[GX]] iter_args(%[[QP:.*]] = %c1_i32)
// CHECK-NEXT:          %[[QAT:.*]] = arith.muli %[[QI]], %c2
// CHECK-NEXT:          nagpu.mbarrier_wait %[[QFREE]][%c0] parity %[[QP]]
// CHECK-NEXT:          nagpu.mbarrier_expect_tx %[[QFULL]][%c0]
// CHECK:               nagpu.tma_load %[[MAP]][%[[QAT]],
// CHECK:               %[[QNEXT:.*]] = arith.xori %[[QP]], %c1_i32
// CHECK-NEXT:          scf.yield %[[QNEXT]]
// CHECK:           } consumers(%[[G:.*]] in 1) {
// CHECK-NEXT:        scf.for %[[CI:.*]] = %[[BX]] to %[[N]] step %[[GX]] iter_args(%[[CS:.*]] = %c0, %[[CP:.*]] = %c0_i32, %[[QPHASE:.*]] = %c0_i32)
// CHECK-NEXT:          %[[CAT:.*]] = arith.muli %[[CI]], %c2
// CHECK-NEXT:          nagpu.mbarrier_wait %[[QFULL]][%[[G]]] parity %[[QPHASE]]
// CHECK-NEXT:          %[[TILES:.*]]:2 = scf.for %{{.*}} = %c0 to %[[CAT]] step %c1 iter_args(%{{.*}} = %[[CS]], %{{.*}} = %[[CP]])
// CHECK:               nagpu.mbarrier_arrive %[[QFREE]][%[[G]]]
// CHECK:               %[[PHASE:.*]] = arith.xori %[[QPHASE]], %c1_i32
// CHECK-NEXT:          scf.yield %[[TILES]]#0, %[[TILES]]#1, %[[PHASE]]
func.func @items(%n: index, %map: !map) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c256 = arith.constant 256 : index
  %p0 = arith.constant 0 : i32
  %p1 = arith.constant 1 : i32
  gpu.launch blocks(%b, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
      threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    %at = arith.muli %b, %c2 : index
    %q = nagpu.alloc : !tile
    %qfull = nagpu.mbarrier_init arrivals 1 : !nagpu.barrier<1>
    %k = nagpu.alloc : !ring
    %full = nagpu.mbarrier_init arrivals 1 : !nagpu.barrier<2>
    %free = nagpu.mbarrier_init arrivals 4 : !nagpu.barrier<2>
    nagpu.roles registers(24, 240) producer {
      scf.for %t = %c0 to %at step %c1 iter_args(%i = %c0, %p = %p1) -> (index, i32) {
        nagpu.mbarrier_wait %free[%i] parity %p : !nagpu.barrier<2>
        nagpu.mbarrier_expect_tx %full[%i] bytes 512 : !nagpu.barrier<2>
        %s = nagpu.slot %k[%i] : !ring -> !tile
        nagpu.tma_load %map[%at, %t, %c0] into %s signal %full[%i] : !map, !tile, !nagpu.barrier<2>
        %i1, %pn = nagpu.advance %i, %p in 2
        scf.yield %i1, %pn : index, i32
      }
    } producer {
      nagpu.mbarrier_expect_tx %qfull[%c0] bytes 512 : !nagpu.barrier<1>
      nagpu.tma_load %map[%at, %c0, %c0] into %q signal %qfull[%c0] : !map, !tile, !nagpu.barrier<1>
    } consumers(%g in 1) {
      nagpu.mbarrier_wait %qfull[%g] parity %p0 : !nagpu.barrier<1>
      scf.for %t = %c0 to %at step %c1 iter_args(%i = %c0, %p = %p0) -> (index, i32) {
        nagpu.mbarrier_wait %full[%i] parity %p : !nagpu.barrier<2>
        nagpu.mbarrier_arrive %free[%i] : !nagpu.barrier<2>
        %i1, %pn = nagpu.advance %i, %p in 2
        scf.yield %i1, %pn : index, i32
      }
    }
    gpu.terminator
  }
  return
}

// -----

!tokens = memref<8x64x1x16xf16>
!map = !nagpu.tensor_map<1x16x16xf16, tma32>
!ring = !nagpu.shared<2x16x16xf16, tma32>
!tile = !nagpu.shared<16x16xf16, tma32>

// Items that take unequal times: round k takes the place after that of round
// k - 1, and the last round has no item for some CTAs.
// CHECK-LABEL: func @uneven
// CHECK-SAME:    %[[N:[a-z0-9]+]]: index, %[[MAP:.*]]: !nagpu.tensor_map
// CHECK:         gpu.launch blocks(%[[BX:[a-z0-9]+]], %{{[a-z0-9]+}}, %{{[a-z0-9]+}}) in (%[[GX:[a-z0-9]+]] =
// CHECK:           nagpu.roles registers(24, 240) producer {
// CHECK:             %[[WHOLE:.*]] = arith.divui %[[N]], %[[GX]] : index
// CHECK:             %[[LAST:.*]] = arith.cmpi ult, %{{.*}}, %[[N]] : index
// CHECK:             %[[MORE:.*]] = arith.addi %[[WHOLE]], %c1
// CHECK:             %[[ROUNDS:.*]] = arith.select %[[LAST]], %[[MORE]], %[[WHOLE]]
// CHECK:             scf.for %[[K:.*]] = %c0 to %[[ROUNDS]] step %c1 iter_args(
// CHECK-NEXT:          %[[SUM:.*]] = arith.addi %[[BX]], %[[K]] : index
// CHECK-NEXT:          %[[PLACE:.*]] = arith.remui %[[SUM]], %[[GX]] : index
// CHECK-NEXT:          %[[FIRST:.*]] = arith.muli %[[K]], %[[GX]] : index
// CHECK-NEXT:          %[[I:.*]] = arith.addi %[[FIRST]], %[[PLACE]] : index
// CHECK-NEXT:          %[[AT:.*]] = arith.muli %[[I]], %c2
// CHECK-NEXT:          scf.for %{{.*}} = %c0 to %[[AT]] step %c1
// CHECK:           } producer {
// CHECK:             scf.for %{{.*}} = %c0 to %{{.*}} step %c1 iter_args(
// CHECK:               nagpu.mbarrier_wait
// CHECK:           } consumers(
// CHECK:             scf.for %[[CK:.*]] = %c0 to %{{.*}} step %c1 iter_args(
// CHECK:               arith.remui
func.func @uneven(%n: index, %map: !map) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c256 = arith.constant 256 : index
  %p0 = arith.constant 0 : i32
  %p1 = arith.constant 1 : i32
  gpu.launch blocks(%b, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
      threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    %at = arith.muli %b, %c2 : index
    %q = nagpu.alloc : !tile
    %qfull = nagpu.mbarrier_init arrivals 1 : !nagpu.barrier<1>
    %k = nagpu.alloc : !ring
    %full = nagpu.mbarrier_init arrivals 1 : !nagpu.barrier<2>
    %free = nagpu.mbarrier_init arrivals 4 : !nagpu.barrier<2>
    nagpu.roles registers(24, 240) producer {
      scf.for %t = %c0 to %at step %c1 iter_args(%i = %c0, %p = %p1) -> (index, i32) {
        nagpu.mbarrier_wait %free[%i] parity %p : !nagpu.barrier<2>
        nagpu.mbarrier_expect_tx %full[%i] bytes 512 : !nagpu.barrier<2>
        %s = nagpu.slot %k[%i] : !ring -> !tile
        nagpu.tma_load %map[%at, %t, %c0] into %s signal %full[%i] : !map, !tile, !nagpu.barrier<2>
        %i1, %pn = nagpu.advance %i, %p in 2
        scf.yield %i1, %pn : index, i32
      }
    } producer {
      nagpu.mbarrier_expect_tx %qfull[%c0] bytes 512 : !nagpu.barrier<1>
      nagpu.tma_load %map[%at, %c0, %c0] into %q signal %qfull[%c0] : !map, !tile, !nagpu.barrier<1>
    } consumers(%g in 1) {
      nagpu.mbarrier_wait %qfull[%g] parity %p0 : !nagpu.barrier<1>
      scf.for %t = %c0 to %at step %c1 iter_args(%i = %c0, %p = %p0) -> (index, i32) {
        nagpu.mbarrier_wait %full[%i] parity %p : !nagpu.barrier<2>
        nagpu.mbarrier_arrive %free[%i] : !nagpu.barrier<2>
        %i1, %pn = nagpu.advance %i, %p in 2
        scf.yield %i1, %pn : index, i32
      }
    }
    gpu.terminator
  } {na.uneven}
  return
}

// -----

!tokens = memref<8x64x1x16xf16>
!map = !nagpu.tensor_map<1x16x16xf16, tma32>
!ring = !nagpu.shared<2x16x16xf16, tma32>
!tile = !nagpu.shared<16x16xf16, tma32>

// A thread block for each item.
// CHECK-LABEL: func @in_order
// CHECK-SAME:    %[[N:[a-z0-9]+]]: index
// CHECK-NOT:     nagpu.multiprocessors
// CHECK:         gpu.launch {{.*}} = %[[N]],
func.func @in_order(%n: index, %map: !map) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c256 = arith.constant 256 : index
  %p0 = arith.constant 0 : i32
  %p1 = arith.constant 1 : i32
  gpu.launch blocks(%b, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
      threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    %at = arith.muli %b, %c2 : index
    %q = nagpu.alloc : !tile
    %qfull = nagpu.mbarrier_init arrivals 1 : !nagpu.barrier<1>
    %k = nagpu.alloc : !ring
    %full = nagpu.mbarrier_init arrivals 1 : !nagpu.barrier<2>
    %free = nagpu.mbarrier_init arrivals 4 : !nagpu.barrier<2>
    nagpu.roles registers(24, 240) producer {
      scf.for %t = %c0 to %at step %c1 iter_args(%i = %c0, %p = %p1) -> (index, i32) {
        nagpu.mbarrier_wait %free[%i] parity %p : !nagpu.barrier<2>
        nagpu.mbarrier_expect_tx %full[%i] bytes 512 : !nagpu.barrier<2>
        %s = nagpu.slot %k[%i] : !ring -> !tile
        nagpu.tma_load %map[%at, %t, %c0] into %s signal %full[%i] : !map, !tile, !nagpu.barrier<2>
        %i1, %pn = nagpu.advance %i, %p in 2
        scf.yield %i1, %pn : index, i32
      }
    } producer {
      nagpu.mbarrier_expect_tx %qfull[%c0] bytes 512 : !nagpu.barrier<1>
      nagpu.tma_load %map[%at, %c0, %c0] into %q signal %qfull[%c0] : !map, !tile, !nagpu.barrier<1>
    } consumers(%g in 1) {
      nagpu.mbarrier_wait %qfull[%g] parity %p0 : !nagpu.barrier<1>
      scf.for %t = %c0 to %at step %c1 iter_args(%i = %c0, %p = %p0) -> (index, i32) {
        nagpu.mbarrier_wait %full[%i] parity %p : !nagpu.barrier<2>
        nagpu.mbarrier_arrive %free[%i] : !nagpu.barrier<2>
        %i1, %pn = nagpu.advance %i, %p in 2
        scf.yield %i1, %pn : index, i32
      }
    }
    gpu.terminator
  } {na.in_order}
  return
}

// -----

!map = !nagpu.tensor_map<1x16x16xf16, tma32>
!tile = !nagpu.shared<16x16xf16, tma32>

// Without a loop over tiles there is no slot to go on with.
// CHECK-LABEL: func @no_loop
// CHECK-NOT:     nagpu.multiprocessors
func.func @no_loop(%n: index, %map: !map) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %p0 = arith.constant 0 : i32
  gpu.launch blocks(%b, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
      threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    %q = nagpu.alloc : !tile
    %full = nagpu.mbarrier_init arrivals 1 : !nagpu.barrier<1>
    nagpu.roles registers(24, 240) producer {
      nagpu.mbarrier_expect_tx %full[%c0] bytes 512 : !nagpu.barrier<1>
      nagpu.tma_load %map[%b, %c0, %c0] into %q signal %full[%c0] : !map, !tile, !nagpu.barrier<1>
    } consumers(%g in 1) {
      nagpu.mbarrier_wait %full[%g] parity %p0 : !nagpu.barrier<1>
    }
    gpu.terminator
  }
  return
}
