// RUN: na-opt %s -llvm-check-lowered -split-input-file -verify-diagnostics

// Nothing to say about the LLVM dialect in modules.
module {
  module @inner {
    llvm.func @f() {
      llvm.return
    }
  }
}

// -----

// expected-error @+1 {{'func.func' op has no lowering to the LLVM dialect}}
func.func private @f()

// -----

// The operation is named that keeps the cast, not the cast.
llvm.func @g(%i: i64) {
  %x = builtin.unrealized_conversion_cast %i : i64 to index
  // expected-error @+1 {{'arith.addi' op has no lowering to the LLVM dialect}}
  %y = arith.addi %x, %x : index
  llvm.return
}

// -----

llvm.func @h(%i: i64) {
  // expected-error @+1 {{'builtin.unrealized_conversion_cast' op is left over between operations of the LLVM dialect}}
  %x = builtin.unrealized_conversion_cast %i : i64 to !llvm.ptr
  llvm.return
}
