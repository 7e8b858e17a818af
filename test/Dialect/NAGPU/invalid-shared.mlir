// RUN: na-opt %s --split-input-file --verify-diagnostics

func.func @alloc_negative() {
  // expected-error @+1 {{'nagpu.alloc' op 'offset' is -128, expected at least 0}}
  %0 = nagpu.alloc {offset = -128 : i64} : !nagpu.shared<64x32xbf16, xor>
  return
}

// -----

func.func @alloc_alignment() {
  // expected-error @+1 {{'nagpu.alloc' op 'offset' is 64, expected a multiple of 128}}
  %0 = nagpu.alloc {offset = 64 : i64} : !nagpu.shared<64x32xbf16, xor>
  return
}

// -----

func.func @slot_tile(%t: !nagpu.shared<64x32xbf16, xor>, %i: index) {
  // expected-error @+1 {{'nagpu.slot' op 'ring' is '!nagpu.shared<64x32xbf16, xor>', one tile, expected a ring}}
  %0 = nagpu.slot %t[%i] : !nagpu.shared<64x32xbf16, xor> -> !nagpu.shared<64x32xbf16, xor>
  return
}

// -----

func.func @slot_type(%t: !nagpu.shared<2x64x32xbf16, xor>, %i: index) {
  // expected-error @+1 {{'nagpu.slot' op result is '!nagpu.shared<64x32xbf16, linear>', expected '!nagpu.shared<64x32xbf16, xor>', a slot of 'ring'}}
  %0 = nagpu.slot %t[%i] : !nagpu.shared<2x64x32xbf16, xor> -> !nagpu.shared<64x32xbf16, linear>
  return
}

// -----

func.func @slot_high(%t: !nagpu.shared<2x64x32xbf16, xor>) {
  %c = arith.constant 2 : index
  // expected-error @+1 {{'nagpu.slot' op 'index' is 2, expected 0 to 1 ('ring' has 2 slots)}}
  %0 = nagpu.slot %t[%c] : !nagpu.shared<2x64x32xbf16, xor> -> !nagpu.shared<64x32xbf16, xor>
  return
}

// -----

func.func @slot_low(%t: !nagpu.shared<2x64x32xbf16, xor>) {
  %c = arith.constant -1 : index
  // expected-error @+1 {{'nagpu.slot' op 'index' is -1, expected 0 to 1 ('ring' has 2 slots)}}
  %0 = nagpu.slot %t[%c] : !nagpu.shared<2x64x32xbf16, xor> -> !nagpu.shared<64x32xbf16, xor>
  return
}

// -----

func.func @copy_ring(
    %s: memref<1x56x56x2x32xbf16>,
    %t: !nagpu.shared<2x64x32xbf16, xor>,
    %i: index) {
  // expected-error @+1 {{'nagpu.async_copy' op 'dest' is '!nagpu.shared<2x64x32xbf16, xor>', a ring, expected one tile}}
  %0 = nagpu.async_copy %s[%i, %i] at(%i, %i) box [4, 16] dilation [1, 1]
      into %t warps 4 : memref<1x56x56x2x32xbf16>, !nagpu.shared<2x64x32xbf16, xor>
  return
}

// -----

func.func @copy_element(
    %s: memref<1x56x56x2x32xf32>,
    %t: !nagpu.shared<64x32xbf16, xor>,
    %i: index) {
  // expected-error @+1 {{'nagpu.async_copy' op 'dest' has element type 'bf16', expected 'f32' (that of 'source')}}
  %0 = nagpu.async_copy %s[%i, %i] at(%i, %i) box [4, 16] dilation [1, 1]
      into %t warps 4 : memref<1x56x56x2x32xf32>, !nagpu.shared<64x32xbf16, xor>
  return
}

// -----

func.func @copy_no_axis(
    %s: memref<1x56x56x2x32xbf16>,
    %t: !nagpu.shared<64x32xbf16, xor>,
    %i: index) {
  // expected-error @+1 {{'nagpu.async_copy' op 'at' has 0 entries, expected 1 to 3 (one per axis)}}
  %0 = nagpu.async_copy %s[%i, %i] at() box [] dilation []
      into %t warps 4 : memref<1x56x56x2x32xbf16>, !nagpu.shared<64x32xbf16, xor>
  return
}

// -----

func.func @copy_four_axes(
    %s: memref<1x9x9x9x9x2x32xbf16>,
    %t: !nagpu.shared<64x32xbf16, xor>,
    %i: index) {
  // expected-error @+1 {{'nagpu.async_copy' op 'at' has 4 entries, expected 1 to 3 (one per axis)}}
  %0 = nagpu.async_copy %s[%i, %i] at(%i, %i, %i, %i) box [4, 16] dilation [1, 1]
      into %t warps 4 : memref<1x9x9x9x9x2x32xbf16>, !nagpu.shared<64x32xbf16, xor>
  return
}

