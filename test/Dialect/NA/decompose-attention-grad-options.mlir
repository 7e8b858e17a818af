// RUN: na-opt %s -na-decompose-attention-grad=unfused -verify-diagnostics | FileCheck %s
// RUN: na-opt %s -na-decompose-attention-grad="unfused weights-limit=3528" | FileCheck %s --check-prefix=LIMIT

// 2 * 9 * 7 rows of 7 slots of 4 bytes. The weights come from the LSE.

// CHECK-DAG:   #[[ALL:map[0-9]*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-DAG:   #[[ROW:map[0-9]*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-LABEL: func @fits
// CHECK-SAME:    (%[[Q:[a-z0-9_]+]]: tensor<2x9x7x8xf16>, %[[L:[a-z0-9_]+]]: tensor<2x9x7xf32>, %[[B:[a-z0-9_]+]]: tensor<7x13xf32>)
// CHECK:         %[[DELTA:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
// CHECK:         %[[S:.*]] = na.qk ins(%[[Q]], %[[Q]] : {{.*}}) bias(%[[B]] : {{.*}}) outs({{.*}} : tensor<2x9x7x7xf32>) window(<size = [7]>) {scale = 5.000000e-01 : f64}
// CHECK:         %[[W:.*]] = linalg.generic {indexing_maps = [#[[ROW]], #[[ALL]]], {{.*}} ins(%[[L]] : {{.*}}) outs(%[[S]] :
// CHECK-NEXT:    ^bb0(%[[LSE:.*]]: f32, %[[SCORE:.*]]: f32):
// CHECK-NEXT:      %[[SHIFTED:.*]] = arith.subf %[[SCORE]], %[[LSE]]
// CHECK-NEXT:      math.exp %[[SHIFTED]]
// CHECK:         %[[AV:.*]]:2 = na.av_grad ins(%[[W]], %[[Q]], %[[Q]] : {{.*}}) outs({{.*}}) window(<size = [7]>)
// CHECK:         %[[DS:.*]] = linalg.generic {indexing_maps = [#[[ALL]], #[[ROW]], #[[ALL]]], {{.*}} ins(%[[W]], %[[DELTA]] : {{.*}}) outs(%[[AV]]#0 :
// CHECK-NEXT:    ^bb0(%[[WEIGHT:.*]]: f32, %[[MEAN:.*]]: f32, %[[GRAD:.*]]: f32):
// CHECK-NEXT:      %[[CENTRED:.*]] = arith.subf %[[GRAD]], %[[MEAN]]
// CHECK-NEXT:      arith.mulf %[[WEIGHT]], %[[CENTRED]]
// CHECK:         %[[QK:.*]]:3 = na.qk_grad ins(%[[Q]], %[[Q]], %[[DS]] : {{.*}}) outs({{.*}}) dbias({{.*}}) window(<size = [7]>) {scale = 5.000000e-01 : f64}
// CHECK:         return %[[QK]]#0, %[[QK]]#1, %[[AV]]#1, %[[QK]]#2
// LIMIT-LABEL: func @fits
// LIMIT:         na.qk_grad
func.func @fits(%q: tensor<2x9x7x8xf16>, %lse: tensor<2x9x7xf32>,
                %b: tensor<7x13xf32>)
    -> (tensor<2x9x7x8xf16>, tensor<2x9x7x8xf16>, tensor<2x9x7x8xf16>,
        tensor<7x13xf32>) {
  %g:4 = na.attention_grad
      ins(%q, %q, %q, %q, %lse, %q
          : tensor<2x9x7x8xf16>, tensor<2x9x7x8xf16>, tensor<2x9x7x8xf16>,
            tensor<2x9x7x8xf16>, tensor<2x9x7xf32>, tensor<2x9x7x8xf16>)
      bias(%b : tensor<7x13xf32>)
      outs(%q, %q, %q : tensor<2x9x7x8xf16>, tensor<2x9x7x8xf16>,
                        tensor<2x9x7x8xf16>)
      dbias(%b : tensor<7x13xf32>) window(<size = [7]>) {scale = 0.5 : f64}
      -> tensor<2x9x7x8xf16>, tensor<2x9x7x8xf16>, tensor<2x9x7x8xf16>,
         tensor<7x13xf32>
  return %g#0, %g#1, %g#2, %g#3
      : tensor<2x9x7x8xf16>, tensor<2x9x7x8xf16>, tensor<2x9x7x8xf16>,
        tensor<7x13xf32>
}

// One query more.

// CHECK-LABEL: func @larger
// CHECK:         na.qk_grad
// LIMIT-LABEL: func @larger
// LIMIT-NOT:     na.qk
// LIMIT:         na.attention_dq
// LIMIT:         na.attention_dkv
func.func @larger(%q: tensor<2x10x7x8xf16>, %lse: tensor<2x10x7xf32>)
    -> tensor<2x10x7x8xf16> {
  %g:3 = na.attention_grad
      ins(%q, %q, %q, %q, %lse, %q
          : tensor<2x10x7x8xf16>, tensor<2x10x7x8xf16>, tensor<2x10x7x8xf16>,
            tensor<2x10x7x8xf16>, tensor<2x10x7xf32>, tensor<2x10x7x8xf16>)
      outs(%q, %q, %q : tensor<2x10x7x8xf16>, tensor<2x10x7x8xf16>,
                        tensor<2x10x7x8xf16>) window(<size = [7]>)
      -> tensor<2x10x7x8xf16>, tensor<2x10x7x8xf16>, tensor<2x10x7x8xf16>
  return %g#0 : tensor<2x10x7x8xf16>
}

// CHECK-LABEL: func @additional
// CHECK-NOT:     na.qk
// CHECK:         na.attention_dq
func.func @additional(%q: tensor<2x10x7x8xf16>, %lse: tensor<2x10x7xf32>)
    -> tensor<2x10x7x8xf16> {
  // expected-remark @+1 {{has additional keys: its gradients have no unfused form}}
  %g:3 = na.attention_grad
      ins(%q, %q, %q, %q, %lse, %q
          : tensor<2x10x7x8xf16>, tensor<2x10x7x8xf16>, tensor<2x10x7x8xf16>,
            tensor<2x10x7x8xf16>, tensor<2x10x7xf32>, tensor<2x10x7x8xf16>)
      additional(%q, %q : tensor<2x10x7x8xf16>, tensor<2x10x7x8xf16>)
      outs(%q, %q, %q : tensor<2x10x7x8xf16>, tensor<2x10x7x8xf16>,
                        tensor<2x10x7x8xf16>) window(<size = [7]>)
      -> tensor<2x10x7x8xf16>, tensor<2x10x7x8xf16>, tensor<2x10x7x8xf16>
  return %g#0 : tensor<2x10x7x8xf16>
}
