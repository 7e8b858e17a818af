// RUN: na-opt %s -split-input-file -nagpu-assign-layouts -canonicalize -cse | FileCheck %s

// Windows are a number a row and axis, from which their ends follow; causal
// ones are two. A mask compares them, relative to the tile of keys, on the axes
// that can be cut only.
// CHECK-LABEL: func @mask
// CHECK-SAME:    %{{[a-z0-9_]+}}: memref<1x16x1x16xf32>, %[[X:[a-z0-9_]+]]: index, %[[Y:[a-z0-9_]+]]: index, %[[INSIDE:[a-z0-9_]+]]: i1
// CHECK:         gpu.launch
// CHECK:           %[[R:.*]]:3 = nagpu.map() {
// CHECK-DAG:         %[[ROW:.*]] = nagpu.index 0
// CHECK-DAG:         %[[RY:.*]] = arith.remui %[[ROW]], %c8_i32 : i32
// CHECK-DAG:         %[[RX:.*]] = arith.divui %[[ROW]], %c8_i32 : i32
// CHECK:             nagpu.yield %{{.*}}, %{{.*}}, %{{.*}} : i32, i32, i32
// CHECK-NEXT:      } : !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
// CHECK:           %[[S:.*]] = nagpu.splat
// CHECK:           %[[BEGIN:.*]] = nagpu.map(%[[R]]#1 : {{.*}}) {
// CHECK-NEXT:      ^bb0(%[[B0:.*]]: i32):
// CHECK:             %[[AT:.*]] = arith.index_cast %[[Y]] : index to i32
// CHECK:             %[[B1:.*]] = arith.subi %[[B0]], %[[AT]] : i32
// CHECK:             nagpu.yield %[[B1]] : i32
// CHECK:           %[[END:.*]] = nagpu.map(%[[R]]#2 : {{.*}}) {
// CHECK:           %[[M:.*]] = nagpu.mask %[[S]] axis 1 of [4, 4] from %[[BEGIN]] to %[[END]] : <16x16xf32, accumulator, 1>, <16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
// CHECK:           nagpu.store %[[M]]
// With `unless`, a branch for the whole CTA.
// CHECK:           %[[C:.*]] = scf.if %[[INSIDE]] -> (!nagpu.fragment<16x16xf32, accumulator, 1>) {
// CHECK-NEXT:        scf.yield %[[S]]
// CHECK-NEXT:      } else {
// CHECK:             %[[REL:.*]]:4 = nagpu.map(%[[R]]#0, %[[R]]#1, %[[R]]#2 :
// CHECK:             %[[M2:.*]] = nagpu.mask_box %[[S]] axes [0, 1] of [4, 4] from %[[REL]]#0, %[[REL]]#2 to %[[REL]]#1, %[[REL]]#3
// CHECK:             scf.yield %[[M2]]
// CHECK-NEXT:      }
// CHECK:           nagpu.store %[[C]]
func.func @mask(%o: memref<1x16x1x16xf32>, %x: index, %y: index, %inside: i1) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %r0 = tensor.empty() : tensor<4x16xi32>
    %r = na.tile.windows <size = [3, 5], causal = [false, true]> at(%b, %x) sizes(%c32, %y) box [2, 8] into %r0
      : tensor<4x16xi32> -> tensor<4x16xi32>
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %m = na.tile.mask %s ranges(%r : tensor<4x16xi32>) at(%x, %y) box [4, 4] axes [1]
      : tensor<16x16xf32> -> tensor<16x16xf32>
    na.tile.store %m into %o[%b, %b] at(%b) box [16] dilation [1] : tensor<16x16xf32>, memref<1x16x1x16xf32>
    %m2 = na.tile.mask %s ranges(%r : tensor<4x16xi32>) at(%x, %y) box [4, 4] axes [0, 1] unless %inside
      : tensor<16x16xf32> -> tensor<16x16xf32>
    na.tile.store %m2 into %o[%b, %b] at(%b) box [16] dilation [1] : tensor<16x16xf32>, memref<1x16x1x16xf32>
    gpu.terminator
  }
  return
}

// -----

