// The whole list of passes of each mode, in order. A change of a pipeline is a
// change of this file.

// RUN: na-opt %s -na-to-cpu="mode=naive vector-bits=256 registers=16" --dump-pass-pipeline 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=ALL,THREADS,LLVM
// RUN: na-opt %s -na-to-cpu="mode=unfused query-tile=2 key-tile=3 warpgroup-tile=1 vector-bits=256 registers=16" --dump-pass-pipeline 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=ALL,UNFUSED,TILED,THREADS,LLVM
// RUN: na-opt %s -na-to-cpu="mode=fused query-tile=2 key-tile=3 warpgroup-tile=1 vector-bits=256 registers=16" --dump-pass-pipeline 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=ALL,FUSED,TILED,THREADS,LLVM
// RUN: na-opt %s -na-to-cpu="query-tile=2 key-tile=3 warpgroup-tile=1 vector-bits=256 registers=16 parallel=false" --dump-pass-pipeline 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=ALL,FUSED,TILED,LLVM
// RUN: na-opt %s -na-to-cpu-loops="query-tile=2 key-tile=3 warpgroup-tile=1 vector-bits=256 registers=16" --dump-pass-pipeline 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=ALL,FUSED,TILED,LOOPS

// ALL: builtin.module(
// ALL-NEXT:      {{^ *}}canonicalize{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}na-decompose-attention-grad{{(\{.*)?,?$}}
// UNFUSED-NEXT:  {{^ *}}na-decompose-attention{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}na-decompose-product-grad{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}na-select-schedule{explain=false heads-per-tile=0 key-tile={3} query-tile={2} target=cpu tuning-file= warpgroup-tile={1}}{{,?$}}
// ALL-NEXT:      {{^ *}}linalg-decompose-aggregates{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}func.func({{,?$}}
// ALL-NEXT:      {{^ *}}convert-elementwise-to-linalg{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}){{,?$}}
// ALL-NEXT:      {{^ *}}eliminate-empty-tensors{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}one-shot-bufferize{{.*}}bufferize-function-boundaries=true{{[ }].*}}
// ALL-NEXT:      {{^ *}}canonicalize{{(\{.*)?,?$}}
// FUSED-NEXT:    {{^ *}}na-tile-and-fuse{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}na-tile-unfused{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}canonicalize{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}na-tile-to-linalg{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}one-shot-bufferize{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}canonicalize{{(\{.*)?,?$}}
// TILED-NEXT:    {{^ *}}cse{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}na-hoist-tile-buffers{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}expand-realloc{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}canonicalize{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}ownership-based-buffer-deallocation{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}canonicalize{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}buffer-deallocation-simplification{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}bufferization-lower-deallocations{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}cse{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}canonicalize{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}convert-bufferization-to-memref{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}convert-na-to-loops{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}convert-na-tile-to-loops{vector-bits=256}{{,?$}}
// ALL-NEXT:      {{^ *}}linalg-to-vector-loops{registers=16 vector-bits=256}{{,?$}}
// ALL-NEXT:      {{^ *}}func.func({{,?$}}
// ALL-NEXT:      {{^ *}}convert-linalg-to-parallel-loops{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}){{,?$}}
// ALL-NEXT:      {{^ *}}exp-to-arith{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}approximate-math{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}canonicalize{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}cse{{(\{.*)?,?$}}
// ALL-NEXT:      {{^ *}}loop-invariant-code-motion{{(\{.*)?,?$}}
// THREADS-NEXT:  {{^ *}}parallel-to-runtime{{(\{.*)?,?$}}
// LLVM-NEXT:     {{^ *}}lower-affine{{(\{.*)?,?$}}
// LLVM-NEXT:     {{^ *}}scf-forall-to-parallel{{(\{.*)?,?$}}
// LLVM-NEXT:     {{^ *}}convert-vector-to-scf{{(\{.*)?,?$}}
// LLVM-NEXT:     {{^ *}}expand-strided-metadata{{(\{.*)?,?$}}
// LLVM-NEXT:     {{^ *}}lower-affine{{(\{.*)?,?$}}
// LLVM-NEXT:     {{^ *}}arith-expand{{.*}}include-bf16=true{{[ }].*}}
// LLVM-NEXT:     {{^ *}}convert-scf-to-cf{{(\{.*)?,?$}}
// LLVM-NEXT:     {{^ *}}convert-math-to-llvm{{(\{.*)?,?$}}
// LLVM-NEXT:     {{^ *}}convert-math-to-libm{{(\{.*)?,?$}}
// LLVM-NEXT:     {{^ *}}convert-vector-to-llvm{{(\{.*)?,?$}}
// LLVM-NEXT:     {{^ *}}finalize-memref-to-llvm{{(\{.*)?,?$}}
// LLVM-NEXT:     {{^ *}}convert-arith-to-llvm{{(\{.*)?,?$}}
// LLVM-NEXT:     {{^ *}}convert-index-to-llvm{{(\{.*)?,?$}}
// LLVM-NEXT:     {{^ *}}convert-cf-to-llvm{{(\{.*)?,?$}}
// LLVM-NEXT:     {{^ *}}convert-func-to-llvm{{(\{.*)?,?$}}
// LLVM-NEXT:     {{^ *}}convert-ub-to-llvm{{(\{.*)?,?$}}
// LLVM-NEXT:     {{^ *}}reconcile-unrealized-casts{{(\{.*)?,?$}}
// LLVM-NEXT:     {{^ *}}llvm-check-lowered{{(\{.*)?,?$}}
// LLVM-NEXT:     {{^ *}}llvm-set-vector-width{vector-bits=256}{{,?$}}
// LLVM-NEXT:     {{^ *}}canonicalize{{(\{.*)?,?$}}
// LLVM-NEXT:     {{^ *}}cse{{(\{.*)?,?$}}
// LLVM-NEXT:     {{^}})
// LOOPS-NEXT:    {{^}})

module {}
