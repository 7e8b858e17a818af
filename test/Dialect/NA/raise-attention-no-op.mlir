// RUN: na-opt %s > %t.before
// RUN: na-opt %s -na-raise-attention=explain -verify-diagnostics > %t.after
// RUN: diff %t.before %t.after

// What is almost neighborhood attention stays as it is.

#id = affine_map<(b, q, k) -> (b, q, k)>
#bqd = affine_map<(b, q, k, d) -> (b, q, d)>
#bkd = affine_map<(b, q, k, d) -> (b, k, d)>
#bqk = affine_map<(b, q, k, d) -> (b, q, k)>

// A centred window that is cut at the borders, not shifted inward.
func.func @cut_border(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>,
    %v: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> {
  %zeros = arith.constant dense<0.0> : tensor<2x8x8xf32>
  %zeros1 = arith.constant dense<0.0> : tensor<2x8x4xf32>
  %d = tensor.empty() : tensor<2x8x8xf32>
  %s = linalg.batch_matmul indexing_maps = [#bqd, #bkd, #bqk]
      ins(%q, %k : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      outs(%zeros : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %hidden = arith.constant 0xFF800000 : f32
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %l = linalg.generic {indexing_maps = [#id, #id],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x8x8xf32>) outs(%d : tensor<2x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %distance = arith.subi %i, %j : index
    %shifted = arith.addi %distance, %c2 : index
    %sees = arith.cmpi ult, %shifted, %c5 : index
    %r = arith.select %sees, %in, %hidden : f32
    linalg.yield %r : f32
  } -> tensor<2x8x8xf32>
  %p = linalg.softmax dimension(2) ins(%l : tensor<2x8x8xf32>)
      outs(%d : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  // expected-remark @below {{attention is not raised: the mask is not that of a window}}
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x8x8xf32>, tensor<2x8x4xf32>)
      outs(%zeros1 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o : tensor<2x8x4xf32>
}

// A dilated causal window, but for one pair.
func.func @irregular(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>,
    %v: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> {
  %zeros = arith.constant dense<0.0> : tensor<2x8x8xf32>
  %zeros1 = arith.constant dense<0.0> : tensor<2x8x4xf32>
  %d = tensor.empty() : tensor<2x8x8xf32>
  %s = linalg.batch_matmul indexing_maps = [#bqd, #bkd, #bqk]
      ins(%q, %k : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      outs(%zeros : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %mask = arith.constant dense<[
      [true, false, false, false, false, false, false, false],
      [false, true, false, false, false, false, false, false],
      [true, false, true, false, false, false, false, false],
      [false, true, false, true, false, false, false, false],
      [true, false, true, false, true, false, false, false],
      [false, true, false, true, false, true, false, false],
      [false, false, true, true, true, false, true, false],
      [false, false, false, true, false, true, false, true]]> : tensor<8x8xi1>
  %hidden = arith.constant 0xFF800000 : f32
  %l = linalg.generic {
      indexing_maps = [#id, affine_map<(b, q, k) -> (q, k)>, #id],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %mask : tensor<2x8x8xf32>, tensor<8x8xi1>)
      outs(%d : tensor<2x8x8xf32>) {
  ^bb0(%in: f32, %sees: i1, %out: f32):
    %r = arith.select %sees, %in, %hidden : f32
    linalg.yield %r : f32
  } -> tensor<2x8x8xf32>
  %p = linalg.softmax dimension(2) ins(%l : tensor<2x8x8xf32>)
      outs(%d : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  // expected-remark @below {{attention is not raised: the mask is not that of a window}}
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x8x8xf32>, tensor<2x8x4xf32>)
      outs(%zeros1 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o : tensor<2x8x4xf32>
}

// The second batch has another window.
func.func @batch_mask(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>,
    %v: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> {
  %zeros = arith.constant dense<0.0> : tensor<2x8x8xf32>
  %zeros1 = arith.constant dense<0.0> : tensor<2x8x4xf32>
  %d = tensor.empty() : tensor<2x8x8xf32>
  %s = linalg.batch_matmul indexing_maps = [#bqd, #bkd, #bqk]
      ins(%q, %k : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      outs(%zeros : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %hidden = arith.constant 0xFF800000 : f32
  %c3 = arith.constant 3 : index
  %l = linalg.generic {indexing_maps = [#id, #id],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x8x8xf32>) outs(%d : tensor<2x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %b = linalg.index 0 : index
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %distance = arith.subi %i, %j : index
    %window = arith.addi %b, %c3 : index
    %sees = arith.cmpi ult, %distance, %window : index
    %r = arith.select %sees, %in, %hidden : f32
    linalg.yield %r : f32
  } -> tensor<2x8x8xf32>
  %p = linalg.softmax dimension(2) ins(%l : tensor<2x8x8xf32>)
      outs(%d : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  // expected-remark @below {{attention is not raised: the mask depends on more than the tokens}}
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x8x8xf32>, tensor<2x8x4xf32>)
      outs(%zeros1 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o : tensor<2x8x4xf32>
}

// A scale that grows with the query.
func.func @query_scale(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>,
    %v: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> {
  %zeros = arith.constant dense<0.0> : tensor<2x8x8xf32>
  %zeros1 = arith.constant dense<0.0> : tensor<2x8x4xf32>
  %d = tensor.empty() : tensor<2x8x8xf32>
  %s = linalg.batch_matmul indexing_maps = [#bqd, #bkd, #bqk]
      ins(%q, %k : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      outs(%zeros : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %hidden = arith.constant 0xFF800000 : f32
  %c3 = arith.constant 3 : index
  %l = linalg.generic {indexing_maps = [#id, #id],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x8x8xf32>) outs(%d : tensor<2x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %distance = arith.subi %i, %j : index
    %sees = arith.cmpi ult, %distance, %c3 : index
    %n = arith.index_cast %i : index to i32
    %f = arith.sitofp %n : i32 to f32
    %scaled = arith.mulf %in, %f : f32
    %r = arith.select %sees, %scaled, %hidden : f32
    linalg.yield %r : f32
  } -> tensor<2x8x8xf32>
  %p = linalg.softmax dimension(2) ins(%l : tensor<2x8x8xf32>)
      outs(%d : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  // expected-remark @below {{attention is not raised: the scale is not the same everywhere}}
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x8x8xf32>, tensor<2x8x4xf32>)
      outs(%zeros1 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o : tensor<2x8x4xf32>
}

// The weights are scaled instead of the logits.
func.func @weight_scale(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>,
    %v: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> {
  %zeros = arith.constant dense<0.0> : tensor<2x8x8xf32>
  %zeros1 = arith.constant dense<0.0> : tensor<2x8x4xf32>
  %d = tensor.empty() : tensor<2x8x8xf32>
  %s = linalg.batch_matmul indexing_maps = [#bqd, #bkd, #bqk]
      ins(%q, %k : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      outs(%zeros : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %hidden = arith.constant 0xFF800000 : f32
  %c3 = arith.constant 3 : index
  %l = linalg.generic {indexing_maps = [#id, #id],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x8x8xf32>) outs(%d : tensor<2x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %distance = arith.subi %i, %j : index
    %sees = arith.cmpi ult, %distance, %c3 : index
    %r = arith.select %sees, %in, %hidden : f32
    linalg.yield %r : f32
  } -> tensor<2x8x8xf32>
  %p = linalg.softmax dimension(2) ins(%l : tensor<2x8x8xf32>)
      outs(%d : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %half = arith.constant dense<0.5> : tensor<2x8x8xf32>
  %scaled = arith.mulf %p, %half : tensor<2x8x8xf32>
  %o = linalg.batch_matmul ins(%scaled, %v : tensor<2x8x8xf32>, tensor<2x8x4xf32>)
      outs(%zeros1 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o : tensor<2x8x4xf32>
}

// Scores get a bias.
func.func @bias(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>,
    %v: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> {
  %zeros = arith.constant dense<0.0> : tensor<2x8x8xf32>
  %zeros1 = arith.constant dense<0.0> : tensor<2x8x4xf32>
  %d = tensor.empty() : tensor<2x8x8xf32>
  %s = linalg.batch_matmul indexing_maps = [#bqd, #bkd, #bqk]
      ins(%q, %k : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      outs(%zeros : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %hidden = arith.constant 0xFF800000 : f32
  %one = arith.constant 1.0 : f32
  %c3 = arith.constant 3 : index
  %l = linalg.generic {indexing_maps = [#id, #id],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x8x8xf32>) outs(%d : tensor<2x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %distance = arith.subi %i, %j : index
    %sees = arith.cmpi ult, %distance, %c3 : index
    %biased = arith.addf %in, %one : f32
    %r = arith.select %sees, %biased, %hidden : f32
    linalg.yield %r : f32
  } -> tensor<2x8x8xf32>
  %p = linalg.softmax dimension(2) ins(%l : tensor<2x8x8xf32>)
      outs(%d : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  // expected-remark @below {{attention is not raised: the logits have a bias or a mask that hides too little}}
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x8x8xf32>, tensor<2x8x4xf32>)
      outs(%zeros1 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o : tensor<2x8x4xf32>
}

// Masked logits are only a little smaller.
func.func @soft_mask(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>,
    %v: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> {
  %zeros = arith.constant dense<0.0> : tensor<2x8x8xf32>
  %zeros1 = arith.constant dense<0.0> : tensor<2x8x4xf32>
  %d = tensor.empty() : tensor<2x8x8xf32>
  %s = linalg.batch_matmul indexing_maps = [#bqd, #bkd, #bqk]
      ins(%q, %k : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      outs(%zeros : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %less = arith.constant -100.0 : f32
  %c3 = arith.constant 3 : index
  %l = linalg.generic {indexing_maps = [#id, #id],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x8x8xf32>) outs(%d : tensor<2x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %distance = arith.subi %i, %j : index
    %sees = arith.cmpi ult, %distance, %c3 : index
    %smaller = arith.addf %in, %less : f32
    %r = arith.select %sees, %in, %smaller : f32
    linalg.yield %r : f32
  } -> tensor<2x8x8xf32>
  %p = linalg.softmax dimension(2) ins(%l : tensor<2x8x8xf32>)
      outs(%d : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  // expected-remark @below {{attention is not raised: the logits have a bias or a mask that hides too little}}
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x8x8xf32>, tensor<2x8x4xf32>)
      outs(%zeros1 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o : tensor<2x8x4xf32>
}

// Scores are capped.
func.func @nonlinear(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>,
    %v: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> {
  %zeros = arith.constant dense<0.0> : tensor<2x8x8xf32>
  %zeros1 = arith.constant dense<0.0> : tensor<2x8x4xf32>
  %d = tensor.empty() : tensor<2x8x8xf32>
  %s = linalg.batch_matmul indexing_maps = [#bqd, #bkd, #bqk]
      ins(%q, %k : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      outs(%zeros : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %hidden = arith.constant 0xFF800000 : f32
  %c3 = arith.constant 3 : index
  %l = linalg.generic {indexing_maps = [#id, #id],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x8x8xf32>) outs(%d : tensor<2x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %distance = arith.subi %i, %j : index
    %sees = arith.cmpi ult, %distance, %c3 : index
    %capped = math.tanh %in : f32
    %r = arith.select %sees, %capped, %hidden : f32
    linalg.yield %r : f32
  } -> tensor<2x8x8xf32>
  %p = linalg.softmax dimension(2) ins(%l : tensor<2x8x8xf32>)
      outs(%d : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  // expected-remark @below {{attention is not raised: the logits are computed by 'math.tanh'}}
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x8x8xf32>, tensor<2x8x4xf32>)
      outs(%zeros1 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o : tensor<2x8x4xf32>
}

// The softmax is over the queries.
func.func @query_softmax(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>,
    %v: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> {
  %zeros = arith.constant dense<0.0> : tensor<2x8x8xf32>
  %zeros1 = arith.constant dense<0.0> : tensor<2x8x4xf32>
  %d = tensor.empty() : tensor<2x8x8xf32>
  %s = linalg.batch_matmul indexing_maps = [#bqd, #bkd, #bqk]
      ins(%q, %k : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      outs(%zeros : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %hidden = arith.constant 0xFF800000 : f32
  %c3 = arith.constant 3 : index
  %l = linalg.generic {indexing_maps = [#id, #id],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x8x8xf32>) outs(%d : tensor<2x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %distance = arith.subi %i, %j : index
    %sees = arith.cmpi ult, %distance, %c3 : index
    %r = arith.select %sees, %in, %hidden : f32
    linalg.yield %r : f32
  } -> tensor<2x8x8xf32>
  %p = linalg.softmax dimension(1) ins(%l : tensor<2x8x8xf32>)
      outs(%d : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x8x8xf32>, tensor<2x8x4xf32>)
      outs(%zeros1 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o : tensor<2x8x4xf32>
}

// The weights are a result too.
func.func @weights_used(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>,
    %v: tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x8xf32>) {
  %zeros = arith.constant dense<0.0> : tensor<2x8x8xf32>
  %zeros1 = arith.constant dense<0.0> : tensor<2x8x4xf32>
  %d = tensor.empty() : tensor<2x8x8xf32>
  %s = linalg.batch_matmul indexing_maps = [#bqd, #bkd, #bqk]
      ins(%q, %k : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      outs(%zeros : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %hidden = arith.constant 0xFF800000 : f32
  %c3 = arith.constant 3 : index
  %l = linalg.generic {indexing_maps = [#id, #id],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x8x8xf32>) outs(%d : tensor<2x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %distance = arith.subi %i, %j : index
    %sees = arith.cmpi ult, %distance, %c3 : index
    %r = arith.select %sees, %in, %hidden : f32
    linalg.yield %r : f32
  } -> tensor<2x8x8xf32>
  %p = linalg.softmax dimension(2) ins(%l : tensor<2x8x8xf32>)
      outs(%d : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  // expected-remark @below {{attention is not raised: 'linalg.softmax' on the way has another use}}
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x8x8xf32>, tensor<2x8x4xf32>)
      outs(%zeros1 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o, %p : tensor<2x8x4xf32>, tensor<2x8x8xf32>
}

// The second product is added to something.
func.func @accumulated(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>,
    %v: tensor<2x8x4xf32>, %init: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> {
  %zeros = arith.constant dense<0.0> : tensor<2x8x8xf32>
  %d = tensor.empty() : tensor<2x8x8xf32>
  %s = linalg.batch_matmul indexing_maps = [#bqd, #bkd, #bqk]
      ins(%q, %k : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      outs(%zeros : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %hidden = arith.constant 0xFF800000 : f32
  %c3 = arith.constant 3 : index
  %l = linalg.generic {indexing_maps = [#id, #id],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x8x8xf32>) outs(%d : tensor<2x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %distance = arith.subi %i, %j : index
    %sees = arith.cmpi ult, %distance, %c3 : index
    %r = arith.select %sees, %in, %hidden : f32
    linalg.yield %r : f32
  } -> tensor<2x8x8xf32>
  %p = linalg.softmax dimension(2) ins(%l : tensor<2x8x8xf32>)
      outs(%d : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x8x8xf32>, tensor<2x8x4xf32>)
      outs(%init : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o : tensor<2x8x4xf32>
}

// The mask is an argument's.
func.func @unknown_mask(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>,
    %v: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> {
  %zeros = arith.constant dense<0.0> : tensor<2x8x8xf32>
  %zeros1 = arith.constant dense<0.0> : tensor<2x8x4xf32>
  %d = tensor.empty() : tensor<2x8x8xf32>
  %s = linalg.batch_matmul indexing_maps = [#bqd, #bkd, #bqk]
      ins(%q, %k : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      outs(%zeros : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %c3 = arith.constant 3 : index
  %c0 = arith.constant 0 : index
  %e = tensor.extract %q[%c0, %c0, %c0] : tensor<2x8x4xf32>
  %l = linalg.generic {indexing_maps = [#id, #id],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x8x8xf32>) outs(%d : tensor<2x8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %distance = arith.subi %i, %j : index
    %sees = arith.cmpi ult, %distance, %c3 : index
    %r = arith.select %sees, %in, %e : f32
    linalg.yield %r : f32
  } -> tensor<2x8x8xf32>
  %p = linalg.softmax dimension(2) ins(%l : tensor<2x8x8xf32>)
      outs(%d : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  // expected-remark @below {{attention is not raised: the logits are not a known function of the tokens}}
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x8x8xf32>, tensor<2x8x4xf32>)
      outs(%zeros1 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o : tensor<2x8x4xf32>
}

// The sum of the softmax is that of other numbers.
func.func @other_sum(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>,
    %v: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> {
  %zeros = arith.constant dense<0.0> : tensor<2x8x8xf32>
  %zeros1 = arith.constant dense<0.0> : tensor<2x8x4xf32>
  %zeros2 = arith.constant dense<0.0> : tensor<2x8xf32>
  %lowest = arith.constant dense<0xFF800000> : tensor<2x8xf32>
  %d = tensor.empty() : tensor<2x8x8xf32>
  %s = linalg.batch_matmul indexing_maps = [#bqd, #bkd, #bqk]
      ins(%q, %k : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      outs(%zeros : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %max = linalg.reduce { arith.maximumf } ins(%s : tensor<2x8x8xf32>)
      outs(%lowest : tensor<2x8xf32>) dimensions = [2]
  %maxs = linalg.broadcast ins(%max : tensor<2x8xf32>)
      outs(%d : tensor<2x8x8xf32>) dimensions = [2]
  %difference = arith.subf %s, %maxs : tensor<2x8x8xf32>
  %exp = math.exp %difference : tensor<2x8x8xf32>
  %sum = linalg.reduce { arith.addf } ins(%difference : tensor<2x8x8xf32>)
      outs(%zeros2 : tensor<2x8xf32>) dimensions = [2]
  %sums = linalg.broadcast ins(%sum : tensor<2x8xf32>)
      outs(%d : tensor<2x8x8xf32>) dimensions = [2]
  %p = arith.divf %exp, %sums : tensor<2x8x8xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x8x8xf32>, tensor<2x8x4xf32>)
      outs(%zeros1 : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %o : tensor<2x8x4xf32>
}

// Sizes are known at run time only.
func.func @dynamic(%s: tensor<?x8x8xf32>, %v: tensor<?x8x4xf32>,
                   %d: tensor<?x8x8xf32>, %d1: tensor<?x8x4xf32>)
    -> tensor<?x8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%d1 : tensor<?x8x4xf32>)
      -> tensor<?x8x4xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<?x8x8xf32>)
      outs(%d : tensor<?x8x8xf32>) -> tensor<?x8x8xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<?x8x8xf32>, tensor<?x8x4xf32>)
      outs(%zeros : tensor<?x8x4xf32>) -> tensor<?x8x4xf32>
  return %o : tensor<?x8x4xf32>
}

// Fewer queries than keys.
func.func @cross(%q: tensor<2x4x4xf32>, %k: tensor<2x8x4xf32>,
                 %v: tensor<2x8x4xf32>) -> tensor<2x4x4xf32> {
  %zeros = arith.constant dense<0.0> : tensor<2x4x8xf32>
  %zeros1 = arith.constant dense<0.0> : tensor<2x4x4xf32>
  %d = tensor.empty() : tensor<2x4x8xf32>
  %s = linalg.batch_matmul indexing_maps = [#bqd, #bkd, #bqk]
      ins(%q, %k : tensor<2x4x4xf32>, tensor<2x8x4xf32>)
      outs(%zeros : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<2x4x8xf32>)
      outs(%d : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  // expected-remark @below {{attention is not raised: queries and keys differ in number}}
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x4x8xf32>, tensor<2x8x4xf32>)
      outs(%zeros1 : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return %o : tensor<2x4x4xf32>
}
