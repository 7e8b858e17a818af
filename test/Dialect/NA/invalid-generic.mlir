// RUN: na-opt %s --split-input-file --verify-diagnostics

func.func @no_window(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>, %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op requires attribute 'window'}}
  %r = "na.attention"(%a, %b, %c, %d) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 0>}>
      : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @window_kind(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>, %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{Invalid attribute `window` in property conversion: 7 : i64}}
  %r = "na.attention"(%a, %b, %c, %d) <{window = 7 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 0>}>
      : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @no_segments(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>, %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op operand count (4) does not match with the total size (0) specified in attribute 'operandSegmentSizes'}}
  %r = "na.attention"(%a, %b, %c, %d) <{window = #na.window<size = [3]>}>
      : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @few_segments(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>, %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{size mismatch in attribute conversion: 4 vs 8}}
  %r = "na.attention"(%a, %b, %c, %d) <{window = #na.window<size = [3]>, operandSegmentSizes = array<i32: 1, 1, 1, 1>}>
      : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @negative_segment(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>, %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op 'operandSegmentSizes' attribute cannot have negative elements}}
  %r = "na.attention"(%a, %b, %c, %d) <{window = #na.window<size = [3]>, operandSegmentSizes = array<i32: 1, 1, 1, -1, 0, 0, 1, 1>}>
      : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @two_queries(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>, %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op failed to verify that segments of 'query', 'key', 'value' and 'output' hold one operand each}}
  %r = "na.attention"(%a, %b, %c, %d) <{window = #na.window<size = [3]>, operandSegmentSizes = array<i32: 2, 1, 1, 0, 0, 0, 0, 0>}>
      : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @no_output(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>, %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op failed to verify that segments of 'query', 'key', 'value' and 'output' hold one operand each}}
  %r = "na.attention"(%a, %b, %c, %d) <{window = #na.window<size = [3]>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>}>
      : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @two_biases(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>, %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>, %e: tensor<2x8x4x16xf32>, %f: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op operand group starting at #3 requires 0 or 1 element, but found 2}}
  %r = "na.attention"(%a, %b, %c, %d, %e, %f) <{window = #na.window<size = [3]>, operandSegmentSizes = array<i32: 1, 1, 1, 2, 0, 0, 1, 0>}>
      : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @no_operands() {
  // expected-error @+1 {{'na.attention' op expected 4 or more operands, but found 0}}
  %r = "na.attention"() <{window = #na.window<size = [3]>, operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0>}>
      : () -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @key_alone(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>, %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>, %e: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op has 'additional_key' alone, expected both of 'additional_key' and 'additional_value' or neither}}
  %r = "na.attention"(%a, %b, %c, %d, %e) <{window = #na.window<size = [3]>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 1, 0>}>
      : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @value_alone(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>, %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>, %e: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op has 'additional_value' alone, expected both of 'additional_key' and 'additional_value' or neither}}
  %r = "na.attention"(%a, %b, %c, %d, %e) <{window = #na.window<size = [3]>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 1, 0>}>
      : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @too_many_results(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>, %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op has 2 results, expected 1 (one per destination)}}
  %r:2 = "na.attention"(%a, %b, %c, %d) <{window = #na.window<size = [3]>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 0>}>
      : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
  return
}

// -----

func.func @foreign_result(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>, %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op result #0 must be variadic of ranked tensor of any type values, but got 'f32'}}
  %r = "na.attention"(%a, %b, %c, %d) <{window = #na.window<size = [3]>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 0>}>
      : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> f32
  return
}

// -----

func.func @unknown_region(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>, %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.attention' op requires zero regions}}
  %r = "na.attention"(%a, %b, %c, %d) <{window = #na.window<size = [3]>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 0>}> ({})
      : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @qk_no_window(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>, %c: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.qk' op requires attribute 'window'}}
  %r = "na.qk"(%a, %b, %c)
      : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @qk_operands(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.qk' op expected 3 or more operands, but found 2}}
  %r = "na.qk"(%a, %b) <{window = #na.window<size = [3]>}>
      : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @av_no_window(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>, %c: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.av' op requires attribute 'window'}}
  %r = "na.av"(%a, %b, %c)
      : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @av_operands(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4x16xf32>, %c: tensor<2x8x4x16xf32>, %d: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.av' op expected 3 operands, but found 4}}
  %r = "na.av"(%a, %b, %c, %d) <{window = #na.window<size = [3]>}>
      : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @merge_no_part(%a: tensor<2x8x4x16xf32>) {
  // expected-error @+1 {{'na.merge' op has no part, expected at least 1}}
  %r = "na.merge"(%a) <{operandSegmentSizes = array<i32: 0, 0, 1, 0>}>
      : (tensor<2x8x4x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @merge_no_output(%a: tensor<2x8x4x16xf32>, %b: tensor<2x8x4xf32>) {
  // expected-error @+1 {{'na.merge' op failed to verify that segments of 'output' hold one operand each}}
  %r = "na.merge"(%a, %b) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}>
      : (tensor<2x8x4x16xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @merge_no_operands() {
  // expected-error @+1 {{'na.merge' op expected 1 or more operands, but found 0}}
  %r = "na.merge"()
      : () -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @windows(%a: index, %b: index) {
  // expected-error @+1 {{'na.tile.windows' op failed to verify that segments of 'init' hold one operand each}}
  %r = "na.tile.windows"(%a, %b) <{window = #na.window<size = [3]>, box = array<i64: 4>, operandSegmentSizes = array<i32: 1, 1, 0>}>
      : (index, index) -> tensor<2x4xi32>
  return
}

// -----

func.func @mask(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %c: index) {
  // expected-error @+1 {{'na.tile.mask' op failed to verify that segments of 'init' and 'ranges' hold one operand each}}
  %r = "na.tile.mask"(%a, %b, %c) <{box = array<i64: 4>, axes = array<i64: 0>, operandSegmentSizes = array<i32: 2, 0, 1, 0>}>
      : (tensor<4x4xf32>, tensor<4x4xf32>, index) -> tensor<4x4xf32>
  return
}

// -----

func.func @bias(%a: tensor<4x4xf32>, %b: memref<4x5xf32>, %c: index, %d: index) {
  // expected-error @+1 {{'na.tile.bias' op failed to verify that segments of 'init', 'table' and 'head' hold one operand each}}
  %r = "na.tile.bias"(%a, %b, %c, %d) <{window = #na.window<size = [3]>, query_box = array<i64: 4>, key_box = array<i64: 4>, operandSegmentSizes = array<i32: 1, 1, 0, 1, 1>}>
      : (tensor<4x4xf32>, memref<4x5xf32>, index, index) -> tensor<4x4xf32>
  return
}

// -----

func.func @scatter(%a: tensor<4x4xf32>, %b: tensor<2x4xi32>, %c: memref<1x8x2x3xf32>, %d: index, %e: index, %f: index) {
  // expected-error @+1 {{'na.tile.scatter' op failed to verify that segments of 'tile', 'ranges', 'dest', 'batch' and 'head' hold one operand each}}
  "na.tile.scatter"(%a, %b, %c, %d, %e, %f) <{window = #na.window<size = [3]>, query_box = array<i64: 4>, key_box = array<i64: 4>, operandSegmentSizes = array<i32: 1, 1, 0, 1, 1, 0, 2>}>
      : (tensor<4x4xf32>, tensor<2x4xi32>, memref<1x8x2x3xf32>, index, index, index) -> ()
  return
}

// -----

func.func @gather(%a: index, %b: index, %c: index, %d: index, %e: tensor<2x4xi32>, %f: index, %g: tensor<4x4xf32>) {
  // expected-error @+1 {{'na.tile.gather' op failed to verify that segments of 'source', 'batch', 'head', 'ranges' and 'init' hold one operand each}}
  %r = "na.tile.gather"(%a, %b, %c, %d, %e, %f, %g) <{window = #na.window<size = [3]>, query_box = array<i64: 4>, key_box = array<i64: 4>, operandSegmentSizes = array<i32: 0, 2, 1, 1, 1, 1, 1>}>
      : (index, index, index, index, tensor<2x4xi32>, index, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}
