// RUN: na-opt %s --mlir-print-op-generic | FileCheck %s

// The segments are query, key, value, bias, additional key, additional value,
// output, LSE.

// CHECK: "na.attention"(%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 0>, window = #na.window<size = [3]>}> : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
// CHECK: "na.attention"(
// CHECK-SAME: <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 1>, scale = 5.000000e-01 : f64, schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [6]>, window = #na.window<size = [3]>}>
// CHECK-SAME: -> (tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
func.func @attention(%q: tensor<2x8x4x16xf32>, %l: tensor<2x8x4xf32>,
                     %b: tensor<4x5xf32>, %e: tensor<2x3x4x16xf32>) {
  %0 = na.attention
      ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                       tensor<2x8x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>) window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  %1:2 = na.attention
      ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                       tensor<2x8x4x16xf32>)
      bias(%b : tensor<4x5xf32>)
      additional(%e, %e : tensor<2x3x4x16xf32>, tensor<2x3x4x16xf32>)
      outs(%q, %l : tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
      window(<size = [3]>)
      {scale = 0.5 : f64,
       schedule = #na.schedule<target = "cpu", query_tile = [4],
                               key_tile = [6]>}
      -> tensor<2x8x4x16xf32>, tensor<2x8x4xf32>
  return
}

// CHECK: "na.qk"(%{{.+}}, %{{.+}}, %{{.+}}) <{window = #na.window<size = [3]>}> : (memref<2x8x4x16xf32>, memref<2x8x4x16xf32>, memref<2x8x4x3xf32>) -> ()
// CHECK: "na.av"(%{{.+}}, %{{.+}}, %{{.+}}) <{window = #na.window<size = [3]>}> : (memref<2x8x4x3xf32>, memref<2x8x4x16xf32>, memref<2x8x4x16xf32>) -> ()
// CHECK: "na.merge"(%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}) <{operandSegmentSizes = array<i32: 2, 2, 1, 1>}>
func.func @others(%q: memref<2x8x4x16xf32>, %s: memref<2x8x4x3xf32>,
                  %l: memref<2x8x4xf32>) {
  na.qk ins(%q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>)
      outs(%s : memref<2x8x4x3xf32>) window(<size = [3]>)
  na.av ins(%s, %q : memref<2x8x4x3xf32>, memref<2x8x4x16xf32>)
      outs(%q : memref<2x8x4x16xf32>) window(<size = [3]>)
  na.merge ins(%q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>)
      lses(%l, %l : memref<2x8x4xf32>, memref<2x8x4xf32>)
      outs(%q, %l : memref<2x8x4x16xf32>, memref<2x8x4xf32>)
  return
}

// The generic form is read, with the segments in any place.

// CHECK: "na.attention"(%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 1>
// CHECK: "na.tile.mask"(%{{.+}}, %{{.+}}, %{{.+}}) <{axes = array<i64: 0>, box = array<i64: 16>, key_major, operandSegmentSizes = array<i32: 1, 1, 1, 0>}>
func.func @read(%q: memref<2x8x4x16xf32>, %l: memref<2x8x4xf32>,
                %t: memref<16x4xf32>, %r: memref<2x4xi32>, %i: index) {
  "na.attention"(%q, %q, %q, %q, %l)
      <{window = #na.window<size = [3]>,
        operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 1>}>
      : (memref<2x8x4x16xf32>, memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
         memref<2x8x4x16xf32>, memref<2x8x4xf32>) -> ()
  "na.tile.mask"(%t, %r, %i)
      <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, box = array<i64: 16>,
        axes = array<i64: 0>, key_major}>
      : (memref<16x4xf32>, memref<2x4xi32>, index) -> ()
  return
}
