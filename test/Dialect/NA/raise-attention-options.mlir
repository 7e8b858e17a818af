// RUN: na-opt %s -na-raise-attention="masked-below=-50" | FileCheck %s --check-prefix=BELOW
// RUN: na-opt %s -na-raise-attention="masked-below=-50 max-tokens=7 explain" 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: na-opt %s -na-raise-attention="masked-below=-50 max-tokens=8" 2>&1 | FileCheck %s --check-prefix=ENOUGH
// RUN: na-opt %s -na-raise-attention 2>&1 | FileCheck %s --check-prefix=DEFAULT

// BELOW: na.attention
// FEW-NOT: na.attention
// FEW: remark: attention is not raised: there are 8 tokens, more than 7
// FEW-NOT: na.attention
// ENOUGH-NOT: remark
// ENOUGH: na.attention
// ENOUGH-NOT: remark
// DEFAULT-NOT: {{na.attention|remark}}
// DEFAULT: linalg.softmax
// DEFAULT-NOT: {{na.attention|remark}}
#id = affine_map<(q, k) -> (q, k)>
func.func @soft_mask(%q: tensor<8x4xf32>, %kt: tensor<4x8xf32>,
                     %v: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %zeros = arith.constant dense<0.0> : tensor<8x8xf32>
  %zeros1 = arith.constant dense<0.0> : tensor<8x4xf32>
  %less = arith.constant -100.0 : f32
  %c3 = arith.constant 3 : index
  %d = tensor.empty() : tensor<8x8xf32>
  %s = linalg.matmul ins(%q, %kt : tensor<8x4xf32>, tensor<4x8xf32>)
      outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %l = linalg.generic {indexing_maps = [#id, #id],
                       iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<8x8xf32>) outs(%d : tensor<8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %distance = arith.subi %i, %j : index
    %sees = arith.cmpi ult, %distance, %c3 : index
    %smaller = arith.addf %in, %less : f32
    %0 = arith.select %sees, %in, %smaller : f32
    linalg.yield %0 : f32
  } -> tensor<8x8xf32>
  %p = linalg.softmax dimension(1) ins(%l : tensor<8x8xf32>)
      outs(%d : tensor<8x8xf32>) -> tensor<8x8xf32>
  %o = linalg.matmul ins(%p, %v : tensor<8x8xf32>, tensor<8x4xf32>)
      outs(%zeros1 : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %o : tensor<8x4xf32>
}
