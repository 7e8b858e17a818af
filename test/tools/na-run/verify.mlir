// A verification that fails shows in the table and in the exit code. Each call
// of @rand gives another number, so no two lowerings agree.

// RUN: na-run %s --entry=different --outputs=number=%t.npy | FileCheck %s --check-prefix=RAN
// RAN-NOT: against the naive
// RAN: wrote     number

// RUN: not na-run %s --entry=different --verify > %t.txt 2> %t.err
// RUN: FileCheck %s --input-file=%t.txt --check-prefix=TABLE
// RUN: FileCheck %s --input-file=%t.err --check-prefix=ERROR
// TABLE: verify    against the naive lowering
// TABLE-NEXT: output  error       limit       worst row   limit       result
// TABLE-NEXT: number  {{.*}} FAIL, worst at element 0
// ERROR: error: verification failed

// RUN: not na-run %s --entry=different --verify --json | FileCheck %s --check-prefix=JSON
// JSON: "ok": false
// JSON: "output": "number"
// JSON-NEXT: "pass": false

// RUN: na-run %s --entry=same --verify | FileCheck %s --check-prefix=SAME
// SAME: twice{{ +}}0.00e+00{{.*}}pass

func.func private @rand() -> i32

func.func @different() -> i32 {
  %number = call @rand() : () -> i32
  return %number : i32
}

func.func @same(%x: tensor<5x3xf32>) -> tensor<5x3xf32> {
  %twice = arith.addf %x, %x : tensor<5x3xf32>
  return %twice : tensor<5x3xf32>
}
