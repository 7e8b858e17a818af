// RUN: na-opt %s -split-input-file -verify-diagnostics -nagpu-map-grid

func.func @queries(%tile: tensor<24xf32>, %o: memref<1x64x1xf32>) {
  // expected-error @below {{nagpu-map-grid: the tile of a CTA has 24 rows, expected a multiple of 16 (16 for each of 1 warps)}}
  scf.forall (%b) in (1) {
    na.tile.store %tile into %o[%b, %b] at(%b) box [24] dilation [1]
      : tensor<24xf32>, memref<1x64x1xf32>
  }
  return
}

// -----

func.func @queries_of_warps(%tile: tensor<32xf32>, %o: memref<1x64x1xf32>) {
  // expected-error @below {{nagpu-map-grid: the tile of a CTA has 32 rows, expected a multiple of 64 (16 for each of 4 warps)}}
  scf.forall (%b) in (1) {
    na.tile.store %tile into %o[%b, %b] at(%b) box [32] dilation [1]
      : tensor<32xf32>, memref<1x64x1xf32>
  } {na.schedule = #na.schedule<target = "sm_80", query_tile = [32], key_tile = [16], warps = 4>}
  return
}

// -----

func.func @stores_nothing(%q: memref<1x64x1x16xf32>) {
  // expected-error @below {{nagpu-map-grid: the tile of a CTA has 0 rows, expected a multiple of 16}}
  scf.forall (%b) in (1) {
    %init = tensor.empty() : tensor<16x16xf32>
    %tile = na.tile.load %q[%b, %b] at(%b) box [16] dilation [1] into %init
      : memref<1x64x1x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  }
  return
}

// -----

func.func @from_one(%tile: tensor<16xf32>, %o: memref<1x64x1xf32>) {
  // expected-error @below {{nagpu-map-grid: expected a loop from 0 in steps of 1}}
  scf.forall (%b) = (1) to (8) step (2) {
    na.tile.store %tile into %o[%b, %b] at(%b) box [16] dilation [1]
      : tensor<16xf32>, memref<1x64x1xf32>
  }
  return
}

// -----

func.func @result(%tile: tensor<16xf32>, %o: memref<1x64x1xf32>,
                  %t: tensor<16xf32>) -> tensor<16xf32> {
  // expected-error @below {{nagpu-map-grid: expected a loop without results, got 1}}
  %r = scf.forall (%b) in (1) shared_outs(%out = %t) -> (tensor<16xf32>) {
    na.tile.store %tile into %o[%b, %b] at(%b) box [16] dilation [1]
      : tensor<16xf32>, memref<1x64x1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %tile into %out[0] [16] [1]
        : tensor<16xf32> into tensor<16xf32>
    }
  }
  return %r : tensor<16xf32>
}

// -----

func.func @nested(%tile: tensor<16xf32>, %o: memref<8x64x8xf32>) {
  scf.forall (%b) in (8) {
    // expected-error @below {{nagpu-map-grid: expected a loop outside of kernels and their grids}}
    scf.forall (%h) in (8) {
      na.tile.store %tile into %o[%b, %h] at(%b) box [16] dilation [1]
        : tensor<16xf32>, memref<8x64x8xf32>
    }
  }
  return
}

// -----

func.func @queries_of_warpgroup(%tile: tensor<128xf32>, %o: memref<8x128x8xf32>) {
  scf.forall (%b) in (8) {
    // expected-error @below {{nagpu-map-grid: a warpgroup has 128 rows, expected 64}}
    scf.forall (%g) in (2) {
      na.tile.store %tile into %o[%b, %g] at(%b) box [128] dilation [1]
        : tensor<128xf32>, memref<8x128x8xf32>
    } {mapping = [#gpu.warpgroup<x>]}
  }
  return
}

// -----

func.func @many_warpgroups(%tile: tensor<64xf32>, %o: memref<8x64x8xf32>) {
  scf.forall (%b) in (8) {
    // expected-error @below {{nagpu-map-grid: expected a loop over 1 to 7 warpgroups, from 0 in steps of 1, without results}}
    scf.forall (%g) in (8) {
      na.tile.store %tile into %o[%b, %g] at(%b) box [64] dilation [1]
        : tensor<64xf32>, memref<8x64x8xf32>
    } {mapping = [#gpu.warpgroup<x>]}
  }
  return
}
