// RUN: na-opt %s -split-input-file -nagpu-assign-layouts -canonicalize -cse | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#vec = affine_map<(d0) -> (d0)>

// One step of a softmax: reductions over the columns, elementwise operations
// on tiles and rows, positions, carried tiles and the store of rows.
// CHECK-LABEL: func @softmax
// CHECK:         gpu.launch
// CHECK:           %[[S:.*]] = nagpu.splat %{{.*}} : f32 -> <32x16xf32, accumulator, 2>
// CHECK-NEXT:      %[[INF:.*]] = nagpu.splat %{{.*}} : f32 -> <32xf32, row, 2>
// CHECK-NEXT:      %[[R:.*]]:2 = scf.for {{.*}} iter_args(%[[MAX:.*]] = %[[INF]], %[[N:.*]] = %{{.*}}) -> (!nagpu.fragment<32xf32, row, 2>, index)
// A column is a position, here of a token that may not exist.
// CHECK-NEXT:        %[[MASKED:.*]] = nagpu.map(%[[S]] : !nagpu.fragment<32x16xf32, accumulator, 2>) {
// CHECK-NEXT:        ^bb0(%[[X:.*]]: f32):
// CHECK-NEXT:          %[[COLUMN:.*]] = nagpu.index 1
// CHECK-NEXT:          %[[INDEX:.*]] = arith.index_cast %[[COLUMN]] : i32 to index
// CHECK-NEXT:          %[[INSIDE:.*]] = arith.cmpi slt, %[[INDEX]], %{{.*}} : index
// CHECK-NEXT:          %[[Y:.*]] = arith.select %[[INSIDE]], %[[X]], %{{.*}} : f32
// CHECK-NEXT:          nagpu.yield %[[Y]] : f32
// CHECK-NEXT:        } : !nagpu.fragment<32x16xf32, accumulator, 2>
// Nothing is combined with the identity of a maximum.
// CHECK-NEXT:        %[[TILEMAX:.*]] = nagpu.reduce max %[[MASKED]] : <32x16xf32, accumulator, 2> -> <32xf32, row, 2>
// CHECK-NEXT:        %[[NEWMAX:.*]] = nagpu.map(%[[TILEMAX]], %[[MAX]] : {{.*}}) {
// CHECK:               arith.maxnumf
// CHECK:             } : !nagpu.fragment<32xf32, row, 2>
// CHECK-NEXT:        %[[P:.*]] = nagpu.map(%[[NEWMAX]], %[[MASKED]] : !nagpu.fragment<32xf32, row, 2>, !nagpu.fragment<32x16xf32, accumulator, 2>) {
// CHECK-NEXT:        ^bb0(%[[M:.*]]: f32, %[[E:.*]]: f32):
// CHECK-NEXT:          %[[D:.*]] = arith.subf %[[E]], %[[M]] : f32
// CHECK-NEXT:          %[[W:.*]] = math.exp2 %[[D]] : f32
// CHECK-NEXT:          nagpu.yield %[[W]] : f32
// CHECK-NEXT:        } : !nagpu.fragment<32x16xf32, accumulator, 2>
// Others are: the sum of the tile and the carried row.
// CHECK-NEXT:        %[[PART:.*]] = nagpu.reduce add %[[P]] : <32x16xf32, accumulator, 2> -> <32xf32, row, 2>
// CHECK-NEXT:        %[[SUM:.*]] = nagpu.map(%[[PART]], %[[NEWMAX]] : {{.*}}) {
// CHECK:               arith.addf
// CHECK:             } : !nagpu.fragment<32xf32, row, 2>
// CHECK:             scf.yield %[[SUM]], %{{.*}} : !nagpu.fragment<32xf32, row, 2>, index
// CHECK:           nagpu.store %[[R]]#0 into %{{.*}} at(%[[R]]#1, %[[R]]#1) box [4, 8] dilation [1, 1] : <32xf32, row, 2>, memref<1x8x8x1xf32>
func.func @softmax(%lse: memref<1x8x8x1xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c64, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %inf = arith.constant 0xFF800000 : f32
    %s0 = tensor.empty() : tensor<32x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<32x16xf32>) -> tensor<32x16xf32>
    %m0 = tensor.empty() : tensor<32xf32>
    %m1 = linalg.fill ins(%inf : f32) outs(%m0 : tensor<32xf32>) -> tensor<32xf32>
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%max = %m1, %carried = %c0) -> (tensor<32xf32>, index) {
      %masked = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}
        outs(%s : tensor<32x16xf32>) {
      ^bb0(%x: f32):
        %column = linalg.index 1 : index
        %inside = arith.cmpi slt, %column, %n : index
        %y = arith.select %inside, %x, %inf : f32
        linalg.yield %y : f32
      } -> tensor<32x16xf32>
      %tilemax = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
        ins(%masked : tensor<32x16xf32>) outs(%m1 : tensor<32xf32>) {
      ^bb0(%x: f32, %y: f32):
        %z = arith.maxnumf %x, %y : f32
        linalg.yield %z : f32
      } -> tensor<32xf32>
      %newmax = linalg.generic {indexing_maps = [#vec, #vec, #vec], iterator_types = ["parallel"]}
        ins(%tilemax, %max : tensor<32xf32>, tensor<32xf32>) outs(%m0 : tensor<32xf32>) {
      ^bb0(%x: f32, %y: f32, %unused: f32):
        %z = arith.maxnumf %x, %y : f32
        linalg.yield %z : f32
      } -> tensor<32xf32>
      %p = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
        ins(%newmax : tensor<32xf32>) outs(%masked : tensor<32x16xf32>) {
      ^bb0(%x: f32, %y: f32):
        %d = arith.subf %y, %x : f32
        %z = math.exp2 %d : f32
        linalg.yield %z : f32
      } -> tensor<32x16xf32>
      %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
        ins(%p : tensor<32x16xf32>) outs(%newmax : tensor<32xf32>) {
      ^bb0(%x: f32, %y: f32):
        %z = arith.addf %y, %x : f32
        linalg.yield %z : f32
      } -> tensor<32xf32>
      %next = arith.addi %carried, %i : index
      scf.yield %sum, %next : tensor<32xf32>, index
    }
    na.tile.store %r#0 into %lse[%c0, %c0] at(%r#1, %r#1) box [4, 8] dilation [1, 1]
      : tensor<32xf32>, memref<1x8x8x1xf32>
    gpu.terminator
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A maximum may be a comparison and a selection; a sum starts from zero.
// CHECK-LABEL: func @combiners
// CHECK:         %[[S:.*]] = nagpu.splat %{{.*}} : f32 -> <16x16xf32, accumulator, 1>
// CHECK-NEXT:    nagpu.reduce max %[[S]]
// CHECK-NEXT:    nagpu.store
// CHECK-NEXT:    nagpu.reduce add %[[S]]
// CHECK-NEXT:    nagpu.store
func.func @combiners(%lse: memref<1x16x1xf32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %inf = arith.constant 0xFF800000 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %r0 = tensor.empty() : tensor<16xf32>
    %r1 = linalg.fill ins(%inf : f32) outs(%r0 : tensor<16xf32>) -> tensor<16xf32>
    %max = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<16x16xf32>) outs(%r1 : tensor<16xf32>) {
    ^bb0(%x: f32, %y: f32):
      %greater = arith.cmpf ogt, %x, %y : f32
      %z = arith.select %greater, %x, %y : f32
      linalg.yield %z : f32
    } -> tensor<16xf32>
    na.tile.store %max into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x16x1xf32>
    %r2 = linalg.fill ins(%f0 : f32) outs(%r0 : tensor<16xf32>) -> tensor<16xf32>
    %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<16x16xf32>) outs(%r2 : tensor<16xf32>) {
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %y : f32
      linalg.yield %z : f32
    } -> tensor<16xf32>
    na.tile.store %sum into %lse[%b, %b] at(%b) box [16] dilation [1] : tensor<16xf32>, memref<1x16x1xf32>
    gpu.terminator
  }
  return
}

