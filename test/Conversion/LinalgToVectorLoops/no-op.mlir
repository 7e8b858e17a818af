// RUN: na-opt %s -linalg-to-vector-loops | FileCheck %s

// What has no vector form is left to upstream's loops, as it is.

#id = affine_map<(d0, d1) -> (d0, d1)>
#swap = affine_map<(d0, d1) -> (d1, d0)>

// CHECK-LABEL: func @tensors
// CHECK:         linalg.fill
func.func @tensors(%x: f32, %t: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %r = linalg.fill ins(%x : f32) outs(%t : tensor<2x8xf32>) -> tensor<2x8xf32>
  return %r : tensor<2x8xf32>
}

// CHECK-LABEL: func @shapes
// A dynamic size, an empty one, none at all.
// CHECK:         linalg.fill {{.*}} memref<?x8xf32>
// CHECK:         linalg.fill {{.*}} memref<0x8xf32>
// CHECK:         linalg.fill {{.*}} memref<f32>
func.func @shapes(%x: f32, %d: memref<?x8xf32>, %e: memref<0x8xf32>, %s: memref<f32>) {
  linalg.fill ins(%x : f32) outs(%d : memref<?x8xf32>)
  linalg.fill ins(%x : f32) outs(%e : memref<0x8xf32>)
  linalg.fill ins(%x : f32) outs(%s : memref<f32>)
  return
}

// CHECK-LABEL: func @layouts
// Lanes with a stride, or in another order than the output's.
// CHECK:         linalg.fill
// CHECK:         linalg.transpose
// CHECK:         linalg.copy
func.func @layouts(%x: f32, %s: memref<2x8xf32, strided<[16, 2]>>,
                   %a: memref<8x2xf32>, %m: memref<2x8xf32, #swap>,
                   %o: memref<2x8xf32>) {
  linalg.fill ins(%x : f32) outs(%s : memref<2x8xf32, strided<[16, 2]>>)
  linalg.transpose ins(%a : memref<8x2xf32>) outs(%o : memref<2x8xf32>)
    permutation = [1, 0]
  linalg.copy ins(%m : memref<2x8xf32, #swap>) outs(%o : memref<2x8xf32>)
  return
}

// CHECK-LABEL: func @reductions
// The last dimension of the output is reduced, or there is none.
// CHECK:         linalg.reduce
// CHECK:         linalg.generic
func.func @reductions(%a: memref<2x8xf32>, %s: memref<f32>, %o: memref<2x8xf32>) {
  linalg.reduce { arith.addf } ins(%a : memref<2x8xf32>) outs(%s : memref<f32>)
    dimensions = [0, 1]
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "reduction"]}
    outs(%o : memref<2x8xf32>) {
  ^bb0(%x: f32):
    %y = arith.negf %x : f32
    linalg.yield %y : f32
  }
  return
}

// CHECK-LABEL: func @maps
// An index that is no dimension.
// CHECK:         linalg.conv_1d
func.func @maps(%a: memref<9xf32>, %k: memref<2xf32>, %o: memref<8xf32>) {
  linalg.conv_1d ins(%a, %k : memref<9xf32>, memref<2xf32>) outs(%o : memref<8xf32>)
  return
}

// CHECK-LABEL: func @types
// Bytes; elements that a vector packs and a memref does not; complex numbers;
// indices in memory.
// CHECK:         linalg.fill {{.*}} memref<2x8xi8>
// CHECK:         linalg.fill {{.*}} memref<2x8xi24>
// CHECK:         linalg.select
// CHECK:         linalg.fill {{.*}} memref<2x8xcomplex<f32>>
// CHECK:         linalg.fill {{.*}} memref<2x8xindex>
func.func @types(%b: i8, %i: i24, %z: complex<f32>, %n: index, %mb: memref<2x8xi8>,
                 %mi: memref<2x8xi24>, %mz: memref<2x8xcomplex<f32>>,
                 %mn: memref<2x8xindex>, %c: memref<2x8xi1>, %f: memref<2x8xf32>) {
  linalg.fill ins(%b : i8) outs(%mb : memref<2x8xi8>)
  linalg.fill ins(%i : i24) outs(%mi : memref<2x8xi24>)
  linalg.select ins(%c, %f, %f : memref<2x8xi1>, memref<2x8xf32>, memref<2x8xf32>)
                outs(%f : memref<2x8xf32>)
  linalg.fill ins(%z : complex<f32>) outs(%mz : memref<2x8xcomplex<f32>>)
  linalg.fill ins(%n : index) outs(%mn : memref<2x8xindex>)
  return
}

// CHECK-LABEL: func @bodies
// Vectors from outside, other regions, side effects.
// CHECK:         linalg.generic
// CHECK:           vector.reduction
// CHECK:         linalg.generic
// CHECK:           scf.if
// CHECK:         linalg.generic
// CHECK:           memref.load
func.func @bodies(%v: vector<4xf32>, %c: i1, %m: memref<4xf32>, %o: memref<2x8xf32>) {
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}
    outs(%o : memref<2x8xf32>) {
  ^bb0(%x: f32):
    %n = arith.addf %v, %v : vector<4xf32>
    %r = vector.reduction <add>, %n, %x : vector<4xf32> into f32
    linalg.yield %r : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}
    outs(%o : memref<2x8xf32>) {
  ^bb0(%x: f32):
    %r = scf.if %c -> f32 {
      scf.yield %x : f32
    } else {
      %y = arith.negf %x : f32
      scf.yield %y : f32
    }
    linalg.yield %r : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}
    outs(%o : memref<2x8xf32>) {
  ^bb0(%x: f32):
    %i = linalg.index 0 : index
    %y = memref.load %m[%i] : memref<4xf32>
    linalg.yield %y : f32
  }
  return
}

// CHECK-LABEL: func @running
// The running sum is asked for in between: lanes cannot sum apart.
// CHECK:         linalg.generic
func.func @running(%x: memref<3x40xf32>, %sum: memref<3xf32>, %max: memref<3xf32>) {
  linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d0)>,
                                   affine_map<(d0, d1) -> (d0)>],
                  iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<3x40xf32>) outs(%sum, %max : memref<3xf32>, memref<3xf32>) {
  ^bb0(%a: f32, %s: f32, %m: f32):
    %0 = arith.addf %a, %s : f32
    %1 = arith.maximumf %m, %0 : f32
    linalg.yield %0, %1 : f32, f32
  }
  return
}
