// RUN: na-opt %s -na-decompose-attention -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-DAG:   #[[ALL:map[0-9]*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-DAG:   #[[ROW:map[0-9]*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-LABEL: func @plain
// CHECK-SAME:    (%[[Q:[a-z0-9_]+]]: tensor<1x56x2x32xf32>, %[[K:[a-z0-9_]+]]: tensor<1x56x2x32xf32>, %[[V:[a-z0-9_]+]]: tensor<1x56x2x16xf32>, %[[O:[a-z0-9_]+]]: tensor<1x56x2x16xf32>)
// CHECK:         %[[S0:[a-z0-9_]+]] = tensor.empty() : tensor<1x56x2x7xf32>
// CHECK:         %[[S:[a-z0-9_]+]] = na.qk ins(%[[Q]], %[[K]] :
// CHECK-SAME:      outs(%[[S0]] : tensor<1x56x2x7xf32>) window(<size = [7]>)
// CHECK-NOT:       schedule
// CHECK:         %[[NONE:[a-z0-9_]+]] = arith.constant 0xFF800000 : f32
// CHECK:         %[[MAX0:[a-z0-9_]+]] = linalg.fill ins(%[[NONE]] : f32)
// CHECK:         %[[MAX:[a-z0-9_]+]] = linalg.generic {indexing_maps = [#[[ALL]], #[[ROW]]], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%[[S]] : {{.*}}) outs(%[[MAX0]] :
// CHECK-NEXT:    ^bb0(%[[IN:[a-z0-9_]+]]: f32, %[[OUT:[a-z0-9_]+]]: f32):
// CHECK-NEXT:      %[[GREATER:[a-z0-9_]+]] = arith.cmpf ogt, %[[IN]], %[[OUT]] : f32
// CHECK-NEXT:      %[[SELECT:[a-z0-9_]+]] = arith.select %[[GREATER]], %[[IN]], %[[OUT]] : f32
// CHECK-NEXT:      linalg.yield %[[SELECT]]
// CHECK:         %[[EXP:[a-z0-9_]+]] = linalg.generic {indexing_maps = [#[[ROW]], #[[ALL]]], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%[[MAX]] : {{.*}}) outs(%[[S]] :
// CHECK-NEXT:    ^bb0(%[[IN:[a-z0-9_]+]]: f32, %[[OUT:[a-z0-9_]+]]: f32):
// CHECK-NEXT:      %[[SUB:[a-z0-9_]+]] = arith.subf %[[OUT]], %[[IN]] : f32
// CHECK-NEXT:      %[[E:[a-z0-9_]+]] = math.exp %[[SUB]] : f32
// CHECK-NEXT:      linalg.yield %[[E]]
// CHECK:         %[[SUM:[a-z0-9_]+]] = linalg.generic {indexing_maps = [#[[ALL]], #[[ROW]]], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%[[EXP]] :
// CHECK:           arith.addf
// CHECK:         %[[INV:[a-z0-9_]+]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel"]} ins(%[[SUM]] : tensor<1x56x2xf32>)
// CHECK-NEXT:    ^bb0(%[[IN:[a-z0-9_]+]]: f32, %{{.*}}: f32):
// CHECK-NEXT:      %[[ONE:[a-z0-9_]+]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:      arith.divf %[[ONE]], %[[IN]] : f32
// CHECK:         %[[W:[a-z0-9_]+]] = linalg.generic {indexing_maps = [#[[ROW]], #[[ALL]]], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%[[INV]] : {{.*}}) outs(%[[EXP]] :
// CHECK-NEXT:    ^bb0(%[[IN:[a-z0-9_]+]]: f32, %[[OUT:[a-z0-9_]+]]: f32):
// CHECK-NEXT:      arith.mulf %[[OUT]], %[[IN]] : f32
// CHECK:         %[[R:[a-z0-9_]+]] = na.av ins(%[[W]], %[[V]] : tensor<1x56x2x7xf32>, tensor<1x56x2x16xf32>)
// CHECK-SAME:      outs(%[[O]] : tensor<1x56x2x16xf32>) window(<size = [7]>)
// CHECK-NOT:     math.log
// CHECK:         return %[[R]]
func.func @plain(%q: tensor<1x56x2x32xf32>, %k: tensor<1x56x2x32xf32>,
                 %v: tensor<1x56x2x16xf32>, %o: tensor<1x56x2x16xf32>)
    -> tensor<1x56x2x16xf32> {
  %0 = na.attention
      ins(%q, %k, %v : tensor<1x56x2x32xf32>, tensor<1x56x2x32xf32>,
                       tensor<1x56x2x16xf32>)
      outs(%o : tensor<1x56x2x16xf32>) window(<size = [7]>)
      -> tensor<1x56x2x16xf32>
  return %0 : tensor<1x56x2x16xf32>
}

