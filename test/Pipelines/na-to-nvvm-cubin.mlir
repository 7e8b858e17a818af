// Machine code of every mode. Its bytes are ptxas's matter.

// REQUIRES: ptxas

// RUN: na-opt %s -na-to-nvvm="format=bin mode=naive" | FileCheck %s
// RUN: na-opt %s -na-to-nvvm="format=bin mode=naive naive-weights-limit=0 chip=sm_90" | FileCheck %s
// RUN: na-opt %s -na-to-nvvm="format=bin mode=unfused chip=sm_89" | FileCheck %s

// CHECK: gpu.binary @na_kernels [#gpu.object<#nvvm.target<{{.*}}>, {{.*}}bin = "\7FELF
func.func @main(%q: tensor<1x9x9x2x16xbf16>, %k: tensor<1x9x9x1x16xbf16>,
                %v: tensor<1x9x9x1x72xbf16>, %bias: tensor<2x5x5xf32>)
    -> (tensor<1x9x9x2x72xbf16>, tensor<1x9x9x2xf32>) {
  %o = tensor.empty() : tensor<1x9x9x2x72xbf16>
  %l = tensor.empty() : tensor<1x9x9x2xf32>
  %r:2 = na.attention
    ins(%q, %k, %v : tensor<1x9x9x2x16xbf16>, tensor<1x9x9x1x16xbf16>, tensor<1x9x9x1x72xbf16>)
    bias(%bias : tensor<2x5x5xf32>)
    outs(%o, %l : tensor<1x9x9x2x72xbf16>, tensor<1x9x9x2xf32>)
    window(<size = [3, 3], causal = [true, false]>)
    -> tensor<1x9x9x2x72xbf16>, tensor<1x9x9x2xf32>
  return %r#0, %r#1 : tensor<1x9x9x2x72xbf16>, tensor<1x9x9x2xf32>
}
