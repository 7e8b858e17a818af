// RUN: na-opt %s -llvm-set-vector-width | FileCheck %s --check-prefixes=CHECK,DEFAULT
// RUN: na-opt %s -llvm-set-vector-width=vector-bits=256 | FileCheck %s --check-prefixes=CHECK,OPTION
// RUN: not na-opt %s -llvm-set-vector-width=vector-bits=32 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: not na-opt %s -llvm-set-vector-width=vector-bits=8192 2>&1 | FileCheck %s --check-prefix=LARGE

// SMALL: error: llvm-set-vector-width: vector-bits = 32, expected 64 to 4096
// LARGE: error: llvm-set-vector-width: vector-bits = 8192, expected 64 to 4096

// CHECK:   llvm.func @body()
// DEFAULT:   prefer_vector_width = "512"
// OPTION:    prefer_vector_width = "256"
llvm.func @body() {
  llvm.return
}

// A width that is there stays; a declaration and other functions need none.
// CHECK:     llvm.func @given() attributes {prefer_vector_width = "128"}
// CHECK:     llvm.func @declared()
// CHECK-NOT:   prefer_vector_width
llvm.func @given() attributes {prefer_vector_width = "128"} {
  llvm.return
}
llvm.func @declared()
func.func @other() {
  return
}
