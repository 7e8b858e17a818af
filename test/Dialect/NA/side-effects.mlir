// RUN: na-opt %s --canonicalize --cse | FileCheck %s

// On tensors an operation without uses is dead, and equal ones are one.

// CHECK-LABEL: func @dead_on_tensors
// CHECK-NEXT: return
func.func @dead_on_tensors(%q: tensor<2x8x4x16xf32>, %s: tensor<2x8x4x3xf32>,
                           %l: tensor<2x8x4xf32>, %r: tensor<2x4xi32>,
                           %m: memref<1x8x2x16xf32>, %t: tensor<4x16xf32>,
                           %i: index) {
  %0 = na.attention
      ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                       tensor<2x8x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>) window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  %1 = na.qk ins(%q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%s : tensor<2x8x4x3xf32>) window(<size = [3]>)
      -> tensor<2x8x4x3xf32>
  %2 = na.av ins(%s, %q : tensor<2x8x4x3xf32>, tensor<2x8x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>) window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  %3 = na.merge ins(%q : tensor<2x8x4x16xf32>) lses(%l : tensor<2x8x4xf32>)
      outs(%q : tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  %4 = na.tile.windows <size = [3]> at(%i) sizes(%i) box [4]
      into %r : tensor<2x4xi32> -> tensor<2x4xi32>
  %5 = na.tile.load %m[%i, %i] at(%i) box [4] dilation [1]
      into %t : memref<1x8x2x16xf32>, tensor<4x16xf32> -> tensor<4x16xf32>
  return
}

// CHECK-LABEL: func @equal_on_tensors
// CHECK: %[[O:.+]] = na.attention
// CHECK-NOT: na.attention
// CHECK: return %[[O]], %[[O]]
func.func @equal_on_tensors(%q: tensor<2x8x4x16xf32>)
    -> (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) {
  %0 = na.attention
      ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                       tensor<2x8x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>) window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  %1 = na.attention
      ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                       tensor<2x8x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>) window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return %0, %1 : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>
}

// On memrefs they write.

// CHECK-LABEL: func @kept_on_memrefs
// CHECK: na.attention
// CHECK: na.qk
// CHECK: na.av
// CHECK: na.merge
// CHECK: na.tile.windows
// CHECK: na.tile.load
// CHECK: na.tile.mask
// CHECK: na.tile.bias
// CHECK: na.tile.gather
// CHECK: na.tile.scatter
// CHECK: na.tile.store
// CHECK: na.tile.store
func.func @kept_on_memrefs(%q: memref<2x8x4x16xf32>, %s: memref<2x8x4x3xf32>,
                           %l: memref<2x8x4xf32>, %r: memref<2x4xi32>,
                           %m: memref<1x8x2x16xf32>, %t: memref<4x16xf32>,
                           %b: memref<2x5xf32>, %x: tensor<4x16xf32>,
                           %i: index) {
  na.attention
      ins(%q, %q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
                       memref<2x8x4x16xf32>)
      outs(%q : memref<2x8x4x16xf32>) window(<size = [3]>)
  na.qk ins(%q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>)
      outs(%s : memref<2x8x4x3xf32>) window(<size = [3]>)
  na.av ins(%s, %q : memref<2x8x4x3xf32>, memref<2x8x4x16xf32>)
      outs(%q : memref<2x8x4x16xf32>) window(<size = [3]>)
  na.merge ins(%q : memref<2x8x4x16xf32>) lses(%l : memref<2x8x4xf32>)
      outs(%q : memref<2x8x4x16xf32>)
  na.tile.windows <size = [3]> at(%i) sizes(%i) box [4] into %r : memref<2x4xi32>
  na.tile.load %m[%i, %i] at(%i) box [4] dilation [1]
      into %t : memref<1x8x2x16xf32>, memref<4x16xf32>
  na.tile.mask %t ranges(%r : memref<2x4xi32>) at(%i) box [16] axes [0]
      : memref<4x16xf32>
  na.tile.bias %t table(%b[%i] : memref<2x5xf32>) <size = [3]> query_at(%i)
      key_at(%i) query_box [4] key_box [16] : memref<4x16xf32>
  na.tile.gather %s[%i, %i] at(%i) ranges(%r : memref<2x4xi32>) key_at(%i)
      <size = [3]> query_box [4] key_box [16]
      into %t : memref<2x8x4x3xf32>, memref<4x16xf32>
  na.tile.scatter %t ranges(%r : memref<2x4xi32>) key_at(%i)
      into %s[%i, %i] at(%i) <size = [3]> query_box [4] key_box [16]
      : memref<4x16xf32>, memref<2x8x4x3xf32>
  na.tile.store %t into %m[%i, %i] at(%i) box [4] dilation [1]
      : memref<4x16xf32>, memref<1x8x2x16xf32>
  na.tile.store %x into %m[%i, %i] at(%i) box [4] dilation [1]
      : tensor<4x16xf32>, memref<1x8x2x16xf32>
  return
}

// A load reads its source: one after a store is another than one before.

// CHECK-LABEL: func @load_after_store
// CHECK: na.tile.load
// CHECK: na.tile.store
// CHECK: na.tile.load
func.func @load_after_store(%m: memref<1x8x2x16xf32>, %t: tensor<4x16xf32>,
                            %i: index) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %0 = na.tile.load %m[%i, %i] at(%i) box [4] dilation [1]
      into %t : memref<1x8x2x16xf32>, tensor<4x16xf32> -> tensor<4x16xf32>
  na.tile.store %t into %m[%i, %i] at(%i) box [4] dilation [1]
      : tensor<4x16xf32>, memref<1x8x2x16xf32>
  %1 = na.tile.load %m[%i, %i] at(%i) box [4] dilation [1]
      into %t : memref<1x8x2x16xf32>, tensor<4x16xf32> -> tensor<4x16xf32>
  return %0, %1 : tensor<4x16xf32>, tensor<4x16xf32>
}
