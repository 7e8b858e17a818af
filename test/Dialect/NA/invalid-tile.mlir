// RUN: na-opt %s --split-input-file --verify-diagnostics

func.func @load_no_axis(%s: memref<1x8x8x2x16xf32>, %t: tensor<16x16xf32>,
                        %i: index) {
  // expected-error @+1 {{'na.tile.load' op 'at' has 0 entries, expected 1 to 3 (one per axis)}}
  %0 = na.tile.load %s[%i, %i] at() box []
      dilation [] into %t : memref<1x8x8x2x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  return
}

// -----

func.func @load_four_axes(%s: memref<1x8x8x2x16xf32>, %t: tensor<16x16xf32>,
                          %i: index) {
  // expected-error @+1 {{'na.tile.load' op 'at' has 4 entries, expected 1 to 3 (one per axis)}}
  %0 = na.tile.load %s[%i, %i] at(%i, %i, %i, %i) box [4, 4]
      dilation [1, 1] into %t : memref<1x8x8x2x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  return
}

// -----

func.func @load_rank(%s: memref<1x8x2xf32>, %t: tensor<16x16xf32>,
                     %i: index) {
  // expected-error @+1 {{'na.tile.load' op 'source' has rank 3, expected 4, [B, X.., H], or 5, [B, X.., H, D]}}
  %0 = na.tile.load %s[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 1] into %t : memref<1x8x2xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  return
}

// -----

func.func @load_numbers_shape(%s: memref<1x8x8x2xf32>, %t: tensor<16x16xf32>,
                              %i: index) {
  // expected-error @+1 {{'na.tile.load' op 'init' is 'tensor<16x16xf32>', expected shape [16]}}
  %0 = na.tile.load %s[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 1] into %t : memref<1x8x8x2xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  return
}

// -----

func.func @load_no_result(%s: memref<1x8x8x2x16xf32>, %t: tensor<16x16xf32>,
                          %i: index) {
  // expected-error @+1 {{'na.tile.load' op has 0 results, expected 1 for a tile of type 'tensor<16x16xf32>'}}
  na.tile.load %s[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 1] into %t : memref<1x8x8x2x16xf32>, tensor<16x16xf32>
  return
}

// -----

func.func @load_result_of_memref(%s: memref<1x8x8x2x16xf32>,
                                 %t: memref<16x16xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.load' op has 1 results, expected 0 for a tile of type 'memref<16x16xf32>'}}
  %0 = na.tile.load %s[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 1] into %t : memref<1x8x8x2x16xf32>, memref<16x16xf32> -> tensor<16x16xf32>
  return
}

// -----

func.func @load_result_type(%s: memref<1x8x8x2x16xf32>, %t: tensor<16x16xf32>,
                            %i: index) {
  // expected-error @+1 {{'na.tile.load' op result is 'tensor<?x16xf32>', expected the tile's type 'tensor<16x16xf32>'}}
  %0 = na.tile.load %s[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 1] into %t : memref<1x8x8x2x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
  return
}

// -----

func.func @load_box_entries(%s: memref<1x8x8x2x16xf32>, %t: tensor<16x16xf32>,
                            %i: index) {
  // expected-error @+1 {{'na.tile.load' op 'box' has 1 entries, expected 2 (one per axis)}}
  %0 = na.tile.load %s[%i, %i] at(%i, %i) box [16]
      dilation [1, 1] into %t : memref<1x8x8x2x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  return
}

// -----

func.func @load_box_extent(%s: memref<1x8x8x2x16xf32>, %t: tensor<16x16xf32>,
                           %i: index) {
  // expected-error @+1 {{'na.tile.load' op 'box'[1] = 0, expected at least 1}}
  %0 = na.tile.load %s[%i, %i] at(%i, %i) box [4, 0]
      dilation [1, 1] into %t : memref<1x8x8x2x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  return
}

// -----

func.func @load_box_lanes(%s: memref<1x8x8x2x16xf32>, %t: tensor<16x16xf32>,
                          %i: index) {
  // expected-error @+1 {{'na.tile.load' op 'box' has more lanes than 64 bits can count}}
  %0 = na.tile.load %s[%i, %i] at(%i, %i) box [4294967296, 4294967296]
      dilation [1, 1] into %t : memref<1x8x8x2x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  return
}

