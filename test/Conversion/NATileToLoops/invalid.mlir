// RUN: na-opt %s -convert-na-tile-to-loops -split-input-file -verify-diagnostics

func.func @load(%q: memref<1x9x2x8xf32>, %t: tensor<6x8xf32>, %b: index)
    -> tensor<6x8xf32> {
  // expected-error @+1 {{'na.tile.load' op is on tensors; bufferize before convert-na-tile-to-loops}}
  %r = na.tile.load %q[%b, %b] at(%b) box [6] dilation [1] into %t
    : memref<1x9x2x8xf32>, tensor<6x8xf32> -> tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}

// -----

func.func @store(%q: memref<1x9x2x8xf32>, %t: tensor<6x8xf32>, %b: index) {
  // expected-error @+1 {{'na.tile.store' op is on tensors; bufferize before convert-na-tile-to-loops}}
  na.tile.store %t into %q[%b, %b] at(%b) box [6] dilation [1]
    : tensor<6x8xf32>, memref<1x9x2x8xf32>
  return
}

// -----

func.func @windows(%t: tensor<2x6xi32>, %at: index) -> tensor<2x6xi32> {
  // expected-error @+1 {{'na.tile.windows' op is on tensors; bufferize before convert-na-tile-to-loops}}
  %r = na.tile.windows <size = [5]> at(%at) sizes(%at) box [6] into %t
    : tensor<2x6xi32> -> tensor<2x6xi32>
  return %r : tensor<2x6xi32>
}
