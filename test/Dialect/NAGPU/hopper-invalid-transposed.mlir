// RUN: na-opt %s --split-input-file --verify-diagnostics

func.func @panel_type(%k: !nagpu.shared<64x128xbf16, tma128>, %i: index) {
  // expected-error @+1 {{'nagpu.panel' op 'result' is '!nagpu.shared<64x32xbf16, tma64>', expected '!nagpu.shared<64x64xbf16, tma128>'}}
  %0 = nagpu.panel %k[%i] : !nagpu.shared<64x128xbf16, tma128> -> !nagpu.shared<64x32xbf16, tma64>
  return
}

// -----

func.func @panel_index(%k: !nagpu.shared<64x128xbf16, tma128>) {
  %i = arith.constant 2 : index
  // expected-error @+1 {{'nagpu.panel' op 'index' is 2, expected 0 to 1}}
  %0 = nagpu.panel %k[%i] : !nagpu.shared<64x128xbf16, tma128> -> !nagpu.shared<64x64xbf16, tma128>
  return
}

// -----

func.func @panel_swizzle(%k: !nagpu.shared<64x128xbf16, xor>, %i: index) {
  // expected-error @+1 {{'nagpu.panel' op 'tile' is '!nagpu.shared<64x128xbf16, xor>', expected swizzle tma128, tma64 or tma32}}
  %0 = nagpu.panel %k[%i] : !nagpu.shared<64x128xbf16, xor> -> !nagpu.shared<64x64xbf16, xor>
  return
}

// -----

func.func @rows_panels(%k: !nagpu.shared<64x128xbf16, tma128>, %i: index) {
  // expected-error @+1 {{'nagpu.rows' op 'tile' has 128 columns, expected 64, one panel}}
  %0 = nagpu.rows %k[%i] : !nagpu.shared<64x128xbf16, tma128> -> !nagpu.shared<32x128xbf16, tma128>
  return
}

// -----

func.func @rows_swizzle(%k: !nagpu.shared<64x64xbf16, xor>, %i: index) {
  // expected-error @+1 {{'nagpu.rows' op 'tile' is '!nagpu.shared<64x64xbf16, xor>', expected swizzle tma128, tma64 or tma32}}
  %0 = nagpu.rows %k[%i] : !nagpu.shared<64x64xbf16, xor> -> !nagpu.shared<32x64xbf16, xor>
  return
}

// -----

func.func @rows_type(%k: !nagpu.shared<64x64xbf16, tma128>, %i: index) {
  // expected-error @+1 {{'nagpu.rows' op 'result' is '!nagpu.shared<32x32xbf16, tma64>', expected '!nagpu.shared<32x64xbf16, tma128>'}}
  %0 = nagpu.rows %k[%i] : !nagpu.shared<64x64xbf16, tma128> -> !nagpu.shared<32x32xbf16, tma64>
  return
}

// -----

func.func @rows_divide(%k: !nagpu.shared<80x64xbf16, tma128>, %i: index) {
  // expected-error @+1 {{'nagpu.rows' op 'result' has 32 rows, expected a divisor of the 80 rows of 'tile'}}
  %0 = nagpu.rows %k[%i] : !nagpu.shared<80x64xbf16, tma128> -> !nagpu.shared<32x64xbf16, tma128>
  return
}

// -----

func.func @rows_index(%k: !nagpu.shared<80x64xbf16, tma128>) {
  %i = arith.constant 2 : index
  // expected-error @+1 {{'nagpu.rows' op 'index' is 2, expected 0 to 1}}
  %0 = nagpu.rows %k[%i] : !nagpu.shared<80x64xbf16, tma128> -> !nagpu.shared<40x64xbf16, tma128>
  return
}

// -----

func.func @store_role(%f: !nagpu.fragment<64x80xbf16, rhs, 4>, %t: !nagpu.shared<80x64xbf16, tma128>) {
  // expected-error @+1 {{'nagpu.store_transposed' op 'source' is '!nagpu.fragment<64x80xbf16, rhs, 4>', expected 64 rows, role lhs and 4 warps}}
  nagpu.store_transposed %f into %t : !nagpu.fragment<64x80xbf16, rhs, 4>, !nagpu.shared<80x64xbf16, tma128>
  return
}

// -----

func.func @store_shape(%f: !nagpu.fragment<64x80xbf16, lhs, 4>, %t: !nagpu.shared<64x64xbf16, tma128>) {
  // expected-error @+1 {{'nagpu.store_transposed' op 'dest' is '!nagpu.shared<64x64xbf16, tma128>', expected '!nagpu.shared<80x64xbf16, tma128>'}}
  nagpu.store_transposed %f into %t : !nagpu.fragment<64x80xbf16, lhs, 4>, !nagpu.shared<64x64xbf16, tma128>
  return
}

// -----

func.func @lhs_columns(%a: !nagpu.shared<64x128xbf16, tma128>, %b: !nagpu.shared<80x64xbf16, tma128>) {
  // expected-error @+1 {{'nagpu.wgmma' op 'lhs' dimension 1 (M) is 128, expected 64}}
  %0 = nagpu.wgmma %a, %b transposed lhs_transposed : !nagpu.shared<64x128xbf16, tma128>, !nagpu.shared<80x64xbf16, tma128> -> !nagpu.fragment<64x80xf32, accumulator, 4>
  return
}

// -----

func.func @lhs_fragment(%a: !nagpu.fragment<64x64xbf16, lhs, 4>, %b: !nagpu.shared<80x64xbf16, tma128>) {
  // expected-error @+1 {{'nagpu.wgmma' op 'lhs' is a fragment, expected a shared tile with 'lhs_transposed'}}
  %0 = nagpu.wgmma %a, %b transposed lhs_transposed : !nagpu.fragment<64x64xbf16, lhs, 4>, !nagpu.shared<80x64xbf16, tma128> -> !nagpu.fragment<64x80xf32, accumulator, 4>
  return
}

// -----

func.func @lhs_panels(%a: !nagpu.shared<64x64xbf16, tma64>, %b: !nagpu.shared<80x64xbf16, tma128>) {
  // expected-error @+1 {{'nagpu.wgmma' op 'lhs' is '!nagpu.shared<64x64xbf16, tma64>', transposed, expected swizzle tma128}}
  %0 = nagpu.wgmma %a, %b transposed lhs_transposed : !nagpu.shared<64x64xbf16, tma64>, !nagpu.shared<80x64xbf16, tma128> -> !nagpu.fragment<64x80xf32, accumulator, 4>
  return
}

// -----

func.func @add_element(%t: !nagpu.shared<80x64xbf16, tma128>, %map: !nagpu.tensor_map<1x80x64xbf16, tma128>, %i: index) {
  // expected-error @+1 {{'nagpu.tma_add' op 'map' has element type 'bf16', expected 'f32'}}
  nagpu.tma_add %t to %map[%i, %i, %i] : !nagpu.shared<80x64xbf16, tma128>, !nagpu.tensor_map<1x80x64xbf16, tma128>
  return
}

// -----

func.func @add_rows(%t: !nagpu.shared<64x64xf32, tma128>, %map: !nagpu.tensor_map<1x80x32xf32, tma128>, %i: index) {
  // expected-error @+1 {{'nagpu.tma_add' op 'source' has 64 rows, expected 80, those of the box of 'map'}}
  nagpu.tma_add %t to %map[%i, %i, %i] : !nagpu.shared<64x64xf32, tma128>, !nagpu.tensor_map<1x80x32xf32, tma128>
  return
}