// -----

func.func @copy_rank(
    %s: memref<1x56x2xbf16>,
    %t: !nagpu.shared<64x32xbf16, xor>,
    %i: index) {
  // expected-error @+1 {{'nagpu.async_copy' op 'source' has rank 3, expected 5, [B, X.., H, D]}}
  %0 = nagpu.async_copy %s[%i, %i] at(%i, %i) box [4, 16] dilation [1, 1]
      into %t warps 4 : memref<1x56x2xbf16>, !nagpu.shared<64x32xbf16, xor>
  return
}

// -----

func.func @copy_space(
    %s: memref<1x56x56x2x32xbf16, #gpu.address_space<workgroup>>,
    %t: !nagpu.shared<64x32xbf16, xor>,
    %i: index) {
  // expected-error @+1 {{'nagpu.async_copy' op 'source' is in memory space #gpu.address_space<workgroup>, expected global memory}}
  %0 = nagpu.async_copy %s[%i, %i] at(%i, %i) box [4, 16] dilation [1, 1]
      into %t warps 4 : memref<1x56x56x2x32xbf16, #gpu.address_space<workgroup>>, !nagpu.shared<64x32xbf16, xor>
  return
}

// -----

func.func @copy_space_number(
    %s: memref<1x56x56x2x32xbf16, 3>,
    %t: !nagpu.shared<64x32xbf16, xor>,
    %i: index) {
  // expected-error @+1 {{'nagpu.async_copy' op 'source' is in memory space 3 : i64, expected global memory}}
  %0 = nagpu.async_copy %s[%i, %i] at(%i, %i) box [4, 16] dilation [1, 1]
      into %t warps 4 : memref<1x56x56x2x32xbf16, 3>, !nagpu.shared<64x32xbf16, xor>
  return
}

// -----

func.func @copy_box_count(
    %s: memref<1x56x56x2x32xbf16>,
    %t: !nagpu.shared<64x32xbf16, xor>,
    %i: index) {
  // expected-error @+1 {{'nagpu.async_copy' op 'box' has 1 entries, expected 2 (one per axis)}}
  %0 = nagpu.async_copy %s[%i, %i] at(%i, %i) box [64] dilation [1, 1]
      into %t warps 4 : memref<1x56x56x2x32xbf16>, !nagpu.shared<64x32xbf16, xor>
  return
}

// -----

func.func @copy_box_zero(
    %s: memref<1x56x56x2x32xbf16>,
    %t: !nagpu.shared<64x32xbf16, xor>,
    %i: index) {
  // expected-error @+1 {{'nagpu.async_copy' op 'box'[1] = 0, expected at least 1}}
  %0 = nagpu.async_copy %s[%i, %i] at(%i, %i) box [4, 0] dilation [1, 1]
      into %t warps 4 : memref<1x56x56x2x32xbf16>, !nagpu.shared<64x32xbf16, xor>
  return
}

// -----

func.func @copy_dilation_count(
    %s: memref<1x56x56x2x32xbf16>,
    %t: !nagpu.shared<64x32xbf16, xor>,
    %i: index) {
  // expected-error @+1 {{'nagpu.async_copy' op 'dilation' has 3 entries, expected 2 (one per axis)}}
  %0 = nagpu.async_copy %s[%i, %i] at(%i, %i) box [4, 16] dilation [1, 1, 1]
      into %t warps 4 : memref<1x56x56x2x32xbf16>, !nagpu.shared<64x32xbf16, xor>
  return
}

// -----

func.func @copy_dilation_zero(
    %s: memref<1x56x56x2x32xbf16>,
    %t: !nagpu.shared<64x32xbf16, xor>,
    %i: index) {
  // expected-error @+1 {{'nagpu.async_copy' op 'dilation'[0] = 0, expected at least 1}}
  %0 = nagpu.async_copy %s[%i, %i] at(%i, %i) box [4, 16] dilation [0, 1]
      into %t warps 4 : memref<1x56x56x2x32xbf16>, !nagpu.shared<64x32xbf16, xor>
  return
}

// -----

func.func @copy_box_overflow(
    %s: memref<1x56x56x2x32xbf16>,
    %t: !nagpu.shared<64x32xbf16, xor>,
    %i: index) {
  // expected-error @+1 {{'nagpu.async_copy' op 'box' has more tokens than 64 bits can count}}
  %0 = nagpu.async_copy %s[%i, %i] at(%i, %i) box [4294967296, 4294967296] dilation [1, 1]
      into %t warps 4 : memref<1x56x56x2x32xbf16>, !nagpu.shared<64x32xbf16, xor>
  return
}

