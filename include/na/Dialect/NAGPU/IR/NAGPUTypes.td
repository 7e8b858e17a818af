//===- NAGPUTypes.td - Types of the nagpu dialect -*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_DIALECT_NAGPU_IR_NAGPUTYPES_TD
#define NA_DIALECT_NAGPU_IR_NAGPUTYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "na/Dialect/NAGPU/IR/NAGPUBase.td"

def NAGPU_Role : I32Enum<"Role", "Which operand of a product a fragment is", [
    I32EnumCase<"Accumulator", 0, "accumulator">,
    I32EnumCase<"Lhs", 1, "lhs">,
    I32EnumCase<"Rhs", 2, "rhs">,
    I32EnumCase<"Row", 3, "row">,
    I32EnumCase<"PartialRow", 4, "partial_row">,
    I32EnumCase<"Column", 5, "column">]> {
  let cppNamespace = "::mlir::nagpu";
}

def NAGPU_Swizzle
    : I32Enum<"Swizzle", "How the rows of a shared tile lie in memory", [
        I32EnumCase<"Linear", 0, "linear">,
        I32EnumCase<"Xor", 1, "xor">,
        I32EnumCase<"Padded", 2, "padded">,
        I32EnumCase<"Tma32", 3, "tma32">,
        I32EnumCase<"Tma64", 4, "tma64">,
        I32EnumCase<"Tma128", 5, "tma128">]> {
  let cppNamespace = "::mlir::nagpu";
}

class NAGPU_Type<string name, string typeMnemonic>
    : TypeDef<NAGPU_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def NAGPU_FragmentType : NAGPU_Type<"Fragment", "fragment"> {
  let summary = "A tile in the registers of the threads of a CTA";
  let description = [{
    `!nagpu.fragment<MxNxT, role, warps>`. Which thread holds which element
    follows from the role, as the matrix instructions of sm_80 have it (PTX
    ISA, `mma.sync`). With `R = M / warps` rows a warp, `i` over `R / 16` and
    lane `l = 4 g + t` of warp `w`:

    | role | elements of a lane, in this order |
    |---|---|
    | `accumulator` `[M, N]` | for `i`, `j` over `N / 8`, `e` over 4: `(w R + 16 i + g + 8 (e / 2), 8 j + 2 t + e % 2)` |
    | `lhs` `[M, K]`, 16-bit | for `i`, `k` over `K / 16`, `r` over 4, `e` over 2: `(w R + 16 i + g + 8 (r % 2), 16 k + 8 (r / 2) + 2 t + e)`; the two of an `r` share a register |
    | `lhs` `[M, K]`, 32-bit | for `i`, `k` over `K / 8`, `r` over 4: `(w R + 16 i + g + 8 (r % 2), 8 k + 4 (r / 2) + t)` |
    | `rhs` `[K, N]`, 16-bit | for `k` over `K / 16`, `j` over `N / 8`, `r` over 2, `e` over 2: `(16 k + 8 r + 2 t + e, 8 j + g)`; the two of an `r` share a register |
    | `rhs` `[K, N]`, 32-bit | for `k` over `K / 8`, `j` over `N / 8`, `r` over 2: `(8 k + 4 r + t, 8 j + g)` |
    | `row` `[M]` | for `i`, `h` over 2: `(w R + 16 i + g + 8 h)`; the four lanes of equal `g` hold the same |
    | `partial_row` `[M]` | as `row`, but the value is the sum over the four lanes of equal `g` |
    | `column` `[N]` | for `j` over `N / 8`, `e` over 2: `(8 j + 2 t + e)`; the eight lanes of equal `t`, in all warps, hold the same |

    The accumulator of a `wgmma` of 64 rows (one warpgroup) has the layout of
    `accumulator` with 4 warps, and its left operand in registers that of `lhs`
    with 4 warps, so that both products share these types. In a region of
    `nagpu.roles`, warps are counted within the warpgroup.

    Every warp holds the whole of an `rhs` and of a `column`. In 32-bit products the columns of
    an `lhs` made from an accumulator are permuted within each 8, see
    `nagpu.convert`.

    Example: `!nagpu.fragment<128x64xf32, accumulator, 4>`.
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t", "rows and columns, or one of them">:$shape,
    "::mlir::Type":$elementType,
    EnumParameter<NAGPU_Role>:$role,
    "int64_t":$warps);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRows() const {
      return getRole() == Role::Column ? 1 : getShape().front();
    }
    int64_t getColumns() const { return isRowLike() ? 1 : getShape().back(); }
    /// Whether there is one element for each row.
    bool isRowLike() const {
      return getRole() == Role::Row || getRole() == Role::PartialRow;
    }
    /// Rows that one warp owns.
    int64_t getRowsPerWarp() const { return getRows() / getWarps(); }
    /// Registers of one thread: f32, i32, i1 values, or pairs of 16-bit values.
    int64_t getNumRegisters() const;
    /// What one of those registers holds.
    ::mlir::Type getRegisterType() const;
  }];
}

