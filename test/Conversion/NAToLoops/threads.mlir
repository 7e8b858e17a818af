// RUN: na-opt %s -convert-na-to-thread-loops -canonicalize -cse | FileCheck %s

// A thread a score, in steps of 16 bytes of each row.
// CHECK-LABEL: func @qk(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<1x20x4x64xbf16>, %[[K:[a-z0-9]+]]: memref<1x20x2x64xbf16>, %[[S:[a-z0-9]+]]: memref<1x20x4x7xf32>)
// CHECK-DAG:     %[[QA:.*]] = memref.assume_alignment %[[Q]], 16
// CHECK-DAG:     %[[KA:.*]] = memref.assume_alignment %[[K]], 16
// CHECK:         scf.parallel (%[[X:.*]], %[[H:.*]], %[[J:.*]]) = (%c0, %c0, %c0) to (%c20, %c4, %c7)
// CHECK:           %[[KV:.*]] = arith.divui %[[H]], %c2
// CHECK:           %[[KEY:.*]] = arith.addi %{{.*}}, %[[J]] : index
// CHECK-NOT:       scf.if
// CHECK:           %[[SUMS:.*]] = scf.for %[[C:.*]] = %c0 to %c64 step %c32 iter_args(%{{.*}}) -> (vector<8xf32>) {
// CHECK:             vector.load %[[QA]][%c0, %[[X]], %[[H]], %[[C]]] {alignment = 16 : i64}
// CHECK:             vector.load %[[KA]][%c0, %[[KEY]], %[[KV]], %[[C]]] {alignment = 16 : i64}
// CHECK:             math.fma
// CHECK-COUNT-6:     vector.load
// CHECK:           vector.reduction <add>, %[[SUMS]]
// CHECK:           memref.store %{{.*}}, %[[S]][%c0, %[[X]], %[[H]], %[[J]]]
func.func @qk(%q: memref<1x20x4x64xbf16>, %k: memref<1x20x2x64xbf16>,
              %s: memref<1x20x4x7xf32>) {
  na.qk ins(%q, %k : memref<1x20x4x64xbf16>, memref<1x20x2x64xbf16>)
      outs(%s : memref<1x20x4x7xf32>) window(<size = [7]>) {scale = 1.0 : f64}
  return
}

// Slots of causal rows may have no key. Rows of 12 bytes: 4 at a time.
// CHECK-LABEL: func @causal(
// CHECK:         memref.assume_alignment %{{.*}}, 4 :
// CHECK:         scf.parallel (%[[X:.*]], %[[Y:.*]], %[[I:.*]], %[[J:.*]]) = {{.*}} to (%c20, %c9, %c3, %c2)
// CHECK:           %[[EXISTS:.*]] = arith.cmpi slt
// CHECK:           scf.if %[[EXISTS]] -> (f32) {
// CHECK:             scf.for {{.*}} step %c2
// CHECK:           } else {
// CHECK:             scf.yield %{{.*}} : f32
func.func @causal(%q: memref<1x20x9x1x6xf16>, %s: memref<1x20x9x1x6xf32>) {
  na.qk ins(%q, %q : memref<1x20x9x1x6xf16>, memref<1x20x9x1x6xf16>)
      outs(%s : memref<1x20x9x1x6xf32>)
      window(<size = [3, 2], causal = [true, false]>)
  return
}

// Strides and offsets count too; an odd one leaves single elements.
// CHECK-LABEL: func @strided(
// CHECK-NOT:     memref.assume_alignment
// CHECK:         scf.for {{.*}} step %c4 iter_args(%{{.*}}) -> (f32)
// CHECK:           memref.load
func.func @strided(%q: memref<1x20x2x64xbf16, strided<[9999, 129, 64, 1]>>,
                   %s: memref<1x20x2x7xf32>) {
  na.qk ins(%q, %q : memref<1x20x2x64xbf16, strided<[9999, 129, 64, 1]>>,
                     memref<1x20x2x64xbf16, strided<[9999, 129, 64, 1]>>)
      outs(%s : memref<1x20x2x7xf32>) window(<size = [7]>)
  return
}

// A thread an element of the output.
// CHECK-LABEL: func @av(
// CHECK:         scf.parallel (%[[X:.*]], %[[H:.*]], %[[D:.*]]) = (%c0, %c0, %c0) to (%c20, %c2, %c64)
// CHECK:           scf.for {{.*}} = %c0 to %c7 step %c1 iter_args(%{{.*}}) -> (f32)
// CHECK:             memref.load %{{.*}}[%c0, %{{.*}}, %[[H]], %[[D]]] : memref<1x20x2x64xf32>
// CHECK:             math.fma
// CHECK:           memref.store %{{.*}}, %{{.*}}[%c0, %[[X]], %[[H]], %[[D]]]
func.func @av(%w: memref<1x20x2x7xf32>, %v: memref<1x20x2x64xf32>,
              %o: memref<1x20x2x64xf32>) {
  na.av ins(%w, %v : memref<1x20x2x7xf32>, memref<1x20x2x64xf32>)
      outs(%o : memref<1x20x2x64xf32>) window(<size = [7]>)
  return
}

