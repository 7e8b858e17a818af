// Machine code and PTX in one. Their bytes are the toolkit's matter.

// REQUIRES: ptxas, fatbinary

// RUN: na-opt %s -na-to-nvvm="format=fatbin mode=fused chip=sm_80" | FileCheck %s

// CHECK: gpu.binary @na_kernels [#gpu.object<#nvvm.target<{{.*}}chip = "sm_80"{{.*}}, "P\EDU\BA
func.func @main(%q: tensor<1x64x2x32xbf16>, %o: tensor<1x64x2x32xbf16>)
    -> tensor<1x64x2x32xbf16> {
  %r = na.attention
    ins(%q, %q, %q : tensor<1x64x2x32xbf16>, tensor<1x64x2x32xbf16>, tensor<1x64x2x32xbf16>)
    outs(%o : tensor<1x64x2x32xbf16>) window(<size = [7]>)
    -> tensor<1x64x2x32xbf16>
  return %r : tensor<1x64x2x32xbf16>
}
