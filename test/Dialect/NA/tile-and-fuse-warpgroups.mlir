// RUN: na-opt %s -na-tile-and-fuse -canonicalize -cse | FileCheck %s

// The queries of a CTA belong to warpgroups, each with a span of its own.

// 67 queries in tiles of three warpgroups of 8, the last tile full up to its
// third warpgroup. Spans start 16 before the first query.
// CHECK-LABEL: func @three
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<1x67x2x16xbf16>, %[[K:[a-z0-9]+]]: memref<1x67x1x16xbf16>, %[[O:[a-z0-9]+]]: memref<1x67x2x16xbf16>
// CHECK:         scf.forall (%[[H:.*]], %[[T:.*]]) in (2, 3)
// CHECK:           %[[AT:.*]] = arith.muli %[[T]], %c24
// CHECK:           %[[CTABEGIN:.*]] = arith.maxsi %{{.*}}, %c0
// CHECK:           %[[TILES:.*]] = arith.ceildivsi %{{.*}}, %c16
// CHECK-NOT:       na.tile
// CHECK-NOT:       arith.select
// CHECK:           scf.forall (%[[G:.*]]) in (3)
// CHECK:             %[[OFFSET:.*]] = arith.muli %[[G]], %c8
// CHECK:             %[[OWN:.*]] = arith.addi %[[AT]], %[[OFFSET]]
// CHECK:             %[[BEGIN:.*]] = arith.maxsi %{{.*}}, %c0
// CHECK:             %[[LAST:.*]] = arith.maxsi %{{.*}}, %c0
// CHECK:             %[[END:.*]] = arith.addi %[[LAST]], %c32
// CHECK:             %[[INSIDEEND:.*]] = arith.addi %[[BEGIN]], %c32
// CHECK:             %[[QT:.*]] = na.tile.load %[[Q]][%c0, %[[H]]] at(%[[OWN]]) box [8] {{.*}} -> tensor<8x16xbf16>
// CHECK:             %[[RANGES:.*]] = na.tile.windows <size = [32]> at(%[[OWN]]) sizes(%c67) box [8]
// CHECK:             %[[R:.*]]:3 = scf.for %[[I:.*]] = %c0 to %[[TILES]] step %c1 iter_args(%[[ACC:.*]] = %{{.*}}, %[[MAX:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}})
// CHECK:               %[[STEP:.*]] = arith.muli %[[I]], %c16
// CHECK:               %[[KEY:.*]] = arith.addi %[[CTABEGIN]], %[[STEP]]
// CHECK:               %[[KEYEND:.*]] = arith.addi %[[KEY]], %c16
// CHECK:               %[[BEFORE:.*]] = arith.cmpi slt, %[[KEY]], %[[END]]
// CHECK:               %[[AFTER:.*]] = arith.cmpi slt, %[[BEGIN]], %[[KEYEND]]
// CHECK:               %[[NEEDED:.*]] = arith.andi %[[BEFORE]], %[[AFTER]]
// CHECK:               %[[FROM:.*]] = arith.cmpi sge, %[[KEY]], %[[LAST]]
// CHECK:               %[[TO:.*]] = arith.cmpi sle, %[[KEYEND]], %[[INSIDEEND]]
// CHECK:               %[[INSIDE:.*]] = arith.andi %[[FROM]], %[[TO]]
// CHECK:               %[[NEXT:.*]]:3 = scf.if %[[NEEDED]]
// CHECK:                 na.tile.load %[[K]][%c0, %{{.*}}] at(%[[KEY]]) box [16]
// CHECK:                 na.tile.mask %{{.*}} ranges(%[[RANGES]] : {{.*}}) at(%[[KEY]]) box [16] axes [0] unless %[[INSIDE]]
// CHECK:                 scf.yield
// CHECK:               } else {
// CHECK-NEXT:            scf.yield %[[ACC]], %[[MAX]], %[[SUM]]
// CHECK:               scf.yield %[[NEXT]]#0, %[[NEXT]]#1, %[[NEXT]]#2
// CHECK:             na.tile.store %{{.*}} into %[[O]][%c0, %[[H]]] at(%[[OWN]]) box [8]
// CHECK:           } {mapping = [#gpu.warpgroup<x>]}
// CHECK-NEXT:    } {na.schedule = #na.schedule<
func.func @three(%q: memref<1x67x2x16xbf16>, %k: memref<1x67x1x16xbf16>,
                 %o: memref<1x67x2x16xbf16>) {
  na.attention
    ins(%q, %k, %k : memref<1x67x2x16xbf16>, memref<1x67x1x16xbf16>, memref<1x67x1x16xbf16>)
    outs(%o : memref<1x67x2x16xbf16>) window(<size = [32]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [24], key_tile = [16], warpgroup_tile = [8]>}
  return
}

