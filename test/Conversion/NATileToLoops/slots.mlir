// RUN: na-opt %s -convert-na-tile-to-loops -canonicalize -split-input-file | FileCheck %s
// RUN: na-opt %s -convert-na-tile-to-loops=vector-bits=128 -canonicalize -split-input-file | FileCheck %s --check-prefix=NARROW

// Entries of a key-major tile are a column: they move one by one. Queries
// outside the tensor have no loop iteration.

// CHECK-LABEL: func @scatter
// CHECK-SAME:    (%[[T:[a-z0-9_]+]]: memref<24x16xf32>, %[[R:[a-z0-9_]+]]: memref<2x16xi32>, %[[K:[a-z0-9_]+]]: index, %[[D:[a-z0-9_]+]]: memref<2x56x2x7xbf16>, %[[B:[a-z0-9_]+]]: index, %[[H:[a-z0-9_]+]]: index, %[[X:[a-z0-9_]+]]: index)
// CHECK:         %[[REST:[a-z0-9_]+]] = arith.subi %c56, %[[X]]
// CHECK:         %[[QUERIES:[a-z0-9_]+]] = arith.minsi %[[REST]], %c16
// CHECK:         scf.for %[[M:[a-z0-9_]+]] = %c0 to %[[QUERIES]] step %c1 {
// CHECK:           %[[TOKEN:[a-z0-9_]+]] = arith.addi %[[X]], %[[M]]
// CHECK:           %[[B32:[a-z0-9_]+]] = memref.load %[[R]][%c0, %[[M]]]
// CHECK:           %[[BEGIN:[a-z0-9_]+]] = arith.index_cast %[[B32]]
// CHECK:           %[[E32:[a-z0-9_]+]] = memref.load %[[R]][%c1, %[[M]]]
// CHECK:           %[[END:[a-z0-9_]+]] = arith.index_cast %[[E32]]
// CHECK:           %[[FIRST:[a-z0-9_]+]] = arith.subi %[[BEGIN]], %[[K]]
// CHECK:           %[[LOWER:[a-z0-9_]+]] = arith.maxsi %[[FIRST]], %c0
// CHECK:           %[[LAST:[a-z0-9_]+]] = arith.subi %[[END]], %[[K]]
// CHECK:           %[[UPPER:[a-z0-9_]+]] = arith.minsi %[[LAST]], %c24
// CHECK:           %[[ORIGIN:[a-z0-9_]+]] = arith.subi %[[K]], %[[BEGIN]]
// CHECK:           %[[SLOT:[a-z0-9_]+]] = arith.addi %[[ORIGIN]], %[[LOWER]]
// CHECK:           %[[LENGTH:[a-z0-9_]+]] = arith.subi %[[UPPER]], %[[LOWER]]
// CHECK:           scf.for %[[I:[a-z0-9_]+]] = %c0 to %[[LENGTH]] step %c1 {
// CHECK:             %[[TO:[a-z0-9_]+]] = arith.addi %[[SLOT]], %[[I]]
// CHECK:             %[[FROM:[a-z0-9_]+]] = arith.addi %[[LOWER]], %[[I]]
// CHECK:             %[[S:[a-z0-9_]+]] = memref.load %[[T]][%[[FROM]], %[[M]]]
// CHECK:             %[[N:[a-z0-9_]+]] = arith.truncf %[[S]] : f32 to bf16
// CHECK:             memref.store %[[N]], %[[D]][%[[B]], %[[TOKEN]], %[[H]], %[[TO]]]
// CHECK-NOT:     na.tile
func.func @scatter(%t: memref<24x16xf32>, %r: memref<2x16xi32>, %k: index,
                   %d: memref<2x56x2x7xbf16>, %b: index, %h: index, %x: index) {
  na.tile.scatter %t ranges(%r : memref<2x16xi32>) key_at(%k)
    into %d[%b, %h] at(%x) <size = [7]> query_box [16] key_box [24] key_major
    : memref<24x16xf32>, memref<2x56x2x7xbf16>
  return
}

// -----

// The tile is zeroed; then runs of at most 7 keys move as masked vectors. On a
// dilated axis the queries of the tensor are counted in steps.

