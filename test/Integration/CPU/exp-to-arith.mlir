// RUN: %python %S/Inputs/exp_to_arith.py na-run %s %t | FileCheck %s

// CHECK-DAG: vectors: NaN: {{[1-9][0-9]*}} values, 0 wrong
// CHECK-DAG: vectors: below -86.98: {{[1-9][0-9]*}} values, 0 wrong
// CHECK-DAG: vectors: overflow: {{[1-9][0-9]*}} values, 0 wrong
// CHECK-DAG: vectors: relative error <= 2e-7: {{[1-9][0-9]*}} values, 0 wrong
// CHECK-DAG: scalars: relative error <= 2e-7: {{[1-9][0-9]*}} values, 0 wrong
// CHECK:     0 faults

// That is the project's exponential, not the library's.
// RUN: na-opt %s -na-to-cpu-loops | FileCheck %s --check-prefix=LOOPS --implicit-check-not=math.exp
// LOOPS: func @vectors
// LOOPS: vector<{{[0-9]+}}xi32>
// LOOPS: func @scalars
// LOOPS: arith.shli {{.*}} : i32

// Operations of static shape become vectors, the others scalars.
func.func @vectors(%x: tensor<1048576xf32>) -> tensor<1048576xf32> {
  %e = math.exp %x : tensor<1048576xf32>
  return %e : tensor<1048576xf32>
}

func.func @scalars(%x: tensor<?xf32>) -> tensor<?xf32> {
  %e = math.exp %x : tensor<?xf32>
  return %e : tensor<?xf32>
}
