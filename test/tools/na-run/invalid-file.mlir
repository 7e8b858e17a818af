// A program that cannot be parsed is an error with its place, not a crash.

// RUN: not na-run %s 2>&1 | FileCheck %s
// CHECK: error: {{.*}}invalid-file.mlir:[[#@LINE+5]]:8: {{.*}}window[0] = 9 times dilation[0] = 2 exceeds the axis length 16

func.func @main(%q: tensor<1x16x2x8xf32>) -> tensor<1x16x2x8xf32> {
  %0 = tensor.empty() : tensor<1x16x2x8xf32>
  // The place is that of the operation.
  %1 = na.attention
      ins(%q, %q, %q : tensor<1x16x2x8xf32>, tensor<1x16x2x8xf32>,
                       tensor<1x16x2x8xf32>)
      outs(%0 : tensor<1x16x2x8xf32>)
      window(<size = [9], dilation = [2]>) -> tensor<1x16x2x8xf32>
  return %1 : tensor<1x16x2x8xf32>
}

// The front half of a file, and a file of something else.
// RUN: head -c 400 %s > %t.cut.mlir
// RUN: not na-run %t.cut.mlir 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: error: {{.*}}.cut.mlir:{{[0-9]+}}:{{[0-9]+}}: expected

// RUN: head -c 4000 %python > %t.binary.mlir
// RUN: not na-run %t.binary.mlir 2>&1 | FileCheck %s --check-prefix=BINARY
// BINARY: error: {{.*}}.binary.mlir:1:1:
