// RUN: na-opt %s --split-input-file --verify-diagnostics

func.func @key_batch(%a: tensor<2x8x4x16xf32>, %b: tensor<3x8x4x16xf32>,
                     %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'key' dimension 0 (batch) is 3, expected 2 as in 'query'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<3x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @value_length(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                        %c: tensor<2x9x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'value' dimension 1 (axis 0) is 9, expected 8 as in 'query'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x9x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @output_length(%a: tensor<2x8x7x4x16xf32>,
                         %b: tensor<2x8x7x4x16xf32>,
                         %c: tensor<2x8x7x4x16xf32>,
                         %d: tensor<2x8x6x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'output' dimension 2 (axis 1) is 6, expected 7 as in 'query'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x7x4x16xf32>, tensor<2x8x7x4x16xf32>, tensor<2x8x7x4x16xf32>)
      outs(%d : tensor<2x8x6x4x16xf32>)
      window(<size = [3, 3]>)
      -> tensor<2x8x6x4x16xf32>
  return
}

// -----

func.func @lse_length(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                      %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>,
                      %e: tensor<2x7x4xf32>) {
  // expected-error @+1 {{'na.attention' op 'lse' dimension 1 (axis 0) is 7, expected 8 as in 'query'}}
  %0:2 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d, %e : tensor<2x8x4x16xf32>, tensor<2x7x4xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>, tensor<2x7x4xf32>
  return
}

// -----

// Sizes are compared wherever two operands state them.

func.func @two_others_disagree(%a: tensor<2x?x4x16xf32>,
                               %b: tensor<2x8x4x16xf32>,
                               %c: tensor<2x9x4x16xf32>,
                               %d: tensor<2x?x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'value' dimension 1 (axis 0) is 9, expected 8 as in 'key'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x?x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x9x4x16xf32>)
      outs(%d : tensor<2x?x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x?x4x16xf32>
  return
}

// -----

func.func @head_dim(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x8xf32>,
                    %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'key' dimension 3 (head dim) is 8, expected 16 as in 'query'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x8xf32>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @value_dim(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                     %c: tensor<2x8x4x24xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'output' dimension 3 (value dim) is 16, expected 24 as in 'value'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x24xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @value_heads(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x2x16xf32>,
                       %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'value' dimension 2 (heads) is 4, expected 2 as in 'key'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @output_heads(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                        %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x8x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'output' dimension 2 (heads) is 8, expected 4 as in 'query'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x8x8x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x8x16xf32>
  return
}

// -----

func.func @lse_heads(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                     %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>,
                     %e: tensor<2x8x2xf32>) {
  // expected-error @+1 {{'na.attention' op 'lse' dimension 2 (heads) is 2, expected 4 as in 'query'}}
  %0:2 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d, %e : tensor<2x8x4x16xf32>, tensor<2x8x2xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>, tensor<2x8x2xf32>
  return
}

// -----

func.func @head_multiple(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x3x16xf32>,
                         %c: tensor<2x8x3x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'query' has 4 heads, not a multiple of the 3 heads of 'key'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @head_multiple_of_others(%a: tensor<2x8x?x16xf32>,
                                   %b: tensor<2x8x?x16xf32>,
                                   %c: tensor<2x8x3x16xf32>,
                                   %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'output' has 4 heads, not a multiple of the 3 heads of 'value'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x?x16xf32>, tensor<2x8x?x16xf32>, tensor<2x8x3x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @no_query_heads(%a: tensor<2x8x0x16xf32>, %b: tensor<2x8x4x16xf32>,
                          %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x0x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'query' dimension 2 (heads) is 0, expected at least 1}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x0x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x8x0x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x0x16xf32>
  return
}

// -----

func.func @no_key_heads(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x0x16xf32>,
                        %c: tensor<2x8x0x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'key' dimension 2 (heads) is 0, expected at least 1}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x0x16xf32>, tensor<2x8x0x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @no_head_dim(%a: tensor<2x8x4x0xf32>, %b: tensor<2x8x4x0xf32>,
                       %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'query' dimension 3 (channels) is 0, expected at least 1}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x0xf32>, tensor<2x8x4x0xf32>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @no_value_dim(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                        %c: tensor<2x8x4x0xf32>, %d: tensor<2x8x4x0xf32>) {
  // expected-error @+1 {{'na.attention' op 'value' dimension 3 (channels) is 0, expected at least 1}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x0xf32>)
      outs(%d : tensor<2x8x4x0xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x0xf32>
  return
}

// -----

func.func @window_length(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                         %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op window[0] = 9 times dilation[0] = 1 exceeds the axis length 8}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [9]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @dilated_window_length(%a: tensor<2x8x7x4x16xf32>,
                                 %b: tensor<2x8x7x4x16xf32>,
                                 %c: tensor<2x8x7x4x16xf32>,
                                 %d: tensor<2x8x7x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op window[1] = 3 times dilation[1] = 3 exceeds the axis length 7}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x7x4x16xf32>, tensor<2x8x7x4x16xf32>, tensor<2x8x7x4x16xf32>)
      outs(%d : tensor<2x8x7x4x16xf32>)
      window(<size = [3, 3], dilation = [1, 3]>)
      -> tensor<2x8x7x4x16xf32>
  return
}

// -----

func.func @empty_axis(%a: tensor<2x0x4x16xf32>, %b: tensor<2x0x4x16xf32>,
                      %c: tensor<2x0x4x16xf32>, %d: tensor<2x0x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op window[0] = 1 times dilation[0] = 1 exceeds the axis length 0}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x0x4x16xf32>, tensor<2x0x4x16xf32>, tensor<2x0x4x16xf32>)
      outs(%d : tensor<2x0x4x16xf32>)
      window(<size = [1]>)
      -> tensor<2x0x4x16xf32>
  return
}

// -----

func.func @window_length_of_another(%a: tensor<2x?x4x16xf32>,
                                    %b: tensor<2x?x4x16xf32>,
                                    %c: tensor<2x8x4x16xf32>,
                                    %d: tensor<2x?x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op window[0] = 9 times dilation[0] = 1 exceeds the axis length 8}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x?x4x16xf32>, tensor<2x?x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x?x4x16xf32>)
      window(<size = [9]>)
      -> tensor<2x?x4x16xf32>
  return
}

