// Bad options and programs: a message, and exit code 1 (`not` fails on a crash).

// RUN: not na-opt %s -na-to-cpu=tile=4 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: no such option tile
// RUN: not na-opt %s -na-to-cpu=mode=fast 2>&1 | FileCheck %s --check-prefix=MODE
// MODE: for the --mode option: Cannot find option named 'fast'!
// RUN: not na-opt %s -na-to-cpu=vector-bits=wide 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: for the --vector-bits option: 'wide' value invalid
// RUN: not na-opt %s -na-to-cpu=parallel=maybe 2>&1 | FileCheck %s --check-prefix=BOOL
// BOOL: for the --parallel option: 'maybe' is invalid value for boolean argument
// RUN: not na-opt %s -na-to-cpu=query-tile=4,4 2>&1 | FileCheck %s --check-prefix=RANK
// RANK: error: 'na.attention' op na-select-schedule: 'query-tile' has 2 entries, expected 1 (one per axis)
// RUN: not na-opt %s -na-to-cpu=key-tile=0 2>&1 | FileCheck %s --check-prefix=TILE
// TILE: error: 'na.attention' op schedule 'key_tile'[0] = 0, expected 1 to 65536
// RUN: not na-opt %s -na-to-cpu=vector-bits=100 2>&1 | FileCheck %s --check-prefix=BITS
// BITS: vector-bits = 100, expected a multiple of 64 from 64 to 4096
// RUN: not na-opt %s -na-to-cpu=vector-bits=-64 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: vector-bits = -64, expected a multiple of 64 from 64 to 4096
// RUN: not na-opt %s -na-to-cpu=registers=2 2>&1 | FileCheck %s --check-prefix=REGISTERS
// REGISTERS: registers = 2, expected 4 to 256
// RUN: not na-opt %s -na-to-cpu-loops=tile=4 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not na-opt %s -na-to-gpux 2>&1 | FileCheck %s --check-prefix=PIPELINE
// PIPELINE: Unknown command line argument '-na-to-gpux'
// RUN: not na-opt %s --pass-pipeline="builtin.module(na-to-cpu{mode=fused)" 2>&1 | FileCheck %s --check-prefix=BRACE
// BRACE: missing closing '}'

func.func @main(%q: tensor<1x9x2x8xf32>, %o: tensor<1x9x2x8xf32>)
    -> tensor<1x9x2x8xf32> {
  %r = na.attention
    ins(%q, %q, %q : tensor<1x9x2x8xf32>, tensor<1x9x2x8xf32>, tensor<1x9x2x8xf32>)
    outs(%o : tensor<1x9x2x8xf32>) window(<size = [3]>) -> tensor<1x9x2x8xf32>
  return %r : tensor<1x9x2x8xf32>
}
