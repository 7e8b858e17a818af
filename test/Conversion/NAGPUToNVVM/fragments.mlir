// RUN: na-opt %s -convert-nagpu-to-nvvm -canonicalize -cse | FileCheck %s

!acc = !nagpu.fragment<16x16xf32, accumulator, 1>
!row = !nagpu.fragment<16xf32, row, 1>
!partial = !nagpu.fragment<16xf32, partial_row, 1>

// One value for each register: 16 * 16 / 32, or half as many pairs.
// CHECK-LABEL: func @splat(
// CHECK-SAME:    %[[X:.*]]: f32, %[[Y:.*]]: bf16) -> (f32, f32, f32, f32, f32, f32, f32, f32, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>)
// CHECK:         %[[P:.*]] = llvm.mlir.poison : vector<2xbf16>
// CHECK:         %[[P0:.*]] = llvm.insertelement %[[Y]], %[[P]][%c0_i32
// CHECK:         %[[P1:.*]] = llvm.insertelement %[[Y]], %[[P0]][%c1_i32
// CHECK:         return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[P1]], %[[P1]], %[[P1]], %[[P1]]
func.func @splat(%x: f32, %y: bf16)
    -> (!acc, !nagpu.fragment<16x16xbf16, lhs, 1>) {
  %0 = nagpu.splat %x : f32 -> !acc
  %1 = nagpu.splat %y : bf16 -> !nagpu.fragment<16x16xbf16, lhs, 1>
  return %0, %1 : !acc, !nagpu.fragment<16x16xbf16, lhs, 1>
}

// The second 8 columns of each of the two blocks of 16 rows.
// CHECK-LABEL: func @extract(
// CHECK-SAME:    %[[A:.*]]: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %[[B0:.*]]: f32, %[[B1:.*]]: f32, %[[B2:.*]]: f32, %[[B3:.*]]: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %[[D0:.*]]: f32, %[[D1:.*]]: f32, %[[D2:.*]]: f32, %[[D3:.*]]: f32)
// CHECK-NEXT:    return %[[B0]], %[[B1]], %[[B2]], %[[B3]], %[[D0]], %[[D1]], %[[D2]], %[[D3]]
func.func @extract(%a: !nagpu.fragment<32x16xf32, lhs, 1>)
    -> !nagpu.fragment<32x8xf32, lhs, 1> {
  %0 = nagpu.extract %a[8]
    : !nagpu.fragment<32x16xf32, lhs, 1> -> !nagpu.fragment<32x8xf32, lhs, 1>
  return %0 : !nagpu.fragment<32x8xf32, lhs, 1>
}

// Accumulators of two blocks of 8 columns, of rows g and g + 8, make the four
// registers of an lhs of 16.
// CHECK-LABEL: func @convert_lhs(
// CHECK-SAME:    %[[A0:[^ :]*]]: f32, %[[A1:[^ :]*]]: f32, %[[A2:[^ :]*]]: f32, %[[A3:[^ :]*]]: f32, %[[B0:[^ :]*]]: f32, %[[B1:[^ :]*]]: f32, %[[B2:[^ :]*]]: f32, %[[B3:[^ :]*]]: f32)
// CHECK:         %[[P0:.*]] = llvm.insertelement %[[A0]]
// CHECK:         %[[P:.*]] = llvm.insertelement %[[A1]], %[[P0]]
// CHECK:         %[[R0:.*]] = arith.truncf %[[P]] : vector<2xf32> to vector<2xbf16>
// CHECK:         %[[Q0:.*]] = llvm.insertelement %[[A2]]
// CHECK:         %[[Q:.*]] = llvm.insertelement %[[A3]], %[[Q0]]
// CHECK:         %[[R1:.*]] = arith.truncf %[[Q]]
// CHECK:         llvm.insertelement %[[B0]]
// CHECK:         %[[R2:.*]] = arith.truncf
// CHECK:         llvm.insertelement %[[B2]]
// CHECK:         %[[R3:.*]] = arith.truncf
// CHECK:         return %[[R0]], %[[R1]], %[[R2]], %[[R3]]
func.func @convert_lhs(%a: !acc) -> !nagpu.fragment<16x16xbf16, lhs, 1> {
  %0 = nagpu.convert %a : !acc -> !nagpu.fragment<16x16xbf16, lhs, 1>
  return %0 : !nagpu.fragment<16x16xbf16, lhs, 1>
}

