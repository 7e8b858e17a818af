// RUN: na-opt %s -convert-na-tile-to-loops -canonicalize -cse | FileCheck %s

// Lanes row-major over the box; 20 channels are a vector of 16 and one of 4; a
// token outside the tensor gives zeros.
// CHECK-LABEL: func @load
// CHECK-SAME:    %[[Q:[a-z0-9_]+]]: memref<1x9x7x2x20xbf16>, %[[T:[a-z0-9_]+]]: memref<6x20xf32>, %[[B:[a-z0-9_]+]]: index, %[[H:[a-z0-9_]+]]: index, %[[X:[a-z0-9_]+]]: index, %[[Y:[a-z0-9_]+]]: index
// CHECK-DAG:     %[[ZERO16:.*]] = arith.constant dense<0.000000e+00> : vector<16xf32>
// CHECK-DAG:     %[[ZERO4:.*]] = arith.constant dense<0.000000e+00> : vector<4xf32>
// CHECK:         scf.for %[[I:.*]] = %c0 to %c2 step %c1
// CHECK:           scf.for %[[J:.*]] = %c0 to %c3 step %c1
// CHECK:             %[[ROW:.*]] = arith.muli %[[I]], %c3
// CHECK:             %[[LANE:.*]] = arith.addi %[[ROW]], %[[J]]
// CHECK:             %[[XAT:.*]] = arith.addi %[[X]], %[[I]]
// CHECK:             arith.cmpi sge, %[[XAT]], %c0
// CHECK:             arith.cmpi slt, %[[XAT]], %c9
// CHECK:             %[[YSTEP:.*]] = arith.muli %[[J]], %c2
// CHECK:             %[[YAT:.*]] = arith.addi %[[Y]], %[[YSTEP]]
// CHECK:             arith.cmpi sge, %[[YAT]], %c0
// CHECK:             arith.cmpi slt, %[[YAT]], %c7
// CHECK:             scf.if
// CHECK:               %[[V:.*]] = vector.load %[[Q]][%[[B]], %[[XAT]], %[[YAT]], %[[H]], %c0] : memref<1x9x7x2x20xbf16>, vector<16xbf16>
// CHECK:               %[[W:.*]] = arith.extf %[[V]] : vector<16xbf16> to vector<16xf32>
// CHECK:               vector.store %[[W]], %[[T]][%[[LANE]], %c0]
// CHECK:               vector.load %[[Q]][%[[B]], %[[XAT]], %[[YAT]], %[[H]], %c16] : memref<1x9x7x2x20xbf16>, vector<4xbf16>
// CHECK:             } else {
// CHECK:               vector.store %[[ZERO16]], %[[T]][%[[LANE]], %c0]
// CHECK:               vector.store %[[ZERO4]], %[[T]][%[[LANE]], %c16]
func.func @load(%q: memref<1x9x7x2x20xbf16>, %t: memref<6x20xf32>, %b: index,
                %h: index, %x: index, %y: index) {
  na.tile.load %q[%b, %h] at(%x, %y) box [2, 3] dilation [1, 2] into %t
    : memref<1x9x7x2x20xbf16>, memref<6x20xf32>
  return
}

// Narrow floats have no odd vectors: 25 channels are 16, 8 and 1.
// CHECK-LABEL: func @narrow
// CHECK:         vector.load %{{.*}}%c0] : memref<1x9x2x25xbf16>, vector<16xbf16>
// CHECK:         vector.store %{{.*}}%c0] : memref<6x25xbf16>, vector<16xbf16>
// CHECK:         vector.load %{{.*}}%c16] : memref<1x9x2x25xbf16>, vector<8xbf16>
// CHECK:         memref.load %{{.*}}%c24] : memref<1x9x2x25xbf16>
// CHECK:         return
func.func @narrow(%q: memref<1x9x2x25xbf16>, %t: memref<6x25xbf16>, %b: index,
                  %h: index, %x: index) {
  na.tile.load %q[%b, %h] at(%x) box [6] dilation [1] into %t
    : memref<1x9x2x25xbf16>, memref<6x25xbf16>
  return
}

// A store skips the tokens outside, and rounds.
// CHECK-LABEL: func @store
// CHECK:         scf.for %[[I:.*]] = %c0 to %c6 step %c1
// CHECK:           scf.if
// CHECK:             scf.for %[[C:.*]] = %c0 to %c16 step %c8
// CHECK:             %[[V:.*]] = vector.load %{{.*}}[%[[I]], %[[C]]] : memref<6x16xf64>, vector<8xf64>
// CHECK:             %[[W:.*]] = arith.truncf %[[V]] : vector<8xf64> to vector<8xf32>
// CHECK:             vector.store %[[W]]
// CHECK-NOT:       else
// CHECK:         return
func.func @store(%t: memref<6x16xf64>,
                 %o: memref<1x9x2x16xf32>, %b: index, %h: index, %x: index) {
  na.tile.store %t into %o[%b, %h] at(%x) box [6] dilation [1]
    : memref<6x16xf64>, memref<1x9x2x16xf32>
  return
}

