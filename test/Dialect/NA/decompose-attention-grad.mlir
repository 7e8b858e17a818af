// RUN: na-opt %s -na-decompose-attention-grad -split-input-file | FileCheck %s

// CHECK-DAG:   #[[ALL:map[0-9]*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-DAG:   #[[ROW:map[0-9]*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-LABEL: func @plain
// CHECK-SAME:    (%[[Q:[a-z0-9_]+]]: tensor<1x56x4x32xf32>, %[[K:[a-z0-9_]+]]: tensor<1x56x2x32xf32>, %[[V:[a-z0-9_]+]]: tensor<1x56x2x16xf32>, %[[O:[a-z0-9_]+]]: tensor<1x56x4x16xf32>, %[[LSE:[a-z0-9_]+]]: tensor<1x56x4xf32>, %[[DO:[a-z0-9_]+]]: tensor<1x56x4x16xf32>, %[[DQ0:[a-z0-9_]+]]: tensor<1x56x4x32xf32>)
// CHECK:         %[[E:[a-z0-9_]+]] = tensor.empty() : tensor<1x56x4xf32>
// CHECK:         %[[ZERO:[a-z0-9_]+]] = arith.constant 0.000000e+00 : f32
// CHECK:         %[[ZEROS:[a-z0-9_]+]] = linalg.fill ins(%[[ZERO]] : f32) outs(%[[E]] :
// CHECK:         %[[DELTA:[a-z0-9_]+]] = linalg.generic {indexing_maps = [#[[ALL]], #[[ALL]], #[[ROW]]], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%[[O]], %[[DO]] : {{.*}}) outs(%[[ZEROS]] :
// CHECK-NEXT:    ^bb0(%[[A:[a-z0-9_]+]]: f32, %[[B:[a-z0-9_]+]]: f32, %[[S:[a-z0-9_]+]]: f32):
// CHECK-NEXT:      %[[P:[a-z0-9_]+]] = arith.mulf %[[A]], %[[B]] : f32
// CHECK-NEXT:      arith.addf %[[S]], %[[P]] : f32
// CHECK:         %[[DQ:[a-z0-9_]+]] = na.attention_dq ins(%[[Q]], %[[K]], %[[V]], %[[DO]] : {{.*}}) stats(%[[LSE]], %[[DELTA]] : tensor<1x56x4xf32>, tensor<1x56x4xf32>) outs(%[[DQ0]] : tensor<1x56x4x32xf32>) window(<size = [7]>) ->
// CHECK:         %[[DKV:[a-z0-9_]+]]:2 = na.attention_dkv ins(%[[Q]], %[[K]], %[[V]], %[[DO]] : {{.*}}) stats(%[[LSE]], %[[DELTA]] : {{.*}}) outs(%[[K]], %[[V]] : tensor<1x56x2x32xf32>, tensor<1x56x2x16xf32>) window(<size = [7]>) ->
// CHECK-NOT:     na.
// CHECK:         return %[[DQ]], %[[DKV]]#0, %[[DKV]]#1
func.func @plain(%q: tensor<1x56x4x32xf32>, %k: tensor<1x56x2x32xf32>,
                 %v: tensor<1x56x2x16xf32>, %o: tensor<1x56x4x16xf32>,
                 %lse: tensor<1x56x4xf32>, %do: tensor<1x56x4x16xf32>,
                 %dq0: tensor<1x56x4x32xf32>)
    -> (tensor<1x56x4x32xf32>, tensor<1x56x2x32xf32>, tensor<1x56x2x16xf32>) {
  %dq, %dk, %dv = na.attention_grad
      ins(%q, %k, %v, %o, %lse, %do
          : tensor<1x56x4x32xf32>, tensor<1x56x2x32xf32>,
            tensor<1x56x2x16xf32>, tensor<1x56x4x16xf32>, tensor<1x56x4xf32>,
            tensor<1x56x4x16xf32>)
      outs(%dq0, %k, %v : tensor<1x56x4x32xf32>, tensor<1x56x2x32xf32>,
                          tensor<1x56x2x16xf32>)
      window(<size = [7]>)
      -> tensor<1x56x4x32xf32>, tensor<1x56x2x32xf32>, tensor<1x56x2x16xf32>
  return %dq, %dk, %dv
      : tensor<1x56x4x32xf32>, tensor<1x56x2x32xf32>, tensor<1x56x2x16xf32>
}

