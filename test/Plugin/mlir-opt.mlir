// An unmodified mlir-opt knows the dialects, passes and pipelines once it has
// the plugin, and gives what na-opt gives.

// REQUIRES: plugin

// RUN: mlir-opt %s %plugin_options | FileCheck %s --check-prefix=DIALECT
// RUN: mlir-opt %s --load-dialect-plugin=%na_plugin --canonicalize | FileCheck %s --check-prefix=DIALECT
// RUN: mlir-opt %S/../Dialect/NAGPU/roundtrip.mlir --load-dialect-plugin=%na_plugin | FileCheck %S/../Dialect/NAGPU/roundtrip.mlir

// RUN: mlir-opt %s %plugin_options --pass-pipeline="builtin.module(na-select-schedule{query-tile=8 key-tile=16})" | FileCheck %s --check-prefix=PASS

// RUN: mlir-opt %s %plugin_options --pass-pipeline="builtin.module(na-to-cpu{mode=fused parallel=false})" -o %t.cpu.mlir
// RUN: FileCheck %s --check-prefix=CPU --input-file=%t.cpu.mlir
// RUN: na-opt %s -na-to-cpu="mode=fused parallel=false" | diff - %t.cpu.mlir

// RUN: mlir-opt %s %plugin_options --pass-pipeline="builtin.module(na-to-nvvm{mode=fused chip=sm_90a})" | FileCheck %s --check-prefix=NVVM
// RUN: mlir-opt %s %plugin_options --pass-pipeline="builtin.module(na-to-nvvm-kernels{mode=fused chip=sm_90a})" -o %t.kernels.mlir
// RUN: na-opt %s -na-to-nvvm-kernels="mode=fused chip=sm_90a" | diff - %t.kernels.mlir

// DIALECT: na.attention ins({{.*}}) window(<size = [5]>)

// PASS: na.attention {{.*}} {schedule = #na.schedule<target = "cpu", query_tile = [8], key_tile = [16]>}

// CPU:     llvm.func @attention(
// CPU-NOT: na.attention

// NVVM:     na.kernels = ["attention_0"
// NVVM-NOT: na.attention
// NVVM:     gpu.binary @na_kernels

func.func @attention(%q: tensor<1x64x2x16xf32>, %o: tensor<1x64x2x16xf32>)
    -> tensor<1x64x2x16xf32> {
  %r = na.attention
    ins(%q, %q, %q : tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>)
    outs(%o : tensor<1x64x2x16xf32>) window(<size = [5]>) -> tensor<1x64x2x16xf32>
  return %r : tensor<1x64x2x16xf32>
}
