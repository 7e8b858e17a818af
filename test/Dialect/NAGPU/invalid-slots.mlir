// RUN: na-opt %s --split-input-file --verify-diagnostics

func.func @columns(%s: !nagpu.fragment<16x16xf32, accumulator, 1>, %t: !nagpu.shared<17x16xf32, padded>,
                   %m: memref<1x20x2x5xf32>, %c: index, %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.scatter' op 'scratch' dimension 1 (keys and scratch) is 16, expected 28 as in 'key_box'}}
  nagpu.scatter %s via %t into %m[%c, %c] at(%c) ranges(%r, %r) window [5] query_box [16] key_box [16] dilation [1]
    : !nagpu.fragment<16x16xf32, accumulator, 1>, !nagpu.shared<17x16xf32, padded>, memref<1x20x2x5xf32>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}

// -----

func.func @rows(%s: !nagpu.fragment<16x16xf32, accumulator, 1>, %t: !nagpu.shared<16x28xf32, padded>,
                %m: memref<1x20x2x5xf32>, %c: index, %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.scatter' op 'box' has 16 tokens, expected 15 (dimension 0 of 'scratch')}}
  nagpu.scatter %s via %t into %m[%c, %c] at(%c) ranges(%r, %r) window [5] query_box [16] key_box [16] dilation [1]
    : !nagpu.fragment<16x16xf32, accumulator, 1>, !nagpu.shared<16x28xf32, padded>, memref<1x20x2x5xf32>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}

// -----

func.func @source_columns(%s: !nagpu.fragment<16x32xf32, accumulator, 1>, %t: !nagpu.shared<17x28xf32, padded>,
                          %m: memref<1x20x2x5xf32>, %c: index, %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.scatter' op 'source' dimension 1 (keys) is 32, expected 16 as in 'key_box'}}
  nagpu.scatter %s via %t into %m[%c, %c] at(%c) ranges(%r, %r) window [5] query_box [16] key_box [16] dilation [1]
    : !nagpu.fragment<16x32xf32, accumulator, 1>, !nagpu.shared<17x28xf32, padded>, memref<1x20x2x5xf32>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}

// -----

func.func @slots(%s: !nagpu.fragment<16x16xf32, accumulator, 1>, %t: !nagpu.shared<17x28xf32, padded>,
                 %m: memref<1x20x2x6xf32>, %c: index, %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.scatter' op 'dest' dimension 3 (slots) is 6, expected 5 (of 'window')}}
  nagpu.scatter %s via %t into %m[%c, %c] at(%c) ranges(%r, %r) window [5] query_box [16] key_box [16] dilation [1]
    : !nagpu.fragment<16x16xf32, accumulator, 1>, !nagpu.shared<17x28xf32, padded>, memref<1x20x2x6xf32>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}

// -----

func.func @ranges(%s: !nagpu.fragment<16x16xf32, accumulator, 1>, %t: !nagpu.shared<17x28xf32, padded>,
                  %m: memref<1x20x2x5xf32>, %c: index, %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.scatter' op 'ranges' has 1 entries, expected 2 (two per axis)}}
  nagpu.scatter %s via %t into %m[%c, %c] at(%c) ranges(%r) window [5] query_box [16] key_box [16] dilation [1]
    : !nagpu.fragment<16x16xf32, accumulator, 1>, !nagpu.shared<17x28xf32, padded>, memref<1x20x2x5xf32>, !nagpu.fragment<16xi32, row, 1>
  return
}

// -----

func.func @range_warps(%t: !nagpu.shared<32x40xbf16, padded>, %m: memref<1x20x2x5xbf16>, %c: index,
                       %r: !nagpu.fragment<32xi32, row, 2>) {
  // expected-error @+1 {{'nagpu.gather' op 'ranges[0]' has 2 warps, expected 1 as in 'dest'}}
  %0 = nagpu.gather %m[%c, %c] at(%c) ranges(%r, %r) into %t window [5] query_box [32] key_box [16] dilation [1] warps 1
    : memref<1x20x2x5xbf16>, !nagpu.shared<32x40xbf16, padded>, !nagpu.fragment<32xi32, row, 2>, !nagpu.fragment<32xi32, row, 2>
  return
}

