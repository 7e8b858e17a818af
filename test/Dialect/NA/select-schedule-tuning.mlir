// Schedules from a file come before the model's.

// RUN: na-opt %s -na-select-schedule=tuning-file=%S/Inputs/tuning/good.json 2>%t.err | FileCheck %s --check-prefix=CPU
// RUN: FileCheck %s --check-prefix=OTHER --input-file=%t.err
// RUN: na-opt %s -na-select-schedule="target=sm_80 explain tuning-file=%S/Inputs/tuning/good.json" 2>%t.err | FileCheck %s --check-prefix=GPU
// RUN: FileCheck %s --check-prefix=EXPLAIN --input-file=%t.err
// RUN: na-opt %s -na-select-schedule="query-tile=2,2 key-tile=8,8 tuning-file=%S/Inputs/tuning/good.json" 2>&1 | FileCheck %s --check-prefix=BYHAND
// RUN: na-opt %s -na-to-cpu="tuning-file='%S/Inputs/tuning/good.json'" -mlir-print-op-on-diagnostic=false -mlir-print-ir-after=na-select-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: na-opt %s -na-to-nvvm="chip=sm_80 tuning-file=%S/Inputs/tuning/good.json" -mlir-print-op-on-diagnostic=false -mlir-print-ir-after=na-select-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=GPU

// OTHER:   warning: na-select-schedule: tuning file '{{.*}}good.json' was measured with namlir 0.0.1, this is namlir
// EXPLAIN: remark: schedule #na.schedule<target = "sm_80", query_tile = [8, 8], key_tile = [7, 16], stages = 1, warps = 4>: from the tuning file, measured 1.250e-03 s on a machine
// EXPLAIN: remark: na-select-schedule: tuning file '{{.*}}good.json' has no entry 'attention 56x56 window 5x7 stride 1x1 dilation 1x1 causal ff batch 1 heads 2/2 dim 32/32 f32 on sm_80'

// What cannot be used any more is a warning, and the model chooses.
// RUN: na-opt %s -na-select-schedule="target=sm_80 tuning-file=%S/Inputs/tuning/stale.json" 2>&1 | FileCheck %s --check-prefix=WARPS
// WARPS:   warning: na-select-schedule: tuning file '{{.*}}stale.json', entry 'attention 56x56 {{.*}} on sm_80', is stale: the cost model chooses instead, because #na.schedule<{{.*}}, warps = 8> is no schedule that this compiler has for 'sm_80'
// WARPS:   schedule = #na.schedule<target = "sm_80"
// RUN: na-opt %s -na-select-schedule="tuning-file=%S/Inputs/tuning/stale.json" 2>&1 | FileCheck %s --check-prefix=AXES
// AXES:    is stale: {{.*}} because its query_tile has 1 axes, expected 2
// AXES:    schedule = #na.schedule<target = "cpu"
// RUN: na-opt %s -na-select-schedule="target=sm_90 tuning-file=%S/Inputs/tuning/stale.json" 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET:  is stale: {{.*}} is no schedule that this compiler has for 'sm_90'
// TARGET:  schedule = #na.schedule<target = "sm_90"
// RUN: na-opt %s -na-select-schedule="target=sm_86 tuning-file=%S/Inputs/tuning/stale.json" 2>&1 | FileCheck %s --check-prefix=LARGE
// LARGE:   is stale: {{.*}} because schedule 'query_tile' holds {{[0-9]+}} tokens, expected at most 65536
// LARGE:   schedule = #na.schedule<target = "sm_86"

// What is no tuning file is an error.
// RUN: not na-opt %s -na-select-schedule=tuning-file=%S/Inputs/tuning/none.json 2>&1 | FileCheck %s --check-prefix=NONE
// NONE:    error: na-select-schedule: tuning file '{{.*}}none.json': No such file or directory
// RUN: not na-opt %s -na-select-schedule=tuning-file=%S/Inputs/tuning/text.json 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT:    error: na-select-schedule: tuning file '{{.*}}text.json': [1:{{[0-9]+}}, byte={{[0-9]+}}]: Invalid JSON
// RUN: not na-opt %s -na-select-schedule=tuning-file=%S/Inputs/tuning/other.json 2>&1 | FileCheck %s --check-prefix=KIND
// KIND:    tuning file '{{.*}}other.json': it has no "format", so it is no tuning file
// RUN: not na-opt %s -na-select-schedule=tuning-file=%S/Inputs/tuning/format.json 2>&1 | FileCheck %s --check-prefix=FORMAT
// FORMAT:  its format is 'na-tuning 7'; this compiler reads 'na-tuning 1'
// RUN: not na-opt %s -na-select-schedule=tuning-file=%S/Inputs/tuning/entry.json 2>&1 | FileCheck %s --check-prefix=ENTRY
// ENTRY:   entry 'attention 56x56 {{.*}} on cpu': is no object
// RUN: not na-opt %s -na-select-schedule=tuning-file=%S/Inputs/tuning/target.json 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP:    schedule: 'target' is 'tpu', expected cpu, sm_80
// RUN: not na-opt %s -na-select-schedule=tuning-file=%S/Inputs/tuning/extent.json 2>&1 | FileCheck %s --check-prefix=EXTENT
// EXTENT:  schedule: 'query_tile'[1] = 0, expected 1 to 65536
// RUN: not na-opt %s -na-select-schedule=tuning-file=%S/Inputs/tuning/missing.json 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: schedule: 'key_tile' is missing, expected an array of numbers
// RUN: not na-opt %s -na-select-schedule=tuning-file=%S/Inputs/tuning/number.json 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER:  schedule: 'stages' = "two", expected 0 to 65536

// CPU-LABEL:    func @known
// CPU:            schedule = #na.schedule<target = "cpu", query_tile = [7, 8], key_tile = [13, 14]>
// GPU-LABEL:    func @known
// GPU:            schedule = #na.schedule<target = "sm_80", query_tile = [8, 8], key_tile = [7, 16], stages = 1, warps = 4>
// BYHAND-LABEL: func @known
// BYHAND:         query_tile = [2, 2], key_tile = [8, 8]
func.func @known(%q: memref<1x56x56x2x32xf32>, %o: memref<1x56x56x2x32xf32>) {
  na.attention
    ins(%q, %q, %q : memref<1x56x56x2x32xf32>, memref<1x56x56x2x32xf32>,
                     memref<1x56x56x2x32xf32>)
    outs(%o : memref<1x56x56x2x32xf32>) window(<size = [7, 7]>)
  return
}

// CPU-LABEL:    func @unknown
// CPU:            schedule = #na.schedule<target = "cpu"
// CPU-NOT:        query_tile = [7, 8]
func.func @unknown(%q: memref<1x56x56x2x32xf32>, %o: memref<1x56x56x2x32xf32>) {
  na.attention
    ins(%q, %q, %q : memref<1x56x56x2x32xf32>, memref<1x56x56x2x32xf32>,
                     memref<1x56x56x2x32xf32>)
    outs(%o : memref<1x56x56x2x32xf32>) window(<size = [5, 7]>)
  return
}