// -----

// Bias, scale and schedule go to the products; sizes come from the operands.
// Weights stay in f32, the output is rounded once.

// CHECK-LABEL: func @options
// CHECK-SAME:    (%[[Q:[a-z0-9_]+]]: tensor<?x?x?x4x8xbf16>, %[[K:[a-z0-9_]+]]: tensor<?x?x?x2x8xbf16>, %[[V:[a-z0-9_]+]]: tensor<?x?x?x2x8xbf16>, %[[BIAS:[a-z0-9_]+]]: tensor<4x5x3xf32>, %[[O:[a-z0-9_]+]]: tensor<?x?x?x4x8xbf16>, %[[L:[a-z0-9_]+]]: tensor<?x?x?x4xf32>)
// CHECK:         %[[B:[a-z0-9_]+]] = tensor.dim %[[Q]], %c0
// CHECK:         %[[X:[a-z0-9_]+]] = tensor.dim %[[Q]], %c1
// CHECK:         %[[Y:[a-z0-9_]+]] = tensor.dim %[[Q]], %c2
// CHECK:         tensor.empty(%[[B]], %[[X]], %[[Y]]) : tensor<?x?x?x4x6xf32>
// CHECK:         %[[S:[a-z0-9_]+]] = na.qk ins(%[[Q]], %[[K]] : {{.*}}) bias(%[[BIAS]] :
// CHECK-SAME:      window(<size = [3, 2], dilation = [1, 2], causal = [true, false]>)
// CHECK-SAME:      {scale = 5.000000e-01 : f64, schedule = #na.schedule<target = "cpu", query_tile = [2, 8], key_tile = [4, 4]>}
// CHECK:         %[[MAX:[a-z0-9_]+]] = linalg.generic {{.*}} ins(%[[S]] :
// CHECK:         %[[SUM:[a-z0-9_]+]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<?x?x?x4xf32>)
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      arith.addf
// CHECK:         %[[LSE:[a-z0-9_]+]] = linalg.generic {{.*}} ins(%[[MAX]], %[[SUM]] : {{.*}}) outs(%[[L]] :
// CHECK-NEXT:    ^bb0(%[[M:[a-z0-9_]+]]: f32, %[[T:[a-z0-9_]+]]: f32,
// CHECK-NEXT:      %[[LOG:[a-z0-9_]+]] = math.log %[[T]] : f32
// CHECK-NEXT:      arith.addf %[[M]], %[[LOG]] : f32
// CHECK:         %[[R:[a-z0-9_]+]] = na.av ins(%{{.*}}, %[[V]] : tensor<?x?x?x4x6xf32>, tensor<?x?x?x2x8xbf16>) outs(%[[O]] :
// CHECK-SAME:      {schedule = #na.schedule<target = "cpu", query_tile = [2, 8], key_tile = [4, 4]>}
// CHECK:         return %[[R]], %[[LSE]]
func.func @options(%q: tensor<?x?x?x4x8xbf16>, %k: tensor<?x?x?x2x8xbf16>,
                   %v: tensor<?x?x?x2x8xbf16>, %bias: tensor<4x5x3xf32>,
                   %o: tensor<?x?x?x4x8xbf16>, %l: tensor<?x?x?x4xf32>)
    -> (tensor<?x?x?x4x8xbf16>, tensor<?x?x?x4xf32>) {
  %0:2 = na.attention
      ins(%q, %k, %v : tensor<?x?x?x4x8xbf16>, tensor<?x?x?x2x8xbf16>,
                       tensor<?x?x?x2x8xbf16>)
      bias(%bias : tensor<4x5x3xf32>)
      outs(%o, %l : tensor<?x?x?x4x8xbf16>, tensor<?x?x?x4xf32>)
      window(<size = [3, 2], dilation = [1, 2], causal = [true, false]>)
      {scale = 0.5 : f64, schedule = #na.schedule<
         target = "cpu", query_tile = [2, 8], key_tile = [4, 4]>}
      -> tensor<?x?x?x4x8xbf16>, tensor<?x?x?x4xf32>
  return %0#0, %0#1 : tensor<?x?x?x4x8xbf16>, tensor<?x?x?x4xf32>
}

