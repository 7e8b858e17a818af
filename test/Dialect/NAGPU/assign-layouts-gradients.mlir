// RUN: na-opt %s -split-input-file -nagpu-assign-layouts -canonicalize -cse | FileCheck %s

// The gradients of keys and values: rows are keys, columns the queries that see
// them. Of each key both ends of its queries are kept, since they are not
// equally many. Statistics are copied as tiles are, and read where columns are
// computed; a tile is an operand as it is and transposed.
// CHECK-LABEL: func @keys
// CHECK:         gpu.launch
// CHECK-DAG:       %[[KT:.*]] = nagpu.alloc : <16x16xbf16, linear>
// CHECK-DAG:       %[[LT:.*]] = nagpu.alloc : <1x32xf32, linear>
// CHECK:           %[[K0:.*]] = nagpu.async_wait
// CHECK-NEXT:      %[[K:.*]] = nagpu.ldmatrix %[[K0]][0, 0] : <16x16xbf16, linear> -> <16x16xbf16, lhs, 1>
// CHECK:           %[[W:.*]]:2 = nagpu.map() {
// CHECK:             nagpu.yield %{{.*}}, %{{.*}} : i32, i32
// CHECK:           scf.for %[[I:.*]] = {{.*}} iter_args(%[[DV:.*]] = %{{.*}})
// CHECK:             nagpu.async_copy %{{.*}} at(%[[I]]) box [32] dilation [1]
// CHECK:             %[[Q:.*]] = nagpu.async_wait {{.*}} : !nagpu.shared<32x16xbf16, linear>
// CHECK:             nagpu.async_copy %{{.*}} at(%[[I]]) box [32] dilation [1] into %[[LT]] warps 1 : memref<1x64x1xf32>, <1x32xf32, linear>
// CHECK:             %[[L:.*]] = nagpu.async_wait {{.*}} : !nagpu.shared<1x32xf32, linear>
// CHECK-NOT:         nagpu.ldvector
// CHECK:             %[[QT:.*]] = nagpu.ldmatrix %[[Q]][0, 0] transposed : <32x16xbf16, linear> -> <16x32xbf16, rhs, 1>
// CHECK-NEXT:        %[[S:.*]] = nagpu.mma %[[K]], %[[QT]]
// CHECK:             %[[BEGIN:.*]] = nagpu.map(%[[W]]#0
// CHECK:             %[[END:.*]] = nagpu.map(%[[W]]#1
// CHECK:             %[[M:.*]] = nagpu.mask %[[S]] axis 0 of [32] from %[[BEGIN]] to %[[END]]
// CHECK-NEXT:        %[[C0:.*]] = nagpu.ldvector %[[L]] : <1x32xf32, linear> -> <32xf32, column, 1>
// CHECK-NEXT:        %[[C:.*]] = nagpu.map(%[[C0]] : !nagpu.fragment<32xf32, column, 1>) {
// CHECK:             } : !nagpu.fragment<32xf32, column, 1>
// CHECK-NEXT:        %[[P:.*]] = nagpu.map(%[[C]], %[[M]] : !nagpu.fragment<32xf32, column, 1>, !nagpu.fragment<16x32xf32, accumulator, 1>) {
// CHECK:             } : !nagpu.fragment<16x32xf32, accumulator, 1>
// CHECK-NEXT:        %[[N:.*]] = nagpu.convert %[[P]] : <16x32xf32, accumulator, 1> -> <16x32xbf16, lhs, 1>
// CHECK-NEXT:        nagpu.ldmatrix %[[Q]][0, 0] : <32x16xbf16, linear> -> <16x16xbf16, rhs, 1>
#id = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
#one = affine_map<(d0) -> (d0)>
#mk = affine_map<(d0, d1, d2) -> (d0, d2)>
#nk = affine_map<(d0, d1, d2) -> (d1, d2)>
#kn = affine_map<(d0, d1, d2) -> (d2, d1)>
#mn = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @keys(%q: memref<1x64x1x16xbf16>, %k: memref<1x64x1x16xbf16>,
                %lse: memref<1x64x1xf32>, %dv: memref<1x64x1x16xbf16>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %k0 = tensor.empty() : tensor<16x16xbf16>
    %kt = na.tile.load %k[%b, %b] at(%b) box [16] dilation [1] into %k0
      : memref<1x64x1x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xbf16>
    %r0 = tensor.empty() : tensor<2x16xi32>
    %ranges = na.tile.windows inverse <size = [5]> at(%b) sizes(%c64) box [16] into %r0
      : tensor<2x16xi32> -> tensor<2x16xi32>
    %o0 = tensor.empty() : tensor<16x16xf32>
    %zeros = linalg.fill ins(%f0 : f32) outs(%o0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %r = scf.for %i = %b to %c64 step %c32 iter_args(%e = %zeros) -> (tensor<16x16xf32>) {
      %q0 = tensor.empty() : tensor<32x16xbf16>
      %qt = na.tile.load %q[%b, %b] at(%i) box [32] dilation [1] into %q0
        : memref<1x64x1x16xbf16>, tensor<32x16xbf16> -> tensor<32x16xbf16>
      %l0 = tensor.empty() : tensor<32xf32>
      %l = na.tile.load %lse[%b, %b] at(%i) box [32] dilation [1] into %l0
        : memref<1x64x1xf32>, tensor<32xf32> -> tensor<32xf32>
      %shift = linalg.generic {indexing_maps = [#one], iterator_types = ["parallel"]}
        outs(%l : tensor<32xf32>) {
      ^bb0(%x: f32):
        %log2e = arith.constant 1.44269502 : f32
        %y = arith.mulf %x, %log2e : f32
        linalg.yield %y : f32
      } -> tensor<32xf32>
      %s0 = tensor.empty() : tensor<16x32xf32>
      %s1 = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x32xf32>) -> tensor<16x32xf32>
      %s2 = linalg.contract indexing_maps = [#mk, #nk, #mn]
        ins(%kt, %qt : tensor<16x16xbf16>, tensor<32x16xbf16>) outs(%s1 : tensor<16x32xf32>) -> tensor<16x32xf32>
      %s = na.tile.mask %s2 ranges(%ranges : tensor<2x16xi32>) at(%i) box [32] axes [0]
        : tensor<16x32xf32> -> tensor<16x32xf32>
      %p = linalg.generic {indexing_maps = [#column, #id], iterator_types = ["parallel", "parallel"]}
        ins(%shift : tensor<32xf32>) outs(%s : tensor<16x32xf32>) {
      ^bb0(%x: f32, %y: f32):
        %z = arith.subf %y, %x : f32
        %w = math.exp2 %z : f32
        linalg.yield %w : f32
      } -> tensor<16x32xf32>
      %n0 = tensor.empty() : tensor<16x32xbf16>
      %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%p : tensor<16x32xf32>) outs(%n0 : tensor<16x32xbf16>) {
      ^bb0(%x: f32, %y: bf16):
        %z = arith.truncf %x : f32 to bf16
        linalg.yield %z : bf16
      } -> tensor<16x32xbf16>
      %v = linalg.contract indexing_maps = [#mk, #kn, #mn]
        ins(%n, %qt : tensor<16x32xbf16>, tensor<32x16xbf16>) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
      scf.yield %v : tensor<16x16xf32>
    }
    na.tile.store %r into %dv[%b, %b] at(%b) box [16] dilation [1] : tensor<16x16xf32>, memref<1x64x1x16xbf16>
    gpu.terminator
  }
  return
}

// -----

// Statistics of rows are read once, before the loop.
// CHECK-LABEL: func @queries
// CHECK:           %[[L:.*]] = nagpu.async_wait {{.*}} : !nagpu.shared<1x16xf32, linear>
// CHECK-NEXT:      %[[R:.*]] = nagpu.ldvector %[[L]] : <1x16xf32, linear> -> <16xf32, row, 1>
// CHECK:           scf.for
// CHECK-NOT:         nagpu.ldvector
// CHECK:             nagpu.map(%[[R]], %{{.*}} : !nagpu.fragment<16xf32, row, 1>, !nagpu.fragment<16x32xf32, accumulator, 1>) {
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @queries(%lse: memref<1x64x1xf32>, %o: memref<1x64x1x32xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %l0 = tensor.empty() : tensor<16xf32>
    %l = na.tile.load %lse[%b, %b] at(%b) box [16] dilation [1] into %l0
      : memref<1x64x1xf32>, tensor<16xf32> -> tensor<16xf32>
    %s0 = tensor.empty() : tensor<16x32xf32>
    %s1 = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x32xf32>) -> tensor<16x32xf32>
    %r = scf.for %i = %b to %c32 step %c1 iter_args(%a = %s1) -> (tensor<16x32xf32>) {
      %p = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
        ins(%l : tensor<16xf32>) outs(%a : tensor<16x32xf32>) {
      ^bb0(%x: f32, %y: f32):
        %z = arith.subf %y, %x : f32
        linalg.yield %z : f32
      } -> tensor<16x32xf32>
      scf.yield %p : tensor<16x32xf32>
    }
    na.tile.store %r into %o[%b, %b] at(%b) box [16] dilation [1] : tensor<16x32xf32>, memref<1x64x1x32xf32>
    gpu.terminator
  }
  return
}

// -----

// A bias of scores [keys, queries]: the key is the row's.
// CHECK-LABEL: func @bias_of_keys
// CHECK:           nagpu.map(
// CHECK-DAG:         %[[KEY:.*]] = nagpu.index 0
// CHECK-DAG:         %[[QUERY:.*]] = nagpu.index 1
// CHECK:             arith.subi %[[KEY]], %[[QUERY]] : i32
func.func @bias_of_keys(%t: memref<1x9xf32>, %o: memref<1x64x1x32xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x32xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x32xf32>) -> tensor<16x32xf32>
    %m = na.tile.bias %s table(%t[%b] : memref<1x9xf32>) <size = [5]> query_at(%b) key_at(%b)
      query_box [32] key_box [16] key_major : tensor<16x32xf32> -> tensor<16x32xf32>
    na.tile.store %m into %o[%b, %b] at(%b) box [16] dilation [1] : tensor<16x32xf32>, memref<1x64x1x32xf32>
    gpu.terminator
  }
  return
}
