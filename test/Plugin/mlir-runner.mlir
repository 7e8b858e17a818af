// From source to a result with nothing but upstream tools and the plugin:
// values that are all alike stay what they are, whatever the weights.

// REQUIRES: plugin

// RUN: mlir-opt %s %plugin_options --pass-pipeline="builtin.module(na-to-cpu{parallel=false})" \
// RUN:   | mlir-runner -e main -entry-point-result=f32 \
// RUN:   | FileCheck %s
// CHECK: 6.5

func.func @main() -> f32 {
  %zero = arith.constant 0.0 : f32
  %q = tensor.generate {
  ^bb0(%b: index, %i: index, %h: index, %d: index):
    %sum = arith.addi %i, %d : index
    %int = arith.index_cast %sum : index to i32
    %float = arith.sitofp %int : i32 to f32
    tensor.yield %float : f32
  } : tensor<1x24x2x8xf32>
  %v = arith.constant dense<6.5> : tensor<1x24x2x8xf32>
  %empty = tensor.empty() : tensor<1x24x2x8xf32>
  %o = na.attention
    ins(%q, %q, %v : tensor<1x24x2x8xf32>, tensor<1x24x2x8xf32>, tensor<1x24x2x8xf32>)
    outs(%empty : tensor<1x24x2x8xf32>) window(<size = [7]>) -> tensor<1x24x2x8xf32>
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %c23 = arith.constant 23 : index
  %r = tensor.extract %o[%c0, %c23, %c1, %c1] : tensor<1x24x2x8xf32>
  return %r : f32
}
