// RUN: na-reduce %s -reduction-tree='traversal-mode=0 test=%S/Inputs/holds-attention.sh' | FileCheck %s

// What the script does not ask for goes; the operation it asks for stays.

// CHECK-NOT: @unrelated
// CHECK-LABEL: func.func @kept
// CHECK: na.attention
// CHECK-NOT: @unrelated

func.func @unrelated(%x: f32) -> f32 {
  %0 = arith.addf %x, %x : f32
  return %0 : f32
}
func.func @kept(%q: tensor<1x8x2x4xf32>) -> tensor<1x8x2x4xf32> {
  %e = tensor.empty() : tensor<1x8x2x4xf32>
  %o = na.attention
      ins(%q, %q, %q : tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>,
                       tensor<1x8x2x4xf32>)
      outs(%e : tensor<1x8x2x4xf32>) window(<size = [3]>)
      -> tensor<1x8x2x4xf32>
  return %o : tensor<1x8x2x4xf32>
}
