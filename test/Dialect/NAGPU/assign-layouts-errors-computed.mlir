// RUN: na-opt %s -split-input-file -verify-diagnostics -nagpu-assign-layouts=tf32

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @elementwise_memref(%lse: memref<1x64x1xf32>, %r: tensor<16xf32>, %m: memref<16x16xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    // expected-error @below {{nagpu-assign-layouts: elementwise operation or reduction on memrefs in a kernel}}
    linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}
      outs(%m : memref<16x16xf32>) {
    ^bb0(%x: f32):
      %y = arith.negf %x : f32
      linalg.yield %y : f32
    }
    na.tile.store %r into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @elementwise_extracts(%lse: memref<1x64x1xf32>, %r: tensor<16xf32>, %e: tensor<16xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    // expected-error @below {{nagpu-assign-layouts: body reads a whole tile}}
    %p = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}
      outs(%s : tensor<16x16xf32>) {
    ^bb0(%x: f32):
      %i = linalg.index 1 : index
      %y = tensor.extract %e[%i] : tensor<16xf32>
      linalg.yield %y : f32
    } -> tensor<16x16xf32>
    na.tile.store %r into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @elementwise_loaded(%q: memref<1x64x1x16xbf16>, %e: tensor<16x16xbf16>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %t = na.tile.load %q[%b, %b] at(%b) box [16] dilation [1] into %e
      : memref<1x64x1x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xbf16>
    // expected-error @below {{nagpu-assign-layouts: operand 0 is no computed tile [rows, columns], and no computed or loaded [rows] or loaded [columns]}}
    %p = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%t : tensor<16x16xbf16>) outs(%s : tensor<16x16xf32>) {
    ^bb0(%x: bf16, %y: f32):
      %z = arith.extf %x : bf16 to f32
      linalg.yield %z : f32
    } -> tensor<16x16xf32>
    gpu.terminator
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
func.func @elementwise_columns(%lse: memref<1x64x1xf32>, %r: tensor<16xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %v0 = tensor.empty() : tensor<16xf32>
    %v = linalg.fill ins(%f0 : f32) outs(%v0 : tensor<16xf32>) -> tensor<16xf32>
    // expected-error @below {{nagpu-assign-layouts: operand 0 is no computed tile [rows, columns], and no computed or loaded [rows] or loaded [columns]}}
    %p = linalg.generic {indexing_maps = [#column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v : tensor<16xf32>) outs(%s : tensor<16x16xf32>) {
    ^bb0(%x: f32, %y: f32):
      linalg.yield %x : f32
    } -> tensor<16x16xf32>
    na.tile.store %r into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#t = affine_map<(d0, d1) -> (d1, d0)>
func.func @elementwise_transposes(%lse: memref<1x64x1xf32>, %r: tensor<16xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    // expected-error @below {{nagpu-assign-layouts: operand 1 is written in another order than the loops'}}
    %p = linalg.generic {indexing_maps = [#id, #t], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<16x16xf32>) outs(%s0 : tensor<16x16xf32>) {
    ^bb0(%x: f32, %y: f32):
      linalg.yield %x : f32
    } -> tensor<16x16xf32>
    na.tile.store %r into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @elementwise_16_bit(%lse: memref<1x64x1xf32>, %r: tensor<16xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %p0 = tensor.empty() : tensor<16x16xf16>
    // expected-error @below {{nagpu-assign-layouts: a 16-bit tile must be a rounded one}}
    %p = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<16x16xf32>) outs(%p0 : tensor<16x16xf16>) {
    ^bb0(%x: f32, %y: f16):
      %z = arith.negf %x : f32
      %w = arith.truncf %z : f32 to f16
      linalg.yield %w : f16
    } -> tensor<16x16xf16>
    na.tile.store %r into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @elementwise_16_bit_rows(%lse: memref<1x64x1xf32>, %r: tensor<16xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %v0 = tensor.empty() : tensor<16xf32>
    %v = linalg.fill ins(%f0 : f32) outs(%v0 : tensor<16xf32>) -> tensor<16xf32>
    %p0 = tensor.empty() : tensor<16x16xf16>
    // expected-error @below {{nagpu-assign-layouts: a 16-bit tile must be a rounded one}}
    %p = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v : tensor<16xf32>) outs(%p0 : tensor<16x16xf16>) {
    ^bb0(%x: f32, %y: f16):
      %w = arith.truncf %x : f32 to f16
      linalg.yield %w : f16
    } -> tensor<16x16xf16>
    na.tile.store %r into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
func.func @reduces_rows(%lse: memref<1x64x1xf32>, %r: tensor<16xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %v0 = tensor.empty() : tensor<16xf32>
    %v = linalg.fill ins(%f0 : f32) outs(%v0 : tensor<16xf32>) -> tensor<16xf32>
    // expected-error @below {{nagpu-assign-layouts: expected the sum or maximum of the columns of a computed tile}}
    %p = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%s : tensor<16x16xf32>) outs(%v : tensor<16xf32>) {
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %y : f32
      linalg.yield %z : f32
    } -> tensor<16xf32>
    na.tile.store %r into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @reduces_product(%lse: memref<1x64x1xf32>, %r: tensor<16xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %v0 = tensor.empty() : tensor<16xf32>
    %v = linalg.fill ins(%f0 : f32) outs(%v0 : tensor<16xf32>) -> tensor<16xf32>
    // expected-error @below {{nagpu-assign-layouts: expected the sum or maximum of the columns of a computed tile}}
    %p = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<16x16xf32>) outs(%v : tensor<16xf32>) {
    ^bb0(%x: f32, %y: f32):
      %z = arith.mulf %x, %y : f32
      linalg.yield %z : f32
    } -> tensor<16xf32>
    na.tile.store %r into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @reduces_two_sums(%lse: memref<1x64x1xf32>, %r: tensor<16xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %v0 = tensor.empty() : tensor<16xf32>
    %v = linalg.fill ins(%f0 : f32) outs(%v0 : tensor<16xf32>) -> tensor<16xf32>
    // expected-error @below {{nagpu-assign-layouts: expected the sum or maximum of the columns of a computed tile}}
    %p = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<16x16xf32>) outs(%v : tensor<16xf32>) {
    ^bb0(%x: f32, %y: f32):
      %w = arith.addf %x, %x : f32
      %z = arith.addf %w, %y : f32
      linalg.yield %z : f32
    } -> tensor<16xf32>
    na.tile.store %r into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @reduces_minimum(%lse: memref<1x64x1xf32>, %r: tensor<16xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %v0 = tensor.empty() : tensor<16xf32>
    %v = linalg.fill ins(%f0 : f32) outs(%v0 : tensor<16xf32>) -> tensor<16xf32>
    // expected-error @below {{nagpu-assign-layouts: expected the sum or maximum of the columns of a computed tile}}
    %p = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<16x16xf32>) outs(%v : tensor<16xf32>) {
    ^bb0(%x: f32, %y: f32):
      %w = arith.cmpf ogt, %x, %y : f32
      %z = arith.select %w, %y, %x : f32
      linalg.yield %z : f32
    } -> tensor<16xf32>
    na.tile.store %r into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @reduces_padded(%lse: memref<1x64x1xf32>, %r: tensor<16xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x24xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x24xf32>) -> tensor<16x24xf32>
    %v0 = tensor.empty() : tensor<16xf32>
    %v = linalg.fill ins(%f0 : f32) outs(%v0 : tensor<16xf32>) -> tensor<16xf32>
    // expected-error @below {{nagpu-assign-layouts: a reduction of 24 columns, expected a multiple of 16}}
    %p = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<16x24xf32>) outs(%v : tensor<16xf32>) {
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %y : f32
      linalg.yield %z : f32
    } -> tensor<16xf32>
    na.tile.store %r into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x64x1xf32>
    gpu.terminator
  }
  return
}

// -----

func.func @windows_memref(%m: memref<2x16xi32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    // expected-error @below {{nagpu-assign-layouts: windows on memrefs}}
    na.tile.windows <size = [5]> at(%b) sizes(%c32) box [16] into %m : memref<2x16xi32>
    gpu.terminator
  }
  return
}

