// RUN: not na-opt %s -split-input-file -nagpu-specialize-warps=stages=65 2>&1 | FileCheck %s --check-prefix=STAGES
// STAGES: error: nagpu-specialize-warps: 'stages' is 65, expected 0 to 64
// RUN: na-opt %s -split-input-file -verify-diagnostics -nagpu-specialize-warps

!tokens = memref<2x?x4x16xf16>
!q = !nagpu.shared<64x16xf16, tma32>
!tile = !nagpu.shared<16x16xf16, tma32>
!acc = !nagpu.fragment<64x16xf32, accumulator, 4>

func.func @dilation(%qs: !tokens, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
      threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    scf.forall (%g) in (1) {
      %qa = nagpu.alloc : !q
      // expected-error @+1 {{nagpu-specialize-warps: a copy with dilation 2 on axis 0, whose length is dynamic}}
      %qc = nagpu.async_copy %qs[%b, %c1] at(%c0) box [64] dilation [2] into %qa warps 4 : !tokens, !q
      %qg = nagpu.async_commit %qc
      %qt = nagpu.async_wait %qg pending 0 tiles(%qa) : !q
    } {mapping = [#gpu.warpgroup<x>]}
    gpu.terminator
  }
  return
}

// -----

!tokens = memref<2x64x4x16xf16>
!q = !nagpu.shared<64x16xf16, tma32>

func.func @no_keys(%qs: !tokens, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
      threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    // expected-error @+1 {{nagpu-specialize-warps: expected tiles of rows before the loop over tiles, and one to three tiles in that, of which the first is of channels, got 0 and 1}}
    scf.forall (%g) in (1) {
      %qa = nagpu.alloc : !q
      %qc = nagpu.async_copy %qs[%b, %c1] at(%c0) box [64] dilation [1] into %qa warps 4 : !tokens, !q
      %qg = nagpu.async_commit %qc
      %qt = nagpu.async_wait %qg pending 0 tiles(%qa) : !q
    } {mapping = [#gpu.warpgroup<x>]}
    gpu.terminator
  }
  return
}

// -----

!tokens = memref<2x64x4x256xf16>
!q = !nagpu.shared<64x256xf16, tma128>
!tile = !nagpu.shared<16x256xf16, tma128>
!acc = !nagpu.fragment<64x16xf32, accumulator, 4>

func.func @registers(%qs: !tokens, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  gpu.launch blocks(%b, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
      threads(%tx, %ty, %tz) in (%sx = %c512, %sy = %c1, %sz = %c1) {
    // expected-error @+1 {{nagpu-specialize-warps: products of 16 keys and 256 channels take 158 registers of a thread, but those of a CTA with 3 consumer warpgroups start with 128}}
    scf.forall (%g) in (3) {
      %qa = nagpu.alloc : !q
      %ka = nagpu.alloc : !tile
      %qc = nagpu.async_copy %qs[%b, %c1] at(%c0) box [64] dilation [1] into %qa warps 4 : !tokens, !q
      %qg = nagpu.async_commit %qc
      %qt = nagpu.async_wait %qg pending 0 tiles(%qa) : !q
      %kc = nagpu.async_copy %qs[%b, %c1] at(%c0) box [16] dilation [1] into %ka warps 4 : !tokens, !tile
      %kg = nagpu.async_commit %kc
      %kt = nagpu.async_wait %kg pending 0 tiles(%ka) : !tile
      nagpu.wgmma_fence
      %s0 = nagpu.wgmma %qt, %kt transposed : !q, !tile -> !acc
      nagpu.wgmma_commit
      %s1 = nagpu.wgmma_wait pending 0 (%s0 : !acc)
    } {mapping = [#gpu.warpgroup<x>]}
    gpu.terminator
  }
  return
}
