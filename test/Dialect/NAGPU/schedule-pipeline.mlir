// RUN: na-opt %s -split-input-file -nagpu-schedule-pipeline | FileCheck %s
// RUN: na-opt %s -split-input-file -nagpu-schedule-pipeline=stages=5 | FileCheck %s --check-prefix=OPTION

// A copy that depends on the induction variable, and on what is computed from
// it, can run ahead: two stages without a schedule.
// CHECK-LABEL: func @movable
// CHECK:         scf.for
// CHECK:         } {nagpu.stages = 2 : i64}
// OPTION-LABEL: func @movable
// OPTION:         } {nagpu.stages = 5 : i64}
func.func @movable(%k: memref<1x64x1x16xbf16>) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %tile = nagpu.alloc : !nagpu.shared<16x16xbf16, linear>
    scf.for %i = %c0 to %c4 step %c1 {
      %inside = arith.cmpi slt, %i, %bx : index
      %at = scf.if %inside -> (index) {
        %in = arith.muli %i, %c16 : index
        scf.yield %in : index
      } else {
        scf.yield %c0 : index
      }
      %t = nagpu.async_copy %k[%c0, %c0] at(%at) box [16] dilation [1] into %tile warps 1
        : memref<1x64x1x16xbf16>, !nagpu.shared<16x16xbf16, linear>
      %g = nagpu.async_commit %t
      %w = nagpu.async_wait %g pending 0 tiles(%tile) : !nagpu.shared<16x16xbf16, linear>
    }
    gpu.terminator
  }
  return
}

// -----

// The schedule of the kernel says how many; the option prevails.
// CHECK-LABEL: func @schedule
// CHECK:         scf.for
// CHECK:         } {nagpu.stages = 3 : i64}
// OPTION-LABEL: func @schedule
// OPTION:         } {nagpu.stages = 5 : i64}
func.func @schedule(%k: memref<1x64x1x16xbf16>) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %c4 = arith.constant 4 : index
    %tile = nagpu.alloc : !nagpu.shared<16x16xbf16, linear>
    scf.for %i = %bx to %c4 step %c1 {
      %t = nagpu.async_copy %k[%bx, %bx] at(%i) box [16] dilation [1] into %tile warps 1
        : memref<1x64x1x16xbf16>, !nagpu.shared<16x16xbf16, linear>
      %g = nagpu.async_commit %t
      %w = nagpu.async_wait %g pending 0 tiles(%tile) : !nagpu.shared<16x16xbf16, linear>
    }
    gpu.terminator
  } {na.schedule = #na.schedule<target = "sm_80", query_tile = [16], key_tile = [16], stages = 3>}
  return
}

// -----

// No-op: where a copy depends on a value that the loop carries, directly or in
// a region, or on memory, none runs ahead; nor is there one in the last loop.
// CHECK-LABEL: func @not_movable
// CHECK-NOT:     nagpu.stages
// OPTION-LABEL: func @not_movable
// OPTION-NOT:     nagpu.stages
func.func @not_movable(%k: memref<1x64x1x16xbf16>, %table: memref<4xindex>) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %tile = nagpu.alloc : !nagpu.shared<16x16xbf16, linear>
    scf.for %i = %c0 to %c4 step %c1 iter_args(%c = %c0) -> (index) {
      %t = nagpu.async_copy %k[%c0, %c0] at(%c) box [16] dilation [1] into %tile warps 1
        : memref<1x64x1x16xbf16>, !nagpu.shared<16x16xbf16, linear>
      %next = arith.addi %c, %i : index
      scf.yield %next : index
    }
    scf.for %i = %c0 to %c4 step %c1 iter_args(%c = %c0) -> (index) {
      %inside = arith.cmpi slt, %i, %bx : index
      %at = scf.if %inside -> (index) {
        scf.yield %c : index
      } else {
        scf.yield %c0 : index
      }
      %t = nagpu.async_copy %k[%c0, %c0] at(%at) box [16] dilation [1] into %tile warps 1
        : memref<1x64x1x16xbf16>, !nagpu.shared<16x16xbf16, linear>
      scf.yield %at : index
    }
    scf.for %i = %c0 to %c4 step %c1 {
      %at = memref.load %table[%i] : memref<4xindex>
      %t = nagpu.async_copy %k[%c0, %c0] at(%at) box [16] dilation [1] into %tile warps 1
        : memref<1x64x1x16xbf16>, !nagpu.shared<16x16xbf16, linear>
    }
    scf.for %i = %c0 to %c4 step %c1 {
      nagpu.barrier
    }
    gpu.terminator
  }
  return
}

// -----

// No-op: not a kernel.
// CHECK-LABEL: func @host
// CHECK-NOT:     nagpu.stages
func.func @host(%k: memref<1x64x1x16xbf16>, %n: index) {
  %tile = nagpu.alloc : !nagpu.shared<16x16xbf16, linear>
  scf.for %i = %n to %n step %n {
    %t = nagpu.async_copy %k[%i, %i] at(%i) box [16] dilation [1] into %tile warps 1
      : memref<1x64x1x16xbf16>, !nagpu.shared<16x16xbf16, linear>
  }
  return
}
