// RUN: na-opt %s | na-opt | FileCheck %s
// RUN: na-opt %s -na-decompose-attention-grad=together | FileCheck %s --check-prefix=DECOMPOSE
// RUN: na-opt %s -na-decompose-attention-grad | FileCheck %s --check-prefix=APART
// RUN: na-opt %s -na-select-schedule | FileCheck %s --check-prefix=CPU
// RUN: na-opt %s -na-select-schedule="target=sm_90a" | FileCheck %s --check-prefix=HOPPER
// RUN: na-opt %s -na-select-schedule="target=sm_90" | FileCheck %s --check-prefix=WARPS

// CHECK-LABEL: func @together
// CHECK: na.attention_dqkv ins(%{{.*}}) stats(%{{.*}}) outs(%{{.*}}) window(<size = [2048]>) ->
// Without warpgroups each kind of rows has a program of its own.
// CPU-LABEL: func @together
// CPU-NOT:     na.attention_dqkv
// CPU:         na.attention_dq {{.*}}target = "cpu"
// CPU:         na.attention_dkv {{.*}}target = "cpu"
// HOPPER-LABEL: func @together
// HOPPER:        na.attention_dqkv {{.*}}target = "sm_90a"{{.*}}warpgroup_tile
// WARPS-LABEL: func @together
// WARPS-NOT:     na.attention_dqkv
// WARPS:         na.attention_dq {{.*}}target = "sm_90"
// WARPS:         na.attention_dkv {{.*}}target = "sm_90"
func.func @together(%q: tensor<1x8192x32x128xbf16>, %s: tensor<1x8192x32xf32>)
    -> (tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>) {
  %0:3 = na.attention_dqkv
      ins(%q, %q, %q, %q : tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>)
      stats(%s, %s : tensor<1x8192x32xf32>, tensor<1x8192x32xf32>)
      outs(%q, %q, %q : tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>)
      window(<size = [2048]>)
      -> tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>
  return %0#0, %0#1, %0#2 : tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>
}

// CHECK-LABEL: func @narrow
// With 64 channels each of two warpgroups adds half of the queries.
// HOPPER-LABEL: func @narrow
// HOPPER:        na.attention_dqkv {{.*}}target = "sm_90a"{{.*}}warpgroup_tile
func.func @narrow(%q: tensor<1x8192x32x64xbf16>, %s: tensor<1x8192x32xf32>)
    -> (tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>) {
  %0:3 = na.attention_dqkv
      ins(%q, %q, %q, %q : tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>)
      stats(%s, %s : tensor<1x8192x32xf32>, tensor<1x8192x32xf32>)
      outs(%q, %q, %q : tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>)
      window(<size = [2048]>)
      -> tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>
  return %0#0, %0#1, %0#2 : tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>
}

// CHECK-LABEL: func @channels32
// The channels come in blocks of 64.
// HOPPER-LABEL: func @channels32
// HOPPER-NOT:     na.attention_dqkv
// HOPPER:         na.attention_dq
// HOPPER:         na.attention_dkv
func.func @channels32(%q: tensor<1x8192x32x32xbf16>, %s: tensor<1x8192x32xf32>)
    -> (tensor<1x8192x32x32xbf16>, tensor<1x8192x32x32xbf16>, tensor<1x8192x32x32xbf16>) {
  %0:3 = na.attention_dqkv
      ins(%q, %q, %q, %q : tensor<1x8192x32x32xbf16>, tensor<1x8192x32x32xbf16>, tensor<1x8192x32x32xbf16>, tensor<1x8192x32x32xbf16>)
      stats(%s, %s : tensor<1x8192x32xf32>, tensor<1x8192x32xf32>)
      outs(%q, %q, %q : tensor<1x8192x32x32xbf16>, tensor<1x8192x32x32xbf16>, tensor<1x8192x32x32xbf16>)
      window(<size = [2048]>)
      -> tensor<1x8192x32x32xbf16>, tensor<1x8192x32x32xbf16>, tensor<1x8192x32x32xbf16>
  return %0#0, %0#1, %0#2 : tensor<1x8192x32x32xbf16>, tensor<1x8192x32x32xbf16>, tensor<1x8192x32x32xbf16>
}

