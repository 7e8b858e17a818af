// RUN: na-opt %s --canonicalize | FileCheck %s

//===----------------------------------------------------------------------===//
// A query that sees only itself takes its own value
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @identity
// CHECK-SAME: %{{.+}}: tensor<2x8x6x4x16xf32>, %[[V:[^:]+]]: tensor<2x8x6x4x24xf32>
// CHECK-NEXT: return %[[V]]
func.func @identity(%q: tensor<2x8x6x4x16xf32>, %v: tensor<2x8x6x4x24xf32>,
                    %b: tensor<4x1x1xf32>, %o: tensor<2x8x6x4x24xf32>)
    -> tensor<2x8x6x4x24xf32> {
  %0 = na.attention
      ins(%q, %q, %v : tensor<2x8x6x4x16xf32>, tensor<2x8x6x4x16xf32>,
                       tensor<2x8x6x4x24xf32>)
      bias(%b : tensor<4x1x1xf32>) outs(%o : tensor<2x8x6x4x24xf32>)
      window(<size = [1, 1], dilation = [2, 1], causal = [true, false]>)
      {scale = 0.0 : f64} -> tensor<2x8x6x4x24xf32>
  return %0 : tensor<2x8x6x4x24xf32>
}

// CHECK-LABEL: func @identity_unused_lse
// CHECK-SAME: %[[V:[^:]+]]: tensor<2x8x4x16xf32>
// CHECK-NEXT: return %[[V]]
func.func @identity_unused_lse(%v: tensor<2x8x4x16xf32>, %l: tensor<2x8x4xf32>)
    -> tensor<2x8x4x16xf32> {
  %0:2 = na.attention
      ins(%v, %v, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                       tensor<2x8x4x16xf32>)
      outs(%v, %l : tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
      window(<size = [1]>) -> tensor<2x8x4x16xf32>, tensor<2x8x4xf32>
  return %0#0 : tensor<2x8x4x16xf32>
}

// Types that differ in what is known are cast.

// CHECK-LABEL: func @identity_cast
// CHECK-SAME: %{{.+}}: tensor<2x8x4x16xf32>, %[[V:[^:]+]]: tensor<2x?x4x?xf32>
// CHECK-NEXT: %[[C:.+]] = tensor.cast %[[V]] : tensor<2x?x4x?xf32> to tensor<2x8x4x16xf32>
// CHECK-NEXT: return %[[C]]
func.func @identity_cast(%q: tensor<2x8x4x16xf32>, %v: tensor<2x?x4x?xf32>)
    -> tensor<2x8x4x16xf32> {
  %0 = na.attention
      ins(%q, %q, %v : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                       tensor<2x?x4x?xf32>)
      outs(%q : tensor<2x8x4x16xf32>) window(<size = [1]>)
      -> tensor<2x8x4x16xf32>
  return %0 : tensor<2x8x4x16xf32>
}

// Equal heads without a static number: the same tensor, or one query head.

// CHECK-LABEL: func @identity_dynamic_heads
// CHECK-SAME: %[[Q:[^:]+]]: tensor<2x8x?x16xf32>, %[[V:[^:]+]]: tensor<2x8x?x16xf32>
// CHECK-NOT: na.attention
// CHECK: %[[C:.+]] = tensor.cast %[[V]]
// CHECK: return %[[V]], %[[C]]
func.func @identity_dynamic_heads(%q: tensor<2x8x?x16xf32>,
                                  %v: tensor<2x8x?x16xf32>,
                                  %one: tensor<2x8x1x16xf32>)
    -> (tensor<2x8x?x16xf32>, tensor<2x8x1x16xf32>) {
  %0 = na.attention
      ins(%q, %q, %v : tensor<2x8x?x16xf32>, tensor<2x8x?x16xf32>,
                       tensor<2x8x?x16xf32>)
      outs(%q : tensor<2x8x?x16xf32>) window(<size = [1]>)
      -> tensor<2x8x?x16xf32>
  %1 = na.attention
      ins(%one, %q, %v : tensor<2x8x1x16xf32>, tensor<2x8x?x16xf32>,
                         tensor<2x8x?x16xf32>)
      outs(%one : tensor<2x8x1x16xf32>) window(<size = [1]>)
      -> tensor<2x8x1x16xf32>
  return %0, %1 : tensor<2x8x?x16xf32>, tensor<2x8x1x16xf32>
}

// CHECK-LABEL: func @not_identity_window
// CHECK: na.attention
func.func @not_identity_window(%q: tensor<2x8x6x4x16xf32>)
    -> tensor<2x8x6x4x16xf32> {
  %0 = na.attention
      ins(%q, %q, %q : tensor<2x8x6x4x16xf32>, tensor<2x8x6x4x16xf32>,
                       tensor<2x8x6x4x16xf32>)
      outs(%q : tensor<2x8x6x4x16xf32>) window(<size = [1, 2]>)
      -> tensor<2x8x6x4x16xf32>
  return %0 : tensor<2x8x6x4x16xf32>
}

// CHECK-LABEL: func @not_identity_additional
// CHECK: na.attention
func.func @not_identity_additional(%q: tensor<2x8x4x16xf32>,
                                   %e: tensor<2x?x4x16xf32>)
    -> tensor<2x8x4x16xf32> {
  %0 = na.attention
      ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                       tensor<2x8x4x16xf32>)
      additional(%e, %e : tensor<2x?x4x16xf32>, tensor<2x?x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>) window(<size = [1]>)
      -> tensor<2x8x4x16xf32>
  return %0 : tensor<2x8x4x16xf32>
}

