// Host functions in the LLVM dialect, one binary, the names of the kernels:
// nothing else survives, in any mode.

// RUN: na-opt %s -na-to-nvvm="mode=naive chip=sm_80" | FileCheck %s --check-prefixes=CHECK,NAIVE
// RUN: na-opt %s -na-to-nvvm="mode=naive naive-weights-limit=1000 chip=sm_90" | FileCheck %s --check-prefixes=CHECK,ROWS
// RUN: na-opt %s -na-to-nvvm="mode=unfused chip=sm_89" | FileCheck %s
// RUN: na-opt %s -na-to-nvvm="mode=fused chip=sm_90a" | FileCheck %s
// RUN: na-opt %s -na-to-nvvm="mode=fused f32-math=tf32" | FileCheck %s

// CHECK:          module attributes {{{.*}}na.kernels = ["main_0"
// ROWS-SAME:      , "plain_1"
// CHECK-DAG:      llvm.func @naCudaLaunch(i64, i64, i64, i64, i64, i64, i64)
// NAIVE-DAG:      llvm.func @_mlir_memref_to_llvm_alloc(i64) -> !llvm.ptr
// CHECK:          llvm.func @main(
// CHECK-NOT:      {{ (na|nagpu|linalg|tensor|memref|scf|arith|math|vector|bufferization|affine|cf|func|builtin)\.}}
// CHECK:          llvm.call @naCudaLaunch
// CHECK-NOT:      {{ (na|nagpu|linalg|tensor|memref|scf|arith|math|vector|bufferization|affine|cf|func|builtin)\.}}
// CHECK:          llvm.return
// CHECK-NOT:      {{ (na|nagpu|linalg|tensor|memref|scf|arith|math|vector|bufferization|affine|cf|func|builtin)\.}}
// CHECK-COUNT-1:  gpu.binary @na_kernels [#gpu.object<#nvvm.target<O = 3, chip = "sm_{{[a-z0-9]+}}", features = "+ptx80">
// CHECK-NOT:      gpu.{{binary|module|launch}}
func.func @main(%q: tensor<2x19x4x8xbf16>, %k: tensor<2x19x2x8xbf16>,
                %v: tensor<2x19x2x16xbf16>, %bias: tensor<4x9xf32>,
                %ek: tensor<2x3x2x8xbf16>, %ev: tensor<2x3x2x16xbf16>)
    -> (tensor<2x19x4x16xbf16>, tensor<2x19x4xf32>) {
  %o = tensor.empty() : tensor<2x19x4x16xbf16>
  %l = tensor.empty() : tensor<2x19x4xf32>
  %r:2 = na.attention
    ins(%q, %k, %v : tensor<2x19x4x8xbf16>, tensor<2x19x2x8xbf16>, tensor<2x19x2x16xbf16>)
    bias(%bias : tensor<4x9xf32>)
    additional(%ek, %ev : tensor<2x3x2x8xbf16>, tensor<2x3x2x16xbf16>)
    outs(%o, %l : tensor<2x19x4x16xbf16>, tensor<2x19x4xf32>)
    window(<size = [5], stride = [2], dilation = [3], causal = [true]>)
    -> tensor<2x19x4x16xbf16>, tensor<2x19x4xf32>
  return %r#0, %r#1 : tensor<2x19x4x16xbf16>, tensor<2x19x4xf32>
}

// Of dynamic batch: no weights in memory with mode=naive.
func.func @plain(%q: tensor<?x9x8x2x16xf16>, %o: tensor<?x9x8x2x16xf16>)
    -> tensor<?x9x8x2x16xf16> {
  %r = na.attention
    ins(%q, %q, %q : tensor<?x9x8x2x16xf16>, tensor<?x9x8x2x16xf16>, tensor<?x9x8x2x16xf16>)
    outs(%o : tensor<?x9x8x2x16xf16>) window(<size = [3, 5]>)
    -> tensor<?x9x8x2x16xf16>
  return %r : tensor<?x9x8x2x16xf16>
}
