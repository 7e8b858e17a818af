// RUN: na-opt %s -convert-na-to-thread-loops -canonicalize -cse | FileCheck %s

// A thread has 64 channels of a row, the last one those up to its end.

// CHECK-LABEL: func @dq
// CHECK-SAME:    %[[DQ:[a-z0-9_]+]]: memref<2x20x4x96xbf16>)
// CHECK:         %[[OUT:.*]] = memref.assume_alignment %[[DQ]], 16
// CHECK:         scf.parallel (%[[B:.*]], %[[X:.*]], %[[H:.*]], %[[PART:.*]]) = (%c0, %c0, %c0, %c0) to (%c2, %c20, %c4, %c2)
// CHECK:           %[[AT:.*]] = arith.muli %[[PART]], %c64
// CHECK:           %[[CHANNEL:.*]] = arith.minsi %[[AT]], %c32
// CHECK:           %[[SUMS:.*]] = scf.for {{.*}} -> (vector<64xf32>)
// CHECK:             vector.reduction
// CHECK:             math.exp
// CHECK:             vector.reduction
// CHECK:             vector.load {{.*}} vector<64xbf16>
// CHECK:             math.fma {{.*}} vector<64xf32>
// CHECK:           arith.mulf %[[SUMS]]
// CHECK:           vector.store %{{.*}}, %[[OUT]][%[[B]], %[[X]], %[[H]], %[[CHANNEL]]] {alignment = 16 : i64}
func.func @dq(%q: memref<2x20x4x96xbf16>, %do: memref<2x20x4x32xbf16>,
              %lse: memref<2x20x4xf32>, %dq: memref<2x20x4x96xbf16>) {
  na.attention_dq
      ins(%q, %q, %do, %do : memref<2x20x4x96xbf16>, memref<2x20x4x96xbf16>,
                             memref<2x20x4x32xbf16>, memref<2x20x4x32xbf16>)
      stats(%lse, %lse : memref<2x20x4xf32>, memref<2x20x4xf32>)
      outs(%dq : memref<2x20x4x96xbf16>) window(<size = [5]>)
  return
}

// Both gradients share the weights.

// CHECK-LABEL: func @dkv
// CHECK:         scf.parallel (%{{.*}}, %{{.*}}, %{{.*}}) = (%c0, %c0, %c0) to (%c2, %c20, %c2)
// CHECK:           scf.for %{{.*}} = %c0 to %c3 {{.*}} -> (vector<8xf32>, vector<16xf32>)
// CHECK:             scf.for {{.*}} -> (vector<8xf32>, vector<16xf32>)
// CHECK:               math.exp
// CHECK-NOT:           math.exp
// CHECK:           vector.store
// CHECK:           vector.store
func.func @dkv(%q: memref<2x20x6x8xf32>, %k: memref<2x20x2x8xf32>,
               %v: memref<2x20x2x16xf32>, %do: memref<2x20x6x16xf32>,
               %lse: memref<2x20x6xf32>) {
  na.attention_dkv
      ins(%q, %k, %v, %do : memref<2x20x6x8xf32>, memref<2x20x2x8xf32>,
                            memref<2x20x2x16xf32>, memref<2x20x6x16xf32>)
      stats(%lse, %lse : memref<2x20x6xf32>, memref<2x20x6xf32>)
      outs(%k, %v : memref<2x20x2x8xf32>, memref<2x20x2x16xf32>)
      window(<size = [5]>)
  return
}

// One gradient alone: the parts are those of its channels.

// CHECK-LABEL: func @dv
// CHECK:         scf.parallel (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) = (%c0, %c0, %c0, %c0) to (%c2, %c20, %c4, %c2)
// CHECK:           scf.for {{.*}} -> (vector<64xf32>)
// CHECK:             vector.reduction
// CHECK-NOT:         vector.reduction
// CHECK:           vector.store
// CHECK-NOT:       vector.store
func.func @dv(%q: memref<2x20x4x8xf32>, %v: memref<2x20x4x96xf32>,
              %lse: memref<2x20x4xf32>) {
  na.attention_dkv
      ins(%q, %q, %v, %v : memref<2x20x4x8xf32>, memref<2x20x4x8xf32>,
                           memref<2x20x4x96xf32>, memref<2x20x4x96xf32>)
      stats(%lse, %lse : memref<2x20x4xf32>, memref<2x20x4xf32>)
      dv(%v : memref<2x20x4x96xf32>) window(<size = [5]>)
  return
}

// CHECK-LABEL: func @dadditional
// CHECK:         scf.parallel (%{{.*}}, %{{.*}}, %{{.*}}) = (%c0, %c0, %c0) to (%c2, %c3, %c4)
// CHECK:           scf.for %{{.*}} = %c0 to %c20 {{.*}} -> (vector<8xf32>, vector<8xf32>)
func.func @dadditional(%q: memref<2x20x4x8xf32>, %e: memref<2x3x4x8xf32>,
                       %lse: memref<2x20x4xf32>) {
  na.attention_dadditional
      ins(%q, %q, %e, %e : memref<2x20x4x8xf32>, memref<2x20x4x8xf32>,
                           memref<2x3x4x8xf32>, memref<2x3x4x8xf32>)
      stats(%lse, %lse : memref<2x20x4xf32>, memref<2x20x4xf32>)
      outs(%e, %e : memref<2x3x4x8xf32>, memref<2x3x4x8xf32>)
  return
}

// Left for convert-na-to-loops: one sum a thread anyway, and a dynamic number of
// channels.

// CHECK-LABEL: func @left
// CHECK:         na.attention_dbias
// CHECK:         na.attention_dq
func.func @left(%q: memref<2x20x4x?xf32>, %lse: memref<2x20x4xf32>,
                %bias: memref<4x9xf32>) {
  na.attention_dbias
      ins(%q, %q, %q, %q : memref<2x20x4x?xf32>, memref<2x20x4x?xf32>,
                           memref<2x20x4x?xf32>, memref<2x20x4x?xf32>)
      stats(%lse, %lse : memref<2x20x4xf32>, memref<2x20x4xf32>)
      bias(%bias : memref<4x9xf32>) outs(%bias : memref<4x9xf32>)
      window(<size = [5]>)
  na.attention_dq
      ins(%q, %q, %q, %q : memref<2x20x4x?xf32>, memref<2x20x4x?xf32>,
                           memref<2x20x4x?xf32>, memref<2x20x4x?xf32>)
      stats(%lse, %lse : memref<2x20x4xf32>, memref<2x20x4xf32>)
      outs(%q : memref<2x20x4x?xf32>) window(<size = [5]>)
  return
}
