// RUN: na-opt %s -na-tile-and-fuse -canonicalize -cse | FileCheck %s

// Additional keys, which every query sees, go on with the softmax after the
// window's. Five of them in tiles of at most 4: the last tile is cut off.
// CHECK-LABEL: func @additional
// CHECK-SAME:    %{{.*}}: memref<2x16x2x8xf32>, %[[EK:[a-z0-9_]+]]: memref<2x5x1x8xf32>, %[[EV:[a-z0-9_]+]]: memref<2x5x1x8xf32>
// CHECK:         scf.forall (%[[B:.*]], %[[H:.*]], %{{.*}}) in
// CHECK:           %[[WINDOW:.*]]:3 = scf.for
// CHECK:           %[[ALL:.*]]:3 = scf.for %[[T:.*]] = %c0 to %c5 step %c4 iter_args(%{{.*}} = %[[WINDOW]]#0, %{{.*}} = %[[WINDOW]]#1, %{{.*}} = %[[WINDOW]]#2)
// CHECK:             na.tile.load %[[EK]][%[[B]], %[[KH:.*]]] at(%[[T]]) box [4] dilation [1] into
// CHECK:             linalg.contract
// CHECK:             %[[LANE:.*]] = linalg.index 0
// CHECK:             %[[TOKEN:.*]] = arith.addi %[[T]], %[[LANE]]
// CHECK:             %[[EXISTS:.*]] = arith.cmpi slt, %[[TOKEN]], %c5
// CHECK:             arith.select %[[EXISTS]], %{{.*}}, %cst{{.*}} : f32
// CHECK-NOT:         na.tile.bias
// CHECK:             na.tile.load %[[EV]][%[[B]], %[[KH]]] at(%[[T]]) box [4]
// CHECK:           linalg.generic {{.*}} ins(%[[ALL]]#2
func.func @additional(%q: memref<2x16x2x8xf32>, %ek: memref<2x5x1x8xf32>,
                      %ev: memref<2x5x1x8xf32>, %k: memref<2x16x1x8xf32>,
                      %o: memref<2x16x2x8xf32>) {
  na.attention
    ins(%q, %k, %k : memref<2x16x2x8xf32>, memref<2x16x1x8xf32>, memref<2x16x1x8xf32>)
    additional(%ek, %ev : memref<2x5x1x8xf32>, memref<2x5x1x8xf32>)
    outs(%o : memref<2x16x2x8xf32>) window(<size = [3]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [4]>}
  return
}

// Fewer than a tile: one tile of their number, and nothing to cut off.
// CHECK-LABEL: func @few_additional
// CHECK:         na.tile.load {{.*}} box [3] dilation [1] into {{.*}} : memref<1x3x1x8xf32>
// CHECK-NOT:     linalg.index
// CHECK:         return
func.func @few_additional(%q: memref<1x16x1x8xf32>, %e: memref<1x3x1x8xf32>,
                          %o: memref<1x16x1x8xf32>) {
  na.attention
    ins(%q, %q, %q : memref<1x16x1x8xf32>, memref<1x16x1x8xf32>, memref<1x16x1x8xf32>)
    additional(%e, %e : memref<1x3x1x8xf32>, memref<1x3x1x8xf32>)
    outs(%o : memref<1x16x1x8xf32>) window(<size = [3]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [4]>}
  return
}

// Their number may be dynamic, and be 0.
// CHECK-LABEL: func @dynamic_additional
// CHECK:         %[[COUNT:.*]] = memref.dim %{{.*}}, %c1 : memref<1x?x1x8xf32>
// CHECK:         scf.for %{{.*}} = %c0 to %[[COUNT]] step %c4
// CHECK:           arith.cmpi slt, %{{.*}}, %[[COUNT]]
// CHECK-LABEL: func @no_additional
// CHECK:         na.tile.load
// CHECK-NOT:     memref<1x0x1x8xf32>, tensor
// CHECK:         return
func.func @dynamic_additional(%q: memref<1x16x1x8xf32>, %e: memref<1x?x1x8xf32>,
                              %o: memref<1x16x1x8xf32>) {
  na.attention
    ins(%q, %q, %q : memref<1x16x1x8xf32>, memref<1x16x1x8xf32>, memref<1x16x1x8xf32>)
    additional(%e, %e : memref<1x?x1x8xf32>, memref<1x?x1x8xf32>)
    outs(%o : memref<1x16x1x8xf32>) window(<size = [3]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [4]>}
  return
}
func.func @no_additional(%q: memref<1x16x1x8xf32>, %e: memref<1x0x1x8xf32>,
                         %o: memref<1x16x1x8xf32>) {
  na.attention
    ins(%q, %q, %q : memref<1x16x1x8xf32>, memref<1x16x1x8xf32>, memref<1x16x1x8xf32>)
    additional(%e, %e : memref<1x0x1x8xf32>, memref<1x0x1x8xf32>)
    outs(%o : memref<1x16x1x8xf32>) window(<size = [3]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [4]>}
  return
}

// The bias joins the logits before the mask.
// CHECK-LABEL: func @bias
// CHECK-SAME:    %[[BIAS:[a-z0-9_]+]]: memref<2x5x5xf32>
// CHECK:         scf.forall (%{{.*}}, %[[H:.*]], %{{.*}}, %{{.*}}) in
// CHECK:           %[[S:.*]] = linalg.contract
// CHECK:           %[[BIASED:.*]] = na.tile.bias %[[S]] table(%[[BIAS]][%[[H]]] : memref<2x5x5xf32>) <size = [3, 3]> query_at(%[[QX:.*]], %[[QY:.*]]) key_at(%[[KX:.*]], %[[KY:.*]]) query_box [4, 2] key_box [2, 4] key_major
// CHECK:           na.tile.mask %[[BIASED]] ranges({{.*}}) at(%[[KX]], %[[KY]])
func.func @bias(%q: memref<2x8x8x2x8xf32>, %bias: memref<2x5x5xf32>,
                %o: memref<2x8x8x2x8xf32>) {
  na.attention
    ins(%q, %q, %q : memref<2x8x8x2x8xf32>, memref<2x8x8x2x8xf32>, memref<2x8x8x2x8xf32>)
    bias(%bias : memref<2x5x5xf32>)
    outs(%o : memref<2x8x8x2x8xf32>) window(<size = [3, 3]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4, 2], key_tile = [2, 4]>}
  return
}

// A batch and lengths that are not known make a grid that is not.
// CHECK-LABEL: func @dynamic
// CHECK-DAG:     %[[BATCH:.*]] = memref.dim %{{.*}}, %c0
// CHECK-DAG:     %[[LENGTH:.*]] = memref.dim %{{.*}}, %c1
// CHECK:         %[[TILES:.*]] = arith.ceildivsi %[[LENGTH]], %c4
// CHECK:         scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (%[[BATCH]], 2, %[[TILES]])
func.func @dynamic(%q: memref<?x?x2x8xf32>, %o: memref<?x?x2x8xf32>) {
  na.attention
    ins(%q, %q, %q : memref<?x?x2x8xf32>, memref<?x?x2x8xf32>, memref<?x?x2x8xf32>)
    outs(%o : memref<?x?x2x8xf32>) window(<size = [3]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [4]>}
  return
}
