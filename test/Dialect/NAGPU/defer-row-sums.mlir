// RUN: na-opt %s -split-input-file -nagpu-defer-row-sums | FileCheck %s

!S = !nagpu.fragment<64x32xf32, accumulator, 4>
!R = !nagpu.fragment<64xf32, row, 4>

// The sum that the loop scales and adds to is in parts until the loop ends, also
// where a branch keeps it. The maximum is known in every iteration.
// CHECK-LABEL: func @softmax
// CHECK:         gpu.launch
// CHECK:           %[[ZERO:.*]] = nagpu.splat %{{.*}} : f32 -> <64xf32, partial_row, 4>
// CHECK:           %[[R:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[SUM:.*]] = %[[ZERO]]) -> (!nagpu.fragment<64xf32, row, 4>, !nagpu.fragment<64xf32, partial_row, 4>)
// CHECK:             scf.if %{{.*}} -> (!nagpu.fragment<64xf32, row, 4>, !nagpu.fragment<64xf32, partial_row, 4>) {
// CHECK:               nagpu.reduce max %{{.*}} : <64x32xf32, accumulator, 4> -> <64xf32, row, 4>
// CHECK:               %[[L:.*]] = nagpu.reduce add %{{.*}} : <64x32xf32, accumulator, 4> -> <64xf32, partial_row, 4>
// CHECK:               %[[N:.*]] = nagpu.map(%[[L]], %{{.*}}, %[[SUM]] : !nagpu.fragment<64xf32, partial_row, 4>, !nagpu.fragment<64xf32, row, 4>, !nagpu.fragment<64xf32, partial_row, 4>) {
// CHECK:               } : !nagpu.fragment<64xf32, partial_row, 4>
// CHECK:               scf.yield %{{.*}}, %[[N]]
// CHECK:             } else {
// CHECK:               scf.yield %{{.*}}, %[[SUM]]
// CHECK:           %[[WHOLE:.*]] = nagpu.convert %[[R]]#1 : <64xf32, partial_row, 4> -> <64xf32, row, 4>
// CHECK:           nagpu.store %[[WHOLE]]
func.func @softmax(%o: memref<1x64x1xf32>, %s: !S, %n: index) {
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c128, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %zero = nagpu.splat %f0 : f32 -> !R
    %r:2 = scf.for %t = %b to %n step %c1 iter_args(%max = %zero, %sum = %zero) -> (!R, !R) {
      %needed = arith.cmpi sle, %t, %by : index
      %next:2 = scf.if %needed -> (!R, !R) {
        %m = nagpu.reduce max %s : !S -> !R
        %l = nagpu.reduce add %s : !S -> !R
        %a = nagpu.map(%l, %m, %sum : !R, !R, !R) {
        ^bb0(%x: f32, %y: f32, %z: f32):
          %f = math.fma %z, %y, %x : f32
          nagpu.yield %f : f32
        } : !R
        scf.yield %m, %a : !R, !R
      } else {
        scf.yield %max, %sum : !R, !R
      }
      scf.yield %next#0, %next#1 : !R, !R
    }
    nagpu.store %r#1 into %o[%b, %b] at(%b) box [64] dilation [1] : !R, memref<1x64x1xf32>
    nagpu.store %r#0 into %o[%b, %b] at(%b) box [64] dilation [1] : !R, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}

// -----

!S = !nagpu.fragment<64x32xf32, accumulator, 4>
!R = !nagpu.fragment<64xf32, row, 4>

// Over two loops, the second one from where the first one ended.
// CHECK-LABEL: func @two_loops
// CHECK:         %[[R:.*]] = scf.for {{.*}} -> (!nagpu.fragment<64xf32, partial_row, 4>)
// CHECK-NOT:     nagpu.convert
// CHECK:         %[[T:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[R]]) -> (!nagpu.fragment<64xf32, partial_row, 4>)
// CHECK:         nagpu.convert %[[T]]
// CHECK-NOT:     nagpu.convert
func.func @two_loops(%o: memref<1x64x1xf32>, %s: !S, %n: index) {
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c128, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %zero = nagpu.splat %f0 : f32 -> !R
    %r = scf.for %t = %b to %n step %c1 iter_args(%sum = %zero) -> (!R) {
      %l = nagpu.reduce add %s : !S -> !R
      %a = nagpu.map(%l, %sum : !R, !R) {
      ^bb0(%x: f32, %y: f32):
        %f = arith.addf %x, %y : f32
        nagpu.yield %f : f32
      } : !R
      scf.yield %a : !R
    }
    %r2 = scf.for %t = %b to %n step %c1 iter_args(%sum = %r) -> (!R) {
      %l = nagpu.reduce add %s : !S -> !R
      %a = nagpu.map(%l, %sum : !R, !R) {
      ^bb0(%x: f32, %y: f32):
        %f = arith.addf %x, %y : f32
        nagpu.yield %f : f32
      } : !R
      scf.yield %a : !R
    }
    nagpu.store %r2 into %o[%b, %b] at(%b) box [64] dilation [1] : !R, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}

// -----

!S = !nagpu.fragment<64x32xf32, accumulator, 4>
!R = !nagpu.fragment<64xf32, row, 4>

// No-op: the square of a sum is not the sum of squares; a sum that starts with
// something; one that the loop stores; no sum at all.
// CHECK-LABEL: func @whole
// CHECK-NOT:     partial_row
func.func @whole(%o: memref<1x64x1xf32>, %s: !S, %n: index, %one: !R) {
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c128, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %zero = nagpu.splat %f0 : f32 -> !R
    %r:4 = scf.for %t = %b to %n step %c1
        iter_args(%squares = %zero, %started = %one, %stored = %zero, %scaled = %zero) -> (!R, !R, !R, !R) {
      %l = nagpu.reduce add %s : !S -> !R
      %a = nagpu.map(%l, %squares : !R, !R) {
      ^bb0(%x: f32, %y: f32):
        %f = math.fma %x, %x, %y : f32
        nagpu.yield %f : f32
      } : !R
      %l1 = nagpu.reduce add %s : !S -> !R
      %a1 = nagpu.map(%l1, %started : !R, !R) {
      ^bb0(%x: f32, %y: f32):
        %f = arith.addf %x, %y : f32
        nagpu.yield %f : f32
      } : !R
      %l2 = nagpu.reduce add %s : !S -> !R
      %a2 = nagpu.map(%l2, %stored : !R, !R) {
      ^bb0(%x: f32, %y: f32):
        %f = arith.addf %x, %y : f32
        nagpu.yield %f : f32
      } : !R
      nagpu.store %a2 into %o[%b, %b] at(%t) box [64] dilation [1] : !R, memref<1x64x1xf32>
      %a3 = nagpu.map(%scaled : !R) {
      ^bb0(%x: f32):
        %f = arith.addf %x, %x : f32
        nagpu.yield %f : f32
      } : !R
      scf.yield %a, %a1, %a2, %a3 : !R, !R, !R, !R
    }
    nagpu.store %r#0 into %o[%b, %b] at(%b) box [64] dilation [1] : !R, memref<1x64x1xf32>
    nagpu.store %r#1 into %o[%b, %b] at(%b) box [64] dilation [1] : !R, memref<1x64x1xf32>
    nagpu.store %r#2 into %o[%b, %b] at(%b) box [64] dilation [1] : !R, memref<1x64x1xf32>
    nagpu.store %r#3 into %o[%b, %b] at(%b) box [64] dilation [1] : !R, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}