// CHECK-LABEL: func @convert_lhs_wide(
// CHECK-SAME:    %[[A0:.*]]: f32, %[[A1:.*]]: f32, %[[A2:.*]]: f32, %[[A3:.*]]: f32)
// CHECK-NEXT:    return %[[A0]], %[[A2]], %[[A1]], %[[A3]]
func.func @convert_lhs_wide(%a: !nagpu.fragment<16x8xf32, accumulator, 1>)
    -> !nagpu.fragment<16x8xf32, lhs, 1> {
  %0 = nagpu.convert %a : !nagpu.fragment<16x8xf32, accumulator, 1>
    -> !nagpu.fragment<16x8xf32, lhs, 1>
  return %0 : !nagpu.fragment<16x8xf32, lhs, 1>
}

// CHECK-LABEL: func @convert_row(
// CHECK-SAME:    %[[A:.*]]: f32, %{{.*}}: f32)
// CHECK:         %[[S:.*]] = nvvm.shfl.sync bfly %c-1_i32, %[[A]], %c1_i32, %c31_i32
// CHECK:         %[[B:.*]] = arith.addf %[[A]], %[[S]]
// CHECK:         %[[S1:.*]] = nvvm.shfl.sync bfly %c-1_i32, %[[B]], %c2_i32, %c31_i32
// CHECK:         arith.addf %[[B]], %[[S1]]
func.func @convert_row(%a: !partial) -> !row {
  %0 = nagpu.convert %a : !partial -> !row
  return %0 : !row
}

// Two chains a row, combined; then the lanes.
// CHECK-LABEL: func @reduce_max(
// CHECK-SAME:    %[[A0:[^ :]*]]: f32, %[[A1:[^ :]*]]: f32, %{{[^ :]*}}: f32, %{{[^ :]*}}: f32, %[[B0:[^ :]*]]: f32, %[[B1:[^ :]*]]: f32,
// CHECK:         %[[E:.*]] = llvm.intr.maxnum(%[[A0]], %[[B0]])
// CHECK:         %[[O:.*]] = llvm.intr.maxnum(%[[A1]], %[[B1]])
// CHECK:         %[[M:.*]] = llvm.intr.maxnum(%[[E]], %[[O]])
// CHECK:         %[[S:.*]] = nvvm.shfl.sync bfly %c-1_i32, %[[M]], %c1_i32, %c31_i32
// CHECK:         llvm.intr.maxnum(%[[M]], %[[S]])
// CHECK-COUNT-3: nvvm.shfl.sync
// CHECK-NOT:     nvvm.shfl.sync
func.func @reduce_max(%a: !acc) -> !row {
  %0 = nagpu.reduce max %a : !acc -> !row
  return %0 : !row
}

// CHECK-LABEL: func @reduce_partial
// CHECK-COUNT-6: arith.addf
// CHECK-NOT:     shfl
func.func @reduce_partial(%a: !acc) -> !partial {
  %0 = nagpu.reduce add %a : !acc -> !partial
  return %0 : !partial
}

// What depends on the row alone is computed twice, on the column four times;
// the column is a multiple of 2 of the thread's plus a constant.
// CHECK-LABEL: func @map
// CHECK:         %[[T:.*]] = arith.andi %{{.*}}, %c3_i32
// CHECK:         %[[T2:.*]] = arith.muli %[[T]], %c2_i32
// CHECK:         arith.divui %[[T2]], %c16_i32
// CHECK:         %[[C1:.*]] = arith.addi %[[T2]], %c1_i32 overflow<nsw, nuw>
// CHECK:         arith.divui %[[C1]], %c16_i32
// CHECK:         %[[C8:.*]] = arith.addi %[[T2]], %c8_i32 overflow<nsw, nuw>
// CHECK:         arith.divui %[[C8]], %c16_i32
// CHECK:         %[[C9:.*]] = arith.addi %[[T2]], %c9_i32 overflow<nsw, nuw>
// CHECK:         arith.divui %[[C9]], %c16_i32
// CHECK-NOT:     arith.divui
func.func @map(%a: !acc, %r: !row)
    -> (!acc, !nagpu.fragment<16x16xi1, accumulator, 1>) {
  %0:2 = nagpu.map(%a, %r : !acc, !row) {
  ^bb0(%x: f32, %y: f32):
    %c16 = arith.constant 16 : i32
    %column = nagpu.index 1
    %d = arith.divui %column, %c16 : i32
    %f = arith.sitofp %d : i32 to f32
    %m = arith.maxnumf %x, %f : f32
    %n = arith.negf %y : f32
    %z = arith.addf %m, %n fastmath<contract> : f32
    %e = math.exp2 %z : f32
    %p = arith.cmpf olt, %e, %x : f32
    nagpu.yield %e, %p : f32, i1
  } : !acc, !nagpu.fragment<16x16xi1, accumulator, 1>
  return %0#0, %0#1 : !acc, !nagpu.fragment<16x16xi1, accumulator, 1>
}

