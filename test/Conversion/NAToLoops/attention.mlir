// RUN: na-opt %s -convert-na-to-loops -canonicalize -cse -split-input-file | FileCheck %s

// The output has the accumulator's type: sums are in the output itself.

// CHECK-LABEL: func @plain
// CHECK-SAME:    (%[[Q:[a-z0-9_-]+]]: memref<2x9x4x8xf32>, %[[K:[a-z0-9_-]+]]: memref<2x9x4x8xf32>, %[[V:[a-z0-9_-]+]]: memref<2x9x4x6xf32>, %[[O:[a-z0-9_-]+]]: memref<2x9x4x6xf32>)
// CHECK-DAG:     %[[ZERO:[a-z0-9_-]+]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG:     %[[NONE:[a-z0-9_-]+]] = arith.constant 0xFF800000 : f32
// CHECK-DAG:     %[[SCALE:[a-z0-9_-]+]] = arith.constant 0.353553385 : f32
// CHECK-DAG:     %[[C0:[a-z0-9_-]+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:[a-z0-9_-]+]] = arith.constant 1 : index
// CHECK-DAG:     %[[LEFT:[a-z0-9_-]+]] = arith.constant -1 : index
// CHECK-DAG:     %[[LAST:[a-z0-9_-]+]] = arith.constant 6 : index
// CHECK-DAG:     %[[C3:[a-z0-9_-]+]] = arith.constant 3 : index
// CHECK-DAG:     %[[C8:[a-z0-9_-]+]] = arith.constant 8 : index
// CHECK-NOT:     memref.alloc
// CHECK:         scf.parallel (%[[B:[a-z0-9_-]+]], %[[X:[a-z0-9_-]+]], %[[H:[a-z0-9_-]+]]) =
// CHECK:           %[[SHIFTED:[a-z0-9_-]+]] = arith.addi %[[X]], %[[LEFT]]
// CHECK:           %[[MIN:[a-z0-9_-]+]] = arith.minsi %[[SHIFTED]], %[[LAST]]
// CHECK:           %[[BEGIN:[a-z0-9_-]+]] = arith.maxsi %[[MIN]], %[[C0]]
// CHECK:           %[[END:[a-z0-9_-]+]] = arith.addi %[[BEGIN]], %[[C3]]
// CHECK:           %[[TOP:[a-z0-9_-]+]] = scf.for %[[KEY:[a-z0-9_-]+]] = %[[BEGIN]] to %[[END]] step %[[C1]] iter_args(%[[MAX:[a-z0-9_-]+]] = %[[NONE]])
// CHECK:             %[[DOT:[a-z0-9_-]+]] = scf.for %[[C:[a-z0-9_-]+]] = %[[C0]] to %[[C8]] step %[[C1]] iter_args({{.*}} = %[[ZERO]])
// CHECK:               memref.load %[[Q]][%[[B]], %[[X]], %[[H]], %[[C]]]
// CHECK:               memref.load %[[K]][%[[B]], %[[KEY]], %[[H]], %[[C]]]
// CHECK:             %[[LOGIT:[a-z0-9_-]+]] = arith.mulf %[[DOT]], %[[SCALE]]
// CHECK:             arith.maximumf %[[MAX]], %[[LOGIT]]
// CHECK:           scf.for
// CHECK-NEXT:        memref.store %[[ZERO]], %[[O]]
// CHECK:           %[[SUM:[a-z0-9_-]+]] = scf.for %[[KEY2:[a-z0-9_-]+]] = %[[BEGIN]] to %[[END]] step %[[C1]] iter_args(%[[PART:[a-z0-9_-]+]] = %[[ZERO]])
// CHECK:             %[[LOGIT2:[a-z0-9_-]+]] = arith.mulf %{{.*}}, %[[SCALE]]
// CHECK:             %[[DIFF:[a-z0-9_-]+]] = arith.subf %[[LOGIT2]], %[[TOP]]
// CHECK:             %[[EXP:[a-z0-9_-]+]] = math.exp %[[DIFF]]
// CHECK:             scf.for %[[D:[a-z0-9_-]+]] = %[[C0]] to %[[LAST]]
// CHECK:               %[[VALUE:[a-z0-9_-]+]] = memref.load %[[V]][%[[B]], %[[KEY2]], %[[H]], %[[D]]]
// CHECK:               %[[TERM:[a-z0-9_-]+]] = arith.mulf %[[EXP]], %[[VALUE]]
// CHECK:               %[[OLD:[a-z0-9_-]+]] = memref.load %[[O]][%[[B]], %[[X]], %[[H]], %[[D]]]
// CHECK:               arith.addf %[[OLD]], %[[TERM]]
// CHECK:             arith.addf %[[PART]], %[[EXP]]
// CHECK:           scf.for
// CHECK:             arith.divf %{{.*}}, %[[SUM]]
// CHECK:             memref.store %{{.*}}, %[[O]]
// CHECK-NOT:       math.log
// CHECK:           scf.reduce
// CHECK-NOT:     na.attention
func.func @plain(%q: memref<2x9x4x8xf32>, %k: memref<2x9x4x8xf32>,
                 %v: memref<2x9x4x6xf32>, %o: memref<2x9x4x6xf32>) {
  na.attention
    ins(%q, %k, %v : memref<2x9x4x8xf32>, memref<2x9x4x8xf32>,
                     memref<2x9x4x6xf32>)
    outs(%o : memref<2x9x4x6xf32>) window(<size = [3]>)
  return
}

