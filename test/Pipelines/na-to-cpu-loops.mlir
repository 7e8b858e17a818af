// The first half ends in loops and vectors: no na, linalg or tensor operation
// is left, and nothing is allocated in the loop over key tiles.

// RUN: na-opt %s -na-to-cpu-loops="mode=naive vector-bits=256 registers=16" | FileCheck %s --implicit-check-not="{{ (na|linalg|tensor|bufferization)\.}}" --check-prefix=NAIVE
// RUN: na-opt %s -na-to-cpu-loops="mode=unfused vector-bits=256 registers=16" | FileCheck %s --implicit-check-not="{{ (na|linalg|tensor|bufferization)\.}}" --check-prefix=UNFUSED
// RUN: na-opt %s -na-to-cpu-loops="vector-bits=256 registers=16" | FileCheck %s --implicit-check-not="{{ (na|linalg|tensor|bufferization)\.}}" --check-prefix=FUSED

// NAIVE:         scf.parallel
// NAIVE-NOT:     vector<
// NAIVE:         return

// The weights are in memory, 5 for each of 64 queries.
// UNFUSED:       memref.alloc() {{.*}} : memref<1x64x2x5xf32>
// UNFUSED:       scf.forall
// UNFUSED:       vector<8xf32>
// UNFUSED:       return

// Tiles only, all of them at the start of the grid's body.
// FUSED:         scf.forall
// FUSED-NOT:     scf.for
// FUSED:           memref.alloc
// FUSED:           scf.for
// FUSED-NOT:       memref.alloc
// FUSED:           math.fma {{.*}} : vector<8xf32>
// FUSED-NOT:       memref.alloc
// FUSED:           memref.dealloc
// FUSED:         return
func.func @main(%q: tensor<1x64x2x16xf32>) -> tensor<1x64x2x16xf32> {
  %o = tensor.empty() : tensor<1x64x2x16xf32>
  %r = na.attention
    ins(%q, %q, %q : tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>,
                     tensor<1x64x2x16xf32>)
    outs(%o : tensor<1x64x2x16xf32>) window(<size = [5]>) -> tensor<1x64x2x16xf32>
  return %r : tensor<1x64x2x16xf32>
}
