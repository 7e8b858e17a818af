// RUN: na-opt %s --split-input-file --verify-diagnostics

// Sizes that no machine has, on which offsets would overflow.

func.func @operand_beyond_memory(
    %q: memref<1x4294967296x4294967296x1x2xf32>,
    %o: memref<1x4294967296x4294967296x1x2xf32>) {
  // expected-error @+1 {{'na.attention' op operand 0 is 'memref<1x4294967296x4294967296x1x2xf32>': more than 2^63 - 1 bytes}}
  na.attention
      ins(%q, %q, %q : memref<1x4294967296x4294967296x1x2xf32>,
                       memref<1x4294967296x4294967296x1x2xf32>,
                       memref<1x4294967296x4294967296x1x2xf32>)
      outs(%o : memref<1x4294967296x4294967296x1x2xf32>)
      window(<size = [3, 3]>)
  return
}

// -----

// expected-error @+1 {{window[0] = 9223372036854775807 with dilation[0] = 1 spreads the window over more than 1099511627776 tokens}}
func.func private @window_beyond_memory(tensor<1xf32, #na.window<size = [9223372036854775807]>>)

// -----

// expected-error @+1 {{window[0] = 3 with dilation[0] = 4611686018427387904 spreads the window over more than 1099511627776 tokens}}
func.func private @dilation_beyond_memory(tensor<1xf32, #na.window<size = [3], dilation = [4611686018427387904]>>)

// -----

// expected-error @+1 {{window[1] = 1048577 with dilation[1] = 1 spreads the window over more than 1099511627776 tokens}}
func.func private @product_beyond_memory(tensor<1xf32, #na.window<size = [1048576, 1048577]>>)

// -----

// The limit itself is legal.
func.func private @at_the_limit(tensor<1xf32, #na.window<size = [1048576, 1048576]>>)