// A warpgroup beyond the end, here of the last tile of 50, needs nothing.
// CHECK-LABEL: func @beyond
// CHECK:         scf.forall (%{{.*}}) in (3)
// CHECK:           %[[OFFSET:.*]] = arith.muli %{{.*}}, %c8
// CHECK:           %[[OWN:.*]] = arith.addi %{{.*}}, %[[OFFSET]]
// CHECK:           scf.for
// CHECK:             %[[MEETS:.*]] = arith.andi
// CHECK:             %[[EXISTS:.*]] = arith.cmpi slt, %[[OWN]], %c50
// CHECK:             %[[NEEDED:.*]] = arith.andi %[[MEETS]], %[[EXISTS]]
// CHECK:             scf.if %[[NEEDED]]
func.func @beyond(%q: memref<1x50x2x16xbf16>, %o: memref<1x50x2x16xbf16>) {
  na.attention
    ins(%q, %q, %q : memref<1x50x2x16xbf16>, memref<1x50x2x16xbf16>, memref<1x50x2x16xbf16>)
    outs(%o : memref<1x50x2x16xbf16>) window(<size = [32]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [24], key_tile = [16], warpgroup_tile = [8]>}
  return
}

// Two warpgroups on the first axis: the tiles along it vary fastest, in the
// order that lets both work. A mask per axis, each unless the tile lies inside
// the warpgroup's own interior on that axis.
// CHECK-LABEL: func @two_axes
// CHECK:         scf.forall (%{{.*}}, %[[X:.*]], %[[Y:.*]]) in (2, 5, 10)
// CHECK:           %[[XTILES:.*]] = arith.ceildivsi %{{.*}}, %c4
// CHECK:           %[[YBEGIN:.*]] = arith.maxsi %{{.*}}, %c0
// CHECK:           %[[YTILES:.*]] = arith.ceildivsi %{{.*}}, %c2
// CHECK:           %[[TOTAL:.*]] = arith.muli %[[XTILES]], %[[YTILES]]
// CHECK:           %[[FRONT:.*]] = arith.divui %{{.*}}, %c4
// CHECK:           %[[UPTO:.*]] = arith.ceildivsi %{{.*}}, %c4
// CHECK:           %[[BACK:.*]] = arith.subi %[[XTILES]], %[[UPTO]]
// CHECK:           %[[PAIRS:.*]] = arith.minsi %[[FRONT]], %[[BACK]]
// CHECK:           %[[MORE:.*]] = arith.maxsi %[[FRONT]], %[[BACK]]
// CHECK:           %[[ODD:.*]] = arith.subi %[[MORE]], %[[PAIRS]]
// CHECK:           %[[REST:.*]] = arith.subi %[[XTILES]], %[[FRONT]]
// CHECK:           %[[COMMON:.*]] = arith.subi %[[REST]], %[[BACK]]
// CHECK:           %[[TOGETHER:.*]] = arith.cmpi slt, %[[COMMON]], %[[ODD]]
// CHECK:           scf.forall (%[[G:.*]]) in (2)
// CHECK:             scf.for %[[I:.*]] = %c0 to %[[TOTAL]]
// CHECK:               %[[STEP:.*]] = arith.remui %[[I]], %[[XTILES]]
// CHECK:               %[[YSTEP:.*]] = arith.divui %[[I]], %[[XTILES]]
// CHECK:               %[[HALF:.*]] = arith.divui %[[STEP]], %c2
// CHECK:               %[[PAIR:.*]] = arith.select
// CHECK:               %[[ALTERNATE:.*]] = arith.select
// CHECK:               %[[LATER:.*]] = arith.select %{{.*}}, %[[ALTERNATE]], %{{.*}}
// CHECK-NEXT:          %[[XTILE:.*]] = arith.select %{{.*}}, %[[PAIR]], %[[LATER]]
// CHECK-NEXT:          %[[YOFFSET:.*]] = arith.muli %[[YSTEP]], %c2
// CHECK-NEXT:          %[[YKEY:.*]] = arith.addi %[[YBEGIN]], %[[YOFFSET]]
// CHECK-NEXT:          %[[XOFFSET:.*]] = arith.muli %[[XTILE]], %c4
// CHECK-NEXT:          %[[XKEY:.*]] = arith.addi %{{.*}}, %[[XOFFSET]]
// CHECK:               %[[MEETS:.*]] = arith.andi
// CHECK-NEXT:          %[[NEEDED:.*]] = arith.ori %[[MEETS]], %[[TOGETHER]]
// Small windows: most tiles that are cut are cut on both axes.
// CHECK:               %[[XINSIDE:.*]] = arith.andi
// CHECK:               %[[YINSIDE:.*]] = arith.andi
// CHECK-NEXT:          %[[INSIDE:.*]] = arith.andi %[[XINSIDE]], %[[YINSIDE]]
// CHECK-NEXT:          scf.if %[[NEEDED]]
// CHECK:                 na.tile.mask {{.*}} at(%[[XKEY]], %[[YKEY]]) box [4, 2] axes [0, 1] unless %[[INSIDE]]
func.func @two_axes(%q: memref<1x40x40x2x16xbf16>, %o: memref<1x40x40x2x16xbf16>) {
  na.attention
    ins(%q, %q, %q : memref<1x40x40x2x16xbf16>, memref<1x40x40x2x16xbf16>, memref<1x40x40x2x16xbf16>)
    outs(%o : memref<1x40x40x2x16xbf16>) window(<size = [9, 11]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [8, 4], key_tile = [4, 2], warpgroup_tile = [4, 4]>}
  return
}

