// RUN: na-opt %s -convert-na-tile-to-loops | FileCheck %s

// Masks have become linalg before, and attention is tiled by others.
// CHECK-LABEL: func @others
// CHECK-NEXT:    na.tile.mask
// CHECK-NEXT:    na.attention
// CHECK-NEXT:    return
func.func @others(%s: memref<6x4xf32>, %r: memref<2x4xi32>, %x: index,
                  %q: memref<1x9x1x4xf32>, %o: memref<1x9x1x4xf32>) {
  na.tile.mask %s ranges(%r : memref<2x4xi32>) at(%x) box [6] axes [0]
    key_major : memref<6x4xf32>
  na.attention
    ins(%q, %q, %q : memref<1x9x1x4xf32>, memref<1x9x1x4xf32>, memref<1x9x1x4xf32>)
    outs(%o : memref<1x9x1x4xf32>) window(<size = [3]>)
  return
}