// -----

func.func @load_dilation_entries(%s: memref<1x8x8x2x16xf32>,
                                 %t: tensor<16x16xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.load' op 'dilation' has 3 entries, expected 2 (one per axis)}}
  %0 = na.tile.load %s[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 1, 1] into %t : memref<1x8x8x2x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  return
}

// -----

func.func @load_dilation_extent(%s: memref<1x8x8x2x16xf32>,
                                %t: tensor<16x16xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.load' op 'dilation'[0] = -1, expected at least 1}}
  %0 = na.tile.load %s[%i, %i] at(%i, %i) box [4, 4]
      dilation [-1, 1] into %t : memref<1x8x8x2x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  return
}

// -----

func.func @load_element(%s: memref<1x8x8x2x16xf32>, %t: tensor<16x16xf16>,
                        %i: index) {
  // expected-error @+1 {{'na.tile.load' op cannot extend 'f32' to 'f16'}}
  %0 = na.tile.load %s[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 1] into %t : memref<1x8x8x2x16xf32>, tensor<16x16xf16> -> tensor<16x16xf16>
  return
}

// -----

func.func @load_element_same_width(%s: memref<1x8x8x2x16xf16>,
                                   %t: tensor<16x16xbf16>, %i: index) {
  // expected-error @+1 {{'na.tile.load' op cannot extend 'f16' to 'bf16'}}
  %0 = na.tile.load %s[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 1] into %t : memref<1x8x8x2x16xf16>, tensor<16x16xbf16> -> tensor<16x16xbf16>
  return
}

// -----

func.func @load_element_integer(%s: memref<1x8x8x2x16xf32>,
                                %t: tensor<16x16xi64>, %i: index) {
  // expected-error @+1 {{'na.tile.load' op cannot extend 'f32' to 'i64'}}
  %0 = na.tile.load %s[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 1] into %t : memref<1x8x8x2x16xf32>, tensor<16x16xi64> -> tensor<16x16xi64>
  return
}

// -----

func.func @load_element_foreign(%s: memref<1x8x8x2x16xf32>,
                                %t: tensor<16x16xf128>, %i: index) {
  // expected-error @+1 {{'na.tile.load' op cannot extend 'f32' to 'f128'}}
  %0 = na.tile.load %s[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 1] into %t : memref<1x8x8x2x16xf32>, tensor<16x16xf128> -> tensor<16x16xf128>
  return
}

// -----

func.func @load_shape(%s: memref<1x8x8x2x16xf32>, %t: tensor<16x8xf32>,
                      %i: index) {
  // expected-error @+1 {{'na.tile.load' op 'init' is 'tensor<16x8xf32>', expected shape [16, 16]}}
  %0 = na.tile.load %s[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 1] into %t : memref<1x8x8x2x16xf32>, tensor<16x8xf32> -> tensor<16x8xf32>
  return
}

// -----

func.func @load_tile_rank(%s: memref<1x8x8x2x16xf32>, %t: tensor<16xf32>,
                          %i: index) {
  // expected-error @+1 {{'na.tile.load' op 'init' is 'tensor<16xf32>', expected shape [16, 16]}}
  %0 = na.tile.load %s[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 1] into %t : memref<1x8x8x2x16xf32>, tensor<16xf32> -> tensor<16xf32>
  return
}

// -----

func.func @load_transposed_shape(%s: memref<1x8x8x2x8xf32>,
                                 %t: tensor<16x8xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.load' op 'init' is 'tensor<16x8xf32>', expected shape [8, 16]}}
  %0 = na.tile.load %s[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 1] transposed into %t : memref<1x8x8x2x8xf32>, tensor<16x8xf32> -> tensor<16x8xf32>
  return
}

// -----

func.func @load_dynamic_lanes(%s: memref<1x8x8x2x16xf32>, %t: tensor<?x16xf32>,
                              %i: index) {
  // expected-error @+1 {{'na.tile.load' op 'init' is 'tensor<?x16xf32>', expected shape [16, 16]}}
  %0 = na.tile.load %s[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 1] into %t : memref<1x8x8x2x16xf32>, tensor<?x16xf32> -> tensor<?x16xf32>
  return
}

// -----

