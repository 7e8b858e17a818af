// RUN: na-opt %s --split-input-file --verify-diagnostics

func.func @ring(%t: !nagpu.shared<2x1x64xf32, linear>) {
  // expected-error @+1 {{'nagpu.ldvector' op 'source' is '!nagpu.shared<2x1x64xf32, linear>', a ring, expected one tile}}
  %0 = nagpu.ldvector %t : !nagpu.shared<2x1x64xf32, linear> -> !nagpu.fragment<64xf32, column, 4>
  return
}

// -----

func.func @panels(%t: !nagpu.shared<8x64xbf16, tma128>) {
  // expected-error @+1 {{'nagpu.ldvector' op 'source' is '!nagpu.shared<8x64xbf16, tma128>', in panels of the TMA, expected linear, xor or padded}}
  %0 = nagpu.ldvector %t : !nagpu.shared<8x64xbf16, tma128> -> !nagpu.fragment<64xf32, column, 4>
  return
}

// -----

func.func @source_element(%t: !nagpu.shared<1x64xbf16, xor>) {
  // expected-error @+1 {{'nagpu.ldvector' op 'source' has element type 'bf16', expected 'f32'}}
  %0 = nagpu.ldvector %t : !nagpu.shared<1x64xbf16, xor> -> !nagpu.fragment<64xf32, column, 4>
  return
}

// -----

func.func @role(%t: !nagpu.shared<1x64xf32, xor>) {
  // expected-error @+1 {{'nagpu.ldvector' op 'result' has role partial_row, expected row or column}}
  %0 = nagpu.ldvector %t : !nagpu.shared<1x64xf32, xor> -> !nagpu.fragment<64xf32, partial_row, 4>
  return
}

// -----

func.func @result_element(%t: !nagpu.shared<1x64xf32, xor>) {
  // expected-error @+1 {{'nagpu.ldvector' op 'result' has element type 'i32', expected 'f32'}}
  %0 = nagpu.ldvector %t : !nagpu.shared<1x64xf32, xor> -> !nagpu.fragment<64xi32, column, 4>
  return
}

// -----

func.func @rows(%t: !nagpu.shared<2x64xf32, xor>) {
  // expected-error @+1 {{'nagpu.ldvector' op 'source' has 2 rows, expected 1}}
  %0 = nagpu.ldvector %t : !nagpu.shared<2x64xf32, xor> -> !nagpu.fragment<64xf32, column, 4>
  return
}

// -----

func.func @columns(%t: !nagpu.shared<1x64xf32, xor>) {
  // expected-error @+1 {{'nagpu.ldvector' op 'result' dimension 0 (columns) is 48, expected 64 as in 'source'}}
  %0 = nagpu.ldvector %t : !nagpu.shared<1x64xf32, xor> -> !nagpu.fragment<48xf32, column, 4>
  return
}

// -----

func.func @result_rows(%t: !nagpu.shared<1x64xf32, xor>) {
  // expected-error @+1 {{'nagpu.ldvector' op 'result' dimension 0 (rows) is 128, expected 64 as in 'source'}}
  %0 = nagpu.ldvector %t : !nagpu.shared<1x64xf32, xor> -> !nagpu.fragment<128xf32, row, 4>
  return
}

// -----

func.func @copy_rows(%s: memref<1x56x56x2xf32>, %t: !nagpu.shared<64x4xf32, linear>, %i: index) {
  // expected-error @+1 {{'nagpu.async_copy' op 'dest' has 64 rows, expected 1 for a 'source' [B, X.., H] without channels}}
  %0 = nagpu.async_copy %s[%i, %i] at(%i, %i) box [4, 16] dilation [1, 1] into %t warps 4
    : memref<1x56x56x2xf32>, !nagpu.shared<64x4xf32, linear>
  return
}

// -----

func.func @copy_element(%s: memref<1x56x56x2xbf16>, %t: !nagpu.shared<1x64xbf16, linear>, %i: index) {
  // expected-error @+1 {{'nagpu.async_copy' op 'dest' has element type 'bf16', expected 'f32'}}
  %0 = nagpu.async_copy %s[%i, %i] at(%i, %i) box [4, 16] dilation [1, 1] into %t warps 4
    : memref<1x56x56x2xbf16>, !nagpu.shared<1x64xbf16, linear>
  return
}

// -----

func.func @copy_tokens(%s: memref<1x56x56x2xf32>, %t: !nagpu.shared<1x64xf32, linear>, %i: index) {
  // expected-error @+1 {{'nagpu.async_copy' op 'box' has 32 tokens, expected 64 (dimension 1 of 'dest')}}
  %0 = nagpu.async_copy %s[%i, %i] at(%i, %i) box [2, 16] dilation [1, 1] into %t warps 4
    : memref<1x56x56x2xf32>, !nagpu.shared<1x64xf32, linear>
  return
}
