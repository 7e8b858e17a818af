// RUN: na-opt %s | na-opt | FileCheck %s
// RUN: na-opt %s --mlir-print-op-generic | na-opt | FileCheck %s
// RUN: na-opt %s --emit-bytecode | na-opt | FileCheck %s

// CHECK-LABEL: func @load
func.func @load(%s: memref<1x56x56x2x32xbf16>, %d: memref<?x?x?x?xf32>,
                %t: tensor<196x32xf32>, %u: tensor<32x196xf32>,
                %m: memref<8x32xf32>, %l: memref<1x56x56x2xf32>,
                %n: tensor<196xf32>, %i: index) {
  // CHECK: na.tile.load %{{.+}}[%{{.+}}, %{{.+}}] at(%{{.+}}, %{{.+}}) box [14, 14] dilation [1, 2] into %{{.+}} : memref<1x56x56x2x32xbf16>, tensor<196x32xf32> -> tensor<196x32xf32>
  %0 = na.tile.load %s[%i, %i] at(%i, %i) box [14, 14] dilation [1, 2]
      into %t : memref<1x56x56x2x32xbf16>, tensor<196x32xf32>
      -> tensor<196x32xf32>
  // CHECK: na.tile.load %{{.+}} dilation [1, 1] transposed into %{{.+}} : memref<1x56x56x2x32xbf16>, tensor<32x196xf32> -> tensor<32x196xf32>
  %1 = na.tile.load %s[%i, %i] at(%i, %i) box [14, 14] dilation [1, 1]
      transposed into %u : memref<1x56x56x2x32xbf16>, tensor<32x196xf32>
      -> tensor<32x196xf32>
  // CHECK: na.tile.load %{{.+}} into %{{.+}} : memref<?x?x?x?xf32>, memref<8x32xf32>{{$}}
  na.tile.load %d[%i, %i] at(%i) box [8] dilation [1]
      into %m : memref<?x?x?x?xf32>, memref<8x32xf32>
  // CHECK: na.tile.load %{{.+}} into %{{.+}} : memref<1x56x56x2xf32>, tensor<196xf32> -> tensor<196xf32>
  %2 = na.tile.load %l[%i, %i] at(%i, %i) box [14, 14] dilation [1, 1]
      into %n : memref<1x56x56x2xf32>, tensor<196xf32> -> tensor<196xf32>
  return
}

// CHECK-LABEL: func @store
func.func @store(%t: tensor<64x32xf32>, %u: tensor<32x64xf32>,
                 %l: tensor<64xf32>, %m: memref<64x32xf32>,
                 %o: memref<1x56x56x2x32xbf16>, %s: memref<1x56x56x2xf32>,
                 %i: index) {
  // CHECK: na.tile.store %{{.+}} into %{{.+}}[%{{.+}}, %{{.+}}] at(%{{.+}}, %{{.+}}) box [8, 8] dilation [1, 1] : tensor<64x32xf32>, memref<1x56x56x2x32xbf16>
  na.tile.store %t into %o[%i, %i] at(%i, %i) box [8, 8] dilation [1, 1]
      : tensor<64x32xf32>, memref<1x56x56x2x32xbf16>
  // CHECK: na.tile.store %{{.+}} dilation [2, 1] transposed : tensor<32x64xf32>, memref<1x56x56x2x32xbf16>
  na.tile.store %u into %o[%i, %i] at(%i, %i) box [8, 8] dilation [2, 1]
      transposed : tensor<32x64xf32>, memref<1x56x56x2x32xbf16>
  // CHECK: na.tile.store %{{.+}} : tensor<64xf32>, memref<1x56x56x2xf32>
  na.tile.store %l into %s[%i, %i] at(%i, %i) box [8, 8] dilation [1, 1]
      : tensor<64xf32>, memref<1x56x56x2xf32>
  // CHECK: na.tile.store %{{.+}} : memref<64x32xf32>, memref<1x56x56x2x32xbf16>
  na.tile.store %m into %o[%i, %i] at(%i, %i) box [8, 8] dilation [1, 1]
      : memref<64x32xf32>, memref<1x56x56x2x32xbf16>
  return
}

// CHECK-LABEL: func @windows
func.func @windows(%t: tensor<4x64xi32>, %m: memref<4x64xi32>, %i: index) {
  // CHECK: na.tile.windows <size = [7, 7], causal = [true, false]> at(%{{.+}}, %{{.+}}) sizes(%{{.+}}, %{{.+}}) box [8, 8] into %{{.+}} : tensor<4x64xi32> -> tensor<4x64xi32>
  %0 = na.tile.windows <size = [7, 7], causal = [true, false]> at(%i, %i)
      sizes(%i, %i) box [8, 8] into %t : tensor<4x64xi32> -> tensor<4x64xi32>
  // CHECK: na.tile.windows <size = [7, 7]> at(%{{.+}}, %{{.+}}) sizes(%{{.+}}, %{{.+}}) box [8, 8] into %{{.+}} : memref<4x64xi32>{{$}}
  na.tile.windows <size = [7, 7]> at(%i, %i) sizes(%i, %i) box [8, 8]
      into %m : memref<4x64xi32>
  // CHECK: na.tile.windows <size = [7, 7]> at(%{{.+}}, %{{.+}}) sizes(%{{.+}}, %{{.+}}) box [2, 4] heads 8 into %{{.+}} : memref<4x64xi32>{{$}}
  na.tile.windows <size = [7, 7]> at(%i, %i) sizes(%i, %i) box [2, 4] heads 8
      into %m : memref<4x64xi32>
  // CHECK: na.tile.windows inverse <size = [7, 7]> at(%{{.+}}, %{{.+}}) sizes(%{{.+}}, %{{.+}}) box [8, 8] into %{{.+}} : memref<4x64xi32>{{$}}
  na.tile.windows inverse <size = [7, 7]> at(%i, %i) sizes(%i, %i) box [8, 8]
      into %m : memref<4x64xi32>
  return
}

