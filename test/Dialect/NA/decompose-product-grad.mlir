// RUN: na-opt %s -na-decompose-product-grad | FileCheck %s

// An operation for each gradient, with the scale and the schedule.

// CHECK-LABEL: func @tensors
// CHECK-SAME:    (%[[Q:.*]]: tensor<1x9x4x8xbf16>, %[[K:.*]]: tensor<1x9x2x8xbf16>, %[[S:.*]]: tensor<1x9x4x3xf32>, %[[B:.*]]: tensor<4x5xf32>)
// CHECK-DAG:     %[[DQ:.*]] = na.qk_dq ins(%[[K]], %[[S]] : {{.*}}) outs(%[[Q]] : {{.*}}) window(<size = [3]>) {scale = 2.000000e+00 : f64} ->
// CHECK-DAG:     %[[DK:.*]] = na.qk_dk ins(%[[Q]], %[[S]] : {{.*}}) outs(%[[K]] : {{.*}}) window(<size = [3]>) {scale = 2.000000e+00 : f64} ->
// CHECK-DAG:     %[[DB:.*]] = na.qk_dbias ins(%[[S]] : {{.*}}) outs(%[[B]] : {{.*}}) window(<size = [3]>) ->
// CHECK-DAG:     %[[DW:.*]] = na.av_dweights ins(%[[K]], %[[Q]] : {{.*}}) outs(%[[S]] : {{.*}}) window(<size = [3]>) ->
// CHECK-DAG:     %[[DV:.*]] = na.av_dv ins(%[[S]], %[[Q]] : {{.*}}) outs(%[[K]] : {{.*}}) window(<size = [3]>) ->
// CHECK:         return %[[DQ]], %[[DK]], %[[DB]], %[[DW]], %[[DV]]
func.func @tensors(%q: tensor<1x9x4x8xbf16>, %k: tensor<1x9x2x8xbf16>,
                   %s: tensor<1x9x4x3xf32>, %b: tensor<4x5xf32>)
    -> (tensor<1x9x4x8xbf16>, tensor<1x9x2x8xbf16>, tensor<4x5xf32>,
        tensor<1x9x4x3xf32>, tensor<1x9x2x8xbf16>) {
  %0:3 = na.qk_grad
      ins(%q, %k, %s : tensor<1x9x4x8xbf16>, tensor<1x9x2x8xbf16>,
                       tensor<1x9x4x3xf32>)
      outs(%q, %k : tensor<1x9x4x8xbf16>, tensor<1x9x2x8xbf16>)
      dbias(%b : tensor<4x5xf32>) window(<size = [3]>) {scale = 2.0 : f64}
      -> tensor<1x9x4x8xbf16>, tensor<1x9x2x8xbf16>, tensor<4x5xf32>
  %1:2 = na.av_grad
      ins(%s, %k, %q : tensor<1x9x4x3xf32>, tensor<1x9x2x8xbf16>,
                       tensor<1x9x4x8xbf16>)
      outs(%s, %k : tensor<1x9x4x3xf32>, tensor<1x9x2x8xbf16>)
      window(<size = [3]>) -> tensor<1x9x4x3xf32>, tensor<1x9x2x8xbf16>
  return %0#0, %0#1, %0#2, %1#0, %1#1
      : tensor<1x9x4x8xbf16>, tensor<1x9x2x8xbf16>, tensor<4x5xf32>,
        tensor<1x9x4x3xf32>, tensor<1x9x2x8xbf16>
}

// CHECK-LABEL: func @memrefs
// CHECK-NEXT:    na.qk_dq {{.*}} {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [8]>}
// CHECK-NEXT:    na.qk_dk {{.*}} {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [8]>}
// CHECK-NEXT:    return
func.func @memrefs(%q: memref<1x9x4x8xf32>, %s: memref<1x9x4x3xf32>) {
  na.qk_grad
      ins(%q, %q, %s : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>,
                       memref<1x9x4x3xf32>)
      outs(%q, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>)
      window(<size = [3]>)
      {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [8]>}
  return
}

// Nothing to do.

// CHECK-LABEL: func @others
// CHECK-NEXT:    na.av
// CHECK-NEXT:    na.qk_dk
// CHECK-NEXT:    return
func.func @others(%q: memref<1x9x4x8xf32>, %s: memref<1x9x4x3xf32>) {
  na.av ins(%s, %q : memref<1x9x4x3xf32>, memref<1x9x4x8xf32>)
      outs(%q : memref<1x9x4x8xf32>) window(<size = [3]>)
  na.qk_dk ins(%q, %s : memref<1x9x4x8xf32>, memref<1x9x4x3xf32>)
      outs(%q : memref<1x9x4x8xf32>) window(<size = [3]>)
  return
}