// Large windows: most are cut on one axis, and masked on that.
// CHECK-LABEL: func @two_axes_apart
// CHECK:         scf.forall (%{{.*}}) in (2)
// CHECK:           scf.for
// CHECK:               %[[M:.*]] = na.tile.mask {{.*}} box [4, 2] axes [0] unless
// CHECK-NEXT:          na.tile.mask %[[M]] {{.*}} box [4, 2] axes [1] unless
func.func @two_axes_apart(%q: memref<1x140x140x2x16xbf16>, %o: memref<1x140x140x2x16xbf16>) {
  na.attention
    ins(%q, %q, %q : memref<1x140x140x2x16xbf16>, memref<1x140x140x2x16xbf16>, memref<1x140x140x2x16xbf16>)
    outs(%o : memref<1x140x140x2x16xbf16>) window(<size = [59, 61]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [8, 4], key_tile = [4, 2], warpgroup_tile = [4, 4]>}
  return
}

// Where all queries of a CTA share one window nothing can be left out, and with
// a key tile that divides it nothing is masked.
// CHECK-LABEL: func @dense
// CHECK:         scf.forall
// CHECK:           scf.forall (%{{.*}}) in (2)
// CHECK-NOT:         na.tile.windows
// CHECK:             scf.for
// CHECK-NOT:           scf.if
// CHECK-NOT:           na.tile.mask
// CHECK:             na.tile.store
func.func @dense(%q: memref<1x32x2x16xbf16>, %o: memref<1x32x2x16xbf16>) {
  na.attention
    ins(%q, %q, %q : memref<1x32x2x16xbf16>, memref<1x32x2x16xbf16>, memref<1x32x2x16xbf16>)
    outs(%o : memref<1x32x2x16xbf16>) window(<size = [32]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [16], key_tile = [16], warpgroup_tile = [8]>}
  return
}

