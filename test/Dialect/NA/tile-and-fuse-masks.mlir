// RUN: na-opt %s -na-tile-and-fuse | FileCheck %s

// A tile is masked on the axes that a window edge can cut, and on no others.

// Where the window is the whole axis and key tiles divide it, nothing is cut.
// CHECK-LABEL: func @dense
// CHECK-NOT:     na.tile.windows
// CHECK-NOT:     na.tile.mask
// CHECK:         return
func.func @dense(%q: memref<1x16x1x8xf32>, %o: memref<1x16x1x8xf32>) {
  na.attention
    ins(%q, %q, %q : memref<1x16x1x8xf32>, memref<1x16x1x8xf32>, memref<1x16x1x8xf32>)
    outs(%o : memref<1x16x1x8xf32>) window(<size = [16]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [8]>}
  return
}

// The last key tile runs past the end.
// CHECK-LABEL: func @dense_ragged
// CHECK:         na.tile.mask {{.*}} axes [0]
func.func @dense_ragged(%q: memref<1x16x1x8xf32>, %o: memref<1x16x1x8xf32>) {
  na.attention
    ins(%q, %q, %q : memref<1x16x1x8xf32>, memref<1x16x1x8xf32>, memref<1x16x1x8xf32>)
    outs(%o : memref<1x16x1x8xf32>) window(<size = [16]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [7]>}
  return
}

// A tile of one query, or of one stride group, sees one window.
// CHECK-LABEL: func @blocked
// CHECK-NOT:     na.tile.mask
// CHECK:         return
func.func @blocked(%q: memref<1x16x16x1x8xf32>, %o: memref<1x16x16x1x8xf32>) {
  na.attention
    ins(%q, %q, %q : memref<1x16x16x1x8xf32>, memref<1x16x16x1x8xf32>,
                     memref<1x16x16x1x8xf32>)
    outs(%o : memref<1x16x16x1x8xf32>)
    window(<size = [4, 3], stride = [4, 1]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4, 1], key_tile = [4, 3]>}
  return
}

// Only the last axis of the three is cut: the first is whole, the second one
// query long.
// CHECK-LABEL: func @last_axis
// CHECK:         na.tile.windows
// CHECK:         na.tile.mask {{.*}} box [2, 3, 5] axes [2] key_major unless %
func.func @last_axis(%q: memref<1x4x8x16x1x8xf32>, %o: memref<1x4x8x16x1x8xf32>) {
  na.attention
    ins(%q, %q, %q : memref<1x4x8x16x1x8xf32>, memref<1x4x8x16x1x8xf32>,
                     memref<1x4x8x16x1x8xf32>)
    outs(%o : memref<1x4x8x16x1x8xf32>) window(<size = [4, 3, 5]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [2, 1, 4],
                             key_tile = [2, 3, 5]>}
  return
}

// Whether a tile is inside takes all cut axes: two comparisons each.
// CHECK-LABEL: func @both_axes
// CHECK:         scf.for
// CHECK-COUNT-2:   arith.cmpi
// CHECK:           %[[FIRST:.*]] = arith.andi
// CHECK-COUNT-2:   arith.cmpi
// CHECK:           %[[SECOND:.*]] = arith.andi
// CHECK:           %[[INSIDE:.*]] = arith.andi %[[FIRST]], %[[SECOND]] : i1
// CHECK:           na.tile.mask {{.*}} axes [0, 1] key_major unless %[[INSIDE]]
func.func @both_axes(%q: memref<1x16x16x1x8xf32>, %o: memref<1x16x16x1x8xf32>) {
  na.attention
    ins(%q, %q, %q : memref<1x16x16x1x8xf32>, memref<1x16x16x1x8xf32>,
                     memref<1x16x16x1x8xf32>)
    outs(%o : memref<1x16x16x1x8xf32>) window(<size = [5, 5]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4, 4], key_tile = [8, 8]>}
  return
}

// A causal window ends at the query, and a length that is not known may be the
// window's or not.
// CHECK-LABEL: func @causal
// CHECK:         na.tile.mask {{.*}} axes [0]
func.func @causal(%q: memref<1x16x1x8xf32>, %o: memref<1x16x1x8xf32>) {
  na.attention
    ins(%q, %q, %q : memref<1x16x1x8xf32>, memref<1x16x1x8xf32>, memref<1x16x1x8xf32>)
    outs(%o : memref<1x16x1x8xf32>) window(<size = [16], causal = [true]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [8]>}
  return
}

// CHECK-LABEL: func @dynamic
// CHECK:         memref.dim
// CHECK:         na.tile.mask {{.*}} axes [0]
func.func @dynamic(%q: memref<?x?x1x8xf32>, %o: memref<?x?x1x8xf32>) {
  na.attention
    ins(%q, %q, %q : memref<?x?x1x8xf32>, memref<?x?x1x8xf32>, memref<?x?x1x8xf32>)
    outs(%o : memref<?x?x1x8xf32>) window(<size = [16]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [8]>}
  return
}

// Residue classes of 5 and 4 tokens: the window is the whole of the smaller.
// CHECK-LABEL: func @unequal_classes
// CHECK:         na.tile.mask {{.*}} axes [0]
func.func @unequal_classes(%q: memref<1x13x1x8xf32>, %o: memref<1x13x1x8xf32>) {
  na.attention
    ins(%q, %q, %q : memref<1x13x1x8xf32>, memref<1x13x1x8xf32>, memref<1x13x1x8xf32>)
    outs(%o : memref<1x13x1x8xf32>) window(<size = [4], dilation = [3]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [5], key_tile = [4]>}
  return
}

// All classes are one window long.
// CHECK-LABEL: func @whole_classes
// CHECK-NOT:     na.tile.mask
// CHECK:         return
func.func @whole_classes(%q: memref<1x12x1x8xf32>, %o: memref<1x12x1x8xf32>) {
  na.attention
    ins(%q, %q, %q : memref<1x12x1x8xf32>, memref<1x12x1x8xf32>, memref<1x12x1x8xf32>)
    outs(%o : memref<1x12x1x8xf32>) window(<size = [4], dilation = [3]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [5], key_tile = [4]>}
  return
}

// One causal query and one key at a time: keys of the span are all visible.
// CHECK-LABEL: func @causal_singles
// CHECK-NOT:     na.tile.mask
// CHECK:         return
func.func @causal_singles(%q: memref<1x16x16x1x8xf32>, %o: memref<1x16x16x1x8xf32>) {
  na.attention
    ins(%q, %q, %q : memref<1x16x16x1x8xf32>, memref<1x16x16x1x8xf32>,
                     memref<1x16x16x1x8xf32>)
    outs(%o : memref<1x16x16x1x8xf32>)
    window(<size = [4, 16], causal = [true, false]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [1, 4], key_tile = [1, 8]>}
  return
}
