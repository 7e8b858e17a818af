//===- Passes.td - Conversions of the na dialect -*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NA_CONVERSION_PASSES_TD
#define NA_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertNAToLoopsPass : Pass<"convert-na-to-loops"> {
  let summary = "Lower na operations on memrefs to plain loops";
  let description = [{
    Lowers `na.attention`, `na.qk`, `na.av`, `na.merge` and the gradients
    `na.attention_dq`, `na.attention_dkv`, `na.attention_dbias` and
    `na.attention_dadditional` to `scf`, `memref`, `arith` and `math`, straight
    from their definitions: no tiles, no masks. This is the oracle that other
    lowerings are compared with. (`na.attention_grad` is taken apart by
    `na-decompose-attention-grad` first.)

    Batch, tokens and heads become one `scf.parallel`; the loops over keys run
    exactly over the window of the query. Softmax takes two passes over the keys
    of a row, the first for the largest logit, the second for the sums; both
    compute the logits. All element types, sizes (static or dynamic) and
    options of the operations are supported. Sums are in f32, or f64 for f64,
    and rounded to the output's type once, at the end. Where that type is
    narrower, `na.attention` and the gradients sum in temporary buffers with the
    shapes of the outputs; otherwise they sum in the outputs.

    Gradients are gathered: those of keys run over the queries that see the key
    (the inverse window) in all heads that read its head, an entry of a bias
    over the queries that have a key at its relative position. No iteration of
    the parallel loop depends on another, so results are deterministic.

    The result may hold `arith.floordivsi` and `arith.ceildivsi`, which
    `arith-expand` lowers.

    Example: `-convert-na-to-loops` turns

    ```mlir
    na.av ins(%w, %v : memref<1x56x2x7xf32>, memref<1x56x2x32xf32>)
          outs(%o : memref<1x56x2x32xf32>) window(<size = [7]>)
    ```

    into

    ```mlir
    scf.parallel (%b, %x, %h, %d) = (%c0, %c0, %c0, %c0)
        to (%c1, %c56, %c2, %c32) step (%c1, %c1, %c1, %c1) {
      %0 = arith.addi %x, %c-3 : index
      %1 = arith.minsi %0, %c49 : index
      %begin = arith.maxsi %1, %c0 : index
      %end = arith.addi %begin, %c7 : index
      %sum = scf.for %key = %begin to %end step %c1
          iter_args(%s = %zero) -> (f32) {
        %slot = arith.subi %key, %begin : index
        %2 = memref.load %w[%b, %x, %h, %slot] : memref<1x56x2x7xf32>
        %3 = memref.load %v[%b, %key, %h, %d] : memref<1x56x2x32xf32>
        %4 = arith.mulf %2, %3 : f32
        %5 = arith.addf %s, %4 : f32
        scf.yield %5 : f32
      }
      memref.store %sum, %o[%b, %x, %h, %d] : memref<1x56x2x32xf32>
      scf.reduce
    }
    ```

    Errors: an operation on tensors (bufferize before this pass); an unknown
    name in `ops`.
  }];
  let options = [
    ListOption<"ops", "ops", "std::string",
               "Operations to lower: any of attention, qk, av, merge, "
               "attention_dq, attention_dkv, attention_dbias, "
               "attention_dadditional (default: all)">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
}

