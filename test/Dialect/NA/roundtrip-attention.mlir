// RUN: na-opt %s | na-opt | FileCheck %s
// RUN: na-opt %s --mlir-print-op-generic | na-opt | FileCheck %s
// RUN: na-opt %s --emit-bytecode | na-opt | FileCheck %s

// CHECK-LABEL: func @minimal
// CHECK: %[[O:.+]] = na.attention ins(%{{.+}}, %{{.+}}, %{{.+}} : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%{{.+}} : tensor<2x8x4x16xf32>) window(<size = [3]>) -> tensor<2x8x4x16xf32>
// CHECK: return %[[O]]
func.func @minimal(%q: tensor<2x8x4x16xf32>, %o: tensor<2x8x4x16xf32>)
    -> tensor<2x8x4x16xf32> {
  %0 = na.attention
      ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                       tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>) window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return %0 : tensor<2x8x4x16xf32>
}

// Everything at once: GQA, another value dim, bias in f32, additional keys, LSE,
// scale, schedule, an attribute of someone else.

// CHECK-LABEL: func @all_options
// CHECK: %[[R:.+]]:2 = na.attention
// CHECK-SAME: ins(%{{.+}}, %{{.+}}, %{{.+}} : tensor<2x9x8x4x16xbf16>, tensor<2x9x8x2x16xbf16>, tensor<2x9x8x2x24xbf16>)
// CHECK-SAME: bias(%{{.+}} : tensor<4x7x5xf32>)
// CHECK-SAME: additional(%{{.+}}, %{{.+}} : tensor<2x5x2x16xbf16>, tensor<2x5x2x24xbf16>)
// CHECK-SAME: outs(%{{.+}}, %{{.+}} : tensor<2x9x8x4x24xbf16>, tensor<2x9x8x4xf32>)
// CHECK-SAME: window(<size = [4, 3], stride = [2, 1], dilation = [2, 1], causal = [true, false]>)
// CHECK-SAME: {other = "kept", scale = -1.250000e-01 : f64, schedule = #na.schedule<target = "cpu", query_tile = [4, 4], key_tile = [6, 6]>}
// CHECK-SAME: -> tensor<2x9x8x4x24xbf16>, tensor<2x9x8x4xf32>
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @all_options(%q: tensor<2x9x8x4x16xbf16>, %k: tensor<2x9x8x2x16xbf16>,
                       %v: tensor<2x9x8x2x24xbf16>, %b: tensor<4x7x5xf32>,
                       %ek: tensor<2x5x2x16xbf16>, %ev: tensor<2x5x2x24xbf16>,
                       %o: tensor<2x9x8x4x24xbf16>, %l: tensor<2x9x8x4xf32>)
    -> (tensor<2x9x8x4x24xbf16>, tensor<2x9x8x4xf32>) {
  %0:2 = na.attention
      ins(%q, %k, %v : tensor<2x9x8x4x16xbf16>, tensor<2x9x8x2x16xbf16>,
                       tensor<2x9x8x2x24xbf16>)
      bias(%b : tensor<4x7x5xf32>)
      additional(%ek, %ev : tensor<2x5x2x16xbf16>, tensor<2x5x2x24xbf16>)
      outs(%o, %l : tensor<2x9x8x4x24xbf16>, tensor<2x9x8x4xf32>)
      window(<size = [4, 3], stride = [2, 1], dilation = [2, 1],
              causal = [true, false]>)
      {scale = -0.125 : f64, other = "kept",
       schedule = #na.schedule<target = "cpu", query_tile = [4, 4],
                               key_tile = [6, 6]>}
      -> tensor<2x9x8x4x24xbf16>, tensor<2x9x8x4xf32>
  return %0#0, %0#1 : tensor<2x9x8x4x24xbf16>, tensor<2x9x8x4xf32>
}

