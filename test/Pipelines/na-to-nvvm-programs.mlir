// What is around attention runs in kernels too, and the programs of examples/
// compile.

// RUN: na-opt %s -na-to-nvvm-kernels=mode=naive | FileCheck %s
// RUN: na-opt %examples/nat_block.mlir -na-to-nvvm=mode=naive | FileCheck %s --check-prefix=BINARY
// RUN: na-opt %examples/dinat_block.mlir -na-to-nvvm=mode=naive | FileCheck %s --check-prefix=BINARY
// RUN: na-opt %examples/video_block.mlir -na-to-nvvm=mode=naive | FileCheck %s --check-prefix=BINARY
// RUN: na-opt %examples/sliding_window_layer.mlir -na-to-nvvm=mode=naive | FileCheck %s --check-prefix=BINARY
// BINARY: gpu.binary @na_kernels

// A copy, constants, a softmax, a product, an element: kernels in order.
// CHECK-LABEL: func @around(
// CHECK-NOT:     linalg
// CHECK-NOT:     memref.{{copy|load|store}}
// CHECK:         gpu.launch
// CHECK:           gpu.shuffle
// CHECK:         gpu.launch
// CHECK:           memref.get_global
// CHECK:         gpu.launch
// CHECK-NOT:     linalg
func.func @around(%x: tensor<16x8xf32>, %e: f32, %i: index)
    -> (tensor<16x4xf32>, tensor<16x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %table = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0],
      [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0],
      [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 5.0]]>
      : tensor<8x4xf32>
  %empty = tensor.empty() : tensor<16x8xf32>
  %s = linalg.softmax dimension(1) ins(%x : tensor<16x8xf32>)
      outs(%empty : tensor<16x8xf32>) -> tensor<16x8xf32>
  %small = tensor.empty() : tensor<16x4xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%small : tensor<16x4xf32>)
      -> tensor<16x4xf32>
  %p = linalg.matmul ins(%s, %table : tensor<16x8xf32>, tensor<8x4xf32>)
      outs(%filled : tensor<16x4xf32>) -> tensor<16x4xf32>
  %y = tensor.insert %e into %x[%i, %i] : tensor<16x8xf32>
  return %p, %y : tensor<16x4xf32>, tensor<16x8xf32>
}
