// Bad options and programs: a message, and exit code 1 (`not` fails on a crash).

// RUN: not na-opt %s -na-to-nvvm=chip=sm_75 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: na-check-gpu: unknown chip 'sm_75', expected one of sm_80, sm_86, sm_87, sm_89, sm_90, sm_90a
// RUN: not na-opt %s -na-to-nvvm=format=elf 2>&1 | FileCheck %s --check-prefix=FORMAT
// FORMAT: na-check-gpu: unknown format 'elf', expected isa, bin or fatbin
// RUN: not na-opt %s -na-to-nvvm=mode=fast 2>&1 | FileCheck %s --check-prefix=MODE
// MODE: for the --mode option: Cannot find option named 'fast'!
// RUN: not na-opt %s -na-to-nvvm=f32-math=fast 2>&1 | FileCheck %s --check-prefix=MATH
// MATH: for the --f32-math option: Cannot find option named 'fast'!
// RUN: not na-opt %s -na-to-nvvm="mode=unfused query-tile=4,4" 2>&1 | FileCheck %s --check-prefix=RANK
// RANK: error: 'na.{{.*}}' op na-select-schedule: 'query-tile' has 2 entries, expected 1 (one per axis)

// RUN: na-opt %s -na-to-nvvm=mode=naive -o %t.mlir
func.func @main(%q: tensor<1x9x2x8xf32>, %o: tensor<1x9x2x8xf32>)
    -> tensor<1x9x2x8xf32> {
  %r = na.attention
    ins(%q, %q, %q : tensor<1x9x2x8xf32>, tensor<1x9x2x8xf32>, tensor<1x9x2x8xf32>)
    outs(%o : tensor<1x9x2x8xf32>) window(<size = [3]>) -> tensor<1x9x2x8xf32>
  return %r : tensor<1x9x2x8xf32>
}