// -----

func.func @range_element(%t: !nagpu.shared<16x40xbf16, padded>, %m: memref<1x20x2x5xbf16>, %c: index,
                         %r: !nagpu.fragment<16xf32, row, 1>) {
  // expected-error @+1 {{'nagpu.gather' op 'ranges[0]' has element type 'f32', expected 'i32' (positions of keys)}}
  %0 = nagpu.gather %m[%c, %c] at(%c) ranges(%r, %r) into %t window [5] query_box [16] key_box [16] dilation [1] warps 1
    : memref<1x20x2x5xbf16>, !nagpu.shared<16x40xbf16, padded>, !nagpu.fragment<16xf32, row, 1>, !nagpu.fragment<16xf32, row, 1>
  return
}

// -----

func.func @element(%t: !nagpu.shared<16x40xbf16, padded>, %m: memref<1x20x2x5xf16>, %c: index,
                   %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.gather' op 'dest' has element type 'bf16', expected 'f16' (that of 'source')}}
  %0 = nagpu.gather %m[%c, %c] at(%c) ranges(%r, %r) into %t window [5] query_box [16] key_box [16] dilation [1] warps 1
    : memref<1x20x2x5xf16>, !nagpu.shared<16x40xbf16, padded>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}

// -----

func.func @swizzle(%t: !nagpu.shared<16x64xbf16, xor>, %m: memref<1x20x2x5xbf16>, %c: index,
                   %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.gather' op 'dest' is '!nagpu.shared<16x64xbf16, xor>', expected linear or padded}}
  %0 = nagpu.gather %m[%c, %c] at(%c) ranges(%r, %r) into %t window [5] query_box [16] key_box [40] dilation [1] warps 1
    : memref<1x20x2x5xbf16>, !nagpu.shared<16x64xbf16, xor>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}

// -----

func.func @warps(%t: !nagpu.shared<16x40xbf16, padded>, %m: memref<1x20x2x5xbf16>, %c: index,
                 %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.gather' op 'warps' is 0, expected at least 1}}
  %0 = nagpu.gather %m[%c, %c] at(%c) ranges(%r, %r) into %t window [5] query_box [16] key_box [16] dilation [1] warps 0
    : memref<1x20x2x5xbf16>, !nagpu.shared<16x40xbf16, padded>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}

// -----

func.func @source_role(%s: !nagpu.fragment<16x16xf32, lhs, 1>, %t: !nagpu.shared<17x28xf32, padded>,
                 %m: memref<1x20x2x5xf32>, %c: index, %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.scatter' op 'source' has role lhs, expected accumulator}}
  nagpu.scatter %s via %t into %m[%c, %c] at(%c) ranges(%r, %r) window [5] query_box [16] key_box [16] dilation [1]
    : !nagpu.fragment<16x16xf32, lhs, 1>, !nagpu.shared<17x28xf32, padded>, memref<1x20x2x5xf32>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}

// -----

func.func @ring(%s: !nagpu.fragment<16x16xf32, accumulator, 1>, %t: !nagpu.shared<2x17x28xf32, padded>,
                 %m: memref<1x20x2x5xf32>, %c: index, %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.scatter' op 'scratch' is '!nagpu.shared<2x17x28xf32, padded>', a ring, expected one tile}}
  nagpu.scatter %s via %t into %m[%c, %c] at(%c) ranges(%r, %r) window [5] query_box [16] key_box [16] dilation [1]
    : !nagpu.fragment<16x16xf32, accumulator, 1>, !nagpu.shared<2x17x28xf32, padded>, memref<1x20x2x5xf32>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}

// -----

func.func @scratch_swizzle(%s: !nagpu.fragment<16x16xf32, accumulator, 1>, %t: !nagpu.shared<17x32xf32, xor>,
                 %m: memref<1x20x2x5xf32>, %c: index, %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.scatter' op 'scratch' is '!nagpu.shared<17x32xf32, xor>', expected linear or padded}}
  nagpu.scatter %s via %t into %m[%c, %c] at(%c) ranges(%r, %r) window [5] query_box [16] key_box [16] dilation [1]
    : !nagpu.fragment<16x16xf32, accumulator, 1>, !nagpu.shared<17x32xf32, xor>, memref<1x20x2x5xf32>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}

