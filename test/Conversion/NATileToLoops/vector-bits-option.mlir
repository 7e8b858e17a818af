// RUN: na-opt %s -convert-na-tile-to-loops=vector-bits=128 | FileCheck %s --check-prefix=NARROW
// RUN: na-opt %s -convert-na-tile-to-loops=vector-bits=1024 | FileCheck %s --check-prefix=WIDE
// RUN: not na-opt %s -convert-na-tile-to-loops=vector-bits=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not na-opt %s -convert-na-tile-to-loops=vector-bits=100 2>&1 | FileCheck %s --check-prefix=MULTIPLE
// RUN: not na-opt %s -convert-na-tile-to-loops=vector-bits=8192 2>&1 | FileCheck %s --check-prefix=HUGE

// NARROW:     scf.for %{{.*}} step %c4
// NARROW:       vector.load {{.*}} vector<4xf32>
// WIDE-NOT:   vector<4xf32>
// WIDE:       vector.load {{.*}} vector<20xf32>
// ZERO:       error: convert-na-tile-to-loops: vector-bits = 0, expected a multiple of 64 from 64 to 4096
// MULTIPLE:   error: convert-na-tile-to-loops: vector-bits = 100, expected a multiple of 64
// HUGE:       error: convert-na-tile-to-loops: vector-bits = 8192, expected a multiple of 64
func.func @load(%q: memref<1x9x2x20xf32>, %t: memref<6x20xf32>, %b: index) {
  na.tile.load %q[%b, %b] at(%b) box [6] dilation [1] into %t
    : memref<1x9x2x20xf32>, memref<6x20xf32>
  return
}