// Strides that are multiples of the tile on the axis of the warpgroups: only
// the other axis is cut.
// CHECK-LABEL: func @strided
// CHECK:         scf.forall (%{{.*}}) in (2)
// CHECK-NOT:       scf.if
// CHECK:           na.tile.mask {{.*}} axes [1]
// CHECK-NOT:       na.tile.mask
// CHECK:           na.tile.store
func.func @strided(%q: memref<1x32x32x2x16xbf16>, %o: memref<1x32x32x2x16xbf16>) {
  na.attention
    ins(%q, %q, %q : memref<1x32x32x2x16xbf16>, memref<1x32x32x2x16xbf16>, memref<1x32x32x2x16xbf16>)
    outs(%o : memref<1x32x32x2x16xbf16>) window(<size = [16, 12], stride = [8, 3]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [8, 4], key_tile = [4, 4], warpgroup_tile = [4, 4]>}
  return
}

// Two causal warpgroups never share a span.
// CHECK-LABEL: func @causal
// CHECK:         scf.forall (%{{.*}}) in (2)
// CHECK:           scf.if
// CHECK:             na.tile.mask
func.func @causal(%q: memref<1x32x2x16xbf16>, %o: memref<1x32x2x16xbf16>) {
  na.attention
    ins(%q, %q, %q : memref<1x32x2x16xbf16>, memref<1x32x2x16xbf16>, memref<1x32x2x16xbf16>)
    outs(%o : memref<1x32x2x16xbf16>) window(<size = [32], causal = [true]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [16], key_tile = [16], warpgroup_tile = [8]>}
  return
}

// One warpgroup has the whole tile, and needs every key tile.
// CHECK-LABEL: func @one
// CHECK:         scf.forall (%{{.*}}) in (1)
// CHECK:           scf.for
// CHECK-NOT:         scf.if
// CHECK:             na.tile.mask
// CHECK:         } {mapping = [#gpu.warpgroup<x>]}
func.func @one(%q: memref<1x32x2x16xbf16>, %o: memref<1x32x2x16xbf16>) {
  na.attention
    ins(%q, %q, %q : memref<1x32x2x16xbf16>, memref<1x32x2x16xbf16>, memref<1x32x2x16xbf16>)
    outs(%o : memref<1x32x2x16xbf16>) window(<size = [5]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [8], key_tile = [16], warpgroup_tile = [8]>}
  return
}

