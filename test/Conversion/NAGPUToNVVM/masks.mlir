// RUN: na-opt %s -convert-nagpu-to-nvvm -canonicalize -cse | FileCheck %s

// Few coordinates: a comparison each. A lane's columns have the coordinates 0
// and 1 of 8, plus the lane's part, which the bound takes.
// CHECK-LABEL: func @compare
// CHECK:         %[[T:.*]] = arith.andi %{{.*}}, %c3_i32
// CHECK:         %[[LANE:.*]] = arith.muli %[[T]], %c2_i32
// CHECK:         %[[B:.*]] = arith.subi %{{.*}}, %[[LANE]]
// CHECK:         %[[D0:.*]] = arith.subi %c0_i32, %[[B]]
// CHECK:         %[[P0:.*]] = arith.cmpi ult, %[[D0]], %c5_i32
// CHECK-NEXT:    arith.select %[[P0]], %{{.*}}, %{{.*}} : f32
// CHECK-NEXT:    arith.select %[[P0]]
// CHECK-NEXT:    %[[D1:.*]] = arith.subi %c1_i32, %[[B]]
// CHECK-NEXT:    %[[P1:.*]] = arith.cmpi ult, %[[D1]], %c5_i32
// CHECK-NEXT:    arith.select %[[P1]]
// CHECK-NEXT:    arith.select %[[P1]]
// CHECK-COUNT-2: arith.cmpi
// CHECK-NOT:     arith.cmpi
func.func @compare(%s: !nagpu.fragment<16x16xf32, accumulator, 1>,
                   %b: !nagpu.fragment<16xi32, row, 1>) -> !nagpu.fragment<16x16xf32, accumulator, 1> {
  %m = nagpu.mask %s axis 1 of [2, 8] from %b size 5
    : !nagpu.fragment<16x16xf32, accumulator, 1>, !nagpu.fragment<16xi32, row, 1>
  return %m : !nagpu.fragment<16x16xf32, accumulator, 1>
}

// Two comparisons where ends are given.
// CHECK-LABEL: func @ends
// CHECK:         %[[AFTER:.*]] = arith.cmpi sle, %[[B:.*]], %c0_i32
// CHECK:         %[[BEFORE:.*]] = arith.cmpi sgt, %[[E:.*]], %c0_i32
// CHECK:         %[[P:.*]] = arith.andi %[[AFTER]], %[[BEFORE]]
// CHECK:         arith.select %[[P]]
func.func @ends(%s: !nagpu.fragment<16x16xf32, accumulator, 1>,
                %b: !nagpu.fragment<16xi32, row, 1>) -> !nagpu.fragment<16x16xf32, accumulator, 1> {
  %m = nagpu.mask %s axis 0 of [2, 8] from %b to %b
    : !nagpu.fragment<16x16xf32, accumulator, 1>, !nagpu.fragment<16xi32, row, 1>, !nagpu.fragment<16xi32, row, 1>
  return %m : !nagpu.fragment<16x16xf32, accumulator, 1>
}

// 22 coordinates: the bits of a word. Bounds are clamped, so that shifts are
// defined.
// CHECK-LABEL: func @word
// CHECK:         %[[END:.*]] = arith.addi %[[B:.*]], %c20_i32
// CHECK:         %[[LOW:.*]] = arith.minsi %[[B]], %c31_i32
// CHECK:         %[[FIRST:.*]] = arith.maxsi %[[LOW]], %c0_i32
// CHECK:         %[[FROM:.*]] = arith.shli %c-1_i32, %[[FIRST]]
// CHECK:         %[[UP:.*]] = arith.minsi %[[END]], %c31_i32
// CHECK:         %[[LAST:.*]] = arith.maxsi %[[UP]], %c0_i32
// CHECK:         %[[BEHIND:.*]] = arith.shli %c-1_i32, %[[LAST]]
// CHECK:         %[[BEFORE:.*]] = arith.xori %[[BEHIND]], %c-1_i32
// CHECK:         %[[WORD:.*]] = arith.andi %[[FROM]], %[[BEFORE]]
// CHECK:         %[[BIT:.*]] = arith.andi %[[WORD]], %c1_i32
// CHECK:         %[[P:.*]] = arith.cmpi ne, %[[BIT]], %c0_i32
// CHECK-NEXT:    arith.select %[[P]]
// CHECK-NEXT:    arith.select %[[P]]
// CHECK-NEXT:    %[[BIT1:.*]] = arith.andi %[[WORD]], %c2_i32
func.func @word(%s: !nagpu.fragment<16x176xf32, accumulator, 1>,
                %b: !nagpu.fragment<16xi32, row, 1>) -> !nagpu.fragment<16x176xf32, accumulator, 1> {
  %m = nagpu.mask %s axis 0 of [22, 8] from %b size 20
    : !nagpu.fragment<16x176xf32, accumulator, 1>, !nagpu.fragment<16xi32, row, 1>
  return %m : !nagpu.fragment<16x176xf32, accumulator, 1>
}