// Channels that are not contiguous in the tile, or in the tensor, go one by one.
// CHECK-LABEL: func @transposed
// CHECK-NOT:     vector.
// CHECK:         scf.for %[[LANE:.*]] = %c0 to %c6 step %c1
// CHECK:           scf.if
// CHECK:             scf.for %[[C:.*]] = %c0 to %c20 step %c1
// CHECK:               memref.store %{{.*}}, %{{.*}}[%[[C]], %[[LANE]]] : memref<20x6xf32>
// CHECK:         return
func.func @transposed(%q: memref<1x9x2x20xf32>, %t: memref<20x6xf32>, %b: index,
                      %h: index, %x: index) {
  na.tile.load %q[%b, %h] at(%x) box [6] dilation [1] transposed into %t
    : memref<1x9x2x20xf32>, memref<20x6xf32>
  return
}

// CHECK-LABEL: func @strided
// CHECK-NOT:     vector.
// CHECK:         return
func.func @strided(%q: memref<1x9x2x20xf32>, %qs: memref<1x9x2x20xf32, strided<[?, ?, ?, 2], offset: ?>>,
                   %t: memref<6x20xf32>, %ts: memref<6x20xf32, strided<[40, 2]>>,
                   %b: index, %h: index, %x: index) {
  na.tile.load %qs[%b, %h] at(%x) box [6] dilation [1] into %t
    : memref<1x9x2x20xf32, strided<[?, ?, ?, 2], offset: ?>>, memref<6x20xf32>
  na.tile.load %q[%b, %h] at(%x) box [6] dilation [1] into %ts
    : memref<1x9x2x20xf32>, memref<6x20xf32, strided<[40, 2]>>
  na.tile.store %ts into %q[%b, %h] at(%x) box [6] dilation [1]
    : memref<6x20xf32, strided<[40, 2]>>, memref<1x9x2x20xf32>
  return
}

// CHECK-LABEL: func @dynamic
// CHECK-SAME:    %[[Q:[a-z0-9_]+]]: memref<?x?x?x?xf32>, %[[T:[a-z0-9_]+]]: memref<6x?xf32>
// CHECK-DAG:     %[[LENGTH:.*]] = memref.dim %[[Q]], %c1
// CHECK:         arith.cmpi slt, %{{.*}}, %[[LENGTH]]
// CHECK:         %[[CHANNELS:.*]] = memref.dim %[[T]], %c1
// CHECK:         scf.for %{{.*}} = %c0 to %[[CHANNELS]] step %c1
// CHECK:           memref.load %[[Q]]
// CHECK:           memref.store %{{.*}}, %[[T]]
func.func @dynamic(%q: memref<?x?x?x?xf32>, %t: memref<6x?xf32>, %b: index,
                   %h: index, %x: index) {
  na.tile.load %q[%b, %h] at(%x) box [6] dilation [1] into %t
    : memref<?x?x?x?xf32>, memref<6x?xf32>
  return
}

// A tile without channels is stored one element a lane.
// CHECK-LABEL: func @statistic
// CHECK:         scf.for %[[LANE:.*]] = %c0 to %c6 step %c1
// CHECK:           scf.if
// CHECK:             %[[V:.*]] = memref.load %{{.*}}[%[[LANE]]] : memref<6xf32>
// CHECK:             memref.store %[[V]], %{{.*}} : memref<1x9x2xf32>
func.func @statistic(%t: memref<6xf32>, %o: memref<1x9x2xf32>, %b: index,
                     %h: index, %x: index) {
  na.tile.store %t into %o[%b, %h] at(%x) box [6] dilation [1]
    : memref<6xf32>, memref<1x9x2xf32>
  return
}

// Nor has one of numbers any; they are 0 outside the tensor.
// CHECK-LABEL: func @numbers
// CHECK-SAME:    %[[L:[a-z0-9_]+]]: memref<1x9x2xf32>, %[[T:[a-z0-9_]+]]: memref<6xf64>
// CHECK:         %[[ZERO:.*]] = arith.constant 0.000000e+00 : f64
// CHECK:         scf.for %[[LANE:.*]] = %c0 to %c6 step %c1
// CHECK:           scf.if
// CHECK:             %[[V:.*]] = memref.load %[[L]]
// CHECK:             %[[W:.*]] = arith.extf %[[V]] : f32 to f64
// CHECK:             memref.store %[[W]], %[[T]][%[[LANE]]]
// CHECK:           } else {
// CHECK:             memref.store %[[ZERO]], %[[T]][%[[LANE]]]
func.func @numbers(%l: memref<1x9x2xf32>, %t: memref<6xf64>, %b: index,
                   %h: index, %x: index) {
  na.tile.load %l[%b, %h] at(%x) box [6] dilation [1] into %t
    : memref<1x9x2xf32>, memref<6xf64>
  return
}
