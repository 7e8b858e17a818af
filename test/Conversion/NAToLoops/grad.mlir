// RUN: na-opt %s -convert-na-to-loops -canonicalize -cse | FileCheck %s

// Every row of the queries gathers from its keys; the sum is in f32 and rounded
// once.

// CHECK-LABEL: func @dq
// CHECK-SAME:    (%[[Q:[a-z0-9_]+]]: memref<2x20x4x8xbf16>, %[[K:[a-z0-9_]+]]: memref<2x20x2x8xbf16>, %[[V:[a-z0-9_]+]]: memref<2x20x2x6xbf16>, %[[DO:[a-z0-9_]+]]: memref<2x20x4x6xbf16>, %[[LSE:[a-z0-9_]+]]: memref<2x20x4xf32>, %[[DELTA:[a-z0-9_]+]]: memref<2x20x4xf32>, %[[DQ:[a-z0-9_]+]]: memref<2x20x4x8xbf16>)
// CHECK-DAG:     %[[SCALE:.*]] = arith.constant 5.000000e-01 : f32
// CHECK:         %[[SUMS:.*]] = memref.alloc() : memref<2x20x4x8xf32>
// CHECK:         scf.parallel (%[[B:.*]], %[[X:.*]], %[[H:.*]]) = (%c0, %c0, %c0) to (%c2, %c20, %c4)
// CHECK:           %[[KVH:.*]] = arith.divui %[[H]], %c2
// CHECK:           scf.for %[[KEY:.*]] = %{{.*}} to
// CHECK:             %[[DOT:.*]] = scf.for %[[C:.*]] = %c0 to %c8
// CHECK:               memref.load %[[Q]][%[[B]], %[[X]], %[[H]], %[[C]]]
// CHECK:               memref.load %[[K]][%[[B]], %[[KEY]], %[[KVH]], %[[C]]]
// CHECK:             %[[LOGIT:.*]] = arith.mulf %[[DOT]], %[[SCALE]]
// CHECK:             %[[L:.*]] = memref.load %[[LSE]][%[[B]], %[[X]], %[[H]]]
// CHECK:             %[[SHIFTED:.*]] = arith.subf %[[LOGIT]], %[[L]]
// CHECK:             %[[WEIGHT:.*]] = math.exp %[[SHIFTED]]
// CHECK:             %[[DW:.*]] = scf.for %[[C:.*]] = %c0 to %c6
// CHECK:               memref.load %[[DO]][%[[B]], %[[X]], %[[H]], %[[C]]]
// CHECK:               memref.load %[[V]][%[[B]], %[[KEY]], %[[KVH]], %[[C]]]
// CHECK:             %[[D:.*]] = memref.load %[[DELTA]][%[[B]], %[[X]], %[[H]]]
// CHECK:             %[[DIFF:.*]] = arith.subf %[[DW]], %[[D]]
// CHECK:             %[[DS:.*]] = arith.mulf %[[WEIGHT]], %[[DIFF]]
// CHECK:             scf.for
// CHECK:               memref.load %[[K]]
// CHECK:               memref.store %{{.*}}, %[[SUMS]]
// CHECK:           scf.for %[[C:.*]] = %c0 to %c8
// CHECK:             %[[SUM:.*]] = memref.load %[[SUMS]]
// CHECK:             %[[SCALED:.*]] = arith.mulf %[[SUM]], %[[SCALE]]
// CHECK:             arith.truncf %[[SCALED]]
// CHECK:             memref.store %{{.*}}, %[[DQ]][%[[B]], %[[X]], %[[H]], %[[C]]]
// CHECK:         memref.dealloc %[[SUMS]]
func.func @dq(%q: memref<2x20x4x8xbf16>, %k: memref<2x20x2x8xbf16>,
              %v: memref<2x20x2x6xbf16>, %do: memref<2x20x4x6xbf16>,
              %lse: memref<2x20x4xf32>, %delta: memref<2x20x4xf32>,
              %dq: memref<2x20x4x8xbf16>) {
  na.attention_dq
      ins(%q, %k, %v, %do : memref<2x20x4x8xbf16>, memref<2x20x2x8xbf16>,
                            memref<2x20x2x6xbf16>, memref<2x20x4x6xbf16>)
      stats(%lse, %delta : memref<2x20x4xf32>, memref<2x20x4xf32>)
      outs(%dq : memref<2x20x4x8xbf16>) window(<size = [5]>)
      {scale = 0.5 : f64}
  return
}

// Every row of the keys gathers from the queries that see it, in all heads of
// its group: in a causal window of 5 those from the key on, up to 5. Sums of
// f32 are made in the destinations.

