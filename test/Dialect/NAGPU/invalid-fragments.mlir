// RUN: na-opt %s --split-input-file --verify-diagnostics

func.func @splat_type(%x: f16) {
  // expected-error @+1 {{'nagpu.splat' op 'value' is of type 'f16', expected 'f32', the element type of the result}}
  %0 = nagpu.splat %x : f16 -> !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @splat_partial() {
  %x = arith.constant 1.0 : f32
  // expected-error @+1 {{'nagpu.splat' op 'value' is 1.000000e+00 : f32, expected 0 for role partial_row (its value is the sum over four lanes)}}
  %0 = nagpu.splat %x : f32 -> !nagpu.fragment<128xf32, partial_row, 4>
  return
}

// -----

func.func @extract_source_role(%a: !nagpu.fragment<64x64xbf16, rhs, 4>) {
  // expected-error @+1 {{'nagpu.extract' op 'source' has role rhs, expected lhs}}
  %0 = nagpu.extract %a[0]
    : !nagpu.fragment<64x64xbf16, rhs, 4> -> !nagpu.fragment<128x16xbf16, lhs, 4>
  return
}

// -----

func.func @extract_result_role(%a: !nagpu.fragment<128x64xbf16, lhs, 4>) {
  // expected-error @+1 {{'nagpu.extract' op 'result' has role rhs, expected lhs}}
  %0 = nagpu.extract %a[0]
    : !nagpu.fragment<128x64xbf16, lhs, 4> -> !nagpu.fragment<64x64xbf16, rhs, 4>
  return
}

// -----

func.func @extract_element(%a: !nagpu.fragment<128x64xbf16, lhs, 4>) {
  // expected-error @+1 {{'nagpu.extract' op 'result' has element type 'f16', expected 'bf16' (that of 'source')}}
  %0 = nagpu.extract %a[0]
    : !nagpu.fragment<128x64xbf16, lhs, 4> -> !nagpu.fragment<128x16xf16, lhs, 4>
  return
}

// -----

func.func @extract_warps(%a: !nagpu.fragment<128x64xbf16, lhs, 4>) {
  // expected-error @+1 {{'nagpu.extract' op 'result' has 2 warps, expected 4 as in 'source'}}
  %0 = nagpu.extract %a[0]
    : !nagpu.fragment<128x64xbf16, lhs, 4> -> !nagpu.fragment<128x16xbf16, lhs, 2>
  return
}

// -----

func.func @extract_rows(%a: !nagpu.fragment<128x64xbf16, lhs, 4>) {
  // expected-error @+1 {{'nagpu.extract' op 'result' dimension 0 (rows) is 64, expected 128 as in 'source'}}
  %0 = nagpu.extract %a[0]
    : !nagpu.fragment<128x64xbf16, lhs, 4> -> !nagpu.fragment<64x16xbf16, lhs, 4>
  return
}

// -----

func.func @extract_bound(%a: !nagpu.fragment<128x64xbf16, lhs, 4>) {
  // expected-error @+1 {{'nagpu.extract' op 'column' is 64 and the result has 16 from there, but 'source' has 64}}
  %0 = nagpu.extract %a[64]
    : !nagpu.fragment<128x64xbf16, lhs, 4> -> !nagpu.fragment<128x16xbf16, lhs, 4>
  return
}

// -----

func.func @extract_negative(%a: !nagpu.fragment<128x64xbf16, lhs, 4>) {
  // expected-error @+1 {{'nagpu.extract' op 'column' is -16 and the result has 16 from there, but 'source' has 64}}
  %0 = nagpu.extract %a[-16]
    : !nagpu.fragment<128x64xbf16, lhs, 4> -> !nagpu.fragment<128x16xbf16, lhs, 4>
  return
}

// -----

func.func @extract_multiple(%a: !nagpu.fragment<128x64xbf16, lhs, 4>) {
  // expected-error @+1 {{'nagpu.extract' op 'column' is 8, expected a multiple of 16}}
  %0 = nagpu.extract %a[8]
    : !nagpu.fragment<128x64xbf16, lhs, 4> -> !nagpu.fragment<128x16xbf16, lhs, 4>
  return
}

// -----

func.func @extract_multiple_32_bit(%a: !nagpu.fragment<128x64xf32, lhs, 4>) {
  // expected-error @+1 {{'nagpu.extract' op 'column' is 4, expected a multiple of 8}}
  %0 = nagpu.extract %a[4]
    : !nagpu.fragment<128x64xf32, lhs, 4> -> !nagpu.fragment<128x16xf32, lhs, 4>
  return
}

// -----

func.func @convert_source_role(%a: !nagpu.fragment<16x64xbf16, rhs, 4>) {
  // expected-error @+1 {{'nagpu.convert' op 'source' has role rhs, expected accumulator or partial_row}}
  %0 = nagpu.convert %a
    : !nagpu.fragment<16x64xbf16, rhs, 4> -> !nagpu.fragment<16x64xbf16, rhs, 4>
  return
}

// -----

func.func @convert_lhs_role(%a: !nagpu.fragment<128x64xbf16, lhs, 4>) {
  // expected-error @+1 {{'nagpu.convert' op 'result' has role lhs, expected accumulator}}
  %0 = nagpu.convert %a
    : !nagpu.fragment<128x64xbf16, lhs, 4> -> !nagpu.fragment<128x64xbf16, lhs, 4>
  return
}

// -----

func.func @convert_lhs_columns(%a: !nagpu.fragment<128x64xbf16, lhs, 4>) {
  // expected-error @+1 {{'nagpu.convert' op 'result' dimension 1 (columns) is 32, expected 64 as in 'source'}}
  %0 = nagpu.convert %a
    : !nagpu.fragment<128x64xbf16, lhs, 4> -> !nagpu.fragment<128x32xf32, accumulator, 4>
  return
}

// -----

func.func @convert_source_row(%a: !nagpu.fragment<128xf32, row, 4>) {
  // expected-error @+1 {{'nagpu.convert' op 'source' has role row, expected accumulator or partial_row}}
  %0 = nagpu.convert %a
    : !nagpu.fragment<128xf32, row, 4> -> !nagpu.fragment<128xf32, partial_row, 4>
  return
}

// -----

func.func @convert_source_element(
    %a: !nagpu.fragment<128x64xi32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.convert' op 'source' has element type 'i32', expected 'f32'}}
  %0 = nagpu.convert %a
    : !nagpu.fragment<128x64xi32, accumulator, 4> -> !nagpu.fragment<128x64xbf16, lhs, 4>
  return
}

// -----

func.func @convert_result_role(
    %a: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.convert' op 'result' has role rhs, expected lhs}}
  %0 = nagpu.convert %a
    : !nagpu.fragment<128x64xf32, accumulator, 4> -> !nagpu.fragment<128x64xbf16, rhs, 4>
  return
}

// -----

func.func @convert_result_row_role(
    %a: !nagpu.fragment<128xf32, partial_row, 4>) {
  // expected-error @+1 {{'nagpu.convert' op 'result' has role partial_row, expected row}}
  %0 = nagpu.convert %a
    : !nagpu.fragment<128xf32, partial_row, 4> -> !nagpu.fragment<128xf32, partial_row, 4>
  return
}

// -----

func.func @convert_warps(%a: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.convert' op 'result' has 2 warps, expected 4 as in 'source'}}
  %0 = nagpu.convert %a
    : !nagpu.fragment<128x64xf32, accumulator, 4> -> !nagpu.fragment<128x64xbf16, lhs, 2>
  return
}

// -----

func.func @convert_rows(%a: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.convert' op 'result' dimension 0 (rows) is 64, expected 128 as in 'source'}}
  %0 = nagpu.convert %a
    : !nagpu.fragment<128x64xf32, accumulator, 4> -> !nagpu.fragment<64x64xbf16, lhs, 4>
  return
}

// -----

func.func @convert_columns(%a: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.convert' op 'result' dimension 1 (columns) is 32, expected 64 as in 'source'}}
  %0 = nagpu.convert %a
    : !nagpu.fragment<128x64xf32, accumulator, 4> -> !nagpu.fragment<128x32xbf16, lhs, 4>
  return
}

// -----

func.func @convert_element(%a: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.convert' op 'result' has element type 'i32', expected 'f16', 'bf16' or 'f32'}}
  %0 = nagpu.convert %a
    : !nagpu.fragment<128x64xf32, accumulator, 4> -> !nagpu.fragment<128x64xi32, lhs, 4>
  return
}

// -----

func.func @convert_row_element(%a: !nagpu.fragment<128xf32, partial_row, 4>) {
  // expected-error @+1 {{'nagpu.convert' op 'result' has element type 'i32', expected 'f32'}}
  %0 = nagpu.convert %a
    : !nagpu.fragment<128xf32, partial_row, 4> -> !nagpu.fragment<128xi32, row, 4>
  return
}

// -----

func.func @reduce_source_role(%a: !nagpu.fragment<128x64xf32, lhs, 4>) {
  // expected-error @+1 {{'nagpu.reduce' op 'source' has role lhs, expected accumulator}}
  %0 = nagpu.reduce max %a
    : !nagpu.fragment<128x64xf32, lhs, 4> -> !nagpu.fragment<128xf32, row, 4>
  return
}

// -----

func.func @reduce_result_role(%a: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.reduce' op 'result' has role accumulator, expected row or partial_row}}
  %0 = nagpu.reduce max %a
    : !nagpu.fragment<128x64xf32, accumulator, 4> -> !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @reduce_partial_max(%a: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.reduce' op 'kind' is max, expected add for a result of role partial_row (the sum over four lanes)}}
  %0 = nagpu.reduce max %a
    : !nagpu.fragment<128x64xf32, accumulator, 4> -> !nagpu.fragment<128xf32, partial_row, 4>
  return
}

// -----

func.func @reduce_source_element(
    %a: !nagpu.fragment<128x64xi32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.reduce' op 'source' has element type 'i32', expected 'f32'}}
  %0 = nagpu.reduce max %a
    : !nagpu.fragment<128x64xi32, accumulator, 4> -> !nagpu.fragment<128xf32, row, 4>
  return
}

// -----

func.func @reduce_result_element(
    %a: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.reduce' op 'result' has element type 'i32', expected 'f32'}}
  %0 = nagpu.reduce max %a
    : !nagpu.fragment<128x64xf32, accumulator, 4> -> !nagpu.fragment<128xi32, row, 4>
  return
}

// -----

func.func @reduce_warps(%a: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.reduce' op 'result' has 2 warps, expected 4 as in 'source'}}
  %0 = nagpu.reduce max %a
    : !nagpu.fragment<128x64xf32, accumulator, 4> -> !nagpu.fragment<128xf32, row, 2>
  return
}

// -----

func.func @reduce_rows(%a: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.reduce' op 'result' dimension 0 (rows) is 64, expected 128 as in 'source'}}
  %0 = nagpu.reduce max %a
    : !nagpu.fragment<128x64xf32, accumulator, 4> -> !nagpu.fragment<64xf32, row, 4>
  return
}

// -----

func.func @store_role(
    %a: !nagpu.fragment<128xf32, partial_row, 4>,
    %o: memref<1x56x56x2x32xbf16>,
    %i: index) {
  // expected-error @+1 {{'nagpu.store' op 'source' has role partial_row, expected accumulator or row}}
  nagpu.store %a into %o[%i, %i] at(%i, %i) box [8, 16] dilation [1, 1]
    : !nagpu.fragment<128xf32, partial_row, 4>, memref<1x56x56x2x32xbf16>
  return
}

// -----

func.func @store_element(
    %a: !nagpu.fragment<128x32xi32, accumulator, 4>,
    %o: memref<1x56x56x2x32xbf16>,
    %i: index) {
  // expected-error @+1 {{'nagpu.store' op 'source' has element type 'i32', expected 'f32'}}
  nagpu.store %a into %o[%i, %i] at(%i, %i) box [8, 16] dilation [1, 1]
    : !nagpu.fragment<128x32xi32, accumulator, 4>, memref<1x56x56x2x32xbf16>
  return
}

// -----

func.func @store_no_axis(
    %a: !nagpu.fragment<128x32xf32, accumulator, 4>,
    %o: memref<1x56x56x2x32xbf16>,
    %i: index) {
  // expected-error @+1 {{'nagpu.store' op 'at' has 0 entries, expected 1 to 3 (one per axis)}}
  nagpu.store %a into %o[%i, %i] at() box [] dilation []
    : !nagpu.fragment<128x32xf32, accumulator, 4>, memref<1x56x56x2x32xbf16>
  return
}

// -----

func.func @store_rank(
    %a: !nagpu.fragment<128x32xf32, accumulator, 4>,
    %o: memref<1x56x56x2xf32>,
    %i: index) {
  // expected-error @+1 {{'nagpu.store' op 'dest' has rank 4, expected 5, [B, X.., H, D]}}
  nagpu.store %a into %o[%i, %i] at(%i, %i) box [8, 16] dilation [1, 1]
    : !nagpu.fragment<128x32xf32, accumulator, 4>, memref<1x56x56x2xf32>
  return
}

// -----

func.func @store_row_rank(
    %a: !nagpu.fragment<128xf32, row, 4>,
    %o: memref<1x56x56x2x32xbf16>,
    %i: index) {
  // expected-error @+1 {{'nagpu.store' op 'dest' has rank 5, expected 4, [B, X.., H]}}
  nagpu.store %a into %o[%i, %i] at(%i, %i) box [8, 16] dilation [1, 1]
    : !nagpu.fragment<128xf32, row, 4>, memref<1x56x56x2x32xbf16>
  return
}

// -----

func.func @store_space(
    %a: !nagpu.fragment<128x32xf32, accumulator, 4>,
    %o: memref<1x56x56x2x32xbf16, #gpu.address_space<private>>,
    %i: index) {
  // expected-error @+1 {{'nagpu.store' op 'dest' is in memory space #gpu.address_space<private>, expected global memory}}
  nagpu.store %a into %o[%i, %i] at(%i, %i) box [8, 16] dilation [1, 1]
    : !nagpu.fragment<128x32xf32, accumulator, 4>, memref<1x56x56x2x32xbf16, #gpu.address_space<private>>
  return
}

// -----

func.func @store_box_count(
    %a: !nagpu.fragment<128x32xf32, accumulator, 4>,
    %o: memref<1x56x56x2x32xbf16>,
    %i: index) {
  // expected-error @+1 {{'nagpu.store' op 'box' has 1 entries, expected 2 (one per axis)}}
  nagpu.store %a into %o[%i, %i] at(%i, %i) box [128] dilation [1, 1]
    : !nagpu.fragment<128x32xf32, accumulator, 4>, memref<1x56x56x2x32xbf16>
  return
}

// -----

func.func @store_box_zero(
    %a: !nagpu.fragment<128x32xf32, accumulator, 4>,
    %o: memref<1x56x56x2x32xbf16>,
    %i: index) {
  // expected-error @+1 {{'nagpu.store' op 'box'[0] = 0, expected at least 1}}
  nagpu.store %a into %o[%i, %i] at(%i, %i) box [0, 16] dilation [1, 1]
    : !nagpu.fragment<128x32xf32, accumulator, 4>, memref<1x56x56x2x32xbf16>
  return
}

// -----

func.func @store_dilation_count(
    %a: !nagpu.fragment<128x32xf32, accumulator, 4>,
    %o: memref<1x56x56x2x32xbf16>,
    %i: index) {
  // expected-error @+1 {{'nagpu.store' op 'dilation' has 1 entries, expected 2 (one per axis)}}
  nagpu.store %a into %o[%i, %i] at(%i, %i) box [8, 16] dilation [1]
    : !nagpu.fragment<128x32xf32, accumulator, 4>, memref<1x56x56x2x32xbf16>
  return
}

// -----

func.func @store_dilation_negative(
    %a: !nagpu.fragment<128x32xf32, accumulator, 4>,
    %o: memref<1x56x56x2x32xbf16>,
    %i: index) {
  // expected-error @+1 {{'nagpu.store' op 'dilation'[1] = -1, expected at least 1}}
  nagpu.store %a into %o[%i, %i] at(%i, %i) box [8, 16] dilation [1, -1]
    : !nagpu.fragment<128x32xf32, accumulator, 4>, memref<1x56x56x2x32xbf16>
  return
}

// -----

func.func @store_box_overflow(
    %a: !nagpu.fragment<128x32xf32, accumulator, 4>,
    %o: memref<1x56x56x2x32xbf16>,
    %i: index) {
  // expected-error @+1 {{'nagpu.store' op 'box' has more tokens than 64 bits can count}}
  nagpu.store %a into %o[%i, %i] at(%i, %i) box [4294967296, 4294967296] dilation [1, 1]
    : !nagpu.fragment<128x32xf32, accumulator, 4>, memref<1x56x56x2x32xbf16>
  return
}

// -----

func.func @store_box_rows(
    %a: !nagpu.fragment<128x32xf32, accumulator, 4>,
    %o: memref<1x56x56x2x32xbf16>,
    %i: index) {
  // expected-error @+1 {{'nagpu.store' op 'box' has 256 tokens, expected 128 (dimension 0 of 'source')}}
  nagpu.store %a into %o[%i, %i] at(%i, %i) box [16, 16] dilation [1, 1]
    : !nagpu.fragment<128x32xf32, accumulator, 4>, memref<1x56x56x2x32xbf16>
  return
}

// -----

func.func @store_channels(
    %a: !nagpu.fragment<128x32xf32, accumulator, 4>,
    %o: memref<1x56x56x2x33xf32>,
    %i: index) {
  // expected-error @+1 {{'nagpu.store' op 'dest' dimension 4 (channels) is 33, expected at most 32 (dimension 1 of 'source')}}
  nagpu.store %a into %o[%i, %i] at(%i, %i) box [8, 16] dilation [1, 1]
    : !nagpu.fragment<128x32xf32, accumulator, 4>, memref<1x56x56x2x33xf32>
  return
}

// -----

func.func @mask_box_order(%s: !nagpu.fragment<64x32xf32, accumulator, 4>, %b: !nagpu.fragment<64xi32, row, 4>) {
  // expected-error @+1 {{'nagpu.mask_box' op 'axes'[1] is 0, expected 2 to 1 (axes of 'box', in their order)}}
  %m = nagpu.mask_box %s axes [1, 0] of [4, 8] from %b, %b to %b, %b : !nagpu.fragment<64x32xf32, accumulator, 4>, !nagpu.fragment<64xi32, row, 4>
  return
}

// -----

func.func @mask_box_axis(%s: !nagpu.fragment<64x32xf32, accumulator, 4>, %b: !nagpu.fragment<64xi32, row, 4>) {
  // expected-error @+1 {{'nagpu.mask_box' op 'axes'[0] is 2, expected 0 to 1 (axes of 'box', in their order)}}
  %m = nagpu.mask_box %s axes [2] of [4, 8] from %b to %b : !nagpu.fragment<64x32xf32, accumulator, 4>, !nagpu.fragment<64xi32, row, 4>
  return
}

// -----

func.func @mask_box_count(%s: !nagpu.fragment<64x32xf32, accumulator, 4>, %b: !nagpu.fragment<64xi32, row, 4>) {
  // expected-error @+1 {{'nagpu.mask_box' op 'axes' has 2 entries, expected at least one, and one for each of the 1 'begins'}}
  %m = nagpu.mask_box %s axes [0, 1] of [4, 8] from %b to %b : !nagpu.fragment<64x32xf32, accumulator, 4>, !nagpu.fragment<64xi32, row, 4>
  return
}

// -----

func.func @mask_box_ends(%s: !nagpu.fragment<64x32xf32, accumulator, 4>, %b: !nagpu.fragment<64xi32, row, 4>) {
  // expected-error @+1 {{has 1 ends, expected 2, one for each begin}}
  %m = nagpu.mask_box %s axes [0, 1] of [4, 8] from %b, %b to %b : !nagpu.fragment<64x32xf32, accumulator, 4>, !nagpu.fragment<64xi32, row, 4>
  return
}

// -----

func.func @mask_box_columns(%s: !nagpu.fragment<64x32xf32, accumulator, 4>, %b: !nagpu.fragment<64xi32, row, 4>) {
  // expected-error @+1 {{'nagpu.mask_box' op 'source' dimension 1 (columns) is 32, expected 48 as in 'box'}}
  %m = nagpu.mask_box %s axes [0, 1] of [6, 8] from %b, %b to %b, %b : !nagpu.fragment<64x32xf32, accumulator, 4>, !nagpu.fragment<64xi32, row, 4>
  return
}

// -----

func.func @mask_box_bound(%s: !nagpu.fragment<64x32xf32, accumulator, 4>, %b: !nagpu.fragment<128xi32, row, 4>) {
  // expected-error @+1 {{'nagpu.mask_box' op 'begins' dimension 0 (rows) is 128, expected 64 as in 'source'}}
  %m = nagpu.mask_box %s axes [0] of [4, 8] from %b to %b : !nagpu.fragment<64x32xf32, accumulator, 4>, !nagpu.fragment<128xi32, row, 4>
  return
}

// -----

func.func @mask_role(%s: !nagpu.fragment<64x32xf16, lhs, 4>, %b: !nagpu.fragment<64xi32, row, 4>) {
  // expected-error @+1 {{'nagpu.mask' op 'source' has role lhs, expected accumulator}}
  %m = nagpu.mask %s axis 0 of [32] from %b size 3 : !nagpu.fragment<64x32xf16, lhs, 4>, !nagpu.fragment<64xi32, row, 4>
  return
}

// -----

func.func @mask_begin(%s: !nagpu.fragment<64x32xf32, accumulator, 4>, %b: !nagpu.fragment<64xf32, row, 4>) {
  // expected-error @+1 {{'nagpu.mask' op 'begin' has element type 'f32', expected 'i32' (a coordinate)}}
  %m = nagpu.mask %s axis 0 of [32] from %b size 3 : !nagpu.fragment<64x32xf32, accumulator, 4>, !nagpu.fragment<64xf32, row, 4>
  return
}

// -----

func.func @mask_warps(%s: !nagpu.fragment<64x32xf32, accumulator, 4>, %b: !nagpu.fragment<64xi32, row, 2>) {
  // expected-error @+1 {{'nagpu.mask' op 'begin' has 2 warps, expected 4 as in 'source'}}
  %m = nagpu.mask %s axis 0 of [32] from %b size 3 : !nagpu.fragment<64x32xf32, accumulator, 4>, !nagpu.fragment<64xi32, row, 2>
  return
}

// -----

func.func @mask_rows(%s: !nagpu.fragment<64x32xf32, accumulator, 4>, %b: !nagpu.fragment<64xi32, row, 4>, %e: !nagpu.fragment<128xi32, row, 4>) {
  // expected-error @+1 {{'nagpu.mask' op 'end' dimension 0 (rows) is 128, expected 64 as in 'source'}}
  %m = nagpu.mask %s axis 0 of [32] from %b to %e : !nagpu.fragment<64x32xf32, accumulator, 4>, !nagpu.fragment<64xi32, row, 4>, !nagpu.fragment<128xi32, row, 4>
  return
}

// -----

func.func @mask_no_end(%s: !nagpu.fragment<64x32xf32, accumulator, 4>, %b: !nagpu.fragment<64xi32, row, 4>) {
  // expected-error @+1 {{'nagpu.mask' op has neither 'end' nor 'size', expected one of them}}
  %m = nagpu.mask %s axis 0 of [32] from %b : !nagpu.fragment<64x32xf32, accumulator, 4>, !nagpu.fragment<64xi32, row, 4>
  return
}

// -----

func.func @mask_two_ends(%s: !nagpu.fragment<64x32xf32, accumulator, 4>, %b: !nagpu.fragment<64xi32, row, 4>) {
  // expected-error @+1 {{'nagpu.mask' op has 'end' and 'size', expected one of them}}
  %m = nagpu.mask %s axis 0 of [32] from %b to %b size 3 : !nagpu.fragment<64x32xf32, accumulator, 4>, !nagpu.fragment<64xi32, row, 4>, !nagpu.fragment<64xi32, row, 4>
  return
}

// -----

func.func @mask_size(%s: !nagpu.fragment<64x32xf32, accumulator, 4>, %b: !nagpu.fragment<64xi32, row, 4>) {
  // expected-error @+1 {{'nagpu.mask' op 'size' is 0, expected 1 to 2147483647}}
  %m = nagpu.mask %s axis 0 of [32] from %b size 0 : !nagpu.fragment<64x32xf32, accumulator, 4>, !nagpu.fragment<64xi32, row, 4>
  return
}

// -----

func.func @mask_axis(%s: !nagpu.fragment<64x32xf32, accumulator, 4>, %b: !nagpu.fragment<64xi32, row, 4>) {
  // expected-error @+1 {{'nagpu.mask' op 'axis' is 2, expected 0 to 1 ('box' has 2 entries)}}
  %m = nagpu.mask %s axis 2 of [4, 8] from %b size 3 : !nagpu.fragment<64x32xf32, accumulator, 4>, !nagpu.fragment<64xi32, row, 4>
  return
}

// -----

func.func @mask_box(%s: !nagpu.fragment<64x32xf32, accumulator, 4>, %b: !nagpu.fragment<64xi32, row, 4>) {
  // expected-error @+1 {{'nagpu.mask' op 'source' dimension 1 (columns) is 32, expected 40 as in 'box'}}
  %m = nagpu.mask %s axis 1 of [5, 8] from %b size 3 : !nagpu.fragment<64x32xf32, accumulator, 4>, !nagpu.fragment<64xi32, row, 4>
  return
}

// -----

func.func @mask_extent(%s: !nagpu.fragment<64x32xf32, accumulator, 4>, %b: !nagpu.fragment<64xi32, row, 4>) {
  // expected-error @+1 {{'nagpu.mask' op 'box'[0] = 0, expected at least 1}}
  %m = nagpu.mask %s axis 1 of [0, 8] from %b size 3 : !nagpu.fragment<64x32xf32, accumulator, 4>, !nagpu.fragment<64xi32, row, 4>
  return
}