// CHECK-LABEL: func @not_identity_heads
// CHECK: na.attention
// CHECK: na.attention
func.func @not_identity_heads(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x2x16xf32>,
                              %d: tensor<2x8x?x16xf32>)
    -> (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) {
  %0 = na.attention
      ins(%q, %k, %k : tensor<2x8x4x16xf32>, tensor<2x8x2x16xf32>,
                       tensor<2x8x2x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>) window(<size = [1]>)
      -> tensor<2x8x4x16xf32>
  %1 = na.attention
      ins(%q, %d, %d : tensor<2x8x4x16xf32>, tensor<2x8x?x16xf32>,
                       tensor<2x8x?x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>) window(<size = [1]>)
      -> tensor<2x8x4x16xf32>
  return %0, %1 : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>
}

// CHECK-LABEL: func @not_identity_lse
// CHECK: na.attention
func.func @not_identity_lse(%q: tensor<2x8x4x16xf32>, %l: tensor<2x8x4xf32>)
    -> (tensor<2x8x4x16xf32>, tensor<2x8x4xf32>) {
  %0:2 = na.attention
      ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                       tensor<2x8x4x16xf32>)
      outs(%q, %l : tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
      window(<size = [1]>) -> tensor<2x8x4x16xf32>, tensor<2x8x4xf32>
  return %0#0, %0#1 : tensor<2x8x4x16xf32>, tensor<2x8x4xf32>
}

// A memref form has no value to replace.

// CHECK-LABEL: func @not_identity_memref
// CHECK: na.attention
func.func @not_identity_memref(%q: memref<2x8x4x16xf32>,
                               %o: memref<2x8x4x16xf32>) {
  na.attention
      ins(%q, %q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
                       memref<2x8x4x16xf32>)
      outs(%o : memref<2x8x4x16xf32>) window(<size = [1]>)
  return
}

//===----------------------------------------------------------------------===//
// Operands without effect
//===----------------------------------------------------------------------===//

// Everything else of the operation stays.

// CHECK-LABEL: func @unused_lse
// CHECK: na.attention ins(
// CHECK-SAME: bias(%{{.+}} : tensor<4x5xf32>)
// CHECK-SAME: additional(%{{.+}} : tensor<2x3x4x16xf32>, tensor<2x3x4x16xf32>)
// CHECK-SAME: outs(%{{.+}} : tensor<2x8x4x16xf32>)
// CHECK-SAME: window(<size = [3]>)
// CHECK-SAME: {other = "kept", scale = 5.000000e-01 : f64, schedule = #na.schedule<target = "cpu", query_tile = [4], key_tile = [6]>}
// CHECK-SAME: -> tensor<2x8x4x16xf32>{{$}}
func.func @unused_lse(%q: tensor<2x8x4x16xf32>, %l: tensor<2x8x4xf32>,
                      %b: tensor<4x5xf32>, %e: tensor<2x3x4x16xf32>)
    -> tensor<2x8x4x16xf32> {
  %0:2 = na.attention
      ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                       tensor<2x8x4x16xf32>)
      bias(%b : tensor<4x5xf32>)
      additional(%e, %e : tensor<2x3x4x16xf32>, tensor<2x3x4x16xf32>)
      outs(%q, %l : tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
      window(<size = [3]>)
      {scale = 0.5 : f64, other = "kept",
       schedule = #na.schedule<target = "cpu", query_tile = [4],
                               key_tile = [6]>}
      -> tensor<2x8x4x16xf32>, tensor<2x8x4xf32>
  return %0#0 : tensor<2x8x4x16xf32>
}