// -----

// Both parts are in f32 until they are joined.

// CHECK-DAG:   #[[QUERY:map[0-9]*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d5)>
// CHECK-DAG:   #[[KEY:map[0-9]*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d2, d5)>
// CHECK-DAG:   #[[LOGIT:map[0-9]*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>
// CHECK-LABEL: func @additional
// CHECK-SAME:    (%[[Q:[a-z0-9_]+]]: tensor<2x9x6x4xf16>, %[[K:[a-z0-9_]+]]: tensor<2x9x2x4xf16>, %[[V:[a-z0-9_]+]]: tensor<2x9x2x5xf16>, %[[EK:[a-z0-9_]+]]: tensor<2x?x2x4xf16>, %[[EV:[a-z0-9_]+]]: tensor<2x?x2x5xf16>, %[[O:[a-z0-9_]+]]: tensor<2x9x6x5xf16>, %[[L:[a-z0-9_]+]]: tensor<2x9x6xf32>)
// CHECK:         %[[WIDE:[a-z0-9_]+]] = linalg.generic {{.*}} ins(%[[V]] : {{.*}}) outs(%{{.*}} : tensor<2x9x2x5xf32>)
// CHECK-NEXT:    ^bb0(%[[IN:[a-z0-9_]+]]: f16
// CHECK-NEXT:      arith.extf %[[IN]] : f16 to f32
// CHECK:         %[[O0:[a-z0-9_]+]] = na.av ins(%{{.*}}, %[[WIDE]] : {{.*}}) outs(%{{.*}} : tensor<2x9x6x5xf32>)
// CHECK:         %[[L0:[a-z0-9_]+]] = linalg.generic
// CHECK:           math.log
// CHECK:         %[[GROUPS:[a-z0-9_]+]] = tensor.expand_shape %[[Q]] {{\[\[}}0], [1], [2, 3], [4]] output_shape [2, 9, 2, 3, 4]
// CHECK:         %[[T:[a-z0-9_]+]] = tensor.dim %[[EK]], %c1
// CHECK:         tensor.empty(%[[T]]) : tensor<2x9x2x3x?xf32>
// CHECK:         %[[DOT:[a-z0-9_]+]] = linalg.contract indexing_maps = [#[[QUERY]], #[[KEY]], #[[LOGIT]]] ins(%[[GROUPS]], %[[EK]] :
// CHECK:         %[[LOGITS:[a-z0-9_]+]] = linalg.generic {{.*}} outs(%[[DOT]] :
// CHECK:           arith.constant 5.000000e-01 : f32
// CHECK:           arith.mulf
// CHECK:         linalg.contract indexing_maps = [#[[LOGIT]], #[[KEY]], #[[QUERY]]] ins(%{{.*}}, %[[EV]] : tensor<2x9x2x3x?xf32>, tensor<2x?x2x5xf16>)
// CHECK:         %[[O1:[a-z0-9_]+]] = tensor.collapse_shape {{.*}} into tensor<2x9x6x5xf32>
// CHECK:         %[[L1:[a-z0-9_]+]] = tensor.collapse_shape {{.*}} into tensor<2x9x6xf32>
// CHECK:         na.merge ins(%[[O0]], %[[O1]] : {{.*}}) lses(%[[L0]], %[[L1]] : {{.*}}) outs(%[[O]], %[[L]] : tensor<2x9x6x5xf16>, tensor<2x9x6xf32>)
func.func @additional(%q: tensor<2x9x6x4xf16>, %k: tensor<2x9x2x4xf16>,
                      %v: tensor<2x9x2x5xf16>, %ek: tensor<2x?x2x4xf16>,
                      %ev: tensor<2x?x2x5xf16>, %o: tensor<2x9x6x5xf16>,
                      %l: tensor<2x9x6xf32>)
    -> (tensor<2x9x6x5xf16>, tensor<2x9x6xf32>) {
  %0:2 = na.attention
      ins(%q, %k, %v : tensor<2x9x6x4xf16>, tensor<2x9x2x4xf16>,
                       tensor<2x9x2x5xf16>)
      additional(%ek, %ev : tensor<2x?x2x4xf16>, tensor<2x?x2x5xf16>)
      outs(%o, %l : tensor<2x9x6x5xf16>, tensor<2x9x6xf32>)
      window(<size = [3]>) -> tensor<2x9x6x5xf16>, tensor<2x9x6xf32>
  return %0#0, %0#1 : tensor<2x9x6x5xf16>, tensor<2x9x6xf32>
}

