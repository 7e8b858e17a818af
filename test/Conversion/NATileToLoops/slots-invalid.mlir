// RUN: na-opt %s -convert-na-tile-to-loops -split-input-file -verify-diagnostics

func.func @scatter(%t: tensor<24x16xf32>, %r: tensor<2x16xi32>, %i: index,
                   %d: memref<2x56x2x7xf32>) {
  // expected-error @below {{'na.tile.scatter' op is on tensors; bufferize before convert-na-tile-to-loops}}
  na.tile.scatter %t ranges(%r : tensor<2x16xi32>) key_at(%i)
    into %d[%i, %i] at(%i) <size = [7]> query_box [16] key_box [24] key_major
    : tensor<24x16xf32>, memref<2x56x2x7xf32>
  return
}

// -----

func.func @bias(%t: tensor<20x16xf32>, %table: memref<4x7xf32>, %i: index)
    -> tensor<20x16xf32> {
  // expected-error @below {{'na.tile.bias' op is on tensors; bufferize before convert-na-tile-to-loops}}
  %0 = na.tile.bias %t table(%table[%i] : memref<4x7xf32>) <size = [4]>
    query_at(%i) key_at(%i) query_box [20] key_box [16]
    : tensor<20x16xf32> -> tensor<20x16xf32>
  return %0 : tensor<20x16xf32>
}
