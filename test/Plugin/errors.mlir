// What goes wrong under the plugin is a diagnostic of mlir-opt, and one of its
// two options without the other is too.

// REQUIRES: plugin

// RUN: mlir-opt %s %plugin_options --split-input-file --verify-diagnostics --pass-pipeline="builtin.module(na-to-cpu)"
// RUN: not mlir-opt %S/mlir-opt.mlir %plugin_options --pass-pipeline="builtin.module(na-to-cpu{mode=fast})" 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not mlir-opt %S/mlir-opt.mlir --load-pass-plugin=%na_plugin 2>&1 | FileCheck %s --check-prefix=DIALECT
// RUN: not mlir-opt %S/mlir-opt.mlir --load-dialect-plugin=%na_plugin --pass-pipeline="builtin.module(na-to-cpu)" 2>&1 | FileCheck %s --check-prefix=PASS
// OPTION:  for the --mode option: Cannot find option named 'fast'
// DIALECT: error: Dialect `na' not found
// PASS:    error: 'na-to-cpu' does not refer to a registered pass

func.func @dilation(%q: tensor<1x9x2x8xf32>, %o: tensor<1x9x2x8xf32>)
    -> tensor<1x9x2x8xf32> {
  // expected-error @+1 {{'na.attention' op window[0] = 5 times dilation[0] = 2 exceeds the axis length 9}}
  %r = na.attention
    ins(%q, %q, %q : tensor<1x9x2x8xf32>, tensor<1x9x2x8xf32>, tensor<1x9x2x8xf32>)
    outs(%o : tensor<1x9x2x8xf32>) window(<size = [5], dilation = [2]>) -> tensor<1x9x2x8xf32>
  return %r : tensor<1x9x2x8xf32>
}

// -----

func.func @softmax(%x: memref<4x8xf32>, %o: memref<4x8xf32>) {
  // expected-error @+1 {{'linalg.softmax' op has no lowering to the LLVM dialect}}
  linalg.softmax dimension(1) ins(%x : memref<4x8xf32>) outs(%o : memref<4x8xf32>)
  return
}