// -----

func.func @huge_window(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                       %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op window[0] = 9223372036854775807 times dilation[0] = 9223372036854775807 exceeds the axis length 8}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [9223372036854775807], dilation = [9223372036854775807]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

// The usual mistake gets a hint.

func.func @heads_first(%a: tensor<2x4x64x16xf32>, %b: tensor<2x4x64x16xf32>,
                       %c: tensor<2x4x64x16xf32>, %d: tensor<2x4x64x16xf32>) {
  // expected-error @+1 {{'na.attention' op window[0] = 7 times dilation[0] = 1 exceeds the axis length 4; 'query' has 64 heads and 4 tokens on axis 0: are heads and tokens swapped? The layout is heads-last, [B, X.., H, D]}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x4x64x16xf32>, tensor<2x4x64x16xf32>, tensor<2x4x64x16xf32>)
      outs(%d : tensor<2x4x64x16xf32>)
      window(<size = [7]>)
      -> tensor<2x4x64x16xf32>
  return
}

// -----

func.func @bias_size(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                     %c: tensor<2x8x4x16xf32>, %d: tensor<4x3xf32>,
                     %e: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'bias' dimension 1 (axis 0) is 3, expected 2 * window[0] - 1 = 5}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      bias(%d : tensor<4x3xf32>)
      outs(%e : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @bias_heads(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                      %c: tensor<2x8x4x16xf32>, %d: tensor<2x5xf32>,
                      %e: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'bias' dimension 0 (heads) is 2, expected 4 as in 'query'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      bias(%d : tensor<2x5xf32>)
      outs(%e : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @bias_overflow(%a: tensor<2x?x4x16xf32>, %b: tensor<2x?x4x16xf32>,
                         %c: tensor<2x?x4x16xf32>, %d: tensor<4x?xf32>,
                         %e: tensor<2x?x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op window[0] = 4611686018427387904 is too large for 'bias': 2 * window[0] - 1 exceeds 64 bits}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x?x4x16xf32>, tensor<2x?x4x16xf32>, tensor<2x?x4x16xf32>)
      bias(%d : tensor<4x?xf32>)
      outs(%e : tensor<2x?x4x16xf32>)
      window(<size = [4611686018427387904]>)
      -> tensor<2x?x4x16xf32>
  return
}

// -----

func.func @additional_batch(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                            %c: tensor<2x8x4x16xf32>, %d: tensor<3x3x4x16xf32>,
                            %e: tensor<2x3x4x16xf32>,
                            %f: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'additional_key' dimension 0 (batch) is 3, expected 2 as in 'query'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      additional(%d, %e : tensor<3x3x4x16xf32>, tensor<2x3x4x16xf32>)
      outs(%f : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @additional_tokens(%a: tensor<2x8x4x16xf32>,
                             %b: tensor<2x8x4x16xf32>,
                             %c: tensor<2x8x4x16xf32>,
                             %d: tensor<2x3x4x16xf32>,
                             %e: tensor<2x5x4x16xf32>,
                             %f: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'additional_value' dimension 1 (tokens) is 5, expected 3 as in 'additional_key'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      additional(%d, %e : tensor<2x3x4x16xf32>, tensor<2x5x4x16xf32>)
      outs(%f : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @additional_heads(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                            %c: tensor<2x8x4x16xf32>, %d: tensor<2x3x2x16xf32>,
                            %e: tensor<2x3x2x16xf32>,
                            %f: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'additional_key' dimension 2 (heads) is 2, expected 4 as in 'key'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      additional(%d, %e : tensor<2x3x2x16xf32>, tensor<2x3x2x16xf32>)
      outs(%f : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @additional_head_dim(%a: tensor<2x8x4x16xf32>,
                               %b: tensor<2x8x4x16xf32>,
                               %c: tensor<2x8x4x16xf32>,
                               %d: tensor<2x3x4x8xf32>,
                               %e: tensor<2x3x4x16xf32>,
                               %f: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'additional_key' dimension 3 (head dim) is 8, expected 16 as in 'query'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      additional(%d, %e : tensor<2x3x4x8xf32>, tensor<2x3x4x16xf32>)
      outs(%f : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @additional_value_dim(%a: tensor<2x8x4x16xf32>,
                                %b: tensor<2x8x4x16xf32>,
                                %c: tensor<2x8x4x16xf32>,
                                %d: tensor<2x3x4x16xf32>,
                                %e: tensor<2x3x4x8xf32>,
                                %f: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'additional_value' dimension 3 (value dim) is 8, expected 16 as in 'value'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      additional(%d, %e : tensor<2x3x4x16xf32>, tensor<2x3x4x8xf32>)
      outs(%f : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @scale_infinite(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                          %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'scale' is not finite}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      {scale = 0x7FF0000000000000 : f64}
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @scale_nan(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                     %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'scale' is not finite}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      {scale = 0x7FF8000000000000 : f64}
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @scale_type(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                      %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+5 {{attribute 'scale' failed to satisfy constraint: 64-bit float attribute}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      {scale = 1.0 : f32}
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @schedule_warps(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                          %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op schedule 'warps' = 3 does not divide the 16 queries of 'query_tile'}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      {schedule = #na.schedule<target = "sm_80", query_tile = [16], key_tile = [48], warps = 3>}
      -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @schedule_rank(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>,
                         %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'schedule' is for 2 axes, expected 1}}
  %0 = na.attention
      ins(%a, %b, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%d : tensor<2x8x4x16xf32>)
      window(<size = [3]>)
      {schedule = #na.schedule<target = "cpu", query_tile = [4, 4], key_tile = [6, 6]>}
      -> tensor<2x8x4x16xf32>
  return
}
