// RUN: na-opt %s --verify-diagnostics

// Sizes that no machine has: offsets would overflow.

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