// -----

// Branches give tiles and numbers, or only have effects.
// CHECK-LABEL: func @branches
// CHECK-SAME:    %{{[a-z0-9_]+}}: memref<1x16x1xf32>, %[[FLAG:[a-z0-9_]+]]: i1, %{{[a-z0-9_]+}}: i1, %{{[a-z0-9_]+}}: f32, %[[N:[a-z0-9_]+]]: index
// CHECK:         %[[A:.*]] = nagpu.splat
// CHECK:         %[[AT:.*]] = arith.select %[[FLAG]], %{{.*}}, %[[N]] : index
// CHECK-NEXT:    %[[R:.*]] = scf.if %[[FLAG]] -> (!nagpu.fragment<16xf32, row, 1>) {
// CHECK-NEXT:      scf.yield %[[A]] : !nagpu.fragment<16xf32, row, 1>
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %[[B:.*]] = nagpu.splat
// CHECK-NEXT:      scf.yield %[[B]] : !nagpu.fragment<16xf32, row, 1>
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.if %{{.*}} {
// CHECK-NEXT:      nagpu.store %[[R]] into %{{.*}} at(%[[AT]])
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.if %[[FLAG]] {
// CHECK-NEXT:      nagpu.store %[[R]] into
// CHECK-NEXT:    } else {
// CHECK-NEXT:      nagpu.store %[[A]] into
// CHECK-NEXT:    }
// CHECK-NEXT:    gpu.terminator
func.func @branches(%lse: memref<1x16x1xf32>, %flag: i1, %other: i1, %x: f32, %n: index) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %r0 = tensor.empty() : tensor<16xf32>
    %r1 = linalg.fill ins(%f0 : f32) outs(%r0 : tensor<16xf32>) -> tensor<16xf32>
    %r:2 = scf.if %flag -> (tensor<16xf32>, index) {
      scf.yield %r1, %b : tensor<16xf32>, index
    } else {
      %r2 = linalg.fill ins(%x : f32) outs(%r0 : tensor<16xf32>) -> tensor<16xf32>
      scf.yield %r2, %n : tensor<16xf32>, index
    }
    scf.if %other {
      na.tile.store %r#0 into %lse[%b, %b] at(%r#1) box [16] dilation [1] : tensor<16xf32>, memref<1x16x1xf32>
    }
    scf.if %flag {
      na.tile.store %r#0 into %lse[%b, %b] at(%n) box [16] dilation [1] : tensor<16xf32>, memref<1x16x1xf32>
    } else {
      na.tile.store %r1 into %lse[%b, %b] at(%n) box [16] dilation [1] : tensor<16xf32>, memref<1x16x1xf32>
    }
    gpu.terminator
  }
  return
}
