// RUN: na-opt %s --canonicalize | FileCheck %s

// Casts that forget sizes are folded into the operations.

// CHECK-LABEL: func @tensor_attention
// CHECK: %[[O:.+]] = na.attention ins(%{{.+}} : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) outs(%{{.+}} : tensor<2x8x4x16xf32>) {{.*}} -> tensor<2x8x4x16xf32>
// CHECK: tensor.cast %[[O]] : tensor<2x8x4x16xf32> to tensor<?x?x?x16xf32>
func.func @tensor_attention(%q: tensor<2x8x4x16xf32>) -> tensor<?x?x?x16xf32> {
  %c = tensor.cast %q : tensor<2x8x4x16xf32> to tensor<?x?x?x16xf32>
  %0 = na.attention
      ins(%c, %c, %c : tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>,
                       tensor<?x?x?x16xf32>)
      outs(%c : tensor<?x?x?x16xf32>) window(<size = [3]>)
      -> tensor<?x?x?x16xf32>
  return %0 : tensor<?x?x?x16xf32>
}

// CHECK-LABEL: func @tensor_others
// CHECK: na.qk ins(%{{.+}} : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
// CHECK: na.av ins(%{{.+}} : tensor<2x8x4x3xf32>, tensor<2x8x4x16xf32>)
// CHECK: na.merge ins(%{{.+}} : tensor<2x8x4x16xf32>)
func.func @tensor_others(%q: tensor<2x8x4x16xf32>, %s: tensor<2x8x4x3xf32>,
                         %l: tensor<2x8x4xf32>)
    -> (tensor<2x8x4x3xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) {
  %cq = tensor.cast %q : tensor<2x8x4x16xf32> to tensor<?x?x?x16xf32>
  %cs = tensor.cast %s : tensor<2x8x4x3xf32> to tensor<?x?x?x?xf32>
  %0 = na.qk ins(%cq, %cq : tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>)
      outs(%s : tensor<2x8x4x3xf32>) window(<size = [3]>)
      -> tensor<2x8x4x3xf32>
  %1 = na.av ins(%cs, %cq : tensor<?x?x?x?xf32>, tensor<?x?x?x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>) window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  %2 = na.merge ins(%cq : tensor<?x?x?x16xf32>) lses(%l : tensor<2x8x4xf32>)
      outs(%q : tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return %0, %1, %2
      : tensor<2x8x4x3xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>
}

// CHECK-LABEL: func @memref
// CHECK-NOT: memref.cast
// CHECK: na.attention ins(%{{.+}} : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>, memref<2x8x4x16xf32>) outs(%{{.+}} : memref<2x8x4x16xf32>)
// CHECK: na.qk ins(%{{.+}} : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>) outs(%{{.+}} : memref<2x8x4x3xf32>)
// CHECK: na.av ins(%{{.+}} : memref<2x8x4x3xf32>, memref<2x8x4x16xf32>)
// CHECK: na.merge ins(%{{.+}} : memref<2x8x4x16xf32>)
func.func @memref(%q: memref<2x8x4x16xf32>, %s: memref<2x8x4x3xf32>,
                  %l: memref<2x8x4xf32>) {
  %cq = memref.cast %q : memref<2x8x4x16xf32>
      to memref<?x?x?x16xf32, strided<[?, ?, ?, ?], offset: ?>>
  %cs = memref.cast %s : memref<2x8x4x3xf32> to memref<2x8x4x?xf32>
  na.attention
      ins(%cq, %cq, %cq :
          memref<?x?x?x16xf32, strided<[?, ?, ?, ?], offset: ?>>,
          memref<?x?x?x16xf32, strided<[?, ?, ?, ?], offset: ?>>,
          memref<?x?x?x16xf32, strided<[?, ?, ?, ?], offset: ?>>)
      outs(%cq : memref<?x?x?x16xf32, strided<[?, ?, ?, ?], offset: ?>>)
      window(<size = [3]>)
  na.qk
      ins(%cq, %cq : memref<?x?x?x16xf32, strided<[?, ?, ?, ?], offset: ?>>,
                     memref<?x?x?x16xf32, strided<[?, ?, ?, ?], offset: ?>>)
      outs(%cs : memref<2x8x4x?xf32>) window(<size = [3]>)
  na.av
      ins(%cs, %cq : memref<2x8x4x?xf32>,
                     memref<?x?x?x16xf32, strided<[?, ?, ?, ?], offset: ?>>)
      outs(%q : memref<2x8x4x16xf32>) window(<size = [3]>)
  na.merge
      ins(%cq : memref<?x?x?x16xf32, strided<[?, ?, ?, ?], offset: ?>>)
      lses(%l : memref<2x8x4xf32>) outs(%q : memref<2x8x4x16xf32>)
  return
}

// Casts that claim sizes stay: the operation relies on them.

// CHECK-LABEL: func @claims
// CHECK: tensor.cast
// CHECK: memref.cast
// CHECK: na.attention ins(%{{.+}} : tensor<2x8x4x16xf32>
// CHECK: na.attention ins(%{{.+}} : memref<2x8x4x16xf32>
func.func @claims(%q: tensor<?x?x?x?xf32>, %m: memref<?x?x?x?xf32>)
    -> tensor<2x8x4x16xf32> {
  %c = tensor.cast %q : tensor<?x?x?x?xf32> to tensor<2x8x4x16xf32>
  %cm = memref.cast %m : memref<?x?x?x?xf32> to memref<2x8x4x16xf32>
  %0 = na.attention
      ins(%c, %c, %c : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                       tensor<2x8x4x16xf32>)
      outs(%c : tensor<2x8x4x16xf32>) window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  na.attention
      ins(%cm, %cm, %cm : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
                          memref<2x8x4x16xf32>)
      outs(%cm : memref<2x8x4x16xf32>) window(<size = [3]>)
  return %0 : tensor<2x8x4x16xf32>
}