// -----

func.func @copy_box_rows(
    %s: memref<1x56x56x2x32xbf16>,
    %t: !nagpu.shared<64x32xbf16, xor>,
    %i: index) {
  // expected-error @+1 {{'nagpu.async_copy' op 'box' has 56 tokens, expected 64 (dimension 0 of 'dest')}}
  %0 = nagpu.async_copy %s[%i, %i] at(%i, %i) box [4, 14] dilation [1, 1]
      into %t warps 4 : memref<1x56x56x2x32xbf16>, !nagpu.shared<64x32xbf16, xor>
  return
}

// -----

func.func @copy_channels(
    %s: memref<1x56x56x2x40xbf16>,
    %t: !nagpu.shared<64x32xbf16, xor>,
    %i: index) {
  // expected-error @+1 {{'nagpu.async_copy' op 'source' dimension 4 (channels) is 40, expected at most 32 (dimension 1 of 'dest')}}
  %0 = nagpu.async_copy %s[%i, %i] at(%i, %i) box [4, 16] dilation [1, 1]
      into %t warps 4 : memref<1x56x56x2x40xbf16>, !nagpu.shared<64x32xbf16, xor>
  return
}

// -----

func.func @copy_warps_0(
    %s: memref<1x56x56x2x32xbf16>,
    %t: !nagpu.shared<64x32xbf16, xor>,
    %i: index) {
  // expected-error @+1 {{'nagpu.async_copy' op 'warps' is 0, expected 1 to 32}}
  %0 = nagpu.async_copy %s[%i, %i] at(%i, %i) box [4, 16] dilation [1, 1]
      into %t warps 0 : memref<1x56x56x2x32xbf16>, !nagpu.shared<64x32xbf16, xor>
  return
}

// -----

func.func @copy_warps_33(
    %s: memref<1x56x56x2x32xbf16>,
    %t: !nagpu.shared<64x32xbf16, xor>,
    %i: index) {
  // expected-error @+1 {{'nagpu.async_copy' op 'warps' is 33, expected 1 to 32}}
  %0 = nagpu.async_copy %s[%i, %i] at(%i, %i) box [4, 16] dilation [1, 1]
      into %t warps 33 : memref<1x56x56x2x32xbf16>, !nagpu.shared<64x32xbf16, xor>
  return
}

// -----

func.func @wait_negative(%g: !nagpu.token) {
  // expected-error @+1 {{'nagpu.async_wait' op 'pending' is -1, expected 0 to 2147483647}}
  nagpu.async_wait %g pending -1
  return
}

// -----

func.func @wait_large(%g: !nagpu.token) {
  // expected-error @+1 {{'nagpu.async_wait' op 'pending' is 2147483648, expected 0 to 2147483647}}
  nagpu.async_wait %g pending 2147483648
  return
}

// -----

func.func @wait_ring(
    %g: !nagpu.token,
    %t: !nagpu.shared<64x32xbf16, xor>,
    %r: !nagpu.shared<2x64x32xbf16, xor>) {
  // expected-error @+1 {{'nagpu.async_wait' op 'tiles[1]' is '!nagpu.shared<2x64x32xbf16, xor>', a ring, expected one tile}}
  %0:2 = nagpu.async_wait %g pending 0 tiles(%t, %r) : !nagpu.shared<64x32xbf16, xor>, !nagpu.shared<2x64x32xbf16, xor>
  return
}

// -----

func.func @wait_results(%g: !nagpu.token, %t: !nagpu.shared<64x32xbf16, xor>) {
  // expected-error @+1 {{'nagpu.async_wait' op failed to verify that results have the types of the tiles}}
  %0 = "nagpu.async_wait"(%g, %t) <{operandSegmentSizes = array<i32: 1, 1>, pending = 0 : i64}>
      : (!nagpu.token, !nagpu.shared<64x32xbf16, xor>) -> !nagpu.shared<64x64xf32, padded>
  return
}

// -----

func.func @commit_tile(%t: !nagpu.shared<64x32xbf16, xor>) {
  // expected-error @+1 {{'nagpu.async_commit' op operand #0 must be variadic of Asynchronous copies that were issued, but got '!nagpu.shared<64x32xbf16, xor>'}}
  %0 = "nagpu.async_commit"(%t) : (!nagpu.shared<64x32xbf16, xor>) -> !nagpu.token
  return
}
