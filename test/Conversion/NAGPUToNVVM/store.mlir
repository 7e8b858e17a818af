// RUN: na-opt %s -convert-nagpu-to-nvvm -canonicalize -cse | FileCheck %s

// Each lane of a row holds 4 bytes of each of four chunks; after two exchanges
// it holds one chunk, and a row of four lanes writes whole sectors. No branch:
// a predicate drops what is outside.
// CHECK-LABEL: func @wide(
// CHECK-NOT:     scf.if
// CHECK:         %[[IN:.*]] = arith.cmpi ult, %{{.*}}, %c20_i32
// CHECK:         nvvm.shfl.sync bfly %c-1_i32, %{{.*}}, %c2_i32, %c31_i32 : i32 -> i32
// CHECK:         nvvm.shfl.sync bfly %c-1_i32, %{{.*}}, %c2_i32
// CHECK:         nvvm.shfl.sync bfly %c-1_i32, %{{.*}}, %c1_i32
// CHECK:         nvvm.shfl.sync bfly %c-1_i32, %{{.*}}, %c1_i32
// CHECK:         llvm.inline_asm has_side_effects {{.*}} "@$5 st.global.v4.b32 [$0+0], {$1, $2, $3, $4};", "l,r,r,r,r,b,~{memory}" %{{.*}}, %[[IN]]
// CHECK-NOT:     scf.if
func.func @wide(%o: !nagpu.fragment<16x32xf32, accumulator, 1>,
                %m: memref<1x20x2x32xbf16>, %c: index) {
  nagpu.store %o into %m[%c, %c] at(%c) box [16] dilation [1]
    : !nagpu.fragment<16x32xf32, accumulator, 1>, memref<1x20x2x32xbf16>
  return
}

// Six chunks: of the second four, lanes 0 and 1 have one.
// CHECK-LABEL: func @chunks(
// CHECK:         llvm.inline_asm {{.*}} "@$5 st.global.v4.b32 [$0+0], {$1, $2, $3, $4};"{{.*}} %[[IN:[0-9]+]] :
// CHECK:         %[[E:.*]] = arith.cmpi ult, %{{.*}}, %c2_i32
// CHECK:         %[[BOTH:.*]] = arith.andi %[[IN]], %[[E]]
// CHECK:         llvm.inline_asm {{.*}} "@$5 st.global.v4.b32 [$0+64], {$1, $2, $3, $4};"{{.*}} %[[BOTH]] :
func.func @chunks(%o: !nagpu.fragment<16x48xf32, accumulator, 1>,
                  %m: memref<1x20x2x48xbf16>, %c: index) {
  nagpu.store %o into %m[%c, %c] at(%c) box [16] dilation [1]
    : !nagpu.fragment<16x48xf32, accumulator, 1>, memref<1x20x2x48xbf16>
  return
}

// 8 bytes are pairs of f32; rows outside are dropped.
// CHECK-LABEL: func @f32
// CHECK:         %[[IN:.*]] = arith.cmpi ult, %{{.*}}, %c20_i32
// CHECK-NOT:     shfl
// CHECK:         llvm.inline_asm {{.*}} "@$3 st.global.v2.b32 [$0+0], {$1, $2};", "l,r,r,b,~{memory}" %{{.*}}, %[[IN]] :
func.func @f32(%o: !nagpu.fragment<16x8xf32, accumulator, 1>,
               %m: memref<1x20x2x8xf32>, %c: index) {
  nagpu.store %o into %m[%c, %c] at(%c) box [16] dilation [1]
    : !nagpu.fragment<16x8xf32, accumulator, 1>, memref<1x20x2x8xf32>
  return
}

// 10 channels: the second block has one pair, in lane 0.
// CHECK-LABEL: func @pairs
// CHECK:         llvm.inline_asm {{.*}} "@$2 st.global.b32 [$0+0], $1;", "l,r,b,~{memory}" %{{.*}}, %[[IN:[0-9]+]] :
// CHECK:         %[[E:.*]] = arith.cmpi ult, %{{.*}}, %c2_i32
// CHECK:         %[[BOTH:.*]] = arith.andi %[[IN]], %[[E]]
// CHECK:         llvm.inline_asm {{.*}} "@$2 st.global.b32 [$0+16], $1;"{{.*}} %[[BOTH]] :
func.func @pairs(%o: !nagpu.fragment<16x16xf32, accumulator, 1>,
                 %m: memref<1x20x2x10xf16>, %c: index) {
  nagpu.store %o into %m[%c, %c] at(%c) box [16] dilation [1]
    : !nagpu.fragment<16x16xf32, accumulator, 1>, memref<1x20x2x10xf16>
  return
}

// CHECK-LABEL: func @elements
// CHECK:         %[[E:.*]] = arith.cmpi ult, %{{.*}}, %c7_i32
// CHECK:         %[[BOTH:.*]] = arith.andi %[[IN:.*]], %[[E]]
// CHECK:         llvm.inline_asm {{.*}} "@$2 st.global.b16 [$0+0], $1;", "l,h,b,~{memory}" %{{.*}}, %[[BOTH]] :
// CHECK:         %[[E1:.*]] = arith.cmpi ult, %{{.*}}, %c6_i32
// CHECK:         %[[BOTH1:.*]] = arith.andi %[[IN]], %[[E1]]
// CHECK:         llvm.inline_asm {{.*}} "@$2 st.global.b16 [$0+2], $1;"{{.*}} %[[BOTH1]] :
func.func @elements(%o: !nagpu.fragment<16x8xf32, accumulator, 1>,
                    %m: memref<1x20x2x7xf16>, %c: index) {
  nagpu.store %o into %m[%c, %c] at(%c) box [16] dilation [1]
    : !nagpu.fragment<16x8xf32, accumulator, 1>, memref<1x20x2x7xf16>
  return
}

// One of the four lanes that hold a row stores it.
// CHECK-LABEL: func @row
// CHECK:         %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK:         %[[IN:.*]] = arith.andi %[[FIRST]], %{{.*}}
// CHECK:         llvm.inline_asm {{.*}} "@$2 st.global.b32 [$0+0], $1;"{{.*}} %[[IN]] :
func.func @row(%o: !nagpu.fragment<16xf32, row, 1>, %m: memref<1x9x20x2xf32>,
               %c: index) {
  nagpu.store %o into %m[%c, %c] at(%c, %c) box [2, 8] dilation [1, 2]
    : !nagpu.fragment<16xf32, row, 1>, memref<1x9x20x2xf32>
  return
}