// -----

// Everything at once: the gradient of the LSE is taken off, products of 16 bits
// are made in f32; bias, additional keys, scale and schedule go where they
// matter.

// CHECK-LABEL: func @options
// CHECK-SAME:    (%[[Q:[a-z0-9_]+]]: tensor<?x?x4x8xbf16>, %[[L:[a-z0-9_]+]]: tensor<?x?x4xf32>, %[[DL:[a-z0-9_]+]]: tensor<?x?x4xf32>, %[[BIAS:[a-z0-9_]+]]: tensor<4x5xf32>, %[[E:[a-z0-9_]+]]: tensor<?x3x4x8xbf16>)
// CHECK:         %[[NEG:[a-z0-9_]+]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel"]} ins(%[[DL]] :
// CHECK-NEXT:    ^bb0(%[[IN:[a-z0-9_]+]]: f32,
// CHECK-NEXT:      arith.negf %[[IN]] : f32
// CHECK:         %[[DELTA:[a-z0-9_]+]] = linalg.generic {{.*}} ins(%[[Q]], %[[Q]] : {{.*}}) outs(%[[NEG]] : tensor<?x?x4xf32>)
// CHECK-COUNT-2:   arith.extf %{{.*}} : bf16 to f32
// CHECK:         %[[DQ:[a-z0-9_]+]] = na.attention_dq {{.*}} stats(%[[L]], %[[DELTA]] : {{.*}}) bias(%[[BIAS]] : {{.*}}) additional(%[[E]], %[[E]] : {{.*}}) outs(%[[Q]] : {{.*}}) window(<size = [3], stride = [2]>) {scale = 5.000000e-01 : f64, schedule = #na.schedule<target = "cpu", query_tile = [8], key_tile = [4]>}
// CHECK:         na.attention_dkv {{.*}} stats(%[[L]], %[[DELTA]] : {{.*}}) bias(%[[BIAS]] : {{.*}}) outs({{.*}}) window(<size = [3], stride = [2]>) {scale = 5.000000e-01 : f64, schedule = #na.schedule<target = "cpu", query_tile = [8], key_tile = [4]>}
// CHECK:         %[[DB:[a-z0-9_]+]] = na.attention_dbias {{.*}} stats(%[[L]], %[[DELTA]] : {{.*}}) bias(%[[BIAS]] : {{.*}}) outs(%[[BIAS]] : {{.*}}) window(<size = [3], stride = [2]>) {scale = 5.000000e-01 : f64}
// CHECK:         %[[DE:[a-z0-9_]+]]:2 = na.attention_dadditional ins(%[[Q]], %[[Q]], %[[E]], %[[E]] : {{.*}}) stats(%[[L]], %[[DELTA]] : {{.*}}) outs(%[[E]], %[[E]] : {{.*}}) {scale = 5.000000e-01 : f64, schedule =
// CHECK:         return %[[DQ]], %[[DB]], %[[DE]]#1
func.func @options(%q: tensor<?x?x4x8xbf16>, %lse: tensor<?x?x4xf32>,
                   %dl: tensor<?x?x4xf32>, %bias: tensor<4x5xf32>,
                   %e: tensor<?x3x4x8xbf16>)
    -> (tensor<?x?x4x8xbf16>, tensor<4x5xf32>, tensor<?x3x4x8xbf16>) {
  %g:6 = na.attention_grad
      ins(%q, %q, %q, %q, %lse, %q
          : tensor<?x?x4x8xbf16>, tensor<?x?x4x8xbf16>, tensor<?x?x4x8xbf16>,
            tensor<?x?x4x8xbf16>, tensor<?x?x4xf32>, tensor<?x?x4x8xbf16>)
      dlse(%dl : tensor<?x?x4xf32>) bias(%bias : tensor<4x5xf32>)
      additional(%e, %e : tensor<?x3x4x8xbf16>, tensor<?x3x4x8xbf16>)
      outs(%q, %q, %q : tensor<?x?x4x8xbf16>, tensor<?x?x4x8xbf16>,
                        tensor<?x?x4x8xbf16>)
      dbias(%bias : tensor<4x5xf32>)
      dadditional(%e, %e : tensor<?x3x4x8xbf16>, tensor<?x3x4x8xbf16>)
      window(<size = [3], stride = [2]>)
      {scale = 0.5 : f64, deterministic,
       schedule = #na.schedule<target = "cpu", query_tile = [8],
                               key_tile = [4]>}
      -> tensor<?x?x4x8xbf16>, tensor<?x?x4x8xbf16>, tensor<?x?x4x8xbf16>,
         tensor<4x5xf32>, tensor<?x3x4x8xbf16>, tensor<?x3x4x8xbf16>
  return %g#0, %g#3, %g#5
      : tensor<?x?x4x8xbf16>, tensor<4x5xf32>, tensor<?x3x4x8xbf16>
}

