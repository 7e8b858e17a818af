// RUN: na-opt %s -linalg-to-vector-loops | FileCheck %s --check-prefix=DEFAULT
// RUN: na-opt %s -linalg-to-vector-loops="vector-bits=256 registers=16" | FileCheck %s --check-prefix=AVX2
// RUN: na-opt %s -linalg-to-vector-loops="vector-bits=64 registers=4" | FileCheck %s --check-prefix=SMALL
// RUN: not na-opt %s -linalg-to-vector-loops=vector-bits=32 2>&1 | FileCheck %s --check-prefix=FEWBITS
// RUN: not na-opt %s -linalg-to-vector-loops=vector-bits=8192 2>&1 | FileCheck %s --check-prefix=MANYBITS
// RUN: not na-opt %s -linalg-to-vector-loops=vector-bits=100 2>&1 | FileCheck %s --check-prefix=MULTIPLE
// RUN: not na-opt %s -linalg-to-vector-loops=registers=3 2>&1 | FileCheck %s --check-prefix=FEWREGISTERS
// RUN: not na-opt %s -linalg-to-vector-loops=registers=257 2>&1 | FileCheck %s --check-prefix=MANYREGISTERS

// The accumulators of a block: six rows of four vectors; six of two; one.
// DEFAULT:         scf.for {{.*}} iter_args
// DEFAULT-COUNT-24:  math.fma {{.*}} vector<16xf32>
// DEFAULT-NOT:       math.fma
// DEFAULT:           scf.yield
// AVX2:            scf.for {{.*}} iter_args
// AVX2-COUNT-12:     math.fma {{.*}} vector<8xf32>
// AVX2-NOT:          math.fma
// AVX2:              scf.yield
// SMALL:           scf.for {{.*}} iter_args
// SMALL-COUNT-2:     math.fma {{.*}} vector<2xf32>
// SMALL-NOT:         math.fma
// SMALL:             scf.yield

// FEWBITS:       error: linalg-to-vector-loops: vector-bits = 32, expected a multiple of 64 from 64 to 4096
// MANYBITS:      error: linalg-to-vector-loops: vector-bits = 8192, expected a multiple of 64 from 64 to 4096
// MULTIPLE:      error: linalg-to-vector-loops: vector-bits = 100, expected a multiple of 64
// FEWREGISTERS:  error: linalg-to-vector-loops: registers = 3, expected 4 to 256
// MANYREGISTERS: error: linalg-to-vector-loops: registers = 257, expected 4 to 256
func.func @matmul(%a: memref<12x64xf32>, %b: memref<64x128xf32>,
                  %c: memref<12x128xf32>) {
  // Inside a parallel loop nothing is parallel.
  scf.forall (%i) in (1) {
    linalg.matmul ins(%a, %b : memref<12x64xf32>, memref<64x128xf32>)
                  outs(%c : memref<12x128xf32>)
  }
  return
}
