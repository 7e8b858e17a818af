// The whole list of passes of each mode, in order. A change of a pipeline is a
// change of this file.

// RUN: na-opt %s -na-to-nvvm="mode=naive" --dump-pass-pipeline 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=ALL,NAIVE
// RUN: na-opt %s -na-to-nvvm="mode=unfused query-tile=2 key-tile=3 warpgroup-tile=1" --dump-pass-pipeline 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=ALL,UNFUSED,TILED
// RUN: na-opt %s -na-to-nvvm="mode=fused query-tile=2 key-tile=3 warpgroup-tile=1" --dump-pass-pipeline 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=ALL,FUSED,TILED

// For sm_90a, what differs.
// RUN: na-opt %s -na-to-nvvm="mode=fused chip=sm_90a" --dump-pass-pipeline 2>&1 \
// RUN:   | FileCheck %s --check-prefix=HOPPER
// HOPPER:      na-check-gpu{chip=sm_90a format=isa}
// HOPPER:      {{^ *}}nagpu-assign-layouts{tf32=false}{{,?$}}
// HOPPER-NEXT: {{^ *}}canonicalize{{(\{.*)?,?$}}
// HOPPER-NEXT: {{^ *}}cse{{(\{.*)?,?$}}
// HOPPER-NEXT: {{^ *}}nagpu-defer-row-sums{{(\{.*)?,?$}}
// HOPPER-NEXT: {{^ *}}nagpu-specialize-warps{{(\{.*)?,?$}}
// HOPPER-NEXT: {{^ *}}canonicalize{{(\{.*)?,?$}}
// HOPPER-NEXT: {{^ *}}cse{{(\{.*)?,?$}}
// HOPPER-NEXT: {{^ *}}nagpu-persistent-grid{{(\{.*)?,?$}}
// HOPPER-NEXT: {{^ *}}nagpu-overlap-products{{(\{.*)?,?$}}
// HOPPER-NEXT: {{^ *}}nagpu-narrow-weights{{(\{.*)?,?$}}
// HOPPER-NEXT: {{^ *}}nagpu-defer-column-sums{{(\{.*)?,?$}}
// HOPPER-NEXT: {{^ *}}nagpu-overlap-gradients{{(\{.*)?,?$}}
// HOPPER-NEXT: {{^ *}}canonicalize{{(\{.*)?,?$}}
// HOPPER-NEXT: {{^ *}}cse{{(\{.*)?,?$}}
// HOPPER-NEXT: {{^ *}}nagpu-narrow-index{{(\{.*)?,?$}}
// HOPPER:      nagpu-assign-shared-memory{limit=232448}
// HOPPER:      {{^ *}}convert-gpu-to-nvvm{{.*}}
// HOPPER-NEXT: {{^ *}}gpu-align-shared-memory{alignment=1024}{{,?$}}
// HOPPER-NEXT: {{^ *}}reconcile-unrealized-casts{{(\{.*)?,?$}}
// HOPPER:      nvvm-attach-target{O=3 chip=sm_90a {{.*}}features=+ptx80 {{.*}}

// RUN: na-opt %s -na-to-nvvm="mode=fused chip=sm_90a arrive-by-lanes gradients-together=false persistent-grid=false" --dump-pass-pipeline 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LANES
// LANES:      {{^ *}}na-decompose-attention-grad{together=false
// LANES-NOT:  nagpu-persistent-grid
// LANES:      {{^ *}}nagpu-overlap-gradients{{(\{.*)?,?$}}
// LANES-NEXT: {{^ *}}nagpu-arrive-by-lanes{{(\{.*)?,?$}}

