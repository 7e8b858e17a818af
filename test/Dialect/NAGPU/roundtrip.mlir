// RUN: na-opt %s | na-opt | FileCheck %s
// RUN: na-opt %s --mlir-print-op-generic | na-opt | FileCheck %s
// RUN: na-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC
// RUN: na-opt %s --emit-bytecode | na-opt | FileCheck %s

// CHECK-LABEL: func private @types
// CHECK-SAME: !nagpu.fragment<128x64xf32, accumulator, 4>
// CHECK-SAME: !nagpu.fragment<128x64xi1, accumulator, 4>
// CHECK-SAME: !nagpu.fragment<128x32xf16, lhs, 4>
// CHECK-SAME: !nagpu.fragment<128x8xf32, lhs, 4>
// CHECK-SAME: !nagpu.fragment<16x8xbf16, rhs, 4>
// CHECK-SAME: !nagpu.fragment<128xi32, row, 4>
// CHECK-SAME: !nagpu.fragment<128xf32, partial_row, 4>
// CHECK-SAME: !nagpu.fragment<64xi32, column, 4>
// CHECK-SAME: !nagpu.shared<64x128xbf16, linear>
// CHECK-SAME: !nagpu.shared<64x20xf32, padded>
// CHECK-SAME: !nagpu.shared<3x64x128xf16, xor>
// CHECK-SAME: !nagpu.token
func.func private @types(
    !nagpu.fragment<128x64xf32, accumulator, 4>,
    !nagpu.fragment<128x64xi1, accumulator, 4>,
    !nagpu.fragment<128x32xf16, lhs, 4>, !nagpu.fragment<128x8xf32, lhs, 4>,
    !nagpu.fragment<16x8xbf16, rhs, 4>, !nagpu.fragment<128xi32, row, 4>,
    !nagpu.fragment<128xf32, partial_row, 4>,
    !nagpu.fragment<64xi32, column, 4>,
    !nagpu.shared<64x128xbf16, linear>, !nagpu.shared<64x20xf32, padded>,
    !nagpu.shared<3x64x128xf16, xor>, !nagpu.token)