def NAGPU_SharedType : NAGPU_Type<"Shared", "shared"> {
  let summary = "A tile in shared memory, or a ring of them";
  let description = [{
    `!nagpu.shared<RxCxT, swizzle>` is a tile of `R` rows and `C` columns;
    `!nagpu.shared<SxRxCxT, swizzle>` is a ring of `S` such tiles (slots), one
    behind the other. In units of 16 bytes (a *chunk*), chunk `c` of row `r`
    lies at chunk

    | swizzle | position | pitch of a row |
    |---|---|---|
    | `linear` | `r pitch + c` | the chunks of a row, `n` |
    | `xor` | `r pitch + (c ^ f(r))`, `f(r) = r % 8` if `n >= 8`, `r / 2 % 4` if `n = 4`, `r / 4 % 2` if `n = 2` | `n`, a power of two |
    | `padded` | `r pitch + c` | `n`, made odd by one more chunk |

    so that under `xor` and `padded` the eight rows that a matrix load reads
    together lie in different banks. A tile starts on a multiple of 128 bytes.

    `tma128`, `tma64` and `tma32` are what the tensor memory accelerator writes
    and `wgmma` reads. The columns are cut into *panels* of `w` = 128, 64 or 32
    bytes, one behind the other; in a panel the pitch is `w` and chunk `c` of
    row `r` lies at chunk `r w / 16 + (c ^ f(r))` with the `f` of `xor` for
    `n = w / 16`. The hardware takes `f` from bits of the address, so a tile
    starts on a multiple of `8 w` bytes and has a multiple of 8 rows. Only the
    operations of Hopper take such a tile.

    Example: `!nagpu.shared<2x64x128xbf16, xor>`.
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t", "slots (if a ring), rows and columns">:$shape,
    "::mlir::Type":$elementType,
    EnumParameter<NAGPU_Swizzle>:$swizzle);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isRing() const { return getShape().size() == 3; }
    int64_t getSlots() const { return isRing() ? getShape()[0] : 1; }
    int64_t getRows() const { return getShape()[getShape().size() - 2]; }
    int64_t getColumns() const { return getShape().back(); }
    /// The type of one slot of a ring; the type itself if it is none.
    SharedType getSlotType() const;
    SharedType withSwizzle(Swizzle swizzle) const;
    /// Whether the columns lie in the panels of the TMA.
    bool isTma() const { return getTmaBytes(getSwizzle()) != 0; }
    /// Columns of a panel; all of them if there are no panels.
    int64_t getPanelColumns() const;
    /// Bytes from one panel to the next.
    int64_t getPanelBytes() const { return getRows() * getPitchBytes(); }
    /// Bytes from one row (of a panel) to the next.
    int64_t getPitchBytes() const;
    /// The multiple of bytes on which a tile starts.
    int64_t getAlignment() const;
    /// Bytes from one slot to the next: the rows, rounded up to the alignment.
    int64_t getSlotBytes() const;
    /// Bytes of the whole.
    int64_t getBytes() const { return getSlots() * getSlotBytes(); }
  }];
}

def NAGPU_TokenType : NAGPU_Type<"Token", "token"> {
  let summary = "Asynchronous copies that were issued";
  let description = [{
    Orders a wait behind the copies that it waits for. It has no run-time
    value.
  }];
}

#endif // NA_DIALECT_NAGPU_IR_NAGPUTYPES_TD