// Or two of 16 bits; the bounds of a causal axis depend on the row.
// CHECK-LABEL: func @av16(
// CHECK:         scf.parallel (%[[X:.*]], %[[H:.*]], %[[D:.*]]) = (%c0, %c0, %c0) to (%c20, %c2, %c32)
// CHECK:           %[[CHANNEL:.*]] = arith.muli %[[D]], %c2
// CHECK:           %[[KEYS:.*]] = arith.subi
// CHECK:           scf.for {{.*}} = %c0 to %[[KEYS]] step %c1 iter_args(%{{.*}}) -> (vector<2xf32>)
// CHECK:             vector.load %{{.*}}[%c0, %{{.*}}, %[[H]], %[[CHANNEL]]] {alignment = 4 : i64}
// CHECK:           vector.store %{{.*}}, %{{.*}}[%c0, %[[X]], %[[H]], %[[CHANNEL]]] {alignment = 4 : i64}
func.func @av16(%w: memref<1x20x2x7xf32>, %v: memref<1x20x2x64xbf16>,
                %o: memref<1x20x2x64xbf16>) {
  na.av ins(%w, %v : memref<1x20x2x7xf32>, memref<1x20x2x64xbf16>)
      outs(%o : memref<1x20x2x64xbf16>) window(<size = [7], causal = [true]>)
  return
}

// A thread an element; the first of a row writes the LSE.
// CHECK-LABEL: func @merge(
// CHECK:         scf.parallel (%[[X:.*]], %[[C:.*]]) = (%c0, %c0) to (%c2, %c8)
// CHECK:           memref.store %{{.*}}, %{{.*}}[%[[X]], %[[C]]]
// CHECK:           %[[FIRST:.*]] = arith.cmpi eq, %[[C]], %c0
// CHECK:           scf.if %[[FIRST]] {
// CHECK:             memref.store %{{.*}}, %{{.*}}[%[[X]]]
func.func @merge(%o: memref<2x8xf32>, %l: memref<2xf32>, %d: memref<2x8xf32>,
                 %e: memref<2xf32>) {
  na.merge ins(%o, %o : memref<2x8xf32>, memref<2x8xf32>)
      lses(%l, %l : memref<2xf32>, memref<2xf32>)
      outs(%d, %e : memref<2x8xf32>, memref<2xf32>)
  return
}

// Rows of 80 channels in two parts of 64, the second from channel 16 on; the
// first writes the LSE. No memory of sums.
// CHECK-LABEL: func @attention(
// CHECK-NOT:     memref.alloc
// CHECK:         scf.parallel (%[[N:.*]], %[[X:.*]], %[[H:.*]], %[[P:.*]]) = (%c0, %c0, %c0, %c0) to (%{{.*}}, %c20, %c2, %c2)
// CHECK:           %[[SCALED:.*]] = arith.muli %[[P]], %c64
// CHECK:           %[[CHANNEL:.*]] = arith.minsi %[[SCALED]], %c16
// CHECK:           scf.for {{.*}} -> (f32, f32, vector<64xf32>) {
// CHECK:             vector.reduction
// CHECK:             %[[LARGER:.*]] = arith.cmpf ogt
// CHECK:             scf.if %[[LARGER]] -> 
// CHECK:             vector.load %{{.*}}[%[[N]], %{{.*}}, %[[H]], %[[CHANNEL]]] {alignment = 16 : i64}
// CHECK:           vector.store %{{.*}}, %{{.*}}[%[[N]], %[[X]], %[[H]], %[[CHANNEL]]] {alignment = 16 : i64}
// CHECK:           %[[FIRST:.*]] = arith.cmpi eq, %[[P]], %c0
// CHECK:           scf.if %[[FIRST]] {
// CHECK:             memref.store %{{.*}}, %{{.*}}[%[[N]], %[[X]], %[[H]]]
func.func @attention(%q: memref<?x20x2x16xf16>, %v: memref<?x20x2x80xf16>,
                     %o: memref<?x20x2x80xf16>, %l: memref<?x20x2xf32>) {
  na.attention ins(%q, %q, %v : memref<?x20x2x16xf16>, memref<?x20x2x16xf16>,
                                memref<?x20x2x80xf16>)
      outs(%o, %l : memref<?x20x2x80xf16>, memref<?x20x2xf32>)
      window(<size = [7]>)
  return
}