// CHECK-LABEL: func @gather
// CHECK-SAME:    (%[[T:[a-z0-9_]+]]: memref<16x40xf32>, %[[R:[a-z0-9_]+]]: memref<4x16xi32>, %[[K:[a-z0-9_]+]]: index, %[[W:[a-z0-9_]+]]: memref<2x12x?x2x21xf32>, %[[B:[a-z0-9_]+]]: index, %[[H:[a-z0-9_]+]]: index, %[[X:[a-z0-9_]+]]: index)
// CHECK-DAG:     %[[ZERO8:[a-z0-9_]+]] = arith.constant dense<0.000000e+00> : vector<8xf32>
// CHECK-DAG:     %[[ZERO16:[a-z0-9_]+]] = arith.constant dense<0.000000e+00> : vector<16xf32>
// CHECK:         scf.for %[[ROW:[a-z0-9_]+]] = %c0 to %c16 step %c1 {
// CHECK:           scf.for %[[C:[a-z0-9_]+]] = %c0 to %c32 step %c16 {
// CHECK:             vector.store %[[ZERO16]], %[[T]][%[[ROW]], %[[C]]]
// CHECK:           vector.store %[[ZERO8]], %[[T]][%[[ROW]], %c32]
// CHECK:         %[[REST:[a-z0-9_]+]] = arith.subi %c13, %[[X]]
// CHECK:         %[[STEPS:[a-z0-9_]+]] = arith.divsi %[[REST]], %c2
// CHECK:         %[[ROWS:[a-z0-9_]+]] = arith.minsi %[[STEPS]], %c2
// CHECK:         %[[DIM:[a-z0-9_]+]] = memref.dim %[[W]], %c2
// CHECK:         scf.for %[[M0:[a-z0-9_]+]] = %c0 to %[[ROWS]] step %c1 {
// CHECK:           scf.for %[[M1:[a-z0-9_]+]] = %c0 to
// CHECK:             %[[BLOCK:[a-z0-9_]+]] = arith.muli %[[M0]], %c8
// CHECK:             %[[M:[a-z0-9_]+]] = arith.addi %[[BLOCK]], %[[M1]]
// CHECK:             memref.load %[[R]][%c0, %[[M]]]
// CHECK:             memref.load %[[R]][%c1, %[[M]]]
// CHECK:             memref.load %[[R]][%c2, %[[M]]]
// CHECK:             memref.load %[[R]][%c3, %[[M]]]
// CHECK:             scf.for %[[K0:[a-z0-9_]+]] =
// CHECK:               arith.muli %[[K0]], %c20
// CHECK:               %[[SLOTS:[a-z0-9_]+]] = arith.muli %{{.*}}, %c7
// CHECK:               %[[SLOT:[a-z0-9_]+]] = arith.addi %[[SLOTS]]
// CHECK:               scf.for %[[I:[a-z0-9_]+]] = %c0 to %[[LENGTH:[a-z0-9_]+]] step %c8 {
// CHECK:                 %[[FROM:[a-z0-9_]+]] = arith.addi %[[SLOT]], %[[I]]
// CHECK:                 %[[LEFT:[a-z0-9_]+]] = arith.subi %[[LENGTH]], %[[I]]
// CHECK:                 %[[MASK:[a-z0-9_]+]] = vector.create_mask %[[LEFT]] : vector<8xi1>
// CHECK:                 %[[V:[a-z0-9_]+]] = vector.maskedload %[[W]][%[[B]], %{{.*}}, %{{.*}}, %[[H]], %[[FROM]]], %[[MASK]], %[[ZERO8]]
// CHECK:                 vector.maskedstore %[[T]][%[[M]], %{{.*}}], %[[MASK]], %[[V]]

// NARROW-LABEL: func @gather
// NARROW:         scf.for %[[C:[a-z0-9_]+]] = %c0 to %c40 step %c4 {
// NARROW:         vector.maskedload {{.*}} vector<4xf32>
func.func @gather(%t: memref<16x40xf32>, %r: memref<4x16xi32>, %k: index,
                  %w: memref<2x12x?x2x21xf32>, %b: index, %h: index,
                  %x: index) {
  na.tile.gather %w[%b, %h] at(%x, %x) ranges(%r : memref<4x16xi32>)
    key_at(%k, %k) <size = [3, 7], dilation = [2, 1]> query_box [2, 8]
    key_box [2, 20] into %t : memref<2x12x?x2x21xf32>, memref<16x40xf32>
  return
}

// -----

// No masked vectors of rows with a stride.

// CHECK-LABEL: func @strided
// CHECK-NOT:     vector.maskedload
// CHECK:         %[[S:[a-z0-9_]+]] = memref.load %{{.*}} : memref<2x56x2x7xf32, strided<[?, ?, ?, ?]>>
// CHECK:         memref.store %[[S]]
func.func @strided(%t: memref<16x24xf32>, %r: memref<2x16xi32>, %k: index,
                   %w: memref<2x56x2x7xf32, strided<[?, ?, ?, ?]>>, %b: index,
                   %h: index, %x: index) {
  na.tile.gather %w[%b, %h] at(%x) ranges(%r : memref<2x16xi32>) key_at(%k)
    <size = [7]> query_box [16] key_box [24] into %t
    : memref<2x56x2x7xf32, strided<[?, ?, ?, ?]>>, memref<16x24xf32>
  return
}