// The output is unused here, the LSE is not; a buffer of an LSE may be read by
// somebody else.

// CHECK-LABEL: func @used_lse
// CHECK: na.attention
// CHECK-SAME: -> tensor<2x8x4x16xf32>, tensor<2x8x4xf32>
// CHECK: na.attention
// CHECK-SAME: outs(%{{.+}}, %{{.+}} : memref<2x8x4x16xf32>, memref<2x8x4xf32>)
func.func @used_lse(%q: tensor<2x8x4x16xf32>, %l: tensor<2x8x4xf32>,
                    %m: memref<2x8x4x16xf32>, %ml: memref<2x8x4xf32>)
    -> tensor<2x8x4xf32> {
  %0:2 = na.attention
      ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                       tensor<2x8x4x16xf32>)
      outs(%q, %l : tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
      window(<size = [3]>) -> tensor<2x8x4x16xf32>, tensor<2x8x4xf32>
  na.attention
      ins(%m, %m, %m : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
                       memref<2x8x4x16xf32>)
      outs(%m, %ml : memref<2x8x4x16xf32>, memref<2x8x4xf32>)
      window(<size = [3]>)
  return %0#1 : tensor<2x8x4xf32>
}

// CHECK-LABEL: func @no_additional_keys
// CHECK: na.attention
// CHECK-NOT: additional
// CHECK-SAME: outs
// CHECK: na.attention
// CHECK-NOT: additional
// CHECK-SAME: outs
func.func @no_additional_keys(%q: tensor<2x8x4x16xf32>, %e: tensor<2x0x4x16xf32>,
                              %m: memref<2x8x4x16xf32>, %d: memref<2x?x4x16xf32>,
                              %me: memref<2x0x4x16xf32>) -> tensor<2x8x4x16xf32> {
  %0 = na.attention
      ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                       tensor<2x8x4x16xf32>)
      additional(%e, %e : tensor<2x0x4x16xf32>, tensor<2x0x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>) window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  na.attention
      ins(%m, %m, %m : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
                       memref<2x8x4x16xf32>)
      additional(%d, %me : memref<2x?x4x16xf32>, memref<2x0x4x16xf32>)
      outs(%m : memref<2x8x4x16xf32>) window(<size = [3]>)
  return %0 : tensor<2x8x4x16xf32>
}

// CHECK-LABEL: func @some_additional_keys
// CHECK: additional(
// CHECK: additional(
func.func @some_additional_keys(%q: tensor<2x8x4x16xf32>,
                                %e: tensor<2x1x4x16xf32>,
                                %d: tensor<2x?x4x16xf32>)
    -> (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) {
  %0 = na.attention
      ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                       tensor<2x8x4x16xf32>)
      additional(%e, %e : tensor<2x1x4x16xf32>, tensor<2x1x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>) window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  %1 = na.attention
      ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                       tensor<2x8x4x16xf32>)
      additional(%d, %d : tensor<2x?x4x16xf32>, tensor<2x?x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>) window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return %0, %1 : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>
}

// Destinations are written without being read; operands that are read keep
// their fill.

// CHECK-LABEL: func @filled_destination
// CHECK-SAME: %[[Q:[^:]+]]: tensor<2x8x4x16xf32>, %[[S:[^:]+]]: tensor<2x8x4x3xf32>
// CHECK: %[[F:.+]] = linalg.fill
// CHECK-NOT: linalg.fill
// CHECK: na.attention ins(%[[Q]], %[[F]], %[[F]]
// CHECK-SAME: outs(%[[Q]] :
// CHECK: na.qk
// CHECK-SAME: outs(%[[S]] :
// CHECK: na.av
// CHECK-SAME: outs(%[[Q]] :
func.func @filled_destination(%q: tensor<2x8x4x16xf32>, %s: tensor<2x8x4x3xf32>)
    -> (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%q : tensor<2x8x4x16xf32>)
      -> tensor<2x8x4x16xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%s : tensor<2x8x4x3xf32>)
      -> tensor<2x8x4x3xf32>
  %0 = na.attention
      ins(%q, %f, %f : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                       tensor<2x8x4x16xf32>)
      outs(%f : tensor<2x8x4x16xf32>) window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  %1 = na.qk ins(%q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%fs : tensor<2x8x4x3xf32>) window(<size = [3]>)
      -> tensor<2x8x4x3xf32>
  %2 = na.av ins(%1, %q : tensor<2x8x4x3xf32>, tensor<2x8x4x16xf32>)
      outs(%f : tensor<2x8x4x16xf32>) window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return %0, %2 : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>
}
