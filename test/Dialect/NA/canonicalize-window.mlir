// RUN: na-opt %s --canonicalize | FileCheck %s

// A window as long as every residue class begins at the first key for all
// queries, so the stride has no effect: with causality neither.

// CHECK-LABEL: func @drops_stride
// CHECK: na.attention
// CHECK-SAME: window(<size = [8]>)
// CHECK: na.attention
// CHECK-SAME: window(<size = [4], dilation = [2]>)
// CHECK: na.attention
// CHECK-SAME: window(<size = [8], causal = [true]>)
func.func @drops_stride(%q: memref<2x8x4x16xf32>, %o: memref<2x8x4x16xf32>) {
  na.attention
      ins(%q, %q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
                       memref<2x8x4x16xf32>)
      outs(%o : memref<2x8x4x16xf32>) window(<size = [8], stride = [3]>)
  na.attention
      ins(%q, %q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
                       memref<2x8x4x16xf32>)
      outs(%o : memref<2x8x4x16xf32>)
      window(<size = [4], stride = [4], dilation = [2]>)
  na.attention
      ins(%q, %q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
                       memref<2x8x4x16xf32>)
      outs(%o : memref<2x8x4x16xf32>)
      window(<size = [8], stride = [3], causal = [true]>)
  return
}

// The axes are independent of each other.

// CHECK-LABEL: func @drops_stride_of_one_axis
// CHECK: na.attention
// CHECK-SAME: window(<size = [8, 6], stride = [1, 2]>)
func.func @drops_stride_of_one_axis(%q: memref<2x8x7x4x16xf32>,
                                    %o: memref<2x8x7x4x16xf32>) {
  na.attention
      ins(%q, %q, %q : memref<2x8x7x4x16xf32>, memref<2x8x7x4x16xf32>,
                       memref<2x8x7x4x16xf32>)
      outs(%o : memref<2x8x7x4x16xf32>)
      window(<size = [8, 6], stride = [2, 2]>)
  return
}

// The length may be known from another operand than the query.

// CHECK-LABEL: func @length_of_another_operand
// CHECK: na.attention
// CHECK-SAME: window(<size = [8]>)
func.func @length_of_another_operand(%q: memref<2x?x4x16xf32>,
                                     %o: memref<2x8x4x16xf32>) {
  na.attention
      ins(%q, %q, %q : memref<2x?x4x16xf32>, memref<2x?x4x16xf32>,
                       memref<2x?x4x16xf32>)
      outs(%o : memref<2x8x4x16xf32>) window(<size = [8], stride = [3]>)
  return
}

// One key short of the length; a class that is one longer than the window; a
// length that is not known.

// CHECK-LABEL: func @keeps_stride
// CHECK: na.attention
// CHECK-SAME: window(<size = [7], stride = [3]>)
// CHECK: na.attention
// CHECK-SAME: window(<size = [2], stride = [2], dilation = [3]>)
// CHECK: na.attention
// CHECK-SAME: window(<size = [8], stride = [3]>)
func.func @keeps_stride(%q: memref<2x8x4x16xf32>, %o: memref<2x8x4x16xf32>,
                        %d: memref<2x?x4x16xf32>) {
  na.attention
      ins(%q, %q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
                       memref<2x8x4x16xf32>)
      outs(%o : memref<2x8x4x16xf32>) window(<size = [7], stride = [3]>)
  na.attention
      ins(%q, %q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
                       memref<2x8x4x16xf32>)
      outs(%o : memref<2x8x4x16xf32>)
      window(<size = [2], stride = [2], dilation = [3]>)
  na.attention
      ins(%d, %d, %d : memref<2x?x4x16xf32>, memref<2x?x4x16xf32>,
                       memref<2x?x4x16xf32>)
      outs(%d : memref<2x?x4x16xf32>) window(<size = [8], stride = [3]>)
  return
}

// A window of one key is the query itself, in whatever class; another axis
// keeps its dilation and causality.

// CHECK-LABEL: func @one_key
// CHECK: na.attention
// CHECK-SAME: window(<size = [1, 2], dilation = [1, 3], causal = [false, true]>)
func.func @one_key(%q: memref<2x8x7x4x16xf32>, %o: memref<2x8x7x4x16xf32>) {
  na.attention
      ins(%q, %q, %q : memref<2x8x7x4x16xf32>, memref<2x8x7x4x16xf32>,
                       memref<2x8x7x4x16xf32>)
      outs(%o : memref<2x8x7x4x16xf32>)
      window(<size = [1, 2], dilation = [3, 3], causal = [true, true]>)
  return
}

// The slots of scores and weights begin at the first key of the window, which
// stays the same.

// CHECK-LABEL: func @products
// CHECK: na.qk
// CHECK-SAME: window(<size = [8], causal = [true]>)
// CHECK: na.av
// CHECK-SAME: window(<size = [8]>)
// CHECK: na.qk
// CHECK-SAME: window(<size = [7], stride = [4]>)
// CHECK: na.av
// CHECK-SAME: window(<size = [7], stride = [4], causal = [true]>)
func.func @products(%q: memref<2x8x4x16xf32>, %s: memref<2x8x4x8xf32>,
                    %t: memref<2x8x4x7xf32>) {
  na.qk ins(%q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>)
      outs(%s : memref<2x8x4x8xf32>)
      window(<size = [8], stride = [4], causal = [true]>)
  na.av ins(%s, %q : memref<2x8x4x8xf32>, memref<2x8x4x16xf32>)
      outs(%q : memref<2x8x4x16xf32>) window(<size = [8], stride = [4]>)
  na.qk ins(%q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>)
      outs(%t : memref<2x8x4x7xf32>) window(<size = [7], stride = [4]>)
  na.av ins(%t, %q : memref<2x8x4x7xf32>, memref<2x8x4x16xf32>)
      outs(%q : memref<2x8x4x16xf32>)
      window(<size = [7], stride = [4], causal = [true]>)
  return
}