// CHECK-LABEL: func @dkv
// CHECK-SAME:    (%[[Q:[a-z0-9_]+]]: memref<2x20x6x8xf32>, %[[K:[a-z0-9_]+]]: memref<2x20x2x8xf32>, %[[LSE:[a-z0-9_]+]]: memref<2x20x6xf32>, %[[DK:[a-z0-9_]+]]: memref<2x20x2x8xf32>, %[[DV:[a-z0-9_]+]]: memref<2x20x2x8xf32>)
// CHECK-NOT:     memref.alloc
// CHECK:         scf.parallel (%[[B:.*]], %[[X:.*]], %[[KVH:.*]]) = (%c0, %c0, %c0) to (%c2, %c20, %c2)
// CHECK:           %[[LAST:.*]] = arith.addi %[[X]], %c5
// CHECK:           %[[END:.*]] = arith.minsi %[[LAST]], %c20
// CHECK:           %[[FIRST:.*]] = arith.muli %[[KVH]], %c3
// CHECK:           scf.for %[[G:.*]] = %c0 to %c3
// CHECK:             %[[H:.*]] = arith.addi %[[FIRST]], %[[G]]
// CHECK:             scf.for %[[QUERY:.*]] = %[[X]] to %[[END]]
// CHECK:               memref.load %[[Q]][%[[B]], %[[QUERY]], %[[H]],
// CHECK:               memref.load %[[K]][%[[B]], %[[X]], %[[KVH]],
// CHECK:               memref.load %[[LSE]][%[[B]], %[[QUERY]], %[[H]]]
// CHECK:               math.exp
// CHECK:               memref.store %{{.*}}, %[[DK]][%[[B]], %[[X]], %[[KVH]],
// CHECK:               memref.store %{{.*}}, %[[DV]][%[[B]], %[[X]], %[[KVH]],
func.func @dkv(%q: memref<2x20x6x8xf32>, %k: memref<2x20x2x8xf32>,
               %lse: memref<2x20x6xf32>, %dk: memref<2x20x2x8xf32>,
               %dv: memref<2x20x2x8xf32>) {
  na.attention_dkv
      ins(%q, %k, %k, %q : memref<2x20x6x8xf32>, memref<2x20x2x8xf32>,
                           memref<2x20x2x8xf32>, memref<2x20x6x8xf32>)
      stats(%lse, %lse : memref<2x20x6xf32>, memref<2x20x6xf32>)
      outs(%dk, %dv : memref<2x20x2x8xf32>, memref<2x20x2x8xf32>)
      window(<size = [5], causal = [true]>)
  return
}

// Every query sees an additional key.

// CHECK-LABEL: func @dadditional
// CHECK:         scf.parallel (%[[B:.*]], %[[T:.*]], %[[KVH:.*]]) = (%c0, %c0, %c0) to (%c2, %c3, %c4)
// CHECK:           scf.for %{{.*}} = %c0 to %c7
// CHECK:             scf.for %{{.*}} = %c0 to %c5
// CHECK:               math.exp
func.func @dadditional(%q: memref<2x7x5x4x8xf32>, %e: memref<2x3x4x8xf32>,
                       %lse: memref<2x7x5x4xf32>, %dk: memref<2x3x4x8xf32>,
                       %dv: memref<2x3x4x8xf32>) {
  na.attention_dadditional
      ins(%q, %q, %e, %e : memref<2x7x5x4x8xf32>, memref<2x7x5x4x8xf32>,
                           memref<2x3x4x8xf32>, memref<2x3x4x8xf32>)
      stats(%lse, %lse : memref<2x7x5x4xf32>, memref<2x7x5x4xf32>)
      outs(%dk, %dv : memref<2x3x4x8xf32>, memref<2x3x4x8xf32>)
  return
}

// A relative position takes those queries that have a key there.

// CHECK-LABEL: func @dbias
// CHECK-SAME:    %[[DB:[a-z0-9_]+]]: memref<4x9xf32>)
// CHECK:         scf.parallel (%[[H:.*]], %[[I:.*]]) = (%c0, %c0) to (%c4, %c9)
// CHECK:           %[[SUM:.*]] = scf.for %[[B:.*]] = %c0 to %c2
// CHECK:             scf.for %[[X:.*]] = %c0 to %c20
// CHECK:               %[[AT:.*]] = arith.addi %[[X]], %[[I]]
// CHECK:               %[[KEY:.*]] = arith.addi %[[AT]], %c-4
// CHECK:               %[[AFTER:.*]] = arith.cmpi sge, %[[KEY]]
// CHECK:               %[[BEFORE:.*]] = arith.cmpi slt, %[[KEY]]
// CHECK:               %[[VISIBLE:.*]] = arith.andi %[[AFTER]], %[[BEFORE]]
// CHECK:               scf.if %[[VISIBLE]]
// CHECK:                 math.exp
// CHECK:           memref.store %[[SUM]], %[[DB]][%[[H]], %[[I]]]
func.func @dbias(%q: memref<2x20x4x8xf32>, %lse: memref<2x20x4xf32>,
                 %bias: memref<4x9xf32>, %db: memref<4x9xf32>) {
  na.attention_dbias
      ins(%q, %q, %q, %q : memref<2x20x4x8xf32>, memref<2x20x4x8xf32>,
                           memref<2x20x4x8xf32>, memref<2x20x4x8xf32>)
      stats(%lse, %lse : memref<2x20x4xf32>, memref<2x20x4xf32>)
      bias(%bias : memref<4x9xf32>) outs(%db : memref<4x9xf32>)
      window(<size = [5]>)
  return
}