// Four heads of a query are rows behind each other, with one window.
// CHECK-LABEL: func @heads
// CHECK:         gpu.launch
// CHECK:           %[[R:.*]] = nagpu.map() {
// CHECK:             %[[ROW:.*]] = nagpu.index 0
// CHECK:             %[[QUERY:.*]] = arith.divui %[[ROW]], %c4_i32 : i32
// CHECK-DAG:         arith.remui %[[QUERY]], %c2_i32 : i32
// CHECK-DAG:         arith.divui %[[QUERY]], %c2_i32 : i32
// CHECK:           nagpu.mask
func.func @heads(%o: memref<1x16x1x16xf32>, %x: index, %y: index) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %r0 = tensor.empty() : tensor<4x16xi32>
    %r = na.tile.windows <size = [3, 5]> at(%b, %x) sizes(%c32, %y) box [2, 2] heads 4 into %r0
      : tensor<4x16xi32> -> tensor<4x16xi32>
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %m = na.tile.mask %s ranges(%r : tensor<4x16xi32>) at(%x, %y) box [4, 4] axes [0, 1]
      : tensor<16x16xf32> -> tensor<16x16xf32>
    na.tile.store %m into %o[%b, %b] at(%b) box [16] dilation [1] : tensor<16x16xf32>, memref<1x16x1x16xf32>
    gpu.terminator
  }
  return
}

// -----

// Entries outside of the table are not read: pairs that would need them are
// masked.
// CHECK-LABEL: func @bias
// CHECK-SAME:    %[[TABLE:[a-z0-9_]+]]: memref<2x9xf16>, %{{[a-z0-9_]+}}: memref<1x16x1x16xf32>, %[[Q:[a-z0-9_]+]]: index, %[[K:[a-z0-9_]+]]: index
// CHECK:         nagpu.map(%{{.*}} : !nagpu.fragment<16x16xf32, accumulator, 1>) {
// CHECK-NEXT:    ^bb0(%[[X:.*]]: f32):
// CHECK-DAG:       %[[ROW:.*]] = nagpu.index 0
// CHECK-DAG:       %[[COLUMN:.*]] = nagpu.index 1
// CHECK-DAG:       %[[Q32:.*]] = arith.index_cast %[[Q]] : index to i32
// CHECK-DAG:       %[[K32:.*]] = arith.index_cast %[[K]] : index to i32
// CHECK:           %[[D:.*]] = arith.subi %[[K32]], %[[Q32]] : i32
// CHECK:           %[[ORIGIN:.*]] = arith.addi %[[D]], %c4_i32 : i32
// CHECK:           %[[OFFSET:.*]] = arith.subi %[[COLUMN]], %[[ROW]] : i32
// CHECK:           %[[ENTRY:.*]] = arith.addi %[[ORIGIN]], %[[OFFSET]] : i32
// CHECK:           %[[CLAMPED:.*]] = arith.minui %[[ENTRY]], %c8_i32 : i32
// CHECK:           %[[I:.*]] = arith.index_cast %[[CLAMPED]] : i32 to index
// CHECK:           %[[LOADED:.*]] = memref.load %[[TABLE]][%{{.*}}, %[[I]]] : memref<2x9xf16>
// CHECK:           %[[WIDE:.*]] = arith.extf %[[LOADED]] : f16 to f32
// CHECK:           %[[SUM:.*]] = arith.addf %[[X]], %[[WIDE]] : f32
// CHECK:           nagpu.yield %[[SUM]] : f32
func.func @bias(%table: memref<2x9xf16>, %o: memref<1x16x1x16xf32>, %q: index, %k: index) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %t = na.tile.bias %s table(%table[%b] : memref<2x9xf16>) <size = [5]> query_at(%q) key_at(%k)
      query_box [16] key_box [16] : tensor<16x16xf32> -> tensor<16x16xf32>
    na.tile.store %t into %o[%b, %b] at(%b) box [16] dilation [1] : tensor<16x16xf32>, memref<1x16x1x16xf32>
    gpu.terminator
  }
  return
}

// -----

