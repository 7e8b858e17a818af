// RUN: na-opt %s -split-input-file -verify-diagnostics -nagpu-expand-pipeline

func.func @zero_stages(%n: index, %end: index) {
  // expected-error @below {{nagpu-expand-pipeline: 'nagpu.stages' is 0 : i64, expected 1 to 64 : i64}}
  scf.for %i = %n to %end step %n {
  } {nagpu.stages = 0 : i64}
  return
}

// -----

func.func @many_stages(%n: index, %end: index) {
  // expected-error @below {{nagpu-expand-pipeline: 'nagpu.stages' is 65 : i64, expected 1 to 64 : i64}}
  scf.for %i = %n to %end step %n {
  } {nagpu.stages = 65 : i64}
  return
}

// -----

func.func @no_number(%n: index, %end: index) {
  // expected-error @below {{nagpu-expand-pipeline: 'nagpu.stages' is "two", expected 1 to 64 : i64}}
  scf.for %i = %n to %end step %n {
  } {nagpu.stages = "two"}
  return
}

// -----

!tile = !nagpu.shared<16x16xf32, linear>

func.func @no_wait(%k: memref<1x64x1x16xf32>, %n: index, %end: index) {
  %tile = nagpu.alloc : !tile
  scf.for %i = %n to %end step %n {
    // expected-error @below {{nagpu-expand-pipeline: expected a copy into its own tile, with a group and a wait of its own}}
    %t = nagpu.async_copy %k[%n, %n] at(%i) box [16] dilation [1] into %tile warps 1
      : memref<1x64x1x16xf32>, !tile
    %g = nagpu.async_commit %t
  } {nagpu.stages = 2 : i64}
  return
}

// -----

!tile = !nagpu.shared<16x16xf32, linear>

func.func @one_group_of_two(%k: memref<1x64x1x16xf32>, %n: index, %end: index) {
  %tile0 = nagpu.alloc : !tile
  %tile1 = nagpu.alloc : !tile
  scf.for %i = %n to %end step %n {
    // expected-error @below {{nagpu-expand-pipeline: expected a copy into its own tile, with a group and a wait of its own}}
    %t0 = nagpu.async_copy %k[%n, %n] at(%i) box [16] dilation [1] into %tile0 warps 1
      : memref<1x64x1x16xf32>, !tile
    %t1 = nagpu.async_copy %k[%n, %n] at(%i) box [16] dilation [1] into %tile1 warps 1
      : memref<1x64x1x16xf32>, !tile
    %g = nagpu.async_commit %t0, %t1
    %w = nagpu.async_wait %g pending 0 tiles(%tile0) : !tile
  } {nagpu.stages = 2 : i64}
  return
}

// -----

!tile = !nagpu.shared<16x16xf32, linear>

func.func @two_groups_of_one_wait(%k: memref<1x64x1x16xf32>, %n: index, %end: index) {
  %tile0 = nagpu.alloc : !tile
  %tile1 = nagpu.alloc : !tile
  scf.for %i = %n to %end step %n {
    // expected-error @below {{nagpu-expand-pipeline: expected a copy into its own tile, with a group and a wait of its own}}
    %t0 = nagpu.async_copy %k[%n, %n] at(%i) box [16] dilation [1] into %tile0 warps 1
      : memref<1x64x1x16xf32>, !tile
    %g0 = nagpu.async_commit %t0
    %t1 = nagpu.async_copy %k[%n, %n] at(%i) box [16] dilation [1] into %tile1 warps 1
      : memref<1x64x1x16xf32>, !tile
    %g1 = nagpu.async_commit %t1
    %w:2 = nagpu.async_wait %g0, %g1 pending 0 tiles(%tile0, %tile1) : !tile, !tile
  } {nagpu.stages = 2 : i64}
  return
}

// -----

!tile = !nagpu.shared<16x16xf32, linear>

func.func @shared_tile(%k: memref<1x64x1x16xf32>, %n: index, %end: index) {
  %tile = nagpu.alloc : !tile
  scf.for %i = %n to %end step %n {
    // expected-error @below {{nagpu-expand-pipeline: expected a copy into its own tile, with a group and a wait of its own}}
    %t0 = nagpu.async_copy %k[%n, %n] at(%i) box [16] dilation [1] into %tile warps 1
      : memref<1x64x1x16xf32>, !tile
    %g0 = nagpu.async_commit %t0
    %w0 = nagpu.async_wait %g0 pending 0 tiles(%tile) : !tile
    %t1 = nagpu.async_copy %k[%n, %n] at(%i) box [16] dilation [1] into %tile warps 1
      : memref<1x64x1x16xf32>, !tile
    %g1 = nagpu.async_commit %t1
    %w1 = nagpu.async_wait %g1 pending 0 tiles(%tile) : !tile
  } {nagpu.stages = 2 : i64}
  return
}

// -----

!tile = !nagpu.shared<16x16xf32, linear>

func.func @slot(%k: memref<1x64x1x16xf32>, %n: index, %end: index) {
  %ring = nagpu.alloc : !nagpu.shared<2x16x16xf32, linear>
  %tile = nagpu.slot %ring[%n] : !nagpu.shared<2x16x16xf32, linear> -> !tile
  scf.for %i = %n to %end step %n {
    // expected-error @below {{nagpu-expand-pipeline: expected a copy into its own tile, with a group and a wait of its own}}
    %t = nagpu.async_copy %k[%n, %n] at(%i) box [16] dilation [1] into %tile warps 1
      : memref<1x64x1x16xf32>, !tile
    %g = nagpu.async_commit %t
    %w = nagpu.async_wait %g pending 0 tiles(%tile) : !tile
  } {nagpu.stages = 2 : i64}
  return
}

// -----

!tile = !nagpu.shared<16x16xf32, linear>

func.func @carried(%k: memref<1x64x1x16xf32>, %n: index, %end: index) {
  %tile = nagpu.alloc : !tile
  scf.for %i = %n to %end step %n iter_args(%c = %n) -> (index) {
    // expected-error @below {{nagpu-expand-pipeline: expected a copy that depends on the induction variable only}}
    %t = nagpu.async_copy %k[%n, %n] at(%c) box [16] dilation [1] into %tile warps 1
      : memref<1x64x1x16xf32>, !tile
    %g = nagpu.async_commit %t
    %w = nagpu.async_wait %g pending 0 tiles(%tile) : !tile
    scf.yield %i : index
  } {nagpu.stages = 2 : i64}
  return
}

// -----

!tile = !nagpu.shared<16x16xf32, linear>

// A tile of its own in every iteration.
func.func @alloc_in_loop(%k: memref<1x64x1x16xf32>, %n: index, %end: index) {
  scf.for %i = %n to %end step %n {
    %tile = nagpu.alloc : !tile
    // expected-error @below {{nagpu-expand-pipeline: expected a copy that depends on the induction variable only}}
    %t = nagpu.async_copy %k[%n, %n] at(%i) box [16] dilation [1] into %tile warps 1
      : memref<1x64x1x16xf32>, !tile
    %g = nagpu.async_commit %t
    %w = nagpu.async_wait %g pending 0 tiles(%tile) : !tile
  } {nagpu.stages = 2 : i64}
  return
}
