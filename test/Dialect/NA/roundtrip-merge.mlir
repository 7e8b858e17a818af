// RUN: na-opt %s | na-opt | FileCheck %s
// RUN: na-opt %s --mlir-print-op-generic | na-opt | FileCheck %s
// RUN: na-opt %s --emit-bytecode | na-opt | FileCheck %s

// CHECK-LABEL: func @one_part
// CHECK: %[[O:.+]] = na.merge ins(%{{.+}} : tensor<2x8x4x16xf32>) lses(%{{.+}} : tensor<2x8x4xf32>) outs(%{{.+}} : tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
// CHECK: return %[[O]]
func.func @one_part(%o: tensor<2x8x4x16xf32>, %l: tensor<2x8x4xf32>)
    -> tensor<2x8x4x16xf32> {
  %0 = na.merge ins(%o : tensor<2x8x4x16xf32>) lses(%l : tensor<2x8x4xf32>)
      outs(%o : tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return %0 : tensor<2x8x4x16xf32>
}

// Parts of different types, and an LSE.

// CHECK-LABEL: func @three_parts
// CHECK: %[[R:.+]]:2 = na.merge
// CHECK-SAME: ins(%{{.+}}, %{{.+}}, %{{.+}} : tensor<4x16xf32>, tensor<4x?xbf16>, tensor<?x16xf16>)
// CHECK-SAME: lses(%{{.+}}, %{{.+}}, %{{.+}} : tensor<4xf32>, tensor<4xf32>, tensor<?xf32>)
// CHECK-SAME: outs(%{{.+}}, %{{.+}} : tensor<4x16xbf16>, tensor<4xf32>) -> tensor<4x16xbf16>, tensor<4xf32>
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @three_parts(%o0: tensor<4x16xf32>, %o1: tensor<4x?xbf16>,
                       %o2: tensor<?x16xf16>, %l: tensor<4xf32>,
                       %l2: tensor<?xf32>, %o: tensor<4x16xbf16>)
    -> (tensor<4x16xbf16>, tensor<4xf32>) {
  %0:2 = na.merge
      ins(%o0, %o1, %o2 : tensor<4x16xf32>, tensor<4x?xbf16>, tensor<?x16xf16>)
      lses(%l, %l, %l2 : tensor<4xf32>, tensor<4xf32>, tensor<?xf32>)
      outs(%o, %l : tensor<4x16xbf16>, tensor<4xf32>)
      -> tensor<4x16xbf16>, tensor<4xf32>
  return %0#0, %0#1 : tensor<4x16xbf16>, tensor<4xf32>
}

// One row; its LSE has rank 0.

// CHECK-LABEL: func @row
// CHECK: na.merge ins(%{{.+}} : tensor<16xf64>, tensor<16xf64>) lses(%{{.+}} : tensor<f64>, tensor<f64>) outs(%{{.+}} : tensor<16xf64>) -> tensor<16xf64>
func.func @row(%o: tensor<16xf64>, %l: tensor<f64>) -> tensor<16xf64> {
  %0 = na.merge ins(%o, %o : tensor<16xf64>, tensor<16xf64>)
      lses(%l, %l : tensor<f64>, tensor<f64>) outs(%o : tensor<16xf64>)
      -> tensor<16xf64>
  return %0 : tensor<16xf64>
}

// CHECK-LABEL: func @memref
// CHECK: na.merge ins(%{{.+}} : memref<?x8x4x16xf32>, memref<2x8x4x16xf32>) lses(%{{.+}} : memref<2x8x4xf32>, memref<2x8x4xf32>) outs(%{{.+}} : memref<2x8x4x16xf32>, memref<2x8x4xf32>){{$}}
func.func @memref(%o0: memref<?x8x4x16xf32>, %o1: memref<2x8x4x16xf32>,
                  %l: memref<2x8x4xf32>) {
  na.merge ins(%o0, %o1 : memref<?x8x4x16xf32>, memref<2x8x4x16xf32>)
      lses(%l, %l : memref<2x8x4xf32>, memref<2x8x4xf32>)
      outs(%o1, %l : memref<2x8x4x16xf32>, memref<2x8x4xf32>)
  return
}
