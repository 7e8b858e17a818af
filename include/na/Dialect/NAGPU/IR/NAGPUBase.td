//===- NAGPUBase.td - The nagpu dialect -*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NAGPU_IR_NAGPUBASE_TD
#define NA_DIALECT_NAGPU_IR_NAGPUBASE_TD

include "mlir/IR/OpBase.td"

def NAGPU_Dialect : Dialect {
  let name = "nagpu";
  let cppNamespace = "::mlir::nagpu";
  let summary = "How a tile of attention is computed by one CTA of a GPU";
  let description = [{
    The `nagpu` dialect is the program of one CTA (thread block) on tiles:
    *fragments*, whose elements live in the registers of the CTA's threads in
    the layout that their type names; *shared tiles* in shared memory; copies
    that run asynchronously and are waited for; products on the matrix units.

    All operations are executed by all threads of the CTA together (they are
    convergent), except in `nagpu.roles`, where warps and warpgroups go their own
    ways; `nagpu.tensor_map` and `nagpu.multiprocessors` are the host's.
    Fragments are values; nothing but shared tiles, mailboxes and barriers has
    state.
    A thread is lane `l = 4 g + t` (`g` in 0..7, `t` in 0..3) of warp `w`; warp
    `w` owns the rows `w R` to `w R + R - 1` of every fragment, where `R` is
    the number of rows divided by the number of warps.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect"
  ];
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerTypes();
  }];
}

#endif // NA_DIALECT_NAGPU_IR_NAGPUBASE_TD