// CHECK-LABEL: func @short
// Passes over the workspace take longer than two products.
// HOPPER-LABEL: func @short
// HOPPER-NOT:     na.attention_dqkv
// HOPPER:         na.attention_dq
// HOPPER:         na.attention_dkv
func.func @short(%q: tensor<1x8192x32x128xbf16>, %s: tensor<1x8192x32xf32>)
    -> (tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>) {
  %0:3 = na.attention_dqkv
      ins(%q, %q, %q, %q : tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>)
      stats(%s, %s : tensor<1x8192x32xf32>, tensor<1x8192x32xf32>)
      outs(%q, %q, %q : tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>)
      window(<size = [7]>)
      -> tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>
  return %0#0, %0#1, %0#2 : tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>, tensor<1x8192x32x128xbf16>
}

// CHECK-LABEL: func @few
// Two programs are faster on few tiles.
// HOPPER-LABEL: func @few
// HOPPER-NOT:     na.attention_dqkv
// HOPPER:         na.attention_dq
// HOPPER:         na.attention_dkv
func.func @few(%q: tensor<1x1024x4x128xbf16>, %s: tensor<1x1024x4xf32>)
    -> (tensor<1x1024x4x128xbf16>, tensor<1x1024x4x128xbf16>, tensor<1x1024x4x128xbf16>) {
  %0:3 = na.attention_dqkv
      ins(%q, %q, %q, %q : tensor<1x1024x4x128xbf16>, tensor<1x1024x4x128xbf16>, tensor<1x1024x4x128xbf16>, tensor<1x1024x4x128xbf16>)
      stats(%s, %s : tensor<1x1024x4xf32>, tensor<1x1024x4xf32>)
      outs(%q, %q, %q : tensor<1x1024x4x128xbf16>, tensor<1x1024x4x128xbf16>, tensor<1x1024x4x128xbf16>)
      window(<size = [256]>)
      -> tensor<1x1024x4x128xbf16>, tensor<1x1024x4x128xbf16>, tensor<1x1024x4x128xbf16>
  return %0#0, %0#1, %0#2 : tensor<1x1024x4x128xbf16>, tensor<1x1024x4x128xbf16>, tensor<1x1024x4x128xbf16>
}

// DECOMPOSE-LABEL: func @plain
// DECOMPOSE:         %[[DELTA:.*]] = linalg.generic
// DECOMPOSE:         na.attention_dqkv {{.*}} stats(%{{.*}}, %[[DELTA]] :
// DECOMPOSE-NOT:     na.
// APART-LABEL: func @plain
// APART:         na.attention_dq
// APART:         na.attention_dkv
func.func @plain(%q: tensor<1x8192x32x64xbf16>, %s: tensor<1x8192x32xf32>)
    -> (tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>) {
  %0:3 = na.attention_grad
      ins(%q, %q, %q, %q, %s, %q : tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32xf32>, tensor<1x8192x32x64xbf16>)
      outs(%q, %q, %q : tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>)
      window(<size = [7]>)
      -> tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>
  return %0#0, %0#1, %0#2 : tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>
}

// DECOMPOSE-LABEL: func @deterministic
// DECOMPOSE:         na.attention_dq ins
// DECOMPOSE:         na.attention_dkv ins
func.func @deterministic(%q: tensor<1x8192x32x64xbf16>, %s: tensor<1x8192x32xf32>)
    -> (tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>) {
  %0:3 = na.attention_grad
      ins(%q, %q, %q, %q, %s, %q : tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32xf32>, tensor<1x8192x32x64xbf16>)
      outs(%q, %q, %q : tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>)
      window(<size = [7]>) {deterministic}
      -> tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>
  return %0#0, %0#1, %0#2 : tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>
}

// DECOMPOSE-LABEL: func @dilated
// DECOMPOSE:         na.attention_dq ins
// DECOMPOSE:         na.attention_dkv ins
func.func @dilated(%q: tensor<1x8192x32x64xbf16>, %s: tensor<1x8192x32xf32>)
    -> (tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>) {
  %0:3 = na.attention_grad
      ins(%q, %q, %q, %q, %s, %q : tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32xf32>, tensor<1x8192x32x64xbf16>)
      outs(%q, %q, %q : tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>)
      window(<size = [7], dilation = [2]>)
      -> tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>
  return %0#0, %0#1, %0#2 : tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>, tensor<1x8192x32x64xbf16>
}
