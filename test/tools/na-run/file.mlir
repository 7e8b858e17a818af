// A program from a file: the entry, the names of arguments and results.

// RUN: na-run %s --entry=add --pipeline=naive --outputs=sum=%t.npy | FileCheck %s --check-prefix=ADD
// ADD: program {{.*}}file.mlir, function add
// ADD: wrote     sum to {{.*}}.npy

// RUN: na-run %s --entry=mixed --pipeline=naive --bench --runs=3 | FileCheck %s --check-prefix=MIXED
// MIXED: function mixed
// MIXED: GFLOP/s useful
// MIXED: {{[0-9.]+}} % of the work is attention

// Without --entry there must be one public function, or main.
// RUN: not na-run %s 2>&1 | FileCheck %s --check-prefix=SEVERAL
// SEVERAL: error: {{.*}}file.mlir: the program has several public functions, and none is called 'main': add, mixed, scalars, buffers, unsupported
// RUN: not na-run %s --entry=subtract 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: the program has no function 'subtract' with a body; public functions: add, mixed

// Unnamed arguments and results are numbered.
// RUN: not na-run %s --entry=scalars --pipeline=naive --inputs=y=a.npy 2>&1 | FileCheck %s --check-prefix=NAMES
// NAMES: the program has no 'y'; it has: x, n, arg2

// Arguments that are memrefs are inputs and outputs.
// RUN: not na-run %s --entry=buffers --pipeline=naive --outputs=y=a.npy 2>&1 | FileCheck %s --check-prefix=BUFFERS
// BUFFERS: the program has no 'y'; it has: q, o

// RUN: not na-run %s --entry=unsupported 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: error: argument 'x' has type 'tensor<*xf32>', which the host cannot provide

func.func @add(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %sum = arith.addf %a, %b : tensor<4xf32>
  return %sum : tensor<4xf32>
}

func.func private @helper(%x: tensor<1x16x2x8xf32>) -> tensor<1x16x2x8xf32> {
  %0 = tensor.empty() : tensor<1x16x2x8xf32>
  %1 = na.attention
      ins(%x, %x, %x : tensor<1x16x2x8xf32>, tensor<1x16x2x8xf32>,
                       tensor<1x16x2x8xf32>)
      outs(%0 : tensor<1x16x2x8xf32>)
      window(<size = [5]>) -> tensor<1x16x2x8xf32>
  return %1 : tensor<1x16x2x8xf32>
}

func.func @mixed(%x: tensor<1x16x2x8xf32>, %w: tensor<16x16xf32>)
    -> tensor<16x16xf32> {
  %a = call @helper(%x) : (tensor<1x16x2x8xf32>) -> tensor<1x16x2x8xf32>
  %flat = tensor.collapse_shape %a [[0, 1], [2, 3]]
      : tensor<1x16x2x8xf32> into tensor<16x16xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x16xf32>)
      -> tensor<16x16xf32>
  %y = linalg.matmul
      ins(%flat, %w : tensor<16x16xf32>, tensor<16x16xf32>)
      outs(%init : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %y : tensor<16x16xf32>
}

func.func @scalars(%x: f32, %n: i32, %2: tensor<i1>) -> (f32, i32) {
  return %x, %n : f32, i32
}

func.func @buffers(%q: memref<1x16x2x8xf32>, %o: memref<1x16x2x8xf32>) {
  na.attention ins(%q, %q, %q : memref<1x16x2x8xf32>, memref<1x16x2x8xf32>,
                                memref<1x16x2x8xf32>)
      outs(%o : memref<1x16x2x8xf32>) window(<size = [5]>)
  return
}

func.func @unsupported(%x: tensor<*xf32>) {
  return
}
