// RUN: na-opt %s --canonicalize | FileCheck %s

// A stride that has no effect goes, and so does a value that a destination is
// filled with.

// CHECK-LABEL: func @windows
// CHECK:       na.attention_grad {{.*}} outs(%[[A:.*]], %[[A]], %[[A]] : {{.*}} window(<size = [8]>)
// CHECK:       na.attention_dq {{.*}} window(<size = [8]>)
// CHECK:       na.attention_dkv {{.*}} window(<size = [8]>)
// CHECK:       na.attention_dbias {{.*}} window(<size = [8]>)
// CHECK:       na.qk_grad {{.*}} window(<size = [8]>)
// CHECK:       na.av_grad {{.*}} window(<size = [8]>)
func.func @windows(%q: memref<2x8x4x16xf32>, %l: memref<2x8x4xf32>,
                   %b: memref<4x15xf32>, %s: memref<2x8x4x8xf32>) {
  na.attention_grad
      ins(%q, %q, %q, %q, %l, %q
          : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
            memref<2x8x4x16xf32>, memref<2x8x4xf32>, memref<2x8x4x16xf32>)
      outs(%q, %q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
                        memref<2x8x4x16xf32>)
      window(<size = [8], stride = [2]>)
  na.attention_dq
      ins(%q, %q, %q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
                           memref<2x8x4x16xf32>, memref<2x8x4x16xf32>)
      stats(%l, %l : memref<2x8x4xf32>, memref<2x8x4xf32>)
      outs(%q : memref<2x8x4x16xf32>) window(<size = [8], stride = [2]>)
  na.attention_dkv
      ins(%q, %q, %q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
                           memref<2x8x4x16xf32>, memref<2x8x4x16xf32>)
      stats(%l, %l : memref<2x8x4xf32>, memref<2x8x4xf32>)
      outs(%q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>)
      window(<size = [8], stride = [2]>)
  na.attention_dbias
      ins(%q, %q, %q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
                           memref<2x8x4x16xf32>, memref<2x8x4x16xf32>)
      stats(%l, %l : memref<2x8x4xf32>, memref<2x8x4xf32>)
      bias(%b : memref<4x15xf32>) outs(%b : memref<4x15xf32>)
      window(<size = [8], stride = [2]>)
  na.qk_grad
      ins(%q, %q, %s : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
                       memref<2x8x4x8xf32>)
      outs(%q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>)
      window(<size = [8], stride = [2]>)
  na.av_grad
      ins(%s, %q, %q : memref<2x8x4x8xf32>, memref<2x8x4x16xf32>,
                       memref<2x8x4x16xf32>)
      outs(%s, %q : memref<2x8x4x8xf32>, memref<2x8x4x16xf32>)
      window(<size = [8], stride = [2]>)
  return
}

// The table of a bias tells no length: 15 is not that of the axis.

// CHECK-LABEL: func @bias_is_no_axis
// CHECK:       na.attention_dbias {{.*}} window(<size = [15], stride = [2]>)
func.func @bias_is_no_axis(%q: memref<2x?x4x16xf32>, %l: memref<2x?x4xf32>,
                           %b: memref<4x29xf32>) {
  na.attention_dbias
      ins(%q, %q, %q, %q : memref<2x?x4x16xf32>, memref<2x?x4x16xf32>,
                           memref<2x?x4x16xf32>, memref<2x?x4x16xf32>)
      stats(%l, %l : memref<2x?x4xf32>, memref<2x?x4xf32>)
      bias(%b : memref<4x29xf32>) outs(%b : memref<4x29xf32>)
      window(<size = [15], stride = [2]>)
  return
}

// CHECK-LABEL: func @fills
// CHECK-SAME:  %[[D:[a-z0-9]+]]: tensor<2x8x4x16xf32>)
// CHECK-NOT:   linalg.fill
// CHECK:       na.attention_dq
// CHECK-NOT:     additional
// CHECK-SAME:    outs(%[[D]] :
func.func @fills(%q: tensor<2x8x4x16xf32>, %l: tensor<2x8x4xf32>,
                 %e: tensor<2x0x4x16xf32>, %d: tensor<2x8x4x16xf32>)
    -> tensor<2x8x4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%d : tensor<2x8x4x16xf32>)
      -> tensor<2x8x4x16xf32>
  %0 = na.attention_dq
      ins(%q, %q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                           tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      stats(%l, %l : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      additional(%e, %e : tensor<2x0x4x16xf32>, tensor<2x0x4x16xf32>)
      outs(%f : tensor<2x8x4x16xf32>) window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return %0 : tensor<2x8x4x16xf32>
}
