// RUN: na-opt %s --split-input-file --verify-diagnostics

func.func @mask_no_result(%t: tensor<64x16xf32>, %g: tensor<4x16xi32>,
                          %i: index) {
  // expected-error @+1 {{'na.tile.mask' op has 0 results, expected 1 for a tile of type 'tensor<64x16xf32>'}}
  na.tile.mask %t ranges(%g : tensor<4x16xi32>) at(%i, %i)
      box [8, 8] axes [0, 1] key_major : tensor<64x16xf32>
  return
}

// -----

func.func @mask_no_axis(%t: tensor<64x16xf32>, %g: tensor<4x16xi32>,
                        %i: index) {
  // expected-error @+1 {{'na.tile.mask' op 'at' has 0 entries, expected 1 to 3 (one per axis)}}
  %0 = na.tile.mask %t ranges(%g : tensor<4x16xi32>) at()
      box [] axes [] key_major : tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @mask_box(%t: tensor<64x16xf32>, %g: tensor<4x16xi32>, %i: index) {
  // expected-error @+1 {{'na.tile.mask' op 'box' has 3 entries, expected 2 (one per axis)}}
  %0 = na.tile.mask %t ranges(%g : tensor<4x16xi32>) at(%i, %i)
      box [8, 8, 1] axes [0, 1] key_major : tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @mask_mixed(%t: tensor<64x16xf32>, %g: memref<4x16xi32>, %i: index) {
  // expected-error @+1 {{'na.tile.mask' op 'ranges' is 'memref<4x16xi32>' and 'init' is 'tensor<64x16xf32>', expected two tensors or two memrefs}}
  %0 = na.tile.mask %t ranges(%g : memref<4x16xi32>) at(%i, %i)
      box [8, 8] axes [0, 1] key_major : tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @mask_ranges_rank(%t: tensor<64x16xf32>, %g: tensor<16xi32>,
                            %i: index) {
  // expected-error @+1 {{'na.tile.mask' op 'ranges' is 'tensor<16xi32>', expected [2 * axes, queries] of i32}}
  %0 = na.tile.mask %t ranges(%g : tensor<16xi32>) at(%i, %i)
      box [8, 8] axes [0, 1] key_major : tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @mask_ranges_element(%t: tensor<64x16xf32>, %g: tensor<4x16xf32>,
                               %i: index) {
  // expected-error @+1 {{'na.tile.mask' op 'ranges' is 'tensor<4x16xf32>', expected [2 * axes, queries] of i32}}
  %0 = na.tile.mask %t ranges(%g : tensor<4x16xf32>) at(%i, %i)
      box [8, 8] axes [0, 1] key_major : tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @mask_ranges_dynamic(%t: tensor<64x16xf32>, %g: tensor<4x?xi32>,
                               %i: index) {
  // expected-error @+1 {{'na.tile.mask' op 'ranges' is 'tensor<4x?xi32>', expected [2 * axes, queries] of i32}}
  %0 = na.tile.mask %t ranges(%g : tensor<4x?xi32>) at(%i, %i)
      box [8, 8] axes [0, 1] key_major : tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @mask_ranges_shape(%t: tensor<64x16xf32>, %g: tensor<2x16xi32>,
                             %i: index) {
  // expected-error @+1 {{'na.tile.mask' op 'ranges' is 'tensor<2x16xi32>', expected shape [4, 16]}}
  %0 = na.tile.mask %t ranges(%g : tensor<2x16xi32>) at(%i, %i)
      box [8, 8] axes [0, 1] key_major : tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @mask_element(%t: tensor<64x16xf8E4M3FN>, %g: tensor<4x16xi32>,
                        %i: index) {
  // expected-error @+1 {{'na.tile.mask' op 'init' is 'tensor<64x16xf8E4M3FN>', expected elements of f64, f32, f16 or bf16}}
  %0 = na.tile.mask %t ranges(%g : tensor<4x16xi32>) at(%i, %i)
      box [8, 8] axes [0, 1] key_major : tensor<64x16xf8E4M3FN> -> tensor<64x16xf8E4M3FN>
  return
}

// -----

func.func @mask_shape(%t: tensor<64x16xf32>, %g: tensor<4x16xi32>, %i: index) {
  // expected-error @+1 {{'na.tile.mask' op 'init' is 'tensor<64x16xf32>', expected shape [16, 64]}}
  %0 = na.tile.mask %t ranges(%g : tensor<4x16xi32>) at(%i, %i)
      box [8, 8] axes [0, 1] : tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @mask_axis(%t: tensor<64x16xf32>, %g: tensor<4x16xi32>, %i: index) {
  // expected-error @+1 {{'na.tile.mask' op 'axes' holds 2, expected 0 to 1}}
  %0 = na.tile.mask %t ranges(%g : tensor<4x16xi32>) at(%i, %i)
      box [8, 8] axes [0, 2] key_major : tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @mask_negative_axis(%t: tensor<64x16xf32>, %g: tensor<4x16xi32>,
                              %i: index) {
  // expected-error @+1 {{'na.tile.mask' op 'axes' holds -1, expected 0 to 1}}
  %0 = na.tile.mask %t ranges(%g : tensor<4x16xi32>) at(%i, %i)
      box [8, 8] axes [-1] key_major : tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @bias_rank(%t: tensor<64x16xf32>, %b: memref<2x5xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.bias' op 'table' has rank 2, expected 3, [Hq, 2 * size - 1 per axis]}}
  %0 = na.tile.bias %t table(%b[%i] : memref<2x5xf32>) <size = [3, 3]>
      query_at(%i, %i) key_at(%i, %i) query_box [4, 4]
      key_box [8, 8] key_major : tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @bias_no_result(%t: tensor<64x16xf32>, %b: memref<2x5x5xf32>,
                          %i: index) {
  // expected-error @+1 {{'na.tile.bias' op has 0 results, expected 1 for a tile of type 'tensor<64x16xf32>'}}
  na.tile.bias %t table(%b[%i] : memref<2x5x5xf32>) <size = [3, 3]>
      query_at(%i, %i) key_at(%i, %i) query_box [4, 4]
      key_box [8, 8] key_major : tensor<64x16xf32>
  return
}

// -----

func.func @bias_table(%t: tensor<64x16xf32>, %b: memref<2x5x5xf32>,
                      %i: index) {
  // expected-error @+1 {{'na.tile.bias' op 'table' dimension 2 (axis 1) is 5, expected 2 * window[1] - 1 = 7}}
  %0 = na.tile.bias %t table(%b[%i] : memref<2x5x5xf32>) <size = [3, 4]>
      query_at(%i, %i) key_at(%i, %i) query_box [4, 4]
      key_box [8, 8] key_major : tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @bias_overflow(%t: tensor<64x16xf32>, %b: memref<2x?x?xf32>,
                         %i: index) {
  // expected-error @+1 {{'na.tile.bias' op window[1] = 9223372036854775807 is too large for 'table': 2 * window[1] - 1 exceeds 64 bits}}
  %0 = na.tile.bias %t table(%b[%i] : memref<2x?x?xf32>) <size = [3, 9223372036854775807]>
      query_at(%i, %i) key_at(%i, %i) query_box [4, 4]
      key_box [8, 8] key_major : tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @bias_query_at(%t: tensor<64x16xf32>, %b: memref<2x5x5xf32>,
                         %i: index) {
  // expected-error @+1 {{'na.tile.bias' op 'query_at' has 1 entries, expected 2 (one per axis)}}
  %0 = na.tile.bias %t table(%b[%i] : memref<2x5x5xf32>) <size = [3, 3]>
      query_at(%i) key_at(%i, %i) query_box [4, 4]
      key_box [8, 8] key_major : tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @bias_key_at(%t: tensor<64x16xf32>, %b: memref<2x5x5xf32>,
                       %i: index) {
  // expected-error @+1 {{'na.tile.bias' op 'key_at' has 3 entries, expected 2 (one per axis)}}
  %0 = na.tile.bias %t table(%b[%i] : memref<2x5x5xf32>) <size = [3, 3]>
      query_at(%i, %i) key_at(%i, %i, %i) query_box [4, 4]
      key_box [8, 8] key_major : tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @bias_query_box(%t: tensor<64x16xf32>, %b: memref<2x5x5xf32>,
                          %i: index) {
  // expected-error @+1 {{'na.tile.bias' op 'query_box' has 1 entries, expected 2 (one per axis)}}
  %0 = na.tile.bias %t table(%b[%i] : memref<2x5x5xf32>) <size = [3, 3]>
      query_at(%i, %i) key_at(%i, %i) query_box [16]
      key_box [8, 8] key_major : tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @bias_key_box(%t: tensor<64x16xf32>, %b: memref<2x5x5xf32>,
                        %i: index) {
  // expected-error @+1 {{'na.tile.bias' op 'key_box'[0] = 0, expected at least 1}}
  %0 = na.tile.bias %t table(%b[%i] : memref<2x5x5xf32>) <size = [3, 3]>
      query_at(%i, %i) key_at(%i, %i) query_box [4, 4]
      key_box [0, 8] key_major : tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @bias_element(%t: tensor<64x16xf32>, %b: memref<2x5x5xf64>,
                        %i: index) {
  // expected-error @+1 {{'na.tile.bias' op cannot extend 'f64' to 'f32'}}
  %0 = na.tile.bias %t table(%b[%i] : memref<2x5x5xf64>) <size = [3, 3]>
      query_at(%i, %i) key_at(%i, %i) query_box [4, 4]
      key_box [8, 8] key_major : tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @bias_shape(%t: tensor<64x16xf32>, %b: memref<2x5x5xf32>,
                      %i: index) {
  // expected-error @+1 {{'na.tile.bias' op 'init' is 'tensor<64x16xf32>', expected shape [16, 64]}}
  %0 = na.tile.bias %t table(%b[%i] : memref<2x5x5xf32>) <size = [3, 3]>
      query_at(%i, %i) key_at(%i, %i) query_box [4, 4]
      key_box [8, 8] : tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @scatter_rank(%t: tensor<64x16xf32>, %g: tensor<4x16xi32>,
                        %d: memref<1x8x2x9xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.scatter' op 'dest' has rank 4, expected 5, [B, X.., H, prod(size)]}}
  na.tile.scatter %t ranges(%g : tensor<4x16xi32>) key_at(%i, %i)
      into %d[%i, %i] at(%i, %i) <size = [3, 3]> query_box [4, 4]
      key_box [8, 8] key_major : tensor<64x16xf32>, memref<1x8x2x9xf32>
  return
}

// -----

func.func @scatter_slots(%t: tensor<64x16xf32>, %g: tensor<4x16xi32>,
                         %d: memref<1x8x8x2x9xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.scatter' op 'dest' dimension 4 (slots) is 9, expected the product of the window sizes, 12}}
  na.tile.scatter %t ranges(%g : tensor<4x16xi32>) key_at(%i, %i)
      into %d[%i, %i] at(%i, %i) <size = [3, 4]> query_box [4, 4]
      key_box [8, 8] key_major : tensor<64x16xf32>, memref<1x8x8x2x9xf32>
  return
}

// -----

func.func @scatter_slots_overflow(%t: tensor<64x16xf32>, %g: tensor<4x16xi32>,
                                  %d: memref<1x8x8x2x?xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.scatter' op the product of the window sizes is too large for 'dest': it exceeds 64 bits}}
  na.tile.scatter %t ranges(%g : tensor<4x16xi32>) key_at(%i, %i)
      into %d[%i, %i] at(%i, %i) <size = [9223372036854775807, 3]> query_box [4, 4]
      key_box [8, 8] key_major : tensor<64x16xf32>, memref<1x8x8x2x?xf32>
  return
}

// -----

func.func @scatter_at(%t: tensor<64x16xf32>, %g: tensor<4x16xi32>,
                      %d: memref<1x8x8x2x9xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.scatter' op 'at' has 1 entries, expected 2 (one per axis)}}
  na.tile.scatter %t ranges(%g : tensor<4x16xi32>) key_at(%i, %i)
      into %d[%i, %i] at(%i) <size = [3, 3]> query_box [4, 4]
      key_box [8, 8] key_major : tensor<64x16xf32>, memref<1x8x8x2x9xf32>
  return
}

// -----

func.func @scatter_key_at(%t: tensor<64x16xf32>, %g: tensor<4x16xi32>,
                          %d: memref<1x8x8x2x9xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.scatter' op 'key_at' has 1 entries, expected 2 (one per axis)}}
  na.tile.scatter %t ranges(%g : tensor<4x16xi32>) key_at(%i)
      into %d[%i, %i] at(%i, %i) <size = [3, 3]> query_box [4, 4]
      key_box [8, 8] key_major : tensor<64x16xf32>, memref<1x8x8x2x9xf32>
  return
}

// -----

func.func @scatter_query_box(%t: tensor<64x16xf32>, %g: tensor<4x16xi32>,
                             %d: memref<1x8x8x2x9xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.scatter' op 'query_box' has 1 entries, expected 2 (one per axis)}}
  na.tile.scatter %t ranges(%g : tensor<4x16xi32>) key_at(%i, %i)
      into %d[%i, %i] at(%i, %i) <size = [3, 3]> query_box [16]
      key_box [8, 8] key_major : tensor<64x16xf32>, memref<1x8x8x2x9xf32>
  return
}

// -----

func.func @scatter_key_box(%t: tensor<64x16xf32>, %g: tensor<4x16xi32>,
                           %d: memref<1x8x8x2x9xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.scatter' op 'key_box' has 1 entries, expected 2 (one per axis)}}
  na.tile.scatter %t ranges(%g : tensor<4x16xi32>) key_at(%i, %i)
      into %d[%i, %i] at(%i, %i) <size = [3, 3]> query_box [4, 4]
      key_box [64] key_major : tensor<64x16xf32>, memref<1x8x8x2x9xf32>
  return
}

// -----

func.func @scatter_ranges_shape(%t: tensor<64x16xf32>, %g: tensor<4x32xi32>,
                                %d: memref<1x8x8x2x9xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.scatter' op 'ranges' is 'tensor<4x32xi32>', expected shape [4, 16]}}
  na.tile.scatter %t ranges(%g : tensor<4x32xi32>) key_at(%i, %i)
      into %d[%i, %i] at(%i, %i) <size = [3, 3]> query_box [4, 4]
      key_box [8, 8] key_major : tensor<64x16xf32>, memref<1x8x8x2x9xf32>
  return
}

// -----

func.func @scatter_element(%t: tensor<64x16xf32>, %g: tensor<4x16xi32>,
                           %d: memref<1x8x8x2x9xf64>, %i: index) {
  // expected-error @+1 {{'na.tile.scatter' op cannot truncate 'f32' to 'f64'}}
  na.tile.scatter %t ranges(%g : tensor<4x16xi32>) key_at(%i, %i)
      into %d[%i, %i] at(%i, %i) <size = [3, 3]> query_box [4, 4]
      key_box [8, 8] key_major : tensor<64x16xf32>, memref<1x8x8x2x9xf64>
  return
}

// -----

func.func @scatter_tile_element(%t: tensor<64x16xi32>, %g: tensor<4x16xi32>,
                                %d: memref<1x8x8x2x9xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.scatter' op 'tile' is 'tensor<64x16xi32>', expected elements of f64, f32, f16 or bf16}}
  na.tile.scatter %t ranges(%g : tensor<4x16xi32>) key_at(%i, %i)
      into %d[%i, %i] at(%i, %i) <size = [3, 3]> query_box [4, 4]
      key_box [8, 8] key_major : tensor<64x16xi32>, memref<1x8x8x2x9xf32>
  return
}

// -----

func.func @scatter_shape(%t: tensor<64x16xf32>, %g: tensor<4x16xi32>,
                         %d: memref<1x8x8x2x9xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.scatter' op 'tile' is 'tensor<64x16xf32>', expected shape [16, 64]}}
  na.tile.scatter %t ranges(%g : tensor<4x16xi32>) key_at(%i, %i)
      into %d[%i, %i] at(%i, %i) <size = [3, 3]> query_box [4, 4]
      key_box [8, 8] : tensor<64x16xf32>, memref<1x8x8x2x9xf32>
  return
}

// -----

func.func @gather_no_result(%s: memref<1x8x8x2x9xf32>, %g: tensor<4x16xi32>,
                            %t: tensor<64x16xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.gather' op has 0 results, expected 1 for a tile of type 'tensor<64x16xf32>'}}
  na.tile.gather %s[%i, %i] at(%i, %i) ranges(%g : tensor<4x16xi32>)
      key_at(%i, %i) <size = [3, 3]> query_box [4, 4] key_box [8, 8]
      key_major into %t : memref<1x8x8x2x9xf32>, tensor<64x16xf32>
  return
}

// -----

func.func @gather_rank(%s: memref<1x8x2x9xf32>, %g: tensor<4x16xi32>,
                       %t: tensor<64x16xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.gather' op 'source' has rank 4, expected 5, [B, X.., H, prod(size)]}}
  %0 = na.tile.gather %s[%i, %i] at(%i, %i) ranges(%g : tensor<4x16xi32>)
      key_at(%i, %i) <size = [3, 3]> query_box [4, 4] key_box [8, 8]
      key_major into %t : memref<1x8x2x9xf32>, tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @gather_slots(%s: memref<1x8x8x2x9xf32>, %g: tensor<4x16xi32>,
                        %t: tensor<64x16xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.gather' op 'source' dimension 4 (slots) is 9, expected the product of the window sizes, 12}}
  %0 = na.tile.gather %s[%i, %i] at(%i, %i) ranges(%g : tensor<4x16xi32>)
      key_at(%i, %i) <size = [3, 4]> query_box [4, 4] key_box [8, 8]
      key_major into %t : memref<1x8x8x2x9xf32>, tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @gather_ranges(%s: memref<1x8x8x2x9xf32>, %g: memref<4x16xi32>,
                         %t: tensor<64x16xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.gather' op 'ranges' is 'memref<4x16xi32>' and 'init' is 'tensor<64x16xf32>', expected two tensors or two memrefs}}
  %0 = na.tile.gather %s[%i, %i] at(%i, %i) ranges(%g : memref<4x16xi32>)
      key_at(%i, %i) <size = [3, 3]> query_box [4, 4] key_box [8, 8]
      key_major into %t : memref<1x8x8x2x9xf32>, tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @gather_element(%s: memref<1x8x8x2x9xf64>, %g: tensor<4x16xi32>,
                          %t: tensor<64x16xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.gather' op cannot extend 'f64' to 'f32'}}
  %0 = na.tile.gather %s[%i, %i] at(%i, %i) ranges(%g : tensor<4x16xi32>)
      key_at(%i, %i) <size = [3, 3]> query_box [4, 4] key_box [8, 8]
      key_major into %t : memref<1x8x8x2x9xf64>, tensor<64x16xf32> -> tensor<64x16xf32>
  return
}

// -----

func.func @gather_shape(%s: memref<1x8x8x2x9xf32>, %g: tensor<4x16xi32>,
                        %t: tensor<64x16xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.gather' op 'init' is 'tensor<64x16xf32>', expected shape [16, 64]}}
  %0 = na.tile.gather %s[%i, %i] at(%i, %i) ranges(%g : tensor<4x16xi32>)
      key_at(%i, %i) <size = [3, 3]> query_box [4, 4] key_box [8, 8]
      into %t : memref<1x8x8x2x9xf32>, tensor<64x16xf32> -> tensor<64x16xf32>
  return
}