// -----

func.func @windows_rows(%e: tensor<2x8xi32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    // expected-error @below {{nagpu-assign-layouts: no fragment for 'tensor<8xi32>': fragment: size 8 of dimension 0 is not a positive multiple of 16 (role row, 1 warps)}}
    %w = na.tile.windows <size = [5]> at(%b) sizes(%c32) box [8] into %e : tensor<2x8xi32> -> tensor<2x8xi32>
    gpu.terminator
  }
  return
}

// -----

func.func @mask_key_major() {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %r0 = tensor.empty() : tensor<2x16xi32>
    %w = na.tile.windows <size = [5]> at(%b) sizes(%c32) box [16] into %r0 : tensor<2x16xi32> -> tensor<2x16xi32>
    // expected-error @below {{nagpu-assign-layouts: expected scores [queries, keys] and ranges of na.tile.windows}}
    %m = na.tile.mask %s ranges(%w : tensor<2x16xi32>) at(%b) box [16] axes [0] key_major
      : tensor<16x16xf32> -> tensor<16x16xf32>
    gpu.terminator
  }
  return
}

// -----

func.func @mask_ranges(%w: tensor<2x16xi32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    // expected-error @below {{nagpu-assign-layouts: expected scores [queries, keys] and ranges of na.tile.windows}}
    %m = na.tile.mask %s ranges(%w : tensor<2x16xi32>) at(%b) box [16] axes [0]
      : tensor<16x16xf32> -> tensor<16x16xf32>
    gpu.terminator
  }
  return
}

