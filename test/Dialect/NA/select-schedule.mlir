// RUN: na-opt %s -na-select-schedule | FileCheck %s

// The tiles are the cost model's; unittests/Schedule tests how it chooses.

// CHECK-LABEL: func @attention
// CHECK:         na.attention
// CHECK-SAME:      window(<size = [7, 7]>)
// CHECK-SAME:      schedule = #na.schedule<target = "cpu", query_tile = [{{[0-9]+, [0-9]+}}], key_tile = [{{[0-9]+, [0-9]+}}]>
func.func @attention(%q: tensor<1x56x56x2x32xbf16>, %k: tensor<1x56x56x1x32xbf16>,
                     %o: tensor<1x56x56x2x32xbf16>)
    -> tensor<1x56x56x2x32xbf16> {
  %r = na.attention
    ins(%q, %k, %k : tensor<1x56x56x2x32xbf16>, tensor<1x56x56x1x32xbf16>,
                     tensor<1x56x56x1x32xbf16>)
    outs(%o : tensor<1x56x56x2x32xbf16>) window(<size = [7, 7]>)
    -> tensor<1x56x56x2x32xbf16>
  return %r : tensor<1x56x56x2x32xbf16>
}

// One token has one tile.
// CHECK-LABEL: func @single
// CHECK:         schedule = #na.schedule<target = "cpu", query_tile = [1], key_tile = [1]>
func.func @single(%q: memref<1x1x2x8xf64>, %o: memref<1x1x2x8xf64>) {
  na.attention
    ins(%q, %q, %q : memref<1x1x2x8xf64>, memref<1x1x2x8xf64>, memref<1x1x2x8xf64>)
    outs(%o : memref<1x1x2x8xf64>) window(<size = [1], causal = [true]>)
  return
}

// Sizes that are not known are fine, and so are long windows over them.
// CHECK-LABEL: func @dynamic
// CHECK-COUNT-2: schedule = #na.schedule<target = "cpu", query_tile = [{{[0-9]+}}], key_tile = [{{[0-9]+}}]>
func.func @dynamic(%q: memref<?x?x?x?xf32>, %o: memref<?x?x?x?xf32>) {
  na.attention
    ins(%q, %q, %q : memref<?x?x?x?xf32>, memref<?x?x?x?xf32>, memref<?x?x?x?xf32>)
    outs(%o : memref<?x?x?x?xf32>) window(<size = [9], dilation = [3]>)
    {scale = 1.0 : f64}
  na.attention
    ins(%q, %q, %q : memref<?x?x?x?xf32>, memref<?x?x?x?xf32>, memref<?x?x?x?xf32>)
    outs(%o : memref<?x?x?x?xf32>) window(<size = [1099511627776]>)
    {scale = 1.0 : f64}
  return
}

// The halves of the unfused form are scheduled too.
// CHECK-LABEL: func @halves
// CHECK:         na.qk
// CHECK-SAME:      schedule = #na.schedule<target = "cpu"
// CHECK:         na.av
// CHECK-SAME:      schedule = #na.schedule<target = "cpu"
func.func @halves(%q: memref<1x16x2x8xf32>, %w: memref<1x16x2x5xf32>,
                  %o: memref<1x16x2x8xf32>) {
  na.qk ins(%q, %q : memref<1x16x2x8xf32>, memref<1x16x2x8xf32>)
        outs(%w : memref<1x16x2x5xf32>) window(<size = [5]>)
  na.av ins(%w, %q : memref<1x16x2x5xf32>, memref<1x16x2x8xf32>)
        outs(%o : memref<1x16x2x8xf32>) window(<size = [5]>)
  return
}

// Every operation of a module is found, wherever it is.
// CHECK-LABEL: func @several
// CHECK:         scf.if
// CHECK:           na.attention
// CHECK-SAME:        schedule = #na.schedule
// CHECK:         scf.forall
// CHECK:           na.attention
// CHECK-SAME:        schedule = #na.schedule
// CHECK:       ^bb1:
// CHECK:         na.attention
// CHECK-SAME:      schedule = #na.schedule
func.func @several(%q: memref<1x9x1x8xf32>, %o: memref<1x9x1x8xf32>, %c: i1) {
  scf.if %c {
    na.attention
      ins(%q, %q, %q : memref<1x9x1x8xf32>, memref<1x9x1x8xf32>, memref<1x9x1x8xf32>)
      outs(%o : memref<1x9x1x8xf32>) window(<size = [3]>)
  }
  scf.forall (%i) in (4) {
    na.attention
      ins(%q, %q, %q : memref<1x9x1x8xf32>, memref<1x9x1x8xf32>, memref<1x9x1x8xf32>)
      outs(%o : memref<1x9x1x8xf32>) window(<size = [3]>)
  }
  cf.br ^bb1
^bb1:
  na.attention
    ins(%q, %q, %q : memref<1x9x1x8xf32>, memref<1x9x1x8xf32>, memref<1x9x1x8xf32>)
    outs(%o : memref<1x9x1x8xf32>) window(<size = [3]>)
  return
}

// A schedule that is there stays, and na.merge and the rest need none.
// CHECK-LABEL: func @no_op
// CHECK:         schedule = #na.schedule<target = "cpu", query_tile = [3], key_tile = [2]>
// CHECK:         na.merge
// CHECK-NOT:     schedule
// CHECK:         return
func.func @no_op(%q: memref<1x9x1x8xf32>, %l: memref<1x9x1xf32>,
                 %o: memref<1x9x1x8xf32>) {
  na.attention
    ins(%q, %q, %q : memref<1x9x1x8xf32>, memref<1x9x1x8xf32>, memref<1x9x1x8xf32>)
    outs(%o : memref<1x9x1x8xf32>) window(<size = [3]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [3], key_tile = [2]>}
  na.merge ins(%q : memref<1x9x1x8xf32>) lses(%l : memref<1x9x1xf32>)
           outs(%o : memref<1x9x1x8xf32>)
  return
}

// So are the gradients, each by its own model: keys are what the last one's
// tiles own accumulators of.
// CHECK-LABEL: func @gradients
// CHECK:         na.attention_dq
// CHECK-SAME:      schedule = #na.schedule<target = "cpu", query_tile = [{{[0-9]+, [0-9]+}}], key_tile = [{{[0-9]+, [0-9]+}}]>
// CHECK:         na.attention_dkv
// CHECK-SAME:      schedule = #na.schedule<target = "cpu", query_tile = [{{[0-9]+, [0-9]+}}], key_tile = [{{[0-9]+, [0-9]+}}]>
func.func @gradients(%q: memref<1x56x56x2x32xf32>, %l: memref<1x56x56x2xf32>) {
  na.attention_dq
    ins(%q, %q, %q, %q : memref<1x56x56x2x32xf32>, memref<1x56x56x2x32xf32>, memref<1x56x56x2x32xf32>, memref<1x56x56x2x32xf32>)
    stats(%l, %l : memref<1x56x56x2xf32>, memref<1x56x56x2xf32>)
    outs(%q : memref<1x56x56x2x32xf32>) window(<size = [7, 7]>)
  na.attention_dkv
    ins(%q, %q, %q, %q : memref<1x56x56x2x32xf32>, memref<1x56x56x2x32xf32>, memref<1x56x56x2x32xf32>, memref<1x56x56x2x32xf32>)
    stats(%l, %l : memref<1x56x56x2xf32>, memref<1x56x56x2xf32>)
    outs(%q, %q : memref<1x56x56x2x32xf32>, memref<1x56x56x2x32xf32>) window(<size = [7, 7]>)
  return
}
