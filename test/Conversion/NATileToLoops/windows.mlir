// RUN: na-opt %s -convert-na-tile-to-loops -canonicalize -cse | FileCheck %s

// The first key is clamp(position - 2, 0, size - 5), where a position beyond
// the class is its last; the end is 5 further.
// CHECK-LABEL: func @windows
// CHECK-SAME:    %[[T:[a-z0-9_]+]]: memref<2x6xi32>, %[[AT:[a-z0-9_]+]]: index, %[[SIZE:[a-z0-9_]+]]: index
// CHECK:         scf.for %[[LANE:.*]] = %c0 to %c6 step %c1
// CHECK-DAG:       %[[P:.*]] = arith.addi %[[AT]], %[[LANE]]
// CHECK-DAG:       %[[LAST:.*]] = arith.addi %[[SIZE]], %c-1
// CHECK:           %[[POS:.*]] = arith.minsi %[[P]], %[[LAST]]
// CHECK-DAG:       %[[LEFT:.*]] = arith.addi %[[POS]], %c-2
// CHECK-DAG:       %[[MOST:.*]] = arith.addi %[[SIZE]], %c-5
// CHECK:           %[[CUT:.*]] = arith.minsi %[[LEFT]], %[[MOST]]
// CHECK:           %[[BEGIN:.*]] = arith.maxsi %[[CUT]], %c0
// CHECK:           %[[END:.*]] = arith.addi %[[BEGIN]], %c5
// CHECK:           %[[B32:.*]] = arith.index_cast %[[BEGIN]] : index to i32
// CHECK:           memref.store %[[B32]], %[[T]][%c0, %[[LANE]]]
// CHECK:           %[[E32:.*]] = arith.index_cast %[[END]] : index to i32
// CHECK:           memref.store %[[E32]], %[[T]][%c1, %[[LANE]]]
func.func @windows(%t: memref<2x6xi32>, %at: index, %size: index) {
  na.tile.windows <size = [5]> at(%at) sizes(%size) box [6] into %t
    : memref<2x6xi32>
  return
}

// Two rows an axis; the second axis is causal: its end is one past the query.
// CHECK-LABEL: func @two_axes
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             memref.store %{{.*}}[%c0, %[[LANE:.*]]]
// CHECK:             memref.store %{{.*}}[%c1, %[[LANE]]]
// CHECK:             %[[END:.*]] = arith.addi %{{.*}}, %c1
// CHECK:             memref.store %{{.*}}[%c2, %[[LANE]]]
// CHECK:             %[[E32:.*]] = arith.index_cast %[[END]] : index to i32
// CHECK:             memref.store %[[E32]], %{{.*}}[%c3, %[[LANE]]]
func.func @two_axes(%t: memref<4x6xi32>, %at: index, %size: index) {
  na.tile.windows <size = [5, 3], causal = [false, true]> at(%at, %at)
    sizes(%size, %size) box [2, 3] into %t : memref<4x6xi32>
  return
}

// The heads of a query follow each other.
// CHECK-LABEL: func @heads
// CHECK:         scf.for %[[I:.*]] = %c0 to %c6 step %c1
// CHECK:           scf.for %[[HEAD:.*]] = %c0 to %c4 step %c1
// CHECK:             %[[FIRST:.*]] = arith.muli %[[I]], %c4
// CHECK:             %[[LANE:.*]] = arith.addi %[[FIRST]], %[[HEAD]]
// CHECK:             arith.addi %{{.*}}, %[[I]]
// CHECK:             memref.store %{{.*}}[%c0, %[[LANE]]]
// CHECK:             memref.store %{{.*}}[%c1, %[[LANE]]]
func.func @heads(%t: memref<2x24xi32>, %at: index, %size: index) {
  na.tile.windows <size = [5]> at(%at) sizes(%size) box [6] heads 4 into %t
    : memref<2x24xi32>
  return
}

// The queries that see a key: causal, so from the key on, and up to the window
// or the end of the class.
// CHECK-LABEL: func @inverse
// CHECK-SAME:    %[[T:[a-z0-9_]+]]: memref<2x6xi32>, %[[AT:[a-z0-9_]+]]: index, %[[SIZE:[a-z0-9_]+]]: index
// CHECK:         scf.for %[[LANE:.*]] = %c0 to %c6 step %c1
// CHECK-DAG:       %[[P:.*]] = arith.addi %[[AT]], %[[LANE]]
// CHECK-DAG:       %[[LAST:.*]] = arith.addi %[[SIZE]], %c-1
// CHECK:           %[[POS:.*]] = arith.minsi %[[P]], %[[LAST]]
// CHECK:           %[[END:.*]] = arith.addi %[[POS]], %c5
// CHECK:           %[[CUT:.*]] = arith.minsi %[[END]], %[[SIZE]]
// CHECK:           %[[B32:.*]] = arith.index_cast %[[POS]] : index to i32
// CHECK:           memref.store %[[B32]], %[[T]][%c0, %[[LANE]]]
// CHECK:           %[[E32:.*]] = arith.index_cast %[[CUT]] : index to i32
// CHECK:           memref.store %[[E32]], %[[T]][%c1, %[[LANE]]]
func.func @inverse(%t: memref<2x6xi32>, %at: index, %size: index) {
  na.tile.windows inverse <size = [5], causal = [true]> at(%at) sizes(%size)
    box [6] into %t : memref<2x6xi32>
  return
}
