// RUN: na-opt %s --canonicalize --cse | FileCheck %s --check-prefix=EFFECTS
// RUN: na-opt %s --resolve-ranked-shaped-type-result-dims --canonicalize --cse | FileCheck %s --check-prefix=SHAPES
// RUN: na-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" --canonicalize | FileCheck %s --check-prefix=BUFFERS

// On tensors an operation without uses is dead.

// EFFECTS-LABEL: func @dead_on_tensors
// EFFECTS-NEXT: return
func.func @dead_on_tensors(%q: tensor<2x8x4x16xf32>, %l: tensor<2x8x4xf32>,
                           %b: tensor<4x5xf32>, %e: tensor<2x3x4x16xf32>) {
  %0:3 = na.attention_grad
      ins(%q, %q, %q, %q, %l, %q
          : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
            tensor<2x8x4x16xf32>, tensor<2x8x4xf32>, tensor<2x8x4x16xf32>)
      outs(%q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                        tensor<2x8x4x16xf32>) window(<size = [3]>)
      -> tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>
  %1 = na.attention_dq
      ins(%q, %q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                           tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      stats(%l, %l : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      outs(%q : tensor<2x8x4x16xf32>) window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  %2:2 = na.attention_dkv
      ins(%q, %q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                           tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      stats(%l, %l : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      outs(%q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      window(<size = [3]>) -> tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>
  %3:2 = na.attention_dadditional
      ins(%q, %q, %e, %e : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                           tensor<2x3x4x16xf32>, tensor<2x3x4x16xf32>)
      stats(%l, %l : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      outs(%e, %e : tensor<2x3x4x16xf32>, tensor<2x3x4x16xf32>)
      -> tensor<2x3x4x16xf32>, tensor<2x3x4x16xf32>
  %4 = na.attention_dbias
      ins(%q, %q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                           tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      stats(%l, %l : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      bias(%b : tensor<4x5xf32>) outs(%b : tensor<4x5xf32>)
      window(<size = [3]>) -> tensor<4x5xf32>
  return
}

// On memrefs they write.

// EFFECTS-LABEL: func @kept_on_memrefs
// EFFECTS: na.attention_grad
// EFFECTS: na.attention_dq
// EFFECTS: na.attention_dkv
// EFFECTS: na.attention_dadditional
// EFFECTS: na.attention_dbias
func.func @kept_on_memrefs(%q: memref<2x8x4x16xf32>, %l: memref<2x8x4xf32>,
                           %b: memref<4x5xf32>, %e: memref<2x3x4x16xf32>) {
  na.attention_grad
      ins(%q, %q, %q, %q, %l, %q
          : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
            memref<2x8x4x16xf32>, memref<2x8x4xf32>, memref<2x8x4x16xf32>)
      outs(%q, %q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
                        memref<2x8x4x16xf32>) window(<size = [3]>)
  na.attention_dq
      ins(%q, %q, %q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
                           memref<2x8x4x16xf32>, memref<2x8x4x16xf32>)
      stats(%l, %l : memref<2x8x4xf32>, memref<2x8x4xf32>)
      outs(%q : memref<2x8x4x16xf32>) window(<size = [3]>)
  na.attention_dkv
      ins(%q, %q, %q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
                           memref<2x8x4x16xf32>, memref<2x8x4x16xf32>)
      stats(%l, %l : memref<2x8x4xf32>, memref<2x8x4xf32>)
      outs(%q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>)
      window(<size = [3]>)
  na.attention_dadditional
      ins(%q, %q, %e, %e : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
                           memref<2x3x4x16xf32>, memref<2x3x4x16xf32>)
      stats(%l, %l : memref<2x8x4xf32>, memref<2x8x4xf32>)
      outs(%e, %e : memref<2x3x4x16xf32>, memref<2x3x4x16xf32>)
  na.attention_dbias
      ins(%q, %q, %q, %q : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>,
                           memref<2x8x4x16xf32>, memref<2x8x4x16xf32>)
      stats(%l, %l : memref<2x8x4xf32>, memref<2x8x4xf32>)
      bias(%b : memref<4x5xf32>) outs(%b : memref<4x5xf32>)
      window(<size = [3]>)
  return
}

// Sizes of gradients are those of their operands; destinations that nobody
// reads later are written in place, and not read.

// SHAPES-LABEL: func @sizes
// SHAPES-SAME: %[[Q:[^:]+]]: tensor<?x?x?x16xf32>, %[[K:[^:]+]]: tensor<?x?x?x16xf32>, %[[V:[^:]+]]: tensor<?x?x?x?xf32>, %[[DO:[^:]+]]: tensor<?x?x?x?xf32>, %{{[^:]+}}: tensor<?x?x?xf32>, %[[B:[^:]+]]: tensor<?x5xf32>, %[[EK:[^:]+]]: tensor<?x?x?x16xf32>, %[[EV:[^:]+]]: tensor<?x?x?x?xf32>
// SHAPES-DAG: %[[QT:.+]] = tensor.dim %[[Q]], %c1
// SHAPES-DAG: %[[KH:.+]] = tensor.dim %[[K]], %c2
// SHAPES-DAG: %[[DV:.+]] = tensor.dim %[[V]], %c3
// SHAPES-DAG: %[[BH:.+]] = tensor.dim %[[B]], %c0
// SHAPES-DAG: %[[EKT:.+]] = tensor.dim %[[EK]], %c1
// SHAPES-DAG: %[[EVD:.+]] = tensor.dim %[[EV]], %c3
// SHAPES-NOT: na.attention_grad
// SHAPES: return %[[QT]], %[[KH]], %[[DV]], %[[BH]], %[[EKT]], %[[EVD]]
func.func @sizes(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>,
                 %v: tensor<?x?x?x?xf32>, %do: tensor<?x?x?x?xf32>,
                 %l: tensor<?x?x?xf32>, %b: tensor<?x5xf32>,
                 %ek: tensor<?x?x?x16xf32>, %ev: tensor<?x?x?x?xf32>,
                 %dq: tensor<?x?x?x16xf32>, %dk: tensor<?x?x?x16xf32>,
                 %dv: tensor<?x?x?x?xf32>, %db: tensor<?x5xf32>,
                 %dek: tensor<?x?x?x16xf32>, %dev: tensor<?x?x?x?xf32>)
    -> (index, index, index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %g:6 = na.attention_grad
      ins(%q, %k, %v, %do, %l, %do
          : tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x?xf32>,
            tensor<?x?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?x?xf32>)
      bias(%b : tensor<?x5xf32>)
      additional(%ek, %ev : tensor<?x?x?x16xf32>, tensor<?x?x?x?xf32>)
      outs(%dq, %dk, %dv : tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>,
                           tensor<?x?x?x?xf32>)
      dbias(%db : tensor<?x5xf32>)
      dadditional(%dek, %dev : tensor<?x?x?x16xf32>, tensor<?x?x?x?xf32>)
      window(<size = [3]>)
      -> tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x?xf32>,
         tensor<?x5xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x?xf32>
  %0 = tensor.dim %g#0, %c1 : tensor<?x?x?x16xf32>
  %1 = tensor.dim %g#1, %c2 : tensor<?x?x?x16xf32>
  %2 = tensor.dim %g#2, %c3 : tensor<?x?x?x?xf32>
  %3 = tensor.dim %g#3, %c0 : tensor<?x5xf32>
  %4 = tensor.dim %g#4, %c1 : tensor<?x?x?x16xf32>
  %5 = tensor.dim %g#5, %c3 : tensor<?x?x?x?xf32>
  return %0, %1, %2, %3, %4, %5 : index, index, index, index, index, index
}

// SHAPES-LABEL: func @sizes_of_parts
// SHAPES-SAME: %[[Q:[^:]+]]: tensor<?x8x4x16xf32>, %[[K:[^:]+]]: tensor<?x8x?x16xf32>
// SHAPES-DAG: %[[QB:.+]] = tensor.dim %[[Q]], %c0
// SHAPES-DAG: %[[KH:.+]] = tensor.dim %[[K]], %c2
// SHAPES-NOT: na.attention
// SHAPES: return %[[QB]], %[[KH]], %[[KH]]
func.func @sizes_of_parts(%q: tensor<?x8x4x16xf32>, %k: tensor<?x8x?x16xf32>,
                          %l: tensor<?x8x4xf32>, %d: tensor<?x8x?x16xf32>)
    -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %0 = na.attention_dq
      ins(%q, %k, %k, %q : tensor<?x8x4x16xf32>, tensor<?x8x?x16xf32>,
                           tensor<?x8x?x16xf32>, tensor<?x8x4x16xf32>)
      stats(%l, %l : tensor<?x8x4xf32>, tensor<?x8x4xf32>)
      outs(%q : tensor<?x8x4x16xf32>) window(<size = [3]>)
      -> tensor<?x8x4x16xf32>
  %1:2 = na.attention_dkv
      ins(%q, %k, %k, %q : tensor<?x8x4x16xf32>, tensor<?x8x?x16xf32>,
                           tensor<?x8x?x16xf32>, tensor<?x8x4x16xf32>)
      stats(%l, %l : tensor<?x8x4xf32>, tensor<?x8x4xf32>)
      outs(%d, %d : tensor<?x8x?x16xf32>, tensor<?x8x?x16xf32>)
      window(<size = [3]>) -> tensor<?x8x?x16xf32>, tensor<?x8x?x16xf32>
  %2:2 = na.attention_dadditional
      ins(%q, %q, %k, %k : tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>,
                           tensor<?x8x?x16xf32>, tensor<?x8x?x16xf32>)
      stats(%l, %l : tensor<?x8x4xf32>, tensor<?x8x4xf32>)
      outs(%d, %d : tensor<?x8x?x16xf32>, tensor<?x8x?x16xf32>)
      -> tensor<?x8x?x16xf32>, tensor<?x8x?x16xf32>
  %b = tensor.dim %0, %c0 : tensor<?x8x4x16xf32>
  %h = tensor.dim %1#1, %c2 : tensor<?x8x?x16xf32>
  %e = tensor.dim %2#0, %c2 : tensor<?x8x?x16xf32>
  return %b, %h, %e : index, index, index
}

// BUFFERS-LABEL: func @in_place
// BUFFERS-SAME: %[[Q:[^:]+]]: memref<2x8x4x16xf32>, %[[L:[^:]+]]: memref<2x8x4xf32>, %[[DQ:[^:]+]]: memref<2x8x4x16xf32>, %[[DK:[^:]+]]: memref<2x8x4x16xf32>, %[[DV:[^:]+]]: memref<2x8x4x16xf32>
// BUFFERS-NOT: memref.alloc
// BUFFERS-NOT: memref.copy
// BUFFERS: na.attention_dq ins(%[[Q]], %[[Q]], %[[Q]], %[[Q]] : {{.*}}) stats(%[[L]], %[[L]] : {{.*}}) outs(%[[DQ]] : memref<2x8x4x16xf32>)
// BUFFERS: na.attention_dkv {{.*}} outs(%[[DK]], %[[DV]] : memref<2x8x4x16xf32>, memref<2x8x4x16xf32>) window(<size = [3]>) {scale = 5.000000e-01 : f64}{{$}}
// BUFFERS: return %[[DQ]], %[[DK]], %[[DV]]
func.func @in_place(
    %q: tensor<2x8x4x16xf32>, %l: tensor<2x8x4xf32>,
    %dq: tensor<2x8x4x16xf32> {bufferization.writable = true},
    %dk: tensor<2x8x4x16xf32> {bufferization.writable = true},
    %dv: tensor<2x8x4x16xf32> {bufferization.writable = true})
    -> (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) {
  %0 = na.attention_dq
      ins(%q, %q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                           tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      stats(%l, %l : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      outs(%dq : tensor<2x8x4x16xf32>) window(<size = [3]>)
      -> tensor<2x8x4x16xf32>
  %1:2 = na.attention_dkv
      ins(%q, %q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                           tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      stats(%l, %l : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      outs(%dk, %dv : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      window(<size = [3]>) {scale = 0.5 : f64}
      -> tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>
  return %0, %1#0, %1#1
      : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>
}

// A destination that is read later gets a buffer of its own, without a copy of
// what was in it.

// BUFFERS-LABEL: func @out_of_place
// BUFFERS-NOT: memref.copy
// BUFFERS: %[[DK:.+]] = memref.alloc
// BUFFERS: na.attention_dadditional {{.*}} outs(%[[DK]], %{{.*}} :
// BUFFERS-NOT: memref.copy
// BUFFERS: %[[DB:.+]] = memref.alloc
// BUFFERS: na.attention_dbias {{.*}} outs(%[[DB]] :
func.func @out_of_place(%q: tensor<2x8x4x16xf32>, %e: tensor<2x3x4x16xf32>,
                        %l: tensor<2x8x4xf32>, %b: tensor<4x5xf32>,
                        %dv: tensor<2x3x4x16xf32> {bufferization.writable = true})
    -> (tensor<2x3x4x16xf32>, tensor<2x3x4x16xf32>, tensor<4x5xf32>) {
  %0:2 = na.attention_dadditional
      ins(%q, %q, %e, %e : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                           tensor<2x3x4x16xf32>, tensor<2x3x4x16xf32>)
      stats(%l, %l : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      outs(%e, %dv : tensor<2x3x4x16xf32>, tensor<2x3x4x16xf32>)
      -> tensor<2x3x4x16xf32>, tensor<2x3x4x16xf32>
  %1 = na.attention_dbias
      ins(%q, %q, %q, %q : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
                           tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
      stats(%l, %l : tensor<2x8x4xf32>, tensor<2x8x4xf32>)
      bias(%b : tensor<4x5xf32>) outs(%b : tensor<4x5xf32>)
      window(<size = [3]>) -> tensor<4x5xf32>
  return %0#0, %0#1, %1
      : tensor<2x3x4x16xf32>, tensor<2x3x4x16xf32>, tensor<4x5xf32>
}
