// RUN: na-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" --canonicalize --split-input-file | FileCheck %s

// Destinations that nobody reads later are written in place.

// CHECK-LABEL: func @attention_in_place
// CHECK-SAME: %[[Q:[^:]+]]: memref<2x8x4x16xf32>, %[[B:[^:]+]]: memref<4x5xf32>, %[[E:[^:]+]]: memref<2x3x4x16xf32>, %[[O:[^:]+]]: memref<2x8x4x16xf32>, %[[L:[^:]+]]: memref<2x8x4xf32>
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK: na.attention ins(%[[Q]], %[[Q]], %[[Q]] :
// CHECK-SAME: bias(%[[B]] :
// CHECK-SAME: additional(%[[E]], %[[E]] :
// CHECK-SAME: outs(%[[O]], %[[L]] : memref<2x8x4x16xf32>, memref<2x8x4xf32>)
// CHECK-SAME: window(<size = [3]>) {scale = 5.000000e-01 : f64}{{$}}
// CHECK: return %[[O]], %[[L]]
func.func @attention_in_place(
    %q: tensor<2x8x4x16xf32>, %b: tensor<4x5xf32>, %e: tensor<2x3x4x16xf32>,
    %o: tensor<2x8x4x16xf32> {bufferization.writable = true},
    %l: tensor<2x8x4xf32> {bufferization.writable = true})
    -> (tensor<2x8x4x16xf32>, tensor<2x8x4xf32>) {
  %0:2 = na.attention
      ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                       tensor<2x8x4x16xf32>)
      bias(%b : tensor<4x5xf32>)
      additional(%e, %e : tensor<2x3x4x16xf32>, tensor<2x3x4x16xf32>)
      outs(%o, %l : tensor<2x8x4x16xf32>, tensor<2x8x4xf32>)
      window(<size = [3]>) {scale = 0.5 : f64}
      -> tensor<2x8x4x16xf32>, tensor<2x8x4xf32>
  return %0#0, %0#1 : tensor<2x8x4x16xf32>, tensor<2x8x4xf32>
}

// -----

// A destination that is read later gets a buffer of its own. The old content is
// not copied to it: destinations are not read.

// CHECK-LABEL: func @attention_out_of_place
// CHECK-SAME: %[[Q:[^:]+]]: memref<2x8x4x16xf32>, %[[O:[^:]+]]: memref<2x8x4x16xf32>
// CHECK: %[[A:.+]] = memref.alloc
// CHECK-NOT: memref.copy
// CHECK: na.attention
// CHECK-SAME: outs(%[[A]] :
// CHECK: return %[[A]], %[[O]]
func.func @attention_out_of_place(
    %q: tensor<2x8x4x16xf32>,
    %o: tensor<2x8x4x16xf32> {bufferization.writable = true})
    -> (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) {
  %0 = na.attention
      ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                       tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>) window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return %0, %o : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>
}

// -----

// The output must not overwrite the queries: other queries' keys are read after
// the first output is written.

// CHECK-LABEL: func @attention_onto_operand
// CHECK-SAME: %[[Q:[^:]+]]: memref<2x8x4x16xf32>
// CHECK: %[[A:.+]] = memref.alloc
// CHECK: na.attention ins(%[[Q]], %[[Q]], %[[Q]] :
// CHECK-SAME: outs(%[[A]] :
func.func @attention_onto_operand(
    %q: tensor<2x8x4x16xf32> {bufferization.writable = true})
    -> tensor<2x8x4x16xf32> {
  %0 = na.attention
      ins(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                       tensor<2x8x4x16xf32>)
      outs(%q : tensor<2x8x4x16xf32>) window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return %0 : tensor<2x8x4x16xf32>
}

// -----