// The slot of a key counts from the first key of the row's window, row-major;
// queries beyond the tensor have none.
// CHECK-LABEL: func @scatter
// CHECK-SAME:    %[[W:[a-z0-9_]+]]: memref<1x?x8x1x15xbf16>, %[[Q:[a-z0-9_]+]]: index, %[[K:[a-z0-9_]+]]: index
// CHECK:         %[[R:.*]]:4 = nagpu.map(%{{.*}}#0, %{{.*}}#1 :
// CHECK:         nagpu.map(%{{.*}}, %[[R]]#0, %[[R]]#1, %[[R]]#2, %[[R]]#3 : {{.*}}) over !nagpu.fragment<16x16xf32, accumulator, 1> {
// CHECK-NEXT:    ^bb0(%[[X:.*]]: f32, %[[BX:.*]]: i32, %[[EX:.*]]: i32, %[[BY:.*]]: i32, %[[EY:.*]]: i32):
// CHECK-DAG:       %[[ROW:.*]] = nagpu.index 0
// CHECK-DAG:       %[[COLUMN:.*]] = nagpu.index 1
// CHECK-DAG:       %[[RX:.*]] = arith.divui %[[ROW]], %c8_i32 : i32
// CHECK-DAG:       %[[KX:.*]] = arith.divui %[[COLUMN]], %c4_i32 : i32
// CHECK-DAG:       %[[KY:.*]] = arith.remui %[[COLUMN]], %c4_i32 : i32
// CHECK-DAG:       %[[STEP:.*]] = arith.muli %[[RX]], %c2_i32 : i32
// CHECK-DAG:       %[[TOKEN:.*]] = arith.addi %{{.*}}, %[[STEP]] : i32
// CHECK-DAG:       %[[DIM:.*]] = memref.dim %[[W]], %c1
// CHECK-DAG:       %[[LENGTH:.*]] = arith.index_cast %[[DIM]] : index to i32
// CHECK-DAG:       arith.cmpi slt, %[[TOKEN]], %[[LENGTH]] : i32
// CHECK-DAG:       %[[OX:.*]] = arith.subi %[[KX]], %[[BX]] : i32
// CHECK-DAG:       %[[OY:.*]] = arith.subi %[[KY]], %[[BY]] : i32
// CHECK-DAG:       %[[MUL:.*]] = arith.muli %[[OX]], %c5_i32 : i32
// CHECK-DAG:       %[[NUMBER:.*]] = arith.addi %[[MUL]], %[[OY]] : i32
// CHECK-DAG:       %[[SLOT:.*]] = arith.index_cast %[[NUMBER]] : i32 to index
// CHECK:           scf.if %{{.*}} {
// CHECK-NEXT:        %[[ROUNDED:.*]] = arith.truncf %[[X]] : f32 to bf16
// CHECK-NEXT:        memref.store %[[ROUNDED]], %[[W]][%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[SLOT]]] : memref<1x?x8x1x15xbf16>
// CHECK-NEXT:      }
// CHECK-NEXT:      nagpu.yield
func.func @scatter(%w: memref<1x?x8x1x15xbf16>, %q: index, %k: index) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %r0 = tensor.empty() : tensor<4x16xi32>
    %r = na.tile.windows <size = [3, 5], dilation = [2, 1]> at(%b, %q) sizes(%c32, %c32) box [2, 8] into %r0
      : tensor<4x16xi32> -> tensor<4x16xi32>
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    na.tile.scatter %s ranges(%r : tensor<4x16xi32>) key_at(%k, %k) into %w[%b, %b] at(%q, %q)
      <size = [3, 5], dilation = [2, 1]> query_box [2, 8] key_box [4, 4]
      : tensor<16x16xf32>, memref<1x?x8x1x15xbf16>
    gpu.terminator
  }
  return
}

// -----