// CHECK-LABEL: func @shared_memory
// GENERIC-LABEL: sym_name = "shared_memory"
func.func @shared_memory(%k: memref<1x56x56x2x32xbf16>, %q: memref<?x?x?x?xf32>,
                         %b: index, %h: index, %x: index, %y: index) {
  // CHECK: %[[RING:.*]] = nagpu.alloc {offset = 32768 : i64} : <2x64x32xbf16, xor>
  // GENERIC: "nagpu.alloc"() <{offset = 32768 : i64}> : () -> !nagpu.shared<2x64x32xbf16, xor>
  %ring = nagpu.alloc {offset = 32768 : i64} : !nagpu.shared<2x64x32xbf16, xor>
  // CHECK: %[[PLAIN:.*]] = nagpu.alloc : <64x20xf32, padded>
  %plain = nagpu.alloc : !nagpu.shared<64x20xf32, padded>
  %one = arith.constant 1 : index
  // CHECK: %[[TILE:.*]] = nagpu.slot %[[RING]][%{{.*}}] : <2x64x32xbf16, xor> -> <64x32xbf16, xor>
  // GENERIC: "nagpu.slot"(%{{.*}}, %{{.*}}) : (!nagpu.shared<2x64x32xbf16, xor>, index) -> !nagpu.shared<64x32xbf16, xor>
  %tile = nagpu.slot %ring[%one]
    : !nagpu.shared<2x64x32xbf16, xor> -> !nagpu.shared<64x32xbf16, xor>
  %any = nagpu.slot %ring[%x]
    : !nagpu.shared<2x64x32xbf16, xor> -> !nagpu.shared<64x32xbf16, xor>
  // CHECK: %[[T0:.*]] = nagpu.async_copy %{{.*}}[%{{.*}}, %{{.*}}] at(%{{.*}}, %{{.*}}) box [4, 16] dilation [1, 2] into %[[TILE]] warps 4 : memref<1x56x56x2x32xbf16>, <64x32xbf16, xor>
  // GENERIC: "nagpu.async_copy"({{.*}}) <{box = array<i64: 4, 16>, dilation = array<i64: 1, 2>, warps = 4 : i64}> : (memref<1x56x56x2x32xbf16>, index, index, index, index, !nagpu.shared<64x32xbf16, xor>) -> !nagpu.token
  %t0 = nagpu.async_copy %k[%b, %h] at(%x, %y) box [4, 16] dilation [1, 2]
      into %tile warps 4
    : memref<1x56x56x2x32xbf16>, !nagpu.shared<64x32xbf16, xor>
  // CHECK: %[[T1:.*]] = nagpu.async_copy %{{.*}}[%{{.*}}, %{{.*}}] at(%{{.*}}) box [64] dilation [1] into %[[PLAIN]] warps 2 : memref<?x?x?x?xf32>, <64x20xf32, padded>
  %t1 = nagpu.async_copy %q[%b, %h] at(%x) box [64] dilation [1]
      into %plain warps 2
    : memref<?x?x?x?xf32>, !nagpu.shared<64x20xf32, padded>
  // CHECK: %[[G:.*]] = nagpu.async_commit %[[T0]], %[[T1]]
  // GENERIC: "nagpu.async_commit"(%{{.*}}, %{{.*}}) : (!nagpu.token, !nagpu.token) -> !nagpu.token
  %g = nagpu.async_commit %t0, %t1
  // CHECK: %[[E:.*]] = nagpu.async_commit none
  // GENERIC: "nagpu.async_commit"() : () -> !nagpu.token
  %e = nagpu.async_commit none
  // CHECK: nagpu.async_wait %[[G]], %[[E]] pending 1 tiles(%[[TILE]], %[[PLAIN]]) : !nagpu.shared<64x32xbf16, xor>, !nagpu.shared<64x20xf32, padded>
  // GENERIC: "nagpu.async_wait"({{.*}}) <{operandSegmentSizes = array<i32: 2, 2>, pending = 1 : i64}> : (!nagpu.token, !nagpu.token, !nagpu.shared<64x32xbf16, xor>, !nagpu.shared<64x20xf32, padded>) -> (!nagpu.shared<64x32xbf16, xor>, !nagpu.shared<64x20xf32, padded>)
  %w:2 = nagpu.async_wait %g, %e pending 1 tiles(%tile, %plain)
    : !nagpu.shared<64x32xbf16, xor>, !nagpu.shared<64x20xf32, padded>
  // CHECK: nagpu.async_wait pending 0{{$}}
  // GENERIC: "nagpu.async_wait"() <{operandSegmentSizes = array<i32: 0, 0>, pending = 0 : i64}> : () -> ()
  nagpu.async_wait pending 0
  // CHECK: nagpu.barrier
  // GENERIC: "nagpu.barrier"() : () -> ()
  nagpu.barrier
  return
}

