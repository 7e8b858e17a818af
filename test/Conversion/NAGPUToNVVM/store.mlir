// RUN: na-opt %s -convert-nagpu-to-nvvm -canonicalize -cse | FileCheck %s

// Each lane of a row holds 4 bytes of each of four chunks; after two exchanges
// it holds one chunk.
// CHECK-LABEL: func @wide(
// CHECK:         nvvm.shfl.sync bfly %c-1_i32, %{{.*}}, %c2_i32, %c31_i32 : i32 -> i32
// CHECK:         nvvm.shfl.sync bfly %c-1_i32, %{{.*}}, %c2_i32
// CHECK:         nvvm.shfl.sync bfly %c-1_i32, %{{.*}}, %c1_i32
// CHECK:         nvvm.shfl.sync bfly %c-1_i32, %{{.*}}, %c1_i32
// CHECK:         scf.if %{{.*}} {
// CHECK-NEXT:      %[[T16:.*]] = arith.muli
// CHECK-NEXT:      %[[P:.*]] = llvm.getelementptr
// CHECK-NEXT:      llvm.store %{{.*}}, %[[P]] {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK-NEXT:    }
func.func @wide(%o: !nagpu.fragment<16x32xf32, accumulator, 1>,
                %m: memref<1x20x2x32xbf16>, %c: index) {
  nagpu.store %o into %m[%c, %c] at(%c) box [16] dilation [1]
    : !nagpu.fragment<16x32xf32, accumulator, 1>, memref<1x20x2x32xbf16>
  return
}

// 8 bytes are pairs of f32; rows outside are dropped.
// CHECK-LABEL: func @f32
// CHECK:         %[[IN:.*]] = arith.cmpi ult, %{{.*}}, %c20_i32
// CHECK:         scf.if %[[IN]] {
// CHECK-NOT:       shfl
// CHECK:           llvm.store %{{.*}} {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr<1>
func.func @f32(%o: !nagpu.fragment<16x8xf32, accumulator, 1>,
               %m: memref<1x20x2x8xf32>, %c: index) {
  nagpu.store %o into %m[%c, %c] at(%c) box [16] dilation [1]
    : !nagpu.fragment<16x8xf32, accumulator, 1>, memref<1x20x2x8xf32>
  return
}

// 10 channels: the second block has one pair, in lane 0.
// CHECK-LABEL: func @pairs
// CHECK:         llvm.store %{{.*}} {alignment = 4 : i64} : vector<2xf16>, !llvm.ptr<1>
// CHECK:         %[[E:.*]] = arith.cmpi ult, %{{.*}}, %c2_i32
// CHECK:         scf.if %[[E]] {
// CHECK:           llvm.store %{{.*}} {alignment = 4 : i64} : vector<2xf16>, !llvm.ptr<1>
func.func @pairs(%o: !nagpu.fragment<16x16xf32, accumulator, 1>,
                 %m: memref<1x20x2x10xf16>, %c: index) {
  nagpu.store %o into %m[%c, %c] at(%c) box [16] dilation [1]
    : !nagpu.fragment<16x16xf32, accumulator, 1>, memref<1x20x2x10xf16>
  return
}

// CHECK-LABEL: func @elements
// CHECK:         %[[E:.*]] = arith.cmpi ult, %{{.*}}, %c7_i32
// CHECK:         scf.if %[[E]] {
// CHECK:           llvm.store %{{.*}} {alignment = 2 : i64} : f16, !llvm.ptr<1>
// CHECK:         %[[E1:.*]] = arith.cmpi ult, %{{.*}}, %c6_i32
// CHECK:         scf.if %[[E1]] {
// CHECK:           llvm.store %{{.*}} {alignment = 2 : i64} : f16, !llvm.ptr<1>
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
// CHECK:         scf.if %[[IN]] {
// CHECK:           llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<1>
func.func @row(%o: !nagpu.fragment<16xf32, row, 1>, %m: memref<1x9x20x2xf32>,
               %c: index) {
  nagpu.store %o into %m[%c, %c] at(%c, %c) box [2, 8] dilation [1, 2]
    : !nagpu.fragment<16xf32, row, 1>, memref<1x9x20x2xf32>
  return
}
