// RUN: na-opt %s -gpu-map-parallel -canonicalize | FileCheck %s
// RUN: na-opt %s -gpu-map-parallel=block-size=64 -canonicalize | FileCheck %s --check-prefix=SIZE

// 300 iterations, the last loop fastest; divisions in 32 bits.
// CHECK-LABEL: func @static(
// CHECK-SAME:    %[[M:[a-z0-9]+]]: memref<100x3xf32>, %[[X:[a-z0-9]+]]: f32
// CHECK:         gpu.launch blocks(%[[B:.*]], %{{.*}}, %{{.*}}) in (%{{.*}} = %c2, %{{.*}} = %c1, %{{.*}} = %c1) threads(%[[T:.*]], %{{.*}}, %{{.*}}) in (%{{.*}} = %c256, %{{.*}} = %c1, %{{.*}} = %c1) {
// CHECK:           %[[FIRST:.*]] = arith.muli %[[B]], %c256 : index
// CHECK:           %[[ID:.*]] = arith.addi %[[FIRST]], %[[T]] : index
// CHECK:           %[[INSIDE:.*]] = arith.cmpi ult, %[[ID]], %c300 : index
// CHECK:           scf.if %[[INSIDE]] {
// CHECK:             %[[N:.*]] = arith.index_castui %[[ID]] : index to i32
// CHECK:             %[[J32:.*]] = arith.remui %[[N]], %c3_i32 : i32
// CHECK:             %[[I32:.*]] = arith.divui %[[N]], %c3_i32 : i32
// CHECK-DAG:         %[[J:.*]] = arith.index_castui %[[J32]] : i32 to index
// CHECK-DAG:         %[[I:.*]] = arith.index_castui %[[I32]] : i32 to index
// CHECK:             memref.store %[[X]], %[[M]][%[[I]], %[[J]]]
// CHECK:           gpu.terminator

// SIZE-LABEL: func @static(
// SIZE:         gpu.launch blocks({{.*}}) in (%{{.*}} = %c5, {{.*}}) threads({{.*}}) in (%{{.*}} = %c64,
func.func @static(%m: memref<100x3xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c100 = arith.constant 100 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c100, %c3) step (%c1, %c1) {
    memref.store %x, %m[%i, %j] : memref<100x3xf32>
    scf.reduce
  }
  return
}

// Sizes that are not known, bounds and steps that are not 0 and 1: 64 bits.
// CHECK-LABEL: func @dynamic(
// CHECK-SAME:    %[[LO:[a-z0-9]+]]: index, %[[HI:[a-z0-9]+]]: index, %[[STEP:[a-z0-9]+]]: index
// CHECK:         %[[SPAN:.*]] = arith.subi %[[HI]], %[[LO]] : index
// CHECK:         %[[REAL:.*]] = arith.maxsi %[[SPAN]], %c0 : index
// CHECK:         %[[COUNT:.*]] = arith.ceildivui %[[REAL]], %[[STEP]] : index
// CHECK:         %[[TOTAL:.*]] = arith.muli %[[COUNT]], %c7 : index
// CHECK:         %[[BLOCKS:.*]] = arith.ceildivui %[[TOTAL]], %c256 : index
// CHECK:         gpu.launch blocks({{.*}}) in (%{{.*}} = %[[BLOCKS]],
// CHECK:           arith.cmpi ult, %[[ID:.*]], %[[TOTAL]] : index
// CHECK:             %[[J:.*]] = arith.remui %[[ID]], %c7 : index
// CHECK:             %[[N:.*]] = arith.divui %[[ID]], %c7 : index
// CHECK:             %[[SCALED:.*]] = arith.muli %[[N]], %[[STEP]] : index
// CHECK:             %[[I:.*]] = arith.addi %[[SCALED]], %[[LO]] : index
// CHECK:             memref.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]]
func.func @dynamic(%lo: index, %hi: index, %step: index, %m: memref<?x7xf32>,
                   %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  scf.parallel (%i, %j) = (%lo, %c0) to (%hi, %c7) step (%step, %c1) {
    memref.store %x, %m[%i, %j] : memref<?x7xf32>
    scf.reduce
  }
  return
}

// More than 2^31 iterations: 64 bits; a multiple of the block: no check.
// CHECK-LABEL: func @large(
// CHECK:         gpu.launch blocks({{.*}}) in (%{{.*}} = %c16777216,
// CHECK-NOT:     scf.if
// CHECK-NOT:     i32
// CHECK:         memref.store
func.func @large(%m: memref<65536x65536xf32>, %x: f32) {
  scf.forall (%i, %j) in (65536, 65536) {
    memref.store %x, %m[%i, %j] : memref<65536x65536xf32>
  }
  return
}

// The buffer of an iteration is memory of the thread; the loop inside stays.
// CHECK-LABEL: func @buffer(
// CHECK:         gpu.launch
// CHECK:           %[[LOCAL:.*]] = memref.alloca() : memref<4xf32>
// CHECK:           scf.if
// CHECK:             scf.parallel
// CHECK:               memref.store %{{.*}}, %[[LOCAL]]
// CHECK-NOT:     memref.alloc()
// CHECK-NOT:     memref.dealloc
// CHECK:         return
func.func @buffer(%m: memref<9xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.forall (%i) in (9) {
    %local = memref.alloc() : memref<4xf32>
    scf.parallel (%j) = (%c0) to (%c4) step (%c1) {
      memref.store %x, %local[%j] : memref<4xf32>
      scf.reduce
    }
    %y = memref.load %local[%c1] : memref<4xf32>
    memref.store %y, %m[%i] : memref<9xf32>
    memref.dealloc %local : memref<4xf32>
  }
  return
}

// Constant memrefs and views of them are named inside.
memref.global "private" constant @table : memref<2x9xf32> = dense<1.0>
// CHECK-LABEL: func @constant(
// CHECK:         gpu.launch
// CHECK:           %[[TABLE:.*]] = memref.get_global @table
// CHECK:           %[[VIEW:.*]] = memref.subview %[[TABLE]]
// CHECK:             memref.load %[[VIEW]]
func.func @constant(%m: memref<9xf32>) {
  %c0 = arith.constant 0 : index
  %table = memref.get_global @table : memref<2x9xf32>
  %row = memref.subview %table[1, 0] [1, 9] [1, 1]
      : memref<2x9xf32> to memref<9xf32, strided<[1], offset: 9>>
  scf.forall (%i) in (9) {
    %x = memref.load %row[%i] : memref<9xf32, strided<[1], offset: 9>>
    memref.store %x, %m[%i] : memref<9xf32>
  }
  return
}

// A store outside of loops is a kernel too.
// CHECK-LABEL: func @store(
// CHECK:         gpu.launch blocks({{.*}}) in (%{{.*}} = %c1,
// CHECK:           arith.cmpi ult, %{{.*}}, %c1 : index
// CHECK:             memref.store
func.func @store(%m: memref<9xf32>, %x: f32, %i: index) {
  memref.store %x, %m[%i] : memref<9xf32>
  return
}