// CHECK-LABEL: func @products
// GENERIC-LABEL: sym_name = "products"
func.func @products(%q: !nagpu.shared<128x64xbf16, xor>,
                    %k: !nagpu.shared<64x64xbf16, xor>,
                    %v: !nagpu.shared<64x64xf32, padded>,
                    %u: !nagpu.shared<128x64xf32, padded>,
                    %zero: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // CHECK: nagpu.ldmatrix %{{.*}}[0, 48] : <128x64xbf16, xor> -> <128x16xbf16, lhs, 4>
  // GENERIC: "nagpu.ldmatrix"(%{{.*}}) <{column = 48 : i64, row = 0 : i64}>
  %a = nagpu.ldmatrix %q[0, 48]
    : !nagpu.shared<128x64xbf16, xor> -> !nagpu.fragment<128x16xbf16, lhs, 4>
  // CHECK: nagpu.ldmatrix %{{.*}}[0, 48] transposed : <64x64xbf16, xor> -> <16x64xbf16, rhs, 4>
  // GENERIC: "nagpu.ldmatrix"(%{{.*}}) <{column = 48 : i64, row = 0 : i64, transposed}>
  %b = nagpu.ldmatrix %k[0, 48] transposed
    : !nagpu.shared<64x64xbf16, xor> -> !nagpu.fragment<16x64xbf16, rhs, 4>
  // CHECK: nagpu.ldmatrix %{{.*}}[16, 0] transposed : <64x64xbf16, xor> -> <64x16xbf16, lhs, 4>
  %b0 = nagpu.ldmatrix %k[16, 0] transposed
    : !nagpu.shared<64x64xbf16, xor> -> !nagpu.fragment<64x16xbf16, lhs, 4>
  // CHECK: nagpu.ldmatrix %{{.*}}[48, 8] : <64x64xbf16, xor> -> <16x56xbf16, rhs, 4>
  %b1 = nagpu.ldmatrix %k[48, 8]
    : !nagpu.shared<64x64xbf16, xor> -> !nagpu.fragment<16x56xbf16, rhs, 4>
  // CHECK: nagpu.ldmatrix %{{.*}}[8, 4] permuted : <64x64xf32, padded> -> <8x56xf32, rhs, 4>
  // GENERIC: "nagpu.ldmatrix"(%{{.*}}) <{column = 4 : i64, permuted, row = 8 : i64}>
  %c = nagpu.ldmatrix %v[8, 4] permuted
    : !nagpu.shared<64x64xf32, padded> -> !nagpu.fragment<8x56xf32, rhs, 4>
  // CHECK: nagpu.mma %{{.*}}, %{{.*}}, %{{.*}} : <128x16xbf16, lhs, 4>, <16x64xbf16, rhs, 4>, <128x64xf32, accumulator, 4>
  // GENERIC: "nagpu.mma"(%{{.*}}, %{{.*}}, %{{.*}}) : (!nagpu.fragment<128x16xbf16, lhs, 4>, !nagpu.fragment<16x64xbf16, rhs, 4>, !nagpu.fragment<128x64xf32, accumulator, 4>) -> !nagpu.fragment<128x64xf32, accumulator, 4>
  %d = nagpu.mma %a, %b, %zero
    : !nagpu.fragment<128x16xbf16, lhs, 4>, !nagpu.fragment<16x64xbf16, rhs, 4>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  // CHECK: nagpu.fma %{{.*}}, %{{.*}}, %{{.*}} transposed : !nagpu.shared<128x64xf32, padded>, <64x64xf32, padded>, <128x64xf32, accumulator, 4>
  // GENERIC: "nagpu.fma"(%{{.*}}, %{{.*}}, %{{.*}}) <{transposed}>
  %e = nagpu.fma %u, %v, %d transposed
    : !nagpu.shared<128x64xf32, padded>, !nagpu.shared<64x64xf32, padded>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  // CHECK: nagpu.fma %{{.*}}, %{{.*}}, %{{.*}} lhs_transposed : !nagpu.shared<64x128xf32, xor>, <64x64xf32, padded>, <128x64xf32, accumulator, 4>
  // GENERIC: "nagpu.fma"(%{{.*}}, %{{.*}}, %{{.*}}) <{lhs_transposed}>
  %ut = nagpu.alloc : !nagpu.shared<64x128xf32, xor>
  %et = nagpu.fma %ut, %v, %d lhs_transposed
    : !nagpu.shared<64x128xf32, xor>, !nagpu.shared<64x64xf32, padded>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  // CHECK: nagpu.fma %{{.*}}, %{{.*}}, %{{.*}} : !nagpu.fragment<128x64xf32, accumulator, 4>, <64x64xf32, padded>, <128x64xf32, accumulator, 4>
  %f = nagpu.fma %e, %v, %d
    : !nagpu.fragment<128x64xf32, accumulator, 4>,
      !nagpu.shared<64x64xf32, padded>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// CHECK-LABEL: func @fragments
// GENERIC-LABEL: sym_name = "fragments"
func.func @fragments(%out: memref<1x56x56x2x32xbf16>, %lse: memref<1x?x?x2xf32>,
                     %b: index, %h: index, %x: index, %y: index) {
  %zero = arith.constant 0.0 : f32
  // CHECK: nagpu.splat %{{.*}} : f32 -> <128x32xf32, accumulator, 4>
  // GENERIC: "nagpu.splat"(%{{.*}}) : (f32) -> !nagpu.fragment<128x32xf32, accumulator, 4>
  %w = nagpu.splat %zero : f32 -> !nagpu.fragment<128x32xf32, accumulator, 4>
  // CHECK: nagpu.splat %{{.*}} : f32 -> <128xf32, partial_row, 4>
  %l = nagpu.splat %zero : f32 -> !nagpu.fragment<128xf32, partial_row, 4>
  // CHECK: nagpu.convert %{{.*}} : <128x32xf32, accumulator, 4> -> <128x32xbf16, lhs, 4>
  // GENERIC: "nagpu.convert"(%{{.*}}) : (!nagpu.fragment<128x32xf32, accumulator, 4>) -> !nagpu.fragment<128x32xbf16, lhs, 4>
  %p = nagpu.convert %w
    : !nagpu.fragment<128x32xf32, accumulator, 4> -> !nagpu.fragment<128x32xbf16, lhs, 4>
  // CHECK: nagpu.convert %{{.*}} : <128x32xf32, accumulator, 4> -> <128x32xf16, lhs, 4>
  %p16 = nagpu.convert %w
    : !nagpu.fragment<128x32xf32, accumulator, 4> -> !nagpu.fragment<128x32xf16, lhs, 4>
  // CHECK: nagpu.convert %{{.*}} : <128x32xf32, accumulator, 4> -> <128x32xf32, lhs, 4>
  %p32 = nagpu.convert %w
    : !nagpu.fragment<128x32xf32, accumulator, 4> -> !nagpu.fragment<128x32xf32, lhs, 4>
  // CHECK: nagpu.convert %{{.*}} : <128xf32, partial_row, 4> -> <128xf32, row, 4>
  %r = nagpu.convert %l
    : !nagpu.fragment<128xf32, partial_row, 4> -> !nagpu.fragment<128xf32, row, 4>
  // CHECK: nagpu.extract %{{.*}}[16] : <128x32xbf16, lhs, 4> -> <128x16xbf16, lhs, 4>
  // GENERIC: "nagpu.extract"(%{{.*}}) <{column = 16 : i64}>
  %s = nagpu.extract %p[16]
    : !nagpu.fragment<128x32xbf16, lhs, 4> -> !nagpu.fragment<128x16xbf16, lhs, 4>
  // CHECK: nagpu.extract %{{.*}}[8] : <128x32xf32, lhs, 4> -> <128x24xf32, lhs, 4>
  %s32 = nagpu.extract %p32[8]
    : !nagpu.fragment<128x32xf32, lhs, 4> -> !nagpu.fragment<128x24xf32, lhs, 4>
  // CHECK: nagpu.reduce max %{{.*}} : <128x32xf32, accumulator, 4> -> <128xf32, row, 4>
  // GENERIC: "nagpu.reduce"(%{{.*}}) <{kind = 0 : i32}>
  %m = nagpu.reduce max %w
    : !nagpu.fragment<128x32xf32, accumulator, 4> -> !nagpu.fragment<128xf32, row, 4>
  // CHECK: nagpu.reduce add %{{.*}} : <128x32xf32, accumulator, 4> -> <128xf32, partial_row, 4>
  // GENERIC: "nagpu.reduce"(%{{.*}}) <{kind = 1 : i32}>
  %a = nagpu.reduce add %w
    : !nagpu.fragment<128x32xf32, accumulator, 4> -> !nagpu.fragment<128xf32, partial_row, 4>
  %five = arith.constant 5 : i32
  %begin = nagpu.splat %five : i32 -> !nagpu.fragment<128xi32, row, 4>
  // CHECK: nagpu.mask %{{.*}} axis 0 of [4, 8] from %{{.*}} size 3 : <128x32xf32, accumulator, 4>, <128xi32, row, 4>
  // GENERIC: "nagpu.mask"(%{{.*}}) <{axis = 0 : i64, box = array<i64: 4, 8>, size = 3 : i64}>
  %m0 = nagpu.mask %w axis 0 of [4, 8] from %begin size 3
    : !nagpu.fragment<128x32xf32, accumulator, 4>, !nagpu.fragment<128xi32, row, 4>
  // CHECK: nagpu.mask_box %{{.*}} axes [0, 1] of [4, 8] from %{{.*}}, %{{.*}} to %{{.*}}, %{{.*}} : !nagpu.fragment<128x32xf32, accumulator, 4>, !nagpu.fragment<128xi32, row, 4>
  // GENERIC: "nagpu.mask_box"(%{{.*}}) <{axes = array<i64: 0, 1>, box = array<i64: 4, 8>}>
  %mb = nagpu.mask_box %w axes [0, 1] of [4, 8] from %begin, %begin to %begin, %begin
    : !nagpu.fragment<128x32xf32, accumulator, 4>, !nagpu.fragment<128xi32, row, 4>
  // CHECK: nagpu.mask %{{.*}} axis 1 of [4, 8] from %{{.*}} to %{{.*}} : <128x32xf32, accumulator, 4>, <128xi32, row, 4>, !nagpu.fragment<128xi32, row, 4>
  %m1 = nagpu.mask %m0 axis 1 of [4, 8] from %begin to %begin
    : !nagpu.fragment<128x32xf32, accumulator, 4>, !nagpu.fragment<128xi32, row, 4>, !nagpu.fragment<128xi32, row, 4>
  // CHECK: nagpu.store %{{.*}} into %{{.*}}[%{{.*}}, %{{.*}}] at(%{{.*}}, %{{.*}}) box [8, 16] dilation [2, 1] : <128x32xf32, accumulator, 4>, memref<1x56x56x2x32xbf16>
  // GENERIC: "nagpu.store"({{.*}}) <{box = array<i64: 8, 16>, dilation = array<i64: 2, 1>}>
  nagpu.store %w into %out[%b, %h] at(%x, %y) box [8, 16] dilation [2, 1]
    : !nagpu.fragment<128x32xf32, accumulator, 4>, memref<1x56x56x2x32xbf16>
  // CHECK: nagpu.store %{{.*}} into %{{.*}}[%{{.*}}, %{{.*}}] at(%{{.*}}, %{{.*}}) box [8, 16] dilation [1, 1] : <128xf32, row, 4>, memref<1x?x?x2xf32>
  nagpu.store %m into %lse[%b, %h] at(%x, %y) box [8, 16] dilation [1, 1]
    : !nagpu.fragment<128xf32, row, 4>, memref<1x?x?x2xf32>
  return
}

// CHECK-LABEL: func @slots
func.func @slots(%s: !nagpu.fragment<64x64xf32, accumulator, 2>, %scratch: !nagpu.shared<65x76xf32, padded>,
                 %scores: memref<1x56x56x2x49xf32>, %weights: memref<1x56x56x2x49xbf16>,
                 %tile: !nagpu.shared<64x88xbf16, padded>, %r: !nagpu.fragment<64xi32, row, 2>, %b: index) {
  // CHECK: nagpu.scatter %{{.*}} via %{{.*}} into %{{.*}}[%{{.*}}, %{{.*}}] at(%{{.*}}, %{{.*}}) ranges(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) window [7, 7] query_box [8, 8] key_box [4, 16] dilation [1, 1] : <64x64xf32, accumulator, 2>, <65x76xf32, padded>, memref<1x56x56x2x49xf32>
  nagpu.scatter %s via %scratch into %scores[%b, %b] at(%b, %b) ranges(%r, %r, %r, %r)
    window [7, 7] query_box [8, 8] key_box [4, 16] dilation [1, 1]
    : !nagpu.fragment<64x64xf32, accumulator, 2>, !nagpu.shared<65x76xf32, padded>, memref<1x56x56x2x49xf32>,
      !nagpu.fragment<64xi32, row, 2>, !nagpu.fragment<64xi32, row, 2>, !nagpu.fragment<64xi32, row, 2>, !nagpu.fragment<64xi32, row, 2>
  // CHECK: nagpu.gather %{{.*}}[%{{.*}}, %{{.*}}] at(%{{.*}}, %{{.*}}) ranges(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) into %{{.*}} window [7, 7] query_box [8, 8] key_box [4, 16] dilation [1, 1] warps 2 : memref<1x56x56x2x49xbf16>, <64x88xbf16, padded>
  %0 = nagpu.gather %weights[%b, %b] at(%b, %b) ranges(%r, %r, %r, %r) into %tile
    window [7, 7] query_box [8, 8] key_box [4, 16] dilation [1, 1] warps 2
    : memref<1x56x56x2x49xbf16>, !nagpu.shared<64x88xbf16, padded>,
      !nagpu.fragment<64xi32, row, 2>, !nagpu.fragment<64xi32, row, 2>, !nagpu.fragment<64xi32, row, 2>, !nagpu.fragment<64xi32, row, 2>
  // CHECK: nagpu.gather {{.*}} warps 2 for_cta : memref<1x56x56x2x49xf32>, <64x88xbf16, padded>
  %1 = nagpu.gather %scores[%b, %b] at(%b, %b) ranges(%r, %r, %r, %r) into %tile
    window [7, 7] query_box [8, 8] key_box [4, 16] dilation [1, 1] warps 2 for_cta
    : memref<1x56x56x2x49xf32>, !nagpu.shared<64x88xbf16, padded>,
      !nagpu.fragment<64xi32, row, 2>, !nagpu.fragment<64xi32, row, 2>, !nagpu.fragment<64xi32, row, 2>, !nagpu.fragment<64xi32, row, 2>
  return
}

// CHECK-LABEL: func @maps
// GENERIC-LABEL: sym_name = "maps"
func.func @maps(%s: !nagpu.fragment<128x64xf32, accumulator, 4>,
                %shift: !nagpu.fragment<128xf32, row, 4>,
                %sum: !nagpu.fragment<128xf32, partial_row, 4>, %c: f32) {
  // CHECK: nagpu.map(%{{.*}}, %{{.*}} : !nagpu.fragment<128x64xf32, accumulator, 4>, !nagpu.fragment<128xf32, row, 4>) {
  // CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[Y:.*]]: f32):
  // CHECK: nagpu.yield %{{.*}}, %{{.*}} : f32, i1
  // CHECK-NEXT: } : !nagpu.fragment<128x64xf32, accumulator, 4>, !nagpu.fragment<128x64xi1, accumulator, 4>
  // GENERIC: "nagpu.map"(%{{.*}}, %{{.*}}) ({
  // GENERIC: "nagpu.yield"(%{{.*}}, %{{.*}}) : (f32, i1) -> ()
  %w:2 = nagpu.map(%s, %shift : !nagpu.fragment<128x64xf32, accumulator, 4>, !nagpu.fragment<128xf32, row, 4>) {
  ^bb0(%x: f32, %y: f32):
    %d = arith.subf %x, %y : f32
    %e = math.exp2 %d : f32
    %f = arith.cmpf ogt, %x, %y : f32
    nagpu.yield %e, %f : f32, i1
  } : !nagpu.fragment<128x64xf32, accumulator, 4>, !nagpu.fragment<128x64xi1, accumulator, 4>
  // CHECK: nagpu.map() attributes {note} {
  // CHECK-NEXT: nagpu.index 0
  // CHECK-NEXT: nagpu.index 1
  // GENERIC: "nagpu.index"() <{dim = 0 : i64}> : () -> i32
  // GENERIC: "nagpu.index"() <{dim = 1 : i64}> : () -> i32
  %i = nagpu.map() attributes {note} {
    %row = nagpu.index 0
    %column = nagpu.index 1
    %x = arith.addi %row, %column : i32
    nagpu.yield %x : i32
  } : !nagpu.fragment<128x64xi32, accumulator, 4>
  // CHECK: nagpu.map() over !nagpu.fragment<128xi32, row, 4> {
  // CHECK: nagpu.yield
  // CHECK-NEXT: }
  nagpu.map() over !nagpu.fragment<128xi32, row, 4> {
    %row = nagpu.index 0
    nagpu.yield
  }
  // CHECK: nagpu.map(%{{.*}} : !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // CHECK: nagpu.yield
  // CHECK-NEXT: }
  nagpu.map(%s : !nagpu.fragment<128x64xf32, accumulator, 4>) {
  ^bb0(%x: f32):
    nagpu.yield
  }
  // Everything that is linear in a partial sum.
  // CHECK: nagpu.map(%{{.*}}, %{{.*}}, %{{.*}} : !nagpu.fragment<128xf32, partial_row, 4>, !nagpu.fragment<128xf32, row, 4>, !nagpu.fragment<128xf32, partial_row, 4>) {
  // CHECK: } : !nagpu.fragment<128xf32, partial_row, 4>, !nagpu.fragment<128xf32, partial_row, 4>, !nagpu.fragment<128xf32, row, 4>
  %l:3 = nagpu.map(%sum, %shift, %sum : !nagpu.fragment<128xf32, partial_row, 4>, !nagpu.fragment<128xf32, row, 4>, !nagpu.fragment<128xf32, partial_row, 4>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %zero = arith.constant 0.0 : f32
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %0, %z : f32
    %2 = math.fma %y, %1, %z : f32
    %3 = math.fma %1, %c, %zero : f32
    %4 = arith.divf %3, %y : f32
    %5 = arith.subf %4, %2 : f32
    %6 = arith.negf %5 : f32
    %7 = arith.cmpf ogt, %y, %c : f32
    %8 = arith.select %7, %6, %zero : f32
    %9 = math.exp2 %y : f32
    nagpu.yield %8, %zero, %9 : f32, f32, f32
  } : !nagpu.fragment<128xf32, partial_row, 4>, !nagpu.fragment<128xf32, partial_row, 4>, !nagpu.fragment<128xf32, row, 4>
  return
}

// CHECK-LABEL: func @vectors
// GENERIC-LABEL: sym_name = "vectors"
func.func @vectors(%lse: memref<1x56x56x2xf32>, %b: index, %x: index, %y: index,
                   %s: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  %tile = nagpu.alloc : !nagpu.shared<1x64xf32, xor>
  // CHECK: nagpu.async_copy %{{.*}}[%{{.*}}, %{{.*}}] at(%{{.*}}, %{{.*}}) box [4, 16] dilation [1, 2] into %{{.*}} warps 4 : memref<1x56x56x2xf32>, <1x64xf32, xor>
  %t = nagpu.async_copy %lse[%b, %b] at(%x, %y) box [4, 16] dilation [1, 2]
    into %tile warps 4 : memref<1x56x56x2xf32>, !nagpu.shared<1x64xf32, xor>
  // CHECK: nagpu.ldvector %{{.*}} : <1x64xf32, xor> -> <64xf32, column, 4>
  // GENERIC: "nagpu.ldvector"(%{{.*}}) : (!nagpu.shared<1x64xf32, xor>) -> !nagpu.fragment<64xf32, column, 4>
  %c = nagpu.ldvector %tile : !nagpu.shared<1x64xf32, xor> -> !nagpu.fragment<64xf32, column, 4>
  // CHECK: nagpu.ldvector %{{.*}} : <1x64xf32, xor> -> <64xf32, row, 2>
  %r = nagpu.ldvector %tile : !nagpu.shared<1x64xf32, xor> -> !nagpu.fragment<64xf32, row, 2>
  // CHECK: nagpu.map(%{{.*}}, %{{.*}} : !nagpu.fragment<64xf32, column, 4>, !nagpu.fragment<128x64xf32, accumulator, 4>) {
  %m = nagpu.map(%c, %s : !nagpu.fragment<64xf32, column, 4>, !nagpu.fragment<128x64xf32, accumulator, 4>) {
  ^bb0(%p: f32, %q: f32):
    %d = arith.subf %q, %p : f32
    nagpu.yield %d : f32
  } : !nagpu.fragment<128x64xf32, accumulator, 4>
  // CHECK: nagpu.map(%{{.*}} : !nagpu.fragment<64xf32, column, 4>) {
  // CHECK: nagpu.index 1
  %n = nagpu.map(%c : !nagpu.fragment<64xf32, column, 4>) {
  ^bb0(%p: f32):
    %i = nagpu.index 1
    %f = arith.sitofp %i : i32 to f32
    nagpu.yield %f : f32
  } : !nagpu.fragment<64xf32, column, 4>
  return
}
