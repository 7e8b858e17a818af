// Gradients in every mode: all of them become kernels.

// RUN: na-opt %s -na-to-nvvm-kernels="mode=naive" | FileCheck %s --check-prefixes=CHECK,WEIGHTS
// RUN: na-opt %s -na-to-nvvm-kernels="mode=naive naive-weights-limit=1000" | FileCheck %s --check-prefixes=CHECK,ROWS
// RUN: na-opt %s -na-to-nvvm-kernels="mode=fused" | FileCheck %s
// RUN: na-opt %s -na-to-nvvm="mode=unfused" | FileCheck %s --check-prefix=DONE

// DONE:     module attributes {{{.*}}na.kernels = ["all_0"
// DONE-NOT: {{ (na|nagpu|linalg|tensor|memref|scf|arith|math|vector|bufferization|affine|cf|func|builtin)\.}}
// DONE:     gpu.binary @na_kernels

// CHECK-LABEL: func @all
// CHECK:       gpu.launch
// CHECK-NOT:   {{ (na|linalg)\.}}
// CHECK:       return
func.func @all(%q: tensor<2x19x4x8xbf16>, %k: tensor<2x19x2x8xbf16>,
               %v: tensor<2x19x2x16xbf16>, %o: tensor<2x19x4x16xbf16>,
               %lse: tensor<2x19x4xf32>, %dlse: tensor<2x19x4xf32>,
               %bias: tensor<4x9xf32>, %ek: tensor<2x3x2x8xbf16>,
               %ev: tensor<2x3x2x16xbf16>)
    -> (tensor<2x19x4x8xbf16>, tensor<2x19x2x8xbf16>, tensor<2x19x2x16xbf16>,
        tensor<4x9xf32>, tensor<2x3x2x8xbf16>, tensor<2x3x2x16xbf16>) {
  %dq = tensor.empty() : tensor<2x19x4x8xbf16>
  %dk = tensor.empty() : tensor<2x19x2x8xbf16>
  %dv = tensor.empty() : tensor<2x19x2x16xbf16>
  %db = tensor.empty() : tensor<4x9xf32>
  %dek = tensor.empty() : tensor<2x3x2x8xbf16>
  %dev = tensor.empty() : tensor<2x3x2x16xbf16>
  %g:6 = na.attention_grad
      ins(%q, %k, %v, %o, %lse, %o
          : tensor<2x19x4x8xbf16>, tensor<2x19x2x8xbf16>,
            tensor<2x19x2x16xbf16>, tensor<2x19x4x16xbf16>, tensor<2x19x4xf32>,
            tensor<2x19x4x16xbf16>)
      dlse(%dlse : tensor<2x19x4xf32>) bias(%bias : tensor<4x9xf32>)
      additional(%ek, %ev : tensor<2x3x2x8xbf16>, tensor<2x3x2x16xbf16>)
      outs(%dq, %dk, %dv : tensor<2x19x4x8xbf16>, tensor<2x19x2x8xbf16>,
                           tensor<2x19x2x16xbf16>)
      dbias(%db : tensor<4x9xf32>)
      dadditional(%dek, %dev : tensor<2x3x2x8xbf16>, tensor<2x3x2x16xbf16>)
      window(<size = [5], stride = [2], dilation = [3], causal = [true]>)
      -> tensor<2x19x4x8xbf16>, tensor<2x19x2x8xbf16>, tensor<2x19x2x16xbf16>,
         tensor<4x9xf32>, tensor<2x3x2x8xbf16>, tensor<2x3x2x16xbf16>
  return %g#0, %g#1, %g#2, %g#3, %g#4, %g#5
      : tensor<2x19x4x8xbf16>, tensor<2x19x2x8xbf16>, tensor<2x19x2x16xbf16>,
        tensor<4x9xf32>, tensor<2x3x2x8xbf16>, tensor<2x3x2x16xbf16>
}

// Attention weights in memory, up to the limit.

// CHECK-LABEL:  func @plain
// WEIGHTS:      memref.alloc() {{.*}} memref<2x19x4x5xf32>
// ROWS-NOT:     memref<2x19x4x5xf32>
// CHECK:        gpu.launch
// CHECK-NOT:    {{ (na|linalg)\.}}
// CHECK:        return
func.func @plain(%q: memref<2x19x4x8xf32>, %lse: memref<2x19x4xf32>,
                 %dq: memref<2x19x4x8xf32>, %dk: memref<2x19x4x8xf32>,
                 %dv: memref<2x19x4x8xf32>) {
  na.attention_grad
      ins(%q, %q, %q, %q, %lse, %q
          : memref<2x19x4x8xf32>, memref<2x19x4x8xf32>, memref<2x19x4x8xf32>,
            memref<2x19x4x8xf32>, memref<2x19x4xf32>, memref<2x19x4x8xf32>)
      outs(%dq, %dk, %dv : memref<2x19x4x8xf32>, memref<2x19x4x8xf32>,
                           memref<2x19x4x8xf32>)
      window(<size = [5], stride = [2], dilation = [3], causal = [true]>)
  return
}
