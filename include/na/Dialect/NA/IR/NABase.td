//===- NABase.td - The na dialect -*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NA_IR_NABASE_TD
#define NA_DIALECT_NA_IR_NABASE_TD

include "mlir/IR/OpBase.td"

def NA_Dialect : Dialect {
  let name = "na";
  let cppNamespace = "::mlir::na";
  let summary = "Neighborhood attention as operations";
  let description = [{
    The `na` dialect states *neighborhood attention*: attention in which each
    query sees only the keys in a window around it, in one, two or three
    spatial dimensions. `na.attention` is the whole operator; `na.qk` and
    `na.av` are the two products of its unfused form; `na.merge` joins
    attention outputs over disjoint sets of keys. Each of them has its gradient,
    `na.attention_grad` and so on; `na.attention_dq`, `na.attention_dkv`,
    `na.attention_dbias` and `na.attention_dadditional` are the parts of that of
    `na.attention`. The `na.tile.*` operations are what the tiled form needs
    beyond `linalg`, `arith`, `math` and `scf`.

    Tensors are laid out heads-last: queries are `[B, X(, Y(, Z)), Hq, D]`,
    keys `[B, X.., Hkv, D]`, values `[B, X.., Hkv, Dv]`, outputs
    `[B, X.., Hq, Dv]`. Query head `h` reads key head `h / (Hq / Hkv)`.

    On each axis the tokens whose coordinates are equal modulo `dilation` form
    a *residue class*; a token's *position* is its index in the class,
    `coordinate / dilation`. Windows are intervals of positions within the
    query's own class. A key is visible when it is visible on every axis.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect", "::mlir::memref::MemRefDialect"
  ];
  let useDefaultAttributePrinterParser = 1;
  let hasCanonicalizer = 0;
}

// With AttrSizedOperandSegments, ODS does not check that a segment of a single
// operand holds one; accessors would read past the operands. `groups` counts
// the operands of the definition, `names` lists them for the message.
class NA_OneOperandEach<list<int> groups, string names>
    : PredOpTrait<
          "segments of " # names # " hold one operand each",
          CPred<!interleave(
              !foreach(group, groups, "getODSOperandIndexAndLength(" # group #
                                          ").second == 1"),
              " && ")>>;

#endif // NA_DIALECT_NA_IR_NABASE_TD