// Scores in f32 go through shared memory: a row for each query and one more, and
// three chunks behind the keys.
// CHECK-LABEL: func @scatter_f32
// CHECK-SAME:    %[[W:[a-z0-9_]+]]: memref<1x?x8x1x15xf32>, %[[Q:[a-z0-9_]+]]: index, %[[K:[a-z0-9_]+]]: index
// CHECK:         %[[T:.*]] = nagpu.alloc : <17x28xf32, linear>
// CHECK:         %[[S:.*]] = nagpu.splat
// CHECK:         %[[R:.*]]:4 = nagpu.map(
// CHECK:         nagpu.scatter %[[S]] via %[[T]] into %[[W]][%{{.*}}, %{{.*}}] at(%[[Q]], %[[Q]]) ranges(%[[R]]#0, %[[R]]#1, %[[R]]#2, %[[R]]#3)
// CHECK-SAME:      window [3, 5] query_box [2, 8] key_box [4, 4] dilation [2, 1]
func.func @scatter_f32(%w: memref<1x?x8x1x15xf32>, %q: index, %k: index) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %r0 = tensor.empty() : tensor<4x16xi32>
    %r = na.tile.windows <size = [3, 5], dilation = [2, 1]> at(%b, %q) sizes(%c32, %c32) box [2, 8] into %r0
      : tensor<4x16xi32> -> tensor<4x16xi32>
    %s0 = tensor.empty() : tensor<16x16xf32>
    %s = linalg.fill ins(%f0 : f32) outs(%s0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    na.tile.scatter %s ranges(%r : tensor<4x16xi32>) key_at(%k, %k) into %w[%b, %b] at(%q, %q)
      <size = [3, 5], dilation = [2, 1]> query_box [2, 8] key_box [4, 4]
      : tensor<16x16xf32>, memref<1x?x8x1x15xf32>
    gpu.terminator
  }
  return
}

// -----

// Weights of the values' type go to a shared tile, from which they are operands.
// CHECK-LABEL: func @gather
// CHECK-SAME:    %[[W:[a-z0-9_]+]]: memref<1x64x1x5xbf16>
// CHECK:         %[[T:.*]] = nagpu.alloc : <16x56xbf16, linear>
// CHECK:         %[[P:.*]] = nagpu.gather %[[W]][%{{.*}}, %{{.*}}] at(%{{.*}}) ranges(%{{.*}}, %{{.*}}) into %[[T]]
// CHECK-SAME:      window [5] query_box [16] key_box [32] dilation [1] warps 1
// CHECK:         nagpu.ldmatrix %[[P]][0, 0]
// CHECK-NOT:     nagpu.convert
#mk = affine_map<(d0, d1, d2) -> (d0, d2)>
#kn = affine_map<(d0, d1, d2) -> (d2, d1)>
#mn = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @gather(%w: memref<1x64x1x5xbf16>, %v: memref<1x64x1x16xbf16>, %q: index, %k: index) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %r0 = tensor.empty() : tensor<2x16xi32>
    %r = na.tile.windows <size = [5]> at(%q) sizes(%c32) box [16] into %r0
      : tensor<2x16xi32> -> tensor<2x16xi32>
    %p0 = tensor.empty() : tensor<16x32xbf16>
    %p = na.tile.gather %w[%b, %b] at(%q) ranges(%r : tensor<2x16xi32>) key_at(%k) <size = [5]>
      query_box [16] key_box [32] into %p0 : memref<1x64x1x5xbf16>, tensor<16x32xbf16> -> tensor<16x32xbf16>
    %v0 = tensor.empty() : tensor<32x16xbf16>
    %vt = na.tile.load %v[%b, %b] at(%k) box [32] dilation [1] into %v0
      : memref<1x64x1x16xbf16>, tensor<32x16xbf16> -> tensor<32x16xbf16>
    %o0 = tensor.empty() : tensor<16x16xf32>
    %o1 = linalg.fill ins(%f0 : f32) outs(%o0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %o = linalg.contract indexing_maps = [#mk, #kn, #mn]
      ins(%p, %vt : tensor<16x32xbf16>, tensor<32x16xbf16>) outs(%o1 : tensor<16x16xf32>) -> tensor<16x16xf32>
    na.tile.store %o into %v[%b, %b] at(%q) box [16] dilation [1] : tensor<16x16xf32>, memref<1x64x1x16xbf16>
    gpu.terminator
  }
  return
}

// -----

