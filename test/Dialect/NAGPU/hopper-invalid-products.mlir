// RUN: na-opt %s --split-input-file --verify-diagnostics

func.func @result_warps(%a: !nagpu.shared<64x128xbf16, tma128>, %b: !nagpu.shared<96x128xbf16, tma128>) {
    // expected-error @+1 {{'nagpu.wgmma' op 'result' is '!nagpu.fragment<128x96xf32, accumulator, 4>', expected 64 rows, role accumulator and 4 warps}}
    %0 = nagpu.wgmma %a, %b transposed : !nagpu.shared<64x128xbf16, tma128>, !nagpu.shared<96x128xbf16, tma128> -> !nagpu.fragment<128x96xf32, accumulator, 4>
  return
}

// -----

func.func @result_element(%a: !nagpu.shared<64x128xbf16, tma128>, %b: !nagpu.shared<96x128xbf16, tma128>) {
    // expected-error @+1 {{'nagpu.wgmma' op 'result' has element type 'i32', expected 'f32'}}
    %0 = nagpu.wgmma %a, %b transposed : !nagpu.shared<64x128xbf16, tma128>, !nagpu.shared<96x128xbf16, tma128> -> !nagpu.fragment<64x96xi32, accumulator, 4>
  return
}

// -----

func.func @columns(%a: !nagpu.shared<64x128xbf16, tma128>, %b: !nagpu.shared<264x128xbf16, tma128>) {
    // expected-error @+1 {{'nagpu.wgmma' op 'result' dimension 1 (N) is 264, expected at most 256}}
    %0 = nagpu.wgmma %a, %b transposed : !nagpu.shared<64x128xbf16, tma128>, !nagpu.shared<264x128xbf16, tma128> -> !nagpu.fragment<64x264xf32, accumulator, 4>
  return
}

// -----

func.func @lhs_rows(%a: !nagpu.shared<128x128xbf16, tma128>, %b: !nagpu.shared<96x128xbf16, tma128>) {
    // expected-error @+1 {{'nagpu.wgmma' op 'lhs' dimension 0 (M) is 128, expected 64}}
    %0 = nagpu.wgmma %a, %b transposed : !nagpu.shared<128x128xbf16, tma128>, !nagpu.shared<96x128xbf16, tma128> -> !nagpu.fragment<64x96xf32, accumulator, 4>
  return
}

// -----

func.func @lhs_xor(%a: !nagpu.shared<64x128xbf16, xor>, %b: !nagpu.shared<96x128xbf16, tma128>) {
    // expected-error @+1 {{'nagpu.wgmma' op 'lhs' is '!nagpu.shared<64x128xbf16, xor>', expected swizzle tma128, tma64 or tma32}}
    %0 = nagpu.wgmma %a, %b transposed : !nagpu.shared<64x128xbf16, xor>, !nagpu.shared<96x128xbf16, tma128> -> !nagpu.fragment<64x96xf32, accumulator, 4>
  return
}

// -----

func.func @lhs_role(%a: !nagpu.fragment<64x128xf32, accumulator, 4>, %b: !nagpu.shared<96x128xbf16, tma128>) {
    // expected-error @+1 {{'nagpu.wgmma' op 'lhs' is '!nagpu.fragment<64x128xf32, accumulator, 4>', expected 64 rows, role lhs and 4 warps}}
    %0 = nagpu.wgmma %a, %b transposed : !nagpu.fragment<64x128xf32, accumulator, 4>, !nagpu.shared<96x128xbf16, tma128> -> !nagpu.fragment<64x96xf32, accumulator, 4>
  return
}

// -----

func.func @lhs_warps(%a: !nagpu.fragment<64x128xbf16, lhs, 2>, %b: !nagpu.shared<96x128xbf16, tma128>) {
    // expected-error @+1 {{'nagpu.wgmma' op 'lhs' is '!nagpu.fragment<64x128xbf16, lhs, 2>', expected 64 rows, role lhs and 4 warps}}
    %0 = nagpu.wgmma %a, %b transposed : !nagpu.fragment<64x128xbf16, lhs, 2>, !nagpu.shared<96x128xbf16, tma128> -> !nagpu.fragment<64x96xf32, accumulator, 4>
  return
}

// -----

func.func @lhs_f32(%a: !nagpu.fragment<64x128xf32, lhs, 4>, %b: !nagpu.shared<96x128xbf16, tma128>) {
    // expected-error @+1 {{'nagpu.wgmma' op 'lhs' has element type 'f32', expected 'f16' or 'bf16'}}
    %0 = nagpu.wgmma %a, %b transposed : !nagpu.fragment<64x128xf32, lhs, 4>, !nagpu.shared<96x128xbf16, tma128> -> !nagpu.fragment<64x96xf32, accumulator, 4>
  return
}

