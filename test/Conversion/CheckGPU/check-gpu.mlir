// RUN: na-opt %s -na-check-gpu=chip=sm_90a -split-input-file -verify-diagnostics
// RUN: not na-opt %s -na-check-gpu=chip=sm_90 -split-input-file 2>&1 | FileCheck %s --check-prefix=GROUPS
// RUN: not na-opt %s -na-check-gpu=chip=sm_70 2>&1 | FileCheck %s --check-prefix=CHIP

// CHIP: na-check-gpu: unknown chip 'sm_70', expected one of sm_80, sm_86, sm_87, sm_89, sm_90, sm_90a

// f64 is refused in operations of na alone.
func.func @fine(%o: tensor<2x8xbf16>, %l: tensor<2xf32>, %d: tensor<2x8xbf16>,
                %x: f64) -> tensor<2x8xbf16> {
  %y = arith.addf %x, %x : f64
  %r = na.merge ins(%o : tensor<2x8xbf16>) lses(%l : tensor<2xf32>)
      outs(%d : tensor<2x8xbf16>) -> tensor<2x8xbf16>
  return %r : tensor<2x8xbf16>
}

// -----

func.func @double(%o: tensor<2x8xf64>, %l: tensor<2xf64>, %d: tensor<2x8xf64>)
    -> tensor<2x8xf64> {
  // expected-error @+1 {{'na.merge' op is on 'tensor<2x8xf64>'; the GPU pipeline takes element types f32, f16 and bf16, not f64}}
  %r = na.merge ins(%o : tensor<2x8xf64>) lses(%l : tensor<2xf64>)
      outs(%d : tensor<2x8xf64>) -> tensor<2x8xf64>
  return %r : tensor<2x8xf64>
}

// -----

// GROUPS: error: 'na.attention' op schedule has a 'warpgroup_tile'; kernels of warpgroups are for sm_90a, not for sm_90
func.func @groups(%q: tensor<1x64x2x64xbf16>, %o: tensor<1x64x2x64xbf16>)
    -> tensor<1x64x2x64xbf16> {
  %r = na.attention
    ins(%q, %q, %q : tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16>)
    outs(%o : tensor<1x64x2x64xbf16>) window(<size = [7]>)
    {schedule = #na.schedule<target = "sm_90a", query_tile = [64],
                             key_tile = [32], warpgroup_tile = [64]>}
    -> tensor<1x64x2x64xbf16>
  return %r : tensor<1x64x2x64xbf16>
}

// -----

// Any chip takes a schedule without warpgroups. The CPU's is replaced later.
func.func @warps(%q: tensor<1x64x2x64xbf16>, %o: tensor<1x64x2x64xbf16>)
    -> tensor<1x64x2x64xbf16> {
  %r = na.attention
    ins(%q, %q, %q : tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16>, tensor<1x64x2x64xbf16>)
    outs(%o : tensor<1x64x2x64xbf16>) window(<size = [7]>)
    {schedule = #na.schedule<target = "sm_80", query_tile = [64], key_tile = [32]>}
    -> tensor<1x64x2x64xbf16>
  return %r : tensor<1x64x2x64xbf16>
}