// Wider weights, or 0; rounded where they are operands.
// CHECK-LABEL: func @gather_wide
// CHECK-SAME:    %[[W:[a-z0-9_]+]]: memref<1x64x1x5xf32>
// CHECK:         %[[P:[0-9]+]] = nagpu.map(%{{[0-9]+}}#0, %{{[0-9]+}}#1 : !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>) {
// CHECK:           %[[WEIGHT:.*]] = scf.if %{{.*}} -> (f32) {
// CHECK-NEXT:        %[[LOADED:.*]] = memref.load %[[W]][%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] : memref<1x64x1x5xf32>
// CHECK-NEXT:        scf.yield %[[LOADED]]
// CHECK-NEXT:      } else {
// CHECK-NEXT:        scf.yield %cst : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      nagpu.yield %[[WEIGHT]] : f32
// CHECK-NEXT:    } : !nagpu.fragment<16x32xf32, accumulator, 1>
// CHECK:         nagpu.convert %[[P]] : <16x32xf32, accumulator, 1> -> <16x32xbf16, lhs, 1>
#id = affine_map<(d0, d1) -> (d0, d1)>
#mk = affine_map<(d0, d1, d2) -> (d0, d2)>
#kn = affine_map<(d0, d1, d2) -> (d2, d1)>
#mn = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @gather_wide(%w: memref<1x64x1x5xf32>, %v: memref<1x64x1x16xbf16>, %q: index, %k: index) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %r0 = tensor.empty() : tensor<2x16xi32>
    %r = na.tile.windows <size = [5]> at(%q) sizes(%c32) box [16] into %r0
      : tensor<2x16xi32> -> tensor<2x16xi32>
    %p0 = tensor.empty() : tensor<16x32xf32>
    %p1 = na.tile.gather %w[%b, %b] at(%q) ranges(%r : tensor<2x16xi32>) key_at(%k) <size = [5]>
      query_box [16] key_box [32] into %p0 : memref<1x64x1x5xf32>, tensor<16x32xf32> -> tensor<16x32xf32>
    %p2 = tensor.empty() : tensor<16x32xbf16>
    %p = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p1 : tensor<16x32xf32>) outs(%p2 : tensor<16x32xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %narrow = arith.truncf %in : f32 to bf16
      linalg.yield %narrow : bf16
    } -> tensor<16x32xbf16>
    %v0 = tensor.empty() : tensor<32x16xbf16>
    %vt = na.tile.load %v[%b, %b] at(%k) box [32] dilation [1] into %v0
      : memref<1x64x1x16xbf16>, tensor<32x16xbf16> -> tensor<32x16xbf16>
    %o0 = tensor.empty() : tensor<16x16xf32>
    %o1 = linalg.fill ins(%f0 : f32) outs(%o0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %o = linalg.contract indexing_maps = [#mk, #kn, #mn]
      ins(%p, %vt : tensor<16x32xbf16>, tensor<32x16xbf16>) outs(%o1 : tensor<16x16xf32>) -> tensor<16x16xf32>
    na.tile.store %o into %v[%b, %b] at(%q) box [16] dilation [1] : tensor<16x16xf32>, memref<1x64x1x16xbf16>
    gpu.terminator
  }
  return
}

// -----

