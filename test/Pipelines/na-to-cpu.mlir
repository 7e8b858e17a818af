// Nothing but the LLVM dialect survives, in any mode.

// RUN: na-opt %s -na-to-cpu=mode=naive | FileCheck %s
// RUN: na-opt %s -na-to-cpu=mode=unfused | FileCheck %s
// RUN: na-opt %s -na-to-cpu=mode=fused | FileCheck %s
// RUN: na-opt %s -na-to-cpu="parallel=false vector-bits=128 registers=16" | FileCheck %s --check-prefixes=CHECK,SEQUENTIAL
// RUN: na-opt %s -na-to-cpu="query-tile=4 key-tile=8" | FileCheck %s

// CHECK:          module {
// SEQUENTIAL-NOT: naParallelFor
// CHECK:          llvm.func @main
// CHECK-NOT:      {{ (na|linalg|tensor|memref|scf|arith|math|vector|bufferization|affine|cf|func|builtin)\.}}
// CHECK:          llvm.return
// CHECK-NOT:      {{ (na|linalg|tensor|memref|scf|arith|math|vector|bufferization|affine|cf|func|builtin)\.}}
func.func @main(%q: tensor<2x19x4x8xbf16>, %k: tensor<2x19x2x8xbf16>,
                %v: tensor<2x19x2x6xbf16>, %bias: tensor<4x9xf32>,
                %ek: tensor<2x3x2x8xbf16>, %ev: tensor<2x3x2x6xbf16>)
    -> (tensor<2x19x4x6xbf16>, tensor<2x19x4xf32>) {
  %o = tensor.empty() : tensor<2x19x4x6xbf16>
  %l = tensor.empty() : tensor<2x19x4xf32>
  %r:2 = na.attention
    ins(%q, %k, %v : tensor<2x19x4x8xbf16>, tensor<2x19x2x8xbf16>, tensor<2x19x2x6xbf16>)
    bias(%bias : tensor<4x9xf32>)
    additional(%ek, %ev : tensor<2x3x2x8xbf16>, tensor<2x3x2x6xbf16>)
    outs(%o, %l : tensor<2x19x4x6xbf16>, tensor<2x19x4xf32>)
    window(<size = [5], stride = [2], dilation = [3], causal = [true]>)
    -> tensor<2x19x4x6xbf16>, tensor<2x19x4xf32>
  return %r#0, %r#1 : tensor<2x19x4x6xbf16>, tensor<2x19x4xf32>
}