// One axis of 176: bits of the 44 columns of a lane, in a pair of words.
// CHECK-LABEL: func @pair
// CHECK:         %[[EIGHTH:.*]] = arith.shrsi %[[B:.*]], %c3_i32
// CHECK:         %[[REST:.*]] = arith.andi %[[B]], %c7_i32
// CHECK:         %[[TWO:.*]] = arith.minui %[[REST]], %c2_i32
// CHECK:         %[[WHOLE:.*]] = arith.muli %[[EIGHTH]], %c2_i32
// CHECK:         %[[PLACE:.*]] = arith.addi %[[WHOLE]], %[[TWO]]
// CHECK:         arith.minsi %[[PLACE]], %c63_i32
// CHECK:         arith.shli %c-1_i64
// CHECK:         %[[PAIR:.*]] = arith.andi %{{.*}} : i64
// CHECK:         %[[LOW:.*]] = arith.trunci %[[PAIR]] : i64 to i32
// CHECK:         %[[SHIFTED:.*]] = arith.shrui %[[PAIR]], %c32_i64
// CHECK:         arith.trunci %[[SHIFTED]] : i64 to i32
func.func @pair(%s: !nagpu.fragment<16x176xf32, accumulator, 1>,
                %b: !nagpu.fragment<16xi32, row, 1>) -> !nagpu.fragment<16x176xf32, accumulator, 1> {
  %m = nagpu.mask %s axis 0 of [176] from %b size 100
    : !nagpu.fragment<16x176xf32, accumulator, 1>, !nagpu.fragment<16xi32, row, 1>
  return %m : !nagpu.fragment<16x176xf32, accumulator, 1>
}

// The last extent is no multiple of 8: the word, repeated, is shifted by what
// the lane adds.
// CHECK-LABEL: func @carries
// CHECK:         %[[WORD:.*]] = arith.andi %{{.*}}, %{{.*}}
// CHECK:         %[[AGAIN:.*]] = arith.shli %[[WORD]], %c12_i32
// CHECK:         %[[TWICE:.*]] = arith.ori %[[WORD]], %[[AGAIN]]
// CHECK:         %[[OF_LANE:.*]] = arith.shrui %[[TWICE]], %{{.*}}
// CHECK:         arith.andi %[[OF_LANE]], %c1_i32
func.func @carries(%s: !nagpu.fragment<16x48xf32, accumulator, 1>,
                   %b: !nagpu.fragment<16xi32, row, 1>) -> !nagpu.fragment<16x48xf32, accumulator, 1> {
  %m = nagpu.mask %s axis 1 of [4, 12] from %b size 7
    : !nagpu.fragment<16x48xf32, accumulator, 1>, !nagpu.fragment<16xi32, row, 1>
  return %m : !nagpu.fragment<16x48xf32, accumulator, 1>
}

// Several axes at once: a word of a row for each coordinate on the axis with
// fewer, here 2 of 8: the bits of the other axis, or none. One selection an element.
// CHECK-LABEL: func @box
// CHECK:         %[[TAKEN:.*]] = arith.select %{{.*}}, %{{.*}}, %c0_i32 : i32
// CHECK:         %[[BIT:.*]] = arith.andi %[[TAKEN]], %c1_i32
// CHECK:         %[[P:.*]] = arith.cmpi ne, %[[BIT]], %c0_i32
// CHECK:         arith.select %[[P]], %{{.*}}, %{{.*}} : f32
// CHECK:         arith.andi %[[TAKEN]], %c2_i32
// CHECK-COUNT-39: arith.select %{{.*}} : f32
// CHECK-NOT:     arith.select %{{.*}} : f32
func.func @box(%s: !nagpu.fragment<16x80xf32, accumulator, 1>,
               %b: !nagpu.fragment<16xi32, row, 1>) -> !nagpu.fragment<16x80xf32, accumulator, 1> {
  %m = nagpu.mask_box %s axes [0, 1] of [10, 8] from %b, %b to %b, %b
    : !nagpu.fragment<16x80xf32, accumulator, 1>, !nagpu.fragment<16xi32, row, 1>
  return %m : !nagpu.fragment<16x80xf32, accumulator, 1>
}