// ALL: builtin.module(
// ALL-NEXT:      {{^ *}}na-check-gpu{chip=sm_80 format=isa}{{,?$}}
// ALL-NEXT:      {{^ *}}inline{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}canonicalize{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}na-decompose-attention-grad{{(\{.*)?,?$}}
// NAIVE-NEXT:    {{^ *}}na-decompose-attention{narrow-weights=false weights-limit=40000000000}{{,?$}}
// UNFUSED-NEXT:  {{^ *}}na-decompose-attention{narrow-weights=true weights-limit=-1}{{,?$}}
// TILED-NEXT:    {{^ *}}na-decompose-product-grad{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}na-select-schedule{explain=false heads-per-tile=0 key-tile={3} query-tile={2} target=sm_80 tuning-file= warpgroup-tile={1}}{{,?$}}
// ALL-NEXT:      {{^ *}}linalg-decompose-aggregates{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}func.func({{,?$}}
// ALL-NEXT:      {{^ *}}convert-elementwise-to-linalg{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}){{,?$}}
// ALL-NEXT:      {{^ *}}eliminate-empty-tensors{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}one-shot-bufferize{{.*}}bufferize-function-boundaries=true{{[ }].*}}
// ALL-NEXT:      {{^ *}}canonicalize{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}expand-realloc{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}canonicalize{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}ownership-based-buffer-deallocation{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}canonicalize{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}buffer-deallocation-simplification{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}bufferization-lower-deallocations{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}cse{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}canonicalize{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}convert-bufferization-to-memref{{(\{.*)?,?$}}
// FUSED-NEXT:    {{^ *}}na-tile-and-fuse{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}na-tile-unfused{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}nagpu-map-grid{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}canonicalize{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}cse{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}nagpu-assign-layouts{tf32=false}{{,?$}}
// TILED-NEXT:    {{^ *}}canonicalize{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}cse{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}nagpu-narrow-index{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}nagpu-schedule-pipeline{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}nagpu-expand-pipeline{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}canonicalize{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}cse{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}nagpu-assign-shared-memory{limit=166912}{{,?$}}
// TILED-NEXT:    {{^ *}}convert-nagpu-to-nvvm{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}canonicalize{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}cse{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}convert-na-to-thread-loops{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}convert-na-to-loops{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}gpu-map-rows{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}linalg-to-thread-loops{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}canonicalize{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}cse{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}gpu-map-parallel{block-size=256}{{,?$}}
// ALL-NEXT:      {{^ *}}gpu-name-kernels{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}gpu-launch-sink-index-computations{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}gpu-kernel-outlining{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}nagpu-finalize-kernels{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}gpu-launch-to-runtime{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}gpu.module({{,?$}}
// ALL-NEXT:      {{^ *}}math-extend-to-supported-types{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}expand-f64-math{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}approximate-math{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}math-to-nvvm-approx{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}scf-forall-to-parallel{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}convert-vector-to-scf{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}expand-strided-metadata{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}lower-affine{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}arith-expand{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}canonicalize{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}cse{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}convert-scf-to-cf{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}convert-math-to-llvm{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}convert-gpu-to-nvvm{{.*}}index-bitwidth=64{{.*}}
// ALL-NEXT:      {{^ *}}reconcile-unrealized-casts{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}canonicalize{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}cse{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}){{,?$}}
// ALL-NEXT:      {{^ *}}nvvm-attach-target{O=3 chip=sm_80 {{.*}}features=+ptx80 {{.*}}
// ALL-NEXT:      {{^ *}}gpu-module-to-binary{format=isa  opts= section= toolkit=}{{,?$}}
// ALL-NEXT:      {{^ *}}expand-strided-metadata{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}lower-affine{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}arith-expand{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}convert-scf-to-cf{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}convert-math-to-llvm{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}finalize-memref-to-llvm{{.*}}use-generic-functions=true{{.*}}
// ALL-NEXT:      {{^ *}}convert-arith-to-llvm{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}convert-index-to-llvm{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}convert-cf-to-llvm{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}convert-func-to-llvm{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}convert-ub-to-llvm{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}reconcile-unrealized-casts{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}llvm-check-lowered{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}canonicalize{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}cse{{(\{.*)?,?$}}
// ALL-NEXT:      {{^}})

module {}