// -----

func.func @rhs_xor(%a: !nagpu.shared<64x128xbf16, tma128>, %b: !nagpu.shared<96x128xbf16, xor>) {
    // expected-error @+1 {{'nagpu.wgmma' op 'rhs' is '!nagpu.shared<96x128xbf16, xor>', expected swizzle tma128, tma64 or tma32}}
    %0 = nagpu.wgmma %a, %b transposed : !nagpu.shared<64x128xbf16, tma128>, !nagpu.shared<96x128xbf16, xor> -> !nagpu.fragment<64x96xf32, accumulator, 4>
  return
}

// -----

func.func @rhs_ring(%a: !nagpu.shared<64x128xbf16, tma128>, %b: !nagpu.shared<2x96x128xbf16, tma128>) {
    // expected-error @+1 {{'nagpu.wgmma' op 'rhs' is '!nagpu.shared<2x96x128xbf16, tma128>', a ring, expected one tile}}
    %0 = nagpu.wgmma %a, %b transposed : !nagpu.shared<64x128xbf16, tma128>, !nagpu.shared<2x96x128xbf16, tma128> -> !nagpu.fragment<64x96xf32, accumulator, 4>
  return
}

// -----

func.func @rhs_element(%a: !nagpu.shared<64x128xbf16, tma128>, %b: !nagpu.shared<96x128xf16, tma128>) {
    // expected-error @+1 {{'nagpu.wgmma' op 'rhs' has element type 'f16', expected 'bf16' (that of 'lhs')}}
    %0 = nagpu.wgmma %a, %b transposed : !nagpu.shared<64x128xbf16, tma128>, !nagpu.shared<96x128xf16, tma128> -> !nagpu.fragment<64x96xf32, accumulator, 4>
  return
}

// -----

func.func @depth(%a: !nagpu.shared<64x128xbf16, tma128>, %b: !nagpu.shared<96x128xbf16, tma128>) {
    // expected-error @+1 {{'nagpu.wgmma' op 'rhs' dimension 0 (K) is 96, expected 128 as in 'lhs'}}
    %0 = nagpu.wgmma %a, %b : !nagpu.shared<64x128xbf16, tma128>, !nagpu.shared<96x128xbf16, tma128> -> !nagpu.fragment<64x128xf32, accumulator, 4>
  return
}

// -----

func.func @width(%a: !nagpu.shared<64x128xbf16, tma128>, %b: !nagpu.shared<96x128xbf16, tma128>) {
    // expected-error @+1 {{'nagpu.wgmma' op 'result' dimension 1 (N) is 64, expected 96 as in 'rhs'}}
    %0 = nagpu.wgmma %a, %b transposed : !nagpu.shared<64x128xbf16, tma128>, !nagpu.shared<96x128xbf16, tma128> -> !nagpu.fragment<64x64xf32, accumulator, 4>
  return
}

// -----

func.func @in_flight(%a: !nagpu.shared<64x128xbf16, tma128>, %b: !nagpu.shared<96x128xbf16, tma128>) {
  // expected-error @+1 {{'nagpu.wgmma' op 'result' is in flight, but 'nagpu.reduce' takes it before a nagpu.wgmma_wait}}
  %0 = nagpu.wgmma %a, %b transposed : !nagpu.shared<64x128xbf16, tma128>, !nagpu.shared<96x128xbf16, tma128> -> !nagpu.fragment<64x96xf32, accumulator, 4>
  // expected-note @+1 {{the use}}
  %1 = nagpu.reduce max %0 : !nagpu.fragment<64x96xf32, accumulator, 4> -> !nagpu.fragment<64xf32, row, 4>
  return
}

// -----

func.func @fence(%a: !nagpu.fragment<128x96xf32, accumulator, 4>) {
    // expected-error @+1 {{'nagpu.wgmma_fence' op 'values' is '!nagpu.fragment<128x96xf32, accumulator, 4>', expected 64 rows, role accumulator and 4 warps}}
    %0 = nagpu.wgmma_fence(%a : !nagpu.fragment<128x96xf32, accumulator, 4>)
  return
}

// -----

func.func @wait_role(%a: !nagpu.fragment<64x96xbf16, lhs, 4>) {
    // expected-error @+1 {{'nagpu.wgmma_wait' op 'values' is '!nagpu.fragment<64x96xbf16, lhs, 4>', expected 64 rows, role accumulator and 4 warps}}
    %0 = nagpu.wgmma_wait pending 0 (%a : !nagpu.fragment<64x96xbf16, lhs, 4>)
  return
}

// -----

func.func @wait_pending() {
    // expected-error @+1 {{'nagpu.wgmma_wait' op 'pending' is 8, expected 0 to 7}}
    nagpu.wgmma_wait pending 8
  return
}
