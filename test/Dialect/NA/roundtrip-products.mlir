// RUN: na-opt %s | na-opt | FileCheck %s
// RUN: na-opt %s --mlir-print-op-generic | na-opt | FileCheck %s
// RUN: na-opt %s --emit-bytecode | na-opt | FileCheck %s

// CHECK-LABEL: func @qk
// CHECK: %[[S:.+]] = na.qk ins(%{{.+}}, %{{.+}} : tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>) outs(%{{.+}} : tensor<2x8x4x3xf32>) window(<size = [3]>) -> tensor<2x8x4x3xf32>
// CHECK: return %[[S]]
func.func @qk(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x2x16xf32>,
              %s: tensor<2x8x4x3xf32>) -> tensor<2x8x4x3xf32> {
  %0 = na.qk ins(%q, %k : tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>)
      outs(%s : tensor<2x8x4x3xf32>) window(<size = [3]>)
      -> tensor<2x8x4x3xf32>
  return %0 : tensor<2x8x4x3xf32>
}

// CHECK-LABEL: func @qk_options
// CHECK: na.qk ins(%{{.+}}, %{{.+}} : tensor<2x9x8x4x16xf16>, tensor<2x9x8x2x16xf16>)
// CHECK-SAME: bias(%{{.+}} : tensor<4x7x5xf16>)
// CHECK-SAME: outs(%{{.+}} : tensor<2x9x8x4x12xf32>)
// CHECK-SAME: window(<size = [4, 3], dilation = [2, 1], causal = [true, false]>)
// CHECK-SAME: {scale = 2.500000e-01 : f64, schedule = #na.schedule<target = "cpu", query_tile = [4, 4], key_tile = [6, 6]>}
func.func @qk_options(%q: tensor<2x9x8x4x16xf16>, %k: tensor<2x9x8x2x16xf16>,
                      %b: tensor<4x7x5xf16>, %s: tensor<2x9x8x4x12xf32>)
    -> tensor<2x9x8x4x12xf32> {
  %0 = na.qk ins(%q, %k : tensor<2x9x8x4x16xf16>, tensor<2x9x8x2x16xf16>)
      bias(%b : tensor<4x7x5xf16>) outs(%s : tensor<2x9x8x4x12xf32>)
      window(<size = [4, 3], dilation = [2, 1], causal = [true, false]>)
      {scale = 0.25 : f64,
       schedule = #na.schedule<target = "cpu", query_tile = [4, 4],
                               key_tile = [6, 6]>}
      -> tensor<2x9x8x4x12xf32>
  return %0 : tensor<2x9x8x4x12xf32>
}

// CHECK-LABEL: func @qk_dynamic
// CHECK: na.qk ins(%{{.+}} : tensor<?x?x?x?x?x?xf64>, tensor<?x?x?x?x?x?xf64>) outs(%{{.+}} : tensor<?x?x?x?x?x?xf64>) window(<size = [2, 3, 4]>)
func.func @qk_dynamic(%q: tensor<?x?x?x?x?x?xf64>) -> tensor<?x?x?x?x?x?xf64> {
  %0 = na.qk ins(%q, %q : tensor<?x?x?x?x?x?xf64>, tensor<?x?x?x?x?x?xf64>)
      outs(%q : tensor<?x?x?x?x?x?xf64>) window(<size = [2, 3, 4]>)
      -> tensor<?x?x?x?x?x?xf64>
  return %0 : tensor<?x?x?x?x?x?xf64>
}

// CHECK-LABEL: func @qk_memref
// CHECK: na.qk ins(%{{.+}} : memref<2x8x4x16xbf16>, memref<2x?x4x16xbf16>) bias(%{{.+}} : memref<4x5xf32>) outs(%{{.+}} : memref<2x8x4x3xf32>) window(<size = [3]>){{$}}
func.func @qk_memref(%q: memref<2x8x4x16xbf16>, %k: memref<2x?x4x16xbf16>,
                     %b: memref<4x5xf32>, %s: memref<2x8x4x3xf32>) {
  na.qk ins(%q, %k : memref<2x8x4x16xbf16>, memref<2x?x4x16xbf16>)
      bias(%b : memref<4x5xf32>) outs(%s : memref<2x8x4x3xf32>)
      window(<size = [3]>)
  return
}

// CHECK-LABEL: func @av
// CHECK: %[[O:.+]] = na.av ins(%{{.+}}, %{{.+}} : tensor<2x8x4x3xf32>, tensor<2x8x2x16xbf16>) outs(%{{.+}} : tensor<2x8x4x16xbf16>) window(<size = [3]>) {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [6]>} -> tensor<2x8x4x16xbf16>
// CHECK: return %[[O]]
func.func @av(%w: tensor<2x8x4x3xf32>, %v: tensor<2x8x2x16xbf16>,
              %o: tensor<2x8x4x16xbf16>) -> tensor<2x8x4x16xbf16> {
  %0 = na.av ins(%w, %v : tensor<2x8x4x3xf32>, tensor<2x8x2x16xbf16>)
      outs(%o : tensor<2x8x4x16xbf16>) window(<size = [3]>)
      {schedule = #na.schedule<target = "cpu", query_tile = [4],
                               key_tile = [6]>}
      -> tensor<2x8x4x16xbf16>
  return %0 : tensor<2x8x4x16xbf16>
}

// CHECK-LABEL: func @av_dynamic
// CHECK: na.av ins(%{{.+}} : tensor<?x?x?x?x?xf16>, tensor<?x?x?x?x?xf32>) outs(%{{.+}} : tensor<?x?x?x?x?xf32>) window(<size = [4, 3], stride = [2, 2]>)
func.func @av_dynamic(%w: tensor<?x?x?x?x?xf16>, %v: tensor<?x?x?x?x?xf32>)
    -> tensor<?x?x?x?x?xf32> {
  %0 = na.av ins(%w, %v : tensor<?x?x?x?x?xf16>, tensor<?x?x?x?x?xf32>)
      outs(%v : tensor<?x?x?x?x?xf32>)
      window(<size = [4, 3], stride = [2, 2]>) -> tensor<?x?x?x?x?xf32>
  return %0 : tensor<?x?x?x?x?xf32>
}

// CHECK-LABEL: func @av_memref
// CHECK: na.av ins(%{{.+}} : memref<2x8x4x3xf32>, memref<2x8x4x16xf32>) outs(%{{.+}} : memref<2x8x4x16xf32>) window(<size = [3], causal = [true]>){{$}}
func.func @av_memref(%w: memref<2x8x4x3xf32>, %v: memref<2x8x4x16xf32>,
                     %o: memref<2x8x4x16xf32>) {
  na.av ins(%w, %v : memref<2x8x4x3xf32>, memref<2x8x4x16xf32>)
      outs(%o : memref<2x8x4x16xf32>) window(<size = [3], causal = [true]>)
  return
}
