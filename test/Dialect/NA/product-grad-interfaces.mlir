// RUN: na-opt %s --canonicalize --split-input-file | FileCheck %s --check-prefix=CANON
// RUN: na-opt %s --resolve-ranked-shaped-type-result-dims --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=SHAPE
// RUN: na-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" --canonicalize --split-input-file | FileCheck %s --check-prefix=BUFFER

// A stride that has no effect goes. Unused results are dead; on memrefs the
// operations write.

// CANON-LABEL: func @windows
// CANON-NEXT:    na.qk_dq {{.*}} window(<size = [8]>)
// CANON-NEXT:    na.qk_dk {{.*}} window(<size = [8]>)
// CANON-NEXT:    na.qk_dbias {{.*}} window(<size = [8]>)
// CANON-NEXT:    na.av_dweights {{.*}} window(<size = [8]>)
// CANON-NEXT:    na.av_dv {{.*}} window(<size = [8]>)
// CANON-NEXT:    return
func.func @windows(%q: memref<2x8x4x16xf32>, %b: memref<4x15xf32>,
                   %s: memref<2x8x4x8xf32>, %t: tensor<2x8x4x16xf32>,
                   %u: tensor<2x8x4x8xf32>) {
  na.qk_dq ins(%q, %s : memref<2x8x4x16xf32>, memref<2x8x4x8xf32>)
      outs(%q : memref<2x8x4x16xf32>) window(<size = [8], stride = [2]>)
  na.qk_dk ins(%q, %s : memref<2x8x4x16xf32>, memref<2x8x4x8xf32>)
      outs(%q : memref<2x8x4x16xf32>) window(<size = [8], stride = [2]>)
  na.qk_dbias ins(%s : memref<2x8x4x8xf32>) outs(%b : memref<4x15xf32>)
      window(<size = [8], stride = [2]>)
  na.av_dweights ins(%q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>)
      outs(%s : memref<2x8x4x8xf32>) window(<size = [8], stride = [2]>)
  na.av_dv ins(%s, %q : memref<2x8x4x8xf32>, memref<2x8x4x16xf32>)
      outs(%q : memref<2x8x4x16xf32>) window(<size = [8], stride = [2]>)
  %0 = na.av_dv ins(%u, %t : tensor<2x8x4x8xf32>, tensor<2x8x4x16xf32>)
      outs(%t : tensor<2x8x4x16xf32>) window(<size = [8]>)
      -> tensor<2x8x4x16xf32>
  return
}

// -----

// Sizes of results come from operands or destinations.

// SHAPE-LABEL: func @sizes
// SHAPE-SAME:    (%[[Q:.*]]: tensor<?x?x?x?xf32>, %[[K:.*]]: tensor<?x?x?x?xf32>, %[[S:.*]]: tensor<?x?x?x?xf32>, %[[B:.*]]: tensor<?x?xf32>)
// SHAPE-DAG:     %[[SLOTS:.*]] = arith.constant 3 : index
// SHAPE-DAG:     %[[ENTRIES:.*]] = arith.constant 5 : index
// SHAPE-DAG:     %[[D:.*]] = tensor.dim %[[K]], %c3
// SHAPE-DAG:     %[[HK:.*]] = tensor.dim %[[K]], %c2
// SHAPE-DAG:     %[[HQ:.*]] = tensor.dim %[[S]], %c2
// SHAPE-NOT:     na.
// SHAPE:         return %[[D]], %[[HK]], %[[HQ]], %[[ENTRIES]], %[[SLOTS]], %[[HK]]
func.func @sizes(%q: tensor<?x?x?x?xf32>, %k: tensor<?x?x?x?xf32>,
                 %s: tensor<?x?x?x?xf32>, %b: tensor<?x?xf32>)
    -> (index, index, index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %dq = na.qk_dq ins(%k, %s : tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>)
      outs(%q : tensor<?x?x?x?xf32>) window(<size = [3]>) -> tensor<?x?x?x?xf32>
  %dk = na.qk_dk ins(%q, %s : tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>)
      outs(%k : tensor<?x?x?x?xf32>) window(<size = [3]>) -> tensor<?x?x?x?xf32>
  %db = na.qk_dbias ins(%s : tensor<?x?x?x?xf32>) outs(%b : tensor<?x?xf32>)
      window(<size = [3]>) -> tensor<?x?xf32>
  %dw = na.av_dweights ins(%k, %q : tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>)
      outs(%s : tensor<?x?x?x?xf32>) window(<size = [3]>) -> tensor<?x?x?x?xf32>
  %dv = na.av_dv ins(%s, %q : tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>)
      outs(%k : tensor<?x?x?x?xf32>) window(<size = [3]>) -> tensor<?x?x?x?xf32>
  %0 = tensor.dim %dq, %c3 : tensor<?x?x?x?xf32>
  %1 = tensor.dim %dk, %c2 : tensor<?x?x?x?xf32>
  %2 = tensor.dim %db, %c0 : tensor<?x?xf32>
  %3 = tensor.dim %db, %c1 : tensor<?x?xf32>
  %4 = tensor.dim %dw, %c3 : tensor<?x?x?x?xf32>
  %5 = tensor.dim %dv, %c2 : tensor<?x?x?x?xf32>
  return %0, %1, %2, %3, %4, %5 : index, index, index, index, index, index
}

// -----

// A destination that nobody reads later is written in place.

// BUFFER-LABEL: func @in_place
// BUFFER-SAME:    (%[[K:.*]]: memref<1x9x2x8xf32>, %[[S:.*]]: memref<1x9x2x3xf32>, %[[Q:.*]]: memref<1x9x2x8xf32>)
// BUFFER-NOT:     memref.alloc
// BUFFER:         na.qk_dq ins(%[[K]], %[[S]] : {{.*}}) outs(%[[Q]] : memref<1x9x2x8xf32>) window(<size = [3]>){{$}}
// BUFFER:         return %[[Q]]
func.func @in_place(%k: tensor<1x9x2x8xf32>, %s: tensor<1x9x2x3xf32>,
                    %q: tensor<1x9x2x8xf32> {bufferization.writable = true})
    -> tensor<1x9x2x8xf32> {
  %0 = na.qk_dq ins(%k, %s : tensor<1x9x2x8xf32>, tensor<1x9x2x3xf32>)
      outs(%q : tensor<1x9x2x8xf32>) window(<size = [3]>) -> tensor<1x9x2x8xf32>
  return %0 : tensor<1x9x2x8xf32>
}
