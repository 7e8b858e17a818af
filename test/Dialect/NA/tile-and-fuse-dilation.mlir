// RUN: na-opt %s -na-tile-and-fuse -cse | FileCheck %s

// 13 tokens at dilation 3 are classes of 5, 4 and 4. The grid has the tiles of
// the largest class for all of them: 2 tiles of 4 queries times 3.

// CHECK-LABEL: func @dilated
// CHECK-SAME:    %[[Q:[a-z0-9_]+]]: memref<2x13x2x8xf32>
// CHECK:         scf.forall (%[[B:.*]], %[[H:.*]], %[[I:.*]]) in (2, 2, 6)
// CHECK:           %[[TILE:.*]] = arith.divui %[[I]], %c3
// CHECK:           %[[DONE:.*]] = arith.muli %[[TILE]], %c3
// CHECK:           %[[RESIDUE:.*]] = arith.subi %[[I]], %[[DONE]]
// The class has ceil((13 - residue) / 3) tokens.
// CHECK:           %[[REST:.*]] = arith.subi %c13, %[[RESIDUE]]
// CHECK:           %[[SIZE:.*]] = arith.ceildivsi %[[REST]], %c3
// CHECK:           %[[POS:.*]] = arith.muli %[[TILE]], %c4
// CHECK:           %[[SCALED:.*]] = arith.muli %[[POS]], %c3
// CHECK:           %[[AT:.*]] = arith.addi %[[RESIDUE]], %[[SCALED]]
// CHECK:           na.tile.load %[[Q]][%[[B]], %[[H]]] at(%[[AT]]) box [4] dilation [3] transposed
// CHECK:           na.tile.windows <size = [3], dilation = [3]> at(%[[POS]]) sizes(%[[SIZE]]) box [4]
// CHECK:           scf.for
// CHECK:             %[[KEY:.*]] = arith.addi
// CHECK:             %[[KEYSCALED:.*]] = arith.muli %[[KEY]], %c3
// CHECK:             %[[KEYAT:.*]] = arith.addi %[[RESIDUE]], %[[KEYSCALED]]
// CHECK:             na.tile.load %{{.*}} at(%[[KEYAT]]) box [2] dilation [3] into
// CHECK:             na.tile.mask %{{.*}} at(%[[KEY]]) box [2]
// CHECK:           na.tile.store %{{.*}} at(%[[AT]]) box [4] dilation [3] transposed
func.func @dilated(%q: memref<2x13x2x8xf32>, %k: memref<2x13x2x8xf32>,
                   %o: memref<2x13x2x8xf32>) {
  na.attention
    ins(%q, %k, %k : memref<2x13x2x8xf32>, memref<2x13x2x8xf32>, memref<2x13x2x8xf32>)
    outs(%o : memref<2x13x2x8xf32>) window(<size = [3], dilation = [3]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [2]>}
  return
}
