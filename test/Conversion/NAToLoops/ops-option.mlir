// RUN: na-opt %s -convert-na-to-loops=ops=qk,merge,attention_dq | FileCheck %s
// RUN: not na-opt %s -convert-na-to-loops=ops=qk,softmax 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: convert-na-to-loops: unknown operation 'softmax' in option 'ops'; expected one of attention, qk, av, merge, attention_dq, attention_dkv, attention_dqkv, attention_dbias, attention_dadditional

// CHECK-LABEL: func @attention
// CHECK:         na.attention
func.func @attention(%q: memref<1x9x2x8xf32>, %o: memref<1x9x2x8xf32>) {
  na.attention
    ins(%q, %q, %q : memref<1x9x2x8xf32>, memref<1x9x2x8xf32>,
                     memref<1x9x2x8xf32>)
    outs(%o : memref<1x9x2x8xf32>) window(<size = [3]>)
  return
}

// CHECK-LABEL: func @qk
// CHECK-NOT:     na.qk
// CHECK:         scf.parallel
func.func @qk(%q: memref<1x9x2x8xf32>, %s: memref<1x9x2x3xf32>) {
  na.qk ins(%q, %q : memref<1x9x2x8xf32>, memref<1x9x2x8xf32>)
        outs(%s : memref<1x9x2x3xf32>) window(<size = [3]>)
  return
}

// CHECK-LABEL: func @av
// CHECK:         na.av
func.func @av(%w: memref<1x9x2x3xf32>, %v: memref<1x9x2x8xf32>,
              %o: memref<1x9x2x8xf32>) {
  na.av ins(%w, %v : memref<1x9x2x3xf32>, memref<1x9x2x8xf32>)
        outs(%o : memref<1x9x2x8xf32>) window(<size = [3]>)
  return
}

// CHECK-LABEL: func @merge
// CHECK-NOT:     na.merge
// CHECK:         scf.parallel
func.func @merge(%o0: memref<9x8xf32>, %l0: memref<9xf32>,
                 %o: memref<9x8xf32>) {
  na.merge ins(%o0 : memref<9x8xf32>) lses(%l0 : memref<9xf32>)
           outs(%o : memref<9x8xf32>)
  return
}

// CHECK-LABEL: func @gradients
// CHECK-NOT:     na.attention_dq
// CHECK:         scf.parallel
// CHECK:         na.attention_dkv
func.func @gradients(%q: memref<1x9x2x8xf32>, %l: memref<1x9x2xf32>) {
  na.attention_dq
    ins(%q, %q, %q, %q : memref<1x9x2x8xf32>, memref<1x9x2x8xf32>,
                         memref<1x9x2x8xf32>, memref<1x9x2x8xf32>)
    stats(%l, %l : memref<1x9x2xf32>, memref<1x9x2xf32>)
    outs(%q : memref<1x9x2x8xf32>) window(<size = [3]>)
  na.attention_dkv
    ins(%q, %q, %q, %q : memref<1x9x2x8xf32>, memref<1x9x2x8xf32>,
                         memref<1x9x2x8xf32>, memref<1x9x2x8xf32>)
    stats(%l, %l : memref<1x9x2xf32>, memref<1x9x2xf32>)
    outs(%q, %q : memref<1x9x2x8xf32>, memref<1x9x2x8xf32>)
    window(<size = [3]>)
  return
}
