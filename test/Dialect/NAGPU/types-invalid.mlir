// RUN: na-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{unknown role 'diagonal'}}
func.func private @f(!nagpu.fragment<128x64xf32, diagonal, 4>)

// -----

// expected-error @+1 {{fragment: warps is 0, expected 1 to 32}}
func.func private @f(!nagpu.fragment<128x64xf32, accumulator, 0>)

// -----

// expected-error @+1 {{fragment: warps is 33, expected 1 to 32}}
func.func private @f(!nagpu.fragment<1056x64xf32, accumulator, 33>)

// -----

// expected-error @+1 {{fragment: a tile of role accumulator has 2 dimensions, got 1}}
func.func private @f(!nagpu.fragment<128xf32, accumulator, 4>)

// -----

// expected-error @+1 {{fragment: a tile of role lhs has 2 dimensions, got 3}}
func.func private @f(!nagpu.fragment<2x128x64xf16, lhs, 4>)

// -----

// expected-error @+1 {{fragment: a tile of role row has 1 dimensions, got 2}}
func.func private @f(!nagpu.fragment<128x64xf32, row, 4>)

// -----

// expected-error @+1 {{fragment: a tile of role partial_row has 1 dimensions, got 0}}
func.func private @f(!nagpu.fragment<f32, partial_row, 4>)

// -----

// expected-error @+1 {{fragment: a tile of role column has 1 dimensions, got 2}}
func.func private @f(!nagpu.fragment<128x64xf32, column, 4>)

// -----

// expected-error @+1 {{fragment: size 20 of dimension 0 is not a positive multiple of 8 (role column, 4 warps)}}
func.func private @f(!nagpu.fragment<20xf32, column, 4>)

// -----

// expected-error @+1 {{fragment: element type 'f64' has no fragment, expected f32, i32, f16, bf16 or i1}}
func.func private @f(!nagpu.fragment<128x64xf64, accumulator, 4>)

// -----

// expected-error @+1 {{fragment: element type 'i16' has no fragment, expected f32, i32, f16, bf16 or i1}}
func.func private @f(!nagpu.fragment<128x64xi16, lhs, 4>)

// -----

// expected-error @+1 {{fragment: element type 'index' has no fragment, expected f32, i32, f16, bf16 or i1}}
func.func private @f(!nagpu.fragment<128xindex, row, 4>)

// -----

// expected-error @+1 {{fragment: role accumulator holds 32-bit elements, got 'f16'}}
func.func private @f(!nagpu.fragment<128x64xf16, accumulator, 4>)

// -----

// expected-error @+1 {{fragment: role row holds 32-bit elements, got 'bf16'}}
func.func private @f(!nagpu.fragment<128xbf16, row, 4>)

// -----

// expected-error @+1 {{fragment: size 96 of dimension 0 is not a positive multiple of 64 (role accumulator, 4 warps)}}
func.func private @f(!nagpu.fragment<96x64xf32, accumulator, 4>)

// -----

// expected-error @+1 {{fragment: size 0 of dimension 0 is not a positive multiple of 64 (role accumulator, 4 warps)}}
func.func private @f(!nagpu.fragment<0x64xf32, accumulator, 4>)

// -----

// expected-error @+1 {{fragment: size 12 of dimension 1 is not a positive multiple of 8 (role accumulator, 4 warps)}}
func.func private @f(!nagpu.fragment<128x12xf32, accumulator, 4>)

// -----

// expected-error @+1 {{fragment: size 16 of dimension 0 is not a positive multiple of 32 (role lhs, 2 warps)}}
func.func private @f(!nagpu.fragment<16x64xbf16, lhs, 2>)

// -----

// expected-error @+1 {{fragment: size 24 of dimension 1 is not a positive multiple of 16 (role lhs, 4 warps)}}
func.func private @f(!nagpu.fragment<128x24xbf16, lhs, 4>)

// -----

// expected-error @+1 {{fragment: size 12 of dimension 1 is not a positive multiple of 8 (role lhs, 4 warps)}}
func.func private @f(!nagpu.fragment<128x12xf32, lhs, 4>)

// -----

// expected-error @+1 {{fragment: size 8 of dimension 0 is not a positive multiple of 16 (role rhs, 4 warps)}}
func.func private @f(!nagpu.fragment<8x64xf16, rhs, 4>)

// -----

// expected-error @+1 {{fragment: size 4 of dimension 0 is not a positive multiple of 8 (role rhs, 4 warps)}}
func.func private @f(!nagpu.fragment<4x64xf32, rhs, 4>)

// -----

// expected-error @+1 {{fragment: size 4 of dimension 1 is not a positive multiple of 8 (role rhs, 4 warps)}}
func.func private @f(!nagpu.fragment<16x4xf16, rhs, 4>)

// -----

// expected-error @+1 {{fragment: size 16 of dimension 0 is not a positive multiple of 32 (role row, 2 warps)}}
func.func private @f(!nagpu.fragment<16xf32, row, 2>)

// -----

// expected-error @+1 {{fragment: size 65600 of dimension 0 is more than 65536}}
func.func private @f(!nagpu.fragment<65600x64xf32, accumulator, 4>)

// -----

// expected-error @+1 {{fragment: size 65544 of dimension 1 is more than 65536}}
func.func private @f(!nagpu.fragment<16x65544xf32, rhs, 4>)

// -----

// expected-error @+1 {{unknown swizzle 'zigzag'}}
func.func private @f(!nagpu.shared<64x32xbf16, zigzag>)

// -----

// expected-error @+1 {{shared: expected 2 dimensions, or 3 for a ring, got 1}}
func.func private @f(!nagpu.shared<64xbf16, linear>)

// -----

// expected-error @+1 {{shared: expected 2 dimensions, or 3 for a ring, got 4}}
func.func private @f(!nagpu.shared<2x2x64x32xbf16, linear>)

// -----

// expected-error @+1 {{shared: size 0 of dimension 0, expected 1 to 65536}}
func.func private @f(!nagpu.shared<0x64x32xbf16, linear>)

// -----

// expected-error @+1 {{shared: size 0 of dimension 1, expected 1 to 65536}}
func.func private @f(!nagpu.shared<64x0xbf16, linear>)

// -----

// expected-error @+1 {{shared: size 9223372036854775807 of dimension 2, expected 1 to 65536}}
func.func private @f(!nagpu.shared<2x64x9223372036854775807xbf16, linear>)

// -----

// expected-error @+1 {{shared: element type 'i32', expected f32, f16 or bf16}}
func.func private @f(!nagpu.shared<64x32xi32, linear>)

// -----

// expected-error @+1 {{shared: a row has 24 bytes, expected a multiple of 16}}
func.func private @f(!nagpu.shared<64x12xbf16, linear>)

// -----

// expected-error @+1 {{shared: a row has 24 bytes, expected a multiple of 16}}
func.func private @f(!nagpu.shared<64x6xf32, padded>)

// -----

// expected-error @+1 {{shared: a row has 1 chunks of 16 bytes; 'xor' needs a power of two from 2 on}}
func.func private @f(!nagpu.shared<64x8xbf16, xor>)

// -----

// expected-error @+1 {{shared: a row has 6 chunks of 16 bytes; 'xor' needs a power of two from 2 on}}
func.func private @f(!nagpu.shared<64x48xbf16, xor>)
