// RUN: na-opt %s -convert-na-to-thread-loops | FileCheck %s
// RUN: na-opt %s -convert-na-to-thread-loops -convert-na-to-loops | FileCheck %s --check-prefix=REST

// Left for convert-na-to-loops: a number of channels that is not known.

// CHECK-NOT:  scf
// REST-NOT:   na.{{attention|qk}}

// CHECK-LABEL: func @attention
// CHECK:         na.attention
func.func @attention(%q: memref<1x20x2x?xf32>, %o: memref<1x20x2x?xf32>) {
  na.attention ins(%q, %q, %q : memref<1x20x2x?xf32>, memref<1x20x2x?xf32>,
                                memref<1x20x2x?xf32>)
      outs(%o : memref<1x20x2x?xf32>) window(<size = [7]>)
  return
}

// CHECK-LABEL: func @qk
// CHECK:         na.qk
func.func @qk(%q: memref<1x20x2x?xf32>, %s: memref<1x20x2x7xf32>) {
  na.qk ins(%q, %q : memref<1x20x2x?xf32>, memref<1x20x2x?xf32>)
      outs(%s : memref<1x20x2x7xf32>) window(<size = [7]>)
  return
}