// -----

// CHECK-LABEL: func @memrefs
// CHECK-SAME:    (%[[Q:[a-z0-9_]+]]: memref<2x9x2x4xf64>, {{.*}}, %[[O:[a-z0-9_]+]]: memref<2x9x2x4xf64>)
// CHECK:         %[[QT:[a-z0-9_]+]] = bufferization.to_tensor %[[Q]] restrict :
// CHECK:         %[[OT:[a-z0-9_]+]] = bufferization.to_tensor %[[O]] restrict writable :
// CHECK:         na.qk ins(%[[QT]],
// CHECK-SAME:      tensor<2x9x2x3xf64>
// CHECK:         %[[R:[a-z0-9_]+]] = na.av {{.*}} outs(%[[OT]] :
// CHECK:         bufferization.materialize_in_destination %[[R]] in restrict writable %[[O]]
// CHECK-NEXT:    return
func.func @memrefs(%q: memref<2x9x2x4xf64>, %k: memref<2x9x2x4xf64>,
                   %v: memref<2x9x2x4xf64>, %o: memref<2x9x2x4xf64>) {
  na.attention
      ins(%q, %k, %v : memref<2x9x2x4xf64>, memref<2x9x2x4xf64>,
                       memref<2x9x2x4xf64>)
      outs(%o : memref<2x9x2x4xf64>) window(<size = [3]>)
  return
}

// -----

// Grouping the heads needs their numbers.

// CHECK-LABEL: func @dynamic_heads
// CHECK-NOT:     na.qk
// CHECK:         na.attention
func.func @dynamic_heads(%q: tensor<2x9x?x4xf32>, %k: tensor<2x9x?x4xf32>,
                         %ek: tensor<2x3x?x4xf32>) -> tensor<2x9x?x4xf32> {
  // expected-remark @below {{has additional keys, and heads or the default of the scale are dynamic: left for the naive lowering}}
  %0 = na.attention
      ins(%q, %k, %k : tensor<2x9x?x4xf32>, tensor<2x9x?x4xf32>,
                       tensor<2x9x?x4xf32>)
      additional(%ek, %ek : tensor<2x3x?x4xf32>, tensor<2x3x?x4xf32>)
      outs(%q : tensor<2x9x?x4xf32>) window(<size = [3]>)
      -> tensor<2x9x?x4xf32>
  return %0 : tensor<2x9x?x4xf32>
}

// -----

// Nothing to do.

// CHECK-LABEL: func @products
// CHECK-NEXT:    na.qk
// CHECK-NEXT:    return
func.func @products(%q: tensor<1x56x2x32xf32>, %s: tensor<1x56x2x7xf32>)
    -> tensor<1x56x2x7xf32> {
  %0 = na.qk ins(%q, %q : tensor<1x56x2x32xf32>, tensor<1x56x2x32xf32>)
      outs(%s : tensor<1x56x2x7xf32>) window(<size = [7]>)
      -> tensor<1x56x2x7xf32>
  return %0 : tensor<1x56x2x7xf32>
}