// CHECK-LABEL: func @map_row_once
// CHECK-COUNT-2: arith.negf
// CHECK-NOT:     arith.negf
// CHECK:         return
func.func @map_row_once(%a: !acc, %r: !row) -> !acc {
  %0 = nagpu.map(%a, %r : !acc, !row) {
  ^bb0(%x: f32, %y: f32):
    %n = arith.negf %y : f32
    %z = arith.addf %x, %n fastmath<contract> : f32
    nagpu.yield %z : f32
  } : !acc
  return %0 : !acc
}

// `arith` would expand maxima to comparisons, the exponential of a number that
// is not flushed costs three more instructions, and an exact quotient a branch.
// CHECK-LABEL: func @map_instructions
// CHECK-COUNT-2: llvm.intr.maxnum
// CHECK:         llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
// CHECK:         arith.addf {{.*}} fastmath<contract>
// CHECK:         llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
// CHECK:         arith.divf
func.func @map_instructions(%r: !row) -> !row {
  %0 = nagpu.map(%r : !row) {
  ^bb0(%y: f32):
    %m = arith.maxnumf %y, %y : f32
    nagpu.yield %m : f32
  } : !row
  %1 = nagpu.map(%0 : !row) {
  ^bb0(%y: f32):
    %e = math.exp2 %y : f32
    %z = arith.addf %e, %y fastmath<contract> : f32
    nagpu.yield %z : f32
  } : !row
  %2 = nagpu.map(%1 : !row) {
  ^bb0(%y: f32):
    %one = arith.constant 1.0 : f32
    %i = arith.divf %one, %y : f32
    %q = arith.divf %y, %i : f32
    nagpu.yield %q : f32
  } : !row
  return %2 : !row
}

// Pairs are taken apart and made again.
// CHECK-LABEL: func @map_pairs
// CHECK:         llvm.extractelement
// CHECK:         arith.extf
// CHECK:         llvm.insertelement
// CHECK:         llvm.insertelement
func.func @map_pairs(%a: !nagpu.fragment<16x16xf16, lhs, 1>)
    -> !nagpu.fragment<16x16xf16, lhs, 1> {
  %0 = nagpu.map(%a : !nagpu.fragment<16x16xf16, lhs, 1>) {
  ^bb0(%x: f16):
    %w = arith.extf %x : f16 to f32
    %s = arith.addf %w, %w : f32
    %n = arith.truncf %s : f32 to f16
    nagpu.yield %n : f16
  } : !nagpu.fragment<16x16xf16, lhs, 1>
  return %0 : !nagpu.fragment<16x16xf16, lhs, 1>
}

// Loops and conditions carry the registers, and no tokens.
// CHECK-LABEL: func @carried(
// CHECK-SAME:    %[[R0:[^ :]*]]: f32, %[[R1:[^ :]*]]: f32, %[[Q0:[^ :]*]]: f32, %[[Q1:[^ :]*]]: f32, %[[TILE:[^ :]*]]: i32
// CHECK:         %[[FOR:.*]]:2 = scf.for %{{.*}} iter_args(%[[X0:.*]] = %[[R0]], %[[X1:.*]] = %[[R1]]) -> (f32, f32)
// CHECK:           %[[Y0:.*]] = arith.select %{{.*}}, %[[Q0]], %[[X0]] : f32
// CHECK:           %[[Y1:.*]] = arith.select %{{.*}}, %[[Q1]], %[[X1]] : f32
// CHECK:           scf.yield %[[Y0]], %[[Y1]] : f32, f32
// CHECK:         return %[[FOR]]#0, %[[FOR]]#1, %[[TILE]]
func.func @carried(%r: !row, %q: !row, %tile: !nagpu.shared<16x16xbf16, xor>,
                   %n: index, %p: i1)
    -> (!row, !nagpu.shared<16x16xbf16, xor>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %g = nagpu.async_commit none
  %0:3 = scf.for %i = %c0 to %n step %c1
      iter_args(%x = %r, %t = %g, %s = %tile)
      -> (!row, !nagpu.token, !nagpu.shared<16x16xbf16, xor>) {
    %s1 = nagpu.async_wait %t pending 0 tiles(%s)
      : !nagpu.shared<16x16xbf16, xor>
    %h = nagpu.async_commit none
    %y = scf.if %p -> (!row) {
      scf.yield %q : !row
    } else {
      scf.yield %x : !row
    }
    scf.yield %y, %h, %s1 : !row, !nagpu.token, !nagpu.shared<16x16xbf16, xor>
  }
  return %0#0, %0#2 : !row, !nagpu.shared<16x16xbf16, xor>
}