// CHECK-LABEL: func @dynamic
// CHECK: na.attention ins(%{{.+}} : tensor<?x?x?x?x?x?xf16>, tensor<?x?x?x?x?x?xf16>, tensor<?x?x?x?x?x?xf16>) bias(%{{.+}} : tensor<?x?x?x?xf16>) additional(%{{.+}} : tensor<?x?x?x?xf16>, tensor<?x?x?x?xf16>) outs(%{{.+}} : tensor<?x?x?x?x?x?xf16>) window(<size = [2, 3, 4]>) {scale = 0.000000e+00 : f64} -> tensor<?x?x?x?x?x?xf16>
func.func @dynamic(%q: tensor<?x?x?x?x?x?xf16>, %b: tensor<?x?x?x?xf16>,
                   %e: tensor<?x?x?x?xf16>) -> tensor<?x?x?x?x?x?xf16> {
  %0 = na.attention
      ins(%q, %q, %q : tensor<?x?x?x?x?x?xf16>, tensor<?x?x?x?x?x?xf16>,
                       tensor<?x?x?x?x?x?xf16>)
      bias(%b : tensor<?x?x?x?xf16>)
      additional(%e, %e : tensor<?x?x?x?xf16>, tensor<?x?x?x?xf16>)
      outs(%q : tensor<?x?x?x?x?x?xf16>) window(<size = [2, 3, 4]>)
      {scale = 0.0 : f64} -> tensor<?x?x?x?x?x?xf16>
  return %0 : tensor<?x?x?x?x?x?xf16>
}

// CHECK-LABEL: func @memref
// CHECK: na.attention ins(%{{.+}} : memref<2x8x4x16xf64>, memref<2x8x4x16xf64, strided<[?, ?, ?, 1], offset: ?>>, memref<2x?x4x16xf64>) additional(%{{.+}} : memref<2x3x4x16xf64>, memref<2x3x4x16xf64>) outs(%{{.+}} : memref<2x8x4x16xf64>, memref<2x8x4xf64, 1>) window(<size = [3]>){{$}}
func.func @memref(%q: memref<2x8x4x16xf64>,
                  %k: memref<2x8x4x16xf64, strided<[?, ?, ?, 1], offset: ?>>,
                  %v: memref<2x?x4x16xf64>, %e: memref<2x3x4x16xf64>,
                  %o: memref<2x8x4x16xf64>, %l: memref<2x8x4xf64, 1>) {
  na.attention
      ins(%q, %k, %v : memref<2x8x4x16xf64>,
                       memref<2x8x4x16xf64, strided<[?, ?, ?, 1], offset: ?>>,
                       memref<2x?x4x16xf64>)
      additional(%e, %e : memref<2x3x4x16xf64>, memref<2x3x4x16xf64>)
      outs(%o, %l : memref<2x8x4x16xf64>, memref<2x8x4xf64, 1>)
      window(<size = [3]>)
  return
}

// A batch of nothing and no additional keys are legal.

// CHECK-LABEL: func @empty
// CHECK: na.attention ins(%{{.+}} : tensor<0x8x4x16xf32>, tensor<0x8x4x16xf32>, tensor<0x8x4x16xf32>) additional(%{{.+}} : tensor<0x0x4x16xf32>, tensor<0x0x4x16xf32>)
func.func @empty(%q: tensor<0x8x4x16xf32>, %e: tensor<0x0x4x16xf32>)
    -> tensor<0x8x4x16xf32> {
  %0 = na.attention
      ins(%q, %q, %q : tensor<0x8x4x16xf32>, tensor<0x8x4x16xf32>,
                       tensor<0x8x4x16xf32>)
      additional(%e, %e : tensor<0x0x4x16xf32>, tensor<0x0x4x16xf32>)
      outs(%q : tensor<0x8x4x16xf32>) window(<size = [3]>)
      -> tensor<0x8x4x16xf32>
  return %0 : tensor<0x8x4x16xf32>
}
