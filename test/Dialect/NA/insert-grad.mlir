// RUN: na-opt %s -na-insert-grad -split-input-file | FileCheck %s

// The forward function stays; the backward one gets an LSE.

// CHECK-LABEL: func @attention(
// CHECK-NOT:     na.attention_grad
// CHECK:         return
// CHECK-LABEL: func @attention_grad(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: tensor<1x56x4x32xbf16>, %[[K:[a-z0-9]+]]: tensor<1x56x4x32xbf16>, %[[V:[a-z0-9]+]]: tensor<1x56x4x16xbf16>, %[[E:[a-z0-9]+]]: tensor<1x3x4x32xbf16>, %[[O0:[a-z0-9]+]]: tensor<1x56x4x16xbf16>, %[[N:[a-z0-9]+]]: index, %[[DO:[a-z0-9]+]]: tensor<1x56x4x16xbf16>)
// CHECK-SAME:    -> (tensor<1x56x4x32xbf16>, tensor<1x56x4x32xbf16>, tensor<1x56x4x16xbf16>, tensor<1x3x4x32xbf16>, tensor<1x56x4x16xbf16>)
// CHECK:         %[[LSE0:.*]] = tensor.empty() : tensor<1x56x4xf32>
// CHECK:         %[[A:.*]]:2 = na.attention ins(%[[Q]], %[[K]], %[[V]] : {{.*}}) outs(%[[O0]], %[[LSE0]] : {{.*}}) window(<size = [7]>) {scale = 5.000000e-01 : f64}
// CHECK:         %[[G:.*]]:3 = na.attention_grad ins(%[[Q]], %[[K]], %[[V]], %[[A]]#0, %[[A]]#1, %[[DO]] : {{.*}}) outs(
// CHECK-NOT:       dlse
// CHECK-SAME:      window(<size = [7]>) {scale = 5.000000e-01 : f64}
// Arguments that do not matter have zeros; a destination is not read.
// CHECK:         %[[Z1:.*]] = linalg.fill {{.*}} -> tensor<1x3x4x32xbf16>
// CHECK:         %[[Z2:.*]] = linalg.fill {{.*}} -> tensor<1x56x4x16xbf16>
// CHECK:         return %[[G]]#0, %[[G]]#1, %[[G]]#2, %[[Z1]], %[[Z2]]
func.func @attention(%q: tensor<1x56x4x32xbf16>, %k: tensor<1x56x4x32xbf16>,
                     %v: tensor<1x56x4x16xbf16>, %e: tensor<1x3x4x32xbf16>,
                     %o0: tensor<1x56x4x16xbf16>, %n: index)
    -> (tensor<1x56x4x16xbf16>, index) {
  %o = na.attention
      ins(%q, %k, %v : tensor<1x56x4x32xbf16>, tensor<1x56x4x32xbf16>,
                       tensor<1x56x4x16xbf16>)
      outs(%o0 : tensor<1x56x4x16xbf16>) window(<size = [7]>)
      {scale = 0.5 : f64}
      -> tensor<1x56x4x16xbf16>
  return %o, %n : tensor<1x56x4x16xbf16>, index
}

// -----

// Gradients of the parts' LSEs reach the parts; those of the query add up.

// CHECK-LABEL: func @merged_grad(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: tensor<1x56x4x32xf32>, %[[B:[a-z0-9]+]]: tensor<4x13xf32>, %[[E:[a-z0-9]+]]: tensor<1x3x4x32xf32>, %{{[a-z0-9]+}}: tensor<1x56x4x32xf32>, %{{[a-z0-9]+}}: tensor<1x56x4xf32>, %[[DO:[a-z0-9]+]]: tensor<1x56x4x32xf32>)
// CHECK:         %[[ONE:.*]]:2 = na.attention {{.*}} bias(%[[B]]
// CHECK:         %[[TWO:.*]]:2 = na.attention {{.*}} additional(%[[E]], %[[E]]
// CHECK:         na.merge
// CHECK:         %[[M:.*]]:4 = na.merge_grad ins(%[[ONE]]#0, %[[TWO]]#0 : {{.*}}) lses(%[[ONE]]#1, %[[TWO]]#1 : {{.*}}) grad(%[[DO]] :
// CHECK:         %[[G2:.*]]:5 = na.attention_grad ins(%[[Q]], %[[Q]], %[[Q]], %[[TWO]]#0, %[[TWO]]#1, %[[M]]#1 : {{.*}}) dlse(%[[M]]#3 : {{.*}}) additional(%[[E]], %[[E]] : {{.*}}) outs({{.*}}) dadditional(
// CHECK:         %[[G1:.*]]:4 = na.attention_grad ins(%[[Q]], %[[Q]], %[[Q]], %[[ONE]]#0, %[[ONE]]#1, %[[M]]#0 : {{.*}}) dlse(%[[M]]#2 : {{.*}}) bias(%[[B]] : {{.*}}) outs({{.*}}) dbias(
// CHECK:         arith.addf
func.func @merged(%q: tensor<1x56x4x32xf32>, %b: tensor<4x13xf32>,
                  %e: tensor<1x3x4x32xf32>, %o: tensor<1x56x4x32xf32>,
                  %l: tensor<1x56x4xf32>) -> tensor<1x56x4x32xf32> {
  %0:2 = na.attention
      ins(%q, %q, %q : tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>,
                       tensor<1x56x4x32xf32>)
      bias(%b : tensor<4x13xf32>)
      outs(%o, %l : tensor<1x56x4x32xf32>, tensor<1x56x4xf32>)
      window(<size = [7]>) -> tensor<1x56x4x32xf32>, tensor<1x56x4xf32>
  %1:2 = na.attention
      ins(%q, %q, %q : tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>,
                       tensor<1x56x4x32xf32>)
      additional(%e, %e : tensor<1x3x4x32xf32>, tensor<1x3x4x32xf32>)
      outs(%o, %l : tensor<1x56x4x32xf32>, tensor<1x56x4xf32>)
      window(<size = [5], dilation = [8]>)
      -> tensor<1x56x4x32xf32>, tensor<1x56x4xf32>
  %2 = na.merge
      ins(%0#0, %1#0 : tensor<1x56x4x32xf32>, tensor<1x56x4x32xf32>)
      lses(%0#1, %1#1 : tensor<1x56x4xf32>, tensor<1x56x4xf32>)
      outs(%o : tensor<1x56x4x32xf32>) -> tensor<1x56x4x32xf32>
  return %2 : tensor<1x56x4x32xf32>
}
