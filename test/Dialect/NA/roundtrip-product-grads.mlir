// RUN: na-opt %s | na-opt | FileCheck %s
// RUN: na-opt %s --mlir-print-op-generic | na-opt | FileCheck %s

// CHECK-LABEL: func @tensors
// CHECK: na.qk_dq ins(%{{[^ ]*}}, %{{[^ ]*}} : tensor<1x9x2x8xbf16>, tensor<1x9x4x3xf32>) outs(%{{[^ ]*}} : tensor<1x9x4x8xbf16>) window(<size = [3]>) {scale = 2.000000e+00 : f64} -> tensor<1x9x4x8xbf16>
// CHECK: na.qk_dk ins(%{{[^ ]*}}, %{{[^ ]*}} : tensor<1x9x4x8xbf16>, tensor<1x9x4x3xf32>) outs(%{{[^ ]*}} : tensor<1x9x2x8xbf16>) window(<size = [3]>) -> tensor<1x9x2x8xbf16>
// CHECK: na.qk_dbias ins(%{{[^ ]*}} : tensor<1x9x4x3xf32>) outs(%{{[^ ]*}} : tensor<4x5xbf16>) window(<size = [3]>) -> tensor<4x5xbf16>
// CHECK: na.av_dweights ins(%{{[^ ]*}}, %{{[^ ]*}} : tensor<1x9x2x8xbf16>, tensor<1x9x4x8xbf16>) outs(%{{[^ ]*}} : tensor<1x9x4x3xf32>) window(<size = [3]>) -> tensor<1x9x4x3xf32>
// CHECK: na.av_dv ins(%{{[^ ]*}}, %{{[^ ]*}} : tensor<1x9x4x3xf32>, tensor<1x9x4x8xbf16>) outs(%{{[^ ]*}} : tensor<1x9x2x8xbf16>) window(<size = [3]>) -> tensor<1x9x2x8xbf16>
func.func @tensors(%q: tensor<1x9x4x8xbf16>, %k: tensor<1x9x2x8xbf16>,
                   %s: tensor<1x9x4x3xf32>, %b: tensor<4x5xbf16>)
    -> (tensor<1x9x4x8xbf16>, tensor<1x9x2x8xbf16>, tensor<4x5xbf16>,
        tensor<1x9x4x3xf32>, tensor<1x9x2x8xbf16>) {
  %0 = na.qk_dq ins(%k, %s : tensor<1x9x2x8xbf16>, tensor<1x9x4x3xf32>)
      outs(%q : tensor<1x9x4x8xbf16>) window(<size = [3]>) {scale = 2.0 : f64}
      -> tensor<1x9x4x8xbf16>
  %1 = na.qk_dk ins(%q, %s : tensor<1x9x4x8xbf16>, tensor<1x9x4x3xf32>)
      outs(%k : tensor<1x9x2x8xbf16>) window(<size = [3]>)
      -> tensor<1x9x2x8xbf16>
  %2 = na.qk_dbias ins(%s : tensor<1x9x4x3xf32>) outs(%b : tensor<4x5xbf16>)
      window(<size = [3]>) -> tensor<4x5xbf16>
  %3 = na.av_dweights ins(%k, %q : tensor<1x9x2x8xbf16>, tensor<1x9x4x8xbf16>)
      outs(%s : tensor<1x9x4x3xf32>) window(<size = [3]>)
      -> tensor<1x9x4x3xf32>
  %4 = na.av_dv ins(%s, %q : tensor<1x9x4x3xf32>, tensor<1x9x4x8xbf16>)
      outs(%k : tensor<1x9x2x8xbf16>) window(<size = [3]>)
      -> tensor<1x9x2x8xbf16>
  return %0, %1, %2, %3, %4
      : tensor<1x9x4x8xbf16>, tensor<1x9x2x8xbf16>, tensor<4x5xbf16>,
        tensor<1x9x4x3xf32>, tensor<1x9x2x8xbf16>
}

// CHECK-LABEL: func @memrefs
// CHECK: na.qk_dk ins({{.*}}) outs(%{{[^ ]*}} : memref<?x?x?x?xf64>) window(<size = [3], causal = [true]>) {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [8]>}{{$}}
func.func @memrefs(%q: memref<?x?x?x?xf64>, %s: memref<?x?x?x3xf64>) {
  na.qk_dk ins(%q, %s : memref<?x?x?x?xf64>, memref<?x?x?x3xf64>)
      outs(%q : memref<?x?x?x?xf64>) window(<size = [3], causal = [true]>)
      {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [8]>}
  return
}