func.func @load_dynamic_channels(%s: memref<1x8x8x2x?xf32>,
                                 %t: tensor<8x16xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.load' op 'init' is 'tensor<8x16xf32>', expected shape [16, ?]}}
  %0 = na.tile.load %s[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 1] into %t : memref<1x8x8x2x?xf32>, tensor<8x16xf32> -> tensor<8x16xf32>
  return
}

// -----

func.func @load_source_element(%s: memref<1x8x8x2x16xi32>,
                               %t: tensor<16x16xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.load' op operand #0 must be memref of 64-bit float or 32-bit float or 16-bit float or bfloat16 type values, but got 'memref<1x8x8x2x16xi32>'}}
  %0 = na.tile.load %s[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 1] into %t : memref<1x8x8x2x16xi32>, tensor<16x16xf32> -> tensor<16x16xf32>
  return
}

// -----

func.func @load_source_tensor(%s: tensor<1x8x8x2x16xf32>,
                              %t: tensor<16x16xf32>, %i: index) {
  // expected-error @+2 {{invalid kind of type specified: expected builtin.memref, but found 'tensor<1x8x8x2x16xf32>'}}
  %0 = na.tile.load %s[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 1] into %t : tensor<1x8x8x2x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  return
}

// -----

func.func @load_unranked_tile(%s: memref<1x8x8x2x16xf32>, %t: tensor<*xf32>,
                              %i: index) {
  // expected-error @+1 {{'na.tile.load' op operand #5 must be ranked tensor of any type values or memref of any type values, but got 'tensor<*xf32>'}}
  %0 = na.tile.load %s[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 1] into %t : memref<1x8x8x2x16xf32>, tensor<*xf32> -> tensor<*xf32>
  return
}

// -----

func.func @store_no_axis(%t: tensor<16x16xf32>, %d: memref<1x8x8x2x16xf32>,
                         %i: index) {
  // expected-error @+1 {{'na.tile.store' op 'at' has 0 entries, expected 1 to 3 (one per axis)}}
  na.tile.store %t into %d[%i, %i] at() box []
      dilation [] : tensor<16x16xf32>, memref<1x8x8x2x16xf32>
  return
}

// -----

func.func @store_box(%t: tensor<16x16xf32>, %d: memref<1x8x8x2x16xf32>,
                     %i: index) {
  // expected-error @+1 {{'na.tile.store' op 'box' has 1 entries, expected 2 (one per axis)}}
  na.tile.store %t into %d[%i, %i] at(%i, %i) box [16]
      dilation [1, 1] : tensor<16x16xf32>, memref<1x8x8x2x16xf32>
  return
}

// -----

func.func @store_dilation(%t: tensor<16x16xf32>, %d: memref<1x8x8x2x16xf32>,
                          %i: index) {
  // expected-error @+1 {{'na.tile.store' op 'dilation'[1] = 0, expected at least 1}}
  na.tile.store %t into %d[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 0] : tensor<16x16xf32>, memref<1x8x8x2x16xf32>
  return
}

// -----

func.func @store_element(%t: tensor<16x16xf32>, %d: memref<1x8x8x2x16xf64>,
                         %i: index) {
  // expected-error @+1 {{'na.tile.store' op cannot truncate 'f32' to 'f64'}}
  na.tile.store %t into %d[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 1] : tensor<16x16xf32>, memref<1x8x8x2x16xf64>
  return
}

// -----

func.func @store_rank(%t: tensor<16x16xf32>, %d: memref<1x8x8xf32>,
                      %i: index) {
  // expected-error @+1 {{'na.tile.store' op 'dest' has rank 3, expected 4, [B, X.., H], or 5, [B, X.., H, D]}}
  na.tile.store %t into %d[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 1] : tensor<16x16xf32>, memref<1x8x8xf32>
  return
}

// -----

func.func @store_shape(%t: tensor<16x16xf32>, %d: memref<1x8x8x2x8xf32>,
                       %i: index) {
  // expected-error @+1 {{'na.tile.store' op 'tile' is 'tensor<16x16xf32>', expected shape [16, 8]}}
  na.tile.store %t into %d[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 1] : tensor<16x16xf32>, memref<1x8x8x2x8xf32>
  return
}

// -----