// -----

// On memrefs the parts go to the destinations.

// CHECK-LABEL: func @memrefs
// CHECK-SAME:    (%[[Q:[a-z0-9_]+]]: memref<1x9x4x8xf64>, %[[L:[a-z0-9_]+]]: memref<1x9x4xf64>, %[[DQ0:[a-z0-9_]+]]: memref<1x9x4x8xf64>, %[[DK0:[a-z0-9_]+]]: memref<1x9x4x8xf64>, %[[DV0:[a-z0-9_]+]]: memref<1x9x4x8xf64>)
// CHECK:         %[[DQT:[a-z0-9_]+]] = bufferization.to_tensor %[[DQ0]] restrict writable
// CHECK:         %[[DQ:[a-z0-9_]+]] = na.attention_dq {{.*}} outs(%[[DQT]] : tensor<1x9x4x8xf64>)
// CHECK:         %[[DKV:[a-z0-9_]+]]:2 = na.attention_dkv
// CHECK:         bufferization.materialize_in_destination %[[DQ]] in restrict writable %[[DQ0]]
// CHECK:         bufferization.materialize_in_destination %[[DKV]]#0 in restrict writable %[[DK0]]
// CHECK:         bufferization.materialize_in_destination %[[DKV]]#1 in restrict writable %[[DV0]]
func.func @memrefs(%q: memref<1x9x4x8xf64>, %lse: memref<1x9x4xf64>,
                   %dq: memref<1x9x4x8xf64>, %dk: memref<1x9x4x8xf64>,
                   %dv: memref<1x9x4x8xf64>) {
  na.attention_grad
      ins(%q, %q, %q, %q, %lse, %q
          : memref<1x9x4x8xf64>, memref<1x9x4x8xf64>, memref<1x9x4x8xf64>,
            memref<1x9x4x8xf64>, memref<1x9x4xf64>, memref<1x9x4x8xf64>)
      outs(%dq, %dk, %dv : memref<1x9x4x8xf64>, memref<1x9x4x8xf64>,
                           memref<1x9x4x8xf64>)
      window(<size = [3]>)
  return
}

// -----

// Nothing to rewrite.

// CHECK-LABEL: func @other
// CHECK-NEXT:    na.attention
// CHECK-NOT:     linalg
// CHECK:         return
func.func @other(%q: memref<1x9x4x8xf32>, %o: memref<1x9x4x8xf32>) {
  na.attention
      ins(%q, %q, %q : memref<1x9x4x8xf32>, memref<1x9x4x8xf32>,
                       memref<1x9x4x8xf32>)
      outs(%o : memref<1x9x4x8xf32>) window(<size = [3]>)
  return
}
