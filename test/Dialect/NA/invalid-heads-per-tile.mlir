// RUN: na-opt %s --split-input-file --verify-diagnostics

func.func @group(%q: memref<1x64x12x16xf16>, %k: memref<1x64x2x16xf16>, %o: memref<1x64x12x16xf16>) {
  // expected-error @+1 {{'na.attention' op 'schedule' has 'heads_per_tile' = 4, expected a divisor of 6, the query heads (12) that read one of the 2 key heads}}
  na.attention
      ins(%q, %k, %k : memref<1x64x12x16xf16>, memref<1x64x2x16xf16>, memref<1x64x2x16xf16>)
      outs(%o : memref<1x64x12x16xf16>) window(<size = [5]>)
      {schedule = #na.schedule<target = "sm_80", query_tile = [16], key_tile = [16], heads_per_tile = 4>}
  return
}

// -----

func.func @bias(%q: memref<1x64x4x16xf16>, %k: memref<1x64x2x16xf16>, %b: memref<4x9xf16>, %o: memref<1x64x4x16xf16>) {
  // expected-error @+1 {{'na.attention' op 'schedule' has 'heads_per_tile' = 2, expected 1: each query head has a bias of its own}}
  na.attention
      ins(%q, %k, %k : memref<1x64x4x16xf16>, memref<1x64x2x16xf16>, memref<1x64x2x16xf16>)
      bias(%b : memref<4x9xf16>)
      outs(%o : memref<1x64x4x16xf16>) window(<size = [5]>)
      {schedule = #na.schedule<target = "sm_80", query_tile = [16], key_tile = [16], heads_per_tile = 2>}
  return
}

// -----

func.func @gradient(%q: memref<1x64x4x16xf16>, %k: memref<1x64x2x16xf16>, %s: memref<1x64x4xf32>) {
  // expected-error @+1 {{'na.attention_dq' op 'schedule' has 'heads_per_tile' = 2, expected 1: only na.attention has tiles of several heads}}
  na.attention_dq
      ins(%q, %k, %k, %q : memref<1x64x4x16xf16>, memref<1x64x2x16xf16>, memref<1x64x2x16xf16>, memref<1x64x4x16xf16>)
      stats(%s, %s : memref<1x64x4xf32>, memref<1x64x4xf32>)
      outs(%q : memref<1x64x4x16xf16>) window(<size = [5]>)
      {schedule = #na.schedule<target = "sm_80", query_tile = [16], key_tile = [16], heads_per_tile = 2>}
  return
}

// -----

func.func @scores(%q: memref<1x64x4x16xf16>, %k: memref<1x64x2x16xf16>, %s: memref<1x64x4x5xf32>) {
  // expected-error @+1 {{'na.qk' op 'schedule' has 'heads_per_tile' = 2, expected 1: only na.attention has tiles of several heads}}
  na.qk
      ins(%q, %k : memref<1x64x4x16xf16>, memref<1x64x2x16xf16>)
      outs(%s : memref<1x64x4x5xf32>) window(<size = [5]>)
      {schedule = #na.schedule<target = "sm_80", query_tile = [16], key_tile = [16], heads_per_tile = 2>}
  return
}
