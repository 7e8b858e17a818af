// RUN: na-opt %s -na-raise-attention -canonicalize | FileCheck %s
// RUN: na-opt %s -na-raise-attention=explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// raise-attention-execution.test runs the functions of this file as well.

#id = affine_map<(b, q, k) -> (b, q, k)>
#all = affine_map<(b, h, q, k) -> (b, h, q, k)>
#row = affine_map<(b, h, q, k) -> (b, h, q)>
#pair = affine_map<(b, h, q, k) -> (q, k)>
#bqd = affine_map<(b, q, k, d) -> (b, q, d)>
#bkd = affine_map<(b, q, k, d) -> (b, k, d)>
#bqk = affine_map<(b, q, k, d) -> (b, q, k)>

// A causal window that is computed from the positions; one softmax operation.
// As unsigned numbers, keys after the query are far away.

// CHECK-LABEL: func @causal
// CHECK-SAME:    (%[[Q:[a-z0-9_]+]]: tensor<2x64x32xf32>, %[[K:[a-z0-9_]+]]: tensor<2x64x32xf32>, %[[V:[a-z0-9_]+]]: tensor<2x64x8xf32>)
// CHECK-NOT:     linalg
// CHECK:         %[[Q4:[a-z0-9_]+]] = tensor.expand_shape %[[Q]] {{\[}}[0], [1], [2, 3]] output_shape [2, 64, 1, 32]
// CHECK:         %[[K4:[a-z0-9_]+]] = tensor.expand_shape %[[K]]
// CHECK:         %[[V4:[a-z0-9_]+]] = tensor.expand_shape %[[V]]
// CHECK:         %[[O:[a-z0-9_]+]] = na.attention ins(%[[Q4]], %[[K4]], %[[V4]] :
// CHECK-SAME:      window(<size = [16], causal = [true]>)
// CHECK-SAME:      {scale = 2.500000e-01 : f64}
// CHECK:         %[[R:[a-z0-9_]+]] = tensor.collapse_shape %[[O]]
// CHECK-NOT:     linalg
// CHECK:         return %[[R]]
func.func @causal(%q: tensor<2x64x32xf32>, %k: tensor<2x64x32xf32>,
                  %v: tensor<2x64x8xf32>) -> tensor<2x64x8xf32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.25 : f32
  %hidden = arith.constant 0xFF800000 : f32
  %c16 = arith.constant 16 : index
  %d = tensor.empty() : tensor<2x64x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%d : tensor<2x64x64xf32>)
      -> tensor<2x64x64xf32>
  %s = linalg.batch_matmul indexing_maps = [#bqd, #bkd, #bqk]
      ins(%q, %k : tensor<2x64x32xf32>, tensor<2x64x32xf32>)
      outs(%zeros : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %l = linalg.generic {indexing_maps = [#id, #id],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x64x64xf32>) outs(%d : tensor<2x64x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %distance = arith.subi %i, %j : index
    %near = arith.cmpi ult, %distance, %c16 : index
    %scaled = arith.mulf %in, %scale : f32
    %masked = arith.select %near, %scaled, %hidden : f32
    linalg.yield %masked : f32
  } -> tensor<2x64x64xf32>
  %p = linalg.softmax dimension(2) ins(%l : tensor<2x64x64xf32>)
      outs(%d : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %d1 = tensor.empty() : tensor<2x64x8xf32>
  %zeros1 = linalg.fill ins(%zero : f32) outs(%d1 : tensor<2x64x8xf32>)
      -> tensor<2x64x8xf32>
  // REMARK: remark: attention is raised to #na.window<size = [16], causal = [true]>
  %o = linalg.batch_matmul
      ins(%p, %v : tensor<2x64x64xf32>, tensor<2x64x8xf32>)
      outs(%zeros1 : tensor<2x64x8xf32>) -> tensor<2x64x8xf32>
  return %o : tensor<2x64x8xf32>
}

// Heads that the program puts first, in a softmax of five steps; a centred
// window that is shifted inward at the borders. The scale is partly on the
// queries. The transposes of the operands and of the result meet and go.

// CHECK-LABEL: func @centred
// CHECK-SAME:    (%[[Q:[a-z0-9_]+]]: tensor<2x20x3x8xf32>, %[[K:[a-z0-9_]+]]: tensor<2x20x3x8xf32>, %[[V:[a-z0-9_]+]]: tensor<2x20x3x8xf32>)
// CHECK-NOT:     linalg
// CHECK:         %[[O:[a-z0-9_]+]] = na.attention ins(%[[Q]], %[[K]], %[[V]] :
// CHECK-SAME:      window(<size = [5]>) {scale = 1.250000e-01 : f64}
// CHECK-NEXT:    return %[[O]]
func.func @centred(%q: tensor<2x20x3x8xf32>, %k: tensor<2x20x3x8xf32>,
                   %v: tensor<2x20x3x8xf32>) -> tensor<2x20x3x8xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %quarter = arith.constant dense<0.25> : tensor<2x3x20x20xf32>
  %hidden = arith.constant -1.0e9 : f32
  %none = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %c15 = arith.constant 15 : index
  %heads = tensor.empty() : tensor<2x3x20x8xf32>
  %turned = tensor.empty() : tensor<2x3x8x20xf32>
  %scores = tensor.empty() : tensor<2x3x20x20xf32>
  %rows = tensor.empty() : tensor<2x3x20xf32>
  %qt = linalg.transpose ins(%q : tensor<2x20x3x8xf32>)
      outs(%heads : tensor<2x3x20x8xf32>) permutation = [0, 2, 1, 3]
  %qs = linalg.generic {indexing_maps = [#all, #all], iterator_types = [
        "parallel", "parallel", "parallel", "parallel"]}
      ins(%qt : tensor<2x3x20x8xf32>) outs(%heads : tensor<2x3x20x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %half : f32
    linalg.yield %0 : f32
  } -> tensor<2x3x20x8xf32>
  %kt = linalg.transpose ins(%k : tensor<2x20x3x8xf32>)
      outs(%turned : tensor<2x3x8x20xf32>) permutation = [0, 2, 3, 1]
  %vt = linalg.transpose ins(%v : tensor<2x20x3x8xf32>)
      outs(%heads : tensor<2x3x20x8xf32>) permutation = [0, 2, 1, 3]
  %q3 = tensor.collapse_shape %qs [[0, 1], [2], [3]]
      : tensor<2x3x20x8xf32> into tensor<6x20x8xf32>
  %k3 = tensor.collapse_shape %kt [[0, 1], [2], [3]]
      : tensor<2x3x8x20xf32> into tensor<6x8x20xf32>
  %v3 = tensor.collapse_shape %vt [[0, 1], [2], [3]]
      : tensor<2x3x20x8xf32> into tensor<6x20x8xf32>
  %zeros = arith.constant dense<0.0> : tensor<6x20x20xf32>
  %s3 = linalg.batch_matmul
      ins(%q3, %k3 : tensor<6x20x8xf32>, tensor<6x8x20xf32>)
      outs(%zeros : tensor<6x20x20xf32>) -> tensor<6x20x20xf32>
  %s = tensor.expand_shape %s3 [[0, 1], [2], [3]] output_shape [2, 3, 20, 20]
      : tensor<6x20x20xf32> into tensor<2x3x20x20xf32>
  %scaled = arith.mulf %s, %quarter : tensor<2x3x20x20xf32>

  // The mask is a tensor of its own, broadcast to batch and heads and added.
  %m0 = tensor.empty() : tensor<20x20xf32>
  %mask = linalg.generic {
      indexing_maps = [affine_map<(q, k) -> (q, k)>],
      iterator_types = ["parallel", "parallel"]}
      outs(%m0 : tensor<20x20xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %left = arith.subi %i, %c2 : index
    %cut = arith.maxsi %left, %c0 : index
    %first = arith.minsi %cut, %c15 : index
    %end = arith.addi %first, %c5 : index
    %after = arith.cmpi sge, %j, %first : index
    %before = arith.cmpi slt, %j, %end : index
    %sees = arith.andi %after, %before : i1
    %0 = arith.select %sees, %zero, %hidden : f32
    linalg.yield %0 : f32
  } -> tensor<20x20xf32>
  %masks = linalg.broadcast ins(%mask : tensor<20x20xf32>)
      outs(%scores : tensor<2x3x20x20xf32>) dimensions = [0, 1]
  %l = linalg.add ins(%scaled, %masks
          : tensor<2x3x20x20xf32>, tensor<2x3x20x20xf32>)
      outs(%scores : tensor<2x3x20x20xf32>) -> tensor<2x3x20x20xf32>

  %max0 = linalg.fill ins(%none : f32) outs(%rows : tensor<2x3x20xf32>)
      -> tensor<2x3x20xf32>
  %max = linalg.reduce ins(%l : tensor<2x3x20x20xf32>)
      outs(%max0 : tensor<2x3x20xf32>) dimensions = [3]
      (%in: f32, %acc: f32) {
        %0 = arith.maximumf %acc, %in : f32
        linalg.yield %0 : f32
      }
  %exp = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = [
        "parallel", "parallel", "parallel", "parallel"]}
      ins(%l, %max : tensor<2x3x20x20xf32>, tensor<2x3x20xf32>)
      outs(%scores : tensor<2x3x20x20xf32>) {
  ^bb0(%in: f32, %m: f32, %out: f32):
    %0 = arith.subf %in, %m : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x3x20x20xf32>
  %sum0 = linalg.fill ins(%zero : f32) outs(%rows : tensor<2x3x20xf32>)
      -> tensor<2x3x20xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = [
        "parallel", "parallel", "parallel", "reduction"]}
      ins(%exp : tensor<2x3x20x20xf32>) outs(%sum0 : tensor<2x3x20xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %0 = arith.addf %in, %acc : f32
    linalg.yield %0 : f32
  } -> tensor<2x3x20xf32>
  %sums = linalg.broadcast ins(%sum : tensor<2x3x20xf32>)
      outs(%scores : tensor<2x3x20x20xf32>) dimensions = [3]
  %p = linalg.div ins(%exp, %sums
          : tensor<2x3x20x20xf32>, tensor<2x3x20x20xf32>)
      outs(%scores : tensor<2x3x20x20xf32>) -> tensor<2x3x20x20xf32>

  %p3 = tensor.collapse_shape %p [[0, 1], [2], [3]]
      : tensor<2x3x20x20xf32> into tensor<6x20x20xf32>
  %zeros1 = arith.constant dense<0.0> : tensor<6x20x8xf32>
  // REMARK: remark: attention is raised to #na.window<size = [5]>
  %o3 = linalg.batch_matmul
      ins(%p3, %v3 : tensor<6x20x20xf32>, tensor<6x20x8xf32>)
      outs(%zeros1 : tensor<6x20x8xf32>) -> tensor<6x20x8xf32>
  %o4 = tensor.expand_shape %o3 [[0, 1], [2], [3]] output_shape [2, 3, 20, 8]
      : tensor<6x20x8xf32> into tensor<2x3x20x8xf32>
  %o0 = tensor.empty() : tensor<2x20x3x8xf32>
  %o = linalg.transpose ins(%o4 : tensor<2x3x20x8xf32>)
      outs(%o0 : tensor<2x20x3x8xf32>) permutation = [0, 2, 1, 3]
  return %o : tensor<2x20x3x8xf32>
}

// An image of 12x10 tokens, flattened; heads first, so they are of the batch.
// Positions of the axes come from divisions.

// CHECK-LABEL: func @image
// CHECK-SAME:    (%[[Q:[a-z0-9_]+]]: tensor<1x2x120x16xf32>
// CHECK-NOT:     linalg
// CHECK:         tensor.collapse_shape %[[Q]] {{\[}}[0, 1], [2], [3]] : tensor<1x2x120x16xf32> into tensor<2x120x16xf32>
// CHECK-NEXT:    tensor.expand_shape %{{.*}} output_shape [2, 12, 10, 1, 16]
// CHECK:         na.attention
// CHECK-SAME:      window(<size = [7, 7]>) {scale = 2.500000e-01 : f64}
// CHECK-NOT:     linalg
// CHECK:         return
func.func @image(%q: tensor<1x2x120x16xf32>, %k: tensor<1x2x120x16xf32>,
                 %v: tensor<1x2x120x16xf32>) -> tensor<1x2x120x16xf32> {
  %four = arith.constant 4.0 : f32
  %hidden = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : i32
  %c3 = arith.constant 3 : i32
  %c5 = arith.constant 5 : i32
  %c7 = arith.constant 7 : i32
  %c10 = arith.constant 10 : i32
  %d = tensor.empty() : tensor<1x2x120x120xf32>
  %zeros = arith.constant dense<0.0> : tensor<1x2x120x120xf32>
  %s = linalg.contract indexing_maps = [
        affine_map<(b, h, q, k, d) -> (b, h, q, d)>,
        affine_map<(b, h, q, k, d) -> (b, h, k, d)>,
        affine_map<(b, h, q, k, d) -> (b, h, q, k)>]
      ins(%q, %k : tensor<1x2x120x16xf32>, tensor<1x2x120x16xf32>)
      outs(%zeros : tensor<1x2x120x120xf32>) -> tensor<1x2x120x120xf32>
  %l = linalg.generic {indexing_maps = [#all, #all], iterator_types = [
        "parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<1x2x120x120xf32>) outs(%d : tensor<1x2x120x120xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %query = arith.index_cast %i : index to i32
    %key = arith.index_cast %j : index to i32
    %qx = arith.divsi %query, %c10 : i32
    %qy = arith.remsi %query, %c10 : i32
    %kx = arith.divsi %key, %c10 : i32
    %ky = arith.remsi %key, %c10 : i32
    %x0 = arith.subi %qx, %c3 : i32
    %x1 = arith.maxsi %x0, %c0 : i32
    %x2 = arith.minsi %x1, %c5 : i32
    %y0 = arith.subi %qy, %c3 : i32
    %y1 = arith.maxsi %y0, %c0 : i32
    %y2 = arith.minsi %y1, %c3 : i32
    // Unsigned: what is before the window is far away.
    %dx = arith.subi %kx, %x2 : i32
    %dy = arith.subi %ky, %y2 : i32
    %inx = arith.cmpi ult, %dx, %c7 : i32
    %iny = arith.cmpi ult, %dy, %c7 : i32
    %sees = arith.andi %inx, %iny : i1
    %0 = arith.divf %in, %four : f32
    %1 = arith.select %sees, %0, %hidden : f32
    linalg.yield %1 : f32
  } -> tensor<1x2x120x120xf32>
  %p = linalg.softmax dimension(3) ins(%l : tensor<1x2x120x120xf32>)
      outs(%d : tensor<1x2x120x120xf32>) -> tensor<1x2x120x120xf32>
  %zeros1 = arith.constant dense<0.0> : tensor<1x2x120x16xf32>
  // REMARK: remark: attention is raised to #na.window<size = [7, 7]>
  %o = linalg.contract indexing_maps = [
        affine_map<(b, h, q, d, k) -> (b, h, q, k)>,
        affine_map<(b, h, q, d, k) -> (b, h, k, d)>,
        affine_map<(b, h, q, d, k) -> (b, h, q, d)>]
      ins(%p, %v : tensor<1x2x120x120xf32>, tensor<1x2x120x16xf32>)
      outs(%zeros1 : tensor<1x2x120x16xf32>) -> tensor<1x2x120x16xf32>
  return %o : tensor<1x2x120x16xf32>
}

// A constant mask of bits: a centred window of four keys, two to the left.

// CHECK-LABEL: func @bits
// CHECK-NOT:     linalg
// CHECK:         na.attention
// CHECK-SAME:      window(<size = [4]>) {scale = 1.000000e+00 : f64}
// CHECK-NOT:     linalg
// CHECK:         return
func.func @bits(%q: tensor<8x4xf64>, %k: tensor<8x4xf64>, %v: tensor<8x4xf64>)
    -> tensor<8x4xf64> {
  %mask = arith.constant dense<[
      [true, true, true, true, false, false, false, false],
      [true, true, true, true, false, false, false, false],
      [true, true, true, true, false, false, false, false],
      [false, true, true, true, true, false, false, false],
      [false, false, true, true, true, true, false, false],
      [false, false, false, true, true, true, true, false],
      [false, false, false, false, true, true, true, true],
      [false, false, false, false, true, true, true, true]]> : tensor<8x8xi1>
  %hidden = arith.constant dense<-1.0e30> : tensor<8x8xf64>
  %zeros = arith.constant dense<0.0> : tensor<8x8xf64>
  %s = linalg.matmul indexing_maps = [affine_map<(q, k, d) -> (q, d)>,
                                      affine_map<(q, k, d) -> (k, d)>,
                                      affine_map<(q, k, d) -> (q, k)>]
      ins(%q, %k : tensor<8x4xf64>, tensor<8x4xf64>)
      outs(%zeros : tensor<8x8xf64>) -> tensor<8x8xf64>
  %l = arith.select %mask, %s, %hidden : tensor<8x8xi1>, tensor<8x8xf64>
  %d = tensor.empty() : tensor<8x8xf64>
  %p = linalg.softmax dimension(1) ins(%l : tensor<8x8xf64>)
      outs(%d : tensor<8x8xf64>) -> tensor<8x8xf64>
  %zeros1 = arith.constant dense<0.0> : tensor<8x4xf64>
  // REMARK: remark: attention is raised to #na.window<size = [4]>
  %o = linalg.matmul ins(%p, %v : tensor<8x8xf64>, tensor<8x4xf64>)
      outs(%zeros1 : tensor<8x4xf64>) -> tensor<8x4xf64>
  return %o : tensor<8x4xf64>
}

// An additive constant mask of a dilated causal window, and two query heads per
// key head: the key heads are of the batch, the two are the heads. Values come
// with tokens last.

// CHECK-LABEL: func @grouped
// CHECK-SAME:    (%[[Q:[a-z0-9_]+]]: tensor<3x2x9x4xf32>, %[[K:[a-z0-9_]+]]: tensor<3x9x4xf32>, %[[V:[a-z0-9_]+]]: tensor<3x5x9xf32>)
// CHECK-DAG:     linalg.transpose ins(%[[Q]] : {{.*}}) outs(%{{.*}} : tensor<3x9x2x4xf32>) permutation = [0, 2, 1, 3]
// CHECK-DAG:     linalg.transpose ins(%[[V]] : {{.*}}) outs(%{{.*}} : tensor<3x9x5xf32>) permutation = [0, 2, 1]
// CHECK:         na.attention
// CHECK-SAME:      tensor<3x9x2x4xf32>, tensor<3x9x1x4xf32>, tensor<3x9x1x5xf32>
// CHECK-SAME:      window(<size = [3], dilation = [2], causal = [true]>)
// CHECK-NEXT:    tensor.empty
// CHECK-NEXT:    linalg.transpose {{.*}} permutation = [0, 2, 1, 3]
// CHECK-NEXT:    return
func.func @grouped(%q: tensor<3x2x9x4xf32>, %k: tensor<3x9x4xf32>,
                   %v: tensor<3x5x9xf32>) -> tensor<3x2x9x5xf32> {
  %mask = arith.constant dense<[
      [0.0, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000],
      [0xFF800000, 0.0, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000],
      [0.0, 0xFF800000, 0.0, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000],
      [0xFF800000, 0.0, 0xFF800000, 0.0, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000],
      [0.0, 0xFF800000, 0.0, 0xFF800000, 0.0, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000],
      [0xFF800000, 0.0, 0xFF800000, 0.0, 0xFF800000, 0.0, 0xFF800000, 0xFF800000, 0xFF800000],
      [0xFF800000, 0xFF800000, 0.0, 0xFF800000, 0.0, 0xFF800000, 0.0, 0xFF800000, 0xFF800000],
      [0xFF800000, 0xFF800000, 0xFF800000, 0.0, 0xFF800000, 0.0, 0xFF800000, 0.0, 0xFF800000],
      [0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000, 0.0, 0xFF800000, 0.0, 0xFF800000, 0.0]]> : tensor<9x9xf32>
  %zeros = arith.constant dense<0.0> : tensor<6x9x9xf32>
  %q3 = tensor.collapse_shape %q [[0, 1], [2], [3]]
      : tensor<3x2x9x4xf32> into tensor<6x9x4xf32>
  %k0 = tensor.empty() : tensor<3x2x9x4xf32>
  %k4 = linalg.broadcast ins(%k : tensor<3x9x4xf32>)
      outs(%k0 : tensor<3x2x9x4xf32>) dimensions = [1]
  %k3 = tensor.collapse_shape %k4 [[0, 1], [2], [3]]
      : tensor<3x2x9x4xf32> into tensor<6x9x4xf32>
  %v0 = tensor.empty() : tensor<3x2x5x9xf32>
  %v4 = linalg.broadcast ins(%v : tensor<3x5x9xf32>)
      outs(%v0 : tensor<3x2x5x9xf32>) dimensions = [1]
  %s3 = linalg.batch_matmul indexing_maps = [#bqd, #bkd, #bqk]
      ins(%q3, %k3 : tensor<6x9x4xf32>, tensor<6x9x4xf32>)
      outs(%zeros : tensor<6x9x9xf32>) -> tensor<6x9x9xf32>
  %s = tensor.expand_shape %s3 [[0, 1], [2], [3]] output_shape [3, 2, 9, 9]
      : tensor<6x9x9xf32> into tensor<3x2x9x9xf32>
  %d = tensor.empty() : tensor<3x2x9x9xf32>
  %l = linalg.generic {indexing_maps = [#all, #pair, #all], iterator_types = [
        "parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %mask : tensor<3x2x9x9xf32>, tensor<9x9xf32>)
      outs(%d : tensor<3x2x9x9xf32>) {
  ^bb0(%in: f32, %m: f32, %out: f32):
    %0 = arith.addf %in, %m : f32
    linalg.yield %0 : f32
  } -> tensor<3x2x9x9xf32>
  %p = linalg.softmax dimension(3) ins(%l : tensor<3x2x9x9xf32>)
      outs(%d : tensor<3x2x9x9xf32>) -> tensor<3x2x9x9xf32>
  %zeros1 = arith.constant dense<0.0> : tensor<3x2x9x5xf32>
  // REMARK: remark: attention is raised to #na.window<size = [3], dilation = [2], causal = [true]>
  %o = linalg.contract indexing_maps = [
        affine_map<(b, h, q, d, k) -> (b, h, q, k)>,
        affine_map<(b, h, q, d, k) -> (b, h, d, k)>,
        affine_map<(b, h, q, d, k) -> (b, h, q, d)>]
      ins(%p, %v4 : tensor<3x2x9x9xf32>, tensor<3x2x5x9xf32>)
      outs(%zeros1 : tensor<3x2x9x5xf32>) -> tensor<3x2x9x5xf32>
  return %o : tensor<3x2x9x5xf32>
}

// Without a mask every query sees every key. Scores are kept in f32, weights and
// result rounded to f16.

// CHECK-LABEL: func @dense
// CHECK-SAME:    (%[[Q:[a-z0-9_]+]]: tensor<2x6x4xf16>
// CHECK-NOT:     linalg
// CHECK:         na.attention
// CHECK-SAME:      tensor<2x6x1x4xf16>
// CHECK-SAME:      window(<size = [6]>) {scale = 5.000000e-01 : f64}
// CHECK-NOT:     linalg
// CHECK:         return
func.func @dense(%q: tensor<2x6x4xf16>, %k: tensor<2x6x4xf16>,
                 %v: tensor<2x6x4xf16>) -> tensor<2x6x4xf16> {
  %half = arith.constant dense<0.5> : tensor<2x6x6xf32>
  %zeros = arith.constant dense<0.0> : tensor<2x6x6xf32>
  %s = linalg.batch_matmul indexing_maps = [#bqd, #bkd, #bqk]
      ins(%q, %k : tensor<2x6x4xf16>, tensor<2x6x4xf16>)
      outs(%zeros : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %l = arith.mulf %half, %s : tensor<2x6x6xf32>
  %d = tensor.empty() : tensor<2x6x6xf32>
  %p32 = linalg.softmax dimension(2) ins(%l : tensor<2x6x6xf32>)
      outs(%d : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %p = arith.truncf %p32 : tensor<2x6x6xf32> to tensor<2x6x6xf16>
  %zeros1 = arith.constant dense<0.0> : tensor<2x6x4xf32>
  // REMARK: remark: attention is raised to #na.window<size = [6]>
  %o32 = linalg.batch_matmul
      ins(%p, %v : tensor<2x6x6xf16>, tensor<2x6x4xf16>)
      outs(%zeros1 : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  %o0 = tensor.empty() : tensor<2x6x4xf16>
  %o = linalg.generic {indexing_maps = [#id, #id],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%o32 : tensor<2x6x4xf32>) outs(%o0 : tensor<2x6x4xf16>) {
  ^bb0(%in: f32, %out: f16):
    %0 = arith.truncf %in : f32 to f16
    linalg.yield %0 : f16
  } -> tensor<2x6x4xf16>
  return %o : tensor<2x6x4xf16>
}

// Queries that are one of three in their tensor: reading a part is not looked
// through. The softmax multiplies by one over the sum.

// CHECK-LABEL: func @part
// CHECK:         %[[Q:[a-z0-9_]+]] = linalg.generic
// CHECK:         %[[Q4:[a-z0-9_]+]] = tensor.expand_shape %[[Q]]
// CHECK:         na.attention ins(%[[Q4]],
// CHECK-SAME:      window(<size = [6]>)
func.func @part(%q: tensor<3x6x4xf32>, %k: tensor<2x6x4xf32>,
                %v: tensor<2x6x4xf32>) -> tensor<2x6x4xf32> {
  %zeros = arith.constant dense<0.0> : tensor<2x6x6xf32>
  %zeros1 = arith.constant dense<0.0> : tensor<2x6x4xf32>
  %zeros2 = arith.constant dense<0.0> : tensor<2x6xf32>
  %ones = arith.constant dense<1.0> : tensor<2x6xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<2x6xf32>
  %d = tensor.empty() : tensor<2x6x6xf32>
  %q0 = tensor.empty() : tensor<2x6x4xf32>
  %q1 = linalg.generic {indexing_maps = [affine_map<(b, q, d) -> (0, q, d)>,
                                         #id],
                        iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%q : tensor<3x6x4xf32>) outs(%q0 : tensor<2x6x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x6x4xf32>
  %s = linalg.batch_matmul indexing_maps = [#bqd, #bkd, #bqk]
      ins(%q1, %k : tensor<2x6x4xf32>, tensor<2x6x4xf32>)
      outs(%zeros : tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %max = linalg.reduce { arith.maxnumf } ins(%s : tensor<2x6x6xf32>)
      outs(%lowest : tensor<2x6xf32>) dimensions = [2]
  %maxs = linalg.broadcast ins(%max : tensor<2x6xf32>)
      outs(%d : tensor<2x6x6xf32>) dimensions = [2]
  %difference = arith.subf %s, %maxs : tensor<2x6x6xf32>
  %exp = math.exp %difference : tensor<2x6x6xf32>
  %sum = linalg.reduce { arith.addf } ins(%exp : tensor<2x6x6xf32>)
      outs(%zeros2 : tensor<2x6xf32>) dimensions = [2]
  %inverse = arith.divf %ones, %sum : tensor<2x6xf32>
  %inverses = linalg.broadcast ins(%inverse : tensor<2x6xf32>)
      outs(%d : tensor<2x6x6xf32>) dimensions = [2]
  %p = arith.mulf %inverses, %exp : tensor<2x6x6xf32>
  // REMARK: remark: attention is raised to #na.window<size = [6]>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x6x6xf32>, tensor<2x6x4xf32>)
      outs(%zeros1 : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  return %o : tensor<2x6x4xf32>
}
