// Dense attention over 5 tiles of 16 keys. K and V have a producer and a ring of
// two slots each; the first also loads the queries of both consumers. The
// product with the next keys is in flight during the softmax of a tile, and the
// product with the values during nothing.

!map = !nagpu.tensor_map<1x16x16xbf16, tma32>
!qmap = !nagpu.tensor_map<1x64x16xbf16, tma32>
!qring = !nagpu.shared<2x64x16xbf16, tma32>
!qtile = !nagpu.shared<64x16xbf16, tma32>
!ring = !nagpu.shared<2x16x16xbf16, tma32>
!tile = !nagpu.shared<16x16xbf16, tma32>
!two = !nagpu.barrier<2>
!scores = !nagpu.fragment<64x16xf32, accumulator, 4>
!sums = !nagpu.fragment<64x16xf32, accumulator, 4>
!weights = !nagpu.fragment<64x16xbf16, lhs, 4>
!row = !nagpu.fragment<64xf32, row, 4>
!part = !nagpu.fragment<64xf32, partial_row, 4>

gpu.module @kernels {
gpu.func @attention(%qm: !qmap, %km: !map, %vm: !map,
    %out: memref<1x128x2x16xbf16>, %lse: memref<1x128x2xf32>) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %tiles = arith.constant 5 : index
  %p0 = arith.constant 0 : i32
  %p1 = arith.constant 1 : i32
  %length = arith.constant 75 : i32
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  // 1/4 of a logarithm to base 2.
  %scale = arith.constant 0.36067376 : f32
  %ln2 = arith.constant 0.69314718 : f32
  %h = gpu.block_id x
  %c = arith.muli %h, %c16 : index
  %q = nagpu.alloc : !qring
  %k = nagpu.alloc : !ring
  %v = nagpu.alloc : !ring
  %box = nagpu.mailbox_alloc : !nagpu.mailbox<2x2x1>
  %q_full = nagpu.mbarrier_init arrivals 1 : !two
  %k_full = nagpu.mbarrier_init arrivals 1 : !two
  %v_full = nagpu.mbarrier_init arrivals 1 : !two
  %k_free = nagpu.mbarrier_init arrivals 8 : !two
  %v_free = nagpu.mbarrier_init arrivals 8 : !two
  nagpu.roles registers(24, 240) producer {
    scf.for %g = %c0 to %tiles step %c1 {
      %x = arith.muli %g, %c64 : index
      %two = arith.constant 2 : index
      %some = arith.cmpi slt, %g, %two : index
      scf.if %some {
        %qt = nagpu.slot %q[%g] : !qring -> !qtile
        nagpu.mbarrier_expect_tx %q_full[%g] bytes 2048 : !two
        nagpu.tma_load %qm[%c0, %x, %c] into %qt signal %q_full[%g] : !qmap, !qtile, !two
      }
    }
    scf.for %t = %c0 to %tiles step %c1 iter_args(%i = %c0, %p = %p1) -> (index, i32) {
      %x = arith.muli %t, %c16 : index
      %first = arith.index_cast %x : index to i32
      %kt = nagpu.slot %k[%i] : !ring -> !tile
      nagpu.mbarrier_wait %k_free[%i] parity %p : !two
      nagpu.mailbox_put %box[%i, %c0] %first : !nagpu.mailbox<2x2x1>
      nagpu.mailbox_put %box[%i, %c1] %first : !nagpu.mailbox<2x2x1>
      nagpu.mbarrier_expect_tx %k_full[%i] bytes 512 : !two
      nagpu.tma_load %km[%c0, %x, %c] into %kt signal %k_full[%i] : !map, !tile, !two
      %i1, %p2 = nagpu.advance %i, %p in 2
      scf.yield %i1, %p2 : index, i32
    }
  } producer {
    scf.for %t = %c0 to %tiles step %c1 iter_args(%i = %c0, %p = %p1) -> (index, i32) {
      %x = arith.muli %t, %c16 : index
      %vt = nagpu.slot %v[%i] : !ring -> !tile
      nagpu.mbarrier_wait %v_free[%i] parity %p : !two
      nagpu.mbarrier_expect_tx %v_full[%i] bytes 512 : !two
      nagpu.tma_load %vm[%c0, %x, %c] into %vt signal %v_full[%i] : !map, !tile, !two
      %i1, %p2 = nagpu.advance %i, %p in 2
      scf.yield %i1, %p2 : index, i32
    }
  } consumers(%group in 2) {
    %qt = nagpu.slot %q[%group] : !qring -> !qtile
    %zeros = nagpu.splat %zero : f32 -> !sums
    %none = nagpu.splat %zero : f32 -> !part
    %low = nagpu.splat %lowest : f32 -> !row
    nagpu.mbarrier_wait %q_full[%group] parity %p0 : !two
    %kt0 = nagpu.slot %k[%c0] : !ring -> !tile
    nagpu.mbarrier_wait %k_full[%c0] parity %p0 : !two
    %at0 = nagpu.mailbox_get %box[%c0, %group] : !nagpu.mailbox<2x2x1>
    nagpu.wgmma_fence
    %f0 = nagpu.wgmma %qt, %kt0 transposed : !qtile, !tile -> !scores
    nagpu.wgmma_commit
    %s0 = nagpu.wgmma_wait pending 0 (%f0 : !scores)
    nagpu.mbarrier_arrive %k_free[%c0] : !two
    %r:9 = scf.for %t = %c0 to %tiles step %c1
        iter_args(%s = %s0, %at = %at0, %o = %zeros, %m = %low, %l = %none,
                  %ki = %c1, %kp = %p0, %vi = %c0, %vp = %p0)
        -> (!scores, i32, !sums, !row, !part, index, i32, index, i32) {
      %next = arith.addi %t, %c1 : index
      %more = arith.cmpi slt, %next, %tiles : index
      %kt = nagpu.slot %k[%ki] : !ring -> !tile
      %fn, %an = scf.if %more -> (!scores, i32) {
        nagpu.mbarrier_wait %k_full[%ki] parity %kp : !two
        %a = nagpu.mailbox_get %box[%ki, %group] : !nagpu.mailbox<2x2x1>
        nagpu.wgmma_fence
        %f = nagpu.wgmma %qt, %kt transposed : !qtile, !tile -> !scores
        nagpu.wgmma_commit
        scf.yield %f, %a : !scores, i32
      } else {
        nagpu.wgmma_fence
        nagpu.wgmma_commit
        scf.yield %s, %at : !scores, i32
      }
      %masked = nagpu.map(%s : !scores) {
      ^bb0(%x: f32):
        %column = nagpu.index 1
        %key = arith.addi %at, %column : i32
        %inside = arith.cmpi slt, %key, %length : i32
        %y = arith.select %inside, %x, %lowest : f32
        nagpu.yield %y : f32
      } : !scores
      %top = nagpu.reduce max %masked : !scores -> !row
      %m1, %shrink = nagpu.map(%top, %m : !row, !row) {
      ^bb0(%a: f32, %b: f32):
        %most = arith.maxnumf %a, %b : f32
        %d = arith.subf %b, %most : f32
        %e = arith.mulf %d, %scale : f32
        %y = math.exp2 %e : f32
        nagpu.yield %most, %y : f32, f32
      } : !row, !row
      %w = nagpu.map(%masked, %m1 : !scores, !row) {
      ^bb0(%x: f32, %most: f32):
        %d = arith.subf %x, %most : f32
        %e = arith.mulf %d, %scale : f32
        %y = math.exp2 %e : f32
        nagpu.yield %y : f32
      } : !scores
      %more_l = nagpu.reduce add %w : !scores -> !part
      %l1 = nagpu.map(%l, %shrink, %more_l : !part, !row, !part) {
      ^bb0(%a: f32, %b: f32, %d: f32):
        %e = arith.mulf %a, %b : f32
        %y = arith.addf %e, %d : f32
        nagpu.yield %y : f32
      } : !part
      %o1 = nagpu.map(%o, %shrink : !sums, !row) {
      ^bb0(%a: f32, %b: f32):
        %y = arith.mulf %a, %b : f32
        nagpu.yield %y : f32
      } : !sums
      %pw = nagpu.convert %w : !scores -> !weights
      %vt = nagpu.slot %v[%vi] : !ring -> !tile
      nagpu.mbarrier_wait %v_full[%vi] parity %vp : !two
      %o2, %pf = nagpu.wgmma_fence(%o1, %pw : !sums, !weights)
      %o3 = nagpu.wgmma %pf, %vt, %o2 : !weights, !tile -> !sums
      nagpu.wgmma_commit
      %sn = nagpu.wgmma_wait pending 1 (%fn : !scores)
      scf.if %more {
        nagpu.mbarrier_arrive %k_free[%ki] : !two
      }
      %o4 = nagpu.wgmma_wait pending 0 (%o3 : !sums)
      nagpu.mbarrier_arrive %v_free[%vi] : !two
      %ki1, %kp1 = nagpu.advance %ki, %kp in 2
      %vi1, %vp1 = nagpu.advance %vi, %vp in 2
      scf.yield %sn, %an, %o4, %m1, %l1, %ki1, %kp1, %vi1, %vp1
        : !scores, i32, !sums, !row, !part, index, i32, index, i32
    }
    %sum = nagpu.convert %r#4 : !part -> !row
    %result = nagpu.map(%r#2, %sum : !sums, !row) {
    ^bb0(%a: f32, %total: f32):
      %y = arith.divf %a, %total : f32
      nagpu.yield %y : f32
    } : !sums
    %stat = nagpu.map(%r#3, %sum : !row, !row) {
    ^bb0(%most: f32, %total: f32):
      %a = math.log2 %total : f32
      %b = math.fma %most, %scale, %a : f32
      %y = arith.mulf %b, %ln2 : f32
      nagpu.yield %y : f32
    } : !row
    %x = arith.muli %group, %c64 : index
    nagpu.store %result into %out[%c0, %h] at(%x) box [64] dilation [1]
      : !sums, memref<1x128x2x16xbf16>
    nagpu.store %stat into %lse[%c0, %h] at(%x) box [64] dilation [1]
      : !row, memref<1x128x2xf32>
  }
  gpu.return
}
}