// -----

// A narrower output is rounded once: sums are in a buffer.

// CHECK-LABEL: func @options
// CHECK-SAME:    %[[BIAS:[a-z0-9_-]+]]: memref<4x5x3xbf16>, %[[EK:[a-z0-9_-]+]]: memref<2x3x2x8xbf16>, %[[EV:[a-z0-9_-]+]]: memref<2x3x2x6xbf16>
// CHECK-SAME:    %[[O:[a-z0-9_-]+]]: memref<2x9x7x4x6xbf16>, %[[LSE:[a-z0-9_-]+]]: memref<2x9x7x4xf32>
// CHECK-DAG:     %[[SCALE:[a-z0-9_-]+]] = arith.constant -5.000000e-01 : f32
// CHECK-DAG:     %[[C1:[a-z0-9_-]+]] = arith.constant 1 : index
// CHECK-DAG:     %[[C2:[a-z0-9_-]+]] = arith.constant 2 : index
// CHECK-DAG:     %[[C3:[a-z0-9_-]+]] = arith.constant 3 : index
// CHECK-DAG:     %[[C9:[a-z0-9_-]+]] = arith.constant 9 : index
// CHECK:         %[[SUMS:[a-z0-9_-]+]] = memref.alloc() : memref<2x9x7x4x6xf32>
// CHECK:         scf.parallel (%[[B:[a-z0-9_-]+]], %[[X:[a-z0-9_-]+]], %[[Y:[a-z0-9_-]+]], %[[H:[a-z0-9_-]+]]) =
// Two query heads read one key head.
// CHECK:           %[[KVH:[a-z0-9_-]+]] = arith.divui %[[H]], %[[C2]]
// The residue class of the query and its size.
// CHECK:           %[[PX:[a-z0-9_-]+]] = arith.divui %[[X]], %[[C2]]
// CHECK:           %[[FLOOR:[a-z0-9_-]+]] = arith.muli %[[PX]], %[[C2]]
// CHECK:           %[[RESIDUE:[a-z0-9_-]+]] = arith.subi %[[X]], %[[FLOOR]]
// CHECK:           %[[REST:[a-z0-9_-]+]] = arith.subi %[[C9]], %[[RESIDUE]]
// CHECK:           arith.ceildivsi %[[REST]], %[[C2]]
// The causal axis ends at the query.
// CHECK:           %[[END:[a-z0-9_-]+]] = arith.addi %[[Y]], %[[C1]]
// CHECK:           scf.for %[[KX:[a-z0-9_-]+]] =
// CHECK:             scf.for %[[KY:[a-z0-9_-]+]] = %{{.*}} to %[[END]]
// CHECK:               %[[STEPS:[a-z0-9_-]+]] = arith.muli %[[KX]], %[[C2]]
// CHECK:               %[[AT:[a-z0-9_-]+]] = arith.addi %[[RESIDUE]], %[[STEPS]]
// CHECK:               %[[XK:[a-z0-9_-]+]] = memref.load %{{.*}}[%[[B]], %[[AT]], %[[KY]], %[[KVH]], %{{.*}}] : memref<2x9x7x2x8xbf16>
// CHECK:               arith.extf %[[XK]] : bf16 to f32
// CHECK:               %[[SCALED:[a-z0-9_-]+]] = arith.mulf %{{.*}}, %[[SCALE]]
// CHECK:               %[[DX:[a-z0-9_-]+]] = arith.subi %[[KX]], %[[PX]]
// CHECK:               %[[RX:[a-z0-9_-]+]] = arith.addi %[[DX]], %[[C2]]
// CHECK:               %[[DY:[a-z0-9_-]+]] = arith.subi %[[KY]], %[[Y]]
// CHECK:               %[[RY:[a-z0-9_-]+]] = arith.addi %[[DY]], %[[C1]]
// CHECK:               %[[TABLE:[a-z0-9_-]+]] = memref.load %[[BIAS]][%[[H]], %[[RX]], %[[RY]]]
// CHECK:               %[[WIDE:[a-z0-9_-]+]] = arith.extf %[[TABLE]] : bf16 to f32
// CHECK:               arith.addf %[[SCALED]], %[[WIDE]]
// The additional keys have no bias.
// CHECK:           %[[TOP:[a-z0-9_-]+]] = scf.for %[[T:[a-z0-9_-]+]] = %{{.*}} to %[[C3]]
// CHECK:             memref.load %[[EK]][%[[B]], %[[T]], %[[KVH]], %{{.*}}]
// CHECK-NOT:         %[[BIAS]]
// CHECK:             arith.maximumf
// CHECK:           scf.for
// CHECK-NEXT:        memref.store %{{.*}}, %[[SUMS]]
// CHECK:           %[[TOTAL:[a-z0-9_-]+]] = scf.for %[[T:[a-z0-9_-]+]] = %{{.*}} to %[[C3]]
// CHECK:             memref.load %[[EV]][%[[B]], %[[T]], %[[KVH]], %{{.*}}]
// CHECK:             memref.store %{{.*}}, %[[SUMS]]
// CHECK:           arith.divf %{{.*}}, %[[TOTAL]]
// CHECK:           arith.truncf %{{.*}} : f32 to bf16
// CHECK:           memref.store %{{.*}}, %[[O]]
// CHECK:           %[[LOG:[a-z0-9_-]+]] = math.log %[[TOTAL]]
// CHECK:           %[[L:[a-z0-9_-]+]] = arith.addf %[[TOP]], %[[LOG]]
// CHECK:           memref.store %[[L]], %[[LSE]][%[[B]], %[[X]], %[[Y]], %[[H]]]
// CHECK:         memref.dealloc %[[SUMS]]
func.func @options(
    %q: memref<2x9x7x4x8xbf16>, %k: memref<2x9x7x2x8xbf16>,
    %v: memref<2x9x7x2x6xbf16>, %b: memref<4x5x3xbf16>,
    %ek: memref<2x3x2x8xbf16>, %ev: memref<2x3x2x6xbf16>,
    %o: memref<2x9x7x4x6xbf16>, %l: memref<2x9x7x4xf32>) {
  na.attention
    ins(%q, %k, %v : memref<2x9x7x4x8xbf16>, memref<2x9x7x2x8xbf16>,
                     memref<2x9x7x2x6xbf16>)
    bias(%b : memref<4x5x3xbf16>)
    additional(%ek, %ev : memref<2x3x2x8xbf16>, memref<2x3x2x6xbf16>)
    outs(%o, %l : memref<2x9x7x4x6xbf16>, memref<2x9x7x4xf32>)
    window(<size = [3, 2], dilation = [2, 1], causal = [false, true]>)
    {scale = -5.000000e-01 : f64}
  return
}

