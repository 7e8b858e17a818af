// RUN: na-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{shared: a row has 64 bytes, expected a multiple of 128, the panel of 'tma128'}}
func.func private @f(!nagpu.shared<64x16xf32, tma128>)

// -----

// expected-error @+1 {{shared: a row has 192 bytes, expected a multiple of 128, the panel of 'tma128'}}
func.func private @f(!nagpu.shared<64x96xbf16, tma128>)

// -----

// expected-error @+1 {{shared: a row has 32 bytes, expected a multiple of 64, the panel of 'tma64'}}
func.func private @f(!nagpu.shared<64x16xbf16, tma64>)

// -----

// expected-error @+1 {{shared: a tile has 12 rows, expected a multiple of 8 ('tma32')}}
func.func private @f(!nagpu.shared<2x12x16xbf16, tma32>)

// -----

// expected-error @+1 {{tensor_map: the box has 1 dimensions, expected 2 to 5}}
func.func private @f(!nagpu.tensor_map<64xbf16, tma128>)

// -----

// expected-error @+1 {{tensor_map: the box has 6 dimensions, expected 2 to 5}}
func.func private @f(!nagpu.tensor_map<1x1x1x1x8x64xbf16, tma128>)

// -----

// expected-error @+1 {{tensor_map: size 257 of dimension 0, expected 1 to 256}}
func.func private @f(!nagpu.tensor_map<257x64xbf16, tma128>)

// -----

// expected-error @+1 {{tensor_map: element type 'i32', expected f32, f16 or bf16}}
func.func private @f(!nagpu.tensor_map<8x32xi32, tma128>)

// -----

// expected-error @+1 {{tensor_map: swizzle 'xor', expected tma128, tma64 or tma32}}
func.func private @f(!nagpu.tensor_map<8x64xbf16, xor>)

// -----

// expected-error @+1 {{tensor_map: the innermost dimension has 64 bytes, expected 128, the panel of 'tma128'}}
func.func private @f(!nagpu.tensor_map<8x32xbf16, tma128>)

// -----

// expected-error @+1 {{unknown swizzle 'b128'}}
func.func private @f(!nagpu.tensor_map<8x64xbf16, b128>)

// -----

// expected-error @+1 {{barrier: 0 slots, expected 1 to 256}}
func.func private @f(!nagpu.barrier<0>)

// -----

// expected-error @+1 {{mailbox: expected slots, readers and words, got 2 sizes}}
func.func private @f(!nagpu.mailbox<2x4>)

// -----

// expected-error @+1 {{mailbox: 257 slots, expected 1 to 256}}
func.func private @f(!nagpu.mailbox<257x2x4>)

// -----

// expected-error @+1 {{mailbox: 8 readers, expected 1 to 7}}
func.func private @f(!nagpu.mailbox<2x8x4>)

// -----

// expected-error @+1 {{mailbox: 9 words, expected 1 to 8}}
func.func private @f(!nagpu.mailbox<2x2x9>)