// -----

func.func @dest_element(%s: !nagpu.fragment<16x16xf32, accumulator, 1>, %t: !nagpu.shared<17x28xf32, padded>,
                 %m: memref<1x20x2x5xbf16>, %c: index, %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.scatter' op 'scratch' has element type 'f32', expected 'bf16' (that of 'dest')}}
  nagpu.scatter %s via %t into %m[%c, %c] at(%c) ranges(%r, %r) window [5] query_box [16] key_box [16] dilation [1]
    : !nagpu.fragment<16x16xf32, accumulator, 1>, !nagpu.shared<17x28xf32, padded>, memref<1x20x2x5xbf16>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}

// -----

func.func @dest_rank(%s: !nagpu.fragment<16x16xf32, accumulator, 1>, %t: !nagpu.shared<17x28xf32, padded>,
                 %m: memref<1x20x5xf32>, %c: index, %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.scatter' op 'dest' has rank 3, expected 4, [B, X.., H, D]}}
  nagpu.scatter %s via %t into %m[%c, %c] at(%c) ranges(%r, %r) window [5] query_box [16] key_box [16] dilation [1]
    : !nagpu.fragment<16x16xf32, accumulator, 1>, !nagpu.shared<17x28xf32, padded>, memref<1x20x5xf32>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}

// -----

func.func @window(%s: !nagpu.fragment<16x16xf32, accumulator, 1>, %t: !nagpu.shared<17x28xf32, padded>,
                 %m: memref<1x20x2x5xf32>, %c: index, %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.scatter' op 'window'[0] = 0, expected at least 1}}
  nagpu.scatter %s via %t into %m[%c, %c] at(%c) ranges(%r, %r) window [0] query_box [16] key_box [16] dilation [1]
    : !nagpu.fragment<16x16xf32, accumulator, 1>, !nagpu.shared<17x28xf32, padded>, memref<1x20x2x5xf32>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}

// -----

func.func @key_box(%s: !nagpu.fragment<16x16xf32, accumulator, 1>, %t: !nagpu.shared<17x28xf32, padded>,
                 %m: memref<1x20x2x5xf32>, %c: index, %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.scatter' op 'key_box' has 2 entries, expected 1 (one per axis)}}
  nagpu.scatter %s via %t into %m[%c, %c] at(%c) ranges(%r, %r) window [5] query_box [16] key_box [4, 4] dilation [1]
    : !nagpu.fragment<16x16xf32, accumulator, 1>, !nagpu.shared<17x28xf32, padded>, memref<1x20x2x5xf32>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}

// -----

func.func @dilation(%s: !nagpu.fragment<16x16xf32, accumulator, 1>, %t: !nagpu.shared<17x28xf32, padded>,
                 %m: memref<1x20x2x5xf32>, %c: index, %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.scatter' op 'dilation'[0] = 0, expected at least 1}}
  nagpu.scatter %s via %t into %m[%c, %c] at(%c) ranges(%r, %r) window [5] query_box [16] key_box [16] dilation [0]
    : !nagpu.fragment<16x16xf32, accumulator, 1>, !nagpu.shared<17x28xf32, padded>, memref<1x20x2x5xf32>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}

// -----

func.func @overflow(%s: !nagpu.fragment<16x16xf32, accumulator, 1>, %t: !nagpu.shared<17x28xf32, padded>,
                 %m: memref<1x20x20x2x5xf32>, %c: index, %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.scatter' op 'window' or 'key_box' has more entries than 64 bits can count}}
  nagpu.scatter %s via %t into %m[%c, %c] at(%c, %c) ranges(%r, %r, %r, %r) window [4294967296, 4294967296] query_box [4, 4] key_box [4, 4] dilation [1, 1]
    : !nagpu.fragment<16x16xf32, accumulator, 1>, !nagpu.shared<17x28xf32, padded>, memref<1x20x20x2x5xf32>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}

// -----