// -----

// CHECK-LABEL: func @dynamic
// CHECK-SAME:    (%[[Q:[a-z0-9_-]+]]: memref<?x?x?x?xf64>, %[[K:[a-z0-9_-]+]]: memref<?x?x?x?xf64>
// CHECK-DAG:     %[[ONE:[a-z0-9_-]+]] = arith.constant 1.000000e+00 : f64
// CHECK-DAG:     %[[C1:[a-z0-9_-]+]] = arith.constant 1 : index
// CHECK-DAG:     %[[C2:[a-z0-9_-]+]] = arith.constant 2 : index
// CHECK-DAG:     %[[C3:[a-z0-9_-]+]] = arith.constant 3 : index
// CHECK-DAG:     %[[WINDOW:[a-z0-9_-]+]] = arith.constant -4 : index
// The default scale follows from the size of a head.
// CHECK:         %[[D:[a-z0-9_-]+]] = memref.dim %[[Q]], %[[C3]]
// CHECK:         %[[CAST:[a-z0-9_-]+]] = arith.index_cast %[[D]]
// CHECK:         %[[FLOAT:[a-z0-9_-]+]] = arith.sitofp %[[CAST]] : i64 to f64
// CHECK:         %[[ROOT:[a-z0-9_-]+]] = math.sqrt %[[FLOAT]]
// CHECK:         %[[SCALE:[a-z0-9_-]+]] = arith.divf %[[ONE]], %[[ROOT]]
// CHECK:         scf.parallel (%[[B:[a-z0-9_-]+]], %[[X:[a-z0-9_-]+]], %[[H:[a-z0-9_-]+]]) =
// CHECK:           %[[HQ:[a-z0-9_-]+]] = memref.dim %[[Q]], %[[C2]]
// CHECK:           %[[HKV:[a-z0-9_-]+]] = memref.dim %[[K]], %[[C2]]
// CHECK:           %[[GROUP:[a-z0-9_-]+]] = arith.divui %[[HQ]], %[[HKV]]
// CHECK:           arith.divui %[[H]], %[[GROUP]]
// CHECK:           %[[LENGTH:[a-z0-9_-]+]] = memref.dim %[[Q]], %[[C1]]
// CHECK:           arith.addi %[[LENGTH]], %[[WINDOW]]
// CHECK:           arith.mulf %{{.*}}, %[[SCALE]] : f64
func.func @dynamic(%q: memref<?x?x?x?xf64>, %k: memref<?x?x?x?xf64>,
                   %v: memref<?x?x?x?xf64>, %o: memref<?x?x?x?xf64>) {
  na.attention
    ins(%q, %k, %v : memref<?x?x?x?xf64>, memref<?x?x?x?xf64>,
                     memref<?x?x?x?xf64>)
    outs(%o : memref<?x?x?x?xf64>) window(<size = [4]>)
  return
}

// -----

// CHECK-LABEL: func @dynamic_narrow
// CHECK-SAME:    %[[O:[a-z0-9_-]+]]: memref<?x9x2x?xf16>)
// CHECK-DAG:     %[[C0:[a-z0-9_-]+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C3:[a-z0-9_-]+]] = arith.constant 3 : index
// CHECK:         %[[B:[a-z0-9_-]+]] = memref.dim %[[O]], %[[C0]]
// CHECK:         %[[DV:[a-z0-9_-]+]] = memref.dim %[[O]], %[[C3]]
// CHECK:         memref.alloc(%[[B]], %[[DV]]) : memref<?x9x2x?xf32>
func.func @dynamic_narrow(%q: memref<?x9x2x8xf16>, %k: memref<?x9x2x8xf16>,
                          %v: memref<?x9x2x?xf16>, %o: memref<?x9x2x?xf16>) {
  na.attention
    ins(%q, %k, %v : memref<?x9x2x8xf16>, memref<?x9x2x8xf16>,
                     memref<?x9x2x?xf16>)
    outs(%o : memref<?x9x2x?xf16>) window(<size = [4]>)
  return
}