// CHECK-LABEL: func @mask
func.func @mask(%s: tensor<196x64xf32>, %r: tensor<4x64xi32>,
                %ms: memref<64x196xf32>, %mr: memref<4x64xi32>, %i: index,
                %inside: i1) {
  // CHECK: na.tile.mask %{{.+}} ranges(%{{.+}} : tensor<4x64xi32>) at(%{{.+}}, %{{.+}}) box [14, 14] axes [0, 1] key_major unless %{{.+}} : tensor<196x64xf32> -> tensor<196x64xf32>
  %0 = na.tile.mask %s ranges(%r : tensor<4x64xi32>) at(%i, %i) box [14, 14]
      axes [0, 1] key_major unless %inside
      : tensor<196x64xf32> -> tensor<196x64xf32>
  // CHECK: na.tile.mask %{{.+}} ranges(%{{.+}} : memref<4x64xi32>) at(%{{.+}}, %{{.+}}) box [14, 14] axes [] : memref<64x196xf32>{{$}}
  na.tile.mask %ms ranges(%mr : memref<4x64xi32>) at(%i, %i) box [14, 14]
      axes [] : memref<64x196xf32>
  return
}

// CHECK-LABEL: func @bias
func.func @bias(%s: tensor<196x64xf32>, %ms: memref<64x196xf32>,
                %b: memref<4x13x13xf32>, %d: memref<?x?x?xf32>, %i: index) {
  // CHECK: na.tile.bias %{{.+}} table(%{{.+}}[%{{.+}}] : memref<4x13x13xf32>) <size = [7, 7]> query_at(%{{.+}}, %{{.+}}) key_at(%{{.+}}, %{{.+}}) query_box [8, 8] key_box [14, 14] key_major : tensor<196x64xf32> -> tensor<196x64xf32>
  %0 = na.tile.bias %s table(%b[%i] : memref<4x13x13xf32>) <size = [7, 7]>
      query_at(%i, %i) key_at(%i, %i) query_box [8, 8] key_box [14, 14]
      key_major : tensor<196x64xf32> -> tensor<196x64xf32>
  // CHECK: na.tile.bias %{{.+}} key_box [14, 14] : memref<64x196xf32>{{$}}
  na.tile.bias %ms table(%d[%i] : memref<?x?x?xf32>) <size = [7, 7]>
      query_at(%i, %i) key_at(%i, %i) query_box [8, 8] key_box [14, 14]
      : memref<64x196xf32>
  return
}

// CHECK-LABEL: func @scatter_gather
func.func @scatter_gather(%s: tensor<80x64xf32>, %r: tensor<2x64xi32>,
                          %ms: memref<64x80xf32>, %mr: memref<2x64xi32>,
                          %w: memref<1x128x2x7xf32>, %h: memref<?x?x?x?xf16>,
                          %i: index) {
  // CHECK: na.tile.scatter %{{.+}} ranges(%{{.+}} : tensor<2x64xi32>) key_at(%{{.+}}) into %{{.+}}[%{{.+}}, %{{.+}}] at(%{{.+}}) <size = [7], dilation = [2]> query_box [64] key_box [80] key_major : tensor<80x64xf32>, memref<1x128x2x7xf32>
  na.tile.scatter %s ranges(%r : tensor<2x64xi32>) key_at(%i)
      into %w[%i, %i] at(%i) <size = [7], dilation = [2]> query_box [64]
      key_box [80] key_major : tensor<80x64xf32>, memref<1x128x2x7xf32>
  // CHECK: na.tile.scatter %{{.+}} key_box [80] : memref<64x80xf32>, memref<?x?x?x?xf16>
  na.tile.scatter %ms ranges(%mr : memref<2x64xi32>) key_at(%i)
      into %h[%i, %i] at(%i) <size = [7]> query_box [64] key_box [80]
      : memref<64x80xf32>, memref<?x?x?x?xf16>
  // CHECK: na.tile.gather %{{.+}}[%{{.+}}, %{{.+}}] at(%{{.+}}) ranges(%{{.+}} : tensor<2x64xi32>) key_at(%{{.+}}) <size = [7]> query_box [64] key_box [80] key_major into %{{.+}} : memref<1x128x2x7xf32>, tensor<80x64xf32> -> tensor<80x64xf32>
  %0 = na.tile.gather %w[%i, %i] at(%i) ranges(%r : tensor<2x64xi32>)
      key_at(%i) <size = [7]> query_box [64] key_box [80] key_major
      into %s : memref<1x128x2x7xf32>, tensor<80x64xf32> -> tensor<80x64xf32>
  // CHECK: na.tile.gather %{{.+}} key_box [80] into %{{.+}} : memref<?x?x?x?xf16>, memref<64x80xf32>{{$}}
  na.tile.gather %h[%i, %i] at(%i) ranges(%mr : memref<2x64xi32>) key_at(%i)
      <size = [7]> query_box [64] key_box [80]
      into %ms : memref<?x?x?x?xf16>, memref<64x80xf32>
  return
}
