// A module of everything that a model brings along: products, softmax,
// activations, loops and branches, functions that are called, declared, or of
// several blocks, constants, casts and slices, buffers beside tensors.

// RUN: na-opt %s -na-to-cpu=mode=naive | FileCheck %s
// RUN: na-opt %s -na-to-cpu=mode=unfused | FileCheck %s
// RUN: na-opt %s -na-to-cpu=mode=fused | FileCheck %s
// RUN: na-run %s --entry=main --pipeline=fused --verify | FileCheck %s --check-prefix=VERIFY
// RUN: na-run %s --entry=main --pipeline=unfused --verify | FileCheck %s --check-prefix=VERIFY

// CHECK-NOT: {{ (na|linalg|tensor|memref|scf|arith|math|vector|bufferization|affine|cf|func|builtin)\.}}
// CHECK:     llvm.func @main
// CHECK-NOT: {{ (na|linalg|tensor|memref|scf|arith|math|vector|bufferization|affine|cf|func|builtin)\.}}

// VERIFY-COUNT-3: pass
// VERIFY-NOT:     FAIL

!tokens = tensor<1x6x7x2x8xf32>
!flat = tensor<42x16xf32>

memref.global "private" constant @table : memref<16xf32> = dense<0.5>

func.func private @elsewhere(%x: memref<16xf32>, %n: index) -> f64

// Unused, but lowered: what it calls is not there.
func.func private @calls(%x: memref<16xf32>, %n: index) -> f64 {
  %r = call @elsewhere(%x, %n) : (memref<16xf32>, index) -> f64
  return %r : f64
}

// A layer that returns a fresh tensor.
func.func private @layer(%x: !tokens) -> !tokens {
  %o = tensor.empty() : !tokens
  %r = na.attention ins(%x, %x, %x : !tokens, !tokens, !tokens) outs(%o : !tokens)
       window(<size = [3, 3], dilation = [2, 1], causal = [true, false]>) -> !tokens
  return %r : !tokens
}

// Two blocks that return.
func.func private @choose(%x: !tokens, %c: i1) -> !tokens {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %r = call @layer(%x) : (!tokens) -> !tokens
  return %r : !tokens
^bb2:
  return %x : !tokens
}

// Buffers, and attention inside a parallel loop.
func.func private @buffers(%x: memref<3x9x2x8xf32>, %o: memref<3x9x2x8xf32>) {
  scf.forall (%i) in (3) {
    %xi = memref.subview %x[%i, 0, 0, 0] [1, 9, 2, 8] [1, 1, 1, 1]
      : memref<3x9x2x8xf32> to memref<1x9x2x8xf32, strided<[144, 16, 8, 1], offset: ?>>
    %oi = memref.subview %o[%i, 0, 0, 0] [1, 9, 2, 8] [1, 1, 1, 1]
      : memref<3x9x2x8xf32> to memref<1x9x2x8xf32, strided<[144, 16, 8, 1], offset: ?>>
    na.attention
      ins(%xi, %xi, %xi : memref<1x9x2x8xf32, strided<[144, 16, 8, 1], offset: ?>>,
                          memref<1x9x2x8xf32, strided<[144, 16, 8, 1], offset: ?>>,
                          memref<1x9x2x8xf32, strided<[144, 16, 8, 1], offset: ?>>)
      outs(%oi : memref<1x9x2x8xf32, strided<[144, 16, 8, 1], offset: ?>>)
      window(<size = [5]>)
  }
  return
}

func.func @main(%x: !tokens, %w: tensor<16x16xf32>, %scores: tensor<4x10xf32>,
                %b: tensor<3x9x2x8xf32>)
    -> (!tokens, tensor<4x10xf32>, tensor<3x9x2x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32

  // A loop over layers carries a tensor that each makes anew.
  %deep = scf.for %i = %c0 to %c3 step %c1 iter_args(%h = %x) -> !tokens {
    %a = func.call @layer(%h) : (!tokens) -> !tokens
    %s = arith.addf %a, %h : !tokens
    scf.yield %s : !tokens
  }
  %chosen = call @choose(%deep, %true) : (!tokens, i1) -> !tokens

  // A projection of all tokens, with a bias row from a constant buffer.
  %flat = tensor.collapse_shape %chosen [[0, 1, 2], [3, 4]] : !tokens into !flat
  %e = tensor.empty() : !flat
  %f = linalg.fill ins(%zero : f32) outs(%e : !flat) -> !flat
  %p = linalg.matmul ins(%flat, %w : !flat, tensor<16x16xf32>) outs(%f : !flat) -> !flat
  %table = memref.get_global @table : memref<16xf32>
  %row = bufferization.to_tensor %table restrict : memref<16xf32> to tensor<16xf32>
  %rows = linalg.broadcast ins(%row : tensor<16xf32>) outs(%e : !flat) dimensions = [0]
  %q = arith.addf %p, %rows : !flat
  %g = math.tanh %q : !flat
  %y = tensor.expand_shape %g [[0, 1, 2], [3, 4]] output_shape [1, 6, 7, 2, 8]
    : !flat into !tokens

  // A branch, a cast to dynamic sizes and back.
  %z = scf.if %true -> !tokens {
    %any = tensor.cast %y : !tokens to tensor<?x?x?x2x8xf32>
    %o = tensor.cast %any : tensor<?x?x?x2x8xf32> to !tokens
    %r = na.attention ins(%o, %o, %x : !tokens, !tokens, !tokens) outs(%o : !tokens)
         window(<size = [6, 7]>) {scale = -0.5 : f64} -> !tokens
    scf.yield %r : !tokens
  } else {
    scf.yield %y : !tokens
  }

  %se = tensor.empty() : tensor<4x10xf32>
  %soft = linalg.softmax dimension(1) ins(%scores : tensor<4x10xf32>)
          outs(%se : tensor<4x10xf32>) -> tensor<4x10xf32>

  %bm = bufferization.to_buffer %b read_only : tensor<3x9x2x8xf32> to memref<3x9x2x8xf32>
  %om = memref.alloc() : memref<3x9x2x8xf32>
  call @buffers(%bm, %om) : (memref<3x9x2x8xf32>, memref<3x9x2x8xf32>) -> ()
  %ot = bufferization.to_tensor %om restrict writable : memref<3x9x2x8xf32> to tensor<3x9x2x8xf32>
  return %z, %soft, %ot : !tokens, tensor<4x10xf32>, tensor<3x9x2x8xf32>
}
