// RUN: na-opt %s -split-input-file -verify-diagnostics -nagpu-assign-layouts

func.func @f32(%q: memref<1x64x1x32xf32>) {
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    scf.forall (%g) in (1) {
      %empty = tensor.empty() : tensor<64x32xf32>
      // expected-error @below {{nagpu-assign-layouts: a tile of 'f32' for a warpgroup, expected 'f16' or 'bf16'}}
      %tile = na.tile.load %q[%b, %b] at(%g) box [64] dilation [1] into %empty
        : memref<1x64x1x32xf32>, tensor<64x32xf32> -> tensor<64x32xf32>
    } {mapping = [#gpu.warpgroup<x>]}
    gpu.terminator
  }
  return
}

// -----

func.func @channels(%q: memref<1x64x1x24xf16>) {
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    scf.forall (%g) in (1) {
      %empty = tensor.empty() : tensor<64x24xf16>
      // expected-error @below {{nagpu-assign-layouts: a tile of 24 channels for a warpgroup, expected a multiple of 16}}
      %tile = na.tile.load %q[%b, %b] at(%g) box [64] dilation [1] into %empty
        : memref<1x64x1x24xf16>, tensor<64x24xf16> -> tensor<64x24xf16>
    } {mapping = [#gpu.warpgroup<x>]}
    gpu.terminator
  }
  return
}

// -----

func.func @outside(%q: memref<1x64x1x32xf16>) {
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    %empty = tensor.empty() : tensor<64x32xf16>
    // expected-error @below {{nagpu-assign-layouts: a tile outside of the loop over the warpgroups}}
    %tile = na.tile.load %q[%b, %b] at(%b) box [64] dilation [1] into %empty
      : memref<1x64x1x32xf16>, tensor<64x32xf16> -> tensor<64x32xf16>
    scf.forall (%g) in (1) {
    } {mapping = [#gpu.warpgroup<x>]}
    gpu.terminator
  }
  return
}

// -----

#mk = affine_map<(d0, d1, d2) -> (d0, d2)>
#nk = affine_map<(d0, d1, d2) -> (d1, d2)>
#mn = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @keys(%q: memref<1x1024x1x32xf16>) {
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    scf.forall (%g) in (1) {
      %f0 = arith.constant 0.0 : f32
      %q0 = tensor.empty() : tensor<64x32xf16>
      %qt = na.tile.load %q[%b, %b] at(%g) box [64] dilation [1] into %q0
        : memref<1x1024x1x32xf16>, tensor<64x32xf16> -> tensor<64x32xf16>
      %k0 = tensor.empty() : tensor<272x32xf16>
      %kt = na.tile.load %q[%b, %b] at(%g) box [272] dilation [1] into %k0
        : memref<1x1024x1x32xf16>, tensor<272x32xf16> -> tensor<272x32xf16>
      %s0 = tensor.empty() : tensor<64x272xf32>
      %s1 = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<64x272xf32>) -> tensor<64x272xf32>
      // expected-error @below {{nagpu-assign-layouts: a product of 272 columns in a warpgroup, expected at most 256}}
      %s = linalg.contract indexing_maps = [#mk, #nk, #mn]
        ins(%qt, %kt : tensor<64x32xf16>, tensor<272x32xf16>) outs(%s1 : tensor<64x272xf32>) -> tensor<64x272xf32>
    } {mapping = [#gpu.warpgroup<x>]}
    gpu.terminator
  }
  return
}

// -----

#mk = affine_map<(d0, d1, d2) -> (d0, d2)>
#nk = affine_map<(d0, d1, d2) -> (d1, d2)>
#mn = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @queries(%q: memref<1x1024x1x32xf16>) {
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    scf.forall (%g) in (1) {
      %f0 = arith.constant 0.0 : f32
      %q0 = tensor.empty() : tensor<128x32xf16>
      %qt = na.tile.load %q[%b, %b] at(%g) box [128] dilation [1] into %q0
        : memref<1x1024x1x32xf16>, tensor<128x32xf16> -> tensor<128x32xf16>
      %s0 = tensor.empty() : tensor<128x128xf32>
      %s1 = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<128x128xf32>) -> tensor<128x128xf32>
      // expected-error @below {{nagpu-assign-layouts: a product of 128 queries in a warpgroup, expected 64}}
      %s = linalg.contract indexing_maps = [#mk, #nk, #mn]
        ins(%qt, %qt : tensor<128x32xf16>, tensor<128x32xf16>) outs(%s1 : tensor<128x128xf32>) -> tensor<128x128xf32>
    } {mapping = [#gpu.warpgroup<x>]}
    gpu.terminator
  }
  return
}

// -----

func.func @no_warpgroups(%o: memref<1x64x1xf32>, %x: f32) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    // expected-error @below {{nagpu-assign-layouts: no layout for this operation}}
    scf.forall (%g) in (2) {
      %empty = tensor.empty() : tensor<16xf32>
      %row = linalg.fill ins(%x : f32) outs(%empty : tensor<16xf32>) -> tensor<16xf32>
      na.tile.store %row into %o[%b, %b] at(%g) box [16] dilation [1]
        : tensor<16xf32>, memref<1x64x1xf32>
    }
    gpu.terminator
  }
  return
}

// -----

func.func @two_loops(%o: memref<1x64x1xf32>, %x: f32) {
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    scf.forall (%g) in (1) {
      %empty = tensor.empty() : tensor<64xf32>
      %row = linalg.fill ins(%x : f32) outs(%empty : tensor<64xf32>) -> tensor<64xf32>
      na.tile.store %row into %o[%b, %b] at(%g) box [64] dilation [1]
        : tensor<64xf32>, memref<1x64x1xf32>
    } {mapping = [#gpu.warpgroup<x>]}
    // expected-error @below {{nagpu-assign-layouts: a second loop over warpgroups in one kernel}}
    scf.forall (%g) in (1) {
    } {mapping = [#gpu.warpgroup<x>]}
    gpu.terminator
  }
  return
}