// Weights that a product transposes are for all warps of the CTA, rounded as
// they are gathered.
// CHECK-LABEL: func @gather_transposed
// CHECK-SAME:    %[[W:[a-z0-9_]+]]: memref<1x64x1x5xf32>
// CHECK:         %[[T:.*]] = nagpu.alloc : <32x40xbf16, linear>
// CHECK:         %[[P:.*]] = nagpu.gather %[[W]][%{{.*}}, %{{.*}}] at(%{{.*}}) ranges(%{{.*}}, %{{.*}}) into %[[T]]
// CHECK-SAME:      window [5] query_box [32] key_box [16] dilation [1] warps 1 for_cta
// CHECK:         %[[A0:.*]] = nagpu.ldmatrix %[[P]][0, 0] transposed : <32x40xbf16, linear> -> <16x16xbf16, lhs, 1>
// CHECK:         nagpu.mma %[[A0]]
// CHECK:         %[[A1:.*]] = nagpu.ldmatrix %[[P]][16, 0] transposed : <32x40xbf16, linear> -> <16x16xbf16, lhs, 1>
// CHECK:         nagpu.mma %[[A1]]
#km = affine_map<(d0, d1, d2) -> (d2, d0)>
#kn = affine_map<(d0, d1, d2) -> (d2, d1)>
#mn = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @gather_transposed(%w: memref<1x64x1x5xf32>, %v: memref<1x64x1x16xbf16>, %q: index, %k: index) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %r0 = tensor.empty() : tensor<2x32xi32>
    %r = na.tile.windows <size = [5]> at(%q) sizes(%c32) box [32] into %r0
      : tensor<2x32xi32> -> tensor<2x32xi32>
    %p0 = tensor.empty() : tensor<32x16xbf16>
    %p = na.tile.gather %w[%b, %b] at(%q) ranges(%r : tensor<2x32xi32>) key_at(%k) <size = [5]>
      query_box [32] key_box [16] into %p0 : memref<1x64x1x5xf32>, tensor<32x16xbf16> -> tensor<32x16xbf16>
    %v0 = tensor.empty() : tensor<32x16xbf16>
    %vt = na.tile.load %v[%b, %b] at(%q) box [32] dilation [1] into %v0
      : memref<1x64x1x16xbf16>, tensor<32x16xbf16> -> tensor<32x16xbf16>
    %o0 = tensor.empty() : tensor<16x16xf32>
    %o1 = linalg.fill ins(%f0 : f32) outs(%o0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %o = linalg.contract indexing_maps = [#km, #kn, #mn]
      ins(%p, %vt : tensor<32x16xbf16>, tensor<32x16xbf16>) outs(%o1 : tensor<16x16xf32>) -> tensor<16x16xf32>
    na.tile.store %o into %v[%b, %b] at(%k) box [16] dilation [1] : tensor<16x16xf32>, memref<1x64x1x16xbf16>
    gpu.terminator
  }
  return
}

// -----

// Without tensor cores the whole tile is an operand.
// CHECK-LABEL: func @gather_transposed_f32
// CHECK:         %[[P:.*]] = nagpu.gather {{.*}} for_cta : memref<1x64x1x5xf32>, <32x28xf32, linear>
// CHECK:         nagpu.fma %[[P]], %{{.*}}, %{{.*}} lhs_transposed : !nagpu.shared<32x28xf32, linear>, <32x16xf32, linear>, <16x16xf32, accumulator, 1>
#km = affine_map<(d0, d1, d2) -> (d2, d0)>
#kn = affine_map<(d0, d1, d2) -> (d2, d1)>
#mn = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @gather_transposed_f32(%w: memref<1x64x1x5xf32>, %v: memref<1x64x1x16xf32>, %q: index, %k: index) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %f0 = arith.constant 0.0 : f32
    %r0 = tensor.empty() : tensor<2x32xi32>
    %r = na.tile.windows <size = [5]> at(%q) sizes(%c32) box [32] into %r0
      : tensor<2x32xi32> -> tensor<2x32xi32>
    %p0 = tensor.empty() : tensor<32x16xf32>
    %p = na.tile.gather %w[%b, %b] at(%q) ranges(%r : tensor<2x32xi32>) key_at(%k) <size = [5]>
      query_box [32] key_box [16] into %p0 : memref<1x64x1x5xf32>, tensor<32x16xf32> -> tensor<32x16xf32>
    %v0 = tensor.empty() : tensor<32x16xf32>
    %vt = na.tile.load %v[%b, %b] at(%q) box [32] dilation [1] into %v0
      : memref<1x64x1x16xf32>, tensor<32x16xf32> -> tensor<32x16xf32>
    %o0 = tensor.empty() : tensor<16x16xf32>
    %o1 = linalg.fill ins(%f0 : f32) outs(%o0 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %o = linalg.contract indexing_maps = [#km, #kn, #mn]
      ins(%p, %vt : tensor<32x16xf32>, tensor<32x16xf32>) outs(%o1 : tensor<16x16xf32>) -> tensor<16x16xf32>
    na.tile.store %o into %v[%b, %b] at(%k) box [16] dilation [1] : tensor<16x16xf32>, memref<1x64x1x16xf32>
    gpu.terminator
  }
  return
}