func.func @store_statistic_shape(%t: tensor<16x16xf32>,
                                 %d: memref<1x8x8x2xf32>, %i: index) {
  // expected-error @+1 {{'na.tile.store' op 'tile' is 'tensor<16x16xf32>', expected shape [16]}}
  na.tile.store %t into %d[%i, %i] at(%i, %i) box [4, 4]
      dilation [1, 1] : tensor<16x16xf32>, memref<1x8x8x2xf32>
  return
}

// -----

func.func @windows_no_result(%t: tensor<4x16xi32>, %i: index) {
  // expected-error @+1 {{'na.tile.windows' op has 0 results, expected 1 for a tile of type 'tensor<4x16xi32>'}}
  na.tile.windows <size = [3, 3]> at(%i, %i) sizes(%i, %i)
      box [4, 4] into %t : tensor<4x16xi32>
  return
}

// -----

func.func @windows_at(%t: tensor<4x16xi32>, %i: index) {
  // expected-error @+1 {{'na.tile.windows' op 'at' has 1 entries, expected 2 (one per axis)}}
  %0 = na.tile.windows <size = [3, 3]> at(%i) sizes(%i, %i)
      box [4, 4] into %t : tensor<4x16xi32> -> tensor<4x16xi32>
  return
}

// -----

func.func @windows_sizes(%t: tensor<4x16xi32>, %i: index) {
  // expected-error @+1 {{'na.tile.windows' op 'sizes' has 3 entries, expected 2 (one per axis)}}
  %0 = na.tile.windows <size = [3, 3]> at(%i, %i) sizes(%i, %i, %i)
      box [4, 4] into %t : tensor<4x16xi32> -> tensor<4x16xi32>
  return
}

// -----

func.func @windows_box(%t: tensor<4x16xi32>, %i: index) {
  // expected-error @+1 {{'na.tile.windows' op 'box' has 1 entries, expected 2 (one per axis)}}
  %0 = na.tile.windows <size = [3, 3]> at(%i, %i) sizes(%i, %i)
      box [16] into %t : tensor<4x16xi32> -> tensor<4x16xi32>
  return
}

// -----

func.func @windows_heads(%t: tensor<4x16xi32>, %i: index) {
  // expected-error @+1 {{'na.tile.windows' op 'heads' is 0, expected at least 1}}
  %0 = na.tile.windows <size = [3, 3]> at(%i, %i) sizes(%i, %i)
      box [4, 4] heads 0 into %t : tensor<4x16xi32> -> tensor<4x16xi32>
  return
}

// -----

func.func @windows_lanes(%t: tensor<4x16xi32>, %i: index) {
  // expected-error @+1 {{'na.tile.windows' op 'init' is 'tensor<4x16xi32>', expected shape [4, 32]}}
  %0 = na.tile.windows <size = [3, 3]> at(%i, %i) sizes(%i, %i)
      box [4, 4] heads 2 into %t : tensor<4x16xi32> -> tensor<4x16xi32>
  return
}

// -----

func.func @windows_element(%t: tensor<4x16xi64>, %i: index) {
  // expected-error @+1 {{'na.tile.windows' op 'init' is 'tensor<4x16xi64>', expected elements of type i32}}
  %0 = na.tile.windows <size = [3, 3]> at(%i, %i) sizes(%i, %i)
      box [4, 4] into %t : tensor<4x16xi64> -> tensor<4x16xi64>
  return
}

// -----

func.func @windows_signed(%t: tensor<4x16xsi32>, %i: index) {
  // expected-error @+1 {{'na.tile.windows' op 'init' is 'tensor<4x16xsi32>', expected elements of type i32}}
  %0 = na.tile.windows <size = [3, 3]> at(%i, %i) sizes(%i, %i)
      box [4, 4] into %t : tensor<4x16xsi32> -> tensor<4x16xsi32>
  return
}

// -----

func.func @windows_shape(%t: tensor<2x16xi32>, %i: index) {
  // expected-error @+1 {{'na.tile.windows' op 'init' is 'tensor<2x16xi32>', expected shape [4, 16]}}
  %0 = na.tile.windows <size = [3, 3]> at(%i, %i) sizes(%i, %i)
      box [4, 4] into %t : tensor<2x16xi32> -> tensor<2x16xi32>
  return
}