func.func @range_role(%s: !nagpu.fragment<16x16xf32, accumulator, 1>, %t: !nagpu.shared<17x28xf32, padded>,
                 %m: memref<1x20x2x5xf32>, %c: index, %r: !nagpu.fragment<16xi32, column, 1>) {
  // expected-error @+1 {{'nagpu.scatter' op 'ranges[0]' has role column, expected row}}
  nagpu.scatter %s via %t into %m[%c, %c] at(%c) ranges(%r, %r) window [5] query_box [16] key_box [16] dilation [1]
    : !nagpu.fragment<16x16xf32, accumulator, 1>, !nagpu.shared<17x28xf32, padded>, memref<1x20x2x5xf32>, !nagpu.fragment<16xi32, column, 1>, !nagpu.fragment<16xi32, column, 1>
  return
}

// -----

func.func @gather_ring(%t: !nagpu.shared<2x16x40xbf16, padded>, %m: memref<1x20x2x5xbf16>, %c: index,
                 %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.gather' op 'dest' is '!nagpu.shared<2x16x40xbf16, padded>', a ring, expected one tile}}
  %0 = nagpu.gather %m[%c, %c] at(%c) ranges(%r, %r) into %t window [5] query_box [16] key_box [16] dilation [1] warps 1
    : memref<1x20x2x5xbf16>, !nagpu.shared<2x16x40xbf16, padded>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}

// -----

func.func @gather_panels(%t: !nagpu.shared<16x64xbf16, tma128>, %m: memref<1x20x2x5xbf16>, %c: index,
                 %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.gather' op 'dest' is '!nagpu.shared<16x64xbf16, tma128>', in panels of the TMA, expected linear, xor or padded}}
  %0 = nagpu.gather %m[%c, %c] at(%c) ranges(%r, %r) into %t window [5] query_box [16] key_box [40] dilation [1] warps 1
    : memref<1x20x2x5xbf16>, !nagpu.shared<16x64xbf16, tma128>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}

// -----

func.func @gather_slots(%t: !nagpu.shared<16x40xbf16, padded>, %m: memref<1x20x2x6xbf16>, %c: index,
                 %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.gather' op 'source' dimension 3 (slots) is 6, expected 5 (of 'window')}}
  %0 = nagpu.gather %m[%c, %c] at(%c) ranges(%r, %r) into %t window [5] query_box [16] key_box [16] dilation [1] warps 1
    : memref<1x20x2x6xbf16>, !nagpu.shared<16x40xbf16, padded>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}

// -----

func.func @gather_rows(%t: !nagpu.shared<16x40xbf16, padded>, %m: memref<1x20x2x5xbf16>, %c: index,
                 %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.gather' op 'box' has 15 tokens, expected 16 (dimension 0 of 'dest')}}
  %0 = nagpu.gather %m[%c, %c] at(%c) ranges(%r, %r) into %t window [5] query_box [15] key_box [16] dilation [1] warps 1
    : memref<1x20x2x5xbf16>, !nagpu.shared<16x40xbf16, padded>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}

// -----

func.func @gather_columns(%t: !nagpu.shared<16x32xbf16, padded>, %m: memref<1x20x2x5xbf16>, %c: index,
                 %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.gather' op 'dest' dimension 1 (keys and scratch) is 32, expected 40 as in 'key_box'}}
  %0 = nagpu.gather %m[%c, %c] at(%c) ranges(%r, %r) into %t window [5] query_box [16] key_box [16] dilation [1] warps 1
    : memref<1x20x2x5xbf16>, !nagpu.shared<16x32xbf16, padded>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}

// -----

func.func @gather_widens(%t: !nagpu.shared<16x28xf32, padded>, %m: memref<1x20x2x5xbf16>, %c: index,
                         %r: !nagpu.fragment<16xi32, row, 1>) {
  // expected-error @+1 {{'nagpu.gather' op 'dest' has element type 'f32', expected 'bf16' (that of 'source')}}
  %0 = nagpu.gather %m[%c, %c] at(%c) ranges(%r, %r) into %t window [5] query_box [16] key_box [16] dilation [1] warps 1
    : memref<1x20x2x5xbf16>, !nagpu.shared<16x28xf32, padded>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return
}