def ConvertNAToThreadLoopsPass : Pass<"convert-na-to-thread-loops"> {
  let summary = "Lower na operations on memrefs to loops for GPU threads";
  let description = [{
    Lowers `na.qk`, `na.av`, `na.attention`, `na.merge` and the gradients of
    `na.attention` but that of the bias from their definitions to one
    `scf.parallel` each, whose iterations are small enough to be threads of a
    GPU:

    | operation | an iteration computes |
    |---|---|
    | `na.qk` | one score; the last parallel dimensions are the slots |
    | `na.av` | one element of the output, or two of 16 bits |
    | `na.merge` | one element of the output |
    | `na.attention` | up to 64 channels of a row, in one pass over its keys |
    | `na.attention_dq` | up to 64 channels of a row, from its keys |
    | `na.attention_dkv`, `na.attention_dadditional` | up to 64 channels of both gradients of a key, from the queries that see it |

    All sums are in registers; `na.attention` carries the largest logit, the sum
    of the weights and a vector of sums, which it rescales when a larger logit
    comes. A row of more channels is computed in parts, each with its own
    logits; the last part ends with the row.

    Rows of queries, keys, values and outputs are accessed 16 bytes at a time,
    or by the largest power of two below that divides all their distances. The
    base address must then be as aligned: `memref.assume_alignment` says so.

    Loops over the keys of a window have constant bounds where it always has
    all of its keys. `na.attention`, `na.qk` and gradients with a dynamic number
    of channels are left for `convert-na-to-loops`.

    Example: `-convert-na-to-thread-loops` turns

    ```mlir
    na.qk ins(%q, %k : memref<1x56x2x32xbf16>, memref<1x56x2x32xbf16>)
          outs(%s : memref<1x56x2x7xf32>) window(<size = [7]>) {scale = 1.0}
    ```

    into

    ```mlir
    %q1 = memref.assume_alignment %q, 16 : memref<1x56x2x32xbf16>
    %k1 = memref.assume_alignment %k, 16 : memref<1x56x2x32xbf16>
    scf.parallel (%b, %x, %h, %j) = (%c0, %c0, %c0, %c0)
        to (%c1, %c56, %c2, %c7) step (%c1, %c1, %c1, %c1) {
      %0 = arith.addi %x, %c-3 : index
      %1 = arith.minsi %0, %c49 : index
      %begin = arith.maxsi %1, %c0 : index
      %key = arith.addi %begin, %j : index
      %sums = scf.for %c = %c0 to %c32 step %c8
          iter_args(%sum = %zeros) -> (vector<8xf32>) {
        %2 = vector.load %q1[%b, %x, %h, %c] {alignment = 16 : i64}
            : memref<1x56x2x32xbf16>, vector<8xbf16>
        %3 = arith.extf %2 : vector<8xbf16> to vector<8xf32>
        %4 = vector.load %k1[%b, %key, %h, %c] {alignment = 16 : i64}
            : memref<1x56x2x32xbf16>, vector<8xbf16>
        %5 = arith.extf %4 : vector<8xbf16> to vector<8xf32>
        %6 = math.fma %3, %5, %sum : vector<8xf32>
        scf.yield %6 : vector<8xf32>
      }
      %dot = vector.reduction <add>, %sums : vector<8xf32> into f32
      %score = arith.mulf %dot, %one : f32
      memref.store %score, %s[%b, %x, %h, %j] : memref<1x56x2x7xf32>
      scf.reduce
    }
    ```

    Errors: an operation on tensors (bufferize before this pass).
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def LinalgToVectorLoopsPass : Pass<"linalg-to-vector-loops"> {
  let summary = "Lower linalg on static buffers to register-blocked vector loops";
  let description = [{
    Lowers every `linalg` operation on memrefs of static shape whose body is
    elementwise to `scf` loops over 1-D vectors. The last dimension of the
    outputs runs along vectors. The innermost other parallel dimension is
    unrolled into rows, so that a block of rows times vectors of accumulators
    stays in registers while the reductions run; operands that do not depend
    on the row or on the lane are loaded once per block.

    Where inputs are not contiguous along that dimension but along the only
    reduction (the sum or maximum of each row), vectors run along the
    reduction and are combined at the end, in an order of their own.

    Values of type f16 and bf16 are computed in f32 and rounded when they are
    stored, sums once after the reductions. A product that is added to is fused
    with the sum.

    Large operations outside of any parallel loop get an outermost
    `scf.parallel`, over their outer dimensions or over panels of rows.

    Unlike a chain of tiling, `linalg` vectorisation and contraction lowering,
    accumulators are 1-D vectors carried by `scf.for` from the start, and no
    multi-dimensional vector has to be unrolled again later.

    Operations of other forms (dynamic shapes, a reduction as last output
    dimension, indices that are not dimensions, strided lanes) are left alone.

    Example: with `vector-bits=256 registers=16`

    ```mlir
    linalg.matmul ins(%a, %b : memref<1x64xf32>, memref<64x16xf32>)
                  outs(%c : memref<1x16xf32>)
    ```

    becomes (canonicalised)

    ```mlir
    %0 = vector.load %c[%c0, %c0] : memref<1x16xf32>, vector<8xf32>
    %1 = vector.load %c[%c0, %c8] : memref<1x16xf32>, vector<8xf32>
    %2:2 = scf.for %k = %c0 to %c64 step %c1 iter_args(%s0 = %0, %s1 = %1)
        -> (vector<8xf32>, vector<8xf32>) {
      %3 = memref.load %a[%c0, %k] : memref<1x64xf32>
      %4 = vector.load %b[%k, %c0] : memref<64x16xf32>, vector<8xf32>
      %5 = vector.broadcast %3 : f32 to vector<8xf32>
      %6 = math.fma %5, %4, %s0 : vector<8xf32>
      %7 = vector.load %b[%k, %c8] : memref<64x16xf32>, vector<8xf32>
      %8 = math.fma %5, %7, %s1 : vector<8xf32>
      scf.yield %6, %8 : vector<8xf32>, vector<8xf32>
    }
    vector.store %2#0, %c[%c0, %c0] : memref<1x16xf32>, vector<8xf32>
    vector.store %2#1, %c[%c0, %c8] : memref<1x16xf32>, vector<8xf32>
    ```

    Errors: `vector-bits` that is no multiple of 64 from 64 to 4096;
    `registers` outside of 4 to 256.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "int64_t", "512",
           "Width of a vector register in bits">,
    Option<"registers", "registers", "int64_t", "32",
           "Number of vector registers">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def ExpToArithPass : Pass<"exp-to-arith"> {
  let summary = "Expand f32 exponentials to arithmetic";
  let description = [{
    Replaces `math.exp` on f32 and on vectors of f32 by a range reduction and a
    polynomial of degree 6 with fused multiply-adds. The relative error is at
    most 2e-7 (measured: 9e-8) down to exp(-86.98) = 1.7e-38; smaller results
    are 0. exp(-inf) is 0, exp(inf) is inf, a NaN stays one.

    Example: `%e = math.exp %x : f32` becomes

    ```mlir
    // exp(x) = 2^n exp(r), n = round(x / ln 2) by adding 1.5 * 2^23
    %above = arith.cmpf olt, %c89, %x : f32
    %clamped = arith.select %above, %c89, %x : f32
    %shifted = math.fma %clamped, %log2e, %magic : f32
    %n = arith.subf %shifted, %magic : f32
    %r0 = math.fma %n, %minus_ln2_high, %clamped : f32
    %r = math.fma %n, %minus_ln2_low, %r0 : f32
    %p1 = math.fma %a6, %r, %a5 : f32
    // .. four more steps of the polynomial ..
    %p = math.fma %p5, %r, %a0 : f32
    %bits = arith.bitcast %shifted : f32 to i32
    %exponent = arith.shli %bits, %c23 : i32
    %biased = arith.addi %exponent, %bias : i32
    %power = arith.bitcast %biased : i32 to f32
    %product = arith.mulf %p, %power : f32
    %tiny = arith.cmpf olt, %x, %smallest : f32
    %e = arith.select %tiny, %zero, %product : f32
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def NATileToLoopsPass : Pass<"convert-na-tile-to-loops"> {
  let summary = "Lower operations that move data of tiles to loops";
  let description = [{
    Lowers `na.tile.load`, `na.tile.store` and `na.tile.windows` on memrefs to
    `scf` loops: over the lanes, then over the channels of a token, which are
    contiguous and move as vectors. Rows outside the tensor are zeroed by loads
    and skipped by stores.

    `na.tile.scatter` and `na.tile.gather` go over the queries of the tile and,
    for each, over the runs of keys inside its window: such keys have
    consecutive slots along the last axis. `na.tile.bias` goes over lanes that
    are consecutive in the table. Both use masked vectors where the rows of tile
    and operand are contiguous; slots move one by one if the tile is key-major,
    or if their element type is not the tile's.

    Example: `na.tile.gather` of 16 queries and 20 keys becomes, after zeros
    have been stored to the tile,

    ```mlir
    scf.for %m = %c0 to %queries step %c1 {
      // %lower, %slot, %length: first key lane, its slot, number of keys
      scf.for %i = %c0 to %length step %c8 {
        %to = arith.addi %lower, %i : index
        %from = arith.addi %slot, %i : index
        %rest = arith.subi %length, %i : index
        %mask = vector.create_mask %rest : vector<8xi1>
        %w = vector.maskedload %weights[%b, %x, %h, %from], %mask, %zeros
            : memref<1x56x2x7xf32>, vector<8xi1>, vector<8xf32>
              into vector<8xf32>
        vector.maskedstore %tile[%m, %to], %mask, %w
            : memref<16x20xf32>, vector<8xi1>, vector<8xf32>
      }
    }
    ```

    Example: with `vector-bits=512`

    ```mlir
    na.tile.load %q[%b, %h] at(%x) box [6] dilation [2] into %tile
        : memref<1x9x2x16xbf16>, memref<6x16xf32>
    ```

    becomes (canonicalised)

    ```mlir
    scf.for %lane = %c0 to %c6 step %c1 {
      %0 = arith.muli %lane, %c2 : index
      %1 = arith.addi %x, %0 : index
      %2 = arith.cmpi sge, %1, %c0 : index
      %3 = arith.cmpi slt, %1, %c9 : index
      %4 = arith.andi %2, %3 : i1
      scf.if %4 {
        %5 = vector.load %q[%b, %1, %h, %c0]
            : memref<1x9x2x16xbf16>, vector<16xbf16>
        %6 = arith.extf %5 : vector<16xbf16> to vector<16xf32>
        vector.store %6, %tile[%lane, %c0] : memref<6x16xf32>, vector<16xf32>
      } else {
        vector.store %zeros, %tile[%lane, %c0]
            : memref<6x16xf32>, vector<16xf32>
      }
    }
    ```

    Errors: a tile operation on tensors (bufferize before this pass);
    `vector-bits` that is no multiple of 64 from 64 to 4096.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "int64_t", "512",
           "Width of a vector register in bits">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def ParallelToRuntimePass
    : Pass<"parallel-to-runtime", "::mlir::ModuleOp"> {
  let summary = "Run outermost parallel loops on the run time's threads";
  let description = [{
    Outlines the body of every outermost `scf.forall` or `scf.parallel` without
    results into a function `(begin, end, context)` over the linearised
    iterations (the last loop varies fastest) and calls

    ```c
    void naParallelFor(int64_t count, void (*body)(int64_t, int64_t, void *),
                       void *context);
    ```

    of the run time in its place. What the body uses from outside is passed in
    a structure on the caller's stack. Buffers of static size that are
    allocated and freed at the top of the body, or on the stack there, are
    allocated once per call of the function instead of once per iteration.
    Parallel loops inside are left to run sequentially, and so are, with a
    remark, loops that use values from outside that have no LLVM type.

    The result mixes `llvm` with the dialects of the loops through casts that
    `reconcile-unrealized-casts` removes after the rest is lowered.

    Example:

    ```mlir
    func.func @f(%m: memref<8xf32>, %x: f32) {
      scf.forall (%i) in (8) {
        memref.store %x, %m[%i] : memref<8xf32>
      }
      return
    }
    ```

    becomes, with `!context` for the structure of `f32` and the memref's
    descriptor, and without the casts,

    ```mlir
    llvm.func @naParallelFor(i64, !llvm.ptr, !llvm.ptr)
    func.func private @f_parallel_0(%begin: i64, %end: i64, %p: !llvm.ptr) {
      %context = llvm.load %p : !llvm.ptr -> !context
      %x = llvm.extractvalue %context[0] : !context
      %m = llvm.extractvalue %context[1] : !context
      %from = arith.index_cast %begin : i64 to index
      %to = arith.index_cast %end : i64 to index
      scf.for %i = %from to %to step %c1 {
        memref.store %x, %m[%i] : memref<8xf32>
      }
      return
    }
    func.func @f(%m: memref<8xf32>, %x: f32) {
      %p = llvm.alloca %one x !context : (i64) -> !llvm.ptr
      %0 = llvm.insertvalue %x, %undef[0] : !context
      %1 = llvm.insertvalue %m, %0[1] : !context
      llvm.store %1, %p : !context, !llvm.ptr
      %body = func.constant @f_parallel_0 : (i64, i64, !llvm.ptr) -> ()
      llvm.call @naParallelFor(%c8, %body, %p)
          : (i64, !llvm.ptr, !llvm.ptr) -> ()
      return
    }
    ```

    Errors: the name `naParallelFor` is taken by something else.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def SetVectorWidthPass : Pass<"llvm-set-vector-width"> {
  let summary = "Tell LLVM which vectors to use";
  let description = [{
    Sets `prefer_vector_width` on every `llvm.func` with a body that has none.
    On CPUs for which LLVM prefers narrower vectors than the registers are, it
    would otherwise split the vectors that the loops were blocked for.

    Example: with `vector-bits=256`, `llvm.func @f() { llvm.return }` becomes
    `llvm.func @f() attributes {prefer_vector_width = "256"} { llvm.return }`.

    Errors: a width outside 64 to 4096.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "int64_t", "512",
           "Width of a vector register in bits">
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ApproximateMathPass : Pass<"approximate-math"> {
  let summary = "Replace f32 erf and tanh by polynomials";
  let description = [{
    Applies upstream's polynomial approximations of `math.erf` and `math.tanh`
    to f32 and to vectors of f32, which would otherwise become one call of the
    mathematical library per element. Other types keep the library's precision.

    Example: `math.tanh %x : vector<16xf32>` becomes a clamped rational
    polynomial in `arith` and `math.fma`.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def DecomposeAggregatesPass : Pass<"linalg-decompose-aggregates"> {
  let summary = "Split linalg.softmax and its like into plain linalg";
  let description = [{
    Replaces operations on tensors that stand for several `linalg` operations by
    these, as their `AggregatedOpInterface` says. Nothing else lowers
    `linalg.softmax`. Operations on memrefs are left alone.

    Example:

    ```mlir
    %r = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>)
         outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
    ```

    becomes a `linalg.generic` for the maximum of each row, one for the
    exponentials, one for their sum and one for the division.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
}

def CheckLoweredPass : Pass<"llvm-check-lowered"> {
  let summary = "Refuse operations that are not in the LLVM dialect";
  let description = [{
    Fails at the first operation that is neither a module, nor a `gpu.binary`,
    nor of the LLVM dialect. The conversions before leave what they do not know, and the
    translation to LLVM IR would say no more than that some cast is unknown.

    Example: after `na-to-cpu` of a `linalg.softmax` on memrefs

    ```
    error: 'linalg.softmax' op has no lowering to the LLVM dialect
    ```
  }];
}

def LinalgToThreadLoopsPass : Pass<"linalg-to-thread-loops"> {
  let summary = "Lower linalg on memrefs to loops with sums in registers";
  let description = [{
    Lowers every `linalg` operation on memrefs to one `scf.parallel` over its
    parallel loops, in their order, around `scf.for` over its reductions, which
    carry the values of the outputs: an output is loaded once before and stored
    once after them. An operation without parallel loops gets one of a single
    iteration. `memref.copy` is lowered like `linalg.copy`.

    Unlike `convert-linalg-to-parallel-loops`, no sum goes through memory, and
    the parallel loops are outermost whatever their place among the
    reductions. Arithmetic of the body gets the fast-math flag `contract`, so
    that LLVM fuses a product with the sum that it is added to. Values of type
    f16 and bf16 are computed in f32 and rounded when they are stored, sums once
    after the reductions.

    Where there are no reductions, 2^18 elements or more and 64 or more of them,
    a multiple of 4, in the innermost loop, an iteration computes four: each a
    quarter of the innermost loop behind the other, and all are loaded before the
    first is stored.

    Operations whose outputs are indexed by a reduction are left alone.

    Example:

    ```mlir
    linalg.reduce { arith.addf } ins(%x : memref<4x8xf32>)
        outs(%y : memref<4xf32>) dimensions = [1]
    ```

    becomes

    ```mlir
    scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
      %0 = memref.load %y[%i] : memref<4xf32>
      %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%s = %0) -> (f32) {
        %1 = memref.load %x[%i, %k] : memref<4x8xf32>
        %2 = arith.addf %1, %s fastmath<contract> : f32
        scf.yield %2 : f32
      }
      memref.store %sum, %y[%i] : memref<4xf32>
      scf.reduce
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def GPUMapParallelPass : Pass<"gpu-map-parallel"> {
  let summary = "Run every iteration of outermost parallel loops on a GPU thread";
  let description = [{
    Replaces each outermost `scf.parallel`, and each outermost `scf.forall`
    without operations of `na`, by a `gpu.launch`. Its threads are the
    iterations in linear order, the last dimension fastest, so that accesses
    along the last dimension are coalesced; blocks and threads are all in x.
    Linear indices have 64 bits, or 32 where the number of iterations is
    constant and below 2^31, as divisions of 64 bits are slow.

    A `memref.store` outside of parallel loops becomes a launch of its own:
    only kernels write to the memory of the device.

    Constants, and addresses of constant memrefs, are copied into the kernel.
    Buffers of static size that an iteration allocates become memory of its
    thread. Parallel loops inside are left to run sequentially.

    Example:

    ```mlir
    scf.parallel (%i, %j) = (%c0, %c0) to (%c100, %c3) step (%c1, %c1) {
      memref.store %x, %m[%i, %j] : memref<100x3xf32>
      scf.reduce
    }
    ```

    becomes

    ```mlir
    gpu.launch blocks(%bx, %by, %bz) in (%0 = %c2, %1 = %c1, %2 = %c1)
        threads(%tx, %ty, %tz) in (%3 = %c256, %4 = %c1, %5 = %c1) {
      %first = arith.muli %bx, %c256 : index
      %id = arith.addi %first, %tx : index
      %inside = arith.cmpi ult, %id, %c300 : index
      scf.if %inside {
        %n = arith.index_castui %id : index to i32
        %j = arith.remui %n, %c3_i32 : i32
        %i = arith.divui %n, %c3_i32 : i32
        ...
        memref.store %x, %m[%i64, %j64] : memref<100x3xf32>
      }
      gpu.terminator
    }
    ```

    Errors: a buffer of dynamic size allocated in a parallel loop;
    `block-size` that is no multiple of 32 from 32 to 1024.
  }];
  let options = [
    Option<"blockSize", "block-size", "int64_t", "256", "Threads of a block">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
}

def GPUMapRowsPass : Pass<"gpu-map-rows"> {
  let summary = "Run operations on rows on a team of GPU threads for each row";
  let description = [{
    Finds `linalg` operations on memrefs that reduce their last loop, such as
    the sum or the maximum of each row, together with the operations before
    and after them on the same rows: elementwise, further reductions, and ones
    on a value per row. Each group, for instance a softmax or a normalisation,
    becomes one `gpu.launch`.

    A row is for a team of threads that access it side by side: 4 to 32 threads
    of a warp with up to 8 elements each (16 in a whole warp), or a block of up
    to 1024 threads for rows of more than 512 elements, with up to 16 each (32
    in the largest). The elements are in registers, so that a row is read and
    written once whatever is done to it; partial results are combined by
    shuffles, and through shared memory between warps. Rows that are longer, or
    of dynamic length, are read anew by every operation. What nothing reads
    after a group is not written.

    A reduction must have one output of at most 32 bits that a commutative
    operation with a neutral element, or a selection of the larger or smaller
    value, combines with each element. Sums are in an order of their own. The
    results of an operation have the type of its outputs; inside of it f16 and
    bf16 are computed in f32.
    Inputs must be indexed along the row or by the element alone: products of
    matrices are left alone. Operations join a group while nothing between them
    accesses memory and no row depends on another.

    Example:

    ```mlir
    linalg.reduce { arith.addf } ins(%x : memref<100x16xf32>)
        outs(%y : memref<100xf32>) dimensions = [1]
    ```

    becomes

    ```mlir
    gpu.launch blocks(%bx, %by, %bz) in (%0 = %c2, %1 = %c1, %2 = %c1)
        threads(%tx, %ty, %tz) in (%3 = %c256, %4 = %c1, %5 = %c1) {
      %lane = arith.remui %tx, %c4 : index
      // %row: the team's; %active: whether there is such a row
      %a = memref.load %x[%row, %lane] : memref<100x16xf32>
      %next = arith.addi %lane, %c4 : index
      %b = memref.load %x[%row, %next] : memref<100x16xf32>
      %ab = arith.addf %b, %a : f32
      // two more elements
      %other, %valid = gpu.shuffle xor %sum, %c2_i32, %c32_i32 : f32
      %sum2 = arith.addf %other, %sum : f32
      // and by 1
      %y0 = memref.load %y[%row] : memref<100xf32>
      %all = arith.addf %sum1, %y0 : f32
      // lane 0 of an active team
      memref.store %all, %y[%row] : memref<100xf32>
      gpu.terminator
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def GPUNameKernelsPass : Pass<"gpu-name-kernels", "::mlir::ModuleOp"> {
  let summary = "Send all kernels to one module, under a name each";
  let description = [{
    Sets the module of every `gpu.launch`, so that `gpu-kernel-outlining` makes
    one `gpu.module`, and its function: the name that it has, or that of the
    surrounding function with a number; made unique by another number.

    Example: the third launch of a program, in `@main`, becomes

    ```mlir
    gpu.launch blocks(..) in (..) threads(..) in (..)
        module(@na_kernels) function(@main_2) { .. }
    ```
  }];
  let options = [
    Option<"module", "module", "std::string", [{"na_kernels"}],
           "Name of the module of the kernels">
  ];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
}

def GPUAlignSharedMemoryPass
    : Pass<"gpu-align-shared-memory", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Align dynamic shared memory";
  let description = [{
    `convert-gpu-to-nvvm` aligns dynamic shared memory to 16 bytes. The swizzle
    of the TMA and of `wgmma` works on the bits of addresses: a tile of 128-byte
    rows has its chunks where `nagpu.shared` says only if it starts at a
    multiple of 1,024 bytes, and so must the memory that its offset counts from.
    The symbol becomes external: an internal one is a variable of one byte, next
    to the memory that the launch asks for.

    Example: with `alignment=1024`,

    ```mlir
    llvm.mlir.global internal @__dynamic_shmem__0() {addr_space = 3 : i32, alignment = 16 : i64}
        : !llvm.array<0 x i8>
    ```

    becomes

    ```mlir
    llvm.mlir.global external @__dynamic_shmem__0() {addr_space = 3 : i32, alignment = 1024 : i64}
        : !llvm.array<0 x i8>
    ```

    Errors: an alignment that is no power of two from 1 to 65536.
  }];
  let options = [
    Option<"alignment", "alignment", "int64_t", "1024",
           "Alignment in bytes; larger ones stay">
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def GPULaunchToRuntimePass
    : Pass<"gpu-launch-to-runtime", "::mlir::ModuleOp"> {
  let summary = "Launch kernels through the run time";
  let description = [{
    Replaces every `gpu.launch_func` by a call of

    ```c
    void naCudaLaunch(int64_t kernel, int64_t grid, int64_t threads,
                      int64_t sharedBytes, const int64_t *params,
                      int64_t count, const int64_t *alignments);
    ```

    and lists the names of the kernels, in the order of their numbers, in the
    module's attribute `na.kernels`.

    `params` has one slot for each parameter of the kernel in the LLVM dialect:
    a memref is its allocated and its aligned pointer, offset, sizes and
    strides; integers and floats are in the low bytes. `alignments` has the
    alignment in bytes that the kernel needs of a pointer, and 0 for what is no
    pointer. It is that of the element type, or that of a
    `memref.assume_alignment` on the host on what the pointer is taken from;
    these operations are then removed. A parameter by value (`llvm.byval` in the
    kernel) of `n` bytes has their address in its slot, and the alignment `-n`.

    Example: `gpu.launch_func @na_kernels::@f_0 blocks in (%n, %c1, %c1)
    threads in (%c256, %c1, %c1) args(%x : f32)` becomes

    ```mlir
    memref.global "private" constant @na_alignments : memref<1xi64> = dense<0>
    // at the start of the function
    %slots = memref.alloca() : memref<1xi64>
    // at the launch
    %0 = arith.bitcast %x : f32 to i32
    %1 = arith.extui %0 : i32 to i64
    memref.store %1, %slots[%c0] : memref<1xi64>
    %2 = memref.extract_aligned_pointer_as_index %slots
        : memref<1xi64> -> index
    %3 = memref.get_global @na_alignments : memref<1xi64>
    %4 = memref.extract_aligned_pointer_as_index %3 : memref<1xi64> -> index
    func.call @naCudaLaunch(%c0, %n, %c256, %c0, %2, %c1, %4)
        : (index, index, index, index, index, index, index) -> ()
    ```

    Errors: a memory access on the host (its memory is the device's); more than
    one `gpu.module`; a launch with clusters, asynchronous, or not in x alone; a
    kernel argument that is no memref, integer or float; the name
    `naCudaLaunch` is taken by something else.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::memref::MemRefDialect"
  ];
}

def ExpandF64MathPass : Pass<"expand-f64-math"> {
  let summary = "exp, sin and cos in f64 arithmetic";
  let description = [{
    Expands `math.exp` on f64, and `math.sin` and `math.cos` on floats of any
    type, which are computed in f64, to `arith`, `math.fma` and
    `math.roundeven`: reduction of the argument, then a Taylor polynomial. A GPU
    has no instructions for them, and its library is a part of the CUDA toolkit.

    Relative errors are a few units in the last place; for sine and cosine
    absolute ones, of arguments up to 10^9. Results of exp below 2^-1021 are 0.
    Vectors are left alone.

    Example: `math.exp %x : f64` becomes

    ```mlir
    %0 = arith.mulf %x, %log2e : f64
    %n = math.roundeven %0 : f64
    %1 = math.fma %n, %minus_ln2_high, %x : f64
    %r = math.fma %n, %minus_ln2_low, %1 : f64
    // A polynomial of %r, times 2^%n, and what overflows.
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"
  ];
}

def MathToNVVMApproxPass : Pass<"math-to-nvvm-approx"> {
  let summary = "Functions that an NVIDIA GPU has an instruction for";
  let description = [{
    Lowers functions of `math` to the approximations that the GPU computes, so
    that no library for the device (libdevice, part of the CUDA toolkit) is
    needed:

    | operation | becomes |
    |---|---|
    | `math.exp` | `ex2.approx(x * log2(e))` |
    | `math.exp2` | `ex2.approx(x)` |
    | `math.log`, `math.log10` | `lg2.approx(x) * log(2)`, `.. * log10(2)` |
    | `math.log2` | `lg2.approx(x)` |
    | `math.rsqrt` | `rsqrt.approx(x)` |
    | `math.absf`, `ceil`, `copysign`, `floor`, `round`, `roundeven`, `sqrt`, `trunc` | LLVM's intrinsic, which is exact |

    None of the instructions flushes subnormal numbers to zero; exp(-inf) is 0.
    Values of type f16 and bf16 are computed in f32; vectors lane by lane.

    Example: `%y = math.exp %x : f32` becomes

    ```mlir
    %0 = arith.mulf %x, %log2e : f32
    %y = llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"(%0) : (f32) -> f32
    ```

    Errors: one of the approximations on f64 or another type; a function that is
    not in the table, except for `math.fma` and those on integers.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def CheckGPUPass : Pass<"na-check-gpu"> {
  let summary = "Refuse what the GPU pipeline cannot compile";
  let description = [{
    Fails where `chip` is not one that the pipeline compiles for (sm_80, sm_86,
    sm_87, sm_89, sm_90, sm_90a), where `format` is not isa, bin or fatbin, and
    at the first operation of `na` on f64, or with a schedule for warpgroups
    where `chip` is not sm_90a.

    Example: before a `na.merge` on f64

    ```
    error: 'na.merge' op is on 'tensor<2x8xf64>'; the GPU pipeline takes
    element types f32, f16 and bf16, not f64
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", [{"sm_80"}], "GPU to compile for">,
    Option<"format", "format", "std::string", [{"isa"}],
           "What the binary is to hold">
  ];
}

def ConvertNAGPUToNVVMPass : Pass<"convert-nagpu-to-nvvm"> {
  let summary = "Lower nagpu operations to those of one thread";
  let description = [{
    Lowers `nagpu` in `gpu.launch`, `gpu.func` and functions to `arith`, `scf`,
    `memref`, `gpu`, `nvvm` and `llvm`. A fragment becomes one value for each
    of its registers (in the order that its type documents; two 16-bit elements
    are a `vector<2xT>`), also where `scf` operations carry it; a shared tile
    becomes its address in the window of shared memory (i32); a token nothing.

    Copies take `cp.async` with the largest of 16, 8 and 4 bytes that divides
    the channels, all strides and the offset of the tensor. The address of the
    tensor must be a multiple of it; whoever launches the kernel checks that.
    Where not even 4 bytes do, the elements are loaded and stored.

    `math.exp2` of f32 in a `nagpu.map` becomes `ex2.approx.ftz`: subnormal
    results are zero.

    Example, for one warp:

    ```mlir
    %r = nagpu.reduce max %s
      : !nagpu.fragment<16x8xf32, accumulator, 1> -> !nagpu.fragment<16xf32, row, 1>
    ```

    becomes, for the first of the two rows of a thread,

    ```mlir
    %0 = llvm.intr.maxnum(%s0, %s1) : (f32, f32) -> f32
    %1 = nvvm.shfl.sync bfly %all, %0, %c1, %c31 : f32 -> f32
    %2 = llvm.intr.maxnum(%0, %1) : (f32, f32) -> f32
    %3 = nvvm.shfl.sync bfly %all, %2, %c2, %c31 : f32 -> f32
    %r0 = llvm.intr.maxnum(%2, %3) : (f32, f32) -> f32
    ```

    Errors: a tile, ring of barriers or mailbox without an offset; a tensor whose channels are not
    static or not contiguous.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def NAGPUFinalizeKernelsPass
    : Pass<"nagpu-finalize-kernels", "::mlir::ModuleOp"> {
  let summary = "Settle what kernels of nagpu ask of their launches";
  let description = [{
    Behind `gpu-kernel-outlining`, which does not know of it:

    * A tensor map that a kernel takes becomes a parameter by value
      (`grid_constant`), and `nagpu.tensor_map` on the host a call of

      ```c
      void naCudaEncodeTensorMap(void *map, int64_t argument, int64_t address,
                                 int64_t type, int64_t rank,
                                 const int64_t *shape, int64_t swizzle);
      ```

      which fills the 128 bytes at `map`. `argument` is the number of the
      function's argument that the tensor is (a view of), or -1; `type` 0 for
      f16 and 1 for bf16; `shape` the sizes and strides of the tensor, in
      elements, the sizes of the box and the dilation of each axis; `swizzle`
      the bytes of a panel's row.
    * `nagpu.multiprocessors` becomes a call of
      `int64_t naCudaMultiprocessors(void)`.
    * A kernel with register budgets (`setmaxnreg`) says how many CTAs share a
      multiprocessor.

    Example:

    ```mlir
    %map = nagpu.tensor_map %k : memref<1x64x2x128xbf16>
      -> !nagpu.tensor_map<1x32x64xbf16, tma128>
    gpu.launch_func @kernels::@f blocks in (..) threads in (..)
      args(%map : !nagpu.tensor_map<1x32x64xbf16, tma128>)
    ```

    becomes

    ```mlir
    // at the start of the function
    %map = llvm.alloca %c16 x i64 {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %shape = llvm.alloca %c12 x i64 {alignment = 8 : i64} : (i64) -> !llvm.ptr
    // at the operation, behind the stores to %shape
    call @naCudaEncodeTensorMap(%map, %c0, %address, %c1, %c4, %shape, %c128)
    gpu.launch_func @kernels::@f blocks in (..) threads in (..)
      args(%map : !llvm.ptr)
    ```

    Errors: another use of a map than in a launch; a symbol of one of these
    functions that is something else.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect"
  ];
}

#endif // NA_CONVERSION_PASSES_TD