// -----

// Along the queries of a key-major tile the table descends; entries outside it
// are masked. Other axes outside it are skipped.

// CHECK-LABEL: func @bias
// CHECK-SAME:    (%[[T:[a-z0-9_]+]]: memref<20x40xf32>, %[[TABLE:[a-z0-9_]+]]: memref<4x5x7xbf16>, %[[H:[a-z0-9_]+]]: index, %[[QX:[a-z0-9_]+]]: index, %[[QY:[a-z0-9_]+]]: index, %[[KX:[a-z0-9_]+]]: index, %[[KY:[a-z0-9_]+]]: index)
// CHECK-DAG:     %[[LIMIT:[a-z0-9_]+]] = arith.constant dense<7> : vector<16xi32>
// CHECK-DAG:     %[[STEPS:[a-z0-9_]+]] = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : vector<16xi32>
// CHECK:         scf.for %[[K0:[a-z0-9_]+]] = %c0 to %c4 step %c1 {
// CHECK:           scf.for %[[K1:[a-z0-9_]+]] = %c0 to %c5 step %c1 {
// CHECK:             scf.for %[[Q0:[a-z0-9_]+]] = %c0 to %c2 step %c1 {
// CHECK:               %[[ENTRY:[a-z0-9_]+]] = arith.subi %{{.*}}, %[[Q0]]
// CHECK:               %[[INSIDE:[a-z0-9_]+]] = arith.cmpi ult, %[[ENTRY]], %c5
// CHECK:               scf.if %[[INSIDE]] {
// CHECK:                 %[[LOWEST:[a-z0-9_]+]] = arith.addi %{{.*}}, %c-15
// CHECK:                 %[[START:[a-z0-9_]+]] = vector.broadcast
// CHECK:                 %[[INDICES:[a-z0-9_]+]] = arith.addi %[[START]], %[[STEPS]]
// CHECK:                 %[[MASK:[a-z0-9_]+]] = arith.cmpi ult, %[[INDICES]], %[[LIMIT]]
// CHECK:                 %[[V:[a-z0-9_]+]] = vector.maskedload %[[TABLE]][%[[H]], %[[ENTRY]], %[[LOWEST]]], %[[MASK]]
// CHECK:                 %[[REVERSED:[a-z0-9_]+]] = vector.shuffle %[[V]], %[[V]] [15, 14,
// CHECK:                 %[[WIDE:[a-z0-9_]+]] = arith.extf %[[REVERSED]]
// CHECK:                 %[[OLD:[a-z0-9_]+]] = vector.load %[[T]]
// CHECK:                 %[[NEW:[a-z0-9_]+]] = arith.addf %[[OLD]], %[[WIDE]]
// CHECK:                 vector.store %[[NEW]], %[[T]]
// CHECK:                 vector.maskedload {{.*}} vector<4xbf16>
func.func @bias(%t: memref<20x40xf32>, %table: memref<4x5x7xbf16>, %h: index,
                %qx: index, %qy: index, %kx: index, %ky: index) {
  na.tile.bias %t table(%table[%h] : memref<4x5x7xbf16>) <size = [3, 4]>
    query_at(%qx, %qy) key_at(%kx, %ky) query_box [2, 20] key_box [4, 5]
    key_major : memref<20x40xf32>
  return
}

// -----

// Along the keys it ascends.

// CHECK-LABEL: func @bias_query_major
// CHECK-NOT:     scf.if
// CHECK-NOT:     vector.shuffle
// CHECK:         vector.maskedload
// CHECK:         vector.store
func.func @bias_query_major(%t: memref<20x16xf64>, %table: memref<4x7xf64>,
                            %h: index, %q: index, %k: index) {
  na.tile.bias %t table(%table[%h] : memref<4x7xf64>) <size = [4]>
    query_at(%q) key_at(%k) query_box [20] key_box [16] : memref<20x16xf64>
  return
}

// -----

// Nothing to do.

// CHECK-LABEL: func @masked
// CHECK-NEXT:    na.tile.mask
// CHECK-NEXT:    return
func.func @masked(%t: memref<20x16xf32>, %r: memref<2x16xi32>, %k: index) {
  na.tile.mask %t ranges(%r : memref<2x16xi32>) at(%k) box [20] axes [0]
    key_major : memref<20x16xf32>
  return
}