// On a CPU there are no warpgroups.
// CHECK-LABEL: func @cpu
// CHECK:         scf.forall
// CHECK-NOT:     scf.forall
// CHECK:         na.tile.load {{.*}} box [16] {{.*}} transposed
func.func @cpu(%q: memref<1x32x2x16xf32>, %o: memref<1x32x2x16xf32>) {
  na.attention
    ins(%q, %q, %q : memref<1x32x2x16xf32>, memref<1x32x2x16xf32>, memref<1x32x2x16xf32>)
    outs(%o : memref<1x32x2x16xf32>) window(<size = [5]>)
    {schedule = #na.schedule<target = "cpu", query_tile = [16], key_tile = [16], warpgroup_tile = [8]>}
  return
}

// 20 additional keys are two tiles more of the same loop, which both warpgroups
// compute and no window masks; of the second, only 4 keys exist.
// CHECK-LABEL: func @additional
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<1x64x2x16xbf16>, %[[E:[a-z0-9]+]]: memref<1x20x2x16xbf16>
// CHECK:         scf.forall
// CHECK:           scf.forall
// CHECK:             %[[TOTAL:.*]] = arith.addi %[[TILES:.*]], %c2
// CHECK:             scf.for %[[I:.*]] = %c0 to %[[TOTAL]]
// CHECK:               %[[IS:.*]] = arith.cmpi sge, %[[I]], %[[TILES]]
// CHECK-NEXT:          %[[NUMBER:.*]] = arith.subi %[[I]], %[[TILES]]
// CHECK-NEXT:          %[[FIRST:.*]] = arith.muli %[[NUMBER]], %c16
// CHECK-NEXT:          %[[PARTIAL:.*]] = arith.cmpi eq, %[[NUMBER]], %c1
// CHECK:               %[[NEEDED:.*]] = arith.ori %{{.*}}, %[[IS]]
// CHECK:               %[[INSIDE:.*]] = arith.ori %{{.*}}, %[[IS]]
// CHECK:               scf.if %[[NEEDED]]
// CHECK:                 %[[KT:.*]] = scf.if %[[IS]] -> (tensor<16x16xbf16>) {
// CHECK:                   na.tile.load %[[E]][{{.*}}] at(%[[FIRST]]) box [16] dilation [1]
// CHECK:                 } else {
// CHECK:                   na.tile.load %[[Q]][{{.*}}] at(%{{.*}}) box [16] dilation [1]
// CHECK:                 %[[SCORES:.*]] = linalg.contract {{.*}} ins(%{{.*}}, %[[KT]] :
// CHECK:                 %[[EXISTING:.*]] = scf.if %[[PARTIAL]]
// CHECK:                   linalg.generic {{.*}} outs(%[[SCORES]] :
// CHECK:                     %[[KEY:.*]] = linalg.index 1
// CHECK-NEXT:                arith.cmpi slt, %[[KEY]], %c4
// CHECK:                 } else {
// CHECK-NEXT:              scf.yield %[[SCORES]]
// CHECK:                 na.tile.mask %[[EXISTING]] {{.*}} unless %[[INSIDE]]
// CHECK:                 scf.if %[[IS]] -> (tensor<16x16xbf16>) {
// CHECK:         return
func.func @additional(%q: memref<1x64x2x16xbf16>, %e: memref<1x20x2x16xbf16>,
                      %o: memref<1x64x2x16xbf16>) {
  na.attention
    ins(%q, %q, %q : memref<1x64x2x16xbf16>, memref<1x64x2x16xbf16>, memref<1x64x2x16xbf16>)
    additional(%e, %e : memref<1x20x2x16xbf16>, memref<1x20x2x16xbf16>)
    outs(%o : memref<1x64x2x16xbf16>) window(<size = [32]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [16], key_tile = [16], warpgroup_tile = [8]>}
  return
}

// Additional keys have no bias. All their tiles are full.
// CHECK-LABEL: func @additional_bias
// CHECK:         %[[SCORES:.*]] = linalg.generic
// CHECK:         %[[BIASED:.*]] = scf.if %{{.*}} -> (tensor<8x16xf32>) {
// CHECK-NEXT:      scf.yield %[[SCORES]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      na.tile.bias
// CHECK:         }
// CHECK-NEXT:    na.tile.mask %[[BIASED]]
func.func @additional_bias(%q: memref<1x64x2x16xbf16>, %e: memref<1x32x2x16xbf16>,
                           %t: memref<2x63xf32>, %o: memref<1x64x2x16xbf16>) {
  na.attention
    ins(%q, %q, %q : memref<1x64x2x16xbf16>, memref<1x64x2x16xbf16>, memref<1x64x2x16xbf16>)
    bias(%t : memref<2x63xf32>)
    additional(%e, %e : memref<1x32x2x16xbf16>, memref<1x32x2x16xbf16>)
    outs(%o : memref<1x64x2x16xbf16>) window(<size = [32]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [16], key_tile = [16], warpgroup_tile = [8]>}
  return
}