// CHECK-LABEL: func @products
// CHECK: %[[S:.+]] = memref.alloc
// CHECK: na.qk ins(
// CHECK-SAME: outs(%[[S]] : memref<2x8x4x3xf32>)
// CHECK: na.av ins(%[[S]],
// CHECK-SAME: outs(%[[O:.+]] : memref<2x8x4x16xf32>)
// CHECK: return %[[O]]
func.func @products(%q: tensor<2x8x4x16xf32>,
                    %o: tensor<2x8x4x16xf32> {bufferization.writable = true})
    -> tensor<2x8x4x16xf32> {
  %e = tensor.empty() : tensor<2x8x4x3xf32>
  %s = na.qk ins(%q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      outs(%e : tensor<2x8x4x3xf32>) window(<size = [3]>)
      -> tensor<2x8x4x3xf32>
  %0 = na.av ins(%s, %q : tensor<2x8x4x3xf32>, tensor<2x8x4x16xf32>)
      outs(%o : tensor<2x8x4x16xf32>) window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  return %0 : tensor<2x8x4x16xf32>
}

// -----

// CHECK-LABEL: func @merge
// CHECK-SAME: %[[P:[^:]+]]: memref<4x16xf32>, %[[L:[^:]+]]: memref<4xf32>, %[[O:[^:]+]]: memref<4x16xf32>
// CHECK: %[[A:.+]] = memref.alloc() {{.*}} : memref<4xf32>
// CHECK: na.merge ins(%[[P]], %[[P]] :
// CHECK-SAME: lses(%[[L]], %[[L]] :
// CHECK-SAME: outs(%[[O]], %[[A]] :
// CHECK: return %[[O]], %[[A]], %[[L]]
func.func @merge(%p: tensor<4x16xf32>,
                 %l: tensor<4xf32> {bufferization.writable = true},
                 %o: tensor<4x16xf32> {bufferization.writable = true})
    -> (tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:2 = na.merge ins(%p, %p : tensor<4x16xf32>, tensor<4x16xf32>)
      lses(%l, %l : tensor<4xf32>, tensor<4xf32>)
      outs(%o, %l : tensor<4x16xf32>, tensor<4xf32>)
      -> tensor<4x16xf32>, tensor<4xf32>
  return %0#0, %0#1, %l : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Tiles: the mask and the bias read the tile that they update, so a copy takes
// the content along; a load does not read its destination.

// CHECK-LABEL: func @tiles
// CHECK-SAME: %[[SRC:[^:]+]]: memref<1x8x2x16xf32>, %[[DST:[^:]+]]: memref<1x8x2x16xf32>, %[[TABLE:[^:]+]]: memref<2x5xf32>
// CHECK: %[[R:.+]] = memref.alloc() {{.*}} : memref<2x4xi32>
// CHECK: na.tile.windows {{.*}} into %[[R]] : memref<2x4xi32>{{$}}
// CHECK: %[[T:.+]] = memref.alloc() {{.*}} : memref<4x16xf32>
// CHECK: na.tile.load %[[SRC]]{{.*}} into %[[T]] : memref<1x8x2x16xf32>, memref<4x16xf32>{{$}}
// CHECK: %[[S:.+]] = memref.alloc() {{.*}} : memref<16x4xf32>
// CHECK: memref.copy %{{.+}}, %[[S]]
// CHECK: na.tile.mask %[[S]] ranges(%[[R]] : memref<2x4xi32>){{.*}} : memref<16x4xf32>{{$}}
// CHECK: na.tile.bias %[[S]] table(%[[TABLE]]{{.*}} : memref<16x4xf32>{{$}}
// CHECK: na.tile.store %[[T]] into %[[DST]]{{.*}} : memref<4x16xf32>, memref<1x8x2x16xf32>
// CHECK: return %[[S]]
func.func @tiles(%src: memref<1x8x2x16xf32>, %dst: memref<1x8x2x16xf32>,
                 %table: memref<2x5xf32>,
                 %scores: tensor<16x4xf32> {bufferization.writable = false},
                 %i: index) -> tensor<16x4xf32> {
  %e0 = tensor.empty() : tensor<2x4xi32>
  %r = na.tile.windows <size = [3]> at(%i) sizes(%i) box [4]
      into %e0 : tensor<2x4xi32> -> tensor<2x4xi32>
  %e1 = tensor.empty() : tensor<4x16xf32>
  %t = na.tile.load %src[%i, %i] at(%i) box [4] dilation [1]
      into %e1 : memref<1x8x2x16xf32>, tensor<4x16xf32> -> tensor<4x16xf32>
  %m = na.tile.mask %scores ranges(%r : tensor<2x4xi32>) at(%i) box [16]
      axes [0] key_major : tensor<16x4xf32> -> tensor<16x4xf32>
  %b = na.tile.bias %m table(%table[%i] : memref<2x5xf32>) <size = [3]>
      query_at(%i) key_at(%i) query_box [4] key_box [16] key_major
      : tensor<16x4xf32> -> tensor<16x4xf32>
  na.tile.store %t into %dst[%i, %i] at(%i) box [4] dilation [1]
      : tensor<4x16xf32>, memref<1x8x2x16xf32>
  return %b : tensor<16x4xf32>
}

// -----

// CHECK-LABEL: func @slots
// CHECK-SAME: %[[W:[^:]+]]: memref<1x8x2x3xf32>, %[[R:[^:]+]]: memref<2x4xi32>, %[[T:[^:]+]]: memref<16x4xf32>
// CHECK-NOT: memref.copy
// CHECK: na.tile.gather %[[W]]{{.*}} ranges(%[[R]] : memref<2x4xi32>){{.*}} into %[[T]] : memref<1x8x2x3xf32>, memref<16x4xf32>{{$}}
// CHECK: na.tile.scatter %[[T]] ranges(%[[R]] : memref<2x4xi32>){{.*}} into %[[W]]{{.*}} : memref<16x4xf32>, memref<1x8x2x3xf32>
func.func @slots(%w: memref<1x8x2x3xf32>, %r: tensor<2x4xi32>,
                 %t: tensor<16x4xf32> {bufferization.writable = true},
                 %i: index) {
  %g = na.tile.gather %w[%i, %i] at(%i) ranges(%r : tensor<2x4xi32>)
      key_at(%i) <size = [3]> query_box [4] key_box [16] key_major
      into %t : memref<1x8x2x3xf32>, tensor<16x4xf32> -> tensor<16x4xf32>
  na.tile.scatter %g ranges(%r : tensor<2x4xi32>) key_at(%i)
      into %w[%i, %i] at(%i) <size = [3]> query_box [4] key_box [16] key_major
      : tensor<16x4xf32>, memref<1x8x2x3xf32>
  return
}