// -----

func.func @bias_not_computed(%t: memref<1x9xf32>, %s: tensor<16x16xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    // expected-error @below {{nagpu-assign-layouts: expected computed scores}}
    %m = na.tile.bias %s table(%t[%b] : memref<1x9xf32>) <size = [5]> query_at(%b) key_at(%b)
      query_box [16] key_box [16] : tensor<16x16xf32> -> tensor<16x16xf32>
    gpu.terminator
  }
  return
}

// -----

func.func @scatter_key_major(%d: memref<1x64x1x5xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %r0 = tensor.empty() : tensor<2x16xi32>
    %w = na.tile.windows <size = [5]> at(%b) sizes(%c32) box [16] into %r0 : tensor<2x16xi32> -> tensor<2x16xi32>
    // expected-error @below {{nagpu-assign-layouts: expected scores [queries, keys] and ranges of na.tile.windows}}
    na.tile.scatter %s ranges(%w : tensor<2x16xi32>) key_at(%b) into %d[%b, %b] at(%b) <size = [5]>
      query_box [16] key_box [16] key_major : tensor<16x16xf32>, memref<1x64x1x5xf32>
    gpu.terminator
  }
  return
}

// -----

func.func @gather_key_major(%d: memref<1x64x1x5xf32>, %e: tensor<16x16xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %r0 = tensor.empty() : tensor<2x16xi32>
    %w = na.tile.windows <size = [5]> at(%b) sizes(%c32) box [16] into %r0 : tensor<2x16xi32> -> tensor<2x16xi32>
    // expected-error @below {{nagpu-assign-layouts: expected weights [queries, keys] and ranges of na.tile.windows}}
    %p = na.tile.gather %d[%b, %b] at(%b) ranges(%w : tensor<2x16xi32>) key_at(%b) <size = [5]>
      query_box [16] key_box [16] key_major into %e : memref<1x64x1x5xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    gpu.terminator
  }
  return
}

// -----

func.func @gather_keys(%d: memref<1x64x1x5xf32>, %e: tensor<16x24xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %r0 = tensor.empty() : tensor<2x16xi32>
    %w = na.tile.windows <size = [5]> at(%b) sizes(%c32) box [16] into %r0 : tensor<2x16xi32> -> tensor<2x16xi32>
    // expected-error @below {{nagpu-assign-layouts: weights of 24 keys, expected a multiple of 16}}
    %p = na.tile.gather %d[%b, %b] at(%b) ranges(%w : tensor<2x16xi32>) key_at(%b) <size = [5]>
      query_box [16] key_box [24] into %e : memref<1x64x1x5xf32>, tensor<16x24xf32> -> tensor<16x24xf32>
    gpu.terminator
  }
  return
}
