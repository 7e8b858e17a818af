// RUN: na-opt %s --split-input-file --verify-diagnostics

func.func @ldmatrix_ring(%t: !nagpu.shared<2x64x32xbf16, xor>) {
  // expected-error @+1 {{'nagpu.ldmatrix' op 'source' is '!nagpu.shared<2x64x32xbf16, xor>', a ring, expected one tile}}
  %0 = nagpu.ldmatrix %t[0, 0]
    : !nagpu.shared<2x64x32xbf16, xor> -> !nagpu.fragment<64x16xbf16, lhs, 4>
  return
}

// -----

func.func @ldmatrix_role(%t: !nagpu.shared<128x64xf32, padded>) {
  // expected-error @+1 {{'nagpu.ldmatrix' op 'result' has role accumulator, expected lhs or rhs}}
  %0 = nagpu.ldmatrix %t[0, 0]
    : !nagpu.shared<128x64xf32, padded> -> !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @ldmatrix_element(%t: !nagpu.shared<128x64xbf16, xor>) {
  // expected-error @+1 {{'nagpu.ldmatrix' op 'result' has element type 'f16', expected 'bf16' (that of 'source')}}
  %0 = nagpu.ldmatrix %t[0, 0]
    : !nagpu.shared<128x64xbf16, xor> -> !nagpu.fragment<128x16xf16, lhs, 4>
  return
}

// -----

func.func @ldmatrix_lhs_transposed_column(%t: !nagpu.shared<16x64xbf16, xor>) {
  // expected-error @+1 {{'nagpu.ldmatrix' op 'column' is 8 and the result has 64 rows, expected column 0 and all 64 columns of 'source' (role lhs, transposed)}}
  %0 = nagpu.ldmatrix %t[0, 8] transposed
    : !nagpu.shared<16x64xbf16, xor> -> !nagpu.fragment<64x16xbf16, lhs, 4>
  return
}

// -----

func.func @ldmatrix_lhs_transposed_rows(%t: !nagpu.shared<16x128xbf16, xor>) {
  // expected-error @+1 {{'nagpu.ldmatrix' op 'column' is 0 and the result has 64 rows, expected column 0 and all 128 columns of 'source' (role lhs, transposed)}}
  %0 = nagpu.ldmatrix %t[0, 0] transposed
    : !nagpu.shared<16x128xbf16, xor> -> !nagpu.fragment<64x16xbf16, lhs, 4>
  return
}

// -----

func.func @ldmatrix_lhs_transposed_depth(%t: !nagpu.shared<16x64xbf16, xor>) {
  // expected-error @+1 {{'nagpu.ldmatrix' op 'row' is 8 and the result has 16 from there, but 'source' has 16}}
  %0 = nagpu.ldmatrix %t[8, 0] transposed
    : !nagpu.shared<16x64xbf16, xor> -> !nagpu.fragment<64x16xbf16, lhs, 4>
  return
}

// -----

func.func @ldmatrix_lhs_permuted(%t: !nagpu.shared<128x64xf32, padded>) {
  // expected-error @+1 {{'nagpu.ldmatrix' op 'permuted' is for role rhs of 'f32' that is not transposed, result is '!nagpu.fragment<128x8xf32, lhs, 4>'}}
  %0 = nagpu.ldmatrix %t[0, 0] permuted
    : !nagpu.shared<128x64xf32, padded> -> !nagpu.fragment<128x8xf32, lhs, 4>
  return
}

// -----

func.func @ldmatrix_transposed_permuted(%t: !nagpu.shared<128x64xf32, padded>) {
  // expected-error @+1 {{'nagpu.ldmatrix' op 'permuted' is for role rhs of 'f32' that is not transposed, result is '!nagpu.fragment<8x128xf32, rhs, 4>', transposed}}
  %0 = nagpu.ldmatrix %t[0, 0] transposed permuted
    : !nagpu.shared<128x64xf32, padded> -> !nagpu.fragment<8x128xf32, rhs, 4>
  return
}

// -----

func.func @ldmatrix_permuted_16_bit(%t: !nagpu.shared<128x64xbf16, xor>) {
  // expected-error @+1 {{'nagpu.ldmatrix' op 'permuted' is for role rhs of 'f32' that is not transposed, result is '!nagpu.fragment<16x64xbf16, rhs, 4>'}}
  %0 = nagpu.ldmatrix %t[0, 0] permuted
    : !nagpu.shared<128x64xbf16, xor> -> !nagpu.fragment<16x64xbf16, rhs, 4>
  return
}

// -----

func.func @ldmatrix_lhs_row(%t: !nagpu.shared<128x64xbf16, xor>) {
  // expected-error @+1 {{'nagpu.ldmatrix' op 'row' is 64 and the result has 64 rows, expected row 0 and all 128 rows of 'source' (role lhs)}}
  %0 = nagpu.ldmatrix %t[64, 0]
    : !nagpu.shared<128x64xbf16, xor> -> !nagpu.fragment<64x16xbf16, lhs, 4>
  return
}

// -----

func.func @ldmatrix_lhs_rows(%t: !nagpu.shared<128x64xbf16, xor>) {
  // expected-error @+1 {{'nagpu.ldmatrix' op 'row' is 0 and the result has 64 rows, expected row 0 and all 128 rows of 'source' (role lhs)}}
  %0 = nagpu.ldmatrix %t[0, 0]
    : !nagpu.shared<128x64xbf16, xor> -> !nagpu.fragment<64x16xbf16, lhs, 4>
  return
}

// -----

func.func @ldmatrix_row_bound(%t: !nagpu.shared<128x64xbf16, xor>) {
  // expected-error @+1 {{'nagpu.ldmatrix' op 'row' is 120 and the result has 16 from there, but 'source' has 128}}
  %0 = nagpu.ldmatrix %t[120, 0]
    : !nagpu.shared<128x64xbf16, xor> -> !nagpu.fragment<16x64xbf16, rhs, 4>
  return
}

// -----

func.func @ldmatrix_row_negative(%t: !nagpu.shared<128x64xbf16, xor>) {
  // expected-error @+1 {{'nagpu.ldmatrix' op 'row' is -8 and the result has 16 from there, but 'source' has 128}}
  %0 = nagpu.ldmatrix %t[-8, 0]
    : !nagpu.shared<128x64xbf16, xor> -> !nagpu.fragment<16x64xbf16, rhs, 4>
  return
}

// -----

func.func @ldmatrix_row_large(%t: !nagpu.shared<128x64xbf16, xor>) {
  // expected-error @+1 {{'nagpu.ldmatrix' op 'row' is 9223372036854775800 and the result has 16 from there, but 'source' has 128}}
  %0 = nagpu.ldmatrix %t[9223372036854775800, 0]
    : !nagpu.shared<128x64xbf16, xor> -> !nagpu.fragment<16x64xbf16, rhs, 4>
  return
}

// -----

func.func @ldmatrix_row_multiple(%t: !nagpu.shared<128x64xbf16, xor>) {
  // expected-error @+1 {{'nagpu.ldmatrix' op 'row' is 4, expected a multiple of 8}}
  %0 = nagpu.ldmatrix %t[4, 0]
    : !nagpu.shared<128x64xbf16, xor> -> !nagpu.fragment<16x64xbf16, rhs, 4>
  return
}

// -----

func.func @ldmatrix_column_bound(%t: !nagpu.shared<128x64xbf16, xor>) {
  // expected-error @+1 {{'nagpu.ldmatrix' op 'column' is 56 and the result has 16 from there, but 'source' has 64}}
  %0 = nagpu.ldmatrix %t[0, 56]
    : !nagpu.shared<128x64xbf16, xor> -> !nagpu.fragment<128x16xbf16, lhs, 4>
  return
}

// -----

func.func @ldmatrix_column_wide(%t: !nagpu.shared<128x64xbf16, xor>) {
  // expected-error @+1 {{'nagpu.ldmatrix' op 'column' is 0 and the result has 80 from there, but 'source' has 64}}
  %0 = nagpu.ldmatrix %t[0, 0]
    : !nagpu.shared<128x64xbf16, xor> -> !nagpu.fragment<128x80xbf16, lhs, 4>
  return
}

// -----

func.func @ldmatrix_column_multiple(%t: !nagpu.shared<128x64xbf16, xor>) {
  // expected-error @+1 {{'nagpu.ldmatrix' op 'column' is 4, expected a multiple of 8}}
  %0 = nagpu.ldmatrix %t[0, 4]
    : !nagpu.shared<128x64xbf16, xor> -> !nagpu.fragment<128x16xbf16, lhs, 4>
  return
}

// -----

func.func @ldmatrix_column_multiple_32_bit(
    %t: !nagpu.shared<128x64xf32, padded>) {
  // expected-error @+1 {{'nagpu.ldmatrix' op 'column' is 6, expected a multiple of 4}}
  %0 = nagpu.ldmatrix %t[0, 6]
    : !nagpu.shared<128x64xf32, padded> -> !nagpu.fragment<128x8xf32, lhs, 4>
  return
}

// -----

func.func @ldmatrix_transposed_rows(%t: !nagpu.shared<128x64xbf16, xor>) {
  // expected-error @+1 {{'nagpu.ldmatrix' op 'row' is 0 and the result has 136 from there, but 'source' has 128}}
  %0 = nagpu.ldmatrix %t[0, 0] transposed
    : !nagpu.shared<128x64xbf16, xor> -> !nagpu.fragment<16x136xbf16, rhs, 4>
  return
}

// -----

func.func @ldmatrix_transposed_columns(%t: !nagpu.shared<128x64xbf16, xor>) {
  // expected-error @+1 {{'nagpu.ldmatrix' op 'column' is 56 and the result has 16 from there, but 'source' has 64}}
  %0 = nagpu.ldmatrix %t[0, 56] transposed
    : !nagpu.shared<128x64xbf16, xor> -> !nagpu.fragment<16x128xbf16, rhs, 4>
  return
}

// -----

func.func @mma_lhs_role(
    %a: !nagpu.fragment<64x64xbf16, rhs, 4>,
    %b: !nagpu.fragment<64x64xbf16, rhs, 4>,
    %c: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.mma' op 'lhs' has role rhs, expected lhs}}
  %0 = nagpu.mma %a, %b, %c
    : !nagpu.fragment<64x64xbf16, rhs, 4>,
      !nagpu.fragment<64x64xbf16, rhs, 4>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @mma_rhs_role(
    %a: !nagpu.fragment<128x64xbf16, lhs, 4>,
    %b: !nagpu.fragment<128x64xbf16, lhs, 4>,
    %c: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.mma' op 'rhs' has role lhs, expected rhs}}
  %0 = nagpu.mma %a, %b, %c
    : !nagpu.fragment<128x64xbf16, lhs, 4>,
      !nagpu.fragment<128x64xbf16, lhs, 4>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @mma_acc_role(
    %a: !nagpu.fragment<128x64xbf16, lhs, 4>,
    %b: !nagpu.fragment<64x64xbf16, rhs, 4>,
    %c: !nagpu.fragment<128x64xbf16, lhs, 4>) {
  // expected-error @+1 {{'nagpu.mma' op 'acc' has role lhs, expected accumulator}}
  %0 = nagpu.mma %a, %b, %c
    : !nagpu.fragment<128x64xbf16, lhs, 4>,
      !nagpu.fragment<64x64xbf16, rhs, 4>,
      !nagpu.fragment<128x64xbf16, lhs, 4>
  return
}

// -----

func.func @mma_integer(
    %a: !nagpu.fragment<128x64xi32, lhs, 4>,
    %b: !nagpu.fragment<64x64xbf16, rhs, 4>,
    %c: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.mma' op 'lhs' has element type 'i32', expected 'f16', 'bf16' or 'f32'}}
  %0 = nagpu.mma %a, %b, %c
    : !nagpu.fragment<128x64xi32, lhs, 4>,
      !nagpu.fragment<64x64xbf16, rhs, 4>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @mma_element(
    %a: !nagpu.fragment<128x64xbf16, lhs, 4>,
    %b: !nagpu.fragment<64x64xf16, rhs, 4>,
    %c: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.mma' op 'rhs' has element type 'f16', expected 'bf16' (that of 'lhs')}}
  %0 = nagpu.mma %a, %b, %c
    : !nagpu.fragment<128x64xbf16, lhs, 4>,
      !nagpu.fragment<64x64xf16, rhs, 4>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @mma_acc_element(
    %a: !nagpu.fragment<128x64xbf16, lhs, 4>,
    %b: !nagpu.fragment<64x64xbf16, rhs, 4>,
    %c: !nagpu.fragment<128x64xi32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.mma' op 'acc' has element type 'i32', expected 'f32'}}
  %0 = nagpu.mma %a, %b, %c
    : !nagpu.fragment<128x64xbf16, lhs, 4>,
      !nagpu.fragment<64x64xbf16, rhs, 4>,
      !nagpu.fragment<128x64xi32, accumulator, 4>
  return
}

// -----

func.func @mma_rhs_warps(
    %a: !nagpu.fragment<128x64xbf16, lhs, 4>,
    %b: !nagpu.fragment<64x64xbf16, rhs, 2>,
    %c: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.mma' op 'rhs' has 2 warps, expected 4 as in 'lhs'}}
  %0 = nagpu.mma %a, %b, %c
    : !nagpu.fragment<128x64xbf16, lhs, 4>,
      !nagpu.fragment<64x64xbf16, rhs, 2>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @mma_acc_warps(
    %a: !nagpu.fragment<128x64xbf16, lhs, 4>,
    %b: !nagpu.fragment<64x64xbf16, rhs, 4>,
    %c: !nagpu.fragment<128x64xf32, accumulator, 8>) {
  // expected-error @+1 {{'nagpu.mma' op 'acc' has 8 warps, expected 4 as in 'lhs'}}
  %0 = nagpu.mma %a, %b, %c
    : !nagpu.fragment<128x64xbf16, lhs, 4>,
      !nagpu.fragment<64x64xbf16, rhs, 4>,
      !nagpu.fragment<128x64xf32, accumulator, 8>
  return
}

// -----

func.func @mma_k(
    %a: !nagpu.fragment<128x64xbf16, lhs, 4>,
    %b: !nagpu.fragment<32x64xbf16, rhs, 4>,
    %c: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.mma' op 'rhs' dimension 0 (K) is 32, expected 64 as in 'lhs'}}
  %0 = nagpu.mma %a, %b, %c
    : !nagpu.fragment<128x64xbf16, lhs, 4>,
      !nagpu.fragment<32x64xbf16, rhs, 4>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @mma_m(
    %a: !nagpu.fragment<128x64xbf16, lhs, 4>,
    %b: !nagpu.fragment<64x64xbf16, rhs, 4>,
    %c: !nagpu.fragment<64x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.mma' op 'acc' dimension 0 (M) is 64, expected 128 as in 'lhs'}}
  %0 = nagpu.mma %a, %b, %c
    : !nagpu.fragment<128x64xbf16, lhs, 4>,
      !nagpu.fragment<64x64xbf16, rhs, 4>,
      !nagpu.fragment<64x64xf32, accumulator, 4>
  return
}

// -----

func.func @mma_n(
    %a: !nagpu.fragment<128x64xbf16, lhs, 4>,
    %b: !nagpu.fragment<64x64xbf16, rhs, 4>,
    %c: !nagpu.fragment<128x32xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.mma' op 'acc' dimension 1 (N) is 32, expected 64 as in 'rhs'}}
  %0 = nagpu.mma %a, %b, %c
    : !nagpu.fragment<128x64xbf16, lhs, 4>,
      !nagpu.fragment<64x64xbf16, rhs, 4>,
      !nagpu.fragment<128x32xf32, accumulator, 4>
  return
}

// -----

func.func @fma_acc_role(
    %a: !nagpu.shared<128x64xf32, padded>,
    %b: !nagpu.shared<64x64xf32, padded>,
    %c: !nagpu.fragment<128x64xf32, lhs, 4>) {
  // expected-error @+1 {{'nagpu.fma' op 'acc' has role lhs, expected accumulator}}
  %0 = nagpu.fma %a, %b, %c
    : !nagpu.shared<128x64xf32, padded>,
      !nagpu.shared<64x64xf32, padded>,
      !nagpu.fragment<128x64xf32, lhs, 4>
  return
}

// -----

func.func @fma_lhs_role(
    %a: !nagpu.fragment<128x64xf32, lhs, 4>,
    %b: !nagpu.shared<64x64xf32, padded>,
    %c: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.fma' op 'lhs' has role lhs, expected accumulator}}
  %0 = nagpu.fma %a, %b, %c
    : !nagpu.fragment<128x64xf32, lhs, 4>,
      !nagpu.shared<64x64xf32, padded>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @fma_lhs_warps(
    %a: !nagpu.fragment<128x64xf32, accumulator, 8>,
    %b: !nagpu.shared<64x64xf32, padded>,
    %c: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.fma' op 'lhs' has 8 warps, expected 4 as in 'acc'}}
  %0 = nagpu.fma %a, %b, %c
    : !nagpu.fragment<128x64xf32, accumulator, 8>,
      !nagpu.shared<64x64xf32, padded>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @fma_lhs_ring(
    %a: !nagpu.shared<2x128x64xf32, xor>,
    %b: !nagpu.shared<64x64xf32, padded>,
    %c: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.fma' op 'lhs' is '!nagpu.shared<2x128x64xf32, xor>', a ring, expected one tile}}
  %0 = nagpu.fma %a, %b, %c
    : !nagpu.shared<2x128x64xf32, xor>,
      !nagpu.shared<64x64xf32, padded>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @fma_rhs_ring(
    %a: !nagpu.shared<128x64xf32, padded>,
    %b: !nagpu.shared<2x64x64xf32, xor>,
    %c: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.fma' op 'rhs' is '!nagpu.shared<2x64x64xf32, xor>', a ring, expected one tile}}
  %0 = nagpu.fma %a, %b, %c
    : !nagpu.shared<128x64xf32, padded>,
      !nagpu.shared<2x64x64xf32, xor>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @fma_lhs_element(
    %a: !nagpu.shared<128x64xbf16, xor>,
    %b: !nagpu.shared<64x64xf32, padded>,
    %c: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.fma' op 'lhs' has element type 'bf16', expected 'f32'}}
  %0 = nagpu.fma %a, %b, %c
    : !nagpu.shared<128x64xbf16, xor>,
      !nagpu.shared<64x64xf32, padded>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @fma_lhs_element_fragment(
    %a: !nagpu.fragment<128x64xi32, accumulator, 4>,
    %b: !nagpu.shared<64x64xf32, padded>,
    %c: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.fma' op 'lhs' has element type 'i32', expected 'f32'}}
  %0 = nagpu.fma %a, %b, %c
    : !nagpu.fragment<128x64xi32, accumulator, 4>,
      !nagpu.shared<64x64xf32, padded>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @fma_rhs_element(
    %a: !nagpu.shared<128x64xf32, padded>,
    %b: !nagpu.shared<64x64xf16, xor>,
    %c: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.fma' op 'rhs' has element type 'f16', expected 'f32'}}
  %0 = nagpu.fma %a, %b, %c
    : !nagpu.shared<128x64xf32, padded>,
      !nagpu.shared<64x64xf16, xor>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @fma_acc_element(
    %a: !nagpu.shared<128x64xf32, padded>,
    %b: !nagpu.shared<64x64xf32, padded>,
    %c: !nagpu.fragment<128x64xi32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.fma' op 'acc' has element type 'i32', expected 'f32'}}
  %0 = nagpu.fma %a, %b, %c
    : !nagpu.shared<128x64xf32, padded>,
      !nagpu.shared<64x64xf32, padded>,
      !nagpu.fragment<128x64xi32, accumulator, 4>
  return
}

// -----

func.func @fma_k(
    %a: !nagpu.shared<128x64xf32, padded>,
    %b: !nagpu.shared<32x64xf32, xor>,
    %c: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.fma' op 'rhs' dimension 0 (K) is 32, expected 64 as in 'lhs'}}
  %0 = nagpu.fma %a, %b, %c
    : !nagpu.shared<128x64xf32, padded>,
      !nagpu.shared<32x64xf32, xor>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @fma_k_transposed(
    %a: !nagpu.shared<128x64xf32, padded>,
    %b: !nagpu.shared<64x32xf32, xor>,
    %c: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.fma' op 'rhs' dimension 1 (K) is 32, expected 64 as in 'lhs'}}
  %0 = nagpu.fma %a, %b, %c transposed
    : !nagpu.shared<128x64xf32, padded>,
      !nagpu.shared<64x32xf32, xor>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @fma_m(
    %a: !nagpu.shared<64x64xf32, padded>,
    %b: !nagpu.shared<64x64xf32, padded>,
    %c: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.fma' op 'acc' dimension 0 (M) is 128, expected 64 as in 'lhs'}}
  %0 = nagpu.fma %a, %b, %c
    : !nagpu.shared<64x64xf32, padded>,
      !nagpu.shared<64x64xf32, padded>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @fma_n(
    %a: !nagpu.shared<128x64xf32, padded>,
    %b: !nagpu.shared<64x32xf32, xor>,
    %c: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.fma' op 'acc' dimension 1 (N) is 64, expected 32 as in 'rhs'}}
  %0 = nagpu.fma %a, %b, %c
    : !nagpu.shared<128x64xf32, padded>,
      !nagpu.shared<64x32xf32, xor>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @fma_n_transposed(
    %a: !nagpu.shared<128x64xf32, padded>,
    %b: !nagpu.shared<32x64xf32, xor>,
    %c: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.fma' op 'acc' dimension 1 (N) is 64, expected 32 as in 'rhs'}}
  %0 = nagpu.fma %a, %b, %c transposed
    : !nagpu.shared<128x64xf32, padded>,
      !nagpu.shared<32x64xf32, xor>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @fma_lhs_transposed_fragment(
    %a: !nagpu.fragment<128x64xf32, accumulator, 4>,
    %b: !nagpu.shared<64x64xf32, xor>,
    %c: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.fma' op 'lhs_transposed' is for a shared tile, 'lhs' is '!nagpu.fragment<128x64xf32, accumulator, 4>'}}
  %0 = nagpu.fma %a, %b, %c lhs_transposed
    : !nagpu.fragment<128x64xf32, accumulator, 4>,
      !nagpu.shared<64x64xf32, xor>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}

// -----

func.func @fma_lhs_transposed_k(
    %a: !nagpu.shared<32x128xf32, xor>,
    %b: !nagpu.shared<64x64xf32, xor>,
    %c: !nagpu.fragment<128x64xf32, accumulator, 4>) {
  // expected-error @+1 {{'nagpu.fma' op 'rhs' dimension 0 (K) is 64, expected 32 as in 'lhs'}}
  %0 = nagpu.fma %a, %b, %c lhs_transposed
    : !nagpu.shared<32x128xf32, xor>,
      !nagpu.shared<64x64xf32, xor>,
      !nagpu.fragment<128x64xf32, accumulator, 4>
  return
}
